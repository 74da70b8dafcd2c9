// The functional model on hand-made streams whose every figure is counted by hand, and, through a file,
// the same figures again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exec/exec.h"
#include "model/model.h"
#include "ptx/ptx.h"
#include "report/report.h"
#include "stream_rig.h"

#include <stdio.h>
#include <unistd.h>

#define ALL 0xffffffffu

// ---- a source of hand-made traces -------------------------------------------------------------------------
typedef struct hand {
    orr_source base;
    orr_trace_out warp[8];
    uint32_t nwarps; // one thread block
    bool given;
    orr_warp_trace views[8];
} hand;

static int hand_next(orr_source *s, orr_tb *tb, orr_err *e) {
    (void)e;
    hand *h = (hand *)s;
    if (h->given) return 0;
    h->given = true;
    for (uint32_t i = 0; i < h->nwarps; i++) h->views[i] = (orr_warp_trace){h->warp[i].bytes, h->warp[i].n};
    *tb = (orr_tb){0, h->nwarps, h->views};
    return 1;
}
static void hand_close(orr_source *s) { (void)s; }

static void strided(uint64_t addr[32], uint64_t base, uint64_t stride) {
    for (uint64_t i = 0; i < 32; i++) addr[i] = base + i * stride;
}

static void event(hand *h, int warp, uint32_t block, uint32_t mask, uint32_t amask, uint64_t base,
                  uint64_t stride) {
    uint64_t addr[32];
    strided(addr, base, stride);
    orr_trace_put_block(&h->warp[warp], block, mask);
    orr_trace_put_access(&h->warp[warp], amask, addr);
}

// Three warps (blocks of the rig: 0 = mov ld bra, 1 = @q st.shared.v2; fma, 2 = atom.generic; exit):
//   warp 0  all lanes 0 -> 2: a uniform branch, taken
//   warp 1  all lanes 0, lanes 0-15 then run 1, all meet in 2: divergent
//   warp 2  8 lanes 0 -> 1 -> 2: uniform, not taken; the store is switched off for lanes 4-7
static void three_warps(hand *h, const orr_kernel *k) {
    memset(h, 0, sizeof *h);
    h->base.info = (orr_launch_info){.kernel = k, .grid = {1, 1, 1}, .block = {96, 1, 1}};
    h->base.next = hand_next;
    h->base.close = hand_close;
    h->nwarps = 3;
    event(h, 0, 0, ALL, ALL, ORR_GLOBAL_BASE, 4);          // 4 sectors, 4 would do
    event(h, 0, 2, ALL, ALL, ORR_SHARED_WINDOW, 0);        // shared atomics on one word: 32 passes
    event(h, 1, 0, ALL, ALL, ORR_GLOBAL_BASE + 4096, 128); // 32 sectors, 4 would do
    event(h, 1, 1, 0x0000ffff, 0x0000ffff, 0, 8);          // one half warp: a phase, no conflict
    event(h, 1, 2, ALL, ALL, ORR_GLOBAL_BASE + 8192, 4);   // 4 sectors
    event(h, 2, 0, 0xff, 0xff, ORR_GLOBAL_BASE + 16, 4);   // bytes 16..47: 2 sectors, 1 would do
    event(h, 2, 1, 0xff, 0x0f, 0, 128);                    // four lanes on the same two banks: 4 passes
    event(h, 2, 2, 0xff, 0x01, ORR_LOCAL_WINDOW + 4, 0);   // one lane, local: 1 sector
}

static void free_hand(hand *h) {
    for (uint32_t i = 0; i < h->nwarps; i++) free(h->warp[i].bytes);
}

static void run_hand(hand *h, orr_result *r) {
    orr_err e = {0};
    orr_work w = {.info = h->base.info, .source = &h->base, .threads = 1};
    assert_true(orr_model_functional.run(NULL, &w, r, &e));
}

static void counters_by_hand(void **state) {
    (void)state;
    rig g;
    assert_true(rig_make(&g));
    hand h;
    three_warps(&h, &g.kernel);
    orr_result r = {0};
    run_hand(&h, &r);
    assert_int_equal(r.launches.n, 1);
    const orr_launch_result *l = &r.launches.at[0];
    const double *c = l->counters;
    // blocks 0, 1, 2 have 3, 2, 2 instructions; runs 3, 2, 3; lanes 72, 24, 72
    assert_int_equal(l->warp_insts, 3 * 3 + 2 * 2 + 3 * 2);
    assert_int_equal(l->thread_insts, 72 * 3 + 24 * 2 + 72 * 2);
    assert_true(c[ORR_C_INST] == 19);
    assert_true(c[ORR_C_THREAD_INST] == 408);
    // off: branches not taken by 16 + 8 lanes; the guarded store by 4
    assert_true(c[ORR_C_THREAD_INST_ON] == 408 - 24 - 4);
    assert_true(c[ORR_C_BRANCHES] == 3);
    assert_true(c[ORR_C_BRANCHES_DIVERGENT] == 1);
    assert_true(c[ORR_C_BRANCHES_UNIFORM] == 2);
    assert_true(c[ORR_C_BRANCH] == 3);
    assert_true(c[ORR_C_GLOBAL_LD_REQ] == 3);
    assert_true(c[ORR_C_GLOBAL_LD_SECT] == 4 + 32 + 2);
    assert_true(c[ORR_C_GLOBAL_LD_IDEAL] == 4 + 4 + 1);
    assert_true(c[ORR_C_GLOBAL_LD_BYTES] == 72 * 4);
    assert_true(c[ORR_C_GLOBAL_ATOM_REQ] == 0); // nobody reads its result: a reduction
    assert_true(c[ORR_C_GLOBAL_RED_REQ] == 1);
    assert_true(c[ORR_C_GLOBAL_RED_SECT] == 4);
    assert_true(c[ORR_C_GLOBAL_ATOM_BYTES] == 128);
    assert_true(c[ORR_C_SHARED_ATOM] == 1);
    assert_true(c[ORR_C_SHARED_ATOM_CONF] == 31);
    assert_true(c[ORR_C_SHARED_ST] == 2);
    assert_true(c[ORR_C_SHARED_ST_PASS] == 1 + 4);
    assert_true(c[ORR_C_SHARED_ST_CONF] == 3);
    assert_true(c[ORR_C_SHARED_ST_BYTES] == (16 + 4) * 8);
    assert_true(c[ORR_C_FFMA] == 24);
    assert_true(c[ORR_C_PIPE_FMA] == 2);
    assert_true(c[ORR_C_PIPE_LSU] == 3 + 2 + 3);
    assert_true(c[ORR_C_PIPE_ALU] == 3);
    assert_true(c[ORR_C_PIPE_CBU] == 3 + 3);
    assert_true(c[ORR_C_BARRIERS] == 0);

    orr_sums s;
    orr_sums_make(r.profiles.at[0], &s);
    assert_int_equal(s.warp, 19);
    assert_int_equal(s.thread, 408);
    assert_int_equal(s.active[0], 3 + 2 + 2); // 8 lanes: warp 2
    assert_int_equal(s.active[1], 2);         // 16 lanes
    assert_int_equal(s.active[4], 10);
    assert_int_equal(s.divergent, 1);
    assert_int_equal(s.atomics, 3);
    assert_int_equal(s.mem[ORR_SPACE_GLOBAL][ORR_MEM_LD].sectors, 38);
    assert_int_equal(s.mem[ORR_SPACE_LOCAL][ORR_MEM_ATOM].requests, 1);
    assert_int_equal(s.mem[ORR_SPACE_SHARED][ORR_MEM_ST].passes, 5);
    // source lines: 3 = mov ld, 4 = bra st, 5 = fma atom, 6 = exit
    assert_int_equal(s.lines.n, 4);
    assert_int_equal(s.lines.at[0].line, 3);
    assert_int_equal(s.lines.at[0].warp, 6);
    assert_int_equal(s.lines.at[0].sectors, 38);
    uint64_t warp = 0;
    for (size_t i = 0; i < s.lines.n; i++) warp += s.lines.at[i].warp;
    assert_int_equal(warp, 19);
    orr_sums_free(&s);
    free_hand(&h);
    orr_result_free(&r);
    rig_free(&g);
}

// A divergent branch whose halves run apart for a while, and another branch inside one half.
static void nested_divergence(void **state) {
    (void)state;
    rig g;
    assert_true(rig_make(&g));
    hand h;
    memset(&h, 0, sizeof h);
    h.nwarps = 1;
    h.base.info = (orr_launch_info){.kernel = &g.kernel, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    h.base.next = hand_next;
    event(&h, 0, 0, ALL, 0, 0, 0);        // A: splits 16 / 16
    event(&h, 0, 1, 0x0000ffff, 0, 0, 0); //    first half
    event(&h, 0, 0, 0x0000ffff, 0, 0, 0); // B: of the first half, splits 8 / 8
    event(&h, 0, 1, 0x000000ff, 0, 0, 0); //
    event(&h, 0, 0, 0xffff0000, 0, 0, 0); // C: the second half of A comes back here, and stays together
    event(&h, 0, 2, 0xffffff00, 0, 0, 0); //    with the second half of B
    event(&h, 0, 2, 0x000000ff, 0, 0, 0);
    h.base.close = hand_close;
    orr_result r = {0};
    run_hand(&h, &r);
    const double *c = r.launches.at[0].counters;
    assert_true(c[ORR_C_BRANCHES] == 3);
    assert_true(c[ORR_C_BRANCHES_DIVERGENT] == 2); // A and B
    // taken (to block 2): 0 lanes of A, 8 of B, 16 of C
    assert_int_equal(r.profiles.at[0]->blocks[0].taken, 24);
    free_hand(&h);
    orr_result_free(&r);
    rig_free(&g);
}

static void damaged_stream(void **state) {
    (void)state;
    rig g;
    assert_true(rig_make(&g));
    hand h;
    three_warps(&h, &g.kernel);
    h.warp[1].n -= 3;
    orr_result r = {0};
    orr_err e = {0};
    orr_work w = {.info = h.base.info, .source = &h.base, .threads = 1};
    assert_false(orr_model_functional.run(NULL, &w, &r, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_non_null(strstr(e.text, "warp 1"));
    free_hand(&h);
    orr_result_free(&r);
    rig_free(&g);
}

static char *json_of(orr_result *r) {
    orr_text t = {0};
    orr_report_options o = {.lines = true};
    r->host = (orr_host){0};
    orr_report_json(r, &o, &t);
    return t.s;
}

// The same launch from a file: the same text to the last digit.
static void same_from_file(void **state) {
    (void)state;
    rig g;
    assert_true(rig_make(&g));
    hand h;
    three_warps(&h, &g.kernel);
    orr_result direct = {.gpu = "none", .model = "functional", .source = "trace", .input = "x"};
    run_hand(&h, &direct);
    char path[64];
    snprintf(path, sizeof path, "/tmp/orrery-test-functional-%ld.orr", (long)getpid());
    orr_err e = {0};
    orr_stream_writer *w = orr_stream_create(path, &e);
    if (!w) { // built without zstd
        free_hand(&h);
        orr_result_free(&direct);
        rig_free(&g);
        skip();
    }
    orr_tb tb;
    h.given = false;
    assert_true(orr_stream_begin(w, &h.base.info, &e));
    assert_int_equal(hand_next(&h.base, &tb, &e), 1);
    assert_true(orr_stream_block(w, &tb, &e) && orr_stream_end(w, &e) && orr_stream_commit(w, &e));
    orr_stream_file *f = orr_stream_open(path, &e);
    orr_source *s = orr_stream_next_launch(f, &e);
    orr_result replayed = {.gpu = "none", .model = "functional", .source = "trace", .input = "x"};
    orr_work work = {.info = s->info, .source = s, .threads = 1};
    assert_true(orr_model_functional.run(NULL, &work, &replayed, &e));
    assert_null(orr_stream_next_launch(f, &e));
    assert_int_equal(e.status, 0);
    char *a = json_of(&direct), *b = json_of(&replayed);
    assert_string_equal(a, b);
    free(a);
    free(b);
    orr_result_free(&replayed);
    orr_stream_close(f);
    unlink(path);
    free_hand(&h);
    orr_result_free(&direct);
    rig_free(&g);
}

// ---- from PTX to figures
// ----------------------------------------------------------------------------------- Three blocks of two
// warps. Per warp: a store to shared memory at a stride of two words (two passes), a barrier, a branch that 8
// of 32 lanes take, a reduction at a stride of 64 bytes (32 sectors), a store of 8 lanes to one word (1
// sector).
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry k(.param .u64 p)\n{\n"
                          ".reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
                          ".shared .align 4 .b8 s[512];\n"
                          "ld.param.u64 %rd1, [p];\n"
                          "mov.u32 %r1, %tid.x;\n"
                          "mov.u32 %r2, %ctaid.x;\n"
                          "shl.b32 %r3, %r1, 3;\n"
                          "mov.u32 %r4, s;\n"
                          "add.s32 %r4, %r4, %r3;\n"
                          "st.shared.u32 [%r4], %r1;\n"
                          "bar.sync 0;\n"
                          "and.b32 %r5, %r1, 3;\n"
                          "setp.eq.s32 %p1, %r5, 0;\n"
                          "@%p1 bra SKIP;\n"
                          "add.s32 %r1, %r1, 0;\n"
                          "SKIP:\n"
                          "mad.lo.s32 %r6, %r2, 64, %r1;\n"
                          "mul.wide.s32 %rd2, %r6, 64;\n"
                          "add.s64 %rd3, %rd1, %rd2;\n"
                          "red.global.add.u32 [%rd3], 1;\n"
                          "@%p1 st.global.u32 [%rd1], %r1;\n"
                          "ret;\n}\n";

static void executed(void **state) {
    (void)state;
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("t.ptx", ptx, sizeof ptx - 1, &e);
    assert_non_null(m);
    orr_kernel *k = m->load(m, "k", &e);
    assert_non_null(k);
    orr_mem *mem = orr_mem_new(&e);
    orr_image *image = orr_image_load(mem, m, &e);
    uint64_t p = orr_mem_alloc(mem, 192 * 64, "p", &e);
    assert_true(p != 0);
    orr_launch l = {.kernel = k,
                    .image = image,
                    .mem = mem,
                    .grid = {3, 1, 1},
                    .block = {64, 1, 1},
                    .params = (uint8_t *)&p};
    char *text[3];
    for (int threads = 1; threads <= 3; threads++) {
        orr_result r = {.gpu = "none", .model = "functional", .source = "ptx", .input = "t"};
        orr_work w = {
            .info = {.kernel = k, .grid = {3, 1, 1}, .block = {64, 1, 1}}, .launch = &l, .threads = threads};
        assert_true(orr_model_functional.run(NULL, &w, &r, &e));
        const orr_launch_result *x = &r.launches.at[0];
        const double *c = x->counters;
        // per warp 8 + 3 + 1 + 6 instructions, all lanes in 17 of them, 24 in one
        assert_int_equal(x->warp_insts, 6 * 18);
        assert_int_equal(x->thread_insts, 6 * (17 * 32 + 24));
        assert_true(c[ORR_C_THREAD_INST_ON] == 6 * (17 * 32 + 24 - 24 - 24)); // the branch, the last store
        assert_true(c[ORR_C_BRANCHES] == 6 && c[ORR_C_BRANCHES_DIVERGENT] == 6);
        assert_true(c[ORR_C_BARRIERS] == 6);
        assert_true(c[ORR_C_SHARED_ST] == 6 && c[ORR_C_SHARED_ST_PASS] == 12 && c[ORR_C_SHARED_ST_CONF] == 6);
        assert_true(c[ORR_C_GLOBAL_RED_REQ] == 6 && c[ORR_C_GLOBAL_RED_SECT] == 6 * 32);
        assert_true(c[ORR_C_GLOBAL_ST_REQ] == 6 && c[ORR_C_GLOBAL_ST_SECT] == 6 &&
                    c[ORR_C_GLOBAL_ST_BYTES] == 6 * 32);
        text[threads - 1] = json_of(&r);
        orr_result_free(&r);
    }
    assert_string_equal(text[0], text[1]); // whatever the number of threads
    assert_string_equal(text[0], text[2]);
    for (int i = 0; i < 3; i++) free(text[i]);
    orr_exec_counts counts;
    assert_true(orr_exec_run(&l, 1, false, NULL, NULL, &counts, &e)); // and the executor's own count agrees
    assert_int_equal(counts.warp_insts, 6 * 18);
    assert_int_equal(counts.thread_insts, 6 * (17 * 32 + 24));
    orr_image_free(mem, image);
    orr_mem_delete(mem);
    m->free(m);
}

// ---- the rest
// ----------------------------------------------------------------------------------------------
static void unknown_model(void **state) {
    (void)state;
    orr_err e = {0};
    assert_null(orr_model_find("wishful", &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_non_null(strstr(e.text, "functional"));
    assert_ptr_equal(orr_model_find("functional", &e), &orr_model_functional);
}

// docs/counters.md has the table as the program has it.
static void counters_documented(void **state) {
    (void)state;
    orr_err e = {0};
    size_t n;
    char *doc = orr_read_file(ORRERY_SOURCE_DIR "/docs/counters.md", 1 << 20, &n, &e);
    assert_non_null(doc);
    orr_text t = {0};
    orr_report_counters(&t);
    assert_non_null(strstr(doc, t.s));
    free(t.s);
    free(doc);
    for (int i = 0; i < ORR_COUNTERS; i++)
        for (int j = 0; j < i; j++) assert_string_not_equal(orr_counters[i].name, orr_counters[j].name);
}

// Brackets and quotes balance, in every report, also of a result with nothing in it.
static void check_json(const char *s) {
    int depth = 0;
    bool quoted = false;
    for (; *s; s++) {
        if (quoted) {
            if (*s == '\\')
                s++;
            else if (*s == '"')
                quoted = false;
            continue;
        }
        if (*s == '"') quoted = true;
        if (*s == '{' || *s == '[') depth++;
        if (*s == '}' || *s == ']') assert_true(--depth >= 0);
        assert_true(strncmp(s, "nan", 3) && strncmp(s, "inf", 3));
    }
    assert_int_equal(depth, 0);
    assert_false(quoted);
}

static void empty_result(void **state) {
    (void)state;
    orr_result r = {.gpu = "g\"pu", .model = "functional", .source = "ptx", .input = "x\ny"};
    char *s = json_of(&r);
    check_json(s);
    assert_non_null(strstr(s, "\"g\\\"pu\""));
    free(s);
    orr_text t = {0};
    orr_report_options o = {0};
    orr_report_text(&r, &o, &t);
    assert_non_null(strstr(t.s, "0 launches"));
    free(t.s);
    orr_result_free(&r);
}

static void text_report(void **state) {
    (void)state;
    rig g;
    assert_true(rig_make(&g));
    hand h;
    three_warps(&h, &g.kernel);
    orr_result r = {.gpu = "none", .model = "functional", .source = "trace", .input = "x"};
    run_hand(&h, &r);
    orr_text t = {0};
    orr_report_options o = {.lines = true};
    orr_report_text(&r, &o, &t);
    assert_non_null(strstr(t.s, "kernel rig"));
    assert_non_null(strstr(t.s, "rig.cu:3"));
    assert_null(strchr(t.s, 27)); // no colour unless asked for
    free(t.s);
    char *s = json_of(&r);
    check_json(s);
    free(s);
    free_hand(&h);
    orr_result_free(&r);
    rig_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_by_hand),
        cmocka_unit_test(nested_divergence),
        cmocka_unit_test(damaged_stream),
        cmocka_unit_test(same_from_file),
        cmocka_unit_test(executed),
        cmocka_unit_test(unknown_model),
        cmocka_unit_test(counters_documented),
        cmocka_unit_test(empty_result),
        cmocka_unit_test(text_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
