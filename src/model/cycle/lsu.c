// The load/store unit of an SM: one queue in front of L1 and shared memory, which share their storage and its
// port.
//
// An instruction is worked off when it is issued, at the time the unit will be free for it, as long as L1 can
// take its misses. When it cannot, the instruction stays at the head of the queue, half done, and the ones
// behind it wait until an answer makes room. The queue has `lsu.queue` places; a warp whose instruction finds
// no place cannot issue it.
#include "model/cycle/lsu.h"

#include <string.h>

#include "exec/exec.h"

static void begin(sm *s, uint64_t t, uint32_t cost) {
    uint64_t start = t > s->lsu_free ? t : s->lsu_free;
    s->lsu_busy_from = start;
    s->lsu_free = start + cost;
    s->head_cost = cost;
    s->lsu_late = 0;
    s->lsu_shared = false;
}

// A warp's access with conflicts takes lsu.pass cycles for each pass, and its next one begins behind that;
// the banks are free for others in between (H200: micro/rows, bank_* and pair: of one warp 64 cycles for 32
// passes, of four warps 128, in one sub-core or in four).
static void wait_for_way(sm *s, uint32_t w) {
    uint64_t way = warp_of(s, w)->way;
    s->lsu_late = way > s->lsu_busy_from ? way - s->lsu_busy_from : 0;
}

// Words of one bank that a store has written to lines whose tags are on few banks leave for L2 one after the
// other, l1.store_leave cycles each, when all have been written; loads wait until then (H200: a load that
// hits, 64 and 126 cycles after a store to 32 such lines, takes 66 and 4 cycles longer. Where the tags' banks
// have as many lines each it does not wait, why is not known).
static void wait_for_leaving(sm *s, const orr_tinst *i) {
    if (i->flags & ORR_TF_LOAD && s->lsu_busy_from + s->lsu_late < s->leaving)
        s->lsu_late = s->leaving - s->lsu_busy_from;
}

static void leaves(sm *s, const orr_tinst *i) {
    const orr_gpu *g = s->c->gpu;
    if (!(i->flags & ORR_TF_STORE) || !s->head_conflicts || s->head_tags <= (s->head.lines + 3) / 4) return;
    s->leaving = s->lsu_busy_from + s->lsu_late + s->head_passes * (uint32_t)g->lsu_pass +
                 s->head.lines * (uint32_t)g->l1_store_leave;
}

static void take_way(sm *s, uint32_t w, uint32_t passes) {
    warp_of(s, w)->way = s->lsu_busy_from + s->lsu_late + passes * (uint32_t)s->c->gpu->lsu_pass;
}

// A sub-core hands over `lsu.width` bytes a cycle of addresses or data, beside the others. So one alone does
// not keep L1 busy (H200: LDS of one warp are 2 cycles apart, LDG 4, those of 64 bits 4, of 128 bits 8). An
// instruction has its place in the queue until then, and reads its operands when its turn has come.
void cyc_lsu_hand_over(sm *s, const warp *w, const orr_tinst *i) {
    uint32_t width = (uint32_t)s->c->gpu->lsu_width;
    uint64_t *next = &s->lsu_hands[w->sched / s->c->sched_per_sub];
    bool near = i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_LOCAL || i->space == ORR_SPACE_CONST;
    uint32_t bytes = near ? 4 : 8; // an address
    if (bytes < i->bytes) bytes = i->bytes;
    uint64_t unit =
        s->pools[s->sched[w->sched].pool_of[i->unit]].at[0]; // in line behind those of all sub-cores
    s->lsu_handed = unit > s->now ? unit : s->now;
    if (s->lsu_handed < *next) s->lsu_handed = *next;
    *next = s->lsu_handed + (32 * bytes + width - 1) / width;
}

// Passes through the banks. Warps that run the same code tend to have the same pattern: then the bytes of the
// trace say so.
static orr_banked banks(sm *s, uint32_t inst, const orr_tinst *i, const queued *q, orr_access *a,
                        bool decoded) {
    struct bank_memo *m = &s->worker->memo[inst];
    size_t left = (size_t)(q->trace.end - q->trace.at);
    if (m->n && m->mask == q->trace.mask && m->n <= left && memcmp(m->bytes, q->trace.at, m->n) == 0)
        return m->banked;
    orr_trace t = q->trace;
    if (!decoded && !orr_trace_access(&t, a)) {
        s->damaged = true;
        return (orr_banked){0, 0, 0};
    }
    int kind = kind_of(i);
    bool once = kind == ORR_L1_ATOMIC && s->c->gpu->shared_swap > 1 && i->atomic == ORR_ATOMIC_SWAP_TEST;
    orr_banked r = orr_bank_conflicts(a, i->bytes,
                                      once                       ? ORR_BANKS_STORE
                                      : i->flags & ORR_TF_COUNTS ? ORR_BANKS_LOAD
                                      : kind == ORR_L1_ATOMIC    ? ORR_BANKS_ATOMIC
                                      : kind == ORR_L1_STORE     ? ORR_BANKS_STORE
                                                                 : ORR_BANKS_LOAD);
    size_t n = (size_t)(t.at - q->trace.at);
    m->n = 0;
    if (!decoded && n <= sizeof m->bytes) {
        m->n = (uint8_t)n;
        m->mask = q->trace.mask;
        m->banked = r;
        memcpy(m->bytes, q->trace.at, n);
    }
    return r;
}

// What a sub-core loads comes to it lsu.width bytes a cycle (H200: two, three and four LDS.128 of one warp, 4
// passes each, are there 49.6, 57.2 and 65.9 cycles after the first was issued, one 40.5).
static uint64_t given_at(sm *s, const warp *w, uint32_t passes, uint64_t ready) {
    uint32_t width = (uint32_t)s->c->gpu->lsu_width;
    uint64_t *last = &s->lsu_gives[w->sched / s->c->sched_per_sub]; // 0: nothing yet
    if (!width) return ready;
    uint64_t next = *last ? *last + (passes * 128 + width - 1) / width : 0;
    return *last = ready > next ? ready : next;
}

// Shared memory is in L1's banks. What has been read out of them during its last access (l1.c) comes off the
// time of those behind this one (H200: micro/tiles, 8 blocks an SM that load tiles and multiply them take 7 %
// longer than the products alone; without this they would take 1 % longer).
static void begin_behind_reads(sm *s, uint64_t t, uint32_t passes) {
    uint64_t idle = t > s->lsu_free ? t - s->lsu_free : 0;
    begin(s, t, passes);
    if (s->read_out > idle) s->lsu_free += s->read_out - idle;
    s->read_out = 0;
    s->lsu_shared = true;
}

static void shared(sm *s, const queued *q, const orr_tinst *i, orr_banked b, uint64_t t) {
    cycle *c = s->c;
    int kind = kind_of(i);
    uint32_t passes = b.passes ? b.passes : 1;
    if (q->live && q->live->shared) {
        cyc_step_shared(q->live);
        if (q->flight == NOBODY) cyc_step_sent(q->live);
    }
    s->n.shared_requests[kind] += b.passes != 0;
    s->n.shared_passes[kind] += b.passes;
    s->n.shared_conflicts[kind] += b.conflicts;
    uint32_t each = c->pass_cycles;
    bool swap = kind == ORR_L1_ATOMIC && c->gpu->shared_swap > 1 && orr_atomic_swaps(i->atomic);
    if (swap) each *= (uint32_t)c->gpu->shared_swap;
    passes *= each;
    s->n.shared_busy += passes;
    begin_behind_reads(s, t, passes);
    wait_for_way(s, q->warp);
    bool slow = c->gpu->lsu_pass && b.conflicts;
    if (slow) take_way(s, q->warp, passes);
    if (q->flight == NOBODY) {
        warp *w = warp_of(s, q->warp);
        w->passed = slow && w->way > s->lsu_free ? w->way : s->lsu_free;
        return;
    }
    if (kind == ORR_L1_ATOMIC) passes += (uint32_t)c->gpu->shared_atomic * (each / c->pass_cycles);
    uint32_t lag = passes - each;
    if (swap && i->bytes == 8) lag += (uint32_t)c->gpu->shared_swap_wide;
    if (slow) lag += b.conflicts * ((uint32_t)c->gpu->lsu_pass - 1) * (each / c->pass_cycles);
    if (kind == ORR_L1_LOAD && b.passes > b.conflicts)
        lag += (b.passes - b.conflicts - 1) * (uint32_t)c->gpu->lsu_wide;
    uint64_t ready = s->lsu_busy_from + s->lsu_late + lag + c->shared_latency;
    if (kind == ORR_L1_LOAD) ready = given_at(s, warp_of(s, q->warp), b.passes, ready);
    s->flights.at[q->flight].floor = ready;
    cyc_l1_land(s, q->flight, 0);
}

// How many different words the lanes want.
static uint32_t words_of(const orr_access *a, uint32_t bytes) {
    uint64_t words[32];
    uint32_t n = 0;
    bytes = bytes > 4 ? bytes : 4;
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint64_t word = a->addr[orr_ffs(m)] / bytes;
        uint32_t k = 0;
        while (k < n && words[k] != word) k++;
        if (k == n) words[n++] = word;
    }
    return n ? n : 1;
}

// The lines of the access at hand in local memory (memory/space.h), SM by SM as the GPU numbers them.
static void place_local(sm *s, const warp *w) {
    const cycle *c = s->c;
    uint64_t n = ((uint64_t)s->number * c->per_sched + w->slot) * c->nsched + w->sched;
    for (uint32_t k = 0; k < s->head.lines; k++)
        s->head.line[k].line = orr_local_line(&c->local, n, s->head.line[k].line);
}

// Works the instruction off at `t`; false: it is now the half-done head.
static bool work_off(sm *s, queued *q, uint64_t t) {
    cycle *c = s->c;
    const orr_tinst *i = &c->program->insts[q->inst];
    work k = {i, q->inst, q->warp, q->flight, false, q->live};
    if (i->space == ORR_SPACE_SHARED) {
        shared(s, q, i, banks(s, q->inst, i, q, &s->head_access, false), t);
        return true;
    }
    orr_access *a = &s->head_access;
    orr_trace trace = q->trace;
    if (!orr_trace_access(&trace, a)) {
        s->damaged = true;
        return true;
    }
    uint8_t space = orr_space_resolve(a, i->space);
    if (i->offset)
        for (uint32_t m = a->mask; m; m &= m - 1) a->addr[orr_ffs(m)] += i->offset;
    if (space == ORR_SPACE_SHARED) {
        shared(s, q, i, banks(s, q->inst, i, q, a, true), t);
        return true;
    }
    if (!a->mask || space == ORR_SPACE_CONST) {
        uint32_t words = words_of(a, i->bytes), each = (uint32_t)c->gpu->const_interval;
        s->n.const_requests += words;
        begin(s, t, 1);
        if (s->lsu_busy_from < s->const_free) s->lsu_busy_from = s->const_free; // it waits in the queue
        uint32_t missed = 0;
        uint64_t latency =
            a->mask ? cyc_constants_load(&s->constants, c, a, &s->n, &missed) : c->const_latency;
        s->const_free = s->lsu_busy_from + words * each + missed * c->const_miss / ORR_TICKS;
        if (q->flight == NOBODY) return true;
        uint32_t more = (uint32_t)c->gpu->const_word_latency; // a word, and the next one behind it
        if (more < each) more = each;
        s->flights.at[q->flight].floor = s->const_free - words * each -
                                         (missed ? c->const_miss / ORR_TICKS : 0) + (words - 1) * more +
                                         latency;
        cyc_l1_land(s, q->flight, 0);
        return true;
    }
    k.local = s->head_is_local = space == ORR_SPACE_LOCAL;
    s->head_order = c->order && !k.local && !c->perfect ? cyc_order_kind(c->order, i->inst) : 0;
    s->head_warp = (uint16_t)q->warp;
    s->head_strong = q->live && c->strong && orr_inst_order(&c->kernel->insts[i->inst]);
    if (s->head_order & ORDER_WAITS) {
        warp *w = warp_of(s, q->warp);
        if (w->look && s->head_order == ORDER_WAITS) {
            s->head_order |= ORDER_ROUND;
            if (!w->look_noted) w->look_need = w->need;
            w->look_noted = true;
        }
        s->head_needs = s->blocks[w->block].buf->needs + w->need;
        w->need += (uint32_t)orr_popc(a->mask);
        if (a->mask && q->flight != NOBODY && cyc_order_over(c->order, *s->head_needs, s->id, q->warp)) {
            s->head_order = 0;
            begin(s, t, 1);
            s->flights.at[q->flight].floor = s->lsu_free;
            cyc_l1_land(s, q->flight, 0);
            return true;
        }
    } else {
        s->head_needs = NULL;
    }
    s->head_lanes = a->mask;
    a->mask = orr_tinst_lanes(i, a->mask);
    if (k.local) {
        orr_coalesce_local(a, i->bytes, &s->head);
        place_local(s, warp_of(s, q->warp));
    } else if (orr_tinst_lands(i)) {
        orr_coalesce_copy(a, &s->head);
    } else {
        enum orr_coalescing how =
            i->flags & ORR_TF_ATOMIC ? ORR_WHOLE_WARP : (enum orr_coalescing)c->coalesce;
        orr_coalesce(a, i->bytes, how, &s->head);
    }
    uint32_t lag, cost = cyc_l1_cost(s, i, k.local, &lag);
    s->n.l1_requests[k.local][kind_of(i)]++;
    s->n.l1_tags += s->head.lines;
    s->n.l1_busy += s->head_passes;
    begin(s, t, cost);
    wait_for_way(s, q->warp);
    if (!k.local) wait_for_leaving(s, i);
    s->head_now = s->head_passes;
    s->head_line = s->head_missed = 0;
    s->head_waits = 0;
    if (k.flight != NOBODY) {
        s->flights.at[k.flight].floor =
            s->lsu_busy_from + s->lsu_late + lag + (k.local ? c->local_latency : c->l1_latency);
        s->flights.at[k.flight].open++; // until all lines have been looked up
    }
    if (!cyc_l1_lines(s, &k)) return false;
    s->head_order = 0;
    if (k.live && k.flight == NOBODY) cyc_step_sent(k.live);
    if (c->gpu->lsu_pass && s->head_conflicts && s->head_now) take_way(s, q->warp, s->head_now);
    if (c->gpu->l1_store_leave && !k.local) leaves(s, i);
    if (k.flight != NOBODY && !--s->flights.at[k.flight].open) cyc_l1_land(s, k.flight, 0);
    return true;
}

// When queue `of` has room: the instruction that has the oldest of its places has begun.
static uint64_t room_of(const sm *s, uint32_t of) {
    uint32_t size = s->c->lsu_places;
    return s->starts[of * size + s->nstarts[of] % size];
}

static void started(sm *s, uint32_t place) {
    uint32_t of = place / s->c->lsu_places;
    s->starts[place] = s->lsu_busy_from + s->lsu_late;
    if (s->starts[place] < s->lsu_handed) s->starts[place] = s->lsu_handed;
    s->lsu_handed = 0;
    uint64_t room = room_of(s, of);
    if (room < s->lsu_room[of])
        for (uint32_t n = 0; n < s->c->nsched; n++)
            if (s->sched[n].wake > s->now) s->sched[n].wake = s->now; // somebody may issue now
    s->lsu_room[of] = room;
}

// When the registers of the instruction that has begun have been read: others may write them then, and not
// before does its warp end.
static uint64_t read_at(const sm *s, const orr_tinst *i) {
    const orr_gpu *g = s->c->gpu;
    bool stores = i->flags & (ORR_TF_STORE | ORR_TF_ATOMIC);
    bool near = i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_LOCAL || i->space == ORR_SPACE_CONST;
    int64_t cycles = stores ? g->lsu_read_store : g->lsu_read_load;
    if (stores && i->bytes > 4) cycles += (i->bytes / 4 - 1) * g->lsu_read_word;
    if (near) cycles -= g->lsu_read_word; // an address is one word there, not two
    return s->lsu_busy_from + s->lsu_late + (uint64_t)(cycles > 1 ? cycles : 1);
}

// What waits in front of L1: a line for each sub-core's queue, of which one after the other gives an
// instruction, or one line for all.
static queued *in_line(sm *s, uint32_t line, uint32_t n) {
    uint32_t size = s->c->lsu_line, at = s->line_first[line] + n;
    return &s->queue[line * size + (at < size ? at : at - size)];
}

static uint32_t next_line(const sm *s) {
    uint32_t line = s->head_at;
    do line = line + 1 < s->c->lsu_lines ? line + 1 : 0;
    while (!s->line_n[line]);
    return line;
}

// With lsu.ahead L1 takes an instruction out of its sub-core's queue that long before it is free for it, at
// most: who has come first does not matter before (H200: micro/structs, stores of four sub-cores are done in
// turn, however unevenly they came).
static bool far_behind(const sm *s) {
    uint64_t ahead = (uint64_t)s->c->gpu->lsu_ahead;
    return ahead && s->lsu_free > s->now + ahead;
}

static void wait_for_turn(sm *s) {
    uint64_t when = far_behind(s) ? s->lsu_free - (uint64_t)s->c->gpu->lsu_ahead : s->now;
    if (s->turn_due > s->now && s->turn_due <= when) return;
    s->turn_due = when;
    cyc_sm_arrive(s, when * ORR_TICKS, TURNS, 0);
}

void cyc_lsu_issue(sm *s, warp *w, const orr_tinst *i, const queued *access, uint64_t late) {
    uint32_t of = w->sched / s->c->lsu_scheds, size = s->c->lsu_places;
    uint32_t place = of * size + s->nstarts[of]++ % size;
    queued q = *access;
    q.warp = warp_id(w);
    q.place = place;
    q.flight = NOBODY;
    bool answered = (i->flags & ORR_TF_LOAD) != 0;
    if (answered) {
        q.flight = cyc_l1_flight(s, w, q.inst);
        s->flights.at[q.flight].live = q.live;
        if (i->flags & ORR_TF_ASYNC) {
            s->flights.at[q.flight].group = (uint8_t)(w->group % MAX_GROUPS);
            w->group_open[w->group % MAX_GROUPS]++;
            s->flights.at[q.flight].copies = w->copies;
            w->copies_open[w->copies]++;
        }
        bool near = i->space == ORR_SPACE_SHARED || i->space == ORR_SPACE_CONST;
        cyc_warp_expect(s, w, i, near ? ORR_STALL_SHORT : ORR_STALL_LONG);
    }
    s->starts[place] = NEVER;
    s->lsu_room[of] = room_of(s, of);
    uint32_t line = of % s->c->lsu_lines;
    bool waits = s->queue_n || far_behind(s);
    if (!waits) {
        s->head_at = line;
        waits = s->head_busy = !work_off(s, &q, s->now + late);
        s->full_since = s->now;
    }
    if (waits) {
        *in_line(s, line, s->line_n[line]++) = q;
        s->queue_n++;
        s->lsu_handed = 0;
        cyc_warp_will_read(s, w, i);
        if (!s->head_busy) wait_for_turn(s);
    } else {
        started(s, place);
        uint64_t read = read_at(s, i);
        cyc_warp_reads(s, w, i, read);
        w->at_l1 = s->lsu_busy_from + s->lsu_late;
        if (!answered) w->leaves = read + (uint64_t)s->c->gpu->lsu_drain;
    }
}

// ---- answers
static void go_on(sm *s) {
    uint64_t since = s->now;
    while (s->queue_n && !s->damaged) {
        if (!s->head_busy) {
            if (far_behind(s)) {
                wait_for_turn(s);
                return;
            }
            s->head_at = next_line(s);
        }
        queued *q = in_line(s, s->head_at, 0);
        uint32_t place = q->place;
        if (s->head_busy) {
            const orr_tinst *i = &s->c->program->insts[q->inst];
            work k = {i, q->inst, q->warp, q->flight, s->head_is_local, q->live};
            if (s->lsu_busy_from < since) s->lsu_busy_from = since, s->lsu_late = 0;
            if (s->lsu_free < since + 1) s->lsu_free = since + 1;
            if (k.flight != NOBODY) { // it looks again
                flight *f = &s->flights.at[k.flight];
                if (f->floor < s->lsu_busy_from + s->c->l1_latency)
                    f->floor = s->lsu_busy_from + s->c->l1_latency;
            }
            if (!cyc_l1_lines(s, &k)) return;
            s->head_order = 0;
            if (k.live && k.flight == NOBODY) cyc_step_sent(k.live);
            if (k.flight != NOBODY && !--s->flights.at[k.flight].open) cyc_l1_land(s, k.flight, 0);
        } else if (!work_off(s, q, since)) {
            s->head_busy = true;
            s->full_since = s->now;
            return;
        }
        s->head_busy = false;
        uint32_t w = q->warp, inst = q->inst;
        uint32_t *first = &s->line_first[s->head_at];
        *first = *first + 1 < s->c->lsu_line ? *first + 1 : 0;
        s->line_n[s->head_at]--;
        s->queue_n--;
        started(s, place);
        const orr_tinst *i = &s->c->program->insts[inst];
        cyc_warp_has_read(s, warp_of(s, w), i, read_at(s, i));
    }
}

static void go_on_full(sm *s) {
    if (s->head_busy) {
        s->n.l1_full += s->now - s->full_since;
        s->full_since = s->now;
    }
    go_on(s);
}

void cyc_lsu_answer(sm *s, const arrival *a) {
    if (a->token == FENCED) {
        cyc_fence_due(s);
        return;
    }
    if (a->token == ASKED) {
        cyc_fence_told(s, (a->time + ORR_TICKS - 1) / ORR_TICKS);
        return;
    }
    if (a->token >> 30 == 1 && a->token < ASKED) {
        cyc_l1_come(s, a->token - LANDS);
        return;
    }
    if (a->token == TURNS) {
        if (s->queue_n && !s->head_busy) go_on(s);
        return;
    }
    if (a->token == READS) {
        cyc_l1_read(s);
        return;
    }
    if ((a->token & ~3u) == STORED) {
        cyc_fence_heard(s, a->token & 1);
        if (!(a->token & 2)) return;
        bool full = s->parts_out-- == (uint32_t)s->c->gpu->xbar_parts;
        if (s->held_n) cyc_port_release(s);
        if (full && s->queue_n) go_on_full(s);
        return;
    }
    if (a->token & TOLD) {
        cyc_warp_told(s, a->token, (a->time + ORR_TICKS - 1) / ORR_TICKS);
        return;
    }
    uint64_t t = a->time > s->receive_free ? a->time : s->receive_free;
    uint32_t bytes = 8 + 32 * (uint32_t)orr_popc(a->sectors);
    s->receive_free = t + bytes * s->c->reply_byte;
    s->n.received_bytes += bytes;
    // l2.latency has the passing of one sector in it; further ones take their time
    uint64_t ready = (s->receive_free - 40 * s->c->reply_byte + ORR_TICKS - 1) / ORR_TICKS;
    cyc_l1_answer(s, a->token, ready);
    if (s->queue_n) go_on_full(s);
}

void cyc_lsu_start(sm *s, uint64_t l1_bytes, bool flush) { cyc_l1_start(s, l1_bytes, flush); }
