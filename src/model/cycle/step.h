// Kernels that are executed as they are timed (exec/step.h): what the SM and the memory do for it.
//
// A warp's instruction is executed when it is issued (cyc_step_issue). Its accesses of global memory travel
// with it through the load/store unit and are performed when they are served (core/perform.h).
#ifndef ORR_CYCLE_STEP_H
#define ORR_CYCLE_STEP_H

#include "core/perform.h"
#include "model/cycle/sm.h"

// A launch begins; NULL for one that is replayed from streams.
void cyc_step_begin(cycle *c, orr_step *launch);
void cyc_step_finish(cycle *c);

// A partition has been handed these requests.
void cyc_step_expect(const cycle *c, const orr_request *r, size_t n);

// ---- warps
bool cyc_step_next_block(sm *s, warp *w);
orr_step_access *cyc_step_issue(sm *s, warp *w, const orr_tinst *i);
void cyc_step_sleep(const sm *s, warp *w); // if its last instruction says so
void cyc_step_barrier(sm *s, warp *w, const orr_tinst *i);

#endif
