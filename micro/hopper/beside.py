#!/usr/bin/env python3
"""Writes beside.cu: what products of groups of warps leave to the arithmetic of other warps, timed with the SM's clock.

usage: beside.py > beside.cu; nvcc -O1 -std=c++17 -gencode arch=compute_90a,code=sm_90a -o beside beside.cu; ./beside > beside.csv

Warps 0 to 3 multiply, 64 by N, A from shared memory (ss) or registers (rs), f16 or e4m3, for 4,000 cycles or more; 4 or 8 others do
1,920 instructions of a kind, eight of them independent of each other: cycles of each by themselves (OP.alone), with the products
(OP.beside), and of a product (OP.product). Those that take longer than the products go on alone. hardware/h200/hopper_beside.csv is
what it printed on an H200.
"""
OPS = {
    'ffma': 'asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[{k}]) : "f"(a), "f"(b));',
    'fadd': 'asm volatile("add.f32 %0, %0, %1;" : "+f"(x[{k}]) : "f"(a));',
    'fmax': 'asm volatile("max.f32 %0, %0, %1;" : "+f"(x[{k}]) : "f"(a));',
    'ex2': 'asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[{k}]));',
    'pack': 'asm volatile("{{.reg .b32 t; cvt.rn.f16x2.f32 t, %0, %1; mov.b32 %0, t;}}" : "+f"(x[{k}]) : "f"(a));',
    'shfl': 'asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+f"(x[{k}]));',
    'softmax': 'asm volatile("{{.reg .f32 t; fma.rn.f32 t, %0, %1, %2; ex2.approx.ftz.f32 %0, t;}}" : "+f"(x[{k}]) : "f"(a), "f"(b)); sum += x[{k}];',
    'sts': 'asm volatile("st.shared.f32 [%0], %1;" :: "r"(at), "f"(x[{k}]) : "memory");',
}
print('''#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
typedef unsigned long long u64;
typedef unsigned u32;
__device__ __forceinline__ u32 sa(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory"); return t; }
''')
P = []
for typ, k in (('f16', 16), ('e4m3', 32)):
    for n in (64, 128, 256):
        for src in ('ss', 'rs'):
            if typ == 'e4m3' and n != 128: continue
            name = 'mul_%s_%s_%d' % (typ, src, n); P.append((name, typ, src, n)); nd = n // 2
            d = '{' + ','.join('%%%d' % i for i in range(nd)) + '}'
            tr = ',1,1' + (',0' * (2 if src == 'ss' else 1) if typ == 'f16' else '')
            ops = '%%%d, %%%d' % (nd, nd + 1) if src == 'ss' else '{%%%d,%%%d,%%%d,%%%d}, %%%d' % tuple(nd + i for i in range(5))
            ins = '"l"(da), "l"(db)' if src == 'ss' else '"r"(a0), "r"(a0), "r"(a0), "r"(a0), "l"(db)'
            print('__device__ __forceinline__ void %s(u32 rounds, u64 da, u64 db, u32 a0, float *out) {' % name)
            print('    float d[%d];\n    for (int i = 0; i < %d; i++) d[i] = 0;\n    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");\n#pragma unroll 1' % (nd, nd))
            print('    for (u32 r = 0; r < rounds; r++) {')
            for j in range(2):
                print('        asm volatile("wgmma.mma_async.sync.aligned.m64n%dk%d.f32.%s.%s %s, %s, 1%s;" : %s : %s : "memory");' % (n, k, typ, typ, d, ops, tr, ','.join('"+f"(d[%d])' % i for i in range(nd)), ins))
            print('    }\n    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");\n    float x = 0;\n    for (int i = 0; i < %d; i++) x += d[i];\n    if (x == 12345.f) *out = x;\n}' % nd)
for o, text in OPS.items():
    print('__device__ __forceinline__ void do_%s(u32 rounds, float a, float b, u32 at, float *out) {\n    float x[8], sum = 0;\n    for (int i = 0; i < 8; i++) x[i] = a * i;\n#pragma unroll 1\n    for (u32 r = 0; r < rounds; r++) {' % o)
    for i in range(4):
        for k in range(8): print('        ' + text.format(k=k))
    print('    }\n    for (int i = 0; i < 8; i++) sum += x[i];\n    if (sum == 12345.f) *out = sum;\n}')
print('''template <int M, int O> __global__ void __launch_bounds__(384) beside(u64 *out, u32 products, u32 rounds, float a, float b) {
    extern __shared__ __align__(1024) uint8_t s[];
    for (u32 i = threadIdx.x; i < 65536 / 4; i += blockDim.x) ((u32 *)s)[i] = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    float *sink = (float *)(out + 2);
    u64 t0 = now();
    if (threadIdx.x < 128) {
        u64 base = 1ull << 62 | 64ull << 32 | 1ull << 16, da = base | sa(s) >> 4, db = base | (sa(s) + 32768) >> 4;
        u32 a0 = (u32)(a * 0);
''')
for i, (name, *_r) in enumerate(P): print('        if (M == %d) %s(products, da, db, a0, sink);' % (i, name))
print('        u64 t1 = now();\n        if (threadIdx.x == 0) out[0] = t1 - t0;\n    } else {')
for i, o in enumerate(OPS): print('        if (O == %d) do_%s(rounds, a, b, sa(s) + 49152 + threadIdx.x * 4, sink);' % (i, o))
print('        u64 t1 = now();\n        if (threadIdx.x == 128) out[1] = t1 - t0;\n    }\n}')
print('''template <int M, int O> static void go(const char *type, const char *src, int n, const char *op, u64 *out) {
    u64 h[2][2];
    u32 rounds = 60;
    cudaFuncSetAttribute(beside<M, O>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
    for (int warps = 4; warps <= 8; warps += 4) {
        for (int with = 0; with < 2; with++) {
            u32 products = with ? 8000 / n : 0;
            for (int k = 0; k < 2; k++) beside<M, O><<<1, 128 + 32 * warps, 65536>>>(out, products, rounds, 0.5f, 0.25f);
            cudaMemcpy(h[with], out, 16, cudaMemcpyDeviceToHost);
        }
        int e = cudaGetLastError();
        if (e) { printf("error %d\\n", e); return; }
        double each[] = {h[0][1] / (rounds * 32.), h[1][1] / (rounds * 32.), h[1][0] / (2. * (8000 / n))};
        const char *names[] = {"alone", "beside", "product"};
        for (int k = 0; k < 3; k++) printf("%s.%s,cycles,type=%s a=%s n=%d warps=%d,%.3f\\n", op, names[k], type, src, n, warps, each[k]);
        fflush(stdout);
    }
}
int main() {
    u64 *out;
    cudaMalloc(&out, 64);
    printf("name,unit,point,value\\n");''')
for i, (name, typ, src, n) in enumerate(P):
    for j, o in enumerate(OPS): print('    go<%d, %d>("%s", "%s", %d, "%s", out);' % (i, j, typ, src, n, o))
print('    return 0;\n}')
