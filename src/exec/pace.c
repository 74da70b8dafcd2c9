// Warps and thread blocks in order of time: kernels that swap words in a loop, to take a lock or an entry of
// a table or to change what is there (ATOMS.CAS, ATOMS.CAST of the compiler's own loops, atomicCAS of global
// memory), that reduce what a look decides on, or that follow what others write (spin.c).
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
// Times are rough: they do not know of the scheduler, of units that are busy, nor of caches. What a stream
// takes is for a model to say; here they only decide who comes before whom.
#include <string.h>

#include "exec/block.h"

void orr_pace_shared(program *p, const uint32_t *uop_of) {
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

static void in_time(program *p) {
    const uint32_t *g = p->launch->grid;
    p->pace = p->launch->pace;
    p->pace_blocks = (uint64_t)g[0] * g[1] * g[2] > 1 && p->kernel->atomics;
}

void orr_pace_race(program *p, uint32_t block) {
    xblock *x = &p->blocks[block];
    in_time(p);
    x->stops = true;
    p->uops[x->race - p->uops].stop = x->race_inst + 1;
}

// Who takes a lock or an entry of a table finds what others have done by then: swap, or write.
void orr_pace_global(program *p, const uint32_t *uop_of) {
    const orr_kernel *k = p->kernel;
    in_time(p);
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

static void note_been(tblock *tb, uint64_t key) {
    uint32_t n = 0;
    while (n < tb->nbeen && n < PACE_BEEN && tb->been[n] != key) n++;
    if (n == tb->nbeen || n == PACE_BEEN) tb->been[tb->nbeen++ % PACE_BEEN] = key;
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
    return p->groups ? &l->group[p->group(p->self, w->tb->index) % MAX_GROUPS] : &l->free;
}

// What the lanes of `same`, of one line, take: those on one word one after the other, each when it is served.
static uint64_t serve(warp *w, pace_slice *l, const uint64_t addr[ORR_WARP], uint32_t same, bool swap) {
    const orr_pace *p = w->tb->prog->pace;
    uint64_t now = w->time * TICKS, *own = own_of(w, l), turns = 1;
    for (uint32_t n = 0; l->free > now && n < p->groups && n < MAX_GROUPS; n++)
        turns += l->group[n] > now && &l->group[n] != own;
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
        for (uint32_t m = pass; m; m &= m - 1) w->served[orr_ffs(m)] = (*own - work) / TICKS;
    }
    return *own;
}

static void at_l2(warp *w, const uint64_t addr[ORR_WARP]) {
    const orr_pace *p = w->tb->prog->pace;
    worker *k = w->worker;
    const orr_inst *i = &w->tb->prog->kernel->insts[w->stop - 1];
    bool works = orr_ops[i->op].flags & ORR_F_ATOMIC;
    uint64_t last = w->time * TICKS, far = 0;
    for (uint32_t left = w->exec; left;) {
        uint64_t a = addr[orr_ffs(left)], line = a / 128 + 1,
                 way = p->far ? p->far(p->self, w->tb->index, a) : 0;
        uint32_t same = 0;
        for (uint32_t m = left; m; m &= m - 1)
            if (addr[orr_ffs(m)] / 128 + 1 == line) same |= m & -m;
        left &= ~same;
        if (way > far) far = way;
        if (!works) continue;
        uint64_t key = p->slice ? p->slice(p->self, a) + 1 : line;
        pace_slice *l = slice_of(k, key);
        uint64_t done = serve(w, l, addr, same, i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_CAS);
        if (done > last) last = done;
        note_been(w->tb, key);
    }
    w->far = (uint32_t)far;
    w->more = last / TICKS - w->time + far;
    // What a load looks at has mostly been stored to by its own half.
}

// A fence that began at `at` goes where the thread block's atomics have been since the last one of any warp,
// and is served there as they are; the thread block has one at a time. How much later it is over.
static uint64_t fence_waits(warp *w, uint64_t at) {
    const orr_pace *p = w->tb->prog->pace;
    tblock *tb = w->tb;
    uint64_t from = tb->fenced > at ? tb->fenced : at, now = from * TICKS, last = now, over;
    for (uint32_t n = 0; n < tb->nbeen && n < PACE_BEEN; n++) {
        uint64_t own = *own_of(w, slice_of(w->worker, tb->been[n]));
        if (own > last) last = own;
    }
    over = tb->nbeen ? from + p->fence + (last - now) / TICKS : from > at + p->fence ? from : at + p->fence;
    tb->nbeen = 0;
    tb->fenced = over;
    return over - at - p->fence;
}

// It has come past so many fences of its block of code, and is at `issue` of it; those that are new went
// where its last access was. True: there were any.
static bool fences(warp *w, uint32_t n, uint32_t issue) {
    const orr_pace *p = w->tb->prog->pace;
    uint64_t now = w->began + issue, waits = 0;
    if (n == w->asked) return false;
    if (p->fence) waits = fence_waits(w, now > p->fence ? now - p->fence : 0);
    waits += (uint64_t)(n - w->asked) * w->far;
    w->asked = n;
    later(w, waits);
    return true;
}

// In front of an access behind a fence it is the fence's turn first.
void orr_pace_stop(warp *w, const uop *u) {
    const orr_pace *p = w->tb->prog->pace;
    w->stop = 0; // what it stopped in front of last may have had no lanes
    w->time = w->began + p->issue[u->stop - 1];
    bool asks = p->asks && p->asks[u->stop - 1] != w->asked;
    if (asks) w->time -= w->time - w->began > p->fence ? p->fence : w->time - w->began;
}

bool orr_pace_go(warp *w, const uop *u) {
    const orr_pace *p = w->tb->prog->pace;
    if (p->asks && fences(w, p->asks[u->stop - 1], p->issue[u->stop - 1])) {
        w->time = w->began + p->issue[u->stop - 1];
        return false;
    }
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

void orr_pace_enter(warp *w, uint32_t block) {
    const orr_pace *p = w->tb->prog->pace;
    w->began = w->time;
    w->lag = w->asked = 0;
    for (int b = 0; p->waits && b < ORR_PACE_BARS; b++) {
        uint32_t at = p->waits[block][b];
        if (at != UINT32_MAX && w->due[b] > w->began + at) later(w, w->due[b] - w->began - at);
    }
}

void orr_pace_leave(warp *w, uint32_t block, bool jumps) {
    const orr_pace *p = w->tb->prog->pace;
    w->stop = 0;
    if (p->asks) fences(w, p->asks_leave[block], p->leave[block]);
    for (int b = 0; p->due && b < ORR_PACE_BARS; b++)
        if (p->due[block][b]) w->due[b] = w->began + p->due[block][b] + w->lag;
    w->time = w->began + p->leave[block] + (jumps ? p->jump : 0);
}

void orr_pace_meet(tblock *tb, const barrier *b) {
    uint64_t last = 0;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++)
        if (b->arrived[n] && tb->warps[n].time > last) last = tb->warps[n].time;
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        if (b->arrived[n]) tb->warps[n].time = last + tb->prog->pace->meet;
        tb->warps[n].stuck = false;
    }
}
