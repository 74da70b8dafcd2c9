// A real GPU as the functional model: launch scripts run there, and what their kernels do comes back as the
// streams that the CPU executor would make.
//
// Modules are printed with each kernel instrumented (ptx/instrument.c) and compiled by the driver. A launch
// runs in slices: as many thread blocks, in grid order, as what they write down is expected to fit into the
// memory set aside for it. When it did not fit, memory is put back to what it was before the slice, and the
// slice is made smaller. Slices follow each other, so that what one block leaves for a later one is there;
// only a kernel whose blocks wait for each other has to fit as a whole, and is refused otherwise.
//
// Buffers have two addresses: the GPU's, which kernels see, and the one that the executor would have given
// them, which streams have. Nothing is stored at the latter.
//
// Unmodified programs (src/app) have their device memory in the host's own, at the same addresses for both.
// The driver is told of it, and the GPU works on it from afar: slowly, but every address is right as it is.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/replay.h"
#include "hw/driver.h"
#include "isa/events.h"
#include "ptx/instrument.h"

#define LOG_BYTES  (256ull << 20)     // on the GPU, and at most as much on the host
#define ROOM       (0.75 * LOG_BYTES) // that a slice is to fill
#define MOST_WARPS (8u << 20)         // of a slice
#define MOST_GRID  0x7fffffffull      // thread blocks of a launch of one dimension
#define FIRST_EACH 4096               // bytes that a warp is expected to write while nothing is known

typedef struct buffer {      // an allocation or a module's variable
    cu_address at, saved[2]; // copies of it; 0: there is none yet
    uint64_t bytes, ours;
    bool fixed; // kernels cannot change it
} buffer;

typedef struct module {
    orr_module *module;
    orr_image *image;
    cu_module loaded;
} module;

struct orr_native {
    orr_hw *h;
    orr_mem *mem; // where things would be
    orr_on_launch *on_launch;
    void *arg;
    ORR_VEC(module) modules;
    ORR_VEC(int) script; // the script's modules: which of them
    ORR_VEC(buffer) buffers;
    ORR_VEC(orr_move) moves; // of the buffers, by address
    cu_address log, used, nowhere, counts, tbs, cells, table;
    uint64_t counts_bytes, tbs_bytes, cells_bytes, table_bytes;
    bool shared;      // memory is the host's own
    uint64_t told;    // up to where the driver knows of it
    uint8_t *kept[2]; // copies of it
    orr_elsewhere there;
    orr_native_stats stats;
};

// ---- memory ---------------------------------------------------------------------------------------
static bool allocate(orr_native *v, cu_address *a, uint64_t bytes, const char *what, orr_err *e) {
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

static void make_moves(orr_native *v) {
    if (v->moves.n) return;
    for (size_t n = 0; n < v->buffers.n; n++)
        *ORR_PUSH(&v->moves) = (orr_move){
            .from = v->buffers.at[n].at, .bytes = v->buffers.at[n].bytes, .to = v->buffers.at[n].ours};
    if (v->moves.n) qsort(v->moves.at, v->moves.n, sizeof *v->moves.at, by_address);
}

// Keep what kernels may change as it is now, or put it back: as it is before a slice, or before the launch.
enum { BEFORE_SLICE, BEFORE_LAUNCH };
static bool save(orr_native *v, int which, bool back, orr_err *e) {
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
        if (!allocate(v, &b->saved[which], b->bytes, "a copy of a buffer", e)) return false;
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
static uint64_t blocks_of(const orr_launch *l) { return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]; }
static uint32_t warps_of(const orr_launch *l) { return (l->block[0] * l->block[1] * l->block[2] + 31) / 32; }

// A part of a grid may wait for a block that is not in it. That cannot be told in advance of every loop, and
// a kernel that never ends cannot be stopped but with the process: so one that takes far too long is given
// up.
#define PATIENCE 60.0 // seconds; a slice that fills the log takes one or two

static bool wait_for(orr_native *v, double most, const char *what, orr_err *e) {
    orr_hw *h = v->h;
    double start = orr_seconds();
    TRY(what, cuEventRecord, h->after, NULL);
    cu_result r;
    while (most > 0 && (r = h->cuEventQuery(h->after)) == ERROR_NOT_READY) {
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
static bool launch(orr_native *v, const orr_launch *l, const char *copy, uint64_t first, uint64_t n,
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
static bool run_plain(orr_native *v, const orr_launch *l, uint64_t first, uint64_t to, orr_err *e) {
    while (first < to) {
        uint64_t n = to - first < MOST_GRID ? to - first : MOST_GRID;
        if (!launch(v, l, "run", first, n, e)) return false;
        first += n;
    }
    return true;
}

// ---- a slice --------------------------------------------------------------------------------------
typedef struct native_source {
    orr_source base;
    orr_native *v;
    orr_launch l;
    orr_replay *replay;
    orr_exec_counts *counts;
    const uint64_t *only; // NULL: all
    uint64_t next, total; // in `only`, or thread blocks
    uint64_t first, n;    // thread blocks of the slice that is here
    uint64_t most;        // how many the next one may have
    bool waits;           // blocks wait for each other: it must be one slice
    uint64_t *log;        // what it wrote down
    uint64_t words;
    uint32_t *starts; // [warps of the slice + 1] where in `at` a warp's events begin
    uint32_t *at;     // where in the log each is
    orr_warp_events *warps;
} native_source;

static uint64_t index_of(const native_source *s, uint64_t at) { return s->only ? s->only[at] : at; }

// How many of the thread blocks from `at` on follow each other, up to `most`.
static uint64_t run_from(const native_source *s, uint64_t at, uint64_t most) {
    uint64_t n = s->total - at < most ? s->total - at : most;
    if (!s->only) return n;
    for (uint64_t k = 1; k < n; k++)
        if (s->only[at + k] != s->only[at] + k) return k;
    return n;
}

static bool too_long(const native_source *s, uint64_t n, orr_err *e) {
    const orr_kernel *k = s->l.kernel;
    unsigned most = (unsigned)(LOG_BYTES >> 20);
    if (s->waits && n > 1)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "%s: kernel '%s': its thread blocks wait for each other, so they cannot run in slices, and "
            "what all %" PRIu64 " of them do is more than %u MiB; run it with --on cpu",
            k->module->path, k->name, n, most);
    return orr_fail(e, ORR_BAD_INPUT,
                    "%s: kernel '%s': what one thread block does is more than %u MiB; run it with --on cpu",
                    k->module->path, k->name, most);
}

static bool damaged(orr_err *e) { return orr_fail(e, ORR_BAD_INPUT, "what the GPU wrote down is damaged"); }

// Which events are whose: counted first, then noted where they are.
static bool sort_events(native_source *s, orr_err *e) {
    uint64_t warps = s->n * warps_of(&s->l), events = 0;
    s->starts = orr_realloc(s->starts, (warps + 1) * sizeof *s->starts);
    memset(s->starts, 0, (warps + 1) * sizeof *s->starts);
    for (uint64_t n = 0; n < s->words; events++) {
        uint64_t left = s->words - n;
        if (left < ORR_EVENT_HEAD || orr_event_words(s->log[n]) > left || s->log[n + 1] >= warps)
            return damaged(e);
        s->starts[s->log[n + 1] + 1]++;
        n += orr_event_words(s->log[n]);
    }
    for (uint64_t w = 0; w < warps; w++) s->starts[w + 1] += s->starts[w];
    s->at = orr_realloc(s->at, (events + 1) * sizeof *s->at);
    for (uint64_t n = 0; n < s->words; n += orr_event_words(s->log[n]))
        s->at[s->starts[s->log[n + 1]]++] = (uint32_t)n;
    memmove(s->starts + 1, s->starts, warps * sizeof *s->starts); // they have moved to the next one's
    s->starts[0] = 0;
    return true;
}

// Runs the slice that begins with thread block index_of(next) and brings what it wrote down here.
static bool run_slice(native_source *s, orr_err *e) {
    orr_native *v = s->v;
    orr_hw *h = v->h;
    uint64_t warps = warps_of(&s->l);
    uint64_t n = run_from(s, s->next, s->most < MOST_WARPS / warps ? s->most : MOST_WARPS / warps);
    if (s->waits && !s->only && n < s->total) return too_long(s, s->total, e);
    uint64_t used;
    TRY("the GPU", cuCtxSetCurrent, h->context);
    if (!save(v, BEFORE_SLICE, false, e)) return false;
    for (;;) {
        used = 0;
        TRY("a slice", cuMemcpyHtoD_v2, v->used, &used, sizeof used);
        if (!launch(v, &s->l, "rec", index_of(s, s->next), n, e)) return false;
        TRY("a slice", cuMemcpyDtoH_v2, &used, v->used, sizeof used);
        v->stats.slices++;
        if (used <= LOG_BYTES) break;
        v->stats.again++;
        if (n == 1 || s->waits) return too_long(s, n, e);
        if (!save(v, BEFORE_SLICE, true, e)) return false;
        uint64_t fit = (uint64_t)((double)n * ROOM / (double)used);
        n = fit < 1 ? 1 : fit < n ? fit : n - 1;
    }
    s->first = index_of(s, s->next);
    s->n = n;
    s->words = used / 8;
    s->log = orr_realloc(s->log, used + 8);
    double start = orr_seconds();
    if (used) TRY("what a slice wrote", cuMemcpyDtoH_v2, s->log, v->log, used);
    v->stats.copy_seconds += orr_seconds() - start;
    v->stats.bytes += used;
    // The next one: as many as would fill three quarters if they are like these.
    double next = used ? ROOM * (double)n / (double)used : MOST_WARPS;
    s->most = next < 1 ? 1 : next > MOST_WARPS ? MOST_WARPS : (uint64_t)next;
    start = orr_seconds();
    bool ok = sort_events(s, e);
    v->stats.replay_seconds += orr_seconds() - start;
    return ok;
}

static int native_next(orr_source *base, orr_tb *tb, orr_err *e) {
    native_source *s = (native_source *)base;
    if (s->next >= s->total) {
        if (s->counts) *s->counts = orr_replay_counts(s->replay);
        return 0;
    }
    uint64_t index = index_of(s, s->next);
    if ((index < s->first || index >= s->first + s->n) && !run_slice(s, e)) return -1;
    uint32_t warps = warps_of(&s->l);
    for (uint32_t w = 0; w < warps; w++) {
        const uint32_t *from = s->starts + (index - s->first) * warps + w;
        s->warps[w] = (orr_warp_events){s->log, s->words, s->at + from[0], from[1] - from[0]};
    }
    double start = orr_seconds();
    if (!orr_replay_block(s->replay, index, s->warps, tb, e)) return -1;
    s->v->stats.replay_seconds += orr_seconds() - start;
    s->next++;
    return 1;
}

static bool native_skip(orr_source *base, uint64_t to, orr_err *e) {
    native_source *s = (native_source *)base;
    if (to > s->total) to = s->total;
    if (to <= s->next) return true;
    uint64_t done = s->next < s->first + s->n ? s->first + s->n : s->next; // executed so far
    if (to > done && !run_plain(s->v, &s->l, done, to, e)) return false;
    s->next = to;
    return true;
}

static void native_close(orr_source *base) {
    native_source *s = (native_source *)base;
    orr_err ignored = {0}; // the next call of the driver says it again
    if (!s->only) native_skip(base, s->total, &ignored);
    orr_replay_free(s->replay);
    free(s->log);
    free(s->starts);
    free(s->at);
    free(s->warps);
    free(s->l.params);
    free(s);
}

// Can it run there? And this thread is the one that asks the driver now.
static bool ready(orr_native *v, const orr_launch *l, orr_err *e) {
    orr_hw *h = v->h;
    if (l->workspace)
        return orr_fail(e, ORR_BAD_INPUT,
                        "kernel '%s': a cooperative launch cannot be recorded on a GPU; run it with --on cpu",
                        l->kernel->name);
    TRY(l->kernel->name, cuCtxSetCurrent, h->context);
    return orr_ptx_recordable(l->kernel, e);
}

static native_source *open_source(orr_native *v, const orr_launch *l, const orr_tally *t, orr_err *e) {
    if (!ready(v, l, e)) return NULL;
    if (!allocate(v, &v->log, LOG_BYTES, "memory for what kernels write down", e) ||
        !allocate(v, &v->used, 256, "memory for what kernels write down", e) ||
        !allocate(v, &v->nowhere, ORR_NOWHERE_BYTES, "memory for what kernels write down", e))
        return NULL;
    make_moves(v);
    orr_replay *r = orr_replay_new(l, v->moves.at, v->moves.n, t, e);
    if (!r) return NULL;
    native_source *s = orr_calloc(1, sizeof *s);
    s->v = v;
    s->l = *l;
    s->l.params = orr_malloc(l->kernel->param_bytes + 1);
    memcpy(s->l.params, l->params, l->kernel->param_bytes);
    s->replay = r;
    s->total = blocks_of(l);
    s->most = LOG_BYTES / FIRST_EACH / warps_of(l);
    s->waits = orr_replay_waits(r);
    if (s->waits) s->most = s->total;
    s->warps = orr_calloc(warps_of(l), sizeof *s->warps);
    s->base.info = orr_info_of(l);
    s->base.next = native_next;
    s->base.close = native_close;
    return s;
}

static orr_source *there_source(void *self, const orr_launch *l, const uint64_t *blocks, uint64_t n,
                                orr_exec_counts *counts, orr_err *e) {
    native_source *s = open_source(self, l, NULL, e);
    if (!s) return NULL;
    s->counts = counts;
    s->only = blocks;
    if (blocks)
        s->total = n;
    else
        s->base.skip = native_skip;
    return &s->base;
}

// ---- counts ---------------------------------------------------------------------------------------
static bool zeroed(orr_native *v, cu_address *a, uint64_t *have, uint64_t bytes, orr_err *e) {
    orr_hw *h = v->h;
    if (*have < bytes) {
        if (*a) h->cuMemFree_v2(*a);
        *a = 0;
        *have = 0;
        if (!allocate(v, a, bytes, "memory for counts", e)) return false;
        *have = bytes;
    }
    TRY("memory for counts", cuMemsetD8_v2, *a, 0, bytes);
    return true;
}

#define COUNTED_BLOCKS (16u << 20) // thread blocks of a launch that counts

// All of it in few launches, counted on the GPU. `runs` is added to; tbs NULL: not wanted.
static bool count_there(orr_native *v, const orr_launch *l, orr_tb_sums *tbs, uint64_t *runs, uint64_t *lanes,
                        orr_err *e) {
    orr_hw *h = v->h;
    const orr_kernel *k = l->kernel;
    if (!ready(v, l, e)) return false;
    size_t row = (size_t)k->nblocks * ORR_COUNT_WORDS, all = row * ORR_COUNT_COPIES;
    uint64_t total = blocks_of(l), each = total < COUNTED_BLOCKS ? total : COUNTED_BLOCKS;
    if (!allocate(v, &v->nowhere, ORR_NOWHERE_BYTES, "memory for counts", e) ||
        !zeroed(v, &v->counts, &v->counts_bytes, all * 8, e))
        return false;
    for (uint64_t first = 0; first < total; first += each) {
        uint64_t n = total - first < each ? total - first : each;
        if (!zeroed(v, &v->tbs, &v->tbs_bytes, each * ORR_COUNT_TB_WORDS * 8, e) ||
            !launch(v, l, "cnt", first, n, e))
            return false;
        if (tbs) // a thread block's words are orr_tb_sums
            TRY("counts", cuMemcpyDtoH_v2, tbs + first, v->tbs, n * sizeof *tbs);
    }
    uint64_t *at = orr_calloc(all, sizeof *at);
    cu_result r = h->cuMemcpyDtoH_v2(at, v->counts, all * sizeof *at);
    for (size_t n = 0; n < all; n += ORR_COUNT_WORDS) {
        runs[n % row / ORR_COUNT_WORDS] += at[n + ORR_COUNT_RUNS];
        if (lanes) lanes[n % row / ORR_COUNT_WORDS] += at[n + ORR_COUNT_LANES];
    }
    free(at);
    return !r || orr_hw_failed(h, r, "cuMemcpyDtoH", "counts", e);
}

_Static_assert(sizeof(orr_tb_sums) == ORR_COUNT_TB_WORDS * 8 &&
                   offsetof(orr_tb_sums, requests) == ORR_COUNT_TB_REQUESTS * 8,
               "what the GPU counts is copied as it is");

static bool there_sums(void *self, const orr_launch *l, orr_tb_sums *tbs, uint64_t *runs, orr_err *e) {
    return count_there(self, l, tbs, runs, NULL, e);
}

static bool there_run(void *self, const orr_launch *l, orr_exec_counts *counts, orr_err *e) {
    orr_native *v = self;
    const orr_kernel *k = l->kernel;
    if (!counts) return ready(v, l, e) && run_plain(v, l, 0, blocks_of(l), e);
    uint64_t *sums = orr_calloc(2 * (size_t)k->nblocks + 1, sizeof *sums);
    *counts = (orr_exec_counts){.blocks = blocks_of(l)};
    bool ok = count_there(v, l, NULL, sums, sums + k->nblocks, e);
    for (uint32_t b = 0; b < k->nblocks; b++) {
        counts->warp_insts += sums[b] * k->blocks[b].count;
        counts->thread_insts += sums[k->nblocks + b] * k->blocks[b].count;
    }
    free(sums);
    return ok;
}

// ---- counts with clocks ---------------------------------------------------------------------------
// Streams of the thread blocks that are wanted as streams too, made first: they are kept, and memory is put
// back.
typedef struct streams {
    const orr_tally *t;
    orr_tb *kept; // [nsampled]
    orr_arena arena;
} streams;

static bool keep_stream(void *arg, int worker, const orr_tally_tb *x, orr_err *e) {
    streams *s = arg;
    (void)worker;
    (void)e;
    for (uint32_t n = 0; x->streams && n < s->t->nsampled; n++) {
        if (s->t->sampled[n] != x->index) continue;
        uint32_t nwarps = x->streams->nwarps;
        orr_warp_trace *warps = orr_arena_alloc(&s->arena, nwarps * sizeof *warps);
        for (uint32_t w = 0; w < nwarps; w++) {
            warps[w].n = x->streams->warps[w].n;
            warps[w].bytes =
                memcpy(orr_arena_alloc(&s->arena, warps[w].n + 1), x->streams->warps[w].bytes, warps[w].n);
        }
        s->kept[n] = (orr_tb){.index = x->index, .nwarps = nwarps, .warps = warps};
    }
    return true;
}

static bool make_streams(orr_native *v, const orr_launch *l, streams *s, orr_err *e) {
    orr_tally only = *s->t;
    only.counts = orr_calloc((size_t)l->kernel->nblocks + 1, sizeof *only.counts); // not these
    only.visit = keep_stream;
    only.arg = s;
    bool ok = save(v, BEFORE_LAUNCH, false, e);
    native_source *from = ok ? open_source(v, l, &only, e) : NULL;
    int more = -1;
    if (from) {
        orr_tb tb;
        from->only = s->t->sampled;
        from->total = s->t->nsampled;
        while ((more = native_next(&from->base, &tb, e)) > 0) {}
        native_close(&from->base);
    }
    free(only.counts);
    return more == 0 && save(v, BEFORE_LAUNCH, true, e);
}

static void fill_table(const orr_tally *t, uint32_t nblocks, uint32_t *row) {
    for (uint32_t b = 0; b < nblocks; b++, row += ORR_TALLY_ROW) {
        for (int k = 0; k < ORR_TALLY_FROM; k++)
            row[k] = t->blocks[b].from[k] == UINT32_MAX ? UINT32_MAX : t->blocks[b].from[k] + 1;
        memcpy(row + ORR_TALLY_FROM, t->blocks[b].weight, sizeof t->blocks[b].weight);
    }
}

_Static_assert(ORR_TALLY_FROM + 1 == ORR_TALLY_WAYS && sizeof(orr_tally_count) == ORR_TALLY_COUNTS * 8,
               "what the GPU counts is added as it is");

// The thread blocks [first, first + n) are done: their clocks, out of the warps' cells.
static bool tell_blocks(const orr_launch *l, const streams *s, const uint64_t *cells, uint64_t first,
                        uint64_t n, orr_err *e) {
    uint32_t warps = warps_of(l), at = 0;
    for (uint64_t b = first; b < first + n; b++) {
        orr_tally_tb x = {.index = b};
        for (uint32_t w = 0; w < warps; w++, cells += ORR_CELL_WORDS) {
            if (cells[ORR_CELL_CLOCK] > x.longest) x.longest = cells[ORR_CELL_CLOCK];
            x.sum += cells[ORR_CELL_WORK];
        }
        while (at < s->t->nsampled && s->t->sampled[at] < b) at++;
        if (at < s->t->nsampled && s->t->sampled[at] == b) x.streams = &s->kept[at];
        if (!s->t->visit(s->t->arg, 0, &x, e)) return false;
    }
    return true;
}

static bool tally_blocks(orr_native *v, const orr_launch *l, const streams *s, orr_err *e) {
    orr_hw *h = v->h;
    const orr_kernel *k = l->kernel;
    uint64_t warps = warps_of(l), total = blocks_of(l), each = MOST_WARPS / 2 / warps;
    size_t row = (size_t)k->nblocks * ORR_TALLY_COUNTS, all = row * ORR_COUNT_COPIES;
    if (each > total) each = total;
    uint32_t *table = orr_calloc((size_t)k->nblocks * ORR_TALLY_ROW + 1, sizeof *table);
    uint64_t *cells = orr_calloc(each * warps * ORR_CELL_WORDS + 1, sizeof *cells), *counts = NULL;
    fill_table(s->t, k->nblocks, table);
    bool ok = allocate(v, &v->nowhere, ORR_NOWHERE_BYTES, "memory for counts", e) &&
              zeroed(v, &v->counts, &v->counts_bytes, all * 8, e) &&
              zeroed(v, &v->table, &v->table_bytes, (size_t)k->nblocks * ORR_TALLY_ROW * 4, e);
    cu_result r = ok ? h->cuMemcpyHtoD_v2(v->table, table, (size_t)k->nblocks * ORR_TALLY_ROW * 4) : 0;
    for (uint64_t first = 0; ok && !r && first < total; first += each) {
        uint64_t n = total - first < each ? total - first : each;
        ok = zeroed(v, &v->cells, &v->cells_bytes, each * warps * ORR_CELL_WORDS * 8, e) &&
             zeroed(v, &v->tbs, &v->tbs_bytes, each * 16, e) && launch(v, l, "tal", first, n, e);
        if (ok) r = h->cuMemcpyDtoH_v2(cells, v->cells, n * warps * ORR_CELL_WORDS * 8);
        if (ok && !r) ok = tell_blocks(l, s, cells, first, n, e);
    }
    if (ok && !r) {
        counts = orr_calloc(all, sizeof *counts);
        r = h->cuMemcpyDtoH_v2(counts, v->counts, all * 8);
        for (size_t n = 0; !r && n < all; n++) {
            orr_tally_count *to = &s->t->counts[n % row / ORR_TALLY_COUNTS];
            size_t which = n % ORR_TALLY_COUNTS;
            *(which < ORR_TALLY_WAYS ? &to->runs[which] : &to->lanes) += counts[n];
        }
    }
    free(counts);
    free(cells);
    free(table);
    return ok && (!r || orr_hw_failed(h, r, "cuMemcpy", "counts", e));
}

static bool there_tally(void *self, const orr_launch *l, const orr_tally *t, orr_exec_counts *counts,
                        orr_err *e) {
    orr_native *v = self;
    const orr_kernel *k = l->kernel;
    if (!ready(v, l, e)) return false;
    streams s = {.t = t};
    s.kept = orr_arena_alloc(&s.arena, ((size_t)t->nsampled + 1) * sizeof *s.kept);
    bool ok = (!t->nsampled || make_streams(v, l, &s, e)) && tally_blocks(v, l, &s, e);
    orr_arena_free(&s.arena);
    if (counts) {
        *counts = (orr_exec_counts){.blocks = blocks_of(l)};
        for (uint32_t b = 0; b < k->nblocks; b++) {
            for (int way = 0; way <= ORR_TALLY_FROM; way++)
                counts->warp_insts += t->counts[b].runs[way] * k->blocks[b].count;
            counts->thread_insts += t->counts[b].lanes * k->blocks[b].count;
        }
    }
    return ok;
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

orr_native *orr_native_new(orr_on_launch *on_launch, void *arg, orr_err *e) {
    orr_hw *h = orr_hw_open(e);
    orr_mem *mem = h ? orr_mem_new(e) : NULL;
    if (!mem) {
        orr_hw_close(h);
        return NULL;
    }
    orr_native *v = orr_calloc(1, sizeof *v);
    *v = (orr_native){.h = h, .mem = mem, .on_launch = on_launch, .arg = arg};
    v->there = (orr_elsewhere){
        .self = v, .source = there_source, .run = there_run, .tally = there_tally, .sums = there_sums};
    return v;
}

orr_native *orr_native_share(orr_mem *mem, orr_err *e) {
    orr_hw *h = orr_mem_shared(mem) ? orr_hw_open(e) : NULL;
    if (!h) {
        orr_fail(e, ORR_BAD_INPUT, "device memory is not where the GPU could share it; run with --on cpu");
        return NULL;
    }
    orr_native *v = orr_calloc(1, sizeof *v);
    *v = (orr_native){.h = h, .mem = mem, .shared = true};
    v->there = (orr_elsewhere){
        .self = v, .source = there_source, .run = there_run, .tally = there_tally, .sums = there_sums};
    return v;
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
