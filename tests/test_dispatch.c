// Topology and thread-block dispatch: a small GPU with round numbers, worked out by hand, and an H200's as
// measured.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mem_rig.h"
#include "model/dispatch.h"

// 22 SMs in 11 TPCs and 4 GPCs: two TPCs for each GPC, and the three that are left over for the last three
// GPCs, the last one first.
static const char *const twenty_two[] = {"sm.count=22", "tpc.count=11", "gpc.count=4", NULL};

static void test_topology(void **state) {
    (void)state;
    orr_gpu *g = machine_of("h200", twenty_two);
    orr_topology t = orr_topology_of(g);
    assert_int_equal(t.tpc_sms, 2);
    assert_int_equal(t.gpc_sms, 4);
    assert_int_equal(t.even_sms, 16);
    static const uint32_t gpc[22] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 2, 2, 1, 1};
    static const uint32_t half[4] = {0, 1, 0, 1}; // the GPCs in turn
    for (uint32_t n = 0; n < 22; n++) {
        assert_int_equal(orr_gpc_of_sm(n, t), gpc[n]);
        assert_int_equal(orr_half_of_sm(n, t), half[gpc[n]]);
        assert_int_equal(orr_tpc_in_gpc(n, t), n < 16 ? n / 2 % 2 : 2);
    }
    orr_gpu_free(g);
}

// A description without GPCs has TPCs in their place, one with as many TPCs as SMs single SMs.
static void test_no_gpcs(void **state) {
    (void)state;
    orr_gpu *g =
        machine_of("h200", (const char *const[]){"sm.count=22", "tpc.count=11", "gpc.count=1", NULL});
    for (uint32_t n = 0; n < 22; n++) assert_int_equal(orr_gpc_of_sm(n, orr_topology_of(g)), n / 2);
    orr_gpu_free(g);
    g = machine_of("h200", (const char *const[]){"sm.count=22", "tpc.count=22", "gpc.count=1", NULL});
    for (uint32_t n = 0; n < 22; n++) assert_int_equal(orr_gpc_of_sm(n, orr_topology_of(g)), n);
    orr_gpu_free(g);
}

// One SM of each TPC before the others.
static void test_spread(void **state) {
    (void)state;
    orr_gpu *g = machine_of("h200", (const char *const[]){"sm.count=6", "tpc.count=3", "gpc.count=1",
                                                          "launch.order=spread", NULL});
    static const uint32_t sm[6] = {0, 2, 4, 1, 3, 5};
    uint32_t *order = orr_dispatch_order(g, 6, 100);
    for (int n = 0; n < 6; n++) assert_int_equal(order[n], sm[n]);
    free(order);
    size_t n;
    uint32_t *wave = orr_dispatch_first_wave(g, 6, 8, 4, &n); // a round for all, then two more
    assert_int_equal(n, 8);
    for (size_t k = 0; k < 8; k++) assert_int_equal(wave[k], sm[k % 6]);
    free(wave);
    orr_gpu_free(g);
}

// Where the blocks of a small grid begin on an H200, as it was measured: 8 SMs of the first GPC, then an SM
// of each TPC, GPC by GPC in turn. 66 blocks: 12 on the first GPC (16 SMs), 8 on the five that follow, 7 on
// each of the last two, which have a TPC more; no SM twice.
static void test_small_grid(void **state) {
    (void)state;
    orr_gpu *g = machine_of("h200", (const char *const[]){"launch.first=8", NULL});
    static const uint32_t twelve[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 48};
    uint32_t *order = orr_dispatch_order(g, 132, 12);
    for (int n = 0; n < 12; n++) assert_int_equal(order[n], twelve[n]);
    free(order);
    order = orr_dispatch_order(g, 132, 66);
    static const int all[8] = {12, 8, 8, 8, 8, 8, 7, 7};
    int on[8] = {0}, times[132] = {0};
    for (int n = 0; n < 66; n++) on[orr_gpc_of_sm(order[n], orr_topology_of(g))]++;
    for (int n = 0; n < 8; n++) assert_int_equal(on[n], all[n]);
    for (int n = 0; n < 132; n++) times[order[n]]++;
    for (int n = 0; n < 132; n++) assert_int_equal(times[n], 1);
    free(order);
    order = orr_dispatch_order(g, 132, 132); // as they are numbered
    for (uint32_t n = 0; n < 132; n++) assert_int_equal(order[n], n);
    free(order);
    orr_gpu_free(g);
}

// The numbers of the SMs on which a grid of 132 blocks was on an H200, in the order of the blocks. The last
// TPCs of the last two GPCs are the last SMs here.
static void test_sm_numbers(void **state) {
    (void)state;
    static const uint8_t tpcs[8][9] = {
        {124, 126, 128, 130, 0, 16, 32, 48},     {2, 18, 34, 50, 64, 78, 92, 106},
        {4, 20, 36, 52, 66, 80, 94, 108},        {6, 22, 38, 54, 68, 82, 96, 110},
        {8, 24, 40, 56, 70, 84, 98, 112},        {10, 26, 42, 58, 72, 86, 100, 114},
        {12, 28, 44, 60, 74, 88, 102, 116, 120}, {14, 30, 46, 62, 76, 90, 104, 118, 122}};
    orr_gpu *g = machine_of("h200", (const char *const[]){"launch.first=8", NULL});
    uint32_t *number = orr_sm_numbers(g, 132), next[8] = {0};
    for (uint32_t n = 0; n < 132; n += 2) {
        uint32_t gpc = orr_gpc_of_sm(n, orr_topology_of(g));
        assert_int_equal(number[n], tpcs[gpc][next[gpc]++]);
        assert_int_equal(number[n + 1], number[n] + 1);
    }
    free(number);
    orr_gpu_free(g);
    g = machine_of("h200", (const char *const[]){"launch.order=tpc", NULL}); // nobody has looked
    number = orr_sm_numbers(g, 132);
    for (uint32_t n = 0; n < 132; n++) assert_int_equal(number[n], n);
    free(number);
    orr_gpu_free(g);
}

// 500 blocks on 132 SMs that could hold eight each: three for each SM first. The eight SMs have theirs in
// front and behind each 92 of the others, which go on where they were; the last 104 are dealt as a grid of
// 104 is.
static void test_first_wave(void **state) {
    (void)state;
    orr_gpu *g = machine_of("h200", (const char *const[]){"launch.first=8", "launch.first_period=92", NULL});
    size_t n;
    uint32_t *wave = orr_dispatch_first_wave(g, 132, 500, 8, &n), times[132] = {0};
    assert_int_equal(n, 500);
    for (uint32_t k = 0; k < 8; k++) {
        assert_int_equal(wave[k], k);
        assert_int_equal(wave[100 + k], k);
        assert_int_equal(wave[200 + k], k);
    }
    assert_int_equal(wave[8], 8);
    assert_int_equal(wave[99], 99);
    assert_int_equal(wave[108], 100);
    assert_int_equal(wave[140], 8); // behind 131
    assert_int_equal(wave[208], 68);
    for (size_t k = 0; k < 396; k++) times[wave[k]]++;
    for (uint32_t k = 0; k < 132; k++) assert_int_equal(times[k], 3);
    uint32_t *order = orr_dispatch_order(g, 132, 104);
    for (size_t k = 0; k < 104; k++) assert_int_equal(wave[396 + k], order[k]);
    free(order);
    free(wave);
    wave = orr_dispatch_first_wave(g, 132, 12, 8, &n); // a small grid
    order = orr_dispatch_order(g, 132, 12);
    assert_int_equal(n, 12);
    for (size_t k = 0; k < 12; k++) assert_int_equal(wave[k], order[k]);
    free(order);
    free(wave);
    wave = orr_dispatch_first_wave(g, 132, 100000, 2, &n); // more than there is room for
    assert_int_equal(n, 264);
    free(wave);
    orr_gpu_free(g);
}

// Room is found on four SMs of a GPC of 16 at a time, no two of a TPC, and on every SM once.
static void test_refill(void **state) {
    (void)state;
    orr_gpu *g = machine_of("h200", (const char *const[]){"launch.gpc_run=4", NULL});
    uint32_t *order = orr_dispatch_refill(g, 132);
    orr_topology gpcs = orr_topology_of(g);
    int times[132] = {0};
    for (int n = 0; n < 132; n++) times[order[n]]++;
    for (int n = 0; n < 132; n++) assert_int_equal(times[n], 1);
    for (int n = 0; n < 32; n++) assert_int_equal(orr_gpc_of_sm(order[n], gpcs), n / 4);
    for (int n = 1; n < 132; n++) assert_true(order[n] / 2 != order[n - 1] / 2);
    free(order);
    orr_gpu_free(g);
    g = machine_of("h200", (const char *const[]){"launch.gpc_run=0", NULL});
    order = orr_dispatch_refill(g, 132);
    for (uint32_t n = 0; n < 132; n++) assert_int_equal(order[n], n);
    free(order);
    orr_gpu_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology),   cmocka_unit_test(test_no_gpcs),
        cmocka_unit_test(test_spread),     cmocka_unit_test(test_small_grid),
        cmocka_unit_test(test_sm_numbers), cmocka_unit_test(test_first_wave),
        cmocka_unit_test(test_refill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
