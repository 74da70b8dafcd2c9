// Cubins, fatbins and programs: what nvcc 13.0 made of tests/corpus/cubin/tiny.cu, whose parameters, shared
// memory and barriers can be read off the source; and the same files damaged.
#include "sass/cubin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FILES ORRERY_SOURCE_DIR "/tests/corpus/cubin/"

static orr_images *open_images(const char *name) {
    orr_err e = {0};
    orr_images *f = orr_images_open(name, &e);
    if (!f && strstr(e.text, "no libelf")) skip();
    if (!f) print_error("%s\n", e.text);
    assert_non_null(f);
    return f;
}

static orr_cubin *cubin_of(const orr_images *f, uint32_t i) {
    orr_err e = {0};
    orr_cubin *c = orr_images_cubin(f, i, &e);
    if (!c) print_error("%s\n", e.text);
    assert_non_null(c);
    return c;
}

// extern "C" __global__ void __launch_bounds__(128) mix(float *p, int n, short s, double d), 256 bytes
// shared, one barrier; divide(float *p, float x). Constant bank 0 has the parameters from 0x160 on, 0x210 on
// sm_90.
static void check_tiny(const orr_cubin *c, unsigned sm) {
    assert_int_equal(c->sm, sm);
    assert_int_equal(c->nkernels, 2);
    const orr_cubin_func *f = orr_cubin_find(c, "mix");
    assert_non_null(f);
    assert_true(f->entry);
    assert_int_equal(f->nparams, 4);
    static const uint32_t offset[] = {0, 8, 12, 16}, bytes[] = {8, 4, 2, 8};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f->params[i].offset, offset[i]);
        assert_int_equal(f->params[i].bytes, bytes[i]);
    }
    assert_int_equal(f->param_base, sm >= 90 ? 0x210 : 0x160);
    assert_int_equal(f->param_bytes, 24);
    assert_int_equal(f->constant0_bytes, f->param_base + 24);
    assert_int_equal(f->shared_bytes, 256 + (sm >= 90 ? 1024 : 0));
    assert_int_equal(f->barriers, 1);
    assert_int_equal(f->maxntid[0], 128);
    assert_int_equal(f->stack_bytes, 0);
    assert_true(f->regs >= 8 && f->regs <= 32);
    f = orr_cubin_find(c, "divide");
    assert_non_null(f);
    assert_int_equal(f->nparams, 2);
    assert_int_equal(f->param_bytes, 12);
    assert_int_equal(f->barriers, 0);
    assert_null(orr_cubin_find(c, "nothing"));
    // every instruction is known, and the last but padding is an exit, a return or the branch to itself
    for (uint32_t k = 0; k < c->nfuncs; k++)
        for (uint32_t at = 0; at < c->funcs[k].code_bytes; at += 16) {
            orr_code code;
            assert_true(orr_sass_decode(&code, c->sm, c->funcs[k].code + at, at));
        }
    // __constant__ float table[4] = {1, 2, 3, 4}
    const orr_cubin_section *bank = orr_cubin_bank(c, 3);
    assert_non_null(bank);
    assert_int_equal(bank->size, 16);
    static const float table[] = {1, 2, 3, 4};
    assert_memory_equal(bank->bytes, table, 16);
}

static void cubins(void **state) {
    (void)state;
    for (unsigned sm = 75; sm <= 90; sm += 15) {
        orr_images *f = open_images(sm == 75 ? FILES "tiny75.cubin" : FILES "tiny90.cubin");
        assert_int_equal(f->n, 1);
        orr_cubin *c = cubin_of(f, 0);
        check_tiny(c, sm);
        // -lineinfo: the code of divide is line 13, that of mix from line 4 to 11 (and a header's)
        const orr_cubin_func *d = orr_cubin_find(c, "divide");
        assert_non_null(d->lines);
        for (uint32_t i = 0; i < d->nlines; i++) {
            assert_int_equal(d->lines[i].line, 13);
            assert_string_equal(c->files[d->lines[i].file], "/src/tiny.cu");
        }
        const orr_cubin_func *m = orr_cubin_find(c, "mix");
        const orr_cubin_line *first = orr_cubin_line_at(m, 0);
        assert_non_null(first);
        assert_int_equal(first->line, 4);
        bool barrier = false;
        for (uint32_t at = 0; at < m->code_bytes; at += 16) {
            orr_code code;
            orr_sass_decode(&code, c->sm, m->code + at, at);
            if (code.op != ORR_SASS_BAR) continue;
            barrier = true;
            assert_int_equal(orr_cubin_line_at(m, at)->line, 8); // __syncthreads()
        }
        assert_true(barrier);
        // count is a variable whose address is in bank 4, put there by a relocation to it
        bool found = false;
        for (uint32_t i = 0; i < c->nrelocs; i++)
            found |= strcmp(c->symbols[c->relocs[i].symbol].name, "count") == 0 &&
                     strcmp(c->sections[c->relocs[i].section].name, ".nv.constant4") == 0;
        assert_true(found);
        orr_cubin_free(c);
        orr_images_free(f);
    }
}

// sm_90 with its PTX, and sm_80, packed; the same functions as in the cubins.
static void packed(void **state) {
    (void)state;
    static const char *const names[] = {FILES "tiny_lz4.fatbin", FILES "tiny_zstd.fatbin"};
    for (int k = 0; k < 2; k++) {
        orr_images *f = open_images(names[k]);
        assert_int_equal(f->n, 3);
        int cubins = 0, ptx = 0;
        for (uint32_t i = 0; i < f->n; i++) {
            assert_int_equal(f->at[i].pack, k ? ORR_PACK_ZSTD : ORR_PACK_LZ4);
            if (f->at[i].kind == ORR_IMAGE_PTX) {
                orr_err e = {0};
                size_t n;
                uint8_t *s = orr_images_unpack(f, i, &n, &e);
                assert_non_null(s);
                assert_non_null(strstr((char *)s, ".visible .entry mix("));
                free(s);
                ptx++;
                continue;
            }
            orr_cubin *c = cubin_of(f, i);
            check_tiny(c, f->at[i].sm);
            orr_cubin_free(c);
            cubins++;
        }
        assert_int_equal(cubins, 2);
        assert_int_equal(ptx, 1);
        orr_images_free(f);
    }
}

static void in_an_object(void **state) {
    (void)state;
    orr_images *f = open_images(FILES "tiny.elf");
    assert_int_equal(f->n, 1);
    assert_int_equal(f->at[0].sm, 86);
    orr_cubin *c = cubin_of(f, 0);
    check_tiny(c, 86);
    orr_cubin_free(c);
    orr_images_free(f);
}

static void refused(const void *bytes, size_t n, const char *why) {
    orr_err e = {0};
    orr_images *f = orr_images_read(bytes, n, "x", &e);
    if (f) {
        orr_cubin *c = orr_images_cubin(f, 0, &e);
        orr_cubin_free(c);
        orr_images_free(f);
        assert_null(c);
    }
    assert_int_equal(e.status, ORR_BAD_INPUT);
    if (!strstr(e.text, why)) print_error("%s\n", e.text);
    assert_non_null(strstr(e.text, why));
}

static void damaged(void **state) {
    (void)state;
    refused("", 0, "not a cubin");
    refused("\177ELF", 4, "not a cubin");
    orr_err e = {0};
    size_t n;
    uint8_t *b = (uint8_t *)orr_read_file(FILES "tiny90.cubin", 1 << 20, &n, &e);
    assert_non_null(b);
    for (size_t cut = 64; cut < n; cut += 97) { // any shorter file is refused or read, never more
        orr_err why = {0};
        orr_images *f = orr_images_read(b, cut, "x", &why);
        orr_cubin *c = f ? orr_images_cubin(f, 0, &why) : NULL;
        if (!c) assert_int_equal(why.status, ORR_BAD_INPUT);
        orr_cubin_free(c);
        orr_images_free(f);
    }
    uint8_t sm = b[0x31];
    assert_int_equal(sm, 90); // since CUDA 13 the architecture is in the second byte of the flags
    b[0x31] = 62;
    refused(b, n, "sm_62");
    b[0x31] = sm;
    b[0x12] = 62; // x86-64
    refused(b, n, "without code for a GPU");
    free(b);

    b = (uint8_t *)orr_read_file(FILES "tiny_lz4.fatbin", 1 << 20, &n, &e);
    b[8] = b[9] = b[10] = 0xff; // larger than the file
    refused(b, n, "larger than what holds it");
    free(b);
    b = (uint8_t *)orr_read_file(FILES "tiny_lz4.fatbin", 1 << 20, &n, &e);
    memset(b + 16 + 64 + 40, 0, 400);
    refused(b, n, "does not unpack");
    free(b);
}

// Objects that are not linked give memory without contents NVIDIA's own section types instead of SHT_NOBITS
// (8): shared is 0x7000000a. Wherever such a section is said to begin, it takes no room in the file.
static void memory_without_contents(void **state) {
    (void)state;
    orr_err e = {0};
    size_t n;
    uint8_t *b = (uint8_t *)orr_read_file(FILES "tiny90.cubin", 1 << 20, &n, &e);
    assert_non_null(b);
    uint64_t headers;
    uint16_t count;
    memcpy(&headers, b + 0x28, 8);
    memcpy(&count, b + 0x3c, 2);
    int changed = 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t *h = b + headers + 64 * i;
        static const uint32_t shared = 0x7000000a;
        const uint64_t end = n;
        if (h[4] != 8 || h[5] || h[6] || h[7]) continue;
        memcpy(h + 4, &shared, 4);
        memcpy(h + 24, &end, 8);
        changed++;
    }
    assert_int_equal(changed, 3);
    orr_cubin *c = orr_cubin_read(b, n, "x", &e);
    if (!c) print_error("%s\n", e.text);
    assert_non_null(c);
    check_tiny(c, 90);
    orr_cubin_free(c);
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cubins), cmocka_unit_test(packed),
                                       cmocka_unit_test(in_an_object), cmocka_unit_test(damaged),
                                       cmocka_unit_test(memory_without_contents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
