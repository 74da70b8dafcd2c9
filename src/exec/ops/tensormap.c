// Tensor maps: to the machine's layout and back, and what the driver refuses.
#include "exec/tensormap.h"

#include <string.h>

enum { BOX_MAX = 232448 }; // 227 KiB; the driver takes 128 KiB and refuses 1 MiB

static const uint8_t bytes_of[ORR_MAP_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
// The machine's number of a type; tf32 is f32 with a bit that asks for rounding.
static const uint8_t code_of[ORR_MAP_TYPES] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8};

uint32_t orr_map_element(uint8_t type) { return type < ORR_MAP_TYPES ? bytes_of[type] : 0; }

// ---- what the driver refuses --------------------------------------------------------------------
static const char *check_tile(const orr_tensor_map *m) {
    uint64_t inner = m->box[0] * (uint64_t)bytes_of[m->type], all = inner;
    for (int d = 0; d < m->rank; d++) {
        if (!m->box[d] || m->box[d] > 256) return "a size of the box is not 1 to 256";
        if (d) all *= (m->box[d] + m->steps[d] - 1) / m->steps[d];
    }
    if (all > BOX_MAX) return "the box is more than a thread block's shared memory";
    if (inner % 16) return "the box's first size is not a multiple of 16 bytes";
    if (!m->interleave && m->swizzle && inner > 16u << m->swizzle)
        return "the box's first size is more than the swizzle's bytes";
    return NULL;
}

static const char *check_im2col(const orr_tensor_map *m) {
    static const int32_t low[6] = {0, 0, 0, -32768, -128, -16}, high[6] = {0, 0, 0, 32767, 127, 15};
    if (m->rank < 3) return "im2col needs 3 to 5 dimensions";
    for (int d = 0; d < m->rank - 2; d++) {
        int32_t a = m->lower[d], b = m->upper[d];
        if (a < low[m->rank] || a > high[m->rank] || b < low[m->rank] || b > high[m->rank])
            return "a corner of the bounding box is out of range";
        if (a > (int64_t)m->dims[m->interleave ? d : d + 1] - 1 + b) return "the bounding box is empty";
    }
    if (!m->channels || m->channels > 256) return "the channels are not 1 to 256";
    if (!m->pixels || m->pixels > 1024) return "the pixels are not 1 to 1024";
    uint64_t inner = m->channels * (uint64_t)bytes_of[m->type];
    if (!m->interleave && m->swizzle && inner > 16u << m->swizzle)
        return "the channels are more than the swizzle's bytes";
    return NULL;
}

const char *orr_map_check(const orr_tensor_map *m) {
    if (m->type >= ORR_MAP_TYPES) return "there is no such type";
    if (!m->rank || m->rank > ORR_MAP_RANK) return "the dimensions are not 1 to 5";
    if (m->interleave > 2 || m->swizzle > 3 || m->promotion > 3)
        return "there is no such interleaving, swizzle or promotion";
    if (m->interleave && m->rank < 3) return "interleaving needs 3 dimensions";
    if (m->interleave == 2 && m->swizzle > 1)
        return "interleaving by 32 bytes goes with a swizzle of 32 bytes";
    if (m->address % (m->interleave == 2 ? 32 : 16)) return "the address is not a multiple of 16 bytes";
    bool floats = m->type == ORR_MAP_F16 || m->type == ORR_MAP_F32 || m->type >= ORR_MAP_BF16;
    if (m->nan_fill && !floats && m->type != ORR_MAP_F64) return "only floats are filled with NaN";
    for (int d = 0; d < m->rank; d++) {
        if (!m->dims[d] || m->dims[d] > 1ull << 32) return "a size of the tensor is not 1 to 2^32";
        if (!m->steps[d] || m->steps[d] > 8) return "an element stride is not 1 to 8";
        if (d && (m->strides[d] % 16 || m->strides[d] >= 1ull << 40))
            return "a stride is not a multiple of 16 below 2^40";
    }
    return m->im2col ? check_im2col(m) : check_tile(m);
}

// ---- the layout ------------------------------------------------------------------------------------
static void put32(uint8_t *at, uint32_t v) { memcpy(at, &v, 4); }
static uint32_t get32(const uint8_t *at) {
    uint32_t v;
    memcpy(&v, at, 4);
    return v;
}

// Bits of each number of a corner of im2col's bounding box.
static int corner_bits(int rank) { return rank == 3 ? 16 : rank == 4 ? 8 : 5; }

static uint32_t corner(const int32_t v[3], int rank) {
    uint32_t out = 0;
    int bits = corner_bits(rank);
    for (int d = 0; d < rank - 2; d++) out |= ((uint32_t)v[d] & ((1u << bits) - 1)) << d * bits;
    return out;
}

void orr_map_encode(const orr_tensor_map *m, uint8_t out[ORR_MAP_BYTES]) {
    memset(out, 0, ORR_MAP_BYTES);
    memcpy(out, &m->address, 8);
    bool tf32 = m->type == ORR_MAP_TF32 || m->type == ORR_MAP_TF32_FTZ;
    put32(out + 8, (uint32_t)m->im2col | (m->rank - 1u) << 4 | (uint32_t)code_of[m->type] << 7 |
                       (uint32_t)m->interleave << 11 | (uint32_t)m->swizzle << 13 |
                       (uint32_t)m->nan_fill << 15 | (uint32_t)tf32 << 16 | (uint32_t)m->promotion << 17);
    uint32_t high = 0, steps = 0, box = 0;
    for (int d = 1; d < m->rank; d++) {
        put32(out + 8 + 4 * d, (uint32_t)(m->strides[d] >> 4));
        high |= (uint32_t)(m->strides[d] >> 36) << 4 * (d - 1);
    }
    put32(out + 28, high);
    for (int d = 0; d < m->rank; d++) {
        put32(out + 32 + 4 * d, (uint32_t)(m->dims[d] - 1));
        steps |= (m->steps[d] - 1) << 3 * d;
        if (d) box |= (m->box[d] - 1) << 8 * (d - 1);
    }
    put32(out + 52, steps | ((m->im2col ? m->channels : m->box[0]) - 1) << 24);
    put32(out + 56, m->im2col ? corner(m->lower, m->rank) | corner(m->upper, m->rank) << 16 : box);
    if (m->im2col) put32(out + 60, m->pixels - 1);
}

static void open_corner(uint32_t v, int rank, int32_t out[3]) {
    int bits = corner_bits(rank);
    for (int d = 0; d < rank - 2; d++) out[d] = (int32_t)(v >> d * bits << (32 - bits)) >> (32 - bits);
}

bool orr_map_decode(const uint8_t in[ORR_MAP_BYTES], orr_tensor_map *m, const char **why) {
    memset(m, 0, sizeof *m);
    memcpy(&m->address, in, 8);
    uint32_t a = get32(in + 8), high = get32(in + 28), steps = get32(in + 52), box = get32(in + 56);
    m->im2col = a & 1;
    m->rank = (uint8_t)((a >> 4 & 7) + 1);
    m->interleave = a >> 11 & 3, m->swizzle = a >> 13 & 3, m->nan_fill = a >> 15 & 1,
    m->promotion = a >> 17 & 3;
    uint32_t code = a >> 7 & 15;
    m->type = ORR_MAP_TYPES;
    for (uint8_t t = 0; t < ORR_MAP_TF32; t++)
        if (code_of[t] == code) m->type = t;
    if (a >> 16 & 1) m->type = code == 7 ? ORR_MAP_TF32 : code == 8 ? ORR_MAP_TF32_FTZ : ORR_MAP_TYPES;
    *why = "these 128 bytes are no tensor map";
    if (m->rank > ORR_MAP_RANK || m->type == ORR_MAP_TYPES) return false;
    m->strides[0] = bytes_of[m->type];
    for (int d = 0; d < m->rank; d++) {
        m->dims[d] = (uint64_t)get32(in + 32 + 4 * d) + 1;
        m->steps[d] = (steps >> 3 * d & 7) + 1;
        m->box[d] = (!d ? steps >> 24 : m->im2col ? 0 : box >> 8 * (d - 1) & 255) + 1;
        if (d) m->strides[d] = ((uint64_t)(high >> 4 * (d - 1) & 15) << 32 | get32(in + 8 + 4 * d)) << 4;
    }
    if (m->im2col) {
        if (m->rank < 3) return false;
        m->channels = m->box[0];
        m->pixels = (get32(in + 60) & 1023) + 1;
        open_corner(box & 0xffff, m->rank, m->lower);
        open_corner(box >> 16, m->rank, m->upper);
    }
    *why = orr_map_check(m);
    return !*why;
}
