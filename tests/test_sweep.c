// Sweeps: values and ranges, the tape against the execution it came from, points on one thread and on two,
// and the SQLite file of a sweep that is killed after its first point and goes on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "launch/launch.h"
#include "sweep/sweep.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<sqlite3.h>)
#include <sqlite3.h>
#endif

// ---- values ---------------------------------------------------------------------------------------
static void check_axis(const char *text, int n, const char *const *want, bool numeric) {
    orr_grid g = {0};
    orr_err e = {0};
    assert_true(orr_grid_add(&g, text, &e));
    assert_int_equal(g.axes[0].n, n);
    assert_int_equal(g.npoints, n);
    for (int k = 0; k < n; k++) assert_string_equal(g.axes[0].values[k], want[k]);
    assert_int_equal(g.axes[0].numeric, numeric);
    orr_grid_free(&g);
}

static void lists_and_ranges(void **state) {
    (void)state;
    check_axis("sm.count=66:132:22", 4, (const char *[]){"66", "88", "110", "132"}, true);
    check_axis("sm.count=1:8:3", 3, (const char *[]){"1", "4", "7"}, true); // the end is not hit
    check_axis("sm.count=1:3", 3, (const char *[]){"1", "2", "3"}, true);
    check_axis("l2.size=1:8:*2 MB", 4, (const char *[]){"1 MB", "2 MB", "4 MB", "8 MB"}, true);
    check_axis("l2.size = 10MB : 30 MB : 10", 3, (const char *[]){"10 MB", "20 MB", "30 MB"}, true);
    check_axis("clock.sm=0.1:0.5:0.1", 5, (const char *[]){"0.1", "0.2", "0.3", "0.4", "0.5"}, true);
    check_axis("core.schedulers=1, 2 ,4", 3, (const char *[]){"1", "2", "4"}, true);
    check_axis("core.schedulers=1,4:8:2", 4, (const char *[]){"1", "4", "6", "8"}, true);
    check_axis("core.policy=gto,lrr", 2, (const char *[]){"gto", "lrr"}, false);
    check_axis("l2.flush=yes,no", 2, (const char *[]){"yes", "no"}, false);
    check_axis("x.y=8, 16; 32", 2, (const char *[]){"8, 16", "32"}, false);        // values that are lists
    check_axis("l1.size=64 KB,1 MB", 2, (const char *[]){"64 KB", "1 MB"}, false); // units differ
}

static void bad_values(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"sm.count", "expected KEY=VALUES"},
        {"=1,2", "expected KEY=VALUES"},
        {"sm.count=", "a value is missing"},
        {"sm.count=1,,2", "a value is missing"},
        {"sm.count=1,2,1", "1 is there twice"},
        {"sm.count=1:2,2", "2 is there twice"},
        {"sm.count=8:1", "ends before it begins"},
        {"sm.count=1:8:0", "step must be over 0"},
        {"sm.count=1:8:-1", "step must be over 0"},
        {"sm.count=1:8:*1", "factor must be over 1"},
        {"sm.count=0:8:*2", "begin over 0"},
        {"sm.count=1:x:2", "'x' is not a number"},
        {"sm.count=1:2:3:4", "a range is FROM:TO:STEP"},
        {"sm.count=1:1000000", "more than 10000 values"},
        {"sm.count=1KB:2MB:1", "one unit"},
        {"a.b+=1", "keys that change together"},
        {"a.b+n=1", "one key is the GPU's"},
        {"a.b+a.c=1", "a.c is varied already"},
        {"a.c=1", "a.c is varied already"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        orr_grid g = {0};
        orr_err e = {0};
        assert_true(orr_grid_add(&g, "a.c+a.d=1,2", &e));
        assert_false(orr_grid_add(&g, bad[k].text, &e));
        assert_int_equal(e.status, ORR_BAD_INPUT);
        if (!strstr(e.text, bad[k].says)) fail_msg("%s: says \"%s\"", bad[k].text, e.text);
        orr_grid_free(&g);
    }
}

// 3 x 2 x 2 = 12 points, the last axis changes fastest; the script's comes first whenever it was said.
static void grids(void **state) {
    (void)state;
    orr_grid g = {0};
    orr_err e = {0};
    orr_arena a = {0};
    const char *sets[ORR_KEYS_MAX];
    assert_true(orr_grid_add(&g, "sm.count=1,2", &e));
    assert_true(orr_grid_add(&g, "core.subcores+core.schedulers=1,4", &e));
    assert_true(orr_grid_add(&g, "n=100,200,300", &e));
    assert_int_equal(g.npoints, 12);
    assert_string_equal(g.axes[0].key, "n");
    assert_true(g.axes[0].script);
    assert_false(g.axes[1].script);
    assert_int_equal(orr_grid_at(&g, 7, 0), 1); // 7 = 1 * 4 + 1 * 2 + 1
    assert_int_equal(orr_grid_at(&g, 7, 1), 1);
    assert_int_equal(orr_grid_at(&g, 7, 2), 1);
    assert_int_equal(orr_grid_at(&g, 8, 0), 2);
    assert_int_equal(orr_grid_at(&g, 8, 2), 0);
    assert_int_equal(orr_axis_sets(&g.axes[2], 1, &a, sets), 2);
    assert_string_equal(sets[0], "core.subcores=4");
    assert_string_equal(sets[1], "core.schedulers=4");
    assert_false(orr_grid_add(&g, "x.y=1:9000", &e)); // 12 * 9000 > 100000
    assert_non_null(strstr(e.text, "more than 100000 points"));
    orr_arena_free(&a);
    orr_grid_free(&g);
}

// ---- a workload, executed onto a tape ---------------------------------------------------------------
typedef struct bench {
    orr_script *script;
    orr_cpu *cpu;
    orr_tape *tape;
    orr_gpu *gpu;
    orr_result direct; // the cycle model on the same launches, as they execute
    bool record;
} bench;

static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    bench *b = arg;
    (void)c;
    if (b->record) return orr_tape_launch(b->tape, l, 2, NULL, e);
    orr_work w = {.info = {.kernel = l->kernel, .dynamic_shared = l->dynamic_shared, .index = l->index},
                  .launch = l,
                  .threads = 1};
    memcpy(w.info.grid, l->grid, sizeof l->grid);
    memcpy(w.info.block, l->block, sizeof l->block);
    return orr_model_cycle.run(b->gpu, &w, &b->direct, e);
}

// sgemm_tiled as machine code: barriers, shared memory, control words. Executed twice, once to be recorded.
static void bench_open(bench *b, const char *name, const char *source, uint64_t memory) {
    orr_err e = {0};
    orr_arena a = {0};
    *b = (bench){.tape = orr_tape_new(memory)};
    const char *path = orr_find_workload(&a, name, &e);
    b->gpu = orr_gpu_load("h200", (const char *[]){"sm.count=4"}, 1, &e);
    b->script = path ? orr_script_load(path, "small", NULL, 0, &e) : NULL;
    assert_non_null(b->gpu);
    assert_non_null(b->script);
    assert_true(orr_script_source(b->script, source, 90, &e));
    b->cpu = orr_cpu_new(on_launch, b, &e);
    orr_backend backend = orr_cpu_backend(b->cpu);
    orr_script_stats stats;
    assert_true(orr_script_run(b->script, &backend, true, &stats, &e));
    orr_cpu_delete(b->cpu);
    b->record = true;
    b->cpu = orr_cpu_new(on_launch, b, &e);
    backend = orr_cpu_backend(b->cpu);
    assert_true(orr_script_run(b->script, &backend, true, &stats, &e));
    orr_arena_free(&a);
}

static void bench_close(bench *b) {
    orr_result_free(&b->direct);
    orr_tape_free(b->tape);
    orr_cpu_delete(b->cpu);
    orr_script_free(b->script);
    orr_gpu_free(b->gpu);
}

// A replay is what the execution was, to the last count.
static void check_replay(const char *name, const char *source, uint64_t memory) {
    bench b;
    bench_open(&b, name, source, memory);
    orr_player player = {0};
    orr_result r = {0};
    orr_err e = {0};
    size_t n = 0;
    for (size_t k = 0; k < orr_tape_items(b.tape); k++) {
        const orr_tape_item *i = orr_tape_item_at(b.tape, k);
        orr_work w = {.info = i->info, .source = orr_player_open(&player, b.tape, k), .threads = 1};
        assert_true(orr_model_cycle.run(b.gpu, &w, &r, &e));
        const orr_launch_result *was = &b.direct.launches.at[n], *is = &r.launches.at[n];
        assert_true(was->cycles == is->cycles && was->cycles > 0);
        assert_int_equal(was->warp_insts, is->warp_insts);
        assert_int_equal(was->thread_insts, is->thread_insts);
        for (int c = 0; c < ORR_COUNTERS; c++)
            assert_true(was->counters[c] == is->counters[c] ||
                        (isnan(was->counters[c]) && isnan(is->counters[c])));
        n++;
    }
    assert_int_equal(n, b.direct.launches.n);
    orr_result_free(&r);
    orr_player_free(&player);
    bench_close(&b);
}

static void replay_is_execution(void **state) {
    (void)state;
    check_replay("sgemm_tiled", "sass", UINT64_MAX);
    check_replay("reduce", "ptx", UINT64_MAX);
}

static void replay_from_disk(void **state) {
    (void)state;
    check_replay("reduce", "sass", 0); // nothing may stay in memory
}

// Large blocks of hand-made bytes: they cross from segment to segment, and from memory to disk.
static void tape_crosses_segments(void **state) {
    (void)state;
    enum { BLOCKS = 40, BYTES = 100000 };
    orr_kernel kernel = {.name = "hand"};
    orr_tape *t = orr_tape_new((uint64_t)1 << 20);
    orr_launch_info info = {.kernel = &kernel, .grid = {BLOCKS, 1, 1}, .block = {64, 1, 1}};
    orr_err e = {0};
    uint8_t *bytes = malloc(BYTES);
    assert_true(orr_tape_begin(t, &info, &e));
    for (uint64_t k = 0; k < BLOCKS; k++) {
        memset(bytes, (int)k, BYTES);
        orr_warp_trace warps[2] = {{bytes, BYTES - k}, {bytes, k}};
        assert_true(orr_tape_block(t, &(orr_tb){k, 2, warps}, &e));
    }
    assert_true(orr_tape_end(t, &e));
    assert_int_equal(orr_tape_blocks(t), BLOCKS);
    assert_int_equal(orr_tape_bytes(t), BLOCKS * (BYTES + 8));
    for (int round = 0; round < 2; round++) {
        orr_player p = {0};
        orr_source *s = orr_player_open(&p, t, 0);
        orr_tb tb;
        uint64_t from = round ? 17 : 0;
        if (round) assert_true((s->skip)(s, from, &e)); // cmocka has a macro of that name
        for (uint64_t k = from; k < BLOCKS; k++) {
            assert_int_equal(s->next(s, &tb, &e), 1);
            assert_int_equal(tb.index, k);
            assert_int_equal(tb.nwarps, 2);
            assert_int_equal(tb.warps[0].n, BYTES - k);
            assert_int_equal(tb.warps[1].n, k);
            assert_int_equal(tb.warps[0].bytes[0], k);
            assert_int_equal(tb.warps[0].bytes[BYTES - k - 1], k);
        }
        assert_int_equal(s->next(s, &tb, &e), 0);
        orr_player_free(&p);
    }
    orr_tape *other = orr_tape_new(UINT64_MAX); // one block short
    info.grid[0] = 2;
    assert_true(orr_tape_begin(other, &info, &e));
    assert_true(orr_tape_block(other, &(orr_tb){0, 2, (orr_warp_trace[2]){{0}, {0}}}, &e));
    assert_false(orr_tape_end(other, &e));
    orr_tape_free(other);
    orr_tape_free(t);
    free(bytes);
}

#if __has_include(<sqlite3.h>)
// ---- a sweep and its file -----------------------------------------------------------------------------
typedef struct rig {
    bench b;
    orr_grid grid;
    orr_sweep_job s;
    orr_store *store;
    int kill_after; // points; 0: never
    int put;
} rig;

static void rig_open(rig *r, const char *vary, const char *vary2, const char *path) {
    orr_err e = {0};
    memset(r, 0, sizeof *r);
    bench_open(&r->b, "sgemm_tiled", "sass", UINT64_MAX);
    assert_true(orr_grid_add(&r->grid, vary, &e) && orr_grid_add(&r->grid, vary2, &e));
    r->s = (orr_sweep_job){.input = "sgemm_tiled",
                           .size = "small",
                           .gpu = "h200",
                           .source = "sass",
                           .version = "1",
                           .command = "test",
                           .model = &orr_model_cycle,
                           .grid = &r->grid};
    r->s.points = calloc(r->grid.npoints, sizeof *r->s.points);
    r->store = orr_store_open(path, &e);
    assert_non_null(r->store);
    for (size_t k = 0; k < r->grid.npoints; k++) {
        orr_gpu *g = orr_point_gpu(&r->s, k, &e);
        assert_non_null(g);
        r->s.points[k].digest = orr_point_digest(&r->s, r->b.tape, g);
        orr_gpu_free(g);
    }
    assert_true(orr_store_begin(r->store, &r->s, 0, r->grid.npoints, &e));
}

static void rig_close(rig *r) {
    orr_store_close(r->store);
    orr_sweep_free(&r->s);
    orr_grid_free(&r->grid);
    bench_close(&r->b);
}

static bool on_finished(void *arg, size_t point, orr_err *e) {
    rig *r = arg;
    bool ok = orr_store_put(r->store, &r->s, point, e);
    if (++r->put == r->kill_after) kill(getpid(), SIGKILL);
    return ok;
}

static void rig_run(rig *r, int threads) {
    orr_err e = {0};
    r->s.threads = threads;
    r->s.finished = on_finished;
    r->s.arg = r;
    assert_true(orr_points_run(&r->s, r->b.tape, 0, r->grid.npoints, &e));
    assert_true(orr_store_end(r->store, &r->s, &e));
}

static char *ask(const char *path, const char *text) { // all rows as text
    sqlite3 *db;
    sqlite3_stmt *q;
    orr_text t = {0};
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, text, -1, &q, NULL) != SQLITE_OK) fail_msg("%s: %s", text, sqlite3_errmsg(db));
    orr_text_add(&t, "%s", "");
    while (sqlite3_step(q) == SQLITE_ROW)
        for (int c = 0; c < sqlite3_column_count(q); c++) {
            const char *cell = (const char *)sqlite3_column_text(q, c);
            orr_text_add(&t, "%s%c", cell ? cell : "-", c + 1 < sqlite3_column_count(q) ? '|' : '\n');
        }
    sqlite3_finalize(q);
    sqlite3_close(db);
    return t.s;
}

static void asked(const char *path, const char *text, const char *want) {
    char *got = ask(path, text);
    assert_string_equal(got, want);
    free(got);
}

// All of a point but how long it took.
#define RESULTS                                                                                              \
    "SELECT number, \"sm.count\", \"l2.latency\", state, cycles, time_ns, warp_insts, thread_insts, ipc,"    \
    " dram_bytes FROM sweep_1"

static void temp_name(char name[64]) {
    snprintf(name, 64, "/tmp/test_sweep_%d.sqlite", (int)getpid());
    unlink(name);
}

// Killed after its first point, gone on with on two threads: the file is that of an uninterrupted sweep.
static void killed_and_resumed(void **state) {
    (void)state;
    char whole[64], killed[80];
    rig r;
    temp_name(whole);
    snprintf(killed, sizeof killed, "%s.killed", whole);
    unlink(killed);

    rig_open(&r, "sm.count=2,4", "l2.latency=200:300:50", whole);
    rig_run(&r, 1);
    // Each point is what the model says of its description directly.
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("h200", (const char *[]){"sm.count=4", "l2.latency=250"}, 2, &e);
    orr_player player = {0};
    orr_result direct = {0};
    orr_work w = {.info = orr_tape_item_at(r.b.tape, 0)->info,
                  .source = orr_player_open(&player, r.b.tape, 0),
                  .threads = 1};
    assert_true(orr_model_cycle.run(g, &w, &direct, &e));
    assert_true(r.s.points[4].total.cycles == direct.launches.at[0].cycles); // 4 = 1 * 3 + 1
    assert_true(r.s.points[0].total.cycles > r.s.points[3].total.cycles);    // half the SMs take longer
    orr_result_free(&direct);
    orr_player_free(&player);
    orr_gpu_free(g);
    rig_close(&r);

    pid_t child = fork();
    if (child == 0) {
        rig_open(&r, "sm.count=2,4", "l2.latency=200:300:50", killed);
        r.kill_after = 1;
        rig_run(&r, 1);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    asked(killed, "SELECT count(*) FROM points", "1\n");
    asked(killed, "SELECT count(*), count(point) FROM members", "6|1\n");
    asked(killed, "SELECT finished FROM sweeps", "-\n");

    rig_open(&r, "sm.count=2,4", "l2.latency=200:300:50", killed);
    assert_true(r.s.points[0].kept && r.s.points[0].state == ORR_POINT_DONE);
    for (size_t k = 1; k < 6; k++) assert_int_equal(r.s.points[k].state, ORR_POINT_TO_DO);
    rig_run(&r, 2);
    assert_int_equal(r.put, 5);
    rig_close(&r);
    char *a = ask(whole, RESULTS), *b = ask(killed, RESULTS);
    assert_string_equal(a, b);
    assert_true(strlen(a) > 100);
    free(a);
    free(b);

    // Again: nothing is left to do. Another model, another program: nothing is known.
    rig_open(&r, "sm.count=2,4", "l2.latency=200:300:50", killed);
    for (size_t k = 0; k < 6; k++) assert_true(r.s.points[k].kept);
    uint64_t digest = r.s.points[0].digest;
    orr_gpu *same = orr_point_gpu(&r.s, 0, &e);
    assert_true(orr_point_digest(&r.s, r.b.tape, same) == digest);
    r.s.build = 1;
    assert_true(orr_point_digest(&r.s, r.b.tape, same) != digest);
    r.s.build = 0;
    r.s.model = &orr_model_functional;
    assert_true(orr_point_digest(&r.s, r.b.tape, same) != digest);
    orr_gpu_free(same);
    rig_close(&r);

    // A larger sweep takes over what it shares with the smaller one.
    rig_open(&r, "sm.count=2,4", "l2.latency=200:400:50", killed);
    size_t kept = 0;
    for (size_t k = 0; k < r.grid.npoints; k++) kept += r.s.points[k].kept;
    assert_int_equal(r.grid.npoints, 10);
    assert_int_equal(kept, 6);
    asked(killed, "SELECT id, points FROM sweeps ORDER BY id", "1|6\n2|10\n");
    rig_close(&r);
    unlink(whole);
    unlink(killed);
}

static void what_is_in_the_file(void **state) {
    (void)state;
    char path[64];
    rig r;
    temp_name(path);
    // 1 KB of shared memory for a block is less than the kernel's; the sweep goes on.
    rig_open(&r, "sm.count=4", "shared.per_block+shared.per_block_optin=1 KB,48 KB", path);
    rig_run(&r, 2);
    asked(path, "SELECT input, size, gpu, model, source, command, points FROM sweeps",
          "sgemm_tiled|small|h200|cycle|sass|test|2\n");
    asked(path, "SELECT number, key, value FROM settings WHERE number = 0 ORDER BY key",
          "0|shared.per_block+shared.per_block_optin|1 KB\n0|sm.count|4\n");
    asked(path, "SELECT number, \"sm.count\", state FROM sweep_1 ORDER BY number",
          "0|4.0|failed\n1|4.0|done\n");
    char *message = ask(path, "SELECT message FROM sweep_1 WHERE state = 'failed'");
    assert_non_null(strstr(message, "bytes of shared memory a block; there are 1024"));
    free(message);
    asked(path, "SELECT count(*) FROM launches", "1\n");
    char *l = ask(path, "SELECT kernel, launch, cycles = (SELECT cycles FROM points WHERE state = 'done'),"
                        " warp_insts = (SELECT warp_insts FROM points WHERE state = 'done') FROM launches");
    assert_string_equal(l, "sgemm_tiled|0|1|1\n");
    free(l);
    orr_sweep_summary sum;
    orr_sweep_sum_up(&r.s, &sum);
    assert_int_equal(sum.done, 1);
    assert_int_equal(sum.failed, 1);
    assert_int_equal(sum.best, 1);
    rig_close(&r);

    // Not a file of ours.
    orr_err e = {0};
    sqlite3 *db;
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE mine(x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_null(orr_store_open(path, &e));
    assert_non_null(strstr(e.text, "not one of sweeps"));
    asked(path, "SELECT name FROM sqlite_master", "mine\n");
    FILE *f = fopen(path, "w");
    for (int k = 0; k < 100; k++) fputs("this is text\n", f);
    fclose(f);
    e = (orr_err){0};
    assert_null(orr_store_open(path, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    unlink(path);
}
#endif

// ---- said -----------------------------------------------------------------------------------------
// Four points by hand: 2 x 2, cycles 100, 50, 40, none.
static void said(void **state) {
    (void)state;
    orr_grid g = {0};
    orr_err e = {0};
    assert_true(orr_grid_add(&g, "sm.count=1,2", &e) && orr_grid_add(&g, "core.policy=gto,lrr", &e));
    orr_swept_point points[4] = {{0}};
    const double cycles[4] = {100, 50, 40, 0};
    for (int k = 0; k < 4; k++) {
        points[k].state = k < 3 ? ORR_POINT_DONE : ORR_POINT_FAILED;
        points[k].total.cycles = cycles[k];
        points[k].total.time_ns = 2 * cycles[k];
        for (int c = 0; c < ORR_COLUMNS; c++) points[k].total.columns[c] = NAN;
    }
    points[3].message = "too \"large\", it's";
    orr_sweep_job s = {.input = "it's",
                       .size = "",
                       .gpu = "h200",
                       .source = "ptx",
                       .version = "1",
                       .command = "c",
                       .model = &orr_model_cycle,
                       .grid = &g,
                       .points = points};
    orr_sweep_summary sum;
    orr_sweep_sum_up(&s, &sum);
    assert_int_equal(sum.best, 2);
    assert_int_equal(sum.worst, 0);
    orr_text t = {0};
    orr_sweep_csv(&s, &t);
    assert_non_null(strstr(t.s, "number,sm.count,core.policy,state,cycles,time_ns,"));
    assert_non_null(strstr(t.s, "\n2,2,gto,done,40,80,0,0,"));
    assert_non_null(strstr(t.s, "\n3,2,lrr,failed,,,"));
    assert_non_null(strstr(t.s, "\"too \"\"large\"\", it's\""));
    t.n = 0;
    orr_sweep_text(&s, &t);
    assert_non_null(strstr(t.s, "best      sm.count = 2, core.policy = gto: 40 cycles, 0.08 us\n"));
    assert_non_null(
        strstr(t.s, "worst     sm.count = 1, core.policy = gto: 100 cycles, 0.20 us, 2.50 times"));
    t.n = 0;
    orr_sweep_json(&s, &t);
    assert_non_null(strstr(t.s,
                           "{\"number\": 1, \"set\": {\"sm.count\": 1, \"core.policy\": \"lrr\"}, \"state\": "
                           "\"done\", \"kept\": false, \"front\": true, \"cycles\": 50"));
    assert_non_null(strstr(t.s, "{\"key\": \"sm.count\", \"unit\": \"SMs\", \"spread\": 2.5, "));
    assert_non_null(strstr(t.s, "\"best\": 2"));
    t.n = 0;
    orr_sweep_gnuplot(&s, &t);
    assert_non_null(strstr(t.s, "$line0 << EOD\n1 100\n2 40\nEOD\n$line1 << EOD\n1 50\n2 NaN\nEOD\n"));
    assert_non_null(strstr(t.s, "'it''s on h200, model cycle'")); // a quote ends no string
    free(t.s);
    orr_grid_free(&g);
}

// What each key does, by hand. SMs 1, 2, 4, 8 with a latency of 100 cycles, then of 200 (slower, and
// cheaper): the last point is slower than one with fewer SMs and the same latency, so that none of its kind
// is bought.
static void study(void **state) {
    (void)state;
    orr_grid g = {0};
    orr_err e = {0};
    assert_true(orr_grid_add(&g, "sm.count=1,2,4,8", &e) && orr_grid_add(&g, "l2.latency=100,200", &e));
    const double cycles[8] = {800, 880, 400, 440, 209, 229.9, 200, 250};
    orr_swept_point points[8] = {{0}};
    for (int k = 0; k < 8; k++) {
        points[k].state = ORR_POINT_DONE;
        points[k].total.cycles = cycles[k];
    }
    orr_sweep_job s = {.grid = &g, .points = points};
    orr_sweep_summary sum;
    orr_sweep_sum_up(&s, &sum);
    orr_arena a = {0};
    orr_axis_effect sms = orr_sweep_effect(&s, &sum, 0, &a), latency = orr_sweep_effect(&s, &sum, 1, &a);
    assert_true(fabs(sms.spread - sqrt(4 * 880 / 229.9)) < 1e-9);
    assert_int_equal(sms.best, 2); // 219.2 in the mean, 223.6 with eight
    assert_int_equal(sms.knee, 2);
    assert_true(fabs(sms.mean[3] - sqrt(200 * 250 / (209 * 229.9))) < 1e-9);
    assert_true(fabs(latency.spread - pow(1.1 * 1.1 * 1.1 * 1.25, 0.25)) < 1e-9);
    assert_int_equal(latency.best, 0);
    assert_int_equal(latency.knee, -1); // of two values there is none
    bool on[8];
    assert_int_equal(orr_sweep_front(&s, &sum, on), 7);
    assert_false(on[7]);
    points[7].state = ORR_POINT_FAILED; // a row that is not whole does not count
    assert_true(fabs(orr_sweep_effect(&s, &sum, 0, &a).spread - 4) < 1e-9);
    assert_string_equal(orr_axis_unit(&g.axes[0]), "SMs");
    assert_string_equal(orr_axis_unit(&g.axes[1]), "cycles");
    orr_arena_free(&a);
    orr_grid_free(&g);
    orr_grid words = {0};
    assert_true(orr_grid_add(&words, "core.policy=gto,lrr", &e));
    s.grid = &words;
    assert_int_equal(orr_sweep_front(&s, &sum, on), 0); // nothing that costs
    orr_grid_free(&words);
}

// Sixteen lines, and no two of one colour, dash and point.
static void styles(void **state) {
    (void)state;
    orr_grid g = {0};
    orr_err e = {0};
    assert_true(orr_grid_add(&g, "sm.count=1:17", &e) && orr_grid_add(&g, "core.policy=gto,lrr", &e) &&
                orr_grid_add(&g, "l2.slices=1:8", &e));
    orr_swept_point *points = calloc(g.npoints, sizeof *points);
    orr_sweep_job s = {.input = "i", .size = "", .gpu = "g", .model = &orr_model_cycle, .version = "1"};
    s.grid = &g;
    s.points = points;
    orr_text t = {0};
    orr_sweep_gnuplot(&s, &t);
    char style[16][80];
    int n = 0;
    for (const char *p = t.s; n < 16 && (p = strstr(p, "linecolor rgb")) && strstr(p, " title"); p++, n++)
        snprintf(style[n], sizeof style[n], "%.*s", (int)(strstr(p, " title") - p), p);
    assert_int_equal(n, 16);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) assert_string_not_equal(style[i], style[k]);
    assert_non_null(strstr(t.s, "'sm.count (SMs)'"));
    free(t.s);
    free(points);
    orr_grid_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges),
        cmocka_unit_test(bad_values),
        cmocka_unit_test(grids),
        cmocka_unit_test(replay_is_execution),
        cmocka_unit_test(replay_from_disk),
        cmocka_unit_test(tape_crosses_segments),
#if __has_include(<sqlite3.h>)
        cmocka_unit_test(killed_and_resumed),
        cmocka_unit_test(what_is_in_the_file),
#endif
        cmocka_unit_test(said),
        cmocka_unit_test(study),
        cmocka_unit_test(styles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
