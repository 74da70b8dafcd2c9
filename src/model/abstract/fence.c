// Fences of an SM in rounds, as the cycle model has them (core/fence.h), for GPUs whose SMs count stores
// (core.fence_merge). A warp that fences goes with the round that is on, or waits for the next one; a round
// waits for the SM's stores, and for slices where the SM has been since the last one, behind the atomics that
// they have to do.
//
// When a round is over is known when it begins, and later for those that join it: nobody has to be woken. Of
// a round that is to come it is known where the SM has been until its first warp comes.
#include "model/abstract/abstract.h"

#include <string.h>

void abt_fences_start(acore *s) {
    const orr_program *p = s->m->code->program;
    s->fences = (sm_fences){.on = false};
    for (uint32_t n = 0; n < p->ninsts && s->m->c->core.port.acknowledges && !s->m->perfect; n++)
        s->fences.on |= p->insts[n].kind == ORR_TK_FENCE && p->insts[n].imm >= 1;
}

void abt_fences_visit(acore *s, const orr_fast_place *p) {
    sm_fences *f = &s->fences;
    uint32_t at = p->unit % VISITED_SLICES;
    if (f->is[at / 64] >> at % 64 & 1) return;
    f->is[at / 64] |= 1ull << at % 64;
    f->place[f->visited++] = *p;
}

// Slices where the SM has been are asked at t: when the last of them has answered.
static uint64_t ask(acore *s, uint64_t t) {
    sm_fences *f = &s->fences;
    const port_spec *port = &s->m->c->core.port;
    uint64_t last = 0;
    for (uint32_t n = 0; n < f->visited; n++)
        last = latest(last, orr_fast_fence(s->m->memory, &f->place[n], t * ORR_TICKS + port->request_ticks));
    f->visited = 0;
    memset(f->is, 0, sizeof f->is);
    return last ? (last + port->reply_ticks) / ORR_TICKS + s->m->c->core.fence.probe : 0;
}

// A warp at t, in a round: it is over then.
static uint64_t join(acore *s, afence_round *r, uint64_t t) {
    const fence_spec *spec = &s->m->c->core.fence;
    uint64_t stored = s->fences.stored;
    r->warps++;
    if (stored > t) r->until = latest(r->until, stored + spec->store);
    if (spec->probes) r->until = latest(r->until, ask(s, t));
    return r->until;
}

static afence_round *begin(acore *s, afence_round *r, uint64_t t) {
    *r = (afence_round){.from = t, .until = t + s->m->c->core.fence.gpu};
    return r;
}

uint64_t abt_fence(acore *s, uint32_t scope, uint64_t now) {
    const fence_spec *spec = &s->m->c->core.fence;
    sm_fences *f = &s->fences;
    uint64_t t = now + (scope >= 3 ? spec->system : spec->gpu) + latest(f->l1_free, now) - now;
    if (f->next.warps && now >= f->next.from) {
        f->last = f->next;
        f->next.warps = 0;
    }
    bool on = now < f->last.until;
    if (!on && f->stored <= now && !f->visited) return t;
    if (on && now <= f->last.from + spec->merge) return latest(t, join(s, &f->last, now));
    if (!on && f->l1_free <= now) return latest(t, join(s, begin(s, &f->last, now), now));
    if (!f->next.warps) {
        uint64_t from = on ? latest(f->last.until, f->l1_free) : f->l1_free;
        begin(s, &f->next, from + (on ? (uint64_t)(spec->invalidate * f->last.warps) : 0));
    }
    return latest(t, join(s, &f->next, f->next.from));
}

// What L1 has of global memory is gone; what is on its way goes to the registers alone.
void abt_fences_invalidate(acore *s, uint64_t now) {
    const fence_spec *spec = &s->m->c->core.fence;
    if (s->m->perfect) return;
    orr_tags_drop(s->lsu.tags);
    if (s->fences.on) s->fences.l1_free = latest(s->fences.l1_free, now) + (uint64_t)spec->invalidate;
}
