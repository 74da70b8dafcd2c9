// State spaces: where a generic address leads, and where in the numbering of lines local memory is.
//
// Generic addresses have a window for each of shared memory, local memory and parameters; all others are
// global memory's. A warp's access is resolved by its first lane, as all its lanes usually go to one space.
//
// Local memory has line numbers of its own, far from all others (ORR_LOCAL_LINES on), so that caches tell
// them apart. Word w of a thread lies beside word w of the other threads of its warp, so a line is one word
// of all lanes. Each warp that a GPU can hold has a frame there, those of all warps side by side; what is
// beyond a frame (stacks that grow) is in further pieces of the frame's size.
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
// The space of an address of an instruction whose own space may be generic.
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

// A warp's frame in lines, a power of two.
uint64_t orr_local_frame(const orr_kernel *k);

#define ORR_LOCAL_PIECE 36 // lines of a piece of all warps' frames, log2

// The number of a line of local memory, which the kernel's threads of one warp call `line`; `warp` numbers
// the warps that all SMs can hold.
static inline uint64_t orr_local_line(uint64_t frame, uint64_t warp, uint64_t line) {
    return ORR_LOCAL_LINES + ((line / frame + 1) << ORR_LOCAL_PIECE) + warp * frame + line % frame;
}

#endif
