// Loops that only wait: they look at what others write (volatile or ordered loads, tests of an mbarrier),
// perhaps sleep, and change nothing. Going round such a loop again before anybody else has run is of no use,
// so whoever is in one gives way after a look (core.c), and when all that a block does is look, other blocks
// have their turn: a stream then has about as many looks as a GPU's warps take when what they wait for comes
// soon, and not as many as there were turns to wait for.
//
// Loops of compare and swap are not among them: most of them make progress every time round. One that always
// expects the same value takes a lock. Of PTX, where no YIELD says so, lanes of the warp that wait for those
// in such a loop are let through as soon as it goes round: one of them may have the lock.
#include <string.h>

#include "exec/machine.h"

// Of machine code: "LD.E.STRONG.SM" looks at other warps of the block.
static bool strong(const orr_kernel *k, const orr_inst *in) {
    return k->codes && in->name < k->nnames && strstr(k->names[in->name], ".STRONG");
}

static bool looks(const orr_kernel *k, uint32_t i) {
    const orr_inst *in = &k->insts[i];
    if (in->op == ORR_OP_LD) return (in->mods & ORR_M_VOLATILE) || strong(k, in);
    if (k->codes && in->op == ORR_OP_ATOM) { // atomicAdd(p, 0) looks too
        const orr_code *c = &k->codes[i];
        const orr_arg *last = c->nargs ? &c->args[c->nargs - 1] : NULL;
        return (in->sub == ORR_ATOM_ADD || in->sub == ORR_ATOM_OR) && last && last->kind == ORR_ARG_R &&
               last->reg == ORR_RZ;
    }
    if (k->codes)
        return k->codes[i].op == ORR_SASS_SYNCS &&
               orr_code_mod(&k->codes[i], ORR_SM_SYNCS) == ORR_SV_SYNCS_PHASECHK;
    if (in->op == ORR_OP_ATOM && (in->sub == ORR_ATOM_ADD || in->sub == ORR_ATOM_OR)) { // the same of PTX
        const orr_operand *last = in->nsrc ? orr_src(k, in, in->nsrc - 1) : NULL;
        return last && last->kind == ORR_K_IMM && last->value == 0;
    }
    return in->op == ORR_OP_MBARRIER && (in->sub == ORR_MBAR_TEST_WAIT || in->sub == ORR_MBAR_TRY_WAIT);
}

// Nothing in the block is seen by others, nor leads out of the function.
static bool quiet(const orr_kernel *k, uint32_t b, uint32_t ignored) {
    (void)ignored;
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
        uint32_t flags = orr_ops[k->insts[i].op].flags;
        if (flags & (ORR_F_BARRIER | ORR_F_CALL | ORR_F_RET)) return false;
        if (flags & (ORR_F_STORE | ORR_F_ATOMIC) && !looks(k, i)) return false;
    }
    return true;
}

static bool constant(const orr_kernel *k, const orr_inst *i) {
    const orr_operand *from = &k->operands[i->first + i->ndst];
    return (i->op == ORR_OP_MOV || i->op == ORR_OP_CVTA) && i->nsrc == 1 &&
           (from->kind == ORR_K_IMM || from->kind == ORR_K_SYMBOL);
}

// Has the register another value each time the block comes to `at`? What the block writes last before counts,
// or else what it writes behind.
static bool changes(const orr_kernel *k, uint32_t b, uint32_t at, const orr_operand *what) {
    uint32_t first = k->blocks[b].first, count = k->blocks[b].count;
    for (uint32_t n = 1; what->kind == ORR_K_REG && n <= count; n++) { // backwards from `at`, round the loop
        uint32_t i = first + (at - first + count - n) % count;
        for (int d = 0; d < k->insts[i].ndst; d++) {
            const orr_operand *o = &k->operands[k->insts[i].first + (uint32_t)d];
            if (o->kind == ORR_K_REG && o->cls == what->cls && o->reg == what->reg)
                return !constant(k, &k->insts[i]);
        }
    }
    return false;
}

// A loop of one block around a compare and swap with the same values every time.
static bool locks(const orr_kernel *k, uint32_t b) {
    const orr_inst *swap = NULL;
    uint32_t at = 0;
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
        const orr_inst *in = &k->insts[i];
        if (!(orr_ops[in->op].flags & ORR_F_MEMORY)) continue;
        if (swap || in->op != ORR_OP_ATOM || in->sub != ORR_ATOM_CAS || in->nsrc < 2) return false;
        swap = in;
        at = i;
    }
    if (!swap) return false;
    bool back = false;
    for (int s = 0; s < orr_succ_count(k, &k->blocks[b]); s++) back |= orr_succ(k, &k->blocks[b], s) == b;
    for (int n = 0; back && n < swap->nsrc; n++)
        if (changes(k, b, at, &k->operands[swap->first + swap->ndst + (uint32_t)n])) return false;
    return back;
}

static bool has_look(const orr_kernel *k, uint32_t b) {
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
        if (looks(k, i)) return true;
    return false;
}

static bool leads_into(const program *p, uint32_t b) { // a loop that only looks
    const orr_kernel *k = p->kernel;
    for (int s = 0; s < orr_succ_count(k, &k->blocks[b]); s++) {
        uint32_t to = orr_succ(k, &k->blocks[b], s);
        if (to < k->nblocks && p->blocks[to].circles) return true;
    }
    return false;
}

// The blocks of a loop that only looks: quiet ones, to which a look leads and which lead to it again.
#define MAX_LOOP 64
static void mark_loop(program *p, uint32_t look) {
    const orr_kernel *k = p->kernel;
    uint32_t way[MAX_LOOP] = {look}, n = 1;
    for (uint32_t at = 0; at < n; at++)
        for (int s = 0; s < orr_succ_count(k, &k->blocks[way[at]]); s++) {
            uint32_t to = orr_succ(k, &k->blocks[way[at]], s), seen = 0;
            while (seen < n && way[seen] != to) seen++;
            if (seen == n && n < MAX_LOOP && to < k->nblocks && quiet(k, to, 0)) way[n++] = to;
        }
    p->blocks[look].circles = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t at = 1; at < n; at++)
            if (!p->blocks[way[at]].circles && leads_into(p, way[at]))
                more = p->blocks[way[at]].circles = true;
    }
}

void orr_spins(program *p) {
    const orr_kernel *k = p->kernel;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        p->blocks[b].spins = has_look(k, b) && quiet(k, b, 0) && orr_leads_back(k, b, quiet, 0);
        p->blocks[b].polls |= p->blocks[b].spins;
        p->blocks[b].locks = !k->codes && locks(k, b);
        p->blocks[b].ordered = orr_versions_in(k, b);
    }
    for (uint32_t b = 0; b < k->nblocks; b++)
        if (p->blocks[b].spins) mark_loop(p, b);
    for (uint32_t b = 0; b < k->nblocks; b++) { // compilers take the first look out of the loop
        xblock *x = &p->blocks[b];
        x->finds = x->circles || (has_look(k, b) && leads_into(p, b));
    }
}
