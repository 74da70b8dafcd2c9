// SPDX-License-Identifier: Apache-2.0
// Shortest paths from one node, Bellman-Ford by nodes that improved in the last round: relax with atomicMin,
// until nothing improves. (LonestarGPU: sssp)

extern "C" __global__ void sssp(int n, const unsigned *row, const unsigned *col, const unsigned *weight,
                                unsigned *dist, const unsigned char *active, unsigned char *next,
                                int *changed) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || !active[v]) return;
    unsigned d = dist[v];
    for (unsigned e = row[v]; e < row[v + 1]; e++) {
        unsigned u = col[e], through = d + weight[e];
        if (through < dist[u] && through < atomicMin(&dist[u], through)) {
            next[u] = 1;
            *changed = 1;
        }
    }
}

extern "C" __global__ void sssp_clear(int n, unsigned char *active) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n) active[v] = 0;
}
