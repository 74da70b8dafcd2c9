// The functional model on hand-made streams whose every figure is counted by hand, and, through a file,
// the same figures again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exec/exec.h"
#include "launch/launch.h"
#include "model/model.h"
#include "ptx/ptx.h"
#include "report/report.h"
#include "stream_rig.h"

#include <stdio.h>
#include <unistd.h>

#define ALL 0xffffffffu

// ---- a source of hand-made traces ------------------------------------------------------------
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

static void visit(hand *h, int warp, uint32_t block, uint32_t mask, uint32_t amask, uint64_t base,
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
    visit(h, 0, 0, ALL, ALL, ORR_GLOBAL_BASE, 4);          // 4 sectors, 4 would do
    visit(h, 0, 2, ALL, ALL, ORR_SHARED_WINDOW, 0);        // shared atomics on one word: 32 passes
    visit(h, 1, 0, ALL, ALL, ORR_GLOBAL_BASE + 4096, 128); // 32 sectors, 4 would do
    visit(h, 1, 1, 0x0000ffff, 0x0000ffff, 0, 8);          // one half warp: a phase, no conflict
    visit(h, 1, 2, ALL, ALL, ORR_GLOBAL_BASE + 8192, 4);   // 4 sectors
    visit(h, 2, 0, 0xff, 0xff, ORR_GLOBAL_BASE + 16, 4);   // bytes 16..47: 2 sectors, 1 would do
    visit(h, 2, 1, 0xff, 0x0f, 0, 128);                    // four lanes on the same two banks: 4 passes
    visit(h, 2, 2, 0xff, 0x01, ORR_LOCAL_WINDOW + 4, 0);   // one lane, local: 1 sector
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
    visit(&h, 0, 0, ALL, 0, 0, 0);        // A: splits 16 / 16
    visit(&h, 0, 1, 0x0000ffff, 0, 0, 0); //    first half
    visit(&h, 0, 0, 0x0000ffff, 0, 0, 0); // B: of the first half, splits 8 / 8
    visit(&h, 0, 1, 0x000000ff, 0, 0, 0); //
    visit(&h, 0, 0, 0xffff0000, 0, 0, 0); // C: the second half of A comes back here, and stays together
    visit(&h, 0, 2, 0xffffff00, 0, 0, 0); //    with the second half of B
    visit(&h, 0, 2, 0x000000ff, 0, 0, 0);
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
    orr_result_json(r, &o, &t);
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

// ---- from PTX to figures ---------------------------------------------------------------------
// Three blocks of two warps. Per warp: a store to shared memory at a stride of two words (two passes), a
// barrier, a branch that 8 of 32 lanes take, a reduction at a stride of 64 bytes (32 sectors), a store of 8
// lanes to one word (1 sector).
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
    assert_true(orr_exec_run(&l, 1, NULL, &counts, &e)); // and the executor's own count agrees
    assert_int_equal(counts.warp_insts, 6 * 18);
    assert_int_equal(counts.thread_insts, 6 * (17 * 32 + 24));
    orr_image_free(mem, image);
    orr_mem_delete(mem);
    m->free(m);
}

// ---- bundled workloads, counted on paper -----------------------------------------------------
// Buffers start at multiples of 256 bytes and a sector has 32, so that the figures follow from the sources
// in workloads/ and the small size of each script.
typedef struct paper {
    orr_result result;
    orr_script *script;
    double c[ORR_COUNTERS]; // all launches together
} paper;

static bool paper_launch(void *arg, orr_launch *l, const orr_call *call, orr_err *e) {
    paper *b = arg;
    orr_work w = {.info = {.kernel = l->kernel, .index = call->index}, .launch = l, .threads = 2};
    memcpy(w.info.grid, l->grid, sizeof l->grid);
    memcpy(w.info.block, l->block, sizeof l->block);
    if (!orr_model_functional.run(NULL, &w, &b->result, e)) return false;
    for (int i = 0; i < ORR_COUNTERS; i++)
        b->c[i] += b->result.launches.at[b->result.launches.n - 1].counters[i];
    return true;
}

static void paper_start(paper *b, const char *name) {
    char path[400];
    orr_err e = {0};
    *b = (paper){.result = {.model = "functional", .source = "ptx", .input = name}};
    snprintf(path, sizeof path, ORRERY_SOURCE_DIR "/workloads/%s/%s.launch", name, name);
    b->script = orr_script_load(path, "small", NULL, 0, &e);
    if (!b->script) fail_msg("%s", e.text);
    assert_true(orr_script_source(b->script, "ptx", 0, &e)); // what is counted on paper is PTX
    orr_cpu *cpu = orr_cpu_new(paper_launch, b, &e);
    orr_backend backend = orr_cpu_backend(cpu);
    if (!orr_script_run(b->script, &backend, true, NULL, &e)) fail_msg("%s", e.text);
    orr_cpu_delete(cpu);
}

static void paper_end(paper *b) {
    orr_result_free(&b->result);
    orr_script_free(b->script);
}

static void check(const paper *b, int counter, double want) {
    if (b->c[counter] != want)
        fail_msg("%s: %s is %.0f, not %.0f", b->result.input, orr_counters[counter].name, b->c[counter],
                 want);
}

// Recursion from machine code: fib with arguments 0 to m - 1. An H200 executes 157 instructions with m = 4
// and 431 with m = 6 (smsp__inst_executed), among them 2 and 6 BSYNCs once more, which the cycle model adds.
// With m = 6 lanes 0 and 1 go on before the others have come, because 2 and 3 were passed by.
static void recursion_parts(void **state) {
    (void)state;
    static const struct {
        const char *m;
        double insts;
    } cases[] = {{"4", 157 - 2}, {"6", 431 - 6}};
    for (int n = 0; n < 2; n++) {
        char text[200];
        orr_err e = {0};
        paper b = {.result = {.model = "functional", .source = "sass", .input = "fib"}};
        int bytes = snprintf(
            text, sizeof text,
            "module \"race\"\nbuffer out u32[32]\nlaunch fib grid 1 block 32 args out, 0, %s\n", cases[n].m);
        b.script = orr_script_parse(&(orr_script_text){.path = ORRERY_SOURCE_DIR "/micro/fib.launch",
                                                       .text = text,
                                                       .n = (size_t)bytes},
                                    &e);
        if (!b.script) fail_msg("%s", e.text);
        assert_true(orr_script_source(b.script, "sass", 90, &e));
        orr_cpu *cpu = orr_cpu_new(paper_launch, &b, &e);
        orr_backend backend = orr_cpu_backend(cpu);
        bool ran = orr_script_run(b.script, &backend, true, NULL, &e);
        if (!ran && strstr(e.text, "no libelf")) skip();
        if (!ran) fail_msg("%s", e.text);
        orr_cpu_delete(cpu);
        check(&b, ORR_C_INST, cases[n].insts);
        paper_end(&b);
    }
}

// 10,000 elements in blocks of 256: 312 warps are full, one has 16 lanes and diverges, seven have none.
// Each array is 40,000 bytes from a sector's start: 1,250 sectors.
static void streams_on_paper(void **state) {
    (void)state;
    paper b;
    paper_start(&b, "vecadd");
    check(&b, ORR_C_GLOBAL_LD_REQ, 2 * 313);
    check(&b, ORR_C_GLOBAL_LD_SECT, 2 * 1250);
    check(&b, ORR_C_GLOBAL_LD_IDEAL, 2 * 1250);
    check(&b, ORR_C_GLOBAL_LD_BYTES, 2 * 40000);
    check(&b, ORR_C_GLOBAL_ST_REQ, 313);
    check(&b, ORR_C_GLOBAL_ST_SECT, 1250);
    check(&b, ORR_C_BRANCHES, 320);
    check(&b, ORR_C_BRANCHES_DIVERGENT, 1);
    check(&b, ORR_C_FADD, 10000);

    // All of it is on line 6 of vecadd.cu, and the report shows that line.
    orr_sums s;
    orr_sums_make(b.result.profiles.at[0], &s);
    bool found = false;
    for (size_t i = 0; i < s.lines.n; i++) {
        const orr_line_sum *l = &s.lines.at[i];
        assert_non_null(strstr(l->file, "vecadd.cu"));
        assert_true(l->line >= 4 && l->line <= 7);
        if (l->line != 6) {
            assert_int_equal(l->requests, 0);
            continue;
        }
        found = true;
        assert_int_equal(l->requests, 3 * 313);
        assert_int_equal(l->sectors, 3 * 1250);
        assert_int_equal(l->branches, 320);
        assert_int_equal(l->divergent, 1);
    }
    assert_true(found);
    orr_sums_free(&s);
    orr_text t = {0};
    orr_result_text(&b.result, &(orr_report_options){.lines = true}, &t);
    const char *row = strstr(t.s, "\n  vecadd.cu:6 ");
    assert_non_null(row);
    const char *end = strchr(row + 1, '\n');
    const char *text = strstr(row, "  if (i < n) c[i] = a[i] + b[i];");
    assert_true(text && text < end);
    free(t.s);
    paper_end(&b);
}

// 100 x 70 floats. A warp reads 32 of a row of 400 bytes, which starts at byte 0 or 16 of a sector by turns:
// 4 or 5 sectors three times and one for the last 4 lanes. Written straight, each lane has a sector of its
// own, 280 bytes from the next. Through a tile, rows of 280 bytes start at bytes 0, 24, 16 and 8 of a sector:
// two pieces of 128 bytes take 4 and 5, 5, 5, the last 24 bytes 1, 2, 2 and 1.
static void transposes_on_paper(void **state) {
    (void)state;
    paper b;
    double rows = 35 * ((3 * 4 + 1) + (3 * 5 + 1));
    paper_start(&b, "transpose_naive");
    check(&b, ORR_C_GLOBAL_LD_REQ, 70 * 4);
    check(&b, ORR_C_GLOBAL_LD_SECT, rows);
    check(&b, ORR_C_GLOBAL_LD_IDEAL, 70 * 13);
    check(&b, ORR_C_GLOBAL_ST_REQ, 70 * 4);
    check(&b, ORR_C_GLOBAL_ST_SECT, 7000);
    check(&b, ORR_C_BRANCHES_DIVERGENT, 70); // the warps with the last 4 of a row
    paper_end(&b);
    paper_start(&b, "transpose_tiled");
    check(&b, ORR_C_GLOBAL_LD_REQ, 70 * 4);
    check(&b, ORR_C_GLOBAL_LD_SECT, rows);
    check(&b, ORR_C_GLOBAL_ST_REQ, 100 * 3);
    check(&b, ORR_C_GLOBAL_ST_SECT, 25 * ((4 + 4 + 1) + (5 + 5 + 2) + (5 + 5 + 2) + (5 + 5 + 1)));
    check(&b, ORR_C_SHARED_ST, 70 * 4);
    check(&b, ORR_C_SHARED_LD, 100 * 3);
    check(&b, ORR_C_SHARED_LD_CONF, 0); // columns of a tile 33 wide
    check(&b, ORR_C_SHARED_ST_CONF, 0);
    check(&b, ORR_C_BARRIERS, 4 * 3 * 8);
    paper_end(&b);
}

// 16 x 16 x 16 cells inside 18 x 18 x 18, twice: a warp has a row of 16 lanes. Row number m starts at byte
// 8 m + 4 of a sector, so that 64 bytes take three; its neighbours to the left and right start 4 bytes before
// and after, which is a sector's start, and two are enough, for every fourth row.
static void stencil_on_paper(void **state) {
    (void)state;
    paper b;
    paper_start(&b, "stencil3d_naive");
    double warps = 2 * 16 * 16;
    check(&b, ORR_C_GLOBAL_LD_REQ, 7 * warps);
    check(&b, ORR_C_GLOBAL_LD_SECT, 7 * 3 * warps - warps / 4 - warps / 4);
    check(&b, ORR_C_GLOBAL_LD_IDEAL, 7 * 2 * warps);
    check(&b, ORR_C_GLOBAL_ST_REQ, warps);
    check(&b, ORR_C_GLOBAL_ST_SECT, 3 * warps);
    check(&b, ORR_C_BRANCHES_DIVERGENT, warps);
    paper_end(&b);
}

// 64 x 64 in tiles of 16: 16 blocks of 8 warps, 4 steps. A warp has two rows of 16: two pieces of 64 bytes.
// In shared memory it reads two words of A and 16 of B at a time: no bank has two.
static void tiles_on_paper(void **state) {
    (void)state;
    paper b;
    paper_start(&b, "sgemm_tiled");
    double warps = 16 * 8, steps = 4;
    check(&b, ORR_C_GLOBAL_LD_REQ, warps * (2 * steps + 1)); // and C once
    check(&b, ORR_C_GLOBAL_LD_SECT, 4 * warps * (2 * steps + 1));
    check(&b, ORR_C_GLOBAL_ST_SECT, 4 * warps);
    check(&b, ORR_C_SHARED_ST, warps * steps * 2);
    check(&b, ORR_C_SHARED_LD, warps * steps * 16 * 2);
    check(&b, ORR_C_SHARED_LD_PASS, warps * steps * 16 * 2);
    check(&b, ORR_C_SHARED_LD_CONF, 0);
    check(&b, ORR_C_SHARED_ST_CONF, 0);
    check(&b, ORR_C_BARRIERS, warps * steps * 2);
    check(&b, ORR_C_FFMA, 64.0 * 64 * 64 + 64 * 64); // alpha sum + beta c is the last
    check(&b, ORR_C_BRANCHES_DIVERGENT, 0);
    paper_end(&b);
}

// The graph of bfs.launch by the definitions of docs/reference/launch-scripts.md, searched here level by
// level; a warp's loads are those of its lanes in step.
enum { NODES = 4000, DEGREE = 4 };
static uint32_t first_edge[NODES + 1], edge_to[(NODES + 1) * DEGREE];
static int32_t level_of[NODES];

static void make_graph(void) {
    uint64_t seed = 14695981039346656037u; // FNV-1a of the buffer's name
    for (const char *s = "col"; *s; s++) seed = (seed ^ (uint8_t)*s) * 1099511628211u;
    for (uint64_t i = 0; i <= NODES; i++)
        first_edge[i] = (uint32_t)(i * DEGREE + ((i * 2654435761u) >> 12) % DEGREE);
    for (size_t i = 0; i < (NODES + 1) * DEGREE; i++) { // splitmix64
        uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        edge_to[i] = (uint32_t)(((unsigned __int128)z * NODES) >> 64);
    }
    for (int i = 0; i < NODES; i++) level_of[i] = i ? -1 : 0;
}

// One load by the lanes that have an index, of 4 bytes each.
static void load(double *requests, double *sectors, const int64_t index[32]) {
    int distinct = 0;
    for (int i = 0; i < 32; i++) {
        bool seen = index[i] < 0;
        for (int j = 0; j < i && !seen; j++) seen = index[j] >= 0 && index[j] / 8 == index[i] / 8;
        distinct += !seen;
    }
    *requests += distinct > 0;
    *sectors += distinct;
}

static void search_on_paper(void **state) {
    (void)state;
    make_graph();
    double requests = 0, sectors = 0, bytes = 0, launches = 0, split = 0;
    bool changed = true;
    for (int depth = 0; changed; depth++, launches++) {
        changed = false;
        for (int warp = 0; warp < NODES / 32; warp++) { // 4,000 is 125 full warps
            int64_t own[32], next[32];
            int on = 0;
            for (int i = 0; i < 32; i++) {
                int v = warp * 32 + i;
                own[i] = level_of[v] == depth ? v : -1;
                next[i] = own[i] < 0 ? -1 : v + 1;
                on += own[i] >= 0;
            }
            requests++;
            sectors += 4; // 32 levels side by side
            bytes += 128 + 8 * on;
            split += on > 0 && on < 32;
            load(&requests, &sectors, next);
            load(&requests, &sectors, own);
            // Compiled, the loop takes what four does not divide first, then four at a time.
            for (uint32_t step = 0; step < 3 + 2 * DEGREE; step++) {
                int64_t edge[32], to[32];
                for (int i = 0; i < 32; i++) {
                    edge[i] = to[i] = -1;
                    if (own[i] < 0) continue;
                    uint32_t first = first_edge[own[i]], n = first_edge[next[i]] - first, odd = n % 4;
                    if (step < 3 ? step >= odd : odd + step - 3 >= n) continue;
                    edge[i] = step < 3 ? first + step : first + odd + step - 3;
                    to[i] = edge_to[edge[i]];
                    bytes += 8;
                }
                load(&requests, &sectors, edge);
                load(&requests, &sectors, to);
                for (int i = 0; i < 32; i++)
                    if (to[i] >= 0 && level_of[to[i]] < 0) {
                        level_of[to[i]] = depth + 1;
                        changed = true;
                    }
            }
        }
    }
    paper b;
    paper_start(&b, "bfs");
    assert_int_equal(b.result.launches.n, (int)launches);
    check(&b, ORR_C_GLOBAL_LD_REQ, requests);
    check(&b, ORR_C_GLOBAL_LD_SECT, sectors);
    check(&b, ORR_C_GLOBAL_LD_BYTES, bytes);
    orr_sums s;
    orr_sums_make(b.result.profiles.at[0], &s);
    for (size_t i = 0; i < s.lines.n; i++) // where threads that are not on the frontier leave
        if (s.lines.at[i].line == 9) assert_int_equal(s.lines.at[i].divergent, (int)split);
    orr_sums_free(&s);
    paper_end(&b);
}

// ---- the rest --------------------------------------------------------------------------------
static void unknown_model(void **state) {
    (void)state;
    orr_err e = {0};
    assert_null(orr_model_find("wishful", &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    assert_non_null(strstr(e.text, "functional"));
    assert_ptr_equal(orr_model_find("functional", &e), &orr_model_functional);
}

// docs/reference/counters.md has the table as the program has it.
static void counters_documented(void **state) {
    (void)state;
    orr_err e = {0};
    size_t n;
    char *doc = orr_read_file(ORRERY_SOURCE_DIR "/docs/reference/counters.md", 1 << 20, &n, &e);
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
    orr_result_text(&r, &o, &t);
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
    orr_result_text(&r, &o, &t);
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
        cmocka_unit_test(recursion_parts),
        cmocka_unit_test(streams_on_paper),
        cmocka_unit_test(transposes_on_paper),
        cmocka_unit_test(stencil_on_paper),
        cmocka_unit_test(tiles_on_paper),
        cmocka_unit_test(search_on_paper),
        cmocka_unit_test(unknown_model),
        cmocka_unit_test(counters_documented),
        cmocka_unit_test(empty_result),
        cmocka_unit_test(text_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
