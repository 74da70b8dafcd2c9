// The driver's part of constant bank 0, for each architecture. Offsets are those that ptxas 13.0 reads when
// it compiles PTX's special registers, cvta and isspacep for it; values follow from the launch and from the
// windows of exec.h.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exec/sass/translate.h"

enum { BYTES = 0x400, LOCAL = 0x150, PARAMS = 24, STATIC = 0x420, DYNAMIC = 64 };

static uint8_t bank[BYTES];
static uint64_t where_constants_are = 0x700000001000;

static uint32_t word(uint32_t at) {
    uint32_t v;
    memcpy(&v, bank + at, 4);
    return v;
}
static uint64_t wide(uint32_t at) { return (uint64_t)word(at + 4) << 32 | word(at); }

static void fill(unsigned sm, uint32_t bytes, uint32_t param_base) {
    orr_kernel k = {.shared_bytes = STATIC,
                    .param_bytes = PARAMS,
                    .code.param_base = param_base,
                    .code.bank_var = {[3] = 1}};
    orr_image image = {.var_addr = &where_constants_are};
    orr_launch l = {.kernel = &k,
                    .image = &image,
                    .grid = {7, 8, 9},
                    .block = {32, 2, 3},
                    .dynamic_shared = DYNAMIC,
                    .index = 4,
                    .sm_count = 132};
    memset(bank, 0xee, sizeof bank);
    memset(bank, 0, bytes);
    orr_sass_bank0(bank, bytes, sm, &l, LOCAL);
}

static void dimensions(uint32_t block, uint32_t grid) {
    const uint32_t want[6] = {32, 2, 3, 7, 8, 9};
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(word(block + 4 * n), want[n]);
        assert_int_equal(word(grid + 4 * n), want[3 + n]);
    }
}

static void turing(void **state) {
    (void)state;
    fill(75, BYTES, 0x160);
    dimensions(0x0, 0xc);
    assert_true(wide(0x18) == ORR_SHARED_WINDOW);
    assert_true(wide(0x20) == ORR_LOCAL_WINDOW);
    assert_int_equal(word(0x28), LOCAL); // the stack grows down from the end
    assert_int_equal(word(0x2c), DYNAMIC);
    assert_int_equal(word(0x30), 5);
    assert_true(wide(0x40) + 0x160 == ORR_PARAM_WINDOW);
    assert_true(wide(0x50) == where_constants_are);
    assert_int_equal(word(0x10c), 132);
    assert_int_equal(word(0x114), 0x160 + PARAMS - 1);
}

static void ampere(void **state) {
    (void)state;
    for (unsigned sm = 80; sm < 90; sm++) {
        fill(sm, BYTES, 0x160);
        dimensions(0x0, 0xc);
        assert_true(wide(0x18) == ORR_SHARED_WINDOW);
        assert_int_equal(word(0x12c), 0x160 + PARAMS - 1);
        // 0x420 + 64 bytes are 9 units of 128; behind them are the system's 1024
        assert_int_equal(word(0x114), 1024);
        assert_int_equal(word(0x120), 9 * 128 + 1024);
        assert_int_equal(word(0x124), 9 * 128 + 512);
    }
}

static void hopper(void **state) {
    (void)state;
    fill(90, BYTES, 0x210);
    dimensions(0x0, 0xc);
    assert_true(wide(0x20) == ORR_LOCAL_WINDOW);
    assert_int_equal(word(0x28), LOCAL);
    assert_true(wide(0xd0) == where_constants_are);
    assert_true(wide(0x198) == ORR_PARAM_WINDOW);
    assert_true(wide(0x1a0) == ORR_PARAM_WINDOW + PARAMS - 1);
    assert_int_equal(word(0x68), 1024); // the system's shared memory is the first
    assert_int_equal(word(0x6c), 512);
    assert_int_equal(word(0x140), 0); // no cluster was asked for: one block
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(word(0x144 + 4 * n), 1);
        assert_int_equal(word(0x150 + 4 * n), 0x3f800000); // 1.0f
        assert_int_equal(word(0x15c + 4 * n), 7 + n);
    }
    assert_int_equal(word(0x188), 1);
}

static void blackwell(void **state) {
    (void)state;
    fill(100, BYTES, 0x380);
    dimensions(0x360, 0x370);
    assert_true(wide(0x2f8) == ORR_LOCAL_WINDOW);
    assert_int_equal(word(0x37c), LOCAL);
    assert_true(wide(0x348) == ORR_PARAM_WINDOW);
    assert_true(wide(0x120) == where_constants_are);
    assert_int_equal(word(0x2ac), DYNAMIC);
    assert_int_equal(word(0x2d0), 132);
}

static void short_banks(void **state) { // a damaged file: nothing is written past its end
    (void)state;
    const unsigned sms[] = {75, 80, 89, 90, 100, 120};
    for (size_t s = 0; s < sizeof sms / sizeof *sms; s++)
        for (uint32_t bytes = 0; bytes < BYTES; bytes += 3) {
            fill(sms[s], bytes, 0x160);
            for (uint32_t at = bytes; at < BYTES; at++) assert_int_equal(bank[at], 0xee);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(turing), cmocka_unit_test(ampere),
                                       cmocka_unit_test(hopper), cmocka_unit_test(blackwell),
                                       cmocka_unit_test(short_banks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
