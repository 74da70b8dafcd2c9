// Any bytes as a GPU description: up to the first 0 byte the text, after it --set overrides, one a line.
// What is accepted must print, turn into JSON, read back to the same, and give an occupancy.
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MAX_SETS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *text = (const char *)data, *nul = n ? memchr(text, 0, n) : NULL;
    size_t length = nul ? (size_t)(nul - text) : n, rest = nul ? n - length - 1 : 0;
    char *tail = orr_calloc(1, rest + 1);
    if (rest) memcpy(tail, nul + 1, rest);
    const char *sets[MAX_SETS];
    int nsets = 0;
    for (char *p = strtok(tail, "\n"); p && nsets < MAX_SETS; p = strtok(NULL, "\n")) sets[nsets++] = p;

    orr_err e = {0};
    orr_gpu *g = orr_gpu_parse("fuzz.conf", text, length, sets, nsets, &e);
    if (!g) {
        if (!e.status || !e.text[0]) abort(); // refused without a reason
    } else {
        if (e.status) abort();
        orr_text out = {0};
        orr_gpu_print(g, &out);
        orr_gpu_json(g, &out);
        orr_gpu_print_evidence(g, g, &out);
        orr_gpu_json_evidence(g, g, &out);
        orr_gpu_print_list(&g, 1, &out);
        orr_gpu_json_list(&g, 1, &out);
        orr_occupancy_result r;
        for (int threads = 1; threads <= 1024; threads *= 4)
            if (orr_occupancy(g, threads, threads / 4, threads * 64, 1, &r)) {
                if (r.blocks < 0 || r.warps > g->limit_sm_warps) abort();
                orr_occupancy_print(g, &r, &out);
                orr_occupancy_json(&r, &out);
            }
        free(out.s);
        orr_gpu_free(g);
    }
    free(tail);
    return 0;
}
