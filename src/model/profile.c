// Profiles: how often each block of a kernel ran, with how many lanes, and what its memory
// instructions touched.
//
// A block event costs a few additions, whatever the block's length: instructions are multiplied in at
// the end. Only memory instructions are looked at one by one.
//
// Divergence. A warp's trace holds the blocks of all its groups of lanes, one after the other, so the
// blocks that follow each other need not be of the same lanes. A branch is therefore left open until
// lanes that executed it show up again: if the next block that any of them runs is run by all of them,
// the branch was uniform; if only some of them are there, the others went elsewhere and it was
// divergent. This is exact: only a branch separates lanes, so lanes that went the same way stay
// together, and other lanes joining them do no harm.
#include "memory/memory.h"
#include "memory/space.h"
#include "model/model.h"
#include "model/pipes.h"
#include "stream/trace.h"

#include <math.h>
#include <string.h>

// ---- places -----------------------------------------------------------------------------------
static bool is_branch(const orr_inst *i) {
    if (i->mods & ORR_M_ASIDE) return false;
    return (i->op == ORR_OP_BRA && i->guard >= 0) || (i->op == ORR_OP_BRX && i->imm > 1);
}

// What a regular access of this place adds is kept, and as what (count_regular): AS_SHARED + ORR_BANKS_*.
enum { NOT_KEPT = 0, AS_GLOBAL = 1, AS_SHARED = 2 };

static int banks_kind(const orr_inst *inst) {
    bool atomic = inst->op == ORR_OP_ATOM || inst->op == ORR_OP_RED;
    return inst->mods & ORR_M_COUNTS              ? ORR_BANKS_LOAD
           : atomic                               ? ORR_BANKS_ATOMIC
           : orr_ops[inst->op].flags & ORR_F_LOAD ? ORR_BANKS_LOAD
                                                  : ORR_BANKS_STORE;
}

static uint8_t kept_as(const orr_inst *inst, uint8_t space) {
    if (!(orr_ops[inst->op].flags & ORR_F_MEMORY) || orr_inst_lands(inst)) return NOT_KEPT;
    if (inst->space == ORR_SPACE_GENERIC || space == ORR_SPACE_LOCAL) return NOT_KEPT;
    return (uint8_t)(space == ORR_SPACE_SHARED ? AS_SHARED + banks_kind(inst) : AS_GLOBAL);
}

// Bytes per lane, and where they are, as the executor records them. ldmatrix and stmatrix: eight lanes for
// each matrix give the address of a row of 16 bytes. cp.async: the address it reads in global memory.
static orr_mem_place place_of(const orr_inst *i, uint32_t index, uint8_t space) {
    orr_mem_place p = {.inst = index, .space = space, .lanes = 0xffffffffu};
    uint32_t bytes = (uint32_t)i->width * (i->vec ? i->vec : 1);
    switch (i->op) {
    case ORR_OP_LDMATRIX:
    case ORR_OP_STMATRIX:
        bytes = 16;
        if (i->imm < 4) p.lanes = (1u << 8 * i->imm) - 1;
        break;
    case ORR_OP_MBARRIER: bytes = 8; break;
    case ORR_OP_CPASYNC:
        bytes = i->width;
        p.space = ORR_SPACE_GLOBAL;
        break;
    default: break;
    }
    p.bytes = (uint8_t)(bytes < 1 ? 1 : bytes > ORR_LANE_BYTES_MAX ? ORR_LANE_BYTES_MAX : bytes);
    p.kept = kept_as(i, p.space);
    return p;
}

// Where a generic address can lead, in the order of its places.
static const uint8_t generic_to[] = {ORR_SPACE_GLOBAL, ORR_SPACE_SHARED, ORR_SPACE_LOCAL, ORR_SPACE_CONST};
enum { GENERIC_PLACES = 4 };

orr_profile *orr_profile_of(orr_result *r, const orr_kernel *k) {
    for (size_t i = 0; i < r->profiles.n; i++)
        if (r->profiles.at[i]->kernel == k) {
            orr_profile_grow(r->profiles.at[i]);
            return r->profiles.at[i];
        }
    orr_profile *p = *ORR_PUSH(&r->profiles) = orr_arena_alloc(&r->arena, sizeof *p);
    p->kernel = k;
    p->arena = &r->arena;
    orr_profile_grow(p);
    return p;
}

// A kernel that does not grow is taken in at once, to size; one that does gets room for twice as much.
static void *larger(orr_arena *a, const void *old, size_t n, size_t cap, size_t size) {
    void *at = orr_arena_alloc(a, cap * size);
    if (n) memcpy(at, old, n * size);
    return at;
}

static void make_room(orr_profile *p, uint32_t blocks, uint32_t places) {
    uint32_t extra = p->kernel->grows ? 2 : 1;
    if (blocks > p->blocks_cap) {
        uint32_t cap = p->blocks_cap = blocks * extra;
        p->first_place = larger(p->arena, p->first_place, p->nblocks, cap, sizeof *p->first_place);
        p->ends = larger(p->arena, p->ends, p->nblocks, cap, sizeof *p->ends);
        p->blocks = larger(p->arena, p->blocks, p->nblocks, cap, sizeof *p->blocks);
    }
    if (places > p->places_cap) {
        uint32_t cap = p->places_cap = places * extra;
        p->places = larger(p->arena, p->places, p->nplaces, cap, sizeof *p->places);
        p->mems = larger(p->arena, p->mems, p->nplaces, cap, sizeof *p->mems);
    }
}

void orr_profile_grow(orr_profile *p) {
    const orr_kernel *k = p->kernel;
    if (p->nblocks == k->nblocks) return;
    uint32_t places = p->nplaces;
    for (uint32_t b = p->nblocks; b < k->nblocks; b++)
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++)
            if (orr_inst_traced(&k->insts[i]))
                places += k->insts[i].space == ORR_SPACE_GENERIC ? GENERIC_PLACES : 1;
    make_room(p, k->nblocks, places);
    for (; p->nblocks < k->nblocks; p->nblocks++) {
        const orr_block *block = &k->blocks[p->nblocks];
        p->first_place[p->nblocks] = p->nplaces;
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            const orr_inst *inst = &k->insts[i];
            if (!orr_inst_traced(inst)) continue;
            if (inst->space != ORR_SPACE_GENERIC)
                p->places[p->nplaces++] = place_of(inst, i, inst->space);
            else
                for (int g = 0; g < GENERIC_PLACES; g++)
                    p->places[p->nplaces++] = place_of(inst, i, generic_to[g]);
        }
        p->ends[p->nblocks] = block->count && is_branch(&k->insts[block->first + block->count - 1]);
    }
}

// ---- memory -----------------------------------------------------------------------------------
static void add_stats(orr_mem_stats *to, const orr_mem_stats *n) {
    to->requests += n->requests;
    to->lanes += n->lanes;
    to->sectors += n->sectors;
    to->lines += n->lines;
    to->ideal += n->ideal;
    to->phases += n->phases;
    to->passes += n->passes;
}

static void count_access(const orr_inst *inst, const orr_mem_place *place, orr_access *a, orr_mem_stats *m) {
    a->mask &= place->lanes;
    if (!a->mask || !(orr_ops[inst->op].flags & ORR_F_MEMORY)) return; // arrivals and waits are no accesses
    uint32_t lanes = (uint32_t)orr_popc(a->mask);
    m->requests++;
    m->lanes += lanes;
    if (place->space == ORR_SPACE_SHARED) {
        orr_banked b = orr_bank_conflicts(a, place->bytes, banks_kind(inst));
        m->phases += b.phases;
        m->passes += b.passes;
        return;
    }
    orr_coalesced c;
    if (place->space == ORR_SPACE_LOCAL)
        orr_coalesce_local(a, place->bytes, &c);
    else if (inst->op == ORR_OP_TEX)
        orr_coalesce_texture(a, &c);
    else if (orr_inst_lands(inst))
        orr_coalesce_copy(a, &c);
    else
        orr_coalesce(a, place->bytes, ORR_WHOLE_WARP, &c);
    m->sectors += c.sectors;
    m->lines += c.lines;
    m->ideal += orr_ideal_sectors(lanes, place->bytes);
}

// Lanes of one generic access may lead to different spaces.
static void count_generic(const orr_inst *inst, const orr_mem_place *place, const orr_access *a,
                          orr_mem_stats *m) {
    orr_access to[GENERIC_PLACES];
    for (int g = 0; g < GENERIC_PLACES; g++) to[g].mask = 0;
    for (uint32_t left = a->mask; left; left &= left - 1) {
        int lane = orr_ffs(left);
        uint64_t addr = a->addr[lane];
        int g = 0;
        uint8_t space = orr_space_at(addr);
        if (space == ORR_SPACE_SHARED) g = 1;
        if (space == ORR_SPACE_LOCAL) g = 2;
        if (space == ORR_SPACE_CONST) g = 3;
        addr -= orr_space_window(space);
        to[g].mask |= 1u << lane;
        to[g].addr[lane] = addr;
    }
    for (int g = 0; g < GENERIC_PLACES; g++) count_access(inst, &place[g], &to[g], &m[g]);
}

// ---- regular accesses -------------------------------------------------------------------------
// What a regular access adds depends on little: its steps, its lanes, and where in a line it begins. Most are
// like one of a few before, so those are kept, by host thread, and no lane is looked at again.
typedef struct regular {
    uint64_t key[3];   // steps; lanes that took part and that can; where it begins, bytes, place and form
    uint64_t from, to; // where no sum of a lane's address wraps
    orr_mem_stats adds;
} regular;
enum { REGULARS = 256 };

// Addresses at which all lanes lie where no sum of theirs wraps: from r->from up to r->to. False: there are
// none.
static bool is_tame(const orr_trace_row *row, uint8_t what, regular *r) {
    int64_t most = what >= AS_SHARED ? 1 << 20 : 1ll << 32;
    r->from = row->stride < 0 || row->down < 0 ? (uint64_t)most * 64 : 0;
    r->to = what >= AS_SHARED ? 1ull << 30 : 1ull << 62;
    if (row->stride > most || row->stride < -most || row->down > most || row->down < -most) return false;
    return row->at >= r->from && row->at < r->to;
}

// Looks at the access and keeps what it adds, if it is tame. False: it is damaged.
static __attribute__((noinline)) bool keep_regular(const orr_inst *inst, const orr_mem_place *place,
                                                   orr_trace *t, orr_mem_stats *m, const uint64_t key[3],
                                                   regular *at) {
    orr_trace before = *t;
    orr_trace_row row;
    orr_access a;
    regular now = {.key = {key[0], key[1], key[2]}};
    bool tame = orr_trace_regular(&before, &row) && is_tame(&row, place->kept, &now);
    if (!orr_trace_access(t, &a)) return false;
    count_access(inst, place, &a, &now.adds);
    add_stats(m, &now.adds);
    if (tame) *at = now;
    return true;
}

// False: it is not one of those that are kept, or damaged; nothing is counted.
static inline bool count_regular(const orr_inst *inst, const orr_mem_place *place, orr_trace *t,
                                 orr_mem_stats *m) {
    static _Thread_local regular kept[REGULARS];
    orr_trace_brief b;
    if (place->kept == NOT_KEPT || !orr_trace_regular_brief(t, &b)) return false;
    uint64_t key[3] = {b.steps, (uint64_t)place->lanes << 32 | b.mask,
                       (uint64_t)b.head << 24 | (uint64_t)place->kept << 16 | (uint64_t)place->bytes << 8 |
                           b.at % ORR_LINE};
    uint64_t h = (key[0] ^ key[1] * 0xff51afd7ed558ccdu ^ key[2] << 17) * 0x9e3779b97f4a7c15u;
    regular *at = &kept[h >> 56];
    bool same = at->key[0] == key[0] && at->key[1] == key[1] && at->key[2] == key[2];
    if (!same || b.at < at->from || b.at >= at->to) return keep_regular(inst, place, t, m, key, at);
    t->at = b.end;
    add_stats(m, &at->adds);
    return true;
}

// ---- one warp ---------------------------------------------------------------------------------
typedef struct open_branch {
    uint32_t block;
    uint32_t lanes; // that have not been seen again
    bool split;     // some of them have
} open_branch;

static void close_branches(const orr_profile *p, orr_block_stats *blocks, open_branch *open, int *nopen,
                           uint32_t block, uint32_t mask) {
    for (int i = *nopen - 1; i >= 0; i--) {
        uint32_t here = open[i].lanes & mask;
        if (!here) continue;
        const orr_block *from = &p->kernel->blocks[open[i].block];
        const orr_inst *branch = &p->kernel->insts[from->first + from->count - 1];
        if (branch->op == ORR_OP_BRA && branch->target == (int32_t)block)
            blocks[open[i].block].taken += (uint64_t)orr_popc(here);
        if (here != open[i].lanes && !open[i].split) {
            open[i].split = true;
            blocks[open[i].block].divergent++;
        }
        open[i].lanes &= ~here;
        if (!open[i].lanes) open[i] = open[--*nopen];
    }
}

bool orr_profile_warp(const orr_profile *p, orr_warp_trace w, orr_block_stats *blocks, orr_mem_stats *mems) {
    static const uint8_t range[33] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                                      2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 4};
    const orr_kernel *k = p->kernel;
    orr_trace t = orr_trace_open(w);
    open_branch open[ORR_WARP]; // their lanes are disjoint
    int nopen = 0;
    uint32_t block, mask;
    int more = 1;
    while (orr_trace_block_brief(&t, p->nblocks, &block) ||
           (more = orr_trace_block(&t, p->nblocks, &block, &mask)) > 0) {
        mask = t.mask;
        int lanes = orr_popc(mask);
        blocks[block].runs[range[lanes]]++;
        blocks[block].lanes += (uint64_t)lanes;
        if (nopen) close_branches(p, blocks, open, &nopen, block, mask);
        if (p->ends[block] && mask) open[nopen++] = (open_branch){block, mask, false};

        uint32_t at = p->first_place[block];
        for (uint32_t n = k->blocks[block].nmem; n; n--) {
            orr_access a;
            const orr_inst *inst = &k->insts[p->places[at].inst];
            if (count_regular(inst, &p->places[at], &t, &mems[at])) {
                at++;
                continue;
            }
            if (!orr_trace_access(&t, &a)) return false;
            if (inst->space == ORR_SPACE_GENERIC) {
                count_generic(inst, &p->places[at], &a, &mems[at]);
                at += GENERIC_PLACES;
            } else {
                count_access(inst, &p->places[at], &a, &mems[at]);
                at++;
            }
        }
    }
    return more == 0;
}

// ---- counters ---------------------------------------------------------------------------------
static bool in(uint8_t type, int a, int b, int c, int d) {
    return type == a || type == b || type == c || type == d;
}

// The stream says which lanes took part; matrix rows and barriers say something else.
static bool guard_known(const orr_inst *i) {
    return i->guard >= 0 && orr_inst_traced(i) &&
           (i->op == ORR_OP_LD || i->op == ORR_OP_ST || i->op == ORR_OP_ATOM || i->op == ORR_OP_RED ||
            i->op == ORR_OP_CPASYNC);
}

static int flop_counter(const orr_inst *i) {
    bool f32 = i->type == ORR_T_F32 || i->type == ORR_T_F32X2, f64 = i->type == ORR_T_F64;
    bool half = in(i->type, ORR_T_F16, ORR_T_F16X2, ORR_T_BF16, ORR_T_BF16X2);
    if (!f32 && !f64 && !half) return -1;
    switch (i->op) {
    case ORR_OP_FMA:
    case ORR_OP_MAD: return f32 ? ORR_C_FFMA : f64 ? ORR_C_DFMA : ORR_C_HFMA;
    case ORR_OP_ADD:
    case ORR_OP_SUB: return f32 ? ORR_C_FADD : f64 ? ORR_C_DADD : ORR_C_HADD;
    case ORR_OP_MUL: return f32 ? ORR_C_FMUL : f64 ? ORR_C_DMUL : ORR_C_HMUL;
    default: return -1;
    }
}

// Which of the profiler's pipes counts it. Machine code: as the table says (isa/sass.def), where a Hopper has
// no pipe of its own for f16. PTX: by what it is likely to become; the integer multiplier is part of the fp32
// pipe, fp32 comparisons and minima run on the integer one.
static int pipe_counter(const orr_kernel *k, const orr_inst *i) {
    if (k->machine) {
        enum orr_pipe p =
            orr_sass_pipe((enum orr_sass)i->sass, i->name < k->nnames ? k->names[i->name] : NULL, i);
        return orr_pipe_counter(p == ORR_PIPE_FP16 ? ORR_PIPE_FMA : p);
    }
    switch (i->unit) {
    case ORR_UNIT_INT:
        return i->op == ORR_OP_MUL || i->op == ORR_OP_MAD || i->op == ORR_OP_MUL24 || i->op == ORR_OP_MAD24
                   ? ORR_C_PIPE_FMA
                   : ORR_C_PIPE_ALU;
    case ORR_UNIT_FP32:
        return i->op == ORR_OP_SETP || i->op == ORR_OP_SET || i->op == ORR_OP_MIN || i->op == ORR_OP_MAX ||
                       i->op == ORR_OP_SELP || i->op == ORR_OP_SLCT || i->op == ORR_OP_TESTP
                   ? ORR_C_PIPE_ALU
                   : ORR_C_PIPE_FMA;
    case ORR_UNIT_FP64: return ORR_C_PIPE_FP64;
    case ORR_UNIT_FP16: return ORR_C_PIPE_FP16;
    case ORR_UNIT_SFU:
    case ORR_UNIT_CONV: return ORR_C_PIPE_XU;
    case ORR_UNIT_MOVE: return ORR_C_PIPE_ALU;
    case ORR_UNIT_TENSOR: return ORR_C_PIPE_TENSOR;
    case ORR_UNIT_MEM: return ORR_C_PIPE_LSU;
    case ORR_UNIT_BRANCH: return ORR_C_PIPE_CBU;
    case ORR_UNIT_UNIFORM: return ORR_C_PIPE_UNIFORM;
    default: return -1;
    }
}

static void count_inst(const orr_kernel *k, const orr_inst *i, double runs, double *c) {
    int pipe = pipe_counter(k, i);
    if (pipe >= 0) c[pipe] += runs;
    uint32_t flags = orr_ops[i->op].flags;
    bool branch = k->machine ? orr_sass_branches((enum orr_sass)i->sass)
                             : (flags & (ORR_F_BRANCH | ORR_F_CALL | ORR_F_RET)) != 0;
    if (branch) c[ORR_C_BRANCH] += runs;
    if (k->machine) { // executed, also where no lane is on
        if (i->sass == ORR_SASS_LDS) c[ORR_C_SHARED_LD] += runs;
        if (i->sass == ORR_SASS_STS) c[ORR_C_SHARED_ST] += runs;
        if (i->sass == ORR_SASS_ATOMS) c[ORR_C_SHARED_ATOM] += runs;
    }
    if (flags & ORR_F_CALL) c[ORR_C_CALLS] += runs;
    if (flags & ORR_F_BARRIER) c[ORR_C_BARRIERS] += runs;
    if (flags & ORR_F_FENCE) c[ORR_C_FENCES] += runs;
    if (i->op == ORR_OP_WARPSYNC) c[ORR_C_WARP_SYNCS] += runs;
    if (i->op == ORR_OP_CPASYNC) c[ORR_C_LDGSTS] += runs;
}

static void count_place(const orr_kernel *k, const orr_inst *i, const orr_mem_place *p,
                        const orr_mem_stats *m, double *c) {
    uint32_t flags = orr_ops[i->op].flags;
    double bytes = (double)m->lanes * p->bytes;
    bool atomic = flags & ORR_F_ATOMIC, load = flags & ORR_F_LOAD; // cp.async reads global memory
    switch (p->space) {
    case ORR_SPACE_SHARED:
        if (!k->machine)
            c[atomic ? ORR_C_SHARED_ATOM : load ? ORR_C_SHARED_LD : ORR_C_SHARED_ST] += (double)m->requests;
        c[atomic ? ORR_C_SHARED_ATOM_CONF
          : load ? ORR_C_SHARED_LD_CONF
                 : ORR_C_SHARED_ST_CONF] += (double)(m->passes - m->phases);
        if (atomic) break;
        c[load ? ORR_C_SHARED_LD_PASS : ORR_C_SHARED_ST_PASS] += (double)m->passes;
        c[load ? ORR_C_SHARED_LD_BYTES : ORR_C_SHARED_ST_BYTES] += bytes;
        break;
    case ORR_SPACE_LOCAL:
        c[load ? ORR_C_LOCAL_LD_REQ : ORR_C_LOCAL_ST_REQ] += (double)m->requests;
        c[load ? ORR_C_LOCAL_LD_SECT : ORR_C_LOCAL_ST_SECT] += (double)m->sectors;
        c[load ? ORR_C_LOCAL_LD_BYTES : ORR_C_LOCAL_ST_BYTES] += bytes;
        break;
    case ORR_SPACE_CONST:
    case ORR_SPACE_PARAM:
        c[ORR_C_CONST_LD] += (double)m->requests;
        c[ORR_C_CONST_LD_BYTES] += bytes;
        break;
    default:
        if (atomic) {
            bool red = i->op == ORR_OP_RED;
            c[red ? ORR_C_GLOBAL_RED_REQ : ORR_C_GLOBAL_ATOM_REQ] += (double)m->requests;
            c[red ? ORR_C_GLOBAL_RED_SECT : ORR_C_GLOBAL_ATOM_SECT] += (double)m->sectors;
            c[ORR_C_GLOBAL_ATOM_BYTES] += bytes;
            break;
        }
        c[load ? ORR_C_GLOBAL_LD_REQ : ORR_C_GLOBAL_ST_REQ] += (double)m->requests;
        c[load ? ORR_C_GLOBAL_LD_SECT : ORR_C_GLOBAL_ST_SECT] += (double)m->sectors;
        c[load ? ORR_C_GLOBAL_LD_IDEAL : ORR_C_GLOBAL_ST_IDEAL] += (double)m->ideal;
        c[load ? ORR_C_GLOBAL_LD_BYTES : ORR_C_GLOBAL_ST_BYTES] += bytes;
    }
}

void orr_profile_counters(const orr_profile *p, const orr_block_stats *blocks, const orr_mem_stats *mems,
                          double c[ORR_COUNTERS], uint64_t *warp_insts, uint64_t *thread_insts) {
    const orr_kernel *k = p->kernel;
    memset(c, 0, ORR_COUNTERS * sizeof *c);
    for (int i = ORR_C_CYCLES; i < ORR_COUNTERS; i++) c[i] = NAN; // it takes a model of time to know those
    uint64_t warp = 0, thread = 0, off = 0; // off: lanes known to be switched off by a guard
    for (uint32_t b = 0; b < p->nblocks; b++) {
        const orr_block *block = &k->blocks[b];
        uint64_t runs = orr_block_runs(&blocks[b]);
        if (!runs) continue;
        uint32_t counts = orr_block_counts(k, block);
        warp += runs * counts;
        thread += blocks[b].lanes * counts;
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            if (k->insts[i].mods & ORR_M_ASIDE) continue;
            count_inst(k, &k->insts[i], (double)runs, c);
            int flop = flop_counter(&k->insts[i]);
            if (flop >= 0) c[flop] += (double)blocks[b].lanes;
            if (guard_known(&k->insts[i])) off += blocks[b].lanes;
        }
        if (p->ends[b]) {
            c[ORR_C_BRANCHES] += (double)runs;
            c[ORR_C_BRANCHES_DIVERGENT] += (double)blocks[b].divergent;
            const orr_inst *last = &k->insts[block->first + block->count - 1];
            if (last->op == ORR_OP_BRA && last->target != block->next)
                off += blocks[b].lanes - blocks[b].taken;
        }
    }
    for (uint32_t i = 0; i < p->nplaces; i++) {
        const orr_inst *inst = &k->insts[p->places[i].inst];
        if (inst->mods & ORR_M_ASIDE) continue;
        count_place(k, inst, &p->places[i], &mems[i], c);
        if (guard_known(inst)) off -= mems[i].lanes;
    }
    c[ORR_C_INST] = (double)warp;
    c[ORR_C_THREAD_INST] = (double)thread;
    c[ORR_C_THREAD_INST_ON] = (double)(thread - off);
    c[ORR_C_BRANCHES_UNIFORM] = c[ORR_C_BRANCHES] - c[ORR_C_BRANCHES_DIVERGENT];
    if (k->grows) // a trace does not say which lanes came to a branch, only which took it
        c[ORR_C_BRANCHES] = c[ORR_C_BRANCHES_UNIFORM] = c[ORR_C_BRANCHES_DIVERGENT] = NAN;
    *warp_insts = warp;
    *thread_insts = thread;
}
