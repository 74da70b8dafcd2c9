// A program whose GPUs wait for each other while one thread asks them one after the other: kernels that poll
// what a kernel of another GPU or the host writes, and NCCL in graphs. Each test is a subcommand; it prints
// what it found, and test_waits.sh knows what that must be.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;
enum { OUT = 2, ROUNDS = 40, N = 4, COUNT = 1000, F32 = 7, SUM = 0, PINNED = 0 };

int cuInit(unsigned), cuModuleLoadData(handle *, const void *),
    cuModuleGetFunction(handle *, handle, const char *);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,
                   void **, void **);
int cudaSetDevice(int), cudaMalloc(void **, size_t), cudaMemcpy(void *, const void *, size_t, int);
int cudaHostAlloc(void **, size_t, unsigned), cudaDeviceSynchronize(void), cudaMemset(void *, int, size_t);
int cudaMemcpyAsync(void *, const void *, size_t, int, handle);
int cudaStreamCreate(handle *), cudaStreamSynchronize(handle), cudaStreamQuery(handle);
int cudaStreamWaitEvent(handle, handle, unsigned), cudaEventCreate(handle *), cudaEventRecord(handle, handle);
int cudaEventQuery(handle), cudaStreamCreateWithFlags(handle *, unsigned);
int cudaStreamBeginCapture(handle, int), cudaStreamEndCapture(handle, handle *);
int cudaGraphInstantiate(handle *, handle, unsigned long long), cudaGraphLaunch(handle, handle);
int cudaGraphDestroy(handle);
const char *cudaGetErrorName(int);
int ncclCommInitAll(handle *, int, const int *), ncclGroupStart(void), ncclGroupEnd(void);
int ncclAllReduce(const void *, void *, size_t, int, int, handle, handle);
int ncclSend(const void *, size_t, int, int, handle, handle);
int ncclRecv(void *, size_t, int, int, handle, handle);

// talk: says 1 to `rounds` at `mine`, each when `other` has said the one before; then leaves `rounds`.
// fails: writes where nothing is, once `other` has said something.
static const char code[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry talk(.param .u64 mine, .param .u64 other, .param .u64 out, .param .u32 n)\n"
    "{ .reg .u32 %r<4>; .reg .u64 %d<4>; .reg .pred %p<3>;\n"
    "  ld.param.u64 %d1, [mine]; ld.param.u64 %d2, [other]; ld.param.u64 %d3, [out];\n"
    "  ld.param.u32 %r2, [n]; mov.u32 %r1, 0;\n"
    "AGAIN: add.u32 %r1, %r1, 1; st.release.sys.global.u32 [%d1], %r1;\n"
    "WAIT: ld.acquire.sys.global.u32 %r3, [%d2]; setp.lt.u32 %p1, %r3, %r1; @%p1 bra WAIT;\n"
    "  setp.lt.u32 %p2, %r1, %r2; @%p2 bra AGAIN;\n"
    "  st.global.u32 [%d3], %r1; ret; }\n"
    ".visible .entry fails(.param .u64 other, .param .u64 wrong)\n"
    "{ .reg .u32 %r<2>; .reg .u64 %d<3>; .reg .pred %p<2>;\n"
    "  ld.param.u64 %d1, [other]; ld.param.u64 %d2, [wrong];\n"
    "WAIT: ld.acquire.sys.global.u32 %r1, [%d1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;\n"
    "  st.global.u32 [%d2], %r1; ret; }\n";

static void say(const char *what, int error) { printf("%s: %s\n", what, cudaGetErrorName(error)); }

static handle kernel(const char *name) { // of the device that is used
    handle module, f;
    if (cuModuleLoadData(&module, code) || cuModuleGetFunction(&f, module, name)) exit(3);
    return f;
}

static void launch(handle f, handle stream, void **args) {
    if (cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL)) exit(4);
}

// Two devices, whose kernels are asked for one after the other.
static void test_talk(void) {
    unsigned *said[2], *out[2], got[2], n = ROUNDS;
    handle stream[2], f[2];
    for (int d = 0; d < 2; d++) {
        cudaSetDevice(d);
        cudaStreamCreate(&stream[d]);
        cudaMalloc((void **)&said[d], 512);
        cudaMalloc((void **)&out[d], 512);
        f[d] = kernel("talk");
    }
    for (int d = 0; d < 2; d++) {
        cudaSetDevice(d);
        launch(f[d], stream[d], (void *[]){&said[d], &said[!d], &out[d], &n});
    }
    for (int d = 0; d < 2; d++) say("synchronised", cudaStreamSynchronize(stream[d]));
    for (int d = 0; d < 2; d++) cudaMemcpy(&got[d], out[d], 4, OUT);
    printf("said: %u %u\n", got[0], got[1]);
}

// What comes behind a kernel that waits comes later: in its stream, behind an event, behind that.
static void test_behind(void) {
    unsigned *said[2], *out[2], *copy, got = 0, n = ROUNDS;
    handle stream[2], other, event, after, f[2];
    for (int d = 1; d >= 0; d--) {
        cudaSetDevice(d);
        cudaStreamCreateWithFlags(&stream[d], 1);
        cudaMalloc((void **)&said[d], 512);
        cudaMalloc((void **)&out[d], 512);
        f[d] = kernel("talk");
    }
    cudaMalloc((void **)&copy, 512);
    cudaStreamCreateWithFlags(&other, 1);
    cudaEventCreate(&event);
    cudaEventCreate(&after);
    launch(f[0], stream[0], (void *[]){&said[0], &said[1], &out[0], &n});
    cudaEventRecord(event, stream[0]);
    cudaStreamWaitEvent(other, event, 0);
    cudaMemcpyAsync(copy, out[0], 4, 3, other);
    cudaEventRecord(after, other);
    say("not yet", cudaEventQuery(after));
    cudaSetDevice(1);
    launch(f[1], stream[1], (void *[]){&said[1], &said[0], &out[1], &n});
    cudaSetDevice(0);
    while (cudaEventQuery(after)) continue;
    cudaMemcpy(&got, copy, 4, OUT);
    printf("copied: %u\n", got);
}

static void test_host(void) { // a kernel that waits for its host
    unsigned *said, *out, *host, got = 0, n = 1;
    handle stream, f = kernel("talk");
    cudaStreamCreateWithFlags(&stream, 1);
    cudaMalloc((void **)&said, 512);
    cudaMalloc((void **)&out, 512);
    cudaHostAlloc((void **)&host, 512, PINNED);
    *host = 0;
    launch(f, stream, (void *[]){&said, &host, &out, &n});
    say("not yet", cudaStreamQuery(stream));
    *(volatile unsigned *)host = 1;
    say("now", cudaStreamSynchronize(stream));
    cudaMemcpyAsync(&got, out, 4, OUT, stream);
    printf("said: %u\n", got);
}

static void test_fails(void) { // the one beside it does not wait for ever
    unsigned *said[2], *out, n = ROUNDS;
    void *wrong = (void *)16;
    handle stream[2], f[2];
    for (int d = 0; d < 2; d++) {
        cudaSetDevice(d);
        cudaStreamCreate(&stream[d]);
        cudaMalloc((void **)&said[d], 512);
        f[d] = kernel(d ? "fails" : "talk");
    }
    cudaSetDevice(0);
    cudaMalloc((void **)&out, 512);
    launch(f[0], stream[0], (void *[]){&said[0], &said[1], &out, &n});
    cudaSetDevice(1);
    launch(f[1], stream[1], (void *[]){&said[0], &wrong});
    say("synchronised", cudaStreamSynchronize(stream[0]));
}

// Each device adds up all devices' data and sends the sum on, in a graph; one thread launches the graphs one
// after the other, twice each.
static void test_graph(void) {
    float *in[N], *sum[N], *next[N], host[COUNT];
    handle comm[N], stream[N], graph, exec[N];
    if (ncclCommInitAll(comm, N, NULL)) exit(3);
    for (int d = 0; d < N; d++) {
        cudaSetDevice(d);
        cudaStreamCreate(&stream[d]);
        cudaMalloc((void **)&in[d], sizeof host);
        cudaMalloc((void **)&sum[d], sizeof host);
        cudaMalloc((void **)&next[d], sizeof host);
        for (int i = 0; i < COUNT; i++) host[i] = (float)(d + 1);
        cudaMemcpy(in[d], host, sizeof host, 1);
        cudaStreamBeginCapture(stream[d], 0);
    }
    ncclGroupStart();
    for (int d = 0; d < N; d++) ncclAllReduce(in[d], sum[d], COUNT, F32, SUM, comm[d], stream[d]);
    ncclGroupEnd();
    ncclGroupStart();
    for (int d = 0; d < N; d++) {
        ncclSend(sum[d], COUNT, F32, (d + 1) % N, comm[d], stream[d]);
        ncclRecv(next[d], COUNT, F32, (d + N - 1) % N, comm[d], stream[d]);
    }
    ncclGroupEnd();
    for (int d = 0; d < N; d++) {
        cudaMemcpyAsync(in[d], next[d], sizeof host, 3, stream[d]);
        if (cudaStreamEndCapture(stream[d], &graph) || cudaGraphInstantiate(&exec[d], graph, 0)) exit(5);
        cudaGraphDestroy(graph);
    }
    for (int twice = 0; twice < 2; twice++)
        for (int d = 0; d < N; d++) cudaGraphLaunch(exec[d], stream[d]);
    for (int d = 0; d < N; d++) cudaStreamSynchronize(stream[d]);
    for (int d = 0; d < N; d++) {
        int right = 0;
        cudaMemcpy(host, in[d], sizeof host, OUT);
        for (int i = 0; i < COUNT; i++) right += host[i] == 40; // 1 + 2 + 3 + 4, four of them added up again
        printf("device %d: %d\n", d, right);
    }
}

int main(int argc, char **argv) {
    if (argc < 2 || cuInit(0)) return 2;
    cudaSetDevice(0);
    if (!strcmp(argv[1], "talk")) test_talk();
    if (!strcmp(argv[1], "behind")) test_behind();
    if (!strcmp(argv[1], "host")) test_host();
    if (!strcmp(argv[1], "fails")) test_fails();
    if (!strcmp(argv[1], "graph")) test_graph();
    return 0;
}
