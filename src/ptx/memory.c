// Lowering: loads, stores, atomics, asynchronous copies, barriers in memory, fences.
#include "isa/fence.h"
#include "ptx/lower.h"

// The registers of a vector access, or the one of a plain access, all of one width. It may be larger
// than what is moved: loads extend by the type, stores take the low part.
static void values(lowering *l, const ptx_opd *o, bool load) {
    uint32_t n = ptx_elements(l, o), used = 0;
    uint8_t type = l->in.type, cls = ptx_type_class(type), least = cls;
    if (n != l->in.vec) ptx_refuse(l, "%u registers for a vector of %u", n, l->in.vec);
    for (uint32_t i = 0; i < n; i++) {
        ptx_opd one = ptx_element(l, o, i);
        if (one.kind != O_REG || one.n != 1) continue;
        uint8_t have = ptx_reg_class(l, &one);
        if (have < least || have == ORR_P) ptx_refuse(l, "a register is too small for the type");
        if (used++ && have != cls) ptx_refuse(l, "the registers of a vector must be of one width");
        cls = have;
    }
    for (uint32_t i = 0; i < n; i++) {
        ptx_opd one = ptx_element(l, o, i);
        if (!load)
            ptx_src(l, &one, cls, type);
        else if (!used && one.kind == O_SINK)
            l->dst[l->in.ndst++] = ptx_temp(l, cls); // nobody looks, but it is read
        else
            ptx_dst(l, &one, cls);
    }
}

static void access_begin(lowering *l) {
    if (l->op->ntypes != 1) ptx_refuse(l, "one type is needed");
    if (l->op->nspaces > 1) ptx_refuse(l, "one space is needed");
    ptx_begin(l);
    l->in.width = (uint8_t)ptx_type_bytes(l->in.type);
    if (l->in.width == 0) ptx_refuse(l, "a predicate cannot be in memory");
    if (l->in.width * l->in.vec > 32) ptx_refuse(l, "an access of more than 32 bytes");
}

void ptx_l_ld(lowering *l) {
    ptx_need(l, 2, 2);
    access_begin(l);
    values(l, &l->o[0], true);
    ptx_mem(l, &l->o[1]);
    ptx_end(l);
}

void ptx_l_st(lowering *l) {
    ptx_need(l, 2, 2);
    access_begin(l);
    if (!l->op->has_cache) l->in.cache = ORR_CACHE_WB;
    ptx_mem(l, &l->o[0]);
    values(l, &l->o[1], false);
    ptx_end(l);
}

static void atomic_values(lowering *l, const ptx_opd *o, bool dst) { // registers of just the type's width
    uint32_t n = ptx_elements(l, o);
    uint8_t cls = ptx_type_class(l->in.type);
    if (o->kind == O_SINK) n = l->in.vec;
    if (n != l->in.vec) ptx_refuse(l, "%u registers for a vector of %u", n, l->in.vec);
    for (uint32_t i = 0; i < n; i++) {
        ptx_opd one = ptx_element(l, o, i);
        if (dst)
            ptx_dst(l, &one, cls);
        else
            ptx_src(l, &one, cls, l->in.type);
    }
}

void ptx_l_atom(lowering *l) {
    bool cas = l->op->sub == ORR_ATOM_CAS;
    ptx_need(l, cas ? 4 : 3, cas ? 4 : 3);
    access_begin(l);
    atomic_values(l, &l->o[0], true);
    ptx_mem(l, &l->o[1]);
    for (uint32_t i = 2; i < l->n; i++) atomic_values(l, &l->o[i], false);
    ptx_end(l);
}

void ptx_l_red(lowering *l) {
    if (l->op->sub == ORR_ATOM_CAS || l->op->sub == ORR_ATOM_EXCH) ptx_refuse(l, "this is no reduction");
    ptx_need(l, 2, 2);
    access_begin(l);
    ptx_mem(l, &l->o[0]);
    atomic_values(l, &l->o[1], false);
    ptx_end(l);
}

void ptx_l_prefetch(lowering *l) {
    ptx_need(l, 1, 1);
    ptx_begin(l);
    l->in.width = 1;
    ptx_mem(l, &l->o[0]);
    ptx_end(l);
}

void ptx_l_discard(lowering *l) { // and applypriority
    ptx_need(l, 2, 2);
    ptx_begin(l);
    ptx_mem(l, &l->o[0]);
    l->in.imm = (uint32_t)ptx_constant(l, &l->o[1], "the size");
    l->in.width = 1;
    ptx_end(l);
}

void ptx_l_policy(lowering *l) { // the value is opaque: what it was made of does not matter
    if (l->n == 0) ptx_refuse(l, "too few operands");
    ptx_begin(l);
    ptx_dst(l, &l->o[0], ORR_D);
    l->in.type = ORR_T_B64;
    ptx_end(l);
}

// ---- cp.async -----------------------------------------------------------------------------------
void ptx_l_cpasync(lowering *l) { // [shared], [global], 16 {, source size | ignore-source predicate}
    ptx_need(l, 3, 4);
    ptx_begin(l);
    if (l->op->nspaces != 2 || l->op->spaces[0] != ORR_SPACE_SHARED || l->op->spaces[1] != ORR_SPACE_GLOBAL)
        ptx_refuse(l, "only copies from global to shared memory are known");
    uint64_t size = ptx_constant(l, &l->o[2], "the size");
    if (size != 4 && size != 8 && size != 16) ptx_refuse(l, "the size must be 4, 8 or 16");
    l->in.width = (uint8_t)size;
    ptx_mem(l, &l->o[0]);
    uint8_t from = ORR_SPACE_GLOBAL;
    orr_operand source = ptx_address(l, &l->o[1], &from, &l->in.disp2);
    ptx_src_operand(l, source);
    if (l->n == 4) {
        const ptx_opd *o = &l->o[3];
        if (o->kind == O_REG && ptx_reg_class(l, o) == ORR_P) { // true: read nothing, fill with zeros
            orr_operand t = ptx_temp(l, ORR_W);
            orr_operand src[3] = {ptx_imm(ORR_W, 0), ptx_imm(ORR_W, size), ptx_read(l, o, ORR_P, ORR_T_PRED)};
            orr_inst in = {.op = ORR_OP_SELP, .type = ORR_T_B32, .vec = 1, .guard = -1, .target = -1};
            ptx_emit(l, in, &t, 1, src, 3);
            ptx_src_operand(l, t);
        } else {
            ptx_src(l, o, ORR_W, ORR_T_U32);
        }
    }
    ptx_end(l);
}

void ptx_l_cpmbar(lowering *l) {
    ptx_need(l, 1, 1);
    ptx_begin(l);
    l->in.width = 8;
    l->in.sub = ORR_MBAR_COPIES_ARRIVE;
    ptx_mem(l, &l->o[0]);
    ptx_end(l);
}

// ---- mbarrier -----------------------------------------------------------------------------------
void ptx_l_mbarrier(lowering *l) {
    bool drop_expect = ptx_has(l->op, "expect_tx") && l->op->row->sub == ORR_MBAR_ARRIVE_DROP;
    if (drop_expect) { // two steps: expect, then arrive and drop
        ptx_need(l, 3, 3);
        ptx_begin(l);
        l->in.sub = ORR_MBAR_EXPECT_TX;
        l->in.width = 8;
        ptx_mem(l, &l->o[1]);
        ptx_src(l, &l->o[2], ORR_W, ORR_T_U32);
        ptx_end(l);
        l->n = 2;
    }
    ptx_by_form(l);
    orr_inst *in = &l->insts.at[l->insts.n - 1];
    in->width = 8;
    in->cmp = ptx_has(l->op, "parity");
    in->boolop =
        ptx_has(l->op, "cluster") && !ptx_has(l->op, "relaxed"); // it releases, or acquires, that far
}

// ---- fences -------------------------------------------------------------------------------------
void ptx_l_membar(lowering *l) { // sub: how far it reaches, 0 block, 1 cluster, 2 GPU, 3 system
    ptx_begin(l);
    l->in.type = l->in.space = 0;
    l->in.sub = ptx_has(l->op, "sys")                           ? 3
                : ptx_has(l->op, "gpu") || ptx_has(l->op, "gl") ? 2
                : ptx_has(l->op, "cluster")                     ? 1
                                                                : 0;
    if (ptx_has(l->op, "async") && !ptx_has(l->op, "shared::cta")) l->in.sub = 2;
    // cmp: what ptxas makes of it, as src/lower has it
    bool maps = ptx_has(l->op, "proxy") && !ptx_has(l->op, "async") && ptx_has(l->op, "acquire");
    l->in.cmp = maps                              ? ORR_FENCE_MAPS
                : ptx_has(l->op, "mbarrier_init") ? ORR_FENCE_NONE
                : ptx_has(l->op, "async") ? (ptx_has(l->op, "global") ? ORR_FENCE_VIEW : ORR_FENCE_PROXY)
                                          : ORR_FENCE_PLAIN;
    ptx_end(l);
}
