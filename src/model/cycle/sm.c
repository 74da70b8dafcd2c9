// An SM from one point in time to another: its schedulers choose warps, instructions go to their units.
//
// The loop knows for each scheduler the next cycle in which it could issue (`wake`) and for the network the
// next answer. It goes to the earliest of them. A scheduler that finds nobody ready learns when the first
// one will be and sleeps until then; what may change that (an answer, a barrier, a new thread block) lowers
// `wake`.
#include "model/cycle/grids.h"
#include "model/cycle/step.h"

#include <stddef.h>
#include <string.h>

// ---- an instruction on its way to its unit ------------------------------------------------------
typedef struct dispatched {
    const orr_tinst *i;
    uint32_t inst;
    uint32_t mask;         // lanes that its warp had
    bool predicated_off;   // no lane takes part
    bool behind_yield;     // the instruction before was a YIELD
    uint8_t plain;         // kernel_traits.plain
    orr_step_access *live; // what it does to memory, if it is executed as it is timed
    uint64_t start;        // cycles from issue until it is in its unit
    uint64_t lost;         // of them those that its operands, or a queue, cost
    uint64_t queued;       // of them in the queue of its unit
} dispatched;

void cyc_count_issue(sm *s, const warp *w, uint32_t inst) {
    s->worker->issued[inst]++;
    s->worker->threads[inst] += w->pc.lanes;
    s->n.thread_insts += w->pc.lanes;
    s->n.issued++;
}

static void through_collector(sm *s, const warp *w, dispatched *d) {
    const cycle *c = s->c;
    operand_reader r = {.warp = warp_id(w), .shift = w->slot * c->nsched + w->sched};
    operands *o = &s->operands[sub_core_of(w->sched, c->sched_per_sub)];
    d->start = operands_collect(o, c->program, d->i, &r, s->clock.now, &d->lost);
    d->start += units_occupy(&s->units, w->sched, d->i->unit, d->i->interval, s->clock.now);
}

static void through_banks(sm *s, scheduler *q, warp *w, dispatched *d) {
    const cycle *c = s->c;
    const orr_tinst *i = d->i;
    operands *o = &s->operands[sub_core_of(w->sched, c->sched_per_sub)];
    uint64_t now = s->clock.now;
    if (i->kind == ORR_TK_MEM && c->core.lsu.width && !d->predicated_off)
        lsu_hand_over(&s->lsu, w->sched, i, units_line_ends(&s->units, w->sched, i->unit));
    operand_reader r = {.warp = warp_id(w), .recent = &w->recent};
    uint64_t start = operands_read(o, c->program, i, &r, now);
    uint64_t beside = products_beside(&s->products, w->sched, i->unit, now);
    d->queued = units_occupy(&s->units, w->sched, i->unit, i->interval + beside, now + start);
    s->units.busy[i->unit] -= beside;
    q->operand_wait = start + i->dispatch;
    q->operand_cycles += start + i->dispatch;
    w->front_end_ready +=
        start + orr_tinst_held(i) + i->hold; // others of the scheduler do not wait for `hold`
    d->lost = d->start = start + i->hold + d->queued;
}

// A product of a group of warps: its warp goes on when it has been issued. D is read and written by its unit,
// in the order of the products, and whoever else wants D waits for the group (WARPGROUP.DEPBAR): its
// registers are no result that a scoreboard waits for, in lowered PTX either.
static void multiply(sm *s, scheduler *q, warp *w, const dispatched *d) {
    const orr_tinst *i = d->i;
    q->operand_wait = 0;
    if (d->predicated_off) return;
    products_issue(&s->products, w->sched, warp_id(w), i, s->clock.now);
    s->units.busy[i->unit] += i->interval;
    pipe_beside(&s->pipe, i->warps);
    w->front_end_ready = latest(w->front_end_ready, s->clock.now + i->hold);
}

// ---- what an instruction does -------------------------------------------------------------------
// Is `next` right behind `inst` in the code? By address: in a trace the same instruction is in many blocks.
// (Before Volta every few instructions have a word of control bits between them.)
static bool right_behind(const cycle *c, uint32_t inst, uint32_t next) {
    const orr_tinst *i = c->program->insts;
    uint32_t most = c->gpu->cc_major >= 7 || c->program->kernel->grows ? 16 : 8;
    return i[next].pc > i[inst].pc && i[next].pc - i[inst].pc <= most;
}

// A branch has been issued whose lanes go elsewhere, or meet. Where a register says so the target is known
// late.
static void jump(const sm *s, warp *w, const orr_tinst *i, uint32_t inst) {
    const cycle *c = s->c;
    if (w->yielded) return; // the time it takes is known
    w->front_end_ready += c->branch.jump + (i->flags & ORR_TF_INDIRECT ? c->branch.indirect : 0);
    if (i->sass == ORR_SASS_BSYNC)
        w->front_end_ready += right_behind(c, inst, w->pc.at) ? c->branch.sync_meet : c->branch.switch_lanes;
    w->front_end_stall = ORR_STALL_BRANCH;
}

// After a YIELD nothing is issued for a while, whoever goes on. Lanes that wait at a WARPSYNC then poll
// whether all are there (exec/sass/converge.c), which takes as long again.
static void yield_or_poll(sm *s, warp *w, const orr_tinst *i, bool behind_yield) {
    uint64_t most = i->sass == ORR_SASS_YIELD                      ? s->c->branch.yield
                    : i->sass == ORR_SASS_WARPSYNC && behind_yield ? s->c->branch.sync_poll
                                                                   : 0;
    w->yielded = most > 0;
    if (w->front_end_ready >= s->clock.now + most) return;
    w->front_end_ready = s->clock.now + most;
    w->front_end_stall = ORR_STALL_BRANCH;
}

// Lanes come to a WARPSYNC and wait, and the warp goes on with others.
static void switch_lanes(const sm *s, warp *w, const orr_tinst *i) {
    const orr_gpu *g = s->c->gpu;
    if (i->sass != ORR_SASS_WARPSYNC) return;
    uint64_t more =
        (uint64_t)(i->flags & ORR_TF_COLLECTIVE ? g->core_warpsync_collective : g->core_warpsync_wait);
    if (!more) return;
    w->front_end_ready += more;
    w->front_end_stall = ORR_STALL_BRANCH;
}

static void load_store(sm *s, warp *w, const dispatched *d, const orr_trace *access) {
    const orr_tinst *i = d->i;
    lsu_op op = {.i = i,
                 .inst = d->inst,
                 .sched = w->sched,
                 .slot = w->slot,
                 .access = access,
                 .late = d->lost, // the latencies of memory count from issue
                 .load = NOBODY,
                 .live = d->live};
    bool atomic = i->flags & ORR_TF_ATOMIC && s->c->gpu->core_atomic_wait;
    if (atomic) w->memory.atomic = NEVER;
    if (i->flags & ORR_TF_LOAD || atomic) {
        op.load = l1_expect(&s->l1, warp_id(w), d->inst);
        s->l1.loads.at[op.load].live = d->live;
        if (i->flags & ORR_TF_ASYNC) {
            l1_load *load = &s->l1.loads.at[op.load];
            load->group = scoreboard_copy(&w->board);
            load->copies = w->arrivals.n;
            w->arrivals.open[w->arrivals.n]++;
        }
        bool near = i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_CONST;
        cyc_warp_expect(s, w, i, near ? ORR_STALL_SHORT : ORR_STALL_LONG);
    }
    w->memory.last_inst = d->inst + 1;
    uint64_t read = lsu_issue(&s->lsu, &op);
    if (read == NEVER)
        cyc_warp_will_read(s, w, i);
    else
        scoreboard_reads(&w->board, s->c->program, i, read);
}

// Where the stream has what the instruction accesses.
static orr_trace find_access(sm *s, warp *w, const orr_tinst *i) {
    orr_trace at = w->pc.trace;
    if (!s->c->traits.in_order) {
        at.at = w->pc.base + w->pc.access[i->access];
        at.mask = w->pc.mask;
    } else if (!orr_trace_skip(&w->pc.trace)) {
        s->bad_trace = true;
    }
    return at;
}

static void access_memory(sm *s, warp *w, const dispatched *d) {
    const cycle *c = s->c;
    const orr_tinst *i = d->i;
    if (d->predicated_off) {
        cyc_warp_result(s, w, i, s->clock.now + d->start + 1);
        return;
    }
    orr_trace at = find_access(s, w, i);
    if (i->kind == ORR_TK_SYNCS) {
        cyc_arrive(s, w, i, d->inst, &at, s->clock.now + d->start);
        return;
    }
    bool shared = i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_GENERIC;
    if (c->cluster > 1 && shared && cyc_cluster_access(s, w, i, &at, s->clock.now + d->start)) return;
    load_store(s, w, d, &at);
}

static void branch(sm *s, warp *w, const dispatched *d) {
    const cycle *c = s->c;
    cyc_warp_result(s, w, d->i, s->clock.now + d->start + d->i->latency + c->branch.writeback);
    s->n.branches++;
    if (w->front_end_ready < s->clock.now + c->branch.wait) {
        w->front_end_ready = s->clock.now + c->branch.wait;
        w->front_end_stall = ORR_STALL_BRANCH;
    }
    w->front_end_ready += d->queued; // it counts from when its unit takes it
}

// A load of constants that miss keeps what is behind it in the queue, reads of special registers and other
// such loads; when that is full they are not issued (H200: micro/start, mio_throttle, however few of them a
// kernel has). const.cold_misses of a sub-core's are looked up before the line is there, and counted as
// misses.
static uint64_t behind_constants(sm *s, scheduler *q, warp *w, const orr_tinst *i, uint64_t ready) {
    const cycle *c = s->c;
    uint64_t now = s->clock.now;
    if (i->tclass == ORR_TC_CONST && i->constant && c->core.constants.cold) {
        uint64_t there = constants_named(&s->constants, c->program, i, now);
        if (there > now) { // the profiler counts who comes meanwhile as a miss, too
            ready += there - now;
            if (q->constants_until < there)
                q->constants_until = there, q->constants_queue = q->constants_missed = 0;
            s->constants.n.misses += q->constants_missed++ < c->core.constants.cold_misses;
        }
        if (ready > w->memory.answered) w->memory.answered = ready;
    }
    if (q->constants_until > now && by_queue(i)) {
        if (i->tclass != ORR_TC_CONST) ready += q->constants_until - now;
        if (++q->constants_queue >= c->core.lsu.places) {
            units_block(&s->units, w->sched, i->unit, q->constants_until);
            if (c->sreg_unit != NO_UNIT) units_block(&s->units, w->sched, c->sreg_unit, q->constants_until);
        }
    }
    return ready;
}

static void compute(sm *s, scheduler *q, warp *w, const dispatched *d) {
    const orr_tinst *i = d->i;
    uint64_t ready = s->clock.now + d->start + i->latency + s->c->branch.writeback;
    cyc_warp_result(s, w, i, behind_constants(s, q, w, i, ready));
}

static void wait_for_indexed(sm *s, warp *w, const dispatched *d) {
    if (d->predicated_off) return;
    orr_trace at = find_access(s, w, d->i);
    orr_access a;
    if (!orr_trace_access(&at, &a)) {
        s->bad_trace = true;
        return;
    }
    uint64_t there = constants_indexed(&s->constants, &a, s->clock.now + d->start);
    if (there <= w->front_end_ready || w->front_end_ready == NEVER) return;
    w->front_end_ready = there;
    w->front_end_stall = ORR_STALL_CONSTANT;
}

// A read of the clock, so that who times code with it finds what it would have read (orr_timing.clocks).
static void note_clock(sm *s, const warp *w) {
    const block *b = &s->tb.slot[w->block];
    if (s->tb.clocks.n >= MAX_CLOCKS || !b->buf) return;
    uint32_t n = 0;
    while (n < b->nwarps && b->warp[n] != warp_id(w)) n++;
    *ORR_PUSH(&s->tb.clocks) = (orr_clock_read){.block = b->buf->index, .cycle = s->clock.now, .warp = n};
}

// Warps that are past their fence.
static void release_fenced(sm *s) {
    for (size_t n = 0; n < s->fence.released.n; n++) {
        fence_release r = s->fence.released.at[n];
        warp *w = warp_of(s, r.warp);
        w->front_end_stall = ORR_STALL_MEMBAR;
        if (w->bulk.last) {
            w->bulk.floor = r.when;
            continue;
        }
        w->front_end_ready = r.when;
        if (w->pc.at != w->pc.end) cyc_warp_update(s, w);
    }
    s->fence.released.n = 0;
}

static void fence(sm *s, warp *w, const orr_tinst *i) {
    if (cyc_warp_fence_is_off(s, w, i)) {
        w->fences = false;
        return;
    }
    uint64_t until = fence_issue(&s->fence, warp_id(w), i->imm);
    bool bulk = i->imm && tma_first_open(&s->tma) != NEVER;
    w->bulk.last = bulk ? s->tma.loads : 0;
    w->bulk.floor = until;
    w->front_end_ready = bulk ? NEVER : until;
    w->front_end_stall = ORR_STALL_MEMBAR;
    release_fenced(s);
}

// A fence for the GPU is not over before all bulk loads are there that the SM had asked for (H200:
// micro/hopper, ring: a stage is handed on with a release every 842 cycles where its loads hit in L2, every
// 1,164 where they come from memory; without the fence every 315 and 340).
void cyc_fence_bulk_landed(sm *s, uint64_t when) {
    uint64_t first = tma_first_open(&s->tma);
    for (uint32_t n = 0; n < s->c->nsched; n++)
        for (uint64_t m = s->sched[n].live; m; m &= m - 1) {
            warp *w = warp_of(s, warp_number(n, (uint32_t)__builtin_ctzll(m)));
            if (!w->bulk.last || first <= w->bulk.last) continue;
            w->bulk.last = 0;
            if (w->bulk.floor == NEVER) continue; // stores are to come
            w->front_end_ready = latest(w->bulk.floor, when + s->fence.spec->store);
            if (w->pc.at != w->pc.end) cyc_warp_update(s, w);
        }
}

// griddepcontrol: the next kernel of the stream may start, as far as this block goes; or its warp waits until
// the one ahead has ended.
static void next_grid(sm *s, warp *w, const dispatched *d) {
    const orr_tinst *i = d->i;
    block_traces *b = s->tb.slot[w->block].buf;
    uint64_t until;
    if (d->predicated_off) return;
    if (!i->imm) {
        if (!b->allows_next) b->allows_next = s->clock.now;
        return;
    }
    w->waits_for_grid = cyc_grid_waits(s->c, b->grid, &until);
    if (until <= w->front_end_ready) return;
    w->front_end_ready = until;
    w->front_end_stall = ORR_STALL_MEMBAR;
}

static void execute(sm *s, scheduler *q, warp *w, const dispatched *d) {
    const orr_tinst *i = d->i;
    if (d->plain) {
        if (d->plain == PLAIN_RESULT)
            cyc_warp_result(s, w, i, s->clock.now + d->start + i->latency + s->c->branch.writeback);
        return;
    }
    switch (i->kind) {
    case ORR_TK_SYNCS:
    case ORR_TK_MEM: access_memory(s, w, d); break;
    case ORR_TK_BRANCH: branch(s, w, d); break;
    case ORR_TK_FENCE: fence(s, w, i); break;
    case ORR_TK_GROUP: w->board.group++; break;
    case ORR_TK_NEXT_GRID: next_grid(s, w, d); break;
    case ORR_TK_PRODUCT: break;          // on its way (multiply)
    case ORR_TK_CLOCK: note_clock(s, w); // fall through
    default: compute(s, q, w, d);
    }
    if (i->kind == ORR_TK_INDEXED) wait_for_indexed(s, w, d);
    if (i->tclass == ORR_TC_BRANCH) yield_or_poll(s, w, i, d->behind_yield);
    if (i->sass == ORR_SASS_CCTL && i->imm) {
        l1_drop(&s->l1);
        if (port_counts_stores(&s->port)) fence_invalidated(&s->fence);
    }
    if (i->sass == ORR_SASS_USETMAXREG) cyc_block_registers(s, w, i, d->inst);
    if (i->sass == ORR_SASS_UTMACCTL) tma_maps_prefetch(&s->tma.maps, s->clock.now);
    // B2R: what the barrier found; the warp goes on when it has it.
    if (i->tclass == ORR_TC_BARRIER && i->kind != ORR_TK_BARRIER &&
        w->front_end_ready < s->clock.now + i->latency) {
        w->front_end_ready = s->clock.now + i->latency;
        w->front_end_stall = ORR_STALL_BARRIER;
    }
}

// ---- issue --------------------------------------------------------------------------------------
static void wait_for_code(sm *s, warp *w) {
    const cycle *c = s->c;
    const orr_tinst *next = &c->program->insts[w->pc.at];
    uint64_t t = fetch_instruction(&s->fetch, w->sched, &w->fetched, next->pc, s->clock.now);
    if (t > w->front_end_ready) {
        w->front_end_ready = w->front_end.fetch = t;
        w->front_end_stall = ORR_STALL_FETCH;
    }
    if (!next->constant || !c->core.constants.cold || next->tclass == ORR_TC_CONST) return;
    uint64_t from =
        w->front_end_ready > s->clock.now && w->front_end_ready != NEVER ? w->front_end_ready : s->clock.now;
    t = constants_named(&s->constants, c->program, next, from);
    if (t > w->front_end_ready) {
        w->front_end_ready = t;
        w->front_end_stall = ORR_STALL_CONSTANT;
    }
}

// The warp goes on to its next instruction. False: there is none.
static bool advance(sm *s, scheduler *q, warp *w, const dispatched *d) {
    const cycle *c = s->c;
    const orr_tinst *i = d->i;
    if (++w->pc.at == w->pc.end && !cyc_warp_next_block(s, w)) {
        w->pc.at = w->pc.end = d->inst + 1;
        w->ready = NEVER;
        w->stall = ORR_STALL_DRAIN;
        scheduler_drain(q, w->slot);
        if (!w->memory.inflight) cyc_block_warp_ended(s, w);
        return false;
    }
    if (d->plain) {
        if (!c->core.fetch.perfect) wait_for_code(s, w);
        return true;
    }
    bool behind = i->tclass == ORR_TC_BRANCH && right_behind(c, d->inst, w->pc.at);
    if (c->branch.jump && i->kind == ORR_TK_BRANCH &&
        (!behind || i->sass == ORR_SASS_BSYNC || i->flags & ORR_TF_INDIRECT))
        jump(s, w, i, d->inst);
    // In a trace the lanes of an EXIT are those that end: others go on behind it.
    bool same = w->pc.mask & d->mask || c->program->kernel->grows;
    if (i->tclass == ORR_TC_BRANCH && !w->yielded && (!behind || !same)) switch_lanes(s, w, i);
    if (w->front_end_stall == ORR_STALL_BRANCH) w->front_end.branch = w->front_end_ready;
    if (!c->core.fetch.perfect) wait_for_code(s, w);
    return true;
}

// One instruction of a warp. `again`: it is not the first of this cycle; `more`: it need not be the last.
// True: the warp could issue another in it.
static bool issue(sm *s, scheduler *q, warp *w, bool again, bool more) {
    const cycle *c = s->c;
    dispatched d = {.i = &c->program->insts[w->pc.at],
                    .inst = w->pc.at,
                    .mask = w->pc.mask,
                    .predicated_off = w->pc.predicated_off,
                    .behind_yield = w->yielded,
                    .plain = c->traits.plain[w->pc.at]};
    uint64_t now = s->clock.now;
    if (!again) {
        cyc_warp_account(s, w, now);
        charge(s, d.inst, ORR_STALL_ISSUED, 1);
        w->accounted_until = now + 1;
    } else {
        s->n.dual++;
    }
    cyc_count_issue(s, w, d.inst);
    q->last = w->slot;
    q->last_age = w->age;
    if (w->exec) d.live = cyc_step_issue(s, w, d.i);
    w->front_end_ready = now + (more ? 0 : 1);
    w->front_end_stall = ORR_STALL_WAIT;
    w->yielded = false;
    w->fences = d.i->kind == ORR_TK_FENCE && d.i->imm >= 1;
    uint32_t stall = ORR_CTRL_STALL(d.i->ctrl); // 0 where nobody knows
    if (stall > 1) w->front_end_ready = now + stall;
    w->front_end = (warp_front_end){.stall_count = w->front_end_ready};
    if (c->program->control) q->yield = !ORR_CTRL_YIELD(d.i->ctrl);
    if (d.i->kind == ORR_TK_PRODUCT)
        multiply(s, q, w, &d);
    else if (c->core.operands.collectors)
        through_collector(s, w, &d);
    else
        through_banks(s, q, w, &d);
    execute(s, q, w, &d);
    if (!advance(s, q, w, &d)) return false;
    if (!d.plain && d.i->kind == ORR_TK_BARRIER && !d.predicated_off) {
        s->n.barriers++;
        if (d.i->imm == CLUSTER_BARRIER)
            cyc_cluster_barrier(s, w, d.i);
        else if (w->exec)
            cyc_step_barrier(s, w, d.i);
        else
            cyc_block_barrier(s, w, d.i);
    }
    if (w->exec) cyc_step_sleep(s, w);
    cyc_warp_update(s, w);
    return w->ready <= now;
}

// Instructions of one warp in this cycle, as many as the scheduler can issue.
static void issue_some(sm *s, uint32_t n, uint32_t slot, const uint64_t *room) {
    scheduler *q = &s->sched[n];
    const issue_spec *spec = q->spec;
    warp *w = warp_of(s, warp_number(n, slot));
    uint32_t more = spec->width, used = units_pool(&s->units, n, q->unit[slot]);
    bool again = issue(s, q, w, false, more > 1);
    while (again && --more > 0) {
        uint32_t pool = units_pool(&s->units, n, q->unit[slot]);
        if (spec->dual_units && pool == used) break;
        if (s->units.free[pool] > s->clock.now || (q->memory >> slot & 1 && *room > s->clock.now)) break;
        used = pool;
        again = issue(s, q, w, true, more > 1);
    }
    if (spec->width > 1 && w->ready <= s->clock.now) { // not in this cycle any more
        w->front_end_ready = s->clock.now + 1;
        cyc_warp_update(s, w);
    }
}

// What scheduler `n` does in this cycle; returns when to try again. In the window, which lasts until `until`,
// it does not look for somebody in a cycle in which nobody can be awake.
static uint64_t schedule(sm *s, uint32_t n, uint64_t until) {
    scheduler *q = &s->sched[n];
    const cycle *c = s->c;
    uint64_t now = s->clock.now, later;
    if (now < q->next_issue) return q->next_issue;
    const uint64_t *room = &s->lsu.room;
    uint64_t can = scheduler_can_issue(q, &s->units, n, *room, now, &later);
    if (!can) return later;
    if (c->core.operands.collectors) {
        uint64_t t = operands_collector_free(&s->operands[sub_core_of(n, c->sched_per_sub)]);
        if (t > now) {
            q->operand_cycles += t - now;
            return q->next_issue = t;
        }
    }
    uint32_t slot = scheduler_pick(q, can);
    issue_some(s, n, slot, room);
    q->next_issue = now + q->operand_wait + q->spec->interval;
    return q->awake || q->next_issue >= until ? q->next_issue : latest(q->next_issue, q->next);
}

// ---- what components report ---------------------------------------------------------------------
static void load_done(void *self, const l1_load *load, uint64_t ready) {
    sm *s = self;
    warp *w = warp_of(s, load->warp);
    if (load->group != NO_GROUP) cyc_copies_landed(s, w, load->copies, ready);
    cyc_warp_complete(s, w, load->inst, ready, load->group);
}

static void access_began(void *self, uint32_t id, const orr_tinst *i, uint64_t read) {
    cyc_warp_has_read(self, warp_of(self, id), i, read);
}

static void queue_has_room(void *self) {
    sm *s = self;
    for (uint32_t n = 0; n < s->c->nsched; n++) scheduler_wake(&s->sched[n], s->clock.now);
}

static void trace_damaged(void *self) { ((sm *)self)->bad_trace = true; }

void cyc_sm_connect(sm *s) {
    s->l1.client = (l1_client){s, load_done};
    s->tma.client = (tma_client){s, cyc_bulk_done};
    s->lsu.client =
        (lsu_client){.self = s, .began = access_began, .room = queue_has_room, .damaged = trace_damaged};
}

// ---- events -------------------------------------------------------------------------------------
static void handle(sm *s, const event *e) {
    uint32_t payload = event_payload(e->token);
    uint64_t when = (e->time + ORR_TICKS - 1) / ORR_TICKS;
    bool was_full;
    switch (event_kind(e->token)) {
    case EVENT_FILL:
        l1_fill(&s->l1, payload, port_receive(&s->port, e->time, e->sectors));
        lsu_room_at_l1(&s->lsu);
        break;
    case EVENT_LINES_THERE: l1_lines_there(&s->l1, payload); break;
    case EVENT_READ_OUT: l1_read_out(&s->l1); break;
    case EVENT_FENCE_ROUND: fence_round(&s->fence); break;
    case EVENT_SLICE_ACK: fence_slice_acknowledged(&s->fence, when); break;
    case EVENT_STORE_ACK:
        pipe_hold(&s->pipe, port_store_acknowledged(&s->port, payload, &was_full));
        fence_store_acknowledged(&s->fence, payload & 1);
        release_fenced(s);
        if (was_full) lsu_room_at_l1(&s->lsu);
        break;
    case EVENT_TMA:
        if ((payload & TMA_EVENTS) == TMA_TURN) tma_turn(&s->tma);
        if ((payload & TMA_EVENTS) == TMA_ANSWER)
            tma_answer(&s->tma, payload & ~(uint32_t)TMA_EVENTS, port_receive(&s->port, e->time, e->sectors));
        if ((payload & TMA_EVENTS) == TMA_MESSAGE) cyc_cluster_receive(s, payload & ~(uint32_t)TMA_EVENTS);
        break;
    case EVENT_REDUCTION_ACK: fence_reduction_acknowledged(&s->fence, payload, when); break;
    }
    if (s->fence.released.n) release_fenced(s);
}

// ---- the loop -----------------------------------------------------------------------------------
static uint64_t next_wake(const sm *s) {
    uint64_t t = NEVER;
    for (uint32_t n = 0; n < s->c->nsched; n++) t = s->sched[n].wake < t ? s->sched[n].wake : t;
    return t;
}

uint64_t cyc_sm_next(const sm *s) {
    uint64_t wake = next_wake(s), event = events_next(&s->clock);
    return event < wake ? event : wake;
}

// An SM's turn comes once in a window, and what the others have has driven its own out of the host's caches:
// what it will look at is asked for at once, and not line by line when it is needed.
static void fetch_state(const void *at, size_t bytes) {
    for (size_t n = 0; n < bytes; n += 64) __builtin_prefetch((const uint8_t *)at + n, 1);
}

static void fetch_sm(const sm *s) {
    const cycle *c = s->c;
    for (uint32_t n = 0; n < c->nsched; n++) {
        const scheduler *q = &s->sched[n];
        fetch_state(q, offsetof(scheduler, ready) + c->per_sched * sizeof *q->ready);
        fetch_state(q->age, c->per_sched * sizeof *q->age);
        for (uint64_t m = q->live; m; m &= m - 1)
            fetch_state(warp_of(s, warp_number(n, (uint32_t)__builtin_ctzll(m))),
                        offsetof(warp, cluster_phase));
    }
    fetch_state(s->operands, c->nsched / c->sched_per_sub * sizeof *s->operands);
    fetch_state(s->units.free, c->core.units.npools * sizeof *s->units.free);
    fetch_state(&s->l1, sizeof s->l1);
    fetch_state(&s->lsu, offsetof(lsu, head));
}

void cyc_sm_run(sm *s, uint64_t until) {
    uint32_t nsched = s->c->nsched;
    event_queue *clock = &s->clock;
    s->shared.memo = s->worker->memo;
    s->lsu.traffic = s->worker->traffic;
    fetch_sm(s);
    l1_prefetch_fills(&s->l1);
    while (!s->bad_trace && !s->out_of_blocks) {
        uint64_t wake = next_wake(s), due = events_next(clock), t = due < wake ? due : wake;
        if (t >= until) break;
        if (t > clock->now) clock->now = t;
        if (due <= clock->now) {
            do {
                event e = events_take(clock);
                handle(s, &e);
            } while (events_next(clock) <= clock->now);
            if (next_wake(s) > clock->now) continue;
        }
        uint32_t n = lsu_first(&s->lsu);
        t = clock->now;
        for (uint32_t k = 0; k < nsched; k++, n = n + 1 < nsched ? n + 1 : 0) {
            scheduler *q = &s->sched[n];
            if (q->wake > t) continue;
            q->wake = NEVER; // what happens from here on may lower it
            uint64_t again = schedule(s, n, until);
            if (again < q->wake) q->wake = again;
            if (q->wake <= t) q->wake = t + 1;
        }
    }
    if (s->out_of_blocks) return;
    clock->now = until;
    for (uint32_t n = 0; n < nsched; n++)
        for (uint64_t m = s->sched[n].live; m; m &= m - 1)
            cyc_warp_account(s, warp_of(s, warp_number(n, (uint32_t)__builtin_ctzll(m))), until);
}

// ---- counters -----------------------------------------------------------------------------------
orr_sm_counts cyc_sm_counts(const sm *s) {
    orr_sm_counts n = s->n;
    n.fetch = s->fetch.n;
    n.constants = s->constants.n;
    n.port = s->port.n;
    n.l1 = s->l1.n;
    n.shared = s->shared.n;
    n.texture = s->texture.n;
    n.tma = s->tma.n;
    n.cluster_accesses = s->cluster.accesses;
    return n;
}

uint64_t cyc_sm_operand_cycles(const sm *s) {
    uint64_t n = 0;
    for (uint32_t k = 0; k < s->c->nsched / s->c->sched_per_sub; k++) n += s->operands[k].conflict_cycles;
    return n;
}
