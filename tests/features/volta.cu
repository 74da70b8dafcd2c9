// Volta's machine code (sm_70): products of matrices in the steps of HMMA.884, recursion with saved convergence
// barriers, and what has an encoding of its own there: atomics, conversions, indexed constants, local arrays. The
// matrices' elements are small, so that every format holds the sums exactly.
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

__device__ int a_at(int i, int k) { return (i * 3 + k * 5) % 7 - 3; }
__device__ int b_at(int k, int j) { return (k * 2 + j * 7) % 5 - 2; }
__device__ int c_at(int i, int j) { return (i + j * 2) % 9 - 4; }
__device__ __noinline__ int product(int i, int j, int n) {
    int sum = c_at(i, j);
#pragma unroll 1
    for (int k = 0; k < n; k++) sum += a_at(i, k) * b_at(k, j);
    return sum;
}
__device__ unsigned two(int x, int y) {
    __half2 h = __floats2half2_rn(float(x), float(y));
    return *(unsigned *)&h;
}

// ---- mma.m8n8k4: lanes 4q to 4q + 3 and 16 more are a product of their own, with C moved by q -------------------
struct fragments {
    unsigned a[2], b[2], c16[4];
    float c32[8];
};
__device__ int quad() { return threadIdx.x >> 2 & 3; }
__device__ int row_of(bool wide, int e) {
    int lane = threadIdx.x, up = lane & 16 ? 4 : 0;
    return wide ? (lane & 1) + (e & 2) + up : (lane & 3) + up;
}
__device__ int column_of(bool wide, int e) { return wide ? (e & 4) + (threadIdx.x & 2) + (e & 1) : e; }
__device__ fragments load(bool acol, bool bcol) {
    fragments f;
    int t = threadIdx.x & 3, up = threadIdx.x & 16 ? 4 : 0;
    for (int e = 0; e < 4; e += 2) {
        f.a[e / 2] = acol ? two(a_at(e + up, t), a_at(e + 1 + up, t)) : two(a_at(t + up, e), a_at(t + up, e + 1));
        f.b[e / 2] = bcol ? two(b_at(e, t + up), b_at(e + 1, t + up)) : two(b_at(t, e + up), b_at(t, e + 1 + up));
    }
    for (int e = 0; e < 8; e++) {
        f.c32[e] = float(c_at(row_of(true, e), column_of(true, e)) + quad());
        if (e < 4)
            f.c16[e] = two(c_at(row_of(false, 0), 2 * e) + quad(), c_at(row_of(false, 0), 2 * e + 1) + quad());
    }
    return f;
}
#define A_B "{%8,%9},{%10,%11},"
#define WIDE(la, lb, acol, bcol)                                                                             \
    {                                                                                                        \
        fragments f = load(acol, bcol);                                                                      \
        float d[8];                                                                                          \
        asm volatile("mma.sync.aligned.m8n8k4." la "." lb ".f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}," A_B  \
                     "{%12,%13,%14,%15,%16,%17,%18,%19};"                                                    \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),   \
                       "=f"(d[7])                                                                            \
                     : "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0]), "r"(f.b[1]), "f"(f.c32[0]), "f"(f.c32[1]),     \
                       "f"(f.c32[2]), "f"(f.c32[3]), "f"(f.c32[4]), "f"(f.c32[5]), "f"(f.c32[6]), "f"(f.c32[7])); \
        for (int e = 0; e < 8; e++)                                                                          \
            CHECK(d[e] == float(product(row_of(true, e), column_of(true, e), 4) + quad()));                  \
    }
#define MIXED(la, lb, acol, bcol)                                                                            \
    {                                                                                                        \
        fragments f = load(acol, bcol);                                                                      \
        float d[8];                                                                                          \
        asm volatile("mma.sync.aligned.m8n8k4." la "." lb ".f32.f16.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}," A_B  \
                     "{%12,%13,%14,%15};"                                                                    \
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),   \
                       "=f"(d[7])                                                                            \
                     : "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0]), "r"(f.b[1]), "r"(f.c16[0]), "r"(f.c16[1]),     \
                       "r"(f.c16[2]), "r"(f.c16[3]));                                                        \
        for (int e = 0; e < 8; e++)                                                                          \
            CHECK(d[e] == float(product(row_of(true, e), column_of(true, e), 4) + quad()));                  \
    }
#define NARROW(la, lb, acol, bcol)                                                                           \
    {                                                                                                        \
        fragments f = load(acol, bcol);                                                                      \
        unsigned d[4];                                                                                       \
        asm volatile("mma.sync.aligned.m8n8k4." la "." lb ".f16.f16.f16.f16 {%0,%1,%2,%3},{%4,%5},{%6,%7},"  \
                     "{%8,%9,%10,%11};"                                                                      \
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                        \
                     : "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0]), "r"(f.b[1]), "r"(f.c16[0]), "r"(f.c16[1]),     \
                       "r"(f.c16[2]), "r"(f.c16[3]));                                                        \
        for (int e = 0; e < 4; e++) {                                                                        \
            int i = row_of(false, 0), q = quad();                                                            \
            CHECK(d[e] == two(product(i, 2 * e, 4) + q, product(i, 2 * e + 1, 4) + q));                      \
        }                                                                                                    \
    }
KERNEL quads(int *out) {
    int bad = 0;
    WIDE("row", "col", false, true)
    WIDE("row", "row", false, false)
    WIDE("col", "col", true, true)
    WIDE("col", "row", true, false)
    MIXED("row", "col", false, true)
    MIXED("col", "row", true, false)
    NARROW("row", "col", false, true)
    NARROW("col", "row", true, false)
    NARROW("row", "row", false, false)
    out[threadIdx.x] = bad;
}

// ---- wmma: sixteen by sixteen, in 16 steps or 8 -----------------------------------------------------------------
template <class T, class LA, class LB> __device__ int tile(bool arow, bool brow) {
    __shared__ __half a[256], b[256];
    __shared__ T c[256];
    int bad = 0;
#pragma unroll 1
    for (int e = threadIdx.x; e < 256; e += 32) {
        int i = e / 16, j = e % 16;
        a[arow ? e : j * 16 + i] = __float2half(float(a_at(i, j)));
        b[brow ? e : j * 16 + i] = __float2half(float(b_at(i, j)));
        c[e] = T(float(c_at(i, j)));
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, LA> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, LB> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, T> fc;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    __syncthreads();
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    __syncthreads();
#pragma unroll 1
    for (int e = threadIdx.x; e < 256; e += 32) CHECK(float(c[e]) == float(product(e / 16, e % 16, 16)));
    __syncthreads();
    return bad;
}
KERNEL tiles(int *out) {
    int bad = tile<float, wmma::row_major, wmma::col_major>(true, false);
    if (!bad) bad = tile<float, wmma::col_major, wmma::row_major>(false, true);
    if (!bad) bad = tile<__half, wmma::row_major, wmma::row_major>(true, true);
    out[threadIdx.x] = bad;
}

// ---- recursion --------------------------------------------------------------------------------------------------
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ int moves(int n, int from, int to, int *last) {
    if (!n) return 0;
    int k = moves(n - 1, from, 3 - from - to, last) + 1;
    *last = from * 4 + to;
    return k + moves(n - 1, 3 - from - to, to, last);
}
KERNEL recursion(int *out) {
    int bad = 0, t = threadIdx.x, last = -1, a = 0, b = 1;
    for (int i = 0; i < t % 9; i++) {
        int c = a + b;
        a = b, b = c;
    }
    CHECK(fib(t % 9) == a);
    CHECK(moves(t % 6, 0, 2, &last) == (1 << t % 6) - 1);
    CHECK((last < 0) == (t % 6 == 0));
    out[t] = bad;
}

// ---- what else is encoded by its own rules ----------------------------------------------------------------------
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
KERNEL others(int *out, unsigned *sum, double *wide) {
    __shared__ unsigned count[8];
    int bad = 0, t = threadIdx.x, local[8];
    if (t < 8) count[t] = 0;
    __syncthreads();
    atomicAdd(&count[t & 7], unsigned(table[t & 7]));
    atomicAdd(sum, 1u);
    atomicMax(sum + 1, unsigned(t));
    atomicAdd(wide, 0.5 * t);
    unsigned was = atomicCAS(sum + 2 + t, 0u, unsigned(t) + 1);
    CHECK(was == 0 && atomicExch(sum + 2 + t, 7u) == unsigned(t) + 1);
    __syncthreads();
    CHECK(count[t & 7] == unsigned(table[t & 7]) * (blockDim.x / 8));
    for (int i = 0; i < 8; i++) local[(i * 3 + t) & 7] = i * t;
    CHECK(local[(5 * 3 + t) & 7] == 5 * t && local[hide((6 * 3 + t) & 7)] == 6 * t);
    CHECK(__shfl_xor_sync(~0u, t, 5) == (t ^ 5) && __ballot_sync(~0u, t & 1) == 0xaaaaaaaau);
    CHECK(__match_any_sync(~0u, t & 31) == 1u << (t & 31) && __popc(__activemask()) == 32);
    float x = float(hide(t)) + 0.75f;
    CHECK(int(x) == t && __float2int_rn(x) == t + 1 && (unsigned char)(int)x == t % 256);
    CHECK(hide(double(t)) * 0.25 == t * 0.25 && __double2int_rd(-0.5 - hide(double(t))) == -t - 1);
    CHECK(__half2float(__float2half(x)) == x && __hadd(__float2half(1.0f), __float2half(x)) == __float2half(x + 1));
    CHECK(hide(t + 1) / 3 == (t + 1) / 3 && (hide(ull(t)) << 40) / 1000 == (ull(t) << 40) / 1000);
    CHECK(__ldg(sum + 2 + t) == 7u && __brev(hide(unsigned(t))) >> 25 == __brev(unsigned(t)) >> 25);
    CHECK(__byte_perm(0x03020100u + hide(t), 0x07060504u, 0x5140) == 0x05010400u + (t & 255u));
    CHECK(__clz(hide(t + 1)) == __ffs(int(__brev(unsigned(t + 1)))) - 1);
    out[t] = bad;
}
