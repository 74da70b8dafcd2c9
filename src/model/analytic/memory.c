// Memory instructions, from the sampled streams: how long they hold the port of L1 and shared memory, which
// level serves them, how long that takes, and the bytes on every way below.
//
// Addresses become sectors by the coalescer that all models share, and lines go through reuse distances: how
// many other lines have been touched since this one was. A line is in a cache that holds more lines than that
// (fully associative, least recently used first out). The distance is that of the sampled blocks; the others
// on the SM, or on the GPU for L2, touch as many lines of their own meanwhile, so it is multiplied by how
// many run at a time. Of long samples only every k-th line, by a hash of its address, is followed, and
// distances count k-fold (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015).
//
// What the launch touches for the first time comes from memory. Lines that several of the sampled blocks
// touch are taken for lines that all blocks do, and come once; the others come once for each block, as far as
// there is allocated memory. From launch to launch L2 is remembered in regions of REGION bytes.
//
// What sectors take of a slice's port, of its data, of the way between two halves of L2 and of a channel of
// DRAM is what they take there in the other models (l2.h, fast_dram.h).
#include "model/analytic/analytic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/constants.h"
#include "core/tma.h"
#include "memory/cost.h"
#include "memory/fast_dram.h"
#include "memory/l2.h"
#include "memory/memory.h"
#include "memory/memsys.h"
#include "memory/space.h"
#include "model/analytic/sample.h"
#include "model/cluster.h"

#define MAX_FOLLOWED (1u << 13) // accesses to lines before half as many lines are followed

// ---- from launch to launch --------------------------------------------------------------------------
an_memory *an_memory_new(const orr_gpu *g) {
    an_memory *m = orr_calloc(1, sizeof *m);
    m->gpu = g;
    orr_fast_dram_spec_read(&m->dram, g);
    orr_l2_spec_read(&m->l2, g, &m->dram.dram);
    an_reuse_init(&m->regions, 256);
    return m;
}

void an_memory_free(an_memory *m) {
    if (!m) return;
    an_reuse_free(&m->regions);
    free(m);
}

void an_memory_copy(an_memory *m, uint64_t addr, uint64_t bytes) {
    uint32_t place;
    for (uint64_t r = addr >> REGION_BITS; bytes && r <= (addr + bytes - 1) >> REGION_BITS; r++)
        an_reuse_touch(&m->regions, r, &place);
}

// A kernel's end: cycles until the barriers of so many SMs are back (launch.drain).
double an_memory_drain(const an_memory *m, double sms) {
    uint64_t n = (uint64_t)sms, far = m->l2.halves.copies ? n / 2 : 0;
    return m->gpu->launch_drain + (double)orr_l2_barrier_time(&m->l2, n - far, far) / (double)ORR_TICKS;
}

// ---- what sectors take, in cycles of a slice or of a channel -----------------------------------------
static double cycles_of(uint64_t ticks) { return (double)ticks / (double)ORR_TICKS; }

static void add_dram_read(const an_memory *m, an_access *a, uint8_t sectors) {
    const orr_fast_dram_spec *d = &m->dram;
    uint64_t n = orr_dram_columns(&d->dram.map, sectors) * d->read_column;
    a->dram += cycles_of(sectors != 15 && n < d->read_row ? d->read_row : n); // parts of lines open rows
}

static void add_dram_write(const an_memory *m, an_access *a, uint8_t sectors) {
    const orr_fast_dram_spec *d = &m->dram;
    uint64_t n = orr_dram_columns(&d->dram.map, sectors) * d->write_column;
    a->dram += cycles_of((sectors != 15 && n < d->write_row ? d->write_row : n) + d->turn / d->batch);
}

// Of a store, so many whole sectors and so many in part; half of them are the other half's.
static void add_store(const an_memory *m, an_access *a, uint32_t whole, uint32_t part) {
    const orr_l2_spec *c = &m->l2;
    uint64_t own = orr_l2_store_time(c, whole, part, c->store.sector), least = c->cycle;
    a->l2 += cycles_of(own > least ? own : least);
    if (c->halves.copies) a->cross += cycles_of((whole + part) * c->halves.sector) / 2;
}

// Of a load that `from` L2 itself or DRAM answers: what the other half has is looked up twice the first time.
static void add_load(const an_memory *m, an_access *a, uint32_t n, bool from_dram) {
    const orr_l2_spec *c = &m->l2;
    uint64_t own = n * c->sector > c->tag_interval ? n * c->sector : c->tag_interval;
    bool twice = from_dram && c->halves.copies;
    a->l2 += cycles_of(own) * (twice ? 1.5 : 1);
    if (twice) a->cross += cycles_of(n * c->halves.sector) / 2;
}

// Of n lines that DRAM is asked for, at any time, how much later the last comes because its bank is being
// refreshed: a share p of the time each is, for up to `takes` cycles more.
static double refresh_wait(const an_memory *m, double n) {
    const orr_dram_refresh *r = &m->dram.dram.refresh;
    double takes = cycles_of(r->bank_takes), p = (double)r->bank_takes / (double)r->bank_every;
    if (!(n > 0) || !(p > 0)) return 0;
    if (p > 1) p = 1;
    return takes * (1 - (1 - pow(1 - p, n + 1)) / (p * (n + 1)));
}

// Of n lines that L2 is asked for at any time, how much later the last comes because it has further to go
// than the mean: it is the other half's, or its slice is one of those further away (l2.spread).
static double way_wait(const orr_gpu *g, double n) {
    if (n <= 1) return 0;
    double parts = g->l2_partitions > 1 ? g->l2_partitions : 1, near = 1 / parts;
    return g->l2_far_latency * (near - pow(near, n)) + g->l2_spread * (n / (n + 1) - 0.5);
}

// Both; as they are independent, their squares add up.
double an_late(const an_memory *m, double lines, double from_dram) {
    return hypot(refresh_wait(m, from_dram), way_wait(m->gpu, lines));
}

// ---- before anything is known -----------------------------------------------------------------------
static orr_l1_access access_at_l1(const orr_access *lanes, const orr_coalesced *lines, const orr_tinst *i,
                                  bool local) {
    return (orr_l1_access){.lanes = lanes,
                           .lines = lines,
                           .bytes = i->bytes,
                           .loads = i->flags & ORR_TF_LOAD,
                           .stores = i->flags & ORR_TF_STORE,
                           .local = local,
                           .copies = i->flags & ORR_TF_ASYNC,
                           .bypasses = i->flags & ORR_TF_BYPASS};
}

void an_memory_assume(const orr_gpu *g, const orr_program *p, an_access *access) {
    orr_coalesced one = {.requests = 1, .lines = 1, .sectors = 4};
    one.line[0].sectors = 15;
    orr_l1_spec l1 = orr_l1_spec_of(g);
    double cost = orr_l1_run_cycles(&l1, one.sectors),
           far = g->memory == ORR_MEMORY_PERFECT ? g->l1_latency : g->l2_latency;
    for (uint32_t n = 0; n < p->ninsts; n++) {
        const orr_tinst *i = &p->insts[n];
        an_access *a = &access[n];
        if (i->kind != ORR_TK_MEM) continue;
        a->requests = 1;
        a->cost = cost;
        a->latency = far + cost - 1;
        if (i->space == ORR_SPACE_SHARED) {
            a->cost = orr_shared_pass_cycles(g);
            a->latency = g->shared_latency;
        } else if (i->space == ORR_SPACE_CONST || i->space == ORR_SPACE_PARAM) {
            a->cost = 1;
            a->latency = g->const_latency;
        } else if (i->space == ORR_SPACE_LOCAL) {
            a->latency = g->l1_latency + cost - 1;
        }
    }
}

// ---- the sample -------------------------------------------------------------------------------------
enum { AT_L1, AT_L2, AT_DRAM };

// A load that L1 does not serve, of so many lines. What comes behind a block of code, or behind the barrier
// that ends it, waits for the last line of all its loads, not for that of one of them.
static void add_far(sampler *s, uint32_t inst, double lines, double from_dram, double share) {
    if (!(lines > 0) || s->far.n >= FAR_LOADS) return;
    s->far.at[s->far.n++] = (struct far_load){inst, lines, from_dram, share};
    s->far.lines += lines;
    s->far.dram += from_dram;
}

void an_wait_for_far(sampler *s, double warps) {
    double last = an_late(s->m, s->far.lines * warps, s->far.dram * warps),
           near = an_late(s->m, s->far.lines * warps, 0);
    for (uint32_t n = 0; n < s->far.n; n++) {
        double own = an_late(s->m, s->far.at[n].lines, s->far.at[n].from_dram);
        s->g->access[s->far.at[n].inst].latency += last - own;
        s->by_first[s->far.at[n].inst] += s->far.at[n].share * (last - near);
    }
    s->far.n = 0;
    s->far.lines = s->far.dram = 0;
}

static bool followed(const sampler *s, uint64_t line) {
    return ((line * 0xd6e8feb86659fd93ull) >> 40) % s->every == 0;
}

static double latency_of(const orr_gpu *g, int level) {
    double far = g->l2_partitions > 1 ? g->l2_far_latency * (1 - 1.0 / g->l2_partitions) : 0;
    return level == AT_L1 ? g->l1_latency : (level == AT_L2 ? g->l2_latency : g->dram_latency) + far;
}

// Whether a line is still in a cache of so many lines when `distance` others have been touched since it was:
// in a set of `ways` fewer than that many of them, of which the number in a set is random (Poisson). Decided
// by a hash, as often as that is likely. 0 ways: it has one set.
static bool is_kept(uint64_t line, uint32_t distance, double times, double lines, uint32_t ways) {
    double others = (double)distance * times, mean = others * ways / lines;
    if (!ways || others > 8 * lines) return others <= lines;
    double chance = 0, term = exp(-mean);
    for (uint32_t k = 0; k < ways; k++) {
        chance += term;
        term *= mean / (k + 1);
    }
    uint64_t draw = (line ^ (uint64_t)distance << 40) * 0x9e3779b97f4a7c15u >> 32;
    return (double)draw < chance * 0x1p32;
}

// Sectors of a line at L2, of a store so many of them `whole`: which level has them.
static int at_l2(sampler *s, an_access *a, uint64_t line, uint8_t sectors, bool store, uint32_t whole) {
    uint32_t place, n = (uint32_t)orr_popc(sectors);
    uint32_t d = an_reuse_touch(&s->l2, line, &place);
    uint32_t *by = &s->l2.block[place];
    bool warm = false;
    if (d == UINT32_MAX) {
        uint32_t region, old = an_reuse_touch(&s->m->regions, line * ORR_LINE >> REGION_BITS, &region);
        // block[] of a region: the launch's own mark, so that this launch's regions are not warm
        warm = s->m->regions.block[region] != 1 && old != UINT32_MAX && old < s->hold.regions;
        if (!warm) s->m->regions.block[region] = 1;
        *by = s->block;
    } else if (*by != s->block && *by != UINT32_MAX) {
        *by = UINT32_MAX;
    }
    s->out->l2_sectors += n;
    if (store) add_store(s->m, a, whole, n - whole);
    bool lost = d != UINT32_MAX && !s->hold.fits &&
                !is_kept(line, d, s->every, s->hold.l2_lines, (uint32_t)s->gpu->l2_ways);
    if (store && !lost && d == UINT32_MAX) { // written back when there is no room
        if (!s->hold.fits) add_dram_write(s->m, a, sectors);
        return AT_L2;
    }
    bool misses = (d == UINT32_MAX && !warm) || lost;
    if (!store) add_load(s->m, a, n, misses);
    if (misses) {
        if (store)
            add_dram_write(s->m, a, sectors);
        else
            add_dram_read(s->m, a, orr_l2_widened(sectors, s->m->l2.sector_shift));
        if (lost)
            s->sectors.again += n * s->every;
        else
            s->sectors.first += n * s->every;
        if (!lost) s->hand.first_touch += s->every;
        return AT_DRAM;
    }
    s->out->l2_hits += n;
    return AT_L2;
}

static bool is_followed(const void *s, uint64_t line) { return followed(s, line); }

static void fewer(sampler *s) {
    if (++s->touches < MAX_FOLLOWED || s->every >= 1u << 20) return;
    s->touches = 0;
    s->every *= 2;
    an_reuse_keep(&s->l1, is_followed, s);
    an_reuse_keep(&s->l2, is_followed, s);
}

static void add_traffic(an_access *a, const an_access *x, double times) {
    a->l2 += x->l2 * times;
    a->cross += x->cross * times;
    a->dram += x->dram * times;
}

// What a store of so many sectors sends, whole ones.
static double store_bytes(const orr_gpu *g, uint32_t sectors) {
    return (double)g->xbar_store_header + 32 * sectors;
}

// A line of an access: cycles until its data are there. Who comes to a line that another warp of the block
// has asked for waits for the same answer: clocks are those of the warps' paths, which began together.
static double line_access(sampler *s, an_access *a, const orr_tinst *i, uint64_t line, uint8_t sectors,
                          double lanes) {
    const orr_gpu *g = s->gpu;
    uint32_t n = (uint32_t)orr_popc(sectors), place, times = s->every;
    s->out->sectors += n * times;
    a->sectors += n * times;
    if (i->flags & ORR_TF_ATOMIC) {
        a->sent += (store_bytes(g, n) + (double)g->xbar_byte_mask) * times;
        if (i->flags & ORR_TF_LOAD) {
            a->received += (8 + 32 * n) * times;
            a->misses += times;
        }
        an_access x = {0};
        int at = at_l2(s, &x, line, sectors, false, 0);
        add_traffic(a, &x, times);
        s->hand.from_dram += at == AT_DRAM ? times : 0;
        s->hand.from_l2 += times;
        double operation = i->flags & ORR_TF_LOAD ? cycles_of(s->m->l2.atomic.latency) : 0;
        return latency_of(g, at) + operation;
    }
    bool store = i->flags & ORR_TF_STORE, local = line >= ORR_LOCAL_LINES;
    bool cached = !(i->flags & ORR_TF_BYPASS) && (local || g->l1_global);
    uint8_t have = 0, asked = sectors;
    if (cached) {
        uint32_t d = an_reuse_touch(&s->l1, line, &place);
        if (d == UINT32_MAX || !is_kept(line, d, s->every, s->hold.l1_lines, s->hold.l1_ways))
            s->l1.sectors[place] = 0;
        have = s->l1.sectors[place] & sectors;
        if (!store || g->l1_write_allocate || local)
            s->l1.sectors[place] |= store ? sectors : orr_l1_fetched(g, sectors);
    }
    if (store) {
        if (local && (g->l1_write == ORR_WRITE_LOCAL || g->l1_write == ORR_WRITE_BACK)) return g->l1_latency;
        a->sent +=
            (store_bytes(g, n) + (lanes * i->bytes < ORR_SECTOR * n ? (double)g->xbar_byte_mask : 0)) * times;
        s->out->stores += n * times;
    } else {
        uint8_t need = sectors & (uint8_t)~have;
        s->out->l1_hits += (uint32_t)orr_popc(have) * times;
        if (!need) {
            double left = cached ? s->l1.ready[place] - s->clock : 0;
            return left > g->l1_latency ? left : g->l1_latency;
        }
        asked = orr_l1_fetched(g, need);
        n = (uint32_t)orr_popc(asked);
        a->sent += (g->xbar_sectors ? 32 * n : (double)g->xbar_load_header) * times;
        a->received += (8 + 32 * n) * times;
        a->misses += times;
    }
    an_access x = {0};
    uint32_t whole = lanes * i->bytes >= ORR_SECTOR * n ? n : 0;
    int at = at_l2(s, &x, line, asked, store, whole);
    double wait = latency_of(g, at);
    add_traffic(a, &x, times);
    s->hand.from_dram += at == AT_DRAM ? times : 0;
    s->hand.from_l2 += times;
    if (cached && !store) s->l1.ready[place] = s->clock + wait;
    return wait;
}

// A bulk copy asks L2 for its lines past L1, tma.interval apart.
void an_bulk_access(sampler *s, uint32_t inst, const orr_access *from) {
    const orr_gpu *g = s->gpu;
    const orr_tinst *i = &s->g->program->insts[inst];
    an_access *a = &s->g->access[inst];
    tma_copy c;
    for (uint32_t k = 0; tma_copy_of(i, from, k, &c); k++) {
        bool loads = c.kind == TMA_LOAD || c.kind == TMA_PREFETCH;
        double wait = latency_of(g, AT_L2);
        uint32_t lines = 0;
        a->requests++;
        for (; c.row && !c.sent && g->memory != ORR_MEMORY_PERFECT; lines++) {
            tma_line x = tma_next_line(&c);
            uint32_t n = (uint32_t)orr_popc(x.sectors);
            a->bulk += 32.0 * n;
            if (!followed(s, x.line)) continue;
            fewer(s);
            if (!followed(s, x.line)) continue;
            s->out->looked++;
            double asks = g->xbar_sectors ? 32 * n : (double)g->xbar_load_header;
            a->sent += (loads ? asks : store_bytes(g, n)) * s->every;
            if (loads) a->received += (8 + 32 * n) * s->every;
            an_access y = {0};
            double one = latency_of(g, at_l2(s, &y, x.line, x.sectors, !loads, n));
            add_traffic(a, &y, s->every);
            if (loads && one > wait) wait = one;
        }
        if (c.kind != TMA_LOAD) continue;
        s->bulk.sum += wait + lines * g->tma_interval + g->tma_latency;
        s->bulk.n++;
    }
}

// Lanes that go to other blocks' shared memory: cycles until their results are there; 0: there are none.
static double far_access(sampler *s, const orr_tinst *i, an_access *a, const orr_access *x) {
    const orr_gpu *g = s->gpu;
    if (s->seat.size < 2 || (i->space != ORR_SPACE_SHARED && i->space != ORR_SPACE_GENERIC)) return 0;
    orr_far_lanes far = orr_cluster_far(&s->seat, i, x);
    double takes = far.packets * orr_cluster_packet(g, i);
    if (!far.mask) return 0;
    a->network += takes;
    return takes + g->cluster_load + (i->flags & ORR_TF_ATOMIC ? g->cluster_atomic_latency : 0);
}

// The slice's atomic unit: of so many lanes of an access to a line. Lines that lie side by side in a chunk
// have one slice, and few of them that many add to must not be missed.
static void add_hot(sampler *s, uint64_t line, double lanes) {
    uint32_t place;
    an_reuse_touch(&s->hot, line >> s->m->l2.chunk_shift, &place);
    s->hot.ready[place] += lanes;
}

// A store of the lanes of an access to a line of L2. The halves take stores by ports of their own
// (l2.side_switch); of one whose half has a share, the other one's come at the same time.
static void add_stored(sampler *s, an_access *a, const orr_line_access *l, uint64_t line, uint32_t bytes) {
    const orr_l2_spec *c = &s->m->l2;
    uint32_t place, n = (uint32_t)orr_popc(l->sectors), whole = bytes >= ORR_SECTOR * n ? n : 0;
    double takes = cycles_of(orr_l2_store_time(c, whole, n - whole, c->store.sector));
    if (whole < n && c->store.side_switch) takes /= 2;
    if (takes < cycles_of(c->store.side_switch ? 0 : c->store.same_line))
        takes = cycles_of(c->store.same_line);
    an_reuse_touch(&s->stored, line, &place);
    s->stored.ready[place] += takes;
    a->stores += takes;
    a->parts += whole < n;
}

// Operations that an atomic's lanes on a line are to the unit; it reads the sectors of another piece than the
// last one's first, as l2_atomic.c has it.
static double operations(sampler *s, const orr_tinst *i, const orr_access *x, const orr_line_access *l) {
    orr_atomic_spec spec = orr_atomic_spec_of(s->gpu);
    double n = orr_atomic_quarters(&spec, x, i->bytes, i->atomic, l->line) / 4.0;
    uint64_t piece = (l->line >> s->m->l2.chunk_shift >> 2) + 1;
    double read = piece != s->piece ? orr_popc(l->sectors) * s->gpu->l2_atomic_row : 0;
    s->piece = piece;
    return n > read ? n : read;
}

// Loads of constants and parameters: words one after the other.
static void constant_access(sampler *s, uint32_t inst, const orr_access *x) {
    const orr_gpu *g = s->gpu;
    an_access *a = &s->g->access[inst];
    uint32_t more = x->mask ? constants_words(x, s->g->program->insts[inst].bytes) - 1 : 0;
    double late = g->const_word_latency > g->const_interval ? g->const_word_latency : g->const_interval;
    s->timed[inst]++;
    a->cost += 1;
    a->words += more * (double)g->const_interval;
    a->latency += g->const_latency + more * late;
}

static void shared_access(sampler *s, uint32_t inst, const orr_access *x) {
    const orr_tinst *i = &s->g->program->insts[inst];
    an_access *a = &s->g->access[inst];
    orr_shared_spec spec = orr_shared_spec_of(s->gpu);
    orr_banked b = orr_bank_conflicts(x, i->bytes, orr_shared_kind(&spec, i));
    orr_shared_cost spent = orr_shared_cost_of(&spec, i, b);
    s->out->shared_passes += b.passes;
    s->out->shared_conflicts += b.conflicts;
    a->cost += spent.cycles;
    s->timed[inst]++;
    a->latency += s->gpu->shared_latency + spent.lag;
}

static void coalesce(const orr_gpu *g, const orr_tinst *i, const orr_access *x, bool local,
                     orr_coalesced *c) {
    orr_coalesce_inst(i, x, local,
                      g->l1_coalesce >= 32 ? ORR_WHOLE_WARP : (enum orr_coalescing)g->l1_coalesce, c);
}

// The lines of an access that are followed, of which the first is `base` on: false, there is none. *wait:
// cycles until the last of them is there.
static bool follow_lines(sampler *s, uint32_t inst, const orr_access *x, const orr_coalesced *c,
                         uint64_t base, double *wait) {
    const orr_tinst *i = &s->g->program->insts[inst];
    double lanes = (double)orr_popc(x->mask) / c->lines;
    bool known = false;
    *wait = latency_of(s->gpu, i->flags & ORR_TF_ATOMIC ? AT_L2 : AT_L1);
    s->hand.from_dram = s->hand.from_l2 = s->hand.first_touch = 0;
    for (uint32_t n = 0; n < c->lines; n++) {
        uint64_t line = base + c->line[n].line;
        if (i->flags & ORR_TF_ATOMIC)
            add_hot(s, line, lanes);
        else if (i->flags & ORR_TF_STORE && line < ORR_LOCAL_LINES)
            add_stored(s, &s->g->access[inst], &c->line[n], line, (uint32_t)(lanes * i->bytes));
        if (!followed(s, line)) continue;
        known = true;
        fewer(s);
        if (!followed(s, line)) continue;
        s->out->looked++;
        double one = line_access(s, &s->g->access[inst], i, line, c->line[n].sectors, lanes);
        if (one > *wait) *wait = one;
    }
    return known;
}

// What a load waits for besides: the lines that are later than the mean.
static double late_lines(sampler *s, uint32_t inst, double most) {
    double from_dram = s->hand.from_dram < most ? s->hand.from_dram : most,
           lines = s->hand.from_l2 < most ? s->hand.from_l2 : most,
           share = s->hand.from_dram > 0 ? s->hand.first_touch / s->hand.from_dram : 0;
    add_far(s, inst, lines, from_dram, share);
    if (share > 0) s->by_first[inst] += share * (latency_of(s->gpu, AT_DRAM) - latency_of(s->gpu, AT_L2));
    return an_late(s->m, lines, from_dram);
}

static void memory_access(sampler *s, uint32_t inst, const orr_access *x, bool in_local, uint64_t local) {
    const orr_gpu *g = s->gpu;
    const orr_tinst *i = &s->g->program->insts[inst];
    an_access *a = &s->g->access[inst];
    orr_coalesced c;
    coalesce(g, i, x, in_local, &c);
    orr_l1_spec l1 = orr_l1_spec_of(g);
    orr_l1_access at = access_at_l1(x, &c, i, in_local);
    orr_l1_cost spent = orr_l1_cost_of(&l1, &at, NULL);
    a->cost += spent.cycles;
    if (i->flags & ORR_TF_ATOMIC && g->l2_atomic_words && !in_local)
        for (uint32_t n = 0; n < c.lines; n++) a->atomics += operations(s, i, x, &c.line[n]);
    else if (i->flags & ORR_TF_ATOMIC)
        a->atomics += orr_popc(x->mask);
    if (g->memory == ORR_MEMORY_PERFECT) {
        a->sectors += c.sectors;
        s->out->sectors += c.sectors;
        s->out->l1_hits += c.sectors;
        s->timed[inst]++;
        a->latency += g->l1_latency + spent.lag;
        return;
    }
    double wait;
    if (!follow_lines(s, inst, x, &c, in_local ? ORR_LOCAL_LINES + local : 0, &wait)) return;
    if (i->flags & ORR_TF_LOAD) wait += late_lines(s, inst, c.lines);
    s->timed[inst]++;
    a->latency += wait + spent.lag;
    if (!(i->flags & ORR_TF_LOAD)) return;
    double behind = wait + spent.lag - s->before[inst].latency;
    if (!s->loads || behind > s->late) s->late = behind;
    s->loads = true;
}

void an_one_access(sampler *s, uint32_t inst, const orr_access *from, uint64_t local) {
    const orr_tinst *i = &s->g->program->insts[inst];
    an_access *a = &s->g->access[inst];
    orr_access x = *from;
    x.mask = orr_tinst_lanes(i, x.mask);
    double remote = far_access(s, i, a, &x);
    if (remote > 0) {
        a->requests++;
        s->timed[inst]++;
        a->cost += 1;
        a->latency += remote;
        return;
    }
    uint8_t space = orr_space_resolve(&x, i->space);
    if (i->offset)
        for (uint32_t m = x.mask; m; m &= m - 1) x.addr[orr_ffs(m)] += i->offset;
    a->requests += x.mask != 0;
    s->out->looked++;
    if (space == ORR_SPACE_SHARED)
        shared_access(s, inst, &x);
    else if (!x.mask || space == ORR_SPACE_CONST || space == ORR_SPACE_PARAM)
        constant_access(s, inst, &x);
    else
        memory_access(s, inst, &x, space == ORR_SPACE_LOCAL, local);
}
