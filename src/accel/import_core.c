// The SM of a GPGPU-Sim configuration: limits, front end, collectors, units and latencies.
//
// GPGPU-Sim runs its stages backwards in a cycle (shader.cc, shader_core_ctx::cycle: writeback, execute,
// read_operands, issue), so what one stage leaves is taken by the next a cycle later. An instruction that
// issues in cycle c is given a collector, reads its operands and is sent on in three steps of the operand
// collector, of which there are -gpgpu_reg_file_port_throughput a cycle, the first in c + 1. It is in its
// unit's dispatch register the cycle after: c + 2 + floor(2 / steps), which is core.collect. There it stays
// `initiation` cycles, passes latency - initiation stages, goes to the result register (1) and is written
// back (1), and in that cycle an instruction that waits for it issues: latency + core.collect +
// core.writeback cycles after c, core.writeback = 2.
//
// Latencies of memory are from issue to use, all stages counted (the description's rule), so collecting is in
// them: shared memory is entered a cycle after the dispatch register, takes smem_latency stages, and two
// cycles to write back (ldst_unit::cycle, ldst_unit::writeback).
#include "accel/import.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *note(importer *m, const char *a, const char *b) {
    return orr_arena_printf(&m->arena, "%s; %s", import_from(m, a), b);
}

static void limits(importer *m) {
    import_heading(m, "what an SM can hold");
    double pipe[2] = {1024, 32};
    import_numbers(m, "-gpgpu_shader_core_pipeline", "1024:32", ":", pipe, 2);
    int64_t threads = pipe[0] < 32 || pipe[0] > 32768 ? 0 : (int64_t)pipe[0];
    if (!threads || pipe[1] != 32) {
        import_wrong(m, "-gpgpu_shader_core_pipeline", "threads and the warp's size, as 2048:32");
        threads = 32;
    }
    const char *from = import_from(m, "-gpgpu_shader_core_pipeline");
    int64_t warps = threads / 32;
    import_num(m, "limit.sm_warps", (double)warps, "warps", from);
    import_num(m, "limit.sm_threads", (double)threads, "threads", from);
    import_num(m, "limit.sm_blocks", (double)import_int(m, "-gpgpu_shader_cta", 32, 1, 1024), "blocks",
               import_from(m, "-gpgpu_shader_cta"));
    import_num(m, "limit.block_threads", (double)(threads < 1024 ? threads : 1024), "threads",
               "CUDA's, when the SM has so many");
    int64_t regs = import_int(m, "-gpgpu_shader_registers", 8192, 1024, 4194304);
    import_num(m, "limit.sm_registers", (double)regs, "registers", import_from(m, "-gpgpu_shader_registers"));
    // Its default is far below what an SM has, and GPGPU-Sim only reports it: not given means no limit.
    int64_t block = import_int(m, "-gpgpu_registers_per_block", regs, 1024, 4194304);
    import_num(m, "limit.block_registers", (double)block, "registers",
               import_has(m, "-gpgpu_registers_per_block")
                   ? import_from(m, "-gpgpu_registers_per_block")
                   : "-gpgpu_registers_per_block is not given: no limit");
    import_num(m, "limit.thread_registers", m->cc_major * 10 + m->cc_minor < 35 ? 63 : 255, "registers",
               "CUDA guide, by compute capability");
    import_put(m, "limit.register_granularity", "shader_core_config::max_cta", "warp");
    import_num(m, "limit.register_unit", 128, "registers", "four a thread: shader_core_config::max_cta");
    import_num(m, "limit.warp_unit", 1, "warps", "shader_core_config::max_cta knows no partitions");
    import_num(m, "limit.block_barriers", (double)import_int(m, "-gpgpu_num_cta_barriers", 16, 1, 1024),
               "barriers", import_from(m, "-gpgpu_num_cta_barriers"));
}

static void shared_memory(importer *m) {
    import_heading(m, "shared memory");
    int64_t size = import_int(m, "-gpgpu_shmem_size", 16384, 1024, 16777216);
    int64_t block = import_int(m, "-gpgpu_shmem_per_block", 49152, 1024, 16777216);
    import_num(m, "shared.per_sm", (double)size, "B", import_from(m, "-gpgpu_shmem_size"));
    import_num(m, "shared.per_block", (double)(block < size ? block : size), "B",
               import_from(m, "-gpgpu_shmem_per_block"));
    import_num(m, "shared.per_block_optin", (double)size, "B", "a block may have what the SM has");
    import_num(m, "shared.unit", 1, "B", "shader_core_config::max_cta does not round");
    if (import_int(m, "-gpgpu_adaptive_cache_config", 0, 0, 1)) {
        double kb[ORR_GPU_LIST_MAX];
        int n = import_numbers(m, "-gpgpu_shmem_option", "0", ",", kb, ORR_GPU_LIST_MAX);
        orr_text list = {0};
        orr_text_add(&list, "%s", "");
        for (int i = 0; i < n; i++) orr_text_add(&list, "%s%.0f", i ? ", " : "", kb[i]);
        import_put(m, "shared.carveouts", import_from(m, "-gpgpu_shmem_option"), "%s KB", list.s);
        free(list.s);
    }
    import_num(m, "shared.banks", (double)import_int(m, "-gpgpu_shmem_num_banks", 16, 1, 256), "banks",
               import_from(m, "-gpgpu_shmem_num_banks"));
    if (import_int(m, "-gpgpu_shmem_warp_parts", 1, 1, 32) != 1)
        import_wrong(m, "-gpgpu_shmem_warp_parts",
                     "1: half warps have had no turns of their own since Fermi");
    const char *latency = import_has(m, "-smem_latency") && !import_has(m, "-gpgpu_smem_latency")
                              ? "-smem_latency" // as configurations of Kepler call it
                              : "-gpgpu_smem_latency";
    int64_t stages = import_int(m, latency, 3, 1, 9000);
    import_num(m, "shared.latency", m->collect + 2 + (double)stages, "cycles",
               note(m, latency, "+ collecting, + 2 (queue, writeback)"));
}

static const char *policy_of(importer *m, double *active) {
    const char *s = import_text(m, "-gpgpu_scheduler", "gto");
    *active = 0;
    if (strstr(s, "lrr")) return "lrr";
    if (strstr(s, "two_level_active")) {
        const char *colon = strchr(s, ':');
        *active = colon ? strtod(colon + 1, NULL) : 8;
        if (!(*active >= 1 && *active <= 64)) *active = 8;
        return "two-level";
    }
    if (strstr(s, "gto")) return "gto";
    if (strstr(s, "rrr")) return "lrr";
    if (strstr(s, "old")) return "oldest";
    if (strstr(s, "warp_limiting")) return "gto";
    import_wrong(m, "-gpgpu_scheduler", "lrr, gto, two_level_active, rrr, old or warp_limiting");
    return "gto";
}

static void front_end(importer *m) {
    import_heading(m, "the SM's front end and registers");
    import_put(m, "core.kind", "GPGPU-Sim's core has operand collectors", "collector");
    m->schedulers = import_int(m, "-gpgpu_num_sched_per_core", 1, 1, 64);
    bool parts = import_int(m, "-gpgpu_sub_core_model", 0, 0, 1);
    m->subcores = parts ? m->schedulers : 1;
    import_num(
        m, "core.subcores", (double)m->subcores, "sub-cores",
        note(m, "-gpgpu_sub_core_model", parts ? "one for each scheduler" : "schedulers share the SM"));
    import_num(m, "core.schedulers", (double)m->schedulers, "schedulers",
               import_from(m, "-gpgpu_num_sched_per_core"));
    import_num(m, "core.issue", (double)import_int(m, "-gpgpu_max_insn_issue_per_warp", 2, 1, 8),
               "instructions", import_from(m, "-gpgpu_max_insn_issue_per_warp"));
    import_put(m, "core.dual_units", import_from(m, "-gpgpu_dual_issue_diff_exec_units"), "%s",
               import_int(m, "-gpgpu_dual_issue_diff_exec_units", 1, 0, 1) ? "yes" : "no");
    double active;
    const char *policy = policy_of(m, &active);
    import_put(m, "core.policy", import_from(m, "-gpgpu_scheduler"), "%s", policy);
    if (active)
        import_num(m, "core.active", (double)(int)active, "warps", import_from(m, "-gpgpu_scheduler"));
    import_num(m, "core.collect", m->collect, "cycles",
               note(m, "-gpgpu_reg_file_port_throughput", "issue to dispatch register: 2 + floor(2 / it)"));
    import_num(m, "core.writeback", m->writeback, "cycles",
               "result register, writeback: shader_core_ctx::cycle");
    import_num(m, "core.branch_wait", m->trace ? 1 : 3, "cycles",
               m->trace ? "traces know no control hazard: the next instruction follows at once"
                        : "the instruction buffer is flushed, fetched, decoded");
    import_put(m, "core.atomic_wait", "shd_warp_t::waiting: a warp waits while m_n_atomic is not 0", "yes");
    import_num(m, "core.fence_block", 0, "cycles", "a fence waits for the warp's stores, no more");
    import_num(m, "core.fence_gpu", 0, "cycles", "same");
    import_num(m, "core.fence_system", 0, "cycles", "same");
    import_num(m, "regs.banks", (double)import_int(m, "-gpgpu_num_reg_banks", 8, 1, 256), "banks",
               import_from(m, "-gpgpu_num_reg_banks"));
    int64_t ports = import_int(m, "-gpgpu_reg_file_port_throughput", 1, 1, 16);
    import_num(m, "regs.ports", (double)ports, "reads", import_from(m, "-gpgpu_reg_file_port_throughput"));
    static const struct {
        const char *name;
        int usual;
    } sets[] = {{"sp", 4}, {"dp", 0}, {"sfu", 4}, {"int", 0}, {"mem", 2}, {"tensor_core", 4}, {"gen", 0}};
    bool special = import_int(m, "-gpgpu_enable_specialized_operand_collector", 1, 0, 1);
    bool tensor = import_int(m, "-gpgpu_tensor_core_avail", 0, 0, 1);
    int64_t sum = 0;
    for (int i = 0; i < 7; i++) {
        const char *name = orr_arena_printf(&m->arena, "-gpgpu_operand_collector_num_units_%s", sets[i].name);
        if ((i < 6 && !special) || (i == 5 && !tensor)) continue;
        sum += import_int(m, name, sets[i].usual, 0, 256);
    }
    import_num(m, "regs.collectors",
               sum < 1     ? 1
               : sum > 256 ? 256
                           : (double)sum,
               "collectors",
               special
                   ? "-gpgpu_operand_collector_num_units_*, all together; here any instruction may use any"
                   : import_from(m, "-gpgpu_operand_collector_num_units_gen"));
    double width[13] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    import_numbers(m, "-gpgpu_pipeline_widths", "1,1,1,1,1,1,1,1,1,1,1,1,1", ",", width, 13);
    double queue = width[4] + width[9] + 1; // ID_OC_MEM, OC_EX_MEM
    import_num(m, "lsu.queue",
               queue < 1      ? 1
               : queue > 4096 ? 4096
                              : (double)(int)queue,
               "instructions",
               note(m, "-gpgpu_pipeline_widths", "ID_OC_MEM and OC_EX_MEM, and the dispatch register"));
}

// ---- units ------------------------------------------------------------------------------------------

typedef struct timing {
    double latency, interval;
    const char *from;
} timing;

// trace.config: "latency,initiation" of a group.
static timing traced(importer *m, const char *group, const char *usual) {
    const char *name = orr_arena_printf(&m->arena, "-trace_opcode_latency_initiation_%s", group);
    double v[2] = {1, 1};
    if (import_numbers(m, name, usual, ",", v, 2) != 2) import_wrong(m, name, "latency,initiation");
    return (timing){v[0], v[1] < 1 ? 1 : v[1], import_from(m, name)};
}

// gpgpusim.config: latencies by operation, in the order ADD, MAX, MUL, MAD, DIV[, SHFL].
static timing by_ptx(importer *m, const char *group, int which, const char *usual,
                     const char *usual_interval) {
    // The simulator's own name has the misspelling.
    const char *lat = orr_arena_printf(&m->arena, "-ptx_opcode_latency_%s",
                                       strcmp(group, "tensor") == 0 ? "tesnor" : group);
    const char *ini = orr_arena_printf(&m->arena, "-ptx_opcode_initiation_%s", group);
    double l[6] = {0}, i[6] = {0};
    int nl = import_numbers(m, lat, usual, ",", l, 6), ni = import_numbers(m, ini, usual_interval, ",", i, 6);
    int at = which < nl && which < ni ? which : 0;
    if (nl < 1 || ni < 1) import_wrong(m, nl < 1 ? lat : ini, "a list of cycles");
    return (timing){l[at], i[at] < 1 ? 1 : i[at], import_from(m, lat)};
}

static void put_unit(importer *m, const char *name, int64_t count, double interval, const char *from) {
    char key[80];
    double lanes = 32 / interval;
    snprintf(key, sizeof key, "unit.%s.count", name);
    import_num(m, key, (double)count, "units", from);
    snprintf(key, sizeof key, "unit.%s.lanes", name);
    import_num(m, key,
               lanes < 0.25 ? 0.25
               : lanes > 32 ? 32
                            : lanes,
               "lanes", "32 / initiation of its usual instruction");
}

static void put_op(importer *m, const char *class, const char *unit, timing t, const char *why) {
    char key[80];
    snprintf(key, sizeof key, "op.%s.unit", class);
    import_put(m, key, why, "%s", unit);
    snprintf(key, sizeof key, "op.%s.latency", class);
    import_num(m, key, t.latency, "cycles", t.from);
    snprintf(key, sizeof key, "op.%s.interval", class);
    import_num(m, key, t.interval, "cycles", t.from);
}

typedef struct special { // a unit from trace.config: -specialized_unit_N enabled,units,depth,ID_OC,OC_EX,NAME
    char name[ORR_GPU_NAME_MAX];
    int64_t count;
    timing t;
    const char *from;
} special;

static bool read_special(importer *m, int n, special *s) {
    const char *name = orr_arena_printf(&m->arena, "-specialized_unit_%d", n);
    if (!import_has(m, name)) return false;
    const char *v = import_text(m, name, "");
    double f[5] = {0};
    int commas = 0;
    const char *p = v;
    for (; *p && commas < 5; p++) commas += *p == ',';
    char *numbers = orr_arena_strndup(&m->arena, v, (size_t)(p - v));
    int got = 0;
    for (char *q = numbers; got < 5;) {
        char *end;
        f[got] = strtod(q, &end);
        if (end == q || *end != ',') break;
        got++;
        q = end + 1;
    }
    size_t len = strlen(p);
    bool word = len > 0 && len < sizeof s->name;
    for (size_t i = 0; word && i < len; i++) word = isalnum((unsigned char)p[i]) || p[i] == '_';
    if (got != 5 || !word || !(f[1] >= 0 && f[1] <= 256)) {
        import_wrong(m, name, "enabled,units,latency,ID_OC,OC_EX,NAME");
        return false;
    }
    for (size_t i = 0; i <= len; i++) s->name[i] = (char)tolower((unsigned char)p[i]);
    s->count = (int64_t)f[1];
    char group[20];
    snprintf(group, sizeof group, "spec_op_%d", n);
    s->t = traced(m, group, "4,4");
    s->from = import_from(m, name);
    return f[0] != 0 && s->count > 0;
}

typedef struct unit_set { // the execution units that a configuration has
    int64_t n_sp, n_dp, n_int, n_sfu, n_tensor;
    timing t_int, t_sp, t_dp, t_sfu, t_tensor;
    special found[8]; // those that trace.config adds,
    int n;
    special *bra, *tex, *tensor, *udp; // and of them, by what Accel-Sim's opcode tables use them for
} unit_set;

static void special_units(importer *m, unit_set *u) {
    for (int i = 1; i <= 8; i++) {
        special *s = &u->found[u->n];
        if (!read_special(m, i, s)) continue;
        bool taken = false; // a name twice, or one of the usual units'
        static const char *const own[] = {"sp", "int", "dp", "sfu", "lsu"};
        for (int k = 0; k < 5; k++) taken |= strcmp(s->name, own[k]) == 0;
        for (int k = 0; k < u->n; k++) taken |= strcmp(s->name, u->found[k].name) == 0;
        if (taken) snprintf(s->name, sizeof s->name, "special%d", i);
        if (strcmp(s->name, "bra") == 0) u->bra = s;
        if (strcmp(s->name, "tex") == 0) u->tex = s;
        if (strcmp(s->name, "tensor") == 0) u->tensor = s;
        if (strcmp(s->name, "udp") == 0) u->udp = s;
        u->n++;
    }
}

static void read_units(importer *m, unit_set *u) {
    u->n_sp = import_int(m, "-gpgpu_num_sp_units", 1, 1, 256);
    u->n_dp = import_int(m, "-gpgpu_num_dp_units", 0, 0, 256);
    u->n_int = import_int(m, "-gpgpu_num_int_units", 0, 0, 256);
    u->n_sfu = import_int(m, "-gpgpu_num_sfu_units", 1, 1, 256);
    u->n_tensor = import_int(m, "-gpgpu_num_tensor_core_units", 0, 0, 256);
    bool tr = m->trace;
    u->t_int = tr ? traced(m, "int", "4,1") : by_ptx(m, "int", 0, "1,1,19,25,145,32", "1,1,4,4,32,4");
    u->t_sp = tr ? traced(m, "sp", "4,1") : by_ptx(m, "fp", 3, "1,1,1,1,30", "1,1,1,1,5");
    u->t_dp = tr ? traced(m, "dp", "4,1") : by_ptx(m, "dp", 3, "8,8,8,8,335", "8,8,8,8,130");
    u->t_sfu = tr ? traced(m, "sfu", "4,1") : by_ptx(m, "sfu", 0, "8", "8");
    m->int_latency = u->t_int.latency;
    if (tr) special_units(m, u);
}

static void put_units(importer *m, unit_set *u) {
    import_heading(m, "units; latencies are without core.collect and core.writeback");
    put_unit(m, "sp", u->n_sp, u->t_sp.interval, import_from(m, "-gpgpu_num_sp_units"));
    if (u->n_int) put_unit(m, "int", u->n_int, u->t_int.interval, import_from(m, "-gpgpu_num_int_units"));
    if (u->n_dp) put_unit(m, "dp", u->n_dp, u->t_dp.interval, import_from(m, "-gpgpu_num_dp_units"));
    put_unit(m, "sfu", u->n_sfu, u->t_sfu.interval, import_from(m, "-gpgpu_num_sfu_units"));
    put_unit(m, "lsu", 1, 1, "one load/store unit takes an instruction a cycle: ldst_unit");
    for (int i = 0; i < u->n; i++)
        put_unit(m, u->found[i].name, u->found[i].count, u->found[i].t.interval, u->found[i].from);
    if (!u->tensor && u->n_tensor) {
        u->t_tensor = m->trace ? traced(m, "tensor", "4,1") : by_ptx(m, "tensor", 0, "64", "64");
        put_unit(m, "tensor", u->n_tensor, u->t_tensor.interval,
                 import_from(m, "-gpgpu_num_tensor_core_units"));
    }
}

static void put_classes(importer *m, const unit_set *u) {
    const char *alu = u->n_int ? "int" : "sp";
    const timing t_int = u->t_int, t_sp = u->t_sp,
                 one = {1, 1, "latency and initiation 1: trace_config::set_latency"};
    const special *bra = u->bra, *udp = u->udp, *tex = u->tex;
    bool tr = m->trace;
    put_op(m, "int", alu, t_int, u->n_int ? "integer unit" : "without integer units: the SP unit");
    if (!tr)
        put_op(m, "int.mul", alu, by_ptx(m, "int", 2, "1,1,19,25,145,32", "1,1,4,4,32,4"),
               "third value: MUL");
    put_op(m, "fp32", "sp", t_sp, tr ? "SP_OP" : "fourth value: MAD");
    timing t_half = t_sp;
    if (tr) t_half.interval = t_sp.interval < 4 ? 1 : floor(t_sp.interval / 2);
    put_op(m, "fp16", "sp", t_half, "two a lane: trace_warp_inst_t::parse_from_trace_struct halves it");
    put_op(m, "fp64", u->n_dp ? "dp" : "sfu", u->t_dp, u->n_dp ? "DP unit" : "without DP units: the SFU");
    put_op(m, "sfu", "sfu", u->t_sfu, "SFU_OP");
    put_op(m, "conv", alu, t_int, "ALU_OP");
    put_op(m, "move", alu, t_int, "ALU_OP");
    put_op(m, "vote", alu, t_int, "ALU_OP");
    put_op(m, "shfl", alu, tr ? t_int : by_ptx(m, "int", 5, "1,1,19,25,145,32", "1,1,4,4,32,4"),
           tr ? "ALU_OP" : "sixth value: SHFL");
    put_op(m, "misc", alu, t_int, "ALU_OP");
    put_op(m, "barrier", alu, one, "BARRIER_OP");
    put_op(m, "exit", alu, one, "EXIT_OPS");
    put_op(m, "branch", bra ? bra->name : alu, bra ? bra->t : t_int, bra ? "unit BRA" : "BRANCH_OP");
    put_op(m, "uniform", udp ? udp->name : alu, udp ? udp->t : t_int, udp ? "unit UDP" : "no uniform unit");
    if (u->tensor)
        put_op(m, "tensor", u->tensor->name, u->tensor->t, "unit TENSOR");
    else if (u->n_tensor)
        put_op(m, "tensor", "tensor", u->t_tensor, "TENSOR_CORE_OP");
    else
        put_op(m, "tensor", "sp", t_sp, "no tensor cores: as multiply-adds");
    put_op(m, "mem", "lsu", one, "a cycle in the dispatch register; the caches' latencies count from issue");
    put_op(m, "mem.const", alu, t_int, "LDC is ALU_OP");
    if (tex) put_op(m, "mem.tex", tex->name, tex->t, "unit TEX");
}

// Opcodes that Accel-Sim's tables put elsewhere than their class is here.
static void put_opcodes(importer *m, const unit_set *u) {
    static const char *const on_sp[] = {"fmnmx", "fsel", "fset", "fsetp", "hmnmx2", "hmul2"};
    static const char *const on_udp[] = {"s2ur", "voteu", "redux"};
    for (int i = 0; m->trace && i < 6; i++) put_op(m, on_sp[i], "sp", u->t_sp, "SP_OP");
    for (int i = 0; u->udp && i < 3; i++) put_op(m, on_udp[i], u->udp->name, u->udp->t, "unit UDP");
    if (u->bra) put_op(m, "nanosleep", u->bra->name, u->bra->t, "unit BRA");
}

static void units(importer *m) {
    unit_set u = {0};
    read_units(m, &u);
    put_units(m, &u);
    import_heading(m, "instructions, as Accel-Sim's opcode tables class them");
    put_classes(m, &u);
    put_opcodes(m, &u);
}

void import_core(importer *m) {
    int64_t steps = import_int(m, "-gpgpu_reg_file_port_throughput", 1, 1, 16);
    int64_t cycles = 2 + 2 / steps;
    m->collect = (double)cycles;
    m->writeback = 2;
    limits(m);
    shared_memory(m);
    front_end(m);
    units(m);
}
