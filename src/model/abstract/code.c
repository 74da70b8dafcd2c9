// From a program and its pre-characterised latencies to the code that is simulated.
//
// An instruction waits for registers. Within a basic block each value is waited for once: whoever comes after
// the first that did finds it there. So the list of registers to look at is short: those that nobody in the
// block has looked at since they were written, or since the block began.
#include "model/abstract/abstract.h"

#include <stdlib.h>
#include <string.h>

#include "model/abstract/latencies.h"
#include "model/cycle/alone.h"

#define AHEAD 32 // cycles that a scheduler may go by itself where there are no barriers

acode *abt_code_new(orr_program *p) {
    acode *c = orr_calloc(1, sizeof *c);
    c->program = p;
    return c;
}

void abt_code_free(acode *c) {
    if (!c) return;
    free(c->insts);
    free(c->regs);
    free(c->memo);
    free(c->memo_of);
    free(c->latency);
    free(c);
}

// Which registers instruction i has to look at; `fresh`: nobody has since they were written.
static void take_registers(acode *c, const orr_tinst *i, ainst *a, bool *fresh) {
    const uint16_t *r = c->program->regs + i->regs;
    uint16_t *all = c->regs + a->regs, *to = all;
    for (uint32_t n = 0; n < (uint32_t)i->nsrc + i->ndst; n++) {
        if (!fresh[r[n]]) continue;
        fresh[r[n]] = false;
        to[a->nwait++] = (uint16_t)(r[n] + OWN_REGS);
    }
    for (uint32_t d = 0; d < i->ndst; d++) {
        to[a->nwait + a->nset++] = (uint16_t)(r[i->nsrc + d] + OWN_REGS);
        fresh[r[i->nsrc + d]] = true;
    }
    if (a->nwait > 0) a->first[0] = all[0];
    if (a->nwait > 1) a->first[1] = all[1];
    if (a->nset > 0) a->result = all[a->nwait];
    if (a->nwait > 2 || a->nset > 1) a->flags |= AF_MORE;
    if (a->nwait + a->nset <= NEAR_REGS) memcpy(a->near, all, (size_t)(a->nwait + a->nset) * sizeof *all);
}

// Reads of each bank (modern cores), with what the operand cache keeps while the warp goes on by itself.
typedef struct kept {
    uint32_t reg[ORR_READ_PLACES][ORR_READ_BANKS]; // + 1
} kept;

static void take_reads(const orr_program *p, const orr_tinst *i, ainst *a, kept *k) {
    const orr_read *r = p->reads + i->reads;
    for (uint32_t n = 0; n < i->nreads; n++, r++) {
        uint32_t *at = &k->reg[r->place % ORR_READ_PLACES][r->bank % ORR_READ_BANKS], me = r->reg + 1u;
        a->reads[r->bank % ORR_READ_BANKS] += !r->again && (!r->place || *at != me);
        *at = r->kept ? me : 0;
    }
}

static void take_inst(acode *c, const machine *m, uint32_t n, bool *fresh, kept *keep) {
    const orr_program *p = c->program;
    const orr_tinst *i = &p->insts[n];
    ainst *a = &c->insts[n];
    *a = (ainst){.kind = i->kind, .unit = i->unit, .busy = i->interval, .step = 1, .latency = c->latency[n]};
    a->regs = 2 * i->regs; // a register written may have to be waited for too
    a->wbar = a->rbar = 7;
    a->first[0] = a->first[1] = NO_WAIT;
    a->result = NO_RESULT;
    take_reads(p, i, a, keep);
    a->apart = i->apart;
    if (i->kind == ORR_TK_BRANCH) a->step = (uint16_t)m->c->branch_wait;
    if (p->control) {
        uint32_t stall = ORR_CTRL_STALL(i->ctrl);
        if (stall > a->step) a->step = (uint16_t)stall;
        a->wait = (uint8_t)ORR_CTRL_WAIT(i->ctrl);
        a->wbar = (uint8_t)ORR_CTRL_WBAR(i->ctrl);
        a->rbar = (uint8_t)ORR_CTRL_RBAR(i->ctrl);
        a->yield = !ORR_CTRL_YIELD(i->ctrl);
    } else {
        take_registers(c, i, a, fresh);
    }
    if (!a->step) a->step = 1;
    if (!m->collector) a->hold = i->hold;
    a->jumps = m->c->branch_jump && i->kind == ORR_TK_BRANCH;
    a->tensor = !m->collector && m->gpu->core_tensor_ramp > 0 &&
                (i->tclass == ORR_TC_TENSOR || i->tclass == ORR_TC_TENSOR_INT);
    a->found = i->tclass == ORR_TC_BARRIER && i->kind != ORR_TK_BARRIER;
    uint64_t line = (uint64_t)m->gpu->icache_line;
    a->line = (uint32_t)(i->pc / line + 1);
    if (!n || i->pc / line != p->insts[n - 1].pc / line) a->flags |= AF_LINE;
    if (i->kind == ORR_TK_MEM) {
        c->memo_of[n] = ++c->nmemo;
        a->flags |= AF_MEMORY;
    }
    for (uint32_t b = 0; b < ORR_READ_BANKS; b++) a->banks |= a->reads[b] != 0 && !m->collector;
    if (m->throttles[i->unit]) a->flags |= AF_WATCH;
    bool own = m->own[i->unit] || !m->throttles[i->unit];
    if (own && i->kind != ORR_TK_MEM && i->kind != ORR_TK_BARRIER) a->flags |= AF_APART;
    bool special = i->kind == ORR_TK_MEM || i->kind == ORR_TK_BARRIER || i->kind == ORR_TK_FENCE ||
                   i->kind == ORR_TK_GROUP || i->kind == ORR_TK_WAIT_GROUP;
    if (!special && !a->found) a->flags |= AF_PLAIN;
    if (a->banks || a->hold || a->tensor) a->flags |= AF_RARE;
}

// A unit that takes as many at once as its schedulers can issue is never in the way. If one instruction of
// the program keeps it longer, it has to be watched for all.
static void find_busy(const acode *c, machine *m) {
    const acore *core = &m->cores[0];
    memset(m->throttles, 0, sizeof m->throttles);
    m->ahead = AHEAD;
    for (uint32_t n = 0; n < c->program->ninsts; n++) {
        const orr_tinst *i = &c->program->insts[n];
        uint32_t sharing = 0, which = core->sched[0].pool_of[i->unit];
        for (uint32_t q = 0; q < m->nsched; q++) sharing += core->sched[q].pool_of[i->unit] == which;
        uint64_t apiece = (i->interval + m->issue_interval - 1) / m->issue_interval * (uint64_t)m->issue;
        m->own[i->unit] = sharing == 1;
        uint64_t latency = i->latency ? i->latency : 1;
        if (i->kind == ORR_TK_BARRIER && latency < m->ahead) m->ahead = latency;
        m->throttles[i->unit] |= sharing * apiece > core->pools[which].n || i->kind == ORR_TK_MEM;
    }
}

static void take_block(acode *c, const machine *m, const orr_tblock *b, bool *fresh) {
    uint32_t access = 0;
    kept keep = {0};
    memset(fresh, 1, c->program->nplaces * sizeof *fresh);
    for (uint32_t n = b->first; n < b->first + b->count; n++) {
        take_inst(c, m, n, fresh, &keep);
        if (n == b->first) c->insts[n].flags |= AF_LINE;
        if (n + 1 == b->first + b->count) c->insts[n].flags |= AF_LAST;
        if (c->insts[n].kind == ORR_TK_MEM) c->in_order &= c->program->insts[n].access == access++;
    }
    c->in_order &= access == b->naccess;
}

bool abt_code_grow(acode *c, machine *m, orr_err *e) {
    const orr_program *p = c->program;
    if (c->nblocks == p->nblocks && c->insts) return true;
    size_t n = p->ninsts + 1;
    ainst *insts = orr_apart(n, sizeof *insts);
    if (c->insts) memcpy(insts, c->insts, c->ninsts * sizeof *insts);
    free(c->insts);
    c->insts = insts;
    c->latency = orr_realloc(c->latency, n * sizeof *c->latency);
    c->memo_of = orr_realloc(c->memo_of, n * sizeof *c->memo_of);
    c->regs = orr_realloc(c->regs, (2 * (size_t)p->nregs + 1) * sizeof *c->regs);
    memset(c->memo_of + c->ninsts, 0, (n - c->ninsts) * sizeof *c->memo_of);
    if (!c->characterised && !orr_alone(p, m->gpu, c->nblocks, c->latency, e)) return false;
    c->characterised = false; // what comes later has to be
    uint32_t memos = c->nmemo;
    bool *fresh = orr_malloc(p->nplaces + 1);
    if (!c->nblocks) c->in_order = true;
    find_busy(c, m);
    for (uint32_t b = c->nblocks; b < p->nblocks; b++) take_block(c, m, &p->blocks[b], fresh);
    if (c->program->kernel->machine) c->in_order = true;
    free(fresh);
    c->memo = orr_realloc(c->memo, (c->nmemo + 1) * sizeof *c->memo);
    memset(c->memo + memos, 0, (c->nmemo + 1 - memos) * sizeof *c->memo);
    c->nblocks = p->nblocks;
    c->ninsts = p->ninsts;
    return true;
}

// ---- files
// ----------------------------------------------------------------------------------------------------
bool abt_code_from(acode *c, const machine *m, const orr_latencies *l) {
    const orr_program *p = c->program;
    const orr_latencies_kernel *k = orr_latencies_find(l, orr_alone_key(p, m->gpu), p->ninsts);
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
    orr_latencies_kernel *k = orr_latencies_add(l, orr_alone_key(p, m->gpu), p->kernel->name, p->ninsts);
    k->registers = p->registers;
    k->shared = (uint32_t)p->kernel->shared_bytes;
    for (uint32_t n = 0; n < p->ninsts; n++) k->inst[n] = (orr_latency){c->latency[n], p->insts[n].kind};
    return true;
}
