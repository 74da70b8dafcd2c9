#include "../reference.h"

#include <math.h>
#include <stdlib.h>

// Fractions of 1/1024 make r2 exact in both precisions, so both cut at the same pairs.
void ref_lavamd(orr_ref *r) {
    INT(side);
    FLOAT(alpha);
    FLOAT(cut2);
    BUF(float, place);
    BUF(float, charge);
    BUF(float, force);
    for (int64_t home = 0; home < side * side * side; home++)
        for (int64_t i = home * 64; i < home * 64 + 64; i++) {
            double f[4] = {0};
            for (int64_t box = 0; box < side * side * side; box++) {
                if (llabs(box % side - home % side) > 1 ||
                    llabs(box / side % side - home / side % side) > 1 ||
                    llabs(box / side / side - home / side / side) > 1)
                    continue;
                for (int64_t j = box * 64; j < box * 64 + 64; j++) {
                    double d[3], r2 = 0;
                    for (int k = 0; k < 3; k++) {
                        d[k] = (double)place[4 * i + k] - place[4 * j + k];
                        r2 += d[k] * d[k];
                    }
                    if (r2 >= (float)cut2) continue;
                    double v = charge[j] * exp(-alpha * r2);
                    for (int k = 0; k < 3; k++) f[k] += 2 * alpha * v * d[k];
                    f[3] += v;
                }
            }
            for (int k = 0; k < 4; k++) force[4 * i + k] = (float)f[k];
        }
}
