// A CUDA program for tests/test_capture.sh, on the fake driver: three launches of saxpy, the second with its
// parameters in one buffer, the third into memory that was allocated later. Prints the sum of what it gets.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int cuInit(unsigned), cuModuleLoadData(void **, const void *, size_t),
    cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(uint64_t *, size_t), cuMemFree_v2(uint64_t),
    cuMemcpyHtoD_v2(uint64_t, const void *, size_t);
int cuMemcpyDtoH_v2(void *, uint64_t, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);

enum { N = 5000 };

int main(int argc, char **argv) {
    static char code[1 << 20];
    static float h[N];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t bytes = f ? fread(code, 1, sizeof code, f) : 0;
    void *module, *function;
    uint64_t x, y, z;
    if (!bytes || cuInit(0) || cuModuleLoadData(&module, code, bytes) ||
        cuModuleGetFunction(&function, module, "saxpy"))
        return 3;
    cuMemAlloc_v2(&x, sizeof h);
    cuMemAlloc_v2(&y, sizeof h);
    for (int i = 0; i < N; i++) h[i] = (float)i * 0.25f;
    cuMemcpyHtoD_v2(x, h, sizeof h);
    struct {
        int n;
        float a;
        uint64_t x, y;
    } k = {N, 3, x, y};
    void *args[] = {&k.n, &k.a, &k.x, &k.y};
    cuLaunchKernel(function, 20, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
    size_t n = sizeof k;
    k.a = 0.5f;
    void *extra[] = {(void *)1, &k, (void *)2, &n, NULL};
    cuLaunchKernel(function, 20, 1, 1, 256, 1, 1, 0, NULL, NULL, extra);
    cuMemFree_v2(x);
    int m = argc > 3 ? 1000 : N; // fewer fit into what was freed
    cuMemAlloc_v2(&z, argc > 3 ? 4000 : 100 * sizeof h);
    k = (typeof(k)){m, 1, y, z};
    cuLaunchKernel(function, 20, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
    cuMemcpyDtoH_v2(h, z, (size_t)m * 4);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)h[i];
    printf("%.1f\n", sum); // 3.5 x 0.25 x (0 + 1 + ... + 4999)
    return argc > 2 ? atoi(argv[2]) : 0;
}
