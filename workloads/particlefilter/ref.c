#include "../reference.h"

#include <stdlib.h>
#include <string.h>

static uint32_t mix(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

static int64_t clamp(int64_t v, int64_t side) { return v < 0 ? 0 : v >= side ? side - 1 : v; }

void ref_particlefilter(orr_ref *r) {
    INT(n);
    INT(side);
    INT(pairs);
    BUF(int32_t, x);
    BUF(int32_t, y);
    BUF(uint64_t, upto);
    int32_t *image = SCRATCH(int32_t, side * side), *nx = SCRATCH(int32_t, n), *ny = SCRATCH(int32_t, n);
    for (int64_t frame = 0; frame < 2 * pairs; frame++) {
        for (int64_t j = 0; j < side; j++)
            for (int64_t i = 0; i < side; i++) {
                int64_t dx = i - side / 4 - 2 * frame, dy = j - side / 3 - frame;
                int32_t noise = (int32_t)(mix((uint32_t)((frame * side + j) * side + i)) % 60);
                image[j * side + i] = dx * dx + dy * dy <= 36 ? 228 - noise : 100 + noise;
            }
        uint64_t total = 0;
        for (int64_t i = 0; i < n; i++) {
            uint32_t u = mix((uint32_t)(frame * n + i + 12345));
            x[i] += (int32_t)(u % 7) - 1;
            y[i] += (int32_t)(u / 7 % 7) - 2;
            int32_t sum = 0;
            for (int64_t dy = -6; dy <= 6; dy++)
                for (int64_t dx = -6; dx <= 6; dx++)
                    if (dx * dx + dy * dy <= 36) {
                        int32_t v = image[clamp(y[i] + dy, side) * side + clamp(x[i] + dx, side)];
                        sum += ((v - 100) * (v - 100) - (v - 228) * (v - 228)) / 50;
                    }
            int32_t likely = sum < 0 ? 0 : sum / 64;
            upto[i] = total += (uint64_t)(1 + likely * likely);
        }
        uint64_t start = mix((uint32_t)frame) % total;
        int64_t from = 0;
        for (int64_t i = 0; i < n; i++) { // the places to draw at only grow: one walk over the sums
            uint64_t at = (total * (uint64_t)i + start) / (uint64_t)n;
            while (upto[from] <= at && from < n - 1) from++;
            nx[i] = x[from];
            ny[i] = y[from];
        }
        memcpy(x, nx, (size_t)n * sizeof *x);
        memcpy(y, ny, (size_t)n * sizeof *y);
    }
    free(image);
    free(nx);
    free(ny);
}
