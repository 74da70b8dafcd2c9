// The kinds of accesses that L1 and shared memory count apart.
#ifndef ORR_CORE_KINDS_H
#define ORR_CORE_KINDS_H

enum { ORR_L1_LOAD, ORR_L1_STORE, ORR_L1_ATOMIC, ORR_L1_KINDS }; // atomics: also reductions

enum { TMA_LOAD, TMA_STORE, TMA_REDUCE, TMA_PREFETCH, TMA_KINDS }; // what a bulk copy does

#endif
