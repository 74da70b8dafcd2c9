// Warps and thread blocks in order of time: kernels that swap words in a loop, to take a lock or an entry of
// a table or to change what is there (ATOMS.CAS, ATOMS.CAST of the compiler's own loops, atomicCAS of global
// memory), that reduce what a look decides on, that follow what others write, or that wait for one place
// after the other (spin.c).
//
// Which of them succeeds, and how often the others try in vain, depends on when each is there. With several
// warps that go round at the same pace one succeeds in each round; with many, which shared memory serves one
// after the other, some read when others have just swapped, and several do; and who is nearer to the word
// tries more often. So each warp has a time, which moves on by what the GPU at hand takes from one
// instruction to the next (orr_pace), the warp that is first is executed next, of all thread blocks, and it
// stops in front of every such access. Shared memory serves one at a time, each for as long as its lanes on
// one word take, and so does each slice of L2: who finds it busy is that much later. There lanes on one word
// are served one after the other, and those of other warps in between: an atomic that is answered is done,
// lane by lane, when the slice comes to it (orr_pace_access), and what an exchange gives back is found then.
//
// Times are rough: they do not know of the scheduler, of units that are busy, nor of L1. What a stream
// takes is for a model to say; here they only decide who comes before whom.
#include <string.h>

#include "exec/block.h"

void orr_pace_shared(decoded *p, const uint32_t *uop_of) {
    const orr_kernel *k = p->kernel;
    p->pace = p->launch->pace;
    for (uint32_t b = 0; b < k->nblocks; b++)
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
            if (k->insts[i].space != ORR_SPACE_SHARED || !(orr_ops[k->insts[i].op].flags & ORR_F_MEMORY))
                continue;
            p->uops[uop_of ? uop_of[i] : i].stop = i + 1;
            p->blocks[b].stops = true;
        }
}

static void in_time(decoded *p) {
    const uint32_t *g = p->launch->grid;
    p->pace = p->launch->pace;
    p->pace_blocks = (uint64_t)g[0] * g[1] * g[2] > 1 && p->kernel->atomics;
}

void orr_pace_race(decoded *p, uint32_t block) {
    xblock *x = &p->blocks[block];
    in_time(p);
    x->stops = true;
    p->uops[x->race - p->uops].stop = x->race_inst + 1;
}

// Who takes a lock or an entry of a table finds what others have done by then: swap, or write.
void orr_pace_global(decoded *p, const uint32_t *uop_of) {
    const orr_kernel *k = p->kernel;
    in_time(p);
    p->pace_all = true;
    for (uint32_t b = 0; b < k->nblocks; b++)
        for (uint32_t i = k->blocks[b].first; i < k->blocks[b].first + k->blocks[b].count; i++) {
            if (!orr_inst_order(&k->insts[i])) continue;
            p->uops[uop_of ? uop_of[i] : i].stop = i + 1;
            p->blocks[b].stops = true;
        }
}

static bool global(const warp *w, uint32_t inst) {
    return w->tb->prog->kernel->insts[inst].space != ORR_SPACE_SHARED;
}

bool orr_pace_shares(const warp *w) {
    return w->tb->prog->pace_blocks && w->paused->stop && global(w, w->paused->stop - 1);
}

uint64_t orr_pace_time(const tblock *tb) {
    uint64_t first = UINT64_MAX;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++)
        if (tb->warps[n].live && !tb->warps[n].stuck && !tb->warps[n].held && tb->warps[n].time < first)
            first = tb->warps[n].time;
    return first;
}

warp *orr_pace_next(tblock *tb) {
    warp *best = NULL;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        warp *w = &tb->warps[n];
        if (w->live && !w->stuck && !w->held && (!best || w->time < best->time)) best = w;
    }
    return best;
}

static void later(warp *w, uint64_t cycles) {
    w->began += cycles;
    w->time += cycles;
}

// Fences are the SM's, and so is where it has been.
#define BEEN 64 // slices
typedef struct pace_sm {
    uint64_t from, fenced; // when its last round of fences began, or will, and is over
    uint64_t been[BEEN];   // where it has been since
    uint32_t nbeen;
    uint64_t far;    // the longest way there
    uint64_t stored; // when L2 has all that it has stored
    uint64_t port;   // when it can send the next packet, in parts of a cycle
    uint64_t worked; // when the last of its atomics so far is done, in parts of a cycle
} pace_sm;

static pace_sm *sm_of(const warp *w) {
    worker *k = w->worker;
    uint32_t n = w->tb->prog->pace->sms;
    if (!k->sms) k->sms = orr_calloc(n ? n : 1, sizeof *k->sms);
    return &k->sms[n ? w->tb->sm % n : 0];
}

static void note_been(pace_sm *s, uint64_t key) {
    uint32_t n = 0;
    while (n < s->nbeen && n < BEEN && s->been[n] != key) n++;
    if (n == s->nbeen || n == BEEN) s->been[s->nbeen++ % BEEN] = key;
}

void orr_pace_wait(warp *w, uint64_t until) {
    if (w->time < until) later(w, until - w->time);
    w->stuck = false;
}

// A slice of L2 works on the lanes of its lines one after the other; lanes on one word are packets of their
// own. It serves clusters of SMs in turn, what a cluster has sent in order (H200, all SMs, four warps each,
// 32 lanes add to 16 words: SMs of a cluster of four do 1.5 times as many as those of a cluster of six.
// Between two lanes of a warp on one word 24 others are served, one of each cluster, where they are in two
// packets, 64 where words are by chance, 132, one of each SM, where all lanes are on one). So who has several
// lanes at a word tries several times, and others come in between.
#define SLICES     1024 // that are told apart
#define TICKS      1024 // of a cycle
#define MAX_GROUPS 64
typedef struct pace_slice {
    uint64_t key, free;         // in parts of a cycle: all that has come so far has been done then
    uint64_t in[2];             // when each half's takes the next packet
    uint64_t packet;            // what one takes, on average
    uint32_t waiting;           // clusters, when the last one came
    uint64_t group[MAX_GROUPS]; // and all of a cluster's
} pace_slice;

// The most lanes of `left` that meet in a word.
static uint32_t crowd_of(const uint64_t addr[ORR_WARP], uint32_t left) {
    uint32_t most = 1;
    while (left) {
        uint32_t same = 0;
        uint64_t word = addr[orr_ffs(left)] / 4;
        for (uint32_t m = left; m; m &= m - 1)
            if (addr[orr_ffs(m)] / 4 == word) same |= m & -m;
        left &= ~same;
        if ((uint32_t)orr_popc(same) > most) most = (uint32_t)orr_popc(same);
    }
    return most;
}

// What the lanes on these words of a line take that go together, in quarters of an operation, as in the cycle
// model (atomic.c): one for a sector, a quarter more if not all of it is wanted; two for swaps, if there are
// several in its half of the line.
static uint32_t pass_work(uint32_t words, bool swap) {
    uint32_t work = 0;
    for (uint32_t q = 0; q < 4; q++) {
        uint32_t n = (uint32_t)orr_popc(words >> 8 * q & 0xff), half = words >> 16 * (q / 2) & 0xffff;
        if (n) work += swap && orr_popc(half) > 1 ? 8 : n == 8 ? 4 : 5;
    }
    return work;
}

static pace_slice *slice_of(worker *k, uint64_t key) {
    if (!k->slices) k->slices = orr_calloc(SLICES, sizeof *k->slices);
    pace_slice *l = &k->slices[(key ^ key / SLICES) % SLICES];
    if (l->key != key) {
        memset(l, 0, sizeof *l);
        l->key = key;
    }
    return l;
}

static uint64_t *own_of(const warp *w, pace_slice *l) {
    const orr_pace *p = w->tb->prog->pace;
    return p->groups ? &l->group[p->group(p->self, w->tb->sm) % MAX_GROUPS] : &l->free;
}

// What the lanes of `same`, of one line, take that come at `now`: those on one word one after the other, each
// when it is served.
static uint64_t serve(warp *w, pace_slice *l, uint64_t now, const uint64_t addr[ORR_WARP], uint32_t same,
                      bool swap) {
    const orr_pace *p = w->tb->prog->pace;
    uint64_t *own = own_of(w, l), turns = 1;
    for (uint32_t n = 0; l->free > now && n < p->groups && n < MAX_GROUPS; n++)
        turns += l->group[n] > now && &l->group[n] != own;
    l->waiting = (uint32_t)turns;
    for (uint32_t left = same; left;) {
        uint32_t pass = 0, words = 0;
        for (uint32_t m = left; m; m &= m - 1) {
            uint32_t bit = 1u << addr[orr_ffs(m)] / 4 % 32;
            if (words & bit) continue;
            words |= bit;
            pass |= m & -m;
        }
        left &= ~pass;
        uint64_t work = pass_work(words, swap) * (uint64_t)p->lane;
        if (p->groups) l->free = (l->free > now ? l->free : now) + work;
        *own = (*own > now ? *own : now) + work * turns;
        l->packet = (15 * l->packet + work) / 16;
        for (uint32_t m = pass; m; m &= m - 1) w->served[orr_ffs(m)] = (*own - work) / TICKS;
        if (left) { // those that meet leave their SM in packets of their own
            now += p->packet;
            sm_of(w)->port += p->packet;
        }
    }
    if (*own > sm_of(w)->worked) sm_of(w)->worked = *own;
    return *own;
}

// Lines of L2: which half has it, and until when loads of it are on their way to SMs of each half. A store
// waits in front of its slice for those, and all behind it (l2.store_after_fill).
#define LINES (1u << 16)
typedef struct pace_line {
    uint64_t key, until[2];
    uint64_t there; // when it has come from memory
    uint8_t has;    // halves
} pace_line;

// Where it is not known who has loaded it before (orr_pace_race) it is there.
static pace_line *line_of(worker *k, uint64_t addr, uint32_t home) {
    if (!k->lines) k->lines = orr_calloc(LINES, sizeof *k->lines);
    uint64_t key = addr / 128 + 1;
    pace_line *x = &k->lines[(key ^ key / LINES) % LINES];
    bool cold = k->prog->pace->cold && k->prog->pace_all;
    if (x->key != key) *x = (pace_line){.key = key, .has = cold ? 0 : (uint8_t)(1u << home)};
    return x;
}

enum { LOADS, STORES, WORKS };

// A packet of an SM of this half comes to the line's slice at `at`: when it is done there, and with loads how
// much longer the answer's way is.
static uint64_t pass(const orr_pace *p, pace_slice *l, pace_line *x, uint32_t half, uint32_t home,
                     uint64_t at, int what) {
    uint64_t t = l->in[half] > at ? l->in[half] : at, done, way = (uint64_t)p->way * TICKS;
    uint8_t own = (uint8_t)(1u << half), other = (uint8_t)(1u << !half);
    if (what == STORES && x->until[half] > t) t = x->until[half];
    l->in[half] = t + 4 * (uint64_t)p->lane;
    if (what != STORES && !(x->has >> home & 1)) x->there = t + (uint64_t)p->cold * TICKS;
    done = what != STORES && x->there > t ? x->there : t;
    if (what == LOADS) {
        if (half != home && !(x->has & own)) done += way;
        x->has |= own | (uint8_t)(1u << home);
        if (done + p->meets * TICKS > x->until[half]) x->until[half] = done + p->meets * TICKS;
    } else { // whose copy is valid no more
        x->has |= (uint8_t)(1u << home);
        if (what == WORKS && half != home) x->has &= (uint8_t)~own;
        if (half == home) x->has &= (uint8_t)~other;
        if (what == STORES && half != home) done += way / 2;
    }
    return done;
}

static void at_l2(warp *w, const uint64_t addr[ORR_WARP]) {
    const orr_pace *p = w->tb->prog->pace;
    worker *k = w->worker;
    pace_sm *s = sm_of(w);
    const orr_inst *i = &w->tb->prog->kernel->insts[w->stop - 1];
    uint32_t flags = orr_ops[i->op].flags;
    int what = flags & ORR_F_ATOMIC ? WORKS : flags & ORR_F_STORE ? STORES : LOADS;
    uint64_t now = w->time * TICKS, last = now;
    uint32_t half = p->half ? p->half(p->self, w->tb->sm) : 0;
    for (uint32_t left = w->exec; left;) {
        uint64_t a = addr[orr_ffs(left)], line = a / 128 + 1, far = 0;
        uint32_t same = 0, home = p->side ? p->side(p->self, a) : half;
        for (uint32_t m = left; m; m &= m - 1)
            if (addr[orr_ffs(m)] / 128 + 1 == line) same |= m & -m;
        left &= ~same;
        uint64_t key = p->slice ? p->slice(p->self, a) + 1 : line, sent = s->port > now ? s->port : now;
        s->port = sent + p->apart;
        pace_slice *l = slice_of(k, key);
        pace_line *x = line_of(k, a, home);
        bool told = what == WORKS && half == home && x->has >> !half & 1; // the other half has a copy to drop
        uint64_t done = pass(p, l, x, half, home, sent, what);
        if (half != home) far = p->way;
        if (what == WORKS)
            done = serve(w, l, done, addr, same, i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_CAS) +
                   (told ? p->way : far) * TICKS;
        if (done > last) last = done;
        if (far > s->far) s->far = far;
        note_been(s, key);
    }
    w->more = last / TICKS - w->time;
    if (what != STORES && p->further) w->more += p->further(p->self, w->tb->sm);
    if (what == STORES && last / TICKS > s->stored) s->stored = last / TICKS;
    if (what == LOADS) later(w, w->more);
}

// Fences. The SM does them in rounds, one at a time: who comes while one is under way waits for the next,
// unless it has only just begun.
static bool under_way(const orr_pace *p, const pace_sm *s, uint64_t at) {
    return at > s->from + p->join && at < s->fenced;
}

// A round goes where the SM has been since the last one, and is served there as atomics are, and waits for
// what has been stored. When one is over that a warp comes to at `at`.
static uint64_t fence_over(warp *w, uint64_t at) {
    const orr_pace *p = w->tb->prog->pace;
    pace_sm *s = sm_of(w);
    if (at > s->from + p->join || !s->fenced) {
        bool waited = at <= s->fenced && s->fenced;
        s->from = waited ? s->fenced : at;
        s->fenced = s->from + (waited ? 0 : p->fence);
    }
    uint64_t now = s->from * TICKS, last = now;
    for (uint32_t n = 0; n < s->nbeen && n < BEEN; n++) {
        pace_slice *l = slice_of(w->worker, s->been[n]);
        uint64_t own = *own_of(w, l), line = now + p->line * l->packet * l->waiting;
        if (line < s->worked) line = s->worked; // behind the SM's own, and what is in its cluster's line
        if (p->line && own > line) own = line;
        if (own > last) last = own;
    }
    uint64_t over = s->nbeen ? s->from + p->fence + p->ask + s->far + (last - now) / TICKS : 0;
    if (s->stored + p->heard > over) over = s->stored + p->heard;
    if (over > s->fenced) s->fenced = over;
    s->nbeen = 0;
    s->far = 0;
    return s->fenced;
}

// It has come past so many fences of its block of code, and is at `issue` of it. True: there were any.
static bool fences(warp *w, uint32_t n, uint32_t issue, bool waits) {
    const orr_pace *p = w->tb->prog->pace;
    const pace_sm *s = sm_of(w);
    uint64_t now = w->began + issue, at = now > p->fence ? now - p->fence : 0;
    if (n == w->asked) return false;
    if (waits && under_way(p, s, at)) {
        later(w, s->fenced - at);
        w->time = s->fenced;
        return true;
    }
    uint64_t over = fence_over(w, at);
    w->asked = n;
    if (over > now) later(w, over - now);
    w->time = w->began + issue;
    return true;
}

// Results of earlier blocks of code that it has waited for when it is at `issue` of this one.
static void results(warp *w, uint32_t block, uint32_t issue) {
    const orr_pace *p = w->tb->prog->pace;
    for (int b = 0; p->waits && b < ORR_PACE_BARS; b++) {
        uint32_t at = p->waits[block][b];
        if (at <= issue && w->due[b] > w->began + at) later(w, w->due[b] - w->began - at);
    }
}

// In front of an access behind a fence it is the fence's turn first.
void orr_pace_stop(warp *w, const uop *u) {
    const orr_pace *p = w->tb->prog->pace;
    w->stop = 0; // what it stopped in front of last may have had no lanes
    results(w, w->frag->pc, p->issue[u->stop - 1]);
    w->time = w->began + p->issue[u->stop - 1];
    bool asks = p->asks && p->asks[u->stop - 1] != w->asked;
    if (asks) w->time -= w->time - w->began > p->fence ? p->fence : w->time - w->began;
}

bool orr_pace_go(warp *w, const uop *u) {
    const orr_pace *p = w->tb->prog->pace;
    if (p->asks && fences(w, p->asks[u->stop - 1], p->issue[u->stop - 1], true)) return false;
    w->stop = u->stop;
    if (global(w, u->stop - 1)) return true;
    tblock *tb = w->tb;
    if (tb->port > w->time) later(w, tb->port - w->time);
    tb->port = w->time + p->port[u->stop - 1];
    return true;
}

// Those of `lanes` that are served by now; when the next ones are.
static uint32_t served_by(const warp *w, uint32_t lanes, uint64_t *next) {
    uint32_t now = 0;
    *next = UINT64_MAX;
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint64_t at = w->served[orr_ffs(m)];
        if (at <= w->time)
            now |= m & -m;
        else if (at < *next)
            *next = at;
    }
    return now;
}

// An exchange whose result goes nowhere gives a lock back, and its warp goes on; others find it when the
// slice has done it. Until then a swap finds what was there.
#define GIVEN 1024 // words that are remembered
typedef struct pace_given {
    uint8_t *at;
    uint64_t until;
    uint32_t was, is;
} pace_given;

static pace_given *given_of(worker *k, const uint8_t *at) { return &k->given[(uintptr_t)at / 4 % GIVEN]; }

static void give(warp *w, uint8_t *const host[ORR_WARP]) {
    worker *k = w->worker;
    if (!k->given) k->given = orr_calloc(GIVEN, sizeof *k->given);
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        if (w->served[i] <= w->time) continue;
        pace_given *g = given_of(k, host[i]);
        *g = (pace_given){.at = host[i], .until = w->served[i]};
        memcpy(&g->was, host[i], sizeof g->was);
    }
}

static void hide(warp *w, uint8_t *const host[ORR_WARP]) {
    worker *k = w->worker;
    for (uint32_t m = k->given ? w->exec : 0; m; m &= m - 1) {
        pace_given *g = given_of(k, host[orr_ffs(m)]);
        if (g->at != host[orr_ffs(m)] || g->until <= w->time) continue;
        memcpy(&g->is, g->at, sizeof g->is);
        memcpy(g->at, &g->was, sizeof g->was);
        k->hidden[k->nhidden++] = g; // no two lanes that are served at one time are on one word
    }
}

// What is given back comes behind what a swap has found or written there meanwhile.
void orr_pace_done(warp *w) {
    worker *k = w->worker;
    while (k->nhidden) {
        const pace_given *g = k->hidden[--k->nhidden];
        memcpy(g->at, &g->is, sizeof g->is);
    }
}

static void at_slices(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint8_t *const host[ORR_WARP]) {
    const orr_inst *i = &w->tb->prog->kernel->insts[w->stop - 1];
    bool works = orr_ops[i->op].flags & ORR_F_ATOMIC;
    if (!w->left) { // it has come
        at_l2(w, addr);
        if (!works) return;
        w->left = i->ndst ? w->exec : 0;
        w->came = w->time;
        if (!i->ndst) w->lag = (uint32_t)w->more; // it is not waited for, or not here
        if (!i->ndst && i->sub == ORR_ATOM_EXCH && u->inst->width == 4) give(w, host);
        if (!i->ndst) return;
    }
    uint64_t next;
    w->exec = served_by(w, w->left, &next);
    w->left &= ~w->exec;
    hide(w, host);
    w->time = w->left ? next : w->came;
    if (!w->left) later(w, w->more);
}

void orr_pace_access(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint8_t *const host[ORR_WARP]) {
    uint32_t inst = w->stop - 1;
    const orr_pace *p = w->tb->prog->pace;
    if (global(w, inst)) {
        at_slices(w, u, addr, host);
    } else if (p->crowd[inst]) {
        uint32_t more = (crowd_of(addr, w->exec) - 1) * p->crowd[inst];
        w->tb->port += more;
        later(w, (uint64_t)more * p->alone);
    }
    w->stop = 0;
}

void orr_pace_enter(warp *w) {
    w->began = w->time;
    w->lag = w->asked = 0;
}

void orr_pace_leave(warp *w, uint32_t block, bool jumps) {
    const orr_pace *p = w->tb->prog->pace;
    w->stop = 0;
    results(w, block, p->leave[block]);
    if (p->asks) fences(w, p->asks_leave[block], p->leave[block], false);
    for (int b = 0; p->due && b < ORR_PACE_BARS; b++)
        if (p->due[block][b]) w->due[b] = w->began + p->due[block][b] + w->lag;
    w->time = w->began + p->leave[block] + (jumps ? p->jump : 0);
}

void orr_pace_poll(warp *w) { w->time += w->tb->prog->pace->poll; }

void orr_pace_meet(tblock *tb, const barrier *b) {
    uint64_t last = 0;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++)
        if (b->arrived[n] && tb->warps[n].time > last) last = tb->warps[n].time;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        if (b->arrived[n]) tb->warps[n].time = last + tb->prog->pace->meet;
        tb->warps[n].stuck = false;
    }
}
