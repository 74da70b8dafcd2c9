// Constants: a small cache next to the pipes and one behind it, then L2 (or memory, when L2 is flushed).
//
// The first has lines of 64 bytes, the second of 256, four of those (Jia et al. 2018). Loads have addresses
// and look in both. What an instruction names without an address, parameters above all, is known before it
// runs: with const.cold the first one on an SM that names a line waits for it, an operand in one cache, LDC
// in another, and all others find it there.
#include "model/cycle/constants.h"

#include "model/cycle/sm.h"

#define LINE  64
#define LINES 4 // of the first cache in one of the second

void cyc_constants_init(const_caches *k, const orr_gpu *g) {
    if (g->const_size)
        orr_cache_init(&k->first, (uint64_t)g->const_size, LINE, (uint32_t)g->const_ways, false, false);
    if (g->const_l15_size) orr_cache_init(&k->second, (uint64_t)g->const_l15_size, LINE, 0, false, false);
}

void cyc_constants_free(const_caches *k, const orr_gpu *g) {
    if (g->const_size) orr_cache_free(&k->first);
    if (g->const_l15_size) orr_cache_free(&k->second);
}

void cyc_constants_flush(const_caches *k, const orr_gpu *g) {
    if (g->const_size) orr_cache_flush(&k->first);
    if (g->const_l15_size) orr_cache_flush(&k->second);
}

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

uint64_t cyc_constants_load(const_caches *k, const cycle *c, const orr_access *a, orr_sm_counts *n,
                            uint32_t *missed) {
    const orr_gpu *g = c->gpu;
    uint64_t latency = c->const_latency, seen = UINT64_MAX;
    *missed = 0;
    if (g->icache_perfect || !g->const_size) return latency;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t line = a->addr[orr_ffs(m)] / LINE, more = c->const2_latency;
        if (line == seen) continue;
        seen = line;
        if (found(&k->first, line)) continue;
        ++*missed;
        if (!g->const_l15_size || !found(&k->second, line)) {
            n->const_miss2++;
            more = c->const_far;
            for (uint64_t with = line / LINES * LINES, i = 0; g->const_l15_size && i < LINES; i++)
                found(&k->second, with + i);
        }
        if (more > latency) latency = more;
    }
    n->const_miss += *missed;
    return latency;
}

// Of banks other than the parameters' what is in the same line of the second cache as one that was asked for.
static bool is_near(const sm *s, uint32_t n) {
    const orr_program *p = s->c->program;
    uint32_t line = p->constants[n] - 1;
    bool near = is_parameter(p, n);
    for (uint32_t m = 0; m < p->nconstants && !near; m++)
        near = (s->operand_when[m] || s->load_when[m]) && (p->constants[m] - 1) / LINES == line / LINES;
    return near;
}

uint64_t cyc_constant_when(sm *s, const orr_tinst *i, uint64_t now) {
    const cycle *c = s->c;
    uint64_t *when = &(i->tclass == ORR_TC_CONST ? s->load_when : s->operand_when)[i->constant - 1];
    if (!*when)
        *when = now + s->late_constants + (is_near(s, i->constant - 1) ? c->named_near : c->named_far);
    return *when;
}
