// orrery app: an unmodified CUDA program on a simulated GPU. The command becomes the program, so that what it
// prints and its exit status are its own; the report comes when it ends (api/app.c).
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --sample: the launches are recorded, and looked at when the program has ended. The report is not the
// program's output: as text it goes to standard error.
static int sampled(cli_options *o, orr_err *e) {
    int status = 0;
    orr_report *r = orr_app_run(o->rest, o->job, &status, e);
    bool terminal = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    if (r && (o->out.file || o->out.json))
        cli_write(o, orr_report_as(r, o->out.json ? ORR_JSON : ORR_TEXT), e);
    else if (r && !o->out.quiet)
        fputs(orr_report_as(r, terminal ? ORR_TERMINAL : ORR_TEXT), stderr);
    orr_report_free(r);
    return e->status ? e->status : status;
}

int cli_app(cli_options *o, orr_err *e) {
    if (!o->nrest) {
        orr_fail(e, ORR_BAD_INPUT, "app: name a PROGRAM and its arguments, as in orrery app ./vectorAdd");
        return e->status;
    }
    if (o->job->sampling.on) return sampled(o, e);
    if (o->out.file) orr_options_set(o->job, "output", o->out.file, e);
    if (o->out.json) orr_options_set(o->job, "format", "json", e);
    if (o->out.quiet) orr_options_set(o->job, "quiet", "yes", e);
    char **env = orr_app_environment(o->rest[0], o->job, e);
    if (!env) return e->status;
    fflush(NULL);
    execvpe(o->rest[0], o->rest, env); // returns only when it cannot
    orr_fail(e, ORR_BAD_INPUT, "%s: %s", o->rest[0], strerror(errno));
    orr_free(env);
    return e->status;
}
