// Accesses that other threads may observe (core/observed.h): what the rule of who waits for whom (order.c)
// has planned for them when their thread block was handed out.
#include "model/cycle/order.h"

bool cyc_observe(void *self, uint32_t id, const orr_tinst *i, l1_access *a) {
    sm *s = self;
    const order *rule = s->c->order;
    warp *w = warp_of(s, id);
    observed_access *o = &a->observed;
    *o = (observed_access){.kind = cyc_order_kind(rule, i->inst),
                           .lanes = a->lanes.mask,
                           .warp = (uint16_t)id,
                           .block = w->block,
                           .access = &a->lanes};
    s->port.observed = o->kind ? o : NULL;
    if (!(o->kind & ORDER_WAITS)) return false;
    if (w->poll.block && o->kind == ORDER_WAITS) {
        o->kind |= ORDER_ROUND;
        if (!w->poll.noted) w->poll.need = w->need;
        w->poll.noted = true;
    }
    o->needs = s->tb.slot[w->block].buf->needs + w->need;
    w->need += (uint32_t)orr_popc(a->lanes.mask);
    if (a->load == NOBODY || !cyc_order_over(rule, *o->needs, s->id, id)) return false;
    s->port.observed = NULL;
    return true;
}
