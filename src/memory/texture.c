// What a read of textures touches, and what it takes of the texture unit. A stream has for each lane the
// sector of its first texel and, in the low five bits, what else is read (exec/texture.h); all models of time
// read it here.
#include "exec/texture.h"
#include "memory/memory.h"

// The sector 16 bytes to the right, and two rows below, in blocks (exec/ops/texel.c): up to the end of 64
// bytes x 8 rows; beyond, the neighbour is taken to be the next such piece.
static uint64_t right_of(uint64_t at, bool blocks) {
    if (!blocks) return at + 32;
    if (!(at & 32)) return at + 32;
    return at & 256 ? at - 256 - 32 + 512 : at + 256 - 32;
}
static uint64_t below(uint64_t at) {
    if (!(at & 64)) return at + 64;
    return at & 128 ? at - 128 - 64 + 512 : at + 128 - 64;
}

static uint32_t touched(uint64_t word, uint64_t to[4]) {
    uint64_t at = word & ~31ull;
    bool blocks = word & ORR_TEX_QUADS, wide = word & ORR_TEX_RIGHT, high = blocks && word & ORR_TEX_BELOW;
    uint32_t n = 0;
    to[n++] = at;
    if (wide) to[n++] = right_of(at, blocks);
    if (high) to[n++] = below(at);
    if (wide && high) to[n++] = right_of(below(at), blocks);
    return n;
}

static void add(orr_coalesced *out, uint64_t at) {
    uint64_t line = at / ORR_LINE;
    uint8_t bit = (uint8_t)(1u << (at / ORR_SECTOR % (ORR_LINE / ORR_SECTOR)));
    uint32_t n = 0;
    while (n < out->lines && out->line[n].line != line) n++;
    if (n == ORR_LINES_MAX) return;
    if (n == out->lines) out->line[out->lines++] = (orr_line_access){line, 0};
    if (!(out->line[n].sectors & bit)) out->sectors++;
    out->line[n].sectors |= bit;
}

void orr_coalesce_texture(const orr_access *a, orr_coalesced *out) {
    out->requests = a->mask != 0;
    out->lines = out->sectors = out->again = out->more = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t to[4];
        uint32_t n = touched(a->addr[orr_ffs(m)], to);
        for (uint32_t k = 0; k < n; k++) add(out, to[k]);
    }
}

// ---- what it takes ------------------------------------------------------------------------------
// Four banks of sectors. Rows that follow each other, and 16 bytes beside, are in different ones; every 32
// bytes to the right is the same again (H200: a quad whose texels are 16, 32 and 64 bytes apart takes 2, 4
// and 4 cycles).
static uint32_t bank_of(uint64_t at) {
    return (uint32_t)((at >> 5 ^ at >> 7) & 1) | (uint32_t)(at >> 6 & 1) << 1;
}

typedef struct group { // lanes that the unit takes together
    uint64_t sector[64];
    uint32_t n, most, in_bank[4];
} group;

static void put(group *g, uint64_t at) {
    for (uint32_t k = 0; k < g->n; k++)
        if (g->sector[k] == at) return;
    if (g->n == 64) return;
    g->sector[g->n++] = at;
    uint32_t b = ++g->in_bank[bank_of(at)];
    if (b > g->most) g->most = b;
}

orr_texture_cost orr_texture_takes(const orr_access *a) {
    orr_texture_cost c = {0, 0, 0};
    uint32_t first = a->mask ? (uint32_t)orr_ffs(a->mask) : 0;
    bool quads = a->mask && a->addr[first] & ORR_TEX_QUADS;
    uint32_t lanes = quads ? 4 : 16;
    for (uint32_t from = 0; from < 32; from += lanes) {
        uint32_t mask = a->mask & (lanes == 4 ? 15u : 0xffffu) << from;
        group g = {.n = 0};
        uint32_t passes = 1;
        for (uint32_t m = mask; m; m &= m - 1) {
            uint64_t word = a->addr[orr_ffs(m)], to[4];
            uint32_t n = touched(word, to), p = 1u << (word / ORR_TEX_PASSES & 3);
            if (p > passes) passes = p;
            for (uint32_t k = 0; k < n; k++) put(&g, to[k]);
        }
        if (!mask) continue;
        uint32_t conflicts = quads ? g.most : (g.n + 3) / 4;
        uint32_t takes = passes == 1 ? conflicts : conflicts * passes / 2;
        c.cycles += takes > passes ? takes : passes;
        c.requests++;
        c.sectors += g.n;
    }
    return c;
}
