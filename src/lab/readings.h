// How a value is made of what microbenchmarks found: the formulas of the tuner's rules (tune.c).
#ifndef ORR_READINGS_H
#define ORR_READINGS_H

#include "lab/lab.h"

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

#define SUBCORES 4 // of an SM

formula reading_direct, reading_largest, reading_mean, reading_median, reading_last, reading_pace,
    reading_knee, reading_second_knee, reading_lanes, reading_bus_bandwidth, reading_efficiency,
    reading_channels, reading_without_compare, reading_two_heaps, reading_line_length, reading_storage,
    reading_l2_hit, reading_far, reading_memory, reading_refresh, reading_refresh_every, reading_fetched,
    reading_line_second, reading_times, reading_ask, reading_mask, reading_atomic, reading_constant_misses,
    reading_spread, reading_bank, reading_beyond, reading_width;
// readings_async.c
formula reading_rate, reading_columns, reading_fetch_columns, reading_fetch, reading_group_latency,
    reading_group_queue, reading_beside, reading_bulk_latency, reading_bulk_line, reading_bulk_store,
    reading_map, reading_bulk_rate, reading_retry;
double reading_middle(double *v, size_t n); // the median; v is sorted
const char *reading_number(char buf[40], double v);
const char *reading_memory_kind(const orr_findings *f);
const char *reading_copies(const orr_findings *f); // "yes", "no"; NULL: not known

#endif
