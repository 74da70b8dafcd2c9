// A real GPU as the functional model: launch scripts run there, and what their kernels do comes back as the
// streams that the CPU executor would make. Modules are printed with each kernel instrumented
// (ptx/instrument.c) and compiled by the driver.
//
// Buffers have two addresses: the GPU's, which kernels see, and the one that the executor would have given
// them, which streams have. Nothing is stored at the latter.
//
// Unmodified programs (src/app) have their device memory in the host's own, at the same addresses for both.
// The driver is told of it, and the GPU works on it from afar: slowly, but every address is right as it is.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hw/native.h"
#include "isa/events.h"
#include "ptx/instrument.h"

#define MOST_GRID 0x7fffffffull // thread blocks of a launch of one dimension

// ---- memory ---------------------------------------------------------------------------------------
bool orr_native_allocate(orr_native *v, cu_address *a, uint64_t bytes, const char *what, orr_err *e) {
    orr_hw *h = v->h;
    if (*a) return true;
    TRY(what, cuMemAlloc_v2, a, bytes);
    return true;
}

static void add_buffer(orr_native *v, cu_address at, uint64_t bytes, uint64_t ours, bool fixed) {
    *ORR_PUSH(&v->buffers) = (buffer){.at = at, .bytes = bytes, .ours = ours, .fixed = fixed};
    v->moves.n = 0; // to be made again
}

static int by_address(const void *a, const void *b) {
    const orr_move *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

void orr_native_make_moves(orr_native *v) {
    if (v->moves.n) return;
    for (size_t n = 0; n < v->buffers.n; n++)
        *ORR_PUSH(&v->moves) = (orr_move){
            .from = v->buffers.at[n].at, .bytes = v->buffers.at[n].bytes, .to = v->buffers.at[n].ours};
    if (v->moves.n) qsort(v->moves.at, v->moves.n, sizeof *v->moves.at, by_address);
}

// Keep what kernels may change as it is now, or put it back: as it is before a slice, or before the launch.
bool orr_native_save(orr_native *v, int which, bool back, orr_err *e) {
    orr_hw *h = v->h;
    if (v->shared) {
        size_t bytes = orr_mem_end(v->mem) - ORR_GLOBAL_BASE;
        uint8_t *own = (uint8_t *)(uintptr_t)ORR_GLOBAL_BASE;
        if (!back) v->kept[which] = orr_realloc(v->kept[which], bytes + 1);
        memcpy(back ? own : v->kept[which], back ? v->kept[which] : own, bytes);
    }
    for (size_t n = 0; n < v->buffers.n; n++) {
        buffer *b = &v->buffers.at[n];
        if (b->fixed || v->shared) continue;
        if (!orr_native_allocate(v, &b->saved[which], b->bytes, "a copy of a buffer", e)) return false;
        if (back)
            TRY("a buffer", cuMemcpyDtoD_v2, b->at, b->saved[which], b->bytes);
        else
            TRY("a copy of a buffer", cuMemcpyDtoD_v2, b->saved[which], b->at, b->bytes);
    }
    return true;
}

// ---- modules --------------------------------------------------------------------------------------
static module *add_module(orr_native *v, orr_module *m, orr_image *image, orr_err *e) {
    if (strcmp(m->source, "ptx")) {
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: is machine code; kernels are recorded on a GPU from their PTX (--source ptx)", m->path);
        return NULL;
    }
    orr_text text = {0};
    double start = orr_seconds();
    cu_module loaded =
        orr_ptx_instrument(m, &text, e) ? orr_hw_compile(v->h, text.s ? text.s : "", m->path, e) : NULL;
    v->stats.compile_seconds += orr_seconds() - start;
    free(text.s);
    if (!loaded) return NULL;
    for (uint32_t k = 0; k < m->nvars; k++) {
        cu_address at;
        size_t bytes; // one that nothing refers to may not be there
        if (v->h->cuModuleGetGlobal_v2(&at, &bytes, loaded, m->vars[k].name) || !bytes) continue;
        add_buffer(v, at, bytes, image->var_addr[k], m->vars[k].space == ORR_SPACE_CONST);
    }
    module *out = ORR_PUSH(&v->modules);
    *out = (module){.module = m, .image = image, .loaded = loaded};
    return out;
}

static const module *module_of(orr_native *v, const orr_launch *l, orr_err *e) {
    for (size_t n = 0; n < v->modules.n; n++)
        if (v->modules.at[n].module == l->kernel->module) return &v->modules.at[n];
    return add_module(v, l->kernel->module, (orr_image *)(uintptr_t)l->image, e);
}

// ---- memory that is the host's ----------------------------------------------------------------------
#define STEP 0x200000ull // the driver is told of so much at a time

static bool tell_of_memory(orr_native *v, orr_err *e) {
    orr_hw *h = v->h;
    uint64_t end = (orr_mem_end(v->mem) + STEP - 1) & ~(STEP - 1);
    if (!v->told) v->told = ORR_GLOBAL_BASE;
    if (end <= v->told) return true;
    TRY("the program's device memory", cuMemHostRegister_v2, (void *)(uintptr_t)v->told, end - v->told,
        HOST_REGISTER_DEVICE);
    v->told = end;
    return true;
}

// Variables are in the GPU's own memory: their values go there before a launch, and come back.
static bool exchange(orr_native *v, bool in, orr_err *e) {
    orr_hw *h = v->h;
    for (size_t n = 0; v->shared && n < v->buffers.n; n++) {
        const buffer *b = &v->buffers.at[n];
        if (in)
            TRY("a variable", cuMemcpyHtoD_v2, b->at, (void *)(uintptr_t)b->ours, b->bytes);
        else if (!b->fixed)
            TRY("a variable", cuMemcpyDtoH_v2, (void *)(uintptr_t)b->ours, b->at, b->bytes);
    }
    return true;
}

// ---- a launch -------------------------------------------------------------------------------------
// A part of a grid may wait for a block that is not in it. That cannot be told in advance of every loop, and
// a kernel that never ends cannot be stopped but with the process: so one that takes far too long is given
// up.
#define PATIENCE 60.0 // seconds; a slice that fills the log takes one or two

static bool wait_for(orr_native *v, double most, const char *what, orr_err *e) {
    orr_hw *h = v->h;
    double start = orr_seconds();
    TRY(what, cuEventRecord, h->after, NULL);
    while (most > 0 && h->cuEventQuery(h->after) == ERROR_NOT_READY) {
        double spent = orr_seconds() - start;
        if (spent > most)
            return orr_fail(e, ORR_BAD_INPUT,
                            "%s: has not ended in %.0f seconds; if its thread blocks wait for each other it "
                            "cannot run in "
                            "slices: run it with --on cpu",
                            what, most);
        if (spent > 0.001) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    TRY(what, cuCtxSynchronize, );
    return true;
}

// Thread blocks [first, first + n), as one of the kernel's copies.
bool orr_native_launch(orr_native *v, const orr_launch *l, const char *copy, uint64_t first, uint64_t n,
                       orr_err *e) {
    orr_hw *h = v->h;
    const orr_kernel *k = l->kernel;
    char what[200];
    TRY("the GPU", cuCtxSetCurrent, h->context); // models pull on threads of their own
    const module *m = module_of(v, l, e);
    if (!m) return false;
    snprintf(what, sizeof what, "kernel %.100s (launch %u)", k->name, l->index);
    uint64_t control[ORR_CONTROL_WORDS] = {[ORR_CONTROL_FIRST] = first,
                                           [ORR_CONTROL_GRID_X] = l->grid[0],
                                           [ORR_CONTROL_GRID_Y] = l->grid[1],
                                           [ORR_CONTROL_GRID_Z] = l->grid[2],
                                           [ORR_CONTROL_DYNAMIC] = l->dynamic_shared,
                                           [ORR_CONTROL_LOG] = v->log,
                                           [ORR_CONTROL_BYTES] = LOG_BYTES,
                                           [ORR_CONTROL_USED] = v->used,
                                           [ORR_CONTROL_NOWHERE] = v->nowhere,
                                           [ORR_CONTROL_COUNTS] = v->counts,
                                           [ORR_CONTROL_BLOCKS] = v->tbs,
                                           [ORR_CONTROL_TABLE] = v->table,
                                           [ORR_CONTROL_CELLS] = v->cells};
    cu_address at;
    size_t bytes;
    cu_function f;
    char *name = orr_malloc(strlen(k->name) + 16);
    sprintf(name, "orr_%s_%s", copy, k->name);
    cu_result r = h->cuModuleGetFunction(&f, m->loaded, name);
    free(name);
    if (r) return orr_hw_failed(h, r, "cuModuleGetFunction", what, e);
    TRY(what, cuModuleGetGlobal_v2, &at, &bytes, m->loaded, "orr_control");
    TRY(what, cuMemcpyHtoD_v2, at, control, sizeof control);
    uint32_t shared = k->shared_bytes + l->dynamic_shared;
    if (shared > 48 << 10) TRY(what, cuFuncSetAttribute, f, FUNC_MAX_DYNAMIC_SHARED, (int)shared);
    if (v->shared && (!tell_of_memory(v, e) || !exchange(v, true, e))) return false;
    void **params = orr_calloc(k->nparams + 1, sizeof *params);
    for (uint32_t j = 0; j < k->nparams; j++) params[j] = l->params + k->params[j].offset;
    double start = orr_seconds();
    r = h->cuLaunchKernel(f, (unsigned)n, 1, 1, l->block[0], l->block[1], l->block[2], shared, NULL, params,
                          NULL);
    free(params);
    if (r) return orr_hw_failed(h, r, "cuLaunchKernel", what, e);
    if (!wait_for(v, n < blocks_of(l) ? PATIENCE : 0, what, e)) return false;
    v->stats.gpu_seconds += orr_seconds() - start;
    return exchange(v, false, e);
}

// The same, unobserved, however many they are.
bool orr_native_run(orr_native *v, const orr_launch *l, uint64_t first, uint64_t to, orr_err *e) {
    while (first < to) {
        uint64_t n = to - first < MOST_GRID ? to - first : MOST_GRID;
        if (!orr_native_launch(v, l, "run", first, n, e)) return false;
        first += n;
    }
    return true;
}

// Can it run there? And this thread is the one that asks the driver now.
bool orr_native_ready(orr_native *v, const orr_launch *l, orr_err *e) {
    orr_hw *h = v->h;
    if (l->workspace)
        return orr_fail(e, ORR_BAD_INPUT,
                        "kernel '%s': a cooperative launch cannot be recorded on a GPU; run it with --on cpu",
                        l->kernel->name);
    for (uint32_t n = 0; n < l->kernel->ninsts; n++) // handles are Orrery's own
        if (l->kernel->insts[n].op >= ORR_OP_TEX && l->kernel->insts[n].op <= ORR_OP_SURED)
            return orr_fail(
                e, ORR_BAD_INPUT,
                "kernel '%s' reads textures or surfaces, which are not the GPU's; run it with --on cpu",
                l->kernel->name);
    TRY(l->kernel->name, cuCtxSetCurrent, h->context);
    return orr_ptx_recordable(l->kernel, e);
}

// ---- the backend ----------------------------------------------------------------------------------
static bool native_load(void *self, int n, orr_module *m, orr_err *e) {
    orr_native *v = self;
    orr_image *image = orr_image_load(v->mem, m, e);
    if (!image || !add_module(v, m, image, e)) return false;
    while (v->script.n <= (size_t)n) *ORR_PUSH(&v->script) = 0;
    v->script.at[n] = (int)v->modules.n - 1;
    return true;
}

static uint64_t native_alloc(void *self, const char *name, uint64_t bytes, orr_err *e) {
    orr_native *v = self;
    orr_backend b = orr_hw_backend(v->h);
    uint64_t at = b.alloc(b.self, name, bytes, e);
    uint64_t ours = at ? orr_mem_alloc(v->mem, bytes, name, e) : 0;
    if (!ours) return 0;
    add_buffer(v, at, bytes, ours, false);
    return at;
}

static bool native_write(void *self, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    orr_backend b = orr_hw_backend(((orr_native *)self)->h);
    return b.write(b.self, addr, data, bytes, e);
}

static bool native_read(void *self, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    orr_backend b = orr_hw_backend(((orr_native *)self)->h);
    return b.read(b.self, addr, data, bytes, e);
}

static bool native_symbol(void *self, int n, const char *name, uint64_t *addr, uint64_t *bytes, orr_err *e) {
    orr_native *v = self;
    orr_hw *h = v->h;
    size_t size = 0;
    TRY(name, cuModuleGetGlobal_v2, addr, &size, v->modules.at[v->script.at[n]].loaded, name);
    *bytes = size;
    return true;
}

static bool native_launch(void *self, const orr_call *c, orr_err *e) {
    orr_native *v = self;
    int most = 0;
    if (!orr_hw_attribute(v->h, DEVICE_MOST_SHARED, &most) || most <= 0) most = 48 << 10;
    orr_launch l = {.kernel = c->kernel,
                    .image = v->modules.at[v->script.at[c->module]].image,
                    .mem = v->mem,
                    .index = c->index,
                    .dynamic_shared = c->dynamic_shared,
                    .elsewhere = &v->there};
    memcpy(l.grid, c->grid, sizeof l.grid);
    memcpy(l.block, c->block, sizeof l.block);
    l.params = orr_malloc(c->kernel->param_bytes + 1);
    memcpy(l.params, c->params, c->kernel->param_bytes);
    bool ok = orr_launch_check(&l, (uint32_t)most, e) && v->on_launch(v->arg, &l, c, e);
    free(l.params);
    return ok;
}

static orr_native *make(orr_native as) {
    orr_native *v = orr_calloc(1, sizeof *v);
    *v = as;
    v->there = (orr_elsewhere){.self = v,
                               .source = orr_native_source,
                               .run = orr_native_run_counted,
                               .tally = orr_native_tally,
                               .sums = orr_native_sums};
    return v;
}

orr_native *orr_native_new(orr_on_launch *on_launch, void *arg, orr_err *e) {
    orr_hw *h = orr_hw_open(e);
    orr_mem *mem = h ? orr_mem_new(e) : NULL;
    if (mem) return make((orr_native){.h = h, .mem = mem, .on_launch = on_launch, .arg = arg});
    orr_hw_close(h);
    return NULL;
}

orr_native *orr_native_share(orr_mem *mem, orr_err *e) {
    if (!orr_mem_shared(mem)) {
        orr_fail(e, ORR_BAD_INPUT, "device memory is not where the GPU could share it; run with --on cpu");
        return NULL;
    }
    orr_hw *h = orr_hw_open(e);
    return h ? make((orr_native){.h = h, .mem = mem, .shared = true}) : NULL;
}

const orr_elsewhere *orr_native_who(const orr_native *v) { return &v->there; }

orr_backend orr_native_backend(orr_native *v) {
    return (orr_backend){.self = v,
                         .load = native_load,
                         .alloc = native_alloc,
                         .write = native_write,
                         .read = native_read,
                         .symbol = native_symbol,
                         .launch = native_launch};
}

const orr_native_stats *orr_native_get_stats(const orr_native *v) { return &v->stats; }

void orr_native_delete(orr_native *v) {
    if (!v) return;
    for (size_t n = 0; n < v->modules.n; n++) {
        if (v->modules.at[n].loaded) v->h->cuModuleUnload(v->modules.at[n].loaded);
        if (v->modules.at[n].image && !v->shared) orr_image_free(v->mem, v->modules.at[n].image);
    }
    for (size_t n = 0; n < v->buffers.n; n++)
        for (int k = 0; k < 2; k++)
            if (v->buffers.at[n].saved[k]) v->h->cuMemFree_v2(v->buffers.at[n].saved[k]);
    cu_address own[] = {v->log, v->used, v->nowhere, v->counts, v->tbs, v->cells, v->table};
    for (size_t n = 0; n < sizeof own / sizeof *own; n++)
        if (own[n]) v->h->cuMemFree_v2(own[n]);
    free(v->kept[0]);
    free(v->kept[1]);
    free(v->script.at);
    free(v->modules.at);
    free(v->buffers.at);
    free(v->moves.at);
    if (!v->shared) orr_mem_delete(v->mem);
    orr_hw_close(v->h); // and the script's buffers
    free(v);
}
