#include "../reference.h"

void ref_montecarlo(orr_ref *r) {
    INT(blocks);
    INT(darts);
    INT(seed);
    BUF(uint32_t, hits);
    for (uint32_t t = 1; t <= blocks * 256; t++) {
        uint32_t s = t * 0x9e3779b9u ^ (uint32_t)seed;
        for (int64_t k = 0; k < darts; k++) {
            s ^= s << 13;
            s ^= s >> 17;
            s ^= s << 5;
            double x = s % 32768 / 32768.0, y = s / 65536 % 32768 / 32768.0;
            if (x * x + y * y < 1) hits[0]++;
        }
    }
}
