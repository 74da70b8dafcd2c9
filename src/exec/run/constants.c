// The constants of a decoded kernel: each distinct one once, spread over 32 lanes, so that a micro-op reads
// them as it reads registers.
#include <stdlib.h>
#include <string.h>

#include "exec/block.h"

static void add_bytes(constants *c, size_t n) {
    if (c->n + n > c->cap) {
        c->cap = c->cap ? c->cap * 2 + n : 4096 + n;
        c->bytes = orr_realloc(c->bytes, c->cap);
    }
    memset(c->bytes + c->n, 0, n);
    c->n += n;
}

static void broadcast(uint8_t *at, int cls, uint64_t value) {
    if (cls == ORR_P) {
        uint32_t m = value ? FULL : 0;
        memcpy(at, &m, 4);
        return;
    }
    uint32_t lane = reg_bytes(cls) / ORR_WARP, n = lane < 8 ? lane : 8;
    for (int i = 0; i < ORR_WARP; i++) memcpy(at + (uint32_t)i * lane, &value, n); // little-endian hosts
}

static uint32_t slot(const constants *c, int cls, uint64_t value) {
    uint32_t s = (uint32_t)orr_hash64(&value, 8, (uint64_t)cls) & (c->slots - 1);
    while (c->keys[s].off && (c->keys[s].cls != cls || c->keys[s].value != value))
        s = (s + 1) & (c->slots - 1);
    return s;
}

static void grow(constants *c) {
    constant_key *old = c->keys;
    uint32_t n = c->slots;
    c->slots = n ? n * 2 : 256;
    c->keys = orr_calloc(c->slots, sizeof *c->keys);
    for (uint32_t i = 0; i < n; i++)
        if (old[i].off) c->keys[slot(c, old[i].cls, old[i].value)] = old[i];
    free(old);
}

uint32_t orr_constant(constants *c, int cls, uint64_t value) {
    if (c->used * 2 >= c->slots) grow(c);
    uint32_t s = slot(c, cls, value);
    if (c->keys[s].off) return c->keys[s].off;
    if (!c->n) add_bytes(c, 64); // offset 0 stands for "none yet"
    add_bytes(c, (64 - c->n % 64) % 64);
    uint32_t off = (uint32_t)c->n;
    add_bytes(c, reg_bytes(cls));
    broadcast(c->bytes + off, cls, value);
    c->keys[s] = (constant_key){value, off, (uint8_t)cls};
    c->used++;
    return off;
}

uint8_t *orr_constants_take(constants *c) {
    uint8_t *at = orr_aligned_alloc(64, (c->n + 127) & ~(size_t)63);
    if (c->n) memcpy(at, c->bytes, c->n);
    free(c->bytes);
    free(c->keys);
    *c = (constants){0};
    return at;
}
