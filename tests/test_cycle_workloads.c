// Every bundled workload from PTX on three GPUs, at small size: each cycle of each warp has a reason, in all
// and instruction by instruction; what is issued is what the kernel executes; and two host threads give what
// one gives. Under sanitizers, ten times slower, each workload is on one of the three GPUs.
#include "cycle.h"

#include "launch/launch.h"

typedef struct sweep {
    const orr_gpu *gpu;
    int threads;
    orr_result r;
} sweep;

static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    sweep *s = arg;
    (void)c;
    orr_work w = {.info = {.kernel = l->kernel, .dynamic_shared = l->dynamic_shared, .index = l->index},
                  .launch = l,
                  .threads = s->threads,
                  .timeline = true};
    memcpy(w.info.grid, l->grid, sizeof l->grid);
    memcpy(w.info.block, l->block, sizeof l->block);
    if (!orr_model_cycle.run(s->gpu, &w, &s->r, e)) return false;
    check_sums(s->r.launches.at[s->r.launches.n - 1].timing,
               (l->block[0] * l->block[1] * l->block[2] + 31) / 32);
    return true;
}

// The script owns the kernels, which the result's programs point to: it is kept until the results are gone.
static orr_script *run(sweep *s, const char *path) {
    orr_err e = {0};
    orr_script *script = orr_script_load(path, "small", NULL, 0, &e);
    if (!script) fail_msg("%s", e.text);
    assert_true(orr_script_source(script, NULL, (unsigned)(s->gpu->cc_major * 10 + s->gpu->cc_minor), &e));
    orr_cpu *cpu = orr_cpu_new(on_launch, s, &e);
    assert_non_null(cpu);
    orr_backend b = orr_cpu_backend(cpu);
    orr_script_stats stats = {0};
    if (!orr_script_run(script, &b, true, &stats, &e)) fail_msg("%s: %s", path, e.text);
    assert_true(stats.checked > 0); // and memory is as the workload's reference has it
    orr_cpu_delete(cpu);
    return script;
}

#ifdef __SANITIZE_ADDRESS__
enum { STEP = 3 };
#else
enum { STEP = 1 };
#endif

static void check_gpu(const char *name, int first_of) {
    orr_arena a = {0};
    int n = 0;
    const char *const *names = orr_list_workloads(&a, &n);
    assert_true(n >= 50);
    for (int i = first_of % STEP; i < n; i += STEP) {
        orr_err e = {0};
        const char *path = orr_find_workload(&a, names[i], &e);
        assert_non_null(path);
        orr_gpu *g = gpu_named(name, NULL);
        sweep one = {.gpu = g, .threads = 1}, two = {.gpu = g, .threads = 2};
        orr_script *first = run(&one, path), *second = run(&two, path);
        assert_int_equal(one.r.launches.n, two.r.launches.n);
        for (size_t l = 0; l < one.r.launches.n; l++)
            check_same(one.r.launches.at[l].timing, two.r.launches.at[l].timing);
        orr_result_free(&one.r);
        orr_result_free(&two.r);
        orr_script_free(first);
        orr_script_free(second);
        orr_gpu_free(g);
    }
    orr_arena_free(&a);
}

static void test_h200(void **state) {
    (void)state;
    check_gpu("h200", 0);
}
static void test_v100(void **state) {
    (void)state;
    check_gpu("v100", 1);
}
static void test_gtx480(void **state) {
    (void)state;
    check_gpu("gtx480", 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_h200), cmocka_unit_test(test_v100),
                                       cmocka_unit_test(test_gtx480)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
