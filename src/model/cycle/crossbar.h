// The crossbar between SMs and slices, from window to window (crossbar.c).
#ifndef ORR_CYCLE_CROSSBAR_H
#define ORR_CYCLE_CROSSBAR_H

#include "core/port.h"

#define MAX_NETWORK_GPCS 512

typedef struct crossbar_spec {
    orr_topology gpcs; // where SMs are
    uint32_t ngpcs;
    uint32_t store_halves;      // of L2, that stores come to
    uint64_t spread;            // ticks between the nearest slice and the furthest (l2.spread)
    uint64_t gpc_ticks[5];      // of a GPC's port for an answer, by sectors
    uint64_t slice_ticks[2][5]; // of a slice for a store, whole sectors or not, by sectors; 0: none
                                // (xbar.store_bandwidth)
    uint64_t atomic_ticks;      // of a slice for a lane's atomic
} crossbar_spec;

typedef struct timed_list { // what is put in the order of its time
    ORR_VEC(orr_timed) all;
    ORR_VEC(orr_timed) scratch;
} timed_list;
void cyc_timed_free(timed_list *t);

typedef struct gpc_port { // from the network
    uint64_t free;        // ticks
    timed_list answers;
} gpc_port;

// Stores on their way to the slices (xbar.store_bandwidth): in front of each slice a queue for each GPC. GPCs
// with no SM have none, so that a GPC has a number of its own here.
typedef struct gpc_queue {
    request_list at; // in order
    size_t next;
    uint64_t ticks;        // that those that wait take of the slice
    uint64_t virtual_time; // what it has had of it
} gpc_queue;
typedef struct slice_port {
    uint64_t free;         // ticks
    uint64_t virtual_time; // of the one that was last
    uint64_t ticks;        // that the last one of part of a sector took
    uint64_t soonest;      // when the first of those that wait could be taken; UINT64_MAX: none waits
    bool published;        // network.gpc_free says that some wait
    gpc_queue *of;         // [GPC]
} slice_port;
typedef struct gpc_stores { // what the SMs of a GPC send into the network
    uint32_t gpc;
    uint32_t first, n; // store_network.sms
    size_t waiting;    // in its queues, in front of all slices
    timed_list keys;
} gpc_stores;
typedef struct store_network {
    struct cycle *c;
    slice_port *slices; // [partition][half]
    gpc_stores *gpcs;   // those that have SMs
    uint32_t ngpcs;
    uint32_t *sms; // by GPC
    uint64_t until;
    request_list *to; // [partition]
} store_network;

struct crew;
struct cycle;
void cyc_crossbar_spec_read(crossbar_spec *s, const orr_gpu *g, const port_spec *port);
// Whether a request passes the network for stores before `until`.
bool cyc_crossbar_passes(const struct cycle *c, const orr_request *r, uint64_t until);
// What has waited and what SMs have sent, up to `until`: to the requests of each partition. The host threads
// share the GPCs, and then the partitions.
void cyc_store_network_run(store_network *port, struct crew *crew, uint64_t until, request_list *to);
store_network *cyc_store_network_new(struct cycle *c);
void cyc_store_network_free(store_network *port);
uint64_t cyc_store_network_next(const store_network *port); // UINT64_MAX: none waits
typedef ORR_VEC(orr_timed) timed_keys;
// Sorts what a partition has answered by GPC, into keys[GPC].
void cyc_crossbar_deal_answers(const struct cycle *c, uint32_t partition, const orr_replies *replies,
                               timed_keys *keys);
// Brings all answers for a GPC, keys[partition][GPC], through its port to its SMs, in the order of time.
void cyc_crossbar_answer_gpc(struct cycle *c, uint32_t gpc, gpc_port *port, const orr_replies *replies,
                             const timed_keys *keys);
// Brings one answer to its SM, where GPCs have no ports.
void cyc_crossbar_answer(struct cycle *c, uint32_t partition, const orr_reply *r);

#endif
