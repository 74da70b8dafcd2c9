// A program for several GPUs, written as nvcc writes host code (program.c): devices, peers, NCCL. Each test
// is a subcommand; it prints what it found, and test_node.sh knows what that must be.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    unsigned x, y, z;
} dim3;
typedef void *handle;
typedef struct {
    char bytes[128];
} unique_id;
enum { IN = 1, OUT = 2, N = 8, F32 = 7, F16 = 6, I32 = 2, SUM = 0, MAX = 2, AVG = 4 };

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *,
                            int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
int cudaMalloc(void **, size_t), cudaMallocManaged(void **, size_t, unsigned), cudaFree(void *);
int cudaLaunchHostFunc(handle, void (*)(void *), void *);
int cudaMemcpy(void *, const void *, size_t, int), cudaMemset(void *, int, size_t);
int cudaMemcpyPeerAsync(void *, int, const void *, int, size_t, handle);
int cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaMemGetInfo(size_t *, size_t *), cudaGetDevice(int *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, handle);
int cudaDeviceSynchronize(void), cudaGetDeviceCount(int *), cudaSetDevice(int);
int cudaDeviceCanAccessPeer(int *, int, int), cudaDeviceEnablePeerAccess(int, unsigned);
int cudaStreamCreate(handle *), cudaStreamSynchronize(handle), cudaStreamWaitEvent(handle, handle, unsigned);
int cudaEventCreate(handle *), cudaEventRecord(handle, handle), cudaEventSynchronize(handle);
int cudaEventElapsedTime(float *, handle, handle);
int cudaEventCreateWithFlags(handle *, unsigned);
typedef struct {
    char bytes[64];
} memory_handle; // cudaIpcMemHandle_t, cudaIpcEventHandle_t
int cudaIpcGetMemHandle(memory_handle *, void *), cudaIpcOpenMemHandle(void **, memory_handle, unsigned);
int cudaIpcCloseMemHandle(void *), cudaIpcGetEventHandle(memory_handle *, handle);
int cudaIpcOpenEventHandle(handle *, memory_handle);
const char *cudaGetErrorName(int);

int ncclGetUniqueId(unique_id *), ncclCommInitRank(handle *, int, unique_id, int);
int ncclCommInitAll(handle *, int, const int *), ncclCommDestroy(handle), ncclCommCount(handle, int *);
int ncclCommUserRank(handle, int *), ncclCommSplit(handle, int, int, handle *, void *);
int ncclGroupStart(void), ncclGroupEnd(void);
int ncclAllReduce(const void *, void *, size_t, int, int, handle, handle);
int ncclReduceScatter(const void *, void *, size_t, int, int, handle, handle);
int ncclReduce(const void *, void *, size_t, int, int, int, handle, handle);
int ncclRedOpCreatePreMulSum(int *, const void *, int, int, handle), ncclRedOpDestroy(int, handle);
int ncclAllGather(const void *, void *, size_t, int, handle, handle);
int ncclBroadcast(const void *, void *, size_t, int, int, handle, handle);
int ncclSend(const void *, size_t, int, int, handle, handle),
    ncclRecv(void *, size_t, int, int, handle, handle);

static struct {
    int magic, version;
    const void *data, *more;
} fat = {0x466243b1, 1, NULL, NULL};
static char axpy, count; // their addresses stand for the kernels
static int counter;

static void registers(const char *path) {
    FILE *f = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    if (!f || !bytes || fread(bytes, 1, 1 << 20, f) < 64) exit(3);
    fclose(f);
    fat.data = bytes;
    void **h = __cudaRegisterFatBinary(&fat);
    __cudaRegisterFunction(h, &axpy, "axpy", "axpy", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(h, &count, "count", "count", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(h, (char *)&counter, "counter", "counter", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(h);
}

static void say(const char *what, int error) { printf("%s: %s\n", what, cudaGetErrorName(error)); }

static void test_devices(void) {
    int n, now, can, step = 5, got;
    size_t free0, free1, total;
    handle s0;
    void *p;
    cudaGetDeviceCount(&n);
    printf("devices: %d\n", n);
    say("no such device", cudaSetDevice(n));
    cudaStreamCreate(&s0);
    cudaMalloc(&p, 1 << 20);
    cudaMemGetInfo(&free0, &total);
    cudaSetDevice(1);
    cudaMemGetInfo(&free1, &total);
    cudaGetDevice(&now);
    printf("device %d: %d less is free on device 0\n", now, (int)(free1 - free0));
    void *args[] = {&step};
    say("launch in a stream of another device",
        cudaLaunchKernel(&count, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0, s0));
    cudaLaunchKernel(&count, (dim3){1, 1, 1}, (dim3){32, 1, 1}, args, 0,
                     NULL); // each device has its variables
    cudaMemcpyFromSymbol(&got, &counter, 4, 0, OUT);
    cudaSetDevice(0);
    cudaMemcpyFromSymbol(&now, &counter, 4, 0, OUT);
    printf("counters: %d %d\n", now, got);
    cudaDeviceCanAccessPeer(&can, 0, 1);
    printf("peer: %d\n", can);
    if (!can) return;
    say("enable", cudaDeviceEnablePeerAccess(1, 0));
    say("again", cudaDeviceEnablePeerAccess(1, 0));
}

// 64 MiB, between events: one copy; two that use the same way out; two that share nothing.
static void reach(int n) { // all others, where they can be reached
    for (int d = 0; d < n; d++)
        for (int o = 0; o < n; o++) {
            int can = 0;
            if (o != d) cudaDeviceCanAccessPeer(&can, d, o);
            cudaSetDevice(d);
            if (can) cudaDeviceEnablePeerAccess(o, 0);
        }
}

static void test_copies(int reached) {
    enum { BYTES = 64 << 20 };
    static const int pairs[3][2][2] = {{{0, 1}, {0, 1}}, {{0, 1}, {0, 2}}, {{0, 1}, {2, 3}}};
    void *p[4];
    handle s[2], from, to, other;
    for (int d = 0; d < 4; d++) {
        cudaSetDevice(d);
        cudaMalloc(&p[d], BYTES);
    }
    if (reached) reach(4);
    cudaSetDevice(0);
    cudaEventCreate(&from), cudaEventCreate(&to), cudaEventCreate(&other);
    cudaStreamCreate(&s[0]), cudaStreamCreate(&s[1]);
    for (int k = 0; k < 3; k++) {
        float ms;
        cudaDeviceSynchronize();
        cudaEventRecord(from, s[0]);
        cudaStreamWaitEvent(s[1], from, 0);
        for (int i = 0; i < (k ? 2 : 1); i++)
            cudaMemcpyPeerAsync(p[pairs[k][i][1]], pairs[k][i][1], p[pairs[k][i][0]], pairs[k][i][0], BYTES,
                                s[i]);
        cudaEventRecord(other, s[1]);
        cudaStreamWaitEvent(s[0], other, 0);
        cudaEventRecord(to, s[0]);
        cudaEventSynchronize(to);
        cudaEventElapsedTime(&ms, from, to);
        printf("%.1f us\n", ms * 1e3);
    }
}

// A kernel on device 0 with its input on device 1.
static void test_kernel(void) {
    enum { ELEMENTS = 100000 };
    static float x[ELEMENTS], y[ELEMENTS];
    float *dx, *dy, a = 3;
    int n = ELEMENTS, wrong = 0;
    for (int i = 0; i < n; i++) x[i] = (float)i, y[i] = 1;
    cudaSetDevice(1);
    cudaMalloc((void **)&dx, sizeof x);
    cudaMemcpy(dx, x, sizeof x, IN);
    cudaSetDevice(0);
    cudaDeviceEnablePeerAccess(1, 0);
    cudaMalloc((void **)&dy, sizeof y);
    cudaMemcpy(dy, y, sizeof y, IN);
    void *args[] = {&n, &a, &dx, &dy};
    handle from, to;
    float ms;
    cudaEventCreate(&from), cudaEventCreate(&to);
    cudaEventRecord(from, NULL);
    cudaLaunchKernel(&axpy, (dim3){(unsigned)(n + 255) / 256, 1, 1}, (dim3){256, 1, 1}, args, 0, NULL);
    cudaEventRecord(to, NULL);
    cudaMemcpy(y, dy, sizeof y, OUT);
    cudaEventElapsedTime(&ms, from, to);
    for (int i = 0; i < n; i++) wrong += y[i] != 3 * (float)i + 1;
    printf("wrong: %d, at least what 400000 bytes take: %d\n", wrong, ms * 1e3 >= 400000 / 378e3);
}

// y += a x on the current device
static void add(int n, float a, float *x, float *y) {
    void *args[] = {&n, &a, &x, &y};
    cudaLaunchKernel(&axpy, (dim3){(unsigned)(n + 255) / 256, 1, 1}, (dim3){256, 1, 1}, args, 0, NULL);
}

// Managed memory: one GPU after the other works on it, and each launch waits until it has come.
static void test_managed(void) {
    enum { ELEMENTS = 1000000 };
    float *x, *y, ms[2];
    int wrong = 0;
    cudaMallocManaged((void **)&x, ELEMENTS * 4, 1);
    cudaMallocManaged((void **)&y, ELEMENTS * 4, 1);
    for (int i = 0; i < ELEMENTS; i++) x[i] = (float)(i % 1000), y[i] = 1;
    cudaSetDevice(0);
    add(ELEMENTS, 3, x, y);
    cudaDeviceSynchronize();
    for (int again = 0; again < 2; again++) { // the second time it is there
        handle from, to;
        cudaSetDevice(1);
        cudaEventCreate(&from), cudaEventCreate(&to);
        cudaEventRecord(from, NULL);
        add(ELEMENTS, 5, x, y);
        cudaEventRecord(to, NULL);
        cudaEventElapsedTime(&ms[again], from, to);
    }
    for (int i = 0; i < ELEMENTS; i++) wrong += y[i] != (float)(13 * (i % 1000) + 1);
    double moved = 8e6 / 378e3; // us over NVLink, 450 GB/s x 0.84
    printf("wrong: %d, from GPU to GPU: %d\n", wrong,
           (ms[0] - ms[1]) * 1e3 > moved && (ms[0] - ms[1]) * 1e3 < 1.5 * moved);
    // A quarter of both comes back to the first, and nothing else; then the rest.
    for (int part = 0; part < 3; part++) {
        handle from, to;
        cudaSetDevice(0);
        cudaEventCreate(&from), cudaEventCreate(&to);
        cudaEventRecord(from, NULL);
        add(part < 2 ? ELEMENTS / 4 : ELEMENTS, 0, x, y);
        cudaEventRecord(to, NULL);
        cudaEventElapsedTime(&ms[part > 0], from, to);
        if (part == 1)
            printf("a quarter: %d\n", (ms[0] - ms[1]) * 1e3 > moved / 4 && (ms[0] - ms[1]) * 1e3 < moved / 2);
    }
    printf("the rest: %d\n", ms[1] * 1e3 > 0.75 * moved);
}

// ---- NCCL ---------------------------------------------------------------------------------------------
static handle comms[N];
static float *in[N], *out[N];
enum { COUNT = 1000 };

// Values whose sum depends on the order.
static float value(int rank, int i) {
    return (float)(rank * 7 + 1) * (1 + 1e-3f * (float)i) / (float)(1 << (i % 20));
}

static void make(int n) {
    float host[COUNT * N];
    for (int d = 0; d < n; d++) {
        cudaSetDevice(d);
        cudaMalloc((void **)&in[d], sizeof host);
        cudaMalloc((void **)&out[d], sizeof host);
        for (int i = 0; i < COUNT * N; i++) host[i] = value(d, i);
        cudaMemcpy(in[d], host, sizeof host, IN);
    }
}

// The ring's order: chunk c of n is ((x[c+1] + x[c+2]) + ...) + x[c].
static float ring(int n, int chunk, int i) {
    float sum = value((chunk + 1) % n, i);
    for (int k = 2; k <= n; k++) sum += value((chunk + k) % n, i);
    return sum;
}

#define ALL(n, call)                                                                                         \
    do {                                                                                                     \
        ncclGroupStart();                                                                                    \
        for (int d = 0; d < n; d++) call;                                                                    \
        printf("group: %d\n", ncclGroupEnd());                                                               \
    } while (0)

static void test_nccl(void) {
    float host[COUNT * N];
    int wrong = 0, n, rank;
    make(N);
    printf("init: %d\n", ncclCommInitAll(comms, N, NULL));
    ncclCommCount(comms[3], &n), ncclCommUserRank(comms[3], &rank);
    printf("rank %d of %d\n", rank, n);
    ALL(N, ncclAllReduce(in[d], out[d], COUNT, F32, SUM, comms[d], NULL));
    for (int d = 0; d < N; d++) {
        cudaMemcpy(host, out[d], COUNT * 4, OUT);
        for (int i = 0; i < COUNT; i++) wrong += host[i] != ring(N, i / (COUNT / N), i);
    }
    printf("all-reduce: %d wrong\n", wrong);
    wrong = 0;
    ALL(N, ncclReduceScatter(in[d], out[d], COUNT, F32, SUM, comms[d], NULL));
    for (int d = 0; d < N; d++) {
        cudaMemcpy(host, out[d], COUNT * 4, OUT);
        for (int i = 0; i < COUNT; i++) wrong += host[i] != ring(N, d, d * COUNT + i);
    }
    printf("reduce-scatter: %d wrong\n", wrong);
    wrong = 0;
    ALL(N, ncclAllGather(in[d], out[d], COUNT, F32, comms[d], NULL));
    cudaMemcpy(host, out[5], sizeof host, OUT);
    for (int i = 0; i < COUNT * N; i++) wrong += host[i] != value(i / COUNT, i % COUNT);
    printf("all-gather: %d wrong\n", wrong);
    wrong = 0;
    ALL(N, ncclReduce(in[d], out[d], COUNT, F32, MAX, 2, comms[d], NULL));
    cudaMemcpy(host, out[2], COUNT * 4, OUT);
    for (int i = 0; i < COUNT; i++) wrong += host[i] != value(N - 1, i); // the largest rank has the largest
    ALL(N, ncclBroadcast(in[d], out[d], COUNT, F32, 6, comms[d], NULL));
    cudaMemcpy(host, out[1], COUNT * 4, OUT);
    for (int i = 0; i < COUNT; i++) wrong += host[i] != value(6, i);
    printf("reduce, broadcast: %d wrong\n", wrong);
    wrong = 0;
    ALL(N, (ncclSend(in[d], COUNT, F32, (d + 1) % N, comms[d], NULL),
            ncclRecv(out[d], COUNT, F32, (d + N - 1) % N, comms[d], NULL)));
    for (int d = 0; d < N; d++) {
        cudaMemcpy(host, out[d], COUNT * 4, OUT);
        for (int i = 0; i < COUNT; i++) wrong += host[i] != value((d + N - 1) % N, i);
    }
    printf("ring of messages: %d wrong\n", wrong);
    handle halves[N];
    ALL(N, ncclCommSplit(comms[d], d % 2, d, &halves[d], NULL));
    ncclCommCount(halves[5], &n), ncclCommUserRank(halves[5], &rank);
    printf("split: rank %d of %d\n", rank, n);
    printf("not memory of a GPU: %d\n", ncclAllReduce(host, host, 4, F32, SUM, comms[0], NULL));
    printf("no such type: %d\n", ncclAllReduce(in[0], out[0], 4, 99, SUM, comms[0], NULL));
    for (int d = 0; d < N; d++) ncclCommDestroy(comms[d]);
}

// A thread for each GPU.
static unique_id id;
static int wrong_in[N];
static void *one_rank(void *arg) {
    int d = (int)(long)arg;
    static float host[N][COUNT];
    handle comm, s;
    cudaSetDevice(d);
    cudaStreamCreate(&s);
    ncclCommInitRank(&comm, 4, id, d);
    for (int k = 0; k < 3; k++) ncclAllReduce(in[d], out[d], COUNT, F32, SUM, comm, s);
    cudaStreamSynchronize(s);
    cudaMemcpy(host[d], out[d], COUNT * 4, OUT);
    for (int i = 0; i < COUNT; i++) wrong_in[d] += host[d][i] != ring(4, i / (COUNT / 4), i);
    ncclCommDestroy(comm);
    return NULL;
}
static void test_threads(void) {
    pthread_t threads[4];
    make(4);
    ncclGetUniqueId(&id);
    for (long d = 0; d < 4; d++) pthread_create(&threads[d], NULL, one_rank, (void *)d);
    for (int d = 0; d < 4; d++) pthread_join(threads[d], NULL);
    printf("wrong: %d\n", wrong_in[0] + wrong_in[1] + wrong_in[2] + wrong_in[3]);
}

// Who waits for its turn in CUDA has it before the one that comes again.
static char turns[3];
static volatile int waiting; // the thread that waits
static void note_turn(void *who) { turns[strlen(turns)] = *(const char *)who; }
static void *second(void *unused) {
    waiting = (int)syscall(SYS_gettid);
    cudaLaunchHostFunc(NULL, note_turn, "2");
    return unused;
}
static void in_first(void *thread) { // within a call
    char path[64], state = 0;
    pthread_create(thread, NULL, second, NULL);
    while (!waiting) usleep(100);
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", waiting);
    while (state != 'S') { // it sleeps
        FILE *f = fopen(path, "r");
        if (!f || fscanf(f, "%*d %*s %c", &state) != 1) return;
        fclose(f);
    }
}
static void test_turns(void) {
    pthread_t thread;
    cudaLaunchHostFunc(NULL, in_first, &thread);
    cudaLaunchHostFunc(NULL, note_turn, "1");
    pthread_join(thread, NULL);
    printf("turns: %s\n", turns);
}

// 4 MiB over 8 GPUs, and as halves: 16 bits, each step rounded.
// A copy of 64 MiB from GPU to GPU, by the host's clock: what --clock says it tells.
static void test_clock(void) {
    enum { BYTES = 64 << 20 };
    struct timespec from, to;
    struct timeval day;
    void *p[2];
    for (int d = 0; d < 2; d++) cudaSetDevice(d), cudaMalloc(&p[d], BYTES);
    reach(2);
    cudaSetDevice(0);
    clock_gettime(CLOCK_MONOTONIC, &from);
    cudaMemcpyPeerAsync(p[1], 1, p[0], 0, BYTES, NULL);
    cudaDeviceSynchronize();
    clock_gettime(CLOCK_MONOTONIC, &to);
    double us = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
    gettimeofday(&day, NULL);
    // Asking costs 25 ns. This machine copies them in milliseconds.
    printf("simulated: %d, the day: %d\n", us >= 179.4 && us < 179.7, time(NULL) - day.tv_sec < 2);
    double until = (double)day.tv_sec + (double)day.tv_usec * 1e-6 + 1e-3;
    do clock_gettime(CLOCK_REALTIME, &to);
    while ((double)to.tv_sec + (double)to.tv_nsec * 1e-9 < until); // a program that waits for it goes on
    printf("waited\n");
}

// Each rank scales what it gives by a factor of its own: 4 x 1 + 4 x 2 ones.
static void test_factors(void) {
    int op[N], wrong = 0;
    float one = 1, is;
    for (int d = 0; d < N; d++) {
        cudaSetDevice(d);
        cudaMalloc((void **)&in[d], 4);
        cudaMemcpy(in[d], &one, 4, IN);
    }
    ncclCommInitAll(comms, N, NULL);
    for (int d = 0; d < N; d++) {
        float factor = (float)(1 + d % 2);
        printf("%d", ncclRedOpCreatePreMulSum(&op[d], &factor, F32, 1, comms[d]));
    }
    printf("\n");
    ALL(N, ncclAllReduce(in[d], in[d], 1, F32, op[d], comms[d], NULL));
    for (int d = 0; d < N; d++) {
        cudaMemcpy(&is, in[d], 4, OUT);
        wrong += is != 12;
        ncclRedOpDestroy(op[d], comms[d]);
    }
    printf("wrong: %d\n", wrong);
}

static void test_time(void) {
    enum { BYTES = 4 << 20 };
    handle from, to;
    float ms;
    for (int d = 0; d < N; d++) {
        cudaSetDevice(d);
        cudaMalloc((void **)&in[d], BYTES);
        cudaMemset(in[d], 0, BYTES);
    }
    cudaSetDevice(0);
    cudaEventCreate(&from), cudaEventCreate(&to);
    ncclCommInitAll(comms, N, NULL);
    cudaEventRecord(from, NULL);
    ALL(N, ncclAllReduce(in[d], in[d], BYTES / 2, F16, AVG, comms[d], NULL));
    cudaEventRecord(to, NULL);
    cudaEventElapsedTime(&ms, from, to);
    printf("%.1f us\n", ms * 1e3);
}

// Training with data shared out: a GPU's gradient is of (w - target)^2 / 2 with a target of its own; their
// sum moves the weights a quarter of the way to the mean of the targets, 4.5, at each step.
static void test_train(void) {
    enum { WEIGHTS = 10000, STEPS = 5 };
    static float host[WEIGHTS];
    float *w[N], *target[N];
    double want = 0, worst = 0;
    ncclCommInitAll(comms, N, NULL);
    for (int d = 0; d < N; d++) {
        cudaSetDevice(d);
        for (int i = 0; i < WEIGHTS; i++) host[i] = (float)(d + 1);
        cudaMalloc((void **)&w[d], sizeof host), cudaMalloc((void **)&in[d], sizeof host);
        cudaMalloc((void **)&target[d], sizeof host);
        cudaMemset(w[d], 0, sizeof host);
        cudaMemcpy(target[d], host, sizeof host, IN);
    }
    for (int step = 0; step < STEPS; step++) {
        for (int d = 0; d < N; d++) {
            cudaSetDevice(d);
            cudaMemset(in[d], 0, sizeof host);
            add(WEIGHTS, 1, w[d], in[d]);
            add(WEIGHTS, -1, target[d], in[d]);
        }
        ALL(N, ncclAllReduce(in[d], in[d], WEIGHTS, F32, SUM, comms[d], NULL));
        for (int d = 0; d < N; d++) {
            cudaSetDevice(d);
            add(WEIGHTS, -0.25f / N, in[d], w[d]);
        }
        want += (4.5 - want) / 4;
    }
    for (int d = 0; d < N; d++) {
        cudaSetDevice(d);
        cudaMemcpy(host, w[d], sizeof host, OUT);
        for (int i = 0; i < WEIGHTS; i++) worst = worst > want - host[i] ? worst : want - host[i];
        for (int i = 0; i < WEIGHTS; i++) worst = worst > host[i] - want ? worst : host[i] - want;
    }
    printf("train: %s\n", worst < 1e-5 ? "right" : "wrong");
}

// ---- several processes --------------------------------------------------------------------------------
// The child's process scales what the parent's has on device 0, from device 1, behind the parent's event.
enum { SHARED = 5000 };
typedef struct handles {
    memory_handle small, x, y;
    memory_handle event;
} handles;

static void child_process(int from, int to) {
    handles h;
    float *x, *y, a = 2, first;
    int n = SHARED, *small, got;
    handle event;
    if (read(from, &h, sizeof h) != sizeof h) exit(4);
    cudaSetDevice(1);
    say("memory", cudaIpcOpenMemHandle((void **)&x, h.x, 1));
    say("memory", cudaIpcOpenMemHandle((void **)&y, h.y, 1));
    say("small memory", cudaIpcOpenMemHandle((void **)&small, h.small, 1));
    say("event", cudaIpcOpenEventHandle(&event, h.event));
    cudaMemcpy(&got, small, 4, OUT);
    say("wait", cudaStreamWaitEvent(NULL, event, 0));
    void *args[] = {&n, &a, &x, &y};
    say("launch",
        cudaLaunchKernel(&axpy, (dim3){(unsigned)(n + 255) / 256, 1, 1}, (dim3){256, 1, 1}, args, 0, NULL));
    cudaMemcpy(&first, y + 1, 4, OUT);
    printf("small: %d, y[1]: %g\n", got, (double)first);
    say("free", cudaFree(x));
    say("close", cudaIpcCloseMemHandle(x));
    say("close again", cudaIpcCloseMemHandle(x));
    cudaIpcCloseMemHandle(y);
    h.x.bytes[0] ^= 1;
    say("no handle", cudaIpcOpenMemHandle((void **)&x, h.x, 1));
    fflush(stdout);
    if (write(to, "x", 1) != 1) exit(4);
}

static void parent_process(int from, int to) {
    static float x[SHARED], y[SHARED];
    float *dx, *dy, a = 1;
    int *before, *small, *behind, n = SHARED, wrong = 0, value[] = {11, 22, 33};
    handles h = {0};
    handle event, plain;
    void *own;
    char c;
    for (int i = 0; i < n; i++) x[i] = (float)i, y[i] = 1;
    cudaMalloc((void **)&before, 4), cudaMalloc((void **)&small, 4), cudaMalloc((void **)&behind, 4);
    cudaMalloc((void **)&dx, sizeof x), cudaMalloc((void **)&dy, 4 << 20);
    cudaMemcpy(before, &value[0], 4, IN), cudaMemcpy(small, &value[1], 4, IN);
    cudaMemcpy(dx, x, sizeof x, IN), cudaMemcpy(dy, y, sizeof y, IN);
    say("memory's handle", cudaIpcGetMemHandle(&h.small, small));
    cudaMemcpy(behind, &value[2], 4, IN);
    cudaIpcGetMemHandle(&h.x, dx), cudaIpcGetMemHandle(&h.y, dy);
    cudaEventCreate(&plain);
    say("an event of one process", cudaIpcGetEventHandle(&h.event, plain));
    cudaEventCreateWithFlags(&event, 6);
    say("event's handle", cudaIpcGetEventHandle(&h.event, event));
    say("its own memory", cudaIpcOpenMemHandle(&own, h.y, 1));
    void *args[] = {&n, &a, &dx, &dy}; // y = x + y; the child adds 2 x
    cudaLaunchKernel(&axpy, (dim3){(unsigned)(n + 255) / 256, 1, 1}, (dim3){256, 1, 1}, args, 0, NULL);
    cudaEventRecord(event, NULL);
    fflush(stdout);
    if (write(to, &h, sizeof h) != sizeof h || read(from, &c, 1) != 1) exit(4);
    cudaMemcpy(y, dy, sizeof y, OUT);
    for (int i = 0; i < n; i++) wrong += y[i] != 3 * (float)i + 1;
    cudaMemcpy(&value[0], before, 4, OUT), cudaMemcpy(&value[2], behind, 4, OUT);
    printf("wrong: %d, around it: %d %d\n", wrong, value[0], value[2]);
    say("free", cudaFree(dx));
}

static void test_processes(void) {
    int down[2], up[2], status;
    if (pipe(down) || pipe(up)) exit(4);
    pid_t child = fork(); // before CUDA is used
    if (child == 0) {
        child_process(down[0], up[1]);
        exit(0);
    }
    parent_process(up[0], down[1]);
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    registers(argv[1]);
    if (!strcmp(argv[2], "devices")) test_devices();
    if (!strcmp(argv[2], "copies")) test_copies(1);
    if (!strcmp(argv[2], "staged")) test_copies(0);
    if (!strcmp(argv[2], "kernel")) test_kernel();
    if (!strcmp(argv[2], "nccl")) test_nccl();
    if (!strcmp(argv[2], "threads")) test_threads();
    if (!strcmp(argv[2], "turns")) test_turns();
    if (!strcmp(argv[2], "managed")) test_managed();
    if (!strcmp(argv[2], "train")) test_train();
    if (!strcmp(argv[2], "time")) test_time();
    if (!strcmp(argv[2], "clock")) test_clock();
    if (!strcmp(argv[2], "factors")) test_factors();
    if (!strcmp(argv[2], "processes")) test_processes();
    return 0;
}
