// What launches took by what the program called the parts of its work (NVTX ranges), and by kernel. Private
// to report/.
#ifndef ORR_REPORT_RANGES_H
#define ORR_REPORT_RANGES_H

#include "report/page.h"

typedef struct range_sum {
    const char *path; // "step/layer 3"; of a kernel its name
    uint32_t depth;   // ranges before the last of its path
    uint64_t launches, warp_insts;
    double cycles, time_ns; // NAN: no model said
} range_sum;

typedef struct range_sums {
    ORR_VEC(range_sum) at; // a range before those in it, otherwise in order of the first launch
    ORR_VEC(range_sum) kernels;
    uint64_t warp_insts;
    double time_ns; // of all launches
    orr_arena arena;
} range_sums;
// Every range has the sum of what is in it. False: no launch has a range, and there is nothing to free.
bool range_sums_make(const orr_result *r, range_sums *s);
void range_sums_free(range_sums *s);

void page_ranges(const page *p, const orr_result *r); // nothing, when there is none
void json_ranges(orr_text *t, const orr_result *r);   // "ranges": [...] and a comma, or nothing

#endif
