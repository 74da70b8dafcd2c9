// The lab's parts: CSV, measurements, Nsight Compute's tables, and the figures of a comparison against values
// worked out by hand.
#include "lab/lab.h"
#include "json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define near(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-6 * (1 + fabs((double)(b))))

// A copy in memory of exactly its size and a 0, so that reading beyond it is noticed.
static char *copy(const char *s) { return strcpy(orr_malloc(strlen(s) + 1), s); }

// ---- CSV ------------------------------------------------------------------------------------
static void cells_are(orr_csv *c, const char *const *want, size_t n) {
    orr_err e = {0};
    assert_true(orr_csv_row(c, &e));
    assert_int_equal(c->cells.n, n);
    for (size_t k = 0; k < n; k++) assert_string_equal(c->cells.at[k], want[k]);
}

static void csv(void **state) {
    (void)state;
    char *text =
        copy("\xef\xbb\xbf"
             "a,b,c\r\n\n# a remark, with \"quotes\n\"1,234\",\"say \"\"so\"\"\",\"two\nlines\"\n,,\nlast,");
    orr_csv c;
    orr_err e = {0};
    orr_csv_open(&c, "x.csv", text, strlen(text));
    cells_are(&c, (const char *[]){"a", "b", "c"}, 3);
    assert_int_equal(orr_csv_find(&c, "c"), 2);
    assert_int_equal(orr_csv_find(&c, "d"), -1);
    cells_are(&c, (const char *[]){"1,234", "say \"so\"", "two\nlines"}, 3);
    assert_int_equal(c.line, 4);
    cells_are(&c, (const char *[]){"", "", ""}, 3);
    assert_int_equal(c.line, 6);
    cells_are(&c, (const char *[]){"last", ""}, 2);
    assert_false(orr_csv_row(&c, &e));
    assert_int_equal(e.status, 0);
    orr_csv_close(&c);
    free(text);
    text = copy("a,\"b");
    orr_csv_open(&c, "x.csv", text, strlen(text));
    assert_false(orr_csv_row(&c, &e));
    assert_string_equal(e.text, "x.csv:1: a quote is not closed");
    orr_csv_close(&c);
    free(text);
}

static void csv_values(void **state) {
    (void)state;
    double v;
    uint32_t u, d[3];
    assert_true(orr_csv_number("1,234,567.25", &v) && v == 1234567.25);
    assert_true(orr_csv_number("-3e2", &v) && v == -300);
    assert_false(orr_csv_number("", &v) || orr_csv_number("n/a", &v) || orr_csv_number("nan", &v) ||
                 orr_csv_number("inf", &v) || orr_csv_number("0x10", &v) || orr_csv_number("1e999", &v) ||
                 orr_csv_number("12 34", &v) || orr_csv_number("-", &v));
    assert_true(orr_csv_uint("4,294,967,295", &u) && u == UINT32_MAX);
    assert_false(orr_csv_uint("4294967296", &u) || orr_csv_uint("-1", &u) || orr_csv_uint("1.5", &u));
    assert_true(orr_csv_shape("(16, 8, 2)", d) && d[0] == 16 && d[1] == 8 && d[2] == 2);
    assert_true(orr_csv_shape("65535x4", d) && d[0] == 65535 && d[1] == 4 && d[2] == 1);
    assert_false(orr_csv_shape("", d) || orr_csv_shape("1x", d) || orr_csv_shape("0x1x1", d) ||
                 orr_csv_shape("1x2x3x4", d) || orr_csv_shape("-1", d) || orr_csv_shape("99999999999", d));
    orr_text t = {0};
    orr_csv_add(&t, "a \"b\", c");
    orr_csv_add_number(&t, 1234567);
    orr_csv_add_number(&t, NAN);
    orr_csv_add_number(&t, 0.25);
    assert_string_equal(t.s, "\"a \"\"b\"\", c\"12345670.25");
    free(t.s);
}

// ---- measurements -----------------------------------------------------------------------------
static bool parse(orr_hardware *h, const char *text, orr_err *e) {
    char *own = copy(text);
    bool ok = orr_hardware_parse(h, "x.csv", own, strlen(own), e);
    free(own); // nothing of it may be kept
    return ok;
}

static void hardware(void **state) {
    (void)state;
    orr_hardware h = {0};
    orr_err e = {0};
    assert_true(parse(&h,
                      "kernel,script,launch,mood,smsp__inst_executed.sum,gpc__cycles_elapsed.max\n"
                      "k<1>,a,0,good,10,\n"
                      "k2,a,1,bad,,2000.5\n",
                      &e));
    assert_true(
        parse(&h,
              "script,size,cache,launch,repeat,kernel,grid,block,lts__t_sectors.sum,gpc__cycles_elapsed.max\n"
              "b,small,warm,3,2,k,16x8x1,32,7,9\n",
              &e));
    assert_int_equal(h.rows.n, 3);
    assert_int_equal(h.metrics.n, 3);
    const orr_measured *m = &h.rows.at[0];
    assert_string_equal(m->kernel, "k<1>");
    assert_string_equal(m->cache, "flushed");
    near(orr_hardware_get(&h, m, "smsp__inst_executed.sum"), 10);
    assert_true(isnan(orr_hardware_get(&h, m, "gpc__cycles_elapsed.max")));
    assert_true(isnan(orr_hardware_get(&h, m, "lts__t_sectors.sum"))); // came with the second file
    assert_true(isnan(orr_hardware_get(&h, m, "nothing")));
    m = &h.rows.at[2];
    assert_string_equal(m->cache, "warm");
    assert_int_equal(m->launch, 3);
    assert_int_equal(m->repeat, 2);
    assert_int_equal(m->grid[1], 8);
    near(orr_hardware_get(&h, m, "gpc__cycles_elapsed.max"), 9);
    // What is written reads back the same, to the letter.
    orr_text one = {0}, two = {0};
    orr_hardware_write(&h, &one);
    orr_hardware again = {0};
    assert_true(parse(&again, one.s, &e));
    orr_hardware_write(&again, &two);
    assert_string_equal(one.s, two.s);
    free(one.s);
    free(two.s);
    orr_hardware_free(&again);
    orr_hardware_free(&h);
}

static void hardware_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "x.csv: is empty"},
        {"script,kernel\n", "x.csv:1: there is no column launch"},
        {"script,launch,kernel,kernel\n", "x.csv:1: there are two columns kernel"},
        {"script,launch,kernel,a__b,a__b\n", "x.csv:1: there are two columns a__b"},
        {"script,launch,kernel\na,0\n", "x.csv:2: the row has 2 cells, the first one has 3"},
        {"script,launch,kernel\na,zero,k\n", "x.csv:2: \"zero\" in column launch is not a number"},
        {"script,launch,kernel\n,0,k\n", "x.csv:2: \"\" in column script is not a name"},
        {"script,launch,kernel,cache\na,0,k,hot\n",
         "x.csv:2: \"hot\" in column cache is not flushed or warm"},
        {"script,launch,kernel,grid\na,0,k,big\n", "x.csv:2: \"big\" in column grid is not a shape"},
        {"script,launch,kernel,a__b\na,0,k,many\n", "x.csv:2: \"many\" in column a__b is not a number"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        orr_hardware h = {0};
        orr_err e = {0};
        assert_false(parse(&h, bad[k].text, &e));
        assert_int_equal(e.status, ORR_BAD_INPUT);
        assert_memory_equal(e.text, bad[k].why, strlen(bad[k].why));
        orr_hardware_free(&h);
    }
}

// ---- Nsight Compute ---------------------------------------------------------------------------
// The table's form is that of ncu 2025.3; numbers are made up.
#define HEAD                                                                                                 \
    "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid "                                                          \
    "Size\",\"device__attribute_display_name\",\"launch__registers_per_thread\",\"gpc__cycles_elapsed."      \
    "max\",\"gpu__time_duration.sum\"\n"
#define LOG "script,size,round,launch,kernel,grid,block,registers,shared,time_us,right\n"

static bool read_ncu(orr_hardware *h, const char *csv_text, const char *log_text, orr_err *e) {
    orr_names metrics = {0};
    *ORR_PUSH(&metrics) = "gpc__cycles_elapsed.max";
    *ORR_PUSH(&metrics) = "gpu__time_duration.sum";
    *ORR_PUSH(&metrics) = "dram__sectors_read.sum"; // asked for and not there
    orr_ncu_files f = {"ncu.csv",      "log.csv",        copy(csv_text),
                       copy(log_text), strlen(csv_text), strlen(log_text)};
    orr_measured proto = {.cache = "flushed", .driver = "580.1", .date = "2026-01-02", .repeat = 1};
    bool ok = orr_ncu_read(h, &f, &metrics, &proto, e);
    free(f.csv);
    free(f.log);
    free(metrics.at);
    return ok;
}

static void ncu_table(void **state) {
    (void)state;
    orr_hardware h = {0};
    orr_err e = {0};
    assert_true(
        read_ncu(&h,
                 "==PROF== Connected to process 7, \"orrery\"\nsomething else\n" HEAD
                 "\"\",\"\",\"block\",\"\",\"\",\"\",\"cycle\",\"us\"\n"
                 "\"9\",\"orr_first\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"GPU, big\",\"16\",\"4,000\",\"2\"\n"
                 "\"0\",\"k\",\"(256, 1, 1)\",\"(10, 2, 1)\",\"GPU, big\",\"33\",\"12,345\",\"6.5\"\n"
                 "==WARNING== in between, \"so\n"
                 "\"1\",\"k2\",\"(32, 1, 1)\",\"(1, 1, 1)\",\"GPU, big\",\"16\",\"n/a\",\"1,000\"\n"
                 "\"2\",\"k\",\"(256, 1, 1)\",\"(10, 2, 1)\",\"GPU, big\",\"33\",\"12,000\",\"7\"\n",
                 LOG "a,small,0,0,k,10x2x1,256x1x1,40,128,1.5,yes\n"
                     "b,small,0,0,k2,1x1x1,32x1x1,16,0,1.5,no\n"
                     "a,small,1,0,k,10x2x1,256x1x1,40,128,1.5,yes\n",
                 &e));
    assert_int_equal(h.rows.n, 2); // b left wrong results
    const orr_measured *m = &h.rows.at[0];
    assert_string_equal(m->script, "a");
    assert_string_equal(m->gpu, "GPU, big");
    assert_int_equal(m->regs, 33); // the profiler's, not the log's
    assert_int_equal(m->shared, 128);
    assert_int_equal(m->repeat, 1);
    assert_int_equal(h.rows.at[1].repeat, 2);
    near(orr_hardware_get(&h, m, "gpc__cycles_elapsed.max"), 12345);
    near(orr_hardware_get(&h, m, "gpu__time_duration.sum"), 6500); // ns
    assert_true(isnan(orr_hardware_get(&h, m, "dram__sectors_read.sum")));
    orr_hardware_free(&h);
}

static void ncu_refused(void **state) {
    (void)state;
#define UNITS "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"\n"
#define ROW   "\"0\",\"k\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"\",\"1\",\"2\",\"3\"\n"
    static const struct {
        const char *csv, *log, *why;
    } bad[] = {
        {"==ERROR== no\n", LOG, "ncu.csv: there is no table of Nsight Compute"},
        {"\"ID\",\"x\"\n", LOG, "ncu.csv:1: the table has no Kernel Name"},
        {HEAD, LOG, "ncu.csv:1: the row with the units is missing"},
        {HEAD UNITS ROW, LOG "a,,0,0,other,1x1x1,1x1x1,1,0,1,yes\n",
         "ncu.csv:3: the profiler saw kernel k, grid (1, 1, 1), where a launched other"},
        {HEAD UNITS ROW, LOG "a,,0,0,k,2x1x1,1x1x1,1,0,1,yes\n", "ncu.csv:3: the profiler saw kernel k"},
        {HEAD UNITS ROW, LOG "a,,0,0,k,1x1x1,1x1x1,1,0,1,yes\na,,0,1,k,1x1x1,1x1x1,1,0,1,yes\n",
         "ncu.csv: the profiler saw fewer kernels"},
        {HEAD UNITS ROW ROW, LOG "a,,0,0,k,1x1x1,1x1x1,1,0,1,yes\n",
         "ncu.csv:4: the profiler saw more kernels"},
        {HEAD UNITS ROW, "script,size\n", "log.csv:1: there is no column round"},
        {HEAD UNITS ROW, LOG "a,,x,0,k,1x1x1,1x1x1,1,0,1,yes\n", "log.csv:2: this is not a launch"},
        {HEAD UNITS ROW, LOG "a,,0\n", "log.csv:2: the row has 3 cells"},
        {HEAD UNITS "\"0\",\"k\"\n", LOG "a,,0,0,k,1x1x1,1x1x1,1,0,1,yes\n",
         "ncu.csv:3: the row has 2 cells"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        orr_hardware h = {0};
        orr_err e = {0};
        assert_false(read_ncu(&h, bad[k].csv, bad[k].log, &e));
        assert_memory_equal(e.text, bad[k].why, strlen(bad[k].why));
        orr_hardware_free(&h);
    }
}

static bool in(const orr_names *n, const char *name) {
    for (size_t k = 0; k < n->n; k++)
        if (!strcmp(n->at[k], name)) return true;
    return false;
}

static void ncu_names(void **state) {
    (void)state;
    orr_names all = {0}, timing = {0};
    orr_ncu_metrics(&all, false);
    orr_ncu_metrics(&timing, true);
    assert_true(in(&all, "gpc__cycles_elapsed.max") && in(&all, "smsp__inst_executed.sum") &&
                in(&all, "lts__t_requests.sum"));
    for (size_t k = 0; k < all.n; k++) assert_null(strstr(all.at[k], "orrery__"));
    assert_true(timing.n < 6 && in(&timing, "gpc__cycles_elapsed.max") &&
                in(&timing, "gpu__time_duration.sum"));
    // What L2 and memory were asked for is measured with the time, in one pass, not with the others.
    assert_true(!in(&all, "lts__t_sectors.sum") && !in(&all, "dram__sectors_read.sum"));
    orr_ncu_l2(&timing);
    assert_true(in(&timing, "lts__t_sectors.sum") && orr_ncu_of_l2("lts__t_sectors_op_read.sum") &&
                !orr_ncu_of_l2("gpc__cycles_elapsed.max"));
    char *list = copy("Device X\nName   Type\ngpc__cycles_elapsed  "
                      "Counter\n\"smsp__warps_issue_stalled_wait\",\"Counter\"\n"
                      "smsp__average_warps_issue_stalled_wait_per_issue_active  Ratio\n"
                      "smsp__average_warps_issue_stalled_drain_per_issue_active  Ratio\n");
    orr_ncu_known(&all, list);
    assert_true(in(&all, "gpc__cycles_elapsed.max") && in(&all, "launch__occupancy_limit_blocks"));
    assert_false(in(&all, "smsp__inst_executed.sum"));
    // The count of a reason is there: its average is made of it. Of another there is only the average.
    assert_true(in(&all, "smsp__warps_issue_stalled_wait.sum"));
    assert_false(in(&all, "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"));
    assert_true(in(&all, "smsp__average_warps_issue_stalled_drain_per_issue_active.ratio"));
    free(list);
    free(all.at);
    free(timing.at);
}

// ---- figures --------------------------------------------------------------------------------
static void predict(orr_comparison *c, size_t group, uint32_t index, const char *kernel, double cycles,
                    double insts) {
    char name[32];
    snprintf(name, sizeof name, "%s", kernel);
    double counters[ORR_COUNTERS];
    for (int k = 0; k < ORR_COUNTERS; k++) counters[k] = NAN;
    counters[ORR_C_INST] = insts;
    orr_kernel k = {.name = name, .regs = 20};
    orr_launch_result l = {.kernel = &k,
                           .index = index,
                           .grid = {1, 1, 1},
                           .block = {1, 1, 1},
                           .cycles = cycles,
                           .counters = counters};
    orr_compare_launch(c, &c->groups.at[group], NULL, &l);
}

// Three kernels: measured 100, 200, 400, predicted 110, 180, 400.
//   MAPE (10 + 10 + 0) / 3, WMAPE 30 / 700, bias 0, within 10 %: the third, whose error is less than 10
//   NRMSE sqrt((100 + 400 + 0) / 3) / (700 / 3)
//   Pearson: deviations from the means 700/3 and 230 give 46000 / sqrt(46666.67 * 45800)
static void three(void **state) {
    (void)state;
    orr_hardware h = {0};
    orr_comparison c;
    orr_err e = {0};
    assert_true(parse(&h,
                      "script,size,launch,repeat,kernel,gpc__cycles_elapsed.max,smsp__inst_executed.sum\n"
                      "a,s,0,0,x,100,0\na,s,1,0,y,190,0\na,s,2,0,z,400,5\n"
                      "a,s,1,1,y,230,\na,s,1,2,y,200,\n",
                      &e));
    assert_true(orr_compare_start(&c, &h, &e));
    assert_int_equal(c.groups.n, 1);
    assert_int_equal(c.launches.n, 3);
    predict(&c, 0, 0, "x", 110, 0);
    predict(&c, 0, 1, "y", 180, 3);
    predict(&c, 0, 2, "z", 400, 5);
    predict(&c, 0, 3, "w", 1e6, 5); // not measured
    orr_compare_end(&c);
    assert_int_equal(c.kernels.n, 3);
    near(c.kernels.at[1].values[0].measured, 200); // the median of 190, 200, 230
    near(c.kernels.at[1].values[0].low, 190);
    near(c.kernels.at[1].values[0].high, 230);
    const orr_nearness *f = &c.by_kernel[0];
    assert_int_equal(f->points, 3);
    near(f->mape, 20.0 / 3);
    near(f->wmape, 3000.0 / 700);
    near(f->bias, 0);
    near(f->within_10, 100.0 / 3);
    near(f->nrmse, sqrt(500.0 / 3) / (700.0 / 3));
    near(f->pearson, 46000 / sqrt(140000.0 / 3 * 45800));
    near(f->spread, 20); // of the one that was repeated
    assert_int_equal(f->nworst, 3);
    assert_string_equal(c.kernels.at[f->worst[2]].kernel, "z");
    // Instructions: 0 and 0; 0 measured and 3 predicted; right.
    f = &c.by_kernel[1];
    assert_int_equal(c.counters[1], ORR_C_INST);
    assert_int_equal(f->points, 3);
    assert_int_equal(f->zero, 1);
    assert_int_equal(f->undefined, 1);
    near(f->mape, 0);
    near(f->wmape, 60);
    near(f->within_10, 50);
    near(f->nrmse, sqrt(9.0 / 3) / (5.0 / 3));
    assert_true(isnan(orr_error_percent(&c.kernels.at[1].values[1])));
    orr_compare_free(&c);
    orr_hardware_free(&h);
}

// One kernel launched three times, of which the simulation makes two, and a script that fails: nothing is
// lost.
static void missing(void **state) {
    (void)state;
    orr_hardware h = {0};
    orr_comparison c;
    orr_err e = {0};
    assert_true(parse(&h,
                      "script,size,launch,kernel,gpc__cycles_elapsed.max,sm__warps_active.avg.pct_of_peak_"
                      "sustained_active\n"
                      "a,s,0,x,100,50\na,s,1,x,300,90\na,s,2,x,1000,10\nb,s,0,x,70,1\na,t,0,x,5,1\n",
                      &e));
    assert_true(orr_compare_start(&c, &h, &e));
    assert_int_equal(c.groups.n, 3);
    predict(&c, 0, 0, "x", 150, 0);
    predict(&c, 0, 1, "x", 350, 0);
    predict(&c, 0, 2, "other", 350, 0);
    orr_compare_missing(&c, &c.groups.at[1], "it failed");
    predict(&c, 2, 0, "x", 5, 0);
    orr_compare_end(&c);
    assert_int_equal(c.kernels.n, 3);
    const orr_point *p = &c.kernels.at[0];
    assert_int_equal(p->launches, 3);
    assert_int_equal(p->missing, 1);
    assert_null(p->failure);
    near(p->values[0].measured, 400);
    near(p->values[0].predicted, 500);
    near(p->values[1].measured, (100 * 50 + 300 * 90) / 400.0); // a share: cycles are the weights
    assert_true(isnan(p->values[1].predicted));
    assert_string_equal(c.launches.at[2].failure, "in the simulation launch 2 is other, grid 1,1,1");
    assert_string_equal(c.kernels.at[1].failure, "it failed");
    near(c.kernels.at[1].values[0].measured, 70);
    assert_int_equal(c.by_kernel[0].points, 2);
    assert_int_equal(c.by_kernel[0].missing, 1);
    assert_int_equal(c.by_launch[0].points, 3);
    assert_int_equal(c.by_launch[0].missing, 2);
    near(c.by_kernel[0].mape, 12.5); // 25 and 0
    orr_compare_free(&c);
    orr_hardware_free(&h);
}

static void said(void **state) {
    (void)state;
    orr_hardware h = {0};
    orr_comparison c;
    orr_err e = {0};
    assert_true(parse(
        &h, "script,size,launch,kernel,gpc__cycles_elapsed.max\n\"a</script>,\"\"b\",s,0,x,100\nb,s,0,y,50\n",
        &e));
    assert_true(orr_compare_start(&c, &h, &e));
    c.gpu = "g";
    c.model = "m";
    c.source = "PTX";
    predict(&c, 0, 0, "x", 110, 0);
    orr_compare_missing(&c, &c.groups.at[1], "it failed");
    orr_compare_end(&c);
    orr_text t = {0}, page = {0}, rows = {0};
    orr_compare_json(&c, &t);
    json_doc doc = {0};
    const json *j = json_parse(&doc, t.s, t.n);
    assert_non_null(j);
    near(json_double(json_get(json_get(j, "cycles"), "mape")), 10);
    near(json_double(json_get(json_get(json_get(j, "counters"), "gpc__cycles_elapsed.max"), "wmape")), 10);
    assert_int_equal(json_u64(json_get(json_get(j, "cycles"), "missing")), 1);
    assert_int_equal(json_get(j, "kernels")->n, 2);
    assert_string_equal(json_get(json_at(json_get(j, "launches"), 1), "failure")->text, "it failed");
    assert_string_equal(json_get(json_at(json_get(j, "kernels"), 0), "script")->text, "a</script>,\"b");
    orr_arena_free(&doc.arena);
    // The page: the block of data is JSON too, and nothing in it ends the block.
    orr_compare_html(&c, &page);
    const char *from = strstr(page.s, "type=\"application/json\">"), *to;
    assert_non_null(from);
    from += strlen("type=\"application/json\">");
    to = strstr(from, "</script>");
    memset(&doc, 0, sizeof doc);
    j = json_parse(&doc, from, (size_t)(to - from));
    assert_non_null(j);
    assert_int_equal(json_get(j, "kernels")->n, 2);
    assert_string_equal(json_get(json_at(json_get(j, "kernels"), 0), "script")->text, "a</script>,\"b");
    orr_arena_free(&doc.arena);
    // CSV: a heading, two kernels, two launches.
    orr_compare_csv(&c, &rows);
    char *own = copy(rows.s);
    orr_csv csv_rows;
    orr_csv_open(&csv_rows, "x", own, strlen(own));
    int n = 0;
    while (orr_csv_row(&csv_rows, &e)) {
        assert_int_equal(csv_rows.cells.n, 16);
        n++;
    }
    assert_int_equal(n, 5);
    orr_csv_close(&csv_rows);
    free(own);
    free(t.s);
    free(page.s);
    free(rows.s);
    orr_compare_free(&c);
    orr_hardware_free(&h);
}

// What is in hardware/ can be read and has what the comparison needs.
static void bundled(void **state) {
    (void)state;
    orr_hardware h = {0};
    orr_err e = {0};
    assert_true(orr_hardware_read(&h, ORRERY_SOURCE_DIR "/hardware/h200/workloads.csv", &e));
    orr_comparison c;
    assert_true(orr_compare_start(&c, &h, &e));
    assert_true(c.launches.n > 1000);
    for (size_t k = 0; k < c.launches.n; k++) assert_true(c.launches.at[k].values[0].measured > 0);
    orr_compare_free(&c);
    orr_hardware_free(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv),       cmocka_unit_test(csv_values),
        cmocka_unit_test(hardware),  cmocka_unit_test(hardware_refused),
        cmocka_unit_test(ncu_table), cmocka_unit_test(ncu_refused),
        cmocka_unit_test(ncu_names), cmocka_unit_test(three),
        cmocka_unit_test(missing),   cmocka_unit_test(said),
        cmocka_unit_test(bundled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
