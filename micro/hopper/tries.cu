// How often mbarrier.try_wait fails before the phase is over: one lane waits ten times while the others of its warp wait at the
// cluster's barrier or at a __syncwarp, or all lanes wait; who arrives is a warp of the block or of another block of the cluster, once
// or twice. hardware/h200/hopper_tries.txt is what it printed on an H200.
//
// usage: nvcc -std=c++17 -O1 -arch=sm_90a -o tries tries.cu; ./tries
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdint>
typedef unsigned u32; typedef unsigned long long u64;
__device__ u32 sh(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory"); return t; }
__device__ void spin(u64 d) { u64 t = now(); while (now() - t < d) {} }
__device__ u32 wait(u64 *bar, u32 phase) {
    u32 done, tries = 0;
    do {
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(sh(bar)), "r"(phase) : "memory");
        tries++;
    } while (!done);
    return tries;
}
__device__ void arrive(u64 *bar, u32 rank) {
    u32 a; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(sh(bar)), "r"(rank));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(a) : "memory");
}
// how: 0 the others wait at the cluster's barrier, 1 at a __syncwarp, 2 all wait.
__global__ void tries(u32 *out, int how, int remote, int arrivals, u64 delay, int rounds) {
    __shared__ u64 bar;
    u32 me = cooperative_groups::this_cluster().block_rank(), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(sh(&bar)), "r"(arrivals)); asm volatile("fence.mbarrier_init.release.cluster;"); }
    cooperative_groups::this_cluster().sync();
    u32 n = 0;
    u64 t0 = now();
    if (warp == 1) {
        if (me == (u32)remote && lane == 0)
            for (int r = 0; r < rounds; r++) { spin(delay); arrive(&bar, 0); if (arrivals > 1) { spin(delay); arrive(&bar, 0); } }
    } else if (me == 0) {
        if (how == 0) {
            if (lane == 0) for (int r = 0; r < rounds; r++) n += wait(&bar, r & 1);
        } else if (how == 1) {
            if (lane == 0) for (int r = 0; r < rounds; r++) n += wait(&bar, r & 1);
            __syncwarp();
        } else if (how == 2) {
            for (int r = 0; r < rounds; r++) n += wait(&bar, r & 1);
        }
        if (lane == 0) out[0] = n, out[1] = (u32)(now() - t0);
    }
    cooperative_groups::this_cluster().sync();
}
int main() {
    u32 *out, h[2];
    cudaMalloc(&out, 8);
    for (int remote = 0; remote < 2; remote++)
        for (int arrivals = 1; arrivals < 3; arrivals++)
            for (int how = 0; how < 3; how++)
                for (u64 delay : {50ull, 300ull, 1000ull, 3000ull, 9000ull, 20000ull}) {
                    cudaLaunchConfig_t c = {}; cudaLaunchAttribute a[1];
                    c.gridDim = 2, c.blockDim = 64; a[0].id = cudaLaunchAttributeClusterDimension; a[0].val.clusterDim.x = 2, a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1; c.attrs = a, c.numAttrs = 1;
                    cudaMemset(out, 0, 8);
                    int e = cudaLaunchKernelEx(&c, tries, out, how, remote, arrivals, delay, 10), e2 = cudaMemcpy(h, out, 8, cudaMemcpyDeviceToHost);
                    printf("remote %d arrivals %d others %s delay %llu: %d %d tries %u in %u cycles\n", remote, arrivals, how == 0 ? "at the cluster's barrier" : how == 1 ? "syncwarp" : "with it", delay, e, e2, h[0], h[1]);
                    fflush(stdout);
                }
}
