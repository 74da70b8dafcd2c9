// Boxes of tensors copied to shared memory, for tensor.launch: 16 KiB of shared memory as the copy leaves them.
#include <cstdint>
struct __align__(64) tensor_map { uint8_t bytes[128]; };
enum { AREA = 16384 };
__device__ uint32_t sa(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

extern "C" __global__ void fill(uint8_t *x, uint32_t n) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = (uint8_t)((i * 2654435761u) >> 24 ^ i);
}
struct place { int c[5]; int off[3]; };
template <typename F> __device__ void box(const tensor_map &map, uint8_t *out, uint32_t bytes, uint32_t n, F copy) {
    __shared__ __align__(1024) uint8_t s[AREA];
    __shared__ __align__(8) uint64_t bar;
    for (uint32_t i = threadIdx.x; i < AREA; i += blockDim.x) s[i] = 0xee;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.proxy.async;" ::"r"(sa(&bar)) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sa(&bar)), "r"(bytes) : "memory");
        copy(sa(s), &map, sa(&bar));
    }
    uint32_t done = 0;
    while (!done) asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(sa(&bar)) : "memory");
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) out[i] = s[i];
}
#define COPY(rank, mode, coords, tail) asm volatile("cp.async.bulk.tensor." rank ".shared::cluster.global." mode ".mbarrier::complete_tx::bytes [%0], [%1, {" coords "}], [%2]" tail ";" ::"r"(to), "l"(m), "r"(bar), "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]), "r"(p.c[3]), "r"(p.c[4]), "h"((uint16_t)p.off[0]), "h"((uint16_t)p.off[1]), "h"((uint16_t)p.off[2]) : "memory")
#define KERNEL(name, rank, mode, coords, tail)                                                                        \
    extern "C" __global__ void name(const __grid_constant__ tensor_map map, uint8_t *out, uint32_t bytes, uint32_t n, place p) { \
        box(map, out, bytes, n, [=](uint32_t to, const void *m, uint32_t bar) { COPY(rank, mode, coords, tail); });    \
    }
KERNEL(tile1, "1d", "tile", "%3", "")
KERNEL(tile2, "2d", "tile", "%3,%4", "")
KERNEL(tile3, "3d", "tile", "%3,%4,%5", "")
KERNEL(tile4, "4d", "tile", "%3,%4,%5,%6", "")
KERNEL(tile5, "5d", "tile", "%3,%4,%5,%6,%7", "")
KERNEL(im2col3, "3d", "im2col", "%3,%4,%5", ", {%8}")
KERNEL(im2col4, "4d", "im2col", "%3,%4,%5,%6", ", {%8,%9}")
KERNEL(im2col5, "5d", "im2col", "%3,%4,%5,%6,%7", ", {%8,%9,%10}")
