// Thread block clusters in time: blocks of a GPC that are started together, their words to each other, their
// barrier.
//
// What a block does to another one's mbarrier, or to the barrier of the cluster, is a word that its SM puts
// down (`words`) and that is handed over between two windows, in the order of the SMs. A window of a launch
// with clusters is not longer than the shortest such way, so that no word is due in the window it was sent
// in.
//
// The barrier has no place of its own: a block all of whose warps have arrived tells all blocks of the
// cluster, itself among them, and each goes on when it has heard of all. One that ends is taken to have
// arrived from then on.
#ifndef ORR_CYCLE_CLUSTER_H
#define ORR_CYCLE_CLUSTER_H

#include "model/cycle/sm.h"

uint64_t cyc_cluster_window(const cycle *c); // cycles: a window of a launch with clusters is not longer
typedef struct cluster_dealer {
    bool (*hand_out)(void *arg, sm *s); // gives an SM one block; false: there is none left
    void *arg;
    uint64_t now;
} cluster_dealer;
// Gives blocks to SMs for as long as all of a cluster have room, and has them started.
void cyc_clusters_deal(cycle *c, const cluster_dealer *d);
void cyc_cluster_deliver(cycle *c, uint64_t until); // between two windows

#endif
