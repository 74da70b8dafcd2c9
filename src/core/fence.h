// Fences of an SM.
//
// A fence takes a time of its own. One for the GPU or the system also waits until L2 has what was stored and
// the SM has heard of it, which it estimates; or, with core.fence_merge, counts.
//
// Then the SM does it for all its warps together: a round waits for the stores that have been sent when it
// begins. Who comes soon after (core.fence_merge) goes with it and so do its stores, who comes later waits
// for the next one. H200: 64 warps of an SM that store four lines each and fence, with all SMs storing: the
// first is past it after 1,460 cycles with those that came within 31 cycles of it, the next 43 at 3,000
// within 80 cycles of each other, the last 17 at 3,830; who came 40 cycles after the first is among the
// second.
//
// Behind a fence L1 drops what it has (CCTL.IVALL), for each warp by itself: core.fence_invalidate cycles,
// and the next fence comes to L1 after that. 64 warps of an SM that only fence take 666 cycles for one, up to
// 16 300.
//
// A round also asks (core.fence_probe) the slices where any warp of the SM has been since the last round
// began, with an atomic or a load that L1 had not, although the answer has come (stores are waited for).
// That takes as long as the way there and back, waits at the slice behind the atomics that are there, and
// takes the slice's time, so that fences of many SMs wait for each other (l2.fence_interval). H200: 264
// cycles if the SM has been nowhere, 371 to 441 behind something near, 514 to 597 behind something far, of
// any warp and however long ago; of 132 SMs at one line up to 487 and 735, at lines of their own not a cycle
// more than alone. Where all other SMs swap words of that line, so that an atomic takes 5,500 cycles, the
// fence takes 5,500, and 264 if another warp of the SM has fenced since; who fences while that is under way
// is past it some 80 cycles after.
//
// Invariants: at most one round is on; a warp is in at most one of `with` and `next`; a round is over when
// the port has no unacknowledged store of its epoch and no slice has to answer. The component knows the
// port; it reports warps that may go on in `released`, which the SM empties after each call.
#ifndef ORR_CORE_FENCE_H
#define ORR_CORE_FENCE_H

#include "core/port.h"

typedef struct fence_spec {
    uint64_t block, gpu, system; // cycles of a fence by its scope
    uint64_t errbar;             // of `gpu` and `system`: cycles for the ERRBAR behind
    uint64_t store;              // cycles from what it has waited for to its end
    uint64_t join;               // who comes so much later goes with a round
    double drop;                 // cycles of L1 behind each warp's fence
    uint64_t ask;                // cycles from a slice's answer to the end
    bool asks;                   // it asks slices
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
    uint64_t *floor;        // by warp: it waits for others, and takes until then at least; 0: none
    ORR_VEC(uint32_t) with; // warps in the round
    ORR_VEC(uint32_t) next; // warps for the next round
    ORR_VEC(fence_release) released;
    uint8_t state;    // of the round
    uint8_t epoch;    // of the stores that it waits for
    uint64_t from;    // when it began
    uint64_t heard;   // it lasts until then at least, by the slices that have answered
    uint32_t asking;  // slices that have not
    uint64_t l1_free; // when L1 has dropped what it had
} fence_unit;

void fence_spec_read(fence_spec *s, const orr_gpu *g);
void fence_init(fence_unit *f, const fence_spec *s, sm_port *port, uint32_t nwarps);
void fence_free(fence_unit *f);
void fence_reset(fence_unit *f);
static inline void fence_start_warp(fence_unit *f, uint32_t warp) { f->floor[warp] = 0; }

// A warp's fence (scope 0: thread block, 1, 2: GPU, 3: system). Returns when it goes on; NEVER: `released`
// says.
uint64_t fence_issue(fence_unit *f, uint32_t warp, uint32_t scope, bool bare); // bare: no ERRBAR follows
void fence_dropped(fence_unit *f); // a warp that is past its fence has L1 drop what it has

// ---- events
void fence_round(fence_unit *f);                              // a round is due
void fence_store_acknowledged(fence_unit *f, uint32_t epoch); // after the port has been told
void fence_slice_acknowledged(fence_unit *f, uint64_t when);
void fence_reduction_acknowledged(fence_unit *f, uint32_t payload, uint64_t when);

#endif
