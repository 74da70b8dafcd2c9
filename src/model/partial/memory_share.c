// What one SM has of L2 and memory: the bandwidth of both divided by the SMs that are at work, at their full
// latency.
//
// L2 and memory are each a queue that serves this SM's sectors at its share of the rate; an answer comes
// after the queue and the latency. Whether a line is in L2 is known for lines this SM has used before (tags,
// of a size that is its part of what L2 holds); for others `residency` knows how often another SM, or an
// earlier block, has brought it, or is just doing so: by instruction, so that a matrix that all blocks read
// is told from one that each reads its own part of. Misses are dealt out evenly: one in two means every other
// one.
//
// Stores take their share of L2, and later of memory as far as L2 cannot keep them. Atomics to a line that
// other SMs use too wait for theirs.
#include "model/partial/partial.h"

#include <stdlib.h>
#include <string.h>

// The kernel's instruction that a request is for; UINT32_MAX: not known (stores, constants).
static uint32_t asked_by(const memory_share *s, const orr_request *r) {
    if (r->kind == ORR_REQ_REDUCE && !r->wants_ack && r->token < s->c->program->ninsts)
        return s->c->program->insts[r->token].inst; // l1_atomic.c
    if (r->kind != ORR_REQ_READ && r->kind != ORR_REQ_ATOMIC) return UINT32_MAX;
    if (r->from == ORR_FROM_CONST) return UINT32_MAX;
    uint32_t inst = l1_waiting_inst(&s->c->sms[0].l1, r->token);
    return inst < s->c->program->ninsts ? s->c->program->insts[inst].inst : UINT32_MAX;
}

enum { IN_L2, ON_ITS_WAY, IN_MEMORY };

static int where(memory_share *s, const orr_request *r, uint32_t inst) {
    if (r->from == ORR_FROM_LOCAL) return s->residency->local_far > 0 ? IN_MEMORY : IN_L2;
    if (inst == UINT32_MAX) return IN_L2; // constants: all SMs read the same
    s->due[inst] += s->residency->far[inst];
    if (s->due[inst] >= 0.999f) {
        s->due[inst] -= 1;
        return IN_MEMORY;
    }
    s->due_late[inst] += s->residency->late[inst];
    if (s->due_late[inst] < 0.999f) return IN_L2;
    s->due_late[inst] -= 1;
    return ON_ITS_WAY;
}

// The line in the tags, taken if it is not there (*was: it was).
static uint32_t line_of(memory_share *s, uint64_t line, uint8_t sectors, bool *was) {
    uint32_t at = orr_cache_find(&s->tags, line);
    *was = at != ORR_NO_LINE && (s->tags.line[at].valid & sectors) == sectors;
    if (at == ORR_NO_LINE) {
        orr_cache_line victim;
        at = orr_cache_take(&s->tags, line, &victim, NULL);
        s->ready[at] = 0;
    }
    s->tags.line[at].valid |= sectors;
    orr_cache_touch(&s->tags, at);
    return at;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t ticks(double cycles) { return cycles > 0 ? (uint64_t)(cycles * (double)ORR_TICKS + 0.5) : 0; }

// When memory takes what is asked for at t. Stores wait until nobody reads, as long as their queue has room.
static uint64_t memory_turn(memory_share *s, uint64_t t) {
    if (t > s->dram_free) {
        uint64_t idle = t - s->dram_free, done = idle < s->to_write ? idle : s->to_write;
        s->to_write -= done;
        s->dram_free += done;
    }
    if (s->to_write > s->write_room) {
        s->dram_free += s->to_write - s->write_room;
        s->to_write = s->write_room;
    }
    return later(t, s->dram_free);
}

// Memory known by windows alone (dram.window), as PPT has it: while the first access of a window is on its
// way so many more may begin, each later than the one before it; the next window begins when the first is
// answered. When an access of time t is answered, all told.
static uint64_t window_turn(memory_share *s, uint64_t t) {
    const orr_gpu *g = s->gpu;
    if (t < s->window_end && s->in_window >= (uint32_t)g->dram_window) t = s->window_end;
    if (t >= s->window_end) {
        s->window_end = t + ticks(g->dram_latency);
        s->in_window = 0;
    }
    double late = (double)s->in_window - (double)g->dram_window_free,
           more = g->dram_window_latency - g->dram_latency;
    s->in_window++;
    return t + ticks(g->dram_latency) +
           (late > 0 && more > 0 ? ticks(late / (double)g->dram_window * more) : 0);
}

static void one(memory_share *s, const orr_request *r, orr_replies *out) {
    uint32_t sectors = (uint32_t)orr_popc(r->sectors), inst = asked_by(s, r);
    uint64_t t = later(r->time, s->l2_free), cost = sectors * s->sector;
    if (s->far_side && orr_cache_mix(r->line) & 1) t = later(r->time + s->far_side, s->l2_free);
    s->l2_free = t + later(cost, s->line);
    bool was;
    uint32_t at = line_of(s, r->line, r->sectors, &was);
    bool write = r->kind == ORR_REQ_WRITE;
    int place = was || write ? IN_L2 : where(s, r, inst);
    bool miss = place == IN_MEMORY;
    uint64_t done = t + (sectors - 1) * s->slice_sector;
    if (!write && was) done = later(done, s->ready[at]); // still on its way
    s->n.requests++;
    if (place == ON_ITS_WAY) // another SM has asked for it just now: as late, but memory sends it once
        done = s->ready[at] = memory_turn(s, t) + s->behind;
    if (miss) {
        uint64_t d = memory_turn(s, t);
        s->dram_free = d + sectors * s->dram_sector;
        done = d + s->behind + (sectors - 1) * s->slice_sector;
        if (s->pace->nwaits) {
            double wait = (double)s->pace->waits[s->wait++ % s->pace->nwaits] * (double)ORR_TICKS;
            done = wait > 0 ? done + (uint64_t)wait : later(t, done - (uint64_t)-wait);
        }
        if (s->gpu->dram_window) { // the way to L2 and back is the network's
            uint64_t answered = window_turn(s, r->time), way = ticks(s->gpu->l2_latency);
            done = answered > r->time + way ? answered - way : r->time;
        }
        s->ready[at] = done;
        s->n.dram_read += sectors;
        s->n.dram_busy += sectors * s->channel_sector;
    }
    switch (r->kind) {
    case ORR_REQ_READ:
        s->n.read[r->from] += sectors;
        if (place == IN_L2) s->n.read_hit[r->from] += sectors;
        if (place == ON_ITS_WAY) s->n.read_pending[r->from] += sectors;
        break;
    case ORR_REQ_WRITE:
        s->n.write[r->from] += sectors;
        s->n.write_hit[r->from] += sectors;
        if (s->gpu->dram_window) window_turn(s, r->time);
        s->owed +=
            (float)sectors * (r->from == ORR_FROM_LOCAL ? s->residency->local_far : s->residency->written);
        if (s->owed >= 1) {
            uint64_t back = (uint64_t)s->owed;
            s->owed -= (float)back;
            s->to_write += back * s->dram_sector;
            s->n.dram_write += back;
            s->n.written_back += back;
            s->n.dram_busy += back * s->channel_sector;
        }
        break;
    default: { // one after the other at the line's slice, with those of other SMs
        float sharers = inst != UINT32_MAX ? s->residency->sharers[inst] : 1;
        uint64_t quarters = r->ops || r->quarter_ops ? 4u * r->ops + r->quarter_ops : 4;
        uint64_t takes = quarters * s->atomic / 4,
                 until = r->float_sum ? later(takes, s->atomic_again) : takes;
        t = later(done, later(s->atomic_free, s->ready[at]));
        s->atomic_free = t + quarters * s->atomic_share / 4;
        done = t + takes;
        s->ready[at] = t + (uint64_t)((float)until * sharers);
        s->n.atomics.n += sectors;
        if (!miss) s->n.atomics.hit += sectors;
        if (r->kind == ORR_REQ_REDUCE) s->n.atomics.reduced[0] += sectors;
        if (r->kind == ORR_REQ_REDUCE && !miss) s->n.atomics.reduced[1] += sectors;
    }
    }
    s->n.slice_busy += sectors * s->slice_sector;
    if (done > s->n.last) s->n.last = done;
    if (r->kind == ORR_REQ_READ || r->kind == ORR_REQ_ATOMIC)
        *ORR_PUSH(out) =
            (orr_reply){.time = done, .sm = r->sm, .token = r->token, .sectors = r->sectors, .hit = !miss};
}

static uint64_t memory_share_run(void *arg, const orr_request *r, size_t n, orr_replies *out) {
    memory_share *s = arg;
    for (size_t i = 0; i < n; i++) one(s, &r[i], out);
    return s->l2_free;
}

void memory_share_init(memory_share *s, const orr_gpu *g, const cycle *c, const residency *x,
                       const pace *pace, double turn) {
    memset(s, 0, sizeof *s);
    s->gpu = g;
    s->c = c;
    s->residency = x;
    s->pace = pace;
    double n = turn, l2_cycle = g->clock_l2 > 0 ? g->clock_sm / g->clock_l2 : 1; // in SM cycles
    s->line = ticks(l2_cycle * n / g->l2_slices); // a slice takes a line a cycle
    s->sector = ticks(ORR_SECTOR * l2_cycle * n / g->l2_bandwidth);
    s->slice_sector = ticks(ORR_SECTOR * l2_cycle * g->l2_slices / g->l2_bandwidth);
    double bytes = g->dram_bandwidth * 1e3 / g->clock_sm * g->dram_efficiency / 100; // all SMs, a cycle
    if (x->rate > 0 && x->rate * ORR_SECTOR < bytes) bytes = x->rate * ORR_SECTOR;
    s->dram_sector = g->dram_window ? 0 : ticks(ORR_SECTOR * n / bytes); // a window has a rate of its own
    s->channel_sector = ticks(ORR_SECTOR * g->dram_channels * g->clock_sm / (g->dram_bandwidth * 1e3));
    s->write_room = ticks(ORR_SECTOR * 4 * (double)g->dram_queue * g->dram_channels / bytes);
    s->behind = ticks(g->dram_latency - g->l2_latency);
    s->far_side = g->l2_partitions > 1 ? ticks(g->l2_far_latency) : 0;
    s->atomic = ticks(l2_cycle / g->l2_atomic);
    s->atomic_again = ticks(l2_cycle * g->l2_atomic_float);
    s->atomic_share = ticks(l2_cycle / g->l2_atomic * n / g->l2_slices);
    uint64_t room = (uint64_t)((double)g->l2_size * x->own);
    if (room < 64 * ORR_LINE) room = 64 * ORR_LINE;
    orr_cache_init(&s->tags, room, ORR_LINE, (uint32_t)g->l2_ways, true, false);
    s->ready = orr_calloc((size_t)s->tags.sets * s->tags.ways, sizeof *s->ready);
    s->due = orr_calloc(c->program->kernel->ninsts + 1, sizeof *s->due);
    s->due_late = orr_calloc(c->program->kernel->ninsts + 1, sizeof *s->due_late);
    s->door = (foreign_memory){s, memory_share_run};
}

void memory_share_free(memory_share *s) {
    if (!s->gpu) return;
    orr_cache_free(&s->tags);
    free(s->ready);
    free(s->due);
    free(s->due_late);
    memset(s, 0, sizeof *s);
}
