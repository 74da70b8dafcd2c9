// A GPU's description made of what microbenchmarks found on it.
//
// A table says which parameter comes from which reading, by which formula and in which unit. A parameter
// whose reading is not there is left out, and is then what the family's description says. Each line that is
// written names the reading it came from, so that a value that looks wrong leads to the benchmark that made
// it.
//
// The readings are of `orrery hw micro` (docs/micro.md); cycles of launches that do nothing are of `orrery hw
// profile`.
#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct rule rule;
// The value, NAN: the reading is not there. Says in `why` what it was made of.
typedef double formula(const orr_findings *f, const rule *r, orr_text *why);
struct rule {
    const char *key, *unit;
    formula *how;
    const char *metric, *point; // point NULL: any; a variable for formulas over all points
    double scale, offset;       // of what the formula finds
    double step; // the value is rounded to a multiple of this; 0: not; POWER: to a power of two
};

#define POWER (-1)

// ---- formulas ---------------------------------------------------------------------------------
static const char *number(char buf[40], double v) {
    snprintf(buf, 40, "%.6g", v);
    return buf;
}

static void scaled(orr_text *why, const rule *r) {
    char buf[40];
    if (r->scale != 1) orr_text_add(why, " x %s", number(buf, r->scale));
    if (r->offset != 0) orr_text_add(why, " %s %s", r->offset < 0 ? "-" : "+", number(buf, fabs(r->offset)));
}

// One reading as it is.
static double direct(const orr_findings *f, const rule *r, orr_text *why) {
    double v = orr_finding_value(f, r->metric, r->point);
    char buf[40];
    if (isnan(v)) return v;
    orr_text_add(why, "%s%s%s = %s", r->metric, r->point && *r->point ? " at " : "", r->point ? r->point : "",
                 number(buf, v));
    scaled(why, r);
    return v * r->scale + r->offset;
}

// The largest of all points.
static double largest(const orr_findings *f, const rule *r, orr_text *why) {
    const orr_finding *best = NULL;
    char buf[40];
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        if (!strcmp(x->metric, r->metric) && (!best || x->value > best->value)) best = x;
    }
    if (!best) return NAN;
    orr_text_add(why, "the most of %s, %s at %s", r->metric, number(buf, best->value), best->point);
    scaled(why, r);
    return best->value * r->scale + r->offset;
}

// The mean of all points.
static double mean(const orr_findings *f, const rule *r, orr_text *why) {
    double sum = 0;
    size_t n = 0;
    char buf[40];
    for (size_t k = 0; k < f->rows.n; k++) {
        if (strcmp(f->rows.at[k].metric, r->metric) != 0) continue;
        sum += f->rows.at[k].value;
        n++;
    }
    if (!n) return NAN;
    orr_text_add(why, "mean of %zu readings of %s, %s", n, r->metric, number(buf, sum / (double)n));
    scaled(why, r);
    return sum / (double)n * r->scale + r->offset;
}

// The point whose variable is the largest.
static const orr_finding *last_point(const orr_findings *f, const char *metric, const char *variable) {
    const orr_finding *best = NULL;
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        if (!strcmp(x->metric, metric) && !isnan(orr_finding_at(x, variable)) &&
            (!best || orr_finding_at(x, variable) > orr_finding_at(best, variable)))
            best = x;
    }
    return best;
}

static double last(const orr_findings *f, const rule *r, orr_text *why) {
    const orr_finding *x = last_point(f, r->metric, r->point);
    char buf[40];
    if (!x) return NAN;
    orr_text_add(why, "%s at %s = %s", r->metric, x->point, number(buf, x->value));
    scaled(why, r);
    return x->value * r->scale + r->offset;
}

// How much the reading grows with the variable, from the first point to the last.
static double slope(const orr_findings *f, const rule *r, orr_text *why) {
    const orr_finding *x = last_point(f, r->metric, r->point);
    double at = x ? orr_finding_at(x, r->point) : 0;
    char buf[40];
    if (!x || !(at > 0)) return NAN;
    orr_text_add(why, "%s at %s = %s, for each", r->metric, x->point, number(buf, x->value));
    return x->value / at;
}

// How large something is that a footprint fits into: the largest value of the variable up to which the
// readings stay within 10 % of the first one above `from`. Between that point and the next one it overflows.
#define STAYS 1.1
static double fits(const orr_findings *f, const char *metric, const char *variable, double from) {
    double base = NAN, base_at = INFINITY, best = NAN, over = INFINITY;
    for (size_t k = 0; k < f->rows.n; k++) { // the first point
        const orr_finding *x = &f->rows.at[k];
        double at = orr_finding_at(x, variable);
        if (strcmp(x->metric, metric) != 0 || isnan(at) || at <= from || at >= base_at) continue;
        base = x->value;
        base_at = at;
    }
    for (size_t k = 0; k < f->rows.n; k++) { // the first that is too slow
        const orr_finding *x = &f->rows.at[k];
        double at = orr_finding_at(x, variable);
        if (strcmp(x->metric, metric) != 0 || isnan(at) || at <= from) continue;
        if (x->value > base * STAYS && at < over) over = at;
    }
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        double at = orr_finding_at(x, variable);
        if (strcmp(x->metric, metric) != 0 || isnan(at) || at <= from || at >= over) continue;
        if (isnan(best) || at > best) best = at;
    }
    return over == INFINITY ? NAN : best; // it never overflowed: the size is not known
}

static double knee(const orr_findings *f, const rule *r, orr_text *why) {
    double v = fits(f, r->metric, r->point, -1);
    char buf[40];
    if (isnan(v)) return v;
    orr_text_add(why, "%s: fits at %s=%s, not at the next point", r->metric, r->point, number(buf, v));
    scaled(why, r);
    return v * r->scale + r->offset;
}

// The one behind it: from twice that size on.
static double second_knee(const orr_findings *f, const rule *r, orr_text *why) {
    double one = fits(f, r->metric, r->point, -1),
           v = isnan(one) ? one : fits(f, r->metric, r->point, one * 1.5);
    char buf[40];
    if (isnan(v)) return v;
    orr_text_add(why, "%s: fits at %s=%s, the second step", r->metric, r->point, number(buf, v));
    scaled(why, r);
    return v * r->scale + r->offset;
}

// Lanes of a unit of which every sub-core (a quarter of an SM) has one: a warp's instruction every `metric`
// cycles of the SM occupies it for four times as many. Hardware has powers of two.
#define SUBCORES 4
static double lanes(const orr_findings *f, const rule *r, orr_text *why) {
    double v = orr_finding_value(f, r->metric, NULL);
    char buf[40];
    if (isnan(v) || !(v > 0)) return NAN;
    orr_text_add(why, "32 / (%s = %s x %d sub-cores)", r->metric, number(buf, v), SUBCORES);
    return exp2(round(log2(32 / (v * SUBCORES))));
}

// Two data of each clock on each line.
static double bus_bandwidth(const orr_findings *f, const rule *r, orr_text *why) {
    double khz = orr_finding_value(f, "device.memory_clock", NULL),
           bits = orr_finding_value(f, "device.memory_bus", NULL);
    (void)r;
    if (isnan(khz) || isnan(bits)) return NAN;
    orr_text_add(why, "2 x device.memory_clock x device.memory_bus");
    return 2 * khz * 1e3 * bits / 8 / 1e9;
}

// What of the memory's bandwidth a plain stream gets.
static double efficiency(const orr_findings *f, const rule *r, orr_text *why) {
    orr_text none = {0};
    double bytes = orr_finding_value(f, r->metric, r->point), mhz = orr_finding_value(f, "clock.sm", NULL);
    double peak = bus_bandwidth(f, r, &none);
    char buf[40];
    free(none.s);
    if (isnan(bytes) || isnan(mhz) || isnan(peak)) return NAN;
    orr_text_add(why, "%s at %s = %s B/cycle x clock.sm of the bus", r->metric, r->point, number(buf, bytes));
    double share = 100 * bytes * mhz * 1e6 / (peak * 1e9);
    return share > 100 ? 100 : share;
}

// Channels of 64 bits where memory is stacked (HBM: more than 1024 bits), of 32 elsewhere (a GDDR chip).
static double channels(const orr_findings *f, const rule *r, orr_text *why) {
    double bits = orr_finding_value(f, "device.memory_bus", NULL);
    if (isnan(bits)) return NAN;
    orr_text_add(why, "device.memory_bus in channels of %d bits", bits > 1024 ? 64 : 32);
    return floor(bits / (bits > 1024 ? 64 : 32)) * r->scale;
}

// A comparison with its consumer is in the chain, too: half of a pair of them is taken off.
static double without_compare(const orr_findings *f, const rule *r, orr_text *why) {
    double v = orr_finding_value(f, r->metric, NULL), pair = orr_finding_value(f, "isetp.latency", NULL);
    if (isnan(v) || isnan(pair)) return NAN;
    orr_text_add(why, "%s - isetp.latency / 2", r->metric);
    return v - pair / 2;
}

// Readings that fall into two heaps: the distance of the heaps' means. They are parted at the mean of those,
// until that stays.
static double two_heaps(const orr_findings *f, const rule *r, orr_text *why) {
    double part = NAN, low = NAN, high = NAN;
    for (int round = 0; round < 100; round++) {
        double sum[2] = {0, 0};
        size_t n[2] = {0, 0};
        for (size_t k = 0; k < f->rows.n; k++) {
            const orr_finding *x = &f->rows.at[k];
            if (strcmp(x->metric, r->metric) != 0) continue;
            int heap = !isnan(part) && x->value > part;
            sum[heap] += x->value;
            n[heap]++;
        }
        if (!n[0] || (round && !n[1])) return NAN; // none, or all alike
        low = sum[0] / (double)n[0];
        high = n[1] ? sum[1] / (double)n[1] : low;
        double next = (low + high) / 2;
        if (next == part) break;
        part = next;
    }
    char a[40], b[40];
    orr_text_add(why, "two heaps of %s, around %s and %s", r->metric, number(a, low), number(b, high));
    return high - low;
}

// How many accesses a warp on every sub-core issues before it has to wait: the first that comes much later
// than the one before.
static double line_length(const orr_findings *f, const rule *r, orr_text *why) {
    double before = NAN;
    char point[40];
    for (int k = 0; k < 1000; k++) {
        snprintf(point, sizeof point, "warps=%d k=%d", SUBCORES, k);
        double v = orr_finding_value(f, r->metric, point);
        if (isnan(v)) return NAN;
        if (k && v - before > 20) {
            orr_text_add(why, "%s: each of %d warps issues %d before it waits", r->metric, SUBCORES, k);
            return (double)k * SUBCORES;
        }
        before = v;
    }
    return NAN;
}

// L1 with the least shared memory: what fits, and what the system keeps for each of the most blocks, as
// storage comes in units of 32 KB.
static double storage(const orr_findings *f, const rule *r, orr_text *why) {
    double kb = fits(f, r->metric, r->point, -1), own = orr_finding_value(f, "device.shared_reserved", NULL),
           blocks = orr_finding_value(f, "device.sm_blocks", NULL);
    char buf[40];
    if (isnan(kb) || isnan(own) || isnan(blocks)) return NAN;
    orr_text_add(why, "%s: fits at %s=%s; and device.shared_reserved of device.sm_blocks; in 32 KB",
                 r->metric, r->point, number(buf, kb));
    return ceil((kb + own * blocks / 1024) / 32) * 32;
}

// ---- the table --------------------------------------------------------------------------------
#define X(key, unit, metric)                                                                                 \
    { key, unit, direct, metric, NULL, 1, 0, 1 }
#define XS(key, unit, metric, scale)                                                                         \
    { key, unit, direct, metric, NULL, scale, 0, 1 }
#define XP(key, unit, metric, point, step)                                                                   \
    { key, unit, direct, metric, point, 1, 0, step }
static const rule rules[] = {
    // the device, as the driver describes it
    X("cc.major", "", "device.cc_major"),
    X("cc.minor", "", "device.cc_minor"),
    X("sm.count", "SMs", "device.sms"),
    XS("tpc.count", "TPCs", "device.sms", 0.5),
    XS("clock.base", "MHz", "device.clock", 1e-3),
    X("clock.sm", "MHz", "clock.sm"),
    XS("clock.dram", "MHz", "device.memory_clock", 1e-3),
    XS("limit.sm_warps", "warps", "device.sm_threads", 1.0 / 32),
    X("limit.sm_threads", "threads", "device.sm_threads"),
    X("limit.sm_blocks", "blocks", "device.sm_blocks"),
    X("limit.block_threads", "threads", "device.block_threads"),
    X("limit.sm_registers", "registers", "device.sm_registers"),
    X("limit.block_registers", "registers", "device.block_registers"),
    XS("shared.per_sm", "KB", "device.shared_per_sm", 1.0 / 1024),
    XS("shared.per_block", "KB", "device.shared_per_block", 1.0 / 1024),
    XS("shared.per_block_optin", "KB", "device.shared_per_block_optin", 1.0 / 1024),
    XS("shared.reserved", "KB", "device.shared_reserved", 1.0 / 1024),
    // instructions
    X("op.fp32.latency", "cycles", "ffma.latency"),
    X("op.int.latency", "cycles", "lop3.latency"),
    X("op.int.mul.latency", "cycles", "imad.latency"),
    X("op.int.bits.latency", "cycles", "popc.latency"),
    X("op.fp64.latency", "cycles", "dfma.latency"),
    X("op.fp16.latency", "cycles", "hfma2.latency"),
    X("op.sfu.latency", "cycles", "mufu_ex2.latency"),
    XS("op.conv.latency", "cycles", "f2f.latency", 0.5),
    X("op.shfl.latency", "cycles", "shfl_bfly.latency"),
    {"op.vote.latency", "cycles", without_compare, "vote.latency", NULL, 1, 0, 1},
    X("op.tensor.latency", "cycles", "hmma_16816_f32.latency"),
    XS("op.tensor.interval", "cycles", "hmma_16816_f32.interval", SUBCORES),
    {"op.barrier.latency", "cycles", direct, "bar.sync", "warps=1", 1, 0, 1},
    {"unit.fma.lanes", "lanes", lanes, "ffma.interval", NULL, 1, 0, 0},
    {"unit.alu.lanes", "lanes", lanes, "lop3.interval", NULL, 1, 0, 0},
    {"unit.fmaheavy.lanes", "lanes", lanes, "imad.interval", NULL, 1, 0, 0},
    {"unit.fp64.lanes", "lanes", lanes, "dfma.interval", NULL, 1, 0, 0},
    {"unit.fp16.lanes", "lanes", lanes, "hfma2.interval", NULL, 1, 0, 0},
    {"unit.xu.lanes", "lanes", lanes, "mufu_ex2.interval", NULL, 1, 0, 0},
    // The loop's other instructions, by their stall counts: 1 + 5 + 13 (micro/blocks.cu, sm_90).
    {"core.branch_wait", "cycles", direct, "branch.loop", NULL, 1, -19, 1},
    X("core.fence_block", "cycles", "fence.cta"),
    X("core.fence_gpu", "cycles", "fence.gpu"),
    X("core.fence_system", "cycles", "fence.sys"),
    {"lsu.queue", "instructions", line_length, "queue.issued", NULL, 1, 0, 1},
    {"launch.sm_interval", "cycles", slope, "small.on_sm", "n", 1, 0, 1},
    // caches of an SM
    {"icache.l0", "KB", knee, "icache.straight", "kb", 1, 0, POWER},
    {"icache.l1", "KB", second_knee, "icache.straight", "kb", 1, 0, POWER},
    {"const.size", "B", knee, "const.chase", "bytes", 1, 0, 1},
    {"const.latency", "cycles", direct, "const.chase", "bytes=256", 1, 0, 1},
    {"const.l15_latency", "cycles", last, "const.chase", "bytes", 1, 0, 1},
    X("shared.latency", "cycles", "shared.latency"),
    X("l1.latency", "cycles", "l1.latency"),
    {"l1.size", "KB", storage, "l1.size", "kb", 1, 0, 1},
    // beyond it. The clock of L2 is not measured: bytes are counted per cycle of the SMs, which it then has.
    {"xbar.request", "B/cycle", direct, "sm.write", NULL, 136.0 / 128, 0,
     1}, // a line's 4 sectors have a head of 8 bytes
    {"xbar.reply", "B/cycle", direct, "sm.read", NULL, 136.0 / 128, 0, 1},
    XS("l2.size", "MB", "device.l2_size", 1.0 / 1048576),
    {"l2.slices", "slices", channels, NULL, NULL, 1, 0, 1},
    {"l2.latency", "cycles", mean, "l2.from_sm", NULL, 1, 0, 1},
    {"l2.far_latency", "cycles", two_heaps, "l2.place", NULL, 1, 0, 1},
    {"l2.bandwidth", "B/cycle", largest, "l2.read", NULL, 1, 0, 10},
    {"l2.atomic", "lanes/cycle", direct, "red.lanes", "place=2 same=32", 1, 0, 0.01},
    XS("dram.size", "GB", "device.memory", 1.0 / (1 << 30)),
    X("dram.bus", "bits", "device.memory_bus"),
    {"dram.bandwidth", "GB/s", bus_bandwidth, NULL, NULL, 1, 0, 1},
    {"dram.efficiency", "%", efficiency, "stream", "kind=0 passes=1", 1, 0, 0.1},
    {"dram.channels", "channels", channels, NULL, NULL, 1, 0, 1},
    {"dram.latency", "cycles", last, "l2.size", "mb", 1, 0, 1},
};

// Opcodes that are slower than their class: unit, readings, and what other instructions have in the chain
// (micro/ops.def).
static const struct opcode {
    const char *name, *unit, *latency, *interval;
    double others;
} opcodes[] = {
    {"match", "xu", "match.latency", "match.interval", 0},
    {"redux", "xu", "redux.latency", "redux.interval", 4}, // a move
    {"s2r", "xu", "s2r.latency", "s2r.interval", 10},      // SHF, SGXT and half an addition
    {"s2ur", "xu", "cs2r.latency", "cs2r.interval", 4},    // LOP3
    {"dmma", "tensor", "dmma_884.latency", "dmma_884.interval", 0},
};

static void tune_opcodes(const orr_findings *f, orr_tuned *out) {
    orr_arena a = {0};
    for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++) {
        const struct opcode *o = &opcodes[k];
        double latency = orr_finding_value(f, o->latency, NULL),
               interval = orr_finding_value(f, o->interval, NULL);
        if (isnan(latency) || isnan(interval)) continue;
        orr_tuned_add(out, orr_arena_printf(&a, "op.%s.unit", o->name), o->unit, "a slow one of its class");
        orr_tuned_add(out, orr_arena_printf(&a, "op.%s.latency", o->name),
                      orr_arena_printf(&a, "%.0f cycles", latency - o->others),
                      orr_arena_printf(&a, "%s = %.6g - %g", o->latency, latency, o->others));
        orr_tuned_add(out, orr_arena_printf(&a, "op.%s.interval", o->name),
                      orr_arena_printf(&a, "%.0f cycles", interval * SUBCORES),
                      orr_arena_printf(&a, "%s = %.6g x %d", o->interval, interval, SUBCORES));
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

// Stacked memory by its clock, as the generations have them; else the usual chips.
static const char *memory_kind(const orr_findings *f) {
    double mhz = orr_finding_value(f, "device.memory_clock", NULL) / 1000,
           bits = orr_finding_value(f, "device.memory_bus", NULL);
    if (bits > 1024) return mhz < 1100 ? "hbm2" : mhz < 1700 ? "hbm2e" : mhz < 3000 ? "hbm3" : "hbm3e";
    return mhz < 4500 ? "gddr5" : mhz < 9100 ? "gddr6" : mhz < 11000 ? "gddr6x" : "gddr7";
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
// Cycles of the kernel `empty` with so many blocks of 32 threads; the median row is the first.
static double empty_cycles(const orr_hardware *h, uint32_t blocks) {
    for (size_t k = 0; h && k < h->rows.n; k++) {
        const orr_measured *m = &h->rows.at[k];
        if (!strcmp(m->kernel, "empty") && m->grid[0] == blocks && m->block[0] == 32)
            return orr_hardware_get(h, m, "gpc__cycles_elapsed.max");
    }
    return NAN;
}

static void launches(const orr_hardware *h, orr_tuned *out) {
    double few = empty_cycles(h, 132), many = empty_cycles(h, 4224);
    char buf[80];
    if (isnan(few) || isnan(many) || !(many > few)) return;
    snprintf(buf, sizeof buf, "%.2f cycles", (many - few) / (4224 - 132));
    orr_tuned_add(out, "launch.block_interval", buf,
                  "empty kernels of 132 and of 4224 blocks, the difference");
}

// ---- all of it --------------------------------------------------------------------------------
void orr_tuned_add(orr_tuned *t, const char *key, const char *value, const char *why) {
    orr_tuned_key *k = ORR_PUSH(&t->keys);
    *k = (orr_tuned_key){orr_arena_strdup(&t->arena, key), orr_arena_strdup(&t->arena, value),
                         orr_arena_strdup(&t->arena, why)};
}

bool orr_tune(const orr_findings *f, const orr_hardware *h, orr_tuned *out, orr_err *e) {
    char buf[80];
    const char *family = family_of(f);
    if (!family)
        return orr_fail(e, ORR_BAD_INPUT,
                        "tune: the readings device.cc_major and device.cc_minor are not there, or name an "
                        "architecture that no "
                        "family of descriptions is for");
    out->family = orr_arena_printf(&out->arena, "family/%s", family);
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        const rule *r = &rules[k];
        orr_text why = {0};
        double v = r->how(f, r, &why);
        if (!isnan(v) && !isinf(v)) {
            if (r->step > 0) v = round(v / r->step) * r->step;
            if (r->step == POWER && v > 0) v = exp2(round(log2(v)));
            snprintf(buf, sizeof buf, "%.10g%s%s", v, *r->unit ? " " : "", r->unit);
            orr_tuned_add(out, r->key, buf, why.s ? why.s : "");
        } else {
            *ORR_PUSH(&out->missing) = r->key;
        }
        free(why.s);
    }
    if (!isnan(orr_finding_value(f, "device.memory_bus", NULL)))
        orr_tuned_add(out, "dram.kind", memory_kind(f),
                      "device.memory_bus and device.memory_clock, as the generations have them");
    tune_opcodes(f, out);
    write_policy(f, out);
    issue_order(f, out);
    launches(h, out);
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
                      "# (docs/micro.md); what is not here is as the family has it.\n");
    orr_text_add(out, "inherit = \"%s\"\n\n%-22s = \"", t->family, "product");
    orr_text product = {0};
    orr_text_add(&product, "%.70s", name);
    plain(out, product.s);
    free(product.s);
    orr_text_add(out, "\"\n");
    for (size_t k = 0; k < t->keys.n; k++) {
        const orr_tuned_key *x = &t->keys.at[k];
        orr_text_add(out, "%-22s = %-20s # ", x->key, x->value);
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
    orr_arena_free(&t->arena);
    *t = (orr_tuned){0};
}
