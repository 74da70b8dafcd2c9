// Thread blocks for the SMs, copied from their source, in grid order (supply.c).
#ifndef ORR_CYCLE_SUPPLY_H
#define ORR_CYCLE_SUPPLY_H

#include "model/cycle/sm.h"

typedef struct supply supply;
// `ahead`: a thread of its own reads ahead.
supply *cyc_supply_open(orr_source *source, bool ahead);
// The next thread block, NULL at the end or when reading failed (cyc_supply_close says).
tbuf *cyc_supply_take(supply *s);
void cyc_supply_return(supply *s, tbuf *list); // not started: they come again, in grid order
void cyc_supply_done(supply *s, tbuf *list);   // finished: their memory is used again
void cyc_supply_grow(supply *s,
                     orr_program *p);         // the kernel's new blocks into the program, while nobody reads
bool cyc_supply_close(supply *s, orr_err *e); // false: reading failed
#endif
