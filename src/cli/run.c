// orrery run, record, info and list: a line to the library each, and what they print.
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- results ------------------------------------------------------------------------------------
bool cli_write(const cli_options *o, const char *text, orr_err *e) {
    if (!text) return false;
    if (o->out.file) return orr_write_file(o->out.file, text, strlen(text), e);
    fputs(text, stdout); // main() checks that it got out
    return true;
}

// A report that comes with an error, because some of many inputs failed, is written all the same; what cannot
// be written is told instead.
int cli_say(const cli_options *o, orr_report *r, orr_err *e) {
    orr_err failed = {0};
    if (r && !cli_write(o, orr_report_as(r, o->out.json ? ORR_JSON : ORR_TEXT), &failed)) *e = failed;
    orr_report_free(r);
    return e->status;
}

bool cli_write_form(const char *path, orr_report *r, enum orr_format format, orr_err *e) {
    const char *text = path ? orr_report_as(r, format) : NULL;
    return !text || orr_write_file(path, text, strlen(text), e);
}

int cli_say_page(const cli_options *o, orr_report *r, orr_err *e) {
    orr_err failed = {0};
    if (r && !cli_write_form(o->out.html, r, ORR_HTML, &failed)) *e = failed;
    return cli_say(o, r, e);
}

bool cli_check_outputs(const char *what, const char *const *out, int n, char **inputs, int ninputs,
                       orr_err *e) {
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < a; b++)
            if (out[a] && out[b] && !strcmp(out[a], out[b]))
                return orr_fail(e, ORR_BAD_INPUT, "%s: %s is named for two outputs", what, out[a]);
        for (int k = 0; k < ninputs; k++)
            if (!orr_check_output(out[a], inputs[k], "-o", e)) return false;
        if (!orr_check_writable(out[a], e)) return false;
    }
    return true;
}

// ---- run ----------------------------------------------------------------------------------------
static bool check_run(const cli_options *o, orr_err *e) {
    const orr_options *job = o->job;
    if (!o->ninputs)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "run: name an INPUT: a bundled workload (`orrery list`), a launch script, a "
            "module (.ptx, .cubin, .cl), a recorded stream, a trace (kernelslist.g) or a task list (.tasks)");
    if (o->out.stats && (strcmp(o->out.stats, "accel-sim") != 0 || o->out.json))
        return orr_fail(e, ORR_BAD_INPUT, "run: --stats takes accel-sim, and not together with --json");
    if (job->run.timeline && o->ninputs > 1)
        return orr_fail(e, ORR_BAD_INPUT, "run: --timeline takes one INPUT");
    if (job->run.timeline && o->out.file && !strcmp(o->out.file, job->run.timeline))
        return orr_fail(e, ORR_BAD_INPUT, "run: --timeline and -o name the same file, %s", o->out.file);
    if (job->sampling.on && o->out.stats)
        return orr_fail(e, ORR_BAD_INPUT,
                        "run: --sample chooses launches itself; leave out --kernels, --launches, --timeline "
                        "and --stats");
    if (o->ninputs > 1 && job->sampling.on && job->sampling.profile)
        return orr_fail(e, ORR_BAD_INPUT, "run: --profile takes one INPUT");
    return true;
}

// Several GPUs are compared by time: it needs a model of it, and files of one run have no place.
static bool check_gpus(cli_options *o, const cli_gpus *g, orr_err *e) {
    const orr_options *job = o->job;
    if (g->n < 2) return true;
    if (job->run.timeline || o->out.stats || job->sampling.profile || job->run.counts_only ||
        job->run.digests || job->run.budget)
        return orr_fail(e, ORR_BAD_INPUT,
                        "run: several GPUs make one table; leave out --timeline, --stats, --profile, "
                        "--digests, --counts-only and --budget");
    if (job->model.model && !strcmp(job->model.model, "functional"))
        return orr_fail(e, ORR_BAD_INPUT,
                        "run: several GPUs are compared by time, which --model functional does not tell; "
                        "leave it out for cycle");
    return job->model.model || orr_options_set(o->job, "model", "cycle", e);
}

static enum orr_format format_of(const cli_options *o) {
    if (o->out.stats) return ORR_ACCELSIM;
    if (o->out.json) return ORR_JSON;
    return !o->out.file && isatty(STDOUT_FILENO) && !getenv("NO_COLOR") ? ORR_TERMINAL : ORR_TEXT;
}

// The runs of a page are kept until all are there: the page shows them next to each other.
typedef ORR_VEC(char *) page_runs;

static void keep_for_page(page_runs *all, orr_report *r) {
    const char *data = r ? orr_report_as(r, ORR_PAGE_DATA) : NULL;
    char *copy = data ? strdup(data) : NULL;
    if (copy) *ORR_PUSH(all) = copy;
}

static bool write_page(const char *path, page_runs *all, orr_err *e) {
    orr_report *page = path && !e->status ? orr_page((const char *const *)all->at, (int)all->n, e) : NULL;
    bool ok = !page || cli_write_form(path, page, ORR_HTML, e);
    orr_report_free(page);
    for (size_t i = 0; i < all->n; i++) free(all->at[i]);
    free(all->at);
    return ok;
}

int cli_run(cli_options *o, orr_err *e) {
    const char *const outs[] = {o->out.file, o->out.html, o->job->run.timeline};
    if (!check_run(o, e) || !cli_check_outputs("run", outs, 3, o->inputs, o->ninputs, e)) return e->status;
    cli_gpus gpus;
    if (!cli_gpus_split(o->job->model.gpu, &gpus, e) || !check_gpus(o, &gpus, e)) return e->status;
    cli_stops_gently();
    int jobs = o->ninputs * (gpus.n > 1 ? gpus.n : 1);
    bool array = o->out.json && jobs > 1, several = gpus.n > 1;
    orr_text out = {0};
    page_runs runs = {0};
    orr_err differs = {0}; // a capture that left other memory than the GPU: there is a report all the same
    cli_table table = {.gpus = &gpus};
    if (array) orr_text_add(&out, "[\n");
    for (int k = 0; !e->status && k < jobs; k++) {
        int gpu = several ? k % gpus.n : 0;
        const char *input = o->inputs[several ? k / gpus.n : k];
        if (several && !orr_options_set(o->job, "gpu", gpus.name[gpu], e)) break;
        orr_report *r = orr_run(input, o->job, e);
        if (r && e->status == ORR_PROGRAM_FAILED) {
            differs = *e;
            *e = (orr_err){0};
        }
        const char *text = r && (!several || o->out.json) ? orr_report_as(r, format_of(o)) : NULL;
        if (k && text) orr_text_add(&out, o->out.json ? ",\n" : "\n");
        if (text)
            orr_text_addn(&out, text, strlen(text));
        else if (r && several)
            cli_table_run(&table, input, gpu, r);
        else if (r)
            orr_fail(e, ORR_BAD_INPUT, "--stats accel-sim needs a model that counts cycles: --model cycle");
        if (o->out.html) keep_for_page(&runs, r);
        orr_report_free(r);
    }
    if (array) orr_text_add(&out, "]\n");
    orr_err stopped = {0}; // what is there is written then, too
    if (e->status == ORR_STOPPED) {
        stopped = *e;
        *e = (orr_err){0};
    }
    if (table.rows.n && !e->status) cli_table_text(&table, o->job->model.model, &out);
    cli_table_free(&table);
    if (!stopped.status || runs.n) write_page(o->out.html, &runs, e);
    if (!e->status && out.s) cli_write(o, out.s, e);
    if (!e->status) *e = stopped.status ? stopped : differs;
    free(out.s);
    return e->status;
}

// ---- page: of reports that were kept -----------------------------------------------------------------
#define MAX_REPORT (256u << 20) // bytes

int cli_page(cli_options *o, orr_err *e) {
    page_runs runs = {0};
    if (!o->ninputs || !o->out.file)
        orr_fail(e, ORR_BAD_INPUT,
                 "page: name reports of `orrery run --lines --json` and the page to write: orrery page "
                 "A.json B.json -o page.html");
    for (int i = 0; !e->status && i < o->ninputs; i++) {
        size_t size;
        char *text = NULL;
        if (orr_check_output(o->out.file, o->inputs[i], "-o", e))
            text = orr_read_file(o->inputs[i], MAX_REPORT, &size, e);
        if (text) *ORR_PUSH(&runs) = text;
    }
    write_page(o->out.file, &runs, e);
    return e->status;
}

// ---- record, info, list -------------------------------------------------------------------------
int cli_record(cli_options *o, orr_err *e) {
    cli_stops_gently();
    if (o->ninputs != 1 || !o->out.file)
        orr_fail(e, ORR_BAD_INPUT,
                 "record: name one INPUT and the file to write: orrery record INPUT -o FILE");
    else
        orr_record(o->inputs[0], o->out.file, o->job, e);
    return e->status;
}

int cli_info(cli_options *o, orr_err *e) {
    if (o->ninputs != 1)
        orr_fail(e, ORR_BAD_INPUT, "info: name one recorded stream or trace: orrery info FILE");
    cli_stops_gently();
    return e->status ? e->status : cli_say(o, orr_info(o->inputs[0], o->job, e), e);
}

int cli_list(cli_options *o, orr_err *e) {
    if (o->ninputs) orr_fail(e, ORR_BAD_INPUT, "list: takes no INPUT");
    orr_report *r = orr_workloads(e);
    int64_t n = orr_report_count(r, "");
    if (r && !n && !o->out.json)
        orr_fail(e, ORR_BAD_INPUT,
                 "no bundled workloads were found; set ORRERY_DATA to the folder that holds workloads/");
    if (!o->out.names || e->status) return cli_say(o, r, e);
    for (int64_t k = 0; k < n; k++) {
        char place[40];
        snprintf(place, sizeof place, "/%lld/name", (long long)k);
        const char *name = orr_report_string(r, place);
        if (!strchr(name, '/')) puts(name); // those that any GPU runs
    }
    orr_report_free(r);
    return 0;
}
