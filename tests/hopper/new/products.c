// What the kernels of this folder leave, in plain C: called by tests/unseen/reference.c in place of a
// script's launches.
#include "../../unseen/reference.h"

static float half(uint16_t h) {
    _Float16 v;
    memcpy(&v, &h, 2);
    return v;
}
static float bf16(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float v;
    memcpy(&v, &bits, 4);
    return v;
}
static uint16_t to_half(double v) {
    _Float16 h = (_Float16)v;
    uint16_t bits;
    memcpy(&bits, &h, 2);
    return bits;
}
// Normal numbers with so many bits of mantissa.
static float small_float(uint8_t x, int mantissa, int bias) {
    float v = ldexpf((float)((1 << mantissa) + (x & ((1 << mantissa) - 1))),
                     (x >> mantissa & ((1 << (7 - mantissa)) - 1)) - bias - mantissa);
    return x & 0x80 ? -v : v;
}

static float *widened(const uint16_t *from, int64_t n, float (*as)(uint16_t)) {
    float *to = SCRATCH(float, n);
    for (int64_t i = 0; i < n; i++) to[i] = as(from[i]);
    return to;
}
static double dot(const float *a, const float *b, int64_t n) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += (double)a[i] * b[i];
    return s;
}
static void product(orr_ref *r, float (*as)(uint16_t), float *to) { // of the rows of a and those of b
    INT(m);
    INT(n);
    INT(k);
    BUF(uint16_t, a);
    BUF(uint16_t, b);
    float *fa = widened(a, m * k, as), *fb = widened(b, n * k, as);
    for (int64_t i = 0; i < m * n; i++) to[i] = (float)dot(fa + i / n * k, fb + i % n * k, k);
    free(fa);
    free(fb);
}
void ref_streamk(orr_ref *r) { product(r, bf16, ref_buffer(r, "c")); }
void ref_cast22(orr_ref *r) { product(r, bf16, ref_buffer(r, "c")); }
void ref_pingpong(orr_ref *r) {
    INT(m);
    INT(n);
    BUF(uint16_t, c);
    float *wide = SCRATCH(float, m *n);
    product(r, half, wide);
    for (int64_t i = 0; i < m * n; i++) c[i] = to_half(wide[i]);
    free(wide);
}
void ref_fp8_block(orr_ref *r) {
    INT(m);
    INT(n);
    INT(k);
    BUF(uint8_t, a);
    BUF(uint8_t, b);
    BUF(float, scale_a);
    BUF(float, scale_b);
    BUF(float, c);
    float *fa = SCRATCH(float, m *k), *fb = SCRATCH(float, n *k);
    for (int64_t i = 0; i < m * k; i++) fa[i] = small_float(a[i], 3, 7) * scale_a[i % k / 128 * m + i / k];
    for (int64_t i = 0; i < n * k; i++)
        fb[i] = small_float(b[i], 2, 15) * scale_b[i % k / 128 * (n / 64) + i / k / 64];
    for (int64_t i = 0; i < m * n; i++) c[i] = (float)dot(fa + i / n * k, fb + i % n * k, k);
    free(fa);
    free(fb);
}
void ref_gemv_bulk(orr_ref *r) {
    INT(m);
    INT(k);
    BUF(uint16_t, a);
    BUF(float, x);
    BUF(float, y);
    for (int64_t i = 0; i < m; i++) {
        double s = 0;
        for (int64_t j = 0; j < k; j++) s += (double)bf16(a[i * k + j]) * x[j];
        y[i] = (float)s;
    }
}
void ref_decode_split(orr_ref *r) {
    INT(heads);
    INT(pages);
    BUF(uint16_t, q);
    BUF(uint16_t, keys);
    BUF(uint16_t, values);
    BUF(int32_t, table);
    BUF(float, out);
    double *w = SCRATCH(double, pages * 16);
    for (int64_t h = 0; h < heads; h++) {
        double sum = 0, acc[64] = {0};
        for (int64_t i = 0; i < pages * 16; i++) {
            const uint16_t *key = keys + (int64_t)table[h * pages + i / 16] * 1024 + i % 16 * 64;
            double s = 0;
            for (int d = 0; d < 64; d++) s += (double)half(q[h * 64 + d]) * half(key[d]);
            sum += w[i] = exp(s / 8);
        }
        for (int64_t i = 0; i < pages * 16; i++)
            for (int d = 0; d < 64; d++)
                acc[d] += w[i] * half(values[(int64_t)table[h * pages + i / 16] * 1024 + i % 16 * 64 + d]);
        for (int d = 0; d < 64; d++) out[h * 64 + d] = (float)(acc[d] / sum);
    }
    free(w);
}
void ref_layernorm_cluster(orr_ref *r) {
    INT(rows);
    INT(n);
    BUF(float, x);
    BUF(float, gain);
    BUF(float, shift);
    BUF(float, y);
    for (int64_t i = 0; i < rows; i++) {
        double mean = 0, squares = 0;
        for (int64_t j = 0; j < n; j++) mean += x[i * n + j];
        mean /= n;
        for (int64_t j = 0; j < n; j++) squares += (x[i * n + j] - mean) * (x[i * n + j] - mean);
        for (int64_t j = 0; j < n; j++)
            y[i * n + j] = (float)((x[i * n + j] - mean) / sqrt(squares / n + 1e-5) * gain[j] + shift[j]);
    }
}
void ref_scatter_add(orr_ref *r) {
    INT(count);
    INT(entries);
    BUF(uint16_t, rows);
    BUF(int32_t, index);
    BUF(uint16_t, table);
    float *sum = SCRATCH(float, entries * 256);
    for (int64_t i = 0; i < count * 256; i++) sum[index[i / 256] * 256 + i % 256] += bf16(rows[i]);
    for (int64_t i = 0; i < entries * 256; i++) { // whole numbers below 256 are bf16
        uint32_t bits;
        memcpy(&bits, &sum[i], 4);
        table[i] = (uint16_t)(bits >> 16);
    }
    free(sum);
}
void ref_conv_dilated(orr_ref *r) {
    INT(images);
    INT(height);
    INT(width);
    INT(channels);
    INT(filters);
    BUF(uint16_t, x);
    BUF(uint16_t, f);
    BUF(float, y);
    float *fx = widened(x, images * 4 * height * width * channels, half),
          *ff = widened(f, filters * 9 * channels, half);
    for (int64_t at = 0; at < images * height * width; at++)
        for (int64_t k = 0; k < filters; k++) {
            double s = 0;
            for (int64_t p = 0; p < 9; p++) {
                int64_t row = at / width % height * 2 - 2 + p / 3 * 2, col = at % width * 2 - 2 + p % 3 * 2;
                if (row < 0 || row >= 2 * height || col < 0 || col >= 2 * width) continue;
                s += dot(fx + ((at / width / height * 2 * height + row) * 2 * width + col) * channels,
                         ff + (k * 9 + p) * channels, channels);
            }
            y[at * filters + k] = (float)s;
        }
    free(fx);
    free(ff);
}
void ref_grouped(orr_ref *r) {
    INT(groups);
    INT(rows);
    INT(n);
    INT(k);
    BUF(uint16_t, a);
    BUF(uint16_t, b);
    BUF(int32_t, begin);
    BUF(float, c);
    float *fa = widened(a, rows * k, half), *fb = widened(b, groups * n * k, half);
    for (int64_t g = 0; g < groups; g++)
        for (int64_t i = begin[g]; i < begin[g + 1]; i++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] = (float)dot(fa + i * k, fb + (g * n + j) * k, k);
    free(fa);
    free(fb);
}
