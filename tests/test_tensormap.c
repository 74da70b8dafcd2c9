// Tensor maps against what the driver of an H200 made of the same parameters (tests/hopper/maps.bin): which
// it refuses, and the bytes of those that it does not. And bytes that are none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/tensormap.h"

typedef struct record { // as the program that asked the driver wrote it
    uint32_t im2col, type, rank, interleave, swizzle, promotion, fill, action;
    uint64_t dims[5], strides[4];
    uint32_t box[5], steps[5];
    int32_t lower[3], upper[3];
    uint32_t channels, pixels;
    int32_t coord[5];
    uint32_t off[3], result, bytes;
    uint64_t mbar;
    uint8_t map[128];
    uint64_t base;
} record;

static orr_tensor_map as_map(const record *r) {
    orr_tensor_map m = {.address = r->base,
                        .rank = (uint8_t)r->rank,
                        .type = (uint8_t)r->type,
                        .interleave = (uint8_t)r->interleave,
                        .swizzle = (uint8_t)r->swizzle,
                        .promotion = (uint8_t)r->promotion,
                        .im2col = r->im2col,
                        .nan_fill = r->fill == 1};
    for (int d = 0; d < 5; d++) {
        m.dims[d] = r->dims[d];
        m.strides[d] = d ? r->strides[d - 1] : orr_map_element(m.type);
        m.box[d] = r->box[d];
        m.steps[d] = r->steps[d];
    }
    memcpy(m.lower, r->lower, sizeof m.lower);
    memcpy(m.upper, r->upper, sizeof m.upper);
    m.channels = r->channels, m.pixels = r->pixels;
    return m;
}

static void test_driver(void **state) {
    (void)state;
    FILE *f = fopen(ORRERY_SOURCE_DIR "/tests/hopper/maps.bin", "rb");
    assert_non_null(f);
    uint32_t head[2], taken = 0, refused = 0;
    assert_int_equal(fread(head, 4, 2, f), 2);
    assert_int_equal(head[1], sizeof(record));
    for (uint32_t n = 0; n < head[0]; n++) {
        record r;
        assert_int_equal(fread(&r, sizeof r, 1, f), 1);
        if (r.fill > 1) continue;
        orr_tensor_map m = as_map(&r), back;
        const char *why = orr_map_check(&m);
        if ((why == NULL) != (r.result == 0))
            fail_msg("map %u: the driver says %u and we '%s'", n, r.result, why ? why : "nothing");
        if (why) {
            refused++;
            continue;
        }
        uint8_t out[ORR_MAP_BYTES];
        orr_map_encode(&m, out);
        if (memcmp(out, r.map, 64) != 0) fail_msg("map %u: other bytes than the driver's", n);
        assert_true(orr_map_decode(r.map, &back, &why));
        uint8_t again[ORR_MAP_BYTES];
        orr_map_encode(&back, again);
        assert_memory_equal(out, again, ORR_MAP_BYTES);
        taken++;
    }
    fclose(f);
    assert_true(taken > 200 && refused > 50);
}

static void test_noise(void **state) {
    (void)state;
    uint8_t in[ORR_MAP_BYTES];
    uint64_t seed = 1;
    uint32_t good = 0;
    for (int n = 0; n < 200000; n++) {
        for (int i = 0; i < ORR_MAP_BYTES; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            in[i] = (uint8_t)(seed >> 56);
        }
        orr_tensor_map m;
        const char *why = NULL;
        bool ok = orr_map_decode(in, &m, &why);
        if (!ok) {
            assert_non_null(why);
            continue;
        }
        good++;
        assert_true(m.rank >= 1 && m.rank <= ORR_MAP_RANK && orr_map_element(m.type));
        assert_null(orr_map_check(&m));
    }
    assert_true(good > 0); // most bits mean something
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_driver), cmocka_unit_test(test_noise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
