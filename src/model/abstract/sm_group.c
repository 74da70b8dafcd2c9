// SMs that do the same are simulated as one.
//
// In most launches SMs run blocks that differ in nothing but their addresses, as the warps of a batch do. A
// group of up to GROUP of them is simulated by its first one. A block that goes there takes others with it,
// one for each SM of the group, whose warps have the same forms as its own (warp_batch.c): its peers. They
// issue when it issues and hit in L1 where it hits; what it sends to L2 each of them sends too, to its own
// addresses and by its own port, and an answer is taken to come when those of all of them come on average.
//
// Peers are looked for among the next blocks. An SM for which there is none gets the next block all the same
// and is simulated by itself for it, as if it had nothing else to do; its place is free again when the first
// one's is. Where that happens often there are no groups any more.
#include "model/abstract/abstract.h"

#define LOOK_AHEAD 24 // blocks
#define LEAST      32 // blocks of a launch

#define TRIED 16 // peers wanted, before it is judged

void abt_group_open(machine *m, const orr_launch_info *info, bool sampled) {
    uint64_t blocks = (uint64_t)info->grid[0] * info->grid[1] * info->grid[2];
    bool one = m->stepped.step || sampled || m->code->asynchronous || m->cluster > 1 || m->kernel->grows ||
               blocks < LEAST;
    m->groups.wanted = m->groups.found = 0;
    m->groups.most = one ? 1 : GROUP;
    m->groups.apart = (m->ncores + m->groups.most - 1) / m->groups.most;
    for (uint32_t n = 0; n < m->ncores; n++)
        m->cores[n].members =
            n < m->groups.apart ? (m->ncores - n + m->groups.apart - 1) / m->groups.apart : 0;
}

// The forms of b's warps, one after the other, are those of other's.
static bool do_the_same(acode *code, const block_traces *b, const block_traces *other) {
    const aform *f = NULL;
    if (b->nwarps != other->nwarps) return false;
    for (uint32_t n = 0; n < b->nwarps; n++)
        if (b->warps[n].n != other->warps[n].n) return false;
    for (uint32_t n = 0; n < b->nwarps; n++) {
        if (!f || !abt_form_has(f, b->warps[n])) f = abt_form_any(code, b->warps[n]);
        if (!f || f->loose || !abt_form_has(f, other->warps[n])) return false;
    }
    return true;
}

block_traces *abt_group_find(machine *m, supply *supply, const block_traces *b, double *reading) {
    block_traces *rest = NULL, *peer = NULL;
    for (uint32_t k = 0; k < LOOK_AHEAD && !peer; k++) {
        double start = orr_seconds();
        block_traces *other = cyc_supply_take(supply);
        *reading += orr_seconds() - start;
        if (!other) break;
        if (other->nblocks == b->nblocks && !abt_left_out(m, other) && do_the_same(m->code, b, other)) {
            peer = other;
        } else {
            other->next = rest;
            rest = other;
        }
    }
    m->groups.wanted += rest || peer;
    m->groups.found += peer != NULL;
    cyc_supply_return(supply, rest);
    return peer;
}

bool abt_group_over(machine *m) {
    if (m->groups.most == 1 || m->groups.wanted < TRIED || m->groups.found * 8 >= m->groups.wanted * 6)
        return false;
    m->groups.most = 1;
    for (uint32_t n = 0; n < m->ncores; n++) m->cores[n].members = 1;
    return true;
}
