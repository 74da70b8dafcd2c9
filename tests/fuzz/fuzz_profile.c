// Any bytes as a sampling profile, in two ways chosen by the first byte:
//   0-127    the rest is the file as it is: magic, hash, truncation
//   128-255  the rest is what lies between them, so that kernels and launches are tried
// What is accepted must be written and read back to the same; launches are planned, and cut into regions.
#include "sample/sample.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void use(const orr_sampling_profile *p, double target) {
    orr_plan plan = orr_plan_make(p, 0.1, target);
    for (size_t l = 0; l < p->launches.n; l++) {
        const orr_sp_launch *x = &p->launches.at[l];
        uint32_t by = plan.launches[l].by;
        if (by >= p->launches.n || plan.launches[by].by != by || p->launches.at[by].kernel != x->kernel)
            abort();
        if (!x->blocks || x->blocks > 20000) continue;
        uint64_t *insts = orr_malloc(x->blocks * sizeof *insts),
                 *requests = orr_malloc(x->blocks * sizeof *requests);
        orr_sp_expand(x, insts, requests);
        uint32_t n;
        orr_region *r =
            orr_regions(insts, requests, x->blocks, (orr_region_rule){7, 0.2, 0.3, target > 0}, &n);
        for (uint32_t k = 0; k < n; k++)
            if (r[k].end > x->blocks || r[k].first >= r[k].end || (k && r[k].first < r[k - 1].end)) abort();
        free(r);
        free(insts);
        free(requests);
    }
    orr_plan_free(&plan);
}

// Written and read again it is the same.
static void again(const orr_sampling_profile *p) {
    char path[] = "/tmp/orrery-fuzz-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) return;
    close(fd);
    orr_sampling_profile q = {0};
    orr_err e = {0};
    if (!orr_sp_write(p, path, &e) || !orr_sp_read(&q, path, &e)) abort();
    if (q.launches.n != p->launches.n || q.kernels.n != p->kernels.n || q.digest != p->digest) abort();
    for (size_t l = 0; l < q.launches.n; l++)
        if (q.launches.at[l].warp_insts != p->launches.at[l].warp_insts) abort();
    orr_sp_free(&q);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (!n) return 0;
    orr_text t = {0};
    if (data[0] >= 128) {
        orr_text_addn(&t, "orrery sampling profile 2\n", 26);
        orr_text_addn(&t, (const char *)data + 1, n - 1);
        uint64_t h = orr_hash64(t.s, t.n, 0);
        for (int k = 0; k < 8; k++) {
            char b = (char)(h >> 8 * k);
            orr_text_addn(&t, &b, 1);
        }
    } else {
        orr_text_addn(&t, (const char *)data + 1, n - 1);
    }
    uint8_t *exact = orr_malloc(t.n + 1); // of its own size, so that reading beyond is noticed
    memcpy(exact, t.s ? t.s : "", t.n);
    orr_sampling_profile p = {0};
    orr_err e = {0};
    bool ok = orr_sp_parse(&p, exact, t.n, "fuzz", &e);
    if (ok == (e.status != 0)) abort();
    if (ok) {
        use(&p, 0);
        use(&p, 0.02);
        again(&p);
        orr_sp_free(&p);
    }
    free(exact);
    free(t.s);
    return 0;
}
