// SPDX-License-Identifier: Apache-2.0
// C = A B on tensor cores: f16 in, f32 out. A block of four warps makes a 64x64 tile of C, a warp 32x32 of it
// with mma.sync m16n8k16. Tiles 32 deep come through two stages of cp.async, operands by ldmatrix from rows
// padded so that eight of them touch all banks once. n is a multiple of 64. (CUTLASS's Ampere-style GEMM;
// CUDA samples: cudaTensorCoreGemm)

#include <cuda_fp16.h>

#define TILE  64
#define DEPTH 32
#define A_ROW (DEPTH + 8)
#define B_ROW (TILE + 8)

static __device__ void copy16(void *to, const void *from) {
    unsigned s = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s), "l"(__cvta_generic_to_global(from))
                 : "memory");
}

static __device__ void load4(unsigned r[4], const __half *from) {
    unsigned s = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(s)
                 : "memory");
}

static __device__ void load4_turned(unsigned r[4], const __half *from) {
    unsigned s = (unsigned)__cvta_generic_to_shared(from);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(s)
                 : "memory");
}

static __device__ void mma(float c[4], const unsigned a[4], const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void __launch_bounds__(128)
    hgemm_tensor(int n, const __half *a, const __half *b, float *c) {
    __shared__ __align__(16) __half as[2][TILE][A_ROW], bs[2][DEPTH][B_ROW];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int wy = warp / 2 * 32, wx = warp % 2 * 32; // the warp's corner in the tile
    const __half *a_from = a + blockIdx.y * TILE * n, *b_from = b + blockIdx.x * TILE;
    float acc[2][4][4] = {};

    // A tile of A is 64 rows of 4 pieces of 16 bytes, one of B 32 rows of 8: two pieces of each a thread.
    auto fetch = [&](int stage, int k) {
        for (int p = t; p < 256; p += 128) {
            copy16(&as[stage][p / 4][p % 4 * 8], a_from + p / 4 * n + k + p % 4 * 8);
            copy16(&bs[stage][p / 8][p % 8 * 8], b_from + (k + p / 8) * n + p % 8 * 8);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    fetch(0, 0);
    for (int k = 0, stage = 0; k < n; k += DEPTH, stage ^= 1) {
        if (k + DEPTH < n) {
            fetch(stage ^ 1, k + DEPTH);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            unsigned fa[2][4], fb[2][4]; // fb: two pairs of k halves, for 16 columns
#pragma unroll
            for (int i = 0; i < 2; i++) load4(fa[i], &as[stage][wy + i * 16 + lane % 16][d + lane / 16 * 8]);
#pragma unroll
            for (int j = 0; j < 2; j++)
                load4_turned(fb[j], &bs[stage][d + lane % 16][wx + j * 16 + lane / 16 * 8]);
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) mma(acc[i][j], fa[i], &fb[j / 2][j % 2 * 2]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int row = blockIdx.y * TILE + wy + i * 16 + lane / 4,
                col = blockIdx.x * TILE + wx + j * 8 + lane % 4 * 2;
            *(float2 *)(c + row * n + col) = make_float2(acc[i][j][0], acc[i][j][1]);
            *(float2 *)(c + (row + 8) * n + col) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
}
