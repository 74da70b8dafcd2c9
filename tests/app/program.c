// What nvcc makes of a program's host code, written by hand, so that the runtime can be tested without nvcc:
// it registers a fat binary, its kernels and variables, and calls the runtime. Each test is a subcommand; it
// prints what it found, and test_app.sh knows what that must be.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned x, y, z;
} dim3;
typedef void *handle;
enum { IN = 1, OUT = 2 };

void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *,
                            int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
int cudaMalloc(void **, size_t), cudaMallocManaged(void **, size_t, unsigned), cudaFree(void *);
int cudaHostRegister(void *, size_t, unsigned), cudaHostUnregister(void *);
int cudaHostGetDevicePointer(void **, void *, unsigned);
int cudaMallocPitch(void **, size_t *, size_t, size_t);
int cudaMemcpy(void *, const void *, size_t, int), cudaMemset(void *, int, size_t);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, handle), cudaMemsetAsync(void *, int, size_t, handle);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, handle);
int cudaFuncSetAttribute(const void *, int, int);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
int cudaDeviceSynchronize(void), cudaGetLastError(void), cudaPeekAtLastError(void), cudaDeviceReset(void);
int cudaDeviceGetAttribute(int *, int, int), cudaGetDeviceCount(int *), cudaSetDevice(int);
int cudaStreamCreate(handle *), cudaStreamSynchronize(handle), cudaStreamDestroy(handle);
int cudaStreamWaitEvent(handle, handle, unsigned), cudaStreamBeginCapture(handle, int),
    cudaStreamEndCapture(handle, handle *);
int cudaEventCreate(handle *), cudaEventRecord(handle, handle), cudaEventSynchronize(handle);
int cudaEventElapsedTime(float *, handle, handle);
int cudaGraphInstantiate(handle *, handle, unsigned long long), cudaGraphLaunch(handle, handle);
int cudaLaunchHostFunc(handle, void (*)(void *), void *), cudaDestroyExternalMemory(void);
const char *cudaGetErrorName(int), *cudaGetErrorString(int);
int cuInit(unsigned), cuModuleLoad(handle *, const char *),
    cuModuleGetFunction(handle *, handle, const char *);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,
                   void **, void **);
int cuMemAlloc_v2(unsigned long long *, size_t), cuMemcpyDtoH_v2(void *, unsigned long long, size_t);
int cuMemsetD32_v2(unsigned long long, unsigned, size_t);

static struct {
    int magic, version;
    const void *data, *more;
} fat = {0x466243b1, 1, NULL, NULL};
static char axpy, count, scale, reverse, greet, wild, spin; // their addresses stand for the kernels
static int counter;
static float factors[4];
static const char *path;

static void read_fatbin(void) {
    FILE *f = fopen(path, "rb");
    if (!f) exit(3);
    char *bytes = malloc(1 << 20);
    if (!bytes || fread(bytes, 1, 1 << 20, f) < 64) exit(3);
    fclose(f);
    fat.data = bytes;
}

static void registers(void) {
    read_fatbin();
    void **h = __cudaRegisterFatBinary(&fat);
    static const struct {
        const char *host, *name;
    } kernels[] = {{&axpy, "axpy"},   {&count, "count"}, {&scale, "scale"}, {&reverse, "reverse"},
                   {&greet, "greet"}, {&wild, "wild"},   {&spin, "spin"}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        __cudaRegisterFunction(h, kernels[i].host, (char *)kernels[i].name, kernels[i].name, -1, 0, 0, 0, 0,
                               0);
    __cudaRegisterVar(h, (char *)&counter, "counter", "counter", 0, 4, 0, 0);
    __cudaRegisterVar(h, (char *)factors, "factors", "factors", 0, 16, 1, 0);
    __cudaRegisterFatBinaryEnd(h);
}

static int launch(const char *kernel, unsigned grid, unsigned block, void **args, size_t shared,
                  handle stream) {
    return cudaLaunchKernel(kernel, (dim3){grid, 1, 1}, (dim3){block, 1, 1}, args, shared, stream);
}

static void say(const char *what, int error) { printf("%s: %s\n", what, cudaGetErrorName(error)); }

// As programs of CUDA 11 and 12 ask for them: functions whose arguments or results changed.
int props_11(void *, int), props_12(void *, int), props_13(void *, int), malloc_11(void **, size_t);
int malloc_12(void **, size_t), attributes_12(void *, const void *);
__asm__(".symver props_11, cudaGetDeviceProperties@libcudart.so.11.0");
__asm__(".symver props_12, cudaGetDeviceProperties_v2@libcudart.so.12");
__asm__(".symver props_13, cudaGetDeviceProperties@libcudart.so.13");
__asm__(".symver malloc_11, cudaMalloc@libcudart.so.11.0");
__asm__(".symver malloc_12, cudaMalloc@libcudart.so.12");
__asm__(".symver attributes_12, cudaPointerGetAttributes@libcudart.so.12");

// ---- the tests ------------------------------------------------------------------------------------------
static void test_axpy(void) {
    enum { N = 1000 };
    float x[N], y[N], a = 3, *dx, *dy;
    int n = N, wrong = 0;
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 1;
    cudaMalloc((void **)&dx, sizeof x);
    cudaMalloc((void **)&dy, sizeof y);
    cudaMemcpy(dx, x, sizeof x, IN);
    cudaMemcpy(dy, y, sizeof y, IN);
    void *args[] = {&n, &a, &dx, &dy};
    say("launch", launch(&axpy, 4, 256, args, 0, NULL));
    say("copy", cudaMemcpy(y, dy, sizeof y, OUT));
    for (int i = 0; i < N; i++) wrong += y[i] != 3 * (float)i + 1;
    printf("wrong: %d\n", wrong);
}

static void test_symbols(void) {
    int step = 2, got = 0, start = 100;
    void *args[] = {&step};
    cudaMemcpyToSymbol(&counter, &start, 4, 0, IN);
    launch(&count, 2, 64, args, 0, NULL);
    cudaMemcpyFromSymbol(&got, &counter, 4, 0, OUT);
    printf("counter: %d\n", got); // 100 + 2 * 128
    float f[4] = {1, 2, 3, 4}, *m;
    cudaMemcpyToSymbol(factors, f, 16, 0, IN);
    cudaMallocManaged((void **)&m, 32, 1);
    for (int i = 0; i < 8; i++) m[i] = 10; // the host writes where the kernel reads
    void *scale_args[] = {&m};
    launch(&scale, 1, 8, scale_args, 0, NULL);
    cudaDeviceSynchronize();
    printf("managed: %g %g %g %g\n", m[0], m[1], m[6], m[7]);
    say("too far", cudaMemcpyToSymbol(factors, f, 16, 4, IN));
}

static void test_limits(void) {
    int *d, big = 100 * 1024, blocks = 0, sms = 0, ndev = 0, x[256];
    cudaMalloc((void **)&d, sizeof x);
    for (int i = 0; i < 256; i++) x[i] = i;
    cudaMemcpy(d, x, sizeof x, IN);
    void *args[] = {&d};
    say("too much shared memory", launch(&reverse, 1, 256, args, (size_t)big, NULL));
    cudaGetLastError();
    say("attribute", cudaFuncSetAttribute(&reverse, 8, big));
    say("now", launch(&reverse, 1, 256, args, (size_t)big, NULL));
    cudaMemcpy(x, d, sizeof x, OUT);
    printf("reversed: %d %d\n", x[0], x[255]);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &reverse, 256, (size_t)big);
    cudaDeviceGetAttribute(&sms, 16, 0);
    cudaGetDeviceCount(&ndev);
    printf("blocks: %d, SMs: %d, devices: %d\n", blocks, sms, ndev);
    say("too many threads", launch(&reverse, 1, 2048, args, 0, NULL));
    say("peek", cudaPeekAtLastError());
    say("last", cudaGetLastError());
    say("after", cudaGetLastError());
    say("no such device", cudaSetDevice(1));
    say("not there", cudaDestroyExternalMemory());
}

static void test_time(void) {
    enum { BYTES = 64 << 20 };
    handle one, two, from, to, middle;
    char *d, *e, *h = calloc(1, BYTES);
    float ms = 0, half = 0;
    cudaMalloc((void **)&d, BYTES);
    cudaMalloc((void **)&e, BYTES);
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    cudaEventCreate(&middle);
    cudaEventRecord(from, one);
    cudaMemcpyAsync(d, h, BYTES, IN, one);
    cudaEventRecord(middle, one);
    cudaMemcpyAsync(h, e, BYTES, OUT, two); // the other way, at the same time
    cudaStreamWaitEvent(two, middle, 0);
    cudaEventRecord(to, two);
    cudaEventSynchronize(to);
    say("elapsed", cudaEventElapsedTime(&ms, from, to));
    cudaEventElapsedTime(&half, from, middle);
    printf("ms: %.3f %.3f\n", ms, half);
    free(h);
}

// Two kernels that each take a part of the GPU, after a copy: in one stream, in two, in a graph with two
// branches.
enum { BESIDE = 64 * 256 };
static float *array[4];
static void launch_axpy(int which, handle stream) {
    int n = BESIDE;
    float a = 2;
    void *args[] = {&n, &a, &array[2 * which], &array[2 * which + 1]};
    launch(&axpy, 64, 256, args, 0, stream);
}
static float time_pair(handle one, handle two, handle exec) {
    static char host[1 << 20];
    handle from, to, other;
    float ms = 0;
    char *d;
    cudaMalloc((void **)&d, sizeof host);
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    cudaEventCreate(&other);
    cudaMemcpyAsync(d, host, sizeof host, IN, one); // long enough for both to be launched
    cudaEventRecord(from, one);
    cudaStreamWaitEvent(two, from, 0);
    if (exec) {
        cudaGraphLaunch(exec, one);
    } else {
        launch_axpy(0, one);
        launch_axpy(1, two);
    }
    cudaEventRecord(other, two);
    cudaStreamWaitEvent(one, other, 0);
    cudaEventRecord(to, one);
    cudaEventSynchronize(to);
    cudaEventElapsedTime(&ms, from, to);
    return ms;
}
static void test_beside(void) {
    handle one, two, fork, join, graph = NULL, exec = NULL;
    static float host[BESIDE];
    cudaStreamCreate(&one);
    cudaStreamCreate(&two);
    cudaEventCreate(&fork);
    cudaEventCreate(&join);
    for (int i = 0; i < BESIDE; i++) host[i] = (float)i;
    for (int i = 0; i < 4; i++) {
        cudaMalloc((void **)&array[i], sizeof host);
        cudaMemcpy(array[i], host, sizeof host, IN);
    }
    cudaStreamBeginCapture(one, 0);
    cudaEventRecord(fork, one);
    cudaStreamWaitEvent(two, fork, 0);
    launch_axpy(0, one);
    launch_axpy(1, two);
    cudaEventRecord(join, two);
    cudaStreamWaitEvent(one, join, 0);
    cudaStreamEndCapture(one, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    time_pair(one, one, NULL); // what they read is in L2 from now on
    float serial = time_pair(one, one, NULL), apart = time_pair(one, two, NULL),
          as_graph = time_pair(one, two, exec);
    printf("streams: %s\n", apart < 0.7f * serial ? "at the same time" : "one after the other");
    printf("graph: %s\n", as_graph < 0.7f * serial ? "at the same time" : "one after the other");
    int wrong = 0;
    for (int k = 1; k < 4; k += 2) { // each four times y = 2 x + y
        cudaMemcpy(host, array[k], sizeof host, OUT);
        for (int i = 0; i < BESIDE; i++) wrong += host[i] != 9 * (float)i;
    }
    printf("wrong: %d\n", wrong);
}

static void add_one(void *p) { ++*(int *)p; }

static void test_graph(void) {
    int step = 3, got = 0, calls = 0;
    handle s, graph = NULL, exec = NULL;
    void *args[] = {&step};
    cudaStreamCreate(&s);
    say("begin", cudaStreamBeginCapture(s, 0));
    launch(&count, 1, 32, args, 0, s);
    step = 5; // captured by value
    launch(&count, 1, 32, args, 0, s);
    cudaLaunchHostFunc(s, add_one, &calls);
    say("end", cudaStreamEndCapture(s, &graph));
    cudaMemcpyFromSymbol(&got, &counter, 4, 0, OUT);
    printf("captured: %d %d\n", got, calls);
    say("instantiate", cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    cudaMemcpyFromSymbol(&got, &counter, 4, 0, OUT);
    printf("replayed: %d %d\n", got, calls); // 3 * 32 * (3 + 5)
}

static void test_fault(void) {
    int *d, one = 1;
    long at = 1 << 20;
    cudaMalloc((void **)&d, 64);
    void *args[] = {&d, &at};
    say("launch", launch(&wild, 1, 1, args, 0, NULL));
    say("wait", cudaDeviceSynchronize());
    say("malloc", cudaMalloc((void **)&d, 64));
    say("last", cudaGetLastError());
    say("sticky", cudaGetLastError());
    say("reset", cudaDeviceReset());
    say("copy", cudaMalloc((void **)&d, 64) || cudaMemcpy(d, &one, 4, IN));
    say("outside", cudaMemcpy(d, &one, 65, IN));
}

static void test_near(void) { // outside, but on a page that is mapped
    int *d;
    long at = 1000;
    cudaMalloc((void **)&d, 64);
    void *args[] = {&d, &at};
    launch(&wild, 1, 1, args, 0, NULL);
    launch(&wild, 1, 1, args, 0, NULL);
    say("wait", cudaDeviceSynchronize());
}

static void test_registered(void) { // the program's own memory, of which kernels see a double
    static int x[64];
    int *d = NULL;
    for (int i = 0; i < 64; i++) x[i] = i;
    say("none", cudaHostGetDevicePointer((void **)&d, x, 0));
    say("register", cudaHostRegister(x, sizeof x, 2));
    say("twice", cudaHostRegister(x, sizeof x, 2));
    say("pointer", cudaHostGetDevicePointer((void **)&d, x, 0));
    x[63] = 100; // before the launch, and after the address was asked for
    void *args[] = {&d};
    launch(&reverse, 1, 64, args, sizeof x, NULL);
    cudaDeviceSynchronize();
    printf("reversed: %d %d\n", x[0], x[63]);
    say("unregister", cudaHostUnregister(x));
    say("again", cudaHostUnregister(x));
}

static void test_hang(void) {
    int *d;
    cudaMalloc((void **)&d, 4);
    cudaMemset(d, 0, 4);
    void *args[] = {&d};
    say("launch", launch(&spin, 1, 1, args, 0, NULL));
    say("wait", cudaDeviceSynchronize());
}

static void test_print(void) {
    for (int i = 0; i < 2; i++) {
        void *args[] = {&i};
        launch(&greet, 1, 32, args, 0, NULL);
    }
    cudaDeviceSynchronize();
}

static void test_driver(void) {
    handle module, function;
    unsigned long long d;
    int x[64], *p;
    say("init", cuInit(0));
    say("load", cuModuleLoad(&module, path));
    say("function", cuModuleGetFunction(&function, module, "reverse"));
    say("none", cuModuleGetFunction(&function, module, "nothing"));
    say("large", cuMemAlloc_v2(&d, (size_t)1 << 50));
    say("kept", cudaPeekAtLastError()); // only the runtime's errors are
    cuModuleGetFunction(&function, module, "reverse");
    cuMemAlloc_v2(&d, sizeof x);
    cuMemsetD32_v2(d, 7, 32);
    cuMemsetD32_v2(d + 128, 9, 32);
    p = (int *)d;
    void *args[] = {&p};
    say("launch", cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, sizeof x, NULL, args, NULL));
    cuMemcpyDtoH_v2(x, d, sizeof x);
    printf("reversed: %d %d\n", x[0], x[63]);
}

static void test_many(void) { // 10,000 tiny launches
    int step = 1, got = 0;
    void *args[] = {&step};
    for (int i = 0; i < 10000; i++) launch(&count, 1, 32, args, 0, NULL);
    cudaMemcpyFromSymbol(&got, &counter, 4, 0, OUT);
    printf("counter: %d\n", got);
}

static void test_pitch(void) {
    char *d, in[3][10], out[3][10];
    size_t pitch = 0;
    memset(in, 'a', sizeof in);
    in[2][9] = 'z';
    say("pitch", cudaMallocPitch((void **)&d, &pitch, 10, 3));
    cudaMemcpy2D(d, pitch, in, 10, 10, 3, IN);
    cudaMemset(d + pitch, 'b', 10);
    cudaMemcpy2D(out, 10, d, pitch, 10, 3, OUT);
    printf("rows: %.10s %.10s %.10s\n", out[0], out[1], out[2]);
    say("free", cudaFree(d));
    say("twice", cudaFree(d));
}

// cudaDeviceProp: 13's offset and size are its header's, those of 11 and 12 follow from the fields in their
// manuals. What lies behind a structure must not be written to.
static void test_versions(void) {
    static const struct {
        const char *name;
        int (*get)(void *, int);
        int sms, size; // offset of multiProcessorCount, bytes in all
    } versions[] = {{"11", props_11, 388, 728}, {"12", props_12, 388, 1032}, {"13", props_13, 384, 1008}};
    unsigned char p[2048];
    for (int i = 0; i < 3; i++) {
        memset(p, 0xee, sizeof p);
        int rc = versions[i].get(p, 0), sms, behind = 0;
        memcpy(&sms, p + versions[i].sms, 4);
        for (size_t k = (size_t)versions[i].size; k < sizeof p; k++) behind += p[k] != 0xee;
        printf("%s: %d, %d SMs, %d behind\n", versions[i].name, rc, sms, behind);
    }
    void *d;
    memset(p, 0xee, sizeof p);
    say("malloc 11", malloc_11(&d, 16));
    say("malloc 12", malloc_12(&d, 16));
    say("attributes 12", attributes_12(p, d));
    printf("type %d, behind %x\n", p[0], p[24]); // device memory; 24 bytes up to 12
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {{"axpy", test_axpy},   {"symbols", test_symbols},   {"limits", test_limits},
                 {"time", test_time},   {"graph", test_graph},       {"fault", test_fault},
                 {"near", test_near},   {"hang", test_hang},         {"registered", test_registered},
                 {"print", test_print}, {"driver", test_driver},     {"many", test_many},
                 {"pitch", test_pitch}, {"versions", test_versions}, {"beside", test_beside}};
    if (argc < 3) return 2;
    path = argv[1];
    registers();
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (!strcmp(tests[i].name, argv[2])) tests[i].run();
    return argc > 3 ? atoi(argv[3]) : 0;
}
