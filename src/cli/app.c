// orrery app, orrery cl: an unmodified CUDA or OpenCL program on a simulated GPU. The command becomes the
// program, so that what it prints and its exit status are its own; the report comes when it ends (api/app.c).
#include "clc/annotate.h"
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

// The program takes the place of this process.
static int start(cli_options *o, char **env, orr_err *e) {
    if (!env) return e->status;
    fflush(NULL);
    execvpe(o->rest[0], o->rest, env); // returns only when it cannot
    orr_fail(e, ORR_BAD_INPUT, "%s: %s", o->rest[0], strerror(errno));
    orr_free(env);
    return e->status;
}

static int become(cli_options *o, const char *command, const char *example, orr_err *e) {
    if (!o->nrest) {
        orr_fail(e, ORR_BAD_INPUT, "%s: name a PROGRAM and its arguments, as in orrery %s %s", command,
                 command, example);
        return e->status;
    }
    if (o->job->sampling.on) return sampled(o, e);
    if (o->out.file) orr_options_set(o->job, "output", o->out.file, e);
    if (o->out.json) orr_options_set(o->job, "format", "json", e);
    if (o->out.quiet) orr_options_set(o->job, "quiet", "yes", e);
    return start(o, orr_app_environment(o->rest[0], o->job, e), e);
}

int cli_app(cli_options *o, orr_err *e) { return become(o, "app", "./vectorAdd", e); }

int cli_capture(cli_options *o, orr_err *e) {
    if (!o->nrest)
        orr_fail(e, ORR_BAD_INPUT,
                 "capture: name a PROGRAM and its arguments, as in orrery capture -o DIR ./vectorAdd");
    if (o->out.file) orr_options_set(o->job, "output", o->out.file, e);
    return e->status ? e->status : start(o, orr_capture_environment(o->rest[0], o->job, e), e);
}

// orrery cl annotate k.cl [--build OPTIONS] -o FILE: what follows the word is not a program's.
static int annotate(cli_options *o, orr_err *e) {
    const char *input = NULL, *build = NULL;
    for (int i = 1; i < o->nrest && !e->status; i++) {
        const char *w = o->rest[i];
        const char **value = !strcmp(w, "-o") || !strcmp(w, "--output") ? &o->out.file
                             : !strcmp(w, "--build")                    ? &build
                                                                        : NULL;
        if (value && i + 1 < o->nrest)
            *value = o->rest[++i];
        else if (!value && *w != '-' && !input)
            input = w;
        else
            orr_fail(e, ORR_BAD_INPUT,
                     "cl annotate: it takes FILE.cl, -o FILE and --build OPTIONS, not \"%.60s\"", w);
    }
    if (!e->status && !input)
        orr_fail(e, ORR_BAD_INPUT, "cl annotate: name a file: orrery cl annotate k.cl -o k.annotated.cl");
    orr_annotated a;
    orr_err why = {0};
    if (!e->status && orr_clc_annotate(input, NULL, 0, build, 0, &a, &why)) {
        cli_write(o, a.text, e);
        orr_annotated_free(&a);
    } else if (why.status) {
        bool bare = !strncmp(why.text, "line ", 5);
        orr_fail(e, why.status, "%s%s%s", bare ? input : "", bare ? ": " : "", why.text);
    }
    return e->status;
}

int cli_cl(cli_options *o, orr_err *e) {
    if (o->nrest && !strcmp(o->rest[0], "annotate")) return annotate(o, e);
    if (!orr_options_set(o->job, "opencl", "yes", e)) return e->status;
    return become(o, "cl", "./vector_add", e);
}
