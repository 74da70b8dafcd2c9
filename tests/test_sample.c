// Sampling: clusters, regions, the state machine, the mathematics and the profile's file, by hand-worked
// examples.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample/sample.h"

static bool near(double a, double b, double by) { return fabs(a - b) <= by; }

// ---- clusters -----------------------------------------------------------------------------------
static void clusters_by_hand(void **state) {
    (void)state;
    uint32_t c[8];
    // 0.30 and 0.34 merge first, then 0 and 0.05; 0.1 is 0.1 from the furthest of those, which is just
    // allowed.
    static const double a[] = {0, 0.05, 0.1, 0.3, 0.34};
    assert_int_equal(orr_cluster(a, 5, 1, 0.1, c), 2);
    static const uint32_t want[] = {0, 0, 0, 1, 1};
    assert_memory_equal(c, want, sizeof want);
    // Each is near the next, but no three are: by single linkage all would be one.
    static const double chain[] = {0, 0.08, 0.16, 0.24};
    assert_int_equal(orr_cluster(chain, 4, 1, 0.1, c), 2);
    assert_true(c[0] == c[1] && c[2] == c[3] && c[0] != c[2]);
    // In two dimensions 0.06 and 0.08 make 0.1; a hair more does not.
    static const double plane[] = {0, 0, 0.06, 0.08, 0.5, 0.5, 0.56, 0.581};
    assert_int_equal(orr_cluster(plane, 4, 2, 0.1, c), 3);
    assert_int_equal(orr_cluster(a, 0, 1, 0.1, c), 0);
    assert_int_equal(orr_cluster(a, 1, 1, 0.1, c), 1);
}

// The plain way: look for the nearest pair of all again and again.
static uint32_t plain(const double *x, size_t n, double threshold, uint32_t *c) {
    uint32_t left = (uint32_t)n;
    for (size_t i = 0; i < n; i++) c[i] = (uint32_t)i;
    for (;;) {
        double best = INFINITY;
        uint32_t from = 0, to = 0;
        for (uint32_t p = 0; p < n; p++)
            for (uint32_t q = 0; q < p; q++) {
                double far = -1;
                for (size_t i = 0; i < n; i++)
                    for (size_t j = 0; j < n; j++)
                        if (c[i] == p && c[j] == q)
                            far = fmax(far, hypot(x[2 * i] - x[2 * j], x[2 * i + 1] - x[2 * j + 1]));
                if (far >= 0 && far < best) best = far, from = p, to = q;
            }
        if (best > threshold) return left;
        for (size_t i = 0; i < n; i++)
            if (c[i] == from) c[i] = to;
        left--;
    }
}

static void clusters_as_the_plain_way(void **state) {
    (void)state;
    enum { N = 24 };
    uint64_t seed = 7;
    for (int round = 0; round < 3; round++) {
        double x[2 * N];
        uint32_t a[N], b[N];
        for (int i = 0; i < 2 * N; i++) x[i] = orr_random_unit(&seed);
        assert_int_equal(orr_cluster(x, N, 2, 0.4, a), plain(x, N, 0.4, b));
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) assert_int_equal(a[i] == a[j], b[i] == b[j]);
    }
}

// Tens of thousands, most of them different: no two of a cluster may be further apart than the threshold.
static void many_launches(void **state) {
    (void)state;
    enum { N = 6500 };
    double *x = orr_malloc(4 * N * sizeof *x);
    uint32_t *c = orr_malloc(N * sizeof *c);
    uint64_t seed = 11;
    for (size_t i = 0; i < 4 * N; i++) x[i] = orr_random_unit(&seed) * (i % 4 ? 0.3 : 1);
    uint32_t n = orr_cluster(x, N, 4, 0.1, c);
    assert_in_range(n, 100, 6000);
    for (size_t i = 0; i < N; i++) // against 100 others each
        for (size_t k = 1; k <= 100; k++) {
            size_t j = (i + k * 97) % N;
            if (c[i] != c[j]) continue;
            double d = 0;
            for (int f = 0; f < 4; f++) d += pow(x[4 * i + (size_t)f] - x[4 * j + (size_t)f], 2);
            assert_true(sqrt(d) <= 0.1 * (1 + 1e-5));
        }
    // Equal ones are one cluster, however many.
    for (size_t i = 0; i < N; i++) x[i] = (double)(i % 3);
    assert_int_equal(orr_cluster(x, N, 1, 0.1, c), 3);
    free(c);
    free(x);
}

// ---- launches -----------------------------------------------------------------------------------
static void launches_by_kernel(void **state) {
    (void)state;
    orr_sampling_profile p = {0};
    *ORR_PUSH(&p.kernels) = (orr_sp_kernel){"a", 1};
    *ORR_PUSH(&p.kernels) = (orr_sp_kernel){"b", 1};
    // Kernel a: 100, 104, 100, 200 of everything, the average is 126: 100 and 104 are 0.032 x sqrt(3) apart.
    // Kernel b looks the same as a's first and is still its own.
    static const uint64_t size[] = {100, 104, 100, 200, 100};
    for (int i = 0; i < 5; i++)
        *ORR_PUSH(&p.launches) = (orr_sp_launch){.kernel = i == 4,
                                                 .blocks = 1,
                                                 .thread_insts = size[i] * 32,
                                                 .warp_insts = size[i],
                                                 .requests = size[i]};
    orr_plan plan = orr_plan_make(&p, 0.1, 0);
    assert_int_equal(plan.nclusters, 3);
    assert_int_equal(plan.nsimulated, 3);
    // Of 100, 104, 100 the centre is 101.3: both of 100 are nearest, and the later one is taken.
    for (int i = 0; i < 3; i++) assert_int_equal(plan.launches[i].by, 2);
    assert_int_equal(plan.launches[3].by, 3);
    assert_int_equal(plan.launches[4].by, 4);
    orr_plan_free(&plan);
    // The one nearest the centre: of 100, 101, 104 the centre is 101.67.
    p.kernels.n = 1;
    p.launches.n = 3;
    p.launches.at[1].warp_insts = p.launches.at[1].requests = 101;
    p.launches.at[2].warp_insts = p.launches.at[2].requests = 104;
    p.launches.at[1].thread_insts = 101 * 32;
    p.launches.at[2].thread_insts = 104 * 32;
    plan = orr_plan_make(&p, 0.1, 0);
    assert_int_equal(plan.nclusters, 1);
    for (int i = 0; i < 3; i++) assert_int_equal(plan.launches[i].by, 1);
    orr_plan_free(&plan);
    orr_sp_free(&p);
}

static orr_sampling_profile one_kernel(void) {
    orr_sampling_profile p = {0};
    *ORR_PUSH(&p.kernels) = (orr_sp_kernel){"a", 1};
    return p;
}

static void add_launch(orr_sampling_profile *p, uint32_t kernel, uint64_t size) {
    *ORR_PUSH(&p->launches) = (orr_sp_launch){
        .kernel = kernel, .blocks = 1, .thread_insts = size * 32, .warp_insts = size, .requests = size};
}

// What the plan makes of launches whose cycles are `at_all + a_size * warp instructions`: their sum, as a
// share of the true one.
static double predicted_sum(const orr_sampling_profile *p, const orr_plan *plan, double at_all,
                            double a_size) {
    double sum = 0, want = 0;
    for (size_t l = 0; l < p->launches.n; l++) {
        const orr_plan_launch *x = &plan->launches[l];
        for (uint32_t k = 0; k < x->nparts; k++)
            sum += x->parts[k].weight *
                   (at_all + a_size * (double)p->launches.at[x->parts[k].launch].warp_insts);
        want += at_all + a_size * (double)p->launches.at[l].warp_insts;
    }
    return sum / want;
}

// Of 130 equal launches the one in the middle stands for all, even for the first, which is apart because its
// code is not in the caches yet.
static void many_equal_launches(void **state) {
    (void)state;
    orr_sampling_profile p = one_kernel();
    for (int i = 0; i < 130; i++) add_launch(&p, 0, 100);
    orr_plan plan = orr_plan_make(&p, 0.1, ORR_SP_TOTAL);
    assert_true(plan.nclusters == 2 && plan.nsimulated == 1 && sqrt(plan.variance) <= ORR_SP_TOTAL);
    for (int i = 1; i < 130; i++) {
        const orr_plan_launch *l = &plan.launches[i];
        assert_true(l->by == 65 && l->nparts == 1 && near(l->parts[0].weight, 1, 1e-3));
    }
    orr_plan_free(&plan);
    orr_sp_free(&p);
}

// The same totals, but the work is in the first block or in the last: alike for TBPoint, not where time is
// made of it.
static void where_the_work_is(void **state) {
    (void)state;
    orr_sampling_profile p = one_kernel();
    orr_sp_run first[] = {{1, 1000, 0}, {9, 10, 0}}, last[] = {{9, 10, 0}, {1, 1000, 0}};
    for (int i = 0; i < 100; i++)
        *ORR_PUSH(&p.launches) =
            (orr_sp_launch){.blocks = 10, .warp_insts = 1090, .runs = i % 2 ? first : last, .nruns = 2};
    orr_plan plan = orr_plan_make(&p, 0.1, 0);
    assert_true(plan.nclusters == 1 && plan.nsimulated == 1);
    orr_plan_free(&plan);
    plan = orr_plan_make(&p, 0.1, 0.02);
    assert_true(plan.nclusters == 3 && plan.nsimulated == 2); // the first launch is apart
    for (uint32_t i = 1; i < 100; i++) assert_int_equal(plan.launches[i].by % 2, i % 2);
    orr_plan_free(&plan);
    orr_sp_free(&p);
}

// Lines are counted once, in whatever order sets are put together.
static void lines_once(void **state) {
    (void)state;
    orr_line_set all = {0}, one = {0};
    for (uint64_t n = 0; n < 1000; n++) orr_line_set_add(&one, n * 7 % 500);
    assert_int_equal(orr_line_set_merge(&all, &one), 500);
    assert_int_equal(orr_line_set_merge(&all, &one), 0);
    orr_line_set_add(&one, 1ull << 50);
    assert_int_equal(orr_line_set_merge(&all, &one), 1);
    orr_line_set_free(&all);
    orr_line_set_free(&one);
}

// Launches that do the same, but the first finds nothing in the caches: of four it is simulated, and its time
// is not taken for the others'. Of a thousand it hardly counts.
static void cold_launch(void **state) {
    (void)state;
    for (int n = 4; n <= 1000; n += 996) {
        orr_sampling_profile p = one_kernel();
        for (int i = 0; i < n; i++) {
            add_launch(&p, 0, 100000);
            p.launches.at[i].first = i ? 0 : 100000;
        }
        orr_plan plan = orr_plan_make(&p, 0.1, ORR_SP_TOTAL);
        assert_int_equal(plan.launches[0].by == 0, n == 4);
        assert_int_equal(plan.nsimulated, n == 4 ? 2 : 1);
        assert_true(plan.launches[n - 1].by != 0);
        orr_plan_free(&plan);
        orr_sp_free(&p);
    }
}

// 41 launches of 400 to 1600: as many clusters as there are steps of 0.1 / sqrt(3) or more. TBPoint simulates
// one of each; cycles that are linear in the size are known from a few.
static void launches_from_others(void **state) {
    (void)state;
    orr_sampling_profile p = one_kernel();
    for (uint64_t i = 0; i <= 40; i++) add_launch(&p, 0, 400 + i * 30);
    orr_plan plan = orr_plan_make(&p, 0.1, 0);
    uint32_t all = plan.nsimulated;
    assert_true(all >= 20 && all == plan.nclusters);
    assert_true(near(predicted_sum(&p, &plan, 0, 3), 1, 1e-9)); // by CPI
    orr_plan_free(&plan);
    plan = orr_plan_make(&p, 0.1, 0.02);
    assert_true(plan.nsimulated >= 2 && plan.nsimulated <= all / 4);
    assert_true(near(predicted_sum(&p, &plan, 0, 3), 1, 0.002));
    assert_true(near(predicted_sum(&p, &plan, 5000, 3), 1, 0.002));
    for (uint32_t l = 0; l < 41; l++) {
        const orr_plan_launch *x = &plan.launches[l];
        if (x->by == l) assert_true(x->nparts == 1 && x->parts[0].launch == l && x->parts[0].weight == 1);
    }
    orr_plan_free(&plan);
    // A looser target takes fewer, a tighter one more.
    orr_plan loose = orr_plan_make(&p, 0.1, 0.1), tight = orr_plan_make(&p, 0.1, 0.005);
    assert_true(loose.nsimulated < tight.nsimulated && loose.variance > tight.variance);
    orr_plan_free(&loose);
    orr_plan_free(&tight);
    orr_sp_free(&p);
}

// What matters is the sum: of a kernel that has a thousandth of the instructions one launch is enough,
// however different they are.
static void a_small_kernel(void **state) {
    (void)state;
    orr_sampling_profile p = one_kernel();
    *ORR_PUSH(&p.kernels) = (orr_sp_kernel){"b", 1};
    for (uint64_t i = 0; i < 100; i++) {
        add_launch(&p, 0, 100000000);
        if (i < 10) add_launch(&p, 1, 20 + 20 * i);
    }
    orr_plan plan = orr_plan_make(&p, 0.1, ORR_SP_TOTAL);
    assert_true(plan.nclusters > 5 && plan.nsimulated == 2);
    orr_plan_free(&plan);
    orr_sp_free(&p);
}

// Sixty launches of growing size. Where their blocks are equal few say what the others take; where they are
// not, each may be 5 % off by chance: the mean of at least (5 / 2)^2 must be known for 2 %.
static void by_chance(void **state) {
    (void)state;
    orr_sp_run runs[60];
    for (int unequal = 0; unequal < 2; unequal++) {
        orr_sampling_profile p = one_kernel();
        for (uint64_t i = 0; i < 60; i++) {
            add_launch(&p, 0, 1000 + 100 * i);
            p.launches.at[i].cov = unequal * 0.05;
            runs[i] = (orr_sp_run){1, 1000 + 100 * i, 1};
            p.launches.at[i].runs = &runs[i];
            p.launches.at[i].nruns = 1;
        }
        orr_plan plan = orr_plan_make(&p, 0.1, 0.02);
        assert_true(unequal ? plan.nsimulated >= 6 && plan.nsimulated < 30 : plan.nsimulated <= 4);
        orr_plan_free(&plan);
        orr_sp_free(&p);
    }
}

// Kriging against what can be worked out. Two points, x = 0 and x = 1 in the first feature: covariances
// 1.09 and 2.09, between them 1 + 0.09 exp(-1/2). With the second simulated (noise 0.02) the first's weight
// on it is the quotient of both.
static void kriging_by_hand(void **state) {
    (void)state;
    double x[2 * ORR_SP_FEATURES] = {0};
    static const double count[] = {1, 3};
    x[ORR_SP_FEATURES] = 1;
    orr_krige f;
    orr_krige_begin(&f, x, count, 2, 1);
    double between = 1 + 0.09 * exp(-0.5);
    assert_true(near(f.variance, (1.09 + 6 * between + 9 * 2.09) / 16, 1e-12));
    orr_krige_choose(&f, 1, 10);
    assert_true(f.nchosen == 1 && f.chosen[0] == 1); // three launches are there
    double sum = (between + 3 * 2.09) / 4;
    assert_true(near(f.variance, (1.09 + 6 * between + 9 * 2.09) / 16 - sum * sum / 2.0904, 1e-12));
    orr_krige_end(&f);
    double w;
    orr_krige_weights(&f, x, &w);
    assert_true(near(w, between / 2.0904, 1e-12));
    orr_krige_free(&f);
    orr_krige_begin(&f, x, count, 2, 1);
    orr_krige_choose(&f, 1, 0.001); // as many as there are
    assert_int_equal(f.nchosen, 2);
    orr_krige_free(&f);
}

// ---- regions ------------------------------------------------------------------------------------
// Figure 6 of the paper: eight epochs of four blocks. The first four have a stall probability of 0.2, the
// others of 0.5; the third and fourth have an outlier. Two regions: epochs 1 and 2, epochs 5 to 8.
static void regions_of_figure_6(void **state) {
    (void)state;
    uint64_t insts[32], requests[32];
    for (int b = 0; b < 32; b++) {
        insts[b] = 100;
        requests[b] = b < 16 ? 20 : 50;
        if (b == 11 || b == 15) { // as many requests an instruction, ten times as many of both
            insts[b] = 1000;
            requests[b] = 200;
        }
    }
    uint32_t n;
    orr_region *r = orr_regions(insts, requests, 32, (orr_region_rule){4, 0.2, 0.3, false}, &n);
    assert_int_equal(n, 2);
    assert_true(r[0].first == 0 && r[0].end == 8);
    assert_true(r[1].first == 16 && r[1].end == 32);
    assert_int_not_equal(r[0].id, r[1].id);
    free(r);
    // A variation factor of 0.3 allows blocks of 100 and 180 (mean 140, deviation 40: 0.286), but not of 190
    // (0.31).
    for (int b = 0; b < 32; b++) insts[b] = b % 2 ? 180 : 100, requests[b] = 20;
    r = orr_regions(insts, requests, 32, (orr_region_rule){4, 0.2, 0.3, false}, &n);
    assert_int_equal(n, 1);
    free(r);
    for (int b = 0; b < 32; b++) insts[b] = b % 2 ? 190 : 100;
    r = orr_regions(insts, requests, 32, (orr_region_rule){4, 0.2, 0.3, false}, &n);
    assert_int_equal(n, 0);
    free(r);
    // Mixed: it is the same everywhere, and a region; not if the last quarter has another half of it to do.
    r = orr_regions(insts, requests, 32, (orr_region_rule){4, 0.2, 0.3, true}, &n);
    assert_true(n == 1 && r[0].first == 0 && r[0].end == 32);
    free(r);
    for (int b = 24; b < 32; b++) insts[b] = b % 2 ? 285 : 150, requests[b] = 30;
    r = orr_regions(insts, requests, 32, (orr_region_rule){4, 0.2, 0.3, true}, &n);
    assert_int_equal(n, 0);
    free(r);
    for (int b = 24; b < 32; b++) requests[b] = 20;
    // A last epoch that is not full belongs to its region.
    for (int b = 0; b < 32; b++) insts[b] = 100;
    r = orr_regions(insts, requests, 30, (orr_region_rule){4, 0.2, 0.3, false}, &n);
    assert_true(n == 1 && r[0].end == 30);
    free(r);
}

// ---- sampling a launch --------------------------------------------------------------------------
// A GPU of four places whose blocks run in waves: block b is in wave b / 4, which takes `wave(b / 4)` cycles.
typedef struct toy {
    orr_sampler *s;
    uint64_t now, next, blocks;
} toy;

static void run_wave(toy *t, uint64_t cycles) {
    orr_span spans[4];
    uint64_t warm, to = t->s->resume(t->s, t->next, &warm), n = 0;
    t->next = to;
    for (; n < 4 && t->next < t->blocks; n++, t->next++)
        spans[n] = (orr_span){.block = t->next, .start = t->now, .end = t->now + cycles};
    t->now += n ? cycles : 0;
    t->s->ended(t->s, spans, n);
}

static orr_sp_launch equal_blocks(orr_sp_run *run, uint64_t n) {
    *run = (orr_sp_run){n, 100, 20};
    return (orr_sp_launch){.blocks = n, .warp_insts = 100 * n, .requests = 20 * n, .runs = run, .nruns = 1};
}

// A launch on the toy; two_units: as the paper has it.
static orr_control *start(toy *t, const orr_sp_launch *l, bool two_units) {
    orr_sample_options o = orr_sample_defaults();
    if (two_units) o.precision = 0;
    orr_control *c = orr_control_new(l, &o);
    *t = (toy){.s = orr_control_sampler(c), .blocks = l->blocks};
    t->s->begin(t->s, 4, 0);
    return c;
}

static void two_units_then_the_rest(void **state) {
    (void)state;
    orr_sp_run run;
    orr_sp_launch l = equal_blocks(&run, 100);
    toy t;
    orr_control *c = start(&t, &l, true);
    // The caches are cold in the first wave: units of 2000, 1000 and 1000 cycles. Two are within 10 % after
    // the third.
    run_wave(&t, 2000);
    run_wave(&t, 1000);
    assert_int_equal(t.next, 8);
    run_wave(&t, 1000);
    assert_int_equal(t.next, 12);
    run_wave(&t, 1000); // 88 blocks are left, 22 waves: all of them can be left out
    assert_int_equal(t.next, 100);
    orr_arena a = {0};
    orr_launch_sample s = {0};
    double more = orr_control_end(c, &s, &a);
    assert_true(near(more, 22000, 1e-6)); // 88 blocks of 100 instructions at 0.4 a cycle
    assert_true(near((double)t.now + more, 26000, 1e-6));
    assert_int_equal(s.simulated_blocks, 12);
    assert_int_equal(s.simulated_insts, 1200);
    assert_true(s.nregions == 1 && s.regions[0].units == 3 && near(s.regions[0].ipc, 0.4, 1e-9));
    orr_arena_free(&a);
    orr_control_free(c);
}

// Block 9 waits in the stock of an SM while 10 to 16 begin elsewhere, of which 10 to 12 have ended when the
// rest of the region is left out. Of the 84 blocks that have not begun, 21 waves, all are: 9 and from 17 on.
static void blocks_out_of_order(void **state) {
    (void)state;
    orr_sp_run run;
    orr_sp_launch l = equal_blocks(&run, 100);
    toy t;
    orr_control *c = start(&t, &l, true);
    run_wave(&t, 2000);
    run_wave(&t, 1000);
    uint64_t warm;
    static const uint64_t third[] = {8, 10, 11, 12}, running[] = {13, 14, 15, 16};
    orr_span spans[4];
    for (int i = 0; i < 4; i++) spans[i] = (orr_span){.block = third[i], .start = 3000, .end = 4000};
    t.s->ended(t.s, spans, 4);
    assert_int_equal(t.s->resume(t.s, 9, &warm), 100);
    for (int i = 0; i < 4; i++) spans[i] = (orr_span){.block = running[i], .start = 4000, .end = 5000};
    t.s->ended(t.s, spans, 4);
    orr_arena a = {0};
    orr_launch_sample s = {0};
    assert_true(near(orr_control_end(c, &s, &a), 21000, 1e-6));
    assert_int_equal(s.simulated_blocks, 16);
    assert_int_equal(s.simulated_insts, 1600);
    orr_arena_free(&a);
    orr_control_free(c);
}

// Figure 7: the first epoch is not in a region, so the region is entered when its blocks have ended. What
// follows the region is simulated.
static void entering_and_exiting(void **state) {
    (void)state;
    orr_sp_run runs[] = {{3, 100, 20}, {1, 1000, 20}, {40, 100, 20}, {3, 100, 20}, {1, 1000, 20}};
    orr_sp_launch l = {
        .blocks = 48, .warp_insts = 3 * 100 + 1000 + 4000 + 300 + 1000, .runs = runs, .nruns = 5};
    toy t;
    orr_control *c = start(&t, &l, true);
    run_wave(&t, 500);
    run_wave(&t, 1000);
    run_wave(&t, 1000);
    assert_int_equal(t.next, 12);
    run_wave(&t, 1000); // 32 blocks of the region were left; then the last epoch
    assert_int_equal(t.next, 48);
    run_wave(&t, 1000);
    orr_arena a = {0};
    orr_launch_sample s = {0};
    assert_true(near(orr_control_end(c, &s, &a), 8000, 1e-6));
    assert_int_equal(s.simulated_blocks, 16);
    assert_true(s.regions[0].first == 4 && s.regions[0].end == 44 && s.regions[0].skipped == 32);
    orr_arena_free(&a);
    orr_control_free(c);
}

// With a precision, units that still rise are not believed, nor is their mean when they jump about.
static void until_it_is_steady(void **state) {
    (void)state;
    orr_sp_run run;
    orr_sp_launch l = equal_blocks(&run, 400);
    toy t;
    orr_control *c = start(&t, &l, false);
    for (int w = 0; w < 10; w++) { // 5 % faster each time: within 10 %, and not steady
        run_wave(&t, (uint64_t)(2000 * pow(0.95, w)));
        assert_int_equal(t.next, 4 * (w + 1));
    }
    int waves = 10;
    while (t.next == 4 * (uint64_t)waves) {
        run_wave(&t, 1200);
        waves++;
    }
    // the rising ones must be out of the later half, and of the quarter before it
    assert_in_range(waves, 20, 40);
    orr_arena a = {0};
    orr_launch_sample s = {0};
    orr_control_end(c, &s, &a);
    assert_true(near(s.regions[0].ipc, 400.0 / 1200, 1e-9));
    orr_arena_free(&a);
    orr_control_free(c);
}

// 400 blocks, of which those from 100 on take twice as long. After four waves 1.5 times the 16 blocks before
// are left out; then one unit of two shows the same IPC, 0.4, and 1.5 times 48 are. After these it is 0.2:
// five units, the first of which does not count, until that is known. That gap gets the mean, 0.3. 1.5 times
// 140 blocks, in whole waves, are followed by another look; after it the last 44 are left out.
static void looks_again(void **state) {
    (void)state;
    orr_sp_run run;
    orr_sp_launch l = equal_blocks(&run, 400);
    toy t;
    orr_control *c = start(&t, &l, false);
    static const uint64_t next[] = {4, 8, 12, 16, 44, 48, 124, 128, 132, 136, 140, 352, 356, 400};
    for (int w = 0; w < 14; w++) {
        run_wave(&t, t.next < 100 && w < 6 ? 1000 : 2000);
        assert_int_equal(t.next, next[w]);
    }
    orr_arena a = {0};
    orr_launch_sample s = {0};
    assert_true(near(orr_control_end(c, &s, &a), 2400 / 0.4 + 7200 / 0.3 + 20800 / 0.2 + 4400 / 0.2, 1e-6));
    assert_int_equal(s.simulated_blocks, 52);
    assert_true(near(s.regions[0].width, 1.0 / 3, 1e-9)); // 0.4 and 0.2 are a third from their mean
    orr_arena_free(&a);
    orr_control_free(c);
}

// ---- the mathematics ----------------------------------------------------------------------------
// Equation 3 as it is written: the transition matrix of 2^N states, element by element, and its power.
static double equation_3(double p, const double *m, int n) {
    size_t states = (size_t)1 << n;
    double *t = orr_malloc(states * states * sizeof *t), *v = orr_calloc(states, sizeof *v),
           *w = orr_calloc(states, sizeof *w);
    for (size_t i = 0; i < states; i++)
        for (size_t j = 0; j < states; j++) {
            double s = 1;
            for (int x = 0; x < n; x++) {
                bool from = i >> x & 1, to = j >> x & 1;
                s *= from != to ? (from ? p : 1 / m[x]) : (from ? 1 - p : 1 - 1 / m[x]);
            }
            t[i * states + j] = s;
        }
    v[states - 1] = 1;
    for (int step = 0; step < 20000; step++) {
        for (size_t j = 0; j < states; j++) {
            w[j] = 0;
            for (size_t i = 0; i < states; i++) w[j] += v[i] * t[i * states + j];
        }
        memcpy(v, w, states * sizeof *v);
    }
    double ipc = 1 - v[0];
    free(t);
    free(v);
    free(w);
    return ipc;
}

static void chain_and_product(void **state) {
    (void)state;
    static const double ten[] = {10, 10};
    assert_true(near(orr_markov_product(0.1, ten, 1), 0.5, 1e-12)); // as often stalled as not
    assert_true(near(orr_markov_product(0.1, ten, 2), 0.75, 1e-12));
    double m[12];
    for (int n = 1; n <= 8; n++) {
        m[n - 1] = 60 + 35.0 * n;
        assert_true(near(orr_markov_chain(0.05, m, n), orr_markov_product(0.05, m, n), 1e-9));
        assert_true(near(orr_markov_chain(0.2, m, n), orr_markov_product(0.2, m, n), 1e-9));
        if (n <= 4) assert_true(near(equation_3(0.1, m, n), orr_markov_product(0.1, m, n), 1e-9));
    }
    assert_true(isnan(orr_markov_chain(0.1, m, 40)));
}

// Lemma 4.1: more than 95 % of the draws are within 10 % of the average.
static void lemma(void **state) {
    (void)state;
    orr_markov_study s = {.p = 0.1, .mean = 400, .n = 4}, again = s;
    orr_markov_draw(&s, 10000, 1);
    assert_true(s.within > 0.95 && s.spread < 0.1 && s.ipc > 0 && s.ipc < 1);
    // With M always at its mean it is 1 - (40 / 41)^4 = 0.0941; it varies little around that.
    assert_true(near(s.ipc, 1 - pow(40.0 / 41, 4), 0.001));
    orr_markov_draw(&again, 10000, 1);
    assert_true(memcmp(&s, &again, sizeof s) == 0);
}

// ---- what it is compared with -------------------------------------------------------------------
static void simpoint_finds_phases(void **state) {
    (void)state;
    orr_pieces p = {.size = 1000};
    // 30 pieces: of two basic blocks either the one (CPI 1) or the other (CPI 3) is run.
    for (int i = 0; i < 30; i++) {
        bool second = i % 10 >= 7;
        *ORR_PUSH(&p.unit) =
            (orr_piece){.cycles = second ? 3000 : 1000, .insts = 1000, .nblocks = 2, .first = p.insts.n};
        *ORR_PUSH(&p.insts) = second ? 100 : 900;
        *ORR_PUSH(&p.insts) = second ? 900 : 100;
    }
    uint32_t zero = 0;
    orr_estimate x = orr_simpoint_estimate(&p, &zero, &zero, 2, 10, 1);
    assert_int_equal(x.points, 2);
    assert_true(near(x.cycles, 21 * 1000 + 9 * 3000, 1e-6));
    assert_true(near(x.sample, 2.0 / 30, 1e-9));
    orr_estimate r = orr_random_estimate(&p, 0.1, 5);
    assert_int_equal(r.points, 3);
    assert_true(near(r.sample, 0.1, 1e-9));
    assert_true(r.cycles >= 30000 && r.cycles <= 90000); // three pieces of CPI 1 to three of CPI 3
    free(p.unit.at);
    free(p.insts.at);
}

// ---- the profile's file -------------------------------------------------------------------------
static void fill(orr_sampling_profile *p) {
    p->digest = 0x123456789abcdef0ull;
    *ORR_PUSH(&p->kernels) = (orr_sp_kernel){orr_arena_strdup(&p->arena, "first"), 2};
    *ORR_PUSH(&p->kernels) = (orr_sp_kernel){orr_arena_strdup(&p->arena, ""), 0};
    orr_sp_launch l = {.kernel = 0, .blocks = 300, .thread_insts = 1ull << 40, .cov = 0.25, .nruns = 2};
    l.runs = orr_arena_alloc(&p->arena, 2 * sizeof *l.runs);
    l.runs[0] = (orr_sp_run){299, 1000, 127};
    l.runs[1] = (orr_sp_run){1, 0, 1ull << 33};
    l.vector = orr_arena_alloc(&p->arena, 2 * sizeof *l.vector);
    l.vector[1] = 299000;
    *ORR_PUSH(&p->launches) = l;
    *ORR_PUSH(&p->launches) = (orr_sp_launch){.kernel = 1, .vector = l.vector};
}

static void there_and_back(void **state) {
    (void)state;
    char path[] = "/tmp/orrery-profile-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    orr_sampling_profile p = {0}, q = {0};
    orr_err e = {0};
    fill(&p);
    assert_true(orr_sp_write(&p, path, &e));
    assert_true(orr_sp_read(&q, path, &e));
    assert_true(q.digest == p.digest && q.kernels.n == 2 && q.launches.n == 2);
    assert_string_equal(q.kernels.at[0].name, "first");
    const orr_sp_launch *l = &q.launches.at[0];
    assert_true(l->blocks == 300 && l->thread_insts == 1ull << 40 && l->cov == 0.25);
    assert_true(l->warp_insts == 299000 && l->requests == 299 * 127 + (1ull << 33)); // made when it was read
    assert_true(l->vector[0] == 0 && l->vector[1] == 299000);
    uint64_t insts[300], requests[300];
    orr_sp_expand(l, insts, requests);
    assert_true(insts[298] == 1000 && insts[299] == 0 && requests[299] == 1ull << 33);
    orr_sp_free(&q);
    // Any byte wrong, or any number of them missing: refused.
    size_t n;
    char *bytes = orr_read_file(path, 1 << 20, &n, &e);
    for (size_t i = 0; i < n; i++) {
        orr_err bad = {0};
        bytes[i] ^= 4;
        assert_false(orr_sp_parse(&q, (uint8_t *)bytes, n, "x", &bad));
        assert_int_equal(bad.status, ORR_BAD_INPUT);
        bytes[i] ^= 4;
        memset(&bad, 0, sizeof bad);
        assert_false(orr_sp_parse(&q, (uint8_t *)bytes, i, "x", &bad));
    }
    free(bytes);
    orr_sp_free(&p);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_by_hand),
        cmocka_unit_test(clusters_as_the_plain_way),
        cmocka_unit_test(many_launches),
        cmocka_unit_test(launches_by_kernel),
        cmocka_unit_test(many_equal_launches),
        cmocka_unit_test(where_the_work_is),
        cmocka_unit_test(lines_once),
        cmocka_unit_test(cold_launch),
        cmocka_unit_test(launches_from_others),
        cmocka_unit_test(a_small_kernel),
        cmocka_unit_test(by_chance),
        cmocka_unit_test(kriging_by_hand),
        cmocka_unit_test(regions_of_figure_6),
        cmocka_unit_test(two_units_then_the_rest),
        cmocka_unit_test(blocks_out_of_order),
        cmocka_unit_test(entering_and_exiting),
        cmocka_unit_test(until_it_is_steady),
        cmocka_unit_test(looks_again),
        cmocka_unit_test(chain_and_product),
        cmocka_unit_test(lemma),
        cmocka_unit_test(simpoint_finds_phases),
        cmocka_unit_test(there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
