// The machine is made to fit the program of a launch: room for its registers, accesses and counts, and what
// of its code is in the caches. One that is read from a trace grows meanwhile.
//
// A profiler repeats a kernel, so its code is in the SM's cache: as long as what is executed takes half of it
// at most (H200: micro/icache, 48 KB were there, 96 KB were not; nor 97 KB of tests/features, sorts). Of a
// larger program that is as much as its first thread block executes.
#include "model/cycle/window.h"

#include <stdlib.h>
#include <string.h>

#include "model/cycle/grids.h"

static void fit_worker(worker *k, uint32_t ninsts) {
    if (k->ninsts >= ninsts) return;
    uint32_t cap = ninsts + ninsts / 2 + 64;
    k->by_inst = orr_realloc(k->by_inst, cap * sizeof *k->by_inst);
    k->issued = orr_realloc(k->issued, cap * sizeof *k->issued);
    k->threads = orr_realloc(k->threads, cap * sizeof *k->threads);
    k->memo = orr_realloc(k->memo, cap * sizeof *k->memo);
    k->traffic = orr_realloc(k->traffic, cap * sizeof *k->traffic);
    uint32_t more = cap - k->ninsts;
    memset(k->by_inst + k->ninsts, 0, more * sizeof *k->by_inst);
    memset(k->issued + k->ninsts, 0, more * sizeof *k->issued);
    memset(k->threads + k->ninsts, 0, more * sizeof *k->threads);
    memset(k->memo + k->ninsts, 0, more * sizeof *k->memo);
    memset(k->traffic + k->ninsts, 0, more * sizeof *k->traffic);
    k->ninsts = cap;
}

static void fit_warps(cycle *c, uint32_t places, uint32_t accesses) {
    if (places <= c->room.places && accesses <= c->room.accesses) return;
    uint32_t p = places > c->room.places ? places + 16 : c->room.places,
             a = accesses > c->room.accesses ? accesses + 16 : c->room.accesses;
    size_t warps = (size_t)c->nsms * c->nsched * c->per_sched, k = 0;
    warp_room was = c->room;
    c->room = (warp_room){.places = p, .accesses = a};
    c->room.regs = orr_pages(warps * p, sizeof *c->room.regs);
    c->room.offsets = orr_pages(warps * (a + 1), sizeof *c->room.offsets);
    for (uint32_t n = 0; n < c->nsms; n++)
        for (uint32_t q = 0; q < c->nsched; q++)
            for (uint32_t i = 0; i < c->per_sched; i++, k++) {
                warp *w = warp_of(&c->sms[n], warp_number(q, i));
                uint64_t *regs = c->room.regs + k * p;
                uint32_t *offsets = c->room.offsets + k * (a + 1);
                if (was.regs) memcpy(regs, w->board.reg, was.places * sizeof *regs);
                if (was.regs) memcpy(offsets, w->pc.access, (was.accesses + 1) * sizeof *offsets);
                w->board.reg = regs;
                w->pc.access = offsets;
            }
    orr_pages_free(was.regs);
    orr_pages_free(was.offsets);
}

// What an instruction does besides reading operands and keeping its unit busy: nothing (plain), but perhaps
// write registers that a scoreboard looks at (PLAIN_RESULT).
static uint8_t plainness(const cycle *c, const orr_tinst *i) {
    bool plain = i->kind == ORR_TK_ALU && i->tclass != ORR_TC_BRANCH && i->tclass != ORR_TC_BARRIER &&
                 !by_queue(i) && i->sass != ORR_SASS_CCTL && i->sass != ORR_SASS_USETMAXREG &&
                 i->sass != ORR_SASS_UTMACCTL && !c->core.operands.collectors;
    bool awaited = !c->program->control || ORR_CTRL_WBAR(i->ctrl) < BARRIERS || c->latencies;
    return !plain ? 0 : awaited ? PLAIN_RESULT : PLAIN;
}

static void fit_plain(cycle *c) {
    const orr_program *p = c->program;
    if (c->traits.ninsts < p->ninsts) {
        c->traits.ninsts = p->ninsts + p->ninsts / 2 + 64;
        c->traits.plain = orr_realloc(c->traits.plain, c->traits.ninsts);
    }
    for (uint32_t n = 0; n < p->ninsts; n++) c->traits.plain[n] = plainness(c, &p->insts[n]);
}

static uint64_t warm_lines(const cycle *c) { return fetch_warm_lines(&c->core.fetch); }

void cyc_fit_program(engine *x) {
    cycle *c = x->c;
    const orr_program *p = c->program;
    for (int n = 0; n < c->host.n; n++) fit_worker(&c->host.workers[n], p->ninsts);
    fit_warps(c, p->nplaces, c->traits.in_order ? 0 : p->max_access);
    fit_plain(c);
    uint64_t last = 0;
    c->net.fences = false;
    c->launch.program = p;
    c->launch.perfect = c->perfect;
    c->sreg_unit = NO_UNIT;
    for (uint32_t n = 0; n < p->ninsts; n++) {
        if (p->insts[n].pc > last) last = p->insts[n].pc;
        c->net.fences |= p->insts[n].kind == ORR_TK_FENCE && p->insts[n].imm >= 1 && !c->foreign;
        if (p->insts[n].sass == ORR_SASS_S2R) c->sreg_unit = p->insts[n].unit;
    }
    const fetch_spec *f = &c->core.fetch;
    c->code.lines = last / f->line + 1;
    c->code.fits = !c->kernel->grows && c->code.lines <= f->l0_size / f->line;
    c->code.warm = !c->gpu->icache_warm ? 0 : x->runs_little_code ? UINT64_MAX : warm_lines(c);
    if (c->grids && c->gpu->icache_warm && cyc_grids_warm(c, warm_lines(c))) c->code.warm = UINT64_MAX;
}

void cyc_look_at_code(engine *x, const block_traces *b) {
    cycle *c = x->c;
    const orr_program *p = c->program;
    x->code_seen = true;
    if (!c->gpu->icache_warm || c->code.lines <= c->code.warm) return;
    uint8_t *seen = orr_calloc(c->code.lines, 1);
    uint64_t lines = 0, line = (uint64_t)c->gpu->icache_line;
    for (uint32_t w = 0; w < b->nwarps && lines <= warm_lines(c); w++) {
        orr_trace t = orr_trace_open(b->warps[w]);
        uint32_t at, mask;
        while (lines <= warm_lines(c) && orr_trace_block(&t, p->nblocks, &at, &mask) > 0) {
            const orr_tblock *code = &p->blocks[at];
            bool whole = true;
            for (uint32_t a = 0; a < code->naccess && whole; a++) whole = orr_trace_skip(&t);
            if (!whole) break; // it is damaged: whoever runs it says so
            for (uint32_t i = code->first; i < code->first + code->count; i++) {
                lines += !seen[p->insts[i].pc / line];
                seen[p->insts[i].pc / line] = 1;
            }
        }
    }
    free(seen);
    x->runs_little_code = lines <= warm_lines(c);
    if (x->runs_little_code) c->code.warm = UINT64_MAX;
}
