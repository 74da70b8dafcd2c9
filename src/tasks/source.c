// The streams of a task list's kernel, made up block by block.
//
// Each access has a range of addresses of its own. Without a reuse distance, every time any warp does it, it
// goes to new data: rows of 32 threads, one after the other, as blocks, warps and rounds count. With one, the
// rows go round in a ring of so many bytes, so that a row comes again when all others have been touched: a
// cache of that size has it, a smaller one does not.
#include "tasks/list.h"

#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "stream/trace.h"

#define RANGE 36 // bits of an access's own addresses

typedef struct maker {
    orr_source base;
    const task_kernel *k;
    uint64_t next, total;
    uint32_t nwarps;
    orr_trace_out *out;
    orr_warp_trace *views;
    uint64_t *done;                       // by access: times in this warp
    uint64_t last, last_row, last_stride; // where this warp loaded last from global memory
    uint64_t left[MAX_DEPTH + 1];
} maker;

// Where an access goes of which some find their data in L1 or in L2. Which are in L1 goes round in 100 steps,
// so that any few of them in turn have their share. Of the others, as many as are to be in L2 go where a warp
// further ahead in the grid goes in the same turn: the warps have fewer rows than they are, and take them in
// turn. So who is first at a row finds it in memory, as in a kernel, and who comes at the same time waits
// with it.
static bool finds_l1(const task_mem *a, uint64_t number) { return number * 61 % 100 < a->l1; }
static uint64_t owner(const maker *m, const task_mem *a, uint64_t who) {
    uint64_t all = a->together ? m->total : m->total * m->nwarps, rest = 100u - a->l1;
    uint64_t rows = (all * (rest - a->l2) + rest / 2) / (rest ? rest : 1), least = (all + 31) / 32;
    return who % (rows > least ? rows : least); // many warps at one place would hold each other up
}

// What finds its data in L1 goes where its warp loaded last, if that was as wide; else all go to one place.
static uint64_t in_l1(const maker *m, const task_mem *a, uint64_t row) {
    bool dense = m->last_stride <= 32 && a->stride <= 32;
    if (m->last && row <= m->last_row && (dense || m->last_stride == a->stride)) return m->last;
    return ORR_GLOBAL_BASE + ((uint64_t)m->k->mems.n << RANGE);
}

static void put_access(maker *m, uint32_t which, uint64_t warp, uint32_t mask) {
    const task_mem *a = &m->k->mems.at[which];
    if (a->lanes < 32) mask &= (1u << a->lanes) - 1;
    uint8_t space = m->k->kernel.insts[a->inst].space;
    uint64_t row = a->stride * 32, at = 0, turn = m->done[which]++;
    uint64_t who = a->everywhere ? 0 : a->together ? warp / m->nwarps : warp;
    if (row < a->bytes) row = a->bytes; // all threads at one place
    if (space == ORR_SPACE_GLOBAL) {
        at = (who * a->runs + turn) * row;
        if (a->reuse) at %= (a->reuse + row - 1) / row * row;
        if (a->l2) at = (owner(m, a, who) * a->runs + turn) * row;
        // ranges begin at different places of rows and channels
        at = (at + which * 40503ull * 256) % (1ull << RANGE);
        at = ORR_GLOBAL_BASE + ((uint64_t)which << RANGE) + (at & ((1ull << RANGE) - 1)) / 128 * 128 +
             at % 128;
        bool known = a->store && !a->l1 && a->l2 == 100; // it was loaded before
        if (known || ((a->l1 || a->l2) && finds_l1(a, who * a->runs + turn))) {
            at = in_l1(m, a, row);
        } else if (a->load) {
            m->last = at;
            m->last_row = row;
            m->last_stride = a->stride;
        }
    }
    orr_trace_put_regular(&m->out[warp % m->nwarps], mask, at, a->stride);
}

static void make_warp(maker *m, uint64_t warp) {
    const task_kernel *k = m->k;
    uint32_t threads = k->threads - (uint32_t)(warp % m->nwarps) * 32;
    uint32_t mask = threads >= 32 ? 0xffffffffu : (1u << threads) - 1;
    orr_trace_out *out = &m->out[warp % m->nwarps];
    out->n = 0;
    out->mask = 0;
    memset(m->done, 0, (k->mems.n + 1) * sizeof *m->done);
    m->last = 0;
    int depth = 0;
    for (uint32_t i = 0; i < k->items.n; i++) {
        const task_item *t = &k->items.at[i];
        if (t->kind == ITEM_SOME && warp * 61 % 100 < t->times) {
            m->left[depth++] = 1;
        } else if (t->kind == ITEM_SOME) {
            i = t->match;
        } else if (t->kind == ITEM_LOOP) {
            uint64_t who = t->blocks ? warp / m->nwarps : warp;
            m->left[depth++] = t->times + (t->most > t->times ? who * 40503 % (t->most - t->times + 1) : 0);
        } else if (t->kind == ITEM_END) {
            if (--m->left[depth - 1])
                i = t->match;
            else
                depth--;
        } else {
            orr_trace_put_block(out, t->block, mask);
            for (uint32_t a = 0; a < t->n; a++) put_access(m, t->first + a, warp, mask);
        }
    }
}

static int maker_next(orr_source *base, orr_tb *tb, orr_err *e) {
    maker *m = (maker *)base;
    (void)e;
    if (m->next >= m->total) return 0;
    for (uint32_t w = 0; w < m->nwarps; w++) {
        make_warp(m, m->next * m->nwarps + w);
        m->views[w] = (orr_warp_trace){m->out[w].bytes, m->out[w].n};
    }
    *tb = (orr_tb){.index = m->next++, .nwarps = m->nwarps, .warps = m->views};
    return 1;
}

static void maker_seek(orr_source *base, uint64_t index) { ((maker *)base)->next = index; }

static void maker_close(orr_source *base) {
    maker *m = (maker *)base;
    for (uint32_t w = 0; w < m->nwarps; w++) free(m->out[w].bytes);
    free(m->out);
    free(m->views);
    free(m->done);
    free(m);
}

static const task_kernel *kernel_of(const orr_tasks *t, const orr_task_step *s) {
    for (size_t i = 0; i < t->kernels.n; i++)
        if (&t->kernels.at[i]->kernel == s->launch.kernel) return t->kernels.at[i];
    return NULL;
}

orr_source *orr_tasks_source(const orr_tasks *t, const orr_task_step *s) {
    maker *m = orr_calloc(1, sizeof *m);
    m->k = kernel_of(t, s);
    m->total = (uint64_t)s->launch.grid[0] * s->launch.grid[1] * s->launch.grid[2];
    m->nwarps = (m->k->threads + 31) / 32;
    m->out = orr_calloc(m->nwarps, sizeof *m->out);
    m->views = orr_calloc(m->nwarps, sizeof *m->views);
    m->done = orr_calloc(m->k->mems.n + 1, sizeof *m->done);
    m->base = (orr_source){.info = s->launch, .next = maker_next, .seek = maker_seek, .close = maker_close};
    return &m->base;
}

bool orr_tasks_length(const orr_tasks *t, const orr_task_step *s, uint64_t *tasks) {
    const task_kernel *k = kernel_of(t, s);
    if (k) *tasks = k->run;
    return k != NULL;
}

bool orr_tasks_far(const orr_tasks *t, const orr_task_step *s, uint64_t l2_bytes, uint64_t sms, float *far) {
    const task_kernel *k = kernel_of(t, s);
    bool reuse = false, shown = false;
    for (uint32_t i = 0; i < k->kernel.ninsts; i++) far[i] = 1;
    for (size_t i = 0; i < k->mems.n; i++) {
        const task_mem *a = &k->mems.at[i];
        bool fits = a->reuse && a->reuse <= l2_bytes / (a->common ? 1 : sms ? sms : 1);
        far[a->inst] = fits ? 0 : 1;
        reuse = reuse || a->reuse;
        if (!a->l1 && !a->l2 && !a->together && !a->everywhere) continue;
        far[a->inst] = -1; // what is shared, or is said in percent, has addresses that show it
        shown = true;
    }
    return reuse || !shown;
}

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

uint64_t orr_tasks_digest(const orr_tasks *t, const orr_task_step *s) {
    const task_kernel *k = kernel_of(t, s);
    const orr_kernel *o = &k->kernel;
    uint64_t h = mix(1, k->threads);
    for (const char *c = o->name; *c; c++) h = mix(h, (uint8_t)*c);
    h = mix(mix(h, o->regs), o->shared_bytes);
    for (int d = 0; d < 3; d++) h = mix(h, s->launch.grid[d]);
    for (size_t i = 0; i < k->mems.n; i++) {
        const task_mem *m = &k->mems.at[i];
        h = mix(mix(mix(mix(h, m->bytes), m->stride), m->reuse), m->runs * 2 + m->common);
        h = mix(h, m->l1 * 256u + m->l2 * 2u + m->together + m->everywhere * 65536u + m->lanes * 131072u);
    }
    for (size_t i = 0; i < k->items.n; i++)
        h = mix(mix(h, (uint64_t)k->items.at[i].kind),
                k->items.at[i].times * 3 + k->items.at[i].most + k->items.at[i].blocks);
    for (uint32_t i = 0; i < o->ninsts; i++) {
        for (const char *c = o->names[o->insts[i].name]; *c; c++) h = mix(h, (uint8_t)*c);
        h = mix(h, o->insts[i].ndst * 8u + o->insts[i].nsrc + o->insts[i].encoding.ctrl * 64u);
    }
    for (uint32_t i = 0; i < o->noperands; i++) h = mix(h, o->operands[i].reg);
    return h;
}
