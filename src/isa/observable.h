// Kernels whose threads can see each other's accesses while they run.
//
// What such a kernel does depends on when its threads do it. A model with time executes it as it is timed
// (exec/step.h); all others are executed first and timed from their streams.
#ifndef ORR_OBSERVABLE_H
#define ORR_OBSERVABLE_H

#include "isa/isa.h"

enum orr_observable {
    ORR_OBS_ATOMIC = 1, // an atomic of global memory whose result is used
    ORR_OBS_POLL = 2,   // a volatile or strong load of global memory
    ORR_OBS_SHARED = 4, // an atomic of shared memory whose result is used
    ORR_OBS_CLOCK = 8,  // a clock is read
    ORR_OBS_GUARD = 16, // a load decides whether the word that it has loaded is reduced
    ORR_OBS_RACE = 32,  // a plain load finds what a plain store of another warp has left (orr_launch_races)
};

uint32_t orr_inst_observable(const orr_kernel *k, uint32_t inst); // of one instruction; 0: it is private
uint32_t orr_kernel_observable(const orr_kernel *k);              // of all of them; 0: none is
// May plain loads find what plain stores of other threads have left, as far as its code tells? Whether they
// do is seen when it is launched: it has to do with addresses (exec/exec.h, orr_launch_races).
bool orr_kernel_may_race(const orr_kernel *k);
bool orr_kernel_orders(const orr_kernel *k); // its threads write what others poll or swap
// Do its streams hold one outcome of several that it could have had? Its threads see each other's accesses,
// or wait at mbarriers: their streams say how many arrivals a wait needs, as there were when it was executed.
bool orr_kernel_one_order(const orr_kernel *k);
void orr_observable_text(const orr_kernel *k, orr_text *t); // why, a line; nothing if it is not

#endif
