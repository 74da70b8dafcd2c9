// Threads that wait for each other through memory: a flag another block sets, a lock it releases, a word that
// others change too.
//
// Streams say what happened when the kernel was executed, and there nobody waits long: blocks run one after
// the other, and a flag is set when it is looked at. On a GPU they run side by side, and a block that looks
// too early looks again and again. So an access that others may be looking at (volatile, STRONG.GPU, atomic)
// is not answered before what it depends on has happened in simulated time too. The looks in between are not
// simulated as instructions; they are as far apart as L2 is away.
//
// Flags are counted by words. A stream of the executor's says of each word that it reads in order, or
// exchanges, or compares and swaps, how many ordered writes to it had been made by then, by whomever
// (exec/run/versions.c). When requests pass from the SMs to the memory, writes are counted as they happen,
// and a read that is ahead of its number is held back until they have. Additions, minima and the like do not
// wait: their order does not matter to them. But who has counted with one, and goes on to write what others
// look at, was the last to come: this one waits for those that came before it.
//
// Streams from elsewhere (a trace, a recording of a GPU) do not say it, and when thread blocks are left out
// it is of no use. Then the number is that of the ordered writes by the blocks before in the grid. Blocks
// start in that order, so nobody waits for ever; but blocks that wait for each other more than once, as at a
// barrier of the whole grid, are put one behind the other by it.
//
// The loop that looks has gone round in the stream, too, as often as its block had its turn before the others
// had written. Where one of these looks comes so late in simulated time that it finds what the last one
// finds, a GPU's warp leaves the loop with it: the looks behind it then cost nothing but their instructions.
//
// Locks and tables that were executed in order of time (exec/run/pace.c), as those of machine code and PTX
// are when no stream is given, have all tries in the stream, those that fail too, and nobody is held back. In
// other streams nobody waits long for a lock, so they have owners. A compare and swap, or an exchange, of a
// word that the same warp writes afterwards takes a lock: it is answered when nobody has it, and the write
// gives it back. Whose turn it is next is decided by who looks first after that, not by the grid. A warp that
// has one and waits long for another goes on, lest two wait for each other. Lanes that take different locks
// with one instruction are held by the grid's order instead: on a GPU each goes on by itself, which their
// stream does not have. A compare and swap that is not in a loop at one place (an entry of a hash table, or
// the next) takes none and waits for nobody.
//
// A loop around a compare and swap that expects what it found last tries again until nobody was faster. Its
// tries that fail are in the stream, too: warps and thread blocks take turns at it when they are executed
// (exec/run/spin.c), so nothing is to be done here.
//
// All of it is done by one host thread, between windows, in a fixed order.
#include "model/cycle/order.h"

#include "model/cycle/look.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WORDS (1u << 20) // that are followed; others are not waited for
#define TAKES     (1u << 31) // of a need: the access takes a lock
#define FAILS     (1u << 30) // the look of a loop that is not its last: the version is what the last one finds
#define AGAIN     (1u << 29) // the look of a loop that is not its first
#define ROUND     (1u << 28) // a look that says itself what it must have seen
#define WALKS     (1u << 27) // of a walk: it waits for the first write, and goes on if that is not what it found
#define VERSION   (WALKS - 1)
#define QUIET     256  // windows without anybody who went on, in which those that wait still keep slices busy
#define STILL     4096 // windows in which nobody does anything but look: then they all find what they look for
#define PATIENCE  64   // looks of a warp that has a lock and waits for another

typedef struct place { // a word that somebody writes in order
    uint64_t word;     // + 1; 0: free
    uint32_t planned;  // writes of the blocks handed out so far
    uint32_t done;     // of them, those that have happened
    uint64_t last[2];  // ticks: when SMs of each half of L2 find the last one
    uint64_t came[2];  // and when the last one of the SMs of each half came
    uint64_t since;    // ticks: the lock is free from then on
    uint32_t owner;    // of the lock: who has it; NOBODY: none
    uint32_t taker,
        taken; // planning: the warp that swapped or exchanged last, + 1, and which of its needs that was
    uint32_t waiters;  // links; NOBODY: none
    bool lock, looked; // somebody waits for it in a loop
} place;

typedef struct held {
    orr_request r;
    uint32_t first; // of its needs
    uint32_t next;  // of the same warp, or free
} held;

typedef struct link { // a warp that waits for a word
    uint32_t who, next;
} link;

typedef struct turn { // a warp that may go on
    uint64_t time;
    uint32_t who;
} turn;

struct order {
    const orr_kernel *k;
    uint8_t *kinds; // [instruction] ORDER_*
    bool *walks;    // [instruction] a look at one place after the other, executed in order of time
    place *places;  // hashed, open addressing
    uint32_t cap, n;
    uint32_t planner;             // warps planned so far
    bool whole;                   // all thread blocks of the launch are simulated
    const struct looks *looks_of; // of the kernel; NULL: none
    // who waits: a warp of an SM, with all that it waits for
    uint16_t *owned;         // [who] locks
    bool *over;              // [who] its last look found what the loop waits for; SMs read it
    uint8_t *failed;         // [who] a look of its last round came too early (look.c); SMs read and clear it
    bool *longer;            // [who] it has walked further than in the stream; SMs write it
    uint64_t fresh;          // blocks of code that have been entered, all SMs
    uint32_t still;          // windows in which none was
    uint32_t *first;         // [who] held; NOBODY: none
    bool *asked;             // [who] it is in `again`
    ORR_VEC(uint32_t) again; // who has to be looked at
    ORR_VEC(turn) turns;
    ORR_VEC(turn) patient; // have locks and wait, since; in order of time
    size_t patient_first;
    ORR_VEC(held) waiting;
    ORR_VEC(link) links;
    uint32_t free_held, free_link, nheld;
    ORR_VEC(observed_word) needs; // of those that wait; some are gone
    size_t needs_live;
    // [partition] looks of those that wait for locks: operations of a slice, and a request like them
    uint32_t idle; // windows in which nothing happened
    uint64_t *looks;
    orr_request *look;
    uint32_t parts;
};

// A loop around a compare and swap: a way leads back to it on which nothing else is read or written.
static bool quiet(const orr_kernel *k, uint32_t b, uint32_t but) {
    for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
        if (i != but &&
            orr_ops[k->insts[i].op].flags & (ORR_F_MEMORY | ORR_F_BARRIER | ORR_F_CALL | ORR_F_RET))
            return false;
    return true;
}

static bool tries_again(const orr_kernel *k, uint32_t from, uint32_t inst) {
    return quiet(k, from, inst) && orr_leads_back(k, from, quiet, inst);
}

// A compare and swap that is not at the same place again, in whatever loop: who takes an entry of a table, or
// goes on to the next, waits for nobody.
static bool swaps_once(const orr_kernel *k, uint32_t b, uint32_t n) {
    const orr_inst *i = &k->insts[n];
    return i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_CAS &&
           !orr_same_place(k, b, n, 1, ORR_F_CALL | ORR_F_RET);
}

order *cyc_order_new(const orr_kernel *k, const cycle *c, bool whole) {
    uint8_t any = 0;
    for (uint32_t n = 0; n < k->ninsts; n++) any |= orr_inst_order(&k->insts[n]);
    if (k->grows || any != (ORDER_WAITS | ORDER_WRITES)) return NULL;
    order *o = orr_calloc(1, sizeof *o);
    o->k = k;
    o->whole = whole;
    o->looks_of = c->looks;
    o->kinds = orr_calloc(k->ninsts, 1);
    o->walks = orr_calloc(k->ninsts, sizeof *o->walks);
    looks *waits = cyc_looks_new(k);
    bool known = k->codes || !k->machine; // its code, not only what a trace has of it
    for (uint32_t b = 0; b < k->nblocks; b++)
        for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++) {
            const orr_inst *i = &k->insts[n];
            o->kinds[n] = orr_inst_order(i);
            o->walks[n] = c->in_time && i->op == ORR_OP_LD && o->kinds[n] && cyc_looks_walk(waits, b);
            bool swaps = i->op == ORR_OP_ATOM && o->kinds[n] & ORDER_WAITS;
            if (swaps && c->in_time) {
                o->kinds[n] &= ORDER_WRITES;
                continue;
            }
            if (swaps_once(k, b, n) || (i->op == ORR_OP_LD && known && !cyc_looks_wait(waits, b))) {
                o->kinds[n] = 0;
                continue;
            }
            if (i->op == ORR_OP_ATOM && o->kinds[n] == ORDER_WRITES && o->whole) {
                o->kinds[n] |= ORDER_WAITS | ORDER_COUNTS;
                continue;
            }
            if (i->op != ORR_OP_ATOM || !(o->kinds[n] & ORDER_WAITS) || !tries_again(k, b, n)) continue;
            o->kinds[n] |= ORDER_SPINS;
        }
    cyc_looks_free(waits);
    size_t warps = (size_t)c->nsms * ORDER_WARPS;
    o->owned = orr_calloc(warps, sizeof *o->owned);
    o->over = orr_calloc(warps, sizeof *o->over);
    o->failed = orr_calloc(warps, sizeof *o->failed);
    o->longer = orr_calloc(warps, sizeof *o->longer);
    o->first = orr_malloc(warps * sizeof *o->first);
    memset(o->first, 0xff, warps * sizeof *o->first);
    o->asked = orr_calloc(warps, sizeof *o->asked);
    o->free_held = o->free_link = NOBODY;
    o->parts = (uint32_t)orr_memsys_partitions(c->mem);
    o->looks = orr_calloc(o->parts, sizeof *o->looks);
    o->look = orr_calloc(o->parts, sizeof *o->look);
    return o;
}

uint8_t cyc_order_kind(const order *o, uint32_t inst) { return o->kinds[inst]; }

static uint32_t who_is(uint32_t sm, uint32_t warp) { return sm * ORDER_WARPS + warp % ORDER_WARPS; }

bool cyc_order_over(const order *o, uint32_t need, uint32_t sm, uint32_t warp) {
    return need & AGAIN && o->over[who_is(sm, warp)];
}

void cyc_order_look(order *o, uint32_t sm, uint32_t warp, bool longer) {
    o->failed[who_is(sm, warp)] = 0;
    o->longer[who_is(sm, warp)] = longer;
}
uint8_t cyc_order_failed(const order *o, uint32_t sm, uint32_t warp) { return o->failed[who_is(sm, warp)]; }

void cyc_order_free(order *o) {
    if (!o) return;
    free(o->kinds);
    free(o->walks);
    free(o->places);
    free(o->owned);
    free(o->over);
    free(o->failed);
    free(o->longer);
    free(o->first);
    free(o->asked);
    free(o->again.at);
    free(o->turns.at);
    free(o->patient.at);
    free(o->waiting.at);
    free(o->links.at);
    free(o->needs.at);
    free(o->looks);
    free(o->look);
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
        p->owner = p->waiters = NOBODY;
        o->n++;
    }
    return p;
}

// ---- planning -----------------------------------------------------------------------------------
static bool one_word(const orr_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1)
        if (a->addr[orr_ffs(m)] / 4 != a->addr[orr_ffs(a->mask)] / 4) return false;
    return true;
}

// Who looks at one place after the other waits for the first write to each. How far it goes on then the
// executor has found.
static void plan_needs(order *o, tbuf *b, const orr_access *a, uint32_t inst) {
    bool atomic = o->kinds[inst] & ORDER_SPINS && one_word(a); // it may take a lock
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t word = a->addr[orr_ffs(m)] / 4;
        bool told = a->versioned && o->whole;
        uint32_t version = told ? a->version[orr_ffs(m)] : 0;
        place *p = atomic || version ? make(o, word) : find(o, word);
        if (b->nneeds == b->needs_cap) {
            b->needs_cap = b->needs_cap ? b->needs_cap * 2 : 256;
            b->needs = orr_realloc(b->needs, b->needs_cap * sizeof *b->needs);
        }
        if (p && atomic) {
            p->taker = o->planner;
            p->taken = b->nneeds;
        }
        if (p && version) p->looked = true;
        uint32_t need = told ? (version & VERSION) | ROUND | (o->walks[inst] ? WALKS : 0)
                        : p  ? p->planned & VERSION
                             : 0;
        b->needs[b->nneeds++] = !p || p->lock ? 0 : need;
    }
}

// Looks of a warp that follow each other: at one word, by the same lanes, with no other access in between.
typedef struct spin {
    uint64_t word;
    uint32_t mask, inst, block;
    uint32_t first, n; // its needs; how many looks, 0: none
} spin;

// All looks of the loop but the last have failed.
static void end_spin(const tbuf *b, spin *x) {
    uint32_t lanes = (uint32_t)orr_popc(x->mask), last = x->first + (x->n - 1) * lanes;
    for (uint32_t n = x->first; x->n > 1 && n < last + lanes; n++) {
        uint32_t version = b->needs[last + (n - x->first) % lanes] & VERSION;
        b->needs[n] = version | ROUND | (b->needs[n] & WALKS) | (n < last ? FAILS : 0) |
                      (n >= x->first + lanes ? AGAIN : 0);
    }
    x->n = 0;
}

// Compilers take the first look out of the loop, so it may be another instruction than those that follow.
static void plan_spin(const order *o, const tbuf *b, spin *x, const orr_access *a, uint32_t inst,
                      uint32_t block) {
    uint64_t word = a->mask ? a->addr[orr_ffs(a->mask)] / 4 : 0;
    bool loop = x->n && (!o->looks_of || cyc_looks_lead(o->looks_of, x->block, block));
    bool same = loop && x->word == word && x->mask == a->mask && (x->inst == inst || x->n == 1);
    if (!same) end_spin(b, x);
    if (!a->versioned || !a->mask || !one_word(a)) return;
    uint32_t first = same ? x->first : b->nneeds - (uint32_t)orr_popc(a->mask);
    *x = (spin){word, a->mask, inst, block, first, x->n + 1};
}

// The last addition of a lane that returned what was there.
typedef struct counted {
    uint32_t need, version; // its need; 0: it waits for nobody
} counted;

static void plan_count(order *o, tbuf *b, counted *x, const orr_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1) {
        if (b->nneeds == b->needs_cap) {
            b->needs_cap = b->needs_cap ? b->needs_cap * 2 : 256;
            b->needs = orr_realloc(b->needs, b->needs_cap * sizeof *b->needs);
        }
        b->needs[b->nneeds++] = 0;
    }
    x->version = 0;
    if (!a->versioned || orr_popc(a->mask) != 1) return;
    uint32_t lane = (uint32_t)orr_ffs(a->mask);
    if (!make(o, a->addr[lane] / 4)) return;
    *x = (counted){b->nneeds - 1, a->version[lane] & VERSION};
}

// The warp's next ordered access: a write of what others look at?
static void plan_last(const order *o, const tbuf *b, counted *x, const orr_access *a, uint8_t kind) {
    const place *p = kind & ORDER_WRITES && a->mask ? find(o, a->addr[orr_ffs(a->mask)] / 4) : NULL;
    if (p && p->looked && x->version) b->needs[x->need] = x->version;
    x->version = 0;
}

// What the warp swapped or exchanged before and writes now was a lock. What it looked at in between is what
// the lock is for: it has it as the one before left it, whoever that was.
static void plan_locks(order *o, const tbuf *b, const orr_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1) {
        place *p = find(o, a->addr[orr_ffs(m)] / 4);
        if (!p || p->taker != o->planner) continue;
        b->needs[p->taken] |= TAKES;
        for (uint32_t n = p->taken + 1; n < b->nneeds; n++) b->needs[n] &= TAKES;
        p->taker = 0;
        p->lock = true;
    }
}

static void plan_writes(order *o, const orr_access *a) {
    for (uint32_t m = a->mask; m; m &= m - 1) {
        place *p = make(o, a->addr[orr_ffs(m)] / 4);
        if (p) p->planned++;
    }
}

// A block is looked through twice: first what it needs, all of it from earlier blocks, then what it writes.
static void look_through(order *o, tbuf *b, bool writes) {
    const orr_kernel *k = o->k;
    for (uint32_t w = 0; w < b->nwarps; w++) {
        orr_trace t = orr_trace_open(b->warps[w]);
        uint32_t block, mask;
        if (!writes) b->need_at[w] = b->nneeds;
        o->planner++;
        spin loop = {0};
        counted count = {0};
        while (orr_trace_block(&t, k->nblocks, &block, &mask) > 0) {
            const orr_block *x = &k->blocks[block];
            for (uint32_t n = x->first; n < x->first + x->count; n++) {
                if (!orr_inst_traced(&k->insts[n])) continue;
                orr_access a;
                uint8_t kind = o->kinds[n];
                bool look = kind == ORDER_WAITS && o->whole;
                if (!writes && !look && loop.n) end_spin(b, &loop);
                if (writes ? !(kind & ORDER_WRITES) : !kind) {
                    if (!orr_trace_skip(&t)) return; // damaged: the SM will say so
                } else if (!orr_trace_access(&t, &a)) {
                    return;
                } else if (writes) {
                    plan_writes(o, &a);
                } else {
                    if (count.version) plan_last(o, b, &count, &a, kind);
                    if (kind & ORDER_WRITES) plan_locks(o, b, &a);
                    if (kind & ORDER_COUNTS)
                        plan_count(o, b, &count, &a);
                    else if (kind & ORDER_WAITS)
                        plan_needs(o, b, &a, n);
                    if (look) plan_spin(o, b, &loop, &a, n, block);
                }
            }
        }
        if (loop.n) end_spin(b, &loop);
    }
}

void cyc_order_plan(order *o, tbuf *b) {
    if (b->planned) return; // it had been handed out before, and was given back
    b->planned = true;
    b->nneeds = 0;
    if (o->looks_of) cyc_looks_tighten(o->looks_of, b);
    if (b->nwarps > b->need_at_cap) {
        b->need_at_cap = b->nwarps;
        b->need_at = orr_realloc(b->need_at, b->need_at_cap * sizeof *b->need_at);
    }
    look_through(o, b, false);
    look_through(o, b, true);
}

// ---- requests -----------------------------------------------------------------------------------
static void ask(order *o, uint32_t who) {
    if (o->asked[who]) return;
    o->asked[who] = true;
    *ORR_PUSH(&o->again) = who;
}

// A place has changed: who waits for it looks again.
static void wake(order *o, place *p) {
    for (uint32_t l = p->waiters, next; l != NOBODY; l = next) {
        next = o->links.at[l].next;
        ask(o, o->links.at[l].who);
        o->links.at[l].next = o->free_link;
        o->free_link = l;
    }
    p->waiters = NOBODY;
}

static void wait_at(order *o, place *p, uint32_t who) {
    uint32_t l = o->free_link;
    if (l == NOBODY)
        l = (uint32_t)(ORR_PUSH(&o->links) - o->links.at);
    else
        o->free_link = o->links.at[l].next;
    o->links.at[l] = (link){who, p->waiters};
    p->waiters = l;
}

static uint32_t who_of(const orr_request *r, const observed_word *need) { return who_is(r->sm, need->warp); }

static uint32_t half_of(const cycle *c, const orr_request *r) {
    return c->core.port.far_ticks && c->gpu->l2_copies ? orr_half_of_sm(r->sm, c->core.port.gpcs) : 0;
}

// When SMs of a half find what r writes. One of the same half goes the same way behind it, to the line's own
// half or not. For those of the other half it has to get there first: to the line, or to drop their copy.
static uint64_t found_at(const cycle *c, const orr_request *r, uint32_t half) {
    return half == half_of(c, r) ? r->time : r->time + c->core.port.far_ticks / 2;
}

// To the line's own half and back, for SMs of a half.
static uint64_t way_of(const cycle *c, const orr_request *r, uint32_t half) {
    if (!c->core.port.far_ticks || !c->gpu->l2_copies) return 0;
    return orr_memsys_side_of(c->mem, r->line) != (int)half ? c->core.port.far_ticks : 0;
}

// Who counts, and was the last to come, has its answer when the last one has. Which one that is the stream
// does not know: on a GPU it is one of the half that is further away, where all come at the same time.
static uint64_t last_came(const cycle *c, const orr_request *r, const place *p) {
    uint64_t own = way_of(c, r, half_of(c, r)), last = 0;
    for (uint32_t half = 0; half < 2; half++) {
        uint64_t t = p->came[half] ? p->came[half] + way_of(c, r, half) : 0;
        if (t > last) last = t;
    }
    return last > own ? last - own : 0;
}

// What that one does then, a store and a fence or a fence alone, has the longer way once more. Where the
// stream's is near that is added to its answer.
static bool stands_for_far(order *o, const cycle *c, const orr_request *r, const observed_word *need) {
    uint32_t half = half_of(c, r);
    if (!(need->kind & ORDER_COUNTS) || !(need->need & VERSION) || way_of(c, r, half)) return false;
    const place *p = find(o, need->word);
    uint64_t way = way_of(c, r, 1 - half);
    return p && way && p->came[1 - half] && p->came[1 - half] + way > p->came[half];
}

// It happens now, at the request's time.
static void happens(order *o, const cycle *c, const orr_request *r, const observed_word *need) {
    o->idle = 0;
    for (uint32_t n = 0; n < r->norder; n++) {
        uint32_t who = who_of(r, need);
        place *p = need[n].kind & ORDER_WRITES || need[n].need & TAKES ? find(o, need[n].word) : NULL;
        if (!p) continue;
        if (need[n].kind & ORDER_WRITES) {
            p->done++;
            uint32_t from = half_of(c, r);
            if (p->came[from] < r->time) p->came[from] = r->time;
            for (uint32_t half = 0; half < 2; half++) {
                uint64_t t = found_at(c, r, half);
                if (p->last[half] < t) p->last[half] = t;
            }
        }
        if (p->owner != NOBODY && need[n].kind & ORDER_WRITES) {
            o->owned[p->owner]--;
            p->owner = NOBODY;
            p->since = r->time;
        } else if (p->owner == NOBODY && need[n].need & TAKES) {
            p->owner = who;
            o->owned[who]++;
        }
        wake(o, p);
    }
}

// It takes a lock.
static bool takes(const orr_request *r, const observed_word *need) {
    for (uint32_t n = 0; n < r->norder; n++)
        if (need[n].need & TAKES) return true;
    return false;
}

// Looks for locks at the same slice wait for each other.
static uint64_t apart_of(const order *o, const cycle *c, const orr_request *r) {
    uint64_t apart = (c->core.l1.l2_latency + (uint64_t)c->gpu->core_look_loop) * ORR_TICKS;
    if (r->kind != ORR_REQ_ATOMIC) return apart;
    if (c->core.port.far_ticks &&
        orr_memsys_side_of(c->mem, r->line) != (int)orr_half_of_sm(r->sm, c->core.port.gpcs))
        apart += c->core.port.far_ticks;
    apart += (uint64_t)(c->gpu->l2_atomic_latency * ORR_TICKS);
    uint64_t all = o->looks[r->partition] * c->crossbar.atomic_ticks;
    return all > apart ? all : apart;
}

// May it go on? Then *when is the first look after what it waited for; else *at is what it waits for. `most`:
// writes that a walk waits for.
static bool ready(const order *o, const orr_request *r, const observed_word *need, const cycle *c,
                  uint64_t own, uint32_t most, uint64_t *when, place **at) {
    uint64_t after = 0, apart = apart_of(o, c, r) + own;
    uint32_t who = who_of(r, need), half = half_of(c, r);
    for (uint32_t n = 0; n < r->norder; n++) {
        uint32_t least = need[n].need & FAILS ? 0 : need[n].need & VERSION;
        if (least > most && need[n].need & WALKS) least = most;
        place *p = least || need[n].need & TAKES ? find(o, need[n].word) : NULL;
        if (!p) continue;
        *at = p;
        if (p->done < least) return false;
        if (least && p->done == least) {
            uint64_t last = need[n].kind & ORDER_COUNTS ? last_came(c, r, p) : p->last[half];
            if (last > after) after = last;
        }
        if (!(need[n].need & TAKES) || p->owner == who) continue;
        if (p->owner != NOBODY) return false;
        if (p->since > after) after = p->since;
    }
    *when = r->time;
    uint64_t look = takes(r, need) ? apart : c->core.l1.l2_latency * ORR_TICKS;
    // After a few looks for a lock they come at any time, not all at once because the blocks began at once.
    bool any = takes(r, need) && after > r->time + look;
    uint64_t phase = any ? (who * 0x9e3779b97f4a7c15u >> 40) % look : 0;
    if (after > r->time && need->kind & ORDER_COUNTS)
        *when = after; // it does not look again, it comes then
    else if (after > r->time)
        *when = r->time + (after - r->time + phase + look - 1) / look * look - phase;
    return true;
}

static void hold(order *o, const orr_request *r, const observed_word *need) {
    uint32_t h = o->free_held, who = who_of(r, need);
    if (h == NOBODY)
        h = (uint32_t)(ORR_PUSH(&o->waiting) - o->waiting.at);
    else
        o->free_held = o->waiting.at[h].next;
    o->waiting.at[h] = (held){*r, (uint32_t)o->needs.n, o->first[who]};
    o->first[who] = h;
    o->nheld++;
    for (uint32_t n = 0; n < r->norder; n++) *ORR_PUSH(&o->needs) = need[n];
    o->needs_live += r->norder;
    if (takes(r, need)) {
        o->looks[r->partition] += r->ops ? r->ops : 1;
        o->look[r->partition] = *r;
    }
    ask(o, who);
}

// All that a warp waits for happens now.
static void go_on(order *o, cycle *c, uint32_t who, uint64_t when) {
    for (uint32_t h = o->first[who], next; h != NOBODY; h = next) {
        orr_request r = o->waiting.at[h].r;
        next = o->waiting.at[h].next;
        if (r.time < when) r.time = when;
        const observed_word *need = o->needs.at + o->waiting.at[h].first;
        if (takes(&r, need)) o->looks[r.partition] -= r.ops ? r.ops : 1;
        r.late = stands_for_far(o, c, &r, need);
        happens(o, c, &r, need);
        o->needs_live -= r.norder;
        r.order = r.norder = 0;
        *ORR_PUSH(&c->sms[r.sm].port.out) = r;
        o->waiting.at[h].next = o->free_held;
        o->waiting.at[h].r.norder = 0;
        o->free_held = h;
        o->nheld--;
    }
    o->first[who] = NOBODY;
}

// What is left of the needs, without those that are gone.
static void tidy(order *o) {
    if (o->needs.n < 4096 || o->needs.n < 2 * o->needs_live) return;
    ORR_VEC(observed_word) all = {0};
    for (size_t i = 0; i < o->waiting.n; i++) {
        held *h = &o->waiting.at[i];
        if (!h->r.norder) continue;
        uint32_t first = (uint32_t)all.n;
        for (uint32_t n = 0; n < h->r.norder; n++) *ORR_PUSH(&all) = o->needs.at[h->first + n];
        h->first = first;
    }
    free(o->needs.at);
    o->needs.at = all.at;
    o->needs.n = all.n;
    o->needs.cap = all.cap;
}

static int by_time(const void *a, const void *b) {
    const turn *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->who < y->who ? -1 : x->who > y->who;
}

// All that a warp waits for goes on together, or none of it.
static bool all_ready(const order *o, const cycle *c, uint32_t who, uint64_t *last, place **at) {
    *last = 0;
    uint64_t own = 0; // a try has failed when all of its lanes have had their turn
    for (uint32_t h = o->first[who]; h != NOBODY; h = o->waiting.at[h].next)
        own += o->waiting.at[h].r.ops * c->crossbar.atomic_ticks;
    for (uint32_t h = o->first[who]; h != NOBODY; h = o->waiting.at[h].next) {
        uint64_t when;
        const held *x = &o->waiting.at[h];
        if (!ready(o, &x->r, o->needs.at + x->first, c, own, VERSION, &when, at)) return false;
        if (when > *last) *last = when;
    }
    return true;
}

// Those for whom something has changed; who looks first goes first.
static void look_again(order *o, cycle *c, uint64_t now) {
    place *at;
    while (o->again.n) {
        o->turns.n = 0;
        for (size_t i = 0; i < o->again.n; i++) {
            uint32_t who = o->again.at[i];
            uint64_t when;
            o->asked[who] = false;
            if (o->first[who] == NOBODY) continue;
            if (all_ready(o, c, who, &when, &at)) {
                *ORR_PUSH(&o->turns) = (turn){when, who};
            } else {
                wait_at(o, at, who);
                if (o->owned[who]) *ORR_PUSH(&o->patient) = (turn){now, who};
            }
        }
        o->again.n = 0;
        if (o->turns.n) qsort(o->turns.at, o->turns.n, sizeof *o->turns.at, by_time);
        for (size_t i = 0; i < o->turns.n; i++) {
            uint32_t who = o->turns.at[i].who;
            uint64_t when;
            if (all_ready(o, c, who, &when, &at))
                go_on(o, c, who, when);
            else
                wait_at(o, at, who);
        }
    }
}

// A warp has locks, and has waited long for more: perhaps for somebody who waits for it.
static void lose_patience(order *o, cycle *c, uint64_t now) {
    uint64_t most = PATIENCE * c->core.l1.l2_latency * ORR_TICKS;
    for (; o->patient_first < o->patient.n && o->patient.at[o->patient_first].time + most < now;
         o->patient_first++) {
        uint32_t who = o->patient.at[o->patient_first].who;
        if (o->first[who] != NOBODY && o->owned[who]) go_on(o, c, who, now);
    }
    if (o->patient_first == o->patient.n) o->patient_first = o->patient.n = 0;
}

// Those that go on waiting for a lock look again and again, and keep the slice busy with it.
static void keep_looking(const order *o, cycle *c, uint64_t until) {
    uint64_t window = c->window * ORR_TICKS, from = until > window ? until - window : 0;
    for (uint32_t p = 0; p < o->parts; p++) {
        if (!o->looks[p]) continue;
        orr_request r = o->look[p];
        uint64_t due = o->looks[p] * window / apart_of(o, c, &r), n = (due + 63) / 64;
        r.kind = ORR_REQ_REDUCE;
        r.order = r.norder = 0;
        for (uint64_t i = 0; i < n; i++) {
            r.ops = (uint8_t)(due / n);
            r.time = from + window * i / n;
            *ORR_PUSH(&c->sms[r.sm].port.out) = r;
        }
    }
}

// A look that is not the loop's last in the stream: does it find what the loop waits for?
static void note_look(order *o, const cycle *c, const orr_request *r, const observed_word *need) {
    const place *p = find(o, need->word);
    o->over[who_of(r, need)] =
        need->need & FAILS && p && p->done >= (need->need & VERSION) && p->last[half_of(c, r)] <= r->time;
}

// Of a look that is tried again round by round. A walk waits where nothing has been written yet. Where it
// found what was written last when it was executed, and that is not there yet, it goes on to the next place
// instead: a round more, and how much further it would go nobody knows.
static uint8_t failure(const order *o, const cycle *c, const orr_request *r, const observed_word *need) {
    uint64_t when;
    place *at;
    bool walks = need->need & WALKS, longer = walks && o->longer[who_of(r, need)];
    if (ready(o, r, need, c, 0, longer ? 1 : VERSION, &when, &at) && when == r->time) return 0;
    bool first = walks && (longer || !(ready(o, r, need, c, 0, 1, &when, &at) && when == r->time));
    return first ? ORDER_EARLY | ORDER_FIRST : ORDER_EARLY;
}

// It waits for nobody: it only writes, or counts and is not the last to come.
static bool goes_on(const observed_word *need) {
    return !(need->kind & ORDER_WAITS) || (need->kind & ORDER_COUNTS && !need->need);
}

void cyc_order_requests(order *o, cycle *c, uint64_t now) {
    for (uint32_t n = 0; n < c->nsms; n++) // what happens anyway
        for (size_t i = 0; i < c->sms[n].port.out.n; i++) {
            const orr_request *r = &c->sms[n].port.out.at[i];
            const observed_word *need = c->sms[n].port.observed_words.at + (r->order ? r->order - 1 : 0);
            if (r->order && goes_on(need)) happens(o, c, r, need);
        }
    for (uint32_t n = 0; n < c->nsms; n++) {
        sm *s = &c->sms[n];
        for (size_t i = 0; i < s->port.out.n; i++) {
            orr_request *r = &s->port.out.at[i];
            const observed_word *need = s->port.observed_words.at + (r->order ? r->order - 1 : 0);
            if (!r->order || goes_on(need)) continue;
            if (!(need->kind & ORDER_WRITES)) note_look(o, c, r, need);
            uint64_t when;
            place *at;
            if (need->kind & ORDER_ROUND && need->need & ROUND) { // it is answered, whatever it finds
                if (o->still < STILL) o->failed[who_of(r, need)] |= failure(o, c, r, need);
                r->order = r->norder = 0;
                continue;
            }
            if (!takes(r, need) && ready(o, r, need, c, 0, VERSION, &when, &at)) {
                r->time = when;
                r->late = stands_for_far(o, c, r, need);
                happens(o, c, r, need);
                continue;
            }
            hold(o, r, need);
            r->partition = UINT32_MAX; // nobody's
        }
        s->port.observed_words.n = 0;
    }
    lose_patience(o, c, now);
    look_again(o, c, now);
    uint64_t fresh = 0;
    for (uint32_t n = 0; n < c->nsms && c->looks; n++) fresh += c->sms[n].fresh;
    o->still = fresh == o->fresh ? o->still + 1 : 0;
    o->fresh = fresh;
    if (!o->nheld) return;
    if (o->idle++ < QUIET) keep_looking(o, c, now); // else let it be seen if nothing else is left to happen
    tidy(o);
}

bool cyc_order_release(order *o, cycle *c, uint64_t when) {
    if (!o || !o->nheld) return false;
    for (uint32_t who = 0; who < c->nsms * ORDER_WARPS; who++)
        if (o->first[who] != NOBODY) go_on(o, c, who, when);
    return true;
}
