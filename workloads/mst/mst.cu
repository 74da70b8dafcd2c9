// SPDX-License-Identifier: Apache-2.0
// Minimum spanning forest by Boruvka: each tree finds its lightest edge out (64-bit atomicMin of weight and
// edge number), trees hook onto each other, nodes follow the hooks to their new root; until no tree has an
// edge out. The work shrinks from launch to launch. (LonestarGPU: mst)

#define NONE 0xffffffffffffffffull

extern "C" __global__ void mst_lightest(int edges, const unsigned *from, const unsigned *to,
                                        const unsigned *weight, const unsigned *tree,
                                        unsigned long long *best) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    unsigned a = tree[from[e]], b = tree[to[e]];
    if (a == b) return;
    unsigned long long key = (unsigned long long)weight[e] << 32 | (unsigned)e;
    if (key < best[a]) atomicMin(&best[a], key);
    if (key < best[b]) atomicMin(&best[b], key);
}

// Of two trees that chose the same edge the one with the smaller root stays.
extern "C" __global__ void mst_hook(int n, const unsigned *from, const unsigned *to, const unsigned *tree,
                                    const unsigned long long *best, unsigned *parent, unsigned char *chosen,
                                    int *changed) {
    unsigned v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    unsigned up = v;
    unsigned long long key = best[v];
    if (tree[v] == v && key != NONE) {
        unsigned e = (unsigned)key, a = tree[from[e]], b = tree[to[e]], other = a == v ? b : a;
        if (best[other] != key || v > other) up = other;
        chosen[e] = 1;
        *changed = 1;
    }
    parent[v] = up;
}

extern "C" __global__ void mst_follow(int n, const unsigned *parent, unsigned *tree,
                                      unsigned long long *best) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    unsigned root = tree[v];
    while (parent[root] != root) root = parent[root];
    tree[v] = root;
    best[v] = NONE;
}
