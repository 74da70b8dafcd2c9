// Fetching instructions: a small cache of each scheduler (L0), one of the SM (L1), then L2.
//
// A warp asks when it enters another line of code. A line that misses is there after the next level's
// latency, and with it come the lines behind it (icache.prefetch), so that straight code waits once; then it
// runs as fast as lines follow each other (icache.l1_interval, icache.l2_interval). Code is the same for all
// SMs and small, so the way to L2 is no traffic.
//
// With profiler.warm_code the SM's cache is filled with the kernel's code when the kernel starts: it is there
// launch.code_latency after a warp has asked for the first line. At most half of the SM's cache is filled so.
// Lines behind that come when they are asked for, the first time from memory where the caches were flushed
// (l2.flush), else from L2.
//
// Invariants: lines are numbered from 1; `when` of a line that a cache holds is the cycle from which it can
// be used; a line that a warp waits for passes those that are prefetched, which come one behind the other.
//
// The component knows no neighbour: warps give it the line that they are in and get back a cycle.
#ifndef ORR_CORE_FETCH_H
#define ORR_CORE_FETCH_H

#include "core/core.h"
#include "memory/cache.h"

#define FETCH_SEEN 4096

typedef struct fetch_spec {
    bool perfect;              // nothing ever waits for code (icache.perfect)
    uint32_t line;             // bytes,
    uint32_t shift;            // log2 of that; 0: it is no power of two
    uint64_t l0_size, l1_size; // bytes; no L0: 0
    bool flushed;              // L2 has no code when a kernel starts (l2.flush)
    uint64_t latency;          // from L1 to L0
    uint64_t l2_latency;       // from L2 to L1
    uint64_t memory_latency;   // from memory to L1
    uint64_t first_line;       // until warm code is there (launch.code_latency)
    uint64_t l0_interval;      // between two lines that come from L1
    uint64_t l1_interval;      // between two that come from L2
    uint64_t prefetch;         // lines behind one that misses in L0,
    uint64_t l1_prefetch;      // lines behind one that misses in L1
} fetch_spec;

typedef struct fetch_code { // the program of a launch
    uint64_t lines;
    bool fits;     // into L0, and does not grow
    uint64_t warm; // lines that are in L1 from the start, or come there by themselves
} fetch_code;

typedef struct fetch_delays { // SMs of a GPC that ask for the same code wait for each other
    uint64_t first;           // the first line of a launch comes so much later
    uint64_t each;            // every further line comes so much later
    uint64_t interval;        // between two lines that come from L1
} fetch_delays;

typedef struct fetch_l0 { // of a scheduler
    orr_cache tags;
    uint64_t *when; // by place in the cache, or by line where all of the code fits
    uint64_t last;  // when the last line comes that it has asked for
} fetch_l0;

typedef struct fetch_counters {
    uint64_t fetches, l0_misses, l1_misses;
    uint64_t cold; // lines behind the warm ones that came for the first time
} fetch_counters;

typedef struct fetch_unit { // of an SM
    const fetch_spec *spec;
    const fetch_code *code;
    fetch_delays delays;
    uint32_t nsched;
    fetch_l0 *l0; // [nsched]
    orr_cache l1;
    uint64_t *l1_when;
    uint64_t l1_last;
    uint64_t seen[FETCH_SEEN / 64]; // bits of lines that have been in L1; those that far apart share one
    uint64_t warm_from;             // when warm code comes, + 1; 0: not asked for
    fetch_counters n;
} fetch_unit;

void fetch_spec_read(fetch_spec *s, const orr_gpu *g);
void fetch_init(fetch_unit *f, const fetch_spec *s, const fetch_code *code, uint32_t nsched);
void fetch_free(fetch_unit *f);
void fetch_reset(fetch_unit *f); // the caches are empty, as at the beginning of a launch
// Lines of code that count as warm at most (profiler.warm_code).
static inline uint64_t fetch_warm_lines(const fetch_spec *s) { return s->l1_size / s->line / 2; }

// A warp of the scheduler enters another line.
uint64_t fetch_enter_line(fetch_unit *f, uint32_t sched, uint64_t *last, uint64_t line, uint64_t now);
// A warp of the scheduler comes to the instruction at `pc`. `line`: the one it fetched last, 0: none; it is
// set. Returns when the instruction is there, 0: it is.
static inline uint64_t fetch_instruction(fetch_unit *f, uint32_t sched, uint64_t *line, uint32_t pc,
                                         uint64_t now) {
    const fetch_spec *s = f->spec;
    uint64_t next = (s->shift ? pc >> s->shift : pc / s->line) + 1;
    return *line == next ? 0 : fetch_enter_line(f, sched, line, next, now);
}

#endif
