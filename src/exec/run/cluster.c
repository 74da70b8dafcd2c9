// Thread block clusters: blocks that run at the same time, see each other's shared memory and have a barrier.
//
// The blocks of a cluster follow each other in the order in which blocks are started: block n is of cluster
// n / size and has rank n % size in it (orr_block_place). All of them are started with the first, on one
// worker, and whoever runs one of them runs them all in turns, until all have ended or others of the grid
// must go on. A block that cannot go on by itself is stalled; when all are, somebody's try of an mbarrier
// fails (arrive.c), and when nobody tries, it is a deadlock.
//
// An address of the cluster's shared memory has the block in bits 24 to 31: of machine code its rank, as mapa
// (PRMT) puts it there; of PTX its rank + 1, so that 0 is the block itself and addresses of variables need
// not know where they are.
#include <stdlib.h>
#include <string.h>

#include "exec/block.h"

uint32_t orr_cluster_size(const orr_launch *l) {
    uint32_t n = 1;
    for (int d = 0; d < 3; d++) n *= l->cluster[d] ? l->cluster[d] : 1;
    return n;
}

void orr_block_place(const orr_launch *l, uint64_t index, uint32_t ctaid[3]) {
    const uint32_t *g = l->grid;
    uint32_t size = orr_cluster_size(l), c[3], n[3];
    uint64_t cluster = index / size, rank = index % size;
    for (int d = 0; d < 3; d++) {
        c[d] = l->cluster[d] ? l->cluster[d] : 1;
        n[d] = g[d] / c[d];
    }
    ctaid[0] = (uint32_t)(cluster % n[0]) * c[0] + (uint32_t)(rank % c[0]);
    ctaid[1] = (uint32_t)(cluster / n[0] % n[1]) * c[1] + (uint32_t)(rank / c[0] % c[1]);
    ctaid[2] = (uint32_t)(cluster / n[0] / n[1]) * c[2] + (uint32_t)(rank / c[0] / c[1]);
}

// ---- life ---------------------------------------------------------------------------------------
cluster *orr_cluster_of(worker *k, uint64_t index, bool *is_new) {
    uint32_t size = orr_cluster_size(k->prog->launch);
    for (cluster *c = k->clusters; c; c = c->next)
        if (c->index == index / size) return *is_new = false, c;
    cluster *c = orr_calloc(1, sizeof *c);
    c->index = index / size;
    c->size = c->left = size;
    c->next = k->clusters;
    k->clusters = c;
    *is_new = true;
    return c;
}

void orr_cluster_leave(tblock *tb) { // it is given back
    cluster *c = tb->cluster;
    if (!c) return;
    c->tb[tb->rank] = NULL;
    tb->cluster = NULL;
    if (--c->left) return;
    cluster **at = &tb->worker->clusters;
    while (*at != c) at = &(*at)->next;
    *at = c->next;
    free(c);
}

// ---- running ------------------------------------------------------------------------------------
static bool somebody_lets_go(cluster *c) {
    for (uint32_t n = 0; n < c->size; n++) {
        uint32_t r = (c->next_failing + n) % c->size;
        if (!c->tb[r] || !c->tb[r]->running || !orr_mbar_fail_one(c->tb[r])) continue;
        c->next_failing = (r + 1) % c->size;
        return true;
    }
    bool released =
        false; // lanes that wait for others of their warp: only when no block of the cluster can go on
    for (uint32_t r = 0; r < c->size; r++)
        released |= c->tb[r] && c->tb[r]->running && orr_block_release(c->tb[r]);
    return released;
}

int orr_cluster_run(tblock *tb) {
    cluster *c = tb->cluster;
    for (;;) {
        bool progress = false, yields = false, running = false;
        for (uint32_t r = 0; r < c->size; r++) {
            tblock *t = c->tb[r];
            if (!t || !t->running) continue;
            int x = orr_block_alone(t);
            if (x == RUN_FAULT) return x;
            progress |= x != RUN_STALLED || t->progressed;
            yields |= x == RUN_YIELDS;
            running |= x != RUN_DONE;
            if (x == RUN_DONE) orr_cluster_check(c);
        }
        if (!running) return RUN_DONE;
        if (!progress && !somebody_lets_go(c)) {
            for (uint32_t r = 0; r < c->size; r++)
                if (c->tb[r] && c->tb[r]->running) {
                    orr_block_deadlock(c->tb[r]);
                    return RUN_FAULT;
                }
        }
        if (yields && tb->prog->kernel->effects.atomics) return RUN_YIELDS;
    }
}

// ---- the barrier ----------------------------------------------------------------------------------
// All threads of the cluster that have not ended arrive, then those that wait go on. A warp waits for the
// phase in which it last arrived.
void orr_cluster_check(cluster *c) {
    uint32_t live = 0;
    for (uint32_t r = 0; r < c->size; r++)
        for (uint32_t n = 0; c->tb[r] && n < c->tb[r]->prog->nwarps; n++)
            live += (uint32_t)orr_popc(c->tb[r]->warps[n].live);
    if (!c->arrived || c->arrived < live) return;
    c->arrived = 0;
    c->phase++;
    for (uint32_t r = 0; r < c->size; r++)
        if (c->tb[r]) orr_mbar_recheck(c->tb[r]);
}

// A block that is in no cluster is a cluster of its own.
static cluster *own_cluster(tblock *tb) {
    if (tb->cluster) return tb->cluster;
    tb->single.size = 1;
    tb->single.tb[0] = tb;
    return &tb->single;
}

void orr_cluster_arrive(warp *w, const uop *u) {
    cluster *c = own_cluster(w->tb);
    (void)u;
    w->cluster_phase = c->phase;
    c->arrived += (uint32_t)orr_popc(w->exec);
    orr_cluster_check(c);
}

bool orr_cluster_holds(const warp *w) {
    const cluster *c = w->tb->cluster ? w->tb->cluster : &w->tb->single;
    return c->phase == w->cluster_phase && c->arrived;
}

// ---- addresses --------------------------------------------------------------------------------------
tblock *orr_cluster_block(tblock *tb, uint64_t addr, uint64_t *offset) {
    uint32_t tag = (uint32_t)(addr >> 24) & 255;
    bool machine = tb->prog->kernel->code.insts != NULL;
    *offset = addr & 0xffffff;
    if (!machine && !tag) return tb;
    uint32_t rank = machine ? tag : tag - 1;
    if (!tb->cluster) { // what is not the block's own is past its end
        if (rank) *offset = addr;
        return tb;
    }
    return rank < tb->cluster->size ? tb->cluster->tb[rank] : NULL;
}

uint32_t orr_cluster_tag(const tblock *tb, uint32_t rank) {
    return (tb->prog->kernel->code.insts ? rank : rank + 1) << 24;
}

tblock *orr_cluster_owner(tblock *tb, const uint8_t *host) { // of a place in shared memory
    const cluster *c = tb->cluster;
    uint32_t bytes = tb->prog->shared_bytes;
    for (uint32_t r = 0; c && r < c->size; r++)
        if (c->tb[r] && host >= c->tb[r]->shared && host < c->tb[r]->shared + bytes) return c->tb[r];
    return tb;
}
