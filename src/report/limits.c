// What bounds a launch, as the analytic model sees it: in the text report and in JSON.
#include "report/limits.h"

#include <stdlib.h>

#define ROWS 20 // launches told of in the text

static int by_cycles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

void page_limits(const page *p, const orr_result *r) {
    size_t shown = 0;
    for (size_t i = 0; i < r->launches.n && shown < ROWS; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        const orr_limits *b = l->limits;
        if (!b) continue;
        char name[120], a[32], c[32], d[32];
        if (!shown++) {
            orr_text_add(p->t, "\n%s%6s  %-24s %12s %10s %12s %12s  %s%s\n", bold(p), "launch", "kernel",
                         "cycles", "time", "optimistic", "latency", "bound by: cycles busy", plain(p));
        }
        orr_text_add(p->t, "%6u  %-24s %12s %10s %12s", l->index, page_name(name, l->kernel->name),
                     orr_commas(a, (uint64_t)l->cycles), page_time(d, l->time_ns),
                     orr_commas(c, (uint64_t)b->optimistic));
        orr_text_add(p->t, " %12s  %s:", orr_commas(c, (uint64_t)b->latency), b->limit);
        struct {
            double cycles;
            const char *name;
        } top[ORR_LIMIT_PARTS] = {0};
        for (int k = 0; k < b->nparts; k++) {
            top[k].cycles = b->part[k].cycles;
            top[k].name = b->part[k].name;
        }
        qsort(top, (size_t)b->nparts, sizeof *top, by_cycles);
        for (int k = 0; k < b->nparts && k < 3; k++)
            orr_text_add(p->t, "%s %s %s", k ? "," : "", top[k].name, orr_commas(c, (uint64_t)top[k].cycles));
        orr_text_add(p->t, "\n");
    }
    if (shown == ROWS && r->launches.n > ROWS)
        orr_text_add(p->t, "        and %zu more; --json has all\n", r->launches.n - ROWS);
}

void json_limits(orr_text *t, const orr_launch_result *l) {
    const orr_limits *b = l->limits;
    if (!b) return;
    orr_text_add(t, ",\n     \"limits\": {");
    json_string(t, "limit", b->limit);
    orr_text_add(t, ", ");
    json_field(t, "optimistic", b->optimistic);
    orr_text_add(t, ", ");
    json_field(t, "latency", b->latency);
    orr_text_add(t, ", ");
    json_field(t, "warps", b->warps);
    orr_text_add(t, ", ");
    json_field(t, "register_reads", b->register_reads);
    orr_text_add(t, ", ");
    json_field(t, "register_conflicts", b->register_conflicts);
    orr_text_add(t, ", \"busy\": {");
    for (int k = 0; k < b->nparts; k++) {
        orr_text_add(t, k ? ", " : "");
        json_field(t, b->part[k].name, b->part[k].cycles);
    }
    orr_text_add(t, "}}");
}
