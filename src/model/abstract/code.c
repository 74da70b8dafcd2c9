// From a program and its pre-characterised latencies to segments.
//
// A code block is scheduled once, for one warp alone: each instruction is issued when what it waits for is
// there (registers by the latencies, or what the control bits say), its unit has taken the warp's last one
// and the scheduler has its turn. A segment ends before an instruction that may wait for memory, at a barrier
// or a fence, and when it gets long. What comes from memory is left out of the schedule: who waits for it
// looks when it is there.
//
// Two things of a block matter to others: results that are not there yet when it ends, and where it first
// needs what others have made.
#include "model/abstract/abstract.h"

#include <stdlib.h>
#include <string.h>

#include "model/abstract/latencies.h"
#include "model/cycle/precharacterise.h"

#define BARS 6 // of the control bits
// How long a segment gets, in instructions and cycles, and how far apart instructions of a burst may be. A
// core with operand collectors has long latencies and no stall counts: there it matters more who is in whose
// way.
#define FINE_INSTS   12
#define FINE_LEN     80
#define PLAIN_INSTS  24 // the same with perfect memory
#define PLAIN_LEN    96
#define FINE_GAP     3
#define COARSE_INSTS SEGMENT_INSTS
#define COARSE_LEN   128
#define COARSE_GAP   6

acode *abt_code_new(orr_program *p) {
    acode *c = orr_calloc(1, sizeof *c);
    c->program = p;
    return c;
}

void abt_code_free(acode *c) {
    if (!c) return;
    abt_form_free(c);
    free(c->memo);
    free(c->memo_of);
    free(c->segs.at);
    free(c->mems.at);
    free(c->bursts.at);
    free(c->waits.at);
    free(c->places.at);
    free(c->blocks);
    free(c->latency);
    free(c);
}

// What comes from its unit later is not in the schedule (async.c): a product of a group of warps keeps its
// warp for as long as it is issued.
static uint32_t interval_of(const orr_tinst *i) { return i->kind == ORR_TK_PRODUCT ? 1 : i->interval; }

// ---- a block's schedule ------------------------------------------------------------------------------
typedef struct place {
    uint64_t ready;
    uint32_t mem; // + 1: of code->mems, which makes it, when that has a latency
    bool seen;    // somebody in the block has waited for it, or made it
    bool late;    // a load of this block makes it
    bool made;
} place;

typedef struct schedule {
    acode *c;
    const machine *m;
    place *place;
    const bool *may; // places that a load may make
    bool throttles[ORR_GPU_UNITS_MAX];
    bool wet;
    uint64_t front, last; // the next instruction not before; cycle of the last
    uint64_t unit[ORR_GPU_UNITS_MAX];
    uint64_t begin;  // of the segment
    uint32_t ninsts; // in it
    uint32_t first;  // instruction of the code block
    aseg seg;
    uint64_t busy[ORR_GPU_UNITS_MAX];
    uint32_t reads[ORR_READ_BANKS];
    uint32_t kept[ORR_READ_PLACES][ORR_READ_BANKS]; // + 1
} schedule;

// Reads of each bank (modern cores), with what the operand cache keeps while the warp goes on by itself.
static void add_reads(schedule *x, const orr_tinst *i) {
    if (x->m->collector) return;
    const orr_read *r = x->c->program->reads + i->reads;
    for (uint32_t n = 0; n < i->nreads; n++, r++) {
        uint32_t *at = &x->kept[r->place % ORR_READ_PLACES][r->bank % ORR_READ_BANKS], me = r->reg + 1u;
        x->reads[r->bank % ORR_READ_BANKS] += !r->again && (!r->place || *at != me);
        *at = r->kept ? me : 0;
    }
}

// Schedulers that share a unit.
static uint32_t sharing(const machine *m, uint32_t unit) {
    const acore *core = &m->cores[0];
    uint32_t n = 0;
    for (uint32_t q = 0; q < m->nsched; q++)
        n += core->sched[q].pool_of[unit] == core->sched[0].pool_of[unit];
    return n;
}

static uint32_t units_of(const machine *m, uint32_t unit) {
    return m->cores[0].pools.units[m->cores[0].sched[0].pool_of[unit]];
}

static void note_unit(acode *c, uint16_t unit) {
    for (uint32_t k = 0; k < c->nunits; k++)
        if (c->unit[k] == unit) return;
    if (c->nunits < sizeof c->unit / sizeof *c->unit) c->unit[c->nunits++] = unit;
}

// The burst ends. Of the units that can be in somebody's way it books the one that it keeps longest.
static void close_burst(schedule *x) {
    const machine *m = x->m;
    acode *c = x->c;
    if (c->bursts.n == x->seg.burst) return;
    aburst *b = &c->bursts.at[c->bursts.n - 1];
    uint64_t most = 0;
    for (int u = 0; u < m->gpu->nunits; u++) {
        if (!x->busy[u] || !x->throttles[u]) continue;
        uint64_t cycles = (x->busy[u] + units_of(m, (uint32_t)u) - 1) / units_of(m, (uint32_t)u);
        if (cycles * sharing(m, (uint32_t)u) <= most) continue;
        most = cycles * sharing(m, (uint32_t)u);
        b->unit = (uint16_t)u;
        b->busy = (uint16_t)(cycles < 4096 ? cycles : 4096);
    }
    if (b->busy) note_unit(c, b->unit);
    for (uint32_t k = 0; k < ORR_READ_BANKS; k++) { // each serves regs.ports a cycle
        uint32_t cycles = x->reads[k] / (uint32_t)m->gpu->regs_ports;
        if (cycles > b->slots + (uint32_t)b->banks) b->banks = (uint16_t)(cycles - b->slots);
    }
    memset(x->busy, 0, sizeof x->busy);
    memset(x->reads, 0, sizeof x->reads);
}

// A unit that takes as many at once as its schedulers can issue is never in the way. If one instruction of
// the program keeps it longer, all have to be booked.
static void find_throttles(schedule *x) {
    const machine *m = x->m;
    const orr_program *p = x->c->program;
    for (uint32_t n = 0; n < p->ninsts; n++) {
        const orr_tinst *i = &p->insts[n];
        uint64_t each =
            (interval_of(i) + m->issue_interval - 1) / m->issue_interval * (uint64_t)m->gpu->core_issue;
        x->throttles[i->unit] |= sharing(m, i->unit) * each > units_of(m, i->unit);
    }
}

// What it takes altogether.
static void sum_bursts(const acode *c, aseg *g) {
    uint32_t busy[ORR_GPU_UNITS_MAX] = {0};
    const aburst *b = c->bursts.at + g->burst;
    for (uint32_t n = 0; n < g->nbursts; n++, b++) {
        g->slots += (uint32_t)b->slots + b->banks;
        busy[b->unit] += b->busy;
        if (busy[b->unit] < g->busy || busy[b->unit] > UINT16_MAX) continue;
        g->busy = (uint16_t)busy[b->unit];
        g->unit = b->unit;
    }
}

// The segment ends; the next one begins in cycle t at the earliest.
static void close_segment(schedule *x, uint64_t t) {
    acode *c = x->c;
    aseg *g = &x->seg;
    if (x->ninsts) {
        g->len = (uint32_t)(t - x->begin);
        g->tail = (uint32_t)(t - x->last);
        close_burst(x);
        g->nmem = (uint16_t)(c->mems.n - g->mem);
        g->nwait = (uint16_t)(c->waits.n - g->wait);
        g->nbursts = (uint32_t)c->bursts.n - g->burst;
        sum_bursts(c, g);
        *ORR_PUSH(&c->segs) = *g;
    }
    // waits that were found for the next one are its own: they are added after this
    *g = (aseg){.mem = (uint32_t)c->mems.n, .wait = (uint32_t)c->waits.n, .burst = (uint32_t)c->bursts.n};
    memset(x->busy, 0, sizeof x->busy);
    memset(x->reads, 0, sizeof x->reads);
    x->ninsts = 0;
    x->begin = t;
}

// What instruction i waits for: calls for each place.
static uint32_t waits_of(const schedule *x, const orr_tinst *i, uint16_t *out) {
    const orr_program *p = x->c->program;
    uint32_t n = 0;
    if (p->control) {
        for (uint32_t k = ORR_CTRL_WAIT(i->ctrl) & ((1u << BARS) - 1); k; k &= k - 1)
            out[n++] = (uint16_t)orr_ffs(k);
        if (i->kind == ORR_TK_WAIT_GROUP && i->warps && !i->imm)
            out[n++] = (uint16_t)((i->warps - 1u) % BARS);
        return n;
    }
    for (uint32_t k = 0; k < (uint32_t)i->nsrc + i->ndst; k++) out[n++] = p->regs[i->regs + k];
    return n;
}

// What it makes.
static uint32_t makes(const schedule *x, const orr_tinst *i, uint16_t *out) {
    const orr_program *p = x->c->program;
    if (p->control) {
        out[0] = (uint16_t)ORR_CTRL_WBAR(i->ctrl);
        return out[0] < BARS;
    }
    for (uint32_t k = 0; k < i->ndst; k++) out[k] = p->regs[i->regs + i->nsrc + k];
    return i->ndst;
}

static bool is_late(const machine *m, const orr_tinst *i) {
    return i->kind == ORR_TK_MEM && !m->perfect && i->flags & ORR_TF_LOAD && i->space != ORR_SPACE_SHARED &&
           i->space != ORR_SPACE_CONST;
}

// Cycles from its issue until its result is there, when that is known beforehand.
static uint64_t latency_of(const machine *m, const acode *c, uint32_t n) {
    const orr_tinst *i = &c->program->insts[n];
    if (i->kind == ORR_TK_PRODUCT) return 1;
    if (i->kind != ORR_TK_MEM) return c->latency[n];
    if (i->space == ORR_SPACE_SHARED) return m->c->core.shared.latency;
    if (i->space == ORR_SPACE_CONST) return m->c->core.constants.latency;
    return m->c->core.l1.latency;
}

// What its segment ends with, when it does more than take a latency; 0: nothing.
static uint8_t ends_with(const orr_tinst *i) {
    if (i->kind == ORR_TK_BARRIER || i->kind == ORR_TK_FENCE || i->kind == ORR_TK_GROUP ||
        i->kind == ORR_TK_SYNCS || i->kind == ORR_TK_PRODUCT)
        return i->kind;
    if (i->sass == ORR_SASS_UTMACCTL) return AFTER_MAPS;
    if (i->sass == ORR_SASS_CCTL && i->imm) return AFTER_INVALIDATE;
    return i->sass == ORR_SASS_USETMAXREG ? AFTER_REGISTERS : 0;
}

// The access that a fence is under the same predicate as (orr_tinst.offset), + 1.
static uint16_t gate_of(const acode *c, uint32_t n, uint32_t first) {
    const orr_tinst *i = &c->program->insts[n];
    if (i->kind != ORR_TK_FENCE || !i->offset) return 0;
    while (n-- > first)
        if (c->program->insts[n].access != ORR_NO_ACCESS)
            return (uint16_t)(c->program->insts[n].access + 1 + i->offset);
    return i->offset;
}

static uint64_t step_of(const machine *m, const acode *c, uint32_t n) {
    const orr_tinst *i = &c->program->insts[n];
    uint64_t step = 1;
    if (i->kind == ORR_TK_BRANCH && m->c->branch.wait > step) step = m->c->branch.wait;
    if (ORR_CTRL_STALL(i->ctrl) > step) step = ORR_CTRL_STALL(i->ctrl);
    if (!m->collector) step += i->hold + orr_tinst_held(i);
    if (i->kind == ORR_TK_BRANCH && i->sass == ORR_SASS_BSYNC) step += m->c->branch.jump;
    // B2R: what the barrier found; the warp goes on when it has it.
    if (i->tclass == ORR_TC_BARRIER && i->kind != ORR_TK_BARRIER && step < c->latency[n])
        step = c->latency[n];
    return step;
}

static void use(const schedule *x, uint16_t where, uint64_t t) {
    if (t < 512) *ORR_PUSH(&x->c->places) = (aplace){where, (uint32_t)t};
}

// A memory instruction of the segment, issued at t.
static void add_memory(schedule *x, uint32_t n, uint64_t t, const uint16_t *made, uint32_t nmade) {
    acode *c = x->c;
    const orr_tinst *i = &c->program->insts[n];
    amem *a = ORR_PUSH(&c->mems);
    *a = (amem){.inst = n, .at = (uint16_t)(t - x->begin), .slack = UINT16_MAX, .access = i->access};
    if (!c->memo_of[n]) c->memo_of[n] = ++c->nmemo;
    a->memo = c->memo_of[n] - 1;
    a->late = is_late(x->m, i);
    a->quiet = i->space == ORR_SPACE_SHARED ||
               (x->m->perfect && i->space != ORR_SPACE_CONST && i->space != ORR_SPACE_GENERIC);
    a->quiet &= !(i->flags & ORR_TF_ASYNC);
    a->loads = i->flags & ORR_TF_LOAD;
    a->async = i->flags & ORR_TF_ASYNC;
    a->bytes = i->bytes;
    a->runs = !(i->flags & (ORR_TF_ATOMIC | ORR_TF_ASYNC)) && i->bytes && i->bytes <= 16 &&
              !(i->bytes & (i->bytes - 1)) && x->m->c->core.lsu.coalesce == ORR_WHOLE_WARP;
    a->kind = i->flags & ORR_TF_ATOMIC ? ORR_L1_ATOMIC : i->flags & ORR_TF_STORE ? ORR_L1_STORE : ORR_L1_LOAD;
    a->latency = (uint16_t)latency_of(x->m, c, n);
    a->strong = c->ordered && orr_inst_order(&c->program->kernel->insts[i->inst]);
    if (a->strong) a->runs = false;
    if (!(i->flags & ORR_TF_LOAD)) return;
    for (uint32_t k = 0; k < nmade && a->nset < 4; k++) a->set[a->nset++] = made[k];
}

// An instruction issued at t: one more of the burst, or the first of another.
static void add_burst(schedule *x, uint64_t t) {
    acode *c = x->c;
    uint64_t at = t - x->begin, interval = x->m->issue_interval;
    aburst *b = c->bursts.n > x->seg.burst ? &c->bursts.at[c->bursts.n - 1] : NULL;
    uint64_t over = b ? b->at + b->slots * interval : 0;
    if (b && at < over) return; // together with the one before
    if (b && at <= over + (x->m->collector ? FINE_GAP : COARSE_GAP)) {
        b->slots++;
        return;
    }
    close_burst(x);
    *ORR_PUSH(&c->bursts) = (aburst){.at = (uint16_t)at, .slots = 1};
}

static void add_inst(schedule *x, uint32_t n) {
    acode *c = x->c;
    const machine *m = x->m;
    const orr_tinst *i = &c->program->insts[n];
    uint16_t want[512], made[256], ask[512];
    uint32_t nwant = waits_of(x, i, want), nmade = makes(x, i, made), nask = 0;
    uint64_t t = x->front;
    for (uint32_t k = 0; k < nwant; k++) {
        const place *w = &x->place[want[k]];
        if (w->late || (!w->seen && x->wet && x->may[want[k]])) {
            bool again = false;
            for (uint32_t j = 0; j < nask; j++) again |= ask[j] == want[k];
            if (!again) ask[nask++] = want[k];
        }
        if (w->seen && !w->late && w->ready > t) t = w->ready;
    }
    if (x->front && m->gpu->core_issue == 1 && t < x->last + m->issue_interval)
        t = x->last + m->issue_interval;
    if (x->unit[i->unit] > t) t = x->unit[i->unit];
    bool special = i->kind == ORR_TK_FENCE || i->kind == ORR_TK_WAIT_GROUP || i->kind == ORR_TK_PRODUCT ||
                   i->kind == ORR_TK_PRODUCT_WAIT;
    uint32_t insts = !m->collector ? COARSE_INSTS : m->perfect ? PLAIN_INSTS : FINE_INSTS;
    uint32_t len = !m->collector ? COARSE_LEN : m->perfect ? PLAIN_LEN : FINE_LEN;
    bool is_long = x->ninsts && (x->ninsts >= insts || t - x->begin >= len);
    if (nask || special || is_long || !x->ninsts) close_segment(x, t);
    for (uint32_t k = 0; k < nask; k++) *ORR_PUSH(&c->waits) = ask[k];
    for (uint32_t k = 0; k < nwant; k++) {
        place *w = &x->place[want[k]];
        if (!w->seen && !x->wet) use(x, want[k], t);
        if (w->mem) { // the first who needs what a load makes
            uint64_t slack = t - w->ready;
            amem *a = &c->mems.at[w->mem - 1];
            if (slack < a->slack) a->slack = (uint16_t)slack;
            w->mem = 0;
        }
        w->seen = true;
        if (w->late) w->ready = 0;
        w->late = false;
    }

    aseg *g = &x->seg;
    uint64_t line = i->pc / (uint64_t)m->gpu->icache_line + 1;
    if (!x->ninsts++) {
        g->line = (uint32_t)line;
        g->head = n;
        g->gate = gate_of(c, n, x->first);
    }
    g->nlines = (uint16_t)(line >= g->line && line - g->line < 1024 ? line - g->line + 1 : 1);
    g->inst = n;
    if (special) g->before = i->kind;
    add_burst(x, t);
    x->busy[i->unit] += interval_of(i);
    add_reads(x, i);
    x->last = t;
    uint64_t step = step_of(m, c, n);
    x->front = t + step;
    if (m->cores[0].pools.units[m->cores[0].sched[0].pool_of[i->unit]] == 1 && !m->gpu->units[i->unit].queue)
        x->unit[i->unit] = t + interval_of(i);
    if (i->kind == ORR_TK_MEM) add_memory(x, n, t, made, nmade);
    bool late = is_late(m, i);
    uint64_t ready = t + latency_of(m, c, n);
    for (uint32_t k = 0; k < nmade; k++) {
        place *w = &x->place[made[k]];
        bool both = c->program->control && w->made && w->ready > ready; // of two under one barrier the later
        w->seen = w->made = true;
        w->late = (late || (c->program->control && w->late)) && !(i->flags & ORR_TF_ASYNC);
        if (!both) {
            w->ready = ready;
            w->mem = i->kind == ORR_TK_MEM && !late && i->flags & ORR_TF_LOAD ? (uint32_t)c->mems.n : 0;
        }
    }
    if (c->program->control && i->kind == ORR_TK_MEM && ORR_CTRL_RBAR(i->ctrl) < BARS) {
        place *w = &x->place[ORR_CTRL_RBAR(i->ctrl)];
        if (!w->made || w->ready < t + 1) w->ready = t + 1;
        w->seen = w->made = true;
    }
    g->after = ends_with(i);
    if (g->after) close_segment(x, x->front);
}

// All instructions of a block; returns the first segment and how many.
static uint32_t schedule_block(schedule *x, const orr_tblock *b, uint32_t *count) {
    uint32_t first = (uint32_t)x->c->segs.n;
    x->first = b->first;
    x->front = x->last = x->begin = 0;
    x->ninsts = 0;
    memset(x->place, 0, x->c->nplaces * sizeof *x->place);
    memset(x->unit, 0, sizeof x->unit);
    memset(x->kept, 0, sizeof x->kept);
    memset(x->busy, 0, sizeof x->busy);
    memset(x->reads, 0, sizeof x->reads);
    x->seg = (aseg){
        .mem = (uint32_t)x->c->mems.n, .wait = (uint32_t)x->c->waits.n, .burst = (uint32_t)x->c->bursts.n};
    for (uint32_t n = b->first; n < b->first + b->count; n++) add_inst(x, n);
    close_segment(x, x->front);
    *count = (uint32_t)x->c->segs.n - first;
    return first;
}

static void take_block(schedule *x, uint32_t which) {
    acode *c = x->c;
    const orr_tblock *b = &c->program->blocks[which];
    acblock *k = &c->blocks[which];
    *k = (acblock){.count = b->count, .first = b->first, .end = b->first + b->count};
    bool loads = false;
    uint32_t access = 0;
    for (uint32_t n = b->first; n < k->end; n++) {
        const orr_tinst *i = &c->program->insts[n];
        loads |= is_late(x->m, i);
        if (i->kind == ORR_TK_MEM) c->in_order &= i->access == access++;
        c->leaves_out |= i->kind == ORR_TK_SYNCS || i->kind == ORR_TK_INDEXED;
        c->asynchronous |= i->kind == ORR_TK_SYNCS || i->kind == ORR_TK_PRODUCT ||
                           (i->kind == ORR_TK_BARRIER && i->imm == CLUSTER_BARRIER);
        c->hands_on |= i->kind == ORR_TK_BARRIER && i->imm == 0xff && i->flags & ORR_TF_ARRIVE;
    }
    c->in_order &= access == b->naccess;
    if (b->count) {
        const orr_tinst *last = &c->program->insts[k->end - 1];
        k->jumps = last->kind == ORR_TK_BRANCH && last->sass != ORR_SASS_BSYNC;
    }
    x->wet = false;
    k->use = (uint32_t)c->places.n;
    k->dry = schedule_block(x, b, &k->ndry);
    k->nuse = (uint32_t)c->places.n - k->use;
    k->late = (uint32_t)c->places.n;
    for (uint32_t p = 0; p < c->nplaces; p++) {
        const place *w = &x->place[p];
        if (w->made && !w->late && w->ready > x->front)
            *ORR_PUSH(&c->places) = (aplace){p, (uint32_t)(w->ready - x->front)};
        if (w->mem && c->mems.at[w->mem - 1].slack == UINT16_MAX)
            c->mems.at[w->mem - 1].slack = (uint16_t)(x->front > w->ready ? x->front - w->ready : 0);
    }
    k->nlate = (uint32_t)c->places.n - k->late;
    k->wet = k->dry;
    k->nwet = k->ndry;
    if (x->m->perfect) return;
    x->wet = true;
    k->wet = schedule_block(x, b, &k->nwet);
    for (uint32_t p = 0; p < c->nplaces; p++) {
        const place *w = &x->place[p];
        if (w->mem && c->mems.at[w->mem - 1].slack == UINT16_MAX)
            c->mems.at[w->mem - 1].slack = (uint16_t)(x->front > w->ready ? x->front - w->ready : 0);
    }
    if (loads) k->ndry = 0;
}

// Places that a load may make: those that are waited for where it is not known that they are there.
static bool *find_late(const acode *c, const machine *m) {
    const orr_program *p = c->program;
    bool *may = orr_calloc(c->nplaces + 1u, 1);
    schedule x = {.c = (acode *)(uintptr_t)c};
    for (uint32_t n = 0; n < p->ninsts; n++) {
        uint16_t made[256];
        if (!is_late(m, &p->insts[n])) continue;
        uint32_t nmade = makes(&x, &p->insts[n], made);
        for (uint32_t k = 0; k < nmade; k++) may[made[k]] = true;
    }
    if (p->kernel->grows) memset(may, 1, c->nplaces);
    return may;
}

// What no block is late with need not be looked at.
static void drop_uses(acode *c, uint32_t nblocks) {
    bool *late = orr_calloc(c->nplaces + 1u, 1);
    for (uint32_t b = 0; b < nblocks; b++)
        for (uint32_t k = 0; k < c->blocks[b].nlate; k++)
            late[c->places.at[c->blocks[b].late + k].place] = true;
    for (uint32_t b = 0; b < nblocks; b++) {
        aplace *use = c->places.at + c->blocks[b].use;
        uint32_t n = 0;
        for (uint32_t k = 0; k < c->blocks[b].nuse; k++)
            if (late[use[k].place]) use[n++] = use[k];
        c->blocks[b].nuse = n;
    }
    free(late);
}

bool abt_code_grow(acode *c, machine *m, orr_err *e) {
    const orr_program *p = c->program;
    if (c->nblocks == p->nblocks && c->blocks) return true;
    size_t n = p->ninsts + 1;
    c->latency = orr_realloc(c->latency, n * sizeof *c->latency);
    c->memo_of = orr_realloc(c->memo_of, n * sizeof *c->memo_of);
    memset(c->memo_of + c->ninsts, 0, (n - c->ninsts) * sizeof *c->memo_of);
    if (!c->characterised && !orr_precharacterise(p, m->gpu, c->nblocks, c->latency, e)) return false;
    c->characterised = false; // what comes later has to be
    c->nplaces = p->control ? BARS : p->nplaces;
    c->blocks = orr_realloc(c->blocks, (p->nblocks + 1) * sizeof *c->blocks);
    uint32_t memos = c->nmemo;
    if (!c->nblocks) c->in_order = true;
    bool *may = find_late(c, m);
    c->ordered = !m->perfect && orr_kernel_orders(p->kernel);
    schedule x = {.c = c, .m = m, .may = may, .place = orr_calloc(c->nplaces + 1u, sizeof *x.place)};
    find_throttles(&x);
    for (uint32_t b = c->nblocks; b < p->nblocks; b++) take_block(&x, b);
    if (!p->kernel->grows) drop_uses(c, p->nblocks);
    if (p->kernel->machine || c->asynchronous) c->in_order = !c->leaves_out && !c->asynchronous;
    free(x.place);
    free(may);
    c->memo = orr_realloc(c->memo, (c->nmemo + 1) * sizeof *c->memo);
    memset(c->memo + memos, 0, (c->nmemo + 1 - memos) * sizeof *c->memo);
    c->nblocks = p->nblocks;
    c->ninsts = p->ninsts;
    return true;
}

// ---- files -------------------------------------------------------------------------------------------
bool abt_code_from(acode *c, const machine *m, const orr_latencies *l) {
    const orr_program *p = c->program;
    const orr_latencies_kernel *k = orr_latencies_find(l, orr_precharacterise_key(p, m->gpu), p->ninsts);
    if (!k) return false;
    for (uint32_t n = 0; n < p->ninsts; n++)
        if (k->inst[n].kind != p->insts[n].kind) return false;
    c->latency = orr_realloc(c->latency, (p->ninsts + 1) * sizeof *c->latency);
    for (uint32_t n = 0; n < p->ninsts; n++) c->latency[n] = k->inst[n].cycles;
    c->characterised = true;
    return true;
}

bool abt_code_into(const acode *c, const machine *m, orr_latencies *l) {
    const orr_program *p = c->program;
    orr_latencies_kernel *k =
        orr_latencies_add(l, orr_precharacterise_key(p, m->gpu), p->kernel->name, p->ninsts);
    k->registers = p->registers;
    k->shared = (uint32_t)p->kernel->shared_bytes;
    for (uint32_t n = 0; n < p->ninsts; n++) k->inst[n] = (orr_latency){c->latency[n], p->insts[n].kind};
    return true;
}
