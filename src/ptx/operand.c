// Operands: from what was written to what an instruction reads and writes, and the instructions that
// this takes.
#include <string.h>

#include "ptx/lower.h"

void ptx_refuse(lowering *l, const char *fmt, ...) {
    char text[500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    orr_fail(l->e, ORR_BAD_INPUT, "%.200s:%u: '%.100s': %s", l->m->path, l->s->line, l->op->text, text);
    longjmp(l->fail, 1);
}

void ptx_unsupported(lowering *l, const char *fmt, ...) {
    char text[500];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    orr_fail(l->e, ORR_BAD_INPUT, "%.200s:%u: '%.100s' is not supported: %s", l->m->path, l->s->line,
             l->op->text, text);
    longjmp(l->fail, 1);
}

// ---- the written operand ------------------------------------------------------------------------
const ptx_opd *ptx_kids(const lowering *l, const ptx_opd *o) { return &l->f->opds.at[o->value]; }

uint32_t ptx_elements(const lowering *l, const ptx_opd *o) {
    (void)l;
    return o->kind == O_VEC || ((o->kind == O_REG || o->kind == O_SREG) && o->n > 1) ? o->n : 1;
}

ptx_opd ptx_element(const lowering *l, const ptx_opd *o, uint32_t i) {
    if (o->kind == O_VEC) return ptx_kids(l, o)[i];
    ptx_opd one = *o;
    if (o->kind == O_REG && o->n > 1) {
        one.value += i;
        one.n = 1;
    }
    if (o->kind == O_SREG && o->n > 1) { // %tid: x, y, z, and a zero
        if (i == 3) return (ptx_opd){.kind = O_INT};
        one.value += i;
        one.n = 1;
    }
    return one;
}

void ptx_need(const lowering *l, uint32_t least, uint32_t most) {
    if (l->n >= least && l->n <= most) return;
    lowering *w = (lowering *)l;
    if (least == most) ptx_refuse(w, "%u operands where %u are needed", l->n, least);
    ptx_refuse(w, "%u operands where %u to %u are needed", l->n, least, most);
}

uint64_t ptx_constant(lowering *l, const ptx_opd *o, const char *what) {
    if (o->kind != O_INT) ptx_refuse(l, "%s must be an integer constant", what);
    return o->value;
}

// ---- registers ----------------------------------------------------------------------------------
static const uint8_t class_bytes[ORR_CLASSES] = {0, 2, 4, 8, 16};

uint8_t ptx_natural(uint8_t cls) {
    static const uint8_t type[ORR_CLASSES] = {ORR_T_PRED, ORR_T_B16, ORR_T_B32, ORR_T_B64, ORR_T_B128};
    return type[cls];
}

orr_operand ptx_temp(lowering *l, uint8_t cls) {
    return (orr_operand){.kind = ORR_K_REG, .cls = cls, .reg = l->nregs[cls]++};
}

static uint64_t masked(uint8_t cls, uint64_t v) {
    if (cls == ORR_P) return v != 0;
    return class_bytes[cls] >= 8 ? v : v & ((1ull << (class_bytes[cls] * 8)) - 1);
}

orr_operand ptx_imm(uint8_t cls, uint64_t value) {
    return (orr_operand){.kind = ORR_K_IMM, .cls = cls, .value = masked(cls, value)};
}

uint8_t ptx_reg_class(const lowering *l, const ptx_opd *o) {
    return ptx_type_class(l->fn->reg_type[o->value]);
}

static const char *class_name(uint8_t cls) {
    static const char *const names[ORR_CLASSES] = {"a predicate", "16 bits wide", "32 bits wide",
                                                   "64 bits wide", "128 bits wide"};
    return names[cls];
}

static orr_operand reg_operand(lowering *l, const ptx_opd *o, uint8_t cls) {
    if (o->n != 1) ptx_refuse(l, "a vector register where a single one is needed");
    uint8_t have = ptx_reg_class(l, o);
    if (cls != ANY_CLASS && have != cls)
        ptx_refuse(l, "a register is %s where it must be %s", class_name(have), class_name(cls));
    return (orr_operand){.kind = ORR_K_REG, .cls = have, .reg = l->reg[o->value]};
}

// ---- constants ----------------------------------------------------------------------------------
static double f64_of(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}
static float f32_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static uint64_t bits_of_f64(double d) {
    uint64_t v;
    memcpy(&v, &d, sizeof v);
    return v;
}
static uint32_t bits_of_f32(float f) {
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}

static orr_operand constant(lowering *l, const ptx_opd *o, uint8_t cls, uint8_t type) {
    if (cls == ANY_CLASS) cls = ptx_type_class(type);
    uint64_t v = o->value;
    if (o->kind == O_INT) {
        if (type == ORR_T_F32 || type == ORR_T_TF32) v = bits_of_f32((float)(int64_t)v);
        if (type == ORR_T_F64) v = bits_of_f64((double)(int64_t)v);
    } else if (cls == ORR_W) {
        if (o->kind == O_F64) v = bits_of_f32((float)f64_of(v));
    } else if (cls == ORR_D) {
        if (o->kind == O_F32) v = bits_of_f64(f32_of((uint32_t)v));
    } else {
        ptx_refuse(l, "a floating-point constant needs 32 or 64 bits");
    }
    return ptx_imm(cls, v);
}

// ---- what reading an operand takes --------------------------------------------------------------
void ptx_emit(lowering *l, orr_inst in, const orr_operand *dst, uint32_t nd, const orr_operand *src,
              uint32_t ns) {
    if (l->insts.n >= INT32_MAX / 2 || l->operands.n >= INT32_MAX) ptx_refuse(l, "the kernel is too large");
    in.first = (uint32_t)l->operands.n;
    in.ndst = (uint8_t)nd;
    in.nsrc = (uint8_t)ns;
    in.line = l->s->line;
    in.source.file = l->file;
    in.source.line = l->file ? l->s->srcline : 0;
    for (uint32_t i = 0; i < nd; i++) *ORR_PUSH(&l->operands) = dst[i];
    for (uint32_t i = 0; i < ns; i++) *ORR_PUSH(&l->operands) = src[i];
    *ORR_PUSH(&l->insts) = in;
}

static orr_inst plain(uint16_t op, uint8_t type) {
    return (orr_inst){.op = op, .type = type, .vec = 1, .guard = -1, .target = -1};
}

void ptx_emit_simple(lowering *l, uint16_t op, uint8_t type, uint8_t stype, orr_operand dst,
                     orr_operand src) {
    orr_inst in = plain(op, type);
    in.stype = stype;
    ptx_emit(l, in, &dst, 1, &src, 1);
}

// A load or store of the function's own frame: parameters in registers.
void ptx_frame_access(lowering *l, bool store, uint8_t type, orr_operand value, uint64_t offset,
                      bool guarded) {
    orr_inst in = plain(store ? ORR_OP_ST : ORR_OP_LD, type);
    in.space = ORR_SPACE_LOCAL;
    in.width = (uint8_t)ptx_type_bytes(type);
    in.disp = (int32_t)offset;
    in.cache = store ? ORR_CACHE_WB : ORR_CACHE_CA;
    if (guarded && l->s->guard >= 0) {
        in.guard = (int32_t)l->reg[l->s->guard];
        in.guard_neg = (uint8_t)l->s->guard_neg;
    }
    orr_operand src[2] = {{.kind = ORR_K_NONE, .cls = ORR_D}, value};
    ptx_emit(l, in, store ? NULL : &value, !store, src, store ? 2 : 1);
}

static orr_operand fit(lowering *l, orr_operand v, uint8_t cls) { // between widths of integers
    if (cls == ANY_CLASS || cls == v.cls) return v;
    if (cls == ORR_P || cls == ORR_Q || v.cls == ORR_P)
        ptx_refuse(l, "an operand is %s where it must be %s", class_name(v.cls), class_name(cls));
    static const uint8_t u[ORR_CLASSES] = {0, ORR_T_U16, ORR_T_U32, ORR_T_U64, 0};
    orr_operand t = ptx_temp(l, cls);
    ptx_emit_simple(l, ORR_OP_CVT, u[cls], u[v.cls], t, v);
    return t;
}

static orr_operand special(lowering *l, const ptx_opd *o, uint8_t cls) {
    const ptx_sreg *s = &ptx_sregs[o->value];
    if (o->n != 1) ptx_refuse(l, "'%s' has elements: name one", s->name);
    if (s->bytes == 0) { // a predicate
        orr_operand v = ptx_temp(l, ORR_W), p = ptx_temp(l, ORR_P);
        orr_inst read = plain(ORR_OP_SREG, ORR_T_U32), set = plain(ORR_OP_SETP, ORR_T_U32);
        read.imm = s->sreg;
        set.cmp = ORR_CMP_NE;
        ptx_emit(l, read, &v, 1, NULL, 0);
        ptx_emit(l, set, &p, 1, (orr_operand[]){v, ptx_imm(ORR_W, 0)}, 2);
        return fit(l, p, cls);
    }
    uint8_t own = s->bytes == 8 ? ORR_D : ORR_W;
    if (s->sreg == ORR_SREG_GRIDID && cls == ORR_W) own = ORR_W; // was 32 bits wide once
    orr_operand t = ptx_temp(l, own);
    orr_inst in = plain(ORR_OP_SREG, own == ORR_D ? ORR_T_U64 : ORR_T_U32);
    in.imm = s->sreg;
    ptx_emit(l, in, &t, 1, NULL, 0);
    return fit(l, t, cls);
}

// A variable's address as a value.
static orr_operand address_of(lowering *l, const ptx_var *v, int64_t addend, uint8_t cls) {
    if (cls == ANY_CLASS) cls = ORR_D;
    uint64_t at = v->offset + (uint64_t)addend;
    switch (v->where) {
    case V_GLOBAL:
    case V_CONST: {
        orr_operand sym = {.kind = ORR_K_SYMBOL, .cls = ORR_D, .reg = v->index, .value = (uint64_t)addend};
        return fit(l, sym, cls);
    }
    case V_SHARED: return ptx_imm(cls, at);
    case V_DYNAMIC: return ptx_imm(cls, l->shared + (uint64_t)addend);
    case V_PARAM: return ptx_imm(cls, at);
    case V_FRAME: {
        orr_operand t = ptx_temp(l, ORR_D);
        orr_inst in = plain(ORR_OP_LOCALADDR, ORR_T_U64);
        in.imm = (uint32_t)v->offset;
        ptx_emit(l, in, &t, 1, NULL, 0);
        if (addend) {
            orr_operand sum = ptx_temp(l, ORR_D), src[2] = {t, ptx_imm(ORR_D, (uint64_t)addend)};
            ptx_emit(l, plain(ORR_OP_ADD, ORR_T_U64), &sum, 1, src, 2);
            t = sum;
        }
        return fit(l, t, cls);
    }
    default: ptx_unsupported(l, "'%.200s' is a texture, sampler or surface", v->name);
    }
}

orr_operand ptx_read(lowering *l, const ptx_opd *o, uint8_t cls, uint8_t type) {
    if (o->neg == NEG_MINUS) ptx_refuse(l, "'-' in front of a register");
    if (o->sel && o->kind == O_REG) ptx_refuse(l, "a part of a register is selected");
    if (o->neg == NEG_NOT && (o->kind != O_REG || ptx_reg_class(l, o) != ORR_P))
        ptx_refuse(l, "'!' needs a predicate");
    if (o->addend && o->kind != O_VAR) ptx_refuse(l, "a sum where a single value is needed");
    switch (o->kind) {
    case O_REG: {
        orr_operand r = reg_operand(l, o, cls);
        r.neg = o->neg == NEG_NOT;
        return r;
    }
    case O_INT:
    case O_F32:
    case O_F64: return constant(l, o, cls, type);
    case O_SREG: return special(l, o, cls);
    case O_VAR: return address_of(l, o->var, o->addend, cls);
    case O_FUNC: return fit(l, ptx_imm(ORR_D, ORR_FUNC_HANDLE(ptx_func_real(l->f, o->func)->handle)), cls);
    case O_ADDR:
        if (o->n == 1 && ptx_kids(l, o)->kind == O_VAR)
            return address_of(l, ptx_kids(l, o)->var, ptx_kids(l, o)->addend, cls);
        ptx_refuse(l, "an address in brackets where a value is needed");
    case O_NAME: ptx_refuse(l, "nothing is called '%.*s'", o->n > 200 ? 200 : (int)o->n, o->name);
    case O_SINK: ptx_refuse(l, "'_' where a value is needed");
    case O_VEC: ptx_refuse(l, "a vector where a single value is needed");
    default: ptx_refuse(l, "an operand that is not a value");
    }
}

orr_operand ptx_write(lowering *l, const ptx_opd *o, uint8_t cls) {
    if (o->kind == O_SINK) return (orr_operand){.kind = ORR_K_NONE, .cls = cls == ANY_CLASS ? ORR_W : cls};
    if (o->kind == O_NAME) ptx_refuse(l, "nothing is called '%.*s'", o->n > 200 ? 200 : (int)o->n, o->name);
    if (o->kind != O_REG || o->neg || o->addend || o->sel)
        ptx_refuse(l, "the destination must be a register");
    return reg_operand(l, o, cls);
}

// ---- addresses ----------------------------------------------------------------------------------
static bool fits(int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; }

static uint8_t space_of(const ptx_var *v) {
    static const uint8_t space[] = {
        [V_GLOBAL] = ORR_SPACE_GLOBAL,  [V_CONST] = ORR_SPACE_CONST, [V_SHARED] = ORR_SPACE_SHARED,
        [V_DYNAMIC] = ORR_SPACE_SHARED, [V_FRAME] = ORR_SPACE_LOCAL, [V_PARAM] = ORR_SPACE_PARAM};
    return v->where <= V_PARAM ? space[v->where] : ORR_SPACE_NONE;
}

orr_operand ptx_address(lowering *l, const ptx_opd *o, uint8_t *space, int32_t *disp) {
    if (o->kind != O_ADDR || o->n != 1) ptx_refuse(l, "an address in brackets is needed");
    const ptx_opd *base = ptx_kids(l, o);
    int64_t addend = base->addend;
    if (*space == ORR_SPACE_NONE) *space = ORR_SPACE_GENERIC;
    if (*space == ORR_SPACE_PARAM && base->kind != O_VAR && !l->op->param_entry &&
        (!l->fn->entry || l->op->param_func))
        *space = ORR_SPACE_LOCAL; // a function's parameters are in its frame
    orr_operand out;
    if (base->kind == O_REG) {
        if (base->neg || base->sel) ptx_refuse(l, "this address cannot be read");
        out = reg_operand(l, base, ANY_CLASS);
        if (out.cls != ORR_W && out.cls != ORR_D) ptx_refuse(l, "an address is 32 or 64 bits wide");
        if (!fits(addend)) {
            orr_operand sum = ptx_temp(l, out.cls), src[2] = {out, ptx_imm(out.cls, (uint64_t)addend)};
            ptx_emit(l, plain(ORR_OP_ADD, out.cls == ORR_D ? ORR_T_U64 : ORR_T_U32), &sum, 1, src, 2);
            out = sum;
            addend = 0;
        }
    } else if (base->kind == O_INT) {
        out = ptx_imm(ORR_D, base->value);
    } else if (base->kind == O_VAR) {
        const ptx_var *v = base->var;
        uint8_t own = space_of(v);
        bool as_param = *space == ORR_SPACE_PARAM && own == ORR_SPACE_LOCAL;
        bool as_global = own == ORR_SPACE_CONST && *space == ORR_SPACE_GLOBAL;
        if (*space != ORR_SPACE_GENERIC && *space != own && !as_param && !as_global)
            ptx_refuse(l, "'%.200s' is not in this space", v->name);
        if (!as_global) *space = own;
        if (v->where == V_FRAME) {
            out = (orr_operand){.kind = ORR_K_NONE, .cls = ORR_D};
            addend += (int64_t)v->offset;
            if (!fits(addend)) ptx_refuse(l, "an address outside '%.200s'", v->name);
        } else {
            out = address_of(l, v, 0, ORR_D);
            if (!fits(addend)) {
                out.value += (uint64_t)addend;
                addend = 0;
            }
        }
    } else {
        out = ptx_read(l, base, ANY_CLASS, ORR_T_U64); // names the trouble, or a special register
        addend = fits(addend) ? addend : 0;
    }
    *disp = (int32_t)addend;
    return out;
}

void ptx_mem(lowering *l, const ptx_opd *o) {
    int32_t disp;
    uint8_t space = l->in.space;
    orr_operand a = ptx_address(l, o, &space, &disp);
    l->in.space = space;
    l->in.disp = disp;
    ptx_src_operand(l, a);
}

// ---- building an instruction --------------------------------------------------------------------
void ptx_begin(lowering *l) {
    const ptx_opcode *op = l->op;
    l->in = plain(op->row->op, op->ntypes ? op->types[0] : ORR_T_NONE);
    l->in.stype = op->ntypes > 1 ? op->types[1] : ORR_T_NONE;
    l->in.space = op->nspaces ? op->spaces[0] : ORR_SPACE_NONE;
    l->in.vec = op->vec;
    l->in.round = op->round;
    l->in.cmp = op->cmp;
    l->in.boolop = op->boolop;
    l->in.sub = op->sub;
    l->in.cache = op->cache;
    l->in.mods = op->mods;
    if (l->s->guard >= 0) {
        l->in.guard = (int32_t)l->reg[l->s->guard];
        l->in.guard_neg = (uint8_t)l->s->guard_neg;
    }
}

void ptx_dst(lowering *l, const ptx_opd *o, uint8_t cls) {
    if (l->in.ndst == MAX_INST_OPERANDS) ptx_refuse(l, "too many operands");
    l->dst[l->in.ndst++] = ptx_write(l, o, cls);
}

void ptx_src_operand(lowering *l, orr_operand o) {
    if (l->in.nsrc == MAX_INST_OPERANDS) ptx_refuse(l, "too many operands");
    l->src[l->in.nsrc++] = o;
}

void ptx_src(lowering *l, const ptx_opd *o, uint8_t cls, uint8_t type) {
    ptx_src_operand(l, ptx_read(l, o, cls, type));
}
void ptx_src_none(lowering *l) { ptx_src_operand(l, (orr_operand){.kind = ORR_K_NONE, .cls = ORR_W}); }
void ptx_src_pred(lowering *l, const ptx_opd *o) { ptx_src(l, o, ORR_P, ORR_T_PRED); }
void ptx_end(lowering *l) { ptx_emit(l, l->in, l->dst, l->in.ndst, l->src, l->in.nsrc); }

// ---- by the row's form --------------------------------------------------------------------------
static uint8_t form_type(lowering *l, char c) {
    const ptx_opcode *op = l->op;
    switch (c) {
    case 'w': return ORR_T_U32;
    case 'd': return ORR_T_U64;
    case 'p': return ORR_T_PRED;
    case 'x': return ORR_T_U64;
    case 's':
        if (op->ntypes < 2) ptx_refuse(l, "two types are needed");
        return op->types[1];
    default:
        if (op->ntypes < 1) ptx_refuse(l, "a type is needed");
        return op->types[0];
    }
}

void ptx_by_form(lowering *l) {
    const char *form = l->op->row->form;
    uint32_t at = 0;
    ptx_begin(l);
    for (; *form && *form != '='; form++) {
        if (at >= l->n) ptx_refuse(l, "too few operands");
        const ptx_opd *o = &l->o[at++];
        uint8_t cls = *form == 'x' ? ANY_CLASS : ptx_type_class(form_type(l, *form));
        if (form[1] == '|') {
            if (o->kind == O_PAIR) {
                ptx_dst(l, &ptx_kids(l, o)[0], cls);
                ptx_dst(l, &ptx_kids(l, o)[1], ptx_type_class(form_type(l, form[2])));
            } else {
                ptx_dst(l, o, cls);
            }
            form += 2;
        } else {
            ptx_dst(l, o, cls);
        }
    }
    for (form++; *form; form++) {
        bool none = form[1] == '?', left_out = form[1] == '*';
        char c = *form;
        if (none || left_out) form++;
        if (at >= l->n) {
            if (none)
                ptx_src_none(l);
            else if (!left_out)
                ptx_refuse(l, "too few operands");
            continue;
        }
        const ptx_opd *o = &l->o[at++];
        if (c == 'm')
            ptx_mem(l, o);
        else if (c == 'i')
            l->in.imm = (uint32_t)ptx_constant(l, o, "this operand");
        else
            ptx_src(l, o, c == 'x' ? ANY_CLASS : ptx_type_class(form_type(l, c)), form_type(l, c));
    }
    if (at < l->n) ptx_refuse(l, "too many operands");
    ptx_end(l);
}
