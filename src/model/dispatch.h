// Thread-block dispatch: the order in which a grid's blocks go to SMs.
//
// Method. A grid is dealt out in three phases, and each has an order of its own, worked out before the launch
// begins: the first wave (every SM has room), its last, uneven round, and the refill afterwards, when blocks
// end here and there. A model asks for the orders once a launch and then only walks along them; whether an SM
// has room is the model's business. launch.order says which rule a GPU follows: one SM after the other (tpc),
// one SM of each TPC before the second ones (spread), or GPC by GPC with the rules of an H200 for small grids
// (gpc).
//
// Invariants: an order names each of the nsms SMs exactly once; a first wave gives no SM more than `each`
// blocks.
#ifndef ORR_DISPATCH_H
#define ORR_DISPATCH_H

#include "gpu/topology.h"

// The SMs in the order in which the first blocks of a grid of so many blocks (0: not known) go to them; the
// caller frees it.
uint32_t *orr_dispatch_order(const orr_gpu *g, uint32_t nsms, uint64_t blocks);
// The order in which SMs are looked at for room once all have had as many blocks as they hold and some of
// those have ended; the caller frees it.
uint32_t *orr_dispatch_refill(const orr_gpu *g, uint32_t nsms);
// The SM of each of a grid's first blocks, until it has no more blocks (0: their number is not known) or
// every SM has as many as it can hold (`each`); *n of them, which the caller frees.
uint32_t *orr_dispatch_first_wave(const orr_gpu *g, uint32_t nsms, uint64_t blocks, uint32_t each, size_t *n);

#endif
