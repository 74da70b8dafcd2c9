// What each rule of exec/lanewise.h is in vector instructions; those that AVX2 and AVX-512 have not both are
// in masks.c.
#include <pthread.h>
#include <stdlib.h>

#include "exec/jit/compile.h"

#define A jit_in(c, u->a)
#define B jit_in(c, u->b)
#define C jit_in(c, u->c)

// ---- rules ----------------------------------------------------------------------------------
static int by_handler(const void *a, const void *b) {
    uintptr_t x = (uintptr_t)((const lanewise_rule *)a)->full,
              y = (uintptr_t)((const lanewise_rule *)b)->full;
    return (x > y) - (x < y);
}

static lanewise_rule *all_rules;
static size_t nrules;

static void gather(void) {
    static lanewise_rules (*const families[])(void) = {
        orr_lanes_int,        orr_lanes_compare,    orr_lanes_float,    orr_lanes_mov,
        orr_lanes_system,     orr_lanes_memory,     orr_lanes_sass_int, orr_lanes_sass_logic,
        orr_lanes_sass_float, orr_lanes_sass_memory};
    static lanewise_rule all[256];
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        lanewise_rules r = families[f]();
        if (nrules + r.n > sizeof all / sizeof *all) abort();
        for (size_t n = 0; n < r.n; n++) all[nrules++] = r.at[n];
    }
    qsort(all, nrules, sizeof *all, by_handler);
    all_rules = all;
}

const lanewise_rule *jit_rule(const uop *u) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, gather);
    lanewise_rule key = {.full = u->full};
    return bsearch(&key, all_rules, nrules, sizeof key, by_handler);
}

// ---- what operations are made of ------------------------------------------------------------
static int two(compiler *c, int op, int first, rm x) {
    int t = jit_temporary(c);
    jit_vector(c, op, t, first, x);
    return t;
}
static int loaded(compiler *c, rm x) { return two(c, VMOVDQU, 0, x); }
static int shift(compiler *c, int how, int x, unsigned by) {
    int t = jit_temporary(c);
    as_shift(&c->as, 0x72, how, t, x, by);
    return t;
}
enum { RIGHT = 2, RIGHT_SIGNED = 4, LEFT = 6 };
static int inverted(compiler *c, int x) { return two(c, VPXOR, x, NUMBER(ones)); }
static int none(compiler *c) {
    int t = jit_temporary(c);
    jit_vector(c, VPXOR, t, t, rm_reg(t));
    return t;
}

// RAX = the lanes in which the comparison holds.
static void compare_words(compiler *c, unsigned how, int a, rm b) {
    jit_flags(c, MASK_SPARE, jit_mask_compare(c, MASK_SPARE, how, a, b));
}

// ---- sums -----------------------------------------------------------------------------------
static void sum(compiler *c, const uop *u, unsigned arg) {
    const oper *o = u->all + u->ndst;
    unsigned n = arg >> 4;
    int t = arg & 1 ? two(c, VPSUBD, none(c), jit_in_rm(c, o[0])) : -1;
    for (unsigned i = 1; i < n; i++)
        t = two(c, arg >> i & 1 ? VPSUBD : VPADDD, t < 0 ? jit_in(c, o[0]) : t, jit_in_rm(c, o[i]));
    jit_put(c, u->d, t);
}

static void multiply(compiler *c, const uop *u, const lanewise_rule *r) {
    int t = two(c, VPMULLD, A, jit_in_rm(c, u->b));
    if (r->lane == LANE_MAD) t = two(c, r->arg ? VPSUBD : VPADDD, t, jit_in_rm(c, u->c));
    jit_put(c, u->d, t);
}

static void shift_add(compiler *c, const uop *u, unsigned arg) {
    int t = shift(c, LEFT, A, u->imm);
    jit_put(c, u->d,
            arg == 2 ? two(c, VPSUBD, B, rm_reg(t)) : two(c, arg ? VPSUBD : VPADDD, t, jit_in_rm(c, u->b)));
}

static void shift_right(compiler *c, const uop *u, const lanewise_rule *r) {
    int t = shift(c, r->arg ? RIGHT_SIGNED : RIGHT, A, u->imm);
    jit_put(c, u->d, r->lane == LANE_SHR ? t : two(c, VPADDD, t, jit_in_rm(c, u->b)));
}

static void shift_by(compiler *c, const uop *u, const lanewise_rule *r) {
    int n = B;
    if (u->imm == 31) n = two(c, VPAND, n, NUMBER(wrap32));
    if (u->imm == 63) n = two(c, VPAND, n, NUMBER(wrap64));
    int op = r->lane == LANE_SHL_BY ? VPSLLVD : r->arg ? VPSRAVD : VPSRLVD;
    jit_put(c, u->d, two(c, op, A, rm_reg(n)));
}

static void funnel(compiler *c, const uop *u) {
    int t = shift(c, RIGHT, A, u->imm & 0xff);
    jit_put(c, u->d, two(c, VPOR, t, rm_reg(shift(c, LEFT, B, u->imm >> 8))));
}

static void lea_high(compiler *c, const uop *u) {
    int t = shift(c, LEFT, C, u->imm & 31);
    t = two(c, VPOR, t, rm_reg(shift(c, RIGHT, A, u->imm >> 8)));
    jit_put(c, u->d, two(c, VPADDD, t, jit_in_rm(c, u->b)));
}

static void least(compiler *c, const uop *u, unsigned arg) {
    static const int op[4] = {VPMINUD, VPMINSD, VPMAXUD, VPMAXSD};
    jit_put(c, u->d, two(c, op[arg & 3], A, jit_in_rm(c, u->b)));
}

// ---- 64 bits --------------------------------------------------------------------------------
// lo, hi += cl, ch; hi is a temporary, and is changed. (There are twelve registers, and masks need two.)
static void add_wide(compiler *c, int *lo, int hi, oper cl, oper ch) {
    int low = jit_in(c, cl), s = two(c, VPADDD, *lo, rm_reg(low));
    jit_vector(c, VPADDD, hi, hi, jit_in_rm(c, ch));
    jit_count_up(c, hi, MASK_SPARE, jit_mask_compare(c, MASK_SPARE, COMPARE_LT, s, rm_reg(low)));
    *lo = s;
}

static void wide_shift(compiler *c, const uop *u, const lanewise_rule *r) {
    int a = A, lo = a, hi;
    if (r->lane == LANE_WIDE_SHIFT) {
        lo = shift(c, LEFT, a, u->imm);
        hi = shift(c, r->arg ? RIGHT_SIGNED : RIGHT, a, 32 - u->imm);
    } else {
        hi = shift(c, RIGHT_SIGNED, a, 31);
    }
    add_wide(c, &lo, hi, u->b, u->c);
    jit_put(c, u->all[0], lo);
    jit_put(c, u->all[1], hi);
}

static int odd(compiler *c, int x) {
    int t = jit_temporary(c);
    as_vector_imm(&c->as, VPSHUFD, t, 0, rm_reg(x), 0xf5);
    return t;
}

static void wide_multiply(compiler *c, const uop *u, unsigned arg) {
    int op = arg & 1 ? VPMULDQ : VPMULUDQ, a = A, b = B;
    int lo = two(c, op, a, rm_reg(b)), x = odd(c, a), y = odd(c, b), hi = odd(c, lo);
    jit_vector(c, op, x, x, rm_reg(y)); // of the odd lanes
    jit_blend_odd(c, hi, x);
    if (arg & 4) {
        jit_put(c, u->d, hi);
        return;
    }
    as_vector_imm(&c->as, VPSHUFD, x, 0, rm_reg(x), 0xa0);
    jit_blend_odd(c, lo, x);
    c->held[x].row = c->held[y].row = ROW_NONE; // they are free
    if (arg & 2) add_wide(c, &lo, hi, u->c, u->all[u->ndst + 3]);
    jit_put(c, u->all[0], lo);
    jit_put(c, u->all[1], hi);
}

// ---- carries --------------------------------------------------------------------------------
static void carry_out(compiler *c, const uop *u, unsigned minus) {
    int a = A, b = B, s = two(c, minus ? VPSUBD : VPADDD, a, rm_reg(b));
    if (minus)
        compare_words(c, COMPARE_GE, a, rm_reg(b));
    else
        compare_words(c, COMPARE_LT, s, rm_reg(a));
    jit_put(c, u->d, s);
    jit_pred_put(c, u->all[1]);
}

static void carry_in(compiler *c, const uop *u, const lanewise_rule *r) {
    int a = A, b = B;
    if (r->arg) b = inverted(c, b);
    int s = two(c, VPADDD, a, rm_reg(b));
    jit_mask_of_pred(c, u->c, MASK_SPARE);
    jit_count_up(c, s, MASK_SPARE, false);
    if (r->lane == LANE_CARRY_IN) {
        jit_put(c, u->d, s);
        return;
    }
    int some = two(c, VPANDN, s, rm_reg(two(c, VPOR, a, rm_reg(b))));
    int out = two(c, VPOR, some, rm_reg(two(c, VPAND, a, rm_reg(b))));
    jit_mask_signs(c, MASK_SPARE, out);
    jit_flags(c, MASK_SPARE, false);
    jit_put(c, u->d, s);
    jit_pred_put(c, u->all[1]);
}

// ---- comparison -----------------------------------------------------------------------------
// The result in RAX with the third source, and its opposite, as the table of ORR_BOOL_* says.
static void combine(compiler *c, int op) {
    int byte = op == ORR_BOOL_AND ? 0x21 : op == ORR_BOOL_OR ? 0x09 : op == ORR_BOOL_XOR ? 0x31 : 0;
    if (byte) as_general(&c->as, false, byte, REG_WITH, rm_reg(RAX));
}
static void put_flags(compiler *c, const uop *u, int op) {
    if (u->ndst == 1 && op == ORR_BOOL_NONE) {
        jit_pred_put(c, u->d);
        return;
    }
    if (op != ORR_BOOL_NONE) jit_pred_in(c, REG_WITH, u->c);
    as_general(&c->as, false, 0x8b, REG_SAVED, rm_reg(RAX));
    combine(c, op);
    jit_pred_put(c, u->d);
    if (u->ndst < 2) return;
    as_general(&c->as, false, 0x8b, RAX, rm_reg(REG_SAVED));
    as_group(&c->as, false, 6, RAX, ~0u);
    combine(c, op);
    jit_pred_put(c, u->all[1]);
}

static void compare(compiler *c, const uop *u, unsigned how) {
    int a = A;
    compare_words(c, how, a, jit_in_rm(c, u->b));
    put_flags(c, u, u->ndst == 1 ? ORR_BOOL_NONE : (int)u->imm);
}

static void compare_f32(compiler *c, const uop *u, unsigned how) {
    int a = A;
    jit_mask_compare_f32(c, MASK_SPARE, how, a, jit_in_rm(c, u->b));
    jit_flags(c, MASK_SPARE, false);
    put_flags(c, u, u->nsrc > 2 ? u->inst->boolop : ORR_BOOL_NONE);
}

static void predicates(compiler *c, const uop *u, const lanewise_rule *r) {
    jit_pred_in(c, RAX, u->a);
    if (r->lane != LANE_PRED) {
        jit_pred_in(c, REG_WITH, u->b);
        as_general(&c->as, false, r->lane == LANE_PRED_AND ? 0x21 : 0x09, REG_WITH, rm_reg(RAX));
    }
    jit_pred_put(c, u->d);
}

static void test(compiler *c, const uop *u) {
    int t = two(c, VPAND, A, jit_in_rm(c, u->b));
    compare_words(c, COMPARE_NE, t, rm_reg(none(c)));
    jit_pred_put(c, u->d);
}

// ---- logic ----------------------------------------------------------------------------------
// A three-input function in algebraic normal form, of values that are 0, ~0 or a register.
enum { ALL_ZERO = -1, ALL_ONE = -2 };
// The result; temporaries that it is made of are not needed any more.
static int instead(compiler *c, int result, int x, int y) {
    if (c->held[x].row == ROW_TEMPORARY) c->held[x].row = ROW_NONE;
    if (y >= 0 && c->held[y].row == ROW_TEMPORARY) c->held[y].row = ROW_NONE;
    return result;
}
static int both(compiler *c, int x, int v) { // a row and a value
    if (v < 0) return v == ALL_ZERO ? ALL_ZERO : x;
    return instead(c, two(c, VPAND, x, rm_reg(v)), v, -1);
}
static int apart(compiler *c, int v, int x) {
    if (v == ALL_ZERO) return x;
    if (x == ALL_ZERO) return v;
    if (v == ALL_ONE && x == ALL_ONE) return ALL_ZERO;
    if (v == ALL_ONE) return instead(c, inverted(c, x), x, -1);
    if (x == ALL_ONE) return instead(c, inverted(c, v), v, -1);
    return instead(c, two(c, VPXOR, v, rm_reg(x)), v, x);
}
static int of_c(compiler *c, const uop *u, unsigned k) { // k0 ^ c k1
    return apart(c, k & 1 ? ALL_ONE : ALL_ZERO, k & 2 ? C : ALL_ZERO);
}
static int of_bc(compiler *c, const uop *u, unsigned k) {
    int lo = of_c(c, u, k & 3), hi = of_c(c, u, k >> 2);
    return hi == ALL_ZERO ? lo : apart(c, lo, both(c, B, hi));
}
static int normal_form(compiler *c, const uop *u, unsigned table) {
    table ^= (table & 0x55) << 1;
    table ^= (table & 0x33) << 2;
    table ^= (table & 0x0f) << 4;
    int lo = of_bc(c, u, table & 15), hi = of_bc(c, u, table >> 4 & 15);
    return hi == ALL_ZERO ? lo : apart(c, lo, both(c, A, hi));
}

// AVX-512 has the three-input function as one instruction.
static void any_logic(compiler *c, const uop *u, unsigned table) {
    int b = B, t = loaded(c, jit_in_rm(c, u->a));
    as_vector_imm(&c->as, VPTERNLOGD, t, b, jit_in_rm(c, u->c), table);
    jit_put(c, u->d, t);
}

static void logic(compiler *c, const uop *u, unsigned table) {
    int t;
    bool by_c = ((table >> 1 ^ table) & 0x55) != 0;
    if (c->as.wide && by_c) {
        any_logic(c, u, table);
        return;
    }
    switch (table) {
    case 0xfc: t = two(c, VPOR, A, jit_in_rm(c, u->b)); break;
    case 0x30: t = two(c, VPANDN, B, jit_in_rm(c, u->a)); break;
    case 0xfe: t = two(c, VPOR, two(c, VPOR, A, jit_in_rm(c, u->b)), jit_in_rm(c, u->c)); break;
    case 0xf8: t = two(c, VPOR, two(c, VPAND, B, jit_in_rm(c, u->c)), jit_in_rm(c, u->a)); break;
    default: t = normal_form(c, u, table);
    }
    if (t < 0) {
        int v = jit_temporary(c);
        jit_vector(c, VMOVDQU, v, 0, NUMBER(ones));
        if (t == ALL_ZERO) jit_vector(c, VPXOR, v, v, rm_reg(v));
        t = v;
    } else if (c->held[t].row != ROW_TEMPORARY) { // a source itself
        t = loaded(c, rm_reg(t));
    }
    jit_put(c, u->d, t);
}

// ---- floats ---------------------------------------------------------------------------------
// What is not a number becomes the GPU's.
static void put_float(compiler *c, const uop *u, int t) {
    jit_mask_compare_f32(c, MASK_SPARE, HOST_NAN, t, rm_reg(t));
    jit_blend(c, t, t, NUMBER(nan), MASK_SPARE);
    jit_put(c, u->d, t);
}
static void fadd(compiler *c, const uop *u, unsigned minus) {
    put_float(c, u, two(c, minus ? VSUBPS : VADDPS, A, jit_in_rm(c, u->b)));
}
static void fmul(compiler *c, const uop *u, unsigned negated) {
    int a = negated ? two(c, VPXOR, A, NUMBER(sign)) : A;
    put_float(c, u, two(c, VMULPS, a, jit_in_rm(c, u->b)));
}
static void ffma(compiler *c, const uop *u, unsigned how) {
    static const int op[4] = {VFMADD, VFNMADD, VFMSUB, VFNMSUB};
    int a = A, b = B, t = loaded(c, jit_in_rm(c, u->c));
    jit_vector(c, op[how & 3], t, a, rm_reg(b));
    put_float(c, u, t);
}

// ---- moves ----------------------------------------------------------------------------------
static void copy(compiler *c, const uop *u) {
    int t[8];
    for (int n = 0; n < u->ndst; n++) t[n] = loaded(c, jit_in_rm(c, u->all[u->ndst + n]));
    for (int n = 0; n < u->ndst; n++) jit_put(c, u->all[n], t[n]);
}

static void thread_index(compiler *c, const uop *u) {
    const uint32_t *table = c->p->tid + (u->imm - ORR_SREG_TID_X) * ORR_WARP; // of the first warp
    _Static_assert(3 * ORR_WARP * sizeof *table == 128 + 256, "the shifts");
    as_number(&c->as, RCX, (uint64_t)(uintptr_t)table);
    as_general(&c->as, false, 0x8b, RAX, rm_mem(REG_WARP, (int32_t)offsetof(warp, index)));
    as_shift_general(&c->as, 4, RAX, 7);
    as_general(&c->as, true, 0x01, RAX, rm_reg(RCX));
    as_shift_general(&c->as, 4, RAX, 1);
    as_general(&c->as, true, 0x01, RAX, rm_reg(RCX));
    jit_put(c, u->d, loaded(c, rm_mem(RCX, c->slice * c->lanes * 4)));
}

static void choose(compiler *c, const uop *u) {
    int b = B, t = jit_temporary(c);
    rm a = jit_in_rm(c, u->a);
    jit_mask_of_pred(c, u->c, MASK_SPARE);
    jit_blend(c, t, b, a, MASK_SPARE);
    jit_put(c, u->d, t);
}

void jit_operation(compiler *c, const uop *u, const lanewise_rule *r) {
    jit_uop_begins(c, u);
    switch (r->lane) {
    case LANE_COPY:
    case LANE_KNOWN: copy(c, u); break;
    case LANE_TID: thread_index(c, u); break;
    case LANE_SUM: sum(c, u, r->arg); break;
    case LANE_LOGIC: logic(c, u, r->arg); break;
    case LANE_LOGIC_K: logic(c, u, u->imm & 0xff); break;
    case LANE_MUL:
    case LANE_MAD: multiply(c, u, r); break;
    case LANE_SHIFT_ADD: shift_add(c, u, r->arg); break;
    case LANE_SHL: jit_put(c, u->d, shift(c, LEFT, A, u->imm)); break;
    case LANE_SHR:
    case LANE_SHR_ADD: shift_right(c, u, r); break;
    case LANE_SHL_BY:
    case LANE_SHR_BY: shift_by(c, u, r); break;
    case LANE_FUNNEL: funnel(c, u); break;
    case LANE_LEA_HI: lea_high(c, u); break;
    case LANE_SELECT: choose(c, u); break;
    case LANE_LEAST: least(c, u, r->arg); break;
    case LANE_WIDE_SHIFT:
    case LANE_WIDE_EXTEND: wide_shift(c, u, r); break;
    case LANE_WIDE_MUL: wide_multiply(c, u, r->arg); break;
    case LANE_CARRY_OUT: carry_out(c, u, r->arg); break;
    case LANE_CARRY_IN:
    case LANE_CARRY_BOTH: carry_in(c, u, r); break;
    case LANE_COMPARE: compare(c, u, r->arg); break;
    case LANE_COMPARE_F32: compare_f32(c, u, r->arg); break;
    case LANE_TEST: test(c, u); break;
    case LANE_PRED:
    case LANE_PRED_AND:
    case LANE_PRED_OR: predicates(c, u, r); break;
    case LANE_FADD: fadd(c, u, r->arg); break;
    case LANE_FMUL: fmul(c, u, r->arg); break;
    case LANE_FFMA: ffma(c, u, r->arg); break;
    default: c->failed = true;
    }
}
