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

void cyc_sample(engine *x) {
    cycle *c = x->c;
    run *r = x->out;
    orr_sample now = {0};
    for (uint32_t n = 0; n < c->nsms; n++) {
        const sm *s = &c->sms[n];
        if (s->unused) continue;
        for (int k = 0; k < ORR_STALLS; k++) now.stalls[k] += s->stalls[k];
        now.insts += s->n.issued;
        for (int k = 0; k < ORR_L1_KINDS; k++)
            now.l1_sectors += s->l1.n.sectors[0][k] + s->l1.n.sectors[1][k];
        now.blocks += block_cycles(s, x->until);
    }
    for (int k = 0; k < ORR_STALLS; k++) now.warps += now.stalls[k];
    if (!c->perfect) orr_memsys_sectors(c->mem, &now.l2_sectors, &now.dram_sectors);
    while (x->until / r->sample_cycles >= MAX_SAMPLES) halve_samples(r);
    uint64_t at = (x->until - 1) / r->sample_cycles;
    if (at >= r->nsamples) r->nsamples = (uint32_t)at + 1;
    add_sample(&r->samples[at], &now, &x->last);
    x->last = now;
}

bool cyc_in_same_sample(const engine *x, uint64_t until) {
    uint64_t cycles = x->out->sample_cycles;
    while (until / cycles >= MAX_SAMPLES) cycles *= 2;
    return !x->out->pieces && (x->until - 1) / cycles == (until - 1) / cycles;
}
