// Instruction caches: a small one for each scheduler (L0), one for the SM (L1), then L2.
//
// A warp asks when it enters another line. A line that misses is there after the next level's latency, and
// with it come the lines behind it (icache.prefetch), so that straight code waits once; then it runs as fast
// as lines follow each other (icache.l1_interval, icache.l2_interval). Code is the same for all SMs and
// small, so the way to L2 is no traffic. With icache.warm code that ran before
// is in the SM's cache (engine.c).
#include "model/cycle/sm.h"

// When a line comes that could be there at `t`: those fetched ahead one after the other, one that a warp
// waits for goes before them.
static uint64_t in_line(uint64_t t, uint64_t *last, uint64_t interval, bool asked) {
    if (!asked && t < *last + interval) t = *last + interval;
    if (t > *last) *last = t;
    return t;
}

// When `line` is in the SM's cache.
static uint64_t in_l1(sm *s, uint64_t line, uint64_t now, bool asked) {
    cycle *c = s->c;
    if (c->code_warm) return now;
    uint32_t at = orr_cache_find(&s->l1i, line);
    if (at == ORR_NO_LINE) {
        orr_cache_line victim;
        at = orr_cache_take(&s->l1i, line, &victim, NULL);
        s->l1i_when[at] = in_line(now + c->fetch_far, &s->l1i_last, c->line_interval2, asked);
        s->n.icache_l1_miss += asked;
    }
    orr_cache_touch(&s->l1i, at);
    return s->l1i_when[at] > now ? s->l1i_when[at] : now;
}

static uint64_t in_l0(sm *s, sched *q, uint64_t line, uint64_t now, bool asked) {
    cycle *c = s->c;
    if (!c->gpu->icache_l0) {
        uint64_t t = in_l1(s, line, now, asked);
        return t > now ? t + c->fetch_latency : now;
    }
    uint32_t at = (uint32_t)line - 1;
    bool miss;
    if (c->code_fits) { // nothing ever leaves: a place for each line
        miss = !q->l0_when[at];
    } else {
        at = orr_cache_find(&q->l0, line);
        miss = at == ORR_NO_LINE;
        orr_cache_line victim;
        if (miss) at = orr_cache_take(&q->l0, line, &victim, NULL);
        orr_cache_touch(&q->l0, at);
    }
    if (miss) {
        uint64_t t = in_l1(s, line, now, asked) + c->fetch_latency + (q->l0_last ? 0 : s->late_code);
        q->l0_when[at] = in_line(t, &q->l0_last, c->line_interval, asked);
        s->n.icache_l0_miss += asked;
    }
    return q->l0_when[at];
}

uint64_t cyc_fetch_when(sm *s, warp *w, uint32_t pc, uint64_t now) {
    cycle *c = s->c;
    uint64_t line = pc / (uint64_t)c->gpu->icache_line + 1;
    if (w->fetched == line) return 0;
    sched *q = &s->sched[w->sched];
    w->fetched = line;
    s->n.icache_fetches++;
    uint64_t t = in_l0(s, q, line, now, true), ahead = (uint64_t)c->gpu->icache_prefetch;
    // A line that was there had those behind it fetched before, but for the last.
    for (uint64_t n = t > now || !ahead ? 1 : ahead; n <= ahead && line + n <= c->code_lines; n++)
        in_l0(s, q, line + n, now, false);
    return t;
}
