// An SM from one point in time to another: its schedulers choose warps, instructions go to their units.
//
// The loop knows for each scheduler the next cycle in which it could issue (`wake`) and for the network the
// next answer. It goes to the earliest of them. A scheduler that finds nobody ready learns when the first one
// will be and sleeps until then; what may change that (an answer, a barrier, a new block) lowers `wake`.
#include "model/cycle/step.h"

#include <string.h>

// ---- operands
// ----------------------------------------------------------------------------------------------- Collector
// cores: an instruction sits in a collector while its operands come from the banks, each bank `regs.ports` a
// cycle, the collector too; warps are shifted against each other over the banks (accel-sim.txt, II-B;
// source-level-probabilistic.txt, III). Returns the cycles from issue to the unit; *lost are those that
// conflicts cost.
static uint64_t collect(sm *s, const warp *w, const orr_tinst *i, uint64_t *lost) {
    const cycle *c = s->c;
    const orr_program *p = c->program;
    uint32_t sub = w->sched / c->sched_per_sub, ports = (uint32_t)c->gpu->regs_ports;
    uint64_t *free_at = s->bank_free + sub * c->sub_banks;
    uint64_t first = (s->now + 1) * ports, last = first; // in reads: `ports` to a cycle
    uint32_t reads = 0, shift = w->slot * c->nsched + w->sched;
    for (int n = 0; n < i->nsrc; n++) {
        uint16_t place = p->regs[i->regs + (uint32_t)n], reg = p->reg[place];
        if (reg >= ORR_TREG_P) continue;
        bool again = false; // an operand named twice is read once
        for (int m = 0; m < n; m++) again |= p->regs[i->regs + (uint32_t)m] == place;
        if (again) continue;
        uint32_t shifted = reg + shift;
        uint64_t *bank = &free_at[c->bank_mask ? shifted & c->bank_mask : shifted % c->sub_banks];
        uint64_t t = first + reads++; // one after the other into the collector
        if (*bank > t) t = *bank;
        *bank = t + 1;
        if (t + 1 > last) last = t + 1;
    }
    uint32_t ideal = (reads + ports - 1) / ports, took = ((uint32_t)(last - first) + ports - 1) / ports;
    *lost = took - (took < ideal ? took : ideal);
    s->register_conflicts += *lost;
    // the collector that is free first
    uint64_t *unit = s->collector_free + sub * c->sub_collectors;
    uint32_t best = 0;
    for (uint32_t n = 1; n < c->sub_collectors; n++)
        if (unit[n] < unit[best]) best = n;
    unit[best] = s->now + 1 + took + 1;        // taken, read, handed on
    return c->collect + (took ? took - 1 : 0); // core.collect has one cycle of reading in it
}

// What memory instructions have read since the sub-core's last instruction.
static void read_late(const cycle *c, sched *q, uint64_t now, uint64_t ports) {
    for (; q->late_n && q->late[q->late_first].at <= now; q->late_n--) {
        const late_read *r = &q->late[q->late_first];
        q->late_first = (q->late_first + 1) % MAX_LATE;
        for (uint32_t b = 0; b < c->read_banks; b++)
            if (r->need[b])
                q->bank_free[b] =
                    (q->bank_free[b] > r->at * ports ? q->bank_free[b] : r->at * ports) + r->need[b];
    }
}

// How many cycles ago one of the warp's last instructions made what register `reg` has, `most` if none did
// since.
static uint32_t age_of(const sm *s, const warp *w, uint32_t reg, uint32_t most) {
    uint32_t now = (uint32_t)s->now, age = most;
    for (uint32_t k = 0; k < 8; k++)
        if (w->made[k] == reg + 1 && now - w->made_at[k] < age) age = now - w->made_at[k];
    return age;
}

// Results that have just been made come to who needs them past the registers. Of two operands in one bank the
// second is read a cycle later, and must be in the registers by then (regs.late). H200: V and L at distances
// d and 4 in front of an instruction that reads both from one bank, LOP3, IADD3, IMAD or FFMA: 3 cycles more
// with d = 5, 2 with 6, none from 7 on, in whatever order they are named, and none where they are in
// different banks or one of them is old. Returns the cycles that it waits.
static uint64_t wait_for_late(const sm *s, const warp *w, const orr_tinst *i, uint32_t counted,
                              uint32_t bank) {
    uint32_t late = (uint32_t)s->c->gpu->regs_late, youngest = late, older = late;
    const orr_read *r = s->c->program->reads + i->reads;
    for (uint32_t n = 0; n < i->nreads; n++) {
        if (!(counted >> n & 1) || r[n].bank != bank) continue;
        uint32_t age = age_of(s, w, r[n].reg, late);
        older = age < youngest ? youngest : age < older ? age : older;
        if (age < youngest) youngest = age;
    }
    return older + 1 < late ? late - older : 0;
}

// A result that comes past the registers; those of other latencies were not measured.
static void note_made(const sm *s, warp *w, const orr_tinst *i, uint64_t when) {
    const orr_program *p = s->c->program;
    if ((i->result != 4 && !i->dispatch) || !i->ndst) return;
    for (uint32_t d = 0; d < i->ndst && d < 2; d++) {
        uint16_t reg = p->reg[p->regs[i->regs + i->nsrc + d]];
        if (reg >= ORR_TREG_P) return;
        w->made[w->nmade % 8] = (uint16_t)(reg + 1);
        // the high word of a product comes as much later as that takes to leave
        w->made_at[w->nmade++ % 8] = (uint32_t)when + (d + 1 == i->ndst ? i->dispatch : 0);
    }
}

// What IMAD.WIDE and IMAD.HI multiply must be in the registers (op.CLASS.settled; H200: a result 4, 5, 6
// cycles old costs 3, 2, 1, whatever made it and whichever its bank, and nothing as what is added). Returns
// the cycles that it waits.
static uint64_t wait_until_settled(const sm *s, const warp *w, const orr_tinst *i) {
    const orr_read *r = s->c->program->reads + i->reads;
    uint32_t age = i->settled;
    for (uint32_t n = 0; n < i->nreads; n++)
        if (r[n].early) age = age_of(s, w, r[n].reg, age);
    return i->settled - age;
}

// Modern cores: a bank serves `regs.ports` reads a cycle and an instruction has `regs.window` cycles to get
// its operands, so that one that reads a bank more often can be made up for by its neighbours. One that does
// not fit in waits, and the scheduler with it. What the code marks for reuse stays, a register for each place
// of an operand and bank, until another is read there, of whatever warp (Huerta et al., "Analyzing Modern
// NVIDIA GPU cores", 2025). Pairs of registers (64-bit operands) have places of their own, and an instruction
// that reads some waits until its banks are free (H200: micro/pipes, DFMA with LOP3 and IMAD 2.1 cycles a
// pair; micro/alu_throughput, DFMA 2.2 cycles where one of six reads all of its operands). Returns the cycles
// it waits.
static uint64_t read_banks(sm *s, const warp *w, const orr_tinst *i) {
    const cycle *c = s->c;
    sched *q = &s->sched[c->sched_per_sub == 1 ? w->sched : w->sched - w->sched % c->sched_per_sub];
    uint32_t need[ORR_READ_BANKS] = {0}, id = warp_id(w) << 16, counted = 0;
    const orr_read *r = c->program->reads + i->reads;
    for (uint32_t n = i->nreads; n > 0; n--, r++) {
        uint32_t *kept = &q->kept[r->place][r->bank], me = (id | r->reg) + 1;
        uint32_t one = (!r->again) & ((!r->place) | (*kept != me));
        need[r->bank] += one;
        counted |= one << (i->nreads - n);
        *kept = r->kept ? me : 0;
    }
    uint64_t ports = (uint64_t)c->gpu->regs_ports, window = i->window * ports;
    if (q->late_n) read_late(c, q, s->now, ports);
    if (s->lsu_handed > s->now && i->kind == ORR_TK_MEM && q->late_n < MAX_LATE) {
        late_read *late = &q->late[(q->late_first + q->late_n++) % MAX_LATE];
        late->at = s->lsu_handed;
        for (uint32_t b = 0; b < ORR_READ_BANKS; b++) late->need[b] = (uint8_t)need[b];
        return 0;
    }
    uint64_t first = s->now * ports, t = first;
    for (uint32_t b = 0; b < c->read_banks; b++) {
        if (need[b] > 1 && c->gpu->regs_late) {
            uint64_t late = first + wait_for_late(s, w, i, counted, b) * ports;
            if (late > t) t = late;
        }
        uint64_t slack = window > need[b] ? window - need[b] : 0;
        if (need[b] && q->bank_free[b] > t + slack) t = q->bank_free[b] - slack;
    }
    if (ports > 1) t = (t + ports - 1) / ports * ports;
    for (uint32_t b = 0; b < c->read_banks; b++)
        if (need[b]) q->bank_free[b] = (q->bank_free[b] > t ? q->bank_free[b] : t) + need[b];
    return ports > 1 ? (t - first) / ports : t - first;
}

// What is kept is lost as soon as another warp issues, whatever that is (regs.reuse_own; H200: of two warps,
// DFMAs with kept operands take 2 cycles each as long as one of them goes on, 3 with a NOP of the other in
// between).
static void forget(const sm *s, const warp *w) {
    const cycle *c = s->c;
    sched *q = &s->sched[c->sched_per_sub == 1 ? w->sched : w->sched - w->sched % c->sched_per_sub];
    uint32_t me = warp_id(w) + 1;
    if (q->keeper == me) return;
    q->keeper = me;
    memset(q->kept, 0, sizeof q->kept);
}

// A sub-core's registers take one result a cycle. Those of units with other latencies may come in the same
// one: then the later instruction waits, and the scheduler with it (H200: HFMA2.MMA or DFMA, and FFMA, IMAD,
// LOP3 or HFMA2 two cycles behind it, whatever their registers: one cycle more; at no other distance).
// Returns the cycles that it waits from `t` on.
static uint64_t wait_for_result(const sm *s, const warp *w, const orr_tinst *i, uint64_t t) {
    const cycle *c = s->c;
    sched *q = &s->sched[c->sched_per_sub == 1 ? w->sched : w->sched - w->sched % c->sched_per_sub];
    if (t > q->results_at) {
        q->results = t - q->results_at < 64 ? q->results >> (t - q->results_at) : 0;
        q->results_at = t;
    }
    uint64_t first = t + i->result - q->results_at, at = first;
    while (at < 64 && q->results >> at & 1) at++;
    if (at < 64) q->results |= 1ull << at;
    return at - first;
}

static uint64_t collectors_free(const sm *s, uint32_t sched) {
    const cycle *c = s->c;
    if (!c->sub_collectors) return 0;
    const uint64_t *unit = s->collector_free + sched / c->sched_per_sub * c->sub_collectors;
    uint64_t t = unit[0];
    for (uint32_t n = 1; n < c->sub_collectors; n++)
        if (unit[n] < t) t = unit[n];
    return t;
}

// ---- units ------------------------------------------------------------------------------------------------
// A unit of two halves takes an instruction when one of them is free. The one that is a unit by itself too
// (H200: fmaheavy, which alone does IMAD) is the second choice: of 32,900 FFMAs between DFMAs it did 9,800,
// and an IMAD and n FFMAs take as many cycles as instructions, and one more if that is odd.
static void halves_free(sm *s, pool *p) {
    uint64_t other = s->pool_free[p->half - 1];
    s->pool_free[p - s->pools] = p->at[0] < other ? p->at[0] : other;
}

static void occupy_half(sm *s, pool *p, uint64_t until, uint64_t now) {
    if (p->at[0] <= now)
        p->at[0] = until;
    else
        s->pool_free[p->half - 1] = until;
    halves_free(s, p);
}

// Takes one of the pool for some cycles; the instruction gets there `late` cycles from now. Returns how long
// it waits in front of it: not at all, unless the unit has a queue.
static uint64_t occupy(sm *s, uint32_t which, uint64_t cycles, uint64_t late) {
    pool *p = &s->pools[which];
    uint64_t now = s->now + late;
    s->unit_busy[p->unit] += cycles;
    if (p->half) {
        occupy_half(s, p, now + 2 * cycles, now);
        return 0;
    }
    if (p->n == 1 && !p->queue) {
        s->pool_free[which] = now + cycles;
        if (p->whole) halves_free(s, &s->pools[p->whole - 1]);
        return 0;
    }
    uint32_t best = 0;
    for (uint32_t n = 1; n < p->n; n++)
        if (p->at[n] < p->at[best]) best = n;
    uint64_t start = p->queue && p->at[best] > now ? p->at[best] : now;
    p->at[best] = start + cycles;
    uint64_t t = p->at[0];
    for (uint32_t n = 1; n < p->n; n++)
        if (p->at[n] < t) t = p->at[n];
    uint64_t ahead = p->queue * cycles; // as if all were like this one
    s->pool_free[which] = t > ahead ? t - ahead : 0;
    return start - now;
}

// A load of constants that are not there keeps what is behind it in the queue, reads of special registers
// and other such loads; when that is full they are not issued (H200: micro/start, mio_throttle, however few
// of them a kernel has).
static void queue_full(sm *s, const sched *q, const orr_tinst *i) {
    uint32_t units[] = {i->unit, s->c->sreg_unit};
    for (uint32_t n = 0; n < 2; n++) {
        uint64_t *free_at = units[n] == NO_UNIT ? NULL : &s->pool_free[q->pool_of[units[n]]];
        if (free_at && *free_at < q->behind_until) *free_at = q->behind_until;
    }
}

// Units that are made of others (unit.NAME.over).
static void occupy_others(sm *s, const sched *q, uint32_t unit, uint64_t now) {
    for (const uint8_t *p = q->with[unit]; *p; p++) {
        uint64_t free_at = now + s->pools[*p - 1].cycles;
        if (s->pool_free[*p - 1] < free_at) s->pool_free[*p - 1] = free_at;
        if (s->pools[*p - 1].half && s->pools[*p - 1].at[0] < free_at) s->pools[*p - 1].at[0] = free_at;
    }
}

// A tensor instruction while the SM's clock is held back takes twice as long, for its unit and its warp.
static void ramp(sm *s, const sched *q, warp *w, const orr_tinst *i) {
    if (!s->ramp) s->ramp = s->now + (uint64_t)s->c->gpu->core_tensor_ramp;
    if (s->now >= s->ramp) return;
    s->pool_free[q->pool_of[i->unit]] += i->interval;
    w->front += w->front - s->now;
}

// A branch has been issued whose lanes go elsewhere, or meet. Where a register says so the target is known
// late. At a barrier register that a function saved and restored (BMOV) lanes meet with two BSYNCs, as if the
// second had to look up where (H200: micro/calls, recurse).
static void jump(sm *s, warp *w, const orr_tinst *i, uint32_t inst) {
    cycle *c = s->c;
    if (w->yielded) return; // the time it takes is known
    w->front += c->branch_jump + (i->flags & ORR_TF_INDIRECT ? c->branch_indirect : 0);
    if (i->sass == ORR_SASS_BSYNC) w->front += w->at == inst + 1 ? c->sync_meet : c->branch_switch;
    w->front_why = ORR_STALL_BRANCH;
    if (!w->restored || i->sass != ORR_SASS_BSYNC || !(w->restored >> i->imm & 1)) return;
    if (w->at == inst) return; // other lanes come to it now
    w->restored &= (uint16_t) ~(1u << i->imm);
    uint32_t stall = ORR_CTRL_STALL(i->ctrl) ? ORR_CTRL_STALL(i->ctrl) : 1;
    w->front += stall + c->branch_jump + c->branch_indirect + (uint64_t)c->gpu->core_sync_restored;
    charge(s, inst, ORR_STALL_ISSUED, 1);
    w->since++;
    s->worker->issued[inst]++;
    s->worker->threads[inst] += w->lanes;
    s->n.thread_insts += w->lanes;
    s->n.issued++;
    s->n.branches++;
}

// After a YIELD nothing is issued for a while, whoever goes on. Lanes that wait at a WARPSYNC then look
// whether all are there (exec/sass/converge.c), which takes as long again.
static void yield_or_poll(sm *s, warp *w, const orr_tinst *i, bool yielded) {
    uint64_t most = i->sass == ORR_SASS_YIELD                 ? s->c->yield
                    : i->sass == ORR_SASS_WARPSYNC && yielded ? s->c->sync_poll
                                                              : 0;
    w->yielded = most > 0;
    if (w->front >= s->now + most) return;
    w->front = s->now + most;
    w->front_why = ORR_STALL_BRANCH;
}

// Lanes come to a WARPSYNC and wait, or end, and the warp goes on with others.
static void leave_to_others(const sm *s, warp *w, const orr_tinst *i) {
    const orr_gpu *g = s->c->gpu;
    if (i->sass != ORR_SASS_WARPSYNC && i->sass != ORR_SASS_EXIT) return;
    uint64_t more = (uint64_t)(i->sass == ORR_SASS_EXIT       ? g->core_exit_switch
                               : i->flags & ORR_TF_COLLECTIVE ? g->core_sync_collective
                                                              : g->core_sync_wait);
    if (!more) return;
    w->front += more;
    w->front_why = ORR_STALL_BRANCH;
}

// ---- issue
// -------------------------------------------------------------------------------------------------- One
// instruction of a warp. `again`: it is not the first of this cycle. True: the warp could issue another in
// it.
static bool issue(sm *s, sched *q, uint32_t slot, bool again, bool more) {
    cycle *c = s->c;
    warp *w = &q->warps[slot];
    uint32_t inst = w->at;
    const orr_tinst *i = &c->program->insts[inst];
    worker *k = s->worker;
    uint64_t now = s->now;
    bool ghost = w->ghost;
    if (!again) {
        cyc_warp_account(s, w, now);
        charge(s, inst, ORR_STALL_ISSUED, 1);
        w->since = now + 1;
    } else {
        s->n.dual++;
    }
    k->issued[inst]++;
    k->threads[inst] += w->lanes;
    s->n.thread_insts += w->lanes;
    s->n.issued++;
    q->last = slot;
    q->greedy = w->age;

    orr_step_access *live = w->exec ? cyc_step_issue(s, w, i) : NULL;
    w->front = now + (more ? 0 : 1);
    w->front_why = ORR_STALL_WAIT;
    bool yielded = w->yielded;
    w->yielded = false;
    w->fences = i->kind == ORR_TK_FENCE && i->imm >= 1;
    uint32_t stall = ORR_CTRL_STALL(i->ctrl); // 0 where nobody knows
    if (stall > 1) w->front = now + stall;
    if (c->program->control) q->yield = !ORR_CTRL_YIELD(i->ctrl);
    uint64_t start, lost = 0, queued = 0; // cycles until it is in its unit; of them for banks, in its queue
    if (c->sub_collectors) {
        start = collect(s, w, i, &lost);
        start += occupy(s, q->pool_of[i->unit], i->interval, 0);
    } else {
        if (c->gpu->regs_reuse_own) forget(s, w);
        if (i->kind == ORR_TK_MEM && c->gpu->lsu_width && !ghost) cyc_lsu_hand_over(s, w, i);
        lost = start = i->nreads ? read_banks(s, w, i) : 0;
        if (i->settled) {
            uint64_t young = wait_until_settled(s, w, i);
            if (young > start) lost = start = young;
        }
        if (i->result) lost = start += wait_for_result(s, w, i, now + start);
        if (c->gpu->regs_late) note_made(s, w, i, now + start);
        s->register_conflicts += start;
        uint64_t late = i->kind == ORR_TK_SYNCS && w->syncs > now + start ? w->syncs - now : start;
        queued = occupy(s, q->pool_of[i->unit], i->interval, late) + late - start;
        if (q->with[i->unit][0]) occupy_others(s, q, i->unit, now + start);
        if (i->tclass == ORR_TC_TENSOR || i->tclass == ORR_TC_TENSOR_INT) ramp(s, q, w, i);
        q->banks = start + i->dispatch;
        q->held += start + i->dispatch;
        w->front += start + i->dispatch + i->hold; // others of the scheduler do not wait for `hold`
        start += i->hold;
        lost = start += queued;
    }

    switch (i->kind) {
    case ORR_TK_SYNCS:
    case ORR_TK_MEM: {
        if (ghost) { // no lane takes part
            cyc_warp_result(s, w, i, now + start + 1);
            break;
        }
        orr_trace at = w->trace;
        if (!c->in_order) {
            at.at = w->base + w->access[i->access];
            at.mask = w->mask;
        } else if (!orr_trace_skip(&w->trace)) {
            s->damaged = true;
        }
        if (i->kind == ORR_TK_SYNCS) {
            cyc_arrive(s, w, i, inst, &at, now + start);
            break;
        }
        cyc_lsu_issue(s, w, i, &(struct queued){.trace = at, .inst = inst, .live = live}, lost); // the latencies of memory count from issue
        if (c->gpu->lsu_in_turn && i->space != ORR_SPACE_SHARED) {
            s->lsu_turn = w->sched + 1u < c->nsched ? w->sched + 1u : 0;
            s->turn_until = s->lsu_free;
        }
        break;
    }
    case ORR_TK_BRANCH:
        cyc_warp_result(s, w, i, now + start + i->latency + c->writeback);
        s->n.branches++;
        if (w->front < now + c->branch_wait) {
            w->front = now + c->branch_wait;
            w->front_why = ORR_STALL_BRANCH;
        }
        w->front += queued; // it counts from when its unit takes it
        break;
    case ORR_TK_FENCE: cyc_fence(s, w, i); break;
    case ORR_TK_GROUP: w->group++; break;
    default: {
        uint64_t ready = now + start + i->latency + c->writeback;
        if (i->tclass == ORR_TC_CONST && i->constant && c->gpu->const_cold) {
            uint64_t there = cyc_constant_when(s, i, now);
            if (there > now) {
                ready += there - now;
                if (q->behind_until < there) q->behind_until = there, q->behind = 0;
            }
            if (ready > w->landed) w->landed = ready;
        }
        if (q->behind_until > now && by_queue(i)) {
            if (i->tclass != ORR_TC_CONST) ready += q->behind_until - now;
            if (++q->behind >= c->lsu_places) queue_full(s, q, i);
        }
        cyc_warp_result(s, w, i, ready);
        if (i->flags & (ORR_TF_NOTES | ORR_TF_RESTORES) && c->gpu->core_sync_again)
            w->restored = (uint16_t)(i->flags & ORR_TF_RESTORES ? w->restored | 1u << i->imm
                                                                : w->restored & ~(1u << i->imm));
    }
    }
    if (i->tclass == ORR_TC_BRANCH) yield_or_poll(s, w, i, yielded);
    if (i->sass == ORR_SASS_CCTL && i->imm) {
        cyc_l1_drop(s);
        if (counts_stores(c)) cyc_fence_drops(s);
    }
    // B2R: what the barrier found; the warp goes on when it has it.
    if (i->tclass == ORR_TC_BARRIER && i->kind != ORR_TK_BARRIER && w->front < now + i->latency) {
        w->front = now + i->latency;
        w->front_why = ORR_STALL_BARRIER;
    }

    uint32_t were = w->mask;
    if (++w->at == w->end && !cyc_warp_next_block(s, w)) {
        w->at = w->end = inst + 1;
        w->ready = q->ready[slot] = NEVER;
        q->awake &= ~(1ull << slot);
        w->why = ORR_STALL_DRAIN;
        if (!w->inflight) cyc_block_warp_ended(s, w);
        return false;
    }
    if (c->branch_jump && i->kind == ORR_TK_BRANCH &&
        (w->at != inst + 1 || i->sass == ORR_SASS_BSYNC || i->flags & ORR_TF_INDIRECT)) {
        jump(s, w, i, inst);
    }
    if (i->tclass == ORR_TC_BRANCH && !w->yielded && (w->at != inst + 1 || !(w->mask & were)))
        leave_to_others(s, w, i);
    if (!c->gpu->icache_perfect) {
        uint64_t t = cyc_fetch_when(s, w, c->program->insts[w->at].pc, now);
        if (t > w->front) {
            w->front = t;
            w->front_why = ORR_STALL_FETCH;
        }
        const orr_tinst *next = &c->program->insts[w->at];
        if (next->constant && c->gpu->const_cold && next->tclass != ORR_TC_CONST) {
            t = cyc_constant_when(s, next, w->front > now && w->front != NEVER ? w->front : now);
            if (t > w->front) {
                w->front = t;
                w->front_why = ORR_STALL_CONSTANT;
            }
        }
    }
    if (i->kind == ORR_TK_BARRIER && !ghost) {
        s->n.barriers++;
        if (w->exec)
            cyc_step_barrier(s, w, i);
        else
            cyc_block_barrier(s, w, i);
    }
    cyc_warp_look(s, w);
    return w->ready <= now;
}

// Those whose time has come are awake.
static void wake_up(sched *q, uint64_t now) {
    uint64_t next = NEVER;
    for (uint64_t m = q->live & ~q->awake; m; m &= m - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(m);
        uint64_t t = q->ready[slot];
        q->awake |= (uint64_t)(t <= now) << slot;
        next = t > now && t < next ? t : next;
    }
    q->next = next;
}

// The warps that can issue now; if none, *later is when to look again.
static uint64_t can_issue(const sm *s, sched *q, const uint64_t *room, uint64_t now, uint64_t *later) {
    if (q->next <= now) wake_up(q, now);
    uint64_t can = 0, t = q->next;
    for (uint64_t left = q->awake; left;) { // unit by unit
        uint8_t unit = q->unit[__builtin_ctzll(left)];
        uint64_t who = left & q->wants[unit], at = s->pool_free[q->pool_of[unit]];
        left &= ~who;
        if (at <= now)
            can |= who;
        else if (at < t)
            t = at;
    }
    if (can & q->memory && *room > now) {
        can &= ~q->memory;
        if (*room < t) t = *room;
    }
    *later = t;
    return can;
}

// Instructions that wait in line for their unit and have a result that comes late: shared memory, loads, MUFU
// and the like, shuffles. (Stores are not among them, although an H200 has those of several warps in turn,
// too: micro/l1_bandwidth, pattern_st, would be 5.6 % too slow.)
static bool in_line_for_unit(const sm *s, const sched *q, const orr_tinst *i) {
    if (!s->pools[q->pool_of[i->unit]].queue) return false;
    if (i->kind == ORR_TK_MEM) return i->space == ORR_SPACE_SHARED || i->flags & ORR_TF_LOAD;
    return i->tclass == ORR_TC_SFU || i->tclass == ORR_TC_CONV || i->tclass == ORR_TC_BITS ||
           i->tclass == ORR_TC_SHFL;
}

// Whether the warp that issued last could go on, were there room in the queue of its unit.
static bool finds_full(const sm *s, const sched *q, uint64_t now) {
    if (q->last >= MAX_WARPS || !(q->live & q->awake & 1ull << q->last)) return false;
    if (s->pool_free[q->pool_of[q->unit[q->last]]] <= now) return false;
    return in_line_for_unit(s, q, &s->c->program->insts[q->warps[q->last].at]);
}

// What scheduler `n` does in this cycle; returns when to look again.
static uint64_t schedule(sm *s, uint32_t n) {
    sched *q = &s->sched[n];
    cycle *c = s->c;
    uint64_t now = s->now, later;
    if (now < q->next_issue) return q->next_issue;
    const uint64_t *room = &s->lsu_room[n / c->lsu_scheds]; // of its queue
    uint64_t can = can_issue(s, q, room, now, &later);
    if (*room > now && q->last < MAX_WARPS && q->live & q->awake & q->memory & 1ull << q->last)
        q->stuck = true;
    if (q->short_turn && !q->full) q->full = finds_full(s, q, now);
    if (!can) return later;
    if (c->sub_collectors) {
        uint64_t t = collectors_free(s, n);
        if (t > now) {
            q->held += t - now;
            return q->next_issue = t;
        }
    }
    if (q->yield && q->last < MAX_WARPS && can & ~(1ull << q->last)) can &= ~(1ull << q->last);
    uint32_t slot = c->policy->pick(q, can);
    q->stuck = q->full = false;
    if (q->short_turn) q->queued = in_line_for_unit(s, q, &c->program->insts[q->warps[slot].at]);
    int more = c->gpu->core_issue;
    uint8_t used = q->pool_of[q->unit[slot]];
    bool again = issue(s, q, slot, false, more > 1);
    while (again && --more > 0) {
        uint8_t pool_now = q->pool_of[q->unit[slot]];
        if (c->gpu->core_dual_units && pool_now == used) break;
        if (s->pool_free[pool_now] > now || (q->memory >> slot & 1 && *room > now)) break;
        used = pool_now;
        again = issue(s, q, slot, true, more > 1);
    }
    warp *w = &q->warps[slot];
    if (c->gpu->core_issue > 1 && w->ready <= now) { // not in this cycle any more
        w->front = now + 1;
        cyc_warp_look(s, w);
    }
    return q->next_issue = now + q->banks + (uint64_t)c->gpu->core_issue_interval;
}

// ---- answers: a heap by time, then order
// ------------------------------------------------------------------------
static bool earlier(const arrival *a, const arrival *b) {
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

void cyc_sm_arrive(sm *s, uint64_t time, uint32_t token, uint8_t sectors) {
    arrival a = {time, s->in_order++, token, sectors};
    (void)ORR_PUSH(&s->in);
    size_t i = s->in.n - 1;
    for (; i && earlier(&a, &s->in.at[(i - 1) / 2]); i = (i - 1) / 2) s->in.at[i] = s->in.at[(i - 1) / 2];
    s->in.at[i] = a;
}

static arrival pop(sm *s) {
    arrival top = s->in.at[0], last = s->in.at[--s->in.n];
    size_t i = 0, n = s->in.n;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && earlier(&s->in.at[child + 1], &s->in.at[child])) child++;
        if (!earlier(&s->in.at[child], &last)) break;
        s->in.at[i] = s->in.at[child];
    }
    if (n) s->in.at[i] = last;
    return top;
}

static uint64_t next_answer(const sm *s) {
    return s->in.n ? (s->in.at[0].time + ORR_TICKS - 1) / ORR_TICKS : NEVER;
}

// ---- the loop
// ---------------------------------------------------------------------------------------------------
uint64_t cyc_sm_next(const sm *s) {
    uint64_t t = next_answer(s);
    for (uint32_t n = 0; n < s->c->nsched; n++)
        if (s->sched[n].wake < t) t = s->sched[n].wake;
    return t;
}

// Whose turn it is to go first at what the schedulers share: each cycle another's, or, with lsu.in_turn, as
// long as L1 has accesses in line, who is behind the one that was served last. So the second store of one
// sub-core is as far behind the first as those of the others take (H200: micro/flags, two warps of each of
// four sub-cores store to a line of the sub-core's own: all of them are joined, which stores 12 cycles apart
// are not).
static uint32_t first_of(const sm *s, uint32_t nsched) {
    if (s->turn_until > s->now) return s->lsu_turn;
    return nsched ? (uint32_t)s->now % nsched : 0;
}

void cyc_sm_run(sm *s, uint64_t until) {
    uint32_t nsched = s->c->nsched;
    while (!s->damaged && !s->starved) {
        uint64_t t = next_answer(s);
        for (uint32_t n = 0; n < nsched; n++)
            if (s->sched[n].wake < t) t = s->sched[n].wake;
        if (t >= until) break;
        if (t > s->now) s->now = t;
        while (next_answer(s) <= s->now) {
            arrival a = pop(s);
            cyc_lsu_answer(s, &a);
        }
        uint32_t n = first_of(s, nsched);
        for (uint32_t k = 0; k < nsched; k++, n = n + 1 < nsched ? n + 1 : 0) {
            sched *q = &s->sched[n];
            if (q->wake > s->now) continue;
            q->wake = NEVER; // what happens from here on may lower it
            uint64_t again = schedule(s, n);
            if (again < q->wake) q->wake = again;
            if (q->wake <= s->now) q->wake = s->now + 1;
        }
    }
    if (s->starved) return;
    s->now = until;
    for (uint32_t n = 0; n < nsched; n++) {
        sched *q = &s->sched[n];
        for (uint64_t m = q->live; m; m &= m - 1) cyc_warp_account(s, &q->warps[__builtin_ctzll(m)], until);
    }
}
