// The formulas for asynchronous units of sm_90a, whose readings are of micro/async: products of groups of
// warps, bulk copies, clusters.
//
// What other instructions of a kernel take between its two clocks is taken off: their stall counts and
// latencies in async.cubin, which is what a simulation with the value itself at 0 has left.
#include "lab/readings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double at(const orr_findings *f, const char *metric, const char *point, orr_text *why) {
    double v = orr_finding_value(f, metric, point);
    char buf[40];
    if (!isnan(v))
        orr_text_add(why, "%s%s at %s = %s", why->n ? ", " : "", metric, point, reading_number(buf, v));
    return v;
}

// So many of something in the cycles of a reading: `scale` is how many.
double reading_rate(const orr_findings *f, const rule *r, orr_text *why) {
    double v = orr_finding_value(f, r->metric, r->point);
    char a[40], b[40];
    if (!(v > 0)) return NAN;
    orr_text_add(why, "%s in %s at %s = %s", reading_number(a, r->scale), r->metric, r->point,
                 reading_number(b, v));
    return r->scale / v;
}

// ---- products of groups of warps ----------------------------------------------------------------------
// A large product takes a cycle for so many columns.
double reading_columns(const orr_findings *f, const rule *r, orr_text *why) {
    double few = at(f, r->metric, "n=128 groups=1", why), many = at(f, r->metric, "n=256 groups=1", why);
    return many > few ? 128 / (many - few) : NAN;
}

// Narrow ones of two groups are as long as their factors are read: so many columns of B a cycle,
double reading_fetch_columns(const orr_findings *f, const rule *r, orr_text *why) {
    double few = at(f, r->metric, "n=16 groups=2", why), many = at(f, r->metric, "n=32 groups=2", why);
    return many > few ? 2 * 16 / (many - few) : NAN;
}

// and A besides.
double reading_fetch(const orr_findings *f, const rule *r, orr_text *why) {
    double columns = reading_fetch_columns(f, r, why), few = at(f, r->metric, "n=16 groups=2", why);
    return few / 2 - 16 / columns;
}

// From the end of a product until its warp goes on: one that was issued in an empty unit.
double reading_group_latency(const orr_findings *f, const rule *r, orr_text *why) {
    double issued = at(f, "group.issued", r->point, why), done = at(f, "group.done", r->point, why),
           each = at(f, r->metric, "n=256 groups=1", why);
    return done - issued - each + r->offset;
}

// Products that are unfinished when one more has been issued, of many. Those that are nearly done count.
#define NEARLY 0.05
double reading_group_queue(const orr_findings *f, const rule *r, orr_text *why) {
    double issued = at(f, "group.issued", r->point, why), done = at(f, "group.done", r->point, why),
           each = at(f, r->metric, "n=256 groups=1", why);
    return each > 0 ? ceil((done - issued) / each - NEARLY) : NAN;
}

// How much longer an instruction keeps its unit beside products: two warps of each sub-core, in turn.
double reading_beside(const orr_findings *f, const rule *r, orr_text *why) {
    double alone = at(f, r->metric, "products=0", why), beside = at(f, r->metric, "products=256", why);
    return beside >= alone ? (beside - alone) / 2 : NAN;
}

// ---- bulk copies ----------------------------------------------------------------------------------------
// A load of 1 KB takes what L2 takes, the unit's latency, and so much of other instructions (offset).
double reading_bulk_latency(const orr_findings *f, const rule *r, orr_text *why) {
    orr_text none = {0};
    const rule hit = {.metric = "l2.from_sm", .scale = 1};
    double v = at(f, r->metric, r->point, why), l2 = reading_l2_hit(f, &hit, &none);
    if (!isnan(v) && !isnan(l2)) orr_text_add(why, ", less %s and %g", none.s ? none.s : "", -r->offset);
    free(none.s);
    return v - l2 + r->offset;
}

// A further line of 128 B of one copy.
double reading_bulk_line(const orr_findings *f, const rule *r, orr_text *why) {
    double few = at(f, r->metric, "bytes=8192 copies=1 blocks=1", why),
           many = at(f, r->metric, "bytes=32768 copies=1 blocks=1", why);
    return (many - few) / ((32768 - 8192) / 128);
}

// What a store takes besides its bytes, as one of 8 KB shows them.
double reading_bulk_store(const orr_findings *f, const rule *r, orr_text *why) {
    double few = at(f, r->metric, "bytes=1024", why), many = at(f, r->metric, "bytes=8192", why);
    return few - (many - few) / 7 + r->offset;
}

// The first copy by a tensor map, and the next.
double reading_map(const orr_findings *f, const rule *r, orr_text *why) {
    double first = at(f, "tile.first", "", why), second = at(f, "tile.second", "", why);
    return first - second + r->offset;
}

// Bytes a cycle of each SM while all of them copy: the point with the most blocks.
double reading_bulk_rate(const orr_findings *f, const rule *r, orr_text *why) {
    const orr_finding *most = NULL;
    char buf[40];
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        if (!strcmp(x->metric, r->metric) &&
            (!most || orr_finding_at(x, "blocks") > orr_finding_at(most, "blocks")))
            most = x;
    }
    if (!most || !(orr_finding_at(most, "blocks") > 1)) return NAN;
    orr_text_add(why, "%s at %s = %s", r->metric, most->point, reading_number(buf, most->value));
    return orr_finding_at(most, "bytes") * orr_finding_at(most, "copies") / most->value;
}

// ---- registers --------------------------------------------------------------------------------------------
// Who asks tries again and again: the moment in which registers are given up falls anywhere between two
// tries, and n of them are spread over n - 1 of n + 1 parts of that time.
double reading_retry(const orr_findings *f, const rule *r, orr_text *why) {
    double least = INFINITY, most = -INFINITY, n = 0;
    char a[40], b[40];
    for (size_t k = 0; k < f->rows.n; k++) {
        const orr_finding *x = &f->rows.at[k];
        if (strcmp(x->metric, r->metric) != 0) continue;
        least = fmin(least, x->value);
        most = fmax(most, x->value);
        n++;
    }
    if (n < 8) return NAN;
    orr_text_add(why, "%g readings of %s, from %s to %s", n, r->metric, reading_number(a, least),
                 reading_number(b, most));
    return (most - least) * (n + 1) / (n - 1);
}
