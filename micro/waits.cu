// Loads that miss in L1 and find their line in L2, and loads whose lines are on their way.
//
//   miss_1, miss_2, miss_4, miss_16   16 loads of a warp (of 16 bytes: 8), a byte to 16 bytes a lane side by side, each of other lines
//   miss_all                          the same of one word for all lanes
//   wait_1, wait_2, wait_4, wait_all  each load a byte, half or word further than the one before: the first one or two miss, the others find
//                                     their sectors on their way, or there
//   wait_lines                        lanes 32 bytes apart: eight lines for each load
// by the first w warps of the block. A warp goes `adv` bytes on in each of `n` rounds, and begins again after mask + 1. All warps load the lines
// past L1 before that. To be timed from outside.
#include "micro.h"

#define LD1(d, p) asm volatile("ld.global.u8 %0, [%1];" : "=r"(d) : "l"(p) : "memory")
#define LD2(d, p) asm volatile("ld.global.u16 %0, [%1];" : "=h"(d) : "l"(p) : "memory")
#define LD4(d, p) asm volatile("ld.global.u32 %0, [%1];" : "=r"(d) : "l"(p) : "memory")
#define LD16(d, p)                                                                                           \
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"                                                  \
                 : "=r"(d.x), "=r"(d.y), "=r"(d.z), "=r"(d.w)                                                \
                 : "l"(p)                                                                                    \
                 : "memory")
__device__ __forceinline__ u32 of(u32 v) { return v; }
__device__ __forceinline__ u32 of(unsigned short v) { return v; }
__device__ __forceinline__ u32 of(uint4 v) { return v.x + v.y + v.z + v.w; }

#define WAITS(NAME, T, LD, LANE, STEP, K)                                                                    \
    KERNEL NAME(const char *a, u32 w, u32 span, u32 adv, u32 mask, u32 n, u32 *out) {                        \
        u32 sum = 0;                                                                                         \
        _Pragma("unroll 4") for (u32 k = threadIdx.x * 16; k < w * span; k += blockDim.x * 16) {             \
            uint4 v;                                                                                         \
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"                                       \
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                                        \
                         : "l"(a + k)                                                                        \
                         : "memory");                                                                        \
            sum += of(v);                                                                                    \
        }                                                                                                    \
        const char *first = a + threadIdx.x / 32 * span + threadIdx.x % 32 * LANE;                           \
        if (sum == 12345) out[0] = sum;                                                                      \
        __syncthreads();                                                                                     \
        if (threadIdx.x / 32 >= w) return;                                                                   \
        _Pragma("unroll 1") for (u32 j = 0; j < n; j++) {                                                    \
            const char *p = first + (j & mask) * adv;                                                        \
            T v[K];                                                                                          \
            _Pragma("unroll") for (int k = 0; k < K; k++) LD(v[k], p + k * STEP);                            \
            _Pragma("unroll") for (int k = 0; k < K; k++) sum += of(v[k]);                                   \
            first += sum >> 31;                                                                              \
        }                                                                                                    \
        if (sum == 12345) out[0] = sum;                                                                      \
    }
WAITS(miss_1, u32, LD1, 1, 128, 16)
WAITS(miss_2, unsigned short, LD2, 2, 128, 16)
WAITS(miss_4, u32, LD4, 4, 128, 16)
WAITS(miss_16, uint4, LD16, 16, 512, 8)
WAITS(miss_all, u32, LD4, 0, 128, 16)
WAITS(wait_1, u32, LD1, 1, 1, 16)
WAITS(wait_2, unsigned short, LD2, 2, 2, 16)
WAITS(wait_4, u32, LD4, 4, 4, 16)
WAITS(wait_all, u32, LD4, 0, 4, 16)
WAITS(wait_lines, u32, LD4, 32, 4, 16)
