// Shared memory (shared.h).
#include "core/shared.h"

#include <string.h>

void shared_spec_read(shared_spec *s, const orr_gpu *g) {
    *s = (shared_spec){.latency = whole_cycles(g->shared_latency),
                       .pass_cycles = orr_shared_pass_cycles(g),
                       .swap = (uint32_t)g->shared_swap,
                       .swap_wide = (uint32_t)g->shared_swap_wide,
                       .atomic = (uint32_t)g->shared_atomic,
                       .pass = (uint32_t)g->lsu_pass,
                       .wide = (uint32_t)g->lsu_wide,
                       .width = (uint32_t)g->lsu_width};
}

void shared_reset(shared_memory *m) {
    *m = (shared_memory){.spec = m->spec, .launch = m->launch, .pipe = m->pipe};
}

static int banks_kind(const shared_memory *m, const orr_tinst *i) {
    int kind = l1_kind(i);
    if (kind == ORR_L1_ATOMIC && m->spec->swap > 1 && i->atomic == ORR_ATOMIC_SWAP_TEST)
        return ORR_BANKS_STORE;
    if (i->flags & ORR_TF_COUNTS) return ORR_BANKS_LOAD;
    return kind == ORR_L1_ATOMIC ? ORR_BANKS_ATOMIC : kind == ORR_L1_STORE ? ORR_BANKS_STORE : ORR_BANKS_LOAD;
}

bool shared_passes(shared_memory *m, uint32_t inst, const orr_trace *trace, orr_access *a, bool decoded,
                   orr_banked *banked) {
    const orr_tinst *i = &m->launch->program->insts[inst];
    bank_memo *memo = &m->memo[inst];
    size_t left = (size_t)(trace->end - trace->at);
    if (memo->n && memo->mask == trace->mask && memo->n <= left && !memcmp(memo->bytes, trace->at, memo->n)) {
        *banked = memo->banked;
        return true;
    }
    orr_trace t = *trace;
    *banked = (orr_banked){0, 0, 0};
    if (!decoded && !orr_trace_access(&t, a)) return false;
    *banked = orr_bank_conflicts(a, i->bytes, banks_kind(m, i));
    size_t n = (size_t)(t.at - trace->at);
    memo->n = 0;
    if (!decoded && n <= sizeof memo->bytes) {
        memo->n = (uint8_t)n;
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
    uint64_t *last = &m->given[sub];
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
    bool swap = kind == ORR_L1_ATOMIC && s->swap > 1 && orr_atomic_swaps(i->atomic);
    uint32_t times = swap ? s->swap : 1, each = s->pass_cycles * times;
    uint32_t cycles = (b.passes ? b.passes : 1) * each;
    m->n.busy += cycles;
    pipe_begin_shared(pipe, t, cycles);
    pipe_wait(pipe, x->warp_free);
    bool slow = s->pass && b.conflicts;
    if (slow) x->warp_free = pipe->start + pipe->delay + cycles * s->pass;
    x->stored = slow ? latest(x->warp_free, pipe->free) : pipe->free;
    if (!(i->flags & ORR_TF_LOAD)) return x->stored;
    if (kind == ORR_L1_ATOMIC) cycles += s->atomic * times;
    uint32_t lag = cycles - each;
    if (swap && i->bytes == 8) lag += s->swap_wide;
    if (slow) lag += b.conflicts * (s->pass - 1) * times;
    if (kind == ORR_L1_LOAD && b.passes > b.conflicts) lag += (b.passes - b.conflicts - 1) * s->wide;
    uint64_t ready = pipe->start + pipe->delay + lag + s->latency;
    return kind == ORR_L1_LOAD ? given_at(m, x->sub, b.passes, ready) : ready;
}
