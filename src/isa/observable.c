// Which accesses of a kernel other threads can see while it runs, and why (observable.h).
//
// An instruction is looked at by itself: an atomic whose result goes nowhere is the same whatever the order
// in which it is done, and so is a plain load of what nobody writes.
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
    if (i->space == ORR_SPACE_SHARED) {
        bool swaps = i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_CAS && i->ndst;
        return swaps ? ORR_OBS_SHARED : 0;
    }
    if (i->space != ORR_SPACE_GLOBAL && i->space != ORR_SPACE_GENERIC) return 0;
    if (i->op == ORR_OP_ATOM && i->ndst) return ORR_OBS_ATOMIC;
    bool polls = flags & ORR_F_LOAD && !(flags & ORR_F_ATOMIC) && i->mods & ORR_M_VOLATILE;
    return polls ? ORR_OBS_POLL : 0;
}

uint32_t orr_kernel_observable(const orr_kernel *k) {
    uint32_t why = 0;
    for (uint32_t n = 0; n < k->ninsts && !k->grows; n++) why |= orr_inst_observable(k, n);
    return why;
}

bool orr_kernel_orders(const orr_kernel *k) {
    uint8_t order = 0;
    for (uint32_t n = 0; n < k->ninsts && !k->grows; n++) order |= orr_inst_order(&k->insts[n]);
    return order == (ORR_ORDER_WAITS | ORR_ORDER_WRITES);
}

void orr_observable_text(const orr_kernel *k, orr_text *t) {
    static const struct {
        uint32_t bit;
        const char *what;
    } reasons[] = {
        {ORR_OBS_ATOMIC, "uses the results of atomics"},
        {ORR_OBS_POLL, "looks at what other threads write"},
        {ORR_OBS_SHARED, "compares and swaps words of shared memory"},
        {ORR_OBS_CLOCK, "reads the clock or sleeps"},
    };
    uint32_t why = orr_kernel_observable(k), n = 0;
    for (size_t r = 0; r < sizeof reasons / sizeof *reasons; r++)
        if (why & reasons[r].bit) orr_text_add(t, "%s%s", n++ ? "; " : "", reasons[r].what);
}
