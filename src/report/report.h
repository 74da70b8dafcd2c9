// Results for people (text) and for programs (JSON, docs/design.md section 4).
#ifndef ORR_REPORT_H
#define ORR_REPORT_H

#include "model/model.h"

typedef struct orr_report_options {
    bool lines;  // per source line
    bool colour; // headings in bold
    bool host;   // how long it took on the host (text; JSON always says)
} orr_report_options;

void orr_report_text(const orr_result *r, const orr_report_options *o, orr_text *out);
void orr_report_json(const orr_result *r, const orr_report_options *o, orr_text *out);
// docs/counters.md's table: every counter, its unit and meaning.
void orr_report_counters(orr_text *out);

// ---- sums that both print (sums.c) ------------------------------------------------------------
typedef struct orr_mix { // instructions of one kind
    char name[32];
    uint64_t warp, thread;
} orr_mix;

typedef struct orr_line_sum {
    const char *file; // NULL: `line` is one of the PTX
    uint32_t line;
    uint64_t warp, thread, requests, sectors, sector_requests, conflicts, branches, divergent;
} orr_line_sum;

enum orr_mem_kind { ORR_MEM_LD, ORR_MEM_ST, ORR_MEM_ATOM, ORR_MEM_KINDS };
extern const char *const orr_mem_kind_name[ORR_MEM_KINDS];

typedef struct orr_mem_sum {
    uint64_t requests, lanes, bytes, sectors, lines, ideal, phases, passes;
} orr_mem_sum;

typedef struct orr_sums { // of a profile
    uint64_t warp, thread;
    uint64_t active[ORR_ACTIVE_RANGES]; // warp instructions by active lanes
    uint64_t branches, divergent, barriers, warp_syncs, fences, calls, atomics;
    uint64_t unit_warp[ORR_UNIT_COUNT], unit_thread[ORR_UNIT_COUNT];
    ORR_VEC(orr_mix) ops; // most frequent first
    orr_mem_sum mem[ORR_SPACE_COUNT][ORR_MEM_KINDS];
    ORR_VEC(orr_line_sum) lines; // most warp instructions first
} orr_sums;
void orr_sums_make(const orr_profile *p, orr_sums *s);
void orr_sums_free(orr_sums *s);
extern const char *const orr_active_name[ORR_ACTIVE_RANGES]; // "1-8", ...

#endif
