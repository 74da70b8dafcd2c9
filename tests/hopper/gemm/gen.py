#!/usr/bin/env python3
"""Writes gemm.cu: products of matrices as Hopper's libraries do them, for gemm.launch.

usage: gen.py > gemm.cu; nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a -cubin gemm.cu; nvcc -arch=compute_90a -ptx gemm.cu

C [m][n] = A [m][k] times B [n][k] transposed, tiles of 128 x 128, rows of 128 bytes of A and B at a time in four stages
of shared memory. A producer warp asks for boxes (TMA, swizzle of 128 bytes), two groups of warps multiply 64 rows each.
"""
KINDS = [("bf16", "m64n128k16.f32.bf16.bf16", ", 1, 1, 0, 0", "float", "f", 64),
         ("tf32", "m64n128k8.f32.tf32.tf32", ", 1, 1", "float", "f", 32),
         ("e4m3", "m64n128k32.f32.e4m3.e4m3", ", 1, 1", "float", "f", 128),
         ("s8", "m64n128k32.s32.s8.s8", "", "int", "r", 128)]
print(r"""// Made by gen.py, which says what it is.
#include <cstdint>
struct __align__(64) tensor_map { uint8_t bytes[128]; };
enum { TILE = 128, STAGES = 4, STAGE = 2 * TILE * 128, SHARED = STAGES * STAGE + 1024 };
__device__ __forceinline__ uint32_t sa(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(uint32_t bar, uint32_t n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory"); }
__device__ __forceinline__ void wait_for(uint32_t bar, uint32_t parity) {
    uint32_t done;
    do asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    while (!done);
}
__device__ __forceinline__ void expect(uint32_t bar, uint32_t bytes) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory"); }
__device__ __forceinline__ void arrive(uint32_t bar) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar) : "memory"); }
__device__ __forceinline__ uint32_t rank() { uint32_t r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ __forceinline__ void arrive_at(uint32_t bar, uint32_t to) {
    asm volatile("{.reg .u32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a];}" ::"r"(bar), "r"(to) : "memory");
}
__device__ __forceinline__ void load(uint32_t to, const void *map, uint32_t bar, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void load_all(uint32_t to, const void *map, uint32_t bar, int x, int y, uint16_t mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "h"(mask) : "memory");
}
__device__ __forceinline__ uint64_t desc(uint32_t at) { return 1ull << 62 | 64ull << 32 | 1ull << 16 | (at & 0x3ffff) >> 4; }
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
""")
for name, inst, tail, acc, c, step in KINDS:
    d = "{" + ", ".join("%%%d" % i for i in range(64)) + "}"
    print("__device__ __forceinline__ void multiply_%s(%s (&d)[64], uint64_t a, uint64_t b) {" % (name, acc))
    print('    asm volatile("wgmma.mma_async.sync.aligned.%s %s, %%64, %%65, 1%s;" : %s : "l"(a), "l"(b) : "memory");\n}' % (inst, d, tail, ", ".join('"+%s"(d[%d])' % (c, i) for i in range(64))))
STORE = """        int row = blockIdx.y * TILE + group * 64 + t / 32 * 16 + t %% 32 / 4, col = blockIdx.x * TILE + t %% 4 * 2;
        for (int i = 0; i < 64; i++) c[(size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8 + (i & 1)] = d[i];
"""
for name, inst, tail, acc, c, step in KINDS:
    print("""
extern "C" __global__ void __launch_bounds__(384) gemm_%(name)s(const __grid_constant__ tensor_map ma, const __grid_constant__ tensor_map mb, %(acc)s *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x %% 128, group = threadIdx.x / 128 - 1, steps = k / %(step)d;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(sa(&full[i]), 1), init(sa(&empty[i]), 2);
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            for (int i = 0; i < steps; i++) {
                int at = i %% STAGES;
                if (i >= STAGES) wait_for(sa(&empty[at]), (i / STAGES + 1) & 1);
                expect(sa(&full[at]), STAGE);
                load(sa(s) + at * STAGE, &ma, sa(&full[at]), i * %(step)d, blockIdx.y * TILE);
                load(sa(s) + at * STAGE + STAGE / 2, &mb, sa(&full[at]), i * %(step)d, blockIdx.x * TILE);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        %(acc)s d[64];
        for (int i = 0; i < 64; i++) d[i] = 0;
        for (int i = 0; i < steps; i++) {
            int at = i %% STAGES;
            wait_for(sa(&full[at]), i / STAGES & 1);
            uint64_t a = desc(sa(s) + at * STAGE + group * 8192), b = desc(sa(s) + at * STAGE + STAGE / 2);
            FENCE;
            for (int j = 0; j < 4; j++) multiply_%(name)s(d, a + j * 2, b + j * 2);
            COMMIT;
            WAIT;
            if (t == 0) arrive(sa(&empty[at]));
        }
""" % locals() + STORE % () + "    }\n}")
print("""
// Two blocks of a cluster, one below the other: each loads its half of B's tile for both.
extern "C" __global__ void __cluster_dims__(1, 2, 1) __launch_bounds__(384) gemm_cluster(const __grid_constant__ tensor_map ma, const __grid_constant__ tensor_map mb, float *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x %% 128, group = threadIdx.x / 128 - 1, steps = k / 64;
    uint32_t me = rank();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(sa(&full[i]), 1), init(sa(&empty[i]), 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            for (int i = 0; i < steps; i++) {
                int at = i %% STAGES;
                if (i >= STAGES) wait_for(sa(&empty[at]), (i / STAGES + 1) & 1);
                expect(sa(&full[at]), STAGE);
                load(sa(s) + at * STAGE, &ma, sa(&full[at]), i * 64, blockIdx.y * TILE);
                load_all(sa(s) + at * STAGE + STAGE / 2 + me * (STAGE / 4), &mb, sa(&full[at]), i * 64, blockIdx.x * TILE + me * 64, 3);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[64];
        for (int i = 0; i < 64; i++) d[i] = 0;
        for (int i = 0; i < steps; i++) {
            int at = i %% STAGES;
            wait_for(sa(&full[at]), i / STAGES & 1);
            uint64_t a = desc(sa(s) + at * STAGE + group * 8192), b = desc(sa(s) + at * STAGE + STAGE / 2);
            FENCE;
            for (int j = 0; j < 4; j++) multiply_bf16(d, a + j * 2, b + j * 2);
            COMMIT;
            WAIT;
            if (t < 2) arrive_at(sa(&empty[at]), t);
        }
""" % () + STORE % () + """    }
    asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// A part of k for each block along z; what comes out is added up in global memory by TMA.
extern "C" __global__ void __launch_bounds__(256) gemm_splitk(const __grid_constant__ tensor_map ma, const __grid_constant__ tensor_map mb, const __grid_constant__ tensor_map mc, int k) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ uint64_t full;
    int t = threadIdx.x % 128, group = threadIdx.x / 128, from = blockIdx.z * k;
    if (threadIdx.x == 0) init(sa(&full), 1);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    float d[64];
    for (int i = 0; i < 64; i++) d[i] = 0;
    for (int i = 0; i < k / 64; i++) {
        if (threadIdx.x == 0) {
            expect(sa(&full), STAGE);
            load(sa(s), &ma, sa(&full), from + i * 64, blockIdx.y * TILE);
            load(sa(s) + STAGE / 2, &mb, sa(&full), from + i * 64, blockIdx.x * TILE);
        }
        wait_for(sa(&full), i & 1);
        FENCE;
        for (int j = 0; j < 4; j++) multiply_bf16(d, desc(sa(s) + group * 8192) + j * 2, desc(sa(s) + STAGE / 2) + j * 2);
        COMMIT;
        WAIT;
        __syncthreads();
    }
    float *out = (float *)s; // four boxes of 32 columns, 128 rows
    int row = group * 64 + t / 32 * 16 + t % 32 / 4, col = t % 4 * 2;
    for (int i = 0; i < 64; i++) { int x = col + i / 4 * 8 + (i & 1); out[x / 32 * 4096 + (row + (i & 2) * 4) * 32 + x % 32] = d[i]; }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; i++)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&mc), "r"(sa(s) + i * 16384), "r"((int)blockIdx.x * TILE + i * 32), "r"((int)blockIdx.y * TILE) : "memory");
        asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}""")
