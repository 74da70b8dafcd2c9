#include "../reference.h"

#include <stdlib.h>

// The other way round: every sample is scattered to the cells it reaches. Places are in 1/256 cell, so r2 is
// exact.
void ref_gridding(orr_ref *r) {
    INT(side);
    FLOAT(reach2);
    BUF(uint32_t, start);
    BUF(uint32_t, fraction);
    BUF(float, value);
    BUF(float, cells);
    BUF(uint32_t, hits);
    int64_t wide = 4 * side;
    double *sum = SCRATCH(double, wide *wide *wide);
    for (int64_t bin = 0; bin < side * side * side; bin++)
        for (uint32_t j = start[bin]; j < start[bin + 1]; j++) {
            double p[3] = {4.0 * (double)(bin % side) + (fraction[j] & 1023) / 256.0,
                           4.0 * (double)(bin / side % side) + (fraction[j] >> 10 & 1023) / 256.0,
                           4.0 * (double)(bin / side / side) + (fraction[j] >> 20) / 256.0};
            for (int64_t z = (int64_t)p[2] - 3; z <= (int64_t)p[2] + 4; z++)
                for (int64_t y = (int64_t)p[1] - 3; y <= (int64_t)p[1] + 4; y++)
                    for (int64_t x = (int64_t)p[0] - 3; x <= (int64_t)p[0] + 4; x++) {
                        if (x < 0 || x >= wide || y < 0 || y >= wide || z < 0 || z >= wide) continue;
                        double dx = (double)x - p[0], dy = (double)y - p[1], dz = (double)z - p[2];
                        double r2 = dx * dx + dy * dy + dz * dz, w = 1 - r2 / reach2;
                        if (r2 >= reach2) continue;
                        sum[(z * wide + y) * wide + x] += value[j] * w * w;
                        hits[(z * wide + y) * wide + x]++;
                    }
        }
    for (int64_t i = 0; i < wide * wide * wide; i++) cells[i] = (float)sum[i];
    free(sum);
}
