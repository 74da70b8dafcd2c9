// Tensor maps made by the driver's functions, for tests/test_hopper_workloads.sh: tensor CUBIN,
// workloads/hopper/tma_copy's. A program of its own against CUDA's driver, whose types are declared here as
// its manual has them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int n);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuModuleLoad(void **module, const char *path);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuMemAlloc_v2(uint64_t *at, size_t bytes);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra);
int cuCtxSynchronize(void);
int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int fill);
int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                            const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                            unsigned pixels, const uint32_t *steps, int interleave, int swizzle,
                            int promotion, int fill);
int cuTensorMapReplaceAddress(void *map, void *address);

enum { W = 256, H = 128, F32 = 7 };
typedef struct map {
    _Alignas(64) uint8_t bytes[128];
} map;

static void must(int error, const char *what) {
    if (!error) return;
    printf("%s: error %d\n", what, error);
    exit(1);
}

static int tiled(map *m, uint64_t at, uint32_t wide, uint64_t pitch, int swizzle) {
    uint64_t dims[2] = {W, H};
    uint32_t box[2] = {wide, 32}, steps[2] = {1, 1};
    return cuTensorMapEncodeTiled(m, F32, 2, (void *)(uintptr_t)at, dims, &pitch, box, steps, 0, swizzle, 0,
                                  0);
}

int main(int argc, char **argv) {
    static float in[W * H], out[W * H];
    void *context, *module, *function;
    int device, across = W / 64, boxes = W / 64 * (H / 32), wrong = 0;
    uint64_t from, to;
    map a, b;
    if (argc != 2) return 2;
    must(cuInit(0), "cuInit");
    must(cuDeviceGet(&device, 0), "cuDeviceGet");
    must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    must(cuModuleLoad(&module, argv[1]), "cuModuleLoad");
    must(cuModuleGetFunction(&function, module, "tma_copy"), "cuModuleGetFunction");
    must(cuMemAlloc_v2(&from, sizeof in), "cuMemAlloc");
    must(cuMemAlloc_v2(&to, sizeof out), "cuMemAlloc");
    for (int i = 0; i < W * H; i++) in[i] = (float)i;
    must(cuMemcpyHtoD_v2(from, in, sizeof in), "cuMemcpyHtoD");
    must(tiled(&a, from, 64, W * 4, 0), "cuTensorMapEncodeTiled");
    must(tiled(&b, from, 64, W * 4, 0), "cuTensorMapEncodeTiled");
    must(cuTensorMapReplaceAddress(&b, (void *)(uintptr_t)to), "cuTensorMapReplaceAddress");
    void *params[] = {&a, &b, &across, &boxes};
    must(cuLaunchKernel(function, 3, 1, 1, 32, 1, 1, 32768, NULL, params, NULL), "cuLaunchKernel");
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    must(cuMemcpyDtoH_v2(out, to, sizeof out), "cuMemcpyDtoH");
    for (int i = 0; i < W * H; i++) wrong += out[i] != in[i];
    printf("wrong: %d\n", wrong);

    uint64_t dims[4] = {64, 16, 16, 2}, strides[3] = {256, 4096, 65536};
    uint32_t steps[4] = {1, 1, 1, 1};
    int lower[2] = {-1, -1}, upper[2] = {-1, -1}, far[2] = {-200, -1};
    void *at = (void *)(uintptr_t)from;
    printf("im2col: %d\n",
           cuTensorMapEncodeIm2col(&a, F32, 4, at, dims, strides, lower, upper, 32, 128, steps, 0, 3, 0, 0));
    // Driver 580 of an H200 answers the same: CUDA_ERROR_INVALID_VALUE but for the last, whatever the manual
    // says of 64 bytes.
    printf("corner: %d\n",
           cuTensorMapEncodeIm2col(&a, F32, 4, at, dims, strides, far, upper, 32, 128, steps, 0, 3, 0, 0));
    printf("address: %d\n", tiled(&a, from + 4, 64, W * 4, 0));
    printf("pitch: %d\n", tiled(&a, from, 64, W * 4 + 4, 0));
    printf("swizzle: %d\n", tiled(&a, from, 64, W * 4, 3));
    printf("box: %d\n", tiled(&a, from, 512, W * 4, 0));
    printf("map: %d\n", tiled((map *)(a.bytes + 8), from, 64, W * 4, 0));
    return 0;
}
