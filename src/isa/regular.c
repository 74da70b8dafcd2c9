// Is it known without a kernel's data which global and local memory it accesses? (docs/guides/lab.md, regular
// kernels)
//
// It is when no access has an address or a guard that depends on loaded data, and none lies on a way from a
// branch by loaded data to the block where all its ways have met again, its post-dominator. Which
// instructions depend on loaded data is for the caller to say, who knows the registers. A lane that exits
// by loaded data takes all that follows with it. Functions that are called count as lying on the way of each
// call.
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

#define MAX_BLOCKS 4096 // of a kernel that is looked through

static bool accesses(const orr_inst *i) {
    bool seen = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC || i->space == ORR_SPACE_LOCAL;
    return (orr_ops[i->op].flags & ORR_F_MEMORY) && (seen || i->op == ORR_OP_CPASYNC);
}

static const orr_inst *last_of(const orr_kernel *k, uint32_t b) {
    return &k->insts[k->blocks[b].first + k->blocks[b].count - 1];
}

typedef struct ways {
    const orr_kernel *k;
    uint32_t words;
    uint64_t *behind; // [block][words]: blocks that all ways from it lead through, itself among them
    bool *found;      // [block]: the ones that a walk came to
    uint32_t *list;
    bool called; // a function that is called accesses memory
} ways;

static uint64_t *row(const ways *w, uint32_t b) { return w->behind + (size_t)b * w->words; }
static bool in(const uint64_t *set, uint32_t b) { return set[b / 64] >> b % 64 & 1; }

static void post_dominators(const ways *w) {
    uint32_t n = w->k->nblocks;
    uint64_t *now = orr_calloc(w->words, sizeof *now);
    memset(w->behind, 0xff, (size_t)n * w->words * sizeof *w->behind);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = n; b-- > 0;) {
            const orr_block *at = &w->k->blocks[b];
            int ns = orr_succ_count(w->k, at);
            memset(now, ns ? 0xff : 0, w->words * sizeof *now);
            for (int s = 0; s < ns; s++) {
                const uint64_t *next = row(w, orr_succ(w->k, at, s));
                for (uint32_t i = 0; i < w->words; i++) now[i] &= next[i];
            }
            now[b / 64] |= 1ull << b % 64;
            if (!memcmp(now, row(w, b), w->words * sizeof *now)) continue;
            memcpy(row(w, b), now, w->words * sizeof *now);
            changed = true;
        }
    }
    free(now);
}

static uint32_t step(const ways *w, uint32_t from, uint32_t n, const uint64_t *until) {
    const orr_block *b = &w->k->blocks[from];
    int ns = orr_succ_count(w->k, b);
    for (int s = 0; s < ns; s++) {
        uint32_t to = orr_succ(w->k, b, s);
        if (w->found[to] || (until && in(until, to))) continue;
        w->found[to] = true;
        w->list[n++] = to;
    }
    return n;
}

// All blocks behind `from`, as far as the first of `until` on each way. How many.
static uint32_t walk(const ways *w, uint32_t from, const uint64_t *until) {
    memset(w->found, 0, w->k->nblocks * sizeof *w->found);
    uint32_t n = step(w, from, 0, until);
    for (uint32_t at = 0; at < n; at++) n = step(w, w->list[at], n, until);
    return n;
}

bool orr_long_way(const orr_kernel *k, uint32_t func) {
    const orr_func *f = &k->funcs[func];
    return f->ninsts && k->insts[f->first_inst].mods & ORR_M_ASIDE;
}

uint32_t orr_block_counts(const orr_kernel *k, const orr_block *b) {
    uint32_t n = 0;
    for (uint32_t i = b->first; i < b->first + b->count; i++) n += !(k->insts[i].mods & ORR_M_ASIDE);
    return n;
}

// What goes into and out of a long way is in registers, and what it does there too.
static bool in_long_way(const orr_kernel *k, uint32_t b) {
    const orr_inst *last = last_of(k, b);
    return last->mods & ORR_M_ASIDE && (last->op == ORR_OP_CALL || orr_long_way(k, k->blocks[b].func));
}

static bool block_accesses(const ways *w, uint32_t b) {
    const orr_block *at = &w->k->blocks[b];
    if (in_long_way(w->k, b)) return false;
    for (uint32_t n = at->first; n < at->first + at->count; n++)
        if (accesses(&w->k->insts[n]) || (w->called && w->k->insts[n].op == ORR_OP_CALL)) return true;
    return false;
}

// Does loaded data decide, at the end of block b, whether something is accessed?
static bool decides(const ways *w, uint32_t b) {
    const orr_inst *last = last_of(w->k, b);
    bool exits = last->op == ORR_OP_EXIT || last->op == ORR_OP_RET;
    uint64_t *until = exits ? NULL : row(w, b);
    if (until) until[b / 64] &= ~(1ull << b % 64); // a loop's own branch is on the way back to it
    uint32_t n = walk(w, b, until);
    if (until) until[b / 64] |= 1ull << b % 64;
    for (uint32_t i = 0; i < n; i++)
        if (block_accesses(w, w->list[i])) return true;
    return false;
}

static bool any_decides(const ways *w, const uint8_t *by_data) {
    for (uint32_t b = 0; b < w->k->nblocks; b++) {
        const orr_inst *last = last_of(w->k, b);
        bool turns = last->op == ORR_OP_BRA || last->op == ORR_OP_BRX || last->op == ORR_OP_EXIT ||
                     last->op == ORR_OP_RET;
        if (turns && by_data[last - w->k->insts] && decides(w, b)) return true;
    }
    return false;
}

bool orr_regular(const orr_kernel *k, const uint8_t *by_data) {
    if (!k->nblocks || k->nblocks > MAX_BLOCKS) return false;
    for (uint32_t n = 0; n < k->ninsts; n++)
        if (by_data[n] && accesses(&k->insts[n])) return false;
    ways w = {.k = k, .words = (k->nblocks + 63) / 64};
    w.behind = orr_calloc((size_t)k->nblocks * w.words, sizeof *w.behind);
    w.found = orr_calloc(k->nblocks, sizeof *w.found);
    w.list = orr_calloc(k->nblocks, sizeof *w.list);
    uint32_t entry = k->funcs[0].entry;
    walk(&w, entry, NULL);
    w.found[entry] = true;
    bool called = false;
    for (uint32_t b = 0; b < k->nblocks; b++) called |= !w.found[b] && block_accesses(&w, b);
    w.called = called;
    post_dominators(&w);
    bool regular = !any_decides(&w, by_data);
    free(w.behind);
    free(w.found);
    free(w.list);
    return regular;
}
