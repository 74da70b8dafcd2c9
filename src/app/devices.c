// The GPUs of a node: which one a thread uses, and what copies to, from and between them take on its links.
//
// Without --node there is one, and copies take what its own description says (run.c). With it, a copy goes
// over the node's links (node/node.h): between two GPUs over NVLink where they have it, else over PCIe, and,
// where they cannot reach each other, by way of host memory.
#include "app/app.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local int current; // device, where there is one rank
static _Thread_local int last_error;

bool app_devices_open(app *a, int nodes, orr_err *e) {
    int gpus = a->node ? a->node->gpus : 1;
    if (nodes < 1) nodes = 1;
    if (nodes > 65536) return orr_fail(e, ORR_BAD_INPUT, "%d nodes: at most 65536", nodes);
    a->ndevices = nodes * gpus;
    a->devices = orr_calloc((size_t)a->ndevices, sizeof *a->devices);
    for (int i = 0; i < a->ndevices; i++) {
        a->devices[i].legacy.device = a->devices[i].per_thread.device = i;
        a->devices[i].per_thread.id = 1;
    }
    if (a->node) a->links = orr_calloc((size_t)nodes * (size_t)orr_node_links(a->node), sizeof *a->links);
    return true;
}

int app_device_count(void) { return the_app.node ? the_app.node->gpus : 1; }

static int *slot(void) { return app_in_cluster() ? app_rank_device() : &current; }
int *app_last_error_of(void) { return app_in_cluster() ? app_rank_error() : &last_error; }
int app_device_now(void) { return *slot(); }
int app_device_index(int device) { return app_rank_node() * app_device_count() + device; }

app_device *app_device_at(int device) {
    return device >= 0 && device < app_device_count() ? &the_app.devices[app_device_index(device)] : NULL;
}

bool app_device_use(int device) {
    if (!app_device_at(device)) return false;
    *slot() = device;
    return true;
}

int app_block_device(const app_block *b) { return b ? b->device % app_device_count() : 0; }

// ---- copies -------------------------------------------------------------------------------------
static double *links_of(int index) { // of the node that a device is in
    return the_app.links + (size_t)(index / app_device_count()) * (size_t)orr_node_links(the_app.node);
}

static void on_path(app_stream *s, int engine, const char *name, const orr_path *p, uint64_t bytes) {
    app *a = &the_app;
    bool peer = engine == ENGINE_PEER; // nothing but links keeps such copies apart
    double end, ready = app_clock_start(s, peer ? ENGINE_NONE : engine);
    double start = orr_path_copy(p, links_of(s->device), ready, bytes, &end);
    app_clock_done(s, peer ? ENGINE_NONE : engine,
                   (app_span){.name = name, .from = start, .to = end, .bytes = bytes});
    if (peer) app_clock_note(s, engine, name, start, end, bytes);
    a->times.copies++;
    a->times.copy_bytes += bytes;
    a->times.copy_ns += end - start;
    app_rank *r = app_rank_self();
    r->copies++;
    r->copy_bytes += bytes;
    r->copy_ns += end - start;
}

void app_copy_on_links(app_stream *s, int engine, const char *name, int gpu, uint64_t bytes) {
    orr_path p;
    int in_node = gpu % app_device_count();
    orr_node_path(the_app.node, engine == ENGINE_IN ? ORR_NODE_HOST : in_node,
                  engine == ENGINE_IN ? in_node : ORR_NODE_HOST, &p);
    on_path(s, engine, name, &p, bytes);
}

void app_device_peer(app_stream *s, int from, int to, bool staged, uint64_t bytes) {
    orr_path p;
    int n = app_device_count();
    if (staged)
        orr_node_staged(the_app.node, from % n, to % n, &p);
    else
        orr_node_path(the_app.node, from % n, to % n, &p);
    on_path(s, ENGINE_PEER, "copy between devices", &p, bytes);
}

// ---- managed memory -----------------------------------------------------------------------------
// A launch is given the managed memory that its parameters point into. Of what is elsewhere the pages that it
// touches are moved, of each place together, behind the launch. (A GPU moves them as it touches them, and
// more than it must where many of a stretch are touched.) Of a launch that is not executed all are.
enum { MANAGED_PAGE = 65536 };
static size_t pages_of(const app_block *b) { return (size_t)((b->bytes + MANAGED_PAGE - 1) / MANAGED_PAGE); }

static app_block *managed_param(const app_call *c, uint32_t at) {
    uint64_t addr;
    memcpy(&addr, c->params + at, 8);
    app_block *b = app_block_of(addr);
    return b && b->place == PLACE_MANAGED ? b : NULL;
}

bool app_managed_far(int device, const app_call *c) {
    bool far = false;
    for (uint32_t at = 0; the_app.node && at + 8 <= c->nparams; at += 8) {
        app_block *b = managed_param(c, at);
        if (!b || (!b->pages && b->device == device)) continue;
        if (!b->touched) b->touched = orr_calloc(pages_of(b), sizeof *b->touched);
        far = true;
    }
    return far;
}

void app_managed_here(app_stream *s, const app_call *c) {
    for (uint32_t at = 0; at + 8 <= c->nparams; at += 8) {
        app_block *b = managed_param(c, at);
        if (!b) continue;
        app_managed_move(s, b, s->device, b->addr, b->bytes);
        free(b->touched);
        b->touched = NULL;
    }
}

void app_managed_move(app_stream *s, app_block *b, int to, uint64_t p, uint64_t bytes) {
    app *a = &the_app;
    if (!a->node || (!b->pages && b->device == to) || p < b->addr || p - b->addr >= b->bytes) return;
    size_t n = pages_of(b), first = (size_t)((p - b->addr) / MANAGED_PAGE), end = n, here = 0;
    if (bytes < b->bytes - (p - b->addr))
        end = (size_t)((p - b->addr + bytes + MANAGED_PAGE - 1) / MANAGED_PAGE);
    if (!b->pages) {
        b->pages = orr_malloc(n * sizeof *b->pages);
        for (size_t i = 0; i < n; i++) b->pages[i] = b->device;
    }
    uint64_t *from = orr_calloc((size_t)a->ndevices + 1, sizeof *from); // by place; [0]: the host
    for (size_t i = first; i < end; i++) {
        if (b->pages[i] == to || (b->touched && !b->touched[i])) continue;
        uint64_t left = b->bytes - i * MANAGED_PAGE;
        from[b->pages[i] + 1] += left < MANAGED_PAGE ? left : MANAGED_PAGE;
        b->pages[i] = to;
    }
    for (size_t i = 0; i < n; i++) here += b->pages[i] == to;
    if (here == n) {
        free(b->pages);
        b->pages = NULL;
        b->device = to;
    }
    for (int i = -1; i < a->ndevices; i++) {
        if (!from[i + 1]) continue;
        if (i >= 0 && to >= 0)
            app_device_peer(s, i, to, false, from[i + 1]);
        else
            app_copy_on_links(s, i < 0 ? ENGINE_IN : ENGINE_OUT, "managed memory moves", i < 0 ? to : i,
                              from[i + 1]);
    }
    free(from);
}

// ---- kernels that use the memory of other devices ------------------------------------------------
// A launch's accesses are looked at on their way to the model, which times them as if all memory were its own
// GPU's; so are those to managed memory that is elsewhere. The launch takes at least as long as the bytes of
// other GPUs take on the links: a sector of 32 bytes for each that a warp touches, loads and stores alike.
typedef struct counting {
    orr_source source, *from;
    int device;
    uint64_t *bytes; // by device of the node
} counting;

static void count_access(counting *c, const orr_access *a) {
    uint64_t last = UINT64_MAX;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t addr = a->addr[__builtin_ctz(m)], sector = addr >> 5;
        if (sector == last) continue;
        last = sector;
        app_block *b = app_block_of(addr);
        if (b && b->touched) b->touched[(addr - b->addr) / MANAGED_PAGE] = true;
        if (b && b->place == PLACE_DEVICE && b->device != c->device) c->bytes[app_block_device(b)] += 32;
    }
}

static bool count_warp(counting *c, orr_warp_trace w) {
    const orr_kernel *k = c->source.info.kernel;
    orr_trace t = orr_trace_open(w);
    uint32_t block, mask;
    int more;
    while ((more = orr_trace_block(&t, k->nblocks, &block, &mask)) > 0) {
        const orr_block *b = &k->blocks[block];
        for (uint32_t i = b->first; i < b->first + b->count; i++) {
            const orr_inst *in = &k->insts[i];
            if (!orr_inst_traced(in)) continue;
            bool far = in->space == ORR_SPACE_GLOBAL || in->space == ORR_SPACE_GENERIC;
            orr_access a;
            if (far ? !orr_trace_access(&t, &a) : !orr_trace_skip(&t)) return false;
            if (far && !a.fields) count_access(c, &a);
        }
    }
    return more == 0;
}

static int counting_next(orr_source *s, orr_tb *tb, orr_err *e) {
    counting *c = (counting *)s;
    int more = c->from->next(c->from, tb, e);
    for (uint32_t i = 0; more > 0 && i < tb->nwarps; i++)
        if (!count_warp(c, tb->warps[i])) break;
    return more;
}

static void counting_close(orr_source *s) {
    counting *c = (counting *)s;
    if (c->from) c->from->close(c->from);
    c->from = NULL;
}

bool app_peer_run(const orr_launch *l, orr_work *w, int device, double *ns, orr_err *e) {
    app *a = &the_app;
    int n = app_device_count();
    uint64_t *bytes = orr_calloc((size_t)n, sizeof *bytes);
    counting c = {.source = {.info = w->info, .next = counting_next, .close = counting_close},
                  .device = device,
                  .bytes = bytes};
    c.from = orr_exec_source(l, NULL, e);
    if (c.from) {
        w->launch = NULL;
        w->source = &c.source;
    }
    bool ok = c.from && a->model->run(a->gpu, w, &a->result, e);
    counting_close(&c.source);
    *ns = 0;
    for (int i = 0; i < n; i++) {
        orr_path p;
        if (!bytes[i]) continue;
        orr_node_path(a->node, i, device % n, &p);
        *ns += (double)bytes[i] / orr_path_bandwidth(&p); // they come over the same links of this GPU
    }
    free(bytes);
    return ok;
}
