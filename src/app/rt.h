// What every function of the runtime API begins with.
#ifndef ORR_APP_RT_H
#define ORR_APP_RT_H

#include "app/app.h"

// A function of libcudart, for programs of each version. Programs built with CUDA 12 ask for
// cudaMalloc@libcudart.so.12 and so on: .symver gives a function several such names, cmake/cudart.map the
// newest. The others are for functions whose arguments changed: the name that programs know, and our own.
#define NAMED(fn, name, version) __asm__(".symver " #fn ", " #name "@libcudart.so." version);
#define RT(name)                 NAMED(name, name, "11.0") NAMED(name, name, "12") API int name
// Compiled with a default stream for each thread, programs call NAME_ptsz, or NAME_ptds where no stream is
// named. Here the two are one: operations are done in the order of the calls.
#define TWICE(name, other)                                                                                   \
    NAMED(name, other, "11.0")                                                                               \
    NAMED(name, other, "12") __asm__(".symver " #name ", " #other "@@libcudart.so.13");
#define RT_S(name)         TWICE(name, name##_ptsz) RT(name)
#define RT_D(name)         TWICE(name, name##_ptds) RT(name)
#define REG(name)          NAMED(name, name, "11.0") NAMED(name, name, "12") API // of another type than int
#define RT_13(name)        API int name
#define RT_12_13(name)     NAMED(name, name, "12") API int name
#define RT_11(name, fn)    NAMED(fn, name, "11.0") API int fn
#define RT_11_12(name, fn) NAMED(fn, name, "11.0") NAMED(fn, name, "12") API int fn

// The lock is taken; a device that cannot be had, or a context that an error has killed, ends the call here.
#define ENTER()                                                                                              \
    do {                                                                                                     \
        int error_ = app_enter();                                                                            \
        if (error_) return app_leave(error_);                                                                \
    } while (0)

int app_attribute(int which, int *value);       // cudaDeviceAttr
int app_copy_3d(const copy_3d *p, app_call *c); // as an operation; E_*

#endif
