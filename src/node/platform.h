// Platforms for SimGrid: XML of a network of nodes, for `orrery cluster`.
//
// A host is a node: its link has the bandwidth of all its adapters together, and ranks of one node talk over
// the node's own links (SimGrid's loopback). What a host computes takes no time there; GPUs are Orrery's.
//
//   fat-tree[:K]    leaves of 16 nodes; K times fewer links upwards than down (1)
//   rail            leaves of 32 nodes, every adapter of a node on a switch of its own, full bandwidth
//   upwards:
//                   seen from a node, a fat tree with larger leaves
//   dragonfly       groups of 4 x 4 routers with 4 nodes each, all groups connected
//   crossbar        one switch
#ifndef ORR_NODE_PLATFORM_H
#define ORR_NODE_PLATFORM_H

#include "node/node.h"

// `fabric` as above; a name that is none of them is refused. Hosts are called node-0 and so on; there are at
// least `nodes` of them.
bool orr_platform_write(const orr_node *node, const char *fabric, int nodes, orr_text *out, orr_err *e);
bool orr_platform_known(const char *fabric); // it is one of them, not a file

#endif
