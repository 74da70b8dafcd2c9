// Sums of launches by NVTX range and by kernel (ranges.h).
#include "report/ranges.h"
#include "report/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROWS = 200,
    LEVELS = 3, // of the text: a step, its layers, their parts
    MOST_KERNELS = 40,
    MOST_SORTED = 20000
};

static void add_launch(range_sum *x, const orr_launch_result *l) {
    x->launches++;
    x->warp_insts += l->warp_insts;
    x->cycles += l->cycles;
    x->time_ns += l->time_ns;
}

static range_sum *kernel_of(range_sums *s, orr_map *places, const char *name) {
    size_t at = (size_t)orr_map_get(places, name);
    if (!at) {
        ORR_PUSH(&s->kernels)->path = name;
        at = s->kernels.n;
        orr_map_put(places, name, (void *)at);
    }
    return &s->kernels.at[at - 1];
}

static range_sum *range_of(range_sums *s, orr_map *places, const char *path, size_t n, uint32_t depth) {
    size_t at = (size_t)orr_map_getn(places, path, n);
    if (!at) {
        range_sum *x = ORR_PUSH(&s->at);
        x->path = orr_arena_strndup(&s->arena, path, n);
        x->depth = depth;
        at = s->at.n;
        orr_map_putn(places, x->path, n, (void *)at);
    }
    return &s->at.at[at - 1];
}

// A range's rows follow it: by path, where ranges that come first in the program come first.
static void in_tree_order(range_sums *s) {
    ORR_VEC(range_sum) out = {0};
    for (size_t i = 0; i < s->at.n; i++) {
        if (s->at.at[i].depth) continue;
        ORR_VEC(size_t) todo = {0};
        *ORR_PUSH(&todo) = i;
        while (todo.n) {
            size_t at = todo.at[--todo.n];
            const range_sum *x = &s->at.at[at];
            size_t n = strlen(x->path);
            *ORR_PUSH(&out) = *x;
            for (size_t k = s->at.n; k-- > 0;) { // the last is put first, and taken last
                const range_sum *y = &s->at.at[k];
                if (y->depth == x->depth + 1 && !strncmp(y->path, x->path, n) && y->path[n] == '/')
                    *ORR_PUSH(&todo) = k;
            }
        }
        free(todo.at);
    }
    free(s->at.at);
    s->at.at = out.at;
    s->at.n = out.n;
}

static int by_time(const void *a, const void *b) {
    const range_sum *x = a, *y = b;
    if (x->time_ns != y->time_ns && !isnan(x->time_ns)) return x->time_ns < y->time_ns ? 1 : -1;
    if (x->warp_insts != y->warp_insts) return x->warp_insts < y->warp_insts ? 1 : -1;
    return strcmp(x->path, y->path);
}

bool range_sums_make(const orr_result *r, range_sums *s) {
    orr_map places = {0}, kernels = {0};
    bool any = false;
    *s = (range_sums){0};
    for (size_t i = 0; i < r->launches.n; i++) any |= r->launches.at[i].range != NULL;
    for (size_t i = 0; any && i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        const char *path = l->range ? l->range : "(no range)";
        uint32_t depth = 0;
        for (const char *end = path; end; depth++) {
            end = strchr(depth ? end + 1 : end, '/');
            add_launch(range_of(s, &places, path, end ? (size_t)(end - path) : strlen(path), depth), l);
        }
        add_launch(kernel_of(s, &kernels, l->kernel->name), l);
        s->warp_insts += l->warp_insts;
        s->time_ns += l->time_ns;
    }
    orr_map_free(&places);
    orr_map_free(&kernels);
    if (!any) return false;
    if (s->at.n <= MOST_SORTED) in_tree_order(s);
    qsort(s->kernels.at, s->kernels.n, sizeof *s->kernels.at, by_time);
    return true;
}

void range_sums_free(range_sums *s) {
    free(s->at.at);
    free(s->kernels.at);
    orr_arena_free(&s->arena);
}

// ---- as text ----------------------------------------------------------------------------------------------
static void row(const page *p, const range_sums *s, const range_sum *x, const char *name) {
    char a[32], b[32], c[32];
    bool timed = !isnan(s->time_ns);
    double share =
        timed ? (s->time_ns > 0 ? 100 * x->time_ns / s->time_ns : 0) : percent(x->warp_insts, s->warp_insts);
    orr_text_add(p->t, "%-58.*s %9s %16s %10s %6.1f\n", 57, name, orr_commas(a, x->launches),
                 orr_commas(b, x->warp_insts), timed ? page_time(c, x->time_ns) : "", share);
}

void page_ranges(const page *p, const orr_result *r) {
    range_sums s;
    char name[120], line[260];
    if (!range_sums_make(r, &s)) return;
    for (int kernels = 0; kernels < 2; kernels++) {
        const range_sum *at = kernels ? s.kernels.at : s.at.at;
        size_t n = kernels ? s.kernels.n : s.at.n, most = kernels ? MOST_KERNELS : MOST_ROWS;
        orr_text_add(p->t, "\n%s%-58s %9s %16s %10s %6s%s\n", bold(p), kernels ? "kernel" : "range",
                     "launches", "warp insts", isnan(s.time_ns) ? "" : "time", "%", plain(p));
        size_t shown = 0, deeper = 0;
        for (size_t i = 0; i < n; i++) {
            bool deep = !kernels && at[i].depth >= LEVELS;
            deeper += deep || shown == most;
            if (deep || shown == most) continue;
            shown++;
            const char *last = kernels ? NULL : strrchr(at[i].path, '/');
            page_name(name, last ? last + 1 : at[i].path);
            snprintf(line, sizeof line, "%*s%s", (int)(at[i].depth < 20 ? 2 * at[i].depth : 40), "", name);
            row(p, &s, &at[i], line);
        }
        if (deeper) orr_text_add(p->t, "and %zu more, further in or fewer; --json has all\n", deeper);
    }
    range_sums_free(&s);
}

// ---- as JSON ----------------------------------------------------------------------------------------------
void json_ranges(orr_text *t, const orr_result *r) {
    range_sums s;
    if (!range_sums_make(r, &s)) return;
    orr_text_add(t, "  \"ranges\": [");
    for (size_t i = 0; i < s.at.n; i++) {
        const range_sum *x = &s.at.at[i];
        orr_text_add(t, "%s\n    {", i ? "," : "");
        json_string(t, "range", x->path);
        orr_text_add(t, ", ");
        json_count(t, "launches", x->launches);
        orr_text_add(t, ", ");
        json_field(t, "cycles", x->cycles);
        orr_text_add(t, ", ");
        json_field(t, "time_ns", x->time_ns);
        orr_text_add(t, ", ");
        json_count(t, "warp_insts", x->warp_insts);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "\n  ],\n");
    range_sums_free(&s);
}
