// What bounds a kernel: how much of each resource it used, and what follows.
//
// The rules, in this order, after Nsight Compute's speed of light (a resource at 60 % of its peak or more is
// what limits a kernel; when none is, latency does):
//
//   1. launch        MOSTLY_OVERHEAD of the cycles had passed before the first block started.
//   2. a resource    The most used one is at BUSY or more. A pipe or the issue of instructions: compute.
//                    The start of thread blocks, where those that end are replaced: launch.
//                    DRAM, L2, the crossbar, L1, shared memory (also when it is the load/store unit in front
//                    of the last two that is full): bandwidth. One slice of L2, or its unit for atomics, that
//                    is busy while the others are not counts by itself: everybody waits for it.
//   3. parallelism   SMs had work in less than ENOUGH_ACTIVE of the time: too few blocks, or some ran on when
//                    the others had ended.
//   4. barrier       What warps waited for most, other than their turn, is the other warps of their block.
//   5. latency       Anything else: each warp waits, and there are too few of them to cover for each other.
//
// More sentences say what bounds the SMs that do have work (rule 3), and how much of the sectors that global
// accesses fetch is used, where memory is what is waited for.
//
// All shares but that of rule 1 are of the time from the start of the first block on.
//
// L2 counts as busy by the bytes it moved or by the time its slices were busy, whichever is more; DRAM by its
// bytes and the time its buses were busy, and apart from that by the rows it had to open (at most one each
// tRRD in a channel and one each tRC in a bank): accesses all over memory keep it busy with few bytes.
#include "report/report.h"
#include "program/program.h"

#include <math.h>
#include <string.h>

#define MORE 500 // characters of a further sentence

static const double BUSY = 60, MOSTLY_OVERHEAD = 50, ENOUGH_ACTIVE = 60; // percent
static const double STANDS_OUT = 1.25; // the busiest slice of L2 over the average
static const double SPREAD = 1.5;      // sectors of global accesses over what they could be

const char *const orr_bound_name[ORR_BOUNDS] = {"none",     "compute", "dram",        "l2",
                                                "crossbar", "l1",      "shared",      "atomics",
                                                "latency",  "barrier", "parallelism", "launch"};

// ---- resources --------------------------------------------------------------------------------
static double percent(double a, double b) { return b > 0 ? 100 * a / b : 0; }
static double larger(double a, double b) { return b > a ? b : a; }

static double l2_hz(const orr_gpu *g) { return (g->clock_l2 > 0 ? g->clock_l2 : g->clock_sm) * 1e6; }

static uint64_t running(const orr_timing *t) { return t->cycles > t->overhead ? t->cycles - t->overhead : 0; }

static uint64_t sectors_of(const orr_memsys_stats *m) {
    uint64_t n = m->atomics.n;
    for (int f = 0; f < ORR_FROMS; f++) n += m->read[f] + m->write[f];
    return n;
}

// The load/store unit is in front of L1 and of shared memory: it counts for the one that is asked more.
static enum orr_bound bound_of_unit(const char *name, const orr_raw *raw) {
    if (strcmp(name, "lsu")) return ORR_BOUND_COMPUTE;
    uint64_t shared = 0, other = 0;
    for (int k = 0; raw && k < ORR_L1_KINDS; k++) {
        shared += raw->sm.shared.requests[k];
        other += raw->sm.l1.requests[0][k] + raw->sm.l1.requests[1][k];
    }
    return shared > other ? ORR_BOUND_SHARED : ORR_BOUND_L1;
}

// What uses are shares of: a launch without its overhead.
typedef struct extent {
    double cycles, seconds, sms;
    double giga; // bytes to GB/s
} extent;

static orr_use *use_of_units(const orr_gpu *g, const orr_launch_result *l, extent x, orr_use *use) {
    const orr_timing *t = l->timing;
    double slots = (double)g->core_schedulers / g->core_issue_interval;
    double issues = (double)l->warp_insts - (t->raw ? (double)t->raw->sm.dual : 0);
    *use++ = (orr_use){"issue",
                       ORR_BOUND_COMPUTE,
                       percent(issues, slots * x.sms * x.cycles),
                       issues / (x.sms * x.cycles), // two instructions issued together take one slot
                       slots,
                       g->core_issue > 1 ? "slots/cycle" : "inst/cycle"};
    for (int u = 0; u < g->nunits; u++) {
        if (!t->unit_busy[u]) continue;
        *use++ = (orr_use){g->units[u].name,
                           bound_of_unit(g->units[u].name, t->raw),
                           percent((double)t->unit_busy[u], g->units[u].count * x.sms * x.cycles),
                           NAN,
                           NAN,
                           ""};
    }
    if (t->refilling && g->launch_block_interval > 0) // those that replace one that has ended
        *use++ = (orr_use){"block starts",
                           ORR_BOUND_LAUNCH,
                           percent((double)t->refilling, x.cycles),
                           (double)t->refilling / g->launch_block_interval / x.cycles,
                           1 / g->launch_block_interval,
                           "blocks/cycle"};
    return use;
}

// Shared memory, L1 and the crossbar.
static orr_use *use_of_sms(const orr_gpu *g, const orr_sm_counts *s, extent x, orr_use *use) {
    double width = (double)g->shared_banks * g->shared_bank_bytes;
    if (s->shared.busy)
        *use++ = (orr_use){"shared",
                           ORR_BOUND_SHARED,
                           percent((double)s->shared.busy, x.sms * x.cycles),
                           (double)s->shared.busy * width * x.giga,
                           width * x.sms * g->clock_sm * 1e-3,
                           "GB/s"};
    uint64_t l1 = 0;
    for (int k = 0; k < ORR_L1_KINDS; k++) l1 += s->l1.sectors[0][k] + s->l1.sectors[1][k];
    *use++ = (orr_use){"L1",
                       ORR_BOUND_L1,
                       percent((double)s->l1.busy, x.sms * x.cycles),
                       (double)l1 * 32 * x.giga,
                       g->l1_bandwidth * x.sms * g->clock_sm * 1e-3,
                       "GB/s"};
    double sent = (double)s->port.sent_bytes * x.giga, received = (double)s->port.received_bytes * x.giga;
    double most_sent = g->xbar_request * x.sms * l2_hz(g) * 1e-9,
           most = g->xbar_reply * x.sms * l2_hz(g) * 1e-9;
    bool out = sent / most_sent > received / most;
    *use++ = (orr_use){"crossbar",
                       ORR_BOUND_CROSSBAR,
                       larger(percent(sent, most_sent), percent(received, most)),
                       out ? sent : received,
                       out ? most_sent : most,
                       "GB/s"};
    return use;
}

static orr_use *use_of_l2(const orr_gpu *g, const orr_memsys_stats *m, extent x, orr_use *use) {
    double l2 = (double)sectors_of(m) * 32 * x.giga, l2_peak = g->l2_bandwidth * l2_hz(g) * 1e-9;
    *use++ = (orr_use){"L2",
                       ORR_BOUND_L2,
                       larger(percent(l2, l2_peak),
                              percent((double)m->slice_busy / (double)ORR_TICKS, g->l2_slices * x.cycles)),
                       l2,
                       l2_peak,
                       "GB/s"};
    double average = (double)m->slice_busy / g->l2_slices, busiest = (double)m->slice_busiest;
    if (busiest > STANDS_OUT * average)
        *use++ =
            (orr_use){"L2 slice", ORR_BOUND_L2, percent(busiest / (double)ORR_TICKS, x.cycles), NAN, NAN, ""};
    if (m->atomics.busiest)
        *use++ = (orr_use){"L2 atomics",
                           ORR_BOUND_ATOMICS,
                           percent((double)m->atomics.busiest / (double)ORR_TICKS, x.cycles),
                           NAN,
                           NAN,
                           ""};
    return use;
}

static orr_use *use_of_dram(const orr_gpu *g, const orr_memsys_stats *m, extent x, orr_use *use) {
    double dram = (double)(m->dram_read + m->dram_write) * 32 * x.giga;
    *use++ = (orr_use){"DRAM",
                       ORR_BOUND_DRAM,
                       larger(percent(dram, g->dram_bandwidth),
                              percent((double)m->dram_busy / (double)ORR_TICKS, g->dram_channels * x.cycles)),
                       dram,
                       g->dram_bandwidth,
                       "GB/s"};
    double clocks = x.seconds * g->clock_dram * 1e6 * g->dram_channels;
    double rows = larger(percent((double)m->row_miss * g->dram_trrd, clocks),
                         percent((double)m->row_miss * g->dram_trc, clocks * g->dram_banks));
    if (m->row_miss) *use++ = (orr_use){"DRAM rows", ORR_BOUND_DRAM, rows, NAN, NAN, ""};
    return use;
}

int orr_uses(const orr_gpu *g, const orr_launch_result *l, orr_use use[ORR_USES_MAX]) {
    const orr_timing *t = l->timing;
    if (!t || !running(t)) return 0;
    extent x = {.cycles = (double)running(t), .sms = g->sm_count};
    x.seconds = x.cycles / (g->clock_sm * 1e6);
    x.giga = 1e-9 / x.seconds;
    orr_use *end = use_of_units(g, l, x, use);
    if (t->raw) {
        end = use_of_sms(g, &t->raw->sm, x, end);
        end = use_of_l2(g, &t->raw->mem, x, end);
        end = use_of_dram(g, &t->raw->mem, x, end);
    }
    return (int)(end - use);
}

// ---- words ------------------------------------------------------------------------------------
static const char *resource_words(enum orr_bound b) {
    switch (b) {
    case ORR_BOUND_DRAM: return "memory bandwidth";
    case ORR_BOUND_L2: return "L2 bandwidth";
    case ORR_BOUND_CROSSBAR: return "bandwidth between the SMs and L2";
    case ORR_BOUND_L1: return "L1 and the load/store unit";
    case ORR_BOUND_SHARED: return "shared memory bandwidth";
    default: return "compute";
    }
}

static void say_resource(const orr_gpu *g, const orr_use *u, const orr_raw *raw, char *to, size_t n) {
    if (!strcmp(u->name, "DRAM rows")) {
        uint64_t hit = raw->mem.row_hit, all = hit + raw->mem.row_miss;
        snprintf(to, n,
                 "memory: opening DRAM rows, at %.0f %% of what is possible; %.0f %% of accesses found "
                 "theirs open",
                 u->percent, percent((double)hit, (double)all));
        return;
    }
    if (u->bound == ORR_BOUND_ATOMICS) {
        snprintf(
            to, n,
            "atomics that meet in few words: the busiest of the L2 slices' atomic units works %.0f %% of "
            "the time, one of them %.0f %% on average",
            u->percent,
            percent((double)raw->mem.atomics.busy, (double)raw->mem.atomics.busiest * (double)g->l2_slices) *
                u->percent / 100);
        return;
    }
    if (!strcmp(u->name, "L2 slice")) {
        snprintf(to, n,
                 "one slice of L2, busy %.0f %% of the time and the others %.0f %% on average: accesses meet "
                 "in few lines",
                 u->percent,
                 percent((double)raw->mem.slice_busy, (double)raw->mem.slice_busiest * g->l2_slices) *
                     u->percent / 100);
        return;
    }
    if (u->bound == ORR_BOUND_LAUNCH) {
        snprintf(to, n,
                 "the start of thread blocks: the GPU gives them out %.0f %% of the time, one every %.2f "
                 "cycles, and they end as fast: each has too little to do",
                 u->percent, 1 / u->peak);
        return;
    }
    if (u->bound == ORR_BOUND_COMPUTE)
        snprintf(to, n, "compute: %s at %.0f %% of its peak",
                 strcmp(u->name, "issue") ? u->name : "instruction issue", u->percent);
    else if (isnan(u->rate))
        snprintf(to, n, "%s: %s at %.0f %% of its peak", resource_words(u->bound), u->name, u->percent);
    else if (percent(u->rate, u->peak) < u->percent - 1) // busy for longer than the bytes alone would take
        snprintf(to, n, "%s: %s busy %.0f %% of the time, with %.0f of %.0f %s", resource_words(u->bound),
                 u->name, u->percent, u->rate, u->peak, u->unit);
    else
        snprintf(to, n, "%s: %s at %.0f %% of its peak, %.0f of %.0f %s", resource_words(u->bound), u->name,
                 u->percent, u->rate, u->peak, u->unit);
}

// How many warps a scheduler has, how many it would need to issue each cycle, and what keeps it from having
// more.
static void say_warps(const orr_gpu *g, const orr_launch_result *l, char *to, size_t n) {
    const orr_timing *t = l->timing;
    double has = t->issue_slots ? (double)t->warp_cycles / (double)t->issue_slots : 0;
    double needs = l->warp_insts ? (double)t->warp_cycles / (double)l->warp_insts : 0;
    double holds = (double)g->limit_sm_warps / g->core_schedulers;
    char why[100] = "";
    uint64_t fit = (uint64_t)(t->resident > 0 ? t->resident : 0) * (uint64_t)g->sm_count;
    if (l->blocks < fit)
        snprintf(why, sizeof why, "; the grid has %llu block%s, %llu would fit",
                 (unsigned long long)l->blocks, l->blocks == 1 ? "" : "s", (unsigned long long)fit);
    else if (t->limiter >= 0 && t->limiter < ORR_LIMITERS && t->limiter != ORR_LIMIT_WARPS)
        snprintf(why, sizeof why, "; occupancy is limited by %s", orr_limiter_name[t->limiter]);
    snprintf(to, n, "A warp issues every %.1f cycles; a scheduler has %.1f warps (%.0f fit)%s", needs, has,
             holds, why);
}

static void say_wait(const orr_gpu *g, const orr_launch_result *l, const orr_verdict *v, char *to, size_t n) {
    const orr_raw *raw = l->timing->raw;
    to[0] = 0;
    if (v->stall != ORR_STALL_LONG || !raw || !raw->sm.l1.loads) return;
    double latency = (double)raw->sm.l1.load_latency / (double)raw->sm.l1.loads;
    if (latency > 2 * g->dram_latency)
        snprintf(to, n, " (a load takes %.0f cycles; from DRAM at rest it would be %.0f)", latency,
                 g->dram_latency);
    else
        snprintf(to, n, " (a load takes %.0f cycles)", latency);
}

static const char *waiting_for(int stall) {
    switch (stall) {
    case ORR_STALL_LONG: return "for data from L1, L2 or memory";
    case ORR_STALL_SHORT: return "for shared memory, special functions or shuffles";
    case ORR_STALL_WAIT: return "for results of fixed-latency pipes";
    case ORR_STALL_GMMA: return "for products of their group of warps";
    case ORR_STALL_CONSTANT: return "for constants";
    case ORR_STALL_BARRIER: return "at barriers";
    case ORR_STALL_MEMBAR: return "at memory fences";
    case ORR_STALL_GROUP: return "for asynchronous copies";
    case ORR_STALL_BRANCH: return "for branches to resolve";
    case ORR_STALL_FETCH: return "for instructions to be fetched";
    case ORR_STALL_MATH: return "for a busy pipe";
    case ORR_STALL_LG: return "for room in the queue of global memory";
    case ORR_STALL_MIO: return "for room in the queue of shared memory and special functions";
    case ORR_STALL_COLLECTOR: return "for register banks";
    case ORR_STALL_SLEEP: return "asleep";
    case ORR_STALL_DRAIN: return "for their last stores";
    default: return "";
    }
}

// ---- the verdict --------------------------------------------------------------------------------
static void find_stall(const orr_timing *t, orr_verdict *v) {
    v->stall = ORR_STALL_LONG;
    for (int s = 0; s < ORR_STALLS; s++)
        if (s != ORR_STALL_ISSUED && s != ORR_STALL_SELECTED && t->stalls[s] > t->stalls[v->stall])
            v->stall = s;
    v->stall_percent = percent((double)t->stalls[v->stall], (double)t->warp_cycles);
}

// ---- more sentences -----------------------------------------------------------------------------
static void append(orr_verdict *v, const char *s) {
    size_t at = strlen(v->text);
    if (*s) snprintf(v->text + at, sizeof v->text - at, ". %s", s);
}

// What bounds an SM that has a block: a part of it that is busy then, or what its warps wait for.
static void say_working_sm(const orr_gpu *g, const orr_launch_result *l, const orr_use *use, int n,
                           const orr_verdict *v, char to[MORE]) {
    int most = -1;
    for (int i = 0; i < n; i++) {
        bool of_sm = use[i].bound == ORR_BOUND_COMPUTE || use[i].bound == ORR_BOUND_L1 ||
                     use[i].bound == ORR_BOUND_SHARED;
        if (of_sm && (most < 0 || use[i].percent >= use[most].percent)) most = i;
    }
    double busy = most >= 0 && v->active_percent > 0 ? 100 * use[most].percent / v->active_percent : 0;
    char wait[100], warps[260];
    if (busy >= BUSY) {
        snprintf(to, MORE, "An SM that has work is bound by its %s, at %.0f %% of the peak",
                 strcmp(use[most].name, "issue") ? use[most].name : "issue of instructions", busy);
        return;
    }
    say_wait(g, l, v, wait, sizeof wait);
    say_warps(g, l, warps, sizeof warps);
    snprintf(to, MORE, "On an SM that has work warps wait %s %.0f %% of the time%s. %s",
             waiting_for(v->stall), v->stall_percent, wait, warps);
}

// What the program says of an instruction's place, " (FILE:LINE)"; "" if it is not known.
static const char *place_of(char to[100], const orr_timing *t, uint32_t inst) {
    const orr_program *p = t->program;
    to[0] = 0;
    const orr_tinst *i = p && inst < p->ninsts ? &p->insts[inst] : NULL;
    const orr_inst *from = i && p->kernel && i->inst < p->kernel->ninsts ? &p->kernel->insts[i->inst] : NULL;
    const orr_module *m = p && p->kernel ? p->kernel->module : NULL;
    if (!from || !m) return to;
    const char *file =
        from->source.file && from->source.file <= m->nfiles ? m->files[from->source.file - 1] : NULL;
    uint32_t line = file ? from->source.line : p->kernel->machine ? 0 : from->line;
    if (!file) file = m->path;
    if (!file || !line) return to;
    const char *slash = strrchr(file, '/');
    snprintf(to, 100, ", most at %.60s:%u", slash ? slash + 1 : file, line);
    return to;
}

static bool waits_for_memory(const orr_verdict *v) {
    if (v->bound == ORR_BOUND_LATENCY || v->bound == ORR_BOUND_PARALLELISM)
        return v->stall == ORR_STALL_LONG || v->stall == ORR_STALL_LG;
    return v->bound == ORR_BOUND_DRAM || v->bound == ORR_BOUND_L2 || v->bound == ORR_BOUND_CROSSBAR ||
           v->bound == ORR_BOUND_L1;
}

// How much of the sectors that global loads and stores touch is used.
static void say_sectors(const orr_timing *t, const orr_verdict *v, char *to, size_t n) {
    to[0] = 0;
    if (!t->raw || !waits_for_memory(v)) return;
    const orr_traffic *load = &t->raw->sm.global[ORR_L1_LOAD], *store = &t->raw->sm.global[ORR_L1_STORE];
    double requests = (double)(load->requests + store->requests),
           sectors = (double)(load->sectors + store->sectors), ideal = (double)(load->ideal + store->ideal);
    if (!requests || sectors < SPREAD * ideal) return;
    char place[100];
    snprintf(to, n,
             "Global accesses are spread: %.1f sectors a request where %.1f would do, %.0f %% of each used%s",
             sectors / requests, ideal / requests, percent(ideal, sectors),
             place_of(place, t, t->waste.inst));
}

static void say_parallelism(const orr_gpu *g, const orr_launch_result *l, orr_verdict *v) {
    const orr_timing *t = l->timing;
    if (l->blocks < (uint64_t)g->sm_count)
        snprintf(v->text, sizeof v->text,
                 "parallelism: %llu block%s for %d SMs, which had work %.0f %% of the time",
                 (unsigned long long)l->blocks, l->blocks == 1 ? "" : "s", g->sm_count, v->active_percent);
    else
        snprintf(v->text, sizeof v->text,
                 "parallelism: SMs are idle while the last blocks run; they had work %.0f %% of the time "
                 "(%.2f waves of blocks)",
                 v->active_percent,
                 t->resident > 0 ? (double)l->blocks / ((double)t->resident * g->sm_count) : 0);
}

static void say_latency(const orr_gpu *g, const orr_launch_result *l, orr_verdict *v) {
    char wait[100], warps[260];
    say_wait(g, l, v, wait, sizeof wait);
    say_warps(g, l, warps, sizeof warps);
    snprintf(v->text, sizeof v->text, "%s: warps wait %s %.0f %% of the time%s. %s",
             v->bound == ORR_BOUND_BARRIER ? "synchronisation" : "latency", waiting_for(v->stall),
             v->stall_percent, wait, warps);
}

bool orr_judge(const orr_gpu *g, const orr_launch_result *l, orr_verdict *v) {
    memset(v, 0, sizeof *v);
    const orr_timing *t = l->timing;
    if (!t) return false;
    const double sm_cycles = (double)running(t) * g->sm_count;
    orr_use use[ORR_USES_MAX];
    int n = orr_uses(g, l, use), most = 0;
    for (int i = 1; i < n; i++)
        if (use[i].percent >= use[most].percent)
            most = i; // shared memory rather than the unit in front of it
    find_stall(t, v);
    v->active_percent = percent((double)t->sm_active, sm_cycles);
    v->overhead_percent = percent((double)t->overhead, (double)t->cycles);
    if (n) {
        snprintf(v->resource, sizeof v->resource, "%s", use[most].name);
        v->percent = use[most].percent;
    }
    char more[MORE];
    const char *rests = NULL; // on a resource; NULL: on what warps wait for
    if (!n || !l->warp_insts) {
        v->bound = ORR_BOUND_NONE;
        snprintf(v->text, sizeof v->text, "nothing: no instruction was issued");
        return true;
    } else if (v->overhead_percent >= MOSTLY_OVERHEAD) {
        v->bound = ORR_BOUND_LAUNCH;
        rests = "launch";
        snprintf(v->text, sizeof v->text,
                 "the launch: %.0f %% of the cycles passed before the first block started",
                 v->overhead_percent);
    } else if (v->percent >= BUSY) {
        v->bound = use[most].bound;
        rests = use[most].name;
        say_resource(g, &use[most], t->raw, v->text, sizeof v->text);
    } else if (v->active_percent < ENOUGH_ACTIVE) {
        v->bound = ORR_BOUND_PARALLELISM;
        say_parallelism(g, l, v);
        say_working_sm(g, l, use, n, v, more);
        append(v, more);
    } else {
        v->bound = v->stall == ORR_STALL_BARRIER ? ORR_BOUND_BARRIER : ORR_BOUND_LATENCY;
        say_latency(g, l, v);
    }
    say_sectors(t, v, more, sizeof more);
    append(v, more);
    orr_rests_on(g, rests, v->stall, v->rests_on, sizeof v->rests_on);
    return true;
}
