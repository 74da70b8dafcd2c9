// Private to sass/: a module of machine code while it is open.
#ifndef ORR_LIFT_H
#define ORR_LIFT_H

#include "sass/cubin.h"
#include "sass/module.h"

typedef struct sass_front {
    orr_cubin *cubin;
    uint64_t *address;    // of each of the cubin's functions, in the module's code
    uint32_t *func_of;    // [section]: the function it is, + 1
    uint32_t *var_of;     // [section]: the module's variable it is, + 1
    const char **missing; // names of functions that are not in the file, from ORR_CODE_MISSING on
    uint32_t nmissing;
    bool system;          // it has symbols of functions that the executor provides
    bool *taken;          // [function]: its address is in a variable
    orr_kernel **kernels; // as they were loaded
    orr_map kernel_of;    // name: index + 1
} sass_front;

// Kinds of relocation, by the numbers that nvcc 13 and cuobjdump -elf have for them.
enum {
    R_CUDA_NONE = 0,
    R_CUDA_32 = 1,
    R_CUDA_64 = 2,
    R_CUDA_G32 = 3, // generic addresses
    R_CUDA_G64 = 4,
    R_CUDA_FUNC_DESC_32 = 34, // what a launch from a kernel names a kernel by
    R_CUDA_FUNC_DESC_64 = 35,
    R_CUDA_ABS32_LO_32 = 56, // half of an address in bits 32 to 63 of an instruction
    R_CUDA_ABS32_HI_32 = 57,
    R_CUDA_ABS47_34 = 58, // an address from bit 34 on, without its lowest two bits: a call
    R_CUDA_FUNC_DESC32_LO_32 = 62,
    R_CUDA_FUNC_DESC32_HI_32 = 63,
    R_CUDA_ABS55_16_34 = 75, // eight bits at 16, the rest from bit 34 on
};

// What a relocation's symbol is: a function (then *address) or a part of a variable (*var, *address is the
// offset). False: neither.
bool sass_resolve(const sass_front *f, const orr_cubin_reloc *r, bool *function, uint32_t *var,
                  uint64_t *address);
// A function that nvcc has linked in and the executor provides itself: its code is never executed.
bool sass_provided(const orr_cubin_symbol *y);
// The kernel: instructions, blocks, functions (lift.c).
void sass_effects(orr_kernel *k); // may its thread blocks run in any order (effects.c)
orr_kernel *sass_lift(orr_module *m, const orr_cubin_func *entry, orr_err *e);

#endif
