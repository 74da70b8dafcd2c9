// MPI programs with CUDA whose results can be checked, for `orrery cluster`; built with smpicc and CUDA's
// driver.
//
//   program KERNELS.ptx jacobi N STEPS    heat on N x N points, rows shared out, halos exchanged; compared
//   with one
//                                         rank that does it all on the host
//   program KERNELS.ptx summa N           a product of N x N matrices on a square of ranks (SUMMA: blocks of
//   a row and
//                                         of a column are broadcast in turn); compared with the host's
//   program KERNELS.ptx train N STEPS     N weights, a gradient on each rank, summed by NCCL or, with MPI
//   behind,
//                                         by MPI; the weights go where the formula says
//   program KERNELS.ptx fft N             a Fourier transform of N x N x N points, planes shared out, turned
//   round by
//                                         an all-to-all; two plane waves become two points
//
// Buffers of GPUs are handed to MPI as they are (CUDA-aware).
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long devptr;
typedef void *handle;
typedef struct {
    char bytes[128];
} unique_id;
int cuInit(unsigned), cuDeviceGetCount(int *), cuDevicePrimaryCtxRetain(handle *, int),
    cuCtxSetCurrent(handle);
int cuModuleLoad(handle *, const char *), cuModuleGetFunction(handle *, handle, const char *),
    cuCtxSynchronize(void), cuStreamCreate(handle *, unsigned);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,
                   void **, void **);
int cuMemAlloc_v2(devptr *, size_t), cuMemsetD8_v2(devptr, unsigned char, size_t);
int cuMemcpyHtoD_v2(devptr, const void *, size_t), cuMemcpyDtoH_v2(void *, devptr, size_t);
int ncclGetUniqueId(unique_id *), ncclCommInitRank(handle *, int, unique_id, int), ncclCommDestroy(handle);
int ncclAllReduce(const void *, void *, size_t, int, int, handle, handle);

static int rank, ranks; // SimGrid gives each rank its own
static handle module;

static void run(const char *name, unsigned gx, unsigned gy, unsigned block, void **args) {
    handle f;
    if (cuModuleGetFunction(&f, module, name) ||
        cuLaunchKernel(f, gx, gy, 1, block, 1, 1, 0, NULL, args, NULL))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

static int fill = 1;
static devptr make(size_t bytes) {
    devptr p;
    if (cuMemAlloc_v2(&p, bytes)) MPI_Abort(MPI_COMM_WORLD, 4);
    if (fill) cuMemsetD8_v2(p, 0, bytes);
    return p;
}

static void *ptr(devptr p) { return (void *)(size_t)p; }

// ---- Jacobi -------------------------------------------------------------------------------------------
static double reference(int n, int steps) { // the sum of all points, on the host
    double *a = calloc((size_t)(n + 2) * n, 8), *b = calloc((size_t)(n + 2) * n, 8), sum = 0;
    for (int j = 0; j < n; j++) a[j] = b[j] = 1;
    for (int s = 0; s < steps; s++) {
        for (int i = 1; i <= n; i++)
            for (int j = 1; j < n - 1; j++)
                b[i * n + j] =
                    0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
        double *t = a;
        a = b, b = t;
    }
    for (int i = n; i < (n + 1) * n; i++) sum += a[i];
    free(a), free(b);
    return sum;
}

static void jacobi(int n, int steps, int check) {
    int rows = n / ranks, up = rank ? rank - 1 : MPI_PROC_NULL,
        down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    size_t row = (size_t)n * 8, bytes = (size_t)(rows + 2) * row;
    fill = check; // memory that nobody touches costs nothing
    devptr a = make(bytes), b = make(bytes);
    double *host = calloc(1, check ? bytes : row), sum = 0, all = 0;
    if (!rank) {
        for (int j = 0; j < n; j++) host[j] = 1;
        cuMemcpyHtoD_v2(a, host, row);
        cuMemcpyHtoD_v2(b, host, row);
    }
    for (int s = 0; s < steps; s++) {
        MPI_Sendrecv(ptr(a + row), n, MPI_DOUBLE, up, 0, ptr(a + (size_t)(rows + 1) * row), n, MPI_DOUBLE,
                     down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(ptr(a + (size_t)rows * row), n, MPI_DOUBLE, down, 1, ptr(a), n, MPI_DOUBLE, up, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        void *args[] = {&n, &rows, &a, &b};
        run("sweep", (unsigned)(n + 255) / 256, (unsigned)rows, 256, args);
        cuCtxSynchronize();
        devptr t = a;
        a = b, b = t;
    }
    if (!check) return;
    cuMemcpyDtoH_v2(host, a, bytes);
    for (int i = n; i < (rows + 1) * n; i++) sum += host[i];
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double want = rank ? 0 : reference(n, steps);
    if (!rank) printf("jacobi: %s\n", fabs(all - want) <= 1e-9 * want ? "right" : "wrong");
    free(host);
}

// ---- SUMMA --------------------------------------------------------------------------------------------
static float element(int which, int i, int j) {
    return (float)((i * 3 + j * (which + 2)) % 7 - 3);
} // small integers

static void summa(int n) {
    int side = (int)(sqrt((double)ranks) + 0.5), nb = n / side, x = rank % side, y = rank / side, wrong = 0,
        all = 0;
    if (side * side != ranks) MPI_Abort(MPI_COMM_WORLD, 5);
    size_t bytes = (size_t)nb * nb * 4;
    devptr a = make(bytes), b = make(bytes), c = make(bytes), pa = make(bytes), pb = make(bytes);
    float *host = malloc(bytes);
    for (int which = 0; which < 2; which++) {
        for (int i = 0; i < nb; i++)
            for (int j = 0; j < nb; j++) host[i * nb + j] = element(which, y * nb + i, x * nb + j);
        cuMemcpyHtoD_v2(which ? b : a, host, bytes);
    }
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, y, x, &row);
    MPI_Comm_split(MPI_COMM_WORLD, x, y, &column);
    for (int k = 0; k < side; k++) {
        devptr left = x == k ? a : pa, top = y == k ? b : pb;
        MPI_Bcast(ptr(left), nb * nb, MPI_FLOAT, k, row);
        MPI_Bcast(ptr(top), nb * nb, MPI_FLOAT, k, column);
        void *args[] = {&nb, &left, &top, &c};
        run("product", (unsigned)(nb + 127) / 128, (unsigned)nb, 128, args);
        cuCtxSynchronize();
    }
    cuMemcpyDtoH_v2(host, c, bytes);
    for (int i = 0; i < nb; i++) // sums of small integers are exact
        for (int j = 0; j < nb; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += element(0, y * nb + i, k) * element(1, k, x * nb + j);
            wrong += sum != host[i * nb + j];
        }
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("summa: %s\n", all ? "wrong" : "right");
    free(host);
}

// ---- a training step ------------------------------------------------------------------------------------
static void train(int n, int steps, int by_mpi) {
    size_t bytes = (size_t)n * 4;
    devptr w = make(bytes), g = make(bytes), sum = make(bytes);
    float target = (float)(rank + 1), rate = 0.25f / (float)ranks, *host = malloc(bytes);
    handle comm = NULL;
    unique_id id;
    if (!by_mpi) {
        if (!rank) ncclGetUniqueId(&id);
        MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (ncclCommInitRank(&comm, ranks, id, rank)) MPI_Abort(MPI_COMM_WORLD, 6);
    }
    for (int s = 0; s < steps; s++) {
        void *first[] = {&n, &target, &w, &g}, *second[] = {&n, &rate, &sum, &w};
        run("gradient", (unsigned)(n + 255) / 256, 1, 256, first);
        if (by_mpi) {
            cuCtxSynchronize();
            MPI_Allreduce(ptr(g), ptr(sum), n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        } else {
            ncclAllReduce(ptr(g), ptr(sum), (size_t)n, 7, 0, comm, NULL);
        }
        run("step", (unsigned)(n + 255) / 256, 1, 256, second);
    }
    cuCtxSynchronize();
    cuMemcpyDtoH_v2(host, w, bytes);
    double mean = (ranks + 1) / 2.0,
           want = mean * (1 - pow(0.75, steps)); // each step goes a quarter of the way
    if (!rank) printf("train: %s\n", fabs(host[n / 2] - want) < 1e-4 * want ? "right" : "wrong");
    if (comm) ncclCommDestroy(comm);
    free(host);
}

// ---- a three-dimensional Fourier transform ----------------------------------------------------------------
// Planes of z are shared out; x and y are transformed there, then y is shared out instead and z transformed.
static void transform(int n, int count, int stride, devptr w, devptr in, devptr out) {
    void *args[] = {&n, &stride, &w, &in, &out};
    run("dft", (unsigned)(count / n), (unsigned)n, (unsigned)n, args);
}

static void fft(int n) {
    int nb = n / ranks, count = nb * n, wrong = 0, all = 0; // columns of a rank
    size_t points = (size_t)count * n, bytes = points * 16;
    if (nb * ranks != n) MPI_Abort(MPI_COMM_WORLD, 8);
    devptr a = make(bytes), b = make(bytes), w = make((size_t)n * 16);
    double *host = malloc(bytes), pi = acos(-1);
    for (int k = 0; k < n; k++) {
        host[2 * k] = cos(2 * pi * k / n);
        host[2 * k + 1] = -sin(2 * pi * k / n);
    }
    cuMemcpyHtoD_v2(w, host, (size_t)n * 16);
    for (size_t i = 0; i < points; i++) { // exp(2 pi i (3 x + 5 y + 7 z) / n) + 2 exp(2 pi i x / n)
        int x = (int)(i % n), y = (int)(i / n % n), z = (int)(i / n / n) + rank * nb;
        double first = 2 * pi * ((3 * x + 5 * y + 7 * z) % n) / n, second = 2 * pi * x / n;
        host[2 * i] = cos(first) + 2 * cos(second);
        host[2 * i + 1] = sin(first) + 2 * sin(second);
    }
    cuMemcpyHtoD_v2(a, host, bytes);
    transform(n, count, 1, w, a, b);
    transform(n, count, n, w, b, a);
    void *args[] = {&n, &nb, &a, &b};
    run("pack", (unsigned)n, (unsigned)nb, (unsigned)n, args);
    cuCtxSynchronize();
    MPI_Alltoall(ptr(b), 2 * nb * nb * n, MPI_DOUBLE, ptr(a), 2 * nb * nb * n, MPI_DOUBLE, MPI_COMM_WORLD);
    transform(n, count, nb * n, w, a, b);
    cuMemcpyDtoH_v2(host, b, bytes);
    double cube = (double)n * n * n;
    for (size_t i = 0; i < points; i++) { // [z][y of this rank][x]
        int x = (int)(i % n), y = (int)(i / n % nb) + rank * nb, z = (int)(i / n / nb);
        double want = x == 3 && y == 5 && z == 7 ? cube : x == 1 && !y && !z ? 2 * cube : 0;
        wrong += fabs(host[2 * i] - want) > 1e-9 * cube || fabs(host[2 * i + 1]) > 1e-9 * cube;
    }
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("fft: %s\n", all ? "wrong" : "right");
    free(host);
}

// ---- streams ------------------------------------------------------------------------------------------
// Seconds until `kernels` launches of a kernel with a few blocks are done, all in one stream or each in its
// own.
static double launches(handle f, int kernels, const handle *stream, int n) {
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    for (int k = 0; k < kernels; k++) {
        static devptr at[2][3];
        for (int i = 0; i < 3 && !at[k][i]; i++) at[k][i] = make((size_t)n * (size_t)n * sizeof(float));
        void *args[] = {&n, &at[k][0], &at[k][1], &at[k][2]};
        if (cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, stream[k], args, NULL)) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    if (cuCtxSynchronize()) MPI_Abort(MPI_COMM_WORLD, 3);
    return MPI_Wtime() - from;
}

// Kernels of two streams run at the same time: one block each, so each as fast as by itself.
static void streams(int n) {
    handle own[2], f;
    if (cuModuleGetFunction(&f, module, "product") || cuStreamCreate(&own[0], 1) ||
        cuStreamCreate(&own[1], 1))
        MPI_Abort(MPI_COMM_WORLD, 3);
    const handle same[2] = {own[0], own[0]};
    launches(f, 2, own, n); // what they read is in L2 from now on
    double one = launches(f, 1, own, n), both = launches(f, 2, own, n), after = launches(f, 2, same, n);
    printf("rank %d: beside %d, after %d\n", rank, both<1.3 * one, after> 1.7 * one);
}

// ---- the host's own work --------------------------------------------------------------------------------
// MS of processor time before a barrier: simulated time is at least FACTOR times as much, or nothing.
static void host(int ms, double factor) {
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    clock_t until = clock() + (clock_t)ms * (CLOCKS_PER_SEC / 1000);
    while (clock() < until) {}
    cuCtxSynchronize();
    double took = MPI_Wtime() - from;
    printf("rank %d: %s\n", rank,
           factor > 0    ? took >= ms * 1e-3 * factor ? "at least" : "less"
           : took < 1e-4 ? "nothing"
                         : "something");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int devices = 0, n = argc > 3 ? atoi(argv[3]) : 64, steps = argc > 4 ? atoi(argv[4]) : 2;
    handle context;
    if (argc < 3 || cuInit(0) || cuDeviceGetCount(&devices) ||
        cuDevicePrimaryCtxRetain(&context, rank % devices) || cuCtxSetCurrent(context) ||
        cuModuleLoad(&module, argv[1])) {
        MPI_Finalize();
        return 7;
    }
    if (!strcmp(argv[2], "jacobi")) jacobi(n, steps, 1);
    if (!strcmp(argv[2], "scale")) jacobi(n, steps, 0); // the same, unchecked (bench/cluster)
    if (!strcmp(argv[2], "summa")) summa(n);
    if (!strcmp(argv[2], "streams")) streams(n);
    if (!strcmp(argv[2], "host")) host(n, argc > 4 ? atof(argv[4]) : 0);
    if (!strcmp(argv[2], "fft")) fft(n);
    if (!strcmp(argv[2], "train")) train(n, steps, argc > 5);
    MPI_Finalize();
    return 0;
}
