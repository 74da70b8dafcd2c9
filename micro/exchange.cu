// Steps that programs are made of and that single instructions do not show.
//
//   tree          a sum of a block in shared memory: store, barrier, then half of the threads add, barrier, and so on; `rounds` times
//   shift         a prefix sum as Hillis and Steele do it: load from a neighbour, barrier, store, barrier; `rounds` times ten steps
//   turn          store to shared memory, load what the neighbour warp stored, barrier, in turn, with nothing else; `rounds` times
//   table64       pairs of words of constant memory by an index that all threads share and the loop moves, through `bytes`
//   table64_own   the same by an index that a thread computes (LDC, not ULDC)
//   gather_TYPE   every thread adds to one of `words` words that all blocks have in common, `rounds` times
//   quotients     each thread divides, takes a root and stores, once: a kernel of one short wave
//   tile16        a product of matrices by tiles of 16 x 16 with two barriers a tile, `tiles` of them
//   spread        a local array of 64 words, of which each lane swaps two of its own, `rounds` times
//   own_rows      each lane walks a row of its own of `words` words, which L1 holds, `rounds` times
// To be timed from outside.
#include "micro.h"

__constant__ double table[8192];

KERNEL tree(float *out, const float *in, u32 rounds) {
    __shared__ float s[1024];
    u32 t = threadIdx.x;
    float x = in[t];
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++) {
        s[t] = x;
        __syncthreads();
#pragma unroll 1
        for (u32 d = blockDim.x / 2; d > 0; d >>= 1) {
            if (t < d) s[t] += s[t + d];
            __syncthreads();
        }
        x += s[0];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = x;
}

KERNEL shift(float *out, const float *in, u32 rounds) {
    __shared__ float s[1024];
    u32 t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++)
#pragma unroll 1
        for (u32 d = 1; d < 1024; d <<= 1) {
            float x = s[t];
            if (t >= d) x += s[t - d];
            __syncthreads();
            s[t] = x;
            __syncthreads();
        }
    out[blockIdx.x * blockDim.x + t] = s[t];
}

KERNEL turn(float *out, const float *in, u32 rounds) {
    __shared__ float s[2048];
    u32 t = threadIdx.x, to = (t + 32) % blockDim.x;
    float x = in[t];
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++) {
        s[t] = x;
        __syncthreads();
        x = s[to] * 0.5f;
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + t] = x;
}

KERNEL table64(double *out, u32 doubles, u32 rounds) {
    double a = 0, b = 0, c = 0, d = 0;
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++)
#pragma unroll 1
        for (u32 i = 0; i < doubles; i += 4) {
            a += table[i];
            b += table[i + 1];
            c += table[i + 2];
            d += table[i + 3];
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

KERNEL table64_own(double *out, u32 doubles, u32 rounds) {
    double a = 0, b = 0, c = 0, d = 0;
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++)
#pragma unroll 1
        for (u32 i = threadIdx.x / 1024; i < doubles; i += 4) {
            a += table[i];
            b += table[i + 1];
            c += table[i + 2];
            d += table[i + 3];
        }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

template <class T> __device__ void gather(T *sums, u32 words, u32 rounds) {
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++) atomicAdd(sums + threadIdx.x % words, (T)(r + 1));
}
KERNEL gather_u32(u32 *sums, u32 words, u32 rounds) { gather(sums, words, rounds); }
KERNEL gather_u64(u64 *sums, u32 words, u32 rounds) { gather(sums, words, rounds); }
KERNEL gather_f32(float *sums, u32 words, u32 rounds) { gather(sums, words, rounds); }
KERNEL gather_f64(double *sums, u32 words, u32 rounds) { gather(sums, words, rounds); }

KERNEL own_rows(float *out, const float *in, u32 words, u32 rounds) {
    const float *row = in + (threadIdx.x % 32) * words;
    float x = 0;
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++)
#pragma unroll 4
        for (u32 k = 0; k < words; k++) x += row[k];
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

KERNEL quotients(float *out, const float *in, u32 n) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    float x = in[t % 65536], y = in[(t + 7) % 65536];
    out[t] = x / (y + 2.0f) + sqrtf(x + y);
}

KERNEL tile16(float *out, const float *in, u32 tiles) {
    __shared__ float a[16][16], b[16][16];
    u32 x = threadIdx.x % 16, y = threadIdx.x / 16, at = blockIdx.x * 64;
    float sum = 0;
#pragma unroll 1
    for (u32 k = 0; k < tiles; k++) {
        a[y][x] = in[(at + y * 256 + k * 16 + x) % 65536];
        b[y][x] = in[(at + (k * 16 + y) * 256 + x) % 65536];
        __syncthreads();
#pragma unroll
        for (u32 i = 0; i < 16; i++) sum += a[y][i] * b[i][x];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

KERNEL spread(u32 *out, u32 rounds) {
    u32 a[64], t = threadIdx.x;
#pragma unroll 1
    for (u32 i = 0; i < 64; i++) a[i] = mixed(t + i);
#pragma unroll 1
    for (u32 i = 0; i < rounds; i++) {
        u32 x = mixed(i + t) % 64, y = mixed(i * 7 + t) % 64, z = a[x];
        a[x] = a[y], a[y] = z;
    }
    out[blockIdx.x * blockDim.x + t] = a[t % 64];
}
