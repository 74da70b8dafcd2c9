// Reading a warp's trace: the other half of trace.h, which describes the encoding.
//
// The bytes may come from a file somebody else made, so nothing is believed: every read is checked
// against the end, every block number against the kernel, every mask against the block's mask.
// What passes is safe to use as an index; what does not is reported as damaged.
#include "stream/trace.h"

// A varint is at most ten bytes, and the tenth can only hold the top bit.
static bool get_varint(orr_trace *t, uint64_t *v) {
    const uint8_t *p = t->at;
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (p == t->end) return false;
        uint8_t b = *p++;
        if (shift == 63 && b > 1) return false;
        x |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            t->at = p;
            *v = x;
            return true;
        }
    }
    return false;
}

static bool get_bytes(orr_trace *t, void *to, size_t n) {
    if ((size_t)(t->end - t->at) < n) return false;
    memcpy(to, t->at, n);
    t->at += n;
    return true;
}

static uint64_t unzigzag(uint64_t v) { return (v >> 1) ^ (0 - (v & 1)); }

int orr_trace_block(orr_trace *t, uint32_t nblocks, uint32_t *block, uint32_t *mask) {
    if (t->at == t->end) return 0;
    uint64_t v;
    if (*t->at < 128)
        v = *t->at++;
    else if (!get_varint(t, &v))
        return -1;
    if ((v >> 1) >= nblocks) return -1;
    if ((v & 1) && !get_bytes(t, &t->mask, 4)) return -1;
    if (!t->mask) return -1; // nobody can run a block with no lane
    *block = (uint32_t)(v >> 1);
    *mask = t->mask;
    return 1;
}

bool orr_trace_access(orr_trace *t, orr_access *a) {
    if (t->at == t->end) return false;
    uint8_t head = *t->at++, form = head & 7;
    if (head > 15 || form > 3) return false;
    uint32_t mask = t->mask;
    if ((head & 8) && !get_bytes(t, &mask, 4)) return false;
    if ((mask & ~t->mask) || (form == 0) != (mask == 0)) return false;
    a->mask = mask;
    if (form == 0) return true;

    uint64_t at, v;
    if (!get_bytes(t, &at, 8)) return false;
    if (form == 3) {
        a->addr[orr_ffs(mask)] = at;
        for (uint32_t m = mask & (mask - 1); m; m &= m - 1) {
            if (!get_varint(t, &v)) return false;
            a->addr[orr_ffs(m)] = at += unzigzag(v);
        }
        return true;
    }
    uint64_t stride = 0;
    if (form == 2) {
        if (!get_varint(t, &v)) return false;
        stride = unzigzag(v);
    }
    if (mask == 0xffffffffu) {
        for (int i = 0; i < ORR_WARP; i++) a->addr[i] = at + (uint64_t)i * stride;
    } else {
        for (uint32_t m = mask; m; m &= m - 1, at += stride) a->addr[orr_ffs(m)] = at;
    }
    return true;
}
