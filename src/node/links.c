// The links of a node, and the path of a copy over them.
//
// A GPU has a way out and a way in on NVLink, and two on the link to its host; a PCIe switch has two to its
// root port; two sockets have one each way. Links are numbered: for GPU g, 4g to 4g + 3; then the switches';
// then the sockets'. In a mesh a pair has an even share of a GPU's links, and the copies of different pairs
// do not meet.
#include "node/node.h"

enum { NV_OUT, NV_IN, UP, DOWN, OF_GPU };

static int switches(const orr_node *n) {
    return n->pcie_switch_gpus ? (n->gpus + n->pcie_switch_gpus - 1) / n->pcie_switch_gpus : 0;
}

int orr_node_socket(const orr_node *n, int gpu) { return gpu * n->numa_nodes / n->gpus; }

static int mesh_link(const orr_node *n, int from, int to) {
    return OF_GPU * n->gpus + 2 * switches(n) + n->numa_nodes * n->numa_nodes + from * n->gpus + to;
}

int orr_node_links(const orr_node *n) { return mesh_link(n, n->gpus - 1, n->gpus - 1) + 1; }

bool orr_node_nvlinked(const orr_node *n, int a, int b) {
    if (a == b || a < 0 || b < 0) return false;
    return n->nvlink_kind == ORR_NVLINK_PAIRS ? a / 2 == b / 2 : n->nvlink_kind != ORR_NVLINK_NONE;
}

bool orr_node_peers(const orr_node *n, int a, int b) {
    return a != b && a >= 0 && b >= 0 && a < n->gpus && b < n->gpus &&
           (n->peer || orr_node_nvlinked(n, a, b));
}

static void add(orr_path *p, int link, double bandwidth) {
    if (p->n == ORR_PATH_LINKS || bandwidth <= 0) return;
    p->link[p->n] = link;
    p->bandwidth[p->n++] = bandwidth;
}

// Between a GPU and the root port of its switch, or of its own.
static void to_root(const orr_node *n, int gpu, bool up, bool past_switch, orr_path *p) {
    add(p, OF_GPU * gpu + (up ? UP : DOWN), n->hostlink_bandwidth * n->hostlink_share);
    if (!n->pcie_switch_gpus || !past_switch) return;
    double uplink = n->pcie_uplink > 0 ? n->pcie_uplink : n->hostlink_bandwidth;
    add(p, OF_GPU * n->gpus + 2 * (gpu / n->pcie_switch_gpus) + !up, uplink * n->hostlink_share);
}

static void over_pcie(const orr_node *n, int from, int to, bool peer, orr_path *p) {
    bool same = from >= 0 && to >= 0 && peer && n->pcie_switch_gpus &&
                from / n->pcie_switch_gpus == to / n->pcie_switch_gpus;
    p->latency = n->hostlink_latency * 1e3;
    if (from >= 0) to_root(n, from, true, !same, p);
    if (from >= 0 && to >= 0) {
        int a = orr_node_socket(n, from), b = orr_node_socket(n, to);
        if (a != b) add(p, OF_GPU * n->gpus + 2 * switches(n) + a * n->numa_nodes + b, n->numa_bandwidth);
        if (!peer) p->latency *= 2; // staged in host memory
    }
    if (to >= 0) to_root(n, to, false, !same, p);
}

void orr_node_path(const orr_node *n, int from, int to, orr_path *p) {
    *p = (orr_path){0};
    if (!orr_node_nvlinked(n, from, to)) {
        over_pcie(n, from, to, n->peer, p);
        return;
    }
    double rate = n->nvlink_bandwidth * n->nvlink_share;
    p->latency = n->nvlink_latency * 1e3;
    if (n->nvlink_kind == ORR_NVLINK_MESH && n->gpus > 1) {
        add(p, mesh_link(n, from, to), rate / (n->gpus - 1));
        return;
    }
    add(p, OF_GPU * from + NV_OUT, rate);
    add(p, OF_GPU * to + NV_IN, rate);
}

void orr_node_staged(const orr_node *n, int from, int to, orr_path *p) {
    *p = (orr_path){0};
    over_pcie(n, from, to, false, p);
}

double orr_path_bandwidth(const orr_path *p) {
    double least = 0;
    for (int i = 0; i < p->n; i++)
        if (!i || p->bandwidth[i] < least) least = p->bandwidth[i];
    return least;
}

double orr_path_copy(const orr_path *p, double *free_at, double ready, uint64_t bytes, double *end) {
    double start = ready, rate = orr_path_bandwidth(p);
    for (int i = 0; i < p->n; i++)
        if (free_at[p->link[i]] > start) start = free_at[p->link[i]];
    for (int i = 0; i < p->n; i++) free_at[p->link[i]] = start + (double)bytes / p->bandwidth[i];
    *end = start + p->latency + (rate > 0 ? (double)bytes / rate : 0);
    return start;
}
