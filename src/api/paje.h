// What SimGrid's trace of an MPI program says: calls of each rank, and messages. Private to api/.
#ifndef ORR_API_PAJE_H
#define ORR_API_PAJE_H

#include "base/base.h"

typedef struct paje_call {
    int rank;
    const char *name; // "Allreduce"
    double from, to;  // s
} paje_call;

typedef struct paje_message {
    int from, to;
    uint64_t bytes;
    double sent, got; // s; got < 0: nobody received it
    const char *key;
} paje_message;

typedef struct paje {
    ORR_VEC(paje_call) calls;
    ORR_VEC(paje_message) messages;
    ORR_VEC(double) ends; // of each rank, s
    orr_arena arena;
} paje;

// A file in Paje's format, as SimGrid 3.x writes it with tracing/smpi.
bool paje_read(const char *path, int ranks, paje *p, orr_err *e);
void paje_free(paje *p);

#endif
