// Any bytes as PTX: parse the module, then load and list every kernel of it.
#include "ptx/ptx.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("fuzz.ptx", (const char *)data, n, &e);
    if (!m) {
        if (!e.status || !e.text[0]) abort(); // refused without a reason
        return 0;
    }
    for (uint32_t i = 0; i < m->nkernels; i++) {
        orr_err ke = {0};
        orr_kernel *k = m->load(m, m->kernel_names[i], &ke);
        if (!k) {
            if (!ke.status || !ke.text[0]) abort();
            continue;
        }
        orr_text t = {0};
        orr_kernel_print(k, &t);
        free(t.s);
    }
    m->free(m);
    return 0;
}
