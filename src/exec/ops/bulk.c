// Bulk copies between global and shared memory, of plain bytes and of boxes of tensors (TMA).
//
// A copy is done at once, as cp.async's are: a program that looks before it has waited sees the new bytes,
// which is one of the orders that the manual allows. Then the bytes are taken from the mbarrier's tx-count.
//
// A box of a tensor (PTX ISA, "Tensors"; what an H200 left for 193 boxes of 1 to 5 dimensions): element i of
// dimension d is at coordinate + i * element stride; of dimension 0 the element stride is not looked at. What
// is outside the tensor is zero, or NaN 0x7ff7 (f32: 0x7ff77ff7) if the map says so; it counts as bytes that
// have come. Rows of the box lie one after the other in shared memory; with a swizzle each begins at a
// multiple of the swizzle's span, and 16-byte chunks change places: their number is XORed with the address /
// 128, modulo the span / 16. The first coordinate must be at a multiple of 16 bytes. tf32 is rounded on the
// way in.
//
// Interleaved channels: see below. im2col: pixels follow each other along W, then H, D and N, by the element
// strides, inside the bounding box; each is `channels` elements of dimension 0, at the pixel plus the
// instruction's offsets.
#include <string.h>

#include "exec/block.h"
#include "exec/mbar.h"
#include "exec/tensormap.h"

enum { ROW_MAX = 4096, BULK_DIMS = ORR_BULK_DIMS };

typedef struct request { // of one lane
    warp *w;
    const uop *u;
    int lane;
    uint8_t kind, op, type; // ORR_BULK_*, ORR_ATOM_*, enum orr_type
    bool flush;             // f32 sums are rid of subnormals: where the tensor map says so, else they are not
    uint64_t shared, other, mbar;
    uint32_t bytes, mask;
    // For streams: bytes in all, of which in global memory are rows of so many bytes, count[d] times
    // stride[d] apart.
    uint32_t moved, row, count[BULK_DIMS];
    uint64_t begins, stride[BULK_DIMS];
} request;

static uint64_t value(const warp *w, oper o, int lane) {
    if (o.none) return 0;
    return o.cls == ORR_D   ? OPER(w, o, uint64_t)[lane]
           : o.cls == ORR_H ? OPER(w, o, uint16_t)[lane]
                            : OPER(w, o, uint32_t)[lane];
}

static bool wrong(const request *r, const char *what) {
    orr_fault(r->w, r->u, r->lane, "%s", what);
    return false;
}
static bool misplaced(const request *r, uint64_t addr, uint32_t align) {
    orr_fault_as(ORR_FAULT_ALIGN, r->w, r->u, r->lane,
                 "address 0x%llx of a bulk copy is not a multiple of %u", (unsigned long long)addr, align);
    return false;
}

// ---- places ---------------------------------------------------------------------------------------
// [addr, addr + bytes) of the cluster's shared memory, NULL after a fault; *tb: whose it is.
static uint8_t *shared_at(const request *r, uint64_t addr, uint32_t bytes, tblock **tb) {
    uint64_t at = addr - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES ? addr - ORR_SHARED_WINDOW : addr, offset;
    tblock *owner = at < ORR_WINDOW_BYTES ? orr_cluster_block(r->w->tb, at, &offset) : NULL;
    uint32_t all = r->w->tb->prog->shared_bytes;
    if (!owner || offset > all || bytes > all - offset) {
        orr_fault_as(
            ORR_FAULT_ADDRESS, r->w, r->u, r->lane,
            "bulk copy of %u bytes at 0x%llx in shared memory is out of bounds: the block has %u bytes",
            bytes, (unsigned long long)addr, all);
        return NULL;
    }
    *tb = owner;
    return owner->shared + offset;
}

static uint8_t *global_at(const request *r, uint64_t addr, uint64_t bytes) {
    uint8_t *at = orr_mem_host(r->w->worker->mem, addr, bytes);
    if (!at) at = orr_mem_stray(r->w->worker->mem, addr, bytes);
    if (at) return at;
    char where[160];
    orr_fault_as(ORR_FAULT_ADDRESS, r->w, r->u, r->lane,
                 "bulk copy of %llu bytes at 0x%llx in global memory is out of bounds: %s",
                 (unsigned long long)bytes, (unsigned long long)addr,
                 orr_mem_describe(r->w->worker->mem, addr, where));
    return NULL;
}

// What is written is not to be what a product still reads.
static bool unread(const request *r, const tblock *tb, const uint8_t *to, uint32_t bytes) {
    uint32_t at, first;
    if (to < tb->shared || to >= tb->shared + tb->prog->shared_bytes) return true;
    if (!orr_product_left(tb, (uint32_t)(to - tb->shared), bytes, &at, &first)) return true;
    orr_fault(r->w, r->u, r->lane,
              "a race: the bulk copy writes 0x%x in shared memory, which a product of warps %u to %u still "
              "reads: none of them has waited for it",
              at, first, first + 3);
    return false;
}

// Bytes have come to `to` and the `room` behind it, in the block that has them.
static bool complete(const request *r, uint64_t addr, uint32_t bytes, const uint8_t *to, uint32_t room) {
    tblock *tb;
    uint8_t *host = shared_at(r, addr, 8, &tb);
    if (!host) return false;
    if (addr & 7) return misplaced(r, addr, 8);
    uint64_t *at = (uint64_t *)(void *)host, old = *at;
    mbar b = mbar_open(old);
    const char *bad = mbar_step(&b, 0, -(int64_t)bytes, false);
    if (bad) return wrong(r, bad);
    *at = mbar_close(b);
    orr_mbar_done(r->w, host, (old ^ *at) >> MBAR_PHASE);
    if (!unread(r, tb, to, room)) return false;
    if (to >= tb->shared && to < tb->shared + tb->prog->shared_bytes)
        orr_mbar_copy(r->w, host, (uint32_t)(to - tb->shared), room);
    return true;
}

// What is read is not to have a copy under way.
static bool settled(const request *r, const tblock *tb, const uint8_t *at, uint32_t bytes) {
    uint32_t from = (uint32_t)(at - tb->shared);
    const flight *f = tb->flights.n ? orr_copy_over(tb, from, from + bytes) : NULL;
    if (!f) return true;
    orr_fault(r->w, r->u, r->lane,
              "a race: the bulk copy reads 0x%x in shared memory, where another one is under way: nobody has "
              "waited for its mbarrier at 0x%x",
              f->from > from ? f->from : from, f->mbar);
    return false;
}

// ---- plain bytes ------------------------------------------------------------------------------------
static bool reduce_bytes(const request *r, uint8_t *to, const uint8_t *from, uint32_t bytes) {
    uint32_t size = orr_types[r->type].bytes;
    for (uint32_t i = 0; i + size <= bytes; i += size)
        if (!orr_reduce(r->op, r->type, r->flush, to + i, from + i))
            return wrong(r, "there is no such reduction");
    return true;
}

static bool plain(request *r) {
    tblock *tb, *peer;
    bool load = r->kind == ORR_BULK_LOAD;
    bool to_peer = r->kind == ORR_BULK_PEER || r->kind == ORR_BULK_REDUCE_PEER;
    if (r->bytes % 16) return wrong(r, "the bytes of a bulk copy are not a multiple of 16");
    if ((r->shared | r->other) % 16) return misplaced(r, r->shared % 16 ? r->shared : r->other, 16);
    r->moved = r->row = r->bytes;
    r->begins = r->other;
    for (int d = 0; d < BULK_DIMS; d++) r->count[d] = 1;
    if (r->kind == ORR_BULK_PREFETCH || !r->bytes) return true;
    if (load && r->mask) { // to the same place of several blocks
        const uint8_t *from = global_at(r, r->other, r->bytes);
        uint64_t offset, bar;
        if (!from || !orr_cluster_block(r->w->tb, r->shared & 0xffffffff, &offset)) return false;
        orr_cluster_block(r->w->tb, r->mbar & 0xffffffff, &bar);
        for (uint32_t m = r->mask; m; m &= m - 1) {
            uint32_t tag = orr_cluster_tag(r->w->tb, (uint32_t)orr_ffs(m));
            uint8_t *to = shared_at(r, tag | offset, r->bytes, &tb);
            if (!to) return false;
            memcpy(to, from, r->bytes);
            if (!complete(r, tag | bar, r->bytes, to, r->bytes)) return false;
        }
        return true;
    }
    uint8_t *shared = shared_at(r, r->shared, r->bytes, &tb);
    if (!shared) return false;
    uint8_t *other = to_peer ? shared_at(r, r->other, r->bytes, &peer) : global_at(r, r->other, r->bytes);
    if (!other) return false;
    if (!load && !settled(r, tb, shared, r->bytes)) return false;
    if (load)
        memcpy(shared, other, r->bytes);
    else if (r->kind == ORR_BULK_REDUCE || r->kind == ORR_BULK_REDUCE_PEER)
        reduce_bytes(r, other, shared, r->bytes);
    else
        memmove(other, shared, r->bytes);
    return load || to_peer ? complete(r, r->mbar, r->bytes, load ? shared : other, r->bytes) : true;
}

// ---- tensors --------------------------------------------------------------------------------------------
typedef struct boxed { // a box under way
    const request *r;
    orr_tensor_map m;
    int32_t at[ORR_MAP_RANK];
    uint32_t offsets[3];
    uint32_t size, inner, pitch; // of an element; bytes of a row; from row to row in shared memory
    uint32_t rows;
    uint64_t shared; // where the box is, as an offset in its block
    uint8_t *base;   // that block's shared memory
} boxed;

static uint8_t orr_type_of(uint8_t map_type) {
    static const uint8_t types[ORR_MAP_TYPES] = {ORR_T_U8,  ORR_T_U16, ORR_T_U32, ORR_T_S32, ORR_T_U64,
                                                 ORR_T_S64, ORR_T_F16, ORR_T_F32, ORR_T_F64, ORR_T_BF16,
                                                 ORR_T_F32, ORR_T_F32, ORR_T_F32};
    return types[map_type];
}

static uint64_t chunk_at(const boxed *b, uint32_t row, uint32_t byte) { // swizzled offset in shared memory
    uint64_t at = b->shared + (uint64_t)row * b->pitch + byte;
    uint32_t span = b->m.swizzle ? 16u << b->m.swizzle : 16;
    return at ^ ((at >> 7) & (span / 16 - 1)) << 4;
}

// Elements to nearest of tf32; a NaN becomes one with all bits that there are.
static void to_tf32(uint8_t *row, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += 4) {
        uint32_t x;
        memcpy(&x, row + i, 4);
        x = (x & 0x7fffffff) > 0x7f800000 ? 0x7fffe000 : (x + 0x1000) & ~0x1fffu;
        memcpy(row + i, &x, 4);
    }
}

static void fill_row(const boxed *b, uint8_t *row) {
    static const uint8_t nan[2] = {0xf7, 0x7f};
    for (uint32_t i = 0; i < b->inner; i++) row[i] = b->m.nan_fill ? nan[i & 1] : 0;
}

// One row: the elements of dimension 0 at the coordinates c of the others. `there`: those are in the tensor.
static bool move_row(const boxed *b, uint32_t row, const int64_t c[ORR_MAP_RANK], bool there) {
    const orr_tensor_map *m = &b->m;
    const request *r = b->r;
    uint8_t line[ROW_MAX];
    int64_t first = c[0] < 0 ? -c[0] : 0, last = (int64_t)(b->inner / b->size); // in the row
    if (last > (int64_t)m->dims[0] - c[0]) last = (int64_t)m->dims[0] - c[0];
    there = there && first < last;
    uint8_t *global = NULL;
    if (there) {
        uint64_t at = m->address + (uint64_t)(c[0] + first) * b->size;
        for (int d = 1; d < m->rank; d++) at += (uint64_t)c[d] * m->strides[d];
        global = global_at(r, at, (uint64_t)(last - first) * b->size);
        if (!global) return false;
    }
    uint32_t from = (uint32_t)first * b->size, bytes = there ? (uint32_t)(last - first) * b->size : 0;
    if (r->kind == ORR_BULK_LOAD) {
        fill_row(b, line);
        if (there) memcpy(line + from, global, bytes);
        if (there && m->type >= ORR_MAP_TF32) to_tf32(line + from, bytes);
        for (uint32_t x = 0; x < b->inner; x += 16) memcpy(b->base + chunk_at(b, row, x), line + x, 16);
        return true;
    }
    if (!there) return true;
    for (uint32_t x = 0; x < b->inner; x += 16) memcpy(line + x, b->base + chunk_at(b, row, x), 16);
    if (r->kind == ORR_BULK_REDUCE) return reduce_bytes(r, global, line + from, bytes);
    memcpy(global, line + from, bytes);
    return true;
}

// ---- interleaved channels (NC/8HWC8): the coordinates are those of pixels of 16 or 32 bytes, then which
// slice of the channels, then N; a box has one slice, whatever its size says. So it is a box of a tensor that
// has the bytes of a pixel as a dimension before the others, and no channels.
static void as_pixels(boxed *b) {
    orr_tensor_map *m = &b->m;
    int last = m->rank - 1, slice = last - 1;
    uint32_t bytes = 8u << m->interleave;
    int64_t at = b->at[slice];
    bool there = at >= 0 && at < (int64_t)m->dims[slice];
    if (there) m->address += (uint64_t)at * m->strides[slice];
    m->strides[0] = bytes;
    for (int d = slice; d > 0; d--) {
        m->dims[d] = m->dims[d - 1], m->strides[d] = m->strides[d - 1];
        m->box[d] = m->box[d - 1], m->steps[d] = m->steps[d - 1];
        b->at[d] = b->at[d - 1];
    }
    m->dims[0] = there ? bytes / b->size : 0;
    m->box[0] = m->channels = bytes / b->size;
    m->steps[0] = 1;
    b->at[0] = 0;
}

static bool inside(const boxed *b, const int64_t c[ORR_MAP_RANK]) {
    for (int d = 1; d < b->m.rank; d++)
        if (c[d] < 0 || c[d] >= (int64_t)b->m.dims[d]) return false;
    return true;
}

static uint32_t box_size(const orr_tensor_map *m, int d) {
    return (m->box[d] + m->steps[d] - 1) / m->steps[d];
}

// `n` is of the row: what is left of it behind the dimensions before.
static int64_t take_coordinate(const boxed *b, int d, uint32_t *n) {
    uint32_t size = box_size(&b->m, d);
    int64_t c = b->at[d] + (int64_t)(*n % size) * b->m.steps[d];
    *n /= size;
    return c;
}

static bool move_tile(const boxed *b) {
    const orr_tensor_map *m = &b->m;
    for (uint32_t row = 0; row < b->rows; row++) {
        int64_t c[ORR_MAP_RANK] = {b->at[0]};
        uint32_t n = row;
        for (int d = 1; d < m->rank; d++) c[d] = take_coordinate(b, d, &n);
        if (!move_row(b, row, c, inside(b, c))) return false;
    }
    return true;
}

static bool move_im2col(const boxed *b) {
    const orr_tensor_map *m = &b->m;
    int last = m->rank - 1;
    int64_t pixel[ORR_MAP_RANK];
    for (int d = 0; d < m->rank; d++) pixel[d] = b->at[d];
    for (uint32_t row = 0; row < b->rows; row++) {
        int64_t c[ORR_MAP_RANK];
        for (int d = 0; d < m->rank; d++) c[d] = pixel[d] + (d && d < last ? b->offsets[d - 1] : 0);
        if (!move_row(b, row, c, inside(b, c))) return false;
        for (int d = 1; d < m->rank; d++) { // the next one
            pixel[d] += m->steps[d];
            if (d == last || pixel[d] <= (int64_t)m->dims[d] - 1 + m->upper[d - 1]) break;
            pixel[d] = m->lower[d - 1];
        }
    }
    return true;
}

static bool open_map(request *r, boxed *b) {
    const char *why;
    uint8_t *at;
    uint64_t place = r->other;
    if (r->other - ORR_PARAM_WINDOW < ORR_WINDOW_BYTES) { // a __grid_constant__ parameter
        const decoded *p = r->w->tb->prog;
        uint64_t off = r->other - ORR_PARAM_WINDOW;
        uint32_t end = p->kernel->param_bytes;
        at = off <= end && end - off >= ORR_MAP_USED ? p->launch->params + off : NULL;
        place = off + p->kernel->code.param_base; // in the constant bank
        if (!at) return wrong(r, "the tensor map is outside the kernel's parameters");
    } else {
        at = global_at(r, r->other, ORR_MAP_USED);
        if (!at) return false;
        if (!orr_map_known(r->w->tb, r->other, at)) {
            orr_fault(r->w, r->u, r->lane,
                      "a race: the tensor map at 0x%llx has changed since the thread block used it, without "
                      "fence.proxy.tensormap in between",
                      (unsigned long long)r->other);
            return false;
        }
    }
    if (place % ORR_MAP_ALIGN) return misplaced(r, r->other, ORR_MAP_ALIGN);
    if (!orr_map_decode(at, &b->m, &why)) {
        orr_fault(r->w, r->u, r->lane, "the tensor map at 0x%llx is not one: %s",
                  (unsigned long long)r->other, why);
        return false;
    }
    if (b->m.rank != r->u->inst->vec) {
        orr_fault(r->w, r->u, r->lane, "the copy has %u dimensions and its tensor map %u", r->u->inst->vec,
                  b->m.rank);
        return false;
    }
    if (b->m.im2col != (r->u->inst->boolop == 1))
        return wrong(r, "the copy and its tensor map are not of the same mode, tile or im2col");
    return true;
}

// What of the box is inside the tensor, as rows in global memory. Pixels of im2col are taken as if their
// bounding box began with the first of them.
static void note_rows(request *r, const boxed *b) {
    const orr_tensor_map *m = &b->m;
    int64_t first = b->at[0] < 0 ? 0 : b->at[0], end = (int64_t)b->at[0] + b->inner / b->size;
    uint32_t pixels = m->pixels;
    if (end > (int64_t)m->dims[0]) end = (int64_t)m->dims[0];
    r->row = end > first ? (uint32_t)(end - first) * b->size : 0;
    r->begins = m->address + (uint64_t)first * b->size;
    for (int d = 0; d < BULK_DIMS; d++) r->count[d] = 1, r->stride[d] = 0;
    for (int d = 1; d < m->rank; d++) {
        int64_t from = b->at[d], step = m->steps[d] ? m->steps[d] : 1;
        uint32_t n = m->im2col ? pixels : box_size(m, d);
        if (m->im2col && d < m->rank - 1) {
            int64_t span = (int64_t)m->dims[d] + m->upper[d - 1] - m->lower[d - 1];
            n = span > step ? (uint32_t)(span / step) : 1;
            if (n > pixels) n = pixels;
            pixels = (pixels + n - 1) / n;
            from += b->offsets[d - 1];
        }
        for (; n && from < 0; n--) from += step;
        while (n && from + (int64_t)(n - 1) * step >= (int64_t)m->dims[d]) n--;
        if (!n) r->row = 0;
        r->begins += (uint64_t)from * m->strides[d];
        r->count[d - 1] = n;
        r->stride[d - 1] = (uint64_t)step * m->strides[d];
    }
}

// What an H200 takes for an illegal instruction: stores at negative coordinates, and pixels of im2col outside
// of the bounding box. (Loads of tiles may begin anywhere.)
static const char *illegal(const boxed *b) {
    const orr_tensor_map *m = &b->m;
    uint8_t kind = b->r->kind;
    int first = m->interleave ? 0 : 1; // of a pixel's coordinates
    for (int d = 0; d < m->rank && !m->im2col; d++)
        if (b->at[d] < 0 && (kind == ORR_BULK_STORE || kind == ORR_BULK_REDUCE))
            return "a coordinate of a store is negative";
    for (int d = 0; d < m->rank - 2 && m->im2col; d++)
        if (b->at[first + d] < m->lower[d] ||
            b->at[first + d] > (int64_t)m->dims[first + d] - 1 + m->upper[d])
            return "the first pixel is outside of the bounding box";
    return NULL;
}

static bool tensor(request *r) {
    boxed b = {.r = r};
    if (!open_map(r, &b)) return false;
    const oper *src = r->u->all + r->u->ndst + ORR_BULK_COORDS;
    const orr_tensor_map *m = &b.m;
    for (int d = 0; d < m->rank; d++) b.at[d] = (int32_t)value(r->w, src[d], r->lane);
    for (int d = 0; m->im2col && d < m->rank - 2 && (int)r->u->nsrc > ORR_BULK_COORDS + m->rank + d; d++)
        b.offsets[d] = (uint32_t)value(r->w, src[m->rank + d], r->lane);
    b.size = orr_map_element(m->type);
    const char *bad = illegal(&b);
    if (bad) return wrong(r, bad);
    if (m->interleave) as_pixels(&b);
    r->type = orr_type_of(m->type);
    r->flush = m->type == ORR_MAP_F32_FTZ;
    b.inner = (m->im2col ? m->channels : m->box[0]) * b.size;
    b.rows = 1;
    for (int d = 1; d < m->rank && !m->im2col; d++) b.rows *= box_size(m, d);
    if (m->im2col) b.rows = m->pixels;
    b.pitch = m->swizzle && !m->interleave ? 16u << m->swizzle : b.inner;
    if ((int64_t)b.at[0] * b.size % 16)
        return wrong(r, "the first coordinate is not at a multiple of 16 bytes");
    if (b.inner % 16 || b.inner > ROW_MAX) return wrong(r, "a row of the box is not a multiple of 16 bytes");
    note_rows(r, &b);
    r->moved = b.rows * b.inner;
    if (r->kind == ORR_BULK_PREFETCH) return true;
    if (r->shared % 128) return misplaced(r, r->shared, 128);
    uint32_t footprint = b.rows * b.pitch, bytes = b.rows * b.inner;
    uint64_t offset, bar = 0;
    if (!orr_cluster_block(r->w->tb, r->shared & 0xffffffff, &offset))
        return wrong(r, "the box goes to a thread block that the cluster does not have");
    orr_cluster_block(r->w->tb, r->mbar & 0xffffffff, &bar);
    bool load = r->kind == ORR_BULK_LOAD;
    for (uint32_t left = load && r->mask ? r->mask : 1; left; left &= left - 1) {
        bool multi = load && r->mask;
        uint32_t tag = multi ? orr_cluster_tag(r->w->tb, (uint32_t)orr_ffs(left)) : 0;
        tblock *tb;
        uint8_t *to = shared_at(r, multi ? tag | offset : r->shared, footprint, &tb);
        if (!to) return false;
        if (!load && b.pitch == b.inner && !settled(r, tb, to, footprint)) return false;
        b.base = tb->shared;
        b.shared = (uint64_t)(to - tb->shared);
        if (!(m->im2col ? move_im2col(&b) : move_tile(&b))) return false;
        if (load && !complete(r, multi ? tag | bar : r->mbar, bytes, to, footprint)) return false;
    }
    return true;
}

// What a stream has of a copy (docs/reference/streams.md): ORR_BULK_LANES addresses and numbers.
static uint32_t note(const request *r, bool arrives, uint64_t *at, uint32_t *number, uint32_t n) {
    at[n] = arrives ? r->mbar : 0, number[n++] = r->moved;
    at[n] = r->begins, number[n++] = r->row;
    for (int d = 0; d < BULK_DIMS; d++) at[n] = r->stride[d], number[n++] = r->count[d];
    at[n] = r->u->inst->vec ? r->other : 0, number[n++] = r->mask;
    return n;
}

// ---- the handler ------------------------------------------------------------------------------------------
static void bulk(warp *w, const uop *u) {
    const oper *src = u->all + u->ndst;
    uint64_t at[ORR_WARP];
    uint32_t lanes = w->exec, number[ORR_WARP], noted = 0;
    if (u->inst->disp == ORR_BULK_ONCE) lanes &= 0u - lanes; // machine code: the warp as one
    for (uint32_t m = lanes; m; m &= m - 1) {
        int lane = orr_ffs(m);
        request r = {
            .w = w, .u = u, .lane = lane, .kind = u->inst->sub, .op = u->inst->cmp, .type = u->inst->type};
        r.shared = value(w, src[ORR_BULK_SHARED], lane);
        r.other = value(w, src[ORR_BULK_OTHER], lane);
        r.mbar = value(w, src[ORR_BULK_MBAR], lane);
        r.bytes = (uint32_t)value(w, src[ORR_BULK_BYTES], lane);
        r.mask = (uint32_t)value(w, src[ORR_BULK_MASK], lane) & 0xffff;
        if (!(u->inst->vec ? tensor(&r) : plain(&r))) return;
        if (noted <= ORR_WARP - ORR_BULK_LANES) noted = note(&r, !src[ORR_BULK_MBAR].none, at, number, noted);
    }
    if (!w->trace || !u->traced) return;
    size_t head = w->trace->n;
    uint32_t mask = (uint32_t)((1ull << noted) - 1);
    orr_trace_put_access(w->trace, mask, at);
    if (!mask) return;
    orr_trace_put_versions(w->trace, head, mask, number);
    w->trace->bytes[head] |= ORR_TRACE_FIELDS;
}

static void nothing(warp *w, const uop *u) {
    (void)w;
    (void)u;
}

handlers orr_pick_bulk(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (i->op == ORR_OP_BULKSYNC) return (handlers){nothing, nothing};
    if (i->op != ORR_OP_BULK) return (handlers){0};
    (void)k;
    int need = ORR_BULK_COORDS + i->vec;
    if (i->nsrc < need || i->vec > ORR_MAP_RANK) {
        *why = "a bulk copy with these operands";
        return (handlers){0};
    }
    return (handlers){bulk, bulk};
}
