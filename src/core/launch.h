// What the components of all SMs know of the launch that is under way.
#ifndef ORR_CORE_LAUNCH_H
#define ORR_CORE_LAUNCH_H

#include "memory/space.h"
#include "program/program.h"

typedef struct core_launch {
    const orr_program *program;
    uint64_t local_frame; // of a warp, in lines
    uint64_t l1_bytes;    // of L1, that shared memory leaves
    bool perfect;         // memory always hits in L1
} core_launch;

#endif
