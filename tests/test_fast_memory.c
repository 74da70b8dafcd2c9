// L2 and DRAM by latency and bandwidth, alone, on the small machine of mem_rig.h: a slice that moves a sector
// a cycle, a channel that moves one in two, 200 cycles from a miss to its answer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mem_rig.h"
#include "memory/fast_memory.h"

typedef struct rig {
    orr_gpu *g;
    orr_fast_memory *m;
} rig;

static rig rig_of(const char *const *sets) {
    orr_err e = {0};
    rig r = {.g = small_one(sets)};
    r.m = orr_fast_new(r.g, &e);
    if (!r.m) fail_msg("%s", e.text);
    return r;
}
static void rig_free(rig r) {
    orr_fast_free(r.m);
    orr_gpu_free(r.g);
}

static uint64_t load(rig r, uint64_t line, uint8_t sectors, uint64_t cycle) {
    orr_fast_place p = orr_fast_find(r.m, line, 0, true);
    return orr_fast_load(r.m, &p, sectors, ORR_FROM_GLOBAL, CYCLES(cycle)).done / ORR_TICKS;
}

// A miss is answered 200 cycles later, who asks meanwhile has the same fill, and then the line hits.
static void hits_and_misses(void **state) {
    (void)state;
    rig r = rig_of(NULL);
    assert_int_equal(load(r, 0, 1, 0), 200);
    assert_int_equal(load(r, 0, 1, 10), 200);
    assert_int_equal(load(r, 0, 1, 300), 300);
    assert_int_equal(load(r, 0, 2, 400), 600 - 12); // another sector, whose row is open: no tRCD
    const orr_memsys_stats *s = orr_fast_stats(r.m);
    assert_int_equal(s->dram_read, 2);
    assert_int_equal(s->read[ORR_FROM_GLOBAL], 4);
    orr_fast_flush(r.m);
    assert_true(load(r, 0, 1, 10000) >= 10000 + 200 - 12);
    rig_free(r);
}

// What the host copies is there. Four sectors pass the port in four cycles, so the last comes three later
// than the first; and loads that are handed over in another order than that of time take what room there is.
static void port(void **state) {
    (void)state;
    rig r = rig_of(NULL);
    orr_fast_copy(r.m, 0, 1024);
    assert_int_equal(load(r, 0, 15, 0), 3);
    assert_int_equal(load(r, 1, 15, 0), 4 + 3);
    assert_int_equal(load(r, 2, 15, 100), 103);
    assert_int_equal(load(r, 3, 15, 0), 8 + 3);
    assert_int_equal(orr_fast_stats(r.m)->dram_read, 0);
    rig_free(r);
}

// Eight lanes on one word are done one after the other; the next atomic waits for them.
static void atomics(void **state) {
    (void)state;
    rig r = rig_of(NULL);
    orr_fast_copy(r.m, 0, 1024);
    orr_fast_place p = orr_fast_find(r.m, 0, 0, false);
    orr_request q = {.line = 0, .sectors = 1, .kind = ORR_REQ_ATOMIC, .ops = 8};
    assert_int_equal(orr_fast_change(r.m, &p, &q, 0).done, CYCLES(8));
    uint64_t next = orr_fast_change(r.m, &p, &q, 0).done;
    assert_int_equal(next, CYCLES(16));
    rig_free(r);
}

// An L2 of eight lines: nine lines one after the other, and the first is gone.
static void eviction(void **state) {
    (void)state;
    rig r = rig_of((const char *const[]){"l2.size=1 KB", "l2.ways=8", "l2.hashed=yes", NULL});
    for (uint64_t line = 0; line < 8; line++) load(r, line, 1, 1000 * line);
    assert_true(orr_fast_roomy(r.m));
    load(r, 8, 1, 20000);
    uint64_t before = orr_fast_stats(r.m)->dram_read;
    load(r, 0, 1, 30000);
    assert_int_equal(orr_fast_stats(r.m)->dram_read, before + 1);
    assert_false(orr_fast_roomy(r.m));
    rig_free(r);
}

static void store(rig r, uint64_t line, uint8_t sectors, uint8_t whole, uint64_t cycle) {
    orr_fast_place p = orr_fast_find(r.m, line, 0, false);
    orr_request q = {
        .time = CYCLES(cycle), .line = line, .sectors = sectors, .kind = ORR_REQ_WRITE, .ops = 1};
    orr_fast_change(r.m, &p, &q, whole);
}

// A set of eight lines of which two may be dirty: of three that are stored whole, one after the other, the
// first is written, and stays.
static void dirty(void **state) {
    (void)state;
    rig r = rig_of((const char *const[]){"l2.size=1 KB", "l2.ways=8", "l2.dirty_ways=2", NULL});
    for (uint64_t line = 0; line < 3; line++) store(r, line, 15, 15, 1000 * line);
    assert_int_equal(orr_fast_stats(r.m)->dram_write, 4);
    assert_int_equal(load(r, 0, 15, 10000), 10003);
    assert_int_equal(orr_fast_stats(r.m)->dram_read, 0);
    rig_free(r);
}

// One line of a set may be there in part: when a word of another is stored the sector of the first is read
// and written. A sector of which all eight words have been stored is whole, and needs nothing.
static void partial(void **state) {
    (void)state;
    rig r = rig_of((const char *const[]){"l2.size=1 KB", "l2.ways=8", "l2.partial_ways=1", NULL});
    for (uint64_t n = 0; n < 8; n++) store(r, 0, 1, 0, 100 * n);
    store(r, 1, 1, 0, 1000);
    assert_int_equal(orr_fast_stats(r.m)->dram_read, 0);
    store(r, 2, 1, 0, 2000);
    assert_int_equal(orr_fast_stats(r.m)->dram_read, 1);
    assert_int_equal(orr_fast_stats(r.m)->dram_write, 1);
    rig_free(r);
}

// A bank that is refreshed for 100 cycles from cycle 0 on, of which the request sees 100 - 87 when it is
// there: it is answered so much later.
static void refresh(void **state) {
    (void)state;
    rig r = rig_of((const char *const[]){"dram.trfc=100", NULL});
    assert_int_equal(load(r, 0, 1, 0), 200 + 100 - 87);
    rig_free(r);
}

// Writes wait until there is a batch of them: a read behind all but one of 40 lines comes as if there were
// none, and one behind the 40th waits for 160 sectors of two cycles each, and for the bus to turn.
static uint64_t read_behind(const orr_fast_dram_spec *c, uint32_t writes) {
    orr_fast_dram d;
    orr_fast_dram_init(&d, c, 0);
    orr_fast_dram_read(&d, c, 0, 1, 0, 0);
    for (uint32_t n = 0; n < writes; n++) orr_fast_dram_write(&d, c, 1 << 20 | n, 15, CYCLES(1000));
    uint64_t t = orr_fast_dram_read(&d, c, 0, 1, CYCLES(1000), 0);
    orr_fast_dram_free(&d);
    return t;
}
static void batches(void **state) {
    (void)state;
    orr_gpu *g = small_one(NULL);
    orr_fast_dram_spec c;
    orr_fast_dram_spec_read(&c, g);
    c.batch = 40;
    c.write_column = CYCLES(2);
    c.write_row = 0;
    c.turn = CYCLES(50);
    uint64_t alone = read_behind(&c, 0);
    assert_int_equal(read_behind(&c, 39), alone);
    assert_in_range(read_behind(&c, 40), alone + CYCLES(320 + 50 - 40), alone + CYCLES(320 + 50));
    orr_gpu_free(g);
}

// Writes among reads take at least their time on the bus, and reads alone no less than theirs: 2 cycles.
static void costs(void **state) {
    (void)state;
    orr_gpu *g = small_one(NULL);
    orr_fast_dram_spec c;
    orr_fast_dram_spec_read(&c, g);
    assert_in_range(c.read_column, CYCLES(2), CYCLES(3));
    assert_in_range(c.write_column, CYCLES(2), CYCLES(8));
    assert_true(c.read_row >= CYCLES(6)); // tRRD
    assert_true(c.write_row >= CYCLES(4));
    orr_gpu_free(g);
}

// Requests of 2.4 cycles that are up to 4,096 cycles apart, in any order, faster than they can be served: all
// of them take as long as one after the other.
static void reservations(void **state) {
    (void)state;
    orr_reservations r = {0};
    uint64_t last = 0, base = 1ull << 30, n = 20000, random = 1;
    for (uint64_t i = 0; i < n; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t end = orr_reserve(&r, base + i * 6000 + (random >> 52) * ORR_TICKS, 9792, ORR_FAST_SLOT);
        if (end > last) last = end;
    }
    assert_true(last - base >= n * 9792);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dirty),           cmocka_unit_test(partial), cmocka_unit_test(refresh),
        cmocka_unit_test(costs),           cmocka_unit_test(batches), cmocka_unit_test(reservations),
        cmocka_unit_test(hits_and_misses), cmocka_unit_test(port),    cmocka_unit_test(atomics),
        cmocka_unit_test(eviction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
