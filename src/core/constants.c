// Constants (constants.h).
#include "core/constants.h"

#include <stdlib.h>

#include "memory/memsys.h"

#define LINE  64
#define LINES 4 // of the first cache in one of the second

void constants_spec_read(constants_spec *s, const orr_gpu *g) {
    *s = (constants_spec){.perfect = g->icache_perfect,
                          .size = (uint64_t)g->const_size,
                          .second_size = (uint64_t)g->const_l15_size,
                          .indexed_size = (uint64_t)g->const_indexed_size,
                          .ways = (uint32_t)g->const_ways,
                          .latency = whole_cycles(g->const_latency),
                          .second_latency = whole_cycles(g->const_l15_latency),
                          .cold = g->const_cold,
                          .cold_misses = g->const_cold_misses ? (uint32_t)g->const_cold_misses : UINT32_MAX,
                          .interval = (uint32_t)g->const_interval,
                          .word_latency = (uint32_t)g->const_word_latency,
                          .miss_ticks = (uint64_t)(g->const_miss_interval * (double)ORR_TICKS)};
    s->beyond_latency = whole_cycles((g->l2_flush ? g->dram_latency : g->l2_latency) + g->const_l2_extra);
    s->named_second = s->second_latency > s->latency ? s->second_latency - s->latency : 0;
    s->named_beyond = s->beyond_latency > s->latency ? s->beyond_latency - s->latency : 0;
}

static void cache_init(const_cache *k, uint64_t bytes, uint32_t ways) {
    if (!bytes) return;
    orr_cache_init(&k->tags, bytes, LINE, ways, false, false);
    k->when = orr_calloc((size_t)k->tags.sets * k->tags.ways, sizeof *k->when);
}

static void cache_free(const_cache *k) {
    if (!k->when) return;
    orr_cache_free(&k->tags);
    free(k->when);
}

static void cache_reset(const_cache *k) {
    if (k->when) orr_cache_flush(&k->tags);
}

void constants_init(const_caches *k, const constants_spec *s) {
    *k = (const_caches){.spec = s};
    cache_init(&k->first, s->size, s->ways);
    cache_init(&k->operands, s->indexed_size, 0);
    cache_init(&k->second, s->second_size, 0);
}

void constants_free(const_caches *k) {
    cache_free(&k->first);
    cache_free(&k->operands);
    cache_free(&k->second);
}

void constants_reset(const_caches *k) {
    *k = (const_caches){.spec = k->spec, .first = k->first, .second = k->second, .operands = k->operands};
    cache_reset(&k->first);
    cache_reset(&k->operands);
    cache_reset(&k->second);
}

// ---- loads with an address ----------------------------------------------------------------------
// Has the cache the line, or is it on its way there? If not, it is from now on, and the caller says when it
// comes.
static bool found(const_cache *k, uint64_t line, uint64_t **when) {
    orr_cache_line victim;
    uint32_t at = orr_cache_find(&k->tags, line);
    bool there = at != ORR_NO_LINE;
    if (there)
        orr_cache_touch(&k->tags, at);
    else
        at = orr_cache_take(&k->tags, line, &victim, NULL);
    *when = &k->when[at];
    return there;
}

// When a line that the first cache misses at `now` is there: `near` cycles later from the second cache,
// `beyond` where that misses it too. Four lines come to the second cache at once.
static uint64_t from_second(const_caches *k, uint64_t line, uint64_t now, uint64_t near, uint64_t beyond) {
    uint64_t *when;
    if (k->spec->second_size && found(&k->second, line, &when)) return latest(now + near, *when);
    k->n.second_misses++;
    for (uint64_t with = line / LINES * LINES, i = 0; k->spec->second_size && i < LINES; i++) {
        found(&k->second, with + i, &when);
        *when = now + beyond;
    }
    return now + beyond;
}

constants_answer constants_lookup(const_caches *k, const orr_access *a, uint64_t now) {
    const constants_spec *s = k->spec;
    constants_answer r = {.latency = s->latency};
    uint64_t seen = UINT64_MAX, before = k->n.second_misses;
    if (s->perfect || !s->size) return r;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t line = a->addr[orr_ffs(m)] / LINE, *when;
        if (line == seen) continue;
        seen = line;
        if (!found(&k->first, line, &when)) {
            *when = from_second(k, line, now, s->second_latency, s->beyond_latency);
            r.misses++;
        }
        if (*when > now + r.latency) r.latency = *when - now;
    }
    k->n.misses += r.misses;
    r.second_misses = (uint32_t)(k->n.second_misses - before);
    return r;
}

uint64_t constants_indexed(const_caches *k, const orr_access *a, uint64_t now) {
    const constants_spec *s = k->spec;
    if (s->perfect || !s->indexed_size || !s->cold || !a->mask) return now;
    uint64_t line = a->addr[orr_ffs(a->mask)] / LINE, *when;
    if (!found(&k->operands, line, &when))
        *when = from_second(k, line, now, s->named_second, s->named_beyond);
    return latest(now, *when);
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
    constants_answer r = a->mask ? constants_lookup(k, a, *start) : (constants_answer){.latency = s->latency};
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
