// A CUDA program for tests/test_capture.sh, on the fake driver: two arrays, of which each is painted from the
// other. Prints a sum of what is in the last. capture_texture CUBIN, app/paint.cubin.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array; // CUDA_ARRAY3D_DESCRIPTOR
typedef struct {
    size_t x, y, z, level;
    int type;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} side; // half of CUDA_MEMCPY3D
typedef struct {
    side from, to;
    size_t width, height, depth;
} copy;
typedef struct {
    int type;
    void *array;
    int reserved[32];
} resource;
typedef struct {
    int address[3], filter;
    unsigned flags, anisotropy;
    int mip_filter;
    float bias, least, most, border[4];
    int reserved[12];
} how;
enum { W = 37, H = 11, ROW = W * sizeof(float), HOST = 1, ARRAY = 3, FLOATS = 0x20, FOR_SURFACES = 2 };

int cuInit(unsigned), cuModuleLoadData(void **, const void *, size_t);
int cuModuleGetFunction(void **, void *, const char *), cuArray3DCreate_v2(void **, const array *);
int cuMemcpy3D_v2(const copy *), cuTexObjectCreate(uint64_t *, const resource *, const how *, const void *);
int cuSurfObjectCreate(uint64_t *, const resource *), cuTexObjectDestroy(uint64_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);

int main(int argc, char **argv) {
    static char code[1 << 16];
    static float h[W * H];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t bytes = f ? fread(code, 1, sizeof code, f) : 0;
    void *module, *function, *arrays[2];
    uint64_t textures[2], surfaces[2];
    float a = 2;
    if (!bytes || cuInit(0) || cuModuleLoadData(&module, code, bytes) ||
        cuModuleGetFunction(&function, module, "paint"))
        return 3;
    for (int i = 0; i < W * H; i++) h[i] = (float)i;
    for (int i = 0; i < 2; i++) {
        const array d = {W, H, 0, FLOATS, 1, FOR_SURFACES};
        cuArray3DCreate_v2(&arrays[i], &d);
        copy c = {{.type = HOST, .host = h, .pitch = ROW, .height = H}, {.type = ARRAY}, ROW, H, 1};
        c.to.array = arrays[i];
        if (!i) cuMemcpy3D_v2(&c);
        resource r = {.array = arrays[i]};
        how how = {.address = {1, 1, 1}};
        cuTexObjectCreate(&textures[i], &r, &how, NULL);
        cuSurfObjectCreate(&surfaces[i], &r);
    }
    for (int i = 0; i < 3; i++, a += 1) {
        void *args[] = {&textures[i & 1], &surfaces[!(i & 1)], &a};
        cuLaunchKernel(function, H, 1, 1, W, 1, 1, 0, NULL, args, NULL);
    }
    copy back = {{.type = ARRAY, .array = arrays[1]}, {.type = HOST, .host = h, .pitch = ROW}, ROW, H, 1};
    cuMemcpy3D_v2(&back);
    for (int i = 0; i < 2; i++) cuTexObjectDestroy(textures[i]);
    double sum = 0;
    for (int i = 0; i < W * H; i++) sum += (double)h[i];
    printf("%.1f\n", sum); // of 24 i + 17 x
    return 0;
}
