// A program of several ranks in one process: what SimGrid's SMPI makes of an MPI program (orrery cluster).
//
// Each rank is an actor of SimGrid with a copy of the program's variables; all call the one library that this
// file is part of, one at a time. The host's clock of a rank is SimGrid's: it is read when a function of CUDA
// is entered, and a rank that has to wait for its GPU sleeps in SimGrid when it leaves. SimGrid's functions
// are found in the process, so this library does not need it to be built or to run.
#include "app/pending.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool asked, here;
    void (*bench_end)(void), (*bench_begin)(void); // NULL: host code takes no time
    void *(*self)(void);
    int (*pid)(void);
    void *(*host)(void);
    double (*clock)(void);
    int (*sleep)(double);
    void *(*mutex_new)(void), *(*cond_new)(void);
    void (*mutex_lock)(void *), (*mutex_unlock)(void *), (*cond_wait)(void *, void *), (*cond_all)(void *);
    double (*bandwidth)(void *, void *), (*latency)(void *, void *);
    void *mutex, *cond; // of those that wait for another rank
} simgrid;

static bool started; // MPI has: SimGrid measures host code (--host), of which our own is no part
static ORR_VEC(app_rank) ranks;
static app_rank alone;

static void find(void) {
    simgrid.asked = true;
    if (!getenv("ORRERY_APP_CLUSTER")) return;
    const char *measured = getenv("ORRERY_APP_MEASURED");
    if (measured && *measured) {
        *(void **)&simgrid.bench_end = dlsym(RTLD_DEFAULT, "smpi_bench_end");
        *(void **)&simgrid.bench_begin = dlsym(RTLD_DEFAULT, "smpi_bench_begin");
    }
    *(void **)&simgrid.self = dlsym(RTLD_DEFAULT, "sg_actor_self");
    *(void **)&simgrid.pid = dlsym(RTLD_DEFAULT, "sg_actor_self_get_pid");
    *(void **)&simgrid.host = dlsym(RTLD_DEFAULT, "sg_host_self");
    *(void **)&simgrid.clock = dlsym(RTLD_DEFAULT, "simgrid_get_clock");
    *(void **)&simgrid.sleep = dlsym(RTLD_DEFAULT, "sg_actor_sleep_for");
    *(void **)&simgrid.mutex_new = dlsym(RTLD_DEFAULT, "sg_mutex_init");
    *(void **)&simgrid.mutex_lock = dlsym(RTLD_DEFAULT, "sg_mutex_lock");
    *(void **)&simgrid.mutex_unlock = dlsym(RTLD_DEFAULT, "sg_mutex_unlock");
    *(void **)&simgrid.cond_new = dlsym(RTLD_DEFAULT, "sg_cond_init");
    *(void **)&simgrid.cond_wait = dlsym(RTLD_DEFAULT, "sg_cond_wait");
    *(void **)&simgrid.cond_all = dlsym(RTLD_DEFAULT, "sg_cond_notify_all");
    *(void **)&simgrid.bandwidth = dlsym(RTLD_DEFAULT, "sg_host_get_route_bandwidth");
    *(void **)&simgrid.latency = dlsym(RTLD_DEFAULT, "sg_host_get_route_latency");
    simgrid.here = simgrid.cond_wait && simgrid.cond_all && simgrid.mutex_lock && simgrid.self &&
                   simgrid.pid && simgrid.host && simgrid.clock && simgrid.sleep;
}

bool app_in_cluster(void) {
    if (!simgrid.asked) find();
    return simgrid.here;
}

// A rank is running, and not SimGrid itself; when all have ended and the process does, there is none.
static bool in_rank(void) { return app_in_cluster() && simgrid.self() && simgrid.pid() > 0; }

int app_rank_now(void) {
    if (app_pending_rank() >= 0) return app_pending_rank();
    int pid = in_rank() ? simgrid.pid() : 1;
    return pid > 0 ? pid - 1 : 0; // 0 is SimGrid itself
}

// Ranks are laid out node by node, as `orrery cluster` writes SimGrid's list of hosts.
app_rank *app_rank_self(void) {
    if (!app_in_cluster()) return &alone;
    size_t n = (size_t)app_rank_now();
    while (ranks.n <= n) *ORR_PUSH(&ranks) = (app_rank){0};
    app_rank *r = &ranks.at[n];
    const char *v = getenv("ORRERY_APP_PER_NODE");
    int per_node = v ? atoi(v) : 1, nodes = the_app.open ? the_app.ndevices / app_device_count() : 1;
    r->node = per_node > 0 && nodes > 0 ? (int)n / per_node % nodes : 0;
    return r;
}

size_t app_rank_all(const app_rank **all) {
    *all = app_in_cluster() ? ranks.at : &alone;
    return app_in_cluster() ? ranks.n : 1;
}

app_rank *app_rank_of(int rank) { return rank >= 0 && (size_t)rank < ranks.n ? &ranks.at[rank] : NULL; }

int *app_rank_device(void) { return &app_rank_self()->device; }
int *app_rank_error(void) { return &app_rank_self()->error; }
int app_rank_node(void) { return app_in_cluster() ? app_rank_self()->node : 0; }

// SimGrid's, the first two that are met: what is between them stands for the network.
static void *hosts[2];
static void hosts_met(void *host) {
    if (!hosts[0]) hosts[0] = host;
    if (!hosts[1] && host != hosts[0]) hosts[1] = host;
}

void app_rank_enter(void) {
    if (!in_rank()) return;
    if (simgrid.host) hosts_met(simgrid.host());
    the_app.host = simgrid.clock() * 1e9;
}

double app_rank_leave(void) {
    if (!in_rank()) return 0;
    double wait = the_app.host / 1e9 - simgrid.clock();
    app_rank *r = app_rank_self();
    if (wait > 0) r->wait_ns += wait * 1e9;
    if (the_app.host > r->end_ns) r->end_ns = the_app.host;
    return wait;
}

void app_rank_wait(double seconds) {
    if (!in_rank()) return;
    app_rank_tell();
    if (seconds > 0) simgrid.sleep(seconds);
    if (started && simgrid.bench_begin) simgrid.bench_begin();
}

// Before a function of CUDA, with no lock held: the host code before it has ended.
void app_rank_pause(void) {
    if (app_in_cluster() && started && simgrid.bench_end && in_rank()) simgrid.bench_end();
}

// ---- waiting for another rank -----------------------------------------------------------------------
// A call of SimGrid may give the turn to another rank, which must find this library's lock free: these are
// made with no lock held. What has changed is counted, so that no change is missed between looking and
// waiting.
static uint64_t changes, told; // told: up to which those who wait have been woken

void app_rank_change(void) { changes++; }
uint64_t app_rank_changes(void) { return changes; }

static void make(void) {
    if (simgrid.mutex) return;
    simgrid.mutex = simgrid.mutex_new();
    simgrid.cond = simgrid.cond_new();
}

void app_rank_park(uint64_t seen) {
    app_rank_tell();
    make();
    simgrid.mutex_lock(simgrid.mutex);
    if (changes == seen) simgrid.cond_wait(simgrid.cond, simgrid.mutex);
    simgrid.mutex_unlock(simgrid.mutex);
}

void app_rank_tell(void) {
    if (told == changes) return;
    told = changes;
    make();
    simgrid.mutex_lock(simgrid.mutex);
    simgrid.cond_all(simgrid.cond);
    simgrid.mutex_unlock(simgrid.mutex);
}

// Between two nodes of the platform, as its routes say; of the first two that ranks are on.
void app_rank_network(double *bandwidth, double *latency) {
    *bandwidth = *latency = 0;
    if (!app_in_cluster() || !hosts[1] || !simgrid.bandwidth || !simgrid.latency) return;
    *bandwidth = simgrid.bandwidth(hosts[0], hosts[1]) / 1e9;
    *latency = simgrid.latency(hosts[0], hosts[1]) * 1e6;
}

// ---- calls of MPI -----------------------------------------------------------------------------------
static ORR_VEC(app_mpi_total) functions;

void app_mpi_count(int rank, const char *name, double seconds, uint64_t bytes, bool message) {
    app_rank *r = app_rank_of(rank);
    if (r) {
        r->messages += message;
        r->sent += bytes;
    }
    size_t i = 0;
    while (i < functions.n && strcmp(functions.at[i].name, name) != 0) i++;
    if (i == functions.n) *ORR_PUSH(&functions) = (app_mpi_total){.name = name};
    functions.at[i].calls++;
    functions.at[i].bytes += bytes;
    functions.at[i].ns += seconds * 1e9;
}

double app_mpi_begin(const char *name) {
    if (!in_rank()) return 0;
    app_cluster_stops();
    app_rank_self()->inside = name;
    return simgrid.clock();
}

void app_mpi_end(const char *name, double from, uint64_t bytes, int to) {
    if (!in_rank()) return;
    double now = simgrid.clock();
    app_rank *r = app_rank_self();
    started = true;
    r->inside = NULL;
    r->mpi_ns += (now - from) * 1e9;
    if (now * 1e9 > r->end_ns) r->end_ns = now * 1e9;
    r->messages += to >= 0;
    r->sent += bytes;
    size_t i = 0;
    while (i < functions.n && functions.at[i].name != name) i++;
    if (i == functions.n) *ORR_PUSH(&functions) = (app_mpi_total){.name = name};
    functions.at[i].calls++;
    functions.at[i].bytes += bytes;
    functions.at[i].ns += (now - from) * 1e9;
    if (the_app.open && !the_app.failed) app_clock_note(NULL, ENGINE_MPI, name, from * 1e9, now * 1e9, bytes);
}

size_t app_mpi_totals(const app_mpi_total **all) {
    *all = functions.at;
    return functions.n;
}
