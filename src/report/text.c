// A result for people: aligned tables that fit a terminal, most important first. Colour only when the
// caller says that this is a terminal.
#include "report/limits.h"
#include "report/page.h"
#include "report/ranges.h"
#include "report/sample.h"

#include <math.h>
#include <string.h>

enum { TOP_OPS = 12, TOP_LINES = 40, LAUNCH_ROWS = 24 };

// ---- one kernel -------------------------------------------------------------------------------
// A kernel whose launches all have one shape says it; else the table of launches does.
static void kernel_head(const page *p, const orr_result *r, const orr_profile *f) {
    const orr_kernel *k = f->kernel;
    const orr_launch_result *first = NULL;
    bool same = true;
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        if (l->kernel != k) continue;
        if (!first) first = l;
        same &= !memcmp(l->grid, first->grid, sizeof l->grid) &&
                !memcmp(l->block, first->block, sizeof l->block) &&
                l->dynamic_shared == first->dynamic_shared;
    }
    char a[48], b[48], name[120];
    orr_text_add(p->t, "\n%skernel %s%s  %u launch%s", bold(p), page_name(name, k->name), plain(p),
                 f->launches, f->launches == 1 ? "" : "es");
    if (first && same) {
        orr_text_add(p->t, "  grid %s  block %s", page_shape(a, first->grid), page_shape(b, first->block));
        if (first->dynamic_shared) orr_text_add(p->t, "  dynamic shared %u B", first->dynamic_shared);
    }
    orr_text_add(p->t, "\n  %u registers a thread, %u B shared", k->regs, k->shared_bytes);
    if (first && same && !isnan(first->occupancy))
        orr_text_add(p->t, ", occupancy %.0f %% on %s", first->occupancy * 100, r->gpu);
    orr_text_add(p->t, "\n");
}

static void kernel_totals(const page *p, const orr_sums *s) {
    char a[32], b[32];
    orr_text_add(p->t, "\n  %-22s %18s\n  %-22s %18s\n", "warp instructions", orr_commas(a, s->warp),
                 "thread instructions", orr_commas(b, s->thread));
    orr_text_add(p->t, "  %-22s %18.2f  of 32:", "active lanes",
                 s->warp ? (double)s->thread / (double)s->warp : 0);
    for (int i = ORR_ACTIVE_RANGES - 1; i >= 0; i--)
        if (s->active[i])
            orr_text_add(p->t, "  %s %.1f %%", orr_active_name[i], percent(s->active[i], s->warp));
    orr_text_add(p->t, "\n  %-22s %18s", "conditional branches", orr_commas(a, s->branches));
    if (s->branches)
        orr_text_add(p->t, "  divergent %s (%.1f %%)", orr_commas(b, s->divergent),
                     percent(s->divergent, s->branches));
    orr_text_add(p->t, "\n");
    const struct {
        const char *name;
        uint64_t n;
    } rare[] = {{"barriers", s->barriers},
                {"warp syncs", s->warp_syncs},
                {"fences", s->fences},
                {"atomics", s->atomics},
                {"calls", s->calls}};
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
        if (rare[i].n) orr_text_add(p->t, "  %-22s %18s\n", rare[i].name, orr_commas(a, rare[i].n));
}

// Units on the left, operations on the right.
static void kernel_mix(const page *p, const orr_sums *s) {
    char a[32];
    int units[ORR_UNIT_COUNT], n = 0;
    for (int u = 0; u < ORR_UNIT_COUNT; u++)
        if (s->unit_warp[u]) units[n++] = u;
    for (int i = 1; i < n; i++) // few: insertion
        for (int j = i; j > 0 && s->unit_warp[units[j]] > s->unit_warp[units[j - 1]]; j--) {
            int u = units[j];
            units[j] = units[j - 1];
            units[j - 1] = u;
        }
    int nops = s->ops.n < TOP_OPS ? (int)s->ops.n : TOP_OPS;
    orr_text_add(p->t, "\n  %s%-8s %16s %6s     %-20s %16s %6s%s\n", bold(p), "unit", "warp insts", "%",
                 "operation", "warp insts", "%", plain(p));
    for (int i = 0; i < n || i < nops; i++) {
        if (i < n)
            orr_text_add(p->t, "  %-8s %16s %6.1f", orr_unit_name[units[i]],
                         orr_commas(a, s->unit_warp[units[i]]), percent(s->unit_warp[units[i]], s->warp));
        else
            orr_text_add(p->t, "  %32s", "");
        if (i < nops)
            orr_text_add(p->t, "     %-20s %16s %6.1f", s->ops.at[i].name, orr_commas(a, s->ops.at[i].warp),
                         percent(s->ops.at[i].warp, s->warp));
        orr_text_add(p->t, "\n");
    }
    if (s->ops.n > TOP_OPS) orr_text_add(p->t, "  %32s     and %zu more\n", "", s->ops.n - TOP_OPS);
}

static void kernel_memory(const page *p, const orr_sums *s) {
    char a[32], b[32], c[32], d[32];
    bool sectors = false, banks = false;
    for (int space = 0; space < ORR_SPACE_COUNT; space++)
        for (int kind = 0; kind < ORR_MEM_KINDS; kind++)
            if (s->mem[space][kind].requests) *(space == ORR_SPACE_SHARED ? &banks : &sectors) = true;
    if (sectors)
        orr_text_add(p->t, "\n  %s%-12s %14s %16s %8s %16s %6s %10s%s\n", bold(p), "memory", "requests",
                     "sectors", "per req", "if packed", "%", "bytes", plain(p));
    for (int space = 0; space < ORR_SPACE_COUNT; space++)
        for (int kind = 0; kind < ORR_MEM_KINDS; kind++) {
            const orr_mem_sum *m = &s->mem[space][kind];
            if (!m->requests || space == ORR_SPACE_SHARED) continue;
            char name[24];
            snprintf(name, sizeof name, "%s %s", orr_space_name[space], orr_mem_kind_name[kind]);
            orr_text_add(p->t, "  %-12s %14s %16s %8.2f %16s %6.1f %10s\n", name, orr_commas(a, m->requests),
                         orr_commas(b, m->sectors), (double)m->sectors / (double)m->requests,
                         orr_commas(c, m->ideal), percent(m->ideal, m->sectors), page_bytes(d, m->bytes));
        }
    if (banks)
        orr_text_add(p->t, "\n  %s%-12s %14s %16s %8s %16s %6s %10s%s\n", bold(p), "memory", "requests",
                     "passes", "per req", "conflicts", "%", "bytes", plain(p));
    for (int kind = 0; kind < ORR_MEM_KINDS; kind++) {
        const orr_mem_sum *m = &s->mem[ORR_SPACE_SHARED][kind];
        if (!m->requests) continue;
        char name[24];
        snprintf(name, sizeof name, "shared %s", orr_mem_kind_name[kind]);
        orr_text_add(p->t, "  %-12s %14s %16s %8.2f %16s %6.1f %10s\n", name, orr_commas(a, m->requests),
                     orr_commas(b, m->passes), (double)m->passes / (double)m->requests,
                     orr_commas(c, m->passes - m->phases), percent(m->passes - m->phases, m->passes),
                     page_bytes(d, m->bytes));
    }
}

// ---- source lines -----------------------------------------------------------------------------
static void kernel_lines(const page *p, const orr_profile *f, const orr_sums *s) {
    page_sources sources = page_sources_of(f->kernel->module);
    const char *module = sources.module;
    char a[32], b[32];
    size_t shown = s->lines.n < TOP_LINES ? s->lines.n : TOP_LINES;
    int wide = 12;
    for (size_t i = 0; i < shown; i++) {
        int n = snprintf(NULL, 0, "%s:%u", page_base(s->lines.at[i].file ? s->lines.at[i].file : module),
                         s->lines.at[i].line);
        if (n > wide) wide = n < 36 ? n : 36;
    }
    orr_text_add(p->t, "\n  %s%-*s %14s %6s%s %7s %12s %8s %9s  source%s\n", bold(p), wide, "line",
                 "warp insts", "%", s->cycles > 0 ? " % time" : "", "active", "requests", "sect/req",
                 "divergent", plain(p));
    for (size_t i = 0; i < shown; i++) {
        const orr_line_sum *l = &s->lines.at[i];
        char where[64], text[64], sect[16] = "", split[32] = "", time[16] = "";
        page_where(where, l->file ? l->file : module, l->line);
        page_source_line(&sources, l->file, l->line, text);
        if (l->sector_requests)
            snprintf(sect, sizeof sect, "%.2f", (double)l->sectors / (double)l->sector_requests);
        if (l->branches) snprintf(split, sizeof split, "%.1f %%", percent(l->divergent, l->branches));
        if (s->cycles > 0) snprintf(time, sizeof time, " %6.1f", 100 * l->cycles / s->cycles);
        orr_text_add(p->t, "  %-*s %14s %6.1f%s %7.2f %12s %8s %9s  %s\n", wide, where,
                     orr_commas(a, l->warp), percent(l->warp, s->warp), time,
                     (double)l->thread / (double)l->warp, l->requests ? orr_commas(b, l->requests) : "", sect,
                     split, text);
    }
    if (s->lines.n > shown) orr_text_add(p->t, "  and %zu more; --json has all\n", s->lines.n - shown);
    page_sources_free(&sources);
}

// ---- launches ---------------------------------------------------------------------------------
static void launch_table(const page *p, const orr_result *r) {
    char a[48], b[48], c[32], d[32], name[120];
    bool timed = orr_result_gpu(r);
    bool told = !timed && r->launches.n && !isnan(r->launches.at[0].cycles); // cycles, and no more of time
    orr_text_add(p->t, "\n%s%6s  %-24s %-18s %-14s %16s", bold(p), "launch", "kernel", "grid", "block",
                 "warp insts");
    if (timed)
        orr_text_add(p->t, " %14s %10s  %s%s\n", "cycles", "time", "bound by", plain(p));
    else
        orr_text_add(p->t, " %18s%s%s\n", "thread insts", told ? "         cycles       time" : "", plain(p));
    size_t shown = r->launches.n < LAUNCH_ROWS ? r->launches.n : LAUNCH_ROWS;
    for (size_t i = 0; i < shown; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        orr_text_add(p->t, "%6u  %-24s %-18s %-14s %16s", l->index, page_name(name, l->kernel->name),
                     page_shape(a, l->grid), page_shape(b, l->block), orr_commas(c, l->warp_insts));
        orr_verdict v;
        if (told)
            orr_text_add(p->t, " %18s %14s %10s\n", orr_commas(d, l->thread_insts),
                         orr_commas(c, (uint64_t)(l->cycles > 0 ? l->cycles : 0)), page_time(a, l->time_ns));
        else if (!timed)
            orr_text_add(p->t, " %18s\n", orr_commas(d, l->thread_insts));
        else if (l->timing && orr_judge(orr_result_gpu(r), l, &v))
            orr_text_add(p->t, " %14s %10s  %s\n", orr_commas(c, (uint64_t)l->cycles),
                         page_time(d, l->time_ns), orr_bound_name[v.bound]);
        else if (r->sample)
            orr_text_add(p->t, " %14s %10s  predicted\n", orr_commas(c, (uint64_t)l->cycles),
                         page_time(d, l->time_ns));
        else
            orr_text_add(p->t, "\n");
    }
    if (r->launches.n > shown)
        orr_text_add(p->t, "        and %zu more; --json has all\n", r->launches.n - shown);
    enum orr_events events = ORR_EVENTS_PRIVATE; // of any of them; else each kernel's page says so
    for (size_t i = 0; told && i < r->launches.n; i++)
        if (r->launches.at[i].events > events) events = r->launches.at[i].events;
    page_events(p, events);
}

static void host_line(const page *p, const orr_result *r, uint64_t warp, uint64_t thread) {
    char a[32], b[32], c[32];
    const orr_host *h = &r->host;
    double cycles = 0;
    for (size_t i = 0; i < r->launches.n; i++)
        if (r->launches.at[i].timing) cycles += (double)r->launches.at[i].timing->cycles;
    orr_text_add(p->t, "\n%.2f s on %d thread%s, ", h->seconds, h->threads, h->threads == 1 ? "" : "s");
    if (orr_result_gpu(r))
        orr_text_add(p->t, "%s warp instructions and %s cycles a second",
                     orr_si(a, (double)warp / h->seconds), orr_si(b, cycles / h->seconds));
    else
        orr_text_add(p->t, "%s thread instructions a second", orr_si(a, (double)thread / h->seconds));
    orr_text_add(p->t, ", peak memory %s\n", page_bytes(c, h->peak_rss));
}

static void application(const page *p, const orr_result *r) {
    char a[32], b[32], c[32], d[32], e[32], f[32];
    const orr_app *x = &r->app;
    if (isnan(x->kernel_ns)) {
        orr_text_add(p->t,
                     "the application has %s launches and %s copies of %s together; how long it takes the %s "
                     "model does not say (--model partial does)\n",
                     orr_commas(c, x->launches), orr_commas(f, x->copies),
                     page_bytes((char[32]){0}, x->copy_bytes), r->model);
        return;
    }
    orr_text_add(
        p->t,
        "the application takes %s%s: %s in %s launches, %s between them, %s for %s copies of %s together\n",
        r->sample ? "about " : "",
        page_time(a, x->elapsed_ns > 0 ? x->elapsed_ns : x->kernel_ns + x->gap_ns + x->copy_ns),
        page_time(b, x->kernel_ns), orr_commas(c, x->launches), page_time(d, x->gap_ns),
        page_time(e, x->copy_ns), orr_commas(f, x->copies), page_bytes((char[32]){0}, x->copy_bytes));
    if (x->overlap_ns > 0)
        orr_text_add(p->t, "kernels of different streams ran at the same time: some kernel ran for %s\n",
                     page_time(a, x->kernel_ns - x->overlap_ns));
}

void orr_result_text(const orr_result *r, const orr_report_options *o, orr_text *t) {
    page p = {t, o};
    char a[32], b[32];
    uint64_t warp = 0, thread = 0;
    for (size_t i = 0; i < r->launches.n; i++) {
        warp += r->launches.at[i].warp_insts;
        thread += r->launches.at[i].thread_insts;
    }
    orr_text_add(t, "%s%s%s%s%s%s  model %s, %s%s, from %s\n", bold(&p), r->input, plain(&p),
                 r->size && *r->size ? " (" : "", r->size ? r->size : "", r->size && *r->size ? ")" : "",
                 r->model, r->gpu ? "gpu " : "no gpu", r->gpu ? r->gpu : "", r->source);
    if (r->sample) orr_text_add(t, "sampled: most launches and times below are predicted, not simulated\n");
    bool estimated = false;
    for (size_t i = 0; i < r->launches.n; i++) estimated |= r->launches.at[i].estimated;
    orr_text_add(t, "%zu launch%s, %s%s warp instructions, %s%s thread instructions", r->launches.n,
                 r->launches.n == 1 ? "" : "es", estimated ? "about " : "", orr_commas(a, warp),
                 estimated ? "about " : "", orr_commas(b, thread));
    if (r->checked) orr_text_add(t, "; %u buffer%s as expected", r->checked, r->checked == 1 ? "" : "s");
    orr_text_add(t, "\n");
    const orr_launch_result *last = r->launches.n ? &r->launches.at[r->launches.n - 1] : NULL;
    if (last && last->cut)
        orr_text_add(t, "stopped: launch %u was cut off after %s cycles, with %s of %s thread blocks done\n",
                     last->index, orr_commas(a, (uint64_t)last->cycles), orr_commas(b, last->done),
                     orr_commas((char[32]){0}, last->blocks));
    if (r->blocks_executed < r->blocks_in_all)
        orr_text_add(t, "not checked: the partial model executes %s of %s blocks (--check executes all)\n",
                     orr_commas(a, r->blocks_executed), orr_commas(b, r->blocks_in_all));
    bool timed = orr_result_gpu(r);
    if (r->app.launches || r->app.copies) application(&p, r);
    if (r->sample) page_sample(&p, r);
    if (r->launches.n > 1 || (!r->profiles.n && !timed)) launch_table(&p, r);
    page_ranges(&p, r);
    page_readings(&p, r);
    if (timed) page_timing(&p, r);
    page_limits(&p, r);
    for (size_t i = 0; i < r->profiles.n; i++) {
        orr_sums s;
        orr_sums_make(r->profiles.at[i], &s);
        kernel_head(&p, r, r->profiles.at[i]);
        kernel_totals(&p, &s);
        kernel_mix(&p, &s);
        kernel_memory(&p, &s);
        if (o->lines) kernel_lines(&p, r->profiles.at[i], &s);
        orr_sums_free(&s);
    }
    if (o->host && r->host.seconds > 0) host_line(&p, r, warp, thread);
}
