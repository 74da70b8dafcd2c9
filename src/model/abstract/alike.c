// SMs that do alike are simulated once.
//
// With perfect memory an SM's course depends on nothing but the blocks it gets and when: what its warps ran,
// what each access costs, when each block began, counted from its first. Two SMs whose courses have been the
// same so far therefore go on the same until one of them gets another block. So the first to come to a point
// is simulated, and what happens next, which block ends and when, is written down under a hash of its course;
// the others look there. One that finds nothing (it got another kind of block, or at another time) is
// simulated from its beginning, with the blocks it has had, which are kept for that. From then on it is
// simulated like any other.
//
// Where looking is of no use (blocks that all differ), or too much would have to be kept, all are simulated.
#include "model/abstract/abstract.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX  (128ull << 20) // bytes of traces
#define NOTES_MAX (1u << 16)
#define TRIES     16 // looked so often, and found less than half: no more
#define RUN_ON    UINT32_MAX

typedef struct event { // of an SM's course: a block starts, or it runs until one ends
    tbuf *b;           // NULL: runs
    uint32_t slot;
    uint64_t when;
} event;

typedef struct course { // of an SM
    bool live;          // it is simulated
    uint64_t hash, origin;
    ORR_VEC(event) events; // until it is
    uint64_t *end;         // [slot] when its last block ended
    bool *used;            // [slot] it has a block
    uint32_t running;
    uint64_t next; // the block of `slot` ends then
    uint32_t slot;
    uint64_t block_free, since, active, finished;
    orr_sm_counts n;       // of what was looked up
    orr_sm_counts counted; // by the SM itself, when a block ended last
} course;

typedef struct note { // what comes after a course
    uint64_t key, end;
    uint32_t slot;
    orr_sm_counts n;
} note;

struct alike {
    machine *m;
    course *courses;
    note *notes;
    uint32_t *table; // hashed: note + 1
    uint32_t cap, nnotes;
    uint32_t looked, found;
    bool follow;
    uint64_t kept;
    tbuf *done;
};

alike *abt_alike_new(machine *m) {
    alike *a = orr_calloc(1, sizeof *a);
    a->m = m;
    a->follow = !m->kernel->grows;
    a->cap = 2 * NOTES_MAX;
    a->table = orr_calloc(a->cap, sizeof *a->table);
    a->courses = orr_calloc(m->ncores, sizeof *a->courses);
    for (uint32_t n = 0; n < m->ncores; n++) {
        course *c = &a->courses[n];
        c->end = orr_calloc((size_t)m->occ->blocks, sizeof *c->end);
        c->used = orr_calloc((size_t)m->occ->blocks, sizeof *c->used);
        c->block_free = (uint64_t)m->gpu->launch_overhead;
        c->next = NEVER;
    }
    return a;
}

static void free_events(alike *a, course *c) {
    for (size_t n = 0; n < c->events.n; n++)
        if (c->events.at[n].b) {
            c->events.at[n].b->next = a->done;
            a->done = c->events.at[n].b;
        }
    free(c->events.at);
    memset(&c->events, 0, sizeof c->events);
}

void abt_alike_free(alike *a, supply *supply) {
    for (uint32_t n = 0; n < a->m->ncores; n++) {
        free_events(a, &a->courses[n]);
        free(a->courses[n].end);
        free(a->courses[n].used);
    }
    cyc_supply_done(supply, a->done);
    free(a->courses);
    free(a->notes);
    free(a->table);
    free(a);
}

// ---- hashes
// -------------------------------------------------------------------------------------------------
static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

// What a block's warps run and what their accesses cost; false: the trace is damaged.
static bool signature(machine *m, const tbuf *b, uint64_t *out) {
    const orr_program *p = m->code->program;
    uint64_t h = b->nwarps;
    for (uint32_t w = 0; w < b->nwarps; w++) {
        orr_trace t = orr_trace_open(b->warps[w]);
        uint32_t block, mask;
        int more;
        while ((more = orr_trace_block(&t, p->nblocks, &block, &mask)) > 0) {
            h = mix(h, (uint64_t)block << 32 | mask);
            if (p->blocks[block].naccess && !abt_memory_cost(m, block, &t, &h)) return false;
        }
        if (more < 0) return false;
        h = mix(h, w);
    }
    *out = h;
    return true;
}

// ---- notes
// --------------------------------------------------------------------------------------------------
static uint32_t *place(const alike *a, uint64_t key) {
    uint64_t k = key % a->cap;
    while (a->table[k] && a->notes[a->table[k] - 1].key != key) k = (k + 1) % a->cap;
    return &a->table[k];
}

static void write_down(alike *a, const course *c, const orr_sm_counts *n) {
    uint32_t *at = place(a, c->hash);
    if (*at || a->nnotes == NOTES_MAX) return;
    if (!(a->nnotes & (a->nnotes - 1)))
        a->notes = orr_realloc(a->notes, (a->nnotes ? 2 * (size_t)a->nnotes : 1) * sizeof *a->notes);
    a->notes[a->nnotes] = (note){
        .key = c->hash, .end = c->next == NEVER ? NEVER : c->next - c->origin, .slot = c->slot, .n = *n};
    *at = ++a->nnotes;
}

static void add(orr_sm_counts *to, const orr_sm_counts *more, const orr_sm_counts *less) {
    uint64_t *t = (uint64_t *)(void *)to;
    const uint64_t *a = (const uint64_t *)(const void *)more, *b = (const uint64_t *)(const void *)less;
    for (size_t k = 0; k < sizeof *to / sizeof *t; k++) t[k] += a[k] - (less ? b[k] : 0);
}

// ---- an SM
// --------------------------------------------------------------------------------------------------
static void recycle(alike *a, acore *s) {
    while (s->done) {
        tbuf *b = s->done;
        s->done = b->next;
        b->next = a->done;
        a->done = b;
    }
}

// The SM itself until one of its blocks ends.
static void run_on(alike *a, uint32_t n) {
    acore *s = &a->m->cores[n];
    course *c = &a->courses[n];
    s->starved = false;
    abt_core_run(s, NEVER);
    c->next = NEVER;
    if (s->starved) {
        c->slot = s->ended;
        c->next = s->blocks[s->ended].end;
    }
    recycle(a, s);
}

// From its beginning, with all that it has had.
static void come_alive(alike *a, uint32_t n) {
    acore *s = &a->m->cores[n];
    course *c = &a->courses[n];
    uint64_t next = c->next;
    uint32_t slot = c->slot;
    c->live = true;
    memset(&c->counted, 0, sizeof c->counted);
    abt_core_prepare(a->m, s);
    for (size_t k = 0; k < c->events.n; k++) {
        const event *e = &c->events.at[k];
        if (!e->b) {
            run_on(a, n);
            c->counted = s->n;
        } else {
            a->kept -= e->b->used;
            e->b->earliest = 0;
            abt_block_start(s, e->slot, e->b, e->when);
        }
    }
    free(c->events.at);
    memset(&c->events, 0, sizeof c->events);
    memset(&c->n, 0, sizeof c->n); // it has counted all of it itself
    c->next = next;
    c->slot = slot;
}

void abt_alike_start(alike *a, uint32_t n, uint32_t slot, tbuf *b, uint64_t when) {
    machine *m = a->m;
    course *c = &a->courses[n];
    if (when < c->block_free) when = c->block_free;
    if (c->end[slot] && when < c->end[slot] + m->c->turnaround) when = c->end[slot] + m->c->turnaround;
    if (when < b->earliest) when = b->earliest;
    c->block_free = when + m->spacing;
    c->used[slot] = true;
    if (!c->running++) c->since = when;
    if (!c->hash) {
        c->hash = 1;
        c->origin = when;
    }
    uint64_t what = 0;
    if (a->follow && !signature(m, b, &what)) a->follow = false; // whoever runs it will say so
    c->hash = mix(mix(mix(c->hash, what), slot), when - c->origin);
    if (c->live) {
        b->earliest = 0;
        abt_block_start(&m->cores[n], slot, b, when);
        return;
    }
    *ORR_PUSH(&c->events) = (event){b, slot, when};
    a->kept += b->used;
}

// Which of its blocks ends next.
static void go_on(alike *a, uint32_t n) {
    course *c = &a->courses[n];
    acore *s = &a->m->cores[n];
    if (!c->live) {
        const uint32_t *at = a->follow ? place(a, c->hash) : NULL;
        a->looked += a->follow;
        if (at && *at) {
            const note *x = &a->notes[*at - 1];
            a->found++;
            c->next = x->end == NEVER ? NEVER : c->origin + x->end;
            c->slot = x->slot;
            add(&c->n, &x->n, NULL);
            *ORR_PUSH(&c->events) = (event){NULL, RUN_ON, 0};
            c->hash = mix(c->hash, RUN_ON);
            if (a->kept > KEPT_MAX || (a->looked >= TRIES && a->found < a->looked / 2)) a->follow = false;
            return;
        }
        come_alive(a, n);
        if (a->looked >= TRIES && a->found < a->looked / 2) a->follow = false;
    }
    orr_sm_counts more = {0};
    run_on(a, n);
    add(&more, &s->n, &c->counted);
    c->counted = s->n;
    if (a->follow) write_down(a, c, &more);
    c->hash = mix(c->hash, RUN_ON);
}

bool abt_alike_ends(alike *a, uint32_t *n, uint32_t *slot, uint64_t *when) {
    uint64_t t = NEVER;
    for (uint32_t k = 0; k < a->m->ncores; k++) {
        course *c = &a->courses[k];
        if (!c->running) continue;
        if (c->next == NEVER) go_on(a, k);
        if (c->next >= t) continue;
        t = c->next;
        *n = k;
    }
    if (t == NEVER) return false;
    course *c = &a->courses[*n];
    *slot = c->slot;
    *when = c->next;
    c->end[c->slot] = c->next;
    c->used[c->slot] = false;
    if (c->next > c->finished) c->finished = c->next;
    if (!--c->running) c->active += c->next - c->since;
    c->next = NEVER;
    return true;
}

bool abt_alike_running(const alike *a) {
    for (uint32_t k = 0; k < a->m->ncores; k++)
        if (a->courses[k].running) return true;
    return false;
}

tbuf *abt_alike_done(alike *a) {
    tbuf *done = a->done;
    a->done = NULL;
    return done;
}

void abt_alike_sum(const alike *a, arun *out) {
    for (uint32_t k = 0; k < a->m->ncores; k++) {
        const course *c = &a->courses[k];
        if (c->finished > out->cycles) out->cycles = c->finished;
        out->sm_active += c->active;
        add(&out->n, &c->n, NULL);
        if (c->live) add(&out->n, &a->m->cores[k].n, NULL);
    }
}
