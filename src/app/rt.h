// What every function of the runtime API begins with.
#ifndef ORR_APP_RT_H
#define ORR_APP_RT_H

#include "app/app.h"

// A function of libcudart, for programs of each version. Programs built with CUDA 12 ask for
// cudaMalloc@libcudart.so.12 and so on: .symver gives a function several such names. RT_11 and the like are
// for functions whose arguments changed: the name that programs know, and our own.
// What they call cudaMalloc is orr_cudaMalloc here.
#define NAMED(fn, name, version) __asm__(".symver orr_" #fn ", " #name "@" version);
#define IN_11(fn, name)          NAMED(fn, name, "libcudart.so.11.0")
#define IN_12(fn, name)          NAMED(fn, name, "libcudart.so.12")
#define IN_13(fn, name)          NAMED(fn, name, "@libcudart.so.13") // the newest: what new programs are linked with
#define IN_ALL(fn, name)         IN_11(fn, name) IN_12(fn, name) IN_13(fn, name)
#define REG(name)                IN_ALL(name, name) API // of another type than int
#define RT(name)                 IN_ALL(name, name) API int orr_##name
#define RT_13(name)              IN_13(name, name) API int orr_##name
#define RT_12_13(name)           IN_12(name, name) IN_13(name, name) API int orr_##name
#define RT_11(name, fn)          IN_11(fn, name) API int orr_##fn
#define RT_11_12(name, fn)       IN_11(fn, name) IN_12(fn, name) API int orr_##fn
// Compiled with a default stream for each thread, programs call NAME_ptsz, or NAME_ptds where no stream is
// named. Here the two are one: operations are done in the order of the calls.
#define RT_S(name) IN_ALL(name, name##_ptsz) RT(name)
#define RT_D(name) IN_ALL(name, name##_ptds) RT(name)

// The lock is taken; a device that cannot be had, or a context that an error has killed, ends the call here.
#define ENTER()                                                                                              \
    do {                                                                                                     \
        int error_ = app_enter();                                                                            \
        if (error_) return app_leave(error_);                                                                \
    } while (0)

int app_attribute(int which, int device, int *value);                      // cudaDeviceAttr; E_*
int app_prefetch(const void *p, uint64_t bytes, int device, void *stream); // E_*
int app_fill_call(const memset_node *p, app_call *c);
int app_copy_3d(const copy_3d *p, app_call *c); // as an operation; E_*

#endif
