// A warp: what its next instruction waits for, and what each of its cycles went to.
#include "model/cycle/step.h"
#include "model/cycle/look.h"
#include "model/cycle/order.h"

// The reason of a wait for a register, by the class of the instruction that writes it; mbarriers count as
// memory.
static uint8_t wait_of(const orr_tinst *i) {
    static const uint8_t other[256] = {
        [ORR_TC_SFU] = ORR_STALL_SHORT,   [ORR_TC_CONV] = ORR_STALL_SHORT, [ORR_TC_BITS] = ORR_STALL_SHORT,
        [ORR_TC_SREG] = ORR_STALL_SHORT,  [ORR_TC_SHFL] = ORR_STALL_SHORT, [ORR_TC_TEX] = ORR_STALL_LONG,
        [ORR_TC_CONST] = ORR_STALL_SHORT,
    };
    if (i->kind == ORR_TK_SYNCS) return ORR_STALL_LONG;
    return other[i->tclass] ? other[i->tclass] : ORR_STALL_WAIT;
}

void cyc_warp_result(sm *s, warp *w, const orr_tinst *i, uint64_t ready) {
    if (s->c->alone) cyc_alone_note(s, i, ready);
    const uint16_t *r = s->c->program->regs + i->regs + i->nsrc;
    uint8_t why = wait_of(i);
    for (int d = 0; d < i->ndst; d++) w->reg[r[d]] = due(ready, why);
    if (s->c->program->control && ORR_CTRL_WBAR(i->ctrl) < 6) {
        uint32_t b = ORR_CTRL_WBAR(i->ctrl);
        if (w->sb_ready[b] < ready) w->sb_ready[b] = ready;
        w->sb_why[b] = why == ORR_STALL_WAIT ? ORR_STALL_SHORT : why; // MATCH, for instance
    }
}

// A look that others are waited for with, perhaps.
static bool looks_at(const sm *s, const orr_tinst *i) {
    return cyc_order_kind(s->c->order, i->inst) == ORDER_WAITS;
}

// Memory: the registers are NEVER ready until an answer says otherwise.
void cyc_warp_expect(sm *s, warp *w, const orr_tinst *i, enum orr_stall why) {
    const uint16_t *r = s->c->program->regs + i->regs + i->nsrc;
    for (int d = 0; d < i->ndst; d++) w->reg[r[d]] = due(NEVER, (uint8_t)why);
    if (s->c->program->control && ORR_CTRL_WBAR(i->ctrl) < 6) {
        w->sb_open[ORR_CTRL_WBAR(i->ctrl)]++;
        w->sb_why[ORR_CTRL_WBAR(i->ctrl)] = (uint8_t)why;
    }
    w->inflight++;
    if (s->c->looks && looks_at(s, i)) w->looking++;
}

// One thing less that the warp has not had an answer to.
static void answered(sm *s, warp *w, uint64_t ready) {
    w->inflight--;
    if (ready > w->landed) w->landed = ready;
    if (w->at == w->end && !w->inflight)
        cyc_block_warp_ended(s, w);
    else if (w->at != w->end && w->ready == NEVER)
        cyc_warp_look(s, w);
}

void cyc_warp_complete(sm *s, warp *w, uint32_t inst, uint64_t ready, uint8_t group) {
    const orr_tinst *i = &s->c->program->insts[inst];
    const uint16_t *r = s->c->program->regs + i->regs + i->nsrc;
    for (int d = 0; d < i->ndst; d++)
        if (due_when(w->reg[r[d]]) == NEVER) w->reg[r[d]] = due(ready, (uint8_t)w->reg[r[d]]);
    if (s->c->program->control && ORR_CTRL_WBAR(i->ctrl) < 6) {
        uint32_t b = ORR_CTRL_WBAR(i->ctrl);
        w->sb_open[b]--;
        if (w->sb_ready[b] < ready) w->sb_ready[b] = ready;
    }
    if (group != NO_GROUP) {
        w->group_open[group]--;
        if (w->group_ready[group] < ready) w->group_ready[group] = ready;
    }
    if (s->c->looks && looks_at(s, i)) w->looking--;
    answered(s, w, ready);
}

// A memory instruction reads its operands when it leaves the queue: a read barrier of the control bits is up
// until then, and the warp does not end before (the queue looks into its trace).
static bool read_barrier(const sm *s, const orr_tinst *i, uint32_t *b) {
    *b = ORR_CTRL_RBAR(i->ctrl);
    return s->c->program->control && *b < 6;
}

// What a wait for it is counted as.
static uint8_t read_why(const orr_tinst *i) {
    return i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_CONST ? ORR_STALL_SHORT : ORR_STALL_LONG;
}

void cyc_warp_reads(sm *s, warp *w, const orr_tinst *i, uint64_t when) {
    uint32_t b;
    if (!read_barrier(s, i, &b)) return;
    if (w->sb_ready[b] < when) w->sb_ready[b] = when;
    w->sb_why[b] = read_why(i);
}

void cyc_warp_will_read(sm *s, warp *w, const orr_tinst *i) {
    uint32_t b;
    w->inflight++;
    w->in_line++;
    if (!read_barrier(s, i, &b)) return;
    w->sb_open[b]++;
    w->sb_why[b] = read_why(i);
}

void cyc_warp_has_read(sm *s, warp *w, const orr_tinst *i, uint64_t when) {
    uint32_t b;
    if (read_barrier(s, i, &b)) w->sb_open[b]--;
    cyc_warp_reads(s, w, i, when);
    w->in_line--;
    if (when > w->at_l1) w->at_l1 = when;
    answered(s, w, when);
}

// A fence for the GPU waits until the warp's reductions have been done, wherever they queue (H200:
// micro/atomics, red on one line: SMs are active as long as with atom).
void cyc_warp_told(sm *s, uint32_t token, uint64_t when) {
    warp *w = warp_of(s, token & 0xfff);
    if (told_token(w) != token || !w->reducing) return; // it has ended
    uint64_t heard = when + (uint64_t)s->c->gpu->core_fence_store;
    if (--w->reducing || !w->fenced) {
        if (w->stored < when) w->stored = when;
        return;
    }
    w->front = w->fenced > heard ? w->fenced : heard;
    w->front_why = ORR_STALL_MEMBAR;
    w->fenced = 0;
    if (w->at != w->end) cyc_warp_look(s, w);
}

// When all groups of copies but the newest `left` are done.
static uint64_t groups_done(const warp *w, uint32_t left) {
    uint64_t t = 0;
    for (uint32_t back = left + 1; back < MAX_GROUPS && back <= w->group; back++) {
        uint32_t n = (w->group - back) % MAX_GROUPS;
        if (w->group_open[n]) return NEVER;
        if (w->group_ready[n] > t) t = w->group_ready[n];
    }
    return t;
}

// When barrier b of the control bits is down.
static uint64_t barrier_down(const warp *w, uint32_t b) { return w->sb_open[b] ? NEVER : w->sb_ready[b]; }

// With core.bar_defer a warp that has come to a barrier goes on with what takes a fixed time, and stops in
// front of the first other instruction (BAR.SYNC.DEFER_BLOCKING; H200, a warp that comes 1,460 cycles before
// the last: it does all of 190 FFMAs meanwhile, and as well HFMA2, DFMA, LOP3, IADD3, ISETP, IMAD, VOTE and
// readings of the clock; LDS, STS, LDG, MUFU, POPC, SHFL, S2R, HMMA, branches and barriers wait).
static bool passes_barrier(const sm *s, const orr_tinst *i) {
    if (!s->c->gpu->core_bar_defer || i->kind != ORR_TK_ALU) return false;
    static const bool fixed[ORR_TC_COUNT] = {
        [ORR_TC_INT] = true,  [ORR_TC_INT_MUL] = true, [ORR_TC_FP32] = true, [ORR_TC_FP16] = true,
        [ORR_TC_FP64] = true, [ORR_TC_MOVE] = true,    [ORR_TC_VOTE] = true, [ORR_TC_UNIFORM] = true,
    };
    return fixed[i->tclass];
}

// What a fence waits for in front of it, and what is behind one. Where it asks slices (core.fence_ask) it is
// in line at L1 behind what the warp has sent there, and it is not over before that has been answered (H200:
// 378 cycles near and 562 far behind a load, be it on its way or there; behind one that comes from memory as
// long as that takes; one for the block 11 cycles). Else it begins when all of that is there.
static uint64_t behind_memory(const sm *s, const warp *w, const orr_tinst *i) {
    bool counts = counts_stores(s->c), answers = w->fences || !counts || s->c->gpu->core_fence_ask <= 0;
    if (answers ? w->inflight : w->in_line) return NEVER;
    uint64_t t = answers ? w->landed : 0;
    bool in_line = i->kind == ORR_TK_FENCE && i->imm >= 1 && counts;
    return in_line && w->at_l1 > t ? w->at_l1 : t;
}

void cyc_warp_look(sm *s, warp *w) {
    const orr_program *p = s->c->program;
    const orr_tinst *i = &p->insts[w->at];
    uint64_t t = w->front;
    uint8_t why = w->front_why;
    if ((w->waiting || w->through > t) && !passes_barrier(s, i)) {
        t = w->waiting ? NEVER : w->through;
        why = ORR_STALL_BARRIER;
    }
    if (p->control) {
        for (uint32_t m = ORR_CTRL_WAIT(i->ctrl); m; m &= m - 1) {
            uint32_t b = (uint32_t)orr_ffs(m);
            uint64_t at = barrier_down(w, b);
            if (at > t) {
                t = at;
                why = w->sb_why[b];
            }
        }
    } else {
        const uint16_t *r = p->regs + i->regs;
        uint64_t last = due(t, why);
        for (int n = i->nsrc + i->ndst; n > 0; n--, r++)
            last = w->reg[*r] >> 8 > last >> 8 ? w->reg[*r] : last;
        t = due_when(last);
        why = (uint8_t)last;
    }
    uint64_t memory = i->kind == ORR_TK_FENCE || w->fences ? behind_memory(s, w, i) : 0;
    if (memory > t) {
        t = memory;
        why = ORR_STALL_MEMBAR;
    }
    if (i->kind == ORR_TK_BARRIER && w->passed > t && s->c->gpu->lsu_own_queues) {
        t = w->passed; // it is in line behind them (H200: micro/scheduler, queue_shared, the second round)
        why = ORR_STALL_MIO;
    } else if (i->kind == ORR_TK_WAIT_GROUP) {
        uint64_t at = groups_done(w, i->imm);
        if (at > t) {
            t = at;
            why = ORR_STALL_GROUP;
        }
        // DEPBAR.LE SB, 0. With a count it is for what comes in order: groups.
        if (i->warps && !i->imm && barrier_down(w, i->warps - 1u) > t) {
            t = barrier_down(w, i->warps - 1u);
            why = w->sb_why[i->warps - 1];
        }
    }
    w->ready = t;
    w->why = why;
    sched *q = &s->sched[w->sched];
    w->held = q->held;
    uint64_t me = 1ull << w->slot;
    q->ready[w->slot] = t;
    q->awake &= ~me;
    q->wants[q->unit[w->slot]] &= ~me;
    q->wants[i->unit] |= me;
    q->unit[w->slot] = i->unit;
    q->memory = i->kind == ORR_TK_MEM ? q->memory | me : q->memory & ~me;
    if (t < q->next) q->next = t;
    if (t < q->wake) q->wake = t;
}

static uint64_t within(uint64_t t, uint64_t from, uint64_t until) {
    return t < from ? from : t > until ? until : t;
}

// Cycles up to when it could have issued have the reason it waited for. After that its unit was busy, or free
// and another warp was chosen. When the unit took its last instruction is known; before that, one that takes
// an instruction every n cycles was free in one of n.
void cyc_warp_account(sm *s, warp *w, uint64_t until) {
    uint64_t from = w->since;
    if (until <= from) return;
    w->since = until;
    if (w->at == w->end) { // ended, then its last loads are under way
        uint64_t waits = within(w->front, from, until),
                 goes = within(w->front + s->c->exit_latency, from, until);
        charge(s, w->at - 1, ORR_STALL_WAIT, waits - from);
        charge(s, w->at - 1, ORR_STALL_BRANCH, goes - waits);
        charge(s, w->at - 1, ORR_STALL_DRAIN, until - goes);
        return;
    }
    uint64_t dep = w->ready > until ? until : w->ready < from ? from : w->ready;
    if (dep > from) charge(s, w->at, (enum orr_stall)w->why, dep - from);
    uint64_t rest = until - dep;
    if (!rest) return;
    const orr_tinst *i = &s->c->program->insts[w->at];
    uint64_t room = s->lsu_room[w->sched / s->c->lsu_scheds];
    if (i->kind == ORR_TK_MEM && room > dep) {
        uint64_t n = room > until ? rest : room - dep;
        charge(s, w->at, i->space == ORR_SPACE_SHARED ? ORR_STALL_MIO : ORR_STALL_LG, n);
        rest -= n;
        if (!rest) return;
    }
    sched *q = &s->sched[w->sched];
    if (q->held != w->held) {
        uint64_t n = q->held - w->held < rest ? q->held - w->held : rest;
        w->held = q->held;
        charge(s, w->at, ORR_STALL_COLLECTOR, n);
        rest -= n;
        if (!rest) return;
    }
    uint64_t free_at = s->pool_free[q->pool_of[i->unit]];
    if (by_queue(i) && free_at > dep) {
        uint64_t n = free_at - dep < rest ? free_at - dep : rest; // some of it may have been the queue's
        charge(s, w->at, ORR_STALL_MIO, n);
        rest -= n;
        if (!rest) return;
    }
    uint64_t idle = until > free_at ? until - free_at : 0;
    if (idle > rest) idle = rest;
    rest -= idle;
    uint64_t end = until < free_at ? until : free_at, in = free_at > i->interval ? free_at - i->interval : 0;
    uint64_t busy = end > in ? end - in - 1 : 0; // with the instruction that is in it now
    if (busy > rest) busy = rest;
    uint64_t chosen = (rest - busy + i->interval - 1) / i->interval;
    charge(s, w->at, ORR_STALL_SELECTED, idle + chosen);
    charge(s, w->at, ORR_STALL_MATH, rest - chosen);
}

// A body runs under a predicate: it is issued even where the trace goes on elsewhere, then for no lane
// (orr_tblock.body).
static bool next_is_ghost(warp *w) { return w->body && w->has_then && w->then != w->body - 1; }

static bool read_accesses(warp *w, uint32_t n) {
    for (uint32_t a = 0; a < n; a++) {
        w->access[a] = (uint32_t)(w->trace.at - w->base);
        if (!orr_trace_skip(&w->trace)) return false;
    }
    return true;
}

bool cyc_warp_next_block(sm *s, warp *w) {
    const orr_program *p = s->c->program;
    if (w->exec) return cyc_step_next_block(s, w);
    do {
        if (!w->has_then) {
            w->then_from = w->trace;
            int more = orr_trace_block(&w->trace, p->nblocks, &w->then, &w->then_mask);
            if (more < 0) s->damaged = true;
            w->has_then = more > 0;
        }
        if (w->look && cyc_look_again(s, w)) continue;
        if (!w->has_then) return false;
        w->ghost = next_is_ghost(w);
        const orr_tblock *b = &p->blocks[w->ghost ? w->body - 1 : w->then];
        w->mask = w->ghost ? 0 : w->then_mask;
        w->lanes = (uint32_t)orr_popc(w->mask);
        w->at = b->first;
        w->end = b->first + b->count;
        w->body = b->body;
        if (!w->ghost) {
            if (s->c->looks) cyc_look_enter(s, w);
            w->has_then = false;
            if (!s->c->in_order && !read_accesses(w, b->naccess)) {
                s->damaged = true;
                return false;
            }
        }
    } while (w->at == w->end); // a block whose code vanished in the lowering
    return true;
}
