// Machine code made ready for a launch: operands, micro-ops, blocks. translate.h has the method.
#include "exec/sass/translate.h"

#include <stdlib.h>
#include <string.h>

#include "exec/ops/pair.h"
#include "sass/module.h"

typedef struct build {
    orr_kernel like;           // stands for the kernel when a PTX handler is picked: its operands
    orr_operand operands[288]; // of a group of warps' product
    ORR_VEC(uop) uops;
    size_t first;        // of the instruction
    uint32_t b, ur, tmp; // bytes into bank W
    uint32_t uniforms;   // registers that are named, up to the last
    uint32_t sink;
} build;

// ---- banks of constants ---------------------------------------------------------------------
const uint8_t *m_bank_bytes(translator *m, unsigned bank, uint32_t *bytes) {
    const decoded *p = m->p;
    const orr_kernel *k = p->kernel;
    if (bank == 0) {
        *bytes = k->code.bank0_bytes;
        return p->bank0;
    }
    if (bank >= ORR_BANKS || !k->code.bank_var[bank]) return NULL;
    const orr_image *image = p->launch->image;
    uint32_t var = k->code.bank_var[bank] - 1;
    uint64_t size = image->module->vars[var].bytes;
    *bytes = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    return orr_mem_host(p->launch->mem, image->var_addr[var], *bytes);
}

uint64_t m_bank_address(translator *m, unsigned bank) {
    const orr_kernel *k = m->p->kernel;
    if (!bank || bank >= ORR_BANKS || !k->code.bank_var[bank]) return 0;
    return m->p->launch->image->var_addr[k->code.bank_var[bank] - 1];
}

bool m_bank(translator *m, unsigned bank, uint32_t offset, uint32_t *value) {
    uint32_t size = 0;
    const uint8_t *at = m_bank_bytes(m, bank, &size);
    *value = 0;
    if (!at) {
        m->why = "it reads a constant bank that the file does not have";
        return false;
    }
    if (offset >= size) return true; // what is past the end reads as zero: banks are padded
    uint32_t n = size - offset < 4 ? size - offset : 4;
    memcpy(value, at + offset, n);
    return true;
}

// ---- rows -----------------------------------------------------------------------------------
static oper in_w(uint32_t off) { return (oper){.off = off, .bank = BANK_W, .cls = ORR_W}; }
static oper in_p(uint32_t n) { return (oper){.off = n * 4, .bank = BANK_P, .cls = ORR_P}; }

oper m_imm(translator *m, int cls, uint64_t value) {
    return (oper){.off = orr_constant(&m->p->pool, cls, value), .bank = BANK_CONST, .cls = (uint8_t)cls};
}

oper m_row(translator *m, unsigned reg) {
    return reg >= ORR_RZ ? m_imm(m, ORR_W, 0) : in_w(reg * reg_bytes(ORR_W));
}

oper m_uniform(translator *m, unsigned reg) {
    build *b = m->build;
    if (reg >= ROWS_UR) return m_imm(m, ORR_W, 0);
    if (reg >= b->uniforms) b->uniforms = reg + 1;
    return in_w(b->ur + reg * reg_bytes(ORR_W));
}

oper m_barrier(translator *m, unsigned b) { return in_w(m->build->b + (b % ROWS_B) * reg_bytes(ORR_W)); }
oper m_result(translator *m) { return in_w(m->build->b + ROWS_B * reg_bytes(ORR_W)); }
oper m_rpc(translator *m, bool high) {
    return in_w(m->build->b + (ROWS_B + 1u + high) * (uint32_t)reg_bytes(ORR_W));
}

oper m_tmp(translator *m, int cls) {
    static const uint32_t most[ORR_CLASSES] = {[ORR_P] = MASK_RESULT - MASK_TMP,
                                               [ORR_H] = ROWS_H,
                                               [ORR_W] = ROWS_TMP,
                                               [ORR_D] = ROWS_D,
                                               [ORR_Q] = 1};
    uint32_t n = m->tmp[cls]++;
    if (n >= most[cls]) {
        m->why = "it needs more scratch rows than there are";
        n = 0;
    }
    if (cls == ORR_P) return in_p(MASK_TMP + n);
    uint32_t base = cls == ORR_W ? m->build->tmp : 0;
    return (oper){.off = base + n * reg_bytes(cls), .bank = (uint8_t)cls, .cls = (uint8_t)cls};
}

// ---- arguments ------------------------------------------------------------------------------
static const orr_arg *arg(const translator *m, int n) {
    static const orr_arg none;
    return n < m->c->nargs ? &m->c->args[n] : &none;
}

bool m_is(const translator *m, int n, enum orr_arg_kind kind) { return arg(m, n)->kind == kind; }
unsigned m_mod(const translator *m, enum orr_smod kind) { return orr_code_mod(m->c, kind); }

bool m_zero(const translator *m, int n) {
    const orr_arg *a = arg(m, n);
    if (a->kind == ORR_ARG_R || a->kind == ORR_ARG_UR) return a->reg == ORR_RZ;
    return a->kind == ORR_ARG_INT && a->value == 0;
}

// The word of an argument that is known now.
static bool known(translator *m, const orr_arg *a, int word, uint32_t *v) {
    *v = 0;
    switch (a->kind) {
    case ORR_ARG_NONE: return true;
    case ORR_ARG_R:
    case ORR_ARG_UR: return a->reg == ORR_RZ;
    case ORR_ARG_INT:
    case ORR_ARG_F64: *v = (uint32_t)((uint64_t)a->value >> (word ? 32 : 0)); return word < 2;
    case ORR_ARG_F32:
    case ORR_ARG_F16X2:
    case ORR_ARG_BF16X2: *v = (uint32_t)a->value; return true;
    case ORR_ARG_CONST:
        if (a->shape & (ORR_ARG_HAS_R | ORR_ARG_HAS_UR | ORR_ARG_BINDLESS)) {
            m->why = "it reads a constant through a register";
            return true;
        }
        m_bank(m, a->bank, (uint32_t)a->value + 4 * (uint32_t)word, v);
        return true;
    default: m->why = "it has an operand of a kind that is not executed"; return true;
    }
}

oper m_src(translator *m, int n, int word) {
    const orr_arg *a = arg(m, n);
    uint32_t v;
    if (known(m, a, word, &v)) return m_imm(m, ORR_W, v);
    unsigned reg = a->reg + (unsigned)word;
    if (reg >= ORR_RZ) m->why = "it names a register past the last";
    return a->kind == ORR_ARG_UR ? m_uniform(m, reg) : m_row(m, reg);
}

oper m_dst(translator *m, int n, int word) {
    const orr_arg *a = arg(m, n);
    if (a->kind != ORR_ARG_R && a->kind != ORR_ARG_UR) {
        if (a->kind != ORR_ARG_NONE) m->why = "its result is not a register";
        return in_w(m->build->sink);
    }
    unsigned reg = a->reg + (unsigned)word;
    if (a->reg == ORR_RZ) return in_w(m->build->sink);
    if (reg >= ORR_RZ || (a->kind == ORR_ARG_UR && reg >= ROWS_UR)) {
        m->why = "it names a register past the last";
        return in_w(m->build->sink);
    }
    return a->kind == ORR_ARG_UR ? m_uniform(m, reg) : m_row(m, reg);
}

oper m_psrc(translator *m, int n) {
    const orr_arg *a = arg(m, n);
    bool neg = (a->flags & ORR_ARG_INV) != 0;
    if (a->kind == ORR_ARG_NONE || a->reg >= ORR_PT) return m_imm(m, ORR_P, !neg);
    if (a->kind != ORR_ARG_P && a->kind != ORR_ARG_UP) m->why = "its predicate is none";
    oper o = in_p((a->kind == ORR_ARG_UP ? MASK_UP : MASK_P) + a->reg);
    o.neg = neg;
    return o;
}

oper m_pdst(translator *m, int n) {
    const orr_arg *a = arg(m, n);
    if ((a->kind != ORR_ARG_P && a->kind != ORR_ARG_UP) || a->reg >= ORR_PT) {
        oper o = in_p(MASK_SINK);
        o.none = 1;
        return o;
    }
    return in_p((a->kind == ORR_ARG_UP ? MASK_UP : MASK_P) + a->reg);
}

// ---- signs and halves -----------------------------------------------------------------------
PAIR1(negate, uint32_t, uint32_t, 0u - a)
PAIR1(invert, uint32_t, uint32_t, ~a)
PAIR1(magnitude, uint32_t, uint32_t, (int32_t)a < 0 ? 0u - a : a)
PAIR1(neg_magnitude, uint32_t, uint32_t, (int32_t)a < 0 ? a : 0u - a)
PAIR1(low_low, uint32_t, uint32_t, (a & 0xffff) | a << 16)
PAIR1(high_high, uint32_t, uint32_t, (a >> 16) | (a & 0xffff0000))
PAIR2(flip, uint32_t, uint32_t, uint32_t, a ^ b)
PAIR2(keep, uint32_t, uint32_t, uint32_t, a &b)
PAIR2(put_sign, uint32_t, uint32_t, uint32_t, a | b)
PAIR1(negate64, uint64_t, uint64_t, 0ull - a)
PAIR1(invert64, uint64_t, uint64_t, ~a)
PAIR2(flip64, uint64_t, uint64_t, uint64_t, a ^ b)
PAIR2(keep64, uint64_t, uint64_t, uint64_t, a &b)
PAIR2(put_sign64, uint64_t, uint64_t, uint64_t, a | b)

#define STEP1(name, o, cls)                                                                                  \
    do {                                                                                                     \
        oper t_ = m_tmp(m, cls);                                                                             \
        m_emit(m, PICK(name), 1, 1, OPERS(t_, o));                                                           \
        o = t_;                                                                                              \
    } while (0)
#define STEP2(name, o, cls, value)                                                                           \
    do {                                                                                                     \
        oper t_ = m_tmp(m, cls);                                                                             \
        m_emit(m, PICK(name), 1, 2, OPERS(t_, o, m_imm(m, cls, value)));                                     \
        o = t_;                                                                                              \
    } while (0)

static uint32_t signs(enum m_how how) {
    return how == AS_F16X2 || how == AS_BF16X2 ? 0x80008000u : 0x80000000u;
}

static uint32_t applied(uint32_t v, const orr_arg *a, enum m_how how) {
    if (a->sub == ORR_SM_SWZ && a->subval == ORR_SV_SWZ_H0_H0) v = (v & 0xffff) | v << 16;
    if (a->sub == ORR_SM_SWZ && a->subval == ORR_SV_SWZ_H1_H1) v = v >> 16 | (v & 0xffff0000);
    if (how == AS_INT || how == AS_BITS) {
        if (a->flags & ORR_ARG_INV) v = ~v;
        if ((a->flags & ORR_ARG_ABS) && (int32_t)v < 0) v = 0u - v;
        return a->flags & ORR_ARG_NEG ? 0u - v : v;
    }
    if (a->flags & ORR_ARG_ABS) v &= ~signs(how);
    return a->flags & ORR_ARG_NEG ? v ^ signs(how) : v;
}

oper m_val(translator *m, int n, enum m_how how) {
    const orr_arg *a = arg(m, n);
    uint32_t v;
    if (known(m, a, 0, &v)) return m_imm(m, ORR_W, applied(v, a, how));
    oper o = m_src(m, n, 0);
    if (a->sub == ORR_SM_SWZ && a->subval == ORR_SV_SWZ_H0_H0) STEP1(low_low, o, ORR_W);
    if (a->sub == ORR_SM_SWZ && a->subval == ORR_SV_SWZ_H1_H1) STEP1(high_high, o, ORR_W);
    bool neg = (a->flags & ORR_ARG_NEG) != 0, abs = (a->flags & ORR_ARG_ABS) != 0;
    if (how == AS_INT || how == AS_BITS) {
        if (a->flags & ORR_ARG_INV) STEP1(invert, o, ORR_W);
        if (abs && neg)
            STEP1(neg_magnitude, o, ORR_W);
        else if (abs)
            STEP1(magnitude, o, ORR_W);
        else if (neg)
            STEP1(negate, o, ORR_W);
        return o;
    }
    if (abs && neg)
        STEP2(put_sign, o, ORR_W, signs(how));
    else if (abs)
        STEP2(keep, o, ORR_W, ~signs(how));
    else if (neg)
        STEP2(flip, o, ORR_W, signs(how));
    return o;
}

oper m_wide(translator *m, int n, enum m_how64 how) {
    const orr_arg *a = arg(m, n);
    bool neg = (a->flags & ORR_ARG_NEG) != 0, abs = (a->flags & ORR_ARG_ABS) != 0;
    bool inv = (a->flags & ORR_ARG_INV) != 0;
    uint64_t sign = 1ull << 63;
    uint32_t lo, hi;
    if (known(m, a, 0, &lo) && known(m, a, 1, &hi)) {
        uint64_t v = (uint64_t)hi << 32 | lo;
        if (a->kind == ORR_ARG_F32) v = lo;
        if (inv) v = ~v;
        if (how == AS_F64) {
            if (abs) v &= ~sign;
            if (neg) v ^= sign;
        } else if (neg) {
            v = 0ull - v;
        }
        return m_imm(m, ORR_D, v);
    }
    oper o = m_tmp(m, ORR_D);
    m_pack(m, o, m_src(m, n, 0), m_src(m, n, 1));
    if (inv) STEP1(invert64, o, ORR_D);
    if (how == AS_F64) {
        if (abs && neg)
            STEP2(put_sign64, o, ORR_D, sign);
        else if (abs)
            STEP2(keep64, o, ORR_D, ~sign);
        else if (neg)
            STEP2(flip64, o, ORR_D, sign);
    } else if (neg) {
        STEP1(negate64, o, ORR_D);
    }
    return o;
}

// ---- micro-ops ------------------------------------------------------------------------------
static uop *append(translator *m, handlers h, const orr_inst *inst, int ndst, int nsrc, const oper *opers) {
    build *b = m->build;
    int n = ndst + nsrc;
    oper *all = orr_arena_alloc(&m->p->arena, (size_t)(n + 1) * sizeof *all);
    if (n) memcpy(all, opers, (size_t)n * sizeof *all);
    oper none = m_imm(m, ORR_Q, 0);
    none.none = 1;
    uop u = {.full = h.full, .masked = h.masked ? h.masked : h.full, .all = all, .inst = inst};
    u.d = ndst > 0 ? all[0] : none;
    u.a = nsrc > 0 ? all[ndst] : none;
    u.b = nsrc > 1 ? all[ndst + 1] : none;
    u.c = nsrc > 2 ? all[ndst + 2] : none;
    u.imm = inst->imm;
    u.ndst = (uint8_t)ndst;
    u.nsrc = (uint8_t)nsrc;
    u.guard = -1;
    if (orr_ops[inst->op].flags & ORR_F_MEMORY) u.mem = m->p->nmem++;
    uop *at = ORR_PUSH(&b->uops);
    *at = u;
    return at;
}

uop *m_emit(translator *m, handlers h, int ndst, int nsrc, const oper *opers) {
    return append(m, h, m->inst, ndst, nsrc, opers);
}

uop *m_aside(translator *m, handlers h, int ndst, int nsrc, const oper *opers) {
    static const orr_inst aside = {.op = ORR_OP_NOP, .guard = -1, .target = -1};
    return append(m, h, &aside, ndst, nsrc, opers);
}

bool m_ptx(translator *m, orr_inst like, int ndst, int nsrc, const oper *opers) {
    build *b = m->build;
    orr_inst *i = orr_arena_alloc(&m->p->arena, sizeof *i);
    *i = like;
    i->ndst = (uint8_t)ndst;
    i->nsrc = (uint8_t)nsrc;
    i->first = 0;
    i->guard = i->target = -1;
    i->line = m->inst->line;
    i->source = m->inst->source;
    i->sass = m->inst->sass;
    if (ndst + nsrc > (int)(sizeof b->operands / sizeof *b->operands)) return false;
    for (int n = 0; n < ndst + nsrc; n++)
        b->operands[n] = (orr_operand){
            .kind = opers[n].none ? ORR_K_NONE : ORR_K_REG, .cls = opers[n].cls, .neg = opers[n].neg};
    b->like.operands = b->operands;
    b->like.module = m->p->kernel->module;
    const char *why = NULL;
    handlers h = orr_pick(&b->like, i, &why);
    if (!h.full) {
        m->why = why ? why : "PTX has no such operation";
        return false;
    }
    append(m, h, i, ndst, nsrc, opers);
    return true;
}

void m_high_words(translator *m, oper lo, oper hi) {
    uop *u = &m->build->uops.at[m->build->uops.n - 1];
    size_t n = (size_t)u->ndst + u->nsrc;
    oper *all = orr_arena_alloc(&m->p->arena, (n + 1) * sizeof *all);
    memcpy(all, u->all, n * sizeof *all);
    all[u->ndst] = u->a = lo;
    all[n] = hi;
    if (u->nsrc == 1) u->b = hi;
    if (u->nsrc == 2) u->c = hi;
    u->all = all;
    u->nsrc++;
    u->pair = 1;
}

void m_active(translator *m) { m->build->uops.at[m->build->uops.n - 1].active = 1; }

static void pack(warp *w, const uop *u) {
    uint64_t *d = DST(w, u, uint64_t);
    const uint32_t *lo = SRC_A(w, u, uint32_t), *hi = SRC_B(w, u, uint32_t);
    LANES d[i] = (uint64_t)hi[i] << 32 | lo[i];
}
static void unpack_full(warp *w, const uop *u) {
    const uint64_t *s = SRC_A(w, u, uint64_t);
    uint32_t *lo = DST_N(w, u, 0, uint32_t), *hi = DST_N(w, u, 1, uint32_t);
    LANES {
        lo[i] = (uint32_t)s[i];
        hi[i] = (uint32_t)(s[i] >> 32);
    }
}
static void unpack_masked(warp *w, const uop *u) {
    const uint64_t *s = SRC_A(w, u, uint64_t);
    uint32_t *lo = DST_N(w, u, 0, uint32_t), *hi = DST_N(w, u, 1, uint32_t);
    const uint32_t *lane = w->lane;
    LANES {
        lo[i] = BLEND(uint32_t, lo[i], (uint32_t)s[i], lane[i]);
        hi[i] = BLEND(uint32_t, hi[i], (uint32_t)(s[i] >> 32), lane[i]);
    }
}

void m_pack(translator *m, oper d, oper lo, oper hi) { m_aside(m, BOTH(pack), 1, 2, OPERS(d, lo, hi)); }
void m_unpack(translator *m, oper lo, oper hi, oper d) { m_aside(m, PICK(unpack), 2, 1, OPERS(lo, hi, d)); }

static void spread_row(warp *w, const uop *u) {
    uint32_t *d = DST(w, u, uint32_t), v = SRC_A(w, u, uint32_t)[orr_ffs(w->exec)];
    LANES d[i] = v;
}
static void spread_mask(warp *w, const uop *u) {
    uint32_t m = pred_of(w, u->a);
    if (!u->d.none) *DST(w, u, uint32_t) = m >> orr_ffs(w->exec) & 1 ? FULL : 0;
}
void m_spread(translator *m, oper dst, oper src) {
    if (src.cls == ORR_P)
        m_emit(m, BOTH(spread_mask), 1, 1, OPERS(dst, src));
    else
        m_emit(m, BOTH(spread_row), 1, 1, OPERS(dst, src));
    m_active(m);
}

// ---- how each is run ------------------------------------------------------------------------
static void for_all_lanes(warp *w, const uop *u) {
    uint32_t was = w->exec;
    w->exec = FULL;
    u->inner(w, u);
    w->exec = was;
}

// Does a stream have something of it?
static bool recorded(const uop *u) {
    return (orr_ops[u->inst->op].flags & ORR_F_MEMORY) || u->inst->op == ORR_OP_BULK;
}

enum { WRITES_LANES, WRITES_UNIFORM, WRITES_SCRATCH };
static int writes(const build *b, const uop *u) {
    int what = u->ndst ? WRITES_SCRATCH : WRITES_LANES;
    for (int n = 0; n < u->ndst; n++) {
        oper d = u->all[n];
        int is = WRITES_SCRATCH;
        if (d.bank == BANK_P)
            is = d.none                                            ? WRITES_SCRATCH
                 : d.off < MASK_UP * 4 || d.off == MASK_RESULT * 4 ? WRITES_LANES
                 : d.off < MASK_TMP * 4                            ? WRITES_UNIFORM
                                                                   : WRITES_SCRATCH;
        else if (d.bank == BANK_W)
            is = d.off < b->ur ? WRITES_LANES : d.off < b->tmp ? WRITES_UNIFORM : WRITES_SCRATCH;
        if (is < what) what = is;
    }
    return what;
}

static bool writes_sink(const build *b, const uop *u) {
    for (int n = 0; n < u->ndst; n++)
        if ((u->all[n].bank == BANK_W && u->all[n].off == b->sink) ||
            (u->all[n].bank == BANK_P && u->all[n].none))
            return true;
    return false;
}

static void settle_instruction(translator *m) {
    build *b = m->build;
    const orr_code *c = m->c;
    int32_t guard = -1;
    bool neg = c->guard_neg, traced = orr_inst_traced(m->inst);
    if (c->guard < ORR_PT)
        guard = 4 * ((c->guard_uniform ? MASK_UP : MASK_P) + c->guard);
    else if (neg)
        guard = 4 * (MASK_P + ORR_PT), neg = false; // never: nobody writes that mask, and it is 0
    for (size_t n = b->first; n < b->uops.n; n++) {
        uop *u = &b->uops.at[n];
        bool memory = recorded(u);
        int what = u->active || memory ? WRITES_LANES : writes(b, u);
        // What goes nowhere else than the sink is left as it is: it may be there for what it does.
        if (what == WRITES_SCRATCH && writes_sink(b, u)) what = WRITES_LANES;
        u->traced = memory && traced;
        if (what != WRITES_SCRATCH) {
            u->guard = guard;
            u->guard_neg = neg;
        }
        if (what != WRITES_LANES) {
            u->inner = u->full;
            u->masked = for_all_lanes;
        }
    }
}

// ---- instructions and blocks ----------------------------------------------------------------
static void nothing(warp *w, const uop *u) {
    (void)w;
    (void)u;
}

static bool refuse(const decoded *p, const translator *m, orr_err *e) {
    orr_text t = {0};
    orr_sass_print(&t, m->c);
    const orr_module *mod = p->kernel->module;
    bool ok = orr_fail(
        e, ORR_BAD_INPUT,
        "%s: 0x%04x in '%s': '%s' (0x%016llx%016llx) cannot be executed: %s; it can be timed from a trace",
        mod ? mod->path : "?", m->c->address, p->kernel->name, t.s ? t.s : "?", (unsigned long long)m->c->hi,
        (unsigned long long)m->c->lo, m->why ? m->why : "no such instruction is known");
    free(t.s);
    return ok;
}

static bool translate(translator *m, orr_err *e) {
    static bool (*const families[])(translator *) = {orr_sass_control, orr_sass_int,    orr_sass_float,
                                                     orr_sass_hopper,  orr_sass_memory, orr_sass_lanes};
    build *b = m->build;
    b->first = b->uops.n;
    m->why = NULL;
    memset(m->tmp, 0, sizeof m->tmp);
    bool done = m->c->op == ORR_SASS_NOP;
    if (m->c->op == ORR_SASS_NONE) return refuse(m->p, m, e);
    for (size_t f = 0; f < sizeof families / sizeof *families && !done && !m->why; f++) done = families[f](m);
    if (!done || m->why) return refuse(m->p, m, e);
    // A stream has addresses for it, whether or not anything is left to do.
    if (orr_inst_traced(m->inst)) {
        bool any = false;
        for (size_t n = b->first; n < b->uops.n; n++) any |= recorded(&b->uops.at[n]);
        if (!any) {
            m->why = "its addresses are not recorded";
            return refuse(m->p, m, e);
        }
    }
    settle_instruction(m);
    return true;
}

static uint32_t registers_named(const orr_kernel *k) {
    uint32_t most = k->regs;
    for (uint32_t n = 0; n < k->ninsts; n++)
        for (int a = 0; a < k->code.insts[n].nargs; a++) {
            const orr_arg *x = &k->code.insts[n].args[a];
            bool r = x->kind == ORR_ARG_R ||
                     ((x->kind == ORR_ARG_MEM || x->kind == ORR_ARG_CONST || x->kind == ORR_ARG_TARGET) &&
                      (x->shape & ORR_ARG_HAS_R));
            if (r && x->reg != ORR_RZ && x->reg + 8u > most) most = x->reg + 8u; // of vectors of up to 8
        }
    return most < ORR_RZ ? most : ORR_RZ;
}

// Does it use convergence barriers, or BAR.RED's result and Rpc, which are behind them?
static bool names_barriers(const orr_kernel *k) {
    for (uint32_t n = 0; n < k->ninsts; n++) {
        uint16_t op = k->code.insts[n].op;
        if (op == ORR_SASS_BSSY || op == ORR_SASS_BSYNC || op == ORR_SASS_BREAK || op == ORR_SASS_BMOV ||
            op == ORR_SASS_B2R || op == ORR_SASS_BAR || op == ORR_SASS_RPCMOV)
            return true;
    }
    return false;
}

static void make_bank0(decoded *p) {
    const orr_kernel *k = p->kernel;
    p->bank0 = orr_arena_alloc(&p->arena, k->code.bank0_bytes + 16u);
    memset(p->bank0, 0, k->code.bank0_bytes + 16u);
    if (k->code.bank0) memcpy(p->bank0, k->code.bank0, k->code.bank0_bytes);
    orr_sass_bank0(p->bank0, k->code.bank0_bytes, k->module ? k->module->target : 90, p->launch,
                   p->local_bytes);
    if (k->code.param_base <= k->code.bank0_bytes &&
        k->param_bytes <= k->code.bank0_bytes - k->code.param_base && k->param_bytes)
        memcpy(p->bank0 + k->code.param_base, p->launch->params, k->param_bytes);
}

static void make_blocks(decoded *p, const uint32_t *uop_of) {
    const orr_kernel *k = p->kernel;
    p->blocks = orr_arena_alloc(&p->arena, (k->nblocks + 1) * sizeof *p->blocks);
    for (uint32_t n = 0; n < k->nblocks; n++) {
        const orr_block *from = &k->blocks[n];
        xblock *x = &p->blocks[n];
        *x = (xblock){.count = from->count, .next = from->next, .ipdom = -1};
        x->first = p->uops + uop_of[from->first];
        x->end = p->uops + uop_of[from->first + from->count];
        for (uint32_t i = from->first; i < from->first + from->count; i++) {
            const orr_inst *in = &k->insts[i];
            uint16_t s = k->code.insts[i].op;
            x->polls |= (orr_ops[in->op].flags & ORR_F_ATOMIC) || (in->mods & ORR_M_VOLATILE) ||
                        s == ORR_SASS_YIELD || s == ORR_SASS_NANOSLEEP || s == ORR_SASS_SYNCS;
        }
        if (x->end > x->first && orr_sass_decides(x->end - 1)) x->last = --x->end;
    }
    orr_polls(p);
    orr_shapes(p);
}

bool orr_sass_translate(decoded *p, orr_err *e) {
    const orr_kernel *k = p->kernel;
    build b = {0};
    translator m = {.p = p, .build = &b};
    uint32_t row = reg_bytes(ORR_W), regs = registers_named(k), barriers = names_barriers(k) ? ROWS_B + 3 : 0;
    b.b = regs * row;
    b.ur = b.b + barriers * row;
    b.tmp = b.ur + ROWS_UR * row;
    b.sink = b.tmp + ROWS_TMP * row;
    p->barriers = b.b;
    p->scratch = b.tmp;
    p->rows[ORR_W] = regs + ROWS_UR + ROWS_B + 3 + ROWS_TMP + 1;
    p->rows[ORR_P] = MASKS;
    p->rows[ORR_D] = ROWS_D;
    p->rows[ORR_H] = ROWS_H;
    p->rows[ORR_Q] = ROWS_Q;
    make_bank0(p);
    p->block_of = orr_arena_alloc(&p->arena, (k->ninsts + 1) * sizeof *p->block_of);
    memset(p->block_of, 0, (k->ninsts + 1) * sizeof *p->block_of);
    for (uint32_t n = 0; n < k->nblocks; n++) p->block_of[k->blocks[n].first] = n + 1;
    uint32_t *uop_of = orr_arena_alloc(&p->arena, (k->ninsts + 1) * sizeof *uop_of);
    p->uop_of = uop_of;
    bool ok = true;
    orr_code placed;
    for (uint32_t n = 0; n < k->ninsts && ok; n++) {
        uop_of[n] = (uint32_t)b.uops.n;
        const orr_fix *f = orr_code_fix(k, n);
        m.c = &k->code.insts[n];
        if (f)
            m.c = orr_code_at(m.c, f, orr_image_address(p->launch->image, f->var, (uint64_t)f->offset),
                              &placed);
        m.inst = &k->insts[n];
        ok = translate(&m, e);
    }
    if (ok) {
        uop_of[k->ninsts] = (uint32_t)b.uops.n;
        if (!b.uops.n) { // nothing but NOPs
            m.c = &k->code.insts[0];
            m.inst = &k->insts[0];
            m_emit(&m, BOTH(nothing), 0, 0, &(oper){0});
        }
        p->uops = orr_arena_alloc(&p->arena, b.uops.n * sizeof *p->uops);
        memcpy(p->uops, b.uops.at, b.uops.n * sizeof *p->uops);
        make_blocks(p, uop_of);
        p->zeroed[ORR_W] = regs + barriers + b.uniforms; // scratch is written before it is read
        p->zeroed[ORR_P] = MASKS;
    }
    free(b.uops.at);
    p->constants = orr_constants_take(&p->pool);
    if (!ok) orr_decoded_free(p);
    return ok;
}
