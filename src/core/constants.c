// Constants (constants.h).
#include "core/constants.h"

#include "memory/memsys.h"

#define LINE  64
#define LINES 4 // of the first cache in one of the second

void constants_spec_read(constants_spec *s, const orr_gpu *g) {
    *s = (constants_spec){.perfect = g->icache_perfect,
                          .size = (uint64_t)g->const_size,
                          .second_size = (uint64_t)g->const_l15_size,
                          .ways = (uint32_t)g->const_ways,
                          .latency = whole_cycles(g->const_latency),
                          .second_latency = whole_cycles(g->const_l15_latency),
                          .cold = g->const_cold,
                          .interval = (uint32_t)g->const_interval,
                          .word_latency = (uint32_t)g->const_word_latency,
                          .miss_ticks = (uint64_t)(g->const_miss_interval * (double)ORR_TICKS)};
    s->beyond_latency = whole_cycles((g->l2_flush ? g->dram_latency : g->l2_latency) + g->const_beyond);
    s->named_second = s->second_latency > s->latency ? s->second_latency - s->latency : 0;
    s->named_beyond = s->beyond_latency > s->latency ? s->beyond_latency - s->latency : 0;
}

void constants_init(const_caches *k, const constants_spec *s) {
    *k = (const_caches){.spec = s};
    if (s->size) orr_cache_init(&k->first, s->size, LINE, s->ways, false, false);
    if (s->second_size) orr_cache_init(&k->second, s->second_size, LINE, 0, false, false);
}

void constants_free(const_caches *k) {
    if (k->spec->size) orr_cache_free(&k->first);
    if (k->spec->second_size) orr_cache_free(&k->second);
}

void constants_reset(const_caches *k) {
    *k = (const_caches){.spec = k->spec, .first = k->first, .second = k->second};
    if (k->spec->size) orr_cache_flush(&k->first);
    if (k->spec->second_size) orr_cache_flush(&k->second);
}

// ---- loads with an address ----------------------------------------------------------------------
// Is it there? If not, it is from now on.
static bool found(orr_cache *k, uint64_t line) {
    orr_cache_line victim;
    uint32_t at = orr_cache_find(k, line);
    if (at != ORR_NO_LINE)
        orr_cache_touch(k, at);
    else
        orr_cache_take(k, line, &victim, NULL);
    return at != ORR_NO_LINE;
}

constants_answer constants_lookup(const_caches *k, const orr_access *a) {
    const constants_spec *s = k->spec;
    constants_answer r = {.latency = s->latency};
    uint64_t seen = UINT64_MAX;
    if (s->perfect || !s->size) return r;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t line = a->addr[orr_ffs(m)] / LINE, more = s->second_latency;
        if (line == seen) continue;
        seen = line;
        if (found(&k->first, line)) continue;
        r.misses++;
        if (!s->second_size || !found(&k->second, line)) {
            r.second_misses++;
            more = s->beyond_latency;
            for (uint64_t with = line / LINES * LINES, i = 0; s->second_size && i < LINES; i++)
                found(&k->second, with + i);
        }
        if (more > r.latency) r.latency = more;
    }
    k->n.misses += r.misses;
    k->n.second_misses += r.second_misses;
    return r;
}

uint32_t constants_words(const orr_access *a, uint32_t bytes) {
    uint64_t words[32];
    uint32_t n = 0;
    bytes = bytes > 4 ? bytes : 4;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t word = a->addr[orr_ffs(m)] / bytes;
        uint32_t k = 0;
        while (k < n && words[k] != word) k++;
        if (k == n) words[n++] = word;
    }
    return n ? n : 1;
}

uint64_t constants_load(const_caches *k, const orr_access *a, uint32_t bytes, uint64_t at, uint64_t *start) {
    const constants_spec *s = k->spec;
    uint32_t words = constants_words(a, bytes);
    uint64_t miss = s->miss_ticks;
    k->n.requests += words;
    *start = latest(at, k->free);
    constants_answer r = a->mask ? constants_lookup(k, a) : (constants_answer){.latency = s->latency};
    k->free = *start + words * s->interval + r.misses * miss / ORR_TICKS;
    uint32_t more = s->word_latency > s->interval ? s->word_latency : s->interval; // for each further word
    return k->free - words * s->interval - (r.misses ? miss / ORR_TICKS : 0) + (words - 1) * more + r.latency;
}

// ---- constants that instructions name -----------------------------------------------------------
// Of banks other than the parameters' what is in the same line of the second cache as one that was asked
// for.
static bool in_second(const const_caches *k, const orr_program *p, uint32_t n) {
    uint32_t line = p->constants[n] - 1;
    bool near = constants_is_parameter(p, n);
    for (uint32_t m = 0; m < p->nconstants && !near; m++)
        near = (k->operand_when[m] || k->load_when[m]) && (p->constants[m] - 1) / LINES == line / LINES;
    return near;
}

uint64_t constants_named(const_caches *k, const orr_program *p, const orr_tinst *i, uint64_t now) {
    uint32_t line = i->constant - 1u;
    uint64_t *when = &(i->tclass == ORR_TC_CONST ? k->load_when : k->operand_when)[line];
    if (!*when)
        *when = now + k->late + (in_second(k, p, line) ? k->spec->named_second : k->spec->named_beyond);
    return *when;
}
