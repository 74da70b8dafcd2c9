// Private to hw/: the CUDA driver API, as little of it as is used here. Types and numbers are those of the
// public interface (docs.nvidia.com/cuda/cuda-driver-api): handles are pointers, a device is an int, a device
// address is 64 bits, and 0 is success everywhere.
#ifndef ORR_HW_DRIVER_H
#define ORR_HW_DRIVER_H

#include "hw/hw.h"

typedef int cu_result, cu_device;
typedef struct cu_context_s *cu_context;
typedef struct cu_module_s *cu_module;
typedef struct cu_function_s *cu_function;
typedef struct cu_event_s *cu_event;
typedef struct cu_stream_s *cu_stream;
typedef uint64_t cu_address;

typedef struct cu_attribute { // of a launch
    int id;
    char pad[4];
    union {
        unsigned cluster[3];
        char bytes[64];
    } value;
} cu_attribute;
typedef struct cu_config {
    unsigned grid[3], block[3], shared;
    cu_stream stream;
    cu_attribute *attributes;
    unsigned n;
} cu_config;

enum {
    DEVICE_SM_COUNT = 16,
    DEVICE_CC_MAJOR = 75,
    DEVICE_CC_MINOR = 76,
    DEVICE_MOST_SHARED = 97, // bytes a block may ask for
    FUNC_SHARED_BYTES = 1,
    FUNC_LOCAL_BYTES = 3,
    FUNC_REGS = 4,
    FUNC_MAX_DYNAMIC_SHARED = 8,
    FUNC_LARGE_CLUSTERS = 14, // more than 8 blocks are allowed
    LAUNCH_CLUSTER = 4,
    HOST_REGISTER_DEVICE = 2,
    JIT_ERROR_LOG = 5,
    JIT_ERROR_LOG_BYTES = 6,
    ERROR_NO_DEVICE = 100,
    ERROR_NOT_READY = 600,
    ERROR_ILLEGAL_ADDRESS = 700,
    ERROR_LAUNCH_TIMEOUT = 702,
    ERROR_ASSERT = 710,
    ERROR_HARDWARE_STACK = 714, // to 719, launch failed: what a kernel itself does wrong
    ERROR_LAUNCH_FAILED = 719,
};

// name in the library, its type
#define FUNCTIONS(F)                                                                                         \
    F(cuInit, (unsigned flags))                                                                              \
    F(cuDriverGetVersion, (int *version))                                                                    \
    F(cuDeviceGet, (cu_device * device, int ordinal))                                                        \
    F(cuDeviceGetName, (char *name, int bytes, cu_device device))                                            \
    F(cuDeviceGetAttribute, (int *value, int attribute, cu_device device))                                   \
    F(cuDeviceTotalMem_v2, (size_t * bytes, cu_device device))                                               \
    F(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))                                    \
    F(cuDevicePrimaryCtxRelease_v2, (cu_device device))                                                      \
    F(cuCtxSetCurrent, (cu_context context))                                                                 \
    F(cuCtxSynchronize, (void))                                                                              \
    F(cuModuleLoadDataEx, (cu_module * module, const void *image, unsigned n, int *options, void **values))  \
    F(cuModuleUnload, (cu_module module))                                                                    \
    F(cuModuleGetFunction, (cu_function * function, cu_module module, const char *name))                     \
    F(cuModuleGetGlobal_v2, (cu_address * address, size_t * bytes, cu_module module, const char *name))      \
    F(cuFuncGetAttribute, (int *value, int attribute, cu_function function))                                 \
    F(cuFuncSetAttribute, (cu_function function, int attribute, int value))                                  \
    F(cuMemAlloc_v2, (cu_address * address, size_t bytes))                                                   \
    F(cuMemFree_v2, (cu_address address))                                                                    \
    F(cuMemcpyHtoD_v2, (cu_address to, const void *from, size_t bytes))                                      \
    F(cuMemcpyDtoH_v2, (void *to, cu_address from, size_t bytes))                                            \
    F(cuMemHostRegister_v2, (void *at, size_t bytes, unsigned flags))                                        \
    F(cuMemcpyDtoD_v2, (cu_address to, cu_address from, size_t bytes))                                       \
    F(cuMemsetD8_v2, (cu_address to, unsigned char value, size_t bytes))                                     \
    F(cuLaunchKernel,                                                                                        \
      (cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
       unsigned shared, cu_stream stream, void **params, void **extra))                                      \
    F(cuEventCreate, (cu_event * event, unsigned flags))                                                     \
    F(cuEventDestroy_v2, (cu_event event))                                                                   \
    F(cuEventRecord, (cu_event event, cu_stream stream))                                                     \
    F(cuEventSynchronize, (cu_event event))                                                                  \
    F(cuEventQuery, (cu_event event))                                                                        \
    F(cuEventElapsedTime, (float *ms, cu_event from, cu_event to))                                           \
    F(cuGetErrorName, (cu_result error, const char **text))                                                  \
    F(cuGetErrorString, (cu_result error, const char **text))

typedef struct hw_buffer {
    cu_address at;
    uint64_t bytes;
} hw_buffer;

struct orr_hw {
    void *library;
#define FIELD(name, type) cu_result(*name) type;
    FUNCTIONS(FIELD)
#undef FIELD
    cu_result (*cuLaunchKernelEx)(const cu_config *config, cu_function function, void **params,
                                  void **extra); // NULL: before CUDA 11.8
    cu_device device;
    cu_context context;
    bool retained, broken;
    orr_hw_info info;
    cu_event before, after;
    cu_module own;
    cu_function spin, touch, touch_stacks; // NULL: the driver does not take it, times are less exact
    ORR_VEC(cu_module) modules;
    ORR_VEC(hw_buffer) buffers;
    ORR_VEC(orr_hw_time) times;
    orr_arena names; // of the kernels in times
};

// Call a driver function, and leave with its name and what we were about when it fails.
#define TRY(what, function, ...)                                                                             \
    do {                                                                                                     \
        cu_result r_ = h->function(__VA_ARGS__);                                                             \
        if (r_) return orr_hw_failed(h, r_, #function, what, e);                                             \
    } while (0)

bool orr_hw_failed(orr_hw *h, cu_result r, const char *function, const char *what, orr_err *e);
cu_module orr_hw_compile(orr_hw *h, const void *image, const char *path, orr_err *e);

#endif
