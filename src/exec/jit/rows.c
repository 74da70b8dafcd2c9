// Rows and predicates in the host's registers, while a slice of a run of micro-ops is compiled.
//
// A row is loaded when it is first used and stored when the slice ends or its register is needed: of several
// writes the last one is stored. Scratch rows of machine code that nobody reads behind the run are not. A
// predicate that the run writes is in a general register from the run's beginning to its end, all 32 lanes; a
// slice changes its own bits.
#include <string.h>

#include "exec/jit/compile.h"

void jit_vector(compiler *c, int op, int reg, int first, rm x) { as_vector(&c->as, op, reg, first, x); }

static uint32_t key_of(oper o) { return ROW_FIRST + (o.off << 3 | o.bank); }

static rm place_of(const compiler *c, uint32_t key) {
    uint32_t at = key - ROW_FIRST;
    int base = (at & 7) == BANK_CONST ? REG_CONST : REG_W;
    return rm_mem(base, (int32_t)(at >> 3) + c->slice * c->lanes * 4);
}

static bool reads(const uop *u, uint32_t key) {
    for (int n = u->ndst; n < u->ndst + u->nsrc; n++)
        if (u->all[n].cls != ORR_P && key_of(u->all[n]) == key) return true;
    return false;
}
static bool writes(const uop *u, uint32_t key) {
    for (int n = 0; n < u->ndst; n++)
        if (u->all[n].cls != ORR_P && key_of(u->all[n]) == key) return true;
    return false;
}

// Will nobody read the row behind the run? Scratch is written before it is read in every instruction.
static bool is_dead(const compiler *c, uint32_t key) {
    uint32_t at = key - ROW_FIRST;
    if ((at & 7) != BANK_W || (at >> 3) < c->p->scratch) return false;
    const uop *end = c->x->last ? c->x->last + 1 : c->x->end;
    for (const uop *u = c->end; u < end; u++) {
        if (reads(u, key)) return false;
        if (writes(u, key)) return true;
    }
    return true;
}

static void store(compiler *c, int reg) {
    held *h = &c->held[reg];
    if (h->dirty) jit_vector(c, VMOVDQU_TO, reg, 0, place_of(c, h->row));
    h->dirty = false;
}

static int find(const compiler *c, uint32_t key) {
    for (int n = 0; n < c->pool; n++)
        if (c->held[n].row == key) return n;
    return -1;
}

// The register that was used longest ago, by none of this operation's.
static int take(compiler *c, uint32_t row) {
    int best = -1;
    for (int n = 0; n < c->pool; n++) {
        const held *h = &c->held[n];
        if (h->row == ROW_NONE) {
            best = n;
            break;
        }
        if (h->used != c->stamp && (best < 0 || h->used < c->held[best].used)) best = n;
    }
    if (best < 0) {
        c->failed = true;
        return 0;
    }
    store(c, best);
    c->held[best] = (held){.row = row, .used = c->stamp};
    return best;
}

int jit_temporary(compiler *c) { return take(c, ROW_TEMPORARY); }

int jit_in(compiler *c, oper o) {
    uint32_t key = key_of(o);
    int n = find(c, key);
    if (n < 0) {
        n = take(c, key);
        jit_vector(c, VMOVDQU, n, 0, place_of(c, key));
    }
    c->held[n].used = c->stamp;
    return n;
}

rm jit_in_rm(compiler *c, oper o) {
    uint32_t key = key_of(o);
    if (find(c, key) >= 0) return rm_reg(jit_in(c, o));
    for (const uop *u = c->u + 1; u < c->end; u++)
        if (reads(u, key)) return rm_reg(jit_in(c, o));
    return place_of(c, key);
}

void jit_put(compiler *c, oper d, int reg) {
    if (d.none) return;
    uint32_t key = key_of(d);
    if (c->mask >= 0) {
        int old = jit_in(c, d);
        jit_blend(c, reg, old, rm_reg(reg), c->mask);
    }
    int old = find(c, key);
    if (old >= 0) c->held[old] = (held){.row = ROW_NONE};
    c->held[reg] = (held){.row = key, .used = c->stamp, .dirty = true};
}

// ---- predicates -----------------------------------------------------------------------------
int jit_pred_register(const compiler *c, oper p) {
    static const int8_t registers[] = {RSI, RDI, R8, R9, R10};
    for (int n = 0; n < c->nwritten; n++)
        if (p.bank == BANK_P && c->written[n] == p.off) return registers[n];
    return -1;
}

// RDX, RAX, ... = the lanes of the slice in a word of 32.
static void load_lanes(compiler *c, int reg, int base, int32_t at) {
    if (c->lanes == 16)
        as_load_half(&c->as, reg, rm_mem(base, at + 2 * c->slice));
    else
        as_load_byte(&c->as, reg, rm_mem(base, at + c->slice));
}

void jit_pred_in(compiler *c, int reg, oper p) {
    bool value;
    if (jit_constant_pred(c, p, &value)) {
        as_number(&c->as, reg, value ? c->some : 0);
        return;
    }
    int from = jit_pred_register(c, p);
    if (from >= 0) {
        as_general(&c->as, false, 0x8b, reg, rm_reg(from));
        as_shift_general(&c->as, 5, reg, (unsigned)(c->slice * c->lanes));
    } else {
        load_lanes(c, reg, REG_P, (int32_t)p.off);
    }
    if (p.neg) as_group(&c->as, false, 6, reg, ~0u);
}

void jit_pred_put(compiler *c, oper p) {
    if (p.none) return;
    int to = jit_pred_register(c, p);
    unsigned by = (unsigned)(c->slice * c->lanes);
    if (c->masked) {
        as_general(&c->as, false, 0x8b, RDX, rm_reg(REG_ACTIVE));
        as_shift_general(&c->as, 4, RDX, by);
        as_group(&c->as, false, 6, RDX, ~0u);
        as_general(&c->as, false, 0x21, RDX, rm_reg(to)); // to &= edx
        as_general(&c->as, false, 0x21, REG_ACTIVE, rm_reg(RAX));
    } else {
        as_group(&c->as, false, 4, to, ~(c->some << by));
        as_group(&c->as, false, 4, RAX, c->some);
    }
    as_shift_general(&c->as, 4, RAX, by);
    as_general(&c->as, false, 0x09, RAX, rm_reg(to));
    if (c->guard && (c->guard - 1) >> 1 == p.off) c->guard = 0;
}

// ---- which lanes ----------------------------------------------------------------------------
// Written for all lanes, whichever are active: what is uniform.
static bool is_whole(const uop *u, const lanewise_rule *r) {
    return u->inner || (r->lane == LANE_KNOWN && u->masked == u->full);
}

// The lanes of the slice in REG_ACTIVE, for predicates.
static void active(compiler *c, const uop *u, oper guard) {
    bool some = c->kind & JIT_MASKED;
    if (some) load_lanes(c, REG_ACTIVE, REG_WARP, (int32_t)offsetof(warp, exec));
    if (u->guard < 0 || c->whole) return;
    jit_pred_in(c, some ? RAX : REG_ACTIVE, guard);
    if (some)
        as_general(&c->as, false, 0x21, RAX, rm_reg(REG_ACTIVE));
    else
        as_group(&c->as, false, 4, REG_ACTIVE, c->some);
}

void jit_uop_begins(compiler *c, const uop *u) {
    const lanewise_rule *r = jit_rule(u);
    bool some = c->kind & JIT_MASKED, whole = is_whole(u, r), rows = false, preds = false;
    c->u = u;
    c->stamp++;
    for (int n = 0; n < c->pool; n++)
        if (c->held[n].row == ROW_TEMPORARY) c->held[n].row = ROW_NONE;
    c->masked = !whole && (some || (u->guard >= 0 && !c->whole));
    c->mask = -1;
    if (!c->masked) return;
    for (int n = 0; n < u->ndst; n++) {
        rows |= u->all[n].cls != ORR_P;
        preds |= u->all[n].cls == ORR_P && !u->all[n].none;
    }
    oper guard = {.off = (uint32_t)u->guard, .bank = BANK_P, .cls = ORR_P, .neg = u->guard_neg};
    if (preds) active(c, u, guard);
    if (!rows) return;
    c->mask = MASK_LANES;
    if (u->guard < 0 || c->whole) return;
    c->mask = MASK_GUARD;
    uint32_t key = ((uint32_t)u->guard << 1 | u->guard_neg) + 1;
    if (c->guard == key) return;
    jit_mask_of_pred(c, guard, MASK_GUARD);
    if (some) jit_mask_and(c, MASK_GUARD, MASK_LANES);
    c->guard = key;
}

void jit_slice_begins(compiler *c, int slice) {
    memset(c->held, 0, sizeof c->held);
    c->slice = slice;
    c->guard = 0;
    if (c->kind & JIT_MASKED) jit_mask_active(c, MASK_LANES);
}

void jit_slice_ends(compiler *c) {
    for (int n = 0; n < c->pool; n++)
        if (c->held[n].dirty && !is_dead(c, c->held[n].row)) store(c, n);
}
