// Ideal streams: what stays as it is (blocks of code, masks, how often, which bytes), and what becomes of the
// addresses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "explain/explain.h"
#include "launch/launch.h"
#include "memory/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct bed {
    orr_script *script;
    orr_cpu *cpu;
    orr_tape *tape;
} bed;

static bool on_launch(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    const bed *b = arg;
    (void)c;
    return orr_tape_launch(b->tape, l, 1, NULL, e);
}

static void bed_open(bed *b, const char *name) {
    orr_err e = {0};
    orr_arena a = {0};
    *b = (bed){.tape = orr_tape_new(1 << 24)};
    const char *path = orr_find_workload(&a, name, &e);
    b->script = path ? orr_script_load(path, "small", NULL, 0, &e) : NULL;
    assert_non_null(b->script);
    assert_true(orr_script_source(b->script, "sass", 90, &e));
    b->cpu = orr_cpu_new(on_launch, b, &e);
    orr_backend backend = orr_cpu_backend(b->cpu);
    orr_script_stats stats;
    assert_true(orr_script_run(b->script, &backend, false, &stats, &e));
    orr_arena_free(&a);
}

static void bed_close(bed *b) {
    orr_tape_free(b->tape);
    orr_cpu_delete(b->cpu);
    orr_script_free(b->script);
}

// All plain accesses of a space are made so.
static orr_ideal_kernel ideal_of(const orr_kernel *k, uint8_t space, enum orr_ideal_access how) {
    orr_ideal_kernel to = {.kernel = k, .ninsts = k->ninsts};
    to.how = calloc(k->ninsts, 1);
    to.group = calloc(k->ninsts, sizeof *to.group);
    for (uint32_t n = 0; n < k->ninsts; n++) {
        to.group[n] = orr_line_group(k, &k->insts[n]);
        if (k->insts[n].space == space && orr_inst_access(&k->insts[n])) to.how[n] = (uint8_t)how;
    }
    return to;
}

typedef struct sums { // of a space's accesses in a launch
    uint64_t blocks, accesses, lanes, sectors, passes, phases;
    uint64_t bytes_xor; // of all addresses: the same set has the same
} sums;

static void add_warp(sums *s, const orr_kernel *k, uint8_t space, orr_warp_trace w) {
    orr_trace t = orr_trace_open(w);
    uint32_t block, mask;
    while (orr_trace_block(&t, k->nblocks, &block, &mask) > 0) {
        const orr_block *b = &k->blocks[block];
        s->blocks = s->blocks * 31 + block + mask;
        for (uint32_t i = b->first, left = b->nmem; left; i++) {
            orr_access a;
            orr_coalesced c;
            if (!orr_inst_traced(&k->insts[i])) continue;
            left--;
            assert_true(orr_trace_access(&t, &a));
            assert_int_equal(a.mask & ~mask, 0);
            if (k->insts[i].space != space || !a.mask) continue;
            uint32_t bytes = k->insts[i].width * k->insts[i].vec;
            s->accesses++;
            s->lanes += (uint64_t)orr_popc(a.mask);
            for (uint32_t m = a.mask; m; m &= m - 1) s->bytes_xor ^= a.addr[orr_ffs(m)] * 0x9e3779b97f4a7c15u;
            if (space == ORR_SPACE_SHARED) {
                orr_banked banked = orr_bank_conflicts(&a, bytes, ORR_BANKS_LOAD);
                s->passes += banked.passes;
                s->phases += banked.phases;
            } else {
                orr_coalesce(&a, bytes, ORR_WHOLE_WARP, &c);
                s->sectors += c.sectors;
            }
        }
    }
}

static sums sums_of(const bed *b, uint8_t space, enum orr_ideal_access how) {
    const orr_tape_item *i = orr_tape_item_at(b->tape, orr_tape_items(b->tape) - 1);
    const orr_kernel *k = i->info.kernel;
    orr_ideal_kernel ideal = ideal_of(k, space, how);
    orr_ideal_stream *stream = orr_ideal_stream_new();
    orr_player player = {0};
    orr_err e = {0};
    orr_tb tb;
    sums s = {0};
    orr_source *from =
        orr_ideal_stream_open(stream, orr_player_open(&player, b->tape, orr_tape_items(b->tape) - 1), &ideal);
    while (from->next(from, &tb, &e) > 0)
        for (uint32_t w = 0; w < tb.nwarps; w++) add_warp(&s, k, space, tb.warps[w]);
    assert_int_equal(e.status, 0);
    orr_ideal_stream_free(stream);
    orr_player_free(&player);
    free(ideal.how);
    free(ideal.group);
    return s;
}

// out[x * height + y]: a sector a lane. In order the block's 32 x 8 elements are 32 runs of 8 floats, a
// sector each, or two where a run is not aligned; the same addresses as before.
static void in_order(void **state) {
    (void)state;
    bed b;
    bed_open(&b, "transpose_naive");
    sums was = sums_of(&b, ORR_SPACE_GLOBAL, ORR_ACCESS_AS_IS);
    sums is = sums_of(&b, ORR_SPACE_GLOBAL, ORR_ACCESS_IN_ORDER);
    assert_int_equal(was.blocks, is.blocks);
    assert_int_equal(was.accesses, is.accesses);
    assert_int_equal(was.lanes, is.lanes);
    assert_int_equal(was.bytes_xor, is.bytes_xor);
    assert_true(is.sectors * 2 < was.sectors);
    sums packed = sums_of(&b, ORR_SPACE_GLOBAL, ORR_ACCESS_PACKED);
    assert_int_equal(packed.lanes, was.lanes);
    assert_true(packed.sectors * ORR_SECTOR >= packed.lanes * 4); // no byte is two lanes'
    assert_true(packed.sectors <= is.sectors);
    bed_close(&b);
}

// sgemm_naive, n = 50: a block of 32 x 8 threads loads each of its 8 rows of A for 32 columns.
static void once(void **state) {
    (void)state;
    bed b;
    bed_open(&b, "sgemm_naive");
    sums was = sums_of(&b, ORR_SPACE_GLOBAL, ORR_ACCESS_AS_IS);
    sums is = sums_of(&b, ORR_SPACE_GLOBAL, ORR_ACCESS_ONCE);
    assert_int_equal(was.blocks, is.blocks);
    // A and B once a block: a row of blocks has all of B, a column of blocks all of A, and there are 2 x 7; C
    // is loaded and stored, and only one of both is the first.
    assert_int_equal(is.lanes, 50 * 50 * (7 + 2 + 1));
    sums staged = sums_of(&b, ORR_SPACE_GLOBAL, ORR_ACCESS_STAGED);
    assert_int_equal(staged.lanes, was.lanes);
    sums quarter = sums_of(&b, ORR_SPACE_GLOBAL, ORR_ACCESS_QUARTER);
    assert_in_range(quarter.accesses * 4, was.accesses, was.accesses * 3 / 2);
    bed_close(&b);
}

static void banks(void **state) {
    (void)state;
    bed b;
    bed_open(&b, "histogram");
    sums was = sums_of(&b, ORR_SPACE_SHARED, ORR_ACCESS_AS_IS);
    sums is = sums_of(&b, ORR_SPACE_SHARED, ORR_ACCESS_BANKS);
    assert_true(was.passes > was.phases);
    assert_int_equal(is.passes, is.phases);
    assert_int_equal(is.lanes, was.lanes);
    bed_close(&b);
}

// What lines ask for, as it is counted by hand.
static void lines(void **state) {
    (void)state;
    bed b;
    bed_open(&b, "transpose_naive");
    orr_line_uses all = {0};
    orr_err e = {0};
    assert_true(orr_line_uses_make(b.tape, &all, &e));
    bool stores = false;
    for (size_t k = 0; k < all.n; k++) {
        if (all.at[k].kind != ORR_ACCESS_STORES) continue;
        stores = true;
        assert_int_equal(all.at[k].line, 6);
        assert_int_equal(all.at[k].lanes, 100 * 70);
        assert_int_equal(all.at[k].bytes, 100 * 70 * 4);
        assert_int_equal(all.at[k].sectors, 100 * 70); // one a lane: 280 bytes from lane to lane
    }
    assert_true(stores);
    free(all.at);
    bed_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(once),
        cmocka_unit_test(banks),
        cmocka_unit_test(lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
