// SPDX-License-Identifier: Apache-2.0
// Shared memory of other blocks, where clusters are placed, single steps of bulk copies, and rings between producers and
// consumers, timed with the SM's clock.
//
// nvcc -O1 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o remote remote.cu; ./remote [few [PARTS]] > remote.csv
//
// Beside gen.py and async.py: atomics and stores of distributed shared memory by distance, pattern and conflict (part
// a); on which SMs the blocks of clusters are and when they start (p); one bulk copy after the other without other work
// in between, with first uses of tensor maps in code that is warm (t); stages that are handed on between blocks (r); stores
// to shared memory by generic addresses (g); registers that are given up late (s); how many clusters the driver says are active (o); launches by what they take of an SM, for a profiler (l).
// hardware/h200/hopper_remote.csv is what it printed on an H200. `few`: once, for a simulator.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

typedef unsigned long long u64;
typedef unsigned u32;
#define DEVICE __device__ __forceinline__
DEVICE u32 sa(const void *p) { return (u32)__cvta_generic_to_shared(p); }
DEVICE u64 now() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}
DEVICE u64 wall() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}
DEVICE u32 rank_of() {
    u32 r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
DEVICE u32 sm_of() {
    u32 r;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(r));
    return r;
}
DEVICE u32 map_to(u32 a, u32 r) {
    u32 v;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(r));
    return v;
}
DEVICE void meet() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
DEVICE void wait_for(u32 bar, u32 parity) {
    asm volatile("{.reg .pred p;\nL%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:}" ::"r"(bar),
                 "r"(parity)
                 : "memory");
}

// ---- shared memory of another block -----------------------------------------------------------------------------------
// Each thread has eight addresses. what: 0 own word at rank + away, 1 all lanes of a warp one word there, 2 words `step` apart
// there, 3 lanes' words at all ranks in turn, 4 any word of any rank.
enum { WORDS = 8192 };
template <int OP> DEVICE void far_op(u32 at, u32 &x) {
    if (OP == 0) asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(at), "r"(1) : "memory");
    if (OP == 1) {
        u32 v;
        asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(v) : "r"(at), "r"(1) : "memory");
        x += v;
    }
    if (OP == 3) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at), "r"(1) : "memory");
    if (OP == 4) { // one after the other
        u32 v;
        asm volatile("atom.shared::cluster.add.u32 %0, [%1], %2;" : "=r"(v) : "r"(at + (x & 0x1000000)), "r"(0) : "memory");
        x = v;
    }
}
template <int OP> __global__ void far(u64 *out, u32 what, u32 away, u32 step, u32 size, u32 rounds) {
    extern __shared__ __align__(1024) u32 words[];
    for (u32 i = threadIdx.x; i < WORDS; i += blockDim.x) words[i] = 0;
    u32 me = rank_of(), lane = threadIdx.x % 32, warp = threadIdx.x / 32, a[8], x = 0;
    for (u32 k = 0; k < 8; k++) {
        u32 h = (threadIdx.x * 8 + k + blockIdx.x * 8192 + 1) * 2654435761u;
        h ^= h >> 15;
        h *= 2246822519u;
        h ^= h >> 13;
        u32 to = (me + away) & (size - 1), word = (threadIdx.x + k * 32) & (WORDS - 1);
        if (what == 1) word = warp * 32 & (WORDS - 1);
        if (what == 2) word = (lane * step + warp) & (WORDS - 1);
        if (what == 3) to = lane & (size - 1);
        if (what == 4) to = h & (size - 1), word = h >> 16 & 1023;
        a[k] = map_to(sa(&words[word]), to);
    }
    meet();
    u64 t0 = now();
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++) {
#pragma unroll
        for (int k = 0; k < 8; k++) far_op<OP>(a[k], x);
    }
    if (x == 0x7fffffff) out[9] = x;
    u64 t1 = now();
    meet();
    u64 t2 = now();
    if (threadIdx.x == 0) out[blockIdx.x * 2] = t1 - t0, out[blockIdx.x * 2 + 1] = t2 - t0;
}

// ---- where blocks are -------------------------------------------------------------------------------------------------
extern "C" __global__ void place(u64 *out, u32 cycles) {
    u64 w = wall(), t = now();
    while (now() - t < cycles) {}
    if (threadIdx.x == 0) out[blockIdx.x * 3] = sm_of(), out[blockIdx.x * 3 + 1] = w, out[blockIdx.x * 3 + 2] = wall();
}

// ---- single steps -----------------------------------------------------------------------------------------------------
struct maps { // read: the same box of its own by each; written: two, the second asked for ahead
    CUtensorMap read[2][3], write[2][2];
};
enum { STEPS = 26 };
DEVICE void ask(const CUtensorMap *m, u32 to, u32 bar, int y, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(m), "r"(bar), "r"(0), "r"(y)
                 : "memory");
}
DEVICE void give(const CUtensorMap *m, u32 from, int y, int red) {
    if (red)
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::"l"(m), "r"(from),
                     "r"(0), "r"(y)
                     : "memory");
    else
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(m), "r"(from), "r"(0),
                     "r"(y)
                     : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
#define READ0 asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define DONE0 asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
extern "C" __global__ void steps(u64 *out, const __grid_constant__ maps m, const uint8_t *plain, u32 bytes, int rows) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ u64 bars[1];
    u32 b = sa(&bars[0]), to = sa(s), parity = 0;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b) : "memory");
    __syncthreads();
    if (threadIdx.x) return;
#pragma unroll 1
    for (int r = 0; r < 2; r++) { // code is there the second time, the maps are others
        u64 t[STEPS];
        int y = (blockIdx.x * 16 + r * 8) * rows;
        const CUtensorMap *q = m.read[r], *w = m.write[r];
        int k = 0;
#define T t[k++] = now()
#define LOAD(i, d) ask(&q[i], to, b, y + (d)*rows, bytes), wait_for(b, parity), parity ^= 1
        asm volatile("prefetch.tensormap [%0];" ::"l"(&q[2]) : "memory");
        asm volatile("prefetch.tensormap [%0];" ::"l"(&w[1]) : "memory");
        T; asm volatile("fence.proxy.async;" ::: "memory");
        T; asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(b) : "memory"); wait_for(b, parity); parity ^= 1;
        T; wait_for(b, parity ^ 1);
        T; LOAD(0, 0);  // a map's first use
        T; LOAD(0, 1);
        T; LOAD(0, 2);
        T; LOAD(1, 3);  // another one's
        T; LOAD(1, 4);
        T; LOAD(2, 5);  // of one that was asked for
        T; asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
           asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(plain + (size_t)y * 512), "r"(bytes), "r"(b) : "memory"); wait_for(b, parity); parity ^= 1;
        T; asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
           asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(plain + (size_t)(y + 2 * rows) * 512), "r"(bytes), "r"(b) : "memory"); wait_for(b, parity); parity ^= 1;
        T; give(&w[0], to, y, 0); // a map's first use
        T; READ0;
        T; DONE0;
        T; give(&w[0], to, y + rows, 0);
        T; READ0;
        T; DONE0;
        T; give(&w[1], to, y + 2 * rows, 0); // of one that was asked for
        T; READ0;
        T; DONE0;
        T; give(&w[0], to, y + rows, 1);
        T; READ0;
        T; DONE0;
        T; asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes * 4) : "memory");
        for (int i = 0; i < 4; i++) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to + i * bytes), "l"(&q[0]), "r"(b), "r"(0), "r"(y + i * rows) : "memory");
        T; wait_for(b, parity); parity ^= 1;
        T;
#pragma unroll
        for (int i = 0; i + 1 < STEPS; i++) out[(blockIdx.x * 2 + r) * STEPS + i] = t[i + 1] - t[i];
    }
}

// ---- stages that are handed on ------------------------------------------------------------------------------------------
// A thread loads a box, and with `cast` its half of one of the cluster; another waits for them and gives the stage back, to all
// blocks of the cluster with `cast`.
extern "C" __global__ void ring(u64 *out, const __grid_constant__ CUtensorMap m, const __grid_constant__ CUtensorMap half, u32 bytes,
                                int rows, u32 stages, u32 shift, u32 steps, u32 cast, u32 relaxed, int stride) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ u64 full[4], empty[4];
    u32 size = cast ? 2 : 1, me = rank_of();
    if (threadIdx.x < 4) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(sa(&full[threadIdx.x])) : "memory");
        asm volatile("mbarrier.init.shared.b64 [%0], %1;\nfence.mbarrier_init.release.cluster;" ::"r"(sa(&empty[threadIdx.x])), "r"(size) : "memory");
    }
    meet();
    if (threadIdx.x == 0) {
        int y = stride ? blockIdx.x * rows : (blockIdx.x & 15) * rows;
        for (u32 i = 0; i < steps; i++, y += stride) {
            u32 k = i & (stages - 1), f = sa(&full[k]), to = sa(s) + k * 2 * bytes;
            wait_for(sa(&empty[k]), (i >> shift & 1) ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(f), "r"(cast ? 2 * bytes : bytes) : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&m), "r"(f), "r"(0), "r"(y) : "memory");
            if (cast) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to + bytes + me * (bytes / 2)), "l"(&half), "r"(f), "r"(0), "r"(y), "h"((uint16_t)3) : "memory");
        }
    } else if (threadIdx.x >= 32) {
        u64 t0 = 0;
        u32 lane = threadIdx.x & 31;
        for (u32 i = 0; i < steps; i++) {
            u32 k = i & (stages - 1);
            wait_for(sa(&full[k]), i >> shift & 1);
            if (i == 8) t0 = now();
            if (lane < size) {
                u32 e = map_to(sa(&empty[k]), cast ? lane : me);
                if (relaxed) asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(e) : "memory");
                else asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(e) : "memory");
            }
            __syncwarp();
        }
        u64 t1 = now();
        if (threadIdx.x == 32) out[blockIdx.x] = t1 - t0;
    }
    meet();
}

// ---- stores and loads of shared memory by generic addresses --------------------------------------------------------------
template <int GENERIC> __global__ void generic(u64 *out, u32 *never, u32 rounds, u32 load) {
    extern __shared__ __align__(1024) u32 words[];
    u32 *p = never ? never : words + threadIdx.x, x = 0; // the compiler does not know that it is shared memory
    u32 at = sa(words + threadIdx.x);
    __syncthreads();
    u64 t0 = now();
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++) {
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            u32 v;
            if (load) {
                if (GENERIC) asm volatile("ld.volatile.u32 %0, [%1];" : "=r"(v) : "l"(p + k * 1024) : "memory");
                else asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(at + k * 4096) : "memory");
                x += v;
            } else {
                if (GENERIC) asm volatile("st.volatile.u32 [%0], %1;" ::"l"(p + k * 1024), "r"(r) : "memory");
                else asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at + k * 4096), "r"(r) : "memory");
            }
        }
    }
    if (x == 0x12345) out[9] = x;
    u64 t1 = now();
    __syncthreads();
    u64 t2 = now();
    if (threadIdx.x == 0) out[0] = t1 - t0, out[1] = t2 - t0;
}

// ---- launches by what they take --------------------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(384) few_registers(u64 *out) {
    u64 t = now();
    while (now() - t < 2000) {}
    if (threadIdx.x > 4096) out[0] = t;
}
extern "C" __global__ void __launch_bounds__(384, 1) many_registers(u64 *out) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 160;");
    u64 t = now();
    while (now() - t < 2000) {}
    if (threadIdx.x > 4096) out[0] = t;
}

// ---- registers that are given up late ----------------------------------------------------------------------------------------
extern "C" __global__ void __launch_bounds__(384, 1) late_registers(u64 *out, u32 delay) {
    u64 t0 = now(), t1, t2;
    if (threadIdx.x < 128) {
        while (now() - t0 < delay) {}
        t1 = now();
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        t2 = now();
    } else {
        t1 = now();
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        t2 = now();
    }
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32 * 2] = t1 - t0, out[threadIdx.x / 32 * 2 + 1] = t2 - t0;
}

// ---- host ------------------------------------------------------------------------------------------------------------------
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
static u64 *out, h[132 * 64];
static void get() { CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)); }
static void say(const char *name, const char *unit, double v, const char *fmt, ...) {
    va_list ap; va_start(ap, fmt); char b[200]; vsnprintf(b, 200, fmt, ap); va_end(ap);
    printf("%s,%s,%s,%.3f\n", name, unit, b, v); fflush(stdout);
}
static double mean(int n, int step, int first) { double d = 0; for (int i = 0; i < n; i++) d += h[i * step + first]; return d / n; }
template <typename... A> static void cl(void (*k)(A...), int size, int blocks, int threads, int smem, A... a) {
    cudaLaunchConfig_t c = {}; c.gridDim = blocks; c.blockDim = threads; c.dynamicSmemBytes = smem;
    cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = size; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1; c.attrs = at; c.numAttrs = 1;
    CK(cudaFuncSetAttribute((void *)k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    if (smem > 48 << 10) CK(cudaFuncSetAttribute((void *)k, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
    CK(cudaLaunchKernelEx(&c, k, a...)); get();
}
typedef CUresult (*encoder)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static encoder encode;
static CUtensorMap map_of(void *at, u32 rows) { // boxes of `rows` of 128 B, rows 512 B apart
    CUtensorMap m; cuuint64_t dims[2] = {128, 1 << 18}, strides[1] = {512}; cuuint32_t box[2] = {32, rows}, ones[2] = {1, 1};
    if (encode(&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, at, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) { fprintf(stderr, "no tensor map\n"); exit(1); }
    return m;
}
static const char *what_names[] = {"own", "one", "apart", "spread", "any"};
template <int OP> static void run_far(const char *op, bool few) {
    for (int size : {2, 8, 16}) for (int many = 0; many < 2; many++) for (int threads : {32, 128, 512}) {
        if (few && (size == 16 || many || threads == 128)) continue;
        if (size == 16 && threads == 128) continue;
        int blocks = many ? 128 / size * size : size;
        if (size == 16 && many) blocks = 64;
        for (u32 what = 0; what < 5; what++) for (u32 away : {0u, 1u, 2u}) for (u32 step : {2u, 8u, 32u}) {
            if ((what != 2 && step != 2) || (what > 2 && away) || (away == 2 && (size == 2 || what))) continue;
            if ((what == 1 || what == 2) && (size == 16 || threads == 128)) continue;
            if (OP > 1 && what == 2 && step != 8) continue;
            u32 rounds = 8; double t[2], d[2];
            for (int twice = 0; twice < 2; twice++) {
                for (int again = few; again < 2; again++) cl(far<OP>, size, blocks, threads, WORDS * 4, out, what, away, step, (u32)size, rounds << twice);
                t[twice] = mean(blocks, 2, 0); d[twice] = mean(blocks, 2, 1);
            }
            const char *f = "what=%s away=%u step=%u size=%d threads=%d blocks=%d";
            char name[32]; snprintf(name, 32, "%s.each", op);
            say(name, "cycles", (d[1] - d[0]) / (rounds * 8), f, what_names[what], away, step, size, threads, blocks);
            snprintf(name, 32, "%s.first", op);
            say(name, "cycles", d[0], f, what_names[what], away, step, size, threads, blocks);
        }
    }
}
static void run_place(int size, int blocks, int threads, int smem) {
    cl(place, size, blocks, threads, smem, out, 20000u);
    cl(place, size, blocks, threads, smem, out, 20000u);
    u64 first = ~0ull, last = 0; for (int b = 0; b < blocks; b++) { if (h[b * 3 + 1] < first) first = h[b * 3 + 1]; if (h[b * 3 + 2] > last) last = h[b * 3 + 2]; }
    say("place.time", "ns", (double)(last - first), "size=%d blocks=%d threads=%d shared=%d", size, blocks, threads, smem);
    for (int b = 0; b < blocks; b++) say("place.sm", "sm", (double)h[b * 3], "size=%d blocks=%d threads=%d shared=%d block=%d ns=%lld", size, blocks, threads, smem, b, (long long)(h[b * 3 + 1] - first));
}
static void run_steps(uint8_t *mem, int blocks, int rows, int far, u64 all, bool few) {
    static const char *names[] = {"fence", "arrive", "waited", "load_first", "load", "load", "load_first2", "load2", "load_prefetched", "bulk_first", "bulk", "give_first", "give_first_read", "give_first_done", "give", "give_read", "give_done", "give_prefetched", "give_prefetched_read", "give_prefetched_done", "reduce", "reduce_read", "reduce_done", "four_issue", "four_wait"};
    maps m;
    for (int r = 0; r < 2; r++) { for (int i = 0; i < 3; i++) m.read[r][i] = map_of(mem, (u32)rows); for (int i = 0; i < 2; i++) m.write[r][i] = map_of(mem + all / 2, (u32)rows); }
    for (int again = far; again < 2; again++) {
        if (far) { CK(cudaMemset(mem + all, 0, all)); CK(cudaMemset(mem + all, 1, all)); }
        steps<<<blocks, 32, 128 << 10>>>(out, m, mem + 256, 128 * rows, rows); get();
    }
    for (int r = 0; r < 2; r++) for (int i = 0; i + 1 < STEPS; i++) say(r ? "step" : "step.cold", "cycles", mean(blocks, 2 * STEPS, r * STEPS + i), "n=%d %s rows=%d blocks=%d from=%s", i, names[i], rows, blocks, far ? "memory" : "l2");
}
int main(int argc, char **argv) {
    bool few = argc > 1 && !strcmp(argv[1], "few");
    const char *part = argc > 2 ? argv[2] : "aptrgso";
    u64 all = 256ull << 20; uint8_t *mem;
    CK(cudaMalloc(&out, sizeof h)); CK(cudaMemset(out, 0, sizeof h)); CK(cudaMalloc(&mem, 2 * all)); CK(cudaMemset(mem, 0, 2 * all));
    cudaDriverEntryPointQueryResult q; CK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", (void **)&encode, cudaEnableDefault, &q));
    CK(cudaFuncSetAttribute((void *)steps, cudaFuncAttributeMaxDynamicSharedMemorySize, 128 << 10));
    CK(cudaFuncSetAttribute((void *)ring, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 << 10));
    printf("name,unit,point,value\n");
    if (strchr(part, 't')) for (int far = 0; far < 2; far++) for (int rows : {8, 64, 128}) for (int blocks : {1, 8, 132}) if (!few || blocks == 8) run_steps(mem, blocks, rows, far, all, few);
    if (strchr(part, 'r')) for (u32 cast = 0; cast < 2; cast++) for (u32 relaxed = 0; relaxed < 2; relaxed++) for (u32 shift = 0; shift < 3; shift++) for (int rows : {8, 64, 128}) for (int blocks : {2, 128}) for (int far = 0; far < 2; far++) {
        if ((few && (blocks == 128 || rows == 8 || far)) || (far && blocks == 128)) continue;
        if (far) { CK(cudaMemset(mem + all, 0, all)); CK(cudaMemset(mem + all, 1, all)); }
        CUtensorMap m = map_of(mem, (u32)rows), half = map_of(mem, (u32)rows / 2);
        for (int again = few || far; again < 2; again++) cl(ring, 2, blocks, 64, 160 << 10, out, m, half, (u32)(128 * rows), rows, 1u << shift, shift, 72u, cast, relaxed, far ? blocks * rows : 0);
        say(far ? "ring.memory" : "ring.each", "cycles", mean(blocks, 1, 0) / 64, "cast=%u %s stages=%u rows=%d blocks=%d", cast, relaxed ? "relaxed" : "release", 1u << shift, rows, blocks);
    }
    if (strchr(part, 'g')) for (int g = 0; g < 2; g++) for (u32 load = 0; load < 2; load++) for (int threads : {32, 128, 512}) {
        double d[2];
        for (int twice = 0; twice < 2; twice++) { for (int again = few; again < 2; again++) { if (g) generic<1><<<1, threads, 40960>>>(out, nullptr, 16u << twice, load); else generic<0><<<1, threads, 40960>>>(out, nullptr, 16u << twice, load); get(); } d[twice] = (double)h[1]; }
        say(g ? "shared.generic" : "shared.plain", "cycles", (d[1] - d[0]) / 128, "%s threads=%d", load ? "load" : "store", threads);
    }
    if (strchr(part, 'a')) { run_far<0>("far.red", few); run_far<1>("far.atom", few); run_far<3>("far.store4", few); run_far<4>("far.chain", few); }
    if (strchr(part, 'p') && !few) { run_place(8, 128, 512, 4096); run_place(8, 264, 512, 4096); run_place(4, 8, 512, 1024); run_place(2, 128, 384, 160 << 10); run_place(2, 4, 384, 160 << 10); run_place(16, 64, 512, 4096); run_place(4, 256, 256, 4096); run_place(8, 128, 512, 32768); }
    if (strchr(part, 'o')) for (int which = 0; which < 2; which++) for (int size : {1, 2, 3, 4, 6, 8, 12, 16}) for (int threads : {128, 384, 1024}) for (int smem : {0, 32, 64, 100, 160, 220}) {
        void (*k)(u64 *) = which ? many_registers : few_registers;
        if (threads > 384) continue;
        CK(cudaFuncSetAttribute((void *)k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1)); CK(cudaFuncSetAttribute((void *)k, cudaFuncAttributeMaxDynamicSharedMemorySize, smem << 10));
        cudaLaunchConfig_t c = {}; c.gridDim = size * 12; c.blockDim = threads; c.dynamicSmemBytes = smem << 10; int n = -1, blocks = -1, most = -1;
        cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = size; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1; c.attrs = at; c.numAttrs = 1;
        cudaError_t e = cudaOccupancyMaxActiveClusters(&n, k, &c); if (e != cudaSuccess) cudaGetLastError(), n = -(int)e;
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, threads, smem << 10);
        c.numAttrs = 0; e = cudaOccupancyMaxPotentialClusterSize(&most, k, &c); if (e != cudaSuccess) cudaGetLastError(), most = -(int)e;
        say("clusters.active", "clusters", n, "size=%d threads=%d shared=%d registers=%s blocks=%d potential=%d", size, threads, smem << 10, which ? "many" : "few", blocks, most);
    }
    if (strchr(part, 's')) for (u32 delay = 0; delay <= (few ? 400u : 2000u); delay += delay < 600 ? 20 : 200) {
        late_registers<<<1, 384>>>(out, delay); get();
        if (!few) late_registers<<<1, 384>>>(out, delay), get();
        for (int w = 0; w < 12; w++) say(w < 4 ? "registers.down" : "registers.up", "cycles", (double)h[w * 2 + 1], "delay=%u warp=%d from=%llu", delay, w, h[w * 2]);
    }
    if (strchr(part, 'l')) {
        CK(cudaFuncSetAttribute((void *)few_registers, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10)); CK(cudaFuncSetAttribute((void *)many_registers, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
        for (int smem : {0, 16, 32, 48, 64, 96, 128, 160, 200}) for (int blocks : {4, 128}) { few_registers<<<blocks, 128, smem << 10>>>(out); get(); many_registers<<<blocks, 384, smem << 10>>>(out); get(); }
        for (int size : {2, 4, 8}) for (int blocks : {8, 128}) cl(few_registers, size, blocks, 128, 0, out);
    }
    return 0;
}
