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

static double share(const orr_node *n, int proto) {
    return proto == ORR_PROTO_LL ? n->nccl_ll_share : proto == ORR_PROTO_LL128 ? n->nccl_ll128_share : 1;
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

static double ring_latency(const orr_team *t, enum orr_collective what, int proto) { // us
    const orr_node *n = t->node;
    const double base[] = {n->nccl_ring_ll_base, n->nccl_ring_ll128_base, n->nccl_ring_simple_base};
    const double hop[] = {n->nccl_ring_ll_hop, n->nccl_ring_ll128_hop, n->nccl_ring_simple_hop};
    const double net[] = {n->nccl_net_ll_hop, n->nccl_net_ll128_hop, n->nccl_net_simple_hop};
    int all = steps(what, t->ranks), between = t->nodes > 1 ? steps(what, t->nodes) : 0;
    if (between > all) between = all;
    return base[proto] + (all - between) * hop[proto] + between * net_hop(t, net[proto]);
}

static int log2_up(int n) {
    int k = 0;
    while (1 << k < n) k++;
    return k;
}

// Up and down again: a chain in the node, a binary tree between nodes. Only LL, which is what it is for.
static double tree_latency(const orr_team *t) {
    const orr_node *n = t->node;
    int in_node = (t->ranks + t->nodes - 1) / t->nodes - 1;
    return n->nccl_tree_ll_base +
           2 * (in_node * n->nccl_tree_ll_hop + log2_up(t->nodes) * net_hop(t, n->nccl_net_tree_hop));
}

static double time_of(const orr_team *t, enum orr_collective what, uint64_t bytes, int algo, int proto) {
    const orr_node *n = t->node;
    double size = (double)bytes, bus = ring_bandwidth(t), factor = orr_collective_factor(what, t->ranks);
    bool all = what == ORR_COLL_ALL_REDUCE;
    switch (algo) {
    case ORR_ALGO_RING: return ring_latency(t, what, proto) * 1e3 + size * factor / (bus * share(n, proto));
    case ORR_ALGO_TREE: // every link carries the data once up and once down
        if (!all || proto != ORR_PROTO_LL) return -1;
        return tree_latency(t) * 1e3 + size * 2 / (bus * n->nccl_tree_share * share(n, proto));
    default: // NVLS
        if (!all || proto != ORR_PROTO_SIMPLE || n->nccl_sharp <= 0 || t->nodes > 1 || !t->nvlink) return -1;
        return n->nccl_sharp_base * 1e3 + size * factor / n->nccl_sharp;
    }
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
