// The tuner on findings whose values were chosen here: what comes out is worked out by hand beside each.
#include "lab/lab.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char head[] = "benchmark,size,metric,point,unit,value,low,high,repeats,gpu,driver,date\n";
#define ROW(metric, point, value)                                                                            \
    "b,full," metric "," point ",u," value "," value "," value ",1,Chosen 1,13.0,2026-01-01\n"
#define DEVICE                                                                                               \
    ROW("device.cc_major", "", "9")                                                                          \
    ROW("device.cc_minor", "", "0")                                                                          \
    ROW("device.sms", "", "100")                                                                             \
    ROW("device.clock", "", "1500000")                                                                       \
    ROW("device.memory_clock", "", "2000000")                                                                \
    ROW("device.memory_bus", "", "4096")                                                                     \
    ROW("device.memory", "", "85899345920")                                                                  \
    ROW("device.l2_size", "", "41943040")                                                                    \
    ROW("device.sm_threads", "", "2048")                                                                     \
    ROW("device.sm_blocks", "", "32")                                                                        \
    ROW("device.shared_reserved", "", "1024")                                                                \
    ROW("clock.sm", "", "1400.2")

static void tuned(orr_findings *f, orr_tuned *t, const char *rows) {
    orr_err e = {0};
    orr_text text = {0};
    orr_text_add(&text, "%s%s", head, rows);
    *f = (orr_findings){0};
    *t = (orr_tuned){0};
    assert_true(orr_findings_parse(f, "chosen.csv", text.s, text.n, &e));
    assert_true(orr_tune_readings(f, NULL, t, &e));
    free(text.s);
}

static const char *value_of(const orr_tuned *t, const char *key) {
    for (size_t k = 0; k < t->keys.n; k++)
        if (!strcmp(t->keys.at[k].key, key)) return t->keys.at[k].value;
    return "(none)";
}

static const char *why_of(const orr_tuned *t, const char *key) {
    for (size_t k = 0; k < t->keys.n; k++)
        if (!strcmp(t->keys.at[k].key, key)) return t->keys.at[k].why;
    return "(none)";
}

static void done(orr_findings *f, orr_tuned *t) {
    orr_tuned_free(t);
    orr_findings_free(f);
}

static void device(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t, DEVICE);
    assert_string_equal(t.family, "family/hopper");
    assert_string_equal(value_of(&t, "sm.count"), "100 SMs");
    assert_string_equal(value_of(&t, "tpc.count"), "50 TPCs");
    assert_string_equal(value_of(&t, "clock.sm"), "1400 MHz");
    assert_string_equal(value_of(&t, "limit.sm_warps"), "64 warps");
    assert_string_equal(value_of(&t, "l2.size"), "40 MB");
    assert_string_equal(value_of(&t, "dram.size"), "80 GB");
    assert_string_equal(value_of(&t, "dram.bandwidth"), "2048 GB/s");  // 2 x 2e9 x 4096 / 8
    assert_string_equal(value_of(&t, "dram.channels"), "64 channels"); // 4096 / 64
    assert_string_equal(value_of(&t, "dram.kind"), "hbm3");
    assert_string_equal(value_of(&t, "l1.latency"), "(none)");      // not measured: as the family has it
    assert_string_equal(value_of(&t, "profiler.warm_code"), "yes"); // of any GPU
    assert_string_equal(value_of(&t, "const.cold"), "yes");
    bool missing = false;
    for (size_t k = 0; k < t.missing.n; k++) missing |= !strcmp(t.missing.at[k], "l1.latency");
    assert_true(missing);
    done(&f, &t);
}

static void instructions(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t,
          DEVICE ROW("ffma.latency", "", "5.06") ROW("ffma.interval", "", "0.26")
              ROW("lop3.interval", "", "0.51") ROW("mufu_ex2.interval", "", "2.2")
                  ROW("f2f.latency", "", "30") ROW("vote.latency", "", "17") ROW("isetp.latency", "", "8")
                      ROW("hmma_16816_f32.interval", "", "1.9") ROW("bar.sync", "warps=2", "9")
                          ROW("bar.sync", "warps=1", "7.2"));
    assert_string_equal(value_of(&t, "op.fp32.latency"), "5 cycles");
    assert_string_equal(why_of(&t, "op.fp32.latency"), "ffma.latency = 5.06");
    assert_string_equal(value_of(&t, "unit.fma.lanes"), "32 lanes"); // 32 / (0.26 x 4) = 30.8
    assert_string_equal(value_of(&t, "unit.alu.lanes"), "16 lanes"); // 32 / (0.51 x 4) = 15.7
    assert_string_equal(value_of(&t, "unit.xu.lanes"), "4 lanes");   // 32 / (2.2 x 4) = 3.6
    assert_string_equal(value_of(&t, "op.conv.latency"), "15 cycles");
    assert_string_equal(value_of(&t, "op.vote.latency"), "13 cycles"); // 17 - 8 / 2
    assert_string_equal(value_of(&t, "op.tensor.interval"), "8 cycles");
    assert_string_equal(value_of(&t, "op.barrier.latency"), "7 cycles"); // of one warp
    done(&f, &t);
}

static void memory(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t,
          DEVICE ROW("ldc.cycles", "words=32 step=16", "64") ROW("ldc.cycles", "words=32 step=256", "432")
              ROW("const.chase", "bytes=256", "30") ROW("const.chase", "bytes=1024", "31")
                  ROW("const.chase", "bytes=2048", "80") ROW("const.chase", "bytes=4096", "90.4")
                      ROW("icache.straight", "kb=4", "1") ROW("icache.straight", "kb=16", "1.05")
                          ROW("icache.straight", "kb=24", "2.1") ROW("icache.straight", "kb=32", "2.2")
                              ROW("icache.straight", "kb=64", "2.25") ROW("icache.straight", "kb=72", "6")
                                  ROW("l1.size", "kb=64", "32") ROW("l1.size", "kb=90", "32.5")
                                      ROW("l1.size", "kb=96", "50") ROW("l2.read", "foot=4", "3996")
                                          ROW("l2.read", "foot=8", "4004") ROW("l2.from_sm", "sm=0", "250")
                                              ROW("l2.from_sm", "sm=1", "270") ROW("l2.size", "mb=8", "260")
                                                  ROW("l2.size", "mb=256", "611.4") ROW("sm.write", "", "32")
                                                      ROW("stream", "kind=0 passes=1",
                                                          "1316.3") ROW("probe.least", "first=0 d=0", "290")
                                                          ROW("probe.least", "first=1 d=0", "60")
                                                              ROW("probe.least", "first=2 d=0", "291")
                                                                  ROW("probe.least", "first=3 d=0", "61"));
    assert_string_equal(value_of(&t, "const.miss_interval"), "11.5 cycles"); // (432 - 64) / 32
    assert_string_equal(value_of(&t, "const.size"), "1024 B"); // 31 is within 10 % of 30, 80 is not
    assert_string_equal(value_of(&t, "const.latency"), "30 cycles");
    assert_string_equal(value_of(&t, "const.l15_latency"), "90 cycles"); // at the largest footprint
    assert_string_equal(value_of(&t, "icache.l0"), "16 KB");
    assert_string_equal(value_of(&t, "icache.l1"), "64 KB");
    assert_string_equal(value_of(&t, "l1.size"), "128 KB"); // 90 KB and 32 blocks of 1 KB, in steps of 32
    assert_string_equal(value_of(&t, "l2.bandwidth"), "4000 B/cycle");
    assert_string_equal(value_of(&t, "l2.latency"), "260 cycles");
    assert_string_equal(value_of(&t, "dram.latency"), "611 cycles");
    assert_string_equal(value_of(&t, "xbar.request"), "34 B/cycle"); // 32 x 136 / 128
    assert_string_equal(value_of(&t, "dram.efficiency"), "90 %");    // 1316.3 x 1.4002 GHz of 2048 GB/s
    assert_string_equal(value_of(&t, "l1.write"), "through");
    assert_string_equal(value_of(&t, "l1.write_allocate"),
                        "no"); // a load after a store takes as long as a miss
    done(&f, &t);
}

// An L2 of 40 MB of which an SM sees half at once. Memory: 580 and 584 here, 610 and 618 there: their means
// are 582 and 614, and what all accesses take is half of that further than what is behind the own half.
#define HALVES                                                                                               \
    ROW("l2.size", "mb=4", "280")                                                                            \
    ROW("l2.size", "mb=16", "281") ROW("l2.size", "mb=32", "400") ROW("l2.size", "mb=256", "600")
static void heaps_and_lines(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t,
          DEVICE HALVES ROW("dram.place", "place=0", "580") ROW("dram.place", "place=1", "610")
              ROW("dram.place", "place=2", "618") ROW("dram.place", "place=3", "584")
                  ROW("queue.issued", "warps=4 k=0", "50") ROW("queue.issued", "warps=4 k=1", "54")
                      ROW("queue.issued", "warps=4 k=2", "58") ROW("queue.issued", "warps=4 k=3", "120"));
    assert_string_equal(value_of(&t, "l2.far_latency"), "32 cycles");
    assert_string_equal(value_of(&t, "l2.latency"), "280 cycles");
    assert_string_equal(value_of(&t, "dram.latency"), "584 cycles"); // 600 - 32 / 2
    assert_string_equal(value_of(&t, "l2.replicate"), "yes");
    assert_string_equal(value_of(&t, "lsu.queue"), "12 instructions"); // three on each of four sub-cores
    done(&f, &t);
    tuned(&f, &t, DEVICE HALVES ROW("dram.place", "place=0", "580") ROW("dram.place", "place=1", "580"));
    assert_string_equal(value_of(&t, "l2.far_latency"), "(none)"); // one heap
    assert_string_equal(value_of(&t, "dram.latency"), "600 cycles");
    done(&f, &t);
    tuned(&f, &t,
          DEVICE ROW("l2.size", "mb=4", "280") ROW("l2.size", "mb=36", "281") ROW("l2.size", "mb=256", "600")
              ROW("dram.place", "place=0", "580") ROW("dram.place", "place=1", "610"));
    assert_string_equal(value_of(&t, "l2.replicate"), "no"); // all of it answers at once
    assert_string_equal(value_of(&t, "l2.far_latency"), "(none)");
    assert_string_equal(value_of(&t, "dram.latency"), "600 cycles");
    done(&f, &t);
}

// The other half by atomics, where there are such readings: 330 here, 530 there. Places of the own half from
// 281 to 320: nine of ten are from 283 to 318, 35 of 90 %. Loads of 32 words of one bank take 62 cycles more
// than of 32 banks. Blocks: four SMs side by side, then TPCs that are not.
static void places(void **state) {
    (void)state;
    static const int sms[] = {12, 13, 14, 15, 40, 41, 60, 61, 80, 81};
    orr_findings f;
    orr_tuned t;
    orr_text rows = {0};
    orr_text_add(&rows, "%s",
                 DEVICE HALVES ROW("dram.place", "place=0", "580") ROW("dram.place", "place=1", "610")
                     ROW("atomic.place", "i=0", "330") ROW("atomic.place", "i=1", "530")
                         ROW("lag", "stride=32", "116.25") ROW("lag", "stride=33", "54.25"));
    for (int k = 0; k < 40; k++)
        orr_text_add(&rows, "b,full,l2.place,place=%d,cycles,%d,1,1,1,Chosen 1,13.0,2026-01-01\n", k,
                     281 + k);
    for (int k = 0; k < 10; k++)
        orr_text_add(&rows, "b,full,small.sm,block=%d,SM,%d,1,1,1,Chosen 1,13.0,2026-01-01\n", k, sms[k]);
    tuned(&f, &t, rows.s);
    assert_string_equal(value_of(&t, "l2.far_latency"), "200 cycles");
    assert_string_equal(value_of(&t, "dram.latency"), "500 cycles"); // 600 - 200 / 2
    assert_string_equal(value_of(&t, "l2.spread"), "39 cycles");
    assert_string_equal(value_of(&t, "l1.replay"), "2 cycles");
    assert_string_equal(value_of(&t, "launch.order"), "gpc");
    assert_string_equal(value_of(&t, "launch.first"), "4 SMs");
    free(rows.s);
    done(&f, &t);
}

static void newer_rules(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t,
          DEVICE ROW("shared.atom_cas", "same=32", "64.1") ROW("shared.atom_add", "same=32", "31.9")
              ROW("pattern.ld_stride", "stride=128", "32") ROW("pattern.ld_stride", "stride=132", "8")
                  ROW("pattern.st_stride", "stride=4", "1.97") ROW("icache.straight", "kb=8", "1.1")
                      ROW("icache.straight", "kb=24", "1.1") ROW("icache.straight", "kb=64", "2.25") ROW(
                          "icache.straight", "kb=100", "2.25") ROW("icache.straight", "kb=200", "5.75")
                          ROW("dram.probe", "first=0 d=32", "720") ROW("dram.probe", "first=1 d=32", "313")
                              ROW("dram.probe", "first=0 d=64", "721")
                                  ROW("dram.probe", "first=1 d=64", "725")
                                      ROW("dram.probe", "first=1 d=0", "314") ROW("small.sm", "block=0", "12")
                                          ROW("small.sm", "block=1", "13") ROW("branch.loop", "", "29.2"));
    assert_string_equal(value_of(&t, "shared.cas"), "2 cycles");
    assert_string_equal(value_of(&t, "l1.word_banks"), "yes");
    assert_string_equal(value_of(&t, "l1.store_interval"), "2 cycles");
    assert_string_equal(value_of(&t, "icache.l1_interval"), "18 cycles"); // 2.25 x 8 instructions of a line
    assert_string_equal(value_of(&t, "icache.l2_interval"), "46 cycles");
    assert_string_equal(value_of(&t, "l2.sector"),
                        "64 B"); // the second of a pair comes along, the third does not
    assert_string_equal(value_of(&t, "launch.order"), "tpc");
    assert_string_equal(value_of(&t, "core.branch_taken"), "5 cycles");
    done(&f, &t);
    // A port of 34 bytes a cycle (32 and heads): a line takes 4 of them; with a request for another one 5.
    tuned(&f, &t,
          DEVICE ROW("shared.atom_latency", "", "26.2") ROW("shared.latency", "", "23")
              ROW("read.stg_32", "", "17") ROW("read.stg_64", "", "19.3") ROW("read.stg_128", "", "23.4")
                  ROW("sm.write", "", "32") ROW("sm.copy", "", "51.2") ROW("sms.read", "some=8", "640")
                      ROW("pattern.st_stride", "stride=128", "64") ROW("atom.latency", "", "500")
                          ROW("l2.from_sm", "sm=0", "280") ROW("red.lanes", "place=2 same=1", "8")
                              ROW("red.lanes", "place=2 same=4", "7.9"));
    assert_string_equal(value_of(&t, "xbar.request"), "34 B/cycle");
    assert_string_equal(value_of(&t, "shared.atomic"), "3 cycles"); // 26.2 - 23
    assert_string_equal(value_of(&t, "lsu.read_store"), "15 cycles");
    assert_string_equal(value_of(&t, "lsu.width"), "64 B/cycle");         // 256 / 4.1, a power of two
    assert_string_equal(value_of(&t, "xbar.load_header"), "34 B");        // 256 / 51.2 x 34 - 136
    assert_string_equal(value_of(&t, "xbar.byte_mask"), "32 B");          // 2 x 34 - 8 - 32 = 28, in sectors
    assert_string_equal(value_of(&t, "xbar.gpc_reply"), "680 B/cycle");   // 640 x 136 / 128
    assert_string_equal(value_of(&t, "l2.atomic_latency"), "170 cycles"); // 500 - 280, 50 of it 32 lanes
    assert_string_equal(value_of(&t, "l2.atomic_words"), "yes");
    done(&f, &t);
}

// Asynchronous units of sm_90a (micro/async). Products of 128 and 256 columns: 64 and 128 cycles, 2 columns
// each. Two groups, 16 and 32 columns: 20 and 24 cycles of each, so 4 columns and 16 cycles besides. One
// product of 128 is done 177 after it was issued, 1 of them a clock's. Of 65 the last one is issued 911
// cycles before it is done, 7.1 products: 8 are unfinished.
#define EACH(n, groups, value) ROW("group.each", "n=" n " groups=" groups, value)
static void groups_of_warps(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t,
          DEVICE EACH("128", "1", "64") EACH("256", "1", "128") EACH("16", "2", "40") EACH("32", "2", "48")
              ROW("group.issued", "n=256 products=1", "80") ROW("group.done", "n=256 products=1", "257")
                  ROW("group.issued", "n=256 products=65", "7000")
                      ROW("group.done", "n=256 products=65", "7911") ROW("beside.max", "products=0", "4.1")
                          ROW("beside.max", "products=256", "8.2"));
    assert_string_equal(value_of(&t, "tensor.group_columns"), "2 columns");
    assert_string_equal(value_of(&t, "tensor.group_fetch_columns"), "4 columns");
    assert_string_equal(value_of(&t, "tensor.group_fetch"), "16 cycles");
    assert_string_equal(value_of(&t, "tensor.group_latency"), "48 cycles");
    assert_string_equal(value_of(&t, "tensor.group_queue"), "8 products");
    assert_string_equal(value_of(&t, "tensor.beside_alu"), "2 cycles"); // 4.1 / 2 warps
    assert_string_equal(value_of(&t, "tensor.beside_xu"), "(none)");
    done(&f, &t);
}

// 24 KB more take 192 cycles, 192 lines; 4 x 32 KB of each of 132 SMs 4,096. A store of 1 KB takes 75, of
// which 32 are its bytes as 7 KB more show them, and 5 other instructions. Arrivals go there and back. 32
// warps with 512 bytes each, or with four sectors.
static void copies_and_clusters(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t,
          DEVICE ROW("l2.from_sm", "sm=0", "280") ROW("bulk.load", "bytes=1024 copies=1 blocks=1", "400")
              ROW("bulk.load", "bytes=8192 copies=1 blocks=1",
                  "460") ROW("bulk.load", "bytes=32768 copies=1 blocks=1", "652")
                  ROW("bulk.load", "bytes=32768 copies=4 blocks=132", "4096")
                      ROW("bulk.store_read", "bytes=1024", "75") ROW("bulk.store_read", "bytes=8192", "299")
                          ROW("tile.first", "", "380") ROW("tile.second", "", "320")
                              ROW("cluster.relaxed", "blocks=2 threads=32", "118")
                                  ROW("cluster.ping", "blocks=8 to=3", "400")
                                      ROW("cluster.chain", "blocks=8 to=3", "204")
                                          ROW("cluster.load", "blocks=8 threads=1024", "1024")
                                              ROW("cluster.add", "blocks=8 threads=1024", "512"));
    assert_string_equal(value_of(&t, "tma.latency"), "41 cycles"); // 79 are other instructions
    assert_string_equal(value_of(&t, "tma.interval"), "1 cycles");
    assert_string_equal(value_of(&t, "tma.bytes"), "32 B");
    assert_string_equal(value_of(&t, "tma.store_latency"), "38 cycles");
    assert_string_equal(value_of(&t, "tma.map_miss"), "51 cycles");    // 9 of them other instructions
    assert_string_equal(value_of(&t, "cluster.barrier"), "72 cycles"); // 46
    assert_string_equal(value_of(&t, "cluster.arrive"), "136 cycles"); // 64
    assert_string_equal(value_of(&t, "cluster.load"), "196 cycles");   // 8
    assert_string_equal(value_of(&t, "cluster.load_bytes"), "16 B");
    assert_string_equal(value_of(&t, "cluster.store_bytes"), "(none)");
    assert_string_equal(value_of(&t, "cluster.atomic_interval"), "4 cycles");
    done(&f, &t);
    // Eight tries whose registers came 0 to 42 cycles before: 8 points lie in 7 of 9 parts of a period.
    tuned(&f, &t,
          DEVICE ROW("registers.up", "delay=1", "7") ROW("registers.up", "delay=2", "28")
              ROW("registers.up", "delay=3", "42") ROW("registers.up", "delay=4", "0")
                  ROW("registers.up", "delay=5", "14") ROW("registers.up", "delay=6", "21")
                      ROW("registers.up", "delay=7", "35") ROW("registers.up", "delay=8", "3")
                          ROW("registers.down", "delay=1", "62") ROW("registers.down", "delay=2", "60")
                              ROW("registers.down", "delay=3", "60"));
    assert_string_equal(value_of(&t, "registers.retry"), "54 cycles");   // 42 x 9 / 7
    assert_string_equal(value_of(&t, "registers.release"), "50 cycles"); // 10 are other instructions
    done(&f, &t);
}

static void who_goes_first(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
#define ENDS(a, b, c)                                                                                        \
    ROW("order.end", "warps=32 warp=0", a)                                                                   \
    ROW("order.end", "warps=32 warp=1", b) ROW("order.end", "warps=32 warp=2", c)
    tuned(&f, &t,
          DEVICE ROW("order.first", "warps=32", "990") ROW("order.last", "warps=32", "1000")
              ENDS("990", "1000", "995"));
    assert_string_equal(value_of(&t, "core.policy"), "lrr");
    done(&f, &t);
    tuned(&f, &t,
          DEVICE ROW("order.first", "warps=32", "300") ROW("order.last", "warps=32", "1000")
              ENDS("1000", "600", "300"));
    assert_string_equal(value_of(&t, "core.policy"), "gty");
    done(&f, &t);
    tuned(&f, &t,
          DEVICE ROW("order.first", "warps=32", "300") ROW("order.last", "warps=32", "1000")
              ENDS("300", "600", "1000"));
    assert_string_equal(value_of(&t, "core.policy"), "gto");
    done(&f, &t);
}

// A footprint that always fits says nothing of the size.
static void never_full(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t, DEVICE ROW("const.chase", "bytes=256", "30") ROW("const.chase", "bytes=65536", "30"));
    assert_string_equal(value_of(&t, "const.size"), "(none)");
    done(&f, &t);
}

// What is written is a description that loads, and has the values.
static void runs(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    orr_err e = {0};
    orr_text conf = {0};
    tuned(&f, &t,
          DEVICE ROW("l2.read", "foot=4", "4000") ROW("l2.from_sm", "sm=0", "250")
              ROW("l2.size", "mb=256", "600") ROW("l1.latency", "", "31.9"));
    orr_tuned_write(&t, &f, &conf);
    orr_gpu *g = orr_gpu_parse("tuned.conf", conf.s, conf.n, NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    assert_string_equal(g->product, "Chosen 1");
    assert_int_equal(g->sm_count, 100);
    assert_true(g->l1_latency == 32 && g->l2_latency == 250 && g->dram_latency == 600 &&
                g->dram_channels == 64);
    orr_gpu_free(g);
    free(conf.s);
    done(&f, &t);
}

static const char *refused_of(const orr_tuned *t, const char *key) {
    for (size_t k = 0; k < t->refused.n; k++)
        if (!strcmp(t->refused.at[k].key, key)) return t->refused.at[k].why;
    return "(none)";
}

// Readings that no hardware has are refused, and said: what is written has the family's values there.
static void impossible(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    orr_err e = {0};
    orr_text conf = {0};
    tuned(&f, &t,
          DEVICE ROW("l1.latency", "", "0") ROW("ffma.latency", "", "1e9") ROW("lop3.latency", "", "-4")
              ROW("ffma.interval", "", "1e-9") ROW("shared.latency", "", "1e300")
                  ROW("popc.latency", "", "17") ROW("match.latency", "", "-1") ROW("match.interval", "", "5")
                      ROW("stream", "kind=0 passes=1", "5000") ROW("sm.read", "", "0")
                          ROW("branch.loop", "", "3"));
    static const char *const keys[] = {"l1.latency",      "op.fp32.latency",  "op.int.latency",
                                       "unit.fma.lanes",  "shared.latency",   "op.match",
                                       "dram.efficiency", // 5000 x 1.4002 GHz of 2048 GB/s: 342 %
                                       "xbar.reply",      "core.branch_taken"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        assert_string_equal(value_of(&t, keys[k]), "(none)");
        assert_non_null(strstr(refused_of(&t, keys[k]), "not between"));
    }
    assert_string_equal(value_of(&t, "op.match.latency"), "(none)");
    assert_string_equal(value_of(&t, "op.int.bits.latency"), "17 cycles"); // the others are as they were
    orr_tuned_write(&t, &f, &conf);
    assert_non_null(
        strstr(conf.s, "#   l1.latency = 0 cycles, from l1.latency = 0: not between 8 and 300\n"));
    orr_gpu *g = orr_gpu_parse("tuned.conf", conf.s, conf.n, NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    orr_findings none;
    orr_tuned plain;
    orr_text text = {0};
    tuned(&none, &plain, DEVICE); // the same without those readings
    orr_tuned_write(&plain, &none, &text);
    orr_gpu *family = orr_gpu_parse("plain.conf", text.s, text.n, NULL, 0, &e);
    if (!family) fail_msg("%s", e.text);
    free(text.s);
    done(&none, &plain);
    assert_true(g->l1_latency == family->l1_latency && g->shared_latency == family->shared_latency &&
                g->xbar_reply == family->xbar_reply && g->dram_efficiency == family->dram_efficiency);
    assert_true(g->l2_bandwidth == 64 * 64); // no family has one: of 64 slices
    orr_gpu_free(g);
    orr_gpu_free(family);
    free(conf.s);
    done(&f, &t);
}

// Two that contradict each other are both refused: a cache does not answer later than the one behind it.
static void contradictions(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t,
          DEVICE ROW("l1.latency", "", "290") ROW("l2.from_sm", "sm=0", "250") ROW("l2.size", "mb=256", "600")
              ROW("fence.cta", "", "10") ROW("fence.gpu", "", "300"));
    assert_string_equal(value_of(&t, "l1.latency"), "(none)");
    assert_string_equal(value_of(&t, "l2.latency"), "(none)");
    assert_non_null(strstr(refused_of(&t, "l1.latency"), "more than l2.latency = 250 cycles"));
    assert_non_null(strstr(refused_of(&t, "l2.latency"), "less than l1.latency = 290 cycles"));
    assert_string_equal(value_of(&t, "dram.latency"), "600 cycles");
    assert_string_equal(value_of(&t, "core.fence_gpu"), "280 cycles"); // less 20 of others
    done(&f, &t);
}

// Some of many points are wrong: an H200 whose last blocks had to wait to be issued (starts 22 cycles apart,
// then thousands), a latency of which one reading of 20 is a page walk, a footprint with one slow reading.
static void accidents(void **state) {
    (void)state;
    orr_findings f;
    orr_tuned t;
    tuned(&f, &t,
          DEVICE ROW("small.on_sm", "n=0", "0") ROW("small.on_sm", "n=1", "21")
              ROW("small.on_sm", "n=2", "43") ROW("small.on_sm", "n=3", "65") ROW("small.on_sm", "n=4", "87")
                  ROW("small.on_sm", "n=5", "109") ROW("small.on_sm", "n=6", "20022")
                      ROW("small.on_sm", "n=7", "19840") ROW("const.chase", "bytes=256", "30")
                          ROW("const.chase", "bytes=512", "90") ROW("const.chase", "bytes=2048", "30")
                              ROW("const.chase", "bytes=4096", "90"));
    // distances ascending: 21 22 22 22 22 182 19731
    assert_string_equal(value_of(&t, "launch.sm_interval"), "22 cycles");
    assert_string_equal(value_of(&t, "const.size"), "2048 B");
    done(&f, &t);
    orr_text rows = {0};
    orr_text_add(&rows, "%s", DEVICE ROW("l2.size", "mb=30", "280") ROW("l2.size", "mb=35", "350"));
    for (int k = 0; k < 40; k++) { // two heaps, 270 and 300, and an accident
        orr_text_add(&rows, "b,full,dram.place,place=%d,cycles,%d,1,1,1,Chosen 1,13.0,2026-01-01\n", k,
                     k == 7  ? 5000
                     : k % 2 ? 300
                             : 270);
        orr_text_add(&rows, "b,full,l2.from_sm,sm=%d,cycles,%d,1,1,1,Chosen 1,13.0,2026-01-01\n", k,
                     k == 7 ? 50000 : 280);
    }
    tuned(&f, &t, rows.s);
    assert_string_equal(value_of(&t, "l2.latency"),
                        "280 cycles"); // of all SMs: no footprint under half of 40 MB
    free(rows.s);
    done(&f, &t);
}

// A bank is refreshed for 1000 of 2000 cycles: half of all loads wait 500 on average.
static void refresh(void **state) {
    (void)state;
    orr_tuned t = {0};
    orr_gpu g = {.clock_sm = 1000, .clock_dram = 1000, .dram_trfc = 1000, .dram_trefi = 2000};
    orr_tuned_add(&t, "dram.latency", "600 cycles", "a reading");
    orr_tune_refresh(&t, &g);
    assert_string_equal(value_of(&t, "dram.latency"), "350 cycles");
    g.dram_trfc = 0;
    orr_tune_refresh(&t, &g);
    assert_string_equal(value_of(&t, "dram.latency"), "350 cycles");
    orr_tuned_free(&t);
}

static void overhead(void **state) {
    (void)state;
    orr_tuned t = {0};
    orr_tune_overhead(&t, 3000, 380.4);
    assert_string_equal(value_of(&t, "profiler.overhead"), "2620 cycles");
    // Short kernels on all SMs take 80 more; 3,000 less is nothing that a launch can take.
    assert_null(orr_tune_start(&t, -3000, 27));
    assert_non_null(strstr(orr_tune_start(&t, 80, 27), "the middle of 27 launches"));
    assert_string_equal(value_of(&t, "profiler.overhead"), "2700 cycles");
    orr_tuned_free(&t);
    assert_null(orr_tune_start(&t, 80, 27)); // of what is not known
    orr_tune_overhead(&t, 300, 380);         // the simulation alone takes longer
    assert_string_equal(value_of(&t, "profiler.overhead"), "(none)");
    assert_non_null(strstr(refused_of(&t, "profiler.overhead"), "not between 0"));
    orr_tuned_free(&t);
}

// L2 at 1,000 MHz, the middle of three launches, the SMs at 1,400.2: of its cycles there are fewer, so that
// each moves more, 100 B x 136 / 128 x 1.4002, and what takes 24 / 8 cycles of the SMs takes 2.1 of its.
static void l2_clock(void **state) {
    (void)state;
    orr_findings f = {0};
    orr_tuned t = {0};
    orr_hardware h = {0};
    orr_err e = {0};
    orr_text rows = {0};
    orr_text_add(&rows, "%s%s", head,
                 DEVICE ROW("sm.write", "", "100") ROW("slice.cycles", "op=2 lines=1 same=8", "24"));
    char launches[] =
        "script,size,cache,launch,kernel,grid,block,gpc__cycles_elapsed.max,lts__cycles_elapsed.avg."
        "per_second\n"
        "a,,flushed,0,k,1x1x1,32x1x1,3000,990000000\n"
        "a,,flushed,1,k,1x1x1,32x1x1,3000,1500000000\n"
        "a,,flushed,2,k,1x1x1,32x1x1,3000,1000000000\n";
    assert_true(orr_findings_parse(&f, "chosen.csv", rows.s, rows.n, &e));
    assert_true(orr_hardware_parse(&h, "launches.csv", launches, sizeof launches - 1, &e));
    assert_true(orr_tune_readings(&f, &h, &t, &e));
    assert_string_equal(value_of(&t, "clock.l2"), "1000 MHz");
    assert_string_equal(value_of(&t, "xbar.request"), "149 B/cycle");
    assert_string_equal(value_of(&t, "l2.atomic_float"), "2 cycles");
    assert_non_null(strstr(why_of(&t, "xbar.request"), "x 1.4002 for the clock of L2"));
    free(rows.s);
    orr_hardware_free(&h);
    done(&f, &t);
    // Not measured: as the SMs.
    tuned(&f, &t, DEVICE ROW("sm.write", "", "100"));
    assert_string_equal(value_of(&t, "clock.l2"), "(none)");
    assert_string_equal(value_of(&t, "xbar.request"), "106 B/cycle"); // 106.25
    done(&f, &t);
}

// Stores to 4, 8 and 12 lines: those of 12 reach L2 one by one. Where none do, or all, nothing is said.
static void merged_stores(void **state) {
    (void)state;
    static const struct { const char *third, *want; } cases[] = {{"8192", "8 lines"}, {"2100", "(none)"}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        orr_findings f = {0};
        orr_tuned t = {0};
        orr_hardware h = {0};
        orr_err e = {0};
        orr_text rows = {0}, launches = {0};
        orr_text_add(&rows, "%s%s", head, DEVICE);
        orr_text_add(&launches,
                     "script,size,cache,launch,kernel,grid,block,lts__t_sectors_srcunit_tex_op_write.sum\n");
        const char *stored[] = {"2048", "2050", cases[n].third};
        for (int k = 0; k < 3; k++)
            orr_text_add(&launches, "micro/merge,,flushed,%d,stores_merge,1x1x1,32x1x1,%s\n", k, stored[k]);
        assert_true(orr_findings_parse(&f, "chosen.csv", rows.s, rows.n, &e));
        assert_true(orr_hardware_parse(&h, "launches.csv", launches.s, launches.n, &e));
        assert_true(orr_tune_readings(&f, &h, &t, &e));
        assert_string_equal(value_of(&t, "xbar.merge_lines"), cases[n].want);
        free(rows.s);
        free(launches.s);
        orr_hardware_free(&h);
        done(&f, &t);
    }
}

static void unknown(void **state) {
    (void)state;
    orr_findings f = {0};
    orr_tuned t = {0};
    orr_err e = {0};
    char text[512];
    snprintf(text, sizeof text, "%s%s", head,
             ROW("device.cc_major", "", "3") ROW("device.cc_minor", "", "5"));
    assert_true(orr_findings_parse(&f, "chosen.csv", text, strlen(text), &e));
    assert_false(orr_tune_readings(&f, NULL, &t, &e));
    assert_non_null(strstr(e.text, "no family"));
    done(&f, &t);
}

// ---- the file -----------------------------------------------------------------------------------
static void repeats(void **state) {
    (void)state;
    orr_findings f = {0};
    orr_finding like = {.benchmark = "b", .size = "", .metric = "m", .point = "k=1", .unit = "cycles"};
    orr_findings_add(&f, &like, 5);
    orr_findings_add(&f, &like, 1);
    orr_findings_add(&f, &like, 2);
    like.point = "k=2 j=7";
    orr_findings_add(&f, &like, 1);
    orr_findings_add(&f, &like, 2);
    orr_findings_end(&f);
    assert_int_equal(f.rows.n, 2);
    assert_true(f.rows.at[0].value == 2 && f.rows.at[0].low == 1 && f.rows.at[0].high == 5);
    assert_true(f.rows.at[1].value == 1.5 && f.rows.at[1].repeats == 2);
    assert_true(orr_finding_at(&f.rows.at[1], "j") == 7 && orr_finding_at(&f.rows.at[1], "k") == 2);
    assert_true(isnan(orr_finding_at(&f.rows.at[0], "j")));
    orr_text t = {0};
    orr_findings g = {0};
    orr_err e = {0};
    orr_findings_write(&f, &t);
    assert_true(orr_findings_parse(&g, "again.csv", t.s, t.n, &e));
    assert_true(orr_finding_value(&g, "m", "k=2 j=7") == 1.5 && isnan(orr_finding_value(&g, "n", NULL)));
    free(t.s);
    orr_findings_free(&f);
    orr_findings_free(&g);
}

static void refused(const char *text, const char *want) {
    orr_findings f = {0};
    orr_err e = {0};
    char *copy = strdup(text);
    assert_false(orr_findings_parse(&f, "bad.csv", copy, strlen(copy), &e));
    if (!strstr(e.text, want)) fail_msg("\"%s\" is not in \"%s\"", want, e.text);
    free(copy);
    orr_findings_free(&f);
}

static void bad_files(void **state) {
    (void)state;
    refused("", "bad.csv: there is nothing in it");
    refused("script,launch\n", "bad.csv:1: there is no column metric");
    refused("metric,unit\n", "bad.csv:1: there is no column value");
    refused("metric,value\nm,lots\n", "bad.csv:2: the value of m is not a number");
    refused("metric,value\n,3\n", "bad.csv:2: the metric has no name");
}

// 64 lines of memory, five loads each: of half of the lines one load or more came 400 cycles later than the
// others. Of single loads 1 - 0.5^(1/5) = 12.9 % do, which are 7/8 of those that wait: 14.8 %. Stacked memory
// is refreshed every 1,950 ns; a refresh takes 14.8 % of that, 288.5 ns or 577 clocks of 2,000 MHz. Loads
// that are all alike, or that were not repeated, tell nothing.
static void refreshes(void **state) {
    (void)state;
    static const struct {
        int late, repeats;
        const char *takes, *every;
    } cases[] = {{32, 5, "577 clocks", "1950 ns"}, {0, 5, "(none)", "(none)"}, {32, 1, "(none)", "(none)"}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        orr_text rows = {0};
        orr_text_add(&rows, "%s", DEVICE);
        for (int k = 0; k < 64; k++)
            orr_text_add(&rows, "b,full,dram.place,place=%d,u,500,500,%d,%d,Chosen 1,13.0,2026-01-01\n", k,
                         k < cases[n].late ? 900 : 500, cases[n].repeats);
        orr_findings f;
        orr_tuned t;
        tuned(&f, &t, rows.s);
        assert_string_equal(value_of(&t, "dram.trfc"), cases[n].takes);
        assert_string_equal(value_of(&t, "dram.trefi"), cases[n].every);
        done(&f, &t);
        free(rows.s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refreshes),
                                       cmocka_unit_test(device),
                                       cmocka_unit_test(instructions),
                                       cmocka_unit_test(memory),
                                       cmocka_unit_test(never_full),
                                       cmocka_unit_test(heaps_and_lines),
                                       cmocka_unit_test(who_goes_first),
                                       cmocka_unit_test(impossible),
                                       cmocka_unit_test(contradictions),
                                       cmocka_unit_test(accidents),
                                       cmocka_unit_test(overhead),
                                       cmocka_unit_test(l2_clock),
                                       cmocka_unit_test(merged_stores),
                                       cmocka_unit_test(refresh),
                                       cmocka_unit_test(newer_rules),
                                       cmocka_unit_test(places),
                                       cmocka_unit_test(runs),
                                       cmocka_unit_test(unknown),
                                       cmocka_unit_test(groups_of_warps),
                                       cmocka_unit_test(copies_and_clusters),
                                       cmocka_unit_test(repeats),
                                       cmocka_unit_test(bad_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
