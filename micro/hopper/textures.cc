// Runs each kernel of textures.py on textures of its shape, and says what it left.
//
//   g++ -O2 -o textures textures.cc -I/usr/local/cuda/include -lcuda
//   grep -o 'entry [a-z0-9_]*' plain.ptx | cut -c7- > plain.names
//   ./textures plain.cubin plain.names plain.bin [FIRST [LAST]] > plain.txt
//
// Kernels FIRST to LAST. A line is the kernel's number and name, the texture, a hash of all that was written and the first of
// it; the file gets all of it, 4 KiB a line. Under `orrery app` the same program says what Orrery does: the lines are to be the
// same. A kernel that ends with an error says so and ends the program (status 3).
#include <cuda.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
typedef uint32_t u32;
typedef uint64_t u64;
enum { THREADS = 256 };
static u64 state;
static u32 rnd() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(state >> 33) ^ (u32)(state >> 11 & 0x80000000u);
}
static u32 below(u32 n) { return rnd() % n; }
static float unit() { return (float)(rnd() >> 8) / 16777216.0f; }
static bool has(const std::string &s, const char *what) { return s.find(what) != std::string::npos; }

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

// ---- textures
struct shape { const char *name; u32 w, h, d, flags; }; // depth: layers, of cubes six each
static const shape shapes[] = {{"1d", 37, 0, 0, 0}, {"2d", 16, 12, 0, 0}, {"3d", 8, 6, 5, 0}, {"a1d", 21, 0, 3, CUDA_ARRAY3D_LAYERED}, {"a2d", 9, 7, 3, CUDA_ARRAY3D_LAYERED},
                               {"cube", 8, 8, 6, CUDA_ARRAY3D_CUBEMAP}, {"acube", 8, 8, 12, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED}};
struct format { const char *name; CUarray_format is; u32 channels, bytes; bool integer; };
static const format formats[] = {{"f32", CU_AD_FORMAT_FLOAT, 1, 4, false}, {"u8n", CU_AD_FORMAT_UNSIGNED_INT8, 1, 1, false}, {"u16n", CU_AD_FORMAT_UNSIGNED_INT16, 1, 2, false}, {"s16nx2", CU_AD_FORMAT_SIGNED_INT16, 2, 4, false},
                                 {"f16", CU_AD_FORMAT_HALF, 1, 2, false}, {"f32x4", CU_AD_FORMAT_FLOAT, 4, 16, false}, {"u32", CU_AD_FORMAT_UNSIGNED_INT32, 1, 4, true}, {"u8x4", CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, true}};
struct how { bool linear, normalized; CUaddress_mode address; u32 levels; bool mip_linear; };
static const how hows[] = {{false, false, CU_TR_ADDRESS_MODE_CLAMP, 1, false}, {true, false, CU_TR_ADDRESS_MODE_CLAMP, 1, false}, {false, true, CU_TR_ADDRESS_MODE_WRAP, 1, false}, {true, true, CU_TR_ADDRESS_MODE_WRAP, 1, false},
                           {true, true, CU_TR_ADDRESS_MODE_BORDER, 1, false}, {false, true, CU_TR_ADDRESS_MODE_MIRROR, 3, false}, {true, true, CU_TR_ADDRESS_MODE_CLAMP, 3, true}};
struct made { CUtexObject tex; CUsurfObject surf; CUarray array; u32 width; std::string name; bool normalized; };

static u32 texel_word(const format &f, u32 i) {
    static const float some[] = {0, 0.25f, 0.5f, 0.75f, 1, -1, 2, 0.125f};
    if (f.is == CU_AD_FORMAT_FLOAT) {
        float v = i % 3 == 0 ? some[below(8)] : unit() * 3 - 1;
        u32 bits;
        memcpy(&bits, &v, 4);
        return bits;
    }
    if (f.is == CU_AD_FORMAT_HALF) return (below(2) << 15 | (8 + below(9)) << 10 | below(1024)) | (below(2) << 15 | (8 + below(9)) << 10 | below(1024)) << 16;
    return rnd();
}
static void fill(CUarray to, const format &f, u32 w, u32 h, u32 d) {
    h = h ? h : 1, d = d ? d : 1;
    std::vector<u32> texels((size_t)w * h * d * f.bytes / 4 + 1);
    for (size_t i = 0; i < texels.size(); i++) texels[i] = texel_word(f, (u32)i);
    CUDA_MEMCPY3D c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = texels.data(), c.srcPitch = (size_t)w * f.bytes, c.srcHeight = h;
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY, c.dstArray = to;
    c.WidthInBytes = (size_t)w * f.bytes, c.Height = h, c.Depth = d;
    ck(cuMemcpy3D(&c), "copy of texels");
}
static CUtexObject object(CUarray array, CUmipmappedArray mip, const format &f, const how &h) {
    CUDA_RESOURCE_DESC r;
    CUDA_TEXTURE_DESC t;
    memset(&r, 0, sizeof r), memset(&t, 0, sizeof t);
    r.resType = mip ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY;
    if (mip) r.res.mipmap.hMipmappedArray = mip;
    else r.res.array.hArray = array;
    for (int n = 0; n < 3; n++) t.addressMode[n] = n == 1 && !h.normalized ? CU_TR_ADDRESS_MODE_BORDER : h.address;
    t.filterMode = h.linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    t.flags = (f.integer ? CU_TRSF_READ_AS_INTEGER : 0) | (h.normalized ? CU_TRSF_NORMALIZED_COORDINATES : 0);
    t.mipmapFilterMode = h.mip_linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    t.maxMipmapLevelClamp = 4;
    t.borderColor[0] = 0.25f, t.borderColor[1] = 0.6f, t.borderColor[2] = -1.5f, t.borderColor[3] = 3;
    CUtexObject o = 0;
    ck(cuTexObjectCreate(&o, &r, &t, NULL), "texture object");
    return o;
}
static made make(const shape &s, const format &f, const how &h) {
    static const char *const modes[] = {"wrap", "clamp", "mirror", "border"};
    made m = {0, 0, NULL, s.w, std::string(s.name) + "/" + f.name + (h.linear ? "/linear/" : "/point/") + modes[h.address] + (h.normalized ? "" : "/texels") + (h.levels > 1 ? h.mip_linear ? "/mip-linear" : "/mip-point" : ""), h.normalized};
    CUDA_ARRAY3D_DESCRIPTOR d;
    memset(&d, 0, sizeof d);
    d.Width = s.w, d.Height = s.h, d.Depth = s.d, d.Format = f.is, d.NumChannels = f.channels;
    d.Flags = s.flags | (h.levels > 1 ? 0 : CUDA_ARRAY3D_SURFACE_LDST) | (s.h && strcmp(s.name, "3d") && h.levels == 1 ? CUDA_ARRAY3D_TEXTURE_GATHER : 0);
    if (strcmp(s.name, "2d") && strcmp(s.name, "a2d") && strcmp(s.name, "cube") && strcmp(s.name, "acube")) d.Flags &= ~CUDA_ARRAY3D_TEXTURE_GATHER;
    if (d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) d.Flags &= ~CUDA_ARRAY3D_SURFACE_LDST;
    if (h.levels > 1) {
        CUmipmappedArray mip;
        ck(cuMipmappedArrayCreate(&mip, &d, h.levels), "mipmapped array");
        for (u32 l = 0; l < h.levels; l++) {
            CUarray a;
            ck(cuMipmappedArrayGetLevel(&a, mip, l), "level");
            u32 w = s.w >> l ? s.w >> l : 1, hh = s.h ? (s.h >> l ? s.h >> l : 1) : 0, dd = !strcmp(s.name, "3d") ? (s.d >> l ? s.d >> l : 1) : s.d;
            fill(a, f, w, hh, dd);
        }
        m.tex = object(NULL, mip, f, h);
        return m;
    }
    if (cuArray3DCreate(&m.array, &d)) d.Flags &= ~CUDA_ARRAY3D_TEXTURE_GATHER, ck(cuArray3DCreate(&m.array, &d), "array"); // not of all shapes
    fill(m.array, f, s.w, s.h, s.d);
    m.tex = object(m.array, NULL, f, h);
    return m;
}
static bool surface(made *m, const shape &s, const format &f) {
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUDA_RESOURCE_DESC r;
    memset(&d, 0, sizeof d), memset(&r, 0, sizeof r);
    d.Width = s.w, d.Height = s.h, d.Depth = s.d, d.Format = f.is, d.NumChannels = f.channels, d.Flags = s.flags | CUDA_ARRAY3D_SURFACE_LDST;
    CUarray a;
    ck(cuArray3DCreate(&a, &d), "array");
    fill(a, f, s.w, s.h, s.d);
    r.resType = CU_RESOURCE_TYPE_ARRAY, r.res.array.hArray = a;
    ck(cuSurfObjectCreate(&m->surf, &r), "surface");
    return true;
}

// ---- what a thread has: coordinates, depth, slopes and level, layer, offsets, sample
static void cases(u32 *to, const made &m, u32 seed) {
    static const float depths[] = {0, 0.25f, 0.5f, 0.75f, 1, -1, 2, 0.125f};
    state = 0x9e3779b97f4a7c15ull * (seed + 1);
    for (u32 t = 0; t < THREADS; t++, to += 12) {
        float v[8];
        for (int n = 0; n < 3; n++) v[n] = below(4) ? unit() * 1.6f - 0.3f : (float)below(40) / 37 * 1.1f;
        v[3] = below(2) ? depths[below(8)] : unit() * 3 - 1;
        if (below(40) == 0) v[3] = below(2) ? __builtin_nanf("") : __builtin_inff();
        for (int n = 4; n < 7; n++) v[n] = (unit() - 0.5f) * (below(3) ? 0.5f : 0.05f);
        v[7] = below(5) ? unit() * 4 - 1 : (float)below(4);
        if (!m.normalized) for (int n = 0; n < 7; n++) if (n != 3) v[n] *= (float)m.width;
        memcpy(to, v, sizeof v);
        to[8] = below(4), to[9] = below(16) - 8, to[10] = below(16) - 8, to[11] = below(2) ? 0 : below(8);
    }
}
static CUdeviceptr in, out;
static FILE *all;
static void one(CUfunction f, const std::string &what, u64 tex, u64 samp, const made &like, u32 seed) {
    static u32 before[THREADS * 12], after[THREADS * 4];
    cases(before, like, seed);
    ck(cuMemcpyHtoD(in, before, sizeof before), "copy"), ck(cuMemsetD32(out, 0xeeeeeeee, THREADS * 4), "set");
    void *args[] = {&out, &in, &tex, &samp};
    ck(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL), "launch");
    ck(cuCtxSynchronize(), "run");
    ck(cuMemcpyDtoH(after, out, sizeof after), "copy back");
    u64 hash = 14695981039346656037ull;
    for (u32 w : after) hash = (hash ^ w) * 1099511628211ull;
    fwrite(after, sizeof after, 1, all);
    printf("%u %s %s %016llx %x %x %x %x  %x %x %x %x\n", number, name.c_str(), what.c_str(), (unsigned long long)hash, after[0], after[1], after[2], after[3], after[4], after[5], after[6], after[7]);
    fflush(stdout);
}

static std::vector<made> of_shape[8];
static const std::vector<made> &textures(u32 s) {
    std::vector<made> &v = of_shape[s];
    if (v.empty())
        for (u32 f = 0; f < 8; f++)
            for (u32 h = 0; h < 7; h++) {
                if (formats[f].integer && (hows[h].linear || h > 2)) continue;
                if (f > 1 && s != 1 && h > 1) continue; // of most formats only two dimensions in full
                if (f > 3 && s != 1) continue;
                state = f * 100 + h * 10 + s;
                v.push_back(make(shapes[s], formats[f], hows[h]));
            }
    return v;
}
// Sizes and fields: textures and surfaces of all shapes and formats. Each is one word of a thread.
static void queries(CUfunction f) {
    for (u32 s = 0; s < 7; s++) {
        if (has(name, "suq")) {
            made m = {};
            for (u32 k = 0; k < 8; k++) surface(&m, shapes[s], formats[k]), one(f, std::string(shapes[s].name) + "/" + formats[k].name, 0, m.surf, m, k);
            continue;
        }
        const std::vector<made> &t = textures(s);
        for (u32 k = 0; k < t.size(); k += s == 1 ? 1 : 3) one(f, t[k].name, t[k].tex, has(name, "ind") ? t[k].tex >> 20 : 0, t[k], k);
    }
}
// A texture of one object with the sampler of another: its handle, and the part of it that is a sampler's number.
static void mixed(CUfunction f, u32 s) {
    const std::vector<made> &t = textures(s);
    for (u32 a = 0; a < 4; a++)
        for (u32 b = 0; b < 4; b++) {
            char what[160];
            snprintf(what, sizeof what, "%s+%s", t[a].name.c_str(), t[b].name.c_str());
            std::string w = what;
            one(f, w + "/whole", t[a].tex, t[b].tex, t[a], a * 4 + b);
            one(f, w + "/number", t[a].tex, t[b].tex >> 20, t[a], a * 4 + b);
            one(f, w + "/parts", t[a].tex & 0xfffff, t[b].tex >> 20, t[a], a * 4 + b);
            one(f, w + "/place", t[a].tex & 0xfffff, t[b].tex & ~0xfffffull, t[a], a * 4 + b);
        }
}
// References by name: as the module says, then as the driver was told.
static void named(CUmodule module, CUfunction f, bool bound) {
    const std::vector<made> &t = textures(1);
    if (bound) {
        static const char *const names[] = {"T", "W"};
        for (const char *n : names) {
            CUtexref r;
            ck(cuModuleGetTexRef(&r, module, n), "reference");
            ck(cuTexRefSetArray(r, t[0].array, CU_TRSA_OVERRIDE_FORMAT), "reference's array");
        }
    }
    one(f, bound ? "bound" : "unbound", 0, 0, t[0], 1);
}
int main(int argc, char **argv) {
    FILE *list = argc > 3 ? fopen(argv[2], "r") : NULL;
    u32 first = argc > 4 ? (u32)atoi(argv[4]) : 0, last = argc > 5 ? (u32)atoi(argv[5]) : ~0u;
    if (!list) return 2;
    all = fopen(argv[3], first ? "ab" : "wb");
    CUdevice device;
    CUcontext context;
    CUmodule module;
    name = "start";
    ck(cuInit(0), "init"), ck(cuDeviceGet(&device, 0), "device"), ck(cuDevicePrimaryCtxRetain(&context, device), "context"), ck(cuCtxSetCurrent(context), "context");
    ck(cuModuleLoad(&module, argv[1]), "module");
    ck(cuMemAlloc(&in, THREADS * 48), "memory"), ck(cuMemAlloc(&out, THREADS * 16), "memory");
    char line[256];
    for (u32 at = 0; fscanf(list, "%255s", line) == 1; at++) {
        if (at < first || at > last) continue;
        number = at, name = line;
        printf("%u %s begins\n", at, line);
        fflush(stdout);
        CUfunction f;
        ck(cuModuleGetFunction(&f, module, line), "function");
        if (has(name, "name_")) { named(module, f, true); continue; }
        if (has(name, "txq") || has(name, "suq")) { queries(f); continue; }
        for (u32 s = 0; s < 7; s++) {
            std::string n = shapes[s].name;
            if (name == "ind_" + n || name.compare(0, n.size() + 5, "ind_" + n + "_") == 0) mixed(f, s);
            if (name.compare(0, n.size() + 2, "t" + n + "_")) continue;
            const std::vector<made> &t = textures(s);
            for (u32 k = 0; k < t.size(); k++) one(f, t[k].name, t[k].tex, 0, t[k], k);
        }
    }
    fclose(all);
    return 0;
}
