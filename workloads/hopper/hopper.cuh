// SPDX-License-Identifier: Apache-2.0
// What the kernels of this folder share: mbarriers, tensor copies, products of groups of warps and clusters, a
// function for each PTX instruction. Names of the manual are in the assembly.
#pragma once
#include <cstdint>

struct __align__(64) tensor_map { uint8_t bytes[128]; };

#define DEVICE static __device__ __forceinline__

DEVICE uint32_t shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

// ---- mbarriers
DEVICE void bar_init(uint32_t bar, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}
DEVICE void bar_expect(uint32_t bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
DEVICE void bar_arrive(uint32_t bar) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar) : "memory");
}
DEVICE void bar_wait(uint32_t bar, uint32_t parity) {
    uint32_t done;
    do
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(bar), "r"(parity)
                     : "memory");
    while (!done);
}
DEVICE void fence_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
DEVICE void fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void fence_bar_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Barriers 1 to 15 of a block, for some of its warps.
DEVICE void named_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
DEVICE void named_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---- tensor memory copies
DEVICE void load_tile(uint32_t to, const void *map, uint32_t bar, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y) : "memory");
}
DEVICE void load_tile3(uint32_t to, const void *map, uint32_t bar, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z) : "memory");
}
DEVICE void load_tile_to(uint32_t to, const void *map, uint32_t bar, int x, int y, uint16_t blocks) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
                 ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "h"(blocks) : "memory");
}
// A column of an im2col map: pixels from (w, h, n) on, moved by (right, down).
DEVICE void load_pixels(uint32_t to, const void *map, uint32_t bar, int c, int w, int h, int n, int right, int down) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
                 ::"r"(to), "l"(map), "r"(bar), "r"(c), "r"(w), "r"(h), "r"(n), "h"((uint16_t)right), "h"((uint16_t)down) : "memory");
}
DEVICE void load_bytes(uint32_t to, const void *from, uint32_t bytes, uint32_t bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
}
DEVICE void store_tile(const void *map, uint32_t from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(from), "r"(x), "r"(y) : "memory");
}
DEVICE void store_tile3(const void *map, uint32_t from, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(from), "r"(x), "r"(y), "r"(z) : "memory");
}
DEVICE void add_tile(const void *map, uint32_t from, int x, int y) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(from), "r"(x), "r"(y) : "memory");
}
DEVICE void add_floats(float *to, uint32_t from, uint32_t bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 ::"l"(to), "r"(from), "r"(bytes) : "memory");
}
DEVICE void store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> DEVICE void store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
template <int N> DEVICE void store_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
DEVICE void prefetch_map(const void *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }

// ---- clusters
DEVICE uint32_t cluster_rank() {
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
DEVICE uint32_t cluster_size() {
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r));
    return r;
}
DEVICE uint32_t map_to(uint32_t at, uint32_t rank) {
    uint32_t r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(at), "r"(rank));
    return r;
}
DEVICE void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
DEVICE void bar_arrive_at(uint32_t bar, uint32_t rank) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map_to(bar, rank)) : "memory");
}

// ---- products of groups of warps
// The descriptor of a matrix in shared memory, rows of 128 bytes swizzled as tensor copies with swizzle 128 leave them.
DEVICE uint64_t matrix(uint32_t at) { return 1ull << 62 | 64ull << 32 | 1ull << 16 | (at & 0x3ffff) >> 4; }
DEVICE void mma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> DEVICE void mma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// Keeps the compiler from moving uses of an accumulator over a wait.
template <int N> DEVICE void mma_hold(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(d[i])::"memory");
}
template <int N> DEVICE void registers_up() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> DEVICE void registers_down() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

#define REGS_32 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define REGS_64 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, " \
    "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, " \
    "%56, %57, %58, %59, %60, %61, %62, %63}"
#define D_4(c, i) "+" c(d[i]), "+" c(d[(i) + 1]), "+" c(d[(i) + 2]), "+" c(d[(i) + 3])
#define D_16(c, i) D_4(c, i), D_4(c, (i) + 4), D_4(c, (i) + 8), D_4(c, (i) + 12)
#define D_32(c) D_16(c, 0), D_16(c, 16)
#define D_64(c) D_32(c), D_16(c, 32), D_16(c, 48)

// d = a b, or with `add` d + a b; 64 rows, 64 or 128 columns, 32 bytes of a row at a time; both from shared memory.
#define MMA_SS(name, shape, type, c, regs, a_at, b_at, add_at, flags) \
    DEVICE void name(type (&d)[regs], uint64_t a, uint64_t b, int add) { \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " add_at ", 0;\nwgmma.mma_async.sync.aligned." shape " " REGS_##regs ", " a_at ", " b_at ", p" flags ";\n}" \
                     : D_##regs(c) : "l"(a), "l"(b), "r"(add) : "memory"); \
    }
MMA_SS(mma_bf16_64, "m64n64k16.f32.bf16.bf16", float, "f", 32, "%32", "%33", "%34", ", 1, 1, 0, 0")
MMA_SS(mma_bf16_128, "m64n128k16.f32.bf16.bf16", float, "f", 64, "%64", "%65", "%66", ", 1, 1, 0, 0")
MMA_SS(mma_f16_64, "m64n64k16.f32.f16.f16", float, "f", 32, "%32", "%33", "%34", ", 1, 1, 0, 0")
MMA_SS(mma_f16_128, "m64n128k16.f32.f16.f16", float, "f", 64, "%64", "%65", "%66", ", 1, 1, 0, 0")
MMA_SS(mma_f16_64_turned, "m64n64k16.f32.f16.f16", float, "f", 32, "%32", "%33", "%34", ", 1, 1, 1, 1") // both by columns
MMA_SS(mma_tf32_128, "m64n128k8.f32.tf32.tf32", float, "f", 64, "%64", "%65", "%66", ", 1, 1")
MMA_SS(mma_e4m3_128, "m64n128k32.f32.e4m3.e4m3", float, "f", 64, "%64", "%65", "%66", ", 1, 1")
MMA_SS(mma_s8_128, "m64n128k32.s32.s8.s8", int, "r", 64, "%64", "%65", "%66", "")

// d += a b with a in registers and b by columns, as rows of its 64 columns lie in memory.
DEVICE void mma_f16_64_registers(float (&d)[32], const uint32_t *a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " REGS_32 ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : D_32("f")
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
                 : "memory");
}
