// Thread blocks for the SMs, copied from their source, in grid order (supply.c).
#ifndef ORR_CYCLE_SUPPLY_H
#define ORR_CYCLE_SUPPLY_H

#include "model/cycle/sm.h"

typedef struct supply supply;
// With more than one of the host's threads the source is read ahead, where blocks can be left out (`skips`)
// by one of them.
supply *cyc_supply_open(orr_source *source, int threads, bool skips);
// The next thread block, NULL at the end or when reading failed (cyc_supply_close says).
block_traces *cyc_supply_take(supply *s);
void cyc_supply_return(supply *s, block_traces *list); // not started: they come again, in grid order
// The thread block that comes next, by number. All of those returned have been, or are still, read.
uint64_t cyc_supply_next(supply *s);
// Goes on with block `to`. The others are executed without being observed up to `warm`, and from there on
// shown to `touch` (NULL: not), which must not be called while the SMs run.
bool cyc_supply_skip(supply *s, uint64_t warm, uint64_t to, orr_touch *touch, void *arg, orr_err *e);
void cyc_supply_done(supply *s, block_traces *list); // finished: their memory is used again
void cyc_supply_grow(supply *s,
                     orr_program *p);         // the kernel's new blocks into the program, while nobody reads
bool cyc_supply_close(supply *s, orr_err *e); // false: reading failed
#endif
