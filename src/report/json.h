// What the JSON reports share (private to report/): a number, a field, a string.
#ifndef ORR_REPORT_JSON_H
#define ORR_REPORT_JSON_H

#include "report/report.h"

#include <math.h>

static inline void json_number(orr_text *t, double v) {
    if (isnan(v) || isinf(v))
        orr_text_add(t, "null");
    else if (v == floor(v) && fabs(v) < 9e15)
        orr_text_add(t, "%.0f", v);
    else
        orr_text_add(t, "%.15g", v);
}

static inline void json_field(orr_text *t, const char *name, double v) {
    orr_text_add(t, "\"%s\": ", name);
    json_number(t, v);
}

static inline void json_ratio(orr_text *t, const char *name, uint64_t a, uint64_t b) {
    json_field(t, name, b ? (double)a / (double)b : (double)NAN);
}

static inline void json_string(orr_text *t, const char *name, const char *s) {
    orr_text_add(t, "\"%s\": ", name);
    if (s)
        orr_text_json(t, s);
    else
        orr_text_add(t, "null");
}

static inline void json_count(orr_text *t, const char *name, uint64_t v) {
    orr_text_add(t, "\"%s\": %llu", name, (unsigned long long)v);
}

// "kernel": its name in the code and, where that is mangled, "demangled": as people write it (json.c).
void json_kernel_name(orr_text *t, const orr_kernel *k);
// {"gpc__cycles_elapsed.max": 116063, ...}: those that are counted (json.c).
void json_readings(orr_text *t, const orr_result *r); // nothing where there are none (readings.c)
void json_counters(orr_text *t, const double *counters, const char *indent);

// What a model of time adds to a launch, behind a comma, and its kernels (timing_json.c).
void json_stalls(orr_text *t, const uint64_t stalls[ORR_STALLS]); // "stalls": {...}
void json_timing(orr_text *t, const orr_launch_result *l);
void json_costs(orr_text *t, const orr_result *r, const orr_report_options *o);

#endif
