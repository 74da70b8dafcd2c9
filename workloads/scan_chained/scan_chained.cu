// SPDX-License-Identifier: Apache-2.0
// Inclusive prefix sums in one launch: a block takes the next tile by a ticket, scans it with shuffles, waits
// for the sum of all tiles before it, and passes its own on. Blocks that wait for each other. (Chained scan,
// as in StreamScan)

#define ITEMS 4 // elements a thread

extern "C" __global__ void scan_chained(int n, const unsigned *in, unsigned *out, unsigned *ticket,
                                        volatile unsigned long long *carry) {
    __shared__ unsigned tile, before, warp_sum[8];
    unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    unsigned base = (tile * blockDim.x + t) * ITEMS, v[ITEMS], sum = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        sum += base + k < n ? in[base + k] : 0;
        v[k] = sum;
    }
    unsigned scan = sum;
    for (int d = 1; d < 32; d *= 2) {
        unsigned up = __shfl_up_sync(0xffffffff, scan, d);
        if (lane >= d) scan += up;
    }
    if (lane == 31) warp_sum[warp] = scan;
    __syncthreads();
    if (t == 0) {
        unsigned all = 0;
        for (int w = 0; w < blockDim.x / 32; w++) {
            unsigned s = warp_sum[w];
            warp_sum[w] = all;
            all += s;
        }
        // carry[i]: the sum of tiles 0 .. i-1 in the low half, valid when the high half is not 0.
        unsigned long long c = 1ull << 32;
        if (tile > 0) do
                c = carry[tile];
            while (c >> 32 == 0);
        before = (unsigned)c;
        carry[tile + 1] = 1ull << 32 | (unsigned)(c + all);
    }
    __syncthreads();
    unsigned add = before + warp_sum[warp] + scan - sum;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        if (base + k < n) out[base + k] = add + v[k];
}
