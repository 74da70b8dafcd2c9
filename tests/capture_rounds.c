// A CUDA program for tests/test_capture.sh, on the fake driver: a graph with a loop, whose kernel counts p[0]
// down and adds 3 to p[1], and a condition of which the second way is taken. It is launched twice.
#include <stdint.h>
#include <stdio.h>

int cuInit(unsigned), cuModuleLoadData(void **, const void *, size_t),
    cuModuleGetFunction(void **, void *, const char *);
int cuMemAlloc_v2(uint64_t *, size_t), cuMemcpyHtoD_v2(uint64_t, const void *, size_t),
    cuMemcpyDtoH_v2(void *, uint64_t, size_t);
int cuGraphCreate(void **, unsigned), cuGraphInstantiateWithFlags(void **, void *, unsigned long long),
    cuGraphLaunch(void *, void *), cuGraphDestroy(void *);
int cuGraphAddKernelNode_v2(void **, void *, void *const *, size_t, const void *);
int cuGraphAddMemsetNode(void **, void *, void *const *, size_t, const void *, void *);
int cuGraphConditionalHandleCreate(uint64_t *, void *, void *, unsigned, unsigned);
int cuGraphAddNode_v2(void **, void *, void *const *, const void *, size_t, void *);

typedef struct { // CUgraphNodeParams of a conditional node
    int type, reserved[3];
    uint64_t handle;
    int kind;
    unsigned n;
    void **graphs, *context, *rest[26];
} conditional;

int main(int argc, char **argv) {
    static char code[1 << 20];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t bytes = f ? fread(code, 1, sizeof code, f) : 0;
    void *module, *function, *graph, *exec, *node;
    uint64_t p, loop, either;
    if (!bytes || cuInit(0) || cuModuleLoadData(&module, code, bytes) ||
        cuModuleGetFunction(&function, module, "rounds"))
        return 3;
    cuMemAlloc_v2(&p, 64);
    cuGraphCreate(&graph, 0);
    cuGraphConditionalHandleCreate(&loop, graph, NULL, 1, 1);
    cuGraphConditionalHandleCreate(&either, graph, NULL, 1, 1);
    void *args[] = {&loop, &p}, *others[] = {&either, &p};
    struct {
        void *function;
        unsigned grid[3], block[3], shared;
        void **params, **extra, *kernel, *context;
    } k = {function, {1, 1, 1}, {1, 1, 1}, 0, args, NULL, NULL, NULL};
    struct {
        uint64_t to, pitch;
        uint32_t value, size;
        uint64_t width, height;
    } fill = {p + 8, 0, 7, 1, 1, 1};
    conditional c = {.type = 13, .handle = loop, .kind = 1, .n = 1};
    cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &c);
    cuGraphAddKernelNode_v2(&node, c.graphs[0], NULL, 0, &k);
    k.params = others;
    cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &k);
    c = (conditional){.type = 13, .handle = either, .kind = 0, .n = 2};
    cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &c);
    cuGraphAddMemsetNode(&node, c.graphs[1], NULL, 0, &fill, NULL);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    cuGraphDestroy(graph);
    int all[3] = {0};
    for (int launch = 0; launch < 2; launch++) {
        int h[3] = {5 - launch, 0, 0};
        cuMemcpyHtoD_v2(p, h, sizeof h);
        cuGraphLaunch(exec, NULL);
        cuMemcpyDtoH_v2(h, p, sizeof h);
        for (int i = 0; i < 3; i++) all[i] += h[i];
    }
    printf("%d %d %d\n", all[0], all[1], all[2]); // 5 rounds and 4, one more kernel each
    return 0;
}
