// One kernel for each instruction of ops.def, and inputs that make them show their corners. The same
// module and inputs go to the executor and to a real GPU; results are 64-bit words.
#ifndef ORR_OPS_H
#define ORR_OPS_H

#include "launch/launch.h"

#define OPS_N 1024 // results of each instruction

typedef struct ops_case {
    const char *text, *signature;
    bool approx;
    uint8_t matrix[4]; // registers of D, A, B, C; 0: not a matrix instruction
    char width;
    uint8_t in_ab, in_c;
} ops_case;
extern const ops_case ops_cases[];
extern const int ops_count;

void ops_module(orr_text *ptx);
// Kernels op0 .. of the same shape, each a made-up sequence of integer instructions (random.c).
#define OPS_RANDOM 160
void ops_random(orr_text *ptx, int seed); // 0: those that test_ops runs
// results[op * OPS_N + element]; false: e
bool ops_run(const orr_backend *b, orr_module *m, uint64_t *results, orr_err *e);
// The same, kernel by kernel: memory first, then kernel opN; `mat` when it is a matrix instruction's.
typedef struct ops_memory {
    uint64_t in, out;
} ops_memory;
bool ops_load(const orr_backend *b, orr_module *m, ops_memory *mem, orr_err *e);
bool ops_run_one(const orr_backend *b, orr_module *m, const ops_memory *mem, int n, bool mat,
                 uint64_t *results, orr_err *e);
// The largest distance between two results of an approximation, in units in the last place of the
// element type; NaN against NaN is 0, NaN or infinity against anything else is UINT64_MAX.
uint64_t ops_distance(const ops_case *c, uint64_t a, uint64_t b);
uint64_t ops_input(const ops_case *c, int source, int element); // for messages

#endif
