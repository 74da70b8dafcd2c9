// Results for people (text) and for programs (JSON, docs/how/design.md section 6,
// docs/reference/counters.md).
#ifndef ORR_REPORT_H
#define ORR_REPORT_H

#include "model/cycle/raw.h"
#include "model/model.h"

typedef struct orr_report_options {
    bool lines;  // per source line
    bool colour; // headings in bold
    bool host;   // how long it took on the host (text; JSON always says)
    bool page;   // JSON for run.html: source files, and of each kernel only the longest launch in full
} orr_report_options;

void orr_result_text(const orr_result *r, const orr_report_options *o, orr_text *out);
void orr_result_json(const orr_result *r, const orr_report_options *o, orr_text *out);
// "sources": {...}, as orr_result_json has them, of a report without: those of the n source files that are
// there under their names, or beside the file `beside`.
void orr_report_sources(const char *const *names, size_t n, const char *beside, orr_text *out);
// Under the names that GPGPU-Sim and Accel-Sim print. False: a launch has no timing.
bool orr_result_accelsim(const orr_result *r, orr_text *out, orr_err *e);
// docs/reference/counters.md's table: every counter, its unit and meaning.
void orr_report_counters(orr_text *out);
// A trace in Chrome's event format, which Perfetto reads: thread blocks on SMs, and what went on over time.
// Of launches that have a timing; written whole or not at all.
bool orr_result_timeline(const orr_result *r, const char *path, orr_err *e);

// ---- sums that both print (sums.c) ------------------------------------------------------------
typedef struct orr_mix { // instructions of one kind
    char name[32];
    uint64_t warp, thread;
} orr_mix;

typedef struct orr_line_sum {
    const char *file; // NULL: `line` is one of the PTX
    uint32_t line;
    uint64_t warp, thread, requests, sectors, sector_requests, conflicts, branches, divergent;
    double cycles; // of warps
} orr_line_sum;

enum orr_mem_kind { ORR_MEM_LD, ORR_MEM_ST, ORR_MEM_ATOM, ORR_MEM_KINDS };
extern const char *const orr_mem_kind_name[ORR_MEM_KINDS];

typedef struct orr_mem_sum {
    uint64_t requests, lanes, bytes, sectors, lines, ideal, phases, passes;
} orr_mem_sum;

typedef struct orr_sums { // of a profile
    uint64_t warp, thread;
    double cycles;                      // of warps; 0: nobody knows
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

// ---- what bounds a launch (verdict.c) ---------------------------------------------------------
enum orr_bound {
    ORR_BOUND_NONE,        // nothing ran
    ORR_BOUND_COMPUTE,     // a pipe, or the issue of instructions
    ORR_BOUND_DRAM,        // bandwidth of memory,
    ORR_BOUND_L2,          // of L2,
    ORR_BOUND_CROSSBAR,    // of the network between SMs and L2,
    ORR_BOUND_L1,          // of L1 and the load/store unit,
    ORR_BOUND_SHARED,      // of shared memory
    ORR_BOUND_ATOMICS,     // the units for atomics of an L2 slice: they meet in few words
    ORR_BOUND_LATENCY,     // nothing is busy: warps wait, and there are too few to cover for each other
    ORR_BOUND_BARRIER,     // the same, and what they wait for is each other
    ORR_BOUND_PARALLELISM, // SMs without work: too few blocks, or a long tail
    ORR_BOUND_LAUNCH, // most of the time no block had started yet, or blocks end faster than others start
    ORR_BOUNDS
};
extern const char *const orr_bound_name[ORR_BOUNDS]; // "none", "compute", "dram", ...

typedef struct orr_use { // how much of a resource was used while blocks ran
    const char *name;    // "issue", a unit's name, "shared", "L1", "crossbar", "L2", "L2 slice" (the
                         // busiest, if it stands out), "L2 atomics" (the busiest unit), "DRAM", "DRAM rows"
    enum orr_bound bound;
    double percent;    // of the peak
    double rate, peak; // NAN: only the percentage is known
    const char *unit;  // of both
} orr_use;
#define ORR_USES_MAX (ORR_GPU_UNITS_MAX + 11)
// In the order above; units that did nothing are left out. Returns how many.
int orr_uses(const orr_gpu *g, const orr_launch_result *l, orr_use use[ORR_USES_MAX]);

typedef struct orr_verdict {
    enum orr_bound bound;
    char resource[ORR_GPU_NAME_MAX]; // the most used one
    double percent;                  // of its peak
    int stall;            // enum orr_stall: what warps waited for most, issuing and not being chosen left out
    double stall_percent; // of warp cycles
    double active_percent;   // SM cycles with a block, of all while blocks ran
    double overhead_percent; // cycles before the first block, of all
    char text[900];          // some sentences for people
    char rests_on[300];      // keys behind it that are assumed or inherited, "l2.atomic_float (assumed), ..."
} orr_verdict;
// False: the launch has no timing.
bool orr_judge(const orr_gpu *g, const orr_launch_result *l, orr_verdict *v);
// Keys of the description that a resource's peak, or else the latency that warps wait for, comes from, as far
// as they are assumed or inherited (rests.c). "" when none is.
void orr_rests_on(const orr_gpu *g, const char *resource, int stall, char *to, size_t n);

// ---- where a kernel's time went (cost.c) --------------------------------------------------------
typedef struct orr_place_cost { // an instruction, or a source line
    const char *file;           // NULL: `line` is one of the PTX
    uint32_t line;
    uint32_t pc;                 // instruction
    const char *name;            // instruction; NULL: a line
    const struct orr_code *code; // of machine code; NULL: there is only the name
    uint16_t live;               // instruction: vector registers that hold a value somebody needs
    uint64_t issued, threads;
    uint64_t cycles; // warp cycles == sum of stalls
    uint64_t stalls[ORR_STALLS];
    uint64_t tail; // cycles after the last block that L2 worked on what it sent
    double share;  // percent of the time: of warp cycles while blocks ran, and of its tail; adds up to 100
    orr_traffic traffic;
} orr_place_cost;

typedef struct orr_cost { // all launches of a kernel together
    const orr_gpu *gpu;
    const orr_launch_result *first;
    uint32_t launches;
    bool same;             // they have one shape
    orr_launch_result sum; // blocks: of an average launch. timing and counters are:
    orr_timing timing;     // without samples and spans
    orr_raw raw;
    double counters[ORR_COUNTERS];
    orr_place_cost *insts, *lines; // most warp cycles first; none unless asked for
    size_t ninsts, nlines;
} orr_cost;

typedef ORR_VEC(orr_cost *) orr_costs; // in order of first launch
// Launches without a timing are left out. Free with orr_costs_free.
void orr_costs_make(const orr_result *r, bool by_place, orr_costs *all);
void orr_costs_free(orr_costs *all);
// The GPU that the launches were timed on; NULL: none has a timing.
const orr_gpu *orr_result_gpu(const orr_result *r);

#endif
