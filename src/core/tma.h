// The tensor memory accelerator of an SM (TMA): bulk copies between memory and shared memory.
//
// Copies are taken one after the other. A copy is a box of rows: each row's lines are requests that leave
// through the SM's port past L1, one every `interval` cycles, a few at a time (`tma_turn`), so that others
// can leave in between; no more than `requests` are unanswered. What is loaded is there when its last answer
// has come, and is written to shared memory beside what the data pipe does; what is stored has been read when
// its last packet has left. A tensor map (descriptor) is fetched first, once for each SM and launch.
//
// Invariants: copies begin in the order in which they were asked for and are `at` one place in `queue`; a
// copy's place is given back when nothing of it is outstanding; a turn is due exactly while the queue is not
// empty and the unit does not wait for answers.
//
// The component sends through the port, and reports copies that are done (tma_client): who waits for them is
// the mbarrier's, or the warp's, to know.
#ifndef ORR_CORE_TMA_H
#define ORR_CORE_TMA_H

#include "core/kinds.h"
#include "core/pipe.h"
#include "core/port.h"
#include "program/program.h"

#define TMA_DIMS 4 // of rows in a box

typedef struct tma_spec {
    double interval;        // cycles for a line
    uint64_t latency;       // from the last line of a load until who waits for it goes on
    uint64_t store_latency; // from the last packet of a store until its warp knows that it has been read
    uint64_t map_miss;      // more for a tensor map that is not there
    uint32_t requests;      // unanswered, at most
    bool perfect;           // there is no memory: copies take the latency of L2
    uint64_t l2_latency;
} tma_spec;

typedef struct tma_maps { // tensor maps that the SM has used in a launch
    orr_map ready;        // by address: the cycle in which each is there, + 1
    uint64_t prefetched;  // when some were asked for ahead; 0: none were
} tma_maps;
void tma_maps_reset(tma_maps *m);
// When a copy that begins at `now` has its map, which takes `miss` cycles the first time.
uint64_t tma_maps_ready(tma_maps *m, uint64_t miss, uint64_t map, uint64_t now);
static inline void tma_maps_prefetch(tma_maps *m, uint64_t now) {
    if (!m->prefetched) m->prefetched = now + 1;
}

typedef struct tma_copy { // one bulk copy
    uint64_t begin;       // address in global memory of its first row
    uint64_t stride[TMA_DIMS];
    uint32_t count[TMA_DIMS]; // rows
    uint32_t row;             // bytes of a row
    uint32_t bytes;           // in all, of shared memory
    uint8_t kind;             // TMA_*
    uint8_t group;            // of its warp's copies; stores and reductions
    uint32_t warp, slot;      // who asked for it, in which of the SM's places for thread blocks,
    uint64_t block;           // the thread block that was there then
    uint64_t mbar;            // address of the mbarrier it arrives at,
    uint32_t to;              //   in the blocks of the cluster with these ranks; 0: in its own
    uint64_t map;             // address of the tensor map; 0: none
    // under way:
    uint64_t ready;                    // not before
    uint32_t row_at[TMA_DIMS], offset; // the next request
    uint32_t open;                     // requests that have not been answered
    bool sent;                         // all of them have been sent
    uint32_t next;                     // in the free list
    uint64_t load;                     // which of the SM's loads it is, from 1; 0: none, or it is done
} tma_copy;

typedef struct tma_client {
    void *self;
    void (*done)(void *self, const tma_copy *copy, uint64_t when);
} tma_client;

typedef struct tma_counters {
    uint64_t copies, bytes, sectors; // asked for; moved; asked of L2 or sent there
    uint64_t kind[TMA_KINDS];        // sectors
} tma_counters;

typedef struct tma_unit {
    const tma_spec *spec;
    sm_port *port;
    data_pipe *pipe;
    event_queue *clock;
    tma_client client;
    ORR_VEC(tma_copy) copies;
    ORR_VEC(uint32_t) queue; // copies that have not been sent, from `first` on
    size_t first;
    uint32_t free_copy, open;
    bool turning; // a turn is due
    double next;  // cycle of the next request
    tma_maps maps;
    uint64_t loads; // that there have been
    tma_counters n;
} tma_unit;

void tma_spec_read(tma_spec *s, const orr_gpu *g);
void tma_init(tma_unit *t, const tma_spec *s, sm_port *port, data_pipe *pipe);
void tma_reset(tma_unit *t);
void tma_free(tma_unit *t);

// The n-th bulk copy of an access of a stream (ORR_BULK_LANES); false: it has no more.
bool tma_copy_of(const orr_tinst *i, const orr_access *a, uint32_t n, tma_copy *c);
typedef struct tma_line { // what the next request of a copy is for
    uint64_t line;
    uint64_t bytes[2]; // of it
    uint8_t sectors;
} tma_line;
tma_line tma_next_line(tma_copy *c); // the copy goes on behind it; `sent`: it was the last

void tma_issue(tma_unit *t, const tma_copy *copy, uint64_t now);
// Events, and what their payload says (EVENT_TMA).
enum { TMA_TURN = 1 << 26, TMA_ANSWER = 2 << 26, TMA_MESSAGE = 3 << 26, TMA_EVENTS = 3 << 26 };
void tma_turn(tma_unit *t);
// The first of the SM's loads that is not there (tma_copy.load); NEVER: all are.
uint64_t tma_first_open(const tma_unit *t);
void tma_answer(tma_unit *t, uint32_t copy, uint64_t ready);

#endif
