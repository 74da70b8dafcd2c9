// Several kernels on one machine at a time: which grid's thread blocks go next, and where there is room for
// them.
//
// Method. The kernels are joined to one program (orr_program_join), so that SMs and their components know
// nothing of it: a warp's stream has its kernel's first block of code added to every block. What differs is
// who is given room. Grids are served one after the other, by priority and then in the order in which they
// were launched: as long as the first one has blocks that have not been placed, no other's are, even where
// they would fit (H200, micro/pairs: head_of_line). A block goes to the SM with the fewest warps of those
// that have room: block slots, warps, registers, shared memory. Shared memory's share of an SM's storage is
// that of the kernel which found the SM empty, and stays until it is empty again; a block of another kernel
// goes there only if that share would do for as many of its own blocks as warps allow
// (orr_occupancy_result.shared_least; H200, hardware/h200/pairs_carveout.csv).
//
// Invariants: what a grid has placed and not started is in an SM's stock; `planned` of an SM is what its
// resident blocks and those in stock take, `used` what the resident ones do; both are 0 when it has none.
#ifndef ORR_CYCLE_GRIDS_H
#define ORR_CYCLE_GRIDS_H

#include "model/cycle/window.h"

typedef struct grid {
    orr_program_part code; // in the machine's program
    sm_use need;           // of a thread block
    int64_t least;         // bytes: the smallest carve-out that it can join
    struct supply *supply; // NULL: it has not been launched, or has ended
    int priority;          // lower goes first
    uint64_t from;         // cycle: its blocks can be placed from then on; NEVER: not known yet
    uint64_t blocks, placed, done;
    bool filled;              // there was no room for a block of it
    uint64_t first, last;     // cycles: its first block's start, its last one's end
    struct grid *predecessor; // it may start before this one has ended; NULL: it comes behind nobody here
    uint64_t
        allows_next;    // cycle: the last of its blocks that have ended had said that the next grid may start
    uint64_t ended;     // cycle: it has ended, and those it came after; NEVER: it has not
    orr_source *source; // of its blocks
    uint32_t *order;    // SMs, as they are looked at for room
    orr_member *member; // of the group
} grid;

typedef struct grids {
    grid *at; // in the order of launches
    uint32_t n;
    orr_launch_group *group;
    const grid *last; // that a block was placed of
    bool early;       // some start before the one ahead of them has ended
    orr_err err;      // of a source
} grids;

// For up to n grids; the caller adds those of members that run beside the first, and sets code, need, least
// and source of each.
grids *cyc_grids_new(orr_launch_group *group, uint32_t n);
grid *cyc_grids_add(const cycle *c, grids *g, orr_member *m);
bool cyc_grids_has(const grids *g, uint32_t member); // member: + 1
void cyc_grids_free(grids *g);

// ---- for the engine --------------------------------------------------------------------------
void cyc_grids_deal(engine *x);             // places blocks, and gives SMs some in stock
void cyc_grids_feed(engine *x, uint32_t n); // the SMs that have stopped for want of blocks: x->busy[n]
void cyc_grids_return(sm *s);               // what is in its stock was not started
void cyc_grids_done(block_traces *list);    // blocks that have ended
void cyc_grids_end(engine *x);              // tells the group of the grids all of whose blocks have
bool cyc_grids_warm(const cycle *c, uint64_t lines); // has each of them no more lines of code?
bool cyc_grids_close(grids *g, orr_err *e);          // false: a source failed
// When blocks of another grid can be placed, from `now` on; NEVER: nobody knows.
uint64_t cyc_grids_next(const grids *g, uint64_t now);
// A warp waits for the grid ahead of its own to end: true until cyc_grids_end wakes it, else *until is when
// it goes on.
bool cyc_grid_waits(const cycle *c, const grid *g, uint64_t *until);
// Is there room for a block of it, beside what `use` says?
bool cyc_grid_fits(const cycle *c, const grid *g, const sm_use *use);

static inline void cyc_use_add(sm_use *to, const grid *g) {
    if (!to->blocks) to->carveout = g->need.carveout;
    to->blocks++;
    to->warps += g->need.warps;
    to->registers += g->need.registers;
    to->shared += g->need.shared;
}
static inline void cyc_use_remove(sm_use *from, const grid *g) {
    from->blocks--;
    from->warps -= g->need.warps;
    from->registers -= g->need.registers;
    from->shared -= g->need.shared;
}

#endif
