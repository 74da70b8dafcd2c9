// Any bytes as PTX: what can be loaded is lowered for a GPU of each family, and must come out whole.
#include "ptx/ptx.h"
#include "program/program.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const orr_program *p) {
    if (p->nblocks != p->kernel->nblocks) abort();
    for (uint32_t b = 0; b < p->nblocks; b++) {
        const orr_tblock *t = &p->blocks[b];
        if (t->body > p->nblocks || t->naccess != p->kernel->blocks[b].nmem) abort();
        for (uint32_t i = t->first; i < t->first + t->count; i++) {
            const orr_tinst *m = &p->insts[i];
            if (m->inst >= p->kernel->ninsts || m->unit >= p->gpu->nunits) abort();
            if (m->access != ORR_NO_ACCESS && m->access >= t->naccess) abort();
            for (uint32_t r = 0; r < (uint32_t)m->nsrc + m->ndst; r++)
                if (p->regs[m->regs + r] >= p->nplaces) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const char *const names[] = {"gtx480", "k40", "titanx", "v100", "rtx2060", "a100", "h200"};
    enum { GPUS = sizeof names / sizeof *names };
    static orr_gpu *gpus[GPUS];
    orr_err e = {0};
    for (int g = 0; g < GPUS && !gpus[GPUS - 1]; g++) gpus[g] = orr_gpu_load(names[g], NULL, 0, &e);
    orr_module *m = orr_ptx_parse("fuzz.ptx", (const char *)data, n, &e);
    if (!m) return 0;
    for (uint32_t i = 0; i < m->nkernels; i++) {
        orr_err ke = {0};
        orr_kernel *k = m->load(m, m->kernel_names[i], &ke);
        orr_rewritten *shape = k ? orr_rewrite(k) : NULL;
        if (shape && gpus[GPUS - 1]) {
            orr_program *p = orr_program_new(orr_rewritten_kernel(shape), gpus[GPUS - 1], &ke);
            if (!p) abort();
            check(p);
            orr_program_free(p);
        }
        orr_rewritten_free(shape);
        for (int g = 0; k && g < GPUS; g++) {
            if (!gpus[g]) continue;
            orr_program *p = orr_program_new(k, gpus[g], &ke);
            if (!p) abort(); // any kernel can be timed
            check(p);
            orr_program_free(p);
        }
    }
    m->free(m);
    return 0;
}
