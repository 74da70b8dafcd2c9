// Thread blocks that a real GPU executed, as streams (run/replay.c).
#ifndef ORR_REPLAY_H
#define ORR_REPLAY_H

#include "exec/exec.h"

typedef struct orr_warp_events { // what a warp wrote down (isa/events.h)
    const uint64_t *log;
    size_t words;       // of the log
    const uint32_t *at; // where its events begin, in order
    size_t n;
} orr_warp_events;
typedef struct orr_move { // an allocation: where it was there, and where it is in the launch's memory
    uint64_t from, bytes, to;
} orr_move;

typedef struct orr_replay orr_replay;
// `moves` by `from`, ascending, apart; they live as long as the replay, as what the launch points to does.
// With `tally`, blocks of code are counted and thread blocks visited; it then makes the streams of some only.
orr_replay *orr_replay_new(const orr_launch *l, const orr_move *moves, size_t n, const orr_tally *tally,
                           orr_err *e);
// One thread block, its warps' events in, its streams out: valid until the next call.
bool orr_replay_block(orr_replay *r, uint64_t index, const orr_warp_events *warps, orr_tb *tb, orr_err *e);
bool orr_replay_waits(const orr_replay *r); // the kernel has loops that wait for what others write
orr_exec_counts orr_replay_counts(const orr_replay *r); // of all so far
void orr_replay_free(orr_replay *r);

#endif
