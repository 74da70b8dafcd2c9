// SPDX-License-Identifier: Apache-2.0
// Records put into buckets under a spin lock a bucket: threads of one warp wait for each other, which only
// ends when diverged threads make progress independently (Volta and later). (Hash tables and transactions
// with locks; the "hashtable with spin locks" of SIMT deadlock papers)

extern "C" __global__ void bucket_lock(int n, int buckets, const unsigned *key, unsigned *lock,
                                       unsigned *count, unsigned *sum, unsigned *largest) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned k = key[i], b = k % buckets;
    while (atomicCAS(&lock[b], 0, 1) != 0) {}
    __threadfence();
    volatile unsigned *c = count + b, *s = sum + b, *l = largest + b;
    *c = *c + 1;
    *s = *s + k;
    if (k > *l) *l = k;
    __threadfence();
    atomicExch(&lock[b], 0);
}
