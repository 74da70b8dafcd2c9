// Any bytes as a file of pre-characterised kernels: what is accepted is written and read back to the same.
#include "model/abstract/latencies.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char *text = orr_malloc(n + 1); // of its own size, so that reading beyond is noticed
    if (n) memcpy(text, data, n);
    text[n] = 0;
    orr_err e = {0};
    orr_latencies *l = orr_latencies_parse(text, n, "fuzz", &e);
    free(text);
    if ((l != NULL) == (e.status != 0)) abort();
    if (!l) return 0;
    orr_text one = {0}, two = {0};
    orr_latencies_print(l, &one);
    orr_latencies *again = orr_latencies_parse(one.s, one.n, "again", &e);
    if (!again) abort();
    orr_latencies_print(again, &two);
    if (one.n != two.n || memcmp(one.s, two.s, one.n) != 0) abort();
    free(one.s);
    free(two.s);
    orr_latencies_free(l);
    orr_latencies_free(again);
    return 0;
}
