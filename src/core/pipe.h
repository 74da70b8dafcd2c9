// The data pipe that L1 and shared memory share: one instruction after the other has their banks.
//
// Invariants: an instruction begins when the one before it has left the pipe, or later; `start` and `delay`
// are those of the instruction that began last.
#ifndef ORR_CORE_PIPE_H
#define ORR_CORE_PIPE_H

#include "core/core.h"

typedef struct data_pipe {
    uint64_t free;  // when it takes the next instruction
    uint64_t start; // when the last one began
    uint64_t delay; // how much later than that its warp has it: the warp's instruction before had conflicts
    bool shared;    // the last one is of shared memory
    uint32_t read_beside; // passes in which L1 has read out lines since that began
} data_pipe;

// An instruction that is there at `t` takes the pipe for so many cycles.
static inline void pipe_begin(data_pipe *p, uint64_t t, uint32_t cycles) {
    p->start = latest(t, p->free);
    p->free = p->start + cycles;
    p->delay = 0;
    p->shared = false;
}

// As pipe_begin, for an access of shared memory, which is in L1's banks. What has been read out of them
// during its last access comes off the time of those behind this one (H200: micro/tiles, 8 blocks an SM that
// load tiles and multiply them take 7 % longer than the products alone; without this they would take 1 %
// longer).
static inline void pipe_begin_shared(data_pipe *p, uint64_t t, uint32_t cycles) {
    uint64_t idle = t > p->free ? t - p->free : 0;
    pipe_begin(p, t, cycles);
    if (p->read_beside > idle) p->free += p->read_beside - idle;
    p->read_beside = 0;
    p->shared = true;
}

static inline void pipe_hold(data_pipe *p, uint64_t until) {
    if (p->free < until) p->free = until;
}

// The banks are read beside: it comes off the time of accesses of shared memory, where that is not idle.
static inline void pipe_beside(data_pipe *p, uint32_t cycles) {
    enum { MOST = 64 };
    p->read_beside = p->read_beside + cycles < MOST ? p->read_beside + cycles : MOST;
}

// A warp's access with conflicts takes lsu.replay cycles for each pass, and its next one begins behind that;
// the banks are free for others in between (H200: micro/rows, bank_* and pair: of one warp 64 cycles for 32
// passes, of four warps 128, in one sub-core or in four).
static inline void pipe_wait(data_pipe *p, uint64_t until) {
    if (until > p->start + p->delay) p->delay = until - p->start;
}

#endif
