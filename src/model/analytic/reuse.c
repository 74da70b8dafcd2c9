// Reuse distances (reuse.h).
#include "model/analytic/reuse.h"

#include <stdlib.h>

#include "base/base.h"

void an_reuse_init(reuse *r, uint32_t slots) {
    *r = (reuse){.slots = slots, .cap = slots * 4};
    r->key = orr_calloc(slots, sizeof *r->key);
    r->last = orr_calloc(slots, sizeof *r->last);
    r->sectors = orr_calloc(slots, 1);
    r->ready = orr_calloc(slots, sizeof *r->ready);
    r->block = orr_calloc(slots, sizeof *r->block);
    r->tree = orr_calloc((size_t)r->cap + 1, sizeof *r->tree);
}

void an_reuse_free(reuse *r) {
    free(r->key);
    free(r->last);
    free(r->sectors);
    free(r->ready);
    free(r->block);
    free(r->tree);
}

static void tree_add(reuse *r, uint32_t at, uint32_t by) {
    for (at++; at <= r->cap; at += at & (0u - at)) r->tree[at] += by;
}

static uint32_t tree_upto(const reuse *r, uint32_t at) { // times < at
    uint32_t n = 0;
    for (; at; at &= at - 1) n += r->tree[at];
    return n;
}

static uint32_t slot_of(const reuse *r, uint64_t line) {
    uint32_t at = (uint32_t)((line + 1) * 0x9e3779b97f4a7c15ull >> 32) & (r->slots - 1);
    while (r->key[at] && r->key[at] != line + 1) at = (at + 1) & (r->slots - 1);
    return at;
}

// Times have run out: number the lines' last ones from 0.
static void renumber(reuse *r) {
    uint32_t *at = orr_calloc((size_t)r->cap + 1, sizeof *at), n = 0; // by time: the place, + 1
    for (uint32_t s = 0; s < r->slots; s++)
        if (r->key[s]) at[r->last[s]] = s + 1;
    for (uint32_t k = 0; k < r->cap; k++)
        if (at[k]) r->last[at[k] - 1] = n++;
    // a tree of n ones: each node has as many as it covers of them
    for (uint32_t k = 1; k <= r->cap; k++) {
        uint32_t from = k - (k & (0u - k)), to = k < n ? k : n;
        r->tree[k] = to > from ? to - from : 0;
    }
    r->now = n;
    free(at);
}

static void move_slot(reuse *to, const reuse *from, uint32_t n) {
    uint32_t at = slot_of(to, from->key[n] - 1);
    to->key[at] = from->key[n];
    to->last[at] = from->last[n];
    to->sectors[at] = from->sectors[n];
    to->ready[at] = from->ready[n];
    to->block[at] = from->block[n];
    to->used++;
}

static void rehash(reuse *r) {
    reuse big;
    an_reuse_init(&big, r->slots * 2);
    for (uint32_t n = 0; n < r->slots; n++)
        if (r->key[n]) move_slot(&big, r, n);
    an_reuse_free(r);
    *r = big;
    renumber(r);
}

uint32_t an_reuse_touch(reuse *r, uint64_t line, uint32_t *place) {
    if (r->used * 2 >= r->slots) rehash(r);
    if (r->now == r->cap) renumber(r);
    uint32_t at = slot_of(r, line), distance = UINT32_MAX;
    *place = at;
    if (r->key[at]) {
        distance = r->used - tree_upto(r, r->last[at] + 1);
        tree_add(r, r->last[at], UINT32_MAX); // - 1
    } else {
        r->key[at] = line + 1;
        r->used++;
        r->sectors[at] = 0;
        r->ready[at] = 0;
        r->block[at] = 0;
    }
    r->last[at] = r->now++;
    tree_add(r, r->last[at], 1);
    return distance;
}

void an_reuse_keep(reuse *r, bool (*kept)(const void *arg, uint64_t line), const void *arg) {
    reuse old = *r;
    an_reuse_init(r, old.slots);
    for (uint32_t n = 0; n < old.slots; n++)
        if (old.key[n] && kept(arg, old.key[n] - 1)) move_slot(r, &old, n);
    an_reuse_free(&old);
    renumber(r);
}
