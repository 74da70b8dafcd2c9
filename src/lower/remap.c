// Traces of a kernel as traces of the one that rewrite.c has made of it.
//
// Blocks that follow each other in a chain become one: an access of a predicated body keeps its own lanes,
// one that no lane went to has none. Rounds of a loop are collected: four of them are one block, what is left
// when the loop ends is two and one. Lanes that leave a loop before others do what is left of
// their rounds behind it, together. Nothing is assumed of the order in which blocks come: what does
// not fit begins anew, and whatever is missing was done by no lane.
//
// Accesses are not decoded, only copied: an access says its lanes itself where they are not the block's.
#include <stdlib.h>
#include <string.h>

#include "stream/trace.h"
#include "lower/rewrite.h"

typedef struct piece { // a block of the old kernel that a warp ran
    const uint8_t *at; // its accesses
    size_t bytes;
    uint32_t mask;
    bool ran;
} piece;

typedef struct round { // of a chain
    ORR_VEC(piece) pieces;
    uint32_t mask; // all lanes of the pieces
} round;

typedef struct remapped {
    orr_source source;
    orr_source *from;
    orr_rewritten *s;
    orr_warp_trace *warps;
    orr_trace_out *out; // per warp, kept from block to block
    uint32_t nwarps;
    round rounds[4]; // of a loop, that have not been written
    uint32_t nrounds;
    const chain *loop;        // that they are of; NULL: none
    uint32_t lanes;           // of its last round
    uint32_t all;             // of its first
    uint32_t two, one;        // that have two rounds, and one, to do at the end
    ORR_VEC(orr_access) left; // and what they access then
    round now;
    ORR_VEC(uint8_t *) made; // accesses of pieces that are not the trace's own
    const chain *chain;      // that `now` is of
    uint32_t last;           // its last piece that always runs
} remapped;

// ---- writing ----------------------------------------------------------------------------------------
static void put_bytes(orr_trace_out *t, const void *from, size_t n) {
    if (t->cap - t->n < n + ORR_TRACE_MAX_EVENT) {
        t->cap = 2 * t->cap + n + 4096;
        t->bytes = orr_realloc(t->bytes, t->cap);
    }
    if (n) memcpy(t->bytes + t->n, from, n);
    t->n += n;
}

// Accesses whose lanes are those of `mask` unless they say so, in a block of other lanes.
static bool put_masked(orr_trace_out *t, const piece *p, uint32_t n) {
    orr_trace x = {p->at, p->at + p->bytes, p->mask};
    for (uint32_t a = 0; a < n; a++) {
        const uint8_t *at = x.at;
        if (!orr_trace_skip(&x)) return false;
        size_t bytes = (size_t)(x.at - at);
        if (at[0] & 8) {
            put_bytes(t, at, bytes);
            continue;
        }
        uint8_t head[5] = {at[0] | 8};
        memcpy(head + 1, &p->mask, 4);
        put_bytes(t, head, 5);
        put_bytes(t, at + 1, bytes - 1);
    }
    return true;
}

static void put_nothing(orr_trace_out *t, uint32_t n) { // accesses of no lane
    static const uint8_t none[5] = {8};
    for (uint32_t a = 0; a < n; a++) put_bytes(t, none, t->mask ? 5 : 1);
    if (!t->mask)
        for (uint32_t a = 0; a < n; a++) t->bytes[t->n - 1 - a] = 0;
}

static bool put_rounds(const remapped *s, orr_trace_out *t, const chain *c, uint32_t block, const round *r,
                       uint32_t n) {
    uint32_t mask = 0;
    for (uint32_t k = 0; k < n; k++) mask |= r[k].mask;
    orr_trace_put_block(t, block, mask);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t b = 0; b < c->n; b++) {
            uint32_t nmem = s->s->nmem[c->first + b];
            const piece *p = b < r[k].pieces.n ? &r[k].pieces.at[b] : NULL;
            if (!p || !p->ran)
                put_nothing(t, nmem);
            else if (p->mask == mask)
                put_bytes(t, p->at, p->bytes);
            else if (!put_masked(t, p, nmem))
                return false;
        }
    return true;
}

// ---- loops ------------------------------------------------------------------------------------------
// Lanes that leave a loop while others go on have one, two or three rounds to go. They do them when all are
// out of the four: two rounds and one, whichever lanes need them, at the places where they were.
static uint32_t accesses_of(const remapped *s, const chain *c) {
    uint32_t n = 0;
    for (uint32_t b = 0; b < c->n; b++) n += s->s->nmem[c->first + b];
    return n;
}

static void begin_left(remapped *s, const chain *c) {
    uint32_t n = 3 * accesses_of(s, c);
    if (s->left.n < n)
        while (s->left.n < n) (void)ORR_PUSH(&s->left);
    for (uint32_t a = 0; a < n; a++) {
        s->left.at[a].mask = 0;
        s->left.at[a].versioned = false;
    }
    s->two = s->one = 0;
}

// Lanes of a round whose accesses go to row `to` of what is left.
static bool leave(remapped *s, const chain *c, const round *r, uint32_t lanes, uint32_t to) {
    uint32_t at = to * accesses_of(s, c);
    for (uint32_t b = 0; b < c->n && lanes; b++) {
        const piece *p = b < r->pieces.n ? &r->pieces.at[b] : NULL;
        uint32_t nmem = s->s->nmem[c->first + b];
        orr_trace x = {p ? p->at : NULL, p ? p->at + p->bytes : NULL, p ? p->mask : 0};
        for (uint32_t a = 0; a < nmem; a++, at++) {
            orr_access one;
            if (!p || !p->ran) continue;
            if (!orr_trace_access(&x, &one)) return false;
            for (uint32_t m = one.mask & lanes; m; m &= m - 1) {
                s->left.at[at].addr[orr_ffs(m)] = one.addr[orr_ffs(m)];
                if (one.versioned) s->left.at[at].version[orr_ffs(m)] = one.version[orr_ffs(m)];
            }
            s->left.at[at].mask |= one.mask & lanes;
            s->left.at[at].versioned |= one.versioned;
        }
    }
    return true;
}

// Rounds that not all lanes of the first one did: those with fewer than four are left for later.
static bool leave_rounds(remapped *s, const chain *c, const round *r, uint32_t n) {
    uint32_t m[5] = {0};
    for (uint32_t k = 0; k < n; k++) m[k] = r[k].mask;
    uint32_t stay = m[3], two = m[1] & ~stay, three = m[2] & ~stay, one = m[0] & ~m[1];
    s->two |= two;
    s->one |= three | one;
    return (!two || (leave(s, c, &r[0], two, 0) && leave(s, c, &r[1], two, 1))) &&
           (!three || leave(s, c, &r[2], three, 2)) && (!one || leave(s, c, &r[0], one, 2));
}

// The lanes that did all four.
static bool put_four(remapped *s, orr_trace_out *t, const chain *c) {
    uint32_t stay = s->rounds[3].mask;
    if (s->rounds[0].mask == stay) return put_rounds(s, t, c, c->part[LOOP_FOUR], s->rounds, 4);
    if (!leave_rounds(s, c, s->rounds, 4)) return false;
    orr_trace_put_block(t, c->part[LOOP_FOUR], stay);
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t b = 0; b < c->n; b++) {
            const piece *p = b < s->rounds[k].pieces.n ? &s->rounds[k].pieces.at[b] : NULL;
            uint32_t nmem = s->s->nmem[c->first + b];
            if (!p || !p->ran) {
                put_nothing(t, nmem);
                continue;
            }
            orr_trace x = {p->at, p->at + p->bytes, p->mask};
            for (uint32_t a = 0; a < nmem; a++) {
                orr_access one;
                if (!orr_trace_access(&x, &one)) return false;
                orr_trace_put_as_read(t, one.mask & stay, &one);
            }
        }
    return true;
}

static void put_left(remapped *s, orr_trace_out *t, uint32_t block, uint32_t lanes, uint32_t from,
                     uint32_t n) {
    orr_trace_put_block(t, block, lanes);
    for (uint32_t a = from; a < from + n; a++) orr_trace_put_as_read(t, s->left.at[a].mask, &s->left.at[a]);
}

static bool end_loop(remapped *s, orr_trace_out *t) {
    const chain *c = s->loop;
    if (!c) return true;
    bool ok = true;
    uint32_t n = s->nrounds, each = accesses_of(s, c);
    bool apart = s->two || s->one || (n && s->rounds[0].mask != s->rounds[n - 1].mask);
    s->nrounds = 0;
    s->loop = NULL;
    if (apart) {
        ok = leave_rounds(s, c, s->rounds, n);
        orr_trace_put_block(t, c->part[LOOP_TEST_TWO], s->all);
        if (s->two) put_left(s, t, c->part[LOOP_TWO], s->two, 0, 2 * each);
        orr_trace_put_block(t, c->part[LOOP_TEST_ONE], s->all);
        if (s->one) put_left(s, t, c->block, s->one, 2 * each, each);
        return ok;
    }
    orr_trace_put_block(t, c->part[LOOP_TEST_TWO], s->all);
    if (n >= 2) ok = put_rounds(s, t, c, c->part[LOOP_TWO], s->rounds, 2);
    orr_trace_put_block(t, c->part[LOOP_TEST_ONE], s->all);
    return ok && (n % 2 == 0 || put_rounds(s, t, c, c->block, &s->rounds[n - 1], 1));
}

static void swap(round *a, round *b) {
    round x = *a;
    *a = *b;
    *b = x;
}

static bool end_round(remapped *s, orr_trace_out *t) {
    const chain *c = s->chain;
    if (!c) return true;
    s->chain = NULL;
    if (s->loop && (s->loop != c || (s->now.mask & ~s->lanes)) && !end_loop(s, t)) return false;
    if (!c->loop) return put_rounds(s, t, c, c->block, &s->now, 1);
    if (!s->loop) {
        if (c->part[LOOP_ENTER] != UINT32_MAX) orr_trace_put_block(t, c->part[LOOP_ENTER], s->now.mask);
        s->loop = c;
        s->all = s->now.mask;
        begin_left(s, c);
    }
    s->lanes = s->now.mask;
    swap(&s->now, &s->rounds[s->nrounds++]);
    if (s->nrounds < 4) return true;
    s->nrounds = 0;
    return put_four(s, t, c);
}

// ---- a warp -----------------------------------------------------------------------------------------
static bool add_piece(remapped *s, orr_trace_out *t, uint32_t block, piece p) {
    const chain *c = &s->s->chains[s->s->chain_of[block]];
    uint32_t which = block - c->first;
    // Bodies come in any order, behind the last block that always runs.
    bool follows =
        s->chain == c && which > s->last && (which >= s->now.pieces.n || !s->now.pieces.at[which].ran);
    if (!follows && !end_round(s, t)) return false;
    if (!follows) {
        s->chain = c;
        s->now.pieces.n = 0;
        s->now.mask = s->last = 0;
    }
    while (s->now.pieces.n <= which) *ORR_PUSH(&s->now.pieces) = (piece){0};
    s->now.pieces.at[which] = p;
    s->now.mask |= p.mask;
    if (!s->s->role[block]) s->last = which;
    return true;
}

// Accesses of a matrix as machine code makes them. The stream has 16 lines of two pieces, a lane for each;
// four instructions take eight lines each, and of each the first piece or the second, by four lanes.
static bool put_matrix(orr_trace_out *t, const orr_inst *i, const orr_access *a) {
    uint32_t each = orr_matrix_bits(i->type) == 16 ? 4 : 8; // bytes of a lane
    for (uint32_t p = 0; p < MATRIX_ACCESSES; p++) {
        orr_access x = {.versioned = a->versioned};
        for (uint32_t lane = 0; lane < ORR_WARP; lane++) {
            uint32_t from = 2 * (lane / 4 + 8 * (p & 1)) + (p >> 1);
            x.mask |= (a->mask >> from & 1) << lane;
            x.addr[lane] = a->addr[from] + lane % 4 * each;
            if (a->versioned) x.version[lane] = a->version[from];
        }
        orr_trace_put_as_read(t, x.mask, &x);
    }
    return true;
}

static bool split(remapped *s, uint32_t block, piece *p) {
    const orr_kernel *k = s->s->from;
    const orr_block *b = &k->blocks[block];
    orr_trace x = {p->at, p->at + p->bytes, p->mask};
    orr_trace_out t = {.mask = p->mask};
    bool ok = true;
    for (uint32_t n = b->first; n < b->first + b->count && ok; n++) {
        orr_access a;
        if (!orr_inst_traced(&k->insts[n])) continue;
        ok = orr_trace_access(&x, &a);
        if (ok && rewrite_accesses(&k->insts[n]) > 1)
            put_matrix(&t, &k->insts[n], &a);
        else if (ok)
            orr_trace_put_as_read(&t, a.mask, &a);
    }
    *ORR_PUSH(&s->made) = t.bytes;
    p->at = t.bytes;
    p->bytes = t.n;
    return ok;
}

static void forget_made(remapped *s) {
    for (size_t n = 0; n < s->made.n; n++) free(s->made.at[n]);
    s->made.n = 0;
}

static bool remap_warp(remapped *s, orr_warp_trace w, orr_trace_out *t) {
    const orr_kernel *k = s->s->from;
    orr_trace x = orr_trace_open(w);
    uint32_t block, mask;
    int more;
    t->n = 0;
    t->mask = 0;
    s->chain = s->loop = NULL;
    s->nrounds = 0;
    while ((more = orr_trace_block(&x, k->nblocks, &block, &mask)) > 0) {
        piece p = {.at = x.at, .mask = mask, .ran = true};
        for (uint32_t a = 0; a < k->blocks[block].nmem; a++)
            if (!orr_trace_skip(&x)) return false;
        p.bytes = (size_t)(x.at - p.at);
        if (s->s->nmem[block] != k->blocks[block].nmem && !split(s, block, &p)) return false;
        if (!add_piece(s, t, block, p)) return false;
    }
    return more == 0 && end_round(s, t) && end_loop(s, t);
}

// ---- a source ---------------------------------------------------------------------------------------
static void want_warps(remapped *s, uint32_t n) {
    if (n <= s->nwarps) return;
    s->warps = orr_realloc(s->warps, n * sizeof *s->warps);
    s->out = orr_realloc(s->out, n * sizeof *s->out);
    memset(s->out + s->nwarps, 0, (n - s->nwarps) * sizeof *s->out);
    s->nwarps = n;
}

static int next(orr_source *source, orr_tb *tb, orr_err *e) {
    remapped *s = (remapped *)(void *)source;
    int more = s->from->next(s->from, tb, e);
    if (more <= 0) return more;
    want_warps(s, tb->nwarps);
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        // A damaged trace stays as damaged as it is: who reads it says so.
        bool ok = remap_warp(s, tb->warps[w], &s->out[w]);
        forget_made(s);
        static const uint8_t damaged[] = {0xff};
        s->warps[w] = ok ? (orr_warp_trace){s->out[w].bytes, s->out[w].n} : (orr_warp_trace){damaged, 1};
    }
    tb->warps = s->warps;
    return more;
}

static void seek(orr_source *source, uint64_t index) {
    remapped *s = (remapped *)(void *)source;
    s->from->seek(s->from, index);
}

static bool skip(orr_source *source, uint64_t to, orr_err *e) {
    remapped *s = (remapped *)(void *)source;
    return s->from->skip(s->from, to, e);
}

void remap_close(remapped *s) {
    for (size_t n = 0; n < s->s->open.n; n++)
        if (s->s->open.at[n] == s) s->s->open.at[n--] = s->s->open.at[--s->s->open.n];
    for (int r = 0; r < 4; r++) free(s->rounds[r].pieces.at);
    for (uint32_t w = 0; w < s->nwarps; w++) free(s->out[w].bytes);
    forget_made(s);
    free(s->made.at);
    free(s->now.pieces.at);
    free(s->left.at);
    free(s->warps);
    free(s->out);
    free(s);
}

static void close(orr_source *source) {
    remapped *s = (remapped *)(void *)source;
    s->from->close(s->from);
    remap_close(s);
}

orr_source *orr_rewritten_source(orr_rewritten *r, orr_source *from) {
    remapped *s = orr_calloc(1, sizeof *s);
    s->source = (orr_source){.info = from->info, .next = next, .close = close};
    s->source.info.kernel = r->to;
    if (from->seek) s->source.seek = seek;
    if (from->skip) s->source.skip = skip;
    s->from = from;
    s->s = r;
    *ORR_PUSH(&r->open) = s;
    return &s->source;
}
