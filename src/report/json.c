// A result as JSON (docs/how/design.md section 6, docs/reference/counters.md): one object, fields in a fixed
// order. Everything but `host` is the same on every host and with any number of threads. What a model does
// not predict is null.
#include "report/json.h"
#include "report/limits.h"
#include "report/page.h"
#include "report/ranges.h"
#include "report/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_counters(orr_text *t, const double *c, const char *indent) {
    orr_text_add(t, "\"counters\": {");
    bool first = true;
    for (int i = 0; c && i < ORR_COUNTERS; i++) {
        if (isnan(c[i])) continue;
        orr_text_add(t, "%s\n%s  ", first ? "" : ",", indent);
        json_field(t, orr_counters[i].name, c[i]);
        first = false;
    }
    orr_text_add(t, first ? "}" : "\n%s}", indent);
}

void json_kernel_name(orr_text *t, const orr_kernel *k) {
    char *written = orr_demangle(k->name);
    json_string(t, "kernel", k->name);
    if (written) {
        orr_text_add(t, ", ");
        json_string(t, "demangled", written);
    }
    free(written);
}

static void launch(orr_text *t, const orr_launch_result *l, bool brief) {
    orr_text_add(t, "    {");
    json_kernel_name(t, l->kernel);
    orr_text_add(t, ", \"index\": %u, \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], ", l->index,
                 l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
    orr_text_add(t, "\"dynamic_shared\": %u, ", l->dynamic_shared);
    if (l->range) {
        json_string(t, "range", l->range);
        orr_text_add(t, ", ");
    }
    json_field(t, "cycles", l->cycles);
    orr_text_add(t, ", ");
    json_field(t, "time_ns", l->time_ns);
    orr_text_add(t, ", ");
    json_count(t, "warp_insts", l->warp_insts);
    orr_text_add(t, ", ");
    json_count(t, "thread_insts", l->thread_insts);
    orr_text_add(t, ", ");
    json_field(t, "occupancy", l->occupancy);
    if (l->estimated) orr_text_add(t, ", \"estimated\": true");
    if (l->cut) orr_text_add(t, ", \"stopped\": true, \"blocks_done\": %llu", (unsigned long long)l->done);
    if (l->events && !isnan(l->cycles))
        orr_text_add(t, ", \"events\": \"%s\"", l->events == ORR_EVENTS_IN_TIME ? "in time" : "one order");
    if (brief) {
        orr_text_add(t, "}");
        return;
    }
    orr_text_add(t, ",\n     ");
    json_counters(t, l->counters, "     ");
    orr_text_add(t, ",\n     ");
    if (l->timing) {
        json_stalls(t, l->timing->stalls);
        json_timing(t, l);
    } else {
        orr_text_add(t, "\"stalls\": {}");
    }
    json_limits(t, l);
    orr_text_add(t, "}");
}

static void memory(orr_text *t, const orr_sums *s) {
    orr_text_add(t, "     \"memory\": [");
    bool first = true;
    for (int space = 0; space < ORR_SPACE_COUNT; space++)
        for (int kind = 0; kind < ORR_MEM_KINDS; kind++) {
            const orr_mem_sum *m = &s->mem[space][kind];
            if (!m->requests) continue;
            orr_text_add(t, "%s\n       {\"space\": \"%s\", \"op\": \"%s\", ", first ? "" : ",",
                         orr_space_name[space], orr_mem_kind_name[kind]);
            first = false;
            json_count(t, "requests", m->requests);
            orr_text_add(t, ", ");
            json_count(t, "thread_accesses", m->lanes);
            orr_text_add(t, ", ");
            json_count(t, "bytes", m->bytes);
            orr_text_add(t, ", ");
            if (space == ORR_SPACE_SHARED) {
                json_count(t, "passes", m->passes);
                orr_text_add(t, ", ");
                json_count(t, "bank_conflicts", m->passes - m->phases);
            } else {
                json_count(t, "sectors", m->sectors);
                orr_text_add(t, ", ");
                json_count(t, "lines", m->lines);
                orr_text_add(t, ", ");
                json_count(t, "ideal_sectors", m->ideal);
                orr_text_add(t, ", ");
                json_ratio(t, "sectors_per_request", m->sectors, m->requests);
            }
            orr_text_add(t, "}");
        }
    orr_text_add(t, first ? "]" : "\n     ]");
}

static void lines(orr_text *t, const orr_sums *s) {
    orr_text_add(t, ",\n     \"lines\": [");
    for (size_t i = 0; i < s->lines.n; i++) {
        const orr_line_sum *l = &s->lines.at[i];
        orr_text_add(t, "%s\n       {", i ? "," : "");
        json_string(t, "file", l->file);
        orr_text_add(t, ", \"line\": %u, ", l->line);
        json_count(t, "warp_insts", l->warp);
        orr_text_add(t, ", ");
        json_count(t, "thread_insts", l->thread);
        orr_text_add(t, ", ");
        json_count(t, "requests", l->requests);
        orr_text_add(t, ", ");
        json_ratio(t, "sectors_per_request", l->sectors, l->sector_requests);
        orr_text_add(t, ", ");
        json_count(t, "bank_conflicts", l->conflicts);
        orr_text_add(t, ", ");
        json_count(t, "branches", l->branches);
        orr_text_add(t, ", ");
        json_count(t, "divergent_branches", l->divergent);
        if (s->cycles > 0) orr_text_add(t, ", \"warp_cycles\": %.0f", l->cycles);
        orr_text_add(t, "}");
    }
    orr_text_add(t, s->lines.n ? "\n     ]" : "]");
}

static void profile(orr_text *t, const orr_profile *p, bool with_lines) {
    const orr_kernel *k = p->kernel;
    orr_sums s;
    orr_sums_make(p, &s);
    orr_text_add(t, "    {");
    json_kernel_name(t, k);
    orr_text_add(t, ", \"launches\": %u, \"registers\": %u, \"shared_bytes\": %u, ", p->launches, k->regs,
                 k->shared_bytes);
    json_count(t, "warp_insts", s.warp);
    orr_text_add(t, ", ");
    json_count(t, "thread_insts", s.thread);
    orr_text_add(t, ",\n     \"divergence\": {");
    json_ratio(t, "active_lanes", s.thread, s.warp);
    orr_text_add(t, ", \"warp_insts_by_active_lanes\": {");
    for (int a = 0; a < ORR_ACTIVE_RANGES; a++) {
        orr_text_add(t, a ? ", " : "");
        json_count(t, orr_active_name[a], s.active[a]);
    }
    orr_text_add(t, "}, ");
    json_count(t, "branches", s.branches);
    orr_text_add(t, ", ");
    json_count(t, "divergent_branches", s.divergent);
    orr_text_add(t, "},\n     ");
    json_count(t, "barriers", s.barriers);
    orr_text_add(t, ", ");
    json_count(t, "warp_syncs", s.warp_syncs);
    orr_text_add(t, ", ");
    json_count(t, "fences", s.fences);
    orr_text_add(t, ", ");
    json_count(t, "atomics", s.atomics);
    orr_text_add(t, ", ");
    json_count(t, "calls", s.calls);
    orr_text_add(t, ",\n     \"units\": {");
    bool first = true;
    for (int u = 0; u < ORR_UNIT_COUNT; u++) {
        if (!s.unit_warp[u]) continue;
        orr_text_add(t, "%s\"%s\": {", first ? "" : ", ", orr_unit_name[u]);
        first = false;
        json_count(t, "warp_insts", s.unit_warp[u]);
        orr_text_add(t, ", ");
        json_count(t, "thread_insts", s.unit_thread[u]);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "},\n     \"opcodes\": {");
    for (size_t i = 0; i < s.ops.n; i++) {
        orr_text_add(t, i ? ", " : "");
        orr_text_json(t, s.ops.at[i].name);
        orr_text_add(t, ": {");
        json_count(t, "warp_insts", s.ops.at[i].warp);
        orr_text_add(t, ", ");
        json_count(t, "thread_insts", s.ops.at[i].thread);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "},\n");
    memory(t, &s);
    if (with_lines) lines(t, &s);
    orr_text_add(t, "}");
    orr_sums_free(&s);
}

static void count_stalls(orr_text *t, const orr_result *r) {
    uint64_t stalls[ORR_STALLS] = {0}, warp_cycles = 0;
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_timing *timing = r->launches.at[i].timing;
        for (int s = 0; timing && s < ORR_STALLS; s++) stalls[s] += timing->stalls[s];
        if (timing) warp_cycles += timing->warp_cycles;
    }
    json_stalls(t, stalls);
    orr_text_add(t, ", ");
    json_count(t, "warp_cycles", warp_cycles);
}

// Averages, percentages and rates do not add up: where nobody can make them again of the sums, none is said.
static void only_sums(double sum[ORR_COUNTERS]) {
    for (int c = 0; c < ORR_COUNTERS; c++) {
        const char *name = orr_counters[c].name, *end = name + strlen(name);
        if (c != ORR_C_CYCLES && (end - name < 4 || strcmp(end - 4, ".sum") != 0)) sum[c] = (double)NAN;
    }
}

static void totals(orr_text *t, const orr_result *r) {
    double sum[ORR_COUNTERS], cycles = 0, time_ns = 0;
    uint64_t warp = 0, thread = 0;
    for (int c = 0; c < ORR_COUNTERS; c++) sum[c] = r->launches.n ? 0 : (double)NAN;
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        cycles += l->cycles;
        time_ns += l->time_ns;
        warp += l->warp_insts;
        thread += l->thread_insts;
        for (int c = 0; c < ORR_COUNTERS; c++) sum[c] += l->counters ? l->counters[c] : (double)NAN;
    }
    orr_text_add(t, "  \"totals\": {");
    json_count(t, "launches", r->launches.n);
    orr_text_add(t, ", ");
    json_field(t, "cycles", r->launches.n ? cycles : (double)NAN);
    orr_text_add(t, ", ");
    json_field(t, "time_ns", r->launches.n ? time_ns : (double)NAN);
    orr_text_add(t, ", ");
    json_count(t, "warp_insts", warp);
    orr_text_add(t, ", ");
    json_count(t, "thread_insts", thread);
    orr_text_add(t, ",\n   ");
    if (orr_result_gpu(r))
        orr_cycle_rates(orr_result_gpu(r), sum);
    else if (r->launches.n > 1)
        only_sums(sum);
    json_counters(t, sum, "   ");
    if (orr_result_gpu(r)) {
        orr_text_add(t, ",\n   ");
        count_stalls(t, r);
    }
    orr_text_add(t, "},\n  \"host\": {");
    json_field(t, "seconds", r->host.seconds);
    orr_text_add(t, ", ");
    json_field(t, "execute_seconds", r->host.execute_seconds);
    orr_text_add(t, ", ");
    json_field(t, "model_seconds", r->host.model_seconds);
    orr_text_add(t, ", ");
    json_field(t, "warp_insts_per_second",
               r->host.seconds > 0 ? (double)warp / r->host.seconds : (double)NAN);
    orr_text_add(t, ", ");
    json_count(t, "peak_rss_bytes", r->host.peak_rss);
    orr_text_add(t, ", \"threads\": %d}\n}\n", r->host.threads);
}

static void application(orr_text *t, const orr_app *x) {
    orr_text_add(t, "  \"application\": {");
    json_field(t, "time_ns", x->elapsed_ns > 0 ? x->elapsed_ns : x->kernel_ns + x->gap_ns + x->copy_ns);
    orr_text_add(t, ", ");
    json_field(t, "kernel_ns", x->kernel_ns);
    orr_text_add(t, ", ");
    json_field(t, "gap_ns", x->gap_ns);
    orr_text_add(t, ", ");
    json_field(t, "copy_ns", x->copy_ns);
    orr_text_add(t, ", ");
    if (x->overlap_ns > 0) {
        json_field(t, "overlap_ns", x->overlap_ns);
        orr_text_add(t, ", ");
    }
    json_count(t, "launches", x->launches);
    orr_text_add(t, ", ");
    json_count(t, "copies", x->copies);
    orr_text_add(t, ", ");
    json_count(t, "copy_bytes", x->copy_bytes);
    orr_text_add(t, "},\n");
}

// A page shows what went on over time in a kernel's longest launch alone: which launches those are.
static void mark_longest(const orr_result *r, bool *longest) {
    orr_map best = {0};
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        size_t at = (size_t)orr_map_get(&best, l->kernel->name);
        if (at && !(l->time_ns > r->launches.at[at - 1].time_ns)) continue;
        if (at) longest[at - 1] = false;
        longest[i] = true;
        orr_map_put(&best, l->kernel->name, (void *)(i + 1));
    }
    orr_map_free(&best);
}

#define MOST_SOURCE (1u << 20) // bytes of all files together: a page of a program stays under 2 MB

// A file's lines; one that does not fit any more is left out.
static void source(orr_text *t, const char *name, const char *text, size_t *left) {
    size_t size = text ? strlen(text) : SIZE_MAX;
    if (size > *left) return;
    orr_text_add(t, "%s\n    ", *left < MOST_SOURCE ? "," : "");
    *left -= size ? size : 1;
    orr_text_json(t, name);
    orr_text_add(t, ": [");
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        char *copy = strndup(line, n);
        if (!copy) break;
        if (line != text) orr_text_add(t, ",");
        orr_text_json(t, copy);
        free(copy);
        line += n + (line[n] == '\n');
    }
    orr_text_add(t, "]");
}

// The lines of every file that the kernels' instructions name and that is there to be read. PTX that names no
// file is its own source: "".
static void sources(orr_text *t, const orr_result *r) {
    orr_map seen = {0};
    size_t left = MOST_SOURCE;
    orr_text_add(t, "  \"sources\": {");
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_kernel *k = r->launches.at[i].kernel;
        const orr_module *m = k->module;
        page_sources files = page_sources_of(m);
        uint32_t n = m ? m->nfiles : 0;
        for (uint32_t f = 0; f <= n; f++) {
            const char *name = f < n ? m->files[f] : NULL, *key = name ? name : "";
            if ((!name && (!m || k->machine)) || !orr_map_put(&seen, key, (void *)1)) continue;
            source(t, key, page_source_text(&files, name), &left);
        }
        page_sources_free(&files);
    }
    orr_text_add(t, "},\n");
    orr_map_free(&seen);
}

// A report may be anybody's: it does not choose which of the reader's files get into a page.
static bool is_source(const char *name) {
    static const char *const ends[] = {".cu",  ".cuh", ".ptx", ".cl",  ".h",
                                       ".hpp", ".c",   ".cc",  ".cpp", ".py"};
    const char *dot = strrchr(name, '.');
    for (size_t k = 0; dot && k < sizeof ends / sizeof *ends; k++)
        if (!strcmp(dot, ends[k])) return true;
    return false;
}

void orr_report_sources(const char *const *names, size_t n, const char *beside, orr_text *t) {
    page_sources files = {.module = beside};
    size_t left = MOST_SOURCE;
    orr_text_add(t, "\"sources\": {");
    for (size_t k = 0; k < n; k++)
        if (is_source(names[k])) source(t, names[k], page_source_text(&files, names[k]), &left);
    orr_text_add(t, "}");
    page_sources_free(&files);
}

void orr_result_json(const orr_result *r, const orr_report_options *o, orr_text *t) {
    bool *longest = orr_calloc(r->launches.n ? r->launches.n : 1, sizeof *longest);
    if (o->page) mark_longest(r, longest);
    orr_text_add(t, "{\n  ");
    json_string(t, "input", r->input);
    orr_text_add(t, ", ");
    json_string(t, "size", r->size && *r->size ? r->size : NULL);
    orr_text_add(t, ",\n  ");
    json_string(t, "gpu", r->gpu);
    orr_text_add(t, ", ");
    json_string(t, "model", r->model);
    orr_text_add(t, ", ");
    json_string(t, "source", r->source);
    orr_text_add(t, ", \"buffers_checked\": %u, \"buffer_bytes\": %llu,\n  \"launches\": [", r->checked,
                 (unsigned long long)r->buffer_bytes);
    for (size_t i = 0; i < r->launches.n; i++) {
        orr_text_add(t, i ? ",\n" : "\n");
        launch(t, &r->launches.at[i], o->page && !longest[i]);
    }
    free(longest);
    orr_text_add(t, "%s],\n", r->launches.n ? "\n  " : "");
    if (r->profiles.n) {
        orr_text_add(t, "  \"kernels\": [");
        for (size_t i = 0; i < r->profiles.n; i++) {
            orr_text_add(t, i ? ",\n" : "\n");
            profile(t, r->profiles.at[i], o->lines);
        }
        orr_text_add(t, "\n  ],\n");
    } else if (orr_result_gpu(r)) {
        json_costs(t, r, o);
    }
    if (o->page || o->lines) sources(t, r);
    json_ranges(t, r);
    json_readings(t, r);
    if (r->sample) json_sample(t, r);
    if (r->blocks_in_all)
        orr_text_add(t, "  \"blocks_executed\": %llu, \"blocks_in_all\": %llu,\n",
                     (unsigned long long)r->blocks_executed, (unsigned long long)r->blocks_in_all);
    if (r->app.launches || r->app.copies) application(t, &r->app);
    totals(t, r);
}

// One row a counter, in the order of the table.
void orr_report_counters(orr_text *t) {
    orr_text_add(t, "| counter (unit) | what Orrery counts |\n|---|---|\n");
    for (int i = 0; i < ORR_COUNTERS; i++)
        orr_text_add(t, "| `%s` (%s) | %s |\n", orr_counters[i].name, orr_counters[i].unit,
                     orr_counters[i].meaning);
}
