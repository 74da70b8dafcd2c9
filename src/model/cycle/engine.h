// A launch through the machine, window by window (engine.c).
#ifndef ORR_CYCLE_ENGINE_H
#define ORR_CYCLE_ENGINE_H

#include "model/cycle/sm.h"

typedef struct run { // of one launch
    uint64_t cycles;
    orr_blame tail;      // of them, as in orr_timing
    orr_sample *samples; // malloc'ed
    uint32_t nsamples;
    uint64_t sample_cycles;
    orr_sampler *sampler; // in: as in orr_work
    orr_pieces *pieces;
    uint64_t blocks; // in: of the grid, 0 if that is not known
    bool cut;        // stopped at `cycles`, with so many blocks done
    uint64_t done;
} run;

// Makes the machine of a description: `cycle` outlives launches, so that caches stay warm.
cycle *cyc_new(const orr_gpu *g, orr_err *e);
void cyc_free(cycle *c);
// Runs `source` as launched; c->program is set. With c->grids set it runs those, and `source` is NULL. False
// on error.
bool cyc_run(cycle *c, orr_source *source, const orr_occupancy_result *occ, int threads,
             orr_progress *progress, run *out, orr_err *e);

#endif
