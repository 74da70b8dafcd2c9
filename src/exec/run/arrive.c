// Waits for an mbarrier, and what streams say of them.
//
// mbarrier.try_wait (SYNCS.PHASECHK.TRYWAIT) waits: on an H200 it fails after 7,860 cycles, not before, so
// that a loop around it goes round once, mostly (docs/archive/h200/atomics.md). Here a warp gives way in
// front of a try whose phase is not over and is held until the arrival that ends it; then it executes the
// try, once, and that succeeds. When nobody of the thread block can go on, the try of one of them fails, as
// it does there when its time is up: who waits for lanes of its own warp goes on like this, and who would
// wait for ever gives up if it knows how to. mbarrier.test_wait does not wait.
//
// A stream has the mbarrier's address for every operation on it, and for a wait that succeeds its version:
// how many operations of lanes (arrivals, expected bytes, copies that arrive) were made on the mbarrier until
// the phase was over that it waited for. In the order of time another warp may come first; but of so many
// operations none can belong to a later phase.
#include <string.h>

#include "exec/block.h"
#include "exec/ops/wgmma.h"

enum { VAIN_TRIES = 1 << 20 }; // on a GPU they take four seconds

void orr_mbar_find(decoded *p) {
    for (uint32_t b = 0; b < p->kernel->nblocks; b++) {
        xblock *x = &p->blocks[b];
        for (const uop *u = x->first; u < x->end; u++) {
            bool tries = u->inst->op == ORR_OP_MBARRIER && u->inst->sub == ORR_MBAR_TRY_WAIT && !u->d.none;
            tries |= u->inst->op == ORR_OP_WGSYNC && u->inst->sub == ORR_WG_WAIT;
            tries |= u->inst->op == ORR_OP_CLBAR && u->inst->sub == ORR_BAR_SYNC;
            p->uops[u - p->uops].tries = tries;
            x->tries |= tries;
            p->unset |= u->inst->op == ORR_OP_WGMMA;
        }
    }
    p->unset = p->unset && orr_mem_strict(p->launch->mem);
}

// The try is made on trial: its predicate is as it was.
bool orr_mbar_holds(warp *w, const uop *u, uint32_t mask) {
    uint32_t lanes = u->tries ? guarded(w, u, mask) : 0;
    if (!lanes) return false;
    if (u->inst->op == ORR_OP_WGSYNC) return orr_wgmma_holds(w);
    if (u->inst->op == ORR_OP_CLBAR) return orr_cluster_holds(w);
    orr_trace_out *trace = w->trace;
    uint32_t *to = OPER(w, u->d, uint32_t), was = *to;
    w->trace = NULL;
    set_exec(w, lanes);
    u->masked(w, u);
    bool over = !(lanes & ~*to);
    *to = was;
    w->trace = trace;
    return !over && !w->tb->faulted;
}

static mbar_count *count_of(tblock *tb, const uint8_t *host) {
    uint32_t at = (uint32_t)(host - tb->shared);
    for (size_t n = tb->mbars.n; n-- > 0;)
        if (tb->mbars.at[n].at == at) return &tb->mbars.at[n];
    mbar_count *c = ORR_PUSH(&tb->mbars);
    *c = (mbar_count){.at = at};
    return c;
}

// Held warps of a block whose wait may be over; `by`: who ended it, NULL: nobody in particular.
static void let_held(tblock *tb, const warp *by) {
    for (uint32_t n = 0; n < tb->prog->nwarps; n++) {
        warp *o = &tb->warps[n];
        if (!o->tries.held) continue;
        uint32_t exec = o->exec;
        bool holds = orr_mbar_holds(o, o->tries.paused, o->frag->mask);
        set_exec(o, exec);
        if (holds) continue;
        o->tries.held = false;
        o->tries.may_go = true;
        if (!by) continue;
        if (o->tally.clock < by->tally.clock) o->tally.clock = by->tally.clock;
    }
}

void orr_mbar_recheck(tblock *tb) { let_held(tb, NULL); }

// What another block of the cluster does is counted, too: its stream says which mbarrier of whose.
void orr_mbar_done(warp *w, const uint8_t *at, bool over) {
    tblock *tb = orr_cluster_owner(w->tb, at);
    mbar_count *c = count_of(tb, at);
    c->operations++;
    tb->failed_tries = 0;
    if (!over) return;
    c->at_phase_end = c->operations;
    let_held(tb, w);
}

void orr_mbar_copy(warp *w, const uint8_t *at, uint32_t from, uint32_t bytes) {
    tblock *tb = orr_cluster_owner(w->tb, at);
    orr_copy_begins(tb, count_of(tb, at), from, bytes);
}

void orr_mbar_found(warp *w, const uop *u, size_t head, uint8_t *const host[ORR_WARP], uint32_t over) {
    uint32_t version[ORR_WARP] = {0}, any = 0;
    for (uint32_t m = w->tb->flights.n ? over & w->exec : 0; m; m &= m - 1)
        orr_copies_land(w->tb, count_of(w->tb, host[orr_ffs(m)]));
    if (!w->trace || !u->traced) return;
    for (uint32_t m = over & w->exec; m; m &= m - 1)
        any |= version[orr_ffs(m)] = count_of(w->tb, host[orr_ffs(m)])->at_phase_end;
    if (any) orr_trace_put_versions(w->trace, head, w->exec, version);
}

// A program may try some times and then do something else; after so many tries in which nobody arrived it
// never will.
bool orr_mbar_fail_one(tblock *tb) {
    uint32_t warps = tb->prog->nwarps;
    if (tb->failed_tries >= VAIN_TRIES) return false;
    for (uint32_t k = 0; k < warps; k++) {
        warp *w = &tb->warps[(tb->next_failing + k) % warps];
        if (!w->live || !w->tries.held || w->tries.paused->inst->op != ORR_OP_MBARRIER) continue;
        w->tries.held = false;
        w->tries.may_go = true;
        tb->next_failing = (tb->next_failing + k + 1) % warps;
        tb->failed_tries++;
        return true;
    }
    return false;
}
