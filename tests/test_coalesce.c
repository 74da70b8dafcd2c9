// The coalescer and the shared-memory banks: cases counted by hand, then random ones against a version
// that does nothing clever.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memory/memory.h"
#include "stream_rig.h"

static orr_access strided(uint64_t base, int64_t stride, uint32_t mask) {
    orr_access a = {.mask = mask};
    for (int i = 0; i < 32; i++) a.addr[i] = base + (uint64_t)(i * stride);
    return a;
}

static void expect(orr_access a, uint32_t bytes, enum orr_coalescing how, uint32_t requests, uint32_t lines,
                   uint32_t sectors) {
    orr_coalesced c;
    orr_coalesce(&a, bytes, how, &c);
    assert_int_equal(c.requests, requests);
    assert_int_equal(c.lines, lines);
    assert_int_equal(c.sectors, sectors);
}

#define ALL 0xffffffffu

// 32 lanes of `bytes` at `stride` from an aligned base touch 32 * stride bytes, in sectors of 32, as long
// as no sector is skipped; from stride 32 on each lane has its own.
static void strides(void **state) {
    (void)state;
    expect(strided(4096, 4, ALL), 4, ORR_WHOLE_WARP, 1, 1, 4);    // 128 bytes
    expect(strided(4096, 1, ALL), 1, ORR_WHOLE_WARP, 1, 1, 1);    // 32 bytes
    expect(strided(4096, 8, ALL), 8, ORR_WHOLE_WARP, 1, 2, 8);    // 256 bytes
    expect(strided(4096, 8, ALL), 4, ORR_WHOLE_WARP, 1, 2, 8);    // every other word
    expect(strided(4096, 16, ALL), 16, ORR_WHOLE_WARP, 1, 4, 16); // 512 bytes
    expect(strided(4096, 32, ALL), 32, ORR_WHOLE_WARP, 1, 8, 32); // 1024 bytes
    expect(strided(4096, 32, ALL), 4, ORR_WHOLE_WARP, 1, 8, 32);  // one word of each sector
    expect(strided(4096, 64, ALL), 4, ORR_WHOLE_WARP, 1, 16, 32);
    expect(strided(4096, 128, ALL), 4, ORR_WHOLE_WARP, 1, 32, 32); // one word of each line
    expect(strided(4096, 132, ALL), 4, ORR_WHOLE_WARP, 1, 32, 32);
    expect(strided(4096, 0, ALL), 4, ORR_WHOLE_WARP, 1, 1, 1);        // broadcast
    expect(strided(4096 + 124, -4, ALL), 4, ORR_WHOLE_WARP, 1, 1, 4); // backwards
    expect(strided(1 << 20, -128, ALL), 4, ORR_WHOLE_WARP, 1, 32, 32);
}

static void misaligned(void **state) {
    (void)state;
    expect(strided(4096 + 4, 4, ALL), 4, ORR_WHOLE_WARP, 1, 2, 5);        // bytes 4..131: one sector more
    expect(strided(4096 + 32, 4, ALL), 4, ORR_WHOLE_WARP, 1, 2, 4);       // sectors 1..4
    expect(strided(4096 + 31, 1, ALL), 1, ORR_WHOLE_WARP, 1, 1, 2);       // bytes 31..62
    expect(strided(4096 + 120, 0, ALL), 16, ORR_WHOLE_WARP, 1, 2, 2);     // each lane crosses a line
    expect(strided(4096 + 120, 128, ALL), 16, ORR_WHOLE_WARP, 1, 33, 64); // bytes 120..135 of each
    expect(strided(4096 + 112, 128, ALL), 32, ORR_WHOLE_WARP, 1, 33, 64);
}

static void masks(void **state) {
    (void)state;
    expect(strided(4096, 4, 0), 4, ORR_WHOLE_WARP, 0, 0, 0);
    expect(strided(4096, 4, 1), 4, ORR_WHOLE_WARP, 1, 1, 1);
    expect(strided(4096, 4, 0x000000ff), 4, ORR_WHOLE_WARP, 1, 1, 1); // eight words
    expect(strided(4096, 4, 0x80000001), 4, ORR_WHOLE_WARP, 1, 1, 2); // first and last sector
    expect(strided(4096, 128, 0x55555555), 4, ORR_WHOLE_WARP, 1, 16, 16);
    orr_access a = strided(4096, 4, 0xf);
    a.addr[20] = 1; // not active: must not be looked at
    expect(a, 4, ORR_WHOLE_WARP, 1, 1, 1);
}

static void top_of_memory(void **state) {
    (void)state;
    expect(strided(UINT64_MAX - 127, 4, ALL), 4, ORR_WHOLE_WARP, 1, 1, 4); // the very last line
    orr_access a = strided(UINT64_MAX - 7, 0, 1);
    orr_coalesced c;
    orr_coalesce(&a, 16, ORR_WHOLE_WARP, &c); // eight bytes there, eight at address 0
    assert_int_equal(c.sectors, 2);
    assert_int_equal(c.lines, 2);
    assert_true(c.line[0].line == UINT64_MAX / 128 && c.line[0].sectors == 8);
    assert_true(c.line[1].line == 0 && c.line[1].sectors == 1);
    expect(strided(UINT64_MAX - 63, 4, ALL), 4, ORR_WHOLE_WARP, 1, 2, 4); // half there, half at 0
}

static void lines_listed(void **state) {
    (void)state;
    orr_access a = strided(256, 16, 0x3); // 256 and 272: one sector
    a.addr[1] = 1024 + 96;
    orr_coalesced c;
    orr_coalesce(&a, 4, ORR_WHOLE_WARP, &c);
    assert_int_equal(c.lines, 2);
    assert_true(c.line[0].line == 2 && c.line[0].sectors == 1);
    assert_true(c.line[1].line == 8 && c.line[1].sectors == 8);
    a = strided(96, 4, ALL); // 96..223: the last sector of line 0, three of line 1
    orr_coalesce(&a, 4, ORR_WHOLE_WARP, &c);
    assert_int_equal(c.lines, 2);
    assert_true(c.line[0].line == 0 && c.line[0].sectors == 8);
    assert_true(c.line[1].line == 1 && c.line[1].sectors == 7);
}

// Eight threads on their own (Accel-Sim II-B): a broadcast is four accesses, a stream of words one sector
// for each eight.
static void sub_warps(void **state) {
    (void)state;
    expect(strided(4096, 4, ALL), 4, ORR_SUB_WARPS, 4, 4, 4);
    expect(strided(4096, 0, ALL), 4, ORR_SUB_WARPS, 4, 4, 4);
    expect(strided(4096, 8, ALL), 8, ORR_SUB_WARPS, 4, 4, 8);
    expect(strided(4096, 128, ALL), 4, ORR_SUB_WARPS, 4, 32, 32);
    expect(strided(4096, 4, 0xff00ff00), 4, ORR_SUB_WARPS, 2, 2, 2);
}

// Word w of all lanes is one row of 128 bytes: four sectors, of eight lanes each.
static void local_memory(void **state) {
    (void)state;
    orr_coalesced c;
    orr_access a = strided(64, 0, ALL);
    orr_coalesce_local(&a, 4, &c);
    assert_int_equal(c.sectors, 4);
    assert_int_equal(c.lines, 1);
    assert_int_equal(c.line[0].line, 16);
    orr_coalesce_local(&a, 16, &c); // four rows
    assert_int_equal(c.sectors, 16);
    a.mask = 0xff;
    orr_coalesce_local(&a, 1, &c);
    assert_int_equal(c.sectors, 1);
    a = strided(0, 4, ALL); // every lane another word: each its own row
    orr_coalesce_local(&a, 4, &c);
    assert_int_equal(c.sectors, 32);
    assert_int_equal(c.lines, 32);
    uint64_t bytes[2];
    for (uint32_t line = 0; line < 32; line++) { // and in it the word at its own place
        orr_local_bytes(&a, 4, line, bytes);
        assert_true(bytes[line / 16] == 0xfull << line % 16 * 4 && bytes[1 - line / 16] == 0);
    }
    a = strided(2, 0, 0x80000001); // bytes 2 to 5 of two lanes: half of a word of each row
    orr_local_bytes(&a, 4, 0, bytes);
    assert_true(bytes[0] == 0xc && bytes[1] == 0xcull << 60);
    orr_local_bytes(&a, 4, 1, bytes);
    assert_true(bytes[0] == 0x3 && bytes[1] == 0x3ull << 60);
    a = strided(3, 64, ALL); // misaligned and wide: nine rows a lane
    orr_coalesce_local(&a, 32, &c);
    assert_int_equal(c.lines, ORR_LINES_MAX);
}

// ---- against the plain way ----------------------------------------------------------------------------
static void plain(const orr_access *a, uint32_t bytes, int group, uint32_t *requests, uint32_t *lines,
                  uint32_t *sectors) {
    *requests = *lines = *sectors = 0;
    for (int from = 0; from < 32; from += group) {
        uint64_t seen_line[64], seen_sector[64 * 4];
        uint32_t nl = 0, ns = 0;
        bool any = false;
        for (int i = from; i < from + group; i++) {
            if (!(a->mask >> i & 1)) continue;
            any = true;
            for (uint32_t b = 0; b < bytes; b++) {
                uint64_t at = a->addr[i] + b;
                uint32_t k = 0;
                while (k < nl && seen_line[k] != at / 128) k++;
                if (k == nl) seen_line[nl++] = at / 128;
                k = 0;
                while (k < ns && seen_sector[k] != at / 32) k++;
                if (k == ns) seen_sector[ns++] = at / 32;
            }
        }
        *requests += any;
        *lines += nl;
        *sectors += ns;
    }
}

// Copies past L1 of rows that are 1 KB apart in memory: 16 bytes a lane, `row` bytes side by side, to rows
// `apart` bytes apart in shared memory. What an H200 takes: sectors that L1 counts, sectors from L2,
// requests.
static void copied(uint32_t row, uint32_t apart, uint32_t counted, uint32_t fetched, uint32_t lines) {
    orr_access a = {.mask = ALL};
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t r = i * 16 / row, c = i * 16 % row;
        a.addr[i] = (65536 + r * 1024 + c) | 8 | ((r * apart + c) / 16 % 8);
    }
    orr_coalesced x;
    orr_coalesce_copy(&a, &x);
    uint32_t all = 0;
    for (uint32_t i = 0; i < x.lines; i++) all += (uint32_t)orr_popc(x.line[i].sectors);
    assert_int_equal(x.requests, 1);
    assert_int_equal(x.sectors, counted);
    assert_int_equal(all, fetched);
    assert_int_equal(x.lines, lines);
}

static void copies(void **state) {
    (void)state;
    copied(64, 64, 16, 16, 8);  // measured: 4,096, 4,096 and 2,048 for 256 instructions
    copied(64, 80, 20, 24, 15); // 5,120, 6,144, 3,840
    copied(64, 144, 20, 24, 15);
    copied(128, 128, 16, 16, 4);
    copied(128, 160, 16, 16, 7); // 4,096, 4,096, 1,792
    copied(32, 32, 16, 16, 16);
    copied(32, 48, 24, 24, 24); // 6,144 of each
    copied(16, 16, 32, 32, 32);
    // A product of Triton's, whose pieces land at piece ^ row: L1 counts what a plain load takes, 196,608
    // sectors for 12,288 instructions of four rows each.
    for (uint32_t first = 0; first < 8; first += 4) {
        orr_access a = {.mask = ALL};
        for (uint32_t i = 0; i < 32; i++)
            a.addr[i] = (65536 + i / 8 * 1024 + i % 8 * 16) | 8 | (i % 8 ^ (first + i / 8));
        orr_coalesced x;
        orr_coalesce_copy(&a, &x);
        assert_int_equal(x.sectors, 16);
        assert_int_equal(x.lines, 4);
    }
    // Each other row is split: L1 counts 5 for its 4 sectors (4,608 for 256 instructions), 8 come (6,144),
    // with 2,560 requests.
    copied(128, 144, 18, 24, 10);
}

static void random_cases(void **state) {
    (void)state;
    uint64_t s = 1;
    for (int n = 0; n < 20000; n++) {
        orr_access a;
        rig_addresses(&s, a.addr);
        if (rig_random(&s) % 2) // close together, so that lines are shared
            for (int i = 0; i < 32; i++) a.addr[i] %= 2048;
        a.mask = rig_random(&s) % 3 ? (uint32_t)rig_random(&s) : ALL;
        uint32_t bytes = 1u << rig_random(&s) % 6;
        for (int how = 8; how <= 32; how += 24) {
            uint32_t requests, lines, sectors, popc = 0;
            plain(&a, bytes, how, &requests, &lines, &sectors);
            orr_coalesced c;
            orr_coalesce(&a, bytes, how == 8 ? ORR_SUB_WARPS : ORR_WHOLE_WARP, &c);
            assert_int_equal(c.requests, requests);
            assert_int_equal(c.lines, lines);
            assert_int_equal(c.sectors, sectors);
            for (uint32_t l = 0; l < c.lines; l++) popc += (uint32_t)orr_popc(c.line[l].sectors);
            assert_int_equal(popc, sectors);
        }
    }
}

// ---- banks ----------------------------------------------------------------------------------------------
static void banked(orr_access a, uint32_t bytes, bool atomic, uint32_t phases, uint32_t conflicts) {
    orr_banked b = orr_bank_conflicts(&a, bytes, atomic ? ORR_BANKS_ATOMIC : ORR_BANKS_LOAD);
    assert_int_equal(b.phases, phases);
    assert_int_equal(b.conflicts, conflicts);
    assert_int_equal(b.passes, phases + conflicts);
}

// A stride of w words conflicts gcd(w, 32) ways: the CUDA programming guide's rule for 32 banks.
static void bank_strides(void **state) {
    (void)state;
    for (int words = 1; words <= 64; words++) {
        int a = words, b = 32;
        while (b) {
            int t = a % b;
            a = b;
            b = t;
        }
        banked(strided(0, 4 * words, ALL), 4, false, 1, (uint32_t)a - 1);
        banked(strided(12, -4 * words, ALL), 4, false, 1, (uint32_t)a - 1);
    }
    banked(strided(64, 0, ALL), 4, false, 1, 0); // broadcast
    banked(strided(0, 1, ALL), 1, false, 1, 0);  // four lanes a word
    banked(strided(0, 2, ALL), 2, false, 1, 0);
    banked(strided(0, 4, 0), 4, false, 0, 0);
    banked(strided(0, 128, 0x80000001), 4, false, 1, 1);
}

static void bank_wide(void **state) {
    (void)state;
    banked(strided(0, 8, ALL), 8, false, 2, 0);   // half a warp fills the banks
    banked(strided(0, 16, ALL), 16, false, 4, 0); // a quarter does
    banked(strided(0, 32, ALL), 32, false, 8, 0);
    banked(strided(0, 16, ALL), 8, false, 2, 2);    // every other pair of banks: 2 ways in each half
    banked(strided(0, 128, ALL), 16, false, 4, 28); // eight lanes on four banks: 8 ways in each quarter
    banked(strided(0, 0, ALL), 8, false, 1, 0);     // pairs of lanes at one address
    banked(strided(0, 8, 0x0000ffff), 8, false, 1, 0);
}

static void bank_atomics(void **state) {
    (void)state;
    banked(strided(0, 0, ALL), 4, true, 1, 31); // one address: one lane at a time
    banked(strided(0, 4, ALL), 4, true, 1, 0);
    orr_access a = strided(0, 4, ALL);
    a.addr[7] = 0;
    banked(a, 4, true, 1, 1);
}

// What an H200 counted for the same offsets.
static void bank_measured(void **state) {
    (void)state;
    orr_err e = {0};
    size_t size;
    char *text = orr_read_file(ORRERY_SOURCE_DIR "/hardware/h200/banks.csv", 1 << 20, &size, &e);
    if (!text) fail_msg("%s", e.text);
    int rows = 0;
    for (char *at = text, *line; (line = strtok_r(at, "\n", &at));) {
        char op[16];
        unsigned bytes, passes, conflicts;
        int n;
        if (sscanf(line, "%15[a-z],%u,%u,%u%n", op, &bytes, &passes, &conflicts, &n) != 4) continue;
        orr_access a = {.mask = ALL};
        for (int i = 0; i < 32; i++) {
            unsigned long long offset;
            int more;
            assert_int_equal(sscanf(line + n, ",%llu%n", &offset, &more), 1);
            a.addr[i] = offset;
            n += more;
        }
        bool atomic = !strcmp(op, "atomic");
        orr_banked b = orr_bank_conflicts(&a, bytes,
                                          atomic         ? ORR_BANKS_ATOMIC
                                          : op[0] == 'l' ? ORR_BANKS_LOAD
                                                         : ORR_BANKS_STORE);
        assert_int_equal(b.conflicts, conflicts);
        if (!atomic) assert_int_equal(b.passes, passes); // an atomic's passes are counted with its write-back
        rows++;
    }
    assert_int_equal(rows, 320);
    free(text);
}

static void bank_random(void **state) {
    (void)state;
    uint64_t s = 2;
    for (int n = 0; n < 20000; n++) {
        orr_access a;
        for (int i = 0; i < 32; i++) a.addr[i] = rig_random(&s) % 1024 * 4;
        a.mask = (uint32_t)rig_random(&s);
        uint32_t words = 1u << rig_random(&s) % 3;
        uint32_t lanes = 32 / words, passes = 0;
        for (uint32_t from = 0; from < 32; from += lanes) {
            uint32_t most = 0;
            for (uint64_t bank = 0; bank < 32; bank++) {
                uint64_t seen[64];
                uint32_t k = 0;
                for (uint32_t i = from; i < from + lanes; i++)
                    for (uint32_t w = 0; w < words && (a.mask >> i & 1); w++) {
                        uint64_t word = a.addr[i] / 4 + w;
                        uint32_t j = 0;
                        while (j < k && seen[j] != word) j++;
                        if (word % 32 == bank && j == k) seen[k++] = word;
                    }
                if (k > most) most = k;
            }
            passes += most;
        }
        assert_int_equal(orr_bank_conflicts(&a, words * 4, ORR_BANKS_STORE).passes, passes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides),       cmocka_unit_test(misaligned),    cmocka_unit_test(masks),
        cmocka_unit_test(top_of_memory), cmocka_unit_test(lines_listed),  cmocka_unit_test(sub_warps),
        cmocka_unit_test(copies),        cmocka_unit_test(local_memory),  cmocka_unit_test(random_cases),
        cmocka_unit_test(bank_strides),  cmocka_unit_test(bank_wide),     cmocka_unit_test(bank_atomics),
        cmocka_unit_test(bank_random),   cmocka_unit_test(bank_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
