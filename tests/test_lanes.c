// shfl, vote, match, redux, activemask and elect against the manual's pseudocode and by hand.
#include "bed.h"

// ---- shfl -----------------------------------------------------------------------------------
// The manual's pseudocode, one lane at a time. Inactive sources read as the lane's own value.
static uint32_t shfl_one(int mode, const uint32_t *a, int lane, uint32_t b, uint32_t c, uint32_t taking_part,
                         bool *p) {
    int bval = b & 31, cval = c & 31, mask = c >> 8 & 31;
    int max = (lane & mask) | (cval & ~mask & 31), min = lane & mask, j = 0;
    switch (mode) {
    case ORR_SHFL_UP: j = lane - bval, *p = j >= max; break;
    case ORR_SHFL_DOWN: j = lane + bval, *p = j <= max; break;
    case ORR_SHFL_BFLY: j = lane ^ bval, *p = j <= max; break;
    default: j = min | (bval & ~mask & 31), *p = j <= max; break;
    }
    if (!*p) j = lane;
    return taking_part >> j & 1 ? a[j] : a[lane];
}

static void test_shfl(void **state) {
    (void)state;
    static const uint32_t clamps[] = {0x1f, 0, 0x1c1f, 0x181f, 0x1800, 0x100f, 0x1e01, 0xffffffff};
    for (uint8_t mode = ORR_SHFL_UP; mode <= ORR_SHFL_IDX; mode++)
        for (int round = 0; round < 200; round++) {
            bool with_p = round & 1, sync = round & 2, same_reg = round & 4;
            uint32_t exec = round % 3 ? (uint32_t)bed_random() | 1 : FULL;
            bed b;
            bed_start(&b, ORR_OP_SHFL, ORR_T_B32);
            b.inst.sub = mode;
            bed_dst(&b, ORR_W);
            if (with_p) bed_dst(&b, ORR_P);
            int src = bed_src(&b, ORR_W);
            int lane_b = bed_src(&b, ORR_W), lane_c = bed_imm(&b, ORR_W, clamps[round % 8]);
            if (sync)
                bed_imm(&b, ORR_W, exec);
            else
                bed_operand(&b, false, ORR_K_NONE, ORR_W);
            if (same_reg) b.all[0].off = b.all[src].off;
            uint32_t a[32], old[32], oldp = (uint32_t)bed_random();
            for (int i = 0; i < 32; i++) {
                a[i] = (uint32_t)bed_random();
                bed_set(&b, 0, i, bed_random());
                bed_set(&b, src, i, a[i]);
                old[i] = (uint32_t)bed_get(&b, 0, i);
                bed_set(&b, lane_b, i, round & 8 ? 1u << (round >> 4 & 3) : bed_random());
            }
            b.p[1] = oldp;
            bed_run(&b, orr_pick_lanes, exec);
            for (int i = 0; i < 32; i++) {
                bool p, on = exec >> i & 1;
                uint32_t want = shfl_one(mode, a, i, (uint32_t)bed_get(&b, lane_b, i),
                                         (uint32_t)bed_get(&b, lane_c, i), exec, &p);
                assert_int_equal(bed_get(&b, 0, i), on ? want : old[i]);
                if (with_p) assert_int_equal(b.p[1] >> i & 1, on ? p : oldp >> i & 1);
            }
        }
}

// An inclusive sum over the warp, as the manual's example does it: lane i ends with 1 + .. + (i + 1).
static void test_shfl_scan(void **state) {
    (void)state;
    uint32_t x[32];
    for (int i = 0; i < 32; i++) x[i] = (uint32_t)i + 1;
    for (uint32_t step = 1; step < 32; step *= 2) {
        bed b;
        bed_start(&b, ORR_OP_SHFL, ORR_T_B32);
        b.inst.sub = ORR_SHFL_UP;
        bed_dst(&b, ORR_W), bed_dst(&b, ORR_P);
        int a = bed_src(&b, ORR_W);
        bed_imm(&b, ORR_W, step), bed_imm(&b, ORR_W, 0), bed_imm(&b, ORR_W, FULL);
        for (int i = 0; i < 32; i++) bed_set(&b, a, i, x[i]);
        bed_run(&b, orr_pick_lanes, FULL);
        assert_int_equal(b.p[1], FULL << step);
        for (int i = 0; i < 32; i++)
            if (b.p[1] >> i & 1) x[i] += (uint32_t)bed_get(&b, 0, i);
    }
    for (int i = 0; i < 32; i++) assert_int_equal(x[i], (i + 1) * (i + 2) / 2);
}

// ---- vote -----------------------------------------------------------------------------------
static uint64_t vote(uint8_t sub, uint32_t p, bool neg, uint32_t exec, uint32_t members) {
    bed b;
    bed_start(&b, ORR_OP_VOTE, sub == ORR_VOTE_BALLOT ? ORR_T_B32 : ORR_T_PRED);
    b.inst.sub = sub;
    bed_dst(&b, sub == ORR_VOTE_BALLOT ? ORR_W : ORR_P);
    int a = bed_src(&b, ORR_P);
    if (members) bed_imm(&b, ORR_W, members);
    b.p[a] = p;
    b.all[a].neg = neg;
    bed_run(&b, orr_pick_lanes, exec);
    int first = __builtin_ctz(exec);
    for (int i = 0; i < 32; i++)
        assert_int_equal(bed_get(&b, 0, i), exec >> i & 1 ? bed_get(&b, 0, first) : 0);
    return bed_get(&b, 0, first);
}
static void test_vote(void **state) {
    (void)state;
    assert_int_equal(vote(ORR_VOTE_ALL, FULL, false, FULL, FULL), 1);
    assert_int_equal(vote(ORR_VOTE_ALL, 0x7fffffff, false, FULL, FULL), 0);
    assert_int_equal(vote(ORR_VOTE_ALL, 0x0000ff00, false, 0x0000ff00, 0x0000ff00),
                     1); // inactive lanes do not count
    assert_int_equal(vote(ORR_VOTE_ALL, 0x0000ff00, true, FULL, 0xffff00ff), 1);
    assert_int_equal(vote(ORR_VOTE_ANY, 0x00000001, false, 0xfffffffe, 0), 0);
    assert_int_equal(vote(ORR_VOTE_ANY, 0x00000002, false, 0xfffffffe, 0), 1);
    assert_int_equal(vote(ORR_VOTE_UNI, 0, false, FULL, FULL), 1);
    assert_int_equal(vote(ORR_VOTE_UNI, FULL, false, FULL, FULL), 1);
    assert_int_equal(vote(ORR_VOTE_UNI, 1, false, FULL, FULL), 0);
    assert_int_equal(vote(ORR_VOTE_BALLOT, 0x12345678, false, 0xffff0000, 0), 0x12340000);
    assert_int_equal(vote(ORR_VOTE_BALLOT, 0x12345678, true, FULL, 0x0000ffff), 0x0000a987);
}

// ---- match ----------------------------------------------------------------------------------
static void test_match(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++)
        for (int round = 0; round < 50; round++) {
            uint32_t exec = round % 3 ? (uint32_t)bed_random() | 2 : FULL;
            for (uint8_t all = 0; all < 2; all++) {
                bed b;
                bed_start(&b, ORR_OP_MATCH, wide ? ORR_T_B64 : ORR_T_B32);
                b.inst.sub = all;
                bed_dst(&b, ORR_W);
                if (all) bed_dst(&b, ORR_P);
                int a = bed_src(&b, wide ? ORR_D : ORR_W);
                bed_imm(&b, ORR_W, FULL);
                for (int i = 0; i < 32;
                     i++) // few different values; 64-bit ones differ in the high half alone
                    bed_set(&b, a, i,
                            (round % 5 == 0 ? 7 : bed_random() % (1 + (unsigned)round % 7))
                                << (wide ? 40 : 0));
                bed_run(&b, orr_pick_lanes, exec);
                bool same_all = true;
                for (int i = 0; i < 32; i++) {
                    if (!(exec >> i & 1)) continue;
                    uint32_t same = 0;
                    for (int j = 0; j < 32; j++)
                        if ((exec >> j & 1) && bed_get(&b, a, i) == bed_get(&b, a, j)) same |= 1u << j;
                    same_all &= same == exec;
                    if (!all) assert_int_equal(b.r[0][i], same);
                }
                for (int i = 0; all && i < 32; i++)
                    assert_int_equal(b.r[0][i], same_all && (exec >> i & 1) ? exec : 0);
                if (all) assert_int_equal(b.p[1], same_all ? exec : 0);
            }
        }
}

// ---- redux ----------------------------------------------------------------------------------
static uint32_t redux(uint8_t sub, uint8_t type, uint32_t mods, uint32_t exec, const uint32_t *v) {
    bed b;
    bed_start(&b, ORR_OP_REDUX, type);
    b.inst.sub = sub, b.inst.mods = mods;
    bed_dst(&b, ORR_W);
    int a = bed_src(&b, ORR_W);
    bed_imm(&b, ORR_W, FULL);
    for (int i = 0; i < 32; i++) bed_set(&b, a, i, v[i]);
    bed_run(&b, orr_pick_lanes, exec);
    for (int i = 0; i < 32; i++) assert_int_equal(b.r[0][i], exec >> i & 1 ? b.r[0][__builtin_ctz(exec)] : 0);
    return b.r[0][__builtin_ctz(exec)];
}
static void test_redux(void **state) {
    (void)state;
    uint32_t v[32];
    for (int i = 0; i < 32; i++) v[i] = (uint32_t)(i - 16);
    assert_int_equal(redux(ORR_ATOM_ADD, ORR_T_S32, 0, FULL, v), (uint32_t)-16);
    assert_int_equal(redux(ORR_ATOM_ADD, ORR_T_U32, 0, 0xf0000000, v), 12 + 13 + 14 + 15);
    assert_int_equal(redux(ORR_ATOM_MIN, ORR_T_S32, 0, FULL, v), (uint32_t)-16);
    assert_int_equal(redux(ORR_ATOM_MAX, ORR_T_S32, 0, FULL, v), 15);
    assert_int_equal(redux(ORR_ATOM_MIN, ORR_T_U32, 0, FULL, v), 0);
    assert_int_equal(redux(ORR_ATOM_MAX, ORR_T_U32, 0, FULL, v), 0xffffffff);
    for (int i = 0; i < 32; i++) v[i] = ~(1u << i);
    assert_int_equal(redux(ORR_ATOM_AND, ORR_T_B32, 0, 0x0000ffff, v), 0xffff0000);
    assert_int_equal(redux(ORR_ATOM_OR, ORR_T_B32, 0, 0x00000010, v), ~0x10u);
    assert_int_equal(redux(ORR_ATOM_XOR, ORR_T_B32, 0, 0x00000007, v), ~7u);
    const uint32_t nan = 0x7fc12345, one = 0x3f800000, minus_two = 0xc0000000, zero = 0,
                   minus_zero = 0x80000000;
    for (int i = 0; i < 32; i++) v[i] = i & 1 ? one : nan;
    v[7] = minus_two;
    assert_int_equal(redux(ORR_ATOM_MIN, ORR_T_F32, 0, FULL, v), minus_two); // NaNs are passed over
    assert_int_equal(redux(ORR_ATOM_MAX, ORR_T_F32, 0, FULL, v), one);
    assert_int_equal(redux(ORR_ATOM_MAX, ORR_T_F32, ORR_M_XORSIGN, FULL, v), 0x40000000); // .abs
    assert_int_equal(redux(ORR_ATOM_MIN, ORR_T_F32, ORR_M_NAN, FULL, v), 0x7fffffff);
    assert_int_equal(redux(ORR_ATOM_MIN, ORR_T_F32, 0, 0x55555555, v), 0x7fffffff); // nothing but NaNs
    assert_int_equal(redux(ORR_ATOM_MIN, ORR_T_F32, 0, 0x1, v), 0x7fffffff);
    for (int i = 0; i < 32; i++) v[i] = i & 1 ? zero : minus_zero;
    assert_int_equal(redux(ORR_ATOM_MIN, ORR_T_F32, 0, FULL, v), minus_zero);
    assert_int_equal(redux(ORR_ATOM_MAX, ORR_T_F32, 0, FULL, v), zero);
}

// ---- activemask, elect ----------------------------------------------------------------------
static void test_active(void **state) {
    (void)state;
    bed b;
    bed_start(&b, ORR_OP_ACTIVEMASK, ORR_T_B32);
    bed_dst(&b, ORR_W);
    bed_run(&b, orr_pick_lanes, 0x00f0f00f);
    for (int i = 0; i < 32; i++) assert_int_equal(b.r[0][i], 0x00f0f00fu >> i & 1 ? 0x00f0f00f : 0);
    for (int sink = 0; sink < 2; sink++) {
        bed_start(&b, ORR_OP_ELECT, ORR_T_B32);
        if (sink)
            bed_operand(&b, true, ORR_K_NONE, ORR_W);
        else
            bed_dst(&b, ORR_W);
        bed_dst(&b, ORR_P);
        bed_imm(&b, ORR_W, 0xffffff00);
        b.p[1] = 0x1000ff00;
        bed_run(&b, orr_pick_lanes, 0x0000fc00);
        assert_int_equal(b.p[1], 0x10000700); // lane 10 leads; the others of the six are cleared
        assert_int_equal(b.r[0][12], sink ? 0 : 10);
    }
}

static void test_refused(void **state) {
    (void)state;
    bed b;
    bed_start(&b, ORR_OP_REDUX, ORR_T_F32);
    b.inst.sub = ORR_ATOM_ADD;
    bed_dst(&b, ORR_W), bed_src(&b, ORR_W), bed_imm(&b, ORR_W, FULL);
    assert_null(bed_pick(&b, orr_pick_lanes).full);
    bed_start(&b, ORR_OP_SHFL, ORR_T_B32);
    bed_dst(&b, ORR_W), bed_src(&b, ORR_D), bed_src(&b, ORR_W), bed_src(&b, ORR_W);
    assert_null(bed_pick(&b, orr_pick_lanes).full);
    bed_start(&b, ORR_OP_VOTE, ORR_T_B32);
    b.inst.sub = ORR_VOTE_BALLOT;
    bed_dst(&b, ORR_P), bed_src(&b, ORR_P);
    assert_null(bed_pick(&b, orr_pick_lanes).full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shfl),    cmocka_unit_test(test_shfl_scan), cmocka_unit_test(test_vote),
        cmocka_unit_test(test_match),   cmocka_unit_test(test_redux),     cmocka_unit_test(test_active),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
