// CUDA's binary interface, as far as programs use it: types that cross the border between a program and the
// runtime library. Names, numbers and layouts are those of NVIDIA's documentation (CUDA Runtime API and
// Driver API reference manuals, 11.0 to 13.0); where a layout changed between versions, each has its own
// type.
#ifndef ORR_APP_ABI_H
#define ORR_APP_ABI_H

#include <stddef.h>
#include <stdint.h>

// A function that programs may call.
#define API __attribute__((visibility("default")))

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

enum { // cudaError_t; the driver's CUresult has the same numbers for those that both have
#define ERROR(id, number, name, driver, text) E_##id = number,
#include "app/errors.def"
#undef ERROR
};

enum { COPY_HOST_TO_HOST, COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE, COPY_DEFAULT };
enum { MEMORY_UNREGISTERED, MEMORY_HOST, MEMORY_DEVICE, MEMORY_MANAGED };

// Streams that have no handle of their own.
#define STREAM_LEGACY     ((void *)1)
#define STREAM_PER_THREAD ((void *)2)

typedef struct { // __fatBinC_Wrapper_t: what nvcc leaves in .nvFatBinSegment
    int magic, version;
    const void *data;
    const void *prelinked; // version 2: a list of fatbins
} fat_wrapper;
#define FAT_WRAPPER_MAGIC 0x466243b1

typedef struct {
    void *ptr;
    size_t pitch, xsize, ysize;
} pitched_ptr;
typedef struct {
    size_t width, height, depth;
} extent;
typedef struct {
    size_t x, y, z;
} position;
typedef struct { // cudaMemcpy3DParms
    void *src_array;
    position src_pos;
    pitched_ptr src;
    void *dst_array;
    position dst_pos;
    pitched_ptr dst;
    extent size;
    int kind;
} copy_3d;
typedef struct { // cudaMemcpy3DPeerParms
    void *src_array;
    position src_pos;
    pitched_ptr src;
    int src_device;
    void *dst_array;
    position dst_pos;
    pitched_ptr dst;
    int dst_device;
    extent size;
} copy_3d_peer;

typedef struct { // cudaFuncAttributes; 11 ends before the clusters
    size_t shared, constant, local;
    int max_threads, registers, ptx_version, binary_version, cache_mode, max_dynamic_shared, carveout;
    int cluster_must, cluster[3], cluster_policy, cluster_nonportable, reserved[16];
} func_attributes;
#define FUNC_ATTRIBUTES_11 offsetof(func_attributes, cluster_must)

typedef struct { // cudaPointerAttributes; before 13 it ends without the reserved words
    int type, device;
    void *device_ptr, *host_ptr;
    long reserved[8];
} pointer_attributes;
#define POINTER_ATTRIBUTES_12 offsetof(pointer_attributes, reserved)

typedef struct { // cudaLaunchAttribute: a number, and 64 bytes whose meaning it says
    int id;
    char pad[4];
    union {
        char bytes[64];
        int cooperative;
        dim3 cluster;
        int early;
    } value;
} launch_attribute;
enum {
    LAUNCH_COOPERATIVE = 2,
    LAUNCH_CLUSTER = 4,
    LAUNCH_EARLY = 6
};               // cudaLaunchAttributeProgrammaticStreamSerialization
typedef struct { // cudaLaunchConfig_t
    dim3 grid, block;
    size_t dynamic_shared;
    void *stream;
    launch_attribute *attributes;
    unsigned nattributes;
} launch_config;

typedef struct { // cudaMemLocation
    int type, id;
} mem_location;

typedef struct { // cudaKernelNodeParams
    void *func;
    dim3 grid, block;
    unsigned dynamic_shared;
    void **args;
    void **extra;
} kernel_node;
typedef struct { // cudaMemsetParams
    void *dst;
    size_t pitch;
    unsigned value, element;
    size_t width, height;
} memset_node;
typedef struct { // cudaHostNodeParams
    void (*fn)(void *);
    void *user;
} host_node;

typedef struct { // cudaDeviceProp as 11 (up to `end_11`) and 12 have it
    char name[256];
    char uuid[16], luid[8];
    unsigned luid_mask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory;
    int computeMode;
    int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2];
    int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3];
    int maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
    int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
    int hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess;
    int concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem;
    int cooperativeLaunch, cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported; // end_11: 12 has this and what follows
    int sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported;
    int memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int reserved[63];
} device_prop_12;
#define DEVICE_PROP_11 offsetof(device_prop_12, hostRegisterSupported)

typedef struct { // cudaDeviceProp as 13 has it
    char name[256];
    char uuid[16], luid[8];
    unsigned luid_mask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int multiProcessorCount, integrated, canMapHostMemory;
    int maxTexture1D, maxTexture1DMipmap, maxTexture2D[2], maxTexture2DMipmap[2];
    int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3];
    int maxTextureCubemap, maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
    int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
    int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
    int hostNativeAtomicSupported, pageableMemoryAccess;
    int concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported;
    int memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
    unsigned gpuPciDeviceID, gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported, reserved[56];
} device_prop_13;

#endif
