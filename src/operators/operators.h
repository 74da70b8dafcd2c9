// Execution traces of machine learning: what a rank of an application did, operator by operator, each with
// the operators that it waited for (docs/guides/traces.md).
//
// Three formats are read:
//   *.et     Chakra, schema 0.0.4 (MLCommons): messages of protobuf, each behind its length
//   *.json   PyTorch's ExecutionTraceObserver (schema 1.0.x and 1.1.x "-chakra.0.0.4"), also with the times
//   that
//            Chakra's trace_link adds; and Kineto's (torch.profiler), Chrome's event format
//
//   json.c       JSON, as a tree
//   chakra.c     Chakra's messages
//   pytorch.c    PyTorch's execution trace
//   kineto.c     Kineto's events
//   operators.c  which it is; order, groups of ranks
#ifndef ORR_OPERATORS_H
#define ORR_OPERATORS_H

#include "base/base.h"

enum {
    ORR_OP_HOST,    // on the host's thread
    ORR_OP_COMPUTE, // on the GPU: a kernel, or an operator whose kernels are not known
    ORR_OP_COPY,    // of memory, by the GPU
    ORR_OP_SEND,
    ORR_OP_RECV,
    ORR_OP_COLLECTIVE,
    ORR_OP_NOTHING, // keeps an order
};
enum {
    ORR_OP_ALL_REDUCE,
    ORR_OP_REDUCE,
    ORR_OP_ALL_GATHER,
    ORR_OP_GATHER,
    ORR_OP_SCATTER,
    ORR_OP_BROADCAST,
    ORR_OP_ALL_TO_ALL,
    ORR_OP_REDUCE_SCATTER,
    ORR_OP_REDUCE_SCATTER_BLOCK,
    ORR_OP_BARRIER,
    ORR_OP_COLLECTIVES
}; // as Chakra numbers them

typedef struct orr_operator {
    uint64_t id; // in the file
    const char *name;
    uint8_t kind, what;         // ORR_OP_*; of a collective which
    int stream;                 // of the GPU; -1: not said
    int64_t peer, tag;          // of a message; -1: not said
    const char *group;          // process group; NULL: all ranks
    uint64_t bytes;             // of a message, a copy or a collective (of a rank's larger side)
    double ns;                  // as recorded; negative: it was not
    double ops, memory;         // operations, bytes read and written; 0: not known
    uint32_t grid[3], block[3]; // of a kernel; 0: not known
    uint32_t first_dep, ndeps;  // in `deps`
    uint32_t order;             // place among all, those it waits for before it
} orr_operator;

typedef struct orr_process_group {
    const char *name;
    int *ranks, n;
} orr_process_group;

typedef struct orr_operators {
    const char *path, *format; // "Chakra 0.0.4", ...
    ORR_VEC(orr_operator) at;
    ORR_VEC(uint64_t) ids;  // of dependences, while it is read: as the file numbers operators
    ORR_VEC(uint32_t) deps; // places in `at`
    ORR_VEC(orr_process_group) groups;
    int rank, ranks;   // that recorded it, of how many; -1, 0: not said
    uint32_t left_out; // dependences on operators that are not in the file
    orr_arena arena;
} orr_operators;

bool orr_operators_probe(const char *path); // by its name
orr_operators *orr_operators_load(const char *path, orr_err *e);
orr_operators *orr_operators_parse(const char *path, const void *data, size_t n, orr_err *e);
void orr_operators_free(orr_operators *o);
const orr_process_group *orr_operators_group(const orr_operators *o, const char *name);
extern const char *const orr_operator_collective[ORR_OP_COLLECTIVES];

#endif
