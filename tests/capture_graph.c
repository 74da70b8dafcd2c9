// A CUDA program for tests/test_capture.sh, on the fake driver: a graph of a fill and two kernels, launched
// twice in a range of NVTX, with a kernel after it in two ranges, and one in what PyTorch calls its backward;
// one allocation that no kernel can reach, and one that a pointer in memory leads to. Prints the sum of what
// it gets.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int cuInit(unsigned), cuModuleLoadData(void **, const void *, size_t),
    cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(uint64_t *, size_t), cuMemcpyHtoD_v2(uint64_t, const void *, size_t),
    cuMemcpyDtoH_v2(void *, uint64_t, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);
int cuGraphCreate(void **, unsigned), cuGraphInstantiateWithFlags(void **, void *, unsigned long long),
    cuGraphLaunch(void *, void *), cuGraphDestroy(void *);
int cuGraphAddKernelNode_v2(void **, void *, void *const *, size_t, const void *);
int cuGraphAddMemsetNode(void **, void *, void *const *, size_t, const void *, void *);
void range_push(const char *), range_pop(void);

enum { N = 5000 };

int main(int argc, char **argv) {
    static char code[1 << 20];
    static float h[N];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t bytes = f ? fread(code, 1, sizeof code, f) : 0;
    void *module, *function, *graph, *exec, *node;
    uint64_t x, y, far, unused;
    if (!bytes || cuInit(0) || cuModuleLoadData(&module, code, bytes) ||
        cuModuleGetFunction(&function, module, "saxpy"))
        return 3;
    cuMemAlloc_v2(&x, sizeof h);
    cuMemAlloc_v2(&y, sizeof h);
    cuMemAlloc_v2(&far, 1000);
    cuMemAlloc_v2(&unused, 3 << 20);
    for (int i = 0; i < N; i++) h[i] = (float)i * 0.25f;
    memcpy(h, &far, sizeof far); // a pointer where a kernel can reach it
    uint32_t nan = 0x7fa12345;   // half of a pointer may be one, too
    memcpy(h + 2, &nan, sizeof nan);
    cuMemcpyHtoD_v2(x, h, sizeof h);
    int n = N;
    float a = 3;
    void *args[] = {&n, &a, &x, &y};
    struct {
        void *function;
        unsigned grid[3], block[3], shared;
        void **params, **extra, *kernel, *context;
    } k = {function, {20, 1, 1}, {256, 1, 1}, 0, args, NULL, NULL, NULL};
    struct {
        uint64_t to, pitch;
        uint32_t value, size;
        uint64_t width, height;
    } fill = {y, 0, 0, 4, N, 1};
    cuGraphCreate(&graph, 0);
    cuGraphAddMemsetNode(&node, graph, NULL, 0, &fill, NULL);
    cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &k);
    a = 0.5f;
    cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &k);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    cuGraphDestroy(graph);
    range_push("graphs");
    cuGraphLaunch(exec, NULL);
    cuGraphLaunch(exec, NULL);
    range_pop();
    range_push("alone");
    range_push("inner, seq = 5");
    cuLaunchKernel(function, 20, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
    range_pop();
    range_pop();
    range_push("autograd::engine::evaluate_function: InnerBackward"); // as PyTorch tells of a backward
    range_push("InnerBackward, seq = 5, op_id = 9");
    cuLaunchKernel(function, 20, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
    range_pop();
    range_pop();
    cuMemcpyDtoH_v2(h, y, sizeof h);
    double sum = 0;
    for (int i = 3; i < N; i++) sum += (double)h[i];
    printf("%.1f\n", sum); // 4.5 x 0.25 x (3 + 4 + ... + 4999)
    return 0;
}
