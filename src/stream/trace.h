// The encoding of a warp's trace, writing side: inline, because the executor does this for every
// block and memory instruction. The reading side is trace.c.
//
//   block event   varint(block << 1 | mask differs from the last block's) [mask: 4 bytes]
//   access event  one byte: bits 0-2 form, bit 3 "mask differs from the block's", bits 4-5 size of
//                 form 3, bit 6 "versions follow", bit 7 "fields, not lanes"; [mask: 4 bytes]
//     form 0  no lane took part
//     form 1  all lanes at one address: address (8 bytes)
//     form 2  constant stride from active lane to active lane: address (8), zigzag varint stride
//     form 3  anything else: address of the first active lane (8), then for each further active lane
//             the signed difference to it, in 2, 4 or 8 bytes (size 1, 2, 3)
//     form 4  all 32 lanes in rows of 2, 4, 8 or 16, as 2-D thread blocks make them: address (8), one
//             byte log2 of the row, zigzag varint stride in a row, zigzag varint stride from row to row
//     then the versions, if any: a varint for each active lane, form 1 one for all
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

#define ORR_TRACE_MAX_EVENT 512 // no event takes more bytes than this

#define ORR_TRACE_MASKED    8 // bits of an access event's first byte
#define ORR_TRACE_VERSIONED 64
#define ORR_TRACE_FIELDS    128 // "lanes" are fields of what one of them does (ORR_BULK_LANES)

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

static inline uint64_t orr_zigzag(int64_t v) { return ((uint64_t)v << 1) ^ (0 - ((uint64_t)v >> 63)); }

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

// The row length's log2 when addr[i] == base + i % row * stride + i / row * (addr[row] - base), else 0.
static inline int orr_trace_rows(const uint64_t addr[32], uint64_t stride) {
    uint64_t base = addr[0], off = 0;
    int row = 2;
    while (row < 32 && addr[row] == base + (uint64_t)row * stride) row++;
    if (row > 16 || (row & (row - 1))) return 0;
    uint64_t down = addr[row] - base;
    for (int i = 0; i < 32 - row; i++)
        off |= (addr[i + row] - addr[i]) ^ down; // the first row is right already
    return off ? 0 : orr_ffs((uint32_t)row);
}

// Differences to the first lane: the smallest size that holds all. All 32 are written, whatever their number:
// there is room, and loops of a known length are vector code.
static inline uint8_t *orr_trace_offsets(uint8_t *p, uint8_t *head, uint32_t rest, uint64_t base,
                                         const uint64_t addr[32]) {
    int64_t off[32] = {0};
    uint64_t wide = 0;
    int n = 0;
    if (rest == 0xfffffffeu) {
        n = 31;
        for (int i = 0; i < 31; i++) off[i] = (int64_t)(addr[i + 1] - base);
    } else {
        for (uint32_t m = rest; m; m &= m - 1) off[n++] = (int64_t)(addr[orr_ffs(m)] - base);
    }
    for (int i = 0; i < 32; i++) wide |= (uint64_t)(off[i] ^ (off[i] >> 63));
    if (wide < 1u << 15) {
        int16_t small[32];
        for (int i = 0; i < 32; i++) small[i] = (int16_t)off[i];
        memcpy(p, small, sizeof small);
        *head |= 1 << 4;
        return p + n * 2;
    }
    if (wide < 1u << 31) {
        int32_t small[32];
        for (int i = 0; i < 32; i++) small[i] = (int32_t)off[i];
        memcpy(p, small, sizeof small);
        *head |= 2 << 4;
        return p + n * 4;
    }
    memcpy(p, off, sizeof off);
    *head |= 3 << 4;
    return p + n * 8;
}

// The mask of an access, where it is not that of its block; what the first byte says of it.
static inline uint8_t orr_trace_mask(const orr_trace_out *t, uint32_t mask, uint8_t **p) {
    if (mask == t->mask) return 0;
    memcpy(*p, &mask, 4);
    *p += 4;
    return 8;
}

// Active lanes at addr, addr + stride, addr + 2 stride ...: what put_access would find out by itself.
static inline void orr_trace_put_regular(orr_trace_out *t, uint32_t mask, uint64_t addr, uint64_t stride) {
    orr_trace_room(t);
    uint8_t *p = t->bytes + t->n;
    uint8_t *head = p++;
    uint8_t differs = orr_trace_mask(t, mask, &p);
    memcpy(p, &addr, 8);
    p += 8;
    *head = differs | (stride ? 2 : 1);
    if (stride) p = orr_trace_varint(p, orr_zigzag((int64_t)stride));
    t->n = (size_t)(p - t->bytes);
}

// All lanes in rows of 1 << shift, which are not one regular row: as put_access would write them.
static inline void orr_trace_put_rows(orr_trace_out *t, uint32_t mask, uint64_t addr, int shift,
                                      int64_t stride, int64_t down) {
    orr_trace_room(t);
    uint8_t *p = t->bytes + t->n;
    uint8_t *head = p++;
    uint8_t differs = orr_trace_mask(t, mask, &p);
    memcpy(p, &addr, 8);
    p += 8;
    *head = differs | 4;
    *p++ = (uint8_t)shift;
    p = orr_trace_varint(p, orr_zigzag(stride));
    p = orr_trace_varint(p, orr_zigzag(down));
    t->n = (size_t)(p - t->bytes);
}

static inline void orr_trace_put_access(orr_trace_out *t, uint32_t mask, const uint64_t addr[32]) {
    orr_trace_room(t);
    uint8_t *p = t->bytes + t->n;
    uint8_t *head = p++;
    uint8_t differs = orr_trace_mask(t, mask, &p);
    if (!mask) {
        *head = differs;
        t->n = (size_t)(p - t->bytes);
        return;
    }
    int first = orr_ffs(mask), shift;
    uint64_t base = addr[first];
    memcpy(p, &base, 8);
    p += 8;
    uint32_t rest = mask & (mask - 1);
    int64_t stride = rest ? (int64_t)(addr[orr_ffs(rest)] - base) : 0;
    bool regular = true;
    if (mask == 0xffffffffu) {
        uint64_t off = 0;
        for (int i = 0; i < 31; i++) off |= (addr[i + 1] - addr[i]) ^ (uint64_t)stride;
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
    } else if (mask == 0xffffffffu && (shift = orr_trace_rows(addr, (uint64_t)stride)) != 0) {
        *head = differs | 4;
        *p++ = (uint8_t)shift;
        p = orr_trace_varint(p, orr_zigzag(stride));
        p = orr_trace_varint(p, orr_zigzag((int64_t)(addr[1 << shift] - base)));
    } else {
        *head = differs | 3;
        p = orr_trace_offsets(p, head, rest, base, addr);
    }
    t->n = (size_t)(p - t->bytes);
}

// What the access found that has just been put at byte `head`; there is room for it.
static inline void orr_trace_put_versions(orr_trace_out *t, size_t head, uint32_t mask,
                                          const uint32_t version[32]) {
    bool one = (t->bytes[head] & 7) == 1;
    t->bytes[head] |= ORR_TRACE_VERSIONED;
    uint8_t *p = t->bytes + t->n;
    for (uint32_t m = one ? mask & -mask : mask; m; m &= m - 1) p = orr_trace_varint(p, version[orr_ffs(m)]);
    t->n = (size_t)(p - t->bytes);
}

// An access as it was read, with what it found.
static inline void orr_trace_put_as_read(orr_trace_out *t, uint32_t mask, const orr_access *a) {
    orr_trace_room(t);
    size_t head = t->n;
    if (a->fields) mask = a->mask;
    orr_trace_put_access(t, mask, a->addr);
    if (a->versioned && mask) orr_trace_put_versions(t, head, mask, a->version);
    if (a->fields) t->bytes[head] |= ORR_TRACE_FIELDS;
}

// Reading: an access whose lanes are regular, without its 32 addresses.
typedef struct orr_trace_row {
    uint32_t mask;
    uint8_t shift;        // all lanes in rows of 1 << shift; 0: one row of the active lanes
    uint64_t at;          // the first one's address
    int64_t stride, down; // from active lane to active lane; from row to row
} orr_trace_row;
// True: the next access is regular, and t is past it. False: it is not, or it is damaged, and t is in front
// of it as before: orr_trace_access says which.
bool orr_trace_regular(orr_trace *t, orr_trace_row *r);

// The same without reading its numbers: two accesses whose steps are the same bytes, of the same form and
// with the same lanes, lie alike. False: it is another form, damaged, or near the end of the trace.
typedef struct orr_trace_brief {
    uint64_t at;    // the first one's address
    uint64_t steps; // all bytes behind that
    uint32_t mask;
    uint8_t head;       // the event's first byte
    const uint8_t *end; // where the event ends
} orr_trace_brief;

static inline bool orr_trace_regular_brief(const orr_trace *t, orr_trace_brief *b) {
    static const uint8_t numbers[8] = {0, 0, 1, 0,
                                       3, 0, 0, 0}; // by form; a byte that is one of the row's length
    const uint8_t *p = t->at;
    if (t->end - p < 1 + 4 + 8 + 8) return false;
    uint8_t head = *p++, form = head & 7;
    b->head = head;
    b->mask = t->mask;
    if (head & ORR_TRACE_MASKED) {
        memcpy(&b->mask, p, 4);
        p += 4;
    }
    if (head > 15 || form == 0 || form == 3 || form > 4 || !b->mask || b->mask & ~t->mask) return false;
    memcpy(&b->at, p, 8);
    p += 8;
    b->steps = 0;
    if (form != 1) {
        uint64_t last; // bytes that end a number
        memcpy(&b->steps, p, 8);
        last = ~b->steps & 0x8080808080808080u;
        for (int n = numbers[form]; n > 1; n--) last &= last - 1;
        if (!last) return false;
        last &= 0 - last; // the top bit of the last byte
        b->steps &= last | (last - 1);
        p += __builtin_ctzll(last) / 8 + 1;
    }
    b->end = p;
    return true;
}

// The next block of code, as orr_trace_block finds it, where its event is one byte. False: ask
// orr_trace_block.
static inline bool orr_trace_block_brief(orr_trace *t, uint32_t nblocks, uint32_t *block) {
    if (t->at == t->end || (*t->at & 129) || *t->at >> 1 >= nblocks) return false;
    *block = *t->at++ >> 1;
    return true;
}

#endif
