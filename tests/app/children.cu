// Launches from kernels and conditional nodes of graphs, with sums that are worked out here.
#include <cstdio>
#include <cstdlib>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        cudaError_t error_ = (x);                                                                            \
        if (error_) {                                                                                        \
            printf("%s: %s\n", #x, cudaGetErrorString(error_));                                              \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static void expect(const char *what, long value, long wanted) {
    if (value == wanted) return;
    printf("%s: %ld, not %ld\n", what, value, wanted);
    exit(1);
}

// ---- launches from kernels ------------------------------------------------------------------------------
__global__ void child(int *p, int n, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += v + i;
}
__global__ void tail(int *p) { p[0] = p[1] + p[2]; }
__global__ void parent(int *p, int n) {
    if (threadIdx.x < 2) child<<<(n + 127) / 128, 128>>>(p, n, 10 * threadIdx.x);
    if (threadIdx.x == 0) {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        tail<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
        child<<<1, 32, 64, s>>>(p, 32, 1000);
        cudaStreamDestroy(s);
        cudaMemsetAsync(p + n, 1, 4 * sizeof *p, 0);
        cudaMemcpyAsync(p + n + 4, p + n, 4 * sizeof *p, cudaMemcpyDeviceToDevice, 0);
        child<<<1, 2000>>>(p, n, 0); // more threads than a block may have
        p[n + 8] = cudaGetLastError();
        p[n + 9] = cudaGetLastError();
    }
}
__global__ void halves(int *p, int lo, int hi, int depth) {
    if (hi - lo <= 8) {
        for (int i = lo; i < hi; i++) p[i] = 2 * i + depth;
        return;
    }
    int mid = (lo + hi) / 2;
    halves<<<1, 1>>>(p, lo, mid, depth + 1);
    halves<<<1, 1>>>(p, mid, hi, depth + 1);
}
__global__ void again(int *p, int n) {
    *p += n;
    if (n) again<<<1, 1, 0, cudaStreamTailLaunch>>>(p, n - 1);
}

static void launches(void) {
    const int n = 1000;
    int *p;
    CHECK(cudaMallocManaged(&p, (n + 16) * sizeof *p));
    for (int i = 0; i < n + 16; i++) p[i] = 0;
    parent<<<1, 32>>>(p, n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 1; i < n; i++) expect("a child's sum", p[i], 2 * i + 10 + (i < 32 ? 1000 + i : 0));
    expect("the tail's sum", p[0], p[1] + p[2]);
    expect("fill", p[n], 0x01010101);
    expect("copy", p[n + 7], 0x01010101);
    expect("error of a launch", p[n + 8], cudaErrorInvalidConfiguration);
    expect("error again", p[n + 9], cudaSuccess);
    halves<<<1, 1>>>(p, 0, 200, 0); // 200, 100, 50, 25, 12 or 13, 6 or 7: five deep
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 200; i++) expect("five deep", p[i], 2 * i + 5);
    *p = 0;
    again<<<1, 1>>>(p, 50);
    CHECK(cudaDeviceSynchronize());
    expect("a kernel that launches itself", *p, 50 * 51 / 2);
}

// ---- conditional nodes ----------------------------------------------------------------------------------
__global__ void body(cudaGraphConditionalHandle h, int *p) {
    p[1] += 3;
    cudaGraphSetConditional(h, --p[0] > 0);
}
__global__ void choose(cudaGraphConditionalHandle h, int v) { cudaGraphSetConditional(h, v); }
__global__ void put(int *p, int v) { *p = v; }

static void add_put(cudaGraph_t g, int *at, int v) {
    cudaGraphNode_t node;
    void *args[] = {&at, &v};
    cudaKernelNodeParams p = {};
    p.func = (void *)put;
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = args;
    CHECK(cudaGraphAddKernelNode(&node, g, NULL, 0, &p));
}

static cudaGraphNode_t add_choose(cudaGraph_t g, cudaGraphNode_t after, cudaGraphConditionalHandle h, int v) {
    cudaGraphNode_t node;
    void *args[] = {&h, &v};
    cudaGraphNodeParams p = {cudaGraphNodeTypeKernel};
    p.kernel.func = (void *)choose;
    p.kernel.gridDim = p.kernel.blockDim = dim3(1);
    p.kernel.kernelParams = args;
    CHECK(cudaGraphAddNode(&node, g, &after, NULL, 1, &p));
    return node;
}

// A node whose graphs, but those of a loop, put `from`, from + 1, ... into *at.
static cudaGraphNode_t add_condition(cudaGraph_t g, cudaGraphNode_t after, cudaGraphConditionalHandle h,
                                     cudaGraphConditionalNodeType type, unsigned size, int *at, int from,
                                     cudaGraph_t *first) {
    cudaGraphNode_t node;
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = size;
    CHECK(cudaGraphAddNode(&node, g, after ? &after : NULL, NULL, after != NULL, &p));
    for (unsigned i = 0; at && i < size; i++) add_put(p.conditional.phGraph_out[i], at, from + i);
    if (first) *first = p.conditional.phGraph_out[0];
    return node;
}

static void conditions(void) {
    int *p;
    CHECK(cudaMallocManaged(&p, 64));
    cudaGraph_t g, loop;
    cudaGraphConditionalHandle h[3];
    CHECK(cudaGraphCreate(&g, 0));
    CHECK(cudaGraphConditionalHandleCreate(&h[0], g, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&h[1], g));
    CHECK(cudaGraphConditionalHandleCreate(&h[2], g));
    cudaGraphNode_t last = add_condition(g, NULL, h[0], cudaGraphCondTypeWhile, 1, NULL, 0, &loop);
    cudaStream_t s;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamBeginCaptureToGraph(s, loop, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    body<<<1, 1, 0, s>>>(h[0], p);
    CHECK(cudaStreamEndCapture(s, NULL));
    last = add_choose(g, last, h[1], 0);
    last = add_condition(g, last, h[1], cudaGraphCondTypeIf, 2, p + 2, 10, NULL);
    last = add_choose(g, last, h[2], 2);
    last = add_condition(g, last, h[2], cudaGraphCondTypeSwitch, 4, p + 3, 20, NULL);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(last, &type));
    expect("type", type, cudaGraphNodeTypeConditional);
    cudaGraphExec_t e;
    CHECK(cudaGraphInstantiate(&e, g));
    for (int launch = 1; launch <= 2; launch++) {
        p[0] = 7;
        p[2] = p[3] = 0;
        CHECK(cudaGraphLaunch(e, s));
        CHECK(cudaStreamSynchronize(s));
        expect("while", p[1], 3 * 7 * launch);
        expect("else", p[2], 11);
        expect("switch", p[3], 22);
    }
}

int main() {
    launches();
    conditions();
    launches(); // now that the program has a stream, launches may run beside each other
    printf("launches and conditions: right\n");
}
