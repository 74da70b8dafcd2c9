// libnccl.so.2: collectives between simulated GPUs. Private to app/.
//
//   nccl.c        the functions that programs call, groups, communicators
//   nccl_do.c     who meets whom, what the operation leaves in memory, when it takes place
//   nccl_sum.c    sums, products, extremes of each data type
//
// An operation is done when every rank of its communicator has asked for it; a call outside a group, and the
// end of a group, return when all that this rank asked for is done. (NCCL's return earlier: the GPU waits.)
// The host's clock does not move while it waits, so the streams' times are those of calls that do not wait.
//
// Sums are made in this order, for chunk c of n (a chunk is 1/n of the elements, rounded up), ranks modulo n:
//   ring   ((x[c+1] + x[c+2]) + ...) + x[c], each step rounded to the data type. A reduce-scatter's chunk c
//   is
//          rank c's block; a reduce's only chunk is c = root
//   tree   in a node ((x[last] + x[last-1]) + ...) + x[first]; over nodes, node v has children 2v+1 and 2v+2
//   and
//          makes (own + first child's) + second child's
//   NVLS   x[0] + x[1] + ..., in 32 bits where the data have 16, rounded once; over nodes (NVLSTree) each
//          node's own, and these as a tree's
#ifndef ORR_APP_NCCL_H
#define ORR_APP_NCCL_H

#include "app/app.h"
#include "node/collective.h"

enum { // ncclResult_t
    NCCL_OK,
    NCCL_CUDA,
    NCCL_SYSTEM,
    NCCL_INTERNAL,
    NCCL_ARGUMENT,
    NCCL_USAGE,
    NCCL_REMOTE,
    NCCL_PROGRESS
};
enum { // ncclDataType_t
    NCCL_INT8,
    NCCL_UINT8,
    NCCL_INT32,
    NCCL_UINT32,
    NCCL_INT64,
    NCCL_UINT64,
    NCCL_F16,
    NCCL_F32,
    NCCL_F64,
    NCCL_BF16,
    NCCL_E4M3,
    NCCL_E5M2,
    NCCL_TYPES
};
enum {
    NCCL_SUM,
    NCCL_PROD,
    NCCL_MAX,
    NCCL_MIN,
    NCCL_AVG,
    NCCL_OPS
}; // ncclRedOp_t; behind them the program's own
enum { OP_SEND = ORR_COLLECTIVES, OP_RECV, OP_SPLIT };

typedef struct nccl_op {
    int what; // enum orr_collective, or one of the above
    const void *send;
    void *recv;
    size_t count;                  // elements: of a rank's part, where ranks have parts
    int type, redop, root;         // root: peer of a send or receive; colour of a split
    int key;                       // of a split
    struct ncclComm *comm, **made; // made: by a split
    app_stream *stream;
} nccl_op;

typedef struct ncclComm {
    struct nccl_team *team;
    int rank, device, number;     // device: index in the_app.devices; as the program counts them
    ORR_VEC(nccl_op) collectives; // that it has asked for and that are not done
    ORR_VEC(double) scales;       // of the rank's own operations (ncclRedOpCreatePreMulSum)
    uint64_t asked, done;         // operations
    uint64_t launched;            // the group for which the host last launched a kernel of it
    bool gone;
} ncclComm;

typedef struct nccl_team {
    char id[128];
    int n, joined, left;
    ncclComm **at;                 // by rank
    ORR_VEC(nccl_op) sends, recvs; // that have not met
    int nodes;
    struct nccl_team *next;
} nccl_team;

size_t nccl_size(int type); // of an element; 0: there is no such type
// acc = acc op x, rounded to the type.
void nccl_combine(int type, int redop, void *acc, const void *x, size_t n);
void nccl_scale(int type, void *x, double factor, size_t n); // each rounded
void nccl_divide(int type, void *x, int by, size_t n);       // integers, towards 0
double nccl_number(int type, const void *x);
// The sum over all ranks of the first n elements, in 32 bits where the data have fewer.
void nccl_sum_once(int type, int redop, const void *const *xs, int ranks, size_t n, void *to);

void nccl_ask(const nccl_op *op);   // hands it to its team; does what has met
bool nccl_done(const ncclComm *c);  // all that it asked for
void nccl_team_ready(nccl_team *t); // all have joined
nccl_team *nccl_team_new(int n);    // in the list of teams
extern nccl_team *nccl_teams;

// What a collective among so many ranks takes, as NCCL_ALGO and NCCL_PROTO allow.
orr_coll_plan nccl_plan(int ranks, int nodes, int what, uint64_t bytes);
uint64_t nccl_bytes(const nccl_op *op); // of a collective, as nccl-tests count them

// Waits, with the lock given back meanwhile, until something has changed.
void app_wait_change(void);
void app_changed(void);

#endif
