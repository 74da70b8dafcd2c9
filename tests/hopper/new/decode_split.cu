// SPDX-License-Identifier: Apache-2.0
// Attention of one token to what came before it, keys and values in pages of 16 tokens that a table names, the pages split
// among blocks. A block streams its pages by bulk copies through three stages; four warps have four tokens of a page each. A
// second kernel, which may start early, puts the parts together. (FlashAttention-3's decoding with a paged cache)
#include "../../../workloads/hopper/hopper.cuh"
#include <cuda_fp16.h>

enum { HEAD = 64, PAGE = 16, BYTES = PAGE * HEAD * 2, STAGES = 3 };

extern "C" __global__ void __launch_bounds__(160)
    decode_split(const __half *q, const __half *keys, const __half *values, const int *table, float *part, int pages, int splits) {
    __shared__ __align__(128) uint8_t ring[STAGES][2][BYTES];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    __shared__ float most_of[4], sum_of[4], acc_of[4][HEAD];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, head = blockIdx.y;
    int first = blockIdx.x * pages / splits, last = (blockIdx.x + 1) * pages / splits;
    if (t == 0) {
        for (int i = 0; i < STAGES; i++) bar_init(shared_at(&full[i]), 1), bar_init(shared_at(&empty[i]), 4);
        fence_async();
    }
    __syncthreads();
    if (warp == 4) {
        for (int p = first; p < last && lane == 0; p++) {
            int i = p - first, at = i % STAGES;
            uint32_t bar = shared_at(&full[at]);
            size_t page = table[head * pages + p];
            bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
            bar_expect(bar, 2 * BYTES);
            load_bytes(shared_at(ring[at][0]), keys + page * (PAGE * HEAD), BYTES, bar);
            load_bytes(shared_at(ring[at][1]), values + page * (PAGE * HEAD), BYTES, bar);
        }
    } else {
        float2 mine = __half22float2(((const __half2 *)q)[head * (HEAD / 2) + lane]), acc = {0, 0};
        float most = -INFINITY, sum = 0;
        for (int p = first; p < last; p++) {
            int i = p - first, at = i % STAGES;
            bar_wait(shared_at(&full[at]), i / STAGES & 1);
            const __half2 *k = (const __half2 *)ring[at][0] + warp * 4 * (HEAD / 2) + lane, *v = (const __half2 *)ring[at][1] + warp * 4 * (HEAD / 2) + lane;
            float score[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float2 f = __half22float2(k[j * (HEAD / 2)]);
                score[j] = mine.x * f.x + mine.y * f.y;
            }
#pragma unroll
            for (int o = 16; o > 0; o /= 2)
#pragma unroll
                for (int j = 0; j < 4; j++) score[j] += __shfl_xor_sync(~0u, score[j], o);
            float top = fmaxf(most, 0.125f * fmaxf(fmaxf(score[0], score[1]), fmaxf(score[2], score[3]))), shrink = __expf(most - top);
            acc.x *= shrink, acc.y *= shrink, sum *= shrink, most = top;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float w = __expf(score[j] * 0.125f - top);
                float2 f = __half22float2(v[j * (HEAD / 2)]);
                acc.x += w * f.x, acc.y += w * f.y, sum += w;
            }
            __syncwarp();
            if (lane == 0) bar_arrive(shared_at(&empty[at]));
        }
        acc_of[warp][lane * 2] = acc.x, acc_of[warp][lane * 2 + 1] = acc.y;
        if (lane == 0) most_of[warp] = most, sum_of[warp] = sum;
    }
    __syncthreads();
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    if (t < HEAD) {
        float top = fmaxf(fmaxf(most_of[0], most_of[1]), fmaxf(most_of[2], most_of[3])), sum = 0, o = 0;
        for (int w = 0; w < 4; w++) {
            float f = __expf(most_of[w] - top);
            sum += f * sum_of[w], o += f * acc_of[w][t];
        }
        float *to = part + (size_t)(head * splits + blockIdx.x) * (HEAD + 2);
        to[t] = o;
        if (t == 0) to[HEAD] = top, to[HEAD + 1] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(HEAD) decode_join(const float *part, float *out, int splits) {
    const float *from = part + (size_t)blockIdx.x * splits * (HEAD + 2);
    float top = -INFINITY, sum = 0, o = 0;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    for (int s = 0; s < splits; s++) top = fmaxf(top, from[s * (HEAD + 2) + HEAD]);
    for (int s = 0; s < splits; s++) {
        float f = __expf(from[s * (HEAD + 2) + HEAD] - top);
        sum += f * from[s * (HEAD + 2) + HEAD + 1], o += f * from[s * (HEAD + 2) + threadIdx.x];
    }
    out[blockIdx.x * HEAD + threadIdx.x] = o / sum;
}
