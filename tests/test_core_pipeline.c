// Components of an SM in front of memory, each by itself with round numbers: operands, execution units,
// fetch, constants (core/*.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/constants.h"
#include "core/fetch.h"
#include "core/operands.h"
#include "core/products.h"
#include "core/tma.h"
#include "core/units.h"

// ---- operands -------------------------------------------------------------------------------------
// R0 and R2 are in bank 0, R1 in bank 1; a bank serves one read a cycle.
static const operands_spec banked = {.read_banks = 2, .ports = 1};
static orr_read three[] = {{.reg = 0, .bank = 0}, {.reg = 2, .bank = 0}, {.reg = 1, .bank = 1}};

// An instruction that reads bank 0 twice and bank 1 once within two cycles: the first finds both free. The
// next, a cycle later, needs bank 0 for two cycles from 102 on, so it waits one; the one after that, in 103,
// as well: two cycles each.
static void test_banks(void **state) {
    (void)state;
    orr_program p = {.reads = three};
    orr_tinst i = {.nreads = 3, .window = 2};
    operands o;
    operands_init(&o, &banked);
    recent_results recent = {0};
    operand_reader r = {.warp = 1, .recent = &recent};
    assert_int_equal(operands_read(&o, &p, &i, &r, 100), 0);
    assert_int_equal(operands_read(&o, &p, &i, &r, 101), 1);
    assert_int_equal(operands_read(&o, &p, &i, &r, 103), 1);
    assert_int_equal(o.conflict_cycles, 2);
    operands_reset(&o);
    assert_int_equal(operands_read(&o, &p, &i, &r, 0), 0);
    assert_int_equal(o.conflict_cycles, 0);
    operands_free(&o);
}

// Both operands of bank 0 are kept for reuse: the second instruction of the warp reads neither, and does not
// wait.
static void test_reuse(void **state) {
    (void)state;
    static orr_read kept[] = {{.reg = 0, .bank = 0, .place = 1, .kept = true},
                              {.reg = 2, .bank = 0, .place = 2, .kept = true}};
    orr_program p = {.reads = kept};
    orr_tinst i = {.nreads = 2, .window = 1};
    recent_results recent = {0};
    operand_reader r = {.warp = 3, .recent = &recent};
    operands o;
    operands_init(&o, &banked);
    assert_int_equal(operands_read(&o, &p, &i, &r, 10), 0);
    assert_int_equal(operands_read(&o, &p, &i, &r, 11), 0);
    assert_int_equal(operands_read(&o, &p, &i, &r, 12), 0);
    assert_int_equal(o.read_free[0], 12); // the first two reads alone
    operands_free(&o);
}

// A result 6 cycles after issue in cycle 10 and one 4 cycles after issue in 12 would both be written in 16:
// the second waits one cycle, and so does one that would follow it in 13. In 20 the bus is free.
static void test_result_bus(void **state) {
    (void)state;
    orr_program p = {0};
    operands o;
    operands_init(&o, &banked);
    recent_results recent = {0};
    operand_reader r = {.recent = &recent};
    orr_tinst slow = {.result = 6}, fast = {.result = 4};
    assert_int_equal(operands_read(&o, &p, &slow, &r, 10), 0);
    assert_int_equal(operands_read(&o, &p, &fast, &r, 12), 1);
    assert_int_equal(operands_read(&o, &p, &fast, &r, 13), 1);
    assert_int_equal(operands_read(&o, &p, &fast, &r, 20), 0);
    operands_free(&o);
}

// Two collectors, four banks. R0 and R4 are in bank 0 and come one after the other, in two cycles, as they
// would from two banks. R8 of the next instruction finds bank 0 taken for two cycles more: it loses two. The
// collectors are free a cycle to get in, the reading, and a cycle to hand on later: in 4 and 5.
static void test_collectors(void **state) {
    (void)state;
    operands_spec s = {.collectors = 2, .banks = 4, .bank_mask = 3, .ports = 1, .interval = 1, .collect = 1};
    uint16_t regs[] = {0, 1, 2};
    orr_program p = {.regs = regs};
    p.reg[0] = 0, p.reg[1] = 4, p.reg[2] = 8;
    orr_tinst two = {.nsrc = 2, .regs = 0}, one = {.nsrc = 1, .regs = 2};
    operand_reader r = {0};
    operands o;
    operands_init(&o, &s);
    uint64_t lost;
    assert_int_equal(operands_collect(&o, &p, &two, &r, 0, &lost), 2);
    assert_int_equal(lost, 0);
    assert_int_equal(operands_collector_free(&o), 0);
    assert_int_equal(operands_collect(&o, &p, &one, &r, 0, &lost), 3);
    assert_int_equal(lost, 2);
    assert_int_equal(operands_collector_free(&o), 4);
    assert_int_equal(o.conflict_cycles, 2);
    operands_free(&o);
}

// With collectors: operands one after the other, reads and results on the same ports of the banks. Registers
// 0 and 2 are in bank 0 of two, register 1 in bank 1; an access takes two cycles.
static void test_collector_writes(void **state) {
    (void)state;
    static const operands_spec spec = {
        .collectors = 2, .banks = 2, .bank_mask = 1, .ports = 1, .interval = 2};
    uint16_t places[] = {0, 1, 2};
    orr_program p = {.regs = places};
    p.reg[0] = 0, p.reg[1] = 1, p.reg[2] = 2;
    orr_tinst reads = {.nsrc = 2}, writes = {.ndst = 1, .regs = 2};
    operand_reader r = {0};
    uint64_t lost;
    operands o;
    operands_init(&o, &spec);
    // Alone nothing is lost, and the collector is taken for its two reads, one interval before and one after.
    assert_int_equal(operands_collect(&o, &p, &reads, &r, 99, &lost), 0);
    assert_int_equal(lost, 0);
    assert_int_equal(operands_collector_free(&o), 0);
    // The same two registers at the same time: each read finds its bank taken, the second ends an access
    // late.
    assert_int_equal(operands_collect(&o, &p, &reads, &r, 99, &lost), 2);
    assert_int_equal(operands_collector_free(&o), 99 + 4 * 2);
    assert_int_equal(o.conflict_cycles, 1);
    // A result for bank 0 that comes when nobody is there is written at once; a second one an access later.
    assert_int_equal(operands_write(&o, &p, &writes, &r, 99, 140), 140);
    assert_int_equal(operands_write(&o, &p, &writes, &r, 99, 140), 142);
    // A read that would come with them waits for both.
    assert_int_equal(operands_collect(&o, &p, &reads, &r, 139, &lost), 2);
    operands_free(&o);
}

// ---- units ----------------------------------------------------------------------------------------
enum { PLAIN, QUEUED, PAIR, WHOLE, HALF, POOLS };

static void make_units(units_spec *s, exec_units *u) {
    *s = (units_spec){.npools = POOLS};
    for (uint32_t n = 0; n < POOLS; n++) {
        s->pool[n] = (unit_pool){.n = n == PAIR ? 2 : 1, .unit = n};
        s->pool_of[0][n] = (uint8_t)n;
    }
    s->pool[QUEUED].queue = 2;
    s->pool[WHOLE].half = HALF + 1;
    s->pool[HALF].whole = WHOLE + 1;
    *u = (exec_units){.spec = s};
}

// Four cycles for each instruction. A plain unit is busy until 14. With a queue of two an instruction waits
// for those before it: 0, 3 and 6 cycles when they come in 10, 11 and 12; after the third, which ends in 22,
// another may be issued eight cycles before that. Of a pair both must be busy.
static void test_units(void **state) {
    (void)state;
    static units_spec s;
    static exec_units u;
    make_units(&s, &u);
    assert_int_equal(units_occupy(&u, 0, PLAIN, 4, 10), 0);
    assert_int_equal(units_free_at(&u, 0, PLAIN), 14);
    for (uint64_t n = 0; n < 3; n++) assert_int_equal(units_occupy(&u, 0, QUEUED, 4, 10 + n), 3 * n);
    assert_int_equal(units_free_at(&u, 0, QUEUED), 14);
    assert_int_equal(units_line_ends(&u, 0, QUEUED), 22);
    units_occupy(&u, 0, PAIR, 4, 10);
    assert_int_equal(units_free_at(&u, 0, PAIR), 0);
    units_occupy(&u, 0, PAIR, 4, 10);
    assert_int_equal(units_free_at(&u, 0, PAIR), 14);
    assert_int_equal(u.busy[QUEUED], 12);
    units_reset(&u);
    assert_int_equal(units_free_at(&u, 0, QUEUED), 0);
    assert_int_equal(u.busy[QUEUED], 0);
}

// A unit of two halves: each takes twice as long. The first instruction takes the half of its own, the second
// the one that is a unit by itself too; then both are busy until 2. What that unit does in 2 leaves the other
// half free.
static void test_halves(void **state) {
    (void)state;
    static units_spec s;
    static exec_units u;
    make_units(&s, &u);
    units_occupy(&u, 0, WHOLE, 1, 0);
    assert_int_equal(units_free_at(&u, 0, WHOLE), 0);
    assert_int_equal(units_free_at(&u, 0, HALF), 0);
    units_occupy(&u, 0, WHOLE, 1, 0);
    assert_int_equal(units_free_at(&u, 0, WHOLE), 2);
    assert_int_equal(units_free_at(&u, 0, HALF), 2);
    units_occupy(&u, 0, HALF, 4, 2);
    assert_int_equal(units_free_at(&u, 0, HALF), 6);
    assert_int_equal(units_free_at(&u, 0, WHOLE), 2);
}

// ---- fetch ----------------------------------------------------------------------------------------
static const fetch_spec caches = {.line = 128,
                                  .l0_size = 1024,
                                  .l1_size = 4096,
                                  .latency = 10,
                                  .l2_latency = 100,
                                  .memory_latency = 300,
                                  .l0_interval = 5,
                                  .l1_interval = 8};

// The first line comes from L2 in 100 + 10 cycles. Another scheduler, 50 cycles later, finds it on its way. A
// warp that stays in the line does not ask.
static void test_fetch(void **state) {
    (void)state;
    fetch_code code = {.lines = 4, .fits = true};
    fetch_unit f;
    fetch_init(&f, &caches, &code, 2);
    uint64_t line = 0, other = 0;
    assert_int_equal(fetch_instruction(&f, 0, &line, 16, 0), 110);
    assert_int_equal(fetch_instruction(&f, 0, &line, 112, 20), 0);
    assert_int_equal(fetch_instruction(&f, 1, &other, 0, 50), 110);
    assert_int_equal(f.n.fetches, 2);
    assert_int_equal(f.n.l0_misses, 2);
    assert_int_equal(f.n.l1_misses, 1);
    fetch_reset(&f);
    line = 0;
    assert_int_equal(fetch_instruction(&f, 0, &line, 0, 0), 110);
    assert_int_equal(f.n.l1_misses, 1);
    fetch_free(&f);
}

// One line is prefetched: it leaves L2 eight cycles behind the first, so it is there in 118. A line that a
// warp waits for passes it.
static void test_prefetch(void **state) {
    (void)state;
    fetch_spec s = caches;
    s.prefetch = 1;
    fetch_code code = {.lines = 4};
    fetch_unit f;
    fetch_init(&f, &s, &code, 1);
    f.delays.interval = s.l0_interval;
    uint64_t line = 0, far = 0;
    assert_int_equal(fetch_instruction(&f, 0, &line, 0, 0), 110);
    assert_int_equal(fetch_instruction(&f, 0, &far, 3 * 128, 4), 114);
    assert_int_equal(fetch_instruction(&f, 0, &line, 128, 111), 118);
    fetch_free(&f);
}

// Warm code is there 20 cycles after its first line is asked for, and ten more from L1 to L0.
static void test_warm_code(void **state) {
    (void)state;
    fetch_spec s = caches;
    s.first_line = 20;
    fetch_code code = {.lines = 8, .fits = true, .warm = 8};
    fetch_unit f;
    fetch_init(&f, &s, &code, 1);
    uint64_t line = 0, other = 0;
    assert_int_equal(fetch_instruction(&f, 0, &line, 0, 1000), 1030);
    assert_int_equal(fetch_instruction(&f, 0, &other, 256, 1010), 1030);
    fetch_free(&f);
}

// Of eight lines two are warm. The third comes from memory where caches were flushed, else from L2; the next
// time the second from L2 either way: an L1 of two lines has given it up for the seventh.
static void test_cold_code(void **state) {
    (void)state;
    for (int flushed = 0; flushed < 2; flushed++) {
        fetch_spec s = caches;
        s.first_line = 20, s.l0_size = 0, s.l1_size = 256, s.flushed = flushed;
        fetch_code code = {.lines = 8, .warm = 2};
        fetch_unit f;
        fetch_init(&f, &s, &code, 1);
        uint64_t line = 0, beyond = flushed ? 300 : 100;
        assert_int_equal(fetch_instruction(&f, 0, &line, 128, 1000), 1000 + 20 + 10);
        assert_int_equal(fetch_instruction(&f, 0, &line, 256, 2000), 2000 + beyond + 10);
        assert_int_equal(fetch_instruction(&f, 0, &line, 128, 3000), 3000); // it is still there
        assert_int_equal(fetch_instruction(&f, 0, &line, 256, 3001), 3001);
        assert_int_equal(fetch_instruction(&f, 0, &line, 6 * 128, 4000), 4000 + beyond + 10);
        assert_int_equal(fetch_instruction(&f, 0, &line, 128, 5000), 5000 + 100 + 10);
        assert_int_equal(f.n.cold, 2);
        fetch_free(&f);
    }
}

// ---- constants ------------------------------------------------------------------------------------
static const constants_spec consts = {.size = 2048,
                                      .second_size = 32768,
                                      .ways = 4,
                                      .latency = 30,
                                      .second_latency = 80,
                                      .beyond_latency = 300,
                                      .named_second = 50,
                                      .named_beyond = 270,
                                      .interval = 2};

// A line of 64 bytes comes from beyond both caches, and with it three more into the second: the next line is
// there. Four words of one load take two cycles each; the next load begins behind them.
static void test_constants(void **state) {
    (void)state;
    const_caches k;
    constants_init(&k, &consts);
    orr_access a = {.mask = 1};
    constants_answer r = constants_lookup(&k, &a, 1000);
    assert_int_equal(r.latency, 300);
    assert_int_equal(r.second_misses, 1);
    r = constants_lookup(&k, &a, 1100); // who asks again before it has come waits for it too
    assert_int_equal(r.latency, 200);
    assert_int_equal(r.misses, 0);
    a.addr[0] = 64;
    r = constants_lookup(&k, &a, 2000);
    assert_int_equal(r.latency, 80);
    assert_int_equal(r.misses, 1);
    assert_int_equal(r.second_misses, 0);
    orr_access four = {.mask = 15, .addr = {0, 4, 8, 12}};
    uint64_t start;
    assert_int_equal(constants_load(&k, &four, 4, 3000, &start), 3000 + 3 * 2 + 30);
    assert_int_equal(start, 3000);
    constants_load(&k, &a, 4, 3000, &start);
    assert_int_equal(start, 3008);
    assert_int_equal(k.n.requests, 5);
    constants_reset(&k);
    a.addr[0] = 0;
    assert_int_equal(constants_lookup(&k, &a, 0).latency, 300);
    constants_free(&k);
}

// What uniform loads find by an index: two lines, here. A third drives out the one that was not used for
// longest, which comes from the second cache then.
static void test_indexed(void **state) {
    (void)state;
    const_caches k;
    constants_spec s = consts;
    s.cold = true;
    s.indexed_size = 128;
    constants_init(&k, &s);
    orr_access a = {.mask = 1}, b = {.mask = 1, .addr = {64}}, c = {.mask = 1, .addr = {128}};
    assert_int_equal(constants_indexed(&k, &a, 1000), 1270);
    assert_int_equal(constants_indexed(&k, &a, 1100), 1270);
    assert_int_equal(constants_indexed(&k, &a, 2000), 2000);
    assert_int_equal(constants_indexed(&k, &b, 2000), 2050);
    assert_int_equal(constants_indexed(&k, &c, 3000), 3050);
    assert_int_equal(constants_indexed(&k, &b, 4000), 4000);
    assert_int_equal(constants_indexed(&k, &a, 4000), 4050);
    constants_free(&k);
}

// A parameter that is named comes from the second cache for the first instruction, and all others find it
// then. A line of another bank comes from beyond, and brings its neighbour into the second cache.
static void test_named(void **state) {
    (void)state;
    const_caches k;
    constants_init(&k, &consts);
    orr_program p = {.constants = {1, (3 << 16) + 1, (3 << 16) + 2}, .nconstants = 3};
    orr_tinst parameter = {.constant = 1}, first = {.constant = 2}, next = {.constant = 3};
    assert_int_equal(constants_named(&k, &p, &parameter, 10), 60);
    assert_int_equal(constants_named(&k, &p, &parameter, 20), 60);
    assert_int_equal(constants_named(&k, &p, &first, 10), 280);
    assert_int_equal(constants_named(&k, &p, &next, 10), 60);
    k.late = 7;
    orr_tinst load = {.constant = 1, .tclass = ORR_TC_CONST}; // loads have times of their own
    assert_int_equal(constants_named(&k, &p, &load, 10), 67);
    constants_free(&k);
}

// ---- bulk copies --------------------------------------------------------------------------------------
static uint64_t copied_at;
static void copied(void *self, const tma_copy *copy, uint64_t when) {
    (void)self;
    (void)copy;
    copied_at = when;
}

// Without a memory a copy takes the latency of L2 and its own; the first that uses a tensor map 500 cycles
// more, which after maps were asked for ahead count from then on. A map stays, however many others are used.
static void test_tma(void **state) {
    (void)state;
    tma_spec spec = {.perfect = true, .l2_latency = 200, .latency = 10, .map_miss = 500, .requests = 1};
    event_queue clock = {0};
    sm_port port = {.clock = &clock};
    data_pipe pipe = {0};
    tma_unit t;
    tma_init(&t, &spec, &port, &pipe);
    t.client = (tma_client){.done = copied};
    tma_copy plain = {.kind = TMA_LOAD, .row = 128, .bytes = 128, .count = {1, 1, 1, 1}}, box = plain;
    box.map = 0x1000;
    assert_true(tma_first_open(&t) == NEVER);
    tma_issue(&t, &plain, 1000);
    assert_int_equal(copied_at, 1210);
    assert_true(tma_first_open(&t) == NEVER); // done at once: there is no memory
    tma_issue(&t, &box, 1000);
    assert_int_equal(copied_at, 1710);
    tma_issue(&t, &box, 2000);
    assert_int_equal(copied_at, 2210);
    assert_int_equal(t.n.copies, 3);
    assert_int_equal(t.n.bytes, 384);
    for (uint64_t n = 1; n <= 100; n++) {
        tma_copy other = box;
        other.map = 0x1000 + 128 * n;
        tma_issue(&t, &other, 3000);
        assert_int_equal(copied_at, 3710);
    }
    tma_issue(&t, &box, 4000);
    assert_int_equal(copied_at, 4210);
    tma_reset(&t);
    tma_maps_prefetch(&t.maps, 999);
    tma_issue(&t, &box, 1400);
    assert_int_equal(copied_at, 1710);
    tma_free(&t);
}

// Two sub-cores. A product of 100 cycles is done 50 later. The second of the same warp begins behind it; one
// of the other sub-core at once. With two unfinished there is room for a third when the first is done. A wait
// for all groups but the newest waits for the first.
static void test_products(void **state) {
    (void)state;
    products_spec spec = {.latency = 50, .queue = 2, .per_sub = 1, .beside = {0, 2}};
    orr_tinst i = {.interval = 100, .imm = ORR_PRODUCT_SIGNALS}, short_one = {.interval = 10};
    product_units u;
    products_init(&u, &spec, 3);
    assert_int_equal(products_room(&u, 0), 0);
    assert_int_equal(products_issue(&u, 0, 0, &i, 1000), 1150);
    assert_int_equal(products_issue(&u, 0, 0, &i, 1005), 1250);
    assert_int_equal(products_issue(&u, 1, 1, &short_one, 1005), 1065);
    assert_int_equal(products_issue(&u, 1, 1, &short_one, 1006), 1075);
    assert_int_equal(products_beside(&u, 0, 1, 1199), 2); // two products of 100 cycles from 1000 on
    assert_int_equal(products_beside(&u, 0, 1, 1200), 0);
    assert_int_equal(products_beside(&u, 0, 0, 1100), 0); // a unit that they leave alone
    assert_int_equal(products_beside(&u, 2, 1, 1100), 0); // a sub-core that has none
    assert_int_equal(products_room(&u, 0), 1150);
    assert_int_equal(products_wait(&u, 0, 1), 1150);
    assert_int_equal(products_wait(&u, 0, 0), 1250);
    assert_int_equal(products_wait(&u, 1, 0), 0); // they end no group
    products_start_warp(&u, 0);
    assert_int_equal(products_room(&u, 0), 0);
    products_reset(&u);
    assert_int_equal(products_issue(&u, 0, 0, &i, 10), 160);
    products_free(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tma),        cmocka_unit_test(test_banks),
        cmocka_unit_test(test_reuse),      cmocka_unit_test(test_result_bus),
        cmocka_unit_test(test_collectors), cmocka_unit_test(test_collector_writes),
        cmocka_unit_test(test_units),      cmocka_unit_test(test_halves),
        cmocka_unit_test(test_fetch),      cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_warm_code),  cmocka_unit_test(test_cold_code),
        cmocka_unit_test(test_constants),  cmocka_unit_test(test_indexed),
        cmocka_unit_test(test_named),      cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
