// The cycle model behind L1: crossbar, L2, DRAM, as a kernel sees them. Each figure is worked out in the
// comment above it; what the parts do by themselves is in test_l2.c and test_dram.c.
//
// The bench's GPU: 1 GHz everywhere; two slices of 32 bytes a cycle (256 bytes to each in turn), two channels
// of 32 bytes a cycle, 1 KB rows. L2 has 1 MB.
#include "cycle.h"
#include "model/cycle/crew.h"
#include "model/cycle/engine.h"
#include "model/cycle/sm.h"

#include <math.h>

// ---- bandwidth -------------------------------------------------------------------------------------------
// `blocks` blocks of 8 warps read 64 lines each, all different, 8 a warp. Rates are taken between two sizes
// of the grid, so that the beginning and the end do not count.
static kern *reader(uint32_t blocks) {
    kern *k = kern_new(blocks, 256);
    for (int n = 0; n < 8; n++) more(k, "LDG R%d <- R2 @%d w1024", 10 + n, 128 * n);
    more(k, "FFMA R3 <- R10 R11 R12 R13 R14 R15 R16 R17\nEXIT");
    return k;
}

static uint64_t reading(orr_gpu *g, uint32_t blocks, uint64_t warmed) {
    kern *k = reader(blocks);
    ran x = {.g = g};
    if (warmed) warm(&x, 0, warmed);
    launch(&x, k, 2);
    uint64_t cycles = x.cycles;
    ran_free(&x);
    kern_free(k);
    return cycles;
}
// 64 blocks more: 4096 lines.
#define MORE_LINES(warmed, ...)                                                                              \
    (double)(reading(GPU(__VA_ARGS__), 128, warmed) - reading(GPU(__VA_ARGS__), 64, warmed))

static void check_near(double is, double should, double percent) {
    if (is < should * (1 - percent / 100) || is > should * (1 + percent / 100))
        fail_msg("%.4g is not within %g %% of %.4g", is, percent, should);
}

// From memory: 64 bytes a cycle, so a line takes 2 cycles. At 80 % efficiency 2.5.
static void test_dram_bandwidth(void **state) {
    (void)state;
    check_near(MORE_LINES(0, "dram.efficiency=100 %"), 4096 * 2, 2);
    check_near(MORE_LINES(0, "dram.efficiency=80 %"), 4096 * 2.5, 2);
}

// The GPUs that are described: what a stream reads in a time is dram.bandwidth (GB/s) times dram.efficiency.
// 8 blocks fill an SM; two more rounds of them. How fast the GPU sends out blocks is not what this is about,
// nor how evenly lines fall on channels; that refreshes close rows costs a stream that finds them open again
// 1 or 2 %.
static void test_stream_bandwidth(void **state) {
    (void)state;
    static const char *const names[] = {"h200", "v100"};
    for (int n = 0; n < 2; n++) {
        orr_gpu *g[2] = {gpu_named(names[n], "l2.hash=shuffle"), gpu_named(names[n], "l2.hash=shuffle")};
        g[0]->launch_block_interval = g[1]->launch_block_interval = 0;
        g[0]->launch_fill_interval = g[1]->launch_fill_interval = 0;
        double peak = g[0]->dram_bandwidth * g[0]->dram_efficiency / 100, clock = g[0]->clock_sm / 1000;
        uint32_t blocks = (uint32_t)g[0]->sm_count * 16;
        double cycles = (double)(reading(g[1], 2 * blocks, 0) - reading(g[0], blocks, 0));
        check_near(64 * 128.0 * blocks / (cycles / clock), peak, 4);
    }
}

// From L2 the same data, which the host has copied there: 64 bytes a cycle of two slices, so a line takes 2
// cycles. With 128 bytes a cycle 1, if two SMs ask (one issues 10 instructions for 8 lines).
static void test_l2_bandwidth(void **state) {
    (void)state;
    check_near(MORE_LINES(1 << 20, "l2.bandwidth=64"), 4096 * 2, 2);
    check_near(MORE_LINES(1 << 20, "l2.bandwidth=128", "sm.count=2"), 4096, 2);
    check_near(MORE_LINES(1 << 20, "l2.bandwidth=128"), 4096 * 1.25, 2);
}

// An SM's port: 32 bytes a cycle, and a line comes as 8 + 128 bytes: 4.25 cycles. Two SMs have two ports:
// half of it. Half the clock for crossbar and L2: twice the time of the SM.
static void test_port(void **state) {
    (void)state;
    check_near(MORE_LINES(1 << 20, "xbar.reply=32", "l2.bandwidth=1024"), 4096 * 4.25, 0.5);
    check_near(MORE_LINES(1 << 20, "xbar.reply=32", "l2.bandwidth=1024", "sm.count=2"), 4096 * 4.25 / 2, 2);
    check_near(MORE_LINES(1 << 20, "xbar.reply=32", "l2.bandwidth=1024", "clock.l2=500 MHz"), 4096 * 8.5,
               0.5);
}

// The port of a GPC: 4 SMs of 2 GPCs, 4.25 cycles of a port for each line, half of the lines through each. An
// SM that is alone in its GPC has all of it.
static void test_gpc_port(void **state) {
    (void)state;
    check_near(MORE_LINES(1 << 20, "xbar.reply=1024", "xbar.gpc_reply=32", "l2.bandwidth=1024", "sm.count=4",
                          "tpc.count=4", "gpc.count=2"),
               4096 * 4.25 / 2, 2);
    check_near(MORE_LINES(1 << 20, "xbar.reply=1024", "xbar.gpc_reply=32", "l2.bandwidth=1024", "sm.count=4",
                          "tpc.count=4", "gpc.count=4"),
               4096 * 4.25 / 4, 2);
}

// A load that misses keeps L1 for 3 cycles and one for its line: 4 cycles each, where all else is faster.
static void test_miss_first(void **state) {
    (void)state;
    check_near(
        MORE_LINES(1 << 20, "xbar.reply=1024", "l2.bandwidth=1024", "l1.miss_interval=1", "l1.miss_first=3"),
        4096 * 4, 2);
}

// A load of one line that is in L2 takes 200 cycles; with slices up to 20 cycles nearer and 20 further than
// that it is one or the other, by slice (256 bytes are in each in turn), and the same each time.
static uint64_t loading(const char *spread, int at) {
    kern *k = kern_new(1, 32);
    more(k, "LDG R1 <- R2 @%d\nFFMA R3 <- R1\nEXIT", at);
    ran x = {.g = GPU(spread)};
    warm(&x, 0, 1 << 16);
    launch(&x, k, 1);
    uint64_t cycles = x.cycles;
    ran_free(&x);
    kern_free(k);
    return cycles;
}

// The TPCs of a GPC, two SMs each: the second is 7 cycles further than the first, the third 15, the fourth as
// near as the first. A block on each of the first SMs: the last of three is on the second TPC, of five on the
// third.
static uint64_t of_tpcs(uint32_t sms, const char *further) {
    kern *k = kern_new(sms, 32);
    more(k, "LDG R1 <- R2 @0\nFFMA R3 <- R1\nEXIT");
    ran x = {.g = GPU("sm.count=32", "tpc.count=16", "gpc.count=2", "launch.order=tpc", further)};
    warm(&x, 0, 1 << 16);
    launch(&x, k, 1);
    uint64_t cycles = x.cycles;
    ran_free(&x);
    kern_free(k);
    return cycles;
}

static void test_tpc_further(void **state) {
    (void)state;
    assert_int_equal(of_tpcs(1, "l2.tpc_further=0, 7, 15 cycles"), of_tpcs(1, "l2.tpc_further="));
    assert_int_equal(of_tpcs(3, "l2.tpc_further=0, 7, 15 cycles"), of_tpcs(3, "l2.tpc_further=") + 7);
    assert_int_equal(of_tpcs(5, "l2.tpc_further=0, 7, 15 cycles"), of_tpcs(5, "l2.tpc_further=") + 15);
}

static void test_spread(void **state) {
    (void)state;
    bool differs = false;
    for (int slice = 0; slice < 2; slice++) {
        uint64_t is = loading("l2.spread=40", 256 * slice), was = loading("l2.spread=0", 256 * slice);
        assert_in_range(is, was - 20, was + 20);
        assert_int_equal(is, loading("l2.spread=40", 256 * slice + 128));
        differs |= is != was;
    }
    assert_true(differs);
}

// Stores leave by the other port: 8 + 128 bytes a line, 32 a cycle. 64 stores in a row, and 128; the kernel
// ends when the last has arrived.
static void test_store_port(void **state) {
    (void)state;
    uint64_t cycles[2];
    for (int n = 0; n < 2; n++) {
        kern *k = kern_new(1, 32);
        more(k, "block x%d\nSTG <- R2 R3 @0 i128\nblock\nEXIT", 64 << n);
        cycles[n] = cycles_of(GPU("xbar.request=32", "l2.bandwidth=1024"), k);
    }
    assert_int_equal(cycles[1] - cycles[0], 64 * 136 / 32);
    // And through the slices, whose ports are 32 bytes wide each: 4 cycles a line, two slices.
    for (int n = 0; n < 2; n++) {
        kern *k = kern_new(1, 32);
        more(k, "block x%d\nSTG <- R2 R3 @0 i128\nblock\nEXIT", 64 << n);
        cycles[n] = cycles_of(GPU(), k);
    }
    check_near((double)(cycles[1] - cycles[0]), 64 * 2, 2);
}

// What all slices take of stores together, 17 bytes a cycle: 8 cycles a line. 6 SMs of 12, three TPCs, store
// 64 lines each, and 128: 8 cycles for each of 6 x 64 lines more,
// and nobody waits for the turn of those that do not store: one SM, 64 lines more.
static uint64_t all_storing(uint32_t blocks, int stores) {
    kern *k = kern_new(blocks, 32);
    more(k, "block x%d\nSTG <- R2 R3 @0 i128\nblock\nEXIT", stores);
    return cycles_of(GPU("sm.count=12", "tpc.count=6", "gpc.count=2", "xbar.request=1024",
                         "xbar.store_bandwidth=17", "l2.bandwidth=4096", "launch.order=tpc"),
                     k);
}

static void test_all_stores(void **state) {
    (void)state;
    for (uint32_t blocks = 1; blocks <= 6; blocks += 5)
        check_near((double)(all_storing(blocks, 128) - all_storing(blocks, 64)), blocks * 64 * 8, 2);
}

// The turns by themselves, in front of one slice of two. An SM of the first GPC has three lines, one of the
// second one, all at time 0; the GPCs take turns, and the first turn is the first's: they pass after 0, 8
// (the second GPC's) and 16 cycles, and up to 20 cycles one is left. The next one of the first GPC would be
// behind that, 8 cycles after the 24 when the next can pass; of the second it would pass then.
static void test_store_turns(void **state) {
    (void)state;
    orr_err e = {0};
    orr_gpu *g = GPU("sm.count=12", "tpc.count=6", "gpc.count=3", "xbar.store_bandwidth=34");
    cycle *c = cyc_new(g, &e);
    assert_non_null(c);
    orr_request line = {.sectors = 15, .kind = ORR_REQ_WRITE, .bytes = {UINT64_MAX, UINT64_MAX}};
    for (uint32_t n = 0; n < 4; n++) {
        line.sm = n < 3 ? 0 : 4;
        *ORR_PUSH(&c->sms[line.sm].port.out) = line;
        c->sms[line.sm].port.has_stores = true;
    }
    store_network *port = cyc_store_network_new(c);
    crew *one = cyc_crew_new(1);
    request_list to[2] = {{0}};
    cyc_store_network_run(port, one, 20 * ORR_TICKS, to);
    assert_int_equal(to[0].n, 3);
    for (size_t n = 0; n < 3; n++) {
        assert_int_equal(to[0].at[n].time, 8 * n * ORR_TICKS);
        assert_int_equal(to[0].at[n].sm, n == 1 ? 4 : 0);
    }
    assert_int_equal(cyc_store_network_next(port), 24 * ORR_TICKS);
    assert_int_equal(c->net.gpc_free[c->sms[0].port.gpc], 32 * ORR_TICKS);
    assert_int_equal(c->net.gpc_free[c->sms[4].port.gpc], 24 * ORR_TICKS);
    // A load of the first GPC waits behind its store, one of the third does not.
    c->sms[0].port.out.n = c->sms[4].port.out.n = 0;
    for (uint32_t n = 0; n < 2; n++) {
        orr_request load = {.sectors = 1, .kind = ORR_REQ_READ, .sm = 8 * n, .time = 21 * ORR_TICKS};
        *ORR_PUSH(&c->sms[load.sm].port.out) = load;
    }
    cyc_store_network_run(port, one, 40 * ORR_TICKS, to);
    assert_int_equal(to[0].n, 5);
    assert_int_equal(to[0].at[3].time, 24 * ORR_TICKS);
    assert_int_equal(to[0].at[4].kind, ORR_REQ_READ);
    assert_int_equal(to[0].at[4].time, 32 * ORR_TICKS);
    assert_int_equal(c->sms[8].port.out.at[0].partition, 0);
    cyc_store_network_free(port);
    cyc_crew_free(one);
    free(to[0].at);
    cyc_free(c);
    orr_gpu_free(g);
}

// ---- rows ---------------------------------------------------------------------------------------
// One channel with one bank. A row that is open: no activation, 10 less than a load at rest; another row:
// 10 more, to close the first (it has been open for longer than tRAS and tRC by then).
static void test_rows(void **state) {
    (void)state;
    static const struct {
        const char *addr;
        uint64_t latency;
    } cases[] = {{"128", 390}, {"65536", 410}};
    for (int n = 0; n < 2; n++) {
        kern *k = kern_new(1, 32);
        more(k, "LDG R1 <- R2 @0 +0\nLDG R3 <- R1 @%s +0\nFFMA R4 <- R3\nEXIT", cases[n].addr);
        ran x = run_on(
            GPU("dram.banks=1", "dram.bank_groups=1", "dram.channels=1", "l2.slices=1", "dram.bandwidth=32"),
            k);
        assert_int_equal(x.cycles, 400 + cases[n].latency + 2);
        assert_int_equal(x.mem->row_hit, n == 0);
        ran_free(&x);
        kern_free(k);
    }
}

// Two streams of one bank in different rows, line by line in turn (two warps, 64 lines each, all asked for at
// once). First come, first served opens a row for every line: tRC = 30 cycles each at the least. First ready
// serves the 8 lines of an open row (32 cycles) before it opens another: 16 rows.
static void test_frfcfs(void **state) {
    (void)state;
    ran x[2];
    for (int n = 0; n < 2; n++) {
        kern *k = kern_new(1, 64);
        for (int i = 0; i < 64; i++) more(k, "LDG R%d <- R2 @%d v1048576", 10 + i, 128 * i);
        more(k, "EXIT");
        x[n] =
            run_on(GPU(n ? "dram.policy=fcfs" : "dram.policy=fr-fcfs", "dram.banks=1", "dram.bank_groups=1",
                       "dram.channels=1", "l2.slices=1", "dram.bandwidth=32", "dram.queue=128"),
                   k);
        assert_int_equal(x[n].mem->dram_read, 2 * 64 * 4);
        kern_free(k);
    }
    assert_true(x[1].cycles >= 128 * 30);
    assert_int_equal(x[1].mem->row_miss, 128);
    assert_true(x[0].mem->row_miss >= 16 && x[0].mem->row_miss <= 24);
    assert_true(x[0].cycles < 400 + 128 * 4 + 24 * 30 + 100);
    for (int n = 0; n < 2; n++) ran_free(&x[n]);
}

// ---- atomics -----------------------------------------------------------------------------------
static void test_atomics(void **state) {
    (void)state;
    // At L2, a lane a cycle: one lane 200 + 1, all 32 lanes on one word 200 + 32. Two lanes a cycle: 16.
    kern *k = kern_of(1, 32, "ATOMG R1 <- R2 @0 +0 m1\nFFMA R3 <- R1\nEXIT");
    assert_int_equal(cycles_warm(GPU(), k, 128), 201 + 2);
    k = kern_of(1, 32, "ATOMG R1 <- R2 @0 +0\nFFMA R3 <- R1\nEXIT");
    assert_int_equal(cycles_warm(GPU(), k, 128), 232 + 2);
    k = kern_of(1, 32, "ATOMG R1 <- R2 @0 +0\nFFMA R3 <- R1\nEXIT");
    assert_int_equal(cycles_warm(GPU("l2.atomic=2"), k, 128), 216 + 2);
    // A fence for the GPU after it, at 202, goes to L2 and back, 200, and takes 50 more; without that, 100.
    static const char fenced[] = "ATOMG R1 <- R2 @0 +0 m1\nFFMA R3 <- R1\nMEMBAR 2\nEXIT";
    assert_int_equal(
        cycles_warm(GPU("core.fence_gpu=100", "core.fence_store=50"), kern_of(1, 32, fenced), 128),
        202 + 250 + 1);
    assert_int_equal(
        cycles_warm(GPU("core.fence_gpu=100", "core.fence_store=0"), kern_of(1, 32, fenced), 128),
        202 + 100 + 1);
    // Where it asks the slice it is 85 cycles there, 85 back and 60 more.
    assert_int_equal(cycles_warm(GPU("core.fence_gpu=100", "core.fence_merge=31", "core.fence_probe=60"),
                                 kern_of(1, 32, fenced), 128),
                     202 + 230 + 1);
    // From memory: the sector has to come first.
    k = kern_of(1, 32, "ATOMG R1 <- R2 @0 +0\nFFMA R3 <- R1\nEXIT");
    assert_int_equal(cycles_of(GPU(), k), 432 + 2);
    // One address: one after the other, 32 cycles each, whichever SM they come from. 8 warps on 4 SMs,
    // and 16.
    uint64_t cycles[2];
    for (int n = 0; n < 2; n++)
        cycles[n] = cycles_warm(GPU("sm.count=4"), kern_of(8u << n, 32, "RED <- R2 R3 @0 +0\nEXIT"), 128);
    assert_int_equal(cycles[1] - cycles[0], 8 * 32);
    // Two addresses in two slices: side by side.
    for (int n = 0; n < 2; n++)
        cycles[n] =
            cycles_warm(GPU("sm.count=4"), kern_of(8u << n, 32, "RED <- R2 R3 @0 +0 w256\nEXIT"), 8192);
    assert_int_equal(cycles[1] - cycles[0], 4 * 32);
    // They are not in L1: what L1 had of the sector is old. LDG, ATOMG, LDG: the second load asks again.
    k = kern_of(1, 32, "LDG R1 <- R2 @0 +0\nATOMG R3 <- R1 @0 +0\nLDG R4 <- R3 @0 +0\nFFMA R5 <- R4\nEXIT");
    ran x = run_warm(GPU(), k, 128);
    assert_int_equal(x.mem->read[ORR_FROM_GLOBAL], 2);
    assert_int_equal(x.mem->atomics.n, 1);
    assert_int_equal(x.sm->l1.hits[0][ORR_L1_LOAD], 0);
    assert_int_equal(x.cycles, 200 + 232 + 200 + 2);
    ran_free(&x);
    kern_free(k);
    // Merged eight by eight, the lanes of an atomic are not counted four times.
    k = kern_of(1, 32, "ATOMG R1 <- R2 @0 +0\nFFMA R3 <- R1\nEXIT");
    assert_int_equal(cycles_warm(GPU("l1.coalesce=8"), k, 128), 232 + 2);
}

// Fences that ask (core.fence_probe) where the SM has been. Behind a load from L2, at 201: 170 there and
// back, and 60. Behind another fence nobody asks: 100. Four SMs at once: the slice takes 10 cycles for each,
// so the last is 30 late; with lines of two slices 10. Two warps of each of two SMs: the second warps go with
// the first, a cycle behind: 10 + 1. While the load is on its way, at 1: as long; from memory: until that has
// come.
static void test_fences_ask(void **state) {
    (void)state;
#define ASKS "core.fence_gpu=100", "core.fence_merge=31", "core.fence_probe=60", "l2.fence_interval=10"
    static const char looks[] = "LDG.CG R1 <- R2 @0 +0 m1\nFFMA R3 <- R1\nMEMBAR 2\nEXIT";
    static const char apart[] = "LDG.CG R1 <- R2 @0 +0 m1 w256\nFFMA R3 <- R1\nMEMBAR 2\nEXIT";
    static const char reads[] = "LDG R1 <- R2 @0 +0 m1\nFFMA R3 <- R1\nMEMBAR 2\nEXIT";
    static const char ahead[] = "LDG.CG R1 <- R2 @0 +0 m1\nMEMBAR 2\nFFMA R3 <- R1\nEXIT";
    static const char twice[] = "LDG.CG R1 <- R2 @0 +0 m1\nFFMA R3 <- R1\nMEMBAR 2\nMEMBAR 2\nEXIT";
    assert_int_equal(cycles_warm(GPU(ASKS), kern_of(1, 32, looks), 128), 201 + 230 + 1);
    assert_int_equal(cycles_warm(GPU(ASKS), kern_of(1, 32, reads), 128), 201 + 230 + 1);
    assert_int_equal(cycles_warm(GPU(ASKS), kern_of(1, 32, twice), 128), 201 + 230 + 100 + 1);
    assert_int_equal(cycles_warm(GPU(ASKS), kern_of(1, 32, ahead), 128), 1 + 230 + 2);
    assert_int_equal(cycles_of(GPU(ASKS), kern_of(1, 32, ahead)), 400 + 2);
    uint64_t one = cycles_warm(GPU("sm.count=4", ASKS), kern_of(1, 32, looks), 8192);
    uint64_t four = cycles_warm(GPU("sm.count=4", ASKS), kern_of(4, 32, looks), 8192);
    uint64_t two = cycles_warm(GPU("sm.count=4", ASKS), kern_of(4, 32, apart), 8192);
    uint64_t warps = cycles_warm(GPU("sm.count=2", ASKS), kern_of(2, 64, looks), 8192);
    assert_int_equal(one, 201 + 230 + 1);
    assert_int_equal(four, one + 30);
    assert_int_equal(two, one + 10);
    assert_int_equal(warps, one + 11);
#undef ASKS
}

// With l2.atomic_words lanes on one word are requests of their own: 32 sectors, of which a part is
// wanted, 1.25 cycles each. Four lanes on each of eight words: four requests for a whole sector, a cycle
// each. Lanes on different words of the line: one request, a cycle for each sector.
static void test_atomic_words(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t sectors, cycles; // cycles of the slice for one
    } cases[] = {{"RED <- R2 R3 @0 +0\nEXIT", 32, 40}, {"RED <- R2 R3 @0 +4\nEXIT", 4, 4}};
    for (size_t n = 0; n < 2; n++) {
        uint64_t cycles[2];
        for (int m = 0; m < 2; m++) {
            kern *k = kern_of(8u << m, 32, cases[n].text);
            ran x = run_warm(
                GPU("sm.count=4", "l2.atomic_words=yes", "l2.atomic_work=4, 5, 8", "xbar.request=4096"), k,
                128);
            assert_int_equal(x.mem->atomics.n, (8u << m) * cases[n].sectors);
            cycles[m] = x.cycles;
            ran_free(&x);
            kern_free(k);
        }
        assert_int_equal(cycles[1] - cycles[0], 8 * cases[n].cycles);
    }
}

// ---- L2 ----------------------------------------------------------------------------------------
// A store to part of a sector: its bytes are marked, nothing is read until somebody wants the rest; or it is
// fetched at once.
static void test_l2_stores(void **state) {
    (void)state;
    const char *word = "STG <- R2 R3 @0 m1\nEXIT",
               *and_load = "STG <- R2 R3 @0 m1\nMEMBAR 2\nLDG.CG R1 <- R2 @0 m1\nFFMA R3 <- R1\nEXIT";
    static const struct {
        const char *write;
        bool load;
        uint64_t read, fetched;
    } cases[] = {{"l2.write=validate", false, 0, 0},
                 {"l2.write=validate", true, 1, 1},
                 {"l2.write=fetch", false, 1, 1}};
    for (size_t n = 0; n < 3; n++) {
        kern *k = kern_of(1, 32, cases[n].load ? and_load : word);
        ran x = run_on(GPU(cases[n].write, "l1.write=evict"), k);
        assert_int_equal(x.mem->write[ORR_FROM_GLOBAL], 1);
        assert_int_equal(x.mem->dram_read, cases[n].read);
        assert_int_equal(x.mem->fetched_for_write, cases[n].fetched);
        assert_int_equal(x.mem->dram_write, 0); // it stays in L2
        ran_free(&x);
        kern_free(k);
    }
}

// Three lines are stored twice, through a port that takes 136 cycles for one. The first leaves at once and is
// sent again; the others wait, and the second time they are joined, if there is room for them to wait: 4
// lines of 4 sectors, else 6.
static void test_store_room(void **state) {
    (void)state;
    static const struct {
        const char *room;
        uint64_t sectors;
    } cases[] = {{"xbar.merge_lines=0", 16}, {"xbar.merge_lines=8", 16}, {"xbar.merge_lines=1", 24}};
    for (size_t n = 0; n < 3; n++) {
        kern *k = kern_of(1, 32,
                          "STG <- R2 R3 @0\nSTG <- R2 R3 @128\nSTG <- R2 R3 @256\n"
                          "STG <- R2 R3 @0\nSTG <- R2 R3 @128\nSTG <- R2 R3 @256\nEXIT");
        ran x = run_on(GPU("xbar.merge_stores=yes", "xbar.request=1", "xbar.queue=4096", cases[n].room), k);
        assert_int_equal(x.mem->write[ORR_FROM_GLOBAL], cases[n].sectors);
        ran_free(&x);
        kern_free(k);
    }
}

// Half a line, two sectors, is stored twice, 2 and 40 cycles apart. With xbar.merge_wait the first store
// waits 16 cycles for the second, but not when it is of the whole line.
static void test_store_open(void **state) {
    (void)state;
    static const struct {
        const char *open;
        int between; // instructions of 4 cycles
        const char *lanes;
        uint64_t sectors;
    } cases[] = {{"xbar.merge_wait=0", 0, "m65535", 4},       {"xbar.merge_wait=16", 0, "m65535", 2},
                 {"xbar.merge_wait=16", 10, "m65535", 4},     {"xbar.merge_wait=16", 0, "", 8},
                 {"xbar.merge_wait_line=16", 0, "m65535", 2}, // an instruction with one line
                 {"xbar.merge_wait_line=16", 10, "m65535", 4}};
    for (size_t n = 0; n < 6; n++) {
        kern *k = kern_new(1, 32);
        more(k, "STG <- R2 R3 @0 %s", cases[n].lanes);
        for (int i = 0; i < cases[n].between; i++) more(k, "FFMA R3 <- R3");
        more(k, "STG <- R2 R3 @0 %s\nEXIT", cases[n].lanes);
        ran x = run_on(GPU("xbar.merge_stores=yes", "xbar.merge_lines=8", cases[n].open), k);
        assert_int_equal(x.mem->write[ORR_FROM_GLOBAL], cases[n].sectors);
        ran_free(&x);
        kern_free(k);
    }
}

// Halves of three lines, two sectors each, are stored in turn, three times, and wait 100 cycles for others.
// With room for three they are joined; with room for two each makes the oldest leave, which is the one that
// is stored to next.
static void test_store_makes_way(void **state) {
    (void)state;
    static const struct {
        const char *room;
        uint64_t sectors;
    } cases[] = {{"xbar.merge_lines=3", 3 * 2}, {"xbar.merge_lines=2", 9 * 2}};
    for (size_t n = 0; n < 2; n++) {
        kern *k = kern_new(1, 32);
        for (int i = 0; i < 9; i++) more(k, "STG <- R2 R3 @%d m65535", i % 3 * 128);
        more(k, "EXIT");
        ran x = run_on(GPU("xbar.merge_stores=yes", "xbar.merge_wait=100", cases[n].room), k);
        assert_int_equal(x.mem->write[ORR_FROM_GLOBAL], cases[n].sectors);
        ran_free(&x);
        kern_free(k);
    }
}

// Besides its sectors a store takes xbar.store_header bytes of the port: a whole line and one of two sectors.
static void test_store_head(void **state) {
    (void)state;
    static const struct {
        const char *head;
        uint64_t bytes;
    } cases[] = {{"xbar.store_header=8", 136 + 72},
                 {"xbar.store_header=4", 132 + 68},
                 {"xbar.store_header=0", 128 + 64}};
    for (size_t n = 0; n < 3; n++) {
        kern *k = kern_of(1, 32, "STG <- R2 R3 @0\nSTG <- R2 R3 @256 m65535\nEXIT");
        ran x = run_on(GPU(cases[n].head), k);
        assert_int_equal(x.sm->port.sent_bytes, cases[n].bytes);
        ran_free(&x);
        kern_free(k);
    }
}

// Three words of three lines: with one such store on its way at most the second and the third wait for the
// one before, 200 cycles there and back, in xbar.merge_lines places in front of the port. With two places the
// load behind them does not wait, and the kernel lasts until the third is stored, as without a load; with one
// place the third waits in L1 until the first is done, and the load with it, which begins after 201 cycles
// and not after 3. Whole lines do not wait.
static uint64_t three_stores(const char *lanes, const char *parts, const char *places, bool load) {
    kern *k = kern_new(1, 32);
    for (int i = 0; i < 3; i++) more(k, "STG <- R2 R3 @%d %s", 256 * i, lanes);
    more(k, load ? "LDG R1 <- R2 @1024\nFFMA R3 <- R1\nEXIT" : "EXIT");
    ran x = run_on(GPU("xbar.merge_stores=yes", places, parts), k);
    uint64_t cycles = x.cycles;
    ran_free(&x);
    kern_free(k);
    return cycles;
}
static void test_store_parts(void **state) {
    (void)state;
    uint64_t words = three_stores("m1", "xbar.partial_stores=0", "xbar.merge_lines=8", true),
             last = three_stores("m1", "xbar.partial_stores=1", "xbar.merge_lines=2", false);
    assert_int_equal(three_stores("m1", "xbar.partial_stores=3", "xbar.merge_lines=8", true), words);
    assert_true(last > words);
    assert_int_equal(three_stores("m1", "xbar.partial_stores=1", "xbar.merge_lines=8", true), last);
    assert_int_equal(three_stores("m1", "xbar.partial_stores=1", "xbar.merge_lines=2", true), last);
    assert_int_equal(three_stores("m1", "xbar.partial_stores=1", "xbar.merge_lines=1", true),
                     words + 201 - 3);
    assert_int_equal(three_stores("", "xbar.partial_stores=1", "xbar.merge_lines=8", true),
                     three_stores("", "xbar.partial_stores=0", "xbar.merge_lines=8", true));
}

// Words of lines A, B, C, B, C, and of all of C: one is on its way, what waits is joined, line by line,
// whatever of the line it is; so A, one sector of B and four of C reach L2. Where any number may be on their
// way nothing waits, and all six do. A fence waits for those that wait, too.
static void test_store_joins_waiting(void **state) {
    (void)state;
    static const struct {
        const char *parts;
        uint64_t sectors;
    } cases[] = {{"xbar.partial_stores=1", 1 + 1 + 4}, {"xbar.partial_stores=6", 5 + 4}};
    uint64_t fenced[2];
    for (size_t n = 0; n < 2; n++)
        for (int fence = 0; fence < 2; fence++) {
            kern *k = kern_of(1, 32,
                              "STG <- R2 R3 @0 m1\nSTG <- R2 R3 @256 m1\nSTG <- R2 R3 @512 m1\n"
                              "STG <- R2 R3 @256 m2\nSTG <- R2 R3 @512 m2\nSTG <- R2 R3 @512");
            more(k, fence ? "MEMBAR.SC.GPU\nEXIT" : "EXIT");
            ran x = run_on(GPU("xbar.merge_stores=yes", "xbar.merge_lines=8", cases[n].parts), k);
            assert_int_equal(x.mem->write[ORR_FROM_GLOBAL], cases[n].sectors);
            fenced[n] = x.cycles;
            ran_free(&x);
            kern_free(k);
        }
    assert_true(fenced[0] >= fenced[1] + 2 * 150);
}

// What L2 sees besides accesses: 2 GPCs read 88 sectors and 8 for the 256 bytes that hold the kernel's three
// instructions; 564 of barriers for the launch, and one from the SM to the slice that it asked for 4 sectors.
// Nothing, where that is not described.
static void test_l2_unasked(void **state) {
    (void)state;
    static const struct {
        const char *code, *barriers;
        double read, all;
    } cases[] = {{"launch.code=88", "launch.barriers=564", 4 + 2 * 96, 4 + 2 * 96 + 564 + 1},
                 {"launch.code=0", "launch.barriers=0", 4, 4}};
    for (size_t n = 0; n < 2; n++) {
        kern *k = kern_of(1, 32, "LDG R1 <- R2 @0\nFFMA R3 <- R1\nEXIT");
        ran x = run_on(GPU("gpc.count=2", cases[n].code, cases[n].barriers), k);
        double c[ORR_COUNTERS];
        orr_cycle_counters(x.g, &x.r.launches.at[x.r.launches.n - 1], c);
        assert_int_equal((long)c[ORR_C_L2_READ], (long)cases[n].read);
        assert_int_equal((long)c[ORR_C_L2_SECTORS], (long)cases[n].all);
        assert_int_equal((long)c[ORR_C_L2_TEX_READ], 4);
        // One line is one lookup of one slice; what nobody asked for is on all of them: 192 sectors of code
        // are 48 lookups, and 565 barriers.
        double others = n ? 0 : (48 + 565) / (double)x.g->l2_slices;
        assert_true(fabs(c[ORR_C_L2_FULLEST] - 1 - others) < 1e-9 &&
                    fabs(c[ORR_C_L2_EMPTIEST] - others) < 1e-9);
        ran_free(&x);
        kern_free(k);
    }
}

// 2 MB are written through an L2 of 1 MB: what does not fit is written to memory, line by line, oldest first.
static void test_l2_written_back(void **state) {
    (void)state;
    kern *k =
        kern_of(64, 256, "block x32\nSTG <- R2 R3 @0 w4096 i128\nblock\nEXIT"); // 64 x 8 warps x 32 lines
    ran x = run_on(GPU("l2.hashed=no", "sm.count=2"), k);
    assert_int_equal(x.mem->write[ORR_FROM_GLOBAL], 65536);
    assert_int_equal(x.mem->written_back, 32768);
    assert_int_equal(x.mem->evicted, 8192);
    assert_int_equal(x.mem->dram_write, 32768);
    assert_int_equal(x.mem->dram_read, 0);
    ran_free(&x);
    kern_free(k);
}

// Sectors of stores that L2 had already: all of those to a line that was copied there, none of others.
static void test_l2_store_hits(void **state) {
    (void)state;
    kern *k = kern_of(1, 32, "STG <- R2 R3 @0\nSTG <- R2 R3 @4096\nEXIT");
    ran x = run_warm(GPU(), k, 128);
    assert_int_equal(x.mem->write[ORR_FROM_GLOBAL], 8);
    assert_int_equal(x.mem->write_present[ORR_FROM_GLOBAL], 4);
    ran_free(&x);
    kern_free(k);
}

// ---- from launch to launch ----------------------------------------------------------------------
// A second launch of the same loads: L2 has kept them (L1 is emptied: 200), or has not (l2.flush: 400),
// or even L1 has (30). A copy of other data does not help.
static void test_launches(void **state) {
    (void)state;
    static const struct {
        const char *set;
        uint64_t second;
    } cases[] = {{"l2.flush=no", 200}, {"l2.flush=yes", 400}, {"l1.flush=no", 30}};
    for (int n = 0; n < 3; n++) {
        kern *k = kern_of(1, 32, "LDG R1 <- R2 @0 +0\nFFMA R3 <- R1\nEXIT");
        ran x = {.g = GPU(cases[n].set)};
        for (int launches = 0; launches < 3; launches++) {
            launch(&x, k, 1 + launches);
            assert_int_equal(x.cycles, (launches ? cases[n].second : 400) + 2);
            assert_int_equal(x.sm->l1.loads, 1); // counted from 0 each time
        }
        ran_free(&x);
        kern_free(k);
    }
    assert_int_equal(cycles_warm(GPU(), kern_of(1, 32, "LDG R1 <- R2 @4096 +0\nFFMA R3 <- R1\nEXIT"), 4096),
                     402);
    // More than L2 holds is copied: the end of it is there.
    assert_int_equal(cycles_warm(GPU(), kern_of(1, 32, "LDG R1 <- R2 @0 +0\nFFMA R3 <- R1\nEXIT"), 4 << 20),
                     402);
    assert_int_equal(
        cycles_warm(GPU(), kern_of(1, 32, "LDG R1 <- R2 @4194176 +0\nFFMA R3 <- R1\nEXIT"), 4 << 20), 202);
}

// A stream is of one order of events, and who looks in it at a word that others store to has found what it
// found: nobody waits. Block 1 looks at a word in L2, 200 cycles away; block 0 stores to it when it has had
// an answer from memory, at 501, and is heard of 200 cycles later. Whatever the stream says that the look
// came after, and whichever block is first.
static uint64_t replayed(int store, int load, const char *where, const char *seen, int threads) {
    kern *k = kern_new(2, 32);
    more(k, "block tb %d\nLDG R1 <- R2 @1048576 +0\nSTG.STRONG <- R3 R1 @%s +0 m1\n", store, where);
    more(k, "block tb %d\nLDG.STRONG R4 <- R5 @0 +0 m1 %s\nFFMA R6 <- R4\nblock\nEXIT", load, seen);
    ran x = {.g = GPU("sm.count=2", "dram.latency=500")};
    warm(&x, 0, 4096);
    launch(&x, k, threads);
    uint64_t cycles = x.cycles;
    ran_free(&x);
    kern_free(k);
    return cycles;
}

static void test_streams_wait_for_nobody(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        assert_in_range(replayed(0, 1, "0", "", threads), 700, 702);
        assert_in_range(replayed(1, 0, "0", "", threads), 700, 702);
        assert_in_range(replayed(0, 1, "512", "", threads), 700, 702);
        assert_in_range(replayed(0, 1, "0", "k1", threads), 700, 702);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dram_bandwidth),  cmocka_unit_test(test_stream_bandwidth),
        cmocka_unit_test(test_l2_bandwidth),    cmocka_unit_test(test_port),
        cmocka_unit_test(test_gpc_port),        cmocka_unit_test(test_miss_first),
        cmocka_unit_test(test_tpc_further),     cmocka_unit_test(test_spread),
        cmocka_unit_test(test_store_port),      cmocka_unit_test(test_all_stores),
        cmocka_unit_test(test_store_turns),     cmocka_unit_test(test_rows),
        cmocka_unit_test(test_frfcfs),          cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_atomic_words),    cmocka_unit_test(test_fences_ask),
        cmocka_unit_test(test_l2_stores),       cmocka_unit_test(test_store_room),
        cmocka_unit_test(test_l2_unasked),      cmocka_unit_test(test_store_open),
        cmocka_unit_test(test_store_makes_way), cmocka_unit_test(test_store_head),
        cmocka_unit_test(test_store_parts),     cmocka_unit_test(test_store_joins_waiting),
        cmocka_unit_test(test_l2_written_back), cmocka_unit_test(test_l2_store_hits),
        cmocka_unit_test(test_launches),        cmocka_unit_test(test_streams_wait_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
