// Where machine code goes on: branches, calls, exits, and how lanes that parted come together.
//
// Since Volta every lane has a program counter of its own; lanes at the same place that run together are a
// fragment here (run/warp.c). Machine code says itself where they meet. BSSY B, target notes in barrier
// register B who is there; at BSYNC B a fragment waits until all of those have come (or left: by EXIT, or by
// BREAK B, which strikes lanes off). WARPSYNC waits for the lanes of a mask. Nothing else brings lanes
// together. Each fragment that gets to a BSYNC has executed it; a branch by register or a WARPSYNC.COLLECTIVE
// lets the lanes with one target or mask go and is executed again by the others. So the number of executed
// warp instructions is the machine's (tests/test_features.sh compares 80 kernels with an H200's counters).
//
// A lane that spins on a lock which another lane holds, one that waits for it at a BSYNC, would spin for
// ever. The compiler puts a YIELD into such loops, or the program sleeps in them. Then other lanes go on,
// those that have not yielded for longest first. Lanes at a BSYNC go on in their turn when all that they wait
// for have yielded since (NVIDIA's patent application US 2016/0019066, "Execution of divergent threads using
// a convergence barrier": a barrier is cleared when each of its threads is blocked there or has yielded);
// they execute it again, and the barrier is no more: who comes later does not wait. Nor do lanes wait that
// come to a BSYNC when all others have yielded and not gone on since (H200: micro/tables, put_break: all
// counts are exact with it). Those at a WARPSYNC
// execute it again in their turn, to see whether all are there, and all of them once more when they are.
//
// A barrier register holds a mask for each lane, those that took part when this lane passed the BSSY: two
// fragments in different places may use one register. BMOV saves and restores it around calls. A GPU has but
// one mask in it, for all lanes, and does not know at which depth of a recursion lanes wait. It shows in two
// places. Lanes that are at a BSYNC, have not executed it, and see others meet there, deeper, are passed by:
// when those come back to meet them, all that wait at this BSYNC go on, whomever they wait for
// (frag.overtaken). And at a register that was restored with lanes that have ended since, nobody waits (H200:
// fib, hanoi and others with 166 sets of arguments, clocks of each lane; docs/archive/h200/atomics.md,
// Recursion).
//
// Where lanes part the fewer go first, of as many those that are later in the code, unless they come to a
// BSYNC there and would wait; when they wait, those that parted from them last go on; and after a YIELD lanes
// at the same place go on together. None of this is in a manual: an H200 executes as many instructions, of
// warps and of threads, in micro/race and tests/features (docs/archive/h200/atomics.md, Lanes that yield).
#include "exec/sass/translate.h"
#include "exec/ops/pair.h"
#include "sass/module.h"

enum { BY_WARP = 0xff }; // frag.bar of one that waits at a WARPSYNC
enum {
    BRANCH_PLAIN,
    BRANCH_DIV,
    BRANCH_CONV,
    BRANCH_ANY
};                                  // inst->sub: who goes; ANY: all, when some lane does
enum { SYNC_PLAIN, SYNC_ONE_MASK }; // inst->sub of WARPSYNC

// ---- meeting --------------------------------------------------------------------------------
// What a barrier register holds, a mask for each lane.
static uint32_t *masks_of(const warp *w, uint8_t bar) {
    return (uint32_t *)(void *)(w->bank[BANK_W] + w->tb->prog->barriers + bar * reg_bytes(ORR_W));
}

static void go_on(warp *w, frag *f) {
    f->state = FRAG_READY;
    w->convergence.at_bsync &= ~(1u << (f - w->frags));
}

static uint32_t needs(const warp *w, const frag *f) {
    if (f->bar == BY_WARP) return f->needed_lanes & w->live;
    return masks_of(w, f->bar)[orr_ffs(f->mask)] & w->live;
}

// Others went on without `rest`: there is nothing to wait for at the barrier any more.
static void forget(warp *w, uint8_t bar, uint32_t rest) {
    uint32_t *row = masks_of(w, bar);
    for (uint32_t m = rest; m; m &= m - 1) row[orr_ffs(m)] = 0;
    w->convergence.dropped_lanes = true;
}

// Does g wait for what f waits for? Lanes of a WARPSYNC may be at different ones. At the same BSYNC may be
// lanes that are deeper in a recursion: they wait for others.
static bool alike(const warp *w, const frag *f, const frag *g) {
    if (g->state != FRAG_SYNC || g->bar != f->bar) return false;
    return f->bar == BY_WARP || (g->pc == f->pc && needs(w, g) == needs(w, f));
}

// Lanes meet at a BSYNC of a restored register; who is there and has not executed it was passed by.
static void pass_by(warp *w, const frag *f) {
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1))
        if (w->frags[n].state == FRAG_READY && w->frags[n].pc == f->waits_at) w->frags[n].overtaken = true;
}

// Fragments that wait at the same place for the same reason go on as one when all are there. Returns those
// that wait on with fragment n, a bit each.
static uint32_t meet_at(warp *w, int n) {
    frag *f = &w->frags[n];
    uint32_t here = f->mask, first = here, like = 0;
    for (int o = next_frag(w, 0); o < ORR_WARP; o = next_frag(w, o + 1))
        if (o != n && alike(w, f, &w->frags[o])) {
            here |= w->frags[o].mask;
            like |= 1u << o;
        }
    uint32_t need = needs(w, f);
    if (need & ~here) return f->bar == BY_WARP ? 0 : like;
    for (uint32_t left = like; left; left &= left - 1) { // those it waited for, and no others
        frag *g = &w->frags[orr_ffs(left)];
        if (!(g->mask & need)) continue;
        if (g->pc != f->pc) { // it goes on at its own place
            go_on(w, g);
            g->turn = ++w->turn;
            continue;
        }
        f->mask |= g->mask;
        free_frag(w, g);
    }
    if (f->bar != BY_WARP && w->convergence.restored >> f->bar & 1) pass_by(w, f);
    if (f->bar == BY_WARP && here != first) orr_warp_again(w, f->waits_at, f->mask);
    go_on(w, f);
    f->turn = ++w->turn;
    w->polls.polled = 0;
    return 0;
}

// Can all that f waits for be at its BSYNC? Nearly always some are not there yet.
static bool may_meet(const warp *w, const frag *f) {
    uint32_t here = 0;
    if (needs(w, f) & ~w->convergence.waiting) return false;
    for (uint32_t left = w->convergence.at_bsync; left; left &= left - 1) {
        const frag *g = &w->frags[orr_ffs(left)];
        if (g->bar == f->bar && g->pc == f->pc) here |= g->mask;
    }
    return !(needs(w, f) & ~here);
}

static void meet(warp *w) {
    uint32_t vain = 0; // fragments that were seen to wait on
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1))
        if (w->frags[n].state == FRAG_SYNC && !(vain >> n & 1)) vain |= meet_at(w, n);
}

// ---- handlers of what does not decide -------------------------------------------------------
static void note_lanes(warp *w, const uop *u) { // BSSY
    uint32_t *d = DST(w, u, uint32_t), mask = w->exec;
    const uint32_t *lane = active_lanes(w);
    LANES d[i] = BLEND(uint32_t, d[i], mask, lane[i]);
    w->convergence.restored &= (uint16_t) ~(1u << u->imm);
}
static void restores(warp *w, const uop *u) { w->convergence.restored |= (uint16_t)(1u << u->imm); }
PAIR1(copy_row, uint32_t, uint32_t, a)
PAIR3(field, uint32_t, uint32_t, uint32_t, uint32_t, a >> b & c)
static void both_masks(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a) & pred_of(w, u->b)); }
static void copy_mask(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a)); }

// ---- where ----------------------------------------------------------------------------------
static const orr_func *function_of(const orr_kernel *k, uint32_t inst) {
    const orr_func *f = k->funcs;
    while (inst >= f->first_inst + f->ninsts) f++;
    return f;
}

static int32_t block_at(const decoded *p, uint32_t address) {
    const orr_kernel *k = p->kernel;
    for (uint32_t n = 0; n < k->nfuncs; n++) {
        const orr_func *f = &k->funcs[n];
        uint64_t off = address - f->address;
        if (off < (uint64_t)f->ninsts * 16 && off % 16 == 0)
            return (int32_t)p->block_of[f->first_inst + off / 16] - 1;
    }
    return -1;
}

static void away(warp *w, frag *f, const uop *u, uint32_t lanes) { // lanes of f go to u's target
    if (lanes == f->mask) {
        f->pc = (uint32_t)u->inst->target;
        return;
    }
    frag other = {
        .mask = lanes, .pc = (uint32_t)u->inst->target, .join = -1, .frame = f->frame, .since = f->since};
    f->mask &= ~lanes;
    bool waits = w->tb->prog->blocks[u->inst->target].syncs;
    bool forward =
        (uint32_t)u->inst->target > f->pc && !waits; // (blocks are in the order of their addresses)
    if (orr_popc(lanes) <
        orr_popc(f->mask) + forward) { // the fewer go first, of as many the later in the code
        other.mask = f->mask;
        other.pc = f->pc;
        f->mask = lanes;
        f->pc = (uint32_t)u->inst->target;
    }
    orr_warp_part(w, other);
    f->turn = ++w->turn;
}

// A call of what the driver provides: done at once, and the lanes go on where R20 says, as after any call
// (the ABI of nvcc's code: the return address is in R20 and R21).
static bool call_system(warp *w, const uop *u, uint32_t lanes, uint32_t to[ORR_WARP]) {
    const decoded *p = w->tb->prog;
    uint32_t address = to[orr_ffs(lanes)];
    uint32_t which = (address - (uint32_t)ORR_CODE_SYSTEM(0)) / 16, back = 20 * reg_bytes(ORR_W);
    const char *name = orr_sass_missing(p->kernel->module, address);
    bool slopes = name && orr_sass_is_slopes(name);
    bool system = name && address >= ORR_CODE_SYSTEM(0) && address < ORR_CODE_MISSING;
    if ((!slopes && !system) || back >= p->barriers) {
        orr_fault(w, u, orr_ffs(lanes), "call of '%s', which nobody has", name ? name : "?");
        return false;
    }
    uint32_t was = w->exec;
    set_exec(w, lanes);
    w->shapes.found = 0; // it writes registers
    bool ok = slopes ? orr_sass_slopes(w, u, lanes, name) : orr_sass_syscall(w, u, lanes, which);
    set_exec(w, was);
    const uint32_t *r20 = (const uint32_t *)(const void *)(w->bank[BANK_W] + back);
    for (uint32_t m = lanes; m; m &= m - 1) to[orr_ffs(m)] = r20[orr_ffs(m)];
    return ok && !w->tb->faulted;
}

static void others_go_on(warp *w, frag *f,
                         uint32_t lanes) { // f keeps `lanes`; the rest is a fragment behind it
    if (lanes == f->mask) return;
    frag other = {.mask = f->mask & ~lanes, .pc = f->pc, .join = -1, .frame = f->frame, .since = f->since};
    f->mask = lanes;
    orr_warp_part(w, other);
}

static uint32_t like_first(const uint32_t *row, uint32_t lanes) { // those with the first one's value
    uint32_t same = 0, value = row[orr_ffs(lanes)];
    LANES same |= (uint32_t)(row[i] == value) << i;
    return same & lanes;
}

static void stay_at(warp *w, const frag *f, const xblock *x, uint32_t lanes) { // lanes that were of f
    uint32_t here = (uint32_t)(x - w->tb->prog->blocks);
    if (lanes)
        orr_warp_part(w, (frag){.mask = lanes, .pc = here, .join = -1, .frame = f->frame, .since = f->since});
}

// Lanes go where their registers say. Those that go where the first of them goes leave together; the others
// are still at the branch and execute it again: a branch to n places counts n times, each time with fewer
// lanes.
static void away_each(warp *w, frag *f, const xblock *x, const uop *u, uint32_t lanes) {
    uint32_t to[ORR_WARP], first = orr_ffs(lanes);
    const uint32_t *reg = SRC_A(w, u, uint32_t);
    LANES to[i] = reg[i] + u->imm;
    uint32_t same = like_first(to, lanes);
    others_go_on(w, f, lanes);
    f->mask = same;
    stay_at(w, f, x, lanes & ~same);
    if (u->inst->sass == ORR_SASS_CALL && to[first] < ORR_CODE_BASE && !call_system(w, u, same, to)) return;
    int32_t pc = block_at(w->tb->prog, to[first]);
    if (pc < 0) {
        orr_fault(w, u, first, "jump to 0x%x, where no instruction that can be jumped to is", to[first]);
        return;
    }
    f->pc = (uint32_t)pc;
    f->turn = ++w->turn;
}

static void strike(warp *w, const uop *u, uint32_t lanes) { // BREAK
    uint32_t *row = OPER(w, u->a, uint32_t), members = 0;
    for (uint32_t m = lanes; m; m &= m - 1) members |= row[orr_ffs(m)];
    for (uint32_t m = members; m; m &= m - 1) row[orr_ffs(m)] &= ~lanes;
}

static void wait_at(warp *w, frag *f, uint8_t bar, uint32_t need, uint32_t at) {
    w->convergence.waiting |= f->mask;
    if (bar != BY_WARP) w->convergence.at_bsync |= 1u << (f - w->frags);
    f->state = FRAG_SYNC;
    f->bar = bar;
    f->needed_lanes = need;
    f->waits_at = at;
}

// Fragments that wait at the same WARPSYNC as f execute it again.
static void poll(warp *w, const frag *f) {
    uint32_t lanes = 0, at = f->waits_at;
    ++w->turn;
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
        frag *g = &w->frags[n];
        if (g->state != FRAG_SYNC || g->bar != BY_WARP || g->waits_at != at) continue;
        lanes |= g->mask;
        g->blocked = w->turn;
        if (!(g->mask & w->convergence.has_yielded) == !(f->mask & w->convergence.has_yielded))
            g->since = w->turn;
    }
    orr_warp_again(w, at, lanes);
}

// Lanes that wait at a BSYNC for others which have all yielded since.
static uint32_t left_by(const warp *w, const frag *f) {
    if (f->state != FRAG_SYNC || f->bar == BY_WARP) return 0;
    uint32_t rest = needs(w, f) & ~f->mask;
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1))
        if (alike(w, f, &w->frags[n])) rest &= ~w->frags[n].mask;
    return rest & ~w->convergence.yielded ? 0 : rest;
}

// Lanes that wait at a WARPSYNC go on, and execute it once more.
static void let_go(warp *w, frag *f, uint32_t rest) {
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
        frag *g = &w->frags[n];
        if (g == f || !alike(w, f, g)) continue;
        f->mask |= g->mask;
        free_frag(w, g);
    }
    forget(w, f->bar, rest);
    orr_warp_again(w, f->waits_at, f->mask);
    go_on(w, f);
    f->turn = ++w->turn;
    w->polls.polled = 0;
}

// Lanes wait at a WARPSYNC for others, which wait at BSYNCs for them: those at the WARPSYNC go on, those at
// one place together. (H200: micro/hopper, collective: with a mask and .COLLECTIVE. Where the others wait at
// another WARPSYNC, at the block's barrier or in a loop of their own, nobody goes on.)
static frag *pass_sync(warp *w) {
    uint32_t at_bsync = 0;
    frag *go = NULL;
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
        const frag *f = &w->frags[n];
        if (f->state == FRAG_SYNC && f->bar != BY_WARP) at_bsync |= f->mask;
    }
    for (int n = next_frag(w, 0); n < ORR_WARP && !go; n = next_frag(w, n + 1)) {
        frag *f = &w->frags[n];
        if (f->state == FRAG_SYNC && f->bar == BY_WARP && !(needs(w, f) & ~(f->mask | at_bsync))) go = f;
    }
    for (int n = next_frag(w, 0); n < ORR_WARP && go; n = next_frag(w, n + 1)) {
        frag *g = &w->frags[n];
        if (g == go || !alike(w, go, g) || g->pc != go->pc || g->needed_lanes != go->needed_lanes) continue;
        go->mask |= g->mask;
        free_frag(w, g);
    }
    if (!go) return NULL;
    go_on(w, go);
    go->turn = ++w->turn;
    w->polls.polled = 0;
    return go;
}

// All lanes of the warp wait at BSYNCs for each other, as may be in a recursion whose code saves barriers
// around calls: those that came last go on alone.
static frag *break_circle(warp *w) {
    uint32_t waiting = 0;
    frag *last = pass_sync(w);
    if (last) return last;
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
        frag *f = &w->frags[n];
        if (f->state != FRAG_SYNC || f->bar == BY_WARP) continue;
        waiting |= f->mask;
        if (!last || f->turn > last->turn) last = f;
    }
    if (!last || w->live & ~waiting) return NULL;
    let_go(w, last, needs(w, last) & ~last->mask);
    return last;
}

frag *orr_sass_choose(warp *w, bool yields) {
    if (w->used && !(w->used & (w->used - 1))) { // all lanes are at one place, as nearly always
        frag *only = &w->frags[orr_ffs(w->used)];
        if (only->state == FRAG_READY) return only;
        if (only->state == FRAG_BAR) return NULL;
    }
    bool merge = yields;
    for (bool polled = false;; yields = false) {
        frag *best = NULL, *waits = NULL;
        uint32_t since = 0;
        for (uint32_t left = yields ? w->used : w->used & ~w->convergence.at_bsync; left; left &= left - 1) {
            frag *f = &w->frags[orr_ffs(left)];
            bool earlier = best && f->turn < best->turn;
            if (f->state == FRAG_READY &&
                (!best || f->since < best->since || (f->since == best->since && earlier == yields)))
                best = f;
            if (f->state != FRAG_SYNC || (f->bar != BY_WARP && !(yields && left_by(w, f)))) continue;
            uint32_t when = f->bar == BY_WARP && merge ? f->since : f->blocked;
            if (!waits || when < since) waits = f, since = when;
        }
        if (!best) return break_circle(w);
        if (waits && since < best->since && waits->bar == BY_WARP && !polled) {
            poll(w, waits);
            polled = true;
            continue;
        }
        if (waits && since < best->since && waits->bar != BY_WARP) {
            let_go(w, waits, left_by(w, waits));
            return waits;
        }
        for (int n = next_frag(w, 0); n < ORR_WARP && merge;
             n = next_frag(w, n + 1)) { // who is at the same place goes with it
            frag *g = &w->frags[n];
            if (g == best || g->state != FRAG_READY || g->pc != best->pc) continue;
            best->mask |= g->mask;
            free_frag(w, g);
        }
        return best;
    }
}

uint32_t orr_sass_seen(const warp *w, uint32_t *gone) {
    uint32_t seen = 0;
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
        const frag *f = &w->frags[n];
        if (f == w->frag) continue;
        if (f->state == FRAG_READY || (f->state == FRAG_SYNC && f->bar == BY_WARP)) seen |= f->mask;
    }
    *gone = ~(seen | w->frag->mask);
    return seen;
}

static bool anyone_else(const warp *w, const frag *f) {
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1))
        if (&w->frags[n] != f && (w->frags[n].state == FRAG_READY || w->frags[n].state == FRAG_SYNC))
            return true;
    return false;
}

// BRA.DIV UR4, BRA.CONV UR4: the warp asks whether the lanes of UR4 are all here and pass the guard, and all
// of it goes the same way.
static bool together(const warp *w, const uop *u, uint32_t lanes) {
    return lanes == (*SRC_B(w, u, uint32_t) & w->live);
}

// Lanes all of whose partners are here go on, together, whatever masks they name; the others wait, those with
// the same mask together.
static void sync_lanes(warp *w, frag *f, const xblock *x, const uop *u, uint32_t lanes) {
    const uint32_t *row = SRC_A(w, u, uint32_t);
    uint32_t ready = 0;
    for (uint32_t m = lanes; m; m &= m - 1)
        if (!(row[orr_ffs(m)] & w->live & ~lanes)) ready |= m & -m;
    for (uint32_t left = lanes & ~ready; left;) {
        uint32_t same = like_first(row, left), need = row[orr_ffs(left)];
        left &= ~same;
        frag *g = f;
        if (left | ready)
            g = orr_warp_part(
                w, (frag){.mask = same, .pc = f->pc, .join = -1, .frame = f->frame, .since = f->since});
        g->mask = same;
        wait_at(w, g, BY_WARP, need, (uint32_t)(x - w->tb->prog->blocks));
        g->since = g->blocked = ++w->turn;
    }
    if (ready) f->mask = ready;
}

// What follows WARPSYNC.COLLECTIVE and .EXCLUSIVE is for the lanes of one mask; those with another execute it
// again.
static void sync_one_mask(warp *w, frag *f, const xblock *x, const uop *u, uint32_t lanes) {
    const uint32_t *row = SRC_A(w, u, uint32_t);
    uint32_t need = row[orr_ffs(lanes)];
    f->mask = like_first(row, lanes);
    stay_at(w, f, x, lanes & ~f->mask);
    if (!(need & w->live & ~f->mask)) return;
    wait_at(w, f, BY_WARP, need, (uint32_t)(x - w->tb->prog->blocks));
    f->since = f->blocked = ++w->turn;
}

// Lanes come to a BSYNC. Those that wait for the same ones wait together; lanes at different depths of a
// recursion wait for different ones.
static void wait_alike(warp *w, frag *f, const xblock *x, uint8_t bar) {
    const uint32_t *row = masks_of(w, bar);
    uint32_t here = (uint32_t)(x - w->tb->prog->blocks), left = f->mask;
    ++w->turn;
    while (left) {
        uint32_t same = like_first(row, left);
        frag *g = f;
        left &= ~same;
        if (left) g = orr_warp_part(w, (frag){.pc = f->pc, .join = -1, .frame = f->frame, .since = f->since});
        g->mask = same;
        wait_at(w, g, bar, 0, here);
        g->blocked = w->turn;
        w->convergence.yielded &= ~(needs(w, g) | same); // who yields from now on is not waited for
    }
}

// Lanes that noted different ones, each for itself, and are all here: none waits, and they stay together
// (H200: micro/race, turns: behind a WARPSYNC.COLLECTIVE at which lanes came one by one, 32 go on as one).
static bool all_here(const warp *w, uint32_t lanes, uint8_t bar) {
    const uint32_t *row = masks_of(w, bar);
    uint32_t need = 0;
    if (like_first(row, lanes) == lanes) return false; // nearly always
    for (uint32_t m = lanes; m; m &= m - 1) need |= row[orr_ffs(m)];
    return !(need & w->live & ~lanes);
}

// Whom the first of these lanes waits for at a BSYNC of a restored register, those too that have ended; 0: it
// has not been restored.
static uint32_t restored_with(const warp *w, uint32_t lanes, uint8_t bar) {
    const uint32_t *row = masks_of(w, bar);
    return w->convergence.restored >> bar & 1 ? row[orr_ffs(lanes)] : 0;
}

// Some that f would meet at this BSYNC were passed by: all that are at it go on with f.
static bool frees_all(warp *w, frag *f, uint32_t here, uint8_t bar) {
    uint32_t need = restored_with(w, f->mask, bar) & w->live;
    bool any = false;
    if (!need) return false;
    for (int n = next_frag(w, 0); n < ORR_WARP && !any; n = next_frag(w, n + 1)) {
        const frag *g = &w->frags[n];
        any = g->state == FRAG_READY && g != f && g->pc == here && g->overtaken && g->mask & need;
    }
    for (int n = next_frag(w, 0); n < ORR_WARP && any; n = next_frag(w, n + 1)) {
        frag *g = &w->frags[n];
        bool ready = g->state == FRAG_READY && g->pc == here,
             waits = g->state == FRAG_SYNC && g->waits_at == here;
        if (g == f || !(ready || waits)) continue;
        f->mask |= g->mask;
        free_frag(w, g);
    }
    return any;
}

// Lanes come to a BSYNC, and all that they would wait for have yielded and not gone on since: they do not
// wait, and the barrier is no more.
static bool left_alone(warp *w, const frag *f, uint32_t lanes, uint8_t bar) {
    const uint32_t *row = masks_of(w, bar);
    uint32_t rest = 0, gone;
    if (!w->convergence.has_yielded) return false;                   // nobody has yielded
    for (uint32_t m = lanes; m; m &= m - 1) rest |= row[orr_ffs(m)]; // they may have noted different ones
    gone = rest &= w->live & ~lanes;
    if (!rest || w->convergence.restored >> bar & 1) return false;
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
        const frag *g = &w->frags[n];
        if (g != f && g->state == FRAG_READY && g->yielded) gone &= ~g->mask;
    }
    if (gone) return false;
    forget(w, bar, rest);
    return true;
}

// Lanes have come to the block's BSYNC: they wait there for those of their barrier, or go on with them.
static void meet_at_bsync(warp *w, frag *f, const xblock *x, uint32_t lanes) {
    uint8_t bar = (uint8_t)x->last->imm;
    f->overtaken = false;
    if (all_here(w, lanes, bar) || left_alone(w, f, lanes, bar)) return;
    if (restored_with(w, lanes, bar) & ~w->live) return;
    if (frees_all(w, f, (uint32_t)(x - w->tb->prog->blocks), bar)) return;
    wait_alike(w, f, x, bar);
    if (f->mask != lanes)
        meet(w);
    else if (needs(w, f) & ~lanes && w->convergence.dropped_lanes)
        meet(w);
    else if (!(needs(w, f) & ~lanes))
        go_on(w, f); // all are here, as nearly always
    else if (may_meet(w, f))
        meet_at(w, (int)(f - w->frags)); // nothing has changed for the others
}

void orr_sass_last(warp *w, frag *f, const xblock *x) {
    const uop *u = x->last;
    f->yielded = false;
    uint32_t all = f->mask;
    w->convergence.waiting &= ~all;
    if (!u) {
        f->pc = (uint32_t)x->next;
        return;
    }
    uint32_t lanes = guarded(w, u, all);
    w->exec = all;
    if (!u->c.none && u->c.cls == ORR_P && u->inst->sass != ORR_SASS_BAR) lanes &= pred_of(w, u->c);
    f->pc = (uint32_t)x->next;
    if (u->inst->sass == ORR_SASS_BRA && (u->inst->sub == BRANCH_DIV || u->inst->sub == BRANCH_CONV)) {
        if (together(w, u, lanes) == (u->inst->sub == BRANCH_CONV)) away(w, f, u, all);
        return;
    }
    if (!lanes) return;
    switch (u->inst->sass) {
    case ORR_SASS_BRA:
    case ORR_SASS_JMP: away(w, f, u, u->inst->sub == BRANCH_ANY ? all : lanes); return;
    case ORR_SASS_CALL:
        if (u->a.none) {
            away(w, f, u, lanes);
            return;
        } // fall through
    case ORR_SASS_BRX:
    case ORR_SASS_BRXU:
    case ORR_SASS_JMX:
    case ORR_SASS_JMXU:
    case ORR_SASS_RET: away_each(w, f, x, u, lanes); return;
    case ORR_SASS_EXIT:
    case ORR_SASS_KILL:
        orr_warp_exit(w, f, lanes);
        meet(w);
        return;
    case ORR_SASS_BSYNC:
        others_go_on(w, f, lanes);
        meet_at_bsync(w, f, x, lanes);
        return;
    case ORR_SASS_WARPSYNC:
        others_go_on(w, f, lanes);
        if (u->inst->sub == SYNC_PLAIN)
            sync_lanes(w, f, x, u, lanes);
        else
            sync_one_mask(w, f, x, u, lanes);
        meet(w);
        return;
    case ORR_SASS_BREAK:
        strike(w, u, lanes);
        meet(w);
        return;
    case ORR_SASS_YIELD:
    case ORR_SASS_NANOSLEEP:
        if (!u->a.none) warp_sleeps(w, SRC_A(w, u, uint32_t), lanes);
        w->convergence.yielded |= lanes;
        w->convergence.has_yielded |= lanes;
        f->since = ++w->turn;
        f->yielded = true;
        meet(w);
        w->convergence.switches = anyone_else(w, f);
        return;
    case ORR_SASS_BAR:
        others_go_on(w, f, lanes);
        orr_barrier_arrive(w, f, u);
        return;
    case ORR_SASS_BPT: orr_fault_as(ORR_FAULT_TRAP, w, u, orr_ffs(lanes), "trap"); return;
    default: return;
    }
}

// ---- translation ----------------------------------------------------------------------------
static void decides(warp *w, const uop *u) { // what it does is done by orr_sass_last
    (void)w;
    (void)u;
}
bool orr_sass_decides(const uop *u) { return u->full == decides; }

void orr_sass_ends(xblock *x) {
    const uop *u = x->last;
    x->syncs = u->inst->sass == ORR_SASS_BSYNC;
    if (u->inst->sass == ORR_SASS_BRA && u->inst->sub == BRANCH_PLAIN && u->a.none) x->ends = ENDS_BRANCH;
}

static uop *decide(translator *m, orr_inst *in, oper a, oper b, oper c) {
    uop *u = m_emit(m, BOTH(decides), 0, 3, OPERS(a, b, c));
    u->inst = in;
    u->imm = in->imm;
    return u;
}

static bool go_to(translator *m, orr_inst *in, oper none) {
    const orr_code *c = m->c;
    const decoded *p = m->p;
    const orr_func *f = function_of(p->kernel, (uint32_t)(m->inst - p->kernel->insts));
    int last = c->nargs - 1;
    const orr_arg *t = &c->args[last];
    if (last < 0 || t->kind != ORR_ARG_TARGET) {
        m->why = "its target is not known";
        return false;
    }
    bool absolute = c->op == ORR_SASS_JMP || c->op == ORR_SASS_JMX || c->op == ORR_SASS_JMXU ||
                    ((c->op == ORR_SASS_CALL || c->op == ORR_SASS_RET) && m_mod(m, ORR_SM_RELABS));
    uint32_t base = (absolute ? 0 : (uint32_t)f->address) + (uint32_t)t->value;
    if (c->op == ORR_SASS_BRX || c->op == ORR_SASS_BRXU) base += c->address + 16;
    oper a = none, b = none, pred = m_psrc(m, 0);
    in->imm = base;
    in->sub = c->op == ORR_SASS_BRA && m_mod(m, ORR_SM_ANY) ? BRANCH_ANY : BRANCH_PLAIN;
    if (t->shape & (ORR_ARG_HAS_R | ORR_ARG_HAS_UR)) {
        a = t->shape & ORR_ARG_HAS_UR ? m_uniform(m, t->ureg) : m_row(m, t->reg);
    } else if (c->op == ORR_SASS_CALL && base < ORR_CODE_BASE) {
        a = m_imm(m, ORR_W, 0);
    } else {
        in->target = block_at(p, base);
        if (in->target < 0) {
            m->why = "its target is not in the kernel";
            return false;
        }
    }
    if (c->op == ORR_SASS_BRA && last == 2) {
        if (m_is(m, 1, ORR_ARG_UR)) {
            unsigned how = m_mod(m, ORR_SM_BRAU);
            b = m_val(m, 1, AS_BITS);
            if (how == ORR_SV_BRAU_DIV) in->sub = BRANCH_DIV;
            if (how == ORR_SV_BRAU_CONV) in->sub = BRANCH_CONV;
        } else { // BRA.U UP0: both must hold
            oper both = m_tmp(m, ORR_P);
            m_emit(m, BOTH(both_masks), 1, 2, OPERS(both, pred, m_psrc(m, 1)));
            pred = both;
        }
    }
    decide(m, in, a, b, pred);
    return true;
}

static bool barrier_sync(translator *m, orr_inst *in, oper none) {
    unsigned kind = m_mod(m, ORR_SM_BAR);
    oper id = m_imm(m, ORR_W, 0), threads = none, pred = m_imm(m, ORR_P, 1), d = none;
    in->op = ORR_OP_BAR;
    in->sub = ORR_BAR_SYNC;
    switch (kind) {
    case ORR_SV_BAR_SYNCALL: break;
    case ORR_SV_BAR_ARV: in->sub = ORR_BAR_ARRIVE; break;
    case ORR_SV_BAR_SYNC: break;
    case ORR_SV_BAR_RED: {
        unsigned red = m_mod(m, ORR_SM_BARRED);
        in->sub = red == ORR_SV_BARRED_POPC  ? ORR_BAR_RED_POPC
                  : red == ORR_SV_BARRED_AND ? ORR_BAR_RED_AND
                                             : ORR_BAR_RED_OR;
        d = red == ORR_SV_BARRED_POPC ? m_result(m)
                                      : (oper){.off = MASK_RESULT * 4, .bank = BANK_P, .cls = ORR_P};
        pred = m_psrc(m, 2);
        break;
    }
    default: m->why = "BAR.SCAN is not executed"; return false;
    }
    if (kind != ORR_SV_BAR_SYNCALL) {
        // A register holds the number in its low four bits and, unless the count is an operand of its own,
        // the threads from bit 16 on; two operands that are one register are such.
        const orr_arg *a = &m->c->args[0], *b = &m->c->args[1];
        if (a->kind == ORR_ARG_R && b->kind == ORR_ARG_R && a->reg == b->reg) {
            oper lo = m_tmp(m, ORR_W), hi = m_tmp(m, ORR_W);
            m_emit(m, PICK(field), 1, 3, OPERS(lo, m_src(m, 0, 0), m_imm(m, ORR_W, 0), m_imm(m, ORR_W, 15)));
            m_emit(m, PICK(field), 1, 3,
                   OPERS(hi, m_src(m, 0, 0), m_imm(m, ORR_W, 16), m_imm(m, ORR_W, 0xfff)));
            id = lo;
            threads = hi;
        } else {
            id = m_src(m, 0, 0);
            if (!m_zero(m, 1) && b->kind != ORR_ARG_NONE) threads = m_src(m, 1, 0);
        }
    }
    uop *u = m_emit(m, BOTH(decides), d.none ? 0 : 1, 3,
                    d.none ? OPERS(id, threads, pred) : OPERS(d, id, threads, pred));
    u->inst = in;
    return true;
}

static bool move_barrier(translator *m) {
    const orr_arg *to = &m->c->args[0], *from = &m->c->args[1];
    oper zero = m_imm(m, ORR_W, 0);
    if ((to->kind == ORR_ARG_B && to->reg >= ROWS_B) || (from->kind == ORR_ARG_B && from->reg >= ROWS_B) ||
        (to->kind != ORR_ARG_B && from->kind != ORR_ARG_B)) {
        m->why = "of what BMOV moves, only B0 to B15 are executed";
        return false;
    }
    oper d = to->kind == ORR_ARG_B ? m_barrier(m, to->reg) : m_dst(m, 0, 0);
    oper s = from->kind == ORR_ARG_B ? m_barrier(m, from->reg) : m_src(m, 1, 0);
    m_emit(m, PICK(copy_row), 1, 1, OPERS(d, s));
    if (to->kind == ORR_ARG_B) m_emit(m, BOTH(restores), 0, 1, OPERS(d))->imm = to->reg;
    if (from->kind == ORR_ARG_B && m_mod(m, ORR_SM_CLEAR)) m_emit(m, PICK(copy_row), 1, 1, OPERS(s, zero));
    return true;
}

static bool move_rpc(translator *m) {
    bool to = m_is(m, 0, ORR_ARG_NAME);
    oper half = m_rpc(m, m->c->args[to ? 0 : 1].value == ORR_SV_FIXED_RPC_HI);
    m_emit(m, PICK(copy_row), 1, 1, to ? OPERS(half, m_src(m, 1, 0)) : OPERS(m_dst(m, 0, 0), half));
    return true;
}

bool orr_sass_control(translator *m) {
    const orr_code *c = m->c;
    oper none = m_imm(m, ORR_Q, 0);
    none.none = 1;
    orr_inst *in;
    switch (c->op) {
    case ORR_SASS_BSSY:
        m_emit(m, BOTH(note_lanes), 1, 0, OPERS(m_barrier(m, c->args[1].reg)))->imm = c->args[1].reg;
        return true;
    case ORR_SASS_BMOV: return move_barrier(m);
    case ORR_SASS_RPCMOV: return move_rpc(m);
    case ORR_SASS_B2R:
        if (m_mod(m, ORR_SM_B2R) != ORR_SV_B2R_RESULT) {
            m->why = "of B2R only .RESULT is executed";
            return false;
        }
        m_emit(m, PICK(copy_row), 1, 1, OPERS(m_dst(m, 0, 0), m_result(m)));
        m_emit(m, BOTH(copy_mask), 1, 1,
               OPERS(m_pdst(m, 1), (oper){.off = MASK_RESULT * 4, .bank = BANK_P, .cls = ORR_P}));
        return true;
    case ORR_SASS_ENDCOLLECTIVE:
    case ORR_SASS_PREEXIT:
    case ORR_SASS_ACQBULK: return true;
    default:
        if (!orr_code_ends_block(c)) return false;
    }
    in = orr_arena_alloc(&m->p->arena, sizeof *in);
    *in = *m->inst;
    switch (c->op) {
    case ORR_SASS_BAR: return barrier_sync(m, in, none);
    case ORR_SASS_EXIT:
    case ORR_SASS_KILL:
    case ORR_SASS_YIELD: decide(m, in, none, none, m_psrc(m, 0)); return true;
    case ORR_SASS_NANOSLEEP:
        decide(m, in, c->nargs > 1 ? m_src(m, 1, 0) : none, none, m_psrc(m, 0));
        return true;
    case ORR_SASS_BPT: decide(m, in, none, none, none); return true;
    case ORR_SASS_BSYNC:
        in->imm = c->args[1].reg;
        decide(m, in, none, none, m_psrc(m, 0));
        return true;
    case ORR_SASS_BREAK: decide(m, in, m_barrier(m, c->args[1].reg), none, m_psrc(m, 0)); return true;
    case ORR_SASS_WARPSYNC: {
        bool every = c->nargs < 2 || m_is(m, 1, ORR_ARG_TARGET); // .ALL
        in->sub = m_mod(m, ORR_SM_WARPSYNC) == ORR_SV_WARPSYNC_PLAIN ? SYNC_PLAIN : SYNC_ONE_MASK;
        decide(m, in, every ? m_imm(m, ORR_W, FULL) : m_src(m, 1, 0), none, m_psrc(m, 0));
        return true;
    }
    default: return go_to(m, in, none);
    }
}
