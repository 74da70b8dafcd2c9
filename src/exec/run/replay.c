// Streams of a launch that ran elsewhere: on a real GPU, whose instrumented kernel wrote down which blocks of
// code its lanes entered and which addresses they used (isa/events.h).
//
// What lanes do together is not taken from there. A GPU compiles the code its own way: lanes part and meet at
// other places, or run together where we would have them apart. So the executor runs the kernel once more,
// with the same rules for parting and meeting (run/warp.c), but nothing is computed: each block is one
// micro-op that reads addresses off the events, and where the block's last instruction decides something, it
// puts into that instruction's registers what makes it decide as the lane did there. The streams then are
// those the executor itself would make, as far as the lanes did the same.
//
// Each lane goes through the warp's events at its own pace: its next one is the next that names it. While all
// lanes of the warp are at the same event, as nearly always, one place stands for all of them.
#include "exec/replay.h"

#include <stdlib.h>
#include <string.h>

#include "exec/block.h"
#include "isa/events.h"

typedef struct event {
    uint32_t what, lanes;    // kind and number; lanes
    const uint64_t *operand; // the words after the first
} event;

typedef struct site { // an instruction of a block about which the events say something
    uint32_t inst;
    uint8_t space;
    bool frame;     // its address is in the function's own frame: known
    bool guarded;   // then who took part is not
    uint32_t lanes; // whose address counts (ldmatrix: those that give rows)
} site;

typedef struct block_sites { // what the events say of a block of code
    uint32_t first, n;       // sites
    const uop *members;      // the lanes it waits for are in a register; this instruction names them
    const uop *barrier;      // ends in a barrier about which the events say something
} block_sites;

typedef struct oracle { // of a warp
    ORR_VEC(event) events;
    bool together; // all live lanes are at `at`
    uint32_t at;
    uint32_t next[ORR_WARP]; // else: each lane's next event, or one before it that does not name it
} oracle;

struct orr_replay {
    orr_launch launch;
    decoded p;
    worker k;
    block_sites *blocks;
    site *sites;
    uop *uops; // [block] the one it is made of
    oracle *oracles;
    bool members; // some block waits for lanes that a register names
    const orr_move *moves;
    size_t nmoves;
    tblock *out;
    orr_arena arena;
};

static orr_replay *replay_of(const warp *w) {
    return (orr_replay *)(void *)((char *)w->worker - offsetof(orr_replay, k));
}
static oracle *oracle_of(const warp *w) { return &replay_of(w)->oracles[w->index]; }

static void misfit(warp *w, const uop *u, uint32_t block) {
    orr_fault(w, u, w->exec ? orr_ffs(w->exec) : 0,
              "what the GPU wrote down does not fit the kernel at block %u: was it compiled from this code?",
              block);
}

// ---- events -------------------------------------------------------------------------------------
static bool read_events(oracle *o, const orr_warp_events *w, orr_err *e) {
    o->events.n = 0;
    for (size_t n = 0; n < w->n; n++) {
        const uint64_t *at = w->log + w->at[n];
        if (w->at[n] + ORR_EVENT_HEAD > w->words || w->at[n] + orr_event_words(*at) > w->words ||
            !ORR_EVENT_LANES(*at))
            return orr_fail(e, ORR_BAD_INPUT, "what the GPU wrote down is damaged");
        *ORR_PUSH(&o->events) =
            (event){.what = (uint32_t)*at, .lanes = ORR_EVENT_LANES(*at), .operand = at + ORR_EVENT_HEAD};
    }
    o->together = true;
    o->at = 0;
    return true;
}

static uint64_t address_of(const event *v, uint32_t lane) {
    uint32_t rank = (uint32_t)orr_popc(v->lanes & ((1u << lane) - 1));
    switch (v->what >> 30) {
    case ORR_EVENT_REGULAR: return v->operand[0] + rank * v->operand[1];
    case ORR_EVENT_NEAR: return v->operand[0] << 32 | (uint32_t)(v->operand[1 + rank / 2] >> (rank % 2 * 32));
    default: return v->operand[rank];
    }
}

static void apart(oracle *o) { // from one place for all to a place for each
    if (!o->together) return;
    o->together = false;
    for (int i = 0; i < ORR_WARP; i++) o->next[i] = o->at;
}

static void gather(oracle *o, uint32_t live) { // and back, when they are all at one
    uint32_t at = o->next[orr_ffs(live)];
    for (uint32_t m = live; m; m &= m - 1)
        if (o->next[orr_ffs(m)] != at) return;
    o->together = true;
    o->at = at;
}

// A lane's next event; NULL: it has none.
static const event *peek(oracle *o, uint32_t lane) {
    uint32_t n = o->next[lane], bit = 1u << lane;
    const event *v = o->events.at;
    while (n < o->events.n && !(v[n].lanes & bit)) n++;
    o->next[lane] = n;
    return n < o->events.n ? &v[n] : NULL;
}

// While together: is the next event one of all these lanes? Otherwise each lane has its own place from now
// on.
static const event *peek_all(oracle *o, uint32_t lanes) {
    if (!o->together) return NULL;
    if (o->at < o->events.n && o->events.at[o->at].lanes == lanes) return &o->events.at[o->at];
    apart(o);
    return NULL;
}

static bool enter_block(warp *w, oracle *o, uint32_t block, uint32_t mask) {
    if (!o->together && mask == w->live) {
        for (uint32_t m = mask; m; m &= m - 1) peek(o, (uint32_t)orr_ffs(m));
        gather(o, mask);
    } else if (mask != w->live) {
        apart(o);
    }
    const event *v = peek_all(o, mask);
    if (v) {
        o->at++;
        return v->what == block;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)orr_ffs(m);
        v = peek(o, lane);
        if (!v || v->what != block) return false;
        o->next[lane]++;
    }
    return true;
}

// ---- addresses ----------------------------------------------------------------------------------
static const orr_move *move_of(const orr_replay *r, uint64_t addr) {
    size_t lo = 0, hi = r->nmoves;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (r->moves[mid].from + r->moves[mid].bytes <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < r->nmoves && addr >= r->moves[lo].from ? &r->moves[lo] : NULL;
}

// What was at `addr` there, here; what nobody told us of stays where it was.
static uint64_t moved(const orr_replay *r, uint64_t addr) {
    const orr_move *m = move_of(r, addr);
    return m ? addr - m->from + m->to : addr;
}

static bool moves(uint8_t space) {
    return space == ORR_SPACE_GLOBAL || space == ORR_SPACE_CONST || space == ORR_SPACE_GENERIC;
}

// Where an address of a space is here.
static uint64_t placed(const orr_replay *r, uint8_t space, uint64_t frame, uint64_t addr) {
    bool window = space == ORR_SPACE_GENERIC && addr - ORR_LOCAL_WINDOW < 2 * ORR_EVENT_OWN_FRAME;
    if (window || space == ORR_SPACE_LOCAL)
        return addr & ORR_EVENT_OWN_FRAME ? addr - ORR_EVENT_OWN_FRAME + frame : addr;
    return moves(space) ? moved(r, addr) : addr;
}

// Lanes in a row whose first and last are in one allocation are moved as one.
static bool put_regular(warp *w, const orr_replay *r, const site *s, const event *v) {
    uint64_t base = v->operand[0], stride = v->operand[1];
    uint64_t frame = w->frames.at[w->frag->frame].local,
             last = base + (uint64_t)(orr_popc(v->lanes) - 1) * stride;
    uint64_t first = placed(r, s->space, frame, base);
    if (placed(r, s->space, frame, last) - first != last - base) return false;
    orr_trace_put_regular(w->trace, v->lanes, first, stride);
    return true;
}

static void access_of(warp *w, oracle *o, const site *s, uint32_t mask) {
    const orr_replay *r = replay_of(w);
    uint64_t addr[ORR_WARP];
    uint64_t frame = w->frames.at[w->frag->frame].local;
    uint32_t took = 0;
    if (s->frame && !s->guarded) {
        for (int i = 0; i < ORR_WARP; i++)
            addr[i] = frame + (uint64_t)(int64_t)w->tb->prog->kernel->insts[s->inst].disp;
        if (w->trace) orr_trace_put_access(w->trace, mask, addr);
        return;
    }
    const event *v = peek_all(o, mask);
    if (v && (v->what >> 30 == ORR_EVENT_BLOCK || ORR_EVENT_NUMBER(v->what) != s->inst)) {
        if (w->trace) orr_trace_put_access(w->trace, 0, addr); // all of them were off
        return;
    }
    if (v) {
        o->at++;
        if (!w->trace ||
            (v->what >> 30 == ORR_EVENT_REGULAR && !s->frame && s->lanes == FULL && put_regular(w, r, s, v)))
            return;
        took = mask;
        for (uint32_t m = mask; m; m &= m - 1) addr[orr_ffs(m)] = address_of(v, (uint32_t)orr_ffs(m));
    } else {
        for (uint32_t m = mask; m; m &= m - 1) {
            uint32_t lane = (uint32_t)orr_ffs(m);
            v = peek(o, lane);
            if (!v || v->what >> 30 == ORR_EVENT_BLOCK || ORR_EVENT_NUMBER(v->what) != s->inst) continue;
            took |= 1u << lane;
            addr[lane] = address_of(v, lane);
            o->next[lane]++;
        }
    }
    if (!w->trace) return;
    took &= s->lanes;
    for (uint32_t m = took; m; m &= m - 1) {
        int i = orr_ffs(m);
        if (s->frame)
            addr[i] = frame + (uint64_t)(int64_t)w->tb->prog->kernel->insts[s->inst].disp;
        else
            addr[i] = placed(r, s->space, frame, addr[i]);
    }
    orr_trace_put_access(w->trace, took, addr);
}

// ---- what an instruction is made to decide ------------------------------------------------------
// The values that lanes of `mask` had at instruction `inst`, and which lanes took part.
static uint32_t values_of(oracle *o, uint32_t inst, uint32_t mask, uint64_t value[ORR_WARP]) {
    uint32_t took = 0;
    apart(o);
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)orr_ffs(m);
        const event *v = peek(o, lane);
        if (!v || v->what >> 30 == ORR_EVENT_BLOCK || ORR_EVENT_NUMBER(v->what) != inst) continue;
        took |= 1u << lane;
        value[lane] = address_of(v, lane);
        o->next[lane]++;
    }
    return took;
}

static void set_guard(const warp *w, const uop *u, uint32_t mask, uint32_t passes) {
    if (u->guard < 0) return;
    uint32_t *p = (uint32_t *)(void *)(w->bank[BANK_P] + u->guard);
    *p = (*p & ~mask) | ((u->guard_neg ? ~passes : passes) & mask);
}

static void set_word(const warp *w, oper o, uint32_t lane, uint64_t value) {
    if (o.none || o.bank == BANK_CONST) return;
    if (o.cls == ORR_D)
        OPER(w, o, uint64_t)[lane] = value;
    else
        OPER(w, o, uint32_t)[lane] = (uint32_t)value;
}

// The block each lane enters next; UINT32_MAX: it ends. All the same: true.
static bool ways(oracle *o, uint32_t mask, uint32_t to[ORR_WARP]) {
    const event *v = peek_all(o, mask);
    if (v) {
        for (uint32_t m = mask; m; m &= m - 1) to[orr_ffs(m)] = v->what;
        return true;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)orr_ffs(m);
        v = peek(o, lane);
        to[lane] = v ? v->what : UINT32_MAX;
    }
    return false;
}

static void decide_table(const warp *w, const uop *u, uint32_t mask, const uint32_t *to) {
    const uint32_t *table = w->tb->prog->kernel->tables + u->inst->target;
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)orr_ffs(m), n = 0;
        while (n + 1 < u->imm && table[n] != to[lane]) n++;
        set_word(w, u->a, lane, n);
    }
}

// Registers of the block's last instruction, so that it does as these lanes did.
static void decide(warp *w, oracle *o, const xblock *x, uint32_t mask) {
    const uop *u = x->last;
    uint32_t to[ORR_WARP], goes = 0;
    uint16_t op = u->inst->op;
    bool guarded = u->guard >= 0, table = op == ORR_OP_BRX;
    if (op == ORR_OP_BAR || op == ORR_OP_WARPSYNC || (!guarded && !table)) return;
    ways(o, mask, to);
    for (uint32_t m = mask; m; m &= m - 1) {
        int i = orr_ffs(m);
        bool stays = to[i] == (uint32_t)x->next;
        if (op == ORR_OP_BRA) stays = to[i] != (uint32_t)u->inst->target;
        if (!stays) goes |= 1u << i;
    }
    set_guard(w, u, mask, goes);
    if (table) decide_table(w, u, goes, to);
}

static void decide_barrier(warp *w, oracle *o, const uop *u, uint32_t mask) {
    uint64_t value[ORR_WARP];
    uint32_t took = values_of(o, (uint32_t)(u->inst - w->tb->prog->kernel->insts), mask, value);
    set_guard(w, u, mask, took);
    for (uint32_t m = took; m; m &= m - 1) { // the number of the barrier, and for how many threads
        uint32_t lane = (uint32_t)orr_ffs(m);
        set_word(w, u->a, lane, (uint32_t)value[lane]);
        set_word(w, u->b, lane, value[lane] >> 32);
    }
}

// Lanes that are about to enter a block which waits for those that a register names: what it names is behind
// the block in their events.
static void foresee(warp *w, oracle *o, uint32_t mask) {
    const orr_replay *r = replay_of(w);
    apart(o);
    for (uint32_t m = mask; m; m &= m - 1) {
        uint32_t lane = (uint32_t)orr_ffs(m), bit = 1u << lane;
        const event *v = peek(o, lane);
        if (!v || v->what >= r->p.kernel->nblocks || !r->blocks[v->what].members) continue;
        uint32_t block = v->what, n = o->next[lane] + 1;
        uint32_t inst = (uint32_t)(r->blocks[block].members->inst - r->p.kernel->insts);
        while (n < o->events.n && !(o->events.at[n].lanes & bit)) n++;
        if (n < o->events.n && o->events.at[n].what >> 30 != ORR_EVENT_BLOCK &&
            ORR_EVENT_NUMBER(o->events.at[n].what) == inst)
            set_word(w, r->p.blocks[block].members, lane, address_of(&o->events.at[n], lane));
    }
}

// ---- a block ------------------------------------------------------------------------------------
static void replay_block(warp *w, const uop *u) {
    orr_replay *r = replay_of(w);
    oracle *o = oracle_of(w);
    uint32_t block = (uint32_t)(u - r->uops), mask = w->exec;
    const xblock *x = &r->p.blocks[block];
    const block_sites *pl = &r->blocks[block];
    if (!enter_block(w, o, block, mask)) {
        misfit(w, u, block);
        return;
    }
    if (pl->members) {
        uint64_t ignored[ORR_WARP];
        values_of(o, (uint32_t)(pl->members->inst - r->p.kernel->insts), mask, ignored);
    }
    for (uint32_t n = 0; n < pl->n; n++) access_of(w, o, &r->sites[pl->first + n], mask);
    if (pl->barrier) decide_barrier(w, o, pl->barrier, mask);
    if (x->last) decide(w, o, x, mask);
    if (r->members) foresee(w, o, mask);
}

// ---- making it ----------------------------------------------------------------------------------
static uint32_t rows_of(const orr_inst *i) {
    bool matrix = i->op == ORR_OP_LDMATRIX || i->op == ORR_OP_STMATRIX;
    return matrix && i->imm < 4 ? (1u << 8 * i->imm) - 1 : FULL;
}

static void find_sites(orr_replay *r, uint32_t b, uint32_t *nsites) {
    const orr_kernel *k = r->p.kernel;
    xblock *x = &r->p.blocks[b];
    block_sites *pl = &r->blocks[b];
    pl->first = *nsites;
    for (const uop *u = x->first; u < x->end; u++) {
        const orr_inst *i = u->inst;
        if (!u->traced) continue;
        r->sites[(*nsites)++] = (site){.inst = (uint32_t)(i - k->insts),
                                       .space = orr_traced_space(i),
                                       .frame = orr_traced_address(k, i)->kind == ORR_K_NONE,
                                       .guarded = i->guard >= 0,
                                       .lanes = rows_of(i)};
        pl->n++;
    }
    if (x->waits && orr_members_told(k, x->waits->inst)) pl->members = x->waits;
    r->members |= pl->members != NULL;
    if (x->last && orr_barrier_told(k, x->last->inst)) pl->barrier = x->last;
    uop *u = &r->uops[b];
    *u = *x->first;
    u->full = u->masked = replay_block;
    u->guard = -1;
    u->traced = 0;
    x->first = u;
    x->end = u + 1;
}

orr_replay *orr_replay_new(const orr_launch *l, const orr_move *moves, size_t n, const orr_tally *tally,
                           orr_err *e) {
    orr_replay *r = orr_calloc(1, sizeof *r);
    r->launch = *l;
    r->moves = moves;
    r->nmoves = n;
    if (!orr_decode(&r->p, &r->launch, e)) {
        free(r);
        return NULL;
    }
    r->p.shared_bytes = 0; // nobody looks into it
    const orr_kernel *k = l->kernel;
    r->blocks = orr_arena_alloc(&r->arena, (k->nblocks + 1) * sizeof *r->blocks);
    r->sites = orr_arena_alloc(&r->arena, (k->ninsts + 1) * sizeof *r->sites);
    r->uops = orr_arena_alloc(&r->arena, (k->nblocks + 1) * sizeof *r->uops);
    r->oracles = orr_arena_alloc(&r->arena, r->p.nwarps * sizeof *r->oracles);
    orr_worker_init(&r->k, &r->p, true);
    r->k.tally = tally;
    if (tally) r->k.counts_of = tally->counts;
    uint32_t nsites = 0;
    for (uint32_t b = 0; b < k->nblocks; b++) find_sites(r, b, &nsites);
    return r;
}

void orr_replay_free(orr_replay *r) {
    if (!r) return;
    if (r->out) orr_block_finish(r->out);
    orr_worker_free(&r->k);
    for (uint32_t n = 0; n < r->p.nwarps; n++) free(r->oracles[n].events.at);
    orr_decoded_free(&r->p);
    orr_arena_free(&r->arena);
    free(r);
}

bool orr_replay_waits(const orr_replay *r) {
    for (uint32_t b = 0; b < r->p.kernel->nblocks; b++)
        if (r->p.blocks[b].only_polls) return true;
    return false;
}

orr_exec_counts orr_replay_counts(const orr_replay *r) { return r->k.counts; }

bool orr_replay_block(orr_replay *r, uint64_t index, const orr_warp_events *warps, orr_tb *tb, orr_err *e) {
    if (r->out) orr_block_finish(r->out);
    r->out = NULL;
    for (uint32_t n = 0; n < r->p.nwarps; n++)
        if (!read_events(&r->oracles[n], &warps[n], e)) return false;
    r->out = orr_block_start(&r->k, index);
    int how;
    do how = orr_block_run(r->out);
    while (how == RUN_YIELDS);
    if (how == RUN_FAULT) return orr_fail(e, r->k.err.status, "%s", r->k.err.text);
    for (uint32_t n = 0; n < r->p.nwarps; n++)
        r->out->views[n] = (orr_warp_trace){r->out->traces[n].bytes, r->out->traces[n].n};
    *tb = (orr_tb){.index = index, .nwarps = r->p.nwarps, .warps = r->out->views};
    return !r->k.tally || orr_tally_tell(r->k.tally, 0, r->out, e);
}
