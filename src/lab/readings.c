// The formulas of the tuner's rules: what a value is made of. Each says in words what it took.
#include "lab/readings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *reading_number(char buf[40], double v) {
    snprintf(buf, 40, "%.6g", v);
    return buf;
}

static void scaled(orr_text *why, const rule *r) {
    char buf[40];
    if (r->scale != 1) orr_text_add(why, " x %s", reading_number(buf, r->scale));
    if (r->offset != 0)
        orr_text_add(why, " %s %s", r->offset < 0 ? "-" : "+", reading_number(buf, fabs(r->offset)));
}

// One reading as it is.
double reading_direct(const orr_findings *f, const rule *r, orr_text *why) {
    double v = orr_finding_value(f, r->metric, r->point);
    char buf[40];
    if (isnan(v)) return v;
    orr_text_add(why, "%s%s%s = %s", r->metric, r->point && *r->point ? " at " : "", r->point ? r->point : "",
                 reading_number(buf, v));
    scaled(why, r);
    return v * r->scale + r->offset;
}

// The largest of all points.
double reading_largest(const orr_findings *f, const rule *r, orr_text *why) {
    const orr_finding *best = NULL;
    char buf[40];
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        if (!strcmp(x->metric, r->metric) && (!best || x->value > best->value)) best = x;
    }
    if (!best) return NAN;
    orr_text_add(why, "the most of %s, %s at %s", r->metric, reading_number(buf, best->value), best->point);
    scaled(why, r);
    return best->value * r->scale + r->offset;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double reading_middle(double *v, size_t n) {
    if (!n) return NAN;
    qsort(v, n, sizeof *v, ascending);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
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
double reading_mean(const orr_findings *f, const rule *r, orr_text *why) {
    size_t n, kept = 0;
    double *v = sorted(f, r->metric, &n), sum = 0;
    char buf[40];
    for (size_t k = n / ENDS; k < n - n / ENDS; k++, kept++) sum += v[k];
    free(v);
    if (!n) return NAN;
    orr_text_add(why, "mean of %zu readings of %s, %s", kept, r->metric,
                 reading_number(buf, sum / (double)kept));
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

static const orr_finding *first_point(const orr_findings *f, const char *metric, const char *variable) {
    const orr_finding *best = NULL;
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        if (!strcmp(x->metric, metric) && !isnan(orr_finding_at(x, variable)) &&
            (!best || orr_finding_at(x, variable) < orr_finding_at(best, variable)))
            best = x;
    }
    return best;
}

double reading_last(const orr_findings *f, const rule *r, orr_text *why) {
    const orr_finding *x = last_point(f, r->metric, r->point);
    char buf[40];
    if (!x) return NAN;
    orr_text_add(why, "%s at %s = %s", r->metric, x->point, reading_number(buf, x->value));
    scaled(why, r);
    return x->value * r->scale + r->offset;
}

// How far apart the readings are: the median of their distances, one after the other.
double reading_pace(const orr_findings *f, const rule *r, orr_text *why) {
    size_t n;
    double *v = sorted(f, r->metric, &n), median = NAN;
    char buf[40];
    for (size_t k = 0; k + 1 < n; k++) v[k] = v[k + 1] - v[k];
    if (n > 1) {
        median = reading_middle(v, n - 1);
        orr_text_add(why, "%zu readings of %s, the median of their distances, %s", n, r->metric,
                     reading_number(buf, median));
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

double reading_knee(const orr_findings *f, const rule *r, orr_text *why) {
    double v = fits(f, r->metric, r->point, -1);
    char buf[40];
    if (isnan(v)) return v;
    orr_text_add(why, "%s: fits at %s=%s, not at the next point", r->metric, r->point,
                 reading_number(buf, v));
    scaled(why, r);
    return v * r->scale + r->offset;
}

// The one behind it: from twice that size on.
double reading_second_knee(const orr_findings *f, const rule *r, orr_text *why) {
    double one = fits(f, r->metric, r->point, -1),
           v = isnan(one) ? one : fits(f, r->metric, r->point, one * 1.5);
    char buf[40];
    if (isnan(v)) return v;
    orr_text_add(why, "%s: fits at %s=%s, the second step", r->metric, r->point, reading_number(buf, v));
    scaled(why, r);
    return v * r->scale + r->offset;
}

// Lanes of a unit of which every sub-core (a quarter of an SM) has one: a warp's instruction every `metric`
// cycles of the SM occupies it for four times as many. Hardware has powers of two.
double reading_lanes(const orr_findings *f, const rule *r, orr_text *why) {
    double v = orr_finding_value(f, r->metric, NULL);
    char buf[40];
    if (isnan(v) || !(v > 0)) return NAN;
    orr_text_add(why, "32 / (%s = %s x %d sub-cores)", r->metric, reading_number(buf, v), SUBCORES);
    return exp2(round(log2(32 / (v * SUBCORES))));
}

// Two data of each clock on each line.
double reading_bus_bandwidth(const orr_findings *f, const rule *r, orr_text *why) {
    double khz = orr_finding_value(f, "device.memory_clock", NULL),
           bits = orr_finding_value(f, "device.memory_bus", NULL);
    (void)r;
    if (isnan(khz) || isnan(bits)) return NAN;
    orr_text_add(why, "2 x device.memory_clock x device.memory_bus");
    return 2 * khz * 1e3 * bits / 8 / 1e9;
}

// What of the memory's bandwidth a plain stream gets.
double reading_efficiency(const orr_findings *f, const rule *r, orr_text *why) {
    orr_text none = {0};
    double bytes = orr_finding_value(f, r->metric, r->point), mhz = orr_finding_value(f, "clock.sm", NULL);
    double peak = reading_bus_bandwidth(f, r, &none);
    char buf[40];
    free(none.s);
    if (isnan(bytes) || isnan(mhz) || isnan(peak)) return NAN;
    orr_text_add(why, "%s at %s = %s B/cycle x clock.sm of the bus", r->metric, r->point,
                 reading_number(buf, bytes));
    double share = 100 * bytes * mhz * 1e6 / (peak * 1e9);
    return share > 100 && share < 105 ? 100 : share; // clocks are known to some percent
}

// Stacked memory by its clock, as the generations have them; else the usual chips.
const char *reading_memory_kind(const orr_findings *f) {
    double mhz = orr_finding_value(f, "device.memory_clock", NULL) / 1000,
           bits = orr_finding_value(f, "device.memory_bus", NULL);
    if (bits > 1024) return mhz < 1100 ? "hbm2" : mhz < 1700 ? "hbm2e" : mhz < 3000 ? "hbm3" : "hbm3e";
    return mhz < 4500 ? "gddr5" : mhz < 9100 ? "gddr6" : mhz < 11000 ? "gddr6x" : "gddr7";
}

// Slices: one for each 64 bits where memory is stacked (HBM: more than 1024 bits), for each 32 elsewhere (a
// GDDR chip).
double reading_channels(const orr_findings *f, const rule *r, orr_text *why) {
    double bits = orr_finding_value(f, "device.memory_bus", NULL);
    if (isnan(bits)) return NAN;
    orr_text_add(why, "device.memory_bus in channels of %d bits", bits > 1024 ? 64 : 32);
    return floor(bits / (bits > 1024 ? 64 : 32)) * r->scale;
}

// A comparison with its consumer is in the chain, too: half of a pair of them is taken off.
double reading_without_compare(const orr_findings *f, const rule *r, orr_text *why) {
    double v = orr_finding_value(f, r->metric, NULL), pair = orr_finding_value(f, "isetp.latency", NULL);
    if (isnan(v) || isnan(pair)) return NAN;
    orr_text_add(why, "%s - isetp.latency / 2", r->metric);
    return v - pair / 2;
}

// Readings that fall into two heaps: the heaps' means. They are parted at the mean of those, until that
// stays. A twentieth at either end counts as the reading next to it.
static bool heaps(const orr_findings *f, const char *metric, double *lower, double *higher) {
    size_t n;
    double *v = sorted(f, metric, &n), part = NAN, low = NAN, high = NAN;
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
    *lower = low;
    *higher = high;
    return !isnan(high);
}

// Their distance.
double reading_two_heaps(const orr_findings *f, const rule *r, orr_text *why) {
    double low, high;
    char a[40], b[40];
    if (!heaps(f, r->metric, &low, &high)) return NAN;
    orr_text_add(why, "two heaps of %s, around %s and %s", r->metric, reading_number(a, low),
                 reading_number(b, high));
    return high - low;
}

// How many accesses a warp on every sub-core issues before it has to wait: the first that comes much later
// than the one before.
double reading_line_length(const orr_findings *f, const rule *r, orr_text *why) {
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
double reading_storage(const orr_findings *f, const rule *r, orr_text *why) {
    double kb = fits(f, r->metric, r->point, -1), own = orr_finding_value(f, "device.shared_reserved", NULL),
           blocks = orr_finding_value(f, "device.sm_blocks", NULL);
    char buf[40];
    if (isnan(kb) || isnan(own) || isnan(blocks)) return NAN;
    orr_text_add(why, "%s: fits at %s=%s; and device.shared_reserved of device.sm_blocks; in 32 KB",
                 r->metric, r->point, reading_number(buf, kb));
    return ceil((kb + own * blocks / 1024) / 32) * 32;
}

// ---- L2 in two halves -------------------------------------------------------------------------------
// An SM finds lines in the half it is connected to, which keeps copies of the other's: then a footprint of
// half of L2 is the largest that is answered at once.
static bool halves(const orr_findings *f) {
    double fit = fits(f, "l2.size", "mb", -1), bytes = orr_finding_value(f, "device.l2_size", NULL);
    return !isnan(fit) && !isnan(bytes) && fit < 0.6 * bytes / 1048576;
}

const char *reading_copies(const orr_findings *f) {
    double fit = fits(f, "l2.size", "mb", -1), bytes = orr_finding_value(f, "device.l2_size", NULL);
    return isnan(fit) || isnan(bytes) ? NULL : halves(f) ? "yes" : "no";
}

// A hit: of the least footprint, or where that was not measured, of all SMs.
double reading_l2_hit(const orr_findings *f, const rule *r, orr_text *why) {
    const orr_finding *x = first_point(f, "l2.size", "mb");
    double bytes = orr_finding_value(f, "device.l2_size", NULL);
    char buf[40];
    if (!x || !(orr_finding_at(x, "mb") <= bytes / 2 / 1048576)) return reading_mean(f, r, why);
    orr_text_add(why, "l2.size at %s = %s", x->point, reading_number(buf, x->value));
    return x->value;
}

// The other half, where there is one: atomics, each at a line that stays where it is, are answered as much
// later from there. Without such readings: memory behind it, where a refresh may be in the way, too.
static double to_other_half(const orr_findings *f, const char **metric, double *low, double *high) {
    static const char *const metrics[] = {"atomic.place", "dram.place"};
    for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
        *metric = metrics[k];
        if (heaps(f, *metric, low, high)) return *high - *low;
    }
    return NAN;
}

double reading_far(const orr_findings *f, const rule *r, orr_text *why) {
    const char *metric;
    double low = 0, high = 0, far = halves(f) ? to_other_half(f, &metric, &low, &high) : NAN;
    char a[40], b[40];
    if (!isnan(far))
        orr_text_add(why, "two heaps of %s, around %s and %s", metric, reading_number(a, low),
                     reading_number(b, high));
    (void)r;
    return far;
}

// How far the slices of the own half are apart: the distance of the readings' twentieths, as if all between
// the ends were alike often.
double reading_spread(const orr_findings *f, const rule *r, orr_text *why) {
    size_t n;
    double *v = sorted(f, r->metric, &n), apart = NAN;
    char a[40], b[40];
    if (n >= 2 * ENDS) {
        apart = (v[n - 1 - n / ENDS] - v[n / ENDS]) / (1 - 2.0 / ENDS);
        orr_text_add(why, "%zu readings of %s, nine of ten from %s to %s", n, r->metric,
                     reading_number(a, v[n / ENDS]), reading_number(b, v[n - 1 - n / ENDS]));
    }
    free(v);
    return apart;
}

// Memory: the largest footprint; of two halves, what is behind the own one, and half of the accesses are not.
double reading_memory(const orr_findings *f, const rule *r, orr_text *why) {
    const char *metric;
    double all = reading_last(f, r, why), low, high,
           far = halves(f) ? to_other_half(f, &metric, &low, &high) : NAN;
    char buf[40];
    if (isnan(all) || isnan(far)) return all;
    orr_text_add(why, ", less half of the way to the other half, %s", reading_number(buf, far / 2));
    return all - far / 2;
}

// Refresh, from single loads of lines that nobody has touched, each measured some times: how far the slowest
// and the fastest of a line are apart. A load that comes while its bank is being refreshed waits for what is
// left of it; lines of the other half come later, too, where a process has them there. The longest wait (but
// for a few accidents) is what a refresh takes; of loads one after the other so many wait as it takes of the
// time between two.
#define REFRESH_LOADS   64
#define REFRESH_REPEATS 3
#define ACCIDENTS       32 // one in so many
#define SHORT           8  // waits of less than that part of the longest are not told from other noise
static bool refresh(const orr_findings *f, double *takes, double *share, orr_text *why) {
    size_t n = 0, late = 0;
    double *apart = orr_calloc(f->rows.n + 1, sizeof *apart), low, high, times = 0, longest;
    char a[40];
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        if (strcmp(x->metric, "dram.place") != 0 || x->repeats < REFRESH_REPEATS) continue;
        apart[n++] = x->high - x->low;
        times += x->repeats;
    }
    qsort(apart, n, sizeof *apart, ascending);
    double far = n && halves(f) && heaps(f, "dram.place", &low, &high) ? high - low : 0;
    longest = n < REFRESH_LOADS ? 0 : apart[n - 1 - n / ACCIDENTS] - far;
    for (size_t k = 0; k < n; k++) late += apart[k] > far + longest / SHORT;
    free(apart);
    if (!(longest > far) || !late || late == n) return false; // none, or hidden by something else
    *takes = longest;
    *share = (1 - pow(1 - (double)late / (double)n, (double)n / times)) / (1 - 1.0 / SHORT);
    orr_text_add(why, "dram.place: repeats up to %s cycles apart", reading_number(a, longest + far));
    if (far > 0) orr_text_add(why, ", %s of them the other half", reading_number(a, far));
    orr_text_add(why, "; %s %% of loads wait", reading_number(a, *share * 100));
    return true;
}

// Stacked memory is refreshed as often as its standard says (JESD235, JESD238: every 3.9 us, twice as often
// where it is warm, as it is beside a GPU), so that the share tells what it takes. Of other memory the
// longest wait tells.
#define STACKED_BITS 1024
#define STACKED_NS   1950
static double every(const orr_findings *f, double takes, double share, orr_text *why) {
    double sm = orr_finding_value(f, "clock.sm", NULL);
    if (!(orr_finding_value(f, "device.memory_bus", NULL) > STACKED_BITS)) return takes / share / sm * 1000;
    orr_text_add(why, " of %d ns (JESD238, warm)", STACKED_NS);
    return STACKED_NS;
}

double reading_refresh(const orr_findings *f, const rule *r, orr_text *why) { // clocks of the memory
    double takes, share, khz = orr_finding_value(f, "device.memory_clock", NULL);
    (void)r;
    if (isnan(khz) || !refresh(f, &takes, &share, why)) return NAN;
    return every(f, takes, share, why) * share * khz / 1e6;
}

double reading_refresh_every(const orr_findings *f, const rule *r, orr_text *why) { // ns
    double takes, share;
    (void)r;
    return refresh(f, &takes, &share, why) ? every(f, takes, share, why) : NAN;
}

// How much of a line comes from memory at once: does a load find the sectors beside one that was loaded?
double reading_fetched(const orr_findings *f, const rule *r, orr_text *why) {
    double bytes = 32;
    char a[40], b[40];
    for (int d = 32; d <= 64; d *= 2) {
        snprintf(a, sizeof a, "first=0 d=%d", d);
        snprintf(b, sizeof b, "first=1 d=%d", d);
        double alone = orr_finding_value(f, r->metric, a), beside = orr_finding_value(f, r->metric, b),
               same = orr_finding_value(f, r->metric, "first=1 d=0");
        if (isnan(alone) || isnan(beside) || isnan(same)) return NAN;
        if (beside > (alone + same) / 2) break;
        bytes = 2 * d;
    }
    orr_text_add(why, "%s: a load beside one before", r->metric);
    return bytes;
}

// ---- caches of instructions -----------------------------------------------------------------------------
// Cycles of a line of 128 bytes, 8 instructions of 16, that runs straight on: from the second cache,
#define LINE_INSTRUCTIONS 8
double reading_line_second(const orr_findings *f, const rule *r, orr_text *why) {
    double one = fits(f, r->metric, r->point, -1),
           two = isnan(one) ? one : fits(f, r->metric, r->point, one * 1.5), sum = 0, n = 0;
    char buf[40];
    for (size_t k = 0; !isnan(two) && k < f->rows.n; k++) {
        double at = orr_finding_at(&f->rows.at[k], r->point);
        if (strcmp(f->rows.at[k].metric, r->metric) != 0 || !(at > one * 1.5 && at <= two)) continue;
        sum += f->rows.at[k].value;
        n++;
    }
    if (!n) return NAN;
    orr_text_add(why, "%s between the steps, %s x %d", r->metric, reading_number(buf, sum / n),
                 LINE_INSTRUCTIONS);
    return sum / n * LINE_INSTRUCTIONS;
}

// One reading as a multiple of another at the same point.
double reading_times(const orr_findings *f, const rule *r, orr_text *why) {
    double cas = orr_finding_value(f, "shared.atom_cas", r->point),
           add = orr_finding_value(f, r->metric, r->point);
    char a[40], b[40];
    if (isnan(cas) || !(add > 0)) return NAN;
    orr_text_add(why, "shared.atom_cas = %s of %s = %s at %s", reading_number(a, cas), r->metric,
                 reading_number(b, add), r->point);
    return cas / add;
}

// One reading beyond another, which `point` names.
double reading_beyond(const orr_findings *f, const rule *r, orr_text *why) {
    double v = orr_finding_value(f, r->metric, NULL), less = orr_finding_value(f, r->point, NULL);
    char a[40], b[40];
    if (isnan(v) || isnan(less)) return NAN;
    orr_text_add(why, "%s = %s, less %s = %s", r->metric, reading_number(a, v), r->point,
                 reading_number(b, less));
    return (v - less) * r->scale + r->offset;
}

// Bytes a cycle: so many more (scale) take as much longer as one reading is beyond another.
double reading_width(const orr_findings *f, const rule *r, orr_text *why) {
    rule plain = *r;
    plain.scale = 1;
    double longer = reading_beyond(f, &plain, why);
    return longer > 0 ? r->scale / longer : NAN;
}

// What a load takes more for each further word of a bank of L1: lanes in lines of their own, all words on one
// bank, or each on another.
double reading_bank(const orr_findings *f, const rule *r, orr_text *why) {
    double one = orr_finding_value(f, r->metric, "stride=32"),
           all = orr_finding_value(f, r->metric, "stride=33");
    char a[40], b[40];
    if (isnan(one) || isnan(all)) return NAN;
    orr_text_add(why, "%s at stride=32 = %s against %s at stride=33, of 31 more words on a bank", r->metric,
                 reading_number(a, one), reading_number(b, all));
    return (one - all) / 31;
}

// What a load of constants takes more for each of its 32 words that its cache does not have.
double reading_constant_misses(const orr_findings *f, const rule *r, orr_text *why) {
    double miss = orr_finding_value(f, r->metric, r->point),
           hit = orr_finding_value(f, r->metric, "words=32 step=16");
    char a[40], b[40];
    if (isnan(miss) || isnan(hit)) return NAN;
    orr_text_add(why, "%s at %s = %s against %s at step=16, of 32 words", r->metric, r->point,
                 reading_number(a, miss), reading_number(b, hit));
    return (miss - hit) / 32;
}

// The median of all points.
double reading_median(const orr_findings *f, const rule *r, orr_text *why) {
    size_t n;
    double *v = sorted(f, r->metric, &n), median = NAN;
    char buf[40];
    if (n) {
        median = reading_middle(v, n);
        orr_text_add(why, "the median of %zu readings of %s, %s", n, r->metric, reading_number(buf, median));
        scaled(why, r);
    }
    free(v);
    return median * r->scale + r->offset;
}

// ---- ports ----------------------------------------------------------------------------------------------
#define HEAD 8.0 // bytes of a request or an answer beside its data
#define LINE 128.0

// What a load's request takes of the port that stores go through: an SM that copies sends a request and a
// line for each line it reads, in so many cycles more than for a line alone.
double reading_ask(const orr_findings *f, const rule *r, orr_text *why) {
    double write = orr_finding_value(f, "sm.write", NULL), copy = orr_finding_value(f, r->metric, NULL);
    char a[40], b[40];
    if (!(write > 0) || !(copy > 0)) return NAN;
    orr_text_add(why, "%s = %s against sm.write = %s", r->metric, reading_number(a, copy),
                 reading_number(b, write));
    double port = write * (LINE + HEAD) / LINE;
    return fmax(HEAD, 2 * LINE / copy * port - (LINE + HEAD));
}

// What a store of part of a sector takes along: lanes in a line each, 32 requests of a head, a sector and
// that.
double reading_mask(const orr_findings *f, const rule *r, orr_text *why) {
    double write = orr_finding_value(f, "sm.write", NULL), cycles = orr_finding_value(f, r->metric, r->point);
    char buf[40];
    if (!(write > 0) || !(cycles > 0)) return NAN;
    orr_text_add(why, "%s at %s = %s, less a head and a sector", r->metric, r->point,
                 reading_number(buf, cycles));
    return fmax(0, cycles / 32 * write * (LINE + HEAD) / LINE - HEAD - 32);
}

// What an atomic takes more than a load that hits L2; 4 are the address's, 46 those of 32 lanes in four
// sectors (the packet, the slice, the answer). One line is measured: one that is further away than the other
// half is was there.
double reading_atomic(const orr_findings *f, const rule *r, orr_text *why) {
    orr_text none = {0};
    const rule hit = {.metric = "l2.from_sm", .scale = 1};
    double v = orr_finding_value(f, r->metric, NULL), l2 = reading_l2_hit(f, &hit, &none);
    char buf[40];
    if (!isnan(v) && !isnan(l2))
        orr_text_add(why, "%s = %s, less %s", r->metric, reading_number(buf, v), none.s ? none.s : "");
    free(none.s);
    const char *metric;
    double more = v - l2 - 50, low, high, far = halves(f) ? to_other_half(f, &metric, &low, &high) : NAN;
    if (more > far - 50) { // the slices are not all alike far
        orr_text_add(why, " and the way to the other half, %s", reading_number(buf, far));
        more -= far;
    }
    return isnan(more) ? more : fmax(0, more);
}
