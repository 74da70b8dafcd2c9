// What machine code finds around it: the driver's part of constant bank 0, special registers, and the
// functions of the device runtime.
//
// Constant bank 0 begins with what the driver fills in for each launch, then come the kernel's parameters.
// Where things are was read from the code that ptxas 13.0 makes of PTX's special registers, of cvta and
// isspacep, for each architecture:
//
//                        sm_75   sm_80 to 89  sm_90   sm_100, 120
//   blockDim (3 words)   0x0     0x0          0x0     0x360
//   gridDim (3 words)    0xc     0xc          0xc     0x370
//   window of shared     0x18    0x18         -       -            64 bits; else SR_SWINHI is its upper half
//   window of local      0x20    0x20         0x20    0x2f8        64 bits
//   top of the stack     0x28    0x28         0x28    0x37c        what R1 begins with
//   dynamic shared       0x2c    0x2c         0x2c    0x2ac
//   %gridid              0x30    0x30         0x30    0x140        64 bits
//   bank 0 itself        0x40    0x40         -       -            generic address, for __grid_constant__
//   parameters           -       -            0x198   0x348        the same of the parameters
//   and their last byte  0x114   0x12c        0x1a0   0x350        (sm_75 to 89: 32 bits, offset in the bank)
//   __constant__ (c[3])  0x50    0x50         0xd0    0x120        generic address
//   %envreg0             0x88    0x88         0x40    0x250
//   %nsmid               0x10c   0x10c        0x10c   0x2d0
//   system's shared      -       0x114        0x114   0x16c        bytes of it in SR_SMEMSZ
//   its end, second part -       0x120        0x68    0x278        2 words
//   memory descriptor    -       0x118        0x208   0x358        64 bits, goes to desc[UR]
//   cluster: explicit    -       -            0x140   0x36c
//     its blocks x y z   -       -            0x144   0x2a0        3 words
//     1/x 1/y 1/z        -       -            0x150   0x2b0        3 floats
//     largest shared     -       -            0x13c   0x2bc
//     clusters x y z     -       -            0x15c   0x2c0        3 words
//     its blocks         -       -            0x188   0x2cc
//
// Shared memory of sm_90 and later begins with 1024 bytes of the system's, so that the kernel's own variables
// begin at 0x400; before, they are behind everything else. In bits 24 and up of a shared address is the
// block's rank in its cluster (SR_CgaCtaId), 0 here: a cluster is one block.
#include <string.h>

#include "exec/machine.h"

// ---- constant bank 0 ------------------------------------------------------------------------
typedef struct bank0 {
    uint8_t *at;
    uint32_t bytes;
} bank0;

static void put32(bank0 b, uint32_t offset, uint32_t value) {
    if (offset <= b.bytes && b.bytes - offset >= 4) memcpy(b.at + offset, &value, 4);
}
static void put64(bank0 b, uint32_t offset, uint64_t value) {
    put32(b, offset, (uint32_t)value);
    put32(b, offset + 4, (uint32_t)(value >> 32));
}
static void put3(bank0 b, uint32_t offset, const uint32_t v[3]) {
    for (uint32_t n = 0; n < 3; n++) put32(b, offset + 4 * n, v[n]);
}

// Shared memory of a block as the machine counts it, and where the system's part begins.
static uint32_t shared_size(const orr_launch *l, unsigned sm, uint32_t *system) {
    uint64_t own = ((uint64_t)l->kernel->shared_bytes + 15) / 16 * 16 + l->dynamic_shared;
    *system = 0;
    if (sm >= 90) return (uint32_t)((own < RESERVED ? RESERVED : own) + 127) & ~127u;
    own = (own + 127) & ~127ull;
    *system = (uint32_t)own;
    return (uint32_t)own + (sm >= 80 ? RESERVED : 0);
}

static void put_cluster(bank0 b, const orr_launch *l, uint32_t shape, uint32_t inverse, uint32_t grid,
                        uint32_t rank) {
    const uint32_t one[3] = {1, 1, 1}, one_f32[3] = {0x3f800000, 0x3f800000, 0x3f800000};
    put3(b, shape, one);
    put3(b, inverse, one_f32);
    put3(b, grid, l->grid);
    put32(b, rank, 1);
}

void orr_sass_bank0(uint8_t *bank, uint32_t bytes, unsigned sm, const orr_launch *l, uint32_t local_bytes) {
    bank0 b = {bank, bytes};
    const orr_kernel *k = l->kernel;
    uint32_t system, shared = shared_size(l, sm, &system), last = k->param_bytes ? k->param_bytes - 1 : 0;
    uint32_t stack = local_bytes & ~15u, sms = l->sm_count ? l->sm_count : 1, var = k->bank_var[3];
    uint64_t grid = (uint64_t)l->index + 1, constants = var && l->image ? l->image->var_addr[var - 1] : 0;
    if (sm >= 100) {
        put3(b, 0x360, l->block);
        put3(b, 0x370, l->grid);
        put64(b, 0x2f8, ORR_LOCAL_WINDOW);
        put32(b, 0x37c, stack);
        put32(b, 0x2ac, l->dynamic_shared);
        put64(b, 0x140, grid);
        put64(b, 0x348, ORR_PARAM_WINDOW);
        put64(b, 0x350, ORR_PARAM_WINDOW + last);
        put64(b, 0x120, constants);
        put32(b, 0x2d0, sms);
        put32(b, 0x16c, RESERVED);
        put32(b, 0x278, RESERVED);
        put32(b, 0x27c, RESERVED / 2);
        put32(b, 0x2bc, shared);
        put_cluster(b, l, 0x2a0, 0x2b0, 0x2c0, 0x2cc);
        return;
    }
    put3(b, 0x0, l->block);
    put3(b, 0xc, l->grid);
    put64(b, 0x20, ORR_LOCAL_WINDOW);
    put32(b, 0x28, stack);
    put32(b, 0x2c, l->dynamic_shared);
    put64(b, 0x30, grid);
    put32(b, 0x10c, sms);
    if (sm >= 90) {
        put64(b, 0x198, ORR_PARAM_WINDOW);
        put64(b, 0x1a0, ORR_PARAM_WINDOW + last);
        put64(b, 0xd0, constants);
        put32(b, 0x114, RESERVED);
        put32(b, 0x68, RESERVED);
        put32(b, 0x6c, RESERVED / 2);
        put32(b, 0x13c, shared);
        put_cluster(b, l, 0x144, 0x150, 0x15c, 0x188);
        return;
    }
    put64(b, 0x18, ORR_SHARED_WINDOW);
    put64(b, 0x40, ORR_PARAM_WINDOW - k->param_base);
    put64(b, 0x50, constants);
    put32(b, sm >= 80 ? 0x12c : 0x114, k->param_base + last);
    if (sm < 80) return;
    put32(b, 0x114, RESERVED);
    put32(b, 0x120, system + RESERVED);
    put32(b, 0x124, system + RESERVED / 2);
}
