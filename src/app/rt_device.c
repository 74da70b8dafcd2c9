// The runtime API: devices, their properties, errors, versions, limits.
#include "app/dr.h"

#include <string.h>

// ---- errors -----------------------------------------------------------------------------------------
static const struct {
    int number;
    const char *name, *driver, *text; // driver: NULL, it has no such
} errors[] = {
#define ERROR(id, number, name, driver, text) {number, name, driver, text},
#include "app/errors.def"
#undef ERROR
};

REG(cudaGetErrorString) const char *orr_cudaGetErrorString(int error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error) return errors[i].text;
    return "unrecognized error code";
}

REG(cudaGetErrorName) const char *orr_cudaGetErrorName(int error) {
    static char names[sizeof errors / sizeof *errors][48];
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error) {
            snprintf(names[i], sizeof names[i], "cuda%s%s", error ? "Error" : "", errors[i].name);
            return names[i];
        }
    return "unrecognized error code";
}

// The driver's, of the same numbers.
int app_driver_error_name(int error, const char **name) {
    static char names[sizeof errors / sizeof *errors][48];
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error && errors[i].driver) {
            snprintf(names[i], sizeof names[i], "CUDA_%s%s", error ? "ERROR_" : "", errors[i].driver);
            *name = names[i];
            return E_OK;
        }
    *name = NULL;
    return E_VALUE;
}

RT(cudaGetLastError)(void) { return app_last(true); }
RT(cudaPeekAtLastError)(void) { return app_last(false); }

// ---- versions -------------------------------------------------------------------------------------------
RT(cudaRuntimeGetVersion)(int *version) {
    if (version) *version = 13000;
    return version ? E_OK : E_VALUE;
}
RT(cudaDriverGetVersion)(int *version) { return orr_cudaRuntimeGetVersion(version); }

// ---- devices -----------------------------------------------------------------------------------
RT(cudaGetDeviceCount)(int *count) {
    ENTER();
    if (!count) return app_leave(E_VALUE);
    *count = app_device_count();
    return app_leave(E_OK);
}

RT(cudaGetDevice)(int *device) {
    ENTER();
    if (device) *device = app_device_now();
    return app_leave(device ? E_OK : E_VALUE);
}

RT(cudaSetDevice)(int device) {
    ENTER();
    return app_leave(app_device_use(device) ? E_OK : E_DEVICE);
}
RT(cudaInitDevice)(int device, unsigned device_flags, unsigned flags) {
    (void)device_flags, (void)flags;
    return orr_cudaSetDevice(device);
}
RT(cudaSetValidDevices)(int *list, int n) {
    (void)list, (void)n;
    return E_OK;
}
RT(cudaChooseDevice)(int *device, const void *prop) {
    (void)prop;
    return orr_cudaGetDevice(device);
}
RT(cudaSetDeviceFlags)(unsigned flags) {
    ENTER();
    the_app.settings.flags = flags;
    return app_leave(E_OK);
}
RT(cudaGetDeviceFlags)(unsigned *flags) {
    ENTER();
    if (flags) *flags = the_app.settings.flags;
    return app_leave(flags ? E_OK : E_VALUE);
}

RT(cudaDeviceSynchronize)(void) {
    ENTER();
    app_clock_wait(app_clock_device(app_device_index(app_device_now())));
    return app_leave(E_OK);
}

// The device's context goes, with all its memory, and the error that killed it; code stays registered.
RT(cudaDeviceReset)(void) {
    app_enter();
    app *a = &the_app;
    if (!a->failed) {
        int device = app_device_index(app_device_now());
        app_clock_wait(app_clock_device(device));
        for (size_t i = a->blocks.n; i-- > 0;) {
            if (a->blocks.at[i].owner != device) continue;
            a->blocks.at[i].kept = false;
            app_free((void *)(uintptr_t)a->blocks.at[i].addr);
        }
        if (a->ndevices == 1) a->registered.n = 0;
        a->devices[device].peers = 0;
        a->sticky = E_OK;
    }
    app_leave(E_OK);
    app_last(true);
    return E_OK;
}

RT(cudaDeviceGetPCIBusId)(char *id, int n, int device) {
    ENTER();
    if (!id || n < 13 || !app_device_at(device)) return app_leave(E_VALUE);
    snprintf(id, (size_t)n, "0000:%02x:00.0", (unsigned)(device + 1) & 0xff);
    return app_leave(E_OK);
}
RT(cudaDeviceGetByPCIBusId)(int *device, const char *id) {
    ENTER();
    unsigned domain, bus = 0;
    if (!device || !id) return app_leave(E_VALUE);
    if (sscanf(id, "%x:%x:", &domain, &bus) < 2) sscanf(id, "%x:", &bus);
    *device = (int)bus - 1;
    return app_leave(app_device_at(*device) ? E_OK : E_DEVICE);
}

// ---- limits ------------------------------------------------------------------------------------
static const unsigned usual_limit[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};
RT(cudaDeviceSetLimit)(int limit, size_t value) {
    ENTER();
    if (limit < 0 || limit > 6) return app_leave(E_LIMIT);
    the_app.settings.limits[limit] = (unsigned)value;
    return app_leave(E_OK);
}
RT(cudaDeviceGetLimit)(size_t *value, int limit) {
    ENTER();
    if (!value) return app_leave(E_VALUE);
    if (limit < 0 || limit > 6) return app_leave(E_LIMIT);
    *value = the_app.settings.limits[limit] ? the_app.settings.limits[limit] : usual_limit[limit];
    return app_leave(E_OK);
}
RT(cudaDeviceSetCacheConfig)(int config) { return config >= 0 && config <= 3 ? E_OK : E_VALUE; }
RT(cudaDeviceGetCacheConfig)(int *config) {
    if (config) *config = 0;
    return config ? E_OK : E_VALUE;
}
RT(cudaDeviceSetSharedMemConfig)(int config) { return config >= 0 && config <= 2 ? E_OK : E_VALUE; }
RT(cudaDeviceGetSharedMemConfig)(int *config) {
    if (config) *config = 1;
    return config ? E_OK : E_VALUE;
}
RT(cudaDeviceGetStreamPriorityRange)(int *least, int *greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return E_OK;
}
RT(cudaCtxResetPersistingL2Cache)(void) { return E_OK; }
RT(cudaDeviceFlushGPUDirectRDMAWrites)(int target, int scope) {
    (void)target, (void)scope;
    return E_OK;
}
RT(cudaProfilerInitialize)(const char *config, const char *output, int mode) { // of CUDA 11
    (void)config, (void)output, (void)mode;
    return E_OK;
}
RT(cudaProfilerStart)(void) { return E_OK; }
RT(cudaProfilerStop)(void) { return E_OK; }

// ---- properties ---------------------------------------------------------------------------------
// All of them in the order and with the numbers of cudaDeviceAttr (= CUdevice_attribute); 0 for what the
// simulated GPU does not have.

// The largest textures and surfaces: CUDA guide, "Technical Specifications per Compute Capability", 6.0 and
// later.
static int texture_limit(int which) {
    enum { K16 = 16384, K32 = 32768, K64 = 65536, K128 = 131072, LAYERS = 2048, CUBES = 2046 };
    static const int most[] = {
        [21] = K128, [22] = K128,   [23] = K64,     [24] = K16,    [25] = K16,   [26] = K16,     [27] = K32,
        [28] = K32,  [29] = LAYERS, [42] = K32,     [43] = LAYERS, [45] = K32,   [46] = K32,     [52] = K32,
        [53] = K32,  [54] = CUBES,  [55] = K32,     [56] = K128,   [57] = K64,   [58] = K16,     [59] = K16,
        [60] = K16,  [61] = K32,    [62] = LAYERS,  [63] = K32,    [64] = K32,   [65] = LAYERS,  [66] = K32,
        [67] = K32,  [68] = CUBES,  [69] = 1 << 28, [70] = K128,   [71] = 65000, [72] = 2097120, [73] = K32,
        [74] = K32,  [77] = K32};
    return which < (int)(sizeof most / sizeof *most) && the_app.gpu->cc_major >= 6 ? most[which] : 0;
}

int app_attribute(int which, int device, int *value) {
    if (!app_device_at(device)) return E_DEVICE;
    const orr_gpu *g = the_app.gpu;
    int64_t optin = g->shared_per_block_optin ? g->shared_per_block_optin : g->shared_per_block;
    switch (which) {
    case 1: *value = g->limit_block_threads; break;
    case 2:
    case 3: *value = 1024; break; // largest block: CUDA guide, "Compute Capabilities"
    case 4: *value = 64; break;
    case 5: *value = 0x7fffffff; break; // largest grid
    case 6:
    case 7: *value = 65535; break;
    case 8: *value = (int)g->shared_per_block; break;
    case 9: *value = 65536; break; // constant memory
    case 10: *value = 32; break;
    case 11: *value = 0x7fffffff; break;
    case 12: *value = g->limit_block_registers; break;
    case 13: *value = (int)(g->clock_sm * 1e3); break; // kHz
    case 14: *value = 512; break;
    case 15: *value = 1; break; // copies overlap kernels
    case 16: *value = g->sm_count; break;
    case 19: *value = 1; break; // host memory can be mapped
    case 30: *value = 512; break;
    case 31: *value = 1; break;          // kernels of several streams
    case 33: *value = device + 1; break; // PCI bus
    case 36: *value = (int)(g->clock_dram * 1e3); break;
    case 37: *value = g->dram_bus; break;
    case 38: *value = (int)g->l2_size; break;
    case 39: *value = g->limit_sm_threads; break;
    case 40: *value = 2; break;  // copy engines
    case 125: *value = 1; break; // events of several processes
    case 41: *value = 1; break;
    case 51: *value = 32; break;
    case 75: *value = g->cc_major; break;
    case 76: *value = g->cc_minor; break;
    case 78: *value = 1; break;
    case 79: *value = 1; break;
    case 80: *value = 1; break;
    case 81: *value = (int)g->shared_per_sm; break;
    case 82: *value = g->limit_sm_registers; break;
    case 83: *value = 1; break; // managed memory
    case 87: *value = 2; break;
    case 89: *value = 1; break;
    case 90: *value = 1; break;
    case 95: *value = 1; break; // cooperative launches
    case 97: *value = (int)optin; break;
    case 99: *value = 1; break;
    case 102: *value = 1; break; // virtual memory (cuMemMap)
    case 106: *value = g->limit_sm_blocks; break;
    case 111: *value = (int)g->shared_reserved; break;
    case 115: *value = 1; break; // memory pools
    default:
        if (which <= 0 || which >= 160) return E_VALUE;
        *value = texture_limit(which);
        return E_OK;
    }
    return E_OK;
}

RT(cudaDeviceGetAttribute)(int *value, int which, int device) {
    ENTER();
    if (!value) return app_leave(E_VALUE);
    return app_leave(app_attribute(which, device, value));
}

static int attribute(int which) {
    int v = 0;
    app_attribute(which, 0, &v);
    return v;
}

// What the two layouts have in common, by name.
#define COMMON(p)                                                                                            \
    do {                                                                                                     \
        const orr_gpu *g = the_app.gpu;                                                                      \
        snprintf((p)->name, sizeof(p)->name, "%s (simulated)", g->product);                                  \
        memcpy((p)->uuid, "orrery simulated", 16);                                                           \
        (p)->uuid[6] = (char)(device ? '0' + device : ' ');                                                  \
        (p)->totalGlobalMem = (size_t)g->dram_size;                                                          \
        (p)->sharedMemPerBlock = (size_t)g->shared_per_block;                                                \
        (p)->regsPerBlock = attribute(12);                                                                   \
        (p)->warpSize = 32;                                                                                  \
        (p)->memPitch = (size_t)attribute(11);                                                               \
        (p)->maxThreadsPerBlock = attribute(1);                                                              \
        for (int i = 0; i < 3; i++) {                                                                        \
            (p)->maxThreadsDim[i] = attribute(2 + i);                                                        \
            (p)->maxGridSize[i] = attribute(5 + i);                                                          \
        }                                                                                                    \
        (p)->totalConstMem = (size_t)attribute(9);                                                           \
        (p)->major = attribute(75);                                                                          \
        (p)->minor = attribute(76);                                                                          \
        (p)->textureAlignment = (size_t)attribute(14);                                                       \
        (p)->texturePitchAlignment = (size_t)attribute(51);                                                  \
        (p)->multiProcessorCount = attribute(16);                                                            \
        (p)->canMapHostMemory = 1;                                                                           \
        (p)->surfaceAlignment = (size_t)attribute(30);                                                       \
        (p)->concurrentKernels = 1;                                                                          \
        (p)->pciBusID = device + 1;                                                                          \
        (p)->asyncEngineCount = attribute(40);                                                               \
        (p)->unifiedAddressing = 1;                                                                          \
        (p)->memoryBusWidth = attribute(37);                                                                 \
        (p)->l2CacheSize = attribute(38);                                                                    \
        (p)->maxThreadsPerMultiProcessor = attribute(39);                                                    \
        (p)->streamPrioritiesSupported = 1;                                                                  \
        (p)->globalL1CacheSupported = (p)->localL1CacheSupported = 1;                                        \
        (p)->sharedMemPerMultiprocessor = (size_t)g->shared_per_sm;                                          \
        (p)->regsPerMultiprocessor = attribute(82);                                                          \
        (p)->managedMemory = 1;                                                                              \
        (p)->concurrentManagedAccess = 1;                                                                    \
        (p)->computePreemptionSupported = 1;                                                                 \
        (p)->cooperativeLaunch = 1;                                                                          \
        (p)->sharedMemPerBlockOptin = (size_t)attribute(97);                                                 \
        (p)->maxBlocksPerMultiProcessor = attribute(106);                                                    \
        (p)->reservedSharedMemPerBlock = (size_t)attribute(111);                                             \
        (p)->maxTexture1D = attribute(21);                                                                   \
        (p)->maxTextureCubemap = attribute(52);                                                              \
        (p)->maxSurface1D = attribute(55);                                                                   \
        (p)->maxSurfaceCubemap = attribute(66);                                                              \
        for (int i = 0; i < 3; i++) {                                                                        \
            (p)->maxTexture3D[i] = attribute(24 + i);                                                        \
            (p)->maxSurface3D[i] = attribute(58 + i);                                                        \
            (p)->maxTexture2DLayered[i] = attribute(27 + i);                                                 \
            (p)->maxSurface2DLayered[i] = attribute(63 + i);                                                 \
            (p)->maxTexture2DLinear[i] = attribute(70 + i);                                                  \
        }                                                                                                    \
        for (int i = 0; i < 2; i++) {                                                                        \
            (p)->maxTexture2D[i] = attribute(22 + i);                                                        \
            (p)->maxSurface2D[i] = attribute(56 + i);                                                        \
            (p)->maxTexture2DGather[i] = attribute(45 + i);                                                  \
            (p)->maxTexture1DLayered[i] = attribute(42 + i);                                                 \
            (p)->maxSurface1DLayered[i] = attribute(61 + i);                                                 \
            (p)->maxTextureCubemapLayered[i] = attribute(53 + i);                                            \
            (p)->maxSurfaceCubemapLayered[i] = attribute(67 + i);                                            \
            (p)->maxTexture2DMipmap[i] = attribute(73 + i);                                                  \
        }                                                                                                    \
    } while (0)

static int properties_12(void *prop, int device, size_t bytes) {
    ENTER();
    if (!prop || !app_device_at(device)) return app_leave(prop ? E_DEVICE : E_VALUE);
    device_prop_12 p = {0};
    COMMON(&p);
    p.clockRate = attribute(13);
    p.memoryClockRate = attribute(36);
    p.deviceOverlap = 1;
    p.singleToDoublePrecisionPerfRatio = attribute(87);
    p.hostRegisterSupported = p.memoryPoolsSupported = 1;
    memcpy(prop, &p, bytes);
    return app_leave(E_OK);
}

// 11 and 12 call it for the layout of 11; 12's programs call _v2.
RT_11_12(cudaGetDeviceProperties, device_properties_11)(void *p, int device) {
    return properties_12(p, device, DEVICE_PROP_11);
}
RT(cudaGetDeviceProperties_v2)(void *p, int device) {
    return properties_12(p, device, sizeof(device_prop_12));
}

RT_13(cudaGetDeviceProperties)(void *prop, int device) { // 13's
    ENTER();
    if (!prop || !app_device_at(device)) return app_leave(prop ? E_DEVICE : E_VALUE);
    device_prop_13 *p = prop;
    memset(p, 0, sizeof *p);
    COMMON(p);
    p->hostRegisterSupported = p->memoryPoolsSupported = 1;
    return app_leave(E_OK);
}

// ---- what is asked for by name -----------------------------------------------------------------
RT(cudaGetExportTable)(const void **table, const void *id) {
    (void)id;
    if (table) *table = NULL;
    return E_NOT_SUPPORTED;
}

// The names of CUDA 2, which 11 and 12 still have.
RT(cudaThreadSynchronize)(void) { return orr_cudaDeviceSynchronize(); }
RT(cudaThreadGetCacheConfig)(int *config) { return orr_cudaDeviceGetCacheConfig(config); }
RT(cudaThreadSetCacheConfig)(int config) { return orr_cudaDeviceSetCacheConfig(config); }
RT(cudaThreadExit)(void) { return orr_cudaDeviceReset(); }
RT(cudaThreadGetLimit)(size_t *value, int limit) { return orr_cudaDeviceGetLimit(value, limit); }
RT(cudaThreadSetLimit)(int limit, size_t value) { return orr_cudaDeviceSetLimit(limit, value); }
