// Made by gen.py, which says what it is.
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

__device__ __forceinline__ void multiply_bf16(float (&d)[64], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) : "l"(a), "l"(b) : "memory");
}
__device__ __forceinline__ void multiply_tf32(float (&d)[64], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) : "l"(a), "l"(b) : "memory");
}
__device__ __forceinline__ void multiply_e4m3(float (&d)[64], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) : "l"(a), "l"(b) : "memory");
}
__device__ __forceinline__ void multiply_s8(int (&d)[64], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1;" : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]), "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]), "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]), "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]), "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]), "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]), "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]), "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]), "+r"(d[63]) : "l"(a), "l"(b) : "memory");
}

extern "C" __global__ void __launch_bounds__(384) gemm_bf16(const __grid_constant__ tensor_map ma, const __grid_constant__ tensor_map mb, float *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / 64;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(sa(&full[i]), 1), init(sa(&empty[i]), 2);
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            for (int i = 0; i < steps; i++) {
                int at = i % STAGES;
                if (i >= STAGES) wait_for(sa(&empty[at]), (i / STAGES + 1) & 1);
                expect(sa(&full[at]), STAGE);
                load(sa(s) + at * STAGE, &ma, sa(&full[at]), i * 64, blockIdx.y * TILE);
                load(sa(s) + at * STAGE + STAGE / 2, &mb, sa(&full[at]), i * 64, blockIdx.x * TILE);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[64];
        for (int i = 0; i < 64; i++) d[i] = 0;
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES;
            wait_for(sa(&full[at]), i / STAGES & 1);
            uint64_t a = desc(sa(s) + at * STAGE + group * 8192), b = desc(sa(s) + at * STAGE + STAGE / 2);
            FENCE;
            for (int j = 0; j < 4; j++) multiply_bf16(d, a + j * 2, b + j * 2);
            COMMIT;
            WAIT;
            if (t == 0) arrive(sa(&empty[at]));
        }
        int row = blockIdx.y * TILE + group * 64 + t / 32 * 16 + t % 32 / 4, col = blockIdx.x * TILE + t % 4 * 2;
        for (int i = 0; i < 64; i++) c[(size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8 + (i & 1)] = d[i];
    }
}

extern "C" __global__ void __launch_bounds__(384) gemm_tf32(const __grid_constant__ tensor_map ma, const __grid_constant__ tensor_map mb, float *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / 32;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(sa(&full[i]), 1), init(sa(&empty[i]), 2);
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            for (int i = 0; i < steps; i++) {
                int at = i % STAGES;
                if (i >= STAGES) wait_for(sa(&empty[at]), (i / STAGES + 1) & 1);
                expect(sa(&full[at]), STAGE);
                load(sa(s) + at * STAGE, &ma, sa(&full[at]), i * 32, blockIdx.y * TILE);
                load(sa(s) + at * STAGE + STAGE / 2, &mb, sa(&full[at]), i * 32, blockIdx.x * TILE);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[64];
        for (int i = 0; i < 64; i++) d[i] = 0;
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES;
            wait_for(sa(&full[at]), i / STAGES & 1);
            uint64_t a = desc(sa(s) + at * STAGE + group * 8192), b = desc(sa(s) + at * STAGE + STAGE / 2);
            FENCE;
            for (int j = 0; j < 4; j++) multiply_tf32(d, a + j * 2, b + j * 2);
            COMMIT;
            WAIT;
            if (t == 0) arrive(sa(&empty[at]));
        }
        int row = blockIdx.y * TILE + group * 64 + t / 32 * 16 + t % 32 / 4, col = blockIdx.x * TILE + t % 4 * 2;
        for (int i = 0; i < 64; i++) c[(size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8 + (i & 1)] = d[i];
    }
}

extern "C" __global__ void __launch_bounds__(384) gemm_e4m3(const __grid_constant__ tensor_map ma, const __grid_constant__ tensor_map mb, float *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(sa(&full[i]), 1), init(sa(&empty[i]), 2);
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            for (int i = 0; i < steps; i++) {
                int at = i % STAGES;
                if (i >= STAGES) wait_for(sa(&empty[at]), (i / STAGES + 1) & 1);
                expect(sa(&full[at]), STAGE);
                load(sa(s) + at * STAGE, &ma, sa(&full[at]), i * 128, blockIdx.y * TILE);
                load(sa(s) + at * STAGE + STAGE / 2, &mb, sa(&full[at]), i * 128, blockIdx.x * TILE);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[64];
        for (int i = 0; i < 64; i++) d[i] = 0;
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES;
            wait_for(sa(&full[at]), i / STAGES & 1);
            uint64_t a = desc(sa(s) + at * STAGE + group * 8192), b = desc(sa(s) + at * STAGE + STAGE / 2);
            FENCE;
            for (int j = 0; j < 4; j++) multiply_e4m3(d, a + j * 2, b + j * 2);
            COMMIT;
            WAIT;
            if (t == 0) arrive(sa(&empty[at]));
        }
        int row = blockIdx.y * TILE + group * 64 + t / 32 * 16 + t % 32 / 4, col = blockIdx.x * TILE + t % 4 * 2;
        for (int i = 0; i < 64; i++) c[(size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8 + (i & 1)] = d[i];
    }
}

extern "C" __global__ void __launch_bounds__(384) gemm_s8(const __grid_constant__ tensor_map ma, const __grid_constant__ tensor_map mb, int *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(sa(&full[i]), 1), init(sa(&empty[i]), 2);
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            for (int i = 0; i < steps; i++) {
                int at = i % STAGES;
                if (i >= STAGES) wait_for(sa(&empty[at]), (i / STAGES + 1) & 1);
                expect(sa(&full[at]), STAGE);
                load(sa(s) + at * STAGE, &ma, sa(&full[at]), i * 128, blockIdx.y * TILE);
                load(sa(s) + at * STAGE + STAGE / 2, &mb, sa(&full[at]), i * 128, blockIdx.x * TILE);
            }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        int d[64];
        for (int i = 0; i < 64; i++) d[i] = 0;
        for (int i = 0; i < steps; i++) {
            int at = i % STAGES;
            wait_for(sa(&full[at]), i / STAGES & 1);
            uint64_t a = desc(sa(s) + at * STAGE + group * 8192), b = desc(sa(s) + at * STAGE + STAGE / 2);
            FENCE;
            for (int j = 0; j < 4; j++) multiply_s8(d, a + j * 2, b + j * 2);
            COMMIT;
            WAIT;
            if (t == 0) arrive(sa(&empty[at]));
        }
        int row = blockIdx.y * TILE + group * 64 + t / 32 * 16 + t % 32 / 4, col = blockIdx.x * TILE + t % 4 * 2;
        for (int i = 0; i < 64; i++) c[(size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8 + (i & 1)] = d[i];
    }
}

// Two blocks of a cluster, one below the other: each loads its half of B's tile for both.
extern "C" __global__ void __cluster_dims__(1, 2, 1) __launch_bounds__(384) gemm_cluster(const __grid_constant__ tensor_map ma, const __grid_constant__ tensor_map mb, float *c, int n, int k) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int t = threadIdx.x % 128, group = threadIdx.x / 128 - 1, steps = k / 64;
    uint32_t me = rank();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) init(sa(&full[i]), 1), init(sa(&empty[i]), 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (group < 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (t == 0)
            for (int i = 0; i < steps; i++) {
                int at = i % STAGES;
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
            int at = i % STAGES;
            wait_for(sa(&full[at]), i / STAGES & 1);
            uint64_t a = desc(sa(s) + at * STAGE + group * 8192), b = desc(sa(s) + at * STAGE + STAGE / 2);
            FENCE;
            for (int j = 0; j < 4; j++) multiply_bf16(d, a + j * 2, b + j * 2);
            COMMIT;
            WAIT;
            if (t < 2) arrive_at(sa(&empty[at]), t);
        }
        int row = blockIdx.y * TILE + group * 64 + t / 32 * 16 + t % 32 / 4, col = blockIdx.x * TILE + t % 4 * 2;
        for (int i = 0; i < 64; i++) c[(size_t)(row + (i & 2) * 4) * n + col + i / 4 * 8 + (i & 1)] = d[i];
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
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
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
