// Kernels that are executed as they are timed (exec/step.h): what the SM and the memory do for it.
//
// A warp's instruction is executed when it is issued (cyc_step_issue). An access of global memory travels
// with its instruction through the load/store unit. Each request that leaves the SM for it has an operation
// (orr_request.live), which L2 has done when a slice serves the request (cyc_step_serve): a load's lanes are
// read, an atomic's are read and written, a store's bytes are written. A load that hits in L1, or waits for a
// line that is on its way, is read when L1 looks it up. When the answer has reached the warp the values go
// into its registers (cyc_step_deliver).
//
// An SM sees its own stores in the order of its instructions, although they reach L2 later: a hit in L1 has
// them added to what memory holds, and in front of what else the SM has sent to a line its earlier stores to
// it are done.
#ifndef ORR_CYCLE_STEP_H
#define ORR_CYCLE_STEP_H

#include "exec/step.h"
#include "model/cycle/sm.h"

// A launch begins; NULL for one that is replayed from streams.
void cyc_step_begin(cycle *c, orr_step *launch);
void cyc_step_finish(cycle *c);
orr_source *cyc_step_source(const orr_launch *l, const orr_step *live); // thread blocks without streams

// ---- warps
bool cyc_step_next_block(sm *s, warp *w);
orr_step_access *cyc_step_issue(sm *s, warp *w, const orr_tinst *i);
void cyc_step_barrier(sm *s, warp *w, const orr_tinst *i);

// ---- accesses, at L1
uint32_t cyc_step_lanes(const orr_step_access *a, uint64_t line); // those of the line
uint32_t cyc_step_load(sm *s, orr_step_access *a, uint64_t line); // for a request
void cyc_step_hit(sm *s, orr_step_access *a, uint64_t line);
uint32_t cyc_step_store(sm *s, const orr_step_access *a, uint64_t line);
void cyc_step_join(sm *s, uint32_t store, uint32_t with); // `store` goes with the request of `with`
uint32_t cyc_step_atomic(sm *s, orr_step_access *a, uint32_t lanes, uint64_t line, bool answered);
void cyc_step_deliver(sm *s, orr_step_access *a);
void cyc_step_shared(orr_step_access *a); // shared memory serves it
void cyc_step_settle(sm *s, const warp *w); // what the warp has in line for shared memory is done
void cyc_step_sent(orr_step_access *a); // one that nobody waits for has been looked up

#endif
