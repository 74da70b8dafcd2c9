// Lowering: arithmetic that the table's forms cannot say, moves, conversions, video.
#include <string.h>

#include "ptx/lower.h"

void ptx_l_nop(lowering *l) {
    ptx_begin(l);
    l->in.mods = 0;
    ptx_end(l);
}

void ptx_l_griddep(lowering *l) { // executed it is nothing: kernels are executed one after the other
    ptx_begin(l);
    l->in.mods = 0;
    l->in.sub = ptx_has(l->op, "wait") ? ORR_GRID_WAIT : ORR_GRID_NEXT;
    ptx_end(l);
}

// ---- arithmetic ---------------------------------------------------------------------------------
// add.f32.f16 d, a, c: a is widened first (and b too in fma.f32.f16). Widening is exact.
void ptx_l_mixed(lowering *l) {
    if (l->op->ntypes == 1) {
        ptx_by_form(l);
        return;
    }
    uint8_t narrow = l->op->ntypes == 2 ? l->op->types[1] : ORR_T_NONE;
    if (l->op->types[0] != ORR_T_F32 || (narrow != ORR_T_F16 && narrow != ORR_T_BF16))
        ptx_refuse(l, "these types do not go together");
    bool fma = l->op->row->op == ORR_OP_FMA;
    ptx_need(l, fma ? 4 : 3, fma ? 4 : 3);
    ptx_begin(l);
    l->in.stype = ORR_T_NONE;
    ptx_dst(l, &l->o[0], ORR_W);
    for (uint32_t i = 1; i < l->n; i++) {
        if (i + 1 == l->n) {
            ptx_src(l, &l->o[i], ORR_W, ORR_T_F32);
            break;
        }
        orr_operand t = ptx_temp(l, ORR_W);
        ptx_emit_simple(l, ORR_OP_CVT, ORR_T_F32, narrow, t, ptx_read(l, &l->o[i], ORR_H, narrow));
        ptx_src_operand(l, t);
    }
    ptx_end(l);
}

void ptx_l_mul(lowering *l) { // mul and mad: the wide forms; mad of floats is an fma
    uint32_t n = l->op->row->op == ORR_OP_MAD ? 4 : 3;
    ptx_need(l, n, n);
    if (l->op->ntypes != 1) ptx_refuse(l, "one type is needed");
    ptx_begin(l);
    uint8_t type = l->in.type, cls = ptx_type_class(type), out = cls;
    if (n == 4 && ptx_type_float(type)) {
        l->in.op = ORR_OP_FMA;
        if (l->in.round == ORR_RND_NONE) l->in.round = ORR_RND_RN;
    }
    if (l->in.mods & ORR_M_WIDE) {
        if (cls != ORR_H && cls != ORR_W) ptx_refuse(l, "there is no wide product of this type");
        out = cls + 1;
    } else if (!ptx_type_float(type) && !(l->in.mods & (ORR_M_LO | ORR_M_HI))) {
        ptx_refuse(l, "'.lo', '.hi' or '.wide' is needed");
    }
    ptx_dst(l, &l->o[0], out);
    ptx_src(l, &l->o[1], cls, type);
    ptx_src(l, &l->o[2], cls, type);
    if (n == 4) ptx_src(l, &l->o[3], out, type);
    ptx_end(l);
}

void ptx_l_lop3(lowering *l) {
    ptx_by_form(l);
    orr_inst *in = &l->insts.at[l->insts.n - 1];
    in->cmp = in->boolop;
    if (in->boolop && in->nsrc != 4) ptx_refuse(l, "a predicate is needed as the last operand");
}

void ptx_l_shf(lowering *l) {
    l->op->sub = ptx_has(l->op, "r");
    ptx_by_form(l);
}

void ptx_l_match(lowering *l) {
    l->op->sub = ptx_has(l->op, "all");
    ptx_by_form(l);
}

void ptx_l_redux(lowering *l) { // .abs is carried by XORSIGN
    if (ptx_has(l->op, "abs")) l->op->mods |= ORR_M_XORSIGN;
    ptx_by_form(l);
}

void ptx_l_alloca(lowering *l) { // alloca.u64 ptr, size, 16;
    ptx_need(l, 2, 3);
    ptx_begin(l);
    uint8_t cls = ptx_type_class(l->in.type);
    ptx_dst(l, &l->o[0], cls);
    ptx_src(l, &l->o[1], cls, l->in.type);
    l->in.imm = l->n == 3 ? (uint32_t)ptx_constant(l, &l->o[2], "the alignment") : 8;
    if (l->in.imm == 0 || (l->in.imm & (l->in.imm - 1)) || l->in.imm > 4096)
        ptx_refuse(l, "the alignment must be a power of two");
    ptx_end(l);
}

// ---- mov ----------------------------------------------------------------------------------------
static uint8_t part_class(lowering *l, uint8_t type, uint32_t parts) {
    uint32_t bytes = ptx_type_bytes(type);
    if (parts == 0 || bytes % parts || bytes / parts == 0)
        ptx_refuse(l, "%u parts do not make up this type", parts);
    switch (bytes / parts) {
    case 1:
    case 2: return ORR_H;
    case 4: return ORR_W;
    case 8: return ORR_D;
    default: ptx_refuse(l, "%u parts do not make up this type", parts);
    }
}

void ptx_l_mov(lowering *l) {
    ptx_need(l, 2, 2);
    if (l->op->ntypes != 1) ptx_refuse(l, "one type is needed");
    const ptx_opd *d = &l->o[0], *a = &l->o[1];
    uint8_t type = l->op->types[0], cls = ptx_type_class(type);
    uint32_t nd = ptx_elements(l, d), na = ptx_elements(l, a);
    ptx_begin(l);
    l->in.vec = 1;
    if (nd > 1 && nd == na) { // a vector as it is: read all of it before writing
        orr_operand value[8];
        if (nd > 8) ptx_refuse(l, "too many elements");
        for (uint32_t i = 0; i < nd; i++) {
            ptx_opd from = ptx_element(l, a, i);
            value[i] = ptx_temp(l, cls);
            ptx_emit_simple(l, ORR_OP_MOV, type, ORR_T_NONE, value[i], ptx_read(l, &from, cls, type));
        }
        for (uint32_t i = 0; i < nd; i++) {
            ptx_opd to = ptx_element(l, d, i);
            l->in.ndst = l->in.nsrc = 0;
            ptx_dst(l, &to, cls);
            ptx_src_operand(l, value[i]);
            ptx_end(l);
        }
        return;
    }
    if (nd > 1 && na > 1) ptx_refuse(l, "vectors of different lengths");
    if (nd > 1 || d->kind == O_VEC) { // take apart
        uint8_t part = part_class(l, type, nd);
        for (uint32_t i = 0; i < nd; i++) {
            ptx_opd to = ptx_element(l, d, i);
            ptx_dst(l, &to, part);
        }
        ptx_src(l, a, cls, type);
        ptx_end(l);
        return;
    }
    if (na > 1 || a->kind == O_VEC) { // put together
        uint8_t part = part_class(l, type, na);
        ptx_dst(l, d, cls);
        for (uint32_t i = 0; i < na; i++) {
            ptx_opd from = ptx_element(l, a, i);
            ptx_src(l, &from, part, ptx_natural(part));
        }
        ptx_end(l);
        return;
    }
    ptx_dst(l, d, cls);
    if (a->kind == O_SREG && a->n == 1) { // read it straight into the register
        const ptx_sreg *s = &ptx_sregs[a->value];
        if (s->bytes && (ptx_type_bytes(type) == s->bytes || (s->sreg == ORR_SREG_GRIDID && cls == ORR_W))) {
            l->in.op = ORR_OP_SREG;
            l->in.imm = s->sreg;
            ptx_end(l);
            return;
        }
    }
    const ptx_opd *var = a->kind == O_ADDR && a->n == 1 ? ptx_kids(l, a) : a;
    if (var->kind == O_VAR && var->var->where == V_FRAME && cls == ORR_D) {
        uint64_t at = var->var->offset + (uint64_t)var->addend;
        if (at <= MAX_LOCAL_BYTES) {
            l->in.op = ORR_OP_LOCALADDR;
            l->in.imm = (uint32_t)at;
            ptx_end(l);
            return;
        }
    }
    ptx_src(l, a, cls, type);
    ptx_end(l);
}

// ---- cvt ----------------------------------------------------------------------------------------
// A register may be wider than the type it is read or written as; cvt proper only sees registers of
// its types' own classes, the rest is done by an integer conversion in front of or behind it.
static uint8_t integer_of(uint8_t cls, bool is_signed) {
    static const uint8_t u[ORR_CLASSES] = {0, ORR_T_U16, ORR_T_U32, ORR_T_U64, 0},
                         s[ORR_CLASSES] = {0, ORR_T_S16, ORR_T_S32, ORR_T_S64, 0};
    return is_signed ? s[cls] : u[cls];
}

static orr_operand narrow_read(lowering *l, const ptx_opd *o, uint8_t type) {
    uint8_t want = ptx_type_class(type), have = o->kind == O_REG && o->n == 1 ? ptx_reg_class(l, o) : want;
    if (have <= want || have == ORR_Q || want == ORR_P) return ptx_read(l, o, want, type);
    orr_operand t = ptx_temp(l, want);
    ptx_emit_simple(l, ORR_OP_CVT, integer_of(want, false), integer_of(have, false), t,
                    ptx_read(l, o, have, type));
    return t;
}

void ptx_l_cvt(lowering *l) {
    if (l->op->ntypes != 2) ptx_unsupported(l, "these types cannot be converted");
    ptx_need(l, 2, 4);
    ptx_begin(l);
    uint8_t to = l->in.type, from = l->in.stype, want = ptx_type_class(to);
    if (want == ORR_P || ptx_type_class(from) == ORR_P) ptx_refuse(l, "a predicate cannot be converted");
    uint32_t bits = l->in.round == ORR_RND_RS; // the last operand: random bits
    if (bits && l->n < 3) ptx_refuse(l, "too few operands");
    for (uint32_t i = 1; i + bits < l->n; i++) {
        if (l->o[i].kind == O_VEC) ptx_unsupported(l, "conversions of four values at once are not there yet");
        ptx_src_operand(l, narrow_read(l, &l->o[i], from));
    }
    if (bits) ptx_src(l, &l->o[l->n - 1], ORR_W, ORR_T_B32);
    const ptx_opd *d = &l->o[0];
    uint8_t have = d->kind == O_REG && d->n == 1 ? ptx_reg_class(l, d) : want;
    if (have <= want || have == ORR_Q) {
        ptx_dst(l, d, want);
        ptx_end(l);
        return;
    }
    orr_operand t = ptx_temp(l, want), wide = ptx_write(l, d, have);
    bool is_signed = to == ORR_T_S8 || to == ORR_T_S16 || to == ORR_T_S32;
    int32_t guard = l->in.guard;
    uint8_t guard_neg = l->in.guard_neg;
    l->dst[l->in.ndst++] = t;
    ptx_end(l);
    orr_inst in = {.op = ORR_OP_CVT,
                   .type = integer_of(have, is_signed),
                   .stype = integer_of(want, is_signed),
                   .vec = 1,
                   .guard = guard,
                   .guard_neg = guard_neg,
                   .target = -1};
    if (ptx_type_bytes(to) == 1) in.stype = is_signed ? ORR_T_S8 : ORR_T_U8;
    ptx_emit(l, in, &wide, 1, &t, 1);
}

void ptx_l_cvtpack(lowering *l) { // cvt.pack.sat.u8.s32.b32 d, a, b, c
    ptx_need(l, 3, 4);
    ptx_begin(l);
    bool u2 = ptx_has(l->op, "u2"), s2 = ptx_has(l->op, "s2");
    if (u2 || s2) { // the only type below four bits: its sign is that of the four-bit one
        l->in.stype = l->op->ntypes ? l->op->types[0] : ORR_T_S32;
        l->in.type = u2 ? ORR_T_U4 : ORR_T_S4;
    }
    switch (l->in.type) {
    case ORR_T_U16:
    case ORR_T_S16: l->in.imm = 16; break;
    case ORR_T_U8:
    case ORR_T_S8: l->in.imm = 8; break;
    case ORR_T_U4:
    case ORR_T_S4: l->in.imm = u2 || s2 ? 2 : 4; break;
    default: ptx_refuse(l, "this type cannot be packed");
    }
    ptx_dst(l, &l->o[0], ORR_W);
    for (uint32_t i = 1; i < l->n; i++) ptx_src(l, &l->o[i], ORR_W, ORR_T_S32);
    ptx_end(l);
}

void ptx_l_cvta(lowering *l) {
    ptx_need(l, 2, 2);
    ptx_begin(l);
    if (l->op->nspaces != 1 || l->op->ntypes != 1) ptx_refuse(l, "a space and a type are needed");
    l->in.sub = ptx_has(l->op, "to");
    const ptx_opd *a = &l->o[1];
    if (l->in.space == ORR_SPACE_PARAM && !l->op->param_entry) { // a function's parameters are in its frame
        bool frame = a->kind == O_VAR ? a->var->where == V_FRAME : !l->fn->entry;
        if (frame) l->in.space = ORR_SPACE_LOCAL;
    }
    uint8_t cls = ptx_type_class(l->in.type);
    ptx_dst(l, &l->o[0], cls);
    ptx_src(l, a, cls, l->in.type);
    ptx_end(l);
}

// ---- video --------------------------------------------------------------------------------------
static uint32_t selector(lowering *l, const ptx_opd *o) { // 1..4 = b0..b3, 5 h0, 6 h1
    if (!o->sel) return 0;
    bool half = o->sel >> 15;
    uint32_t digits = o->sel >> 12 & 7, k = o->sel & 7;
    if (digits != 1 || k > (half ? 1 : 3)) ptx_refuse(l, "this part of a register cannot be selected");
    return half ? 5 + k : 1 + k;
}

static void selected(lowering *l, const ptx_opd *o, uint8_t type) {
    ptx_opd bare = *o;
    bare.sel = 0;
    bare.neg = 0;
    ptx_src(l, &bare, ORR_W, type);
}

void ptx_l_video(lowering *l) {
    ptx_need(l, 3, 4);
    ptx_begin(l);
    bool set = l->op->row->sub == ORR_VOP_SET, mad = l->op->row->sub == ORR_VOP_MAD;
    uint32_t types = set ? 2 : 3; // vset's result is always .u32
    if (l->op->ntypes != types) ptx_refuse(l, "%u types are needed", types);
    if (mad) ptx_need(l, 4, 4);
    uint8_t a = l->op->types[types - 2], b = l->op->types[types - 1];
    l->in.type = set ? ORR_T_U32 : l->op->types[0];
    l->in.stype = a;
    uint32_t second = ptx_has(l->op, "add") ? 1 : ptx_has(l->op, "min") ? 2 : ptx_has(l->op, "max") ? 3 : 0;
    ptx_opd d = l->o[0];
    uint32_t part = selector(l, &d);
    d.sel = 0;
    if (l->n == 4 && !mad && !second) second = 4;
    if ((l->n == 3) != (second == 0) && !mad) ptx_refuse(l, "a third source goes with a second operation");
    if ((part != 0) != (second == 4)) ptx_refuse(l, "a part of the result goes with a third source");
    ptx_dst(l, &d, ORR_W);
    l->in.imm = selector(l, &l->o[1]) | selector(l, &l->o[2]) << 4 | part << 12 | second << 16;
    l->in.disp = b;
    if (mad) {
        if (ptx_has(l->op, "shr7")) l->in.disp |= 7 << 8;
        if (ptx_has(l->op, "shr15")) l->in.disp |= 15 << 8;
        if (ptx_has(l->op, "po")) l->in.disp |= 1 << 16;
        for (uint32_t i = 1; i < 4; i++)
            if (l->o[i].neg == NEG_MINUS) l->in.disp |= 1 << (16 + i);
    }
    for (uint32_t i = 1; i < l->n; i++) selected(l, &l->o[i], ORR_T_B32);
    ptx_end(l);
}

// The selectors of a lane-wise instruction, 3 bits a lane from lane 0; default 0, 1, ... plus `from`.
static uint32_t lane_selectors(lowering *l, const ptx_opd *o, uint32_t lanes, uint32_t from) {
    uint32_t out = 0;
    if (!o->sel) {
        for (uint32_t i = 0; i < lanes; i++) out |= (from + i) << (3 * i);
        return out;
    }
    bool half = o->sel >> 15;
    if (half != (lanes == 2) || (o->sel >> 12 & 7u) != lanes)
        ptx_refuse(l, "this part of a register cannot be selected");
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t k = o->sel >> (3 * i) & 7;
        if (k >= 2 * lanes) ptx_refuse(l, "this part of a register cannot be selected");
        out |= k << (3 * i);
    }
    return out;
}

void ptx_l_video_simd(lowering *l) { // vadd2, vset4, ...
    ptx_need(l, 4, 4);
    ptx_begin(l);
    bool set = l->op->row->sub == ORR_VOP_SET;
    uint32_t types = set ? 2 : 3, lanes = l->op->row->op == ORR_OP_VIDEO2 ? 2 : 4;
    if (l->op->ntypes != types) ptx_refuse(l, "%u types are needed", types);
    l->in.type = set ? ORR_T_U32 : l->op->types[0];
    l->in.stype = l->op->types[types - 2];
    l->in.imm = l->op->types[types - 1] | (uint32_t)ptx_has(l->op, "add") << 16;
    ptx_opd d = l->o[0];
    uint32_t written = (1u << lanes) - 1;
    if (d.sel) {
        written = 0;
        for (uint32_t i = 0; i < (d.sel >> 12 & 7u); i++) written |= 1u << (d.sel >> (3 * i) & 7);
        if ((d.sel >> 15) != (lanes == 2) || written >> lanes)
            ptx_refuse(l, "this part of a register cannot be written");
        d.sel = 0;
    }
    ptx_dst(l, &d, ORR_W);
    l->in.disp = (int32_t)(lane_selectors(l, &l->o[1], lanes, 0) |
                           lane_selectors(l, &l->o[2], lanes, lanes) << 12 | written << 24);
    for (uint32_t i = 1; i < 4; i++) selected(l, &l->o[i], ORR_T_B32);
    ptx_end(l);
}
