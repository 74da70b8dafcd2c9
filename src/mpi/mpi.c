// The functions of MPI that a program on a simulated cluster calls: each does what SimGrid's does (PMPI_*,
// found in the process) and writes down when, with how many bytes and with whom.
//
// This file is in the library that takes CUDA's place under `orrery cluster` and in no other. A program that
// was linked with smpicc looks for MPI's functions in its libraries in the order in which they were named,
// CUDA's before SimGrid's; where SimGrid's come first, nothing is written down and everything else is the
// same. Handles of MPI are pointers in SMPI, counts and ranks are int (smpi/mpi.h of SimGrid 3.32).
#include "mpi/mpi.h"
#include "app/app.h"

#include <dlfcn.h>

void *mpi_original(const char *name) {
    void *f = dlsym(RTLD_DEFAULT, name);
    if (!f) app_say("%s: not among SimGrid's functions", name);
    return f;
}

static uint64_t size_of(int count, mpi type) {
    static int (*size)(mpi, int *);
    if (!size) *(void **)&size = mpi_original("PMPI_Type_size");
    int n = 0;
    if (!size || count < 0 || size(type, &n)) return 0;
    return (uint64_t)count * (uint64_t)n;
}

// CALL(NAME, (its parameters), (their names), bytes that this rank gives away, the rank it gives them to or
// NOBODY)
enum { NOBODY = -1 };
#define CALL(name, parameters, names, bytes, to)                                                             \
    API int MPI_##name parameters __attribute__((alias("counted_" #name)));                                  \
    int counted_##name parameters {                                                                          \
        static int(*f) parameters;                                                                           \
        if (!f) *(void **)&f = mpi_original("PMPI_" #name);                                                  \
        if (!f) return 15; /* MPI_ERR_OTHER */                                                               \
        double from = app_mpi_begin(#name);                                                                  \
        int result = f names;                                                                                \
        app_mpi_end(#name, from, bytes, to);                                                                 \
        return result;                                                                                       \
    }

// clang-format off
CALL(Send, (const void *b, int n, mpi t, int to, int tag, mpi c), (b, n, t, to, tag, c), size_of(n, t), to)
CALL(Ssend, (const void *b, int n, mpi t, int to, int tag, mpi c), (b, n, t, to, tag, c), size_of(n, t), to)
CALL(Isend, (const void *b, int n, mpi t, int to, int tag, mpi c, mpi *r), (b, n, t, to, tag, c, r), size_of(n, t), to)
CALL(Recv, (void *b, int n, mpi t, int from_, int tag, mpi c, mpi s), (b, n, t, from_, tag, c, s), 0, NOBODY)
CALL(Irecv, (void *b, int n, mpi t, int from_, int tag, mpi c, mpi *r), (b, n, t, from_, tag, c, r), 0, NOBODY)
CALL(Sendrecv, (const void *b, int n, mpi t, int to, int tag, void *b2, int n2, mpi t2, int from_, int tag2, mpi c, mpi s),
     (b, n, t, to, tag, b2, n2, t2, from_, tag2, c, s), size_of(n, t), to)
CALL(Sendrecv_replace, (void *b, int n, mpi t, int to, int tag, int from_, int tag2, mpi c, mpi s),
     (b, n, t, to, tag, from_, tag2, c, s), size_of(n, t), to)
CALL(Wait, (mpi *r, mpi s), (r, s), 0, NOBODY)
CALL(Waitall, (int n, mpi *r, mpi s), (n, r, s), 0, NOBODY)
CALL(Waitany, (int n, mpi *r, int *which, mpi s), (n, r, which, s), 0, NOBODY)
CALL(Waitsome, (int n, mpi *r, int *m, int *which, mpi s), (n, r, m, which, s), 0, NOBODY)
CALL(Probe, (int from_, int tag, mpi c, mpi s), (from_, tag, c, s), 0, NOBODY)
CALL(Barrier, (mpi c), (c), 0, NOBODY)
CALL(Bcast, (void *b, int n, mpi t, int root, mpi c), (b, n, t, root, c), size_of(n, t), NOBODY)
CALL(Reduce, (const void *b, void *b2, int n, mpi t, mpi op, int root, mpi c), (b, b2, n, t, op, root, c), size_of(n, t), NOBODY)
CALL(Allreduce, (const void *b, void *b2, int n, mpi t, mpi op, mpi c), (b, b2, n, t, op, c), size_of(n, t), NOBODY)
CALL(Iallreduce, (const void *b, void *b2, int n, mpi t, mpi op, mpi c, mpi *r), (b, b2, n, t, op, c, r), size_of(n, t), NOBODY)
CALL(Scan, (const void *b, void *b2, int n, mpi t, mpi op, mpi c), (b, b2, n, t, op, c), size_of(n, t), NOBODY)
CALL(Gather, (const void *b, int n, mpi t, void *b2, int n2, mpi t2, int root, mpi c), (b, n, t, b2, n2, t2, root, c), size_of(n, t), NOBODY)
CALL(Gatherv, (const void *b, int n, mpi t, void *b2, const int *n2, const int *d, mpi t2, int root, mpi c),
     (b, n, t, b2, n2, d, t2, root, c), size_of(n, t), NOBODY)
CALL(Allgather, (const void *b, int n, mpi t, void *b2, int n2, mpi t2, mpi c), (b, n, t, b2, n2, t2, c), size_of(n, t), NOBODY)
CALL(Allgatherv, (const void *b, int n, mpi t, void *b2, const int *n2, const int *d, mpi t2, mpi c),
     (b, n, t, b2, n2, d, t2, c), size_of(n, t), NOBODY)
CALL(Scatter, (const void *b, int n, mpi t, void *b2, int n2, mpi t2, int root, mpi c), (b, n, t, b2, n2, t2, root, c), size_of(n2, t2), NOBODY)
CALL(Scatterv, (const void *b, const int *n, const int *d, mpi t, void *b2, int n2, mpi t2, int root, mpi c),
     (b, n, d, t, b2, n2, t2, root, c), size_of(n2, t2), NOBODY)
CALL(Alltoall, (const void *b, int n, mpi t, void *b2, int n2, mpi t2, mpi c), (b, n, t, b2, n2, t2, c), size_of(n, t), NOBODY)
CALL(Alltoallv, (const void *b, const int *n, const int *d, mpi t, void *b2, const int *n2, const int *d2, mpi t2, mpi c),
     (b, n, d, t, b2, n2, d2, t2, c), 0, NOBODY)
CALL(Reduce_scatter, (const void *b, void *b2, const int *n, mpi t, mpi op, mpi c), (b, b2, n, t, op, c), 0, NOBODY)
CALL(Reduce_scatter_block, (const void *b, void *b2, int n, mpi t, mpi op, mpi c), (b, b2, n, t, op, c), size_of(n, t), NOBODY)
CALL(Init, (int *argc, char ***argv), (argc, argv), 0, NOBODY)
CALL(Init_thread, (int *argc, char ***argv, int want, int *got), (argc, argv, want, got), 0, NOBODY)
CALL(Finalize, (void), (), 0, NOBODY)
// clang-format on

// SimGrid's ends the rank that calls it, and the others wait for ever.
API int MPI_Abort(mpi of, int status);
API int MPI_Abort(mpi of, int status) {
    static int (*rank_of)(mpi, int *);
    int rank = 0;
    if (!rank_of) *(void **)&rank_of = mpi_original("PMPI_Comm_rank");
    if (rank_of) rank_of(of, &rank);
    app_cluster_abort(rank, status);
    return 0;
}
