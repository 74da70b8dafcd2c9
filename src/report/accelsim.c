// A result under the names that GPGPU-Sim and Accel-Sim print, for the scripts that look for them
// (accel-sim-framework: util/job_launching/stats/example_stats.yml and get_stats.py; the shapes of the lines
// are those of GPGPU-Sim's gpu-sim.cc, shader.cc, gpu-cache.cc and gpgpusim_entrypoint.cc).
//
// As there, some lines are of one kernel (gpu_sim_cycle, gpu_ipc, L2_BW) and most count on from kernel to
// kernel. Accesses are sectors. A sector that is on its way already is HIT_RESERVED and MSHR_HIT, which is
// how a merged request shows there; atomics are reads at L2 and not seen by L1. The host's time is known of
// the whole run only and given to the kernels by their instructions.
#include "orrery.h"
#include "report/report.h"
#include "program/program.h"

#include <inttypes.h>
#include <math.h>

typedef struct sums { // since the first kernel
    double cycles, insts, warps, seconds;
    uint64_t blocks, slots, warp_cycles, replies;
    orr_raw raw;
} sums;

static void add(uint64_t *to, const uint64_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *to; i++) to[i] += from[i];
}

typedef struct outcomes { // of sectors; `failed` in cycles
    uint64_t hit, pending, miss, failed;
} outcomes;

// One kind of access: all states, and what they come to. There a reservation fails, and is tried again, in
// every cycle in which a cache has no room for another miss; those cycles are counted here.
static void breakdown(orr_text *out, const char *cache, const char *type, outcomes o) {
    const struct {
        const char *name;
        uint64_t n;
    } states[] = {{"HIT", o.hit},     {"HIT_RESERVED", o.pending},
                  {"MISS", o.miss},   {"RESERVATION_FAIL", o.failed},
                  {"SECTOR_MISS", 0}, {"MSHR_HIT", o.pending}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        orr_text_add(out, "\t%s[%s][%s] = %" PRIu64 "\n", cache, type, states[i].name, states[i].n);
    if (o.hit + o.pending + o.miss)
        orr_text_add(out, "\t%s[%s][TOTAL_ACCESS] = %" PRIu64 "\n", cache, type, o.hit + o.pending + o.miss);
}

static void l1(orr_text *out, const orr_sm_counts *s) {
    static const char *const name = "Total_core_cache_stats_breakdown";
    static const struct {
        const char *type;
        int local, kind;
    } rows[] = {{"GLOBAL_ACC_R", 0, ORR_L1_LOAD},
                {"LOCAL_ACC_R", 1, ORR_L1_LOAD},
                {"GLOBAL_ACC_W", 0, ORR_L1_STORE},
                {"LOCAL_ACC_W", 1, ORR_L1_STORE}};
    orr_text_add(out, "\nTotal_core_cache_stats:\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int l = rows[i].local, k = rows[i].kind;
        uint64_t known = s->l1.hits[l][k] + s->l1.pending[l][k];
        // What went past L1 is in its sectors only.
        uint64_t miss = s->l1.sectors[l][k] > known ? s->l1.sectors[l][k] - known : 0;
        // It is the load at the head of the queue that waits; of which space is not kept.
        uint64_t failed = !l && k == ORR_L1_LOAD ? s->l1.full : 0;
        breakdown(out, name, rows[i].type, (outcomes){s->l1.hits[l][k], s->l1.pending[l][k], miss, failed});
    }
}

// As it spells them.
static const char *const reasons[ORR_FAILS] = {
    [ORR_FAIL_LINE] = "LINE_ALLOC_FAIL",        [ORR_FAIL_MSHR] = "MSHR_ENRTY_FAIL",
    [ORR_FAIL_MERGE] = "MSHR_MERGE_ENRTY_FAIL", [ORR_FAIL_QUEUE] = "MISS_QUEUE_FULL",
    [ORR_FAIL_PENDING] = "MSHR_RW_PENDING",
};

static uint64_t fails(const orr_memsys_stats *m, int stores) {
    uint64_t n = 0;
    for (int why = 0; why < ORR_FAILS; why++) n += m->failed[stores][why];
    return n;
}

static void l2(orr_text *out, const orr_memsys_stats *m) {
    static const char *const name = "L2_cache_stats_breakdown";
    static const char *const read_type[ORR_FROMS] = {
        [ORR_FROM_GLOBAL] = "GLOBAL_ACC_R",
        [ORR_FROM_LOCAL] = "LOCAL_ACC_R",
        [ORR_FROM_CONST] = "CONST_ACC_R",
        [ORR_FROM_CODE] = "INST_ACC_R",
    };
    orr_text_add(out, "L2_total_cache_breakdown:\n");
    for (int f = 0; f < ORR_FROMS; f++) {
        uint64_t all = m->read[f], hit = m->read_hit[f], pending = m->read_pending[f];
        if (f == ORR_FROM_GLOBAL) {
            all += m->atomics.n;
            hit += m->atomics.hit;
        }
        uint64_t miss = all > hit + pending ? all - hit - pending : 0;
        breakdown(out, name, read_type[f],
                  (outcomes){hit, pending, miss, f == ORR_FROM_GLOBAL ? fails(m, 0) : 0});
    }
    for (int f = ORR_FROM_GLOBAL; f <= ORR_FROM_LOCAL; f++)
        breakdown(out, name, f == ORR_FROM_GLOBAL ? "GLOBAL_ACC_W" : "LOCAL_ACC_W",
                  (outcomes){m->write_present[f], 0,
                             m->write[f] > m->write_present[f] ? m->write[f] - m->write_present[f] : 0,
                             f == ORR_FROM_GLOBAL ? fails(m, 1) : 0});
    orr_text_add(
        out, "L2_total_cache_reservation_fails = %" PRIu64 "\nL2_total_cache_reservation_fail_breakdown:\n",
        fails(m, 0) + fails(m, 1));
    for (int k = 0; k < 2; k++)
        for (int why = 0; why < ORR_FAILS; why++)
            orr_text_add(out, "\tL2_cache_stats_fail_breakdown[%s][%s] = %" PRIu64 "\n",
                         k ? "GLOBAL_ACC_W" : "GLOBAL_ACC_R", reasons[why], m->failed[k][why]);
}

static double per(double a, double b) { return b > 0 ? a / b : 0; }

static uint64_t sectors_answered(const orr_memsys_stats *m) { // stores are answered with a packet too
    uint64_t n = m->atomics.n;
    for (int f = 0; f < ORR_FROMS; f++) n += m->read[f] + m->write[f];
    return n;
}

static void host_time(orr_text *out, const sums *t, const orr_gpu *g) {
    uint64_t s =
        t->seconds < 1 ? 1 : (uint64_t)t->seconds; // whole ones, as there; rates are of the real time
    double rate = floor(per(t->cycles, t->seconds));
    orr_text_add(out,
                 "\n\ngpgpu_simulation_time = %" PRIu64 " days, %" PRIu64 " hrs, %" PRIu64 " min, %" PRIu64
                 " sec (%" PRIu64 " sec)\n",
                 s / 86400, s / 3600 % 24, s / 60 % 60, s % 60, s);
    orr_text_add(out, "gpgpu_simulation_rate = %.0f (inst/sec)\n", floor(per(t->insts, t->seconds)));
    orr_text_add(out, "gpgpu_simulation_rate = %.0f (cycle/sec)\n", rate);
    orr_text_add(out, "gpgpu_silicon_slowdown = %.0fx\n", floor(per(g->clock_sm * 1e6, rate)));
}

static void kernel(orr_text *out, const orr_launch_result *l, uint32_t uid, sums *t, double share) {
    const orr_timing *time = l->timing;
    const orr_raw *raw = time->raw;
    const orr_gpu *g = time->program->gpu;
    double insts = (double)l->thread_insts, seconds = l->cycles / (g->clock_sm * 1e6);
    uint64_t replies = sectors_answered(&raw->mem);
    uint64_t slots = time->sm_active * (uint64_t)g->limit_sm_warps;
    t->cycles += l->cycles;
    t->insts += insts;
    t->warps += (double)l->warp_insts;
    t->blocks += l->blocks;
    t->slots += slots;
    t->warp_cycles += time->warp_cycles;
    t->replies += replies;
    t->seconds += share;
    add((uint64_t *)&t->raw.sm, (const uint64_t *)&raw->sm, sizeof raw->sm);
    add((uint64_t *)&t->raw.mem, (const uint64_t *)&raw->mem, sizeof raw->mem);

    orr_text_add(out, "kernel_name = %s \nkernel_launch_uid = %" PRIu32 " \nkernel_stream_id = 0\n",
                 l->kernel->name, uid);
    orr_text_add(out, "gpu_sim_cycle = %.0f\ngpu_sim_insn = %.0f\n", l->cycles, insts);
    orr_text_add(out, "gpu_ipc = %12.4f\n", per(insts, l->cycles));
    orr_text_add(out, "gpu_tot_sim_cycle = %.0f\ngpu_tot_sim_insn = %.0f\n", t->cycles, t->insts);
    orr_text_add(out, "gpu_tot_ipc = %12.4f\n", per(t->insts, t->cycles));
    orr_text_add(out, "gpu_tot_issued_cta = %" PRIu64 "\n", t->blocks);
    orr_text_add(out, "gpu_occupancy = %.4f%% \n", 100 * per((double)time->warp_cycles, (double)slots));
    orr_text_add(out, "gpu_tot_occupancy = %.4f%% \n", 100 * per((double)t->warp_cycles, (double)t->slots));
    orr_text_add(out, "L2_BW  = %12.4f GB/Sec\n", per((double)replies * 32 / 1e9, seconds));
    orr_text_add(out, "L2_BW_total  = %12.4f GB/Sec\n",
                 per((double)t->replies * 32 / 1e9, t->cycles / (g->clock_sm * 1e6)));
    orr_text_add(out, "gpu_total_sim_rate=%.0f\n", floor(per(t->insts, t->seconds)));

    const orr_sm_counts *s = &t->raw.sm;
    uint64_t conflicts = 0;
    for (int k = 0; k < ORR_L1_KINDS; k++) conflicts += s->shared.conflicts[k];
    l1(out, s);
    orr_text_add(out, "gpgpu_n_tot_thrd_icount = %.0f\ngpgpu_n_tot_w_icount = %.0f\n", t->insts, t->warps);
    orr_text_add(out, "gpgpu_n_shmem_bkconflict = %" PRIu64 "\n", conflicts);
    orr_text_add(out, "gpgpu_n_l1cache_bkconflict = %" PRIu64 "\n", s->l1.conflicts);
    const orr_memsys_stats *m = &t->raw.mem;
    orr_text_add(out, "total dram reads = %" PRIu64 "\ntotal dram writes = %" PRIu64 "\n", m->dram_read,
                 m->dram_write);
    orr_text_add(out, "\n========= L2 cache stats =========\n");
    l2(out, m);
    host_time(out, t, g);
    orr_text_add(out, "\n");
}

bool orr_result_accelsim(const orr_result *r, orr_text *out, orr_err *e) {
    double all = 0;
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        if (!l->timing || !l->timing->raw)
            return orr_fail(e, ORR_BAD_INPUT,
                            "--stats accel-sim needs a model that counts cycles: --model cycle");
        all += (double)l->warp_insts;
    }
    orr_text_add(out, "Orrery, under the names of GPGPU-Sim [build orrery-%s]\n\n", ORR_VERSION);
    sums t = {0};
    for (size_t i = 0; i < r->launches.n; i++) {
        const orr_launch_result *l = &r->launches.at[i];
        kernel(out, l, (uint32_t)i + 1, &t, per(r->host.seconds * (double)l->warp_insts, all));
    }
    orr_text_add(out, "GPGPU-Sim: *** exit detected ***\n");
    return true;
}
