// Loads that meet on their way from the SMs of a GPC to L2 (l2.h).
//
// One that comes while another of its line is on its way there or back is answered with it, up to l2.merge of
// them, and L2 does not see it. The place where they meet is l2.merge_time away from L2, there and back: so
// long after an answer has left, a load that reaches L2 would have met it.
#include "memory/l2.h"
#include "memory/memory.h"

#define NEVER UINT64_MAX

static uint16_t gpc_of(const orr_l2 *p, uint32_t sm) { return (uint16_t)orr_gpc_of_sm(sm, p->c->gpcs); }

static orr_l2_met *met_at(orr_l2_slice *s, uint64_t line, uint16_t gpc) {
    return &s->met[(line * 0x9e3779b97f4a7c15u >> 52 ^ gpc) % ORR_L2_MEETING];
}

// A load that L2 looks up: others may meet it.
void orr_l2_may_meet(orr_l2 *p, orr_l2_slice *s, const orr_request *r) {
    uint16_t gpc = gpc_of(p, r->sm);
    *met_at(s, r->line, gpc) =
        (orr_l2_met){.line = r->line, .reply = NEVER, .gpc = gpc, .n = 1, .sectors = r->sectors};
}

void orr_l2_answered_at(orr_l2 *p, orr_l2_slice *s, const orr_l2_waiter *w, uint64_t t) {
    uint16_t gpc = gpc_of(p, w->sm);
    orr_l2_met *e = met_at(s, w->line, gpc);
    if (e->line == w->line && e->gpc == gpc && e->reply == NEVER) e->reply = t;
}

// A load that has met another of its line. False: it has not.
bool orr_l2_join(orr_l2 *p, uint32_t slice, const orr_request *r, uint64_t t, orr_replies *out) {
    if (r->kind != ORR_REQ_READ || r->far) return false;
    orr_l2_slice *s = &p->slice[slice];
    uint16_t gpc = gpc_of(p, r->sm);
    orr_l2_met *e = met_at(s, r->line, gpc);
    if (!e->n || e->line != r->line || e->gpc != gpc || r->sectors != e->sectors || e->n >= p->c->merge)
        return false;
    uint64_t reply = e->reply;
    if (reply == NEVER) { // it waits for the same sectors
        uint32_t i = orr_cache_find(&s->cache, r->line);
        if (i == ORR_NO_LINE) return false; // a copy that is not kept
        const orr_cache_line *l = &s->cache.line[i];
        uint8_t needs = r->sectors & ~l->valid;
        if (needs & ~l->pending) return false;
        if (needs) {
            orr_l2_waiter w = {.sm = r->sm,
                               .token = r->token,
                               .sectors = r->sectors,
                               .kind = r->kind,
                               .line = r->line,
                               .needs = needs,
                               .joined = true};
            orr_l2_wait_for(p, &p->misses.at[l->user], &w);
        }
        reply = needs ? NEVER : t;
    } else if (r->time > reply + p->c->merge_time || (r->sectors != 15 && r->line != s->last)) {
        return false;
    }
    e->n++;
    p->stats.joined += (uint64_t)orr_popc(r->sectors);
    if (reply != NEVER)
        *ORR_PUSH(out) = (orr_reply){.time = reply > t ? reply : t,
                                     .sm = r->sm,
                                     .token = r->token,
                                     .sectors = r->sectors,
                                     .hit = true,
                                     .joined = true};
    return true;
}
