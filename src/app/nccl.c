// The functions of NCCL (2.x) that programs call.
#include "app/nccl.h"
#include "app/pending.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    char bytes[128];
} unique_id;

enum { MAX_RANKS = 65536 };

// ---- groups -------------------------------------------------------------------------------------
// What a thread (or a rank of a cluster) has asked for since its outermost ncclGroupStart.
typedef struct joining { // ncclCommInitRank
    ncclComm **to;
    int n, rank, device;
    char id[128];
} joining;

typedef struct group {
    int rank, depth; // rank: -1 where there is one
    pthread_t thread;
    ORR_VEC(nccl_op) ops;
    ORR_VEC(joining) joins;
    struct group *next;
} group;
static group *groups;

static group *my_group(void) {
    int rank = app_in_cluster() ? app_rank_now() : -1;
    for (group *g = groups; g; g = g->next)
        if (g->rank == rank && (rank >= 0 || pthread_equal(g->thread, pthread_self()))) return g;
    group *g = orr_calloc(1, sizeof *g);
    g->rank = rank;
    g->thread = pthread_self();
    g->next = groups;
    return groups = g;
}

static int leave(int result) {
    app_leave_driver(E_OK);
    return result;
}

#define NCCL_ENTER()                                                                                         \
    do {                                                                                                     \
        if (app_enter()) return leave(NCCL_CUDA);                                                            \
    } while (0)

// ---- joining ------------------------------------------------------------------------------------
static nccl_team *team_of(const joining *j) {
    for (nccl_team *t = nccl_teams; t; t = t->next)
        if (t->joined < t->n && t->n == j->n && !memcmp(t->id, j->id, sizeof t->id)) return t;
    nccl_team *t = nccl_team_new(j->n);
    memcpy(t->id, j->id, sizeof t->id);
    return t;
}

static int join(const joining *j) {
    nccl_team *t = team_of(j);
    if (t->at[j->rank]) {
        app_say("ncclCommInitRank: rank %d of %d has joined already", j->rank, j->n);
        return NCCL_ARGUMENT;
    }
    ncclComm *c = orr_calloc(1, sizeof *c);
    *c = (ncclComm){.team = t, .rank = j->rank, .device = app_device_index(j->device), .number = j->device};
    t->at[j->rank] = c;
    *j->to = c;
    if (++t->joined == t->n) nccl_team_ready(t);
    return NCCL_OK;
}

// ns that the host needs to launch a kernel of NCCL's on one GPU.
static double launch_cost(const nccl_op *op) {
    const orr_node *node = the_app.node;
    if (!node || node->nccl_host_call <= 0 || op->what >= ORR_COLLECTIVES)
        return the_app.gpu->launch_latency * 1e3;
    const nccl_team *t = op->comm->team;
    int channels = nccl_plan(t->n, t->nodes, op->what, nccl_bytes(op)).channels;
    return (node->nccl_host_call + (channels - 1) * node->nccl_host_channel) * 1e3;
}

// ---- later ----------------------------------------------------------------------------------------
typedef struct asked { // of communicators, as far as they have to come
    const nccl_op *ops;
    const uint64_t *upto;
    size_t n;
} asked;

static bool all_done(const void *arg) {
    const asked *q = arg;
    for (size_t i = 0; i < q->n; i++)
        if (q->ops[i].comm->done < q->upto[i]) return false;
    return true;
}

// What the node of a graph does (app_call.nccl).
static int run_node(app_stream *s, const app_call *c) {
    size_t n = c->nparams / sizeof(nccl_op);
    nccl_op *ops = orr_malloc(c->nparams + 1);
    uint64_t *upto = orr_calloc(n + 1, sizeof *upto);
    memcpy(ops, c->params, n * sizeof *ops);
    for (size_t i = 0; i < n; i++) {
        ops[i].stream = s; // the graph is launched there
        nccl_ask(&ops[i]);
        upto[i] = ops[i].comm->asked;
    }
    app_pending_until(all_done, &(asked){ops, upto, n});
    free(ops);
    free(upto);
    return E_OK;
}

// What a group asks of a stream that is being captured is a node of the graph, and comes behind what a stream
// still waits for; the rest stays. How many.
static size_t keep_captured(nccl_op *ops, size_t n) {
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        app_stream *s = ops[i].stream;
        if (ops[i].what == OP_SPLIT || !(s->capture || s->joined || app_pending_blocks(s))) {
            ops[left++] = ops[i];
            continue;
        }
        ORR_VEC(nccl_op) same = {0};
        size_t rest = i + 1;
        *ORR_PUSH(&same) = ops[i];
        for (size_t k = i + 1; k < n; k++)
            if (ops[k].stream == s && ops[k].what != OP_SPLIT)
                *ORR_PUSH(&same) = ops[k];
            else
                ops[rest++] = ops[k];
        n = rest;
        app_submit(s, &(app_call){.what = DO_NCCL,
                                  .nccl = run_node,
                                  .params = (uint8_t *)same.at,
                                  .nparams = (uint32_t)(same.n * sizeof *same.at)});
        free(same.at);
    }
    return left;
}

// ---- groups -----------------------------------------------------------------------------------------
// All of a group at once: first the communicators, then what they are for.
static int end_group(group *g) {
    static uint64_t groups_ended;
    uint64_t group = ++groups_ended;
    int result = NCCL_OK;
    size_t njoins = g->joins.n, nops = g->ops.n;
    joining *joins = g->joins.at;
    nccl_op *ops = g->ops.at;
    g->joins.at = NULL, g->ops.at = NULL; // what is asked for meanwhile is another group's
    g->joins.n = g->joins.cap = g->ops.n = g->ops.cap = 0;
    for (size_t i = 0; i < njoins && !result; i++) result = join(&joins[i]);
    for (size_t i = 0; i < njoins && !result; i++)
        while ((*joins[i].to)->team->joined < (*joins[i].to)->team->n) app_wait_change();
    if (nops) nops = keep_captured(ops, nops);
    for (size_t i = 0; i < nops; i++) {
        nccl_ask(&ops[i]);
        // What a rank has asked for in a group is one kernel, and the host launches one after the other.
        if (ops[i].what == OP_SPLIT || ops[i].comm->launched == group) continue;
        ops[i].comm->launched = group;
        the_app.host += launch_cost(&ops[i]);
    }
    for (size_t i = 0; i < nops; i++)
        while (!nccl_done(ops[i].comm))
            if (!app_pending_go(false)) app_wait_change();
    while (app_pending_go(true)) continue; // what waited for these
    free(joins);
    free(ops);
    return result;
}

API int ncclGroupStart(void) {
    NCCL_ENTER();
    my_group()->depth++;
    return leave(NCCL_OK);
}
API int ncclGroupEnd(void) {
    NCCL_ENTER();
    group *g = my_group();
    if (!g->depth) return leave(NCCL_USAGE);
    return leave(--g->depth ? NCCL_OK : end_group(g));
}
API int ncclGroupSimulateEnd(void *info) {
    (void)info;
    return ncclGroupEnd();
}

// ---- communicators --------------------------------------------------------------------------------
API int ncclGetVersion(int *version) {
    if (version) *version = 22703;
    return version ? NCCL_OK : NCCL_ARGUMENT;
}
API int ncclGetUniqueId(unique_id *id) {
    static int counter;
    if (!id) return NCCL_ARGUMENT;
    NCCL_ENTER();
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "orrery %ld %d", (long)getpid(), ++counter);
    return leave(NCCL_OK);
}

static int init_rank(ncclComm **comm, int n, const unique_id *id, int rank, int device) {
    NCCL_ENTER();
    if (!comm || n < 1 || n > MAX_RANKS || rank < 0 || rank >= n) return leave(NCCL_ARGUMENT);
    char own[32];
    int len = snprintf(own, sizeof own, "orrery %ld ", (long)getpid());
    if (strncmp(id->bytes, own, (size_t)len) != 0 && n > 1) {
        app_say("ncclCommInitRank: the id is of another process; communicators over several processes need "
                "orrery "
                "cluster, where all ranks are in one");
        return leave(NCCL_SYSTEM);
    }
    group *g = my_group();
    if (device < 0) device = app_device_now();
    joining j = {.to = comm, .n = n, .rank = rank, .device = device};
    memcpy(j.id, id->bytes, sizeof j.id);
    *ORR_PUSH(&g->joins) = j;
    return leave(g->depth ? NCCL_OK : end_group(g));
}
API int ncclCommInitRank(ncclComm **comm, int n, unique_id id, int rank) {
    return init_rank(comm, n, &id, rank, -1);
}
API int ncclCommInitRankConfig(ncclComm **comm, int n, unique_id id, int rank, void *config) {
    (void)config;
    return init_rank(comm, n, &id, rank, -1);
}
API int ncclCommInitRankScalable(ncclComm **comm, int n, int rank, int nids, unique_id *ids, void *config) {
    (void)config;
    return ids && nids > 0 ? init_rank(comm, n, ids, rank, -1) : NCCL_ARGUMENT;
}
API int ncclCommInitAll(ncclComm **comms, int n, const int *devices) {
    unique_id id;
    int result = ncclGetUniqueId(&id);
    if (result) return result;
    NCCL_ENTER();
    if (!comms || n < 1 || n > app_device_count()) return leave(NCCL_ARGUMENT);
    for (int i = 0; i < n; i++)
        if (!app_device_at(devices ? devices[i] : i)) return leave(NCCL_ARGUMENT);
    ncclGroupStart();
    for (int i = 0; i < n; i++) init_rank(&comms[i], n, &id, i, devices ? devices[i] : i);
    return leave(ncclGroupEnd());
}

static int end_comm(ncclComm *c) {
    if (!c) return NCCL_ARGUMENT;
    NCCL_ENTER();
    nccl_team *t = c->team;
    c->gone = true;
    if (++t->left < t->n) return leave(NCCL_OK);
    for (nccl_team **p = &nccl_teams; *p; p = &(*p)->next)
        if (*p == t) {
            *p = t->next;
            break;
        }
    for (int r = 0; r < t->n; r++) {
        if (t->at[r]) {
            free(t->at[r]->collectives.at);
            free(t->at[r]->scales.at);
        }
        free(t->at[r]);
    }
    free(t->at);
    free(t->sends.at);
    free(t->recvs.at);
    free(t);
    return leave(NCCL_OK);
}
API int ncclCommFinalize(ncclComm *c) { return c ? NCCL_OK : NCCL_ARGUMENT; }
API int ncclCommDestroy(ncclComm *c) { return end_comm(c); }
API int ncclCommAbort(ncclComm *c) { return end_comm(c); }
API int ncclCommCount(const ncclComm *c, int *n) {
    if (c && n) *n = c->team->n;
    return c && n ? NCCL_OK : NCCL_ARGUMENT;
}
API int ncclCommCuDevice(const ncclComm *c, int *device) {
    if (c && device) *device = c->number;
    return c && device ? NCCL_OK : NCCL_ARGUMENT;
}
API int ncclCommUserRank(const ncclComm *c, int *rank) {
    if (c && rank) *rank = c->rank;
    return c && rank ? NCCL_OK : NCCL_ARGUMENT;
}
API int ncclCommGetAsyncError(ncclComm *c, int *error) {
    if (c && error) *error = NCCL_OK;
    return c && error ? NCCL_OK : NCCL_ARGUMENT;
}
API int ncclCommRegister(ncclComm *c, void *p, size_t bytes, void **handle) {
    (void)bytes;
    if (handle) *handle = p;
    return c && handle ? NCCL_OK : NCCL_ARGUMENT;
}
API int ncclCommDeregister(ncclComm *c, void *handle) {
    (void)handle;
    return c ? NCCL_OK : NCCL_ARGUMENT;
}
API int ncclMemAlloc(void **p, size_t bytes) {
    NCCL_ENTER();
    return leave(!p                                                  ? NCCL_ARGUMENT
                 : app_alloc(bytes, PLACE_DEVICE, "ncclMemAlloc", p) ? NCCL_CUDA
                                                                     : NCCL_OK);
}
API int ncclMemFree(void *p) {
    NCCL_ENTER();
    return leave(app_free(p) ? NCCL_CUDA : NCCL_OK);
}

API const char *ncclGetErrorString(int result) {
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return result >= 0 && result <= NCCL_PROGRESS ? texts[result] : "unknown result code";
}
API const char *ncclGetLastError(ncclComm *c) {
    (void)c;
    return "";
}

// ---- the program's own operations -----------------------------------------------------------------
API int ncclRedOpCreatePreMulSum(int *op, const void *scalar, int type, int residence, ncclComm *c) {
    (void)residence; // the scalar's address is good for both
    NCCL_ENTER();
    if (!op || !scalar || !c || !nccl_size(type)) return leave(NCCL_ARGUMENT);
    // Each rank scales its own input: by what it says, under a number that is its own.
    double factor = nccl_number(type, scalar);
    size_t n = 0;
    while (n < c->scales.n && c->scales.at[n] != factor) n++;
    if (n == c->scales.n) *ORR_PUSH(&c->scales) = factor;
    *op = NCCL_OPS + (int)n;
    return leave(NCCL_OK);
}
API int ncclRedOpDestroy(int op, ncclComm *c) { return c && op >= NCCL_OPS ? NCCL_OK : NCCL_ARGUMENT; }

// ---- operations -----------------------------------------------------------------------------------
static int check(const nccl_op *op) {
    const ncclComm *c = op->comm;
    if (!c || c->gone || !nccl_size(op->type)) return NCCL_ARGUMENT;
    if (op->redop < 0 || op->redop >= NCCL_OPS + (int)c->scales.n) return NCCL_ARGUMENT;
    if (op->what != OP_SPLIT && (op->root < 0 || op->root >= c->team->n)) return NCCL_ARGUMENT;
    if (op->count > (SIZE_MAX >> 20) / nccl_size(op->type)) return NCCL_ARGUMENT;
    uint64_t n = (uint64_t)c->team->n, bytes = op->count * nccl_size(op->type);
    uint64_t in = op->what == ORR_COLL_REDUCE_SCATTER ? bytes * n : bytes;
    uint64_t out = op->what == ORR_COLL_ALL_GATHER ? bytes * n : bytes;
    bool reads = op->what != OP_RECV && op->what != OP_SPLIT && bytes;
    bool writes = op->what != OP_SEND && op->what != OP_SPLIT && bytes;
    if (op->what == ORR_COLL_BROADCAST && c->rank != op->root) reads = false;
    if (op->what == ORR_COLL_REDUCE && c->rank != op->root) writes = false;
    if (reads && !orr_mem_host(the_app.mem, (uintptr_t)op->send, in)) return NCCL_ARGUMENT;
    if (writes && !orr_mem_host(the_app.mem, (uintptr_t)op->recv, out)) return NCCL_ARGUMENT;
    return NCCL_OK;
}

static int ask(nccl_op op, void *stream) {
    NCCL_ENTER();
    int result = check(&op);
    // A default stream is that of the communicator's device.
    app_device *d = result ? NULL : &the_app.devices[op.comm->device];
    if (d) op.stream = !stream || stream == STREAM_LEGACY ? &d->legacy : app_stream_of(stream);
    if (result || !op.stream) return leave(NCCL_ARGUMENT);
    group *g = my_group();
    *ORR_PUSH(&g->ops) = op;
    return leave(g->depth ? NCCL_OK : end_group(g));
}

API int ncclAllReduce(const void *send, void *recv, size_t n, int type, int op, ncclComm *c, void *stream) {
    return ask((nccl_op){.what = ORR_COLL_ALL_REDUCE,
                         .send = send,
                         .recv = recv,
                         .count = n,
                         .type = type,
                         .redop = op,
                         .comm = c},
               stream);
}
API int ncclReduce(const void *send, void *recv, size_t n, int type, int op, int root, ncclComm *c,
                   void *stream) {
    return ask((nccl_op){.what = ORR_COLL_REDUCE,
                         .send = send,
                         .recv = recv,
                         .count = n,
                         .type = type,
                         .redop = op,
                         .root = root,
                         .comm = c},
               stream);
}
API int ncclBroadcast(const void *send, void *recv, size_t n, int type, int root, ncclComm *c, void *stream) {
    return ask((nccl_op){.what = ORR_COLL_BROADCAST,
                         .send = send,
                         .recv = recv,
                         .count = n,
                         .type = type,
                         .root = root,
                         .comm = c},
               stream);
}
API int ncclBcast(void *buffer, size_t n, int type, int root, ncclComm *c, void *stream) {
    return ncclBroadcast(buffer, buffer, n, type, root, c, stream);
}
API int ncclAllGather(const void *send, void *recv, size_t n, int type, ncclComm *c, void *stream) {
    return ask(
        (nccl_op){
            .what = ORR_COLL_ALL_GATHER, .send = send, .recv = recv, .count = n, .type = type, .comm = c},
        stream);
}
API int ncclReduceScatter(const void *send, void *recv, size_t n, int type, int op, ncclComm *c,
                          void *stream) {
    return ask((nccl_op){.what = ORR_COLL_REDUCE_SCATTER,
                         .send = send,
                         .recv = recv,
                         .count = n,
                         .type = type,
                         .redop = op,
                         .comm = c},
               stream);
}
API int ncclSend(const void *p, size_t n, int type, int peer, ncclComm *c, void *stream) {
    return ask((nccl_op){.what = OP_SEND, .send = p, .count = n, .type = type, .root = peer, .comm = c},
               stream);
}
API int ncclRecv(void *p, size_t n, int type, int peer, ncclComm *c, void *stream) {
    return ask((nccl_op){.what = OP_RECV, .recv = p, .count = n, .type = type, .root = peer, .comm = c},
               stream);
}

// Memory that all ranks have registered has a window; without one, as where no link can do it, NULL.
API int ncclCommWindowRegister(ncclComm *c, void *p, size_t bytes, void **window, int flags) {
    (void)bytes, (void)flags;
    if (!c || !p || !window) return NCCL_ARGUMENT;
    *window = NULL;
    return NCCL_OK;
}
API int ncclCommWindowDeregister(ncclComm *c, void *window) {
    (void)window;
    return c ? NCCL_OK : NCCL_ARGUMENT;
}
API void ncclResetDebugInit(void) {}

// Of NCCL 2.28: a library that names one of these (PyTorch's) is not loaded without it.
#define NOT_THERE(name)                                                                                      \
    API int name(void) {                                                                                     \
        app_enter();                                                                                         \
        app_missing(#name);                                                                                  \
        return leave(NCCL_USAGE);                                                                            \
    }
NOT_THERE(ncclCommRevoke)
NOT_THERE(ncclCommShrink)
NOT_THERE(ncclDevCommCreate)
NOT_THERE(ncclDevCommDestroy)
NOT_THERE(ncclGinBarrierCreateRequirement)
NOT_THERE(ncclLLA2ACalcSlots)
NOT_THERE(ncclLLA2ACreateRequirement)
NOT_THERE(ncclLsaBarrierCreateRequirement)
NOT_THERE(ncclTeamLsa)
NOT_THERE(ncclTeamRail)
NOT_THERE(ncclTeamRankToLsa)
NOT_THERE(ncclTeamRankToWorld)
NOT_THERE(ncclTeamWorld)

// Made of sends and receives, as NCCL makes them.
API int ncclAlltoAll(const void *send, void *recv, size_t n, int type, ncclComm *c, void *stream) {
    if (!c || !nccl_size(type)) return NCCL_ARGUMENT;
    size_t bytes = n * nccl_size(type);
    int result = ncclGroupStart();
    for (int r = 0; r < c->team->n && !result; r++) {
        result = ncclSend((const char *)send + (size_t)r * bytes, n, type, r, c, stream);
        if (!result) result = ncclRecv((char *)recv + (size_t)r * bytes, n, type, r, c, stream);
    }
    int end = ncclGroupEnd();
    return result ? result : end;
}
API int ncclGather(const void *send, void *recv, size_t n, int type, int root, ncclComm *c, void *stream) {
    if (!c || !nccl_size(type)) return NCCL_ARGUMENT;
    size_t bytes = n * nccl_size(type);
    int result = ncclGroupStart();
    if (!result) result = ncclSend(send, n, type, root, c, stream);
    for (int r = 0; r < c->team->n && c->rank == root && !result; r++)
        result = ncclRecv((char *)recv + (size_t)r * bytes, n, type, r, c, stream);
    int end = ncclGroupEnd();
    return result ? result : end;
}
API int ncclScatter(const void *send, void *recv, size_t n, int type, int root, ncclComm *c, void *stream) {
    if (!c || !nccl_size(type)) return NCCL_ARGUMENT;
    size_t bytes = n * nccl_size(type);
    int result = ncclGroupStart();
    for (int r = 0; r < c->team->n && c->rank == root && !result; r++)
        result = ncclSend((const char *)send + (size_t)r * bytes, n, type, r, c, stream);
    if (!result) result = ncclRecv(recv, n, type, root, c, stream);
    int end = ncclGroupEnd();
    return result ? result : end;
}

API int ncclCommSplit(ncclComm *c, int colour, int key, ncclComm **made, void *config) {
    (void)config;
    if (!made) return NCCL_ARGUMENT;
    return ask((nccl_op){.what = OP_SPLIT, .root = colour, .key = key, .made = made, .comm = c}, NULL);
}
