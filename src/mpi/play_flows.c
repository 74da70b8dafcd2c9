// Collectives and messages of an execution trace as flows on SimGrid's network.
//
// A collective begins when all members have come. Inside a node it takes what NCCL's tuner says
// (node/collective.h). Between nodes, every node's first member sends what a ring carries over a link -
// all-reduce 2 (n - 1) / n of the bytes, the others (n - 1) / n - to the next node's, as one flow: a
// pipelined ring keeps all its links busy at the same time. Flows share links as SimGrid says. In front is
// the latency that the tuner gives so many steps. An all-to-all is a flow from every node to every other, one
// after the other.
#include "mpi/play.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

play_simgrid play_sg;

bool play_flows_open(void) {
    const struct {
        const char *name;
        void **to;
    } all[] = {
        {"sg_actor_self", (void **)&play_sg.self},       {"sg_host_self", (void **)&play_sg.host},
        {"sg_actor_create_", (void **)&play_sg.actor},   {"simgrid_get_clock", (void **)&play_sg.clock},
        {"sg_actor_sleep_for", (void **)&play_sg.sleep}, {"sg_sem_init", (void **)&play_sg.sem_new},
        {"sg_sem_acquire", (void **)&play_sg.acquire},   {"sg_sem_release", (void **)&play_sg.release},
        {"sg_host_sendto", (void **)&play_sg.sendto}};
    bool ok = true;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ok &= (*all[i].to = mpi_original(all[i].name)) != NULL;
    return ok;
}

// ---- meeting -------------------------------------------------------------------------------------------
typedef struct meeting {
    uint64_t key;
    int come, done, left;
    double began;
    void *all_come, *all_done; // semaphores
    void **hosts;              // of members, by place
} meeting;
static orr_map open_meetings; // by key, as text

static meeting *meeting_of(uint64_t key, int members) {
    char name[32];
    snprintf(name, sizeof name, "%016llx", (unsigned long long)key);
    meeting *m = orr_map_get(&open_meetings, name);
    if (m) return m;
    m = orr_calloc(1, sizeof *m);
    m->key = key;
    m->all_come = play_sg.sem_new(0);
    m->all_done = play_sg.sem_new(0);
    m->hosts = orr_calloc((size_t)members, sizeof *m->hosts);
    orr_map_put(&open_meetings, name, m);
    return m;
}

static void open_for(void *sem, int members) {
    for (int i = 0; i < members; i++) play_sg.release(sem);
}

// ---- what a member does --------------------------------------------------------------------------------
static int place_of(const play_flow *f, int rank) {
    for (int i = 0; i < f->nmembers; i++)
        if (f->members[i] == rank) return i;
    return 0;
}

static bool first_of_node(const play_flow *f, int place, int per_node) {
    int node = f->members[place] / per_node;
    for (int i = 0; i < place; i++)
        if (f->members[i] / per_node == node) return false;
    return true;
}

static int nodes_of(const play_flow *f, int per_node) {
    int n = 0;
    for (int i = 0; i < f->nmembers; i++) n += first_of_node(f, i, per_node);
    return n;
}

static int kind_of(int what) { // as NCCL's tuner knows it
    switch (what) {
    case ORR_OP_ALL_GATHER:
    case ORR_OP_GATHER: return ORR_COLL_ALL_GATHER;
    case ORR_OP_SCATTER:
    case ORR_OP_REDUCE_SCATTER:
    case ORR_OP_REDUCE_SCATTER_BLOCK: return ORR_COLL_REDUCE_SCATTER;
    case ORR_OP_BROADCAST: return ORR_COLL_BROADCAST;
    case ORR_OP_REDUCE: return ORR_COLL_REDUCE;
    default: return ORR_COLL_ALL_REDUCE;
    }
}

static void between_nodes(const play_flow *f, const meeting *m, int place, int per_node, int nodes) {
    double factor = orr_collective_factor((enum orr_collective)kind_of(f->what), f->nmembers);
    int next = place;
    if (f->what == ORR_OP_ALL_TO_ALL) { // a member's bytes are for all members
        int mine = 0;
        for (int i = 0; i < f->nmembers; i++)
            mine += f->members[i] / per_node == f->members[place] / per_node;
        double each = (double)f->bytes * mine / nodes;
        for (int step = 1; step < nodes; step++) {
            do next = (next + 1) % f->nmembers;
            while (!first_of_node(f, next, per_node));
            play_sg.sendto(m->hosts[place], m->hosts[next], each);
        }
        return;
    }
    do next = (next + 1) % f->nmembers;
    while (!first_of_node(f, next, per_node));
    play_sg.sendto(m->hosts[place], m->hosts[next], (double)f->bytes * factor);
}

static void collective(const play_flow *f, meeting *m, int place, int per_node) {
    int nodes = nodes_of(f, per_node), kind = kind_of(f->what);
    bool flows = nodes > 1 && f->bytes && f->what != ORR_OP_BARRIER;
    // Without bytes what is left is latency; of one node alone, what its own links take.
    double inside = nccl_plan(f->nmembers, 1, kind, f->bytes).ns * 1e-9;
    double latency = nodes > 1 ? nccl_plan(f->nmembers, nodes, kind, 1).ns * 1e-9 : 0;
    if (f->what == ORR_OP_ALL_TO_ALL && nodes == 1) inside /= 2; // (n - 1) / n of the bytes, not twice that
    if (f->nmembers < 2) return;
    if (!flows) {
        if (place == 0) play_sg.sleep(latency > inside ? latency : inside);
        return;
    }
    if (!first_of_node(f, place, per_node)) return;
    play_sg.sleep(latency);
    between_nodes(f, m, place, per_node, nodes);
    double rest = m->began + inside - play_sg.clock();
    if (rest > 0) play_sg.sleep(rest);
}

static void message(const play_flow *f, const meeting *m, int place) {
    if (place == 0) play_sg.sendto(m->hosts[0], m->hosts[1], (double)f->bytes);
}

void play_flow_do(const play_flow *f, uint64_t key, int rank, int per_node) {
    int place = place_of(f, rank), members = f->nmembers;
    meeting *m = meeting_of(key, members);
    m->hosts[place] = play_sg.host();
    if (++m->come == members) {
        m->began = play_sg.clock();
        open_for(m->all_come, members);
    }
    play_sg.acquire(m->all_come);
    if (f->what < 0)
        message(f, m, place);
    else
        collective(f, m, place, per_node);
    if (++m->done == members) open_for(m->all_done, members);
    play_sg.acquire(m->all_done);
    // It stays in the map: keys do not come again.
    if (++m->left == members) {
        free(m->hosts);
        m->hosts = NULL;
    }
}
