// SPDX-License-Identifier: Apache-2.0
// The gradients of O = softmax(Q K^T / 8) V for heads of 64, f16. attention_delta makes the products of a row of O and its
// gradient. In attention_backward a block has 128 keys, a group of warps 64 of them: for 64 queries at a time it makes the
// probabilities again, from them the gradients of scores, adds to the gradients of keys and values in registers, and
// adds to those of queries in memory by a tensor copy with reduction. A producer warp loads queries and gradients in
// two stages. The sequence is a multiple of 128. (FlashAttention-3's backward pass)

#include "../hopper.cuh"
#include <cuda_fp16.h>

enum { KEYS = 128, QUERIES = 64, HEAD = 64, STAGES = 2, KEY_BYTES = KEYS * HEAD * 2, TILE_BYTES = QUERIES * HEAD * 2 };
enum { ROW_BYTES = QUERIES * 4, STAGE = 2 * TILE_BYTES + 1024, LOADED = 2 * TILE_BYTES + 2 * ROW_BYTES };
enum { K_AT = 0, V_AT = KEY_BYTES, STAGES_AT = 2 * KEY_BYTES, DS_AT = STAGES_AT + STAGES * STAGE };
enum { DQ_AT = DS_AT + 2 * TILE_BYTES }; // two groups; then two of QUERIES x HEAD floats

DEVICE float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
DEVICE uint32_t pack(float x, float y) {
    __half2 v = __floats2half2_rn(x, y);
    return *(uint32_t *)&v;
}

extern "C" __global__ void __launch_bounds__(256) attention_delta(const __half *o, const __half *d_o, float *delta) {
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float2 x = __half22float2(((const __half2 *)o)[row * 32 + lane]);
    float2 y = __half22float2(((const __half2 *)d_o)[row * 32 + lane]);
    float sum = x.x * y.x + x.y * y.y;
    for (int i = 16; i > 0; i /= 2) sum += __shfl_xor_sync(~0u, sum, i);
    if (lane == 0) delta[row] = sum;
}

extern "C" __global__ void __launch_bounds__(384, 1)
    attention_backward(const __grid_constant__ tensor_map map_q, const __grid_constant__ tensor_map map_k,
                       const __grid_constant__ tensor_map map_v, const __grid_constant__ tensor_map map_do,
                       const __grid_constant__ tensor_map map_dq, const float *lse, const float *delta, __half *dk,
                       __half *dv, int seq) {
    extern __shared__ __align__(1024) uint8_t tiles[];
    __shared__ uint64_t kv_full, full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = seq / QUERIES, head0 = blockIdx.y * seq;
    int key0 = head0 + blockIdx.x * KEYS;
    uint32_t base = shared_at(tiles);
    if (threadIdx.x == 0) {
        bar_init(shared_at(&kv_full), 1);
        for (int i = 0; i < STAGES; i++) {
            bar_init(shared_at(&full[i]), 1);
            bar_init(shared_at(&empty[i]), 2);
        }
        fence_async();
    }
    __syncthreads();
    if (group < 0) {
        registers_down<24>();
        if (t != 0) return;
        bar_expect(shared_at(&kv_full), 2 * KEY_BYTES);
        load_tile(base + K_AT, &map_k, shared_at(&kv_full), 0, key0);
        load_tile(base + V_AT, &map_v, shared_at(&kv_full), 0, key0);
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES, query = head0 + i * QUERIES;
            uint32_t bar = shared_at(&full[at]), to = base + STAGES_AT + at * STAGE;
            bar_wait(shared_at(&empty[at]), (i / STAGES + 1) & 1);
            bar_expect(bar, LOADED);
            load_tile(to, &map_q, bar, 0, query);
            load_tile(to + TILE_BYTES, &map_do, bar, 0, query);
            load_bytes(to + 2 * TILE_BYTES, lse + query, ROW_BYTES, bar);
            load_bytes(to + 2 * TILE_BYTES + ROW_BYTES, delta + query, ROW_BYTES, bar);
        }
        return;
    }
    registers_up<240>();
    const float log2e = 1.44269504f;
    float d_k[32], d_v[32];
#pragma unroll
    for (int i = 0; i < 32; i++) d_k[i] = d_v[i] = 0;
    uint64_t k = matrix(base + K_AT + group * (KEY_BYTES / 2)), v = matrix(base + V_AT + group * (KEY_BYTES / 2));
    uint8_t *ds_out = tiles + DS_AT + group * TILE_BYTES, *dq_out = tiles + DQ_AT + group * TILE_BYTES * 2;
    int row = t / 32 * 16 + t % 32 / 4, col = t % 4 * 2;
    bar_wait(shared_at(&kv_full), 0);
    for (int i = 0; i < steps; i++) {
        int at = i % STAGES;
        uint8_t *stage = tiles + STAGES_AT + at * STAGE;
        const float *l = (const float *)(stage + 2 * TILE_BYTES), *dl = l + QUERIES;
        uint64_t q = matrix(shared_at(stage)), go = matrix(shared_at(stage) + TILE_BYTES);
        float s[32], g[32], d_q[32];
        uint32_t p[16], ds[16];
        bar_wait(shared_at(&full[at]), i / STAGES & 1);
        mma_begin();
#pragma unroll
        for (int j = 0; j < HEAD / 16; j++) mma_f16_64(s, k + j * 2, q + j * 2, j > 0); // keys down, queries across
        mma_commit();
#pragma unroll
        for (int j = 0; j < HEAD / 16; j++) mma_f16_64(g, v + j * 2, go + j * 2, j > 0);
        mma_commit();
        mma_wait<1>();
        mma_hold(s);
#pragma unroll
        for (int j = 0; j < 32; j++) {
            int x = col + j / 4 * 8 + (j & 1);
            s[j] = exp2_fast((s[j] * 0.125f - l[x]) * log2e);
        }
        mma_wait<0>();
        mma_hold(g);
#pragma unroll
        for (int j = 0; j < 32; j++) {
            int x = col + j / 4 * 8 + (j & 1);
            g[j] = s[j] * (g[j] - dl[x]);
        }
#pragma unroll
        for (int j = 0; j < 16; j++) {
            p[j] = pack(s[j * 2], s[j * 2 + 1]);
            ds[j] = pack(g[j * 2], g[j * 2 + 1]);
            int r = row + (j & 1) * 8, x = col + j / 2 * 8;
            *(uint32_t *)(ds_out + r * 128 + ((x / 8 ^ r % 8) * 16 | x % 8 * 2)) = ds[j];
        }
        fence_async_shared();
        named_sync(1 + group, 128);
        mma_begin();
#pragma unroll
        for (int j = 0; j < QUERIES / 16; j++) mma_f16_64_registers(d_v, p + j * 4, go + j * 128);
#pragma unroll
        for (int j = 0; j < QUERIES / 16; j++) mma_f16_64_registers(d_k, ds + j * 4, q + j * 128);
        uint64_t a = matrix(shared_at(ds_out));
#pragma unroll
        for (int j = 0; j < KEYS / 2 / 16; j++) mma_f16_64_turned(d_q, a + j * 128, k + j * 128, j > 0);
        mma_commit();
        if (t == 0) store_wait_read<0>(); // the sums before have left shared memory
        mma_wait<0>();
        mma_hold(d_q);
        mma_hold(d_k);
        mma_hold(d_v);
        named_sync(1 + group, 128);
        if (t == 0) bar_arrive(shared_at(&empty[at]));
#pragma unroll
        for (int j = 0; j < 32; j += 2) { // two boxes of 32 columns
            int r = row + (j & 2) * 4, y = col + j / 4 * 8, x = y % 32;
            *(float2 *)(dq_out + y / 32 * TILE_BYTES + r * 128 + ((x / 4 ^ r % 8) * 16 | x % 4 * 4)) =
                make_float2(d_q[j] * 0.125f, d_q[j + 1] * 0.125f);
        }
        fence_async_shared();
        named_sync(1 + group, 128);
        if (t == 0) {
            add_tile(&map_dq, shared_at(dq_out), 0, head0 + i * QUERIES);
            add_tile(&map_dq, shared_at(dq_out) + TILE_BYTES, 32, head0 + i * QUERIES);
            store_commit();
        }
    }
#pragma unroll
    for (int j = 0; j < 32; j += 2) {
        size_t to = (size_t)(key0 + group * 64 + row + (j & 2) * 4) * HEAD + col + j / 4 * 8;
        *(__half2 *)(dk + to) = __floats2half2_rn(d_k[j] * 0.125f, d_k[j + 1] * 0.125f);
        *(__half2 *)(dv + to) = __floats2half2_rn(d_v[j], d_v[j + 1]);
    }
    if (t == 0) store_wait<0>();
}
