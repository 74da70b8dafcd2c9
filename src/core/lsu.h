// The load/store unit: the queue in front of L1 and shared memory.
//
// An instruction is worked off when it is issued, at the time the pipe will be free for it, as long as L1
// can take its misses on. When it cannot, the instruction stays at the head of the queue, half done, and the
// ones behind it wait until a fill makes room. The queue has `lsu.queue` places; a warp whose instruction
// finds no place cannot issue it.
//
// Invariants: a place of the queue is taken from issue until its instruction begins at L1 (`starts` is NEVER
// until that is known); instructions are worked off in order; `head` is the access that began last; it is
// half done, and the first of the `nqueued` that wait, as long as there are any.
//
// The component owns the access at hand, asks L1, shared memory and the constant caches what it takes, and
// tells the SM (lsu_client) when an instruction that had to wait has read its operands and when the queue has
// room again.
#ifndef ORR_CORE_LSU_H
#define ORR_CORE_LSU_H

#include "core/constants.h"
#include "core/l1.h"
#include "core/shared.h"
#include "core/texture.h"

typedef struct lsu_spec {
    uint32_t nsched, per_sched;    // schedulers of the SM, warps of each
    uint32_t sched_per_sub;        // schedulers of a sub-core
    uint32_t sched_mask;           // nsched - 1 where that is a mask, else 0
    uint32_t places;               // of the queue
    uint32_t width;                // bytes that a sub-core hands over in a cycle; 0: any number
    uint32_t pass;                 // cycles of a warp for each pass with a conflict
    int64_t read_load, read_store; // cycles until an instruction that has begun has read its registers
    uint64_t drain;                // cycles until the warp of such an instruction can end
    uint32_t store_leave;          // cycles for which a line that was stored leaves (l1.store_drain)
    uint32_t coalesce;             // lanes that are coalesced together
} lsu_spec;

typedef struct lsu_op { // a memory instruction that is issued
    const orr_tinst *i;
    uint32_t inst, sched, slot;
    const orr_trace *access; // where the stream has its addresses
    uint64_t late;           // cycles from issue until it is in its unit
    uint32_t load;           // from l1_expect; NOBODY: nobody waits for it
    orr_step_access *live;   // performed when it is served (perform.h); NULL: it has been executed
} lsu_op;

typedef struct lsu_queued { // a memory instruction in front of L1
    orr_trace trace;
    uint32_t warp, inst, load;
    uint32_t place; // in the ring of starts
    orr_step_access *live;
} lsu_queued;

typedef struct lsu_warp {   // what the LSU knows of a warp
    uint64_t conflict_free; // when its next access can begin, after one with conflicts
    uint64_t began;         // when its last access began at L1
    uint64_t stores_read;   // when its last store has left the queue: the warp does not end before
    uint32_t queued;        // its accesses that wait in front of L1
} lsu_warp;

typedef struct lsu_client { // what the LSU tells the SM
    void *self;
    // An instruction that had to wait has begun, and has read its operands then.
    void (*began)(void *self, uint32_t warp, const orr_tinst *i, uint64_t read);
    void (*room)(void *self);                       // the queue has room: somebody may issue
    bool (*strong)(void *self, const orr_tinst *i); // the access is sent at once; NULL: none is
    void (*damaged)(void *self);                    // a trace that cannot be
} lsu_client;

typedef struct lsu_sender { // an instruction that nobody waits for
    uint64_t when;          // L1 worked it off, + 1; 0: there is none
    uint32_t inst;
} lsu_sender;

typedef struct lsu {
    const lsu_spec *spec;
    const core_launch *launch;
    l1_cache *l1;
    shared_memory *shared;
    const_caches *constants;
    texture_unit *texture;
    data_pipe *pipe;
    event_queue *clock;
    lsu_client client;
    uint32_t sm;                        // the number that the GPU has for the SM: where its local memory is
    lsu_warp *warp;                     // by number
    uint64_t *starts;                   // [place] a ring: when the last ones left the queue
    bool *to_shared;                    // [place] they go to shared memory,
    uint32_t nshared;                   // and how many of them do
    uint32_t place;                     // that the next one takes, the oldest
    uint64_t room;                      // when the queue has room
    lsu_queued *queue;                  // [place] a ring: instructions in front of L1
    uint32_t first, nqueued;            // the one that is half done, and how many there are
    uint64_t blocked_since;             // it waits for an MSHR
    uint64_t hand_over_free[MAX_SCHED]; // by sub-core: when it can hand over the next one (lsu.width)
    uint64_t handed_over;               // when the one at hand is; 0: long ago
    uint64_t stores_leave;              // until then loads wait for what stores have written (l1.store_drain)
    l1_access head;
    orr_traffic *traffic;    // of global memory, by instruction; NULL: nobody counts
    lsu_sender last_sent[2]; // the last store, the last reduction
} lsu;

void lsu_spec_read(lsu_spec *s, const orr_gpu *g);
void lsu_init(lsu *u, const lsu_spec *s, l1_cache *l1, shared_memory *shared, const_caches *constants,
              texture_unit *texture);
void lsu_free(lsu *u);
void lsu_reset(lsu *u);
static inline void lsu_start_warp(lsu *u, uint32_t warp) { u->warp[warp] = (lsu_warp){0}; }

// A memory instruction is about to be issued: when its sub-core hands it over, in line behind what its unit
// has to do until `unit_free`. Returns that cycle.
uint64_t lsu_hand_over(lsu *u, uint32_t sched, const orr_tinst *i, uint64_t unit_free);
// It is issued. Returns when it has read its operands, NEVER: it has to wait (lsu_client.began says when).
uint64_t lsu_issue(lsu *u, const lsu_op *op);
void lsu_room_at_l1(lsu *u); // a fill, or an acknowledged store, may let the half-done head go on
// The scheduler that goes first at what all share: each cycle another one.
static inline uint32_t lsu_first(const lsu *u) {
    uint32_t now = (uint32_t)u->clock->now, mask = u->spec->sched_mask;
    return mask ? now & mask : now % u->spec->nsched;
}

#endif
