// Applications that are not programs, on a simulated cluster: each rank is an actor of SimGrid that does what
// a list says.
//
//   play.c         a rank's GPUs, and ranks that meet
//   play_tasks.c   task lists with ranks and messages (tasks/)
//   play_trace.c   execution traces (operators/)
//   play_times.c   what their operators take
//   play_flows.c   what they send each other, as flows of SimGrid
//   play_routes.c  before all that: whether a platform's hosts can reach each other
#ifndef ORR_MPI_PLAY_H
#define ORR_MPI_PLAY_H

#include "app/nccl.h"
#include "input/input.h"
#include "mpi/mpi.h"
#include "operators/operators.h"

typedef struct play_rank { // who this is
    int rank, ranks, node, nodes, gpus, local, per_node;
} play_rank;

bool play_open(play_rank *r); // false: said why
bool play_with_data(void);    // MPI as programs know it, to make communicators; takes what MPI_Init takes
bool play_without_data(void); // from now on messages have sizes and no bytes
void play_others_first(void); // ranks that have not come so far do
mpi play_world(void);
void play_at(int rank, int line);                       // of the list; 0: the rank has ended
void play_fail(const char *text);                       // says it and ends the simulation with status 2
app_stream *play_stream(int gpu);                       // of a GPU of this rank's node
void play_kernel(int gpu, const char *name, double ns); // behind what is on the GPU
void play_wait_gpus(uint64_t gpus);                     // the host waits for these (bits)
double play_stream_end(int gpu);                        // ns

// What a launch of a task list takes by the model; asked for once for all that are alike. The list must stay.
double play_time(const orr_tasks *list, const orr_task_step *s);

// Ranks that do something together: the k-th time that each member comes to a meeting is the same event.
typedef struct play_group play_group;
play_group *play_group_of(int line, int number); // the same for all ranks that name it
void play_group_join(play_group *g, int rank);   // all do before any meets
int play_group_size(const play_group *g);
int play_group_place(const play_group *g, int rank); // -1: it is no member
const int *play_group_ranks(const play_group *g);
// A member comes at `ready`; returns the number of this event.
uint64_t play_meet(play_group *g, int rank, double ready, int what, uint64_t bytes);
// When it is done, and when it began: waits until all have come.
double play_met(play_group *g, uint64_t event, double *start);

// ---- execution traces ------------------------------------------------------------------------------
typedef struct play_times play_times;
play_times *play_times_open(void); // as the options say
// ns; < 0: nothing says what it takes.
double play_times_of(play_times *t, const orr_operators *o, const orr_operator *op);

// Functions of SimGrid that actors beside the ranks' own need.
typedef struct play_simgrid {
    void *(*self)(void), *(*host)(void);
    void *(*actor)(const char *, void *, void (*)(int, char **), int, const char *const *);
    double (*clock)(void);
    int (*sleep)(double);
    void *(*sem_new)(int);
    void (*acquire)(void *), (*release)(void *);
    void (*sendto)(void *, void *, double);
} play_simgrid;
extern play_simgrid play_sg;
bool play_flows_open(void);

// A collective or a message that all its members come to, in the same order. Returns when it is done.
typedef struct play_flow {
    int what, nmembers; // ORR_OP_*
    const int *members; // ranks
    uint64_t bytes;
} play_flow;
void play_flow_do(const play_flow *f, uint64_t key, int rank, int per_node);

#endif
