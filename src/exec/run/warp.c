// Running a warp: blocks of code one after the other, and lanes that part and meet.
//
// Lanes of a warp that are at the same place run together as a fragment. When a branch parts them, a
// join is made for the branch's post-dominator; each part runs on by itself until it gets there and
// waits; when all lanes of the join have come (or exited), they go on as one. A call makes a join
// for the place it returns to. Joins nest; each fragment knows the innermost it is headed for.
//
// That alone would hang programs in which lanes wait for each other, such as a lock taken inside one
// warp: the lane that has the lock waits at a join for those that spin. Volta and later guarantee
// progress to every lane. So do we: a fragment that has polled for its quantum (poll.c) gives way to the
// others, and when it has polled for long without meeting anybody the lanes waiting at joins are let
// through, each with its outer join. A long loop that does not poll keeps its turn.
//
// Operations that name the lanes they work with (shfl.sync and its like) stand first in their block;
// a fragment that gets there waits until all those lanes are there.
#include <stdlib.h>
#include <string.h>

#include "exec/jit/jit.h"
#include "exec/sass/translate.h"

#define POLL_CLOCKS 500 // that clocks of a warp move on when it polls, about what memory takes
#define PATIENCE                                                                                             \
    512 // blocks with an atomic or a volatile access before lanes that wait at joins are let through,
#define SPINS     8 // or so many rounds of a loop that only polls: an H200 hands over after some 300 cycles
#define MAX_DEPTH 4096 // calls

// ---- pools ----------------------------------------------------------------------------------
frag *orr_warp_part(warp *w, frag v) {
    if (w->used == FULL) abort(); // there are never more fragments than lanes
    int n = orr_ffs(~w->used);
    v.state = FRAG_READY;
    v.turn = ++w->turn;
    w->frags[n] = v;
    w->used |= 1u << n;
    return &w->frags[n];
}

// A place of a pool of the warp's, whose free ones are chained by `parent`. It grows when there is none.
#define NEW_OF(name, type, pool, least)                                                                      \
    static int32_t name(warp *w, type v) {                                                                   \
        int32_t at = w->pool.free;                                                                           \
        if (at >= 0) {                                                                                       \
            w->pool.free = w->pool.at[at].parent;                                                            \
        } else {                                                                                             \
            if (w->pool.n == w->pool.cap) {                                                                  \
                w->pool.cap = w->pool.cap ? w->pool.cap * 2 : least;                                         \
                w->pool.at = orr_realloc(w->pool.at, w->pool.cap * sizeof *w->pool.at);                      \
            }                                                                                                \
            at = (int32_t)w->pool.n++;                                                                       \
        }                                                                                                    \
        w->pool.at[at] = v;                                                                                  \
        return at;                                                                                           \
    }
NEW_OF(new_join, join, joins, 16)
NEW_OF(new_frame, frame, frames, 4)
#undef NEW_OF

static void free_join(warp *w, int32_t j) {
    w->joins.at[j].parent = w->joins.free;
    w->joins.free = j;
}

// Lanes leave an activation, which ends with its last one.
static void leave_frame(warp *w, int32_t at, uint32_t lanes) {
    frame *fr = &w->frames.at[at];
    fr->lanes &= ~lanes;
    if (fr->lanes) return;
    fr->parent = w->frames.free;
    w->frames.free = at;
}

// ---- meeting --------------------------------------------------------------------------------
bool orr_warp_settle(warp *w, frag *f) {
    while (f->join >= 0) {
        join *j = &w->joins.at[f->join];
        if (j->pc != f->pc || j->frame != f->frame) break;
        j->arrived |= f->mask;
        if (j->arrived != j->mask) {
            free_frag(w, f);
            return false;
        }
        f->mask = j->mask;
        int32_t parent = j->parent;
        free_join(w, f->join);
        f->join = parent;
        w->polls.polled = 0;
    }
    return true;
}

// Lanes leave the joins from `at` outwards until `stop`; a join that then is complete lets its lanes go.
static void leave_joins(warp *w, uint32_t lanes, int32_t at, int32_t stop) {
    while (at >= 0 && at != stop) {
        join *j = &w->joins.at[at];
        int32_t parent = j->parent;
        j->mask &= ~lanes;
        j->arrived &= ~lanes;
        if (j->mask == 0) {
            free_join(w, at);
        } else if (j->arrived == j->mask) {
            frag go = {.mask = j->mask, .pc = j->pc, .join = parent, .frame = j->frame};
            free_join(w, at);
            orr_warp_settle(w, orr_warp_part(w, go));
        }
        at = parent;
    }
}

void orr_warp_exit(warp *w, frag *f, uint32_t lanes) {
    int32_t at = f->join;
    w->live &= ~lanes;
    f->mask &= ~lanes;
    if (!f->mask) free_frag(w, f);
    leave_joins(w, lanes, at, -1);
    for (int32_t fr = f->frame, up; fr >= 0; fr = up) {
        up = w->frames.at[fr].parent;
        leave_frame(w, fr, lanes);
    }
    if (w->tb->bars_open) orr_barrier_lanes_gone(w->tb);
}

// Let the lanes that wait at joins through, for the sake of those that spin or wait at a barrier. True if
// there were any.
bool orr_warp_release(warp *w) {
    bool any = false;
    uint32_t n = w->joins.n;
    for (uint32_t at = 0; at < n; at++) {
        join *j = &w->joins.at[at];
        if (!j->arrived || j->arrived == j->mask || !j->mask) continue;
        bool used = false; // a freed join has stale contents; only those on somebody's chain count
        for (int x = next_frag(w, 0); x < ORR_WARP && !used; x = next_frag(w, x + 1))
            for (int32_t c = w->frags[x].join; c >= 0 && !used; c = w->joins.at[c].parent)
                used = c == (int32_t)at;
        if (!used) continue;
        frag go = {.mask = j->arrived, .pc = j->pc, .join = j->parent, .frame = j->frame};
        j->mask &= ~j->arrived;
        j->arrived = 0;
        orr_warp_settle(w, orr_warp_part(w, go));
        any = true;
    }
    return any;
}

// ---- lanes that a block waits for -----------------------------------------------------------
// Those of `have` whose wait is over when the lanes of `have` are there. Lanes may name different
// members, as the tiles of a warp do; they part, each group goes on when it is complete.
static uint32_t complete_of(const warp *w, oper members, uint32_t have) {
    const uint32_t *m = (const uint32_t *)(const void *)(w->bank[members.bank] + members.off);
    uint32_t missing = w->live & ~have, done = 0;
    for (uint32_t left = have; left; left &= left - 1)
        if (!(m[orr_ffs(left)] & missing)) done |= left & -left;
    return done;
}

static void set_banks(warp *w, const frame *fr) {
    for (int c = 0; c < ORR_CLASSES; c++) w->bank[c] = w->regs.at[c] + fr->base[c];
}

static int32_t common_join(const warp *w, int32_t a, int32_t b) {
    for (; a >= 0; a = w->joins.at[a].parent)
        for (int32_t x = b; x >= 0; x = w->joins.at[x].parent)
            if (x == a) return a;
    return -1;
}

// The lanes of f that are not in `go` wait on, in a fragment of their own.
static void stay(warp *w, frag *f, uint32_t go) {
    frag *rest =
        orr_warp_part(w, (frag){.mask = f->mask & ~go, .pc = f->pc, .join = f->join, .frame = f->frame});
    rest->state = FRAG_LANES;
    f->mask = go;
}

// Fragments that wait at the start of f's block, with f, if together they are all that f waits for.
static bool gather(warp *w, frag *f) {
    const xblock *x = &w->tb->prog->blocks[f->pc];
    set_banks(w, &w->frames.at[f->frame]);
    uint32_t have = f->mask;
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
        const frag *g = &w->frags[n];
        if (g != f && g->state == FRAG_LANES && g->pc == f->pc && g->frame == f->frame) have |= g->mask;
    }
    uint32_t go = complete_of(w, x->members, have);
    if (!(go & f->mask)) return false;
    for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
        frag *g = &w->frags[n];
        if (g == f || g->state != FRAG_LANES || g->pc != f->pc || g->frame != f->frame || !(go & g->mask))
            continue;
        int32_t meet = common_join(w, f->join, g->join);
        free_frag(w, g);
        int32_t fj = f->join, gj = g->join;
        uint32_t fm = f->mask, gm = g->mask;
        f->mask |= gm;
        f->join = meet;
        leave_joins(w, fm, fj, meet);
        leave_joins(w, gm, gj, meet);
    }
    f->state = FRAG_READY;
    f->waited = true;
    if (f->mask & ~go) stay(w, f, f->mask & go);
    return true;
}

// ---- choosing -------------------------------------------------------------------------------
// The fragment that ran last goes on first (depth first); with `oldest`, the one that has waited
// longest.
static frag *choose(warp *w, bool oldest) {
    if (w->tb->prog->kernel->code.insts) return orr_sass_choose(w, oldest);
    for (;;) {
        frag *best = NULL, *waits = NULL;
        for (int n = next_frag(w, 0); n < ORR_WARP; n = next_frag(w, n + 1)) {
            frag *f = &w->frags[n];
            if (f->state == FRAG_LANES && gather(w, f)) w->polls.polled = 0;
            if (f->state == FRAG_READY && (!best || (oldest ? f->turn < best->turn : f->turn > best->turn)))
                best = f;
            if (f->state == FRAG_LANES) waits = f;
        }
        if (best || !waits) return best;
        // Lanes it waits for are stuck at a join or barrier: it goes on with those that are there.
        waits->state = FRAG_READY;
        waits->waited = true;
    }
}

// ---- calls ----------------------------------------------------------------------------------
static void copy_params(warp *w, uint32_t lanes, uint32_t to, uint32_t from, uint32_t bytes) {
    const decoded *p = w->tb->prog;
    for (uint32_t m = lanes; m; m &= m - 1) {
        uint8_t *mine = w->tb->local + (size_t)(w->index * ORR_WARP + (uint32_t)orr_ffs(m)) * p->local_bytes;
        memmove(mine + to, mine + from, bytes);
    }
}

static const uint64_t *copy_spec(const warp *w, const uop *u, int n) { // immediates after the handle
    int first = u->inst->target < 0 && u->inst->op == ORR_OP_CALL ? 1 : 0;
    return SRC_N(w, u, first + n, uint64_t);
}

static bool grow_registers(warp *w, const frame *fr) {
    const orr_func *fn = &w->tb->prog->kernel->funcs[fr->func];
    for (int c = 0; c < ORR_CLASSES; c++) {
        uint32_t need = fr->base[c] + (fn->nregs[c] + 1) * reg_bytes(c);
        if (need <= w->regs.bytes[c]) continue;
        if (need > (64u << 20)) return false;
        uint32_t size = (need * 2 + 63) & ~63u;
        uint8_t *grown = orr_aligned_alloc(64, size);
        memcpy(grown, w->regs.at[c], w->regs.bytes[c]);
        memset(grown + w->regs.bytes[c], 0, size - w->regs.bytes[c]);
        free(w->regs.at[c]);
        w->regs.at[c] = grown;
        w->regs.bytes[c] = size;
    }
    return true;
}

// The activation that lanes which have parted from these have made by the same call. Registers and frames
// of both are at the same place, so that they are one: lanes can meet inside.
static int32_t same_frame(const warp *w, const frame *v) {
    for (uint32_t n = 0; n < w->frames.n; n++) {
        const frame *x = &w->frames.at[n];
        if (x->lanes && x->parent == v->parent && x->call == v->call && x->func == v->func &&
            x->local == v->local)
            return (int32_t)n;
    }
    return -1;
}

// All lanes of f enter function `callee`.
static void enter(warp *w, frag *f, const uop *u, uint32_t callee, int32_t back) {
    const decoded *p = w->tb->prog;
    const orr_kernel *k = p->kernel;
    const frame from = w->frames.at[f->frame];
    const orr_func *caller = &k->funcs[from.func], *fn = &k->funcs[callee];
    if (u->inst->imm != fn->nparams || u->inst->vec != fn->nresults) {
        orr_fault(w, u, orr_ffs(f->mask), "call of '%s' with %u arguments and %u results; it has %u and %u",
                  fn->name, u->inst->imm, u->inst->vec, fn->nparams, fn->nresults);
        return;
    }
    frame to = {.lanes = f->mask, .func = callee, .parent = f->frame, .call = u, .back = back};
    for (int c = 0; c < ORR_CLASSES; c++) to.base[c] = from.base[c] + (caller->nregs[c] + 1) * reg_bytes(c);
    to.base[ORR_P] = (to.base[ORR_P] + 3) & ~3u;
    to.local = (from.local + caller->local_bytes + from.alloca + 15) & ~15u;
    if ((uint64_t)to.local + fn->local_bytes > p->local_bytes || w->frames.n > MAX_DEPTH ||
        !grow_registers(w, &to)) {
        orr_fault(w, u, orr_ffs(f->mask), "stack overflow: '%s' called too deep", fn->name);
        return;
    }
    for (uint32_t n = 0; n < fn->nparams; n++) {
        uint64_t spec = *copy_spec(w, u, (int)n);
        uint32_t size = (uint32_t)spec < fn->params[n].bytes ? (uint32_t)spec : fn->params[n].bytes;
        copy_params(w, f->mask, to.local + fn->params[n].offset, from.local + (uint32_t)(spec >> 32), size);
    }
    int32_t at = from.lanes == f->mask ? -1 : same_frame(w, &to);
    if (at >= 0)
        w->frames.at[at].lanes |= f->mask;
    else
        at = new_frame(w, to);
    f->join =
        new_join(w, (join){.mask = f->mask, .pc = (uint32_t)back, .frame = f->frame, .parent = f->join});
    f->frame = at;
    f->pc = fn->entry;
}

// Only these lanes do what the block ends with: the others skip it, and all meet behind it.
static void others_skip(warp *w, frag *f, const xblock *x, uint32_t lanes) {
    if (lanes == f->mask) return;
    uint32_t behind = (uint32_t)x->next;
    int32_t j = new_join(w, (join){.mask = f->mask, .pc = behind, .frame = f->frame, .parent = f->join});
    frag skip = {.mask = f->mask & ~lanes, .pc = behind, .join = j, .frame = f->frame};
    f->mask = lanes;
    f->join = j;
    orr_warp_settle(w, orr_warp_part(w, skip));
}

static void do_call(warp *w, frag *f, const uop *u, const xblock *x, uint32_t lanes) {
    others_skip(w, f, x, lanes);
    if (u->inst->target >= 0) {
        enter(w, f, u, (uint32_t)u->inst->target, x->next);
        return;
    }
    // Indirect: lanes with different targets part.
    const uint64_t *handle = SRC_A(w, u, uint64_t);
    uint32_t left = f->mask;
    int32_t j = -1;
    while (left) {
        uint64_t h = handle[orr_ffs(left)];
        uint32_t same = 0;
        for (uint32_t m = left; m; m &= m - 1)
            if (handle[orr_ffs(m)] == h) same |= m & -m;
        int64_t callee = ORR_FUNC_OF_HANDLE(h);
        if (callee < 1 || callee >= (int64_t)w->tb->prog->kernel->nfuncs || ORR_FUNC_HANDLE(callee) != h) {
            orr_fault(w, u, orr_ffs(same), "indirect call to 0x%llx, which is no function",
                      (unsigned long long)h);
            return;
        }
        if (same != left && j < 0) {
            j = new_join(
                w, (join){.mask = f->mask, .pc = (uint32_t)x->next, .frame = f->frame, .parent = f->join});
            f->join = j;
        }
        left &= ~same;
        if (left) {
            frag *part =
                orr_warp_part(w, (frag){.mask = same, .pc = f->pc, .join = f->join, .frame = f->frame});
            f->mask = left;
            enter(w, part, u, (uint32_t)callee, x->next);
            set_banks(w, &w->frames.at[f->frame]);
            handle = SRC_A(w, u, uint64_t);
        } else {
            enter(w, f, u, (uint32_t)callee, x->next);
        }
    }
}

// Lanes return from the function f is in. In the entry function that is an exit.
static void do_return(warp *w, frag *f, uint32_t lanes) {
    const frame fr = w->frames.at[f->frame];
    if (fr.parent < 0) {
        orr_warp_exit(w, f, lanes);
        return;
    }
    const orr_func *fn = &w->tb->prog->kernel->funcs[fr.func];
    const frame up = w->frames.at[fr.parent];
    for (uint32_t n = 0; n < fn->nresults; n++) {
        uint64_t spec = *copy_spec(w, fr.call, (int)(fn->nparams + n));
        uint32_t size = (uint32_t)spec < fn->results[n].bytes ? (uint32_t)spec : fn->results[n].bytes;
        copy_params(w, lanes, up.local + (uint32_t)(spec >> 32), fr.local + fn->results[n].offset, size);
    }
    int32_t at = f->join, out = at; // the joins inside the function are of no use to them
    while (out >= 0 && w->joins.at[out].frame == f->frame) out = w->joins.at[out].parent;
    frag back = {.mask = lanes, .pc = (uint32_t)fr.back, .join = out, .frame = fr.parent};
    leave_frame(w, f->frame, lanes);
    f->mask &= ~lanes;
    if (!f->mask) free_frag(w, f);
    leave_joins(w, lanes, at, out);
    orr_warp_settle(w, orr_warp_part(w, back));
}

// ---- branches -------------------------------------------------------------------------------
// Lanes that meet nowhere but at the end do not wait for each other there while others wait for them.
static void part_join(warp *w, frag *f, const xblock *x) {
    int32_t ipdom = x->ipdom;
    if (ipdom < 0 || (x->parts && f->join >= 0)) return;
    if (f->join >= 0 && w->joins.at[f->join].pc == (uint32_t)ipdom && w->joins.at[f->join].frame == f->frame)
        return;
    f->join =
        new_join(w, (join){.mask = f->mask, .pc = (uint32_t)ipdom, .frame = f->frame, .parent = f->join});
}

static void do_branch(warp *w, frag *f, const uop *u, const xblock *x, uint32_t taken) {
    if (taken == f->mask) {
        f->pc = (uint32_t)u->inst->target;
    } else if (!taken) {
        f->pc = (uint32_t)x->next;
    } else {
        part_join(w, f, x);
        frag other = {.mask = taken, .pc = (uint32_t)u->inst->target, .join = f->join, .frame = f->frame};
        f->mask &= ~taken;
        f->pc = (uint32_t)x->next;
        f->turn = ++w->turn;
        orr_warp_settle(w, orr_warp_part(w, other));
        f->turn = ++w->turn;
    }
    orr_warp_settle(w, f);
}

static void do_table(warp *w, frag *f, const uop *u, const xblock *x, uint32_t lanes) {
    const uint32_t *index = SRC_A(w, u, uint32_t);
    const uint32_t *table = w->tb->prog->kernel->tables + u->inst->target;
    for (uint32_t m = lanes; m; m &= m - 1)
        if (index[orr_ffs(m)] >= u->imm) {
            orr_fault(w, u, orr_ffs(m), "branch table index %u is past the %u targets", index[orr_ffs(m)],
                      u->imm);
            return;
        }
    uint32_t left = f->mask, copy[ORR_WARP];
    memcpy(copy, index, sizeof copy);
    bool parted = false;
    while (left) {
        int first = orr_ffs(left);
        bool skips = !(lanes >> first & 1); // guarded off
        uint32_t to = skips ? (uint32_t)x->next : table[copy[first]];
        uint32_t same = 0;
        for (uint32_t m = left; m; m &= m - 1) {
            int n = orr_ffs(m);
            uint32_t goes = lanes >> n & 1 ? table[copy[n]] : (uint32_t)x->next;
            if (goes == to) same |= 1u << n;
        }
        left &= ~same;
        if (left && !parted) {
            part_join(w, f, x);
            parted = true;
        }
        if (left) {
            frag other = {.mask = same, .pc = to, .join = f->join, .frame = f->frame};
            f->mask &= ~same;
            orr_warp_settle(w, orr_warp_part(w, other));
        } else {
            f->pc = to;
            f->turn = ++w->turn;
        }
    }
    orr_warp_settle(w, f);
}

// ---- the loop -------------------------------------------------------------------------------
static void run_plain(warp *w, const uop *u, const uop *end, uint32_t mask) {
    if (mask == FULL) {
        w->exec = FULL;
        for (; u < end; u++) {
            if (u->guard < 0) {
                u->full(w, u);
                continue;
            }
            uint32_t m = guarded(w, u, FULL);
            if (m == FULL) {
                u->full(w, u);
            } else if (m) {
                set_exec(w, m);
                u->masked(w, u);
                w->exec = FULL;
            } else if (u->traced && w->trace) {
                orr_trace_put_access(w->trace, 0, NULL);
            }
        }
        return;
    }
    for (; u < end; u++) {
        uint32_t m = guarded(w, u, mask);
        if (m) {
            set_exec(w, m);
            u->masked(w, u);
        } else if (u->traced && w->trace) {
            orr_trace_put_access(w->trace, 0, NULL);
        }
    }
}

// The block as host code, if it has been compiled, or is now.
static block_fn *host_code(const warp *w, uint32_t block, uint32_t mask) {
    const decoded *p = w->tb->prog;
    jit_block *b = &p->jitted[block];
    int kind = (mask != FULL ? JIT_MASKED : 0) | (w->trace ? JIT_STREAM : 0);
    block_fn *f = atomic_load_explicit(&b->code[kind], memory_order_acquire);
    if (f) return f;
    uint32_t n = atomic_load_explicit(&b->entered[kind], memory_order_relaxed);
    if (n >= JIT_NEVER) return NULL;
    if (n + 1 >= p->hot) return orr_jit_compile(p->jit, block, kind);
    atomic_store_explicit(&b->entered[kind], n + 1, memory_order_relaxed); // threads may lose a count
    return NULL;
}

// All micro-ops of a block but the last, which decides where to go.
static void run_all(warp *w, const xblock *x, uint32_t block, uint32_t mask) {
    block_fn *f = w->tb->prog->jit && !w->step ? host_code(w, block, mask) : NULL;
    if (!f) {
        run_plain(w, x->first, x->end, mask);
        return;
    }
    if (mask == FULL)
        w->exec = FULL;
    else
        set_exec(w, mask);
    f(w);
}

// What the last instruction of a block does. Afterwards f may be gone, waiting, or elsewhere.
static void run_last(warp *w, frag *f, const xblock *x) {
    const uop *u = x->last;
    if (w->tb->prog->kernel->code.insts) {
        orr_sass_last(w, f, x);
        return;
    }
    if (!u) {
        f->pc = (uint32_t)x->next;
        orr_warp_settle(w, f);
        return;
    }
    uint32_t lanes = guarded(w, u, f->mask);
    set_exec(w, lanes);
    switch (u->inst->op) {
    case ORR_OP_BRA: do_branch(w, f, u, x, lanes); return;
    case ORR_OP_BRX: do_table(w, f, u, x, lanes); return;
    default: break;
    }
    if (!lanes) {
        f->pc = (uint32_t)x->next;
        orr_warp_settle(w, f);
        return;
    }
    switch (u->inst->op) {
    case ORR_OP_EXIT:
    case ORR_OP_RET:
        if (lanes != f->mask) f->pc = (uint32_t)x->next;
        if (u->inst->op == ORR_OP_EXIT)
            orr_warp_exit(w, f, lanes);
        else
            do_return(w, f, lanes);
        if (f->state == FRAG_READY && f->mask) orr_warp_settle(w, f);
        return;
    case ORR_OP_TRAP: orr_fault_as(ORR_FAULT_TRAP, w, u, orr_ffs(lanes), "trap"); return;
    case ORR_OP_CALL: do_call(w, f, u, x, lanes); return;
    case ORR_OP_BAR:
        others_skip(w, f, x, lanes);
        f->pc = (uint32_t)x->next;
        if (orr_barrier_arrive(w, f, u)) orr_warp_settle(w, f);
        return;
    default: // bar.warp.sync: the lanes met at the start of the block
        f->pc = (uint32_t)x->next;
        orr_warp_settle(w, f);
        return;
    }
}

// All lanes go on at one place, as they nearly always do. False: run_last has to see.
static inline bool goes_straight(warp *w, frag *f, const xblock *x) {
    const uop *u = x->last;
    uint32_t to = (uint32_t)x->next;
    if (x->ends == ENDS_OTHERWISE) return false;
    if (x->ends == ENDS_BRANCH) {
        uint32_t lanes = guarded(w, u, f->mask);
        if (!u->c.none && u->c.cls == ORR_P) lanes &= pred_of(w, u->c);
        if (lanes && lanes != f->mask) return false;
        if (lanes) to = (uint32_t)u->inst->target;
    }
    if (f->join >= 0 && w->joins.at[f->join].pc == to) return false;
    f->yielded = false;
    f->pc = to;
    w->exec = f->mask;
    w->convergence.waiting &= ~f->mask;
    return true;
}

frag *orr_warp_choose(warp *w, bool yields) { return choose(w, yields); }
void orr_warp_banks(warp *w, const frag *f) { set_banks(w, &w->frames.at[f->frame]); }
void orr_warp_last(warp *w, frag *f, const xblock *x) { run_last(w, f, x); }

// A stream is held until its block is finished; one that never ends must not take all memory with it.
static bool too_long(warp *w, const xblock *x, uint32_t mask) {
    if (!w->trace || w->trace->n <= 1u << 30) return false;
    orr_fault(
        w, x->last ? x->last : x->end - 1, orr_ffs(mask),
        "one warp's stream is longer than 1 GiB; for an endless loop there is --max-insts, for a long one "
        "--counts-only");
    return true;
}

// Up to how many instructions a warp runs before it looks whether it still has to.
static uint64_t look_again(const warp *w, uint64_t most) {
    uint64_t next = w->insts + (1u << 22);
    return next < most ? next : most;
}

static inline void count_block(warp *w, uint32_t block, uint32_t mask) {
    const orr_tally_block *b = &w->tally.of->blocks[block];
    orr_tally_count *n = &w->tally.counts[block];
    int way = orr_tally_way(b, w->tally.from);
    n->runs[way]++;
    n->lanes += (uint32_t)orr_popc(mask);
    w->tally.clock += b->weight[way];
    w->tally.work += b->weight[way];
    w->tally.from = block;
    if (w->trace && w->trace->n > w->tally.of->stream_bytes) w->trace = NULL;
}

void orr_warp_again(warp *w, uint32_t block, uint32_t lanes) {
    if (w->tally.of) count_block(w, block, lanes);
    if (w->trace) orr_trace_put_block(w->trace, block, lanes);
    w->insts++;
    w->thread_insts += (uint32_t)orr_popc(lanes);
}

// The next wait for an mbarrier's phase in the block, behind `at`; x->end: there is none.
static const uop *next_try(const xblock *x, const uop *at) {
    if (!x->tries) return x->end;
    for (const uop *u = at ? at + 1 : x->first; u < x->end; u++)
        if (u->tries) return u;
    return x->end;
}

bool orr_warp_meets(warp *w, frag *f) {
    const xblock *x = &w->tb->prog->blocks[f->pc];
    if (!x->waits || f->waited || f->mask == w->live) return true;
    set_banks(w, &w->frames.at[f->frame]);
    uint32_t go = complete_of(w, x->members, f->mask);
    if (!go) f->state = FRAG_LANES;
    if (go && go != f->mask) stay(w, f, go);
    return go != 0;
}

// Lanes that wait at joins are let through when these have polled for long without meeting anybody, or go
// round a loop that takes a lock.
bool orr_warp_polled(warp *w, frag *f, const xblock *x, int64_t takes) {
    bool again = x->locks && f->state == FRAG_READY && &w->tb->prog->blocks[f->pc] == x;
    if (!x->polls) return false;
    if (x->only_polls) w->ticks += POLL_CLOCKS;
    bool found = x->spins && f->state == FRAG_READY && w->tb->prog->blocks[f->pc].spin_loop != x->spin_loop;
    if (found)
        w->polls.polled = 0;
    else
        w->polls.polled += x->spins ? PATIENCE / SPINS : 1;
    w->polls.budget -= takes;
    if (!again && w->polls.budget > 0) return false;
    w->polls.budget = POLL_QUANTUM;
    w->polls.only_polled = x->only_polls || again;
    if (again || w->polls.polled >= PATIENCE) {
        orr_warp_release(w);
        w->polls.polled = 0;
    }
    if (f->state == FRAG_READY) f->turn = f->since = ++w->turn;
    return true;
}

// The block of code that the lanes of f are at, or what is left of it. False: they wait at a try.
static bool run_block(warp *w, const frag *f, const xblock *x) {
    if (!x->tries) {
        if (x->first < x->end) run_all(w, x, f->pc, f->mask);
        return true;
    }
    const uop *at = w->tries.paused, *begin = at ? at : x->first, *stop = at;
    uint32_t mask = f->mask;
    bool holds = at && !w->tries.may_go && orr_mbar_holds(w, at, mask);
    while (!holds) {
        stop = next_try(x, at);
        if (begin < stop) run_plain(w, begin, stop, mask);
        if (stop == x->end || w->tb->faulted) break;
        holds = orr_mbar_holds(w, stop, mask);
        begin = at = stop;
    }
    w->tries.may_go = false;
    w->tries.held = holds && !w->tb->faulted;
    w->tries.paused = w->tries.held ? stop : NULL;
    return !w->tries.held;
}

// Too many instructions, an earlier block's fault, or a stream that never ends.
static bool gives_up(warp *w, const xblock *x, uint32_t mask, uint64_t *limit, uint64_t most) {
    if (w->insts <= *limit) return false;
    if (*limit < most) {
        *limit = look_again(w, most);
        const worker *k = w->worker;
        if (k->bound && atomic_load_explicit(k->bound, memory_order_relaxed) <= w->tb->index)
            return true; // an earlier block's is the one that counts
        return too_long(w, x, mask);
    }
    orr_fault_as(ORR_FAULT_HANG, w, x->last ? x->last : x->end - 1, orr_ffs(mask),
                 "more than %llu instructions in one warp (--max-insts)", (unsigned long long)most);
    return true;
}

void orr_warp_registers(warp *w) {
    const decoded *p = w->tb->prog;
    worker *k = w->worker;
    bool code = p->kernel->code.insts != NULL;
    w->fresh = false;
    if (!w->regs.at[ORR_W] && k->areas.n) w->regs = k->areas.at[--k->areas.n];
    for (int c = 0; c < ORR_CLASSES; c++) {
        uint32_t need = ((p->rows[c] + 1) * reg_bytes(c) + 63) & ~63u;
        bool grows = w->regs.bytes[c] < need;
        if (grows) {
            free(w->regs.at[c]);
            w->regs.at[c] = orr_aligned_alloc(64, need);
            w->regs.bytes[c] = need;
        }
        uint32_t zero = code ? p->zeroed[c] * reg_bytes(c) : need;
        if (grows || (!code && p->kernel->nfuncs > 1)) zero = w->regs.bytes[c];
        if (zero) memset(w->regs.at[c], 0, zero);
    }
}

void orr_warp_leaves(warp *w) {
    *ORR_PUSH(&w->worker->areas) = w->regs;
    w->regs = (warp_areas){.bytes = {0}};
}

int orr_warp_run(warp *w) {
    if (w->fresh) orr_warp_registers(w);
    const decoded *p = w->tb->prog;
    uint64_t most = p->launch->max_insts ? p->launch->max_insts : UINT64_MAX;
    uint64_t limit = look_again(w, most);
    if (p->kernel->code.insts) set_banks(w, &w->frames.at[0]);
    bool yields = w->polls.yields;
    w->polls.yields = false;
    frag *f = w->tries.paused ? w->frag : choose(w, yields);
    while (f) {
        w->frag = f;
        if (!p->kernel->code.insts)
            set_banks(w, &w->frames.at[f->frame]); // machine code has one set of registers
        for (;;) {
            const xblock *x = &p->blocks[f->pc];
            if (x->waits && !w->tries.paused && !orr_warp_meets(w, f)) break;
            f->waited = false;
            uint32_t mask = f->mask;
            int32_t frame_was = f->frame;
            if (!w->tries.paused) {
                w->shapes.found &= x->keeps;
                if (w->tally.of) count_block(w, f->pc, mask);
                if (w->trace) orr_trace_put_block(w->trace, f->pc, mask);
                w->insts += x->count;
                w->thread_insts += (uint64_t)x->count * (uint32_t)orr_popc(mask);
            }
            if (!run_block(w, f, x)) return RUN_HELD;
            bool straight = goes_straight(w, f, x);
            if (!straight) run_last(w, f, x);
            if (w->tb->faulted || gives_up(w, x, mask, &limit, most)) return RUN_FAULT;
            if (straight && !x->polls) continue;
            bool polled = x->polls && orr_warp_polled(w, f, x, x->only_polls ? POLL_QUANTUM : 1);
            if (w->convergence.switches && !polled) {
                w->convergence.switches = false;
                f = choose(w, true);
                break;
            }
            w->convergence.switches = false;
            if (polled) {
                if (too_long(w, x, mask)) return RUN_FAULT;
                w->polls.yields = true;
                return w->live ? RUN_YIELDS : RUN_DONE;
            }
            if (f->state != FRAG_READY || f->frame != frame_was) break;
        }
        f = f && f->state == FRAG_READY && f->mask ? f : choose(w, false);
    }
    return w->live ? RUN_WAITS : RUN_DONE;
}

void orr_warp_start(warp *w, tblock *tb, uint32_t index) {
    const decoded *p = tb->prog;
    const orr_func *entry = &p->kernel->funcs[0];
    uint32_t threads = p->threads - index * ORR_WARP;
    w->tb = tb;
    w->worker = tb->worker;
    w->step = tb->worker->watch;
    w->index = index;
    w->live = threads >= ORR_WARP ? FULL : (1u << threads) - 1;
    w->carry = 0;
    w->turn = w->polls.polled = w->convergence.yielded = w->convergence.has_yielded =
        w->convergence.restored = w->convergence.waiting = w->convergence.at_bsync = 0;
    w->polls.only_polled = w->polls.yields = w->convergence.switches = w->convergence.dropped_lanes = false;
    w->tries.paused = NULL;
    w->tries.held = w->tries.may_go = false;
    w->polls.budget = POLL_QUANTUM;
    w->products = (warp_products){.n = 0};
    w->shapes.found = 0;
    w->cluster_phase = 0;
    w->insts = w->thread_insts = w->ticks = 0;
    w->joins.n = w->frames.n = 0;
    w->joins.free = w->frames.free = -1;
    w->bank[BANK_CONST] = p->constants;
    w->fresh = true;
    w->used = 0;
    if (w->bars.some) w->bars = (warp_bars){.some = false};
    new_frame(w, (frame){.lanes = w->live, .func = 0, .parent = -1});
    orr_warp_part(w, (frag){.mask = w->live, .pc = entry->entry, .join = -1, .frame = 0});
}
