// Instruction caches: a small one for each scheduler (L0), one for the SM (L1), then L2.
//
// A warp asks when it enters another line. A line that misses is there after the next level's latency, and
// with it come the lines behind it (icache.prefetch), so that straight code waits once; then it runs as fast
// as lines follow each other (icache.l1_interval, icache.l2_interval). Code is the same for all SMs and
// small, so the way to L2 is no traffic.
//
// With icache.warm code that ran before is in the SM's cache (engine.c), or rather comes there in order when
// a kernel starts: the first line launch.first_line after it was asked for, the others launch.line_pace after
// each other, unless one is asked for that much earlier that memory has it sooner.
//
// A jump asks for its line when the branch is done. What a scheduler executed last (icache.buffer) it has at
// once; else it takes icache.buffer_latency although the cache has the line. Straight code does not wait.
#include "model/cycle/sm.h"

// When a line comes that could be there at `t`: those fetched ahead one after the other, one that a warp
// waits for goes before them.
static uint64_t in_line(uint64_t t, uint64_t *last, uint64_t interval, bool asked) {
    if (!asked && t < *last + interval) t = *last + interval;
    if (t > *last) *last = t;
    return t;
}

// When warm code is in the SM's cache: lines are counted from 1.
static uint64_t coming(sm *s, uint64_t line, uint64_t now) {
    const cycle *c = s->c;
    if (!s->code_from) s->code_from = now + c->first_line + s->late_code + 1;
    uint64_t t = s->code_from - 1 + (uint64_t)((double)(line - 1) * c->gpu->launch_line_pace);
    if (t > now + c->fetch_memory) t = now + c->fetch_memory;
    return t > now ? t : now;
}

// When `line` is in the SM's cache.
static uint64_t in_l1(sm *s, uint64_t line, uint64_t now, bool asked) {
    cycle *c = s->c;
    if (c->code_warm) return coming(s, line, now);
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
        uint64_t t = in_l1(s, line, now, asked) + c->fetch_latency + s->code_wait;
        if (!q->l0_last && !c->code_warm) t += s->late_code;
        q->l0_when[at] = in_line(t, &q->l0_last, s->line_interval, asked);
        s->n.icache_l0_miss += asked;
    }
    return q->l0_when[at];
}

// Is it one of the lines that the scheduler executed last? Now it is.
static bool lately(const cycle *c, sched *q, uint32_t line) {
    uint32_t n = (uint32_t)c->gpu->icache_buffer;
    for (uint32_t i = 0; i < n; i++)
        if (q->lines[i] == line) return true;
    q->lines[q->lines_next] = line;
    q->lines_next = q->lines_next + 1 == n ? 0 : q->lines_next + 1;
    return false;
}

uint64_t cyc_fetch_when(sm *s, warp *w, uint32_t pc, uint64_t now) {
    cycle *c = s->c;
    uint64_t line = pc / (uint64_t)c->gpu->icache_line + 1;
    if (w->fetched == line) return 0;
    sched *q = &s->sched[w->sched];
    uint64_t wait = 0;
    if (c->gpu->icache_buffer) {
        bool jumps = w->fetched && w->fetched + 1 != line, has = lately(c, q, (uint32_t)line);
        if (jumps && w->front > now && w->front != NEVER) now = w->front;
        if (jumps && !has) wait = now + c->buffer_latency;
    }
    w->fetched = line;
    s->n.icache_fetches++;
    uint64_t t = in_l0(s, q, line, now, true), ahead = (uint64_t)c->gpu->icache_prefetch;
    // A line that was there had those behind it fetched before, but for the last.
    for (uint64_t n = t > now || !ahead ? 1 : ahead; n <= ahead && line + n <= c->code_lines; n++)
        in_l0(s, q, line + n, now, false);
    if (!c->code_warm)
        for (uint64_t n = ahead + 1; n <= (uint64_t)c->gpu->icache_l1_prefetch && line + n <= c->code_lines;
             n++)
            in_l1(s, line + n, now, false);
    return t > wait ? t : wait;
}
