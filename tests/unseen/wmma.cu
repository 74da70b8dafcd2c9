// Tensor cores through the warp matrix functions, operands straight from memory: bfloat16, and signed bytes.
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void wmma_bf16(int n, int k, const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c) {
    int col = (blockIdx.x * 4 + threadIdx.x / 32) * 16, row = blockIdx.y * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + row * k + i, k);
        wmma::load_matrix_sync(fb, b + i * n + col, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}

extern "C" __global__ void wmma_s8(int n, int k, const signed char *a, const signed char *b, int *c) {
    int col = (blockIdx.x * 4 + threadIdx.x / 32) * 32, row = blockIdx.y * 8;
    wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 32, 16, int> fc;
    wmma::fill_fragment(fc, 0);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + row * k + i, k);
        wmma::load_matrix_sync(fb, b + col * k + i, k);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}
