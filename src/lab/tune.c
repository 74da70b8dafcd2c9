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
    double step;        // the value is rounded to a multiple of this; 0: not; POWER: to a power of two
    double least, most; // what hardware can have
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

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// All points, ascending. To be freed.
static double *sorted(const orr_findings *f, const char *metric, size_t *n) {
    double *v = orr_calloc(f->rows.n + 1, sizeof *v);
    *n = 0;
    for (size_t k = 0; k < f->rows.n; k++)
        if (!strcmp(f->rows.at[k].metric, metric)) v[(*n)++] = f->rows.at[k].value;
    qsort(v, *n, sizeof *v, ascending);
    return v;
}

// The mean of all points but a twentieth at either end.
#define ENDS 20
static double mean(const orr_findings *f, const rule *r, orr_text *why) {
    size_t n, kept = 0;
    double *v = sorted(f, r->metric, &n), sum = 0;
    char buf[40];
    for (size_t k = n / ENDS; k < n - n / ENDS; k++, kept++) sum += v[k];
    free(v);
    if (!n) return NAN;
    orr_text_add(why, "mean of %zu readings of %s, %s", kept, r->metric, number(buf, sum / (double)kept));
    scaled(why, r);
    return sum / (double)kept * r->scale + r->offset;
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

// How far apart the readings are: the median of their distances, one after the other.
static double pace(const orr_findings *f, const rule *r, orr_text *why) {
    size_t n;
    double *v = sorted(f, r->metric, &n), median = NAN;
    char buf[40];
    for (size_t k = 0; k + 1 < n; k++) v[k] = v[k + 1] - v[k];
    if (n > 1) {
        qsort(v, n - 1, sizeof *v, ascending);
        median = n % 2 ? (v[(n - 1) / 2 - 1] + v[(n - 1) / 2]) / 2 : v[(n - 1) / 2];
        orr_text_add(why, "%zu readings of %s, the median of their distances, %s", n, r->metric,
                     number(buf, median));
    }
    free(v);
    return median;
}

// How large something is that a footprint fits into: the largest value of the variable whose reading is still
// within 10 % of the first one above `from`. One slow reading among them is an accident. Between that point
// and the next one it overflows.
#define STAYS 1.1
static double fits(const orr_findings *f, const char *metric, const char *variable, double from) {
    double base = NAN, base_at = INFINITY, best = NAN, largest_at = NAN;
    for (size_t k = 0; k < f->rows.n; k++) { // the first point
        const orr_finding *x = &f->rows.at[k];
        double at = orr_finding_at(x, variable);
        if (strcmp(x->metric, metric) != 0 || isnan(at) || at <= from || at >= base_at) continue;
        base = x->value;
        base_at = at;
    }
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        double at = orr_finding_at(x, variable);
        if (strcmp(x->metric, metric) != 0 || isnan(at) || at <= from) continue;
        if (isnan(largest_at) || at > largest_at) largest_at = at;
        if (x->value <= base * STAYS && (isnan(best) || at > best)) best = at;
    }
    return best == largest_at ? NAN : best; // it never overflowed: the size is not known
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
    return share > 100 && share < 105 ? 100 : share; // clocks are known to some percent
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
// until that stays. A twentieth at either end counts as the reading next to it.
static double two_heaps(const orr_findings *f, const rule *r, orr_text *why) {
    size_t n;
    double *v = sorted(f, r->metric, &n), part = NAN, low = NAN, high = NAN;
    for (size_t k = 0; k < n / ENDS; k++) {
        v[k] = v[n / ENDS];
        v[n - 1 - k] = v[n - 1 - n / ENDS];
    }
    for (int round = 0; round < 100; round++) {
        double sum[2] = {0, 0};
        size_t in[2] = {0, 0};
        for (size_t k = 0; k < n; k++) {
            int heap = !isnan(part) && v[k] > part;
            sum[heap] += v[k];
            in[heap]++;
        }
        high = low = NAN;
        if (!in[0] || (round && !in[1])) break; // none, or all alike
        low = sum[0] / (double)in[0];
        high = in[1] ? sum[1] / (double)in[1] : low;
        double next = (low + high) / 2;
        if (next == part) break;
        part = next;
    }
    free(v);
    if (isnan(high)) return NAN;
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
#define X(key, unit, metric, least, most)                                                                    \
    { key, unit, direct, metric, NULL, 1, 0, 1, least, most }
#define XS(key, unit, metric, scale, least, most)                                                            \
    { key, unit, direct, metric, NULL, scale, 0, 1, least, most }
static const rule rules[] = {
    // the device, as the driver describes it
    X("cc.major", "", "device.cc_major", 1, 99),
    X("cc.minor", "", "device.cc_minor", 0, 9),
    X("sm.count", "SMs", "device.sms", 1, 1024),
    XS("tpc.count", "TPCs", "device.sms", 0.5, 1, 512),
    XS("clock.base", "MHz", "device.clock", 1e-3, 100, 5000),
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
    X("op.fp16.latency", "cycles", "hfma2.latency", 2, 40),
    X("op.sfu.latency", "cycles", "mufu_ex2.latency", 4, 120),
    XS("op.conv.latency", "cycles", "f2f.latency", 0.5, 2, 120),
    X("op.shfl.latency", "cycles", "shfl_bfly.latency", 4, 120),
    {"op.vote.latency", "cycles", without_compare, "vote.latency", NULL, 1, 0, 1, 2, 120},
    X("op.tensor.latency", "cycles", "hmma_16816_f32.latency", 4, 300),
    XS("op.tensor.interval", "cycles", "hmma_16816_f32.interval", SUBCORES, 1, 128),
    {"op.barrier.latency", "cycles", direct, "bar.sync", "warps=1", 1, 0, 1, 2, 200},
    {"unit.fma.lanes", "lanes", lanes, "ffma.interval", NULL, 1, 0, 0, 4, 64},
    {"unit.alu.lanes", "lanes", lanes, "lop3.interval", NULL, 1, 0, 0, 4, 64},
    {"unit.fmaheavy.lanes", "lanes", lanes, "imad.interval", NULL, 1, 0, 0, 2, 64},
    {"unit.fp64.lanes", "lanes", lanes, "dfma.interval", NULL, 1, 0, 0, 0.25, 64},
    {"unit.fp16.lanes", "lanes", lanes, "hfma2.interval", NULL, 1, 0, 0, 4, 128},
    {"unit.xu.lanes", "lanes", lanes, "mufu_ex2.interval", NULL, 1, 0, 0, 1, 32},
    // The loop's other instructions, by their stall counts: 1 + 5 + 13 (micro/blocks.cu, sm_90).
    {"core.branch_wait", "cycles", direct, "branch.loop", NULL, 1, -19, 1, 0, 100},
    X("core.fence_block", "cycles", "fence.cta", 1, 2000),
    X("core.fence_gpu", "cycles", "fence.gpu", 1, 10000),
    X("core.fence_system", "cycles", "fence.sys", 1, 50000),
    {"lsu.queue", "instructions", line_length, "queue.issued", NULL, 1, 0, 1, 1, 1024},
    {"launch.sm_interval", "cycles", pace, "small.on_sm", NULL, 1, 0, 1, 1, 200},
    // caches of an SM
    {"icache.l0", "KB", knee, "icache.straight", "kb", 1, 0, POWER, 1, 256},
    {"icache.l1", "KB", second_knee, "icache.straight", "kb", 1, 0, POWER, 8, 4096},
    {"const.size", "B", knee, "const.chase", "bytes", 1, 0, 1, 256, 65536},
    {"const.latency", "cycles", direct, "const.chase", "bytes=256", 1, 0, 1, 4, 200},
    {"const.l15_latency", "cycles", last, "const.chase", "bytes", 1, 0, 1, 10, 1000},
    X("shared.latency", "cycles", "shared.latency", 8, 200),
    X("l1.latency", "cycles", "l1.latency", 8, 300),
    {"l1.size", "KB", storage, "l1.size", "kb", 1, 0, 1, 16, 1024},
    // beyond it. The clock of L2 is not measured: bytes are counted per cycle of the SMs, which it then has.
    {"xbar.request", "B/cycle", direct, "sm.write", NULL, 136.0 / 128, 0, 1, 4,
     1024}, // a line's 4 sectors have a head of 8 bytes
    {"xbar.reply", "B/cycle", direct, "sm.read", NULL, 136.0 / 128, 0, 1, 4, 1024},
    XS("l2.size", "MB", "device.l2_size", 1.0 / 1048576, 0.125, 1024),
    {"l2.slices", "slices", channels, NULL, NULL, 1, 0, 1, 1, 1024},
    {"l2.latency", "cycles", mean, "l2.from_sm", NULL, 1, 0, 1, 50, 2000},
    {"l2.far_latency", "cycles", two_heaps, "l2.place", NULL, 1, 0, 1, 1, 1000},
    {"l2.bandwidth", "B/cycle", largest, "l2.read", NULL, 1, 0, 10, 32, 100000},
    {"l2.atomic", "lanes/cycle", direct, "red.lanes", "place=2 same=32", 1, 0, 0.01, 0.03125, 64},
    XS("dram.size", "GB", "device.memory", 1.0 / (1 << 30), 0.5, 4096),
    X("dram.bus", "bits", "device.memory_bus", 32, 32768),
    {"dram.bandwidth", "GB/s", bus_bandwidth, NULL, NULL, 1, 0, 1, 8, 50000},
    {"dram.efficiency", "%", efficiency, "stream", "kind=0 passes=1", 1, 0, 0.1, 20, 100},
    {"dram.channels", "channels", channels, NULL, NULL, 1, 0, 1, 1, 1024},
    {"dram.latency", "cycles", last, "l2.size", "mb", 1, 0, 1, 100, 5000},
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

// Whether hardware can have the value; if not, it is said, and what the family says stays.
static bool possible(orr_tuned *out, const char *key, double v, const char *unit, double least, double most,
                     const char *why) {
    char buf[3][40];
    if (v >= least && v <= most) return true; // not NAN
    *ORR_PUSH(&out->refused) =
        (orr_tuned_key){orr_arena_strdup(&out->arena, key),
                        orr_arena_printf(&out->arena, "%s%s%s", number(buf[0], v), *unit ? " " : "", unit),
                        orr_arena_printf(&out->arena, "%s: not between %s and %s", why, number(buf[1], least),
                                         number(buf[2], most))};
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
        if (!possible(out, key, latency, "cycles", 1, 2000, o->latency) ||
            !possible(out, key, interval, "cycles", 0.5, 2000, o->interval))
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
// Cycles of the kernel `empty` with so many blocks of 32 threads, caches flushed: the median of the rows.
static double empty_cycles(const orr_hardware *h, uint32_t blocks) {
    double *v = orr_calloc((h ? h->rows.n : 0) + 1, sizeof *v), median = NAN;
    size_t n = 0;
    for (size_t k = 0; h && k < h->rows.n; k++) {
        const orr_measured *m = &h->rows.at[k];
        if (strcmp(m->kernel, "empty") != 0 || m->grid[0] != blocks || m->block[0] != 32) continue;
        if (m->cache && !strcmp(m->cache, "warm")) continue;
        double cycles = orr_hardware_get(h, m, "gpc__cycles_elapsed.max");
        if (!isnan(cycles)) v[n++] = cycles;
    }
    qsort(v, n, sizeof *v, ascending);
    if (n) median = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
    free(v);
    return median;
}

static void launches(const orr_hardware *h, orr_tuned *out) {
    static const char why[] = "empty kernels of 132 and of 4224 blocks, the difference";
    double few = empty_cycles(h, 132), many = empty_cycles(h, 4224), each = (many - few) / (4224 - 132);
    char buf[80];
    if (isnan(each) || !possible(out, "launch.block_interval", each, "cycles", 0.05, 100, why)) return;
    snprintf(buf, sizeof buf, "%.2f cycles", each);
    orr_tuned_add(out, "launch.block_interval", buf, why);
}

void orr_tune_overhead(orr_tuned *t, double measured, double simulated) {
    char value[64], why[160];
    snprintf(why, sizeof why, "an empty kernel of one block: %.0f cycles measured, %.0f simulated without it",
             measured, simulated);
    if (!possible(t, "launch.overhead", measured - simulated, "cycles", 0, 100000, why)) return;
    snprintf(value, sizeof value, "%.0f cycles", measured - simulated);
    orr_tuned_add(t, "launch.overhead", value, why);
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

// ---- all of it --------------------------------------------------------------------------------
void orr_tuned_add(orr_tuned *t, const char *key, const char *value, const char *why) {
    orr_tuned_key *k = ORR_PUSH(&t->keys);
    *k = (orr_tuned_key){orr_arena_strdup(&t->arena, key), orr_arena_strdup(&t->arena, value),
                         orr_arena_strdup(&t->arena, why)};
}

// What no family has a value for, where there is no reading that can be kept: what GPUs of the last ten years
// have in common (gpus/*.conf).
static void assume(const orr_findings *f, orr_tuned *out) {
    orr_text none = {0};
    rule slices = {.scale = 1};
    double n = channels(f, &slices, &none), latency = NAN;
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
        if (isnan(v)) {
            *ORR_PUSH(&out->missing) = r->key;
        } else if (possible(out, r->key, v, r->unit, r->least, r->most, why.s ? why.s : "")) {
            if (r->step > 0) v = round(v / r->step) * r->step;
            if (r->step == POWER && v > 0) v = exp2(round(log2(v)));
            snprintf(buf, sizeof buf, "%.10g%s%s", v, *r->unit ? " " : "", r->unit);
            orr_tuned_add(out, r->key, buf, why.s ? why.s : "");
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
