#!/usr/bin/env python3
"""Writes async.cu: what Hopper's asynchronous units do while a kernel goes on, timed with the SM's clock.

usage: async.py > async.cu; nvcc -O1 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o async async.cu; ./async > async.csv

Beside hopper.cu (gen.py): products that are issued and not waited for, products beside loads of shared memory, boxes of tensors in
a pipeline, multicast, stores and reductions of boxes, shared memory of other blocks at full rate, arrivals there without a fence,
launches of clusters. hardware/h200/hopper_async.csv is what it printed on an H200.
"""
print(r'''// Hopper's asynchronous units beside what else a kernel does, timed with the SM's clock.
#include <cstdint>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
typedef unsigned long long u64;
typedef unsigned u32;
__device__ __forceinline__ u32 sa(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory"); return t; }
__device__ __forceinline__ void wait_for(u32 bar, u32 parity) { asm volatile("{.reg .pred p;\nL%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra D%=;\nbra L%=;\nD%=:}" ::"r"(bar), "r"(parity) : "memory"); }
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
''')
issue=[]
for n in (64,256):
    for src in ('ss','rs'):
        for p in (1,2,4,8,16):
            nd=n//2
            d='{'+','.join('%%%d'%i for i in range(nd))+'}'
            if src=='ss': ops='%%%d, %%%d'%(nd,nd+1); ins='"l"(da), "l"(db)'; tail=',1,1,0,0'
            else: ops='{%%%d,%%%d,%%%d,%%%d}, %%%d'%(nd,nd+1,nd+2,nd+3,nd+4); ins='"r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(db)'; tail=',1,1,0'
            asm='asm volatile("wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 %s, %s, 1%s;" : %s : %s : "memory");'%(n,d,ops,tail,','.join('"+f"(d[%d])'%i for i in range(nd)),ins)
            name='issue_%s_%d_%d'%(src,n,p); issue.append((name,src,n,p))
            print('extern "C" __global__ void %s(u64 *out) {'%name)
            print('    extern __shared__ __align__(1024) uint8_t s[];\n    float d[%d];\n    for (int i = 0; i < %d; i++) d[i] = 0;'%(nd,nd))
            print('    for (u32 i = threadIdx.x; i < 65536 / 4; i += blockDim.x) ((u32 *)s)[i] = 0;\n    asm volatile("fence.proxy.async;" ::: "memory");\n    __syncthreads();')
            print('    u64 base = 1ull << 62 | 64ull << 32 | 1ull << 16, da = base | sa(s) >> 4, db = base | (sa(s) + 32768) >> 4, t[3] = {0, 0, 0};\n    u32 a0 = threadIdx.x & 0, a1 = a0, a2 = a0, a3 = a0; (void)a0;')
            print('#pragma unroll 1\n    for (int r = 0; r < 3; r++) {\n        __syncthreads();\n        t[0] = now();\n        FENCE;')
            for k in range(p): print('        '+asm)
            print('        COMMIT;\n        t[1] = now();\n        WAIT;\n        t[2] = now();\n    }')
            print('    float x = 0;\n    for (int i = 0; i < %d; i++) x += d[i];\n    if (x != 12345.f && threadIdx.x == 0) out[0] = t[1] - t[0], out[1] = t[2] - t[0];\n}'%nd)
beside=[]
for n in (64,128,256):
    nd=n//2
    d='{'+','.join('%%%d'%i for i in range(nd))+'}'
    asm='asm volatile("wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 %s, %%%d, %%%d, 1,1,1,0,0;" : %s : "l"(da), "l"(db) : "memory");'%(n,d,nd,nd+1,','.join('"+f"(d[%d])'%i for i in range(nd)))
    name='beside_%d'%n; beside.append((name,n))
    print('extern "C" __global__ void %s(u64 *out, u32 rounds, u32 loads) { // warps 0 to 3 multiply, the others load shared memory'%name)
    print('    extern __shared__ __align__(1024) uint8_t s[];\n    for (u32 i = threadIdx.x; i < 65536 / 4; i += blockDim.x) ((u32 *)s)[i] = 0;\n    asm volatile("fence.proxy.async;" ::: "memory");\n    __syncthreads();\n    u64 t0, t1;')
    print('    if (threadIdx.x < 128) {\n        float d[%d];\n        for (int i = 0; i < %d; i++) d[i] = 0;\n        u64 base = 1ull << 62 | 64ull << 32 | 1ull << 16, da = base | sa(s) >> 4, db = base | (sa(s) + 32768) >> 4;'%(nd,nd))
    print('        t0 = now();\n        FENCE;\n#pragma unroll 1\n        for (u32 r = 0; r < rounds; r++) { %s }\n        COMMIT; WAIT;\n        t1 = now();'%asm)
    print('        float x = 0;\n        for (int i = 0; i < %d; i++) x += d[i];\n        if (x != 12345.f && threadIdx.x == 0) out[0] = t1 - t0;\n    } else {'%nd)
    print('        u32 at = sa(s) + threadIdx.x * 16, a, b, c, e, x = 0;\n        t0 = now();\n#pragma unroll 4\n        for (u32 r = 0; r < loads; r++) { asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(e) : "r"(at) : "memory"); x += a + b + c + e; }\n        t1 = now();\n        if (x == 1) out[9] = x;\n        if (threadIdx.x == 128) out[1] = t1 - t0;\n    }\n}')
print(r'''
// ---- boxes of tensors: `boxes` of them through a ring of `depth`, by one thread; then how long each took
struct maps { CUtensorMap m; };
__device__ __forceinline__ void box(const CUtensorMap *m, int rank, u32 to, u32 bar, int x, int y) {
    if (rank == 1) asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(to), "l"(m), "r"(bar), "r"(x) : "memory");
    else if (rank == 2) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(m), "r"(bar), "r"(x), "r"(y) : "memory");
    else if (rank == 3) asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(m), "r"(bar), "r"(x), "r"(0), "r"(y) : "memory");
    else asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %4, %4, %5}], [%2];" ::"r"(to), "l"(m), "r"(bar), "r"(x), "r"(0), "r"(y) : "memory");
}
extern "C" __global__ void tile_load(u64 *out, const __grid_constant__ CUtensorMap m, int rank, u32 bytes, int step, int wide, u32 boxes, u32 depth) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ u64 bars[8];
    if (threadIdx.x < 8) asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.proxy.async;" ::"r"(sa(&bars[threadIdx.x])) : "memory");
    __syncthreads();
    if (threadIdx.x) return;
    u64 t[4] = {now(), 0, 0, 0};
    int at = blockIdx.x * boxes * step;
    for (u32 i = 0; i < boxes + depth; i++) {
        u32 k = i % depth, b = sa(&bars[k]);
        if (i >= depth) { wait_for(b, (i / depth - 1) & 1); if (i - depth < 2) t[1 + i - depth] = now(); }
        if (i < boxes) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
            box(&m, rank, sa(s) + k * ((bytes + 1023) / 1024 * 1024), b, rank == 1 ? at : 0, at);
            at += step;
        }
    }
    t[3] = now();
    out[blockIdx.x * 4] = t[1] - t[0]; out[blockIdx.x * 4 + 1] = t[2] - t[1]; out[blockIdx.x * 4 + 2] = t[3] - t[0]; (void)wide;
}
// A box of the cluster's, of which every block loads a part for all of them.
extern "C" __global__ void tile_cast(u64 *out, const __grid_constant__ CUtensorMap m, u32 bytes, int step, u32 boxes, u32 depth, u32 size, u32 part) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ u64 bars[8];
    if (threadIdx.x < 8) asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(sa(&bars[threadIdx.x])) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    u32 rank; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        u64 t0 = now();
        int at = blockIdx.x / size * boxes * step + rank * (step / size);
        uint16_t all = (uint16_t)((1u << size) - 1);
        for (u32 i = 0; i < boxes + depth; i++) {
            u32 k = i % depth, b = sa(&bars[k]);
            if (i >= depth) wait_for(b, (i / depth - 1) & 1);
            if (i < boxes) {
                asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
                asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(sa(s) + k * bytes + rank * part), "l"(&m), "r"(b), "r"(0), "r"(at), "h"(all) : "memory");
                at += step;
            }
        }
        out[blockIdx.x * 4] = now() - t0;
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
extern "C" __global__ void tile_store(u64 *out, const __grid_constant__ CUtensorMap m, u32 bytes, int step, u32 boxes, u32 red) {
    extern __shared__ __align__(1024) uint8_t s[];
    if (threadIdx.x) return;
    u64 t0 = now();
    int at = blockIdx.x * boxes * step;
    for (u32 i = 0; i < boxes; i++, at += step) {
        if (red) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&m), "r"(sa(s) + i % 4 * bytes), "r"(0), "r"(at) : "memory");
        else asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&m), "r"(sa(s) + i % 4 * bytes), "r"(0), "r"(at) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 1;" ::: "memory");
    }
    u64 t1 = now();
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    u64 t2 = now();
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    out[blockIdx.x * 4] = t1 - t0; out[blockIdx.x * 4 + 1] = t2 - t0; out[blockIdx.x * 4 + 2] = now() - t0;
}
// ---- shared memory of another block, all warps: from the first one's start to the last one's end
__device__ __forceinline__ u32 rank_of() { u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ __forceinline__ u32 map_to(u32 a, u32 r) { u32 v; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(r)); return v; }
__device__ __forceinline__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
extern "C" __global__ void far_copy(u64 *out, u32 away, u32 size, u32 rounds, u32 stores) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ u64 first, last;
    if (threadIdx.x == 0) first = ~0ull, last = 0;
    meet();
    u32 at = map_to(sa(s), (rank_of() + away) % size) + threadIdx.x * 16, a = 1, b = 2, c = 3, d = 4, x = 0;
    u64 t0 = now();
    if (stores) {
#pragma unroll 8
        for (u32 r = 0; r < rounds; r++) asm volatile("st.shared::cluster.v4.u32 [%4], {%0,%1,%2,%3};" ::"r"(a), "r"(b), "r"(c), "r"(d), "r"(at) : "memory");
    } else {
#pragma unroll 8
        for (u32 r = 0; r < rounds; r++) { asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory"); x += a + b + c + d; }
    }
    if (x == 1) out[9] = x;
    u64 t1 = now();
    atomicMin(&first, t0); atomicMax(&last, t1);
    meet();
    if (threadIdx.x == 0) out[blockIdx.x] = last - first;
    meet();
}
extern "C" __global__ void far_ping(u64 *out, u32 to, u32 rounds, u32 how) { // 0: arrival without a fence, 1: st.async
    __shared__ u64 bar, word;
    u32 b = sa(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(b) : "memory");
    meet();
    u32 me = rank_of(), other = map_to(b, me == 0 ? to : 0), place = map_to(sa(&word), me == 0 ? to : 0);
    if (threadIdx.x == 0 && (me == 0 || me == to)) {
        if (how) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 8;" ::"r"(b) : "memory");
        u64 t0 = now();
#pragma unroll 1
        for (u32 r = 0; r < rounds; r++) {
            if (me) { wait_for(b, r & 1); if (how && r + 1 < rounds) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 8;" ::"r"(b) : "memory"); }
            if (how) asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(place), "l"(t0), "r"(other) : "memory");
            else asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
            if (!me) { wait_for(b, r & 1); if (how && r + 1 < rounds) asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 8;" ::"r"(b) : "memory"); }
        }
        u64 t1 = now();
        if (!me) out[0] = (t1 - t0) / rounds;
    }
    meet();
}
extern "C" __global__ void cluster_relaxed(u64 *out, u32 rounds) { // the barrier without its fence
    meet();
    u64 t0 = now();
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++) asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    u64 t1 = now();
    if (threadIdx.x == 0) out[blockIdx.x] = (t1 - t0) / rounds;
}
extern "C" __global__ void nothing(u64 *out) { if (threadIdx.x > 4096) out[0] = 1; }
extern "C" __global__ void __launch_bounds__(384, 1) maxreg(u64 *out) { // warps 0 to 3 give registers up, 4 to 11 take them
    u64 t0 = now();
    if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;"); else asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    u64 t1 = now();
    if (threadIdx.x % 128 == 0) out[threadIdx.x / 128] = t1 - t0;
}
extern "C" __global__ void dependent(u64 *out, u32 early) {
    if (early) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    u64 t0 = now();
    while (now() - t0 < 4000) {}
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (threadIdx.x > 4096) out[0] = 1;
}
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
static u64 *out; static u64 h[132 * 16];
static void get() { CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)); }
static void say(const char *name, const char *unit, double v, const char *fmt, ...) { va_list ap; va_start(ap, fmt); char b[200]; vsnprintf(b, 200, fmt, ap); va_end(ap); printf("%s,%s,%s,%.3f\n", name, unit, b, v); fflush(stdout); }
static double mean(int n, int step, int first) { double d = 0; for (int i = 0; i < n; i++) d += h[i * step + first]; return d / n; }
template <typename... A> static void cl(void (*k)(A...), int size, int blocks, int threads, int smem, A... a) {
    cudaLaunchConfig_t c = {}; c.gridDim = blocks; c.blockDim = threads; c.dynamicSmemBytes = smem; cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = size; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1; c.attrs = at; c.numAttrs = 1;
    CK(cudaFuncSetAttribute((void *)k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    if (smem) CK(cudaFuncSetAttribute((void *)k, cudaFuncAttributeMaxDynamicSharedMemorySize, smem));
    CK(cudaLaunchKernelEx(&c, k, a...)); get();
}
typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static encode_fn *encode;
// A tensor of rows of `width` bytes (f32), boxes of `row` bytes by `rows`.
static CUtensorMap map_of(void *mem, int rank, u64 width, u32 row, u32 rows, int swizzle, u64 all) {
    CUtensorMap m; cuuint64_t dims[5], strides[5]; cuuint32_t box[5] = {row / 4, 1, 1, 1, 1}, ones[5] = {1, 1, 1, 1, 1};
    dims[0] = rank == 1 ? all / 4 : width / 4; for (int d = 1; d < 5; d++) dims[d] = 1, strides[d - 1] = width;
    if (rank > 1) dims[rank - 1] = all / width, box[rank - 1] = rows;
    for (int d = 1; d + 1 < rank; d++) dims[d] = 1;
    CUresult r = encode(&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank, mem, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r != CUDA_SUCCESS) { fprintf(stderr, "tensor map: %d (rank %d row %u rows %u)\n", (int)r, rank, row, rows); exit(1); }
    return m;
}
static double launches(int n, cudaStream_t st, void (*go)(cudaStream_t, int), int arg) { // ns of each
    cudaEvent_t a, b; cudaEventCreate(&a); cudaEventCreate(&b); float best = 1e30f;
    for (int r = 0; r < 3; r++) { CK(cudaEventRecord(a, st)); for (int i = 0; i < n; i++) go(st, arg); CK(cudaEventRecord(b, st)); CK(cudaEventSynchronize(b)); float ms; cudaEventElapsedTime(&ms, a, b); if (ms < best) best = ms; }
    return best * 1e6 / n;
}
static void go_cluster(cudaStream_t st, int size) { cudaLaunchConfig_t c = {}; c.gridDim = 1056; c.blockDim = 128; c.stream = st; cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = size; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1; c.attrs = at; c.numAttrs = 1; CK(cudaLaunchKernelEx(&c, nothing, out)); }
static void go_dependent(cudaStream_t st, int how) { cudaLaunchConfig_t c = {}; c.gridDim = 66; c.blockDim = 128; c.stream = st; cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization; at[0].val.programmaticStreamSerializationAllowed = 1; c.attrs = at; c.numAttrs = how ? 1 : 0; CK(cudaLaunchKernelEx(&c, dependent, out, (u32)(how == 2))); }
int main(int argc, char **argv) {
    bool host = argc < 2; // an argument: without launches, which a simulator has no time for
    CK(cudaMalloc(&out, sizeof h)); CK(cudaMemset(out, 0, sizeof h));
    const u64 all = 256ull << 20; uint8_t *mem; CK(cudaMalloc(&mem, all)); CK(cudaMemset(mem, 0, all));
    cudaDriverEntryPointQueryResult found; void *fn = NULL; CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &fn, 12000, cudaEnableDefault, &found)); encode = (encode_fn *)fn; if (!encode) return 2;
    printf("name,unit,point,value\n");
    struct w { const char *s; int n, p; void (*k)(u64 *); } ws[] = {''')
print(',\n'.join('        {"%s", %d, %d, %s}'%(s,n,p,nm) for nm,s,n,p in issue))
print('    };\n    struct v { int n; void (*k)(u64 *, u32, u32); } vs[] = {'+', '.join('{%d, %s}'%(n,nm) for nm,n in beside)+'};')
print(r'''    const char *part = argc > 2 ? argv[2] : "wbc"; // which parts: products, boxes of tensors, clusters
    if (strchr(part, 'w')) for (const w &x : ws) {
        CK(cudaFuncSetAttribute((void *)x.k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
        x.k<<<1, 128, 65536>>>(out); get();
        say("wgmma.issue", "cycles", (double)h[0], "a=%s n=%d products=%d", x.s, x.n, x.p); say("wgmma.done", "cycles", (double)h[1], "a=%s n=%d products=%d", x.s, x.n, x.p);
    }
    if (strchr(part, 'w')) for (const v &x : vs) for (u32 warps : {0u, 4u, 8u, 16u}) {
        CK(cudaFuncSetAttribute((void *)x.k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
        u32 rounds = 512, loads = warps ? 400000 / warps / 8 : 0; double a, b;
        x.k<<<1, 128 + warps * 32, 65536>>>(out, rounds, loads); get(); a = h[0]; b = h[1];
        say("wgmma.beside", "cycles", a / rounds, "n=%d warps=%u", x.n, warps); if (warps) say("shared.beside", "cycles", b / loads, "n=%d warps=%u", x.n, warps);
    }
    CK(cudaFuncSetAttribute((void *)tile_load, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10)); CK(cudaFuncSetAttribute((void *)tile_store, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    if (strchr(part, 'b')) {
    struct bx { int rank; u32 row, rows; int swizzle; } bxs[] = {{1, 1024, 1, 0}, {2, 32, 64, 0}, {2, 64, 64, 2}, {2, 128, 8, 3}, {2, 128, 64, 0}, {2, 128, 64, 3}, {2, 128, 128, 3}, {2, 128, 256, 3}, {2, 256, 64, 0}, {2, 1024, 16, 0}, {3, 128, 64, 3}, {5, 128, 64, 3}};
    for (const bx &x : bxs) {
        u32 bytes = x.row * x.rows; int step = x.rank == 1 ? (int)x.row / 4 : (int)x.rows;
        for (int grid : {1, 132}) for (u32 depth : {1u, 2u, 4u, 8u}) for (int far = 0; far < 2; far++) {
            if (bytes * depth > 160 << 10 || (far && (depth == 2 || x.rank > 2))) continue;
            // rows of the tensor are 4 times as wide as those of a box, but for boxes of 1 KB; L2: the same boxes as just before
            u64 width = x.rank == 1 ? x.row : x.row * 4;
            CUtensorMap m = map_of(mem, x.rank, width, x.row, x.rows, x.swizzle, all); u32 boxes = 32;
            if ((u64)grid * boxes * x.rows * width > all / 2) boxes = 8;
            if (far) { CK(cudaMemset(mem + all / 2, 0, all / 2)); CK(cudaMemset(mem + all / 2, 1, all / 2)); }
            for (int r = far; r < 2; r++) tile_load<<<grid, 32, 200 << 10>>>(out, m, x.rank, bytes, step, 0, boxes, depth), get();
            const char *where = far ? "memory" : "l2";
            say("tile.first", "cycles", mean(grid, 4, 0), "rank=%d row=%u rows=%u swizzle=%d depth=%u blocks=%d from=%s", x.rank, x.row, x.rows, x.swizzle, depth, grid, where);
            if (depth == 1) say("tile.second", "cycles", mean(grid, 4, 1), "rank=%d row=%u rows=%u swizzle=%d depth=%u blocks=%d from=%s", x.rank, x.row, x.rows, x.swizzle, depth, grid, where);
            say("tile.each", "cycles", mean(grid, 4, 2) / boxes, "rank=%d row=%u rows=%u swizzle=%d depth=%u blocks=%d from=%s", x.rank, x.row, x.rows, x.swizzle, depth, grid, where);
        }
    }
    for (u32 size : {1u, 2u, 4u, 8u}) for (u32 rows : {64u, 128u}) for (int clusters : {1, 16}) {
        CUtensorMap m = map_of(mem, 2, 512, 128, rows / size, 3, all); u32 bytes = 128 * rows, boxes = 32;
        for (int r = 0; r < 2; r++) cl(tile_cast, (int)size, (int)size * (clusters == 16 ? 128 / (int)size : 1), 32, 200 << 10, out, m, bytes, (int)rows, boxes, 4u, size, bytes / size);
        say("cast.each", "cycles", mean((int)size * (clusters == 16 ? 128 / (int)size : 1), 4, 0) / boxes, "size=%u row=128 rows=%u depth=4 blocks=%d", size, rows, (int)size * (clusters == 16 ? 128 / (int)size : 1));
    }
    for (u32 red = 0; red < 2; red++) for (u32 rows : {8u, 64u, 128u}) for (int grid : {1, 132}) {
        CUtensorMap m = map_of(mem, 2, 512, 128, rows, 3, all);
        for (int r = 0; r < 2; r++) tile_store<<<grid, 32, 200 << 10>>>(out, m, 128 * rows, (int)rows, 32, red), get();
        say(red ? "tile.reduce" : "tile.store", "cycles", mean(grid, 4, 0) / 32, "row=128 rows=%u blocks=%d", rows, grid); say(red ? "tile.reduce_done" : "tile.store_done", "cycles", mean(grid, 4, 2), "row=128 rows=%u boxes=32 blocks=%d", rows, grid);
    }
    }
    if (!strchr(part, 'c')) return 0;
    for (u32 st = 0; st < 2; st++) for (int size : {2, 4, 8}) for (int threads : {128, 512, 1024}) for (u32 away : {0u, 1u}) for (int many = 0; many < 2; many++) {
        int blocks = many ? 128 : size;
        cl(far_copy, size, blocks, threads, 32768, out, away, (u32)size, 256u, st);
        say(st ? "far.store" : "far.load", "cycles", mean(blocks, 1, 0) / 256, "size=%d threads=%d away=%u blocks=%d", size, threads, away, blocks);
    }
    for (u32 how = 0; how < 2; how++) for (int size : {2, 8}) { cl(far_ping, size, size, 64, 0, out, 1u, 256u, how); say("far.ping", "cycles", (double)h[0], "size=%d by=%s", size, how ? "st.async" : "arrive"); }
    for (int size : {1, 2, 8, 16}) for (int threads : {32, 128, 512}) { cl(cluster_relaxed, size, size, threads, 0, out, 200u); say("cluster.relaxed", "cycles", (double)h[0], "blocks=%d threads=%d", size, threads); }
    maxreg<<<1, 384>>>(out); get(); say("setmaxnreg.dec", "cycles", (double)h[0], "warps=4"); say("setmaxnreg.inc", "cycles", (double)h[1], "warps=4");
    if (!host) return 0;
    cudaStream_t st; CK(cudaStreamCreate(&st)); CK(cudaFuncSetAttribute((void *)nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    for (int size : {1, 2, 4, 8, 16}) say("launch.cluster", "ns", launches(200, st, go_cluster, size), "size=%d blocks=1056 threads=128", size);
    for (int how : {0, 1, 2}) say("launch.dependent", "ns", launches(200, st, go_dependent, how), "how=%s", how == 0 ? "serial" : how == 1 ? "programmatic" : "early");
    return 0;
}''')
