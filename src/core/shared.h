// Shared memory: passes over its banks, and when what is loaded is there.
//
// An access takes as many passes as its busiest bank has words; the banks are L1's, so it has the data pipe
// that long. A sub-core gets what it loads `lsu.width` bytes a cycle. Atomics take longer, a compare and
// swap most of all.
//
// Invariants: accesses are done in the order in which they begin; `given` of a sub-core never goes back.
//
// The component knows the data pipe and what warps it serves by number. A host thread lends it a table of
// bank patterns (bank_memo), which any thread would fill with the same.
#ifndef ORR_CORE_SHARED_H
#define ORR_CORE_SHARED_H

#include "core/l1.h"

typedef struct shared_spec {
    uint64_t latency;
    orr_shared_spec cost; // what an access takes of the banks, by all models alike
    uint32_t width;       // bytes a cycle to a sub-core (lsu.width); 0: any number
    bool empty_free;      // an access without lanes takes no time of the banks
} shared_spec;

typedef struct bank_memo { // the last pattern of an instruction
    uint8_t n, bytes[42];  // bytes of the trace that tell it; 0: none
    uint8_t at;            // bytes in front of the first address
    uint32_t mask;
    orr_banked banked;
} bank_memo;

typedef struct shared_counters {
    uint64_t requests[ORR_L1_KINDS], passes[ORR_L1_KINDS], conflicts[ORR_L1_KINDS];
    uint64_t busy; // cycles
} shared_counters;

typedef struct shared_memory {
    const shared_spec *spec;
    const core_launch *launch;
    data_pipe *pipe;
    bank_memo *memo;               // [instruction]
    uint64_t delivered[MAX_SCHED]; // by sub-core: when it has been given what it loaded last; 0: nothing yet
    shared_counters n;
} shared_memory;

typedef struct shared_access {
    const orr_tinst *i;
    uint32_t sub;       // sub-core
    bool answered;      // somebody waits for it
    uint64_t warp_free; // in and out: when the warp's next access can begin, after one with conflicts
} shared_access;

void shared_spec_read(shared_spec *s, const orr_gpu *g);
static inline void shared_init(shared_memory *m, const shared_spec *s, const core_launch *launch,
                               data_pipe *pipe) {
    *m = (shared_memory){.spec = s, .launch = launch, .pipe = pipe};
}
static inline void shared_free(shared_memory *m) { (void)m; }
void shared_reset(shared_memory *m);
// The passes of an access. `trace`: where the stream has it; warps that run the same code tend to have the
// same pattern, which the bytes of the trace then show. `a` has been decoded, or is when it is needed.
// False: the trace is damaged.
bool shared_passes(shared_memory *m, uint32_t inst, const orr_trace *trace, orr_access *a, bool decoded,
                   orr_banked *banked);
// An access that is there at `t`. Returns when its result is there.
uint64_t shared_begin(shared_memory *m, shared_access *x, orr_banked b, uint64_t t);

#endif
