// Host threads that run through a list of independent jobs together, again and again (crew.c).
#ifndef ORR_CYCLE_CREW_H
#define ORR_CYCLE_CREW_H

#include <stdint.h>

typedef struct crew crew;
crew *cyc_crew_new(int threads); // the caller is one of them
int cyc_crew_size(const crew *c);
// job(arg, worker, i) for each i < n, in any order, on any of the threads; returns when all are done.
void cyc_crew_run(crew *c, uint32_t n, void (*job)(void *arg, int worker, uint32_t i), void *arg);
void cyc_crew_free(crew *c);

#endif
