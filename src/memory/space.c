// The size of a warp's local memory (space.h).
#include "memory/space.h"

// Bytes a thread: what the driver gives kernels that call functions (cudaLimitStackSize).
#define CALL_STACK 1024
#define MIN_FRAME  16         // lines
#define MAX_FRAME  (1u << 18) // lines: local memory of a warp

static bool calls(const orr_kernel *k) {
    for (uint32_t n = 0; n < k->ninsts; n++)
        if (orr_ops[k->insts[n].op].flags & ORR_F_CALL) return true;
    return false;
}

uint64_t orr_local_frame(const orr_kernel *k) {
    uint64_t frame = MIN_FRAME;
    uint32_t bytes = k->nfuncs ? k->funcs[0].local_bytes : 0;
    if (calls(k)) bytes += CALL_STACK;
    while (frame * 4 < bytes && frame < MAX_FRAME) frame *= 2;
    return frame;
}
