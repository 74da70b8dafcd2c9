// The library that captures (orrery capture): the CUDA driver loads it when a program first uses a GPU
// (CUDA_INJECTION64_PATH), and CUPTI calls it before and after every function of the driver, whoever calls
// it: the runtime, linked in or not, cuBLAS, PyTorch, Triton. Nothing is changed in the program.
//
//   cupti.c    listens: which functions are of interest, and what they are called with
//   memory.c   the program's allocations and its modules' variables
//   modules.c  machine code, as the driver loads it
//   launch.c   a launch: memory before, memory after, its file
//
// One lock guards everything. The driver's functions that are called from here are not listened to (inside).
#ifndef ORR_HOOK_H
#define ORR_HOOK_H

#include "capture/capture.h"

// ---- the driver's functions that are called --------------------------------------------------------------
#define DRIVER(F)                                                                                            \
    F(cuCtxSynchronize, (void))                                                                              \
    F(cuStreamIsCapturing, (void *stream, int *status))                                                      \
    F(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                                              \
    F(cuMemAllocHost_v2, (void **p, size_t bytes))                                                           \
    F(cuFuncGetParamInfo, (void *function, size_t index, size_t *offset, size_t *size))                      \
    F(cuKernelGetFunction, (void **function, void *kernel))                                                  \
    F(cuFuncGetModule, (void **module, void *function))                                                      \
    F(cuModuleGetGlobal_v2, (uint64_t * addr, size_t * bytes, void *module, const char *name))               \
    F(cuDeviceGetName, (char *name, int n, int device))                                                      \
    F(cuEventCreate, (void **event, unsigned flags))                                                         \
    F(cuEventRecord, (void *event, void *stream))                                                            \
    F(cuEventElapsedTime, (float *ms, void *from, void *to))

typedef struct hook_driver {
#define F(name, args) int(*name) args;
    DRIVER(F)
#undef F
} hook_driver;

// ---- what there is
// -----------------------------------------------------------------------------------------
typedef struct hook_region { // memory that kernels may use
    uint64_t addr, bytes;
    const char *symbol; // a variable's name; NULL: an allocation
    uint32_t module;    // of a variable
    bool host;          // the host's own: read as it is
} hook_region;

typedef struct hook_module { // machine code that was loaded
    uint64_t hash;
    char *code;
    size_t n;
    void *handle; // CUmodule, once a kernel of it was launched
    bool written, has_symbols;
} hook_module;

typedef struct hook {
    hook_driver cu;
    orr_capture_writer *writer;
    const char *folder, *kernels, *launches, *error; // error: why nothing is captured any more
    bool measure;
    uint64_t limit; // bytes of memory that a launch may have
    ORR_VEC(hook_region) regions;
    ORR_VEC(hook_module) modules;
    uint32_t seen, captured, incomplete, in_graphs;
    char *buffer; // of host memory, which copies go through
    void *event[2];
} hook;
extern hook the_hook;

#define HOOK_BUFFER (64u << 20)

void hook_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// ---- memory (memory.c)
// ---------------------------------------------------------------------------------------
void hook_add(uint64_t addr, uint64_t bytes, bool host);
void hook_remove(uint64_t addr); // the region that begins there, if there is one
// Every piece of every region that is not as it was is written. With a NULL of `regions` all are.
bool hook_write_memory(uint32_t tag);
uint64_t hook_memory(void); // bytes in all regions

// ---- modules (modules.c)
// -------------------------------------------------------------------------------------
void hook_add_module(const void *code, size_t n);
hook_module *hook_module_of(const char *kernel, void *handle); // NULL: none has it
void hook_add_symbols(uint32_t module);                        // the module's variables become regions

// ---- launches (launch.c)
// -------------------------------------------------------------------------------------
typedef struct hook_launch { // as CUPTI tells of it
    void *function, *stream;
    uint32_t grid[3], block[3], cluster[3], shared;
    bool cooperative;
    void **params, **extra;
    const char *kernel;
} hook_launch;
bool hook_before(const hook_launch *l); // false: it is not captured, and hook_after must not be called
void hook_after(const hook_launch *l);

#endif
