// Loops that only look at what others write, round by round.
//
// Streams come from executing one thread block after the other, where a flag has mostly been set when
// somebody looks at it; on a GPU a warp goes round and round until it has. How often is a matter of time, so
// it is found out here: a look that comes too early (order.c knows: it carries the number of writes that it
// must have seen) fails, and where the stream goes on behind the loop the warp goes back to the look instead,
// and executes the round once more, with all that belongs to it: other lanes of the warp that have their turn
// after a YIELD, requests that keep the slice of L2 busy, cycles. So instructions and requests are as many as
// a GPU's, as far as the times are right.
//
// What a stream has of rounds that failed is a matter of whose turn it was when the kernel was executed. It
// is left out when a thread block is handed out, but for the last look of each loop.
#include "model/cycle/look.h"

#include <stdlib.h>
#include <string.h>

#include "model/cycle/order.h"

#define MAX_RING 64 // blocks
#define FAR_IN   4  // blocks from a look that a compiler has taken out of the loop to the loop

struct looks {
    const orr_kernel *k;
    uint32_t *ring;  // [block] the loop it is in, by its first look's block, + 1; 0: none
    uint32_t *leads; // [block with a look] the loop that it is of, or leads into; 0: none
    uint32_t *waits; // the same, of blocks that write something, too
    uint32_t *stays; // [block] of a walk, the part that stays at one place: its look's block, + 1
};

static bool is_look(const orr_inst *i) { return i->op == ORR_OP_LD && orr_inst_order(i) == ORR_ORDER_WAITS; }

static bool has_look(const orr_kernel *k, uint32_t b) {
    for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++)
        if (is_look(&k->insts[n])) return true;
    return false;
}

// One that the loop around it waits with.
static bool has_wait(const orr_kernel *k, uint32_t b) {
    for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++)
        if (is_look(&k->insts[n]) && orr_look_waits(k, b, n)) return true;
    return false;
}

// Nothing in the block is seen by others.
static bool quiet(const orr_kernel *k, uint32_t b) {
    for (uint32_t n = k->blocks[b].first; n < k->blocks[b].first + k->blocks[b].count; n++)
        if (orr_ops[k->insts[n].op].flags &
            (ORR_F_STORE | ORR_F_ATOMIC | ORR_F_BARRIER | ORR_F_CALL | ORR_F_RET))
            return false;
    return true;
}

// Blocks to which quiet ones lead from `from`, which is the first of them.
static uint32_t reach(const orr_kernel *k, uint32_t from, uint32_t most, uint32_t way[MAX_RING]) {
    uint32_t n = 1, end = 1; // end: of those that are `most` blocks away or nearer
    way[0] = from;
    for (uint32_t at = 0; at < n; at++) {
        if (at == end && !most--) break;
        if (at == end) end = n;
        for (int s = 0; s < orr_succ_count(k, &k->blocks[way[at]]); s++) {
            uint32_t to = orr_succ(k, &k->blocks[way[at]], s), seen = 0;
            while (seen < n && way[seen] != to) seen++;
            if (seen == n && n < MAX_RING && to < k->nblocks && quiet(k, to)) way[n++] = to;
        }
    }
    return n;
}

// Marks the blocks of the loop around the look in `b`: those from which one comes to it again.
static bool mark(looks *l, uint32_t b) {
    const orr_kernel *k = l->k;
    uint32_t way[MAX_RING], n = reach(k, b, MAX_RING, way);
    bool back[MAX_RING] = {false}, any = false;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t at = 0; at < n; at++)
            for (int s = 0; !back[at] && s < orr_succ_count(k, &k->blocks[way[at]]); s++)
                for (uint32_t x = 0; x < n; x++)
                    if (way[x] == orr_succ(k, &k->blocks[way[at]], s) && (x == 0 || back[x]))
                        more = back[at] = true;
    }
    for (uint32_t at = 0; at < n; at++)
        if (back[at] && !l->ring[way[at]]) l->ring[way[at]] = b + 1, any = true;
    return any;
}

static void mark_stays(looks *l, uint32_t b) {
    uint32_t blocks[ORR_LOOP];
    for (uint32_t i = l->k->blocks[b].first; i < l->k->blocks[b].first + l->k->blocks[b].count; i++) {
        if (!is_look(&l->k->insts[i])) continue;
        for (uint32_t n = orr_look_walks(l->k, b, i, blocks); n-- > 0;) l->stays[blocks[n]] = b + 1;
    }
}

looks *cyc_looks_new(const orr_kernel *k) {
    looks *l = orr_calloc(1, sizeof *l);
    l->k = k;
    l->ring = orr_calloc(k->nblocks + 1, sizeof *l->ring);
    l->leads = orr_calloc(k->nblocks + 1, sizeof *l->leads);
    l->waits = orr_calloc(k->nblocks + 1, sizeof *l->waits);
    l->stays = orr_calloc(k->nblocks + 1, sizeof *l->stays);
    bool any = false;
    for (uint32_t b = 0; b < k->nblocks; b++)
        if (!l->ring[b] && has_wait(k, b) && quiet(k, b)) any |= mark(l, b);
    for (uint32_t b = 0; b < k->nblocks && any; b++)
        if (l->ring[b] && !l->stays[b]) mark_stays(l, b);
    for (uint32_t b = 0; b < k->nblocks && any; b++) {
        if (!has_look(k, b)) continue;
        uint32_t way[MAX_RING], n = l->ring[b] ? 1 : reach(k, b, FAR_IN, way);
        l->waits[b] = l->ring[b];
        for (uint32_t at = 1; at < n && !l->waits[b]; at++) l->waits[b] = l->ring[way[at]];
        if (quiet(k, b)) l->leads[b] = l->waits[b];
    }
    if (any) return l;
    cyc_looks_free(l);
    return NULL;
}

void cyc_looks_free(looks *l) {
    if (!l) return;
    free(l->ring);
    free(l->leads);
    free(l->waits);
    free(l->stays);
    free(l);
}

bool cyc_looks_wait(const looks *l, uint32_t block) { return l && l->waits[block]; }
bool cyc_looks_walk(const looks *l, uint32_t block) { return l && l->stays[block]; }

bool cyc_looks_lead(const looks *l, uint32_t from, uint32_t to) {
    return l->leads[from] && l->leads[from] == l->ring[to];
}

// ---- rounds that failed in the stream -----------------------------------------------------------
typedef struct last_look { // of a warp's trace
    uint32_t block, mask;  // block + 1; 0: none, or something has happened since
    uint8_t *behind;       // its event in the trace that is written
    uint64_t addr;
} last_look;

// Between two looks of a loop: its own blocks, and other lanes that only see whether all are there.
static bool between(const looks *l, const last_look *x, uint32_t block, uint32_t mask) {
    if (mask & x->mask) return l->ring[block] == l->ring[x->block - 1];
    return l->k->blocks[block].count == 1;
}

static bool tighten(const looks *l, orr_warp_trace *t) {
    const orr_kernel *k = l->k;
    orr_trace in = orr_trace_open(*t);
    uint8_t *out = (uint8_t *)(uintptr_t)in.at, *begin = out; // the thread block's own copy
    last_look last = {0};
    for (;;) {
        const uint8_t *from = in.at;
        uint32_t block, mask;
        int more = orr_trace_block(&in, k->nblocks, &block, &mask);
        if (more < 0) return false;
        if (!more) break;
        const uint8_t *head = in.at;
        uint64_t addr = 0;
        uint32_t seen = 0;
        bool look = false;
        for (uint32_t n = k->blocks[block].first; n < k->blocks[block].first + k->blocks[block].count; n++) {
            if (!orr_inst_traced(&k->insts[n])) continue;
            orr_access a;
            if (!is_look(&k->insts[n]) || !l->ring[block]) {
                if (!orr_trace_skip(&in)) return false;
                continue;
            }
            if (!orr_trace_access(&in, &a)) return false;
            if (a.mask) addr ^= a.addr[orr_ffs(a.mask)] * (2 * ++seen + 1);
            look = a.versioned;
        }
        bool again = look && last.behind && last.block == block + 1 && last.mask == mask && last.addr == addr;
        if (again) {
            out = last.behind; // the block's event is there, what it accesses is written again
            from = head;
        } else if (look) {
            last = (last_look){block + 1, mask, out + (head - from), addr};
        } else if (last.block && !between(l, &last, block, mask)) {
            last.block = 0;
        }
        memmove(out, from, (size_t)(in.at - from));
        out += in.at - from;
    }
    t->n = (size_t)(out - begin);
    return true;
}

void cyc_looks_tighten(const looks *l, tbuf *b) {
    for (uint32_t w = 0; w < b->nwarps; w++)
        if (!tighten(l, &b->warps[w])) return; // damaged: the SM will say so
}

// ---- rounds that fail in simulated time ---------------------------------------------------------
void cyc_look_enter(sm *s, warp *w) {
    if (!w->poll.replays) s->fresh++;
    if (!s->c->looks->leads[w->pc.then]) return;
    w->poll.block = w->pc.then + 1;
    w->poll.mask = w->pc.then_mask;
    w->poll.from = w->pc.then_from;
    w->poll.noted = false;
    cyc_order_look(s->c->order, s->id, warp_id(w), w->poll.longer);
}

bool cyc_look_again(sm *s, warp *w) {
    const looks *l = s->c->looks;
    if (!w->poll.block || (w->pc.has_then && !(w->pc.then_mask & w->poll.mask))) return false; // other lanes
    if (w->poll.unanswered) return false; // it has not been answered: something else comes first
    uint8_t failed = cyc_order_failed(s->c->order, s->id, warp_id(w));
    uint32_t at = w->poll.block - 1, stays = l->stays[at];
    if (w->pc.has_then && l->ring[w->pc.then] && l->ring[w->pc.then] == l->leads[at]) { // round the loop
        if (!stays || l->stays[w->pc.then] == stays || !(failed & ORDER_FIRST)) return false;
    } else if (!failed) {
        w->poll.block = 0;
        w->poll.replays = w->poll.longer = false;
        return false;
    } else if (stays && !(failed & ORDER_FIRST)) {
        w->poll.longer = true;
    }
    w->pc.trace = w->poll.from;
    if (w->poll.noted) w->need = w->poll.need;
    w->pc.has_then = false;
    w->pc.body = 0;
    w->poll.replays = true;
    return true;
}
