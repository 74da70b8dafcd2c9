// Which warps of an SM go on when there are more than its schedulers can serve, and when a block takes the
// place of one that has ended.
//
//   nvcc -O2 -arch=sm_90 -cudart shared ages.cu -o ages
//   ./ages [SM]             on a GPU, or under orrery app
//
//   spin    a chain of multiply-adds, sixteen times as many as `n`: five warps keep a scheduler busy
//   early   the same, where all warps but the block's first have sixteen times less to do
//
// Prints, of one SM, the clock at which each warp begins and ends, from the launch's first on: CSV, as
// hardware/h200/ages.csv. What each warp can do alone takes 1,000 cycles where n is 8, 7,400 where it is 96.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        cudaError_t e_ = (x);                                                                                \
        if (e_ != cudaSuccess) {                                                                             \
            fprintf(stderr, "ages: line %d: %s\n", __LINE__, cudaGetErrorString(e_));                        \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct note { // of a warp
    unsigned long long start, end;
    unsigned sm, pad;
};

__device__ unsigned long long now() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}

__device__ void chain(unsigned n, unsigned long long from, note *notes) {
    float s = 0;
    for (unsigned k = 0; k < n; k++) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(s));
    if (s == 1234567.0f) notes->pad = 1; // never
    if (threadIdx.x % 32 == 0) {
        unsigned sm, w = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        notes[w] = {from, now(), sm, 0};
    }
}

__global__ void spin(unsigned n, note *notes) { chain(n * 16, now(), notes); }
__global__ void early(unsigned n, note *notes) { chain(threadIdx.x < 32 ? n * 16 : n, now(), notes); }

int main(int argc, char **argv) {
    unsigned sm = argc > 1 ? (unsigned)atoi(argv[1]) : 5;
    struct launch {
        const char *name;
        void (*kernel)(unsigned, note *);
        unsigned grid, block, n;
    } launches[] = {{"spin", spin, 2640, 96, 96},
                    {"spin", spin, 9000, 96, 96},
                    {"spin", spin, 5280, 256, 8},
                    {"spin", spin, 1320, 1024, 8},
                    {"early", early, 5280, 256, 32}};
    note *notes;
    CHECK(cudaMalloc(&notes, 64 * 1024 * sizeof *notes));
    printf("kernel,grid,threads,n,block,warp,start,end\n");
    for (const launch &l : launches) {
        unsigned warps = l.block / 32;
        std::vector<note> all((size_t)l.grid * warps);
        for (int again = 0; again < 2; again++) { // the first one loads the code
            l.kernel<<<l.grid, l.block>>>(l.n, notes);
            CHECK(cudaDeviceSynchronize());
        }
        CHECK(cudaMemcpy(all.data(), notes, all.size() * sizeof *notes, cudaMemcpyDeviceToHost));
        unsigned long long first = ~0ull;
        for (const note &x : all)
            if (x.sm == sm) first = std::min(first, x.start);
        for (size_t w = 0; w < all.size(); w++)
            if (all[w].sm == sm)
                printf("%s,%u,%u,%u,%zu,%zu,%llu,%llu\n", l.name, l.grid, l.block, l.n, w / warps, w % warps,
                       all[w].start - first, all[w].end - first);
    }
}
