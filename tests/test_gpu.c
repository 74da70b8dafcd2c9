// GPU descriptions: the format and its errors, inheritance, overrides, and what the bundled files say
// against the published figures of the products.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gpu/gpu.h"
#include "gpu/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL "inherit = \"h200\"\n"

static orr_gpu *parse(const char *text, orr_err *e) {
    *e = (orr_err){0};
    return orr_gpu_parse("test.conf", text, strlen(text), NULL, 0, e);
}

// The text is refused, and the message has `part` in it.
static void refused(const char *text, const char *part) {
    orr_err e;
    orr_gpu *g = parse(text, &e);
    if (g) fail_msg("accepted: %s", text);
    assert_int_equal(e.status, ORR_BAD_INPUT);
    if (!strstr(e.text, part)) fail_msg("'%s' is not in: %s", part, e.text);
}

// ---- the format -----------------------------------------------------------------------------

static void values_and_units(void **state) {
    (void)state;
    orr_err e;
    orr_gpu *g = parse("# comment\r\n" SMALL "sm.count=7\n  l2.size\t=\t1.5 MB  # half # of three\r\n"
                       "clock.sm = 1.25 GHz\ndram.bandwidth = 2 TB/s\nlaunch.latency = 900 ns\n"
                       "product = \"A # B\"# not the text\nl1.global = no\ncore.policy = two-level\n"
                       "shared.carveouts = 0, 8,16 , 228 KB\nlimit.register_odd =\nchip = bare",
                       &e);
    if (!g) fail_msg("%s", e.text);
    assert_int_equal(g->sm_count, 7);
    assert_int_equal(g->l2_size, 1572864); // 1.5 x 1024 x 1024
    assert_true(g->clock_sm == 1250);
    assert_true(g->dram_bandwidth == 2000);
    assert_true(fabs(g->launch_latency - 0.9) < 1e-12);
    assert_string_equal(g->product, "A # B");
    assert_string_equal(g->chip, "bare");
    assert_false(g->l1_global);
    assert_int_equal(g->core_policy, ORR_SCHED_TWO_LEVEL);
    assert_int_equal(g->shared_carveouts.n, 4);
    assert_int_equal(g->shared_carveouts.at[3], 228 * 1024);
    assert_int_equal(g->limit_register_odd.n, 0);
    assert_int_equal(g->cc_major, 9); // inherited
    assert_string_equal(g->name, "test");
    orr_gpu_free(g);
}

static void mistakes(void **state) {
    (void)state;
    refused(SMALL "sm.cuont = 1", "test.conf:2: there is no parameter 'sm.cuont'; did you mean 'sm.count'?");
    refused(SMALL "l2.sizes = 1", "did you mean 'l2.size'?");
    refused(SMALL "unit.fma.lane = 1", "did you mean 'unit.fma.lanes'?");
    refused(SMALL "op.fp32.latencie = 1", "did you mean 'op.fp32.latency'?");
    refused(SMALL "xyzzy.plugh = 1", "`orrery gpu keys` lists them all");
    refused(SMALL "\nsm.count", "test.conf:3: expected `key = value`");
    refused(SMALL "sm.count # = 5", "expected `key = value`");
    refused(SMALL "= 5", "a key has 1 to 64 characters");
    refused(SMALL "sm count = 5", "is not a key");
    refused(SMALL "sm.count = 1\nsm.count = 2",
            "test.conf:3: sm.count is set twice; the first time is on line 2");
    refused(SMALL "unit.fma.lanes = 1\nunit.fma.lanes = 2", "is set twice");
    refused(SMALL "sm.count = many", "'many' is not a number");
    refused(SMALL "sm.count =", "'' is not a number");
    refused(SMALL "sm.count = 1.5", "1.5 is not a whole number");
    refused(SMALL "sm.count = 0", "0 is out of range; it can be 1 to 4096 SMs");
    refused(SMALL "sm.count = -3", "out of range");
    refused(SMALL "sm.count = 9999999999", "out of range");
    refused(SMALL "sm.count = 99999999999999999999999999", "too many digits");
    refused(SMALL "sm.count = 1e3", "'e3' is not a unit");
    refused(SMALL "sm.count = 0x10", "'x10' is not a unit");
    refused(SMALL "sm.count = nan", "not a number");
    refused(SMALL "sm.count = 5.", "not a number");
    refused(SMALL "sm.count = 132 MHz", "'MHz' is not a unit for it; it is in SMs");
    refused(SMALL "clock.sm = 1 GB", "it is in MHz");
    refused(SMALL "cc.major = 9 x", "it has no unit");
    refused(SMALL "l2.size = 99999999 GB", "out of range");
    refused(SMALL "core.policy = fifo", "'fifo' is none of lrr|gto|gty|gtb|oldest|two-level");
    refused(SMALL "l1.global = maybe", "neither yes nor no");
    refused(SMALL "product = \"open", "closing quote");
    refused(SMALL "product = two words", "\"quotes\"");
    refused(SMALL "product = a\"b\"", "quote is out of place");
    refused(
        SMALL
        "product = \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901\"",
        "it can have 0 to 80");
    refused(SMALL "shared.carveouts = 8, 4 KB", "must ascend");
    refused(SMALL "shared.carveouts = 8,", "missing after the comma");
    refused(SMALL "limit.register_odd = 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25",
            "more than 24");
    refused(SMALL "shared.per_block_optin = 300 KB", "than an SM has");
    refused(SMALL "op.new.latency = 4", "op.new.unit is missing");
    refused(SMALL "op.fp32.unit = fna", "which no unit.fna.* line declares; did you mean 'fma'?");
    refused(SMALL "unit.a-b.lanes = 4", "is not a key");
    refused(SMALL "op.a..b.latency = 4", "cannot name an instruction class");
    refused(SMALL "unit.a.b.lanes = 4", "cannot name a unit");
    refused(SMALL "unit.012345678901234567890123.lanes = 4", "cannot name a unit");
    refused("sm.count = 1", "product is missing");
    refused("", "product is missing");
}

static void not_text(void **state) {
    (void)state;
    orr_err e = {0};
    assert_null(orr_gpu_parse("test.conf", "a\0b", 3, NULL, 0, &e));
    assert_non_null(strstr(e.text, "test.conf:1: this is not a text file"));
    size_t n = (1 << 20) + 1;
    char *big = malloc(n);
    memset(big, '\n', n);
    e = (orr_err){0};
    assert_null(orr_gpu_parse("test.conf", big, n, NULL, 0, &e));
    assert_non_null(strstr(e.text, "larger than 1 MB"));
    free(big);
}

static void too_many(void **state) {
    (void)state;
    orr_text t = {0};
    orr_text_add(&t, SMALL);
    for (int i = 0; i < 40; i++) orr_text_add(&t, "unit.u%d.lanes = 4\n", i);
    refused(t.s, "more than 32 execution units");
    t.n = 0;
    orr_text_add(&t, SMALL);
    for (int i = 0; i < 200; i++) orr_text_add(&t, "op.o%d.latency = 4\n", i);
    refused(t.s, "more than 128 instruction classes");
    free(t.s);
}

// ---- inheritance ----------------------------------------------------------------------------

static char folder[] = "/tmp/orrery-gpu-XXXXXX";

static void put_file(const char *name, const char *text) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s.conf", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static orr_gpu *load_file(const char *name, orr_err *e) {
    char path[200];
    *e = (orr_err){0};
    snprintf(path, sizeof path, "%s/%s.conf", folder, name);
    return orr_gpu_load(path, NULL, 0, e);
}

static void inheritance(void **state) {
    (void)state;
    orr_err e;
    put_file("base", "inherit = \"h200\" # bundled\nsm.count = 10 # ten\nl2.size = 1 MB\n");
    put_file("child", "inherit = base\nsm.count = 20\n");
    orr_gpu *g = load_file("child", &e);
    if (!g) fail_msg("%s", e.text);
    assert_int_equal(g->sm_count, 20);
    assert_int_equal(g->l2_size, 1 << 20);
    assert_int_equal(g->limit_sm_warps, 64);
    orr_text t = {0};
    orr_gpu_print(g, &t);
    assert_non_null(strstr(t.s, "base.conf:3")); // l2.size
    free(t.s);
    orr_gpu_free(g);

    put_file("a", "inherit = \"b\"\n");
    put_file("b", "inherit = \"a\"\n");
    assert_null(load_file("a", &e));
    assert_non_null(strstr(e.text, "a.conf inherits from itself"));
    put_file("self", "inherit = \"self\"\n");
    assert_null(load_file("self", &e));
    assert_non_null(strstr(e.text, "inherits from itself"));
    char name[20], text[40];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "d%d", i);
        snprintf(text, sizeof text, "inherit = \"d%d\"\n", i + 1);
        put_file(name, text);
    }
    assert_null(load_file("d0", &e));
    assert_non_null(strstr(e.text, "more than 8 files"));
    put_file("bad", "\nsm.count = none\n");
    put_file("heir", "inherit = bad\n");
    assert_null(load_file("heir", &e));
    assert_non_null(strstr(e.text, "bad.conf:2: sm.count: 'none' is not a number"));
    assert_null(load_file("absent", &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);

    refused("inherit = \"nobody\"", "test.conf:1: there is no description 'nobody'");
    refused("inherit = \"../../etc/passwd\"", "inherit must name a description");
    refused("inherit = \"/etc/passwd\"", "inherit must name a description");
    refused("inherit = \"\"", "inherit must name a description");
    refused("sm.count = 1\ninherit = \"h200\"", "inherit must be the first setting");
    refused(SMALL SMALL, "inherit must be the first setting");
}

// A folder of one's own comes first.
static void data_folder(void **state) {
    (void)state;
    char path[200];
    snprintf(path, sizeof path, "%s/gpus", folder);
    assert_int_equal(mkdir(path, 0777), 0);
    put_file("gpus/mine", "inherit = \"h200\"\nsm.count = 3\n");
    setenv("ORRERY_DATA", folder, 1);
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("mine", NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    assert_int_equal(g->sm_count, 3);
    orr_gpu_free(g);
    int n, found = 0;
    char **names = orr_gpu_list(&n);
    for (int i = 0; i < n; i++) found += strcmp(names[i], "mine") == 0 || strcmp(names[i], "h200") == 0;
    assert_int_equal(found, 2);
    orr_gpu_list_free(names, n);
    unsetenv("ORRERY_DATA");
}

// ---- overrides and names --------------------------------------------------------------------

static void overrides(void **state) {
    (void)state;
    orr_err e = {0};
    const char *sets[] = {"sm.count=66",       " l2.size = 30 MB ", "sm.count=33",
                          "unit.mine.lanes=8", "op.fp32.unit=mine", "memory=perfect"};
    orr_gpu *g = orr_gpu_load("h200", sets, 6, &e);
    if (!g) fail_msg("%s", e.text);
    assert_int_equal(g->sm_count, 33); // the last wins
    assert_int_equal(g->l2_size, 30 << 20);
    assert_int_equal(g->memory, ORR_MEMORY_PERFECT);
    assert_string_equal(g->units[orr_gpu_find_op(g, "fp32")->unit_index].name, "mine");
    orr_text t = {0};
    orr_gpu_print(g, &t);
    assert_non_null(strstr(t.s, "--set"));
    free(t.s);
    orr_gpu_free(g);

    static const char *const wrong[][2] = {
        {"sm.count", "--set sm.count: expected key=value"},
        {"=5", "expected key=value"},
        {"sm.cout=5", "--set: there is no parameter 'sm.cout'; did you mean 'sm.count'?"},
        {"sm.count=x", "--set: sm.count: 'x' is not a number"},
        {"inherit=h100", "there is no parameter 'inherit'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        e = (orr_err){0};
        assert_null(orr_gpu_load("h200", &wrong[i][0], 1, &e));
        if (!strstr(e.text, wrong[i][1])) fail_msg("'%s' is not in: %s", wrong[i][1], e.text);
    }
}

static void names(void **state) {
    (void)state;
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("RTX-3070", NULL, 0, &e); // spelling does not matter much
    if (!g) fail_msg("%s", e.text);
    assert_string_equal(g->name, "rtx3070");
    orr_gpu_free(g);
    assert_null(orr_gpu_load("h20", NULL, 0, &e));
    assert_string_equal(e.text, "there is no GPU 'h20'; did you mean 'h200'?");
    e = (orr_err){0};
    assert_null(orr_gpu_load("commodore64", NULL, 0, &e));
    assert_non_null(strstr(e.text, "`orrery gpu list`"));
    e = (orr_err){0};
    assert_null(orr_gpu_load("", NULL, 0, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
}

static void classes(void **state) {
    (void)state;
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("h200", NULL, 0, &e);
    assert_string_equal(orr_gpu_find_op(g, "int.mul.wide")->name, "int.mul");
    assert_string_equal(orr_gpu_find_op(g, "int.add")->name, "int");
    assert_null(orr_gpu_find_op(g, "integer"));
    assert_null(orr_gpu_find_op(g, ""));
    // 128 FP32 lanes in four sub-cores: a warp every cycle; 16 special functions: every 8 cycles.
    assert_true(orr_gpu_op_interval(g, orr_gpu_find_op(g, "fp32")) == 1);
    assert_true(orr_gpu_op_interval(g, orr_gpu_find_op(g, "sfu")) == 8);
    orr_gpu_free(g);
}

// ---- the bundled descriptions ---------------------------------------------------------------

// Peak FP32 and FP64 rates as the products' datasheets and whitepapers print them, in GFLOPS.
static void published_peaks(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double fp32, fp64; // 0: not looked at
    } want[] = {
        {"gtx480", 1345, 168},   {"m2090", 1331, 665},   {"k40", 4290, 1430},
        {"k6000", 5200, 1732},   {"titanx", 10970, 0},   {"v100", 15700, 7800},
        {"rtx2060", 6450, 0},    {"rtx3070", 20300, 0},  {"a100", 19500, 9700},
        {"rtx4090", 82600, 0},   {"h100", 66900, 33500}, {"h200", 67000, 34000},
        {"b200", 75000, 37000},  {"rtx5090", 104800, 0}, {"a100_80gb", 19500, 9700},
        {"a30", 10300, 5200},    {"l40s", 91600, 0},     {"rtx3090", 35600, 0},
        {"t4", 8100, 0},         {"orin", 5300, 0},      {"h100_pcie", 51200, 25600},
        {"gh200", 67000, 34000},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        orr_err e = {0};
        orr_gpu *g = orr_gpu_load(want[i].name, NULL, 0, &e);
        if (!g) fail_msg("%s", e.text);
        double fp32 = orr_gpu_peak_gflops(g, "fp32"), fp64 = orr_gpu_peak_gflops(g, "fp64");
        if (fabs(fp32 / want[i].fp32 - 1) > 0.015) fail_msg("%s: FP32 %g", want[i].name, fp32);
        if (want[i].fp64 && fabs(fp64 / want[i].fp64 - 1) > 0.02) fail_msg("%s: FP64 %g", want[i].name, fp64);
        orr_gpu_free(g);
    }
}

// What must hold between the numbers of any GPU.
static void bundled_are_consistent(void **state) {
    (void)state;
    static const char *const needed[] = {"int",  "int.mul", "fp32", "fp64",   "fp16",   "sfu",
                                         "conv", "move",    "mem",  "branch", "tensor", "uniform",
                                         "misc", "shfl",    "vote", "barrier"};
    int n;
    char **all = orr_gpu_list(&n);
    assert_true(n >= 14);
    for (int i = 0; i < n; i++) {
        orr_err e = {0};
        orr_gpu *g = orr_gpu_load(all[i], NULL, 0, &e);
        if (!g) fail_msg("%s", e.text);
        for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
            if (!orr_gpu_find_op(g, needed[k])) fail_msg("%s: op.%s is missing", all[i], needed[k]);
        assert_int_equal(g->limit_sm_threads, g->limit_sm_warps * 32);
        assert_true(g->gpc_count <= g->tpc_count && g->tpc_count <= g->sm_count);
        assert_true(g->l1_latency < g->l2_latency && g->l2_latency < g->dram_latency);
        if (g->shared_carveouts.n)
            assert_int_equal(g->shared_carveouts.at[g->shared_carveouts.n - 1], g->shared_per_sm);
        // Clock, transfers a clock and width give the bandwidth the maker states (to its rounding).
        double transfers = g->dram_kind >= ORR_DRAM_HBM2 ? 2 : 4;
        double gb = g->clock_dram * transfers * g->dram_bus / 8 / 1000;
        if (fabs(gb / g->dram_bandwidth - 1) > 0.03) fail_msg("%s: %g GB/s by the clock", all[i], gb);
        orr_gpu_free(g);
    }
    orr_gpu_list_free(all, n);
}

// What a description leaves unsaid follows by rules: 48 warps are 1,536 threads, a block may have what the
// greatest carve-out leaves behind what the system takes, sub-cores have a scheduler, a part of the registers
// and one of each unit.
static void rules(void **state) {
    (void)state;
    orr_err e;
    orr_gpu *g =
        parse(SMALL "limit.sm_warps = 48\nlimit.sm_registers = 32768\nshared.carveouts = 0, 32, 100 KB\n"
                    "core.subcores = 2\nlsu.replay = 3 cycles\nunit.new.lanes = 4\n"
                    "op.new.latency = 7 cycles\nop.new.part.latency = 9 cycles\nop.ffma.latency = 5 cycles\n",
              &e);
    if (!g) fail_msg("%s", e.text);
    assert_int_equal(g->limit_sm_threads, 48 * 32);
    assert_int_equal(g->limit_block_registers, 32768);
    assert_int_equal(g->shared_per_sm, 100 * 1024);
    assert_int_equal(g->shared_per_block, 48 * 1024);
    assert_int_equal(g->shared_per_block_optin, 99 * 1024);
    assert_int_equal(g->core_schedulers, 2);
    assert_int_equal(g->limit_warp_unit, 2); // by way of core.schedulers
    assert_int_equal(g->l1_replay, 3);
    assert_string_equal(orr_gpu_find_op(g, "new")->unit, "new");      // the unit of its name
    assert_string_equal(orr_gpu_find_op(g, "new.part")->unit, "new"); // the class above
    assert_string_equal(orr_gpu_find_op(g, "ffma")->unit, "fma");     // the class of the opcode, fp32
    assert_int_equal(g->units[orr_gpu_find_op(g, "new")->unit_index].count, 2);
    orr_gpu_free(g);

    const char *set[] = {"core.subcores=1",
                         "core.schedulers=3"}; // what is said wins, and what follows follows it
    g = orr_gpu_parse("test.conf", SMALL, strlen(SMALL), set, 2, &e);
    if (!g) fail_msg("%s", e.text);
    assert_int_equal(g->core_schedulers, 3);
    assert_int_equal(g->limit_warp_unit, 3);
    orr_gpu_free(g);
    refused(SMALL "shared.carveouts =", "shared.per_sm is missing");
    refused(SMALL "shared.per_sm = 1 KB\nshared.reserved = 1 MB",
            "shared.per_block_optin is missing"); // less than nothing
}

// A key under its old name sets what it is called now, with a note that has the place; one that nobody reads
// any more is ignored; one whose value meant something else is refused.
#define OLD                                                                                                  \
    "core.sync"                                                                                              \
    "_poll" // in two pieces: whoever renames keys in all files leaves it alone
static void old_names(void **state) {
    (void)state;
    orr_err e;
    orr_gpu *g = parse(SMALL OLD " = 77 cycles\ncore.fetch = 2 instructions\n", &e);
    if (!g) fail_msg("%s", e.text);
    assert_float_equal(g->core_warpsync_poll, 77, 0);
    assert_int_equal(g->nnotes, 2);
    assert_string_equal(g->notes[0], "test.conf:2: " OLD " is called core.warpsync_poll now");
    assert_non_null(strstr(g->notes[1], "test.conf:3: core.fetch is ignored: "));
    orr_gpu_free(g);
    refused(SMALL OLD " = 7\ncore.warpsync_poll = 8", "core.warpsync_poll is set twice");
    refused(SMALL "l2.dirty_lines = 230400 lines", "say l2.dirty_ways instead");
    refused(SMALL "l1.line = 64 B", "it can only be 128 B");
}

// Shares of L2 are in ways: 7.5 of 16 are 230,400 of the 491,520 lines of 60 MB, and half as many of 30 MB.
static void shares(void **state) {
    (void)state;
    orr_err e;
    orr_gpu *g = parse(SMALL, &e), *half = parse(SMALL "l2.size = 30 MB\n", &e);
    if (!g || !half) fail_msg("%s", e.text);
    assert_int_equal(g->l2_dirty_lines, 230400);
    assert_int_equal(half->l2_dirty_lines, 115200);
    orr_gpu_free(g);
    orr_gpu_free(half);
}

// What is the profiler's comes on top of the chip's own, and can be left out.
static void profiler(void **state) {
    (void)state;
    orr_err e;
    static const char mine[] = SMALL "launch.overhead = 100\nprofiler.overhead = 23\n";
    orr_gpu *on = parse(mine, &e);
    if (!on) fail_msg("%s", e.text);
    assert_true(on->launch_overhead == 123);
    assert_true(on->icache_warm);
    orr_gpu_free(on);
    orr_gpu *off =
        orr_gpu_parse("test.conf", mine, strlen(mine), (const char *const[]){"profiler=off"}, 1, &e);
    if (!off) fail_msg("%s", e.text);
    assert_true(off->launch_overhead == 100);
    assert_false(off->icache_warm);
    orr_gpu_free(off);
}

// ---- printing -------------------------------------------------------------------------------

// What `show` prints of each parameter is read back to the same description.
static void print_reads_back(void **state) {
    (void)state;
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("gtx480", NULL, 0, &e);
    orr_text shown = {0}, again = {0}, file = {0};
    orr_gpu_print(g, &shown);
    char *copy = strdup(shown.s);
    char *line = strtok(copy, "\n");
    while ((line = strtok(NULL, "\n")) !=
           NULL) { // from the second line on: key, two blanks, value, two blanks, ...
        char *value = strchr(line, ' ');
        *value++ = 0;
        while (*value == ' ') value++;
        char *end = strstr(value, "  ");
        if (strncmp(value, "default", 7) != 0) // an empty list: what follows is where it was set
            orr_text_add(&file, "%s = %.*s\n", line, (int)(end - value), value);
    }
    orr_gpu *h = orr_gpu_parse("again.conf", file.s, file.n, NULL, 0, &e);
    if (!h) fail_msg("%s", e.text);
    orr_gpu_print(h, &again);
    assert_int_equal(g->nops, h->nops);
    assert_memory_equal(&g->limit_register_odd, &h->limit_register_odd, sizeof g->limit_register_odd);
    assert_int_equal(g->dram_size, h->dram_size);
    assert_true(g->clock_sm == h->clock_sm && g->l1_write == h->l1_write && g->cc_major == h->cc_major);
    for (int i = 0; i < g->nops; i++) assert_true(g->ops[i].latency == h->ops[i].latency);
    orr_gpu_free(g);
    orr_gpu_free(h);
    free(copy), free(shown.s), free(again.s), free(file.s);
}

// docs/reference/gpus.md holds the table that `orrery gpu keys` prints.
static void documented(void **state) {
    (void)state;
    orr_err e = {0};
    size_t n;
    char *doc = orr_read_file(ORRERY_SOURCE_DIR "/docs/reference/gpus.md", 1 << 20, &n, &e);
    if (!doc) fail_msg("%s", e.text);
    orr_text keys = {0};
    orr_gpu_print_keys(&keys);
    if (!strstr(doc, keys.s))
        fail_msg("docs/reference/gpus.md is out of date; put what `orrery gpu keys` prints in it");
    free(keys.s);
    free(doc);
}

// What driver 580 answered on an H200 (hardware/h200/hopper_remote.csv, clusters.active).
static void clusters(void **state) {
    (void)state;
    static const struct {
        uint32_t size, blocks, clusters;
    } answers[] = {
        {1, 1, 132}, {1, 8, 1056}, {2, 1, 66},  {2, 3, 198}, {3, 1, 39},  {3, 2, 79},
        {3, 8, 327}, {4, 1, 30},   {4, 5, 154}, {6, 1, 17},  {6, 3, 62},  {8, 1, 15},
        {8, 2, 30},  {8, 3, 45},   {8, 6, 92},  {12, 1, 7},  {12, 2, 16}, {12, 3, 28},
        {12, 6, 58}, {16, 1, 7},   {16, 2, 14}, {16, 3, 21}, {16, 8, 58},
    };
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load("h200", NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    for (size_t n = 0; n < sizeof answers / sizeof *answers; n++)
        assert_int_equal(orr_active_clusters(g, answers[n].size, answers[n].blocks), answers[n].clusters);
    orr_gpu_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters),
        cmocka_unit_test(values_and_units),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(not_text),
        cmocka_unit_test(too_many),
        cmocka_unit_test(inheritance),
        cmocka_unit_test(data_folder),
        cmocka_unit_test(overrides),
        cmocka_unit_test(names),
        cmocka_unit_test(classes),
        cmocka_unit_test(published_peaks),
        cmocka_unit_test(bundled_are_consistent),
        cmocka_unit_test(rules),
        cmocka_unit_test(old_names),
        cmocka_unit_test(shares),
        cmocka_unit_test(profiler),
        cmocka_unit_test(print_reads_back),
        cmocka_unit_test(documented),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
