// SPDX-License-Identifier: Apache-2.0
// Point and range queries on a B+tree of order 16, a thread a query. Level 0 is the root; a node is 16 keys,
// its children follow from its position (a complete tree), and the leaves' values are looked up beside the
// keys. Data- dependent addresses and trip counts. (Rodinia: b+tree's findK and findRangeK)

#define ORDER 16

// The last position in the leaves whose key is <= key (the first key of all is <= every query).
static __device__ unsigned descend(int levels, const unsigned *offset, const unsigned *keys, unsigned key) {
    unsigned node = 0;
    for (int l = 0; l < levels; l++) {
        const unsigned *k = keys + offset[l] + node * ORDER;
        int c = 1;
        while (c < ORDER && k[c] <= key) c++;
        node = node * ORDER + c - 1;
    }
    return node;
}

extern "C" __global__ void btree_find(int queries, int levels, const unsigned *offset, const unsigned *keys,
                                      const unsigned *values, const unsigned *query, unsigned *answer) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= queries) return;
    unsigned key = query[q];
    unsigned at = descend(levels, offset, keys, key);
    answer[q] = keys[offset[levels - 1] + at] == key ? values[at] : 0xffffffffu;
}

// How many keys lie in [from, from + width], and the sum of their values.
extern "C" __global__ void btree_range(int queries, int levels, unsigned leaves, const unsigned *offset,
                                       const unsigned *keys, const unsigned *values, const unsigned *query,
                                       const unsigned *width, unsigned *count, unsigned *sum) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= queries) return;
    unsigned from = query[q], to = from + width[q];
    const unsigned *leaf = keys + offset[levels - 1];
    unsigned at = descend(levels, offset, keys, from);
    if (leaf[at] < from) at++;
    unsigned n = 0, s = 0;
    while (at < leaves && leaf[at] <= to) {
        n++;
        s += values[at++];
    }
    count[q] = n;
    sum[q] = s;
}
