#include "../reference.h"

void ref_histogram(orr_ref *r) {
    INT(bytes);
    BUF(uint8_t, data);
    BUF(uint32_t, bins);
    for (int64_t i = 0; i < bytes; i++) bins[data[i]]++;
}
