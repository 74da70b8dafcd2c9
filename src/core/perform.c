// What requests do to global memory when L2 serves them (perform.h).
#include "core/perform.h"

#include <stdlib.h>
#include <string.h>

void perform_free(perform_ops *l) {
    free(l->ops.at);
    free(l->open.at);
}

// ---- operations ---------------------------------------------------------------------------------
static uint32_t hashed(uint64_t line) { return (uint32_t)(line * 0x9e3779b97f4a7c15u >> 56) % PERFORM_LINES; }

static void give_back(perform_ops *l, uint32_t at) {
    l->ops.at[at].next = l->free;
    l->free = at + 1;
}

// Those at the queue's head that have been done. Writes of a line are in its list in the same order.
static void reclaim(perform_ops *l) {
    while (l->open_first < l->open.n && l->ops.at[l->open.at[l->open_first]].done) {
        uint32_t at = l->open.at[l->open_first++], h = hashed(l->ops.at[at].line);
        const operation *o = &l->ops.at[at];
        l->first[h] = o->next;
        if (!o->next) l->last[h] = 0;
        if (o->kind == ORR_STEP_ATOMIC && !o->answered && !--o->access->refs) orr_step_drop(o->access);
        give_back(l, at);
    }
    if (l->open_first * 2 < l->open.n || !l->open_first) return;
    memmove(l->open.at, l->open.at + l->open_first, (l->open.n - l->open_first) * sizeof *l->open.at);
    l->open.n -= l->open_first;
    l->open_first = 0;
}

static uint32_t new_operation(perform_ops *l, operation o) {
    uint32_t at = l->free;
    o.seq = l->seq++;
    if (at) {
        l->free = l->ops.at[at - 1].next;
    } else {
        (void)ORR_PUSH(&l->ops);
        at = (uint32_t)l->ops.n;
    }
    l->ops.at[at - 1] = o;
    return at;
}

uint32_t perform_lanes(const orr_step_access *a, uint64_t line) {
    uint32_t lanes = 0;
    for (uint32_t m = a->mask; m; m &= m - 1)
        if (a->addr[orr_ffs(m)] / ORR_LINE == line) lanes |= m & -m;
    return lanes;
}

uint32_t perform_load(perform_ops *l, orr_step_access *a, uint64_t line) {
    uint32_t at = new_operation(l, (operation){.access = a,
                                               .line = line,
                                               .lanes = perform_lanes(a, line),
                                               .kind = ORR_STEP_LOAD,
                                               .next = a->ops,
                                               .answered = true});
    return a->ops = at;
}

// It writes: until it is done, what the SM sends behind it to its line is not done before it.
static uint32_t new_write(perform_ops *l, operation o) {
    reclaim(l);
    uint32_t at = new_operation(l, o), h = hashed(o.line);
    if (l->last[h])
        l->ops.at[l->last[h] - 1].next = at;
    else
        l->first[h] = at;
    l->last[h] = at;
    *ORR_PUSH(&l->open) = at - 1;
    return at;
}

uint32_t perform_atomic(perform_ops *l, orr_step_access *a, uint32_t lanes, uint64_t line, bool answered) {
    if (!answered) a->refs++;
    return new_write(
        l, (operation){
               .access = a, .line = line, .lanes = lanes, .kind = ORR_STEP_ATOMIC, .answered = answered});
}

static void put_bytes(operation *o, const uint8_t *from, uint32_t at, uint32_t n) {
    memcpy(o->data + at, from, n);
    for (uint32_t k = at; k < at + n; k++) o->bytes[k / 64] |= 1ull << k % 64;
}

uint32_t perform_store(perform_ops *l, const orr_step_access *a, uint64_t line) {
    operation o = {.line = line, .kind = ORR_STEP_STORE};
    for (uint32_t m = perform_lanes(a, line); m; m &= m - 1)
        put_bytes(&o, a->data[orr_ffs(m)], (uint32_t)(a->addr[orr_ffs(m)] % ORR_LINE), a->bytes);
    return new_write(l, o);
}

void perform_join(perform_ops *l, uint32_t store, uint32_t with) {
    operation *o = &l->ops.at[with - 1];
    while (o->joined) o = &l->ops.at[o->joined - 1];
    o->joined = store;
}

void perform_sent(orr_step_access *a) {
    if (a->kind == ORR_STEP_STORE || a->shared) orr_step_drop(a);
}

// ---- they are done ------------------------------------------------------------------------------
// On the line's bytes.
static void write_to(const operation *o, uint8_t *line) {
    if (o->kind == ORR_STEP_ATOMIC) {
        orr_step_atomic(o->access, o->lanes, (uintptr_t)line - o->line * ORR_LINE);
        return;
    }
    for (uint32_t k = 0; k < ORR_LINE; k++)
        if (o->bytes[k / 64] >> k % 64 & 1) line[k] = o->data[k];
}

static void write_now(const perform_ops *l, operation *o) {
    if (o->done) return;
    o->done = true;
    write_to(o, (uint8_t *)(orr_step_memory(l->launch) + o->line * ORR_LINE));
}

void perform_serve(perform_ops *l, uint32_t live) {
    operation *o = &l->ops.at[live - 1];
    for (uint32_t at = l->first[hashed(o->line)]; at && !o->done; at = l->ops.at[at - 1].next) {
        operation *before = &l->ops.at[at - 1];
        if (before->line == o->line && before->seq < o->seq) write_now(l, before);
    }
    if (o->kind != ORR_STEP_LOAD) {
        for (uint32_t at = live; at; at = l->ops.at[at - 1].joined) write_now(l, &l->ops.at[at - 1]);
    } else if (!o->done) {
        orr_step_read(o->access, o->lanes, orr_step_memory(l->launch));
        o->done = true;
    }
}

// What the SM itself has written and memory has not is added on a copy of the line.
void perform_hit(perform_ops *l, orr_step_access *a, uint64_t line) {
    uint8_t copy[ORR_LINE];
    uintptr_t memory = orr_step_memory(l->launch);
    bool copied = false;
    for (uint32_t at = l->first[hashed(line)]; at; at = l->ops.at[at - 1].next) {
        const operation *o = &l->ops.at[at - 1];
        if (o->line != line || o->done) continue;
        if (!copied) memcpy(copy, (const void *)(memory + line * ORR_LINE), ORR_LINE);
        copied = true;
        write_to(o, copy);
    }
    orr_step_read(a, perform_lanes(a, line), copied ? (uintptr_t)copy - line * ORR_LINE : memory);
}

void perform_shared(orr_step_access *a) {
    if (a->done) return;
    a->done = true;
    if (a->kind == ORR_STEP_LOAD)
        orr_step_read(a, a->mask, a->memory);
    else if (a->kind == ORR_STEP_STORE)
        orr_step_put(a);
    else
        orr_step_atomic(a, a->mask, a->memory);
}

void perform_deliver(perform_ops *l, orr_step_access *a) {
    for (uint32_t at = a->ops, next; at; at = next) {
        next = l->ops.at[at - 1].next;
        give_back(l, at - 1);
    }
    orr_step_deliver(a);
}
