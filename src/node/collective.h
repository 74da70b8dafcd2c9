// What a collective of NCCL costs, and the algorithm that is chosen for it.
//
// The model is NCCL's own (its tuner, src/graph/tuning.cc): a collective of S bytes takes
//
//     T = base + steps * hop + S * factor / bandwidth
//
// for each algorithm (ring, tree, sums in the switch, and in switches of several nodes) and protocol (LL,
// LL128, Simple), and the combination that takes least is taken. Bandwidths are those of the node's links,
// and between nodes those of the network; latencies are in the node's description (nccl.*). `factor` is how
// often a byte crosses the slowest link: 2 (n - 1) / n for an all-reduce over a ring of n, which is what
// nccl-tests call the bus bandwidth.
//
// The choice is made by that formula, as NCCL's is. What the chosen one then takes also knows that a small
// message goes through few of its channels (thread blocks), each of which reaches so much and not more.
#ifndef ORR_NODE_COLLECTIVE_H
#define ORR_NODE_COLLECTIVE_H

#include "node/node.h"

enum orr_collective {
    ORR_COLL_ALL_REDUCE,
    ORR_COLL_REDUCE_SCATTER,
    ORR_COLL_ALL_GATHER,
    ORR_COLL_BROADCAST,
    ORR_COLL_REDUCE,
    ORR_COLLECTIVES
};
enum { ORR_ALGO_RING, ORR_ALGO_TREE, ORR_ALGO_NVLS, ORR_ALGO_NVLS_TREE, ORR_ALGOS };
enum { ORR_PROTO_LL, ORR_PROTO_LL128, ORR_PROTO_SIMPLE, ORR_PROTOS };
extern const char *const orr_algo_name[ORR_ALGOS], *const orr_proto_name[ORR_PROTOS];
extern const char *const orr_collective_name[ORR_COLLECTIVES];

typedef struct orr_team { // who takes part
    const orr_node *node;
    int ranks, nodes;       // ranks in all, over so many nodes
    bool nvlink;            // neighbours in a node are connected by NVLink
    double net;             // GB/s from a node to the next, all its adapters; 0: as the description says
    double net_latency;     // us; 0: as the description says
    unsigned algos, protos; // those allowed, as bits; 0: all
} orr_team;

typedef struct orr_coll_plan {
    int algo, proto;
    int channels; // thread blocks of each GPU's kernel
    double ns;
} orr_coll_plan;

// `bytes` as nccl-tests count them: of an all-gather and a reduce-scatter, those of all ranks together.
orr_coll_plan orr_collective_plan(const orr_team *t, enum orr_collective what, uint64_t bytes);
double orr_collective_factor(enum orr_collective what, int ranks); // bus bandwidth = bytes / time * factor

#endif
