// One product of a group of warps for each combination of types, for wgmma.launch.
#include <cstdint>

__device__ uint32_t sa(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ uint64_t desc(uint32_t addr, uint32_t lbo, uint32_t sbo, uint32_t base, uint32_t mode) {
    return (uint64_t)((addr & 0x3ffff) >> 4) | (uint64_t)((lbo & 0x3ffff) >> 4) << 16 | (uint64_t)((sbo & 0x3ffff) >> 4) << 32 | (uint64_t)(base & 7) << 49 | (uint64_t)mode << 62;
}
#define FENCE asm volatile("fence.proxy.async;\n" "wgmma.fence.sync.aligned;" ::: "memory")
#define DONE asm volatile("wgmma.commit_group.sync.aligned;\n" "wgmma.wait_group.sync.aligned 0;" ::: "memory")

// Dense: A [64][32 bytes] at 0 (core matrices: 8 rows of 16 bytes; row groups 128 apart, k chunk 1024 apart), B [8][32 bytes] at 4096 (k chunk 128 apart).
#define KERNEL4(name, inst, tail)                                                                                     \
    extern "C" __global__ void name(const uint8_t *a, const uint8_t *b, uint32_t *d) {                                          \
        __shared__ __align__(1024) uint8_t s[8192];                                                                   \
        int t = threadIdx.x;                                                                                          \
        a += blockIdx.x * 2048; b += blockIdx.x * 256; d += blockIdx.x * 512;                                         \
        for (int i = t; i < 2048; i += 128) s[(i / 32 / 8) * 128 + (i / 32 % 8) * 16 + (i % 32 / 16) * 1024 + i % 16] = a[i]; \
        for (int i = t; i < 256; i += 128) s[4096 + (i / 32) * 16 + (i % 32 / 16) * 128 + i % 16] = b[i];            \
        __syncthreads();                                                                                              \
        uint32_t r0 = d[t * 4], r1 = d[t * 4 + 1], r2 = d[t * 4 + 2], r3 = d[t * 4 + 3];                              \
        uint64_t da = desc(sa(s), 1024, 128, 0, 0), db = desc(sa(s) + 4096, 128, 128, 0, 0);                          \
        FENCE;                                                                                                        \
        asm volatile("wgmma.mma_async.sync.aligned." inst " {%0,%1,%2,%3}, %4, %5, 1" tail ";"                       \
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3) : "l"(da), "l"(db) : "memory");                         \
        DONE;                                                                                                         \
        d[t * 4] = r0; d[t * 4 + 1] = r1; d[t * 4 + 2] = r2; d[t * 4 + 3] = r3;                                       \
    }
#define KERNEL2(name, inst, tail)                                                                                     \
    extern "C" __global__ void name(const uint8_t *a, const uint8_t *b, uint32_t *d) {                                          \
        __shared__ __align__(1024) uint8_t s[8192];                                                                   \
        int t = threadIdx.x;                                                                                          \
        a += blockIdx.x * 2048; b += blockIdx.x * 256; d += blockIdx.x * 512;                                         \
        for (int i = t; i < 2048; i += 128) s[(i / 32 / 8) * 128 + (i / 32 % 8) * 16 + (i % 32 / 16) * 1024 + i % 16] = a[i]; \
        for (int i = t; i < 256; i += 128) s[4096 + (i / 32) * 16 + (i % 32 / 16) * 128 + i % 16] = b[i];            \
        __syncthreads();                                                                                              \
        uint32_t r0 = d[t * 4], r1 = d[t * 4 + 1];                                                                    \
        uint64_t da = desc(sa(s), 1024, 128, 0, 0), db = desc(sa(s) + 4096, 128, 128, 0, 0);                          \
        FENCE;                                                                                                        \
        asm volatile("wgmma.mma_async.sync.aligned." inst " {%0,%1}, %2, %3, 1" tail ";"                             \
                     : "+r"(r0), "+r"(r1) : "l"(da), "l"(db) : "memory");                                             \
        DONE;                                                                                                         \
        d[t * 4] = r0; d[t * 4 + 1] = r1;                                                                             \
    }
KERNEL4(f32_f16, "m64n8k16.f32.f16.f16", ",1,1,0,0")
KERNEL4(f32_f16_neg, "m64n8k16.f32.f16.f16", ",-1,1,0,0")
KERNEL2(f16_f16, "m64n8k16.f16.f16.f16", ",1,1,0,0")
KERNEL4(f32_bf16, "m64n8k16.f32.bf16.bf16", ",1,1,0,0")
KERNEL4(f32_tf32, "m64n8k8.f32.tf32.tf32", ",1,1")
KERNEL4(f32_e4m3, "m64n8k32.f32.e4m3.e4m3", ",1,1")
KERNEL4(f32_e5m2, "m64n8k32.f32.e5m2.e5m2", ",1,1")
KERNEL4(f32_e4e5, "m64n8k32.f32.e4m3.e5m2", ",1,1")
KERNEL2(f16_e4m3, "m64n8k32.f16.e4m3.e4m3", ",1,1")
KERNEL2(f16_e5m2, "m64n8k32.f16.e5m2.e5m2", ",1,1")
KERNEL4(s32_s8, "m64n8k32.s32.s8.s8", "")
KERNEL4(s32_sat, "m64n8k32.s32.s8.s8.satfinite", "")
KERNEL4(s32_su, "m64n8k32.s32.s8.u8", "")
KERNEL4(s32_b1, "m64n8k256.s32.b1.b1.and.popc", "")

// Sparse: A [64][32 bytes] stored, B [8][64 bytes] at 4096 (k chunks 128 apart); meta [128 threads].
#define SPARSE(name, inst, sel, tail)                                                                                 \
    extern "C" __global__ void name(const uint8_t *a, const uint8_t *b, uint32_t *d, const uint32_t *meta) {                    \
        __shared__ __align__(1024) uint8_t s[8192];                                                                   \
        int t = threadIdx.x;                                                                                          \
        a += blockIdx.x * 2048; b += blockIdx.x * 512; d += blockIdx.x * 512; meta += blockIdx.x * 128;              \
        for (int i = t; i < 2048; i += 128) s[(i / 32 / 8) * 128 + (i / 32 % 8) * 16 + (i % 32 / 16) * 1024 + i % 16] = a[i]; \
        for (int i = t; i < 512; i += 128) s[4096 + (i / 64) * 16 + (i % 64 / 16) * 128 + i % 16] = b[i];            \
        __syncthreads();                                                                                              \
        uint32_t r0 = d[t * 4], r1 = d[t * 4 + 1], r2 = d[t * 4 + 2], r3 = d[t * 4 + 3], m = meta[t];                 \
        uint64_t da = desc(sa(s), 1024, 128, 0, 0), db = desc(sa(s) + 4096, 128, 128, 0, 0);                          \
        FENCE;                                                                                                        \
        asm volatile("wgmma.mma_async.sp.sync.aligned." inst " {%0,%1,%2,%3}, %4, %5, %6, " sel ", 1" tail ";"       \
                     : "+r"(r0), "+r"(r1), "+r"(r2), "+r"(r3) : "l"(da), "l"(db), "r"(m) : "memory");                 \
        DONE;                                                                                                         \
        d[t * 4] = r0; d[t * 4 + 1] = r1; d[t * 4 + 2] = r2; d[t * 4 + 3] = r3;                                       \
    }
SPARSE(sp_f16_0, "m64n8k32.f32.f16.f16", "0", ",1,1,0,0")
SPARSE(sp_f16_1, "m64n8k32.f32.f16.f16", "1", ",1,1,0,0")
SPARSE(sp_tf32_0, "m64n8k16.f32.tf32.tf32", "0", ",1,1")
SPARSE(sp_tf32_1, "m64n8k16.f32.tf32.tf32", "1", ",1,1")
SPARSE(sp_e4m3, "m64n8k64.f32.e4m3.e4m3", "0", ",1,1")
SPARSE(sp_s8, "m64n8k64.s32.s8.s8", "0", "")

