// The memory system behind the SMs: crossbar ports of the slices, L2, DRAM.
//
// It is cut into partitions that share nothing: a DRAM channel (or several) and the L2 slices in front of it.
// A partition is handed the requests that reach it in a stretch of time and works them off in order of time,
// those of the same tick as they were handed over; what it answers does not depend on which host thread runs
// it, nor on how time was cut into stretches. Nothing ticks: a slice, a port, a bank, a bus is represented by
// the time it is next free.
//
// Time is in ticks of 1/4096 SM cycle, so that clock domains need no floating point.
#ifndef ORR_MEMSYS_H
#define ORR_MEMSYS_H

#include "gpu/topology.h"
#include "memory/memory.h"

#define ORR_TICKS 4096ull // per SM cycle

enum orr_request_kind {
    ORR_REQ_READ,   // answered
    ORR_REQ_WRITE,  // not answered, but acknowledged where `acks` says so
    ORR_REQ_ATOMIC, // answered
    ORR_REQ_REDUCE, // the same; an acknowledgement has no sectors, and comes when it is done
    ORR_REQ_FENCE,  // acknowledged when what came before it has been taken, and atomics are done
};
enum { // where a request comes from, for the counters
    ORR_FROM_GLOBAL,
    ORR_FROM_LOCAL,
    ORR_FROM_CONST,
    ORR_FROM_CODE,
    ORR_FROMS
};

typedef struct orr_request {
    uint64_t time;     // ticks: when it reaches the slice's port
    uint64_t line;     // address / 128
    uint64_t bytes[2]; // WRITE: bytes of the line that are written, bit 0 of [0] the first
    uint32_t sm;
    uint32_t token;      // the sender's; comes back with the answer
    uint8_t sectors;     // of the line
    uint8_t kind;        // orr_request_kind
    uint8_t from;        // ORR_FROM_*
    uint8_t ops;         // ATOMIC, REDUCE: what it takes the unit of its slice, in operations,
    uint8_t quarter_ops; // and in quarters of one besides
    bool float_sum;      // ATOMIC, REDUCE: a floating-point sum, for which the next on its sector waits
    bool same_packet;    // ATOMIC, REDUCE: it travels in the packet of the pass before, of the same line
    bool wants_ack;      // REDUCE, WRITE: the sender wants an acknowledgement when it is done
    bool after_atomic;   // READ: its SM's last request was an atomic on the line (l2.atomic_then_load)
    bool strong;         // for the sender: it waits for no stores of its GPC
    uint32_t partition;  // for the sender, who has to know where it goes
    uint32_t merge_wait; // ticks for which it waits to be merged with others
    uint32_t live;       // what the sender has done when a slice serves it (orr_memsys_serve); 0: nothing
} orr_request;
_Static_assert(sizeof(orr_request) == 64, "as large as a line of the host's caches");

typedef struct orr_reply {
    uint64_t time; // ticks: when its last sector has left the slice's port
    uint32_t sm, token;
    uint8_t sectors;
    uint8_t hit;    // every sector was in L2
    uint8_t merged; // it comes with the answer to another load of its GPC (l2.merge)
} orr_reply;

typedef ORR_VEC(orr_reply) orr_replies;

// Something that has to be put in order: by time, else as they are. The result is in one of the two arrays,
// which is returned.
typedef struct orr_timed {
    uint64_t time;
    uint32_t index, slice;
} orr_timed;
orr_timed *orr_sort_timed(orr_timed *at, orr_timed *other, size_t n);

// Why a request cannot be taken by its slice, and everything behind it waits: what GPGPU-Sim calls a
// reservation failure.
enum orr_fail {
    ORR_FAIL_LINE,    // all lines of the set are on their way
    ORR_FAIL_MSHR,    // as many lines are on their way as can be
    ORR_FAIL_MERGE,   // as many requests wait for the sector as can
    ORR_FAIL_QUEUE,   // DRAM's queue has no room for what would have to be written
    ORR_FAIL_PENDING, // it waits for loads or atomics that came before
    ORR_FAILS
};

typedef struct orr_atomic_stats { // of units for atomics; also reductions
    uint64_t n, hit;              // sectors
    uint64_t reduced[2];          // looked up by those that return nothing, in either half, and hits
    uint64_t busy, busiest;       // ticks, summed, and of the unit with the most
    uint64_t last;                // ticks: when the last one was done
} orr_atomic_stats;

// l2.replicate: what is looked up again in the half that a line belongs to, after the SM's own.
typedef struct orr_far_stats {
    uint64_t read, write, atomic;  // sectors
    uint64_t read_hit, atomic_hit; // of these; stores all do
    uint64_t requests;             // lookups for reads and atomics
} orr_far_stats;

typedef struct orr_memsys_stats { // sums over partitions; sectors unless said otherwise
    uint64_t read[ORR_FROMS], read_hit[ORR_FROMS],
        read_pending[ORR_FROMS], // pending: merged with a miss under way
        read_widened[ORR_FROMS]; // fetched with one that missed (l2.sector)
    uint64_t write[ORR_FROMS],
        write_hit[ORR_FROMS];          // hit: nothing had to be read for it, as the profiler counts
    uint64_t write_present[ORR_FROMS]; // what was there before, as Accel-Sim counts
    uint64_t requests;                 // L2 lookups (lines)
    uint64_t slices, busiest_slice, idlest_slice; // slices, and lookups of the one that was asked most, least
    uint64_t dram_read, dram_write;               // sectors
    uint64_t row_hit, row_miss;                   // column accesses that found their row open, or not
    uint64_t evicted, written_back;               // lines; sectors
    uint64_t fetched_for_write;                   // sectors read because they were written in part
    uint64_t failed[2][ORR_FAILS];                // cycles of L2 in which one was not taken; loads, stores
    uint64_t slice_busy, dram_busy;               // ticks, summed over slices and channels
    uint64_t slice_busiest;                       // ticks, of the slice with the most
    orr_atomic_stats atomics;
    orr_far_stats far;   // not in the sums above
    uint64_t notified;   // stores of which a half notified the other
    uint64_t clients[2]; // of each slice: SMs that have asked it for a line of its half, of the other; summed
    uint64_t merged;     // answered with another load, without a lookup (l2.merge)
    uint64_t last;       // ticks: when the last thing happened
} orr_memsys_stats;

typedef struct orr_memsys orr_memsys;
// Called when a slice serves a request with `live`, in the order of time of its partition: a load when its
// sectors are there (of a line of the other half of L2 when they are there, and once more here), a store when
// the slice takes it, an atomic when its turn has come. All requests of a line are served by one partition,
// one at a time.
typedef void orr_serve(void *arg, uint32_t sm, uint32_t live);
orr_memsys *orr_memsys_new(const orr_gpu *g, orr_err *e);
void orr_memsys_free(orr_memsys *m);
void orr_memsys_serve(orr_memsys *m, orr_serve *serve, void *arg); // NULL: nobody
int orr_memsys_partitions(const orr_memsys *m);
int orr_memsys_partition_of(const orr_memsys *m, uint64_t line); // called for every request: cheap
// Which of l2.partitions (the halves of a GH100) holds the line; the caller adds l2.far_latency.
int orr_memsys_side_of(const orr_memsys *m, uint64_t line);
uint32_t orr_memsys_slice_of(const orr_memsys *m, uint64_t line); // a number that its slice has for itself

// Partition p up to `until`: takes over the n new requests (of this partition, none earlier than the last
// `until`; those at or after `until` wait inside for their time) and appends the answers that became certain.
// An answer is never earlier than the `until` of the call before. Different partitions may run at the same
// time on different threads. Requests need not come in order of time; those of the same tick are served in
// the order in which they come.
void orr_memsys_run(orr_memsys *m, int p, const orr_request *r, size_t n, uint64_t until, orr_replies *out);
// Is there anything left to do in p, and when next? UINT64_MAX: nothing.
uint64_t orr_memsys_next(const orr_memsys *m, int p);
// When the busiest of p's slices takes its next request (ticks): how far it is behind.
uint64_t orr_memsys_free_at(const orr_memsys *m, int p);
// Stores of part of a sector that SMs of one half have sent to p and that its slices have not done.
uint32_t orr_memsys_stores_at(const orr_memsys *m, int p, uint32_t half);
// A copy from the host: the lines are in L2 afterwards, no time passes.
void orr_memsys_copy(orr_memsys *m, uint64_t addr, uint64_t bytes);
// An access of an SM (-1: any) that nobody simulated: its sectors are in L2 afterwards, no time passes.
void orr_memsys_warm(orr_memsys *m, int sm, const orr_touched *t);
void orr_memsys_flush(orr_memsys *m); // L2 empty; dirty data forgotten; nothing may be under way, or restart
void orr_memsys_restart(orr_memsys *m);                              // time is 0 again; caches stay
void orr_memsys_stats_sum(const orr_memsys *m, orr_memsys_stats *s); // since the last restart
// Of these statistics only the sectors of L2, looked up in both halves, and of DRAM, of partition p; they are
// added.
void orr_memsys_sectors(const orr_memsys *m, int p, uint64_t *l2, uint64_t *dram);
// What the barriers take that SMs send when a kernel ends, to every slice that they have asked for something
// (see orr_memsys_stats.asked): all of them at once, so that a slice has one of each SM, and three for lines
// of the other half, one after the other (l2.fence_interval); to the other half it is half of l2.far_latency.
// Ticks, besides what a lone one takes in the SM's own half (launch.drain).
uint64_t orr_memsys_barriers(const orr_memsys *m);

#endif
