// Constants: the SM's two caches of them, for loads with an address and for what instructions name.
#ifndef ORR_CYCLE_CONSTANTS_H
#define ORR_CYCLE_CONSTANTS_H

#include "memory/cache.h"
#include "memory/memory.h"
#include "model/cycle/raw.h"
#include "program/program.h"

struct cycle;

typedef struct const_caches { // of an SM
    orr_cache first, second;  // next to the pipes, and behind it; none where the description says 0 bytes
} const_caches;

void cyc_constants_init(const_caches *k, const orr_gpu *g);
void cyc_constants_free(const_caches *k, const orr_gpu *g);
void cyc_constants_flush(const_caches *k, const orr_gpu *g);

// A load by its lanes' addresses: the latency of the slowest line, and in *missed how many the first cache
// did not have.
uint64_t cyc_constants_load(const_caches *k, const struct cycle *c, const orr_access *a, orr_sm_counts *n,
                            uint32_t *missed);

// Line n of program->constants is of the parameters (bank 0), which are in the second cache when a kernel
// starts.
static inline bool is_parameter(const orr_program *p, uint32_t n) { return (p->constants[n] - 1) >> 16 == 0; }

#endif
