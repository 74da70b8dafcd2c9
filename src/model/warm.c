// Which lines of global memory a thread block touches: for caches that are kept warm while it is not
// simulated.
#include "memory/memory.h"
#include "memory/space.h"
#include "model/model.h"

orr_profile *orr_warm_places(const orr_kernel *k, orr_arena *a) {
    orr_profile *p = orr_arena_alloc(a, sizeof *p);
    p->kernel = k;
    p->arena = a;
    orr_profile_grow(p);
    return p;
}

static void touch_access(const orr_inst *i, const orr_mem_place *place, orr_access *a, orr_touch *touch,
                         void *arg) {
    if (place->space != ORR_SPACE_GLOBAL) return; // of a generic one the first place is global memory's
    a->mask &= place->lanes;
    if (i->space == ORR_SPACE_GENERIC)
        for (uint32_t m = a->mask; m; m &= m - 1)
            if (orr_space_at(a->addr[orr_ffs(m)]) != ORR_SPACE_GLOBAL) a->mask &= ~(m & (0 - m));
    if (!a->mask) return;
    orr_coalesced c;
    orr_coalesce(a, place->bytes, ORR_WHOLE_WARP, &c);
    bool atomic = orr_ops[i->op].flags & ORR_F_ATOMIC, write = !(orr_ops[i->op].flags & ORR_F_LOAD) || atomic;
    for (uint32_t n = 0; n < c.lines; n++) {
        orr_touched t = {c.line[n].line, {UINT64_MAX, UINT64_MAX}, c.line[n].sectors, write};
        if (write && !atomic) orr_access_bytes(a, place->bytes, t.line, t.bytes);
        touch(arg, &t);
    }
}

bool orr_warm_block(const orr_profile *p, const orr_tb *tb, orr_touch *touch, void *arg) {
    const orr_kernel *k = p->kernel;
    for (uint32_t w = 0; w < tb->nwarps; w++) {
        orr_trace t = orr_trace_open(tb->warps[w]);
        uint32_t block, mask;
        int more;
        while ((more = orr_trace_block(&t, p->nblocks, &block, &mask)) > 0) {
            uint32_t at = p->first_place[block];
            for (uint32_t n = k->blocks[block].nmem; n; n--) {
                orr_access a;
                if (!orr_trace_access(&t, &a)) return false;
                const orr_inst *i = &k->insts[p->places[at].inst];
                touch_access(i, &p->places[at], &a, touch, arg);
                at += i->space == ORR_SPACE_GENERIC ? 4 : 1; // orr_profile has four places for such
            }
        }
        if (more) return false;
    }
    return true;
}
