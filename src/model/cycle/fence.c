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
// Behind an atomic, or a load that does not look in L1, a fence asks the slice of the line (core.fence_ask):
// that takes as long as the way there and back, although the result has come, and the slice's time, so that
// fences of many SMs at one slice wait for each other (l2.fence_time). H200: 264 cycles if the SM has done
// nothing at L2 since its last fence, 371 to 441 behind something near, 514 to 597 behind something far; of
// 132 SMs at one line up to 487 and 735, at lines of their own not a cycle more than alone.
#include "model/cycle/sm.h"

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

// The stores of the round have been heard of.
static void over(sm *s) {
    const orr_gpu *g = s->c->gpu;
    uint64_t t = later(s->fence_from + least(g->core_fence_gpu), s->now + (uint64_t)g->core_fence_store);
    s->fencing = IDLE;
    if (s->epoch_until != NEVER) turn(s);
    for (size_t n = 0; n < s->fence_with.n; n++) {
        warp *w = warp_of(s, s->fence_with.at[n]);
        w->front = later(w->fenced, t);
        w->front_why = ORR_STALL_MEMBAR;
        w->fenced = 0;
        if (w->at != w->end) cyc_warp_look(s, w);
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
    if (!s->storing[s->epoch]) over(s);
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
}

// It asks where the warp's last atomic or look was.
static void ask_slice(sm *s, warp *w) {
    uint64_t t = later(s->now * ORR_TICKS, s->send_free);
    orr_request r = {.line = w->touched - 1, .kind = ORR_REQ_FENCE, .token = told_token(w), .sm = s->id};
    r.time = t + s->c->request_ticks;
    r.more = s->asked == w->touched && s->now <= s->asked_at + (uint64_t)s->c->gpu->core_fence_join;
    s->asked = w->touched;
    if (!r.more) s->asked_at = s->now;
    r.partition = (uint32_t)orr_memsys_partition_of(s->c->mem, r.line);
    *ORR_PUSH(&s->out) = r;
    w->reducing++;
}

void cyc_fence(sm *s, warp *w, const orr_tinst *i) {
    const orr_gpu *g = s->c->gpu;
    double t = i->imm >= 3 ? g->core_fence_system : i->imm >= 1 ? g->core_fence_gpu : g->core_fence_block;
    w->front = s->now + least(t);
    w->front_why = ORR_STALL_MEMBAR;
    if (i->imm < 1) return;
    if (s->c->open_ticks) cyc_port_close(s);
    bool counts = counts_stores(s->c);
    uint64_t heard = w->stored + (uint64_t)g->core_fence_store;
    if (!counts && s->now < w->stored) w->front = later(w->front, heard);
    bool rounds = counts && (s->fencing != IDLE || s->storing[0] || s->storing[1]);
    bool asks = counts && g->core_fence_ask > 0 && w->touched && !rounds;
    if (!asks && g->core_fence_store > 0 && w->worked) { // it goes where the warp's last atomic was done
        w->front = later(w->front, s->now + w->worked + (uint64_t)g->core_fence_store);
    }
    if (asks) ask_slice(s, w);
    w->worked = w->touched = 0;
    if (counts) w->front += later(s->fence_l1, s->now) - s->now;
    if (w->reducing) { // it has asked; nor are reductions done before L2 says so
        w->fenced = w->front;
        w->front = NEVER;
    } else if (rounds) {
        in_rounds(s, w);
    }
}

void cyc_fence_heard(sm *s, uint32_t epoch) {
    if (--s->storing[epoch] || s->fencing != ON || epoch != s->fence_epoch) return;
    over(s);
}

void cyc_fence_due(sm *s) {
    for (size_t n = 0; n < s->fence_waits.n; n++) *ORR_PUSH(&s->fence_with) = s->fence_waits.at[n];
    s->fence_waits.n = 0;
    begin_round(s);
}

void cyc_fence_drops(sm *s) {
    s->fence_l1 = later(s->fence_l1, s->now) + (uint64_t)s->c->gpu->core_fence_drop;
}
