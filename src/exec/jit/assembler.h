// Private to exec/jit/: x86-64 machine code with AVX2 and FMA or with AVX-512 (F, BW, DQ, VL), written
// instruction by instruction into a buffer.
//
// Manual: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (VEX prefixes: 2.3, EVEX:
// 2.7; opcodes). An operand of an instruction of vectors is a register or [base + displacement]. An operation
// has the same opcode for 256 bits, where it has a VEX prefix, and for 512, where it has an EVEX prefix.
#ifndef ORR_JIT_ASSEMBLER_H
#define ORR_JIT_ASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

typedef struct assembler {
    uint8_t *at, *end; // where the next byte goes; not behind `end`
    bool full;         // something did not fit
    bool wide;         // vectors have 512 bits
} assembler;

typedef struct rm { // register or memory
    bool memory;
    uint8_t reg; // or the base
    int32_t disp;
} rm;
static inline rm rm_reg(int reg) { return (rm){false, (uint8_t)reg, 0}; }
static inline rm rm_mem(int base, int32_t disp) { return (rm){true, (uint8_t)base, disp}; }

// Opcodes of vectors: map of opcodes (1: 0F, 2: 0F38, 3: 0F3A), prefix (1: 66, 2: F3), the byte.
#define V(map, prefix, byte) ((map) << 16 | (prefix) << 8 | (byte))
#define EVEX_W               (1 << 24) // of an EVEX prefix; with VEX it does not matter
#define ONE_WORD             (1 << 25) // the operand in memory is one word, not a vector
enum {
    VMOVDQU = V(1, 2, 0x6f),
    VMOVDQU_TO = V(1, 2, 0x7f),
    VPADDD = V(1, 1, 0xfe),
    VPSUBD = V(1, 1, 0xfa),
    VPMULLD = V(2, 1, 0x40),
    VPMULUDQ = V(1, 1, 0xf4) | EVEX_W,
    VPMULDQ = V(2, 1, 0x28) | EVEX_W,
    VPAND = V(1, 1, 0xdb),
    VPANDN = V(1, 1, 0xdf), // ~first & second
    VPOR = V(1, 1, 0xeb),
    VPXOR = V(1, 1, 0xef),
    VPSLLVD = V(2, 1, 0x47),
    VPSRLVD = V(2, 1, 0x45),
    VPSRAVD = V(2, 1, 0x46),
    VPCMPEQD = V(1, 1, 0x76),
    VPCMPGTD = V(1, 1, 0x66),
    VPMINSD = V(2, 1, 0x39),
    VPMINUD = V(2, 1, 0x3b),
    VPMAXSD = V(2, 1, 0x3d),
    VPMAXUD = V(2, 1, 0x3f),
    VPBLENDVB = V(3, 1, 0x4c),
    VPBLENDD = V(3, 1, 0x02),
    VPSHUFD = V(1, 1, 0x70),
    VADDPS = V(1, 0, 0x58),
    VSUBPS = V(1, 0, 0x5c),
    VMULPS = V(1, 0, 0x59),
    VCMPPS = V(1, 0, 0xc2),
    VMOVMSKPS = V(1, 0, 0x50),
    VFMADD = V(2, 1, 0xb8), // destination += first * second, and so on
    VFMSUB = V(2, 1, 0xba),
    VFNMADD = V(2, 1, 0xbc),
    VFNMSUB = V(2, 1, 0xbe),
    VPBROADCASTD = V(2, 1, 0x58) | ONE_WORD,
    VMOVD = V(1, 1, 0x6e),
    // Of 512 bits only; the destination of comparisons is a mask register.
    VPCMPD = V(3, 1, 0x1f),
    VPCMPUD = V(3, 1, 0x1e),
    VPMOVD2M = V(2, 2, 0x39),
    VPBLENDMD = V(2, 1, 0x64),
    VPTERNLOGD = V(3, 1, 0x25),
};
// Mask registers: from and to a general register or memory.
enum { KMOVW_LOAD = 0x90, KMOVW_FROM = 0x92, KMOVW_TO = 0x93, KNOTW = 0x44, KANDW = 0x41 };

void as_byte(assembler *a, unsigned byte);
void as_bytes(assembler *a, const void *bytes, size_t n);
// reg = first `op` x, three operands; `first` 0 where there are two.
void as_vector(assembler *a, int op, int reg, int first, rm x);
// The same for the lanes in mask register k; the others stay as they are. Of 512 bits.
void as_masked(assembler *a, int op, int k, int reg, int first, rm x);
void as_mask(assembler *a, int op, int reg, int first, rm x);
void as_vector_imm(assembler *a, int op, int reg, int first, rm x, unsigned imm);
// Shifts by a number: byte 0x72 (words) or 0x73 (doublewords) and /2 right, /4 right signed, /6 left.
void as_shift(assembler *a, int byte, int how, int reg, int x, unsigned by);
// General registers. `op` is the byte of an instruction with a register and a register or memory: 0x8b reg =
// x, 0x89 x = reg, 0x8d address, 0x01 x += reg, 0x09 |=, 0x21 &=, 0x29 -=, 0x31 ^=.
void as_general(assembler *a, bool wide, int op, int reg, rm x);
void as_load_byte(assembler *a, int reg, rm x);        // reg = byte, zeros above
void as_load_half(assembler *a, int reg, rm x);        // reg = 16 bits, zeros above
void as_number(assembler *a, int reg, uint64_t value); // reg = value
void as_group(assembler *a, bool wide, int how, int reg,
              uint32_t imm); // /0 +=, /1 |=, /4 &=, /5 -=, /6 ^=, /7 compare
void as_shift_general(assembler *a, int how, int reg, unsigned by); // /4 left, /5 right
void as_push(assembler *a, int reg);
void as_pop(assembler *a, int reg);
void as_call(assembler *a, int reg);
enum { JUMP_EQUAL = 4, JUMP_UNEQUAL = 5, JUMP_ALWAYS = 16 };
uint8_t *as_jump(assembler *a, int condition); // forward; returns what as_here completes
void as_here(assembler *a, uint8_t *jump);

#endif
