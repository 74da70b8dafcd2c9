// Asynchronous copies to shared memory (cp.async): what they take, by how they lie in memory and where they land.
//
//   copy_16     each thread copies 16 bytes past L1, eight times, and waits for all but these; `rounds` times. A warp's bytes are rows of `row`
//               bytes, `pitch` apart in memory, `land` apart in shared memory; the next copy is beside the last, the next eight below. Nothing
//               is copied twice by a block; blocks copy nearly the same, 4 KB apart.
//   copy_ca     the same through L1
//   copy_4      4 bytes each, through L1
//   copy_again  as copy_ca, but all warps copy what the first does, so that L1 has it
//   copy_beside as copy_16 by every other warp; the others load words of shared memory, 16 * `loads` times
//   copy_wait   one warp: a copy of 16 bytes a lane, and a wait for it, over and over; cycles of one = out / 32
//   copy_use    copies of the next tile, products of the one before, as kernels do that work on tiles: `rounds` tiles
// To be timed from outside.
#include "micro.h"

#define WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define CLOSE() asm volatile("cp.async.commit_group;" ::: "memory")

__device__ __forceinline__ u32 shared_at(const void *p) { return (u32)__cvta_generic_to_shared(p); }

#define COPY(how, each, to, from) asm volatile(how " [%0], [%1], " #each ";" ::"r"(to), "l"(from) : "memory")
#define EIGHT(how, each, at, p, tile, row)                                                                   \
    COPY(how, each, at, p);                                                                                  \
    COPY(how, each, at + tile, p + row);                                                                     \
    COPY(how, each, at + 2 * tile, p + 2 * row);                                                             \
    COPY(how, each, at + 3 * tile, p + 3 * row);                                                             \
    COPY(how, each, at + 4 * tile, p + 4 * row);                                                             \
    COPY(how, each, at + 5 * tile, p + 5 * row);                                                             \
    COPY(how, each, at + 6 * tile, p + 6 * row);                                                             \
    COPY(how, each, at + 7 * tile, p + 7 * row);                                                             \
    CLOSE();                                                                                                 \
    WAIT(1)
#define COPIES(name, how, each, own)                                                                         \
    KERNEL name(u64 *out, const char *in, u32 row, u32 pitch, u32 land, u32 rounds) {                        \
        extern __shared__ __align__(128) char words[];                                                       \
        u32 lane = threadIdx.x % 32 * each, warp = threadIdx.x / 32, warps = blockDim.x / 32;                \
        u32 rows = 32 * each / row, y = lane / row, x = lane % row, tile = rows * land * warps;              \
        const char *p = in + (size_t)blockIdx.x * 4096 + (own * warp * rows + y) * pitch + x;                \
        u32 to = shared_at(words) + (warp * rows + y) * land + x;                                            \
        _Pragma("unroll 1") for (u32 k = 0; k < rounds; k++) {                                               \
            u32 at = to + (k & 1) * 8 * tile;                                                                \
            EIGHT(how, each, at, p, tile, row);                                                              \
            p += (own ? warps : 1) * rows * pitch;                                                           \
        }                                                                                                    \
        WAIT(0);                                                                                             \
        __syncthreads();                                                                                     \
        if (words[threadIdx.x] == 77 && out) out[0] = 1;                                                     \
    }
COPIES(copy_16, "cp.async.cg.shared.global", 16, 1)
COPIES(copy_ca, "cp.async.ca.shared.global", 16, 1)
COPIES(copy_again, "cp.async.ca.shared.global", 16, 0)
COPIES(copy_4, "cp.async.ca.shared.global", 4, 1)

KERNEL copy_beside(u64 *out, const char *in, u32 row, u32 pitch, u32 land, u32 rounds, u32 loads) {
    extern __shared__ __align__(128) char words[];
    u32 lane = threadIdx.x % 32 * 16, warp = threadIdx.x / 64, warps = blockDim.x / 64, sum = 0;
    u32 rows = 512 / row, y = lane / row, x = lane % row, tile = rows * land * warps;
    const char *p = in + (size_t)blockIdx.x * 4096 + (warp * rows + y) * pitch + x;
    u32 to = shared_at(words) + (warp * rows + y) * land + x;
    if (threadIdx.x / 32 % 2) {
        u32 own = shared_at(words) + threadIdx.x % 32 * 4;
#pragma unroll 1
        for (u32 k = 0; k < loads; k++)
            asm volatile("{.reg .b32 p;\n\t" R16("ld.volatile.shared.u32 p, [%1];\n\txor.b32 %0, %0, p;\n\t") "}"
                         : "+r"(sum)
                         : "r"(own)
                         : "memory");
    } else {
#pragma unroll 1
        for (u32 k = 0; k < rounds; k++) {
            u32 at = to + (k & 1) * 8 * tile;
            EIGHT("cp.async.cg.shared.global", 16, at, p, tile, row);
            p += warps * rows * pitch;
        }
        WAIT(0);
    }
    if (sum == 77 && out) out[0] = 1;
}

#define TIMED_COPY(how)                                                                                      \
    TIMED(for (int k = 0; k < 16; k++) {                                                                     \
        COPY(how, 16, to, p + k * step);                                                                     \
        CLOSE();                                                                                             \
        WAIT(0);                                                                                             \
    })
KERNEL copy_wait(u64 *out, const char *in, u32 step, u32 through) {
    __shared__ __align__(16) char words[512];
    u32 to = shared_at(words) + threadIdx.x * 16;
    const char *p = in + threadIdx.x * 16;
    if (through) {
        TIMED_COPY("cp.async.ca.shared.global")
    } else {
        TIMED_COPY("cp.async.cg.shared.global")
    }
}

// Tiles of 64 x 64 words by 256 threads, two at a time; each thread adds up four products of rows and columns.
KERNEL copy_use(u64 *out, const float *in, u32 rounds) {
    __shared__ __align__(16) float tile[2][64 * 68];
    u32 t = threadIdx.x;
    const float *p = in + (size_t)blockIdx.x * 4096;
    float sum[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (u32 k = 0; k <= rounds; k++) {
        if (k < rounds)
            for (u32 i = 0; i < 4; i++) {
                u32 at = i * 256 + t;
                COPY("cp.async.cg.shared.global", 16, shared_at(&tile[k & 1][at / 16 * 68 + at % 16 * 4]),
                     p + (size_t)(k & 3) * 4096 * gridDim.x + at * 4);
            }
        CLOSE();
        WAIT(1);
        __syncthreads();
        if (k) {
            const float *b = tile[~k & 1];
#pragma unroll 4
            for (u32 i = 0; i < 64; i++) {
                float4 v = *(const float4 *)(b + i * 68 + t % 16 * 4);
                float w = b[t / 16 * 68 + i];
                sum[0] += v.x * w;
                sum[1] += v.y * w;
                sum[2] += v.z * w;
                sum[3] += v.w * w;
            }
        }
        __syncthreads();
    }
    if (sum[0] + sum[1] + sum[2] + sum[3] == 0.5f) out[0] = 1;
}
