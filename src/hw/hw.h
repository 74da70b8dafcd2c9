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

// Loads libcuda.so.1 (or the file that $ORRERY_LIBCUDA names) and takes its first device.
orr_hw *orr_hw_open(orr_err *e);
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

#endif
