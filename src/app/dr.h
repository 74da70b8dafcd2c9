// What functions of the driver begin with. Their errors are returned and not remembered: cudaGetLastError
// tells of the runtime's functions alone (CUDA Runtime API manual, "Error Handling").
#ifndef ORR_APP_DR_H
#define ORR_APP_DR_H

#include "app/rt.h"

// The lock is taken; a device that cannot be had, or a context that an error has killed, ends the call here.
#define DR_ENTER()                                                                                           \
    do {                                                                                                     \
        int error_ = app_enter();                                                                            \
        if (error_) return app_leave_driver(error_);                                                         \
    } while (0)

// A function of the runtime that does the driver's work.
#define BY_RUNTIME(call) (app_driver_begin(), app_driver_end(call))

int app_driver_error_name(int error, const char **name); // NULL and E_VALUE: there is no such (rt_device.c)
int app_copy_3d_call(const void *copy, app_call *c);     // CUDA_MEMCPY3D, as an operation (dr_array.c)
int app_copy_2d_arrays(const void *copy, void *stream);  // CUDA_MEMCPY2D with an array in it (dr_array.c)

#endif
