// Thread block clusters, as far as all models with time have the same rules: how many blocks they have, which
// SMs they are placed on, whose shared memory an address is in, and what an access of another block's costs.
//
// Method. A model keeps how many thread blocks each SM has and asks to have clusters placed while there is
// room; each placed cluster is named to it as a list of SMs, by rank. What blocks do to each other in time is
// the model's own (cycle/cluster.h, abstract/async.h).
//
// Invariants: all SMs of a cluster are of one GPC; no SM is given more than `each` blocks.
#ifndef ORR_MODEL_CLUSTER_H
#define ORR_MODEL_CLUSTER_H

#include "gpu/topology.h"
#include "model/model.h"
#include "program/program.h"

#define ORR_CLUSTER_MOST 16

uint32_t orr_work_cluster(const orr_work *w); // thread blocks of a cluster; 1: there are none

// ---- placement
typedef struct orr_cluster_room {
    uint32_t nsms, size; // of a cluster
    uint32_t each;       // blocks that an SM holds
    uint32_t *used;      // [nsms] blocks that it has; counted on
} orr_cluster_room;
typedef struct orr_cluster_taker {
    bool (*take)(void *arg, const uint32_t *sms); // a cluster, by rank; false: there is none left
    void *arg;
} orr_cluster_taker;
void orr_clusters_deal(const orr_gpu *g, const orr_cluster_room *room, const orr_cluster_taker *t);

// ---- shared memory of other blocks
typedef struct orr_cluster_seat { // a thread block's
    uint32_t rank, size;
    bool machine; // the kernel is machine code: all its shared addresses have a rank
} orr_cluster_seat;
// Whose shared memory an address is in; its offset there.
uint32_t orr_cluster_rank(const orr_cluster_seat *b, uint64_t addr, uint64_t *offset);

typedef struct orr_far_lanes {
    uint32_t packets, mask; // lanes that go elsewhere
    uint32_t rank;          // of the first of them
} orr_far_lanes;
// An access of other blocks' shared memory leaves in packets, one for each sector of 32 bytes of each block;
// atomics of several lanes on one word are a packet each.
orr_far_lanes orr_cluster_far(const orr_cluster_seat *b, const orr_tinst *i, const orr_access *a);
double orr_cluster_packet(const orr_gpu *g, const orr_tinst *i); // cycles of the network between SMs for one
// Cycles from when the last packet of an access has left SM `from` until its result, or what it does, is
// there.
uint64_t orr_cluster_latency(const orr_gpu *g, const orr_tinst *i, uint32_t from, uint32_t to);
static inline bool orr_cluster_arrives(const orr_tinst *i) { // at an mbarrier, with what it stores
    return i->sass == ORR_SASS_STAS || i->sass == ORR_SASS_REDAS;
}

#endif
