// What the cycle model counts of a launch, as it counts it: counters.c turns it into the named counters.
#ifndef ORR_CYCLE_RAW_H
#define ORR_CYCLE_RAW_H

#include "core/constants.h"
#include "core/fetch.h"
#include "core/l1.h"
#include "core/port.h"
#include "core/shared.h"
#include "core/texture.h"
#include "core/tma.h"
#include "memory/memsys.h"
#include "model/model.h"

// Of an SM, or summed over SMs: what its components count, and what none of them does. All of it is uint64_t,
// so that it can be summed as an array.
typedef struct orr_sm_counts {
    uint64_t issued; // issue slots used; dual issue counts each
    uint64_t thread_insts;
    uint64_t dual; // instructions issued together with another
    uint64_t barriers, branches;
    uint64_t blocks, warps;           // that ran
    uint64_t cluster_accesses;        // of other thread blocks' shared memory
    orr_traffic global[ORR_L1_KINDS]; // as instructions ask, before L1 sends atomics in parts
    fetch_counters fetch;
    constants_counters constants;
    port_counters port;
    l1_counters l1;
    shared_counters shared;
    texture_counters texture;
    tma_counters tma;
} orr_sm_counts;

typedef struct orr_raw {
    orr_sm_counts sm;
    orr_memsys_stats mem;
    double seconds; // of the launch, at the SMs' clock
} orr_raw;

// The named counters (counters.c): those of a launch, and those that are made of others (averages,
// percentages, rates) again after launches' counters have been added up.
void orr_cycle_counters(const orr_gpu *g, const orr_launch_result *l, double counters[ORR_COUNTERS]);
// Requests, sectors, hits and misses of L1 and passes of shared memory, which other models count as well.
void orr_l1_counters(const orr_sm_counts *s, double counters[ORR_COUNTERS]);
void orr_cycle_rates(const orr_gpu *g, double counters[ORR_COUNTERS]);

#endif
