// Configurations of GPGPU-Sim as GPU descriptions: what each option becomes, latencies counted by hand
// through GPGPU-Sim's stages, what is refused, and what the notes say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "accel/accel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *file(const char *name) {
    orr_err e = {0};
    char path[500];
    snprintf(path, sizeof path, "%s/tests/corpus/import/%s", ORRERY_SOURCE_DIR, name);
    size_t n;
    char *s = orr_read_file(path, 1 << 20, &n, &e);
    if (!s) fail_msg("%s", e.text);
    return s;
}

// The description made of a file of the corpus and of more options behind it; notes into *notes if asked for.
static orr_gpu *import(const char *name, const char *more, char **notes) {
    char *s = file(name), *cut = strstr(s, "\n%%\n"), *trace = cut ? cut + 4 : NULL;
    if (cut) cut[1] = 0;
    orr_text all = {0}, conf = {0}, said = {0};
    orr_err e = {0};
    orr_text_add(&all, "%s\n%s", s, more);
    if (!orr_accel_import_text(&(orr_accel_text){.name = "a \"name\"\n",
                                                 .gpgpusim = all.s,
                                                 .gpgpusim_n = all.n,
                                                 .trace = trace,
                                                 .trace_n = trace ? strlen(trace) : 0},
                               &conf, &said, &e))
        fail_msg("%s", e.text);
    orr_gpu *g = orr_gpu_parse("t.conf", conf.s, conf.n, NULL, 0, &e);
    if (!g) fail_msg("%s", e.text);
    if (notes)
        *notes = said.s;
    else
        free(said.s);
    free(conf.s);
    free(all.s);
    free(s);
    return g;
}

static void refused(const char *text, const char *part) {
    orr_text conf = {0}, notes = {0};
    orr_err e = {0};
    if (orr_accel_import_text(&(orr_accel_text){.name = "t", .gpgpusim = text, .gpgpusim_n = strlen(text)},
                              &conf, &notes, &e))
        fail_msg("accepted: %s", text);
    assert_int_equal(e.status, ORR_BAD_INPUT);
    if (!strstr(e.text, part)) fail_msg("'%s' is not in: %s", part, e.text);
    assert_null(conf.s);
    free(notes.s);
}

static void near(double v, double want) {
    if (fabs(v - want) > 0.001) fail_msg("%g, not %g", v, want);
}

static void op(const orr_gpu *g, const char *class, const char *unit, double latency, double interval) {
    const orr_gpu_op *o = orr_gpu_find_op(g, class);
    assert_non_null(o);
    if (strcmp(o->unit, unit) != 0) fail_msg("%s runs on %s, not %s", class, o->unit, unit);
    near(o->latency, latency);
    near(orr_gpu_op_interval(g, o), interval);
}

static void volta(void **state) {
    (void)state;
    orr_gpu *g = import("volta.config", "", NULL);
    assert_string_equal(g->product, "a _name__");
    assert_string_equal(g->family, "Volta");
    assert_int_equal(g->sm_count, 80);
    assert_int_equal(g->limit_sm_warps, 64);
    assert_int_equal(g->core_kind, ORR_CORE_COLLECTOR);
    assert_int_equal(g->core_subcores, 4);
    assert_int_equal(g->core_schedulers, 4);
    assert_int_equal(g->core_policy, ORR_SCHED_LRR);
    assert_int_equal(g->regs_collectors, 8);
    assert_int_equal(g->shared_carveouts.n, 6);
    assert_int_equal(g->shared_carveouts.at[5], 96 * 1024);
    assert_int_equal(g->l1_size, 128 * 1024);
    assert_int_equal(g->l1_sector, 32);
    assert_int_equal(g->l1_write, ORR_WRITE_THROUGH);
    assert_true(g->l1_write_allocate && g->l1_global && g->l1_flush);
    assert_int_equal(g->l1_write_miss, ORR_L1_LAZY);
    assert_int_equal(g->l2_size, 6 << 20); // 32 sets x 128 bytes x 24 ways x 64 slices
    assert_int_equal(g->l2_slices, 64);
    assert_int_equal(g->l2_hash, ORR_HASH_IPOLY);
    assert_int_equal(g->l2_interleave, 256); // dramid@8
    assert_true(g->l2_hashed && !g->l1_hashed && g->icache_perfect);
    assert_int_equal(g->dram_channels, 32);
    assert_int_equal(g->dram_bus, 4096);
    near(g->dram_bandwidth, 870.4);            // 512 bytes, twice a clock of 850 MHz
    assert_int_equal(g->dram_row, 2048);       // 6 C and 5 S bits
    assert_int_equal(g->dram_size, 8ll << 30); // 28 bits in each of 32 channels
    assert_int_equal(g->dram_trcd, 12);
    assert_int_equal(g->dram_tccdl, 2);
    near(g->launch_overhead, 5000);
    near(g->xbar_reply, 40);

    // Two steps of the collector in a cycle: taken and read in c + 1, sent in c + 2, in the unit in c + 3.
    near(g->core_collect, 3);
    near(g->core_writeback, 2);
    near(g->l1_latency, 24);     // 3, 1 into the stages, 20 of them
    near(g->shared_latency, 25); // the same and 1 to write back
    near(g->l2_latency, 193);    // Jia et al. 2018 on a V100, what this configuration was made for
    near(g->dram_latency, 193 + 1 + 1 + 100 + (12 + 12 + 2) * 1132.0 / 850 + 2);

    op(g, "int", "int", 2, 2);
    op(g, "int.mul", "int", 2, 2);
    op(g, "fp32", "sp", 2, 2);
    op(g, "fp16", "sp", 2, 1); // twice the rate
    op(g, "fp64", "dp", 8, 4);
    op(g, "sfu", "sfu", 20, 8);
    op(g, "branch", "bra", 4, 4);
    op(g, "tensor", "tensor", 3, 3); // the unit by name, not -trace_opcode_latency_initiation_tensor
    op(g, "uniform", "udp", 4, 1);
    op(g, "mem.tex", "tex", 200, 4);
    op(g, "mem", "lsu", 1, 1);
    orr_gpu_free(g);
}

static void fermi(void **state) {
    (void)state;
    orr_gpu *g = import("fermi.config", "", NULL);
    assert_string_equal(g->family, "Fermi");
    assert_int_equal(g->core_subcores, 1);
    assert_int_equal(g->core_schedulers, 2);
    assert_int_equal(g->core_policy, ORR_SCHED_TWO_LEVEL);
    assert_int_equal(g->core_active, 6);
    assert_int_equal(g->regs_collectors, 16); // 6 + 8 + 2 for memory, a default
    assert_int_equal(g->limit_block_registers, 32768);
    assert_int_equal(g->limit_thread_registers, 63);
    assert_int_equal(g->shared_carveouts.n, 0);
    assert_int_equal(g->l1_size, 16384);
    assert_int_equal(g->l1_ways, 4);
    assert_int_equal(g->l1_sector, 128);
    assert_int_equal(g->l1_write, ORR_WRITE_LOCAL);
    assert_false(g->l1_write_allocate);
    assert_true(g->l1_hashed);
    assert_int_equal(g->l2_hash, ORR_HASH_MODULO);
    assert_int_equal(g->dram_size, 1536ll << 20);
    assert_int_equal(g->dram_row, 4096);
    near(g->dram_bandwidth, 177.408); // NVIDIA: 177.4 GB/s
    near(g->dram_efficiency, 50);     // bursts of 8 x 4 x 2 = 64 bytes for sectors of 32
    near(g->xbar_reply, 34);          // 136 bytes of a line in four flits of 40
    near(g->core_collect, 4);         // one step of the collector a cycle
    near(g->l1_latency, 4 + 1 + 35);
    near(g->shared_latency, 4 + 2 + 26);
    // to the network 41, there 6, in 1, 120, L2 1, back 6 and 3 more flits, into the SM 4
    near(g->l2_latency, 41 + 6 + 1 + 120 + 1 + 6 + 3 + 4);
    op(g, "int", "sp", 4, 1);
    op(g, "int.mul", "sp", 4, 2);
    op(g, "fp32", "sp", 5, 1); // multiply-add
    op(g, "fp64", "sfu", 8, 8);
    op(g, "sfu", "sfu", 8, 8); // defaults
    op(g, "shfl", "sp", 32, 4);
    op(g, "branch", "sp", 4, 1);
    orr_gpu_free(g);
}

static void variants(void **state) {
    (void)state;
    orr_gpu *g = import("volta.config",
                        "-gpgpu_gmem_skip_L1D 1\n-gpgpu_n_cores_per_cluster 2 "
                        "-gpgpu_scheduler gto\n-gpgpu_scheduler old",
                        NULL);
    assert_false(g->l1_global);
    near(g->l2_latency, 193 - 21); // neither the stages of L1 nor its queue
    assert_int_equal(g->sm_count, 160);
    near(g->xbar_reply, 20);                            // two SMs share the port
    assert_int_equal(g->core_policy, ORR_SCHED_OLDEST); // the last one counts
    orr_gpu_free(g);

    g = import("volta.config", "-gpgpu_cache:dl1 none -gpgpu_adaptive_cache_config 0 -gpgpu_sub_core_model 0",
               NULL);
    assert_false(g->l1_global);
    assert_int_equal(g->core_subcores, 1);
    orr_gpu_free(g);

    g = import("volta.config", "-gpgpu_clock_domains 1000:500:500:1000 -gpgpu_reg_file_port_throughput 1",
               NULL);
    // 4 + 1 + 20, 1; four cycles of network and L2 count twice; 160; 4
    near(g->l2_latency, 25 + 1 + 4 * 2 + 160 + 4);
    orr_gpu_free(g);

    g = import("defaults.config", "", NULL); // the form before version 4, and defaults of the simulator
    assert_int_equal(g->sm_count, 6);
    assert_int_equal(g->dram_banks, 8);
    assert_int_equal(g->dram_bank_groups, 1);
    assert_int_equal(g->l2_sector, 128);
    assert_int_equal(g->l2_write, ORR_L2_FETCH);
    assert_int_equal(g->l2_interleave, 8192); // address mask 1: bit 13
    orr_gpu_free(g);
}

static void notes(void **state) {
    (void)state;
    char *said;
    orr_gpu *g = import("volta.config", "-gpgpu_l1_cache_write_ratio 25\n-no_such_thing 7", &said);
    assert_non_null(strstr(said, "-visualizer_enabled 0: not used: about the simulator"));
    assert_non_null(strstr(said, "-gpgpu_l1_cache_write_ratio 25: not used: L1"));
    assert_non_null(strstr(said, "-no_such_thing 7: not used: this option is not known"));
    assert_non_null(strstr(said, "gpgpusim.config:"));
    assert_null(strstr(said, "-gpgpu_l1_latency"));
    free(said);
    orr_gpu_free(g);
}

static void mistakes(void **state) {
    (void)state;
    refused("", "no options");
    refused("gpgpu_n_mem 3", "gpgpusim.config:1: expected an option");
    refused("\n\n-gpgpu_n_mem", "gpgpusim.config:3: -gpgpu_n_mem has no value");
    refused("-gpgpu_n_mem zero", "'zero' is not a number from 1 to 4096");
    refused("-gpgpu_n_mem 99999", "is not a number from 1 to 4096");
    refused("-gpgpu_n_mem 1.5", "is not a number");
    refused("-gpgpu_n_mem \"3", "closing quote");
    refused("-gpgpu_clock_domains 1:2:3", "four clocks");
    refused("-gpgpu_clock_domains 0:1:1:1", "four clocks from 1");
    refused("-gpgpu_cache:dl2 none", "without L2");
    refused("-gpgpu_cache:dl2 S:32:128", "is not a cache");
    refused("-gpgpu_cache:dl1 S:0:128:4,L:T:m:L:L,A:512:8,16", "is not a cache");
    refused("-gpgpu_dram_timing_opt nbk=16:CCD=1", "RRD is missing");
    refused("-gpgpu_mem_addr_mapping dramid@8;XYZ", "is not a mapping");
    refused("-gpgpu_scheduler random", "is not lrr");
    refused("-gpgpu_shader_core_pipeline 2048:64", "2048:32");
    refused("-gpgpu_shmem_size 16384 -gpgpu_n_mem 4096 -gpgpu_n_sub_partition_per_mchannel 64",
            "cannot be described");
    refused("-a \001", "not a text file");
    orr_err e = {0};
    orr_text t = {0};
    assert_false(orr_accel_import("/nowhere/gpgpusim.config", NULL, &t, &t, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
}

// What Accel-Sim 2.0 has more: slices found modulo 96, a DRAM of sectors a clock, two halves, merging in
// front of L2. 48 channels x 32 bytes x 3106 MHz are 4770.8 GB/s; the bus of 8 bytes at twice the clock would
// be half.
static void hopper(void **state) {
    (void)state;
    static const char more[] =
        "-gpgpu_n_mem 48\n-gpgpu_clock_domains 1980:3106:3106:3106\n-gpgpu_memory_partition_indexing 6\n"
        "-gpgpu_dram_buswidth 8\n-gpgpu_simple_dram_model 1\n-gpgpu_simple_dram_clock_multiplier 1\n"
        "-gpgpu_n_chiplet_partition 2\n-inter_chiplet_queue_size 256\n-gpgpu_chiplet_interleave 0\n"
        "-gpgpu_lrc_enabled 1\n-gpgpu_lrc_max_entries 1024\n-gpgpu_lrc_max_merged 4\n"
        "-gpgpu_inst_fetch_throughput 4\n-dram_latency 194\n";
    char *said = NULL;
    orr_gpu *g = import("volta.config", more, &said);
    assert_int_equal(g->l2_hash, ORR_HASH_IPOLY);
    near(g->dram_bandwidth, 48 * 32 * 3.106);
    near(g->dram_efficiency, 100);
    double l2 = 1980.0 / 3106; // SM cycles a cycle of L2
    near(g->dram_latency - g->l2_latency, l2 + 1 + 194 + 2 * l2);
    if (strstr(said, "not known")) fail_msg("an option that nobody knows: %s", said);
    const char *const named[] = {"-gpgpu_n_chiplet_partition", "-gpgpu_lrc_enabled", "-gpgpu_lrc_max_merged",
                                 "-gpgpu_inst_fetch_throughput", "-inter_chiplet_queue_size"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) assert_non_null(strstr(said, named[i]));
    assert_null(strstr(said, "-gpgpu_simple_dram"));
    free(said);
    orr_gpu_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(volta), cmocka_unit_test(fermi),    cmocka_unit_test(variants),
        cmocka_unit_test(notes), cmocka_unit_test(mistakes), cmocka_unit_test(hopper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
