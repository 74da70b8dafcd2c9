// Fences of an SM.
//
// A fence takes a time of its own. One for the GPU or the system also waits until L2 has acknowledged what
// the warp has stored. When that is the SM estimates, or, with core.fence_merge, counts.
//
// An SM that counts has one fence at a time, for all its warps together: a round. A round waits for the
// stores that had been sent when it began. A warp that fences within core.fence_merge of that is merged into
// the round, and the round waits for its stores too; a warp that comes later waits for the next round. On an
// H200, where 64 warps of each SM store four lines each and fence, the first warp is past its fence after
// 1,460 cycles, together with those that came within 31 cycles of it, the next 43 at 3,000 within 80 cycles
// of each other, and the last 17 at 3,830; a warp that came 40 cycles after the first is among the second
// group.
//
// Behind a fence L1 is invalidated (CCTL.IVALL), for each warp by itself: that takes core.fence_invalidate
// cycles, and the next fence comes to L1 after that. Where the warps of an SM do nothing but fence, a fence
// takes 666 cycles with 64 of them and 300 with up to 16.
//
// A round also probes slices (core.fence_probe): those where any warp of the SM has been since the last round
// began, with an atomic or with a load that missed in L1, even where the answer has come. A probe takes as
// long as the way to the slice and back, waits there behind the atomics that have come before it, and takes
// the slice's time, so that fences of many SMs wait for each other (l2.fence_interval). On an H200 a fence
// takes 264 cycles if the SM has been nowhere, 371 to 441 behind something near, 514 to 597 behind something
// far, of whichever warp and however long ago. With 132 SMs at one line it takes up to 487 and 735, at lines
// of their own not a cycle more than alone. Where all other SMs swap words of that line, so that an atomic
// takes 5,500 cycles, the fence takes 5,500, and 264 if another warp of the SM has fenced since; a warp that
// fences while that probe is under way is past its fence some 80 cycles after it.
//
// Invariants: at most one round is on; a warp is in at most one of `with` and `next`; a round is over when
// the port has no unacknowledged store of its epoch and all its probes have been answered. The component
// knows the port; it reports warps that may go on in `released`, which the SM empties after each call.
#ifndef ORR_CORE_FENCE_H
#define ORR_CORE_FENCE_H

#include "core/port.h"

typedef struct fence_spec {
    uint64_t block, gpu, system; // cycles of a fence by its scope
    uint64_t store;              // cycles from what it has waited for to its end
    uint64_t merge;              // cycles after its beginning in which a round takes warps in
    double invalidate;           // cycles of L1 behind each warp's fence
    uint64_t probe;              // cycles from the answer to a probe until the fence is over
    bool probes;                 // slices are probed
    bool waits_for_atomics;      // it goes where the warp's last atomic was done (core.fence_store)
} fence_spec;

typedef struct fence_release { // a warp that may go on
    uint32_t warp;
    uint64_t when;
} fence_release;

typedef struct fence_unit {
    const fence_spec *spec;
    sm_port *port;
    event_queue *clock;
    uint64_t *earliest;            // by warp: it waits for others, and takes until then at least; 0: none
    ORR_VEC(uint32_t) round_warps; // warps in the round
    ORR_VEC(uint32_t) next_round_warps; // warps for the next round
    ORR_VEC(fence_release) released;
    uint8_t state;        // of the round
    uint8_t epoch;        // of the stores that it waits for
    uint64_t round_began; // when it began
    uint64_t answered;    // it lasts until then at least, by the probes that have been answered
    uint32_t open_probes; // probes that have not
    uint64_t l1_free;     // when L1 has been invalidated
} fence_unit;

void fence_spec_read(fence_spec *s, const orr_gpu *g);
void fence_init(fence_unit *f, const fence_spec *s, sm_port *port, uint32_t nwarps);
void fence_free(fence_unit *f);
void fence_reset(fence_unit *f);
static inline void fence_start_warp(fence_unit *f, uint32_t warp) { f->earliest[warp] = 0; }

// A warp's fence (scope 0: thread block, 1, 2: GPU, 3: system). Returns when it goes on; NEVER: `released`
// says.
uint64_t fence_issue(fence_unit *f, uint32_t warp, uint32_t scope);
void fence_invalidated(fence_unit *f); // a warp that is past its fence has L1 invalidated

// ---- events
void fence_round(fence_unit *f);                              // a round is due
void fence_store_acknowledged(fence_unit *f, uint32_t epoch); // the port knows it already
void fence_slice_acknowledged(fence_unit *f, uint64_t when);
void fence_reduction_acknowledged(fence_unit *f, uint32_t payload, uint64_t when);

#endif
