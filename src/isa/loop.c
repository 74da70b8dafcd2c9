// Loops, and what is the same in each of their rounds.
#include "isa/isa.h"

bool orr_writes_to(const orr_kernel *k, uint32_t i, const orr_operand *what) {
    for (int d = 0; d < k->insts[i].ndst; d++) {
        const orr_operand *o = orr_dst(k, &k->insts[i], d);
        if (o->kind == ORR_K_REG && o->cls == what->cls && o->reg == what->reg) return true;
    }
    return false;
}

static bool free_of(const orr_kernel *k, uint32_t b, uint32_t flags) {
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
        if (orr_ops[k->insts[i].op].flags & flags) return false;
    return true;
}

uint32_t orr_loop_of(const orr_kernel *k, uint32_t b, uint32_t but, uint32_t loop[ORR_LOOP]) {
    uint32_t way[ORR_LOOP] = {b}, n = 1, in = 0;
    bool back[ORR_LOOP] = {false};
    for (uint32_t at = 0; at < n; at++)
        for (int s = 0; s < orr_succ_count(k, &k->blocks[way[at]]); s++) {
            uint32_t to = orr_succ(k, &k->blocks[way[at]], s), seen = 0;
            while (seen < n && way[seen] != to) seen++;
            if (seen == n && n < ORR_LOOP && to < k->nblocks && free_of(k, to, but)) way[n++] = to;
        }
    for (bool more = true; more;) { // who leads to b, or to one that does
        more = false;
        for (uint32_t at = 0; at < n; at++)
            for (int s = 0; !back[at] && s < orr_succ_count(k, &k->blocks[way[at]]); s++) {
                uint32_t to = orr_succ(k, &k->blocks[way[at]], s);
                for (uint32_t x = 0; x < n; x++)
                    if (way[x] == to && (x == 0 || back[x])) more = back[at] = true;
            }
    }
    for (uint32_t at = 0; at < n; at++)
        if (back[at]) loop[in++] = way[at];
    return back[0] ? in : 0;
}

// Is a register's value in front of instruction `at` of block `b` the same each time round the loop? What the
// block writes last before counts, or else all that the loop writes; and that is the same if what it is made
// of is.
#define FAR_FROM 5 // instructions
typedef struct ring {
    const orr_kernel *k;
    uint32_t blocks[ORR_LOOP], n;
} ring;

static bool fixed_at(const ring *r, uint32_t b, uint32_t at, const orr_operand *what, int far);
static bool fixed_result(const ring *r, uint32_t b, uint32_t i, int far) {
    const orr_kernel *k = r->k;
    const orr_inst *in = &k->insts[i];
    bool parameter =
        in->space == ORR_SPACE_PARAM || (k->codes && !in->nsrc && !(orr_ops[in->op].flags & ORR_F_ATOMIC));
    if (orr_ops[in->op].flags & ORR_F_MEMORY && !parameter) return false;
    for (int s = 0; s < in->nsrc; s++)
        if (!fixed_at(r, b, i, orr_src(k, in, s), far)) return false;
    return true;
}

static bool fixed_at(const ring *r, uint32_t b, uint32_t at, const orr_operand *what, int far) {
    const orr_kernel *k = r->k;
    if (what->kind != ORR_K_REG) return true;
    if (!far) return false;
    for (uint32_t i = at; i-- > k->blocks[b].first;)
        if (orr_writes_to(k, i, what)) return fixed_result(r, b, i, far - 1);
    for (uint32_t x = 0; x < r->n; x++) {
        const orr_block *in = &k->blocks[r->blocks[x]];
        for (uint32_t i = in->first; i < in->first + in->count; i++)
            if (orr_writes_to(k, i, what) && !fixed_result(r, r->blocks[x], i, far - 1)) return false;
    }
    return true;
}

bool orr_same_place(const orr_kernel *k, uint32_t b, uint32_t i, int address, uint32_t but) {
    ring r = {.k = k};
    r.n = orr_loop_of(k, b, but, r.blocks);
    for (int s = 0; r.n && s < address && s < k->insts[i].nsrc; s++)
        if (!fixed_at(&r, b, i, orr_src(k, &k->insts[i], s), FAR_FROM)) return false;
    return r.n > 0;
}

// ---- loads that wait -----------------------------------------------------------------------------
// What goes round in a loop and what it decides: registers that depend on a load, in the loop's own blocks.
#define MANY 256 // registers
typedef struct tainted {
    orr_operand reg[MANY];
    uint32_t n;
} tainted;

static bool is_tainted(const tainted *t, uint8_t cls, uint32_t reg) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->reg[i].cls == cls && t->reg[i].reg == reg) return true;
    return t->n == MANY; // so many: let it be
}

static bool taint(const orr_kernel *k, tainted *t, const orr_inst *in) {
    bool more = false;
    for (int d = 0; d < in->ndst && t->n < MANY; d++) {
        const orr_operand *o = orr_dst(k, in, d);
        if (o->kind != ORR_K_REG || is_tainted(t, o->cls, o->reg)) continue;
        t->reg[t->n++] = *o;
        more = true;
    }
    return more;
}

static bool depends(const orr_kernel *k, const tainted *t, const orr_inst *in) {
    if (in->guard >= 0 && is_tainted(t, ORR_P, (uint32_t)in->guard)) return true;
    for (int s = 0; s < in->nsrc; s++) {
        const orr_operand *o = orr_src(k, in, s);
        if (o->kind == ORR_K_REG && is_tainted(t, o->cls, o->reg)) return true;
    }
    return false;
}

// Does what instruction `i` loads decide where the loop goes?
static bool decides(const ring *r, uint32_t i) {
    const orr_kernel *k = r->k;
    tainted t = {.n = 0};
    taint(k, &t, &k->insts[i]);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t x = 0; x < r->n; x++) {
            const orr_block *in = &k->blocks[r->blocks[x]];
            for (uint32_t j = in->first; j < in->first + in->count; j++) {
                if (!depends(k, &t, &k->insts[j])) continue;
                if (orr_ops[k->insts[j].op].flags & ORR_F_END) return true;
                more |= taint(k, &t, &k->insts[j]);
            }
        }
    }
    return false;
}

// Is a register's value in front of `at` another one in each round, whichever way it goes? `moves` notes the
// loop's blocks that change it: there may be a way round without them. Where it takes too many questions to
// know, it is.
#define FAR_MADE 12 // instructions
#define ASK_MADE 500
static bool made_anew(const ring *r, uint32_t b, uint32_t at, const orr_operand *what, int far, bool *moves,
                      uint32_t *asked) {
    const orr_kernel *k = r->k;
    if (what->kind != ORR_K_REG) return false;
    if (!far || ++*asked > ASK_MADE) return true;
    for (uint32_t i = at; i-- > k->blocks[b].first;) {
        const orr_inst *in = &k->insts[i];
        if (!orr_writes_to(k, i, what) || in->guard >= 0) continue;
        if (fixed_result(r, b, i, FAR_FROM)) return false;
        if (orr_ops[in->op].flags & ORR_F_MEMORY) return true;
        for (int s = 0; s < in->nsrc; s++)
            if (made_anew(r, b, i, orr_src(k, in, s), far - 1, moves, asked)) return true;
        return false;
    }
    for (uint32_t x = 0; x < r->n; x++) {
        const orr_block *in = &k->blocks[r->blocks[x]];
        for (uint32_t i = in->first; i < in->first + in->count; i++)
            if (orr_writes_to(k, i, what) && k->insts[i].guard < 0 &&
                !fixed_result(r, r->blocks[x], i, FAR_FROM))
                moves[x] = true;
    }
    return false;
}

static bool leads_to(const ring *r, uint32_t x, uint32_t to) {
    const orr_block *b = &r->k->blocks[r->blocks[x]];
    for (int s = 0; s < orr_succ_count(r->k, b); s++)
        if (orr_succ(r->k, b, s) == to) return true;
    return false;
}

// The blocks of the ways round the loop of block `b`, its first, without those of `moves`: how many.
static uint32_t stays(const ring *r, uint32_t b, const bool *moves, uint32_t blocks[ORR_LOOP]) {
    bool from[ORR_LOOP] = {false}, back[ORR_LOOP] = {false}, round = false;
    uint32_t n = 0;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t x = 0; x < r->n; x++) {
            bool is = r->blocks[x] == b;
            if (moves[x]) continue;
            for (uint32_t y = 0; y < r->n && !from[x]; y++)
                if (is || (from[y] && leads_to(r, y, r->blocks[x]))) more = from[x] = true;
            for (uint32_t y = 0; y < r->n && !back[x]; y++)
                if ((back[y] || r->blocks[y] == b) && leads_to(r, x, r->blocks[y])) more = back[x] = true;
            round |= is && back[x];
        }
    }
    for (uint32_t x = 0; x < r->n && round; x++)
        if (from[x] && back[x]) blocks[n++] = r->blocks[x];
    return n;
}

static bool goes_by(ring *r, uint32_t b, uint32_t i) { // a loop around it is decided by what it finds
    r->n =
        orr_loop_of(r->k, b, ORR_F_STORE | ORR_F_ATOMIC | ORR_F_BARRIER | ORR_F_CALL | ORR_F_RET, r->blocks);
    return r->n && decides(r, i);
}

// Perhaps it looks at the same place again: the blocks that lead there. `walks`, if it is asked for: and at
// others, further round.
static uint32_t looks_again(const ring *r, uint32_t b, uint32_t i, bool *walks, uint32_t blocks[ORR_LOOP]) {
    bool moves[ORR_LOOP] = {false};
    const orr_inst *in = &r->k->insts[i];
    uint32_t asked = 0;
    for (int s = 0; s < in->nsrc; s++)
        if (made_anew(r, b, i, orr_src(r->k, in, s), FAR_MADE, moves, &asked)) return 0;
    for (uint32_t x = 0; x < r->n && walks; x++) *walks |= moves[x];
    return stays(r, b, moves, blocks);
}

bool orr_look_waits(const orr_kernel *k, uint32_t b, uint32_t i) {
    ring r = {.k = k};
    uint32_t blocks[ORR_LOOP];
    if (k->machine && !k->codes) return true; // of a trace: nobody knows
    return goes_by(&r, b, i) && looks_again(&r, b, i, NULL, blocks);
}

uint32_t orr_look_walks(const orr_kernel *k, uint32_t b, uint32_t i, uint32_t blocks[ORR_LOOP]) {
    ring r = {.k = k};
    bool walks = false;
    uint32_t n = goes_by(&r, b, i) ? looks_again(&r, b, i, &walks, blocks) : 0;
    return walks ? n : 0;
}

bool orr_look_follows(const orr_kernel *k, uint32_t b, uint32_t i) {
    ring r = {.k = k};
    uint32_t blocks[ORR_LOOP];
    return goes_by(&r, b, i) && !looks_again(&r, b, i, NULL, blocks);
}
