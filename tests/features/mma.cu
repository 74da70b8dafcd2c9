// mma.sync on fragments that ldmatrix loads, stmatrix and movmatrix, against numbers multiplied one by one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

__device__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

#define LDMATRIX(n, form, r, at) LDMATRIX_##n(form, r, at)
#define LDMATRIX_1(form, r, at) asm volatile("ldmatrix.sync.aligned.m8n8.x1" form ".shared.b16 {%0}, [%1];" : "=r"((r)[0]) : "r"(at))
#define LDMATRIX_2(form, r, at) asm volatile("ldmatrix.sync.aligned.m8n8.x2" form ".shared.b16 {%0,%1}, [%2];" : "=r"((r)[0]), "=r"((r)[1]) : "r"(at))
#define LDMATRIX_4(form, r, at) asm volatile("ldmatrix.sync.aligned.m8n8.x4" form ".shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]), "=r"((r)[3]) : "r"(at))
#define STMATRIX(n, form, r, at) STMATRIX_##n(form, r, at)
#define STMATRIX_1(form, r, at) asm volatile("stmatrix.sync.aligned.m8n8.x1" form ".shared.b16 [%0], {%1};" ::"r"(at), "r"((r)[0]) : "memory")
#define STMATRIX_2(form, r, at) asm volatile("stmatrix.sync.aligned.m8n8.x2" form ".shared.b16 [%0], {%1,%2};" ::"r"(at), "r"((r)[0]), "r"((r)[1]) : "memory")
#define STMATRIX_4(form, r, at) asm volatile("stmatrix.sync.aligned.m8n8.x4" form ".shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"((r)[0]), "r"((r)[1]), "r"((r)[2]), "r"((r)[3]) : "memory")

// ---- matrices in and out ----------------------------------------------------------------------
// Four 8x8 matrices whose element (r, c) of matrix m is 64 m + 8 r + c, rows 24 elements apart. Lane 8 j + i
// points to row i of matrix j; register j of lane 4 r + t has elements (r, 2t) and (r, 2t + 1).
KERNEL matrices(int *out) {
    __shared__ __align__(16) uint16_t mem[32][24];
    int lane = threadIdx.x, r = lane / 4, c = lane % 4 * 2, bad = 0;
    for (int e = lane; e < 256; e += 32) mem[e / 8][e % 8] = (uint16_t)e;
    __syncwarp();
    auto plain = [&](int m, int i, int j) { return (unsigned)(64 * m + 8 * i + j); };
    unsigned v[4];
    auto same = [&](int n, bool trans) {
        for (int m = 0; m < n; m++) {
            unsigned lo = trans ? plain(m, c, r) : plain(m, r, c), hi = trans ? plain(m, c + 1, r) : plain(m, r, c + 1);
            if (v[m] != (hi << 16 | lo)) return false;
        }
        return true;
    };
    unsigned at = shared_address(mem[lane]);
    LDMATRIX(1, "", v, at);
    CHECK(same(1, false));
    LDMATRIX(2, "", v, at);
    CHECK(same(2, false));
    LDMATRIX(4, "", v, at);
    CHECK(same(4, false));
    LDMATRIX(1, ".trans", v, at);
    CHECK(same(1, true));
    LDMATRIX(2, ".trans", v, at);
    CHECK(same(2, true));
    LDMATRIX(4, ".trans", v, at);
    CHECK(same(4, true));
    // Rows may be given in any order and more than once; lanes past the last matrix may point anywhere.
    LDMATRIX(1, "", v, lane < 8 ? shared_address(mem[7 - lane]) : 0xfffffff0u);
    CHECK(v[0] == (plain(0, 7 - r, c + 1) << 16 | plain(0, 7 - r, c)));
    LDMATRIX(2, "", v, lane < 16 ? shared_address(mem[5]) : 3u);
    CHECK(v[0] == (plain(0, 5, c + 1) << 16 | plain(0, 5, c)) && v[1] == v[0]);

    for (int m = 0; m < 4; m++) v[m] = plain(m, r, c + 1) << 16 | plain(m, r, c);
    auto clear = [&] {
        __syncwarp();
#pragma unroll 1
        for (int e = lane; e < 32 * 24; e += 32) mem[e / 24][e % 24] = 0xeeee;
        __syncwarp();
    };
    auto stored = [&](int n, bool trans) {
        __syncwarp();
        bool ok = true;
#pragma unroll 1
        for (int e = lane; e < 32 * 24; e += 32) {
            int row = e / 24, j = e % 24, m = row / 8, i = row % 8;
            unsigned want = m < n && j < 8 ? (trans ? plain(m, j, i) : plain(m, i, j)) : 0xeeee;
            ok = ok && mem[row][j] == want;
        }
        return ok;
    };
    clear();
    STMATRIX(1, "", v, at);
    CHECK(stored(1, false));
    clear();
    STMATRIX(2, "", v, at);
    CHECK(stored(2, false));
    clear();
    STMATRIX(4, "", v, at);
    CHECK(stored(4, false));
    clear();
    STMATRIX(1, ".trans", v, at);
    CHECK(stored(1, true));
    clear();
    STMATRIX(2, ".trans", v, at);
    CHECK(stored(2, true));
    clear();
    STMATRIX(4, ".trans", v, at);
    CHECK(stored(4, true));

    unsigned t;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(v[2]));
    CHECK(t == (plain(2, c + 1, r) << 16 | plain(2, c, r)));
    out[lane] = bad;
}

// ---- products ---------------------------------------------------------------------------------
__device__ __noinline__ int A(int i, int k) { return (int)(mix(i * 64 + k) % 9) - 4; }
__device__ __noinline__ int B(int k, int j) { return (int)(mix(k * 16 + j + 5000) % 7) - 3; }
__device__ __noinline__ int C(int i, int j) { return (int)(mix(i * 8 + j + 9000) % 31) - 15; }
__device__ __noinline__ int AB(int K, int i, int j) {
    int sum = C(i, j);
    for (int k = 0; k < K; k++) sum += A(i, k) * B(k, j);
    return sum;
}
// Lane's accumulator element e of m16n8: rows g and g + 8, columns 2t and 2t + 1.
#define ROW(e) (lane / 4 + (e) / 2 * 8)
#define COL(e) (lane % 4 * 2 + (e) % 2)

template <class T> __device__ void fill(T *a, T *b, T *bt, int K) { // A 16xK, B Kx8 and its transpose
#pragma unroll 1
    for (int e = threadIdx.x; e < 16 * K; e += 32) a[e] = T(float(A(e / K, e % K)));
#pragma unroll 1
    for (int e = threadIdx.x; e < K * 8; e += 32) b[e] = T(float(B(e / 8, e % 8))), bt[e % 8 * K + e / 8] = b[e];
    __syncwarp();
}

KERNEL mma_f16(int *out) {
    __shared__ __align__(16) half a[16 * 16], b[16 * 8], bt[8 * 16], d16[16 * 8];
    int lane = threadIdx.x, bad = 0;
    fill(a, b, bt, 16);
    unsigned fa[4], fb[2], fbt[2], at = shared_address(a + lane % 16 * 16 + lane / 16 * 8);
    LDMATRIX(4, "", fa, at);
    LDMATRIX(2, ".trans", fb, shared_address(b + lane % 16 * 8));
    LDMATRIX(2, "", fbt, shared_address(bt + lane % 8 * 16 + lane / 8 % 2 * 8));
    CHECK(fb[0] == fbt[0] && fb[1] == fbt[1]);
    float c[4], d[4];
    for (int e = 0; e < 4; e++) c[e] = C(ROW(e), COL(e));
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    for (int e = 0; e < 4; e++) CHECK(d[e] == AB(16, ROW(e), COL(e)));
    // f16 accumulators, and out through stmatrix
    half2 c0 = __floats2half2_rn(c[0], c[1]), c1 = __floats2half2_rn(c[2], c[3]);
    unsigned h[2];
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"
        : "=r"(h[0]), "=r"(h[1])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]), "r"(*(unsigned *)&c0), "r"(*(unsigned *)&c1));
    STMATRIX(2, "", h, shared_address(d16 + lane % 16 * 8));
    __syncwarp();
    for (int e = lane; e < 128; e += 32) CHECK(__half2float(d16[e]) == AB(16, e / 8, e % 8));
    // m16n8k8 on the left half of A and the upper half of B
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fb[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    for (int e = 0; e < 4; e++) CHECK(d[e] == AB(8, ROW(e), COL(e)));
    out[lane] = bad;
}

KERNEL mma_bf16(int *out) {
    __shared__ __align__(16) __nv_bfloat16 a[16 * 16], b[16 * 8], bt[8 * 16];
    int lane = threadIdx.x, bad = 0;
    fill(a, b, bt, 16);
    unsigned fa[4], fb[2];
    LDMATRIX(4, "", fa, shared_address(a + lane % 16 * 16 + lane / 16 * 8));
    LDMATRIX(2, ".trans", fb, shared_address(b + lane % 16 * 8));
    float c[4], d[4];
    for (int e = 0; e < 4; e++) c[e] = C(ROW(e), COL(e));
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    for (int e = 0; e < 4; e++) CHECK(d[e] == AB(16, ROW(e), COL(e)));
    out[lane] = bad;
}

// Fragments by hand, as the manual draws them.
KERNEL mma_tf32(int *out) {
    int lane = threadIdx.x, bad = 0, g = lane / 4, t = lane % 4;
    float c[4], d[4];
    unsigned fa[4], fb[2];
    for (int e = 0; e < 4; e++) {
        c[e] = C(ROW(e), COL(e));
        fa[e] = __float_as_uint(A(g + e % 2 * 8, t + e / 2 * 4));
        if (e < 2) fb[e] = __float_as_uint(B(t + e * 4, g));
    }
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
    for (int e = 0; e < 4; e++) CHECK(d[e] == AB(8, ROW(e), COL(e)));
    out[lane] = bad;
}

KERNEL mma_s8(int *out) { // m16n8k32; four neighbours of a row of A or a column of B in a register
    int lane = threadIdx.x, bad = 0, g = lane / 4, t = lane % 4, c[4], d[4];
    unsigned fa[4] = {0}, fb[2] = {0};
    for (int r = 0; r < 4; r++)
        for (int e = 0; e < 4; e++) {
            fa[r] |= (A(g + r % 2 * 8, t * 4 + e + r / 2 * 16) & 255u) << 8 * e;
            if (r < 2) fb[r] |= (B(t * 4 + e + r * 16, g) & 255u) << 8 * e;
        }
    for (int e = 0; e < 4; e++) c[e] = C(ROW(e), COL(e));
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    for (int e = 0; e < 4; e++) CHECK(d[e] == AB(32, ROW(e), COL(e)));
    // .satfinite keeps sums in 32 bits from wrapping
    for (int e = 0; e < 4; e++) c[e] = 0x7fffffff;
    asm("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(0x01010101), "r"(0x01010101), "r"(0x01010101), "r"(0x01010101), "r"(0x01010101), "r"(0x01010101), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    for (int e = 0; e < 4; e++) CHECK(d[e] == 0x7fffffff);
    out[lane] = bad;
}

KERNEL mma_f64(int *out) { // m8n8k4, and m16n8k8 of sm_90
    int lane = threadIdx.x, bad = 0, g = lane / 4, t = lane % 4;
    double d0, d1, d[4];
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%5};"
        : "=d"(d0), "=d"(d1)
        : "d"((double)A(g, t)), "d"((double)B(t, g)), "d"((double)C(g, 2 * t)), "d"((double)C(g, 2 * t + 1)));
    CHECK(d0 == AB(4, g, 2 * t) && d1 == AB(4, g, 2 * t + 1));
    double a[4], b[2];
    for (int e = 0; e < 4; e++) a[e] = A(g + e % 2 * 8, t + e / 2 * 4), d[e] = C(ROW(e), COL(e));
    for (int e = 0; e < 2; e++) b[e] = B(t + e * 4, g);
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
    for (int e = 0; e < 4; e++) CHECK(d[e] == AB(8, ROW(e), COL(e)));
    out[lane] = bad;
}

// A warp that parted in many ways comes together for the instruction: .sync waits.
KERNEL mma_after_divergence(int *out) {
    int lane = threadIdx.x, bad = 0, n = 0;
    for (int i = 0; i < lane; i++) {
        if (i % 3 == lane % 3) continue;
        n += i;
    }
    unsigned h = n >= 0 ? 0x3c003c00 : 0; // ones
    float d[4] = {0};
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%4}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(h));
    for (int e = 0; e < 4; e++) CHECK(d[e] == 8);
    out[lane] = bad;
}
