// Asks the CUDA runtime how many blocks of a kernel an SM holds, for kernels of many register counts,
// block sizes, shared memory sizes and barriers, and prints the answers as CSV. tests/test_occupancy.c
// checks our rules against it.
//
//   nvcc -arch=sm_90 -o occupancy tests/h200/occupancy.cu && ./occupancy > hardware/h200/occupancy.csv
//
// Registers are what the compiler gave the kernel (cudaFuncGetAttributes), so any compiler will do.
#include <cstdio>
#include <cstdlib>

#define CHECK(x)                                                                                       \
    do {                                                                                               \
        cudaError_t error = (x);                                                                       \
        if (error != cudaSuccess) {                                                                    \
            fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(error));                                \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

// N values that live at the same time, S bytes of static shared memory, barriers 0 to B - 1.
template <int N, int S, int B> __global__ void kernel(float *p, int stride) {
    constexpr int M = S ? S : 1;
    __shared__ char fixed[M];
    extern __shared__ char dynamic[];
    float v[N];
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = p[i * stride + threadIdx.x];
    if (B > 0) asm volatile("bar.sync 0;" ::: "memory");
    if (B > 1) asm volatile("bar.sync 1;" ::: "memory");
    if (B > 2) asm volatile("bar.sync 2;" ::: "memory");
    if (B > 4) asm volatile("bar.sync 4;" ::: "memory");
    if (B > 7) asm volatile("bar.sync 7;" ::: "memory");
    if (B > 15) asm volatile("bar.sync 15;" ::: "memory");
    float sum = 0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) sum = sum * v[i] + v[(i * 7 + 3) % N];
    if (S) fixed[threadIdx.x % M] = (char)sum;
    if (stride < 0) dynamic[threadIdx.x] = (char)stride;
    p[threadIdx.x] = S ? sum + fixed[(threadIdx.x + 1) % M] : sum;
}

static int optin;

template <int N, int S, int B> static void measure() {
    auto f = kernel<N, S, B>;
    cudaFuncAttributes attr;
    CHECK(cudaFuncGetAttributes(&attr, f));
    int fixed = (int)attr.sharedSizeBytes;
    CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, optin - fixed));
    static const int threads[] = {1, 32, 33, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 416,
                                  448, 512, 544, 576, 640, 672, 704, 768, 832, 864, 896, 960, 992, 1024};
    static const int dynamics[] = {0, 1, 128, 129, 1000, 4096, 6144, 7168, 8192, 10240, 12000, 16384, 20000, 24576, 32768,
                                   40000, 48 * 1024, 48 * 1024 + 1, 65536, 75000, 100 * 1024, 112 * 1024, 115000, 132 * 1024,
                                   164 * 1024, 200000, 227 * 1024};
    for (int t : threads)
        for (int d : dynamics) {
            if (fixed + d > optin) continue;
            int blocks = 0;
            // A block the kernel cannot have (too many registers) is an answer too: none.
            if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, t, d) != cudaSuccess) {
                cudaGetLastError();
                blocks = 0;
            }
            printf("%d,%d,%d,%d,%d,%d\n", t, attr.numRegs, fixed, d, B, blocks);
        }
}

int main() {
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    CHECK(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    int driver = 0, runtime = 0;
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    printf("# %s, compute capability %d.%d, CUDA driver %d, runtime %d; made by tests/h200/occupancy.cu\n", prop.name,
           prop.major, prop.minor, driver, runtime);
    printf("threads,regs,static_smem,dyn_smem,barriers,blocks\n");
    measure<2, 0, 0>();
    measure<8, 0, 1>();
    measure<24, 0, 1>();
    measure<28, 0, 1>();
    measure<40, 0, 1>();
    measure<56, 0, 1>();
    measure<72, 0, 1>();
    measure<96, 0, 1>();
    measure<120, 0, 1>();
    measure<152, 0, 1>();
    measure<200, 0, 1>();
    measure<240, 0, 1>();
    measure<8, 1, 1>();
    measure<8, 1000, 1>();
    measure<8, 16384, 1>();
    measure<24, 40000, 1>();
    measure<8, 0, 2>();
    measure<8, 0, 3>();
    measure<8, 0, 5>();
    measure<8, 0, 8>();
    measure<8, 0, 16>();
    return 0;
}
