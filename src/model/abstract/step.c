// Kernels that are executed as they are timed (exec/step.h): a segment when its warp has come to it.
//
// What threads do to each other in memory they do then, so that a lock is taken, a flag is found and a poll
// fails at the times that this model has for them. Warps take their turns here a stretch of cycles at a time,
// and SMs a window: two accesses that are no further apart may come in the other order.
#include "model/abstract/abstract.h"

bool abt_step_wants(const orr_work *w) {
    const char *why;
    return w->launch && !w->sampler && orr_step_can(w->launch, ORR_STEP_AT_ISSUE, &why) &&
           orr_launch_observable(w->launch);
}

void abt_step_start(machine *m, const acore *s, ablock *b) {
    b->live = m->stepped.step ? orr_step_start(m->stepped.step, s->id, b->buf->index) : NULL;
}

void abt_step_end(ablock *b) {
    if (b->live) orr_step_end(b->live);
    b->live = NULL;
}

// The executor has let warps go that waited at a barrier: a warp has come to it, or ended, at t.
static void release(acore *s, const ablock *b, uint64_t t) {
    if (!orr_step_released(b->live)) return;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        uint32_t id = b->warp[n];
        if (id == NOBODY || !(s->queue.when[id] & WAITS) || s->queue.when[id] == NEVER) continue;
        s->queue.when[id] = latest(s->queue.when[id] & ~WAITS, t + b->bar_latency);
        s->queue.changed = true;
    }
}

int abt_step_pull(acore *s, awarp *w, uint64_t *t) {
    orr_trace_out *out = orr_step_trace(w->step.exec);
    out->n = 0;
    int next = orr_step_next(w->step.exec);
    bool goes = next == ORR_STEP_GOES;
    w->base = out->bytes;
    // Of code that was lowered accesses that came to nothing may be in front.
    bool machine = s->m->kernel->code.insts;
    w->trace.at = out->bytes + (machine ? 0 : goes ? orr_step_block_at(w->step.exec) : out->n);
    w->trace.end = out->bytes + out->n;
    *t += orr_step_sleeps(w->step.exec);
    release(s, &s->blocks.at[w->block], *t);
    if (next != ORR_STEP_WAITS) s->m->stepped.entered++;
    if (orr_step_faulted(s->blocks.at[w->block].live)) s->bad_trace = true;
    return next;
}

void abt_step_enter(awarp *w, const uint8_t *event) {
    w->step.executes = (size_t)(event - w->base) == orr_step_block_at(w->step.exec);
    w->step.naccess = 0;
}

// The kernel's instructions up to `inst` are executed at t; their accesses are in the trace then.
static void execute(acore *s, awarp *w, uint32_t inst, uint64_t t) {
    const orr_program *p = s->m->code->program;
    const orr_trace_out *out = orr_step_trace(w->step.exec);
    size_t at = (size_t)(w->trace.at - w->base);
    orr_step_issue(w->step.exec, inst, t);
    w->base = out->bytes;
    w->trace.at = out->bytes + at;
    w->trace.end = out->bytes + out->n;
    while (!s->m->code->in_order && w->trace.at < w->trace.end &&
           w->step.naccess < p->blocks[w->code - 1].naccess) {
        w->access[w->step.naccess++] = (uint32_t)(w->trace.at - w->base);
        if (!abt_access_skip(&w->trace)) s->bad_trace = true;
    }
}

// What an instruction of the code that is timed needs to have been executed: of machine code itself, of code
// that was lowered what accesses memory, waits at a barrier, reads the clock or sleeps.
static bool matters(const machine *m, const orr_tinst *i) {
    if (m->kernel->code.insts || i->access != ORR_NO_ACCESS || i->kind == ORR_TK_BARRIER) return true;
    uint16_t op = m->kernel->insts[i->inst].op;
    return op == ORR_OP_SREG || op == ORR_OP_NANOSLEEP;
}

uint64_t abt_step_reach(acore *s, awarp *w, const aseg *g, uint64_t t) {
    if (!w->step.executes || w->predicated_off || !w->code) return 0;
    const acode *code = s->m->code;
    const orr_tinst *i = code->program->insts;
    const orr_block *b = &code->program->kernel->blocks[w->code - 1];
    uint32_t end = b->first, need = 0;
    for (uint32_t n = g->head; n <= g->inst; n++) {
        if (matters(s->m, &i[n]) && i[n].inst >= end) end = i[n].inst + 1;
        if (i[n].access != ORR_NO_ACCESS && i[n].access >= need) need = i[n].access + 1u;
    }
    if (end > b->first) execute(s, w, end - 1, t);
    // Loads that became one wide one have the last's access.
    for (; !code->in_order && w->step.naccess < need && end < b->first + b->count; end++)
        execute(s, w, end, t);
    bool lacks = !code->in_order && w->step.naccess < need;
    release(s, &s->blocks.at[w->block], t);
    if (lacks || orr_step_faulted(s->blocks.at[w->block].live)) s->bad_trace = true;
    return orr_step_sleeps(w->step.exec);
}
