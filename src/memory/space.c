// Local memory's layout (space.h).
#include "memory/space.h"

#define CALL_STACK                                                                                           \
    1024             // bytes a thread: what the driver gives kernels that call functions (cudaLimitStackSize)
#define MIN_FRAME 16 // lines
#define MAX_FRAME (1u << 18) // lines: local memory of a warp

static bool calls(const orr_kernel *k) {
    for (uint32_t n = 0; n < k->ninsts; n++)
        if (orr_ops[k->insts[n].op].flags & ORR_F_CALL) return true;
    return false;
}

// The driver has one piece of memory for the stacks of all warps that the GPU can hold: of its limit for each
// thread, or of what the kernel needs if that is more. Machine code finds its stack's upper end in the
// constant bank and has its frame below (orr_kernel_local).
orr_local_layout orr_local_layout_of(const orr_gpu *g, const orr_kernel *k) {
    orr_local_layout l = {.frame = MIN_FRAME};
    uint32_t frame = k->nfuncs ? k->funcs[0].local_bytes : 0;
    if (calls(k)) frame += CALL_STACK;
    while (l.frame * 4 < frame && l.frame < MAX_FRAME) l.frame *= 2;
    uint64_t limit = (uint64_t)g->local_stack / 4, top = orr_kernel_local(k) / 4;
    uint64_t need = (k->stack_bytes + 15) / 16 * 4;
    l.stack = limit && limit < need ? need : limit;
    l.stride = l.stack + (uint64_t)g->local_above / 4;
    l.first = l.stack - (k->machine ? top : need);
    return l;
}
