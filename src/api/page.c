// orr_page: kept reports as one page for the browser. Runs are shown next to each other; the report of
// another job has a page of its own. A page shows what went on over time in a kernel's longest launch alone,
// so that the details of the other launches are left out: a thousand of them are a few hundred kB.
#include "api/api.h"
#include "launch/launch.h"
#include "report/html.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RUNS   16
#define MOST_FILES 64 // that a report without sources names

// ---- a run, cut to what a page shows of it ----------------------------------------------------------
static const char *kernel_of(const orr_json *launch) {
    const orr_json *name = orr_json_at(launch, "/kernel");
    const char *text = name ? orr_json_string(name) : NULL;
    return text ? text : "";
}

static double time_of(const orr_json *launch) {
    const orr_json *time = orr_json_at(launch, "/time_ns");
    return time ? orr_json_number(time) : 0;
}

static void print_launch(const orr_json *launch, bool whole, orr_text *out) {
    static const char shown[] =
        " kernel demangled index grid block dynamic_shared range cycles time_ns warp_insts "
        "thread_insts occupancy estimated events stopped blocks_done ";
    bool first = true;
    orr_text_add(out, "{");
    for (const orr_json *x = orr_json_first(launch); x; x = orr_json_next(x)) {
        char word[32];
        const char *key = orr_json_key(x);
        if (!key) continue;
        snprintf(word, sizeof word, " %.28s ", key);
        if (!whole && !strstr(shown, word)) continue;
        if (!first) orr_text_add(out, ",");
        first = false;
        orr_text_json(out, key);
        orr_text_add(out, ": ");
        orr_json_print(x, out);
    }
    orr_text_add(out, "}");
}

static void print_launches(const orr_json *launches, orr_text *out) {
    orr_map longest = {0}; // of each kernel
    for (const orr_json *l = orr_json_first(launches); l; l = orr_json_next(l)) {
        const orr_json *best = orr_map_get(&longest, kernel_of(l));
        if (!best || time_of(l) > time_of(best)) orr_map_put(&longest, kernel_of(l), (void *)l);
    }
    orr_text_add(out, "[");
    for (const orr_json *l = orr_json_first(launches); l; l = orr_json_next(l)) {
        print_launch(l, orr_map_get(&longest, kernel_of(l)) == l, out);
        if (orr_json_next(l)) orr_text_add(out, ",\n");
    }
    orr_text_add(out, "]");
    orr_map_free(&longest);
}

// A report that was kept without its sources: those that its lines name are looked for.
static void print_sources(const orr_json *run, orr_text *out) {
    const char *names[MOST_FILES];
    size_t n = 0;
    orr_arena a = {0};
    orr_map seen = {0};
    orr_err none = {0};
    for (const orr_json *k = orr_json_first(orr_json_at(run, "/kernels")); k; k = orr_json_next(k))
        for (const orr_json *l = orr_json_first(orr_json_at(k, "/lines")); l; l = orr_json_next(l)) {
            const orr_json *file = orr_json_at(l, "/file");
            const char *name = file ? orr_json_string(file) : NULL;
            if (name && n < MOST_FILES && orr_map_put(&seen, name, (void *)1)) names[n++] = name;
        }
    const orr_json *input = orr_json_at(run, "/input");
    const char *what = input ? orr_json_string(input) : NULL, *script = NULL;
    if (what) script = orr_find_workload(&a, what, &none);
    orr_report_sources(names, n, script ? script : what ? what : "", out);
    orr_map_free(&seen);
    orr_arena_free(&a);
}

void orr_page_cut(const orr_json *run, orr_text *out) {
    orr_text_add(out, "{");
    if (!orr_json_at(run, "/sources")) {
        print_sources(run, out);
        orr_text_add(out, ",\n");
    }
    for (const orr_json *x = orr_json_first(run); x; x = orr_json_next(x)) {
        orr_text_json(out, orr_json_key(x));
        orr_text_add(out, ": ");
        if (strcmp(orr_json_key(x), "launches") == 0)
            print_launches(x, out);
        else
            orr_json_print(x, out);
        if (orr_json_next(x)) orr_text_add(out, ",\n");
    }
    orr_text_add(out, "}");
}

// ---- reports ------------------------------------------------------------------------------------
static bool is_object(const orr_json *j) {
    return j && orr_json_count(j) > 0 && orr_json_key(orr_json_first(j));
}

static bool is_run(const orr_json *j) {
    const orr_json *launches = is_object(j) ? orr_json_at(j, "/launches") : NULL;
    return launches && orr_json_count(launches) >= 0 && is_object(orr_json_at(j, "/totals"));
}

// What job a report is of that is none of a run; NULL: of none.
static const char *kind_of(const orr_json *j) {
    static const struct {
        const char *kind, *has;
    } kinds[] = {{"compare", "/inputs"},       {"sweep", "/points"},
                 {"explain", "/ideals"},       {"diff", "/causes"},
                 {"correlate", "/by_launch"},  {"sample profile", "/clusters"},
                 {"sample model", "/studies"}, {"sample study", "/full/cpu_seconds"}};
    if (j && !is_object(j)) j = orr_json_first(j); // of several: the first says it
    for (size_t k = 0; is_object(j) && k < sizeof kinds / sizeof kinds[0]; k++)
        if (orr_json_at(j, kinds[k].has)) return kinds[k].kind;
    return NULL;
}

typedef ORR_VEC(char *) run_texts;

static void add_run(run_texts *all, const orr_json *run) {
    orr_text text = {0};
    orr_page_cut(run, &text);
    *ORR_PUSH(all) = text.s;
}

// A report of a run, or several in an array; what is of another job fills the page alone.
static bool add_report(run_texts *all, const char *text, bool alone, orr_text *page) {
    orr_arena arena = {0};
    const orr_json *json = orr_json_parse(text, &arena), *x = orr_json_first(json);
    bool array = x && !orr_json_key(x), ok = is_run(json) || array;
    for (; array && x; x = orr_json_next(x)) ok = ok && is_run(x);
    if (ok && array)
        for (x = orr_json_first(json); x; x = orr_json_next(x)) add_run(all, x);
    else if (ok)
        add_run(all, json);
    const char *kind = ok || !alone || !json ? NULL : kind_of(json);
    if (kind) orr_html_job(kind, text, page);
    orr_arena_free(&arena);
    return ok || kind;
}

orr_report *orr_page(const char *const *reports, int n, orr_err *e) {
    if (e->status) return NULL;
    run_texts runs = {0};
    orr_text page = {0};
    for (int i = 0; i < n && !e->status; i++)
        if (!add_report(&runs, reports[i], n == 1, &page))
            orr_fail(e, ORR_BAD_INPUT,
                     "page: report %d is none of `orrery run --json`, nor, alone, of compare, correlate, "
                     "diff, explain, "
                     "sample or sweep",
                     i + 1);
    if (!e->status && !page.n && (runs.n < 1 || runs.n > MAX_RUNS))
        orr_fail(e, ORR_BAD_INPUT, "page: from 1 to %d runs fit on a page, and there are %d", MAX_RUNS,
                 (int)runs.n);
    if (!e->status && !page.n) orr_html_runs((const char *const *)runs.at, (int)runs.n, &page);
    for (size_t i = 0; i < runs.n; i++) free(runs.at[i]);
    free(runs.at);
    if (e->status) {
        free(page.s);
        return NULL;
    }
    orr_report *r = orr_report_new(NULL, NULL, NULL);
    orr_report_add(r, ORR_HTML, page);
    return r;
}
