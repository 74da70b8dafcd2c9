// The tables of the address hash (hash.h).
#include "memory/hash.h"

#include "gpu/gpu.h"

#include <string.h>

// Primitive polynomials with few terms, as tables of shift registers give them (test_hash.c checks each).
// Those of degree 5 and 6 are the IPOLY(37) and IPOLY(67) of accel-sim.txt's table IV.
uint32_t orr_polynomial(uint32_t degree) {
    static const uint32_t p[18] = {0,     0x3,   0x7,   0xb,    0x13,   0x25,   0x43,   0x83,    0x11d,
                                   0x211, 0x409, 0x805, 0x1053, 0x201b, 0x4443, 0x8003, 0x1100b, 0x20009};
    return degree < 18 ? p[degree] : 0;
}

// Shuffled by chance, the same every time: Fisher and Yates, with a generator of Lehmer's.
static void make_shuffles(orr_spread *s, uint32_t units) {
    uint64_t seed = 88172645463325252u;
    for (int k = 0; k < 32; k++) {
        uint8_t *at = s->shuffle[k];
        for (uint32_t i = 0; i < units; i++) at[i] = (uint8_t)i;
        for (uint32_t i = units - 1; i; i--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint32_t j = (uint32_t)((seed >> 33) % (i + 1));
            uint8_t swap = at[i];
            at[i] = at[j];
            at[j] = swap;
        }
    }
}

// What each bit of a chunk's number gives (H200): 6 bits of the place, and the half. Those beyond 256 MB are
// not known; here they go on as a shift register of 7 bits.
static void fold_bits(orr_spread *s) {
    static const uint8_t known[20] = {8,       0,  20,      33, 64 | 8,  64 | 21, 34,
                                      64 | 4,  31, 64 | 50, 62, 64 | 23, 13,      64 | 53,
                                      64 | 27, 21, 64 | 58, 38, 64 | 29, 64 | 22};
    uint32_t give = 1;
    for (int bit = 0; bit < ORR_CHUNK_BITS; bit++) {
        if (bit < 20) {
            give = known[bit];
        } else {
            give <<= 1;
            if (give >> 7) give ^= orr_polynomial(7);
        }
        for (int v = 0; v < 256; v++)
            if (v >> bit % 8 & 1) s->table[bit / 8][v] ^= (uint16_t)give;
    }
}

void orr_spread_init(orr_spread *s, uint32_t units, int how) {
    uint32_t bits = 0;
    while (1u << bits < units) bits++;
    s->units = orr_divider_of(units);
    s->xored = 1u << bits == units;
    s->plain = how == ORR_HASH_MODULO || units == 1;
    s->shuffled = how == ORR_HASH_SHUFFLE && units > 1 && units <= 256;
    s->folded = how == ORR_HASH_FOLD && units % 2 == 0;
    if (s->folded) {
        s->units = orr_divider_of(units / 2);
        memset(s->table, 0, sizeof s->table);
        fold_bits(s);
        return;
    }
    if (s->shuffled) make_shuffles(s, units);
    if (how == ORR_HASH_SHUFFLE || how == ORR_HASH_FOLD) how = ORR_HASH_IPOLY;
    s->bits = s->xored ? bits : bits + 5 > 16 ? 16 : bits + 5;
    memset(s->table, 0, sizeof s->table);
    if (s->plain) return;
    uint32_t h = 1; // what bit i of the group's number contributes: x^(i + m), or bit i mod m
    for (uint32_t i = 0; how == ORR_HASH_IPOLY && i < s->bits; i++) {
        h <<= 1;
        if (h >> s->bits) h ^= orr_polynomial(s->bits);
    }
    for (int bit = 0; bit < ORR_CHUNK_BITS; bit++) {
        uint32_t give = h;
        if (!s->xored) { // reversed: scaling goes by the high bits, and the low bits are those that vary
                         // soonest
            give = 0;
            for (uint32_t i = 0; i < s->bits; i++) give |= (h >> i & 1) << (s->bits - 1 - i);
        }
        for (int v = 0; v < 256; v++)
            if (v >> bit % 8 & 1) s->table[bit / 8][v] ^= (uint16_t)give;
        h <<= 1;
        if (h >> s->bits) h ^= how == ORR_HASH_IPOLY ? orr_polynomial(s->bits) : 1u << s->bits | 1;
    }
}
