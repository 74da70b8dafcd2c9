// Kernels of one stream that may start before the one ahead of them has ended (programmatic launch): when their blocks start,
// and when griddepcontrol.wait lets them go on.
//
//   nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o dependent dependent.cu && ./dependent > dependent.csv
//
// Kernels a, b and c work for so many nanoseconds; each of their blocks notes when it started, when it said that the next may
// start, when its wait was over and when it ended (%globaltimer), and where (%smid). A gate of one warp is launched first, so
// that all launches are queued when it ends. Times are in nanoseconds; each is the median of seven repetitions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>
typedef unsigned long long u64;
struct note { u64 start, said, waited, end; unsigned sm, pad; };
struct work { int before, after, says, waits; }; // ns until it says that the next may start (never: says 0), ns behind; waits: 1 at the start, 2 behind its work
enum { MOST = 1100 };
__device__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory"); return t; }
__device__ void spin(int ns) { u64 t = now(); while (now() - t < (u64)ns) {} }
__device__ void hold() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__global__ void part(note *notes, work w) {
    if (threadIdx.x) return;
    note n = {};
    n.start = now();
    if (w.waits == 1) hold();
    n.waited = now();
    spin(w.before);
    if (w.says) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    n.said = now();
    spin(w.after);
    if (w.waits == 2) { hold(); n.waited = now(); }
    n.end = now();
    asm volatile("mov.u32 %0, %%smid;" : "=r"(n.sm));
    notes[blockIdx.x] = n;
}
__global__ void gate(int ns) { spin(ns); }
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
struct kernel { int blocks, threads, shared, early; work w; };
struct test { const char *name; int count; kernel k[4]; };
static void launch(cudaStream_t st, const kernel &k, note *to) {
    cudaLaunchConfig_t c = {};
    c.gridDim = k.blocks, c.blockDim = k.threads, c.dynamicSmemBytes = k.shared, c.stream = st;
    cudaLaunchAttribute at[1];
    at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    at[0].val.programmaticStreamSerializationAllowed = 1;
    c.attrs = at, c.numAttrs = k.early ? 1 : 0;
    CK(cudaLaunchKernelEx(&c, part, to, k.w));
}
static long median(std::vector<long> &v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
int main() {
    const int S = 5000;
    std::vector<test> tests;
    // Two kernels: attribute or not, where the first says so, grids of part of a wave, one, two and more.
    for (int a : {1, 66, 132, 264, 528}) for (int b : {1, 132, 528}) for (int early : {0, 1}) for (int says : {0, 1}) {
        if (!early && says) continue;
        tests.push_back({"two", 2, {{a, 128, 100 << 10, early * 0, {S / 5, S, says, 0}}, {b, 128, 0, early, {500, 500, 0, 1}}}});
    }
    // The second waits in the middle of its work, behind all of it, or never.
    for (int waits : {0, 1, 2}) for (int says : {0, 1}) tests.push_back({"where", 2, {{132, 128, 0, 0, {1000, S, says, 0}}, {132, 128, 0, 1, {1000, 1000, 0, waits}}}});
    // Room: the first leaves none.
    for (int shared : {0, 100 << 10, 200 << 10}) for (int threads : {128, 1024}) tests.push_back({"room", 2, {{132, threads, shared, 0, {1000, S, 1, 0}}, {132, threads, shared, 1, {500, 500, 0, 1}}}});
    for (int threads : {128, 1024}) tests.push_back({"full", 2, {{264, 1024, 0, 0, {1000, S, 1, 0}}, {132, threads, 0, 1, {500, 500, 0, 1}}}});
    // Three in a row; the second says at once, and waits at once or behind its work.
    for (int waits : {0, 1, 2}) tests.push_back({"three", 3, {{132, 128, 0, 0, {500, S, 1, 0}}, {132, 128, 0, 1, {200, 800, 1, waits}}, {132, 128, 0, 1, {200, 300, 0, 1}}}});
    for (int waits : {0, 1, 2}) tests.push_back({"three_never_waits", 3, {{132, 128, 0, 0, {500, S, 1, 0}}, {132, 128, 0, 1, {200, 800, 1, waits}}, {132, 128, 0, 1, {200, 300, 0, 0}}}});
    // The third is a plain launch.
    for (int waits : {0, 1}) tests.push_back({"three_plain", 3, {{132, 128, 0, 0, {500, S, 1, 0}}, {132, 128, 0, 1, {200, 800, 1, waits}}, {132, 128, 0, 0, {200, 300, 0, 0}}}});
    // Short kernels, four of them in a row.
    for (int early : {0, 1}) for (int says : {0, 1}) for (int blocks : {16, 132}) {
        if (!early && says) continue;
        kernel k = {blocks, 256, 0, early, {100, 900, says, early}}, first = k;
        first.early = 0, first.w.waits = 0;
        tests.push_back({"chain", 4, {first, k, k, k}});
    }
    note *notes[4];
    for (note *&n : notes) CK(cudaMalloc(&n, MOST * sizeof(note)));
    CK(cudaFuncSetAttribute((void *)part, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    cudaStream_t st;
    CK(cudaStreamCreate(&st));
    std::vector<note> h(MOST);
    printf("test,kernels,blocks,threads,shared,early,before,after,says,waits,kernel,first_start,last_start,first_said,last_said,first_waited,last_waited,first_end,last_end,starts_before_end\n");
    for (const test &t : tests) {
        std::vector<long> v[4][9];
        for (int r = 0; r < 8; r++) {
            gate<<<1, 32, 0, st>>>(200000);
            for (int k = 0; k < t.count; k++) launch(st, t.k[k], notes[k]);
            CK(cudaDeviceSynchronize());
            if (!r) continue; // the first fetches code
            u64 zero = 0, end0 = 0;
            for (int k = 0; k < t.count; k++) {
                int n = t.k[k].blocks;
                CK(cudaMemcpy(h.data(), notes[k], n * sizeof(note), cudaMemcpyDeviceToHost));
                note lo = h[0], hi = h[0];
                for (int i = 0; i < n; i++) {
                    lo.start = std::min(lo.start, h[i].start), hi.start = std::max(hi.start, h[i].start);
                    lo.said = std::min(lo.said, h[i].said), hi.said = std::max(hi.said, h[i].said);
                    lo.waited = std::min(lo.waited, h[i].waited), hi.waited = std::max(hi.waited, h[i].waited);
                    lo.end = std::min(lo.end, h[i].end), hi.end = std::max(hi.end, h[i].end);
                }
                if (!k) zero = lo.start;
                long sooner = 0;
                for (int i = 0; i < n && k; i++) sooner += h[i].start < end0;
                end0 = hi.end;
                long x[9] = {(long)(lo.start - zero), (long)(hi.start - zero), (long)(lo.said - zero), (long)(hi.said - zero), (long)(lo.waited - zero), (long)(hi.waited - zero), (long)(lo.end - zero), (long)(hi.end - zero), sooner};
                for (int i = 0; i < 9; i++) v[k][i].push_back(x[i]);
            }
        }
        for (int k = 0; k < t.count; k++) {
            const kernel &q = t.k[k];
            printf("%s,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d", t.name, t.count, q.blocks, q.threads, q.shared, q.early, q.w.before, q.w.after, q.w.says, q.w.waits, k);
            for (auto &x : v[k]) printf(",%ld", median(x));
            printf("\n");
        }
        fflush(stdout);
    }
    return 0;
}
