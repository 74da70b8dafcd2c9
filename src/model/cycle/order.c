// Threads that wait for each other through memory: a flag another block sets, a lock it releases.
//
// Streams say what happened when the kernel was executed, and there nobody waits long: blocks run one after
// the other, and a flag is set when it is looked at. On a GPU they run side by side, and a block that looks
// too early looks again and again. So an access that others may be looking at (volatile, STRONG.GPU, atomic)
// is not answered before what it depends on has happened in simulated time too.
//
// What that is, is counted by words. When a block is handed out (in grid order), each word that it reads in
// order, or compares and swaps, gets the number of ordered writes to it by the blocks before. When requests
// pass from the SMs to the memory, writes are counted again as they happen, and a read that is ahead of its
// number is held back until they have. It then reaches L2 with the first look after the write, looks being as
// far apart as L2 is away. The looks in between are not simulated as instructions.
//
// Only earlier blocks are waited for, and blocks start in grid order, so nobody waits for ever. Additions,
// minima and the like do not wait: their order does not matter to them. A compare-and-swap waits for what
// others have stored or exchanged (so is a lock released), not for those that tried to swap: which of them
// comes first is open. A spin between two warps of one block is not seen.
//
// All of it is done by one host thread, between windows, in a fixed order.
#include "model/cycle/order.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WORDS (1u << 22) // that are followed; others are not waited for

typedef struct place { // a word that somebody writes in order
    uint64_t word;     // + 1; 0: free
    uint32_t planned;  // writes of the blocks handed out so far
    uint32_t done;     // of them, those that have happened
    uint64_t last;     // ticks: the last one
} place;

typedef struct held {
    orr_request r;
    uint32_t first; // of its needs
} held;

struct order {
    const orr_kernel *k;
    place *places; // hashed, open addressing
    uint32_t cap, n;
    ORR_VEC(held) waiting;
    ORR_VEC(orr_need) needs; // of those that wait
};

uint8_t cyc_order_of(const orr_inst *i) {
    uint16_t flags = orr_ops[i->op].flags;
    if (!(flags & ORR_F_MEMORY) || (i->space != ORR_SPACE_GLOBAL && i->space != ORR_SPACE_GENERIC)) return 0;
    if (flags & ORR_F_ATOMIC) {
        if (i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_CAS) return ORDER_WAITS;
        return i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_EXCH ? ORDER_WAITS | ORDER_WRITES : ORDER_WRITES;
    }
    if (!(i->mods & ORR_M_VOLATILE)) return 0;
    return flags & ORR_F_STORE ? ORDER_WRITES : ORDER_WAITS;
}

// From PTX a lock inside a warp is spun on for many looks before another lane gets a turn (exec/core.c); a
// chain of locks would be made of those. So kernels with compare-and-swap are left as they are there.
static bool may_lock(const orr_inst *i) {
    return i->sass == ORR_SASS_NONE && i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_CAS;
}

order *cyc_order_new(const orr_kernel *k) {
    uint8_t any = 0;
    for (uint32_t n = 0; n < k->ninsts; n++) {
        any |= cyc_order_of(&k->insts[n]);
        if (may_lock(&k->insts[n])) return NULL;
    }
    if (any != (ORDER_WAITS | ORDER_WRITES) || k->grows) return NULL;
    order *o = orr_calloc(1, sizeof *o);
    o->k = k;
    return o;
}

void cyc_order_free(order *o) {
    if (!o) return;
    free(o->places);
    free(o->waiting.at);
    free(o->needs.at);
    free(o);
}

// ---- words --------------------------------------------------------------------------------------
static uint32_t slot(const order *o, uint64_t word) {
    uint32_t s = (uint32_t)orr_hash64(&word, 8, 0) & (o->cap - 1);
    while (o->places[s].word && o->places[s].word != word + 1) s = (s + 1) & (o->cap - 1);
    return s;
}

static place *find(const order *o, uint64_t word) {
    if (!o->cap) return NULL;
    place *p = &o->places[slot(o, word)];
    return p->word ? p : NULL;
}

static place *make(order *o, uint64_t word) {
    if (o->n * 2 >= o->cap) {
        if (o->n >= MAX_WORDS) return find(o, word);
        place *old = o->places;
        uint32_t n = o->cap;
        o->cap = n ? n * 2 : 1024;
        o->places = orr_calloc(o->cap, sizeof *o->places);
        for (uint32_t i = 0; i < n; i++)
            if (old[i].word) o->places[slot(o, old[i].word - 1)] = old[i];
        free(old);
    }
    place *p = &o->places[slot(o, word)];
    if (!p->word) {
        p->word = word + 1;
        o->n++;
    }
    return p;
}

// ---- planning -----------------------------------------------------------------------------------
static void plan_needs(const order *o, tbuf *b, const orr_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1) {
        const place *p = find(o, a->addr[orr_ffs(m)] / 4);
        if (b->nneeds == b->needs_cap) {
            b->needs_cap = b->needs_cap ? b->needs_cap * 2 : 256;
            b->needs = orr_realloc(b->needs, b->needs_cap * sizeof *b->needs);
        }
        b->needs[b->nneeds++] = p ? p->planned : 0;
    }
}

static void plan_writes(order *o, const orr_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1) {
        place *p = make(o, a->addr[orr_ffs(m)] / 4);
        if (p) p->planned++;
    }
}

// A block is looked through twice: first what it needs, all of it from earlier blocks, then what it writes.
static void look_through(order *o, tbuf *b, uint8_t kind) {
    const orr_kernel *k = o->k;
    for (uint32_t w = 0; w < b->nwarps; w++) {
        orr_trace t = orr_trace_open(b->warps[w]);
        uint32_t block, mask;
        if (kind == ORDER_WAITS) b->need_at[w] = b->nneeds;
        while (orr_trace_block(&t, k->nblocks, &block, &mask) > 0) {
            const orr_block *x = &k->blocks[block];
            for (uint32_t n = x->first; n < x->first + x->count; n++) {
                if (!orr_inst_traced(&k->insts[n])) continue;
                orr_access a;
                if (!(cyc_order_of(&k->insts[n]) & kind)) {
                    if (!orr_trace_skip(&t)) return; // damaged: the SM will say so
                } else if (!orr_trace_access(&t, &a)) {
                    return;
                } else if (kind == ORDER_WAITS) {
                    plan_needs(o, b, &a);
                } else {
                    plan_writes(o, &a);
                }
            }
        }
    }
}

void cyc_order_plan(order *o, tbuf *b) {
    if (b->planned) return; // it had been handed out before, and was given back
    b->planned = true;
    b->nneeds = 0;
    if (b->nwarps > b->need_at_cap) {
        b->need_at_cap = b->nwarps;
        b->need_at = orr_realloc(b->need_at, b->need_at_cap * sizeof *b->need_at);
    }
    look_through(o, b, ORDER_WAITS);
    look_through(o, b, ORDER_WRITES);
}

// ---- requests -----------------------------------------------------------------------------------
static void count_writes(const order *o, const orr_request *r, const orr_need *need) {
    for (uint32_t n = 0; n < r->norder; n++) {
        place *p = need[n].kind & ORDER_WRITES ? find(o, need[n].word) : NULL;
        if (!p) continue;
        p->done++;
        if (p->last < r->time) p->last = r->time;
    }
}

// May it go on? Then its time is that of the first look after what it waited for.
static bool ready(const order *o, orr_request *r, const orr_need *need, uint64_t apart) {
    uint64_t after = 0;
    for (uint32_t n = 0; n < r->norder; n++) {
        const place *p = find(o, need[n].word);
        if (!p || !need[n].need) continue;
        if (p->done < need[n].need) return false;
        if (p->done == need[n].need && p->last > after) after = p->last;
    }
    if (after > r->time) r->time += (after - r->time + apart - 1) / apart * apart;
    return true;
}

static void hold(order *o, const orr_request *r, const orr_need *need) {
    *ORR_PUSH(&o->waiting) = (held){*r, (uint32_t)o->needs.n};
    for (uint32_t n = 0; n < r->norder; n++) *ORR_PUSH(&o->needs) = need[n];
}

static void send_again(order *o, cycle *c, held *h) {
    count_writes(o, &h->r, o->needs.at + h->first);
    h->r.order = 0;
    *ORR_PUSH(&c->sms[h->r.sm].out) = h->r;
    h->r.norder = 0; // gone
}

// The list without those that are gone.
static void tidy(order *o) {
    size_t n = 0, needs = 0;
    for (size_t i = 0; i < o->waiting.n; i++) {
        held h = o->waiting.at[i];
        if (!h.r.norder) continue;
        memmove(o->needs.at + needs, o->needs.at + h.first, h.r.norder * sizeof *o->needs.at);
        h.first = (uint32_t)needs;
        needs += h.r.norder;
        o->waiting.at[n++] = h;
    }
    o->waiting.n = n;
    o->needs.n = needs;
}

void cyc_order_requests(order *o, cycle *c) {
    uint64_t apart = c->l2_latency * ORR_TICKS;
    for (uint32_t n = 0; n < c->nsms; n++) // what happens anyway
        for (size_t i = 0; i < c->sms[n].out.n; i++) {
            const orr_request *r = &c->sms[n].out.at[i];
            const orr_need *need = c->sms[n].needs.at + (r->order ? r->order - 1 : 0);
            if (r->order && !(need->kind & ORDER_WAITS)) count_writes(o, r, need);
        }
    for (bool again = o->waiting.n != 0; again;) {
        again = false;
        for (size_t i = 0; i < o->waiting.n; i++) {
            held *h = &o->waiting.at[i];
            if (!h->r.norder || !ready(o, &h->r, o->needs.at + h->first, apart)) continue;
            again |= (o->needs.at[h->first].kind & ORDER_WRITES) != 0;
            send_again(o, c, h);
        }
    }
    for (uint32_t n = 0; n < c->nsms; n++) {
        sm *s = &c->sms[n];
        for (size_t i = 0; i < s->out.n; i++) {
            orr_request *r = &s->out.at[i];
            const orr_need *need = s->needs.at + (r->order ? r->order - 1 : 0);
            if (!r->order || !(need->kind & ORDER_WAITS)) continue;
            if (ready(o, r, need, apart)) {
                count_writes(o, r, need);
            } else {
                hold(o, r, need);
                r->partition = UINT32_MAX; // nobody's
            }
        }
        s->needs.n = 0;
    }
    tidy(o);
}

bool cyc_order_release(order *o, cycle *c, uint64_t when) {
    if (!o || !o->waiting.n) return false;
    for (size_t i = 0; i < o->waiting.n; i++) {
        held *h = &o->waiting.at[i];
        if (h->r.time < when) h->r.time = when;
        send_again(o, c, h);
    }
    tidy(o);
    return true;
}
