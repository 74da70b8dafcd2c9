// The memory of a GPGPU-Sim configuration: L1, constants, network, L2 and DRAM.
//
// Load to use, counted through GPGPU-Sim's source in the order in which a cycle runs its parts (gpu-sim.cc,
// gpgpu_sim::cycle: SMs take answers, partitions send, DRAM, L2, network, SMs). An instruction that issues in
// cycle c is in the load/store unit's dispatch register at c + core.collect and enters the L1 stages a cycle
// later.
//
//   L1 hit   core.collect + 1 + l1_latency: the register is free in the cycle of the hit
//            (ldst_unit::L1_latency_queue_cycle)
//   L2 hit   the tags are looked up where a hit would have been; then miss queue 1, network 1, into the
//   partition 1,
//            rop_latency (in SM cycles), L2 1, network 1, cluster 1, fill 1, writeback 2. The SM7_QV100
//            configuration comes to 193 cycles, what Jia et al. 2018 measured on a V100. Global loads that
//            skip L1 leave the unit a cycle after the dispatch register instead.
//   DRAM     more than an L2 hit, in a bank whose row is closed: L2's queue 1, DRAM's queue 1, dram_latency
//   (SM
//            cycles), tRCD + CL + 2 DRAM clocks, fill and answer 2.
//
// The network of -network_mode 2 is a crossbar that moves a packet a cycle and port; that of mode 1 is
// Booksim, whose router (routing 0, allocation 1 + 1, crossbar, channels) takes about 6 cycles a way. How
// wide it is (flit_size) is in a file of its own, beside the configuration.
#include "accel/import.h"

#include <math.h>
#include <string.h>

static const char *note(importer *m, const char *a, const char *b) {
    return orr_arena_printf(&m->arena, "%s; %s", import_from(m, a), b);
}

static void level1(importer *m, double *before_l2) {
    import_heading(m, "L1");
    import_cache *c = &m->l1;
    import_cache_string(m, "-gpgpu_cache:dl1", "none", c);
    const char *from = import_from(m, "-gpgpu_cache:dl1");
    m->l1_skipped = import_int(m, "-gpgpu_gmem_skip_L1D", 0, 0, 1) || c->none;
    double stages = (double)import_int(m, "-gpgpu_l1_latency", 1, 1, 9000);
    double hit = m->collect + 1 + stages;
    if (c->none) {
        *c = (import_cache){.none = true,
                            .type = 'S',
                            .sets = 1,
                            .line = 128,
                            .ways = 8,
                            .write = 'T',
                            .write_alloc = 'N',
                            .index = 'L',
                            .misses = 256,
                            .merges = 8};
        from = "there is none: the smallest that can be described";
    }
    double size = (double)c->sets * (double)c->line * (double)c->ways;
    int64_t unified = import_int(m, "-gpgpu_unified_l1d_size", 0, 0, 16384) * 1024;
    if (import_int(m, "-gpgpu_adaptive_cache_config", 0, 0, 1) && unified) {
        import_num(m, "l1.size", (double)unified, "B", import_from(m, "-gpgpu_unified_l1d_size"));
        // GPGPU-Sim keeps the sets and changes the ways (64 and more) with the split; whole lines are near to
        // that.
        import_num(m, "l1.ways", 0, "ways",
                   "as many as the split leaves, in few sets: taken as fully associative");
    } else {
        import_num(m, "l1.size", size, "B", from);
        import_num(m, "l1.ways", (double)c->ways, "ways", from);
    }
    bool sectors = c->type == 'S';
    import_num(m, "l1.line", 128, "B",
               c->line == 128 ? from : note(m, "-gpgpu_cache:dl1", "lines are of 128 B here"));
    import_num(m, "l1.sector", sectors ? 32 : (double)c->line, "B",
               sectors ? "S: sectored" : "N: whole lines");
    int64_t banks = import_int(m, "-gpgpu_l1_banks", 1, 1, 64);
    double part = sectors ? 32 : (double)c->line;
    import_num(m, "l1.banks", (double)banks, "banks", import_from(m, "-gpgpu_l1_banks"));
    import_num(m, "l1.bandwidth", part * (double)banks, "B/cycle", "each bank takes a request a cycle");
    import_num(m, "l1.latency", hit, "cycles",
               note(m, "-gpgpu_l1_latency", "+ core.collect + 1, issue to use"));
    import_num(m, "l1.mshrs", (double)c->misses, "lines",
               orr_arena_printf(&m->arena, "%s%s", from, sectors ? "; a sector each there" : ""));
    import_num(m, "l1.fill_interval", 1, "cycles",
               "ldst_unit::writeback takes one request of those that waited a cycle");
    import_num(m, "l1.mshr_merges", (double)c->merges, "requests", from);
    import_put(m, "l1.global", import_from(m, "-gpgpu_gmem_skip_L1D"), "%s", m->l1_skipped ? "no" : "yes");
    const char *write = c->write == 'B'   ? "back"
                        : c->write == 'E' ? "evict"
                        : c->write == 'L' ? "local"
                                          : "through";
    import_put(m, "l1.write", "the write policy in the cache string", "%s", write);
    import_put(m, "l1.write_allocate", "the write-allocate policy in it", "%s",
               c->write_alloc == 'N' ? "no" : "yes");
    import_put(m, "l1.write_miss", "same: L fetches what is read, F and W what is written", "%s",
               c->write_alloc == 'L'                            ? "lazy"
               : c->write_alloc == 'F' || c->write_alloc == 'W' ? "fetch"
                                                                : "validate");
    import_put(m, "l1.hashed", "the set index in it", "%s", c->index == 'L' ? "no" : "yes");
    import_put(m, "l1.flush", import_from(m, "-gpgpu_flush_l1_cache"), "%s",
               import_int(m, "-gpgpu_flush_l1_cache", 0, 0, 1) ? "yes" : "no");
    *before_l2 = m->l1_skipped ? m->collect + 1 : hit + 1;
}

static void constants_and_code(importer *m) {
    import_heading(m, "constants and code");
    bool perfect = import_int(m, "-gpgpu_perfect_inst_const_cache", 0, 0, 1);
    import_cache c;
    import_cache_string(m, "-gpgpu_const_cache:l1", "64:64:2,L:R:f:N,A:2:32,4", &c);
    if (c.none) c = (import_cache){0};
    import_num(m, "const.size", (double)c.sets * (double)c.line * (double)c.ways, "B",
               import_from(m, "-gpgpu_const_cache:l1"));
    double latency = m->collect + m->int_latency + m->writeback;
    import_num(m, "const.latency", latency, "cycles", "LDC is an integer instruction in Accel-Sim");
    import_num(m, "const.l15_size", 0, "B", "none");
    import_num(m, "const.l15_latency", latency, "cycles", "none");
    import_put(m, "icache.perfect", import_from(m, "-gpgpu_perfect_inst_const_cache"), "%s",
               perfect ? "yes" : "no");
    import_cache_string(m, "-gpgpu_cache:il1", "4:256:4,L:R:f:N,A:2:32,4", &c);
    if (c.none) c = (import_cache){.line = 128};
    import_num(m, "icache.l0", 0, "B", "none");
    import_num(m, "icache.l1", (double)c.sets * (double)c.line * (double)c.ways, "B",
               import_from(m, "-gpgpu_cache:il1"));
    import_num(m, "icache.line", (double)c.line, "B", import_from(m, "-gpgpu_cache:il1"));
    import_num(m, "icache.l1_latency", 0, "cycles", "a hit is decoded in the next cycle");
    import_num(m, "icache.prefetch", 0, "lines", "none");
}

// Returns what a load that hits in L2 takes, and from which clock.
static double network_and_l2(importer *m, double before_l2, double *slices) {
    int64_t n_mem = import_int(m, "-gpgpu_n_mem", 8, 1, 4096);
    int64_t sub = import_int(m, "-gpgpu_n_sub_partition_per_mchannel", 1, 1, 64);
    *slices = (double)(n_mem * sub);
    double net = m->clock_sm / m->clock_net, l2 = m->clock_sm / m->clock_l2; // SM cycles a cycle there

    import_heading(m, "network and L2");
    int64_t mode = import_int(m, "-network_mode", 1, 1, 2);
    int64_t flit = import_int(m, "-icnt_flit_size", 32, 9, 4096);
    const char *width = note(m, "-icnt_flit_size", "8 bytes of a packet are its head");
    if (mode == 1 && import_network(m, &flit))
        width = orr_arena_printf(&m->arena, "flit_size %lld of %s; 8 bytes of a packet are its head",
                                 (long long)flit, import_from(m, "-inter_config_file"));
    double packet = m->l1.type == 'S' ? 32 : (double)m->l1.line;
    // A packet has 8 bytes of its own (mem_fetch: READ_PACKET_SIZE). Mode 2 moves any packet in one cycle.
    double flits = mode == 2 ? 1 : ceil((packet + 8) / (double)flit);
    double bytes = packet / flits / (double)m->cores_per_cluster * m->clock_net / m->clock_l2;
    const char *from =
        mode == 2 ? note(m, "-network_mode", "a packet of a sector a cycle and cluster") : width;
    if (bytes < 1) bytes = 1;
    import_num(m, "xbar.request", bytes, "B/cycle", from);
    import_num(m, "xbar.reply", bytes * (packet + 8) / packet, "B/cycle",
               orr_arena_printf(&m->arena, "%s; 8 bytes of an answer are its head", from));
    import_put(m, "xbar.sectors",
               m->l1.type == 'S' ? "a sectored L1 sends a request for each" : "L1 fetches whole lines", "%s",
               m->l1.type == 'S' ? "yes" : "no");

    import_cache c;
    import_cache_string(m, "-gpgpu_cache:dl2", "64:128:8,L:B:m:N,A:16:4,4", &c);
    from = import_from(m, "-gpgpu_cache:dl2");
    if (c.none) {
        import_wrong(m, "-gpgpu_cache:dl2", "a cache: a GPU without L2 cannot be described");
        c = (import_cache){
            .type = 'S', .sets = 1, .line = 128, .ways = 8, .misses = 1, .index = 'L', .port = 32};
    }
    double size = (double)c.sets * (double)c.line * (double)c.ways * *slices;
    import_num(m, "l2.size", size, "B", note(m, "-gpgpu_cache:dl2", "in each slice"));
    import_num(m, "l2.slices", *slices, "slices",
               orr_arena_printf(&m->arena, "%s x %s", import_from(m, "-gpgpu_n_mem"),
                                import_from(m, "-gpgpu_n_sub_partition_per_mchannel")));
    import_num(m, "l2.line", 128, "B",
               c.line == 128 ? from : note(m, "-gpgpu_cache:dl2", "lines are of 128 B here"));
    import_num(m, "l2.sector", c.type == 'S' ? 32 : (double)c.line, "B",
               c.type == 'S' ? "S: sectored" : "N: whole lines");
    import_num(m, "l2.ways", (double)c.ways, "ways", from);
    double port = (double)(c.port < 32 ? c.port : 32); // a request is a sector, whatever the port could do
    import_num(m, "l2.bandwidth", port * *slices, "B/cycle",
               "a sector a cycle from each slice: its data port");
    import_num(m, "l2.mshrs", (double)c.misses, "lines", from);
    import_num(m, "l2.mshr_merges", (double)c.merges, "requests", from);
    import_put(m, "l2.write", "the write-allocate policy in the cache string: L marks bytes, F and W fetch",
               "%s", c.write_alloc == 'F' || c.write_alloc == 'W' ? "fetch" : "validate");
    import_put(m, "l2.hashed", "the set index in it", "%s", c.index == 'L' ? "no" : "yes");
    static const struct {
        const char *hash, *what;
    } indexing[] = {{"modulo", "the bits as they are"},
                    {"xor", "bits permuted"},
                    {"ipoly", "a polynomial"},
                    {"modulo", "the bits as they are (PAE)"},
                    {"ipoly", "at random; spreads as evenly"},
                    {"ipoly", "whatever its user made of it; spreads as evenly"},
                    {"ipoly", "a polynomial, modulo a number of slices that is no power of two"}};
    int64_t which = import_int(m, "-gpgpu_memory_partition_indexing", 0, 0, 6);
    import_put(m, "l2.hash", note(m, "-gpgpu_memory_partition_indexing", indexing[which].what), "%s",
               indexing[which].hash);
    import_num(m, "l2.atomic", 8, "lanes/cycle",
               "a slice does a request's words, 8 in a sector, in one cycle");
    import_put(m, "l2.flush", import_from(m, "-gpgpu_flush_l2_cache"), "%s",
               import_int(m, "-gpgpu_flush_l2_cache", 0, 0, 1) ? "yes" : "no");

    double rop = (double)import_int(m, "-gpgpu_l2_rop_latency", 85, 0, 90000);
    double way = mode == 2 ? 1 : 6;
    double latency = before_l2 + way * net + l2 + rop + l2 + way * net + (flits - 1) * net + 4;
    import_num(m, "l2.latency", latency, "cycles",
               orr_arena_printf(&m->arena, "%s; %.0f to the network, %.0f each way, L2 2, back into the SM 4",
                                import_from(m, "-gpgpu_l2_rop_latency"), before_l2, way));
    return latency;
}

// ---- DRAM -------------------------------------------------------------------------------------------

// In the order of the old form, which has no names.
enum { NBK, CCD, RRD, RCD, RAS, RP, RC, CL, WL, CDLR, WR, NBKGRP, CCDL, RTPL, TIMINGS };
static const char *const timing_name[TIMINGS] = {"nbk", "CCD", "RRD",  "RCD", "RAS",    "RP",   "RC",
                                                 "CL",  "WL",  "CDLR", "WR",  "nbkgrp", "CCDL", "RTPL"};

static void read_timing(importer *m, double t[TIMINGS]) {
    const char *option = "-gpgpu_dram_timing_opt", *usual = "4:2:8:12:21:13:34:9:4:5:13:1:0:0";
    const char *p = import_text(m, option, usual);
    t[NBKGRP] = 1, t[CCDL] = 0, t[RTPL] = 0;
    if (!strchr(p, '=')) {
        if (import_numbers(m, option, usual, ":", t, TIMINGS) < WR + 1)
            import_wrong(m, option, "timings of DRAM");
        return;
    }
    bool seen[TIMINGS] = {false};
    while (*p) {
        while (*p == ' ' || *p == ':') p++;
        size_t n = strcspn(p, "=: ");
        int which = -1;
        for (int i = 0; i < TIMINGS; i++)
            if (strlen(timing_name[i]) == n && memcmp(timing_name[i], p, n) == 0) which = i;
        if (!*p) break;
        if (p[n] != '=' || !(p[n + 1] >= '0' && p[n + 1] <= '9')) {
            import_wrong(m, option, "timings of DRAM, as nbk=16:CCD=1:RRD=3:...");
            return;
        }
        double v = 0;
        for (p += n + 1; *p >= '0' && *p <= '9'; p++) v = v < 1e6 ? v * 10 + (*p - '0') : v;
        if (which >= 0) t[which] = v, seen[which] = true;
    }
    for (int i = 0; i <= WR; i++)
        if (!seen[i]) {
            import_wrong(m, option, orr_arena_printf(&m->arena, "complete: %s is missing", timing_name[i]));
            return;
        }
}

// "dramid@8;0000RRRR...": 64 letters from the highest bit, R row, B bank, C column, S column in a burst.
static void read_mapping(importer *m, double *interleave, double *row, double *bytes) {
    static const struct { // without a mapping: bit of the channel by -gpgpu_mem_address_mask (addrdec.cc)
        int mask, bit;
    } old[] = {{0, 10}, {1, 13}, {2, 11},  {3, 11},  {14, 14}, {15, 15}, {16, 16},
               {6, 6},  {5, 5},  {100, 1}, {103, 3}, {106, 6}, {160, 6}};
    int64_t mask = import_int(m, "-gpgpu_mem_address_mask", 0, 0, 1000);
    const char *s = import_text(m, "-gpgpu_mem_addr_mapping", NULL);
    int bit = 10, column = 11, all = 27;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (old[i].mask == mask) bit = old[i].bit;
    if (s) {
        const char *p = strchr(s, ';');
        bit = 10;
        if (strncmp(s, "dramid@", 7) == 0) {
            bit = 0;
            for (const char *d = s + 7; *d >= '0' && *d <= '9' && bit < 100; d++) bit = bit * 10 + (*d - '0');
        }
        column = all = 0;
        int lowest_d = -1, at = 63;
        for (p = p ? p + 1 : s; *p; p++) {
            if (*p == '.' || *p == ' ' || *p == '|') continue;
            if (!strchr("RrBbCcSsDd0", *p)) {
                import_wrong(m, "-gpgpu_mem_addr_mapping", "a mapping, as dramid@8;00...RRRRBBCCSS");
                return;
            }
            if (*p == 'D' || *p == 'd') lowest_d = at;
            at--;
            if (strchr("CcSs", *p)) column++;
            if (!strchr("Dd0", *p)) all++;
        }
        if (lowest_d >= 0) bit = lowest_d;
    }
    if (bit < 5 || bit > 20 || column > 30 || all > 50) {
        import_wrong(m, "-gpgpu_mem_addr_mapping", "a mapping of sensible size");
        return;
    }
    *interleave = (double)(1 << bit), *row = (double)(1 << column), *bytes = (double)(1ll << all);
}

static void dram(importer *m, double l2_latency) {
    import_heading(m, "memory");
    import_put(m, "memory", import_from(m, "-gpgpu_perfect_mem"), "%s",
               import_int(m, "-gpgpu_perfect_mem", 0, 0, 1) ? "perfect" : "real");
    int64_t channels = import_int(m, "-gpgpu_n_mem", 8, 1, 4096);
    int64_t chips = import_int(m, "-gpgpu_n_mem_per_ctrlr", 1, 1, 64);
    int64_t width = import_int(m, "-gpgpu_dram_buswidth", 4, 1, 512);
    int64_t burst = import_int(m, "-gpgpu_dram_burst_length", 4, 1, 256);
    int64_t ratio = import_int(m, "-dram_data_command_freq_ratio", 2, 1, 16);
    double interleave = 1024, row = 2048, bytes = 1 << 27, t[TIMINGS] = {0};
    read_mapping(m, &interleave, &row, &bytes);
    read_timing(m, t);
    // The simple model has no banks and rows: a channel answers with so many sectors a clock, in order.
    double simple = import_int(m, "-gpgpu_simple_dram_model", 0, 0, 1)
                        ? (double)import_int(m, "-gpgpu_simple_dram_clock_multiplier", 1, 1, 64)
                        : 0;
    if (simple > 0)
        for (int i = 0; i < TIMINGS; i++) t[i] = i == NBK || i == NBKGRP ? t[i] : 1;
    const char *map = import_has(m, "-gpgpu_mem_addr_mapping") ? import_from(m, "-gpgpu_mem_addr_mapping")
                                                               : import_from(m, "-gpgpu_mem_address_mask");
    const char *kind = ratio <= 2 ? "hbm2" : burst >= 16 ? "gddr6" : "gddr5";
    import_put(m, "dram.kind", "assumed: from transfers a clock and the burst length", "%s", kind);
    import_num(m, "dram.size", bytes * (double)channels, "B",
               "all bits of -gpgpu_mem_addr_mapping, in each channel");
    import_num(m, "dram.bus", (double)(channels * chips * width * 8), "bits",
               orr_arena_printf(&m->arena, "%s bytes x %s x -gpgpu_n_mem",
                                import_from(m, "-gpgpu_dram_buswidth"),
                                import_from(m, "-gpgpu_n_mem_per_ctrlr")));
    double clocked = simple > 0 ? simple * 32 * (double)channels : (double)(channels * chips * width * ratio);
    import_num(m, "dram.bandwidth", clocked * m->clock_dram / 1000, "GB/s",
               simple > 0 ? note(m, "-gpgpu_simple_dram_model", "a sector of 32 bytes a clock and channel")
                          : note(m, "-dram_data_command_freq_ratio", "x the bus x the clock"));
    // No refresh in GPGPU-Sim. A burst that is longer than the sector that was asked for is lost in part.
    double atom = simple > 0 ? 32 : (double)(burst * width * chips);
    import_num(
        m, "dram.efficiency", atom > 32 ? 100 * 32 / atom < 1 ? 1 : 100 * 32 / atom : 100, "%",
        orr_arena_printf(&m->arena, "a burst is %.0f bytes for a sector of 32; nothing else is lost", atom));
    import_num(m, "dram.channels", (double)channels, "channels", import_from(m, "-gpgpu_n_mem"));
    import_num(m, "l2.interleave", interleave < 128 ? 128 : interleave, "B", map);
    import_num(m, "dram.row", row, "B", "C and S bits of -gpgpu_mem_addr_mapping");
    import_put(m, "dram.policy", import_from(m, "-gpgpu_dram_scheduler"), "%s",
               import_int(m, "-gpgpu_dram_scheduler", 1, 0, 1) ? "fr-fcfs" : "fcfs");
    int64_t queue = import_int(m, "-gpgpu_frfcfs_dram_sched_queue_size", 0, 0, 65536);
    import_num(m, "dram.queue", queue ? (double)queue : 1024, "requests",
               note(m, "-gpgpu_frfcfs_dram_sched_queue_size", queue ? "per channel" : "0: no limit"));
    import_put(m, "dram.write_queue", import_from(m, "-dram_seperate_write_queue_enable"), "%s",
               import_int(m, "-dram_seperate_write_queue_enable", 0, 0, 1) ? "yes" : "no");
    const struct {
        const char *key, *unit;
        double v;
    } put[] = {
        {"dram.banks", "banks", t[NBK]},  {"dram.bank_groups", "groups", t[NBKGRP]},
        {"dram.tccd", "clocks", t[CCD]},  {"dram.tccdl", "clocks", t[CCDL] > t[CCD] ? t[CCDL] : t[CCD]},
        {"dram.trrd", "clocks", t[RRD]},  {"dram.trcd", "clocks", t[RCD]},
        {"dram.tras", "clocks", t[RAS]},  {"dram.trp", "clocks", t[RP]},
        {"dram.trc", "clocks", t[RC]},    {"dram.tcl", "clocks", t[CL]},
        {"dram.twl", "clocks", t[WL]},    {"dram.twr", "clocks", t[WR]},
        {"dram.twtr", "clocks", t[CDLR]}, {"dram.trtp", "clocks", t[RTPL]}};
    for (size_t i = 0; i < sizeof put / sizeof *put; i++)
        import_num(m, put[i].key, put[i].v < 1 ? 1 : put[i].v, put[i].unit,
                   simple > 0 && i > 1 ? import_from(m, "-gpgpu_simple_dram_model")
                                       : "-gpgpu_dram_timing_opt");
    double wait = (double)import_int(m, "-dram_latency", 30, 0, 90000);
    double l2 = m->clock_sm / m->clock_l2, clock = m->clock_sm / m->clock_dram;
    double closed = simple > 0 ? 0 : t[RCD] + t[CL] + 2; // DRAM clocks
    import_num(m, "dram.latency", l2_latency + l2 + 1 + wait + closed * clock + 2 * l2, "cycles",
               note(m, "-dram_latency",
                    simple > 0 ? "on top of l2.latency, and no more"
                               : "on top of l2.latency, with tRCD + CL + 2 DRAM clocks; row closed"));
}

static void whole(importer *m) {
    import_heading(m, "the whole GPU");
    import_num(m, "launch.latency", 0, "us", "no time passes between kernels but launch.overhead");
    import_num(m, "launch.overhead", (double)import_int(m, "-gpgpu_kernel_launch_latency", 0, 0, 10000000),
               "cycles", import_from(m, "-gpgpu_kernel_launch_latency"));
    import_num(m, "launch.block_latency", 0, "cycles", "none");
    import_num(m, "launch.sm_interval", 1, "cycles", "an SM is given a block a cycle: issue_block2core");
    import_num(m, "launch.block_interval", (double)import_int(m, "-gpgpu_TB_launch_latency", 0, 0, 100000),
               "cycles", note(m, "-gpgpu_TB_launch_latency", "for each block of the grid"));
}

void import_memory(importer *m) {
    double before_l2, slices;
    level1(m, &before_l2);
    constants_and_code(m);
    double latency = network_and_l2(m, before_l2, &slices);
    dram(m, latency);
    whole(m);
}
