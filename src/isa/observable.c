// Which accesses of a kernel other threads can see while it runs, and why (observable.h).
//
// An instruction is looked at by itself: an atomic whose result goes nowhere is the same whatever the order
// in which it is done, unless a load of its word has decided on it, and so is a plain load of what nobody
// writes.
#include "isa/observable.h"

// PTX names the register; machine code's special registers are numbered as the GPU does (SR_CLOCKLO).
static bool reads_clock(const orr_kernel *k, const orr_inst *i) {
    enum { SR_CLOCK = 1, SR_CLOCKLO = 80, SR_CLOCKHI = 81, SR_TIMERLO = 82, SR_TIMERHI = 83 };
    if (i->op != ORR_OP_SREG) return false;
    if (!k->machine) return i->imm >= ORR_SREG_CLOCK;
    return i->sub == SR_CLOCK || (i->sub >= SR_CLOCKLO && i->sub <= SR_TIMERHI);
}

uint32_t orr_inst_observable(const orr_kernel *k, uint32_t inst) {
    const orr_inst *i = &k->insts[inst];
    uint16_t flags = orr_ops[i->op].flags;
    if (reads_clock(k, i) || i->op == ORR_OP_NANOSLEEP) return ORR_OBS_CLOCK;
    if (!(flags & ORR_F_MEMORY)) return 0;
    if (i->space == ORR_SPACE_SHARED) return i->op == ORR_OP_ATOM && i->ndst ? ORR_OBS_SHARED : 0;
    if (i->space != ORR_SPACE_GLOBAL && i->space != ORR_SPACE_GENERIC) return 0;
    if (i->op == ORR_OP_ATOM && i->ndst) return ORR_OBS_ATOMIC;
    bool polls = flags & ORR_F_LOAD && !(flags & ORR_F_ATOMIC) && i->mods & ORR_M_VOLATILE;
    return polls ? ORR_OBS_POLL : 0;
}

// ---- if (x < *p) atomicMin(p, x) ------------------------------------------------------------------
// How often that is done depends on how many threads have looked before the first of them has changed *p.
static bool same_place(const orr_kernel *k, uint32_t i, uint32_t j) {
    const orr_inst *x = &k->insts[i], *y = &k->insts[j];
    if (!x->nsrc || !y->nsrc || x->disp != y->disp) return false;
    const orr_operand *a = orr_src(k, x, 0), *b = orr_src(k, y, 0); // registers of an address come first
    return a->kind == ORR_K_REG && b->kind == ORR_K_REG && a->cls == b->cls && a->reg == b->reg;
}

static bool in_memory(const orr_inst *i) {
    return i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC;
}

static bool makes_address(const orr_kernel *k, uint32_t j, uint32_t of) {
    const orr_inst *x = &k->insts[j], *y = &k->insts[of];
    const orr_operand *a = y->nsrc ? orr_src(k, y, 0) : NULL;
    for (int n = 0; a && n < x->ndst; n++) {
        const orr_operand *d = orr_dst(k, x, n);
        if (d->kind == ORR_K_REG && a->kind == ORR_K_REG && d->cls == a->cls && d->reg == a->reg) return true;
    }
    return false;
}

// The only block that leads to `b`, or UINT32_MAX.
static uint32_t only_before(const orr_kernel *k, uint32_t b) {
    uint32_t from = UINT32_MAX;
    for (uint32_t x = 0; x < k->nblocks; x++)
        for (int s = 0; s < orr_succ_count(k, &k->blocks[x]); s++) {
            if (orr_succ(k, &k->blocks[x], s) != b) continue;
            if (from != UINT32_MAX && from != x) return UINT32_MAX;
            from = x;
        }
    return from;
}

// Does a load of the same place decide whether instruction `i` of block `b` is executed?
static bool decided_by_load(const orr_kernel *k, uint32_t b, uint32_t i) {
    enum { FAR_BACK = 3 }; // blocks
    uint32_t end = i;
    for (int far = 0; far < FAR_BACK && b != UINT32_MAX; far++) {
        for (uint32_t j = end; j-- > k->blocks[b].first;) {
            if (k->insts[j].op == ORR_OP_LD && in_memory(&k->insts[j]) && same_place(k, i, j))
                return far > 0 || k->insts[i].guard >= 0;
            if (makes_address(k, j, i)) return false;
        }
        b = only_before(k, b);
        if (b != UINT32_MAX) end = k->blocks[b].first + k->blocks[b].count;
    }
    return false;
}

static bool guards_reduction(const orr_kernel *k) {
    for (uint32_t b = 0; b < k->nblocks; b++)
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
            const orr_inst *in = &k->insts[i];
            bool reduces = in->op == ORR_OP_RED || (in->op == ORR_OP_ATOM && in->sub != ORR_ATOM_CAS);
            if (in_memory(in) && reduces && decided_by_load(k, b, i)) return true;
        }
    return false;
}

uint32_t orr_kernel_observable(const orr_kernel *k) {
    uint32_t why = 0;
    if (k->grows) return 0;
    for (uint32_t n = 0; n < k->ninsts; n++) why |= orr_inst_observable(k, n);
    return guards_reduction(k) ? why | ORR_OBS_GUARD : why;
}

// ---- plain loads of what is stored ----------------------------------------------------------------
// Of a kernel whose accesses the analysis has not found out (isa/effects.c): does it load and store at all?
static bool loads_and_stores(const orr_kernel *k) {
    uint16_t flags = 0;
    for (uint32_t n = 0; n < k->ninsts; n++)
        if (in_memory(&k->insts[n])) flags |= orr_ops[k->insts[n].op].flags;
    return flags & ORR_F_LOAD && flags & (ORR_F_STORE | ORR_F_ATOMIC);
}

bool orr_kernel_may_race(const orr_kernel *k) {
    if (k->grows) return false;
    if (k->effects.untraced) return loads_and_stores(k);
    bool loads = k->effects.reads_anywhere, stores = k->effects.writes_anywhere;
    for (uint32_t n = 0; n < k->effects.nbases; n++) {
        loads |= k->effects.bases[n].loads || k->effects.bases[n].loads_own;
        stores |= k->effects.bases[n].stores || k->effects.bases[n].reduces;
    }
    return loads && stores;
}

// Not only where two of its parameters lead to the same allocation?
static bool may_race_by_itself(const orr_kernel *k) {
    bool itself = k->effects.untraced || k->effects.reads_anywhere || k->effects.writes_anywhere;
    for (uint32_t n = 0; n < k->effects.nbases; n++) {
        const orr_base *b = &k->effects.bases[n];
        if (b->stores || b->reduces) itself |= b->loads || (b->loads_own && (b->stores_meet || b->reduces));
    }
    return itself;
}

bool orr_kernel_orders(const orr_kernel *k) {
    uint8_t order = 0;
    for (uint32_t n = 0; n < k->ninsts && !k->grows; n++) order |= orr_inst_order(&k->insts[n]);
    return order == (ORR_ORDER_WAITS | ORR_ORDER_WRITES);
}

bool orr_kernel_one_order(const orr_kernel *k) {
    bool mbarriers = false;
    for (uint32_t n = 0; n < k->ninsts; n++)
        mbarriers |= k->insts[n].op == ORR_OP_MBARRIER || k->insts[n].op == ORR_OP_SYNCS;
    return mbarriers || orr_kernel_observable(k);
}

void orr_observable_text(const orr_kernel *k, orr_text *t) {
    static const struct {
        uint32_t bit;
        const char *what;
    } reasons[] = {
        {ORR_OBS_ATOMIC, "uses the results of atomics"},
        {ORR_OBS_POLL, "looks at what other threads write"},
        {ORR_OBS_SHARED, "uses the results of atomics of shared memory"},
        {ORR_OBS_GUARD, "looks at a word before it reduces it"},
        {ORR_OBS_CLOCK, "reads the clock or sleeps"},
        {ORR_OBS_RACE, "may race through plain loads and stores, which is looked at when it is launched"},
    };
    uint32_t why = orr_kernel_observable(k), n = 0;
    if (!why && orr_kernel_may_race(k) && may_race_by_itself(k)) why = ORR_OBS_RACE;
    for (size_t r = 0; r < sizeof reasons / sizeof *reasons; r++)
        if (why & reasons[r].bit) orr_text_add(t, "%s%s", n++ ? "; " : "", reasons[r].what);
}
