// The atomic units of an L2 slice (l2.h).
//
// An atomic needs its sectors in L2. Then its unit works on it, one at a time, in order of arrival. Sums of
// floating-point numbers on one sector follow each other l2.atomic_float apart; meanwhile the unit does
// others. A result leaves l2.atomic_latency later; a reduction is acknowledged when it is done.
#include "memory/l2.h"
#include "memory/memory.h"

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

// How long an atomic takes the unit.
uint64_t orr_l2_atomic_time(const orr_l2_spec *c, uint64_t ops, uint64_t quarters) {
    return ops || quarters ? ops * c->atomic.op + quarters * c->atomic.op / 4 : c->atomic.op;
}

// How long a write's acknowledgement takes to its sender: one of the other half is further away, and where
// that half had a copy to drop (late) it is waited for.
uint64_t orr_l2_ack_delay(const orr_l2_spec *c, bool far, bool late) {
    return far ? c->halves.latency : late ? 2 * c->halves.latency : 0;
}

// The unit works on an atomic from `t` on.
static void start_atomic(orr_l2 *p, uint32_t slice, uint64_t t, const orr_l2_waiter *w, orr_replies *out) {
    orr_l2_atomics *a = &p->slice[slice].atomics;
    orr_l2_serve(p, w->sm, w->live);
    uint64_t wait = 0; // for the sum before on the same word; the unit does others meanwhile
    if (w->float_sum) {
        uint32_t k = (uint32_t)(w->line ^ w->line >> 3) % ORR_L2_SUMS;
        if (a->sum_line[k] == w->line && a->sum_sectors[k] & w->sectors && a->sum_until[k] > t)
            wait = a->sum_until[k] - t;
        a->sum_line[k] = w->line;
        a->sum_sectors[k] = w->sectors;
        a->sum_until[k] = t + wait + p->spec->atomic.float_gap;
    }
    uint64_t work = orr_l2_atomic_time(p->spec, w->ops, w->quarter_ops);
    if (p->spec->atomic.row_sector && !w->same_packet) {
        // The sectors of another piece are read first, while the work goes on; its neighbour of 512 B is no
        // other one.
        uint64_t piece = (w->line >> p->spec->chunk_shift >> 2) + 1;
        if (a->row != piece) work = max(work, (uint64_t)orr_popc(w->sectors) * p->spec->atomic.row_sector);
        a->row = piece;
    }
    uint64_t end = max(t + work, w->float_sum ? t + wait + p->spec->atomic.float_gap : 0);
    if (end > a->busy_until) {
        a->busy += end - max(t, a->busy_until);
        a->busy_until = end;
    }
    t += work;
    a->free = t;
    t += wait;
    if (w->hit) orr_l2_note_time(p, t);
    if (w->kind != ORR_REQ_ATOMIC) {
        if (w->wants_ack)
            *ORR_PUSH(out) = (orr_reply){.time = t + orr_l2_ack_delay(p->spec, w->far, w->invalidates),
                                         .sm = w->sm,
                                         .token = w->token};
        return;
    }
    uint32_t copy = orr_l2_new_waiter(p);
    p->waiters.at[copy] = *w;
    t += p->spec->atomic.latency + (w->invalidates ? 2 * p->spec->halves.latency : 0);
    orr_l2_event_push(
        p, (orr_l2_event){.time = t, .at = copy, .kind = ORR_L2_EV_REPLY, .slice = (uint16_t)slice});
}

// The sectors of an atomic are here.
void orr_l2_atomic(orr_l2 *p, uint32_t slice, uint64_t t, const orr_l2_waiter *w, orr_replies *out) {
    start_atomic(p, slice, max(t, p->slice[slice].atomics.free), w, out);
}
