// Micro-ops compiled for the host against their handlers: every rule of exec/lanewise.h but moves and memory,
// with all lanes, some of them, and a guard; rows that are alike, and numbers at the edges of floats. What
// the handler leaves with all lanes active is blended here by hand, so that neither masks nor guards are
// taken from the code under test.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "exec/jit/jit.h"
#include "exec/lanewise.h"

enum { ROWS = 6, PREDICATES = 8, GUARD = 7, ROUNDS = 96 };

static uint64_t state = 88172645463325252u; // xorshift, Marsaglia 2003
static uint32_t any(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static uint32_t number(void) {
    static const uint32_t edges[] = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff,
                                     0x3f800000, 0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001,
                                     0x00800000, 0x007fffff, 0x80000001, 31};
    return any() % 3 ? any() : edges[any() % (sizeof edges / sizeof *edges)];
}

typedef struct registers {
    uint32_t w[ROWS][ORR_WARP] __attribute__((aligned(64)));
    uint32_t p[PREDICATES] __attribute__((aligned(64)));
} registers;

// Classes of destinations and sources; NULL: not compared here.
static const char *shape_of(const lanewise_rule *r, int round) {
    static const char *const sums[] = {"", "W=W", "W=WW", "W=WWW"};
    bool three = round & 1;
    switch (r->lane) {
    case LANE_SUM: return sums[r->arg >> 4];
    case LANE_SHL:
    case LANE_SHR: return "W=W";
    case LANE_MUL:
    case LANE_SHIFT_ADD:
    case LANE_SHR_ADD:
    case LANE_SHL_BY:
    case LANE_SHR_BY:
    case LANE_FUNNEL:
    case LANE_LEAST:
    case LANE_FADD:
    case LANE_FMUL: return "W=WW";
    case LANE_LOGIC:
    case LANE_LOGIC_K:
    case LANE_MAD:
    case LANE_LEA_HI:
    case LANE_FFMA: return "W=WWW";
    case LANE_SELECT:
    case LANE_CARRY_IN: return "W=WWP";
    case LANE_WIDE_SHIFT:
    case LANE_WIDE_EXTEND: return "WW=WWW";
    case LANE_WIDE_MUL: return r->arg & 4 ? "W=WW" : r->arg & 2 ? "WW=WWWW" : "WW=WW";
    case LANE_CARRY_OUT: return "WP=WW";
    case LANE_CARRY_BOTH: return "WP=WWP";
    case LANE_COMPARE:
    case LANE_COMPARE_F32: return three ? "PP=WWP" : "P=WW";
    case LANE_TEST: return "P=WW";
    case LANE_PRED: return "P=P";
    case LANE_PRED_AND:
    case LANE_PRED_OR: return "P=PP";
    default: return NULL;
    }
}

static uint32_t imm_of(const lanewise_rule *r) {
    static const uint32_t wraps[] = {31, 63, ~0u};
    uint32_t k = 1 + any() % 31;
    switch (r->lane) {
    case LANE_LOGIC_K: return any() & 0xff;
    case LANE_SHL_BY:
    case LANE_SHR_BY: return wraps[any() % 3];
    case LANE_FUNNEL:
    case LANE_LEA_HI: return k | (32 - k) << 8;
    case LANE_COMPARE: return 1 + any() % 3; // ORR_BOOL_AND, OR, XOR
    default: return k;
    }
}

// Operands: destinations are different registers, sources any.
static void make_operands(const char *shape, uop *u, oper all[8]) {
    uint32_t row = any(), pred = any();
    int n = 0;
    bool source = false;
    for (const char *s = shape; *s; s++) {
        if (*s == '=') {
            u->ndst = (uint8_t)n;
            source = true;
            continue;
        }
        bool p = *s == 'P';
        uint32_t at = source ? any() : p ? pred++ : row++;
        all[n++] = p ? (oper){at % GUARD * 4, BANK_P, ORR_P, source && at >> 8 & 1, 0}
                     : (oper){at % ROWS * 128, BANK_W, ORR_W, 0, 0};
    }
    u->nsrc = (uint8_t)(n - u->ndst);
    u->all = all;
    u->d = all[0];
    u->a = all[u->ndst];
    u->b = u->nsrc > 1 ? all[u->ndst + 1] : (oper){.none = 1};
    u->c = u->nsrc > 2 ? all[u->ndst + 2] : (oper){.none = 1};
}

static void use(warp *w, registers *r) {
    w->bank[BANK_W] = (uint8_t *)r->w;
    w->bank[BANK_P] = (uint8_t *)r->p;
}

// The registers with what the handler leaves in those lanes.
static registers expected(const uop *u, const registers *r, uint32_t lanes) {
    static warp w;
    registers out = *r, all = *r;
    use(&w, &all);
    w.exec = w.lanes_of = FULL;
    for (int i = 0; i < ORR_WARP; i++) w.lane[i] = FULL;
    u->full(&w, u);
    for (int n = 0; n < PREDICATES; n++) out.p[n] = (all.p[n] & lanes) | (r->p[n] & ~lanes);
    for (int n = 0; n < ROWS; n++)
        for (int i = 0; i < ORR_WARP; i++)
            if (lanes >> i & 1) out.w[n][i] = all.w[n][i];
    return out;
}

static void compare(const lanewise_rule *rule, int round, bool wide) {
    static warp w;
    oper all[8];
    orr_inst inst = {.boolop = (uint8_t)(1 + any() % 3)};
    uop u = {.full = rule->full, .masked = rule->full, .inst = &inst, .imm = imm_of(rule), .guard = -1};
    const char *shape = shape_of(rule, round);
    if (!shape) return;
    make_operands(shape, &u, all);
    if (round & 2) u.guard = GUARD * 4, u.guard_neg = round >> 3 & 1;
    registers r;
    for (size_t n = 0; n < sizeof r / 4; n++) ((uint32_t *)&r)[n] = number();
    if (round & 16) r.p[GUARD] = any() & 1 ? FULL : 0;
    uint32_t mask = round & 4 ? any() | 1 : FULL;
    uint32_t passed = u.guard < 0 ? mask : mask & (u.guard_neg ? ~r.p[GUARD] : r.p[GUARD]);
    registers want = expected(&u, &r, passed);

    orr_kernel kernel = {.nblocks = 1};
    xblock block = {.first = &u, .end = &u + 1};
    decoded p = {.kernel = &kernel, .blocks = &block, .scratch = UINT32_MAX};
    struct jit *j = orr_jit_open(&p, wide);
    if (!j) skip(); // not on this processor
    if (wide && !orr_jit_is_wide(j)) {
        orr_jit_close(j);
        skip();
    }
    block_fn *f = orr_jit_compile(j, 0, mask == FULL ? 0 : JIT_MASKED);
    assert_non_null(f);
    use(&w, &r);
    w.exec = mask;
    for (int i = 0; i < ORR_WARP; i++) w.lane[i] = 0u - (mask >> i & 1);
    f(&w);
    orr_jit_close(j);
    if (memcmp(&r, &want, sizeof r))
        fail_msg("rule %u, arg %u, imm %x, round %d, %s: not what the handler leaves", rule->lane, rule->arg,
                 u.imm, round, wide ? "AVX-512" : "AVX2");
}

static void rules(bool wide) {
    static lanewise_rules (*const families[])(void) = {
        orr_lanes_int,      orr_lanes_compare,    orr_lanes_float,     orr_lanes_mov,
        orr_lanes_sass_int, orr_lanes_sass_logic, orr_lanes_sass_float};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        lanewise_rules all = families[f]();
        for (size_t n = 0; n < all.n; n++)
            for (int round = 0; round < ROUNDS; round++) compare(&all.at[n], round, wide);
    }
}

static void with_avx2(void **arg) {
    (void)arg;
    rules(false);
}
static void with_avx512(void **arg) {
    (void)arg;
    rules(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(with_avx2), cmocka_unit_test(with_avx512)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
