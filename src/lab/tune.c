// A GPU's description made of what microbenchmarks found on it.
//
// A table says which parameter comes from which reading, by which formula and in which unit. A parameter
// whose reading is not there is left out, and is then what the family's description says. Each line that is
// written names the reading it came from, so that a value that looks wrong leads to the benchmark that made
// it.
//
// No reading is trusted. Each rule has the range that hardware can have, generously; a value outside of it is
// refused, said with what it came from, and what the family says is kept. The same goes for values that
// contradict each other (a cache that answers later than the one behind it). Formulas over many points let
// some of them be wrong: medians, and means without the ends.
//
// The readings are of `orrery hw micro` (docs/guides/micro.md); cycles of launches that do nothing are of
// `orrery hw profile`.
#include "lab/readings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- the table --------------------------------------------------------------------------------
#define X(key, unit, metric, least, most)                                                                    \
    { key, unit, reading_direct, metric, NULL, 1, 0, 1, least, most }
#define XS(key, unit, metric, scale, least, most)                                                            \
    { key, unit, reading_direct, metric, NULL, scale, 0, 1, least, most }
static const rule rules[] = {
    // the device, as the driver describes it
    X("cc.major", "", "device.cc_major", 1, 99),
    X("cc.minor", "", "device.cc_minor", 0, 9),
    X("sm.count", "SMs", "device.sms", 1, 1024),
    XS("tpc.count", "TPCs", "device.sms", 0.5, 1, 512),
    X("clock.sm", "MHz", "clock.sm", 100, 5000),
    XS("clock.dram", "MHz", "device.memory_clock", 1e-3, 100, 30000),
    XS("limit.sm_warps", "warps", "device.sm_threads", 1.0 / 32, 1, 256),
    X("limit.sm_threads", "threads", "device.sm_threads", 32, 8192),
    X("limit.sm_blocks", "blocks", "device.sm_blocks", 1, 256),
    X("limit.block_threads", "threads", "device.block_threads", 32, 4096),
    X("limit.sm_registers", "registers", "device.sm_registers", 1024, 1048576),
    X("limit.block_registers", "registers", "device.block_registers", 1024, 1048576),
    XS("shared.per_sm", "KB", "device.shared_per_sm", 1.0 / 1024, 16, 4096),
    XS("shared.per_block", "KB", "device.shared_per_block", 1.0 / 1024, 16, 4096),
    XS("shared.per_block_optin", "KB", "device.shared_per_block_optin", 1.0 / 1024, 16, 4096),
    XS("shared.reserved", "KB", "device.shared_reserved", 1.0 / 1024, 0, 16),
    // instructions
    X("op.fp32.latency", "cycles", "ffma.latency", 2, 30),
    X("op.int.latency", "cycles", "lop3.latency", 2, 30),
    X("op.int.mul.latency", "cycles", "imad.latency", 2, 40),
    X("op.int.bits.latency", "cycles", "popc.latency", 2, 80),
    X("op.fp64.latency", "cycles", "dfma.latency", 2, 200),
    X("op.sfu.latency", "cycles", "mufu_ex2.latency", 4, 120),
    XS("op.conv.latency", "cycles", "f2f.latency", 0.5, 2, 120),
    X("op.shfl.latency", "cycles", "shfl_bfly.latency", 4, 120),
    {"op.vote.latency", "cycles", reading_without_compare, "vote.latency", NULL, 1, 0, 1, 2, 120},
    X("op.tensor.latency", "cycles", "hmma_16816_f32.latency", 4, 300),
    XS("op.tensor.interval", "cycles", "hmma_16816_f32.interval", SUBCORES, 1, 128),
    {"op.barrier.latency", "cycles", reading_direct, "bar.sync", "warps=1", 1, 0, 1, 2, 200},
    {"unit.fma.lanes", "lanes", reading_lanes, "ffma.interval", NULL, 1, 0, 0, 4, 64},
    {"unit.alu.lanes", "lanes", reading_lanes, "lop3.interval", NULL, 1, 0, 0, 4, 64},
    {"unit.fmaheavy.lanes", "lanes", reading_lanes, "imad.interval", NULL, 1, 0, 0, 2, 64},
    {"unit.fp64.lanes", "lanes", reading_lanes, "dfma.interval", NULL, 1, 0, 0, 0.25, 64},
    {"unit.xu.lanes", "lanes", reading_lanes, "mufu_ex2.interval", NULL, 1, 0, 0, 1, 32},
    // The loop's instructions, by their stall counts: 1 + 5 + 13, and the branch's own 5 (micro/blocks.cu,
    // sm_90).
    {"core.branch_taken", "cycles", reading_direct, "branch.loop", NULL, 1, -24, 1, 0, 100},
    // What other instructions of a fence take: one cycle, and one of the loop around 16 of them; or CCTL and
    // two others.
    {"core.fence_block", "cycles", reading_direct, "fence.cta", NULL, 1, -2, 1, 1, 2000},
    {"core.fence_gpu", "cycles", reading_direct, "fence.gpu", NULL, 1, -20, 1, 1, 10000},
    {"core.fence_system", "cycles", reading_direct, "fence.sys", NULL, 1, -20, 1, 1, 50000},
    {"lsu.queue", "instructions", reading_line_length, "queue.issued", NULL, 1, 0, 1, 1, 1024},
    // With the next instruction, and the loop around them; and 256 bytes more of a warp.
    {"lsu.read_store", "cycles", reading_direct, "read.stg_32", NULL, 1, -2, 1, 1, 200},
    {"lsu.width", "B/cycle", reading_width, "read.stg_128", "read.stg_64", 256, 0, POWER, 16, 1024},
    {"launch.sm_interval", "cycles", reading_pace, "small.on_sm", NULL, 1, 0, 1, 1, 200},
    {"launch.warp_interval", "cycles", reading_pace, "start.warp", NULL, 1, 0, 1, 0, 100},
    // caches of an SM
    {"icache.l0", "KB", reading_knee, "icache.straight", "kb", 1, 0, POWER, 1, 256},
    {"icache.l1", "KB", reading_second_knee, "icache.straight", "kb", 1, 0, POWER, 8, 4096},
    {"icache.l1_interval", "cycles", reading_line_second, "icache.straight", "kb", 1, 0, 1, 1, 1000},
    {"icache.l2_interval", "cycles", reading_last, "icache.straight", "kb", 8, 0, 1, 1, 1000},
    {"const.size", "B", reading_knee, "const.chase", "bytes", 1, 0, 1, 256, 65536},
    {"const.latency", "cycles", reading_direct, "const.chase", "bytes=256", 1, 0, 1, 4, 200},
    {"const.interval", "cycles", reading_direct, "ldc.cycles", "words=1 step=1", 1, 0, 1, 1, 64},
    {"const.miss_interval", "cycles", reading_constant_misses, "ldc.cycles", "words=32 step=256", 1, 0, 0.01,
     0, 1000},
    {"const.l15_latency", "cycles", reading_last, "const.chase", "bytes", 1, 0, 1, 10, 1000},
    X("shared.latency", "cycles", "shared.latency", 8, 200),
    {"shared.atomic", "cycles", reading_beyond, "shared.atom_latency", "shared.latency", 1, 0, 1, 0, 200},
    {"shared.cas", "cycles", reading_times, "shared.atom_add", "same=32", 1, 0, 1, 1, 64},
    X("l1.latency", "cycles", "l1.latency", 8, 300),
    {"l1.replay", "cycles", reading_bank, "lag", NULL, 1, 0, 1, 1, 32},
    {"l1.store_interval", "cycles", reading_direct, "pattern.st_stride", "stride=4", 1, 0, 1, 1, 16},
    {"l1.size", "KB", reading_storage, "l1.size", "kb", 1, 0, 1, 16, 1024},
    // beyond it. Where the clock of L2 was not measured it has that of the SMs.
    {"xbar.request", "B/cycle", reading_direct, "sm.write", NULL, 136.0 / 128, 0, 1, 4,
     1024}, // a line's 4 sectors have a head of 8 bytes
    {"xbar.reply", "B/cycle", reading_direct, "sm.read", NULL, 136.0 / 128, 0, 1, 4, 1024},
    // Eight blocks go to eight SMs of one GPC.
    {"xbar.gpc_reply", "B/cycle", reading_direct, "sms.read", "some=8", 136.0 / 128, 0, 1, 4, 65536},
    {"xbar.load_header", "B", reading_ask, "sm.copy", NULL, 1, 0, 1, 8, 128},
    {"xbar.byte_mask", "B", reading_mask, "pattern.st_stride", "stride=128", 1, 0, 32, 0, 128},
    XS("l2.size", "MB", "device.l2_size", 1.0 / 1048576, 0.125, 1024),
    {"l2.slices", "slices", reading_channels, NULL, NULL, 1, 0, 1, 1, 1024},
    {"l2.latency", "cycles", reading_l2_hit, "l2.from_sm", NULL, 1, 0, 1, 50, 2000},
    {"l2.far_latency", "cycles", reading_far, NULL, NULL, 1, 0, 1, 1, 1000},
    {"l2.spread", "cycles", reading_spread, "l2.place", NULL, 1, 0, 1, 0, 500},
    {"l2.sector", "B", reading_fetched, "dram.probe", NULL, 1, 0, 1, 32, 128},
    {"l2.bandwidth", "B/cycle", reading_median, "l2.read", NULL, 1, 0, 10, 32, 100000},
    {"l2.write_bandwidth", "B/cycle", reading_largest, "sms.write", NULL, 1, 0, 10, 32, 100000},
    {"l2.atomic", "lanes/cycle", reading_direct, "red.lanes", "place=2 same=32", 1, 0, 0.01, 0.03125, 64},
    // Eight lanes on a word, one after the other, floating point.
    {"l2.atomic_float", "cycles", reading_direct, "slice.cycles", "op=2 lines=1 same=8", 1.0 / 8, 0, 1, 0,
     1000},
    {"l2.atomic_latency", "cycles", reading_atomic, "atom.latency", NULL, 1, 0, 1, 0, 5000},
    XS("dram.size", "GB", "device.memory", 1.0 / (1 << 30), 0.5, 4096),
    X("dram.bus", "bits", "device.memory_bus", 32, 32768),
    {"dram.bandwidth", "GB/s", reading_bus_bandwidth, NULL, NULL, 1, 0, 1, 8, 50000},
    {"dram.efficiency", "%", reading_efficiency, "stream", "kind=0 passes=1", 1, 0, 0.1, 20, 100},
    {"dram.channels", "channels", reading_channels, NULL, NULL, 1, 0, 1, 1, 1024},
    {"dram.latency", "cycles", reading_memory, "l2.size", "mb", 1, 0, 1, 100, 5000},
    {"dram.trfc", "clocks", reading_refresh, NULL, NULL, 1, 0, 1, 50, 5000},
    {"dram.trefi", "ns", reading_refresh_every, NULL, NULL, 1, 0, 1, 500, 20000},
    // asynchronous units of sm_90a (micro/async). Offsets are other instructions between the two clocks.
    {"tensor.group_columns", "columns", reading_columns, "group.each", NULL, 1, 0, 0.1, 0.1, 1000},
    {"tensor.group_fetch", "cycles", reading_fetch, "group.each", NULL, 1, 0, 1, 0, 1000},
    {"tensor.group_fetch_columns", "columns", reading_fetch_columns, "group.each", NULL, 1, 0, 0.1, 0.1,
     1000},
    {"tensor.group_latency", "cycles", reading_group_latency, "group.each", "n=256 products=1", 1, -1, 1, 0,
     1000},
    {"tensor.group_queue", "products", reading_group_queue, "group.each", "n=256 products=65", 1, 0, 1, 1, 8},
    {"tensor.beside_alu", "cycles", reading_beside, "beside.max", NULL, 1, 0, 1, 0, 64},
    {"tensor.beside_xu", "cycles", reading_beside, "beside.ex2", NULL, 1, 0, 1, 0, 64},
    {"tma.latency", "cycles", reading_bulk_latency, "bulk.load", "bytes=1024 copies=1 blocks=1", 1, -79, 1, 0,
     2000},
    {"tma.interval", "cycles", reading_bulk_line, "bulk.load", NULL, 1, 0, 0.1, 0.1, 100},
    {"tma.map_miss", "cycles", reading_map, NULL, NULL, 1, -9, 1, 0, 2000},
    {"tma.store_latency", "cycles", reading_bulk_store, "bulk.store_read", NULL, 1, -5, 1, 0, 2000},
    {"tma.bytes", "B", reading_bulk_rate, "bulk.load", NULL, 1, 0, 0.1, 1, 1024},
    {"cluster.barrier", "cycles", reading_direct, "cluster.relaxed", "blocks=2 threads=32", 1, -46, 1, 0,
     5000},
    {"cluster.arrive", "cycles", reading_direct, "cluster.ping", "blocks=8 to=3", 0.5, -64, 1, 0, 5000},
    {"cluster.load", "cycles", reading_direct, "cluster.chain", "blocks=8 to=3", 1, -8, 1, 1, 5000},
    {"cluster.load_near", "cycles", reading_direct, "cluster.chain", "blocks=2 to=1", 1, -8, 1, 1, 5000},
    {"cluster.load_bytes", "B", reading_rate, "cluster.load", "blocks=8 threads=1024", 16384, 0, 0.1, 1,
     1024},
    {"cluster.store_bytes", "B", reading_rate, "cluster.store", "blocks=8 threads=1024", 16384, 0, 0.1, 1,
     1024},
    // 32 warps, four sectors each
    {"cluster.atomic_interval", "cycles", reading_direct, "cluster.add", "blocks=8 threads=1024", 1.0 / 128,
     0, 0.1, 0.1, 100},
    {"registers.release", "cycles", reading_median, "registers.down", NULL, 1, -10, 1, 0, 2000},
    {"registers.retry", "cycles", reading_retry, "registers.up", NULL, 1, 0, 1, 0, 2000},
};

// Readings are in cycles of the SMs. These are per cycle of L2 (1), or in such cycles (-1).
static const struct {
    const char *key;
    int per;
} of_l2[] = {{"xbar.request", 1},       {"xbar.reply", 1}, {"xbar.gpc_reply", 1},  {"l2.bandwidth", 1},
             {"l2.write_bandwidth", 1}, {"l2.atomic", 1},  {"l2.atomic_float", -1}};

static double in_l2_cycles(const char *key, double v, double longer, orr_text *why) {
    char by[40];
    for (size_t k = 0; k < sizeof of_l2 / sizeof *of_l2; k++) {
        if (strcmp(of_l2[k].key, key) != 0 || longer == 1 || isnan(v)) continue;
        orr_text_add(why, ", %s %s for the clock of L2", of_l2[k].per > 0 ? "x" : "/",
                     reading_number(by, longer));
        return of_l2[k].per > 0 ? v * longer : v / longer;
    }
    return v;
}

// Opcodes that are slower than their class: unit, readings, and what other instructions have in the chain
// (micro/ops.def).
static const struct opcode {
    const char *name, *unit, *latency, *interval;
    double others;
} opcodes[] = {
    {"imad.hi", "fmaheavy", "imadhi.latency", "imadhi.interval", 0},
    {"match", "xu", "match.latency", "match.interval", 0},
    {"redux", "xu", "redux.latency", "redux.interval", 4}, // a move
    {"s2r", "xu", "s2r.latency", "s2r.interval", 6},       // SHF and SGXT, one of them on its way
    {"s2ur", "xu", "cs2r.latency", "cs2r.interval", 4},    // LOP3
    {"dmma", "tensor", "dmma_884.latency", "dmma_884.interval", 0},
    {"hmma.1688", "tensor", "hmma_1688_f32.latency", "hmma_1688_f32.interval", 0},
    {"hmma.1688.f32.tf32", "tensor", "tf32_1688_f32.latency", "tf32_1688_f32.interval", 0},
    {"imma.16816", "tensor", "imma_16816_s8.latency", "imma_16816_s8.interval", 0},
};

typedef struct range {
    double least, most;
    const char *unit;
} range;

// Whether hardware can have the value; if not, it is said, and what the family says stays.
static bool possible(orr_tuned *out, const char *key, double v, range of, const char *why) {
    char buf[3][40];
    if (v >= of.least && v <= of.most) return true; // not NAN
    *ORR_PUSH(&out->refused) = (orr_tuned_key){
        orr_arena_strdup(&out->arena, key),
        orr_arena_printf(&out->arena, "%s%s%s", reading_number(buf[0], v), *of.unit ? " " : "", of.unit),
        orr_arena_printf(&out->arena, "%s: not between %s and %s", why, reading_number(buf[1], of.least),
                         reading_number(buf[2], of.most))};
    return false;
}

static void tune_opcodes(const orr_findings *f, orr_tuned *out) {
    orr_arena a = {0};
    for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++) {
        const struct opcode *o = &opcodes[k];
        double latency = orr_finding_value(f, o->latency, NULL),
               interval = orr_finding_value(f, o->interval, NULL);
        if (isnan(latency) || isnan(interval)) continue;
        const char *key = orr_arena_printf(&a, "op.%s", o->name);
        latency -= o->others;
        interval *= SUBCORES;
        if (!possible(out, key, latency, (range){1, 2000, "cycles"}, o->latency) ||
            !possible(out, key, interval, (range){0.5, 2000, "cycles"}, o->interval))
            continue;
        orr_tuned_add(out, orr_arena_printf(&a, "op.%s.unit", o->name), o->unit, "a slow one of its class");
        orr_tuned_add(out, orr_arena_printf(&a, "op.%s.latency", o->name),
                      orr_arena_printf(&a, "%.0f cycles", latency),
                      orr_arena_printf(&a, "%s = %.6g - %g", o->latency, latency + o->others, o->others));
        orr_tuned_add(out, orr_arena_printf(&a, "op.%s.interval", o->name),
                      orr_arena_printf(&a, "%.0f cycles", interval),
                      orr_arena_printf(&a, "%s = %.6g x %d", o->interval, interval / SUBCORES, SUBCORES));
    }
    orr_arena_free(&a);
}

// ---- words ------------------------------------------------------------------------------------
// Descriptions to begin with, by compute capability.
static const struct {
    int major, minor;
    const char *family;
} families[] = {{7, 0, "volta"}, {7, 5, "turing"}, {8, 0, "ampere"},     {8, 6, "ampere86"},
                {8, 9, "ada"},   {9, 0, "hopper"}, {10, 0, "blackwell"}, {12, 0, "blackwell120"}};

static const char *family_of(const orr_findings *f) {
    double major = orr_finding_value(f, "device.cc_major", NULL),
           minor = orr_finding_value(f, "device.cc_minor", NULL);
    for (size_t k = 0; k < sizeof families / sizeof *families; k++)
        if (families[k].major == major && families[k].minor == minor) return families[k].family;
    return NULL;
}

// What a load finds at a place after a store there: in L1 it takes much less than in L2.
static void write_policy(const orr_findings *f, orr_tuned *out) {
    double hit = orr_finding_value(f, "probe.least", "first=1 d=0"),
           miss = orr_finding_value(f, "probe.least", "first=0 d=0");
    double store = orr_finding_value(f, "probe.least", "first=2 d=0"),
           both = orr_finding_value(f, "probe.least", "first=3 d=0");
    if (isnan(hit) || isnan(miss) || isnan(store) || isnan(both) || !(miss > hit)) return;
    double between = (hit + miss) / 2;
    orr_tuned_add(out, "l1.write", both < between ? "through" : "evict",
                  "probe.least: a load after a load and a store");
    orr_tuned_add(out, "l1.write_allocate", store < between ? "yes" : "no",
                  "probe.least: a load after a store");
}

// Loads whose lanes are 33 words apart touch 32 lines, and no bank of words twice: banks of words serve them
// four lines at a time, banks of lines one by one.
static void l1_banks(const orr_findings *f, orr_tuned *out) {
    double lines = orr_finding_value(f, "pattern.ld_stride", "stride=128"),
           words = orr_finding_value(f, "pattern.ld_stride", "stride=132");
    if (!isnan(lines) && !isnan(words))
        orr_tuned_add(out, "l1.word_banks", words < lines / 2 ? "yes" : "no",
                      "pattern.ld_stride: lanes 132 bytes apart against 128");
}

static void l2_copies(const orr_findings *f, orr_tuned *out) {
    const char *copies = reading_copies(f);
    if (copies)
        orr_tuned_add(out, "l2.replicate", copies, "l2.size: the footprint that fits, of device.l2_size");
}

// One line of all SMs: four lanes at each of its words against one. Lanes are done a word at a time, or a
// lane at a time.
static void atomic_words(const orr_findings *f, orr_tuned *out) {
    double one = orr_finding_value(f, "red.lanes", "place=2 same=1"),
           four = orr_finding_value(f, "red.lanes", "place=2 same=4");
    if (!isnan(one) && !isnan(four))
        orr_tuned_add(out, "l2.atomic_words", four > 0.7 * one ? "yes" : "no",
                      "red.lanes at place=2: 4 lanes of a word against one");
}

// Do the two SMs of a TPC get blocks one after the other, and then those of the next TPC, or of another GPC?
// SMs are numbered so that those of a TPC, and TPCs where a GPC's are, lie beside each other.
static void block_order(const orr_findings *f, orr_tuned *out) {
    char a[40], b[40];
    int same = 0, other = 0, near = 0, far = 0;
    double last = NAN;
    for (int k = 0; k < 64; k += 2) {
        snprintf(a, sizeof a, "block=%d", k);
        snprintf(b, sizeof b, "block=%d", k + 1);
        double one = orr_finding_value(f, "small.sm", a), two = orr_finding_value(f, "small.sm", b);
        if (isnan(one) || isnan(two)) break;
        *(floor(one / 2) == floor(two / 2) ? &same : &other) += 1;
        if (!isnan(last)) *(fabs(one - last) <= 2 ? &near : &far) += 1;
        last = one;
    }
    if (same + other > 0)
        orr_tuned_add(
            out, "launch.order",
            same <= other ? "spread"
            : near >= far ? "tpc"
                          : "gpc",
            "small.sm: blocks 0 and 1, 2 and 3, ..., whether on one TPC, and the next ones beside it");
    if (same <= other || near >= far) return;
    int first = 1; // SMs side by side that have the first blocks
    double zero = orr_finding_value(f, "small.sm", "block=0");
    for (; first < 64; first++) {
        snprintf(a, sizeof a, "block=%d", first);
        if (orr_finding_value(f, "small.sm", a) != zero + first) break;
    }
    if (first <= 2) return; // the SMs of a TPC
    snprintf(b, sizeof b, "%d SMs", first);
    orr_tuned_add(out, "launch.first", b, "small.sm: blocks that go to SMs side by side before all others");
}

// Warps that do the same, all busy with one pipe (micro/scheduler.launch): do they end together, each having
// had its turn, or one after the other? Then: the young ones first, or the old ones?
static void issue_order(const orr_findings *f, orr_tuned *out) {
    double first = orr_finding_value(f, "order.first", "warps=32"),
           last = orr_finding_value(f, "order.last", "warps=32");
    double ends = 0, numbers = 0, both = 0, n = 0;
    char why[160];
    if (isnan(first) || isnan(last) || !(last > 0)) return;
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        if (strcmp(x->metric, "order.end") != 0 || orr_finding_at(x, "warps") != 32) continue;
        double warp = orr_finding_at(x, "warp");
        ends += x->value;
        numbers += warp;
        both += x->value * warp;
        n++;
    }
    bool together = first > 0.9 * last;
    bool young = both * n < ends * numbers; // the higher the number, the earlier the end
    snprintf(why, sizeof why, "order.first = %.0f, order.last = %.0f of 32 warps%s", first, last,
             together ? ""
             : young  ? ", the young ones first"
                      : ", the old ones first");
    orr_tuned_add(out, "core.policy", together ? "lrr" : young ? "gty" : "gto", why);
}

// ---- launches, timed from outside ---------------------------------------------------------------
// Cycles of the kernel `empty` with so many blocks of 32 threads, caches flushed: the median of the rows.
static double empty_cycles(const orr_hardware *h, uint32_t blocks) {
    double *v = orr_calloc((h ? h->rows.n : 0) + 1, sizeof *v), median;
    size_t n = 0;
    for (size_t k = 0; h && k < h->rows.n; k++) {
        const orr_measured *m = &h->rows.at[k];
        if (strcmp(m->kernel, "empty") != 0 || m->grid[0] != blocks || m->block[0] != 32) continue;
        if (m->cache && !strcmp(m->cache, "warm")) continue;
        double cycles = orr_hardware_get(h, m, "gpc__cycles_elapsed.max");
        if (!isnan(cycles)) v[n++] = cycles;
    }
    median = reading_middle(v, n);
    free(v);
    return median;
}

static void launches(const orr_hardware *h, orr_tuned *out) {
    static const char why[] = "empty kernels of 132 and of 4224 blocks, the difference";
    double few = empty_cycles(h, 132), many = empty_cycles(h, 4224), each = (many - few) / (4224 - 132);
    char buf[80];
    if (isnan(each) || !possible(out, "launch.block_interval", each, (range){0.05, 100, "cycles"}, why))
        return;
    snprintf(buf, sizeof buf, "%.2f cycles", each);
    orr_tuned_add(out, "launch.block_interval", buf, why);
}

// L2's clock, where the profiler was asked for it: the median of all launches, which it holds while they run.
// SM cycles for each of its own; 1: not known.
static double l2_clock(const orr_findings *f, const orr_hardware *h, orr_tuned *out) {
    static const char why[] = "lts__cycles_elapsed.avg.per_second, the median of all launches";
    double *v = orr_calloc((h ? h->rows.n : 0) + 1, sizeof *v), mhz, sm;
    size_t n = 0;
    char buf[80];
    for (size_t k = 0; h && k < h->rows.n; k++) {
        double hz = orr_hardware_get(h, &h->rows.at[k], "lts__cycles_elapsed.avg.per_second");
        if (!isnan(hz)) v[n++] = hz / 1e6;
    }
    mhz = reading_middle(v, n);
    free(v);
    sm = orr_finding_value(f, "clock.sm", NULL);
    if (!n || !(sm > 0) || !possible(out, "clock.l2", mhz, (range){100, 5000, "MHz"}, why)) return 1;
    snprintf(buf, sizeof buf, "%.0f MHz", mhz);
    orr_tuned_add(out, "clock.l2", buf, why);
    return sm / mhz;
}

// All SMs at one sector (micro/bandwidth, hot): loads of L1 for each that L2 sees.
static void merged_loads(const orr_hardware *h, orr_tuned *out) {
    static const char why[] = "kernel hot: sectors of global loads for each that L2 is asked for by L1";
    double asked = 0, seen = 0;
    char buf[80];
    for (size_t k = 0; h && k < h->rows.n; k++) {
        const orr_measured *m = &h->rows.at[k];
        double a = orr_hardware_get(h, m, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
               b = orr_hardware_get(h, m, "lts__t_sectors_srcunit_tex_op_read.sum");
        if (strcmp(m->kernel, "hot") != 0 || isnan(a) || isnan(b)) continue;
        asked += a;
        seen += b;
    }
    if (!(seen > 0) || !possible(out, "l2.merge", asked / seen, (range){0.9, 64, "loads"}, why)) return;
    snprintf(buf, sizeof buf, "%.0f loads", fmax(1, round(asked / seen)));
    orr_tuned_add(out, "l2.merge", buf, why);
}

// A warp's stores to 4, 8, 12 lines and so on (micro/merge): up to how many lines the next store is merged
// with the one before, so that L2 sees less than half of the sectors that it sees of the rest.
static void merged_stores(const orr_hardware *h, orr_tuned *out) {
    static const char why[] = "kernel stores_merge: the most lines whose stores do not reach L2 one by one";
    double most = 0, lines = 0;
    char buf[80];
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; h && k < h->rows.n; k++) {
            const orr_measured *m = &h->rows.at[k];
            double stored = orr_hardware_get(h, m, "lts__t_sectors_srcunit_tex_op_write.sum");
            if (strcmp(m->kernel, "stores_merge") != 0 || isnan(stored)) continue;
            if (!pass)
                most = fmax(most, stored);
            else if (stored < most / 2)
                lines = fmax(lines, 4.0 * (m->launch + 1));
        }
    if (!(most > 0) || !possible(out, "xbar.merge_lines", lines, (range){4, 60, "lines"}, why)) return;
    snprintf(buf, sizeof buf, "%.0f lines", lines);
    orr_tuned_add(out, "xbar.merge_lines", buf, why);
}

void orr_tune_overhead(orr_tuned *t, double measured, double simulated) {
    char value[64], why[160];
    snprintf(why, sizeof why, "an empty kernel of one block: %.0f cycles measured, %.0f simulated without it",
             measured, simulated);
    if (!possible(t, "profiler.overhead", measured - simulated, (range){0, 100000, "cycles"}, why)) return;
    snprintf(value, sizeof value, "%.0f cycles", measured - simulated);
    orr_tuned_add(t, "profiler.overhead", value, why);
}

// ---- what contradicts itself ----------------------------------------------------------------------
// The first must not be more than the second. Which of them is wrong cannot be told: neither is kept.
static const struct {
    const char *less, *more;
} orders[] = {{"shared.latency", "l2.latency"},
              {"l1.latency", "l2.latency"},
              {"l2.latency", "dram.latency"},
              {"const.latency", "const.l15_latency"},
              {"icache.l0", "icache.l1"},
              {"core.fence_block", "core.fence_gpu"},
              {"core.fence_gpu", "core.fence_system"},
              {"l2.far_latency", "l2.latency"},
              {"shared.per_block", "shared.per_sm"},
              {"shared.per_block_optin", "shared.per_sm"},
              {"shared.per_sm", "l1.size"},
              {"limit.block_threads", "limit.sm_threads"}};

static orr_tuned_key *find_key(orr_tuned *t, const char *key) {
    for (size_t k = 0; k < t->keys.n; k++)
        if (!strcmp(t->keys.at[k].key, key)) return &t->keys.at[k];
    return NULL;
}

static void remove_key(orr_tuned *t, orr_tuned_key *x) {
    size_t k = (size_t)(x - t->keys.at);
    memmove(x, x + 1, (t->keys.n - k - 1) * sizeof *x);
    t->keys.n--;
}

static void refuse_contradictions(orr_tuned *t) {
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        orr_tuned_key *less = find_key(t, orders[k].less), *more = find_key(t, orders[k].more);
        if (!less || !more || strtod(less->value, NULL) <= strtod(more->value, NULL)) continue;
        orr_tuned_key one = *less, two = *more;
        *ORR_PUSH(&t->refused) = (orr_tuned_key){
            one.key, one.value,
            orr_arena_printf(&t->arena, "%s: more than %s = %s", one.why, two.key, two.value)};
        *ORR_PUSH(&t->refused) = (orr_tuned_key){
            two.key, two.value,
            orr_arena_printf(&t->arena, "%s: less than %s = %s", two.why, one.key, one.value)};
        remove_key(t, find_key(t, orders[k].less));
        remove_key(t, find_key(t, orders[k].more));
    }
}

const char *orr_tune_start(orr_tuned *t, double more, size_t launches) {
    orr_tuned_key *k = find_key(t, "profiler.overhead");
    double cycles = k ? strtod(k->value, NULL) + more : NAN;
    if (!k || !(cycles >= 0)) return NULL;
    k->value = orr_arena_printf(&t->arena, "%.0f cycles", cycles);
    k->why =
        orr_arena_printf(&t->arena, "%s, and %.0f more, the middle of %zu launches of micro/start on all SMs",
                         k->why, more, launches);
    return k->why;
}

// A load that finds its bank being refreshed waits for half of that on average.
void orr_tune_refresh(orr_tuned *t, const orr_gpu *g) {
    orr_tuned_key *k = find_key(t, "dram.latency");
    if (!k || g->dram_trfc <= 0) return;
    double takes = g->dram_trfc / g->clock_dram * g->clock_sm, every = g->dram_trefi * g->clock_sm / 1000;
    double wait = takes < every ? takes * takes / 2 / every : takes / 2;
    double left = round(strtod(k->value, NULL) - wait);
    if (left < 1) return;
    k->value = orr_arena_printf(&t->arena, "%.0f cycles", left);
    k->why = orr_arena_printf(&t->arena, "%s, and %.0f for refresh", k->why, wait);
}

// ---- all of it --------------------------------------------------------------------------------
void orr_tuned_add(orr_tuned *t, const char *key, const char *value, const char *why) {
    orr_tuned_key *k = ORR_PUSH(&t->keys);
    *k = (orr_tuned_key){orr_arena_strdup(&t->arena, key), orr_arena_strdup(&t->arena, value),
                         orr_arena_strdup(&t->arena, why)};
}

// What no family has a value for, where there is no reading that can be kept: what GPUs of the last ten years
// have in common (gpus/*.conf).
static void assume(const orr_findings *f, orr_tuned *out) {
    // What a tuned description is compared with are cycles under a profiler, whatever the GPU.
    orr_tuned_add(out, "profiler.warm_code", "yes",
                  "chosen: by what Nsight Compute does: it repeats a kernel");
    orr_tuned_add(out, "const.cold", "yes",
                  "chosen: by reason: parameters are new with each launch, no cache has them");
    orr_text none = {0};
    rule slices = {.scale = 1};
    double n = reading_channels(f, &slices, &none), latency = NAN;
    char buf[80];
    free(none.s);
    if (!find_key(out, "l2.bandwidth") && n >= 1) {
        snprintf(buf, sizeof buf, "%.0f B/cycle", 64 * n);
        orr_tuned_add(out, "l2.bandwidth", buf, "no reading: 64 B of each slice assumed");
    }
    if (!find_key(out, "dram.latency")) {
        const orr_tuned_key *l2 = find_key(out, "l2.latency");
        latency = l2 ? strtod(l2->value, NULL) : 260;
        snprintf(buf, sizeof buf, "%.0f cycles", latency + 350);
        orr_tuned_add(out, "dram.latency", buf, "no reading: 350 cycles more than L2 assumed");
    }
}

bool orr_tune_readings(const orr_findings *f, const orr_hardware *h, orr_tuned *out, orr_err *e) {
    char buf[80];
    const char *family = family_of(f);
    if (!family)
        return orr_fail(e, ORR_BAD_INPUT,
                        "tune: the readings device.cc_major and device.cc_minor are not there, or name an "
                        "architecture that no "
                        "family of descriptions is for");
    out->family = orr_arena_printf(&out->arena, "family/%s", family);
    double longer = l2_clock(f, h, out); // a cycle of L2
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        const rule *r = &rules[k];
        orr_text why = {0};
        double v = in_l2_cycles(r->key, r->how(f, r, &why), longer, &why);
        if (isnan(v)) {
            *ORR_PUSH(&out->missing) = r->key;
        } else if (possible(out, r->key, v, (range){r->least, r->most, r->unit}, why.s ? why.s : "")) {
            if (r->step > 0) v = round(v / r->step) * r->step;
            if (r->step == POWER && v > 0) v = exp2(round(log2(v)));
            snprintf(buf, sizeof buf, "%.10g%s%s", v, *r->unit ? " " : "", r->unit);
            orr_tuned_add(out, r->key, buf, why.s ? why.s : "");
        }
        free(why.s);
    }
    if (!isnan(orr_finding_value(f, "device.memory_bus", NULL)))
        orr_tuned_add(out, "dram.kind", reading_memory_kind(f),
                      "device.memory_bus and device.memory_clock, as the generations have them");
    tune_opcodes(f, out);
    write_policy(f, out);
    l1_banks(f, out);
    l2_copies(f, out);
    atomic_words(f, out);
    block_order(f, out);
    issue_order(f, out);
    launches(h, out);
    merged_loads(h, out);
    merged_stores(h, out);
    refuse_contradictions(out);
    assume(f, out);
    return true;
}

// Text from a file, of which nothing may end the line or the quotes that it stands in.
static void plain(orr_text *out, const char *s) {
    for (; *s; s++) orr_text_add(out, "%c", (unsigned char)*s < 32 || *s == '"' || *s == '\\' ? ' ' : *s);
}

void orr_tuned_write(const orr_tuned *t, const orr_findings *f, orr_text *out) {
    const char *name = f->gpu && *f->gpu ? f->gpu : "a GPU";
    orr_text_add(out, "# ");
    plain(out, name);
    orr_text_add(out, ", tuned by `orrery tune` from microbenchmarks of ");
    plain(out, f->date && *f->date ? f->date : "some day");
    orr_text_add(out, ". Behind each value is the reading it came from\n"
                      "# (docs/guides/micro.md); what is not here is as the family has it.\n");
    if (t->without) orr_text_add(out, "without = \"%s\"\n", t->without);
    orr_text_add(out, "inherit = \"%s\"\n\n# published: as the driver calls it\n%-22s = \"", t->family,
                 "product");
    orr_text product = {0};
    orr_text_add(&product, "%.70s", name);
    plain(out, product.s);
    free(product.s);
    orr_text_add(out, "\"\n");
    for (size_t k = 0; k < t->keys.n; k++) {
        const orr_tuned_key *x = &t->keys.at[k];
        bool chosen = strncmp(x->why, "chosen: ", 8) == 0; // the words of evidence (docs/reference/gpus.md)
        orr_text_add(out, "%-22s = %-20s # %s", x->key, x->value, chosen ? "" : "measured: ");
        plain(out, x->why);
        orr_text_add(out, "\n");
    }
    if (t->refused.n)
        orr_text_add(out, "\n# Readings that no hardware has, refused; as the family has it:\n");
    for (size_t k = 0; k < t->refused.n; k++) {
        const orr_tuned_key *x = &t->refused.at[k];
        orr_text_add(out, "#   %s = %s, from ", x->key, x->value);
        plain(out, x->why);
        orr_text_add(out, "\n");
    }
    if (t->missing.n) {
        orr_text_add(out, "\n# Without a reading, and as the family has it:");
        for (size_t k = 0; k < t->missing.n; k++) orr_text_add(out, " %s", t->missing.at[k]);
        orr_text_add(out, "\n");
    }
}

void orr_tuned_free(orr_tuned *t) {
    free(t->keys.at);
    free(t->missing.at);
    free(t->refused.at);
    orr_arena_free(&t->arena);
    *t = (orr_tuned){0};
}
