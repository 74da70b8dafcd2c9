// The partial model: figures worked out with pencil and paper, on the cycle model's bench GPU (cycle.h), with
// task lists as kernels. And the reader of task lists: what it refuses, and in which words.
#include "cycle.h"

#include "model/partial/residency.h"
#include "tasks/tasks.h"

// ---- which blocks, and the grid's time from them ---------------------------------------------------
static void test_plan_of_many_workloads(void **state) {
    (void)state;
    // 1000 blocks on 10 SMs are 100 each; 8 fit. Two workloads and 100 mod 8 = 4 more are 20; once more
    // with 12. (100 - 20) / 8 = 10 workloads are left.
    plan p = plan_make(1000, 10, 8, false);
    assert_int_equal(p.n, 100);
    assert_int_equal(p.m, 20);
    assert_int_equal(p.less, 12);
    assert_int_equal(p.left, 10);
    // 20 blocks take 2000 cycles, 12 take 1200: a workload is 800, the grid 2000 + 10 * 800.
    assert_true(plan_cycles(&p, 2000, 2000, 1200, 0) == 10000);
    // Overlap: with one workload more only 500 more.
    assert_true(plan_cycles(&p, 2000, 2000, 1500, 0) == 7000);
}

static void test_plan_of_long_blocks(void **state) {
    (void)state;
    // One workload is enough: 8 and 4; 11 are left, each 8 / 12 of what there was but for the overhead.
    plan p = plan_make(1000, 10, 8, true);
    assert_int_equal(p.m, 12);
    assert_int_equal(p.less, 0);
    assert_int_equal(p.left, 11);
    assert_true(plan_cycles(&p, 1300, 1300, 0, 100) == 1300 + 11 * 800);
}

static void test_plan_of_small_grids(void **state) {
    (void)state;
    // 5 blocks on 10 SMs: one each, five SMs have none, and each of the five has a fifth of the memory.
    plan p = plan_make(5, 10, 8, false);
    assert_int_equal(p.active, 5);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.left, 0);
    assert_true(p.turn == 5);
    assert_true(plan_cycles(&p, 321, 321, 0, 0) == 321);
    // 25 on 10 SMs: some have 3, which are 3 of 25.
    p = plan_make(25, 10, 8, false);
    assert_int_equal(p.n, 3);
    assert_true(p.turn == 25.0 / 3);
}

static void test_plan_spreads_blocks(void **state) {
    (void)state;
    plan p = plan_make(1000, 10, 8, false);
    for (uint64_t i = 0; i < p.m; i++) { // every fifth of an SM's hundred, all of one SM
        assert_int_equal(plan_block(&p, i, p.m) % 10, 4);
        assert_int_equal(plan_block(&p, i, p.m) / 10, i * 5);
    }
}

static void test_plan_keeps_inside(void **state) {
    (void)state;
    // 256 blocks in rows of 4 on 16 SMs: an SM has blocks of one column. SMs 1 and 2 of each 4 are inside.
    plan p = plan_make(256, 16, 10, false);
    plan_inside(&p, (const uint32_t[3]){4, 64, 1});
    assert_true(p.sm % 4 == 1 || p.sm % 4 == 2);
    // In rows of 16 the first SM and the last have nothing but sides.
    p = plan_make(320, 16, 10, false);
    plan_inside(&p, (const uint32_t[3]){16, 20, 1});
    assert_true(p.sm > 0 && p.sm < 15);
}

// ---- waves: who finds what others have brought --------------------------------------------------------
// Two blocks on one SM read the same ten lines, one every ten of their 100 instructions. L2 and memory are
// equally far, so clocks are instructions. Returns how many sectors come from memory.
static uint64_t two_blocks(uint64_t l2_lines, const pace *pace, uint64_t *late) {
    orr_gpu g = {.l2_size = (int64_t)l2_lines * ORR_LINE, .l2_latency = 200, .dram_latency = 200};
    plan p = {.total = 2, .sms = 1, .active = 1, .most = 2, .n = 2, .m = 2};
    orr_work w = {.info = {.grid = {2, 1, 1}}};
    inst_sum sum[1] = {{0}};
    entry list[10] = {{0}};
    for (uint32_t n = 0; n < 10; n++)
        list[n] = (entry){.addr = 4096 + n * ORR_LINE, .order = n, .at = n * 10, .bytes = ORR_SECTOR};
    look l = {.g = &g, .p = &p, .w = &w, .pace = pace, .sum = sum, .longest = 100};
    l.entries.at = list;
    l.entries.n = 10;
    warmth cold = {.n = 0};
    tags t = {.was = &cold};
    orr_cache_init(&t.l2, (uint64_t)g.l2_size, ORR_LINE, (uint32_t)l2_lines, true, false);
    t.since = orr_calloc((size_t)t.l2.sets * t.l2.ways, sizeof *t.since);
    uint64_t lookups = 0;
    run_waves(&l, &t, &lookups);
    assert_int_equal(sum[0].asked, 20);
    assert_int_equal(lookups, 20);
    *late = sum[0].late;
    free(t.since);
    free(t.traffic.at);
    orr_cache_free(&t.l2);
    return sum[0].missed;
}

static void test_portions(void **state) {
    (void)state;
    portions x = portions_make(70, 10, 1000);
    assert_int_equal(x.n, 1); // seven waves: all of it
    assert_int_equal(x.at[0].to, 70);
    // 100 waves. L2 is full from the 30th on: what is before and after it has a portion each.
    x = portions_make(1000, 10, 300);
    assert_int_equal(x.n, 4);
    assert_int_equal(x.at[0].to, 20);
    assert_int_equal(x.at[1].left, 280 - 20);
    assert_int_equal(x.at[2].left, 690 - 20);
    assert_int_equal(x.at[1].from, 20 + 130);
    assert_int_equal(x.at[2].from, 300 + 335);
    assert_int_equal(x.at[3].from, 990);
    assert_int_equal(x.at[1].warm, 20);        // no further back than what was simulated
    assert_int_equal(x.at[3].warm, 990 - 300); // nor than what L2 holds
    // A block each 3 cycles in the first two portions, each 5 in the third, the fourth as the third.
    double ends[70], t = 100;
    for (int i = 0; i < 70; i++) ends[i] = t += i < 40 ? 3 : 5;
    assert_true(portions_cycles(&x, ends, 70, t) == t + 260 * 3 + 670 * 5);
    x.at[2].relation = 2; // what lies between has twice the instructions
    assert_true(portions_cycles(&x, ends, 70, t) == t + 260 * 3 + 670 * 10);
}

static void test_waves(void **state) {
    (void)state;
    uint64_t late;
    // Side by side: the second finds each line on its way.
    assert_int_equal(two_blocks(4, NULL, &late), 10);
    assert_int_equal(late, 10);
    // One takes 1000 cycles, the other 4000: line k at 100 k and at 400 k. L2 of 16 lines keeps them; the
    // first line is asked for by both at once.
    double start[2] = {0, 0}, end[2] = {1000, 4000};
    pace p = {.n = 2, .start = start, .end = end, .usual = 2500, .far = (const float[1]){0}};
    assert_int_equal(two_blocks(16, &p, &late), 10);
    assert_int_equal(late, 1);
    // L2 of 4 lines: the slow one's first two are still there (0; and 1, when the fast one is at 4), line 2
    // is not when the fast one is at 8, nor any after it.
    assert_int_equal(two_blocks(4, &p, &late), 18);
}

static void test_warm_ranges(void **state) {
    (void)state;
    warmth w = {0};
    warm_add(&w, 0, 1000, 1000, 2500);
    warm_add(&w, 5000, 6000, 1000, 2500);
    assert_true(warm_has(&w, 999) && warm_has(&w, 5000));
    warm_add(&w, 9000, 10000, 1000, 2500); // the oldest goes
    assert_false(warm_has(&w, 999));
    assert_true(warm_has(&w, 5999) && warm_has(&w, 9000));
    warm_add(&w, 20000, 30000, 10000, 2500); // more than there is room for: nothing is left
    assert_false(warm_has(&w, 9000) || warm_has(&w, 20000));
}

// ---- task lists ---------------------------------------------------------------------------------------
typedef struct outcome {
    double cycles;
    uint64_t insts, dram;
} outcome;

static outcome run_tasks(const orr_model *model, const orr_gpu *g, const char *text, int threads) {
    orr_err e = {0};
    orr_tasks *t = orr_tasks_parse("test.tasks", text, strlen(text), NULL, 0, &e);
    if (!t) fail_msg("%s", e.text);
    const orr_task_step *s;
    assert_int_equal(orr_tasks_steps(t, &s), 1);
    orr_result r = {0};
    float *far = orr_calloc(s->launch.kernel->ninsts + 1, sizeof *far);
    orr_tasks_far(t, s, (uint64_t)g->l2_size, (uint64_t)g->sm_count, far);
    orr_work w = {.info = s->launch, .source = orr_tasks_source(t, s), .threads = threads, .far = far};
    if (!model->run(g, &w, &r, &e)) fail_msg("%s", e.text);
    const orr_launch_result *l = &r.launches.at[0];
    outcome o = {l->cycles, l->warp_insts, l->timing->raw->mem.dram_read};
    w.source->close(w.source);
    free(far);
    orr_result_free(&r);
    orr_tasks_free(t);
    return o;
}

static void expect_cycles(orr_gpu *g, const char *text, double low, double high) {
    outcome o = run_tasks(&orr_model_partial, g, text, 1), two = run_tasks(&orr_model_partial, g, text, 2);
    assert_true(o.cycles == two.cycles); // any number of host threads
    if (o.cycles < low || o.cycles > high) fail_msg("%.0f cycles, not %.0f to %.0f", o.cycles, low, high);
    orr_gpu_free(g);
}

static void test_latency_within_a_warp(void **state) {
    (void)state;
    // Each needs the one before: 0, 10, 20, 30, 40; EXIT in 41, gone in 42.
    expect_cycles(
        GPU(),
        "kernel k threads 32\n0: sp\n1: sp after 0\n2: sp after 1\n3: sp after 2\n4: sp after 3\nend\n"
        "launch k grid 1\n",
        42, 42);
    // None needs another: 0 to 4, EXIT in 5.
    expect_cycles(GPU(), "kernel k threads 32\nsp x 5\nend\nlaunch k grid 1\n", 6, 6);
    // A loop carries its result: four rounds, 0, 10, 20, 30, each followed by a branch (5 cycles, hidden);
    // EXIT when the last branch is over: 31 + 5.
    expect_cycles(GPU(), "kernel k threads 32\nloop 4\n0: sp after 0\nend\nend\nlaunch k grid 1\n", 37, 37);
}

static void test_latency_across_warps(void **state) {
    (void)state;
    // Ten warps with chains of ten cycles: one issues each cycle, so 5 x 10 of them and 10 EXITs are all
    // there is.
    expect_cycles(
        GPU(),
        "kernel k threads 320\n0: sp\n1: sp after 0\n2: sp after 1\n3: sp after 2\n4: sp after 3\nend\n"
        "launch k grid 1\n",
        60, 62);
}

static void test_dual_issue(void **state) {
    (void)state;
    char text[400] = "kernel k threads 32\n";
    for (int i = 0; i < 10; i++) strcat(text, "sp\nint\n");
    strcat(text, "end\nlaunch k grid 1\n");
    expect_cycles(GPU("unit.alu.lanes=32"), text, 21, 21);                 // 20 and EXIT
    expect_cycles(GPU("unit.alu.lanes=32", "core.issue=2"), text, 11, 11); // ten pairs and EXIT
}

static void test_units_have_intervals(void **state) {
    (void)state;
    // alu is busy for two cycles: 0, 2, 4 .. 18, EXIT in 19
    expect_cycles(GPU(), "kernel k threads 32\nint x 10\nend\nlaunch k grid 1\n", 20, 20);
}

static void test_barriers(void **state) {
    (void)state;
    // Two warps: sp in 0 and 1, sync in 1 and 2 (one a cycle); both go on 7 later: EXIT in 9 and 10, gone
    // in 11.
    expect_cycles(GPU(), "kernel k threads 64\nsp\nsync\nend\nlaunch k grid 1\n", 10, 13);
}

static void test_workloads_follow_each_other(void **state) {
    (void)state;
    // 80 blocks on four SMs that hold two each: ten workloads of 42 cycles (above; a second block is a cycle
    // behind).
    const char *text =
        "kernel k threads 32\n0: sp\n1: sp after 0\n2: sp after 1\n3: sp after 2\n4: sp after 3\nend\n"
        "launch k grid 80\n";
    expect_cycles(GPU("sm.count=4", "limit.sm_blocks=2"), text, 420, 440);
    // The same from simulating all of it
    orr_gpu *g = GPU("sm.count=4", "limit.sm_blocks=2");
    outcome all = run_tasks(&orr_model_cycle, g, text, 1), part = run_tasks(&orr_model_partial, g, text, 1);
    assert_true(part.cycles > all.cycles * 0.98 && part.cycles < all.cycles * 1.02);
    assert_int_equal(part.insts, all.insts);
    orr_gpu_free(g);
}

static void test_memory_bandwidth(void **state) {
    (void)state;
    // 400 blocks read 8 x 256 x 16 bytes of their own: 13,107,200 bytes at 64 a cycle are 204,800 cycles.
    expect_cycles(GPU("sm.count=4", "l2.bandwidth=256"),
                  "kernel k threads 256\nload global 16 x 8\nend\nlaunch k grid 400\n", 204800,
                  204800 * 1.05);
}

static void test_l2_bandwidth(void **state) {
    (void)state;
    // All blocks read the same 64 KB, not from L1: L2 gives 64 bytes a cycle, whatever memory does.
    expect_cycles(GPU("sm.count=4", "l1.global=no"),
                  "kernel k threads 256\nload global 16 x 8 reuse 65536 common\nend\nlaunch k grid 400\n",
                  204800, 204800 * 1.05);
}

static void test_reuse_decides_where_it_comes_from(void **state) {
    (void)state;
    orr_gpu *g = GPU("sm.count=4", "l1.global=no"); // L2 has 1 MB
    const char *text = "kernel k threads 256\nload global 4 x 8 reuse %s\nend\nlaunch k grid 400\n";
    static const struct {
        const char *reuse;
        bool memory;
    } cases[] = {{"200K", false}, {"300K", true}, {"900K common", false}, {"2M common", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) { // alone: a quarter of L2 for each SM
        char it[200];
        snprintf(it, sizeof it, text, cases[i].reuse);
        assert_int_equal(run_tasks(&orr_model_partial, g, it, 1).dram > 0, cases[i].memory);
    }
    orr_gpu_free(g);
}

static void test_stall_counts(void **state) {
    (void)state;
    // A warp alone, nothing depends on anything: 2000 tasks, ten cycles apart.
    orr_gpu *g = GPU("sm.count=4");
    const char *text = "kernel k threads 32\nsp x 2000 stall 10\nend\nlaunch k grid 1\n";
    double partial = run_tasks(&orr_model_partial, g, text, 1).cycles,
           cycle = run_tasks(&orr_model_cycle, g, text, 1).cycles;
    orr_gpu_free(g);
    assert_true(partial >= 20000 && partial < 20000 * 1.1);
    assert_true(cycle >= 20000 && cycle < 20000 * 1.1);
}

static void test_shares_of_l1_and_l2(void **state) {
    (void)state;
    orr_gpu *g = GPU("sm.count=4");
    const char *alone = "kernel k threads 32\nload global 4\nend\nlaunch k grid 400\n";
    // What is in L1 lies where the warp loaded before: nothing more comes from memory.
    const char *l1 = "kernel k threads 32\nload global 4\nloop 20\nload global 4 l1 100 after "
                     "0\nend\nend\nlaunch k grid 400\n";
    // Of four warps that find three quarters in L2, one fetches.
    const char *l2 = "kernel k threads 32\nload global 4 l2 75\nend\nlaunch k grid 400\n";
    // Of a hundred warps thirty do what is in `some`.
    const char *some = "kernel k threads 32\nsome 30\nload global 4\nend\nend\nlaunch k grid 400\n";
    uint64_t once = run_tasks(&orr_model_cycle, g, alone, 1).dram;
    assert_int_equal(run_tasks(&orr_model_cycle, g, some, 1).dram * 10, once * 3);
    assert_int_equal(run_tasks(&orr_model_cycle, g, some, 1).insts, 400 + 120); // and each ends
    assert_true(once > 0);
    assert_int_equal(run_tasks(&orr_model_cycle, g, l1, 1).dram, once);
    assert_int_equal(run_tasks(&orr_model_cycle, g, l2, 1).dram, once / 4);
    orr_gpu_free(g);
}

static void test_grids_of_any_size(void **state) {
    (void)state;
    orr_gpu *g = GPU("sm.count=4");
    char text[200];
    double cycles[2];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "kernel k threads 64\n0: sp\n1: sp x 50 after 0\nend\nlaunch k grid %s\n",
                 i ? "2000000000" : "2000000");
        cycles[i] = run_tasks(&orr_model_partial, g, text, 1).cycles;
    }
    assert_true(cycles[1] > cycles[0] * 999 && cycles[1] < cycles[0] * 1001);
    orr_gpu_free(g);
}

// ---- what is refused -----------------------------------------------------------------------------------
static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "1: nothing is launched"},
        {"kernel k\n", "1: a kernel says how many threads"},
        {"kernel k threads 2000\n", "1: threads is 2000; it must be 1 to 1024"},
        {"kernel k threads 32\nsp\n", "the last kernel has no end"},
        {"kernel k threads 32\nfrob\nend\n", "2: there is no task \"frob\""},
        {"kernel k threads 32\n1: sp\nend\n", "2: this is task 0 of its kernel, not 1"},
        {"kernel k threads 32\n0 sp\nend\n", "2: a : is missing"},
        {"kernel k threads 32\nload shared 3\nend\n", "2: a thread has 1, 2, 4, 8 or 16 bytes"},
        {"kernel k threads 32\nload tape 4\nend\n", "2: global, shared, const or local"},
        {"kernel k threads 32\nstore const 4\nend\n", "2: that cannot be done in this memory"},
        {"kernel k threads 32\nload shared 4 reuse 5\nend\n", "2: only global memory has a reuse distance"},
        {"kernel k threads 32\nsp after 5000\nend\n", "2: the number of a task is 5000"},
        {"kernel k threads 32\nsp\nsp after 0, 0, 0, 0, 0, 0, 0\nend\n", "3: a task depends on at most 6"},
        {"kernel k threads 32\nsp\nsp after 1\nend\n", "3: task 1 is after task 1, which is not before it"},
        {"kernel k threads 32\nloop 2\nsp after 1\nsp after 7\nend\nend\n",
         "4: there is no task 7: kernel k has 0 to 1"},
        {"kernel k threads 32\nsp x 5000\nend\n", "2: x is 5000"},
        {"kernel k threads 32\nloop 100000000\n", "2: rounds of a loop"},
        {"kernel k threads 32\nloop 60000000\nsp x 2\nend\n", "3: a warp runs more than 64 million tasks"},
        {"kernel k threads 32\nloop 5000000\nload global 4\nend\n", "3: a warp makes more than 4 million"},
        {"kernel k threads 32\nend\nkernel k threads 32\n", "3: there is a kernel of this name already"},
        {"launch k grid 5\n", "1: no kernel above has the name \"k\""},
        {"kernel k threads 32\nend\nlaunch k\n", "3: a launch says how many blocks"},
        {"kernel k threads 32\nend\nlaunch k grid 0\n", "3: a grid's dimension is 0"},
        {"kernel k threads 32\nend\nlaunch k grid 1, 70000\n", "3: a grid's dimension is 70000"},
        {"copy 5\n", "1: copy to the GPU, or copy from it"},
        {"copy to n\n", "1: nothing above defines \"n\""},
        {"let n = 5 / 0\n", "1: a division by 0"},
        {"let n = 9999999999999999999\n", "1: a number is too large"},
        {"let n = 9000000000000000000 * 5\n", "1: a number is too large"},
        {"let n = (5\n", "1: a ) is missing"},
        {"let n = 5 5\n", "1: the line should end before"},
        {"repeat 5\n", "the last repeat or if has no end"},
        {"kernel k threads 32\nsome 0\nsp\nend\nend\n", "2: percent of the warps is 0"},
        {"kernel k threads 32\nsome 101\nsp\nend\nend\n", "2: percent of the warps is 101"},
        {"kernel k threads 32\nsome 5\nsp\nend\n", "the last kernel has no end"},
        {"kernel k threads 32\nsp stall 16\nend\n", "2: stall, in cycles, is 16"},
        {"kernel k threads 32\nload global 4 stall\nend\n", "2: "},
        {"kernel k threads 32\nred const 4\nend\n", "2: that cannot be done in this memory"},
        {"kernel k threads 32\ninst FROB\nend\n", "2: inst takes an instruction that computes, not \"FROB\""},
        {"kernel k threads 32\ninst LDG.E\nend\n",
         "2: inst takes an instruction that computes, not \"LDG.E\""},
        {"kernel k threads 32\ninst\nend\n", "2: inst takes a mnemonic"},
        {"kernel k threads 32\nload global 4 l1 60 l2 50\nend\n", "2: l1 and l2 are more than 100 percent"},
        {"kernel k threads 32\nload global 4 l1 60 reuse 64\nend\n", "2: reuse, or l1 and l2"},
        {"kernel k threads 32\nload shared 4 l2 60\nend\n", "2: l1 and l2 are for global memory"},
        {"kernel k threads 32\nload shared 4 together\nend\n", "2: together is for global memory"},
        {"kernel k threads 32\nloop 5 to 4\nend\nend\n", "2: the most rounds of a loop is 4"},
        {"if 1 < 2\nend\nend\n", "3: an end without repeat"},
        {"if 1 > 2\n", "the last repeat or if has no end"},
        {"if 1 > 2\nrepeat 2\nend\n", "1: this if has no end"},
        {"else\n", "1: an else without if"},
        {"repeat 2\nelse\nend\n", "2: an else without if"},
        {"if 1 > 2\nkernel k threads 32\nend\n", "2: a kernel inside if"},
        {"let rank = 5\n", "1: where the list runs says what this is"},
        {"send 5\n", "1: to whom is missing"},
        {"recv 5 to 1\n", "1: from whom is missing"},
        {"send 9G to 1\n", "1: bytes is 9663676416"},
        {"send 5 to 1 tag 99999\n", "1: a tag is 99999"},
        {"alltoall 4K nccl\n", "1: nccl is for allreduce"},
        {"broadcast 4K\n", "1: from whom is missing"},
        {"on gpu 64\n", "1: a GPU's number is 64"},
        {"copy to gpu 1 4K\n", "1: a , is missing"},
        {"host 0\n", "1: microseconds is 0"},
        {"end\n", "1: an end without repeat"},
        {"dance\n", "1: let, kernel, launch, copy, repeat, if, a message or end is expected, not \"dance\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        orr_err e = {0};
        orr_tasks *t = orr_tasks_parse("a.tasks", cases[i].text, strlen(cases[i].text), NULL, 0, &e);
        if (t) fail_msg("accepted: %s", cases[i].text);
        assert_int_equal(e.status, ORR_BAD_INPUT);
        if (strncmp(e.text, "a.tasks:", 8) != 0 || !strstr(e.text, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", e.text, cases[i].says);
    }
}

static void test_application(void **state) {
    (void)state;
    const char *text =
        "let n = 64K\nkernel k threads n / 512\nsp\nend\ncopy to 2 * n\nrepeat 3\nrepeat 5\nlaunch k grid "
        "n / 1024, 2\nend\ncopy from n\nend\n";
    const char *sets[] = {"n=32K"};
    for (int with = 0; with < 2; with++) {
        orr_err e = {0};
        orr_tasks *t = orr_tasks_parse("a.tasks", text, strlen(text), sets, with, &e);
        if (!t) fail_msg("%s", e.text);
        const orr_task_step *s;
        uint32_t n = with ? 32768 : 65536;
        assert_int_equal(orr_tasks_steps(t, &s), 7); // with where repetitions begin and end
        assert_int_equal(orr_tasks_of_ranks(t), 0);
        assert_int_equal(s[0].kind, ORR_TASKS_COPY_TO);
        assert_int_equal(s[0].bytes, 2 * n);
        assert_int_equal(s[1].kind, ORR_TASKS_REPEAT);
        assert_int_equal(s[1].match, 6);
        assert_int_equal(s[3].times, 15);
        assert_int_equal(s[3].launch.index, 1); // of launches and copies
        assert_int_equal(s[3].launch.grid[0], n / 1024);
        assert_int_equal(s[3].launch.grid[1], 2);
        assert_int_equal(s[3].launch.block[0], n / 512);
        assert_int_equal(s[5].times, 3);
        assert_int_equal(s[5].bytes, n);
        orr_tasks_free(t);
    }
}

// What each of four ranks on two nodes reads in the same list.
static void test_ranks(void **state) {
    (void)state;
    const char *text =
        "let edge = rank == 0 or rank + 1 == ranks\nif edge and rank < 2\n send 4K to ranks - 1\n"
        "else\n if edge\n  recv 4K from 0\n else\n  barrier\n end\nend\n"
        "on gpu local + 2\nallreduce 8 among node nccl\non gpu 0 host 7\nsync\n";
    for (int r = 0; r < 4; r++) {
        orr_err e = {0};
        const orr_task_rank place = {
            .rank = r, .ranks = 4, .node = r / 2, .nodes = 2, .gpus = 8, .local = r % 2};
        orr_tasks *t = orr_tasks_parse_rank(
            &(orr_tasks_text){.path = "a.tasks", .text = text, .n = strlen(text)}, &place, &e);
        if (!t) fail_msg("%s", e.text);
        const orr_task_step *s;
        static const int first[] = {ORR_TASKS_SEND, ORR_TASKS_BARRIER, ORR_TASKS_BARRIER, ORR_TASKS_RECV};
        assert_int_equal(orr_tasks_steps(t, &s), 4);
        assert_int_equal(s[0].kind, first[r]);
        assert_int_equal(s[0].line, r == 0 ? 3 : r == 3 ? 6 : 8);
        if (r == 0) assert_int_equal(s[0].peer, 3);
        assert_int_equal(s[1].kind, ORR_TASKS_ALL_REDUCE);
        assert_int_equal(s[1].group, r / 2 + 1);
        assert_true(s[1].nccl);
        assert_int_equal(s[1].gpu, r % 2 + 2);
        assert_int_equal(s[2].gpu, 0); // for this line
        assert_int_equal(s[2].bytes, 7);
        assert_int_equal(s[3].gpu, r % 2 + 2);
        orr_tasks_free(t);
    }
    static const char *const wrong[] = {"send 4 to 4\n", "send 4 to rank\n", "recv 4 from 0 - 1\n",
                                        "on gpu 8\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        orr_err e = {0};
        const orr_task_rank place = {.rank = 1, .ranks = 4, .nodes = 1, .gpus = 8, .local = 1};
        assert_null(orr_tasks_parse_rank(
            &(orr_tasks_text){.path = "a.tasks", .text = wrong[i], .n = strlen(wrong[i])}, &place, &e));
        assert_int_equal(e.status, ORR_BAD_INPUT);
    }
    orr_err e = {0};
    const char *set = "rank=2";
    assert_null(orr_tasks_parse("a.tasks", text, strlen(text), &set, 1, &e));
    // Alone, who is at the other end is not looked at; what runs one GPU is told.
    orr_tasks *t = orr_tasks_parse("a.tasks", "send 4 to rank + 1\n", 19, NULL, 0, &(orr_err){0});
    assert_non_null(t);
    assert_int_equal(orr_tasks_of_ranks(t), 1);
    orr_tasks_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_of_many_workloads),
        cmocka_unit_test(test_plan_of_long_blocks),
        cmocka_unit_test(test_plan_of_small_grids),
        cmocka_unit_test(test_plan_spreads_blocks),
        cmocka_unit_test(test_plan_keeps_inside),
        cmocka_unit_test(test_portions),
        cmocka_unit_test(test_waves),
        cmocka_unit_test(test_warm_ranges),
        cmocka_unit_test(test_latency_within_a_warp),
        cmocka_unit_test(test_latency_across_warps),
        cmocka_unit_test(test_dual_issue),
        cmocka_unit_test(test_units_have_intervals),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_workloads_follow_each_other),
        cmocka_unit_test(test_memory_bandwidth),
        cmocka_unit_test(test_l2_bandwidth),
        cmocka_unit_test(test_reuse_decides_where_it_comes_from),
        cmocka_unit_test(test_stall_counts),
        cmocka_unit_test(test_shares_of_l1_and_l2),
        cmocka_unit_test(test_grids_of_any_size),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_application),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
