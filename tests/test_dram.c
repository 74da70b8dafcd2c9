// A channel of DRAM, with times worked out by hand (cycles of the small machine of mem_rig.h, whose DRAM
// clock is one cycle: tRCD 12, tCL 12, a sector 2, tRP 12, tRAS 28, tRC 40, tRRD 6, tCCDL 4, tWL 4, tWTR 5,
// tRTP 2), and what whole GPUs reach.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mem_rig.h"

#define MANY 100000
typedef struct bench {
    orr_gpu *g;
    orr_dram_spec c;
    orr_dram d;
    uint64_t end[MANY]; // of a read, by user
} bench;

static bench *bench_of(const char *const *sets) {
    bench *b = calloc(1, sizeof *b);
    b->g = small_one(sets);
    orr_dram_spec_read(&b->c, b->g);
    orr_dram_init(&b->d, &b->c, 0);
    return b;
}
static void bench_free(bench *b) {
    orr_dram_free(&b->d);
    orr_gpu_free(b->g);
    free(b);
}
static void push(bench *b, uint64_t cycle, uint64_t line, uint8_t sectors, bool write, uint32_t user) {
    orr_dram_request r = {CYCLES(cycle), line, user, sectors, write, false};
    orr_dram_push(&b->d, &r);
}
static void run(bench *b) {
    orr_dram_done done;
    uint64_t t = 0;
    while (orr_dram_next(&b->d) != UINT64_MAX) {
        assert_true(orr_dram_next(&b->d) >= t);
        t = orr_dram_next(&b->d);
        if (orr_dram_step(&b->d, &done)) b->end[done.user] = done.time;
    }
}
#define ENDS(b, user, cycle) assert_int_equal((b)->end[user], CYCLES(cycle))

static const char *const one_bank[] = {"dram.banks=1", "dram.bank_groups=1", NULL};

// Rows of 1 KB are eight lines: with one bank, line 8 is in the next row.
static void rows(void **state) {
    (void)state;
    bench *b = bench_of(one_bank);
    push(b, 0, 0, 1, false, 0);     // activate, 12, column, 12, data, 2
    push(b, 100, 1, 1, false, 1);   // the row is open
    push(b, 200, 8, 1, false, 2);   // another one is: precharge, 12
    push(b, 300, 8, 15, false, 3);  // four sectors, 2 each
    push(b, 1000, 16, 1, false, 4); // nobody used the row for 500 ns: it is closed
    push(b, 1000, 24, 1, false, 5); // the next activation of a bank is 40 later
    run(b);
    ENDS(b, 0, 26);
    ENDS(b, 1, 114);
    ENDS(b, 2, 238);
    ENDS(b, 3, 320);
    ENDS(b, 4, 1026);
    ENDS(b, 5, 1066);
    assert_int_equal(b->d.n.reads, 9);
    assert_int_equal(b->d.n.row_miss, 4);
    assert_int_equal(b->d.n.row_hit, 5);
    assert_int_equal(b->d.n.busy, CYCLES(9 * 2));
    bench_free(b);
}

// A bank is refreshed from 0 to 100, and again 3,900 later.
static void refresh(void **state) {
    (void)state;
    const char *sets[] = {"dram.banks=1", "dram.bank_groups=1", "dram.trfc=100", NULL};
    bench *b = bench_of(sets);
    push(b, 0, 0, 1, false, 0);
    push(b, 1000, 0, 1, false, 1);
    push(b, 3950, 0, 1, false, 2);
    run(b);
    ENDS(b, 0, 126);
    ENDS(b, 1, 1026);
    ENDS(b, 2, 4026);
    bench_free(b);
}

// And each 1,000 where that is so: it waits from 2,050 to 2,100.
static void often(void **state) {
    (void)state;
    const char *sets[] = {"dram.banks=1", "dram.bank_groups=1", "dram.trfc=100", "dram.trefi=1000", NULL};
    bench *b = bench_of(sets);
    push(b, 2050, 0, 1, false, 0);
    push(b, 4200, 0, 1, false, 1);
    run(b);
    ENDS(b, 0, 2126);
    ENDS(b, 1, 4226);
    bench_free(b);
}

// A refresh closes the bank's row: after 950 it is open, from 1,000 to 1,100 nothing is read and then it has
// to be opened again; it still is at 1,300 and 1,700, but not after the refresh at 2,000.
static void refreshed_row(void **state) {
    (void)state;
    const char *sets[] = {"dram.banks=1", "dram.bank_groups=1", "dram.trfc=100", "dram.trefi=1000", NULL};
    bench *b = bench_of(sets);
    static const uint32_t at[][2] = {{950, 976}, {1050, 1126}, {1300, 1314}, {1700, 1714}, {2150, 2176}};
    for (uint32_t i = 0; i < 5; i++) push(b, at[i][0], 0, 1, false, i);
    run(b);
    for (uint32_t i = 0; i < 5; i++) ENDS(b, i, at[i][1]);
    assert_int_equal(b->d.n.row_miss, 3);
    bench_free(b);
}

// Four banks, each refreshed for 100 in 1,000, one after the other: bank b's begins 250 x b before the end of
// a period. The second of two groups of channels is 200 of 400 later. Who begins 300 after a period did finds
// all of it 300 earlier.
static void refresh_groups(void **state) {
    (void)state;
    static const uint32_t order[4] = {0, 750, 500, 250};
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t channel = i % 3, start = i < 3 ? 0 : 300; // channel 2: no groups
        const char *sets[] = {"dram.banks=4",
                              "dram.bank_groups=1",
                              "dram.trfc=100",
                              "dram.trefi=1000",
                              "dram.channels=2",
                              "l2.slices=2",
                              channel < 2 ? "dram.refresh_groups=2" : "dram.refresh_groups=1",
                              "dram.refresh_spread=400",
                              start ? "dram.refresh_start=300" : "dram.refresh_start=0",
                              NULL};
        orr_gpu *g = small_one(sets);
        orr_dram_spec c;
        orr_dram_spec_read(&c, g);
        for (uint32_t bank = 0; bank < 4; bank++) {
            uint32_t begins = 3000 + order[bank] + (channel < 2 ? 200 * channel : 0) - start;
            for (uint32_t k = 0; k < 4; k++) { // before, at its beginning, 40 before its end, after
                orr_dram d;
                orr_dram_init(&d, &c, channel % 2);
                uint32_t at = begins - 20 + (k == 0 ? 0 : k == 1 ? 20 : k == 2 ? 80 : 120);
                orr_dram_push(&d, &(orr_dram_request){.time = CYCLES(at), .line = 2 * bank, .sectors = 1});
                orr_dram_done done = {0};
                while (!orr_dram_step(&d, &done)) {}
                uint32_t opens = k == 1 || k == 2 ? begins + 100 : at;
                assert_in_range(done.time, CYCLES(opens + 24), CYCLES(opens + 30));
                orr_dram_free(&d);
            }
        }
        orr_gpu_free(g);
    }
}

// Runs of two lines are in consecutive banks, and those in the four groups.
static void banks(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    for (uint32_t i = 0; i < 4; i++) push(b, 0, 2 * i, 1, false, i); // activations 6 apart
    for (uint32_t i = 0; i < 4; i++)
        push(b, 200, 2 * i, 1, false, 10 + i); // open rows of four groups: the bus, 2
    for (uint32_t i = 0; i < 4; i++) push(b, 300, i / 2, 1, false, 20 + i); // of one group: tCCDL, 4
    push(b, 400, 0, 15, false, 30);                                         // also within a line
    push(b, 400, 2, 15, false, 31); // another group fills the gaps: the bus is busy for 8 + 8
    run(b);
    for (uint32_t i = 0; i < 4; i++) {
        ENDS(b, i, 26 + 6 * i);
        ENDS(b, 10 + i, 214 + 2 * i);
        ENDS(b, 20 + i, 314 + 4 * i);
    }
    ENDS(b, 30, 400 + 12 + 3 * 4 + 2);
    ENDS(b, 31, 400 + 8 + 12 + 3 * 4 + 2); // its first column comes when the bus has taken the other's
    assert_int_equal(b->d.n.row_miss, 4);
    bench_free(b);
}

static void turning_round(void **state) {
    (void)state;
    const char *sets[] = {"dram.banks=1", "dram.bank_groups=1", "dram.write_queue=no", NULL};
    bench *b = bench_of(sets);
    push(b, 0, 0, 1, false, 0);
    push(b, 100, 0, 1, true, 1);  // data from 104 to 106
    push(b, 100, 1, 1, false, 2); // column at 106 + 5
    push(b, 200, 0, 1, false, 3); // data from 212 to 214
    push(b, 200, 1, 1, true, 4);  // two cycles between them: data from 216 to 218
    push(b, 200, 2, 1, false, 5); // column at 218 + 5
    push(b, 300, 0, 1, true, 6);  // data until 306; tWR, 12, then precharge
    push(b, 300, 8, 1, false, 7); // 318 + 12 + 26
    run(b);
    ENDS(b, 2, 111 + 14);
    ENDS(b, 3, 214);
    ENDS(b, 5, 223 + 14);
    ENDS(b, 7, 356);
    assert_int_equal(b->d.n.writes, 3);
    bench_free(b);
}

// Two rows of one bank, asked for in turns. In order, each request opens its row: 40 cycles each. Open rows
// first: one activation a row. This is the direction of accel-sim.txt's figure 9.
static void row_conflicts(void **state) {
    (void)state;
    const char *fcfs[] = {"dram.banks=1", "dram.bank_groups=1", "dram.policy=fcfs", NULL};
    bench *b = bench_of(fcfs);
    for (uint32_t i = 0; i < 16; i++) push(b, 0, i % 2 * 8 + i / 2, 1, false, i);
    run(b);
    for (uint32_t i = 0; i < 16; i++) ENDS(b, i, 40 * i + 26);
    assert_int_equal(b->d.n.row_miss, 16);
    bench_free(b);

    b = bench_of(one_bank);
    for (uint32_t i = 0; i < 16; i++) push(b, 0, i % 2 * 8 + i / 2, 1, false, i);
    run(b);
    for (uint32_t i = 0; i < 16; i++) ENDS(b, i, i % 2 * 40 + 26 + i / 2 * 2);
    assert_int_equal(b->d.n.row_miss, 2);
    assert_int_equal(b->d.n.row_hit, 14);
    bench_free(b);
}

// A row that is always wanted gives way after 64 requests.
static void nobody_starves(void **state) {
    (void)state;
    bench *b = bench_of(one_bank);
    push(b, 0, 0, 1, false, 0);
    push(b, 0, 8, 1, false, 1);
    for (uint32_t i = 2; i < 300; i++) push(b, 0, i % 8, 1, false, i);
    run(b);
    // 64 columns, the last at 12 + 63 x 2 = 138; tRTP 2, tRP 12, then 26.
    ENDS(b, 1, 178);
    bench_free(b);
}

// Requests outside the queue are not seen: with two places the third, to the open row, does not overtake.
static void queue(void **state) {
    (void)state;
    const char *sets[] = {"dram.banks=1", "dram.bank_groups=1", "dram.queue=2", NULL};
    bench *b = bench_of(sets);
    push(b, 0, 0, 1, false, 0);
    push(b, 0, 8, 1, false, 1);
    push(b, 0, 16, 1, false, 2);
    push(b, 0, 1, 1, false, 3); // comes in when the second row is opened
    run(b);
    ENDS(b, 0, 26);
    ENDS(b, 1, 66);
    ENDS(b, 2, 106);
    ENDS(b, 3, 146);
    bench_free(b);
}

// Writes wait for reads, until there are 7/8 of a queue full: of 8, that is 7, and then they go until a
// quarter is left.
static void writes_wait(void **state) {
    (void)state;
    const char *sets[] = {"dram.banks=1", "dram.bank_groups=1", "dram.queue=8", NULL};
    for (uint32_t n = 6; n <= 7; n++) {
        bench *b = bench_of(sets);
        for (uint32_t i = 0; i < n; i++) push(b, 0, i, 1, true, 99);
        push(b, 0, 0, 1, false, 0);
        run(b);
        // 5 writes end the batch, and 2 are for the row that is open: columns from 12 to 24, data until
        // 24 + 4 + 2; then tWTR 5, tCL 12 and the data.
        ENDS(b, 0, n == 6 ? 26 : 30 + 5 + 14);
        assert_int_equal(b->d.n.writes, n);
        bench_free(b);
    }
}

// Two at a time (dram.write_batch), each in a bank of its own: rows are opened from 0, 6, 12 and 18 on,
// columns from 12, 18, 24 and 30. The second column ends the batch, and a row for the read is opened next,
// at 24. The two rows that are open by then are written to before it is read: data until 30 + 4 + 2, then
// tWTR 5, tCL 12 and the data. The other three writes follow.
static void writes_in_batches(void **state) {
    (void)state;
    const char *sets[] = {"dram.queue=8", "dram.write_batch=2", "dram.trrd_write=6", NULL};
    bench *b = bench_of(sets);
    for (uint32_t i = 0; i < 7; i++) push(b, 0, 2 * i, 1, true, 99);
    push(b, 0, 2 * 7, 1, false, 0);
    run(b);
    ENDS(b, 0, 36 + 5 + 14);
    assert_int_equal(b->d.n.writes, 7);
    assert_int_equal(b->d.n.row_miss, 8);
    bench_free(b);
}

// Four writes go together when no read waits, and a read that comes meanwhile waits for all of them; three
// wait for a fourth, and the read is first.
static void writes_together(void **state) {
    (void)state;
    const char *sets[] = {"dram.banks=1", "dram.bank_groups=1", "dram.write_start=4", NULL};
    for (uint32_t n = 3; n <= 4; n++) {
        bench *b = bench_of(sets);
        for (uint32_t i = 0; i < n; i++) push(b, 0, i, 1, true, 99);
        push(b, 1, 0, 1, false, 0);
        run(b);
        // 4 writes, columns from 12 to 18, data until 18 + 4 + 2; then tWTR 5, tCL 12 and the data.
        ENDS(b, 0, n == 3 ? 27 : 24 + 5 + 14);
        assert_int_equal(b->d.n.writes, n);
        bench_free(b);
    }
}

// 64 lines to write in 16 banks and nothing to read: eight end a batch, and what waits for the rows that are
// open by then takes longer than the wait for more writes (dram.idle). All of them are written.
static void turn_outlasts_wait(void **state) {
    (void)state;
    const char *sets[] = {"dram.write_start=8", "dram.trrd_write=6", "dram.idle=100", NULL};
    bench *b = bench_of(sets);
    orr_dram_done done;
    for (uint32_t i = 0; i < 64; i++) push(b, 0, i, 15, true, 99);
    for (uint32_t steps = 0; orr_dram_next(&b->d) != UINT64_MAX; steps++) {
        assert_true(steps < 1000);
        orr_dram_step(&b->d, &done);
    }
    assert_int_equal(b->d.n.writes, 64 * 4);
    bench_free(b);
}

// A row that is opened to be written to keeps other banks from opening one for longer (dram.trrd_write);
// one that is opened to be read does not.
static void rows_to_write_to(void **state) {
    (void)state;
    const char *sets[] = {"dram.write_queue=no", "dram.trrd_write=40", NULL};
    bench *b = bench_of(sets);
    push(b, 0, 0, 1, true, 0);
    push(b, 0, 2, 1, false, 1);
    push(b, 0, 4, 1, false, 2);
    run(b);
    ENDS(b, 1, 40 + 26);
    ENDS(b, 2, 46 + 26);
    bench_free(b);
}

// Single sectors from anywhere: each needs an activation. 16 banks could do one each 40 / 16 cycles, so it is
// tRRD.
static void anywhere(void **state) {
    (void)state;
    bench *b = bench_of(NULL);
    uint64_t x = 1, last = 0;
    uint32_t n = 20000;
    for (uint32_t i = 0; i < n; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        push(b, 0, x >> 30, (uint8_t)(1 << (x >> 28) % 4), false, i);
    }
    run(b);
    for (uint32_t i = 0; i < n; i++) last = b->end[i] > last ? b->end[i] : last;
    double each = (double)last / ORR_TICKS / n;
    if (each < 6 || each > 6 * 1.03) fail_msg("%g cycles each", each);
    bench_free(b);
}

// 90 % of the bus: 2 cycles a sector / 0.9.
static void efficiency(void **state) {
    (void)state;
    const char *sets[] = {"dram.efficiency=90", NULL};
    bench *b = bench_of(sets);
    uint32_t n = 20000;
    for (uint32_t i = 0; i < n; i++) push(b, 0, i, 15, false, i);
    run(b);
    double each = (double)b->end[n - 1] / ORR_TICKS / n / 4;
    if (each < 2 / 0.9 * 0.995 || each > 2 / 0.9 * 1.005) fail_msg("%g cycles a sector", each);
    bench_free(b);
}

// Fermi's channels are two chips of 32 bits that move 64 bytes in tCCD, 2 clocks: half a column access is
// wasted on a single sector.
static void column_of_two_sectors(void **state) {
    (void)state;
    orr_gpu *g = machine_of("gtx480", NULL);
    orr_dram_spec c;
    orr_dram_spec_read(&c, g);
    assert_int_equal(c.map.atom, 2);
    orr_dram d;
    orr_dram_init(&d, &c, 0);
    orr_dram_push(&d, &(orr_dram_request){.sectors = 1});
    orr_dram_push(&d, &(orr_dram_request){.sectors = 6, .user = 1}); // of both halves of the line
    orr_dram_push(&d, &(orr_dram_request){.sectors = 15, .user = 2});
    orr_dram_done done;
    while (orr_dram_next(&d) != UINT64_MAX) orr_dram_step(&d, &done);
    assert_int_equal(d.n.busy, 5 * c.timing.column);
    assert_int_equal(d.n.reads, 1 + 2 + 4);
    orr_dram_free(&d);
    orr_gpu_free(g);
    g = machine_of("v100", NULL); // 128 bits, two transfers a clock
    orr_dram_spec_read(&c, g);
    assert_int_equal(c.map.atom, 1);
    orr_gpu_free(g);
}

// ---- whole GPUs -----------------------------------------------------------------------------------

static int by_time(const void *a, const void *b) {
    uint64_t x = ((const orr_reply *)a)->time, y = ((const orr_reply *)b)->time;
    return x < y ? -1 : x > y;
}

// An SM of the half that has the line: the way between halves is narrower than memory (l2.far_sector).
static uint16_t near_sm(const orr_gpu *g, const orr_memsys *m, uint64_t line) {
    int side = g->l2_replicate ? orr_memsys_side_of(m, line) : 0;
    orr_topology gpcs = orr_topology_of(g);
    uint32_t sm = 0;
    while (side > 0 && sm < (uint32_t)g->sm_count && orr_half_of_sm(sm, gpcs) != (uint32_t)side) sm++;
    return (uint16_t)sm;
}

// A stream of reads that asks for more than there is: it gets the peak times dram.efficiency, from its first
// answer to its last. Where banks are refreshed one by one, the last answer may be late by all of dram.trfc,
// and so many banks wait at once that the bus stands still at the end; that is no matter of the stream's
// speed, so it is so long that it is less than a hundredth.
static double streamed(const char *name, double *expected) {
    orr_gpu *g = machine_of(name, NULL);
    orr_memsys *m = system_of(g);
    uint32_t parts = (uint32_t)orr_memsys_partitions(m);
    uint32_t n = (g->dram_trfc > 0 ? 12000 : 3000) * (uint32_t)g->dram_channels;
    double cycles_a_line = 128 / (g->dram_bandwidth * 1000 / g->clock_sm) / 1.2;
    orr_replies all = {0};
    ORR_VEC(orr_request) *of = calloc(parts, sizeof *of);
    for (uint32_t i = 0; i < n; i++) {
        orr_request r = reading(0, 0x100000 + i, 15);
        r.sm = near_sm(g, m, r.line);
        r.time = (uint64_t)(i * cycles_a_line * (double)ORR_TICKS);
        *ORR_PUSH(&of[orr_memsys_partition_of(m, r.line)]) = r;
    }
    for (uint32_t p = 0; p < parts; p++) {
        orr_memsys_run(m, (int)p, of[p].at, of[p].n, UINT64_MAX, &all);
        free(of[p].at);
    }
    assert_int_equal(all.n, n);
    qsort(all.at, all.n, sizeof *all.at, by_time);
    double cycles = (double)(all.at[n - 1].time - all.at[0].time) / ORR_TICKS;
    *expected = g->dram_bandwidth * g->dram_efficiency / 100;
    double got = n * 128. / cycles * g->clock_sm / 1000; // GB/s
    orr_memsys_stats s;
    orr_memsys_stats_sum(m, &s);
    assert_int_equal(s.dram_read, 4 * n);
    free(of);
    free(all.at);
    orr_memsys_free(m);
    orr_gpu_free(g);
    return got;
}

#ifdef __SANITIZE_ADDRESS__
enum { EACH = 6 }; // where memory is checked some of the GPUs do: the code is the same for all
#else
enum { EACH = 1 };
#endif
static void streams(void **state) {
    (void)state;
    int n;
    char **names = orr_gpu_list(&n);
    for (int i = 0; i < n; i += EACH) {
        double expected, got = streamed(names[i], &expected);
        if (got < 0.975 * expected || got > 1.02 * expected)
            fail_msg("%s: %.1f GB/s of %.1f expected", names[i], got, expected);
    }
    orr_gpu_list_free(names, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refresh),
        cmocka_unit_test(refreshed_row),
        cmocka_unit_test(refresh_groups),
        cmocka_unit_test(often),
        cmocka_unit_test(rows),
        cmocka_unit_test(banks),
        cmocka_unit_test(turning_round),
        cmocka_unit_test(queue),
        cmocka_unit_test(writes_wait),
        cmocka_unit_test(writes_in_batches),
        cmocka_unit_test(writes_together),
        cmocka_unit_test(turn_outlasts_wait),
        cmocka_unit_test(rows_to_write_to),
        cmocka_unit_test(row_conflicts),
        cmocka_unit_test(anywhere),
        cmocka_unit_test(efficiency),
        cmocka_unit_test(nobody_starves),
        cmocka_unit_test(streams),
        cmocka_unit_test(column_of_two_sectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
