// A small kernel built by hand, and traces for it, for the tests of streams and of the functional model.
//
//   block 0   mov; ld.global.f32; @p bra 2      (1 traced)
//   block 1   @q st.shared.v2.f32; fma          (1 traced), falls into 2
//   block 2   atom.generic.u32; exit            (1 traced)
#ifndef STREAM_RIG_H
#define STREAM_RIG_H

#include "isa/isa.h"
#include "stream/trace.h"

#include <stdlib.h>

typedef struct rig {
    orr_module module;
    orr_kernel kernel;
    orr_func func;
    orr_param param;
    orr_var var;
    orr_operand operands[16];
    orr_inst insts[7];
    const char *files[1];
} rig;

static inline orr_operand rig_reg(uint8_t cls, uint32_t reg) {
    return (orr_operand){.kind = ORR_K_REG, .cls = cls, .reg = reg};
}

// False when the kernel could not be finished.
static inline bool rig_make(rig *r) {
    memset(r, 0, sizeof *r);
    r->files[0] = "rig.cu";
    r->var = (orr_var){.name = "table", .space = ORR_SPACE_GLOBAL, .align = 4, .bytes = 64};
    r->module = (orr_module){.path = "rig.ptx",
                             .source = "ptx",
                             .version = 83,
                             .target = 90,
                             .vars = &r->var,
                             .nvars = 1,
                             .files = r->files,
                             .nfiles = 1};
    orr_operand *o = r->operands;
    o[0] = rig_reg(ORR_D, 0),
    o[1] = (orr_operand){.kind = ORR_K_SYMBOL, .cls = ORR_D, .reg = 0, .value = 8}; // mov
    o[2] = rig_reg(ORR_W, 0), o[3] = rig_reg(ORR_D, 0);                             // ld
    o[4] = rig_reg(ORR_D, 1), o[5] = rig_reg(ORR_W, 0), o[6] = rig_reg(ORR_W, 1);   // st
    o[7] = rig_reg(ORR_W, 1), o[8] = rig_reg(ORR_W, 0), o[9] = rig_reg(ORR_W, 0),
    o[10] = rig_reg(ORR_W, 0);                            // fma
    o[11] = rig_reg(ORR_W, 2), o[12] = rig_reg(ORR_D, 0); // atom
    o[13] = (orr_operand){.kind = ORR_K_IMM, .cls = ORR_W, .value = 1};
    orr_inst *i = r->insts;
    i[0] = (orr_inst){.op = ORR_OP_MOV, .type = ORR_T_U64, .ndst = 1, .nsrc = 1, .first = 0};
    i[1] = (orr_inst){.op = ORR_OP_LD,
                      .type = ORR_T_F32,
                      .space = ORR_SPACE_GLOBAL,
                      .width = 4,
                      .vec = 1,
                      .ndst = 1,
                      .nsrc = 1,
                      .first = 2};
    i[2] = (orr_inst){.op = ORR_OP_BRA};
    i[3] = (orr_inst){.op = ORR_OP_ST,
                      .type = ORR_T_F32,
                      .space = ORR_SPACE_SHARED,
                      .width = 4,
                      .vec = 2,
                      .nsrc = 3,
                      .first = 4};
    i[4] = (orr_inst){
        .op = ORR_OP_FMA, .type = ORR_T_F32, .round = ORR_RND_RN, .ndst = 1, .nsrc = 3, .first = 7};
    i[5] = (orr_inst){.op = ORR_OP_ATOM,
                      .type = ORR_T_U32,
                      .space = ORR_SPACE_GENERIC,
                      .width = 4,
                      .vec = 1,
                      .sub = ORR_ATOM_ADD,
                      .ndst = 1,
                      .nsrc = 2,
                      .first = 11};
    i[6] = (orr_inst){.op = ORR_OP_EXIT};
    for (uint32_t n = 0; n < 7; n++) {
        i[n].guard = -1;
        i[n].target = -1;
        i[n].line = 10 + n;
        i[n].source.file = 1;
        i[n].source.line = 3 + n / 2;
        i[n].unit = orr_inst_unit(&i[n]);
    }
    i[2].target = 5; // an instruction, until orr_kernel_finish makes it a block
    i[2].guard = 0;
    i[3].guard = 1;
    i[3].guard_neg = 1;
    r->param = (orr_param){.name = "x", .type = ORR_T_U64, .align = 8, .pointer = true, .bytes = 8};
    r->func =
        (orr_func){.name = "rig", .ninsts = 7, .nregs = {2, 0, 3, 2, 0}, .params = &r->param, .nparams = 1};
    r->kernel = (orr_kernel){.name = "rig",
                             .module = &r->module,
                             .funcs = &r->func,
                             .nfuncs = 1,
                             .insts = r->insts,
                             .ninsts = 7,
                             .operands = r->operands,
                             .noperands = 14,
                             .params = &r->param,
                             .nparams = 1,
                             .param_bytes = 8,
                             .shared_bytes = 1024,
                             .regs = 11};
    orr_err e = {0};
    return orr_kernel_finish(&r->kernel, &e) && r->kernel.nblocks == 3;
}

static inline void rig_free(rig *r) { orr_arena_free(&r->kernel.arena); }

// A generator with a published definition (SplitMix64), so that a failure can be repeated anywhere.
static inline uint64_t rig_random(uint64_t *s) {
    uint64_t z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// Addresses of every form the encoding has.
static inline void rig_addresses(uint64_t *s, uint64_t addr[32]) {
    uint64_t base = rig_random(s) >> (rig_random(s) % 64), kind = rig_random(s) % 7;
    uint64_t stride = rig_random(s) >> (rig_random(s) % 64), down = rig_random(s) >> (rig_random(s) % 64);
    uint64_t row = (2u << rig_random(s) % 4) - 1;
    for (uint64_t i = 0; i < 32; i++)
        addr[i] = kind == 0   ? base
                  : kind == 1 ? base + 4 * i
                  : kind == 2 ? base + stride * i
                  : kind == 3 ? base + rig_random(s) % 4096
                  : kind == 4 ? base + (i & row) * stride + i / (row + 1) * down
                  : kind == 5 ? base + rig_random(s) % (1u << 24)
                              : rig_random(s);
}

#endif
