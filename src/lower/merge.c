// Neighbours in shared memory are fetched together: ptxas makes LDS.64 and LDS.128 (STS.64, STS.128) of
// accesses to consecutive words when it can see that the first is aligned. In global memory it cannot, and
// does not. Loads of variables in constant memory, whose places it knows, are made into pairs (LDC.64).
//
// Loads of one base between two stores are one set, stores of one base that follow each other another. A set
// is taken apart into runs of two or four words. The instruction stands where the first of its loads (the
// last of its stores) stood, and takes the access of the lowest address; the accesses of the others are
// covered by it, and no instruction names them.
#include <stdlib.h>

#include "lower/pass.h"

#define MAX_SET 64

// A source as PTX has it.
static ref written(const lower *l, uint32_t n, int s) {
    const orr_inst *i = &l->k->insts[n];
    if (s >= i->nsrc) return (ref){.kind = ORR_K_NONE};
    const orr_operand *o = orr_src(l->k, i, s);
    ref r = {.kind = o->kind, .cls = o->cls, .neg = o->neg, .value = o->reg, .imm = o->value};
    if (o->kind == ORR_K_REG) r.value = l->of[i->first + i->ndst + (uint32_t)s];
    return r;
}

#define MOST_STEPS 256 // operands that are looked at for one address; beyond, nothing is seen
typedef struct zeros { // merges that are being looked at, and what is taken of them until more is known
    const lower *l;
    uint32_t merge[4];
    int bits[4], n;
    int steps;
} zeros;

static int aligned(zeros *z, ref r, int depth);

// Of a merge, a pointer that a loop moves on: what all that is merged have, taking for the merge itself what
// was found, until that holds.
static int merged(zeros *z, uint32_t v, int depth) {
    const value *m = &z->l->values.at[v];
    for (int n = 0; n < z->n; n++)
        if (z->merge[n] == v) return z->bits[n];
    if (z->n == 4 || depth > 8) return 0;
    int at = z->n++, least = 4;
    z->merge[at] = v;
    do {
        z->bits[at] = least;
        for (uint32_t a = 0; a < m->nargs && least; a++) {
            int x = aligned(z, (ref){.kind = ORR_K_REG, .cls = m->cls, .value = z->l->args.at[m->first + a]},
                            depth + 1);
            if (x < least) least = x;
        }
    } while (least < z->bits[at]);
    z->n--;
    return least;
}

// Trailing zero bits of an address, as far as they can be seen; 4 at most.
static int aligned(zeros *z, ref r, int depth) {
    const lower *l = z->l;
    uint64_t known;
    if (lower_constant(l, r, &known, 0)) return known & 15 ? __builtin_ctzll(known & 15) : 4;
    if (r.kind == ORR_K_SYMBOL) return 4; // of constant memory: ptxas has placed it
    if (r.kind != ORR_K_REG || r.value == NONE || depth > 8 || z->steps++ > MOST_STEPS) return 0;
    const value *v = &l->values.at[r.value];
    if (v->def == NONE) return v->nargs ? merged(z, r.value, depth) : 0;
    const orr_inst *i = &l->k->insts[v->def];
    if (i->guard >= 0) return 0;
    ref a = lower_ref(l, v->def, 0), b = lower_ref(l, v->def, 1), c = lower_ref(l, v->def, 2);
    int x, y;
    uint16_t op = lower_op(l, v->def);
    if (op == FUSED_LOP3) { // as it was before it took others along
        op = i->op;
        a = written(l, v->def, 0);
        b = written(l, v->def, 1);
    }
    switch (op) {
    case ORR_OP_MOV: // where a variable begins
        if (v->shared) return a.imm & 15 ? __builtin_ctzll(a.imm & 15) : 4;
        return i->nsrc == 1 && i->ndst == 1 ? aligned(z, a, depth + 1) : 0;
    case ORR_OP_CVT:
    case ORR_OP_CVTA: return i->nsrc == 1 ? aligned(z, a, depth + 1) : 0;
    case ORR_OP_SHL: x = b.kind == ORR_K_IMM && b.imm < 32 ? aligned(z, a, depth + 1) + (int)b.imm : 0; break;
    case FUSED_LEA:
        x = aligned(z, a, depth + 1) + (int)lower_shift(l, v->def);
        y = aligned(z, b, depth + 1);
        x = x < y ? x : y;
        break;
    case ORR_OP_ADD:
    case ORR_OP_SUB:
    case FUSED_IADD3:
        x = aligned(z, a, depth + 1);
        y = aligned(z, b, depth + 1);
        x = x < y ? x : y;
        y = lower_nsrc(l, v->def) > 2 ? aligned(z, c, depth + 1) : 4;
        x = x < y ? x : y;
        break;
    case ORR_OP_MUL: x = aligned(z, a, depth + 1) + aligned(z, b, depth + 1); break;
    case ORR_OP_MAD:
    case FUSED_MULADD:
    case FUSED_WIDEADD:
        x = aligned(z, a, depth + 1) + aligned(z, b, depth + 1);
        y = aligned(z, c, depth + 1);
        x = x < y ? x : y;
        break;
    case ORR_OP_AND:
        x = aligned(z, a, depth + 1);
        y = aligned(z, b, depth + 1);
        x = x > y ? x : y;
        break;
    case ORR_OP_OR:
    case ORR_OP_XOR:
        x = aligned(z, a, depth + 1);
        y = aligned(z, b, depth + 1);
        x = x < y ? x : y;
        break;
    default: return 0;
    }
    return x > 4 ? 4 : x < 0 ? 0 : x;
}

typedef struct member {
    int64_t at;
    uint32_t inst;
    uint8_t bytes;
} member;

typedef struct set { // accesses of one base
    uint32_t base;
    bool store;
    int n;
    int most; // bytes of one access
    member m[MAX_SET];
} set;

static int by_place(const void *x, const void *y) {
    const member *a = x, *b = y;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return a->inst < b->inst ? -1 : a->inst > b->inst;
}

static void join(lower *l, const set *s, int from, int n) {
    uint32_t lead = s->m[from].inst;
    for (int i = from; i < from + n; i++)
        if (s->store ? s->m[i].inst > lead : s->m[i].inst < lead) lead = s->m[i].inst;
    for (int i = from; i < from + n; i++) {
        l->merged.into[s->m[i].inst] = lead + 1;
        l->merged.next[s->m[i].inst] = i + 1 < from + n ? s->m[i + 1].inst + 1 : 0;
    }
    l->merged.first[lead] = s->m[from].inst + 1;
}

// Takes the set apart, the widest first.
static void close_set(lower *l, set *s) {
    if (s->n < 2) {
        s->n = 0;
        return;
    }
    qsort(s->m, (size_t)s->n, sizeof *s->m, by_place);
    zeros look = {.l = l};
    int bits =
        s->base == NONE ? 4 : aligned(&look, (ref){.kind = ORR_K_REG, .cls = ORR_W, .value = s->base}, 0);
    for (int i = 0; i < s->n;) {
        int best = 1, bytes = s->m[i].bytes, sum = bytes;
        for (int k = 1; i + k < s->n && sum < s->most; k++) {
            if (s->m[i + k].at != s->m[i].at + sum || s->m[i + k].bytes != bytes) break;
            sum += bytes;
            bool fits = (sum == 8 && bits >= 3 && s->m[i].at % 8 == 0) ||
                        (sum == 16 && bits >= 4 && s->m[i].at % 16 == 0);
            if (fits) best = k + 1;
        }
        if (best > 1) join(l, s, i, best);
        i += best;
    }
    s->n = 0;
}

#define OPEN 8 // bases whose loads are being collected at a time

static void close_all(lower *l, set *sets) {
    for (int s = 0; s < OPEN; s++) close_set(l, &sets[s]);
}

// The set of loads from a base; the oldest gives way to a new one.
static set *set_of(lower *l, set *sets, uint32_t base, uint32_t *turn) {
    for (int s = 0; s < OPEN; s++)
        if (sets[s].n && sets[s].base == base) return &sets[s];
    set *s = &sets[(*turn)++ % OPEN];
    close_set(l, s);
    return s;
}

// A load or store of the block.
static void put(lower *l, set *s, uint32_t n, ref base, uint32_t bytes, bool store) {
    const orr_inst *i = &l->k->insts[n];
    uint32_t value = base.kind == ORR_K_REG ? base.value : NONE;
    if (s->n == MAX_SET || (s->n && s->base != value)) close_set(l, s);
    int64_t at = i->disp + (l->select.of[n] ? l->select.all.at[l->select.of[n] - 1].disp : 0) +
                 (base.kind == ORR_K_IMM ? (int64_t)(base.imm & 0xffffffff) : 0);
    s->base = value;
    s->store = store;
    s->most = i->space == ORR_SPACE_CONST ? 8 : 16;
    s->m[s->n++] = (member){.at = at, .inst = n, .bytes = (uint8_t)bytes};
}

// Nobody writes constants.
static void merge_constants(lower *l, const orr_block *b, set *sets) {
    uint32_t turn = 0;
    for (uint32_t n = b->first; n < b->first + b->count; n++) {
        const orr_inst *i = &l->k->insts[n];
        if (i->op != ORR_OP_LD || i->space != ORR_SPACE_CONST || !orr_inst_traced(i) || i->guard >= 0 ||
            i->width != 4 || i->vec > 1 || i->ndst != 1 || (l->select.todo[n] & (DO_VIEW | DO_SKIP)))
            continue;
        ref base = lower_ref(l, n, 0);
        if (base.kind == ORR_K_REG && base.value != NONE)
            put(l, set_of(l, sets, base.value, &turn), n, base, 4, false);
    }
    close_all(l, sets);
}

static void merge_block(lower *l, const orr_block *b, set *loads, set *stores) {
    uint32_t turn = 0;
    for (uint32_t n = b->first; n < b->first + b->count; n++) {
        const orr_inst *i = &l->k->insts[n];
        bool reads = i->op == ORR_OP_LD, writes = i->op == ORR_OP_ST;
        bool memory = orr_inst_traced(i) && (i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_GENERIC);
        if (!memory && !(orr_ops[i->op].flags & (ORR_F_FENCE | ORR_F_CALL))) continue;
        uint32_t bytes = (uint32_t)i->width * (i->vec ? i->vec : 1);
        bool plain = memory && (reads || writes) && i->space == ORR_SPACE_SHARED && i->guard < 0 &&
                     (bytes == 4 || bytes == 8) && i->width >= 4 && !(i->mods & ORR_M_VOLATILE) &&
                     (writes ? i->nsrc - 1 : i->ndst) == (i->vec ? i->vec : 1);
        if (!plain || writes) close_all(l, loads);
        if (!plain || reads) close_set(l, stores);
        if (!plain) continue;
        ref base = lower_ref(l, n, 0);
        uint32_t value = base.kind == ORR_K_REG ? base.value : NONE;
        if (base.kind == ORR_K_REG && value == NONE) continue;
        put(l, reads ? set_of(l, loads, value, &turn) : stores, n, base, bytes, writes);
    }
    close_all(l, loads);
    close_set(l, stores);
}

void lower_merge(lower *l) {
    set *sets = orr_calloc(OPEN + 1, sizeof *sets);
    const orr_block *b = &l->k->blocks[l->flow.first_block], *end = b + l->flow.nblocks;
    for (; b < end; b++) {
        merge_block(l, b, sets, &sets[OPEN]);
        if (l->cc >= 70) merge_constants(l, b, sets);
    }
    free(sets);
}
