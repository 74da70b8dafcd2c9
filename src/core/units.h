// Execution units: pools of pipes that instructions keep busy.
//
// Units of a name are spread over the sub-cores; where there are fewer of them than sub-cores they serve the
// whole SM. A pool is the units of one name that serve the same sub-core. An instruction takes the unit of
// its pool that is free first, for its interval. Where a unit has a queue, instructions are issued while it
// is busy and wait in line.
//
// Invariants: `free[p]` is the cycle from which pool p can be issued to, which with a queue is earlier than
// the cycle in which a unit of it is free; `next` of a unit never goes back.
//
// A unit is added by naming it in a description; there is no code for a particular one here. The component
// knows no neighbour: who issues asks units_free_at and says units_occupy.
#ifndef ORR_CORE_UNITS_H
#define ORR_CORE_UNITS_H

#include "core/core.h"

#define MAX_POOLS   128
#define MAX_OF_POOL 16 // units of a pool
#define NO_UNIT     UINT32_MAX

typedef struct unit_pool {
    uint32_t n, unit; // how many, of which unit of the description
    uint32_t queue;   // instructions of each that may wait (unit.NAME.queue)
    uint8_t half;     // the pool that is one of its halves, + 1 (unit.NAME.half); 0: none
    uint8_t whole;    // the pool that it is a half of, + 1; 0: none
} unit_pool;

typedef struct units_spec {
    uint32_t npools;
    unit_pool pool[MAX_POOLS];
    uint8_t pool_of[MAX_SCHED][ORR_GPU_UNITS_MAX]; // by scheduler and unit
} units_spec;

typedef struct exec_units { // of an SM
    const units_spec *spec;
    uint64_t free[MAX_POOLS];
    uint64_t next[MAX_POOLS][MAX_OF_POOL]; // each unit's next free cycle, where a pool has several or a queue
    uint64_t busy[ORR_GPU_UNITS_MAX];      // counter: cycles, by unit of the description
} exec_units;

uint32_t units_pools(const orr_gpu *g); // that a description needs; MAX_POOLS at most are possible
void units_spec_read(units_spec *s, const orr_gpu *g);
void units_reset(exec_units *u);
static inline void units_init(exec_units *u, const units_spec *s) { *u = (exec_units){.spec = s}; }
static inline void units_free(exec_units *u) { (void)u; }

static inline uint32_t units_pool(const exec_units *u, uint32_t sched, uint32_t unit) {
    return u->spec->pool_of[sched][unit];
}
// When an instruction of the scheduler for that unit can be issued.
static inline uint64_t units_free_at(const exec_units *u, uint32_t sched, uint32_t unit) {
    return u->free[units_pool(u, sched, unit)];
}
static inline bool units_has_queue(const exec_units *u, uint32_t sched, uint32_t unit) {
    return u->spec->pool[units_pool(u, sched, unit)].queue != 0;
}
// When all that is in line for the first unit of the pool has left it.
static inline uint64_t units_line_ends(const exec_units *u, uint32_t sched, uint32_t unit) {
    return u->next[units_pool(u, sched, unit)][0];
}
// An instruction comes to its unit at `at` and keeps it busy for so many cycles. Returns how long it waits
// in line.
uint64_t units_wait_in_line(exec_units *u, uint32_t pool, uint64_t cycles, uint64_t at);
static inline uint64_t units_occupy(exec_units *u, uint32_t sched, uint32_t unit, uint64_t cycles,
                                    uint64_t at) {
    uint32_t which = units_pool(u, sched, unit);
    const unit_pool *p = &u->spec->pool[which];
    u->busy[p->unit] += cycles;
    if (p->n != 1 || p->queue || p->half || p->whole) return units_wait_in_line(u, which, cycles, at);
    u->free[which] = at + cycles;
    return 0;
}
// Nothing is issued to the unit before `until`.
void units_block(exec_units *u, uint32_t sched, uint32_t unit, uint64_t until);

#endif
