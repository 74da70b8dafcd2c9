// Asynchronous units of sm_90a: products of groups of warps, bulk copies, mbarriers and clusters, timed with the SM's clock.
//
//   group_N      products of 64 by N by 16, f16, both factors from shared memory, `rounds` times four of them and one, twice; each group of
//                four warps by itself. Of a group: when it began, when it had issued them all, when all were done
//   beside_OP    a group multiplies (64 by 128) while eight other warps do 32 * `rounds` of an operation each; without `products` they are alone
//   bulk_load    `copies` of `bytes` each, from clock to clock, the third time
//   tile_load    two boxes by a tensor map, two by another
//   bulk_store   the same as a bulk_load's copies, the other way, until shared memory has been read
//   cluster_*    the barrier without a fence; a chain of loads from block `to`; arrivals to and fro; loads, stores of 16 bytes and additions of
//                a word by all threads in the next block's shared memory: cycles for each of a thread
//   late_up      four warps give registers up after `delay`, eight ask for them: when each was done
//
#include "micro.h"

struct __align__(64) tensor_map { char bytes[128]; };
#define ASYNC(threads) extern "C" __global__ void __launch_bounds__(threads)
__device__ __forceinline__ u32 shared_at(const void *p) { return (u32)__cvta_generic_to_shared(p); }

// ---- products of groups of warps
// Sums of a product of n columns, as operands and by number, and the numbers of the two factors behind them.
#define SUMS4(i)   "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS16(i)  SUMS4(i), SUMS4(i + 4), SUMS4(i + 8), SUMS4(i + 12)
#define SUMS_8     SUMS4(0)
#define SUMS_16    SUMS4(0), SUMS4(4)
#define SUMS_32    SUMS16(0)
#define SUMS_64    SUMS16(0), SUMS16(16)
#define SUMS_128   SUMS_64, SUMS16(32), SUMS16(48)
#define SUMS_256   SUMS_128, SUMS16(64), SUMS16(80), SUMS16(96), SUMS16(112)
#define TEN(t)     "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9"
#define LIST_8     "%0,%1,%2,%3"
#define LIST_16    LIST_8 ",%4,%5,%6,%7"
#define LIST_32    LIST_16 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define LIST_64    LIST_32 ",%16,%17,%18,%19," TEN("2") ",%30,%31"
#define LIST_128   LIST_64 ",%32,%33,%34,%35,%36,%37,%38,%39," TEN("4") "," TEN("5") ",%60,%61,%62,%63"
#define LIST_256                                                                                                                        \
    LIST_128 ",%64,%65,%66,%67,%68,%69," TEN("7") "," TEN("8") "," TEN("9") "," TEN("10") "," TEN("11") ",%120,%121,%122,%123,%124,%125,%126,%127"
#define BOTH_8     "%4,%5"
#define BOTH_16    "%8,%9"
#define BOTH_32    "%16,%17"
#define BOTH_64    "%32,%33"
#define BOTH_128   "%64,%65"
#define BOTH_256   "%128,%129"
// Of the matrices in shared memory, rows of 128 bytes, swizzled: the second group has factors of its own.
__device__ __forceinline__ u64 matrix(u32 at) { return 1ull << 62 | 64ull << 32 | 1ull << 16 | (at & 0x3ffff) >> 4; }
#define PRODUCT(n) "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" LIST_##n "}, " BOTH_##n ", 1,1,1,0,0;\n\t"
#define MULTIPLY(n, text) asm volatile("wgmma.fence.sync.aligned;\n\t" text : SUMS_##n : "l"(da), "l"(db) : "memory")
#define PRODUCTS(n, begun, issued, done, rounds, at, to)                                                                                \
    {                                                                                                                                   \
        u64 da = matrix(at), db = matrix(to);                                                                                           \
        float d[n / 2];                                                                                                                 \
        for (int i = 0; i < n / 2; i++) d[i] = 0;                                                                                       \
        for (int i = 0; i < n / 2; i++) asm volatile("" : "+f"(d[i])::"memory"); /* zeroed in front of the clock */                     \
        begun = now();                                                                                                                  \
        _Pragma("unroll 1") for (u32 r = 0; r < rounds; r++) MULTIPLY(n, R4(PRODUCT(n)));                                               \
        MULTIPLY(n, PRODUCT(n)); /* with the commit: behind a loop it would be a product of its own */                                 \
        issued = now();                                                                                                                 \
        asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");                              \
        for (int i = 0; i < n / 2; i++) asm volatile("" : "+f"(d[i])::"memory"); /* sums are used behind the wait */                    \
        done = now();                                                                                                                   \
        for (int i = 0; i < n / 2; i++) first += d[i];                                                                                  \
    }
__device__ __forceinline__ void zero(char *s, u32 bytes) {
    for (u32 i = threadIdx.x * 4; i < bytes; i += blockDim.x * 4) *(u32 *)(s + i) = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
}
#define GROUP(n)                                                                                                                        \
    ASYNC(256) group_##n(u64 *out, u32 rounds) {                                                                                        \
        extern __shared__ __align__(1024) char s[];                                                                                     \
        u64 t0, t1, t2;                                                                                                                 \
        float first = 0;                                                                                                                \
        u32 group = threadIdx.x / 128;                                                                                                  \
        zero(s, 65536);                                                                                                                 \
        _Pragma("unroll 1") for (int k = 0; k < 2; k++) /* code and constants are there the second time */                              \
            PRODUCTS(n, t0, t1, t2, rounds, shared_at(s) + group * 8192, shared_at(s) + 32768)                                          \
        if (threadIdx.x % 128 == 0 && first != 12345) out[group * 3] = t0, out[group * 3 + 1] = t1, out[group * 3 + 2] = t2;            \
    }
GROUP(8)
GROUP(16)
GROUP(32)
GROUP(64)
GROUP(128)
GROUP(256)

#define EIGHT(op)                                                                                                                       \
    op " %0,%0,%8;\n\t" op " %1,%1,%8;\n\t" op " %2,%2,%8;\n\t" op " %3,%3,%8;\n\t" op " %4,%4,%8;\n\t" op " %5,%5,%8;\n\t" op          \
       " %6,%6,%8;\n\t" op " %7,%7,%8;\n\t"
#define EIGHT_OF_ONE(op)                                                                                                                \
    op " %0,%0;\n\t" op " %1,%1;\n\t" op " %2,%2;\n\t" op " %3,%3;\n\t" op " %4,%4;\n\t" op " %5,%5;\n\t" op " %6,%6;\n\t" op " %7,%7;\n\t"
#define BESIDE(name, text)                                                                                                              \
    ASYNC(384) beside_##name(u64 *out, u32 products, u32 rounds, float a) {                                                             \
        extern __shared__ __align__(1024) char s[];                                                                                     \
        u64 t0 = 0, t1 = 0, t2 = 0;                                                                                                            \
        zero(s, 65536);                                                                                                                 \
        if (threadIdx.x < 128) {                                                                                                        \
            float first = 0;                                                                                                            \
            if (products) PRODUCTS(128, t0, t1, t2, products, shared_at(s), shared_at(s) + 32768)                                       \
            if (first == 12345) out[30] = t0 + t1 + t2;                                                                                           \
            return;                                                                                                                     \
        }                                                                                                                               \
        float x[8];                                                                                                                     \
        for (int i = 0; i < 8; i++) x[i] = a * i;                                                                                       \
        t0 = now();                                                                                                                     \
        _Pragma("unroll 1") for (u32 r = 0; r < rounds; r++) asm volatile(R4(text)                                                      \
                                                                          : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), \
                                                                            "+f"(x[5]), "+f"(x[6]), "+f"(x[7])                          \
                                                                          : "f"(a));                                                    \
        float sum = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];                                                              \
        if (sum == 12345) out[31] = t0;                                                                                                 \
        t1 = now();                                                                                                                     \
        if (threadIdx.x % 32 == 0) out[threadIdx.x / 32 * 2] = t0, out[threadIdx.x / 32 * 2 + 1] = t1;                                  \
    }
BESIDE(max, EIGHT("max.f32"))
BESIDE(ex2, EIGHT_OF_ONE("ex2.approx.ftz.f32"))

// ---- bulk copies
__device__ __forceinline__ void bar_init(u32 bar, u32 arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(bar), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void bar_expect(u32 bar, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ __forceinline__ void bar_wait(u32 bar, u32 parity) {
    asm volatile("{\n\t.reg .pred p;\n\tTRY:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@p bra DONE;\n\tbra TRY;\n\tDONE:\n\t}" ::"r"(
                     bar),
                 "r"(parity)
                 : "memory");
}
ASYNC(32) bulk_load(u64 *out, const char *in, u32 bytes, u32 copies, u32 place) {
    extern __shared__ __align__(1024) char s[];
    __shared__ u64 bar;
    u32 b = shared_at(&bar), to = shared_at(s);
    if (threadIdx.x) return;
    bar_init(b, 1);
    const char *from = in + (u64)place * bytes + (u64)blockIdx.x * copies * bytes;
    u64 t0 = 0, t1 = 0;
#pragma unroll 1
    for (u32 k = 0; k < 3; k++) {
        t0 = now();
        bar_expect(b, bytes * copies);
#pragma unroll 1
        for (u32 i = 0; i < copies; i++)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to + i * bytes),
                         "l"(from + i * bytes), "r"(bytes), "r"(b)
                         : "memory");
        bar_wait(b, k & 1);
        t1 = now();
    }
    out[blockIdx.x] = t1 - t0;
}
__device__ __forceinline__ u64 tile(const tensor_map *map, u32 to, u32 bar, u32 parity) {
    u64 t0 = now();
    bar_expect(bar, 1024);
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(0)
                 : "memory");
    bar_wait(bar, parity);
    return now() - t0;
}
ASYNC(32) tile_load(u64 *out, const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b) {
    __shared__ __align__(1024) char s[1024];
    __shared__ u64 bar;
    u32 at = shared_at(&bar), to = shared_at(s);
    if (threadIdx.x) return;
    bar_init(at, 1);
#pragma unroll 1
    for (u32 k = 0; k < 2; k++) {
        out[2 * k] = tile(k ? &b : &a, to, at, 0);
        out[2 * k + 1] = tile(k ? &b : &a, to, at, 1);
    }
}
ASYNC(32) bulk_store(u64 *out, char *in, u32 bytes) {
    extern __shared__ __align__(1024) char s[];
    if (threadIdx.x) return;
    u64 t0 = 0, t1 = 0;
#pragma unroll 1
    for (u32 k = 0; k < 3; k++) {
        t0 = now();
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\tcp.async.bulk.commit_group;\n\t"
                     "cp.async.bulk.wait_group.read 0;" ::"l"(in + (u64)blockIdx.x * bytes), "r"(shared_at(s)), "r"(bytes)
                     : "memory");
        t1 = now();
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    out[blockIdx.x] = t1 - t0;
}

// ---- clusters
__device__ __forceinline__ u32 rank_of() {
    u32 r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
__device__ __forceinline__ u32 blocks_of() {
    u32 r;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r));
    return r;
}
__device__ __forceinline__ u32 map_to(u32 at, u32 rank) {
    u32 r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(at), "r"(rank));
    return r;
}
__device__ __forceinline__ void meet() { asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"); }
// The cycles of one of `rounds` as the difference of a long piece and a third of it: what surrounds it drops out.
#define ROUNDS(...)                                                                                                                     \
    u64 t0 = now();                                                                                                                     \
    _Pragma("unroll 1") for (u32 r = 0; r < rounds; r++) { __VA_ARGS__; }                                                                      \
    u64 t1 = now();                                                                                                                     \
    _Pragma("unroll 1") for (u32 r = 0; r < 3 * rounds; r++) { __VA_ARGS__; }                                                                  \
    u64 t2 = now();
ASYNC(1024) cluster_relaxed(u64 *out, u32 rounds) {
    meet();
    ROUNDS(asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory"))
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = t2 - t1 - (t1 - t0);
}
ASYNC(64) cluster_chain(u64 *out, u32 to, u32 rounds) {
    __shared__ u32 s[64];
    s[threadIdx.x] = map_to(shared_at(&s[(threadIdx.x + 1) % 64]), to);
    meet();
    if (rank_of() == 0 && threadIdx.x == 0) {
        u32 at = map_to(shared_at(s), to);
        ROUNDS(asm volatile("ld.shared::cluster.u32 %0, [%0];" : "+r"(at)::"memory"))
        out[0] = t2 - t1 - (t1 - t0), out[1] = at;
    }
    meet();
}
ASYNC(64) cluster_ping(u64 *out, u32 to, u32 rounds) {
    __shared__ u64 bar;
    u32 b = shared_at(&bar);
    if (threadIdx.x == 0) bar_init(b, 1);
    meet();
    u32 me = rank_of(), other = map_to(b, me == 0 ? to : 0), k = 0;
    if (threadIdx.x == 0 && (me == 0 || me == to)) {
        ROUNDS(if (me) bar_wait(b, k & 1);
               asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(other) : "memory");
               if (!me) bar_wait(b, k & 1); k++)
        if (!me) out[0] = t2 - t1 - (t1 - t0);
    }
    meet();
}
#define FAR(name, one)                                                                                                                  \
    ASYNC(1024) cluster_##name(u64 *out, u32 rounds) {                                                                                  \
        extern __shared__ __align__(1024) char s[];                                                                                     \
        u32 sum = 0, next = (rank_of() + 1) % blocks_of(), at = map_to(shared_at(s), next) + threadIdx.x * 16,                          \
            word = map_to(shared_at(s), next) + threadIdx.x * 4;                                                                        \
        u64 t[3];                                                                                                                       \
        meet();                                                                                                                         \
        _Pragma("unroll 1") for (u32 k = 0; k < 3; k++) {                                                                               \
            __syncthreads();                                                                                                            \
            t[0] = t[1], t[1] = t[2], t[2] = now();                                                                                     \
            _Pragma("unroll 1") for (u32 r = 0; k < 2 && r < rounds << 2 * k; r++) { FOUR(one); }                                       \
            if (sum == 77 && word == at) out[9] = sum;                                                                                  \
        }                                                                                                                               \
        meet();                                                                                                                         \
        if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = t[2] - t[1] - (t[1] - t[0]);                                                  \
    }
// Places of 16 KB in turn, so that no access is like the one before and none is left out.
#define PLACE(i) at + ((r + i & 3) << 14)
#define FOUR(one)                                                                                                                       \
    one(0);                                                                                                                             \
    one(1);                                                                                                                             \
    one(2);                                                                                                                             \
    one(3)
#define LOAD16(i)                                                                                                                       \
    {                                                                                                                                   \
        u32 a, b, c, d;                                                                                                                 \
        asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(PLACE(i)) : "memory"); \
        sum += a + b + c + d;                                                                                                           \
    }
#define STORE16(i) asm volatile("st.shared::cluster.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(PLACE(i)), "r"(r) : "memory")
#define ADD4(i)    asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(word), "r"(1) : "memory")
FAR(load, LOAD16)
FAR(store, STORE16)
FAR(add, ADD4)

// ---- registers that are given up
extern "C" __global__ void __launch_bounds__(384, 1) late_up(u64 *out, u32 delay) {
    u64 t0 = 0, t1;
    if (threadIdx.x < 128) {
        linger(delay);
        t0 = now();
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        t1 = now();
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        t1 = now();
    }
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32 * 2] = t0, out[threadIdx.x / 32 * 2 + 1] = t1;
}
