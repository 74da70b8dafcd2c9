// A program as CUDA 11 or 12 (-DCUDA=11, 12) builds it: test_app.sh links it with a library of that version's
// name and symbol versions. It calls the functions whose arguments or structures CUDA has changed since, and
// looks behind what it lent them. Types are declared as that version's headers have them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEHIND 0x5a
typedef struct {
    unsigned x, y, z;
} dim3;
typedef struct {
    int bits[4], kind;
} channels;
typedef struct { // cudaResourceDesc of 11 and 12: 64 bytes
    int type;
    union {
        struct {
            void *at;
            channels c;
            size_t bytes;
        } linear;
        char room[56];
    } of;
} resource;
typedef struct { // cudaTextureDesc; seamlessCubemap came with 12
    int address[3], filter, read, srgb;
    float border[4];
    int normalized;
    unsigned anisotropy;
    int mip_filter;
    float bias, least, most;
    int no_trilinear;
#if CUDA >= 12
    int seamless;
#endif
} how;
_Static_assert(sizeof(resource) == 64 && sizeof(how) == (CUDA >= 12 ? 72 : 68), "as the headers have them");

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *,
                            int *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int cudaMalloc(void **, size_t), cudaMemcpy(void *, const void *, size_t, int);
int cudaStreamCreate(void **), cudaStreamSynchronize(void *);
int cudaStreamBeginCapture(void *, int), cudaStreamEndCapture(void *, void **);
int cudaStreamGetCaptureInfo(void *, int *, unsigned long long *);
int cudaStreamGetCaptureInfo_ptsz(void *, int *, unsigned long long *);
int cudaMemsetAsync(void *, int, size_t, void *);
int cudaMemPrefetchAsync(const void *, size_t, int, void *);
int cudaMemPrefetchAsync_ptsz(const void *, size_t, int, void *);
int cudaMemAdvise(const void *, size_t, int, int);
int cudaPointerGetAttributes(void *, const void *);
int cudaGraphLaunch(void *, void *), cudaGraphGetEdges(void *, void **, void **, size_t *);
int cudaCreateTextureObject(uint64_t *, const resource *, const how *, const void *);
int cudaGetTextureObjectResourceDesc(resource *, uint64_t), cudaGetTextureObjectTextureDesc(how *, uint64_t);
int cudaThreadSetCacheConfig(int), cudaThreadGetCacheConfig(int *);
#if CUDA >= 12
int cudaGraphInstantiate(void **, void *, unsigned long long);
int cudaGraphExecUpdate(void *, void *, void *);
int cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);
#else
int cudaGraphInstantiate(void **, void *, void **, char *, size_t);
int cudaGraphExecUpdate(void *, void *, void **, int *);
int cudaGetDriverEntryPoint(const char *, void **, unsigned long long);
int cudaProfilerInitialize(const char *, const char *, int);
#endif
int cudaGetDeviceProperties_v2(void *, int), cudaGetDeviceProperties(void *, int);

static void say(const char *what, int ok) { printf("%s: %s\n", what, ok ? "right" : "wrong"); }

// Room for n bytes, with others behind them that nobody may touch.
static char room[4096];
static void *lent(size_t n) {
    memset(room, 0, sizeof room);
    memset(room + n, BEHIND, 128);
    return room;
}
static int untouched(size_t n) {
    for (size_t i = 0; i < 128; i++)
        if (room[n + i] != BEHIND) return 0;
    return 1;
}

static struct {
    int magic, version;
    const void *data, *more;
} fat = {0x466243b1, 1, NULL, NULL};
static char axpy; // its address stands for the kernel

static void registers(const char *path) {
    FILE *f = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    if (!f || !bytes || fread(bytes, 1, 1 << 20, f) < 64) exit(3);
    fclose(f);
    fat.data = bytes;
    void **h = __cudaRegisterFatBinary(&fat);
    __cudaRegisterFunction(h, &axpy, "axpy", "axpy", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFatBinaryEnd(h);
}

static void test_kernel(void) {
    float x[100], y[100], a = 3, *dx, *dy;
    int n = 100, wrong = 0;
    for (int i = 0; i < n; i++) x[i] = (float)i, y[i] = 1;
    cudaMalloc((void **)&dx, sizeof x);
    cudaMalloc((void **)&dy, sizeof y);
    cudaMemcpy(dx, x, sizeof x, 1);
    cudaMemcpy(dy, y, sizeof y, 1);
    void *args[] = {&n, &a, &dx, &dy};
    cudaLaunchKernel(&axpy, (dim3){1, 1, 1}, (dim3){128, 1, 1}, args, 0, NULL);
    cudaMemcpy(y, dy, sizeof y, 2);
    for (int i = 0; i < n; i++) wrong += y[i] != 3 * (float)i + 1;
    say("kernel", !wrong);
}

static void test_textures(void) {
    uint64_t t = 0;
    void *p;
    cudaMalloc(&p, 4096);
    resource r = {.type = 2, .of.linear = {p, {{32, 0, 0, 0}, 2}, 4096}};
    how h = {.address = {1, 1, 1}, .bias = 0.5f, .no_trilinear = 1};
    say("texture", !cudaCreateTextureObject(&t, memcpy(lent(sizeof r), &r, sizeof r), &h, NULL) && t);
    resource *back = lent(sizeof r);
    say("its resource", !cudaGetTextureObjectResourceDesc(back, t) && back->of.linear.at == p);
    say("nothing behind it", untouched(sizeof r));
    how *as = lent(sizeof h);
    say("how it is read",
        !cudaGetTextureObjectTextureDesc(as, t) && as->bias == 0.5f && as->no_trilinear == 1);
    say("nothing behind that", untouched(sizeof h));
}

static void *captured(void *stream, void *p, int value) {
    void *graph = NULL;
    int status = 0;
    unsigned long long id;
    cudaStreamBeginCapture(stream, 0);
    cudaMemsetAsync(p, value, 64, stream);
    cudaStreamGetCaptureInfo(stream, &status, &id);
    if (status != 1 || cudaStreamGetCaptureInfo_ptsz(stream, &status, &id) || status != 1) return NULL;
    cudaMemsetAsync((char *)p + 64, value, 64, stream);
    cudaStreamEndCapture(stream, &graph);
    return graph;
}

static void test_graphs(void) {
    char got[128];
    void *stream, *exec = NULL, *p, *from, *to;
    cudaMalloc(&p, 128);
    cudaStreamCreate(&stream);
    void *first = captured(stream, p, 1), *second = captured(stream, p, 2);
    size_t edges = 1;
    say("graphs", first && second && !cudaGraphGetEdges(first, &from, &to, &edges) && edges == 1);
#if CUDA >= 12
    struct {
        int code;
        void *node, *from;
    } *result = lent(sizeof *result);
    int error = cudaGraphInstantiate(&exec, first, 0) || cudaGraphExecUpdate(exec, second, result) ||
                result->code || !untouched(sizeof *result);
#else
    void *node = stream;
    int code = 77;
    int error = cudaGraphInstantiate(&exec, first, &node, NULL, 0) ||
                cudaGraphExecUpdate(exec, second, &node, &code) || code || node;
#endif
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    cudaMemcpy(got, p, 128, 2);
    say("updated", !error && got[0] == 2 && got[127] == 2);
}

static void test_others(void) {
    void *p, *fn = NULL;
    int config = 9, status = 0;
    cudaMalloc(&p, 4096);
    say("hints", !cudaMemPrefetchAsync(p, 4096, 0, NULL) && !cudaMemPrefetchAsync_ptsz(p, 4096, 0, NULL) &&
                     !cudaMemAdvise(p, 4096, 3, 0));
    say("pointer", !cudaPointerGetAttributes(lent(24), p) && untouched(24));
    say("cache", !cudaThreadSetCacheConfig(1) && !cudaThreadGetCacheConfig(&config) && config != 9);
#if CUDA >= 12
    int error = cudaGetDeviceProperties_v2(lent(1032), 0);
    say("properties", !error && strstr(room, "H200") && untouched(1032));
    say("driver", !cudaGetDriverEntryPoint("cuMemAlloc", &fn, 0, &status) && fn && !status);
#else
    int error = cudaGetDeviceProperties(lent(728), 0);
    say("properties", !error && strstr(room, "H200") && untouched(728) && !status);
    say("driver", !cudaGetDriverEntryPoint("cuMemAlloc", &fn, 0) && fn && !cudaProfilerInitialize("", "", 0));
#endif
}

int main(int argc, char **argv) {
    registers(argv[argc - 1]);
    test_kernel();
    test_textures();
    test_graphs();
    test_others();
    return 0;
}
