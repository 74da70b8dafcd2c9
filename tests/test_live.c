// Liveness (isa/live.c) of functions drawn by hand, and where generic addresses lead (isa/isa.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "isa/live.h"

// A function of registers W0 to W3 and P0, an instruction at a time.
typedef struct drawn {
    orr_inst insts[16];
    orr_operand operands[64];
    orr_block blocks[8];
    orr_kernel k;
    orr_func f;
} drawn;

static orr_operand w(uint32_t n) { return (orr_operand){.kind = ORR_K_REG, .cls = ORR_W, .reg = n}; }

static orr_inst *put(drawn *d, uint16_t op, int32_t to, int nsrc, const uint32_t *src) {
    orr_inst *i = &d->insts[d->k.ninsts++];
    *i = (orr_inst){.op = op, .guard = -1, .target = -1, .first = d->k.noperands};
    if (to >= 0) {
        d->operands[d->k.noperands++] = w((uint32_t)to);
        i->ndst = 1;
    }
    for (int s = 0; s < nsrc; s++) d->operands[d->k.noperands++] = w(src[s]);
    i->nsrc = (uint8_t)nsrc;
    d->blocks[d->k.nblocks - 1].count++;
    return i;
}

static void begin(drawn *d, int32_t next) {
    d->blocks[d->k.nblocks++] = (orr_block){.first = d->k.ninsts, .next = next};
}

static void branch(drawn *d, int32_t guard, int32_t to) {
    orr_inst *i = put(d, ORR_OP_BRA, -1, 0, NULL);
    i->guard = guard;
    i->target = to;
}

static void finish(drawn *d) {
    d->k.insts = d->insts;
    d->k.operands = d->operands;
    d->k.blocks = d->blocks;
    d->f.nblocks = d->k.nblocks;
    d->f.nregs[ORR_P] = 1;
    d->f.nregs[ORR_W] = 4;
}

#define SRC(...)                                                                                             \
    (const uint32_t[]) { __VA_ARGS__ }

static bool in(const orr_live *l, uint32_t block, uint32_t reg) {
    return orr_live_has(orr_live_in(l, block), l->base[ORR_W] + reg);
}
static bool out(const orr_live *l, uint32_t block, uint32_t reg) {
    return orr_live_has(orr_live_out(l, block), l->base[ORR_W] + reg);
}

//   0: W0 = ..; W1 = ..        W0 is needed in every iteration, W1 behind the loop
//   1: W2 = W0 + W2; @P0 bra 1  W2 comes round, and into block 1 from nowhere
//   2: exit with W1, W2
static void loop(void **state) {
    (void)state;
    drawn d = {0};
    begin(&d, 1);
    put(&d, ORR_OP_MOV, 0, 0, NULL);
    put(&d, ORR_OP_MOV, 1, 0, NULL);
    begin(&d, 2);
    put(&d, ORR_OP_ADD, 2, 2, SRC(0, 2));
    branch(&d, 0, 1);
    begin(&d, -1);
    put(&d, ORR_OP_EXIT, -1, 2, SRC(1, 2));
    finish(&d);
    orr_live l;
    assert_true(orr_live_of(&l, &d.k, &d.f, 100));
    for (uint32_t r = 0; r < 3; r++) {
        assert_int_equal(in(&l, 0, r), r == 2); // W0, W1 are written there
        assert_true(out(&l, 0, r) && in(&l, 1, r));
        assert_true(out(&l, 1, r)); // W0 for the next iteration
        assert_int_equal(in(&l, 2, r), r != 0);
        assert_false(out(&l, 2, r));
    }
    assert_false(in(&l, 0, 3));                                   // nobody reads W3
    assert_true(orr_live_has(orr_live_in(&l, 0), l.base[ORR_P])); // P0, which nobody writes
    assert_false(orr_live_has(orr_live_in(&l, 2), l.base[ORR_P]));
    orr_live_free(&l);
}

// A guarded write keeps what lanes had whom it skips; one without a guard ends a life.
static void guarded(void **state) {
    (void)state;
    for (int32_t guard = -1; guard < 1; guard++) {
        drawn d = {0};
        begin(&d, -1);
        put(&d, ORR_OP_MOV, 3, 0, NULL)->guard = guard;
        put(&d, ORR_OP_EXIT, -1, 1, SRC(3));
        finish(&d);
        orr_live l;
        assert_true(orr_live_of(&l, &d.k, &d.f, 1));
        assert_int_equal(in(&l, 0, 3), guard >= 0);
        orr_live_free(&l);
    }
}

// What would take too much room is not looked at, but registers have their places; a branch out of the
// function (a damaged file) leads nowhere.
static void bounds(void **state) {
    (void)state;
    drawn d = {0};
    begin(&d, 1);
    put(&d, ORR_OP_MOV, 0, 0, NULL);
    begin(&d, -1);
    put(&d, ORR_OP_MOV, 1, 1, SRC(0));
    branch(&d, -1, 7);
    finish(&d);
    orr_live l;
    assert_false(orr_live_of(&l, &d.k, &d.f, 1)); // a word for each of two blocks
    assert_null(l.in);
    assert_int_equal(l.base[ORR_CLASSES], 5);
    assert_true(orr_live_of(&l, &d.k, &d.f, 2));
    assert_true(out(&l, 0, 0) && in(&l, 1, 0));
    assert_false(out(&l, 1, 1));
    orr_live_free(&l);
}

static void generic(void **state) {
    (void)state;
    static const struct {
        uint64_t window;
        uint8_t space;
    } all[] = {{ORR_SHARED_WINDOW, ORR_SPACE_SHARED},
               {ORR_LOCAL_WINDOW, ORR_SPACE_LOCAL},
               {ORR_PARAM_WINDOW, ORR_SPACE_PARAM}};
    for (int n = 0; n < 3; n++) {
        uint64_t at = all[n].window;
        assert_int_equal(orr_generic_space(at), all[n].space);
        assert_int_equal(orr_generic_space(at + ORR_WINDOW_BYTES - 1), all[n].space);
        assert_int_equal(orr_generic_space(at - 1), ORR_SPACE_GLOBAL);
        assert_int_equal(orr_generic_space(at + ORR_WINDOW_BYTES), ORR_SPACE_GLOBAL);
        assert_int_equal(orr_generic_window(all[n].space), at);
    }
    assert_int_equal(orr_generic_space(0), ORR_SPACE_GLOBAL);
    assert_int_equal(orr_generic_window(ORR_SPACE_GLOBAL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loop),
        cmocka_unit_test(guarded),
        cmocka_unit_test(bounds),
        cmocka_unit_test(generic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
