// Textures: what the texture unit makes of coordinates and texels, against what an H200 read; where texels
// lie; what a read takes of the unit.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/texture.h"
#include "exec/texture.h"
#include "memory/memory.h"

// ---- texels, as the program made them that ran on the H200 -------------------------------------
static uint32_t hash(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t x = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA6Bu ^ (c + 0x165667B1u) * 0xC2B2AE35u;
    x ^= x >> 15, x *= 0x2C1B3C6Du, x ^= x >> 12, x *= 0x297A2D39u, x ^= x >> 15, x *= 0x85EBCA6Bu;
    return x ^ x >> 13;
}
enum { RANDOM, BASIS, WIDE, WIDER, ANY, LEVEL, SEQUENCE, BASIS_FRONT, BASIS_BACK };

static uint32_t float_of(uint32_t r, uint32_t i, uint32_t k, uint32_t level, int data) {
    int x = (int)(i & 4095), y = (int)(i >> 12 & 4095), z = (int)(i >> 24);
    bool corner = (uint32_t)((y & 1) * 2 + (x & 1)) == k;
    float f = 0;
    switch (data) {
    case RANDOM: return 0x3f000000u | r >> 9;
    case WIDE: return (r & 0x80000000u) | (123 + (r >> 23 & 7)) << 23 | hash(r, i, k) >> 9;
    case WIDER: return (r & 0x80000000u) | (107 + (r >> 8) % 40) << 23 | hash(r, i, k) >> 9;
    case BASIS: f = corner; break;
    case BASIS_FRONT: f = corner && z == 0; break;
    case BASIS_BACK: f = corner && z == 1; break;
    case LEVEL:
        f = k == 0 ? (float)level : k == 1 ? (float)(1u << level) : k == 2 ? 1.0f : (float)(level & 1);
        break;
    default: f = (float)i; break;
    }
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

static void texel_of(const orr_texture *t, int data, uint32_t seed, const uint32_t at[4], uint32_t k,
                     uint8_t *to) {
    uint32_t i = (at[2] * 4096 + at[1]) * 4096 + at[0], level = at[3], r = hash(seed + 77 * level, i, k);
    uint32_t v = data == SEQUENCE ? at[0] * t->channels + k : r >> 9,
             bytes = orr_tex_texel_bytes(t) / t->channels;
    if (t->format == ORR_TEX_U32 || t->format == ORR_TEX_S32) v = r;
    if (t->format == ORR_TEX_F16 && data != SEQUENCE)
        v = (r >> 20 & 1) << 15 | (8 + (r >> 16) % 12) << 10 | (r & 1023);
    if (t->format == ORR_TEX_F32) v = float_of(r, i, k, level, data);
    memcpy(to, &v, bytes);
}

static uint8_t *filled(const orr_texture *t, int data, uint32_t seed) {
    uint8_t *host = calloc(1, t->bytes);
    uint32_t texel = orr_tex_texel_bytes(t);
    for (uint32_t l = 0; l < t->nlevels; l++) {
        const orr_tex_level *v = &t->level[l];
        uint32_t deep = t->layers ? t->layers : v->depth;
        for (uint32_t z = 0; z < deep; z++)
            for (uint32_t y = 0; y < v->height; y++)
                for (uint32_t x = 0; x < v->width; x++)
                    for (uint32_t k = 0; k < t->channels; k++)
                        texel_of(
                            t, data, seed, (uint32_t[4]){x, y, z, l}, k,
                            host + orr_tex_offset(t, l, x * texel, y, t->layers ? 0 : z, t->layers ? z : 0) +
                                k * texel / t->channels);
    }
    return host;
}

// ---- reads -------------------------------------------------------------------------------------
typedef struct row { // of texture_h200.def: a texture, or a read of the one before it
    bool texture;
    int shape, where, format, channels, normalized_read, linear, address, normalized;
    uint32_t width, height, depth, levels;
    int mip_linear;
    uint32_t bias, least, most;
    int data;
    uint32_t seed;
    int operation;
    uint32_t c[3], layer, level, want[4];
} row;
static const row rows[] = {
#define TEXTURE(a, b, f, ch, n, l, ad, no, w, h, d, lv, ml, bi, lo, hi, da, se)                              \
    {.texture = true,                                                                                        \
     .shape = a,                                                                                             \
     .where = b,                                                                                             \
     .format = ORR_TEX_##f,                                                                                  \
     .channels = ch,                                                                                         \
     .normalized_read = n,                                                                                   \
     .linear = l,                                                                                            \
     .address = ad,                                                                                          \
     .normalized = no,                                                                                       \
     .width = w,                                                                                             \
     .height = h,                                                                                            \
     .depth = d,                                                                                             \
     .levels = lv,                                                                                           \
     .mip_linear = ml,                                                                                       \
     .bias = bi,                                                                                             \
     .least = lo,                                                                                            \
     .most = hi,                                                                                             \
     .data = da,                                                                                             \
     .seed = se},
#define READ(op, x, y, z, la, le, r0, r1, r2, r3)                                                            \
    {.operation = op, .c = {x, y, z}, .layer = la, .level = le, .want = {r0, r1, r2, r3}},
#include "texture_h200.def"
#undef TEXTURE
#undef READ
};

static orr_texture texture_of(const row *r) {
    orr_texture t = {.shape = (uint8_t)r->shape,
                     .format = (uint8_t)r->format,
                     .channels = (uint8_t)r->channels,
                     .normalized_read = r->normalized_read,
                     .linear = r->linear,
                     .normalized = r->normalized,
                     .mip_linear = r->mip_linear,
                     .border = {0.25f, 0.6f, -1.5f, 3.0f}};
    for (int n = 0; n < 3; n++) t.address[n] = (uint8_t)r->address;
    memcpy(&t.bias, &r->bias, 4), memcpy(&t.min_level, &r->least, 4), memcpy(&t.max_level, &r->most, 4);
    if (r->shape > ORR_TEX_3D) t.layers = r->depth;
    if (r->where) {
        t.where = (uint8_t)r->where;
        t.nlevels = 1;
        uint32_t row_bytes = (r->width * orr_tex_texel_bytes(&t) + 511) / 512 * 512;
        t.level[0] = (orr_tex_level){
            .width = r->width, .height = r->height ? r->height : 1, .depth = 1, .row = row_bytes};
        t.bytes = (uint64_t)row_bytes * t.level[0].height;
    } else {
        assert_true(
            orr_tex_lay_out(&t, r->width, r->height, r->shape == ORR_TEX_3D ? r->depth : 1, r->levels));
    }
    return t;
}

static void test_reads(void **state) {
    (void)state;
    orr_texture t = {0};
    uint8_t *host = NULL;
    size_t wrong = 0, reads = 0;
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
        const row *r = &rows[n];
        if (r->texture) {
            free(host);
            t = texture_of(r);
            assert_true(orr_tex_sound(&t));
            host = filled(&t, r->data, r->seed);
            continue;
        }
        orr_tex_at a = {.shape = t.shape, .integers = r->operation == 1, .layer = r->layer};
        memcpy(a.c, r->c, sizeof a.c), memcpy(a.i, r->c, sizeof a.i);
        memcpy(&a.level, &r->level, 4), a.ilevel = (int32_t)r->level;
        uint32_t out[4];
        if (r->operation > 1)
            orr_tex_gather(&t, host, &a, r->operation - 2, out);
        else
            orr_tex_sample(&t, host, &a, out);
        reads++;
        if (memcmp(out, r->want, sizeof out)) {
            print_message("row %zu: %08x %08x %08x %08x, not %08x %08x %08x %08x\n", n, out[0], out[1],
                          out[2], out[3], r->want[0], r->want[1], r->want[2], r->want[3]);
            wrong++;
        }
    }
    free(host);
    assert_true(reads > 300);
    assert_int_equal(wrong, 0);
}

// ---- where texels lie -----------------------------------------------------------------------------
// Every byte of a texture has a place of its own inside its bytes, and 16 bytes x 2 rows are a sector.
static void test_layout(void **state) {
    (void)state;
    orr_texture t = {.shape = ORR_TEX_3D, .format = ORR_TEX_U16, .channels = 2};
    assert_true(orr_tex_lay_out(&t, 37, 19, 5, 4));
    assert_true(orr_tex_sound(&t));
    uint8_t *seen = calloc(1, t.bytes);
    for (uint32_t l = 0; l < 4; l++)
        for (uint32_t z = 0; z < t.level[l].depth; z++)
            for (uint32_t y = 0; y < t.level[l].height; y++)
                for (uint32_t x = 0; x < t.level[l].width * 4; x++) {
                    uint64_t at = orr_tex_offset(&t, l, x, y, z, 0);
                    assert_true(at < t.bytes);
                    assert_int_equal(seen[at]++, 0);
                    assert_int_equal(at / 32, orr_tex_offset(&t, l, x & ~15u, y & ~1u, z, 0) / 32);
                }
    free(seen);
}

// A descriptor from outside is taken as it is only when all of it fits.
static void test_unsound(void **state) {
    (void)state;
    orr_texture t = {.shape = ORR_TEX_2D, .format = ORR_TEX_F32, .channels = 1};
    assert_true(orr_tex_lay_out(&t, 100, 100, 1, 1));
    assert_true(orr_tex_sound(&t));
    orr_texture bad = t;
    bad.bytes--;
    assert_false(orr_tex_sound(&bad));
    bad = t, bad.level[0].width += 100;
    assert_false(orr_tex_sound(&bad));
    bad = t, bad.level[0].offset = 4;
    assert_false(orr_tex_sound(&bad));
    bad = t, bad.channels = 3;
    assert_false(orr_tex_sound(&bad));
    bad = t, bad.format = ORR_TEX_FORMATS;
    assert_false(orr_tex_sound(&bad));
    bad = t, bad.where = ORR_TEX_PITCH, bad.level[0].row = 16;
    assert_false(orr_tex_sound(&bad));
    assert_false(orr_tex_lay_out(&t, 1u << 30, 1, 1, 1));
    assert_false(orr_tex_lay_out(&t, 8, 8, 1, ORR_TEX_LEVELS + 1));
}

// ---- what a read takes ------------------------------------------------------------------------------
// H200: 8 cycles for 8 quads whose texels share a sector; 2 a quad where they are 16 bytes apart, 4 where 32.
static void test_takes(void **state) {
    (void)state;
    orr_access a = {.mask = 0xffffffffu};
    static const struct { uint32_t apart, cycles; } want[] = {{0, 8}, {4, 8}, {16, 16}, {32, 32}};
    for (size_t n = 0; n < sizeof want / sizeof *want; n++) {
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t x = i * want[n].apart; // bytes along a row of blocks: a sector has 16 of them
            a.addr[i] = (0x1000000 + x / 64 * 512 + (x & 32) * 8 + (x & 16) * 2) | ORR_TEX_QUADS;
        }
        assert_int_equal(orr_texture_takes(&a).cycles, want[n].cycles);
        assert_int_equal(orr_texture_takes(&a).requests, 8);
    }
    for (uint32_t i = 0; i < 32; i++)
        a.addr[i] = 0x1000000 + i / 8 * 32; // linear memory: sixteen lanes a cycle
    assert_int_equal(orr_texture_takes(&a).cycles, 2);
}

// A cube of 16 x 16 texels, read just before the edge of one: face, x and y that an H200 read (CUDA 13.0).
static void test_cube_edges(void **state) {
    (void)state;
    static const struct {
        float at[3];
        unsigned face, x, y;
    } reads[] = {{{0x1.6666680000000p+1f, -0x1.6666660000000p+0f, 0x1.e45a1e0000000p+0f}, 0, 2, 11},
                 {{-0x1.19999a0000000p+1f, -0x1.1999980000000p+0f, 0x1.420c4a0000000p+0f}, 1, 12, 11},
                 {{0x1.19999a0000000p+1f, -0x1.1999980000000p+0f, 0x1.bdf3b60000000p+0f}, 0, 1, 11},
                 {{-0x1.99999a0000000p+0f, -0x1.9999980000000p-1f, 0x1.5f3b640000000p+0f}, 1, 14, 11},
                 {{0x1.99999a0000000p+1f, -0x1.9999980000000p-1f, 0x1.c189380000000p+0f}, 0, 3, 9},
                 {{-0x1.0000000000000p+1f, -0x1.fffffc0000000p-2f, 0x1.6666660000000p+0f}, 1, 13, 9},
                 {{0x1.0000000000000p+1f, -0x1.fffffc0000000p-2f, 0x1.99999a0000000p+0f}, 0, 1, 9},
                 {{-0x1.99999a0000000p+0f, -0x1.9999900000000p-3f, 0x1.77ceda0000000p+0f}, 1, 15, 8},
                 {{0x1.99999a0000000p+0f, -0x1.9999900000000p-3f, 0x1.8831260000000p+0f}, 0, 0, 8},
                 {{0x1.99999a0000000p+1f, 0x1.9999a00000000p-2f, 0x1.5f3b640000000p+0f}, 0, 4, 6},
                 {{-0x1.6666660000000p+1f, 0x1.66666a0000000p-1f, 0x1.b22d0e0000000p+0f}, 1, 12, 5},
                 {{0x1.6666680000000p+1f, 0x1.66666a0000000p-1f, 0x1.4dd2f00000000p+0f}, 0, 4, 5},
                 {{0x1.3333340000000p-1f, 0x1.99999c0000000p+0f, 0x1.676c8c0000000p+0f}, 2, 10, 15},
                 {{0x1.0000000000000p+0f, 0x1.99999c0000000p+0f, 0x1.570a3e0000000p+0f}, 2, 12, 14},
                 {{0x1.3333340000000p+0f, 0x1.99999c0000000p+0f, 0x1.4ed9160000000p+0f}, 2, 13, 14},
                 {{0x1.99999a0000000p+0f, 0x1.99999c0000000p+0f, 0x1.3e76c80000000p+0f}, 2, 15, 14},
                 {{0x1.19999a0000000p+1f, 0x1.19999c0000000p+1f, 0x1.0418920000000p+0f}, 2, 15, 11},
                 {{0x1.0000000000000p+0f, 0x1.4000020000000p+1f, 0x1.4000000000000p+0f}, 2, 11, 11},
                 {{0x1.99999a0000000p+0f, 0x1.99999c0000000p+2f, 0x1.e76c860000000p-2f}, 2, 9, 8},
                 {{0x1.3333340000000p+1f, 0x1.99999c0000000p+2f, -0x1.26e9da0000000p-5f}, 2, 10, 7},
                 {{0x1.99999a0000000p+1f, 0x1.99999c0000000p+2f, -0x1.18937a0000000p-1f}, 2, 11, 7}};
    orr_texture t = {
        .shape = ORR_TEX_CUBE, .format = ORR_TEX_U32, .channels = 1, .layers = 6, .normalized = true};
    assert_true(orr_tex_lay_out(&t, 16, 16, 1, 1));
    uint8_t *host = calloc(1, t.bytes);
    for (uint32_t i = 0; i < 6 * 16 * 16; i++)
        memcpy(host + orr_tex_offset(&t, 0, i % 16 * 4, i / 16 % 16, 0, i / 256), &i, 4);
    for (size_t n = 0; n < sizeof reads / sizeof *reads; n++) {
        orr_tex_at at = {.shape = ORR_TEX_CUBE, .level = -64};
        uint32_t out[4];
        memcpy(at.c, reads[n].at, sizeof at.c);
        orr_tex_sample(&t, host, &at, out);
        assert_int_equal(out[0], (reads[n].face * 16 + reads[n].y) * 16 + reads[n].x);
    }
    free(host);
}

static void test_unit(void **state) {
    (void)state;
    texture_spec spec = {.latency = 100, .interval = 1};
    texture_unit t;
    texture_init(&t, &spec);
    assert_int_equal(texture_read(&t, 10, 8), 10 + 7 + 100); // the last of eight quads goes in at 17
    assert_int_equal(texture_read(&t, 10, 8), 18 + 7 + 100); // behind the first
    assert_int_equal(texture_read(&t, 500, 1), 500 + 100);
    assert_int_equal(t.n.reads, 3);
    texture_reset(&t);
    assert_int_equal(texture_read(&t, 0, 1), 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads),   cmocka_unit_test(test_layout),
                                       cmocka_unit_test(test_unsound), cmocka_unit_test(test_takes),
                                       cmocka_unit_test(test_unit),    cmocka_unit_test(test_cube_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
