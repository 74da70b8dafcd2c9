// Atomic operations of every kind, type, scope and space. Each thread of a block adds, ... into one place;
// what must be there in the end does not depend on the order. What each got back is checked too.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

// ---- in global, shared and generic memory ---------------------------------------------------
// 128 threads; all old values of an addition of 1 are different and below 128.
template <class T> __device__ int integers(T *m, unsigned *seen) {
    int t = threadIdx.x, bad = 0;
    if (t < 16) m[t] = t == 3 || t == 5 ? (T)~(T)0 : 0;
    if (t < 4) seen[t] = 0;
    if (t == 0) m[1] = 1000, m[2] = 1000, m[10] = 500;
    __syncthreads();
    T old = atomicAdd(&m[0], (T)1);
    atomicOr(&seen[(int)old / 32 % 4], 1u << (int)old % 32);
    atomicMin(&m[1], (T)(t + 10));
    atomicMax(&m[2], (T)(t + 950));
    atomicAnd(&m[3], (T)~((T)1 << t % 24));
    atomicOr(&m[4], (T)1 << t % 24);
    atomicXor(&m[5], (T)1 << t % 3); // 43, 43, 42 times
    T was = atomicExch(&m[6], (T)(t + 1));
    for (T v = m[7];;) { // add 3 by compare and swap
        T seen_v = atomicCAS(&m[7], v, (T)(v + 3));
        if (seen_v == v) break;
        v = seen_v;
    }
    atomicAdd(&m[10], (T)-2);
    __syncthreads();
    CHECK(was <= 128 && was != (T)(t + 1));
    CHECK(m[0] == 128 && m[1] == 10 && m[2] == 1077 && (ull)(m[3] | (T)0xff000000) == (ull)((T)~(T)0xffffff | (T)0xff000000));
    CHECK(m[4] == 0xffffff && m[5] == (T)~(T)3 && m[6] >= 1 && m[6] <= 128 && m[7] == 384 && m[10] == (T)(500 - 256));
    CHECK(seen[t / 32] == 0xffffffffu);
    __syncthreads();
    return bad;
}
__device__ int signed32(int *m) {
    int t = threadIdx.x, bad = 0;
    if (t < 8) m[t] = 0;
    __syncthreads();
    atomicMin(&m[0], t - 100);
    atomicMax(&m[1], t - 50);
    atomicMax(&m[2], -t - 1); // stays 0
    atomicSub(&m[3], t);
    __syncthreads();
    CHECK(m[0] == -100 && m[1] == 77 && m[2] == 0 && m[3] == -8128);
    __syncthreads();
    return bad;
}
__device__ int signed64(ll *m) {
    int t = threadIdx.x, bad = 0;
    if (t < 4) m[t] = 0;
    __syncthreads();
    atomicMin(&m[0], -((ll)t << 40));
    atomicMax(&m[1], (ll)t << 40);
    atomicMin(&m[2], (ll)t << 33);
    atomicAdd((ull *)&m[3], (ull)-(ll)t);
    __syncthreads();
    CHECK(m[0] == -(127ll << 40) && m[1] == 127ll << 40 && m[2] == 0 && m[3] == -8128);
    __syncthreads();
    return bad;
}
__device__ int wrapping(unsigned *m) { // inc and dec
    int t = threadIdx.x, bad = 0;
    if (t < 4) m[t] = t == 3 ? 50 : 0;
    __syncthreads();
    unsigned a = atomicInc(&m[0], 9), b = atomicDec(&m[1], 9), c = atomicInc(&m[2], 1000);
    atomicDec(&m[3], 20); // 50 is past 20: becomes 20
    __syncthreads();
    CHECK(a <= 9 && b <= 9 && c < 128);
    CHECK(m[0] == 128 % 10 && m[1] == 10 - 128 % 10 && m[2] == 128 && m[3] == 20 - 127 % 21);
    __syncthreads();
    return bad;
}

KERNEL global(int *out, ull *mem) {
    __shared__ unsigned seen[4];
    int bad = integers((unsigned *)mem, seen);
    if (!bad) bad = integers((int *)mem, seen);
    if (!bad) bad = integers(mem, seen);
    if (!bad) bad = signed32((int *)mem);
    if (!bad) bad = signed64((ll *)mem);
    if (!bad) bad = wrapping((unsigned *)mem);
    out[threadIdx.x] = bad;
}
KERNEL shared(int *out, ull *) {
    __shared__ unsigned seen[4];
    __shared__ ull mem[16];
    int bad = integers((unsigned *)mem, seen);
    if (!bad) bad = integers((int *)mem, seen);
    if (!bad) bad = integers(mem, seen);
    if (!bad) bad = signed32((int *)mem);
    if (!bad) bad = signed64((ll *)mem);
    if (!bad) bad = wrapping((unsigned *)mem);
    out[threadIdx.x] = bad;
}
KERNEL generic(int *out, ull *mem) { // which space is only known at run time
    __shared__ unsigned seen[4];
    __shared__ ull own[16];
    int bad = 0;
#pragma unroll 1
    for (int i = 0; i < 2 && !bad; i++) {
        ull *m = hide(i) ? mem : own;
        bad = integers((unsigned *)m, seen);
        if (!bad) bad = signed64((ll *)m);
    }
    out[threadIdx.x] = bad;
}

// ---- floats -----------------------------------------------------------------------------------
// The numbers are such that no addition rounds.
template <bool SHARED> __device__ int floats(char *g) {
    __shared__ __align__(16) char own[128];
    char *m = SHARED ? own : g;
    int t = threadIdx.x, bad = 0;
    float *f = (float *)m;
    double *d = (double *)(m + 8);
    half2 *h = (half2 *)(m + 24);
    __nv_bfloat162 *b = (__nv_bfloat162 *)(m + 28);
    half *h1 = (half *)(m + 32);
    __nv_bfloat16 *b1 = (__nv_bfloat16 *)(m + 34);
    if (t < 32) ((int *)m)[t] = 0;
    __syncthreads();
    atomicAdd(f, t * 0.25f);
    atomicAdd(f + 1, -1.0f);
    atomicAdd(d, t * 0.125);
    double was = atomicAdd(d + 1, 1.0);
    atomicAdd(h, __floats2half2_rn(1, -2));
    atomicAdd(b, __floats2bfloat162_rn(0.5f, -1));
    atomicAdd(h1, __float2half(0.5f));
    atomicAdd(b1, __float2bfloat16(1));
    __syncthreads();
    CHECK(f[0] == 2032 && f[1] == -128 && d[0] == 1016 && d[1] == 128 && was < 128 && was == (int)was);
    CHECK(__low2float(*h) == 128 && __high2float(*h) == -256);
    CHECK(__low2float(*b) == 64 && __high2float(*b) == -128);
    CHECK(__half2float(*h1) == 64 && __bfloat162float(*b1) == 128);
    __syncthreads();
    if (t == 0) f[0] = 5, *(ull *)(m + 40) = 0;
    __syncthreads();
    float e = atomicExch(f, (float)(t + 100));
    CHECK(e == 5 || (e >= 100 && e < 228));
    // the largest float by compare and swap on its bits
    unsigned *u = (unsigned *)(m + 40);
    float mine = (float)(mix(t) % 1000) * 0.5f;
    for (unsigned v = *u;;) {
        if (__uint_as_float(v) >= mine) break;
        unsigned r = atomicCAS(u, v, __float_as_uint(mine));
        if (r == v) break;
        v = r;
    }
    __syncthreads();
    float most = 0;
    for (int i = 0; i < 128; i++) most = fmaxf(most, (float)(mix(i) % 1000) * 0.5f);
    CHECK(*(float *)u == most);
    __syncthreads();
    return bad;
}
KERNEL floating(int *out, char *mem) {
    int bad = floats<false>(mem);
    if (!bad) bad = floats<true>(mem);
    out[threadIdx.x] = bad;
}
KERNEL vectors(int *out, float4 *mem) { // sm_90 adds vectors in global memory
    int t = threadIdx.x, bad = 0;
    atomicAdd(mem, make_float4(1, 2, -3, 0.5f));
    atomicAdd((float2 *)(mem + 1), make_float2((float)t, -1));
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %1, %1};" ::"l"(mem + 2), "r"(0x3c003c00) : "memory");
    __syncthreads();
    CHECK(mem->x == 128 && mem->y == 256 && mem->z == -384 && mem->w == 64);
    CHECK(mem[1].x == 8128 && mem[1].y == -128);
    CHECK(((unsigned *)(mem + 2))[t % 4] == 0x58005800); // 128 twice
    out[t] = bad;
}

// ---- widths -----------------------------------------------------------------------------------
KERNEL widths(int *out, ull *mem) { // 16 and 128 bits
    int t = threadIdx.x, bad = 0;
    unsigned short *s = (unsigned short *)mem;
    for (unsigned short v = s[1];;) {
        unsigned short r = atomicCAS(&s[1], v, (unsigned short)(v + 5));
        if (r == v) break;
        v = r;
    }
    struct alignas(16) Pair {
        ull lo, hi;
    };
    Pair *p = (Pair *)(mem + 2);
    for (Pair v = *p;;) { // both halves move together
        Pair w = {v.lo + 1, v.hi - 1};
        Pair r = atomicCAS(p, v, w);
        if (r.lo == v.lo && r.hi == v.hi) break;
        v = r;
    }
    Pair was = atomicExch((Pair *)(mem + 4), Pair{(ull)t, ~(ull)t});
    __syncthreads();
    CHECK(s[1] == 640 && s[0] == 0 && s[2] == 0);
    CHECK(p->lo == 128 && p->hi == (ull)-128);
    CHECK((was.lo == 0 && was.hi == 0) || (was.lo < 128 && was.hi == ~was.lo));
    CHECK(mem[4] == ~mem[5]);
    out[t] = bad;
}

// ---- scopes -----------------------------------------------------------------------------------
KERNEL scopes(int *out, unsigned *m) { // many blocks
    int t = thread_index();
    atomicAdd(&m[0], 1);
    atomicAdd_system(&m[1], 2);
    atomicAdd_block(&m[2 + blockIdx.x], 1); // one place for each block
    atomicMax_system((int *)&m[20], t);
    atomicCAS_block(&m[30 + blockIdx.x], 0u, threadIdx.x + 1);
    atomicOr_system(&m[40], 1u << t % 32);
    atomicAdd_system((double *)&m[42], 0.5);
    unsigned v;
    asm volatile("atom.global.gpu.acq_rel.add.u32 %0, [%1], 3;" : "=r"(v) : "l"(m + 44) : "memory");
    asm volatile("red.release.gpu.global.add.u32 [%0], 4;" ::"l"(m + 45) : "memory");
    asm volatile("atom.acquire.sys.global.exch.b32 %0, [%1], 9;" : "=r"(v) : "l"(m + 46) : "memory");
    asm volatile("atom.relaxed.cluster.global.inc.u32 %0, [%1], 99;" : "=r"(v) : "l"(m + 47) : "memory");
    asm volatile("red.global.and.b32 [%0], %1;" ::"l"(m + 48), "r"(~(1u << t % 32)) : "memory");
    asm volatile("red.relaxed.sys.global.min.s32 [%0], %1;" ::"l"(m + 49), "r"(-t) : "memory");
    (void)v;
    out[t] = 0;
}
KERNEL scopes_check(int *out, const unsigned *m) { // 8 blocks of 64
    int t = thread_index(), bad = 0;
    CHECK(m[0] == 512 && m[1] == 1024 && m[2 + blockIdx.x] == 64 && m[20] == 511);
    CHECK(m[30 + blockIdx.x] >= 1 && m[30 + blockIdx.x] <= 64 && m[40] == 0xffffffff && *(const double *)&m[42] == 256);
    CHECK(m[44] == 1536 && m[45] == 2048 && m[46] == 9 && m[47] == 512 % 100 && m[48] == 0 && (int)m[49] == -511);
    out[t] = bad;
}
