// Warps that do the same are simulated as one.
//
// Most warps of a thread block run the same code blocks with the same lanes, and touch memory in the same
// way at other places: their traces are the same but for the addresses. Such warps are a batch: the first of
// them is simulated, the others follow. Each takes its share of schedulers, units and memory, and has its own
// addresses looked up; but it is decided once when they go on. Of those that follow the last one counts: how
// far it is behind (awarp.skew) grows with what they wait for their schedulers and for memory beyond what the
// first one did, and a barrier ends it.
//
// To find them, a trace is compared with a form: the bytes of one that was taken to pieces before, and a mask
// that leaves out addresses. Where forms are hardly ever found again they are looked for only now and then.
#include "model/abstract/abstract.h"

#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"

#define FORM_BYTES (64u << 10) // longer traces have none
#define WIDE       16          // lanes of an access that is looked at
#define NARROW     8           // lines of memory that they may go to
#define FORM_COST  1           // a new form pays when as many warps have it,
#define FORM_GAIN  64          // this is remembered of the past at most,
#define FORM_PAUSE 64          // and so many warps are left alone when it did not pay

bool abt_form_has(const aform *f, orr_warp_trace t) {
    if (f->n != t.n) return false;
    const uint8_t *a = f->bytes, *m = f->mask, *b = t.bytes;
    uint32_t n = f->n, k = 0;
    for (; k + 32 <= n; k += 32) {
        uint64_t x[4], y[4], z[4];
        memcpy(x, a + k, 32);
        memcpy(y, b + k, 32);
        memcpy(z, m + k, 32);
        if (((x[0] ^ y[0]) & z[0]) | ((x[1] ^ y[1]) & z[1]) | ((x[2] ^ y[2]) & z[2]) | ((x[3] ^ y[3]) & z[3]))
            return false;
    }
    uint8_t differ = 0;
    for (; k < n; k++) differ |= (uint8_t)((a[k] ^ b[k]) & m[k]);
    return !differ;
}

// The bytes of an access from p on that may differ: its address; the distances of lanes without a pattern
// when they are few.
static void leave_out(uint8_t *mask, const uint8_t *p, const uint8_t *end, bool all) {
    uint8_t form = *p & 7;
    size_t from = *p & 8 ? 5 : 1, left = (size_t)(end - p);
    if (!form || form > 4 || left < from + 8) return;
    memset(mask + from, 0, 8);
    if (form == 3 && all) memset(mask + from + 8, 0, left - from - 8);
}

// It goes to many lines of memory, or meets itself on the banks of shared memory: what L1 keeps, and who is
// held up, depends much on who goes first, so each goes by itself.
static bool is_wide(const orr_access *a) {
    uint64_t line[NARROW], first = a->addr[orr_ffs(a->mask)];
    uint32_t lines = 0;
    if (first < ORR_GLOBAL_BASE) return orr_bank_conflicts(a, 4, ORR_BANKS_LOAD).passes > 1;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t at = a->addr[orr_ffs(m)] / ORR_LINE;
        uint32_t k = 0;
        while (k < lines && line[k] != at) k++;
        if (k < lines) continue;
        if (lines == NARROW) return true;
        line[lines++] = at;
    }
    return false;
}

static bool take_to_pieces(aform *f, const orr_program *program, orr_warp_trace t) {
    if (t.n > f->cap) {
        f->cap = (uint32_t)t.n * 2;
        f->bytes = orr_realloc(f->bytes, f->cap);
        f->mask = orr_realloc(f->mask, f->cap);
    }
    f->n = 0;
    memcpy(f->bytes, t.bytes, t.n);
    memset(f->mask, 0xff, t.n);
    orr_trace at = orr_trace_open(t);
    uint32_t block, mask;
    bool wide = false, loose = false;
    int more;
    while ((more = orr_trace_block(&at, program->nblocks, &block, &mask)) > 0)
        for (uint32_t k = 0; k < program->blocks[block].naccess; k++) {
            const uint8_t *p = at.at;
            orr_access a;
            if (!orr_trace_access(&at, &a)) return false;
            bool many = orr_popc(a.mask) >= WIDE;
            loose |= !many && (*p & 7) == 3;
            leave_out(f->mask + (p - t.bytes), p, at.at, !many);
            wide |= many && is_wide(&a);
        }
    if (more < 0) return false; // damaged: who reads it will say so
    f->n = (uint32_t)t.n;
    f->wide = wide;
    f->loose = loose;
    return true;
}

// The one to be forgotten next: the first that has not been found since it was looked at last.
static aform *victim(acode *c) {
    aform *f = &c->form[c->next_form++ % FORMS];
    while (f->found) {
        f->found = false;
        f = &c->form[c->next_form++ % FORMS];
    }
    return f;
}

const aform *abt_form_of(acode *c, orr_warp_trace t) {
    for (uint32_t k = 0; k < FORMS; k++) {
        aform *f = &c->form[k];
        if (!f->n || !abt_form_has(f, t)) continue;
        f->found = true;
        if (c->gain >= 0 && c->gain < FORM_GAIN) c->gain++;
        return f->wide ? NULL : f;
    }
    if (c->gain < 0) {
        if (++c->gain == 0) c->gain = FORM_COST;
        return NULL;
    }
    if (!t.n || t.n > FORM_BYTES) return NULL;
    c->gain -= FORM_COST;
    if (c->gain < 0) c->gain = -FORM_PAUSE;
    aform *f = victim(c);
    return take_to_pieces(f, c->program, t) && !f->wide ? f : NULL;
}

const aform *abt_form_any(acode *c, orr_warp_trace t) {
    for (uint32_t k = 0; k < FORMS; k++)
        if (c->form[k].n && abt_form_has(&c->form[k], t)) return &c->form[k];
    if (!t.n || t.n > FORM_BYTES) return NULL;
    aform *f = victim(c);
    return take_to_pieces(f, c->program, t) ? f : NULL;
}

void abt_form_free(acode *c) {
    for (uint32_t k = 0; k < FORMS; k++) {
        free(c->form[k].bytes);
        free(c->form[k].mask);
    }
}

void abt_batch_join(awarp *w, const awarp *other, uint32_t id, orr_warp_trace t) {
    w->batch.id[w->n] = (uint16_t)id;
    w->batch.bytes[w->n++] = t.bytes;
    uint32_t k = 0;
    while (k < w->batch.nparts && w->batch.part[k].sched != other->sched) k++;
    if (k == w->batch.nparts) {
        w->batch.part[w->batch.nparts].n = 0;
        w->batch.part[w->batch.nparts++].sched = other->sched;
    }
    w->batch.part[k].n++;
}
