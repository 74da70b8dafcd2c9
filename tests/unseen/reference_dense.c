#include "reference.h"

void ref_gemver(orr_ref *r) {
    INT(n);
    BUF(float, a);
    BUF(float, u1);
    BUF(float, v1);
    BUF(float, u2);
    BUF(float, v2);
    BUF(float, y);
    BUF(float, z);
    BUF(float, x);
    BUF(float, w);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[i * n + j] += (double)u1[i] * v1[j] + (double)u2[i] * v2[j];
    double *s = SCRATCH(double, n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) s[i] += 1.25 * a[j * n + i] * y[j];
    for (int64_t i = 0; i < n; i++) x[i] += s[i] + z[i];
    for (int64_t i = 0; i < n; i++) {
        double t = 0;
        for (int64_t j = 0; j < n; j++) t += 1.5 * a[i * n + j] * x[j];
        w[i] = t;
    }
    free(s);
}

void ref_correlation(orr_ref *r) {
    INT(m);
    INT(n);
    BUF(float, data);
    BUF(float, mean);
    BUF(float, dev);
    BUF(float, corr);
    for (int64_t j = 0; j < m; j++) {
        double s = 0, q = 0;
        for (int64_t i = 0; i < n; i++) s += data[i * m + j], q += (double)data[i * m + j] * data[i * m + j];
        mean[j] = s / n;
        dev[j] = sqrt(q / n - s / n * (s / n));
    }
    for (int64_t j = 0; j < m; j++)
        for (int64_t k = 0; k < m; k++) {
            double s = 0;
            for (int64_t i = 0; i < n; i++)
                s += ((double)data[i * m + j] - mean[j]) * ((double)data[i * m + k] - mean[k]);
            corr[j * m + k] = s / n / dev[j] / dev[k];
        }
}

void ref_doitgen(orr_ref *r) {
    INT(p);
    const int64_t rows = orr_ref_int(r, "r") * orr_ref_int(r, "q");
    BUF(float, a);
    BUF(float, c4);
    double *s = SCRATCH(double, p);
    for (int64_t i = 0; i < rows; i++) {
        memset(s, 0, (size_t)p * sizeof *s);
        for (int64_t k = 0; k < p; k++)
            for (int64_t j = 0; j < p; j++) s[j] += (double)a[i * p + k] * c4[k * p + j];
        for (int64_t j = 0; j < p; j++) a[i * p + j] = s[j];
    }
    free(s);
}

void ref_jacobi1d(orr_ref *r) {
    INT(n);
    BUF(float, a);
    for (int t = 0; t < 3; t++) {
        double before = a[0];
        for (int64_t i = 1; i < n - 1; i++) {
            double here = a[i];
            a[i] = 0.33333 * (before + here + a[i + 1]);
            before = here;
        }
    }
}

static void sweep(int64_t n, int64_t step, const float *a, float *b,
                  float *x) { // one line of n, `step` apart
    for (int64_t i = 1; i < n; i++) {
        double u = a[i * step], last = b[(i - 1) * step];
        x[i * step] -= x[(i - 1) * step] * u / last;
        b[i * step] -= u * u / last;
    }
}

void ref_adi(orr_ref *r) {
    INT(n);
    BUF(float, a);
    BUF(float, b);
    BUF(float, x);
    for (int64_t i = 0; i < n; i++) sweep(n, 1, a + i * n, b + i * n, x + i * n);
    for (int64_t j = 0; j < n; j++) sweep(n, n, a + j, b + j, x + j);
}

void ref_gramschmidt(orr_ref *r) {
    INT(m);
    INT(n);
    BUF(float, a);
    float *out = ref_buffer(r, "r");
    double *q = SCRATCH(double, m), *dot = SCRATCH(double, n);
    for (int64_t k = 0; k < 2; k++) {
        double s = 0;
        for (int64_t i = 0; i < m; i++) s += (double)a[i * n + k] * a[i * n + k];
        out[k * n + k] = sqrt(s);
        for (int64_t i = 0; i < m; i++) q[i] = a[i * n + k] / sqrt(s);
        memset(dot, 0, (size_t)n * sizeof *dot);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = k + 1; j < n; j++) dot[j] += q[i] * a[i * n + j];
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= q[i] * dot[j];
        for (int64_t j = k + 1; j < n; j++) out[k * n + j] = dot[j];
    }
    free(q);
    free(dot);
}

void ref_floyd(orr_ref *r) {
    INT(n);
    BUF(int32_t, dist);
    for (int64_t k = 0; k < 4; k++) { // the script's `set`s come with the launches
        dist[k * n + k] = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                if (dist[i * n + k] + dist[k * n + j] < dist[i * n + j])
                    dist[i * n + j] = dist[i * n + k] + dist[k * n + j];
    }
}

void ref_layernorm(orr_ref *r) {
    INT(rows);
    BUF(float, x);
    BUF(float, gain);
    BUF(float, bias);
    BUF(float, y);
    BUF(float, z);
    for (int64_t i = 0; i < rows; i++) {
        const float *v = x + i * 768;
        double mean = 0, square = 0, spread = 0;
        for (int j = 0; j < 768; j++) mean += v[j] / 768.0, square += (double)v[j] * v[j] / 768;
        for (int j = 0; j < 768; j++) spread += (v[j] - mean) * (v[j] - mean) / 768;
        for (int j = 0; j < 768; j++) {
            y[i * 768 + j] = (v[j] - mean) / sqrt(spread + 1e-5) * gain[j] + bias[j];
            z[i * 768 + j] = v[j] / sqrt(square + 1e-6) * gain[j];
        }
    }
}

void ref_attention(orr_ref *r) {
    INT(n);
    INT(heads);
    BUF(float, q);
    BUF(float, k);
    BUF(float, v);
    BUF(float, out);
    for (int64_t i = 0; i < heads * n; i++) {
        double sum[32] = {0}, total = 0;
        for (int64_t j = i / n * n; j < i / n * n + n; j++) {
            double s = 0;
            for (int d = 0; d < 32; d++) s += (double)q[i * 32 + d] * k[j * 32 + d];
            s = exp(s / sqrt(32.0));
            total += s;
            for (int d = 0; d < 32; d++) sum[d] += s * v[j * 32 + d];
        }
        for (int d = 0; d < 32; d++) out[i * 32 + d] = sum[d] / total;
    }
}

void ref_embedding(orr_ref *r) {
    INT(tokens);
    BUF(int32_t, token);
    BUF(float, table);
    BUF(float, out);
    BUF(float, bags);
    for (int64_t t = 0; t < tokens; t++) memcpy(out + t * 128, table + (int64_t)token[t] * 128, 512);
    for (int64_t i = 0; i < tokens / 8 * 128; i++) {
        double s = 0;
        for (int k = 0; k < 8; k++) s += out[(i / 128 * 8 + k) * 128 + i % 128];
        bags[i] = s;
    }
}

static int downwards(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x < y) - (x > y);
}

void ref_topk(orr_ref *r) {
    INT(rows);
    INT(cols);
    BUF(int32_t, x);
    BUF(int32_t, where);
    BUF(int32_t, four);
    int32_t *sorted = SCRATCH(int32_t, cols);
    for (int64_t i = 0; i < rows; i++) {
        memcpy(sorted, x + i * cols, (size_t)cols * 4);
        qsort(sorted, (size_t)cols, 4, downwards);
        memcpy(four + i * 4, sorted, 16);
        where[i] = 0;
        while (x[i * cols + where[i]] != sorted[0]) where[i]++;
    }
    free(sorted);
}

void ref_gemm_async(orr_ref *r) {
    INT(m);
    INT(n);
    INT(k);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    double *row = SCRATCH(double, n);
    for (int64_t i = 0; i < m; i++) {
        memset(row, 0, (size_t)n * sizeof *row);
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) row[j] += (double)a[i * k + l] * b[l * n + j];
        for (int64_t j = 0; j < n; j++) c[i * n + j] = row[j];
    }
    free(row);
}

static double from_bf16(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

void ref_wmma(orr_ref *r) {
    INT(m);
    INT(n);
    INT(k);
    BUF(uint16_t, a);
    BUF(uint16_t, b);
    BUF(float, c);
    BUF(int8_t, sa);
    BUF(int8_t, sb);
    BUF(int32_t, sc);
    double *row = SCRATCH(double, n);
    for (int64_t i = 0; i < m; i++) {
        memset(row, 0, (size_t)n * sizeof *row);
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) row[j] += from_bf16(a[i * k + l]) * from_bf16(b[l * n + j]);
        for (int64_t j = 0; j < n; j++) {
            c[i * n + j] = row[j];
            int32_t s = 0;
            for (int64_t l = 0; l < k; l++) s += sa[i * k + l] * sb[j * k + l];
            sc[i * n + j] = s;
        }
    }
    free(row);
}

void ref_dgemv(orr_ref *r) {
    INT(rows);
    INT(cols);
    BUF(double, a);
    BUF(double, x);
    BUF(double, y);
    for (int64_t i = 0; i < rows; i++) {
        double s = 0;
        for (int64_t j = 0; j < cols; j++) s += a[i * cols + j] * x[j];
        y[i] = s;
    }
}

void ref_batched(orr_ref *r) {
    INT(n);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    BUF(float, lu);
    BUF(float, spd);
    for (int64_t m = 0; m < n; m++) {
        for (int i = 0; i < 64; i++) {
            double s = 0;
            for (int k = 0; k < 8; k++) s += (double)a[m * 64 + i / 8 * 8 + k] * b[m * 64 + k * 8 + i % 8];
            c[m * 64 + i] = s;
        }
        double u[16][16]; // Crout's order: each element once, from the finished ones
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++) {
                double s = lu[m * 256 + i * 16 + j];
                for (int k = 0; k < (i < j ? i : j); k++) s -= u[i][k] * u[k][j];
                u[i][j] = i > j ? s / u[j][j] : s;
                lu[m * 256 + i * 16 + j] = u[i][j];
            }
        double l[6][6]; // row by row; the kernel goes column by column
        for (int i = 0; i < 6; i++)
            for (int j = 0; j <= i; j++) {
                double s = spd[(i * 6 + j) * n + m];
                for (int k = 0; k < j; k++) s -= l[i][k] * l[j][k];
                l[i][j] = i == j ? sqrt(s) : s / l[j][j];
                spd[(i * 6 + j) * n + m] = l[i][j];
            }
    }
}

void ref_tridiagonal(orr_ref *r) {
    INT(systems);
    BUF(float, a);
    BUF(float, b);
    BUF(float, c);
    BUF(float, d);
    BUF(float, pa);
    BUF(float, pb);
    BUF(float, pc);
    BUF(float, pd);
    BUF(float, px);
    for (int which = 0; which < 2; which++) { // the interleaved ones of 48, those of 128 one after the other
        int64_t n = which ? 128 : 48, count = which ? systems / 25 : systems, step = which ? 1 : systems;
        const float *la = which ? pa : a, *lb = which ? pb : b, *lc = which ? pc : c;
        float *ld = which ? pd : d, *lx = which ? px : d;
        for (int64_t s = 0; s < count; s++) {
            double w[128], x[128]; // from the last equation upwards, where the kernel goes down
            int64_t base = which ? s * n : s;
            for (int64_t i = n - 1; i >= 0; i--) {
                int64_t at = base + i * step;
                double above = i < n - 1 ? lc[at] : 0, k = lb[at] - (i < n - 1 ? above * w[i + 1] : 0);
                w[i] = la[at] / k;
                x[i] = (ld[at] - (i < n - 1 ? above * x[i + 1] : 0)) / k;
            }
            for (int64_t i = 0; i < n; i++) {
                if (i) x[i] -= w[i] * x[i - 1];
                lx[base + i * step] = x[i];
            }
        }
    }
}
