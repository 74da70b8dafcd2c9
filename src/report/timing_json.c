// What a model of time adds to the JSON report. For each launch: the verdict, how much of each resource was
// used, warp cycles by reason, and what went on over time. For each kernel, its launches added up: the same,
// and with --lines every instruction and source line. All counts are exact: stalls add up to warp_cycles,
// those of instructions and of lines to those of the kernel, those of the samples to those of the launch.
#include "report/json.h"
#include "program/program.h"
#include "sass/sass.h"

#include <stdlib.h>

void json_stalls(orr_text *t, const uint64_t stalls[ORR_STALLS]) {
    orr_text_add(t, "\"stalls\": {");
    for (int s = 0; s < ORR_STALLS; s++) {
        orr_text_add(t, s ? ", " : "");
        json_count(t, orr_stalls[s].name, stalls[s]);
    }
    orr_text_add(t, "}");
}

// ---- a launch, or many together ---------------------------------------------------------------------
static void verdict(orr_text *t, const orr_gpu *g, const orr_launch_result *l) {
    orr_verdict v;
    orr_judge(g, l, &v);
    json_string(t, "bound", orr_bound_name[v.bound]);
    orr_text_add(t, ",\n     \"verdict\": {");
    json_string(t, "text", v.text);
    orr_text_add(t, ", ");
    json_string(t, "resource", v.resource[0] ? v.resource : NULL);
    orr_text_add(t, ", ");
    json_field(t, "percent", v.percent);
    orr_text_add(t, ", ");
    json_string(t, "stall", orr_stalls[v.stall].name);
    orr_text_add(t, ", ");
    json_field(t, "stall_percent", v.stall_percent);
    orr_text_add(t, ", ");
    json_field(t, "sm_active_percent", v.active_percent);
    orr_text_add(t, ", ");
    json_field(t, "overhead_percent", v.overhead_percent);
    orr_text_add(t, ", ");
    json_string(t, "rests_on", v.rests_on[0] ? v.rests_on : NULL);
    orr_text_add(t, "}");
}

static void resources(orr_text *t, const orr_gpu *g, const orr_launch_result *l) {
    orr_use use[ORR_USES_MAX];
    int n = orr_uses(g, l, use);
    orr_text_add(t, "\"resources\": {");
    for (int i = 0; i < n; i++) {
        orr_text_add(t, "%s\n       ", i ? "," : "");
        orr_text_json(t, use[i].name);
        orr_text_add(t, ": {");
        json_field(t, "percent", use[i].percent);
        if (!isnan(use[i].rate)) {
            orr_text_add(t, ", ");
            json_field(t, "used", use[i].rate);
            orr_text_add(t, ", ");
            json_field(t, "peak", use[i].peak);
            orr_text_add(t, ", ");
            json_string(t, "unit", use[i].unit);
        }
        orr_text_add(t, "}");
    }
    orr_text_add(t, n ? "\n     }" : "}");
}

static void units(orr_text *t, const orr_gpu *g, const orr_timing *timing) {
    uint64_t insts[ORR_GPU_UNITS_MAX] = {0};
    for (uint32_t n = 0; timing->issued && n < timing->ninsts; n++) {
        uint8_t unit = timing->program->insts[n].unit;
        if (unit < ORR_GPU_UNITS_MAX) insts[unit] += timing->issued[n];
    }
    orr_text_add(t, "\"units\": {");
    bool first = true;
    for (int u = 0; u < g->nunits; u++) {
        if (!timing->unit_busy[u] && !insts[u]) continue;
        orr_text_add(t, first ? "" : ", ");
        first = false;
        orr_text_json(t, g->units[u].name);
        orr_text_add(t, ": {");
        json_count(t, "busy_cycles", timing->unit_busy[u]);
        if (timing->issued) {
            orr_text_add(t, ", ");
            json_count(t, "warp_insts", insts[u]);
        }
        orr_text_add(t, "}");
    }
    orr_text_add(t, "}");
}

static void common(orr_text *t, const orr_gpu *g, const orr_launch_result *l) {
    const orr_timing *x = l->timing;
    orr_text_add(t, ", ");
    json_count(t, "warp_cycles", x->warp_cycles);
    orr_text_add(t, ",\n     ");
    verdict(t, g, l);
    orr_text_add(t, ",\n     ");
    json_count(t, "overhead_cycles", x->overhead);
    orr_text_add(t, ", ");
    json_count(t, "tail_cycles", x->tail.n);
    orr_text_add(t, ", ");
    json_count(t, "sm_active_cycles", x->sm_active);
    orr_text_add(t, ", ");
    json_field(t, "occupancy_achieved",
               x->sm_active ? (double)x->warp_cycles / ((double)x->sm_active * g->limit_sm_warps)
                            : (double)NAN);
    orr_text_add(t, ", \"blocks_per_sm\": %d, ", x->resident);
    json_string(t, "occupancy_limiter",
                x->limiter >= 0 && x->limiter < ORR_LIMITERS ? orr_limiter_name[x->limiter] : NULL);
    orr_text_add(t, ",\n     ");
    resources(t, g, l);
    orr_text_add(t, ",\n     ");
    units(t, g, x);
}

// ---- over time --------------------------------------------------------------------------------------
typedef uint64_t get(const orr_sample *s, int which);
static uint64_t get_warps(const orr_sample *s, int which) { return (void)which, s->warps; }
static uint64_t get_blocks(const orr_sample *s, int which) { return (void)which, s->blocks; }
static uint64_t get_insts(const orr_sample *s, int which) { return (void)which, s->insts; }
static uint64_t get_l1(const orr_sample *s, int which) { return (void)which, s->l1_sectors; }
static uint64_t get_l2(const orr_sample *s, int which) { return (void)which, s->l2_sectors; }
static uint64_t get_dram(const orr_sample *s, int which) { return (void)which, s->dram_sectors; }
static uint64_t get_stall(const orr_sample *s, int which) { return s->stalls[which]; }

static void counts(orr_text *t, const orr_timing *x, const char *name, get *of, int which) {
    orr_text_add(t, "\"%s\": [", name);
    for (uint32_t i = 0; i < x->nsamples; i++)
        orr_text_add(t, "%s%llu", i ? ", " : "", (unsigned long long)of(&x->samples[i], which));
    orr_text_add(t, "]");
}

// The same, times a factor: four digits are enough to look at.
static void rates(orr_text *t, const orr_timing *x, const char *name, get *of, double factor) {
    orr_text_add(t, "\"%s\": [", name);
    for (uint32_t i = 0; i < x->nsamples; i++)
        orr_text_add(t, "%s%.4g", i ? ", " : "", (double)of(&x->samples[i], 0) * factor);
    orr_text_add(t, "]");
}

static void over_time(orr_text *t, const orr_gpu *g, const orr_timing *x) {
    double cycles = x->sample_cycles ? (double)x->sample_cycles : 1, sms = g->sm_count;
    double gbs = 32e-9 * g->clock_sm * 1e6 / cycles; // sectors of a sample to GB/s
    orr_text_add(t, "\"timeline\": {");
    json_count(t, "sample_cycles", x->sample_cycles);
    orr_text_add(t, ", \"samples\": %u,\n       ", x->nsamples);
    counts(t, x, "warp_insts", get_insts, 0);
    orr_text_add(t, ",\n       ");
    counts(t, x, "warp_cycles", get_warps, 0);
    orr_text_add(t, ",\n       ");
    counts(t, x, "block_cycles", get_blocks, 0);
    orr_text_add(t, ",\n       ");
    counts(t, x, "l1_sectors", get_l1, 0);
    orr_text_add(t, ",\n       ");
    counts(t, x, "l2_sectors", get_l2, 0);
    orr_text_add(t, ",\n       ");
    counts(t, x, "dram_sectors", get_dram, 0);
    orr_text_add(t, ",\n       ");
    rates(t, x, "ipc", get_insts, 1 / (cycles * sms));
    orr_text_add(t, ",\n       ");
    rates(t, x, "warps", get_warps, 1 / (cycles * sms));
    orr_text_add(t, ",\n       ");
    rates(t, x, "l1_gbs", get_l1, gbs);
    orr_text_add(t, ",\n       ");
    rates(t, x, "l2_gbs", get_l2, gbs);
    orr_text_add(t, ",\n       ");
    rates(t, x, "dram_gbs", get_dram, gbs);
    orr_text_add(t, ",\n       \"stalls\": {");
    bool first = true;
    for (int s = 0; s < ORR_STALLS; s++) {
        uint64_t any = 0;
        for (uint32_t i = 0; i < x->nsamples; i++) any |= x->samples[i].stalls[s];
        if (!any) continue;
        orr_text_add(t, "%s\n         ", first ? "" : ",");
        first = false;
        counts(t, x, orr_stalls[s].name, get_stall, s);
    }
    orr_text_add(t, first ? "}}" : "\n       }}");
}

void json_timing(orr_text *t, const orr_launch_result *l) {
    const orr_gpu *g = l->timing->program->gpu;
    common(t, g, l);
    orr_text_add(t, ",\n     ");
    over_time(t, g, l->timing);
    const orr_timing *x = l->timing;
    if (!x->nclocks) return;
    orr_text_add(t, ",\n     \"clock_reads\": ["); // block, warp, cycle
    for (uint64_t n = 0; n < x->nclocks; n++)
        orr_text_add(t, "%s[%llu, %u, %llu]", n ? ", " : "", (unsigned long long)x->clocks[n].block,
                     x->clocks[n].warp, (unsigned long long)x->clocks[n].cycle);
    orr_text_add(t, "]");
}

// ---- kernels ----------------------------------------------------------------------------------------
static void place(orr_text *t, const orr_place_cost *p) {
    orr_text_add(t, "{");
    if (p->name) {
        orr_text_add(t, "\"address\": %u, ", p->pc);
        json_string(t, "instruction", p->name);
        orr_text_add(t, ", \"live_registers\": %u, ", p->live);
        if (p->code) {
            orr_text text = {0};
            orr_sass_print(&text, p->code);
            json_string(t, "text", text.s);
            orr_text_add(t, ", ");
            free(text.s);
        }
    }
    json_string(t, "file", p->file);
    orr_text_add(t, ", \"line\": %u, ", p->line);
    json_count(t, "warp_insts", p->issued);
    orr_text_add(t, ", ");
    json_count(t, "thread_insts", p->threads);
    orr_text_add(t, ", ");
    json_count(t, "warp_cycles", p->cycles);
    orr_text_add(t, ", ");
    json_field(t, "time_percent", p->share);
    if (p->tail) {
        orr_text_add(t, ", ");
        json_count(t, "tail_cycles", p->tail);
    }
    if (p->traffic.requests) {
        orr_text_add(t, ", ");
        json_count(t, "global_requests", p->traffic.requests);
        orr_text_add(t, ", ");
        json_count(t, "global_sectors", p->traffic.sectors);
        orr_text_add(t, ", ");
        json_count(t, "ideal_sectors", p->traffic.ideal);
    }
    orr_text_add(t, ", \"stalls\": {");
    bool first = true;
    for (int s = 0; s < ORR_STALLS; s++) {
        if (!p->stalls[s]) continue;
        orr_text_add(t, first ? "" : ", ");
        first = false;
        json_count(t, orr_stalls[s].name, p->stalls[s]);
    }
    orr_text_add(t, "}}");
}

static void places(orr_text *t, const char *name, const orr_place_cost *p, size_t n) {
    orr_text_add(t, ",\n     \"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        orr_text_add(t, i ? ",\n       " : "\n       ");
        place(t, &p[i]);
    }
    orr_text_add(t, n ? "\n     ]" : "]");
}

static void kernel(orr_text *t, const orr_cost *c, bool lines) {
    const orr_launch_result *l = &c->sum;
    orr_text_add(t, "    {");
    json_kernel_name(t, l->kernel);
    orr_text_add(t, ", \"launches\": %u, \"registers\": %u, \"shared_bytes\": %u, ", c->launches,
                 c->timing.program->registers, l->kernel->shared_bytes);
    json_count(t, "cycles", c->timing.cycles);
    orr_text_add(t, ", ");
    json_field(t, "time_ns", l->time_ns);
    orr_text_add(t, ", ");
    json_count(t, "warp_insts", l->warp_insts);
    orr_text_add(t, ", ");
    json_count(t, "thread_insts", l->thread_insts);
    orr_text_add(t, ",\n     ");
    json_counters(t, l->counters, "     ");
    orr_text_add(t, ",\n     ");
    json_stalls(t, c->timing.stalls);
    common(t, c->gpu, l);
    if (lines) {
        places(t, "instructions", c->insts, c->ninsts);
        places(t, "lines", c->lines, c->nlines);
    }
    orr_text_add(t, "}");
}

void json_costs(orr_text *t, const orr_result *r, const orr_report_options *o) {
    orr_costs all;
    orr_costs_make(r, o->lines, &all);
    orr_text_add(t, "  \"kernels\": [");
    for (size_t i = 0; i < all.n; i++) {
        orr_text_add(t, i ? ",\n" : "\n");
        kernel(t, all.at[i], o->lines);
    }
    orr_text_add(t, "%s],\n", all.n ? "\n  " : "");
    orr_costs_free(&all);
}
