// A launch through the machine, window by window.
//
// In a window all SMs run on their own, on any host thread; then the requests they sent are handed to the
// memory partitions, which run the same stretch of time, again on any thread; then their answers are handed
// to the SMs. A window is as long as the shortest way from an instruction to L2 and back, so no answer is
// due in the window it was asked for in: nobody ever sees the future, and nothing depends on who ran first.
//
// Between two windows one thread deals out thread blocks. An SM that finishes a block in the middle of a
// window starts another at once: it has some in stock. What it did not start goes back, so that blocks still
// go where there is room first. One that has none left stops where it is, is given more, and goes on.
#include "model/cycle/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa/observable.h"
#include "model/cycle/cluster.h"
#include "model/cycle/grids.h"
#include "model/cycle/step.h"
#include "model/dispatch.h"

#define TELL_WINDOWS 64 // after so many windows: how far the resident thread blocks are

// ---- thread blocks ------------------------------------------------------------------------------

static bool hand_out(engine *x, sm *s, bool now) {
    if (x->no_more_blocks) return false;
    block_traces *b = cyc_supply_take(x->supply);
    if (!b) {
        x->no_more_blocks = true;
        return false;
    }
    if (b->nblocks > x->c->program->nblocks) {
        cyc_supply_grow(x->supply, x->c->program);
        cyc_fit_program(x);
    }
    if (!x->code_seen && !x->c->live) cyc_look_at_code(x, b);
    b->earliest = 0;
    if (now) {
        if (x->clock < x->from * 256) x->clock = x->from * 256;
        const orr_gpu *g = x->c->gpu;
        double fill = g->launch_fill_interval;
        b->earliest = x->clock / 256;
        x->clock += (uint64_t)((fill > 0 && !x->filled ? fill : g->launch_block_interval) * 256);
    }
    *s->tb.stock_end = b;
    s->tb.stock_end = &b->next;
    s->tb.stocked++;
    return true;
}

// The GPU sends out a block every launch.block_interval. An SM cannot know in a window how many the others
// start, so each of those that started some now or in the window before has an equal share, one after the
// other and after those that have just been sent out.
void cyc_share_out(engine *x) {
    cycle *c = x->c;
    double interval = c->gpu->launch_block_interval, at = (double)x->clock / 256;
    uint32_t takers = 0;
    for (uint32_t n = 0; n < c->nsms; n++) {
        sm *s = &c->sms[x->first_order[n]];
        if (!s->tb.started && !s->tb.started_last) continue;
        uint64_t turn = (uint64_t)(at + takers++ * interval);
        if (x->clock > x->from * 256 && s->tb.free < turn) s->tb.free = turn;
    }
    double share = takers * interval;
    c->spacing = (uint64_t)(share > c->gpu->launch_sm_interval ? share : c->gpu->launch_sm_interval);
}

static bool hand_out_now(void *arg, sm *s) { return hand_out(arg, s, true); }

static void start_blocks(void *arg, int worker, uint32_t i) {
    engine *x = arg;
    sm *s = &x->c->sms[x->busy[i]];
    s->worker = &x->c->host.workers[worker];
    cyc_block_start(s, x->from);
}

// Other host threads have written what is looked at of each SM between two windows.
static void fetch_slots(const cycle *c) {
    for (uint32_t n = 0; n < c->nsms; n++) {
        __builtin_prefetch(&c->sms[n], 1);
        __builtin_prefetch(&c->sms[n].tb, 1);
    }
}

static void deal(engine *x) {
    cycle *c = x->c;
    c->spacing = (uint64_t)c->gpu->launch_sm_interval;
    if (c->grids) {
        cyc_grids_deal(x);
        return;
    }
    if (c->cluster > 1) {
        cyc_clusters_deal(c, &(cluster_dealer){.hand_out = hand_out_now, .arg = x, .now = x->from});
        x->filled = true;
        for (uint32_t n = 0; n < c->nsms; n++) c->sms[n].tb.started = 0; // none will in the window itself
        return;
    }
    for (size_t n = 0; n < x->nfirst && !x->filled && !x->no_more_blocks; n++)
        hand_out(x, &c->sms[x->first_wave[n]], true);
    bool some = true;
    for (uint32_t round = 0; some && !x->no_more_blocks; round++) { // where there is room: one each, in turn
        some = false;
        for (uint32_t n = 0; n < c->nsms && !x->no_more_blocks; n++) {
            sm *s = &c->sms[x->first_order[n]];
            if (s->tb.resident + s->tb.stocked >= s->tb.wave) continue;
            some |= hand_out(x, s, true);
        }
    }
    x->filled = true;
    x->nbusy = 0;
    for (uint32_t n = 0; n < c->nsms; n++)
        if (c->sms[n].tb.stock) x->busy[x->nbusy++] = n;
    cyc_crew_run(x->crew, x->nbusy, start_blocks, x);
    if (x->nbusy) fetch_slots(c);
    cyc_share_out(x);
    some = true;
    for (uint32_t round = 0; some && !x->no_more_blocks; round++) { // in stock, as many as it may need
        some = false;
        for (uint32_t n = 0; n < c->nsms && !x->no_more_blocks; n++) {
            sm *s = &c->sms[x->refill_order[n]];
            uint32_t want = s->tb.started_last + 3;
            if (want > s->tb.n) want = s->tb.n;
            if (s->tb.stocked >= want) continue;
            some |= hand_out(x, s, false);
        }
    }
    for (uint32_t n = 0; n < c->nsms; n++) c->sms[n].tb.started = 0;
}

static void give_back(engine *x, sm *s) {
    if (s->tb.stock) x->no_more_blocks = false;
    if (x->c->grids)
        cyc_grids_return(s);
    else
        cyc_supply_return(x->supply, s->tb.stock);
    s->tb.stock = NULL;
    s->tb.stock_end = &s->tb.stock;
    s->tb.stocked = 0;
}

static int by_time(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// With launch.fill_interval SMs are filled at once, and what takes the GPU launch.block_interval for each
// block is to notice that it has ended: the kernel has when all of them have been noticed (H200:
// micro/blocks, 4,224 blocks that do nothing start within 2,700 cycles and take 5,000).
static void notice_ends(engine *x) {
    uint64_t each = (uint64_t)(x->c->gpu->launch_block_interval * 256);
    if (x->ends.n > 1) qsort(x->ends.at, x->ends.n, sizeof *x->ends.at, by_time);
    for (size_t n = 0; n < x->ends.n; n++) {
        if (x->end_noticed < x->ends.at[n] * 256) x->end_noticed = x->ends.at[n] * 256;
        x->end_noticed += each;
    }
    x->ends.n = 0;
}

static void collect_blocks(engine *x, orr_progress *progress) {
    bool notices = x->c->gpu->launch_fill_interval > 0;
    fetch_slots(x->c);
    if (x->clock < x->from * 256) x->clock = x->from * 256;
    for (uint32_t n = 0; n < x->c->nsms; n++) {
        sm *s = &x->c->sms[n];
        s->tb.started_last = s->tb.started;
        x->clock += (uint64_t)(s->tb.started * x->c->gpu->launch_block_interval * 256);
        uint64_t done = 0;
        for (block_traces *b = s->tb.done; b; b = b->next) done++;
        for (block_traces *b = s->tb.done; b && notices; b = b->next) *ORR_PUSH(&x->ends) = b->ended;
        for (block_traces *b = s->tb.done; b && x->out->sampler; b = b->next)
            *ORR_PUSH(&x->spans) =
                (orr_span){.block = b->index, .start = b->started, .end = b->ended, .sm = n};
        x->out->done += done;
        if (done && progress) orr_progress_part(progress, done);
        if (x->c->grids)
            cyc_grids_done(s->tb.done);
        else
            cyc_supply_done(x->supply, s->tb.done);
        s->tb.done = NULL;
        give_back(x, s);
    }
    notice_ends(x);
    if (x->c->grids) cyc_grids_end(x);
}

// Of the thread blocks that are resident, how many it would be if what their warps have done were in whole
// ones: by their traces. Warps that are executed as they are timed have none that says how long it will be.
static void tell_begun(const engine *x, orr_progress *progress) {
    const cycle *c = x->c;
    double begun = 0;
    for (uint32_t n = 0; n < c->nsms && !c->live; n++)
        for (uint32_t k = 0; k < c->sms[n].tb.n; k++) {
            const block *b = &c->sms[n].tb.slot[k];
            double warps = 0;
            for (uint32_t i = 0; b->buf && i < b->nwarps; i++) {
                const warp_cursor *w = b->warp[i] == NOBODY ? NULL : &warp_of(&c->sms[n], b->warp[i])->pc;
                size_t all = w ? (size_t)(w->trace.end - w->base) : 0;
                warps += all ? (double)(w->trace.at - w->base) / (double)all : 1;
            }
            if (b->buf) begun += warps / b->nwarps;
        }
    orr_progress_begun(progress, begun);
}

// ---- sampling -----------------------------------------------------------------------------------
static void touch(void *arg, const orr_touched *t) {
    engine *x = arg;
    orr_memsys_warm(x->c->mem, -1, t);
}

// Tells the sampler what has ended, and leaves out the blocks that it does not want.
static bool skip(engine *x, orr_progress *progress, orr_err *e) {
    orr_sampler *p = x->out->sampler;
    p->ended(p, x->spans.at, x->spans.n);
    x->spans.n = 0;
    if (x->no_more_blocks) return true;
    uint64_t next = cyc_supply_next(x->supply), warm = UINT64_MAX, to = p->resume(p, next, &warm);
    if (to <= next) return true;
    if (progress) orr_progress_part(progress, to - next);
    return cyc_supply_skip(x->supply, warm, to, x->c->perfect ? NULL : touch, x, e);
}

// The piece under way ends here.
static void end_unit(engine *x, uint64_t now) {
    const orr_program *p = x->c->program;
    orr_pieces *u = x->out->pieces;
    if (x->unit.nblocks < p->nblocks) {
        x->unit.issued = orr_realloc(x->unit.issued, p->nblocks * sizeof *x->unit.issued);
        memset(x->unit.issued + x->unit.nblocks, 0, (p->nblocks - x->unit.nblocks) * sizeof *x->unit.issued);
        x->unit.nblocks = p->nblocks;
    }
    orr_piece *one = ORR_PUSH(&u->unit);
    *one =
        (orr_piece){now - x->unit.cycles, x->counted.last.insts - x->unit.insts, 0, p->nblocks, u->insts.n};
    for (uint32_t b = 0; b < p->nblocks; b++) {
        uint64_t n = 0;
        for (int k = 0; k < x->c->host.n; k++)
            for (uint32_t i = p->blocks[b].first; i < p->blocks[b].first + p->blocks[b].count; i++)
                if (i < x->c->host.workers[k].ninsts) n += x->c->host.workers[k].issued[i];
        *ORR_PUSH(&u->insts) = n - x->unit.issued[b];
        x->unit.issued[b] = n;
    }
    x->unit.cycles = now;
    x->unit.insts = x->counted.last.insts;
}

// ---- the two halves of a window -----------------------------------------------------------------
static void run_sm(void *arg, int worker, uint32_t i) {
    engine *x = arg;
    sm *s = &x->c->sms[x->busy[i]];
    s->worker = &x->c->host.workers[worker];
    cyc_sm_run(s, x->until);
}

// The SMs that have stopped for want of blocks, the first one first, are given some: those they have room
// for, and as many in stock as they have started in this window.
static void feed(engine *x, uint32_t n) {
    cycle *c = x->c;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t k = x->busy[i], at = i;
        for (; at && c->sms[x->busy[at - 1]].clock.now > c->sms[k].clock.now; at--)
            x->busy[at] = x->busy[at - 1];
        x->busy[at] = k;
    }
    bool some = true;
    if (c->grids) cyc_grids_feed(x, n);
    while (some && !x->no_more_blocks && !c->grids) {
        some = false;
        for (uint32_t i = 0; i < n && !x->no_more_blocks; i++) {
            sm *s = &c->sms[x->busy[i]];
            if (s->tb.stocked < cyc_block_room(s) + s->tb.started) some |= hand_out(x, s, false);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        sm *s = &c->sms[x->busy[i]];
        s->out_of_blocks = false;
        if (s->tb.stock) cyc_block_start(s, s->clock.now);
    }
}

// All SMs to the end of the window.
static void run_sms(engine *x) {
    cycle *c = x->c;
    do {
        c->blocks_left = !x->no_more_blocks && c->cluster < 2;
        cyc_crew_run(x->crew, x->nbusy, run_sm, x);
        uint32_t n = 0;
        for (uint32_t i = 0; i < x->nbusy; i++) {
            sm *s = &c->sms[x->busy[i]];
            if (s->out_of_blocks)
                x->busy[n++] = x->busy[i];
            else
                give_back(x, s); // it did not need them
        }
        x->nbusy = n;
        feed(x, n);
    } while (x->nbusy);
}

static void run_partition(void *arg, int worker, uint32_t p) {
    engine *x = arg;
    uint32_t crew = (uint32_t)cyc_crew_size(x->crew), parts = (uint32_t)orr_memsys_partitions(x->c->mem);
    (void)worker;
    for (uint32_t k = 0; k < crew && crew > 1; k++) {
        request_list *l = &x->sent[(size_t)k * parts + p];
        for (size_t i = 0; i < l->n; i++) *ORR_PUSH(&x->in[p]) = l->at[i];
        l->n = 0;
    }
    x->replies[p].n = 0;
    const foreign_memory *o = x->c->foreign;
    if (o) {
        x->c->net.free[p] = o->run(o->arg, x->in[p].at, x->in[p].n, &x->replies[p]);
    } else {
        if (x->c->live) cyc_step_expect(x->c, x->in[p].at, x->in[p].n);
        orr_memsys_run(x->c->mem, (int)p, x->in[p].at, x->in[p].n, x->mem_until, &x->replies[p]);
        x->c->net.free[p] = orr_memsys_free_at(x->c->mem, (int)p);
    }
    x->in[p].n = 0;
    if (x->gpc)
        cyc_crossbar_deal_answers(x->c, p, &x->replies[p], &x->answers[(size_t)p * x->c->crossbar.ngpcs]);
}

// Requests to partitions. Those of one cycle are served in the order of the SMs, which begins somewhere else
// each time. Of several host threads each has a list for each partition (engine.sent), which come there in
// that order.
static void carry_requests(void *arg, int worker, uint32_t k) {
    engine *x = arg;
    cycle *c = x->c;
    (void)worker;
    engine_share from = cyc_share_of(x, k, c->nsms);
    uint32_t turn = (uint32_t)(x->until / c->window * 37 % c->nsms);
    request_list *to =
        cyc_crew_size(x->crew) > 1 ? &x->sent[(size_t)k * (size_t)orr_memsys_partitions(c->mem)] : x->in;
    for (uint32_t n = from.first; n < from.first + from.n; n++) {
        sm *s = &c->sms[(n + turn) % c->nsms];
        for (size_t i = 0; i < s->port.out.n; i++) {
            const orr_request *r = &s->port.out.at[i];
            if (r->partition == UINT32_MAX || (c->gpu->xbar_merge_stores && port_waits(r, x->mem_until)))
                continue;
            if (cyc_crossbar_passes(c, r, x->mem_until)) continue; // it has, or waits there
            *ORR_PUSH(&to[r->partition]) = *r;
        }
        port_handed_over(&s->port, x->mem_until);
    }
}

static void carry_answers(void *arg, int worker, uint32_t k) {
    engine *x = arg;
    cycle *c = x->c;
    (void)worker;
    engine_share to = cyc_share_of(x, k, c->nsms);
    for (int p = 0; p < orr_memsys_partitions(c->mem); p++)
        for (size_t i = 0; i < x->replies[p].n; i++) {
            const orr_reply *r = &x->replies[p].at[i];
            if (r->sm - to.first < to.n) cyc_crossbar_answer(c, (uint32_t)p, r);
        }
}

static void answer_gpc(void *arg, int worker, uint32_t g) {
    engine *x = arg;
    (void)worker;
    cyc_crossbar_answer_gpc(x->c, g, &x->gpc[g], x->replies, x->answers);
}

// All partitions up to `until`, with what the SMs have sent.
static void run_partitions(engine *x, uint64_t until) {
    cycle *c = x->c;
    x->mem_until = until;
    if (x->stores) cyc_store_network_run(x->stores, x->crew, until, x->in);
    cyc_crew_run(x->crew, (uint32_t)cyc_crew_size(x->crew), carry_requests, x);
    cyc_crew_run(x->crew, (uint32_t)orr_memsys_partitions(c->mem), run_partition, x);
}

static void memory(engine *x) {
    cycle *c = x->c;
    if (c->perfect) return;
    run_partitions(x, (x->until + c->core.l1.latency) * ORR_TICKS + c->core.port.request_ticks);
    if (x->gpc)
        cyc_crew_run(x->crew, c->crossbar.ngpcs, answer_gpc, x);
    else
        cyc_crew_run(x->crew, (uint32_t)cyc_crew_size(x->crew), carry_answers, x);
}

// ---- a launch -----------------------------------------------------------------------------------
// Slots for as many thread blocks as the occupancy says, or, where warps that have ended make room
// (launch.warp_room), as there can be if only slots for blocks, shared memory and barriers count.
static uint32_t slots_for(const cycle *c, const orr_occupancy_result *occ) {
    static const enum orr_limiter of_blocks[] = {ORR_LIMIT_BLOCKS, ORR_LIMIT_SHARED, ORR_LIMIT_BARRIERS};
    if (!c->gpu->launch_warp_room || c->grids || c->cluster > 1 || occ->warps_per_block < 2)
        return (uint32_t)occ->blocks;
    int most = occ->limit[ORR_LIMIT_BLOCKS];
    for (size_t i = 0; i < sizeof of_blocks / sizeof *of_blocks; i++)
        if (occ->limit[of_blocks[i]] < most) most = occ->limit[of_blocks[i]];
    return (uint32_t)(most > occ->blocks ? most : occ->blocks);
}

// The warps that a scheduler has slots and registers for.
static uint32_t sched_warps(const cycle *c, const orr_occupancy_result *occ) {
    int64_t warp = occ->warps_per_block ? occ->registers_per_block / occ->warps_per_block : 0,
            fit = warp ? c->gpu->limit_sm_registers / c->nsched / warp : c->per_sched;
    return fit < c->per_sched ? (uint32_t)fit : c->per_sched;
}

// Nothing is left of the launch before.
static void reset_slots(const cycle *c, block_slots *t, const orr_occupancy_result *occ) {
    uint32_t n = slots_for(c, occ);
    if (n > t->cap || occ->warps_per_block > t->warps_cap) {
        for (uint32_t k = 0; k < t->cap; k++) cyc_block_free(&t->slot[k]);
        t->slot = orr_realloc(t->slot, n * sizeof *t->slot);
        memset(t->slot, 0, n * sizeof *t->slot);
        t->cap = n;
        t->warps_cap = occ->warps_per_block;
        for (uint32_t k = 0; k < n; k++)
            t->slot[k].warp = orr_calloc((size_t)t->warps_cap, sizeof *t->slot[k].warp);
    }
    for (uint32_t k = 0; k < n; k++) t->slot[k].end = 0;
    t->spans.n = t->clocks.n = 0;
    *t = (block_slots){.slot = t->slot,
                       .n = n,
                       .wave = (uint32_t)occ->blocks,
                       .block_warps = (uint32_t)occ->warps_per_block,
                       .sched_warps = sched_warps(c, occ),
                       .cap = t->cap,
                       .warps_cap = t->warps_cap,
                       .free = (uint64_t)c->gpu->launch_overhead,
                       .spans = t->spans,
                       .clocks = t->clocks};
    t->stock_end = &t->stock;
}

// Loads and stores that are volatile or ordered, and atomics, of a kernel whose threads poll what others
// write.
static bool is_strong(void *self, const orr_tinst *i) {
    return orr_inst_order(&((const sm *)self)->c->kernel->insts[i->inst]) != 0;
}

static void reset_parts(const cycle *c, sm *s) {
    events_reset(&s->clock);
    for (uint32_t n = 0; n < c->nsched; n++) scheduler_reset(&s->sched[n]);
    for (uint32_t n = 0; n < (uint32_t)c->gpu->core_subcores; n++) operands_reset(&s->operands[n]);
#define PART(type, name, ...) name##_reset(&s->name);
#include "core/parts.def"
#undef PART
}

// An SM that had no block in the launch before needs nothing: a short launch costs what its own SMs cost.
// `resized`: L1 has another size than then, which nothing else knows of.
static void prepare_sm(cycle *c, sm *s, const orr_occupancy_result *occ, bool resized) {
    reset_slots(c, &s->tb, occ);
    s->out_of_blocks = false;
    s->cluster.out.n = s->cluster.in.n = 0;
    s->cluster = (cluster_messages){.out = s->cluster.out, .in = s->cluster.in, .free = NOBODY};
    if (!s->unused) {
        memset(&s->n, 0, sizeof s->n);
        memset(s->stalls, 0, sizeof s->stalls);
        reset_parts(c, s);
    } else if (resized) {
        l1_reset(&s->l1);
    }
    s->unused = true;
    s->lsu.client.strong = c->traits.strong ? is_strong : NULL;
    s->worker = &c->host.workers[0];
}

// The SMs of a GPC ask for the same code and parameters at the same time, and all have them at about the
// same time, the later the more they are (launch.gpc_code, launch.gpc_constants; H200: at the first barrier
// of a kernel they are 90 cycles apart, however many lines each has asked for).
static void set_late(cycle *c, const uint32_t *order, uint64_t blocks) {
    uint32_t used = blocks && blocks < c->nsms ? (uint32_t)blocks : c->nsms;
    uint32_t *on = orr_calloc(c->crossbar.ngpcs, sizeof *on);
    for (uint32_t i = 0; i < used; i++) on[orr_gpc_of_sm(order[i], c->crossbar.gpcs)]++;
    for (uint32_t i = 0; i < c->nsms; i++) {
        sm *s = &c->sms[order[i]];
        uint32_t n = on[orr_gpc_of_sm(order[i], c->crossbar.gpcs)], others = n ? n - 1 : 0;
        uint64_t busy = (uint64_t)llround(n * c->gpu->icache_gpc_interval);
        s->fetch.delays = (fetch_delays){.first = (uint64_t)llround(others * c->gpu->launch_gpc_code),
                                         .each = (uint64_t)llround(others * c->gpu->icache_gpc_interval),
                                         .interval = latest(busy, c->core.fetch.l0_interval)};
        s->constants.late = (uint64_t)llround(others * c->gpu->launch_gpc_constants);
    }
    free(on);
}

// When something happens next; of what is in the next window anything will do.
static uint64_t next_event(const engine *x) {
    const cycle *c = x->c;
    uint64_t t = c->grids ? cyc_grids_next(c->grids, x->from) : NEVER, soon = x->from + c->window;
    for (uint32_t n = 0; n < c->nsms && t >= soon; n++) {
        uint64_t at = cyc_sm_next(&c->sms[n]);
        if (at < t) t = at;
    }
    if (c->perfect) return t;
    for (uint32_t n = 0; n < c->nsms && c->core.port.open_ticks && t >= soon;
         n++) // stores that wait at a port for others
        for (size_t i = 0; i < c->sms[n].port.out.n; i++) {
            uint64_t at = c->sms[n].port.out.at[i].time / ORR_TICKS,
                     back = c->core.l1.latency + c->core.port.request_ticks / ORR_TICKS;
            at = at > back ? at - back : 0;
            if (at < t) t = at;
        }
    int parts = orr_memsys_partitions(c->mem), ports = x->stores ? 1 : 0;
    for (int p = 0; p < parts + ports && t >= soon; p++) {
        uint64_t at = p < parts ? orr_memsys_next(c->mem, p) : cyc_store_network_next(x->stores);
        if (at == UINT64_MAX) continue;
        at /= ORR_TICKS;
        uint64_t back = c->core.l1.latency + c->core.port.request_ticks / ORR_TICKS;
        at = at > back ? at - back : 0; // in the window of time that this is the memory's part of
        if (at < t) t = at;
    }
    return t;
}

static bool resident(const cycle *c) {
    for (uint32_t n = 0; n < c->nsms; n++)
        if (c->sms[n].tb.resident || c->sms[n].port.nparked) return true;
    return false;
}

// Streams from elsewhere, or without what another block of a cluster does, leave waits for mbarriers that
// nobody ends: those are over when nothing else can happen.
static bool release_waits(cycle *c) {
    bool some = false;
    for (uint32_t n = 0; n < c->nsms; n++) {
        some |= cyc_waits_release(&c->sms[n]);
        some |= cyc_block_registers_anyway(&c->sms[n]);
    }
    return some;
}

static bool windows(engine *x, orr_progress *progress, orr_err *e) {
    cycle *c = x->c;
    uint64_t rounds = 0;
    x->from = (uint64_t)c->gpu->launch_overhead;
    for (;;) {
        if (x->out->sampler && !skip(x, progress, e)) return false;
        deal(x);
        x->until = x->from + c->window;
        x->nbusy = 0;
        for (uint32_t n = 0; n < c->nsms; n++)
            if (c->sms[n].tb.resident || cyc_sm_next(&c->sms[n]) < x->until) x->busy[x->nbusy++] = n;
        for (uint32_t n = 0; n < x->nbusy; n++) c->sms[x->busy[n]].unused = false;
        run_sms(x);
        memory(x);
        if (c->cluster > 1) cyc_cluster_deliver(c, x->until);
        if (x->out->pieces) cyc_sample(x);
        collect_blocks(x, progress);
        if (progress && ++rounds % TELL_WINDOWS == 0) tell_begun(x, progress);
        if (!orr_progress_go(progress, e)) return false;
        if (x->out->pieces && x->counted.last.insts - x->unit.insts >= x->out->pieces->size)
            end_unit(x, x->until);
        if (c->live && (orr_step_failed(c->live, e) || !orr_step_turn(c->live, x->until, e))) return false;
        for (uint32_t n = 0; n < c->nsms; n++)
            if (c->sms[n].bad_trace)
                return orr_fail(e, ORR_BAD_INPUT,
                                "%s: the stream of a thread block on SM %u is damaged; record it again",
                                c->kernel->name, n);
        x->from = x->until;
        bool running = resident(c), over = !running && x->no_more_blocks;
        uint64_t t = running ? next_event(x) : x->from;
        // Windows without anything to do are left out; the others begin where they would anyway, so that it
        // does not matter for the result whether somebody looks and finds nothing.
        if (t > x->from && t != NEVER) x->from += (t - x->from) / c->window * c->window;
        if (!x->out->pieces && (over || t == NEVER || !cyc_in_same_sample(x, x->from + c->window)))
            cyc_sample(x);
        if (over) return true;
        if (t == NEVER && !release_waits(c))
            return orr_fail(
                e, ORR_PROGRAM_FAILED,
                "%s: all warps wait and nothing will wake them (a barrier that not all threads reach?)",
                c->kernel->name);
    }
}

// Who sent last what L2 still works on when the last block has ended: a reduction if the units for atomics
// do, else a store. Of SMs that sent in the same cycle, the first.
static void blame_tail(engine *x, uint64_t blocks_ended, const orr_memsys_stats *m) {
    const cycle *c = x->c;
    bool atomics = m->atomics.last > blocks_ended * ORR_TICKS;
    lsu_sender last = {0};
    for (int kind = atomics; kind >= 0 && !last.when; kind--)
        for (uint32_t i = 0; i < c->nsms; i++)
            if (c->sms[i].lsu.last_sent[kind].when > last.when) last = c->sms[i].lsu.last_sent[kind];
    if (last.when && x->out->cycles > blocks_ended)
        x->out->tail = (orr_blame){.n = x->out->cycles - blocks_ended, .inst = last.inst};
}

// A kernel has ended when its last store has reached L2, and when it is certain that all have: the barrier
// that each SM sends to the slices it has used is there and back (launch.drain, orr_memsys_barriers).
static void drain(engine *x) {
    cycle *c = x->c;
    uint64_t blocks_ended = x->out->cycles;
    run_partitions(x, UINT64_MAX);
    orr_memsys_stats m;
    orr_memsys_stats_sum(c->mem, &m);
    uint64_t drain = (uint64_t)c->gpu->launch_drain, end = (m.last + ORR_TICKS - 1) / ORR_TICKS;
    if (!drain)
        end = (m.last + c->core.port.reply_ticks + ORR_TICKS - 1) / ORR_TICKS; // the SM has heard of it
    if (m.requests && drain) x->out->cycles += drain + orr_memsys_barriers(c->mem) / ORR_TICKS;
    if (m.requests && end > x->out->cycles) x->out->cycles = end;
    blame_tail(x, blocks_ended, &m);
    if (x->out->cycles > x->until) x->until = x->out->cycles;
    cyc_sample(x); // what the memory did after the last window
}

// Each host thread starts a launch with sums of its own, all 0.
static void prepare_workers(cycle *c, int n) {
    if (n > c->host.n) {
        c->host.workers = orr_realloc(c->host.workers, (size_t)n * sizeof *c->host.workers);
        memset(c->host.workers + c->host.n, 0, (size_t)(n - c->host.n) * sizeof *c->host.workers);
        c->host.n = n;
    }
    for (int i = 0; i < c->host.n; i++) {
        worker *k = &c->host.workers[i];
        free(k->by_inst);
        free(k->issued);
        free(k->threads);
        free(k->memo);
        free(k->traffic);
        *k = (worker){0};
    }
}

static void restart_memory(cycle *c) {
    if (c->perfect) return;
    size_t parts = (size_t)orr_memsys_partitions(c->mem);
    if (c->gpu->l2_flush) orr_memsys_flush(c->mem);
    orr_memsys_restart(c->mem);
    memset(c->net.free, 0, parts * sizeof *c->net.free);
    memset(c->net.gpc_free, 0,
           parts * c->crossbar.store_halves * c->crossbar.ngpcs * sizeof *c->net.gpc_free);
}

static uint32_t partitions(const cycle *c) {
    return c->perfect ? 0 : (uint32_t)orr_memsys_partitions(c->mem);
}

static void open_engine(engine *x, orr_source *source, int threads) {
    cycle *c = x->c;
    run *out = x->out;
    x->first_order = orr_dispatch_order(c->gpu, c->nsms, out->blocks);
    x->refill_order = orr_dispatch_refill(c->gpu, c->nsms);
    x->first_wave = orr_dispatch_first_wave(c->gpu, c->nsms, out->blocks, c->sms[0].tb.wave, &x->nfirst);
    set_late(c, x->first_order, out->blocks);
    x->busy = orr_malloc(c->nsms * sizeof *x->busy);
    x->replies = orr_calloc(partitions(c) + 1, sizeof *x->replies);
    if (c->gpu->xbar_gpc_reply > 0 && !c->perfect) {
        x->gpc = orr_calloc(c->crossbar.ngpcs, sizeof *x->gpc);
        x->answers = orr_calloc((size_t)partitions(c) * c->crossbar.ngpcs, sizeof *x->answers);
    }
    if (c->crossbar.slice_ticks[0][0] && !c->foreign) x->stores = cyc_store_network_new(c);
    x->in = orr_calloc(partitions(c) + 1, sizeof *x->in);
    x->sent = orr_calloc((partitions(c) + 1) * (size_t)cyc_crew_size(x->crew), sizeof *x->sent);
    x->counted.share = orr_calloc((size_t)cyc_crew_size(x->crew), sizeof *x->counted.share);
    out->samples = orr_calloc(MAX_SAMPLES, sizeof *out->samples);
    out->sample_cycles = 256;
    x->threads = threads;
    if (source) x->supply = cyc_supply_open(source, threads, out->sampler != NULL);
}

static void close_engine(engine *x) {
    const cycle *c = x->c;
    for (uint32_t p = 0; p < partitions(c); p++) {
        free(x->replies[p].at);
        free(x->in[p].at);
    }
    for (uint32_t g = 0; x->gpc && g < c->crossbar.ngpcs; g++) cyc_timed_free(&x->gpc[g].answers);
    for (size_t n = 0; x->gpc && n < (size_t)partitions(c) * c->crossbar.ngpcs; n++) free(x->answers[n].at);
    free(x->answers);
    free(x->gpc);
    cyc_store_network_free(x->stores);
    for (size_t n = 0; n < partitions(c) * (size_t)cyc_crew_size(x->crew); n++) free(x->sent[n].at);
    free(x->sent);
    free(x->replies);
    free(x->in);
    free(x->counted.share);
    free(x->busy);
    free(x->first_order);
    free(x->refill_order);
    free(x->first_wave);
    free(x->unit.issued);
    free(x->spans.at);
    free(x->ends.at);
    cyc_crew_free(x->crew);
}

// What an error left behind on an SM goes back; a launch has none of it.
static void clear_slots(engine *x, sm *s) {
    if (x->c->grids)
        cyc_grids_return(s);
    else
        cyc_supply_done(x->supply, s->tb.stock);
    s->tb.stock = NULL;
    for (uint32_t b = 0; b < s->tb.n; b++) {
        block_traces *buf = s->tb.slot[b].buf;
        if (!buf) continue;
        buf->next = NULL;
        if (s->tb.slot[b].live) orr_step_end(s->tb.slot[b].live);
        s->tb.slot[b].live = NULL;
        if (buf->grid)
            cyc_grids_done(buf);
        else
            cyc_supply_done(x->supply, buf);
        s->tb.slot[b].buf = NULL;
    }
    s->tb.resident = 0;
    s->bad_trace = false;
}

// Whoever watches has stopped the launch: what is resident is accounted for until now, so that what is told
// of the time until then adds up.
static void cut_off(engine *x) {
    for (uint32_t n = 0; n < x->c->nsms; n++) {
        sm *s = &x->c->sms[n];
        for (uint32_t k = 0; k < s->tb.n; k++) {
            const block *b = &s->tb.slot[k];
            for (uint32_t i = 0; b->buf && i < b->nwarps; i++) {
                warp *w = b->warp[i] == NOBODY ? NULL : warp_of(s, b->warp[i]);
                if (w && w->pc.at) cyc_warp_account(s, w, x->until);
            }
        }
        if (s->tb.resident && s->tb.since < x->until) s->tb.active_cycles += x->until - s->tb.since;
    }
    x->out->cut = true;
    x->out->cycles = x->until;
}

bool cyc_run(cycle *c, orr_source *source, const orr_occupancy_result *occ, run_host host, run *out,
             orr_err *e) {
    engine x = {.c = c, .out = out, .crew = cyc_crew_new(host.threads)};
    prepare_workers(c, cyc_crew_size(x.crew));
    c->traits.in_order = c->kernel->machine;
    c->traits.arrives_only = false;
    for (uint32_t n = 0; n < c->program->ninsts; n++) {
        const orr_tinst *i = &c->program->insts[n];
        c->traits.arrives_only |= i->kind == ORR_TK_BARRIER && i->imm == 0xff && i->flags & ORR_TF_ARRIVE;
    }
    c->launch.local_frame = orr_local_frame(c->kernel);
    bool resized = c->launch.l1_bytes != (uint64_t)occ->l1_bytes;
    c->launch.l1_bytes = (uint64_t)occ->l1_bytes;
    c->net.foreign = c->foreign != NULL;
    c->traits.strong = !c->perfect && orr_kernel_orders(c->kernel);
    cyc_fit_program(&x);
    for (uint32_t i = 0; i < c->nsms; i++) prepare_sm(c, &c->sms[i], occ, resized);
    restart_memory(c);
    open_engine(&x, source, host.threads);
    uint64_t window = c->window;
    if (c->cluster > 1) c->window = cyc_cluster_window(c);
    for (uint32_t i = 0; c->cluster > 1 && i < c->nsms; i++) c->sms[i].unused = false; // mail of others
    bool ok = windows(&x, host.progress, e);
    c->window = window;
    if (!ok && e->status == ORR_STOPPED && !c->grids && !out->sampler && !out->pieces) cut_off(&x);
    for (uint32_t i = 0; i < c->nsms; i++) {
        clear_slots(&x, &c->sms[i]);
        if (c->sms[i].tb.finished > out->cycles) out->cycles = c->sms[i].tb.finished;
    }
    if (x.end_noticed / 256 > out->cycles) out->cycles = x.end_noticed / 256;
    if (ok && !c->perfect) drain(&x);
    if (ok && out->pieces && x.counted.last.insts > x.unit.insts) end_unit(&x, out->cycles);
    orr_err read = {0};
    if (c->grids ? !cyc_grids_close(c->grids, &read) : !cyc_supply_close(x.supply, &read)) {
        if (ok) orr_fail(e, read.status, "%s", read.text);
        ok = false;
    }
    close_engine(&x);
    return ok;
}
