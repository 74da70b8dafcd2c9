// Barriers over the grid, made by hand: what each costs, by the number of blocks. All of them must be resident.
//
//   grid_phase  blocks count; the last one sets the count back and begins a new phase, at which all others look
//   grid_flip   as cooperative groups do it: one word, to which block 0 adds what is missing until its top bit
//               flips when all have come; all look at it
// To be timed from outside.
#include "micro.h"

KERNEL grid_phase(u32 *word, u32 rounds) {
    u32 *count = word, *phase = word + 32;
    for (u32 i = 0; i < rounds; i++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            u32 old = *(volatile u32 *)phase;
            if (atomicAdd(count, 1) == gridDim.x - 1) {
                *count = 0;
                __threadfence();
                atomicAdd(phase, 1);
            } else {
                while (*(volatile u32 *)phase == old) {}
            }
            __threadfence();
        }
        __syncthreads();
    }
}

KERNEL grid_flip(u32 *word, u32 rounds) {
    for (u32 i = 0; i < rounds; i++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            u32 mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
            __threadfence();
            u32 old = atomicAdd(word, mine);
            while (((old ^ *(volatile u32 *)word) >> 31) == 0) {}
            __threadfence();
        }
        __syncthreads();
    }
}
