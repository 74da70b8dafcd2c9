// Pairs of kernels in two streams: how long each takes alone, and both together.
//
//   nvcc -O3 -arch=sm_90 -cudart shared -DTIMES pairs.cu -o pairs      on a GPU: every block notes when it
//   ran nvcc -O3 -arch=sm_90 -cudart shared pairs.cu -o pairs              for orrery app
//   ./pairs [REPETITIONS [NAME [BLOCKS.csv]]]
//   ./pairs carveouts                                                  which shared memory two kernels may
//   have
//
// Streams a and b wait for a kernel of one warp (the gate), so that all launches are queued when it ends.
// Then a's kernel is free to start, and b's, after an event; `late` puts a kernel of one warp in front of
// b's. Prints, in microseconds: a alone, b alone, and of the pair, from the first start: a's start and end,
// b's start and end, both. With TIMES these are from the first block's start to the last one's end by
// %globaltimer, the median of the repetitions; else they are between events, and starts are left out.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        cudaError_t e_ = (x);                                                                                \
        if (e_ != cudaSuccess) {                                                                             \
            fprintf(stderr, "pairs: line %d: %s\n", __LINE__, cudaGetErrorString(e_));                       \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

struct note { // of a block
    unsigned long long start, end;
    unsigned sm, pad;
};
#ifdef TIMES
__device__ unsigned long long now() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)::"memory");
    return t;
}
#define BEGIN unsigned long long begin_ = threadIdx.x ? 0 : now();
#define END                                                                                                  \
    __syncthreads();                                                                                         \
    if (!threadIdx.x) {                                                                                      \
        unsigned sm_;                                                                                        \
        asm volatile("mov.u32 %0, %smid;" : "=r"(sm_));                                                      \
        notes[blockIdx.x] = note{begin_, now(), sm_, 0};                                                     \
    }
#else
#define BEGIN
#define END
#endif

extern __shared__ unsigned table[];

// Loads from shared memory that wait for each other.
__global__ void latency(unsigned *out, int n, note *notes, const uint4 *unused) {
    BEGIN table[threadIdx.x] = threadIdx.x;
    __syncthreads();
    unsigned at = threadIdx.x;
#pragma unroll 8
    for (int i = 0; i < n; i++) at = ((volatile unsigned *)table)[at];
    if (at == 0x12345678) out[0] = at;
    END
}

// Keeps the unit for special functions busy.
__global__ void compute(unsigned *out, int n, note *notes, const uint4 *unused) {
    BEGIN float x = threadIdx.x, y = blockIdx.x;
#pragma unroll 8
    for (int i = 0; i < n; i++) {
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(y));
    }
    if (x + y == 1234567.f) out[0] = 1;
    END
}

// Reads memory that nobody has read before.
__global__ void stream(unsigned *out, int n, note *notes, const uint4 *from) {
    BEGIN size_t at = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    unsigned sum = 0;
#pragma unroll 4
    for (int i = 0; i < n; i++) {
        uint4 v = __ldg(from + at + i * step);
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 0x12345678) out[0] = sum;
    END
}

typedef void kernel(unsigned *, int, note *, const uint4 *);
struct work {
    kernel *k;
    int grid, block, shared, n;
};
struct pair {
    const char *name;
    work a, b;
    int late;      // b comes so many loads from shared memory later
    bool priority; // b's stream goes first
    bool same;     // both in stream a
};

#define TABLE 4096 // bytes of latency's table
static const pair pairs[] = {
    {"small_small", {latency, 32, 256, TABLE, 2000}, {latency, 32, 256, TABLE, 1500}},
    {"half_half", {latency, 132, 512, TABLE, 2000}, {latency, 132, 512, TABLE, 1500}},
    {"large_small", {latency, 2112, 256, TABLE, 800}, {latency, 32, 256, TABLE, 1500}},
    {"small_large", {latency, 32, 256, TABLE, 1500}, {latency, 2112, 256, TABLE, 800}},
    {"tail", {latency, 1584, 256, TABLE, 1000}, {latency, 528, 256, TABLE, 1000}},
    {"waves", {latency, 1584, 256, TABLE, 800}, {latency, 1584, 256, TABLE, 800}},
    {"threads", {latency, 132, 1024, TABLE, 1500}, {latency, 264, 768, TABLE, 1000}},
    {"shared_apart", {latency, 264, 128, 100 << 10, 1500}, {latency, 264, 128, 64 << 10, 1000}},
    {"shared_beside", {latency, 132, 128, 100 << 10, 1500}, {latency, 264, 128, 40 << 10, 1000}},
    {"compute_compute", {compute, 132, 512, 0, 500}, {compute, 132, 512, 0, 400}},
    {"compute_latency", {compute, 264, 512, 0, 300}, {latency, 264, 512, TABLE, 1000}},
    {"stream_stream", {stream, 528, 256, 0, 32}, {stream, 528, 256, 0, 32}},
    {"stream_short", {stream, 528, 256, 0, 48}, {stream, 528, 256, 0, 16}},
    {"stream_compute", {stream, 528, 256, 0, 32}, {compute, 132, 512, 0, 500}},
    {"stream_full", {stream, 2112, 256, 0, 16}, {stream, 2112, 256, 0, 16}},
    {"late_equal", {latency, 3168, 256, TABLE, 500}, {latency, 264, 256, TABLE, 500}, 400, false},
    {"late_priority", {latency, 3168, 256, TABLE, 500}, {latency, 264, 256, TABLE, 500}, 400, true},
    {"late_stream", {stream, 2112, 256, 0, 32}, {stream, 528, 256, 0, 16}, 300, true},
    {"in_order", {latency, 132, 512, TABLE, 1000}, {latency, 132, 512, TABLE, 1000}, 0, false, true},
};

struct times {
    double a[2], b[2], both;
};

static unsigned *out;
static note *notes;
static const uint4 *memory;
static size_t used, room = (size_t)4 << 30; // bytes of memory
static cudaStream_t low, high, other;
enum { MOST = 4096 };

static void launch(const work &w, cudaStream_t s, int which) {
    size_t bytes = (size_t)w.grid * w.block * w.n * sizeof(uint4);
    if (w.k == stream && used + bytes > room) used = 0;
    w.k<<<w.grid, w.block, w.shared, s>>>(out, w.n, notes + which * MOST, memory + used / sizeof(uint4));
    if (w.k == stream) used += bytes;
    CHECK(cudaGetLastError());
}

// Runs a, b or both of a pair.
static times run(const pair &p, bool a, bool b, std::vector<note> *blocks) {
    cudaStream_t sa = low, sb = p.same ? low : p.priority ? high : other;
    cudaEvent_t gate, ea, eb;
    CHECK(cudaEventCreate(&gate));
    CHECK(cudaEventCreate(&ea));
    CHECK(cudaEventCreate(&eb));
    CHECK(cudaMemset(notes, 0, 2 * MOST * sizeof *notes));
    CHECK(cudaDeviceSynchronize());
    latency<<<1, 32, TABLE, sa>>>(out, 6000, notes + 2 * MOST, nullptr);
    CHECK(cudaEventRecord(gate, sa));
    if (sb != sa) CHECK(cudaStreamWaitEvent(sb, gate, 0));
    if (a) launch(p.a, sa, 0);
    if (p.late && b && a) latency<<<1, 32, TABLE, sb>>>(out, p.late, notes + 2 * MOST, nullptr);
    if (b) launch(p.b, sb, 1);
    CHECK(cudaEventRecord(ea, sa));
    CHECK(cudaEventRecord(eb, sb));
    CHECK(cudaDeviceSynchronize());
    times t = {};
#ifdef TIMES
    std::vector<note> n(2 * MOST);
    CHECK(cudaMemcpy(n.data(), notes, n.size() * sizeof(note), cudaMemcpyDeviceToHost));
    unsigned long long from[2] = {~0ull, ~0ull}, to[2] = {0, 0};
    for (int i = 0; i < 2 * MOST; i++)
        if (n[i].end) {
            from[i / MOST] = std::min(from[i / MOST], n[i].start);
            to[i / MOST] = std::max(to[i / MOST], n[i].end);
        }
    unsigned long long first = std::min(from[0], from[1]);
    if (a) t.a[0] = (from[0] - first) / 1e3, t.a[1] = (to[0] - first) / 1e3;
    if (b) t.b[0] = (from[1] - first) / 1e3, t.b[1] = (to[1] - first) / 1e3;
    t.both = (std::max(to[0], to[1]) - first) / 1e3;
    if (blocks) *blocks = n;
#else
    float ms;
    CHECK(cudaEventElapsedTime(&ms, gate, ea));
    if (a) t.a[1] = ms * 1e3;
    CHECK(cudaEventElapsedTime(&ms, gate, eb));
    if (b) t.b[1] = ms * 1e3;
    t.both = std::max(t.a[1], t.b[1]);
#endif
    CHECK(cudaEventDestroy(gate));
    CHECK(cudaEventDestroy(ea));
    CHECK(cudaEventDestroy(eb));
    return t;
}

static times median(const pair &p, bool a, bool b, int n, std::vector<note> *blocks) {
    std::vector<times> all;
    if (n > 1) run(p, a, b, nullptr); // code and clocks are warm
    for (int i = 0; i < n; i++) all.push_back(run(p, a, b, blocks));
    std::sort(all.begin(), all.end(), [](const times &x, const times &y) { return x.both < y.both; });
    return all[all.size() / 2];
}

// With TIMES: does b's kernel start beside a's, or when an SM is empty? Both are small enough to fit.
static void carveout(work a, work b) {
    pair p = {"", a, b};
    times best = {};
    for (int i = 0; i < 4; i++) {
        times t = run(p, true, true, nullptr);
        if (i == 1 || (i && t.b[0] < best.b[0])) best = t;
    }
    printf("%d,%d,%d,%d,%d,%d,%.2f,%.2f,%d\n", a.grid, a.block, a.shared, b.grid, b.block, b.shared,
           best.a[1], best.b[0], best.b[0] < best.a[1] - 1);
}
static void carveouts() {
    static const int sizes[] = {0, 1, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 100 << 10};
    printf("a_grid,a_threads,a_shared,b_grid,b_threads,b_shared,a_end_us,b_start_us,beside\n");
    for (int threads : {128, 512})
        for (int x : sizes)
            for (int y : sizes) carveout({compute, 132, threads, x, 200}, {compute, 132, threads, y, 200});
    for (int x : {0, 1 << 10, 4 << 10})
        for (int y : {0, 1 << 10, 4 << 10, 16 << 10}) {
            carveout({compute, 528, 256, x, 200}, {compute, 132, 256, y, 200});
            carveout({compute, 132, 1024, x, 200}, {compute, 132, 64, y, 200});
            carveout({compute, 132, 64, x, 200}, {compute, 132, 1024, y, 200});
        }
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1, least, greatest;
    const char *only = argc > 2 && *argv[2] ? argv[2] : nullptr;
    FILE *f = argc > 3 ? fopen(argv[3], "w") : nullptr;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
    CHECK(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, least));
    CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    CHECK(cudaFuncSetAttribute(latency, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    CHECK(cudaFuncSetAttribute(compute, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    CHECK(cudaMalloc(&out, 4096));
    CHECK(cudaMalloc(&notes, 3 * MOST * sizeof *notes));
    CHECK(cudaMalloc(&memory, room));
    if (argc > 1 && !strcmp(argv[1], "carveouts")) {
        carveouts();
        return 0;
    }
    printf("pair,a_us,b_us,a_start_us,a_end_us,b_start_us,b_end_us,both_us\n");
    for (const pair &p : pairs) {
        if (only && strcmp(only, p.name)) continue;
        std::vector<note> blocks;
        times a = median(p, true, false, n, nullptr), b = median(p, false, true, n, nullptr);
        times t = median(p, true, true, n, f ? &blocks : nullptr);
        printf("%s,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f\n", p.name, a.both, b.both, t.a[0], t.a[1], t.b[0],
               t.b[1], t.both);
        fflush(stdout);
        for (size_t i = 0; f && i < blocks.size(); i++)
            if (blocks[i].end)
                fprintf(f, "%s,%c,%zu,%u,%llu,%llu\n", p.name, i < MOST ? 'a' : 'b', i % MOST, blocks[i].sm,
                        blocks[i].start, blocks[i].end);
    }
    if (f) fclose(f);
    return 0;
}
