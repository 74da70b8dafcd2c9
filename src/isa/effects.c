// Which global memory a kernel reads and writes, as far as its code tells: may its thread blocks run in
// any order?
//
// Blocks see each other through global memory. Atomics and volatile accesses say so openly. A plain
// store that another block's load may hit is a race, and on a GPU its outcome depends on the day; here
// it must not, so a kernel runs its blocks side by side only when its code shows that they keep apart:
//
//   - every address it accesses comes from a parameter or a variable (its base), not out of memory;
//   - what it stores to through a base, it does not load through that base, except at the very place
//     that the same thread stores to (y[i] = a * x[i] + y[i]);
//   - a place it stores to depends on the block's index and not on loaded data, or what it stores is
//     a constant (a flag), or it is a reduction whose order does not matter (isa/reduction.h).
//
// Which bases point into the same allocation is known at launch: orr_exec_run compares them then.
// The analysis ignores the order of instructions: what a register ever depends on, it depends on.
#include <stdlib.h>
#include <string.h>

#include "isa/cfg.h"
#include "isa/reduction.h"

// Of the kernel itself: long ways of quotients, the only functions there may be, access nothing of others.
static uint32_t own_insts(const orr_kernel *k) { return k->funcs[0].ninsts; }

typedef struct origin { // what a register's value comes from
    uint64_t bases;
    bool loaded; // from memory
    bool block;  // from the block's index
} origin;

typedef struct effects {
    orr_kernel *k;
    uint32_t base[ORR_CLASSES]; // class and number -> index
    origin *of;
    uint32_t *defs;  // how many instructions write it
    uint64_t effort; // steps left; a kernel too large to look through counts as one whose blocks meet
} effects;
#define EFFORT 100000000u

static uint32_t index_of(const effects *x, const orr_operand *o) { return x->base[o->cls] + o->reg; }

// The number of a base, made when first asked for. More than there is room for share the last.
static uint64_t base_bit(effects *x, bool param, uint32_t which) {
    orr_kernel *k = x->k;
    for (uint32_t n = 0; n < k->effects.nbases; n++)
        if (k->effects.bases[n].param == param && k->effects.bases[n].which == which) return 1ull << n;
    if (k->effects.nbases == ORR_MAX_BASES) {
        k->effects.blocks_meet = k->effects.untraced = true;
        return 1ull << (ORR_MAX_BASES - 1);
    }
    k->effects.bases[k->effects.nbases] = (orr_base){.param = param, .which = which};
    return 1ull << k->effects.nbases++;
}

static origin operand_origin(effects *x, const orr_operand *o) {
    if (o->kind == ORR_K_REG) return x->of[index_of(x, o)];
    if (o->kind == ORR_K_SYMBOL) return (origin){.bases = base_bit(x, false, o->reg)};
    return (origin){0};
}

static origin result_origin(effects *x, const orr_inst *i) {
    origin r = {0};
    if (i->op == ORR_OP_LD && i->space == ORR_SPACE_PARAM) {
        const orr_operand *a = orr_src(x->k, i, 0);
        if (a->kind == ORR_K_IMM && i->width == 8)
            r.bases = base_bit(x, true, (uint32_t)a->value + (uint32_t)i->disp);
        if (a->kind != ORR_K_IMM) r.loaded = true;
        return r;
    }
    if (orr_ops[i->op].flags & (ORR_F_LOAD | ORR_F_ATOMIC)) return (origin){.loaded = true};
    if (i->op == ORR_OP_SREG)
        return (origin){.block = i->imm >= ORR_SREG_CTAID_X && i->imm <= ORR_SREG_CTAID_Z};
    for (int s = 0; s < i->nsrc; s++) {
        origin o = operand_origin(x, orr_src(x->k, i, s));
        r.bases |= o.bases;
        r.loaded |= o.loaded;
        r.block |= o.block;
    }
    return r;
}

static void trace_origins(effects *x) {
    orr_kernel *k = x->k;
    for (bool changed = true; changed && x->effort > own_insts(k);) {
        changed = false;
        x->effort -= own_insts(k);
        for (uint32_t n = 0; n < own_insts(k); n++) {
            const orr_inst *i = &k->insts[n];
            origin r = {0};
            for (int d = 0; d < i->ndst; d++) {
                const orr_operand *o = orr_dst(k, i, d);
                if (o->kind != ORR_K_REG) continue;
                if (d == 0 || (!r.bases && !r.loaded && !r.block)) r = result_origin(x, i);
                origin *at = &x->of[index_of(x, o)], was = *at;
                at->bases |= r.bases;
                at->loaded |= r.loaded;
                at->block |= r.block;
                changed |= at->bases != was.bases || at->loaded != was.loaded || at->block != was.block;
            }
        }
    }
}

// ---- accesses -------------------------------------------------------------------------------
static bool global(const orr_inst *i) {
    // Nobody may write what a texture reads; and surfaces, which are written, are through a handle that is no
    // block's.
    return (orr_ops[i->op].flags & ORR_F_MEMORY) && i->op != ORR_OP_TEX && i->op != ORR_OP_SULD &&
           (i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC || i->op == ORR_OP_CPASYNC);
}

static const orr_operand *address(const orr_kernel *k, const orr_inst *i) {
    return orr_src(k, i, i->op == ORR_OP_CPASYNC ? 1 : 0);
}

static bool writes(const orr_kernel *k, const orr_inst *i, const orr_operand *reg) {
    for (int d = 0; d < i->ndst; d++) {
        const orr_operand *o = orr_dst(k, i, d);
        if (o->kind == ORR_K_REG && o->cls == reg->cls && o->reg == reg->reg) return true;
    }
    return false;
}

// Does the thread store where this load reads? The same register and displacement, and the register
// does not change in between: it is written only once, or not between the two in one block.
static bool own_place(effects *x, uint32_t at, uint32_t block) {
    const orr_kernel *k = x->k;
    if (x->effort < own_insts(k)) return false;
    x->effort -= own_insts(k);
    const orr_inst *load = &k->insts[at];
    const orr_operand *a = address(k, load);
    if (a->kind != ORR_K_REG || load->op != ORR_OP_LD) return false;
    bool once = x->defs[index_of(x, a)] == 1;
    uint32_t from = once ? 0 : at + 1,
             to = once ? own_insts(k) : k->blocks[block].first + k->blocks[block].count;
    for (uint32_t n = from; n < to; n++) {
        const orr_inst *i = &k->insts[n];
        if (i->op == ORR_OP_ST && i->space == load->space && i->disp == load->disp &&
            i->width * i->vec >= load->width * load->vec) {
            const orr_operand *b = address(k, i);
            if (b->kind == ORR_K_REG && b->reg == a->reg && b->cls == a->cls) return true;
        }
        if (!once && writes(k, i, a)) return false;
    }
    return false;
}

static bool constant_values(effects *x, const orr_inst *i) { // a store's
    const orr_kernel *k = x->k;
    if (x->effort < own_insts(k)) return false;
    x->effort -= own_insts(k);
    for (int s = 1; s < i->nsrc; s++) {
        const orr_operand *o = orr_src(k, i, s);
        if (o->kind == ORR_K_IMM) continue;
        if (o->kind != ORR_K_REG || x->defs[index_of(x, o)] != 1) return false;
        bool constant = false;
        for (uint32_t n = 0; n < own_insts(k) && !constant; n++)
            constant = k->insts[n].op == ORR_OP_MOV && k->insts[n].nsrc == 1 &&
                       orr_src(k, &k->insts[n], 0)->kind == ORR_K_IMM && writes(k, &k->insts[n], o);
        if (!constant) return false;
    }
    return true;
}

static void note(effects *x, uint32_t n, uint32_t block) {
    orr_kernel *k = x->k;
    const orr_inst *i = &k->insts[n];
    uint16_t flags = orr_ops[i->op].flags;
    origin o = operand_origin(x, address(k, i));
    bool store = (flags & (ORR_F_STORE | ORR_F_ATOMIC)) && i->op != ORR_OP_CPASYNC;
    if (!o.bases) { // out of memory, or made of numbers
        if (store)
            k->effects.blocks_meet = k->effects.writes_anywhere = true;
        else
            k->effects.reads_anywhere = true;
        return;
    }
    if (o.loaded && !orr_effects_loaded_with(&k->effects, o.bases))
        k->effects.blocks_meet = k->effects.untraced = true;
    bool own = !store && own_place(x, n, block);
    bool reduces = k->effects.reduces && orr_reduction(i);
    bool meets = store && !reduces && (o.loaded || !o.block);
    if (meets && !(i->op == ORR_OP_ST && constant_values(x, i))) k->effects.blocks_meet = true;
    for (uint64_t m = o.bases; m; m &= m - 1) {
        orr_base *b = &k->effects.bases[__builtin_ctzll(m)];
        b->stores_meet |= meets;
        if (reduces)
            b->reduces = true;
        else if (store)
            b->stores = true;
        else if (own)
            b->loads_own = true;
        else
            b->loads = true;
    }
}

// By loaded data: the address or the guard of an instruction, the way of a branch.
static bool regular(effects *x) {
    const orr_kernel *k = x->k;
    uint8_t *marks = orr_calloc(k->ninsts + 1, sizeof *marks);
    for (uint32_t n = 0; n < own_insts(k); n++) {
        const orr_inst *i = &k->insts[n];
        bool loaded = i->guard >= 0 && x->of[x->base[ORR_P] + (uint32_t)i->guard].loaded;
        if (orr_ops[i->op].flags & ORR_F_MEMORY) {
            loaded |= i->nsrc == 0 || operand_origin(x, address(k, i)).loaded;
        } else if (i->op == ORR_OP_BRX) {
            loaded |= i->nsrc > 0 && operand_origin(x, orr_src(k, i, 0)).loaded;
        }
        marks[n] = loaded;
    }
    bool is = orr_regular(k, marks);
    free(marks);
    return is;
}

void orr_effects(orr_kernel *k) {
    k->effects.bases = orr_arena_alloc(&k->arena, ORR_MAX_BASES * sizeof *k->effects.bases);
    bool others = false;
    k->effects.reduces = orr_only_reduces(k, NULL);
    for (uint32_t f = 1; f < k->nfuncs; f++) others |= !orr_long_way(k, f);
    if (others) { // addresses go through memory from function to function
        k->effects.blocks_meet = k->effects.untraced = true;
        return;
    }
    effects x = {.k = k, .effort = EFFORT};
    uint32_t nregs = 0;
    for (int c = 0; c < ORR_CLASSES; c++) {
        x.base[c] = nregs;
        nregs += k->funcs[0].nregs[c];
    }
    x.of = orr_calloc(nregs + 1, sizeof *x.of);
    x.defs = orr_calloc(nregs + 1, sizeof *x.defs);
    for (uint32_t n = 0; n < own_insts(k); n++)
        for (int d = 0; d < k->insts[n].ndst; d++)
            if (orr_dst(k, &k->insts[n], d)->kind == ORR_K_REG)
                x.defs[index_of(&x, orr_dst(k, &k->insts[n], d))]++;
    trace_origins(&x);
    k->effects.regular = x.effort > own_insts(k) && regular(&x);
    for (uint32_t b = 0; b < k->funcs[0].nblocks && !k->effects.untraced; b++)
        for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++)
            if (global(&k->insts[n])) note(&x, n, b);
    if (x.effort < own_insts(k)) k->effects.blocks_meet = k->effects.untraced = true;
    free(x.of);
    free(x.defs);
}
