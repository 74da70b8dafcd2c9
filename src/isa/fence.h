// Fences of PTX: orr_inst.cmp of ORR_OP_MEMBAR says what machine code ptxas 13.0 makes of one for sm_90.
#ifndef ORR_ISA_FENCE_H
#define ORR_ISA_FENCE_H

enum {
    ORR_FENCE_PLAIN, // MEMBAR, ERRBAR, CCTL.IVALL as its scope has it
    ORR_FENCE_PROXY, // fence.proxy.async: MEMBAR.ALL without ERRBAR, FENCE.VIEW.ASYNC
    ORR_FENCE_VIEW,  // fence.proxy.async.global: FENCE.VIEW.ASYNC alone
    ORR_FENCE_NONE,  // fence.mbarrier_init: nothing
    ORR_FENCE_MAPS,  // fence.proxy.tensormap that acquires: UTMACCTL.IV
};

#endif
