// Fences.
//
// A fence takes a time of its own. One for the GPU or the system also waits until L2 has what was stored and
// the SM has heard of it, which it estimates; or, with core.fence_join, counts.
//
// Then the SM does it for all its warps together: a round waits for the stores that have been sent when it
// begins. Who comes soon after (core.fence_join) goes with it and so do its stores, who comes later waits for
// the next one. H200: 64 warps of an SM that store four lines each and fence, with all SMs storing: the first
// is past it after 1,460 cycles with those that came within 31 cycles of it, the next 43 at 3,000 within 80
// cycles of each other, the last 17 at 3,830; who came 40 cycles after the first is among the second.
//
// Behind a fence L1 drops what it has (CCTL.IVALL), for each warp by itself: core.fence_drop cycles, and the
// next fence comes to L1 after that. 64 warps of an SM that only fence take 666 cycles for one, up to 16 300.
//
// A round also asks (core.fence_ask) the slices where any warp of the SM has been since the last round began,
// with an atomic or a load that L1 had not, although the answer has come (stores are waited for). That takes
// as long as the way there and back, waits at the slice behind the atomics that are there, and takes the
// slice's time, so that fences of many SMs wait for each other (l2.fence_time). H200: 264 cycles if the SM
// has been nowhere, 371 to 441 behind something near, 514 to 597 behind something far, of any warp and
// however long ago; of 132 SMs at one line up to 487 and 735, at lines of their own not a cycle more than
// alone. Where all other SMs swap words of that line, so that an atomic takes 5,500 cycles, the fence takes
// 5,500, and 264 if another warp of the SM has fenced since; who fences while that is under way is past it
// some 80 cycles after.
#include "model/cycle/sm.h"

#include <string.h>

enum { IDLE, DUE, ON }; // a round: none, waits for L1, waits for stores

static uint64_t least(double cycles) { return cycles >= 1 ? (uint64_t)cycles : 1; }
static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void turn(sm *s) { // stores from here on are the next round's
    s->epoch ^= 1;
    s->epoch_until = NEVER;
}

uint32_t cyc_fence_epoch(sm *s) {
    if (s->now > s->epoch_until) turn(s);
    return s->epoch;
}

static void round_at(sm *s, uint64_t when) {
    s->fencing = DUE;
    cyc_sm_arrive(s, when * ORR_TICKS, FENCED, 0);
}

void cyc_fence_been(sm *s, uint64_t line) {
    uint32_t at = ((uint32_t)orr_memsys_partition_of(s->c->mem, line) * 2 +
                   (uint32_t)orr_memsys_side_of(s->c->mem, line)) %
                  BEEN;
    if (s->been_at[at / 64] >> at % 64 & 1) return;
    s->been_at[at / 64] |= 1ull << at % 64;
    s->been[s->nbeen++] = line;
}

// The round asks where the SM has been.
static void ask_slices(sm *s) {
    uint64_t l1 = s->c->l1_latency * ORR_TICKS, sent = s->send_free > l1 ? s->send_free - l1 : 0;
    uint64_t t = later(s->now * ORR_TICKS, sent) + s->c->request_ticks; // it comes through L1 as they did
    for (uint32_t n = 0; n < s->nbeen; n++) {
        orr_request r = {.time = t, .line = s->been[n], .kind = ORR_REQ_FENCE, .token = ASKED, .sm = s->id};
        r.partition = (uint32_t)orr_memsys_partition_of(s->c->mem, r.line);
        *ORR_PUSH(&s->out) = r;
    }
    s->asking += s->nbeen;
    s->nbeen = 0;
    memset(s->been_at, 0, sizeof s->been_at);
}

// The stores of the round have been heard of, and the slices have answered. `empty`: it had none of either,
// and is one that waited for another.
static void over(sm *s, bool empty) {
    const orr_gpu *g = s->c->gpu;
    uint64_t t = later(s->now + (uint64_t)g->core_fence_store, s->fence_heard);
    if (!empty) t = later(t, s->fence_from + least(g->core_fence_gpu));
    s->fencing = IDLE;
    s->fence_heard = 0;
    if (s->epoch_until != NEVER) turn(s);
    for (size_t n = 0; n < s->fence_with.n; n++) {
        warp *w = warp_of(s, s->fence_with.at[n]);
        w->front = later(w->fenced, t);
        w->front_why = ORR_STALL_MEMBAR;
        w->fenced = 0;
        if (w->at != w->end) cyc_warp_update(s, w);
    }
    if (s->fence_waits.n)
        round_at(s, later(t, s->fence_l1) + (uint64_t)(g->core_fence_drop * (double)s->fence_with.n));
    s->fence_with.n = 0;
}

static void begin_round(sm *s) {
    s->fencing = ON;
    s->fence_from = s->now;
    s->fence_epoch = s->epoch;
    s->epoch_until = s->now + (uint64_t)s->c->gpu->core_fence_join; // of those that still come to it
    if (s->c->gpu->core_fence_ask > 0) ask_slices(s);
    if (!s->storing[s->epoch] && !s->asking) over(s, true);
}

static void in_rounds(sm *s, warp *w) {
    w->fenced = w->front;
    w->front = NEVER;
    bool with = s->fencing == ON && s->now <= s->fence_from + (uint64_t)s->c->gpu->core_fence_join;
    if (with || (s->fencing == IDLE && s->fence_l1 <= s->now))
        *ORR_PUSH(&s->fence_with) = warp_id(w);
    else
        *ORR_PUSH(&s->fence_waits) = warp_id(w);
    if (s->fencing == IDLE && s->fence_l1 <= s->now)
        begin_round(s);
    else if (s->fencing == IDLE)
        round_at(s, s->fence_l1);
    else if (with && s->c->gpu->core_fence_ask > 0)
        ask_slices(s); // where it has been since the round began
}

void cyc_fence(sm *s, warp *w, const orr_tinst *i) {
    const orr_gpu *g = s->c->gpu;
    double t = i->imm >= 3 ? g->core_fence_system : i->imm >= 1 ? g->core_fence_gpu : g->core_fence_block;
    w->front = s->now + least(t);
    w->front_why = ORR_STALL_MEMBAR;
    if (i->imm < 1) return;
    if (s->c->open_ticks) cyc_port_close(s);
    bool counts = counts_stores(s->c), asks = counts && g->core_fence_ask > 0;
    uint64_t heard = w->stored + (uint64_t)g->core_fence_store;
    if (!counts && s->now < w->stored) w->front = later(w->front, heard);
    if (!asks && g->core_fence_store > 0 && w->worked) { // it goes where the warp's last atomic was done
        w->front = later(w->front, s->now + w->worked + (uint64_t)g->core_fence_store);
    }
    w->worked = 0;
    if (counts) w->front += later(s->fence_l1, s->now) - s->now;
    bool rounds = counts && (s->fencing != IDLE || s->storing[0] || s->storing[1] || (asks && s->nbeen));
    if (w->reducing) { // they are not done before L2 says so
        w->fenced = w->front;
        w->front = NEVER;
    } else if (rounds) {
        in_rounds(s, w);
    }
}

static void over_when_all(sm *s) {
    if (s->fencing == ON && !s->storing[s->fence_epoch] && !s->asking) over(s, false);
}

void cyc_fence_heard(sm *s, uint32_t epoch) {
    s->storing[epoch]--;
    if (epoch == s->fence_epoch) over_when_all(s);
}

void cyc_fence_told(sm *s, uint64_t when) {
    s->asking--;
    s->fence_heard = later(s->fence_heard, when + (uint64_t)s->c->gpu->core_fence_ask);
    over_when_all(s);
}

void cyc_fence_due(sm *s) {
    for (size_t n = 0; n < s->fence_waits.n; n++) *ORR_PUSH(&s->fence_with) = s->fence_waits.at[n];
    s->fence_waits.n = 0;
    begin_round(s);
}

void cyc_fence_drops(sm *s) {
    s->fence_l1 = later(s->fence_l1, s->now) + (uint64_t)s->c->gpu->core_fence_drop;
}
