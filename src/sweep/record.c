// An input's launches and copies onto a tape.
#include "input/input.h"
#include "sweep/sweep.h"

typedef struct recorder {
    orr_tape *tape;
    const orr_input *in;
} recorder;

static bool record(void *arg, orr_work *w, orr_err *e) {
    recorder *r = arg;
    if (r->in->step) return orr_tape_tasks(r->tape, r->in->tasks, r->in->step, e);
    return w->launch ? orr_tape_launch(r->tape, w->launch, w->threads, w->progress, e)
                     : orr_tape_source(r->tape, w->source, w->progress, e);
}

static bool record_copy(void *arg, uint64_t addr, uint64_t bytes, orr_err *e) {
    const recorder *r = arg;
    (void)e;
    orr_tape_copy(r->tape, addr, bytes);
    return true;
}

bool orr_tape_input(orr_tape *t, orr_input *in, orr_err *e) {
    recorder r = {t, in};
    in->work = record;
    in->copy = record_copy;
    in->arg = &r;
    bool ok = orr_input_run(in, e);
    in->arg = NULL;
    if (ok && !in->seen) return orr_fail(e, ORR_BAD_INPUT, "%s: launches nothing", in->name);
    return ok;
}
