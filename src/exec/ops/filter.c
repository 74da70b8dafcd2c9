// What the texture unit makes of coordinates and texels.
//
// Everything here was found by comparing with an H200, about 1.6 million results (docs/how/textures.md):
//
//   coordinate  x (times the width, if normalised) becomes fixed-point with 8 bits of fraction, x * 256
//   rounded
//               half up. A linear filter takes half a texel off; what is above the point is the left of two
//               texels, the fraction a its weight: 256 - a and a of 256.
//   weights     w = 8 bits each, that add up to 256. Slice by slice (256 - c and c of a 3D one), x before y:
//               x1 = round(a * g), x0 = g - x1, then y1 = round(b * x1) and (b * x0 rounded half down).
//   sums        Floats are aligned to the largest exponent among texels that weigh something and cut to 27
//   bits
//               below it (14 for f16), multiplied, added without error and rounded half away from zero.
//               Integers become 16 bits (a byte twice), the sum of products is rounded to 16 bits, and that
//               is divided by 65535 (32767).
#include "exec/texture.h"

#include <math.h>
#include <string.h>

// ---- bits -----------------------------------------------------------------------------------
static float f32_of(uint32_t x) {
    float f;
    memcpy(&f, &x, 4);
    return f;
}
static uint32_t bits32(float f) {
    uint32_t x;
    memcpy(&x, &f, 4);
    return x;
}
static uint32_t f32_from_f16(uint32_t h) {
    uint32_t exponent = h >> 10 & 31, fraction = h & 1023, sign = (h & 0x8000) << 16;
    if (exponent == 31) return sign | 0x7f800000 | fraction << 13;
    if (exponent) return sign | (exponent + 112) << 23 | fraction << 13;
    return sign | bits32((float)fraction * 0x1p-24f);
}
// Rounded half away from zero to `bits` of significand, with the smallest exponent `least` of the last bit.
static double rounded(double v, int bits, int least) {
    if (v == 0) return 0;
    int e;
    frexp(v, &e);
    int last = e - bits > least ? e - bits : least;
    double m = ldexp(fabs(v), -last);
    return copysign(ldexp(floor(m + 0.5), last), v);
}

// ---- one axis -------------------------------------------------------------------------------
#define OUTSIDE (-1) // a texel of the border

typedef struct axis {
    int32_t at[2]; // texels
    uint32_t frac; // weight of the second, of 256
} axis;

static int64_t floor_div(int64_t a, int64_t n) { return a >= 0 ? a / n : -((-a + n - 1) / n); }

static int32_t folded(int64_t i, int32_t n, uint8_t mode) {
    if (i >= 0 && i < n) return (int32_t)i;
    int64_t turn;
    switch (mode) {
    case ORR_TEX_WRAP: return (int32_t)(i - floor_div(i, n) * n);
    case ORR_TEX_MIRROR:
        turn = i - floor_div(i, 2 * (int64_t)n) * 2 * n;
        return (int32_t)(turn < n ? turn : 2 * (int64_t)n - 1 - turn);
    case ORR_TEX_BORDER: return OUTSIDE;
    default: return i < 0 ? 0 : n - 1;
    }
}

// Out of reach is as good as far away; NaN and subnormal numbers are 0.
static double sane(float c) {
    if (isnan(c) || fabsf(c) < 0x1p-126f) return 0;
    return c > 0x1p40f ? 0x1p40 : c < -0x1p40f ? -0x1p40 : (double)c;
}

static bool is_cube(const orr_texture *t) { return t->shape == ORR_TEX_CUBE || t->shape == ORR_TEX_ACUBE; }

// GATHERED: a coordinate beyond the edge is not moved to it, its texels are. `offset` is of texels.
enum { NEAREST, FILTERED, GATHERED };
static axis along(const orr_texture *t, int n, int32_t size, float c, int32_t offset, int how) {
    uint8_t mode = t->address[n];
    bool normalized = t->normalized || is_cube(t); // on a face they always are
    if (!normalized && (mode == ORR_TEX_WRAP || mode == ORR_TEX_MIRROR)) mode = ORR_TEX_CLAMP;
    double x = sane(c);
    if (normalized) {
        // Whole turns do not matter, however many; the rest has 21 bits.
        // (Just left of 0 is the last texel, down to -2^-33 at least; -2^-59 was seen to be 0.)
        if (mode == ORR_TEX_WRAP) x = fabs(x) < 0x1p40 && fabs(x) > 0x1p-48 ? x - floor(x) : 0;
        if (mode == ORR_TEX_MIRROR) x = fabs(x) < 0x1p40 ? x - 2 * floor(x / 2) : 0;
        x = floor(x * 0x1p21) * 0x1p-21 * size;
    }
    axis a = {.frac = 0};
    if (how == NEAREST) {
        a.at[0] = a.at[1] = folded((int64_t)floor(x) + offset, size, mode);
        return a;
    }
    int64_t f = (int64_t)floor(x * 256 + 0.5) - 128 + offset * 256, most = (int64_t)(size - 1) * 256;
    if (mode == ORR_TEX_CLAMP && how != GATHERED) f = f < 0 ? 0 : f > most ? most : f;
    int64_t i = floor_div(f, 256);
    a.frac = (uint32_t)(f - i * 256);
    a.at[0] = folded(i, size, mode);
    a.at[1] = folded(i + 1, size, mode);
    return a;
}

// ---- texels ---------------------------------------------------------------------------------
typedef struct texel {
    uint32_t raw[4]; // integers, extended; floats
    bool border;
} texel;

static texel fetched(const orr_texture *t, const uint8_t *host, uint32_t level, const int32_t at[3],
                     uint32_t layer) {
    texel e = {.border = at[0] < 0 || at[1] < 0 || at[2] < 0};
    if (e.border) return e;
    uint32_t bytes = orr_tex_texel_bytes(t);
    const uint8_t *from =
        host + orr_tex_offset(t, level, (uint32_t)at[0] * bytes, (uint32_t)at[1], (uint32_t)at[2], layer);
    for (int k = 0; k < t->channels; k++) {
        uint16_t h;
        switch (t->format) {
        case ORR_TEX_U8: e.raw[k] = from[k]; break;
        case ORR_TEX_S8: e.raw[k] = (uint32_t)(int8_t)from[k]; break;
        case ORR_TEX_U16: memcpy(&h, from + 2 * k, 2), e.raw[k] = h; break;
        case ORR_TEX_S16: memcpy(&h, from + 2 * k, 2), e.raw[k] = (uint32_t)(int16_t)h; break;
        case ORR_TEX_F16: memcpy(&h, from + 2 * k, 2), e.raw[k] = f32_from_f16(h); break;
        default: memcpy(&e.raw[k], from + 4 * k, 4); break;
        }
    }
    return e;
}

static bool is_float(const orr_texture *t) { return t->format == ORR_TEX_F16 || t->format == ORR_TEX_F32; }

static float largest(uint8_t format) {
    return format == ORR_TEX_U8 ? 255 : format == ORR_TEX_S8 ? 127 : format == ORR_TEX_U16 ? 65535 : 32767;
}

// The border's colour, as a texel of the format would have it.
static uint32_t border_of(const orr_texture *t, int k) {
    float f = t->border[k];
    if (k >= t->channels) return 0;
    if (t->format == ORR_TEX_F32) return bits32(f);
    if (t->format == ORR_TEX_F16) return bits32(f) & ~0x1fffu; // cut off
    if (!t->normalized_read) {
        uint32_t raw = bits32(f); // integers are given as they are, and as much of them counts as a texel has
        switch (t->format) {
        case ORR_TEX_U8: return (uint8_t)raw;
        case ORR_TEX_S8: return (uint32_t)(int8_t)raw;
        case ORR_TEX_U16: return (uint16_t)raw;
        case ORR_TEX_S16: return (uint32_t)(int16_t)raw;
        default: return raw;
        }
    }
    bool is_signed = t->format == ORR_TEX_S8 || t->format == ORR_TEX_S16;
    f = isnan(f) ? 0 : f > 1 ? 1 : f < (is_signed ? -1 : 0) ? (is_signed ? -1 : 0) : f;
    return (uint32_t)(int32_t)rintf(f * largest(t->format));
}

// sRGB to linear, in a unit with few bits: read off an H200 where it was seen, else the formula in bf16.
static float linear_of(uint32_t v) {
    double c = v / 255.0, l = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    int e;
    double m = frexp(l, &e);
    return l == 0 ? 0 : (float)ldexp(rint(m * 256), e - 8);
}

// A component as a number, unfiltered.
static uint32_t value_of(const orr_texture *t, const texel *e, int k) {
    uint32_t raw = e->border ? border_of(t, k) : e->raw[k];
    if (k >= t->channels || is_float(t) || !t->normalized_read) return raw;
    if (t->srgb && k < 3 && t->format == ORR_TEX_U8) return bits32(linear_of(raw));
    float most = largest(t->format);
    int32_t v = (int32_t)raw;
    if (v < -(int32_t)most) v = -(int32_t)most;
    return bits32((float)v / most);
}

// ---- sums -----------------------------------------------------------------------------------
#define SLICES 4 // two of a 3D texture, of two levels

typedef struct footprint {
    texel texel[SLICES][4];
    uint32_t weight[SLICES][4]; // of 256, all together
    int slices;
    const int32_t *offset;
} footprint;

// Slice by slice: the sum in units of 2^(exponent - cut - 8), and the exponent; INT32_MIN: nothing in it.
static int64_t slice_sum(const footprint *f, int slice, int k, const uint32_t *border, int cut,
                         int *exponent) {
    *exponent = INT32_MIN;
    float v[4];
    for (int n = 0; n < 4; n++) {
        v[n] = f32_of(f->texel[slice][n].border ? *border : f->texel[slice][n].raw[k]);
        if (!f->weight[slice][n] || v[n] == 0) continue;
        int e = ilogbf(v[n]);
        if (e > *exponent) *exponent = e;
    }
    int64_t sum = 0;
    for (int n = 0; n < 4 && *exponent != INT32_MIN; n++)
        if (f->weight[slice][n])
            sum += (int64_t)ldexp((double)v[n], cut - *exponent) * (int64_t)f->weight[slice][n];
    return sum;
}

static uint32_t special(const footprint *f, int k, const uint32_t *border, bool half, bool *is) {
    float sum = 0;
    *is = false;
    for (int s = 0; s < f->slices; s++)
        for (int n = 0; n < 4; n++) {
            float v = f32_of(f->texel[s][n].border ? *border : f->texel[s][n].raw[k]);
            if (!f->weight[s][n] || isfinite(v)) continue;
            *is = true;
            sum += v;
        }
    return isnan(sum) ? (half ? 0x7fffe000 : 0x7fffffff) : bits32(sum);
}

static uint32_t float_sum(const orr_texture *t, const footprint *f, int k) {
    bool half = t->format == ORR_TEX_F16, odd;
    int cut = half ? 14 : 27, top = INT32_MIN, exponent[SLICES];
    uint32_t border = border_of(t, k), instead = special(f, k, &border, half, &odd);
    int64_t sum[SLICES], all = 0;
    if (odd) return instead;
    for (int s = 0; s < f->slices; s++) {
        sum[s] = slice_sum(f, s, k, &border, cut, &exponent[s]);
        if (exponent[s] > top) top = exponent[s];
    }
    if (top == INT32_MIN) return 0;
    for (int s = 0; s < f->slices; s++) // one more bit where slices meet, what is below it cut off downwards
        if (exponent[s] != INT32_MIN) {
            int down = top - exponent[s];
            all += down > 62 ? (sum[s] < 0 ? -1 : 0) : (sum[s] * 2) >> down;
        }
    double v = ldexp((double)all, top - cut - 9);
    v = half ? rounded(v, 11, -24) : rounded(v, 24, -149);
    if (half && fabs(v) >= 65536) v = copysign(INFINITY, v);
    return bits32((float)v);
}

static uint32_t integer_sum(const orr_texture *t, const footprint *f, int k) {
    int64_t sum = 0;
    uint32_t border = border_of(t, k);
    for (int s = 0; s < f->slices; s++)
        for (int n = 0; n < 4; n++) {
            int64_t v = (int32_t)(f->texel[s][n].border ? border : f->texel[s][n].raw[k]);
            if (t->format == ORR_TEX_U8) v *= 257;
            if (t->format == ORR_TEX_S16 && v < -32767) v = -32767;
            sum += v * (int64_t)f->weight[s][n];
        }
    if (t->format == ORR_TEX_U8 || t->format == ORR_TEX_U16)
        return bits32((float)((sum + 128) >> 8) / 65535.0f);
    int64_t v = (sum + 128) >> 8;
    if (t->format == ORR_TEX_S8) v = (int64_t)floor((double)sum * (32767.0 / 32512) + 0.5);
    return bits32((float)(v < -32767 ? -32767 : v) / 32767.0f);
}

static uint32_t srgb_sum(const footprint *f, int k, uint32_t border) {
    double sum = 0;
    for (int s = 0; s < f->slices; s++)
        for (int n = 0; n < 4; n++)
            sum += linear_of(f->texel[s][n].border ? border : f->texel[s][n].raw[k]) * f->weight[s][n];
    return bits32((float)rounded(sum / 256, 11, -24));
}

static uint32_t filtered(const orr_texture *t, const footprint *f, int k) {
    if (k >= t->channels) return 0;
    if (t->srgb && k < 3 && t->format == ORR_TEX_U8 && t->normalized_read)
        return srgb_sum(f, k, border_of(t, k));
    if (is_float(t)) return float_sum(t, f, k);
    return t->normalized_read ? integer_sum(t, f, k) : 0;
}

// ---- footprints -----------------------------------------------------------------------------
static uint32_t half_up(uint32_t product) { return (product + 128) >> 8; }

typedef struct layer { // of a texture, or a face of a cube
    const orr_texture *t;
    const uint8_t *host;
    uint32_t n;
} layer;

// Four texels of a slice that weighs `share` of 256.
static void add_slice(footprint *f, const layer *l, uint32_t level, const axis ax[2], int32_t z,
                      uint32_t share) {
    int s = f->slices++;
    uint32_t x1 = half_up(ax[0].frac * share), x0 = share - x1;
    uint32_t x1y1 = half_up(ax[1].frac * x1), x0y1 = (ax[1].frac * x0 + 127) >> 8;
    uint32_t w[4] = {x0 - x0y1, x1 - x1y1, x0y1, x1y1};
    for (int n = 0; n < 4; n++) {
        f->weight[s][n] = w[n];
        f->texel[s][n] = (texel){.border = false}; // what weighs nothing is not read
        if (w[n])
            f->texel[s][n] =
                fetched(l->t, l->host, level, (int32_t[3]){ax[0].at[n & 1], ax[1].at[n >> 1], z}, l->n);
    }
}

static int dims_of(uint8_t shape) {
    return shape == ORR_TEX_1D || shape == ORR_TEX_A1D ? 1 : shape == ORR_TEX_3D ? 3 : 2;
}

// Cut to the 21 bits that a coordinate has, not rounded: just before the edge of a texel is in it.
static float on_face(float s, float m) {
    return m == 0 ? 0.5f : (float)(floor(((double)s / (double)m + 1) * 0x1p20) * 0x1p-21);
}

// The face of a cube, and where on it (0 to 1).
static uint32_t face_of(const float c[3], float on[2]) {
    float x = c[0], y = c[1], z = c[2], ax = fabsf(x), ay = fabsf(y), az = fabsf(z), s, u, m;
    uint32_t face;
    if (az >= ax && az >= ay)
        face = 4 + (z < 0), m = az, s = z < 0 ? -x : x, u = -y;
    else if (ay >= ax)
        face = 2 + (y < 0), m = ay, s = x, u = y < 0 ? -z : z;
    else
        face = x < 0, m = ax, s = x < 0 ? z : -z, u = -y;
    on[0] = on_face(s, m);
    on[1] = on_face(u, m);
    return face;
}

static void add_level(footprint *f, const layer *l, uint32_t level, const float c[3], uint32_t share,
                      axis ax[3]) {
    const orr_texture *t = l->t;
    const orr_tex_level *v = &t->level[level];
    int dims = dims_of(t->shape);
    uint32_t size[3] = {v->width, v->height, v->depth};
    for (int n = 0; n < 3; n++)
        // A 1D texture has one row, and above it whatever the second address mode says; a layered one has
        // not.
        ax[n] = n < dims ? along(t, n, (int32_t)size[n], c[n], f->offset[n], t->linear)
                : n == 1 && t->shape == ORR_TEX_1D ? along(t, n, 1, 0, f->offset[1], t->linear)
                                                   : (axis){.frac = 0};
    uint32_t back = dims == 3 ? (ax[2].frac * share + 127) >> 8 : 0;
    if (share > back) add_slice(f, l, level, ax, ax[2].at[0], share - back);
    if (back) add_slice(f, l, level, ax, ax[2].at[1], back);
}

// Where the first texel's sector is, and what else is touched.
static uint64_t touched(const orr_texture *t, uint32_t level, const axis ax[3], uint32_t layer, int slices) {
    uint32_t bytes = orr_tex_texel_bytes(t), code = 0;
    int32_t x = ax[0].at[0] >= 0 ? ax[0].at[0] : ax[0].at[1],
            y = ax[1].at[0] >= 0 ? ax[1].at[0] : ax[1].at[1];
    int32_t z = ax[2].at[0] >= 0 ? ax[2].at[0] : ax[2].at[1];
    if (x < 0 || y < 0 || z < 0) return 0;
    uint64_t at = t->at + orr_tex_offset(t, level, (uint32_t)x * bytes, (uint32_t)y, (uint32_t)z, layer);
    bool blocks = t->where == ORR_TEX_BLOCKS;
    uint32_t wide = blocks ? 16 : 32;
    if (ax[0].frac && ((uint32_t)x * bytes + bytes) % wide == 0) code |= ORR_TEX_RIGHT;
    if (ax[1].frac && (!blocks || y & 1)) code |= ORR_TEX_BELOW;
    // Floats of 16 bytes a texel go half by half, and half as fast when they are filtered.
    uint32_t passes = (slices > 1) + (slices > 2) + (bytes == 16) * (t->linear ? 2 : 1);
    code |= (passes > 3 ? 3 : passes) * ORR_TEX_PASSES;
    if (blocks && dims_of(t->shape) > 1) code |= ORR_TEX_QUADS;
    return (at & ~31ull) | code;
}

// ---- levels ---------------------------------------------------------------------------------
// In 8 bits of fraction, what is beyond them cut off.
static int32_t level_bits(float l) {
    if (isnan(l)) return 0;
    return (int32_t)floor((l > 100 ? 100.0 : l < -100 ? -100.0 : (double)l) * 256);
}

static int32_t fixed_level(const orr_texture *t, float level) {
    int32_t l = level_bits(level) + level_bits(t->bias), last = (t->nlevels - 1) * 256;
    int32_t least = level_bits(t->min_level), most = level_bits(t->max_level);
    l = l > most ? most : l;
    l = l < least ? least : l;
    return l < 0 ? 0 : l > last ? last : l;
}

static uint32_t layer_of(const orr_texture *t, uint32_t layer) {
    uint32_t n = t->layers ? t->layers : 1;
    return layer < n ? layer : n - 1;
}

// The layer that is a cube's face, and where on it.
static uint32_t face_at(const orr_texture *t, const orr_tex_at *a, float on[2]) {
    uint32_t cube = t->shape == ORR_TEX_ACUBE ? layer_of(t, a->layer * 6) / 6 : 0;
    return layer_of(t, cube * 6 + face_of(a->c, on));
}

// Everything but the sums: coordinates by shape, levels, slices.
static uint64_t gathered(const orr_texture *t, const uint8_t *host, const orr_tex_at *a, footprint *f) {
    float c[3] = {a->c[0], a->c[1], a->c[2]};
    uint32_t number = 0; // of the layer
    f->slices = 0;
    f->offset = a->offset;
    if (t->shape == ORR_TEX_A1D || t->shape == ORR_TEX_A2D) number = layer_of(t, a->layer);
    if (is_cube(t)) number = face_at(t, a, c);
    int32_t level = t->nlevels > 1 ? fixed_level(t, a->level) : 0;
    layer on = {.t = t, .host = host, .n = number};
    axis ax[3];
    if (t->mip_linear) {
        uint32_t low = (uint32_t)level >> 8, share = (uint32_t)level & 255;
        if (share) add_level(f, &on, low + 1, c, share, ax);
        if (share < 256) add_level(f, &on, low, c, 256 - share, ax);
        return touched(t, low, ax, number, f->slices);
    }
    uint32_t near = (uint32_t)(level + 128) >> 8;
    add_level(f, &on, near, c, 256, ax);
    return touched(t, near, ax, number, f->slices);
}

// ---- doors ----------------------------------------------------------------------------------
static uint64_t by_integers(const orr_texture *t, const uint8_t *host, const orr_tex_at *a, uint32_t out[4]) {
    int32_t level = a->ilevel < 0 ? 0 : a->ilevel, at[3] = {0, 0, 0};
    uint32_t layer = layer_of(t, a->layer);
    texel e = {.border = true};
    axis ax[3] = {{.frac = 0}};
    bool layered = t->shape == ORR_TEX_A1D || t->shape == ORR_TEX_A2D;
    // One-dimensional fetches are of linear memory; arrays are not there for them.
    bool there = level < t->nlevels && !(layered && a->layer >= t->layers) &&
                 (t->shape != ORR_TEX_1D || t->where == ORR_TEX_LINEAR);
    if (there) {
        const orr_tex_level *v = &t->level[level];
        int32_t size[3] = {(int32_t)v->width, (int32_t)v->height, (int32_t)v->depth};
        bool inside = true;
        for (int n = 0; n < dims_of(t->shape); n++) {
            at[n] = a->i[n] + a->offset[n];
            if (at[n] < 0 || at[n] >= size[n]) inside = false;
        }
        if (inside) e = fetched(t, host, (uint32_t)level, at, layer);
    }
    for (int k = 0; k < 4; k++) out[k] = e.border || k >= t->channels ? 0 : value_of(t, &e, k);
    for (int n = 0; n < 3; n++) ax[n].at[0] = ax[n].at[1] = at[n];
    return e.border ? 0 : touched(t, (uint32_t)level, ax, layer, 1);
}

uint64_t orr_tex_sample(const orr_texture *t, const uint8_t *host, const orr_tex_at *a, uint32_t out[4]) {
    if (a->integers) return by_integers(t, host, a, out);
    if (t->where == ORR_TEX_LINEAR) { // is for fetches alone
        memset(out, 0, 4 * sizeof *out);
        return 0;
    }
    footprint f;
    uint64_t at = gathered(t, host, a, &f);
    bool one = !t->linear && f.slices == 1;
    for (int k = 0; k < 4; k++) out[k] = one ? value_of(t, &f.texel[0][0], k) : filtered(t, &f, k);
    return at;
}

uint64_t orr_tex_gather(const orr_texture *t, const uint8_t *host, const orr_tex_at *a, int component,
                        uint32_t out[4]) {
    static const uint8_t order[4] = {2, 3, 1, 0}; // below left, below right, above right, above left
    axis ax[3];
    float c[2] = {a->c[0], a->c[1]};
    uint32_t layer = t->shape == ORR_TEX_A2D ? layer_of(t, a->layer) : is_cube(t) ? face_at(t, a, c) : 0;
    for (int n = 0; n < 3; n++)
        ax[n] = n < 2 ? along(t, n, (int32_t)(n ? t->level[0].height : t->level[0].width), c[n], a->offset[n],
                              GATHERED)
                      : (axis){.frac = 0};
    for (int n = 0; n < 4; n++) {
        int q = order[n];
        texel e = fetched(t, host, 0, (int32_t[3]){ax[0].at[q & 1], ax[1].at[q >> 1], 0}, layer);
        out[n] = value_of(t, &e, component);
    }
    return touched(t, 0, ax, layer, 1);
}

int orr_tex_coordinates(uint8_t shape) {
    return shape == ORR_TEX_CUBE || shape == ORR_TEX_ACUBE ? 3 : dims_of(shape);
}

// How a place on a face of a cube (0 to 1) differs, where the direction differs by d.
static void on_its_face(const float c[3], const float d[3], double to[2]) {
    int m = fabsf(c[2]) >= fabsf(c[0]) && fabsf(c[2]) >= fabsf(c[1]) ? 2 : fabsf(c[1]) >= fabsf(c[0]);
    double far = c[m], along_it = d[m];
    for (int n = 0, k = 0; n < 3; n++)
        if (n != m) to[k++] = far != 0 ? (d[n] * far - c[n] * along_it) / (far * far) / 2 : 0;
}

float orr_tex_gradient(const orr_texture *t, const float at[3], const float dx[3], const float dy[3]) {
    const uint32_t size[3] = {t->level[0].width, t->level[0].height, t->level[0].depth};
    double x[3] = {dx[0], dx[1], dx[2]}, y[3] = {dy[0], dy[1], dy[2]}, sx = 0, sy = 0;
    if (is_cube(t)) on_its_face(at, dx, x), on_its_face(at, dy, y);
    for (int n = 0; n < dims_of(t->shape); n++) {
        double scale = t->normalized || is_cube(t) ? size[n] : 1;
        sx += x[n] * x[n] * scale * scale;
        sy += y[n] * y[n] * scale * scale;
    }
    double rho = sx > sy ? sx : sy;
    return rho > 0 ? (float)(log2(rho) / 2) : -32.0f;
}
