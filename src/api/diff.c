// orr_diff: two runs, and where the time went: by cause and by source line.
//
// Both are reports as JSON (ORR_PAGE_DATA of a run that is made here, or what `orrery run --lines --json`
// wrote), so that a run of last week can be compared with one of today. A kernel's time is divided among
// causes by its warp cycles: of the time in which blocks ran, each reason to wait has the share that it has
// of all warp cycles, and what passed before is the launch's. So the parts add up to the whole, and their
// differences to the difference.
//
// Kernels are paired by name, and those that are left in their order. Lines are paired where they have the
// same text (or, where no source is there, the same file and number); a line that has no partner stands
// alone.
#include "api/api.h"
#include "report/html.h"
#include "report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REPORT   (256u << 20) // bytes
#define MOST_LINES   4096         // of a kernel that are compared
#define MOST_KERNELS 512
#define TOP          12 // rows of the text
#define CAUSES       (ORR_STALLS + 1)
#define LAUNCH       ORR_STALLS // the last cause

typedef struct part {
    const char *file, *text; // text: of the source; NULL: not known
    uint32_t line;
    double ns;
    int partner; // of the other side; -1: none
} part;

typedef struct side_kernel {
    const char *name;
    double ns, launches, cause[CAUSES];
    bool causes; // the model says where time went
    part *lines;
    int nlines, partner;
} side_kernel;

typedef struct side {
    const char *name, *gpu, *model, *source;
    char *json;           // the report
    orr_report *run;      // that wrote it; NULL: it was kept
    orr_options *options; // of the run
    const orr_json *tree;
    double ns;
    side_kernel *kernels;
    int nkernels;
    bool stopped; // before its last launch
} side;

typedef struct diff {
    side side[2];
    double limit; // percent; NAN: none
    orr_arena arena;
} diff;

// ---- reading a report ---------------------------------------------------------------------------
static const orr_json *at(const orr_json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const orr_json *at(const orr_json *j, const char *format, ...) {
    char place[400];
    va_list list;
    va_start(list, format);
    vsnprintf(place, sizeof place, format, list);
    va_end(list);
    return j ? orr_json_at(j, place) : NULL;
}

static double number_at(const orr_json *j, const char *place) {
    const orr_json *v = j ? orr_json_at(j, place) : NULL;
    return v ? orr_json_number(v) : (double)NAN;
}
static const char *string_at(const orr_json *j, const char *place) {
    const orr_json *v = j ? orr_json_at(j, place) : NULL;
    return v ? orr_json_string(v) : NULL;
}
static double or_zero(double v) { return isnan(v) ? 0 : v; }

static const char *source_text(const orr_json *sources, const char *file, uint32_t line) {
    orr_text key = {0};
    for (const char *c = file ? file : ""; *c; c++)
        orr_text_add(&key, *c == '~' ? "~0" : *c == '/' ? "~1" : "%c", *c);
    const char *text = NULL;
    if (sources && line) text = string_at(at(sources, "/%s/%u", key.s ? key.s : "", line - 1), "");
    free(key.s);
    while (text && (*text == ' ' || *text == '\t')) text++;
    return text;
}

static void read_lines(diff *d, const side *s, const orr_json *kernel, side_kernel *to) {
    const orr_json *lines = at(kernel, "/lines");
    double warp = number_at(kernel, "/warp_cycles"), cycles = number_at(kernel, "/cycles");
    double running = to->ns * (1 - or_zero(number_at(kernel, "/overhead_cycles")) / cycles);
    int64_t n = lines ? orr_json_count(lines) : 0;
    to->nlines = (int)(n > MOST_LINES ? MOST_LINES : n > 0 ? n : 0);
    to->lines = orr_arena_alloc(&d->arena, ((size_t)to->nlines + 1) * sizeof *to->lines);
    const orr_json *l = orr_json_first(lines);
    for (int k = 0; k < to->nlines; k++, l = orr_json_next(l)) {
        part *p = &to->lines[k];
        double share = number_at(l, "/warp_cycles") / warp;
        *p = (part){
            .file = string_at(l, "/file"), .line = (uint32_t)or_zero(number_at(l, "/line")), .partner = -1};
        p->ns = running * or_zero(share);
        p->text = source_text(at(s->tree, "/sources"), p->file, p->line);
    }
}

static void read_kernel(diff *d, const side *s, const orr_json *kernel, side_kernel *to) {
    double warp = number_at(kernel, "/warp_cycles"), cycles = number_at(kernel, "/cycles");
    const char *name = string_at(kernel, "/kernel");
    *to =
        (side_kernel){.name = name ? name : "?", .ns = or_zero(number_at(kernel, "/time_ns")), .partner = -1};
    double before = or_zero(number_at(kernel, "/overhead_cycles")) / cycles;
    to->launches = or_zero(number_at(kernel, "/launches"));
    to->causes = warp > 0 && cycles > 0;
    for (int c = 0; to->causes && c < ORR_STALLS; c++)
        to->cause[c] = to->ns * (1 - before) *
                       or_zero(number_at(at(kernel, "/stalls/%s", orr_stalls[c].name), "")) / warp;
    if (to->causes) to->cause[LAUNCH] = to->ns * before;
    if (to->causes) read_lines(d, s, kernel, to);
}

// A model that does not say where time goes has launches only: those of a kernel are added up.
static void read_launches(side *s, const orr_json *launches) {
    for (const orr_json *l = orr_json_first(launches); l; l = orr_json_next(l)) {
        const char *name = string_at(l, "/kernel");
        int to = 0;
        while (to < s->nkernels && strcmp(s->kernels[to].name, name ? name : "?") != 0) to++;
        if (to == MOST_KERNELS) continue;
        if (to == s->nkernels)
            s->kernels[s->nkernels++] = (side_kernel){.name = name ? name : "?", .partner = -1};
        s->kernels[to].ns += or_zero(number_at(l, "/time_ns"));
        s->kernels[to].launches++;
    }
}

// A launch that was cut off is no measure of its kernel.
static void leave_out_stopped(const side *s, const orr_json *launches) {
    for (const orr_json *l = orr_json_first(launches); l; l = orr_json_next(l)) {
        const char *name = string_at(l, "/kernel");
        for (int k = 0; orr_json_at(l, "/stopped") && name && k < s->nkernels; k++)
            if (!strcmp(s->kernels[k].name, name)) s->kernels[k].launches = NAN;
    }
}

static bool read_side(diff *d, side *s, const char *what, orr_err *e) {
    s->tree = orr_json_parse(s->json, &d->arena);
    const orr_json *launches = at(s->tree, "/launches"), *kernels = at(s->tree, "/kernels");
    if (!launches || !at(s->tree, "/totals"))
        return orr_fail(e, ORR_BAD_INPUT, "%s: is not a report of `orrery run --json`", what);
    s->name = string_at(s->tree, "/input");
    s->gpu = string_at(s->tree, "/gpu");
    s->model = string_at(s->tree, "/model");
    s->source = string_at(s->tree, "/source");
    s->ns = number_at(s->tree, "/totals/time_ns");
    if (isnan(s->ns))
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: has no times; take a model that predicts them, as --model cycle", what);
    s->kernels = orr_arena_alloc(&d->arena, (MOST_KERNELS + 1) * sizeof *s->kernels);
    for (const orr_json *k = orr_json_first(kernels); k && s->nkernels < MOST_KERNELS; k = orr_json_next(k))
        read_kernel(d, s, k, &s->kernels[s->nkernels++]);
    if (!s->nkernels) read_launches(s, launches);
    leave_out_stopped(s, launches);
    return true;
}

// ---- pairs ------------------------------------------------------------------------------------------
static bool same_line(const part *a, const part *b) {
    if (a->text && b->text) return *a->text && !strcmp(a->text, b->text);
    return a->line == b->line && a->file && b->file && !strcmp(a->file, b->file);
}

static void pair_lines(side_kernel *a, side_kernel *b) {
    for (int i = 0; i < a->nlines; i++)
        for (int j = 0; j < b->nlines && a->lines[i].partner < 0; j++)
            if (b->lines[j].partner < 0 && same_line(&a->lines[i], &b->lines[j])) {
                a->lines[i].partner = j;
                b->lines[j].partner = i;
            }
}

static void pair_kernels(diff *d) {
    side *a = &d->side[0], *b = &d->side[1];
    for (int i = 0; i < a->nkernels; i++)
        for (int j = 0; j < b->nkernels && a->kernels[i].partner < 0; j++)
            if (b->kernels[j].partner < 0 && !strcmp(a->kernels[i].name, b->kernels[j].name)) {
                a->kernels[i].partner = j;
                b->kernels[j].partner = i;
            }
    for (int i = 0, j = 0; i < a->nkernels; i++) {
        if (a->kernels[i].partner >= 0) continue;
        while (j < b->nkernels && b->kernels[j].partner >= 0) j++;
        if (j == b->nkernels) break;
        a->kernels[i].partner = j;
        b->kernels[j].partner = i;
    }
    for (int i = 0; i < a->nkernels; i++)
        if (a->kernels[i].partner >= 0) pair_lines(&a->kernels[i], &b->kernels[a->kernels[i].partner]);
}

// Of two runs of which one was stopped only those kernels are compared that both have launched as often.
static bool keep_what_both_have(diff *d) {
    side *a = &d->side[0], *b = &d->side[1];
    int n = 0;
    for (int i = 0; i < a->nkernels; i++) {
        const side_kernel *k = &a->kernels[i];
        for (int j = 0; j < b->nkernels; j++) {
            if (strcmp(b->kernels[j].name, k->name) != 0 || b->kernels[j].launches != k->launches) continue;
            side_kernel kept = *k, other = b->kernels[j]; // those before n are in pairs already
            a->kernels[i] = a->kernels[n], b->kernels[j] = b->kernels[n];
            a->kernels[n] = kept, b->kernels[n++] = other;
            break;
        }
    }
    a->nkernels = b->nkernels = n;
    a->ns = b->ns = 0;
    for (int k = 0; k < n; k++) a->ns += a->kernels[k].ns, b->ns += b->kernels[k].ns;
    return n > 0;
}

// ---- rows: a kernel, a cause or a line of both -------------------------------------------------------
typedef struct row {
    const char *name[2]; // of each side; NULL: it has none
    const char *text;
    uint32_t line[2];
    double ns[2];
} row;
typedef ORR_VEC(row) rows;

static int by_difference(const void *x, const void *y) {
    const row *a = x, *b = y;
    double u = fabs(a->ns[1] - a->ns[0]), v = fabs(b->ns[1] - b->ns[0]);
    return u != v ? (u < v ? 1 : -1) : a < b ? -1 : a > b;
}
static void sort_rows(rows *r) {
    if (r->n) qsort(r->at, r->n, sizeof *r->at, by_difference);
}

static void kernel_rows(const diff *d, rows *to) {
    const side *a = &d->side[0], *b = &d->side[1];
    for (int i = 0; i < a->nkernels; i++) {
        const side_kernel *k = &a->kernels[i], *other = k->partner < 0 ? NULL : &b->kernels[k->partner];
        *ORR_PUSH(to) =
            (row){.name = {k->name, other ? other->name : NULL}, .ns = {k->ns, other ? other->ns : 0}};
    }
    for (int j = 0; j < b->nkernels; j++)
        if (b->kernels[j].partner < 0)
            *ORR_PUSH(to) = (row){.name = {NULL, b->kernels[j].name}, .ns = {0, b->kernels[j].ns}};
    sort_rows(to);
}

// Both models say where time went.
static bool have_causes(const diff *d) {
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < d->side[s].nkernels; k++)
            if (!d->side[s].kernels[k].causes) return false;
    return true;
}

static void cause_rows(const diff *d, rows *to) {
    if (!have_causes(d)) return;
    for (int c = 0; c < CAUSES; c++) {
        row r = {.name = {c == LAUNCH ? "launch" : orr_stalls[c].name}};
        r.text = c == LAUNCH ? "Before the first block started." : orr_stalls[c].meaning;
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < d->side[s].nkernels; k++) r.ns[s] += d->side[s].kernels[k].cause[c];
        if (r.ns[0] > 0 || r.ns[1] > 0) *ORR_PUSH(to) = r;
    }
    sort_rows(to);
}

static void line_rows(const diff *d, rows *to) {
    if (!have_causes(d)) return;
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < d->side[s].nkernels; k++) {
            const side_kernel *kernel = &d->side[s].kernels[k];
            for (int l = 0; l < kernel->nlines; l++) {
                const part *p = &kernel->lines[l];
                const part *other = NULL;
                if (kernel->partner >= 0 && p->partner >= 0)
                    other = &d->side[1 - s].kernels[kernel->partner].lines[p->partner];
                if (s && other) continue; // told already
                row r = {.text = p->text ? p->text : ""};
                r.name[s] = p->file ? p->file : "";
                r.line[s] = p->line;
                r.ns[s] = p->ns;
                if (other) {
                    r.name[1 - s] = other->file ? other->file : "";
                    r.line[1 - s] = other->line;
                    r.ns[1 - s] = other->ns;
                }
                *ORR_PUSH(to) = r;
            }
        }
    sort_rows(to);
}

static double percent(double a, double b) { return a > 0 ? 100 * (b - a) / a : 0; }

// ---- text -------------------------------------------------------------------------------------------
static void add_times(const row *r, orr_text *t) {
    orr_text_add(t, "%12.2f %12.2f %+12.2f", r->ns[0] / 1e3, r->ns[1] / 1e3, (r->ns[1] - r->ns[0]) / 1e3);
}

static void add_line(const row *r, orr_text *t) {
    for (int s = 0; s < 2; s++) {
        const char *file = r->name[s], *slash = file ? strrchr(file, '/') : NULL;
        char where[48] = "-";
        if (file) snprintf(where, sizeof where, "%.36s:%u", slash ? slash + 1 : file, r->line[s]);
        orr_text_add(t, "  %-20s", where);
    }
    orr_text_add(t, "  %.50s\n", r->text);
}

static void text(const diff *d, orr_text *t) {
    const side *a = &d->side[0], *b = &d->side[1];
    rows kernels = {0}, causes = {0}, lines = {0};
    kernel_rows(d, &kernels);
    cause_rows(d, &causes);
    line_rows(d, &lines);
    for (int s = 0; s < 2; s++) {
        const side *x = &d->side[s];
        orr_text_add(t, "%c  %10.2f us  %s on %s, model %s, %s\n", 'A' + s, x->ns / 1e3,
                     x->name ? x->name : "?", x->gpu ? x->gpu : "?", x->model ? x->model : "?",
                     x->source ? x->source : "?");
    }
    if (a->stopped || b->stopped)
        orr_text_add(t, "stopped before the end: only what both have done is compared\n");
    orr_text_add(t, "B takes %.3f times the time of A (%+.1f %%)\n", a->ns > 0 ? b->ns / a->ns : 0,
                 percent(a->ns, b->ns));
    orr_text_add(t, "\n%12s %12s %12s  kernels\n", "A, us", "B, us", "B - A");
    for (size_t k = 0; k < kernels.n && k < TOP; k++) {
        const row *r = &kernels.at[k];
        bool one = r->name[0] && r->name[1] && !strcmp(r->name[0], r->name[1]);
        add_times(r, t);
        orr_text_add(t, "  %.60s%s%.60s\n", r->name[0] ? r->name[0] : "-", one ? "" : " / ",
                     one          ? ""
                     : r->name[1] ? r->name[1]
                                  : "-");
    }
    if (causes.n) orr_text_add(t, "\n%12s %12s %12s  where the time went\n", "A, us", "B, us", "B - A");
    for (size_t k = 0; k < causes.n && k < TOP; k++) {
        add_times(&causes.at[k], t);
        orr_text_add(t, "  %-20s %s\n", causes.at[k].name[0], causes.at[k].text);
    }
    if (lines.n) orr_text_add(t, "\n%12s %12s %12s  source lines\n", "A, us", "B, us", "B - A");
    for (size_t k = 0; k < lines.n && k < TOP; k++) {
        add_times(&lines.at[k], t);
        add_line(&lines.at[k], t);
    }
    free(kernels.at);
    free(causes.at);
    free(lines.at);
}

// ---- JSON -------------------------------------------------------------------------------------------
static void add_string(orr_text *t, const char *key, const char *v) {
    orr_text_add(t, "\"%s\": ", key);
    if (v)
        orr_text_json(t, v);
    else
        orr_text_add(t, "null");
}

static void json_rows(orr_text *t, const char *key, const rows *r, bool lines, const char *behind) {
    static const char *const sides[] = {"a", "b"};
    orr_text_add(t, "  \"%s\": [", key);
    for (size_t k = 0; k < r->n; k++) {
        const row *x = &r->at[k];
        orr_text_add(t, "%s\n    {", k ? "," : "");
        for (int s = 0; s < 2 && !lines; s++) {
            if (!strcmp(key, "causes") && s) break;
            add_string(t, !strcmp(key, "causes") ? "cause" : sides[s], x->name[s]);
            orr_text_add(t, ", ");
        }
        for (int s = 0; s < 2 && lines; s++) {
            orr_text_add(t, "\"%s\": ", sides[s]);
            if (x->name[s]) {
                orr_text_add(t, "{");
                add_string(t, "file", x->name[s]);
                orr_text_add(t, ", \"line\": %u}, ", x->line[s]);
            } else {
                orr_text_add(t, "null, ");
            }
        }
        orr_text_add(t, "\"a_ns\": %.15g, \"b_ns\": %.15g}", x->ns[0], x->ns[1]);
    }
    orr_text_add(t, "\n  ]%s\n", behind);
}

static void json(const diff *d, orr_text *t) {
    static const char *const sides[] = {"a", "b"};
    rows kernels = {0}, causes = {0}, lines = {0};
    kernel_rows(d, &kernels);
    cause_rows(d, &causes);
    line_rows(d, &lines);
    orr_text_add(t, "{\n");
    for (int s = 0; s < 2; s++) {
        const side *x = &d->side[s];
        orr_text_add(t, "  \"%s\": {", sides[s]);
        add_string(t, "input", x->name);
        orr_text_add(t, ", ");
        add_string(t, "gpu", x->gpu);
        orr_text_add(t, ", ");
        add_string(t, "model", x->model);
        orr_text_add(t, ", ");
        add_string(t, "source", x->source);
        orr_text_add(t, ", \"time_ns\": %.15g},\n", x->ns);
    }
    orr_text_add(t, "  \"stopped\": %s,\n", d->side[0].stopped || d->side[1].stopped ? "true" : "false");
    orr_text_add(t, "  \"percent\": %.15g,\n", percent(d->side[0].ns, d->side[1].ns));
    json_rows(t, "kernels", &kernels, false, ",");
    json_rows(t, "causes", &causes, false, ",");
    json_rows(t, "lines", &lines, true, "");
    orr_text_add(t, "}\n");
    free(kernels.at);
    free(causes.at);
    free(lines.at);
}

// ---- the job ----------------------------------------------------------------------------------------
// "slower 5%"
static bool read_limit(const char *s, double *limit, orr_err *e) {
    *limit = NAN;
    if (!s) return true;
    char *end = NULL;
    if (!strncmp(s, "slower", 6)) *limit = strtod(s + 6, &end);
    if (end && end > s + 6) end += strspn(end, " ");
    if (end && *end == '%') end++;
    if (!end || *end || !(*limit >= 0))
        return orr_fail(e, ORR_BAD_INPUT, "diff: --fail-if takes \"slower 5%%\", not \"%.60s\"", s);
    return true;
}

static bool is_json(const char *name) {
    size_t n = strlen(name);
    return n > 5 && !strcmp(name + n - 5, ".json");
}

// Options of the second run alone: "gpu=v100", "set=sm.count=66".
static bool apply_second(orr_options *o, const orr_words *words, orr_err *e) {
    for (size_t k = 0; k < words->n; k++) {
        char name[40];
        const char *eq = strchr(words->at[k], '=');
        if (!eq || eq == words->at[k] || (size_t)(eq - words->at[k]) >= sizeof name)
            return orr_fail(e, ORR_BAD_INPUT,
                            "diff: --second takes OPTION=VALUE, as --second gpu=v100, not \"%.60s\"",
                            words->at[k]);
        snprintf(name, sizeof name, "%.*s", (int)(eq - words->at[k]), words->at[k]);
        if (!orr_options_set(o, name, eq + 1, e)) return false;
    }
    return true;
}

// A run, or a report that was kept. A run that was stopped after a launch has e set, and a report.
static void run_side(side *s, const char *input, const orr_options *o, bool second, orr_err *e) {
    size_t size;
    if (is_json(input)) {
        s->json = orr_read_file(input, MAX_REPORT, &size, e);
        return;
    }
    s->options = orr_options_copy(o);
    if (!s->options->model.model) orr_options_set(s->options, "model", "cycle", e);
    bool ok = !second || apply_second(s->options, &o->second, e);
    s->run = ok ? orr_run(input, s->options, e) : NULL;
    const char *data = s->run ? orr_report_as(s->run, ORR_PAGE_DATA) : NULL;
    if (data) s->json = strdup(data);
    s->stopped = e->status == ORR_STOPPED;
}

static orr_report *report(const diff *d) {
    orr_text words = {0}, tree = {0}, page = {0}, cut[2] = {{0}};
    for (int s = 0; s < 2; s++) orr_page_cut(d->side[s].tree, &cut[s]);
    const char *const both[] = {cut[0].s, cut[1].s};
    text(d, &words);
    json(d, &tree);
    orr_html_runs(both, 2, &page);
    free(cut[0].s), free(cut[1].s);
    orr_report *r = orr_report_of(words, tree);
    orr_report_add(r, ORR_HTML, page);
    return r;
}

// One run alone, where there is nothing to compare it with.
static orr_report *alone(const side *s) {
    orr_report *r = s->run ? orr_report_new(NULL, NULL, NULL) : NULL;
    static const enum orr_format forms[] = {ORR_TEXT, ORR_JSON, ORR_HTML};
    for (size_t k = 0; r && k < sizeof forms / sizeof *forms; k++) {
        orr_text copy = {0};
        const char *form = orr_report_as(s->run, forms[k]);
        if (form) orr_text_addn(&copy, form, strlen(form));
        if (form) orr_report_add(r, forms[k], copy);
    }
    return r;
}

// Stopped: what both have done, else the first run as far as it came.
static orr_report *what_there_is(diff *d) {
    if (!d->side[1].tree || !keep_what_both_have(d)) return alone(&d->side[0]);
    pair_kernels(d);
    return report(d);
}

static void check_limit(const diff *d, orr_err *e) {
    double more = percent(d->side[0].ns, d->side[1].ns);
    if (more > d->limit)
        orr_fail(e, ORR_SLOWER, "diff: the second takes %.1f %% longer, and --fail-if allows %g %%", more,
                 d->limit);
}

orr_report *orr_diff(const char *a, const char *b, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    diff d = {0};
    const char *const input[] = {a, b};
    orr_report *r = NULL;
    read_limit(o->lab.fail_if, &d.limit, e);
    for (int s = 0; s < 2 && !e->status; s++) {
        orr_err none = {0};
        run_side(&d.side[s], input[s], o, s, e);
        if (d.side[s].json) read_side(&d, &d.side[s], input[s], d.side[s].stopped ? &none : e);
    }
    if (!e->status) {
        pair_kernels(&d);
        r = report(&d);
        check_limit(&d, e);
    } else if (e->status == ORR_STOPPED) {
        r = what_there_is(&d);
    }
    for (int s = 0; s < 2; s++) {
        orr_report_free(d.side[s].run);
        orr_options_free(d.side[s].options);
        free(d.side[s].json);
    }
    orr_arena_free(&d.arena);
    return r;
}
