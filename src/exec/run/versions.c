// What a look at memory found, in terms a model understands: how many writes had been made before it.
//
// A stream says which addresses a warp touched, not which values it saw. Where thread blocks wait for each
// other that is too little. Here they run in turns, in a model side by side, and a block that looks at a flag
// must not see there what nobody has written yet. So each ordered look (orr_inst_order) carries the number of
// ordered writes to its word until then, lane by lane, whoever made them: its version. A model holds the look
// back until as many have happened. That cannot hang: in the order in which things happened here they can
// happen there, as long as the same thread blocks are resident.
//
// That goes for kernels with loops that only look (spin.c), and for the looks of these loops. Who looks once
// does not wait, whatever it finds: its version is 0. Neither does who takes a lock with a compare and swap
// or an exchange wait for anybody in particular; these have none. Additions and the like that return what
// was there have one, for those who count and go on as the last.
//
// Blocks that see each other run on one worker (run/grid.c), so counting needs no locks. A block of code is
// run as a whole before its accesses are counted; then they are in the trace, and are written again with the
// versions.
#include <stdlib.h>
#include <string.h>

#include "exec/block.h"
#include "stream/trace.h"

#define MAX_WORDS (1u << 22) // that are counted; others stay at 0

typedef struct count {
    uint64_t word; // + 1; 0: free
    uint32_t n;
} count;

struct versions {
    count *counts; // hashed, open addressing
    uint32_t cap, used;
    uint8_t *events; // of the block at hand, as they were
    size_t events_cap;
};

versions *orr_versions_new(const decoded *p) {
    for (uint32_t b = 0; b < p->kernel->nblocks; b++)
        if (p->blocks[b].finds) return orr_calloc(1, sizeof(versions));
    return NULL;
}

void orr_versions_free(versions *v) {
    if (!v) return;
    free(v->counts);
    free(v->events);
    free(v);
}

bool orr_versions_in(const orr_kernel *k, uint32_t block) {
    const orr_block *b = &k->blocks[block];
    for (uint32_t n = b->first; n < b->first + b->count; n++)
        if (orr_inst_order(&k->insts[n])) return true;
    return false;
}

static count *slot(const versions *v, uint64_t word) {
    uint32_t s = (uint32_t)orr_hash64(&word, 8, 0) & (v->cap - 1);
    while (v->counts[s].word && v->counts[s].word != word + 1) s = (s + 1) & (v->cap - 1);
    return &v->counts[s];
}

static uint32_t version_of(const versions *v, uint64_t word) { return v->cap ? slot(v, word)->n : 0; }

static void written(versions *v, uint64_t word) {
    if (v->used * 2 >= v->cap && v->cap < MAX_WORDS) {
        count *old = v->counts;
        uint32_t n = v->cap;
        v->cap = n ? n * 2 : 1024;
        v->counts = orr_calloc(v->cap, sizeof *v->counts);
        for (uint32_t i = 0; i < n; i++)
            if (old[i].word) *slot(v, old[i].word - 1) = old[i];
        free(old);
    }
    count *c = slot(v, word);
    if (!c->word && v->used * 2 >= v->cap) return;
    v->used += !c->word;
    c->word = word + 1;
    c->n++;
}

// The accesses of a block of code that has just been run, whose events begin at byte `from` of the trace.
void orr_versions_note(versions *v, orr_trace_out *out, const decoded *p, uint32_t block, size_t from) {
    const orr_kernel *k = p->kernel;
    size_t bytes = out->n - from;
    if (bytes > v->events_cap) v->events = orr_realloc(v->events, v->events_cap = 2 * bytes);
    if (!bytes) return;
    memcpy(v->events, out->bytes + from, bytes);
    orr_trace t = {v->events, v->events + bytes, out->mask};
    out->n = from;
    for (uint32_t n = k->blocks[block].first; t.at < t.end; n++) {
        const orr_inst *i = &k->insts[n];
        if (!orr_inst_traced(i)) continue;
        orr_access a;
        if (!orr_trace_access(&t, &a)) return; // it was written a moment ago
        uint8_t kind = orr_inst_order(i);
        bool counts = kind == ORR_ORDER_WRITES && i->op == ORR_OP_ATOM;
        bool looks = counts || (kind == ORR_ORDER_WAITS && i->op == ORR_OP_LD);
        a.versioned |= looks; // waits for an mbarrier have theirs (arrive.c)
        for (uint32_t m = a.mask; m && looks; m &= m - 1)
            a.version[orr_ffs(m)] =
                counts || p->blocks[block].finds ? version_of(v, a.addr[orr_ffs(m)] / 4) : 0;
        for (uint32_t m = a.mask; m && kind & ORR_ORDER_WRITES; m &= m - 1)
            written(v, a.addr[orr_ffs(m)] / 4);
        orr_trace_put_as_read(out, a.mask, &a);
    }
}
