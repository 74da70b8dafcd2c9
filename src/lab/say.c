// A comparison as text for people, and as CSV.
#include "lab/lab.h"

#include <math.h>
#include <string.h>

// ---- text -----------------------------------------------------------------------------------
static const char *percent(char buf[24], double v, bool sign) {
    if (isnan(v))
        snprintf(buf, 24, "-");
    else if (fabs(v) >= 99999.5)
        snprintf(buf, 24, sign ? "%+.0e %%" : "%.0e %%", v);
    else
        snprintf(buf, 24, sign ? "%+.1f %%" : "%.1f %%", v);
    return buf;
}

static const char *plain(char buf[24], double v, int digits) {
    if (isnan(v))
        snprintf(buf, 24, "-");
    else
        snprintf(buf, 24, "%.*f", digits, v);
    return buf;
}

static const char *cycles(char buf[32], double v) {
    if (isnan(v)) return "-";
    return orr_commas(buf, v < 0 || v > 9e18 ? 0 : (uint64_t)(v + 0.5));
}

// "bfs/kernel1", and the size when there are several.
static int widest(const orr_comparison *c) {
    int w = 10;
    for (size_t i = 0; i < c->kernels.n; i++) {
        int n = (int)(strlen(c->kernels.at[i].script) + strlen(c->kernels.at[i].kernel)) + 1;
        if (n > w) w = n < 48 ? n : 48;
    }
    return w;
}

static void label(char buf[160], const orr_point *p) {
    snprintf(buf, 160, "%.70s/%.80s", p->script, p->kernel);
}

static void print_kernels(const orr_comparison *c, orr_text *t) {
    int w = widest(c);
    char name[160], m[32], s[32], e[24];
    orr_text_add(t, "%-*s %-8s %-7s %8s %14s %14s %10s  %s\n", w, "kernel", "size", "caches", "launches",
                 "measured", "predicted", "error", "bound by");
    for (size_t i = 0; i < c->kernels.n; i++) {
        const orr_point *p = &c->kernels.at[i];
        label(name, p);
        orr_text_add(t, "%-*.48s %-8.20s %-7s %8u %14s %14s %10s  ", w, name, p->size, p->cache, p->launches,
                     cycles(m, p->values[0].measured), cycles(s, p->values[0].predicted),
                     percent(e, orr_error_percent(&p->values[0]), true));
        if (p->failure)
            orr_text_add(t, "no prediction: %s\n", p->failure);
        else if (p->missing)
            orr_text_add(t, "%s; %u launches have no prediction\n", p->bound ? p->bound : "", p->missing);
        else
            orr_text_add(t, "%s\n", p->bound ? p->bound : "");
    }
}

static bool all_zero(const orr_nearness *f) { return f->points && f->zero == f->points; }

static void print_counters(const orr_comparison *c, orr_text *t) {
    int w = 10, zeros = 0;
    char a[24], b[24], d[24], p[24], r[24], n[24], n5[24], g[24], g5[24];
    for (size_t k = 0; k < c->ncounters; k++) {
        int len = (int)strlen(orr_counters[c->counters[k]].name);
        if (!all_zero(&c->by_kernel[k]) && c->by_kernel[k].points && len > w) w = len;
    }
    orr_text_add(t, "\n%-*s %7s %9s %9s %9s %8s %8s %8s %8s %12s %8s\n", w, "counter", "kernels", "MAPE",
                 "WMAPE", "bias", "Pearson", "NRMSE", "< 5 %", "< 10 %", "regular MAPE", "< 5 %");
    for (size_t k = 0; k < c->ncounters; k++) {
        const orr_nearness *f = &c->by_kernel[k];
        zeros += all_zero(f);
        if (all_zero(f) || !f->points) continue;
        orr_text_add(t, "%-*s %7zu %9s %9s %9s %8s %8s %8s %8s %12s %8s\n", w,
                     orr_counters[c->counters[k]].name, f->points - f->zero, percent(a, f->mape, false),
                     percent(b, f->wmape, false), percent(d, f->bias, true), plain(p, f->pearson, 4),
                     plain(r, f->nrmse, 3), percent(n5, f->within_5, false), percent(n, f->within_10, false),
                     percent(g, c->regular[k].mape, false), percent(g5, c->regular[k].within_5, false));
    }
    orr_text_add(t, "%zu kernels are regular: what they access does not depend on loaded data\n",
                 c->nregular);
    if (zeros) orr_text_add(t, "%d more are 0 on both sides throughout\n", zeros);
}

static void print_worst(const orr_comparison *c, orr_text *t) {
    const orr_nearness *f = &c->by_kernel[0];
    char name[160], e[24];
    if (!f->nworst) return;
    orr_text_add(t, "\nfurthest off:");
    for (size_t i = 0; i < f->nworst; i++) {
        const orr_point *p = &c->kernels.at[f->worst[i]];
        label(name, p);
        orr_text_add(t, "%s %s%s%s %s", i ? "," : "", name, *p->size ? " " : "", p->size,
                     percent(e, orr_error_percent(&p->values[0]), true));
    }
    orr_text_add(t, "\n");
}

static void print_line(const orr_nearness *f, const char *of, orr_text *t) {
    char a[24], b[24], d[24], p[24], q[24], n[24];
    orr_text_add(
        t, "cycles by %s, %zu: MAPE %s, WMAPE %s, bias %s, correlation %s (logarithms %s), %s within 10 %%\n",
        of, f->points, percent(a, f->mape, false), percent(b, f->wmape, false), percent(d, f->bias, true),
        plain(p, f->pearson, 4), plain(q, f->pearson_log, 4), percent(n, f->within_10, false));
}

void orr_compare_text(const orr_comparison *c, orr_text *t) {
    char s[24];
    const orr_nearness *f = &c->by_kernel[0];
    orr_text_add(t, "%s%s%s, measured %s, against %s, model %s, from %s\n", *c->hw_gpu ? c->hw_gpu : "a GPU",
                 *c->hw_driver ? ", driver " : "", c->hw_driver, *c->hw_date ? c->hw_date : "some day",
                 c->gpu, c->model, c->source);
    orr_text_add(t, "scripts: %zu, kernels: %zu, launches: %zu", c->scripts, c->kernels.n, c->launches.n);
    if (!isnan(f->spread)) orr_text_add(t, "; repeats differ by %s on average", percent(s, f->spread, false));
    orr_text_add(t, "\n\n");
    print_kernels(c, t);
    print_counters(c, t);
    print_worst(c, t);
    orr_text_add(t, "\n");
    print_line(f, "kernel", t);
    print_line(&c->by_launch[0], "launch", t);
    if (f->missing)
        orr_text_add(t, "without a prediction and in none of these figures: %zu kernels\n", f->missing);
}

// ---- CSV ------------------------------------------------------------------------------------
static void csv_points(const orr_comparison *c, const orr_point *points, size_t n, bool kernels,
                       orr_text *t) {
    for (size_t i = 0; i < n; i++) {
        const orr_point *p = &points[i];
        for (size_t k = 0; k < c->ncounters; k++) {
            const orr_value *v = &p->values[k];
            if (isnan(v->measured)) continue;
            orr_text_add(t, kernels ? "kernel," : "launch,");
            orr_csv_add(t, p->script);
            orr_text_add(t, ",");
            orr_csv_add(t, p->size);
            orr_text_add(t, ",%s,", p->cache);
            orr_csv_add(t, p->kernel);
            if (kernels)
                orr_text_add(t, ",,%u,", p->launches);
            else
                orr_text_add(t, ",%u,1,", p->launch);
            orr_text_add(t, "%ux%ux%u,%ux%ux%u,%s,", p->grid[0], p->grid[1], p->grid[2], p->block[0],
                         p->block[1], p->block[2], orr_counters[c->counters[k]].name);
            orr_csv_add_number(t, v->measured);
            orr_text_add(t, ",");
            orr_csv_add_number(t, v->low);
            orr_text_add(t, ",");
            orr_csv_add_number(t, v->high);
            orr_text_add(t, ",");
            orr_csv_add_number(t, v->predicted);
            orr_text_add(t, ",");
            double e = orr_error_percent(v);
            if (!isnan(e)) orr_text_add(t, "%.2f", e);
            orr_text_add(t, ",%d\n", p->regular);
        }
    }
}

void orr_compare_csv(const orr_comparison *c, orr_text *t) {
    orr_text_add(
        t, "point,script,size,cache,kernel,launch,launches,grid,block,counter,measured,low,high,predicted,"
           "error_percent,regular\n");
    csv_points(c, c->kernels.at, c->kernels.n, true, t);
    csv_points(c, c->launches.at, c->launches.n, false, t);
}
