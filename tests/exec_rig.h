// For tests of instruction handlers: one warp built by hand around one instruction.
//
//   rig r; rig_begin(&r, ORR_OP_ADD, ORR_T_F32);
//   uint32_t *d = rig_dst(&r, ORR_W), *a = rig_src(&r, ORR_W), *b = rig_src(&r, ORR_W);
//   r.inst.mods = ...; fill a and b; rig_run(&r, orr_pick_float, mask);
#ifndef EXEC_RIG_H
#define EXEC_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "exec/warp.h"

typedef struct rig {
    warp w;
    uop u;
    orr_kernel k;
    orr_inst inst;
    orr_operand operand[64];
    oper all[64];
    uint32_t n;
    const char *why;
    uint8_t regs[64][512] __attribute__((aligned(64)));
} rig;

static inline void rig_begin(rig *r, int op, int type) {
    memset(r, 0, sizeof *r);
    r->inst.op = (uint16_t)op;
    r->inst.type = (uint8_t)type;
    r->inst.guard = r->inst.target = -1;
    r->k.operands = r->operand;
    for (int i = 0; i < BANKS; i++) r->w.bank[i] = r->regs[0];
}
static inline void *rig_operand(rig *r, int cls) {
    r->operand[r->n] = (orr_operand){.kind = ORR_K_REG, .cls = (uint8_t)cls, .reg = r->n};
    r->all[r->n] = (oper){.off = r->n * 512, .bank = (uint8_t)cls, .cls = (uint8_t)cls};
    return r->regs[r->n++];
}
static inline void *rig_dst(rig *r, int cls) {
    r->inst.ndst++;
    return rig_operand(r, cls);
}
static inline void *rig_src(rig *r, int cls) {
    r->inst.nsrc++;
    return rig_operand(r, cls);
}
static inline void rig_sink(rig *r) { // a destination that is not there
    rig_dst(r, ORR_W);
    r->operand[r->n - 1].kind = ORR_K_NONE;
    r->all[r->n - 1].none = 1;
}
typedef handlers rig_picker(const orr_kernel *k, const orr_inst *i, const char **why);

static inline bool rig_pick(rig *r, rig_picker *pick) {
    handlers h = pick(&r->k, &r->inst, &r->why);
    oper none = {.none = 1};
    uint32_t d = r->inst.ndst, s = r->inst.nsrc;
    r->u = (uop){.full = h.full,
                 .masked = h.masked,
                 .all = r->all,
                 .inst = &r->inst,
                 .imm = r->inst.imm,
                 .guard = -1,
                 .ndst = r->inst.ndst,
                 .nsrc = r->inst.nsrc};
    r->u.d = d ? r->all[0] : none;
    r->u.a = s > 0 ? r->all[d] : none;
    r->u.b = s > 1 ? r->all[d + 1] : none;
    r->u.c = s > 2 ? r->all[d + 2] : none;
    return h.full != NULL;
}
static inline void rig_exec(rig *r, uint32_t mask) {
    r->w.exec = mask;
    for (int i = 0; i < ORR_WARP; i++) r->w.lane[i] = mask >> i & 1 ? ~0u : 0;
    (mask == ~0u ? r->u.full : r->u.masked)(&r->w, &r->u);
}
static inline void rig_run(rig *r, rig_picker *pick, uint32_t mask) {
    if (!rig_pick(r, pick)) fail_msg("no handler: %s", r->why ? r->why : "");
    rig_exec(r, mask);
}

// A generator with the same numbers everywhere (splitmix64).
static inline uint64_t rig_random(uint64_t *s) {
    uint64_t z = *s += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

#endif
