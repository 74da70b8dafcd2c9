// Tensor maps as arguments of a launch.
#include "exec/tensormap.h"
#include "launch/script.h"

static uint8_t map_type(int type) {
    switch (type) {
    case ORR_T_U8:
    case ORR_T_S8: return ORR_MAP_U8;
    case ORR_T_U16:
    case ORR_T_S16: return ORR_MAP_U16;
    case ORR_T_U32: return ORR_MAP_U32;
    case ORR_T_S32: return ORR_MAP_S32;
    case ORR_T_U64: return ORR_MAP_U64;
    case ORR_T_S64: return ORR_MAP_S64;
    case ORR_T_F16: return ORR_MAP_F16;
    case ORR_T_F32: return ORR_MAP_F32;
    case ORR_T_F64: return ORR_MAP_F64;
    case ORR_T_BF16: return ORR_MAP_BF16;
    default: return ORR_MAP_TYPES;
    }
}

static uint8_t swizzle_of(run *r, const tensor *t) {
    int64_t v = t->swizzle ? orr_eval_int(r, t->swizzle, "the swizzle", 0, 128) : 0;
    if (v != 0 && v != 32 && v != 64 && v != 128)
        stop(r, ORR_BAD_INPUT, t->line, "the swizzle is %lld bytes; it must be 0, 32, 64 or 128",
             (long long)v);
    return v == 32 ? 1 : v == 64 ? 2 : v == 128 ? 3 : 0;
}

static uint8_t interleave_of(run *r, const tensor *t) {
    int64_t v = t->interleave ? orr_eval_int(r, t->interleave, "the interleaving", 0, 32) : 0;
    if (v != 0 && v != 16 && v != 32)
        stop(r, ORR_BAD_INPUT, t->line, "the interleaving is %lld bytes; it must be 0, 16 or 32",
             (long long)v);
    return (uint8_t)(v / 16);
}

static int64_t number(run *r, const tensor *t, int which, uint32_t d, const char *what, int64_t otherwise) {
    if (d >= t->n[which]) return otherwise;
    return orr_eval_int(r, t->list[which][d], what, -(1ll << 40), 1ll << 40);
}

void orr_pack_tensor(run *r, const tensor *t, uint32_t bytes, uint8_t *out, const char *what) {
    value base = orr_eval(r, t->buffer);
    if (base.kind != V_BUF) stop(r, ORR_BAD_INPUT, t->line, "%s: a tensor needs a buffer", what);
    if (bytes < ORR_MAP_BYTES)
        stop(r, ORR_BAD_INPUT, t->line, "%s has %u bytes and a tensor map %d", what, bytes, ORR_MAP_BYTES);
    orr_tensor_map m = {
        .rank = (uint8_t)t->n[TENSOR_DIMS], .nan_fill = t->nan, .im2col = t->channels != NULL};
    const buffer *b = orr_buffer(r, base.slot, t->line);
    m.type = map_type(b->type);
    uint32_t size = orr_map_element(m.type);
    if (!size) stop(r, ORR_BAD_INPUT, t->line, "%s: there are no tensors of this type", what);
    m.address = b->addr + (uint64_t)base.i * size;
    m.swizzle = swizzle_of(r, t);
    m.interleave = interleave_of(r, t);
    uint64_t dense = size;
    for (uint32_t d = 0; d < m.rank; d++) {
        int64_t dim = number(r, t, TENSOR_DIMS, d, "a size", 1);
        m.dims[d] = (uint64_t)(dim < 1 ? 0 : dim);
        m.strides[d] =
            d == 0
                ? size
                : (uint64_t)number(r, t, TENSOR_STRIDES, d - 1, "a stride", (int64_t)(dense / size)) * size;
        dense = d == 0 ? size * m.dims[0] : m.strides[d] * m.dims[d];
        m.box[d] = (uint32_t)number(r, t, TENSOR_BOX, d, "a box's size", 1);
        m.steps[d] = (uint32_t)number(r, t, TENSOR_STEPS, d, "an element stride", 1);
    }
    for (uint32_t d = 0; d < 3; d++) {
        m.lower[d] = (int32_t)number(r, t, TENSOR_LOWER, d, "a corner", 0);
        m.upper[d] = (int32_t)number(r, t, TENSOR_UPPER, d, "a corner", 0);
    }
    if (m.im2col) m.channels = (uint32_t)orr_eval_int(r, t->channels, "the channels", 1, 256);
    if (m.im2col) m.pixels = t->pixels ? (uint32_t)orr_eval_int(r, t->pixels, "the pixels", 1, 1024) : 1;
    const char *why = orr_map_check(&m);
    if (why) stop(r, ORR_BAD_INPUT, t->line, "%s: %s", what, why);
    orr_map_encode(&m, out);
}
