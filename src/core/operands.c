// Reading operands (operands.h).
#include "core/operands.h"

#include <stdlib.h>
#include <string.h>

void operands_spec_read(operands_spec *s, const orr_gpu *g) {
    uint32_t subs = (uint32_t)g->core_subcores;
    *s = (operands_spec){.ports = (uint32_t)g->regs_ports,
                         .interval = (uint32_t)g->regs_interval,
                         .collect = whole_cycles(g->core_collect),
                         .late = (uint32_t)g->regs_late};
    const orr_gpu_op *ffma = orr_gpu_op_for(g, "FFMA", "fp32");
    if (ffma) s->late_result = (uint32_t)ffma->result;
    s->read_banks = g->regs_banks < ORR_READ_BANKS ? (uint32_t)g->regs_banks : ORR_READ_BANKS;
    if (g->core_kind != ORR_CORE_COLLECTOR || g->regs_collectors <= 0) return;
    s->collectors = (uint32_t)g->regs_collectors / subs;
    s->banks = (uint32_t)g->regs_banks / subs;
    if (!s->collectors) s->collectors = 1;
    if (!s->banks) s->banks = 1;
    if (!(s->banks & (s->banks - 1))) s->bank_mask = s->banks - 1;
}

void operands_init(operands *o, const operands_spec *s) {
    *o = (operands){.spec = s};
    if (!s->collectors) return;
    o->bank = orr_calloc(s->banks, sizeof *o->bank);
    o->collector_free = orr_calloc(s->collectors, sizeof *o->collector_free);
}

void operands_free(operands *o) {
    free(o->bank);
    free(o->collector_free);
}

void operands_reset(operands *o) {
    *o = (operands){.spec = o->spec, .bank = o->bank, .collector_free = o->collector_free};
    if (!o->spec->collectors) return;
    memset(o->bank, 0, o->spec->banks * sizeof *o->bank);
    memset(o->collector_free, 0, o->spec->collectors * sizeof *o->collector_free);
}

// ---- collectors ---------------------------------------------------------------------------------
// An instruction sits in a collector while its operands come from the banks, one after the other. A bank
// serves `regs.ports` accesses every `regs.interval` cycles, reads and writes: a read finds it taken by the
// read of another instruction, or by a result that comes then (source-level-probabilistic.txt, III). The
// registers of one warp are shifted against those of another over the banks (accel-sim.txt, II-B).
//
// Time is counted in accesses here: `ports` to an interval.
static uint64_t access_at(const operands_spec *s, uint64_t cycle) {
    return (cycle * s->ports + s->interval - 1) / s->interval;
}

static register_bank *bank_of(operands *o, const operand_reader *r, uint16_t reg) {
    const operands_spec *s = o->spec;
    uint32_t shifted = reg + r->shift;
    return &o->bank[s->bank_mask ? shifted & s->bank_mask : shifted % s->banks];
}

// The first access from `at` on that nobody has; 64 of them from `now` on are known.
static uint64_t take(register_bank *b, uint64_t now, uint64_t at) {
    if (now > b->from) {
        b->taken = now - b->from < 64 ? b->taken >> (now - b->from) : 0;
        b->from = now;
    }
    uint64_t n = at > b->from ? at - b->from : 0;
    if (n >= 64) return at;
    uint64_t room = ~b->taken >> n;
    if (!room) return b->from + 64;
    n += (uint64_t)__builtin_ctzll(room);
    b->taken |= 1ull << n;
    return b->from + n;
}

uint64_t operands_collect(operands *o, const orr_program *p, const orr_tinst *i, const operand_reader *r,
                          uint64_t now, uint64_t *lost) {
    const operands_spec *s = o->spec;
    uint32_t ports = s->ports, reads = 0;
    uint64_t first = access_at(s, now + 1), last = first;
    for (int n = 0; n < i->nsrc; n++) {
        uint16_t place = p->regs[i->regs + (uint32_t)n], reg = p->reg[place];
        if (reg >= ORR_TREG_P) continue;
        bool again = false; // an operand named twice is read once
        for (int m = 0; m < n; m++) again |= p->regs[i->regs + (uint32_t)m] == place;
        if (again) continue;
        uint64_t t = take(bank_of(o, r, reg), first, first + reads++); // one after the other
        if (t + 1 > last) last = t + 1;
    }
    uint32_t ideal = (reads + ports - 1) / ports, took = ((uint32_t)(last - first) + ports - 1) / ports;
    uint64_t waited = (took - (took < ideal ? took : ideal)) * s->interval;
    *lost = waited;
    o->conflict_cycles += waited / s->interval;
    uint32_t best = 0; // the collector that is free first
    for (uint32_t n = 1; n < s->collectors; n++)
        if (o->collector_free[n] < o->collector_free[best]) best = n;
    o->collector_free[best] = now + (1 + took + 1) * s->interval; // taken, read, handed on
    // core.collect has one read in it; where it is 0, reading without a conflict is in the latencies.
    return s->collect ? s->collect + (took ? took - 1 : 0) * s->interval : waited;
}

uint64_t operands_write(operands *o, const orr_program *p, const orr_tinst *i, const operand_reader *r,
                        uint64_t now, uint64_t ready) {
    const operands_spec *s = o->spec;
    uint64_t first = access_at(s, now), at = access_at(s, ready), last = at;
    const uint16_t *place = p->regs + i->regs + i->nsrc;
    for (int n = 0; n < i->ndst; n++) {
        if (p->reg[place[n]] >= ORR_TREG_P) continue;
        uint64_t t = take(bank_of(o, r, p->reg[place[n]]), first, at);
        if (t > last) last = t;
    }
    return ready + (last - at + s->ports - 1) / s->ports * s->interval;
}

uint64_t operands_collector_free(const operands *o) {
    if (!o->spec->collectors) return 0;
    uint64_t t = o->collector_free[0];
    for (uint32_t n = 1; n < o->spec->collectors; n++)
        if (o->collector_free[n] < t) t = o->collector_free[n];
    return t;
}

// How many cycles ago one of the warp's last instructions made what register `reg` has, `most` if none did.
static uint32_t age_of(const recent_results *w, uint32_t reg, uint32_t most, uint32_t now) {
    uint32_t age = most;
    for (uint32_t k = 0; k < RECENT_RESULTS; k++)
        if (w->reg[k] == reg + 1 && now - w->written[k] < age) age = now - w->written[k];
    return age;
}

// Results that have just been made come to who needs them past the registers. Of two operands in one bank
// the second is read a cycle later, and must be in the registers by then (regs.late). H200: V and L at
// distances d and 4 in front of an instruction that reads both from one bank, LOP3, IADD3, IMAD or FFMA: 3
// cycles more with d = 5, 2 with 6, none from 7 on, in whatever order they are named, and none where they
// are in different banks or one of them is old. Returns the cycles that the instruction waits. `counted`:
// the operands that are read from a bank.
static uint64_t wait_for_late(const operands *o, const recent_results *w, const orr_read *r, uint32_t counted,
                              uint32_t bank, uint32_t now) {
    uint32_t late = o->spec->late, youngest = late, older = late;
    for (uint32_t n = 0; counted >> n; n++) {
        if (!(counted >> n & 1) || r[n].bank != bank) continue;
        uint32_t age = age_of(w, r[n].reg, late, now);
        older = age < youngest ? youngest : age < older ? age : older;
        if (age < youngest) youngest = age;
    }
    return older + 1 < late ? late - older : 0;
}

// A bank serves `regs.ports` reads a cycle and an instruction has `window` cycles to get its operands, so
// that one that reads a bank more often can be made up for by its neighbours. What the code marks for reuse
// stays, a register for each place of an operand and bank, until another is read there, of whatever warp
// (Huerta et al., "Analyzing Modern NVIDIA GPU cores", 2025). Pairs of registers (64-bit operands) have
// places of their own, and an instruction that reads some waits until its banks are free (H200: micro/pipes,
// DFMA with LOP3 and IMAD 2.1 cycles a pair; micro/alu_throughput, DFMA 2.2 cycles where one of six reads
// all of its operands). Returns the cycles it waits.
static uint64_t read_banks(operands *o, const orr_program *p, const orr_tinst *i, const operand_reader *who,
                           uint64_t now) {
    const operands_spec *s = o->spec;
    uint32_t need[ORR_READ_BANKS] = {0}, id = who->warp << 16, counted = 0;
    const orr_read *reads = p->reads + i->reads, *r = reads;
    for (uint32_t n = i->nreads; n > 0; n--, r++) {
        uint32_t *cached = &o->cached[r->place][r->bank], me = (id | r->reg) + 1;
        uint32_t one = (!r->again) & ((!r->place) | (*cached != me));
        need[r->bank] += one;
        counted |= one << (i->nreads - n);
        *cached = r->kept ? me : 0;
    }
    uint64_t ports = s->ports, window = i->window * ports, first = now * ports, t = first;
    for (uint32_t b = 0; b < s->read_banks; b++) {
        if (need[b] > 1 && s->late)
            t = latest(t, first + wait_for_late(o, who->recent, reads, counted, b, (uint32_t)now) * ports);
        uint64_t slack = window > need[b] ? window - need[b] : 0, from = o->read_free[b];
        from = need[b] && from > slack ? from - slack : 0;
        t = latest(t, from);
    }
    if (ports > 1) t = (t + ports - 1) / ports * ports;
    for (uint32_t b = 0; b < s->read_banks; b++) {
        uint64_t until = latest(o->read_free[b], t) + need[b];
        o->read_free[b] = need[b] ? until : o->read_free[b];
    }
    return ports > 1 ? (t - first) / ports : t - first;
}

// What IMAD.WIDE and IMAD.HI multiply must be in the registers (op.CLASS.settled; H200: a result 4, 5, 6
// cycles old costs 3, 2, 1, whatever made it and whichever its bank, and nothing as what is added). Returns
// the cycles it waits.
static uint64_t wait_until_settled(const orr_program *p, const orr_tinst *i, const recent_results *w,
                                   uint32_t now) {
    const orr_read *r = p->reads + i->reads;
    uint32_t age = i->settled;
    for (uint32_t n = 0; n < i->nreads; n++)
        if (r[n].early) age = age_of(w, r[n].reg, age, now);
    return i->settled - age;
}

// A sub-core's registers take one result a cycle. Those of units with other latencies may come in the same
// one: then the later instruction waits, and its scheduler with it (H200: HFMA2.MMA or DFMA, and FFMA, IMAD,
// LOP3 or HFMA2 two cycles behind it, whatever their registers: one cycle more; at no other distance).
// Returns the cycles that an instruction which could go to its unit at `t` waits.
static uint64_t wait_for_bus(operands *o, const orr_tinst *i, uint64_t t) {
    if (t > o->results_from) {
        o->results = t - o->results_from < 64 ? o->results >> (t - o->results_from) : 0;
        o->results_from = t;
    }
    uint64_t first = t + i->result - o->results_from, at = first;
    while (at < 64 && o->results >> at & 1) at++;
    if (at < 64) o->results |= 1ull << at;
    return at - first;
}

// A result that comes past the registers is noted; those that take longer than an FFMA's were not measured.
static void note_result(recent_results *w, const orr_program *p, const orr_tinst *i, uint32_t late_result,
                        uint64_t when) {
    if ((i->result != late_result && !i->dispatch) || !i->ndst) return;
    for (uint32_t d = 0; d < i->ndst && d < 2; d++) {
        uint16_t reg = p->reg[p->regs[i->regs + i->nsrc + d]];
        if (reg >= ORR_TREG_P) return;
        w->reg[w->next % RECENT_RESULTS] = (uint16_t)(reg + 1);
        // the high word of a product comes as much later as that takes to leave
        w->written[w->next++ % RECENT_RESULTS] = (uint32_t)when + (d + 1 == i->ndst ? i->dispatch : 0);
    }
}

uint64_t operands_read(operands *o, const orr_program *p, const orr_tinst *i, const operand_reader *r,
                       uint64_t now) {
    uint64_t wait = i->nreads ? read_banks(o, p, i, r, now) : 0;
    if (i->settled) wait = latest(wait, wait_until_settled(p, i, r->recent, (uint32_t)now));
    if (i->result) wait += wait_for_bus(o, i, now + wait);
    if (o->spec->late) note_result(r->recent, p, i, o->spec->late_result, now + wait);
    o->conflict_cycles += wait;
    return wait;
}
