// Boxes of interleaved tensors (NC/8HWC8, NC/16HWC16): which bytes of memory go where in shared memory, on a GPU.
//
//   nvcc -O1 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o interleave interleave.cu
//   ./interleave FIRST > boxes.bin          (from case FIRST on; an illegal box ends it: the next run begins behind it)
//
// Memory holds the number of each 32-bit word, so what a box left says where it came from. Nobody waits for the mbarrier:
// it has an arrival too few, and its word says how many bytes have come. A record is `struct record`, then `bytes` of
// shared memory as they are after a load; of a store, which words of memory changed (place, value).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <vector>
typedef uint32_t u32;
typedef uint64_t u64;
enum { AREA = 16384, WORDS = 1 << 18 };
struct place { int c[5]; int off[3]; };
struct record { // one case
    u32 number, im2col, type, rank, interleave, swizzle, fill, store;
    u64 dims[5], strides[4];
    u32 box[5], steps[5];
    int lower[3], upper[3];
    u32 channels, pixels;
    place at;
    u32 result, bytes; // of the driver; that follow
    u64 mbar, base;
    uint8_t map[128];
};
__device__ u32 sa(const void *p) { return (u32)__cvta_generic_to_shared(p); }
template <typename F> __device__ void box(u32 *out, u64 *word, bool store, F copy) {
    __shared__ __align__(1024) u32 s[AREA / 4];
    __shared__ __align__(8) u64 bar;
    for (u32 i = threadIdx.x; i < AREA / 4; i += blockDim.x) s[i] = store ? 0xa0000000 + i : 0xeeeeeeee;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(sa(&bar)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        copy(sa(s), sa(&bar));
        if (store) asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
        for (long long t = clock64(); clock64() - t < 20000;) {}
    }
    __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
    for (u32 i = threadIdx.x; i < AREA / 4; i += blockDim.x) out[i] = s[i];
    if (threadIdx.x == 0) *word = bar;
}
#define COPY(rank, mode, coords, tail) asm volatile("cp.async.bulk.tensor." rank ".shared::cluster.global." mode ".mbarrier::complete_tx::bytes [%0], [%1, {" coords "}], [%2]" tail ";" ::"r"(to), "l"(m), "r"(bar), "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]), "r"(p.c[3]), "r"(p.c[4]), "h"((uint16_t)p.off[0]), "h"((uint16_t)p.off[1]), "h"((uint16_t)p.off[2]) : "memory")
#define BACK(rank, mode, coords) asm volatile("cp.async.bulk.tensor." rank ".global.shared::cta." mode ".bulk_group [%1, {" coords "}], [%0];" ::"r"(to), "l"(m), "r"(bar), "r"(p.c[0]), "r"(p.c[1]), "r"(p.c[2]), "r"(p.c[3]), "r"(p.c[4]) : "memory")
__global__ void one(const __grid_constant__ CUtensorMap map, u32 *out, u64 *word, int rank, int im2col, int store, place p) {
    const void *m = &map; // the parameter itself: a copy of it would be in local memory
    box(out, word, store, [=](u32 to, u32 bar) {
        switch (im2col * 10 + store * 100 + rank) {
        case 3: COPY("3d", "tile", "%3,%4,%5", ""); break;
        case 4: COPY("4d", "tile", "%3,%4,%5,%6", ""); break;
        case 5: COPY("5d", "tile", "%3,%4,%5,%6,%7", ""); break;
        case 13: COPY("3d", "im2col", "%3,%4,%5", ", {%8}"); break;
        case 14: COPY("4d", "im2col", "%3,%4,%5,%6", ", {%8,%9}"); break;
        case 15: COPY("5d", "im2col", "%3,%4,%5,%6,%7", ", {%8,%9,%10}"); break;
        case 103: BACK("3d", "tile", "%3,%4,%5"); break;
        case 104: BACK("4d", "tile", "%3,%4,%5,%6"); break;
        case 105: BACK("5d", "tile", "%3,%4,%5,%6,%7"); break;
        case 113: BACK("3d", "im2col_no_offs", "%3,%4,%5"); break;
        case 114: BACK("4d", "im2col_no_offs", "%3,%4,%5,%6"); break;
        case 115: BACK("5d", "im2col_no_offs", "%3,%4,%5,%6,%7"); break;
        }
    });
}
__global__ void number(u32 *x) { u32 i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = i; }

static u64 state = 88172645463325252ull;
static u32 rnd(u32 n) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return (u32)(state >> 33) % n; }
static const int sizes[13] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

static record make(u32 n) {
    record r;
    memset(&r, 0, sizeof r);
    r.number = n;
    static const u32 types[] = {0, 1, 1, 2, 2, 7, 6, 8};
    bool plain = n < 96; // few things differ from one to the next
    r.rank = plain ? 3 + n % 3 : 3 + rnd(3);
    r.im2col = plain ? n / 3 % 4 == 3 : rnd(3) == 0;
    r.store = plain ? 0 : rnd(4) == 0;
    r.interleave = plain ? 1 + n / 48 : 1 + rnd(2);
    r.type = plain ? 1 : types[rnd(8)];
    u32 swizzle = plain ? n / 12 % 4 : rnd(4);
    r.swizzle = r.interleave == 2 ? (plain && n / 12 % 4 == 1 ? 0 : 1) : swizzle;
    r.fill = !plain && r.type >= 6 && rnd(3) == 0;
    u32 size = sizes[r.type], slice = r.interleave == 2 ? 32 : 16, per = slice / size;
    u32 slices = plain ? 1 + n / 6 % 2 * 2 : 1 + rnd(4);
    r.dims[0] = per * slices - (!plain && rnd(3) == 0 ? rnd(per) : 0);
    for (u32 d = 1; d < r.rank; d++) r.dims[d] = plain ? 5 + 2 * d : 1 + rnd(12);
    r.strides[0] = slice * (plain ? 1 : 1 + (rnd(3) == 0) * rnd(4));
    for (u32 d = 1; d + 1 < r.rank; d++) r.strides[d] = r.strides[d - 1] * (r.dims[d] + (plain ? 0 : (rnd(3) == 0) * rnd(3)));
    if (!plain && rnd(3) == 0) r.strides[r.rank - 2] += slice * rnd(64);
    u32 wide = plain ? 1 + n / 3 % 2 : 1 + (rnd(3) == 0) * rnd(3);
    r.box[0] = per * wide;
    if (!plain && r.interleave == 2 && rnd(8) == 0) r.box[0] = per / 2;
    for (u32 d = 1; d < r.rank; d++) r.box[d] = plain ? 2 + d : 1 + rnd(6);
    for (u32 d = 0; d < r.rank; d++) r.steps[d] = plain || rnd(4) ? 1 : 1 + rnd(3);
    if (plain && n % 7 == 5) r.steps[0] = 2;
    for (u32 d = 0; d + 2 < r.rank; d++) r.lower[d] = plain ? -1 : (int)rnd(4) - 2, r.upper[d] = plain ? 0 : (int)rnd(4) - 2;
    r.channels = r.box[0];
    r.pixels = plain ? 20 : 1 + rnd(60);
    for (u32 d = 0; d < r.rank; d++) r.at.c[d] = plain ? (d ? (int)(n / 6 % 3) - 1 : (int)(n / 9 % 3) * (int)per) : (d ? (int)rnd((u32)r.dims[d] + 3) - 2 : ((int)rnd(slices + 2) - 1) * (int)per);
    if (!plain && rnd(10) == 0) r.at.c[0] = (int)rnd(slices + 1);
    for (u32 d = 0; d + 2 < r.rank; d++) r.at.off[d] = plain ? 0 : (int)rnd(3);
    return r;
}
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "case %u: %s\n", r.number, cudaGetErrorString(e_)); r.result = 1000 + (u32)e_; r.bytes = 0; fwrite(&r, sizeof r, 1, stdout); fflush(stdout); _Exit(3); } } while (0)
int main(int argc, char **argv) {
    bool plain = argc > 3; // without interleaving: to try the program itself
    u32 first = argc > 1 ? (u32)atoi(argv[1]) : 0, cases = argc > 2 ? (u32)atoi(argv[2]) : 480;
    u32 *mem, *out;
    u64 *word;
    record r = {};
    CK(cudaMalloc(&mem, WORDS * 4 * 2)); // the second half is what lies behind
    CK(cudaMalloc(&out, AREA));
    CK(cudaMalloc(&word, 8));
    cudaDriverEntryPointQueryResult found;
    void *tiled = NULL, *im2col = NULL;
    CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &tiled, 12000, cudaEnableDefault, &found));
    CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &im2col, 12000, cudaEnableDefault, &found));
    std::vector<u32> s(AREA / 4), m(WORDS);
    for (u32 n = 0; n < cases; n++) {
        r = make(n);
        if (n < first) continue;
        if (plain) r.interleave = r.swizzle = 0;
        CUtensorMap map;
        memset(&map, 0, sizeof map);
        r.base = (u64)mem + WORDS; // in the middle of the first half
        if (r.im2col) r.result = ((decltype(&cuTensorMapEncodeIm2col))im2col)(&map, (CUtensorMapDataType)r.type, r.rank, (void *)r.base, (cuuint64_t *)r.dims, (cuuint64_t *)r.strides, r.lower, r.upper, r.channels, r.pixels, r.steps, (CUtensorMapInterleave)r.interleave, (CUtensorMapSwizzle)r.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)r.fill);
        else r.result = ((decltype(&cuTensorMapEncodeTiled))tiled)(&map, (CUtensorMapDataType)r.type, r.rank, (void *)r.base, (cuuint64_t *)r.dims, (cuuint64_t *)r.strides, r.box, r.steps, (CUtensorMapInterleave)r.interleave, (CUtensorMapSwizzle)r.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)r.fill);
        memcpy(r.map, &map, 128);
        if (r.result == 0) {
            number<<<WORDS / 256, 256>>>(mem);
            one<<<1, 128>>>(map, out, word, (int)r.rank, (int)r.im2col, (int)r.store, r.at);
            CK(cudaDeviceSynchronize());
            CK(cudaMemcpy(s.data(), out, AREA, cudaMemcpyDeviceToHost));
            CK(cudaMemcpy(&r.mbar, word, 8, cudaMemcpyDeviceToHost));
            u32 used = AREA / 4;
            if (r.store) {
                CK(cudaMemcpy(m.data(), mem, WORDS * 4, cudaMemcpyDeviceToHost));
                s.clear();
                for (u32 i = 0; i < WORDS; i++)
                    if (m[i] != i) s.push_back(i), s.push_back(m[i]);
                used = (u32)s.size();
            } else {
                while (used && s[used - 1] == 0xeeeeeeee) used--;
            }
            r.bytes = used * 4;
        }
        fwrite(&r, sizeof r, 1, stdout);
        fwrite(s.data(), 1, r.bytes, stdout);
        s.resize(AREA / 4);
    }
    return 0;
}
