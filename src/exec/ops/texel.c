// Where texels lie, and what they look like in memory.
//
// Blocks: a GOB ("group of bytes") is 64 bytes x 8 rows; a block is 2^high of them high and 2^deep deep, and
// blocks lie side by side, rows after rows. Inside a GOB (public descriptions of NVIDIA's 16Bx2 sectors):
//
//   offset = x5 y2 y1 x4 y0 x3 x2 x1 x0        (bits 8 to 0, of byte x and row y)
//
// Small images have smaller blocks, as the driver makes them. Where exactly an array lies on a GPU no program
// can see; models of time see which texels share a sector and a line.
#include "exec/texture.h"

#include <math.h>
#include <string.h>

static const uint8_t component_bytes[ORR_TEX_FORMATS] = {1, 1, 2, 2, 4, 4, 2, 4};

uint32_t orr_tex_texel_bytes(const orr_texture *t) { return component_bytes[t->format] * t->channels; }

static uint8_t log2_up(uint32_t n, uint8_t most) {
    uint8_t l = 0;
    while (l < most && (1u << l) < n) l++;
    return l;
}

static uint32_t at_level(uint32_t n, uint32_t level) { return n >> level ? n >> level : 1; }

bool orr_tex_lay_out(orr_texture *t, uint32_t width, uint32_t height, uint32_t depth, uint32_t nlevels) {
    bool flat = t->shape == ORR_TEX_1D || t->shape == ORR_TEX_A1D, solid = t->shape == ORR_TEX_3D;
    uint32_t texel = orr_tex_texel_bytes(t);
    if (flat) height = 1;
    if (!solid) depth = 1;
    if (!width || !height || !depth || !texel || !nlevels || nlevels > ORR_TEX_LEVELS) return false;
    if (width > 131072 || height > 65536 || depth > 16384 || t->layers > 12288) return false;
    if ((uint64_t)width * height * depth * (t->layers ? t->layers : 1) > 1ull << 34) return false;
    t->where = ORR_TEX_BLOCKS;
    t->nlevels = (uint8_t)nlevels;
    uint64_t offset = 0;
    for (uint32_t l = 0; l < nlevels; l++) {
        orr_tex_level *v = &t->level[l];
        v->width = at_level(width, l);
        v->height = at_level(height, l);
        v->depth = at_level(depth, l);
        uint32_t gobs = (v->height + 7) / 8;
        v->high = log2_up(gobs, 4);
        v->deep = log2_up(v->depth, 4);
        v->row = (v->width * texel + 63) / 64;
        uint64_t rows = (gobs + (1u << v->high) - 1) >> v->high;
        uint64_t slices = (v->depth + (1u << v->deep) - 1) >> v->deep;
        v->layer = ((uint64_t)v->row * rows * slices * 512) << (v->high + v->deep);
        v->offset = offset;
        offset += v->layer * (t->layers ? t->layers : 1);
    }
    t->bytes = offset;
    return true;
}

bool orr_tex_array(orr_texture *t, const size_t size[3], unsigned flags, unsigned levels) {
    bool layered = flags & ORR_TEX_LAYERED, cube = flags & ORR_TEX_IS_CUBE;
    size_t width = size[0], height = size[1], depth = size[2];
    if (width > 1u << 20 || height > 1u << 20 || depth > 1u << 20 || !width) return false;
    if (cube && (width != height || depth % 6 || !depth)) return false;
    if (cube && !layered && depth != 6) return false;
    if (layered && !depth) return false;
    if (cube)
        t->shape = layered ? ORR_TEX_ACUBE : ORR_TEX_CUBE;
    else if (layered)
        t->shape = height ? ORR_TEX_A2D : ORR_TEX_A1D;
    else
        t->shape = depth ? ORR_TEX_3D : height ? ORR_TEX_2D : ORR_TEX_1D;
    t->layers = layered || cube ? (uint32_t)depth : 0;
    unsigned most = 1;
    for (size_t n = width > height ? width : height; n > 1; n /= 2) most++;
    return orr_tex_lay_out(t, (uint32_t)width, (uint32_t)height, layered || cube ? 1 : (uint32_t)depth,
                           levels > most ? most : levels);
}

// ---- as numbers -----------------------------------------------------------------------------
enum {
    FLAG_LINEAR = 1,
    FLAG_MIP_LINEAR = 2,
    FLAG_NORMALIZED = 4,
    FLAG_READ = 8,
    FLAG_SRGB = 16,
    FLAG_SEAMLESS = 32
};

void orr_tex_to_numbers(const orr_texture *t, uint32_t n[ORR_TEX_NUMBERS]) {
    const orr_tex_level *v = &t->level[0];
    uint32_t flags = (t->linear ? FLAG_LINEAR : 0) | (t->mip_linear ? FLAG_MIP_LINEAR : 0) |
                     (t->normalized ? FLAG_NORMALIZED : 0) | (t->normalized_read ? FLAG_READ : 0) |
                     (t->srgb ? FLAG_SRGB : 0) | (t->seamless ? FLAG_SEAMLESS : 0);
    const uint32_t whole[] = {t->shape,      t->where,      t->format,     t->channels, t->layers,
                              t->nlevels,    v->width,      v->height,     v->depth,    v->row,
                              t->address[0], t->address[1], t->address[2], flags};
    memcpy(n, whole, sizeof whole);
    memcpy(n + 14, t->border, sizeof t->border);
    memcpy(n + 18, &t->bias, 4);
    memcpy(n + 19, &t->min_level, 4);
    memcpy(n + 20, &t->max_level, 4);
}

bool orr_tex_of_numbers(orr_texture *t, uint64_t at, const uint32_t n[ORR_TEX_NUMBERS]) {
    *t = (orr_texture){.at = at, .layers = n[4]};
    if (n[0] > ORR_TEX_ACUBE || n[1] > ORR_TEX_PITCH || n[2] >= ORR_TEX_FORMATS || n[3] > 4 || !n[5] ||
        n[5] > ORR_TEX_LEVELS)
        return false;
    t->shape = (uint8_t)n[0], t->where = (uint8_t)n[1], t->format = (uint8_t)n[2],
    t->channels = (uint8_t)n[3];
    for (int k = 0; k < 3; k++) {
        if (n[10 + k] > ORR_TEX_BORDER) return false;
        t->address[k] = (uint8_t)n[10 + k];
    }
    t->linear = n[13] & FLAG_LINEAR, t->mip_linear = n[13] & FLAG_MIP_LINEAR;
    t->normalized = n[13] & FLAG_NORMALIZED, t->normalized_read = n[13] & FLAG_READ;
    t->srgb = n[13] & FLAG_SRGB, t->seamless = n[13] & FLAG_SEAMLESS;
    memcpy(t->border, n + 14, sizeof t->border);
    memcpy(&t->bias, n + 18, 4);
    memcpy(&t->min_level, n + 19, 4);
    memcpy(&t->max_level, n + 20, 4);
    if (t->where == ORR_TEX_BLOCKS) {
        if (!orr_tex_lay_out(t, n[6], n[7], n[8], n[5])) return false;
    } else {
        t->nlevels = (uint8_t)n[5];
        t->level[0] = (orr_tex_level){.width = n[6], .height = n[7], .depth = n[8], .row = n[9]};
        t->bytes = n[7] ? (uint64_t)n[9] * (n[7] - 1) + (uint64_t)n[6] * orr_tex_texel_bytes(t) : 0;
    }
    return orr_tex_sound(t);
}

uint64_t orr_tex_offset(const orr_texture *t, uint32_t level, uint32_t x, uint32_t y, uint32_t z,
                        uint32_t layer) {
    const orr_tex_level *v = &t->level[level];
    if (t->where != ORR_TEX_BLOCKS) return v->offset + (uint64_t)y * v->row + x;
    uint32_t gobs = (v->height + 7) / 8;
    uint64_t rows = (gobs + (1u << v->high) - 1) >> v->high;
    uint64_t block = ((uint64_t)(z >> v->deep) * rows + (y >> (3 + v->high))) * v->row + x / 64;
    uint64_t inside = (uint64_t)(z & ((1u << v->deep) - 1)) << v->high | (y >> 3 & ((1u << v->high) - 1));
    uint64_t gob = (block << (v->high + v->deep)) + inside;
    uint32_t at = (x & 32) << 3 | (y & 6) << 5 | (x & 16) << 1 | (y & 1) << 4 | (x & 15);
    return v->offset + v->layer * layer + gob * 512 + at;
}

bool orr_tex_sound(const orr_texture *t) {
    if (t->format >= ORR_TEX_FORMATS || (t->channels != 1 && t->channels != 2 && t->channels != 4))
        return false;
    if (t->shape > ORR_TEX_ACUBE || t->shape == 6 || t->where > ORR_TEX_PITCH) return false;
    if (!t->nlevels || t->nlevels > ORR_TEX_LEVELS) return false;
    for (int n = 0; n < 3; n++)
        if (t->address[n] > ORR_TEX_BORDER) return false;
    if (t->shape == ORR_TEX_CUBE && t->layers != 6) return false;
    if (t->shape == ORR_TEX_ACUBE && (!t->layers || t->layers % 6)) return false;
    if (t->where == ORR_TEX_BLOCKS) {
        orr_texture like = *t;
        return orr_tex_lay_out(&like, t->level[0].width, t->level[0].height, t->level[0].depth, t->nlevels) &&
               like.bytes <= t->bytes && !memcmp(like.level, t->level, t->nlevels * sizeof *t->level);
    }
    const orr_tex_level *v = &t->level[0];
    uint64_t line = (uint64_t)v->width * orr_tex_texel_bytes(t);
    return t->nlevels == 1 && !v->offset && v->width && v->height && v->width <= 1u << 28 &&
           v->height <= 1u << 17 && v->depth == 1 && t->layers <= 1 && (v->height == 1 || v->row >= line) &&
           (uint64_t)v->row * (v->height - 1) + line <= t->bytes;
}

// A float cut to a half.
static uint16_t half_of(uint32_t bits) {
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7c00 | (magnitude >> 13 & 0x3ff)); // of a NaN what fits
    if (magnitude == 0x7f800000) return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7bff);
    if (magnitude >= 0x38800000) return (uint16_t)(sign | (magnitude - 0x38000000) >> 13);
    uint32_t shift = 126 - (magnitude >> 23);
    return (uint16_t)(sign | (shift > 24 ? 0 : ((magnitude & 0x7fffff) | 0x800000) >> shift));
}

// A component that is stored as a number of the format: integers keep what fits, floats are rounded.
void orr_tex_store(const orr_texture *t, uint8_t *texel, const uint32_t in[4]) {
    for (int k = 0; k < t->channels; k++) {
        uint8_t *to = texel + component_bytes[t->format] * k;
        int32_t s = (int32_t)in[k];
        uint16_t half;
        switch (t->format) {
        case ORR_TEX_U8: *to = (uint8_t)(in[k] > 255 ? 255 : in[k]); break;
        case ORR_TEX_S8: *to = (uint8_t)(int8_t)(s > 127 ? 127 : s < -128 ? -128 : s); break;
        case ORR_TEX_U16: half = (uint16_t)(in[k] > 65535 ? 65535 : in[k]), memcpy(to, &half, 2); break;
        case ORR_TEX_S16:
            half = (uint16_t)(int16_t)(s > 32767 ? 32767 : s < -32768 ? -32768 : s), memcpy(to, &half, 2);
            break;
        case ORR_TEX_F16: half = half_of(in[k]), memcpy(to, &half, 2); break;
        default: memcpy(to, &in[k], 4); break;
        }
    }
}
