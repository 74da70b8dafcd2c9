// What the cycle model counts of a launch, as it counts it: counters.c turns it into the named counters.
#ifndef ORR_CYCLE_RAW_H
#define ORR_CYCLE_RAW_H

#include "core/kinds.h"
#include "memory/memsys.h"
#include "model/model.h"

typedef struct orr_sm_counts { // summed over SMs
    // instructions
    uint64_t issued; // issue slots used; dual issue counts each
    uint64_t thread_insts;
    uint64_t dual; // instructions issued together with another
    // L1, by what it is asked for: [0] global, [1] local
    uint64_t l1_requests[2][ORR_L1_KINDS];
    uint64_t l1_sectors[2][ORR_L1_KINDS];
    uint64_t l1_hit[2][ORR_L1_KINDS];     // sectors that were there
    uint64_t l1_pending[2][ORR_L1_KINDS]; // sectors that were already on their way
    uint64_t l1_miss[2][ORR_L1_KINDS];    // sectors that were asked for
    orr_traffic global[ORR_L1_KINDS];     // as instructions ask, before L1 sends atomics in parts
    uint64_t l1_tags;                     // lines looked up
    uint64_t l1_conflicts;                // cycles an access took because sectors shared a bank
    uint64_t l1_busy;                     // cycles
    uint64_t l1_full;                     // cycles the queue waited for a miss to come back
    uint64_t l1_evicted;                  // lines
    // shared memory
    uint64_t shared_requests[ORR_L1_KINDS], shared_passes[ORR_L1_KINDS], shared_conflicts[ORR_L1_KINDS];
    uint64_t shared_busy; // cycles
    // constants and code
    uint64_t const_requests, const_miss, const_miss2;
    uint64_t icache_l0_miss, icache_l1_miss, icache_fetches, icache_cold;
    // network
    uint64_t sent_bytes, received_bytes;
    uint64_t barriers, branches;
    uint64_t blocks, warps; // that ran
    uint64_t load_latency;  // cycles from issue to use, summed over loads from global and local memory
    uint64_t loads;
    // Hopper's asynchronous units
    uint64_t tma_sectors, tma_bytes, cluster_accesses;
    uint64_t texture_reads, texture_requests, texture_sectors;
    uint64_t tma_kind[TMA_KINDS]; // sectors by what the copies do
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
