// Kernels that are executed as they are timed (exec/step.h): a block of code when its warp enters it.
//
// What threads do to each other in memory they do then, so that a lock is taken, a flag is found and a poll
// fails at the times that this model has for them. Warps take their turns here a stretch of cycles at a time,
// and SMs a window: two accesses that are no further apart may come in the other order.
#include "model/abstract/abstract.h"

#define AGAIN 32 // cycles until a warp that waits for its executor is looked at again

bool abt_step_wants(const machine *m, const orr_work *w) {
    const char *why;
    return w->launch && !w->sampler && !m->perfect && orr_step_can(w->launch, ORR_STEP_AT_ISSUE, &why) &&
           orr_launch_observable(w->launch);
}

void abt_step_start(machine *m, const acore *s, ablock *b) {
    b->live = m->stepped.step ? orr_step_start(m->stepped.step, s->id, b->buf->index) : NULL;
}

void abt_step_end(ablock *b) {
    if (b->live) orr_step_end(b->live);
    b->live = NULL;
}

int abt_step_pull(acore *s, awarp *w, uint64_t *t) {
    orr_trace_out *out = orr_step_trace(w->exec);
    out->n = 0;
    int next = orr_step_run(w->exec, *t);
    w->trace.at = w->base = out->bytes;
    w->trace.end = out->bytes + out->n;
    *t += next == ORR_STEP_WAITS ? AGAIN : orr_step_sleeps(w->exec);
    if (next != ORR_STEP_WAITS) s->m->stepped.entered++;
    if (orr_step_faulted(s->blocks.at[w->block].live)) s->damaged = true;
    return next;
}
