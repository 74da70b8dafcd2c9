// Instruction caches, as the cycle model has them (core/fetch.c): one of each scheduler, one of the SM, then
// L2. A line of code that comes brings the constants that its instructions are the first to name: the cycle
// model's warps wait for those one by one, here all at once.
#include "model/abstract/abstract.h"

// When a line comes that could be there at `t`: those fetched ahead one after the other, one that a warp
// waits for goes before them.
static uint64_t in_line(uint64_t t, uint64_t *last, uint64_t interval, bool asked) {
    if (!asked && t < *last + interval) t = *last + interval;
    if (t > *last) *last = t;
    return t;
}

static uint64_t in_l1(acore *s, uint64_t line, uint64_t now, bool asked) {
    if (s->m->fetch.warm) return now;
    uint32_t at = orr_cache_find(&s->fetch.tags, line);
    if (at == ORR_NO_LINE) {
        orr_cache_line victim;
        at = orr_cache_take(&s->fetch.tags, line, &victim, NULL);
        s->fetch.when[at] = in_line(now + s->m->c->core.fetch.l2_latency, &s->fetch.last,
                                    s->m->c->core.fetch.l1_interval, asked);
        s->n.fetch.l1_misses += asked;
    }
    orr_cache_touch(&s->fetch.tags, at);
    // A warp that is simulated later and is earlier would have asked for it itself.
    if (s->fetch.when[at] > now + s->m->c->core.fetch.l2_latency)
        s->fetch.when[at] = now + s->m->c->core.fetch.l2_latency;
    return s->fetch.when[at] > now ? s->fetch.when[at] : now;
}

static uint64_t in_l0(acore *s, asched *q, uint64_t line, uint64_t now, bool asked) {
    const machine *m = s->m;
    if (!m->gpu->icache_l0) {
        uint64_t t = in_l1(s, line, now, asked);
        return t > now ? t + m->c->core.fetch.latency : now;
    }
    uint32_t at = (uint32_t)line - 1;
    bool miss;
    if (m->fetch.fits) {
        miss = !q->l0_when[at];
    } else {
        at = orr_cache_find(&q->l0, line);
        miss = at == ORR_NO_LINE;
        orr_cache_line victim;
        if (miss) at = orr_cache_take(&q->l0, line, &victim, NULL);
        orr_cache_touch(&q->l0, at);
    }
    if (miss) {
        uint64_t t = in_l1(s, line, now, asked) + m->c->core.fetch.latency;
        if (!q->l0_last && m->fetch.warm) t += m->c->core.fetch.first_line;
        q->l0_when[at] = in_line(t, &q->l0_last, m->c->core.fetch.l0_interval, asked);
        if (m->fetch.fits) q->l0_when[at] += m->fetch.named[line - 1];
        s->n.fetch.l0_misses += asked;
    }
    return q->l0_when[at];
}

uint64_t abt_fetch(acore *s, awarp *w, uint64_t line, uint64_t now, bool *there) {
    const machine *m = s->m;
    asched *q = &s->sched[w->sched];
    w->fetched = line;
    s->n.fetch.fetches++;
    uint64_t t = in_l0(s, q, line, now, true), ahead = (uint64_t)m->gpu->icache_prefetch;
    *there &= t <= now;
    for (uint64_t n = t > now || !ahead ? 1 : ahead; n <= ahead && line + n <= m->fetch.lines; n++)
        *there &= in_l0(s, q, line + n, now, false) <= now;
    return t;
}
