// XXH64 (the xxHash specification, version 0.1.1), reading bytes as little-endian on every host. It checks
// stream files and expectation files, so its values are part of two file formats.
#include "base/base.h"

#define P1 0x9E3779B185EBCA87ull
#define P2 0xC2B2AE3D27D4EB4Full
#define P3 0x165667B19E3779F9ull
#define P4 0x85EBCA77C2B2AE63ull
#define P5 0x27D4EB2F165667C5ull

static uint64_t rotl(uint64_t v, int r) { return v << r | v >> (64 - r); }

static uint64_t load(const uint8_t *p, int n) { // compilers make one load of this
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint64_t lane(uint64_t acc, uint64_t v) { return rotl(acc + v * P2, 31) * P1; }

uint64_t orr_hash64(const void *data, size_t n, uint64_t seed) {
    const uint8_t *p = data;
    size_t left = n;
    uint64_t h;
    if (n >= 32) {
        uint64_t a[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
        for (; left >= 32; left -= 32, p += 32)
            for (int i = 0; i < 4; i++) a[i] = lane(a[i], load(p + 8 * i, 8));
        h = rotl(a[0], 1) + rotl(a[1], 7) + rotl(a[2], 12) + rotl(a[3], 18);
        for (int i = 0; i < 4; i++) h = (h ^ lane(0, a[i])) * P1 + P4;
    } else {
        h = seed + P5;
    }
    h += n;
    for (; left >= 8; left -= 8, p += 8) h = rotl(h ^ lane(0, load(p, 8)), 27) * P1 + P4;
    for (; left >= 4; left -= 4, p += 4) h = rotl(h ^ load(p, 4) * P1, 23) * P2 + P3;
    for (; left > 0; left--, p++) h = rotl(h ^ *p * P5, 11) * P1;
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}
