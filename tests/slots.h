// For tests of single machine instructions: a kernel (ops/slots.ptx) loads eight words a thread into R4 to
// R11 and stores them again; between are places for the instructions under test. R11 holds the predicates
// before, R10 the predicates after.
//
// CODES(...) lists the bits of each instruction a test uses, without its control word; that they mean the
// text is tested (bits_and_text).
#ifndef ORR_TEST_SLOTS_H
#define ORR_TEST_SLOTS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "launch/launch.h"
#include "sass/module.h"

typedef struct code {
    const char *text;
    uint64_t lo, hi;
} code;
static const code *codes;
static int ncodes;
#define CODES(...)                                                                                           \
    static const code all_codes[] = {__VA_ARGS__};                                                           \
    static int set_codes(void **state) {                                                                     \
        (void)state;                                                                                         \
        codes = all_codes;                                                                                   \
        ncodes = (int)(sizeof all_codes / sizeof *all_codes);                                                \
        return 0;                                                                                            \
    }

enum { SLOTS = 12 };
#define CONTROL 0x000fe20000000000u // no barriers, one cycle

static void bits_and_text(void **state) {
    (void)state;
    for (int n = 0; n < ncodes; n++) {
        orr_code c;
        orr_text t = {0};
        uint64_t bits[2] = {codes[n].lo, codes[n].hi | CONTROL};
        assert_true(orr_sass_decode(&c, 90, bits, 0));
        orr_sass_print(&t, &c);
        assert_string_equal(t.s, codes[n].text);
        free(t.s);
    }
}

static bool execute(void *arg, orr_launch *l, const orr_call *c, orr_err *e) {
    (void)arg;
    (void)c;
    return orr_exec_run(l, 1, NULL, NULL, e);
}

// The module with these instructions in its slots, between R2P and P2R.
static orr_module *module_of(const char *const *lines) {
    orr_err e = {0};
    size_t n;
    char *file = orr_read_file(ORRERY_SOURCE_DIR "/tests/ops/slots.cubin", 1 << 16, &n, &e);
    if (!file) {
        fail_msg("%s", e.text);
        return NULL;
    }
    const uint64_t first = 0x0000000100007801; // PMTRIG 0x1
    char *at = memmem(file, n, &first, 8);
    assert_non_null(at);
    const char *all[SLOTS] = {"R2P PR, R11, 0x7f"};
    int count = 1;
    for (; *lines; lines++) all[count++] = *lines;
    all[count++] = "P2R R10, PR, RZ, 0x7f";
    assert_true(count <= SLOTS);
    for (int s = 0; s < count && all[s]; s++) {
        int k = 0;
        while (k < ncodes && strcmp(codes[k].text, all[s]) != 0) k++;
        if (k == ncodes) fail_msg("no bits of '%s'", all[s]);
        uint64_t bits[2] = {codes[k].lo, codes[k].hi | CONTROL};
        memcpy(at + 16 * s, bits, 16);
    }
    orr_module *m = orr_sass_read(file, n, "slots.cubin", 90, &e);
    if (!m) fail_msg("%s", e.text);
    free(file);
    return m;
}

typedef struct row { // R4 to R9 and the predicates, before and after
    uint32_t in[6], p, out[6], q;
} row;

// All rows, over the lanes of a full warp and of one that is not.
static void check(const char *const *lines, const row *rows, int n) {
    orr_err e = {0};
    for (uint32_t threads = 32; threads > 0; threads -= 16) {
        orr_module *m = module_of(lines);
        orr_cpu *cpu = orr_cpu_new(execute, NULL, &e);
        orr_backend b = orr_cpu_backend(cpu);
        uint32_t words[32][8] = {0}, count = threads == 16 ? 13 : 32;
        for (uint32_t i = 0; i < 32; i++) {
            memcpy(words[i], rows[i % (uint32_t)n].in, 24);
            words[i][7] = rows[i % (uint32_t)n].p;
        }
        uint64_t at = b.load(b.self, 0, m, &e) ? b.alloc(b.self, "words", sizeof words, &e) : 0;
        orr_call c = {.kernel = m->load(m, "slots", &e),
                      .grid = {1, 1, 1},
                      .block = {count, 1, 1},
                      .params = (const uint8_t *)&at};
        if (!at || !c.kernel || !b.write(b.self, at, words, sizeof words, &e) || !b.launch(b.self, &c, &e) ||
            !b.read(b.self, at, words, sizeof words, &e))
            fail_msg("%s: %s", lines[0], e.text);
        for (uint32_t i = 0; i < count; i++) {
            const row *r = &rows[i % (uint32_t)n];
            for (int w = 0; w < 6; w++)
                if (words[i][w] != r->out[w])
                    fail_msg("%s: row %u: R%d is 0x%x, not 0x%x", lines[0], i % (uint32_t)n, 4 + w,
                             words[i][w], r->out[w]);
            if (words[i][6] != r->q)
                fail_msg("%s: row %u: the predicates are 0x%x, not 0x%x", lines[0], i % (uint32_t)n,
                         words[i][6], r->q);
        }
        orr_cpu_delete(cpu);
        m->free(m);
    }
}

#endif
