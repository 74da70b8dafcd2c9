// Costs of accesses, generic addresses and local memory's layout, each by hand: no SM and no cache around
// them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mem_rig.h"
#include "memory/cost.h"
#include "memory/space.h"

// 32 lanes, `apart` bytes from each other.
static orr_access lanes(uint64_t first, uint64_t apart) {
    orr_access a = {.mask = UINT32_MAX};
    for (uint32_t n = 0; n < ORR_WARP; n++) a.addr[n] = first + n * apart;
    return a;
}

// Words: four lines are looked up in a cycle; a conflict keeps the result waiting for two cycles; stores take
// two.
static const orr_l1_spec words = {
    .words = true, .global = true, .banks = 4, .bytes = 128, .store = 2, .conflict = 2, .wide = 0};

static orr_l1_cost load_of(const orr_l1_spec *s, const orr_access *a, uint32_t bytes, bool store,
                           uint8_t *turn) {
    orr_coalesced x;
    orr_coalesce(a, bytes, ORR_WHOLE_WARP, &x);
    orr_l1_access access = {.lanes = a, .lines = &x, .bytes = bytes, .loads = !store, .stores = store};
    return orr_l1_cost_of(s, &access, turn);
}

static void side_by_side(void **state) {
    (void)state;
    orr_access a = lanes(0x1000, 4);
    orr_l1_cost c = load_of(&words, &a, 4, false, NULL);
    assert_int_equal(c.cycles, 1);
    assert_int_equal(c.passes, 1);
    assert_int_equal(c.lookups, 1);
    assert_int_equal(c.lag, 0);
    assert_false(c.apart);
    c = load_of(&words, &a, 4, true, NULL); // a store takes two cycles at least
    assert_int_equal(c.cycles, 2);
    a = lanes(0x1000, 16); // four passes of 128 bytes, and as many lines
    c = load_of(&words, &a, 16, false, NULL);
    assert_int_equal(c.cycles, 4);
    assert_int_equal(c.conflicts, 0);
    assert_int_equal(c.lag, 3);
}

// 32 lines of which each lane wants the first word: all on one bank, so 32 passes, 31 of them conflicts.
static void one_bank(void **state) {
    (void)state;
    orr_access a = lanes(0x1000, ORR_LINE);
    orr_l1_cost c = load_of(&words, &a, 4, false, NULL);
    assert_int_equal(c.cycles, 32);
    assert_int_equal(c.lookups, 8);
    assert_int_equal(c.conflicts, 31);
    assert_int_equal(c.lag, 31 + 31 * (2 - 1) + 8 - 1);
    assert_true(c.apart);
}

// Lanes 132 bytes apart: every lane has a bank of its own, and 32 or 33 lines are looked up, four a cycle.
// With folded tag banks each line has a turn, and no two lines of one turn are in one bank.
static void lookups(void **state) {
    (void)state;
    orr_access a = lanes(0x1000, ORR_LINE + 4);
    orr_l1_cost c = load_of(&words, &a, 4, false, NULL);
    assert_int_equal(c.passes, 1);
    assert_int_equal(c.cycles, 8);
    orr_l1_spec folded = words;
    folded.tag_bits = 2; // four banks, by the parity of two masks
    folded.tag_hash[0] = 0xb7ab5;
    folded.tag_hash[1] = 0xed5da;
    uint8_t turn[64], in_turn[64] = {0};
    c = load_of(&folded, &a, 4, false, turn);
    assert_true(c.lookups >= 8);
    for (uint32_t n = 0; n < ORR_WARP; n++) {
        assert_true(turn[n] < c.lookups);
        assert_true(++in_turn[turn[n]] <= 4);
    }
}

// Banks of sectors, four of them: 32 lanes in 32 sectors of one residue take 32 cycles, in all sectors 8.
static void sectors(void **state) {
    (void)state;
    const orr_l1_spec s = {.banks = 4, .bytes = 128};
    orr_access a = lanes(0, ORR_LINE);
    orr_l1_cost c = load_of(&s, &a, 4, false, NULL);
    assert_int_equal(c.cycles, 32);
    assert_int_equal(c.conflicts, 24);
    assert_int_equal(c.lag, 31);
    a = lanes(0, ORR_SECTOR);
    c = load_of(&s, &a, 4, false, NULL);
    assert_int_equal(c.cycles, 8);
    assert_int_equal(c.conflicts, 0);
    const orr_l1_spec narrow = {.banks = 4, .bytes = 32}; // the way to the registers: a sector a cycle
    c = load_of(&narrow, &a, 4, false, NULL);
    assert_int_equal(c.cycles, 32);
}

static void copies(void **state) {
    (void)state;
    orr_access a = lanes(0, 16); // 512 bytes, four lines
    orr_coalesced x;
    orr_coalesce(&a, 16, ORR_WHOLE_WARP, &x);
    x.again = x.more = x.lines;
    orr_l1_access c = {.lanes = &a, .lines = &x, .bytes = 16, .copies = true};
    assert_int_equal(orr_l1_cost_of(&words, &c, NULL).cycles, 4 + 2);
    c.bypasses = true;
    assert_int_equal(orr_l1_cost_of(&words, &c, NULL).cycles, 1); // four lookups a cycle
    assert_int_equal(orr_l1_cost_of(&words, &c, NULL).passes, 0);
}

static void atomics(void **state) {
    (void)state;
    assert_int_equal(orr_atomic_op_of("ATOMG.E.CAS.STRONG.GPU"), ORR_ATOMIC_SWAP);
    assert_int_equal(orr_atomic_op_of("ATOMS.CAST.SPIN"), ORR_ATOMIC_SWAP_TEST);
    assert_int_equal(orr_atomic_op_of("RED.E.ADD.F32.FTZ.RN.STRONG.GPU"), ORR_ATOMIC_FLOAT_ADD);
    assert_int_equal(orr_atomic_op_of("RED.E.ADD.BF16_V2.RN.STRONG.GPU"), ORR_ATOMIC_FLOAT_ADD);
    assert_int_equal(orr_atomic_op_of("RED.E.ADD.STRONG.GPU"), ORR_ATOMIC_PLAIN);
    orr_atomic_spec s = {.whole = 4, .part = 5, .slow = 8};
    orr_atomic_pass pass[ORR_WARP];
    orr_access a = lanes(0, 4); // a whole line: one pass, an operation for each sector
    assert_int_equal(orr_atomic_passes(&a, 4, 0, pass), 1);
    assert_int_equal(pass[0].sectors, 15);
    assert_int_equal(orr_atomic_work(&s, &pass[0], ORR_ATOMIC_PLAIN, 4, false), 4 * 4);
    assert_int_equal(orr_atomic_work(&s, &pass[0], ORR_ATOMIC_SWAP, 4, false), 4 * 8);
    assert_int_equal(orr_atomic_passes(&a, 4, 1, pass), 0); // nobody is in the next line
    a = lanes(64, 0);                                       // all on one word: as many passes as lanes
    assert_int_equal(orr_atomic_passes(&a, 4, 0, pass), 32);
    for (int n = 0; n < 32; n++) {
        assert_int_equal(pass[n].sectors, 4);
        assert_int_equal(orr_atomic_work(&s, &pass[n], ORR_ATOMIC_PLAIN, 4, true), 5); // part of a sector
        assert_int_equal(orr_atomic_work(&s, &pass[n], ORR_ATOMIC_SWAP, 4, true),
                         5); // nobody else in its half
        assert_int_equal(orr_atomic_work(&s, &pass[n], ORR_ATOMIC_FLOAT_ADD, 8, true), 8);
    }
}

static void generic(void **state) {
    (void)state;
    orr_access a = lanes(ORR_SHARED_WINDOW + 64, 4);
    assert_int_equal(orr_space_resolve(&a, ORR_SPACE_GENERIC), ORR_SPACE_SHARED);
    assert_int_equal(a.addr[0], 64);
    assert_int_equal(a.addr[31], 64 + 31 * 4);
    a = lanes(ORR_LOCAL_WINDOW, 4);
    assert_int_equal(orr_space_resolve(&a, ORR_SPACE_GENERIC), ORR_SPACE_LOCAL);
    assert_int_equal(a.addr[1], 4);
    a = lanes(ORR_PARAM_WINDOW, 4);
    assert_int_equal(orr_space_resolve(&a, ORR_SPACE_GENERIC), ORR_SPACE_CONST);
    a = lanes(0x7000, 4);
    assert_int_equal(orr_space_resolve(&a, ORR_SPACE_GENERIC), ORR_SPACE_GLOBAL);
    assert_int_equal(a.addr[0], 0x7000);
    assert_int_equal(orr_space_resolve(&a, ORR_SPACE_SHARED), ORR_SPACE_SHARED); // said by the instruction
}

// Frames of 16 lines lie side by side, those of all warps; what is beyond them is in pieces as large.
static void local_lines(void **state) {
    (void)state;
    assert_int_equal(orr_local_line(16, 0, 0), ORR_LOCAL_LINES + (1ull << 36));
    assert_int_equal(orr_local_line(16, 2, 15), ORR_LOCAL_LINES + (1ull << 36) + 2 * 16 + 15);
    assert_int_equal(orr_local_line(16, 2, 16), ORR_LOCAL_LINES + (2ull << 36) + 2 * 16);
    assert_int_equal(orr_local_line(16, 2, 17), ORR_LOCAL_LINES + (2ull << 36) + 2 * 16 + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_by_side), cmocka_unit_test(one_bank),    cmocka_unit_test(lookups),
        cmocka_unit_test(sectors),      cmocka_unit_test(copies),      cmocka_unit_test(atomics),
        cmocka_unit_test(generic),      cmocka_unit_test(local_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
