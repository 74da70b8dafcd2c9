// The lowering's second step: what each instruction of PTX becomes, before anything is written.
//
// ptxas leaves few instructions as they are. Copies, parameters, address conversions and the like are other
// names for something that is there already ("views"); an addition takes the multiplication, shift or
// addition before it along; a displacement goes into the memory instruction; logic becomes LOP3; a comparison
// takes a predicate along. A producer is folded into its consumer when the consumer is its only reader and
// what the producer reads is still there; a value in a register that is written again in between is not.
#include <stdlib.h>

#include "lower/select.h"

#define MAX_VIEW 16 // a view of a view of ...: no deeper

// ---- operands as they were selected ---------------------------------------------------------------
ref lower_ref(const lower *l, uint32_t n, int s) {
    const orr_inst *i = &l->k->insts[n];
    if (l->select.of[n]) {
        const selection *p = &l->select.all.at[l->select.of[n] - 1];
        if (p->nsrc) return s < p->nsrc ? p->src[s] : (ref){.kind = ORR_K_NONE};
    }
    if (s >= i->nsrc) return (ref){.kind = ORR_K_NONE};
    const orr_operand *o = orr_src(l->k, i, s);
    ref r = {.kind = o->kind, .cls = o->cls, .neg = o->neg, .value = o->reg, .imm = o->value};
    if (o->kind == ORR_K_REG) r.value = l->of[i->first + i->ndst + (uint32_t)s];
    return r;
}

int lower_nsrc(const lower *l, uint32_t n) {
    if (l->select.of[n] && l->select.all.at[l->select.of[n] - 1].nsrc)
        return l->select.all.at[l->select.of[n] - 1].nsrc;
    return l->k->insts[n].nsrc;
}

uint32_t lower_shift(const lower *l, uint32_t n) {
    return l->select.of[n] ? (uint32_t)l->select.all.at[l->select.of[n] - 1].disp & 63 : 0;
}

uint16_t lower_op(const lower *l, uint32_t n) {
    return l->select.of[n] ? l->select.all.at[l->select.of[n] - 1].op : l->k->insts[n].op;
}

selection *lower_selection_for(lower *l, uint32_t n) {
    if (!l->select.of[n]) {
        *ORR_PUSH(&l->select.all) = (selection){.op = l->k->insts[n].op, .from = n};
        l->select.of[n] = (uint32_t)l->select.all.n;
    }
    return &l->select.all.at[l->select.of[n] - 1];
}

uint32_t lower_result(const lower *l, uint32_t n) { // value of the first destination, or NONE
    const orr_inst *i = &l->k->insts[n];
    return i->ndst && orr_dst(l->k, i, 0)->kind == ORR_K_REG ? l->of[i->first] : NONE;
}

// ---- where things are ----------------------------------------------------------------------------
// Can what r is at instruction `from` still be read at the instruction at hand?
static bool still(scan *c, ref r, uint32_t from) {
    lower *l = c->l;
    if (r.kind != ORR_K_REG || r.value == NONE) return true;
    uint32_t web = l->values.at[r.value].merged ? lower_web(l, r.value) : c->frail[r.value];
    if (web == NONE) return true;
    if (from < c->first || from > c->n) return false;
    return c->last_def[web] <= from; // `from` itself writes something else
}

bool lower_all_still(scan *c, uint32_t from) {
    int n = lower_nsrc(c->l, from);
    for (int s = 0; s < n; s++)
        if (!still(c, lower_ref(c->l, from, s), from)) return false;
    return true;
}

// The instruction that makes r, when it can be folded: unguarded, its result nobody else's business.
uint32_t lower_producer(const lower *l, ref r, bool only_reader) {
    if (r.kind != ORR_K_REG || r.value == NONE) return NONE;
    const value *v = &l->values.at[r.value];
    if (v->def == NONE || v->merged || (only_reader && v->uses != 1)) return NONE;
    const orr_inst *i = &l->k->insts[v->def];
    if (i->guard >= 0 || i->ndst != 1 || (l->select.todo[v->def] & (DO_SKIP | DO_VIEW))) return NONE;
    return v->def;
}

static void forget(lower *l, uint32_t v) { // one reader less
    if (v == NONE) return;
    value *x = &l->values.at[v];
    if (x->uses) x->uses--;
    if (!x->uses && !x->merged && x->def != NONE && l->k->insts[x->def].ndst == 1 &&
        !(orr_ops[l->k->insts[x->def].op].flags & (ORR_F_MEMORY | ORR_F_CALL)))
        l->select.todo[x->def] |= DO_SKIP;
}

static void more(lower *l, ref r) {
    if (r.kind == ORR_K_REG && r.value != NONE) l->values.at[r.value].uses++;
}

// ---- views ---------------------------------------------------------------------------------------
static bool is_constant_sreg(uint32_t s) {
    return (s >= ORR_SREG_NTID_X && s <= ORR_SREG_NTID_Z) ||
           (s >= ORR_SREG_NCTAID_X && s <= ORR_SREG_NCTAID_Z) || s == ORR_SREG_DYNAMIC_SMEM ||
           s == ORR_SREG_NSMID || s == ORR_SREG_GRIDID || s == ORR_SREG_ENVREG || s == ORR_SREG_ENVREG_1 ||
           s == ORR_SREG_ENVREG_2 || (s >= ORR_SREG_NCLUSTERID_X && s <= ORR_SREG_NCLUSTERID_Z) ||
           (s >= ORR_SREG_CLUSTER_NCTAID_X && s <= ORR_SREG_CLUSTER_NCTAID_Z) ||
           s == ORR_SREG_CLUSTER_NCTARANK || s == ORR_SREG_CLUSTER_EXPLICIT;
}

static bool narrow_load(const lower *l, ref r) { // zero-extended by its load
    if (r.kind != ORR_K_REG || r.value == NONE || l->values.at[r.value].def == NONE) return false;
    const orr_inst *i = &l->k->insts[l->values.at[r.value].def];
    return i->op == ORR_OP_LD && !orr_types[i->type].is_signed;
}

// 16 bits whose first is zero, and nothing above them: loaded as a byte, or cut to less.
bool lower_small(const lower *l, ref r, int depth) {
    if (r.kind == ORR_K_IMM) return (r.imm & 0xffff) < 0x8000;
    if (r.kind != ORR_K_REG || r.value == NONE || depth > 4 || l->values.at[r.value].def == NONE)
        return false;
    uint32_t def = l->values.at[r.value].def;
    const orr_inst *i = &l->k->insts[def];
    if (i->guard >= 0 && l->values.at[r.value].prev != NONE) return false; // other lanes keep what was there
    const orr_operand *b = i->nsrc > 1 ? orr_src(l->k, i, 1) : NULL;
    switch (i->op) {
    case ORR_OP_AND: return b && b->kind == ORR_K_IMM && (b->value & 0xffff) < 0x8000;
    case ORR_OP_LD: return i->width == 1 && !orr_types[i->type].is_signed;
    case ORR_OP_CVT: return orr_types[i->stype].bytes == 1 && !orr_types[i->stype].is_signed;
    case ORR_OP_MOV: return i->nsrc == 1 && i->ndst == 1 && lower_small(l, lower_ref(l, def, 0), depth + 1);
    case ORR_OP_SELP:
        return lower_small(l, lower_ref(l, def, 0), depth + 1) &&
               lower_small(l, lower_ref(l, def, 1), depth + 1);
    default: return false;
    }
}

// What can be known without running: immediates, addresses in the frame, and sums of such.
bool lower_constant(const lower *l, ref r, uint64_t *out, int depth) {
    if (r.kind == ORR_K_IMM) {
        *out = r.imm;
        return true;
    }
    if (r.kind != ORR_K_REG || r.value == NONE || depth > 4) return false;
    const value *v = &l->values.at[r.value];
    if (v->def == NONE || l->k->insts[v->def].guard >= 0 || v->shared) return false;
    const orr_inst *i = &l->k->insts[v->def];
    if (i->op == ORR_OP_LOCALADDR) {
        *out = i->imm;
        return true;
    }
    bool sum = (i->op == ORR_OP_ADD || i->op == ORR_OP_SUB) && i->nsrc == 2 && !orr_types[i->type].is_float &&
               !(i->mods & (ORR_M_CC | ORR_M_X | ORR_M_SAT)) && bytes_of(i) >= 4;
    bool copy = i->op == ORR_OP_MOV && i->nsrc == 1 && i->ndst == 1 && v->cls == orr_src(l->k, i, 0)->cls;
    uint64_t a, b = 0;
    if ((!sum && !copy) || !lower_constant(l, lower_ref(l, v->def, 0), &a, depth + 1)) return false;
    if (sum && !lower_constant(l, lower_ref(l, v->def, 1), &b, depth + 1)) return false;
    *out = i->op == ORR_OP_SUB ? a - b : a + b;
    if (v->cls <= ORR_W) *out &= 0xffffffff;
    return true;
}

bool lower_zero(const lower *l, ref r, uint32_t half, int depth) {
    if (r.kind == ORR_K_IMM) return (uint32_t)(r.imm >> 32 * half) == 0;
    if (r.kind != ORR_K_REG || r.value == NONE || depth > 4) return false;
    const value *v = &l->values.at[r.value];
    if (v->def == NONE || v->merged || v->cls != ORR_D) return false;
    const orr_inst *i = &l->k->insts[v->def];
    if (i->guard >= 0) return false;
    ref b = lower_ref(l, v->def, 1);
    bool by_32 = b.kind == ORR_K_IMM && b.imm == 32;
    switch (i->op) {
    case ORR_OP_CVT:
        return half && orr_types[i->stype].bytes == 4 && !orr_types[i->stype].is_signed &&
               !orr_types[i->stype].is_float && !orr_types[i->type].is_float;
    case ORR_OP_SHL: return by_32 && !half;
    case ORR_OP_SHR: return by_32 && half && !orr_types[i->type].is_signed;
    case ORR_OP_AND: return b.kind == ORR_K_IMM && (uint32_t)(b.imm >> 32 * half) == 0;
    case ORR_OP_LD:
        return half && i->width <= 4 && !orr_types[i->type].is_signed && i->space != ORR_SPACE_PARAM;
    default: return false;
    }
}

// 64 bits that are put together from halves which are there already?
static bool joins_halves(const lower *l, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    if (!is_int(i, 8) || i->nsrc < 2) return false;
    ref a = lower_ref(l, n, 0), b = lower_ref(l, n, 1), c = lower_ref(l, n, 2), e = lower_ref(l, n, 3);
    switch (i->op) {
    case ORR_OP_SHL: return is_imm(b) && b.imm == 32;
    case ORR_OP_SHR: return is_imm(b) && b.imm == 32 && !orr_types[i->type].is_signed;
    case ORR_OP_BFI: return is_imm(c) && c.imm == 32 && is_imm(e) && e.imm == 32;
    case ORR_OP_AND: {
        uint32_t low = (uint32_t)b.imm, high = (uint32_t)(b.imm >> 32);
        return is_imm(b) && (low == 0 || low == UINT32_MAX) && (high == 0 || high == UINT32_MAX);
    }
    case ORR_OP_OR:
    case ORR_OP_XOR:
    case ORR_OP_ADD:
        if (i->mods & (ORR_M_CC | ORR_M_X)) return false;
        return (lower_zero(l, a, 0, 0) || lower_zero(l, b, 0, 0)) &&
               (lower_zero(l, a, 1, 0) || lower_zero(l, b, 1, 0));
    default: return false;
    }
}

// (int)floorf(x): F2I rounds as it is told to, so what rounds for nobody else is part of it.
static bool rounds_for(const lower *l, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    uint32_t v = lower_result(l, n),
             end = l->k->blocks[l->flow.first_block + l->block_of[n - l->first_inst]].first;
    if (i->type != ORR_T_F32 || i->stype != ORR_T_F32 || (i->mods & (ORR_M_SAT | ORR_M_FTZ)) || v == NONE ||
        l->values.at[v].uses != 1 || i->nsrc != 1)
        return false;
    end += l->k->blocks[l->flow.first_block + l->block_of[n - l->first_inst]].count;
    for (uint32_t x = n + 1; x < end; x++) {
        const orr_inst *y = &l->k->insts[x];
        for (int s = 0; s < y->nsrc; s++)
            if (l->of[y->first + y->ndst + (uint32_t)s] == v)
                return y->op == ORR_OP_CVT && y->stype == ORR_T_F32 && !orr_types[y->type].is_float;
    }
    return false;
}

// Does the instruction only give registers (or constants) another name?
static bool is_view(const lower *l, uint32_t n) {
    const orr_inst *i = &l->k->insts[n];
    int to = bytes_of(i), from = orr_types[i->stype].bytes;
    switch (i->op) {
    case ORR_OP_MOV: {
        if (i->nsrc < 1 || i->ndst < 1) return false;
        uint8_t d = orr_dst(l->k, i, 0)->cls, s = orr_src(l->k, i, 0)->cls;
        if (i->nsrc == 1 && i->ndst == 1) return d == s;
        if (d == ORR_W && s == ORR_H && i->nsrc == 2) { // the same half twice
            ref a = lower_ref(l, n, 0), b = lower_ref(l, n, 1);
            return a.kind == ORR_K_REG && b.kind == ORR_K_REG && a.value == b.value;
        }
        if (i->ndst == 1 && i->nsrc == 2) return d == s + 1 && s >= ORR_W; // packs
        if (i->nsrc == 1 && i->ndst == 2) return s == d + 1;               // takes apart
        if (i->nsrc == 4 && i->ndst == 1) return d == ORR_Q && s == ORR_W;
        return i->nsrc == 1 && i->ndst == 4 && s == ORR_Q && d == ORR_W;
    }
    case ORR_OP_LD: // parameters; constants at a place that is known
        if (i->space == ORR_SPACE_CONST && i->width < 4) return false;
        return (i->space == ORR_SPACE_PARAM || i->space == ORR_SPACE_CONST) && i->nsrc == 1 &&
               lower_ref(l, n, 0).kind != ORR_K_REG;
    case ORR_OP_SREG: return is_constant_sreg(i->imm);
    case ORR_OP_LOCALADDR: return i->ndst == 1;
    case ORR_OP_CVTA:
        return i->nsrc == 1 && i->ndst == 1 && orr_dst(l->k, i, 0)->cls == orr_src(l->k, i, 0)->cls &&
               (i->sub || (i->space != ORR_SPACE_SHARED && i->space != ORR_SPACE_LOCAL));
    case ORR_OP_NOT: return i->type == ORR_T_PRED && i->nsrc == 1;
    case ORR_OP_CVT:
        if (rounds_for(l, n)) return true;
        if (i->nsrc != 1 || orr_types[i->type].is_float || orr_types[i->stype].is_float) return false;
        if (i->mods & ORR_M_SAT) return false;
        if (to == from || (to == 4 && from == 8) || (to == 2 && from >= 4)) return to >= 2;
        if (to == 8 && from == 4) return !orr_types[i->stype].is_signed;
        if (from == 2 && to == 4 && lower_result(l, n) != NONE && l->values.at[lower_result(l, n)].cut)
            return true;
        return from <= 2 && to > from && !orr_types[i->stype].is_signed && to >= 4 &&
               (narrow_load(l, lower_ref(l, n, 0)) || (from == 2 && lower_small(l, lower_ref(l, n, 0), 0)));
    case ORR_OP_NEG:
    case ORR_OP_ABS:
        return orr_types[i->type].is_float && i->ndst == 1 && lower_result(l, n) != NONE &&
               !l->values.at[lower_result(l, n)].plain_only;
    default: {
        uint64_t known;
        ref self = {.kind = ORR_K_REG, .value = lower_result(l, n)};
        if ((i->op == ORR_OP_ADD || i->op == ORR_OP_SUB) && lower_constant(l, self, &known, 0)) return true;
        return joins_halves(l, n);
    }
    }
}

// Are all readers of n's result in this block, before the web is written again?
static bool read_in_time(scan *c, uint32_t n, uint32_t web) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    uint32_t v = lower_result(l, n), seen = 0;
    if (i->ndst != 1 || v == NONE) return false;
    for (uint32_t x = n + 1; x < c->end && x < n + 64; x++) {
        const orr_inst *y = &l->k->insts[x];
        for (int s = 0; s < y->nsrc; s++) seen += l->of[y->first + y->ndst + (uint32_t)s] == v;
        seen += l->guard[x] == v;
        if (seen >= l->values.at[v].uses) return true;
        for (int d = 0; d < y->ndst; d++) {
            uint32_t w = l->of[y->first + (uint32_t)d];
            if (orr_dst(l->k, y, d)->kind == ORR_K_REG && w != NONE && lower_web(l, w) == web) return false;
        }
    }
    return false;
}

static void try_view(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    if (i->guard >= 0 || !is_view(l, n)) return;
    uint8_t depth = 0;
    uint32_t frail = NONE;
    for (int s = 0; s < i->nsrc; s++) {
        ref r = lower_ref(l, n, s);
        if (r.kind != ORR_K_REG || r.value == NONE) continue;
        uint32_t web = l->values.at[r.value].merged ? lower_web(l, r.value) : c->frail[r.value];
        if (web != NONE && !read_in_time(c, n, web)) return; // it is written again while this is read
        if (web != NONE) frail = web;
        if (c->depth[r.value] + 1 > depth) depth = c->depth[r.value] + 1;
    }
    if (depth > MAX_VIEW) return;
    for (int d = 0; d < i->ndst; d++) {
        uint32_t v = l->of[i->first + (uint32_t)d];
        if (orr_dst(l->k, i, d)->kind != ORR_K_REG || v == NONE) continue;
        if (l->values.at[v].merged) return;
    }
    l->select.todo[n] |= DO_VIEW;
    for (int d = 0; d < i->ndst; d++)
        if (orr_dst(l->k, i, d)->kind == ORR_K_REG) {
            c->depth[l->of[i->first + (uint32_t)d]] = depth;
            c->frail[l->of[i->first + (uint32_t)d]] = frail;
        }
}

// A copy into a merged register of something made just before for that: it is made in place.
static void try_coalesce(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    if (i->op != ORR_OP_MOV || i->guard >= 0 || i->nsrc != 1 || i->ndst != 1 || lower_result(l, n) == NONE)
        return;
    ref a = lower_ref(l, n, 0);
    uint32_t p = lower_producer(l, a, true);
    if (p == NONE || p < c->first || a.cls != orr_dst(l->k, i, 0)->cls) return;
    uint32_t web = lower_web(l, lower_result(l, n));
    for (uint32_t x = p + 1; x < n; x++) { // nobody touches the register in between
        const orr_inst *y = &l->k->insts[x];
        for (uint32_t o = y->first; o < y->first + y->ndst + y->nsrc; o++)
            if (l->k->operands[o].kind == ORR_K_REG && l->of[o] != NONE && lower_web(l, l->of[o]) == web)
                return;
        if (l->guard[x] != NONE && lower_web(l, l->guard[x]) == web) return;
        if (n - p > 64) return;
    }
    uint32_t to = lower_result(l, n);
    l->values.at[a.value].merged = l->values.at[to].merged = true;
    l->values.at[lower_web(l, a.value)].web = web;
    l->select.todo[n] |= DO_SKIP;
    c->last_def[web] = p + 1;
}

// ---- folding -------------------------------------------------------------------------------------
// Consumer n takes `p` along: sources are given; p's result has one reader less.
void lower_fuse(scan *c, uint32_t n, uint32_t p, uint16_t op, const ref *src, int nsrc) {
    lower *l = c->l;
    selection *x = lower_selection_for(l, n);
    x->op = op;
    x->from = op == FUSED_WIDEADD || op == FUSED_MULADD || op == FUSED_SETP2 ? p : n; // whose type counts
    x->nsrc = (uint8_t)nsrc;
    for (int s = 0; s < nsrc; s++) x->src[s] = src[s];
    value *v = &l->values.at[lower_result(l, p)];
    if (--v->uses) { // others read it too: what it is made of has one reader more
        for (int s = 0; s < lower_nsrc(l, p); s++) more(l, lower_ref(l, p, s));
    } else {
        l->select.todo[p] |= DO_SKIP;
    }
}

// ---- selections ------------------------------------------------------------------------------------
// p ? x : y where somebody computes x for this alone, and y is not needed any more: x is computed under p
// into y's register. (Of two such the second is under the predicate. Where y lives on, or is a constant, it
// is SEL.)
static bool one_instruction(const orr_inst *i) {
    switch (i->op) {
    case LOWER_ARITHMETIC:
    case ORR_OP_FMA:
    case ORR_OP_NOT:
    case ORR_OP_SHL:
    case ORR_OP_SHR:
        return i->ndst == 1 && bytes_of(i) <= 4 && i->type != ORR_T_PRED &&
               !(i->mods & (ORR_M_CC | ORR_M_X | ORR_M_SAT | ORR_M_WIDE | ORR_M_HI));
    default: return false;
    }
}

static bool made_for_this(const scan *c, ref r) {
    uint32_t p = lower_producer(c->l, r, true);
    return p != NONE && p >= c->first && one_instruction(&c->l->k->insts[p]) &&
           !(c->l->select.todo[p] & (DO_PREDLOP | DO_LATER));
}

// Is the instruction at hand the last that reads it, and was it made in this block?
static bool ends_here(const scan *c, ref r) {
    const lower *l = c->l;
    if (r.kind != ORR_K_REG || r.value == NONE) return false;
    const value *v = &l->values.at[r.value];
    if (v->def == NONE || v->merged || v->def < c->first || v->def >= c->n || c->frail[r.value] != NONE ||
        (l->select.todo[v->def] & (DO_VIEW | DO_SKIP)) || l->k->insts[v->def].ndst != 1 || c->n - v->def > 64)
        return false;
    uint32_t seen = 0;
    for (uint32_t n = v->def + 1; n <= c->n; n++) {
        if (l->select.todo[n] & DO_SKIP) continue;
        for (int s = 0; s < lower_nsrc(l, n); s++) {
            ref x = lower_ref(l, n, s);
            if (x.kind != ORR_K_REG || x.value != r.value) continue;
            if (l->select.todo[n] & DO_VIEW) return false;
            seen++;
        }
    }
    return seen >= v->uses;
}

static bool web_is_free(const scan *c, uint32_t web, uint32_t from) { // up to here, from one on
    lower *l = c->l;
    for (uint32_t n = from; n < c->n; n++) {
        const orr_inst *i = &l->k->insts[n];
        for (uint32_t o = i->first; o < i->first + i->ndst + i->nsrc; o++)
            if (l->k->operands[o].kind == ORR_K_REG && l->of[o] != NONE && lower_web(l, l->of[o]) == web)
                return false;
        if (l->guard[n] != NONE && lower_web(l, l->guard[n]) == web) return false;
    }
    return true;
}

static void fold_select(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    uint32_t d = lower_result(l, n);
    if (l->cc < 90 || i->guard >= 0 || i->nsrc != 3 || i->ndst != 1 || d == NONE || bytes_of(i) > 4) return;
    ref a = lower_ref(l, n, 0), b = lower_ref(l, n, 1), p = lower_ref(l, n, 2);
    if (p.kind != ORR_K_REG || p.value == NONE || a.value == b.value) return;
    ref x = b, y = a;
    if (!made_for_this(c, b) || !ends_here(c, a)) x = a, y = b;
    if (!made_for_this(c, x) || !ends_here(c, y) || l->values.at[x.value].cls != l->values.at[y.value].cls ||
        l->values.at[d].cls != l->values.at[y.value].cls)
        return;
    uint32_t def = l->values.at[x.value].def, from = l->values.at[y.value].def, web = lower_web(l, d);
    if (!lower_all_still(c, def) || !still(c, p, n)) return;
    if (l->values.at[d].merged && (n - from > 64 || !web_is_free(c, web, from + 1))) return;
    l->values.at[d].merged = l->values.at[x.value].merged = l->values.at[y.value].merged = true;
    l->values.at[lower_web(l, x.value)].web = web;
    l->values.at[lower_web(l, y.value)].web = web;
    l->select.todo[def] |= DO_LATER;
    l->select.todo[n] |= DO_SELECT;
    l->select.pred_of[n] = def;
    l->guard[def] = p.value;
}

// Constants added to an address become its displacement (24 bits, signed).
// Copies and address conversions are looked through, where what they copy stays.
static ref unviewed(const scan *c, ref r) {
    const lower *l = c->l;
    for (int depth = 0; depth < MAX_VIEW && r.kind == ORR_K_REG && r.value != NONE; depth++) {
        const value *v = &l->values.at[r.value];
        if (v->def == NONE || v->merged || !(l->select.todo[v->def] & DO_VIEW) || c->frail[r.value] != NONE)
            break;
        const orr_inst *i = &l->k->insts[v->def];
        bool copy = (i->op == ORR_OP_MOV || i->op == ORR_OP_CVTA) && i->nsrc == 1 && i->ndst == 1;
        ref a = lower_ref(l, v->def, 0);
        if (!copy || a.kind != ORR_K_REG || a.cls != v->cls) break;
        r = a;
    }
    return r;
}

static void fold_address(scan *c, uint32_t n, int at) {
    lower *l = c->l;
    int64_t disp = 0;
    ref base = lower_ref(l, n, at);
    bool moved = false;
    bool scales = l->cc >= 70 && l->cc < 90 && l->k->insts[n].space == ORR_SPACE_SHARED;
    for (int round = 0; round < MAX_VIEW; round++) {
        ref plain = unviewed(c, base);
        uint32_t p = lower_producer(l, plain, false);
        if (p == NONE) break;
        const orr_inst *q = &l->k->insts[p];
        if (scales) { // Volta to Ada: a shared address is an index, scaled by 4, 8 or 16, and a displacement
            ref a = lower_ref(l, p, 0), b = lower_ref(l, p, 1);
            uint64_t known = 0;
            bool lea = lower_op(l, p) == FUSED_LEA && lower_constant(l, b, &known, 0) &&
                       lower_shift(l, p) >= 2 && lower_shift(l, p) <= 4;
            bool shl =
                lower_op(l, p) == ORR_OP_SHL && is_imm(b) && b.imm >= 2 && b.imm <= 4 && bytes_of(q) == 4;
            if ((lea || shl) && a.kind == ORR_K_REG && lower_all_still(c, p)) {
                if (lea) disp += (int32_t)known;
                more(l, a);
                forget(l, base.value);
                base = a;
                moved = true;
                break;
            }
        }
        if ((lower_op(l, p) != ORR_OP_ADD && lower_op(l, p) != ORR_OP_SUB) || q->nsrc != 2 ||
            (q->mods & (ORR_M_CC | ORR_M_X | ORR_M_SAT)) || orr_types[q->type].is_float || bytes_of(q) < 4)
            break;
        ref a = lower_ref(l, p, 0), b = lower_ref(l, p, 1);
        if (!is_imm(b) || !lower_all_still(c, p)) break;
        int64_t add = bytes_of(q) == 8 ? (int64_t)b.imm : (int32_t)b.imm;
        int64_t sum = disp + (q->op == ORR_OP_SUB ? -add : add);
        if (add > 1 << 22 || add < -(1 << 22) || sum > 1 << 23 || sum < -(1 << 23)) break;
        disp = sum;
        more(l, a);
        forget(l, base.value);
        base = a;
        moved = true;
    }
    if (!moved) return;
    selection *x = lower_selection_for(l, n);
    int have = l->k->insts[n].nsrc;
    if (!x->nsrc && have <= SELECTION_SRCS) {
        ref src[SELECTION_SRCS];
        for (int s = 0; s < have; s++) src[s] = lower_ref(l, n, s);
        for (int s = 0; s < have; s++) x->src[s] = src[s];
        x->nsrc = (uint8_t)have;
    }
    if (x->nsrc) x->src[at] = base;
    x->disp = disp;
}

static void fold(scan *c, uint32_t n) {
    lower *l = c->l;
    const orr_inst *i = &l->k->insts[n];
    switch (i->op) {
    case ORR_OP_ADD:
    case ORR_OP_SUB:
        lower_fold_add(c, n);
        lower_fold_fma(c, n);
        break;
    case ORR_OP_AND:
    case ORR_OP_OR:
    case ORR_OP_XOR:
    case ORR_OP_NOT:
        lower_fold_predicates(c, n);
        lower_fold_logic(c, n);
        break;
    case ORR_OP_MIN:
    case ORR_OP_MAX: lower_fold_min(c, n); break;
    case ORR_OP_SETP:
        lower_fold_zero_test(c, n);
        lower_fold_wait(c, n);
        break;
    case ORR_OP_SELP: fold_select(c, n); break;
    case ORR_OP_LD:
    case ORR_OP_ST:
    case ORR_OP_ATOM:
    case ORR_OP_RED:
    case ORR_OP_LDMATRIX:
        if (i->space != ORR_SPACE_PARAM && i->nsrc && i->nsrc <= SELECTION_SRCS) fold_address(c, n, 0);
        break;
    case ORR_OP_CPASYNC:
        if (i->nsrc >= 2 && i->nsrc <= SELECTION_SRCS) {
            fold_address(c, n, 0);
            fold_address(c, n, 1);
        }
        break;
    default: break;
    }
}

// ---- all of it -----------------------------------------------------------------------------------
// Who reads what as a plain bit pattern? A sign cannot be folded there.
static void find_plain_readers(lower *l) {
    for (uint32_t v = 0; v < l->values.n; v++) l->values.at[v].cut = true;
    const orr_block *b = &l->k->blocks[l->flow.first_block], *end = b + l->flow.nblocks;
    for (; b < end; b++)
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            const orr_inst *i = &l->k->insts[n];
            if (l->select.todo[n] & DO_SKIP) continue;
            bool cuts = i->op == ORR_OP_AND && i->nsrc == 2 && orr_src(l->k, i, 1)->kind == ORR_K_IMM &&
                        orr_src(l->k, i, 1)->value <= 0xffff;
            for (int s = 0; s < i->nsrc && !cuts; s++) {
                uint32_t v = l->of[i->first + i->ndst + (uint32_t)s];
                if (v != NONE) l->values.at[v].cut = false;
            }
            bool folds = i->op == ORR_OP_ADD || i->op == ORR_OP_SUB || i->op == ORR_OP_MUL ||
                         i->op == ORR_OP_FMA || i->op == ORR_OP_SETP || i->op == ORR_OP_MIN ||
                         i->op == ORR_OP_MAX || i->op == ORR_OP_SELP;
            if (folds && orr_types[i->type].is_float) continue;
            for (int s = 0; s < i->nsrc; s++) {
                uint32_t v = l->of[i->first + i->ndst + (uint32_t)s];
                if (v != NONE) l->values.at[v].plain_only = true;
            }
        }
    for (uint32_t v = 0; v < l->values.n; v++)
        if (l->values.at[v].merged) {
            l->values.at[v].plain_only = true;
            l->values.at[v].cut = false;
        }
}

// On Hopper the place of a variable in shared memory is not a constant. PTX moves it to a register first:
// what was moved so and ends up in a shared address is one.
static void find_shared(lower *l) {
    ORR_VEC(uint32_t) stack = {0};
    uint8_t *seen = orr_calloc(l->values.n + 1, 1);
    const orr_block *b = &l->k->blocks[l->flow.first_block], *end = b + l->flow.nblocks;
    for (; b < end; b++)
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            const orr_inst *i = &l->k->insts[n];
            bool shared = i->space == ORR_SPACE_SHARED || i->op == ORR_OP_CPASYNC ||
                          i->op == ORR_OP_LDMATRIX || i->op == ORR_OP_STMATRIX;
            if (!shared || (l->select.todo[n] & DO_SKIP)) continue;
            ref r = lower_ref(l, n, 0);
            if (r.kind == ORR_K_REG && r.value != NONE) *ORR_PUSH(&stack) = r.value;
        }
    while (stack.n) {
        uint32_t at = stack.at[--stack.n];
        value *v = &l->values.at[at];
        if (seen[at]) continue;
        seen[at] = 1;
        for (uint32_t a = 0; a < v->nargs; a++)
            if (l->args.at[v->first + a] != NONE) *ORR_PUSH(&stack) = l->args.at[v->first + a];
        if (v->def == NONE) continue;
        const orr_inst *i = &l->k->insts[v->def];
        int from = 0, to = 0; // sources that are addresses themselves
        switch (lower_op(l, v->def)) {
        case ORR_OP_MOV:
            if (i->nsrc == 1 && lower_ref(l, v->def, 0).kind == ORR_K_IMM) v->shared = true;
            to = i->nsrc == 1;
            break;
        case ORR_OP_CVT:
        case ORR_OP_CVTA: to = 1; break;
        case ORR_OP_ADD:
        case ORR_OP_SUB:
        case ORR_OP_SELP: to = 2; break;
        case FUSED_IADD3: to = 3; break;
        case FUSED_LEA: from = 1, to = 2; break;
        case ORR_OP_MAD:
        case FUSED_MULADD: from = 2, to = 3; break;
        default: break;
        }
        for (int s = from; s < to; s++) {
            ref r = lower_ref(l, v->def, s);
            if (r.kind == ORR_K_REG && r.value != NONE) *ORR_PUSH(&stack) = r.value;
        }
    }
    free(stack.at);
    free(seen);
}

void lower_select(lower *l) {
    scan c = {.l = l};
    c.last_def = orr_calloc(l->values.n + 1, sizeof *c.last_def);
    c.depth = orr_calloc(l->values.n + 1, 1);
    c.frail = orr_malloc((l->values.n + 1) * sizeof *c.frail);
    for (size_t v = 0; v < l->values.n; v++) c.frail[v] = NONE;
    find_plain_readers(l);
    if (l->cc >= 90) find_shared(l);
    const flow *f = &l->flow;
    for (uint32_t x = 0; x < f->norder; x++) {
        const orr_block *b = &l->k->blocks[f->first_block + f->order[x]];
        c.first = b->first;
        c.end = b->first + b->count;
        for (uint32_t n = b->first; n < b->first + b->count; n++) {
            const orr_inst *i = &l->k->insts[n];
            c.n = n;
            if (l->select.todo[n] & DO_SKIP) continue;
            try_view(&c, n);
            if (l->select.todo[n] & DO_VIEW) continue;
            try_coalesce(&c, n);
            if (!(l->select.todo[n] & DO_SKIP)) fold(&c, n);
            for (int d = 0; d < i->ndst; d++) {
                uint32_t v = l->of[i->first + (uint32_t)d];
                if (orr_dst(l->k, i, d)->kind == ORR_K_REG && v != NONE && l->values.at[v].merged)
                    c.last_def[lower_web(l, v)] = n + 1;
            }
        }
    }
    free(c.last_def);
    free(c.depth);
    free(c.frail);
}
