// An explanation as text and JSON (explain.h).
#include "explain/explain.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ADVICE 0.02 // of the time: what is worth less is no advice
#define MOST_ADVICE  6
#define TOP_LINES    3

static double both_alone(const orr_explanation *x, const orr_trial *t) {
    return orr_trial_gain(x, &x->trials.at[t->first + 1]) + orr_trial_gain(x, &x->trials.at[t->second + 1]);
}

// Together clearly more than each alone: one hides the other.
static bool hide_each_other(const orr_explanation *x, const orr_trial *t) {
    return !t->failed && orr_trial_gain(x, t) > both_alone(x, t) + LEAST_ADVICE;
}

// ---- in order of worth ------------------------------------------------------------------------------
typedef struct ranked {
    double gain;
    size_t trial;
} ranked;
static int by_gain(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->gain != y->gain) return x->gain < y->gain ? 1 : -1;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

static ranked *rank(const orr_explanation *x, size_t first, size_t n) {
    ranked *all = orr_calloc(n + 1, sizeof *all);
    for (size_t k = 0; k < n; k++) all[k] = (ranked){orr_trial_gain(x, &x->trials.at[first + k]), first + k};
    qsort(all, n, sizeof *all, by_gain);
    return all;
}

// Lines of a kernel that a trial saves most on.
typedef struct saved {
    const orr_trial_line *line;
    double cycles;
} saved;
static int by_saved(const void *a, const void *b) {
    const saved *x = a, *y = b;
    if (x->cycles != y->cycles) return x->cycles < y->cycles ? 1 : -1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static double cycles_at(const orr_trial_kernel *k, const orr_trial_line *l) {
    for (size_t n = 0; n < k->nlines; n++) {
        const orr_trial_line *o = &k->lines[n];
        if (o->line == l->line && (o->file == l->file || (o->file && l->file && !strcmp(o->file, l->file))))
            return o->cycles;
    }
    return 0;
}

static size_t top_saved(const orr_trial_kernel *base, const orr_trial_kernel *k, saved to[TOP_LINES]) {
    saved *all = orr_calloc(base->nlines + 1, sizeof *all);
    size_t n = 0;
    for (size_t l = 0; l < base->nlines; l++) {
        double v = base->lines[l].cycles - cycles_at(k, &base->lines[l]);
        if (v > 0) all[n++] = (saved){&base->lines[l], v};
    }
    qsort(all, n, sizeof *all, by_saved);
    if (n > TOP_LINES) n = TOP_LINES;
    if (n) memcpy(to, all, n * sizeof *all);
    free(all);
    return n;
}

// ---- words --------------------------------------------------------------------------------------------
static void add_place(orr_text *t, const orr_kernel *k, const char *file, uint32_t line) {
    char where[64];
    if (file) page_where(where, file, line);
    if (file)
        orr_text_add(t, "%s", where);
    else if (k && k->machine)
        orr_text_add(t, "0x%x", line);
    else
        orr_text_add(t, "PTX line %u", line);
}

static const char *kind_name(const orr_line_use *u) {
    return u->kind == ORR_ACCESS_ATOMICS ? "atomics" : u->kind == ORR_ACCESS_STORES ? "stores" : "loads";
}

// "stores: 32.0 sectors a request where 4.0 would do"
static void add_facts(orr_text *t, const orr_ideal *i) {
    const char *what = kind_name(i->use);
    switch (i->access) {
    case ORR_ACCESS_IN_ORDER:
    case ORR_ACCESS_PACKED:
        orr_text_add(t, "%s: %.1f sectors a request where %.1f would do", what, i->before, i->after);
        break;
    case ORR_ACCESS_BANKS:
        orr_text_add(t, "%s: %.1f passes over the banks where %.1f would do", what, i->before, i->after);
        break;
    case ORR_ACCESS_STAGED:
    case ORR_ACCESS_ONCE:
        orr_text_add(t, "%s: the block asks for each element %.1f times", what, i->before);
        break;
    default: orr_text_add(t, "%s of shared memory", what); break;
    }
}

static void add_use(orr_text *t, const orr_line_use *u) {
    add_place(t, u->kernel, u->file, u->line);
    if (u->also) orr_text_add(t, " and %u more line%s", u->also, u->also == 1 ? "" : "s");
}

static void add_title(orr_text *t, const orr_ideal *i) {
    if (i->use) add_use(t, i->use);
    orr_text_add(t, "%s%s", i->use ? ": " : "", i->title);
}

static void add_advice(orr_text *t, const orr_explanation *x, const orr_ideal *i, double gain) {
    (void)x;
    if (i->use) {
        add_use(t, i->use);
        orr_text_add(t, ": ");
        add_facts(t, i);
    } else {
        orr_text_add(t, "%s", i->title);
    }
    orr_text_add(t, "; ideal -%.0f %%", 100 * gain);
}

static const orr_ideal *ideal_of(const orr_explanation *x, const ranked *r) {
    return &x->ideals.at[x->trials.at[r->trial].first];
}

// The k-th of those that are ranked is advice: it is worth something, there is something to do, and what goes
// before does not say it of more lines.
static bool is_advice(const orr_explanation *x, const ranked *all, size_t k) {
    const orr_ideal *i = ideal_of(x, &all[k]);
    for (size_t n = 0; n < k && i->use; n++) {
        const orr_ideal *o = ideal_of(x, &all[n]);
        if (o->use && o->use->also && o->access == i->access && o->use->kernel == i->use->kernel)
            return false;
    }
    return all[k].gain >= LEAST_ADVICE && i->advice;
}

// ---- text ---------------------------------------------------------------------------------------------
static void text_kernels(const orr_explanation *x, orr_text *out) {
    const orr_trial *base = &x->trials.at[0];
    for (size_t k = 0; k < base->nkernels; k++) {
        const orr_trial_kernel *n = &base->kernels[k];
        page_sources sources = page_sources_of(n->kernel->module);
        char name[120], time[32], cycles[32], source[64];
        orr_text_add(out, "%s  %s, %s cycles (%.0f %% of all)\n  bound by %s\n", page_name(name, n->name),
                     page_time(time, n->time_ns), orr_commas(cycles, (uint64_t)llround(n->cycles)),
                     base->cycles > 0 ? 100 * n->cycles / base->cycles : 0, n->verdict);
        for (size_t l = 0; l < n->nlines && l < TOP_LINES; l++) {
            const orr_trial_line *line = &n->lines[l];
            page_source_line(&sources, line->file, line->line, source);
            orr_text_add(out, "  %5.1f %%  ", n->cycles > 0 ? 100 * line->cycles / n->cycles : 0);
            add_place(out, n->kernel, line->file, line->line);
            orr_text_add(out, "  %s\n", source);
        }
        page_sources_free(&sources);
    }
}

static void text_row(const orr_explanation *x, const ranked *r, orr_text *out) {
    const orr_trial *t = &x->trials.at[r->trial], *base = &x->trials.at[0];
    const orr_ideal *i = &x->ideals.at[t->first];
    char time[32];
    if (t->failed) {
        orr_text_add(out, "  %-15s %10s %8s  ", i->name, "-", "-");
        add_title(out, i);
        orr_text_add(out, ": %s\n", t->message);
        return;
    }
    orr_text_add(out, "  %-15s %10s %+6.1f %%  ", i->name, page_time(time, t->time_ns), -100 * r->gain);
    add_title(out, i);
    orr_text_add(out, "\n");
    for (size_t k = 0; r->gain >= LEAST_ADVICE && k < t->nkernels && k < base->nkernels; k++) {
        saved top[TOP_LINES];
        size_t n = top_saved(&base->kernels[k], &t->kernels[k], top);
        for (size_t l = 0; l < n && top[l].cycles >= LEAST_ADVICE * base->cycles; l++) {
            orr_text_add(out, "  %26s %+6.1f %%    ", "", -100 * top[l].cycles / base->cycles);
            add_place(out, base->kernels[k].kernel, top[l].line->file, top[l].line->line);
            orr_text_add(out, "\n");
        }
    }
}

static void add_short(orr_text *t, const orr_ideal *i) { // "once (histogram.cu:5)"
    orr_text_add(t, "%s", i->name);
    if (!i->use) return;
    orr_text_add(t, " (");
    add_use(t, i->use);
    orr_text_add(t, ")");
}

static void text_pairs(const orr_explanation *x, orr_text *out) {
    ranked *all = rank(x, x->trials.n - x->npairs, x->npairs);
    if (x->npairs) orr_text_add(out, "\ntwo at once\n");
    for (size_t k = 0; k < x->npairs; k++) {
        const orr_trial *t = &x->trials.at[all[k].trial];
        if (t->failed) continue;
        orr_text_add(out, "  %+6.1f %%  (%+.1f %% if they added up)  ", -100 * all[k].gain,
                     -100 * both_alone(x, t));
        add_short(out, &x->ideals.at[t->first]);
        orr_text_add(out, ", ");
        add_short(out, &x->ideals.at[t->second]);
        orr_text_add(out, "%s\n", hide_each_other(x, t) ? "  (they hide each other: do both)" : "");
    }
    free(all);
}

static void text_advice(const orr_explanation *x, const ranked *all, orr_text *out) {
    int n = 0;
    orr_text_add(out, "\nwhat to do\n");
    for (size_t k = 0; k < x->ideals.n && n < MOST_ADVICE; k++) {
        const orr_ideal *i = ideal_of(x, &all[k]);
        if (!is_advice(x, all, k)) continue;
        orr_text_add(out, "  %d. ", ++n);
        add_advice(out, x, i, all[k].gain);
        orr_text_add(out, "\n     %s\n", i->advice);
    }
    if (x->stopped)
        orr_text_add(out, "  Not everything was tried: it was stopped.\n");
    else if (!n)
        orr_text_add(out, "  Nothing that was made ideal is worth %.0f %% of the time.\n",
                     100 * LEAST_ADVICE);
}

void orr_explanation_text(const orr_explanation *x, orr_text *out) {
    ranked *all = rank(x, 1, x->ideals.n);
    char time[32];
    orr_text_add(out, "%s%s%s on %s, model %s, %s: %s\n\n", x->input, x->size && *x->size ? ", " : "",
                 x->size ? x->size : "", x->gpu, x->model, x->source,
                 page_time(time, x->trials.at[0].time_ns));
    text_kernels(x, out);
    orr_text_add(out, "\n  %-15s %10s %8s\n", "what if", "time", "");
    for (size_t k = 0; k < x->ideals.n; k++) text_row(x, &all[k], out);
    text_pairs(x, out);
    text_advice(x, all, out);
    orr_text_add(out, "\nhost      %.2f s for %zu runs of one execution (%.2f s)\n", x->seconds, x->trials.n,
                 x->execute_seconds);
    free(all);
}

// ---- JSON -----------------------------------------------------------------------------------------------
static void number(orr_text *t, const char *key, double v) {
    if (isnan(v) || isinf(v))
        orr_text_add(t, "\"%s\": null", key);
    else
        orr_text_add(t, "\"%s\": %.15g", key, v);
}

static void string(orr_text *t, const char *key, const char *v) {
    orr_text_add(t, "\"%s\": ", key);
    if (v)
        orr_text_json(t, v);
    else
        orr_text_add(t, "null");
}

static void json_place(orr_text *t, const char *file, uint32_t line) {
    string(t, "file", file);
    orr_text_add(t, ", \"line\": %u", line);
}

static void json_kernels(const orr_explanation *x, orr_text *t) {
    const orr_trial *base = &x->trials.at[0];
    orr_text_add(t, "  \"kernels\": [");
    for (size_t k = 0; k < base->nkernels; k++) {
        const orr_trial_kernel *n = &base->kernels[k];
        orr_text_add(t, "%s\n    {", k ? "," : "");
        string(t, "kernel", n->name);
        orr_text_add(t, ", ");
        number(t, "cycles", n->cycles);
        orr_text_add(t, ", ");
        number(t, "time_ns", n->time_ns);
        orr_text_add(t, ", ");
        string(t, "verdict", n->verdict);
        orr_text_add(t, ", \"lines\": [");
        for (size_t l = 0; l < n->nlines; l++) {
            orr_text_add(t, "%s{", l ? ", " : "");
            json_place(t, n->lines[l].file, n->lines[l].line);
            orr_text_add(t, ", ");
            number(t, "cycles", n->lines[l].cycles);
            orr_text_add(t, "}");
        }
        orr_text_add(t, "]}");
    }
    orr_text_add(t, "\n  ],\n");
}

static void json_outcome(const orr_explanation *x, const orr_trial *run, orr_text *t) {
    if (run->failed) {
        string(t, "message", run->message);
        return;
    }
    number(t, "cycles", run->cycles);
    orr_text_add(t, ", ");
    number(t, "time_ns", run->time_ns);
    orr_text_add(t, ", ");
    number(t, "saves_percent", 100 * orr_trial_gain(x, run));
}

static void json_lines(const orr_explanation *x, const orr_trial *run, orr_text *t) {
    const orr_trial *base = &x->trials.at[0];
    bool first = true;
    orr_text_add(t, ", \"lines\": [");
    for (size_t k = 0; !run->failed && k < run->nkernels && k < base->nkernels; k++) {
        saved top[TOP_LINES];
        size_t n = top_saved(&base->kernels[k], &run->kernels[k], top);
        for (size_t l = 0; l < n; l++, first = false) {
            orr_text_add(t, "%s{", first ? "" : ", ");
            string(t, "kernel", base->kernels[k].name);
            orr_text_add(t, ", ");
            json_place(t, top[l].line->file, top[l].line->line);
            orr_text_add(t, ", ");
            number(t, "saves_cycles", top[l].cycles);
            orr_text_add(t, "}");
        }
    }
    orr_text_add(t, "]");
}

static void json_ideal(const orr_explanation *x, size_t trial, orr_text *t) {
    const orr_trial *run = &x->trials.at[trial];
    const orr_ideal *i = &x->ideals.at[run->first];
    orr_text_add(t, "    {");
    string(t, "name", i->name);
    orr_text_add(t, ", ");
    string(t, "title", i->title);
    orr_text_add(t, ", ");
    string(t, "advice", i->advice);
    orr_text_add(t, ", \"set\": [");
    for (int s = 0; s < i->nsets; s++) {
        orr_text_add(t, s ? ", " : "");
        orr_text_json(t, i->sets[s]);
    }
    orr_text_add(t, "], ");
    if (i->use) {
        string(t, "kernel", i->use->kernel->name);
        orr_text_add(t, ", ");
        json_place(t, i->use->file, i->use->line);
        if (i->use->also) orr_text_add(t, ", \"more_lines\": %u", i->use->also);
        orr_text_add(t, ", \"space\": \"%s\", \"access\": \"%s\", ",
                     i->use->space == ORR_SPACE_SHARED ? "shared" : "global", kind_name(i->use));
        number(t, "before", i->before);
        orr_text_add(t, ", ");
        number(t, "after", i->after);
        orr_text_add(t, ", ");
    }
    json_outcome(x, run, t);
    json_lines(x, run, t);
    orr_text_add(t, "}");
}

static void json_pairs(const orr_explanation *x, orr_text *t) {
    ranked *all = rank(x, x->trials.n - x->npairs, x->npairs);
    orr_text_add(t, "  \"pairs\": [");
    for (size_t k = 0; k < x->npairs; k++) {
        const orr_trial *run = &x->trials.at[all[k].trial];
        orr_text_add(t, "%s\n    {\"first\": %d, \"second\": %d, ", k ? "," : "", run->first, run->second);
        json_outcome(x, run, t);
        orr_text_add(t, ", ");
        number(t, "sum_percent", 100 * both_alone(x, run));
        orr_text_add(t, ", \"hide_each_other\": %s}", hide_each_other(x, run) ? "true" : "false");
    }
    orr_text_add(t, "\n  ],\n");
    free(all);
}

static void json_advice(const orr_explanation *x, orr_text *t) {
    ranked *all = rank(x, 1, x->ideals.n);
    bool first = true;
    orr_text_add(t, "  \"advice\": [");
    for (size_t k = 0; k < x->ideals.n; k++) {
        const orr_ideal *i = ideal_of(x, &all[k]);
        orr_text words = {0};
        if (!is_advice(x, all, k)) continue;
        add_advice(&words, x, i, all[k].gain);
        orr_text_add(t, "%s\n    {", first ? "" : ",");
        first = false;
        string(t, "text", words.s);
        orr_text_add(t, ", ");
        string(t, "do", i->advice);
        orr_text_add(t, ", \"ideal\": %d, ", x->trials.at[all[k].trial].first);
        number(t, "saves_percent", 100 * all[k].gain);
        orr_text_add(t, "}");
        free(words.s);
    }
    orr_text_add(t, "\n  ],\n");
    free(all);
}

void orr_explanation_json(const orr_explanation *x, orr_text *out) {
    const char *const keys[] = {"input", "size", "gpu", "model", "source"};
    const char *const texts[] = {x->input, x->size, x->gpu, x->model, x->source};
    orr_text_add(out, "{\n");
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        orr_text_add(out, "  ");
        string(out, keys[k], texts[k]);
        orr_text_add(out, ",\n");
    }
    orr_text_add(out, "  ");
    number(out, "cycles", x->trials.at[0].cycles);
    orr_text_add(out, ",\n  ");
    number(out, "time_ns", x->trials.at[0].time_ns);
    orr_text_add(out, ",\n");
    json_kernels(x, out);
    orr_text_add(out, "  \"ideals\": [\n");
    for (size_t k = 0; k < x->ideals.n; k++) {
        json_ideal(x, k + 1, out);
        orr_text_add(out, "%s\n", k + 1 < x->ideals.n ? "," : "");
    }
    orr_text_add(out, "  ],\n");
    json_pairs(x, out);
    json_advice(x, out);
    orr_text_add(out, "  \"host\": {\"seconds\": %.6f, \"execute_seconds\": %.6f, \"runs\": %zu}\n}\n",
                 x->seconds, x->execute_seconds, x->trials.n);
}
