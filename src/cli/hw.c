// orrery hw run and hw micro: launch scripts on the GPU of this machine (api/measure.c, api/micro.c). --log
// of hw run has every launch of every round, which `hw profile` joins with what the profiler saw.
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

// The inputs that were named, and with --all every bundled workload behind them.
static const char **inputs_of(const cli_options *o, orr_arena *a, int *n) {
    int bundled = 0, given = o->ninputs - 1;
    const char *const *names = o->all ? orr_list_workloads(a, &bundled) : NULL;
    const char **all = orr_arena_alloc(a, (size_t)(given + bundled + 1) * sizeof *all);
    for (int k = 0; k < given + bundled; k++) all[k] = k < given ? o->inputs[k + 1] : names[k - given];
    *n = given + bundled;
    return all;
}

static int run(cli_options *o, orr_err *e) {
    orr_arena a = {0};
    int n = 0;
    const char *const *inputs = inputs_of(o, &a, &n);
    if (o->job->sampling.warm || o->metrics)
        orr_fail(e, ORR_BAD_INPUT, "hw run: --warm and --metrics are for `orrery hw profile`");
    else if (!n)
        orr_fail(e, ORR_BAD_INPUT,
                 "hw run: an INPUT is needed: a bundled workload's name, a launch script, or --all");
    bool only_all = o->all && o->ninputs == 1;
    orr_report *r = orr_measure(inputs, only_all ? 0 : n, o->job, e);
    orr_err failed = {0}; // of a script: the table has it, and for one script it is told at the end
    if (r) {
        failed = *e;
        *e = (orr_err){0};
        if (cli_write_form(o->out.log, r, ORR_LOG, e))
            cli_write(o, orr_report_as(r, o->out.json ? ORR_JSON : ORR_TEXT), e);
        if (!e->status && n == 1) *e = failed;
    }
    orr_report_free(r);
    orr_arena_free(&a);
    return e->status ? e->status : failed.status;
}

// Scripts that failed have been named by notes; the exit status is then that of the failure.
static int micro(cli_options *o, orr_err *e) {
    if (o->out.json || o->out.log || o->job->sampling.warm || o->metrics || o->all)
        orr_fail(e, ORR_BAD_INPUT, "hw micro: --json, --log, --warm, --metrics and --all are not for it");
    orr_report *r = orr_micro((const char *const *)o->inputs + 1, o->ninputs - 1, o->job, e);
    int status = e->status;
    if (r) {
        *e = (orr_err){0};
        cli_write(o, orr_report_as(r, ORR_CSV), e);
    }
    orr_report_free(r);
    return e->status ? e->status : status;
}

int cli_hw(cli_options *o, orr_err *e) {
    const char *verb = o->ninputs ? o->inputs[0] : "";
    if (!strcmp(verb, "profile")) return cli_profile(o, e);
    cli_stops_gently();
    if (!strcmp(verb, "micro")) return micro(o, e);
    if (!strcmp(verb, "run")) return run(o, e);
    orr_fail(e, ORR_BAD_INPUT,
             "hw: it should be `orrery hw run INPUT...`, `orrery hw profile INPUT...` or `orrery hw micro`");
    return e->status;
}
