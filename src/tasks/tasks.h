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

enum { ORR_TASKS_COPY_TO, ORR_TASKS_COPY_FROM, ORR_TASKS_LAUNCH };
typedef struct orr_task_step { // of the application, in order
    int kind;
    uint64_t times;         // it is repeated
    uint64_t bytes;         // of a copy
    orr_launch_info launch; // of a launch; the kernel lives as long as the list
    int line;
} orr_task_step;
size_t orr_tasks_steps(const orr_tasks *t, const orr_task_step **steps);
// A launch's thread blocks. Closing it frees it.
orr_source *orr_tasks_source(const orr_tasks *t, const orr_task_step *s);
// How many tasks a warp of it runs; false: it is no launch.
bool orr_tasks_length(const orr_tasks *t, const orr_task_step *s, uint64_t *tasks);
// For each instruction of the launch's kernel, which part of what it asks for comes from memory, as the reuse
// distances say: 0 when the data fit in L2 beside those of the other SMs at work, else 1.
void orr_tasks_far(const orr_tasks *t, const orr_task_step *s, uint64_t l2_bytes, uint64_t sms, float *far);

#endif
