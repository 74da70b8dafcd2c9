// A partition of the memory system: L2 slices and the DRAM channels behind them.
//
// A partition is handed requests in order of time (orr_l2_push), runs up to a time (orr_l2_run) and appends
// answers. Nothing ticks: a port, a unit, the data of a slice is represented by the time it is next free, and
// what has to happen later is an event in a heap. Its parts are in files of their own and know of each other
// what is declared here:
//
//   l2.c         loads, fills, the order of events, beginning and end
//   l2_input.c   ports and queues of a slice: which request is taken when
//   l2_mshr.c    misses: allocation, eviction, fetches, who waits for a line
//   l2_write.c   stores, partial sectors, write-backs
//   l2_atomic.c  units for atomics
//   l2_merge.c   loads of a GPC that are answered together
//   l2_copy.c    two halves that keep copies of each other's lines
//   l2_spec.c    parameters
//
// Invariants: a line is in at most one way of its slice; a line with pending sectors has an MSHR
// (orr_cache_line.user) and every other line has none; a waiter is in the list of one MSHR, or of one cluster
// at an atomic unit, or is named by one event, or is free. A lane that is blocked takes nothing until what
// blocks it is over.
#ifndef ORR_MEMORY_L2_H
#define ORR_MEMORY_L2_H

#include "memory/memory.h"
#include "memory/cache.h"
#include "memory/dram.h"
#include "memory/memsys.h"

// ---- spec: the same for all slices, read once from the description; times are in ticks ----------

typedef struct orr_l2_store_spec {
    uint64_t sector;          // a sector through a port (l2.write_bandwidth)
    uint64_t same_line;       // from a store to the next one to its line
    uint64_t side_switch;     // from a partial store of one half to the next one to its line of the other
    uint64_t side_switch_far; // that one which comes from the other half waits at most
    uint32_t queue;           // partial stores that wait for that behind each port
    bool waits_for_fills;     // a store, and all behind it, waits for loads of its line (l2.store_after_fill)
} orr_l2_store_spec;

typedef struct orr_l2_partial_spec { // partial lines: with sectors of which only some bytes are valid
    uint32_t max_partial;            // of a slice; 0: any number
    uint32_t max_completing;         // whose missing bytes are being read from DRAM; 0: any number
    uint32_t max_completed;          // that are complete, and are not written back yet
    uint64_t rewritten;              // the slice's time for a sector that was stored to in part twice
    bool own_row;                    // less than a line has its DRAM row to itself (l2.partial_alone)
} orr_l2_partial_spec;

typedef struct orr_l2_atomic_spec {
    uint64_t op;         // an operation of a lane
    uint64_t float_gap;  // until the next sum of floating-point numbers on the same sector
    uint64_t row_sector; // for each sector of an atomic on another row than the one before (l2.atomic_row)
    uint64_t load_gap;   // for a load of the line that the last atomic was on
    uint64_t latency;    // until an atomic's result leaves, besides the time it takes its unit
} orr_l2_atomic_spec;

typedef struct orr_l2_halves_spec { // two halves that keep copies of each other's lines
    bool copies;                    // l2.replicate: there are such
    bool acknowledge;               // a write is acknowledged when the other half has dropped its copy
                                    // (l2.invalidate_replicas)
    uint64_t latency;               // from one half to the other
    uint64_t sector;                // a sector on that way; 0: any number at once
} orr_l2_halves_spec;

typedef struct orr_l2_merge_spec { // loads of a line, from one GPC, that are answered together
    uint32_t max_loads;            // of one lookup; 1: loads are not merged
    uint64_t window; // for which a load that comes after an answer has left may still be merged with it
} orr_l2_merge_spec;

typedef struct orr_l2_spec {
    orr_serve *serve; // tells the sender that a request is served (memsys.h); NULL: nobody asks
    void *serve_arg;
    bool write_fetch;            // a store in part of a sector fetches it (l2.write)
    uint32_t mshrs;              // lines on their way, per slice
    uint32_t mshr_merges;        // requests that can wait for a sector on its way; 0: any number
    uint32_t max_dirty;          // dirty lines of a slice; 0: any number
    uint32_t chunk_shift;        // lines of a chunk, log2
    uint32_t sector_shift;       // sectors that are fetched together, log2
    uint32_t load_shift;         // sectors that a load that misses in L1 asks for together, or more, log2
    uint64_t cycle;              // of L2
    uint64_t sector;             // a sector through a port
    uint64_t tag_interval;       // a request at least
    uint64_t to_dram, from_dram; // on the way to DRAM and back, besides what DRAM itself takes
    uint64_t fence_interval;     // a fence that asks
    orr_l2_store_spec store;
    orr_l2_partial_spec partial;
    orr_l2_atomic_spec atomic;
    orr_l2_halves_spec halves;
    orr_l2_merge_spec merge;
    orr_topology topology;
} orr_l2_spec;

void orr_l2_spec_read(orr_l2_spec *c, const orr_gpu *g, const orr_dram_spec *d);

// ---- requests -----------------------------------------------------------------------------------

#define ORR_L2_FAR (1ull << 62)                 // in a tag: the line is the other half's
enum { ORR_L2_INVALIDATE = ORR_REQ_FENCE + 1 }; // to the other half: a copy is not valid any more

typedef struct orr_l2_request { // what a slice needs of an orr_request, and what it adds
    uint64_t time;
    uint64_t line;     // its tag: the line's number in its slice, with ORR_L2_FAR
    uint64_t bytes[2]; // WRITE: bytes of the line that are written
    uint32_t sm, token;
    uint32_t arrival; // its number among the slice's requests
    uint8_t sectors, kind, from, ops, quarter_ops;
    bool float_sum, same_packet, after_atomic; // as in orr_request
    bool wants_ack;                            // the sender wants an acknowledgement
    bool far;                                  // it comes from the other half
    uint32_t live;                             // as in orr_request
} orr_l2_request;

typedef struct orr_l2_crossing { // a request on its way to the other half
    orr_l2_request r;
    uint32_t slice;
} orr_l2_crossing;
typedef ORR_VEC(orr_l2_crossing) orr_l2_crossings;

// ---- MSHRs and events ---------------------------------------------------------------------------

typedef struct orr_l2_waiter { // a request that waits for sectors, or an atomic at its unit
    uint32_t sm, token;
    uint32_t next; // waiter of the same MSHR, or free one
    uint8_t sectors, kind, ops;
    uint8_t needs; // sectors that are still missing
    uint8_t hit;
    uint8_t quarter_ops;
    bool float_sum, wants_ack, same_packet;
    bool invalidates; // an atomic: the other half's copy is invalidated first
    bool far;         // it came from the other half
    bool merged;      // a load that is answered with another one
    uint32_t live;
    uint64_t line;
} orr_l2_waiter;

typedef struct orr_l2_mshr { // a line on its way
    uint32_t line;           // in the slice's cache; ORR_NO_LINE: it is not kept
    uint32_t slice;
    uint32_t outstanding; // fetches that have not come
    bool copy;            // of the other half's line
    bool write_back;      // it is written to DRAM when it has come
    uint32_t head, tail;  // waiters, in order; of the free ones: next
} orr_l2_mshr;

enum orr_l2_event_kind {
    ORR_L2_EV_FILL,  // sectors have come for MSHR `at`
    ORR_L2_EV_REPLY, // the atomic of waiter `at` is done, and its result leaves
};
typedef struct orr_l2_event {
    uint64_t time;
    uint32_t seq; // of those at one time
    uint32_t at;
    uint16_t slice; // of the atomic
    uint8_t sectors;
    uint8_t kind;  // orr_l2_event_kind
    bool from_far; // a fill from the other half, which comes behind this half's events of the same time
} orr_l2_event;

// ---- a slice ------------------------------------------------------------------------------------

// Where requests wait at a slice. With l2.side_switch, stores of part of a sector that come from the other
// half have a port for themselves, and behind each of the two ports there is a queue of such stores that wait
// for their line. What is for lines of the other half, or a load by it, is taken in order with all else,
// except where the port stalls because its queue is full.
enum {
    ORR_L2_PORT,
    ORR_L2_FAR_PORT,
    ORR_L2_STORE_QUEUE,     // behind PORT
    ORR_L2_FAR_STORE_QUEUE, // behind FAR_PORT
    ORR_L2_BYPASS,          // goes by a stalled port: for lines of the other half, or loads by it
    ORR_L2_FAR_LOADS,       // loads by the other half, with l2.store_after_fill
    ORR_L2_LANES
};
// Why a lane's first request is not taken.
enum { ORR_L2_FREE, ORR_L2_BLOCKED_LINES, ORR_L2_BLOCKED_WRITES, ORR_L2_BLOCKED_LOADS };
typedef struct orr_l2_lane { // in order: a ring
    orr_l2_request *at;
    uint32_t head, n, cap;
    uint8_t blocked;         // what blocks the first request: ORR_L2_BLOCKED_*
    uint8_t fail;            // the reason for the statistics: orr_fail
    uint64_t blocked_since;  // time
    uint32_t partial_stores; // requests in it that store part of a sector
    uint64_t free;           // when the next request can be taken
    uint64_t partial_free;   // when the next store of part of a sector can be
    uint64_t last_taken;     // when the last request was
    uint64_t service_time;   // from one waiting request to the next, on average
} orr_l2_lane;

typedef struct orr_l2_input { // the input stage of a slice
    uint32_t busy_lanes;      // bits of lanes in which requests wait
    uint32_t lane;            // the one that is taken from
    uint32_t arrivals;        // requests so far
    uint32_t mshrs;           // lines on their way
    uint32_t completing;      // those among them that were partial
    uint64_t lookups;         // requests that the profiler counts
    uint64_t completion_time; // that completing a line still has to take of the input
    bool ack_invalidates;     // the last store is acknowledged when the other half's copy is invalid
} orr_l2_input;

typedef struct orr_l2_port {
    uint64_t reply_free; // when the port for answers is free
    uint64_t cross_free; // when the way to the other half is free
    uint64_t busy_until; // for the statistics: when the last of its ports is free
    uint64_t busy;       // ticks in which one was not
} orr_l2_port;

#define ORR_L2_SUMS 8           // lines of sums that the unit has under way
typedef struct orr_l2_atomics { // the unit of a slice that does them
    uint64_t free;              // when all that has come so far is done
    uint64_t row;               // of the last atomic, + 1
    // The last floating-point sums, by line.
    uint64_t sum_line[ORR_L2_SUMS], sum_until[ORR_L2_SUMS];
    uint8_t sum_sectors[ORR_L2_SUMS];
    uint64_t line;       // of the last atomic, + 1; 0: a load of it has come since
    uint64_t busy_until; // for the statistics, with the time that sums wait for the one before
    uint64_t busy;       // so far
} orr_l2_atomics;

typedef struct orr_l2_merge { // a load that later ones of its GPC may be answered with
    uint64_t line, reply;     // UINT64_MAX: it is not answered yet
    uint64_t sent;            // the last packet of the answer
    uint32_t epoch; // of the line (orr_l2_merge_line): loads of an epoch that is over are merged with nobody
    uint16_t gpc;
    uint8_t loads; // that have been merged, the first among them; 0: the entry is free
    uint8_t sectors;
} orr_l2_merge;

typedef struct orr_l2_merge_line { // a line whose loads can be merged, those of one set of sectors
    uint64_t line, open_until;     // UINT64_MAX: the last answer is outstanding
    uint32_t epoch;                // counts lines that were opened; 0: none
    uint8_t sectors;
} orr_l2_merge_line;

#define ORR_L2_MERGES      512 // of a slice: more than are on their way
#define ORR_L2_MERGE_LINES 512
#define ORR_L2_FAST_MERGES 64 // of a slice of fast_memory.h
#define ORR_L2_MERGE_PART  (ORR_L2_MERGES / 64)
typedef struct orr_l2_merges {
    orr_l2_merge load[ORR_L2_MERGES];
    orr_l2_merge_line line[ORR_L2_MERGE_LINES];
    uint64_t loads, lines; // bits of the parts of them that have been looked at since the last reset
    uint32_t opened;       // lines so far
} orr_l2_merges;
void orr_l2_merges_reset(orr_l2_merges *m);

#define ORR_L2_STORES      64        // of a slice: more than there are in l2.side_switch
#define ORR_L2_FAST_STORES 16        // of a slice of fast_memory.h
typedef struct orr_l2_recent_store { // a line that was stored to, and when it can be again
    uint64_t line, until;
    bool far; // from the other half
} orr_l2_recent_store;

typedef struct orr_l2_slice {
    orr_cache cache; // tags: lines of this slice, counted densely
    orr_l2_lane lane[ORR_L2_LANES];
    orr_l2_input input;
    orr_l2_port port;
    orr_l2_atomics atomics;
    orr_l2_merges merges;
    orr_l2_recent_store stores[ORR_L2_STORES];
    uint64_t *users[2]; // bits of SMs that have asked for a line of this half, of the other
} orr_l2_slice;

// ---- a partition --------------------------------------------------------------------------------

typedef struct orr_l2 {
    const orr_l2_spec *spec;
    orr_l2_slice *slice;
    orr_dram *channel;
    uint64_t *dram_next;       // [channel] when it does something next (orr_dram_next)
    uint32_t slices, channels; // each slice uses all of them
    uint32_t words;            // of a slice's `users`
    ORR_VEC(orr_l2_waiter) waiters;
    ORR_VEC(orr_l2_mshr) mshrs;
    ORR_VEC(orr_l2_event) events;  // a heap, the next first
    orr_l2_crossings crossing;     // for the other half, in order of time
    ORR_VEC(orr_l2_event) returns; // what the other half has asked for, on its way back
    uint32_t free_waiter, free_mshr;
    uint32_t seq;
    uint64_t until;     // up to which it has run
    uint64_t now;       // time of the last event or request
    bool write_blocked; // a lane is ORR_L2_BLOCKED_WRITES
    orr_memsys_stats stats;
} orr_l2;

typedef struct orr_l2_extent { // what a partition has
    uint32_t slices, channels;
    uint32_t first_channel; // the GPU's number of its first one
} orr_l2_extent;
void orr_l2_init(orr_l2 *p, const orr_l2_spec *c, const orr_gpu *g, const orr_dram_spec *d, orr_l2_extent x);
void orr_l2_free(orr_l2 *p);
void orr_l2_reset(orr_l2 *p); // time 0, statistics 0; what was on its way has come
void orr_l2_push(orr_l2 *p, uint32_t slice, const orr_l2_request *r); // in order of time; r->line is a tag
void orr_l2_expect(const orr_l2 *p, uint32_t slice, uint64_t tag, uint32_t sm); // such a one will be
void orr_l2_return(orr_l2 *p, const orr_l2_event *e); // one of the other half's `returns`
uint64_t orr_l2_next(const orr_l2 *p);                // UINT64_MAX: nothing is to be done
void orr_l2_prefetch(const orr_l2 *p);                // what its events will look at, into the host's caches
uint64_t orr_l2_run(orr_l2 *p, uint64_t until, orr_replies *out); // returns orr_l2_next
// Without time: sectors are there now; are there as if somebody had loaded them; or had stored to them; and
// the copy that the other half has of them.
void orr_l2_preload(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors);
void orr_l2_warm(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors);
void orr_l2_warm_store(orr_l2 *p, uint32_t slice, uint64_t tag, const orr_touched *t);
void orr_l2_warm_copy(orr_l2 *p, orr_l2 *other, uint32_t slice, uint64_t tag, const orr_touched *t, bool far);

// ---- among the files above ----------------------------------------------------------------------
// Functions that return false, or ORR_NO_LINE, have blocked the slice and done nothing else.

// The request that is being taken has to wait, and all behind it.
static inline void orr_l2_block(const orr_l2 *p, orr_l2_slice *s, uint8_t until, enum orr_fail why) {
    orr_l2_lane *in = &s->lane[s->input.lane];
    in->blocked = until;
    in->fail = (uint8_t)why;
    in->blocked_since = p->now;
}

// l2.c
// Without time: the line, or a place for it, as the one used last; ORR_NO_LINE: all of its set are on their
// way.
uint32_t orr_l2_line_for(orr_cache *c, uint64_t tag);
void orr_l2_event_push(orr_l2 *p, orr_l2_event e);
void orr_l2_note_time(orr_l2 *p, uint64_t t); // something happened then
uint64_t orr_l2_send(orr_l2 *p, orr_l2_slice *s, uint64_t t, uint8_t sectors);
uint64_t orr_l2_cross(const orr_l2 *p, orr_l2_slice *s, uint64_t t, uint8_t sectors);
bool orr_l2_load(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t, orr_replies *out);
// l2_input.c
uint64_t orr_l2_ready_at(const orr_l2 *p, const orr_l2_slice *s, uint32_t lane);
void orr_l2_take_input(orr_l2 *p, uint32_t slice, uint32_t lane, uint64_t t, orr_replies *out);
// l2_mshr.c
uint32_t orr_l2_new_waiter(orr_l2 *p);
void orr_l2_free_waiter(orr_l2 *p, uint32_t w);
void orr_l2_mshr_wait(orr_l2 *p, orr_l2_mshr *miss, const orr_l2_waiter *w);
bool orr_l2_mshrs_full(const orr_l2 *p, orr_l2_slice *s, uint32_t i);
bool orr_l2_merges_full(const orr_l2 *p, orr_l2_slice *s, uint32_t i, uint8_t sectors);
uint32_t orr_l2_allocate(orr_l2 *p, uint32_t slice, uint64_t tag, uint64_t t);
typedef struct orr_l2_miss { // sectors that are neither there nor on their way
    uint64_t line;           // a tag
    uint8_t sectors;
    bool after_atomic; // orr_request.after_atomic
    bool completion;   // they complete a partial line, which is written back then
} orr_l2_miss;
uint32_t orr_l2_fetch(orr_l2 *p, uint32_t slice, uint32_t i, orr_l2_miss want, uint64_t t);
bool orr_l2_can_write(orr_l2 *p, uint32_t slice, uint64_t tag);
void orr_l2_write_dram(orr_l2 *p, uint32_t slice, uint64_t tag, uint8_t sectors, uint64_t t);
// l2_write.c
uint8_t orr_l2_whole_sectors(const orr_l2_request *r);
bool orr_l2_store(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t);
bool orr_l2_limit_dirty(orr_l2 *p, uint32_t slice, uint64_t tag, uint32_t at, uint64_t t);
void orr_l2_write_back(orr_l2 *p, uint32_t slice, orr_cache_line *l, uint8_t sectors, uint64_t t);
// l2_atomic.c
uint64_t orr_l2_atomic_time(const orr_l2_spec *c, uint64_t ops, uint64_t quarters);
uint64_t orr_l2_ack_delay(const orr_l2_spec *c, bool far, bool late);
void orr_l2_atomic(orr_l2 *p, uint32_t slice, uint64_t t, const orr_l2_waiter *w, orr_replies *out);
// l2_merge.c
void orr_l2_merge_prefetch(const orr_l2 *p, const orr_l2_slice *s, uint64_t line, uint32_t sm);
void orr_l2_merge_open(orr_l2 *p, orr_l2_slice *s, const orr_l2_request *r);
uint64_t orr_l2_merge_reply(orr_l2 *p, orr_l2_slice *s, const orr_l2_waiter *w, uint64_t t);
bool orr_l2_merge_join(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t, orr_replies *out);
uint64_t orr_l2_store_waits(const orr_l2 *p, orr_l2_slice *s, const orr_l2_request *r, uint64_t t);
// l2_copy.c
void orr_l2_forward(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t);
bool orr_l2_invalidate_copy(orr_l2 *p, uint32_t slice, orr_cache_line *l, bool far, uint64_t t);
void orr_l2_drop_line(orr_l2 *p, uint32_t slice, uint64_t tag);
void orr_l2_forget_copy(orr_l2 *p, uint32_t slice, uint64_t tag);
void orr_l2_update_copy(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t);

// How long a store of so many sectors, whole and in part, takes a slice's port, with so much for a whole one.
// With l2.side_switch a cycle for each in part, and one for the mask of their bytes.
static inline uint64_t orr_l2_store_time(const orr_l2_spec *c, uint64_t whole, uint64_t part,
                                         uint64_t sector) {
    if (!c->store.side_switch) return whole * sector + part * c->store.sector;
    return whole * sector + (part ? part + 1 : 0) * c->cycle;
}
// A kernel's end: how long a slice takes for the barriers of so many SMs of its half, of which `far` have
// asked for lines of the other half too (l2.fence_interval).
static inline uint64_t orr_l2_barrier_time(const orr_l2_spec *c, uint64_t near, uint64_t far) {
    uint64_t takes = (near + 3 * far) * c->fence_interval;
    return far && takes < c->halves.latency ? c->halves.latency : takes;
}
static inline void orr_l2_serve(const orr_l2 *p, uint32_t sm, uint32_t live) {
    if (live && p->spec->serve) p->spec->serve(p->spec->serve_arg, sm, live);
}
static inline uint8_t orr_l2_widened(uint8_t sectors, uint32_t shift) { // sectors that go together
    if (shift == 0) return sectors;
    if (shift == 2) return sectors ? 15 : 0;
    return (uint8_t)((sectors & 3 ? 3 : 0) | (sectors & 12 ? 12 : 0));
}

#endif
