// The runtime API: kernels. Launching, attributes, occupancy.
//
// `k<<<g, b, s, st>>>(args)` is two calls: __cudaPushCallConfiguration(g, b, s, st), then the stub, which
// takes the configuration back and calls cudaLaunchKernel (CUDA 13: __cudaLaunchKernel with a handle of the
// kernel).
#include "gpu/topology.h"
#include "app/rt.h"

#include <stdlib.h>
#include <string.h>

// ---- launching ------------------------------------------------------------------------------------------
enum { NESTED = 16 }; // an argument of a launch can launch something itself
static _Thread_local struct {
    dim3 grid, block;
    size_t shared;
    void *stream;
} pushed[NESTED];
static _Thread_local int npushed;

REG(__cudaPushCallConfiguration)
unsigned orr___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
    if (npushed >= NESTED) return E_MISSING_CONFIGURATION;
    pushed[npushed].grid = grid;
    pushed[npushed].block = block;
    pushed[npushed].shared = shared;
    pushed[npushed++].stream = stream;
    return 0;
}

RT(__cudaPopCallConfiguration)(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (npushed <= 0) return E_MISSING_CONFIGURATION;
    npushed--;
    *grid = pushed[npushed].grid;
    *block = pushed[npushed].block;
    *shared = pushed[npushed].shared;
    *(void **)stream = pushed[npushed].stream;
    return E_OK;
}

// What a launch has beside its grid and arguments.
typedef struct launch_how {
    bool cooperative;
    dim3 cluster;
    bool early; // it may start before the kernel ahead of it has ended
} launch_how;

static int launch(const void *func, const launch_config *l, void **args, launch_how how) {
    ENTER();
    app_function *f = app_function_of(func);
    app_stream *s = app_stream_of(l->stream);
    if (!f || !s) return app_leave(f ? E_HANDLE : E_DEVICE_FUNCTION);
    if (s->device != app_device_index(app_device_now())) return app_leave(E_HANDLE); // of another device
    if (l->dynamic_shared > UINT32_MAX) return app_leave(E_VALUE);
    app_call c = {.what = DO_KERNEL,
                  .function = f,
                  .grid = l->grid,
                  .block = l->block,
                  .cluster = how.cluster,
                  .dynamic_shared = (uint32_t)l->dynamic_shared,
                  .cooperative = how.cooperative,
                  .early = how.early};
    int error = app_kernel_params(f, args, &c);
    if (!error) error = app_submit(s, &c);
    free(c.params);
    // A kernel that fails says so to whoever waits for it; the launch itself was right.
    return app_leave(error == the_app.sticky ? E_OK : error);
}

RT_S(cudaLaunchKernel)(const void *func, dim3 grid, dim3 block, void **args, size_t shared, void *stream) {
    return launch(func, &(launch_config){grid, block, shared, stream, NULL, 0}, args, (launch_how){0});
}
RT_S(__cudaLaunchKernel)(void *kernel, dim3 grid, dim3 block, void **args, size_t shared, void *stream) {
    return launch(kernel, &(launch_config){grid, block, shared, stream, NULL, 0}, args, (launch_how){0});
}
RT_S(cudaLaunchCooperativeKernel)
(const void *func, dim3 grid, dim3 block, void **args, size_t shared, void *stream) {
    return launch(func, &(launch_config){grid, block, shared, stream, NULL, 0}, args,
                  (launch_how){.cooperative = true});
}

RT_S(cudaLaunchKernelExC)(const launch_config *config, const void *func, void **args) {
    if (!config) return app_enter(), app_leave(E_VALUE);
    launch_how how = {0};
    for (unsigned i = 0; i < config->nattributes; i++) {
        const launch_attribute *a = &config->attributes[i];
        if (a->id == LAUNCH_COOPERATIVE) how.cooperative = a->value.cooperative != 0;
        if (a->id == LAUNCH_CLUSTER) how.cluster = a->value.cluster;
        if (a->id == LAUNCH_EARLY) how.early = a->value.early != 0;
    }
    return launch(func, config, args, how);
}

RT(__cudaGetKernel)(void **kernel, const void *func) {
    app_enter();
    app_function *f = app_function_of(func);
    if (kernel) *kernel = f;
    return app_leave(f ? E_OK : E_DEVICE_FUNCTION);
}
RT(cudaGetKernel)(void **kernel, const void *func) { return orr___cudaGetKernel(kernel, func); }
RT(cudaGetFuncBySymbol)(void **function, const void *func) { return orr___cudaGetKernel(function, func); }
RT(cudaFuncGetName)(const char **name, const void *func) {
    ENTER();
    app_function *f = app_function_of(func);
    if (name) *name = f ? f->name : NULL;
    return app_leave(f && name ? E_OK : E_DEVICE_FUNCTION);
}

// ---- attributes --------------------------------------------------------------------------------
int app_function_attributes(app_function *f, func_attributes *a) {
    int error = app_function_ready(f);
    if (error) return error;
    const orr_kernel *k = f->kernel;
    const orr_gpu *g = the_app.gpu;
    const uint32_t *most = k->bounds.reqntid[0] ? k->bounds.reqntid : k->bounds.maxntid;
    uint64_t threads = (uint64_t)most[0] * (most[1] ? most[1] : 1) * (most[2] ? most[2] : 1);
    // As many as its registers allow; the limit is per block.
    int by_registers =
        k->regs ? (int)(g->limit_block_registers / (int)((k->regs + 7) / 8 * 8) / 32 * 32) : 1024;
    int limit = by_registers < g->limit_block_threads ? by_registers : g->limit_block_threads;
    // Machine code is of the version that it was compiled for; so is PTX, but what runs is code for the GPU.
    // CUB chooses among its kernels by that.
    int sm = g->cc_major * 10 + g->cc_minor, made = k->module->target ? (int)k->module->target : sm;
    bool ptx = !strcmp(k->module->source, "ptx");
    *a = (func_attributes){.shared = k->shared_bytes,
                           .local = k->stack_bytes,
                           .max_threads = threads && threads < (uint64_t)limit ? (int)threads : limit,
                           .registers = (int)k->regs,
                           .ptx_version = made,
                           .binary_version = ptx ? sm : made,
                           .carveout = f->carveout};
    int usual = (int)g->shared_per_block - (int)k->shared_bytes;
    a->max_dynamic_shared = f->dynamic_limit ? (int)f->dynamic_limit : usual > 0 ? usual : 0;
    return E_OK;
}

static int attributes(void *to, const void *func, size_t bytes) {
    ENTER();
    app_function *f = app_function_of(func);
    if (!f || !to) return app_leave(f ? E_VALUE : E_DEVICE_FUNCTION);
    func_attributes a;
    int error = app_function_attributes(f, &a);
    if (!error) memcpy(to, &a, bytes);
    return app_leave(error);
}
RT_12_13(cudaFuncGetAttributes)(void *to, const void *func) {
    return attributes(to, func, sizeof(func_attributes));
}
RT_11(cudaFuncGetAttributes, func_attributes_11_12)(void *to, const void *func) {
    return attributes(to, func, FUNC_ATTRIBUTES_11);
}

int app_function_set(app_function *f, int which, int value) {
    const orr_gpu *g = the_app.gpu;
    int error = app_function_ready(f);
    if (error) return error;
    int64_t most = g->shared_per_block_optin ? g->shared_per_block_optin : g->shared_per_block;
    switch (which) {
    case 8: // largest dynamic shared memory
        if (value < 0 || value + (int64_t)f->kernel->shared_bytes > most) return E_VALUE;
        f->dynamic_limit = (uint32_t)value;
        return E_OK;
    case 9: // preferred carve-out
        if (value < -1 || value > 100) return E_VALUE;
        f->carveout = value;
        return E_OK;
    case 14: // clusters of more than 8 blocks
        f->nonportable = value != 0;
        return E_OK;
    case 15: // how they are placed
        return E_OK;
    default: return app_missing("cudaFuncSetAttribute of thread block clusters");
    }
}

RT(cudaFuncSetAttribute)(const void *func, int which, int value) {
    ENTER();
    app_function *f = app_function_of(func);
    return app_leave(f ? app_function_set(f, which, value) : E_DEVICE_FUNCTION);
}
RT(cudaFuncSetCacheConfig)(const void *func, int config) {
    (void)config;
    return app_enter(), app_leave(app_function_of(func) ? E_OK : E_DEVICE_FUNCTION);
}
RT(cudaFuncSetSharedMemConfig)(const void *func, int config) {
    return orr_cudaFuncSetCacheConfig(func, config);
}

// ---- occupancy ---------------------------------------------------------------------------------
int app_occupancy(app_function *f, int threads, size_t dynamic, int *blocks) {
    int error = app_function_ready(f);
    if (error) return error;
    if (threads < 1 || dynamic > INT32_MAX) return E_VALUE;
    orr_occupancy_result fit = {0};
    const orr_kernel *k = f->kernel;
    *blocks = orr_occupancy(the_app.gpu, threads, (int)k->regs, (int64_t)(k->shared_bytes + dynamic),
                            (int)k->barriers, &fit)
                  ? fit.blocks
                  : 0;
    return E_OK;
}

RT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
(int *blocks, const void *func, int threads, size_t dynamic, unsigned flags) {
    (void)flags;
    ENTER();
    app_function *f = app_function_of(func);
    if (!f || !blocks) return app_leave(f ? E_VALUE : E_DEVICE_FUNCTION);
    return app_leave(app_occupancy(f, threads, dynamic, blocks));
}
RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
(int *blocks, const void *func, int threads, size_t dynamic) {
    return orr_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, threads, dynamic, 0);
}

// Clusters of `size` blocks that are resident at once. The driver counts no more than 8 blocks an SM (580:
// kernels of 128 threads without shared memory, of which 16 fit; micro/hopper, clusters.active).
enum { PORTABLE_CLUSTER = 8, LARGEST_CLUSTER = 16, CLUSTER_BLOCKS = 8 };

static int active_clusters(app_function *f, const launch_config *c, uint32_t size, int *clusters) {
    uint64_t threads = (uint64_t)c->block.x * c->block.y * c->block.z;
    int fit = 0, error = threads && threads <= INT32_MAX ? E_OK : E_VALUE;
    if (!error) error = app_occupancy(f, (int)threads, c->dynamic_shared, &fit);
    if (error) return error;
    if (!size || size > (f->nonportable ? LARGEST_CLUSTER : PORTABLE_CLUSTER)) return E_CLUSTER;
    *clusters =
        (int)orr_active_clusters(the_app.gpu, size, (uint32_t)(fit < CLUSTER_BLOCKS ? fit : CLUSTER_BLOCKS));
    return E_OK;
}

RT(cudaOccupancyMaxActiveClusters)(int *clusters, const void *func, const launch_config *config) {
    ENTER();
    app_function *f = app_function_of(func);
    if (!f || !clusters || !config) return app_leave(f ? E_VALUE : E_DEVICE_FUNCTION);
    int error = app_function_ready(f);
    if (error) return app_leave(error);
    const uint32_t *asks = f->kernel->bounds.cluster;
    uint64_t size = asks[0] ? (uint64_t)asks[0] * asks[1] * asks[2] : 1;
    for (unsigned i = 0; i < config->nattributes; i++) {
        dim3 d = config->attributes[i].value.cluster;
        if (config->attributes[i].id == LAUNCH_CLUSTER) size = (uint64_t)d.x * d.y * d.z;
    }
    return app_leave(active_clusters(f, config, size > UINT32_MAX ? 0 : (uint32_t)size, clusters));
}

// The largest cluster of which at least one is resident.
RT(cudaOccupancyMaxPotentialClusterSize)(int *size, const void *func, const launch_config *config) {
    ENTER();
    app_function *f = app_function_of(func);
    if (!f || !size || !config) return app_leave(f ? E_VALUE : E_DEVICE_FUNCTION);
    int error = E_OK, n = 0;
    for (*size = f->nonportable ? LARGEST_CLUSTER : PORTABLE_CLUSTER; *size > 1; --*size) {
        error = active_clusters(f, config, (uint32_t)*size, &n);
        if (error || n) break;
    }
    return app_leave(error);
}

// The most dynamic shared memory with which `blocks` of them fit.
RT(cudaOccupancyAvailableDynamicSMemPerBlock)(size_t *dynamic, const void *func, int blocks, int threads) {
    ENTER();
    app_function *f = app_function_of(func);
    if (!f || !dynamic || blocks < 1) return app_leave(f ? E_VALUE : E_DEVICE_FUNCTION);
    int fit = 0, error = app_occupancy(f, threads, 0, &fit);
    if (error || fit < blocks) return app_leave(error ? error : E_VALUE);
    size_t lo = 0, hi = (size_t)the_app.gpu->shared_per_sm;
    while (lo < hi) {
        size_t mid = (lo + hi + 1) / 2;
        if (app_occupancy(f, threads, mid, &fit) == E_OK && fit >= blocks)
            lo = mid;
        else
            hi = mid - 1;
    }
    *dynamic = lo;
    return app_leave(E_OK);
}
