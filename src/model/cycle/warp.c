// A warp: what its next instruction waits for, and the stall reason of each of its cycles.
//
// cyc_warp_update works out `ready` of the next instruction: its front end first, then the barrier it is at,
// then what it depends on (scoreboard), then what its kind waits for (memory in front of a fence, products,
// groups of copies). cyc_warp_account gives the cycles since it was last called one reason each; they add up
// to the cycles that the warp was resident.
#include "model/cycle/step.h"

// Where there are collectors, results go back to the banks that operands are read from.
static uint64_t write_back(sm *s, const warp *w, const orr_tinst *i, uint64_t ready) {
    const cycle *c = s->c;
    if (!c->core.operands.collectors || ready < s->clock.now) return ready;
    operand_reader r = {.warp = warp_id(w), .shift = w->slot * c->nsched + w->sched};
    return operands_write(&s->operands[sub_core_of(w->sched, c->sched_per_sub)], c->program, i, &r,
                          s->clock.now, ready);
}

void cyc_warp_result(sm *s, warp *w, const orr_tinst *i, uint64_t ready) {
    ready = write_back(s, w, i, ready);
    if (s->c->latencies) cyc_precharacterise_note(s, i, ready);
    scoreboard_result(&w->board, s->c->program, i, ready);
}

void cyc_warp_expect(sm *s, warp *w, const orr_tinst *i, enum orr_stall why) {
    scoreboard_expect(&w->board, s->c->program, i, why);
    w->memory.inflight++;
}

// One thing less that the warp has not had an answer to.
static void answered(sm *s, warp *w, uint64_t ready) {
    w->memory.inflight--;
    if (ready > w->memory.answered) w->memory.answered = ready;
    if (w->pc.at == w->pc.end && !w->memory.inflight)
        cyc_block_warp_ended(s, w);
    else if (w->pc.at != w->pc.end && w->ready == NEVER)
        cyc_warp_update(s, w);
}

void cyc_warp_complete(sm *s, warp *w, uint32_t inst, uint64_t ready, uint8_t group) {
    const orr_tinst *i = &s->c->program->insts[inst];
    ready = write_back(s, w, i, ready);
    scoreboard_complete(&w->board, s->c->program, i, ready);
    if (i->flags & ORR_TF_ATOMIC) w->memory.atomic = ready;
    if (group != NO_GROUP) scoreboard_copied(&w->board, group, ready);
    answered(s, w, ready);
}

void cyc_warp_copied(sm *s, warp *w, uint8_t group, uint64_t ready) {
    scoreboard_copied(&w->board, group, ready);
    answered(s, w, ready);
}

// A memory instruction that waits in the queue reads its operands when it leaves it; the warp does not end
// before, since the queue looks into its trace.
void cyc_warp_will_read(sm *s, warp *w, const orr_tinst *i) {
    w->memory.inflight++;
    scoreboard_will_read(&w->board, s->c->program, i);
}

void cyc_warp_has_read(sm *s, warp *w, const orr_tinst *i, uint64_t when) {
    scoreboard_has_read(&w->board, s->c->program, i, when);
    answered(s, w, when);
}

// With core.barrier_run_ahead a warp that has come to a barrier goes on with what takes a fixed time, and
// stops in front of the first other instruction (BAR.SYNC.DEFER_BLOCKING; H200, a warp that comes 1,460
// cycles before the last: it does all of 190 FFMAs meanwhile, and as well HFMA2, DFMA, LOP3, IADD3, ISETP,
// IMAD, VOTE and readings of the clock; LDS, STS, LDG, MUFU, POPC, SHFL, S2R, HMMA, branches and barriers
// wait). A warp that is executed as it is timed stays: its executor is at the barrier.
static bool passes_barrier(const sm *s, const warp *w, const orr_tinst *i) {
    if (!s->c->gpu->core_barrier_run_ahead || w->exec || (i->kind != ORR_TK_ALU && i->kind != ORR_TK_CLOCK))
        return false;
    static const bool fixed[ORR_TC_COUNT] = {
        [ORR_TC_INT] = true,  [ORR_TC_INT_MUL] = true, [ORR_TC_FP32] = true, [ORR_TC_FP16] = true,
        [ORR_TC_FP64] = true, [ORR_TC_MOVE] = true,    [ORR_TC_VOTE] = true, [ORR_TC_UNIFORM] = true,
    };
    return fixed[i->tclass];
}

bool cyc_warp_fence_is_off(const sm *s, const warp *w, const orr_tinst *i) {
    if (i->kind != ORR_TK_FENCE || !i->offset || !s->c->traits.in_order || w->exec) return false;
    orr_trace t = w->pc.trace;
    orr_access a;
    for (uint32_t n = 1; n < i->offset; n++)
        if (!orr_trace_skip(&t)) return false;
    return orr_trace_access(&t, &a) && !a.mask;
}

// What a fence waits for in front of it, and what is behind one. Where it asks slices (core.fence_probe) it
// is in line at L1 behind what the warp has sent there, and it is not over before that has been answered
// (H200: 378 cycles near and 562 far behind a load, be it on its way or there; behind one that comes from
// memory as long as that takes; one for the block 11 cycles). Else it begins when all of that is there.
static uint64_t behind_memory(const sm *s, const warp *w, const orr_tinst *i) {
    const lsu_warp *l = &s->lsu.warp[warp_id(w)];
    bool counts = port_counts_stores(&s->port), answers = w->fences || !counts || !s->fence.spec->probes;
    if (answers ? w->memory.inflight : l->queued) return NEVER;
    uint64_t t = answers ? w->memory.answered : 0;
    bool in_line = i->kind == ORR_TK_FENCE && i->imm >= 1 && counts;
    return in_line ? latest(t, l->began) : t;
}

// Products of groups of warps are done in order: a further one waits for room, a wait for those it names.
static uint64_t products(const sm *s, const warp *w, const orr_tinst *i, uint64_t t, uint8_t *why) {
    uint64_t until = i->kind == ORR_TK_PRODUCT ? products_room(&s->products, warp_id(w))
                                               : products_wait(&s->products, warp_id(w), i->imm);
    if (until <= t) return t;
    *why = i->kind == ORR_TK_PRODUCT ? ORR_STALL_MATH : ORR_STALL_GMMA;
    return until;
}

// What an instruction of the kind waits for besides what it reads and writes: in front of a fence or behind
// one for memory, at a DEPBAR for groups of copies or for a barrier of the control bits.
static uint64_t other_waits(const sm *s, const warp *w, const orr_tinst *i, uint64_t t, uint8_t *why) {
    bool fence = i->kind == ORR_TK_FENCE && !cyc_warp_fence_is_off(s, w, i);
    uint64_t memory = fence || w->fences ? behind_memory(s, w, i) : 0;
    if (fence && i->imm >= 1 && w->remote_done > memory) memory = w->remote_done;
    if (memory > t) {
        t = memory;
        *why = ORR_STALL_MEMBAR;
    }
    if (i->kind == ORR_TK_PRODUCT || i->kind == ORR_TK_PRODUCT_WAIT) return products(s, w, i, t, why);
    if (i->kind != ORR_TK_WAIT_GROUP) return t;
    uint64_t groups = scoreboard_groups(&w->board, i->imm);
    if (groups > t) {
        t = groups;
        *why = ORR_STALL_GROUP;
    }
    // DEPBAR.LE SB, 0. With a count it is for what comes in order: groups.
    if (i->warps && !i->imm && scoreboard_down(&w->board, i->warps - 1u) > t) {
        t = scoreboard_down(&w->board, i->warps - 1u);
        *why = w->board.why[i->warps - 1];
    }
    return t;
}

static bool waits_for_others(const orr_tinst *i) {
    return i->kind == ORR_TK_FENCE || i->kind == ORR_TK_BARRIER || i->kind == ORR_TK_WAIT_GROUP ||
           i->kind == ORR_TK_PRODUCT || i->kind == ORR_TK_PRODUCT_WAIT;
}

void cyc_warp_update(sm *s, warp *w) {
    const orr_program *p = s->c->program;
    const orr_tinst *i = &p->insts[w->pc.at];
    uint64_t t = w->front_end_ready;
    uint8_t why = w->front_end_stall;
    if ((w->barrier || w->barrier_passed > t) && !passes_barrier(s, w, i)) {
        t = w->barrier ? NEVER : w->barrier_passed;
        why = ORR_STALL_BARRIER;
    }
    if (p->control || i->kind != ORR_TK_PRODUCT) t = scoreboard_wait(&w->board, p, i, t, &why);
    if (w->fences || waits_for_others(i)) t = other_waits(s, w, i, t, &why);
    if (w->memory.atomic > t && s->c->gpu->core_atomic_wait) {
        t = w->memory.atomic;
        why = ORR_STALL_LONG;
    }
    w->ready = t;
    w->stall = why;
    scheduler *q = &s->sched[w->sched];
    w->operand_cycles = q->operand_cycles;
    scheduler_update(q, w->slot, t, why, i->unit, i->kind == ORR_TK_MEM);
}

static uint64_t within(uint64_t t, uint64_t from, uint64_t until) {
    return t < from ? from : t > until ? until : t;
}

// Cycles in which it could not have issued. A warp is at one stage at a time: its stall count passes, then
// its branch is resolved, then code is there, and only then does what it depends on count, as Nsight Compute
// has it.
static void account_waits(sm *s, const warp *w, uint64_t from, uint64_t until) {
    const struct {
        uint64_t until;
        uint8_t why;
    } stages[] = {{w->front_end.stall_count, ORR_STALL_WAIT},
                  {w->front_end.branch, ORR_STALL_BRANCH},
                  {w->front_end.fetch, ORR_STALL_FETCH},
                  {w->front_end_ready, w->front_end_stall},
                  {until, w->stall}};
    for (size_t k = 0; k < sizeof stages / sizeof *stages && from < until; k++) {
        uint64_t to = within(stages[k].until, from, until);
        if (to > from) charge(s, w->pc.at, (enum orr_stall)stages[k].why, to - from);
        from = to;
    }
}

// Cycles up to when it could have issued have the reason it waited for. After that its unit was busy, or
// free and another warp was chosen. When the unit took its last instruction is known; before that, one that
// takes an instruction every n cycles was free in one of n.
void cyc_warp_account(sm *s, warp *w, uint64_t until) {
    uint64_t from = w->accounted_until;
    if (until <= from) return;
    w->accounted_until = until;
    if (w->pc.at == w->pc.end) { // ended, then its last loads are under way
        uint64_t waits = within(w->front_end_ready, from, until),
                 goes = within(w->front_end_ready, from, until);
        charge(s, w->pc.at - 1, ORR_STALL_WAIT, waits - from);
        charge(s, w->pc.at - 1, ORR_STALL_BRANCH, goes - waits);
        charge(s, w->memory.last_inst ? w->memory.last_inst - 1 : w->pc.at - 1, ORR_STALL_DRAIN,
               until - goes); // what it waits for
        return;
    }
    uint64_t dep = w->ready > until ? until : w->ready < from ? from : w->ready;
    account_waits(s, w, from, dep);
    uint64_t rest = until - dep;
    if (!rest) return;
    const orr_tinst *i = &s->c->program->insts[w->pc.at];
    uint64_t room = s->lsu.room;
    if (i->kind == ORR_TK_MEM && room > dep) {
        uint64_t n = room > until ? rest : room - dep;
        // Behind accesses of shared memory it is the queue of all, which Nsight Compute calls MIO.
        bool shared = i->space == ORR_SPACE_SHARED || s->lsu.nshared;
        charge(s, w->pc.at, shared ? ORR_STALL_MIO : ORR_STALL_LG, n);
        rest -= n;
        if (!rest) return;
    }
    const scheduler *q = &s->sched[w->sched];
    if (q->operand_cycles != w->operand_cycles) {
        uint64_t n = q->operand_cycles - w->operand_cycles;
        if (n > rest) n = rest;
        w->operand_cycles = q->operand_cycles;
        charge(s, w->pc.at, ORR_STALL_COLLECTOR, n);
        rest -= n;
        if (!rest) return;
    }
    uint64_t free_at = units_free_at(&s->units, w->sched, i->unit);
    if (by_queue(i) && free_at > dep) {
        uint64_t n = free_at - dep < rest ? free_at - dep : rest; // some of it may have been the queue's
        charge(s, w->pc.at, ORR_STALL_MIO, n);
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
    charge(s, w->pc.at, ORR_STALL_SELECTED, idle + chosen);
    charge(s, w->pc.at, ORR_STALL_MATH, rest - chosen);
}

// A body runs under a predicate: it is issued even where the trace goes on elsewhere, then for no lane
// (orr_tblock.body).
static bool next_is_predicated_off(warp *w) { return w->pc.body && w->pc.next != w->pc.body - 1; }

static bool read_accesses(warp *w, uint32_t n) {
    for (uint32_t a = 0; a < n; a++) {
        w->pc.access[a] = (uint32_t)(w->pc.trace.at - w->pc.base);
        if (!orr_trace_skip(&w->pc.trace)) return false;
    }
    return true;
}

const orr_tblock *cyc_warp_enter(warp *w, const orr_program *p) {
    w->pc.predicated_off = next_is_predicated_off(w);
    const orr_tblock *b = &p->blocks[w->pc.predicated_off ? w->pc.body - 1 : w->pc.next];
    w->pc.mask = w->pc.predicated_off ? 0 : w->pc.next_mask;
    w->pc.lanes = (uint32_t)orr_popc(w->pc.mask);
    w->pc.at = b->first;
    w->pc.end = b->first + b->count;
    w->pc.body = b->body;
    w->pc.has_next = w->pc.predicated_off;
    w->pc.naccess = 0;
    return b;
}

bool cyc_warp_next_block(sm *s, warp *w) {
    const orr_program *p = s->c->program;
    if (w->exec) return cyc_step_next_block(s, w);
    do {
        if (!w->pc.has_next) {
            const orr_program_part *part = w->pc.part;
            uint32_t nblocks = part ? part->nblocks : p->nblocks;
            int more = orr_trace_block(&w->pc.trace, nblocks, &w->pc.next, &w->pc.next_mask);
            if (part) w->pc.next += part->first_block;
            if (more < 0) s->bad_trace = true;
            w->pc.has_next = more > 0;
        }
        if (!w->pc.has_next) return false;
        const orr_tblock *b = cyc_warp_enter(w, p);
        if (!w->pc.predicated_off && !s->c->traits.in_order && !read_accesses(w, b->naccess)) {
            s->bad_trace = true;
            return false;
        }
    } while (w->pc.at == w->pc.end); // a block whose code vanished in the lowering
    return true;
}
