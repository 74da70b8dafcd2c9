// A real GPU as a backend of launch scripts, through the CUDA driver, which is loaded at run time: no
// CUDA header or library is needed to build.
#ifndef ORR_HW_H
#define ORR_HW_H

#include "launch/launch.h"

typedef struct orr_hw orr_hw;

typedef struct orr_hw_info {
    char name[128];
    int driver;       // e.g. 12040 for CUDA 12.4
    int major, minor; // compute capability
    int sms;
} orr_hw_info;

typedef struct orr_hw_time { // one launch
    const char *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared, shared, regs; // shared: static; both as the driver compiled it
    int line;                              // in the script
    double us;                             // between two events around it
} orr_hw_time;

// The kernel that is launched for a profiler to see first (cuda.c); lab/ncu.c passes its row over.
#define ORR_HW_FIRST "orr_first"

// Loads libcuda.so.1 (or the file that $ORRERY_LIBCUDA names) and takes its first device.
orr_hw *orr_hw_open(orr_err *e);
// Where the driver is: its file, in the arena; NULL: there is none.
const char *orr_hw_driver(orr_arena *a);
const orr_hw_info *orr_hw_get_info(const orr_hw *h);
orr_backend orr_hw_backend(orr_hw *h);
// What the driver says of the device, by the number that CUDA gives an attribute (CUdevice_attribute); false:
// it does not know it.
bool orr_hw_attribute(const orr_hw *h, int attribute, int *value);
uint64_t orr_hw_memory(const orr_hw *h); // bytes, 0: not known
// Launches since the start or the last reset.
size_t orr_hw_times(const orr_hw *h, const orr_hw_time **times);
// Forgets buffers, modules and times. False when the device cannot be used any more by this process, as
// after a kernel that faulted.
bool orr_hw_reset(orr_hw *h);
void orr_hw_close(orr_hw *h);

// ---- a real GPU as the functional model (native.c) ----------------------------------------------
// A backend as orr_cpu is one: each launch goes through `on_launch`, whose launches are executed on the GPU;
// their streams come from there (orr_launch.elsewhere).
typedef struct orr_native orr_native;
typedef struct orr_native_stats {
    uint64_t slices, again; // launches that were recorded; those of them that had to be done again, smaller
    uint64_t bytes;         // that came back
    double compile_seconds, gpu_seconds, copy_seconds, replay_seconds;
} orr_native_stats;
orr_native *orr_native_new(orr_on_launch *on_launch, void *arg, orr_err *e);
orr_backend orr_native_backend(orr_native *v);
// The same for launches that somebody else makes, with memory that is at the same addresses for host and
// device (orr_mem_shared): the GPU then works on the host's memory. `who` is what orr_launch.elsewhere is set
// to.
orr_native *orr_native_share(orr_mem *mem, orr_err *e);
const orr_elsewhere *orr_native_who(const orr_native *v);
const orr_native_stats *orr_native_get_stats(const orr_native *v);
void orr_native_delete(orr_native *v);

#endif
