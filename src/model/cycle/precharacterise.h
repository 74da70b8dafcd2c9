// Pre-characterisation for the abstract model: a program by itself on the cycle model's pipeline
// (precharacterise.c).
#ifndef ORR_CYCLE_PRECHARACTERISE_H
#define ORR_CYCLE_PRECHARACTERISE_H

#include "gpu/gpu.h"
#include "program/program.h"

// Runs every basic block of `p` from block `first` on once: one warp on one SM, memory and caches perfect,
// nobody to share with. latency[n], n from the first instruction of block `first` to p->ninsts: cycles from
// the issue of instruction n until what it makes can be used, as the pipeline had it; 0: it makes nothing
// that the pipeline waits for, or it goes to memory, whose time is not the pipeline's.
bool orr_precharacterise(const orr_program *p, const orr_gpu *g, uint32_t first, uint32_t *latency,
                         orr_err *e);
// What these latencies depend on: the code, and those parameters of the GPU that make the pipeline. SMs,
// schedulers, their policy and caches are not among them.
uint64_t orr_precharacterise_key(const orr_program *p, const orr_gpu *g);

#endif
