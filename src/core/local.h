// Where the warps' local memory is. It has line numbers of its own, far from all others.
//
// Each warp that an SM can hold has a stack (local.stack), one behind the other, SM by SM as the GPU numbers
// them, and above each some bytes that kernels do not use (local.above); a kernel's frame is at the stack's
// upper end. What is not on the stack, or all of it where stacks are not known, is in pieces of the frame's
// size: those of all warps side by side.
#ifndef ORR_CORE_LOCAL_H
#define ORR_CORE_LOCAL_H

#include "memory/memory.h"

#define LOCAL_LINES (1ull << 56)

typedef struct local_layout { // of a launch, in lines: a word of all lanes is a line
    uint64_t frame;           // of a warp
    uint64_t stack;           // of a warp; 0: not known
    uint64_t stack_apart;     // from one warp's stack to the next one's
    uint64_t stack_first;     // which line of the stack a kernel's line 0 is (modulo 2^64)
} local_layout;

// Line `line` of the kernel's local memory, of the GPU's warp number `warp`.
static inline uint64_t local_line(const local_layout *l, uint64_t warp, uint64_t line) {
    uint64_t row = line + l->stack_first;
    if (row < l->stack) return LOCAL_LINES + warp * l->stack_apart + row;
    return LOCAL_LINES + ((line / l->frame + 1) << 36) + warp * l->frame + line % l->frame;
}

#endif
