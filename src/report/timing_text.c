// Kernels as a model of time saw them, for people: what bounds each, how much of everything was used, how
// well the caches did, what the warps did in every cycle, and with --lines which instructions and lines cost
// most.
#include "report/page.h"
#include "program/program.h"

#include <math.h>
#include <string.h>

enum { TOP_INSTS = 24, TOP_LINES = 24, TOP_REASONS = 3, BAR = 20 };

// "######........": a percentage to look at.
static const char *bar(char to[BAR + 1], double percent) {
    int n = percent >= 100 ? BAR : percent > 0 ? (int)(percent * BAR / 100 + 0.5) : 0;
    memset(to, '#', (size_t)n);
    memset(to + n, '.', (size_t)(BAR - n));
    to[BAR] = 0;
    return to;
}

// Text in lines of at most `width` columns, each behind `indent` blanks; the first goes on where the line is.
static void wrapped(orr_text *t, const char *s, int indent, int width) {
    int column = indent;
    for (bool first = true; *s; first = false) {
        int n = (int)strcspn(s, " ");
        if (!first && column + 1 + n > width) {
            orr_text_add(t, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            orr_text_add(t, " ");
            column++;
        }
        orr_text_addn(t, s, (size_t)n);
        column += n;
        s += n;
        while (*s == ' ') s++;
    }
    orr_text_add(t, "\n");
}

// ---- the first lines ----------------------------------------------------------------------------
static void head(const page *p, const orr_cost *c) {
    char a[48], b[48], name[120];
    const orr_launch_result *l = c->first;
    const orr_program *program = c->timing.program;
    orr_text_add(p->t, "\n%skernel %s%s  %u launch%s", bold(p), page_name(name, l->kernel->name), plain(p),
                 c->launches, c->launches == 1 ? "" : "es");
    if (c->same) {
        orr_text_add(p->t, "  grid %s  block %s", page_shape(a, l->grid), page_shape(b, l->block));
        if (l->dynamic_shared) orr_text_add(p->t, "  dynamic shared %u B", l->dynamic_shared);
    }
    orr_text_add(p->t, "\n  %u registers a thread, %u B shared\n\n", program->registers,
                 l->kernel->shared_bytes);
    orr_verdict v;
    orr_judge(c->gpu, &c->sum, &v);
    orr_text_add(p->t, "  %sbound by%s ", bold(p), plain(p));
    wrapped(p->t, v.text, 11, 110);
    if (!v.rests_on[0]) return;
    orr_text_add(p->t, "  %srests on%s ", bold(p), plain(p));
    wrapped(p->t, v.rests_on, 11, 110);
}

static void totals(const page *p, const orr_cost *c) {
    char a[32], b[32];
    const orr_timing *t = &c->timing;
    const orr_gpu *g = c->gpu;
    double cycles = (double)t->cycles, active = (double)t->sm_active;
    orr_text_add(p->t, "\n  %-14s %14s   %s cycles at %.0f MHz, %s of them before the first block\n", "time",
                 page_time(a, c->sum.time_ns), orr_commas(b, t->cycles), g->clock_sm,
                 orr_commas((char[32]){0}, t->overhead));
    orr_text_add(p->t, "  %-14s %14s   %.2f of 32 lanes active\n", "instructions",
                 orr_commas(a, c->sum.warp_insts),
                 c->sum.warp_insts ? (double)c->sum.thread_insts / (double)c->sum.warp_insts : 0);
    orr_text_add(p->t, "  %-14s %14.2f   of an SM with a block; %.2f over all SMs and cycles\n", "IPC",
                 active > 0 ? (double)c->sum.warp_insts / active : 0,
                 cycles > 0 ? (double)c->sum.warp_insts / (cycles * g->sm_count) : 0);
    double warps = active > 0 ? (double)t->warp_cycles / active : 0;
    orr_text_add(p->t, "  %-14s %12.1f %%   %.1f of %d warps an SM; ", "occupancy",
                 100 * warps / g->limit_sm_warps, warps, g->limit_sm_warps);
    if (!isnan(c->first->occupancy)) orr_text_add(p->t, "at most %.1f %%, ", c->first->occupancy * 100);
    orr_text_add(p->t, "%d block%s an SM, limited by %s\n", t->resident, t->resident == 1 ? "" : "s",
                 t->limiter >= 0 && t->limiter < ORR_LIMITERS ? orr_limiter_name[t->limiter] : "nothing");
    uint64_t sms = (uint64_t)g->sm_count * (t->cycles - t->overhead);
    orr_text_add(p->t, "  %-14s %12.1f %%   of SM cycles with a block", "SMs busy",
                 percent(t->sm_active, sms));
    if (t->resident > 0)
        orr_text_add(p->t, "; %.2f waves of blocks",
                     (double)c->sum.blocks / ((double)t->resident * g->sm_count));
    orr_text_add(p->t, "\n");
    page_events(p, c->first->events);
}

// ---- tables ---------------------------------------------------------------------------------------
static void resources(const page *p, const orr_cost *c) {
    orr_use use[ORR_USES_MAX];
    char b[BAR + 1];
    int n = orr_uses(c->gpu, &c->sum, use);
    orr_text_add(p->t, "\n  %s%-12s %9s  %-*s %12s %12s%s\n", bold(p), "resource", "% of peak", BAR, "",
                 "used", "peak", plain(p));
    for (int i = 0; i < n; i++) {
        orr_text_add(p->t, "  %-12s %9.1f  %s", use[i].name, use[i].percent, bar(b, use[i].percent));
        if (!isnan(use[i].rate))
            orr_text_add(p->t, use[i].peak < 100 ? " %12.2f %12.2f %s" : " %12.0f %12.0f %s", use[i].rate,
                         use[i].peak, use[i].unit);
        orr_text_add(p->t, "\n");
    }
}

// `x`: how its requests fill sectors; NULL: of no interest.
static void cache_row(const page *p, const char *name, uint64_t sectors, const uint64_t hits[2],
                      const orr_traffic *x) {
    char a[32];
    if (!sectors) return;
    orr_text_add(p->t, "  %-16s %16s", name, orr_commas(a, sectors));
    if (hits)
        orr_text_add(p->t, " %7.1f %9.1f", percent(hits[0], sectors), percent(hits[1], sectors));
    else if (x && x->requests)
        orr_text_add(p->t, " %7s %9s", "", "");
    if (x && x->requests)
        orr_text_add(p->t, " %10.2f %6.1f", (double)x->sectors / (double)x->requests,
                     percent(x->ideal, x->sectors));
    orr_text_add(p->t, "\n");
}

static void caches(const page *p, const orr_cost *c) {
    const orr_raw *raw = c->timing.raw;
    if (!raw) return;
    const orr_sm_counts *s = &raw->sm;
    const orr_memsys_stats *m = &raw->mem;
    static const char *const l1[2][ORR_L1_KINDS] = {
        {"L1 global loads", "L1 global stores", "L1 atomics"},
        {"L1 local loads", "L1 local stores", "L1 local atomics"}};
    static const char *const from[ORR_FROMS] = {"L2 global reads", "L2 local reads", "L2 constants",
                                                "L2 code"};
    static const char *const to[ORR_FROMS] = {"L2 global writes", "L2 local writes", "L2 const. writes",
                                              "L2 code writes"};
    char a[32], b[32], d[32];
    orr_text_add(p->t, "\n  %s%-16s %16s %7s %9s %10s %6s%s\n", bold(p), "cache", "sectors", "hit %",
                 "pending %", "a request", "used %", plain(p));
    for (int space = 0; space < 2; space++)
        for (int k = 0; k < ORR_L1_KINDS; k++)
            cache_row(p, l1[space][k], s->l1.sectors[space][k],
                      k == ORR_L1_ATOMIC ? NULL
                                         : (uint64_t[2]){s->l1.hits[space][k], s->l1.pending[space][k]},
                      space ? NULL : &s->global[k]);
    for (int f = 0; f < ORR_FROMS; f++)
        cache_row(p, from[f], m->read[f], (uint64_t[2]){m->read_hit[f], m->read_pending[f]}, NULL);
    for (int f = 0; f < ORR_FROMS; f++)
        cache_row(p, to[f], m->write[f], (uint64_t[2]){m->write_hit[f]}, NULL);
    cache_row(p, "L2 atomics", m->atomics.n, (uint64_t[2]){m->atomics.hit}, NULL);
    cache_row(p, "DRAM reads", m->dram_read, NULL, NULL);
    cache_row(p, "DRAM writes", m->dram_write, NULL, NULL);
    uint64_t rows = m->row_hit + m->row_miss;
    if (rows)
        orr_text_add(p->t, "  %-16s %16s %7.1f\n", "DRAM row hits", orr_commas(a, m->row_hit),
                     percent(m->row_hit, rows));
    if (s->l1.loads)
        orr_text_add(p->t, "  %-16s %16.0f cycles from issue to use\n", "average load",
                     (double)s->l1.load_latency / (double)s->l1.loads);
    uint64_t passes = 0, conflicts = 0, requests = 0;
    for (int k = 0; k < ORR_L1_KINDS; k++) {
        passes += s->shared.passes[k];
        conflicts += s->shared.conflicts[k];
        requests += s->shared.requests[k];
    }
    if (passes)
        orr_text_add(p->t, "  %-16s %16s passes for %s requests, %s (%.1f %%) by bank conflicts\n",
                     "shared memory", orr_commas(a, passes), orr_commas(b, requests),
                     orr_commas(d, conflicts), percent(conflicts, passes));
}

// Indices of the reasons, the largest first; returns how many are not zero.
static int sorted(const uint64_t stalls[ORR_STALLS], int order[ORR_STALLS]) {
    int n = 0;
    for (int s = 0; s < ORR_STALLS; s++)
        if (stalls[s]) order[n++] = s;
    for (int i = 1; i < n; i++) // few: insertion
        for (int j = i; j > 0 && stalls[order[j]] > stalls[order[j - 1]]; j--) {
            int s = order[j];
            order[j] = order[j - 1];
            order[j - 1] = s;
        }
    return n;
}

static void stalls(const page *p, const orr_cost *c) {
    const orr_timing *t = &c->timing;
    char a[32], b[BAR + 1];
    int order[ORR_STALLS], n = sorted(t->stalls, order);
    orr_text_add(p->t, "\n  %s%-18s %16s %6s%s\n", bold(p), "what warps did", "warp cycles", "%", plain(p));
    for (int i = 0; i < n; i++) {
        int s = order[i];
        double share = percent(t->stalls[s], t->warp_cycles);
        orr_text_add(p->t, "  %-18s %16s %6.1f  %s  %s\n", orr_stalls[s].name, orr_commas(a, t->stalls[s]),
                     share, bar(b, share), orr_stalls[s].meaning);
    }
    orr_text_add(p->t, "  %-18s %16s %6.1f\n", "all", orr_commas(a, t->warp_cycles),
                 t->warp_cycles ? 100.0 : 0.0);
}

// ---- instructions and lines -----------------------------------------------------------------------
// Sectors a request, and how much of each is used; blank where it does not access global memory.
static void spread(const page *p, const orr_place_cost *x) {
    const orr_traffic *t = &x->traffic;
    if (t->requests)
        orr_text_add(p->t, " %7.2f %6.1f  ", (double)t->sectors / (double)t->requests,
                     percent(t->ideal, t->sectors));
    else
        orr_text_add(p->t, " %7s %6s  ", "", "");
}

static void reasons(const page *p, const orr_place_cost *x) {
    int order[ORR_STALLS], n = sorted(x->stalls, order), shown = 0;
    if (x->tail) orr_text_add(p->t, "%safter the last block", shown++ ? ", " : "");
    for (int i = 0; i < n && shown < TOP_REASONS; i++) {
        if (order[i] == ORR_STALL_ISSUED || x->stalls[order[i]] * 100 < x->cycles) continue;
        orr_text_add(p->t, "%s%s %.0f", shown++ ? ", " : "", orr_stalls[order[i]].name,
                     percent(x->stalls[order[i]], x->cycles));
    }
}

static void instructions(const page *p, const orr_cost *c, const char *module) {
    char a[32], where[64];
    size_t n = c->ninsts < TOP_INSTS ? c->ninsts : TOP_INSTS;
    orr_text_add(p->t, "\n  %s%-8s %-24s %-24s %14s %7s %7s %6s  %s%s\n", bold(p), "address", "instruction",
                 "line", "issued", "% time", "sectors", "used %", "of it, %", plain(p));
    for (size_t i = 0; i < n; i++) {
        const orr_place_cost *x = &c->insts[i];
        where[0] = 0;
        if (x->line) page_where(where, x->file ? x->file : module, x->line);
        orr_text_add(p->t, "  %06x   %-24s %-24s %14s %7.2f", x->pc, x->name, where, orr_commas(a, x->issued),
                     x->share);
        spread(p, x);
        reasons(p, x);
        orr_text_add(p->t, "\n");
    }
    if (c->ninsts > n) orr_text_add(p->t, "  and %zu more; --json has all\n", c->ninsts - n);
}

static void lines(const page *p, const orr_cost *c) {
    char a[32], where[64], text[64];
    page_sources sources = page_sources_of(c->first->kernel->module);
    size_t n = c->nlines < TOP_LINES ? c->nlines : TOP_LINES;
    bool known = false;
    for (size_t i = 0; i < c->nlines; i++) known |= c->lines[i].line != 0;
    if (!known) return; // a trace without line numbers
    orr_text_add(p->t, "\n  %s%-24s %14s %7s %7s %6s  %-56s  %s%s\n", bold(p), "line", "issued", "% time",
                 "sectors", "used %", "source", "of it, %", plain(p));
    for (size_t i = 0; i < n; i++) {
        const orr_place_cost *x = &c->lines[i];
        page_where(where, x->file ? x->file : sources.module, x->line);
        page_source_line(&sources, x->file, x->line, text);
        orr_text_add(p->t, "  %-24s %14s %7.2f", where, orr_commas(a, x->issued), x->share);
        spread(p, x);
        orr_text_add(p->t, "%-56s  ", text);
        reasons(p, x);
        orr_text_add(p->t, "\n");
    }
    if (c->nlines > n) orr_text_add(p->t, "  and %zu more; --json has all\n", c->nlines - n);
    page_sources_free(&sources);
}

void page_timing(const page *p, const orr_result *r) {
    orr_costs all;
    orr_costs_make(r, p->o->lines, &all);
    for (size_t i = 0; i < all.n; i++) {
        const orr_cost *c = all.at[i];
        const orr_module *m = c->first->kernel->module;
        const char *module = m && m->path ? m->path : "";
        head(p, c);
        totals(p, c);
        resources(p, c);
        caches(p, c);
        stalls(p, c);
        if (p->o->lines) {
            instructions(p, c, module);
            lines(p, c);
        }
    }
    orr_costs_free(&all);
}
