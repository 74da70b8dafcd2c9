// Virtual registers to the machine's, by linear scan over the whole function (Poletto and Sarkar): a
// register's life is from its first to its last mention, with the blocks it is live through in between. Pairs
// and quads are aligned and given out together. Nothing is spilt: a function that needs more than there are
// shares the rest, which costs a false dependence here and there where ptxas would write spill code.
//
// And the number of registers a thread needs: the most that are alive at one place.
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

#define MAX_CELLS (1u << 23)

typedef struct life {
    uint32_t first, last; // places: 2 * instruction, + 1 behind it
    uint32_t vreg;
} life;

typedef struct alloc {
    lower *l;
    life *life;       // per virtual register
    uint32_t *global; // its number among those that more than one block knows, + 1
    uint32_t nglobal;
    uint32_t *vreg_of; // and back
    orr_live live;     // of those
    uint32_t *readers; // two instructions that read it, + 1
    uint32_t nbanks;
} alloc;

static uint32_t reg_at(const alloc *a, const minst *m, int r) { return a->l->regs.at[m->regs + (uint32_t)r]; }

static void touch(life *v, uint32_t at) {
    if (at < v->first) v->first = at;
    if (at > v->last) v->last = at;
}

static void find_global(alloc *a) {
    lower *l = a->l;
    uint32_t *home = orr_malloc((l->vregs.n + 1) * sizeof *home);
    for (size_t v = 0; v < l->vregs.n; v++) home[v] = NONE;
    for (uint32_t b = 0; b < l->flow.nblocks; b++)
        for (uint32_t i = l->block_first.at[b]; i < l->block_first.at[b + 1]; i++) {
            const minst *m = &l->insts.at[i];
            for (int r = 0; r < m->nsrc + m->ndst; r++) {
                uint32_t v = reg_at(a, m, r);
                bool early =
                    r < m->nsrc && a->life[v].first == NONE; // read before it is written: it comes round
                if ((early || (home[v] != NONE && home[v] != b)) && !a->global[v])
                    a->global[v] = ++a->nglobal;
                home[v] = b;
                touch(&a->life[v], r < m->nsrc ? 2 * i : 2 * i + 1);
                if (r < m->nsrc && !a->readers[2 * v])
                    a->readers[2 * v] = i + 1;
                else if (r < m->nsrc && !a->readers[2 * v + 1])
                    a->readers[2 * v + 1] = i + 1;
            }
        }
    free(home);
}

// What is alive at the starts and ends of blocks. False: there is too much to look at.
static bool find_live(alloc *a) {
    lower *l = a->l;
    const flow *f = &l->flow;
    orr_live *live = &a->live;
    if ((uint64_t)(a->nglobal / 64 + 1) * f->nblocks > MAX_CELLS) return false;
    orr_live_new(live, f->nblocks, a->nglobal);
    for (uint32_t b = 0; b < f->nblocks; b++) {
        uint64_t *use = live->use + (size_t)b * live->words, *def = live->def + (size_t)b * live->words;
        for (uint32_t i = l->block_first.at[b]; i < l->block_first.at[b + 1]; i++) {
            const minst *m = &l->insts.at[i];
            for (int r = 0; r < m->nsrc + m->ndst; r++) {
                uint32_t g = a->global[reg_at(a, m, r)];
                if (!g || orr_live_has(def, g - 1)) continue;
                bool writes = r >= m->nsrc && !(m->flags & ORR_TF_GUARDED); // lanes it skips keep theirs
                orr_live_put(writes ? def : use, g - 1);
            }
        }
    }
    orr_live_solve(live, l->k, &l->func);
    lower_live_reachable(f, live);
    return true;
}

static void stretch(alloc *a) { // lives over the blocks they pass through
    lower *l = a->l;
    for (uint32_t b = 0; b < l->flow.nblocks; b++) {
        uint32_t first = l->block_first.at[b], end = l->block_first.at[b + 1];
        for (uint32_t w = 0; w < a->live.words; w++) {
            for (uint64_t m = orr_live_in(&a->live, b)[w]; m; m &= m - 1)
                touch(&a->life[a->vreg_of[w * 64 + (uint32_t)__builtin_ctzll(m)]], 2 * first);
            for (uint64_t m = orr_live_out(&a->live, b)[w]; m; m &= m - 1)
                touch(&a->life[a->vreg_of[w * 64 + (uint32_t)__builtin_ctzll(m)]],
                      end > first ? 2 * end - 1 : 2 * first);
        }
    }
}

// ---- linear scan ---------------------------------------------------------------------------------
static int by_first(const void *x, const void *y) {
    const life *a = x, *b = y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->vreg < b->vreg ? -1 : a->vreg > b->vreg;
}

typedef struct bank {
    uint16_t base, many;
    uint32_t until[256]; // the place up to which a register is taken, + 1; 0: free
    uint32_t next;       // to be shared when all are taken
} bank;

// The lowest aligned run of n registers that are free at `at`, or `many`.
static uint32_t find_run(const bank *k, uint32_t at, uint32_t n) {
    uint32_t align = n > 4 ? 4 : n;
    if (align == 3) align = 4;
    for (uint32_t r = 0; r + n <= k->many; r += align) {
        uint32_t x = 0;
        while (x < n && k->until[r + x] <= at) x++;
        if (x == n) return r;
    }
    return k->many;
}

// How many operands of v's readers are in a bank already.
static uint32_t crowd(const alloc *a, uint32_t v, uint32_t which, const uint8_t *done) {
    uint32_t n = 0;
    for (int x = 0; x < 2; x++) {
        uint32_t i = a->readers[2 * v + (uint32_t)x];
        if (!i) continue;
        const minst *m = &a->l->insts.at[i - 1];
        for (int s = 0; s < m->nsrc; s++) {
            uint32_t u = reg_at(a, m, s);
            n += u != v && done[u] == 2 && a->l->vregs.at[u].file == FILE_R &&
                 a->l->vregs.at[u].reg % a->nbanks == which;
        }
    }
    return n;
}

// A free register in the emptiest bank, if one is near the lowest that is free.
static uint32_t prefer_bank(const alloc *a, const bank *k, uint32_t at, uint32_t v, uint32_t lowest,
                            const uint8_t *done) {
    uint32_t best = lowest, least = NONE;
    for (uint32_t r = lowest; r < k->many && r < lowest + 2 * a->nbanks; r++) {
        if (k->until[r] > at) continue;
        uint32_t c = crowd(a, v, r % a->nbanks, done);
        if (c >= least) continue;
        least = c;
        best = r;
    }
    return best;
}

static void give(alloc *a, bank *k, uint32_t first, uint32_t parts, const uint8_t *done) {
    lower *l = a->l;
    uint32_t at = a->life[first].first;
    for (uint32_t p = 0; p < parts; p++)
        if (a->life[first + p].first < at) at = a->life[first + p].first;
    uint32_t r = find_run(k, at, parts);
    if (r < k->many && parts == 1 && k->base == 0 && a->nbanks > 1) r = prefer_bank(a, k, at, first, r, done);
    if (r >= k->many) {
        r = parts && k->many >= parts ? k->next % (uint32_t)(k->many - parts + 1) / parts * parts : 0;
        k->next += parts;
    }
    for (uint32_t p = 0; p < parts; p++) {
        l->vregs.at[first + p].reg = (uint16_t)(k->base + r + p);
        uint32_t last = a->life[first + p].first == NONE ? at : a->life[first + p].last;
        if (last + 1 > k->until[r + p]) k->until[r + p] = last + 1;
    }
}

static void scan(alloc *a) {
    lower *l = a->l;
    static const uint16_t base[] = {0, ORR_TREG_P, ORR_TREG_U, ORR_TREG_UP}, many[] = {255, 7, 63, 7};
    bank *banks = orr_calloc(4, sizeof *banks);
    for (int f = 0; f < 4; f++) banks[f] = (bank){.base = base[f], .many = many[f]};
    int limit = l->g->limit_thread_registers;
    if (limit >= 8 && limit < banks[0].many) banks[0].many = (uint16_t)limit;
    uint8_t *done = orr_calloc(l->vregs.n + 1, 1);
    life *order = orr_malloc((l->vregs.n + 1) * sizeof *order);
    size_t n = 0;
    for (size_t v = 0; v < l->vregs.n; v++)
        if (a->life[v].first != NONE) order[n++] = a->life[v];
    qsort(order, n, sizeof *order, by_first);
    for (size_t x = 0; x < n; x++) {
        uint32_t v = order[x].vreg;
        if (done[v]) continue;
        uint32_t first = v - l->vregs.at[v].part, parts = l->vregs.at[v].parts;
        for (uint32_t p = 0; p < parts; p++) done[first + p] = 1;
        give(a, &banks[l->vregs.at[v].file & 3], first, parts, done);
        for (uint32_t p = 0; p < parts; p++) done[first + p] = 2; // and has a number
    }
    free(banks);
    free(done);
    free(order);
}

static void begin(alloc *a, lower *l) {
    *a = (alloc){.l = l};
    a->readers = orr_calloc(2 * (l->vregs.n + 1), sizeof *a->readers);
    a->life = orr_malloc((l->vregs.n + 1) * sizeof *a->life);
    a->global = orr_calloc(l->vregs.n + 1, sizeof *a->global);
    for (size_t v = 0; v < l->vregs.n; v++)
        a->life[v] = (life){.first = NONE, .last = 0, .vreg = (uint32_t)v};
    find_global(a);
}

static void end(alloc *a) {
    free(a->life);
    free(a->global);
    free(a->vreg_of);
    free(a->readers);
    orr_live_free(&a->live);
}

// Vector registers that a block reads, writes or leaves alone while others know them; 0 for all where there
// is too much to look at.
void lower_across(lower *l, uint32_t *across) {
    alloc a;
    begin(&a, l);
    if (find_live(&a)) {
        uint64_t *vector = orr_calloc(a.live.words, sizeof *vector);
        for (size_t v = 0; v < l->vregs.n; v++)
            if (a.global[v] && l->vregs.at[v].file == FILE_R) orr_live_put(vector, a.global[v] - 1);
        for (uint32_t b = 0; b < l->flow.nblocks; b++)
            for (uint32_t w = 0; w < a.live.words; w++) {
                uint64_t all = orr_live_in(&a.live, b)[w] | orr_live_out(&a.live, b)[w];
                across[b] += (uint32_t)__builtin_popcountll(all & vector[w]);
            }
        free(vector);
    }
    end(&a);
}

void lower_registers(lower *l) {
    alloc a;
    begin(&a, l);
    a.nbanks = l->g->regs_banks > 0 && l->g->regs_banks <= 8 ? (uint32_t)l->g->regs_banks : 1;
    a.vreg_of = orr_calloc(a.nglobal + 1, sizeof *a.vreg_of);
    for (size_t v = 0; v < l->vregs.n; v++)
        if (a.global[v]) a.vreg_of[a.global[v] - 1] = (uint32_t)v;
    if (find_live(&a)) stretch(&a);
    scan(&a);
    end(&a);
}
