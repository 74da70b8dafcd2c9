// Private to ptx/: the state of a kernel being lowered, and what the lowering functions use.
//
// A lowering function reads the statement l->s with its opcode l->op. It opens an instruction
// (ptx_begin), adds destinations and sources, and closes it (ptx_end). What an operand needs before it
// can be read (a special register, a variable's address in the frame) is emitted at once, in front.
#ifndef ORR_PTX_LOWER_H
#define ORR_PTX_LOWER_H

#include "ptx/opcode.h"

enum { MAX_INST_OPERANDS = 255, ANY_CLASS = 255 };

typedef struct ptx_fixup { // a branch target that is a statement until the function is complete
    uint32_t at;           // instruction, or entry of the tables
    uint32_t stmt;
    bool table;
} ptx_fixup;

typedef struct lowering {
    orr_module *m;
    ptx_front *f;
    orr_err *e;
    jmp_buf fail;
    orr_kernel *k;
    ORR_VEC(ptx_func *) order; // the functions reached, the entry first
    bool indirect;             // one of them calls through a pointer
    bool dynamic;
    uint32_t shared, dynamic_align, frame_align;
    ORR_VEC(orr_inst) insts;
    ORR_VEC(orr_operand) operands;
    ORR_VEC(uint32_t) tables;
    ORR_VEC(ptx_fixup) fixups;
    uint64_t edges; // of the branches through tables
    // the function
    ptx_func *fn;
    uint32_t *reg;   // number of each of its registers in its class
    uint32_t *start; // first instruction of each statement
    uint32_t nregs[ORR_CLASSES];
    uint64_t frame;
    // the statement
    const ptx_stmt *s;
    ptx_opcode *op;
    const ptx_opd *o; // its operands
    uint32_t n;       // how many, without a cache policy
    uint32_t file;    // of the .loc, as module->files has it
    uint32_t loc_number;
    // the instruction
    orr_inst in;
    orr_operand dst[MAX_INST_OPERANDS], src[MAX_INST_OPERANDS];
} lowering;

_Noreturn void ptx_refuse(lowering *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void ptx_unsupported(lowering *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// operand.c
const ptx_opd *ptx_kids(const lowering *l, const ptx_opd *o);
uint32_t ptx_elements(const lowering *l, const ptx_opd *o); // of a {vector} or vector register, else 1
ptx_opd ptx_element(const lowering *l, const ptx_opd *o, uint32_t i);
orr_operand ptx_temp(lowering *l, uint8_t cls);
orr_operand ptx_imm(uint8_t cls, uint64_t value);
uint8_t ptx_reg_class(const lowering *l, const ptx_opd *o); // of an O_REG
orr_operand ptx_read(lowering *l, const ptx_opd *o, uint8_t cls,
                     uint8_t type); // ANY_CLASS: as the register is
orr_operand ptx_write(lowering *l, const ptx_opd *o, uint8_t cls);
void ptx_need(const lowering *l, uint32_t least, uint32_t most); // operands, or an error
void ptx_begin(lowering *l);
void ptx_dst(lowering *l, const ptx_opd *o, uint8_t cls);
void ptx_src(lowering *l, const ptx_opd *o, uint8_t cls, uint8_t type);
void ptx_src_none(lowering *l);
void ptx_src_operand(lowering *l, orr_operand o);
void ptx_src_pred(lowering *l, const ptx_opd *o);
orr_operand ptx_address(lowering *l, const ptx_opd *o, uint8_t *space, int32_t *disp);
void ptx_mem(lowering *l, const ptx_opd *o); // address as next source, l->in.space and disp
void ptx_end(lowering *l);
void ptx_emit(lowering *l, orr_inst in, const orr_operand *dst, uint32_t nd, const orr_operand *src,
              uint32_t ns);
void ptx_emit_simple(lowering *l, uint16_t op, uint8_t type, uint8_t stype, orr_operand dst, orr_operand src);
void ptx_by_form(lowering *l);
uint8_t ptx_natural(uint8_t cls);                                       // the bits type of a class
uint64_t ptx_constant(lowering *l, const ptx_opd *o, const char *what); // an integer
void ptx_frame_access(lowering *l, bool store, uint8_t type, orr_operand value, uint64_t offset,
                      bool guarded);

// the lowering functions that insts.def names
ptx_lower_fn ptx_l_mixed, ptx_l_mul, ptx_l_lop3, ptx_l_shf, ptx_l_mov, ptx_l_cvt, ptx_l_cvtpack, ptx_l_cvta,
    ptx_l_nop, ptx_l_griddep; // move.c
ptx_lower_fn ptx_l_match, ptx_l_redux, ptx_l_video, ptx_l_video_simd, ptx_l_alloca;
ptx_lower_fn ptx_l_ld, ptx_l_st, ptx_l_atom, ptx_l_red, ptx_l_prefetch, ptx_l_discard, ptx_l_cpasync,
    ptx_l_cpwait, ptx_l_cpwaitall, // memory.c
    ptx_l_cpmbar, ptx_l_mbarrier, ptx_l_membar, ptx_l_policy;
ptx_lower_fn ptx_l_mma, ptx_l_wmma, ptx_l_wmmaload, ptx_l_wmmastore, ptx_l_ldmatrix, ptx_l_stmatrix,
    ptx_l_movmatrix;                                                 // matrix.c
ptx_lower_fn ptx_l_bra, ptx_l_brx, ptx_l_call, ptx_l_ret, ptx_l_bar; // control.c
ptx_lower_fn ptx_l_wgmma, ptx_l_wgsync, ptx_l_bulk, ptx_l_bulk_prefetch, ptx_l_tensor, ptx_l_bulkgroup,
    ptx_l_tensormap, ptx_l_tensormap_copy, ptx_l_clbar, ptx_l_mapa, ptx_l_ctarank, ptx_l_stasync,
    ptx_l_multimem; // hopper.c

ptx_lower_fn ptx_l_tex, ptx_l_tld4, ptx_l_txq, ptx_l_istypep, ptx_l_suld, ptx_l_sust,
    ptx_l_sured; // texture.c

void ptx_enter_function(lowering *l); // control.c: .reg parameters out of the frame
// A call of a function with values of one type, whose result nobody wants.
void ptx_call_with(lowering *l, const ptx_func *fn, const orr_operand *args, uint8_t type);

#endif
