// orrery compare, correlate and tune: predictions beside each other and beside measurements.
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

// All models on several GPUs: a table of times, or with --json an array of what each GPU's report has.
static int compare_gpus(cli_options *o, const cli_gpus *gpus, orr_err *e) {
    cli_table table = {.gpus = gpus};
    orr_text out = {0};
    if (o->out.csv) orr_fail(e, ORR_BAD_INPUT, "compare: --csv is of one GPU; use --json with several");
    if (o->out.json) orr_text_add(&out, "[\n");
    for (int g = 0; !e->status && g < gpus->n; g++) {
        if (!orr_options_set(o->job, "gpu", gpus->name[g], e)) break;
        orr_report *r = orr_compare((const char *const *)o->inputs, o->ninputs, o->job, e);
        if (r && o->out.json) orr_text_add(&out, "%s%s", g ? ",\n" : "", orr_report_as(r, ORR_JSON));
        if (r && !o->out.json) cli_table_compare(&table, g, r);
        orr_report_free(r);
    }
    if (o->out.json) orr_text_add(&out, "]\n");
    if (!o->out.json) cli_table_text(&table, "", &out);
    orr_err failed = {0};
    if ((!e->status || e->status == ORR_STOPPED) && !cli_write(o, out.s, &failed)) *e = failed;
    cli_table_free(&table);
    free(out.s);
    return e->status;
}

int cli_compare(cli_options *o, orr_err *e) {
    const char *const out[] = {o->out.csv, o->out.file, o->out.html};
    if (!o->ninputs && !o->all)
        orr_fail(e, ORR_BAD_INPUT, "compare: name an INPUT, or --all bundled workloads");
    if (o->ninputs && o->all) orr_fail(e, ORR_BAD_INPUT, "compare: name INPUTs or say --all, not both");
    if (e->status || !cli_check_outputs("compare", out, 3, o->inputs, o->ninputs, e)) return e->status;
    orr_options_print(o->job, stderr); // standard output is for the result
    cli_gpus gpus;
    if (!cli_gpus_split(o->job->model.gpu, &gpus, e)) return e->status;
    cli_stops_gently();
    if (gpus.n > 1) return compare_gpus(o, &gpus, e);
    orr_report *r = orr_compare((const char *const *)o->inputs, o->ninputs, o->job, e);
    orr_err failed = {0};
    if (!r || (cli_write_form(o->out.csv, r, ORR_CSV, &failed) &&
               cli_write_form(o->out.html, r, ORR_HTML, &failed)))
        return cli_say(o, r, e);
    *e = failed;
    orr_report_free(r);
    return e->status;
}

// ---- correlate ------------------------------------------------------------------------------------
// The options after --, as `orrery run` has them; names of scripts choose among the measurements.
static bool parse_rest(const cli_options *o, cli_options *run, orr_err *e) {
    char **argv = orr_calloc((size_t)o->nrest + 2, sizeof *argv);
    char name[] = "run";
    argv[0] = name;
    for (int k = 0; k < o->nrest; k++) argv[k + 1] = o->rest[k];
    bool ok = cli_parse("run", o->nrest + 1, argv, run, e);
    free(argv);
    if (!ok) return false;
    for (int k = 0; k < run->ninputs; k++) orr_options_set(run->job, "script", run->inputs[k], e);
    if (o->out.quiet) {
        run->out.quiet = true; // the watcher looks there
        orr_options_notes(run->job, NULL, NULL);
    }
    orr_options_print(run->job, stderr);
    if (run->out.json || run->out.file || run->out.stats)
        return orr_fail(
            e, ORR_BAD_INPUT,
            "correlate: after -- it takes --gpu, --model, --set, --threads, --size, --kernels, --max-insts, "
            "--no-check, --quiet and names of scripts");
    return !e->status;
}

int cli_correlate(cli_options *o, orr_err *e) {
    cli_options run = {0};
    orr_err failed = {0}; // a failed script is told at the end; what cannot be written is told instead
    const char *const out[] = {o->out.file, o->out.html, o->out.csv};
    orr_report *r = NULL;
    cli_stops_gently();
    if (!o->ninputs)
        orr_fail(e, ORR_BAD_INPUT,
                 "correlate: name a file of measurements, as hardware/h200/workloads.csv; `orrery hw "
                 "profile` makes one");
    else if (cli_check_outputs("correlate", out, 3, o->inputs, o->ninputs, e) && parse_rest(o, &run, e))
        r = orr_correlate((const char *const *)o->inputs, o->ninputs, run.job, e);
    if (r && (!cli_write_form(o->out.html, r, ORR_HTML, &failed) ||
              !cli_write_form(o->out.csv, r, ORR_CSV, &failed))) {
        *e = failed;
        orr_report_free(r);
        r = NULL;
    }
    cli_free(&run);
    return cli_say(o, r, e);
}

// ---- tune -----------------------------------------------------------------------------------------
int cli_tune(cli_options *o, orr_err *e) {
    const char *const out[] = {o->out.file};
    if (!cli_check_outputs("tune", out, 1, o->inputs, o->ninputs, e)) return e->status;
    cli_stops_gently();
    orr_report *r = orr_tune((const char *const *)o->inputs, o->ninputs, o->job, e);
    orr_err failed = {0};
    if (r && !(cli_write(o, orr_report_as(r, ORR_TEXT), &failed) &&
               cli_write_form(o->out.log, r, ORR_LOG, &failed)))
        *e = failed;
    orr_report_free(r);
    return e->status;
}
