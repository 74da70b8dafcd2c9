// Products of groups of warps (WGMMA): the tensor units of an SM, one in each sub-core, that work on their
// own.
//
// A product is issued, takes its place behind those that its sub-core's unit has, and is done some cycles
// after the unit has finished with it; its warp goes on meanwhile, until it has `queue` of them unfinished,
// or waits for all but the newest groups (wgmma.wait_group). What the unit reads of shared memory comes off
// the time of those that load from there (pipe_beside); it is not held up by them itself, as on an H200 from
// 128 columns on (micro/hopper/async.py, wgmma.beside). While a unit has products, other units of its
// sub-core that want the same ports of the register file take longer for each instruction
// (micro/hopper/beside.py).
//
// Invariants: a unit's `free` never goes back; products of a warp begin and end in the order of their issue;
// `done` holds the ends of a warp's last PRODUCTS products, `group` those of its last groups.
//
// The component knows of an instruction its interval and of a warp its number.
#ifndef ORR_CORE_PRODUCTS_H
#define ORR_CORE_PRODUCTS_H

#include "core/core.h"
#include "program/program.h"

#define PRODUCTS 8 // of a warp that are told apart; groups as well

typedef struct products_spec {
    uint64_t latency;                  // from the end of a product in its unit until its warp knows
    uint32_t queue;                    // of a warp that may be unfinished
    uint32_t per_sub;                  // schedulers of a sub-core
    uint8_t beside[ORR_GPU_UNITS_MAX]; // cycles that an instruction keeps a unit longer, by unit
} products_spec;

typedef struct warp_products {
    uint64_t done[PRODUCTS];  // a ring
    uint64_t group[PRODUCTS]; // a ring
    uint32_t n, groups;       // that there have been
} warp_products;

typedef struct product_units { // of an SM
    const products_spec *spec;
    uint64_t free[MAX_SCHED]; // by sub-core
    warp_products *warp;      // by number
    uint32_t nwarps;
    uint64_t issued; // counter
} product_units;

void products_spec_read(products_spec *s, const orr_gpu *g);
void products_init(product_units *u, const products_spec *s, uint32_t nwarps);
void products_reset(product_units *u);
void products_free(product_units *u);
static inline void products_start_warp(product_units *u, uint32_t warp) {
    u->warp[warp] = (warp_products){0};
}

// When another product of the warp can be issued.
static inline uint64_t products_room(const product_units *u, uint32_t warp) {
    const warp_products *w = &u->warp[warp];
    return w->n < u->spec->queue ? 0 : w->done[(w->n - u->spec->queue) % PRODUCTS];
}
// When all groups of the warp's products but the newest `left` are done.
static inline uint64_t products_wait(const product_units *u, uint32_t warp, uint32_t left) {
    const warp_products *w = &u->warp[warp];
    return w->groups <= left || left >= PRODUCTS ? 0 : w->group[(w->groups - 1 - left) % PRODUCTS];
}
// How much longer an instruction that comes to a unit in cycle `now` keeps it.
static inline uint64_t products_beside(const product_units *u, uint32_t sched, uint32_t unit, uint64_t now) {
    return u->issued && u->free[sub_core_of(sched, u->spec->per_sub)] > now ? u->spec->beside[unit] : 0;
}
// A product is issued by a warp of scheduler `sched` in cycle `now`. Returns when it is done.
uint64_t products_issue(product_units *u, uint32_t sched, uint32_t warp, const orr_tinst *i, uint64_t now);

#endif
