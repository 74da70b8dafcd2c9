// Shared memory (shared.h).
#include "core/shared.h"

#include <string.h>

#include "stream/trace.h"

void shared_spec_read(shared_spec *s, const orr_gpu *g) {
    *s = (shared_spec){.latency = whole_cycles(g->shared_latency),
                       .cost = orr_shared_spec_of(g),
                       .width = (uint32_t)g->lsu_width,
                       .empty_free = g->shared_empty_free};
}

void shared_reset(shared_memory *m) {
    *m = (shared_memory){.spec = m->spec, .launch = m->launch, .pipe = m->pipe};
}

// Words that are as far from each other as those of the pattern have as many conflicts, wherever the first
// is: of its address the place in a word counts alone.
static bool same_pattern(const bank_memo *memo, const orr_trace *trace) {
    const uint8_t *a = memo->bytes, *b = trace->at;
    size_t n = memo->n, at = memo->at, behind = at + 8;
    if (!n || memo->mask != trace->mask || n > (size_t)(trace->end - b) || a[0] != b[0]) return false;
    if (n < behind) return !memcmp(a, b, n);
    if (at > 1 && memcmp(a + 1, b + 1, at - 1)) return false;
    if ((a[at] ^ b[at]) & 3) return false;
    for (size_t i = behind; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

bool shared_passes(shared_memory *m, uint32_t inst, const orr_trace *trace, orr_access *a, bool decoded,
                   orr_banked *banked) {
    const orr_tinst *i = &m->launch->program->insts[inst];
    bank_memo *memo = &m->memo[inst];
    if (same_pattern(memo, trace)) {
        *banked = memo->banked;
        return true;
    }
    orr_trace t = *trace;
    *banked = (orr_banked){0, 0, 0};
    if (!decoded && !orr_trace_access(&t, a)) return false;
    *banked = orr_bank_conflicts(a, i->bytes, orr_shared_kind(&m->spec->cost, i));
    size_t n = (size_t)(t.at - trace->at);
    memo->n = 0;
    if (!decoded && n <= sizeof memo->bytes) {
        memo->n = (uint8_t)n;
        memo->at = *trace->at & ORR_TRACE_MASKED ? 5 : 1;
        memo->mask = trace->mask;
        memo->banked = *banked;
        memcpy(memo->bytes, trace->at, n);
    }
    return true;
}

// What a sub-core loads comes to it lsu.width bytes a cycle (H200: two, three and four LDS.128 of one warp,
// 4 passes each, are there 49.6, 57.2 and 65.9 cycles after the first was issued, one 40.5).
static uint64_t given_at(shared_memory *m, uint32_t sub, uint32_t passes, uint64_t ready) {
    uint32_t width = m->spec->width;
    uint64_t *last = &m->delivered[sub];
    if (!width) return ready;
    uint64_t next = *last ? *last + (passes * 128 + width - 1) / width : 0;
    return *last = latest(ready, next);
}

uint64_t shared_begin(shared_memory *m, shared_access *x, orr_banked b, uint64_t t) {
    const shared_spec *s = m->spec;
    const orr_tinst *i = x->i;
    data_pipe *pipe = m->pipe;
    int kind = l1_kind(i);
    m->n.requests[kind] += b.passes != 0;
    m->n.passes[kind] += b.passes;
    m->n.conflicts[kind] += b.conflicts;
    orr_shared_cost cost = orr_shared_cost_of(&s->cost, i, b);
    if (s->empty_free && !b.passes) cost.cycles = 0;
    m->n.busy += cost.cycles;
    pipe_begin_shared(pipe, t, cost.cycles);
    pipe_wait(pipe, x->warp_free);
    bool slow = s->cost.conflict && b.conflicts;
    if (slow) x->warp_free = pipe->start + pipe->delay + cost.cycles * s->cost.conflict;
    if (!x->answered) return slow ? latest(x->warp_free, pipe->free) : pipe->free;
    uint64_t ready = pipe->start + pipe->delay + cost.lag + s->latency;
    return kind == ORR_L1_LOAD ? given_at(m, x->sub, b.passes, ready) : ready;
}
