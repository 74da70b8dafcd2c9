// The counter of a profiler's pipe: the counters stand in counters.def in the order of the pipes.
#ifndef ORR_PIPES_H
#define ORR_PIPES_H

#include "model/model.h"

_Static_assert(ORR_C_PIPE_UNIFORM - ORR_C_PIPE_ALU == ORR_PIPE_UNIFORM - ORR_PIPE_ALU, "one counter a pipe");
_Static_assert(ORR_C_PIPE_TENSOR - ORR_C_PIPE_ALU == ORR_PIPE_TENSOR - ORR_PIPE_ALU, "in the same order");
_Static_assert(ORR_C_PIPE_ADU - ORR_C_PIPE_ALU == ORR_PIPE_ADU - ORR_PIPE_ALU, "in the same order");

static inline int orr_pipe_counter(enum orr_pipe p) { // -1: nowhere
    return p == ORR_PIPE_NONE ? -1 : (int)ORR_C_PIPE_ALU + (int)p - (int)ORR_PIPE_ALU;
}

#endif
