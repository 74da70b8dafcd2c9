// Source-level simulation: a layer between an OpenCL program and its device (orrery cl --annotate).
//
//   layer.c    the functions that are replaced: kernels are built with counters and run natively, wherever
//              the program runs them
//   count.c    from what work-items have counted to what warps did
//   predict.c  from that to what the launch would take on the GPU that is asked about, by the analytic model
//
// Counts say nothing of addresses. So of some launches a few thread blocks are also executed here, on copies
// of the buffers, and the model has their accesses, as it has of any launch.
//
// The program's results and outputs are its own: an annotated kernel computes what the plain one does.
#ifndef ORR_OPENCL_LAYER_H
#define ORR_OPENCL_LAYER_H

#include "app/app.h"
#include "clc/annotate.h"
#include "clc/clc.h"

typedef struct noted_program { // a program and its double with counters
    void *program, *twin;      // cl_program
    orr_annotated source;
    orr_module *code;      // for the GPU, its lines are places of the source
    orr_image *image;      // its variables, when a launch has been sampled
    orr_clc_object object; // what its kernels take
    struct noted_program *next;
} noted_program;

typedef struct noted_arg {
    uint64_t local;    // bytes of local memory
    uint8_t value[64]; // as it was given
    size_t bytes;
    uint64_t copy, room; // of a buffer: where we have its contents
} noted_arg;

typedef struct noted_kernel {
    void *kernel, *twin; // cl_kernel
    noted_program *of;
    const orr_source_function *function;
    const orr_kernel *plain, *code; // as compiled; as the GPU would run it
    const orr_kernel *shown; // `code` with lines that are lines, for the report; NULL: not launched yet
    struct orr_rewritten *rewritten; // from one to the other, NULL: they are the same
    const orr_clc_kernel *info;
    uint32_t launches;
    orr_match match;
    uint32_t *order; // segments, those that others follow from first
    uint32_t norder;
    uint32_t nargs;
    noted_arg args[64];
    struct noted_kernel *next;
} noted_kernel;

// Its code, and what of it is what of the source. False: it cannot be predicted; e says why.
bool predict_prepare(noted_kernel *k, const char *name, orr_err *e);
typedef struct noted_launch {
    const uint32_t *counts; // [counters][work-items]
    uint32_t grid[3], block[3];
    uint64_t items;
    double native; // seconds that it took on the device
    bool sample;   // its buffers have been copied: some thread blocks are executed for their addresses
} noted_launch;
bool predict_launch(noted_kernel *k, const noted_launch *l, orr_err *e); // adds to the result

// ---- counts by warp ---------------------------------------------------------------------------------
typedef struct warp_run { // of one segment by one warp
    uint32_t most;        // times that it came through
    uint64_t lanes;       // the same, summed over its lanes
} warp_run;

typedef struct warp_counts {
    uint64_t tbs, threads;      // thread blocks; work-items of one
    uint32_t warps, segments;   // warps of a thread block; segments of the program
    uint32_t *of_warp;          // [warps of the launch] its pattern: warps that did the same share one
    ORR_VEC(warp_run) patterns; // [patterns][segments]
    double *runs, *lanes;       // [segments] of all warps
} warp_counts;
void count_warps(const noted_kernel *k, const noted_launch *l, warp_counts *out);
void count_free(warp_counts *c);

#endif
