// Processor time of each kernel of a program, on the device that it has: a layer for the ICD loader, below
// every other (OPENCL_LAYERS), so that annotated kernels and kernels as they are go through the same clock.
// At its end the program leaves lines `kernel launches seconds` in the file that ORRERY_KERNEL_TIMES_
// and WHERE name.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 200 };
static const cl_icd_dispatch *below;
static cl_icd_dispatch table;
static struct {
    char name[200];
    unsigned long launches;
    double seconds;
} seen[MOST];
static int nseen;

// Of all threads of the process: PoCL's run the kernel, everybody else waits for it.
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add(cl_kernel k, double seconds) {
    char name[200] = "?";
    below->clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    int at = 0;
    while (at < nseen && strcmp(seen[at].name, name) != 0) at++;
    if (at == MOST) return;
    if (at == nseen) strcpy(seen[nseen++].name, name);
    seen[at].launches++;
    seen[at].seconds += seconds;
}

static cl_int timed(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,
                    const size_t *local, cl_uint nwaits, const cl_event *waits, cl_event *event) {
    below->clFinish(q);
    double start = now();
    cl_int error = below->clEnqueueNDRangeKernel(q, k, dims, offset, global, local, nwaits, waits, event);
    below->clFinish(q);
    if (!error) add(k, now() - start);
    return error;
}

static void leave(void) {
    const char *path = getenv("ORRERY_KERNEL_TIMES_" WHERE);
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f) return;
    for (int i = 0; i < nseen; i++)
        fprintf(f, "%s %lu %.6f\n", seen[i].name, seen[i].launches, seen[i].seconds);
    fclose(f);
}

cl_int clGetLayerInfo(cl_layer_info what, size_t room, void *value, size_t *size) {
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (value && room < sizeof version)) return CL_INVALID_VALUE;
    if (value) memcpy(value, &version, sizeof version);
    if (size) *size = sizeof version;
    return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *own, const cl_icd_dispatch **layer) {
    if (!target || !own || !layer || n < sizeof table / sizeof(void *)) return CL_INVALID_VALUE;
    below = target;
    table = *target;
    table.clEnqueueNDRangeKernel = timed;
    *own = sizeof table / sizeof(void *);
    *layer = &table;
    atexit(leave);
    return CL_SUCCESS;
}
