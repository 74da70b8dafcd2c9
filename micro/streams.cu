// Streams as people write them: a thread an element (one_*), or a loop over the grid (all_*), of words, of 8 and 16 bytes, of bytes and halves.
//
//   copy    a = b              add     a = b + c          three   a = b + c + d
//   scale   a = s b            triad   a = b + s c        update  a = s a
//   sum     reads b            fill    a = s
// To be timed from outside.
#include <cuda_fp16.h>
#include "micro.h"

typedef unsigned char u8;
#define ARGS(T) u32 n, float s, T *__restrict__ a, const T *__restrict__ b, const T *__restrict__ c, const T *__restrict__ d
#define ONE(name, T, ...)                                                                                    \
    extern "C" __global__ void __launch_bounds__(1024) one_##name(ARGS(T)) {                                 \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        if (i < n) { __VA_ARGS__; }                                                                          \
    }
#define ALL(name, T, ...)                                                                                    \
    extern "C" __global__ void __launch_bounds__(1024) all_##name(ARGS(T)) {                                 \
        for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { __VA_ARGS__; } \
    }
#define BOTH(name, T, ...) ONE(name, T, __VA_ARGS__) ALL(name, T, __VA_ARGS__)

__device__ __forceinline__ float2 operator+(float2 x, float2 y) { return make_float2(x.x + y.x, x.y + y.y); }
__device__ __forceinline__ float4 operator+(float4 x, float4 y) { return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w); }
__device__ __forceinline__ float4 operator*(float s, float4 x) { return make_float4(s * x.x, s * x.y, s * x.z, s * x.w); }
__device__ __forceinline__ float of(float x) { return x; }
__device__ __forceinline__ float of(float4 x) { return x.x + x.y + x.z + x.w; }

BOTH(copy_1, u8, a[i] = b[i])
ONE(copy_2, __half, a[i] = b[i])
BOTH(copy_4, float, a[i] = b[i])
ONE(copy_8, float2, a[i] = b[i])
BOTH(copy_16, float4, a[i] = b[i])
ONE(scale_16, float4, a[i] = s * b[i])
ONE(add_1, u8, a[i] = b[i] + c[i])
ONE(add_2, __half, a[i] = b[i] + c[i])
BOTH(add_4, float, a[i] = b[i] + c[i])
ONE(add_8, float2, a[i] = b[i] + c[i])
BOTH(add_16, float4, a[i] = b[i] + c[i])
BOTH(triad_4, float, a[i] = b[i] + s * c[i])
BOTH(triad_16, float4, a[i] = b[i] + s * c[i])
BOTH(three_4, float, a[i] = b[i] + c[i] + d[i])
BOTH(three_16, float4, a[i] = b[i] + c[i] + d[i])
ONE(fill_1, u8, a[i] = (u8)s)
BOTH(fill_4, float, a[i] = s)
BOTH(fill_16, float4, a[i] = make_float4(s, s, s, s))
BOTH(update_4, float, a[i] = s * a[i])
BOTH(update_16, float4, a[i] = s * a[i])
ONE(sum_1, u8, if (b[i] == 77) a[i] = 1)
ONE(sum_4, float, if (b[i] == 77.0f) a[i] = s)
ONE(sum_16, float4, if (of(b[i]) == 77.0f) a[i] = b[i])
#define SUM(name, T, zero)                                                                                   \
    extern "C" __global__ void __launch_bounds__(1024) all_##name(ARGS(T)) {                                 \
        float t = 0;                                                                                         \
        for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) t += of(b[i]); \
        if (t == 77.0f) a[0] = b[0];                                                                         \
    }
SUM(sum_4, float, 0)
SUM(sum_16, float4, 0)
