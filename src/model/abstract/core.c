// An SM: Algorithm 1 of the paper, with its sections II-D and II-E.
//
// A scheduler takes one of the warps that are ready and whose unit is free (lines 7 to 9), by the policy of
// the description. The warp is ready again when the registers its next instruction needs are there: each has
// a time, the issue of the instruction that writes it and that instruction's latency (line 14), or what
// memory says (line 12). When nobody is ready time goes on to the next who is (line 23); the wheel finds it.
// Several schedulers take turns in a cycle (II-E.2); warps of all resident blocks are in one wheel (II-E.1).
#include "model/abstract/abstract.h"

#include <string.h>

// Schedulers of an SM meet at memory, at barriers, at units they share and where a warp ends: `apart` is
// clear for such instructions (code.c). All others are a scheduler's own business, so it may go through them
// by itself for as long as a barrier takes: what the others do in that time cannot wake any of its warps
// earlier.

// ---- the wheel
// ---------------------------------------------------------------------------------------------- Bit `bit` is
// ready at t, which is after what has been drained.
static inline void insert(asched *q, uint32_t bit, uint64_t t) {
    uint64_t g = t / NEAR, me = 1ull << bit;
    q->ready[bit] = t;
    if (g <= q->group + 1) {
        q->wheel[t % (2 * NEAR)] |= me;
        q->soon[g & 1] |= 1ull << t % NEAR;
    } else {
        uint64_t k = g - q->group < GROUPS ? g % GROUPS : (q->group + GROUPS - 1) % GROUPS;
        q->later[k] |= me;
        q->later_set |= 1ull << k;
    }
}

static void migrate(asched *q, uint64_t g) {
    uint64_t k = g % GROUPS;
    if (!(q->later_set >> k & 1)) return;
    uint64_t who = q->later[k];
    q->later[k] = 0;
    q->later_set &= ~(1ull << k);
    for (; who; who &= who - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(who);
        insert(q, bit, q->ready[bit]);
    }
}

static inline void wake_slots(asched *q, uint64_t group, uint64_t slots) {
    q->soon[group & 1] &= ~slots;
    uint64_t *wheel = q->wheel + (group & 1) * NEAR;
    for (; slots; slots &= slots - 1) {
        uint64_t *at = &wheel[__builtin_ctzll(slots)];
        q->awake |= *at;
        *at = 0;
    }
}

static void next_groups(asched *q, uint64_t g) {
    while (q->group < g) {
        if (!q->soon[0] && !q->soon[1] && !q->later_set) {
            q->group = g;
            break;
        }
        wake_slots(q, q->group, q->soon[q->group & 1]);
        q->group++;
        migrate(q, q->group + 1);
    }
}

// Those whose time has come are awake.
static inline void drain(asched *q, uint64_t now) {
    uint64_t g = now / NEAR;
    if (q->group < g) next_groups(q, g);
    uint64_t due = q->soon[g & 1] & (UINT64_MAX >> (NEAR - 1 - now % NEAR));
    if (due) wake_slots(q, g, due);
}

// When the next one is ready.
static uint64_t next_ready(const asched *q) {
    for (uint64_t g = q->group; g <= q->group + 1; g++)
        if (q->soon[g & 1]) return g * NEAR + (uint64_t)__builtin_ctzll(q->soon[g & 1]);
    if (!q->later_set) return NEVER;
    uint64_t from = (q->group + 2) % GROUPS;
    uint64_t turned = q->later_set >> from | (from ? q->later_set << (GROUPS - from) : 0);
    uint64_t k = (from + (uint64_t)__builtin_ctzll(turned)) % GROUPS, t = NEVER;
    for (uint64_t who = q->later[k]; who; who &= who - 1) {
        uint64_t at = q->ready[__builtin_ctzll(who)];
        if (at < t) t = at;
    }
    // Those further than the wheel reaches are kept in its last group: look again when that comes.
    uint64_t last = (q->group + GROUPS - 1) * NEAR;
    return t > last ? last : t;
}

void abt_sched_reset(asched *q) {
    if (q->live || q->later_set || q->soon[0] || q->soon[1]) { // an error left something behind
        memset(q->wheel, 0, sizeof q->wheel);
        memset(q->later, 0, sizeof q->later);
    }
    q->awake = q->live = q->memory = q->watch = q->active = q->used = 0;
    q->wake = NEVER;
    q->next_issue = q->group = q->later_set = q->time = 0;
    q->soon[0] = q->soon[1] = 0;
    q->nbits = 0;
    q->last = MAX_WARPS;
    q->yield = false;
    memset(q->bank_free, 0, sizeof q->bank_free);
}

// Bits stand for warps in order of age, so that the oldest is the lowest. When they have run out, what is
// left moves down.
static void compact(asched *q) {
    uint64_t awake = 0, memory = 0, watch = 0, active = 0, waits = 0, wheel = 0;
    for (int k = 0; k < 2 * NEAR; k++) wheel |= q->wheel[k];
    for (int k = 0; k < GROUPS; k++) wheel |= q->later[k];
    uint32_t n = 0, last = MAX_WARPS;
    for (uint64_t m = q->live; m; m &= m - 1, n++) {
        uint32_t b = (uint32_t)__builtin_ctzll(m);
        awake |= (q->awake >> b & 1) << n;
        memory |= (q->memory >> b & 1) << n;
        active |= (q->active >> b & 1) << n;
        waits |= (wheel >> b & 1) << n;
        watch |= (q->watch >> b & 1) << n;
        if (q->last == b) last = n;
        q->who[n] = q->who[b];
        q->at[n] = q->at[b];
        q->pool[n] = q->pool[b];
        q->ready[n] = q->ready[b];
        q->warps[q->who[n]].at_bit = (uint8_t)n;
    }
    q->nbits = n;
    q->live = n >= 64 ? UINT64_MAX : (1ull << n) - 1;
    q->awake = awake;
    q->memory = memory;
    q->active = active;
    q->last = last;
    q->watch = watch;
    memset(q->wheel, 0, sizeof q->wheel);
    memset(q->later, 0, sizeof q->later);
    q->later_set = q->soon[0] = q->soon[1] = 0;
    for (; waits; waits &= waits - 1) {
        uint32_t b = (uint32_t)__builtin_ctzll(waits);
        if (q->ready[b] <= q->time)
            q->awake |= 1ull << b;
        else
            insert(q, b, q->ready[b]);
    }
}

void abt_sched_add(asched *q, uint32_t warp) {
    if (q->nbits == MAX_WARPS) compact(q);
    uint32_t b = q->nbits++;
    q->live |= 1ull << b;
    q->who[b] = (uint8_t)warp;
    q->memory &= ~(1ull << b);
    q->watch &= ~(1ull << b);
    q->warps[warp].at_bit = (uint8_t)b;
}

void abt_sched_remove(asched *q, uint32_t warp) {
    uint32_t b = q->warps[warp].at_bit;
    uint64_t me = 1ull << b;
    q->live &= ~me;
    q->awake &= ~me;
    q->active &= ~me;
    q->used &= ~(1ull << warp);
    if (q->last == b) q->last = MAX_WARPS;
    if (!q->live) q->nbits = 0;
}

// ---- warps
// --------------------------------------------------------------------------------------------------
static bool read_accesses(awarp *w, uint32_t n) {
    for (uint32_t a = 0; a < n; a++) {
        w->access[a] = (uint32_t)(w->trace.at - w->base);
        if (!orr_trace_skip(&w->trace)) return false;
    }
    return true;
}

// The next code block of its trace; false: there is none. Bodies: timed.h, orr_tblock.
bool abt_warp_next_block(acore *s, awarp *w) {
    const acode *code = s->m->code;
    const orr_program *p = code->program;
    do {
        if (!w->has_then) {
            int more = orr_trace_block(&w->trace, p->nblocks, &w->then, &w->then_mask);
            if (more < 0) s->damaged = true;
            w->has_then = more > 0;
        }
        if (!w->has_then) return false;
        w->ghost = w->body && w->then != w->body - 1;
        const orr_tblock *b = &p->blocks[w->ghost ? w->body - 1 : w->then];
        w->mask = w->ghost ? 0 : w->then_mask;
        w->at = b->first;
        w->end = b->first + b->count;
        w->body = b->body;
        s->n.issued += b->count;
        s->n.thread_insts += (uint64_t)b->count * (uint64_t)orr_popc(w->mask);
        if (!w->ghost) {
            w->has_then = false;
            if (!code->in_order && !read_accesses(w, b->naccess)) {
                s->damaged = true;
                return false;
            }
        }
    } while (w->at == w->end);
    return true;
}

// When all groups of copies but the newest `left` are done.
static uint64_t groups_done(const awarp *w, uint32_t left) {
    uint64_t t = 0;
    for (uint32_t back = left + 1; back < MAX_GROUPS && back <= w->group; back++) {
        uint64_t at = w->group_ready[(w->group - back) % MAX_GROUPS];
        if (at > t) t = at;
    }
    return t;
}

// When what the next instruction needs is there.
static uint64_t special_ready(const machine *m, const awarp *w, const ainst *i, uint64_t t) {
    if (i->kind == ORR_TK_FENCE) return w->landed > t ? w->landed : t;
    if (i->kind != ORR_TK_WAIT_GROUP) return t;
    const orr_tinst *x = &m->code->program->insts[w->at];
    uint64_t at = groups_done(w, x->imm);
    if (at > t) t = at;
    if (x->warps && !x->imm && w->bar[(x->warps - 1u) % 6] > t) t = w->bar[(x->warps - 1u) % 6];
    return t;
}

static inline const uint16_t *regs_of(const acode *code, const ainst *i) {
    return i->nwait + i->nset <= NEAR_REGS ? i->near : code->regs + i->regs;
}

static inline uint64_t when_ready(const machine *m, const awarp *w, const ainst *i) {
    uint64_t t = w->front, a = w->reg[i->first[0]], b = w->reg[i->first[1]];
    t = a > t ? a : t;
    t = b > t ? b : t;
    if (i->flags & AF_MORE) {
        const uint16_t *r = regs_of(m->code, i);
        for (uint32_t n = 2; n < i->nwait; n++) t = w->reg[r[n]] > t ? w->reg[r[n]] : t;
    }
    for (uint32_t m6 = i->wait; m6; m6 &= m6 - 1) {
        uint64_t at = w->bar[orr_ffs(m6)];
        t = at > t ? at : t;
    }
    return i->flags & AF_PLAIN ? t : special_ready(m, w, i, t);
}

// The scheduler learns what the warp wants and when; what is ready by `soon` counts as ready. `was`: flags it
// knows of the warp, as far as they differ.
static inline void look(const machine *m, asched *q, const awarp *w, const ainst *i, uint8_t was,
                        uint64_t soon) {
    uint32_t bit = w->at_bit;
    uint64_t t = when_ready(m, w, i), me = 1ull << bit;
    q->at[bit] = w->at;
    q->pool[bit] = q->pool_of[i->unit];
    if (was & (AF_MEMORY | AF_WATCH)) {
        q->memory = (q->memory & ~me) | (uint64_t)(i->flags & AF_MEMORY) << bit;
        q->watch = (q->watch & ~me) | (uint64_t)(i->flags >> 1 & 1) << bit;
    }
    if (t <= soon)
        q->awake |= me;
    else
        insert(q, bit, t);
}

// The same from outside: the scheduler may have to look earlier.
void abt_warp_look(acore *s, awarp *w) {
    asched *q = &s->sched[w->sched];
    look(s->m, q, w, &s->m->code->insts[w->at], 0xff, q->time);
    uint64_t t = q->awake >> w->at_bit & 1 ? q->time : q->ready[w->at_bit];
    if (t < q->next_issue) t = q->next_issue;
    if (t < q->wake) q->wake = t;
    if (q != s->runs && t < s->others) s->others = t;
}

// ---- issue
// -------------------------------------------------------------------------------------------------- Takes
// one of the pool for some cycles; returns how long the instruction waits in front of it.
static inline uint64_t occupy(acore *s, uint32_t which, uint64_t now, uint64_t cycles) {
    pool *p = &s->pools[which];
    if (p->n == 1 && !p->queue) {
        s->pool_free[which] = now + cycles;
        return 0;
    }
    uint32_t best = 0;
    for (uint32_t n = 1; n < p->n; n++)
        if (p->at[n] < p->at[best]) best = n;
    uint64_t start = p->queue && p->at[best] > now ? p->at[best] : now;
    p->at[best] = start + cycles;
    uint64_t t = p->at[0], ahead = p->queue * cycles;
    for (uint32_t n = 1; n < p->n; n++)
        if (p->at[n] < t) t = p->at[n];
    s->pool_free[which] = t > ahead ? t - ahead : 0;
    return start - now;
}

// A tensor instruction while the SM's clock is held back takes twice as long (core.tensor_ramp).
static void ramp(acore *s, const asched *q, awarp *w, const ainst *i, uint64_t now) {
    if (!s->ramp) s->ramp = now + (uint64_t)s->m->gpu->core_tensor_ramp;
    if (now >= s->ramp) return;
    s->pool_free[q->pool_of[i->unit]] += i->busy;
    w->front += w->front - now;
}

// Register banks of modern cores, as cycle/sm.c has them: cycles that the instruction waits for its operands.
// (Schedulers that share a sub-core, which no modern GPU has, each have banks of their own here.)
static uint64_t read_banks(const acore *s, asched *q, const ainst *i, uint64_t now) {
    const machine *m = s->m;
    uint64_t ports = m->ports, window = m->bank_window, first = now * ports, t = first;
    for (uint32_t b = 0; b < m->nbanks; b++) {
        uint64_t slack = window > i->reads[b] && !i->apart ? window - i->reads[b] : 0;
        if (i->reads[b] && q->bank_free[b] > t + slack) t = q->bank_free[b] - slack;
    }
    if (ports > 1) t = (t + ports - 1) / ports * ports;
    for (uint32_t b = 0; b < m->nbanks; b++)
        if (i->reads[b]) q->bank_free[b] = (q->bank_free[b] > t ? q->bank_free[b] : t) + i->reads[b];
    return ports > 1 ? (t - first) / ports : t - first;
}

static inline void result(const acode *code, awarp *w, const ainst *i, uint64_t ready) {
    w->reg[i->result] = ready;
    if (i->flags & AF_MORE) {
        const uint16_t *r = regs_of(code, i) + i->nwait;
        for (uint32_t d = 1; d < i->nset; d++) w->reg[r[d]] = ready;
    }
    if (i->wbar < 6 && w->bar[i->wbar] < ready) w->bar[i->wbar] = ready;
}

static void fence(const acore *s, awarp *w, const orr_tinst *i, uint64_t now) {
    const orr_gpu *g = s->m->gpu;
    double t = i->imm >= 3 ? g->core_fence_system : i->imm >= 1 ? g->core_fence_gpu : g->core_fence_block;
    w->front = now + (t >= 1 ? (uint64_t)t : 1);
    uint64_t heard = w->stored + (uint64_t)g->core_fence_store; // for the GPU: L2 must have them
    if (i->imm >= 1 && now < w->stored && w->front < heard) w->front = heard;
}

// What is more than a latency.
static void special(acore *s, awarp *w, const ainst *i, uint32_t inst, uint64_t now, uint64_t start) {
    const acode *code = s->m->code;
    switch (i->kind) {
    case ORR_TK_MEM:
        s->now = now;
        if (w->ghost)
            result(code, w, i, now + start + 1);
        else
            abt_memory(s, w, inst, i, start);
        break;
    case ORR_TK_FENCE: fence(s, w, &code->program->insts[inst], now); break;
    case ORR_TK_GROUP: w->group++; break;
    default: result(code, w, i, now + start + i->latency);
    }
    // B2R: what the barrier found; the warp goes on when it has it.
    if (i->found && w->front < now + i->latency) w->front = now + i->latency;
}

// One instruction of a warp; `more`: another could go with it. Returns when the scheduler can issue again.
static inline uint64_t issue(acore *s, asched *q, uint32_t bit, uint64_t now, bool more) {
    machine *m = s->m;
    const acode *code = m->code;
    awarp *w = &q->warps[q->who[bit]];
    uint32_t inst = q->at[bit];
    const ainst *i = &code->insts[inst];
    bool plain = i->flags & AF_PLAIN, ghost = w->ghost;
    q->awake &= ~(1ull << bit);
    q->last = bit;
    q->yield = i->yield;
    uint64_t start = 0, queued = 0;
    w->front = now + (more && i->step == 1 ? 0 : i->step);
    if (i->flags & AF_RARE) {
        if (i->banks) start = read_banks(s, q, i, now);
        if (i->flags & AF_WATCH) queued = occupy(s, q->pool[bit], now + start, i->busy);
        if (i->tensor) ramp(s, q, w, i, now);
        w->front += start + i->hold;
    } else if (i->flags & AF_WATCH) {
        queued = occupy(s, q->pool[bit], now, i->busy);
    }
    uint64_t next = now + m->issue_interval + start;
    if (plain)
        result(code, w, i, now + queued + i->latency);
    else
        special(s, w, i, inst, now, i->kind == ORR_TK_MEM ? start + queued : queued);
    if (++w->at == w->end && !abt_warp_next_block(s, w)) {
        s->now = now;
        abt_block_warp_ended(s, w);
        return next;
    }
    const ainst *then = &code->insts[w->at];
    if (i->jumps && (w->at != inst + 1 || code->program->insts[inst].sass == ORR_SASS_BSYNC))
        w->front += m->c->branch_jump;
    if (m->fetches && then->flags & AF_LINE && w->fetched != then->line) {
        uint64_t t = abt_fetch(s, w, then->line, now);
        if (t > w->front) w->front = t;
    }
    if (!plain && i->kind == ORR_TK_BARRIER && !ghost) {
        s->now = now;
        abt_block_barrier(s, w, &code->program->insts[inst]);
        if (!(code->program->insts[inst].flags & ORR_TF_ARRIVE))
            return next; // it waits, or it has been let go and looked after
    }
    look(m, q, w, then, then->flags ^ i->flags, more ? now : next);
    return next;
}

// ---- who
// ------------------------------------------------------------------------------------------------------
static uint32_t first_after(uint64_t can, uint32_t last) {
    uint64_t after = last < 63 ? can & ~((2ull << last) - 1) : 0;
    return (uint32_t)__builtin_ctzll(after ? after : can);
}

static uint32_t two_level(asched *q, uint64_t can, uint32_t limit) {
    uint64_t waits = q->live & ~q->awake; // for long: not in the next cycles
    for (uint64_t m = q->active & waits; m; m &= m - 1) {
        uint32_t b = (uint32_t)__builtin_ctzll(m);
        if (q->ready[b] / NEAR > q->group + 1) q->active &= ~(1ull << b);
    }
    uint64_t more = can & ~q->active;
    uint32_t n = (uint32_t)__builtin_popcountll(q->active);
    for (; more && n < limit; n++) {
        uint32_t b = first_after(more, q->last);
        q->active |= 1ull << b;
        more &= ~(1ull << b);
    }
    uint64_t mine = can & q->active;
    return first_after(mine ? mine : can, q->last);
}

static uint32_t pick(const machine *m, asched *q, uint64_t can) {
    if (q->yield && q->last < MAX_WARPS && can & ~(1ull << q->last)) can &= ~(1ull << q->last);
    switch (m->gpu->core_policy) {
    case ORR_SCHED_LRR: return first_after(can, q->last);
    case ORR_SCHED_TWO_LEVEL: return two_level(q, can, (uint32_t)m->gpu->core_active);
    case ORR_SCHED_GTY:
        if (q->last < MAX_WARPS && can >> q->last & 1) return q->last;
        return 63u - (uint32_t)__builtin_clzll(can);
    case ORR_SCHED_GTO:
        if (q->last < MAX_WARPS && can >> q->last & 1) return q->last;
        return (uint32_t)__builtin_ctzll(can);
    default: return (uint32_t)__builtin_ctzll(can);
    }
}

static inline uint64_t unit_free(const acore *s, const asched *q, uint32_t bit) {
    return s->pool_free[q->pool[bit]];
}

static inline bool has_unit(const acore *s, const asched *q, uint32_t bit, uint64_t now) {
    if (!(q->watch >> bit & 1)) return true;
    return unit_free(s, q, bit) <= now && !(q->memory >> bit & 1 && s->lsu_room > now);
}

// Those of the ready whose unit is free (line 7); if none, *later is when one is.
static uint64_t with_unit(const acore *s, const asched *q, uint64_t now, uint64_t *later) {
    uint64_t can = q->awake & ~q->watch, left = q->awake & q->watch, t = NEVER;
    uint64_t memory = left & q->memory;
    if (memory) { // all to one unit
        uint64_t at = unit_free(s, q, (uint32_t)__builtin_ctzll(memory));
        if (at < s->lsu_room) at = s->lsu_room;
        left &= ~memory;
        if (at <= now)
            can |= memory;
        else
            t = at;
    }
    for (; left; left &= left - 1) {
        uint32_t bit = (uint32_t)__builtin_ctzll(left);
        uint64_t at = unit_free(s, q, bit);
        if (at <= now)
            can |= 1ull << bit;
        else if (at < t)
            t = at;
    }
    *later = t;
    return can;
}

// Goes with the first of a cycle: other instructions of the same warp (core.issue).
static void issue_more(acore *s, asched *q, uint32_t bit, uint64_t now, uint8_t used) {
    const machine *m = s->m;
    for (int more = m->issue - 1; more > 0 && q->awake >> bit & 1; more--) {
        uint8_t pool_now = q->pool[bit];
        if ((m->gpu->core_dual_units && pool_now == used) || !has_unit(s, q, bit, now)) break;
        used = pool_now;
        issue(s, q, bit, now, more > 1);
    }
    if (!(q->awake >> bit & 1)) return;
    awarp *w = &q->warps[q->who[bit]]; // not in this cycle any more
    if (w->front <= now) w->front = now + 1;
}

static inline uint32_t choose(const machine *m, asched *q, uint64_t can) {
    if (m->oldest_first && !q->yield) {
        if (m->greedy && q->last < MAX_WARPS && can >> q->last & 1) return q->last;
        return (uint32_t)__builtin_ctzll(can);
    }
    return pick(m, q, can);
}

// A warp that issues the last instruction of its trace ends.
static inline bool may_end(const awarp *w) { return !w->has_then && w->trace.at == w->trace.end; }

static inline uint64_t limit_of(const acore *s, uint64_t until, uint64_t ahead) {
    uint64_t t = s->others < NEVER - ahead ? s->others + ahead : NEVER;
    return t < until ? t : until;
}

// A scheduler by itself, from its next cycle on: until the others have something to do, and a little further
// for what concerns none of them.
__attribute__((flatten)) static void run_scheduler(acore *s, asched *q, uint64_t until) {
    machine *m = s->m;
    const ainst *insts = m->code->insts;
    const uint64_t ahead = m->ahead;
    const bool several = m->issue > 1;
    uint64_t now = q->wake, limit = limit_of(s, until, ahead);
    for (;;) {
        if (now >= limit) break;
        q->time = now;
        drain(q, now);
        uint64_t awake = q->awake;
        if (!awake) {
            now = next_ready(q);
            continue;
        }
        uint32_t bit = choose(m, q, awake);
        if (q->watch >> bit & 1 && !has_unit(s, q, bit, now)) {
            uint64_t later, can = with_unit(s, q, now, &later);
            if (!can) {
                uint64_t next = next_ready(q);
                now = later < next ? later : next;
                continue;
            }
            bit = choose(m, q, can);
        }
        uint8_t flags = insts[q->at[bit]].flags;
        if (now > s->others) { // the others first, unless it is nothing to them
            if (!(flags & AF_APART) || (flags & AF_LAST && may_end(&q->warps[q->who[bit]]))) break;
        }
        uint8_t used = q->pool[bit];
        uint64_t next = issue(s, q, bit, now, several);
        if (several) issue_more(s, q, bit, now, used);
        q->next_issue = now = next;
        if (several || (flags & (AF_PLAIN | AF_LAST)) != AF_PLAIN) { // something may have happened
            if (s->starved | s->damaged) break;
            limit = limit_of(s, until, ahead);
        }
    }
    q->wake = now;
}

// ---- the loop
// ---------------------------------------------------------------------------------------------------
uint64_t abt_core_next(const acore *s) {
    uint64_t t = NEVER;
    for (uint32_t n = 0; n < s->m->nsched; n++)
        if (s->sched[n].wake < t) t = s->sched[n].wake;
    return t;
}

static inline uint32_t turn(uint32_t n, uint64_t now, uint32_t nsched) {
    return (n + nsched - (uint32_t)(now % nsched)) % nsched;
}

void abt_core_run(acore *s, uint64_t until) {
    uint32_t nsched = s->m->nsched;
    s->runs = NULL;
    while (!s->damaged && !s->starved) {
        asched *first = s->sched;
        uint64_t others = NEVER;
        for (uint32_t n = 1; n < nsched; n++) {
            asched *q = &s->sched[n];
            bool before = q->wake < first->wake;
            if (q->wake == first->wake && q->wake != NEVER) // at one time each has its turn to go first
                before = turn(n, q->wake, nsched) < turn((uint32_t)(first - s->sched), q->wake, nsched);
            if (before) {
                others = first->wake;
                first = q;
            } else if (q->wake < others) {
                others = q->wake;
            }
        }
        if (first->wake >= until) return;
        s->runs = first;
        s->others = others;
        run_scheduler(s, first, until);
    }
}
