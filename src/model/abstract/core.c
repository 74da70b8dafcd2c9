// An SM: Algorithm 1 of the paper, with its sections II-D and II-E, a segment at a time.
//
// The paper takes the ready warp that the policy names, gives it its unit and asks when it is ready again
// (lines 7 to 14). Here the warps have their turn in the order of the policy, each for STEP cycles: a segment
// begins when what it waits for is there, its bursts take the first cycles of their scheduler and units that
// those before have left (slots), and it ends as much later than alone as they were held up. With warps in
// order of age this is what oldest first does. Cycles in which nobody goes on are not walked through (line
// 23).
#include "model/abstract/abstract.h"

#include <string.h>

#define AHEAD 8   // warps before it has its turn the host fetches what it needs
#define STEP  64  // cycles that a warp is simulated before the next one has its turn
#define SKEW  256 // cycles that the last warp of a batch may be behind the first

// Cycles side by side, of which `left` are free: from each of those in `run` on as many as an instruction
// takes; at the end of a word it does not matter.
static uint64_t runs(uint64_t left, uint32_t interval) {
    uint64_t run = left;
    for (uint32_t i = 1; i < interval && i < 32; i++) run &= left >> i | ~(UINT64_MAX >> i);
    return run;
}

uint64_t abt_slots_search(slots *q, uint64_t t, uint32_t n, uint32_t interval) {
    uint64_t b = t >> 6, before = (1ull << (t & 63)) - 1;
    uint32_t each = interval < 32 ? interval : 32, shift = (uint32_t)__builtin_ctz(each);
    bool even = each == 1u << shift;
    for (;; b++, before = 0) {
        if (b - q->full < q->to - q->full) {
            b = q->to;
            before = 0;
        }
        slot_word *w = &q->at[b % SLOT_WORDS];
        if (w->whose != b) *w = (slot_word){.whose = b};
        uint64_t left = ~(w->word | before), run = interval == 1 ? left : runs(left, interval);
        uint32_t last = 0;
        if (interval == 1 && n <= 8) { // the n lowest
            for (; n && run; n--) {
                last = (uint32_t)__builtin_ctzll(run);
                run &= run - 1;
            }
            w->word |= left ^ run;
            run = 0;
        }
        while (n && run) { // a stretch of free ones at a time
            uint32_t at = (uint32_t)__builtin_ctzll(run);
            uint64_t taken = ~(left >> at);
            uint32_t len = taken ? (uint32_t)__builtin_ctzll(taken) : 64;
            if (at + len == 64) len += each - 1;
            uint32_t fit = even ? len >> shift : len / each;
            if (fit > n) fit = n;
            uint64_t mine = (fit * each < 64 ? (1ull << fit * each) - 1 : UINT64_MAX) << at;
            w->word |= mine;
            left &= ~mine;
            run &= ~mine;
            last = at + (fit - 1) * each;
            n -= fit;
        }
        if (w->word == UINT64_MAX) {
            if (b != q->to) q->full = b;
            q->to = b + 1;
        }
        if (!n) return b << 6 | last;
    }
}

// ---- code blocks -------------------------------------------------------------------------------------
static bool read_accesses(awarp *w, uint32_t n) {
    for (uint32_t a = 0; a < n; a++) {
        w->access[a] = (uint32_t)(w->trace.at - w->base);
        if (!abt_access_skip(&w->trace)) return false;
    }
    return true;
}

// Block b comes after the one that the warp has ended at t: when it begins, as what both make and need has
// it.
static uint64_t follow(const acode *code, const machine *m, awarp *w, const acblock *b, uint64_t t) {
    if (!w->code) return t;
    const acblock *a = &code->blocks[w->code - 1];
    const aplace *p = code->places.at + a->late;
    for (uint32_t n = 0; n < a->nlate; n++, p++) w->ready.others[p->place] = t + p->cycles;
    if (a->jumps && b->first != a->end) t += m->c->branch.jump;
    p = code->places.at + b->use;
    for (uint32_t n = 0; n < b->nuse; n++, p++)
        if (w->ready.others[p->place] > t + p->cycles) t = w->ready.others[p->place] - p->cycles;
    return t;
}

// The next code block of its trace; false: there is none, or it waits (w->step.starved). Bodies:
// program/program.h, orr_tblock.
static bool next_block(acore *s, awarp *w, uint64_t *t) {
    const machine *m = s->m;
    acode *code = m->code;
    const orr_program *p = code->program;
    do {
        if (!w->has_next) {
            if (w->step.exec && w->trace.at == w->trace.end) {
                w->step.starved = abt_step_pull(s, w, t) == ORR_STEP_WAITS;
                if (w->step.starved) return false;
            }
            const uint8_t *event = w->trace.at;
            int more = orr_trace_block(&w->trace, p->nblocks, &w->next, &w->next_mask);
            if (more < 0) s->bad_trace = true;
            if (w->step.exec) abt_step_enter(w, event);
            w->has_next = more > 0;
        }
        if (!w->has_next) return false;
        w->predicated_off = w->body && w->next != w->body - 1;
        uint32_t which = w->predicated_off ? w->body - 1 : w->next;
        acblock *b = &code->blocks[which];
        w->body = p->blocks[which].body;
        w->mask = w->predicated_off ? 0 : w->next_mask;
        bool dry = b->ndry && w->memory_done <= *t;
        w->seg = dry ? b->dry : b->wet;
        w->end = w->seg + (dry ? b->ndry : b->nwet);
        uint64_t warps = w->n * (1ull + s->blocks.at[w->block].npeers);
        s->n.issued += b->count * warps;
        s->n.thread_insts += b->count * warps * (uint64_t)orr_popc(w->mask);
        if (!w->predicated_off) {
            w->has_next = false;
            bool known = !w->step.exec || !w->step.executes;
            if (!code->in_order && known && !read_accesses(w, p->blocks[which].naccess)) {
                s->bad_trace = true;
                return false;
            }
        }
        if (b->count) *t = follow(code, m, w, b, *t);
        if (b->count) w->code = which + 1;
    } while (w->seg == w->end); // a block whose code vanished in the lowering
    return true;
}

// ---- instructions that are more than a latency -------------------------------------------------------
// When all groups of copies but the newest `left` are done.
static uint64_t groups_done(const awarp *w, uint32_t left) {
    uint64_t t = 0;
    for (uint32_t back = left + 1; back < MAX_GROUPS && back <= w->group; back++) {
        uint64_t at = w->group_ready[(w->group - back) % MAX_GROUPS];
        if (at > t) t = at;
    }
    return t;
}

// A fence under a predicate that no lane has.
static bool fence_is_off(const acore *s, const awarp *w, const aseg *g) {
    const acode *code = s->m->code;
    if (!g->gate || code->in_order || w->step.exec || !w->code) return false;
    if (g->gate > code->program->blocks[w->code - 1].naccess) return false;
    orr_trace t = abt_async_access(w, g->gate - 1u, 0);
    orr_access a;
    return orr_trace_access(&t, &a) && !a.mask;
}

static uint64_t before(const acore *s, const awarp *w, const aseg *g, uint64_t t) {
    const orr_tinst *i = &s->m->code->program->insts[g->head];
    if (g->before == ORR_TK_PRODUCT || g->before == ORR_TK_PRODUCT_WAIT) return abt_async_before(s, w, i, t);
    if (g->before == ORR_TK_FENCE)
        return fence_is_off(s, w, g) ? t : latest(t, latest(w->loads_done, w->async.remote_done));
    return latest(t, groups_done(w, i->imm));
}

static uint64_t fence(acore *s, const awarp *w, const orr_tinst *i, uint64_t now) {
    const orr_gpu *g = s->m->gpu;
    double cost = orr_fence_cycles(g, i->imm);
    uint64_t t = now + (cost >= 1 ? (uint64_t)cost : 1);
    uint64_t heard = w->stores_done + (uint64_t)g->core_fence_store; // for the GPU: L2 must have them
    if (i->imm >= 1 && now < w->stores_done) t = latest(t, heard);
    if (i->imm >= 1 && s->fences.on) t = latest(t, abt_fence(s, i->imm, now));
    // nor before the bulk loads are there that the SM has asked for (cycle/sm.c)
    uint64_t bulk = i->imm >= 1 ? abt_async_landed(s) : 0;
    return now < bulk ? latest(t, bulk + (uint64_t)g->core_fence_store) : t;
}

// The segment's code: cycles that it waits for it. Where all code fits into the cache, what has been there
// once stays.
static uint64_t fetch(acore *s, awarp *w, const aseg *g, uint64_t t) {
    asched *q = &s->sched[w->sched];
    uint64_t late = 0;
    bool there = s->m->fetch.fits;
    for (uint32_t n = 0; n < g->nlines; n++) {
        if (w->fetched == g->line + n) continue;
        uint64_t want = t + late + (uint64_t)g->len * n * w->stretch / 16 / g->nlines,
                 at = abt_fetch(s, w, g->line + n, want, &there);
        if (at > want) late += at - want;
    }
    if (there) q->seen[w->seg / 64] |= 1ull << w->seg % 64;
    return late;
}

// ---- a batch ----------------------------------------------------------------------------------------
// The segment for those that follow, booked all at once between when the first of them has begun with it, at
// `from`, and when the last of them can have issued the last of it, skew cycles after `to`.
static void follow_segment(acore *s, awarp *w, const aseg *g, uint64_t from, uint64_t to) {
    uint64_t room = to - from + w->skew, most = w->skew;
    for (uint32_t k = 0; k < w->batch.nparts; k++) {
        asched *q = &s->sched[w->batch.part[k].sched];
        uint32_t n = w->batch.part[k].n * g->slots, busy = w->batch.part[k].n * g->busy;
        uint64_t takes = n * s->m->issue_interval, free = room > takes ? (room - takes) / 2 : 0;
        uint64_t last = slots_take(&q->slots, from + free, n, (uint32_t)s->m->issue_interval);
        if (last > to + most) most = last - to;
        if (!busy) continue;
        free = room > busy ? (room - busy) / 2 : 0;
        last = slots_take(&s->pools.at[q->pool_of[g->unit]], from + free, busy, 1);
        if (last > to + most) most = last - to;
    }
    w->skew = (uint32_t)most;
}

// They are booked after what the first one does next: it goes before them.
static void catch_up(acore *s, awarp *w) {
    if (!w->batch.pending) return;
    follow_segment(s, w, &s->m->code->segs.at[w->batch.pending - 1], w->batch.pending_from,
                   w->batch.pending_to);
    w->batch.pending = 0;
}

// ---- a warp ------------------------------------------------------------------------------------------
// The segment begins when what it needs of loads is there: for the first of a batch, and for the last.
static inline uint64_t wait_for_loads(acore *s, awarp *w, const aseg *g, uint64_t t) {
    const uint16_t *at = s->m->code->waits.at + g->wait;
    catch_up(s, w);
    uint64_t last = t + w->skew;
    for (uint32_t k = 0; k < g->nwait; k++) {
        if (w->ready.loads[at[k]] > t) t = w->ready.loads[at[k]];
        if (w->ready.rear[at[k]] > last) last = w->ready.rear[at[k]];
    }
    w->skew = last > t ? (uint32_t)(last - t) : 0;
    return t;
}

// Its bursts take their slots and units from t on; the cycles that they are held up.
static inline uint64_t issue(acore *s, const asched *q, slots *sched, const aseg *g, uint64_t t) {
    const machine *m = s->m;
    uint64_t interval = m->issue_interval, delay = 0;
    const aburst *burst = m->code->bursts.at + g->burst;
    for (uint32_t k = 0; k < g->nbursts; k++, burst++) {
        uint64_t at = t + burst->at + delay;
        uint64_t last = slots_take(sched, at, burst->slots + burst->banks, (uint32_t)interval);
        uint64_t over = at + (burst->slots - 1) * interval, lost = last > over ? last - over : 0;
        if (burst->busy) {
            uint32_t busy = burst->busy;
            uint64_t unit = slots_take(&s->pools.at[q->pool_of[burst->unit]], at, busy, 1) + 1;
            if (unit > at + busy + lost) lost = unit - at - busy;
        }
        delay += lost;
    }
    return delay;
}

// An access of which nothing but the cost matters, at cycle `at`: so much the segment is later, with what it
// was before. `slack`: so much it may be late before anybody has to wait for it.
static inline uint64_t quiet_access(acore *s, awarp *w, const amem *x, uint64_t at, uint64_t slack,
                                    uint64_t late) {
    uint32_t more, all, cycles = abt_memory_cost(s, w, x, &more, &all);
    at += late;
    uint64_t over = slots_take(&s->lsu.passes, at, cycles, 1) + 1 - cycles;
    more += (uint32_t)(over > at ? over - at : 0);
    if (more > slack + late) late = more - slack;
    if (all == cycles) return late;
    // those that follow, all at once, so that the last comes in time if it can
    uint64_t behind = w->skew > all - cycles ? w->skew - (all - cycles) : 0;
    uint64_t last = slots_take(&s->lsu.passes, at + behind, all - cycles, 1) + 1;
    if (last > at + late + slack + w->skew + cycles) w->skew = (uint32_t)(last - at - late - slack - cycles);
    return late;
}

static bool is_near_or_generic(const acore *s, const amem *x) {
    uint8_t space = s->m->code->program->insts[x->inst].space;
    return space == ORR_SPACE_SHARED || space == ORR_SPACE_GENERIC;
}

// An access of other blocks' shared memory at cycle `at`, whose result is there, or which has been sent, at
// `ready`: the cycles that it holds its warp up.
static uint64_t far_access(awarp *w, const amem *x, uint64_t at, uint64_t ready) {
    for (uint32_t d = 0; x->late && d < x->nset; d++)
        w->ready.loads[x->set[d]] = w->ready.rear[x->set[d]] = latest(w->ready.loads[x->set[d]], ready);
    if (x->loads) w->loads_done = latest(w->loads_done, ready);
    if (x->late) w->memory_done = latest(w->memory_done, ready);
    uint64_t due = x->late ? ready : x->loads ? at + x->latency + x->slack : at;
    return ready > due ? ready - due : 0;
}

// The memory instructions of a segment that begins at t: the cycles that they hold it up.
static uint64_t accesses(acore *s, awarp *w, const aseg *g, uint64_t t, uint64_t shift, uint64_t len) {
    const amem *first = &s->m->code->mems.at[g->mem], *x = first;
    uint64_t late = 0;
    bool loud = false;
    for (uint32_t k = 0; k < g->nmem; k++, x++) {
        uint64_t at = t + x->at + (shift ? shift * x->at / len : 0);
        uint64_t ready;
        if (s->m->cluster > 1 && !s->m->code->in_order && is_near_or_generic(s, x) &&
            abt_cluster_access(s, w, x, at, &ready)) {
            late = latest(late, far_access(w, x, at, ready));
        } else if (x->quiet) {
            // Who needs it has been held up meanwhile, as all of the segment has.
            uint64_t slack = x->slack + (shift ? shift * (x->latency + x->slack) / len : 0);
            late = quiet_access(s, w, x, at, slack, late);
        } else {
            abt_memory_begin(s, w, first, k, at);
            loud = true;
        }
    }
    uint64_t held = loud ? abt_memory_end(s, w, g->nmem) : 0;
    return held > late ? held : late;
}

// The segment that the warp is at, from t on; when it has ended.
static inline uint64_t run_segment(acore *s, awarp *w, const aseg *g, uint64_t t) {
    asched *q = &s->sched[w->sched];
    if (!(q->seen[w->seg / 64] >> w->seg % 64 & 1)) t += fetch(s, w, g, t);
    uint64_t len = g->len, delay = issue(s, q, &q->slots, g, t), end = t + len + delay;
    if (!s->m->fetch.fits) w->stretch = (uint32_t)((len + delay) * 16 / (len ? len : 1));
    if (w->batch.nparts) {
        catch_up(s, w);
        w->batch.pending = w->seg + 1;
        w->batch.pending_from = t;
        w->batch.pending_to = end - g->tail;
    }
    if (g->nmem && !w->predicated_off) end += accesses(s, w, g, t, delay, len);
    if (w->skew > SKEW) { // so far apart they do not go together: the first one waits
        end += w->skew - SKEW;
        w->skew = SKEW;
    }
    w->seg++;
    return end;
}

static void end_warp(acore *s, awarp *w, uint32_t id, uint64_t t) {
    catch_up(s, w);
    s->queue.when[id] = t;
    abt_block_warp_ended(s, id);
}

// The special instruction that a segment has ended with, at *t. True: the warp has to wait.
static bool special(acore *s, awarp *w, uint32_t id, const aseg *g, uint64_t *t) {
    const machine *m = s->m;
    const orr_tinst *i = &m->code->program->insts[g->inst];
    uint64_t end = *t;
    if (g->after == ORR_TK_GROUP) {
        w->group_ready[++w->group % MAX_GROUPS] = 0;
    } else if (g->after == AFTER_INVALIDATE) {
        if (!w->predicated_off) abt_fences_invalidate(s, end - g->tail);
    } else if (g->after == ORR_TK_FENCE) {
        uint64_t then = fence_is_off(s, w, g) ? end : fence(s, w, i, end - g->tail);
        if (then > end) *t = then;
    } else if (w->predicated_off) {
        return false;
    } else if (g->after != ORR_TK_BARRIER) {
        catch_up(s, w);
        return abt_async_after(s, id, g, t);
    } else if (w->step.exec) { // its executor says whether it waits: some of its lanes may have come before
        s->blocks.at[w->block].bar_latency = i->latency ? i->latency : 1;
        if (!(i->flags & ORR_TF_ARRIVE)) *t = latest(end, end - g->tail + s->blocks.at[w->block].bar_latency);
    } else {
        catch_up(s, w);
        // the next code block first: it may be the end
        if (w->seg == w->end && !next_block(s, w, t)) {
            end_warp(s, w, id, *t);
            return true;
        }
        s->queue.when[id] = *t;
        if (i->imm == CLUSTER_BARRIER) {
            bool waits = abt_cluster_barrier(s, id, i, end - g->tail + w->skew);
            if (!waits) *t = s->queue.when[id];
            return waits;
        }
        abt_block_barrier(s, id, i, end - g->tail + w->skew);
        return !(i->flags & ORR_TF_ARRIVE); // it waits, or has been let go
    }
    return false;
}

// From when it is to go on, until `until` or until it waits for others.
static void run_warp(acore *s, uint32_t id, uint64_t until) {
    const aseg *segs = s->m->code->segs.at;
    awarp *w = &s->warps[id];
    uint64_t t = s->queue.when[id];
    for (;;) {
        bool later = w->step.exec && w->seg == w->end && t >= until; // it is executed when it is time
        if (later || (w->seg == w->end && !next_block(s, w, &t))) {
            if (later)
                s->queue.when[id] = t;
            else if (w->step.starved)
                s->queue.when[id] = t | WAITS;
            else
                end_warp(s, w, id, t);
            return;
        }
        const aseg *g = &segs[w->seg];
        if (g->nwait && w->memory_done > t) t = wait_for_loads(s, w, g, t);
        if (g->before && !w->predicated_off) t = before(s, w, g, t);
        if (t >= until) {
            s->queue.when[id] = t;
            return;
        }
        uint64_t sleeps = w->step.exec ? abt_step_reach(s, w, g, t) : 0;
        t = run_segment(s, w, g, t) + sleeps;
        if (s->bad_trace || (g->after && special(s, w, id, g, &t))) return;
    }
}

// ---- the loop ----------------------------------------------------------------------------------------
// Warps that have ended leave the list; when the first of the others goes on.
static void look(acore *s) {
    uint32_t n = 0;
    uint64_t t = NEVER;
    for (uint32_t k = 0; k < s->queue.n; k++) {
        uint16_t id = s->queue.order[k];
        uint64_t when = s->queue.when[id];
        s->queue.order[n] = id;
        n += when != NEVER;
        if (when < t) t = when;
    }
    s->queue.n = n;
    s->queue.next = t;
}

// Those that go on before `stop`, in the order of the policy: oldest first, in turn, youngest first (gtb,
// too). *rest: when the first of the others does.
static uint32_t choose(acore *s, uint64_t stop, uint64_t *rest) {
    int policy = s->m->gpu->core_policy;
    bool oldest = policy == ORR_SCHED_GTO || policy == ORR_SCHED_OLDEST,
         turns = !oldest && policy != ORR_SCHED_GTY && policy != ORR_SCHED_GTB;
    uint32_t n = s->queue.n, run = 0, at = oldest ? 0 : turns && n ? s->queue.turn++ % n : n - 1;
    uint64_t later = NEVER;
    for (uint32_t k = 0; k < n; k++) {
        uint16_t id = s->queue.order[at];
        uint64_t when = s->queue.when[id];
        s->queue.list[run] = id;
        if (when < stop)
            run++;
        else if (when < later)
            later = when;
        at = oldest ? at + 1 : !turns ? at - 1 : at + 1 < n ? at + 1 : 0;
    }
    for (uint32_t k = 0; k < run; k++) {
        const uint8_t *w = (const uint8_t *)&s->warps[s->queue.list[k]];
        __builtin_prefetch(s->queue.at[s->queue.list[k]]);
        for (uint32_t line = 0; line < 192; line += 64) __builtin_prefetch(w + line);
    }
    *rest = later;
    return run;
}

void abt_core_soon(const acore *s) {
    uint32_t word = (uint32_t)(s->queue.next >> 6) % SLOT_WORDS;
    for (uint32_t k = 0; k < s->queue.n; k += 8) __builtin_prefetch(&s->queue.when[k]);
    for (uint32_t k = 0; k < s->m->nsched; k++) {
        __builtin_prefetch(&s->sched[k].slots.full, 1);
        __builtin_prefetch(&s->sched[k].slots.at[word], 1);
        __builtin_prefetch(s->sched[k].seen);
    }
    __builtin_prefetch(&s->lsu.passes.full, 1);
    __builtin_prefetch(&s->lsu.passes.at[word], 1);
    __builtin_prefetch(&s->port.send, 1);
    const acode *code = s->m->code;
    for (uint32_t k = 0; k < code->nunits; k++)
        for (uint32_t n = 0; n < s->m->nsched; n++)
            __builtin_prefetch(&s->pools.at[s->sched[n].pool_of[code->unit[k]]].at[word], 1);
}

void abt_core_run(acore *s, uint64_t until) {
    while (s->queue.next < until && !s->bad_trace) {
        uint64_t stop = s->queue.next + STEP < until ? s->queue.next + STEP : until;
        uint64_t next;
        abt_async_send(s, stop);
        uint32_t run = choose(s, stop, &next);
        s->queue.changed = false;
        for (uint32_t k = 0; k < run && k < AHEAD && !s->m->perfect; k++)
            abt_memory_prefetch(s, &s->warps[s->queue.list[k]]);
        for (uint32_t k = 0; k < run && !s->bad_trace; k++) {
            if (!s->m->perfect && k + AHEAD < run)
                abt_memory_prefetch(s, &s->warps[s->queue.list[k + AHEAD]]);
            run_warp(s, s->queue.list[k], stop);
            s->queue.at[s->queue.list[k]] = s->warps[s->queue.list[k]].trace.at;
            if (s->queue.when[s->queue.list[k]] < next) next = s->queue.when[s->queue.list[k]];
        }
        if (s->queue.changed)
            look(s);
        else
            s->queue.next = next;
        uint64_t due = abt_async_due(s);
        if (due < s->queue.next) s->queue.next = due;
    }
}
