// Collectives of several GPUs (collective.h): what each moves for each byte, and NCCL's names of algorithms.
#include "node/collective.h"

const char *const orr_algo_name[ORR_ALGOS] = {"Ring", "Tree", "NVLS", "NVLSTree"};
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

// ---- channels -------------------------------------------------------------------------------------
static int sharp_channels(const orr_team *t) {
    const orr_node *n = t->node;
    return t->nodes > 1 && n->nccl_sharp_net_channels > 0 ? n->nccl_sharp_net_channels
                                                          : n->nccl_sharp_channels;
}

// Each thread of a channel gets some bytes to do before there is another channel (NCCL's src/enqueue.cc and
// src/graph/tuning.cc, 2.30.7): 8, of LL in a ring 8 for each rank, 64 of Simple.
static int channels_of(const orr_team *t, int algo, int proto, uint64_t bytes) {
    static const uint64_t threads[ORR_PROTOS] = {512, 640, 512}, least[ORR_PROTOS] = {8, 8, 64};
    if (algo == ORR_ALGO_NVLS || algo == ORR_ALGO_NVLS_TREE) return sharp_channels(t);
    uint64_t channel = threads[proto] * least[proto], most = (uint64_t)t->node->nccl_channels;
    if (algo == ORR_ALGO_RING && proto == ORR_PROTO_LL) channel *= (uint64_t)t->ranks;
    uint64_t n = bytes / channel;
    return (int)(n < 1 ? 1 : n > most ? most : n);
}

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

// `channels`: those that the message goes through; 0: the tuner's formula, which does not ask.
static double ring_time(const orr_team *t, enum orr_collective what, double bytes, int proto, int channels) {
    const orr_node *n = t->node;
    double bus = ring_bandwidth(t), factor = orr_collective_factor(what, t->ranks);
    double most = channels * n->nccl_ll128_channel;
    if (proto == ORR_PROTO_LL) {
        bus = at_most(bus * n->nccl_ll_share, n->nccl_ll_most);
        most *= n->nccl_ll_share / n->nccl_ll128_share; // a word in two is a flag, not one in sixteen
    }
    if (proto == ORR_PROTO_LL128) bus *= n->nccl_ll128_share;
    if (proto != ORR_PROTO_SIMPLE) bus = at_most(bus, most);
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
// Bytes that are under way at a time: a chunk for each channel and GPU of a node, smaller ones for small
// messages (NCCL's src/enqueue.cc).
static double under_way(const orr_team *t, uint64_t bytes) {
    uint64_t parts = (uint64_t)sharp_channels(t) * (uint64_t)(t->ranks / t->nodes), chunk = 128 << 10;
    if (t->nodes > 1) {
        if (bytes < 4 * parts * chunk) chunk = 64 << 10;
        if (bytes < parts * chunk) chunk = 32 << 10;
    } else {
        if (bytes < 64 * parts * chunk) chunk = 64 << 10;
        if (bytes < 8 * parts * chunk) chunk = 32 << 10;
        if (bytes < 2 * parts * chunk) chunk = 16 << 10;
    }
    return parts * chunk < bytes ? (double)(parts * chunk) : (double)bytes;
}

// Over several nodes the sums of their switches go up and down a tree of nodes (NVLSTree), each GPU with an
// adapter of its own; with two nodes an adapter carries only its own half.
static double sharp_bandwidth(const orr_team *t) {
    const orr_node *n = t->node;
    if (t->nodes < 2) return n->nccl_sharp;
    bool two = t->nodes == 2;
    double net = t->net > 0 ? t->net : n->nic_bandwidth * n->nic_count;
    double most = (two ? n->nccl_sharp_nic2 : n->nccl_sharp_nic) * n->nic_count;
    if (net <= 0 || most <= 0 || n->nccl_sharp <= 0) return 0;
    return at_most(at_most(n->nccl_sharp, net * (two ? 2 : 1)), most);
}

// A chunk is copied to where the switch can read it, summed and sent to all, and copied to where it belongs:
// three steps that work side by side once two chunks are under way (NCCL's src/device/all_reduce.h). Over
// nodes it also goes up and down the tree, a step for each level.
static double sharp_time(const orr_team *t, uint64_t bytes) {
    const orr_node *n = t->node;
    double factor = orr_collective_factor(ORR_COLL_ALL_REDUCE, t->ranks), bus = sharp_bandwidth(t);
    if (bus <= 0) return -1;
    int between = 2 * log2_down((uint64_t)t->nodes);
    double latency = n->nccl_sharp_base + between * net_hop(t, n->nccl_net_sharp_hop);
    return latency * 1e3 + ((double)bytes + (2 + between) * under_way(t, bytes)) * factor / bus;
}

static double time_of(const orr_team *t, enum orr_collective what, uint64_t bytes, const orr_coll_plan *p) {
    bool all = what == ORR_COLL_ALL_REDUCE, switches = all && p->proto == ORR_PROTO_SIMPLE && t->nvlink;
    switch (p->algo) {
    case ORR_ALGO_RING: return ring_time(t, what, (double)bytes, p->proto, p->channels);
    case ORR_ALGO_TREE: return all ? tree_time(t, bytes, p->proto) : -1;
    case ORR_ALGO_NVLS: return switches && t->nodes == 1 ? sharp_time(t, bytes) : -1;
    default: return switches && t->nodes > 1 ? sharp_time(t, bytes) : -1;
    }
}

orr_coll_plan orr_collective_plan(const orr_team *t, enum orr_collective what, uint64_t bytes) {
    orr_coll_plan best = {ORR_ALGO_RING, ORR_PROTO_SIMPLE, 0, -1};
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
                orr_coll_plan p = {algo, proto, 0, 0};
                p.ns = time_of(t, what, bytes, &p);
                if (p.ns >= 0 && (best.ns < 0 || p.ns < best.ns)) best = p;
            }
    best.channels = channels_of(t, best.algo, best.proto, bytes);
    best.ns = time_of(t, what, bytes, &best);
    return best;
}
