// An SM's port into the crossbar: what leaves it, in which order and when, and what comes back through it.
//
// A packet takes its bytes' time at the port. Stores wait in a buffer of `xbar.merge_lines` lines in front of
// it, where later stores to the same line are merged with them; a port that is far behind, or a slice that
// is, holds up L1.
//
// Stores that a fence must wait for are counted by epochs: those of the round of fences that is on, or was,
// and those of the next one. L2 acknowledges each. Stores of part of a sector are acknowledged too where
// only so many of them may be on their way (xbar.partial_stores); further ones are parked and merged until
// one is acknowledged.
//
// Invariants: `out` is in the order in which requests were sent, not of their time; `has_stores` is set where
// one of them is a store; a line has at most one store in `out` that others may still be merged with, and
// store_at finds it; `unacked` is the number of
// stores of each epoch that have been sent, or parked, and not been acknowledged.
//
// The component knows the memory's partitions (orr_memsys, as addresses) and how far they were behind at the
// beginning of the window (network). L1 sends through it, fences close it and ask slices through it; the
// model takes `out` over between two windows.
#ifndef ORR_CORE_PORT_H
#define ORR_CORE_PORT_H

#include "core/events.h"
#include "core/perform.h"
#include "memory/memsys.h"

#define STORE_PLACES   256 // of the store buffer, hashed by line
#define VISITED_SLICES 256 // slices that a fence tells apart

typedef struct port_spec {
    uint64_t request_byte, reply_byte;   // ticks that a byte takes
    uint64_t request_ticks, reply_ticks; // from an SM to a slice and back
    uint64_t far_ticks;                  // more to the other half of L2
    uint64_t window;                     // ticks: nothing that is sent is answered sooner
    uint32_t head, mask, ask;            // bytes of a packet: its head, a mask of bytes, a request for a line
    bool ask_sectors;                    // a request for a line takes 32 bytes for each sector instead
    bool merge;                          // stores are merged (xbar.merge_stores),
    uint32_t stores;                     // in a buffer of so many lines; 0: any number
    uint64_t open_ticks, open_line_ticks; // a store waits so long for others to its line, and for each line
                                          // of its instruction,
    uint32_t open_lines;                  // up to so many (xbar.merge_wait_lines)
    uint32_t max_partial;                 // stores of part of a sector on their way; 0: any number
    uint64_t ahead, backlog_ticks;        // how far the port, or a slice, may be behind before it holds up L1
    uint64_t l1_latency;                  // packets reach the port so long after L1 has begun with them
    bool replicas;                        // lines of the other half have copies in the own one (l2.replicate)
    bool slices_take_turns;               // the network serves stores of GPCs in turn (xbar.store_bandwidth)
    uint32_t sides, nsms, ngpcs;          // parts of L2; SMs and GPCs of the GPU
    orr_topology gpcs;                    // where its SMs are
    uint32_t store_halves;                // of L2, that stores come to
    bool acknowledges;                    // fences count stores (core.fence_merge)
} port_spec;

// The network and the memory as all SMs see them: as of the beginning of the window.
typedef struct network {
    orr_memsys *mem;
    uint64_t *free;     // [partition] ticks: when its slices take the next request
    uint64_t *gpc_free; // [partition][half][GPC] when another store of it would pass
    bool foreign;       // somebody else's memory stands for L2 and DRAM (model/partial)
    bool fences;        // the program has fences that wait for stores and reductions
} network;

typedef struct leaving_store {
    uint64_t time, line; // ticks: when the port lets it leave
} leaving_store;

typedef struct parked_store {
    orr_request r;
    uint32_t packet; // bytes
} parked_store;

typedef struct store_buffer {
    uint32_t at[STORE_PLACES]; // by line: the last one in `out`, + 1, that stores may still be merged with
    leaving_store left[STORE_PLACES]; // a ring: the last `spec.stores` of them
    uint32_t next_left;               // the oldest of the ring
    uint64_t entered;                 // ticks: when the last one had a place
} store_buffer;

typedef struct visited_slices { // where the SM has sent an atomic, or a load that L1 had not, since the last
                                // round
    uint64_t line[VISITED_SLICES], is[VISITED_SLICES / 64]; // a line of each, and which slices these are
    uint32_t n;
} visited_slices;

typedef struct port_warp { // what the port knows of a warp
    uint64_t age;          // order of arrival on the SM, to tell it from who had the slot before
    uint64_t stored;       // cycle: when its last store will have been heard of
    uint64_t atomic_trip;  // cycles to L2 and back for its last atomic; 0: there was a fence since
    uint32_t reductions;   // that have not been acknowledged; only where a fence waits for them
} port_warp;

typedef struct port_counters {
    uint64_t sent_bytes, received_bytes;
} port_counters;

typedef ORR_VEC(orr_request) request_list;

typedef struct sm_port {
    const port_spec *spec;
    const network *net;
    event_queue *clock;
    uint32_t sm, gpc;     // their numbers
    port_warp *warp;      // by number
    parked_store *parked; // a ring of STORE_PLACES
    request_list out;
    bool has_stores;  // in `out`
    perform_ops *ops; // what its requests do, where they are performed as they are served; NULL: they are not
    bool strong; // other threads may be polling what the access at hand writes, or it polls: it is sent at
                 // once
    uint64_t send_free, receive_free; // ticks
    uint64_t sent;                    // ticks: when the last request reaches L2
    uint64_t atomic_line; // of the last atomic that left, + 1, be it in the launch before; 0: a load of it
                          // has left since
    store_buffer stores;
    uint32_t parked_first, nparked;
    uint32_t partial_in_flight; // stores of part of a sector on their way
    uint32_t unacked[2];        // stores by epoch
    uint8_t epoch;              // that stores belong to now
    uint64_t epoch_until;       // cycle until which it lasts; NEVER: until the next round
    visited_slices visited;
    port_counters n;
} sm_port;

void port_spec_read(port_spec *s, const orr_gpu *g);
void port_init(sm_port *p, const port_spec *s, const network *net, event_queue *clock, uint32_t nwarps);
void port_free(sm_port *p);
void port_reset(sm_port *p);

static inline void port_start_warp(sm_port *p, uint32_t warp, uint64_t age) {
    p->warp[warp] = (port_warp){.age = age};
}
// Are stores counted, so that a fence waits for those that have been acknowledged and not for an estimate?
static inline bool port_counts_stores(const sm_port *p) { return p->net->fences && p->spec->acknowledges; }

// ---- sending. All return the cycle before which L1 takes nothing because of it, 0: it is not held up.
// A packet of `bytes` leaves in cycle `when` at the earliest.
uint64_t port_send(sm_port *p, const orr_request *r, uint64_t when, uint32_t bytes);
// A request for sectors of a line.
uint64_t port_ask(sm_port *p, const orr_request *r, uint64_t when);
// A store of an instruction of so many lines, merged or not. *behind: an earlier one to its line has not
// left.
uint64_t port_store(sm_port *p, const orr_request *r, uint64_t when, uint32_t lines);
// Bytes of a store's packet.
uint32_t port_store_packet(const sm_port *p, uint8_t sectors, const uint64_t bytes[2]);
// Is there room for it, or must L1 wait until a store is acknowledged?
bool port_has_room(const sm_port *p, uint64_t line, uint8_t sectors, const uint64_t bytes[2]);
// The warp's store, or reduction, is on its way; its fences wait for it.
void port_warp_stored(sm_port *p, uint32_t warp);
uint32_t port_reduction_token(sm_port *p, uint32_t warp);
void port_visit(sm_port *p, uint64_t line); // the next fence asks the line's slice

// ---- receiving
// When the sectors that arrive at `ticks` have come through.
uint64_t port_receive(sm_port *p, uint64_t ticks, uint8_t sectors);
// A store has been acknowledged. *was_full: L1 may have waited for it. Returns as port_send.
uint64_t port_store_acknowledged(sm_port *p, uint32_t payload, bool *was_full);
// A reduction has: its warp's entry, NULL: the warp has ended.
port_warp *port_reduction_acknowledged(sm_port *p, uint32_t payload, uint32_t *warp);

// ---- for fences
void port_close(sm_port *p);          // stores that wait for others leave
uint32_t port_ask_slices(sm_port *p); // the visited ones; returns how many
void port_next_epoch(sm_port *p);

// ---- between two windows
// A store that waits beyond the memory's `until` (ticks) is not handed over: others may still be merged with
// it.
static inline bool port_waits(const orr_request *r, uint64_t until) {
    return r->kind == ORR_REQ_WRITE && !r->strong && r->time >= until && r->partition != UINT32_MAX;
}
void port_handed_over(sm_port *p, uint64_t until); // all but those

// The slice that a store comes to first: that of its line in the own half.
uint32_t port_slice_of_store(const port_spec *s, const orr_request *r);
// Is one of the sectors not stored whole?
bool port_in_part(uint8_t sectors, const uint64_t bytes[2]);

#endif
