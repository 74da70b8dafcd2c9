// SPDX-License-Identifier: Apache-2.0
// Breadth-first search, level by level: a thread looks at one node, and when the node is on the frontier
// marks those neighbours that have no level yet. The host launches until nothing changes. (Rodinia, Parboil,
// LonestarGPU: bfs)

extern "C" __global__ void bfs(int n, int depth, const unsigned *row, const unsigned *col, int *level,
                               int *changed) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != depth) return;
    unsigned end = row[v + 1];
    for (unsigned e = row[v]; e < end; e++) {
        unsigned u = col[e];
        if (level[u] < 0) {
            level[u] = depth + 1; // all who write here write the same
            *changed = 1;
        }
    }
}
