// L2 and DRAM together, as the SMs see them: latencies, merging, write policies, evictions and
// limits worked out by hand on the small machine of mem_rig.h (a hit is answered at once, a miss after 200
// cycles, a sector passes a port in one cycle), and that answers do not depend on how time is cut.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "l2_rig.h"

#include <stdio.h>

static void hits(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_memsys_copy(b->m, 0, 1024);
    orr_request r[] = {
        reading(10, 0, 1),                     // at once
        reading(20, 0, 15),                    // the last of four sectors leaves three cycles after the first
        reading(20, 1, 15),                    // waits for them
        reading(40, 2, 1),  reading(40, 3, 8), // one lookup a cycle
        reading(40, 4, 4),
    };
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 10);
    ANSWERED(b, 1, 23);
    ANSWERED(b, 2, 27);
    ANSWERED(b, 3, 40);
    ANSWERED(b, 4, 41);
    ANSWERED(b, 5, 42);
    assert_int_equal(b->s.read[ORR_FROM_GLOBAL], 12);
    assert_int_equal(b->s.read_hit[ORR_FROM_GLOBAL], 12);
    assert_int_equal(b->s.requests, 6);
    assert_int_equal(b->s.dram_read, 0);
    assert_int_equal(b->s.slice_busy, CYCLES(12));
    assert_int_equal(b->s.last, CYCLES(42));
    for (size_t i = 0; i < b->out.n; i++) assert_true(b->out.at[i].hit);
    bench_free(b);
}

// Handed over in any order: served by time, and those of one tick as they come, whatever their SM.
static void order(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_memsys_copy(b->m, 0, 1024);
    orr_request r[] = {reading(30, 0, 1), reading(20, 0, 1), reading(20, 1, 1), reading(10, 0, 1),
                       reading(20, 2, 1), reading(30, 0, 1), reading(31, 0, 1)};
    for (uint32_t i = 0; i < COUNT(r); i++) r[i].sm = 100 - i;
    go(b, r, COUNT(r));
    static const uint32_t served[] = {3, 1, 2, 4, 0, 5, 6}, at[] = {10, 20, 21, 22, 30, 31, 32};
    for (uint32_t i = 0; i < COUNT(r); i++) {
        assert_int_equal(b->out.at[i].token, served[i]);
        assert_int_equal(b->out.at[i].time, CYCLES(at[i]));
        assert_int_equal(b->out.at[i].sm, 100 - served[i]);
    }
    bench_free(b);
}

// 100 single sectors at once are worked off in 100 cycles, and a slice that is stuck is not free before it
// goes on.
static void behind(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_memsys_copy(b->m, 0, 1024);
    orr_request r[100];
    for (int i = 0; i < 100; i++) r[i] = reading(50, 0, 1);
    orr_memsys_run(b->m, 0, r, 100, CYCLES(60), &b->out); // ten are done
    assert_int_equal(orr_memsys_free_at(b->m, 0), CYCLES(150));
    assert_int_equal(orr_memsys_next(b->m, 0), CYCLES(60));
    bench_free(b);
    const char *sets[] = {"l2.mshrs=1", NULL};
    b = bench_of(sets);
    r[0] = reading(0, 0, 1);
    r[1] = reading(0, 1, 1);
    orr_memsys_run(b->m, 0, r, 2, CYCLES(90), &b->out);
    assert_true(orr_memsys_free_at(b->m, 0) >= CYCLES(90));
    bench_free(b);
}

// A slice of 64 bytes a cycle looks up a line a cycle all the same.
static void wide_port(void **state) {
    (void)state;
    const char *sets[] = {"l2.bandwidth=64", NULL};
    bench *b = bench_of(sets);
    orr_memsys_copy(b->m, 0, 1024);
    orr_request r[] = {reading(10, 0, 1), reading(10, 1, 1), reading(20, 0, 15), reading(20, 1, 15)};
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 10);
    ANSWERED(b, 1, 11);
    assert_int_equal(ticks_of(b, 2), CYCLES(20) + 3 * ORR_TICKS / 2);
    assert_int_equal(ticks_of(b, 3), CYCLES(22) + 3 * ORR_TICKS / 2);
    bench_free(b);
}

static void misses(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_request r[] = {
        reading(0, 0, 1),      // dram.latency - l2.latency
        reading(1000, 0, 1),   // here now
        reading(2000, 40, 15), // the last sector comes 3 x tCCDL later, and leaves 3 cycles later
    };
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 200);
    ANSWERED(b, 1, 1000);
    ANSWERED(b, 2, 2200 + 12 + 3);
    assert_int_equal(b->s.dram_read, 5);
    assert_int_equal(b->s.read_hit[0], 1);
    assert_false(b->out.at[0].hit);
    assert_true(b->out.at[1].hit);
    bench_free(b);
}

// Loads of a sector that is on its way wait for it; it is fetched once.
static void merging(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_request r[] = {
        reading(0, 0, 1),   reading(50, 0, 1),  reading(60, 0, 3), // sector 1 is not on its way
        reading(199, 0, 1), reading(201, 0, 1),                    // the first is here at 200
    };
    for (size_t i = 0; i < COUNT(r); i++) r[i].from = ORR_FROM_LOCAL;
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 200);
    ANSWERED(b, 1, 201); // one after the other through the port
    ANSWERED(b, 3, 202);
    ANSWERED(b, 4, 203);
    ANSWERED(b, 2, 60 + 200 - 12 + 1); // the row was open: tRCD less; two sectors through the port
    assert_int_equal(b->s.dram_read, 2);
    assert_int_equal(b->s.read[ORR_FROM_LOCAL], 6);
    assert_int_equal(b->s.read_hit[ORR_FROM_LOCAL], 1);
    assert_int_equal(b->s.read_pending[ORR_FROM_LOCAL], 3);
    bench_free(b);
}

// One line on its way at most: the next miss starts when the first has come, and hits wait behind it.
static void miss_limit(void **state) {
    (void)state;
    const char *sets[] = {"l2.mshrs=1", NULL};
    bench *b = bench_of(sets);
    orr_memsys_copy(b->m, 64 * 128, 128);
    orr_request r[] = {
        reading(0, 0, 1),
        reading(1, 0, 2), // the same line
        reading(2, 10, 1),
        reading(3, 64, 1),
    };
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 200);
    ANSWERED(b, 1, 204); // tCCDL behind it
    ANSWERED(b, 2, 404);
    ANSWERED(b, 3, 205);
    assert_int_equal(b->s.failed[0][ORR_FAIL_MSHR], 204 - 2); // the third, from when it came
    bench_free(b);
    sets[0] = "l2.mshrs=2";
    b = bench_of(sets);
    orr_memsys_copy(b->m, 64 * 128, 128);
    go(b, r, COUNT(r));
    ANSWERED(b, 2,
             2 + 200 + 4); // activations are tRRD, 6, apart, and those of lines 0 and 10 would have been 2
    ANSWERED(b, 3, 3);
    bench_free(b);
}

// Two requests at most wait for a sector (l2.mshr_merges): the third blocks the slice until the sector has
// come, so that a miss of another line behind it starts only then. A sector beside it has its own two.
static void merge_limit(void **state) {
    (void)state;
    const char *sets[] = {"l2.mshr_merges=2", NULL};
    bench *b = bench_of(sets);
    orr_request r[] = {
        reading(0, 0, 1),   reading(1, 0, 1), reading(2, 0, 2), reading(10, 0, 1), // the third of sector 0
        reading(11, 40, 1),
    };
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 200);
    ANSWERED(b, 1, 201);
    ANSWERED(b, 3, 202);       // it is a hit by then
    ANSWERED(b, 4, 201 + 200); // and the port looks up this one
    assert_int_equal(b->s.failed[0][ORR_FAIL_MERGE], 200 - 10);
    assert_int_equal(b->s.failed[0][ORR_FAIL_MSHR], 0);
    assert_int_equal(b->s.read_pending[ORR_FROM_GLOBAL], 1);
    assert_int_equal(b->s.read_hit[ORR_FROM_GLOBAL], 1);
    bench_free(b);
    sets[0] = "l2.mshr_merges=3";
    b = bench_of(sets);
    go(b, r, COUNT(r));
    assert_true(ticks_of(b, 4) < CYCLES(11 + 200 + 10)); // as if nobody were in front
    assert_int_equal(b->s.failed[0][ORR_FAIL_MERGE], 0);
    assert_int_equal(b->s.read_pending[ORR_FROM_GLOBAL], 2);
    bench_free(b);
}

// l2.write = validate: nothing is read for a store, and a sector that was stored to in part is read when it
// is needed.
static void validate(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_request r[] = {
        storing(0, 0, 0, 128),                                                // whole: four sectors
        storing(10, 1, 0, 8),  storing(20, 2, 0, 16), storing(30, 2, 16, 32), // in part; in two parts
        reading(100, 0, 15),   reading(200, 2, 1),                            // both are whole
        reading(300, 1, 1),                                                   // this is not
        reading(1000, 1, 1),
    };
    go(b, r, COUNT(r));
    ANSWERED(b, 4, 103);
    ANSWERED(b, 5, 200);
    ANSWERED(b, 6, 500);
    ANSWERED(b, 7, 1000);
    assert_int_equal(b->s.dram_read, 1);
    assert_int_equal(b->s.fetched_for_write, 1);
    assert_int_equal(b->s.write[0], 7);
    assert_int_equal(b->s.write_hit[0], 7);
    assert_int_equal(b->s.dram_write, 0);
    bench_free(b);
}

// l2.write = fetch: the part of a sector brings the rest of it in at once.
static void fetch(void **state) {
    (void)state;
    const char *sets[] = {"l2.write=fetch", NULL};
    bench *b = bench_of(sets);
    orr_request r[] = {
        storing(0, 0, 0, 128), storing(10, 1, 0, 8), storing(20, 2, 0, 16), storing(30, 2, 16, 32),
        reading(1000, 0, 15),  reading(1100, 2, 1),  reading(1200, 1, 1),
    };
    go(b, r, COUNT(r));
    ANSWERED(b, 4, 1003);
    ANSWERED(b, 5, 1100);
    ANSWERED(b, 6, 1200);
    assert_int_equal(b->s.dram_read, 2);
    assert_int_equal(b->s.fetched_for_write, 2);
    assert_int_equal(b->s.write[0], 7);
    assert_int_equal(b->s.write_hit[0], 5);
    bench_free(b);
}

// 16 lines of one set; 5 more push out the oldest 5, dirty or not.
static void evictions(void **state) {
    (void)state;
    const char *sets[] = {"l2.size=2 KB", NULL};
    bench *b = bench_of(sets);
    orr_request r[64];
    size_t n = 0;
    for (uint64_t i = 0; i < 21; i++) r[n++] = storing(10 * i, i, 0, 128);
    go(b, r, n);
    assert_int_equal(b->s.evicted, 5);
    assert_int_equal(b->s.written_back, 20);
    assert_int_equal(b->s.dram_write, 20);
    assert_int_equal(b->s.dram_read, 0);
    n = 0;
    orr_memsys_restart(b->m);
    for (uint64_t i = 0; i < 16; i++) r[n++] = reading(10000 + 1000 * i, 100 + i, 1); // 16 dirty lines leave
    r[n++] = storing(40000, 200, 4, 12); // a clean one, for a part of a sector
    for (uint64_t i = 0; i < 16; i++)
        r[n++] = reading(50000 + 1000 * i, 300 + i, 1); // 15 clean ones, and the part
    go(b, r, n);
    assert_int_equal(b->s.evicted, 33);
    assert_int_equal(b->s.written_back, 65);
    assert_int_equal(b->s.dram_write, 65);
    assert_int_equal(b->s.dram_read, 32);
    assert_int_equal(b->s.fetched_for_write, 0);
    bench_free(b);
}

// Stores without end go as fast as DRAM takes what they push out: 8 cycles a line.
static void store_stream(void **state) {
    (void)state;
    const char *sets[] = {"l2.size=32 KB", NULL};
    bench *b = bench_of(sets);
    uint32_t n = 20000;
    orr_request *r = calloc(n, sizeof *r);
    for (uint32_t i = 0; i < n; i++) r[i] = storing(4 * i, i, 0, 128);
    go(b, r, n);
    double each = (double)b->s.last / ORR_TICKS / n;
    if (each < 8 * 0.97 || each > 8 * 1.03) fail_msg("%g cycles a line", each);
    assert_int_equal(b->s.dram_write, 4 * (n - 256));
    free(r);
    bench_free(b);
}

// Sectors of 64 or 128 bytes come together.
static void larger_sectors(void **state) {
    (void)state;
    static const char *const size[] = {"l2.sector=32", "l2.sector=64", "l2.sector=128"};
    static const uint64_t reads[] = {2, 4, 4};
    for (int k = 0; k < 3; k++) {
        const char *sets[] = {size[k], NULL};
        bench *b = bench_of(sets);
        orr_request r[] = {reading(0, 0, 1), reading(1000, 0, 8), reading(2000, 0, 15)};
        go(b, r, 2);
        assert_int_equal(b->s.dram_read, reads[k]);
        assert_int_equal(b->s.read[0], 2);
        assert_int_equal(b->s.read_hit[0], k == 2);
        bench_free(b);
    }
}

// ---- clocks ---------------------------------------------------------------------------------------

// SMs at twice the clock of L2 and a quarter of DRAM's: L2's cycle is two of theirs, tRCD + tCL + a sector of
// 32 B at 16 GB/s are 24 x 0.25 + 2 of them, but the latency of a miss is what the description says all the
// same.
static void clocks(void **state) {
    (void)state;
    const char *sets[] = {"clock.sm=1000", "clock.l2=500", "clock.dram=4000", NULL};
    bench *b = bench_of(sets);
    orr_memsys_copy(b->m, 4096, 256);
    orr_request r[] = {reading(0, 0, 1), reading(300, 32, 15), reading(300, 33, 1), reading(310, 1, 1)};
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 200);
    ANSWERED(b, 1, 306);
    ANSWERED(b, 2, 308);
    ANSWERED(b, 3, 510 - 3); // open row
    bench_free(b);
}

// ---- host copies, flushing, starting again ----------------------------------------------------------

static void copies(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_memsys_copy(b->m, 128 * 10 + 40, 120); // bytes 40 to 159: sectors 1 to 3 of line 10, and 0 of line 11
    orr_request r[] = {reading(0, 10, 14), reading(1000, 11, 1), reading(2000, 10, 1), reading(3000, 11, 2)};
    go(b, r, COUNT(r));
    assert_int_equal(b->s.read_hit[0], 4);
    assert_int_equal(b->s.dram_read, 2);

    orr_memsys_restart(b->m);
    orr_memsys_stats_sum(b->m, &b->s);
    assert_int_equal(b->s.requests + b->s.dram_read + b->s.last, 0);
    go(b, r, COUNT(r)); // all of it is still here
    assert_int_equal(b->s.read_hit[0], 6);
    ANSWERED(b, 3, 3000);

    orr_memsys_flush(b->m);
    orr_memsys_restart(b->m);
    go(b, r, COUNT(r));
    assert_int_equal(b->s.read_hit[0], 0);

    orr_memsys_flush(b->m);
    orr_memsys_restart(b->m);
    orr_memsys_copy(b->m, 0, 1ull << 40); // of a terabyte the last 128 KB are here
    uint64_t end = (1ull << 40) / 128;
    orr_request t[] = {reading(0, end - 1, 15), reading(1000, end - 1024, 15), reading(2000, end - 1025, 1),
                       reading(3000, end, 1)};
    go(b, t, COUNT(t));
    assert_int_equal(b->s.read_hit[0], 8);
    orr_memsys_copy(b->m, UINT64_MAX - 10, 100); // does not wrap
    orr_memsys_copy(b->m, 0, 0);
    bench_free(b);
}

// What is under way when time starts again has come; what was dirty stays so.
static void restart(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    orr_request r[] = {reading(0, 0, 1), storing(1, 1, 0, 32)};
    orr_memsys_run(b->m, 0, r, 2, CYCLES(50), &b->out);
    assert_int_equal(b->out.n, 0);
    assert_true(orr_memsys_next(b->m, 0) != UINT64_MAX);
    orr_memsys_restart(b->m);
    assert_true(orr_memsys_next(b->m, 0) == UINT64_MAX);
    go(b, r, 1);
    ANSWERED(b, 0, 0);
    bench_free(b);
}

// ---- whole machines ---------------------------------------------------------------------------------

// Slices and channels of a bundled GPU: lines reach a partition that exists, the sides of L2 halve them, and
// a stream touches all partitions evenly.
#define EVEN "l2.hash=shuffle"
static void partitions(void **state) {
    (void)state;
    static const struct {
        const char *name, *set[5];
        int parts, sides;
    } t[] = {
        {"h200", {EVEN, NULL}, 47, 2}, // a slice of each half
        {"h200", {EVEN, "l2.replicate=no", NULL}, 94, 2},
        {"v100", {NULL}, 32, 1},
        {"gtx480", {NULL}, 6, 1},
        {"h200",
         {EVEN, "dram.channels=96", "l2.slices=12", "l2.replicate=no", NULL},
         12,
         2},                                        // several channels a slice
        {"b200", {NULL}, 16, 2},                    // 160 slices and 128 channels: 5 and 4 of each half
        {"gtx480", {"l2.slices=9", NULL}, 3, 1},    // 3 and 2
        {"gtx480", {"l2.slices=2003", NULL}, 6, 1}, // a prime number: 334 slices, or 333
    };
    for (size_t k = 0; k < COUNT(t); k++) {
        bench *b = bench_on(machine_of(t[k].name, t[k].set));
        assert_int_equal(orr_memsys_partitions(b->m), t[k].parts);
        uint32_t slices = (uint32_t)b->g->l2_slices, channels = (uint32_t)b->g->dram_channels;
        uint32_t lines = 2 * slices * channels, parts = (uint32_t)t[k].parts;
        uint32_t *count = calloc((size_t)t[k].parts, sizeof *count), side[2] = {0, 0};
        for (uint64_t line = 0; line < lines; line++) {
            int p = orr_memsys_partition_of(b->m, line), s = orr_memsys_side_of(b->m, line);
            assert_in_range(p, 0, t[k].parts - 1);
            assert_in_range(s, 0, t[k].sides - 1);
            if (!b->g->l2_replicate) assert_int_equal(s, p * t[k].sides / t[k].parts);
            count[p]++;
            side[s]++;
        }
        if (t[k].sides == 2) assert_int_equal(side[0], side[1]);
        for (uint32_t p = 0; p < parts && slices % parts == 0 && channels % parts == 0; p++)
            assert_int_equal(count[p], lines / parts);
        free(count);
        bench_free(b);
    }
}

static void refused(void **state) {
    (void)state;
    const char *sets[] = {"l2.size=1 KB", "l2.slices=16", NULL};
    orr_gpu *g = small_one(sets);
    orr_err e = {0};
    assert_null(orr_memsys_new(g, &e));
    assert_int_equal(e.status, ORR_BAD_INPUT);
    orr_gpu_free(g);
}

// ---- the same answers however time is cut -------------------------------------------------------------

static uint64_t seed;
static uint32_t random_below(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((seed >> 33) % n);
}

static int by_sending(const void *a, const void *b) { // by SM, then as sent: `token` counts the sending
    const orr_request *x = a, *y = b;
    if (x->sm != y->sm) return x->sm < y->sm ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

enum { TRAFFIC = 6000 };
// Sent by 12 SMs, up to 100 cycles ahead, as when the network has latency; no two at the same tick, whose
// order would be that in which they are handed over.
static void make_traffic(orr_request *r, uint64_t *sent) {
    for (uint32_t i = 0; i < TRAFFIC; i++) {
        uint32_t kind = random_below(10);
        sent[i] = i / 3 * ORR_TICKS;
        r[i] = (orr_request){.time = sent[i] + CYCLES(random_below(100)) + i % ORR_TICKS,
                             .line = random_below(3000),
                             .sm = random_below(12),
                             .token = i,
                             .sectors = (uint8_t)(1 + random_below(15)),
                             .from = (uint8_t)random_below(ORR_FROMS),
                             .ops = (uint8_t)(1 + random_below(8)),
                             .kind = kind < 6   ? ORR_REQ_READ
                                     : kind < 8 ? ORR_REQ_WRITE
                                     : kind < 9 ? ORR_REQ_ATOMIC
                                                : ORR_REQ_REDUCE};
        for (int k = 0; r[i].kind == ORR_REQ_WRITE && k < 4; k++)
            if (r[i].sectors >> k & 1)
                r[i].bytes[k / 2] |= (random_below(2) ? 0xffffffffull : 0xff00ull) << k % 2 * 32;
    }
}

// Cut into windows of `window` ticks: requests are handed over in the window in which they are sent.
static void run_cut(const orr_gpu *g, const orr_request *r, const uint64_t *sent, uint64_t window,
                    orr_replies *out, orr_memsys_stats *stats) {
    orr_memsys *m = system_of(g);
    int parts = orr_memsys_partitions(m);
    orr_request *now = calloc(TRAFFIC, sizeof *now);
    for (int p = 0; p < parts; p++) {
        uint32_t next = 0;
        uint64_t until = 0;
        do {
            uint64_t before = until;
            until = window > UINT64_MAX - until ? UINT64_MAX : until + window;
            size_t n = 0, had = out->n;
            for (; next < TRAFFIC && sent[next] < until; next++)
                if (orr_memsys_partition_of(m, r[next].line) == p) now[n++] = r[next];
            qsort(now, n, sizeof *now, by_sending);
            orr_memsys_run(m, p, now, n, until, out);
            for (size_t i = had; i < out->n; i++) assert_true(out->at[i].time >= before);
            assert_true(orr_memsys_next(m, p) >= until);
        } while (next < TRAFFIC || orr_memsys_next(m, p) != UINT64_MAX);
    }
    orr_memsys_stats_sum(m, stats);
    orr_memsys_free(m);
    free(now);
}

// A machine, whole and cut into windows of that many ticks.
static void same_answers(const orr_gpu *g, const uint64_t *windows, size_t n_windows) {
    orr_request *r = calloc(TRAFFIC, sizeof *r);
    uint64_t *sent = calloc(TRAFFIC, sizeof *sent);
    orr_replies whole = {0};
    orr_memsys_stats whole_stats;
    make_traffic(r, sent);
    run_cut(g, r, sent, UINT64_MAX, &whole, &whole_stats);
    size_t asked = 0;
    for (uint32_t i = 0; i < TRAFFIC; i++) asked += r[i].kind == ORR_REQ_READ || r[i].kind == ORR_REQ_ATOMIC;
    assert_int_equal(whole.n, asked);
    assert_int_equal(whole_stats.requests, TRAFFIC);
    assert_true(whole_stats.written_back == whole_stats.dram_write);
    for (size_t i = 0; i < whole.n; i++) assert_true(whole.at[i].time >= r[whole.at[i].token].time);
    for (size_t w = 0; w < n_windows; w++) {
        orr_replies cut = {0};
        orr_memsys_stats cut_stats;
        run_cut(g, r, sent, windows[w], &cut, &cut_stats);
        assert_int_equal(cut.n, whole.n);
        for (size_t i = 0; i < cut.n; i++) {
            assert_int_equal(cut.at[i].time, whole.at[i].time);
            assert_int_equal(cut.at[i].token, whole.at[i].token);
            assert_int_equal(cut.at[i].sm, whole.at[i].sm);
            assert_int_equal(cut.at[i].hit, whole.at[i].hit);
            assert_int_equal(cut.at[i].sectors, whole.at[i].sectors);
        }
        assert_memory_equal(&cut_stats, &whole_stats, sizeof cut_stats);
        free(cut.at);
    }
    free(whole.at);
    free(r);
    free(sent);
}

static void any_windows(void **state) {
    (void)state;
    static const char *const variants[][6] = {
        {"l2.size=32 KB", NULL},
        {"l2.size=32 KB", "l2.slices=4", "dram.channels=2", "l2.mshrs=3", "dram.efficiency=85", NULL},
        {"l2.size=32 KB", "l2.slices=2", "dram.channels=6", "l2.write=fetch", "l2.hash=ipoly", NULL},
        {"l2.size=32 KB", "l2.slices=6", "dram.channels=4", "l2.hash=xor", NULL},
        {"l2.size=32 KB", "dram.policy=fcfs", "l2.ways=2", "l2.sector=64", NULL},
        {"l2.size=16 KB", "dram.write_queue=no", "dram.latency=110", "dram.queue=4", "clock.l2=777", NULL},
    };
    static const uint64_t windows[] = {1 * ORR_TICKS, 50 * ORR_TICKS, 777};
    seed = 7;
    for (size_t k = 0; k < COUNT(variants); k++) {
        orr_gpu *g = small_one(variants[k]);
        same_answers(g, windows, k ? 2 : 3); // the third is long
        orr_gpu_free(g);
    }
}

// Two halves: the answers' order in the list is by half, so they are compared by what they answer. With
// stores that wait for loads too (l2.store_after_fill), where each half may wait for the other.
static void halves_any_windows(void **state) {
    (void)state;
    static const uint64_t windows[] = {50 * ORR_TICKS, 7 * ORR_TICKS, 777};
    for (int waits = 0; waits < 2; waits++) {
        const char *sets[COUNT(two_halves) + 3] = {
            waits ? "l2.store_after_fill=yes" : "l2.store_after_fill=no", "l2.merge=4", "l2.merge_time=40"};
        memcpy(sets + 3, two_halves, sizeof two_halves);
        orr_gpu *g = small_one(sets);
        orr_request *r = calloc(TRAFFIC, sizeof *r);
        uint64_t *sent = calloc(TRAFFIC, sizeof *sent), *at[2];
        for (int k = 0; k < 2; k++) at[k] = calloc(TRAFFIC, sizeof **at);
        seed = 5;
        make_traffic(r, sent);
        for (uint32_t i = 0; i < TRAFFIC; i++) r[i].sm = i * 7 % 132;
        orr_memsys_stats stats[2];
        for (size_t w = 0; w <= COUNT(windows); w++) {
            int k = w > 0;
            orr_replies out = {0};
            memset(at[k], 0, TRAFFIC * sizeof **at);
            run_cut(g, r, sent, w ? windows[w - 1] : UINT64_MAX, &out, &stats[k]);
            for (size_t i = 0; i < out.n; i++) at[k][out.at[i].token] = out.at[i].time;
            free(out.at);
            assert_memory_equal(at[0], at[k], TRAFFIC * sizeof **at);
            assert_memory_equal(&stats[0], &stats[k], sizeof *stats);
        }
        assert_true(stats[0].far.read > 0 && stats[0].far.write > 0 && stats[0].far.atomic > 0);
        for (int k = 0; k < 2; k++) free(at[k]);
        free(r);
        free(sent);
        orr_gpu_free(g);
    }
}

// Machines nobody would build, within what a description may say.
static void odd_machines(void **state) {
    (void)state;
    static const struct {
        const char *key;
        int value[5];
    } keys[] = {
        {"clock.sm", {1, 700, 1000, 2000, 10000}},
        {"clock.l2", {0, 1, 333, 1000, 10000}},
        {"clock.dram", {1, 100, 877, 3201, 20000}},
        {"l2.size", {8192, 16384, 32768, 100000, 1000000}},
        {"l2.slices", {1, 2, 3, 7, 24}},
        {"l2.sector", {16, 32, 64, 128, 1024}},
        {"l2.ways", {1, 3, 16, 40, 4096}},
        {"l2.latency", {1, 10, 100, 1000, 100000}},
        {"l2.bandwidth", {1, 32, 100, 1000, 100000}},
        {"l2.interleave", {128, 200, 256, 4096, 65536}},
        {"l2.mshrs", {1, 2, 8, 192, 65536}},
        {"l2.mshr_merges", {1, 2, 4, 64, 65536}},
        {"l2.atomic", {1, 2, 4, 16, 64}},
        {"dram.bandwidth", {1, 10, 100, 1000, 5000}},
        {"dram.channels", {1, 2, 5, 6, 32}},
        {"dram.banks", {1, 3, 16, 100, 1024}},
        {"dram.bank_groups", {1, 2, 4, 7, 64}},
        {"dram.row", {64, 128, 300, 2048, 1048576}},
        {"dram.latency", {1, 200, 300, 1000, 100000}},
        {"dram.queue", {1, 2, 8, 64, 65536}},
        {"dram.write_start", {0, 1, 8, 64, 65536}},
        {"dram.write_early", {0, 1, 24, 64, 65536}},
        {"dram.efficiency", {1, 10, 50, 92, 100}},
        {"dram.tccd", {1, 2, 3, 10, 1000}},
        {"dram.tccdl", {1, 2, 3, 10, 1000}},
        {"dram.trrd", {1, 2, 6, 10, 1000}},
        {"dram.trcd", {1, 2, 12, 10, 1000}},
        {"dram.tras", {1, 2, 28, 10, 1000}},
        {"dram.trp", {1, 2, 12, 10, 1000}},
        {"dram.trc", {1, 2, 40, 10, 1000}},
        {"dram.tcl", {1, 2, 12, 10, 1000}},
        {"dram.twl", {1, 2, 12, 10, 1000}},
        {"dram.twr", {1, 2, 12, 10, 1000}},
        {"dram.twtr", {1, 2, 5, 10, 1000}},
        {"dram.trtp", {1, 2, 3, 10, 1000}},
    };
    static const char *const words[] = {"l2.hash=ipoly",       "l2.hash=xor",         "l2.hash=modulo",
                                        "l2.write=fetch",      "l2.write=validate",   "dram.policy=fr-fcfs",
                                        "dram.policy=fcfs",    "l2.hashed=yes",       "l2.hashed=no",
                                        "dram.policy=fr-fcfs", "dram.write_queue=no", "dram.write_queue=yes"};
    seed = 11;
    for (int k = 0; k < 40; k++) {
        char text[20][40];
        const char *sets[25];
        int n = 0;
        for (; n < 10; n++) {
            uint32_t which = random_below(COUNT(keys));
            snprintf(text[n], sizeof text[n], "%s=%d", keys[which].key, keys[which].value[random_below(5)]);
            sets[n] = text[n];
        }
        for (int i = 0; i < 3; i++) sets[n++] = words[random_below(COUNT(words))];
        sets[n] = NULL;
        orr_gpu *g = small_one(sets);
        uint64_t window = (1 + random_below(2000)) * ORR_TICKS;
        // Slow machines take long: cut them into fewer pieces.
        double slow = 1e9 / (g->dram_bandwidth * 1e3) + g->dram_trc / g->clock_dram * g->clock_sm;
        if (slow > 1000) window *= (uint64_t)(slow / 100);
        same_answers(g, &window, 1);
        orr_gpu_free(g);
    }
}

// Sectors from memory and stored ones go into a slice's data in turn, here ten cycles each for the former:
// the second of two that come at 200 is there at 210, and a store of 205 is done at 220, which its sender
// hears.
static void fills(void **state) {
    (void)state;
    const char *sets[] = {"l2.fill_interval=10", NULL};
    bench *b = bench_of(sets);
    orr_request r[] = {reading(0, 0, 1), reading(0, 1, 1), storing(205, 2, 0, 32)};
    r[2].acks = true;
    go(b, r, COUNT(r));
    ANSWERED(b, 0, 200);
    ANSWERED(b, 1, 210);
    ANSWERED(b, 2, 220);
    bench_free(b);
}

// By time, those of one time as they were: few, many, all at few times, spread, and rising runs.
static void test_order(void **state) {
    (void)state;
    enum { N = 3000 };
    static orr_timed a[N], b[N];
    static const size_t counts[] = {1, 2, 40, 48, 200, N};
    static const uint64_t spreads[] = {1, 7, 1000, 1ull << 20, 1ull << 40};
    uint64_t seed = 1;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t s = 0; s < 2 * sizeof spreads / sizeof *spreads; s++) {
            size_t n = counts[c];
            uint64_t spread = spreads[s / 2], run = s % 2 ? 17 : 1;
            for (size_t i = 0; i < n; i++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                uint64_t t = (seed >> 20) % spread;
                bool rises = i % run && a[i - 1].time > t;
                a[i] = (orr_timed){rises ? a[i - 1].time + t % 3 : t, (uint32_t)i, 0};
            }
            const orr_timed *at = orr_sort_timed(a, b, n);
            for (size_t i = 1; i < n; i++) {
                assert_true(at[i - 1].time <= at[i].time);
                if (at[i - 1].time == at[i].time) assert_true(at[i - 1].index < at[i].index);
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills),
        cmocka_unit_test(hits),
        cmocka_unit_test(order),
        cmocka_unit_test(behind),
        cmocka_unit_test(wide_port),
        cmocka_unit_test(misses),
        cmocka_unit_test(merging),
        cmocka_unit_test(miss_limit),
        cmocka_unit_test(merge_limit),
        cmocka_unit_test(validate),
        cmocka_unit_test(fetch),
        cmocka_unit_test(evictions),
        cmocka_unit_test(store_stream),
        cmocka_unit_test(larger_sectors),
        cmocka_unit_test(clocks),
        cmocka_unit_test(copies),
        cmocka_unit_test(restart),
        cmocka_unit_test(partitions),
        cmocka_unit_test(halves_any_windows),
        cmocka_unit_test(refused),
        cmocka_unit_test(any_windows),
        cmocka_unit_test(test_order),
        cmocka_unit_test(odd_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
