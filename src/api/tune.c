// orr_tune: a GPU's description from what microbenchmarks found on it (lab/tune.c).
//
// What cannot be read off a reading is found by simulation: for each such key the benchmarks that depend on
// it are simulated with every choice, and the one whose cycles, or what else tells them apart, come nearest
// to the measured ones stays. One key after the other, in the order of the table; the choice of one is kept
// while the next is tried. A simulation that is far off whatever the choice does not tell which is right:
// then the usual one stays, unless another one takes almost half of the error away.
#include "api/api.h"
#include "lab/readings.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_CHOICES 8
#define CLEARLY      0.5 // points by which a choice must be nearer than those before it, which are the usual ones
#define FAR_OFF      25.0 // percent: with a larger mean error nothing is chosen
#define MUCH_LESS    0.6
#define CYCLES       "gpc__cycles_elapsed.max"
#define SLICES       "lts__t_requests.m[ai][xn]"
#define BEYOND       "cycles beyond what every launch takes" // profiler.overhead is found last
static const struct search {
    const char *key;
    const char *choices[MOST_CHOICES];
    const char *script, *kernels; // what is simulated
    const char *counters;         // what is compared, a pattern
} searches[] = {
    {"core.policy", {"gty", "gto", "lrr", "oldest"}, "micro/pipes", "dual_*", CYCLES},
    // Which slice: how full the fullest and the emptiest are; without such counts, by how long they take.
    {"l2.hash", {"ipoly", "xor", "modulo", "shuffle", "fold"}, "micro/gather", "gather", SLICES},
    {"l2.interleave", {"256", "512", "1024"}, "micro/gather", "gather", SLICES},
    {"l2.hash", {"ipoly", "xor", "modulo", "shuffle", "fold"}, "micro/atomics", "*", CYCLES},
    {"l2.interleave", {"256", "512", "1024"}, "micro/atomics", "*", CYCLES},
    {"dram.policy", {"fr-fcfs", "fcfs"}, "micro/bandwidth", "[!h]*", CYCLES}, // not `hot`
    {"dram.write_queue", {"yes", "no"}, "micro/bandwidth", "[!h]*", CYCLES},
    {"l2.invalidate_replicas", {"no", "yes"}, "micro/calls", "local_*", CYCLES},
    {"l2.store_after_fill", {"no", "yes"}, "micro/tables", "read_*", CYCLES},
    {"xbar.merge_stores", {"no", "yes"}, "micro/l1_bandwidth", "pattern_st*", CYCLES},
    {"xbar.queue", {"64", "200"}, "micro/l1_bandwidth", "pattern_st*", CYCLES},
    // Do lines that are looked up together have to lie in different banks of tags, and in how many, if every
    // bit of a line's number counts?
    {"l1.tag_hash", {"", "349525, 699050", "299593, 599186, 1198372"}, "micro/rows", "rows_x", CYCLES},
    {"lsu.replay", {"1", "2", "3", "4"}, "micro/rows", "bank_ld", CYCLES},
    // Where in its period of refreshes memory is when a kernel begins is chance; this is what short ones
    // meet.
    {"dram.refresh_start", {"0", "325", "650", "975", "1300", "1625"}, "micro/start", "line*", BEYOND},
};

typedef struct tuner {
    const orr_options *o;
    const char *const *files;
    int nfiles;
    orr_findings f;
    orr_tuned t;
    orr_text log;
    char conf[96];     // the description so far, for simulations
    orr_hardware read; // what the last one was compared with
    orr_err stopped;   // the watcher has had enough
} tuner;

// ---- what goes in -------------------------------------------------------------------------------
// Findings have a column `metric`, measurements of launches have none.
static bool is_findings(const char *path, orr_err *e) {
    size_t n;
    char *text = orr_read_file(path, (size_t)64 << 20, &n, e);
    if (!text) return false;
    orr_csv c;
    orr_csv_open(&c, path, text, n);
    bool found = orr_csv_row(&c, e) && orr_csv_find(&c, "metric") >= 0;
    orr_csv_close(&c);
    free(text);
    return found && !e->status;
}

static bool read_hardware(const tuner *x, orr_hardware *h, orr_err *e) {
    bool ok = true;
    for (int k = 1; ok && k < x->nfiles; k++) ok = orr_hardware_read(h, x->files[k], e);
    return ok;
}

// ---- simulation ---------------------------------------------------------------------------------
static bool write_conf(tuner *x, orr_err *e) {
    orr_text t = {0};
    orr_tuned_write(&x->t, &x->f, &t);
    bool ok = orr_write_file(x->conf, t.s, t.n, e);
    free(t.s);
    return ok;
}

// The GPU as far as it has been found.
static orr_gpu *described(tuner *x, orr_err *e) {
    orr_text t = {0};
    orr_tuned_write(&x->t, &x->f, &t);
    orr_gpu *g = orr_gpu_parse("what was tuned", t.s, t.n, NULL, 0, e);
    free(t.s);
    return g;
}

static void say(tuner *x, const char *line) {
    orr_text_add(&x->log, "%s\n", line);
    orr_note(&x->o->notes, "tune: %s", line);
}

static bool was_measured(const orr_hardware *h, const char *script) {
    for (size_t k = 0; k < h->rows.n; k++)
        if (!strcmp(h->rows.at[k].script, script)) return true;
    return false;
}

// Simulates some kernels of a script that was measured, with the description so far and one more value, if
// any. False: it was not measured, or cannot be simulated.
static bool simulate(tuner *x, const char *script_name, const char *kernels, const char *set,
                     orr_comparison *c) {
    orr_hardware h = {0};
    orr_err e = {0};
    orr_options *run = orr_options_new();
    const struct {
        const char *name, *value;
    } want[] = {{"gpu", x->conf},     {"model", "cycle"},      {"set", set},
                {"kernels", kernels}, {"script", script_name}, {"no-check", "yes"}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        if (want[k].value) orr_options_set(run, want[k].name, want[k].value, &e);
    run->in.source = x->o->in.source;
    run->in.threads = x->o->in.threads;
    run->in.print = x->o->in.print;
    run->watcher = x->o->watcher;
    bool ok = read_hardware(x, &h, &e) && was_measured(&h, script_name) &&
              orr_correlate_rows(run, &h, c, &e) && !e.status && c->ncounters;
    if (e.status) {
        orr_text t = {0};
        orr_text_add(&t, "%s: cannot be simulated: %s", set ? set : script_name, e.text);
        say(x, t.s);
        free(t.s);
    }
    x->read = h; // names in the comparison are its
    if (e.status == ORR_STOPPED) x->stopped = e;
    orr_options_free(run);
    return ok;
}

static void simulated(tuner *x, orr_comparison *c) {
    orr_compare_free(c);
    orr_hardware_free(&x->read);
}

// Mean error in percent of the cycles that launches take more or less than the middle one, measured against
// simulated; NAN: not known.
static double error_beyond(const orr_comparison *c) {
    double *more = orr_calloc(c->launches.n + 1, sizeof *more), sum = 0, all = 0, middle;
    size_t n = 0;
    for (size_t k = 0; k < c->launches.n; k++) {
        const orr_value *v = &c->launches.at[k].values[0];
        if (isnan(v->measured - v->predicted)) continue;
        more[n++] = v->measured - v->predicted;
        all += v->measured;
    }
    middle = reading_middle(more, n);
    for (size_t k = 0; k < n; k++) sum += fabs(more[k] - middle);
    free(more);
    return n ? 100 * sum / all : NAN;
}

// Mean error in percent of what is compared, with one choice; NAN: not known.
static double try_one(tuner *x, const struct search *s, const char *choice) {
    orr_comparison c = {0};
    orr_text set = {0};
    orr_text_add(&set, "%s=%s", s->key, choice);
    double error = 0;
    int n = 0;
    bool ok = simulate(x, s->script, s->kernels, set.s, &c);
    if (ok && !strcmp(s->counters, BEYOND)) {
        error = error_beyond(&c);
        n = 1;
    } else if (ok)
        for (size_t k = 0; k < c.ncounters; k++)
            if (!fnmatch(s->counters, orr_counters[c.counters[k]].name, 0) && c.by_launch[k].points) {
                error += c.by_launch[k].mape;
                n++;
            }
    simulated(x, &c);
    free(set.s);
    return n ? error / n : NAN;
}

// What a launch costs before its first block starts: the cycles of a kernel of one block that does nothing,
// less those that simulation has for it without such a cost. Of several such launches, the middle one.
static bool fit_overhead(tuner *x, orr_err *e) {
    orr_comparison c = {0};
    const orr_value *found[64];
    size_t n = 0;
    if (!write_conf(x, e)) return false;
    if (simulate(x, "micro/blocks", "empty", "profiler.overhead=0", &c)) {
        for (size_t k = 0; k < c.launches.n && n < sizeof found / sizeof *found; k++) {
            const orr_point *p = &c.launches.at[k];
            const orr_value *v = &p->values[0];
            if (p->grid[0] != 1 || isnan(v->measured) || isnan(v->predicted)) continue;
            size_t at = n++; // in order of the difference
            for (; at && found[at - 1]->measured - found[at - 1]->predicted > v->measured - v->predicted;
                 at--)
                found[at] = found[at - 1];
            found[at] = v;
        }
    }
    if (n) {
        size_t had = x->t.keys.n;
        orr_tune_overhead(&x->t, found[n / 2]->measured, found[n / 2]->predicted);
        if (x->t.keys.n > had) say(x, x->t.keys.at[had].why);
    } else {
        say(x, "profiler.overhead: no empty kernel of one block in the measurements of micro/blocks, or not "
               "where it "
               "is now launched; the family's value stays");
    }
    simulated(x, &c);
    return true;
}

// What short kernels on all SMs take besides: code and constants that the SMs of a GPC ask for at once, and
// what else of their beginning nobody has found on this GPU. It is a part of the overhead, by the launches of
// micro/start.
static bool fit_start(tuner *x, orr_err *e) {
    orr_comparison c = {0};
    double sms = orr_finding_value(&x->f, "device.sms", NULL);
    if (!write_conf(x, e)) return false;
    if (simulate(x, "micro/start", "*", NULL, &c)) {
        double *more = orr_calloc(c.launches.n + 1, sizeof *more);
        size_t n = 0;
        for (size_t k = 0; k < c.launches.n; k++) {
            const orr_value *v = &c.launches.at[k].values[0];
            if (c.launches.at[k].grid[0] >= sms && !isnan(v->measured - v->predicted))
                more[n++] = v->measured - v->predicted;
        }
        const char *why = n ? orr_tune_start(&x->t, reading_middle(more, n), n) : NULL;
        if (why) say(x, why);
        free(more);
    }
    simulated(x, &c);
    return true;
}

// Warp cycles for a reason, of each warp: how many more were measured than simulated, in the launches with so
// many blocks that have the reason in simulation: the middle one and the least.
typedef struct waits {
    double middle, least;
} waits;

static waits waits_more(const orr_comparison *c, int counter, uint32_t blocks) {
    double *more = orr_calloc(c->launches.n + 1, sizeof *more);
    size_t n = 0;
    for (size_t i = 0; i < c->ncounters; i++)
        for (size_t k = 0; c->counters[i] == counter && k < c->launches.n; k++) {
            const orr_point *p = &c->launches.at[k];
            const orr_value *v = &p->values[i];
            double warps = (double)blocks * p->block[0] / 32;
            if (p->grid[0] != blocks || !(v->predicted > 0) || isnan(v->measured)) continue;
            more[n++] = (v->measured - v->predicted) / warps;
        }
    waits w = {reading_middle(more, n), n ? more[0] : NAN}; // sorted by now
    free(more);
    return w;
}

// The fewest blocks of a launch that leave no SM without one; 0: all have less.
static uint32_t one_each(const orr_comparison *c, double sms) {
    uint32_t least = 0;
    for (size_t k = 0; k < c->launches.n; k++) {
        uint32_t blocks = c->launches.at[k].grid[0];
        if (blocks >= sms && (!least || blocks < least)) least = blocks;
    }
    return least;
}

static void found(tuner *x, const char *key, double cycles, const char *why) {
    char value[64];
    if (!(cycles >= 0 && cycles < 1000)) return; // not NAN
    snprintf(value, sizeof value, "%.3g cycles", cycles);
    orr_tuned_add(&x->t, key, value, why);
    orr_text line = {0};
    orr_text_add(&line, "%s = %s: %s", key, value, why);
    say(x, line.s);
    free(line.s);
}

// The SMs of a GPC ask for code and parameters at once, and all have them the later the more they are:
// kernels with one block and with one for each SM (micro/start), by the reasons for which their warps
// wait.
static bool fit_code(tuner *x, orr_err *e) {
    static const char *const keys[] = {"launch.code_latency", "launch.gpc_code", "launch.gpc_constants"};
    orr_comparison c = {0};
    double sms = orr_finding_value(&x->f, "device.sms", NULL);
    size_t had = x->t.keys.n;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        orr_tuned_add(&x->t, keys[k], "0 cycles", "not yet");
    orr_gpu *g = described(x, e);
    double others =
        g && g->gpc_count > 1 ? sms / (double)g->gpc_count - 1 : 0; // of a GPC, where all have a block
    orr_gpu_free(g);
    bool ok = g && write_conf(x, e);
    x->t.keys.n = had;
    // Not `starts`, which has other numbers of warps, nor `lines`, whose name ends like that.
    if (ok && others > 0 && simulate(x, "micro/start", "*[!s]", NULL, &c)) {
        // Code that no cache has by chance makes a launch wait longer, never shorter.
        uint32_t every = one_each(&c, sms);
        double one = waits_more(&c, ORR_C_STALLED_FETCH, 1).least,
               all = waits_more(&c, ORR_C_STALLED_FETCH, every).least,
               constants = waits_more(&c, ORR_C_STALLED_CONSTANT, every).middle;
        found(x, keys[0], one, "no_instruction of a block of micro/start, beyond what else is simulated");
        found(x, keys[1], (all - one) / others, "the same of a block on each SM, for each other SM of a GPC");
        found(x, keys[2], constants / others,
              "imc_miss of a block of micro/start on each SM, for each other SM of a GPC");
    }
    simulated(x, &c);
    return ok;
}

static bool search_one(tuner *x, const struct search *s, orr_err *e) {
    for (size_t k = 0; k < x->t.keys.n; k++)
        if (!strcmp(x->t.keys.at[k].key, s->key)) return true; // it could be read off
    orr_text why = {0};
    const char *best = NULL;
    double least = INFINITY, usual = NAN;
    if (!write_conf(x, e)) return false;
    orr_text_add(&why, "simulated %s %s, mean error of %s:", s->script, s->kernels,
                 strcmp(s->counters, CYCLES) ? s->counters : "cycles");
    for (int k = 0; k < MOST_CHOICES && s->choices[k]; k++) {
        double error = try_one(x, s, s->choices[k]);
        if (isnan(error)) break; // neither will the others be
        if (!k) usual = error;
        orr_text_add(&why, " %s %.1f %%", *s->choices[k] ? s->choices[k] : "none", error);
        // By how kernels begin no choice is the usual one.
        if (error < least - (strcmp(s->counters, BEYOND) ? CLEARLY : 0)) {
            least = error;
            best = s->choices[k];
        }
    }
    if (best && least > FAR_OFF && !(least < MUCH_LESS * usual)) {
        orr_text_add(&why, "; too far off to tell, the usual one");
        best = s->choices[0];
    }
    if (best && *best) {
        orr_text line = {0};
        orr_text_add(&line, "%s = %s: %s", s->key, best, why.s);
        say(x, line.s);
        free(line.s);
        line = (orr_text){0};
        orr_text_add(&line, "chosen: by %s", why.s + strlen("simulated "));
        orr_tuned_add(&x->t, s->key, best, line.s);
        free(line.s);
    }
    free(why.s);
    return true;
}

// ---- the job ------------------------------------------------------------------------------------
static bool check(const tuner *x, orr_err *e) {
    if (!x->nfiles)
        return orr_fail(e, ORR_BAD_INPUT,
                        "tune: name the file that `orrery hw micro` wrote, as hardware/h200/micro.csv");
    if (!is_findings(x->files[0], e) && !e->status)
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: there is no column metric: the first file must be of `orrery hw micro`", x->files[0]);
    return !e->status;
}

static bool take_out_refresh(tuner *x, orr_err *e) {
    orr_gpu *g = described(x, e);
    if (g) orr_tune_refresh(&x->t, g);
    orr_gpu_free(g);
    return g != NULL;
}

static bool tune(tuner *x, orr_err *e) {
    orr_hardware h = {0};
    bool ok = orr_findings_read(&x->f, x->files[0], e) && read_hardware(x, &h, e) &&
              orr_tune_readings(&x->f, &h, &x->t, e) && take_out_refresh(x, e);
    orr_hardware_free(&h);
    snprintf(x->conf, sizeof x->conf, "/tmp/orrery-tune-%ld-%p.conf", (long)getpid(), (void *)x);
    if (ok && x->nfiles > 1) ok = fit_overhead(x, e) && fit_code(x, e);
    for (size_t k = 0; ok && !x->stopped.status && x->nfiles > 1 && k < sizeof searches / sizeof *searches;
         k++)
        ok = search_one(x, &searches[k], e);
    if (ok && !x->stopped.status && x->nfiles > 1) ok = fit_start(x, e);
    if (x->stopped.status) *e = x->stopped;
    unlink(x->conf);
    for (size_t k = 0; k < x->t.refused.n; k++) {
        const orr_tuned_key *r = &x->t.refused.at[k];
        orr_text t = {0};
        orr_text_add(&t, "refused: %s = %s, from %s; the family's value stays", r->key, r->value, r->why);
        say(x, t.s);
        free(t.s);
    }
    return ok && !e->status;
}

static void keys_json(orr_text *t, const char *name, const orr_tuned_key *keys, size_t n) {
    orr_text_add(t, ",\n \"%s\": [", name);
    for (size_t k = 0; k < n; k++) {
        orr_text_add(t, "%s\n  {\"key\": ", k ? "," : "");
        orr_text_json(t, keys[k].key);
        orr_text_add(t, ", \"value\": ");
        orr_text_json(t, keys[k].value);
        orr_text_add(t, ", \"why\": ");
        orr_text_json(t, keys[k].why);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "]");
}

static void say_json(const orr_tuned *tuned, orr_text *t) {
    orr_text_add(t, "{\"inherits\": ");
    orr_text_json(t, tuned->family ? tuned->family : "");
    keys_json(t, "keys", tuned->keys.at, tuned->keys.n);
    keys_json(t, "refused", tuned->refused.at, tuned->refused.n);
    orr_text_add(t, ",\n \"missing\": [");
    for (size_t k = 0; k < tuned->missing.n; k++) {
        orr_text_add(t, k ? ", " : "");
        orr_text_json(t, tuned->missing.at[k]);
    }
    orr_text_add(t, "]}\n");
}

orr_report *orr_tune(const char *const *files, int n, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    tuner x = {.o = orr_asked(o), .files = files, .nfiles = n};
    x.t.without = x.o->lab.without;
    orr_text conf = {0}, json = {0};
    orr_report *r = NULL;
    if (check(&x, e) && (tune(&x, e) || e->status == ORR_STOPPED)) { // stopped: what was found until then
        orr_err bad = {0};
        orr_tuned_write(&x.t, &x.f, &conf);
        orr_gpu *g =
            orr_gpu_parse("what was tuned", conf.s, conf.n, NULL, 0, &bad); // it must be one that runs
        orr_gpu_free(g);
        if (bad.status) {
            *e = bad;
        } else {
            say_json(&x.t, &json);
            r = orr_report_of(conf, json);
            orr_text_addn(&x.log, "", 0);
            orr_report_add(r, ORR_LOG, x.log);
        }
    }
    if (!r) {
        free(conf.s);
        free(x.log.s);
    }
    orr_tuned_free(&x.t);
    orr_findings_free(&x.f);
    return r;
}
