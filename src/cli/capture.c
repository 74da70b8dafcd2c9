// orrery capture: a program on this machine's GPU, its launches kept in a folder (src/hook). With --measure
// the program runs a second time, under Nsight Compute, and what that counts of the same launches goes beside
// them.
#include "capture/capture.h"
#include "cli/cli.h"
#include "cli/ncu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)1 << 30) // of what the profiler writes

typedef struct measuring {
    const cli_options *o;
    orr_capture *capture;
    orr_names metrics;
    ORR_VEC(orr_ncu_launch) launches; // those that were captured
    const char *csv;
    orr_arena arena;
} measuring;

static void collect(measuring *m) {
    const char *s = m->o->metrics;
    for (size_t n; s && *s; s += n + (s[n] == ',')) {
        n = strcspn(s, ",");
        if (n) *ORR_PUSH(&m->metrics) = orr_arena_strndup(&m->arena, s, n);
    }
    if (!m->o->metrics) orr_ncu_few(&m->metrics);
    for (size_t i = 0; i < orr_capture_launches(m->capture); i++) {
        const orr_captured *c = orr_capture_launch(m->capture, i);
        orr_ncu_launch *l = ORR_PUSH(&m->launches);
        *l = (orr_ncu_launch){.index = c->index, .kernel = c->kernel};
        memcpy(l->grid, c->grid, sizeof l->grid);
        memcpy(l->block, c->block, sizeof l->block);
    }
}

static int profile(measuring *m, const char *ncu) {
    const orr_ncu_launch *first = &m->launches.at[0], *last = &m->launches.at[m->launches.n - 1];
    const char *const start[] = {"--force-overwrite",
                                 "--launch-skip",
                                 orr_arena_printf(&m->arena, "%u", first->index),
                                 "--launch-count",
                                 orr_arena_printf(&m->arena, "%u", last->index - first->index + 1),
                                 "--metrics",
                                 cli_metrics(&m->arena, &m->metrics)};
    cli_words w = {0};
    cli_ncu_start(&w, ncu, false, m->csv);
    for (size_t i = 0; i < sizeof start / sizeof *start; i++) *ORR_PUSH(&w) = (char *)(uintptr_t)start[i];
    for (int i = 0; i < m->o->nrest; i++) *ORR_PUSH(&w) = m->o->rest[i];
    *ORR_PUSH(&w) = NULL;
    int status = cli_run_program(w.at, NULL, &(cli_child){.out = "/dev/null"});
    free(w.at);
    return status;
}

static bool write_measured(measuring *m, const orr_hardware *h, orr_err *e) {
    orr_text t = {0};
    orr_out out;
    orr_hardware_write(h, &t);
    bool ok = orr_out_open(&out, orr_arena_printf(&m->arena, "%s/measured.csv", m->o->out.file), e);
    if (ok) fwrite(t.s, 1, t.n, out.f);
    ok = ok && orr_out_commit(&out, e);
    free(t.s);
    return ok;
}

static bool measure(const cli_options *o, orr_err *e) {
    measuring m = {.o = o};
    orr_hardware h = {0};
    orr_err none = {0};
    const char *ncu = orr_ncu_find(&m.arena, &none);
    m.capture = ncu ? orr_capture_open(o->out.file, e) : NULL;
    if (!ncu)
        fprintf(stderr, "orrery: Nsight Compute (ncu) is not there, so cycles and counters are not measured; "
                        "times.csv has times\n");
    if (m.capture) {
        m.csv = orr_arena_printf(&m.arena, "%s/ncu.csv", o->out.file);
        collect(&m);
        int status = profile(&m, ncu);
        orr_ncu_files f = {.csv_path = m.csv};
        orr_ncu_launches these = {m.launches.at, m.launches.n};
        f.csv = orr_read_file(m.csv, MOST_BYTES, &f.csv_bytes, &none);
        orr_measured proto = {.script = orr_arena_strdup(&m.arena, o->out.file),
                              .size = "",
                              .cache = "flushed",
                              .driver = cli_driver_version(&m.arena),
                              .date = cli_today(&m.arena)};
        if (!f.csv)
            orr_fail(e, ORR_PROGRAM_FAILED, "%s ended with status %d and has no results", ncu, status);
        else if (orr_ncu_read_these(&h, &f, &m.metrics, &proto, &these, e))
            write_measured(&m, &h, e);
        if (!e->status) unlink(m.csv);
        free(f.csv);
    }
    orr_hardware_free(&h);
    orr_capture_free(m.capture);
    free(m.metrics.at);
    free(m.launches.at);
    orr_arena_free(&m.arena);
    return !e->status;
}

// Without --measure the program takes the place of this process. With it, its exit status is kept.
int cli_capture(cli_options *o, orr_err *e) {
    if (!o->nrest)
        orr_fail(e, ORR_BAD_INPUT,
                 "capture: name a PROGRAM and its arguments, as in orrery capture -o DIR ./vectorAdd");
    if (o->out.file) orr_options_set(o->job, "output", o->out.file, e);
    char **env = e->status ? NULL : orr_capture_environment(o->rest[0], o->job, e);
    if (!env) return e->status;
    fflush(NULL);
    int status = 0;
    if (o->job->app.measure) {
        status = cli_run_program(o->rest, env, &(cli_child){0});
        if (status >= 0 && status != 127) measure(o, e);
    } else {
        execvpe(o->rest[0], o->rest, env); // returns only when it cannot
        status = -1;
    }
    if (status < 0 || (status == 127 && o->job->app.measure))
        orr_fail(e, ORR_BAD_INPUT, "%s: %s", o->rest[0], status < 0 ? strerror(errno) : "could not be run");
    orr_free(env);
    return e->status ? e->status : status;
}
