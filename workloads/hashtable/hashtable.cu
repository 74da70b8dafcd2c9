// SPDX-License-Identifier: Apache-2.0
// A hash table with open addressing: inserts by 64-bit compare-and-swap, then lookups of present and absent
// keys. Random access and data-dependent probing. (SlabHash, cuCollections; the build and probe of a hash
// join)

#define EMPTY 0xffffffffffffffffull

static __device__ unsigned mix(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    return x;
}

// A key that is there already: the larger value stays.
extern "C" __global__ void hash_insert(int n, unsigned mask, const unsigned *key, const unsigned *value,
                                       unsigned long long *table) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned k = key[i];
    unsigned long long entry = (unsigned long long)k << 32 | value[i];
    for (unsigned at = mix(k) & mask;; at = (at + 1) & mask) {
        unsigned long long seen = atomicCAS(&table[at], EMPTY, entry);
        if (seen == EMPTY) return;
        if ((unsigned)(seen >> 32) == k) {
            atomicMax(&table[at], entry);
            return;
        }
    }
}

extern "C" __global__ void hash_find(int n, unsigned mask, const unsigned *query,
                                     const unsigned long long *table, unsigned *answer) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned k = query[i], found = 0;
    for (unsigned at = mix(k) & mask;; at = (at + 1) & mask) {
        unsigned long long e = table[at];
        if (e == EMPTY) break;
        if ((unsigned)(e >> 32) == k) {
            found = (unsigned)e;
            break;
        }
    }
    answer[i] = found;
}
