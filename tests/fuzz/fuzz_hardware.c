// Any bytes as measurements, and as what a profiler and a log say (the first 0 byte is between the two). What
// is accepted must be written, read back to the same, and compare with nothing.
#include "lab/lab.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *copy(const uint8_t *data, size_t n) { // of its own size, so that reading beyond is noticed
    char *s = orr_malloc(n + 1);
    if (n) memcpy(s, data, n);
    s[n] = 0;
    return s;
}

static void as_measurements(const uint8_t *data, size_t n) {
    orr_hardware h = {0}, again = {0};
    orr_err e = {0};
    char *text = copy(data, n);
    bool ok = orr_hardware_parse(&h, "fuzz.csv", text, n, &e);
    if (ok == (e.status != 0)) abort();
    free(text);
    if (ok) {
        orr_text one = {0}, two = {0}, said = {0};
        orr_hardware_write(&h, &one);
        text = copy((const uint8_t *)one.s, one.n);
        if (!orr_hardware_parse(&again, "again.csv", text, one.n, &e)) abort();
        free(text);
        orr_hardware_write(&again, &two);
        if (one.n != two.n || memcmp(one.s, two.s, one.n)) abort();
        orr_comparison c;
        if (orr_compare_start(&c, &h, &e)) {
            c.gpu = c.model = c.source = "x";
            orr_compare_end(&c);
            orr_compare_text(&c, &said);
            orr_compare_json(&c, &said);
            orr_compare_csv(&c, &said);
            orr_compare_html(&c, &said);
        }
        orr_compare_free(&c);
        free(one.s);
        free(two.s);
        free(said.s);
    }
    orr_hardware_free(&h);
    orr_hardware_free(&again);
}

static void as_profile(const uint8_t *data, size_t n) {
    const uint8_t *nul = n ? memchr(data, 0, n) : NULL;
    size_t first = nul ? (size_t)(nul - data) : n, rest = nul ? n - first - 1 : 0;
    orr_ncu_files f = {"ncu.csv", "log.csv", copy(data, first), copy(nul ? nul + 1 : data, rest),
                       first,     rest};
    orr_names metrics = {0};
    *ORR_PUSH(&metrics) = "gpc__cycles_elapsed.max";
    orr_measured proto = {.cache = "flushed", .driver = "", .date = ""};
    orr_hardware h = {0};
    orr_err e = {0};
    if (orr_ncu_read(&h, &f, &metrics, &proto, &e) == (e.status != 0)) abort();
    orr_hardware_free(&h);
    free(f.csv);
    free(f.log);
    f.csv = copy(data, first);
    orr_ncu_known(&metrics, f.csv);
    free(f.csv);
    free(metrics.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    as_measurements(data, n);
    as_profile(data, n);
    return 0;
}
