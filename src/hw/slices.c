// Streams from a GPU. A launch runs in slices: as many thread blocks, in grid order, as what they write down
// is expected to fit into the log. When it did not fit, memory is put back to what it was before the slice,
// and the slice is made smaller. Slices follow each other, so that what one block leaves for a later one is
// there; only a kernel whose blocks wait for each other has to fit as a whole, and is refused otherwise. What
// came back is sorted by warp, and each thread block is replayed (exec/run/replay.c) when it is asked for.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hw/native.h"
#include "isa/events.h"

#define ROOM       (0.75 * LOG_BYTES) // that a slice is to fill
#define FIRST_EACH 4096               // bytes that a warp is expected to write while nothing is known

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
    if (!orr_native_save(v, BEFORE_SLICE, false, e)) return false;
    for (;;) {
        used = 0;
        TRY("a slice", cuMemcpyHtoD_v2, v->used, &used, sizeof used);
        if (!orr_native_launch(v, &s->l, "rec", index_of(s, s->next), n, e)) return false;
        TRY("a slice", cuMemcpyDtoH_v2, &used, v->used, sizeof used);
        v->stats.slices++;
        if (used <= LOG_BYTES) break;
        v->stats.again++;
        if (n == 1 || s->waits) return too_long(s, n, e);
        if (!orr_native_save(v, BEFORE_SLICE, true, e)) return false;
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
    if (to > done && !orr_native_run(s->v, &s->l, done, to, e)) return false;
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

static native_source *open_source(orr_native *v, const orr_launch *l, const orr_tally *t, orr_err *e) {
    if (!orr_native_ready(v, l, e)) return NULL;
    if (!orr_native_allocate(v, &v->log, LOG_BYTES, "memory for what kernels write down", e) ||
        !orr_native_allocate(v, &v->used, 256, "memory for what kernels write down", e) ||
        !orr_native_allocate(v, &v->nowhere, ORR_NOWHERE_BYTES, "memory for what kernels write down", e))
        return NULL;
    orr_native_make_moves(v);
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

orr_source *orr_native_source(void *self, const orr_launch *l, const uint64_t *blocks, uint64_t n,
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

bool orr_native_pull(orr_native *v, const orr_launch *l, const orr_tally *t, orr_err *e) {
    native_source *s = open_source(v, l, t, e);
    if (!s) return false;
    orr_tb tb;
    int more;
    s->only = t->sampled;
    s->total = t->nsampled;
    while ((more = native_next(&s->base, &tb, e)) > 0) {}
    native_close(&s->base);
    return more == 0;
}
