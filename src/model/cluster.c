// Thread block clusters (cluster.h).
#include "model/cluster.h"

#include "isa/isa.h"

uint32_t orr_work_cluster(const orr_work *w) {
    uint64_t n = 1;
    for (int d = 0; d < 3; d++) {
        uint32_t of =
            w->launch && w->launch->cluster[0] ? w->launch->cluster[d] : w->info.kernel->bounds.cluster[d];
        n *= of ? of : 1;
    }
    uint64_t blocks = (uint64_t)w->info.grid[0] * w->info.grid[1] * w->info.grid[2];
    return n <= ORR_CLUSTER_MOST && blocks % n == 0 ? (uint32_t)n : 1;
}

// ---- shared memory of other blocks --------------------------------------------------------------
uint32_t orr_cluster_rank(const orr_cluster_seat *b, uint64_t addr, uint64_t *offset) {
    uint64_t at = addr - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES ? addr - ORR_SHARED_WINDOW : addr;
    uint32_t tag = (uint32_t)(at >> 24) & 255;
    *offset = at & 0xffffff;
    if (b->size < 2) return b->rank;
    uint32_t rank = b->machine ? tag : tag ? tag - 1 : b->rank;
    return rank < b->size ? rank : b->rank;
}

orr_far_lanes orr_cluster_far(const orr_cluster_seat *b, const orr_tinst *i, const orr_access *a) {
    orr_far_lanes far = {0};
    uint64_t sector[32], word[32];
    uint32_t seen = 0;
    bool atomic = i->flags & ORR_TF_ATOMIC, arrives = orr_cluster_arrives(i);
    for (uint32_t m = a->mask; m; m &= m - 1) {
        uint32_t lane = orr_ffs(m);
        uint64_t offset, addr = a->addr[lane];
        if (i->space == ORR_SPACE_GENERIC && addr - ORR_SHARED_WINDOW >= ORR_WINDOW_BYTES) continue;
        uint32_t rank = orr_cluster_rank(b, addr, &offset);
        if (rank == b->rank && !arrives) continue;
        if (!far.mask) far.rank = rank;
        far.mask |= 1u << lane;
        uint64_t at = (uint64_t)rank << 24 | offset;
        uint32_t n = i->bytes > 32 ? 1 : (uint32_t)((offset % 32 + i->bytes + 31) / 32);
        for (uint32_t k = 0; k < n; k++) {
            bool joins = false;
            for (uint32_t x = 0; x < seen && !joins; x++)
                joins = sector[x] == at / 32 + k && (!atomic || !(word[x] >> (offset / 4 % 8) & 1)) &&
                        (word[x] |= atomic ? 1ull << (offset / 4 % 8) : 0, true);
            if (joins || seen == 32) continue;
            sector[seen] = at / 32 + k;
            word[seen++] = atomic ? 1ull << (offset / 4 % 8) : 0;
            far.packets++;
        }
    }
    return far;
}

double orr_cluster_packet(const orr_gpu *g, const orr_tinst *i) {
    if (i->flags & ORR_TF_ATOMIC) return g->cluster_atomic_interval;
    return 32 / (i->flags & ORR_TF_LOAD ? g->cluster_load_bytes : g->cluster_store_bytes);
}

uint64_t orr_cluster_latency(const orr_gpu *g, const orr_tinst *i, uint32_t from, uint32_t to) {
    uint32_t tpc = orr_topology_of(g).tpc_sms;
    double latency = from / tpc == to / tpc ? g->cluster_load_near : g->cluster_load;
    return (uint64_t)latency + (uint64_t)(i->flags & ORR_TF_ATOMIC ? g->cluster_atomic_latency : 0);
}

// ---- placement ----------------------------------------------------------------------------------
// SMs of launch.first are apart from their GPC: a cluster of no more blocks than a TPC has SMs goes there
// first, a TPC each, and a larger one never (H200: micro/hopper, place.sm). Others go to the GPCs in turn;
// one is passed over as long as another has room for the cluster on SMs that have fewer blocks.
typedef struct sm_set {
    orr_topology t;
    uint32_t apart; // SMs from 0 on that are no GPC's
    uint32_t gpc;   // the GPC; NO_GPC: SMs from `first` on that are apart
    uint32_t first, end;
} sm_set;
#define NO_GPC UINT32_MAX

static bool is_in(const sm_set *set, uint32_t n) {
    if (set->gpc == NO_GPC) return n >= set->first && n < set->end;
    return n >= set->apart && orr_gpc_of_sm(n, set->t) == set->gpc;
}

// The SM with the fewest blocks, the first of them: a pair of blocks is in one TPC.
static uint32_t emptiest(const orr_cluster_room *x, const sm_set *set) {
    uint32_t best = x->nsms;
    for (uint32_t n = 0; n < x->nsms; n++) {
        if (!is_in(set, n) || x->used[n] >= x->each) continue;
        if (best == x->nsms || x->used[n] < x->used[best]) best = n;
    }
    return best;
}

// A cluster on SMs of the set that have no more than `most` blocks then.
static bool deal_one(const orr_cluster_room *x, const sm_set *set, uint32_t most,
                     const orr_cluster_taker *t) {
    uint32_t sms[ORR_CLUSTER_MOST], room = 0;
    for (uint32_t n = 0; n < x->nsms; n++)
        if (is_in(set, n) && x->used[n] < most) room += most - x->used[n];
    if (room < x->size) return false;
    for (uint32_t r = 0; r < x->size; r++) {
        sms[r] = emptiest(x, set);
        x->used[sms[r]]++;
    }
    return t->take(t->arg, sms);
}

void orr_clusters_deal(const orr_gpu *g, const orr_cluster_room *x, const orr_cluster_taker *t) {
    orr_topology top = orr_topology_of(g);
    uint32_t tpc = top.tpc_sms, apart = (uint32_t)g->launch_first, gpcs = 0;
    if (apart > x->nsms || g->launch_order != ORR_LAUNCH_GPC) apart = 0;
    for (uint32_t n = 0; n < x->nsms; n++)
        if (orr_gpc_of_sm(n, top) >= gpcs) gpcs = orr_gpc_of_sm(n, top) + 1;
    for (uint32_t most = 1; most <= x->each; most++) {
        for (bool some = true; some;) {
            some = false;
            for (uint32_t n = 0; x->size <= tpc && n + tpc <= apart; n += tpc)
                some |= deal_one(x, &(sm_set){.t = top, .gpc = NO_GPC, .first = n, .end = n + tpc}, most, t);
            for (uint32_t k = 0; k < gpcs; k++)
                some |= deal_one(x, &(sm_set){.t = top, .gpc = k, .apart = apart}, most, t);
        }
    }
}
