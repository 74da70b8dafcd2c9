// Bundled workloads through the cycle model and its report: everything adds up, whatever the GPU, and nothing
// depends on the number of host threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "json.h"
#include "orrery.h"

// What a launch itself asks L2 for is in the counters and has no time.
static char *run(const char *workload, const char *gpu, int threads) {
    static const char *const sets[] = {"launch.code=0", "launch.barriers=0", "launch.reads=0",
                                       "launch.writes=0"};
    char number[16];
    orr_err e = {0};
    orr_options *o = orr_options_new();
    snprintf(number, sizeof number, "%d", threads);
    orr_options_set(o, "gpu", gpu, &e);
    orr_options_set(o, "model", "cycle", &e);
    orr_options_set(o, "size", "small", &e);
    orr_options_set(o, "threads", number, &e);
    orr_options_set(o, "lines", "yes", &e);
    for (int k = 0; k < 4; k++) orr_options_set(o, "set", sets[k], &e);
    orr_report *r = orr_run(workload, o, &e);
    if (!r) fail_msg("%s on %s: %s", workload, gpu, e.text);
    char *json = strdup(orr_report_as(r, ORR_JSON));
    orr_report_free(r);
    orr_options_free(o);
    return json;
}

static uint64_t count(const json *v, const char *key) {
    const json *m = json_get(v, key);
    if (!m || m->type != '0') fail_msg("no count %s", key);
    return json_u64(m);
}

static void same(const char *what, uint64_t a, uint64_t b) {
    if (a != b) fail_msg("%s: %llu is not %llu", what, (unsigned long long)a, (unsigned long long)b);
}

static void check_launch(const json *l) {
    uint64_t warps = count(l, "warp_cycles");
    const json *time = json_get(l, "timeline");
    same("stalls", json_sum(json_get(l, "stalls")), warps);
    same("issued", count(json_get(l, "stalls"), "issued"),
         count(l, "warp_insts")); // one at a time on all of these
    same("samples' instructions", json_sum(json_get(time, "warp_insts")), count(l, "warp_insts"));
    same("samples' warp cycles", json_sum(json_get(time, "warp_cycles")), warps);
    uint64_t sum = 0;
    for (const json *m = json_get(time, "stalls")->first; m; m = m->next) sum += json_sum(m);
    same("samples' stalls", sum, warps);
    const json *c = json_get(l, "counters");
    same("L1 sectors", count(c, "l1tex__t_sectors.sum"),
         count(c, "l1tex__t_sectors_lookup_hit.sum") + count(c, "l1tex__t_sectors_lookup_miss.sum"));
    same("samples' L1 sectors", json_sum(json_get(time, "l1_sectors")), count(c, "l1tex__t_sectors.sum"));
    same("samples' L2 sectors", json_sum(json_get(time, "l2_sectors")), count(c, "lts__t_sectors.sum"));
    same("samples' DRAM sectors", json_sum(json_get(time, "dram_sectors")),
         count(c, "dram__sectors_read.sum") + count(c, "dram__sectors_write.sum"));
    for (const json *m = json_get(l, "resources")->first; m; m = m->next) {
        double percent = json_double(json_get(m, "percent"));
        if (!(percent >= 0 && percent <= 100.5)) fail_msg("%s at %g %%", m->key, percent);
    }
    double occupancy = json_double(json_get(l, "occupancy_achieved"));
    if (!(occupancy > 0 && occupancy <= json_double(json_get(l, "occupancy")) + 1e-9))
        fail_msg("occupancy %g of at most %g", occupancy, json_double(json_get(l, "occupancy")));
}

static void check_kernel(const json *k) {
    static const char *const places[] = {"instructions", "lines"};
    for (int p = 0; p < 2; p++) {
        const json *v = json_get(k, places[p]);
        same(places[p], json_sum_of(v, "warp_cycles"), count(k, "warp_cycles"));
        same(places[p], json_sum_of(v, "warp_insts"), count(k, "warp_insts"));
        same(places[p], json_sum_of(v, "thread_insts"), count(k, "thread_insts"));
    }
}

static void adds_up(const char *workload, const char *gpu) {
    char *text = run(workload, gpu, 2);
    json_doc d;
    const json *all = json_parse(&d, text, strlen(text));
    if (!all) fail_msg("%s on %s: not JSON", workload, gpu);
    const json *launches = json_get(all, "launches"), *kernels = json_get(all, "kernels");
    for (const json *l = launches->first; l; l = l->next) check_launch(l);
    for (const json *k = kernels->first; k; k = k->next) check_kernel(k);
    same("cycles", json_sum_of(launches, "cycles"), count(json_get(all, "totals"), "cycles"));
    same("cycles", json_sum_of(kernels, "cycles"), count(json_get(all, "totals"), "cycles"));
    same("warp cycles", json_sum_of(kernels, "warp_cycles"), count(json_get(all, "totals"), "warp_cycles"));
    orr_arena_free(&d.arena);
    free(text);
}

static void sums(void **state) {
    (void)state;
    static const char *const workloads[] = {"saxpy",           "bfs",          "reduce",     "histogram",
                                            "transpose_tiled", "scan_chained", "sgemm_tiled"};
    static const char *const gpus[] = {"h200", "v100", "gtx480"};
    for (size_t w = 0; w < sizeof workloads / sizeof workloads[0]; w++)
        for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++) adds_up(workloads[w], gpus[g]);
}

static void threads(void **state) {
    (void)state;
    static const char *const workloads[] = {"saxpy", "bfs", "histogram"};
    for (size_t w = 0; w < sizeof workloads / sizeof workloads[0]; w++) {
        char *one = run(workloads[w], "h200", 1), *three = run(workloads[w], "h200", 3);
        char *host = strstr(one, "\"host\":"), *host3 = strstr(three, "\"host\":");
        assert_true(host && host3);
        *host = *host3 = 0;
        assert_string_equal(one, three);
        free(one);
        free(three);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
