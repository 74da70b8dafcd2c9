// The order of a block's instructions: a list schedule that starts long latencies early and fills them.
//
// Instructions are taken in the order of the longest chain of latencies behind them, as soon as what they
// read is there; between two that could go, the one with the longer chain first, then the earlier. Kept: that
// a register is read after it is written and before it is written again; the order of accesses that may touch
// the same place; barriers, fences and branches as walls; some cycles from access to access. When more values
// are alive than the registers that a thread has for nothing (32), or the next step of 8 beyond what the
// order of the program needs, only instructions that need no more go on: ptxas, too, gives up latency before
// it spills. Small loops that it unrolls end at 30 to 32 registers, however many loads are in them.
//
// A block is scheduled in windows, so that the time is linear in the length of a block.
#include <stdlib.h>
#include <string.h>

#include "lower/pass.h"

#define WINDOW     384
#define SLACK      4  // registers beyond what the order of the program needs
#define PAUSE      4  // cycles from access to access, as the stall counts of ptxas have it
#define RESERVE    3  // registers that loads leave to arithmetic
#define LONG       32 // cycles that are worth another order
#define PREDICATES 7  // that there are
#define FREE       32 // registers a thread has without costing a warp its room (65,536 for 2,048 threads)

typedef struct edge {
    uint32_t to, next; // + 1
    uint32_t wait;
    bool place; // it says where a store goes
    bool again; // its register is written again: other lanes keep what is there
} edge;

typedef struct reader {
    uint32_t by, next; // + 1
} reader;

typedef struct node {
    uint32_t edges;  // first of them, + 1
    uint32_t before; // instructions that must come first
    uint32_t height; // cycles of the longest chain that starts here
    uint32_t ready;  // cycle in which it can go
    uint32_t latency;
    bool leads; // a load needs it, as far as this window knows
    bool other; // not only where stores go hangs on it
    bool fed;   // it needs what a load brings
} node;

typedef struct track { // what a window knows of a virtual register
    uint32_t window;   // that this is of
    uint32_t def;      // last writer + 1
    uint32_t readers;  // since then
    uint32_t left;     // reads that have not been scheduled
    bool live;         // written already
} track;

typedef struct sched {
    lower *l;
    uint32_t window;
    track *track;      // per virtual register
    uint32_t *home;    // per virtual register: the one block that knows it, or NONE
    uint32_t *across;  // per block: registers that others know too
    uint16_t *latency; // per class
    ORR_VEC(edge) edges;
    edge itself; // of an instruction on itself: none
    ORR_VEC(reader) readers;
    node nodes[WINDOW];
    minst copy[WINDOW];
    uint32_t ready[WINDOW], nready;
    int registers;        // of a thread
    int predicates;       // that are alive
    uint32_t next[PIPES]; // cycle in which the next instruction of a queue can go
} sched;

static uint32_t class_latency(const lower *l, uint8_t c) {
    const orr_gpu_op *o = orr_gpu_find_op(l->g, orr_tclass_name[c]);
    double v = o ? o->latency : 4;
    return v < 1 ? 1 : v > 2000 ? 2000 : (uint32_t)v;
}

// Load to use: shared and constant memory as described; global memory as if half hit in L1 and half in L2.
static uint32_t latency_of(const sched *s, const minst *m) {
    const orr_gpu *g = s->l->g;
    if (m->kind == ORR_TK_MEM && !(m->flags & ORR_TF_LOAD)) return 1;
    if (m->kind == ORR_TK_MEM) {
        double v = m->space == ORR_SPACE_SHARED  ? g->shared_latency
                   : m->space == ORR_SPACE_CONST ? g->const_latency
                   : m->space == ORR_SPACE_LOCAL ? g->l1_latency
                                                 : (g->l1_latency + g->l2_latency) / 2;
        return v < 1 ? 1 : v > 2000 ? 2000 : (uint32_t)v;
    }
    if (m->tclass == ORR_TC_CONST || m->tclass == ORR_TC_SREG) return 24; // variable, but not long
    return s->latency[m->tclass];
}

// Goes to memory, or to other lanes by the same way; and comes back with something.
static bool travels(const minst *m) { return m->kind == ORR_TK_MEM || m->sass == ORR_SASS_SHFL; }
static bool brings(const minst *m) {
    return m->sass == ORR_SASS_SHFL || (travels(m) && (m->flags & ORR_TF_LOAD));
}

static int address_regs(const minst *m) {
    return m->space == ORR_SPACE_GLOBAL || m->space == ORR_SPACE_GENERIC ? 2 : 1;
}

static track *track_of(sched *s, uint32_t v) {
    track *t = &s->track[v];
    if (t->window != s->window) *t = (track){.window = s->window};
    return t;
}

static edge *depend(sched *s, uint32_t from, uint32_t to, uint32_t wait) {
    if (from == to) return &s->itself;
    *ORR_PUSH(&s->edges) = (edge){.to = to, .next = s->nodes[from].edges, .wait = wait};
    s->nodes[from].edges = (uint32_t)s->edges.n;
    s->nodes[to].before++;
    return &s->edges.at[s->edges.n - 1];
}

// May two accesses touch the same place? Windows of different spaces never meet; two displacements from one
// base are compared.
static bool may_meet(const minst *a, const minst *b) {
    if (!a->store && !b->store) return false;
    bool generic = a->space == ORR_SPACE_GENERIC || b->space == ORR_SPACE_GENERIC;
    if (!generic && a->space != b->space) return false;
    if (a->base != NONE && a->base == b->base)
        return a->disp < b->disp + b->bytes && b->disp < a->disp + a->bytes;
    return true;
}

static void find_dependences(sched *s, const minst *at, uint32_t n) {
    lower *l = s->l;
    uint32_t mems[WINDOW], nmems = 0;
    bool stalls = lower_counts_stalls(l);
    for (uint32_t i = 0; i < n; i++) {
        const minst *m = &at[i];
        const uint32_t *regs = l->regs.at + m->regs;
        for (int r = 0; r < m->nsrc; r++) {
            track *t = track_of(s, regs[r]);
            uint32_t wait = t->def && stalls ? lower_wait(l, &at[t->def - 1], m, r) : 0;
            if (t->def)
                depend(s, t->def - 1, i, wait ? wait : s->nodes[t->def - 1].latency)->place =
                    travels(m) && !brings(m) && r < address_regs(m);
            *ORR_PUSH(&s->readers) = (reader){.by = i, .next = t->readers};
            t->readers = (uint32_t)s->readers.n;
            t->left++;
        }
        for (int r = m->nsrc; r < m->nsrc + m->ndst; r++) {
            track *t = track_of(s, regs[r]);
            if (t->def) depend(s, t->def - 1, i, 1)->again = true;
            for (uint32_t x = t->readers; x; x = s->readers.at[x - 1].next)
                depend(s, s->readers.at[x - 1].by, i, 1);
            t->readers = 0;
            t->def = i + 1;
        }
        if (!m->memory) continue;
        for (uint32_t x = 0; x < nmems; x++)
            if (may_meet(&at[mems[x]], m)) depend(s, mems[x], i, 1);
        mems[nmems++] = i;
    }
}

static void find_heights(sched *s, const minst *at, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t e = s->nodes[i].edges; e; e = s->edges.at[e - 1].next)
            if (s->edges.at[e - 1].wait > 1)
                s->nodes[s->edges.at[e - 1].to].fed |= s->nodes[i].fed || brings(&at[i]);
    for (uint32_t i = n; i-- > 0;) {
        node *x = &s->nodes[i];
        x->height = x->latency;
        x->other = !x->edges || travels(&at[i]);
        for (uint32_t e = x->edges; e; e = s->edges.at[e - 1].next) {
            const edge *to = &s->edges.at[e - 1];
            uint32_t h = to->wait + s->nodes[to->to].height;
            if (h > x->height) x->height = h;
            x->other |= to->again;
            if (to->wait <= 1) continue; // only the order counts
            x->leads |= brings(&at[to->to]) || s->nodes[to->to].leads;
            x->other |= !to->place && s->nodes[to->to].other;
        }
    }
}

// How many more values of a file are alive after it (of those that only this block knows).
static int growth_in(sched *s, const minst *m, uint32_t block, uint8_t file) {
    int g = 0;
    const uint32_t *regs = s->l->regs.at + m->regs;
    for (int r = 0; r < m->nsrc; r++) {
        const track *t = &s->track[regs[r]];
        if (s->l->vregs.at[regs[r]].file == file && s->home[regs[r]] == block && t->left == 1) g--;
    }
    for (int r = m->nsrc; r < m->nsrc + m->ndst; r++)
        if (s->l->vregs.at[regs[r]].file == file && s->home[regs[r]] == block && !s->track[regs[r]].live) g++;
    return g;
}
static int growth(sched *s, const minst *m, uint32_t block) { return growth_in(s, m, block, FILE_R); }

static int take(sched *s, const minst *m, uint32_t block) {
    int g = growth(s, m, block);
    const uint32_t *regs = s->l->regs.at + m->regs;
    for (int r = 0; r < m->nsrc; r++)
        if (s->track[regs[r]].left) s->track[regs[r]].left--;
    for (int r = m->nsrc; r < m->nsrc + m->ndst; r++) s->track[regs[r]].live = true;
    return g;
}

// The pressure of the order as it is.
static int pressure_now(sched *s, const minst *at, uint32_t n, uint32_t block) {
    int live = 0, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        live += take(s, &at[i], block);
        if (live > most) most = live;
    }
    for (uint32_t i = 0; i < n; i++) { // as before
        const uint32_t *regs = s->l->regs.at + at[i].regs;
        for (int r = 0; r < at[i].nsrc; r++) s->track[regs[r]].left++;
        for (int r = at[i].nsrc; r < at[i].nsrc + at[i].ndst; r++) s->track[regs[r]].live = false;
    }
    return most;
}

// Takes a register that something else will want before it is of use: a load when arithmetic needs those that
// are left, an address while loads that are wanted sooner wait for their turn, other arithmetic while such
// loads could go.
static bool too_early(sched *s, const minst *at, uint32_t i, int room, uint32_t now, uint32_t block) {
    const minst *m = &at[i];
    if (m->sass == ORR_SASS_ULDC) { // ptxas has it right in front of its reader
        for (uint32_t e = s->nodes[i].edges, own = 0, to = NONE; e; e = s->edges.at[e - 1].next) {
            own = s->edges.at[e - 1].to == to ? own + 1 : 1; // a pair's are side by side
            to = s->edges.at[e - 1].to;
            if (s->nodes[to].before == own) return false;
        }
        return true;
    }
    int tests = growth_in(s, m, block, FILE_P);
    if (tests > 0 && s->predicates + tests > PREDICATES) return true;
    int more = growth(s, m, block);
    if (more <= 0) return false;
    if (travels(m)) return room - more < RESERVE && brings(m);
    // Where stores go can be computed when all loads are on their way.
    const node *own = &s->nodes[i];
    for (uint32_t x = 0; x < s->nready && !own->other && !own->fed; x++)
        if (s->nodes[s->ready[x]].leads || brings(&at[s->ready[x]])) return true;
    uint32_t waiting = 0, behind = s->nodes[i].height - s->nodes[i].latency;
    for (uint32_t x = 0; x < s->nready && waiting < 2; x++) {
        const node *n = &s->nodes[s->ready[x]];
        const minst *other = &at[s->ready[x]];
        if (!travels(other) || n->ready > now || n->height < behind) continue;
        // What leads to no load does not wait for loads that are too early themselves.
        waiting += s->nodes[i].leads || room - growth(s, other, block) >= RESERVE;
    }
    return waiting >= 2;
}

static uint8_t queue_of(const minst *m) { return travels(m) ? PIPE_LSU : m->pipe; }

static uint32_t when(const sched *s, const minst *m, const node *n) {
    uint32_t free_at = s->next[queue_of(m)];
    return free_at > n->ready ? free_at : n->ready;
}

static uint32_t choose(sched *s, const minst *at, uint32_t now, int room, uint32_t block) {
    uint32_t best = NONE;
    bool tight = room <= 0, others = false;
    for (uint32_t x = 0; x < s->nready && !others; x++)
        others = !too_early(s, at, s->ready[x], room, now, block);
    for (uint32_t x = 0; x < s->nready; x++) {
        uint32_t i = s->ready[x];
        const node *a = &s->nodes[i];
        if (others && too_early(s, at, i, room, now, block)) continue;
        if (best == NONE) {
            best = x;
            continue;
        }
        uint32_t j = s->ready[best];
        const node *b = &s->nodes[j];
        uint32_t ready_a = when(s, &at[i], a), ready_b = when(s, &at[j], b);
        bool can_a = ready_a <= now, can_b = ready_b <= now;
        if (tight) { // nothing that takes more registers; of the rest the longest chain that can go on
            int ga = growth(s, &at[i], block), gb = growth(s, &at[j], block);
            if ((ga > 0) != (gb > 0)) {
                if (ga <= 0) best = x;
                continue;
            }
            if (ga > 0) { // as the program has it
                if (ga < gb || (ga == gb && i < j)) best = x;
                continue;
            }
        }
        if (can_a != can_b) {
            if (can_a) best = x;
        } else if (!can_a && ready_a != ready_b) {
            if (ready_a < ready_b) best = x;
        } else if (a->height > b->height || (a->height == b->height && i < j)) {
            best = x;
        }
    }
    return best;
}

// The load that is all that waits for instruction i, and waits for nothing else; NONE: there is none.
static uint32_t load_behind(const sched *s, const minst *at, uint32_t i) {
    uint32_t load = NONE;
    for (uint32_t e = s->nodes[i].edges; e; e = s->edges.at[e - 1].next) {
        uint32_t to = s->edges.at[e - 1].to;
        if (s->edges.at[e - 1].wait <= 1) continue; // only the order counts
        if ((load != NONE && load != to) || !brings(&at[to])) return NONE;
        load = to;
    }
    return load;
}

// The same over up to three steps, for what the body of a branch loads and computes under its predicate (a
// constant, the address): how many more values are alive when the load has gone; a large number: there is
// none.
static int growth_to_load(sched *s, const minst *at, uint32_t i, uint32_t block) {
    enum { STEPS = 4, NEVER = 1000 };
    uint32_t list[STEPS] = {i}, n = 1, load = NONE;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t e = s->nodes[list[k]].edges; e; e = s->edges.at[e - 1].next) {
            uint32_t to = s->edges.at[e - 1].to, x = 0;
            if (s->edges.at[e - 1].wait <= 1) continue;
            if (brings(&at[to])) {
                if (load != NONE && load != to) return NEVER;
                load = to;
                continue;
            }
            while (x < n && list[x] != to) x++;
            if (x < n) continue;
            if (n == STEPS || travels(&at[to])) return NEVER;
            list[n++] = to;
        }
    if (load == NONE) return NEVER;
    int more = growth(s, &at[load], block);
    for (uint32_t k = 0; k < n; k++) more += growth(s, &at[list[k]], block);
    return more;
}

// All that has a register for its result waits for a load. Then another load may go, or its address with it,
// if there is a register left for it in the end: those that are kept for arithmetic are of no use now.
static uint32_t instead(sched *s, const minst *at, uint32_t now, uint32_t block) {
    uint32_t best = NONE;
    for (uint32_t x = 0; x < s->nready; x++) {
        uint32_t i = s->ready[x];
        if (when(s, &at[i], &s->nodes[i]) > now + PAUSE) continue;
        int more = growth(s, &at[i], block);
        if (!brings(&at[i])) {
            uint32_t load = load_behind(s, at, i);
            if (load == NONE && !at[i].guards) continue;
            more = load == NONE ? growth_to_load(s, at, i, block) : more + growth(s, &at[load], block);
        }
        if (more > 0) continue;
        if (best == NONE || s->nodes[i].height > s->nodes[s->ready[best]].height) best = x;
    }
    return best;
}

// Registers that a thread has: as many as make it not cost more than it does anyway. A window that needs most
// of them says how many there are, and the others have them for nothing.
static void measure_window(sched *s, minst *at, uint32_t n, uint32_t block) {
    s->window++;
    s->edges.n = s->readers.n = 0;
    find_dependences(s, at, n);
    int need = pressure_now(s, at, n, block) + (int)s->across[block] + SLACK;
    while (s->registers < need) s->registers += 8;
}

static void schedule_window(sched *s, minst *at, uint32_t n, uint32_t block) {
    s->window++;
    s->edges.n = s->readers.n = 0;
    for (uint32_t i = 0; i < n; i++) s->nodes[i] = (node){.latency = latency_of(s, &at[i])};
    find_dependences(s, at, n);
    find_heights(s, at, n);
    for (uint32_t i = 0; i < n; i++)
        if (at[i].first) s->nodes[i].height = UINT32_MAX / 2;
    int limit = s->registers - (int)s->across[block], live = 0;
    memcpy(s->copy, at, n * sizeof *at);
    s->nready = 0;
    s->predicates = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!s->nodes[i].before) s->ready[s->nready++] = i;
    uint32_t now = 0;
    memset(s->next, 0, sizeof s->next);
    for (uint32_t done = 0; done < n; done++) {
        uint32_t x = choose(s, s->copy, now, limit - live, block), i = s->ready[x];
        if (when(s, &s->copy[i], &s->nodes[i]) > now + LONG) {
            uint32_t other = instead(s, s->copy, now, block);
            if (other != NONE) x = other, i = s->ready[x];
        }
        s->ready[x] = s->ready[--s->nready];
        uint32_t start = when(s, &s->copy[i], &s->nodes[i]);
        if (start > now) now = start;
        uint8_t queue = queue_of(&s->copy[i]);
        if (queue == PIPE_LSU)
            s->next[queue] = now + PAUSE;
        else if (lower_counts_stalls(s->l))
            s->next[queue] = now + lower_apart(queue);
        at[done] = s->copy[i];
        s->predicates += growth_in(s, &s->copy[i], block, FILE_P);
        live += take(s, &s->copy[i], block);
        for (uint32_t e = s->nodes[i].edges; e; e = s->edges.at[e - 1].next) {
            const edge *d = &s->edges.at[e - 1];
            node *to = &s->nodes[d->to];
            if (now + d->wait > to->ready) to->ready = now + d->wait;
            if (!--to->before) s->ready[s->nready++] = d->to;
        }
        now++;
    }
}

static void each_window(sched *s, uint32_t first, uint32_t end, uint32_t block,
                        void (*what)(sched *, minst *, uint32_t, uint32_t)) {
    lower *l = s->l;
    for (uint32_t i = first; i < end;) {
        if (l->insts.at[i].wall) {
            i++;
            continue;
        }
        uint32_t n = 0;
        while (i + n < end && n < WINDOW && !l->insts.at[i + n].wall) n++;
        if (n > 1) what(s, &l->insts.at[i], n, block);
        i += n;
    }
}

// The block that alone reads and writes a register.
static void find_homes(sched *s) {
    lower *l = s->l;
    for (size_t v = 0; v < l->vregs.n; v++) s->home[v] = NONE - 1;
    for (uint32_t b = 0; b < l->flow.nblocks; b++)
        for (uint32_t i = l->block_first.at[b]; i < l->block_first.at[b + 1]; i++) {
            const minst *m = &l->insts.at[i];
            for (uint32_t r = m->regs; r < m->regs + m->nsrc + m->ndst; r++) {
                uint32_t *h = &s->home[l->regs.at[r]];
                *h = *h == NONE - 1 || *h == b ? b : NONE;
            }
        }
}

void lower_schedule(lower *l) {
    sched *s = orr_calloc(1, sizeof *s);
    s->l = l;
    s->track = orr_calloc(l->vregs.n + 1, sizeof *s->track);
    s->home = orr_calloc(l->vregs.n + 1, sizeof *s->home);
    s->latency = orr_calloc(ORR_TC_COUNT, sizeof *s->latency);
    for (int c = 0; c < ORR_TC_COUNT; c++) s->latency[c] = (uint16_t)class_latency(l, (uint8_t)c);
    find_homes(s);
    s->across = orr_calloc(l->flow.nblocks + 1, sizeof *s->across);
    lower_across(l, s->across);
    s->registers = FREE;
    for (uint32_t b = 0; b < l->flow.nblocks; b++)
        each_window(s, l->block_first.at[b], l->block_first.at[b + 1], b, measure_window);
    for (uint32_t b = 0; b < l->flow.nblocks; b++)
        each_window(s, l->block_first.at[b], l->block_first.at[b + 1], b, schedule_window);
    free(s->track);
    free(s->home);
    free(s->across);
    free(s->latency);
    free(s->edges.at);
    free(s->readers.at);
    free(s);
}
