// The one loop over an INPUT: which launches a visitor is given, whatever the INPUT is; how a launch is made
// to fit a GPU; values of a report by their place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/api.h"
#include "capture/capture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-input-XXXXXX";

static const char *file(const char *name, const char *text) {
    static char path[2][200];
    static int n;
    char *p = path[n++ % 2];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    FILE *f = text ? fopen(p, "w") : NULL;
    if (f) {
        fputs(text, f);
        fclose(f);
    }
    return p;
}

// Adds 1 to n words; launched with n threads in blocks of 32, four times: one, two, three, four blocks.
static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry up(.param .u64 x) { .reg .b64 %d<4>; .reg .b32 %r<6>;\n"
    "  ld.param.u64 %d1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r4, %ctaid.x;\n"
    "  mad.lo.u32 %r5, %r4, 32, %r1; mul.wide.u32 %d2, %r5, 4; add.u64 %d3, %d1, %d2;\n"
    "  ld.global.u32 %r2, [%d3]; add.u32 %r3, %r2, 1; st.global.u32 [%d3], %r3; ret; }\n"
    ".visible .entry idle() { ret; }\n";
static const char script[] = "module \"up.ptx\"\nsize small n = 4\nbuffer x u32[128]\n"
                             "for k = 1 to n\n  launch up grid k block 32 args x\nend\n"
                             "launch idle grid 1 block 1\n"
                             "expect x expr 4 - i / 32\n";

static int make_files(void **state) {
    (void)state;
    if (!mkdtemp(dir)) return 1;
    file("up.ptx", ptx);
    file("up.launch", script);
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command);
}

typedef struct seen {
    uint32_t grids[8];
    int n;
    orr_stream_writer *writer; // NULL: nothing is recorded
} seen;

static bool write_block(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    (void)worker;
    return orr_stream_block(arg, tb, e);
}

static bool note(void *arg, orr_work *w, orr_err *e) {
    seen *s = arg;
    s->grids[s->n++] = w->info.grid[0];
    if (!w->launch) return true;
    if (!s->writer) return orr_exec_run(w->launch, 1, false, NULL, NULL, NULL, e);
    return orr_stream_begin(s->writer, &w->info, e) &&
           orr_exec_run(w->launch, 1, true, write_block, s->writer, NULL, e) && orr_stream_end(s->writer, e);
}

static bool go(const char *name, const orr_input_options *o, seen *s, orr_input *in, orr_err *e) {
    *in = (orr_input){.name = name, .o = o, .check = true, .work = note, .arg = s};
    return orr_input_run(in, e);
}

static void a_script_and_its_stream(void **state) {
    (void)state;
    orr_err e = {0};
    orr_input in;
    orr_input_options o = {.threads = 1};
    seen s = {.writer = orr_stream_create(file("up.orr", NULL), &e)};
    if (!go(file("up.launch", NULL), &o, &s, &in, &e)) fail_msg("%s", e.text);
    assert_int_equal(in.seen, 5);
    assert_int_equal(in.chosen, 5);
    assert_int_equal(in.stats.checked, 1);
    assert_string_equal(in.size, "small");
    assert_string_equal(in.source, "ptx");
    assert_int_equal(s.grids[3], 4);
    assert_true(orr_stream_commit(s.writer, &e));
    orr_input_close(&in);

    // The same launches, without the program.
    seen again = {0};
    assert_true(go(file("up.orr", NULL), &o, &again, &in, &e));
    assert_int_equal(in.seen, 5);
    assert_string_equal(in.source, "trace");
    assert_memory_equal(again.grids, s.grids, sizeof s.grids);
    orr_input_close(&in);

    // What is recorded is taken as it is.
    o.size = "small";
    assert_false(go(file("up.orr", NULL), &o, &again, &in, &e));
    assert_int_equal(e.status, 2);
    orr_input_close(&in);
}

// Launches that were not chosen are executed all the same: the buffer is right in the end.
static void some_are_chosen(void **state) {
    (void)state;
    static const char *const sets[] = {"n=2"};
    orr_err e = {0};
    orr_input in;
    seen s = {0};
    orr_input_options o = {.threads = 1, .launches = "1,3-", .kernels = "u*"};
    if (!go(file("up.launch", NULL), &o, &s, &in, &e)) fail_msg("%s", e.text);
    assert_int_equal(in.seen, 5);
    assert_int_equal(in.chosen, 2);
    assert_true(s.n == 2 && s.grids[0] == 2 && s.grids[1] == 4);
    assert_int_equal(in.stats.checked, 1);
    orr_input_close(&in);

    o = (orr_input_options){.threads = 1, .kernels = "down"};
    assert_false(go(file("up.launch", NULL), &o, &s, &in, &e));
    assert_non_null(strstr(e.text, "choose none of its launches; there are 5"));
    orr_input_close(&in);
    e = (orr_err){0};
    s = (seen){0};
    o = (orr_input_options){.threads = 1, .sets = sets, .nsets = 1};
    assert_false(go(file("up.launch", NULL), &o, &s, &in, &e)); // two launches of `up`: element 0 is 2, not 4
    assert_int_equal(e.status, 1);
    assert_int_equal(s.n, 3);
    orr_input_close(&in);
}

static bool no_more(void *arg, const orr_status *s) {
    (void)arg;
    (void)s;
    return false;
}

// The watcher is asked when a job begins; it is heeded before the first launch.
static void it_can_be_stopped(void **state) {
    (void)state;
    orr_err e = {0};
    orr_input_options o = {.threads = 1};
    seen s = {0};
    orr_progress p;
    orr_progress_start(&p, (orr_watcher){no_more, NULL}, "up", "launches", "blocks", 0);
    orr_input in = {.name = file("up.launch", NULL), .o = &o, .progress = &p, .work = note, .arg = &s};
    assert_false(orr_input_run(&in, &e));
    assert_int_equal(e.status, ORR_STOPPED);
    assert_int_equal(s.n, 0);
    orr_input_close(&in);
    orr_progress_end(&p);
}

static bool note_status(void *arg, const orr_status *s) {
    *(orr_status *)arg = *s;
    return true;
}

// One of four thread blocks has ended, and half of another's work is done.
static void parts_that_have_begun(void **state) {
    (void)state;
    orr_status last = {0};
    orr_progress p;
    orr_progress_start(&p, (orr_watcher){note_status, &last}, "up", "launches", "blocks", 0);
    orr_progress_parts(&p, 4);
    orr_progress_part(&p, 1);
    orr_progress_begun(&p, 0.5);
    orr_progress_end(&p);
    assert_int_equal(last.part, 1);
    assert_int_equal(last.parts, 4);
    assert_float_equal(last.begun, 0.5, 0);
    assert_true(last.ended);
}

// An H200 (programming guide, compute capability 9.0): 2048 threads, 32 blocks, 65536 registers and 228 KB of
// shared memory an SM, at most 227 KB of it for a block, of which 1 KB is taken by the system.
static void launches_fit(void **state) {
    (void)state;
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("h200", NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    orr_kernel k = {.name = "k", .regs = 32};
    orr_launch l = {.kernel = &k, .grid = {1, 1, 1}, .block = {256, 1, 1}};
    assert_true(orr_launch_prepare(&l, g, &e));
    assert_int_equal(l.sm_count, 132);
    assert_int_equal(l.resident, 8 * 132); // 2048 / 256
    k.regs = 64;
    assert_true(orr_launch_prepare(&l, g, &e));
    assert_int_equal(l.resident, 4 * 132); // 65536 / (256 x 64)
    l.dynamic_shared = 100 << 10;
    assert_true(orr_launch_prepare(&l, g, &e));
    assert_int_equal(l.resident, 2 * 132); // 228 / 101
    l.dynamic_shared = 228 << 10;
    assert_false(orr_launch_prepare(&l, g, &e));
    e = (orr_err){0};
    orr_launch_info info = {.kernel = &k, .grid = {1, 1, 1}, .block = {256, 1, 1}};
    assert_true(orr_launch_possible(g, &info, &e));
    info.dynamic_shared = 228 << 10;
    assert_false(orr_launch_possible(g, &info, &e));
    l = (orr_launch){.kernel = &k, .grid = {1, 1, 1}, .block = {256, 1, 1}};
    e = (orr_err){0};
    assert_true(orr_launch_prepare(&l, NULL, &e)); // no GPU, nothing to fit
    assert_int_equal(l.sm_count, 0);
    orr_gpu_free(g);
}

// RFC 8259 and RFC 6901, section 5: its own example of keys with ~ and /.
static void json_places(void **state) {
    (void)state;
    orr_arena a = {0};
    const orr_json *j =
        orr_json_parse("{\"foo\": [\"bar\", \"b\\u00e4\\n\"], \"\": 0, \"a/b\": 1, \"m~n\": 8,\n"
                       " \"x\": {\"y.z\": -2.5e3, \"no\": null, \"yes\": true}, \"e\": []}",
                       &a);
    assert_non_null(j);
    assert_string_equal(orr_json_string(orr_json_at(j, "/foo/0")), "bar");
    assert_string_equal(orr_json_string(orr_json_at(j, "/foo/1")), "b\xc3\xa4\n");
    assert_true(orr_json_number(orr_json_at(j, "/")) == 0);
    assert_true(orr_json_number(orr_json_at(j, "/a~1b")) == 1);
    assert_true(orr_json_number(orr_json_at(j, "/m~0n")) == 8);
    assert_true(orr_json_number(orr_json_at(j, "/x/y.z")) == -2500);
    assert_true(orr_json_number(orr_json_at(j, "/x/yes")) == 1);
    assert_true(isnan(orr_json_number(orr_json_at(j, "/x/no"))));
    assert_int_equal(orr_json_count(j), 6);
    assert_int_equal(orr_json_count(orr_json_at(j, "/e")), 0);
    static const char *const nothing[] = {"foo", "/foo/2", "/foo/-1", "/foo/00x", "/bar", "/foo/0/0", "/x/"};
    for (size_t k = 0; k < sizeof nothing / sizeof *nothing; k++) assert_null(orr_json_at(j, nothing[k]));
    static const char *const bad[] = {"",        "{",        "[1,]",  "{\"a\" 1}", "{1: 2}", "\"",
                                      "\"\\q\"", "\"\\u1\"", "[1] 2", "nul",       "-",      "[1 2]"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        if (orr_json_parse(bad[k], &a)) fail_msg("taken for JSON: %s", bad[k]);
    char deep[300];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    assert_null(orr_json_parse(deep, &a));
    orr_arena_free(&a);
}

// A captured kernel that launches others (tests/app/launches.cu), with the memory that they must leave: every
// number i is 3 i + 0 + 10 + 20 more, and the last is their sum. `off` is added to it, which is then wrong.
static const char *launches(const char *name, int off) {
    enum { N = 200 };
    const uint64_t at = 0x7f0000000000, hash = 0x1234;
    const char *folder = file(name, NULL);
    static const char meta[] = "number 0\nkernel parent\nindex 0\nmodule 0000000000001234\ngrid 1 1 1\n"
                               "block 32 1 1\ncluster 0 0 0\nshared 0\ncooperative 0\n";
    static const char regions[] = "region 7f0000000000 804\n";
    char code[20000];
    int before[N + 1] = {0}, after[N + 1] = {0};
    for (int i = 0; i < N; i++) after[N] += after[i] = 3 * i + 30;
    after[N] += off;
    struct {
        uint64_t p;
        int n;
    } params = {at, N};
    FILE *f = fopen(ORRERY_SOURCE_DIR "/tests/app/launches.cubin", "rb");
    size_t n = f ? fread(code, 1, sizeof code, f) : 0;
    if (f) fclose(f);
    orr_err e = {0};
    orr_capture_writer *w = orr_capture_create(folder, "a GPU\n", &e);
    bool ok = w && orr_capture_module(w, hash, code, n, &e) && orr_capture_begin(w, 0, &e);
    if (!ok) fail_msg("%s", e.text);
    orr_capture_put(w, CHUNK_META, meta, sizeof meta - 1);
    orr_capture_put(w, CHUNK_PARAMS, &params, sizeof params.p + sizeof params.n);
    orr_capture_piece(w, CHUNK_BEFORE, at, before, sizeof before);
    orr_capture_piece(w, CHUNK_AFTER, at, after, sizeof after);
    orr_capture_put(w, CHUNK_REGIONS, regions, sizeof regions - 1);
    if (!orr_capture_end(w, &e)) fail_msg("%s", e.text);
    orr_capture_close(w);
    return folder;
}

static void captured_launches_from_kernels(void **state) {
    (void)state;
    orr_err e = {0};
    orr_input in;
    orr_input_options o = {.threads = 1};
    seen s = {0};
    if (!go(launches("right", 0), &o, &s, &in, &e)) fail_msg("%s", e.text);
    assert_int_equal(in.stats.checked, 1);
    assert_int_equal(s.n, 5); // the parent, three children of four blocks, the tail
    assert_int_equal(s.grids[3], 4);
    assert_int_equal(s.grids[4], 1);
    orr_input_close(&in);
    assert_false(go(launches("wrong", 1), &o, &(seen){0}, &in, &e));
    assert_non_null(strstr(e.text, "1 of 1 launches left other memory than on the GPU"));
    orr_input_close(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_and_its_stream),
        cmocka_unit_test(some_are_chosen),
        cmocka_unit_test(it_can_be_stopped),
        cmocka_unit_test(parts_that_have_begun),
        cmocka_unit_test(launches_fit),
        cmocka_unit_test(json_places),
        cmocka_unit_test(captured_launches_from_kernels),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
