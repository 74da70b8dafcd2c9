// Arrays, textures and surfaces of the runtime, read by kernels of the driver, for tests/test_app.sh. Types
// are declared as CUDA's manual has them. What a linear filter makes of texels x + 10 y is that plane.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int bits[4], kind;
} channels;
typedef struct {
    size_t width, height, depth;
} extent;
typedef struct {
    size_t x, y, z;
} position;
typedef struct {
    void *ptr;
    size_t pitch, xsize, ysize;
} pitched;
typedef struct {
    void *src_array;
    position src_pos;
    pitched src;
    void *dst_array;
    position dst_pos;
    pitched dst;
    extent size;
    int kind;
} copy;
typedef struct {
    int type;
    union {
        void *array;
        struct {
            void *at;
            channels c;
            size_t bytes;
        } linear;
        int reserved[32];
    } of;
    unsigned flags;
} resource;
typedef struct {
    int address[3], filter, read, srgb;
    float border[4];
    int normalized;
    unsigned anisotropy;
    int mip_filter;
    float bias, least, most;
    int no_trilinear, seamless;
} how;
int cudaMalloc(void **p, size_t n);
int cudaMemcpy(void *to, const void *from, size_t n, int kind);
int cudaMalloc3DArray(void **array, const channels *c, extent size, unsigned flags);
int cudaMemcpy3D(const copy *p);
int cudaMemcpy2DFromArray(void *to, size_t pitch, void *from, size_t x, size_t y, size_t w, size_t h,
                          int kind);
int cudaFreeArray(void *array);
int cudaCreateTextureObject(uint64_t *t, const resource *r, const how *h, const void *view);
int cudaCreateSurfaceObject(uint64_t *t, const resource *r);
int cudaDestroyTextureObject(uint64_t t);
int cudaDeviceSynchronize(void), cudaGetLastError(void), cuMemFree_v2(uint64_t);
int cuModuleLoadData(void **module, const void *text);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra);

static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry sample(.param .u64 t, .param .u64 to) {\n"
    "  .reg .b64 %d<5>; .reg .b32 %r<3>; .reg .f32 %f<9>;\n"
    "  ld.param.u64 %d1, [t]; ld.param.u64 %d2, [to]; mov.u32 %r1, %tid.x;\n"
    "  cvt.rn.f32.u32 %f1, %r1; mul.f32 %f2, %f1, 0f3E800000;\n" // a quarter
    "  tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d1, {%f2, %f2}];\n"
    "  mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d2, %d3; st.global.f32 [%d4], %f3; ret; }\n"
    ".visible .entry paint(.param .u64 s) {\n"
    "  .reg .b64 %d<2>; .reg .b32 %r<5>;\n"
    "  ld.param.u64 %d1, [s]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; add.u32 %r3, %r1, 100; mov.u32 %r4, "
    "1;\n"
    "  sust.b.2d.b32.zero [%d1, {%r2, %r4}], {%r3}; ret; }\n"
    ".visible .entry more(.param .u64 s) {\n" // each adds one to what is there
    "  .reg .b64 %d<2>; .reg .b32 %r<5>;\n"
    "  ld.param.u64 %d1, [s]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r4, %ctaid.x;\n"
    "  suld.b.2d.b32.zero {%r3}, [%d1, {%r2, %r4}]; add.u32 %r3, %r3, 1;\n"
    "  sust.b.2d.b32.zero [%d1, {%r2, %r4}], {%r3}; ret; }\n";

static void must(int error, const char *what) {
    if (!error) return;
    printf("%s: error %d\n", what, error);
    exit(1);
}

static void launch(void *module, const char *name, void **params, unsigned blocks, unsigned threads) {
    void *function;
    must(cuModuleGetFunction(&function, module, name), name);
    must(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL), name);
    must(cudaDeviceSynchronize(), name);
}

enum { W = 20, H = 12 };
int main(void) {
    float in[H][W], out[32];
    uint32_t painted[W];
    void *array, *to, *module;
    uint64_t t, s;
    channels c = {{32, 0, 0, 0}, 2};
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) in[y][x] = (float)(x + 10 * y);
    must(cudaMalloc3DArray(&array, &c, (extent){W, H, 0}, 2), "array");
    copy p = {.src = {in, sizeof in[0], W, H}, .dst_array = array, .size = {W, H, 1}, .kind = 1};
    must(cudaMemcpy3D(&p), "copy");
    must(cudaMalloc(&to, sizeof out), "memory");
    resource r = {.type = 0};
    r.of.array = array;
    how h = {.address = {1, 1, 1}, .filter = 1};
    must(cudaCreateTextureObject(&t, &r, &h, NULL), "texture");
    must(cuModuleLoadData(&module, code), "module");
    launch(module, "sample", (void *[]){&t, &to}, 1, 32);
    must(cudaMemcpy(out, to, sizeof out, 2), "back");
    int wrong = 0;
    for (int n = 0; n < 32; n++) {
        float at = (float)n / 4 - 0.5f; // texels are at halves; beyond the first it stays
        wrong += out[n] != (at < 0 ? 0 : 11 * at);
    }
    printf("sampled, wrong: %d\n", wrong);
    must(cudaCreateSurfaceObject(&s, &r), "surface");
    launch(module, "paint", (void *[]){&s}, 1, 32); // 12 of them outside
    must(cudaMemcpy2DFromArray(painted, sizeof painted, array, 0, 1, sizeof painted, 1, 2), "row");
    for (int x = wrong = 0; x < W; x++) wrong += painted[x] != 100u + (uint32_t)x;
    printf("painted, wrong: %d\n", wrong);
    launch(module, "more", (void *[]){&s}, H, 32);
    must(cudaMemcpy2DFromArray(painted, sizeof painted, array, 0, 1, sizeof painted, 1, 2), "row");
    for (int x = wrong = 0; x < W; x++) wrong += painted[x] != 101u + (uint32_t)x;
    printf("one more, wrong: %d\n", wrong);
    printf("driver: %d, last: %d\n", cuMemFree_v2(1) != 0, cudaGetLastError());
    h.filter = 1, r.type = 7;
    printf("no such resource: %d\n", cudaCreateTextureObject(&s, &r, &h, NULL));
    must(cudaDestroyTextureObject(t), "destroy");
    must(cudaFreeArray(array), "free");
    printf("twice: %d\n", cudaFreeArray(array) != 0);
    void *function;
    must(cuModuleGetFunction(&function, module, "sample"), "sample");
    cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&t, &to}, NULL);
    printf("gone: %d\n", cudaDeviceSynchronize());
    return 0;
}
