// The kernel that a trace shows, growing as it is read.
//
// A block of it is a run of instructions that some warp executed one after the other under one mask. Runs are
// kept as a tree: a node is the run that its parent is, and one instruction more. So a run that was seen
// before is found again at the cost of one step an instruction, whatever its length, and two runs that begin
// alike share their beginning. Blocks hold copies of their instructions, because a block's instructions lie
// side by side; operands are shared.
//
// What there can be is bounded: when the runs have become many (code whose lanes part in ever new ways), new
// ones are not made longer than what is known, which costs only speed.
#include "accel/reader.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 1 << 19, INSTS_MAX = 1 << 19 };

typedef struct step {
    uint32_t node, line, to; // to 0: empty, since nothing leads back to the empty run
} step;

static void *grown(void *at, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return at;
    *cap = *cap ? *cap * 2 : 256;
    return orr_realloc(at, *cap * size);
}

code *code_new(trace_head *h, const char *path) {
    code *c = orr_calloc(1, sizeof *c);
    orr_kernel *k = &c->kernel;
    c->module = (orr_module){.source = "sass", .target = h->binary};
    c->module.path = orr_arena_strdup(&c->module.arena, path);
    k->name = orr_arena_strdup(&k->arena, h->name);
    k->module = &c->module;
    k->funcs = &c->func;
    k->nfuncs = 1;
    c->func.name = k->name;
    k->regs = h->regs;
    k->shared_bytes = h->shared;
    k->barriers = 1;
    k->effects.atomics = k->effects.blocks_meet = k->effects.reads_anywhere = k->effects.untraced =
        true; // nobody looked
    k->machine = k->grows = true;
    c->lineinfo = h->lineinfo;
    c->words = h->words;
    h->words = (words){.n = 0};
    k->control = c->words.n != 0;
    node *root = ORR_PUSH(&c->nodes);
    *root = (node){.block = NONE, .next_line = NONE};
    return c;
}

void code_free(code *c) {
    if (!c) return;
    orr_kernel *k = &c->kernel;
    free(k->insts);
    free(k->blocks);
    free(k->operands);
    free((void *)k->names);
    orr_arena_free(&k->arena);
    orr_arena_free(&c->module.arena);
    free(c->lines.at);
    free(c->nodes.at);
    orr_map_free(&c->by_text);
    orr_map_free(&c->by_name);
    free(c->steps);
    free(c->words.at);
    free(c);
}

bool code_fits(const code *c, const trace_head *h) {
    const orr_kernel *k = &c->kernel;
    return c->lineinfo == h->lineinfo && k->regs == h->regs && k->shared_bytes == h->shared &&
           c->module.target == h->binary && strcmp(k->name, h->name) == 0 && words_same(&c->words, &h->words);
}

uint32_t code_name(code *c, const char *name, size_t n) {
    orr_kernel *k = &c->kernel;
    size_t at = (size_t)orr_map_getn(&c->by_name, name, n);
    if (at) return (uint32_t)at - 1;
    k->names = grown((void *)k->names, k->nnames, &c->names_cap, sizeof *k->names);
    k->names[k->nnames++] = orr_arena_strndup(&k->arena, name, n);
    orr_map_putn(&c->by_name, name, n, (void *)(size_t)k->nnames);
    return k->nnames - 1;
}

// ---- runs -------------------------------------------------------------------------------------
static size_t step_slot(const code *c, uint32_t node, uint32_t line) {
    uint64_t h = ((uint64_t)node << 32 | line) * 0x9e3779b97f4a7c15ull;
    size_t at = (size_t)(h >> 20) & (c->steps_cap - 1);
    while (c->steps[at].to && (c->steps[at].node != node || c->steps[at].line != line))
        at = (at + 1) & (c->steps_cap - 1);
    return at;
}

static void more_steps(code *c) {
    step *old = c->steps;
    size_t n = c->steps_cap;
    c->steps_cap = n ? n * 2 : 1024;
    c->steps = orr_calloc(c->steps_cap, sizeof *c->steps);
    for (size_t i = 0; i < n; i++)
        if (old[i].to) c->steps[step_slot(c, old[i].node, old[i].line)] = old[i];
    free(old);
}

uint32_t code_step(code *c, uint32_t from, uint32_t line) {
    node *f = &c->nodes.at[from];
    if (f->next_line == line) return f->next;
    if (c->nsteps * 2 >= c->steps_cap) more_steps(c);
    size_t at = step_slot(c, from, line);
    uint32_t to = c->steps[at].to;
    if (!to) {
        bool full = c->nsteps >= STEPS_MAX || c->kernel.ninsts >= INSTS_MAX;
        if (full && from) return NONE;
        to = (uint32_t)c->nodes.n;
        *ORR_PUSH(&c->nodes) = (node){.block = NONE, .parent = from, .line = line, .next_line = NONE};
        c->steps[at] = (step){from, line, to};
        c->nsteps++;
    }
    c->nodes.at[from].next_line = line;
    c->nodes.at[from].next = to;
    return to;
}

uint32_t code_block(code *c, uint32_t run) {
    node *last = &c->nodes.at[run];
    if (last->block != NONE) return last->block;
    orr_kernel *k = &c->kernel;
    uint32_t seq[BLOCK_MAX] = {0}, n = 0;
    for (uint32_t at = run; at; at = c->nodes.at[at].parent) seq[n++] = c->nodes.at[at].line;
    k->blocks = grown(k->blocks, k->nblocks, &c->blocks_cap, sizeof *k->blocks);
    orr_block *b = &k->blocks[k->nblocks];
    *b = (orr_block){.first = k->ninsts, .count = n, .next = -1, .ipdom = -1};
    while (n--) {
        k->insts = grown(k->insts, k->ninsts, &c->insts_cap, sizeof *k->insts);
        k->insts[k->ninsts] = c->lines.at[seq[n]].inst;
        b->nmem += orr_inst_traced(&k->insts[k->ninsts]);
        k->ninsts++;
    }
    c->func.ninsts = k->ninsts;
    c->func.nblocks = k->nblocks + 1;
    return last->block = k->nblocks++;
}
