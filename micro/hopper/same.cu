// Bulk copies of lines that other SMs load at the same time: how many bytes a cycle each SM has, by how many blocks read the same.
//
//   nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o same same.cu && ./same > same.csv
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
typedef unsigned long long u64;
typedef uint32_t u32;
__device__ u32 sa(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__global__ void load(u64 *out, const uint8_t *from, u32 share, u32 copies, u32 bytes) { // four stages
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ u64 bars[4];
    if (threadIdx.x) return;
    for (u32 k = 0; k < 4; k++) asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.proxy.async;" ::"r"(sa(&bars[k])) : "memory");
    const uint8_t *at = from + (size_t)(blockIdx.x / share) * copies * bytes;
    long long t = clock64();
    for (u32 i = 0; i < copies + 4; i++) {
        u32 b = sa(&bars[i % 4]);
        if (i >= 4) asm volatile("{.reg .pred p;\nL%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:}" ::"r"(b), "r"((i / 4 - 1) & 1) : "memory");
        if (i >= copies) continue;
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(sa(s) + i % 4 * bytes), "l"(at + (size_t)i * bytes), "r"(bytes), "r"(b) : "memory");
    }
    out[blockIdx.x] = clock64() - t;
}
int main() {
    u64 *out, h[132];
    uint8_t *mem;
    if (cudaMalloc(&out, sizeof h) || cudaMalloc(&mem, 64 << 20)) return 1;
    cudaMemset(mem, 1, 64 << 20);
    cudaFuncSetAttribute((void *)load, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 << 10);
    printf("blocks,share,bytes,copies,bytes_per_cycle\n");
    for (u32 blocks : {1u, 16u, 66u, 132u}) for (u32 share : {1u, 2u, 4u, 8u, 16u, 33u, 132u}) for (u32 bytes : {8192u, 16384u}) {
        u32 copies = 24;
        for (int r = 0; r < 3; r++) load<<<blocks, 32, 160 << 10>>>(out, mem, share, copies, bytes);
        if (cudaDeviceSynchronize() || cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)) return 2;
        double sum = 0;
        for (u32 b = 0; b < blocks; b++) sum += (double)h[b];
        printf("%u,%u,%u,%u,%.2f\n", blocks, share, bytes, copies, (double)copies * bytes * blocks / sum);
    }
    return 0;
}
