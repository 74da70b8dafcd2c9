// Files of pre-characterised kernels (--latencies; docs/how/abstract.md has the format).
#ifndef ORR_LATENCIES_H
#define ORR_LATENCIES_H

#include "base/base.h"

typedef struct orr_latency { // an instruction
    uint32_t cycles;
    uint8_t kind; // orr_tkind
} orr_latency;

typedef struct orr_latencies_kernel {
    uint64_t key; // orr_precharacterise_key: code and pipeline
    char *name;
    uint32_t registers, shared; // per thread; bytes per block
    uint32_t ninsts;
    orr_latency *inst;
} orr_latencies_kernel;

typedef struct orr_latencies {
    ORR_VEC(orr_latencies_kernel) kernels;
} orr_latencies;

// A file that is not there is one without kernels.
orr_latencies *orr_latencies_read(const char *path, orr_err *e);
orr_latencies *orr_latencies_parse(const char *text, size_t n, const char *path, orr_err *e);
void orr_latencies_free(orr_latencies *l);
// NULL: it is not among them.
const orr_latencies_kernel *orr_latencies_find(const orr_latencies *l, uint64_t key, uint32_t ninsts);
// Another kernel; its instructions are filled in by the caller.
orr_latencies_kernel *orr_latencies_add(orr_latencies *l, uint64_t key, const char *name, uint32_t ninsts);
void orr_latencies_print(const orr_latencies *l, orr_text *out);
bool orr_latencies_write(const orr_latencies *l, const char *path, orr_err *e);

#endif
