#!/usr/bin/env python3
"""Writes hopper.cu: products of groups of warps, bulk copies, mbarriers and clusters, timed with the SM's clock.

usage: gen.py > hopper.cu; nvcc -O1 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o hopper hopper.cu; ./hopper > hopper.csv

A program of its own, because sm_90a and launch attributes are needed. hardware/h200/hopper_micro.csv is what it printed on an
H200; docs/how/hopper.md says what was read from it. bulk.issue has a 64-bit remainder in front of each copy, some 280 cycles.
"""
types={'f16':('f32.f16.f16',16,',1,1,0,0',',1,1,0','f'),'bf16':('f32.bf16.bf16',16,',1,1,0,0',',1,1,0','f'),'tf32':('f32.tf32.tf32',8,',1,1',',1,1','f'),'e4m3':('f32.e4m3.e4m3',32,',1,1',',1,1','f'),'s8':('s32.s8.s8',32,'','','r'),'f16h':('f16.f16.f16',16,',1,1,0,0',',1,1,0','h')}
print('''// Products of groups of warps, bulk copies, mbarriers and clusters, timed with the SM's clock.
#include <cstdint>
typedef unsigned long long u64;
typedef unsigned u32;
__device__ __forceinline__ u32 sa(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory"); return t; }
__device__ __forceinline__ void wait_for(u32 bar, u32 parity) { asm volatile("{.reg .pred p;\\nL%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\\n@p bra D%=;\\nbra L%=;\\nD%=:}" ::"r"(bar), "r"(parity) : "memory"); }
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
''')
names=[]
for t,(inst,k,tail,rtail,c) in types.items():
    ns=[8,16,32,64,96,128,192,256] if t in('f16','e4m3') else [8,64,128,256]
    for n in ns:
        for src in ('ss','rs') if t in('f16','e4m3','tf32') else ('ss',):
            nd=n//4 if c=='h' else n//2
            ty={'f':'float','r':'u32','h':'u32'}[c]; con={'f':'+f','r':'+r','h':'+r'}[c]
            d='{'+','.join('%%%d'%i for i in range(nd))+'}'
            if src=='ss': ops='%%%d, %%%d'%(nd,nd+1); ins='"l"(da), "l"(db)'
            else: ops='{%%%d,%%%d,%%%d,%%%d}, %%%d'%(nd,nd+1,nd+2,nd+3,nd+4); ins='"r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(db)'
            name='wg_%s_%s_%d'%(t,src,n); names.append((name,t,src,n))
            asm='asm volatile("wgmma.mma_async.sync.aligned.m64n%dk%d.%s %s, %s, 1%s;" : %s : %s : "memory");'%(n,k,inst,d,ops,tail if src=='ss' else rtail,','.join('"%s"(d[%d])'%(con,i) for i in range(nd)),ins)
            print('extern "C" __global__ void %s(u64 *out, u32 rounds) {'%name)
            print('    extern __shared__ __align__(1024) uint8_t s[];\n    %s d[%d];\n    for (int i = 0; i < %d; i++) d[i] = 0;'%(ty,nd,nd))
            print('    for (u32 i = threadIdx.x; i < 65536 / 4; i += blockDim.x) ((u32 *)s)[i] = 0;')
            print('    asm volatile("fence.proxy.async;" ::: "memory");\n    __syncthreads();')
            print('    u64 base = 1ull << 62 | 64ull << 32 | 1ull << 16, da = base | (sa(s) + threadIdx.x / 128 * 8192) >> 4, db = base | (sa(s) + 32768) >> 4;\n    u32 a0 = threadIdx.x & 0, a1 = a0, a2 = a0, a3 = a0;')
            print('    u64 t0 = now();\n    FENCE;\n#pragma unroll 1\n    for (u32 r = 0; r < rounds; r++) { %s }\n    COMMIT; WAIT;\n    u64 t1 = now();'%asm)
            print('    %s x = d[0];\n    for (int i = 1; i < %d; i++) x += d[i];\n    if (x != (%s)12345) { if (threadIdx.x %% 128 == 0) out[(blockIdx.x * 4 + threadIdx.x / 128) * 2] = t0, out[(blockIdx.x * 4 + threadIdx.x / 128) * 2 + 1] = t1; }\n    (void)a0;\n}'%(ty,nd,ty))
print(r'''
// Bulk loads: `n` copies of `bytes` each are issued, then all are waited for.
extern "C" __global__ void bulk_load(u64 *out, const uint8_t *in, u32 bytes, u32 n, u32 rounds, u64 span) {
    extern __shared__ __align__(1024) uint8_t s[];
    __shared__ u64 bar;
    u32 b = sa(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.proxy.async;" ::"r"(b) : "memory");
    __syncthreads();
    if (threadIdx.x) return;
    u64 t[5];
    for (u32 r = 0; r < rounds; r++) {
        u64 t0 = now();
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes * n) : "memory");
        for (u32 i = 0; i < n; i++)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(sa(s) + i * bytes), "l"(in + ((u64)blockIdx.x * n + i) * bytes % span), "r"(bytes), "r"(b) : "memory");
        u64 t1 = now();
        wait_for(b, r & 1);
        t[0] = t0, t[1] = t1, t[2] = now();
    }
    out[blockIdx.x * 3] = t[1] - t[0]; out[blockIdx.x * 3 + 1] = t[2] - t[0];
}
// A load by a thread, for comparison.
extern "C" __global__ void plain_load(u64 *out, const u32 *in) {
    u32 v; u64 t0 = 0, t1 = 0;
    for (int r = 0; r < 3; r++) { t0 = now(); asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(in)); if (v == 77) out[9] = v; t1 = now(); }
    out[0] = t1 - t0;
}
// Bulk stores and reductions: from issue until read, and until done.
extern "C" __global__ void bulk_store(u64 *out, uint8_t *to, u32 bytes, u32 n, u32 red) {
    extern __shared__ __align__(1024) uint8_t s[];
    if (threadIdx.x) return;
    u64 a = 0, b = 0, c = 0;
    for (int r = 0; r < 3; r++) {
        a = now();
        for (u32 i = 0; i < n; i++)
            if (red) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to + ((u64)blockIdx.x * n + i) * bytes), "r"(sa(s) + i * bytes), "r"(bytes) : "memory");
            else asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + ((u64)blockIdx.x * n + i) * bytes), "r"(sa(s) + i * bytes), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
        b = now();
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        c = now();
    }
    out[blockIdx.x * 3] = b - a; out[blockIdx.x * 3 + 1] = c - a;
}
// Clusters: the barrier; a chain of loads from another block's shared memory; arrivals to and fro.
__device__ u32 rank() { u32 r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ u32 map_to(u32 a, u32 r) { u32 v; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(r)); return v; }
__device__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
extern "C" __global__ void cluster_barrier(u64 *out, u32 rounds) {
    meet();
    u64 t0 = now();
#pragma unroll 1
    for (u32 r = 0; r < rounds; r++) meet();
    u64 t1 = now();
    if (threadIdx.x == 0) out[blockIdx.x * 3] = (t1 - t0) / rounds;
}
extern "C" __global__ void remote_load(u64 *out, u32 to, u32 rounds) {
    __shared__ u32 s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = map_to(sa(&s[(threadIdx.x + 1) % 64]), to);
    meet();
    if (rank() == 0 && threadIdx.x == 0) {
        u32 at = map_to(sa(s), to), at2;
        u64 t0 = now();
#pragma unroll 1
        for (u32 r = 0; r < rounds; r++) { asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(at2) : "r"(at) : "memory"); at = at2; }
        u64 t1 = now();
        out[0] = (t1 - t0) / rounds; out[2] = at;
    }
    meet();
}
extern "C" __global__ void remote_copy(u64 *out, u32 to, u32 rounds) { // all threads read 16 bytes each
    extern __shared__ __align__(16) uint8_t s[];
    meet();
    u32 at = map_to(sa(s), to) + threadIdx.x * 16, a, b, c, d, x = 0;
    u64 t0 = now();
#pragma unroll 4
    for (u32 r = 0; r < rounds; r++) { asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory"); x += a + b + c + d; }
    u64 t1 = now();
    if (x == 1) out[9] = x;
    meet();
    if (threadIdx.x == 0) out[blockIdx.x * 3] = (t1 - t0) / rounds;
}
extern "C" __global__ void ping(u64 *out, u32 to, u32 rounds) {
    __shared__ u64 bar;
    u32 b = sa(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(b) : "memory");
    meet();
    u32 me = rank(), other = map_to(b, me == 0 ? to : 0);
    if (threadIdx.x == 0 && (me == 0 || me == to)) {
        u64 t0 = now();
#pragma unroll 1
        for (u32 r = 0; r < rounds; r++) {
            if (me) wait_for(b, r & 1);
            asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
            if (!me) wait_for(b, r & 1);
        }
        u64 t1 = now();
        if (!me) out[0] = (t1 - t0) / rounds;
    }
    meet();
}
#include <cuda_runtime.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
static int repeats = 4; static u64 *out; static u64 h[132 * 16];
static void get() { CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost)); }
static void say(const char *name, const char *unit, double v, const char *fmt, ...) { va_list ap; va_start(ap, fmt); char b[200]; vsnprintf(b, 200, fmt, ap); va_end(ap); printf("%s,%s,%s,%.3f\n", name, unit, b, v); }
typedef void wgk(u64 *, u32);
static u64 run_wg(wgk *k, int groups, u32 rounds) { u64 best = ~0ull; for (int r = 0; r < repeats; r++) { k<<<1, 128 * groups, 65536>>>(out, rounds); get(); u64 a = ~0ull, z = 0; for (int g = 0; g < groups; g++) { if (h[g * 2] < a) a = h[g * 2]; if (h[g * 2 + 1] > z) z = h[g * 2 + 1]; } if (z - a < best) best = z - a; } return best; }
template <typename... A> static void cl(void (*k)(A...), int size, int blocks, int threads, int smem, A... a) {
    cudaLaunchConfig_t c = {}; c.gridDim = blocks; c.blockDim = threads; c.dynamicSmemBytes = smem; cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = size; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1; c.attrs = at; c.numAttrs = 1;
    CK(cudaFuncSetAttribute((void *)k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    CK(cudaLaunchKernelEx(&c, k, a...)); get();
}
int main(int argc, char **argv) {
    if (argc > 1) repeats = 1; // an argument: once, for a simulator, which repeats itself
    const char *part = argc > 2 ? argv[2] : "wbc"; // which parts: products, bulk copies, clusters
    CK(cudaMalloc(&out, sizeof h)); CK(cudaMemset(out, 0, sizeof h));
    uint8_t *mem; CK(cudaMalloc(&mem, 1ull << 30)); CK(cudaMemset(mem, 0, 1ull << 30));
    printf("name,unit,point,value\n");
    struct w { const char *t, *s; int n; wgk *k; } ws[] = {''')
print(',\n'.join('        {"%s", "%s", %d, %s}'%(t,s,n,nm) for nm,t,s,n in names))
print(r'''    };
    if (strchr(part, 'w')) for (const w &x : ws) {
        CK(cudaFuncSetAttribute((void *)x.k, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
        u64 one = run_wg(x.k, 1, 1), two = run_wg(x.k, 1, 2), five = run_wg(x.k, 1, 512), ten = run_wg(x.k, 1, 1024);
        say("wgmma.first", "cycles", (double)one, "type=%s a=%s n=%d groups=1", x.t, x.s, x.n);
        say("wgmma.second", "cycles", (double)(two - one), "type=%s a=%s n=%d groups=1", x.t, x.s, x.n);
        say("wgmma.each", "cycles", (ten - five) / 512.0, "type=%s a=%s n=%d groups=1", x.t, x.s, x.n);
        for (int g = 2; g <= 3; g++) { u64 a = run_wg(x.k, g, 512), b = run_wg(x.k, g, 1024); say("wgmma.each", "cycles", (b - a) / 512.0, "type=%s a=%s n=%d groups=%d", x.t, x.s, x.n, g); }
    }
    CK(cudaFuncSetAttribute(bulk_load, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10)); CK(cudaFuncSetAttribute(bulk_store, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    if (strchr(part, 'b')) {
    plain_load<<<1, 1>>>(out, (u32 *)mem); get(); say("load.l2", "cycles", (double)h[0], "bytes=4");
    for (u32 bytes : {16u, 128u, 512u, 1024u, 2048u, 4096u, 8192u, 16384u, 32768u}) for (u32 n : {1u, 2u, 4u, 8u}) {
        if (bytes * n > 128 << 10) continue;
        for (int grid : {1, 132}) {
            bulk_load<<<grid, 32, 200 << 10>>>(out, mem, bytes, n, 5, 16u << 20); get();
            double i = 0, d = 0; for (int b = 0; b < grid; b++) i += h[b * 3], d += h[b * 3 + 1];
            say("bulk.issue", "cycles", i / grid, "bytes=%u copies=%u blocks=%d", bytes, n, grid); say("bulk.load", "cycles", d / grid, "bytes=%u copies=%u blocks=%d", bytes, n, grid);
        }
    }
    for (u32 bytes : {16u, 1024u, 8192u}) { bulk_load<<<1, 32, 200 << 10>>>(out, mem + (512u << 20) + bytes * 4096, bytes, 1, 1, 1ull << 28); get(); say("bulk.load_memory", "cycles", (double)h[1], "bytes=%u", bytes); }
    for (u32 red = 0; red < 2; red++) for (u32 bytes : {16u, 1024u, 4096u, 16384u}) for (u32 n : {1u, 4u}) for (int grid : {1, 132}) {
        bulk_store<<<grid, 32, 200 << 10>>>(out, mem, bytes, n, red); get(); double i = 0, d = 0; for (int b = 0; b < grid; b++) i += h[b * 3], d += h[b * 3 + 1];
        say(red ? "bulk.reduce_read" : "bulk.store_read", "cycles", i / grid, "bytes=%u copies=%u blocks=%d", bytes, n, grid); say(red ? "bulk.reduce" : "bulk.store", "cycles", d / grid, "bytes=%u copies=%u blocks=%d", bytes, n, grid);
    }
    }
    if (!strchr(part, 'c')) return 0;
    for (int size : {1, 2, 4, 8, 16}) for (int threads : {32, 128, 512}) { cl(cluster_barrier, size, size, threads, 0, out, 200u); say("cluster.barrier", "cycles", (double)h[0], "blocks=%d threads=%d", size, threads); }
    for (int size : {2, 8, 16}) for (u32 to = 0; to < (u32)size; to += size > 2 ? 3 : 1) { cl(remote_load, size, size, 64, 0, out, to, 256u); say("cluster.load", "cycles", (double)h[0], "blocks=%d rank=%u", size, to); if (to) { cl(ping, size, size, 64, 0, out, to, 256u); say("cluster.ping", "cycles", (double)h[0], "blocks=%d rank=%u", size, to); } }
    for (int size : {2, 8}) for (int threads : {32, 128, 512, 1024}) for (u32 to = 0; to < 2; to++) { cl(remote_copy, size, size, threads, 16384, out, to, 256u); say("cluster.copy", "cycles", (double)h[3], "blocks=%d rank=%u threads=%d", size, to, threads); }
    return 0;
}''')
