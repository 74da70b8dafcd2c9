// A kernel that writes outside its buffer, and one that follows it: what comes of both, and what the buffer
// has.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>

static const char *const text = "__kernel void k(__global int *a, int n) {\n"
                                "    int i = get_global_id(0);\n"
                                "    a[i + n] = i;\n"
                                "}\n"
                                "int nowhere(int x);\n"
                                "#ifdef CALLS\n"
                                "__kernel void calls(__global int *a) { a[0] = nowhere(1); }\n"
                                "#endif\n";

int main(void) {
    cl_platform_id platform;
    cl_device_id d;
    cl_int e, n = 100, in[64], status = 1;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d, NULL))
        return 1;
    cl_context c = clCreateContext(NULL, 1, &d, NULL, NULL, &e);
    cl_program p = clCreateProgramWithSource(c, 1, (const char **)&text, NULL, &e);
    printf("a function that is nowhere: %d\n", clBuildProgram(p, 1, &d, "-D CALLS", NULL, NULL));
    e = clBuildProgram(p, 1, &d, "", NULL, NULL);
    cl_kernel k = clCreateKernel(p, "k", &e);
    for (int i = 0; i < 64; i++) in[i] = 7;
    cl_mem m = clCreateBuffer(c, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof in, in, &e);
    size_t global = 64, local = 32;
    cl_event event = NULL;
    clSetKernelArg(k, 0, sizeof m, &m);
    for (; n >= 0; n -= 100) {
        cl_command_queue q = clCreateCommandQueueWithProperties(c, d, NULL, &e);
        clSetKernelArg(k, 1, sizeof n, &n);
        e = clEnqueueNDRangeKernel(q, k, 1, NULL, &global, &local, 0, NULL, &event);
        if (!e) clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
        cl_int then = clEnqueueReadBuffer(q, m, CL_TRUE, 0, sizeof in, in, 0, NULL, NULL);
        printf("from %d: error %d, status %d, then %d, a[5] is %d\n", n, e, status, then, in[5]);
    }
    return 0;
}
