// What a stream does not say of barriers: the number of one that is in a register (BAR.SYNC R5, 0x100), and
// which warps come to one under a predicate.
//
// In kernels whose groups of warps hand something on to each other both are worked out from the thread's
// index: 1 + threadIdx.x / 128. So a register is followed back to what set it last in front of the barrier,
// for the first lane of each warp of a block of one dimension. If all of that is sums, products, shifts and
// masks, and the numbers are `base + step * (warp >> shift)`, the number is known. A predicate is followed to
// the comparison of two such numbers.
#include "program/program.h"
#include "program/named.h"
#include "sass/sass.h"

#include <string.h>

enum { DEEP = 24, WARPS = 32 };

typedef struct follow { // of one warp
    const orr_kernel *k;
    const orr_inst *barrier;
    uint32_t tid;
    bool known;
} follow;

static uint32_t value_of(follow *f, uint32_t inst, uint8_t reg, int deep);

static uint32_t argument(follow *f, uint32_t inst, const orr_arg *a, int deep) {
    uint32_t v = 0;
    if (a->kind == ORR_ARG_R)
        v = a->reg == ORR_RZ ? 0 : value_of(f, inst, a->reg, deep);
    else if (a->kind == ORR_ARG_INT)
        v = (uint32_t)a->value;
    else
        f->known = false;
    if (a->flags & ORR_ARG_INV) v = ~v;
    return a->flags & ORR_ARG_NEG ? 0u - v : v;
}

// What an instruction leaves in its register, of its numbers in their order.
static uint32_t result_of(follow *f, const orr_code *c, const char *name, const uint32_t *v, uint32_t n) {
    uint32_t out = 0;
    switch (c->op) {
    case ORR_SASS_MOV: return v[0];
    case ORR_SASS_SHFL: return v[0]; // of another lane of its warp
    case ORR_SASS_VIADD: return v[0] + v[1];
    case ORR_SASS_IADD3: return v[0] + v[1] + v[2];
    case ORR_SASS_IMAD:
        if (!strcmp(name, "IMAD") || !strcmp(name, "IMAD.MOV.U32") || !strcmp(name, "IMAD.IADD") ||
            !strcmp(name, "IMAD.SHL.U32") || !strcmp(name, "IMAD.MOV"))
            return v[0] * v[1] + v[2];
        break;
    case ORR_SASS_SHF:
        if (v[1] < 32 && !strcmp(name, "SHF.R.U32.HI")) return v[2] >> v[1];
        if (v[1] < 32 && !strcmp(name, "SHF.R.S32.HI")) return (uint32_t)((int32_t)v[2] >> v[1]);
        if (v[1] < 32 && !strcmp(name, "SHF.L.U32")) return v[0] << v[1];
        break;
    case ORR_SASS_LEA:
        if (!strcmp(name, "LEA") && n > 3 && v[n - 1] < 32) return (v[0] << v[n - 1]) + v[1];
        break;
    case ORR_SASS_LOP3:
        for (uint32_t bit = 0; bit < 32 && n > 3; bit++) {
            uint32_t row = (v[0] >> bit & 1) << 2 | (v[1] >> bit & 1) << 1 | (v[2] >> bit & 1);
            out |= (v[3] >> row & 1) << bit;
        }
        return out;
    default: break;
    }
    f->known = false;
    return 0;
}

// The last instruction in front of `inst` that writes the register.
static uint32_t value_of(follow *f, uint32_t inst, uint8_t reg, int deep) {
    const orr_kernel *k = f->k;
    uint32_t v[ORR_CODE_ARGS] = {0}, n = 0;
    while (inst-- > 0 && deep < DEEP) {
        const orr_inst *i = &k->insts[inst];
        bool writes = false;
        for (int d = 0; d < i->ndst; d++)
            writes |= orr_dst(k, i, d)->cls != ORR_P && orr_dst(k, i, d)->reg == reg;
        if (!writes) continue;
        const orr_code *c = &k->code.insts[inst];
        const char *name = i->name < k->nnames ? k->names[i->name] : "";
        bool same = i->guard == f->barrier->guard && i->guard_neg == f->barrier->guard_neg;
        f->known &= i->guard < 0 || same;
        for (int a = 0; a < c->nargs && f->known; a++) {
            const orr_arg *g = &c->args[a];
            if (g->flags & ORR_ARG_DST || g->kind == ORR_ARG_P) continue;
            if (g->kind == ORR_ARG_SREG && g->value == ORR_SV_SREG_TID_X) return f->tid;
            if (n && c->op == ORR_SASS_SHFL) break;
            v[n++] = argument(f, inst, g, deep + 1);
        }
        return f->known ? result_of(f, c, name, v, n) : 0;
    }
    f->known = false;
    return 0;
}

// Is the barrier executed by the warp? Its guard is a comparison of two numbers, or is not known.
static bool comes(follow *f, uint32_t inst) {
    const orr_kernel *k = f->k;
    uint8_t guard = (uint8_t)f->barrier->guard;
    uint32_t v[ORR_CODE_ARGS] = {0}, n = 0;
    while (inst-- > 0) {
        const orr_inst *i = &k->insts[inst];
        const orr_code *c = &k->code.insts[inst];
        bool writes = false;
        for (int d = 0; d < i->ndst; d++)
            writes |= orr_dst(k, i, d)->cls == ORR_P && orr_dst(k, i, d)->reg == guard;
        if (!writes) continue;
        const char *name = i->name < k->nnames ? k->names[i->name] : "";
        f->known &= i->guard < 0 && c->op == ORR_SASS_ISETP && c->args[0].kind == ORR_ARG_P &&
                    c->args[0].reg == guard;
        for (int a = 1; a < c->nargs && f->known; a++) {
            const orr_arg *g = &c->args[a];
            if (g->kind == ORR_ARG_P)
                f->known &= g->reg == ORR_PT && !(g->flags & ORR_ARG_INV);
            else if (g->kind == ORR_ARG_R || g->kind == ORR_ARG_INT)
                v[n++] = argument(f, inst, g, 1);
            else
                f->known = false;
        }
        bool is = false;
        if (!strcmp(name, "ISETP.NE.AND"))
            is = v[0] != v[1];
        else if (!strcmp(name, "ISETP.EQ.AND"))
            is = v[0] == v[1];
        else if (!strcmp(name, "ISETP.GT.AND"))
            is = (int32_t)v[0] > (int32_t)v[1];
        else if (!strcmp(name, "ISETP.GE.AND"))
            is = (int32_t)v[0] >= (int32_t)v[1];
        else if (!strcmp(name, "ISETP.LT.AND"))
            is = (int32_t)v[0] < (int32_t)v[1];
        else
            f->known = false;
        return is != (f->barrier->guard_neg != 0);
    }
    return f->known = false;
}

static uint32_t warps_that_come(const orr_kernel *k, uint32_t inst) { // all, where it is not known
    follow f = {.k = k, .barrier = &k->insts[inst], .known = true};
    uint32_t mask = 0;
    for (uint32_t w = 0; w < WARPS && f.known; w++) {
        f.tid = w * 32;
        mask |= (uint32_t)comes(&f, inst) << w;
    }
    return f.known ? mask : ~0u;
}

static bool named(const orr_kernel *k, uint32_t inst, orr_tinst *i) {
    uint32_t number[WARPS];
    if (!k->code.insts || !k->code.insts[inst].nargs || k->code.insts[inst].args[0].kind != ORR_ARG_R)
        return false;
    follow f = {.k = k, .barrier = &k->insts[inst], .known = true};
    for (uint32_t w = 0; w < WARPS && f.known; w++) {
        f.tid = w * 32;
        number[w] = value_of(&f, inst, k->code.insts[inst].args[0].reg, 0);
    }
    for (uint32_t shift = 0; shift < 5 && f.known; shift++) {
        uint32_t step = number[1u << shift] - number[0], same = 0;
        for (uint32_t w = 0; w < WARPS; w++) same += number[w] == number[0] + step * (w >> shift);
        if (same < WARPS) continue;
        i->atomic = 1;
        i->offset = (uint8_t)(number[0] & 15);
        i->bytes = (uint8_t)(step & 15);
        i->space = (uint8_t)shift;
        return true;
    }
    return false;
}

static bool handed_on(const orr_program *p, uint32_t number) {
    for (uint32_t n = 0; n < p->ninsts; n++) {
        const orr_tinst *i = &p->insts[n];
        if (i->kind == ORR_TK_BARRIER && i->flags & ORR_TF_ARRIVE && i->imm == number) return true;
    }
    return false;
}

// A barrier for four warps, of one number, that all groups of four come to (BAR.SYNC 0, 0x80 in front of a
// group's product, as cuBLAS has it): each group meets by itself. Were they mixed, two warps of each could
// wait for the others, which wait for data that these two must make room for.
static void by_groups(orr_program *p) {
    bool products = false;
    for (uint32_t n = 0; n < p->ninsts; n++) products |= p->insts[n].kind == ORR_TK_PRODUCT;
    for (uint32_t n = 0; n < p->ninsts && products; n++) {
        orr_tinst *i = &p->insts[n];
        if (i->kind != ORR_TK_BARRIER || i->warps != 4 || i->imm > 15 || i->atomic || handed_on(p, i->imm))
            continue;
        i->imm = 0xff; // as one in a register: 15, 14, ... for the first group, the second, ...
        i->atomic = 1;
        i->offset = 15;
        i->bytes = 15;
        i->space = 2;
    }
}

void orr_barriers_named(orr_program *p) {
    bool all = true, some = false;
    for (uint32_t n = 0; n < p->ninsts && all; n++) {
        orr_tinst *i = &p->insts[n];
        if (i->kind != ORR_TK_BARRIER || i->imm != 0xff) continue;
        some = true;
        all = named(p->kernel, i->inst, i);
    }
    for (uint32_t n = 0; n < p->ninsts && some; n++) {
        orr_tinst *i = &p->insts[n];
        if (i->kind != ORR_TK_BARRIER) continue;
        if (i->imm == 0xff && !all) i->atomic = 0;
        if (i->imm == 0xff || !all || p->kernel->insts[i->inst].guard < 0 || i->nreads) continue;
        i->reads = warps_that_come(p->kernel, i->inst);
        i->atomic = 2;
    }
    if (!some) by_groups(p);
}
