// Private to tasks/: a list as parsed.
#ifndef ORR_TASKS_LIST_H
#define ORR_TASKS_LIST_H

#include "tasks/tasks.h"

#define MAX_TEXT    (1u << 20)
#define MAX_KERNELS 64
#define MAX_TASKS   4096 // of a kernel, with their copies
#define MAX_DEPTH   8    // of loops
#define MAX_DEPS    6
#define MAX_STEPS   4096
#define MAX_NAMES   256
#define MAX_RUN     (1u << 26) // tasks that a warp runs
#define MAX_ACCESS  (1u << 22) // accesses that a warp makes

typedef struct task_mem { // how a task touches memory
    uint32_t bytes;       // per thread
    uint64_t stride;      // from thread to thread
    uint64_t reuse;       // distance in bytes; 0: data nobody has touched
    bool load, store;     // neither: an atomic
    bool common;          // all SMs use the same data
    bool together;        // all warps of a block use the same data at the same time,
    bool everywhere;      // those of all blocks do
    uint8_t l1, l2;       // percent of its accesses that find their data there
    uint8_t lanes;        // threads of a warp that take part
    uint32_t inst;        // of the kernel
    uint64_t runs;        // times that a warp does it
} task_mem;

typedef struct task_item { // what a warp does, in order: a block of code, or a loop around some
    enum { ITEM_BLOCK, ITEM_LOOP, ITEM_SOME, ITEM_END } kind;
    uint32_t block;       // of the kernel
    uint32_t first, n;    // of its accesses in `mems`
    uint64_t times, most; // LOOP: rounds; warps differ, from `times` to `most`. SOME: percent of the warps
    bool blocks;          // LOOP: thread blocks differ, not their warps
    uint32_t match;       // LOOP, SOME: its end; END: its beginning
} task_item;

typedef struct task_kernel {
    orr_kernel kernel;
    orr_module module;
    orr_func func;
    uint32_t threads;
    uint32_t insts_cap, blocks_cap, operands_cap, names_cap;
    ORR_VEC(task_mem) mems; // in the order of the code
    ORR_VEC(task_item) items;
    uint64_t run, accesses; // of a warp
} task_kernel;

struct orr_tasks {
    ORR_VEC(task_kernel *) kernels;
    ORR_VEC(orr_task_step) steps;
    int ranks_line; // the first with what takes several GPUs or ranks; 0: there is none
};

#endif
