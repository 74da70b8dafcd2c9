// What a program puts into a stream: done at once and timed, or kept while the stream is being captured.
//
// Doing everything in the order of the calls is one of the orders that CUDA allows: a stream can only wait
// for what was asked for before. So a program that is right on a GPU is right here, and one whose streams
// race has one outcome, the same in every run.
#include "app/app.h"
#include "app/array.h"
#include "app/open.h"
#include "app/pending.h"
#include "input/input.h"
#include "nvtx/nvtx.h"

#include <stdlib.h>
#include <string.h>

// ---- copies and fills -----------------------------------------------------------------------------------
// Device memory must be inside one allocation; the host's own is the program's business.
static int reachable(const pitched_ptr *p, const extent *size) {
    if (app_place(p->ptr) == PLACE_HOST) return E_OK;
    uint64_t rows = size->height * size->depth;
    if (!rows || !size->width) return E_OK;
    uint64_t planes = size->depth - 1, lines = size->height - 1;
    uint64_t span = p->pitch * (planes * (p->ysize ? p->ysize : size->height) + lines) + size->width;
    return orr_mem_host(the_app.mem, (uintptr_t)p->ptr, span) ? E_OK : E_VALUE;
}

// The device whose memory it is: of a module's variables, which are in no block, the stream's.
static int owner(const app_stream *s, const void *p) {
    const app_block *b = app_block_of((uintptr_t)p);
    return b && b->device >= 0 ? b->device : s->device;
}

// Rows of arrays, from or to memory, or both.
static int copy_arrays(app_stream *s, const app_call *c) {
    int from = c->from ? PLACE_DEVICE : app_place(c->src.ptr),
        to = c->to ? PLACE_DEVICE : app_place(c->dst.ptr);
    uint64_t bytes = c->size.width * c->size.height * c->size.depth;
    if (!bytes) return E_OK;
    if ((!c->to && !c->dst.ptr) || (!c->from && !c->src.ptr)) return E_VALUE;
    int error = c->to ? E_OK : reachable(&c->dst, &c->size);
    if (!error && !c->from) error = reachable(&c->src, &c->size);
    if (error || c->size.width > 1u << 26) return error ? error : E_VALUE;
    char *row = orr_calloc(1, c->size.width);
    bool inside = true;
    for (size_t z = 0; z < c->size.depth && inside; z++)
        for (size_t y = 0; y < c->size.height && inside; y++) {
            position at = {c->from_at.x, c->from_at.y + y, c->from_at.z + z};
            size_t lines = z * (c->src.ysize ? c->src.ysize : c->size.height) + y;
            if (c->from)
                inside = app_array_row(c->from, at, c->size.width, row, false);
            else
                memcpy(row, (const char *)c->src.ptr + lines * c->src.pitch, c->size.width);
            at = (position){c->to_at.x, c->to_at.y + y, c->to_at.z + z};
            lines = z * (c->dst.ysize ? c->dst.ysize : c->size.height) + y;
            if (inside && c->to)
                inside = app_array_row(c->to, at, c->size.width, row, true);
            else if (inside)
                memcpy((char *)c->dst.ptr + lines * c->dst.pitch, row, c->size.width);
        }
    free(row);
    if (!inside) return E_VALUE;
    bool in = from == PLACE_HOST || from == PLACE_PINNED, out = to == PLACE_HOST || to == PLACE_PINNED;
    double rate = in || out ? the_app.gpu->host_bandwidth : the_app.gpu->dram_bandwidth / 2,
           ns = (double)bytes / rate;
    int engine = in ? ENGINE_IN : out ? ENGINE_OUT : ENGINE_WITHIN;
    double start = app_clock_start(s, engine);
    app_clock_done(s, engine,
                   (app_span){.name = "copy of an array", .from = start, .to = start + ns, .bytes = bytes});
    the_app.times.copies++;
    the_app.times.copy_bytes += bytes;
    the_app.times.copy_ns += ns;
    return E_OK;
}

// What an engine does for the stream takes so long, from when it can begin.
static void takes(app_stream *s, int engine, const char *name, double ns, uint64_t bytes) {
    if (app_queue_on()) {
        app_queue_add(s, engine, name, ns, bytes);
        return;
    }
    double start = app_clock_start(s, engine);
    app_clock_done(s, engine, (app_span){.name = name, .from = start, .to = start + ns, .bytes = bytes});
}

static int copy(app_stream *s, const app_call *c) {
    if (c->to || c->from) return copy_arrays(s, c);
    int from = app_place(c->src.ptr), to = app_place(c->dst.ptr);
    uint64_t bytes = c->size.width * c->size.height * c->size.depth;
    if (!bytes) return E_OK;
    if (!c->dst.ptr || !c->src.ptr) return E_VALUE;
    int error = reachable(&c->dst, &c->size);
    if (!error) error = reachable(&c->src, &c->size);
    if (error) return error;
    // A direction that cannot be: the device's own memory on the side that is said to be the host's.
    if ((c->kind == COPY_HOST_TO_DEVICE || c->kind == COPY_DEVICE_TO_DEVICE) && to == PLACE_HOST)
        return E_VALUE;
    if ((c->kind == COPY_DEVICE_TO_HOST || c->kind == COPY_DEVICE_TO_DEVICE) && from == PLACE_HOST)
        return E_VALUE;
    size_t dst_plane = c->dst.pitch * (c->dst.ysize ? c->dst.ysize : c->size.height);
    size_t src_plane = c->src.pitch * (c->src.ysize ? c->src.ysize : c->size.height);
    for (size_t z = 0; z < c->size.depth; z++)
        for (size_t y = 0; y < c->size.height; y++)
            memmove((char *)c->dst.ptr + z * dst_plane + y * c->dst.pitch,
                    (const char *)c->src.ptr + z * src_plane + y * c->src.pitch, c->size.width);
    const orr_gpu *g = the_app.gpu;
    bool in = from == PLACE_HOST || from == PLACE_PINNED, out = to == PLACE_HOST || to == PLACE_PINNED;
    if (in && out) return E_OK; // the host's own work
    int from_gpu = owner(s, c->src.ptr), to_gpu = owner(s, c->dst.ptr);
    if (!in && !out && from_gpu != to_gpu) {
        // Where neither has asked to reach the other's memory, the driver goes by the host's.
        int n = app_device_count();
        bool reach = the_app.devices[from_gpu].peers >> to_gpu % n & 1 ||
                     the_app.devices[to_gpu].peers >> from_gpu % n & 1;
        app_device_peer(s, from_gpu, to_gpu, from_gpu != to_gpu && !reach, bytes);
        return E_OK;
    }
    int engine = in ? ENGINE_IN : out ? ENGINE_OUT : ENGINE_WITHIN;
    double rate = in || out ? g->host_bandwidth : g->dram_bandwidth / 2; // GB/s: bytes a ns
    static const char *const name[ENGINES] = {[ENGINE_IN] = "copy host to device",
                                              [ENGINE_OUT] = "copy device to host",
                                              [ENGINE_WITHIN] = "copy within the device"};
    if (the_app.node && engine != ENGINE_WITHIN) {
        app_copy_on_links(s, engine, name[engine], in ? to_gpu : from_gpu, bytes);
    } else {
        double ns = rate > 0 ? (double)bytes / rate : 0;
        takes(s, engine, name[engine], ns, bytes);
        the_app.times.copies++;
        the_app.times.copy_bytes += bytes;
        the_app.times.copy_ns += ns;
    }
    if (engine == ENGINE_IN) app_record_copy(&the_app, (uintptr_t)c->dst.ptr, bytes);
    if (the_app.model->copy && engine == ENGINE_IN) {
        orr_err e = {0};
        the_app.model->copy(g, (uintptr_t)c->dst.ptr, bytes, &the_app.result, &e);
    }
    return E_OK;
}

static int fill(app_stream *s, const app_call *c) {
    uint64_t bytes = c->size.width * c->size.height * c->size.depth;
    if (!bytes) return E_OK;
    if (app_place(c->dst.ptr) == PLACE_HOST) return E_VALUE;
    int error = reachable(&c->dst, &c->size);
    if (error) return error;
    size_t plane = c->dst.pitch * (c->dst.ysize ? c->dst.ysize : c->size.height);
    for (size_t z = 0; z < c->size.depth; z++)
        for (size_t y = 0; y < c->size.height; y++) {
            char *row = (char *)c->dst.ptr + z * plane + y * c->dst.pitch;
            if (c->element == 1)
                memset(row, (int)c->value, c->size.width);
            else
                for (size_t x = 0; x + c->element <= c->size.width; x += c->element)
                    memcpy(row + x, &c->value, c->element);
        }
    double ns = (double)bytes / the_app.gpu->dram_bandwidth;
    takes(s, ENGINE_WITHIN, "fill", ns, bytes);
    return E_OK;
}

// ---- kernels -----------------------------------------------------------------------------------
int app_kernel_params(app_function *f, void *const *args, app_call *c) {
    int error = app_function_ready(f);
    if (error) return error;
    const orr_kernel *k = f->kernel;
    c->nparams = k->param_bytes;
    c->params = orr_calloc(1, (size_t)k->param_bytes + 1);
    if (app_pack_params(k, args, c->params)) return E_OK;
    free(c->params);
    c->params = NULL;
    return E_VALUE;
}

// What a GPU would have said.
static int fault_code(int fault) {
    static const int codes[] = {[ORR_FAULT_NONE] = E_LAUNCH_FAILURE,
                                [ORR_FAULT_OTHER] = E_LAUNCH_FAILURE,
                                [ORR_FAULT_ADDRESS] = E_ILLEGAL_ADDRESS,
                                [ORR_FAULT_ALIGN] = E_MISALIGNED,
                                [ORR_FAULT_ASSERT] = E_ASSERT,
                                [ORR_FAULT_TRAP] = E_LAUNCH_FAILURE,
                                [ORR_FAULT_HANG] = E_TIMEOUT};
    return codes[fault];
}

// *least: what it takes at least, for what it does beside what the model sees.
static bool simulate(app *a, const orr_launch *l, int device, bool far, double *least, orr_err *e) {
    *least = 0;
    orr_work w = {.launch = l,
                  .threads = a->asked.threads,
                  .progress = a->asked.quiet ? NULL : &a->progress,
                  .part = a->asked.only_time};
    w.info = orr_info_of(l);
    if (a->record) return app_record_launch(a, l, w, e);
    if ((a->devices[device].peers || far) && !app_pending_here() && !a->asked.counts_only && !l->elsewhere)
        return app_peer_run(l, &w, device, least, e);
    if (!a->asked.counts_only) return a->model->run(a->gpu, &w, &a->result, e);
    return orr_launch_count(&w, a->gpu, &a->result, e);
}

// Memory of the program's own that kernels see a double of (cudaHostRegister).
static void exchange(const app *a, bool in) {
    for (size_t i = 0; i < a->registered.n; i++) {
        const app_registered *r = &a->registered.at[i];
        if (r->device && in) memcpy(r->device, r->host, r->bytes);
        if (r->device && !in) memcpy(r->host, r->device, r->bytes);
    }
}

// Accesses outside all allocations that a GPU lets pass: the first kernel that has some is named.
static void tell_strays(app *a, const orr_kernel *k) {
    orr_strays s = orr_mem_strays(a->mem);
    char where[160];
    if (s.n && !a->counts.strays)
        app_say("kernel '%s': %llu accesses outside all allocations, the lowest at 0x%llx, %s; they pass, as "
                "on a "
                "GPU (--bounds strict ends the kernel there)",
                k->name, (unsigned long long)s.n, (unsigned long long)s.lowest,
                orr_mem_describe(a->mem, s.lowest, where));
    a->counts.strays += s.n;
}

// Whether a GPU takes a launch of this size; E_*.
static int launchable(const orr_gpu *g, const app_function *f, const app_call *c) {
    uint64_t threads = (uint64_t)c->block.x * c->block.y * c->block.z;
    uint64_t blocks = (uint64_t)c->grid.x * c->grid.y * c->grid.z;
    if (!threads || !blocks || threads > (uint64_t)g->limit_block_threads || c->block.z > 64 ||
        c->grid.x > 0x7fffffff || c->grid.y > 65535 || c->grid.z > 65535)
        return E_CONFIGURATION;
    uint64_t shared = (uint64_t)f->kernel->shared_bytes + c->dynamic_shared;
    uint64_t usual = (uint64_t)g->shared_per_block, most = (uint64_t)g->shared_per_block_optin;
    if (most < usual) most = usual;
    return shared > most || (shared > usual && c->dynamic_shared > f->dynamic_limit) ? E_VALUE : E_OK;
}

// Fills in what is in the call, and makes it fit the GPU; E_*.
static int prepare(app *a, const app_stream *s, const app_call *c, orr_launch *l) {
    const app_function *f = c->function;
    l->kernel = f->kernel;
    l->image = app_module_image(f->module, s->device);
    l->mem = a->mem;
    l->dynamic_shared = c->dynamic_shared;
    l->params = c->params;
    l->index = a->counts.nlaunches;
    l->max_insts = a->asked.max_insts;
    l->range = orr_nvtx_path();
    memcpy(l->grid, &c->grid, sizeof l->grid);
    memcpy(l->block, &c->block, sizeof l->block);
    memcpy(l->cluster, &c->cluster, sizeof l->cluster);
    if (!l->cluster[0]) memcpy(l->cluster, f->kernel->bounds.cluster, sizeof l->cluster);
    if (!l->image) return E_MEMORY;
    orr_err e = {0};
    if (a->asked.on_gpu && !a->native) a->native = orr_native_share(a->mem, &e);
    if (a->asked.on_gpu && !a->native) {
        app_say("%s", e.text);
        return E_NO_DEVICE;
    }
    if (a->native) l->elsewhere = orr_native_who(a->native);
    if (!orr_launch_prepare(l, a->gpu, &e)) {
        app_say("%s", e.text);
        return E_CONFIGURATION;
    }
    if (!l->resident) return E_RESOURCES;
    if (!c->cooperative) return E_OK;
    if ((uint64_t)c->grid.x * c->grid.y * c->grid.z > l->resident) return E_COOPERATIVE;
    if (app_pending_here()) { // it may run beside another
        l->workspace = orr_mem_alloc(a->mem, 8, "the grid's barrier", &e);
        return l->workspace ? E_OK : E_MEMORY;
    }
    if (!a->workspace && !(a->workspace = orr_mem_alloc(a->mem, 8, "the grid's barrier", &e)))
        return E_MEMORY;
    l->workspace = a->workspace;
    return E_OK;
}

// A kernel of so many nanoseconds has run on the stream.
static void account(app *a, app_stream *s, const orr_launch *l, double ns) {
    double start = app_clock_start(s, ENGINE_KERNELS);
    app_clock_done(s, ENGINE_KERNELS,
                   (app_span){.name = l->kernel->name, .from = start, .to = start + ns, .launch = l->index});
    a->times.launches++;
    a->times.kernel_ns += ns;
    a->devices[s->device].launches++;
    a->devices[s->device].kernel_ns += ns;
    if (a->asked.alike || app_in_cluster()) app_kernel_count(l->kernel, ns);
    app_rank_self()->launches++;
    app_rank_self()->kernel_ns += ns;
    a->times.gap_ns += a->gpu->launch_latency * 1e3;
}

int app_do_kernel(app_stream *s, const app_call *c, orr_children *children) {
    app *a = &the_app;
    int fault = ORR_FAULT_NONE, error = app_function_ready(c->function);
    if (!error) error = launchable(a->gpu, c->function, c);
    if (error) return error;
    const orr_kernel *k = c->function->kernel;
    orr_launch l = {
        .fault = &fault, .children = children, .turn = app_pending_here() ? app_pending_turn : NULL};
    error = prepare(a, s, c, &l);
    if (error) return error;
    a->result.source = k->module->source;
    a->counts.nlaunches++;
    bool simulated = orr_input_chosen(a->asked.kernels, a->asked.launches, k, l.index);
    double before = orr_seconds(), least = 0;
    size_t had = a->result.launches.n;
    uint64_t key = a->asked.alike ? app_alike_key(c, k) : 0;
    double ns = 0;
    size_t result = had;
    bool known = a->asked.alike && simulated && app_alike_find(key, &ns, &result), ok = true;
    if (known) a->counts.nalike++;
    if (!app_pending_beside()) exchange(a, true);
    orr_err e = {0};
    bool watched = simulated && !known && !a->record && !a->asked.counts_only && !l.elsewhere;
    bool far = watched && !app_pending_here() && app_managed_far(s->device, c);
    bool queued = simulated && !a->devices[s->device].peers && !far && app_queue_takes(&l);
    if (queued && app_queue_groups())
        ok = app_queue_launch(s, &l, c->early, &e);
    else if (!known || !a->asked.only_time)
        ok = simulated && !known ? simulate(a, &l, s->device, far, &least, &e)
                                 : orr_exec_run(&l, a->asked.threads, NULL, NULL, &e);
    a->result.host.seconds += orr_seconds() - before;
    exchange(a, false);
    tell_strays(a, k);
    a->counts.skipped += !simulated;
    orr_progress_step(&a->progress, a->counts.nlaunches);
    app_cluster_stops();
    if (l.workspace && l.workspace != a->workspace) orr_mem_free(a->mem, l.workspace);
    if (!ok) {
        if (a->sticky) return a->sticky; // it has been said of the one beside it
        app_say("%s", e.text);
        return a->sticky = fault_code(fault);
    }
    if (a->result.launches.n > had) {
        ns = a->result.launches.at[a->result.launches.n - 1].time_ns;
        result = a->result.launches.n - 1; // others may have ended meanwhile
        if (!(ns >= 0)) ns = 0;            // a model without time
        if (ns > 0 && ns < least) ns = least;
    }
    if (a->asked.alike && simulated && !known) app_alike_add(key, ns, result);
    if (a->node && !app_pending_here()) app_managed_here(s, c);
    if (!queued)
        account(a, s, &l, ns);
    else if (!app_queue_groups())
        app_queue_timed(s, &l, c->early, result);
    return E_OK;
}

static int kernel(app_stream *s, const app_call *c) {
    orr_children children = {.device = s->device};
    int error = app_do_kernel(s, c, &children);
    if (!error && children.at.n) error = app_children_run(s, c->function->module, &children);
    orr_children_free(&children, the_app.mem);
    return error;
}

// ---- anything ----------------------------------------------------------------------------------
int app_do(app_stream *s, const app_call *c) {
    switch (c->what) {
    case DO_KERNEL: return kernel(s, c);
    case DO_COPY: return copy(s, c);
    case DO_FILL: return fill(s, c);
    case DO_HOST:
        app_clock_wait(app_clock_start(s, ENGINE_NONE));
        c->fn(c->user);
        return E_OK;
    case DO_RECORD:
        c->event->recorded = true;
        c->event->capture = NULL;
        if (app_queue_on() && !c->event->shared) {
            app_queue_record(s, c->event);
            return E_OK;
        }
        c->event->when = app_clock_start(s, ENGINE_NONE);
        app_event_tell(c->event);
        return E_OK;
    case DO_WAIT:
        app_event_look(c->event);
        if (app_queue_on() && !c->event->shared) {
            if (c->event->recorded) app_queue_wait(s, c->event);
            return E_OK;
        }
        if (c->event->shared) app_queue_flush();
        if (c->event->recorded && c->event->when > s->end) s->end = c->event->when;
        return E_OK;
    case DO_FREE: return app_free(c->user);
    case DO_GRAPH: return app_graph_run(c->graph, s);
    case DO_CONDITION: return app_conditional_run(c->conditional, s);
    case DO_NCCL: return c->nccl(s, c);
    default: return E_OK;
    }
}

int app_submit(app_stream *s, const app_call *c) {
    app_graph *g = s->capture ? s->capture : s->joined;
    // A stream joins a capture by waiting for an event that was recorded in it.
    if (!g && c->what == DO_WAIT && c->event->capture) {
        s->tail.n = 0;
        g = s->joined = c->event->capture;
    }
    if (!g) return app_pending_submit(s, c);
    if (c->what == DO_RECORD) {
        c->event->capture = g;
        c->event->tail.n = 0;
        for (size_t i = 0; i < s->tail.n; i++) *ORR_PUSH(&c->event->tail) = s->tail.at[i];
        return E_OK;
    }
    if (c->what == DO_WAIT) {
        for (size_t i = 0; c->event->capture == g && i < c->event->tail.n; i++)
            *ORR_PUSH(&s->tail) = c->event->tail.at[i];
        return E_OK;
    }
    app_node *node = app_graph_add(g, c, s->tail.at, s->tail.n);
    s->tail.n = 0;
    *ORR_PUSH(&s->tail) = node;
    return E_OK;
}
