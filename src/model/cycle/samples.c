// What happened over time: a launch's counters in up to MAX_SAMPLES stretches of the same length. When it
// lasts longer, two and two become one.
#include "model/cycle/window.h"

static void add_sample(orr_sample *to, const orr_sample *more, const orr_sample *less) {
    uint64_t *t = (uint64_t *)(void *)to;
    const uint64_t *a = (const uint64_t *)(const void *)more, *b = (const uint64_t *)(const void *)less;
    for (size_t k = 0; k < sizeof *to / sizeof *t; k++) t[k] += a[k] - b[k];
}

static void halve_samples(run *r) {
    static const orr_sample none;
    for (uint32_t n = 0; n < r->nsamples; n++) {
        orr_sample s = r->samples[n];
        r->samples[n] = none;
        add_sample(&r->samples[n / 2], &s, &none);
    }
    r->nsamples = (r->nsamples + 1) / 2;
    r->sample_cycles *= 2;
}

// Block cycles of an SM up to `until`: of blocks that have ended, and of those that run.
static uint64_t block_cycles(const sm *s, uint64_t until) {
    uint64_t n = s->tb.block_cycles;
    for (uint32_t b = 0; b < s->tb.n; b++)
        if (s->tb.slot[b].buf && until > s->tb.slot[b].start) n += until - s->tb.slot[b].start;
    return n;
}

// What some of the SMs and partitions have done so far; each host thread looks at its share of them, which it
// has simulated, more or less.
static void sum_share(void *arg, int worker, uint32_t k) {
    engine *x = arg;
    const cycle *c = x->c;
    (void)worker;
    orr_sample now = {0};
    engine_share sms = cyc_share_of(x, k, c->nsms);
    for (uint32_t n = sms.first; n < sms.first + sms.n; n++) {
        const sm *s = &c->sms[n];
        if (s->unused) continue;
        for (int i = 0; i < ORR_STALLS; i++) now.stalls[i] += s->stalls[i];
        now.insts += s->n.issued;
        for (int i = 0; i < ORR_L1_KINDS; i++)
            now.l1_sectors += s->l1.n.sectors[0][i] + s->l1.n.sectors[1][i];
        now.blocks += block_cycles(s, x->until);
    }
    engine_share parts = cyc_share_of(x, k, c->perfect ? 0 : (uint32_t)orr_memsys_partitions(c->mem));
    for (uint32_t p = parts.first; p < parts.first + parts.n; p++)
        orr_memsys_sectors(c->mem, (int)p, &now.l2_sectors, &now.dram_sectors);
    x->counted.share[k] = now;
}

void cyc_sample(engine *x) {
    static const orr_sample none;
    run *r = x->out;
    orr_sample now = {0};
    uint32_t crew = (uint32_t)cyc_crew_size(x->crew);
    cyc_crew_run(x->crew, crew, sum_share, x);
    for (uint32_t k = 0; k < crew; k++) add_sample(&now, &x->counted.share[k], &none);
    for (int k = 0; k < ORR_STALLS; k++) now.warps += now.stalls[k];
    while (x->until / r->sample_cycles >= MAX_SAMPLES) halve_samples(r);
    uint64_t at = (x->until - 1) / r->sample_cycles;
    if (at >= r->nsamples) r->nsamples = (uint32_t)at + 1;
    add_sample(&r->samples[at], &now, &x->counted.last);
    x->counted.last = now;
}

bool cyc_in_same_sample(const engine *x, uint64_t until) {
    uint64_t cycles = x->out->sample_cycles;
    while (until / cycles >= MAX_SAMPLES) cycles *= 2;
    return !x->out->pieces && (x->until - 1) / cycles == (until - 1) / cycles;
}
