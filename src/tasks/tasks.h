// Task lists: an application that has not been written yet, as a few lines of text (docs/how/partial.md).
//
// A kernel is a list of tasks: operations by class, memory accesses, barriers, loops, each with the tasks it
// depends on. Around it are copies, launches and repetitions. A kernel becomes what every model takes:
// machine instructions (a task writes a register, whoever depends on it reads that) and streams, made up
// block by block as they are asked for. A task list has no addresses. An access is to data nobody has
// touched, or, with a reuse distance, to data that so many bytes lie between.
#ifndef ORR_TASKS_H
#define ORR_TASKS_H

#include "stream/stream.h"

typedef struct orr_tasks orr_tasks;
bool orr_tasks_probe(const char *path); // by its name: *.tasks
// `sets` are "name=value" replacements of what the list says with `let`.
orr_tasks *orr_tasks_load(const char *path, const char *const *sets, int nsets, orr_err *e);
// From memory (fuzzing). The text need not end in 0.
orr_tasks *orr_tasks_parse(const char *path, const char *text, size_t n, const char *const *sets, int nsets,
                           orr_err *e);
void orr_tasks_free(orr_tasks *t);

// Where a list runs: what it knows as rank, ranks, node, nodes, gpus (of a node) and local (its place among
// the ranks of its node).
typedef struct orr_task_rank {
    int rank, ranks, node, nodes, gpus, local;
    bool alone; // on one GPU (orrery run): who is at the other end of a message is not looked at
} orr_task_rank;
// The list of one rank of several (orrery cluster). The others are of one rank alone.
orr_tasks *orr_tasks_load_rank(const char *path, const char *const *sets, int nsets, const orr_task_rank *r,
                               orr_err *e);
typedef struct orr_tasks_text {
    const char *path, *text; // what messages call it; it need not end in 0
    size_t n;
    const char *const *sets;
    int nsets;
} orr_tasks_text;
orr_tasks *orr_tasks_parse_rank(const orr_tasks_text *t, const orr_task_rank *r, orr_err *e);
// The line of the first statement that takes several GPUs or ranks; 0: there is none.
int orr_tasks_of_ranks(const orr_tasks *t);

enum {
    ORR_TASKS_COPY_TO,
    ORR_TASKS_COPY_FROM,
    ORR_TASKS_LAUNCH,
    // a repetition: what is between it and the step `match`, `bytes` times
    ORR_TASKS_REPEAT,
    ORR_TASKS_END,
    // of several GPUs and ranks:
    ORR_TASKS_COPY_PEER, // from `gpu` to GPU `peer` of the same node
    ORR_TASKS_SEND,
    ORR_TASKS_RECV,
    ORR_TASKS_ISEND,
    ORR_TASKS_IRECV,
    ORR_TASKS_WAIT, // for all messages that have been started
    ORR_TASKS_SYNC, // for the rank's GPUs
    ORR_TASKS_HOST, // `bytes` microseconds of host code
    ORR_TASKS_BARRIER,
    ORR_TASKS_ALL_REDUCE,
    ORR_TASKS_REDUCE,
    ORR_TASKS_BROADCAST,
    ORR_TASKS_ALL_GATHER,
    ORR_TASKS_GATHER,
    ORR_TASKS_SCATTER,
    ORR_TASKS_REDUCE_SCATTER,
    ORR_TASKS_ALL_TO_ALL,
};
typedef struct orr_task_step { // of the application, in order
    int kind;
    uint64_t times;         // it is repeated, with all repetitions around it
    uint64_t bytes;         // of a copy or message; of a collective what one rank gives to all, or to each
    orr_launch_info launch; // of a launch; the kernel lives as long as the list
    int line;
    int gpu;        // of the node; -1: the rank's own
    int peer, tag;  // at the other end; of a collective the rank that has or gets all, or -1
    int group;      // a collective is among the ranks with the same number here; 0: all ranks
    bool nccl;      // by NCCL, between GPUs; else by MPI
    uint32_t match; // REPEAT: its end; END: its beginning
} orr_task_step;
size_t orr_tasks_steps(const orr_tasks *t, const orr_task_step **steps);
// A launch's thread blocks. Closing it frees it.
orr_source *orr_tasks_source(const orr_tasks *t, const orr_task_step *s);
// How many tasks a warp of it runs; false: it is no launch.
bool orr_tasks_length(const orr_tasks *t, const orr_task_step *s, uint64_t *tasks);
// Equal for launches that do the same, also of lists of other ranks.
uint64_t orr_tasks_digest(const orr_tasks *t, const orr_task_step *s);
// For each instruction of the launch's kernel, which part of what it asks for comes from memory, as the reuse
// distances say: 0 when the data fit in L2 beside those of the other SMs at work, else 1; negative where
// nothing but addresses says it. False: they say all of it.
bool orr_tasks_far(const orr_tasks *t, const orr_task_step *s, uint64_t l2_bytes, uint64_t sms, float *far);

// ---- from kernels (write.c) -------------------------------------------------------------------------
// A task list of what launches did: each kernel as its warps went through it on average, in the words of the
// language.
typedef struct orr_task_writer orr_task_writer;
struct orr_gpu;
orr_task_writer *orr_task_writer_new(const struct orr_gpu *g);
// Takes all thread blocks of the source; leaves it open.
bool orr_task_writer_launch(orr_task_writer *w, orr_source *s, orr_err *e);
void orr_task_writer_text(const orr_task_writer *w, const char *title, orr_text *out);
void orr_task_writer_free(orr_task_writer *w);

#endif
