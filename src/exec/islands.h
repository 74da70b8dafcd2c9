// Device memory in several places that are far apart (run/memory.c), for what was captured on a real GPU.
#ifndef ORR_ISLANDS_H
#define ORR_ISLANDS_H

#include "exec/exec.h"

// As orr_mem_new_at, at places that are sorted and apart, between which there may be more than a host has
// addresses for.
orr_mem *orr_mem_new_islands(const orr_mem_range *at, uint32_t n, orr_err *e);

#endif
