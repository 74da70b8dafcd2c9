// A bench for the cycle model: a GPU with round numbers, kernels written as a few lines of text, and a run
// that checks what must hold for every run.
//
// A kernel is a list of code blocks; every warp runs them in order, as often as each says:
//
//   block [xN] [warp W] [tb B] [lanes MASK]   a block that is run N times (1), by warp W of a thread block
//   only, by thread
//                                             block B only, under a mask of lanes (all)
//   NAME DST... <- SRC... @WHERE | CONTROL    an instruction. A number among its operands is its immediate.
//
//   WHERE of a memory instruction, in the order it is worked out: address; +n: more for each lane (4); wN:
//   for each warp of the grid; bN: for each thread block; vN: for each warp of its block; iN: for each round
//   of its code block; mMASK: the lanes that take part; kN: the stream says that it looks after N writes to
//   its word (an mbarrier: after N operations of lanes). 4 bytes a lane, or 8 or 16 when the name ends in .64
//   or .128; .CG does not look in L1, nor does .STRONG, which others may be looking at.
//
//   CONTROL, which makes the kernel one with control bits: stall N, yield, wbar B, rbar B, wait MASK, reuse
//   MASK.
//
// A line that is empty or starts with # says nothing. Text may be put together with printf formats: `more`.
#ifndef ORR_TEST_CYCLE_H
#define ORR_TEST_CYCLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "model/cycle/raw.h"
#include "model/model.h"
#include "stream/trace.h"
#include "program/program.h"

#define ALL_LANES 0xffffffffu

// ---- the GPU -------------------------------------------------------------------------------------
// One SM with one scheduler; nothing but the units limits issue. A lookup in L1 is 30 cycles, in L2 200, in
// memory 400. Everything runs at 1 GHz, so GB/s are bytes a cycle: L2 has two slices of 32 B, memory two
// channels of 32 B. The ports of the crossbar are so wide that they take no time.
static const char cycle_gpu[] = "product = \"bench\"\n"
                                "family = \"bench\"\n"
                                "cc.major = 9\n"
                                "cc.minor = 0\n"
                                "sm.count = 1\n"
                                "clock.sm = 1000 MHz\n"
                                "clock.dram = 1000 MHz\n"
                                "limit.sm_warps = 64\n"
                                "limit.sm_threads = 2048\n"
                                "limit.sm_blocks = 32\n"
                                "limit.sm_registers = 65536\n"
                                "limit.block_registers = 65536\n"
                                "limit.thread_registers = 255\n"
                                "limit.register_unit = 256\n"
                                "limit.warp_unit = 1\n"
                                "shared.per_sm = 64 KB\n"
                                "shared.per_block = 64 KB\n"
                                "shared.per_block_optin = 64 KB\n"
                                "shared.unit = 128 B\n"
                                "shared.latency = 20\n"
                                "core.subcores = 1\n"
                                "core.schedulers = 1\n"
                                "core.policy = lrr\n"
                                "icache.perfect = yes\n"
                                "regs.banks = 2\n"
                                "regs.ports = 8\n"
                                "l1.size = 64 KB\n"
                                "l1.latency = 30\n"
                                "l1.mshrs = 4096\n"
                                "l1.mshr_merges = 4096\n"
                                "xbar.request = 4096\n"
                                "xbar.reply = 4096\n"
                                "l2.size = 1 MB\n"
                                "l2.slices = 2\n"
                                "l2.latency = 200\n"
                                "l2.bandwidth = 64\n"
                                "l2.hash = modulo\n"
                                "dram.kind = hbm2\n"
                                "dram.size = 1 GB\n"
                                "dram.bus = 1024 bits\n"
                                "dram.bandwidth = 64 GB/s\n"
                                "dram.efficiency = 100 %\n"
                                "dram.channels = 2\n"
                                "dram.latency = 400\n"
                                "dram.tccd = 1\n"
                                "dram.tccdl = 1\n"
                                "dram.trcd = 10\n"
                                "dram.tras = 20\n"
                                "dram.trp = 10\n"
                                "dram.trc = 30\n"
                                "dram.tcl = 10\n"
                                "core.reconverge_switch = 0\n" // not by a rule
                                "lsu.wide_replay = 0\n"
                                "l1.replay = 1\n"
                                "l1.store_interval = 1\n"
                                "xbar.merge_wait_line = 0\n"
                                "l2.completed_ways = 0\n"
                                "launch.gpc_constants = 0\n"
                                "launch.overhead = 0\n"
                                "launch.sm_interval = 0\n"
                                "launch.block_interval = 0\n"
                                "unit.fma.lanes = 32\n" // an instruction every cycle
                                "unit.alu.lanes = 16\n" // every two
                                "unit.xu.lanes = 4\n"   // every eight
                                "unit.lsu.lanes = 32\n"
                                "unit.control.lanes = 32\n"
                                "op.fp32.unit = fma\n"
                                "op.fp32.latency = 10\n"
                                "op.int.unit = alu\n"
                                "op.int.latency = 6\n"
                                "op.sfu.unit = xu\n"
                                "op.sfu.latency = 25\n"
                                "op.mem.unit = lsu\n"
                                "op.mem.latency = 4\n"
                                "op.branch.unit = control\n"
                                "op.branch.latency = 5\n"
                                "op.barrier.unit = control\n"
                                "op.barrier.latency = 7\n"
                                "op.misc.unit = control\n"
                                "op.misc.latency = 1\n";

static inline orr_gpu *gpu_with(const char *const *sets, int n) {
    orr_err e = {0};
    orr_gpu *g = orr_gpu_parse("bench.conf", cycle_gpu, sizeof cycle_gpu - 1, sets, n, &e);
    if (!g) fail_msg("%s", e.text);
    return g;
}
// GPU("core.issue=2", "l1.mshrs=1"): the bench's GPU with these changes.
#define GPU(...)                                                                                             \
    gpu_with((const char *const[]){"product=\"changed\"", ##__VA_ARGS__},                                    \
             (int)(sizeof((const char *const[]){"product=\"changed\"", ##__VA_ARGS__}) / sizeof(char *)))

static inline orr_gpu *gpu_named(const char *name, const char *set) {
    orr_err e = {0};
    orr_gpu *g = orr_gpu_load(name, &set, set ? 1 : 0, &e);
    if (!g) fail_msg("%s", e.text);
    return g;
}

// ---- kernels ---------------------------------------------------------------------------------------
typedef struct where {
    uint64_t base, lane, warp, tb, inner, round;
    uint32_t mask, version;
    bool versioned;
} where;

typedef struct piece { // a code block: when it is run
    uint32_t times, mask;
    int warp, tb; // -1: all
} piece;

typedef struct kern {
    orr_kernel k;
    orr_func func;
    orr_module module;
    ORR_VEC(orr_inst) insts;
    ORR_VEC(orr_block) blocks;
    ORR_VEC(orr_operand) operands;
    ORR_VEC(const char *) names;
    ORR_VEC(where) wheres; // by instruction
    ORR_VEC(piece) pieces; // by block
    uint32_t grid, threads, dynamic_shared;
    uint32_t cut; // bytes that are missing at the end of each warp's trace, to damage it
} kern;

static inline uint64_t number(const char **s) {
    char *end;
    uint64_t v = strtoull(*s, &end, 0);
    if (end == *s) fail_msg("a number is missing at: %s", *s);
    *s = end;
    return v;
}
static inline const char *past(const char *s) {
    while (*s == ' ' || *s == ',') s++;
    return s;
}
static inline bool word_is(const char **s, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*s, word, n) != 0 || (*s)[n] > ' ') return false;
    *s = past(*s + n);
    return true;
}

static inline void kern_piece(kern *k, const char *s) {
    piece p = {.times = 1, .mask = ALL_LANES, .warp = -1, .tb = -1};
    for (s = past(s); *s; s = past(s)) {
        if (*s == 'x') {
            s++;
            p.times = (uint32_t)number(&s);
        } else if (word_is(&s, "warp")) {
            p.warp = (int)number(&s);
        } else if (word_is(&s, "tb")) {
            p.tb = (int)number(&s);
        } else if (word_is(&s, "lanes")) {
            p.mask = (uint32_t)number(&s);
        } else {
            fail_msg("block: what is \"%s\"?", s);
        }
    }
    *ORR_PUSH(&k->pieces) = p;
    *ORR_PUSH(&k->blocks) = (orr_block){.first = (uint32_t)k->insts.n, .next = -1, .ipdom = -1};
}

static inline void kern_memory(orr_inst *i, const char *name) {
    static const struct {
        const char *name;
        uint16_t op;
        uint8_t space;
    } known[] = {{"LDGSTS", ORR_OP_CPASYNC, ORR_SPACE_GLOBAL}, {"LDG", ORR_OP_LD, ORR_SPACE_GLOBAL},
                 {"STG", ORR_OP_ST, ORR_SPACE_GLOBAL},         {"LDS", ORR_OP_LD, ORR_SPACE_SHARED},
                 {"STS", ORR_OP_ST, ORR_SPACE_SHARED},         {"LDL", ORR_OP_LD, ORR_SPACE_LOCAL},
                 {"STL", ORR_OP_ST, ORR_SPACE_LOCAL},          {"LDC", ORR_OP_LD, ORR_SPACE_CONST},
                 {"ATOMS", ORR_OP_ATOM, ORR_SPACE_SHARED},     {"ATOMG", ORR_OP_ATOM, ORR_SPACE_GLOBAL},
                 {"RED", ORR_OP_RED, ORR_SPACE_GLOBAL},        {"LD", ORR_OP_LD, ORR_SPACE_GENERIC}};
    for (size_t n = 0; n < sizeof known / sizeof *known; n++) {
        size_t len = strlen(known[n].name);
        if (strncmp(name, known[n].name, len) != 0) continue;
        i->op = known[n].op;
        i->space = known[n].space;
        break;
    }
    i->width = 4;
    i->vec = strstr(name, ".128") ? 4 : strstr(name, ".64") ? 2 : 1;
    i->cache = strstr(name, ".CG") ? ORR_CACHE_CG : ORR_CACHE_CA;
    if (strstr(name, ".STRONG")) i->mods |= ORR_M_VOLATILE;
    if (strstr(name, ".POPC")) i->mods |= ORR_M_COUNTS;
}

static inline where kern_where(const char **at) {
    const char *s = *at;
    where w = {.base = number(&s), .lane = 4, .mask = ALL_LANES};
    for (s = past(s); *s && *s != '|'; s = past(s)) {
        char what = *s++;
        uint64_t v = number(&s);
        switch (what) {
        case '+': w.lane = v; break;
        case 'w': w.warp = v; break;
        case 'b': w.tb = v; break;
        case 'v': w.inner = v; break;
        case 'i': w.round = v; break;
        case 'm': w.mask = (uint32_t)v; break;
        case 'k': w.version = (uint32_t)v, w.versioned = true; break;
        default: fail_msg("address: what is '%c'?", what);
        }
    }
    *at = s;
    return w;
}

static inline uint32_t kern_control(const char *s) {
    uint32_t stall = 1, yield = 0, wbar = 7, rbar = 7, wait = 0, reuse = 0;
    for (s = past(s); *s; s = past(s)) {
        if (word_is(&s, "stall"))
            stall = (uint32_t)number(&s);
        else if (word_is(&s, "yield"))
            yield = 1;
        else if (word_is(&s, "wbar"))
            wbar = (uint32_t)number(&s);
        else if (word_is(&s, "rbar"))
            rbar = (uint32_t)number(&s);
        else if (word_is(&s, "wait"))
            wait = (uint32_t)number(&s);
        else if (word_is(&s, "reuse"))
            reuse = (uint32_t)number(&s);
        else
            fail_msg("control: what is \"%s\"?", s);
    }
    return stall | (1 - yield) << 4 | wbar << 5 | rbar << 8 | wait << 11 | reuse << 17;
}

static inline void kern_inst(kern *k, const char *s) {
    size_t n = strcspn(s, " ");
    char *name = calloc(n + 1, 1);
    memcpy(name, s, n);
    *ORR_PUSH(&k->names) = name;
    orr_inst i = {.guard = -1, .target = -1, .first = (uint32_t)k->operands.n, .op = ORR_OP_NOP};
    i.name = (uint32_t)k->names.n - 1;
    i.line = (uint32_t)k->insts.n * 16; // its address: 16 bytes an instruction
    i.sass = (uint16_t)orr_sass_find(name, n);
    i.tclass = orr_sass[i.sass].cls;
    i.tkind = orr_sass[i.sass].kind;
    i.encoding.ctrl = 1 | 7 << 5 | 7 << 8; // stall 1, no barriers
    where at = {.mask = ALL_LANES};
    bool sources = false, touches = false;
    for (s = past(s + n); *s; s = past(s)) {
        if (s[0] == '<' && s[1] == '-') {
            sources = true;
            s += 2;
        } else if (*s == '@') {
            s++;
            at = kern_where(&s);
            touches = true;
        } else if (*s == '|') {
            i.encoding.ctrl = kern_control(s + 1);
            k->k.control = true;
            break;
        } else if (*s == 'R' || *s == 'P') {
            orr_operand o = {.kind = ORR_K_REG, .cls = *s == 'P' ? ORR_P : ORR_W};
            s++;
            o.reg = (uint32_t)number(&s);
            *ORR_PUSH(&k->operands) = o;
            *(sources ? &i.nsrc : &i.ndst) += 1;
        } else {
            i.imm = (uint32_t)number(&s);
        }
    }
    if (i.tkind == ORR_TK_BARRIER && strstr(name, ".ARV")) i.sub = ORR_BAR_ARRIVE;
    if (touches && (i.sass == ORR_SASS_SYNCS || i.sass == ORR_SASS_ARRIVES)) {
        i.op = ORR_OP_SYNCS;
        i.sub = i.sass == ORR_SASS_ARRIVES ? ORR_MBAR_COPIES_ARRIVE
                : strstr(name, "TRYWAIT")  ? ORR_MBAR_TRY_WAIT
                : strstr(name, "PHASECHK") ? ORR_MBAR_TEST_WAIT
                                           : ORR_MBAR_ARRIVE;
        i.space = ORR_SPACE_SHARED;
        i.width = 8;
        k->blocks.at[k->blocks.n - 1].nmem++;
    }
    if (i.tkind == ORR_TK_MEM) {
        kern_memory(&i, name);
        if (!touches) fail_msg("%s: where to?", name);
        k->blocks.at[k->blocks.n - 1].nmem++;
    }
    *ORR_PUSH(&k->insts) = i;
    *ORR_PUSH(&k->wheres) = at;
    k->blocks.at[k->blocks.n - 1].count++;
}

// Adds lines to a kernel; those before the first `block` are in one of their own.
__attribute__((format(printf, 2, 3))) static inline void more(kern *k, const char *format, ...) {
    char text[4096], *save = NULL;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof text);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *s = past(line);
        if (!*s || *s == '#') continue;
        bool starts = word_is(&s, "block");
        if (starts || !k->blocks.n) kern_piece(k, starts ? s : "");
        if (!starts) kern_inst(k, s);
    }
}

static inline kern *kern_new(uint32_t grid, uint32_t threads) {
    kern *k = calloc(1, sizeof *k);
    k->grid = grid;
    k->threads = threads;
    k->k.regs = 16;
    return k;
}
static inline kern *kern_of(uint32_t grid, uint32_t threads, const char *text) {
    kern *k = kern_new(grid, threads);
    more(k, "%s", text);
    return k;
}

static inline void kern_free(kern *k) {
    for (size_t n = 0; n < k->names.n; n++) free((void *)k->names.at[n]);
    free(k->insts.at);
    free(k->blocks.at);
    free(k->operands.at);
    free((void *)k->names.at);
    free(k->wheres.at);
    free(k->pieces.at);
    free(k);
}

static inline const orr_kernel *kern_kernel(kern *k) {
    orr_kernel *o = &k->k;
    k->module.source = "sass";
    o->name = k->func.name = "bench";
    o->module = &k->module;
    o->funcs = &k->func;
    o->nfuncs = 1;
    o->insts = k->insts.at;
    o->ninsts = (uint32_t)k->insts.n;
    o->blocks = k->blocks.at;
    o->nblocks = (uint32_t)k->blocks.n;
    o->operands = k->operands.at;
    o->noperands = (uint32_t)k->operands.n;
    o->names = k->names.at;
    o->nnames = (uint32_t)k->names.n;
    o->machine = true;
    return o;
}

// ---- its streams -------------------------------------------------------------------------------------
typedef struct stream {
    orr_source base;
    kern *k;
    uint64_t at;
    uint32_t nwarps;
    orr_trace_out *warp;
    orr_warp_trace *view;
} stream;

static inline void stream_warp(const kern *k, uint64_t tb, uint32_t w, uint32_t nwarps, orr_trace_out *t) {
    t->n = 0;
    t->mask = 0;
    for (uint32_t b = 0; b < k->blocks.n; b++) {
        const piece *p = &k->pieces.at[b];
        if ((p->warp >= 0 && (uint32_t)p->warp != w) || (p->tb >= 0 && (uint64_t)p->tb != tb)) continue;
        for (uint32_t round = 0; round < p->times; round++) {
            orr_trace_put_block(t, b, p->mask);
            for (uint32_t n = k->blocks.at[b].first; n < k->blocks.at[b].first + k->blocks.at[b].count; n++) {
                if (!orr_inst_traced(&k->insts.at[n])) continue;
                const where *a = &k->wheres.at[n];
                orr_access access = {.versioned = a->versioned};
                uint64_t at =
                    a->base + a->warp * (tb * nwarps + w) + a->tb * tb + a->inner * w + a->round * round;
                for (uint64_t lane = 0; lane < 32; lane++) {
                    access.addr[lane] = at + a->lane * lane;
                    access.version[lane] = a->version;
                }
                orr_trace_put_as_read(t, a->mask & p->mask, &access);
            }
        }
    }
}

static inline int stream_next(orr_source *base, orr_tb *tb, orr_err *e) {
    stream *s = (stream *)base;
    (void)e;
    if (s->at == s->k->grid) return 0;
    for (uint32_t w = 0; w < s->nwarps; w++) {
        stream_warp(s->k, s->at, w, s->nwarps, &s->warp[w]);
        s->view[w] = (orr_warp_trace){s->warp[w].bytes, s->warp[w].n - s->k->cut};
    }
    *tb = (orr_tb){s->at++, s->nwarps, s->view};
    return 1;
}
static inline void stream_close(orr_source *s) { (void)s; }

static inline bool stream_run(const orr_gpu *g, kern *k, int threads, orr_result *r, orr_err *e) {
    stream s = {.k = k, .nwarps = (k->threads + 31) / 32};
    s.base.info.kernel = kern_kernel(k);
    for (int d = 0; d < 3; d++) s.base.info.grid[d] = s.base.info.block[d] = 1;
    s.base.info.grid[0] = k->grid;
    s.base.info.block[0] = k->threads;
    s.base.info.dynamic_shared = k->dynamic_shared;
    s.base.next = stream_next;
    s.base.close = stream_close;
    s.warp = calloc(s.nwarps, sizeof *s.warp);
    s.view = calloc(s.nwarps, sizeof *s.view);
    orr_work w = {.info = s.base.info, .source = &s.base, .threads = threads, .timeline = true};
    bool ok = orr_model_cycle.run(g, &w, r, e);
    for (uint32_t n = 0; n < s.nwarps; n++) free(s.warp[n].bytes);
    free(s.warp);
    free(s.view);
    return ok;
}

// ---- what holds for every run --------------------------------------------------------------------------
// Each cycle of each warp has one reason, in all and instruction by instruction; what was issued adds up; a
// block's warps are there at most as long as the block is, and exactly as long when there is one.
static inline void check_sums(const orr_timing *t, uint32_t warps_per_block) {
    uint64_t all = 0, issued = 0, threads = 0, resident = 0, sampled = 0;
    for (int s = 0; s < ORR_STALLS; s++) {
        uint64_t places = 0, over_time = 0;
        for (uint32_t i = 0; i < t->ninsts; i++) places += t->by_inst[i][s];
        for (uint32_t i = 0; i < t->nsamples; i++) over_time += t->samples[i].stalls[s];
        assert_int_equal(places, t->stalls[s]);
        assert_int_equal(over_time, t->stalls[s]);
        all += t->stalls[s];
    }
    assert_int_equal(all, t->warp_cycles);
    for (uint32_t i = 0; i < t->ninsts; i++) {
        issued += t->issued[i];
        threads += t->threads[i];
        assert_true(t->by_inst[i][ORR_STALL_ISSUED] <= t->issued[i]);
    }
    assert_int_equal(issued, t->raw->sm.issued);
    assert_int_equal(threads, t->raw->sm.thread_insts);
    assert_int_equal(t->stalls[ORR_STALL_ISSUED], issued - t->raw->sm.dual);
    for (uint64_t i = 0; i < t->nspans; i++) {
        assert_true(t->spans[i].end > t->spans[i].start && t->spans[i].end <= t->cycles);
        resident += t->spans[i].end - t->spans[i].start;
    }
    for (uint32_t i = 0; i < t->nsamples; i++) sampled += t->samples[i].insts;
    assert_int_equal(sampled, issued);
    if (t->spans_left_out) return;
    if (warps_per_block == 1)
        assert_int_equal(t->warp_cycles, resident);
    else
        assert_true(t->warp_cycles <= resident * warps_per_block);
}

// Everything two runs count, to the last digit.
static inline void check_same(const orr_timing *a, const orr_timing *b) {
    assert_int_equal(a->cycles, b->cycles);
    assert_int_equal(a->sm_active, b->sm_active);
    assert_int_equal(a->warp_cycles, b->warp_cycles);
    assert_int_equal(a->issue_slots, b->issue_slots);
    assert_int_equal(a->register_conflicts, b->register_conflicts);
    assert_memory_equal(a->stalls, b->stalls, sizeof a->stalls);
    assert_memory_equal(a->unit_busy, b->unit_busy, sizeof a->unit_busy);
    assert_int_equal(a->ninsts, b->ninsts);
    assert_memory_equal(a->by_inst, b->by_inst, a->ninsts * sizeof *a->by_inst);
    assert_memory_equal(a->issued, b->issued, a->ninsts * sizeof *a->issued);
    assert_memory_equal(a->threads, b->threads, a->ninsts * sizeof *a->threads);
    assert_memory_equal(&a->raw->sm, &b->raw->sm, sizeof a->raw->sm);
    assert_memory_equal(&a->raw->mem, &b->raw->mem, sizeof a->raw->mem);
    assert_int_equal(a->nsamples, b->nsamples);
    assert_int_equal(a->sample_cycles, b->sample_cycles);
    assert_memory_equal(a->samples, b->samples, a->nsamples * sizeof *a->samples);
    assert_int_equal(a->nspans, b->nspans);
    for (uint64_t i = 0; i < a->nspans; i++) {
        const orr_span *x = &a->spans[i], *y = &b->spans[i];
        assert_true(x->block == y->block && x->start == y->start && x->end == y->end && x->sm == y->sm &&
                    x->slot == y->slot);
    }
}

// ---- a run -------------------------------------------------------------------------------------
typedef struct ran {
    orr_gpu *g; // freed with it
    orr_result r;
    const orr_timing *t; // of the last launch
    const orr_sm_counts *sm;
    const orr_memsys_stats *mem;
    uint64_t cycles;
} ran;

static inline void ran_free(ran *x) {
    orr_result_free(&x->r);
    orr_gpu_free(x->g);
}

// A launch on the machine of `x`, as the ones before left it.
static inline void launch(ran *x, kern *k, int threads) {
    orr_err e = {0};
    if (!stream_run(x->g, k, threads, &x->r, &e)) fail_msg("%s", e.text);
    x->t = x->r.launches.at[x->r.launches.n - 1].timing;
    x->sm = &x->t->raw->sm;
    x->mem = &x->t->raw->mem;
    x->cycles = x->t->cycles;
    check_sums(x->t, (k->threads + 31) / 32);
}

// One launch on a new machine; on one, two and three host threads, which must not make a difference.
static inline ran run_on(orr_gpu *g, kern *k) {
    ran x = {.g = g};
    launch(&x, k, 1);
    for (int threads = 2; threads <= 3; threads++) {
        ran y = {.g = g};
        launch(&y, k, threads);
        check_same(x.t, y.t);
        orr_result_free(&y.r);
    }
    return x;
}

// The cycles of one launch of `text`; both are gone afterwards.
static inline uint64_t cycles_of(orr_gpu *g, kern *k) {
    ran x = run_on(g, k);
    uint64_t cycles = x.cycles;
    ran_free(&x);
    kern_free(k);
    return cycles;
}

// A load, an instruction that needs it, EXIT: the load's latency + 2.
static inline kern *use_of(const char *load) {
    kern *k = kern_new(1, 32);
    more(k, "%s\nFFMA R3 <- R1\nEXIT", load);
    return k;
}

// ---- copies from the host ----------------------------------------------------------------------
static inline void warm(ran *x, uint64_t addr, uint64_t bytes) {
    orr_err e = {0};
    assert_true(orr_model_cycle.copy(x->g, addr, bytes, &x->r, &e));
}

// One launch after a copy from the host to [0, bytes), which leaves it in L2.
static inline ran run_warm(orr_gpu *g, kern *k, uint64_t bytes) {
    ran x = {.g = g};
    warm(&x, 0, bytes);
    launch(&x, k, 1);
    for (int threads = 2; threads <= 3; threads++) {
        ran y = {.g = g};
        warm(&y, 0, bytes);
        launch(&y, k, threads);
        check_same(x.t, y.t);
        orr_result_free(&y.r);
    }
    return x;
}
static inline uint64_t cycles_warm(orr_gpu *g, kern *k, uint64_t bytes) {
    ran x = run_warm(g, k, bytes);
    uint64_t cycles = x.cycles;
    ran_free(&x);
    kern_free(k);
    return cycles;
}

static inline uint64_t stalled(const ran *x, enum orr_stall why) { return x->t->stalls[why]; }

#endif
