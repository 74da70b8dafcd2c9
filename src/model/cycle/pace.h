// What a program's instructions take, for the executor's order of warps that race (pace.c).
#ifndef ORR_CYCLE_PACE_H
#define ORR_CYCLE_PACE_H

#include "exec/exec.h"
#include "model/cycle/sm.h"

typedef struct cyc_pace {
    orr_pace pace;
    const cycle *c;
    uint32_t *wave; // the SM of each of the first thread blocks
    size_t nwave;
} cyc_pace;
// For a launch of so many thread blocks, `each` of which an SM holds.
cyc_pace *cyc_pace_new(const cycle *c, const orr_program *p, uint64_t blocks, uint32_t each);
void cyc_pace_free(cyc_pace *x);

#endif
