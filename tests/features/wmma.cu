// nvcuda::wmma: every type and shape, row and column major, from shared and from global memory, with
// operations on the fragments' elements, against integers multiplied one by one. The numbers are small, so
// that every format holds the sums exactly.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;
typedef wmma::row_major row;
typedef wmma::col_major col;
typedef __nv_bfloat16 bf16;

template <class T> struct is_row {};
template <> struct is_row<row> {
    static const bool value = true;
};
template <> struct is_row<col> {
    static const bool value = false;
};
template <class T> __device__ int low() { return -3; } // of A's elements
template <> __device__ int low<unsigned char>() { return 0; }

template <int M, int N, int K, class TA, class S, class TC, class LA, class LB, bool ROW_D>
__device__ int product(S *a, S *b, TC *c, TC *d) {
    const int PAD = 32 / sizeof(S), lda = (is_row<LA>::value ? K : M) + PAD,
              ldb = (is_row<LB>::value ? N : K) + PAD, ldc = (ROW_D ? N : M) + 32 / sizeof(TC);
    const int lane = threadIdx.x % 32;
    int bad = 0;
    auto A = [](int i, int k) { return (i * 3 + k * 5) % 7 + low<S>(); };
    auto B = [](int k, int j) { return (k * 2 + j * 7) % 5 + low<S>() / 2; };
    auto C = [](int i, int j) { return (i + j * 2) % 9 - 4; };
#pragma unroll 1
    for (int e = lane; e < M * K; e += 32) a[is_row<LA>::value ? e / K * lda + e % K : e % K * lda + e / K] = S(float(A(e / K, e % K)));
#pragma unroll 1
    for (int e = lane; e < K * N; e += 32) b[is_row<LB>::value ? e / N * ldb + e % N : e % N * ldb + e / N] = S(float(B(e / N, e % N)));
#pragma unroll 1
    for (int e = lane; e < M * N; e += 32) c[ROW_D ? e / N * ldc + e % N : e % N * ldc + e / N] = TC(float(C(e / N, e % N)));
    __syncwarp();
    wmma::fragment<wmma::matrix_a, M, N, K, TA, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, TA, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, TC> fc, fd;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, ROW_D ? wmma::mem_row_major : wmma::mem_col_major);
    wmma::mma_sync(fd, fa, fb, fc);
    wmma::mma_sync(fd, fa, fb, fd);
    for (int i = 0; i < fd.num_elements; i++) fd.x[i] = fd.x[i] + fc.x[i] + TC(1.0f);
    wmma::store_matrix_sync(d, fd, ldc, ROW_D ? wmma::mem_row_major : wmma::mem_col_major);
    __syncwarp();
#pragma unroll 1
    for (int e = lane; e < M * N; e += 32) {
        int i = e / N, j = e % N, sum = 2 * C(i, j) + 1;
#pragma unroll 1
        for (int k = 0; k < K; k++) sum += 2 * A(i, k) * B(k, j);
        CHECK(d[ROW_D ? i * ldc + j : j * ldc + i] == TC(float(sum)));
    }
    return bad;
}

// 16 KiB for each of four matrices.
#define GLOBAL(name, M, N, K, TA, S, TC, LA, LB, ROW_D)                                                      \
    KERNEL name(int *bad, char *mem) {                                                                       \
        mem += threadIdx.x / 32 * 65536;                                                                     \
        bad[threadIdx.x] = product<M, N, K, TA, S, TC, LA, LB, ROW_D>(                                       \
            (S *)mem, (S *)(mem + 16384), (TC *)(mem + 32768), (TC *)(mem + 49152));                         \
    }
#define SHARED(name, M, N, K, TA, S, TC, LA, LB, ROW_D)                                                      \
    KERNEL name(int *bad, char *) {                                                                          \
        __shared__ __align__(32) S a[2][1024], b[2][1024];                                                   \
        __shared__ __align__(32) TC c[2][1024];                                                              \
        int w = threadIdx.x / 32;                                                                            \
        bad[threadIdx.x] = product<M, N, K, TA, S, TC, LA, LB, ROW_D>(a[w], b[w], c[w], c[w]);               \
    }

GLOBAL(half_rr, 16, 16, 16, half, half, float, row, row, true)
SHARED(half_rc, 16, 16, 16, half, half, float, row, col, true)
GLOBAL(half_cr, 16, 16, 16, half, half, float, col, row, false)
SHARED(half_cc, 16, 16, 16, half, half, float, col, col, false)
GLOBAL(half16_rc, 16, 16, 16, half, half, half, row, col, true)
SHARED(half16_cr, 16, 16, 16, half, half, half, col, row, false)
GLOBAL(half_32x8, 32, 8, 16, half, half, float, row, row, true)
SHARED(half_8x32, 8, 32, 16, half, half, half, col, col, true)
GLOBAL(bf16_rc, 16, 16, 16, bf16, bf16, float, row, col, true)
SHARED(bf16_32x8, 32, 8, 16, bf16, bf16, float, col, row, false)
GLOBAL(bf16_8x32, 8, 32, 16, bf16, bf16, float, row, row, false)
GLOBAL(tf32_rc, 16, 16, 8, wmma::precision::tf32, float, float, row, col, true)
SHARED(tf32_cr, 16, 16, 8, wmma::precision::tf32, float, float, col, row, false)
GLOBAL(s8_rc, 16, 16, 16, signed char, signed char, int, row, col, true)
SHARED(s8_cr, 16, 16, 16, signed char, signed char, int, col, row, false)
GLOBAL(u8_32x8, 32, 8, 16, unsigned char, unsigned char, int, row, col, true)
SHARED(u8_8x32, 8, 32, 16, unsigned char, unsigned char, int, row, row, false)
GLOBAL(f64_rc, 8, 8, 4, double, double, double, row, col, true)
SHARED(f64_cr, 8, 8, 4, double, double, double, col, row, false)

// fill_fragment, and a fragment copied; one accumulates over K = 64 as programs do.
KERNEL gemm64(int *out, const half *a, const half *b, float *d) { // A 16x64 row major, B 64x16 column major
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, row> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, col> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc, twice;
    wmma::fill_fragment(acc, 0.5f);
    for (int k = 0; k < 64; k += 16) {
        wmma::load_matrix_sync(fa, a + k, 64);
        wmma::load_matrix_sync(fb, b + k, 64);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    twice = acc;
    for (int i = 0; i < twice.num_elements; i++) twice.x[i] *= 2;
    wmma::store_matrix_sync(d, twice, 16, wmma::mem_row_major);
    __syncwarp();
    int bad = 0;
    for (int e = threadIdx.x; e < 256; e += 32) {
        float sum = 1; // the numbers are eighths: exact
        for (int k = 0; k < 64; k++) sum += 2 * __half2float(a[e / 16 * 64 + k]) * __half2float(b[e % 16 * 64 + k]);
        CHECK(d[e] == sum);
    }
    out[threadIdx.x] = bad;
}

// Single bits: 128 of them, exclusive or and and, population count.
KERNEL bits(int *out, unsigned *mem) {
    namespace ex = wmma::experimental;
    unsigned *a = mem, *b = mem + 32;
    int *d = (int *)mem + 64, bad = 0, lane = threadIdx.x;
    a[lane] = mix(lane), b[lane] = mix(lane + 100); // 8 rows and columns of 4 words
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 8, 8, 128, ex::precision::b1, row> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, ex::precision::b1, col> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> f;
    wmma::load_matrix_sync(fa, a, 128);
    wmma::load_matrix_sync(fb, b, 128);
    wmma::fill_fragment(f, 7);
    wmma::bmma_sync(f, fa, fb, f, ex::bmmaBitOpXOR);
    wmma::bmma_sync(f, fa, fb, f, ex::bmmaBitOpAND);
    wmma::store_matrix_sync(d, f, 8, wmma::mem_row_major);
    __syncwarp();
    for (int e = lane; e < 64; e += 32) {
        int sum = 7;
        for (int k = 0; k < 4; k++) {
            unsigned x = a[e / 8 * 4 + k], y = b[e % 8 * 4 + k];
            sum += __popc(x ^ y) + __popc(x & y);
        }
        CHECK(d[e] == sum);
    }
    out[lane] = bad;
}
