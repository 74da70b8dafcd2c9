// Loops that only wait: they look at what others write (volatile or ordered loads, tests of an mbarrier),
// perhaps sleep, and change nothing. Going round such a loop again before anybody else has run is of no use,
// so whoever is in one gives way after a look (run/warp.c), and when all that a block does is look, other
// blocks have their turn: a stream then has about as many looks as a GPU's warps take when what they wait for
// comes soon, and not as many as there were turns to wait for.
//
// Loops of compare and swap are not among them: most of them make progress every time round. One that always
// expects the same value takes a lock, or an entry of a table: how often it tries depends on when the others
// are there, so where times are known such kernels are executed in order of time (pace.c). So are loops that
// follow what others write from place to place, and those that wait for one place after the other. Of PTX,
// where no YIELD says so, lanes of the warp that wait for those in a lock's loop are let through as soon as
// it goes round: one of them may have the lock.
//
// One that expects what it found last races with others: on a GPU all of them have a try on its way, and of
// those that expect the same value one succeeds. So a warp gives way in front of each such compare and swap
// (run/warp.c), and when all warps of a thread block have come to one, so does the block, if its word is not
// in shared memory; where it is known what things take on a GPU they go on in order of time (pace.c). The
// same goes for a reduction that is only done when a look at the same place says so.
//
// Who draws its work from a counter, in a loop, shares it with others: on a GPU the next piece goes to
// whoever is done first. Here that is taken to be the warp that has executed the fewest instructions; the
// others are held in front of their draw until all have come as far (block.c, run/grid.c).
#include <string.h>

#include "exec/sass/translate.h"

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
    if (k->codes) return !i->nsrc && !(orr_ops[i->op].flags & ORR_F_MEMORY); // of no register
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
        if (orr_writes_to(k, i, what)) return !constant(k, &k->insts[i]);
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

// ---- loops around a compare and swap ------------------------------------------------------------
// Has the register, in front of instruction `at` of block `b`, what the loop has written into it, and is that
// not the same each time? Only what is written last counts, whichever way has led there.
static bool written_in(const orr_kernel *k, const uint32_t *loop, uint32_t n, uint32_t b, uint32_t at,
                       const orr_operand *what) {
    uint32_t todo[ORR_LOOP], many = 0;
    bool seen[ORR_LOOP] = {false};
    for (;;) {
        uint32_t i = at;
        while (i > k->blocks[b].first && !(orr_writes_to(k, i - 1, what) && k->insts[i - 1].guard < 0)) {
            i--;
            if (orr_writes_to(k, i, what)) return true; // perhaps it writes
        }
        if (i > k->blocks[b].first && !constant(k, &k->insts[i - 1])) return true;
        for (uint32_t x = 0; i == k->blocks[b].first && x < n; x++)
            for (int s = 0; !seen[x] && s < orr_succ_count(k, &k->blocks[loop[x]]); s++)
                if (orr_succ(k, &k->blocks[loop[x]], s) == b) {
                    seen[x] = true;
                    todo[many++] = loop[x];
                    break;
                }
        if (!many) return false;
        b = todo[--many];
        at = k->blocks[b].first + k->blocks[b].count;
    }
}

static const orr_arg *place_of(const orr_code *c) {
    for (int n = 0; n < c->nargs; n++)
        if (c->args[n].kind == ORR_ARG_MEM) return &c->args[n];
    return NULL;
}

// What a compare and swap expects: a register's number and class, or false.
static bool expected(const orr_kernel *k, uint32_t i, uint8_t *cls, uint32_t *reg) {
    const orr_inst *in = &k->insts[i];
    if (in->op != ORR_OP_ATOM || in->sub != ORR_ATOM_CAS) return false;
    if (k->codes) {
        const orr_code *c = &k->codes[i];
        for (int n = 0; n + 1 < c->nargs; n++)
            if (c->args[n].kind == ORR_ARG_MEM && c->args[n + 1].kind == ORR_ARG_R) {
                *cls = ORR_W;
                *reg = c->args[n + 1].reg;
                return *reg != ORR_RZ;
            }
        return false;
    }
    const orr_operand *o = in->nsrc > 1 ? orr_src(k, in, 1) : NULL;
    if (!o || o->kind != ORR_K_REG) return false;
    *cls = o->cls;
    *reg = o->reg;
    return true;
}

// The compare and swap of a block that is in a loop which expects something else each time: what another warp
// did to the word decides whether it goes round again. (One that always expects the same takes a lock.)
static uint32_t race_of(const orr_kernel *k, uint32_t b) {
    uint8_t cls = 0;
    uint32_t reg = 0, loop[ORR_LOOP], n, i = k->blocks[b].first, end = i + k->blocks[b].count;
    while (i < end && !expected(k, i, &cls, &reg)) i++;
    if (i == end || !(n = orr_loop_of(k, b, ORR_F_BARRIER | ORR_F_CALL | ORR_F_RET, loop))) return UINT32_MAX;
    // Registers of PTX share places (isa/), so that here only what is written in the same block counts.
    if (!k->codes) return changes(k, b, i, orr_src(k, &k->insts[i], 1)) ? i : UINT32_MAX;
    const orr_operand what = {.kind = ORR_K_REG, .cls = cls, .reg = reg};
    return written_in(k, loop, n, b, i, &what) ? i : UINT32_MAX;
}

// ---- draws from a counter -----------------------------------------------------------------------
static bool is_draw(const orr_inst *in) {
    if (in->op != ORR_OP_ATOM || in->ndst == 0) return false;
    bool counter =
        in->space == ORR_SPACE_GLOBAL || in->space == ORR_SPACE_SHARED || in->space == ORR_SPACE_GENERIC;
    return counter && (in->sub == ORR_ATOM_ADD || in->sub == ORR_ATOM_INC || in->sub == ORR_ATOM_DEC);
}

// The addition of a block that is in a loop, returns what was there, and is at the same place each time.
static uint32_t draw_of(const orr_kernel *k, uint32_t b) {
    uint32_t i = k->blocks[b].first, end = i + k->blocks[b].count;
    while (i < end && (!is_draw(&k->insts[i]) || looks(k, i))) i++;
    if (i == end) return UINT32_MAX;
    int address = 1; // of its sources, those come first
    if (k->codes) {
        const orr_code *c = &k->codes[i];
        address = k->insts[i].nsrc - (c->nargs ? orr_code_span(c, c->nargs - 1) : 0);
    }
    return orr_same_place(k, b, i, address, ORR_F_CALL | ORR_F_RET) ? i : UINT32_MAX;
}

// A compare and swap in a loop, of shared memory or of other, be it to take a lock or an entry of a table, or
// to change what is there.
static bool swaps(const orr_kernel *k, uint32_t b, bool shared) {
    uint32_t loop[ORR_LOOP], i = k->blocks[b].first, end = i + k->blocks[b].count;
    while (i < end && (k->insts[i].op != ORR_OP_ATOM || k->insts[i].sub != ORR_ATOM_CAS ||
                       (k->insts[i].space == ORR_SPACE_SHARED) != shared))
        i++;
    return i < end && orr_loop_of(k, b, ORR_F_BARRIER | ORR_F_CALL | ORR_F_RET, loop);
}

// ---- looks in front of a reduction ----------------------------------------------------------------
// if (x < *p) atomicMin(p, x): on a GPU many threads look before the first of them has changed *p.
static bool same_place(const orr_kernel *k, uint32_t i, uint32_t j) {
    if (k->codes) {
        const orr_arg *a = place_of(&k->codes[i]), *b = place_of(&k->codes[j]);
        return a && b && a->reg == b->reg && a->ureg == b->ureg && a->shape == b->shape &&
               a->value == b->value && a->shape & ORR_ARG_HAS_R;
    }
    const orr_inst *x = &k->insts[i], *y = &k->insts[j];
    if (!x->nsrc || !y->nsrc || x->disp != y->disp) return false;
    const orr_operand *a = orr_src(k, x, 0), *b = orr_src(k, y, 0);
    return a->kind == ORR_K_REG && b->kind == ORR_K_REG && a->cls == b->cls && a->reg == b->reg;
}

// The only block that leads to `b`, or UINT32_MAX.
static uint32_t only_before(const orr_kernel *k, uint32_t b) {
    uint32_t from = UINT32_MAX;
    for (uint32_t x = 0; x < k->nblocks; x++)
        for (int s = 0; s < orr_succ_count(k, &k->blocks[x]); s++) {
            if (orr_succ(k, &k->blocks[x], s) != b) continue;
            if (from != UINT32_MAX && from != x) return UINT32_MAX;
            from = x;
        }
    return from;
}

// Does a load of the same place decide whether instruction `i` of block `b` is executed?
#define FAR_BACK 3 // blocks
static bool looked_at(const orr_kernel *k, uint32_t b, uint32_t i) {
    uint32_t end = i;
    for (int far = 0; far < FAR_BACK && b != UINT32_MAX; far++) {
        for (uint32_t j = end; j-- > k->blocks[b].first;)
            if (k->insts[j].op == ORR_OP_LD && same_place(k, i, j)) // not one that waits for others
                return !looks(k, j) && (far > 0 || k->insts[i].guard >= 0);
        b = only_before(k, b);
        if (b != UINT32_MAX) end = k->blocks[b].first + k->blocks[b].count;
    }
    return false;
}

static uint32_t reduces(const orr_kernel *k, uint32_t b) {
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
        const orr_inst *in = &k->insts[i];
        if ((in->op == ORR_OP_RED || (in->op == ORR_OP_ATOM && in->sub != ORR_ATOM_CAS)) &&
            looked_at(k, b, i))
            return i;
    }
    return UINT32_MAX;
}

static bool has_look(const orr_kernel *k, uint32_t b) {
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
        if (looks(k, i)) return true;
    return false;
}

// A look that the loop around it waits with.
static bool has_wait(const orr_kernel *k, uint32_t b) {
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
        if (looks(k, i) && (k->insts[i].op != ORR_OP_LD || orr_look_waits(k, b, i))) return true;
    return false;
}

static bool leads_into(const decoded *p, uint32_t b) { // a loop that only looks
    const orr_kernel *k = p->kernel;
    for (int s = 0; s < orr_succ_count(k, &k->blocks[b]); s++) {
        uint32_t to = orr_succ(k, &k->blocks[b], s);
        if (to < k->nblocks && p->blocks[to].circles) return true;
    }
    return false;
}

// The blocks of a loop that only looks: quiet ones, to which a look leads and which lead to it again.
static void mark_loop(decoded *p, uint32_t look) {
    const orr_kernel *k = p->kernel;
    uint32_t way[ORR_LOOP] = {look}, n = 1;
    for (uint32_t at = 0; at < n; at++)
        for (int s = 0; s < orr_succ_count(k, &k->blocks[way[at]]); s++) {
            uint32_t to = orr_succ(k, &k->blocks[way[at]], s), seen = 0;
            while (seen < n && way[seen] != to) seen++;
            if (seen == n && n < ORR_LOOP && to < k->nblocks && quiet(k, to, 0)) way[n++] = to;
        }
    p->blocks[look].circles = true;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t at = 1; at < n; at++)
            if (!p->blocks[way[at]].circles && leads_into(p, way[at]))
                more = p->blocks[way[at]].circles = true;
    }
}

// What a block races with: a compare and swap, a reduction that a look decides on, or a draw.
static uint32_t racing(const orr_kernel *k, uint32_t b, bool *draws) {
    uint32_t race = race_of(k, b);
    if (race == UINT32_MAX) race = reduces(k, b);
    *draws = race == UINT32_MAX && (race = draw_of(k, b)) != UINT32_MAX;
    return race;
}

// Looks that lead from place to place, among words that others write: where they lead depends on who has been
// there. Not of kernels that wait: those take turns.
static bool follows(const orr_kernel *k) {
    bool any = false, writes = false;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        if (has_wait(k, b)) return false;
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
            uint8_t order = orr_inst_order(&k->insts[i]);
            writes |= order & ORR_ORDER_WRITES;
            any |= k->insts[i].op == ORR_OP_LD && order && orr_look_follows(k, b, i);
        }
    }
    return any && writes;
}

// Looks that wait for one word after the other, as at the tiles before until one has the sum of all. How far
// they walk depends on who has come how far: one thread block after the other, each would find the one before
// it finished, and a model would have them wait for each other in a row.
static bool walks(const orr_kernel *k) {
    uint32_t blocks[ORR_LOOP];
    for (uint32_t b = 0; b < k->nblocks; b++)
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
            if (looks(k, i) && k->insts[i].op == ORR_OP_LD && orr_look_walks(k, b, i, blocks)) return true;
    return false;
}

bool orr_exec_takes(const orr_kernel *k) {
    bool takes = follows(k) || walks(k);
    for (uint32_t b = 0; b < k->nblocks; b++) {
        bool draws, races = racing(k, b, &draws) != UINT32_MAX;
        if (draws) return false; // those are in order of instructions
        takes |= !races && swaps(k, b, false);
    }
    return takes;
}

void orr_spins(decoded *p, const uint32_t *uop_of) {
    const orr_kernel *k = p->kernel;
    orr_mbar_find(p);
    for (uint32_t b = 0; b < k->nblocks; b++) {
        p->blocks[b].spins = has_wait(k, b) && quiet(k, b, 0) && orr_leads_back(k, b, quiet, 0);
        p->blocks[b].polls |= p->blocks[b].spins;
        p->blocks[b].locks = !k->codes && locks(k, b);
        p->blocks[b].ordered = orr_versions_in(k, b);
        uint32_t race = racing(k, b, &p->blocks[b].draws);
        p->blocks[b].race = race == UINT32_MAX ? NULL : uop_of ? p->uops + uop_of[race] : p->uops + race;
        p->blocks[b].race_inst = race;
        p->blocks[b].race_blocks = race != UINT32_MAX && k->insts[race].space != ORR_SPACE_SHARED;
    }
    for (uint32_t b = 0; b < k->nblocks; b++)
        if (p->blocks[b].spins) mark_loop(p, b);
    for (uint32_t b = 0; b < k->nblocks; b++) { // compilers take the first look out of the loop
        xblock *x = &p->blocks[b];
        x->finds = x->circles || (has_look(k, b) && leads_into(p, b));
    }
    bool shared = false, draws = false;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        shared |= swaps(k, b, true);
        draws |= p->blocks[b].draws;
    }
    if (!p->launch->pace || draws) return; // those are in order of instructions
    if (shared) orr_pace_shared(p, uop_of);
    for (uint32_t b = 0; b < k->nblocks; b++)
        if (p->blocks[b].race_blocks) orr_pace_race(p, b);
    if (orr_exec_takes(k)) orr_pace_global(p, uop_of);
}
