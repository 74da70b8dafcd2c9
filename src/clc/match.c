// Which block of a kernel's code is which segment of its source, after Stattelmann, Bringmann and
// Rosenstiel's matching by debug information and structure (the paper's [6]).
//
// Each instruction says the place that it comes from, so a block has votes for segments; accesses
// of memory and barriers, which compilers hardly move, count more. What compilers do with the rest is taken
// back by structure: a block cannot be of a segment that has more loops around it than the block has, as code
// that was moved out of a loop, or of a loop that was unrolled as a whole, would be. A loop that was unrolled
// in part has its body several times in a round, and a second loop that takes what is left.
#include "clc/annotate.h"

#include <stdlib.h>
#include <string.h>

// ---- loops of the code ------------------------------------------------------------------------------
typedef struct graph {
    const orr_kernel *k;
    uint32_t n;
    uint64_t *dominators; // [n][words]
    uint32_t words;
    uint8_t *entry;         // [n] a function begins there
    uint32_t *depth, *head; // [n] loops around a block; the innermost one's first block + 1, 0: none
} graph;

int orr_match_successors(const orr_kernel *k, uint32_t b, uint32_t out[2]) {
    const orr_block *x = &k->blocks[b];
    const orr_inst *last = x->count ? &k->insts[x->first + x->count - 1] : NULL;
    int n = 0;
    if (last && last->op == ORR_OP_BRA && last->target >= 0 && (uint32_t)last->target < k->nblocks)
        out[n++] = (uint32_t)last->target;
    if (x->next >= 0 && (uint32_t)x->next < k->nblocks && (!n || out[0] != (uint32_t)x->next))
        out[n++] = (uint32_t)x->next;
    return n;
}

static bool dominates(const graph *g, uint32_t a, uint32_t b) {
    return g->dominators[(size_t)b * g->words + a / 64] >> a % 64 & 1;
}

static void find_dominators(graph *g) {
    uint32_t s[2];
    uint64_t *meet = orr_calloc((size_t)g->n * g->words, sizeof *meet);
    memset(g->dominators, 0xff, (size_t)g->n * g->words * sizeof *g->dominators);
    for (uint32_t b = 0; b < g->n; b++) // a function's first block has none before it
        if (g->entry[b]) {
            memset(&g->dominators[(size_t)b * g->words], 0, g->words * sizeof *g->dominators);
            g->dominators[(size_t)b * g->words + b / 64] = (uint64_t)1 << b % 64;
        }
    for (bool changed = true; changed;) {
        changed = false;
        memset(meet, 0xff, (size_t)g->n * g->words * sizeof *meet);
        for (uint32_t b = 0; b < g->n; b++)
            for (int i = 0, n = orr_match_successors(g->k, b, s); i < n; i++)
                for (uint32_t w = 0; w < g->words; w++)
                    meet[(size_t)s[i] * g->words + w] &= g->dominators[(size_t)b * g->words + w];
        for (uint32_t b = 0; b < g->n; b++) {
            if (g->entry[b]) continue;
            uint64_t *own = &g->dominators[(size_t)b * g->words], *m = &meet[(size_t)b * g->words];
            m[b / 64] |= (uint64_t)1 << b % 64;
            changed |= memcmp(own, m, g->words * sizeof *own) != 0;
            memcpy(own, m, g->words * sizeof *own);
        }
    }
    free(meet);
}

// The blocks of the loop whose last block `from` goes back to `head`.
static void add_loop(graph *g, uint32_t head, uint32_t from, uint8_t *in) {
    uint32_t s[2];
    in[head] = in[from] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < g->n; b++) {
            if (in[b] || !dominates(g, head, b)) continue;
            for (int i = 0, n = orr_match_successors(g->k, b, s); i < n; i++)
                if (in[s[i]] && s[i] != head) in[b] = 1, changed = true;
        }
    }
}

static void find_loops(graph *g) {
    uint32_t s[2];
    uint8_t *in = orr_calloc(g->n + 1, 1);
    uint32_t *size = orr_calloc(g->n + 1, sizeof *size);
    for (uint32_t head = 0; head < g->n; head++) {
        bool any = false;
        memset(in, 0, g->n);
        for (uint32_t b = 0; b < g->n; b++)
            for (int i = 0, n = orr_match_successors(g->k, b, s); i < n; i++)
                if (s[i] == head && dominates(g, head, b)) {
                    add_loop(g, head, b, in);
                    any = true;
                }
        uint32_t blocks = 0;
        for (uint32_t b = 0; b < g->n; b++) blocks += in[b];
        for (uint32_t b = 0; b < g->n && any; b++) {
            if (!in[b]) continue;
            g->depth[b]++;
            if (!g->head[b] || blocks < size[b]) g->head[b] = head + 1, size[b] = blocks;
        }
    }
    free(in);
    free(size);
}

static void graph_of(graph *g, const orr_kernel *k) {
    enum { MOST = 4096 };
    *g = (graph){.k = k, .n = k->nblocks <= MOST ? k->nblocks : 0}; // 0: nothing is known of its loops
    g->entry = orr_calloc(k->nblocks + 1, 1);
    for (uint32_t f = 0; f < k->nfuncs; f++)
        if (k->funcs[f].entry < k->nblocks) g->entry[k->funcs[f].entry] = 1;
    g->words = g->n / 64 + 1;
    g->dominators = orr_calloc((size_t)g->n * g->words + 1, sizeof *g->dominators);
    g->depth = orr_calloc(k->nblocks + 1, sizeof *g->depth);
    g->head = orr_calloc(k->nblocks + 1, sizeof *g->head);
    find_dominators(g);
    find_loops(g);
}

static void graph_free(graph *g) {
    free(g->dominators);
    free(g->entry);
    free(g->depth);
    free(g->head);
}

// ---- votes ------------------------------------------------------------------------------------------
static bool anchored(const orr_inst *i) {
    return orr_inst_traced(i) || i->op == ORR_OP_BAR || i->op == ORR_OP_ATOM || i->op == ORR_OP_RED;
}

static int32_t segment_of(const orr_annotated *a, const orr_inst *i) {
    return orr_segment_at(a, i->source.line);
}

// A segment, or the nearest around it, with no more loops than the block has.
static int32_t within(const orr_annotated *a, int32_t s, uint32_t depth) {
    while (s >= 0 && a->segments[s].depth > depth) s = a->segments[s].parent;
    return s;
}

// The segment with the most votes, of those with the most loops around them.
static int32_t elect(const orr_annotated *a, const orr_kernel *k, uint32_t b, uint32_t depth, double *votes) {
    const orr_block *x = &k->blocks[b];
    int32_t best = -1;
    for (uint32_t i = x->first; i < x->first + x->count; i++) {
        int32_t s = within(a, segment_of(a, &k->insts[i]), depth);
        if (s >= 0) votes[s] += anchored(&k->insts[i]) ? 4 : a->segments[s].head ? 0.25 : 1;
    }
    for (uint32_t i = x->first; i < x->first + x->count; i++) {
        int32_t s = within(a, segment_of(a, &k->insts[i]), depth);
        if (s < 0) continue;
        bool deeper = best >= 0 && a->segments[s].depth > a->segments[best].depth;
        bool same = best >= 0 && a->segments[s].depth == a->segments[best].depth;
        if (best < 0 || deeper || (same && votes[s] > votes[best])) best = s;
    }
    for (uint32_t i = x->first; i < x->first + x->count; i++) {
        int32_t s = within(a, segment_of(a, &k->insts[i]), depth);
        if (s >= 0) votes[s] = 0;
    }
    return best;
}

// ---- copies -----------------------------------------------------------------------------------------
// How often a body is in the blocks of its group: the places of the source that it accesses memory at, and
// how many instructions there are for each; the least, as a place can have two of its own. Without accesses,
// by arithmetic.
static bool tells(const orr_inst *i, bool accesses) {
    return accesses
               ? orr_inst_traced(i)
               : i->op == ORR_OP_FMA || i->op == ORR_OP_MAD || i->op == ORR_OP_ADD || i->op == ORR_OP_MUL;
}

static double same_place(const orr_kernel *k, const orr_match *m, uint32_t group, const orr_inst *p) {
    double n = 0;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        if (m->group[b] != group) continue;
        const orr_block *x = &k->blocks[b];
        for (uint32_t i = x->first; i < x->first + x->count; i++) {
            const orr_inst *q = &k->insts[i];
            n += q->source.line == p->source.line && q->op == p->op && q->type == p->type;
        }
    }
    return n;
}

// What is added to a counter in a round of the loop, where the source has the loop's condition or step: a
// loop that was unrolled counts by as many as it has copies. 0: nothing says.
static double step_of(const orr_annotated *a, const orr_kernel *k, const uint32_t *loop_of, uint32_t loop,
                      int32_t s) {
    if (a->segments[s].loop < 0) return 0;
    const orr_source_loop *l = &a->loops[a->segments[s].loop];
    double most = 0;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        const orr_block *x = &k->blocks[b];
        for (uint32_t i = x->first; loop_of[b] == loop && i < x->first + x->count; i++) {
            const orr_inst *p = &k->insts[i];
            if (p->op != ORR_OP_ADD || p->ndst != 1 || p->guard >= 0 || orr_types[p->type].is_float) continue;
            const orr_operand *to = orr_dst(k, p, 0), *from = orr_src(k, p, 0), *by = orr_src(k, p, 1);
            if (by->kind != ORR_K_IMM || from->kind != ORR_K_REG || from->reg != to->reg ||
                from->cls != to->cls)
                continue;
            if (p->source.line <= l->from || p->source.line > l->to) continue;
            int64_t v = to->cls == ORR_D ? (int64_t)by->value : (int32_t)by->value;
            double n = v < 0 ? -(double)v : (double)v;
            if (n > most) most = n;
        }
    }
    return most;
}

static double copies_of(const orr_annotated *a, const orr_kernel *k, const orr_match *m, uint32_t group,
                        int32_t s) {
    double best = 0;
    for (int pass = 0; pass < 2 && best == 0; pass++)
        for (uint32_t b = 0; b < k->nblocks; b++) {
            if (m->group[b] != group) continue;
            const orr_block *x = &k->blocks[b];
            for (uint32_t i = x->first; i < x->first + x->count; i++) {
                const orr_inst *p = &k->insts[i];
                if (!tells(p, pass == 0) || segment_of(a, p) != s) continue;
                double n = same_place(k, m, group, p);
                if (best == 0 || n < best) best = n;
            }
        }
    return best >= 1 ? best : 1;
}

// Is a block outside of the loop a step of what an unrolled loop has left over: all of it the loop's body?
static bool is_step(const orr_annotated *a, const orr_kernel *k, uint32_t b, int32_t s) {
    const orr_block *x = &k->blocks[b];
    uint32_t body = 0, all = 0;
    for (uint32_t i = x->first; i < x->first + x->count; i++) {
        if (!orr_inst_traced(&k->insts[i])) continue;
        all++;
        body += segment_of(a, &k->insts[i]) == s;
    }
    return body && body == all;
}

// `times`: how often a segment's places are in one copy of it. `found`, NULL or the same as far as this code
// tells: a macro has many accesses at one place, but the loop's counter says how many of them are copies.
static void match(const orr_annotated *a, const orr_kernel *k, const double *times, double *found,
                  orr_match *m) {
    graph g;
    graph_of(&g, k);
    *m = (orr_match){
        orr_calloc(k->nblocks + 1, sizeof *m->segment), orr_calloc(k->nblocks + 1, sizeof *m->group),
        orr_calloc(k->nblocks + 1, sizeof *m->copies), orr_calloc(k->nblocks + 1, sizeof *m->step), NULL};
    double *votes = orr_calloc(a->nsegments + 1, sizeof *votes);
    uint8_t *looped = orr_calloc(a->nsegments + 1, 1); // segments that a loop of the code has
    for (uint32_t b = 0; b < k->nblocks; b++) {
        int32_t s = m->segment[b] = elect(a, k, b, g.depth[b], votes);
        m->group[b] = g.head[b]; // blocks of one loop and one segment; told apart by both
        if (s >= 0 && a->segments[s].depth && g.head[b]) looped[s] = 1;
    }
    for (uint32_t b = 0; b < k->nblocks; b++) {
        int32_t s = elect(a, k, b, UINT32_MAX, votes);
        if (s < 0 || s == m->segment[b] || !looped[s] || !is_step(a, k, b, s)) continue;
        m->segment[b] = s;
        m->step[b] = true;
    }
    // A number for each group: the segment and the loop, or the step itself.
    uint32_t *loop_of = orr_calloc(k->nblocks + 1, sizeof *loop_of), groups = 0;
    memcpy(loop_of, m->group, k->nblocks * sizeof *loop_of);
    for (uint32_t b = 0; b < k->nblocks; b++) {
        uint32_t c = 0;
        while (c < b &&
               (m->step[b] || m->step[c] || m->segment[c] != m->segment[b] || loop_of[c] != loop_of[b]))
            c++;
        m->group[b] = c < b ? m->group[c] : ++groups;
    }
    for (uint32_t b = 0; b < k->nblocks; b++) {
        int32_t s = m->segment[b];
        bool loops = s >= 0 && a->segments[s].depth && (m->step[b] || g.depth[b] >= a->segments[s].depth);
        m->copies[b] = loops ? copies_of(a, k, m, m->group[b], s) : 1;
        if (!loops || m->copies[b] < 2) continue;
        double step = found && !m->step[b] ? step_of(a, k, loop_of, loop_of[b], s) : 0;
        double n = step > 0 ? m->copies[b] / step : 1;
        if (found && n == (double)(uint32_t)n && n > found[s]) found[s] = n;
        if (times[s] > 1) m->copies[b] = m->copies[b] > times[s] ? m->copies[b] / times[s] : 1;
    }
    free(loop_of);
    free(looped);
    free(votes);
    graph_free(&g);
}

void orr_match_blocks(const orr_annotated *a, const orr_kernel *plain, const orr_kernel *k, orr_match *m) {
    double *once = orr_calloc(a->nsegments + 1, sizeof *once),
           *times = orr_calloc(a->nsegments + 1, sizeof *times);
    match(a, plain, once, times, m);
    orr_match_free(m);
    match(a, k, times, NULL, m);
    free(once);
    free(times);
}

void orr_match_free(orr_match *m) {
    free(m->segment);
    free(m->group);
    free(m->copies);
    free(m->step);
    *m = (orr_match){0};
}

// ---- runs -------------------------------------------------------------------------------------------
// The rounds of a body, each time its loop is entered, over the groups that have it: those with the most
// copies first, a loop as often as it fits, a step once; what is left to the last.
static double share(const orr_annotated *a, const orr_kernel *k, const orr_match *m, uint32_t b,
                    double each) {
    (void)a;
    double left = each;
    for (;;) {
        uint32_t next = UINT32_MAX; // the group with the most copies of those that have not had their share
        for (uint32_t c = 0; c < k->nblocks; c++) {
            if (m->segment[c] != m->segment[b] || (next != UINT32_MAX && m->copies[c] <= m->copies[next]))
                continue;
            if (!m->done[m->group[c]]) next = c;
        }
        if (next == UINT32_MAX) return 0;
        bool last = true;
        m->done[m->group[next]] = 1;
        for (uint32_t c = 0; c < k->nblocks; c++)
            last &= m->segment[c] != m->segment[b] || m->done[m->group[c]];
        double rounds = left / m->copies[next];
        if (!last) rounds = (double)(uint64_t)(rounds + 1e-6);
        if (m->step[next] && rounds > 1) rounds = 1;
        left -= rounds * m->copies[next];
        if (m->group[next] == m->group[b]) return rounds;
    }
}

static void inherit(const orr_kernel *k, double *runs) {
    uint32_t out[2];
    for (uint32_t b = 0; b < k->nblocks; b++) {
        if (runs[b] >= 0) continue;
        double most = -1;
        for (uint32_t p = 0; p < k->nblocks; p++)
            for (int i = 0, n = orr_match_successors(k, p, out); i < n; i++)
                if (out[i] == b && runs[p] > most) most = runs[p];
        runs[b] = most;
    }
}

void orr_match_runs(const orr_annotated *a, const orr_kernel *k, orr_match *m, const double *segments,
                    double *runs) {
    m->done = orr_calloc(k->nblocks + 2, 1);
    for (uint32_t b = 0; b < k->nblocks; b++) {
        int32_t s = m->segment[b];
        runs[b] = s >= 0 ? segments[s] : -1; // not known yet
        int32_t loop = s >= 0 ? a->segments[s].loop : -1;
        double entered = loop >= 0 ? segments[a->loops[loop].before] : 0;
        if (!(entered > 0) || a->segments[s].head) continue;
        memset(m->done, 0, k->nblocks + 2);
        runs[b] = share(a, k, m, b, segments[s] / entered) * entered;
    }
    free(m->done);
    m->done = NULL;
    // A block that says nothing of its source runs as often as what leads to it.
    for (int round = 0; round < 8; round++) inherit(k, runs);
    for (uint32_t b = 0; b < k->nblocks; b++)
        if (runs[b] < 0) runs[b] = 0;
}
