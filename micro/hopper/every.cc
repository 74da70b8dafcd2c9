// Runs each kernel of tests/hopper/manual.py and corpus.py on random and on extreme data, and says what it left.
//
//   g++ -O2 -o every every.cc -I/usr/local/cuda/include -lcuda
//   grep -o 'entry [A-Za-z0-9_]*' manual.ptx | cut -c7- > manual.names
//   ./every manual.cubin manual.names [FIRST [STEP]] > manual.txt
//
// Kernel FIRST, FIRST + STEP, ... A line is the kernel's number and name, the number of the data, a hash of all words
// that have changed, and some of them (place:value). Under `orrery app` the same program says what Orrery does: the lines
// are to be the same. A kernel that ends with an error says so and ends the program (status 3).
#include <cuda.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
typedef uint32_t u32;
typedef uint64_t u64;
enum { THREADS = 128, BYTES = THREADS * 1024, IMAGE = 40960, ALL = BYTES + IMAGE, TENSOR = 65536 };
static u64 state;
static u32 rnd() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    u32 x = (u32)(state >> 33);
    return x ^ (u32)(state >> 11 & 0x80000000u);
}
static u32 below(u32 n) { return rnd() % n; }

// ---- numbers: bits of exponent and mantissa, around 1 or anywhere, now and then an extreme one
static u32 small(u32 e, u32 m, u32 around) {
    u32 bias = (1u << (e - 1)) - 1, x = bias - around + below(2 * around + 1);
    return below(2) << (e + m) | x << m | (rnd() & ((1u << m) - 1));
}
static u32 wide(u32 e, u32 m, u32 rare) {
    u32 top = (1u << e) - 1, sign = below(2) << (e + m), mask = (1u << m) - 1;
    if (below(rare) == 0) {
        const u32 extremes[] = {0, 1, mask, 1u << m, (top - 1) << m | mask, top << m, top << m | 1u << (m - 1), top << m | 1, top / 2 << m, (top / 2 + 1) << m | 1};
        return sign | extremes[below(10)];
    }
    return sign | below(top) << m | (rnd() & mask);
}
static u32 word(int kind, bool far, u32 rare) { // kind: 0 bits, 1 f32, 2 f16, 3 bf16, 5 integers, 6 8-bit floats, 7 tf32
    u32 x = 0;
    switch (kind) {
    case 1: return far ? wide(8, 23, rare) : small(8, 23, 6);
    case 7: return (far ? wide(8, 23, rare) : small(8, 23, 6)) & ~0u << (below(4) ? 13 : 0);
    case 2: x = far ? wide(5, 10, rare) : small(5, 10, 3); return x | (far ? wide(5, 10, rare) : small(5, 10, 3)) << 16;
    case 3: x = far ? wide(8, 7, rare) : small(8, 7, 5); return x | (far ? wide(8, 7, rare) : small(8, 7, 5)) << 16;
    case 5: { const u32 some[] = {0, 1, 2, 31, 32, 33, 63, 64, 255, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff8000, 0x7fff}; return below(2) ? some[below(14)] : rnd() >> below(32); }
    case 6: for (u32 i = 0; i < 4; i++) x |= (far ? rnd() & 255 : below(2) << 7 | (0x28 + below(0x20))) << 8 * i; return x;
    default: return rnd();
    }
}
static void fill(u32 *to, u32 words, int kind, bool far, u32 rare) {
    if (kind == 4) // f64
        for (u32 i = 0; i + 1 < words; i += 2) {
            u32 high = far ? wide(11, 20, rare) : small(11, 20, 8);
            to[i] = (high << 1 == 0 || high << 1 == 0xffe00000u) && below(2) ? 0 : rnd(), to[i + 1] = high;
        }
    else
        for (u32 i = 0; i < words; i++) to[i] = word(kind, far, rare);
}

// ---- what a kernel needs
static bool corpus; // whose kernels have three parameters and 1,024 bytes of data for a thread, not four and 512
struct plan { u32 threads, stride, n, cases; u64 p1; };
static bool starts(const std::string &s, const char *with) { return s.compare(0, strlen(with), with) == 0; }
static bool has(const std::string &s, const char *what) { return s.find(what) != std::string::npos; }
static plan plan_of(const std::string &k, CUdeviceptr mem) {
    static const char *const no[] = {"clock", "globaltimer", "smid", "nsmid", "warpid", "nwarpid", "gridid", "pm0", "envreg", "current_graph", "trap", "brkpt", "bar_sync", "bar_arrive", "bar_red", "tex", "tld4", "txq", "suq", "suld", "sust", "sured", "istypep",
        "cvta", "isspacep", "reserved", "total_smem", "aggr_smem", "dynamic_smem", "mov_fn", "policy", "pf", "discard", "applyprio", // of the manual's
        "bulk_g2s", "bulk_s2s", "bulk_red_s2s", "bulk_prefetch", "tensor_ld", "tensor_prefetch", "tensormap_shared", "tensormap_cp", "prefetch_t", "fence_tensormap", "st_async", "red_async", "multimem", "setmaxnreg", "applypriority", "stmatrix", "mapa_u64", "mapa_shared", "getctarank_u64", "dsmem_isspacep", "dsmem_ld_generic", "cp_async_mbar", "mbar_generic", "explicitcluster", "reqnctapercluster", "barrier_cluster"};
    for (const char *s : no) if (starts(k, s)) return {};
    if (has(k, "im2col")) return {};
    if (starts(k, "wgmma")) return {128, 1024, 0, 8, mem + BYTES};
    if (starts(k, "tensor_")) return {1, 1024, 0, 1, mem + BYTES};
    if (starts(k, "bulk_") || starts(k, "dsmem")) return {1, 1024, 0, 12, 0};
    if (has(k, "remote_count")) return {};
    if (starts(k, "mbar_")) return {1, 1024, !has(k, "remote") && !has(k, "tx_cluster"), 2, 0};
    if (starts(k, "mapa") || starts(k, "getcta")) return {1, 1024, 0, 1, 0};
    u64 policy = 0x12f0000000000000ull; // evict first
    u32 n = starts(k, "shfl_p") || starts(k, "match") || starts(k, "bar_warp") || starts(k, "elect_mask") ? ~0u : starts(k, "brx") ? 1 : starts(k, "mma_sp") ? 0x4e4ee4e4u : starts(k, "cp_async") ? 2 : starts(k, "dpx") || starts(k, "half2") ? 0x80017fff : 16;
    static const char *const some[] = {"sreg", "elect", "redux", "cvt_", "dpx", "half2", "atom_v4_f32", "red_v8_f16", "atom_b128", "createpolicy", "mma_f", "tensormap_global", "griddep", "fence_proxy", "fence_mbar", "nocomplete"};
    bool one_of = !corpus;
    for (const char *x : some) one_of |= starts(k, x);
    if (!one_of) return {};
    return {32, corpus ? 1024u : 512u, n, 10, policy};
}
// The data of case c, and the tensor map of what is reduced.
static void data_of(const std::string &k, u32 c, const plan &p, std::vector<u32> &m) {
    state = 0x9e3779b97f4a7c15ull * (c + 1);
    static const int kinds[] = {0, 1, 2, 3, 4, 5};
    if (!starts(k, "wgmma")) {
        u32 round = c / 6 & 1;
        fill(m.data(), BYTES / 4, kinds[c % 6], !round, 3);
        if (starts(k, "bulk_")) m[0] = 64;
        if (starts(k, "redux_sync") || has(k, "pred_2")) // their masks
            for (u32 t = 0; t < 32; t++) m[t * 128 + 8] = ~0u;
        return;
    }
    int kind = has(k, "e4m3") || has(k, "e5m2") ? 6 : has(k, "tf32") ? 7 : has(k, "bf16") ? 3 : has(k, "f16") || has(k, "two") ? 2 : 0;
    bool far = c & 1, halves = has(k, "wgmma_f16_f16") || has(k, "wgmma_f16f16") || has(k, "wgmma_f16_e") || has(k, "sp_f16_e");
    fill(m.data() + BYTES / 4, IMAGE / 4, kind, far, 600);
    static const u32 lbo[] = {128, 2048, 1024, 512}, sbo[] = {256, 1024, 512, 256};
    u32 l = c / 2;
    u64 d = (u64)(lbo[l] / 16) << 16 | (u64)(sbo[l] / 16) << 32 | (u64)l << 62;
    for (u32 t = 0; t < p.threads; t++) {
        u32 *x = m.data() + t * 256;
        fill(x, 256, halves ? 2 : kind == 0 ? 0 : 1, far, 600);
        fill(x + 8, 4, kind, far, 600);
        u64 b = d + 8192 / 16;
        memcpy(x + 2, &d, 8), memcpy(x + 4, &b, 8);
        x[6] = c != 7;
        x[12] = 0;
        for (u32 i = 0; i < 8; i++) x[12] |= (below(2) ? 4u : 14u) << 4 * i;
    }
}
static bool map_of(const std::string &k, u32 type, CUdeviceptr mem, CUtensorMap *map) {
    static const u32 sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
    bool integer = type >= 2 && type <= 5, half = type == 6 || type == 9;
    if (has(k, "_add") ? type == 5 || !(integer || type >= 6) : has(k, "_min") || has(k, "_max") ? !(integer || half) : has(k, "_inc") || has(k, "_dec") ? type != 2 : has(k, "_red") && !integer) return false;
    u32 rank = 0;
    for (u32 r = 1; r <= 5; r++) if (has(k, (std::to_string(r) + "d").c_str())) rank = r;
    u64 dims[5] = {16, 4, 4, 2, 2}, strides[4];
    u32 box[5] = {8, 2, 2, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
    for (u32 d = 0; d < 4; d++) strides[d] = (d ? strides[d - 1] : sizes[type]) * dims[d];
    memset(map, 0, sizeof *map);
    return !cuTensorMapEncodeTiled(map, (CUtensorMapDataType)type, rank, (void *)(mem + TENSOR), dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static u32 number;
static std::string name;
static void ck(CUresult r, const char *what) {
    if (!r) return;
    const char *text = "?";
    cuGetErrorName(r, &text);
    printf("%u %s error %s: %s\n", number, name.c_str(), what, text);
    fflush(stdout);
    _Exit(3);
}
static void one(CUfunction f, const plan &p, u32 c, CUdeviceptr mem, const std::vector<u32> &m) {
    static std::vector<u32> after(ALL / 4);
    u32 used = starts(name, "tensor_") ? (u32)BYTES : p.threads == 1 ? 4096 : p.threads * p.stride; // bytes that can change
    u32 sent = p.threads == 128 ? (u32)ALL : used;
    ck(cuMemcpyHtoD(mem, m.data(), sent), "copy");
    struct { u64 a, b; u32 n; u32 pad[3]; u32 p3[16]; } args = {mem, p.p1, p.n, {0, 0, 0}, {}};
    for (u32 i = 0; i < 16; i++) args.p3[i] = 0x01020304u * (i + 1);
    size_t size = corpus ? 20 : 32 + 64;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    ck(cuLaunchKernel(f, 1, 1, 1, p.threads, 1, 1, 0, NULL, NULL, extra), "launch");
    ck(cuCtxSynchronize(), "run");
    ck(cuMemcpyDtoH(after.data(), mem, used), "copy back");
    u64 hash = 14695981039346656037ull;
    std::string some;
    u32 shown = 0, last = ~0u;
    for (u32 i = 0; i < used / 4; i++) {
        if (after[i] == m[i]) continue;
        hash = (hash ^ i) * 1099511628211ull, hash = (hash ^ after[i]) * 1099511628211ull;
        u32 thread = i / (p.stride / 4);
        if (thread != last) shown = 0, last = thread;
        if ((p.threads == 1 || thread % 13 == 1) && shown++ < (p.threads == 128 ? 2 : 4)) {
            char text[32];
            snprintf(text, sizeof text, " %x:%x", i, after[i]);
            if (some.size() < 200) some += text;
        }
    }
    printf("%u %s %u %016llx%s\n", number, name.c_str(), c, (unsigned long long)hash, some.c_str());
}
int main(int argc, char **argv) {
    FILE *list = argc > 2 ? fopen(argv[2], "r") : NULL;
    u32 first = argc > 3 ? (u32)atoi(argv[3]) : 0, step = argc > 4 ? (u32)atoi(argv[4]) : 1;
    if (!list) return 2;
    corpus = strstr(argv[1], "corpus") != NULL;
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUdeviceptr mem;
    ck(cuInit(0), "init"), ck(cuDeviceGet(&device, 0), "device"), ck(cuDevicePrimaryCtxRetain(&context, device), "context"), ck(cuCtxSetCurrent(context), "context");
    ck(cuModuleLoad(&module, argv[1]), "module"), ck(cuMemAlloc(&mem, ALL), "memory");
    char line[256];
    for (u32 at = 0; fscanf(list, "%255s", line) == 1; at++) {
        if (at < first || (at - first) % step) continue;
        number = at, name = line;
        plan p = plan_of(name, mem);
        CUfunction f;
        if (!p.threads) continue;
        printf("%u %s begins\n", number, line);
        fflush(stdout);
        ck(cuModuleGetFunction(&f, module, line), "function");
        std::vector<u32> m(ALL / 4);
        if (starts(name, "tensor_")) {
            for (u32 c = 0; c < 20; c++) { // type, data
                CUtensorMap map;
                if (!map_of(name, c % 10, mem, &map)) continue;
                static const int kinds[] = {0, 0, 0, 0, 0, 0, 2, 1, 4, 3};
                state = c + 1;
                fill(m.data(), BYTES / 4, kinds[c % 10], c >= 10, 3);
                const u32 coordinates[] = {8, 1, ~0u, 1, 0};
                memcpy(m.data(), coordinates, sizeof coordinates);
                m[10] = 0, m[11] = 0x12f00000;
                ck(cuMemcpyHtoD(mem + BYTES, &map, sizeof map), "copy");
                one(f, p, c, mem, m);
            }
            continue;
        }
        for (u32 c = 0; c < p.cases; c++) data_of(name, c, p, m), one(f, p, c, mem, m);
    }
    return 0;
}
