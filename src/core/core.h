// What the components of an SM have in common.
//
// Everything an instruction waits for is a time: a register has the cycle from which it may be read, a unit
// the cycle in which it is free. Nothing ticks; an SM goes from one cycle in which something can happen to
// the next. A time that only the memory system can tell, such as when a miss is filled, is NEVER until the
// answer is there.
//
// A component has a spec, which is read once from the description of a GPU and is shared by all SMs, and a
// state. Its reset function assigns the whole state at once and names only what outlives a launch (the spec
// and buffers), so a field that is added starts each launch at zero.
#ifndef ORR_CORE_H
#define ORR_CORE_H

#include "base/base.h"
#include "gpu/gpu.h"

#define NEVER     UINT64_MAX
#define NOBODY    UINT32_MAX
#define MAX_SCHED 64 // schedulers of an SM
#define MAX_WARPS 64 // warps of a scheduler: it chooses on a bit mask

// A warp's number on its SM.
static inline uint32_t warp_number(uint32_t sched, uint32_t slot) { return sched * MAX_WARPS + slot; }

// A latency of the description in whole cycles.
static inline uint64_t whole_cycles(double v) { return v > 0 ? (uint64_t)(v + 0.5) : 0; }
// The sub-core of a scheduler, where each has so many; a division where that is more than one.
static inline uint32_t sub_core_of(uint32_t sched, uint32_t per_sub) {
    return per_sub == 1 ? sched : sched / per_sub;
}
static inline uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

#endif
