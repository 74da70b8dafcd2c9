// The lowering's third step: machine instructions, by the rules of rules.def.
//
// A source is made of leaves of 32 bits: a register, a constant, a parameter in constant bank 0. Machine
// instructions take one operand that is not a vector register: an immediate, a place in the constant bank
// (before Hopper), a uniform register. What is beyond that is first brought into a register: constants by
// instructions of their own, which are put in front of loops and shared by the blocks they dominate
// (constants.c).
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

// ---- rules ---------------------------------------------------------------------------------------
enum { // groups of types
    T_S16 = 1 << 0,
    T_U16 = 1 << 1, // and everything of 8 bits
    T_S32 = 1 << 2,
    T_U32 = 1 << 3,
    T_S64 = 1 << 4,
    T_U64 = 1 << 5,
    T_F16 = 1 << 6,
    T_BF16 = 1 << 7,
    T_HALF2 = 1 << 8,
    T_F32 = 1 << 9,
    T_F64 = 1 << 10,
    T_F32X2 = 1 << 11,
    T_TF32 = 1 << 12,
    T_PRED = 1 << 13,
    T_NARROW = 1 << 14, // formats of fewer than 16 bits
    T_NOTHING = 1 << 15,
    T_I16 = T_S16 | T_U16,
    T_I32 = T_S32 | T_U32,
    T_I64 = T_S64 | T_U64,
    T_INT = T_I16 | T_I32 | T_I64,
    T_HALF = T_F16 | T_BF16 | T_HALF2,
    T_ANY = 0xffff,
};

static uint32_t group(uint8_t type) {
    switch (type) {
    case ORR_T_PRED: return T_PRED;
    case ORR_T_NONE: return T_NOTHING;
    case ORR_T_F16: return T_F16;
    case ORR_T_BF16: return T_BF16;
    case ORR_T_F16X2:
    case ORR_T_BF16X2: return T_HALF2;
    case ORR_T_F32: return T_F32;
    case ORR_T_TF32: return T_TF32;
    case ORR_T_F64: return T_F64;
    case ORR_T_F32X2: return T_F32X2;
    case ORR_T_B128: return T_U64;
    case ORR_T_E4M3:
    case ORR_T_E5M2:
    case ORR_T_E4M3X2:
    case ORR_T_E5M2X2:
    case ORR_T_E2M1X2:
    case ORR_T_E2M3X2:
    case ORR_T_E3M2X2:
    case ORR_T_UE8M0X2: return T_NARROW;
    default: break;
    }
    bool s = orr_types[type].is_signed;
    switch (orr_types[type].bytes) {
    case 8: return s ? T_S64 : T_U64;
    case 4: return s ? T_S32 : T_U32;
    default: return s ? T_S16 : T_U16;
    }
}

#define IMM_A   (1u << 31) // beyond the modifiers of isa.h
#define IMM_B   (1u << 30)
#define IMM_C   (1u << 29)
#define POW2_B  (1u << 28)
#define IS_PACK (1u << 27) // two sources
#define UPPER_A (1u << 26) // conversions: the upper half of a word that was taken apart
#define SMALL_A (1u << 25) // comparisons: 0 to 0x7fff for sure (the bits are those of layouts of matrices)
#define SMALL_B (1u << 24)

typedef struct rule {
    uint16_t op;
    uint32_t types, stypes, with, without;
    int from, to;
    const char *text;
} rule;

#define ORR_OP_FUSED_IADD3   FUSED_IADD3
#define ORR_OP_FUSED_LEA     FUSED_LEA
#define ORR_OP_FUSED_LEAHI   FUSED_LEAHI
#define ORR_OP_FUSED_MNMX3   FUSED_MNMX3
#define ORR_OP_FUSED_MULADD  FUSED_MULADD
#define ORR_OP_FUSED_WIDEADD FUSED_WIDEADD
#define ORR_OP_FUSED_LOP3    FUSED_LOP3
#define ORR_OP_FUSED_SETP2   FUSED_SETP2
#define ORR_OP_FUSED_ADDMNMX FUSED_ADDMNMX
#define ORR_OP_FUSED_SXADD   FUSED_SXADD
#define ORR_OP_FUSED_SELADD  FUSED_SELADD
static const rule rules[] = {
#define RULE(...) RULE_(__VA_ARGS__)
#define RULE_(op, types, stypes, with, without, from, to, text)                                              \
    {ORR_OP_##op, types, stypes, with, without, from, to, text},
#include "lower/rules.def"
#undef RULE
#undef RULE_
};
enum { RULES = sizeof rules / sizeof *rules };

static bool upper_half(const lower *l, ref r) {
    if (r.kind != ORR_K_REG || r.value == NONE || l->values.at[r.value].def == NONE) return false;
    const orr_inst *i = &l->k->insts[l->values.at[r.value].def];
    return i->op == ORR_OP_MOV && i->ndst == 2 && i->nsrc == 1 && l->of[i->first + 1] == r.value;
}

const char *lower_rule(const lower *l, uint32_t n) {
    uint16_t op = lower_op(l, n);
    const orr_inst *i = &l->k->insts[l->select.of[n] ? l->select.all.at[l->select.of[n] - 1].from : n];
    uint32_t has = i->mods & ~(ORR_M_NOUNROLL | ORR_M_KNOWN | ORR_M_ASIDE), type = group(i->type),
             stype = group(i->stype);
    ref a = lower_ref(l, n, 0), b = lower_ref(l, n, 1), c = lower_ref(l, n, 2);
    if (a.kind == ORR_K_IMM) has |= IMM_A;
    if (b.kind == ORR_K_IMM) has |= IMM_B;
    if (c.kind == ORR_K_IMM) has |= IMM_C;
    if (b.kind == ORR_K_IMM && b.imm && !(b.imm & (b.imm - 1))) has |= POW2_B;
    if (i->op == ORR_OP_MOV && i->nsrc == 2) has |= IS_PACK;
    if (i->op == ORR_OP_CVT && upper_half(l, a)) has |= UPPER_A;
    if ((op == ORR_OP_SETP || op == FUSED_SETP2) && type == T_S16) {
        if (lower_small(l, a, 0)) has |= SMALL_A;
        if (lower_small(l, b, 0)) has |= SMALL_B;
    }
    for (int r = 0; r < RULES; r++) {
        const rule *u = &rules[r];
        if (u->op != op || !(u->types & type) || (u->stypes && !(u->stypes & stype))) continue;
        if ((u->with & ~has) || (u->without & has) || l->cc < u->from || l->cc > u->to) continue;
        return u->text;
    }
    return NULL;
}

// ---- virtual registers ---------------------------------------------------------------------------
const uint8_t lower_parts_of[ORR_CLASSES] = {[ORR_P] = 1, [ORR_H] = 1, [ORR_W] = 1, [ORR_D] = 2, [ORR_Q] = 4};

uint32_t lower_temp(lower *l, uint8_t file, uint8_t parts) {
    uint32_t first = (uint32_t)l->vregs.n;
    for (uint8_t p = 0; p < parts; p++)
        *ORR_PUSH(&l->vregs) = (vreg){.file = file, .part = p, .parts = parts};
    return first;
}

uint32_t lower_vreg(lower *l, uint32_t v) {
    uint32_t web = lower_web(l, v);
    if (!l->vreg_of[web]) {
        const value *x = &l->values.at[v];
        bool uniform = x->def != NONE && (l->select.todo[x->def] & DO_UNIFORM);
        uint8_t file = x->cls == ORR_P ? FILE_P : uniform ? FILE_U : FILE_R;
        l->vreg_of[web] = lower_temp(l, file, lower_parts_of[x->cls]) + 1;
    }
    return l->vreg_of[web] - 1;
}

// ---- sources -------------------------------------------------------------------------------------
static uint8_t half_of(uint8_t parts, uint32_t p) { return parts == 2 ? (uint8_t)(p + 1) : 0; }

// What a view stands for. Special registers that are constants lie somewhere in bank 0 too.
static source viewed(lower *l, uint32_t v) {
    const value *x = &l->values.at[v];
    const orr_inst *i = &l->k->insts[x->def];
    source s = {.n = lower_parts_of[x->cls]};
    uint32_t which = 0;
    for (int d = 0; d < i->ndst; d++)
        if (orr_dst(l->k, i, d)->kind == ORR_K_REG && l->of[i->first + (uint32_t)d] == v) which = (uint32_t)d;
    if (i->op == ORR_OP_LD) {
        uint64_t base = lower_ref(l, x->def, 0).kind == ORR_K_IMM ? lower_ref(l, x->def, 0).imm : 0;
        ref place = lower_ref(l, x->def, 0);
        if (place.kind == ORR_K_SYMBOL) base = place.imm;
        uint32_t at = (uint32_t)(base + (uint64_t)(int64_t)i->disp + (uint64_t)which * i->width) & 0xffff;
        uint32_t bank = ARGUMENTS;
        if (i->space == ORR_SPACE_CONST)
            bank = BANK3 | (place.kind == ORR_K_SYMBOL ? (place.value & 0xff) << 16 : 0);
        for (uint32_t p = 0; p < 4 && p < s.n; p++)
            s.leaf[p] = (leaf){LEAF_CONST, half_of(s.n, p), bank + at + 4 * p};
        return s;
    }
    if (i->op == ORR_OP_SREG) {
        for (uint32_t p = 0; p < 4 && p < s.n; p++)
            s.leaf[p] = (leaf){LEAF_CONST, half_of(s.n, p), i->imm * 8 + 4 * p};
        return s;
    }
    uint64_t known;
    ref self = {.kind = ORR_K_REG, .cls = x->cls, .value = v};
    if (!x->shared && lower_constant(l, self, &known, 0)) {
        for (uint32_t p = 0; p < 4 && p < s.n; p++)
            s.leaf[p] = (leaf){LEAF_IMM, 0, p < 2 ? (uint32_t)(known >> 32 * p) : 0};
        return s;
    }
    source a = lower_source(l, lower_ref(l, x->def, 0));
    bool halves = i->op != ORR_OP_MOV && s.n == 2; // 64 bits whose halves are somebody's, or zero
    if (halves && (i->op == ORR_OP_SHL || i->op == ORR_OP_SHR || i->op == ORR_OP_BFI || i->nsrc == 2)) {
        source b = lower_source(l, lower_ref(l, x->def, 1));
        for (uint32_t p = 0; p < 2; p++) {
            bool zero_a = lower_zero(l, lower_ref(l, x->def, 0), p, 0);
            leaf zero = {LEAF_IMM, 0, 0};
            switch (i->op) {
            case ORR_OP_SHL: s.leaf[p] = p ? a.leaf[0] : zero; break;
            case ORR_OP_SHR: s.leaf[p] = p ? zero : a.leaf[1]; break;
            case ORR_OP_BFI: s.leaf[p] = p ? a.leaf[0] : b.leaf[0]; break;
            case ORR_OP_AND: s.leaf[p] = b.leaf[p].kind == LEAF_IMM && b.leaf[p].v ? a.leaf[p] : zero; break;
            default: s.leaf[p] = zero_a ? b.leaf[p] : a.leaf[p]; break; // or, xor, add
            }
        }
        return s;
    }
    if (i->nsrc == 1) {
        bool narrow = x->cls == ORR_H && i->ndst > 1; // 16 of 32 bits: instructions on halves pick them
        for (uint32_t p = 0; p < 4 && p < s.n; p++) {
            uint32_t from =
                narrow ? which / 2 : which * s.n + p; // a part, where the move takes something apart
            s.leaf[p] = from < a.n ? a.leaf[from] : (leaf){LEAF_IMM, 0, 0};
            if (x->shared && s.leaf[p].kind == LEAF_IMM && !p) s.leaf[p].kind = LEAF_SHARED;
        }
        s.neg = i->op == ORR_OP_NOT ? !a.neg : a.neg;
        return s;
    }
    if (x->cls == ORR_W) { // one half twice
        s.leaf[0] = a.leaf[0];
        return s;
    }
    uint32_t to = 0;
    for (int o = 0; o < i->nsrc; o++) { // put together from parts
        source part = lower_source(l, lower_ref(l, x->def, o));
        for (uint32_t p = 0; p < part.n && to < s.n && to < 4; p++) s.leaf[to++] = part.leaf[p];
    }
    for (; to < s.n && to < 4; to++) s.leaf[to] = (leaf){LEAF_IMM, 0, 0};
    return s;
}

// A sign extension leaves the low half where it is.
static bool extends(const lower *l, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    return i->op == ORR_OP_CVT && i->nsrc == 1 && i->guard < 0 && !(i->mods & ORR_M_SAT) &&
           !orr_types[i->type].is_float && !orr_types[i->stype].is_float && orr_types[i->type].bytes == 8 &&
           orr_types[i->stype].bytes == 4 && !(l->select.todo[n] & DO_VIEW);
}

source lower_source(lower *l, ref r) {
    source s = {.n = r.cls < ORR_CLASSES ? lower_parts_of[r.cls] : 1, .neg = r.neg};
    switch (r.kind) {
    case ORR_K_IMM:
        for (uint32_t p = 0; p < 4 && p < s.n; p++)
            s.leaf[p] = (leaf){LEAF_IMM, 0, p < 2 ? (uint32_t)(r.imm >> 32 * p) : 0};
        return s;
    case ORR_K_SYMBOL:
        for (uint32_t p = 0; p < 4 && p < s.n; p++)
            s.leaf[p] = (leaf){LEAF_CONST, half_of(s.n, p), BANK4 | ((r.value * 8 + 4 * p) & 0xfffffff)};
        return s;
    case ORR_K_REG: break;
    default: return (source){0};
    }
    if (r.value == NONE) { // never written
        for (uint32_t p = 0; p < 4 && p < s.n; p++) s.leaf[p] = (leaf){LEAF_IMM, 0, 0};
        return s;
    }
    const value *v = &l->values.at[r.value];
    if (v->def != NONE && v->merged) { // what a constant was moved to is that constant
        const orr_inst *i = &l->k->insts[v->def];
        bool moved = i->op == ORR_OP_MOV && i->guard < 0 && i->nsrc == 1 && i->ndst == 1 && v->cls == r.cls;
        if (moved && orr_src(l->k, i, 0)->kind == ORR_K_IMM) return lower_source(l, lower_ref(l, v->def, 0));
    }
    if (v->def != NONE && !v->merged && (l->select.todo[v->def] & DO_VIEW)) {
        source w = viewed(l, r.value);
        w.neg ^= r.neg;
        return w;
    }
    uint32_t first = lower_vreg(l, r.value);
    for (uint32_t p = 0; p < 4 && p < s.n; p++) s.leaf[p] = (leaf){LEAF_REG, 0, first + p};
    if (v->def != NONE && !v->merged && extends(l, v->def)) {
        ref a = lower_ref(l, v->def, 0);
        if (a.kind == ORR_K_REG && a.value != NONE && !l->values.at[a.value].merged)
            s.leaf[0] = lower_source(l, a).leaf[0];
    }
    return s;
}

// ---- constants in registers ------------------------------------------------------------
// Where a variable in shared memory begins, on Hopper.
uint32_t lower_window(lower *l, uint32_t offset) {
    lower_hold(l, LEAF_SHARED, SHARED_RANK, FILE_U, 1);
    return lower_hold(l, LEAF_SHARED, offset, FILE_U, 1);
}

// One leaf of a constant: half of a pair that is loaded together, or a word of its own.
uint32_t lower_hold_leaf(lower *l, leaf f, uint8_t file) {
    if (f.half) return lower_hold(l, LEAF_CONST, f.v - (f.half == 2 ? 4 : 0), file, 2) + (f.half == 2);
    return lower_hold(l, LEAF_CONST, f.v, file, 1);
}

// A move in front of the instruction that is being put together.
static void insert_move(lower *l, uint32_t from, uint32_t to) {
    uint32_t at = (uint32_t)l->regs.n;
    if (from != NONE) *ORR_PUSH(&l->regs) = from;
    *ORR_PUSH(&l->regs) = to;
    *ORR_PUSH(&l->insts) = (minst){.name = "MOV",
                                   .sass = ORR_SASS_MOV,
                                   .tclass = ORR_TC_MOVE,
                                   .pipe = lower_pipe(l->g, "MOV", ORR_TC_MOVE),
                                   .kind = ORR_TK_ALU,
                                   .nsrc = from != NONE,
                                   .ndst = 1,
                                   .regs = at,
                                   .inst = l->at.inst,
                                   .base = NONE,
                                   .access = ORR_NO_ACCESS};
}

// ---- putting an instruction together -------------------------------------------------------------
void lower_begin(lower *l, const char *name) {
    l->next.name = name;
    l->next.nsrc = l->next.ndst = l->next.guards = 0;
}
void lower_src(lower *l, uint32_t v) {
    if (l->next.nsrc < 60) l->next.src[l->next.nsrc++] = v;
}
void lower_dst(lower *l, uint32_t v) {
    if (l->next.ndst < 60) l->next.dst[l->next.ndst++] = v;
}

typedef struct mnemonic {
    const char *name;
    uint16_t sass;
    uint8_t cls, kind, pipe;
} mnemonic;

static const mnemonic *look_up(lower *l, const char *name, size_t n) {
    mnemonic *m = orr_map_getn(&l->names, name, n);
    if (m) return m;
    m = orr_arena_alloc(&l->arena, sizeof *m);
    m->name = orr_arena_strndup(&l->arena, name, n);
    m->sass = (uint16_t)orr_sass_find(name, n);
    m->cls = orr_sass[m->sass].cls;
    m->kind = orr_sass[m->sass].kind;
    if (m->sass == ORR_SASS_NONE) orr_sass_guess(name, n, &m->cls, &m->kind);
    m->pipe = lower_pipe(l->g, m->name, m->cls);
    orr_map_putn(&l->names, name, n, m);
    return m;
}

const char *lower_mnemonic(lower *l, const char *name, size_t n) { return look_up(l, name, n)->name; }

minst *lower_done(lower *l) {
    const mnemonic *w = look_up(l, l->next.name, strlen(l->next.name));
    minst m = {.name = w->name,
               .sass = w->sass,
               .tclass = w->cls,
               .pipe = w->pipe,
               .kind = w->kind == ORR_TK_MEM ? ORR_TK_ALU : w->kind, // until it has an access
               .access = ORR_NO_ACCESS,
               .inst = l->at.inst,
               .regs = (uint32_t)l->regs.n};
    m.wall = m.kind == ORR_TK_BRANCH || m.kind == ORR_TK_EXIT;
    uint32_t guard[3] = {l->at.inst < l->k->ninsts ? l->guard[l->at.inst] : NONE, NONE, NONE};
    uint32_t whole = l->at.block < l->flow.nblocks ? l->branch.predicated[l->at.block] : NONE;
    if (whole != NONE) guard[1] = l->guard[whole];
    if (l->at.inst < l->k->ninsts && !(l->select.todo[l->at.inst] & DO_UNIFORM))
        guard[2] = l->under[l->at.inst];
    for (int s = 0; s < l->next.nsrc; s++) *ORR_PUSH(&l->regs) = l->next.src[s];
    m.nsrc = (uint8_t)l->next.nsrc;
    m.guards = (uint8_t)l->next.guards;
    if (m.guards) m.flags |= ORR_TF_GUARDED; // by a template's '@'
    for (int g = 0; g < 3; g++) {
        if (guard[g] == NONE || l->constants.placing) continue;
        source s = lower_source(l, (ref){.kind = ORR_K_REG, .cls = ORR_P, .value = guard[g]});
        m.flags |= ORR_TF_GUARDED;
        if (s.leaf[0].kind != LEAF_REG) continue;
        *ORR_PUSH(&l->regs) = s.leaf[0].v;
        m.nsrc++;
        m.guards++;
    }
    for (int d = 0; d < l->next.ndst; d++) *ORR_PUSH(&l->regs) = l->next.dst[d];
    m.ndst = (uint8_t)l->next.ndst;
    bool heavy = w->pipe == PIPE_HEAVY || w->cls == ORR_TC_INT_MUL || w->cls == ORR_TC_FP32;
    if (heavy)
        l->at.pressure[1]++;
    else if (w->cls == ORR_TC_INT || w->cls == ORR_TC_MOVE)
        l->at.pressure[0]++;
    minst *to = ORR_PUSH(&l->insts);
    *to = m;
    return to;
}

// Copies are kept for the block they were made in.
static uint32_t *remembered(lower *l, uint64_t key) {
    if (l->constants.copied_block != l->at.block) {
        l->constants.copies.n = 0;
        l->constants.copied_block = l->at.block;
    }
    for (uint32_t c = 0; c < l->constants.copies.n; c++)
        if (l->constants.copies.at[c].v == key) return &l->constants.copies.at[c].vreg;
    held *h = ORR_PUSH(&l->constants.copies);
    *h = (held){.v = key, .vreg = NONE};
    return &h->vreg;
}

// A uniform register's value in a vector register: copied where it is needed, once a block.
static uint32_t copy_uniform(lower *l, uint32_t from) {
    uint32_t *to = remembered(l, from);
    if (*to == NONE) {
        *to = lower_temp(l, FILE_R, 1);
        insert_move(l, from, *to);
    }
    return *to;
}

static uint32_t vector_leaf(lower *l, leaf f) { // NONE: the zero register
    switch (f.kind) {
    case LEAF_REG: return l->vregs.at[f.v].file == FILE_U ? copy_uniform(l, f.v) : f.v;
    case LEAF_IMM: return f.v ? lower_hold(l, LEAF_IMM, f.v, FILE_R, 1) : NONE;
    case LEAF_CONST: return lower_hold_leaf(l, f, FILE_R);
    case LEAF_SHARED: {
        uint32_t w = lower_window(l, f.v);
        return l->vregs.at[w].file == FILE_U ? copy_uniform(l, w) : w;
    }
    default: return NONE;
    }
}

void lower_vector(lower *l, const source *s) {
    leaf a = s->leaf[0], b = s->leaf[1];
    if (s->n == 2 && a.kind == LEAF_IMM && b.kind == LEAF_IMM && (a.v || b.v)) { // a pair of its own
        uint32_t v = lower_hold(l, LEAF_IMM, (uint64_t)b.v << 32 | a.v, FILE_R, 2);
        lower_src(l, v);
        lower_src(l, v + 1);
        return;
    }
    if (s->n == 2 && a.kind == LEAF_REG && b.kind == LEAF_IMM && !b.v && l->vregs.at[a.v].file == FILE_R) {
        uint32_t *high =
            remembered(l, (uint64_t)1 << 32 | a.v); // the zero above it must be in a register too
        if (*high == NONE) {
            *high = lower_temp(l, FILE_R, 1);
            insert_move(l, NONE, *high);
        }
        lower_src(l, a.v);
        lower_src(l, *high);
        return;
    }
    for (int p = 0; p < s->n; p++) {
        uint32_t v = vector_leaf(l, s->leaf[p]);
        if (v != NONE) lower_src(l, v);
    }
}

// ---- quotients -----------------------------------------------------------------------------------
// 32 bits by a divisor that is a parameter, or by one that divides several: its reciprocal (k, and its
// magnitude m) is computed once in a block. (ptxas does not take it out of a loop. A single division by
// something that was loaded is as rules.def has it.)
static bool divides_more(const lower *l, uint32_t n, uint32_t divisor) {
    const orr_block *b = &l->k->blocks[l->flow.first_block + l->at.block];
    for (uint32_t x = b->first; x < b->first + b->count; x++) {
        const orr_inst *i = &l->k->insts[x];
        if (x == n || (i->op != ORR_OP_DIV && i->op != ORR_OP_REM) || i->type != l->k->insts[n].type)
            continue;
        if (l->of[i->first + i->ndst + 1u] == divisor) return true;
    }
    return false;
}

static bool quotient(lower *l, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    uint32_t type = group(i->type);
    ref b = lower_ref(l, n, 1);
    bool sign = type == T_S32, rest = i->op == ORR_OP_REM;
    if (l->cc < 70 || (i->op != ORR_OP_DIV && !rest) || !(type & T_I32) || b.kind != ORR_K_REG ||
        b.value == NONE)
        return false;
    bool constant = lower_source(l, b).leaf[0].kind == LEAF_CONST;
    if ((!constant && !divides_more(l, n, b.value)) || l->values.at[b.value].merged) return false;
    if (l->division.block != l->at.block) l->division.quotients.n = 0;
    l->division.block = l->at.block;
    size_t q = 0;
    while (q < l->division.quotients.n &&
           (l->division.quotients.at[q].value != b.value || l->division.quotients.at[q].sign != sign))
        q++;
    if (q == l->division.quotients.n) {
        l->division.divisor = lower_temp(l, FILE_R, 2);
        lower_template(l, sign ? "IABS m=b; I2F.RP t=m; MUFU.RCP t=t; IADD3|VIADD t=t; F2I u=t; MOV v; "
                                 "IADD3|IMAD.MOV y=u; IMAD w=y m; IMAD.HI.U32 k=u w v"
                               : "I2F.U32.RP t=b; MUFU.RCP t=t; IADD3|VIADD t=t; F2I u=t; MOV v; "
                                 "IADD3|IMAD.MOV y=u; IMAD w=y b; IMAD.HI.U32 k=u w v");
        if (i->guard < 0)
            *ORR_PUSH(&l->division.quotients) =
                (quotient_of){.value = b.value, .vreg = l->division.divisor, .sign = sign};
    } else {
        l->division.divisor = l->division.quotients.at[q].vreg;
    }
    static const char text[2][2][240] = {
        {"IMAD.HI.U32 x=k a; IADD3|IMAD.MOV z=x; IMAD w=b z a; ISETP p=w b; @p IADD3 w=w b; @p IADD3|VIADD "
         "x=x; "
         "ISETP r=b; ISETP q=w b; @q IADD3|VIADD x=x; LOP3.LUT d=x b r",
         "IMAD.HI.U32 x=k a; IADD3|IMAD.MOV z=x; IMAD w=b z a; ISETP p=w b; @p IADD3|IMAD.IADD w=w b; ISETP "
         "r=b; "
         "ISETP q=w b; @q IADD3|IMAD.IADD w=w b; LOP3.LUT d=w b r"},
        {"IABS y=a; LOP3.LUT u=a b; IMAD.HI.U32 x=k y; IADD3|IMAD.MOV z=x; IMAD w=m z y; ISETP p=m w; ISETP "
         "r=u; "
         "@p IADD3|IMAD.IADD w=w m; @p IADD3|VIADD x=x; ISETP s=b; ISETP q=w m; @q IADD3|VIADD x=x; "
         "@r IADD3|IMAD.MOV x=x; LOP3.LUT d=x b s",
         "IABS y=a; ISETP r=a; IMAD.HI.U32 x=k y; IADD3|IMAD.MOV z=x; IMAD w=m z y; ISETP p=m w; "
         "@p IADD3|IMAD.IADD w=w m; ISETP s=b; ISETP q=m w; @q IADD3|IMAD.IADD w=w m; @r IADD3|IMAD.MOV w=w; "
         "LOP3.LUT d=w b s"}};
    lower_template(l, text[sign][rest]);
    return true;
}

// ---- an instruction, a block, a function ---------------------------------------------------------
// What nobody has a rule for: one
// instruction of its unit's class.
static const char *const by_unit[ORR_UNIT_COUNT] = {
    [ORR_UNIT_INT] = "IADD3 d=a b c",  [ORR_UNIT_FP32] = "FADD d=a b c",    [ORR_UNIT_FP64] = "DADD d=a b c",
    [ORR_UNIT_FP16] = "HADD2 d=a b c", [ORR_UNIT_SFU] = "MUFU d=a b c",     [ORR_UNIT_CONV] = "F2F d=a b c",
    [ORR_UNIT_MOVE] = "MOV d=a b c",   [ORR_UNIT_TENSOR] = "HMMA d=a b c",  [ORR_UNIT_MEM] = "NOP d=a b c",
    [ORR_UNIT_BRANCH] = "NOP d=a b c", [ORR_UNIT_UNIFORM] = "UMOV d=a b c", [ORR_UNIT_MISC] = "NOP d=a b c",
};

static void read_sreg(lower *l, const orr_inst *i) {
    bool fixed = i->imm < ORR_SREG_CLOCK;
    if (i->imm == ORR_SREG_CLOCK64 || i->imm == ORR_SREG_GLOBALTIMER)
        lower_template(l, "CS2R d");
    else if (i->imm == ORR_SREG_WARPID || i->imm == ORR_SREG_NWARPID)
        lower_template(l, "S2R t; SHF.R.U32.HI t=t; SGXT.U32 d=t");
    else if (!fixed && l->cc >= 70)
        lower_template(l, "CS2R.32 d");
    else
        lower_template(l, "S2R d"); // of a uniform value S2UR, see below
}

// Lanes that may have parted meet for the first of a block that needs them together, until the last: there
// those that had to wait come back, and nothing moves across.
static bool ends_gathering(const lower *l, uint32_t n) {
    const orr_block *b = &l->k->blocks[l->flow.first_block + l->at.block];
    const orr_inst *i = &l->k->insts[b->first];
    if (l->cc < 90 || i->op != ORR_OP_SHFL || !orr_inst_waits_for(l->k, i) ||
        l->k->insts[n].op != ORR_OP_SHFL)
        return false;
    for (uint32_t x = n + 1; x < b->first + b->count; x++)
        if (l->k->insts[x].mods & ORR_M_TOGETHER) return false;
    return true;
}

static void emit_inst(lower *l, uint32_t n) {
    if (l->select.todo[n] & DO_LATER) return;
    if (l->select.todo[n] & DO_SELECT) n = l->select.pred_of[n]; // what was left for here
    const orr_inst *i = &l->k->insts[n];
    l->at.inst = n;
    bool traced = orr_inst_traced(i);
    bool constant = i->op == ORR_OP_LD && i->space == ORR_SPACE_CONST && (l->select.todo[n] & DO_VIEW);
    if (!(l->select.todo[n] & (DO_SKIP | DO_VIEW)) || (traced && !constant)) {
        if (n == l->k->blocks[l->flow.first_block + l->at.block].first) lower_gather(l);
        if (lower_special(l) || quotient(l, n)) {
        } else if (i->op == ORR_OP_SREG) {
            if (l->select.todo[n] & DO_UNIFORM) {
                lower_begin(l, "S2UR");
                lower_dst(l, lower_vreg(l, l->of[i->first]));
                lower_done(l);
            } else {
                read_sreg(l, i);
            }
        } else {
            const char *text = lower_rule(l, n);
            lower_template(l, text ? text : by_unit[i->unit < ORR_UNIT_COUNT ? i->unit : ORR_UNIT_MISC]);
            if ((l->select.todo[n] & DO_PREDLOP) &&
                l->insts.n) { // the same LOP3 says whether the result is zero
                *ORR_PUSH(&l->regs) = lower_vreg(l, l->select.pred_of[n]);
                l->insts.at[l->insts.n - 1].ndst++;
            }
        }
    }
    if (traced) l->at.access++;
    if (ends_gathering(l, n) && l->insts.n) l->insts.at[l->insts.n - 1].wall = true;
}

static void emit_bsync(lower *l) {
    if (l->cc < 50) return; // Fermi and Kepler have a bit for it in the instruction itself
    l->constants.placing = true;
    lower_begin(l, l->cc >= 70 ? "BSYNC" : "SYNC");
    lower_done(l)->wall = true;
    l->constants.placing = false;
}

static void emit_block(lower *l, uint32_t b) {
    const orr_block *blk = &l->k->blocks[l->flow.first_block + b];
    l->at.block = b;
    l->at.access = 0;
    l->at.pressure[0] = l->at.pressure[1] = 0;
    l->at.inst = blk->first;
    if (l->flow.first_block + b == l->k->funcs[0].entry) { // the stack pointer
        l->constants.placing = true;
        lower_begin(l, l->cc >= 90 ? "LDC" : "MOV"); // to a register of its own, which nobody waits for
        minst *m = lower_done(l);
        m->keep = m->first = true;
        m->constant = lower_constant_line(l, 0);
        if (l->func.local_bytes && lower_has_frame(l)) {
            lower_begin(l, l->cc >= 70 ? "IADD3" : "IADD"); // a frame on it
            lower_dst(l, lower_temp(l, FILE_R, 1));
            lower_done(l)->keep = true;
        }
        l->constants.placing = false;
    }
    if (l->branch.bsync[b]) emit_bsync(l);
    for (uint32_t n = blk->first; n < blk->first + blk->count; n++) {
        l->constants.placing = true;
        for (int x = 0; x < l->branch.bssy[b] && n + 1 == blk->first + blk->count; x++) {
            l->at.inst = n;
            if (l->cc >= 70 && l->cc < 80) { // the barrier register is cleared first
                lower_begin(l, "BMOV.32.CLEAR");
                lower_done(l);
            }
            lower_begin(l, l->cc >= 70 ? "BSSY" : "SSY");
            lower_done(l);
        }
        l->constants.placing = false;
        emit_inst(l, n);
    }
    if (l->branch.arrives[b]) emit_bsync(l);
}

void lower_emit(lower *l) {
    flow *f = &l->flow;
    l->vreg_of = orr_calloc(l->values.n + 1, sizeof *l->vreg_of);
    l->vregs.n = l->regs.n = l->insts.n = l->constants.held.n = l->constants.wanted.n =
        l->constants.bodies.n = l->constants.copies.n = l->block_first.n = l->division.quotients.n = 0;
    l->division.block = NONE;
    l->constants.copied_block = NONE;
    orr_map_free(&l->constants.holds);
    l->constants.holds = (orr_map){0};
    lower_find_reads(l);
    for (uint32_t b = 0; b < f->nblocks; b++) {
        *ORR_PUSH(&l->block_first) = (uint32_t)l->insts.n;
        emit_block(l, b);
    }
    *ORR_PUSH(&l->block_first) = (uint32_t)l->insts.n;
    lower_place_constants(l);
    lower_drop_dead(l);
    free(l->vreg_of);
    l->vreg_of = NULL;
}
