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
    ".visible .entry later(.param .u64 t) { .reg .b32 %r<9>; .reg .f32 %f<9>;\n"
    "  tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}]; ret; }\n"
    ".visible .entry bad(.param .u64 x) { .reg .b64 %d<3>; .reg .b32 %r;\n"
    "  ld.param.u64 %d1, [x]; ld.global.u32 %r, [%d1+4096]; st.global.u32 [%d1], %r; ret; }\n";

static void versions_agree(void **state) {
    (void)state;
    assert_string_equal(orr_version(), ORR_VERSION);
}

static void a_kernel_runs_on_a_device(void **state) {
    (void)state;
    orr_err e = {0};
    orr_device *d = orr_device_open(&(orr_device_options){.threads = 2}, &e);
    assert_non_null(d);
    orr_program *p = orr_program_parse(d, "scale.ptx", ptx, sizeof ptx - 1, &e);
    if (!p) fail_msg("%s", e.text);
    assert_int_equal(orr_program_kernels(p), 3);
    assert_string_equal(orr_program_kernel(p, 0), "scale");
    assert_null(orr_program_kernel(p, 3));
    assert_null(orr_program_kernel(p, -1));

    orr_kernel_facts facts;
    assert_true(orr_program_facts(p, "scale", &facts, &e));
    assert_int_equal(facts.params, 3);
    assert_int_equal(facts.param_bytes, 16); // u32, f32, and a u64 at its alignment
    assert_int_equal(facts.max_threads, 128);
    assert_int_equal(facts.shared_bytes, 0);
    char *listing = orr_program_listing(p, "scale", &e);
    assert_non_null(strstr(listing, "mul"));
    orr_string_free(listing);

    uint64_t addr = 0, bytes = 0;
    uint32_t calls = 0;
    assert_true(orr_program_symbol(p, "calls", &addr, &bytes, &e));
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
    uint32_t grid[3] = {8, 1, 1}, block[3] = {128, 1, 1};
    void *args[] = {&n, &a, &x};
    orr_launch_facts did;
    if (!orr_program_launch(p, "scale", grid, block, 0, args, 3, &did, &e)) fail_msg("%s", e.text);
    assert_true(orr_device_read(d, x, host, sizeof host, &e));
    for (uint32_t i = 0; i < n; i++) assert_true(host[i] == (float)i * 0.5f);
    // 15 instructions for the 1000 threads that go through, 10 for the 24 that leave at the branch.
    assert_int_equal(did.thread_insts, 1000 * 15 + 24 * 10);
    assert_true(did.occupancy > 0 && did.occupancy <= 1);

    char *json = orr_device_result(d, ORR_JSON);
    assert_non_null(strstr(json, "\"thread_insts\": 15240"));
    assert_non_null(strstr(json, "\"kernel\": \"scale\""));
    orr_string_free(json);
    char *text = orr_device_result(d, ORR_TEXT);
    assert_non_null(strstr(text, "scale"));
    orr_string_free(text);
    assert_true(orr_device_free(d, x, &e));
    assert_int_equal(e.status, 0);
    orr_device_close(d);
}

static void mistakes_are_named(void **state) {
    (void)state;
    orr_err e = {0};
    assert_null(orr_device_open(&(orr_device_options){.gpu = "no_such_gpu"}, &e));
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_null(orr_device_open(&(orr_device_options){.model = "no_such_model"}, &e));
    assert_int_equal(e.status, 2);

    e = (orr_err){0};
    orr_device *d = orr_device_open(NULL, &e);
    assert_non_null(d);
    assert_null(orr_program_parse(d, "x.ptx", "nonsense", 8, &e));
    assert_int_equal(e.status, 2);
    assert_non_null(strstr(e.text, "x.ptx:1:"));
    e = (orr_err){0};
    orr_program *p = orr_program_parse(d, "scale.ptx", ptx, sizeof ptx - 1, &e);
    assert_non_null(p);
    uint64_t x = orr_device_alloc(d, 256, &e);
    void *args[] = {&x};
    uint32_t one[3] = {1, 1, 1}, many[3] = {2048, 1, 1};

    // A kernel that needs what is not supported is refused when it is used; the others of the module run.
    assert_false(orr_program_launch(p, "later", one, one, 0, args, 1, NULL, &e));
    assert_int_equal(e.status, 2);
    assert_non_null(strstr(e.text, "scale.ptx:20:"));
    e = (orr_err){0};
    assert_false(orr_program_launch(p, "none", one, one, 0, args, 1, NULL, &e));
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_false(orr_program_launch(p, "bad", one, one, 0, args, 0, NULL, &e)); // an argument too few
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_false(orr_program_launch(p, "bad", one, many, 0, args, 1, NULL, &e)); // 2048 threads
    assert_int_equal(e.status, 2);
    e = (orr_err){0};
    assert_false(orr_program_launch(p, "bad", one, one, 0, args, 1, NULL, &e)); // reads past its buffer
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

static void gpus_are_described(void **state) {
    (void)state;
    orr_err e = {0};
    char *list = orr_gpus(ORR_TEXT, &e);
    assert_non_null(strstr(list, "h200"));
    orr_string_free(list);
    char *json = orr_gpu_describe("h200", NULL, 0, ORR_JSON, &e);
    assert_non_null(json);
    orr_string_free(json);
    // CUDA programming guide, compute capability 9.0: 2048 threads and 65536 registers an SM. 256 threads
    // with 64 registers: 8 warps x 32 x 64 = 16384 registers a block, so four blocks, 32 of 64 warps.
    orr_fit fit;
    assert_true(orr_gpu_fit("h200", NULL, 0, 256, 64, 0, 1, &fit, &e));
    assert_int_equal(fit.blocks, 4);
    assert_int_equal(fit.warps, 32);
    assert_true(fit.percent == 50);
    assert_string_equal(fit.limiter, "registers");
}

static void workloads_run_and_are_recorded(void **state) {
    (void)state;
    orr_err e = {0};
    char *names = orr_workloads(&e);
    assert_non_null(names);
    assert_non_null(strstr(names, "saxpy\n"));
    orr_string_free(names);
    char *live = orr_run("saxpy", &(orr_run_options){.size = "small"}, ORR_JSON, &e);
    if (!live) fail_msg("%s", e.text);
    assert_non_null(strstr(live, "\"buffers_checked\": 1"));

    char path[] = "/tmp/orrery-api-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (!orr_record("saxpy", path, &(orr_run_options){.size = "small"}, &e)) fail_msg("%s", e.text);
    char *again = orr_run(path, NULL, ORR_JSON, &e);
    if (!again) fail_msg("%s", e.text);
    // The replay says the same of the launch as the execution did.
    const char *one = strstr(live, "\"launches\": ["), *two = strstr(again, "\"launches\": [");
    assert_non_null(one);
    assert_non_null(two);
    const char *end = strstr(one, "\"kernels\"");
    assert_non_null(end);
    assert_memory_equal(one, two, (size_t)(end - one));
    orr_string_free(live);
    orr_string_free(again);
    unlink(path);

    assert_null(orr_run("no_such_workload", NULL, ORR_TEXT, &e));
    assert_int_equal(e.status, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_agree),
        cmocka_unit_test(a_kernel_runs_on_a_device),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(gpus_are_described),
        cmocka_unit_test(workloads_run_and_are_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
