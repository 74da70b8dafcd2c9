// Operations between the lanes of a warp, every form and width, against what the programming guide says of
// them.
#include <cuda_fp16.h>

#include "check.h"

#define ALL 0xffffffffu

template <class T> __device__ int shuffles(T scale) {
    int lane = threadIdx.x % 32, bad = 0;
    T v = (T)(lane + 1) * scale;
#pragma unroll 1
    for (int w = 1; w <= 32; w *= 2) {
        int at = lane % w, base = lane - at;
#pragma unroll 1
        for (int d = 0; d < 33; d += 1 + d / 4) {
            CHECK(__shfl_sync(ALL, v, d, w) == (T)((base | (d & (w - 1))) + 1) * scale);
            CHECK(__shfl_sync(ALL, v, lane * 5 + d, w) == (T)((base | ((lane * 5 + d) & (w - 1))) + 1) * scale);
            if (d == 32) continue;
            CHECK(__shfl_up_sync(ALL, v, d, w) == (T)((at >= d ? lane - d : lane) + 1) * scale);
            CHECK(__shfl_down_sync(ALL, v, d, w) == (T)((at + d < w ? lane + d : lane) + 1) * scale);
            int x = lane ^ d; // earlier groups can be read, later ones not
            CHECK(__shfl_xor_sync(ALL, v, d, w) == (T)((x < base + w ? x : lane) + 1) * scale);
        }
    }
    return bad;
}

KERNEL shuffle(int *out) {
    int bad = shuffles<int>(-7);
    if (!bad) bad = shuffles<unsigned>(0x01000001u);
    if (!bad) bad = shuffles<float>(0.37f);
    if (!bad) bad = shuffles<ll>(-0x123456789ll);
    if (!bad) bad = shuffles<ull>(0xabcdef0123ull);
    if (!bad) bad = shuffles<double>(1e-30);
    int lane = threadIdx.x % 32;
    half2 h = __shfl_sync(ALL, __floats2half2_rn(lane, -lane), 9);
    CHECK(__low2float(h) == 9 && __high2float(h) == -9);
    half s = __shfl_down_sync(ALL, __float2half(lane), 1);
    CHECK(__half2float(s) == (lane < 31 ? lane + 1 : lane));
    out[threadIdx.x] = bad;
}

// The predicate of shfl.sync says whether the source was in range; segments by the third operand.
KERNEL shuffle_raw(int *out) {
    int lane = threadIdx.x, bad = 0;
    unsigned d, p;
#define RAW(mode, b, c)                                                                                      \
    asm volatile("{ .reg .pred p; shfl.sync." mode ".b32 %0|p, %2, %3, %4, -1; selp.u32 %1, 1, 0, p; }"      \
                 : "=r"(d), "=r"(p)                                                                          \
                 : "r"(lane), "r"(b), "r"(c))
    RAW("up", 3, 0);
    CHECK(p == (lane >= 3) && d == (unsigned)(lane >= 3 ? lane - 3 : lane));
    RAW("down", 3, 31);
    CHECK(p == (lane < 29) && d == (unsigned)(lane < 29 ? lane + 3 : lane));
    RAW("bfly", 16, 15); // no lane past 15
    CHECK(p == (lane >= 16) && d == (unsigned)(lane >= 16 ? lane - 16 : lane));
    RAW("idx", 20, 15);
    CHECK(p == 0 && d == (unsigned)lane);
    RAW("idx", 3, 0x181f); // segments of eight
    CHECK(p == 1 && d == (unsigned)(lane / 8 * 8 + 3));
    RAW("down", 2, 0x1803); // of eight, no further than the fourth of each
    CHECK(p == (lane % 8 + 2 <= 3) && d == (unsigned)(lane % 8 + 2 <= 3 ? lane + 2 : lane));
    RAW("idx", lane, 31);
    CHECK(p == 1 && d == (unsigned)lane);
    // operands that differ from lane to lane
    RAW("down", lane % 4, 31);
    CHECK(d == (unsigned)(lane + lane % 4 < 32 ? lane + lane % 4 : lane));
    out[lane] = bad;
}

// Subsets: lanes of a branch among themselves, with their own mask, in loops that end at different times.
KERNEL subsets(int *out) {
    int lane = threadIdx.x, bad = 0;
    if (lane % 4 == 1) {
        unsigned m = 0x22222222u;
        CHECK(__shfl_sync(m, lane, 29) == 29);
        CHECK(__shfl_xor_sync(m, lane, 4) == (lane ^ 4));
        CHECK(__ballot_sync(m, lane > 16) == (m & 0xfffe0000u));
        CHECK(__any_sync(m, lane == 5) && !__any_sync(m, lane == 6) && __all_sync(m, lane % 2));
        CHECK(__reduce_add_sync(m, lane) == 1 * 8 + 4 * 28u);
        CHECK((__activemask() & ~m) == 0 && (__activemask() >> lane & 1));
    } else if (lane % 4 == 2) {
        unsigned m = 0x44444444u;
        CHECK(__match_any_sync(m, lane / 8) == 0x44u << lane / 8 * 8);
        __syncwarp(m);
        CHECK(__shfl_down_sync(m, lane, 8) == (lane < 24 ? lane + 8 : lane));
    }
    // two halves, each in step with itself, in the same instruction
    unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
    for (int i = 0; i < (lane < 16 ? 5 : 9); i++) {
        CHECK(__shfl_sync(half, lane * 100 + i, 3, 16) == (lane / 16 * 16 + 3) * 100 + i);
        CHECK(__reduce_max_sync(half, lane) == (lane | 15));
        CHECK(__ballot_sync(half, lane & 1) == (0xaaaaaaaau & half));
    }
    __syncwarp();
    // each lane leaves the loop at its own time
    unsigned m = ALL;
    int n = 0;
#pragma unroll 1
    for (int i = 0; i < 40; i++) {
        m = __ballot_sync(m, lane >= i);
        if (lane < i) break;
        CHECK(m == ALL << i && __reduce_min_sync(m, lane) == i);
        CHECK(__shfl_sync(m, lane, 31) == 31);
        n++;
    }
    CHECK(n == lane + 1);
    out[lane] = bad;
}

KERNEL votes(int *out) {
    int lane = threadIdx.x % 32, bad = 0;
    CHECK(__ballot_sync(ALL, lane % 5 == 0) == 0x42108421u);
    CHECK(__ballot_sync(ALL, 0) == 0 && __ballot_sync(ALL, 1) == ALL);
    CHECK(__all_sync(ALL, lane < 32) && !__all_sync(ALL, lane) && __any_sync(ALL, lane == 31) && !__any_sync(ALL, lane == 32));
    unsigned u;
    asm volatile("{ .reg .pred p, q; setp.lt.s32 p, %1, 32; vote.sync.uni.pred q, p, -1; selp.u32 %0, 1, 0, q; }" : "=r"(u) : "r"(lane));
    CHECK(u == 1);
    asm volatile("{ .reg .pred p, q; setp.gt.s32 p, %1, 40; vote.sync.uni.pred q, p, -1; selp.u32 %0, 1, 0, q; }" : "=r"(u) : "r"(lane));
    CHECK(u == 1);
    asm volatile("{ .reg .pred p, q; setp.gt.s32 p, %1, 4; vote.sync.uni.pred q, !p, -1; selp.u32 %0, 1, 0, q; }" : "=r"(u) : "r"(lane));
    CHECK(u == 0);
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 4; vote.sync.ballot.b32 %0, !p, -1; }" : "=r"(u) : "r"(lane));
    CHECK(u == 0xfffffff0u);
    // match
    CHECK(__match_any_sync(ALL, lane % 3) == (0x49249249u << lane % 3 | (lane % 3 == 2 ? 0 : 0u)));
    CHECK(__match_any_sync(ALL, (ull)(lane & 1) << 40) == (lane & 1 ? 0xaaaaaaaau : 0x55555555u));
    CHECK(__match_any_sync(ALL, (float)(lane / 8)) == 0xffu << lane / 8 * 8);
    CHECK(__match_any_sync(ALL, -(double)(lane / 16)) == 0xffffu << lane / 16 * 16);
    int p;
    CHECK(__match_all_sync(ALL, 77, &p) == ALL && p);
    CHECK(__match_all_sync(ALL, lane == 30 ? 1ll << 50 : 0ll, &p) == 0 && !p);
    CHECK(__match_all_sync(ALL, 1ull << 63, &p) == ALL && p);
    out[threadIdx.x] = bad;
}

KERNEL reductions(int *out) {
    int lane = threadIdx.x % 32, bad = 0;
    unsigned h = mix(threadIdx.x);
    unsigned add = 0, mn = ALL, mx = 0, a = ALL, o = 0, x = 0;
    int smn = 0x7fffffff, smx = -0x7fffffff - 1;
#pragma unroll 1
    for (int l = 0; l < 32; l++) {
        unsigned v = mix(threadIdx.x - lane + l);
        add += v, mn = min(mn, v), mx = max(mx, v), a &= v | 0xff, o |= v & 0xf0f0f0f0, x ^= v;
        smn = min(smn, (int)v), smx = max(smx, (int)v);
    }
    CHECK(__reduce_add_sync(ALL, h) == add && __reduce_add_sync(ALL, (int)h) == (int)add);
    CHECK(__reduce_min_sync(ALL, h) == mn && __reduce_max_sync(ALL, h) == mx);
    CHECK(__reduce_min_sync(ALL, (int)h) == smn && __reduce_max_sync(ALL, (int)h) == smx);
    CHECK(__reduce_and_sync(ALL, h | 0xff) == a && __reduce_or_sync(ALL, h & 0xf0f0f0f0) == o && __reduce_xor_sync(ALL, h) == x);
    // the classic sum by shuffles
    int s = lane;
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(ALL, s, d);
    CHECK(lane || s == 496);
    // and a scan
    int c = lane + 1;
    for (int d = 1; d < 32; d *= 2) {
        int y = __shfl_up_sync(ALL, c, d);
        if (lane >= d) c += y;
    }
    CHECK(c == (lane + 1) * (lane + 2) / 2);
    out[threadIdx.x] = bad;
}

KERNEL leaders(int *out) {
    int lane = threadIdx.x, bad = 0;
    unsigned e, l, v;
    asm volatile("{ .reg .pred p; elect.sync %1|p, -1; selp.u32 %0, 1, 0, p; }" : "=r"(e), "=r"(l));
    CHECK(__ballot_sync(ALL, e) == 1u << l && __popc(__ballot_sync(ALL, e)) == 1);
    if (lane >= 12) {
        asm volatile("{ .reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(e) : "r"(0xfffff000u));
        CHECK(__popc(__ballot_sync(0xfffff000u, e)) == 1);
    }
    asm("mov.u32 %0, %%laneid;" : "=r"(v));
    CHECK(v == (unsigned)lane);
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(v));
    CHECK(v == (1u << lane) - 1);
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(v));
    CHECK(v == (2u << lane) - 1);
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(v));
    CHECK(v == 1u << lane);
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(v));
    CHECK(v == ALL << lane);
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(v));
    CHECK(v == ~((2u << lane) - 1));
    CHECK(__fns(0xf0f0, 0, 3) == 6 && __fns(0xf0f0, 15, -2) == 14 && __fns(0xf0f0, 0, 9) == ALL && __fns(0xf0f0, 4, 0) == 4);
    out[lane] = bad;
}

// __syncwarp orders memory, whichever of them a lane executes; lanes that are gone are not waited for.
KERNEL sync(int *out) {
    __shared__ int a[32], b[32];
    int lane = threadIdx.x, bad = 0, got;
    out[lane] = -2;
    a[lane] = lane * 3;
    __syncwarp();
    CHECK(a[31 - lane] == (31 - lane) * 3);
    __syncwarp();
    if (lane < 16) {
        b[lane] = lane + 50;
        __syncwarp();
        got = b[lane + 16];
    } else {
        b[lane] = lane + 90;
        __syncwarp();
        got = b[lane - 16];
    }
    CHECK(got == (lane < 16 ? lane + 16 + 90 : lane - 16 + 50));
#pragma unroll 1
    for (int i = 0; i < 10; i++) { // neighbours hand a value round
        a[lane] = lane + i;
        __syncwarp();
        CHECK(a[(lane + 1) % 32] == (lane + 1) % 32 + i);
        __syncwarp();
    }
    out[lane] = bad;
    if (lane % 3 == 0) return;
    b[lane] = -lane;
    __syncwarp();
    if (lane < 30) CHECK(b[lane % 3 == 1 ? lane + 1 : lane - 1] == -(lane % 3 == 1 ? lane + 1 : lane - 1));
    CHECK(__shfl_sync(0xb6db6db6u, lane, 31) == 31); // the lanes that are left
    out[lane] = bad;
}

// The last warp of a block of 40 has eight lanes.
KERNEL ragged(int *out) {
    int t = threadIdx.x, bad = 0;
    unsigned m = t < 32 ? ALL : 0xff;
    CHECK(__ballot_sync(m, 1) == m && __activemask() == m);
    CHECK(__shfl_sync(m, t, 7) == t / 32 * 32 + 7);
    CHECK(__reduce_add_sync(m, 1) == (t < 32 ? 32u : 8u));
    __syncwarp();
    CHECK(__syncthreads_count(1) == 40);
    out[t] = bad;
}
