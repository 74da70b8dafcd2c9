// A warp built by hand, for tests of the executor's handlers: registers are local arrays, an
// instruction is put together operand by operand, and a handler is picked and run on a mask.
#ifndef ORR_TEST_BED_H
#define ORR_TEST_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "exec/block.h"
#include "exec/warp.h"

#define BED_REGS 24

typedef struct bed {
    warp w;
    uint32_t p[BED_REGS] __attribute__((aligned(64)));
    uint16_t h[BED_REGS][ORR_WARP] __attribute__((aligned(64)));
    uint32_t r[BED_REGS][ORR_WARP] __attribute__((aligned(64)));
    uint64_t d[BED_REGS][ORR_WARP] __attribute__((aligned(64)));
    uint64_t q[BED_REGS][ORR_WARP][2] __attribute__((aligned(64)));
    uint64_t constants[BED_REGS][2 * ORR_WARP] __attribute__((aligned(64)));
    orr_kernel kernel;
    orr_operand operands[BED_REGS];
    oper all[BED_REGS];
    orr_inst inst;
    uop u;
} bed;

typedef handlers picker(const orr_kernel *, const orr_inst *, const char **);

static inline uint64_t bed_random(void) { // xorshift64*
    static uint64_t s = 0x9e3779b97f4a7c15ull;
    s ^= s >> 12, s ^= s << 25, s ^= s >> 27;
    return s * 0x2545f4914f6cdd1dull;
}

// Values at which integer operations go wrong, mixed with random ones of every size.
static inline uint64_t bed_value(void) {
    static const uint64_t edge[] = {0,
                                    1,
                                    2,
                                    3,
                                    7,
                                    8,
                                    15,
                                    16,
                                    17,
                                    31,
                                    32,
                                    33,
                                    63,
                                    64,
                                    65,
                                    127,
                                    128,
                                    255,
                                    256,
                                    0x7fff,
                                    0x8000,
                                    0xffff,
                                    0x10000,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x100000000,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0xffffffffffffffff,
                                    0xffffffff80000000,
                                    0x80008000,
                                    0x7fff8000};
    uint64_t x = bed_random();
    switch (x & 3) {
    case 0: return edge[(x >> 8) % (sizeof edge / sizeof *edge)];
    case 1: return 0 - edge[(x >> 8) % (sizeof edge / sizeof *edge)];
    case 2: return bed_random() >> ((x >> 8) & 63);
    default: return bed_random();
    }
}

static inline void bed_start(bed *b, uint16_t op, uint8_t type) {
    memset(b, 0, sizeof *b);
    b->w.bank[BANK_P] = (uint8_t *)b->p;
    b->w.bank[BANK_H] = (uint8_t *)b->h;
    b->w.bank[BANK_W] = (uint8_t *)b->r;
    b->w.bank[BANK_D] = (uint8_t *)b->d;
    b->w.bank[BANK_Q] = (uint8_t *)b->q;
    b->w.bank[BANK_CONST] = (uint8_t *)b->constants;
    b->w.live = FULL;
    b->kernel.operands = b->operands;
    b->kernel.insts = &b->inst;
    b->kernel.ninsts = 1;
    b->inst.op = op;
    b->inst.type = type;
    b->inst.guard = -1;
    b->inst.vec = 1;
}

static inline uint32_t bed_bytes(uint8_t cls) {
    static const uint32_t bytes[] = {4, 64, 128, 256, 512};
    return bytes[cls];
}

// Operands are added destinations first; their register number is their place in the list.
static inline int bed_operand(bed *b, bool dst, uint8_t kind, uint8_t cls) {
    int n = b->inst.ndst + b->inst.nsrc;
    assert_true(n < BED_REGS && (!dst || b->inst.nsrc == 0));
    b->operands[n] = (orr_operand){.kind = kind, .cls = cls, .reg = (uint32_t)n};
    b->all[n] =
        (oper){.off = (uint32_t)n * bed_bytes(cls), .bank = cls, .cls = cls, .none = kind == ORR_K_NONE};
    if (dst)
        b->inst.ndst++;
    else
        b->inst.nsrc++;
    return n;
}
static inline int bed_dst(bed *b, uint8_t cls) { return bed_operand(b, true, ORR_K_REG, cls); }
static inline int bed_src(bed *b, uint8_t cls) { return bed_operand(b, false, ORR_K_REG, cls); }
static inline int bed_imm(bed *b, uint8_t cls, uint64_t value) {
    int n = bed_operand(b, false, ORR_K_IMM, cls);
    b->operands[n].value = value;
    b->all[n].bank = BANK_CONST;
    b->all[n].off = (uint32_t)n * 512;
    uint8_t *to = (uint8_t *)b->constants[n];
    if (cls == ORR_P)
        memset(to, value ? 0xff : 0, 4);
    else
        for (int i = 0; i < ORR_WARP; i++)
            memcpy(to + (size_t)i * bed_bytes(cls) / 32, &value, cls == ORR_Q ? 8 : bed_bytes(cls) / 32);
    return n;
}

// A lane of operand n as raw bits (class P: its bit).
static inline uint64_t bed_get(const bed *b, int n, int lane) {
    const uint8_t *at = b->w.bank[b->all[n].bank] + b->all[n].off;
    uint8_t cls = b->all[n].cls;
    uint64_t v = 0;
    if (cls == ORR_P) {
        uint32_t m;
        memcpy(&m, at, 4);
        return ((b->all[n].neg ? ~m : m) >> lane) & 1;
    }
    uint32_t size = bed_bytes(cls) / 32;
    memcpy(&v, at + (uint32_t)lane * size, size < 8 ? size : 8);
    return v;
}
static inline void bed_set(bed *b, int n, int lane, uint64_t v) {
    uint8_t *at = b->w.bank[b->all[n].bank] + b->all[n].off;
    uint8_t cls = b->all[n].cls;
    if (cls == ORR_P) {
        uint32_t m;
        memcpy(&m, at, 4);
        m = (m & ~(1u << lane)) | (uint32_t)(v & 1) << lane;
        memcpy(at, &m, 4);
        return;
    }
    uint32_t size = bed_bytes(cls) / 32;
    memcpy(at + (uint32_t)lane * size, &v, size < 8 ? size : 8);
}

static inline handlers bed_pick(bed *b, picker *pick) {
    const char *why = NULL;
    b->u = (uop){.all = b->all,
                 .inst = &b->inst,
                 .imm = b->inst.imm,
                 .guard = -1,
                 .ndst = b->inst.ndst,
                 .nsrc = b->inst.nsrc};
    oper none = {.none = 1};
    const oper *src = b->all + b->inst.ndst;
    b->u.d = b->inst.ndst ? b->all[0] : none;
    b->u.a = b->inst.nsrc > 0 ? src[0] : none;
    b->u.b = b->inst.nsrc > 1 ? src[1] : none;
    b->u.c = b->inst.nsrc > 2 ? src[2] : none;
    return pick(&b->kernel, &b->inst, &why);
}

// Pick and run on a mask; the full handler when all lanes are active.
static inline void bed_run(bed *b, picker *pick, uint32_t exec) {
    handlers h = bed_pick(b, pick);
    assert_non_null(h.full);
    assert_non_null(h.masked);
    set_exec(&b->w, exec == FULL ? 0x0f0f0f0f : exec);
    decoded program = {.kernel = &b->kernel};
    tblock tb = {.prog = &program};
    if (!b->w.tb) b->w.tb = &tb;
    b->w.exec = exec; // as in the main loop: `lane` is stale when all lanes are active
    (exec == FULL ? h.full : h.masked)(&b->w, &b->u);
    if (b->w.tb == &tb) b->w.tb = NULL;
}

#endif
