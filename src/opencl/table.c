// The table by which the ICD loader calls us, the three functions that it looks for by name, and the parts of
// OpenCL 2 that a device need not have and this one has not: shared virtual memory, pipes, queues on the
// device.
#include "opencl/functions.h"

#include <string.h>

const cl_icd_dispatch cl_table = {
#define FUNCTION(name) .name = cl_##name,
#include "opencl/functions.def"
#undef FUNCTION
};

#define EXPORT __attribute__((visibility("default")))

static const struct {
    const char *name;
    void *function;
} functions[] = {
#define FUNCTION(name) {#name, (void *)(uintptr_t)cl_##name},
#include "opencl/functions.def"
#undef FUNCTION
    {"clIcdGetPlatformIDsKHR", (void *)(uintptr_t)cl_clIcdGetPlatformIDsKHR},
};

void *cl_clGetExtensionFunctionAddress(const char *name) {
    for (size_t i = 0; name && i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(name, functions[i].name)) return functions[i].function;
    return NULL;
}
void *cl_clGetExtensionFunctionAddressForPlatform(cl_platform_id p, const char *name) {
    return p == &cl_platform ? cl_clGetExtensionFunctionAddress(name) : NULL;
}

EXPORT cl_int clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *n) {
    return cl_clGetPlatformIDs(room, platforms, n);
}
EXPORT cl_int clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t room, void *value,
                                size_t *size) {
    return cl_clGetPlatformInfo(p, what, room, value, size);
}
EXPORT void *clGetExtensionFunctionAddress(const char *name) {
    return cl_clGetExtensionFunctionAddress(name);
}

// ---- what is not here -------------------------------------------------------------------------------
cl_mem cl_clCreatePipe(cl_context c, cl_mem_flags f, cl_uint bytes, cl_uint n, const cl_pipe_properties *p,
                       cl_int *error) {
    (void)c, (void)f, (void)bytes, (void)n, (void)p;
    if (error) *error = CL_INVALID_OPERATION;
    return NULL;
}
cl_int cl_clGetPipeInfo(cl_mem m, cl_pipe_info what, size_t room, void *value, size_t *size) {
    (void)m, (void)what, (void)room, (void)value, (void)size;
    return CL_INVALID_MEM_OBJECT;
}
void *cl_clSVMAlloc(cl_context c, cl_svm_mem_flags f, size_t bytes, cl_uint align) {
    (void)c, (void)f, (void)bytes, (void)align;
    return NULL;
}
void cl_clSVMFree(cl_context c, void *p) { (void)c, (void)p; }
cl_int cl_clEnqueueSVMFree(cl_command_queue q, cl_uint n, void *p[],
                           void(CL_CALLBACK *call)(cl_command_queue, cl_uint, void *[], void *), void *user,
                           cl_uint nw, const cl_event *w, cl_event *e) {
    (void)q, (void)n, (void)p, (void)call, (void)user, (void)nw, (void)w, (void)e;
    return CL_INVALID_OPERATION;
}
cl_int cl_clEnqueueSVMMemcpy(cl_command_queue q, cl_bool b, void *to, const void *from, size_t n, cl_uint nw,
                             const cl_event *w, cl_event *e) {
    (void)q, (void)b, (void)to, (void)from, (void)n, (void)nw, (void)w, (void)e;
    return CL_INVALID_OPERATION;
}
cl_int cl_clEnqueueSVMMemFill(cl_command_queue q, void *p, const void *pattern, size_t np, size_t n,
                              cl_uint nw, const cl_event *w, cl_event *e) {
    (void)q, (void)p, (void)pattern, (void)np, (void)n, (void)nw, (void)w, (void)e;
    return CL_INVALID_OPERATION;
}
cl_int cl_clEnqueueSVMMap(cl_command_queue q, cl_bool b, cl_map_flags f, void *p, size_t n, cl_uint nw,
                          const cl_event *w, cl_event *e) {
    (void)q, (void)b, (void)f, (void)p, (void)n, (void)nw, (void)w, (void)e;
    return CL_INVALID_OPERATION;
}
cl_int cl_clEnqueueSVMUnmap(cl_command_queue q, void *p, cl_uint nw, const cl_event *w, cl_event *e) {
    (void)q, (void)p, (void)nw, (void)w, (void)e;
    return CL_INVALID_OPERATION;
}
cl_int cl_clEnqueueSVMMigrateMem(cl_command_queue q, cl_uint n, const void **p, const size_t *sizes,
                                 cl_mem_migration_flags f, cl_uint nw, const cl_event *w, cl_event *e) {
    (void)q, (void)n, (void)p, (void)sizes, (void)f, (void)nw, (void)w, (void)e;
    return CL_INVALID_OPERATION;
}
cl_int cl_clSetKernelArgSVMPointer(cl_kernel k, cl_uint i, const void *p) {
    (void)i, (void)p;
    return cl_is(k, KIND_KERNEL) ? CL_INVALID_OPERATION : CL_INVALID_KERNEL;
}
cl_int cl_clSetKernelExecInfo(cl_kernel k, cl_kernel_exec_info what, size_t n, const void *p) {
    (void)what, (void)n, (void)p;
    return cl_is(k, KIND_KERNEL) ? CL_INVALID_OPERATION : CL_INVALID_KERNEL;
}
cl_int cl_clSetDefaultDeviceCommandQueue(cl_context c, cl_device_id d, cl_command_queue q) {
    (void)c, (void)d, (void)q;
    return CL_INVALID_OPERATION;
}
