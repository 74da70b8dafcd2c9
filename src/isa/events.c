// About which instructions an instrumented kernel says something (events.h).
#include "isa/events.h"

const orr_operand *orr_traced_address(const orr_kernel *k, const orr_inst *i) {
    return orr_src(k, i, i->op == ORR_OP_CPASYNC ? 1 : 0);
}

uint8_t orr_traced_space(const orr_inst *i) {
    return i->op == ORR_OP_CPASYNC ? ORR_SPACE_GLOBAL
                                   : i->space; // a copy is to shared memory, its stream says from where
}

bool orr_members_told(const orr_kernel *k, const orr_inst *i) {
    const orr_operand *o = orr_inst_waits_for(k, i);
    return o && o->kind == ORR_K_REG;
}

bool orr_barrier_told(const orr_kernel *k, const orr_inst *i) {
    return i->op == ORR_OP_BAR &&
           (i->guard >= 0 || orr_src(k, i, 0)->kind == ORR_K_REG || orr_src(k, i, 1)->kind == ORR_K_REG);
}
