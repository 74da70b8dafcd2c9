// Any bytes as a configuration of GPGPU-Sim: up to a line `%%` gpgpusim.config, after it trace.config. What
// is accepted must load as a description; what is not must be refused with a reason.
#include "accel/accel.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *text = (const char *)data, *cut = n ? memmem(text, n, "\n%%\n", 4) : NULL;
    size_t length = cut ? (size_t)(cut - text) : n;
    const char *trace = cut ? cut + 4 : NULL;
    orr_text conf = {0}, notes = {0};
    orr_err e = {0};
    bool ok = orr_accel_import_text(&(orr_accel_text){.name = "fuzz",
                                                      .gpgpusim = text,
                                                      .gpgpusim_n = length,
                                                      .trace = trace,
                                                      .trace_n = trace ? n - length - 4 : 0},
                                    &conf, &notes, &e);
    if (ok == (e.status != 0) || (!ok && !e.text[0]) || (!ok && conf.n)) abort();
    if (ok) {
        orr_gpu *g = orr_gpu_parse("fuzz.conf", conf.s, conf.n, NULL, 0, &e);
        if (!g) abort();
        orr_gpu_free(g);
    }
    free(conf.s);
    free(notes.s);
    return 0;
}
