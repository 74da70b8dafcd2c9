// Translations, worked out by hand: pieces of 1 KB, a walk takes 100 cycles, walks begin 10 apart.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mem_rig.h"
#include "memory/tlb.h"

static const char *const pieces[] = {"tlb.page=1 KB", "tlb.cold=yes", "tlb.walk=100", "tlb.interval=10",
                                     NULL};

static void walks(void **state) {
    (void)state;
    orr_gpu *g = small_one(pieces);
    orr_tlb t;
    orr_tlb_init(&t, orr_tlb_spec_of(g));
    assert_true(orr_tlb_ready(&t, 3) == ORR_TLB_NEW);
    assert_int_equal(orr_tlb_walk(&t, 3, CYCLES(5)), CYCLES(105)); // lines 0 to 7 are one piece
    assert_int_equal(orr_tlb_ready(&t, 0), CYCLES(105));
    assert_int_equal(orr_tlb_ready(&t, 7), CYCLES(105));
    assert_true(orr_tlb_ready(&t, 8) == ORR_TLB_NEW);
    assert_int_equal(orr_tlb_walk(&t, 7, CYCLES(50)), CYCLES(105));   // the same walk
    assert_int_equal(orr_tlb_walk(&t, 8, CYCLES(6)), CYCLES(115));    // begins 10 after it
    assert_int_equal(orr_tlb_walk(&t, 16, CYCLES(200)), CYCLES(300)); // nobody is before it
    assert_int_equal(t.walks, 3);
    orr_tlb_restart(&t); // the next kernel finds them
    assert_int_equal(orr_tlb_ready(&t, 8), 0);
    assert_int_equal(t.walks, 0);
    assert_true(orr_tlb_ready(&t, 24) == ORR_TLB_NEW);
    orr_tlb_free(&t);
    orr_gpu_free(g);
}

// The table grows, and no piece is lost: the n-th walk begins at 10 n.
static void many(void **state) {
    (void)state;
    orr_gpu *g = small_one(pieces);
    orr_tlb t;
    orr_tlb_init(&t, orr_tlb_spec_of(g));
    uint64_t far = UINT64_MAX >> 10; // lines of the highest addresses, too
    for (uint64_t n = 0; n < 5000; n++) {
        uint64_t line = n % 2 ? far - n * 8 : n * 8;
        assert_int_equal(orr_tlb_walk(&t, line, 0), CYCLES(10 * n + 100));
    }
    for (uint64_t n = 0; n < 5000; n++)
        assert_int_equal(orr_tlb_ready(&t, n % 2 ? far - n * 8 : n * 8), CYCLES(10 * n + 100));
    orr_tlb_free(&t);
    orr_gpu_free(g);
}

static void warm(void **state) {
    (void)state;
    const char *sets[] = {"tlb.page=1 KB", "tlb.walk=100", NULL};
    orr_gpu *g = small_one(sets);
    orr_tlb t;
    orr_tlb_init(&t, orr_tlb_spec_of(g));
    assert_int_equal(orr_tlb_ready(&t, 3), 0);
    orr_tlb_restart(&t);
    orr_tlb_free(&t);
    orr_gpu_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks),
        cmocka_unit_test(many),
        cmocka_unit_test(warm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
