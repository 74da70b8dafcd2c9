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
