// Which code polls: its accesses see what other threads write while they run.
//
// The executor has no time. Where thread blocks see each other they run in turns, in grid order (grid.c): a
// warp goes on until it ends, waits at a barrier or has used up its quantum (warp.c), then the next warp of
// the block, and when all of them have done nothing but poll, or have had ROUNDS quanta, the next resident
// block (block.c). A quantum is POLL_QUANTUM blocks of code that have an atomic or a volatile access. One
// that polls (a volatile or strong load of memory, a test of an mbarrier) uses up all of it, since polling
// again before anybody else has run is of no use. Eight polls in vain, one after the other, of a loop of PTX
// that does nothing else than poll and sleep let the lanes go on that wait at joins, as one of them may have
// to raise the flag. So every race has one outcome, the same on every host, and it is not that of any GPU.
// Models with time execute such kernels as they are timed instead (exec/step.h).
//
// A loop of one block around a compare and swap with the same values every time takes a lock. Lanes of its
// warp that wait for those in it are let through as soon as it goes round: one of them may have the lock.
// That is of PTX; machine code says so itself, by YIELD.
#include <stdlib.h>
#include <string.h>

#include "exec/sass/translate.h"

// Machine code polls what other warps of the block write by "LD.E.STRONG.SM".
static bool is_strong(const orr_kernel *k, const orr_inst *in) {
    return k->code.insts && in->name < k->nnames && strstr(k->names[in->name], ".STRONG");
}

// Does it read what others may write, and change nothing?
static bool is_poll(const orr_kernel *k, uint32_t i) {
    const orr_inst *in = &k->insts[i];
    bool memory = in->space == ORR_SPACE_GLOBAL || in->space == ORR_SPACE_GENERIC;
    if (in->op == ORR_OP_LD) return ((in->mods & ORR_M_VOLATILE) && memory) || is_strong(k, in);
    if (k->code.insts)
        return k->code.insts[i].op == ORR_SASS_SYNCS &&
               orr_code_mod(&k->code.insts[i], ORR_SM_SYNCS) == ORR_SV_SYNCS_PHASECHK;
    return in->op == ORR_OP_MBARRIER && (in->sub == ORR_MBAR_TEST_WAIT || in->sub == ORR_MBAR_TRY_WAIT);
}

static bool writes_to(const orr_kernel *k, uint32_t i, const orr_operand *what) {
    for (int d = 0; d < k->insts[i].ndst; d++) {
        const orr_operand *o = orr_dst(k, &k->insts[i], d);
        if (o->kind == ORR_K_REG && o->cls == what->cls && o->reg == what->reg) return true;
    }
    return false;
}

static bool is_constant(const orr_kernel *k, const orr_inst *i) {
    const orr_operand *from = &k->operands[i->first + i->ndst];
    return (i->op == ORR_OP_MOV || i->op == ORR_OP_CVTA) && i->nsrc == 1 &&
           (from->kind == ORR_K_IMM || from->kind == ORR_K_SYMBOL);
}

// Has the register another value each time the block comes to `at`? What the block writes last before counts,
// or else what it writes behind.
static bool changes(const orr_kernel *k, uint32_t b, uint32_t at, const orr_operand *what) {
    uint32_t first = k->blocks[b].first, count = k->blocks[b].count;
    for (uint32_t n = 1; what->kind == ORR_K_REG && n <= count; n++) { // backwards from `at`, round the loop
        uint32_t i = first + (at - first + count - n) % count;
        if (writes_to(k, i, what)) return !is_constant(k, &k->insts[i]);
    }
    return false;
}

static bool loops(const orr_kernel *k, uint32_t b) {
    bool back = false;
    for (int s = 0; s < orr_succ_count(k, &k->blocks[b]); s++) back |= orr_succ(k, &k->blocks[b], s) == b;
    return back;
}

// ---- loops of PTX that only poll --------------------------------------------------------------------
// Lanes wait there for others, perhaps of their own warp. Such a loop goes round through blocks that change
// nothing others can see, and one of them at least looks at what others write, or sleeps (libcu++'s waits go
// through many: a look, the time so far, a longer sleep each time). They are the strongly connected
// components of the code's graph without all other blocks (Tarjan 1972, with a stack of its own instead of
// recursion).
static bool is_quiet(const orr_kernel *k, uint32_t b, bool *waits) {
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
        const orr_inst *in = &k->insts[i];
        uint16_t flags = orr_ops[in->op].flags;
        *waits |=
            is_poll(k, i) || in->op == ORR_OP_NANOSLEEP || (in->op == ORR_OP_LD && in->mods & ORR_M_VOLATILE);
        if (flags & (ORR_F_STORE | ORR_F_ATOMIC) && !is_poll(k, i)) return false;
        if (flags & (ORR_F_CALL | ORR_F_BARRIER)) return false;
    }
    return true;
}

typedef struct component_search {
    const orr_kernel *k;
    const bool *quiet, *waits; // [nblocks]
    uint32_t *number, *low;    // order of discovery, + 1; the least that can be reached
    uint32_t *stack, *path,
        *way; // blocks without a component yet; the way here, and the next successor of each
    bool *stacked;
    uint32_t n, nstack;
} component_search;

static void enter(component_search *s, uint32_t b, uint32_t *depth) {
    s->number[b] = s->low[b] = ++s->n;
    s->stack[s->nstack++] = b;
    s->stacked[b] = true;
    s->way[b] = 0;
    s->path[(*depth)++] = b;
}

// The component whose first block is `b` is complete.
static void leave(component_search *s, uint32_t b, xblock *blocks) {
    uint32_t first = s->nstack;
    bool waits = false;
    do waits |= s->waits[s->stack[--first]];
    while (s->stack[first] != b);
    bool round = s->nstack - first > 1 || loops(s->k, b);
    while (s->nstack > first) {
        uint32_t x = s->stack[--s->nstack];
        s->stacked[x] = false;
        blocks[x].spins = round && waits && s->waits[x];
        blocks[x].spin_loop = round && waits ? b + 1 : 0;
    }
}

static void search(component_search *s, uint32_t from, xblock *blocks) {
    uint32_t depth = 0;
    enter(s, from, &depth);
    while (depth) {
        uint32_t b = s->path[depth - 1];
        if (s->way[b] < (uint32_t)orr_succ_count(s->k, &s->k->blocks[b])) {
            uint32_t to = orr_succ(s->k, &s->k->blocks[b], (int)s->way[b]++);
            if (to >= s->k->nblocks || !s->quiet[to]) continue;
            if (!s->number[to])
                enter(s, to, &depth);
            else if (s->stacked[to] && s->number[to] < s->low[b])
                s->low[b] = s->number[to];
            continue;
        }
        depth--;
        if (depth && s->low[b] < s->low[s->path[depth - 1]]) s->low[s->path[depth - 1]] = s->low[b];
        if (s->low[b] == s->number[b]) leave(s, b, blocks);
    }
}

static void find_spins(decoded *p) {
    const orr_kernel *k = p->kernel;
    uint32_t n = k->nblocks;
    uint32_t *words = orr_calloc((size_t)n * 5 + 1, sizeof *words);
    bool *flags = orr_calloc((size_t)n * 3 + 1, sizeof *flags);
    component_search s = {.k = k,
                          .quiet = flags,
                          .waits = flags + n,
                          .stacked = flags + 2 * n,
                          .number = words,
                          .low = words + n,
                          .stack = words + 2 * n,
                          .path = words + 3 * n,
                          .way = words + 4 * n};
    for (uint32_t b = 0; b < n; b++) flags[b] = is_quiet(k, b, &flags[n + b]);
    for (uint32_t b = 0; b < n; b++)
        if (s.quiet[b] && !s.number[b]) search(&s, b, p->blocks);
    free(words);
    free(flags);
}

// A loop of one block around a compare and swap with the same values every time.
static bool locks(const orr_kernel *k, uint32_t b) {
    const orr_inst *swap = NULL;
    uint32_t at = 0;
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
        const orr_inst *in = &k->insts[i];
        if (!(orr_ops[in->op].flags & ORR_F_MEMORY)) continue;
        if (swap || in->op != ORR_OP_ATOM || in->sub != ORR_ATOM_CAS || in->nsrc < 2) return false;
        swap = in;
        at = i;
    }
    if (!swap) return false;
    bool back = loops(k, b);
    for (int n = 0; back && n < swap->nsrc; n++)
        if (changes(k, b, at, &k->operands[swap->first + swap->ndst + (uint32_t)n])) return false;
    return back;
}

void orr_polls(decoded *p) {
    const orr_kernel *k = p->kernel;
    orr_mbar_find(p);
    if (!k->code.insts) find_spins(p);
    for (uint32_t b = 0; b < k->nblocks; b++) {
        xblock *x = &p->blocks[b];
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
            x->only_polls |= is_poll(k, i);
        x->only_polls |= x->spins;
        x->polls |= x->only_polls;
        x->locks = !k->code.insts && locks(k, b);
    }
}
