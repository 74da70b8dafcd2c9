// Hopper's asynchronous units in the abstract model: mbarriers, bulk copies (TMA), products of groups of
// warps (WGMMA), registers that warps give to each other, clusters of thread blocks.
//
// Method. As with loads, when a line is there is known when it is asked for. A bulk load sends its lines to
// L2 (lines.c) at the cycle model's intervals, as the SM's time goes on; when the last has left it is known
// when all are there, and the arrival at the mbarrier is noted with that time. A wait needs so many
// operations on its mbarrier (the stream says how many); if they have been noted it goes on at the time of
// the last of them, else the warp is put aside (WAITS) until another warp, of this SM or of another one of
// the cluster, makes it. Products are the component of the cycle model (core/products.h).
//
// Invariants: the operations of a phase are noted before any of the next one; a warp is put aside exactly
// while async_warp.open is not 0, or while it waits at a barrier or for registers.
#ifndef ORR_ABSTRACT_ASYNC_H
#define ORR_ABSTRACT_ASYNC_H

#include "core/products.h"
#include "core/tma.h"
#include "model/cluster.h"

#define ASYNC_OPS 32 // operations on an mbarrier whose times are kept

typedef struct async_mbar {
    uint64_t at; // offset in shared memory
    uint32_t n;  // operations of lanes
    uint32_t next;
    struct { // a ring of the last ones: after so many operations, when the latest of them began
        uint32_t n;
        uint64_t made;
    } op[ASYNC_OPS];
} async_mbar;

typedef struct async_wait { // for an mbarrier
    uint32_t warp, mbar, operations;
} async_wait;

typedef struct async_place {
    uint32_t core, slot;
} async_place;

typedef struct async_block { // of a thread block
    ORR_VEC(async_mbar) mbars;
    ORR_VEC(async_wait) waits;
    int32_t given_up[MAX_SCHED]; // by sub-core: registers of a thread that warps have given up
    uint32_t rank, size;         // in its cluster, of so many
    async_place peers[ORR_CLUSTER_MOST];
    // The cluster's barrier, as this block sees it:
    uint32_t arrived_warps, arrived_blocks; // in this phase
    uint32_t ended_blocks, phases;          // so far
    uint32_t waiting_warps;
    uint64_t last_arrival; // when the last warp of this block arrived
    uint64_t known_at;     // when the last block's arrival is known here
    uint64_t phase_end;    // when the last phase was over
} async_block;

typedef struct async_copy { // a bulk load whose requests have not all left
    tma_copy copy;
    uint64_t last; // when those that have are answered
} async_copy;

typedef struct async_core { // of an SM
    product_units products;
    tma_maps maps;
    ORR_VEC(async_copy) queue; // bulk loads, from `first` on
    size_t first;
    double next, out;  // cycle of the next request of bulk loads; of stores
    uint64_t *answers; // a ring of tma.requests: when the last requests are answered
    uint64_t asked;
    uint64_t loads_done; // when all bulk loads so far are there
    double network;      // cycle until which the network between SMs takes what this one has sent
} async_core;

typedef struct async_warp {
    uint64_t copied;      // when all its asynchronous copies so far are there
    uint64_t read;        // when all that its bulk stores take has been read
    uint64_t remote_done; // when what it has done to other blocks' shared memory is known to be done
    uint64_t earliest;    // it goes on then at the earliest, when nothing is left that it waits for
    uint64_t first_try;   // when it first asked for registers that are not there
    int32_t wanted;       //   and how many for a thread; 0: none are missing
    uint32_t try_inst;    //   the instruction
    uint32_t open;        // mbarriers that it waits for
    uint32_t phase;       // of the cluster's barrier that it has arrived at
    uint16_t latency;     // of the wait
} async_warp;

#endif
