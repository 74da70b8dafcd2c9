// Bulk copies under way to shared memory: copied at once here, on a GPU some time until their mbarrier's
// phase is over. Who reads the bytes before anybody of the block has seen that (a wait of any kind that
// succeeds) reads what happens to be there.
//
// A copy is kept as its bytes, its mbarrier, and which of the operations on that its arrival was. A phase
// that is over has had all operations until mbar_count.over, so a wait that succeeds lands those copies. It
// is not asked whether the warp that reads is the one that has waited or has met it since: what is said to
// race does.
//
// The other way round, a copy may not come to what a product of a group of warps still reads. A product is
// kept with the 16 bytes that it has read, until some warp of its group has waited for it: the four end a
// product together (ops/wgmma.c).
//
// Loads, stores and atomics are looked at in strict memory alone, and so are products that are overwritten:
// who asks for a GPU's ways (--bounds gpu) has them.
#include <stdlib.h>

#include "exec/block.h"

void orr_copy_begins(tblock *tb, const mbar_count *c, uint32_t from, uint32_t bytes) {
    uint32_t kept = 0, end = from + bytes;
    for (size_t n = 0; n < tb->flights.n; n++) { // one that is written over is nobody's concern
        flight f = tb->flights.at[n];
        if (f.from < from || f.end > end) tb->flights.at[kept++] = f;
    }
    tb->flights.n = kept;
    *ORR_PUSH(&tb->flights) = (flight){.from = from, .end = end, .mbar = c->at, .number = c->operations};
}

void orr_copies_land(tblock *tb, const mbar_count *c) {
    uint32_t kept = 0;
    for (size_t n = 0; n < tb->flights.n; n++) {
        flight f = tb->flights.at[n];
        if (f.mbar != c->at || f.number > c->at_phase_end) tb->flights.at[kept++] = f;
    }
    tb->flights.n = kept;
}

const flight *orr_copy_over(const tblock *tb, uint32_t from, uint32_t end) {
    for (size_t n = 0; n < tb->flights.n; n++)
        if (tb->flights.at[n].from < end && from < tb->flights.at[n].end) return &tb->flights.at[n];
    return NULL;
}

// ---- who comes there ----------------------------------------------------------------------------
static bool copies_under_way(const tblock *tb) { // in its cluster
    bool any = tb->flights.n != 0;
    for (uint32_t r = 0; tb->cluster && !any && r < tb->cluster->size; r++)
        any = tb->cluster->tb[r] && tb->cluster->tb[r]->flights.n;
    return any;
}

bool orr_copies_apart(warp *w, const uop *u, uint32_t bytes, uint8_t *const host[ORR_WARP]) {
    if (!copies_under_way(w->tb) || !orr_mem_strict(w->worker->mem)) return true;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = orr_ffs(m);
        const tblock *tb = w->tb;
        if (tb->cluster) tb = orr_cluster_owner(w->tb, host[lane]);
        uintptr_t from = (uintptr_t)host[lane] - (uintptr_t)tb->shared;
        const flight *f =
            from < tb->prog->shared_bytes ? orr_copy_over(tb, (uint32_t)from, (uint32_t)from + bytes) : NULL;
        if (!f) continue;
        uint16_t flags = orr_ops[u->inst->op].flags;
        orr_fault(
            w, u, lane,
            "a race: it %s 0x%x in shared memory, where a bulk copy is under way: nobody has waited for "
            "its mbarrier at 0x%x",
            flags & (ORR_F_STORE | ORR_F_ATOMIC) ? "writes" : "reads", (uint32_t)from, f->mbar);
        return false;
    }
    return true;
}

// ---- products that read -------------------------------------------------------------------------
enum { CHUNK = 16, NUMBER = 24 }; // bits of a product's number; its group of warps, + 1, above them

uint32_t *orr_product_reads(warp *w, uint32_t *mark) {
    tblock *tb = w->tb;
    if (!tb->prog->unset) return NULL;
    if (!tb->read_by) tb->read_by = orr_calloc(tb->prog->shared_bytes / CHUNK + 1, sizeof *tb->read_by);
    *mark = (w->index / 4 + 1) << NUMBER | ((w->products.n + 1) & ((1u << NUMBER) - 1));
    return tb->read_by;
}

void orr_products_over(warp *w, uint32_t allowed) {
    warp_products *p = &w->products;
    const uint32_t kept = sizeof p->ends / sizeof *p->ends;
    if (!allowed || allowed >= kept)
        p->over = p->n;
    else if (p->groups > allowed)
        p->over = p->ends[(p->groups - allowed - 1) % kept];
}

// Does a product that nobody has waited for read some of these bytes? Which, and of which group of warps.
bool orr_product_left(const tblock *tb, uint32_t from, uint32_t bytes, uint32_t *at, uint32_t *group) {
    if (!tb->read_by) return false;
    for (uint32_t c = from / CHUNK; c < (from + bytes + CHUNK - 1) / CHUNK; c++) {
        uint32_t by = tb->read_by[c], number = by & ((1u << NUMBER) - 1), first = ((by >> NUMBER) - 1) * 4;
        bool left = by != 0;
        for (uint32_t n = first; left && n < first + 4 && n < tb->prog->nwarps; n++)
            left = tb->warps[n].live && tb->warps[n].products.over < number;
        if (!left) continue;
        *at = c * CHUNK;
        *group = first;
        return true;
    }
    return false;
}
