// MPI as SimGrid has it (smpi/mpi.h of 3.32), for what is in this folder: handles are pointers.
#ifndef ORR_MPI_MPI_H
#define ORR_MPI_MPI_H

#include <stdint.h>

typedef void *mpi; // MPI_Comm, MPI_Datatype, MPI_Op, MPI_Request, MPI_Status *

void *mpi_original(const char *name); // SimGrid's function or variable; says so when there is none

// Those that programs call, with an account of what they take (mpi.c). Under the name MPI_* they would be
// SimGrid's, whose library comes first in the process.
int counted_Send(const void *b, int n, mpi t, int to, int tag, mpi c);
int counted_Isend(const void *b, int n, mpi t, int to, int tag, mpi c, mpi *r);
int counted_Recv(void *b, int n, mpi t, int from, int tag, mpi c, mpi s);
int counted_Irecv(void *b, int n, mpi t, int from, int tag, mpi c, mpi *r);
int counted_Waitall(int n, mpi *r, mpi s);
int counted_Barrier(mpi c);
int counted_Bcast(void *b, int n, mpi t, int root, mpi c);
int counted_Reduce(const void *b, void *b2, int n, mpi t, mpi op, int root, mpi c);
int counted_Allreduce(const void *b, void *b2, int n, mpi t, mpi op, mpi c);
int counted_Gather(const void *b, int n, mpi t, void *b2, int n2, mpi t2, int root, mpi c);
int counted_Allgather(const void *b, int n, mpi t, void *b2, int n2, mpi t2, mpi c);
int counted_Scatter(const void *b, int n, mpi t, void *b2, int n2, mpi t2, int root, mpi c);
int counted_Alltoall(const void *b, int n, mpi t, void *b2, int n2, mpi t2, mpi c);
int counted_Reduce_scatter_block(const void *b, void *b2, int n, mpi t, mpi op, mpi c);
int counted_Finalize(void);

#endif
