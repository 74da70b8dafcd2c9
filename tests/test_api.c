// The public interface, as a program outside the tree sees it: orrery.h and the shared library, nothing else.
// Expected numbers are computed here, by hand or by the plain C beside them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <orrery.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".global .align 4 .u32 calls = 5;\n"
    ".visible .entry scale(.param .u32 n, .param .f32 a, .param .u64 x)\n"
    ".maxntid 128, 1, 1\n"
    "{\n"
    "  .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<4>;\n"
    "  ld.param.u32 %r1, [n]; ld.param.f32 %f1, [a]; ld.param.u64 %d1, [x];\n"
    "  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "  mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.u32 %p, %r5, %r1;\n"
    "  @%p bra done;\n"
    "  mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d1, %d2;\n"
    "  ld.global.f32 %f2, [%d3]; mul.f32 %f3, %f2, %f1; st.global.f32 [%d3], %f3;\n"
    "done:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry later(.param .u64 t) { .reg .b64 %d;\n"
    "  .reg .b32 %q; txq.channel_order.b32 %q, [%d]; ret; }\n"
    ".visible .entry bad(.param .u64 x) { .reg .b64 %d<3>; .reg .b32 %r;\n"
    "  ld.param.u64 %d1, [x]; ld.global.u32 %r, [%d1+4096]; st.global.u32 [%d1], %r; ret; }\n";

static void versions_agree(void **state) {
    (void)state;
    assert_string_equal(orr_version(), ORR_VERSION);
}

static void a_kernel_runs_on_a_device(void **state) {
    (void)state;
    orr_err e = {0};
    orr_options *o = orr_options_new();
    assert_true(orr_options_set(o, "threads", "2", &e));
    orr_device *d = orr_device_open(o, &e);
    orr_options_free(o); // what it said is known
    assert_non_null(d);
    orr_device_module *p = orr_device_parse(d, "scale.ptx", ptx, sizeof ptx - 1, &e);
    if (!p) fail_msg("%s", e.text);
    assert_int_equal(orr_device_kernels(p), 3);
    assert_string_equal(orr_device_kernel(p, 0), "scale");
    assert_null(orr_device_kernel(p, 3));
    assert_null(orr_device_kernel(p, -1));

    orr_kernel_facts facts;
    assert_true(orr_device_facts(p, "scale", &facts, &e));
    assert_int_equal(facts.params, 3);
    assert_int_equal(facts.param_bytes, 16); // u32, f32, and a u64 at its alignment
    assert_int_equal(facts.max_threads, 128);
    assert_int_equal(facts.shared_bytes, 0);
    char *listing = orr_device_listing(p, "scale", &e);
    assert_non_null(strstr(listing, "mul"));
    orr_free(listing);

    uint64_t addr = 0, bytes = 0;
    uint32_t calls = 0;
    assert_true(orr_device_symbol(p, "calls", &addr, &bytes, &e));
    assert_int_equal(bytes, 4);
    assert_true(orr_device_read(d, addr, &calls, 4, &e));
    assert_int_equal(calls, 5);

    // 1000 elements, blocks of 128: the last block has 104 active threads, three full warps and one of 8.
    uint32_t n = 1000;
    float a = 0.5f, host[1000];
    for (uint32_t i = 0; i < n; i++) host[i] = (float)i;
    uint64_t x = orr_device_alloc(d, sizeof host, &e);
    assert_true(x != 0);
    assert_true(orr_device_write(d, x, host, sizeof host, &e));
    void *args[] = {&n, &a, &x};
    orr_launch_config eight = {.grid = {8}, .block = {128}, .args = args, .nargs = 3};
    orr_launch_facts did;
    if (!orr_device_launch(p, "scale", &eight, &did, &e)) fail_msg("%s", e.text);
    assert_true(orr_device_read(d, x, host, sizeof host, &e));
    for (uint32_t i = 0; i < n; i++) assert_true(host[i] == (float)i * 0.5f);
    // 15 instructions for the 1000 threads that go through, 10 for the 24 that leave at the branch.
    assert_int_equal(did.thread_insts, 1000 * 15 + 24 * 10);
    assert_true(did.occupancy > 0 && did.occupancy <= 1);

    orr_report *r = orr_device_report(d, &e);
    assert_true(orr_report_number(r, "/launches/0/thread_insts") == 15240);
    assert_string_equal(orr_report_string(r, "/launches/0/kernel"), "scale");
    assert_int_equal(orr_report_count(r, "/launches"), 1);
    assert_non_null(strstr(orr_report_as(r, ORR_TEXT), "scale"));
    assert_null(orr_report_as(r, ORR_HTML));
    orr_report_free(r);
    assert_true(orr_device_free(d, x, &e));
    assert_int_equal(e.status, 0);
    orr_device_close(d);
}

static void mistakes_are_named(void **state) {
    (void)state;
    orr_err e = {0};
    orr_options *o = orr_options_new();
    assert_true(orr_options_set(o, "gpu", "no_such_gpu", &e));
    assert_null(orr_device_open(o, &e));
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_true(orr_options_set(o, "model", "no_such_model", &e));
    assert_null(orr_device_open(o, &e));
    assert_int_equal(e.status, 2);
    orr_options_free(o);

    e = (orr_err){0};
    orr_device *d = orr_device_open(NULL, &e);
    assert_non_null(d);
    assert_null(orr_device_parse(d, "x.ptx", "nonsense", 8, &e));
    assert_int_equal(e.status, 2);
    assert_non_null(strstr(e.text, "x.ptx:1:"));
    e = (orr_err){0};
    orr_device_module *p = orr_device_parse(d, "scale.ptx", ptx, sizeof ptx - 1, &e);
    assert_non_null(p);
    uint64_t x = orr_device_alloc(d, 256, &e);
    void *args[] = {&x};
    orr_launch_config one = {.args = args, .nargs = 1}, none = {.args = args},
                      many = {.block = {2048}, .args = args, .nargs = 1};

    // A kernel that needs what is not supported is refused when it is used; the others of the module run.
    assert_false(orr_device_launch(p, "later", &one, NULL, &e));
    assert_int_equal(e.status, 2);
    assert_non_null(strstr(e.text, "scale.ptx:20:"));
    e = (orr_err){0};
    assert_false(orr_device_launch(p, "none", &one, NULL, &e));
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_false(orr_device_launch(p, "bad", &none, NULL, &e)); // an argument too few
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_false(orr_device_launch(p, "bad", &many, NULL, &e)); // 2048 threads
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_false(orr_device_launch(p, "bad", &one, NULL, &e)); // reads past its buffer
    assert_int_equal(e.status, 1);
    assert_non_null(strstr(e.text, "bad"));
    assert_non_null(strstr(e.text, "22"));

    char byte = 0;
    e = (orr_err){0};
    assert_false(orr_device_read(d, x + 256, &byte, 1, &e));
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_false(orr_device_free(d, x + 16, &e));
    assert_int_equal(e.status, 2);
    orr_device_close(d);
}

static void options_are_checked(void **state) {
    (void)state;
    orr_err e = {0};
    orr_options *o = orr_options_new();
    static const struct {
        const char *name, *value, *message;
    } bad[] = {{"modle", "cycle", "did you mean \"model\"?"},
               {"threads", "0", "--threads takes a number from 1 to 65536"},
               {"threads", "two", "--threads takes a number"},
               {"max-insts", "1x", "perhaps with k, M or G"},
               {"lines", "perhaps", "--lines is yes or no"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        e = (orr_err){0};
        assert_false(orr_options_set(o, bad[k].name, bad[k].value, &e));
        assert_int_equal(e.status, 2);
        assert_non_null(strstr(e.text, bad[k].message));
    }
    // A filled error stays as it is, and whoever is given it does nothing.
    char text[sizeof e.text];
    memcpy(text, e.text, sizeof text);
    assert_false(orr_options_set(o, "threads", "1", &e));
    assert_null(orr_run("saxpy", o, &e));
    assert_null(orr_gpus(o, &e));
    assert_string_equal(e.text, text);
    orr_options_free(o);
    orr_options_free(NULL);
    orr_report_free(NULL);
    orr_device_close(NULL);
}

static void gpus_are_described(void **state) {
    (void)state;
    orr_err e = {0};
    orr_report *r = orr_gpus(NULL, &e);
    assert_non_null(strstr(orr_report_as(r, ORR_TEXT), "h200"));
    orr_report_free(r);
    r = orr_gpu_describe("h200", NULL, &e);
    assert_non_null(r);
    orr_report_free(r);
    // CUDA programming guide, compute capability 9.0: 2048 threads and 65536 registers an SM. 256 threads
    // with 64 registers: 8 warps x 32 x 64 = 16384 registers a block, so four blocks, 32 of 64 warps.
    orr_options *o = orr_options_new();
    orr_options_set(o, "block", "256", &e);
    orr_options_set(o, "regs", "64", &e);
    r = orr_gpu_occupancy("h200", o, &e);
    if (!r) fail_msg("%s", e.text);
    assert_true(orr_report_number(r, "/blocks_per_sm") == 4);
    assert_true(orr_report_number(r, "/warps_per_sm") == 32);
    assert_string_equal(orr_report_string(r, "/limiter"), "registers");
    orr_report_free(r);
    orr_options_free(o);
}

// The place of a value as RFC 6901 has it; what is not there is neither a number nor a string.
static void values_have_places(void **state) {
    (void)state;
    orr_err e = {0};
    orr_options *o = orr_options_new();
    orr_options_set(o, "size", "small", &e);
    orr_report *r = orr_run("saxpy", o, &e);
    if (!r) fail_msg("%s", e.text);
    assert_string_equal(orr_report_string(r, "/model"), "functional");
    assert_true(isnan(orr_report_number(r, "/launches/0/cycles"))); // null: this model has no time
    assert_true(isnan(orr_report_number(r, "/model")));
    assert_true(isnan(orr_report_number(r, "/launches/1/warp_insts")));
    assert_true(orr_report_number(r, "/launches/0/counters/smsp__inst_executed.sum") ==
                orr_report_number(r, "/launches/0/warp_insts"));
    assert_null(orr_report_string(r, "model"));
    assert_null(orr_report_string(r, "/launches/0"));
    assert_null(orr_report_string(r, "/launches/x"));
    assert_int_equal(orr_report_count(r, "/launches/0/grid"), 3);
    assert_int_equal(orr_report_count(r, "/model"), -1);
    assert_true(orr_report_count(r, "") > 5);
    orr_report_free(r);
    orr_options_free(o);
}

typedef struct watched {
    int calls, ends;
    bool stop;
    char what[100];
} watched;

static bool watch(void *arg, const orr_status *s) {
    watched *w = arg;
    w->calls++;
    w->ends += s->ended;
    snprintf(w->what, sizeof w->what, "%s", s->what);
    return !w->stop;
}

static void jobs_are_watched_and_stopped(void **state) {
    (void)state;
    orr_err e = {0};
    watched w = {0};
    orr_options *o = orr_options_new();
    orr_options_set(o, "size", "small", &e);
    orr_options_set(o, "model", "analytic", &e);
    orr_options_watch(o, watch, &w);
    orr_report *r = orr_run("saxpy", o, &e);
    if (!r) fail_msg("%s", e.text);
    orr_report_free(r);
    assert_true(w.calls >= 2); // at least the first and the last
    assert_int_equal(w.ends, 1);
    assert_string_equal(w.what, "saxpy");
    w = (watched){.stop = true};
    assert_null(orr_run("saxpy", o, &e));
    assert_int_equal(e.status, 3);
    assert_non_null(strstr(e.text, "stopped"));
    assert_int_equal(w.ends, 1);
    orr_options_free(o);
}

// Stops a job: at once, when some of a launch has begun, or when so many runs are done.
typedef struct stopper {
    bool at_once;
    uint64_t done;
    int ends; // of jobs that end before
} stopper;
static bool stop_when(void *arg, const orr_status *s) {
    stopper *w = arg;
    if (s->ended) w->ends--;
    if (w->ends > 0 || s->ended) return true;
    return !(w->at_once || (w->done ? s->done >= w->done : s->begun > 0 || s->part > 0));
}

static void what_is_there_is_told(void **state) {
    (void)state;
    orr_err e = {0};
    stopper w = {0};
    orr_options *o = orr_options_new();
    orr_options_set(o, "size", "large", &e);
    orr_options_set(o, "model", "cycle", &e);
    orr_options_watch(o, stop_when, &w);
    orr_report *r = orr_run("sgemm_naive", o, &e); // minutes, if nobody stopped it
    assert_int_equal(e.status, 3);
    assert_non_null(r);
    assert_non_null(strstr(orr_report_as(r, ORR_TEXT), "stopped: launch 0 was cut off"));
    assert_true(orr_report_number(r, "/launches/0/blocks_done") < 4000);
    assert_true(orr_report_number(r, "/launches/0/cycles") > 0);
    // All that fits is resident from the first block on: 132 SMs of 64 warps; their waits until now are told.
    double running =
        orr_report_number(r, "/launches/0/cycles") - orr_report_number(r, "/kernels/0/overhead_cycles");
    double most = 132 * 64 * running, sum = orr_report_number(r, "/launches/0/counters/sm__warps_active.sum");
    assert_true(sum <= most && sum > 0.5 * most);
    orr_report_free(r);

    e = (orr_err){0};
    w = (stopper){.at_once = true, .ends = 1};
    orr_options_set(o, "size", "small", &e);
    r = orr_diff("saxpy", "sgemm_naive", o, &e); // at the second one's beginning: the first is there
    assert_int_equal(e.status, 3);
    assert_non_null(r);
    assert_string_equal(orr_report_string(r, "/input"), "saxpy");
    assert_non_null(strstr(orr_report_as(r, ORR_HTML), "saxpy"));
    orr_report_free(r);

    e = (orr_err){0};
    w = (stopper){.done = 1};
    orr_options_set(o, "set", "n=128", &e);
    r = orr_explain("sgemm_naive", o, &e);
    assert_int_equal(e.status, 3);
    assert_non_null(r);
    assert_non_null(strstr(orr_report_as(r, ORR_TEXT), "Not everything was tried"));
    orr_report_free(r);
    orr_options_free(o);
}

static void workloads_run_and_are_recorded(void **state) {
    (void)state;
    orr_err e = {0};
    orr_report *names = orr_workloads(&e);
    assert_non_null(names);
    assert_non_null(strstr(orr_report_as(names, ORR_TEXT), "saxpy "));
    assert_true(orr_report_count(names, "") > 50);
    orr_report_free(names);
    orr_options *o = orr_options_new();
    orr_options_set(o, "size", "small", &e);
    orr_report *live = orr_run("saxpy", o, &e);
    if (!live) fail_msg("%s", e.text);
    assert_true(orr_report_number(live, "/buffers_checked") == 1);

    char path[] = "/tmp/orrery-api-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (!orr_record("saxpy", path, o, &e)) fail_msg("%s", e.text);
    orr_report *again = orr_run(path, NULL, &e);
    if (!again) fail_msg("%s", e.text);
    // The replay says the same of the launch as the execution did.
    const char *one = strstr(orr_report_as(live, ORR_JSON), "\"launches\": ["),
               *two = strstr(orr_report_as(again, ORR_JSON), "\"launches\": [");
    assert_non_null(one);
    assert_non_null(two);
    const char *end = strstr(one, "\"kernels\"");
    assert_non_null(end);
    assert_memory_equal(one, two, (size_t)(end - one));
    orr_report_free(live);
    orr_report_free(again);
    orr_options_free(o);
    unlink(path);

    assert_null(orr_run("no_such_workload", NULL, &e));
    assert_int_equal(e.status, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_agree),
        cmocka_unit_test(a_kernel_runs_on_a_device),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(gpus_are_described),
        cmocka_unit_test(values_have_places),
        cmocka_unit_test(jobs_are_watched_and_stopped),
        cmocka_unit_test(what_is_there_is_told),
        cmocka_unit_test(workloads_run_and_are_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
