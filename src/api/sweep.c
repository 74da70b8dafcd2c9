// orr_sweep: the launches of an input on a grid of GPU descriptions (src/sweep/).
//
// The input is executed once, on the description without what is varied, and its streams are kept; only a
// varied constant of the script makes another execution. Then every point replays the streams, each on one
// host thread. Results are in the SQLite file as soon as a point is finished.
#include "api/api.h"
#include "report/html.h"
#include "sweep/sweep.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct part {     // of a sweep that several processes share
    size_t shard, shards; // shards 0: all
    const char *run;      // what the processes were started together as, "": by hand
    const char *file;     // of its points; NULL: the output
    const char
        *into; // in the end everybody's points go there (the first process); NULL: somebody else does it
    orr_share *share;
    orr_words takes; // files with points that need not be simulated again
} part;

typedef struct sweeper {
    const orr_options *o;
    const char *input;
    orr_sweep_job s;
    orr_grid grid;
    orr_gpu *base; // without what is varied
    orr_store *store;
    orr_progress progress;
    size_t finished;
    double start, told; // when it began, and when it last said how far the study is
    size_t before;      // points that were done when it began
    size_t simulated;   // here
    char *size;
    part *part;
    char database[PATH_MAX], latencies[PATH_MAX]; // temporary files' names, "" when there are none
} sweeper;

// ---- what identifies a sweep ------------------------------------------------------------------------
// The simulator is the shared library, or the program that it is linked into.
static uint64_t digest_of_program(void) {
    orr_err e = {0};
    size_t n = 0;
    Dl_info self;
    const char *file = "/proc/self/exe";
    if (dladdr((void *)(uintptr_t)digest_of_program, &self) && self.dli_fname &&
        strstr(self.dli_fname, ".so"))
        file = self.dli_fname;
    char *bytes = orr_read_file(file, (size_t)1 << 30, &n, &e);
    uint64_t v = bytes ? orr_hash64(bytes, n, 3) : 0;
    free(bytes);
    return v;
}

static uint64_t digest_of_options(const orr_input_options *o) {
    orr_text t = {0};
    orr_text_add(&t, "%s\n%s\n", o->kernels ? o->kernels : "", o->launches ? o->launches : "");
    uint64_t v = orr_hash64(t.s, t.n, 4);
    free(t.s);
    return v;
}

// ---- what is asked for ------------------------------------------------------------------------------
// Fast models are what sweeps are for.
static const orr_model *choose_model(const orr_options *o, orr_err *e) {
    orr_err none = {0};
    if (o->model.model) return orr_model_find(o->model.model, e);
    const orr_model *m = orr_model_find("abstract", &none);
    return m ? m : orr_model_find("cycle", e);
}

// A key or value that no description takes, or no script, is a mistake and not a point that fails: each value
// alone, first.
static bool check_value(const sweeper *x, const orr_axis *axis, int value, orr_err *e) {
    const orr_words *given = axis->script ? &x->o->script_sets : &x->o->model.sets;
    int n = (int)given->n;
    const char **all = orr_calloc(given->n + ORR_KEYS_MAX, sizeof *all);
    orr_arena names = {0};
    orr_err why = {0};
    for (int i = 0; i < n; i++) all[i] = given->at[i];
    n += orr_axis_sets(axis, value, &names, &all[n]);
    if (axis->script) {
        orr_input_options mine = x->o->in;
        mine.sets = all;
        mine.nsets = n;
        bool tasks = orr_tasks_probe(x->input);
        orr_script *script = tasks ? NULL : orr_input_script(&mine, x->input, 0, &why);
        orr_tasks *list = tasks ? orr_tasks_load(x->input, all, n, &why) : NULL;
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

static bool check_axes(const sweeper *x, orr_err *e) {
    const char *input = x->input;
    if (!orr_input_file(input, e)) return false;
    bool recorded = orr_stream_probe(input) || orr_accel_probe(input), ok = true;
    for (int a = 0; ok && a < x->grid.naxes; a++) {
        const orr_axis *axis = &x->grid.axes[a];
        if (axis->script && recorded)
            return orr_fail(e, ORR_BAD_INPUT, "--vary %s: %s is recorded; only the GPU's keys can be varied",
                            axis->key, input);
        for (int k = 0; ok && k < axis->n; k++) ok = check_value(x, axis, k, e);
    }
    return ok;
}

static bool check_files(const sweeper *x, orr_err *e) {
    const char *const files[] = {x->o->files.output, x->o->files.csv, x->o->files.plot};
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < a; b++)
            if (files[a] && files[b] && !strcmp(files[a], files[b]))
                return orr_fail(e, ORR_BAD_INPUT, "sweep: %s is named for two outputs", files[a]);
        if (!orr_check_output(files[a], x->input, "-o", e)) return false;
    }
    return true;
}

// A name that nobody else has, for a file that goes when the sweep ends.
static bool temporary(char name[PATH_MAX], const char *what) {
    const char *folder = getenv("TMPDIR");
    snprintf(name, PATH_MAX, "%s/orrery-%s-XXXXXX", folder && *folder ? folder : "/tmp", what);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) {
        *name = 0;
        return false;
    }
    close(fd);
    unlink(name); // a file that is there must be one of ours
    return true;
}

// ---- executing ----------------------------------------------------------------------------------------
// In memory up to a quarter of what the host has; what is above that goes to disk.
static orr_tape *new_tape(void) { return orr_tape_new(orr_host_memory() / 4); }

// What the abstract model finds out about a kernel holds for all points that leave the pipeline alone.
static void name_latencies(sweeper *x) {
    x->s.latencies = x->o->model.latencies;
    if (x->s.latencies || strcmp(x->s.model->name, "abstract") != 0) return;
    if (temporary(x->latencies, "latencies")) x->s.latencies = x->latencies;
}

// ---- points -------------------------------------------------------------------------------------------
// The first of several processes says how far all of them are, now and then: their output is read in a log.
static void tell_all(sweeper *x) {
    double now = orr_seconds();
    if (!x->s.share || x->part->shard || now - x->told < orr_share_patience() / 2) return;
    size_t done = orr_share_points(x->s.share), all = x->grid.npoints;
    double each = done > x->before ? (now - x->start) / (double)(done - x->before) : 0;
    x->told = now;
    if (done < all && each > 0)
        orr_note(&x->o->notes, "sweep: %zu of %zu points are done, about %.0f s more", done, all,
                 each * (double)(all - done));
}

static bool on_finished(void *arg, size_t point, orr_err *e) {
    sweeper *x = arg;
    orr_progress_step(&x->progress, ++x->finished);
    x->simulated++;
    if (!orr_store_put(x->store, &x->s, point, e)) return false;
    if (x->s.share) orr_share_done(x->s.share, x->s.points[point].digest);
    tell_all(x);
    return orr_progress_go(&x->progress, e);
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
        // A process that was killed may have written a point and not said so.
        if (ok && p->kept && x->s.share) orr_share_done(x->s.share, p->digest);
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

// ---- one execution for all processes --------------------------------------------------------------------
// Who is first executes the input and leaves its streams to the others, who wait for them; a word about them
// (digest, source, size) says that they are there, or that each has to look for itself.
static void leave_streams(const sweeper *x, size_t first, const orr_input *in, const orr_tape *t, bool ok) {
    orr_arena a = {0};
    orr_err e = {0};
    orr_text word = {0};
    const char *file = orr_share_file(x->s.share, &a, orr_arena_printf(&a, "streams-%zu.orr", first));
    if (ok && !in->stream && !in->trace && orr_tape_write(t, file, &e))
        orr_text_add(&word, "%016llx %s %s\n", (unsigned long long)orr_tape_digest(t), in->source,
                     *in->size ? in->size : "-");
    else
        orr_text_add(&word, "none\n");
    orr_write_file(orr_share_file(x->s.share, &a, orr_arena_printf(&a, "streams-%zu", first)), word.s, word.n,
                   &e);
    free(word.s);
    orr_arena_free(&a);
}

// What the first one said: true and its words.
static bool wait_for_streams(sweeper *x, size_t first, uint64_t *digest, char source[16], char size[64]) {
    orr_arena a = {0};
    const char *word = orr_share_file(x->s.share, &a, orr_arena_printf(&a, "streams-%zu", first));
    double until = orr_seconds() + 3600;
    char *text = NULL;
    while (!text && orr_seconds() < until) {
        orr_err e = {0};
        size_t n;
        if (access(word, R_OK) == 0) text = orr_read_file(word, 4096, &n, &e);
        bool lost = true; // all the others are: one of them is at it
        for (size_t k = 0; k < x->part->shards && !text; k++)
            lost = lost && (k == x->part->shard || orr_share_silence(x->s.share, k) > orr_share_patience());
        if (!text && lost) break;
        if (!text) usleep(20000);
    }
    unsigned long long v = 0;
    bool got = text && sscanf(text, "%16llx %15s %63s", &v, source, size) == 3;
    *digest = v;
    free(text);
    orr_arena_free(&a);
    return got;
}

static bool tape_input(sweeper *x, size_t first, orr_input *in, orr_input_options *reads, orr_tape *t,
                       orr_err *e) {
    orr_arena a = {0};
    uint64_t digest = 0;
    char size[64] = "", source[16] = "";
    orr_share *share = x->s.share;
    const char *name = orr_arena_printf(&a, "executes-%zu", first);
    bool shared = share && orr_share_runs(share), mine = !shared || orr_share_first(share, name), ok;
    if (mine || !wait_for_streams(x, first, &digest, source, size)) {
        ok = orr_tape_input(t, in, e);
        if (shared && mine) leave_streams(x, first, in, t, ok);
    } else {
        in->name = orr_share_file(share, &x->grid.arena, orr_arena_printf(&a, "streams-%zu.orr", first));
        *reads = (orr_input_options){.threads = in->o->threads};
        in->o = reads;
        ok = orr_tape_input(t, in, e);
        orr_tape_digest_is(t, digest);
        in->source = !strcmp(source, "sass") ? "sass" : "ptx";
        in->size = orr_arena_strdup(&x->grid.arena, strcmp(size, "-") != 0 ? size : "");
    }
    orr_arena_free(&a);
    return ok;
}

static bool run_group(sweeper *x, size_t first, size_t n, const orr_input_options *o, orr_err *e) {
    orr_tape *t = new_tape();
    orr_input_options reads;
    orr_err why = {0};
    double start = orr_seconds();
    orr_input in = {.name = x->input,
                    .o = o,
                    .gpu = x->base,
                    .check = !o->no_check,
                    .progress = &x->progress,
                    .notes = &x->o->notes};
    bool ok = tape_input(x, first, &in, &reads, t, &why);
    x->s.execute_seconds += orr_seconds() - start;
    if (!ok &&
        (n == x->grid.npoints || why.status == ORR_STOPPED)) { // the only execution: nothing can be said
        orr_fail(e, why.status, "%s", why.text);
    } else {
        if (!x->s.size) x->s.size = x->size = strdup(ok ? in.size : o->size ? o->size : "");
        if (ok)
            x->s.source = !strcmp(in.source, "sass")    ? "sass"
                          : !strcmp(in.source, "trace") ? "trace"
                          : !strcmp(in.source, "tasks") ? "tasks"
                                                        : "ptx"; // the module goes
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
        if (stored) orr_progress_parts(&x->progress, orr_tape_blocks(t));
        if (stored) orr_points_run(&x->s, t, first, n, e);
    }
    orr_tape_free(t);
    orr_input_close(&in);
    return !e->status;
}

static bool run_groups(sweeper *x, orr_err *e) {
    size_t groups = 1, n;
    const orr_words *given = &x->o->script_sets;
    for (int a = 0; a < x->grid.naxes; a++)
        if (x->grid.axes[a].script) groups *= (size_t)x->grid.axes[a].n;
    n = x->grid.npoints / groups;
    bool ok = true;
    for (size_t k = 0; ok && k < groups; k++) {
        orr_arena names = {0};
        orr_input_options mine = x->o->in;
        const char **sets = orr_calloc(given->n + ORR_AXES_MAX * ORR_KEYS_MAX, sizeof *sets);
        for (mine.nsets = 0; (size_t)mine.nsets < given->n; mine.nsets++)
            sets[mine.nsets] = given->at[mine.nsets];
        for (int a = 0; a < x->grid.naxes; a++)
            if (x->grid.axes[a].script)
                mine.nsets += orr_axis_sets(&x->grid.axes[a], orr_grid_at(&x->grid, k * n, a), &names,
                                            &sets[mine.nsets]);
        mine.sets = sets;
        ok = run_group(x, k * n, n, &mine, e);
        free(sets);
        orr_arena_free(&names);
    }
    return ok;
}

// ---- what is said -----------------------------------------------------------------------------------
static orr_report *report(const sweeper *x, orr_err *e) {
    const orr_file_options *f = &x->o->files;
    orr_text text = {0}, json = {0}, csv = {0}, page = {0};
    char *instead = NULL;
    orr_sweep_summary sum;
    orr_sweep_sum_up(&x->s, &sum);
    orr_sweep_csv(&x->s, &csv);
    orr_sweep_json(&x->s, &json);
    if (x->part->shards && !x->part->into)
        orr_text_add(&text, "process %zu of %zu: %zu of %zu points, %zu done in all\n", x->part->shard + 1,
                     x->part->shards, x->simulated, x->grid.npoints, orr_share_points(x->s.share));
    else
        orr_sweep_text(&x->s, &text);
    orr_report *r = orr_report_of(text, json);
    orr_report_add(r, ORR_CSV, csv);
    orr_html_job("sweep", json.s, &page);
    orr_report_add(r, ORR_HTML, page);
    bool ok = (!f->csv || orr_write_file(f->csv, csv.s, csv.n, e)) &&
              (!f->plot || !sum.done || orr_sweep_plot(&x->s, f->plot, &instead, e));
    if (f->output) {
        bool plot = f->plot && !instead && sum.done;
        orr_text_add(&text, "written   %s (view sweep_%lld)%s%s%s%s\n", f->output,
                     (long long)orr_store_number(x->store), f->csv ? ", " : "", f->csv ? f->csv : "",
                     plot ? ", " : "", plot ? f->plot : "");
        orr_report_add(r, ORR_TEXT, text);
    }
    if (instead) orr_note(&x->o->notes, "sweep: %s", instead);
    free(instead);
    if (ok) return r;
    orr_report_free(r);
    return NULL;
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

static bool gather(sweeper *x, orr_err *e);

// What is done by then; the file has it too.
static orr_report *stopped(const sweeper *x, orr_err *e) {
    orr_err why = *e;
    size_t done = 0;
    for (size_t k = 0; k < x->grid.npoints; k++) done += x->s.points[k].state == ORR_POINT_DONE;
    if (x->o->files.output)
        orr_note(&x->o->notes,
                 "sweep: stopped; the %zu of %zu points that are done are in %s, and the same command goes "
                 "on from there",
                 done, x->grid.npoints, x->o->files.output);
    *e = (orr_err){0};
    orr_report *r = done && orr_store_end(x->store, &x->s, e) ? report(x, e) : NULL;
    if (!e->status) *e = why;
    return r;
}

static orr_report *sweep(sweeper *x, orr_err *e) {
    const orr_options *o = x->o;
    bool ok = true;
    for (size_t k = 0; ok && k < o->vary.n; k++) ok = orr_grid_add(&x->grid, o->vary.at[k], e);
    x->s.model = ok ? choose_model(o, e) : NULL;
    if (!x->s.model || !check_axes(x, e) || !check_files(x, e)) return NULL;
    x->base = orr_gpu_load(x->s.gpu, o->model.sets.at, (int)o->model.sets.n, e);
    if (!x->base) return NULL;
    if (!o->files.output && !temporary(x->database, "sweep")) {
        orr_fail(e, ORR_BAD_INPUT, "sweep: no temporary file can be made; name one with -o");
        return NULL;
    }
    const char *file = x->part->file ? x->part->file : o->files.output ? o->files.output : x->database;
    if (!(x->store = orr_store_open(file, e))) return NULL;
    for (size_t k = 0; k < x->part->takes.n; k++)
        if (!orr_store_take(x->store, x->part->takes.at[k], e)) return NULL;
    x->s.points = orr_calloc(x->grid.npoints + 1, sizeof *x->s.points);
    x->s.build = digest_of_program();
    x->s.options = digest_of_options(&o->in);
    name_latencies(x);
    orr_progress_start(&x->progress, o->watcher, "sweep", "points", "blocks", x->grid.npoints);
    ok = run_groups(x, e) && (!x->part->into || gather(x, e));
    orr_progress_end(&x->progress);
    x->s.seconds = orr_seconds() - x->start;
    if (!ok && e->status == ORR_STOPPED && !x->part->shards) return stopped(x, e);
    return ok && orr_store_end(x->store, &x->s, e) ? report(x, e) : NULL;
}

static orr_report *run(const char *input, const orr_options *o, part *p, orr_err *e) {
    sweeper *x = orr_calloc(1, sizeof *x);
    *x = (sweeper){.o = o,
                   .input = input,
                   .start = orr_seconds(),
                   .s = {.input = input,
                         .gpu = o->model.gpu ? o->model.gpu : "h200",
                         .source = "ptx",
                         .version = orr_version(),
                         .command = o->files.command ? o->files.command : "orr_sweep",
                         .sets = o->model.sets.at,
                         .nsets = (int)o->model.sets.n}};
    x->s.grid = &x->grid;
    x->s.shard = p->shard;
    x->s.shards = p->share && orr_share_runs(p->share) ? 0 : p->shards;
    x->s.share = p->share;
    x->part = p;
    if (p->share) x->before = orr_share_points(p->share);
    x->told = x->start;
    x->s.threads = o->in.threads;
    x->s.finished = on_finished;
    x->s.arg = x;
    x->s.progress = &x->progress;
    orr_report *r = sweep(x, e);
    if (r && !e->status) count_failures(x, e);
    orr_store_close(x->store);
    if (*x->latencies) unlink(x->latencies);
    if (*x->database) unlink(x->database);
    orr_gpu_free(x->base);
    orr_sweep_free(&x->s);
    orr_grid_free(&x->grid);
    free(x->size);
    free(x);
    return r;
}

// ---- shared with other processes ----------------------------------------------------------------------
// Each process has a database of its own, FILE.part-K: no database is written by two. Who simulates which
// point they tell each other in FILE.share (share.c); processes that were started by hand take every N-th.
// What is finished is in a part, whoever is killed. In the end one process takes all parts into FILE,
// simulates what is missing, and says what came out. An empty FILE.part-K.done tells it that the K-th has
// finished.
static const char *part_name(orr_arena *a, const char *file, size_t k) {
    return orr_arena_printf(a, "%s.part-%zu", file, k);
}

static bool parse_shard(const char *text, part *p, orr_err *e) {
    unsigned k = 0, n = 0;
    char rest;
    if (sscanf(text, "%u/%u%c", &k, &n, &rest) != 2 || k < 1 || k > n || n > 10000)
        return orr_fail(e, ORR_BAD_INPUT, "sweep: --shard is K/N, as 3/8, not \"%.40s\"", text);
    p->shard = k - 1;
    p->shards = n;
    return true;
}

// What the processes that one command started have in common and no others have.
static const char *find_run(bool mpi) {
    static const char *const names[] = {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMI_JOBID"};
    const char *array = getenv("SLURM_ARRAY_JOB_ID"), *step = getenv("SLURM_STEP_ID"), *v = NULL;
    if (!mpi) return array ? array : "";
    for (size_t i = 0; i < sizeof names / sizeof *names && (!v || !*v); i++) v = getenv(names[i]);
    return v && *v ? v : step ? step : "";
}

// Which of how many this process is, as Open MPI, MPICH and Slurm tell it.
static bool find_rank(part *p, orr_err *e) {
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i][0]), *size = getenv(names[i][1]);
        char text[64];
        if (!rank || !size) continue;
        snprintf(text, sizeof text, "%d/%.20s", atoi(rank) + 1, size);
        return parse_shard(text, p, e);
    }
    return orr_fail(
        e, ORR_BAD_INPUT,
        "sweep: --mpi is for a process that mpirun or srun has started: mpirun -n 4 orrery sweep ...");
}

static void mark(orr_arena *a, const char *file, size_t k, bool done) {
    const char *name = orr_arena_printf(a, "%s.done", part_name(a, file, k));
    int fd = done ? open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd >= 0) close(fd);
    if (!done) unlink(name);
}

static orr_report *run_part(const char *input, const orr_options *o, part *p, orr_err *e) {
    orr_arena a = {0};
    orr_options mine = *o;
    const char *file = o->files.output;
    orr_report *r = NULL;
    mark(&a, file, p->shard + 1, false);
    p->file = part_name(&a, file, p->shard + 1);
    if (!p->into) {
        mine.files.csv = mine.files.plot = NULL;
        mine.files.output = p->file;
    }
    if (access(file, R_OK) == 0) *ORR_PUSH(&p->takes) = file; // what an earlier study has
    if ((p->share = orr_share_open(file, p->run, p->shard, e))) r = run(input, &mine, p, e);
    if (r && !p->into) mark(&a, file, p->shard + 1, true);
    orr_share_close(p->share);
    p->share = NULL;
    p->takes.n = 0;
    orr_arena_free(&a);
    return r;
}

// Until all others have finished. One that is not heard of any more is given up: what it finished is in its
// part.
static void wait_for_parts(sweeper *x) {
    orr_arena a = {0};
    const char *file = x->part->into;
    for (size_t k = 0; k < x->part->shards; k++) {
        const char *done = orr_arena_printf(&a, "%s.done", part_name(&a, file, k + 1));
        if (k == x->part->shard) continue;
        while (access(done, F_OK) != 0) {
            tell_all(x);
            if (orr_share_silence(x->s.share, k) > orr_share_patience()) {
                orr_note(
                    &x->o->notes,
                    "sweep: nothing is heard of process %zu of %zu any more; what it has not finished is "
                    "simulated here",
                    k + 1, x->part->shards);
                break;
            }
            usleep(50000);
        }
    }
    orr_arena_free(&a);
}

static void find_parts(part *p, const char *file, orr_arena *a) {
    p->takes.n = 0;
    for (size_t k = 1; k <= 10000; k++)
        if (access(part_name(a, file, k), R_OK) == 0) *ORR_PUSH(&p->takes) = part_name(a, file, k);
}

static void remove_parts(const part *p, const char *file, orr_arena *a) {
    for (size_t k = 0; k < p->takes.n; k++) {
        unlink(p->takes.at[k]);
        unlink(orr_arena_printf(a, "%s.done", p->takes.at[k]));
    }
    orr_share_remove(file);
}
// All parts into the study's own file. What the points depend on is known, so that nothing is executed again
// but where points are missing.
static bool gather(sweeper *x, orr_err *e) {
    orr_arena a = {0};
    bool ok, missing = false;
    wait_for_parts(x);
    orr_store_close(x->store);
    find_parts(x->part, x->part->into, &a);
    ok = (x->store = orr_store_open(x->part->into, e)) != NULL;
    for (size_t k = 0; ok && k < x->part->takes.n; k++)
        ok = orr_store_take(x->store, x->part->takes.at[k], e);
    for (size_t k = 0; k < x->grid.npoints; k++) x->s.points[k].state = ORR_POINT_TO_DO;
    ok = ok && orr_store_begin(x->store, &x->s, 0, x->grid.npoints, e);
    for (size_t k = 0; k < x->grid.npoints; k++) missing = missing || x->s.points[k].state == ORR_POINT_TO_DO;
    x->s.share = NULL;
    x->s.shards = 0;
    x->finished = 0;
    ok = ok && (!missing || run_groups(x, e));
    if (ok) remove_parts(x->part, x->part->into, &a);
    x->part->takes.n = 0;
    orr_arena_free(&a);
    return ok;
}

// The same by hand or by Slurm's last job, which does not know the points: it executes the input.
static orr_report *run_merge(const char *input, const orr_options *o, orr_err *e) {
    orr_arena a = {0};
    part p = {0};
    find_parts(&p, o->files.output, &a);
    orr_report *r = run(input, o, &p, e);
    if (r) remove_parts(&p, o->files.output, &a);
    free(p.takes.at);
    orr_arena_free(&a);
    return r;
}

static orr_report *run_shared(const char *input, const orr_options *o, orr_err *e) {
    part p = {0};
    if (!o->files.output || (o->share.mpi && (o->share.shard || o->share.merge))) {
        orr_fail(e, ORR_BAD_INPUT,
                 "sweep: --mpi, --shard and --merge need -o FILE, and one of them is enough");
        return NULL;
    }
    if (o->share.merge && !o->share.shard) return run_merge(input, o, e);
    if (!(o->share.mpi ? find_rank(&p, e) : parse_shard(o->share.shard, &p, e))) return NULL;
    p.run = find_run(o->share.mpi);
    p.into = o->share.mpi && !p.shard ? o->files.output : NULL;
    orr_report *r = run_part(input, o, &p, e);
    free(p.takes.at);
    return r;
}

orr_report *orr_sweep(const char *input, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    if (!o->vary.n)
        orr_fail(e, ORR_BAD_INPUT,
                 "sweep: say what to vary, as --vary sm.count=66:132:6; `orrery gpu keys` lists what "
                 "there is");
    if (e->status || !orr_input_check(&o->in, e)) return NULL;
    if (o->share.mpi || o->share.merge || o->share.shard) return run_shared(input, o, e);
    return run(input, o, &(part){0}, e);
}
