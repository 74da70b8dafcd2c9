// orrery app, orrery cl: an unmodified CUDA or OpenCL program on a simulated GPU. What it prints and its exit
// status are its own; the report comes when it ends (api/app.c).
#include "clc/annotate.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// JSON alone on standard output: what the program prints goes to standard error then.
static int program_to_stderr(void) {
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return kept;
}

static void stdout_again(int kept) {
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
}

// The report is not the program's output: as text it goes to standard error. The exit status is the
// program's, also when it asked nothing of the GPU, which is said.
typedef orr_report *runner(char *const *argv, const orr_options *o, int *status, orr_err *e);
static int start(cli_options *o, const char *command, const char *example, runner *run, orr_err *e) {
    if (!o->nrest) {
        orr_fail(e, ORR_BAD_INPUT, "%s: name a PROGRAM and its arguments, as in orrery %s %s", command,
                 command, example);
        return e->status;
    }
    if (!orr_check_writable(o->out.file, e) || !orr_check_writable(o->out.html, e)) return e->status;
    if (o->out.quiet) orr_options_set(o->job, "quiet", "yes", e);
    bool alone = o->out.json && !o->out.file;
    int status = 0, kept = alone ? program_to_stderr() : -1;
    orr_report *r = run(o->rest, o->job, &status, e);
    if (alone) stdout_again(kept);
    if (r) cli_write_form(o->out.html, r, ORR_HTML, e);
    const char *shown = isatty(STDERR_FILENO) && !getenv("NO_COLOR") ? orr_report_as(r, ORR_TERMINAL) : NULL;
    if (!shown && r) shown = orr_report_as(r, ORR_TEXT);
    if (r && (o->out.file || o->out.json))
        cli_write(o, orr_report_as(r, o->out.json ? ORR_JSON : ORR_TEXT), e);
    else if (r && !o->out.quiet)
        fputs(shown ? shown : "", stderr);
    orr_report_free(r);
    if (e->status == ORR_PROGRAM_FAILED) {
        fprintf(stderr, "orrery: %s\n", e->text);
        *e = (orr_err){0};
    }
    return e->status ? e->status : status;
}

int cli_app(cli_options *o, orr_err *e) { return start(o, "app", "./vectorAdd", orr_app_run, e); }
int cli_cluster(cli_options *o, orr_err *e) { return start(o, "cluster", "-n 16 ./jacobi", orr_mpi_run, e); }

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
    if (!e->status && orr_clc_annotate(&(orr_clc_source){.path = input, .options = build}, &a, &why)) {
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
    return start(o, "cl", "./vector_add", orr_app_run, e);
}
