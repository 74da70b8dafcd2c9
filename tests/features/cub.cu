// A library's code: the block and warp primitives of CUB against plain loops.
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include "check.h"

#define N 128
__device__ int value(int i) { return (int)(mix(i) % 1000) - 500; }
struct Max {
    __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

template <cub::BlockReduceAlgorithm A> __device__ int reduce() {
    typedef cub::BlockReduce<int, N, A> Reduce;
    __shared__ typename Reduce::TempStorage temp;
    int t = threadIdx.x, bad = 0, sum = 0, most = -1000, part = 0;
    for (int i = 0; i < N; i++) {
        sum += value(i), most = max(most, value(i));
        if (i < 77) part += value(i);
    }
    int r = Reduce(temp).Sum(value(t));
    if (t == 0) CHECK(r == sum);
    __syncthreads();
    r = Reduce(temp).Reduce(value(t), Max());
    if (t == 0) CHECK(r == most);
    __syncthreads();
    r = Reduce(temp).Sum(value(t), 77); // of the first 77
    if (t == 0) CHECK(r == part);
    __syncthreads();
    return bad;
}
KERNEL reductions(int *out) {
    int bad = reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>();
    if (!bad) bad = reduce<cub::BLOCK_REDUCE_RAKING>();
    if (!bad) bad = reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>();
    out[threadIdx.x] = bad;
}

template <cub::BlockScanAlgorithm A> __device__ int scan() {
    typedef cub::BlockScan<int, N, A> Scan;
    __shared__ typename Scan::TempStorage temp;
    int t = threadIdx.x, bad = 0, v[3], r[3], total, want = 0, most = -1000;
    for (int i = 0; i < 3; i++) v[i] = value(3 * t + i);
    Scan(temp).ExclusiveSum(v, r, total);
    for (int i = 0; i < 3 * t; i++) want += value(i), most = max(most, value(i));
    CHECK(r[0] == want && r[1] == want + v[0] && r[2] == want + v[0] + v[1]);
    __syncthreads();
    Scan(temp).InclusiveScan(v, r, Max());
    CHECK(r[2] == max(max(most, v[0]), max(v[1], v[2])));
    __syncthreads();
    return bad;
}
KERNEL scans(int *out) {
    int bad = scan<cub::BLOCK_SCAN_WARP_SCANS>();
    if (!bad) bad = scan<cub::BLOCK_SCAN_RAKING>();
    out[threadIdx.x] = bad;
}

KERNEL sorts(int *out) {
    typedef cub::BlockRadixSort<int, N, 2, short> Radix;
    typedef cub::BlockMergeSort<int, N, 2> Merge;
    __shared__ union {
        typename Radix::TempStorage radix;
        typename Merge::TempStorage merge;
    } temp;
    int t = threadIdx.x, bad = 0, k[2] = {value(2 * t), value(2 * t + 1)}, m[2] = {-k[0], -k[1]};
    short from[2] = {(short)(2 * t), (short)(2 * t + 1)};
    Radix(temp.radix).Sort(k, from);
    for (int e = 0; e < 2; e++) { // how many come before: a place of its own for each, and stable
        int before = 0;
        for (int i = 0; i < 2 * N; i++) before += value(i) < k[e] || (value(i) == k[e] && i < from[e]);
        CHECK(before == 2 * t + e && value(from[e]) == k[e]);
    }
    __syncthreads();
    Merge(temp.merge).Sort(m, [](int a, int b) { return a < b; });
    for (int e = 0; e < 2; e++) {
        int less = 0, same = 0;
        for (int i = 0; i < 2 * N; i++) less += -value(i) < m[e], same += -value(i) == m[e];
        CHECK(less <= 2 * t + e && 2 * t + e < less + same);
    }
    out[t] = bad;
}

KERNEL moves(int *out, const int *in, int *to) { // in[i] = 5 i
    typedef cub::BlockLoad<int, N, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE> Load;
    typedef cub::BlockStore<int, N, 4, cub::BLOCK_STORE_TRANSPOSE> Store;
    typedef cub::BlockExchange<int, N, 4> Exchange;
    typedef cub::BlockHistogram<unsigned char, N, 4, 32> Histogram;
    typedef cub::BlockDiscontinuity<int, N> Edges;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Exchange::TempStorage exchange;
        typename Histogram::TempStorage histogram;
        typename Edges::TempStorage edges;
    } temp;
    __shared__ int bins[32];
    int t = threadIdx.x, bad = 0, v[4];
    Load(temp.load).Load(in, v, 500, -1); // 500 of 512
    for (int i = 0; i < 4; i++) CHECK(v[i] == (4 * t + i < 500 ? 5 * (4 * t + i) : -1));
    __syncthreads();
    Exchange(temp.exchange).BlockedToStriped(v, v);
    for (int i = 0; i < 4; i++) CHECK(v[i] == (i * N + t < 500 ? 5 * (i * N + t) : -1));
    __syncthreads();
    for (int i = 0; i < 4; i++) v[i] = 4 * t + i;
    Store(temp.store).Store(to, v);
    __syncthreads();
    CHECK(to[511 - t] == 511 - t && to[t] == t);
    unsigned char c[4];
    for (int i = 0; i < 4; i++) c[i] = (unsigned char)(mix(4 * t + i) % 32);
    Histogram(temp.histogram).Histogram(c, bins);
    __syncthreads();
    int want = 0;
    for (int i = 0; i < 512; i++) want += (int)(mix(i) % 32) == t % 32;
    CHECK(bins[t % 32] == want);
    int head[1], item[1] = {t / 7};
    Edges(temp.edges).FlagHeads(head, item, [](int a, int b) { return a != b; });
    CHECK(head[0] == (t % 7 == 0));
    out[t] = bad;
}

KERNEL warps(int *out) {
    typedef cub::WarpReduce<int, 16> Reduce;
    typedef cub::WarpScan<int> Scan;
    typedef cub::WarpMergeSort<int, 2, 32> Sort;
    __shared__ typename Reduce::TempStorage reduce[N / 16];
    __shared__ typename Scan::TempStorage scan[N / 32];
    __shared__ typename Sort::TempStorage sort[N / 32];
    int t = threadIdx.x, bad = 0, want = 0;
    int r = Reduce(reduce[t / 16]).Sum(value(t));
    for (int i = t; i < t + 16; i++) want += value(i);
    if (t % 16 == 0) CHECK(r == want);
    r = Reduce(reduce[t / 16]).TailSegmentedSum(1, t % 5 == 4); // runs end at every fifth
    if (t % 16 == 0) CHECK(r == min(5 - t % 5, 16));
    int in, ex;
    Scan(scan[t / 32]).Scan(value(t), in, ex, 0, [](int a, int b) { return a ^ b; });
    want = 0;
    for (int i = t / 32 * 32; i < t; i++) want ^= value(i);
    CHECK(ex == want && in == (want ^ value(t)));
    int k[2] = {value(2 * t), value(2 * t + 1)}, base = t / 32 * 64;
    Sort(sort[t / 32]).Sort(k, [](int a, int b) { return a > b; });
    for (int e = 0; e < 2; e++) {
        int more = 0, same = 0, place = 2 * (t % 32) + e;
        for (int i = base; i < base + 64; i++) more += value(i) > k[e], same += value(i) == k[e];
        CHECK(more <= place && place < more + same);
    }
    out[t] = bad;
}
