// Fetching instructions (fetch.h).
#include "core/fetch.h"

#include <stdlib.h>
#include <string.h>

void fetch_spec_read(fetch_spec *s, const orr_gpu *g) {
    *s = (fetch_spec){.perfect = g->icache_perfect,
                      .line = (uint32_t)g->icache_line,
                      .l0_size = (uint64_t)g->icache_l0,
                      .l1_size = (uint64_t)g->icache_l1,
                      .flushed = g->l2_flush,
                      .latency = whole_cycles(g->icache_l1_latency),
                      .l2_latency =
                          whole_cycles(g->icache_l2_latency > 0 ? g->icache_l2_latency : g->l2_latency),
                      .first_line = whole_cycles(g->launch_code_latency),
                      .l0_interval = whole_cycles(g->icache_l1_interval),
                      .l1_interval = whole_cycles(g->icache_l2_interval),
                      .prefetch = (uint64_t)g->icache_prefetch,
                      .l1_prefetch = (uint64_t)g->icache_l1_prefetch};
    if (!(s->line & (s->line - 1))) s->shift = (uint32_t)orr_ffs(s->line);
    s->memory_latency = s->l2_latency + whole_cycles(g->dram_latency);
}

static size_t places(const orr_cache *c) { return (size_t)c->sets * c->ways; }

void fetch_init(fetch_unit *f, const fetch_spec *s, const fetch_code *code, uint32_t nsched) {
    *f = (fetch_unit){.spec = s, .code = code, .nsched = nsched};
    if (s->perfect) return;
    f->l0 = orr_calloc(nsched, sizeof *f->l0);
    for (uint32_t n = 0; n < nsched && s->l0_size; n++) {
        orr_cache_init(&f->l0[n].tags, s->l0_size, s->line, 0, false, false);
        f->l0[n].when = orr_calloc(places(&f->l0[n].tags), sizeof *f->l0[n].when);
    }
    orr_cache_init(&f->l1, s->l1_size ? s->l1_size : s->line, s->line, 0, false, false);
    f->l1_when = orr_calloc(places(&f->l1), sizeof *f->l1_when);
}

void fetch_free(fetch_unit *f) {
    for (uint32_t n = 0; f->l0 && n < f->nsched; n++) {
        if (f->l0[n].when) orr_cache_free(&f->l0[n].tags);
        free(f->l0[n].when);
    }
    free(f->l0);
    if (f->l1_when) orr_cache_free(&f->l1);
    free(f->l1_when);
}

static void reset_l0(fetch_l0 *q) {
    *q = (fetch_l0){.tags = q->tags, .when = q->when};
    if (!q->when) return;
    orr_cache_flush(&q->tags);
    memset(q->when, 0, places(&q->tags) * sizeof *q->when);
}

void fetch_reset(fetch_unit *f) {
    *f = (fetch_unit){.spec = f->spec,
                      .code = f->code,
                      .nsched = f->nsched,
                      .l0 = f->l0,
                      .l1 = f->l1,
                      .l1_when = f->l1_when};
    for (uint32_t n = 0; f->l0 && n < f->nsched; n++) reset_l0(&f->l0[n]);
    if (f->l1_when) orr_cache_flush(&f->l1);
}

// When a line comes that could be there at `t`: prefetched ones come one after the other, one that a warp
// waits for passes them.
static uint64_t in_line(uint64_t t, uint64_t *last, uint64_t interval, bool demand) {
    if (!demand && t < *last + interval) t = *last + interval;
    if (t > *last) *last = t;
    return t;
}

// When warm code is in the SM's cache.
static uint64_t warm_line(fetch_unit *f, uint64_t now) {
    if (!f->warm_from) f->warm_from = now + f->spec->first_line + f->delays.first + 1;
    return f->warm_from - 1 > now ? f->warm_from - 1 : now;
}

// When a line that the SM's cache lacks is there.
static uint64_t from_l2(fetch_unit *f, uint64_t line, uint64_t now, bool demand) {
    uint64_t *seen = &f->seen[line % FETCH_SEEN / 64], bit = 1ull << line % 64;
    bool first = !(*seen & bit);
    *seen |= bit;
    if (first && line <= f->code->warm) return warm_line(f, now);
    f->n.cold += first;
    f->n.l1_misses += demand;
    now += first && f->spec->flushed ? f->spec->memory_latency : f->spec->l2_latency;
    return in_line(now, &f->l1_last, f->spec->l1_interval, demand);
}

// When `line` is in the SM's cache.
static uint64_t in_l1(fetch_unit *f, uint64_t line, uint64_t now, bool demand) {
    if (f->code->lines <= f->code->warm) return warm_line(f, now);
    uint32_t at = orr_cache_find(&f->l1, line);
    if (at == ORR_NO_LINE) {
        orr_cache_line victim;
        at = orr_cache_take(&f->l1, line, &victim, NULL);
        f->l1_when[at] = from_l2(f, line, now, demand);
    }
    orr_cache_touch(&f->l1, at);
    return f->l1_when[at] > now ? f->l1_when[at] : now;
}

static uint64_t in_l0(fetch_unit *f, fetch_l0 *q, uint64_t line, uint64_t now, bool demand) {
    if (!f->spec->l0_size) {
        uint64_t t = in_l1(f, line, now, demand);
        return t > now ? t + f->spec->latency : now;
    }
    uint32_t at = (uint32_t)line - 1;
    bool miss;
    if (f->code->fits) { // nothing is ever evicted: a place for each line
        miss = !q->when[at];
    } else {
        at = orr_cache_find(&q->tags, line);
        miss = at == ORR_NO_LINE;
        orr_cache_line victim;
        if (miss) at = orr_cache_take(&q->tags, line, &victim, NULL);
        orr_cache_touch(&q->tags, at);
    }
    if (miss) {
        uint64_t t = in_l1(f, line, now, demand) + f->spec->latency + f->delays.each;
        if (!q->last && line > f->code->warm) t += f->delays.first;
        q->when[at] = in_line(t, &q->last, f->delays.interval, demand);
        f->n.l0_misses += demand;
    }
    return q->when[at];
}

uint64_t fetch_enter_line(fetch_unit *f, uint32_t sched, uint64_t *last, uint64_t line, uint64_t now) {
    const fetch_spec *s = f->spec;
    fetch_l0 *q = &f->l0[sched];
    *last = line;
    f->n.fetches++;
    uint64_t t = in_l0(f, q, line, now, true), ahead = s->prefetch, lines = f->code->lines;
    // A line that was there had those behind it fetched before, but for the last.
    for (uint64_t n = t > now || !ahead ? 1 : ahead; n <= ahead && line + n <= lines; n++)
        in_l0(f, q, line + n, now, false);
    for (uint64_t n = ahead + 1; lines > f->code->warm && n <= s->l1_prefetch && line + n <= lines; n++)
        in_l1(f, line + n, now, false);
    return t;
}
