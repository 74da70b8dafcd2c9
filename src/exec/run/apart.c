// What a launch's thread blocks have to do with each other in global memory: the code's part of the answer is
// in the kernel (isa/effects.c, sass/effects.c); here the parameters and variables that addresses are made
// from become allocations.
#include <string.h>

#include "exec/block.h"
#include "isa/observable.h"

// The allocation of each base; NULL: none, it is no pointer. False: a variable is in several places, or an
// address is made of loaded pointers.
static bool find_allocations(const orr_launch *l, const range *at[ORR_MAX_BASES]) {
    const orr_kernel *k = l->kernel;
    for (uint32_t n = 0; n < k->effects.nbases; n++) {
        const orr_base *b = &k->effects.bases[n];
        uint64_t addr = 0;
        if (!b->param && l->image->nmoved) return false;
        if (!b->param)
            addr = l->image->var_addr[b->which];
        else if (b->which <= k->param_bytes && k->param_bytes - b->which >= 8)
            memcpy(&addr, l->params + b->which, 8);
        at[n] = orr_mem_find(l->mem, addr);
    }
    for (uint32_t m = 0; m < k->effects.nloaded_with; m++) {
        bool some = false;
        for (uint32_t n = 0; n < k->effects.nbases; n++) some |= at[n] && k->effects.loaded_with[m] >> n & 1;
        if (!some) return false;
    }
    return true;
}

// What is stored to through one base must not be touched through another.
bool orr_keep_apart(const orr_launch *l) {
    const orr_kernel *k = l->kernel;
    if ((k->effects.atomics && !k->effects.reduces) || k->effects.blocks_meet) return false;
    for (uint32_t n = 0; n < k->ninsts; n++) // where bulk copies go is known when they are made
        if (k->insts[n].op == ORR_OP_BULK) return false;
    const range *at[ORR_MAX_BASES];
    if (!find_allocations(l, at)) return false;
    bool stores = false;
    for (uint32_t n = 0; n < k->effects.nbases; n++)
        stores |= k->effects.bases[n].stores || k->effects.bases[n].reduces;
    if (stores && k->effects.reads_anywhere) return false;
    for (uint32_t n = 0; n < k->effects.nbases; n++) {
        const orr_base *b = &k->effects.bases[n];
        if (!b->stores && !b->reduces) continue;
        if (b->loads || !at[n] || (b->reduces && (b->stores || b->loads_own))) return false;
        for (uint32_t m = 0; m < k->effects.nbases; m++) {
            const orr_base *c = &k->effects.bases[m];
            bool other = c->loads || c->loads_own || c->stores || (c->reduces && !b->reduces);
            if (m != n && at[m] == at[n] && other) return false;
        }
    }
    return true;
}

// Who only stores does not race: nobody finds it.
bool orr_may_race(const orr_launch *l) {
    const orr_kernel *k = l->kernel;
    const range *at[ORR_MAX_BASES];
    if (!orr_kernel_may_race(k)) return false;
    if (k->effects.untraced || k->effects.writes_anywhere || !find_allocations(l, at)) return true;
    for (uint32_t n = 0; n < k->effects.nbases; n++) {
        const orr_base *b = &k->effects.bases[n];
        if (!b->stores && !b->reduces) continue;
        if (k->effects.reads_anywhere || b->loads || (b->loads_own && (b->stores_meet || b->reduces)))
            return true;
        for (uint32_t m = 0; m < k->effects.nbases; m++)
            if (m != n && at[n] && at[m] == at[n] &&
                (k->effects.bases[m].loads || k->effects.bases[m].loads_own))
                return true;
    }
    return false;
}

void orr_stored_extent(const orr_launch *l, uint64_t *from, uint64_t *bytes) {
    const orr_kernel *k = l->kernel;
    const range *at[ORR_MAX_BASES];
    uint64_t lo = UINT64_MAX, hi = 0;
    *from = 0;
    *bytes = UINT64_MAX;
    if (k->effects.untraced || k->effects.writes_anywhere || !find_allocations(l, at)) return;
    for (uint32_t n = 0; n < k->effects.nbases; n++) {
        if ((!k->effects.bases[n].stores && !k->effects.bases[n].reduces) || !at[n]) continue;
        if (at[n]->lo < lo) lo = at[n]->lo;
        if (at[n]->lo + at[n]->size > hi) hi = at[n]->lo + at[n]->size;
    }
    *from = lo;
    *bytes = hi > lo ? hi - lo : 0;
}
