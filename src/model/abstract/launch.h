// A launch, or some thread blocks of one, through the abstract model's machine: what the partial model uses
// of it. One state for all launches of a run: the machine keeps its L2 from one to the next.
#ifndef ORR_ABSTRACT_LAUNCH_H
#define ORR_ABSTRACT_LAUNCH_H

#include "model/model.h"

typedef struct abt_state abt_state;
abt_state *abt_state_new(const orr_gpu *gpu, orr_err *e);
void abt_state_free(void *st);
// The whole launch; appends to r->launches.
bool abt_launch(abt_state *st, const orr_gpu *gpu, const orr_work *w, orr_result *r, orr_err *e);
// Would that execute it as it is timed?
bool abt_in_time(const orr_work *w);
void abt_copy(abt_state *st, uint64_t addr, uint64_t bytes); // from the host, between launches

// Somebody who simulates some of a launch's thread blocks.
typedef struct abt_watch {
    void *arg;
    // Is this one left out? Then no time passes, and its lines are in L2 afterwards. Asked in the order in
    // which blocks would start.
    bool (*left_out)(void *arg, uint64_t block);
    void (*ended)(void *arg, uint64_t block, uint64_t cycle);
    bool (*done)(void *arg, uint64_t cycles); // all told; false: it fails
} abt_watch;
// The blocks that the source has, one behind the other as if the grid had no others. w as
// orr_work_rewritten has made it.
bool abt_some_blocks(abt_state *st, const orr_gpu *gpu, const orr_work *w, orr_source *source,
                     const abt_watch *watch, orr_err *e);

#endif
