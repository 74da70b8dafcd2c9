// Threads that wait for each other through memory (order.c).
#ifndef ORR_CYCLE_ORDER_H
#define ORR_CYCLE_ORDER_H

#include "model/cycle/sm.h"

typedef struct order order;
// NULL: nobody waits for anybody in this kernel. whole: no thread blocks are left out.
order *cyc_order_new(const orr_kernel *k, const cycle *c, bool whole);
void cyc_order_free(order *o);
uint8_t cyc_order_kind(const order *o, uint32_t inst); // orr_inst_order, and whether it is tried again
// The loop of this look has ended before it, with a look that came later than in the stream.
bool cyc_order_over(const order *o, uint32_t need, uint32_t sm, uint32_t warp);
// A warp begins a round of a loop that only looks (longer: it has walked further than in the stream); which
// of its looks came too early.
enum { ORDER_EARLY = 1, ORDER_FIRST = 2 }; // FIRST: of a walk, at a place where nothing had been written
void cyc_order_look(order *o, uint32_t sm, uint32_t warp, bool longer);
uint8_t cyc_order_failed(const order *o, uint32_t sm, uint32_t warp);
// A thread block that is about to be given to an SM, in grid order: which of its accesses depend on earlier
// blocks.
void cyc_order_plan(order *o, tbuf *b);
// What the SMs have sent in a window: requests that must wait are held back; those that need not any more are
// sent again. Time is `now` (ticks).
void cyc_order_requests(order *o, cycle *c, uint64_t now);
// Nothing else is left to happen: all that wait go on, at `when` (ticks) or later. False: there are none.
bool cyc_order_release(order *o, cycle *c, uint64_t when);

#endif
