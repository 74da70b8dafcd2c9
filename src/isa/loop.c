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
