// orrery gpu: list the descriptions, show one, list the keys there are, compute occupancy, import one from
// GPGPU-Sim.
#include "cli/cli.h"

#include <string.h>

// A description that cannot be read is reported, the others are listed all the same.
static int list(const cli_options *o, orr_err *e) {
    orr_report *r = orr_gpus(o->job, e);
    if (!o->out.names) return cli_say(o, r, e);
    for (int64_t k = 0, n = orr_report_count(r, ""); k < n; k++) {
        char place[40];
        snprintf(place, sizeof place, "/%lld/name", (long long)k);
        puts(orr_report_string(r, place));
    }
    orr_report_free(r);
    return e->status;
}

static void say_line(void *arg, const char *line) {
    (void)arg;
    fprintf(stderr, "%s\n", line);
}

// gpgpusim.config [trace.config] as a description, to -o FILE or stdout; what could not be used to stderr.
static int import(cli_options *o, orr_err *e) {
    if (o->ninputs < 2 || o->ninputs > 3)
        return orr_fail(e, ORR_BAD_INPUT, "gpu import: expected gpgpusim.config [trace.config] -o OUT.conf"),
               e->status;
    const char *const out[] = {o->out.file};
    if (!cli_check_outputs("gpu", out, 1, o->inputs + 1, o->ninputs - 1, e)) return e->status;
    if (!o->out.quiet) orr_options_notes(o->job, say_line, NULL);
    o->out.json = false;
    return cli_say(o, orr_gpu_import(o->inputs[1], o->ninputs == 3 ? o->inputs[2] : NULL, o->job, e), e);
}

int cli_gpu(cli_options *o, orr_err *e) {
    const char *verb = o->ninputs ? o->inputs[0] : "";
    if (strcmp(verb, "import") == 0) return import(o, e);
    if (o->out.file) return orr_fail(e, ORR_BAD_INPUT, "gpu %.40s: -o is for `gpu import`", verb), e->status;
    bool one = strcmp(verb, "show") == 0 || strcmp(verb, "occupancy") == 0;
    bool all = strcmp(verb, "list") == 0 || strcmp(verb, "keys") == 0;
    if (!one && !all)
        return orr_fail(e, ORR_BAD_INPUT,
                        "gpu: expected list, keys, show NAME, occupancy NAME or import CONFIG%s%.40s",
                        *verb ? ", not " : "", verb),
               e->status;
    if (one && o->ninputs != 2)
        return orr_fail(e, ORR_BAD_INPUT, "gpu %s: expected one NAME, as in `orrery gpu %s h200`", verb,
                        verb),
               e->status;
    if (all && o->ninputs != 1) return orr_fail(e, ORR_BAD_INPUT, "gpu %s takes no name", verb), e->status;
    if (strcmp(verb, "list") == 0) return list(o, e);
    if (strcmp(verb, "keys") == 0) return cli_say(o, orr_gpu_keys(e), e);
    if (strcmp(verb, "show") == 0)
        return cli_say(o, (o->out.evidence ? orr_gpu_evidence : orr_gpu_describe)(o->inputs[1], o->job, e),
                       e);
    return cli_say(o, orr_gpu_occupancy(o->inputs[1], o->job, e), e);
}
