// Atomics and mbarrier objects on a thread block built by hand: shared memory is a local array, global
// memory a real allocation. Expected values come from a sequential model and from the manual.
#include <stdlib.h>

#include "bed.h"
#include "exec/block.h"

typedef struct ground { // what handlers need around a warp
    bed b;
    decoded prog;
    orr_launch launch;
    tblock tb;
    worker work;
    range ranges[1];
    uint32_t tid[3 * ORR_WARP];
    uint8_t shared[4096] __attribute__((aligned(64)));
    uint64_t global; // device address of 4096 bytes
    uint8_t *host;
} ground;

static ground g;

static int set_up(void **state) {
    (void)state;
    orr_err e = {0};
    orr_mem *m = orr_mem_new(&e);
    if (!m) return -1;
    g.work.mem = m;
    g.global = orr_mem_alloc(m, 4096, "buffer", &e);
    g.host = orr_mem_host(m, g.global, 4096);
    return g.host ? 0 : -1;
}
static int tear_down(void **state) {
    (void)state;
    orr_mem_delete(g.work.mem);
    free(g.tb.mbars.at);
    return 0;
}

// Start an instruction; the ground is what bed_start does not make.
static void start(uint16_t op, uint8_t type, uint8_t space) {
    bed_start(&g.b, op, type);
    g.b.kernel.name = "k";
    g.prog = (decoded){.kernel = &g.b.kernel,
                       .launch = &g.launch,
                       .shared_bytes = sizeof g.shared,
                       .tid = g.tid,
                       .nwarps = 1,
                       .threads = 32};
    g.launch.kernel = &g.b.kernel;
    free(g.tb.mbars.at); // of the instruction before
    g.tb = (tblock){.prog = &g.prog, .worker = &g.work, .shared = g.shared, .warps = &g.b.w};
    g.work.range = g.ranges;
    g.work.prog = &g.prog;
    memset(&g.work.err, 0, sizeof g.work.err);
    memset(g.ranges, 0, sizeof g.ranges);
    g.b.w.tb = &g.tb;
    g.b.w.worker = &g.work;
    g.b.inst.space = space;
}

static uint8_t cls_of_type(uint8_t type) {
    uint8_t bytes = orr_types[type].bytes;
    return bytes == 2 ? ORR_H : bytes == 4 ? ORR_W : ORR_D;
}

// ---- integers against a sequential model ----------------------------------------------------
static uint64_t model(uint8_t op, uint8_t type, uint64_t r, uint64_t s, uint64_t t) {
    bool sign = orr_types[type].is_signed, wide = orr_types[type].bytes == 8;
    int64_t rs = wide ? (int64_t)r : (int32_t)r, ss = wide ? (int64_t)s : (int32_t)s;
    bool less = sign ? rs < ss : r < s;
    switch (op) {
    case ORR_ATOM_ADD: return r + s;
    case ORR_ATOM_MIN: return less ? r : s;
    case ORR_ATOM_MAX: return less ? s : r;
    case ORR_ATOM_INC: return r >= s ? 0 : r + 1;
    case ORR_ATOM_DEC: return r == 0 || r > s ? s : r - 1;
    case ORR_ATOM_AND: return r & s;
    case ORR_ATOM_OR: return r | s;
    case ORR_ATOM_XOR: return r ^ s;
    case ORR_ATOM_EXCH: return s;
    default: return r == s ? t : r;
    }
}

// All lanes hit one of four words; the model takes them in lane order.
static void one_integer(uint16_t op, uint8_t sub, uint8_t type, uint8_t space, bool sink) {
    uint32_t size = orr_types[type].bytes, exec = bed_random() & 1 ? FULL : (uint32_t)bed_random();
    uint64_t keep = size == 8 ? UINT64_MAX : (1ull << (8 * size)) - 1;
    uint8_t *mem = space == ORR_SPACE_GLOBAL ? g.host : g.shared;
    uint64_t base = space == ORR_SPACE_GLOBAL ? g.global : space == ORR_SPACE_GENERIC ? ORR_SHARED_WINDOW : 0;
    start(op, type, space);
    bed *b = &g.b;
    b->inst.sub = sub;
    b->inst.disp = 64;
    if (op == ORR_OP_ATOM) bed_operand(b, true, sink ? ORR_K_NONE : ORR_K_REG, cls_of_type(type));
    int addr = bed_src(b, ORR_D), s = bed_src(b, cls_of_type(type));
    int t = sub == ORR_ATOM_CAS ? bed_src(b, cls_of_type(type)) : -1;
    uint64_t cell[4], old[32];
    for (int n = 0; n < 4; n++) {
        cell[n] = bed_value() & keep;
        memcpy(mem + 64 + (uint32_t)n * size, &cell[n], size);
    }
    for (int i = 0; i < 32; i++) {
        int n = (int)(bed_random() & 3);
        bed_set(b, addr, i,
                exec >> i & 1 ? base + (uint64_t)n * size : 0xdead0001); // an inactive lane points nowhere
        bed_set(b, s, i, sub == ORR_ATOM_CAS && (bed_random() & 1) ? cell[n] : bed_value());
        if (t >= 0) bed_set(b, t, i, bed_value());
        if (op == ORR_OP_ATOM) bed_set(b, 0, i, 0x5a);
        old[i] = 0x5a;
    }
    for (int i = 0; i < 32; i++) {
        if (!(exec >> i & 1)) continue;
        int n = (int)((bed_get(b, addr, i) - base) / size);
        old[i] = cell[n];
        cell[n] = model(sub, type, cell[n], bed_get(b, s, i), t >= 0 ? bed_get(b, t, i) : 0) & keep;
    }
    bed_run(b, orr_pick_atomic, exec);
    assert_false(g.tb.faulted);
    for (int n = 0; n < 4; n++) assert_memory_equal(mem + 64 + (uint32_t)n * size, &cell[n], size);
    for (int i = 0; op == ORR_OP_ATOM && i < 32; i++)
        assert_int_equal(bed_get(b, 0, i), sink ? 0x5a : old[i]);
}

static void test_integers(void **state) {
    (void)state;
    static const uint8_t types[] = {ORR_T_U32, ORR_T_S32, ORR_T_U64, ORR_T_S64, ORR_T_B32, ORR_T_B64};
    static const uint8_t spaces[] = {ORR_SPACE_GLOBAL, ORR_SPACE_SHARED, ORR_SPACE_GENERIC};
    for (size_t t = 0; t < sizeof types; t++)
        for (uint8_t sub = ORR_ATOM_ADD; sub <= ORR_ATOM_CAS; sub++)
            for (int round = 0; round < 12; round++) {
                bool bits = types[t] == ORR_T_B32 || types[t] == ORR_T_B64;
                if (bits && sub < ORR_ATOM_AND) continue;
                if ((sub == ORR_ATOM_INC || sub == ORR_ATOM_DEC) && types[t] != ORR_T_U32) continue;
                one_integer(ORR_OP_ATOM, sub, types[t], spaces[round % 3], round & 4);
                if (sub < ORR_ATOM_EXCH) one_integer(ORR_OP_RED, sub, types[t], spaces[round % 3], false);
            }
    for (int round = 0; round < 12; round++)
        one_integer(ORR_OP_ATOM, ORR_ATOM_CAS, ORR_T_B16, spaces[round % 3], false);
}

static void test_b128(void **state) {
    (void)state;
    for (uint8_t sub = ORR_ATOM_EXCH; sub <= ORR_ATOM_CAS; sub++) {
        start(ORR_OP_ATOM, ORR_T_B128, ORR_SPACE_SHARED);
        bed *b = &g.b;
        b->inst.sub = sub;
        bed_dst(b, ORR_Q);
        int addr = bed_src(b, ORR_W), s = bed_src(b, ORR_Q), t = sub == ORR_ATOM_CAS ? bed_src(b, ORR_Q) : s;
        uint64_t cell[2] = {1, 2};
        memcpy(g.shared + 32, cell, 16);
        for (int i = 0; i < 2; i++) {
            bed_set(b, addr, i, 32);
            b->q[s][i][0] = 1, b->q[s][i][1] = i == 0 ? 2 : 9; // cas: lane 0 matches, lane 1 does not
            if (t != s) b->q[t][i][0] = 11, b->q[t][i][1] = 12;
        }
        bed_run(b, orr_pick_atomic, 3);
        memcpy(cell, g.shared + 32, 16);
        assert_int_equal(b->q[0][0][0], 1);
        assert_int_equal(b->q[0][0][1], 2);
        if (sub == ORR_ATOM_CAS) {
            assert_true(b->q[0][1][0] == 11 && b->q[0][1][1] == 12 && cell[0] == 11 && cell[1] == 12);
        } else {
            assert_true(b->q[0][1][0] == 1 && b->q[0][1][1] == 2 && cell[0] == 1 && cell[1] == 9);
        }
    }
}

// ---- floats ---------------------------------------------------------------------------------
static uint64_t float_one(uint8_t sub, uint8_t type, uint8_t space, uint64_t r,
                          uint64_t s) { // lane 3 alone; the new value
    uint8_t *mem = space == ORR_SPACE_GLOBAL ? g.host : g.shared;
    start(ORR_OP_RED, type, space);
    bed *b = &g.b;
    b->inst.sub = sub;
    int addr = bed_src(b, ORR_D), v = bed_src(b, cls_of_type(type));
    bed_set(b, addr, 3,
            space == ORR_SPACE_GLOBAL    ? g.global
            : space == ORR_SPACE_GENERIC ? ORR_SHARED_WINDOW
                                         : 0);
    bed_set(b, v, 3, s);
    memcpy(mem, &r, 8);
    bed_run(b, orr_pick_atomic, 8);
    assert_false(g.tb.faulted);
    uint64_t out = 0;
    memcpy(&out, mem, orr_types[type].bytes);
    return out;
}
static void test_floats(void **state) {
    (void)state;
    const uint8_t add = ORR_ATOM_ADD, gl = ORR_SPACE_GLOBAL, sh = ORR_SPACE_SHARED, ge = ORR_SPACE_GENERIC;
    assert_int_equal(float_one(add, ORR_T_F32, gl, 0x3f800000, 0x40000000), 0x40400000); // 1 + 2
    assert_int_equal(float_one(add, ORR_T_F32, gl, 0x4b800000, 0x3f800000), 0x4b800000); // 2^24 + 1: to even
    assert_int_equal(float_one(add, ORR_T_F32, gl, 0x4b800001, 0x3f800000), 0x4b800002);
    assert_int_equal(float_one(add, ORR_T_F32, gl, 0x7f800000, 0xff800000), 0x7fffffff); // inf - inf
    // subnormals: flushed in global memory, kept in shared, also through a generic address
    assert_int_equal(float_one(add, ORR_T_F32, gl, 0x00000001, 0x00000002), 0);
    assert_int_equal(float_one(add, ORR_T_F32, gl, 0x80000001, 0x80000002), 0x80000000);
    assert_int_equal(float_one(add, ORR_T_F32, sh, 0x00000001, 0x00000002), 3);
    assert_int_equal(float_one(add, ORR_T_F32, ge, 0x00000001, 0x00000002), 3);
    assert_int_equal(float_one(add, ORR_T_F32, gl, 0x00c00000, 0x80800000), 0); // a subnormal result
    assert_int_equal(float_one(add, ORR_T_F64, gl, 0x3ff0000000000000, 0x4000000000000000),
                     0x4008000000000000);
    assert_int_equal(float_one(add, ORR_T_F64, gl, 1, 2), 3);
    assert_int_equal(float_one(add, ORR_T_F16, gl, 0x3c00, 0x4000), 0x4200); // 1 + 2
    assert_int_equal(float_one(add, ORR_T_F16, gl, 0x6800, 0x3c00), 0x6800); // 2048 + 1: to even
    assert_int_equal(float_one(add, ORR_T_F16, gl, 0x6801, 0x3c00), 0x6802);
    assert_int_equal(float_one(add, ORR_T_F16, gl, 0x0001, 0x0002), 0x0003); // .noftz
    assert_int_equal(float_one(add, ORR_T_F16, gl, 0x7bff, 0x7bff), 0x7c00);
    assert_int_equal(float_one(add, ORR_T_BF16, gl, 0x3f80, 0x4000), 0x4040);
    assert_int_equal(float_one(add, ORR_T_BF16, gl, 0x4380, 0x3f80), 0x4380); // 256 + 1: to even
    assert_int_equal(float_one(add, ORR_T_F16X2, gl, 0x40003c00, 0x3c004000), 0x42004200);
    assert_int_equal(float_one(add, ORR_T_BF16X2, gl, 0x40003f80, 0x3f804000), 0x40404040);
    assert_int_equal(float_one(ORR_ATOM_MIN, ORR_T_F16X2, gl, 0xc0003c00, 0x3c007e00),
                     0xc0003c00); // NaN loses
    assert_int_equal(float_one(ORR_ATOM_MAX, ORR_T_BF16X2, gl, 0xc0003f80, 0x3f804000), 0x3f804000);
}

static void test_vectors(void **state) {
    (void)state;
    start(ORR_OP_ATOM, ORR_T_F32, ORR_SPACE_GLOBAL);
    bed *b = &g.b;
    b->inst.sub = ORR_ATOM_ADD, b->inst.vec = 4;
    for (int e = 0; e < 4; e++) bed_operand(b, true, e == 2 ? ORR_K_NONE : ORR_K_REG, ORR_W);
    int addr = bed_src(b, ORR_D), first = bed_src(b, ORR_W);
    for (int e = 1; e < 4; e++) bed_src(b, ORR_W);
    float cells[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    memcpy(g.host, cells, sizeof cells);
    for (int i = 0; i < 32; i++) {
        bed_set(b, addr, i, g.global + 16 * (uint64_t)(i & 1));
        for (int e = 0; e < 4; e++) {
            float v = (float)(e + 1);
            uint32_t bits;
            memcpy(&bits, &v, 4);
            bed_set(b, first + e, i, bits);
        }
    }
    bed_run(b, orr_pick_atomic, FULL); // 16 lanes add (1,2,3,4) to each of two vectors
    memcpy(cells, g.host, sizeof cells);
    for (int n = 0; n < 8; n++) assert_true(cells[n] == (float)(n + 1) + 16 * (float)(n % 4 + 1));
    float last;
    uint32_t bits = (uint32_t)bed_get(b, 3, 31);
    memcpy(&last, &bits, 4);
    assert_true(last == 8 + 15 * 4); // the last lane saw the fifteen before it

    start(ORR_OP_RED, ORR_T_F16, ORR_SPACE_GLOBAL);
    b->inst.sub = ORR_ATOM_ADD, b->inst.vec = 8;
    addr = bed_src(b, ORR_D), first = bed_src(b, ORR_H);
    for (int e = 1; e < 8; e++) bed_src(b, ORR_H);
    memset(g.host, 0, 16);
    for (int i = 0; i < 32; i++) {
        bed_set(b, addr, i, g.global);
        for (int e = 0; e < 8; e++) bed_set(b, first + e, i, 0x3c00); // 1.0
    }
    bed_run(b, orr_pick_atomic, 0xff);
    for (int e = 0; e < 8; e++) assert_int_equal(((uint16_t *)(void *)g.host)[e], 0x4800); // 8.0
}

// ---- mbarrier -------------------------------------------------------------------------------
// Each runs one mbarrier operation on the object at shared address 128 and returns what it yields.
static uint64_t mbar(uint8_t sub, uint32_t exec, bool has_x, uint32_t x) {
    start(ORR_OP_MBARRIER, ORR_T_B64, ORR_SPACE_SHARED);
    bed *b = &g.b;
    b->inst.sub = sub;
    bool token = sub == ORR_MBAR_ARRIVE || sub == ORR_MBAR_ARRIVE_DROP || sub == ORR_MBAR_ARRIVE_EXPECT_TX;
    if (token) bed_dst(b, ORR_D);
    bed_imm(b, ORR_W, 128);
    if (has_x) bed_imm(b, ORR_W, x);
    bed_run(b, orr_pick_atomic, exec);
    return token ? bed_get(b, 0, __builtin_ctz(exec)) : 0;
}
static uint32_t waits(uint8_t sub, bool parity, uint64_t x) { // the predicate, as a mask
    start(ORR_OP_MBARRIER, ORR_T_B64, ORR_SPACE_SHARED);
    bed *b = &g.b;
    b->inst.sub = sub, b->inst.cmp = parity;
    bed_dst(b, ORR_P);
    bed_imm(b, ORR_W, 128);
    bed_imm(b, parity ? ORR_W : ORR_D, x);
    bed_run(b, orr_pick_atomic, FULL);
    return b->p[0];
}
static uint32_t pending(uint64_t state) {
    start(ORR_OP_MBARRIER, ORR_T_B64, ORR_SPACE_NONE);
    bed *b = &g.b;
    b->inst.sub = ORR_MBAR_PENDING_COUNT;
    bed_dst(b, ORR_W);
    bed_imm(b, ORR_D, state);
    bed_run(b, orr_pick_atomic, FULL);
    return b->r[0][31];
}

static void test_mbarrier(void **state) {
    (void)state;
    mbar(ORR_MBAR_INIT, 1, true, 64);
    uint64_t token = mbar(ORR_MBAR_ARRIVE, FULL, false, 0); // 32 of 64
    assert_int_equal(pending(token), 64);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, false, token), 0);
    assert_int_equal(waits(ORR_MBAR_TRY_WAIT, true, 0), 0);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 1), FULL); // the phase before the first counts as done
    uint64_t second = mbar(ORR_MBAR_ARRIVE, FULL, false, 0);    // the other 32: phase 0 is complete
    assert_int_equal(pending(second), 32);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, false, token), FULL);
    assert_int_equal(waits(ORR_MBAR_TRY_WAIT, true, 0), FULL);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 1), 0);
    token = mbar(ORR_MBAR_ARRIVE, 1, true, 64); // one lane arrives for all: phase 1 is complete
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, false, token), FULL);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 1), FULL);
    // arrive_drop: this phase still counts the lane, the next ones expect one arrival less
    mbar(ORR_MBAR_INIT, 1, true, 2);
    mbar(ORR_MBAR_ARRIVE_DROP, 1, false, 0);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 0), 0);
    mbar(ORR_MBAR_ARRIVE, 1, false, 0);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 0), FULL);
    token = mbar(ORR_MBAR_ARRIVE, 1, false, 0);
    assert_int_equal(pending(token), 1);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, false, token), FULL);
    // transactions: the phase waits for the bytes too
    mbar(ORR_MBAR_INIT, 1, true, 1);
    mbar(ORR_MBAR_ARRIVE_EXPECT_TX, 1, true, 512);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 0), 0);
    mbar(ORR_MBAR_COMPLETE_TX, 1, true, 500);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 0), 0);
    mbar(ORR_MBAR_COMPLETE_TX, 1, true, 12);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 0), FULL);
    mbar(ORR_MBAR_EXPECT_TX, 1, true, 16);
    mbar(ORR_MBAR_COMPLETE_TX, 1, true, 16); // nothing has arrived: phase 1 goes on
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 1), 0);
    assert_false(g.tb.faulted);
    // more arrivals than expected, and a count out of range
    mbar(ORR_MBAR_ARRIVE, 1, true, 2);
    assert_true(g.tb.faulted);
    assert_int_equal(g.work.err.status, ORR_PROGRAM_FAILED);
    mbar(ORR_MBAR_INIT, 1, true, 1 << 20);
    assert_true(g.tb.faulted);
    mbar(ORR_MBAR_INIT, 1, true, 0);
    assert_true(g.tb.faulted);
}

static void cp_arrive(uint32_t exec, uint32_t mods) {
    start(ORR_OP_CPMBAR, ORR_T_B64, ORR_SPACE_SHARED);
    g.b.inst.mods = mods;
    bed_imm(&g.b, ORR_W, 128);
    bed_run(&g.b, orr_pick_atomic, exec);
    assert_false(g.tb.faulted);
}
static void test_cp_async_arrive(void **state) {
    (void)state;
    mbar(ORR_MBAR_INIT, 1, true, 4);
    cp_arrive(FULL, 0); // counts nothing in the end
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 0), 0);
    cp_arrive(7, ORR_M_NOINC);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 0), 0);
    cp_arrive(8, ORR_M_NOINC);
    assert_int_equal(waits(ORR_MBAR_TEST_WAIT, true, 0), FULL);
}

// ---- faults and refusals --------------------------------------------------------------------
static void test_faults(void **state) {
    (void)state;
    static const struct {
        uint8_t space;
        uint64_t addr;
    } bad[] = {{ORR_SPACE_SHARED, 4096},
               {ORR_SPACE_SHARED, 2},
               {ORR_SPACE_GLOBAL, 0x1000},
               {ORR_SPACE_GENERIC, ORR_SHARED_WINDOW + 4096}};
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
        start(ORR_OP_RED, ORR_T_U32, bad[n].space);
        g.b.inst.sub = ORR_ATOM_ADD;
        int addr = bed_src(&g.b, ORR_D);
        bed_imm(&g.b, ORR_W, 1);
        bed_set(&g.b, addr, 4, bad[n].addr);
        bed_run(&g.b, orr_pick_atomic, 1 << 4);
        assert_true(g.tb.faulted);
        assert_int_equal(g.work.err.status, ORR_PROGRAM_FAILED);
    }
}

static bool refused(uint16_t op, uint8_t type, uint8_t sub, uint8_t vec, int nsrc, uint8_t cls) {
    start(op, type, ORR_SPACE_GLOBAL);
    g.b.inst.sub = sub, g.b.inst.vec = vec;
    if (op == ORR_OP_ATOM) bed_dst(&g.b, cls);
    bed_src(&g.b, ORR_D);
    for (int n = 0; n < nsrc; n++) bed_src(&g.b, cls);
    return bed_pick(&g.b, orr_pick_atomic).full == NULL;
}
static void test_refused(void **state) {
    (void)state;
    assert_false(refused(ORR_OP_ATOM, ORR_T_U32, ORR_ATOM_ADD, 1, 1, ORR_W));
    assert_true(refused(ORR_OP_ATOM, ORR_T_U32, ORR_ATOM_ADD, 1, 1, ORR_D));
    assert_true(refused(ORR_OP_ATOM, ORR_T_B32, ORR_ATOM_CAS, 1, 1, ORR_W));
    assert_true(refused(ORR_OP_ATOM, ORR_T_U64, ORR_ATOM_INC, 1, 1, ORR_D));
    assert_true(refused(ORR_OP_ATOM, ORR_T_F32, ORR_ATOM_MIN, 1, 1, ORR_W));
    assert_true(refused(ORR_OP_ATOM, ORR_T_U32, ORR_ATOM_ADD, 2, 2, ORR_W));
    assert_true(refused(ORR_OP_RED, ORR_T_F32, ORR_ATOM_ADD, 4, 2, ORR_W));
    assert_true(refused(ORR_OP_ATOM, ORR_T_U32, 77, 1, 1, ORR_W));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_b128),
        cmocka_unit_test(test_floats),   cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_mbarrier), cmocka_unit_test(test_cp_async_arrive),
        cmocka_unit_test(test_faults),   cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
