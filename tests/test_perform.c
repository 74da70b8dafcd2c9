// What requests do to memory when L2 serves them (core/perform.h), with accesses that are made by hand: an
// SM's own order, and requests whose operation is over.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/perform.h"
#include "ptx/ptx.h"

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry none() { ret; }\n";

typedef struct rig {
    orr_mem *mem;
    orr_module *module;
    orr_step *step;
    perform_ops ops;
    uint64_t buffer; // of two lines
} rig;

static void open_rig(rig *r) {
    orr_err e = {0};
    *r = (rig){.mem = orr_mem_new(&e)};
    r->module = orr_ptx_parse("none.ptx", text, sizeof text - 1, &e);
    assert_non_null(r->module);
    orr_launch l = {.kernel = r->module->load(r->module, "none", &e),
                    .grid = {1, 1, 1},
                    .block = {32, 1, 1},
                    .mem = r->mem};
    assert_non_null(l.kernel);
    r->step = orr_step_new(&l, 1, 1, 0, &e);
    assert_non_null(r->step);
    r->ops.launch = r->step;
    r->buffer = orr_mem_alloc(r->mem, 2 * ORR_LINE, "buffer", &e);
    assert_int_equal(r->buffer % ORR_LINE, 0);
}

static void close_rig(rig *r) {
    perform_free(&r->ops);
    orr_step_free(r->step, NULL);
    r->module->free(r->module);
    orr_mem_delete(r->mem);
}

static uint32_t *word(const rig *r, uint64_t addr) { return (uint32_t *)(orr_step_memory(r->step) + addr); }

// Lane 0's access of a word.
static orr_step_access access_to(const rig *r, int kind, uint32_t line, uint32_t at, uint32_t value) {
    orr_step_access a = {.kind = (uint8_t)kind, .bytes = 4, .mask = 1};
    a.addr[0] = r->buffer + line * ORR_LINE + 4 * at;
    memcpy(a.data, &value, sizeof value);
    return a;
}

static uint64_t line_of(const rig *r, uint32_t n) { return r->buffer / ORR_LINE + n; }

static uint32_t store(rig *r, uint32_t line, uint32_t at, uint32_t value) {
    orr_step_access a = access_to(r, ORR_STEP_STORE, line, at, value);
    return perform_store(&r->ops, &a, line_of(r, line));
}

// A load behind a store of its SM finds what that has written, although memory serves the load first; another
// SM's word beside it stays.
static void own_order(void **state) {
    (void)state;
    rig r;
    open_rig(&r);
    *word(&r, r.buffer + 4) = 7;
    uint32_t stored = store(&r, 0, 0, 5);
    orr_step_access a = access_to(&r, ORR_STEP_LOAD, 0, 0, 99);
    uint32_t loaded = perform_load(&r.ops, &a, line_of(&r, 0));
    perform_serve(&r.ops, loaded);
    uint32_t found;
    memcpy(&found, a.data, sizeof found);
    assert_int_equal(found, 5);
    assert_int_equal(*word(&r, r.buffer + 4), 7);
    *word(&r, r.buffer) = 6; // another SM's, later
    perform_serve(&r.ops, stored);
    assert_int_equal(*word(&r, r.buffer), 6);
    close_rig(&r);
}

// A hit in L1 has the SM's own stores added that memory does not have yet.
static void hits(void **state) {
    (void)state;
    rig r;
    open_rig(&r);
    store(&r, 0, 0, 5);
    orr_step_access a = access_to(&r, ORR_STEP_LOAD, 0, 0, 99);
    perform_hit(&r.ops, &a, line_of(&r, 0));
    uint32_t found;
    memcpy(&found, a.data, sizeof found);
    assert_int_equal(found, 5);
    assert_int_equal(*word(&r, r.buffer), 0);
    close_rig(&r);
}

// A request that is served once more, when its operation's place is another one's, does nothing to that.
static void served_again(void **state) {
    (void)state;
    rig r;
    open_rig(&r);
    uint32_t first = store(&r, 0, 0, 5);
    perform_serve(&r.ops, first);
    assert_int_equal(*word(&r, r.buffer), 5);
    uint32_t second = store(&r, 1, 0, 8); // in the same place
    assert_int_equal(r.ops.ops.n, 1);
    perform_serve(&r.ops, first);
    assert_int_equal(*word(&r, r.buffer + ORR_LINE), 0);
    perform_serve(&r.ops, second);
    assert_int_equal(*word(&r, r.buffer + ORR_LINE), 8);
    close_rig(&r);
}

// A store goes with another one's request. Where that has been performed, in front of a load, and its place
// is another's, the request has the new one's operation.
static void joined(void **state) {
    (void)state;
    rig r;
    open_rig(&r);
    uint32_t first = store(&r, 0, 0, 5), second = store(&r, 0, 1, 6);
    assert_int_equal(perform_join(&r.ops, second, first), first);
    perform_serve(&r.ops, first);
    assert_int_equal(*word(&r, r.buffer), 5);
    assert_int_equal(*word(&r, r.buffer + 4), 6);
    uint32_t third = store(&r, 0, 2, 7);
    assert_int_equal(perform_join(&r.ops, third, first), third);
    perform_serve(&r.ops, third);
    assert_int_equal(*word(&r, r.buffer + 8), 7);
    close_rig(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_order), cmocka_unit_test(hits),
                                       cmocka_unit_test(served_again), cmocka_unit_test(joined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
