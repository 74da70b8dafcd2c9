// Lanes of a slice as a mask, the one thing that AVX2 and AVX-512 do differently: with AVX2 a mask is a
// vector that holds ~0 for a lane or 0, with AVX-512 a bit of a mask register. What an operation is made of
// (operations.c) is written once, with these.
#include <string.h>

#include "exec/jit/compile.h"

static int k_of(int mask) { return mask - MASK_SPARE + 1; }

bool jit_constant_pred(const compiler *c, oper p, bool *value) {
    uint32_t v;
    if (p.bank != BANK_CONST) return false;
    memcpy(&v, c->p->constants + p.off, sizeof v);
    *value = (v != 0) != p.neg;
    return true;
}

void jit_mask_of_pred(compiler *c, oper p, int mask) {
    bool value;
    if (c->as.wide) {
        jit_pred_in(c, RAX, p);
        as_mask(&c->as, KMOVW_FROM, k_of(mask), 0, rm_reg(RAX));
        return;
    }
    rm bits = rm_mem(REG_NUMBERS, (int32_t)offsetof(numbers, lane_bit) + c->slice * c->lanes * 4);
    if (jit_constant_pred(c, p, &value)) {
        jit_vector(c, value ? VPCMPEQD : VPXOR, mask, mask, rm_reg(mask));
        return;
    }
    int from = jit_pred_register(c, p);
    if (from >= 0) {
        jit_vector(c, VMOVD, mask, 0, rm_reg(from));
        jit_vector(c, VPBROADCASTD, mask, 0, rm_reg(mask));
    } else {
        jit_vector(c, VPBROADCASTD, mask, 0, rm_mem(REG_P, (int32_t)p.off));
    }
    if (p.neg) jit_vector(c, VPXOR, mask, mask, NUMBER(ones)); // where the bit is not set
    jit_vector(c, VPAND, mask, mask, bits);
    jit_vector(c, VPCMPEQD, mask, mask, bits);
}

void jit_mask_active(compiler *c, int mask) {
    int32_t exec = (int32_t)offsetof(warp, exec), lane = (int32_t)offsetof(warp, lane);
    if (c->as.wide)
        as_mask(&c->as, KMOVW_LOAD, k_of(mask), 0, rm_mem(REG_WARP, exec + c->slice * 2));
    else
        jit_vector(c, VMOVDQU, mask, 0, rm_mem(REG_WARP, lane + c->slice * c->lanes * 4));
}

void jit_mask_and(compiler *c, int mask, int with) {
    if (c->as.wide)
        as_mask(&c->as, KANDW, k_of(mask), k_of(mask), rm_reg(k_of(with)));
    else
        jit_vector(c, VPAND, mask, mask, rm_reg(with));
}

// The opposite of what is asked for is found where that is shorter.
static bool compare_vectors(compiler *c, int mask, unsigned how, int a, rm b) {
    bool least = (how & 7) == COMPARE_LE || (how & 7) == COMPARE_GT;
    bool opposite = (how & 7) == COMPARE_NE;
    if ((how & 7) <= COMPARE_NE) {
        jit_vector(c, VPCMPEQD, mask, a, b);
    } else if (!(how & COMPARE_SIGNED)) {
        jit_vector(c, least ? VPMINUD : VPMAXUD, mask, a, b);
        jit_vector(c, VPCMPEQD, mask, a, rm_reg(mask));
        opposite = (how & 7) == COMPARE_LT || (how & 7) == COMPARE_GT;
    } else if (least) {
        jit_vector(c, VPCMPGTD, mask, a, b);
        opposite = (how & 7) == COMPARE_LE;
    } else {
        jit_vector(c, VMOVDQU, mask, 0, b);
        jit_vector(c, VPCMPGTD, mask, mask, rm_reg(a));
        opposite = (how & 7) == COMPARE_GE;
    }
    return opposite;
}

bool jit_mask_compare(compiler *c, int mask, unsigned how, int a, rm b) {
    static const uint8_t number[] = {[COMPARE_EQ] = 0, [COMPARE_NE] = 4, [COMPARE_LT] = 1,
                                     [COMPARE_LE] = 2, [COMPARE_GT] = 6, [COMPARE_GE] = 5};
    if (!c->as.wide) return compare_vectors(c, mask, how, a, b);
    as_vector_imm(&c->as, how & COMPARE_SIGNED ? VPCMPD : VPCMPUD, k_of(mask), a, b, number[how & 7]);
    return false;
}

void jit_mask_compare_f32(compiler *c, int mask, unsigned how, int a, rm b) {
    as_vector_imm(&c->as, VCMPPS, c->as.wide ? k_of(mask) : mask, a, b, how);
}

void jit_mask_signs(compiler *c, int mask, int x) {
    if (c->as.wide)
        jit_vector(c, VPMOVD2M, k_of(mask), 0, rm_reg(x));
    else
        jit_vector(c, VMOVDQU, mask, 0, rm_reg(x));
}

void jit_flags(compiler *c, int mask, bool opposite) {
    if (c->as.wide)
        as_mask(&c->as, KMOVW_TO, RAX, 0, rm_reg(k_of(mask)));
    else
        jit_vector(c, VMOVMSKPS, RAX, 0, rm_reg(mask));
    if (opposite) as_group(&c->as, false, 6, RAX, c->some);
}

void jit_blend(compiler *c, int reg, int old, rm x, int mask) {
    if (c->as.wide)
        as_masked(&c->as, VPBLENDMD, k_of(mask), reg, old, x);
    else
        as_vector_imm(&c->as, VPBLENDVB, reg, old, x, (unsigned)mask << 4);
}

void jit_blend_odd(compiler *c, int reg, int x) {
    enum { K_ODD = 4 };
    if (!c->as.wide) {
        as_vector_imm(&c->as, VPBLENDD, reg, reg, rm_reg(x), 0xaa);
        return;
    }
    as_number(&c->as, RAX, 0xaaaa);
    as_mask(&c->as, KMOVW_FROM, K_ODD, 0, rm_reg(RAX));
    as_masked(&c->as, VPBLENDMD, K_ODD, reg, reg, rm_reg(x));
}

void jit_count_up(compiler *c, int reg, int mask, bool opposite) {
    if (c->as.wide) {
        as_masked(&c->as, VPSUBD, k_of(mask), reg, reg, NUMBER(ones));
        return;
    }
    jit_vector(c, opposite ? VPADDD : VPSUBD, reg, reg, rm_reg(mask));
    if (opposite) jit_vector(c, VPSUBD, reg, reg, NUMBER(ones));
}
