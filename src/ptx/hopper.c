// Lowering: what Hopper added. Products of groups of warps, bulk and tensor copies, tensor maps, clusters.
#include <string.h>

#include "ptx/lower.h"

// ---- wgmma --------------------------------------------------------------------------------------
static uint32_t sign(lowering *l, const ptx_opd *o, uint32_t flag) {
    int64_t v = (int64_t)ptx_constant(l, o, "the sign of a factor");
    if (v != 1 && v != -1) ptx_refuse(l, "the sign of a factor must be 1 or -1");
    return v < 0 ? flag : 0;
}
static uint32_t major(lowering *l, const ptx_opd *o, uint32_t flag) {
    uint64_t v = ptx_constant(l, o, "the transposition of a factor");
    if (v > 1) ptx_refuse(l, "the transposition of a factor must be 0 or 1");
    return v ? flag : 0;
}

// D, A, B [, metadata, selector], scale-d [, signs of A and B [, majors: A's if it is in memory, B's]]
void ptx_l_wgmma(lowering *l) {
    bool sparse = ptx_has(l->op, "sp");
    const uint8_t *t = l->op->types;
    ptx_begin(l);
    if (l->op->ntypes != 3 || !l->op->shape) ptx_refuse(l, "a shape and three types are needed");
    uint32_t n = l->op->shape >> 8 & 255, k = l->op->shape >> 16;
    if (!n) n = 256;
    l->in.type = t[0], l->in.stype = t[1], l->in.sub = t[2];
    l->in.cmp = l->in.boolop = 0;
    l->in.vec = sparse;
    l->in.imm = n | k << 16;
    if ((l->op->shape & 255) != 64) ptx_refuse(l, "m must be 64");
    uint32_t nd = n / (t[0] == ORR_T_F16 ? 4 : 2), at = 3, have = ptx_elements(l, &l->o[0]);
    ptx_need(l, sparse ? 6 : 4, sparse ? 10 : 8);
    if (have != nd) ptx_refuse(l, "%u registers where D has %u", have, nd);
    for (uint32_t i = 0; i < nd; i++) {
        ptx_opd one = ptx_element(l, &l->o[0], i);
        ptx_dst(l, &one, ORR_W);
    }
    for (uint32_t i = 0; i < nd; i++) {
        ptx_opd one = ptx_element(l, &l->o[0], i);
        ptx_src(l, &one, ORR_W, t[0] == ORR_T_F32 ? ORR_T_F32 : ORR_T_B32);
    }
    uint32_t a = ptx_elements(l, &l->o[1]);
    if (a != 1 && a != 4) ptx_refuse(l, "%u registers where A has 4", a);
    l->in.boolop = a == 4;
    for (uint32_t i = 0; i < a; i++) {
        ptx_opd one = ptx_element(l, &l->o[1], i);
        ptx_src(l, &one, a == 4 ? ORR_W : ORR_D, a == 4 ? ORR_T_B32 : ORR_T_B64);
    }
    ptx_src(l, &l->o[2], ORR_D, ORR_T_B64);
    const ptx_opd *meta = &l->o[3];
    if (sparse) at += 2;
    const ptx_opd *scale = &l->o[at++];
    if (scale->kind == O_INT)
        ptx_src_operand(l, ptx_imm(ORR_P, scale->value != 0));
    else
        ptx_src_pred(l, scale);
    if (sparse) {
        ptx_src(l, meta, ORR_W, ORR_T_B32);
        uint64_t selector = ptx_constant(l, meta + 1, "the sparsity selector");
        if (selector > 3) ptx_refuse(l, "the sparsity selector must be 0 to 3");
        ptx_src_operand(l, ptx_imm(ORR_W, selector));
    }
    if (at + 2 <= l->n) {
        l->in.disp = (int32_t)(sign(l, &l->o[at], ORR_WG_NEGATE_A) | sign(l, &l->o[at + 1], ORR_WG_NEGATE_B));
        at += 2;
    }
    if (at < l->n && a == 1) l->in.mods |= major(l, &l->o[at++], ORR_M_A_COL);
    if (at < l->n) l->in.mods |= major(l, &l->o[at++], ORR_M_TRANS);
    if (at < l->n) ptx_refuse(l, "too many operands");
    ptx_end(l);
}

void ptx_l_wgsync(lowering *l) {
    ptx_begin(l);
    l->in.sub = l->op->row->sub;
    if (l->in.sub == ORR_WG_WAIT) {
        ptx_need(l, 1, 1);
        l->in.imm = (uint32_t)ptx_constant(l, &l->o[0], "the number of groups");
    }
    ptx_end(l);
}

// ---- bulk copies ----------------------------------------------------------------------------------
// An address as one value: register and displacement added up.
static void whole_address(lowering *l, const ptx_opd *o, uint8_t space) {
    int32_t disp;
    orr_operand a = ptx_address(l, o, &space, &disp);
    if (a.kind == ORR_K_NONE) ptx_refuse(l, "a bulk copy does not reach local memory");
    if (a.kind == ORR_K_IMM || a.kind == ORR_K_SYMBOL) {
        a.value += (uint64_t)(int64_t)disp;
    } else if (disp) {
        orr_operand sum = ptx_temp(l, a.cls), src[2] = {a, ptx_imm(a.cls, (uint64_t)(int64_t)disp)};
        orr_inst in = {.op = ORR_OP_ADD, .vec = 1, .guard = -1, .target = -1};
        in.type = a.cls == ORR_D ? ORR_T_U64 : ORR_T_U32;
        ptx_emit(l, in, &sum, 1, src, 2);
        a = sum;
    }
    ptx_src_operand(l, a);
}

static void bulk_begin(lowering *l, uint8_t kind) {
    ptx_begin(l);
    l->in.sub = kind;
    l->in.vec = 0;
    l->in.boolop = 0;
    l->in.space = ORR_SPACE_GENERIC;
    l->in.cmp = l->op->sub;
    if (kind != ORR_BULK_REDUCE && kind != ORR_BULK_REDUCE_PEER) l->in.cmp = 0;
}

static void mask_of(lowering *l, const ptx_opd *o) {
    if (o)
        ptx_src(l, o, ORR_H, ORR_T_U16);
    else
        ptx_src_none(l);
}

static bool to_shared(const lowering *l) { return l->op->nspaces && l->op->spaces[0] == ORR_SPACE_SHARED; }

// cp.async.bulk, cp.reduce.async.bulk: [to], [from], bytes [, [mbarrier]] [, mask]
void ptx_l_bulk(lowering *l) {
    bool reduce = l->op->row->sub == ORR_BULK_REDUCE;
    if (l->op->nspaces != 2) ptx_refuse(l, "two spaces are needed");
    if (ptx_has(l->op, "cp_mask")) ptx_unsupported(l, "byte masks");
    bool from_global = l->op->spaces[1] == ORR_SPACE_GLOBAL, peer = to_shared(l) && !from_global;
    bool multicast = ptx_has(l->op, "multicast::cluster");
    uint32_t need = to_shared(l) ? 4 + multicast : 3;
    ptx_need(l, need, need);
    bulk_begin(l, peer          ? (reduce ? ORR_BULK_REDUCE_PEER : ORR_BULK_PEER)
                  : reduce      ? ORR_BULK_REDUCE
                  : from_global ? ORR_BULK_LOAD
                                : ORR_BULK_STORE);
    bool load = l->in.sub == ORR_BULK_LOAD;
    whole_address(l, &l->o[load ? 0 : 1], ORR_SPACE_SHARED);
    whole_address(l, &l->o[load ? 1 : 0], peer ? ORR_SPACE_SHARED : ORR_SPACE_GLOBAL);
    if (to_shared(l))
        whole_address(l, &l->o[3], ORR_SPACE_SHARED);
    else
        ptx_src_none(l);
    ptx_src(l, &l->o[2], ORR_W, ORR_T_U32);
    mask_of(l, multicast ? &l->o[4] : NULL);
    ptx_end(l);
}

void ptx_l_bulk_prefetch(lowering *l) { // [from], bytes
    ptx_need(l, 2, 2);
    bulk_begin(l, ORR_BULK_PREFETCH);
    ptx_src_none(l);
    whole_address(l, &l->o[0], ORR_SPACE_GLOBAL);
    ptx_src_none(l);
    ptx_src(l, &l->o[1], ORR_W, ORR_T_U32);
    ptx_src_none(l);
    ptx_end(l);
}

static uint32_t rank_of(const lowering *l) {
    for (uint32_t r = 1; r <= 5; r++) {
        char word[3] = {(char)('0' + r), 'd', 0};
        if (ptx_has(l->op, word)) return r;
    }
    return 0;
}

// Of tensors: [to], [map, {coordinates}], [mbarrier] [, {offsets}] [, mask]
//             [map, {coordinates}], [from]
//             [map, {coordinates}] [, {offsets}]
void ptx_l_tensor(lowering *l) {
    uint8_t kind = l->op->row->sub;
    if (kind == ORR_BULK_LOAD && !to_shared(l)) kind = ORR_BULK_STORE;
    bool load = kind == ORR_BULK_LOAD, fetch = kind == ORR_BULK_PREFETCH;
    bool im2col = ptx_has(l->op, "im2col") || ptx_has(l->op, "im2col_no_offs");
    bool offsets = ptx_has(l->op, "im2col"), multicast = ptx_has(l->op, "multicast::cluster");
    uint32_t rank = rank_of(l), need = (load ? 3 : fetch ? 1 : 2) + offsets + multicast;
    if (!rank || (im2col && rank < 3)) ptx_refuse(l, "dimensions from .1d to .5d are needed, .3d of im2col");
    ptx_need(l, need, need);
    const ptx_opd *map = &l->o[load ? 1 : 0];
    if (map->kind != O_ADDR || map->n != 2) ptx_refuse(l, "[tensor map, {coordinates}] is needed");
    bulk_begin(l, kind);
    l->in.vec = (uint8_t)rank;
    l->in.boolop = im2col;
    if (fetch)
        ptx_src_none(l);
    else
        whole_address(l, &l->o[load ? 0 : 1], ORR_SPACE_SHARED);
    ptx_opd place = *map; // the map's address alone
    place.n = 1;
    whole_address(l, &place, ORR_SPACE_GENERIC);
    if (load)
        whole_address(l, &l->o[2], ORR_SPACE_SHARED);
    else
        ptx_src_none(l);
    ptx_src_none(l);
    mask_of(l, multicast ? &l->o[need - 1] : NULL);
    const ptx_opd *at = &ptx_kids(l, map)[1];
    if (ptx_elements(l, at) != rank) ptx_refuse(l, "%u coordinates are needed", rank);
    for (uint32_t i = 0; i < rank; i++) {
        ptx_opd one = ptx_element(l, at, i);
        ptx_src(l, &one, ORR_W, ORR_T_S32);
    }
    if (offsets) {
        const ptx_opd *off = &l->o[load ? 3 : 1];
        if (ptx_elements(l, off) != rank - 2) ptx_refuse(l, "%u offsets are needed", rank - 2);
        for (uint32_t i = 0; i < rank - 2; i++) {
            ptx_opd one = ptx_element(l, off, i);
            ptx_src(l, &one, ORR_H, ORR_T_U16);
        }
    }
    ptx_end(l);
}

void ptx_l_bulkgroup(lowering *l) { // commit_group; wait_group[.read] n
    ptx_begin(l);
    l->in.sub = l->op->row->sub;
    if (l->in.sub) {
        ptx_need(l, 1, 1);
        l->in.imm = (uint32_t)ptx_constant(l, &l->o[0], "the number of groups");
    }
    ptx_end(l);
}

// ---- tensor maps ------------------------------------------------------------------------------------
// tensormap.replace is a load, some bits, and a store. The places are the driver's (exec/tensormap.h), as
// ptxas has them.
typedef struct map_field {
    const char *name;
    uint8_t byte, step; // of the 32-bit word; further ordinals in the words behind it
    uint8_t bit, bits, apart;
    bool less; // stored less one
} map_field;
static const map_field fields[] = {
    {"rank", 8, 0, 4, 3, 0, false},
    {"box_dim", 52, 0, 24, 8, 0, true},
    {"global_dim", 32, 4, 0, 32, 0, true},
    {"element_stride", 52, 0, 0, 3, 3, true},
    {"interleave_layout", 8, 0, 11, 2, 0, false},
    {"swizzle_mode", 8, 0, 13, 2, 0, false},
    {"fill_mode", 8, 0, 15, 1, 0, false},
};

static orr_inst unguarded(uint16_t op, uint8_t type) {
    return (orr_inst){.op = op, .type = type, .vec = 1, .guard = -1, .target = -1};
}

typedef struct map_place { // where a tensor map is, and how it is accessed
    orr_operand base;
    uint8_t space;
    orr_inst as;
} map_place;

// Word at `byte` of the map: bits [bit, bit + bits) become those of `value`.
static void put_bits(lowering *l, const map_place *m, uint32_t byte, orr_operand value, uint32_t bit,
                     uint32_t bits) {
    orr_inst as = m->as;
    orr_inst ld = as, st = as, bfi = unguarded(ORR_OP_BFI, ORR_T_B32);
    ld.op = ORR_OP_LD, st.op = ORR_OP_ST;
    ld.type = st.type = ORR_T_B32;
    ld.space = st.space = m->space;
    ld.width = st.width = 4;
    ld.vec = st.vec = 1;
    ld.disp = st.disp = as.disp + (int32_t)byte;
    orr_operand word = ptx_temp(l, ORR_W), put = value;
    if (bits < 32) {
        put = ptx_temp(l, ORR_W);
        ptx_emit(l, ld, &word, 1, &m->base, 1);
        ptx_emit(l, bfi, &put, 1, (orr_operand[]){value, word, ptx_imm(ORR_W, bit), ptx_imm(ORR_W, bits)}, 4);
    }
    ptx_emit(l, st, NULL, 0, (orr_operand[]){m->base, put}, 2);
}

static orr_operand less_one(lowering *l, orr_operand v) {
    orr_operand t = ptx_temp(l, ORR_W);
    ptx_emit(l, unguarded(ORR_OP_ADD, ORR_T_U32), &t, 1, (orr_operand[]){v, ptx_imm(ORR_W, 0xffffffff)}, 2);
    return t;
}

static orr_operand upper(lowering *l, orr_operand v, uint32_t by) { // of 64 bits, as 32
    orr_operand t = ptx_temp(l, ORR_D), w = ptx_temp(l, ORR_W);
    ptx_emit(l, unguarded(ORR_OP_SHR, ORR_T_U64), &t, 1, (orr_operand[]){v, ptx_imm(ORR_W, by)}, 2);
    ptx_emit_simple(l, ORR_OP_CVT, ORR_T_U32, ORR_T_U64, w, t);
    return w;
}

void ptx_l_tensormap(lowering *l) { // [map], [ordinal,] value
    ptx_need(l, 2, 3);
    ptx_begin(l);
    uint8_t space = l->in.space ? l->in.space : ORR_SPACE_GENERIC;
    orr_inst as = l->in;
    as.mods = 0;
    map_place map = {.base = ptx_address(l, &l->o[0], &space, &as.disp)};
    map.space = space;
    map.as = as;
    const ptx_opd *last = &l->o[l->n - 1];
    uint32_t which = l->n == 3 ? (uint32_t)ptx_constant(l, &l->o[1], "the ordinal") : 0;
    if (which > 4) ptx_refuse(l, "the ordinal must be 0 to 4");
    if (ptx_has(l->op, "global_address") || ptx_has(l->op, "global_stride")) {
        orr_operand v = ptx_read(l, last, ORR_D, ORR_T_B64);
        if (ptx_has(l->op, "global_address")) {
            put_bits(l, &map, 0, upper(l, v, 0), 0, 32);
            put_bits(l, &map, 4, upper(l, v, 32), 0, 32);
            return;
        }
        if (which > 3) ptx_refuse(l, "the ordinal must be 0 to 3");
        put_bits(l, &map, 12 + 4 * which, upper(l, v, 4), 0, 32);
        put_bits(l, &map, 28, upper(l, v, 36), 4 * which, 4);
        return;
    }
    orr_operand v = ptx_read(l, last, ORR_W, ORR_T_B32);
    if (ptx_has(l->op, "elemtype")) {
        uint64_t type = ptx_constant(l, last, "the element type");
        if (type > 12) ptx_refuse(l, "the element type must be 0 to 12");
        bool tf32 = type > 10;
        put_bits(l, &map, 8, ptx_imm(ORR_W, tf32 ? type - 4 : type), 7, 4);
        put_bits(l, &map, 8, ptx_imm(ORR_W, tf32), 16, 1);
        return;
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const map_field *f = &fields[i];
        if (!ptx_has(l->op, f->name)) continue;
        if (f->less) v = less_one(l, v);
        uint32_t byte = f->byte + f->step * which, bit = f->bit + f->apart * which;
        if (f->bits == 8 && which) byte = 56, bit = 8 * (which - 1); // box_dim: the first stands alone
        put_bits(l, &map, byte, v, bit, f->bits);
        return;
    }
    ptx_unsupported(l, "this field");
}

// [to], [from], 128 by all lanes of a warp: each copies a word.
void ptx_l_tensormap_copy(lowering *l) {
    ptx_need(l, 3, 3);
    ptx_begin(l);
    if (ptx_constant(l, &l->o[2], "the size") != 128) ptx_refuse(l, "the size must be 128");
    orr_inst ld = unguarded(ORR_OP_LD, ORR_T_B32), st = unguarded(ORR_OP_ST, ORR_T_B32);
    ld.width = st.width = 4;
    ld.space = ORR_SPACE_SHARED, st.space = ORR_SPACE_GLOBAL;
    ld.guard = st.guard = l->in.guard;
    ld.guard_neg = st.guard_neg = l->in.guard_neg;
    orr_operand lane = ptx_temp(l, ORR_W), word = ptx_temp(l, ORR_W);
    orr_inst id = unguarded(ORR_OP_SREG, ORR_T_U32), four = unguarded(ORR_OP_SHL, ORR_T_B32);
    id.imm = ORR_SREG_LANEID;
    ptx_emit(l, id, &lane, 1, NULL, 0);
    ptx_emit(l, four, &word, 1, (orr_operand[]){lane, ptx_imm(ORR_W, 2)}, 2);
    orr_operand sum[2], value = ptx_temp(l, ORR_W);
    for (int i = 0; i < 2; i++) {
        uint8_t space = i ? ORR_SPACE_SHARED : ORR_SPACE_GLOBAL;
        orr_inst *in = i ? &ld : &st;
        orr_operand a = ptx_address(l, &l->o[i], &space, &in->disp), off = word;
        sum[i] = ptx_temp(l, a.cls);
        if (a.cls == ORR_D) {
            off = ptx_temp(l, ORR_D);
            ptx_emit_simple(l, ORR_OP_CVT, ORR_T_U64, ORR_T_U32, off, word);
        }
        ptx_emit(l, unguarded(ORR_OP_ADD, a.cls == ORR_D ? ORR_T_U64 : ORR_T_U32), &sum[i], 1,
                 (orr_operand[]){a, off}, 2);
    }
    ptx_emit(l, ld, &value, 1, &sum[1], 1);
    ptx_emit(l, st, NULL, 0, (orr_operand[]){sum[0], value}, 2);
}

// ---- clusters -----------------------------------------------------------------------------------------
void ptx_l_clbar(lowering *l) { // cmp: it releases, or acquires
    ptx_begin(l);
    l->in.sub = l->op->row->sub;
    l->in.cmp = !ptx_has(l->op, "relaxed");
    l->in.mods &= ORR_M_ALIGNED;
    ptx_end(l);
}

void ptx_l_mapa(lowering *l) { // d, address, rank
    ptx_need(l, 3, 3);
    ptx_begin(l);
    uint8_t cls = ptx_type_class(l->in.type);
    if (cls != ORR_W && cls != ORR_D) ptx_refuse(l, "'.u32' or '.u64' is needed");
    ptx_dst(l, &l->o[0], cls);
    ptx_src(l, &l->o[1], cls, l->in.type);
    ptx_src(l, &l->o[2], ORR_W, ORR_T_U32);
    ptx_end(l);
}

void ptx_l_ctarank(lowering *l) { // d, address
    ptx_need(l, 2, 2);
    ptx_begin(l);
    uint8_t cls = ptx_type_class(l->in.type);
    ptx_dst(l, &l->o[0], ORR_W);
    ptx_src(l, &l->o[1], cls, l->in.type);
    ptx_end(l);
}

// st.async [to], value or {values}, [mbarrier]; red.async [to], value, [mbarrier]
void ptx_l_stasync(lowering *l) {
    ptx_need(l, 3, 3);
    ptx_begin(l);
    uint32_t n = ptx_elements(l, &l->o[1]);
    uint8_t cls = ptx_type_class(l->in.type);
    if (n != l->in.vec) ptx_refuse(l, "%u values where %u are needed", n, l->in.vec);
    l->in.width = (uint8_t)orr_types[l->in.type].bytes;
    l->in.space = ORR_SPACE_SHARED;
    if (l->in.width != 4 && l->in.width != 8) ptx_refuse(l, "a type of 32 or 64 bits is needed");
    ptx_mem(l, &l->o[0]);
    whole_address(l, &l->o[2], ORR_SPACE_SHARED);
    for (uint32_t i = 0; i < n; i++) {
        ptx_opd one = ptx_element(l, &l->o[1], i);
        ptx_src(l, &one, cls, l->in.type);
    }
    ptx_end(l);
}

// ---- multimem --------------------------------------------------------------------------------------------
// One GPU's part of it: what is read, written or added to is its own copy.
void ptx_l_multimem(lowering *l) {
    bool store = l->op->row->op == ORR_OP_ST, load = l->op->row->op == ORR_OP_LD;
    if (load)
        ptx_l_ld(l);
    else if (store)
        ptx_l_st(l);
    else
        ptx_l_red(l);
}
