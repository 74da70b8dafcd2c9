#include "reference.h"

void ref_radix(orr_ref *r) {
    INT(n);
    BUF(uint32_t, key);
    BUF(uint32_t, out);
    int64_t at = 0;
    for (uint32_t digit = 0; digit < 16; digit++)
        for (int64_t i = 0; i < n; i++)
            if ((key[i] >> 8 & 15) == digit) out[at++] = key[i];
}

void ref_compact(orr_ref *r) {
    INT(n);
    BUF(int32_t, x);
    BUF(int32_t, out);
    BUF(int32_t, fill);
    for (int64_t i = 0; i < n; i++)
        if (x[i] > 199) out[fill[0]++] = x[i];
}

void ref_segments(orr_ref *r) {
    INT(segments);
    BUF(int32_t, start);
    BUF(int32_t, value);
    BUF(int32_t, sum);
    BUF(int32_t, largest);
    for (int64_t s = 0; s < segments; s++) {
        largest[s] = -1;
        for (int32_t i = start[s]; i < start[s + 1]; i++) {
            sum[s] += value[i];
            if (value[i] > largest[s]) largest[s] = value[i];
        }
    }
}

void ref_spmm(orr_ref *r) {
    INT(rows);
    BUF(int32_t, col);
    BUF(float, val);
    BUF(float, b);
    BUF(float, c);
    BUF(float, rhs);
    BUF(float, x);
    BUF(float, y);
    for (int64_t i = 0; i < rows; i++) {
        double s[32] = {0}, t = rhs[i];
        for (int k = 0; k < 12; k++) {
            int64_t at = col[k * rows + i];
            double v = val[k * rows + i];
            if (at < 0) continue;
            for (int j = 0; j < 32; j++) s[j] += v * b[at * 32 + j];
            t -= v * x[at];
        }
        for (int j = 0; j < 32; j++) c[i * 32 + j] = s[j];
        y[i] = t / 8;
    }
}

void ref_pagerank(orr_ref *r) {
    INT(n);
    BUF(int32_t, row);
    BUF(int32_t, from);
    BUF(int32_t, degree);
    BUF(float, rank);
    double *share = SCRATCH(double, n);
    for (int t = 0; t < 2; t++) {
        for (int64_t i = 0; i < n; i++) share[i] = (double)rank[i] / degree[i];
        for (int64_t i = 0; i < n; i++) {
            double s = 0;
            for (int32_t e = row[i]; e < row[i + 1]; e++) s += share[from[e]];
            rank[i] = 0.15 / n + 0.85 * s;
        }
    }
    free(share);
}

static int32_t root(int32_t *parent, int32_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

void ref_components(
    orr_ref *r) { // the whole way, by union-find: four rounds of the kernels must have got there
    INT(n);
    BUF(int32_t, u);
    BUF(int32_t, v);
    BUF(int32_t, label);
    for (int64_t e = 0; e < n; e++) {
        int32_t a = root(label, u[e]), b = root(label, v[e]);
        if (a < b)
            label[b] = a;
        else
            label[a] = b;
    }
    for (int32_t i = 0; i < n; i++) label[i] = root(label, i);
}

void ref_nbody(orr_ref *r) {
    INT(n);
    BUF(float, body);
    BUF(float, force);
    for (int64_t i = 0; i < n; i++) {
        double f[3] = {0};
        for (int64_t j = 0; j < n; j++) {
            double d[3], q = 0.01;
            for (int k = 0; k < 3; k++) d[k] = (double)body[j * 4 + k] - body[i * 4 + k], q += d[k] * d[k];
            for (int k = 0; k < 3; k++) f[k] += d[k] * body[j * 4 + 3] / (q * sqrt(q));
        }
        for (int k = 0; k < 3; k++) force[i * 4 + k] = f[k];
    }
}

void ref_fir(orr_ref *r) {
    INT(n);
    BUF(float, taps);
    BUF(float, x);
    BUF(float, y);
    for (int64_t i = 0; i < n; i++) {
        double s = 0;
        for (int k = 0; k < 48; k++) s += (double)taps[k] * x[i + k];
        y[i] = s;
    }
}

static int upwards(const void *a, const void *b) { return *(const uint8_t *)a - *(const uint8_t *)b; }

void ref_edges(orr_ref *r) {
    INT(w);
    INT(h);
    BUF(uint8_t, picture);
    BUF(uint8_t, edge);
    BUF(uint8_t, median);
    static const int weight[3] = {1, 2, 1};
    for (int64_t y = 1; y < h - 1; y++)
        for (int64_t x = 1; x < w - 1; x++) {
            uint8_t v[9];
            for (int i = 0; i < 9; i++) v[i] = picture[(y + i / 3 - 1) * w + x + i % 3 - 1];
            int gx = 0, gy = 0;
            for (int i = 0; i < 3; i++)
                gx += weight[i] * (v[i * 3 + 2] - v[i * 3]), gy += weight[i] * (v[6 + i] - v[i]);
            int g = (abs(gx) + abs(gy)) / 4;
            edge[y * w + x] = g > 255 ? 255 : g;
            qsort(v, 9, 1, upwards);
            median[y * w + x] = v[4];
        }
}

static int64_t clamp(int64_t v, int64_t n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }

void ref_bilateral(orr_ref *r) {
    INT(w);
    INT(h);
    BUF(float, picture);
    BUF(float, out);
    for (int64_t i = 0; i < w * h; i++) {
        double sum = 0, weight = 0;
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                double p = picture[clamp(i / w + dy, h) * w + clamp(i % w + dx, w)], d = p - picture[i];
                double f = exp(-0.1 * (dx * dx + dy * dy)) * exp(-4 * d * d);
                sum += f * p;
                weight += f;
            }
        out[i] = sum / weight;
    }
}

void ref_life(orr_ref *r) { // two generations: `swap` leaves the second under the name a
    INT(w);
    INT(h);
    BUF(uint8_t, a);
    uint8_t *old = SCRATCH(uint8_t, w * h);
    for (int t = 0; t < 2; t++) {
        memcpy(old, a, (size_t)(w * h));
        for (int64_t y = 0; y < h; y++)
            for (int64_t x = 0; x < w; x++) {
                int n = 0;
                for (int k = 0; k < 9; k++)
                    n += k == 4 ? 0 : old[(y + k / 3 + h - 1) % h * w + (x + k % 3 + w - 1) % w];
                a[y * w + x] = old[y * w + x] ? n == 2 || n == 3 : n == 3;
            }
    }
    free(old);
}

void ref_equalise(orr_ref *r) {
    INT(quads);
    BUF(uint8_t, picture);
    BUF(uint32_t, count);
    BUF(uint8_t, out);
    uint64_t below[256] = {0};
    for (int64_t i = 0; i < quads * 4; i++) count[picture[i]]++;
    for (int i = 0; i < 256; i++) below[i] = count[i] + (i ? below[i - 1] : 0);
    for (int64_t i = 0; i < quads * 4; i++) out[i] = below[picture[i]] * 255 / (uint64_t)(quads * 4);
}

void ref_philox(orr_ref *r) {
    INT(blocks);
    BUF(uint32_t, out);
    BUF(uint32_t, state);
    BUF(float, mean);
    for (int64_t i = 0; i < blocks * 512; i++) {
        uint32_t c[4] = {(uint32_t)i, 0, 7, 0}, key[2] = {123456789, 987654321};
        for (int round = 0; round < 10; round++) {
            uint64_t p = 0xD2511F53ull * c[0], q = 0xCD9E8D57ull * c[2];
            uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ key[0], (uint32_t)q,
                                (uint32_t)(p >> 32) ^ c[3] ^ key[1], (uint32_t)p};
            memcpy(c, next, sizeof c);
            key[0] += 0x9E3779B9u;
            key[1] += 0xBB67AE85u;
        }
        memcpy(out + i * 4, c, sizeof c);
    }
    for (int64_t i = 0; i < blocks * 256; i++) {
        uint32_t x = state[i];
        double s = 0;
        for (int k = 0; k < 20; k++) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            s += (x / 256) / 16777216.0;
        }
        state[i] = x;
        mean[i] = s / 20;
    }
}

static uint32_t rotate(uint32_t v, int n) { return v << n | v >> (32 - n); }

void ref_cipher(orr_ref *r) {
    INT(blocks);
    BUF(uint32_t, table);
    BUF(uint32_t, key);
    BUF(uint32_t, in);
    BUF(uint32_t, out);
    BUF(uint32_t, record);
    BUF(uint32_t, crc);
    int64_t n = blocks * 128;
    for (int64_t t = 0; t < n; t++) {
        uint32_t s[4], next[4];
        memcpy(s, in + t * 4, sizeof s);
        for (int round = 0; round < 10; round++) {
            for (int k = 0; k < 4; k++)
                next[k] = table[s[k] & 255] ^ rotate(table[s[(k + 1) % 4] >> 8 & 255], 8) ^
                          rotate(table[s[(k + 2) % 4] >> 16 & 255], 16) ^ table[s[(k + 3) % 4] >> 24] ^
                          key[round * 4 + k];
            memcpy(s, next, sizeof s);
        }
        memcpy(out + t * 4, s, sizeof s);
        uint32_t c = ~0u; // bit by bit, without a table
        for (int i = 0; i < 512; i++) {
            uint32_t bit = record[i / 32 * n + t] >> i % 32 & 1;
            c = (c ^ bit) & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
        }
        crc[t] = ~c;
    }
}

void ref_levenshtein(orr_ref *r) { // row by row, the textbook's way
    INT(pairs);
    BUF(uint8_t, a);
    BUF(uint8_t, b);
    BUF(int32_t, distance);
    for (int64_t p = 0; p < pairs; p++) {
        int d[65][65];
        for (int i = 0; i <= 64; i++)
            for (int j = 0; j <= 64; j++) {
                if (!i || !j) {
                    d[i][j] = i + j;
                    continue;
                }
                int v = d[i - 1][j - 1] + (a[p * 64 + i - 1] != b[p * 64 + j - 1]);
                if (d[i - 1][j] + 1 < v) v = d[i - 1][j] + 1;
                if (d[i][j - 1] + 1 < v) v = d[i][j - 1] + 1;
                d[i][j] = v;
            }
        distance[p] = d[64][64];
    }
}

void ref_knn(orr_ref *r) { // five times the nearest that was not yet taken
    INT(n);
    INT(queries);
    BUF(int32_t, point);
    BUF(int32_t, query);
    BUF(int32_t, out);
    int64_t *away = SCRATCH(int64_t, n);
    for (int64_t t = 0; t < queries; t++) {
        for (int64_t j = 0; j < n; j++) {
            away[j] = 0;
            for (int d = 0; d < 6; d++) {
                int64_t x = point[j * 6 + d] - query[d * queries + t];
                away[j] += x * x;
            }
        }
        for (int k = 0; k < 5; k++) {
            int64_t best = 0;
            for (int64_t j = 1; j < n; j++)
                if (away[j] < away[best]) best = j;
            out[k * queries + t] = (int32_t)best;
            away[best] = INT64_MAX;
        }
    }
    free(away);
}

static int nearest(const float *ball, const double *o, const double *d, double *far) {
    int hit = -1;
    for (int i = 0; i < 24; i++) {
        double b = 0, c = -(double)ball[i * 4 + 3] * ball[i * 4 + 3];
        for (int k = 0; k < 3; k++) {
            double v = ball[i * 4 + k] - o[k];
            b += v * d[k];
            c += v * v;
        }
        if (b * b - c < 0) continue;
        double t = b - sqrt(b * b - c);
        if (t > 1e-3 && t < *far) *far = t, hit = i;
    }
    return hit;
}

void ref_spheres(orr_ref *r) {
    INT(w);
    INT(h);
    BUF(float, ball);
    BUF(float, out);
    static const double light[3] = {0.57735, 0.57735, -0.57735}, eye[3];
    for (int64_t i = 0; i < w * h; i++) {
        double d[3] = {(i % w + 0.5) / w - 0.5, (i / w + 0.5) / h - 0.5, 1}, p[3], far = 1e30, shade = 0,
               end = 1e30;
        double length = sqrt(d[0] * d[0] + d[1] * d[1] + 1);
        for (int k = 0; k < 3; k++) d[k] /= length;
        int hit = nearest(ball, eye, d, &far);
        for (int k = 0; k < 3 && hit >= 0; k++) {
            p[k] = d[k] * far;
            shade += (p[k] - ball[hit * 4 + k]) / ball[hit * 4 + 3] * light[k];
        }
        out[i] = hit < 0 ? 0.1 : shade > 0 && nearest(ball, p, light, &end) < 0 ? 0.1 + shade : 0.15;
    }
}

void ref_text(orr_ref *r) {
    INT(n);
    BUF(uint8_t, text);
    BUF(uint8_t, pattern);
    BUF(uint8_t, length);
    BUF(int32_t, found);
    BUF(uint16_t, match);
    for (int64_t i = 0; i < n; i++) {
        int k = 12;
        while (memcmp(text + i, pattern, (size_t)k)) k--;
        length[i] = k;
        found[0] += k >= 6;
        int best = 0, back = 0; // the window of place i begins at text[i]: place i itself is text[i + 16]
        for (int d = 16; d >= 1; d--) {
            int l = 15;
            while (memcmp(text + i + 16, text + i + 16 - d, (size_t)l)) l--;
            if (l && l >= best) best = l, back = d;
        }
        match[i] = best << 8 | back;
    }
}

void ref_curves(orr_ref *r) {
    INT(bits);
    INT(n);
    BUF(float, in);
    BUF(float, out);
    BUF(uint32_t, x);
    BUF(uint32_t, y);
    BUF(uint32_t, place);
    for (int64_t i = 0; i < n; i++) {
        int64_t back = 0;
        for (int b = 0; b < bits; b++) back |= (i >> b & 1) << (bits - 1 - b);
        memcpy(out + i * 2, in + back * 2, 8);
    }
    // Walk the whole curve of 2^12 x 2^12 the other way, from place to point, and note the place of every
    // point.
    uint32_t side = 4096, *at = SCRATCH(uint32_t, side * side);
    for (uint32_t d = 0; d < side * side; d++) {
        uint32_t px = 0, py = 0, t = d;
        for (uint32_t s = 1; s < side; s *= 2, t /= 4) {
            uint32_t rx = 1 & t / 2, ry = 1 & (t ^ rx);
            if (!ry) {
                if (rx) px = s - 1 - px, py = s - 1 - py;
                uint32_t k = px;
                px = py;
                py = k;
            }
            px += s * rx;
            py += s * ry;
        }
        at[py * side + px] = d;
    }
    for (int64_t i = 0; i < n; i++) place[i] = at[y[i] * side + x[i]];
    free(at);
}
