// The parts of the load/store unit among themselves: the queue (lsu.c), L1 (l1.c), atomics (atomic.c) and the
// port to the network (port.c).
#ifndef ORR_CYCLE_LSU_H
#define ORR_CYCLE_LSU_H

#include "model/cycle/step.h"
#include "model/cycle/order.h"

typedef struct work { // an instruction at L1
    const orr_tinst *i;
    uint32_t inst, warp;
    uint32_t flight; // NOBODY: nobody waits
    bool local;
    orr_step_access *live; // NULL: it has been executed
} work;

static inline int kind_of(const orr_tinst *i) {
    return i->flags & ORR_TF_ATOMIC ? ORR_L1_ATOMIC : i->flags & ORR_TF_STORE ? ORR_L1_STORE : ORR_L1_LOAD;
}

// ---- port.c
void cyc_port_send(sm *s, orr_request r, uint64_t when, uint32_t bytes);
bool cyc_port_counts(const sm *s, uint8_t sectors, const uint64_t bytes[2]);
bool cyc_port_room(sm *s, uint64_t line); // for a store of part of a sector
void cyc_port_release(sm *s);             // L2 has done one of them
bool cyc_port_store(sm *s, const orr_request *r, uint64_t when, uint32_t packet, uint32_t lines);

// ---- l1.c
uint32_t cyc_l1_flight(sm *s, const warp *w, uint32_t inst); // somebody will wait for what it loads
void cyc_l1_land(sm *s, uint32_t f, uint64_t ready);
void cyc_l1_come(sm *s, uint32_t f); // all lines of a load are there
void cyc_l1_read(sm *s);             // the next load whose lines have come
uint32_t cyc_l1_miss(sm *s, uint64_t line, uint8_t sectors, uint32_t f, uint32_t fills);
void cyc_l1_count(sm *s, bool local, int kind, uint32_t all, uint32_t hit, uint32_t pending);
uint32_t cyc_l1_cost(sm *s, const orr_tinst *i, bool local,
                     uint32_t *lag);     // cycles of L1 for the access at hand
bool cyc_l1_lines(sm *s, const work *k); // goes on with its lines; false: L1 is full
void cyc_l1_answer(sm *s, uint32_t token, uint64_t ready);
void cyc_l1_start(sm *s, uint64_t l1_bytes, bool flush); // of a launch

// ---- atomic.c
bool cyc_atomic_line(sm *s, const work *k, uint64_t line, uint8_t sectors, uint64_t when);

#endif
