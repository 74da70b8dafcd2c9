// A task list as a program of ranks (docs/how/partial.md): launches and copies go to the rank's GPUs,
// messages are SimGrid's. The list is read by each rank, which knows its number; launches that are the same
// are timed once.
#include "mpi/play.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct waiting { // a collective of NCCL that this rank has come to
    play_group *group;
    uint64_t event;
} waiting;

typedef struct communicator {
    int line, number;
    mpi comm;
} communicator;

typedef struct player {
    play_rank who;
    orr_tasks *list;
    const orr_task_step *steps;
    size_t n;
    uint64_t busy; // GPUs that the host has not waited for
    ORR_VEC(mpi) pending;
    ORR_VEC(waiting) nccl;
    ORR_VEC(communicator) comms;
    mpi world, type, sum;
    char *data; // where messages would be
} player;

// ---- reading it --------------------------------------------------------------------------------------
static void load(player *p) {
    const char *path = getenv("ORRERY_APP_PLAY"), *v = getenv("ORRERY_APP_PLAY_SETS");
    const play_rank *w = &p->who;
    orr_err e = {0};
    orr_arena a = {0};
    ORR_VEC(const char *) sets = {0};
    while (v && *v) {
        size_t len = strcspn(v, "\n");
        if (len) *ORR_PUSH(&sets) = orr_arena_strndup(&a, v, len);
        v += len + (v[len] == '\n');
    }
    orr_task_rank place = {w->rank, w->ranks, w->node, w->nodes, w->gpus, w->local, false};
    p->list = orr_tasks_load_rank(path ? path : "", sets.at, (int)sets.n, &place, &e);
    if (!p->list) play_fail(e.text);
    p->n = orr_tasks_steps(p->list, &p->steps);
    free(sets.at);
    orr_arena_free(&a);
}

static bool is_collective(const orr_task_step *s) { return s->kind >= ORR_TASKS_BARRIER; }

// Who takes part where a statement is among some, or is NCCL's, which knows all its members.
static void join_groups(const player *p) {
    for (size_t i = 0; i < p->n; i++) {
        const orr_task_step *s = &p->steps[i];
        if (is_collective(s) && (s->group || s->nccl))
            play_group_join(play_group_of(s->group ? s->line : 0, s->group), p->who.rank);
    }
}

// ---- GPUs --------------------------------------------------------------------------------------------
static int gpu_of(const player *p, const orr_task_step *s) {
    return s->gpu >= 0 ? s->gpu : p->who.local % p->who.gpus;
}

// Kernels of one name are one line of the report, whichever rank's list they come from.
static const orr_kernel *counted_as(const orr_kernel *k) {
    static ORR_VEC(const orr_kernel *) known;
    for (size_t i = 0; i < known.n; i++)
        if (!strcmp(known.at[i]->name, k->name)) return known.at[i];
    return *ORR_PUSH(&known) = k;
}

static void launch(player *p, const orr_task_step *s) {
    int gpu = gpu_of(p, s);
    double ns = play_time(p->list, s);
    app_enter();
    play_kernel(gpu, s->launch.kernel->name, ns);
    app_kernel_count(counted_as(s->launch.kernel), ns);
    p->busy |= 1ull << gpu;
    app_leave(0);
}

static void copy(player *p, const orr_task_step *s) {
    int gpu = gpu_of(p, s);
    app_stream *stream = play_stream(gpu);
    app_enter();
    app_device_use(gpu);
    if (s->kind == ORR_TASKS_COPY_PEER) {
        app_stream *to = play_stream(s->peer);
        if (s->peer != gpu) app_device_peer(stream, gpu, s->peer, false, s->bytes);
        if (stream->end > to->end) to->end = stream->end; // what follows there needs the data
        p->busy |= 1ull << gpu | 1ull << s->peer;
    } else {
        bool in = s->kind == ORR_TASKS_COPY_TO;
        app_copy_on_links(stream, in ? ENGINE_IN : ENGINE_OUT, in ? "copy to GPU" : "copy from GPU", gpu,
                          s->bytes);
        app_clock_wait(stream->end);
    }
    app_leave(0);
}

static void wait_gpus(player *p) {
    app_enter();
    play_wait_gpus(p->busy);
    p->busy = 0;
    app_leave(0);
}

// ---- NCCL --------------------------------------------------------------------------------------------
static int nccl_kind(int kind) {
    switch (kind) {
    case ORR_TASKS_REDUCE: return ORR_COLL_REDUCE;
    case ORR_TASKS_BROADCAST: return ORR_COLL_BROADCAST;
    case ORR_TASKS_ALL_GATHER: return ORR_COLL_ALL_GATHER;
    case ORR_TASKS_REDUCE_SCATTER: return ORR_COLL_REDUCE_SCATTER;
    default: return ORR_COLL_ALL_REDUCE;
    }
}

// In a stream of its own behind what is on the GPU: the host goes on, and so does the GPU.
static void nccl_collective(player *p, const orr_task_step *s) {
    play_group *g = play_group_of(s->group ? s->line : 0, s->group);
    bool parts = s->kind == ORR_TASKS_ALL_GATHER || s->kind == ORR_TASKS_REDUCE_SCATTER;
    uint64_t bytes = s->bytes * (parts ? (uint64_t)play_group_size(g) : 1);
    app_enter();
    double ready = play_stream_end(gpu_of(p, s));
    *ORR_PUSH(&p->nccl) = (waiting){g, play_meet(g, p->who.rank, ready, nccl_kind(s->kind), bytes)};
    app_leave(0);
}

static void wait_nccl(player *p) {
    if (!p->nccl.n) return;
    app_enter();
    for (size_t i = 0; i < p->nccl.n; i++) {
        const waiting *w = &p->nccl.at[i];
        double start, end = play_met(w->group, w->event, &start);
        app_rank_self()->nccl_ns += end - start;
        app_clock_note(play_stream(p->who.local % p->who.gpus), ENGINE_NCCL, "NCCL", start, end, 0);
        app_clock_wait(end);
    }
    p->nccl.n = 0;
    app_leave(0);
}

// ---- messages ----------------------------------------------------------------------------------------
static int elements(const orr_task_step *s) { return (int)((s->bytes + 3) / 4); }

static mpi comm_of(const player *p, const orr_task_step *s) {
    for (size_t i = 0; i < p->comms.n; i++)
        if (p->comms.at[i].line == s->line && p->comms.at[i].number == s->group) return p->comms.at[i].comm;
    return p->world;
}

// One of each group that uses MPI. This takes messages with data, and all members do it in the same order:
// that of the lines.
static void make_comms(player *p) {
    int (*group)(mpi, mpi *), (*incl)(mpi, int, const int *, mpi *), (*create)(mpi, mpi, mpi *);
    *(void **)&group = mpi_original("PMPI_Comm_group");
    *(void **)&incl = mpi_original("PMPI_Group_incl");
    *(void **)&create = mpi_original("PMPI_Comm_create");
    for (size_t i = 0; i < p->n; i++) {
        const orr_task_step *s = &p->steps[i];
        if (!is_collective(s) || !s->group || s->nccl) continue;
        const play_group *g = play_group_of(s->line, s->group);
        mpi all = NULL, some = NULL;
        communicator c = {s->line, s->group, NULL};
        if (!group || !incl || !create || group(p->world, &all) ||
            incl(all, play_group_size(g), play_group_ranks(g), &some) || create(p->world, some, &c.comm))
            play_fail("SimGrid cannot make a communicator");
        *ORR_PUSH(&p->comms) = c;
    }
}

static int root_of(const orr_task_step *s) {
    if (!s->group) return s->peer;
    int place = play_group_place(play_group_of(s->line, s->group), s->peer);
    char text[128];
    snprintf(text, sizeof text, "line %d: rank %d is not among those that meet here", s->line, s->peer);
    if (place < 0) play_fail(text);
    return place;
}

static void mpi_collective(player *p, const orr_task_step *s) {
    int n = elements(s);
    mpi c = comm_of(p, s), t = p->type;
    char *d = p->data;
    switch (s->kind) {
    case ORR_TASKS_BARRIER: counted_Barrier(c); break;
    case ORR_TASKS_ALL_REDUCE: counted_Allreduce(d, d, n, t, p->sum, c); break;
    case ORR_TASKS_REDUCE: counted_Reduce(d, d, n, t, p->sum, root_of(s), c); break;
    case ORR_TASKS_BROADCAST: counted_Bcast(d, n, t, root_of(s), c); break;
    case ORR_TASKS_ALL_GATHER: counted_Allgather(d, n, t, d, n, t, c); break;
    case ORR_TASKS_GATHER: counted_Gather(d, n, t, d, n, t, root_of(s), c); break;
    case ORR_TASKS_SCATTER: counted_Scatter(d, n, t, d, n, t, root_of(s), c); break;
    case ORR_TASKS_REDUCE_SCATTER: counted_Reduce_scatter_block(d, d, n, t, p->sum, c); break;
    default: counted_Alltoall(d, n, t, d, n, t, c); break;
    }
}

// What goes out was made on the GPU: the host waits for it first.
static void message(player *p, const orr_task_step *s) {
    int n = elements(s);
    switch (s->kind) {
    case ORR_TASKS_SEND:
        wait_gpus(p);
        counted_Send(p->data, n, p->type, s->peer, s->tag, p->world);
        break;
    case ORR_TASKS_ISEND:
        wait_gpus(p);
        counted_Isend(p->data, n, p->type, s->peer, s->tag, p->world, ORR_PUSH(&p->pending));
        break;
    case ORR_TASKS_RECV: counted_Recv(p->data, n, p->type, s->peer, s->tag, p->world, NULL); break;
    default: counted_Irecv(p->data, n, p->type, s->peer, s->tag, p->world, ORR_PUSH(&p->pending)); break;
    }
}

static void wait_messages(player *p) {
    if (p->pending.n) counted_Waitall((int)p->pending.n, p->pending.at, NULL);
    p->pending.n = 0;
}

// ---- going through it --------------------------------------------------------------------------------
static void step(player *p, const orr_task_step *s) {
    switch (s->kind) {
    case ORR_TASKS_LAUNCH: launch(p, s); return;
    case ORR_TASKS_COPY_TO:
    case ORR_TASKS_COPY_FROM:
    case ORR_TASKS_COPY_PEER: copy(p, s); return;
    case ORR_TASKS_SEND:
    case ORR_TASKS_RECV:
    case ORR_TASKS_ISEND:
    case ORR_TASKS_IRECV: message(p, s); return;
    case ORR_TASKS_WAIT: wait_messages(p); return;
    case ORR_TASKS_SYNC:
        wait_gpus(p);
        wait_nccl(p);
        return;
    case ORR_TASKS_HOST:
        app_enter();
        the_app.host += (double)s->bytes * 1e3;
        app_rank_self()->wait_ns -= (double)s->bytes * 1e3; // it does not wait for its GPU
        app_leave(0);
        return;
    default:
        if (s->nccl) {
            nccl_collective(p, s);
            return;
        }
        wait_gpus(p);
        mpi_collective(p, s);
    }
}

// How far all ranks are, in steps of the list with their repetitions.
static uint64_t steps_done;
static void announce(const player *p) {
    orr_progress *all = &the_app.progress;
    uint64_t more = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->steps[i].kind != ORR_TASKS_REPEAT && p->steps[i].kind != ORR_TASKS_END)
            more += p->steps[i].times;
    all->what = getenv("ORRERY_APP_PLAY");
    all->units = "steps";
    all->total += more;
}

static void all_steps(player *p) {
    uint64_t left[64], depth = 0;
    for (size_t i = 0; i < p->n; i++) {
        const orr_task_step *s = &p->steps[i];
        if (s->kind == ORR_TASKS_REPEAT) {
            left[depth++] = s->bytes;
        } else if (s->kind == ORR_TASKS_END) {
            if (--left[depth - 1])
                i = s->match;
            else
                depth--;
        } else {
            play_at(p->who.rank, s->line);
            app_cluster_stops();
            step(p, s);
            orr_progress_step(&the_app.progress, ++steps_done);
        }
    }
}

// What messages would be made of: all of it may be touched by SimGrid's collectives, none of it is.
static char *room_for(const player *p) {
    uint64_t most = 4096;
    for (size_t i = 0; i < p->n; i++) {
        const orr_task_step *s = &p->steps[i];
        uint64_t bytes = s->kind >= ORR_TASKS_SEND ? s->bytes + 8 : 0;
        if (s->kind >= ORR_TASKS_ALL_GATHER) bytes *= (uint64_t)p->who.ranks;
        if (s->kind != ORR_TASKS_HOST && bytes > most) most = bytes;
    }
    static char *room;
    static uint64_t has;
    if (most > has) {
        // Of all ranks; never given back: there is nothing in it.
        room = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        has = room == MAP_FAILED ? 0 : most;
    }
    if (!has) play_fail("there is no address space for messages of this size");
    return room;
}

// Some statement is among some ranks, by MPI; all ranks must know.
static bool has_comms(const player *p) {
    for (size_t i = 0; i < p->n; i++)
        if (is_collective(&p->steps[i]) && p->steps[i].group && !p->steps[i].nccl) return true;
    return false;
}

API int orr_play_tasks(void) {
    player p = {0};
    if (!play_open(&p.who)) return 2;
    play_at(p.who.rank, 1);
    load(&p);
    join_groups(&p);
    announce(&p);
    static bool comms; // of any rank
    comms |= has_comms(&p);
    play_others_first(); // all have joined their groups
    p.world = play_world();
    if (comms) {
        if (!play_with_data()) return 2;
        make_comms(&p);
    }
    if (!play_without_data()) return 2;
    p.type = mpi_original("smpi_MPI_FLOAT");
    p.sum = mpi_original("smpi_MPI_SUM");
    p.data = room_for(&p);
    all_steps(&p);
    wait_messages(&p);
    wait_gpus(&p);
    wait_nccl(&p);
    play_at(p.who.rank, 0);
    counted_Finalize();
    return 0;
}
