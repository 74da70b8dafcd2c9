// Any bytes as a captured launch's file. What is accepted has contents that can be asked for, right or
// damaged.
#include "capture/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_captured c;
    orr_err e = {0};
    uint8_t to[ORR_PIECE];
    if (!orr_captured_parse(&c, "input", data, n, &e)) return 0;
    for (size_t i = 0; i < c.pieces.n; i++) {
        orr_err why = {0};
        if (c.pieces.at[i].stored) orr_captured_contents(&c, i, to, &why);
    }
    orr_captured_free(&c);
    return 0;
}
