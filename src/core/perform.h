// What requests of an SM do to global memory when L2 serves them, for kernels that are executed as they are
// timed (exec/step.h).
//
// Each request that leaves the SM for such an access has an operation (orr_request.live). A slice of L2 has
// it performed when it serves the request: a load's lanes are read, an atomic's are read and written, a
// store's bytes are written. A load that hits in L1, or waits for a line that is pending, is read when L1
// looks it up. When the reply has reached the warp the values go into its registers.
//
// An SM sees its own writes in the order of its instructions, although they reach L2 later: a hit in L1 has
// them added to what memory holds, and in front of what else the SM has sent to a line its earlier writes to
// it are performed.
//
// A request names its operation by its place and how many had the place before. Two halves of L2 serve a load
// twice, the one that has the line and the one that passes it on, and the second time another request may
// have brought the line and the load may have been answered; a store may have been performed in front of
// another access. Then the name is nobody's, and nothing is done.
//
// Invariants: `open` has the writes that may not have been performed in the order in which they were sent,
// and the list of a line's writes is in that order too, less those at its head that have been. perform_serve
// is called while no SM runs, by one partition for all operations of a line, and changes nothing of the SM's
// but `done` and the lanes' values; all else is called by the SM, while nobody writes global memory.
#ifndef ORR_CORE_PERFORM_H
#define ORR_CORE_PERFORM_H

#include "base/base.h"
#include "exec/step.h"
#include "memory/memory.h"

#define PERFORM_LINES 1024 // hashed

typedef struct operation { // what a slice does when it serves a request
    orr_step_access *access;
    uint64_t line, seq;
    uint32_t lanes;
    uint32_t next;          // + 1: of its access, a load; of the writes of its hashed line; of the free ones
    uint32_t partner;       // + 1: a store that goes with it
    uint32_t stored;        // a store: its bytes, + 1
    uint32_t earlier_write; // + 1: the SM's last write to its line that was open when it was made
    uint8_t kind;           // enum orr_step_kind
    bool done;
    bool listed; // a write: in the list of its line
    bool answered;
    uint16_t generation;      // operations that had its place before, modulo 4096
    uint8_t width;            // a load: bytes of a lane
    uint8_t offset[ORR_WARP]; // a load: where in the line each lane's are
} operation;

typedef struct stored_bytes { // of a line
    uint64_t bytes[2];        // which
    uint8_t data[ORR_LINE];
    uint32_t next; // + 1: of the free ones
} stored_bytes;

typedef struct perform_ops { // of an SM
    orr_step *launch;
    ORR_VEC(operation) ops;
    uint32_t free; // + 1
    ORR_VEC(stored_bytes) stored;
    uint32_t free_stored; // + 1
    uint64_t seq;
    uint32_t first[PERFORM_LINES], last[PERFORM_LINES]; // writes by line, in order; + 1
    ORR_VEC(uint32_t) open;                             // all of them: a queue
    size_t open_first;
} perform_ops;

void perform_free(perform_ops *l);
uint32_t perform_lanes(const orr_step_access *a, uint64_t line); // those of the line
// For a request: its operation.
uint32_t perform_load(perform_ops *l, orr_step_access *a, uint64_t line);
uint32_t perform_store(perform_ops *l, const orr_step_access *a, uint64_t line);
uint32_t perform_atomic(perform_ops *l, orr_step_access *a, uint32_t lanes, uint64_t line, bool answered);
// A store goes with another one's request, which from now on has the operation that is returned: the other
// one's, unless that has been performed.
uint32_t perform_join(perform_ops *l, uint32_t store, uint32_t with);
void perform_hit(perform_ops *l, orr_step_access *a, uint64_t line); // L1 serves it
void perform_shared(orr_step_access *a);                             // shared memory does
void perform_sent(orr_step_access *a);                    // one that nobody waits for has been looked up
void perform_deliver(perform_ops *l, orr_step_access *a); // the reply has reached its warp
void perform_serve(perform_ops *l, uint32_t live);        // L2 serves a request
// It will soon: what that needs is fetched into the host's caches, first the operation and the line, then the
// access's values.
void perform_expect(const perform_ops *l, uint32_t live, uint64_t line, bool values);

#endif
