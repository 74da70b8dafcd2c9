// SPDX-License-Identifier: Apache-2.0
// O = softmax(Q K^T / 8) V for heads of 64, f16 in and out. A block has 128 queries: a producer warp loads 128 keys and
// values at a time in two stages, two groups of warps have 64 queries each. They take turns at the tensor cores by named
// barriers, so that one makes exponentials while the other multiplies; a group asks for its next scores before it adds up
// the values of those before. Registers move from producer to consumers. The sequence is a multiple of 128.
// (FlashAttention-3)

#include "../hopper.cuh"
#include <cuda_fp16.h>

enum { QUERIES = 128, KEYS = 128, HEAD = 64, STAGES = 2, TILE_BYTES = KEYS * HEAD * 2, TURN = 2 };

DEVICE float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
DEVICE float over_row(float x, bool largest) { // the four lanes that share a row
#pragma unroll
    for (int o = 1; o < 4; o *= 2) {
        float y = __shfl_xor_sync(~0u, x, o);
        x = largest ? fmaxf(x, y) : x + y;
    }
    return x;
}
DEVICE uint32_t pack(float x, float y) {
    __half2 v = __floats2half2_rn(x, y);
    return *(uint32_t *)&v;
}

// Scores to probabilities against the largest of their row so far; by how much what was before shrinks.
DEVICE void probabilities(float (&s)[64], float (&most)[2], float (&sum)[2], float (&shrink)[2]) {
    const float unit = 0.125f * 1.44269504f; // of scores, in powers of two
#pragma unroll
    for (int h = 0; h < 2; h++) { // rows g and g + 8
        float top = most[h];
#pragma unroll
        for (int j = h * 2; j < 64; j += 4) top = fmaxf(top, fmaxf(s[j], s[j + 1]));
        top = over_row(top, true);
        shrink[h] = exp2_fast((most[h] - top) * unit);
        most[h] = top;
        float base = top * unit, part = 0;
#pragma unroll
        for (int j = h * 2; j < 64; j += 4) {
            s[j] = exp2_fast(s[j] * unit - base);
            s[j + 1] = exp2_fast(s[j + 1] * unit - base);
            part += s[j] + s[j + 1];
        }
        sum[h] = sum[h] * shrink[h] + part;
    }
}

extern "C" __global__ void __launch_bounds__(384)
    attention_forward(const __grid_constant__ tensor_map map_q, const __grid_constant__ tensor_map map_k,
                      const __grid_constant__ tensor_map map_v, __half *o, float *lse, int seq) {
    extern __shared__ __align__(1024) uint8_t tiles[]; // Q, then STAGES of K, then of V
    __shared__ uint64_t q_full, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = seq / KEYS, head0 = blockIdx.y * seq;
    int query0 = head0 + blockIdx.x * QUERIES;
    uint32_t q_at = shared_at(tiles), k_at = q_at + TILE_BYTES, v_at = k_at + STAGES * TILE_BYTES;
    if (threadIdx.x == 0) {
        bar_init(shared_at(&q_full), 1);
        for (int i = 0; i < STAGES; i++) {
            bar_init(shared_at(&k_full[i]), 1);
            bar_init(shared_at(&v_full[i]), 1);
            bar_init(shared_at(&k_empty[i]), 2);
            bar_init(shared_at(&v_empty[i]), 2);
        }
        fence_async();
    }
    __syncthreads();
    if (group < 0) {
        registers_down<24>();
        if (t != 0) return;
        bar_expect(shared_at(&q_full), TILE_BYTES);
        load_tile(q_at, &map_q, shared_at(&q_full), 0, query0);
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES, phase = (i / STAGES + 1) & 1;
            bar_wait(shared_at(&k_empty[at]), phase);
            bar_expect(shared_at(&k_full[at]), TILE_BYTES);
            load_tile(k_at + at * TILE_BYTES, &map_k, shared_at(&k_full[at]), 0, head0 + i * KEYS);
            bar_wait(shared_at(&v_empty[at]), phase);
            bar_expect(shared_at(&v_full[at]), TILE_BYTES);
            load_tile(v_at + at * TILE_BYTES, &map_v, shared_at(&v_full[at]), 0, head0 + i * KEYS);
        }
        return;
    }
    registers_up<240>();
    float s[64], acc[32], most[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
    uint32_t p[32];
#pragma unroll
    for (int i = 0; i < 32; i++) acc[i] = 0;
    if (group == 1) named_arrive(TURN, 256); // the first turn is the first group's
    bar_wait(shared_at(&q_full), 0);
    uint64_t q = matrix(q_at + group * (TILE_BYTES / 2));
    float shrink[2];
    bar_wait(shared_at(&k_full[0]), 0);
    named_sync(TURN + group, 256);
    mma_begin();
#pragma unroll
    for (int j = 0; j < HEAD / 16; j++) mma_f16_128(s, q + j * 2, matrix(k_at) + j * 2, j > 0);
    mma_commit();
    if (group == 0 || steps > 1) named_arrive(TURN + 1 - group, 256);
    mma_wait<0>();
    mma_hold(s);
    if (t == 0) bar_arrive(shared_at(&k_empty[0]));
    probabilities(s, most, sum, shrink);
#pragma unroll
    for (int j = 0; j < 32; j++) p[j] = pack(s[j * 2], s[j * 2 + 1]);
    for (int i = 1; i < steps; i++) {
        int at = i % STAGES, last = (i - 1) % STAGES;
        uint64_t k = matrix(k_at + at * TILE_BYTES), v = matrix(v_at + last * TILE_BYTES);
        bar_wait(shared_at(&k_full[at]), i / STAGES & 1);
        bar_wait(shared_at(&v_full[last]), (i - 1) / STAGES & 1);
        named_sync(TURN + group, 256);
        mma_begin();
#pragma unroll
        for (int j = 0; j < HEAD / 16; j++) mma_f16_128(s, q + j * 2, k + j * 2, j > 0);
        mma_commit();
#pragma unroll
        for (int j = 0; j < KEYS / 16; j++) mma_f16_64_registers(acc, p + j * 4, v + j * 128);
        mma_commit();
        if (group == 0 || i + 1 < steps) named_arrive(TURN + 1 - group, 256);
        mma_wait<1>();
        mma_hold(s);
        if (t == 0) bar_arrive(shared_at(&k_empty[at]));
        probabilities(s, most, sum, shrink);
        mma_wait<0>();
        mma_hold(acc);
        if (t == 0) bar_arrive(shared_at(&v_empty[last]));
#pragma unroll
        for (int j = 0; j < 32; j++) acc[j] *= shrink[j >> 1 & 1];
#pragma unroll
        for (int j = 0; j < 32; j++) p[j] = pack(s[j * 2], s[j * 2 + 1]);
    }
    bar_wait(shared_at(&v_full[(steps - 1) % STAGES]), (steps - 1) / STAGES & 1);
    mma_begin();
#pragma unroll
    for (int j = 0; j < KEYS / 16; j++)
        mma_f16_64_registers(acc, p + j * 4, matrix(v_at + (steps - 1) % STAGES * TILE_BYTES) + j * 128);
    mma_commit();
    mma_wait<0>();
    mma_hold(acc);
    int row = query0 + group * 64 + t / 32 * 16 + t % 32 / 4;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        sum[h] = over_row(sum[h], false);
        if (t % 4 == 0) lse[row + h * 8] = most[h] * 0.125f + __logf(sum[h]);
        sum[h] = 1 / sum[h];
    }
#pragma unroll
    for (int j = 0; j < 32; j += 2) {
        float f = sum[j >> 1 & 1];
        *(__half2 *)(o + (size_t)(row + (j & 2) * 4) * HEAD + j / 4 * 8 + t % 4 * 2) = __floats2half2_rn(acc[j] * f, acc[j + 1] * f);
    }
}
