// May the thread blocks of machine code run in any order? What isa/effects.c asks of PTX, asked of registers
// that are used again and again: what one holds is followed block by block, until nothing changes.
//
// Of each register it is known, at each place: from which parameters and variables its value was made (its
// bases), whether loaded data went into it, whether the block's index did, and which instruction wrote it
// when that is the same on all ways here. Where ways meet, bases and `loaded` add up; `block` holds if it
// does on all of them. The rules are those of isa/effects.c: every address has a base; what is stored to
// through a base is not loaded through it except at the very place that the same thread stores to; a place
// that is stored to depends on the block's index and not on loaded data, unless what is stored is a constant,
// or it is a reduction whose order does not matter.
#include <stdlib.h>
#include <string.h>

#include "isa/reduction.h"
#include "sass/lift.h"

enum { UNIFORM = 256, NREGS = 256 + 64, PREDICATES = NREGS, NSTATE = NREGS + 16 };
#define MAX_BLOCKS 4096 // of a kernel that is looked through

typedef struct made_from {
    uint64_t bases;
    int32_t def; // the instruction that wrote it, + 1; 0: none has; -1: one of several
    bool loaded, block;
} made_from;
typedef struct origin {
    made_from any;  // whether or not its last writer's guard held
    made_from then; // where that held,
    uint8_t when;   // which is this one and has not changed since, + 1; 0: it had none
} origin;

typedef struct state {
    bool known; // some way leads here
    origin of[NSTATE];
} state;

typedef struct effects {
    orr_kernel *k;
    state *in;      // [block]
    bool *waiting;  // [block]: to be looked at again
    uint32_t steps; // blocks that may still be looked at
    bool lost;      // something the analysis does not follow
    bool meet;      // blocks may store to the same place
} effects;

static int place_of(const orr_operand *o) {
    if (o->cls == ORR_P) return PREDICATES + (int)(o->reg & 15);
    return o->reg < NREGS ? (int)o->reg : -1;
}

static uint64_t base_bit(effects *x, bool param, uint32_t which) {
    orr_kernel *k = x->k;
    for (uint32_t n = 0; n < k->effects.nbases; n++)
        if (k->effects.bases[n].param == param && k->effects.bases[n].which == which) return 1ull << n;
    if (k->effects.nbases == ORR_MAX_BASES) {
        x->lost = true;
        return 1ull << (ORR_MAX_BASES - 1);
    }
    k->effects.bases[k->effects.nbases] = (orr_base){.param = param, .which = which};
    return 1ull << k->effects.nbases++;
}

// A guard as a number: predicate, and whether it is negated. 0: none.
static uint8_t guard_of(const orr_inst *i) {
    return i->guard < 0 ? 0 : (uint8_t)(1 + (i->guard & 15) * 2 + i->guard_neg);
}

// As an instruction with that guard finds it.
static const made_from *found(const origin *o, uint8_t guard) {
    return o->when && o->when == guard ? &o->then : &o->any;
}

static void mix(made_from *to, const made_from *from) {
    to->bases |= from->bases;
    to->loaded |= from->loaded;
    to->block |= from->block;
}

// A word of a constant bank: a parameter of 8 bytes, or a variable's address that the loader put there.
static made_from of_constant(effects *x, const orr_arg *a) {
    orr_kernel *k = x->k;
    made_from r = {0};
    bool indexed =
        (a->shape & ORR_ARG_HAS_R && a->reg != ORR_RZ) || (a->shape & ORR_ARG_HAS_UR && a->ureg != 63);
    if (indexed || a->shape & ORR_ARG_BINDLESS) {
        r.loaded = true;
        return r;
    }
    if (a->bank == 0) {
        for (uint32_t p = 0; p < k->nparams; p++) {
            uint64_t at = (uint64_t)a->value - k->code.param_base - k->params[p].offset;
            if (k->params[p].bytes == 8 && at == 0) r.bases = base_bit(x, true, k->params[p].offset);
            if (k->params[p].bytes > 8 && at < k->params[p].bytes && at % 8 == 0) // a pointer in a structure
                r.bases = base_bit(x, true, k->params[p].offset + (uint32_t)at);
        }
    } else if (a->bank < ORR_BANKS && k->code.bank_var[a->bank]) {
        const orr_var *v = &k->module->vars[k->code.bank_var[a->bank] - 1];
        for (uint32_t n = 0; n < v->nrelocs; n++)
            if (v->relocs[n].offset == (uint64_t)a->value && v->relocs[n].var >= 0)
                r.bases = base_bit(x, false, (uint32_t)v->relocs[n].var);
    }
    return r;
}

static made_from result_of(effects *x, const state *s, uint32_t n) {
    const orr_kernel *k = x->k;
    const orr_inst *i = &k->insts[n];
    const orr_code *c = &k->code.insts[n];
    made_from r = {0};
    bool constant = c->op == ORR_SASS_LDC || c->op == ORR_SASS_LDCU || c->op == ORR_SASS_ULDC;
    if (!constant && (orr_ops[i->op].flags & (ORR_F_LOAD | ORR_F_ATOMIC))) return (made_from){.loaded = true};
    for (uint32_t f = 0; f < k->code.nfixes; f++)
        if (k->code.fixes[f].inst == n) r.bases |= base_bit(x, false, k->code.fixes[f].var);
    for (int a = 0; a < c->nargs; a++) {
        const orr_arg *g = &c->args[a];
        if (g->kind == ORR_ARG_CONST) {
            made_from o = of_constant(x, g);
            mix(&r, &o);
        } else if (g->kind == ORR_ARG_SREG) {
            r.block |= g->value >= ORR_SV_SREG_CTAID_X && g->value <= ORR_SV_SREG_CTAID_Z;
        }
    }
    for (int o = 0; o < i->nsrc; o++) {
        int at = place_of(orr_src(k, i, o));
        if (at >= 0) mix(&r, found(&s->of[at], guard_of(i)));
    }
    if (i->guard >= 0) r.loaded |= s->of[PREDICATES + (i->guard & 15)].any.loaded;
    return r;
}

static void step(effects *x, state *s, uint32_t n) {
    const orr_inst *i = &x->k->insts[n];
    if (!i->ndst) return;
    made_from r = result_of(x, s, n);
    r.def = (int32_t)n + 1;
    for (int d = 0; d < i->ndst; d++) {
        int at = place_of(orr_dst(x->k, i, d));
        if (at < 0) continue;
        origin *o = &s->of[at];
        if (i->guard < 0) {
            *o = (origin){.any = r};
        } else { // or what it held before
            bool block = o->any.block && r.block;
            mix(&o->any, &r);
            o->any.block = block;
            o->any.def = -1;
            o->then = r;
            o->when = guard_of(i);
        }
        for (int p = at - PREDICATES, m = 0; p >= 0 && m < NSTATE; m++) // a guard that is another one now
            if (s->of[m].when == 1 + p * 2 || s->of[m].when == 2 + p * 2) s->of[m].when = 0;
    }
}

// ---- ways -----------------------------------------------------------------------------------------
static bool join(made_from *to, const made_from *from) {
    made_from was = *to;
    to->bases |= from->bases;
    to->loaded |= from->loaded;
    to->block &= from->block;
    if (to->def != from->def) to->def = -1;
    return to->bases != was.bases || to->loaded != was.loaded || to->block != was.block || to->def != was.def;
}

static void arrive(effects *x, uint32_t block, const state *s) {
    state *to = &x->in[block];
    bool changed = !to->known;
    if (!to->known) {
        *to = *s;
        to->known = true;
    } else {
        for (int n = 0; n < NSTATE; n++) {
            origin *o = &to->of[n];
            const origin *f = &s->of[n];
            changed |= join(&o->any, &f->any);
            if (!o->when) continue;
            if (o->when != f->when) {
                o->when = 0;
                changed = true;
            } else {
                changed |= join(&o->then, &f->then);
            }
        }
    }
    if (changed) x->waiting[block] = true;
}

static int32_t block_of(const orr_kernel *k, uint32_t inst) {
    for (uint32_t b = 0; b < k->nblocks; b++)
        if (k->blocks[b].first == inst) return (int32_t)b;
    return -1;
}

// Where a block leads: the next one, a target it names, and from a return to behind every call.
static void leave(effects *x, uint32_t b, const state *s) {
    const orr_kernel *k = x->k;
    const orr_block *from = &k->blocks[b];
    uint32_t last = from->first + from->count - 1;
    const orr_code *c = &k->code.insts[last];
    if (from->next >= 0) arrive(x, (uint32_t)from->next, s);
    switch (c->op) {
    case ORR_SASS_BRA:
    case ORR_SASS_CALL:
    case ORR_SASS_JMP: break;
    case ORR_SASS_RET:
        for (uint32_t n = 0; n + 1 < k->ninsts; n++)
            if (k->code.insts[n].op == ORR_SASS_CALL) {
                int32_t to = block_of(k, n + 1);
                if (to >= 0) arrive(x, (uint32_t)to, s);
            }
        return;
    case ORR_SASS_BRX:
    case ORR_SASS_BRXU:
    case ORR_SASS_JMX:
    case ORR_SASS_JMXU: x->lost = true; return;
    default: return;
    }
    const orr_arg *t = c->nargs ? &c->args[c->nargs - 1] : NULL;
    bool direct = t && t->kind == ORR_ARG_TARGET && !(t->shape & (ORR_ARG_HAS_R | ORR_ARG_HAS_UR)) &&
                  !orr_code_mod(c, ORR_SM_RELABS) && c->op != ORR_SASS_JMP;
    int32_t to =
        direct && t->value >= 0 && t->value / 16 < k->ninsts ? block_of(k, (uint32_t)(t->value / 16)) : -1;
    if (to >= 0)
        arrive(x, (uint32_t)to, s);
    else
        x->lost = true;
}

static void follow(effects *x) {
    orr_kernel *k = x->k;
    state *s = orr_calloc(1, sizeof *s);
    s->known = true;
    arrive(x, k->funcs[0].entry, s);
    for (bool again = true; again && !x->lost;) {
        again = false;
        for (uint32_t b = 0; b < k->nblocks && !x->lost; b++) {
            if (!x->waiting[b]) continue;
            x->waiting[b] = false;
            again = true;
            if (!x->steps--) x->lost = true;
            *s = x->in[b];
            for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++)
                step(x, s, n);
            leave(x, b, s);
        }
    }
    free(s);
}

// ---- reductions -------------------------------------------------------------------------------------
static uint8_t reduced_type(const orr_code *c) {
    for (int n = 0; n < c->nmods; n++) {
        unsigned v = c->mods[n].value;
        switch (c->mods[n].kind) {
        case ORR_SM_FATOM:
        case ORR_SM_FATYPE: return ORR_T_F32;
        case ORR_SM_OATYPE:
            return v == ORR_SV_OATYPE_U32   ? ORR_T_U32
                   : v == ORR_SV_OATYPE_S32 ? ORR_T_S32
                   : v == ORR_SV_OATYPE_U64 ? ORR_T_U64
                   : v == ORR_SV_OATYPE_S64 ? ORR_T_S64
                                            : ORR_T_F32;
        case ORR_SM_MTYPE:
        case ORR_SM_ATYPE:
            return v == ORR_SV_ATYPE_U32   ? ORR_T_U32
                   : v == ORR_SV_ATYPE_S32 ? ORR_T_S32
                   : v == ORR_SV_ATYPE_U64 ? ORR_T_U64
                   : v == ORR_SV_ATYPE_S64 ? ORR_T_S64
                                           : ORR_T_F32;
        default: break;
        }
    }
    return ORR_T_U32;
}

static int reduction_of(const orr_kernel *k, uint32_t n) {
    const orr_code *c = &k->code.insts[n];
    unsigned op = orr_code_mod(c, ORR_SM_ATOM);
    if (c->op != ORR_SASS_RED && c->op != ORR_SASS_REDG) return 0;
    if (op == ORR_SV_ATOM_POPC_INC) return orr_reduction_kind(ORR_ATOM_ADD, reduced_type(c));
    return op <= ORR_SV_ATOM_XOR ? orr_reduction_kind((uint8_t)op, reduced_type(c)) : 0; // in the same order
}

// ---- accesses ---------------------------------------------------------------------------------------
typedef struct access {
    int32_t lo, hi, up; // who wrote the parts of its address
    int64_t disp;
    uint32_t bytes;
    bool store, own, reduces, meets;
    made_from from;
} access;

static const orr_arg *address(const orr_code *c) {
    const orr_arg *at = NULL; // LDGSTS has two: the second is the one in global memory
    for (int a = 0; a < c->nargs; a++)
        if (c->args[a].kind == ORR_ARG_MEM) at = &c->args[a];
    return at;
}

static bool constant_row(effects *x, const state *s, unsigned reg) {
    if (reg >= ORR_RZ) return true;
    int32_t def = s->of[reg].any.def;
    if (def <= 0) return false;
    const orr_code *c = &x->k->code.insts[def - 1];
    return c->op == ORR_SASS_MOV && c->nargs == 2 && c->args[1].kind == ORR_ARG_INT;
}

static bool stores_constant(effects *x, const state *s, uint32_t n) {
    const orr_code *c = &x->k->code.insts[n];
    const orr_arg *v = c->nargs > 1 ? &c->args[1] : NULL;
    if (!v || v->kind != ORR_ARG_R || x->k->insts[n].op != ORR_OP_ST) return false;
    for (unsigned w = 0; w < x->k->insts[n].vec; w++)
        if (!constant_row(x, s, v->reg == ORR_RZ ? ORR_RZ : v->reg + w)) return false;
    return true;
}

static bool take(effects *x, const state *s, uint32_t n, access *to) {
    orr_kernel *k = x->k;
    const orr_inst *i = &k->insts[n];
    uint16_t flags = orr_ops[i->op].flags;
    bool global = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC || i->op == ORR_OP_CPASYNC;
    if (!(flags & ORR_F_MEMORY) || !global) return false;
    if (i->op == ORR_OP_TEX || i->op == ORR_OP_SULD) return false; // nobody may write what a texture reads
    const orr_arg *a = address(&k->code.insts[n]);
    if (!a || i->op == ORR_OP_SUST || i->op == ORR_OP_SURED) {
        x->lost = true;
        return false;
    }
    *to = (access){.disp = a->value, .bytes = (uint32_t)i->width * i->vec};
    to->store = (flags & (ORR_F_STORE | ORR_F_ATOMIC)) && i->op != ORR_OP_CPASYNC;
    if (a->shape & ORR_ARG_HAS_R && a->reg < ORR_RZ) {
        const made_from *lo = found(&s->of[a->reg], guard_of(i));
        mix(&to->from, lo);
        to->lo = lo->def;
        to->hi = a->reg + 1u < ORR_RZ ? found(&s->of[a->reg + 1], guard_of(i))->def : 0;
    }
    if (a->shape & ORR_ARG_HAS_UR && a->ureg < 63) {
        mix(&to->from, &s->of[UNIFORM + a->ureg].any);
        to->up = s->of[UNIFORM + a->ureg].any.def;
    }
    if (!to->from.bases) { // out of memory, or made of numbers
        if (to->store)
            x->meet = k->effects.writes_anywhere = true;
        else
            k->effects.reads_anywhere = true;
        return false;
    }
    if (to->from.loaded && !orr_effects_loaded_with(&k->effects, to->from.bases)) x->lost = true;
    to->reduces = k->effects.reduces && reduction_of(k, n);
    if (to->reduces) return true;
    to->meets = to->store && (to->from.loaded || !to->from.block);
    if (to->meets && !stores_constant(x, s, n)) x->meet = true;
    return true;
}

static bool same_place(const access *a, const access *b) {
    return a->lo >= 0 && a->hi >= 0 && a->up >= 0 && a->lo == b->lo && a->hi == b->hi && a->up == b->up &&
           a->disp == b->disp && b->bytes >= a->bytes;
}

static void note(effects *x) {
    orr_kernel *k = x->k;
    ORR_VEC(access) all = {0};
    state *s = orr_calloc(1, sizeof *s);
    for (uint32_t b = 0; b < k->nblocks && !x->lost; b++) {
        if (!x->in[b].known) continue; // nobody gets here
        *s = x->in[b];
        for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++) {
            access a;
            if (take(x, s, n, &a)) *ORR_PUSH(&all) = a;
            step(x, s, n);
        }
    }
    if (all.n > 20000 || (x->meet && all.n > 4000)) x->lost = true;
    for (size_t n = 0; n < all.n && !x->lost; n++) {
        access *a = &all.at[n];
        for (size_t m = 0; m < all.n && !a->store && !a->own; m++)
            a->own = all.at[m].store && !all.at[m].reduces && same_place(a, &all.at[m]);
        for (uint64_t m = a->from.bases; m; m &= m - 1) {
            orr_base *base = &k->effects.bases[__builtin_ctzll(m)];
            base->stores_meet |= a->meets;
            if (a->reduces)
                base->reduces = true;
            else if (a->store)
                base->stores = true;
            else if (a->own)
                base->loads_own = true;
            else
                base->loads = true;
        }
    }
    free(all.at);
    free(s);
}

// ---- what loaded data decides -----------------------------------------------------------------------
static bool by_data(const orr_kernel *k, const state *s, uint32_t n) {
    const orr_inst *i = &k->insts[n];
    bool loaded = i->guard >= 0 && s->of[PREDICATES + (i->guard & 15)].any.loaded;
    if (orr_ops[i->op].flags & ORR_F_MEMORY) {
        const orr_arg *a = address(&k->code.insts[n]);
        if (!a) return true;
        for (unsigned r = a->reg; a->shape & ORR_ARG_HAS_R && r < ORR_RZ && r < a->reg + 2u; r++)
            loaded |= found(&s->of[r], guard_of(i))->loaded && (r == a->reg || i->space != ORR_SPACE_LOCAL);
        if (a->shape & ORR_ARG_HAS_UR && a->ureg < 63)
            loaded |= found(&s->of[UNIFORM + a->ureg], guard_of(i))->loaded;
    } else if (i->op == ORR_OP_BRA) {
        for (int o = 0; o < i->nsrc; o++) {
            int at = place_of(orr_src(k, i, o));
            loaded |= at >= 0 && s->of[at].any.loaded;
        }
    }
    return loaded;
}

static bool regular(const effects *x) {
    const orr_kernel *k = x->k;
    uint8_t *marks = orr_calloc(k->ninsts + 1, sizeof *marks);
    state *s = orr_calloc(1, sizeof *s);
    effects copy = *x;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        *s = x->in[b];
        for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++) {
            marks[n] = x->in[b].known && by_data(k, s, n);
            step(&copy, s, n);
        }
    }
    bool is = orr_regular(k, marks);
    free(s);
    free(marks);
    return is;
}

void sass_effects(orr_kernel *k) {
    k->effects.bases = orr_arena_alloc(&k->arena, ORR_MAX_BASES * sizeof *k->effects.bases);
    k->effects.nbases = 0;
    k->effects.blocks_meet = k->effects.reads_anywhere = k->effects.untraced = true;
    k->effects.reduces = orr_only_reduces(k, reduction_of);
    if (k->nfuncs > 1 || k->nblocks > MAX_BLOCKS || k->recursive) return;
    effects x = {.k = k, .steps = 64 * k->nblocks + 1000};
    k->effects.reads_anywhere = false;
    x.in = orr_calloc(k->nblocks + 1, sizeof *x.in);
    x.waiting = orr_calloc(k->nblocks + 1, sizeof *x.waiting);
    follow(&x);
    k->effects.regular = !x.lost && regular(&x);
    if (!x.lost) note(&x);
    k->effects.untraced = x.lost;
    k->effects.blocks_meet = x.lost || x.meet;
    free(x.in);
    free(x.waiting);
}
