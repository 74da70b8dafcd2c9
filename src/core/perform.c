// What requests do to global memory when L2 serves them (perform.h).
#include "core/perform.h"

#include <stdlib.h>
#include <string.h>

void perform_free(perform_ops *l) {
    free(l->ops.at);
    free(l->open.at);
    free(l->stored.at);
}

// ---- operations ---------------------------------------------------------------------------------
static uint32_t hashed(uint64_t line) { return (uint32_t)(line * 0x9e3779b97f4a7c15u >> 48) % PERFORM_LINES; }

// What requests carry: the place, and how many operations had it before.
enum { PLACE_BITS = 20, MOST_PLACES = (1 << PLACE_BITS) - 1 };

static uint32_t name_of(const perform_ops *l, uint32_t at) {
    return at | (uint32_t)l->ops.at[at - 1].generation << PLACE_BITS;
}

// NULL: it has been answered, by what another request for the line brought.
static operation *named(const perform_ops *l, uint32_t live) {
    operation *o = &l->ops.at[(live & MOST_PLACES) - 1];
    return o->generation == live >> PLACE_BITS ? o : NULL;
}

static void give_back(perform_ops *l, uint32_t at) {
    l->ops.at[at].generation = (l->ops.at[at].generation + 1) % (1 << (32 - PLACE_BITS));
    l->ops.at[at].next = l->free;
    l->free = at + 1;
}

static void leave_list(perform_ops *l, uint32_t h) { // who is first
    operation *o = &l->ops.at[l->first[h] - 1];
    o->listed = false;
    l->first[h] = o->next;
    if (!o->next) l->last[h] = 0;
}

// Those at the queue's head that have been done. Writes of a line are in its list in the same order.
static void reclaim(perform_ops *l) {
    while (l->open_first < l->open.n && l->ops.at[l->open.at[l->open_first]].done) {
        uint32_t at = l->open.at[l->open_first++];
        const operation *o = &l->ops.at[at];
        if (o->listed) leave_list(l, hashed(o->line));
        if (o->kind == ORR_STEP_ATOMIC && !o->answered && !--o->access->refs) orr_step_drop(o->access);
        if (o->stored) {
            l->stored.at[o->stored - 1].next = l->free_stored;
            l->free_stored = o->stored;
        }
        give_back(l, at);
    }
    if (l->open_first * 2 < l->open.n || !l->open_first) return;
    memmove(l->open.at, l->open.at + l->open_first, (l->open.n - l->open_first) * sizeof *l->open.at);
    l->open.n -= l->open_first;
    l->open_first = 0;
}

// The last that the SM has written to the line and L2 has not, + 1.
static uint32_t open_write(perform_ops *l, uint64_t line) {
    uint32_t h = hashed(line), last = l->last[h];
    while (l->first[h] && l->ops.at[l->first[h] - 1].done) leave_list(l, h);
    if (!l->first[h] || l->ops.at[last - 1].line == line) return l->first[h] ? last : 0;
    last = 0;
    for (uint32_t at = l->first[h]; at; at = l->ops.at[at - 1].next)
        if (l->ops.at[at - 1].line == line) last = at;
    return last;
}

static uint32_t new_operation(perform_ops *l, operation o) {
    uint32_t at = l->free;
    o.seq = l->seq++;
    o.earlier_write = open_write(l, o.line);
    if (at) {
        l->free = l->ops.at[at - 1].next;
        o.generation = l->ops.at[at - 1].generation;
    } else {
        if (l->ops.n == MOST_PLACES) abort(); // an SM has some thousand accesses under way at most
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
    operation o = {.access = a,
                   .line = line,
                   .kind = ORR_STEP_LOAD,
                   .next = a->ops,
                   .answered = true,
                   .width = a->bytes};
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t addr = a->addr[orr_ffs(m)];
        o.offset[orr_ffs(m)] = addr % ORR_LINE;
        if (addr / ORR_LINE == line) o.lanes |= m & -m;
    }
    uint32_t at = new_operation(l, o);
    if (!a->ops) a->first = at;
    a->ops = at;
    return name_of(l, at);
}

// It writes: until it is done, what the SM sends behind it to its line is not done before it.
static uint32_t new_write(perform_ops *l, operation o) {
    o.listed = true;
    uint32_t at = new_operation(l, o), h = hashed(o.line);
    if (l->last[h])
        l->ops.at[l->last[h] - 1].next = at;
    else
        l->first[h] = at;
    l->last[h] = at;
    *ORR_PUSH(&l->open) = at - 1;
    return name_of(l, at);
}

uint32_t perform_atomic(perform_ops *l, orr_step_access *a, uint32_t lanes, uint64_t line, bool answered) {
    if (!answered) a->refs++;
    reclaim(l);
    return new_write(
        l, (operation){
               .access = a, .line = line, .lanes = lanes, .kind = ORR_STEP_ATOMIC, .answered = answered});
}

static void put_bytes(stored_bytes *o, const uint8_t *from, uint32_t at, uint32_t n) {
    memcpy(o->data + at, from, n);
    o->bytes[at / 64] |= (n < 64 ? (1ull << n) - 1 : UINT64_MAX) << at % 64; // they are aligned
}

uint32_t perform_store(perform_ops *l, const orr_step_access *a, uint64_t line) {
    reclaim(l);
    uint32_t at = l->free_stored;
    if (at) {
        l->free_stored = l->stored.at[at - 1].next;
    } else {
        (void)ORR_PUSH(&l->stored);
        at = (uint32_t)l->stored.n;
    }
    stored_bytes *s = &l->stored.at[at - 1];
    s->bytes[0] = s->bytes[1] = 0;
    for (uint32_t m = perform_lanes(a, line); m; m &= m - 1)
        put_bytes(s, a->data + a->bytes * (size_t)orr_ffs(m), (uint32_t)(a->addr[orr_ffs(m)] % ORR_LINE),
                  a->bytes);
    return new_write(l, (operation){.line = line, .kind = ORR_STEP_STORE, .stored = at});
}

uint32_t perform_join(perform_ops *l, uint32_t store, uint32_t with) {
    operation *o = named(l, with);
    if (!o) return store;
    while (o->partner) o = &l->ops.at[o->partner - 1];
    o->partner = store & MOST_PLACES;
    return with;
}

void perform_sent(orr_step_access *a) {
    if (a->kind == ORR_STEP_STORE || a->shared) orr_step_drop(a);
}

// ---- they are done ------------------------------------------------------------------------------
// On the line's bytes.
static void write_to(const perform_ops *l, const operation *o, uint8_t *line) {
    if (o->kind == ORR_STEP_ATOMIC) {
        orr_step_atomic(o->access, o->lanes, (uintptr_t)line - o->line * ORR_LINE);
        return;
    }
    const stored_bytes *s = &l->stored.at[o->stored - 1];
    for (uint32_t half = 0; half < 2; half++) // run by run
        for (uint64_t left = s->bytes[half]; left;) {
            uint32_t at = (uint32_t)__builtin_ctzll(left);
            uint64_t behind = ~(left >> at);
            uint32_t n = behind ? (uint32_t)__builtin_ctzll(behind) : 64;
            if (n > 64 - at) n = 64 - at;
            memcpy(line + half * 64 + at, s->data + half * 64 + at, n);
            left &= n < 64 ? ~(((1ull << n) - 1) << at) : 0;
        }
}

static void write_now(const perform_ops *l, operation *o) {
    if (o->done) return;
    o->done = true;
    write_to(l, o, (uint8_t *)(orr_step_memory(l->launch) + o->line * ORR_LINE));
}

// What the SM has written to the line before. When one has been done, so have those before it; then its place
// may be another's by now, which came later.
static void write_before(const perform_ops *l, const operation *o) {
    operation *before = o->earlier_write ? &l->ops.at[o->earlier_write - 1] : NULL;
    if (!before || before->done || before->line != o->line || before->seq >= o->seq) return;
    write_before(l, before);
    write_now(l, before);
}

// As orr_step_read, of one line.
static void read_line(const operation *o, const uint8_t *line) {
    uint8_t *data = o->access->data;
    if (o->width == 4) { // most are
        for (uint32_t m = o->lanes; m; m &= m - 1)
            memcpy(data + 4 * (size_t)orr_ffs(m), line + o->offset[orr_ffs(m)], 4);
        return;
    }
    for (uint32_t m = o->lanes; m; m &= m - 1)
        memcpy(data + o->width * (size_t)orr_ffs(m), line + o->offset[orr_ffs(m)], o->width);
}

void perform_serve(perform_ops *l, uint32_t live) {
    operation *o = named(l, live);
    if (!o) return;
    write_before(l, o);
    if (o->kind != ORR_STEP_LOAD) {
        for (uint32_t at = live & MOST_PLACES; at; at = l->ops.at[at - 1].partner) {
            write_before(l, &l->ops.at[at - 1]);
            write_now(l, &l->ops.at[at - 1]);
        }
    } else if (!o->done) {
        read_line(o, (const uint8_t *)(orr_step_memory(l->launch) + o->line * ORR_LINE));
        o->done = true;
    }
}

void perform_expect(const perform_ops *l, uint32_t live, uint64_t line, bool values) {
    const operation *o = &l->ops.at[(live & MOST_PLACES) - 1];
    if (values) {
        if (o->kind == ORR_STEP_LOAD) __builtin_prefetch(o->access->data, 1);
        return;
    }
    const uint8_t *memory = (const uint8_t *)(orr_step_memory(l->launch) + line * ORR_LINE);
    __builtin_prefetch(o);
    __builtin_prefetch((const uint8_t *)o + 64);
    __builtin_prefetch(memory);
    __builtin_prefetch(memory + 64);
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
        write_to(l, o, copy);
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
    if (a->ops) { // all of them, the first one last
        for (uint32_t at = a->ops, next; at; at = next) {
            next = l->ops.at[at - 1].next;
            give_back(l, at - 1);
        }
    }
    orr_step_deliver(a);
}
