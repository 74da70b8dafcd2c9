// Cooperative groups: tiles, coalesced groups, partitions, reductions and scans.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "check.h"

namespace cg = cooperative_groups;

template <int N> __device__ int tiles() {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<N>(block);
    int t = threadIdx.x, r = t % N, base = t - r, bad = 0;
    CHECK((int)tile.size() == N && (int)tile.num_threads() == N && (int)tile.thread_rank() == r);
    CHECK((int)tile.meta_group_size() == (int)blockDim.x / N && (int)tile.meta_group_rank() == t / N);
    CHECK(tile.shfl(t * 3, N - 1) == (base + N - 1) * 3);
    CHECK(tile.shfl_up(t, 1) == (r ? t - 1 : t));
    CHECK(tile.shfl_down(t, 1) == (r < N - 1 ? t + 1 : t));
    CHECK(tile.shfl_xor(t, N / 2) == base + (r ^ N / 2));
    CHECK(tile.any(r == 1) && !tile.any(r == N) && tile.all(r < N) && !tile.all(r < N - 1));
    CHECK(tile.ballot(r % 2) == (0xaaaaaaaau >> (32 - N)));
    CHECK(tile.match_any(r / 2) == 3u << r / 2 * 2);
    int same;
    CHECK(tile.match_all(t / N, same) == 0xffffffffu >> (32 - N) && same);
    CHECK(tile.match_all(t, same) == 0 && !same);
    CHECK(cg::reduce(tile, t, cg::plus<int>()) == N * base + N * (N - 1) / 2);
    CHECK(cg::reduce(tile, t, cg::less<int>()) == base && cg::reduce(tile, t, cg::greater<int>()) == base + N - 1);
    CHECK(cg::reduce(tile, 1u << r, cg::bit_or<unsigned>()) == 0xffffffffu >> (32 - N));
    CHECK(cg::reduce(tile, ~(1u << r), cg::bit_and<unsigned>()) == ~(0xffffffffu >> (32 - N)));
    CHECK(cg::reduce(tile, r, cg::bit_xor<int>()) == 0);
    CHECK(cg::reduce(tile, (double)r, cg::plus<double>()) == N * (N - 1) / 2);
    CHECK(cg::reduce(tile, (ll)t << 33, cg::plus<ll>()) == (ll)(N * base + N * (N - 1) / 2) << 33);
    CHECK(cg::reduce(tile, r + 1.0f, [](float a, float b) { return a > b ? a : b; }) == N);
    CHECK(cg::inclusive_scan(tile, r + 1) == (r + 1) * (r + 2) / 2);
    CHECK(cg::exclusive_scan(tile, r + 1) == r * (r + 1) / 2);
    CHECK(cg::inclusive_scan(tile, (r * 5) % N, cg::greater<int>()) >= (r * 5) % N);
    tile.sync();
    return bad;
}

KERNEL tile_sizes(int *out) {
    int bad = tiles<32>();
    if (!bad) bad = tiles<16>();
    if (!bad) bad = tiles<8>();
    if (!bad) bad = tiles<4>();
    out[threadIdx.x] = bad;
}

KERNEL small_tiles(int *out) { // one and two threads
    auto block = cg::this_thread_block();
    auto two = cg::tiled_partition<2>(block);
    auto one = cg::tiled_partition<1>(two);
    int t = threadIdx.x, bad = 0;
    CHECK(two.shfl_xor(t, 1) == (t ^ 1) && cg::reduce(two, t, cg::plus<int>()) == (t | 1) * 2 - 1);
    CHECK(one.size() == 1 && one.shfl(t, 0) == t && one.thread_rank() == 0);
    // a run-time size
    cg::thread_group g = cg::tiled_partition(block, 8);
    CHECK(g.size() == 8 && (int)g.thread_rank() == t % 8);
    g.sync();
    // tiles of tiles
    auto eight = cg::tiled_partition<8>(cg::tiled_partition<32>(block));
    CHECK((int)eight.meta_group_rank() == t % 32 / 8 && eight.meta_group_size() == 4);
    out[t] = bad;
}

// Groups of those that happen to be here.
KERNEL coalesced(int *out) {
    int t = threadIdx.x, lane = t % 32, bad = 0;
    if (lane % 3 == 1) {
        auto g = cg::coalesced_threads();
        int rank = lane / 3, n = 11; // 1, 4, ..., 31
        CHECK((int)g.size() == n && (int)g.thread_rank() == rank);
        CHECK(g.shfl(lane, 2) == 7);
        CHECK(g.shfl_up(lane, 1) == (rank ? lane - 3 : lane));
        CHECK(g.shfl_down(lane, 2) == (rank + 2 < n ? lane + 6 : lane));
        CHECK(cg::reduce(g, lane, cg::plus<int>()) == 11 + 3 * 55);
        CHECK(cg::inclusive_scan(g, 1) == rank + 1);
        CHECK(cg::exclusive_scan(g, lane) == rank + 3 * (rank * (rank - 1) / 2));
        CHECK(g.ballot(rank < 4) == 15 && g.any(rank == 10) && g.all(rank < 11));
        if (rank < 5) {
            auto h = cg::coalesced_threads();
            CHECK(h.size() == 5 && (int)h.thread_rank() == rank);
            h.sync();
        }
        g.sync();
    } else {
        auto g = cg::coalesced_threads();
        CHECK(g.size() == 21);
        auto odd = cg::binary_partition(g, lane & 1);
        int n = 0;
        for (int l = 0; l < 32; l++) n += l % 3 != 1 && (l & 1) == (lane & 1);
        CHECK((int)odd.size() == n);
    }
    out[t] = bad;
}

KERNEL partitions(int *out) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int t = threadIdx.x, lane = t % 32, bad = 0;
    auto by = cg::labeled_partition(warp, lane * lane % 5); // quadratic residues: 0, 1, 4
    int n = 0, rank = 0, sum = 0;
    for (int l = 0; l < 32; l++)
        if (l * l % 5 == lane * lane % 5) n++, rank += l < lane, sum += l;
    CHECK((int)by.size() == n && (int)by.thread_rank() == rank);
    CHECK(cg::reduce(by, lane, cg::plus<int>()) == sum);
    auto halves = cg::binary_partition(warp, lane < 10);
    CHECK((int)halves.size() == (lane < 10 ? 10 : 22) && (int)halves.thread_rank() == (lane < 10 ? lane : lane - 10));
    CHECK(cg::reduce(halves, 1, cg::plus<int>()) == (lane < 10 ? 10 : 22));
    // whoever is elected
    cg::invoke_one(warp, [&] { CHECK(true); });
    int v = cg::invoke_one_broadcast(warp, [&] { return 42; });
    CHECK(v == 42);
    out[t] = bad;
}

KERNEL blocks(int *out) { // 3-D
    auto block = cg::this_thread_block();
    auto grid = cg::this_grid();
    int bad = 0, t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    __shared__ int data[60];
    CHECK((int)block.thread_rank() == t && block.size() == 60);
    CHECK(block.thread_index().x == threadIdx.x && block.group_index().y == blockIdx.y && block.dim_threads().z == 3);
    CHECK(grid.block_rank() == blockIdx.y * gridDim.x + blockIdx.x && grid.num_blocks() == 6);
    CHECK(grid.thread_rank() == grid.block_rank() * 60 + t && grid.size() == 360);
    data[t] = t * 5;
    block.sync();
    CHECK(data[59 - t] == (59 - t) * 5);
    auto token = block.barrier_arrive();
    block.barrier_wait(std::move(token));
    out[grid.thread_rank()] = bad;
}

// Tiles of more than a warp.
KERNEL large_tiles(int *out) {
    __shared__ cg::block_tile_memory<256> mem;
    auto block = cg::this_thread_block(mem);
    auto tile = cg::tiled_partition<128>(block);
    int t = threadIdx.x, bad = 0;
    CHECK((int)tile.thread_rank() == t % 128 && tile.size() == 128);
    CHECK(cg::reduce(tile, t, cg::plus<int>()) == t / 128 * 128 * 128 + 128 * 127 / 2);
    CHECK(tile.any(t == 200) == (t >= 128) && tile.all(t < 128) == (t < 128));
    CHECK(tile.shfl(t, 77) == t / 128 * 128 + 77);
    CHECK(cg::inclusive_scan(tile, 2) == 2 * (t % 128 + 1));
    tile.sync();
    auto sixty = cg::tiled_partition<64>(tile);
    CHECK(cg::reduce(sixty, 1u, cg::plus<unsigned>()) == 64);
    out[t] = bad;
}

// Atomics of a group, one for all.
KERNEL aggregated(int *out, int *counter, int *seen) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (mix(t) % 3 == 0) {
        auto g = cg::coalesced_threads();
        int first = 0;
        if (g.thread_rank() == 0) first = atomicAdd(counter, (int)g.size());
        int at = g.shfl(first, 0) + (int)g.thread_rank();
        atomicAdd(&seen[at], 1); // every place once
    }
    out[t] = 0;
}
KERNEL aggregated_check(int *out, const int *counter, const int *seen) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, n = 0, bad = 0;
    for (int i = 0; i < 1024; i++) n += mix(i) % 3 == 0;
    CHECK(*counter == n && seen[t] == (t < n));
    out[t] = bad;
}
