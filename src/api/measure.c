// orr_measure: launch scripts on the GPU of this machine. Each script is run `repeat` times from the
// start, so that every round does the same work, and a launch's time is the least of its rounds. One
// script gets a table of its launches; several get a line each. --log has every launch of every round.
#include "api/api.h"
#include "hw/hw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 40 // of launches in the text

typedef struct outcome { // of one script
    const char *input;
    const char *size;
    orr_err e;
    orr_script_stats stats;
    orr_hw_time *times; // the kernels' names are in the arena below
    size_t ntimes;
    double us; // all launches
    double wall;
} outcome;

typedef struct measuring { // of all scripts
    orr_hw *h;
    const orr_options *o;
    bool broken; // the driver takes no more work
    orr_text log, digests;
    orr_arena names;
} measuring;

// What was launched, in the order of launching: `hw profile` tells by it what the profiler saw.
static void log_round(orr_text *log, const outcome *o, int round, const orr_hw_time *times, size_t n) {
    for (size_t k = 0; k < n; k++) {
        const orr_hw_time *x = &times[k];
        orr_csv_add(log, o->input);
        orr_text_add(log, ",");
        orr_csv_add(log, o->size);
        orr_text_add(log, ",%d,%zu,", round, k);
        orr_csv_add(log, x->kernel);
        orr_text_add(log, ",%ux%ux%u,%ux%ux%u,%u,%u,%.3f,%s\n", x->grid[0], x->grid[1], x->grid[2],
                     x->block[0], x->block[1], x->block[2], x->regs, x->shared + x->dynamic_shared, x->us,
                     o->e.status ? "no" : "yes");
    }
}

// One round of a script. Keeps the shortest time of each launch.
static void one_round(measuring *m, orr_script *s, outcome *o, int round) {
    orr_backend b = orr_hw_backend(m->h);
    const orr_hw_time *times;
    orr_script_run(s, &b, !m->o->in.no_check, &o->stats, &o->e);
    size_t n = orr_hw_times(m->h, &times);
    log_round(&m->log, o, round, times, n);
    bool first = !o->times;
    if (first) {
        o->times = orr_calloc(n + 1, sizeof *o->times);
        o->ntimes = n;
    }
    if (n < o->ntimes) o->ntimes = n; // atomics in another order may save a host-driven loop a round
    for (size_t k = 0; k < o->ntimes; k++) {
        if (first) {
            o->times[k] = times[k];
            o->times[k].kernel = orr_arena_strdup(&m->names, times[k].kernel);
        } else if (times[k].us < o->times[k].us) {
            o->times[k].us = times[k].us;
        }
    }
}

// All rounds of one input. After a kernel that faulted the driver takes no more work from this process
// (seen on Hopper with driver 13.0: even a new context is refused), so what follows is not run.
static void run_input(measuring *m, outcome *out) {
    double start = orr_seconds();
    const orr_options *o = m->o;
    if (m->broken) {
        orr_fail(&out->e, ORR_BAD_INPUT, "not run: after the fault above the driver takes no more work");
        return;
    }
    const orr_hw_info *info = orr_hw_get_info(m->h);
    unsigned sm = (unsigned)(info->major * 10 + info->minor);
    orr_script *s = orr_input_script(&o->in, out->input, sm, &out->e);
    if (s) orr_script_plain(s);
    if (s) out->size = orr_arena_strdup(&m->names, orr_script_size(s));
    if (s && o->run.digests) orr_script_digests(s, &m->digests);
    for (int k = 0; s && k < o->lab.repeat && !out->e.status; k++) {
        one_round(m, s, out, k);
        if (!orr_hw_reset(m->h)) m->broken = true;
    }
    orr_script_free(s);
    for (size_t k = 0; k < out->ntimes; k++) out->us += out->times[k].us;
    out->wall = orr_seconds() - start;
}

// ---- text -----------------------------------------------------------------------------------
static const char *shape(char buf[48], const uint32_t d[3]) {
    if (d[2] > 1)
        snprintf(buf, 48, "%u,%u,%u", d[0], d[1], d[2]);
    else if (d[1] > 1)
        snprintf(buf, 48, "%u,%u", d[0], d[1]);
    else
        snprintf(buf, 48, "%u", d[0]);
    return buf;
}

static int widest(const outcome *o) {
    int w = 6;
    for (size_t k = 0; k < o->ntimes; k++) {
        int n = (int)strlen(o->times[k].kernel);
        if (n > w) w = n < 40 ? n : 40;
    }
    return w;
}

static void print_launches(orr_text *t, const outcome *o) {
    char g[48], b[48];
    int w = widest(o);
    orr_text_add(t, "%8s  %-*s %14s %12s %6s %8s %12s\n", "launch", w, "kernel", "grid", "block", "regs",
                 "shared", "time us");
    for (size_t k = 0; k < o->ntimes && k < MOST_ROWS; k++) {
        const orr_hw_time *x = &o->times[k];
        orr_text_add(t, "%8zu  %-*.40s %14s %12s %6u %8u %12.2f\n", k, w, x->kernel, shape(g, x->grid),
                     shape(b, x->block), x->regs, x->shared + x->dynamic_shared, x->us);
    }
    if (o->ntimes > MOST_ROWS)
        orr_text_add(t, "%8s  and %zu more launches; --json lists all\n", "...", o->ntimes - MOST_ROWS);
    orr_text_add(t, "%8s  %-*s %14s %12s %6s %8s %12.2f\n", "total", w, "", "", "", "", "", o->us);
}

// Everything that was launched more than once, by kernel.
static void print_kernels(orr_text *t, const outcome *o) {
    int w = widest(o);
    bool *seen = orr_calloc(o->ntimes + 1, sizeof *seen);
    orr_text_add(t, "\n%8s  %-*s %12s %12s %12s %12s\n", "launches", w, "kernel", "least us", "mean us",
                 "most us", "sum us");
    for (size_t k = 0; k < o->ntimes; k++) {
        if (seen[k]) continue;
        double sum = 0, least = o->times[k].us, most = least;
        size_t n = 0;
        for (size_t j = k; j < o->ntimes; j++) {
            if (strcmp(o->times[j].kernel, o->times[k].kernel)) continue;
            double us = o->times[j].us;
            seen[j] = true;
            n++;
            sum += us;
            if (us < least) least = us;
            if (us > most) most = us;
        }
        orr_text_add(t, "%8zu  %-*.40s %12.2f %12.2f %12.2f %12.2f\n", n, w, o->times[k].kernel, least,
                     sum / (double)n, most, sum);
    }
    free(seen);
}

static void print_one(orr_text *t, const outcome *o, bool checked) {
    orr_text_add(t, "%s%s%s\n\n", o->input, *o->size ? ", size " : "", o->size);
    if (o->ntimes) print_launches(t, o);
    if (o->ntimes > MOST_ROWS) print_kernels(t, o);
    orr_text_add(t, "\n");
    if (o->e.status)
        orr_text_add(t, "wrong: %s\n", o->e.text);
    else if (!checked)
        orr_text_add(t, "not checked\n");
    else
        orr_text_add(t, "right: %u expectations hold%s\n", o->stats.checked,
                     o->stats.unchecked ? "; those in files do not apply with --set" : "");
}

static void print_many(orr_text *t, const outcome *o, size_t n) {
    int w = 8;
    for (size_t k = 0; k < n; k++) {
        if ((int)strlen(o[k].input) > w) w = (int)strlen(o[k].input);
    }
    orr_text_add(t, "%-*s %-8s %9s %14s %7s  %s\n", w, "script", "size", "launches", "time us", "checks",
                 "result");
    for (size_t k = 0; k < n; k++) {
        orr_text_add(t, "%-*s %-8s %9zu %14.2f %7u  %s\n", w, o[k].input, o[k].size, o[k].ntimes, o[k].us,
                     o[k].stats.checked, o[k].e.status ? o[k].e.text : "right");
    }
}

// ---- JSON -----------------------------------------------------------------------------------
static void json_one(orr_text *t, const outcome *o) {
    orr_text_add(t, "{\"script\": ");
    orr_text_json(t, o->input);
    orr_text_add(t, ", \"size\": ");
    orr_text_json(t, o->size);
    orr_text_add(t, ", \"source\": \"ptx\", \"right\": %s, \"checked\": %u", o->e.status ? "false" : "true",
                 o->stats.checked);
    if (o->e.status) {
        orr_text_add(t, ", \"error\": ");
        orr_text_json(t, o->e.text);
    }
    orr_text_add(t, ",\n   \"launches\": [");
    for (size_t k = 0; k < o->ntimes; k++) {
        const orr_hw_time *x = &o->times[k];
        orr_text_add(t, "%s\n    {\"kernel\": ", k ? "," : "");
        orr_text_json(t, x->kernel);
        orr_text_add(t,
                     ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared_bytes\": %u, "
                     "\"dynamic_shared_bytes\": %u, \"registers\": %u",
                     x->grid[0], x->grid[1], x->grid[2], x->block[0], x->block[1], x->block[2], x->shared,
                     x->dynamic_shared, x->regs);
        orr_text_add(t, ", \"line\": %d, \"time_ns\": %.1f}", x->line, x->us * 1000);
    }
    orr_text_add(t,
                 "],\n   \"totals\": {\"launches\": %zu, \"time_ns\": %.1f, \"buffer_bytes\": %" PRIu64
                 "}, \"host\": {\"seconds\": %.3f}}",
                 o->ntimes, o->us * 1000, o->stats.buffer_bytes, o->wall);
}

static void json_all(orr_text *t, const outcome *o, size_t n, size_t right, const orr_hw_info *i,
                     int repeat) {
    orr_text_add(t, "{\"gpu\": ");
    orr_text_json(t, i->name);
    orr_text_add(t,
                 ", \"model\": \"hardware\", \"compute_capability\": \"%d.%d\", \"sm_count\": %d, "
                 "\"driver\": \"%d.%d\", \"repeat\": %d,\n \"results\": [",
                 i->major, i->minor, i->sms, i->driver / 1000, i->driver % 1000 / 10, repeat);
    for (size_t k = 0; k < n; k++) {
        orr_text_add(t, "%s\n  ", k ? "," : "");
        json_one(t, &o[k]);
    }
    orr_text_add(t, "],\n \"right\": %zu, \"of\": %zu}\n", right, n);
}

// ---- the job --------------------------------------------------------------------------------
static orr_report *report(const outcome *out, size_t n, const orr_hw_info *info, const orr_options *o,
                          bool table) {
    orr_text text = {0}, json = {0};
    size_t right = 0;
    for (size_t k = 0; k < n; k++) right += !out[k].e.status;
    json_all(&json, out, n, right, info, o->lab.repeat);
    orr_text_add(&text, "%s, compute capability %d.%d, %d SMs, CUDA driver %d.%d\n", info->name, info->major,
                 info->minor, info->sms, info->driver / 1000, info->driver % 1000 / 10);
    if (n == 1)
        print_one(&text, &out[0], !o->in.no_check);
    else
        print_many(&text, out, n);
    if (table) orr_text_add(&text, "%zu of %zu scripts right\n", right, n);
    return orr_report_of(text, json);
}

// The first failure of one script; of several, that there are some.
static void tell(const outcome *out, size_t n, orr_err *e) {
    size_t failed = 0, first = 0;
    int status = 0;
    for (size_t k = 0; k < n; k++) {
        if (!out[k].e.status) continue;
        if (!failed++) first = k;
        if (status != ORR_PROGRAM_FAILED) status = out[k].e.status;
    }
    if (failed && n == 1)
        *e = out[0].e;
    else if (failed)
        orr_fail(e, status, "hw run: %zu of %zu scripts failed; the first: %.300s: %.600s", failed, n,
                 out[first].input, out[first].e.text);
}

orr_report *orr_measure(const char *const *inputs, int n, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    measuring m = {.o = orr_asked(o)};
    bool all = !n;
    if (all) inputs = orr_list_workloads(&m.names, &n);
    size_t many = (size_t)n;
    outcome *out = orr_calloc(many + 1, sizeof *out);
    orr_progress progress = {0};
    orr_report *r = NULL;
    const char *digests = m.o->run.digests;
    m.h = orr_hw_open(e);
    orr_text_add(&m.digests, ORR_DIGESTS_HEAD);
    orr_text_add(&m.log, "script,size,round,launch,kernel,grid,block,registers,shared,time_us,right\n");
    if (m.h) orr_progress_start(&progress, m.o->watcher, "hw run", "scripts", "", many);
    size_t done = 0;
    for (size_t k = 0; m.h && k < many && orr_progress_go(&progress, e); k++) {
        out[k] = (outcome){.input = inputs[k], .size = ""};
        run_input(&m, &out[k]);
        orr_progress_step(&progress, done = k + 1);
    }
    orr_progress_end(&progress);
    bool stopped = e->status == ORR_STOPPED && done; // what was measured by then
    if (stopped || (!e->status && (!digests || orr_write_file(digests, m.digests.s, m.digests.n, e)))) {
        r = report(out, done, orr_hw_get_info(m.h), m.o, all || many > 1);
        orr_report_add(r, ORR_LOG, m.log);
        m.log = (orr_text){0};
        tell(out, done, e);
    }
    orr_hw_close(m.h);
    free(m.log.s);
    free(m.digests.s);
    for (size_t k = 0; k < many; k++) free(out[k].times);
    free(out);
    orr_arena_free(&m.names);
    return r;
}
