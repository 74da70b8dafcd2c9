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
    *block = (uint32_t)(v >> 1);
    *mask = t->mask;
    return 1;
}

// Of any number of differences 32 are read, where the trace goes on so far: loops of a known length are
// vector code.
static bool get_offsets(orr_trace *t, int size, uint64_t base, orr_access *a) {
    uint32_t rest = a->mask & (a->mask - 1);
    size_t n = (size_t)orr_popc(rest), bytes = n << size;
    int64_t off[ORR_WARP], last[ORR_WARP] = {0};
    if (size < 1 || size > 3 || (size_t)(t->end - t->at) < bytes) return false;
    const void *from = t->at;
    if ((size_t)(t->end - t->at) < (size_t)ORR_WARP << size) from = memcpy(last, t->at, bytes);
    t->at += bytes;
    if (size == 1) {
        int16_t small[ORR_WARP];
        memcpy(small, from, sizeof small);
        for (int i = 0; i < ORR_WARP; i++) off[i] = small[i];
    } else if (size == 2) {
        int32_t small[ORR_WARP];
        memcpy(small, from, sizeof small);
        for (int i = 0; i < ORR_WARP; i++) off[i] = small[i];
    } else {
        memcpy(off, from, sizeof off);
    }
    a->addr[orr_ffs(a->mask)] = base;
    if (n == 31) {
        for (int i = 0; i < 31; i++) a->addr[i + 1] = base + (uint64_t)off[i];
    } else {
        const int64_t *o = off; // there are n, as many as lanes are left
        // NOLINTNEXTLINE(clang-analyzer-core*)
        for (; rest; rest &= rest - 1) a->addr[orr_ffs(rest)] = base + (uint64_t)*o++;
    }
    return true;
}

static bool get_rows(orr_trace *t, uint64_t base, orr_access *a) {
    uint8_t shift;
    uint64_t v, down;
    if (a->mask != 0xffffffffu || !get_bytes(t, &shift, 1) || shift < 1 || shift > 4) return false;
    if (!get_varint(t, &v) || !get_varint(t, &down)) return false;
    v = unzigzag(v);
    down = unzigzag(down);
    int row = 1 << shift;
    for (int i = 0; i < row; i++, base += v) a->addr[i] = base;
    for (int i = row; i < ORR_WARP; i++) a->addr[i] = a->addr[i - row] + down;
    return true;
}

static bool get_versions(orr_trace *t, bool one, orr_access *a) {
    uint64_t v = 0;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        if ((!one || m == a->mask) && (!get_varint(t, &v) || v > UINT32_MAX)) return false;
        a->version[orr_ffs(m)] = (uint32_t)v;
    }
    return true;
}

static bool get_addresses(orr_trace *t, int form, int size, orr_access *a) {
    uint64_t at, v;
    if (!get_bytes(t, &at, 8)) return false;
    if (form == 3) return get_offsets(t, size, at, a);
    if (form == 4) return get_rows(t, at, a);
    uint64_t stride = 0;
    if (form == 2) {
        if (!get_varint(t, &v)) return false;
        stride = unzigzag(v);
    }
    if (a->mask == 0xffffffffu) {
        for (int i = 0; i < ORR_WARP; i++, at += stride) a->addr[i] = at;
    } else {
        for (uint32_t m = a->mask; m; m &= m - 1, at += stride) a->addr[orr_ffs(m)] = at;
    }
    return true;
}

bool orr_trace_access(orr_trace *t, orr_access *a) {
    if (t->at == t->end) return false;
    uint8_t head = *t->at++, form = head & 7;
    a->versioned = head & ORR_TRACE_VERSIONED;
    a->fields = head & ORR_TRACE_FIELDS;
    head &= (uint8_t) ~(ORR_TRACE_VERSIONED | ORR_TRACE_FIELDS);
    if (head > 63 || form > 4 || (form != 3 && head > 15) || (a->fields && !a->versioned)) return false;
    uint32_t mask = t->mask;
    if ((head & 8) && !get_bytes(t, &mask, 4)) return false;
    if ((mask & ~t->mask && !a->fields) || (form == 0) != (mask == 0)) return false;
    a->mask = mask;
    if (form == 0) return !a->versioned;
    return get_addresses(t, form, head >> 4, a) && (!a->versioned || get_versions(t, form == 1, a));
}

bool orr_trace_regular(orr_trace *t, orr_trace_row *r) {
    orr_trace x = *t;
    if (x.at == x.end) return false;
    uint8_t head = *x.at++, form = head & 7;
    uint64_t stride = 0, down = 0;
    if (head > 15 || form == 3 || form > 4) return false;
    r->mask = x.mask;
    r->shift = 0;
    r->at = 0;
    if ((head & 8) && !get_bytes(&x, &r->mask, 4)) return false;
    if (r->mask & ~x.mask || (form == 0) != (r->mask == 0)) return false;
    if (form && !get_bytes(&x, &r->at, 8)) return false;
    if (form == 4 && (r->mask != 0xffffffffu || !get_bytes(&x, &r->shift, 1) || r->shift < 1 || r->shift > 4))
        return false;
    if ((form == 2 || form == 4) && !get_varint(&x, &stride)) return false;
    if (form == 4 && !get_varint(&x, &down)) return false;
    r->stride = (int64_t)unzigzag(stride);
    r->down = (int64_t)unzigzag(down);
    *t = x;
    return true;
}

bool orr_trace_skip(orr_trace *t) {
    if (t->at == t->end) return false;
    uint8_t head = *t->at++, form = head & 7;
    bool versioned = head & ORR_TRACE_VERSIONED;
    head &= (uint8_t) ~(ORR_TRACE_VERSIONED | ORR_TRACE_FIELDS);
    if (head > 63 || form > 4) return false;
    uint32_t mask = t->mask;
    if ((head & 8) && !get_bytes(t, &mask, 4)) return false;
    if (form == 0) return true;
    size_t more = 8;
    int varints = form == 2 ? 1 : form == 4 ? 2 : 0;
    if (!versioned && form != 3 && mask && t->end - t->at > 11) { // most have steps of a byte
        const uint8_t *p = t->at + 8 + (form == 4);
        if (!varints || (p[0] < 128 && (varints == 1 || p[1] < 128))) {
            t->at = p + varints;
            return true;
        }
    }
    uint64_t v;
    if (form == 3) more += (size_t)(orr_popc(mask) - 1) * ((size_t)1 << (head >> 4));
    if (form == 4) more++;
    if (!mask || (size_t)(t->end - t->at) < more) return false;
    t->at += more;
    if (versioned) varints += form == 1 ? 1 : orr_popc(mask);
    while (varints-- > 0)
        if (!get_varint(t, &v)) return false;
    return true;
}
