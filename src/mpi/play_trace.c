// An execution trace as an application of ranks (docs/guides/traces.md). Each rank reads its own file, or all
// one.
//
// A rank's operators are in lanes: the host, each stream of its GPU, each process group's collectives,
// messages to and from each peer. A lane is an actor of SimGrid. It takes the first operator, in the order of
// the file, of those whose dependences are done, and sleeps for what it takes, or meets the other members
// (play_flows.c). Collectives of a group follow each other in the same order on all ranks.
#include "mpi/play.h"

#include <stdlib.h>
#include <string.h>

typedef struct lane {
    uint64_t key; // what is in it
    int kind;
    uint64_t stream;  // of the timeline
    uint32_t members; // operators
} lane;

typedef struct trace { // a file; shared by the ranks that read it
    const char *path;
    orr_operators *o;
    bool shared;
    uint32_t *lane_of, *turn; // by operator; turn: which of its group's or of its peer's
    uint32_t *first, *next;   // those that wait for it: next[first[i]] to next[first[i + 1] - 1]
    ORR_VEC(lane) lanes;
} trace;

typedef struct queue { // of a lane, of one rank
    uint32_t *heap, n, left;
    void *sem;
} queue;

typedef struct runner { // a rank
    const trace *t;
    play_rank who;
    uint32_t *waits;
    queue *q;
    void *ended;
    uint32_t done;
    int computing, talking;        // lanes
    double changed, busy, exposed; // s: kernels run; communication does and nothing else
} runner;
static ORR_VEC(runner *) runners; // by rank

// ---- a file --------------------------------------------------------------------------------------------
static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

static uint64_t name_hash(const char *s) {
    uint64_t h = 7;
    while (s && *s) h = mix(h, (uint8_t)*s++);
    return h;
}

static uint64_t lane_key(const orr_operator *op) {
    switch (op->kind) {
    case ORR_OP_COMPUTE: return mix(2, (uint64_t)(op->stream + 1));
    case ORR_OP_COPY: return op->stream >= 0 ? mix(2, (uint64_t)(op->stream + 1)) : 3;
    case ORR_OP_COLLECTIVE: return mix(4, name_hash(op->group));
    case ORR_OP_SEND: return mix(mix(5, (uint64_t)op->peer), (uint64_t)op->tag);
    case ORR_OP_RECV: return mix(mix(6, (uint64_t)op->peer), (uint64_t)op->tag);
    default: return 1;
    }
}

static uint32_t lane_with(trace *t, const orr_operator *op) {
    uint64_t key = lane_key(op);
    for (uint32_t i = 0; i < t->lanes.n; i++)
        if (t->lanes.at[i].key == key) return i;
    int kind = op->kind == ORR_OP_COPY && op->stream >= 0 ? ORR_OP_COMPUTE : op->kind;
    *ORR_PUSH(&t->lanes) = (lane){key, kind, op->stream >= 0 ? (uint64_t)op->stream : 900 + t->lanes.n, 0};
    return (uint32_t)t->lanes.n - 1;
}

static const orr_operators *sorted; // by place in the order
static int by_order(const void *a, const void *b) {
    uint32_t x = sorted->at.at[*(const uint32_t *)a].order, y = sorted->at.at[*(const uint32_t *)b].order;
    return x < y ? -1 : x > y;
}

static bool meets(const orr_operator *op) {
    return op->kind == ORR_OP_COLLECTIVE || op->kind == ORR_OP_SEND || op->kind == ORR_OP_RECV;
}

// Lanes, and turns of what meets: by the order in which dependences allow them.
static void lay_out(trace *t) {
    const orr_operators *o = t->o;
    size_t n = o->at.n;
    t->lane_of = orr_calloc(n + 1, sizeof *t->lane_of);
    t->turn = orr_calloc(n + 1, sizeof *t->turn);
    uint32_t *all = orr_calloc(n + 1, sizeof *all);
    for (size_t i = 0; i < n; i++) {
        t->lane_of[i] = lane_with(t, &o->at.at[i]);
        all[i] = (uint32_t)i;
    }
    sorted = o;
    if (n) qsort(all, n, sizeof *all, by_order);
    for (size_t i = 0; i < n; i++) t->turn[all[i]] = t->lanes.at[t->lane_of[all[i]]].members++;
    free(all);
    t->first = orr_calloc(n + 2, sizeof *t->first);
    t->next = orr_calloc(o->deps.n + 1, sizeof *t->next);
    for (size_t d = 0; d < o->deps.n; d++) t->first[o->deps.at[d] + 1]++;
    for (size_t i = 0; i < n; i++) t->first[i + 1] += t->first[i];
    uint32_t *fill = orr_calloc(n + 1, sizeof *fill);
    for (size_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < o->at.at[i].ndeps; d++) {
            uint32_t on = o->deps.at[o->at.at[i].first_dep + d];
            t->next[t->first[on] + fill[on]++] = (uint32_t)i;
        }
    free(fill);
}

// "%r" in the name is the rank's number.
static const trace *trace_of(int rank) {
    static ORR_VEC(trace *) files;
    const char *name = getenv("ORRERY_APP_TRACE"), *at = strstr(name, "%r");
    char path[4200];
    if (at)
        snprintf(path, sizeof path, "%.*s%d%s", (int)(at - name), name, rank, at + 2);
    else
        snprintf(path, sizeof path, "%s", name);
    for (size_t i = 0; i < files.n; i++)
        if (!strcmp(files.at[i]->path, path)) return files.at[i];
    orr_err e = {0};
    trace *t = orr_calloc(1, sizeof *t);
    t->o = orr_operators_load(path, &e);
    if (!t->o) play_fail(e.text);
    t->path = t->o->path;
    t->shared = !at;
    lay_out(t);
    return *ORR_PUSH(&files) = t;
}

// ---- what is ready -------------------------------------------------------------------------------------
static uint32_t weight(const trace *t, uint32_t i) { return t->o->at.at[i].order; }

static void put(const trace *t, queue *q, uint32_t v) {
    uint32_t n = q->n++;
    while (n && weight(t, q->heap[(n - 1) / 2]) > weight(t, v)) {
        q->heap[n] = q->heap[(n - 1) / 2];
        n = (n - 1) / 2;
    }
    q->heap[n] = v;
}

static uint32_t take(const trace *t, queue *q) {
    uint32_t first = q->heap[0], v = q->heap[--q->n], i = 0;
    for (;;) {
        uint32_t c = 2 * i + 1;
        if (c >= q->n) break;
        if (c + 1 < q->n && weight(t, q->heap[c + 1]) < weight(t, q->heap[c])) c++;
        if (weight(t, q->heap[c]) >= weight(t, v)) break;
        q->heap[i] = q->heap[c];
        i = c;
    }
    q->heap[i] = v;
    return first;
}

static void finish(runner *r, uint32_t i) {
    const trace *t = r->t;
    r->done++;
    for (uint32_t k = t->first[i]; k < t->first[i + 1]; k++) {
        uint32_t to = t->next[k];
        if (--r->waits[to]) continue;
        queue *q = &r->q[t->lane_of[to]];
        put(t, q, to);
        play_sg.release(q->sem);
    }
}

// ---- what it takes -------------------------------------------------------------------------------------
static void account(runner *r, int computing, int talking) {
    double now = play_sg.clock(), past = now - r->changed;
    if (r->computing) r->busy += past;
    if (r->talking && !r->computing) r->exposed += past;
    r->changed = now;
    r->computing += computing;
    r->talking += talking;
    app_rank *a = app_rank_of(r->who.rank);
    a->wait_ns = r->busy * 1e9;
    a->mpi_ns = r->exposed * 1e9;
    if (now * 1e9 > a->end_ns) a->end_ns = now * 1e9;
}

static const orr_kernel *
counted_as(const char *name) { // the report counts kernels; of these only names are known
    static orr_map known;
    orr_kernel *k = orr_map_get(&known, name);
    if (k) return k;
    k = orr_calloc(1, sizeof *k);
    k->name = name;
    orr_map_put(&known, name, k);
    return k;
}

// The members of an operator's group as this rank has it. A file of one rank that all read says which ranks
// were that one's: others have theirs at the same distances.
static int members_of(const runner *r, const orr_operator *op, int *list) {
    const orr_process_group *g = orr_operators_group(r->t->o, op->group);
    int ranks = r->who.ranks, rank = r->who.rank, n = 0;
    if (!g || g->n >= ranks) {
        for (n = 0; n < ranks; n++) list[n] = n;
        return n;
    }
    int step = g->n > 1 ? g->ranks[1] - g->ranks[0] : 1;
    if (!r->t->shared || step < 1) {
        for (int i = 0; i < g->n; i++)
            if (g->ranks[i] >= 0 && g->ranks[i] < ranks) list[n++] = g->ranks[i];
        return n;
    }
    int from = rank / (g->n * step) * (g->n * step) + rank % step;
    for (int i = 0; i < g->n; i++)
        if (from + i * step < ranks) list[n++] = from + i * step;
    return n;
}

static int peer_of(const runner *r, const orr_operator *op) {
    int64_t peer = op->peer;
    if (r->t->shared) peer += r->who.rank - (r->t->o->rank > 0 ? r->t->o->rank : 0);
    int64_t ranks = r->who.ranks;
    return (int)((peer % ranks + ranks) % ranks);
}

static void meet(runner *r, uint32_t i) {
    const orr_operator *op = &r->t->o->at.at[i];
    int *list = orr_calloc((size_t)r->who.ranks + 2, sizeof *list);
    play_flow f = {.what = -1, .members = list, .bytes = op->bytes};
    uint64_t key;
    if (op->kind == ORR_OP_COLLECTIVE) {
        f.what = op->what;
        f.nmembers = members_of(r, op, list);
        key = mix(mix(mix(1, name_hash(op->group)), (uint64_t)list[0]), r->t->turn[i]);
    } else {
        int peer = peer_of(r, op), from = op->kind == ORR_OP_SEND ? r->who.rank : peer;
        list[0] = from;
        list[1] = op->kind == ORR_OP_SEND ? peer : r->who.rank;
        f.nmembers = 2;
        key = mix(mix(mix(mix(2, (uint64_t)list[0]), (uint64_t)list[1]), (uint64_t)op->tag), r->t->turn[i]);
    }
    bool member = false;
    for (int k = 0; k < f.nmembers; k++) member |= list[k] == r->who.rank;
    if (member && f.nmembers > 1 && list[0] != list[1]) play_flow_do(&f, key, r->who.rank, r->who.per_node);
    free(list);
}

static double host_factor(void) {
    const char *v = getenv("ORRERY_APP_HOST");
    return v && *v ? strtod(v, NULL) : 0;
}

static void sleep_ns(double ns) {
    if (ns > 0) play_sg.sleep(ns * 1e-9);
}

static void copy(runner *r, const orr_operator *op) {
    orr_path p;
    int gpu = r->who.local % r->who.gpus;
    double ns = op->ns;
    if (ns < 0) {
        orr_node_path(the_app.node, ORR_NODE_HOST, gpu, &p);
        double rate = orr_path_bandwidth(&p);
        ns = p.latency + (rate > 0 ? (double)op->bytes / rate : 0);
    }
    sleep_ns(ns);
    app_rank *a = app_rank_of(r->who.rank);
    a->copies++;
    a->copy_bytes += op->bytes;
    a->copy_ns += ns;
}

static void compute(runner *r, const orr_operator *op) {
    double ns = play_times_of(play_times_open(), r->t->o, op);
    if (ns < 0) {
        char text[400];
        snprintf(text, sizeof text,
                 "%s: operator %llu (%.100s) has neither a recorded time nor sizes; --times FILE gives "
                 "kernels' times",
                 r->t->path, (unsigned long long)op->id, op->name);
        play_fail(text);
    }
    sleep_ns(ns);
    app_kernel_count(counted_as(op->name), ns);
    the_app.counts.nlaunches++;
    app_rank *a = app_rank_of(r->who.rank);
    a->launches++;
    a->kernel_ns += ns;
}

static void communicate(runner *r, uint32_t i) {
    const orr_operator *op = &r->t->o->at.at[i];
    double from = play_sg.clock();
    meet(r, i);
    double took = play_sg.clock() - from;
    bool send = op->kind == ORR_OP_SEND;
    const char *name = op->kind == ORR_OP_COLLECTIVE ? orr_operator_collective[op->what]
                       : send                        ? "send"
                                                     : "recv";
    app_mpi_count(r->who.rank, name, took, op->kind == ORR_OP_RECV ? 0 : op->bytes, send);
    app_rank_of(r->who.rank)->nccl_ns += took * 1e9;
}

static void one(runner *r, uint32_t i) {
    const orr_operator *op = &r->t->o->at.at[i];
    const lane *l = &r->t->lanes.at[r->t->lane_of[i]];
    bool talks = meets(op), computes = op->kind == ORR_OP_COMPUTE || op->kind == ORR_OP_COPY;
    double from = play_sg.clock() * 1e9;
    account(r, computes, talks);
    if (talks)
        communicate(r, i);
    else if (op->kind == ORR_OP_COPY)
        copy(r, op);
    else if (computes)
        compute(r, op);
    else if (op->ns > 0)
        sleep_ns(op->ns * host_factor());
    account(r, -computes, -talks);
    double to = play_sg.clock() * 1e9;
    if (to > from)
        app_clock_put((app_span){.name = op->name,
                                 .stream = l->stream,
                                 .device = r->who.node * r->who.gpus + r->who.local % r->who.gpus,
                                 .rank = r->who.rank,
                                 .engine = talks      ? ENGINE_NCCL
                                           : computes ? ENGINE_KERNELS
                                                      : ENGINE_MPI,
                                 .from = from,
                                 .to = to,
                                 .bytes = op->bytes});
}

// ---- lanes ---------------------------------------------------------------------------------------------
static void lane_main(int argc, char **argv) {
    runner *r = argc == 2 ? runners.at[atoi(argv[0])] : NULL;
    queue *q = r ? &r->q[atoi(argv[1])] : NULL;
    if (!q) return;
    uint32_t which = (uint32_t)atoi(argv[1]);
    bool strict =
        r->t->lanes.at[which].kind >= ORR_OP_SEND && r->t->lanes.at[which].kind <= ORR_OP_COLLECTIVE;
    for (uint32_t turn = 0; q->left; turn++) {
        // What meets does so in the same order everywhere; a lane of it waits for its next one.
        while (!q->n || (strict && r->t->turn[q->heap[0]] != turn)) play_sg.acquire(q->sem);
        app_cluster_stops();
        uint32_t i = take(r->t, q);
        q->left--;
        one(r, i);
        finish(r, i);
    }
    play_sg.release(r->ended);
}

static runner *open_rank(const play_rank *who) {
    runner *r = orr_calloc(1, sizeof *r);
    r->who = *who;
    r->t = trace_of(who->rank);
    const orr_operators *o = r->t->o;
    r->waits = orr_calloc(o->at.n + 1, sizeof *r->waits);
    r->q = orr_calloc(r->t->lanes.n + 1, sizeof *r->q);
    for (size_t l = 0; l < r->t->lanes.n; l++) {
        r->q[l].left = r->t->lanes.at[l].members;
        r->q[l].heap = orr_calloc(r->q[l].left + 1u, sizeof(uint32_t));
        r->q[l].sem = play_sg.sem_new(0);
    }
    for (size_t i = 0; i < o->at.n; i++) {
        r->waits[i] = o->at.at[i].ndeps;
        if (!r->waits[i]) put(r->t, &r->q[r->t->lane_of[i]], (uint32_t)i);
    }
    r->ended = play_sg.sem_new(0);
    return r;
}

// When SimGrid ends because nobody can go on.
__attribute__((destructor)) static void tell_stuck(void) {
    int told = 0;
    for (size_t i = 0; i < runners.n && told < 8; i++) {
        const runner *r = runners.at[i];
        if (!r || r->done == r->t->o->at.n) continue;
        app_say("rank %zu: %zu of %zu operators never ended", i, r->t->o->at.n - r->done, r->t->o->at.n);
        told++;
    }
}

API int orr_play_trace(void) {
    play_rank who;
    if (!play_open(&who) || !play_flows_open() || !play_without_data()) return 2;
    app_enter();
    app_rank_self();
    app_leave(0);
    while (runners.n <= (size_t)who.rank) *ORR_PUSH(&runners) = NULL;
    runner *r = runners.at[who.rank] = open_rank(&who);
    for (size_t l = 0; l < r->t->lanes.n; l++) {
        char rank[16], number[16], name[40];
        snprintf(rank, sizeof rank, "%d", who.rank);
        snprintf(number, sizeof number, "%zu", l);
        snprintf(name, sizeof name, "lane-%d-%zu", who.rank, l);
        const char *argv[] = {rank, number};
        play_sg.actor(name, play_sg.host(), lane_main, 2, argv);
    }
    for (size_t l = 0; l < r->t->lanes.n; l++) play_sg.acquire(r->ended);
    counted_Finalize();
    return 0;
}
