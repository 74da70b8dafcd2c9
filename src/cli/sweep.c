// orrery sweep: the launches of an INPUT on a grid of GPU descriptions (src/sweep/).
//
// The INPUT is executed once, on the description without what is varied, and its streams are kept; only a
// varied constant of the script makes another execution. Then every point replays the streams, each on one
// host thread. Results are in the SQLite file as soon as a point is finished.
#include "cli/feed.h"
#include "orrery.h"
#include "sweep/sweep.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sweeper {
    const cli_options *o;
    orr_sweep s;
    orr_grid grid;
    orr_gpu *base; // without what is varied
    orr_store *store;
    orr_progress progress;
    size_t finished;
    double start;
    char *database, *csv, *plot;
    char latencies[PATH_MAX]; // a temporary file's name, "" when there is none
} sweeper;

// ---- a signal ---------------------------------------------------------------------------------------
// The file is whole at any moment; the user should know that it is worth something.
static char farewell[400];
static struct sigaction before;

static void on_interrupt(int number) {
    ssize_t got = write(STDERR_FILENO, farewell, strlen(farewell));
    (void)got;
    sigaction(number, &before, NULL);
    raise(number);
}

static void catch_interrupt(const char *database, bool quiet) {
    struct sigaction act = {.sa_handler = on_interrupt};
    sigemptyset(&act.sa_mask);
    act.sa_flags = SA_NODEFER;
    if (quiet || sigaction(SIGINT, NULL, &before) != 0 || before.sa_handler == SIG_IGN) return;
    snprintf(farewell, sizeof farewell,
             "\norrery: sweep: stopped; what is done is in %.250s, and the same command goes on from there\n",
             database);
    sigaction(SIGINT, &act, NULL);
}

// ---- what identifies a sweep ------------------------------------------------------------------------
static uint64_t digest_of_program(void) {
    orr_err e = {0};
    size_t n = 0;
    char *bytes = orr_read_file("/proc/self/exe", (size_t)1 << 30, &n, &e);
    uint64_t v = bytes ? orr_hash64(bytes, n, 3) : 0;
    free(bytes);
    return v;
}

// The command as it was typed, near enough to be typed again.
static char *command_line(void) {
    orr_err e = {0};
    orr_text t = {0};
    size_t n = 0;
    char *bytes = orr_read_file("/proc/self/cmdline", 1 << 20, &n, &e);
    n = bytes ? n : 0;
    for (size_t k = 0; k < n; k += strlen(bytes + k) + 1) {
        const char *word = bytes + k;
        const char *slash = k ? NULL : strrchr(word, '/');
        if (slash) word = slash + 1;
        bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                 "0123456789_./:=,%+@-")];
        orr_text_add(&t, k ? (plain ? " %s" : " '%s'") : "%s", word);
    }
    free(bytes);
    if (!t.s) orr_text_add(&t, "orrery sweep");
    return t.s;
}

static uint64_t digest_of_options(const cli_options *o) {
    orr_text t = {0};
    orr_text_add(&t, "%s\n%s\n", o->kernels ? o->kernels : "", o->launches ? o->launches : "");
    uint64_t v = orr_hash64(t.s, t.n, 4);
    free(t.s);
    return v;
}

// ---- what is asked for ------------------------------------------------------------------------------
static bool check_command(const cli_options *o, orr_err *e) {
    if (o->ninputs != 1)
        return orr_fail(e, ORR_BAD_INPUT, "sweep: name one INPUT: orrery sweep INPUT --vary KEY=VALUES");
    if (!o->nvary)
        return orr_fail(e, ORR_BAD_INPUT,
                        "sweep: say what to vary, as --vary sm.count=66:132:6; `orrery gpu keys` lists what "
                        "there is");
    return cli_check_launches(o, e);
}

// Fast models are what sweeps are for.
static const orr_model *choose_model(const cli_options *o, orr_err *e) {
    orr_err none = {0};
    if (o->model) return orr_model_find(o->model, e);
    const orr_model *m = orr_model_find("abstract", &none);
    return m ? m : orr_model_find("cycle", e);
}

// A key or value that no description takes, or no script, is a mistake and not a point that fails: each value
// alone, first.
static bool check_value(const sweeper *x, const orr_axis *axis, int value, const cli_sets *sets, orr_err *e) {
    const cli_sets *s = sets;
    int n = axis->script ? s->nscript : s->ngpu;
    const char **all = orr_calloc((size_t)n + ORR_KEYS_MAX, sizeof *all);
    orr_arena names = {0};
    orr_err why = {0};
    for (int i = 0; i < n; i++) all[i] = axis->script ? s->script[i] : s->gpu[i];
    n += orr_axis_sets(axis, value, &names, &all[n]);
    if (axis->script) {
        cli_sets mine = {.script = all, .nscript = n};
        const char *input = x->o->inputs[0];
        bool tasks = orr_tasks_probe(input);
        orr_script *script = tasks ? NULL : cli_open_script(x->o, &mine, input, 0, &why);
        orr_tasks *list = tasks ? orr_tasks_load(input, all, n, &why) : NULL;
        if (script) orr_script_free(script);
        if (list) orr_tasks_free(list);
    } else {
        orr_gpu_free(orr_gpu_load(x->s.gpu, all, n, &why));
        if (strncmp(why.text, "--set", 5) != 0)
            why = (orr_err){0}; // what does not fit together may elsewhere
    }
    free(all);
    orr_arena_free(&names);
    if (!why.status) return true;
    bool set = !strncmp(why.text, "--set", 5);
    return orr_fail(e, why.status, "%s%s", set ? "--vary" : "", why.text + (set ? 5 : 0));
}

static bool check_axes(const sweeper *x, const cli_sets *sets, orr_err *e) {
    const char *input = x->o->inputs[0];
    bool recorded = orr_stream_probe(input) || orr_accel_probe(input), ok = true;
    for (int a = 0; ok && a < x->grid.naxes; a++) {
        const orr_axis *axis = &x->grid.axes[a];
        if (axis->script && recorded)
            return orr_fail(e, ORR_BAD_INPUT, "--vary %s: %s is recorded; only the GPU's keys can be varied",
                            axis->key, input);
        for (int k = 0; ok && k < axis->n; k++) ok = check_value(x, axis, k, sets, e);
    }
    return ok;
}

// "results.sqlite", ".csv" -> "results.csv"
static char *beside(const char *database, const char *ending) {
    orr_text t = {0};
    const char *dot = strrchr(database, '.'), *slash = strrchr(database, '/');
    int n =
        dot && (!slash || dot > slash + 1) && dot != database ? (int)(dot - database) : (int)strlen(database);
    orr_text_add(&t, "%.*s%s", n, database, ending);
    return t.s;
}

static char *default_name(const char *input) {
    orr_text t = {0};
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input, *dot = strrchr(name, '.');
    orr_text_add(&t, "%.*s.sweep.sqlite", dot && dot != name ? (int)(dot - name) : (int)strlen(name), name);
    return t.s;
}

static char *copy_text(const char *s) {
    orr_text t = {0};
    orr_text_add(&t, "%s", s);
    return t.s;
}

static bool name_files(sweeper *x, orr_err *e) {
    const cli_options *o = x->o;
    x->database = o->output ? copy_text(o->output) : default_name(o->inputs[0]);
    x->csv = o->csv ? copy_text(o->csv) : beside(x->database, ".csv");
    x->plot = o->plot ? copy_text(o->plot) : beside(x->database, ".svg");
    const char *const files[] = {x->database, x->csv, x->plot};
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < a; b++)
            if (!strcmp(files[a], files[b]))
                return orr_fail(e, ORR_BAD_INPUT, "sweep: %s is named for two outputs", files[a]);
        cli_options one = {.output = files[a]};
        if (!cli_check_output(&one, o->inputs[0], e)) return false;
    }
    return true;
}

// ---- executing ----------------------------------------------------------------------------------------
typedef struct recorder {
    orr_tape *tape;
    const cli_feed *feed;
} recorder;

static bool record(void *arg, orr_work *w, orr_err *e) {
    recorder *r = arg;
    if (r->feed->step) return orr_tape_tasks(r->tape, r->feed->tasks, r->feed->step, e);
    return w->launch ? orr_tape_launch(r->tape, w->launch, w->threads, w->progress, e)
                     : orr_tape_source(r->tape, w->source, w->progress, e);
}

static bool record_copy(void *arg, uint64_t addr, uint64_t bytes, orr_err *e) {
    const recorder *r = arg;
    (void)e;
    orr_tape_copy(r->tape, addr, bytes);
    return true;
}

// In memory up to a quarter of what the host has; what is above that goes to disk.
static orr_tape *new_tape(void) { return orr_tape_new(orr_host_memory() / 4); }

// What the abstract model finds out about a kernel holds for all points that leave the pipeline alone.
static void name_latencies(sweeper *x) {
    const char *folder = getenv("TMPDIR");
    x->s.latencies = x->o->latencies;
    if (x->s.latencies || strcmp(x->s.model->name, "abstract") != 0) return;
    snprintf(x->latencies, sizeof x->latencies, "%s/orrery-latencies-XXXXXX",
             folder && *folder ? folder : "/tmp");
    int fd = mkostemp(x->latencies, O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        unlink(x->latencies); // a file that is there must be one of latencies
        x->s.latencies = x->latencies;
    }
}

// ---- points -------------------------------------------------------------------------------------------
static bool on_finished(void *arg, size_t point, orr_err *e) {
    sweeper *x = arg;
    orr_progress_step(&x->progress, ++x->finished);
    return orr_store_put(x->store, &x->s, point, e);
}

// What cannot even begin has a digest of its settings and of what was wrong.
static void fail_point(sweeper *x, size_t k, const char *message) {
    orr_swept_point *p = &x->s.points[k];
    orr_text t = {0};
    orr_text_add(&t, "%s\n%s %s\n%016llx %016llx\n%s\n", x->s.input, x->s.model->name, x->s.gpu,
                 (unsigned long long)x->s.build, (unsigned long long)x->s.options, message);
    for (int a = 0; a < x->grid.naxes; a++)
        orr_text_add(&t, "%s=%s\n", x->grid.axes[a].key, x->grid.axes[a].values[orr_grid_at(&x->grid, k, a)]);
    p->digest = orr_hash64(t.s, t.n, 5);
    p->state = ORR_POINT_FAILED;
    p->message = orr_arena_strdup(&p->arena, message);
    free(t.s);
}

// Points [first, first + n): one execution. Failed ones that are not in the file yet are put there.
static bool store_points(sweeper *x, size_t first, size_t n, orr_err *e) {
    bool *failed = orr_calloc(n + 1, sizeof *failed);
    for (size_t k = 0; k < n; k++) failed[k] = x->s.points[first + k].state == ORR_POINT_FAILED;
    bool ok = orr_store_begin(x->store, &x->s, first, n, e);
    for (size_t k = 0; k < n; k++) {
        const orr_swept_point *p = &x->s.points[first + k];
        if (ok && failed[k] && !p->kept) ok = orr_store_put(x->store, &x->s, first + k, e);
        x->finished += p->state != ORR_POINT_TO_DO;
    }
    free(failed);
    orr_progress_step(&x->progress, x->finished);
    return ok;
}

static bool to_do(const sweeper *x, size_t first, size_t n) {
    for (size_t k = first; k < first + n; k++)
        if (x->s.points[k].state == ORR_POINT_TO_DO) return true;
    return false;
}

static bool run_group(sweeper *x, size_t first, size_t n, const cli_sets *sets, orr_err *e) {
    orr_tape *t = new_tape();
    orr_err why = {0};
    double start = orr_seconds();
    cli_feed f = {.o = x->o,
                  .sets = sets,
                  .gpu = x->base,
                  .input = x->o->inputs[0],
                  .threads = x->o->threads,
                  .check = !x->o->no_check,
                  .work = record,
                  .copy = record_copy,
                  .progress = &x->progress};
    recorder r = {t, &f};
    f.arg = &r;
    bool ok = cli_feed_run(&f, &why);
    x->s.execute_seconds += orr_seconds() - start;
    if (!ok && n == x->grid.npoints) { // the only execution there is: nothing can be said
        orr_fail(e, why.status, "%s", why.text);
    } else {
        if (!x->s.size) x->s.size = copy_text(ok ? f.size : x->o->size ? x->o->size : "");
        if (ok)
            x->s.source = !strcmp(f.source, "sass")    ? "sass"
                          : !strcmp(f.source, "trace") ? "trace"
                          : !strcmp(f.source, "tasks") ? "tasks"
                                                       : "ptx";
        x->s.tape_bytes += orr_tape_bytes(t);
        for (size_t k = first; k < first + n; k++) {
            orr_err bad = why;
            orr_gpu *g = ok ? orr_point_gpu(&x->s, k, &bad) : NULL;
            if (g)
                x->s.points[k].digest = orr_point_digest(&x->s, t, g);
            else
                fail_point(x, k, bad.text);
            orr_gpu_free(g);
        }
        bool stored = store_points(x, first, n, e);
        if (ok && stored && to_do(x, first, n)) orr_points_prepare(&x->s, t, x->base);
        if (stored) orr_points_run(&x->s, t, first, n, x->o->threads, on_finished, x, e);
    }
    orr_tape_free(t);
    cli_feed_close(&f);
    return !e->status;
}

static bool run_groups(sweeper *x, const cli_sets *sets, orr_err *e) {
    size_t groups = 1, n;
    for (int a = 0; a < x->grid.naxes; a++)
        if (x->grid.axes[a].script) groups *= (size_t)x->grid.axes[a].n;
    n = x->grid.npoints / groups;
    bool ok = true;
    for (size_t k = 0; ok && k < groups; k++) {
        orr_arena names = {0};
        cli_sets mine = *sets;
        mine.script = orr_calloc((size_t)sets->nscript + ORR_AXES_MAX * ORR_KEYS_MAX, sizeof *mine.script);
        for (int i = 0; i < sets->nscript; i++) mine.script[i] = sets->script[i];
        for (int a = 0; a < x->grid.naxes; a++)
            if (x->grid.axes[a].script)
                mine.nscript += orr_axis_sets(&x->grid.axes[a], orr_grid_at(&x->grid, k * n, a), &names,
                                              &mine.script[mine.nscript]);
        ok = run_group(x, k * n, n, &mine, e);
        free(mine.script);
        orr_arena_free(&names);
    }
    return ok;
}

// ---- what is said -----------------------------------------------------------------------------------
static bool write_csv(const sweeper *x, orr_err *e) {
    orr_text t = {0};
    orr_sweep_csv(&x->s, &t);
    bool ok = cli_write_file(x->csv, &t, e);
    free(t.s);
    return ok;
}

static bool report(const sweeper *x, orr_err *e) {
    orr_text t = {0};
    char *instead = NULL;
    orr_sweep_summary sum;
    orr_sweep_sum_up(&x->s, &sum);
    if (!write_csv(x, e) || (sum.done && !orr_sweep_plot(&x->s, x->plot, &instead, e))) return false;
    if (x->o->json) {
        orr_sweep_json(&x->s, &t);
    } else {
        orr_sweep_text(&x->s, &t);
        orr_text_add(&t, "written   %s (view sweep_%lld), %s%s%s\n", x->database,
                     (long long)orr_store_number(x->store), x->csv, instead || !sum.done ? "" : ", ",
                     instead || !sum.done ? "" : x->plot);
    }
    if (instead && !x->o->quiet) fprintf(stderr, "orrery: sweep: %s\n", instead);
    free(instead);
    fwrite(t.s, 1, t.n, stdout); // main() checks that it got out
    free(t.s);
    return true;
}

// Points that failed are an error only after everything has been said.
static void count_failures(const sweeper *x, orr_err *e) {
    size_t failed = 0;
    const char *first = "";
    for (size_t k = 0; k < x->grid.npoints; k++)
        if (x->s.points[k].state == ORR_POINT_FAILED && !failed++) first = x->s.points[k].message;
    if (failed)
        orr_fail(e, ORR_PROGRAM_FAILED, "sweep: %zu of %zu points failed; the first: %s", failed,
                 x->grid.npoints, first ? first : "");
}

static bool sweep(sweeper *x, const cli_sets *sets, orr_err *e) {
    const cli_options *o = x->o;
    bool ok = true;
    for (int k = 0; ok && k < o->nvary; k++) ok = orr_grid_add(&x->grid, o->vary[k], e);
    x->s.model = ok ? choose_model(o, e) : NULL;
    if (!x->s.model || !check_axes(x, sets, e) || !name_files(x, e)) return false;
    x->base = orr_gpu_load(x->s.gpu, sets->gpu, sets->ngpu, e);
    if (!x->base || !(x->store = orr_store_open(x->database, e))) return false;
    x->s.points = orr_calloc(x->grid.npoints + 1, sizeof *x->s.points);
    x->s.build = digest_of_program();
    x->s.options = digest_of_options(o);
    name_latencies(x);
    catch_interrupt(x->database, o->quiet);
    if (!o->quiet) orr_progress_start(&x->progress, "sweep", "points", "blocks", x->grid.npoints);
    ok = run_groups(x, sets, e);
    orr_progress_end(&x->progress);
    x->s.seconds = orr_seconds() - x->start;
    return ok && orr_store_end(x->store, &x->s, e) && report(x, e);
}

int cli_sweep(cli_options *o, orr_err *e) {
    if (!check_command(o, e)) return e->status;
    cli_sets sets;
    cli_split_sets(o, &sets);
    char *command = command_line();
    sweeper x = {.o = o,
                 .start = orr_seconds(),
                 .s = {.input = o->inputs[0],
                       .gpu = o->gpu ? o->gpu : "h200",
                       .source = "ptx",
                       .version = orr_version(),
                       .command = command,
                       .sets = sets.gpu,
                       .nsets = sets.ngpu}};
    x.s.grid = &x.grid;
    if (sweep(&x, &sets, e)) count_failures(&x, e);
    if (*x.latencies) unlink(x.latencies);
    orr_store_close(x.store);
    orr_gpu_free(x.base);
    orr_sweep_free(&x.s);
    free((char *)(uintptr_t)x.s.size);
    orr_grid_free(&x.grid);
    free(x.database);
    free(x.csv);
    free(x.plot);
    free(command);
    cli_free_sets(&sets);
    return e->status;
}
