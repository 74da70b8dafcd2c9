// What a rank of a played application has: its GPUs' streams, and others to meet. All ranks are in one
// process and take turns, so what they share is in this file's variables.
#include "mpi/play.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// ---- who this is -----------------------------------------------------------------------------------
static int from_environment(const char *name) {
    const char *v = getenv(name);
    return v ? atoi(v) : 0;
}

mpi play_world(void) {
    mpi *w = mpi_original("MPI_COMM_WORLD");
    return w ? *w : NULL;
}

// SimGrid's mode for applications without data: messages have sizes, and nothing is copied.
static bool without_data(int rank) {
    void *(*self)(void);
    const char *(*property)(const void *, const char *);
    void (*init)(const char *, int, double);
    *(void **)&self = mpi_original("sg_actor_self");
    *(void **)&property = mpi_original("sg_actor_get_property_value");
    *(void **)&init = mpi_original("smpi_replay_init");
    if (!self || !property || !init) return false;
    const char *instance = property(self(), "instance_id");
    init(instance ? instance : "smpirun", rank, 0);
    return true;
}

bool play_without_data(void) { return without_data(app_rank_now()); }

bool play_with_data(void) {
    int (*init)(int *, char ***), (*barrier)(mpi);
    *(void **)&init = mpi_original("PMPI_Init");
    *(void **)&barrier = mpi_original("PMPI_Barrier");
    return init && barrier && !init(NULL, NULL) && !barrier(play_world());
}

void play_others_first(void) {
    void (*yield)(void);
    *(void **)&yield = mpi_original("sg_actor_yield");
    if (yield) yield();
}

bool play_open(play_rank *r) {
    int rank = app_rank_now();
    const char *ranks = getenv("ORRERY_APP_RANKS");
    if (app_enter()) return false;
    app_leave(0);
    *r = (play_rank){.rank = rank,
                     .ranks = ranks ? atoi(ranks) : 0,
                     .per_node = from_environment("ORRERY_APP_PER_NODE"),
                     .nodes = from_environment("ORRERY_APP_NODES"),
                     .gpus = app_device_count()};
    if (r->per_node < 1 || r->nodes < 1 || r->ranks <= rank) return false;
    r->node = rank / r->per_node;
    r->local = rank % r->per_node;
    return true;
}

void play_fail(const char *text) {
    app_say("%s", text);
    fflush(NULL);
    _Exit(2);
}

// ---- where ranks are ---------------------------------------------------------------------------------
static ORR_VEC(int) lines; // by rank: of the list; 0: it has ended

void play_at(int rank, int line) {
    while (lines.n <= (size_t)rank) *ORR_PUSH(&lines) = 0;
    lines.at[rank] = line;
}

// When SimGrid ends because nobody can go on.
__attribute__((destructor)) static void tell_stuck(void) {
    int told = 0;
    for (size_t r = 0; r < lines.n && told < 8; r++)
        if (lines.at[r] && ++told) app_say("rank %zu waits for ever at line %d", r, lines.at[r]);
}

// ---- GPUs --------------------------------------------------------------------------------------------
app_stream *play_stream(int gpu) { return &app_device_at(gpu)->legacy; }

double play_stream_end(int gpu) {
    double end = play_stream(gpu)->end;
    return end > the_app.host ? end : the_app.host;
}

void play_kernel(int gpu, const char *name, double ns) {
    app *a = &the_app;
    app_stream *s = play_stream(gpu);
    app_device_use(gpu);
    double start = app_clock_start(s, ENGINE_KERNELS);
    app_clock_done(
        s, ENGINE_KERNELS,
        (app_span){.name = name, .from = start, .to = start + ns, .launch = a->counts.nlaunches++});
    app_rank *r = app_rank_self();
    r->launches++;
    r->kernel_ns += ns;
    a->times.launches++;
    a->times.kernel_ns += ns;
    a->devices[s->device].launches++;
    a->devices[s->device].kernel_ns += ns;
}

void play_wait_gpus(uint64_t gpus) {
    for (int g = 0; gpus >> g && g < 64; g++)
        if (gpus >> g & 1) app_clock_wait(play_stream(g)->end);
}

double play_time(const orr_tasks *list, const orr_task_step *s) {
    app *a = &the_app;
    app_cluster_stops();
    uint64_t key = orr_tasks_digest(list, s);
    double ns = 0;
    if (app_alike_find(key, &ns, NULL)) {
        a->counts.nalike++;
        return ns;
    }
    orr_err e = {0};
    orr_work w = {.threads = a->asked.threads, .progress = &a->progress};
    orr_task_launch x;
    if (!orr_launch_possible(a->gpu, &s->launch, &e)) play_fail(e.text);
    orr_task_launch_open(&x, &w, list, s, a->gpu);
    orr_work given = w;
    bool ok = a->model->run(a->gpu, &given, &a->result, &e);
    orr_task_launch_close(&x, &w);
    app_cluster_stops();
    if (!ok) play_fail(e.text);
    ns = a->result.launches.n ? a->result.launches.at[a->result.launches.n - 1].time_ns : 0;
    if (!(ns >= 0)) ns = 0; // a model without time
    app_alike_add(key, ns, 0);
    return ns;
}

// ---- meeting -----------------------------------------------------------------------------------------
typedef struct event {
    int come;
    bool done;
    double ready, start, end; // ns
} event;

struct play_group {
    int line, number;
    ORR_VEC(int) ranks; // in order
    ORR_VEC(event) events;
    ORR_VEC(uint64_t) next; // of each member: its next event
    double end;             // of the last one
    int per_node;
};
static ORR_VEC(play_group *) groups;

play_group *play_group_of(int line, int number) {
    for (size_t i = 0; i < groups.n; i++)
        if (groups.at[i]->line == line && groups.at[i]->number == number) return groups.at[i];
    play_group *g = orr_calloc(1, sizeof *g);
    g->line = line;
    g->number = number;
    g->per_node = from_environment("ORRERY_APP_PER_NODE");
    *ORR_PUSH(&groups) = g;
    return g;
}

void play_group_join(play_group *g, int rank) {
    size_t at = 0;
    while (at < g->ranks.n && g->ranks.at[at] < rank) at++;
    if (at < g->ranks.n && g->ranks.at[at] == rank) return;
    (void)ORR_PUSH(&g->ranks);
    memmove(g->ranks.at + at + 1, g->ranks.at + at, (g->ranks.n - 1 - at) * sizeof *g->ranks.at);
    g->ranks.at[at] = rank;
    *ORR_PUSH(&g->next) = 0;
}

int play_group_size(const play_group *g) { return (int)g->ranks.n; }
const int *play_group_ranks(const play_group *g) { return g->ranks.at; }

int play_group_place(const play_group *g, int rank) {
    size_t lo = 0, hi = g->ranks.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (g->ranks.at[mid] < rank)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < g->ranks.n && g->ranks.at[lo] == rank ? (int)lo : -1;
}

static int nodes_of(const play_group *g) {
    int n = 0, last = -1;
    for (size_t i = 0; i < g->ranks.n; i++) {
        int node = g->ranks.at[i] / g->per_node;
        n += node != last;
        last = node;
    }
    return n;
}

uint64_t play_meet(play_group *g, int rank, double ready, int what, uint64_t bytes) {
    uint64_t number = g->next.at[play_group_place(g, rank)]++;
    while (g->events.n <= number) *ORR_PUSH(&g->events) = (event){0};
    event *v = &g->events.at[number];
    if (ready > v->ready) v->ready = ready;
    if (++v->come < (int)g->ranks.n) return number;
    v->start = v->ready > g->end ? v->ready : g->end;
    v->end = v->start + nccl_plan((int)g->ranks.n, nodes_of(g), what, bytes).ns;
    v->done = true;
    g->end = v->end;
    the_app.counts.nccl_calls++;
    the_app.counts.nccl_ns += v->end - v->start;
    app_changed();
    return number;
}

double play_met(play_group *g, uint64_t number, double *start) {
    while (!g->events.at[number].done) app_wait_change();
    *start = g->events.at[number].start;
    return g->events.at[number].end;
}
