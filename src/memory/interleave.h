// Which L2 slice and DRAM channel an address belongs to.
//
// Slices and channels go together in groups: the least number of each that share nothing with others, a
// channel with its slices or a slice with its channels if one count is a multiple of the other. With 160
// slices and 128 channels a group is five slices and four channels, where each slice uses each channel, and
// all slices and all channels are used evenly. (With thousands of such pairs the channels are left with
// different numbers of slices, or the other way round.) A pair of a slice and a channel behind it is a unit;
// units are numbered group by group, and in a group slice by slice.
//
// Memory is dealt out in chunks of l2.interleave bytes to units. Each round of as many consecutive chunks as
// there are units gives every unit exactly one of its chunks: a stream is spread perfectly, and the number of
// the round is the chunk's place within its unit, so that the addresses a unit sees are dense. The hash only
// chooses how the chunks of a round are permuted (all but the last):
//
//   modulo  chunk r of the round goes to unit r
//   ipoly   to r XOR h, h = the round's number times x^m modulo a primitive polynomial of degree m over
//           GF(2), which together is the chunk's number modulo that polynomial: Rau, "Pseudo-randomly
//           interleaved memory", ISCA 1991. Needs 2^m units; for any other count the chunks are rotated: (r +
//           h') mod units, where h' is h with 5 more bits, reversed and scaled to 0 .. units - 1. That
//           favours no unit by more than 1/16 (2^m > units / 2).
//   xor     as ipoly, h being the bits of the round's number folded by XOR.
//   shuffle by one of 32 shuffles, which h chooses: chunks at a stride meet as by chance (up to 256 units;
//           more: as ipoly): of 132 lines 4 KB apart the fullest of 96 units has five, where a rotation
//           makes it three.
//   fold    in two halves: a half of L2 is chosen by the parity of some bits of the chunk's number, bits
//           folded by XOR give one of 64 places in it (l2.fold says what each bit gives), and these are dealt
//           out modulo its slices, 64 more for each 512 chunks: slice = (64 x (chunk / 512) + place) mod
//           (units / 2). An even number of units, and l2.fold; else as ipoly. As an H200 has it, 4 KB are on
//           eight slices of one half, and 64 KB have one or two pieces of 512 B on each of 94. Where a slice
//           has two channels of its own, or 4, 8, the hash chooses the slice, and its channels take its
//           chunks in turn.
#ifndef ORR_INTERLEAVE_H
#define ORR_INTERLEAVE_H

#include "gpu/gpu.h"

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
    uint16_t table[7][256]; // h is linear: XOR of what each byte of the round's number gives
} orr_spread;

void orr_spread_init(orr_spread *s, uint32_t units,
                     int how); // units <= 4096; how: ORR_HASH_*; fold: as ipoly
void orr_spread_fold(orr_spread *s, uint32_t units, const orr_gpu_array *known); // fold; units are even
bool orr_spread_folds(const orr_gpu_array *known); // l2.fold: no two chunks have one place

// The unit of a chunk, and in *round its place within the unit.
static inline uint32_t orr_spread_unit(const orr_spread *s, uint64_t chunk, uint64_t *round) {
    chunk &= (1ull << ORR_CHUNK_BITS) - 1;
    if (s->folded) { // four chunks of 128 KB have the same half and place: bits 1 and 8 tell them apart
        uint32_t at = 0, n = s->units.d;
        uint64_t c = chunk;
        for (int i = 0; c; i++, c >>= 8) at ^= s->table[i][c & 255];
        uint64_t dealt = (chunk >> 9 << 6) + (at & 63), q = orr_divide(s->units, dealt);
        *round = q << 2 | (chunk >> 7 & 2) | (chunk >> 1 & 1);
        return (uint32_t)(dealt - q * n) + (at >> 6) * n;
    }
    uint64_t q = orr_divide(s->units, chunk);
    uint32_t n = s->units.d, r = (uint32_t)(chunk - q * n), h = 0;
    *round = q;
    if (s->plain) return r;
    for (int i = 0; q; i++, q >>= 8) h ^= s->table[i][q & 255];
    if (s->shuffled) return s->shuffle[h & 31][r];
    if (s->xored) return r ^ h;
    r += (h * n) >> s->bits;
    return r < n ? r : r - n;
}

uint32_t orr_polynomial(uint32_t degree); // primitive over GF(2), bit i: x^i; 1 to 17

typedef struct orr_memory_unit { // a slice and a channel behind it
    uint16_t slice, channel;
    uint16_t group;
    uint16_t first;    // its slice's first unit
    uint16_t channels; // of its group: units of its slice
    uint16_t slices;   // of its group
    uint16_t place;    // of its slice among them
    uint8_t side;      // which of l2.partitions it is in
} orr_memory_unit;

typedef struct orr_interleave {
    uint32_t slices, channels, groups, units;
    uint32_t shift; // lines of a chunk, log2
    uint32_t turns; // log2 of a slice's channels, where they take its chunks in turn (fold)
    orr_memory_unit *unit;
    orr_spread spread;
} orr_interleave;

// False with e set where a slice would not hold a line.
bool orr_interleave_init(orr_interleave *i, const orr_gpu *g, orr_err *e);
void orr_interleave_free(orr_interleave *i);

// The number of a chunk among those of its slice.
static inline uint64_t orr_chunk_of_slice(const orr_interleave *i, uint32_t unit, uint64_t round) {
    const orr_memory_unit *u = &i->unit[unit];
    return u->channels > 1 ? round * u->channels + (unit - u->first) : round;
}
// The unit that holds a chunk, and in *round the chunk's place within the unit.
static inline uint32_t orr_interleave_chunk(const orr_interleave *i, uint64_t chunk, uint64_t *round) {
    uint32_t at = orr_spread_unit(&i->spread, chunk, round);
    if (!i->turns) return at;
    uint32_t turn = (uint32_t)*round & ((1u << i->turns) - 1);
    *round >>= i->turns;
    return at << i->turns | turn;
}
// The unit that holds a line, and the line's number among those of its slice.
static inline uint32_t orr_interleave_line(const orr_interleave *i, uint64_t line, uint64_t *of_slice) {
    uint64_t round;
    uint32_t unit = orr_interleave_chunk(i, line >> i->shift, &round);
    *of_slice = orr_chunk_of_slice(i, unit, round) << i->shift | (line & ((1ull << i->shift) - 1));
    return unit;
}
static inline uint32_t orr_interleave_unit(const orr_interleave *i, uint64_t line) {
    uint64_t round;
    return orr_interleave_chunk(i, line >> i->shift, &round);
}

// The greatest common divisor.
static inline uint32_t orr_gcd(uint32_t a, uint32_t b) {
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
