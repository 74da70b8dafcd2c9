// What liveness (live.h) is for in a kernel:
//
// 1. Registers that are never live together share a number (per class, by linear scan over live
//    intervals in program order), so that a warp's registers stay in the host's first-level cache.
//    Lanes of a diverged warp keep their own halves of a shared register apart, because writes are
//    masked; two classes are never mixed, because their lanes lie differently.
// 2. The number of 32-bit registers a thread needs: the highest pressure at any point, plus what
//    machine code needs beyond PTX (see estimate()).
#include <stdlib.h>
#include <string.h>

#include "isa/cfg.h"
#include "isa/live.h"

#define MAX_CELLS (1u << 23) // words of a data-flow set; beyond that registers stay as they are

typedef struct liveness {
    orr_kernel *k;
    orr_func *f;
    orr_live live;
    uint32_t nregs;
} liveness;

static uint32_t reg_index(const liveness *l, const orr_operand *o) { return orr_live_index(&l->live, o); }

// ---- pressure -------------------------------------------------------------------------------
static const uint8_t weight[ORR_CLASSES] = {[ORR_P] = 0, [ORR_H] = 1, [ORR_W] = 1, [ORR_D] = 2, [ORR_Q] = 4};

// Machine code reads kernel parameters from a constant bank wherever it uses them: a register that
// only ever holds one, or its cvta, costs nothing.
static void drop_parameters(const liveness *l, uint8_t *w_of) {
    const orr_kernel *k = l->k;
    uint8_t *other = orr_calloc(l->nregs + 1, 1); // written by something else
    bool changed = true;
    for (int pass = 0; changed && pass < 16; pass++) { // one or two are enough for what compilers write
        changed = false;
        for (uint32_t n = l->f->first_inst; n < l->f->first_inst + l->f->ninsts; n++) {
            const orr_inst *i = &k->insts[n];
            bool param = i->op == ORR_OP_LD && i->space == ORR_SPACE_PARAM;
            if (i->op == ORR_OP_CVTA && i->nsrc == 1) {
                const orr_operand *a = orr_src(k, i, 0);
                param = a->kind == ORR_K_REG && !other[reg_index(l, a)];
            }
            for (int d = 0; d < i->ndst && !param; d++) {
                const orr_operand *o = orr_dst(k, i, d);
                if (o->kind != ORR_K_REG || other[reg_index(l, o)]) continue;
                other[reg_index(l, o)] = 1;
                changed = true;
            }
        }
    }
    for (uint32_t r = 0; r < l->nregs; r++)
        if (!other[r] && !changed) w_of[r] = 0;
    free(other);
}

// The highest number of 32-bit registers that are alive at one point of the function; across[n]: across call
// n.
static uint32_t pressure(const liveness *l, uint32_t *across) {
    const orr_kernel *k = l->k;
    uint64_t *live = orr_calloc(l->live.words, sizeof *live);
    uint8_t *w_of = orr_calloc(l->nregs + 1, 1);
    for (int c = 0; c < ORR_CLASSES; c++)
        for (uint32_t r = l->live.base[c]; r < l->live.base[c + 1]; r++) w_of[r] = weight[c];
    drop_parameters(l, w_of);
    uint32_t most = 0;
    for (uint32_t b = 0; b < l->f->nblocks; b++) {
        const orr_block *blk = &k->blocks[l->f->first_block + b];
        memcpy(live, orr_live_out(&l->live, b), l->live.words * sizeof *live);
        uint32_t now = 0;
        for (uint32_t r = 0; r < l->nregs; r++)
            if (orr_live_has(live, r)) now += w_of[r];
        if (now > most) most = now;
        for (uint32_t n = blk->first + blk->count; n-- > blk->first;) {
            const orr_inst *i = &k->insts[n];
            if (i->op == ORR_OP_CALL) across[n] = now;
            for (int d = 0; d < i->ndst && i->guard < 0; d++) {
                const orr_operand *o = orr_dst(k, i, d);
                if (o->kind != ORR_K_REG || !orr_live_has(live, reg_index(l, o))) continue;
                orr_live_drop(live, reg_index(l, o));
                now -= w_of[reg_index(l, o)];
            }
            for (int s = 0; s < i->nsrc; s++) {
                const orr_operand *o = orr_src(k, i, s);
                if (o->kind != ORR_K_REG || orr_live_has(live, reg_index(l, o))) continue;
                orr_live_put(live, reg_index(l, o));
                now += w_of[reg_index(l, o)];
            }
            if (now > most) most = now;
        }
    }
    free(live);
    free(w_of);
    return most;
}

// ---- reductions -----------------------------------------------------------------------------
// Lanes that add 1 to words of shared memory are counted, those on one word together.
static bool counts(const orr_kernel *k, const orr_inst *i) {
    const orr_operand *by = i->nsrc == 2 ? orr_src(k, i, 1) : NULL;
    if (i->space != ORR_SPACE_SHARED || i->width != 4 || i->vec > 1 || !by || by->kind != ORR_K_IMM)
        return false;
    if (i->sub == ORR_ATOM_INC) return (uint32_t)by->value == UINT32_MAX; // it never wraps
    return i->sub == ORR_ATOM_ADD && !orr_types[i->type].is_float && by->value == 1;
}

// A global atomic whose result nobody reads is a reduction: nvcc writes atom, the machine runs red.
static void find_reductions(const liveness *l) {
    orr_kernel *k = l->k;
    uint64_t *live = orr_calloc(l->live.words, sizeof *live);
    for (uint32_t b = 0; b < l->f->nblocks; b++) {
        const orr_block *blk = &k->blocks[l->f->first_block + b];
        memcpy(live, orr_live_out(&l->live, b), l->live.words * sizeof *live);
        for (uint32_t n = blk->first + blk->count; n-- > blk->first;) {
            orr_inst *i = &k->insts[n];
            bool global = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC;
            bool has_red = i->sub != ORR_ATOM_EXCH && i->sub != ORR_ATOM_CAS;
            if (i->op == ORR_OP_ATOM && global && has_red && i->ndst == 1 && i->vec <= 1) {
                const orr_operand *d = orr_dst(k, i, 0);
                if (d->kind == ORR_K_NONE || !orr_live_has(live, reg_index(l, d))) {
                    i->op = ORR_OP_RED;
                    i->first++; // the operands are now the sources alone
                    i->ndst = 0;
                }
            }
            if (i->op == ORR_OP_ATOM || i->op == ORR_OP_RED) {
                const orr_operand *d = i->ndst ? orr_dst(k, i, 0) : NULL;
                bool read = d && d->kind == ORR_K_REG && orr_live_has(live, reg_index(l, d));
                if (!read && counts(k, i)) i->mods |= ORR_M_COUNTS;
            }
            for (int d = 0; d < i->ndst && i->guard < 0; d++)
                if (orr_dst(k, i, d)->kind == ORR_K_REG) orr_live_drop(live, reg_index(l, orr_dst(k, i, d)));
            for (int s = 0; s < i->nsrc; s++)
                if (orr_src(k, i, s)->kind == ORR_K_REG) orr_live_put(live, reg_index(l, orr_src(k, i, s)));
            if (i->guard >= 0) orr_live_put(live, (uint32_t)i->guard);
        }
    }
    free(live);
}

static bool has_atomics(const orr_kernel *k, const orr_func *f) {
    for (uint32_t n = f->first_inst; n < f->first_inst + f->ninsts; n++)
        if (k->insts[n].op == ORR_OP_ATOM || k->insts[n].op == ORR_OP_RED) return true;
    return false;
}

void orr_reductions(orr_kernel *k) {
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        liveness l = {.k = k, .f = &k->funcs[f]};
        if (!has_atomics(k, l.f) || !orr_live_of(&l.live, k, l.f, MAX_CELLS)) continue;
        find_reductions(&l);
        orr_live_free(&l.live);
    }
}

// ---- sharing --------------------------------------------------------------------------------
typedef struct interval {
    uint32_t first, last, reg;
} interval;

static int by_first(const void *a, const void *b) {
    const interval *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->reg < y->reg ? -1 : x->reg > y->reg;
}

static void touch(interval *v, uint32_t at) {
    if (at < v->first) v->first = at;
    if (at + 1 > v->last) v->last = at + 1;
}

static void intervals(const liveness *l, interval *v) {
    const orr_kernel *k = l->k;
    for (uint32_t r = 0; r < l->nregs; r++) v[r] = (interval){UINT32_MAX, 0, r};
    for (uint32_t b = 0; b < l->f->nblocks; b++) {
        const orr_block *blk = &k->blocks[l->f->first_block + b];
        const uint64_t *in = orr_live_in(&l->live, b), *out = orr_live_out(&l->live, b);
        for (uint32_t w = 0; w < l->live.words; w++) {
            for (uint64_t m = in[w]; m; m &= m - 1)
                touch(&v[w * 64 + (uint32_t)__builtin_ctzll(m)], 2 * blk->first);
            for (uint64_t m = out[w]; m; m &= m - 1)
                touch(&v[w * 64 + (uint32_t)__builtin_ctzll(m)], 2 * (blk->first + blk->count - 1) + 1);
        }
        for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
            const orr_inst *i = &k->insts[n];
            // A handler may write one destination before it has read all sources, so when there are
            // several destinations, or vectors, none may share a source's register: those sources are live
            // through the write.
            bool across = orr_inst_waits_for(k, i) != NULL; // reads other lanes' values
            uint32_t read_at = i->ndst > 1 || i->nsrc > 4 || across ? 2 * n + 1 : 2 * n;
            for (int s = 0; s < i->nsrc; s++)
                if (orr_src(k, i, s)->kind == ORR_K_REG) touch(&v[reg_index(l, orr_src(k, i, s))], read_at);
            if (i->guard >= 0) touch(&v[i->guard], 2 * n + 1);
            for (int d = 0; d < i->ndst; d++)
                if (orr_dst(k, i, d)->kind == ORR_K_REG) touch(&v[reg_index(l, orr_dst(k, i, d))], 2 * n + 1);
        }
    }
}

// Linear scan: registers in order of their first touch take the number that became free last, which
// is the one most likely still in the cache. The heap orders numbers in use by the end of their lives.
typedef struct slot {
    uint32_t last, number;
} slot;

static void heap_push(slot *h, uint32_t *n, slot v) {
    uint32_t i = (*n)++;
    for (; i && h[(i - 1) / 2].last > v.last; i = (i - 1) / 2) h[i] = h[(i - 1) / 2];
    h[i] = v;
}

static slot heap_pop(slot *h, uint32_t *n) {
    slot top = h[0], v = h[--*n];
    uint32_t i = 0;
    for (;;) {
        uint32_t c = 2 * i + 1;
        if (c >= *n) break;
        if (c + 1 < *n && h[c + 1].last < h[c].last) c++;
        if (h[c].last >= v.last) break;
        h[i] = h[c];
        i = c;
    }
    if (*n) h[i] = v;
    return top;
}

static void share(liveness *l) {
    interval *v = orr_calloc(l->nregs + 1, sizeof *v);
    uint32_t *number = orr_calloc(l->nregs + 1, sizeof *number);
    slot *heap = orr_calloc(l->nregs + 1, sizeof *heap);
    uint32_t *freed = orr_calloc(l->nregs + 1, sizeof *freed);
    intervals(l, v);
    for (int c = 0; c < ORR_CLASSES; c++) {
        uint32_t lo = l->live.base[c], n = l->live.base[c + 1] - lo;
        if (!n) continue;
        qsort(v + lo, n, sizeof *v, by_first);
        uint32_t nheap = 0, nfreed = 0, used = 0;
        for (uint32_t r = 0; r < n; r++) {
            interval *x = &v[lo + r];
            if (x->first == UINT32_MAX) break; // never touched; sorted last
            while (nheap && heap[0].last <= x->first) freed[nfreed++] = heap_pop(heap, &nheap).number;
            uint32_t take = nfreed ? freed[--nfreed] : used++;
            number[x->reg] = take;
            heap_push(heap, &nheap, (slot){x->last, take});
        }
        l->f->nregs[c] = used;
    }
    orr_kernel *k = l->k;
    for (uint32_t n = l->f->first_inst; n < l->f->first_inst + l->f->ninsts; n++) {
        orr_inst *i = &k->insts[n];
        for (int o = 0; o < i->ndst + i->nsrc; o++) {
            orr_operand *p = &k->operands[i->first + (uint32_t)o];
            if (p->kind == ORR_K_REG) p->reg = number[reg_index(l, p)];
        }
        if (i->guard >= 0) i->guard = (int32_t)number[i->guard];
    }
    free(v);
    free(number);
    free(heap);
    free(freed);
}

// ---- the kernel -----------------------------------------------------------------------------
typedef struct calls {
    const orr_kernel *k;
    const uint32_t *own;    // per function: its weight
    const uint32_t *across; // per instruction: of a call, what is across it; NULL: the caller's weight
    uint8_t *state;         // per function: 0 not seen, 1 being looked at, 2 known
    uint32_t *memo;
    bool cycle; // a function calls itself, or may
} calls;

// The deepest chain of calls from function f. Cycles count once.
static uint32_t deepest(calls *c, uint32_t f) {
    const orr_kernel *k = c->k;
    if (c->state[f] == 2) return c->memo[f];
    if (c->state[f] == 1) {
        c->cycle = true;
        return 0;
    }
    c->state[f] = 1;
    uint32_t most = c->own[f];
    const orr_func *fn = &k->funcs[f];
    for (uint32_t n = fn->first_inst; n < fn->first_inst + fn->ninsts; n++) {
        const orr_inst *i = &k->insts[n];
        if (i->op != ORR_OP_CALL) continue;
        uint32_t lo = i->target >= 0 ? (uint32_t)i->target : 1;
        uint32_t hi = i->target >= 0 ? lo + 1 : k->nfuncs;
        if (i->target < 0) c->cycle = true;
        for (uint32_t g = lo; g < hi; g++) {
            if (i->target < 0 && c->state[g] == 1) continue;
            uint32_t d = (c->across ? c->across[n] : c->own[f]) + deepest(c, g);
            if (d > most) most = d;
        }
    }
    c->state[f] = 2;
    return c->memo[f] = most;
}

// PTX is not what runs: machine code needs a few registers more, for addresses and intermediate values that
// PTX does not show. The constant is the one that fits best what ptxas 13.0 reports for 660 kernels of
// the CUDA samples and of Rodinia (docs/how/design.md, "Registers").
enum { MISSING = 6 };
static uint32_t estimate(const orr_kernel *k, uint32_t live) {
    uint32_t regs = live + MISSING;
    if (regs < 8) regs = 8;
    regs = (regs + 1) & ~1u;
    uint32_t cap = 255;
    uint32_t threads = 1;
    for (int d = 0; d < 3; d++) {
        uint32_t t = k->bounds.reqntid[d] ? k->bounds.reqntid[d] : k->bounds.maxntid[d];
        if (t && threads <= 1024) threads *= t > 1024 ? 1024 : t;
    }
    if (threads > 1) { // the compiler keeps a block of that size launchable
        uint32_t blocks = k->bounds.minctapersm && k->bounds.minctapersm <= 32 ? k->bounds.minctapersm : 1;
        uint32_t warps = (threads + 31) / 32 * blocks;
        uint32_t fit = 65536 / 32 / (warps > 64 ? 64 : warps) & ~7u;
        if (fit < cap) cap = fit;
    }
    if (k->bounds.maxnreg && k->bounds.maxnreg < cap) cap = k->bounds.maxnreg;
    if (cap < 16) cap = 16;
    return regs < cap ? regs : cap;
}

void orr_liveness(orr_kernel *k) {
    uint32_t *own = orr_calloc(k->nfuncs, sizeof *own), *memo = orr_calloc(k->nfuncs, sizeof *memo);
    uint32_t *across = orr_calloc(k->ninsts + 1, sizeof *across);
    uint8_t *state = orr_calloc(k->nfuncs, 1);
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        liveness l = {.k = k, .f = &k->funcs[f]};
        if (!orr_live_of(&l.live, k, l.f, MAX_CELLS)) {
            own[f] = 128;
            continue;
        }
        l.nregs = l.live.base[ORR_CLASSES];
        own[f] = pressure(&l, across);
        // those of ptx/longways.c are written as the machine has them: nothing is missing
        if (orr_long_way(k, f)) own[f] -= own[f] > MISSING ? MISSING : own[f];
        share(&l);
        orr_live_free(&l.live);
    }
    calls c = {.k = k, .own = own, .across = across, .state = state, .memo = memo};
    uint32_t live = deepest(&c, 0);
    if (!k->regs) k->regs = estimate(k, live);
    for (uint32_t f = 0; f < k->nfuncs; f++) own[f] = k->funcs[f].local_bytes;
    memset(state, 0, k->nfuncs);
    c.across = NULL;
    k->stack_bytes = deepest(&c, 0);
    k->recursive = c.cycle;
    free(own);
    free(memo);
    free(state);
    free(across);
}
