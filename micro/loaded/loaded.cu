// How long loads from memory take while many are under way, alone and beside stores; and how long thread
// blocks of a few loads live, and what is between one and the next in its place.
//
//   nvcc -O3 -arch=sm_90 -cudart shared loaded.cu -o loaded
//   ./loaded latency|blocks|parts [NAME]   on a GPU, or under orrery app; NAME: only the row of that name
//
//   latency   one block for each SM; each warp loads U lines and waits, again and again. Rows are called
//   after the
//             lines (side by side or random), stores beside them, warps of an SM and U: side+st_32_x4
//   blocks    blocks of 128 to 1,024 threads that load R words each and store W: r2_w1_256
//   parts     of the same blocks, by how much the time of a warp's loads varies (variance, in cycles
//   squared):
//             with all of a block, with those whose lines are in the same slice of L2 (512 bytes apart), with
//             the one whose lines are in the same 256 bytes, and by itself
//
// Prints CSV, as hardware/h200/loaded.csv, loaded_blocks.csv and loaded_parts.csv; times are in SM cycles.
// Every kernel runs behind one that reads 128 MB, so that L2 has neither its lines nor any that are to be
// written back.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        cudaError_t e_ = (x);                                                                                \
        if (e_ != cudaSuccess) {                                                                             \
            fprintf(stderr, "loaded: line %d: %s\n", __LINE__, cudaGetErrorString(e_));                      \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { BINS = 256, STEP = 16, SMS = 132, LINES = 1 << 22, WORDS = 32 << 20, EVERY = 16, LATE = 6000 };

static __device__ __forceinline__ unsigned now() {
    unsigned t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t));
    return t;
}

// The clock once `s` is there.
static __device__ __forceinline__ unsigned now_after(unsigned s) {
    unsigned t = 0;
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 77; @p mov.u32 %0, %%clock;}" : "+r"(t) : "r"(s));
    return t;
}

static __device__ __forceinline__ unsigned line_of(unsigned n, bool random) {
    if (random) {
        n = (n + 1) * 2654435761u;
        n ^= n >> 15;
        n *= 2246822519u;
        n ^= n >> 13;
    }
    return n & (LINES - 1);
}

template <int U>
__global__ void latency(const unsigned *a, unsigned *c, int rounds, bool random, bool store, unsigned *hist,
                        unsigned long long *cycles) {
    __shared__ unsigned h[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) h[i] = 0;
    __syncthreads();
    unsigned warps = gridDim.x * (blockDim.x / 32), w = (threadIdx.x / 32) * gridDim.x + blockIdx.x;
    unsigned lane = threadIdx.x % 32, start = now();
    for (int k = 0; k < rounds; k++) {
        unsigned line[U], x[U], sum = 0;
#pragma unroll
        for (int u = 0; u < U; u++) line[u] = line_of((k * U + u) * warps + w, random);
        unsigned from = now();
#pragma unroll
        for (int u = 0; u < U; u++)
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x[u]) : "l"(a + (size_t)line[u] * 32 + lane));
#pragma unroll
        for (int u = 0; u < U; u++) sum += x[u];
        unsigned took = now_after(sum) - from;
        if (store) c[(size_t)line[0] * 32 + lane] = sum;
        if (lane == 0) atomicAdd(&h[min(took / STEP, BINS - 1)], 1);
    }
    unsigned end = now();
    __syncthreads();
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) atomicAdd(&hist[i], h[i]);
    if (threadIdx.x == 0) atomicAdd(cycles, (unsigned long long)(end - start));
}

struct span { // of a block's first warp
    unsigned start, loaded, end, sm;
};

template <int R, int W>
__global__ void blocks(const unsigned *a, const unsigned *b, unsigned *c, span *out, unsigned apart) {
    unsigned start = now(), i = blockIdx.x * blockDim.x + threadIdx.x, v[R > 0 ? R : 1], sum = 0, sm;
#pragma unroll
    for (int k = 0; k < R; k++) v[k] = (k & 1 ? b : a)[i + (k >> 1) * apart];
#pragma unroll
    for (int k = 0; k < R; k++) sum += v[k];
    unsigned loaded = now_after(sum);
    if (W) c[i] = sum;
    unsigned end = now();
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0) out[blockIdx.x] = {start, loaded, end, sm};
}

// The time that each warp's loads took, of every EVERY-th block.
template <int R, int W>
__global__ void parts(const unsigned *a, const unsigned *b, unsigned *c, unsigned *out, unsigned apart) {
    unsigned start = now(), i = blockIdx.x * blockDim.x + threadIdx.x, v[R], sum = 0;
#pragma unroll
    for (int k = 0; k < R; k++) v[k] = (k & 1 ? b : a)[i + (k >> 1) * apart];
#pragma unroll
    for (int k = 0; k < R; k++) sum += v[k];
    unsigned took = now_after(sum) - start;
    if (W) c[i] = sum;
    if (blockIdx.x % EVERY == 0 && threadIdx.x % 32 == 0)
        out[blockIdx.x / EVERY * (blockDim.x / 32) + threadIdx.x / 32] = took;
}

__global__ void clean(const uint4 *from, unsigned *to, unsigned n) {
    unsigned sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += __ldcg(&from[i]).x;
    if (sum == 77) *to = sum;
}

static unsigned *a, *b, *c, *other, *hist;
static unsigned long long *cycles;
static span *spans;
static std::string only;

static bool wanted(const std::string &name) {
    if (!only.empty() && only != name) return false;
    clean<<<528, 512>>>((const uint4 *)other, hist, 8 << 20);
    return true;
}

static void run_latency(bool random, bool store, int warps, int u) {
    std::string name = std::string(random ? "random" : "side") + (store ? "+st_" : "_") +
                       std::to_string(warps) + "_x" + std::to_string(u);
    if (!wanted(name)) return;
    int rounds = std::min(1600, std::max(200, 6400 / warps));
    CHECK(cudaMemset(hist, 0, BINS * sizeof *hist));
    CHECK(cudaMemset(cycles, 0, sizeof *cycles));
    (u == 1 ? latency<1> : latency<4>)<<<SMS, warps * 32>>>(a, c, rounds, random, store, hist, cycles);
    unsigned h[BINS];
    unsigned long long sum = 0, n = 0, all;
    CHECK(cudaMemcpy(h, hist, sizeof h, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&all, cycles, sizeof all, cudaMemcpyDeviceToHost));
    for (int i = 0; i < BINS; i++) n += h[i], sum += (unsigned long long)h[i] * (i * STEP + STEP / 2);
    auto part = [&](double p) {
        unsigned long long x = 0;
        for (int i = 0; i < BINS; i++)
            if ((x += h[i]) >= p * n) return i * STEP + STEP / 2;
        return 0;
    };
    double each = (double)all / SMS;
    printf("%s,%.0f,%.0f,%d,%d,%d,%d,%d\n", name.c_str(), n * 128.0 * (u + store) / each, (double)sum / n,
           part(.1), part(.5), part(.9), part(.99), part(.999));
}

static void tell_blocks(const std::string &name, unsigned threads, unsigned n) {
    std::vector<span> o(n);
    CHECK(cudaMemcpy(o.data(), spans, n * sizeof(span), cudaMemcpyDeviceToHost));
    std::vector<unsigned> load;
    std::map<unsigned, std::vector<unsigned>> sms;
    double life = 0;
    for (unsigned i = 0; i < n; i++) {
        load.push_back(o[i].loaded - o[i].start);
        life += o[i].end - o[i].start;
        sms[o[i].sm].push_back(i);
    }
    double period = 0, sum = 0;
    for (auto &s : sms) { // a place's time for a block: an SM has 2,048 threads
        unsigned first = o[s.second[0]].start, last = first;
        for (unsigned i : s.second) {
            if ((int)(o[i].start - first) < 0) first = o[i].start;
            if ((int)(o[i].end - last) > 0) last = o[i].end;
        }
        period += (double)(last - first) * std::min(2048 / threads, 32u) / s.second.size() / sms.size();
    }
    for (unsigned l : load) sum += l;
    std::sort(load.begin(), load.end());
    printf("%s,%u,%.0f,%.0f,%.0f,%u,%u,%u,%u\n", name.c_str(), n, period, life / n, sum / n, load[n / 10],
           load[n / 2], load[n * 9ull / 10], load[n * 99ull / 100]);
}

template <int R, int W> static void run_blocks(unsigned threads) {
    std::string name = "r" + std::to_string(R) + "_w" + std::to_string(W) + "_" + std::to_string(threads);
    if (!wanted(name)) return;
    unsigned n = WORDS / threads / (R > 2 ? R / 2 : 1);
    blocks<R, W><<<n, threads>>>(a, b, c, spans, n * threads);
    CHECK(cudaDeviceSynchronize());
    tell_blocks(name, threads, n);
}

// Blocks of eight warps: lines of the warps 0 and 1 are in the same 256 bytes, those of 4 and 5 in the same
// slice. Blocks that a stop of all memory fell into are left out.
static void tell_parts(const std::string &name, const std::vector<unsigned> &took) {
    double sum[8] = {0}, of[8][8] = {{0}}, n = 0;
    for (size_t at = took.size() / 64 * 8; at < took.size(); at += 8) { // an eighth, until all is under way
        bool late = false;
        for (int i = 0; i < 8; i++) late |= took[at + i] > LATE;
        if (late) continue;
        n++;
        for (int i = 0; i < 8; i++) {
            sum[i] += took[at + i];
            for (int j = 0; j < 8; j++) of[i][j] += (double)took[at + i] * took[at + j];
        }
    }
    auto with = [&](int i, int j) { return of[i][j] / n - sum[i] / n * (sum[j] / n); };
    double block = (with(0, 2) + with(0, 3) + with(0, 6) + with(0, 7)) / 4,
           slice = (with(0, 4) + with(1, 5) + with(0, 5)) / 3, run = with(0, 1);
    printf("%s,%.0f,%.0f,%.0f,%.0f,%.0f\n", name.c_str(), sum[0] / n, block, slice - block, run - slice,
           with(0, 0) - run);
}

template <int R, int W> static void run_parts(void) {
    std::string name = "r" + std::to_string(R) + "_w" + std::to_string(W) + "_256";
    if (!wanted(name)) return;
    unsigned n = WORDS / 256 / (R > 2 ? R / 2 : 1);
    std::vector<unsigned> took(n / EVERY * 8);
    unsigned *out = (unsigned *)spans;
    parts<R, W><<<n, 256>>>(a, b, c, out, n * 256);
    CHECK(cudaMemcpy(took.data(), out, took.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    tell_parts(name, took);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "latency") && strcmp(what, "blocks") && strcmp(what, "parts")) {
        fprintf(stderr, "usage: loaded latency|blocks|parts [NAME]\n");
        return 2;
    }
    if (argc > 2) only = argv[2];
    size_t bytes = (size_t)LINES * 128;
    for (unsigned **p : {&a, &b, &c}) {
        CHECK(cudaMalloc(p, bytes));
        CHECK(cudaMemset(*p, 0, bytes));
    }
    CHECK(cudaMalloc(&other, 128 << 20));
    CHECK(cudaMemset(other, 0, 128 << 20));
    CHECK(cudaMalloc(&hist, BINS * sizeof *hist));
    CHECK(cudaMalloc(&cycles, sizeof *cycles));
    CHECK(cudaMalloc(&spans, WORDS / 128 * sizeof *spans));
    if (!strcmp(argv[1], "latency")) {
        printf("loads,bytes_per_cycle,mean,p10,p50,p90,p99,p99.9\n");
        for (int u = 1; u <= 4; u *= 4)
            for (int kind = 0; kind < 4; kind++)
                for (int warps = u == 1 ? 1 : 4; warps <= 32; warps *= 2)
                    run_latency(kind / 2, kind % 2, warps, u);
        return 0;
    }
    if (!strcmp(argv[1], "parts")) {
        printf("blocks,mean,block,slice,run,warp\n");
        run_parts<1, 0>(), run_parts<2, 0>(), run_parts<4, 0>(), run_parts<8, 0>();
        run_parts<2, 1>(), run_parts<4, 1>();
        return 0;
    }
    printf("blocks,grid,period,life,load,p10,p50,p90,p99\n");
    run_blocks<1, 0>(256), run_blocks<2, 0>(256), run_blocks<4, 0>(256), run_blocks<8, 0>(256);
    run_blocks<1, 1>(256), run_blocks<2, 1>(256), run_blocks<4, 1>(256), run_blocks<8, 1>(256);
    run_blocks<0, 1>(256), run_blocks<2, 1>(128), run_blocks<2, 1>(512), run_blocks<2, 1>(1024),
        run_blocks<2, 0>(1024);
    return 0;
}
