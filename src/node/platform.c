// Networks between nodes (platform.h): the fabrics that can be named, and the SimGrid platform made of one.
#include "node/platform.h"

#include <stdlib.h>
#include <string.h>

static const char *const fabrics[] = {"fat-tree", "rail", "dragonfly", "crossbar"};

static size_t name_length(const char *fabric) { return strcspn(fabric, ":"); }

bool orr_platform_known(const char *fabric) {
    for (size_t i = 0; i < sizeof fabrics / sizeof *fabrics; i++)
        if (strlen(fabrics[i]) == name_length(fabric) && !strncmp(fabrics[i], fabric, name_length(fabric)))
            return true;
    return false;
}

static bool is(const char *fabric, const char *name) {
    return strlen(name) == name_length(fabric) && !strncmp(fabric, name, name_length(fabric));
}

// Between ranks of a node: NVLink, or the way through the host.
static double inside(const orr_node *n) {
    return n->nvlink_kind != ORR_NVLINK_NONE ? n->nvlink_bandwidth * n->nvlink_share
                                             : n->hostlink_bandwidth * n->hostlink_share;
}

static void cluster(const orr_node *n, int hosts, const char *topology, orr_text *out) {
    double bandwidth = n->nic_count * n->nic_bandwidth;
    double latency = n->nvlink_kind != ORR_NVLINK_NONE ? n->nvlink_latency : n->hostlink_latency;
    orr_text_add(out,
                 "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                 "<platform version=\"4.1\">\n  <cluster id=\"cluster\" prefix=\"node-\" suffix=\"\" "
                 "radical=\"0-%d\" speed=\"1Gf\" core=\"%d\"\n           bw=\"%.6gGBps\" lat=\"%.6gus\" "
                 "loopback_bw=\"%.6gGBps\" loopback_lat=\"%.6gus\"%s/>\n</platform>\n",
                 hosts - 1, n->gpus, bandwidth, n->nic_latency / 2, inside(n), latency, topology);
}

static void tree(const orr_node *n, int nodes, int leaf, int fewer, orr_text *out) {
    char text[160];
    int leaves = (nodes + leaf - 1) / leaf;
    if (leaf > nodes) leaf = nodes;
    if (leaves < 2) { // one switch is enough
        cluster(n, nodes, "", out);
        return;
    }
    int up = leaf / fewer > 0 ? leaf / fewer : 1;
    snprintf(text, sizeof text, "\n           topology=\"FAT_TREE\" topo_parameters=\"2;%d,%d;1,%d;1,1\"",
             leaf, leaves, up);
    cluster(n, leaf * leaves, text, out);
}

static void dragonfly(const orr_node *n, int nodes, orr_text *out) {
    enum { CHASSIS = 4, ROUTERS = 4, NODES = 4, GROUP = CHASSIS * ROUTERS * NODES };
    char text[160];
    int groups = (nodes + GROUP - 1) / GROUP;
    snprintf(text, sizeof text, "\n           topology=\"DRAGONFLY\" topo_parameters=\"%d,4;%d,2;%d,1;%d\"",
             groups, CHASSIS, ROUTERS, NODES);
    cluster(n, groups * GROUP, text, out);
}

bool orr_platform_write(const orr_node *n, const char *fabric, int nodes, orr_text *out, orr_err *e) {
    const char *colon = strchr(fabric, ':');
    int fewer = colon ? atoi(colon + 1) : 1;
    if (!orr_platform_known(fabric) || (colon && (!is(fabric, "fat-tree") || fewer < 1 || fewer > 64)))
        return orr_fail(
            e, ORR_BAD_INPUT,
            "--platform is fat-tree, fat-tree:2 (half the links upwards), rail, dragonfly, crossbar or a "
            "file of SimGrid's (*.xml), not \"%.60s\"",
            fabric);
    if (nodes > 1 && n->nic_count * n->nic_bandwidth <= 0)
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: has no network (nic.count, nic.bandwidth); name another --node", n->path);
    if (is(fabric, "dragonfly"))
        dragonfly(n, nodes, out);
    else if (is(fabric, "crossbar") || n->nic_count * n->nic_bandwidth <= 0)
        cluster(n, nodes, "", out);
    else
        tree(n, nodes, is(fabric, "rail") ? 32 : 16, fewer, out);
    return true;
}
