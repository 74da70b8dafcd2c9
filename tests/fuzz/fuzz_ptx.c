// Any bytes as PTX: parse the module, then load and list every kernel of it. What parses is printed, and what
// was printed must be read again, to the same kernels and the same text. Bytes with a 0 in them are two files
// to be linked; what comes of it is read too.
#include "ptx/link.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *listing(orr_module *m, uint32_t i) { // NULL: the kernel cannot be loaded
    orr_err e = {0};
    orr_kernel *k = m->load(m, m->kernel_names[i], &e);
    if (!k && (!e.status || !e.text[0])) abort(); // refused without a reason
    if (!k) return NULL;
    for (uint32_t n = 0; n < k->ninsts; n++) k->insts[n].line = 0; // these differ in what was printed
    orr_text t = {0};
    orr_kernel_print(k, &t);
    return t.s;
}

static bool vast(const orr_module *m) { // a few braces may stand for millions of zeros
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < m->nvars; i++) bytes += m->vars[i].init_bytes;
    return bytes > 1 << 16;
}

static void print_and_compare(orr_module *m) {
    orr_err e = {0};
    orr_text t = {0}, again = {0};
    if (!orr_ptx_print(m, &t, &e)) {
        if (!e.status || !e.text[0]) abort();
        free(t.s);
        return;
    }
    orr_module *c = orr_ptx_parse("printed.ptx", t.s, t.n, &e);
    if (!c || c->nkernels != m->nkernels || c->nvars != m->nvars) abort();
    for (uint32_t i = 0; i < m->nkernels; i++) {
        char *a = listing(m, i), *b = listing(c, i);
        if (!a != !b || (a && strcmp(a, b) != 0)) abort();
        free(a);
        free(b);
    }
    if (!orr_ptx_print(c, &again, &e) || again.n != t.n || memcmp(t.s, again.s, t.n) != 0) abort();
    free(again.s);
    free(t.s);
    c->free(c);
}

static void link_them(const char *a, size_t n, const char *b, size_t m) {
    const orr_ptx_file files[] = {{"a.ptx", a, n}, {"b.ptx", b, m}};
    orr_err e = {0}, again = {0};
    orr_text out = {0};
    bool ok = orr_ptx_link(files, 2, &out, &e);
    if (!ok && (!e.status || !e.text[0])) abort();
    orr_module *all = ok ? orr_ptx_parse("linked.ptx", out.s, out.n, &again) : NULL;
    if (all) all->free(all);
    free(out.s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const uint8_t *zero = n ? memchr(data, 0, n) : NULL;
    size_t first = zero ? (size_t)(zero - data) : n;
    if (zero) link_them((const char *)data, first, (const char *)zero + 1, n - first - 1);
    orr_err e = {0};
    orr_module *m = orr_ptx_parse("fuzz.ptx", (const char *)data, n, &e);
    if (!m) {
        if (!e.status || !e.text[0]) abort();
        return 0;
    }
    for (uint32_t i = 0; i < m->nkernels; i++) free(listing(m, i));
    if (!vast(m)) print_and_compare(m);
    m->free(m);
    return 0;
}
