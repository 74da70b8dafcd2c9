// Loops that only look (look.c).
#ifndef ORR_CYCLE_LOOK_H
#define ORR_CYCLE_LOOK_H

#include "model/cycle/sm.h"

typedef struct looks looks;
looks *cyc_looks_new(const orr_kernel *k); // NULL: the kernel has no such loop
void cyc_looks_free(looks *l);
// Is a look in the block one that such a loop waits with, or the first one in front of it?
bool cyc_looks_wait(const looks *l, uint32_t block);
bool cyc_looks_walk(const looks *l, uint32_t block); // and then at the next place (orr_look_walks)
// The rounds of a thread block's loops that found nothing are left out of its streams, but for the last look.
void cyc_looks_tighten(const looks *l, tbuf *b);
// Does a look in the first block lead to the loop that the second is in?
bool cyc_looks_lead(const looks *l, uint32_t from, uint32_t to);
// The warp is about to enter `w->then`, if `w->has_then`, else to end. True: it does not, it looks again, and
// its next block is to be read anew.
bool cyc_look_again(sm *s, warp *w);
void cyc_look_enter(sm *s, warp *w); // it enters w->then

#endif
