// What a fence does to L1: it drops what L1 has (CCTL.IVALL), and what is read again comes from L2.
//
// A block of 256 threads reads `rows` rows of 1 KB, a word a thread, again and again; between the rounds one
// thread does nothing, fences for the block, or for the GPU, or acquires. `constant` reads by LDG.CONSTANT,
// `stack` reads local memory; in `beside` one warp reads while others fence.
#define ROUNDS 16

template <int KIND, bool NC> __device__ float read_again(int rows, const float *table) {
    const float *p = table + blockIdx.x * 65536 + threadIdx.x;
    float sum = 0;
    for (int r = 0; r < ROUNDS; r++) {
#pragma unroll 4
        for (int k = 0; k < rows; k++) {
            const float *q = p + k * 256;
            float x;
            if (NC)
                asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(x) : "l"(q));
            else
                asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(q));
            sum += x;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            if (KIND == 1) __threadfence_block();
            if (KIND == 2) __threadfence();
        }
        __syncthreads();
    }
    return sum;
}

extern "C" __global__ void drop_none(int rows, const float *table, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = read_again<0, false>(rows, table);
}
extern "C" __global__ void drop_block(int rows, const float *table, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = read_again<1, false>(rows, table);
}
extern "C" __global__ void drop_gpu(int rows, const float *table, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = read_again<2, false>(rows, table);
}
extern "C" __global__ void drop_constant(int rows, const float *table, float *out) {
    out[blockIdx.x * 256 + threadIdx.x] = read_again<2, true>(rows, table);
}

// Each thread writes and reads words of its own stack, with a fence between rounds.
extern "C" __global__ void drop_stack(int words, float *out) {
    volatile float a[64];
    float sum = 0;
    for (int k = 0; k < words; k++) a[k] = (float)(k + threadIdx.x);
    for (int r = 0; r < ROUNDS; r++) {
        for (int k = 0; k < words; k++) sum += a[k];
        __syncthreads();
        if (threadIdx.x == 0) __threadfence();
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// One warp reads its lines all the time, eight rows in turn; the others of the block fence all the
// time. How often what is on its way is dropped, too.
extern "C" __global__ void drop_beside(int rounds, int fences, const float *table, float *out) {
    const float *p = table + blockIdx.x * 65536 + threadIdx.x;
    float sum = 0;
    if (threadIdx.x < 32) {
        for (int r = 0; r < rounds; r++) {
#pragma unroll
            for (int k = 0; k < 8; k++) {
                float x;
                asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(p + k * 256));
                sum += x;
            }
            p += __float_as_int(sum) >> 31; // 0, which ptxas does not know
        }
    } else {
        for (int r = 0; r < fences; r++) __threadfence();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// The same with a load that acquires instead of a fence: CCTL.IVALL behind it.
extern "C" __global__ void drop_acquire(int rows, const float *table, const int *flag, float *out) {
    const float *p = table + blockIdx.x * 65536 + threadIdx.x;
    float sum = 0;
    for (int r = 0; r < ROUNDS; r++) {
#pragma unroll 4
        for (int k = 0; k < rows; k++) {
            float x;
            asm volatile("ld.global.f32 %0, [%1];" : "=f"(x) : "l"(p + k * 256));
            sum += x;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            int v;
            asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(flag));
            sum += (float)v;
        }
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
