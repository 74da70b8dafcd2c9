// The driver API (libcuda.so.1), for programs that load modules themselves: the same operations under other
// names. A function pointer is an app_function, a module an app_module, a stream and an event are those of
// the runtime; there is one context.
//
// Where an interface changed, programs ask for NAME_v2 (cuda.h renames them); both are here where both are
// still met.
#include "app/open.h"
#include "app/dr.h"

#include <stdlib.h>
#include <string.h>

typedef uint64_t devptr;
static char contexts[APP_NODE_DEVICES]; // one for each device; their addresses are what programs hold
static _Thread_local bool none;         // no context is current
static void *context_of(int device) { return &contexts[device]; }
static int device_of(const void *context) { // -1: it is none of ours
    const char *c = context;
    return c >= contexts && c < contexts + APP_NODE_DEVICES ? (int)(c - contexts) : -1;
}

int app_stream_new(void **stream, unsigned flags, int priority);
int app_stream_delete(void *stream);
int app_function_attributes(app_function *f, func_attributes *a);
int app_function_set(app_function *f, int which, int value);
int app_occupancy(app_function *f, int threads, size_t dynamic, int *blocks);

// Functions of the runtime that the driver's are the same as.
int orr_cudaGetDeviceCount(int *count);
int orr_cudaDeviceSynchronize(void);
int orr_cudaMemGetInfo(size_t *available, size_t *total);
int orr_cudaMalloc(void **p, size_t bytes);
int orr_cudaMallocHost(void **p, size_t bytes);
int orr_cudaMallocManaged(void **p, size_t bytes, unsigned flags);
int orr_cudaMallocAsync(void **p, size_t bytes, void *stream);
int orr_cudaFree(void *p);
int orr_cudaFreeHost(void *p);
int orr_cudaFreeAsync(void *p, void *stream);
int orr_cudaMemcpy(void *dst, const void *src, size_t n, int kind);
int orr_cudaMemcpyAsync(void *dst, const void *src, size_t n, int kind, void *stream);
int orr_cudaStreamSynchronize(void *stream);
int orr_cudaEventCreateWithFlags(void **event, unsigned flags);
int orr_cudaEventDestroy(void *event);
int orr_cudaEventRecord(void *event, void *stream);
int orr_cudaEventSynchronize(void *event);
int orr_cudaEventElapsedTime(float *ms, void *start, void *end);
int orr_cudaStreamWaitEvent(void *stream, void *event, unsigned flags);
int orr_cudaLaunchHostFunc(void *stream, void (*fn)(void *), void *user);
int orr_cudaStreamAddCallback(void *stream, void (*fn)(void *, int, void *), void *user, unsigned flags);
int orr_cudaStreamGetFlags(void *stream, unsigned *flags);
int orr_cudaStreamGetPriority(void *stream, int *priority);
int orr_cudaStreamGetId(void *stream, unsigned long long *id);
int orr_cudaStreamBeginCapture(void *stream, int mode);
int orr_cudaStreamEndCapture(void *stream, void **graph);
int orr_cudaStreamIsCapturing(void *stream, int *status);
int orr_cudaGraphCreate(void **graph, unsigned flags);
int orr_cudaGraphDestroy(void *graph);
int orr_cudaGraphInstantiate(void **to, void *graph, unsigned long long flags);
int orr_cudaGraphUpload(void *graph, void *stream);
int orr_cudaGraphLaunch(void *graph, void *stream);
int orr_cudaDeviceCanAccessPeer(int *can, int device, int peer);
int orr_cudaDeviceGetPCIBusId(char *id, int n, int device);
int orr_cudaDeviceGetByPCIBusId(int *device, const char *id);
int orr_cudaDeviceSetLimit(int limit, size_t value);
int orr_cudaDeviceGetLimit(size_t *value, int limit);
int orr_cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
int orr_cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height);
int orr_cudaMemcpy2DAsync(void *dst, size_t dp, const void *src, size_t sp, size_t width, size_t height,
                          int kind, void *stream);
int orr_cudaHostRegister(void *p, size_t bytes, unsigned flags);
int orr_cudaHostUnregister(void *p);
int orr_cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
int orr_cudaLaunchKernelExC(const launch_config *config, const void *func, void **args);
int orr_cudaOccupancyMaxActiveClusters(int *clusters, const void *func, const launch_config *config);
int orr_cudaOccupancyMaxPotentialClusterSize(int *size, const void *func, const launch_config *config);
const char *orr_cudaGetErrorString(int error);
const char *orr_cudaGetErrorName(int error);

static void *ptr(devptr p) { return (void *)(uintptr_t)p; }

// ---- the device and its context -----------------------------------------------------------------------
API int cuInit(unsigned flags) {
    if (flags) return E_VALUE;
    int error = app_enter();
    return app_leave_driver(error);
}
API int cuDriverGetVersion(int *version) {
    if (version) *version = 13000;
    return version ? E_OK : E_VALUE;
}
API int cuDeviceGetCount(int *count) { return BY_RUNTIME(orr_cudaGetDeviceCount(count)); }
API int cuDeviceGet(int *device, int ordinal) {
    DR_ENTER();
    bool there = app_device_at(ordinal) != NULL;
    if (device && there) *device = ordinal;
    return app_leave_driver(!device ? E_VALUE : there ? E_OK : E_DEVICE);
}
API int cuDeviceGetName(char *name, int n, int device) {
    DR_ENTER();
    if (!name || n < 1 || !app_device_at(device)) return app_leave_driver(E_VALUE);
    snprintf(name, (size_t)n, "%s (simulated)", the_app.gpu->product);
    return app_leave_driver(E_OK);
}
API int cuDeviceGetAttribute(int *value, int which, int device) {
    DR_ENTER();
    return app_leave_driver(!value ? E_VALUE : app_attribute(which, device, value));
}
API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    DR_ENTER();
    if (!bytes || !app_device_at(device)) return app_leave_driver(E_VALUE);
    *bytes = (size_t)the_app.gpu->dram_size;
    return app_leave_driver(E_OK);
}
API int cuDeviceComputeCapability(int *major, int *minor, int device) {
    int error = cuDeviceGetAttribute(major, 75, device);
    return error ? error : cuDeviceGetAttribute(minor, 76, device);
}
API int cuCtxCreate_v2(void **context, unsigned flags, int device) {
    (void)flags;
    DR_ENTER();
    if (!context || !app_device_use(device)) return app_leave_driver(context ? E_DEVICE : E_VALUE);
    *context = context_of(device);
    none = false;
    return app_leave_driver(E_OK);
}
API int cuCtxCreate_v4(void **context, void *params, unsigned flags, int device) {
    (void)params;
    return cuCtxCreate_v2(context, flags, device);
}
API int cuCtxDestroy_v2(void *context) { return device_of(context) >= 0 ? E_OK : E_CONTEXT; }
API int cuCtxGetCurrent(void **context) {
    DR_ENTER();
    if (context) *context = none ? NULL : context_of(app_device_now());
    return app_leave_driver(context ? E_OK : E_VALUE);
}
API int cuCtxSetCurrent(void *context) {
    DR_ENTER();
    none = !context;
    bool known = none || app_device_use(device_of(context));
    return app_leave_driver(known ? E_OK : E_CONTEXT);
}
// What is current lies under what is pushed on it.
enum { DEEPEST = 64 };
static _Thread_local void *under[DEEPEST];
static _Thread_local int depth;
API int cuCtxPushCurrent_v2(void *context) {
    void *was = NULL;
    int error = depth == DEEPEST ? E_MEMORY : cuCtxGetCurrent(&was);
    if (!error) error = cuCtxSetCurrent(context);
    if (!error) under[depth++] = was;
    return error;
}
API int cuCtxPopCurrent_v2(void **context) {
    void *now = NULL;
    int error = cuCtxGetCurrent(&now);
    if (!error && !now) error = E_CONTEXT;
    if (!error && depth) error = cuCtxSetCurrent(under[--depth]); // else: the one that a thread begins with
    if (!error && context) *context = now;
    return error;
}
API int cuCtxGetDevice(int *device) {
    DR_ENTER();
    if (device) *device = app_device_now();
    return app_leave_driver(device ? E_OK : E_VALUE);
}
API int cuCtxSynchronize(void) { return BY_RUNTIME(orr_cudaDeviceSynchronize()); }
static int there(int device) {
    DR_ENTER();
    return app_leave_driver(app_device_at(device) ? E_OK : E_DEVICE);
}
API int cuDevicePrimaryCtxRetain(void **context, int device) {
    if (!context) return E_VALUE;
    int error = there(device);
    if (!error) *context = context_of(device);
    return error;
}
API int cuDevicePrimaryCtxRelease_v2(int device) { return there(device); }
API int cuDevicePrimaryCtxReset_v2(int device) { return there(device); }
API int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    (void)flags;
    return there(device);
}
API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    if (flags) *flags = 0;
    if (active) *active = 1;
    return there(device);
}
API int cuCtxGetFlags(unsigned *flags) {
    if (flags) *flags = 0;
    return flags ? E_OK : E_VALUE;
}
API int cuCtxGetApiVersion(void *context, unsigned *version) {
    (void)context;
    if (version) *version = 3020; // what contexts of today say
    return version ? E_OK : E_VALUE;
}
API int cuCtxSetLimit(int limit, size_t value) { return BY_RUNTIME(orr_cudaDeviceSetLimit(limit, value)); }
API int cuCtxGetLimit(size_t *value, int limit) { return BY_RUNTIME(orr_cudaDeviceGetLimit(value, limit)); }
API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    return BY_RUNTIME(orr_cudaDeviceGetStreamPriorityRange(least, greatest));
}
API int cuDeviceCanAccessPeer(int *can, int device, int peer) {
    return BY_RUNTIME(orr_cudaDeviceCanAccessPeer(can, device, peer));
}
API int cuDeviceGetPCIBusId(char *id, int n, int device) {
    return BY_RUNTIME(orr_cudaDeviceGetPCIBusId(id, n, device));
}
API int cuDeviceGetByPCIBusId(int *device, const char *id) {
    return BY_RUNTIME(orr_cudaDeviceGetByPCIBusId(device, id));
}
API int cuDeviceGetUuid_v2(void *uuid, int device) {
    if (!uuid) return E_VALUE;
    memcpy(uuid, "orrery simulated", 16); // as cudaDeviceProp says it
    ((char *)uuid)[6] = (char)(device ? '0' + device : ' ');
    return there(device);
}
API int cuGetErrorString(int error, const char **text) {
    if (!text) return E_VALUE;
    *text = orr_cudaGetErrorString(error);
    return E_OK;
}
API int cuGetErrorName(int error, const char **name) {
    return name ? app_driver_error_name(error, name) : E_VALUE;
}

// ---- modules -----------------------------------------------------------------------------------
static int load(void **module, const void *image, size_t n, const char *name) {
    DR_ENTER();
    if (!module || !image) return app_leave_driver(E_VALUE);
    const void *wrapped = app_image_of(image);
    if (wrapped) image = wrapped;
    int error;
    app_module *m = app_module_open(image, n, name, &error);
    *module = m;
    return app_leave_driver(error);
}
API int cuModuleLoadData(void **module, const void *image) {
    return load(module, image, 0, "module in memory");
}
API int cuModuleLoadFatBinary(void **module, const void *image) { return cuModuleLoadData(module, image); }
API int cuModuleLoad(void **module, const char *path) {
    if (!path) return E_VALUE;
    orr_err e = {0};
    size_t n;
    char *bytes = orr_read_file(path, (size_t)1 << 30, &n, &e);
    if (!bytes || n < 16) {
        app_say("%s", bytes ? "cuModuleLoad: an empty file" : e.text);
        free(bytes);
        return E_FILE_NOT_FOUND;
    }
    int error = load(module, bytes, n, path);
    free(bytes); // what is needed of it has been copied
    return error;
}
API int cuModuleUnload(void *module) {
    DR_ENTER();
    if (module) app_module_close(module);
    return app_leave_driver(module ? E_OK : E_VALUE);
}
API int cuModuleGetFunction(void **function, void *module, const char *name) {
    DR_ENTER();
    if (!function || !module || !name) return app_leave_driver(E_VALUE);
    int error;
    *function = app_function_named(module, name, &error);
    return app_leave_driver(error);
}
API int cuModuleGetGlobal_v2(devptr *p, size_t *bytes, void *module, const char *name) {
    DR_ENTER();
    app_module *m = module;
    if (!m || !name) return app_leave_driver(E_VALUE);
    uint64_t addr, n;
    int error = app_module_ready(m);
    orr_image *image = error ? NULL : app_module_image(m, app_device_index(app_device_now()));
    if (!error && (!image || !orr_image_symbol(image, name, &addr, &n))) error = E_NOT_FOUND;
    if (!error && p) *p = addr;
    if (!error && bytes) *bytes = n;
    return app_leave_driver(error);
}

// ---- kernels -----------------------------------------------------------------------------------
API int cuFuncGetAttribute(int *value, int which, void *function) {
    DR_ENTER();
    app_function *f = app_function_of(function);
    func_attributes a;
    int error = !f ? E_HANDLE : !value ? E_VALUE : app_function_attributes(f, &a);
    if (error) return app_leave_driver(error);
    const int values[] = {a.max_threads, (int)a.shared,    (int)a.constant, (int)a.local,         a.registers,
                          a.ptx_version, a.binary_version, a.cache_mode,    a.max_dynamic_shared, a.carveout};
    if (which < 0 || which > 9) return app_leave_driver(E_VALUE);
    *value = values[which];
    return app_leave_driver(E_OK);
}
API int cuFuncSetAttribute(void *function, int which, int value) {
    DR_ENTER();
    app_function *f = app_function_of(function);
    return app_leave_driver(f ? app_function_set(f, which, value) : E_HANDLE);
}
API int cuFuncSetCacheConfig(void *function, int config) {
    (void)config;
    return function ? E_OK : E_HANDLE;
}
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                    size_t dynamic) {
    DR_ENTER();
    app_function *f = app_function_of(function);
    return app_leave_driver(!f ? E_HANDLE : !blocks ? E_VALUE : app_occupancy(f, threads, dynamic, blocks));
}

API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads,
                                                             size_t dynamic, unsigned flags) {
    (void)flags;
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, dynamic);
}
// The block with which most threads are resident, the largest of them; and as many as fill the GPU.
API int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function,
                                                  size_t (*dynamic_of)(int), size_t dynamic, int limit,
                                                  unsigned flags) {
    (void)flags;
    DR_ENTER();
    app_function *f = app_function_of(function);
    func_attributes a;
    int error = !f ? E_HANDLE : !grid || !block ? E_VALUE : app_function_attributes(f, &a);
    if (error) return app_leave_driver(error);
    int most = limit > 0 && limit < a.max_threads ? limit : a.max_threads, best = 0;
    *grid = *block = 0;
    for (int t = most; t > 0; t = (t - 1) / 32 * 32) {
        int fit = 0;
        error = app_occupancy(f, t, dynamic_of ? dynamic_of(t) : dynamic, &fit);
        if (error) return app_leave_driver(error);
        if (fit * t > best) {
            best = fit * t;
            *block = t;
            *grid = fit * the_app.gpu->sm_count;
        }
    }
    return app_leave_driver(best ? E_OK : E_VALUE);
}
API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t (*dynamic_of)(int),
                                         size_t dynamic, int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, dynamic_of, dynamic, limit, 0);
}

enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 }; // CU_LAUNCH_PARAM_*

// All parameters as one buffer.
static int packed_params(app_function *f, void **extra, app_call *c) {
    int error = app_function_ready(f);
    if (error) return error;
    const void *buffer = NULL;
    size_t n = 0;
    for (int i = 0; i < 8 && extra[i] != (void *)EXTRA_END; i += 2) {
        if (extra[i] == (void *)EXTRA_BUFFER) buffer = extra[i + 1];
        if (extra[i] == (void *)EXTRA_SIZE) n = *(const size_t *)extra[i + 1];
    }
    c->nparams = f->kernel->param_bytes;
    if (c->nparams && (!buffer || n < c->nparams)) return E_VALUE;
    c->params = orr_calloc(1, (size_t)c->nparams + 1);
    if (c->nparams) memcpy(c->params, buffer, c->nparams);
    return E_OK;
}

static int launch(void *function, const launch_config *l, void **args, void **extra, bool cooperative) {
    DR_ENTER();
    app_function *f = app_function_of(function);
    app_stream *s = app_stream_of(l->stream);
    if (!f || !s || s->device != app_device_index(app_device_now())) return app_leave_driver(E_HANDLE);
    app_call c = {.what = DO_KERNEL,
                  .function = f,
                  .grid = l->grid,
                  .block = l->block,
                  .dynamic_shared = (uint32_t)l->dynamic_shared,
                  .cooperative = cooperative};
    int error = args || !extra ? app_kernel_params(f, args, &c) : packed_params(f, extra, &c);
    if (!error) error = app_submit(s, &c);
    free(c.params);
    return app_leave_driver(error == the_app.sticky ? E_OK : error);
}
API int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                       unsigned bz, unsigned shared, void *stream, void **args, void **extra) {
    const launch_config l = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0};
    return launch(function, &l, args, extra, false);
}
API int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                  unsigned by, unsigned bz, unsigned shared, void *stream, void **args) {
    const launch_config l = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0};
    return launch(function, &l, args, NULL, true);
}

// CUlaunchConfig is cudaLaunchConfig_t with 32 bits of shared memory in the place of 64.
typedef struct driver_launch_config {
    dim3 grid, block;
    unsigned shared;
    void *stream;
    launch_attribute *attributes;
    unsigned nattributes;
} driver_launch_config;

static launch_config config_of(const driver_launch_config *c) {
    return (launch_config){c->grid, c->block, c->shared, c->stream, c->attributes, c->nattributes};
}

API int cuLaunchKernelEx(const driver_launch_config *c, void *function, void **args, void **extra) {
    if (!c) return E_VALUE;
    if (extra && !args) {
        app_enter();
        return app_leave_driver(app_missing("cuLaunchKernelEx with extra"));
    }
    const launch_config same = config_of(c);
    return BY_RUNTIME(orr_cudaLaunchKernelExC(&same, function, args));
}
API int cuOccupancyMaxActiveClusters(int *clusters, void *function, const driver_launch_config *c) {
    if (!c) return E_VALUE;
    const launch_config same = config_of(c);
    return BY_RUNTIME(orr_cudaOccupancyMaxActiveClusters(clusters, function, &same));
}
API int cuOccupancyMaxPotentialClusterSize(int *size, void *function, const driver_launch_config *c) {
    if (!c) return E_VALUE;
    const launch_config same = config_of(c);
    return BY_RUNTIME(orr_cudaOccupancyMaxPotentialClusterSize(size, function, &same));
}

// ---- memory ------------------------------------------------------------------------------------
API int cuMemGetInfo_v2(size_t *available, size_t *total) {
    return BY_RUNTIME(orr_cudaMemGetInfo(available, total));
}
API int cuMemAlloc_v2(devptr *p, size_t bytes) {
    return bytes ? BY_RUNTIME(orr_cudaMalloc((void **)p, bytes)) : E_VALUE;
}
API int cuMemAllocManaged(devptr *p, size_t bytes, unsigned flags) {
    return BY_RUNTIME(orr_cudaMallocManaged((void **)p, bytes, flags));
}
API int cuMemAllocHost_v2(void **p, size_t bytes) { return BY_RUNTIME(orr_cudaMallocHost(p, bytes)); }
API int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
    (void)flags;
    return BY_RUNTIME(orr_cudaMallocHost(p, bytes));
}
API int cuMemHostGetDevicePointer_v2(devptr *p, void *host, unsigned flags) {
    return BY_RUNTIME(orr_cudaHostGetDevicePointer((void **)p, host, flags));
}
API int cuMemAllocAsync(devptr *p, size_t bytes, void *stream) {
    return BY_RUNTIME(orr_cudaMallocAsync((void **)p, bytes, stream));
}
API int cuMemFree_v2(devptr p) { return BY_RUNTIME(orr_cudaFree(ptr(p))); }
API int cuMemFreeHost(void *p) { return BY_RUNTIME(orr_cudaFreeHost(p)); }
API int cuMemFreeAsync(devptr p, void *stream) { return BY_RUNTIME(orr_cudaFreeAsync(ptr(p), stream)); }
API int cuMemcpy(devptr dst, devptr src, size_t n) {
    return BY_RUNTIME(orr_cudaMemcpy(ptr(dst), ptr(src), n, COPY_DEFAULT));
}
API int cuMemcpyHtoD_v2(devptr dst, const void *src, size_t n) {
    return BY_RUNTIME(orr_cudaMemcpy(ptr(dst), src, n, COPY_HOST_TO_DEVICE));
}
API int cuMemcpyDtoH_v2(void *dst, devptr src, size_t n) {
    return BY_RUNTIME(orr_cudaMemcpy(dst, ptr(src), n, COPY_DEVICE_TO_HOST));
}
API int cuMemcpyDtoD_v2(devptr dst, devptr src, size_t n) {
    return BY_RUNTIME(orr_cudaMemcpy(ptr(dst), ptr(src), n, COPY_DEVICE_TO_DEVICE));
}
API int cuMemcpyAsync(devptr dst, devptr src, size_t n, void *stream) {
    return BY_RUNTIME(orr_cudaMemcpyAsync(ptr(dst), ptr(src), n, COPY_DEFAULT, stream));
}
API int cuMemcpyHtoDAsync_v2(devptr dst, const void *src, size_t n, void *stream) {
    return BY_RUNTIME(orr_cudaMemcpyAsync(ptr(dst), src, n, COPY_HOST_TO_DEVICE, stream));
}
API int cuMemcpyDtoHAsync_v2(void *dst, devptr src, size_t n, void *stream) {
    return BY_RUNTIME(orr_cudaMemcpyAsync(dst, ptr(src), n, COPY_DEVICE_TO_HOST, stream));
}
API int cuMemcpyDtoDAsync_v2(devptr dst, devptr src, size_t n, void *stream) {
    return BY_RUNTIME(orr_cudaMemcpyAsync(ptr(dst), ptr(src), n, COPY_DEVICE_TO_DEVICE, stream));
}

API int cuMemAllocPitch_v2(devptr *p, size_t *pitch, size_t width, size_t height, unsigned element) {
    (void)element;
    return BY_RUNTIME(orr_cudaMallocPitch((void **)p, pitch, width, height));
}
API int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags) {
    return BY_RUNTIME(orr_cudaHostRegister(p, bytes, flags));
}
API int cuMemHostUnregister(void *p) { return BY_RUNTIME(orr_cudaHostUnregister(p)); }

typedef struct { // CUDA_MEMCPY2D
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    devptr src_device;
    void *src_array;
    size_t src_pitch, dst_x, dst_y;
    int dst_type;
    void *dst_host;
    devptr dst_device;
    void *dst_array;
    size_t dst_pitch, width, height;
} copy_2d;
enum { TYPE_HOST = 1, TYPE_DEVICE, TYPE_ARRAY, TYPE_UNIFIED };

static int copy_2d_async(const copy_2d *c, void *stream) {
    if (!c) return E_VALUE;
    if (c->src_type == TYPE_ARRAY || c->dst_type == TYPE_ARRAY) return app_copy_2d_arrays(c, stream);
    const char *src = c->src_type == TYPE_HOST ? c->src_host : ptr(c->src_device);
    char *dst = c->dst_type == TYPE_HOST ? c->dst_host : ptr(c->dst_device);
    size_t sp = c->src_pitch ? c->src_pitch : c->width, dp = c->dst_pitch ? c->dst_pitch : c->width;
    return BY_RUNTIME(orr_cudaMemcpy2DAsync(dst + c->dst_y * dp + c->dst_x, dp,
                                            src + c->src_y * sp + c->src_x, sp, c->width, c->height,
                                            COPY_DEFAULT, stream));
}
API int cuMemcpy2DAsync_v2(const void *c, void *stream) { return copy_2d_async(c, stream); }
API int cuMemcpy2D_v2(const void *c) {
    int error = copy_2d_async(c, NULL);
    return error ? error : BY_RUNTIME(orr_cudaStreamSynchronize(NULL));
}
API int cuMemcpy2DUnaligned_v2(const void *c) { return cuMemcpy2D_v2(c); }

API int cuMemGetAddressRange_v2(devptr *base, size_t *bytes, devptr p) {
    DR_ENTER();
    const app_block *b = app_block_of(p);
    uint64_t from = b ? b->addr : 0, all = b ? b->bytes : 0;
    if (!b && !app_variable_around(p, &from, &all)) return app_leave_driver(E_NOT_FOUND);
    if (base) *base = from;
    if (bytes) *bytes = all;
    return app_leave_driver(E_OK);
}
API int cuPointerGetAttribute(void *to, int which, devptr p) {
    DR_ENTER();
    const app_block *b = app_block_of(p);
    int place = app_place(ptr(p));
    if (!to || place == PLACE_HOST) return app_leave_driver(E_VALUE);
    switch (which) { // CUpointer_attribute
    case 1: *(void **)to = context_of(app_block_device(b)); break;
    case 2: *(unsigned *)to = place == PLACE_PINNED ? TYPE_HOST : TYPE_DEVICE; break;
    case 3: *(devptr *)to = p; break;
    case 4:
        if (place == PLACE_DEVICE) return app_leave_driver(E_VALUE);
        *(void **)to = ptr(p);
        break;
    case 6: *(unsigned *)to = 1; break; // memory operations are synchronous
    case 8: *(unsigned *)to = place == PLACE_MANAGED; break;
    case 9: *(int *)to = app_block_device(b); break;
    case 10:
    case 15: *(unsigned *)to = 0; break; // cannot be given to other processes or devices
    case 7:
    case 11:
    case 19:
    case 20: *(devptr *)to = b ? b->addr : p; break; // what it is a part of, or that one's number
    case 12:
    case 18: *(size_t *)to = b ? b->bytes : 0; break;
    case 13: *(unsigned *)to = 1; break; // mapped
    case 14: *(uint64_t *)to = 0; break; // kinds of handles
    case 16: *(unsigned *)to = 3; break; // read and written
    case 17: *(void **)to = NULL; break; // of no pool
    default: return app_leave_driver(app_missing("cuPointerGetAttribute of this attribute"));
    }
    return app_leave_driver(E_OK);
}

static int fill(devptr p, unsigned value, unsigned element, size_t n, void *stream, bool wait) {
    DR_ENTER();
    app_stream *s = app_stream_of(stream);
    if (!s) return app_leave_driver(E_HANDLE);
    if (n > SIZE_MAX / element) return app_leave_driver(E_VALUE);
    app_call c = {.what = DO_FILL,
                  .dst = {ptr(p), n * element, n * element, 0},
                  .size = {n * element, 1, 1},
                  .value = value,
                  .element = element};
    int error = app_submit(s, &c);
    if (!error && wait) app_clock_wait(app_clock_end(s));
    return app_leave_driver(error);
}
API int cuMemsetD8_v2(devptr p, unsigned char v, size_t n) { return fill(p, v, 1, n, NULL, true); }
API int cuMemsetD16_v2(devptr p, unsigned short v, size_t n) { return fill(p, v, 2, n, NULL, true); }
API int cuMemsetD32_v2(devptr p, unsigned v, size_t n) { return fill(p, v, 4, n, NULL, true); }
API int cuMemsetD8Async(devptr p, unsigned char v, size_t n, void *s) { return fill(p, v, 1, n, s, false); }
API int cuMemsetD16Async(devptr p, unsigned short v, size_t n, void *s) { return fill(p, v, 2, n, s, false); }
API int cuMemsetD32Async(devptr p, unsigned v, size_t n, void *s) { return fill(p, v, 4, n, s, false); }

// ---- streams and events ------------------------------------------------------------------------
API int cuStreamCreate(void **stream, unsigned flags) {
    DR_ENTER();
    return app_leave_driver(app_stream_new(stream, flags, 0));
}
API int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    DR_ENTER();
    return app_leave_driver(app_stream_new(stream, flags, priority));
}
API int cuStreamDestroy_v2(void *stream) {
    DR_ENTER();
    return app_leave_driver(app_stream_delete(stream));
}
API int cuStreamSynchronize(void *stream) { return BY_RUNTIME(orr_cudaStreamSynchronize(stream)); }
API int cuStreamQuery(void *stream) { return BY_RUNTIME(orr_cudaStreamSynchronize(stream)); }
API int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    return BY_RUNTIME(orr_cudaStreamWaitEvent(stream, event, flags));
}
API int cuLaunchHostFunc(void *stream, void (*fn)(void *), void *user) {
    return BY_RUNTIME(orr_cudaLaunchHostFunc(stream, fn, user));
}
API int cuEventCreate(void **event, unsigned flags) {
    return BY_RUNTIME(orr_cudaEventCreateWithFlags(event, flags));
}
API int cuEventDestroy_v2(void *event) { return BY_RUNTIME(orr_cudaEventDestroy(event)); }
API int cuEventRecord(void *event, void *stream) { return BY_RUNTIME(orr_cudaEventRecord(event, stream)); }
API int cuEventSynchronize(void *event) { return BY_RUNTIME(orr_cudaEventSynchronize(event)); }
API int cuEventQuery(void *event) { return BY_RUNTIME(orr_cudaEventSynchronize(event)); }
API int cuEventElapsedTime_v2(float *ms, void *start, void *end) {
    return BY_RUNTIME(orr_cudaEventElapsedTime(ms, start, end));
}
API int cuEventElapsedTime(float *ms, void *start, void *end) {
    return BY_RUNTIME(orr_cudaEventElapsedTime(ms, start, end));
}
API int cuEventRecordWithFlags(void *event, void *stream, unsigned flags) {
    (void)flags;
    return BY_RUNTIME(orr_cudaEventRecord(event, stream));
}
API int cuStreamAddCallback(void *stream, void (*fn)(void *, int, void *), void *user, unsigned flags) {
    return BY_RUNTIME(orr_cudaStreamAddCallback(stream, fn, user, flags));
}
API int cuStreamGetFlags(void *stream, unsigned *flags) {
    return BY_RUNTIME(orr_cudaStreamGetFlags(stream, flags));
}
API int cuStreamGetPriority(void *stream, int *p) { return BY_RUNTIME(orr_cudaStreamGetPriority(stream, p)); }
API int cuStreamGetId(void *stream, unsigned long long *id) {
    return BY_RUNTIME(orr_cudaStreamGetId(stream, id));
}
API int cuStreamGetCtx(void *stream, void **context) {
    (void)stream;
    return cuCtxGetCurrent(context);
}
API int cuStreamBeginCapture_v2(void *stream, int mode) {
    return BY_RUNTIME(orr_cudaStreamBeginCapture(stream, mode));
}
API int cuStreamEndCapture(void *stream, void **graph) {
    return BY_RUNTIME(orr_cudaStreamEndCapture(stream, graph));
}
API int cuStreamIsCapturing(void *stream, int *status) {
    return BY_RUNTIME(orr_cudaStreamIsCapturing(stream, status));
}

// ---- graphs, as far as captured ones are run ---------------------------------------------------
API int cuGraphCreate(void **graph, unsigned flags) { return BY_RUNTIME(orr_cudaGraphCreate(graph, flags)); }
API int cuGraphDestroy(void *graph) { return BY_RUNTIME(orr_cudaGraphDestroy(graph)); }
API int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
    return BY_RUNTIME(orr_cudaGraphInstantiate(exec, graph, flags));
}
API int cuGraphExecDestroy(void *exec) { return BY_RUNTIME(orr_cudaGraphDestroy(exec)); }
API int cuGraphUpload(void *exec, void *stream) { return BY_RUNTIME(orr_cudaGraphUpload(exec, stream)); }
API int cuGraphLaunch(void *exec, void *stream) { return BY_RUNTIME(orr_cudaGraphLaunch(exec, stream)); }

// ---- a default stream for each thread -----------------------------------------------------------
// Programs that are compiled so call NAME_ptsz, or NAME_ptds where no stream is named (cuda.h). Here the
// two streams are one, as in the runtime (rt.h).
#define SAME(name, suffix) __asm__(".globl " #name #suffix "\n.set " #name #suffix ", " #name);
// clang-format off
SAME(cuEventRecordWithFlags, _ptsz)
SAME(cuEventRecord, _ptsz)
SAME(cuGraphLaunch, _ptsz)
SAME(cuGraphUpload, _ptsz)
SAME(cuLaunchCooperativeKernel, _ptsz)
SAME(cuLaunchHostFunc, _ptsz)
SAME(cuLaunchKernelEx, _ptsz)
SAME(cuLaunchKernel, _ptsz)
SAME(cuMemAllocAsync, _ptsz)
SAME(cuMemFreeAsync, _ptsz)
SAME(cuMemcpy2DAsync_v2, _ptsz)
SAME(cuMemcpy2DUnaligned_v2, _ptds)
SAME(cuMemcpy2D_v2, _ptds)
SAME(cuMemcpyAsync, _ptsz)
SAME(cuMemcpyDtoDAsync_v2, _ptsz)
SAME(cuMemcpyDtoD_v2, _ptds)
SAME(cuMemcpyDtoHAsync_v2, _ptsz)
SAME(cuMemcpyDtoH_v2, _ptds)
SAME(cuMemcpyHtoDAsync_v2, _ptsz)
SAME(cuMemcpyHtoD_v2, _ptds)
SAME(cuMemcpy, _ptds)
SAME(cuMemsetD16Async, _ptsz)
SAME(cuMemsetD16_v2, _ptds)
SAME(cuMemsetD32Async, _ptsz)
SAME(cuMemsetD32_v2, _ptds)
SAME(cuMemsetD8Async, _ptsz)
SAME(cuMemsetD8_v2, _ptds)
SAME(cuStreamAddCallback, _ptsz)
SAME(cuStreamBeginCapture_v2, _ptsz)
SAME(cuStreamEndCapture, _ptsz)
SAME(cuStreamGetCtx, _ptsz)
SAME(cuStreamGetFlags, _ptsz)
SAME(cuStreamGetId, _ptsz)
SAME(cuStreamGetPriority, _ptsz)
SAME(cuStreamIsCapturing, _ptsz)
SAME(cuStreamQuery, _ptsz)
SAME(cuStreamSynchronize, _ptsz)
SAME(cuStreamWaitEvent, _ptsz)
// clang-format on
