// Private to opencl/: the functions that programs call, as cl_clGetPlatformIDs and so on.
#ifndef ORR_OPENCL_FUNCTIONS_H
#define ORR_OPENCL_FUNCTIONS_H

#include "opencl/cl.h"

#define FUNCTION(name) extern __typeof__(*(cl_api_##name)0) cl_##name;
#include "opencl/functions.def"
#undef FUNCTION
cl_int cl_clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *n);

void cl_sleep(void); // until something has changed; gives the lock away
void cl_wake(void);

#endif
