// Where an SM sits: its TPC, its GPC, and the half of L2 that its GPC is wired to.
//
// Method. SMs are numbered GPC by GPC, in the order in which the first blocks of a grid go to them: an H200
// fills one GPC after the other (micro/blocks, small.sm: blocks 8 to 23 are on the SMs 6, 7, 22, 23, ... of
// one). All GPCs have the same number of SMs, whole TPCs; what is left over goes to the last GPCs, one TPC
// each. GPCs belong to the two halves of L2 in turn. A GPU whose description has no GPCs has TPCs in their
// place.
//
// Invariants: gpc_sms >= 1; even_sms is a multiple of gpc_sms; an SM below even_sms is in GPC sm / gpc_sms. A
// topology is read once from a description and never changes; it is small enough to be passed by value.
#ifndef ORR_TOPOLOGY_H
#define ORR_TOPOLOGY_H

#include "gpu/gpu.h"

typedef struct orr_topology {
    uint32_t tpc_sms;  // SMs of a TPC
    uint32_t gpc_sms;  // SMs of a GPC, without those that are left over
    uint32_t even_sms; // SMs of all GPCs, without those that are left over
    uint32_t gpcs;     // GPCs
    uint64_t of_gpc;   // 2^32 / gpc_sms, rounded up
} orr_topology;

orr_topology orr_topology_of(const orr_gpu *g);

static inline uint32_t orr_gpc_of_sm(uint32_t sm, orr_topology t) {
    if (sm < t.even_sms || !t.gpcs) return (uint32_t)(sm * t.of_gpc >> 32);
    return t.gpcs - 1 - (sm - t.even_sms) / t.tpc_sms % t.gpcs;
}

// The half of L2 (0 or 1) that the SM asks.
static inline uint32_t orr_half_of_sm(uint32_t sm, orr_topology t) { return orr_gpc_of_sm(sm, t) & 1; }

// Which of its GPC's TPCs the SM is in; those that are left over follow the others.
static inline uint32_t orr_tpc_in_gpc(uint32_t sm, orr_topology t) {
    if (sm < t.even_sms) return sm % t.gpc_sms / t.tpc_sms;
    return t.gpc_sms / t.tpc_sms + (sm - t.even_sms) / t.tpc_sms / (t.even_sms / t.gpc_sms);
}

// How many clusters of `size` thread blocks are resident at once on the whole GPU when an SM holds `blocks`
// of them. A cluster is on one GPC that has at least as many SMs; those of launch.first are apart, and have
// clusters of no more blocks than a TPC has SMs (H200: micro/hopper, clusters.active and place.sm).
uint32_t orr_active_clusters(const orr_gpu *g, uint32_t size, uint32_t blocks);

// The numbers that the GPU itself has for the first nsms SMs (%smid), which say where their local memory is.
// With launch.first, a TPC of each GPC in turn, and those first SMs behind all others (H200: the SMs of the
// blocks of a grid of 132); without, the same numbers as here. The caller frees the array.
uint32_t *orr_sm_numbers(const orr_gpu *g, uint32_t nsms);

#endif
