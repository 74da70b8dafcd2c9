// State spaces: where a generic address leads, and where in the numbering of lines local memory is.
//
// Generic addresses have a window for each of shared memory, local memory and parameters; all others are
// global memory's. A warp's access is resolved by its first lane, as all its lanes usually go to one space.
//
// Local memory has line numbers of its own, far from all others (ORR_LOCAL_LINES on), so that caches tell
// them apart. Word w of a thread lies beside word w of the other threads of its warp, so a line is one word
// of all lanes. Each warp that a GPU can hold has a stack there (local.stack), one behind the other, and
// above each some bytes that kernels do not use (local.above). A kernel's frame is at the stack's upper end
// in machine code, at the lower end in PTX. What is not on the stack, or all of it where stacks are not
// known, is in pieces of the frame's size, those of all warps side by side.
#ifndef ORR_SPACE_H
#define ORR_SPACE_H

#include "gpu/gpu.h"
#include "isa/isa.h"
#include "stream/stream.h"

// The space that a generic address leads to: SHARED, LOCAL, CONST (parameters are read as constants) or
// GLOBAL.
static inline uint8_t orr_space_at(uint64_t addr) {
    uint8_t space = orr_generic_space(addr);
    return space == ORR_SPACE_PARAM ? ORR_SPACE_CONST : space;
}
// The same for an address of an instruction whose own space may be generic.
static inline uint8_t orr_space_of(uint8_t space, uint64_t addr) {
    return space == ORR_SPACE_GENERIC ? orr_space_at(addr) : space;
}
// Where a space that generic addresses lead to begins: what is subtracted to get an offset in it.
static inline uint64_t orr_space_window(uint8_t space) {
    return orr_generic_window(space == ORR_SPACE_CONST ? ORR_SPACE_PARAM : space);
}

// Resolves a generic access by its first lane: returns its space; addresses become offsets in shared or local
// memory. An access of another space, or of no lane, stays as it is.
static inline uint8_t orr_space_resolve(orr_access *a, uint8_t space) {
    if (space != ORR_SPACE_GENERIC || !a->mask) return space;
    space = orr_space_at(a->addr[orr_ffs(a->mask)]);
    if (space != ORR_SPACE_SHARED && space != ORR_SPACE_LOCAL) return space;
    uint64_t window = orr_space_window(space);
    for (uint32_t m = a->mask; m; m &= m - 1) a->addr[orr_ffs(m)] -= window;
    return space;
}

#define ORR_LOCAL_LINES (1ull << 56) // numbers of local memory's lines begin here

typedef struct orr_local_layout { // of a kernel's local memory; all in lines
    uint64_t frame;               // a warp's frame, a power of two
    uint64_t stack;               // a warp's stack; 0: stacks are not known
    uint64_t stride;              // from one warp's stack to the next one's
    uint64_t first;               // the line of the stack that is line 0 of the kernel's (modulo 2^64)
} orr_local_layout;

orr_local_layout orr_local_layout_of(const orr_gpu *g, const orr_kernel *k);

#define ORR_LOCAL_PIECE 36 // lines of a piece of all warps' frames, log2

// From a line of local memory to the same one of the next warp, of those that all SMs can hold.
static inline uint64_t orr_local_stride(const orr_local_layout *l, uint64_t line) {
    return line - ORR_LOCAL_LINES < 1ull << ORR_LOCAL_PIECE ? l->stride : l->frame;
}
// The number of a line of local memory, which the kernel's threads of one warp call `line`; `warp` numbers
// the warps that all SMs can hold.
static inline uint64_t orr_local_line(const orr_local_layout *l, uint64_t warp, uint64_t line) {
    uint64_t row = line + l->first;
    if (row < l->stack) return ORR_LOCAL_LINES + warp * l->stride + row;
    return ORR_LOCAL_LINES + ((line / l->frame + 1) << ORR_LOCAL_PIECE) + warp * l->frame + line % l->frame;
}

#endif
