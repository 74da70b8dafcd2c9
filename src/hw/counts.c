// Sums from a GPU, where streams are not needed: how often blocks of code were entered, what each thread
// block did in all, and for the analytic model clocks. Nothing comes back but those.
#include <stdlib.h>
#include <string.h>

#include "hw/native.h"
#include "isa/events.h"

// ---- counts ---------------------------------------------------------------------------------------
static bool zeroed(orr_native *v, cu_address *a, uint64_t *have, uint64_t bytes, orr_err *e) {
    orr_hw *h = v->h;
    if (*have < bytes) {
        if (*a) h->cuMemFree_v2(*a);
        *a = 0;
        *have = 0;
        if (!orr_native_allocate(v, a, bytes, "memory for counts", e)) return false;
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
    if (!orr_native_ready(v, l, e)) return false;
    size_t row = (size_t)k->nblocks * ORR_COUNT_WORDS, all = row * ORR_COUNT_COPIES;
    uint64_t total = blocks_of(l), each = total < COUNTED_BLOCKS ? total : COUNTED_BLOCKS;
    if (!orr_native_allocate(v, &v->nowhere, ORR_NOWHERE_BYTES, "memory for counts", e) ||
        !zeroed(v, &v->counts, &v->counts_bytes, all * 8, e))
        return false;
    for (uint64_t first = 0; first < total; first += each) {
        uint64_t n = total - first < each ? total - first : each;
        if (!zeroed(v, &v->tbs, &v->tbs_bytes, each * ORR_COUNT_TB_WORDS * 8, e) ||
            !orr_native_launch(v, l, "cnt", first, n, e))
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

bool orr_native_sums(void *self, const orr_launch *l, orr_tb_sums *tbs, uint64_t *runs, orr_err *e) {
    return count_there(self, l, tbs, runs, NULL, e);
}

bool orr_native_run_counted(void *self, const orr_launch *l, orr_exec_counts *counts, orr_err *e) {
    orr_native *v = self;
    const orr_kernel *k = l->kernel;
    if (!counts) return orr_native_ready(v, l, e) && orr_native_run(v, l, 0, blocks_of(l), e);
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
    bool ok = orr_native_save(v, BEFORE_LAUNCH, false, e);
    ok = ok && orr_native_pull(v, l, &only, e);
    free(only.counts);
    return ok && orr_native_save(v, BEFORE_LAUNCH, true, e);
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
    bool ok = orr_native_allocate(v, &v->nowhere, ORR_NOWHERE_BYTES, "memory for counts", e) &&
              zeroed(v, &v->counts, &v->counts_bytes, all * 8, e) &&
              zeroed(v, &v->table, &v->table_bytes, (size_t)k->nblocks * ORR_TALLY_ROW * 4, e);
    cu_result r = ok ? h->cuMemcpyHtoD_v2(v->table, table, (size_t)k->nblocks * ORR_TALLY_ROW * 4) : 0;
    for (uint64_t first = 0; ok && !r && first < total; first += each) {
        uint64_t n = total - first < each ? total - first : each;
        ok = zeroed(v, &v->cells, &v->cells_bytes, each * warps * ORR_CELL_WORDS * 8, e) &&
             zeroed(v, &v->tbs, &v->tbs_bytes, each * ORR_TALLY_TB_WORDS * 8, e) &&
             orr_native_launch(v, l, "tal", first, n, e);
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

bool orr_native_tally(void *self, const orr_launch *l, const orr_tally *t, orr_exec_counts *counts,
                      orr_err *e) {
    orr_native *v = self;
    const orr_kernel *k = l->kernel;
    if (!orr_native_ready(v, l, e)) return false;
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
