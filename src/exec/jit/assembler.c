// The assembler (assembler.h): encodings of the instructions that compiled blocks use.
#include "exec/jit/assembler.h"

#include <string.h>

void as_byte(assembler *a, unsigned byte) {
    if (a->at < a->end)
        *a->at++ = (uint8_t)byte;
    else
        a->full = true;
}

void as_bytes(assembler *a, const void *bytes, size_t n) {
    if ((size_t)(a->end - a->at) < n) {
        a->full = true;
        return;
    }
    memcpy(a->at, bytes, n);
    a->at += n;
}

static void put32(assembler *a, uint32_t v) { as_bytes(a, &v, 4); }

// ModRM, SIB where the base needs one, and the displacement, of which a byte says how many times `each`.
static void operand_of(assembler *a, int reg, rm x, int32_t each) {
    unsigned r = (unsigned)(reg & 7) << 3, b = x.reg & 7u;
    if (!x.memory) {
        as_byte(a, 0xc0 | r | b);
        return;
    }
    int32_t times = x.disp / each;
    bool small = times * each == x.disp && times >= -128 && times <= 127;
    as_byte(a, (small ? 0x40 : 0x80) | r | b);
    if (b == 4) as_byte(a, 0x24);
    if (small)
        as_byte(a, (uint8_t)times);
    else
        put32(a, (uint32_t)x.disp);
}
static void operand(assembler *a, int reg, rm x) { operand_of(a, reg, x, 1); }

// ---- vectors --------------------------------------------------------------------------------
static void vex(assembler *a, int op, unsigned length, int reg, int first, rm x) {
    unsigned r = reg > 7 ? 0 : 0x80, b = x.reg > 7 ? 0 : 0x20;
    as_byte(a, 0xc4);
    as_byte(a, r | 0x40 | b | (unsigned)(op >> 16 & 15));
    as_byte(a, (unsigned)(~first & 15) << 3 | length << 2 | (unsigned)(op >> 8 & 3));
    as_byte(a, (unsigned)op & 0xff);
    operand(a, reg, x);
}

// There are 32 registers: a bit more of each number, inverted like the others.
void as_masked(assembler *a, int op, int k, int reg, int first, rm x) {
    unsigned r = reg & 8 ? 0 : 0x80, r16 = reg & 16 ? 0 : 0x10, b = x.reg & 8 ? 0 : 0x20;
    unsigned x16 = !x.memory && x.reg & 16 ? 0 : 0x40, v16 = first & 16 ? 0 : 8;
    as_byte(a, 0x62);
    as_byte(a, r | x16 | b | r16 | (unsigned)(op >> 16 & 15));
    as_byte(a, (op & EVEX_W ? 0x80u : 0) | (unsigned)(~first & 15) << 3 | 4 | (unsigned)(op >> 8 & 3));
    as_byte(a, 0x40 | v16 | (unsigned)k);
    as_byte(a, (unsigned)op & 0xff);
    operand_of(a, reg, x, op & ONE_WORD ? 4 : 64);
}

void as_vector(assembler *a, int op, int reg, int first, rm x) {
    if (a->wide)
        as_masked(a, op, 0, reg, first, x);
    else
        vex(a, op, op != VMOVD, reg, first, x);
}

void as_mask(assembler *a, int op, int reg, int first, rm x) {
    vex(a, V(1, 0, op), op == KANDW, reg, first, x);
}

void as_vector_imm(assembler *a, int op, int reg, int first, rm x, unsigned imm) {
    as_vector(a, op, reg, first, x);
    as_byte(a, imm);
}

void as_shift(assembler *a, int byte, int how, int reg, int x, unsigned by) {
    as_vector_imm(a, V(1, 1, 0) | byte, how, reg, rm_reg(x), by);
}

// ---- general registers ----------------------------------------------------------------------
static void rex(assembler *a, bool wide, int reg, int b) {
    unsigned v = 0x40u | (wide ? 8u : 0) | (reg > 7 ? 4u : 0) | (b > 7 ? 1u : 0);
    if (v != 0x40) as_byte(a, v);
}

void as_general(assembler *a, bool wide, int op, int reg, rm x) {
    rex(a, wide, reg, x.reg);
    as_byte(a, (unsigned)op);
    operand(a, reg, x);
}

void as_load_byte(assembler *a, int reg, rm x) {
    rex(a, false, reg, x.reg);
    as_byte(a, 0x0f);
    as_byte(a, 0xb6);
    operand(a, reg, x);
}

void as_load_half(assembler *a, int reg, rm x) {
    rex(a, false, reg, x.reg);
    as_byte(a, 0x0f);
    as_byte(a, 0xb7);
    operand(a, reg, x);
}

void as_number(assembler *a, int reg, uint64_t value) {
    bool wide = value >> 32;
    rex(a, wide, 0, reg);
    as_byte(a, 0xb8u | (unsigned)(reg & 7));
    as_bytes(a, &value, wide ? 8 : 4);
}

void as_group(assembler *a, bool wide, int how, int reg, uint32_t imm) {
    rex(a, wide, 0, reg);
    as_byte(a, 0x81);
    operand(a, how, rm_reg(reg));
    put32(a, imm);
}

void as_shift_general(assembler *a, int how, int reg, unsigned by) {
    if (!by) return;
    rex(a, false, 0, reg);
    as_byte(a, 0xc1);
    operand(a, how, rm_reg(reg));
    as_byte(a, by);
}

void as_push(assembler *a, int reg) {
    rex(a, false, 0, reg);
    as_byte(a, 0x50u | (unsigned)(reg & 7));
}

void as_pop(assembler *a, int reg) {
    rex(a, false, 0, reg);
    as_byte(a, 0x58u | (unsigned)(reg & 7));
}

void as_call(assembler *a, int reg) {
    rex(a, false, 0, reg);
    as_byte(a, 0xff);
    operand(a, 2, rm_reg(reg));
}

uint8_t *as_jump(assembler *a, int condition) {
    if (condition == JUMP_ALWAYS) {
        as_byte(a, 0xe9);
    } else {
        as_byte(a, 0x0f);
        as_byte(a, 0x80u | (unsigned)condition);
    }
    put32(a, 0);
    return a->at;
}

void as_here(assembler *a, uint8_t *jump) {
    int32_t by = (int32_t)(a->at - jump);
    if (!a->full) memcpy(jump - 4, &by, 4);
}
