// Operations of NCCL that have met: what they leave in memory, and when they take place.
//
// The k-th collective of a communicator is that of all its ranks; a send meets the receive that the other
// rank asked for at the same place among those between the two. A collective begins when the streams of all
// ranks have come to it and takes what node/collective.h says; a message goes over the links as a copy does,
// one latency later.
#include "app/nccl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

nccl_team *nccl_teams;

nccl_team *nccl_team_new(int n) {
    nccl_team *t = orr_calloc(1, sizeof *t);
    t->n = n;
    t->at = orr_calloc((size_t)n, sizeof *t->at);
    t->next = nccl_teams;
    return nccl_teams = t;
}

void nccl_team_ready(nccl_team *t) {
    int gpus = app_device_count(), most = the_app.ndevices / gpus;
    bool *seen = orr_calloc((size_t)most, 1);
    t->nodes = 0;
    for (int r = 0; r < t->n; r++) {
        int node = t->at[r]->device / gpus;
        t->nodes += !seen[node];
        seen[node] = true;
    }
    free(seen);
    app_changed();
}

bool nccl_done(const ncclComm *c) { return c->done == c->asked; }

// ---- time ---------------------------------------------------------------------------------------
// NCCL_ALGO, NCCL_PROTO: a list of names, or ^ and those that are not wanted.
static unsigned allowed(const char *variable, const char *const *names, int n) {
    const char *v = getenv(variable);
    if (!v || !*v) return 0;
    bool not = *v == '^';
    if (not ) v++;
    unsigned mask = 0;
    while (*v) {
        size_t len = strcspn(v, ",");
        for (int i = 0; i < n; i++)
            if (strlen(names[i]) == len && !strncasecmp(v, names[i], len)) mask |= 1u << i;
        v += len + (v[len] == ',');
    }
    return not ? ~mask & ((1u << n) - 1) : mask;
}

uint64_t nccl_bytes(const nccl_op *op) {
    bool parts = op->what == ORR_COLL_REDUCE_SCATTER || op->what == ORR_COLL_ALL_GATHER;
    return op->count * nccl_size(op->type) * (parts ? (uint64_t)op->comm->team->n : 1);
}

orr_coll_plan nccl_plan(int ranks, int nodes, int what, uint64_t bytes) {
    static const orr_node alone; // no node is described: nothing is known of its links
    const orr_node *node = the_app.node ? the_app.node : &alone;
    orr_team team = {.node = node,
                     .ranks = ranks,
                     .nodes = nodes,
                     .nvlink = node->nvlink_kind == ORR_NVLINK_SWITCH || node->nvlink_kind == ORR_NVLINK_MESH,
                     .algos = allowed("NCCL_ALGO", orr_algo_name, ORR_ALGOS),
                     .protos = allowed("NCCL_PROTO", orr_proto_name, ORR_PROTOS)};
    if (!the_app.node) return (orr_coll_plan){ORR_ALGO_RING, ORR_PROTO_SIMPLE, 1, 0};
    if (nodes > 1) app_rank_network(&team.net, &team.net_latency);
    return orr_collective_plan(&team, what, bytes);
}

// ---- sums ---------------------------------------------------------------------------------------
typedef struct sum {
    const nccl_team *team;
    const nccl_op *of;
    const void **xs; // each rank's input, scaled where the operation says so
    int type, redop;
    bool switches; // a node's values are summed by its switches
    size_t size;   // of an element
} sum;

static const char *part(const sum *s, int rank, size_t from) {
    return (const char *)s->xs[rank] + from * s->size;
}

static void by_ring(const sum *s, int chunk, size_t from, size_t n, char *to) {
    int ranks = s->team->n;
    memcpy(to, part(s, (chunk + 1) % ranks, from), n * s->size);
    for (int k = 2; k <= ranks; k++)
        nccl_combine(s->type, s->redop, to, part(s, (chunk + k) % ranks, from), n);
}

static void node_by_chain(const sum *s, int first, int last, size_t n, char *to) {
    memcpy(to, part(s, last, 0), n * s->size);
    for (int r = last - 1; r >= first; r--) nccl_combine(s->type, s->redop, to, part(s, r, 0), n);
}

// The value of node `v` of the tree and of all below it.
static void by_tree(const sum *s, const int *first, int nodes, int v, size_t n, char *to) {
    if (s->switches)
        nccl_sum_once(s->type, s->redop, s->xs + first[v], first[v + 1] - first[v], n, to);
    else
        node_by_chain(s, first[v], first[v + 1] - 1, n, to);
    for (int child = 2 * v + 1; child <= 2 * v + 2 && child < nodes; child++) {
        char *below = orr_malloc(n * s->size + 1);
        by_tree(s, first, nodes, child, n, below);
        nccl_combine(s->type, s->redop, to, below, n);
        free(below);
    }
}

static void all_by_tree(const sum *s, size_t n, char *to) {
    const nccl_team *t = s->team;
    int *first = orr_calloc((size_t)t->n + 2, sizeof *first), nodes = 0, gpus = app_device_count();
    for (int r = 0; r < t->n; r++) // ranks of a node follow each other, or begin another stretch
        if (!r || t->at[r]->device / gpus != t->at[r - 1]->device / gpus) first[nodes++] = r;
    first[nodes] = t->n;
    by_tree(s, first, nodes, 0, n, to);
    free(first);
}

// What every rank's element becomes, for `n` of them from `from` on; `chunk` is the ring's.
static void reduce_all(const sum *s, int algo, size_t n, char *to) {
    size_t ranks = (size_t)s->team->n, chunk = (n + ranks - 1) / ranks;
    if (algo == ORR_ALGO_NVLS) {
        nccl_sum_once(s->type, s->redop, s->xs, s->team->n, n, to);
    } else if (algo == ORR_ALGO_TREE || algo == ORR_ALGO_NVLS_TREE) {
        all_by_tree(s, n, to);
    } else {
        for (size_t c = 0; c < ranks && c * chunk < n; c++) {
            size_t left = n - c * chunk;
            by_ring(s, (int)c, c * chunk, left < chunk ? left : chunk, to + c * chunk * s->size);
        }
    }
}

static bool is_float(int type) { return type >= NCCL_F16; }

// Averages of floating-point numbers, and the ranks' own operations, scale what goes in.
static double scale_of(const nccl_team *t, const nccl_op *op) {
    if (op->redop == NCCL_AVG) return is_float(op->type) ? 1.0 / t->n : 1;
    return op->redop >= NCCL_OPS ? op->comm->scales.at[op->redop - NCCL_OPS] : 1;
}

static void finish(const nccl_team *t, const nccl_op *op, char *to, size_t n) {
    if (op->redop == NCCL_AVG && !is_float(op->type)) nccl_divide(op->type, to, t->n, n);
}

// The ranks' inputs; scaled copies of those that are scaled, which are to be freed.
static char **inputs(sum *s, size_t n) {
    const nccl_team *t = s->team;
    char **copies = orr_calloc((size_t)t->n, sizeof *copies);
    s->xs = orr_calloc((size_t)t->n, sizeof *s->xs);
    for (int r = 0; r < t->n; r++) {
        const nccl_op *op = &t->at[r]->collectives.at[0];
        double factor = scale_of(t, op);
        s->xs[r] = op->send;
        if (factor == 1) continue;
        copies[r] = orr_malloc(n * s->size + 1);
        memcpy(copies[r], op->send, n * s->size);
        nccl_scale(s->type, copies[r], factor, n);
        s->xs[r] = copies[r];
    }
    return copies;
}

static void do_reduction(nccl_team *t, const nccl_op *op, int algo) {
    sum s = {.team = t,
             .of = op,
             .type = op->type,
             .redop = op->redop,
             .switches = algo == ORR_ALGO_NVLS_TREE,
             .size = nccl_size(op->type)};
    bool scatter = op->what == ORR_COLL_REDUCE_SCATTER;
    size_t n = scatter ? op->count * (size_t)t->n : op->count;
    char **scaled = inputs(&s, n);
    char *to = orr_malloc(n * s.size + 1);
    if (op->what == ORR_COLL_REDUCE)
        by_ring(&s, op->root, 0, n, to);
    else if (scatter)
        for (int r = 0; r < t->n; r++)
            by_ring(&s, r, (size_t)r * op->count, op->count, to + (size_t)r * op->count * s.size);
    else
        reduce_all(&s, algo, n, to);
    finish(t, op, to, n);
    for (int r = 0; r < t->n; r++) {
        const nccl_op *mine = &t->at[r]->collectives.at[0];
        if (op->what == ORR_COLL_REDUCE && r != op->root) continue;
        memcpy(mine->recv, to + (scatter ? (size_t)r * op->count * s.size : 0), op->count * s.size);
    }
    free(to);
    for (int r = 0; r < t->n; r++) free(scaled[r]);
    free(scaled);
    free(s.xs);
}

static void do_moves(nccl_team *t, const nccl_op *op) {
    size_t bytes = op->count * nccl_size(op->type);
    if (op->what == ORR_COLL_BROADCAST) {
        const void *from = t->at[op->root]->collectives.at[0].send;
        for (int r = 0; r < t->n; r++) memmove(t->at[r]->collectives.at[0].recv, from, bytes);
        return;
    }
    char *all = orr_malloc((size_t)t->n * bytes + 1); // a rank's input may be part of its output
    for (int r = 0; r < t->n; r++) memcpy(all + (size_t)r * bytes, t->at[r]->collectives.at[0].send, bytes);
    for (int r = 0; r < t->n; r++) memcpy(t->at[r]->collectives.at[0].recv, all, (size_t)t->n * bytes);
    free(all);
}

// ---- splitting ----------------------------------------------------------------------------------
typedef struct wish {
    int colour, key, rank;
} wish;

static int by_wish(const void *a, const void *b) {
    const wish *x = a, *y = b;
    if (x->colour != y->colour) return x->colour < y->colour ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

static void do_split(nccl_team *t) {
    wish *w = orr_calloc((size_t)t->n, sizeof *w);
    for (int r = 0; r < t->n; r++) {
        const nccl_op *op = &t->at[r]->collectives.at[0];
        w[r] = (wish){op->root, op->key, r};
        if (op->made) *op->made = NULL;
    }
    qsort(w, (size_t)t->n, sizeof *w, by_wish);
    for (int from = 0, to; from < t->n; from = to) {
        for (to = from; to < t->n && w[to].colour == w[from].colour; to++) {}
        if (w[from].colour < 0) continue; // NCCL_SPLIT_NOCOLOR
        nccl_team *part_of = nccl_team_new(to - from);
        for (int i = from; i < to; i++) {
            const nccl_op *op = &t->at[w[i].rank]->collectives.at[0];
            ncclComm *c = orr_calloc(1, sizeof *c);
            *c = (ncclComm){
                .team = part_of, .rank = i - from, .device = op->comm->device, .number = op->comm->number};
            part_of->at[i - from] = c;
            part_of->joined++;
            *op->made = c;
        }
        nccl_team_ready(part_of);
    }
    free(w);
}

// ---- meeting ------------------------------------------------------------------------------------
static bool same(const nccl_op *a, const nccl_op *b) {
    bool own = a->redop >= NCCL_OPS && b->redop >= NCCL_OPS; // each rank has numbers of its own
    return a->what == b->what && a->count == b->count && a->type == b->type &&
           (own || a->redop == b->redop) && (a->root == b->root || a->what == OP_SPLIT);
}

static void do_collective(nccl_team *t) {
    nccl_op op = t->at[0]->collectives.at[0];
    for (int r = 1; r < t->n; r++)
        if (!same(&op, &t->at[r]->collectives.at[0]))
            app_say(
                "nccl: ranks 0 and %d of a communicator ask for different collectives; what they get is not "
                "defined",
                r);
    if (op.what == OP_SPLIT) {
        do_split(t);
    } else {
        uint64_t bytes = nccl_bytes(&op);
        orr_coll_plan plan = nccl_plan(t->n, t->nodes, op.what, bytes);
        double start = 0;
        for (int r = 0; r < t->n; r++) {
            double ready = app_clock_start(t->at[r]->collectives.at[0].stream, ENGINE_NCCL);
            if (ready > start) start = ready;
        }
        bool sums = op.what == ORR_COLL_ALL_REDUCE || op.what == ORR_COLL_REDUCE ||
                    op.what == ORR_COLL_REDUCE_SCATTER;
        bool data = op.count && !the_app.asked.only_time; // with --alike time nobody looks at them
        if (sums && data)
            do_reduction(t, &op, plan.algo);
        else if (data)
            do_moves(t, &op);
        for (int r = 0; r < t->n; r++)
            app_clock_done(t->at[r]->collectives.at[0].stream, ENGINE_NCCL,
                           (app_span){.name = orr_collective_name[op.what],
                                      .from = start,
                                      .to = start + plan.ns,
                                      .bytes = bytes});
        app_rank_self()->nccl_ns += plan.ns; // of the rank that came last; all take part
        the_app.counts.nccl_ns += plan.ns;
        the_app.counts.nccl_calls++;
    }
    for (int r = 0; r < t->n; r++) {
        ncclComm *c = t->at[r];
        c->done++;
        c->collectives.n--;
        memmove(c->collectives.at, c->collectives.at + 1, c->collectives.n * sizeof *c->collectives.at);
    }
    app_changed();
}

static void do_message(const nccl_op *send, const nccl_op *recv) {
    size_t bytes = send->count * nccl_size(send->type), room = recv->count * nccl_size(recv->type);
    int from = send->comm->device, to = recv->comm->device, gpus = app_device_count();
    double ready = app_clock_start(send->stream, ENGINE_NCCL),
           other = app_clock_start(recv->stream, ENGINE_NCCL);
    if (other > ready) ready = other;
    if (!the_app.asked.only_time) memmove(recv->recv, send->send, bytes < room ? bytes : room);
    double start = ready, end = ready;
    const orr_node *node = the_app.node;
    if (node && from / gpus != to / gpus) { // to another node, by its own share of the adapters
        double net = 0, latency = 0;
        app_rank_network(&net, &latency);
        double rate = node->nic_bandwidth > 0 ? node->nic_bandwidth : net;
        end = start + (node->nccl_ring_ll_base + node->nccl_net_ring_simple_hop) * 1e3 +
              (rate > 0 ? (double)bytes / rate : 0);
    } else if (node && from != to) {
        orr_path p;
        orr_node_path(node, from % gpus, to % gpus, &p);
        p.latency += node->nccl_ring_ll_base * 1e3;
        start = orr_path_copy(&p, the_app.links + (size_t)(from / gpus) * (size_t)orr_node_links(node), ready,
                              bytes, &end);
    }
    app_clock_done(send->stream, ENGINE_NONE, (app_span){.from = start, .to = end, .bytes = bytes});
    app_clock_done(recv->stream, ENGINE_NONE, (app_span){.from = start, .to = end, .bytes = bytes});
    app_clock_note(send->stream, ENGINE_NCCL, "Send", start, end, bytes);
    app_clock_note(recv->stream, ENGINE_NCCL, "Recv", start, end, bytes);
    send->comm->done++;
    recv->comm->done++;
    app_changed();
}

// A send and a receive wait for each other in lists of the team.
static void meet(nccl_team *t, const nccl_op *op) {
    bool send = op->what == OP_SEND;
    nccl_op *at = send ? t->recvs.at : t->sends.at;
    size_t *n = send ? &t->recvs.n : &t->sends.n;
    for (size_t i = 0; i < *n; i++) {
        if (at[i].comm->rank != op->root || at[i].root != op->comm->rank) continue;
        nccl_op other = at[i];
        memmove(at + i, at + i + 1, (--*n - i) * sizeof *at);
        do_message(send ? op : &other, send ? &other : op);
        return;
    }
    if (send)
        *ORR_PUSH(&t->sends) = *op;
    else
        *ORR_PUSH(&t->recvs) = *op;
}

void nccl_ask(const nccl_op *op) {
    nccl_team *t = op->comm->team;
    op->comm->asked++;
    if (op->what == OP_SEND || op->what == OP_RECV) {
        meet(t, op);
        return;
    }
    *ORR_PUSH(&op->comm->collectives) = *op;
    for (int r = 0; r < t->n; r++)
        if (!t->at[r]->collectives.n) return;
    do_collective(t);
}
