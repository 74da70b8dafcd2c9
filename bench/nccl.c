// What an all-reduce of NCCL takes, as nccl-tests measure it: an MPI program for `orrery cluster`
// (bench/nccl).
//
//   nccl GPUS BYTES...    each rank has GPUS GPUs in one thread; a line for each size: bytes, us of one of
//   ITERATIONS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    char bytes[128];
} unique_id;
typedef void *handle;
typedef unsigned long long devptr;
int cuInit(unsigned), cuDeviceGetCount(int *), cuDevicePrimaryCtxRetain(handle *, int),
    cuCtxSetCurrent(handle), cuCtxSynchronize(void);
int cuMemAlloc_v2(devptr *, size_t), cuMemFree_v2(devptr), cuStreamCreate(handle *, unsigned);
int cuEventCreate(handle *, unsigned), cuEventRecord(handle, handle),
    cuEventElapsedTime(float *, handle, handle);
int cuEventSynchronize(handle);
int ncclGetUniqueId(unique_id *), ncclCommInitRank(handle *, int, unique_id, int), ncclGroupStart(void),
    ncclGroupEnd(void);
int ncclAllReduce(const void *, void *, size_t, int, int, handle, handle);

enum { WARM = 2, ITERATIONS = 20, MOST = 8, FLOAT = 7, SUM = 0 };
static handle context[MOST], stream[MOST], comm[MOST];

static void must(int error, const char *what) {
    if (!error) return;
    fprintf(stderr, "nccl: %s: error %d\n", what, error);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void all_reduce(int gpus, const devptr *from, const devptr *to, size_t n) {
    must(ncclGroupStart(), "ncclGroupStart");
    for (int g = 0; g < gpus; g++)
        must(ncclAllReduce((void *)(size_t)from[g], (void *)(size_t)to[g], n, FLOAT, SUM, comm[g], stream[g]),
             "ncclAllReduce");
    must(ncclGroupEnd(), "ncclGroupEnd");
}

static double measure(int gpus, size_t bytes) {
    devptr from[MOST], to[MOST];
    handle start, stop;
    float ms;
    for (int g = 0; g < gpus; g++) {
        must(cuCtxSetCurrent(context[g]), "cuCtxSetCurrent");
        must(cuMemAlloc_v2(&from[g], bytes) || cuMemAlloc_v2(&to[g], bytes), "cuMemAlloc");
    }
    must(cuCtxSetCurrent(context[0]), "cuCtxSetCurrent");
    must(cuEventCreate(&start, 0) || cuEventCreate(&stop, 0), "cuEventCreate");
    for (int i = 0; i < WARM + ITERATIONS; i++) {
        if (i == WARM) must(cuEventRecord(start, stream[0]), "cuEventRecord");
        all_reduce(gpus, from, to, bytes / sizeof(float));
    }
    must(cuEventRecord(stop, stream[0]) || cuEventSynchronize(stop), "cuEventRecord");
    must(cuEventElapsedTime(&ms, start, stop), "cuEventElapsedTime");
    for (int g = 0; g < gpus; g++) must(cuMemFree_v2(from[g]) || cuMemFree_v2(to[g]), "cuMemFree");
    return ms * 1e3 / ITERATIONS;
}

int main(int argc, char **argv) {
    int rank, ranks, here = 0, gpus = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (gpus < 1 || gpus > MOST) must(1, "GPUS BYTES...");
    unique_id id;
    must(cuInit(0) || cuDeviceGetCount(&here), "cuInit"); // GPUs of this node
    if (!rank) must(ncclGetUniqueId(&id), "ncclGetUniqueId");
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int g = 0; g < gpus; g++) {
        must(cuDevicePrimaryCtxRetain(&context[g], (rank * gpus + g) % here) || cuCtxSetCurrent(context[g]),
             "the GPU");
        must(cuStreamCreate(&stream[g], 1), "cuStreamCreate");
    }
    must(ncclGroupStart(), "ncclGroupStart");
    for (int g = 0; g < gpus; g++) {
        must(cuCtxSetCurrent(context[g]), "cuCtxSetCurrent");
        must(ncclCommInitRank(&comm[g], ranks * gpus, id, rank * gpus + g), "ncclCommInitRank");
    }
    must(ncclGroupEnd(), "ncclGroupEnd");
    for (int i = 2; i < argc; i++) {
        double us = measure(gpus, strtoull(argv[i], NULL, 10));
        if (!rank) printf("%s %.3f\n", argv[i], us);
    }
    MPI_Finalize();
    return 0;
}
