#include "node/collective.h"

const char *const orr_algo_name[ORR_ALGOS] = {"Ring", "Tree", "NVLS"};
const char *const orr_proto_name[ORR_PROTOS] = {"LL", "LL128", "Simple"};
const char *const orr_collective_name[ORR_COLLECTIVES] = {"AllReduce", "ReduceScatter", "AllGather",
                                                          "Broadcast", "Reduce"};

double orr_collective_factor(enum orr_collective what, int ranks) {
    double n = ranks;
    switch (what) {
    case ORR_COLL_ALL_REDUCE: return 2 * (n - 1) / n;
    case ORR_COLL_REDUCE_SCATTER:
    case ORR_COLL_ALL_GATHER: return (n - 1) / n;
    default: return 1;
    }
}

// Steps from the first rank's first byte to the last rank's last, of them between nodes.
static int steps(enum orr_collective what, int n) {
    switch (what) {
    case ORR_COLL_ALL_REDUCE: return 2 * (n - 1);
    case ORR_COLL_REDUCE_SCATTER:
    case ORR_COLL_ALL_GATHER: return n - 1;
    default: return n;
    }
}

// Of a ring's slowest link: in the node, and where there are several, between them.
static double ring_bandwidth(const orr_team *t) {
    const orr_node *n = t->node;
    double in = n->nccl_bus;
    if (in <= 0 || !t->nvlink) {
        orr_path p;
        orr_node_path(n, 0, n->gpus > 1 ? 1 : ORR_NODE_HOST, &p);
        in = orr_path_bandwidth(&p);
    }
    double out = t->net > 0 ? t->net : n->nic_bandwidth * n->nic_count;
    return t->nodes > 1 && out > 0 && out < in ? out : in;
}

static double net_hop(const orr_team *t, double described) {
    return t->net_latency > described ? t->net_latency : described;
}

static double at_most(double x, double limit) { return limit > 0 && x > limit ? limit : x; }

// ---- ring -----------------------------------------------------------------------------------------
static double ring_latency(const orr_team *t, enum orr_collective what, int proto) { // us
    const orr_node *n = t->node;
    const double base[] = {n->nccl_ring_ll_base, n->nccl_ring_ll128_base, n->nccl_ring_simple_base};
    const double hop[] = {n->nccl_ring_ll_hop, n->nccl_ring_ll128_hop, n->nccl_ring_simple_hop};
    const double net[] = {n->nccl_net_ring_ll_hop, n->nccl_net_ring_ll128_hop, n->nccl_net_ring_simple_hop};
    int all = steps(what, t->ranks), between = t->nodes > 1 ? steps(what, t->nodes) : 0;
    if (between > all) between = all;
    return base[proto] + (all - between) * hop[proto] + between * net_hop(t, net[proto]);
}

static double ring_time(const orr_team *t, enum orr_collective what, double bytes, int proto) {
    const orr_node *n = t->node;
    double bus = ring_bandwidth(t), factor = orr_collective_factor(what, t->ranks);
    if (proto == ORR_PROTO_LL) bus = at_most(bus * n->nccl_ll_share, n->nccl_ll_most);
    if (proto == ORR_PROTO_LL128) bus *= n->nccl_ll128_share;
    return ring_latency(t, what, proto) * 1e3 + bytes * factor / bus;
}

// ---- tree -----------------------------------------------------------------------------------------
static int log2_down(uint64_t x) {
    int k = 0;
    while (x >>= 1) k++;
    return k;
}

// What NCCL's tuner takes off a tree's bandwidth at medium sizes, in tenths, for 64 bytes, 128, ... .
static double medium(int proto, uint64_t bytes) {
    static const char tenths[ORR_PROTOS][24] = {
        {10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10, 10},
        {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10, 10},
        {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9, 9}};
    int at = log2_down(bytes >> 6);
    return bytes < 64 || at > 22 ? 1 : tenths[proto][at] / 10.0;
}

// Up and down again: a chain in the node, a binary tree between nodes.
static double tree_latency(const orr_team *t, int proto) {
    const orr_node *n = t->node;
    const double base[] = {n->nccl_tree_ll_base, n->nccl_tree_ll128_base, n->nccl_tree_simple_base};
    const double hop[] = {n->nccl_tree_ll_hop, n->nccl_tree_ll128_hop, n->nccl_tree_simple_hop};
    const double net[] = {n->nccl_net_tree_ll_hop, n->nccl_net_tree_ll128_hop, n->nccl_net_tree_simple_hop};
    int in_node = (t->ranks + t->nodes - 1) / t->nodes - 1, levels = 0;
    while (1 << levels < t->nodes) levels++;
    return base[proto] + 2 * (in_node * hop[proto] + levels * net_hop(t, net[proto]));
}

static double tree_time(const orr_team *t, uint64_t bytes, int proto) {
    const orr_node *n = t->node;
    double bus = ring_bandwidth(t) * n->nccl_tree_share;
    if (proto == ORR_PROTO_LL) bus = at_most(bus * n->nccl_tree_ll_share, n->nccl_ll_most);
    if (proto == ORR_PROTO_LL128) bus *= n->nccl_tree_ll128_share;
    // Every link carries the data once up and once down.
    return tree_latency(t, proto) * 1e3 + (double)bytes * 2 / (bus * medium(proto, bytes));
}

// ---- sums in the switches (NVLS) --------------------------------------------------------------------
// Bytes that are under way at a time: a chunk for each channel and GPU, smaller ones for small messages
// (NCCL's src/enqueue.cc).
static double under_way(const orr_team *t, uint64_t bytes) {
    uint64_t parts = (uint64_t)t->node->nccl_sharp_channels * (uint64_t)t->ranks, chunk = 128 << 10;
    if (bytes < 64 * parts * chunk) chunk = 64 << 10;
    if (bytes < 8 * parts * chunk) chunk = 32 << 10;
    if (bytes < 2 * parts * chunk) chunk = 16 << 10;
    return parts * chunk < bytes ? (double)(parts * chunk) : (double)bytes;
}

// A chunk is copied to where the switch can read it, summed and sent to all, and copied to where it belongs:
// three steps that work side by side once two chunks are under way (NCCL's src/device/all_reduce.h).
static double sharp_time(const orr_team *t, uint64_t bytes) {
    const orr_node *n = t->node;
    double factor = orr_collective_factor(ORR_COLL_ALL_REDUCE, t->ranks);
    return n->nccl_sharp_base * 1e3 + ((double)bytes + 2 * under_way(t, bytes)) * factor / n->nccl_sharp;
}

static double time_of(const orr_team *t, enum orr_collective what, uint64_t bytes, int algo, int proto) {
    const orr_node *n = t->node;
    bool all = what == ORR_COLL_ALL_REDUCE;
    if (algo == ORR_ALGO_RING) return ring_time(t, what, (double)bytes, proto);
    if (algo == ORR_ALGO_TREE) return all ? tree_time(t, bytes, proto) : -1;
    if (!all || proto != ORR_PROTO_SIMPLE || n->nccl_sharp <= 0 || t->nodes > 1 || !t->nvlink) return -1;
    return sharp_time(t, bytes);
}

orr_coll_plan orr_collective_plan(const orr_team *t, enum orr_collective what, uint64_t bytes) {
    orr_coll_plan best = {ORR_ALGO_RING, ORR_PROTO_SIMPLE, -1};
    if (t->ranks < 2) {
        best.ns = 0;
        return best;
    }
    for (int pass = 0; pass < 2 && best.ns < 0; pass++) // what is not allowed, if nothing that is can do it
        for (int algo = 0; algo < ORR_ALGOS; algo++)
            for (int proto = 0; proto < ORR_PROTOS; proto++) {
                if (!pass && t->algos && !(t->algos >> algo & 1)) continue;
                if (!pass && t->protos && !(t->protos >> proto & 1)) continue;
                if (proto == ORR_PROTO_LL128 && !t->nvlink) continue;
                double ns = time_of(t, what, bytes, algo, proto);
                if (ns >= 0 && (best.ns < 0 || ns < best.ns)) best = (orr_coll_plan){algo, proto, ns};
            }
    return best;
}
