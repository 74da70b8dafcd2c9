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
// one word take, and so does L2 each line: who finds it busy is that much later.
//
// Times are rough: they do not know of the scheduler, of units that are busy, nor of caches. What a stream
// takes is for a model to say; here they only decide who comes before whom.
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

// It goes where the thread block's atomics have been since the last fence of any warp, and waits there as
// they did; the thread block has one at a time.
static uint64_t fence_waits(tblock *tb, uint64_t at, uint64_t takes) {
    uint64_t waits = 0, from = tb->fenced > at ? tb->fenced : at, over;
    for (uint32_t n = 0; n < tb->nbeen && n < PACE_BEEN; n++)
        if (tb->been[n].waited > waits) waits = tb->been[n].waited;
    over = tb->nbeen ? from + takes + waits : from > at + takes ? from : at + takes;
    tb->nbeen = 0;
    tb->fenced = over;
    return over - at - takes;
}

// It has come past so many fences of its block of code, and is at `issue` of it; those that are new went
// where its last access was.
static void fences(warp *w, uint32_t n, uint32_t issue) {
    const orr_pace *p = w->tb->prog->pace;
    uint64_t now = w->began + issue;
    if (n == w->asked) return;
    if (p->fence) later(w, fence_waits(w->tb, now > p->fence ? now - p->fence : 0, p->fence));
    later(w, (uint64_t)(n - w->asked) * w->far);
    w->asked = n;
}

static void note_been(tblock *tb, uint64_t line, uint64_t waited) {
    uint32_t n = 0;
    while (n < tb->nbeen && n < PACE_BEEN && tb->been[n].line != line) n++;
    if (n == tb->nbeen || n == PACE_BEEN) n = tb->nbeen++ % PACE_BEEN;
    tb->been[n].line = line;
    tb->been[n].waited = waited;
}

void orr_pace_wait(warp *w, uint64_t until) {
    if (w->time < until) later(w, until - w->time);
    w->stuck = false;
}

void orr_pace_stop(warp *w, const uop *u) {
    const orr_pace *p = w->tb->prog->pace;
    w->stop = 0; // what it stopped in front of last may have had no lanes
    if (p->asks) fences(w, p->asks[u->stop - 1], p->issue[u->stop - 1]);
    w->time = w->began + p->issue[u->stop - 1];
}

void orr_pace_go(warp *w, const uop *u) {
    w->stop = u->stop;
    if (global(w, u->stop - 1)) return;
    tblock *tb = w->tb;
    if (tb->port > w->time) later(w, tb->port - w->time);
    tb->port = w->time + tb->prog->pace->port[u->stop - 1];
}

// L2 works on a line's lanes one after the other. A warp has its result when all that was there before it has
// been done, and with GPCs in turn when its own GPC's has been, if that is sooner: each has its share (H200:
// 32 warps of 32 lanes on one word, 3 or 4 of each GPC and 8 of one, try 385,000 to 410,000 times until all
// lanes have swapped; 394,000 to 405,000 so, and 477,000 to 485,000 if who comes first is first).
#define LINES    4096 // that are told apart
#define TICKS    64   // of a cycle
#define MAX_GPCS 16
typedef struct pace_line {
    uint64_t line, free;    // in parts of a cycle: all that has come so far will have been done
    uint64_t gpc[MAX_GPCS]; // and a GPC's
} pace_line;

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

// What a line's lanes take, in quarters of an operation, as in the cycle model (atomic.c): those on one word
// go one after the other; of the lanes that go together each sector takes one, a quarter more if not all of
// it is wanted, and a swap a quarter for each lane at least.
static uint32_t line_work(const uint64_t addr[ORR_WARP], uint32_t lanes, bool swap) {
    uint8_t seen[32] = {0}, n[ORR_WARP][4] = {{0}};
    uint32_t passes = 0, work = 0;
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint32_t word = (uint32_t)(addr[orr_ffs(m)] / 4 % 32), rank = seen[word]++;
        n[rank][word / 8]++;
        if (rank >= passes) passes = rank + 1;
    }
    for (uint32_t p = 0; p < passes; p++)
        for (uint32_t q = 0; q < 4; q++) {
            uint32_t takes = n[p][q] == 8 ? 4 : 5;
            if (n[p][q]) work += swap && n[p][q] > takes ? n[p][q] : takes;
        }
    return work;
}

static uint64_t serve(pace_line *l, const orr_pace *p, const warp *w, uint64_t work) {
    uint64_t now = w->time * TICKS;
    l->free = (l->free > now ? l->free : now) + work;
    if (!p->gpcs) return l->free;
    uint64_t *own = &l->gpc[p->gpc(p->self, w->tb->index) % MAX_GPCS];
    *own = (*own > now ? *own : now) + work * p->gpcs;
    if (*own > l->free) *own = l->free;
    return *own;
}

static void at_l2(warp *w, const uint64_t addr[ORR_WARP]) {
    const orr_pace *p = w->tb->prog->pace;
    worker *k = w->worker;
    if (!k->lines) k->lines = orr_calloc(LINES, sizeof *k->lines);
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
        pace_line *l = &k->lines[(line ^ line / LINES) % LINES];
        if (l->line != line) *l = (pace_line){.line = line};
        uint64_t work =
            line_work(addr, same, i->op == ORR_OP_ATOM && i->sub == ORR_ATOM_CAS) * (uint64_t)p->lane;
        uint64_t done = serve(l, p, w, work), began = (done - work) / TICKS;
        if (done > last) last = done;
        note_been(w->tb, line, began > w->time ? began - w->time : 0);
    }
    w->far = (uint32_t)far;
    uint64_t more = last / TICKS - w->time + far;
    if (works && i->ndst)
        later(w, more);
    else if (works) // it is not waited for, or not here
        w->lag = (uint32_t)more;
    // What a load looks at has mostly been stored to by its own half.
}

void orr_pace_access(warp *w, const uint64_t addr[ORR_WARP]) {
    uint32_t inst = w->stop - 1;
    const orr_pace *p = w->tb->prog->pace;
    if (global(w, inst)) {
        at_l2(w, addr);
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
