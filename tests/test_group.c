// Launches at the same time by the rule of model/group.c, on an H200 without a profiler: two blocks of 1,024
// threads fit on each of 132 SMs, 264 in all. A model that answers what it is told stands in for one that
// knows of one launch only.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/model.h"

static double says_ns[8], says_dram[8]; // by index of the launch

static bool answer(const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e) {
    (void)e;
    orr_launch_result *l = orr_result_add(r, gpu, w);
    l->time_ns = says_ns[w->info.index];
    l->occupancy = 1;
    l->counters = orr_arena_alloc(&r->arena, ORR_COUNTERS * sizeof *l->counters);
    for (int k = 0; k < ORR_COUNTERS; k++) l->counters[k] = NAN;
    l->counters[ORR_C_DRAM_PCT] = says_dram[w->info.index];
    return true;
}
static const orr_model model = {.name = "told", .summary = "", .run = answer, .needs_gpu = true};

typedef struct told {
    uint32_t blocks;
    double ns, dram, launched;
    int priority;
    double end; // expected
    uint32_t after;
} told;
static double overhead; // cycles, of each launch

static void ended(orr_launch_group *g, orr_member *m) {
    if (m == g->at && g->n > 2 && !isfinite(g->at[2].launched)) g->at[2].launched = m->end;
}

static void check(const told *all, uint32_t n) {
    orr_err e = {0};
    const char *sets[] = {"profiler=off", "launch.early_wait=198"};
    orr_gpu *g = orr_gpu_load("h200", sets, 2, &e);
    assert_non_null(g);
    g->launch_overhead = overhead;
    static orr_kernel kernel = {.name = "k", .regs = 16};
    orr_member m[8] = {0};
    orr_result r = {0};
    for (uint32_t i = 0; i < n; i++) {
        m[i].work.info = (orr_launch_info){
            .kernel = &kernel, .grid = {all[i].blocks, 1, 1}, .block = {1024, 1, 1}, .index = i};
        m[i].launched = all[i].launched;
        m[i].priority = all[i].priority;
        m[i].after = all[i].after;
        says_ns[i] = all[i].ns;
        says_dram[i] = all[i].dram;
    }
    orr_launch_group group = {m, n, ended};
    assert_true(orr_group_run(&model, g, &group, &r, &e));
    for (uint32_t i = 0; i < n; i++) {
        assert_true(m[i].ran);
        if (fabs(m[i].end - all[i].end) > 1e-6)
            fail_msg("launch %u ends at %g, not %g", i, m[i].end, all[i].end);
    }
    orr_result_free(&r);
    orr_gpu_free(g);
}
#define CHECK(...)                                                                                           \
    do {                                                                                                     \
        const told all[] = {__VA_ARGS__};                                                                    \
        check(all, sizeof all / sizeof *all);                                                                \
    } while (0)

static void room_for_both(void **state) {
    (void)state;
    CHECK({66, 100, 0, 0, 0, 100, 0}, {66, 60, 0, 0, 0, 60, 0});
}
// 80 % of the bandwidth each: both at 1 / 1.6 until the second has done its 60 (96), then 40 are left of the
// first.
static void bandwidth(void **state) {
    (void)state;
    CHECK({66, 100, 80, 0, 0, 136, 0}, {66, 60, 80, 0, 0, 96, 0});
}
static void no_room(void **state) { // the first has all of it; with priority the second has half
    (void)state;
    CHECK({264, 100, 0, 0, 0, 100, 0}, {132, 60, 0, 0, 0, 160, 0});
    CHECK({264, 100, 0, 0, 0, 130, 0}, {132, 60, 0, 0, -1, 60, 0});
}
static void tail(void **state) { // one and a half waves: half of the room is free from the second round on
    (void)state;
    CHECK({396, 100, 0, 0, 0, 100, 0}, {132, 60, 0, 0, 0, 110, 0});
}
static void later(void **state) { // the second comes at 30; the third after the first
    (void)state;
    CHECK({66, 100, 0, 0, 0, 100, 0}, {66, 60, 0, 30, 0, 90, 0}, {66, 10, 0, INFINITY, 0, 110, 0});
}

// Launches of 200 ns before their first block (396 cycles). One that may start early has had them when the
// kernel ahead ends, or has not; it begins 100 ns (198 cycles) after that end, or when it has had them.
static void early(void **state) {
    (void)state;
    overhead = 396;
    CHECK({66, 300, 0, 0, 0, 300, 0}, {66, 260, 0, 0, 0, 460, 1});
    CHECK({66, 300, 0, 0, 0, 300, 0}, {66, 260, 0, 250, 0, 510, 1});
    CHECK({66, 300, 0, 0, 0, 300, 0}, {66, 260, 0, 0, 0, 460, 1}, {66, 210, 0, 0, 0, 570, 2});
    overhead = 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(room_for_both), cmocka_unit_test(bandwidth),
                                       cmocka_unit_test(no_room),       cmocka_unit_test(tail),
                                       cmocka_unit_test(later),         cmocka_unit_test(early)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
