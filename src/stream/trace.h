// The encoding of a warp's trace, writing side: inline, because the executor does this for every
// block and memory instruction. The reading side is trace.c.
//
//   block event   varint(block << 1 | mask differs from the last block's) [mask: 4 bytes]
//   access event  one byte: bits 0-2 form, bit 3 "mask differs from the block's" [mask: 4 bytes]
//     form 0  no lane took part
//     form 1  all lanes at one address: address (8 bytes)
//     form 2  constant stride from active lane to active lane: address (8), zigzag varint stride
//     form 3  anything else: address of the first active lane (8), then for each further active
//             lane the zigzag varint difference to the lane before
// All little-endian.
#ifndef ORR_TRACE_H
#define ORR_TRACE_H

#include <string.h>

#include "stream/stream.h"

typedef struct orr_trace_out { // grows; owned by the executor's warp
    uint8_t *bytes;
    size_t n, cap;
    uint32_t mask; // of the last block event; 0 at the start
} orr_trace_out;

#define ORR_TRACE_MAX_EVENT 352 // no event takes more bytes than this

static inline void orr_trace_room(orr_trace_out *t) {
    if (t->cap - t->n < ORR_TRACE_MAX_EVENT) {
        t->cap = t->cap ? t->cap * 2 : 4096;
        t->bytes = orr_realloc(t->bytes, t->cap);
    }
}

static inline uint8_t *orr_trace_varint(uint8_t *p, uint64_t v) {
    while (v >= 128) {
        *p++ = (uint8_t)(v | 128);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

static inline uint64_t orr_zigzag(int64_t v) { return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63); }

static inline void orr_trace_put_block(orr_trace_out *t, uint32_t block, uint32_t mask) {
    orr_trace_room(t);
    uint8_t *p = t->bytes + t->n;
    bool differs = mask != t->mask;
    p = orr_trace_varint(p, (uint64_t)block << 1 | differs);
    if (differs) {
        memcpy(p, &mask, 4);
        p += 4;
        t->mask = mask;
    }
    t->n = (size_t)(p - t->bytes);
}

static inline void orr_trace_put_access(orr_trace_out *t, uint32_t mask, const uint64_t addr[32]) {
    orr_trace_room(t);
    uint8_t *p = t->bytes + t->n;
    uint8_t *head = p++;
    uint8_t differs = mask != t->mask ? 8 : 0;
    if (differs) {
        memcpy(p, &mask, 4);
        p += 4;
    }
    if (!mask) {
        *head = differs;
        t->n = (size_t)(p - t->bytes);
        return;
    }
    int first = orr_ffs(mask);
    uint64_t base = addr[first];
    memcpy(p, &base, 8);
    p += 8;
    uint32_t rest = mask & (mask - 1);
    int64_t stride = rest ? (int64_t)(addr[orr_ffs(rest)] - base) : 0;
    bool regular = true;
    if (mask == 0xffffffffu) {
        uint64_t off = 0;
        for (int i = 0; i < 32; i++) off |= addr[i] ^ (base + (uint64_t)i * (uint64_t)stride);
        regular = off == 0;
    } else {
        uint64_t expect = base;
        for (uint32_t m = mask; m; m &= m - 1, expect += (uint64_t)stride)
            if (addr[orr_ffs(m)] != expect) {
                regular = false;
                break;
            }
    }
    if (regular && stride == 0) {
        *head = differs | 1;
    } else if (regular) {
        *head = differs | 2;
        p = orr_trace_varint(p, orr_zigzag(stride));
    } else {
        *head = differs | 3;
        uint64_t last = base;
        for (uint32_t m = rest; m; m &= m - 1) {
            uint64_t a = addr[orr_ffs(m)];
            p = orr_trace_varint(p, orr_zigzag((int64_t)(a - last)));
            last = a;
        }
    }
    t->n = (size_t)(p - t->bytes);
}

#endif
