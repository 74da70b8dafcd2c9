// Which slice and channel an address belongs to (interleave.h): groups of slices and channels, and the tables
// of the address hash.
#include "memory/interleave.h"

#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"

#define UNITS_MAX 4096 // as many as orr_spread can deal out to

// Primitive polynomials with few terms, as tables of shift registers give them (test_interleave.c checks
// each). Those of degree 5 and 6 are the IPOLY(37) and IPOLY(67) of accel-sim.txt's table IV.
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

// The bits of a chunk's number behind those that are known go on as a shift register of 7 bits.
void orr_spread_fold(orr_spread *s, uint32_t units, const orr_gpu_array *known) {
    *s = (orr_spread){.units = orr_divider_of(units / 2), .folded = true};
    uint32_t give = 1;
    for (int bit = 0; bit < ORR_CHUNK_BITS; bit++) {
        if (bit < known->n) {
            give = (uint32_t)known->at[bit];
        } else {
            give <<= 1;
            if (give >> 7) give ^= orr_polynomial(7);
        }
        for (int v = 0; v < 256; v++)
            if (v >> bit % 8 & 1) s->table[bit / 8][v] ^= (uint16_t)give;
    }
}

// Chunks of 128 KB are told apart by the half, the place, and bits 1 and 8 of their number: the seven other
// bits must give seven that are independent.
bool orr_spread_folds(const orr_gpu_array *known) {
    static const uint8_t bits[] = {0, 2, 3, 4, 5, 6, 7};
    uint32_t lead[7] = {0}; // by its highest bit
    if (known->n < 9) return false;
    for (size_t i = 0; i < sizeof bits; i++) {
        uint32_t v = (uint32_t)known->at[bits[i]] & 127;
        for (int b = 6; b >= 0 && v; b--) {
            if (!(v >> b & 1)) continue;
            if (!lead[b]) {
                lead[b] = v;
                break;
            }
            v ^= lead[b];
        }
        if (!v) return false;
    }
    return true;
}

void orr_spread_init(orr_spread *s, uint32_t units, int how) {
    uint32_t bits = 0;
    while (1u << bits < units) bits++;
    s->units = orr_divider_of(units);
    s->xored = 1u << bits == units;
    s->plain = how == ORR_HASH_MODULO || units == 1;
    s->shuffled = how == ORR_HASH_SHUFFLE && units > 1 && units <= 256;
    s->folded = false;
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

// ---- groups of slices and channels -----------------------------------------------------------------

bool orr_interleave_init(orr_interleave *i, const orr_gpu *g, orr_err *e) {
    if (g->l2_size / g->l2_slices < ORR_LINE)
        return orr_fail(e, ORR_BAD_INPUT, "%s: l2.size / l2.slices is less than a line of %d bytes", g->path,
                        ORR_LINE);
    *i = (orr_interleave){.slices = (uint32_t)g->l2_slices, .channels = (uint32_t)g->dram_channels};
    while (ORR_LINE << (i->shift + 1) <= g->l2_interleave) i->shift++;
    i->groups = orr_gcd(i->slices, i->channels);
    i->units = i->slices / i->groups * i->channels; // the least common multiple
    if (i->units > UNITS_MAX) {
        i->groups = i->slices < i->channels ? i->slices : i->channels;
        i->units = i->slices < i->channels ? i->channels : i->slices;
    }
    bool folds = g->l2_hash == ORR_HASH_FOLD && g->l2_fold.n && i->units % 2 == 0;
    if (folds && !orr_spread_folds(&g->l2_fold))
        return orr_fail(
            e, ORR_BAD_INPUT,
            "%s: l2.fold puts two pieces of 128 KB into one place: its values 1, 3, 4, 5, 6, 7 and 8 "
            "must be independent under XOR, and there must be 9 at least",
            g->path);
    if (folds) { // the hash chooses a slice, whose channels take its chunks in turn if it has 2, 4, 8
        while (i->channels % (i->slices << (i->turns + 1)) == 0) i->turns++;
        if (i->channels != i->slices << i->turns || i->slices % 2) i->turns = 0;
        orr_spread_fold(&i->spread, i->units >> i->turns, &g->l2_fold);
    } else
        orr_spread_init(&i->spread, i->units, g->l2_hash);
    i->unit = orr_calloc(i->units, sizeof *i->unit);
    uint32_t unit = 0;
    for (uint64_t n = 0; n < i->groups; n++) {
        uint64_t s0 = n * i->slices / i->groups, s1 = (n + 1) * i->slices / i->groups;
        uint64_t c0 = n * i->channels / i->groups, c1 = (n + 1) * i->channels / i->groups;
        for (uint64_t s = s0; s < s1; s++)
            for (uint64_t c = c0; c < c1; c++, unit++)
                i->unit[unit] =
                    (orr_memory_unit){.slice = (uint16_t)s,
                                      .channel = (uint16_t)c,
                                      .group = (uint16_t)n,
                                      .first = (uint16_t)(unit - (c - c0)),
                                      .channels = (uint16_t)(c1 - c0),
                                      .slices = (uint16_t)(s1 - s0),
                                      .place = (uint16_t)(s - s0),
                                      .side = (uint8_t)(n * (uint64_t)g->l2_partitions / i->groups)};
    }
    return true;
}

void orr_interleave_free(orr_interleave *i) {
    free(i->unit);
    *i = (orr_interleave){0};
}
