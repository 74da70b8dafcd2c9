// Private to memory/: which slice and channel an address belongs to.
//
// Memory is dealt out in chunks of l2.interleave bytes to `units`, which are the L2 slices, or the DRAM
// channels when there are more of those. Each group of `units` consecutive chunks gives every unit exactly
// one of its chunks: a stream is spread perfectly, and the number of the group is the
// chunk's place within its unit, so that the addresses a unit sees are dense. The hash only chooses how the
// chunks of a group are permuted (all but the last):
//
//   modulo  chunk r of the group goes to unit r
//   ipoly   to r XOR h, h = the group's number times x^m modulo a primitive polynomial of degree m over
//           GF(2), which together is the chunk's number modulo that polynomial: Rau, "Pseudo-randomly
//           interleaved memory", ISCA 1991. Needs 2^m units; for any other count the chunks are rotated: (r +
//           h') mod units, where h' is h with 5 more bits, reversed and scaled to 0 .. units - 1. That
//           favours no unit by more than 1/16 (2^m > units / 2).
//   xor     as ipoly, h being the bits of the group's number folded by XOR.
//   shuffle by one of 32 shuffles, which h chooses: chunks at a stride meet as by chance (up to 256 units;
//           more: as ipoly): of 132 lines 4 KB apart the fullest of 96 units has five, where a rotation
//           makes it three.
//   fold    as an H200 does it, found by timing loads of one half's SMs on pairs of pieces (24,576 of 24,576
//           pieces of 256 B in 6 MB are as below, and 32 of each of 128 pages of 2 MB, bits 8 to 27 of an
//           address). A half of L2 is chosen by the parity of some bits, so that 4 KB lie in one; bits folded
//           by XOR give one of 64 places in it, and these are dealt out modulo its slices, 64 more for each
//           128 KB: slice = (64 x (chunk / 512) + place) mod (units / 2). 4 KB are on eight slices, 64 KB
//           have one or two pieces of 512 B on each of 94. An even number of units; else as ipoly.
#ifndef ORR_MEMORY_HASH_H
#define ORR_MEMORY_HASH_H

#include "base/base.h"

// Division by a number that is known in advance, for n * d < 2^64.
typedef struct orr_divider {
    uint64_t magic; // ceil(2^64 / d); 0: d is 1
    uint32_t d;
} orr_divider;
static inline orr_divider orr_divider_of(uint32_t d) {
    return (orr_divider){d > 1 ? UINT64_MAX / d + 1 : 0, d};
}
static inline uint64_t orr_divide(orr_divider by, uint64_t n) {
    return by.magic ? (uint64_t)(((unsigned __int128)n * by.magic) >> 64) : n;
}

#define ORR_CHUNK_BITS 52 // of a chunk's number that count: 2^60 bytes and more
typedef struct orr_spread {
    orr_divider units;
    uint32_t bits; // of h
    bool xored;    // a power of two units
    bool plain;    // modulo
    bool shuffled;
    bool folded; // units are those of a half
    uint8_t shuffle[32][256];
    uint16_t table[7][256]; // h is linear: XOR of what each byte of the group's number gives
} orr_spread;

void orr_spread_init(orr_spread *s, uint32_t units, int how); // units <= 4096; how: ORR_HASH_*

// The unit of a chunk, and in *group its place within the unit.
static inline uint32_t orr_spread_unit(const orr_spread *s, uint64_t chunk, uint64_t *group) {
    chunk &= (1ull << ORR_CHUNK_BITS) - 1;
    if (s->folded) { // four chunks of 128 KB have the same half and place: bits 1 and 8 tell them apart
        uint32_t at = 0, n = s->units.d;
        uint64_t c = chunk;
        for (int i = 0; c; i++, c >>= 8) at ^= s->table[i][c & 255];
        uint64_t dealt = (chunk >> 9 << 6) + (at & 63), q = orr_divide(s->units, dealt);
        *group = q << 2 | (chunk >> 7 & 2) | (chunk >> 1 & 1);
        return (uint32_t)(dealt - q * n) + (at >> 6) * n;
    }
    uint64_t q = orr_divide(s->units, chunk);
    uint32_t n = s->units.d, r = (uint32_t)(chunk - q * n), h = 0;
    *group = q;
    if (s->plain) return r;
    for (int i = 0; q; i++, q >>= 8) h ^= s->table[i][q & 255];
    if (s->shuffled) return s->shuffle[h & 31][r];
    if (s->xored) return r ^ h;
    r += (h * n) >> s->bits;
    return r < n ? r : r - n;
}

uint32_t orr_polynomial(uint32_t degree); // primitive over GF(2), bit i: x^i; 1 to 17

#endif
