// What code polls: accesses by which threads see what others do while they run.
//
// The executor has no time. Where thread blocks see each other they run in turns, in grid order (grid.c): a
// warp goes on until it ends, waits at a barrier or has used up its quantum (warp.c), then the next warp of
// the block, and when all of them have done nothing but poll, or have had ROUNDS quanta, the next resident
// block (block.c). A quantum is POLL_QUANTUM blocks of code that have an atomic or a volatile access; one
// that looks at a flag (a volatile or strong load of memory, a test of an mbarrier) uses up all of it, since
// looking again before anybody else has run is of no use. Eight rounds of a loop of PTX that does nothing
// else let lanes through that wait at joins, as one of them may have to raise the flag. So every race has one
// outcome, the same on every host, and it is not that of any GPU. Models with time execute such kernels as
// they are timed instead (exec/step.h).
//
// A loop of one block around a compare and swap with the same values every time takes a lock. Lanes of its
// warp that wait for those in it are let through as soon as it goes round: one of them may have the lock.
// That is of PTX; machine code says so itself, by YIELD.
#include <string.h>

#include "exec/sass/translate.h"

// Of machine code: "LD.E.STRONG.SM" looks at other warps of the block.
static bool is_strong(const orr_kernel *k, const orr_inst *in) {
    return k->codes && in->name < k->nnames && strstr(k->names[in->name], ".STRONG");
}

// Does it look at what others may write, and change nothing?
static bool looks(const orr_kernel *k, uint32_t i) {
    const orr_inst *in = &k->insts[i];
    bool memory = in->space == ORR_SPACE_GLOBAL || in->space == ORR_SPACE_GENERIC;
    if (in->op == ORR_OP_LD) return ((in->mods & ORR_M_VOLATILE) && memory) || is_strong(k, in);
    if (k->codes)
        return k->codes[i].op == ORR_SASS_SYNCS &&
               orr_code_mod(&k->codes[i], ORR_SM_SYNCS) == ORR_SV_SYNCS_PHASECHK;
    return in->op == ORR_OP_MBARRIER && (in->sub == ORR_MBAR_TEST_WAIT || in->sub == ORR_MBAR_TRY_WAIT);
}

static bool writes_to(const orr_kernel *k, uint32_t i, const orr_operand *what) {
    for (int d = 0; d < k->insts[i].ndst; d++) {
        const orr_operand *o = orr_dst(k, &k->insts[i], d);
        if (o->kind == ORR_K_REG && o->cls == what->cls && o->reg == what->reg) return true;
    }
    return false;
}

static bool is_constant(const orr_kernel *k, const orr_inst *i) {
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
        if (writes_to(k, i, what)) return !is_constant(k, &k->insts[i]);
    }
    return false;
}

static bool loops(const orr_kernel *k, uint32_t b) {
    bool back = false;
    for (int s = 0; s < orr_succ_count(k, &k->blocks[b]); s++) back |= orr_succ(k, &k->blocks[b], s) == b;
    return back;
}

// A loop of one block of PTX that does nothing but load what is volatile: lanes wait there for others,
// perhaps of their own warp.
static bool spins(const orr_kernel *k, uint32_t b) {
    bool found = false;
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
        const orr_inst *in = &k->insts[i];
        if (!(orr_ops[in->op].flags & ORR_F_MEMORY)) continue;
        if (in->op != ORR_OP_LD || !(in->mods & ORR_M_VOLATILE)) return false;
        found = true;
    }
    return found && !k->codes && loops(k, b);
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
    bool back = loops(k, b);
    for (int n = 0; back && n < swap->nsrc; n++)
        if (changes(k, b, at, &k->operands[swap->first + swap->ndst + (uint32_t)n])) return false;
    return back;
}

void orr_polls(decoded *p) {
    const orr_kernel *k = p->kernel;
    orr_mbar_find(p);
    for (uint32_t b = 0; b < k->nblocks; b++) {
        xblock *x = &p->blocks[b];
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
            x->looks |= looks(k, i);
        x->spins = spins(k, b);
        x->looks |= x->spins;
        x->polls |= x->looks;
        x->locks = !k->codes && locks(k, b);
    }
}
