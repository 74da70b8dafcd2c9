// A warp whose lanes walk along rows of their own, a word at a time, as programs do that give each thread a row.
//
//   lanes_load    loads, each of which waits for the one before
//   lanes_store   stores
//   lanes_both    loads what it then stores elsewhere, added up
// `from` and `to`: bytes from one lane's row to the next one's. To be timed from outside.
#include "micro.h"

static __device__ __forceinline__ float load(const char *p) {
    float v;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory");
    return v;
}

static __device__ __forceinline__ void store(char *p, float v) { asm volatile("st.global.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory"); }

KERNEL lanes_load(int n, int from, const char *p, char *o) {
    const char *a = p + (size_t)threadIdx.x * from;
    float s = 0;
#pragma unroll 4
    for (int i = 0; i < n; i++) s += load(a + i * 4 + (__float_as_int(s) & 0));
    o[threadIdx.x] = (char)s;
}

KERNEL lanes_store(int n, int to, char *o) {
    char *b = o + (size_t)threadIdx.x * to;
    float s = (float)threadIdx.x;
#pragma unroll 4
    for (int i = 0; i < n; i++) store(b + i * 4, s += 1);
}

KERNEL lanes_both(int n, int from, int to, const char *p, char *o) {
    const char *a = p + (size_t)threadIdx.x * from;
    char *b = o + (size_t)threadIdx.x * to;
    float s = 0;
#pragma unroll 4
    for (int i = 0; i < n; i++) store(b + i * 4, s += load(a + i * 4));
}
