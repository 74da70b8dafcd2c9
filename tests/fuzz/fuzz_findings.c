// Any bytes as findings of microbenchmarks. What is accepted must be written and read back to the same; a
// description that is made of it must be refused or load, and say no more than it was asked for.
#include "lab/lab.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *copy(const void *data, size_t n) { // of its own size, so that reading beyond is noticed
    char *s = orr_malloc(n + 1);
    if (n) memcpy(s, data, n);
    s[n] = 0;
    return s;
}

static void tune(const orr_findings *f) {
    orr_tuned t = {0};
    orr_err e = {0};
    orr_text conf = {0};
    if (orr_tune_readings(f, NULL, &t, &e)) {
        orr_tuned_write(&t, f, &conf);
        size_t lines = 0;
        for (size_t k = 0; k < conf.n; k++) lines += conf.s[k] == '\n';
        size_t want = 6 + t.keys.n + (t.refused.n ? 2 + t.refused.n : 0) + (t.missing.n ? 2 : 0);
        if (lines != want) abort();
        orr_gpu *g = orr_gpu_parse("tuned.conf", conf.s, conf.n, NULL, 0, &e);
        if (!g == !e.status) abort();
        orr_gpu_free(g);
        free(conf.s);
    }
    orr_tuned_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_findings f = {0}, again = {0};
    orr_err e = {0};
    char *text = copy(data, n);
    bool ok = orr_findings_parse(&f, "fuzz.csv", text, n, &e);
    if (ok == (e.status != 0)) abort();
    free(text);
    if (ok) {
        orr_text one = {0}, two = {0};
        orr_findings_write(&f, &one);
        text = copy(one.s, one.n);
        if (!orr_findings_parse(&again, "again.csv", text, one.n, &e)) abort();
        free(text);
        orr_findings_write(&again, &two);
        if (one.n != two.n || memcmp(one.s, two.s, one.n)) abort();
        free(one.s);
        free(two.s);
        tune(&f);
    }
    orr_findings_free(&f);
    orr_findings_free(&again);
    return 0;
}
