// The platform, its one device, and what they say of themselves.
#include "opencl/cl.h"
#include "orrery.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Of cl_nv_device_attribute_query, not in Khronos' headers.
#define CL_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT_NV 0x4007
#define CL_DEVICE_PCI_BUS_ID_NV                   0x4008
#define CL_DEVICE_PCI_SLOT_ID_NV                  0x4009
#define CL_DEVICE_PCI_DOMAIN_ID_NV                0x400A

struct _cl_platform_id cl_platform = {{&cl_table, KIND_PLATFORM, 1}};
struct _cl_device_id cl_device = {{&cl_table, KIND_DEVICE, 1}};

// ---- the lock ---------------------------------------------------------------------------------------
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

// Without `orrery cl` the GPU and the model come from ORRERY_GPU and ORRERY_MODEL.
static void short_names(void) {
    static const char *const names[][2] = {{"ORRERY_GPU", "ORRERY_APP_GPU"},
                                           {"ORRERY_MODEL", "ORRERY_APP_MODEL"}};
    for (int i = 0; i < 2; i++)
        if (getenv(names[i][0])) setenv(names[i][1], getenv(names[i][0]), 0);
}

bool cl_lock(void) {
    static bool first = true;
    pthread_mutex_lock(&lock);
    if (first) short_names();
    if (first) setenv("ORRERY_APP_BOUNDS", "strict", 0); // unless somebody asked for it: --bounds gpu
    first = false;
    int error = app_enter();
    app_leave(E_OK);
    the_app.sticky = E_OK; // OpenCL forgets: a command that failed is the event's business
    (void)error;
    return !the_app.failed;
}

void cl_unlock(void) { pthread_mutex_unlock(&lock); }
void cl_sleep(void) { pthread_cond_wait(&changed, &lock); }
void cl_wake(void) { pthread_cond_broadcast(&changed); }

// ---- what all share ---------------------------------------------------------------------------------
void *cl_new(size_t bytes, uint32_t kind) {
    head *h = orr_calloc(1, bytes);
    *h = (head){&cl_table, kind, 1};
    return h;
}

bool cl_is(const void *object, uint32_t kind) {
    const head *h = object;
    return h && h->table == &cl_table && h->kind == kind && h->refs > 0;
}

cl_int cl_answer(const void *v, size_t n, size_t room, void *value, size_t *size) {
    if (value && room < n) return CL_INVALID_VALUE;
    if (value && n) memcpy(value, v, n);
    if (size) *size = n;
    return CL_SUCCESS;
}

cl_int cl_answer_text(const char *s, size_t room, void *value, size_t *size) {
    return cl_answer(s, strlen(s) + 1, room, value, size);
}

size_t cl_zero_list(const uint64_t *list, uint64_t **copy) {
    size_t n = 0;
    *copy = NULL;
    if (!list) return 0;
    while (list[n]) n += 2;
    n++;
    *copy = orr_calloc(n, sizeof **copy);
    memcpy(*copy, list, n * sizeof **copy);
    return n;
}

bool cl_same_device(cl_uint n, const cl_device_id *devices) {
    if (!n || !devices) return !n && !devices;
    for (cl_uint i = 0; i < n; i++)
        if (devices[i] != &cl_device) return false;
    return true;
}

cl_int cl_error(int app_error) {
    switch (app_error) {
    case E_OK: return CL_SUCCESS;
    case E_MEMORY: return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    case E_CONFIGURATION: return CL_INVALID_WORK_GROUP_SIZE;
    case E_DEVICE_FUNCTION:
    case E_PTX: return CL_INVALID_PROGRAM_EXECUTABLE;
    case E_NO_DEVICE: return CL_DEVICE_NOT_AVAILABLE;
    default: return CL_OUT_OF_RESOURCES; // as NVIDIA's driver says of a kernel that failed
    }
}

// ---- the platform -----------------------------------------------------------------------------------
#define EXTENSIONS                                                                                           \
    "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics " \
    "cl_khr_local_int32_extended_atomics cl_khr_byte_addressable_store cl_khr_fp64 "                         \
    "cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_3d_image_writes cl_khr_subgroups "       \
    "cl_khr_image2d_from_buffer "                                                                            \
    "cl_nv_device_attribute_query"

cl_int cl_clGetPlatformIDs(cl_uint room, cl_platform_id *platforms, cl_uint *n) {
    if ((!platforms && !n) || (platforms && !room)) return CL_INVALID_VALUE;
    if (platforms) platforms[0] = &cl_platform;
    if (n) *n = 1;
    return CL_SUCCESS;
}

static cl_int versions(const char *names, size_t room, void *value, size_t *size) {
    cl_name_version list[64] = {0};
    size_t n = 0;
    for (const char *s = names; *s && n < 64;) {
        size_t len = strcspn(s, " ");
        memcpy(list[n].name, s,
               len < CL_NAME_VERSION_MAX_NAME_SIZE ? len : CL_NAME_VERSION_MAX_NAME_SIZE - 1);
        list[n++].version = CL_MAKE_VERSION(1, 0, 0);
        s += len + (s[len] == ' ');
    }
    return cl_answer(list, n * sizeof *list, room, value, size);
}

cl_int cl_clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t room, void *value, size_t *size) {
    if (p && !cl_is(p, KIND_PLATFORM)) return CL_INVALID_PLATFORM;
    switch (what) {
    case CL_PLATFORM_PROFILE: return cl_answer_text("FULL_PROFILE", room, value, size);
    case CL_PLATFORM_VERSION: return cl_answer_text("OpenCL 3.0 Orrery", room, value, size);
    case CL_PLATFORM_NAME: return cl_answer_text("Orrery", room, value, size);
    case CL_PLATFORM_VENDOR: return cl_answer_text("Orrery", room, value, size);
    case CL_PLATFORM_EXTENSIONS: return cl_answer_text("cl_khr_icd", room, value, size);
    case CL_PLATFORM_ICD_SUFFIX_KHR: return cl_answer_text("ORR", room, value, size);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION: ANSWER(cl_ulong, 1);
    case CL_PLATFORM_NUMERIC_VERSION: ANSWER(cl_version, CL_MAKE_VERSION(3, 0, 0));
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION: return versions("cl_khr_icd", room, value, size);
    default: return CL_INVALID_VALUE;
    }
}

cl_int cl_clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *platforms, cl_uint *n) {
    return cl_clGetPlatformIDs(room, platforms, n);
}

// ---- the device -------------------------------------------------------------------------------------
cl_int cl_clGetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint room, cl_device_id *devices,
                         cl_uint *n) {
    if (p && !cl_is(p, KIND_PLATFORM)) return CL_INVALID_PLATFORM;
    if ((!devices && !n) || (devices && !room)) return CL_INVALID_VALUE;
    cl_device_type known = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                           CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
    if (!type || (type != CL_DEVICE_TYPE_ALL && (type & ~known))) return CL_INVALID_DEVICE_TYPE;
    bool ours = type == CL_DEVICE_TYPE_ALL || (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT));
    if (ours) {
        ours = cl_lock();
        cl_unlock();
    }
    if (n) *n = ours;
    if (!ours) return CL_DEVICE_NOT_FOUND;
    if (devices) devices[0] = &cl_device;
    return CL_SUCCESS;
}

// Questions of memory and sizes.
static cl_int device_sizes(const orr_gpu *g, cl_device_info what, size_t room, void *value, size_t *size) {
    switch (what) {
    case CL_DEVICE_GLOBAL_MEM_SIZE: ANSWER(cl_ulong, (cl_ulong)g->dram_size);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: ANSWER(cl_ulong, (cl_ulong)g->dram_size / 4);
    case CL_DEVICE_GLOBAL_MEM_CACHE_TYPE: ANSWER(cl_device_mem_cache_type, CL_READ_WRITE_CACHE);
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE: ANSWER(cl_ulong, (cl_ulong)g->l2_size);
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE: ANSWER(cl_uint, 128);
    case CL_DEVICE_LOCAL_MEM_SIZE: ANSWER(cl_ulong, (cl_ulong)g->shared_per_block);
    case CL_DEVICE_LOCAL_MEM_TYPE: ANSWER(cl_device_local_mem_type, CL_LOCAL);
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE: ANSWER(cl_ulong, 64 << 10);
    case CL_DEVICE_MAX_CONSTANT_ARGS: ANSWER(cl_uint, 9);
    case CL_DEVICE_MAX_PARAMETER_SIZE: ANSWER(size_t, 4352);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: ANSWER(cl_uint, 4096);
    case CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE: ANSWER(cl_uint, 128);
    case CL_DEVICE_PRINTF_BUFFER_SIZE: ANSWER(size_t, 1 << 20);
    case CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE: ANSWER(size_t, 64 << 10);
    case CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE: ANSWER(size_t, 0);
    case CL_DEVICE_ADDRESS_BITS: ANSWER(cl_uint, 64);
    case CL_DEVICE_IMAGE_SUPPORT: ANSWER(cl_bool, CL_TRUE);
    case CL_DEVICE_MAX_READ_IMAGE_ARGS: ANSWER(cl_uint, 128);
    case CL_DEVICE_MAX_WRITE_IMAGE_ARGS:
    case CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS: ANSWER(cl_uint, 64);
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_WIDTH:
    case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_DEPTH: ANSWER(size_t, 16384);
    case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: ANSWER(size_t, (size_t)1 << 27);
    case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE: ANSWER(size_t, 2048);
    case CL_DEVICE_MAX_SAMPLERS: ANSWER(cl_uint, 32);
    case CL_DEVICE_IMAGE_PITCH_ALIGNMENT:
    case CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT: ANSWER(cl_uint, 1);
    default: return CL_INVALID_VALUE;
    }
}

// Questions of processors.
static cl_int device_cores(const orr_gpu *g, cl_device_info what, size_t room, void *value, size_t *size) {
    size_t threads = (size_t)g->limit_block_threads,
           items[3] = {threads, threads, threads < 64 ? threads : 64};
    const cl_device_fp_config full = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST |
                                     CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA;
    bool half = g->cc_major > 5 || (g->cc_major == 5 && g->cc_minor >= 3);
    switch (what) {
    case CL_DEVICE_MAX_COMPUTE_UNITS: ANSWER(cl_uint, (cl_uint)g->sm_count);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: ANSWER(cl_uint, 3);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return cl_answer(items, sizeof items, room, value, size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: ANSWER(size_t, threads);
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: ANSWER(size_t, 32);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: ANSWER(cl_uint, (cl_uint)g->clock_sm);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_INT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE: ANSWER(cl_uint, 1);
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF: ANSWER(cl_uint, half ? 1 : 0);
    case CL_DEVICE_SINGLE_FP_CONFIG: ANSWER(cl_device_fp_config, full | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT);
    case CL_DEVICE_DOUBLE_FP_CONFIG: ANSWER(cl_device_fp_config, full);
    case CL_DEVICE_HALF_FP_CONFIG:
        ANSWER(cl_device_fp_config,
               half ? CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA : 0);
    case CL_DEVICE_MAX_NUM_SUB_GROUPS: ANSWER(cl_uint, (cl_uint)threads / 32);
    case CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS: ANSWER(cl_bool, CL_TRUE);
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION: ANSWER(size_t, 1);
    case CL_DEVICE_ENDIAN_LITTLE:
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE: ANSWER(cl_bool, CL_TRUE);
    case CL_DEVICE_ERROR_CORRECTION_SUPPORT:
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
    case CL_DEVICE_PREFERRED_INTEROP_USER_SYNC: ANSWER(cl_bool, CL_FALSE);
    case CL_DEVICE_EXECUTION_CAPABILITIES: ANSWER(cl_device_exec_capabilities, CL_EXEC_KERNEL);
    case CL_DEVICE_QUEUE_ON_HOST_PROPERTIES:
        ANSWER(cl_command_queue_properties,
               CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
    case CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV: ANSWER(cl_uint, (cl_uint)g->cc_major);
    case CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV: ANSWER(cl_uint, (cl_uint)g->cc_minor);
    case CL_DEVICE_PCI_BUS_ID_NV:
    case CL_DEVICE_PCI_SLOT_ID_NV:
    case CL_DEVICE_PCI_DOMAIN_ID_NV: ANSWER(cl_uint, 0);
    case CL_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT_NV: ANSWER(cl_uint, 2);
    case CL_DEVICE_WARP_SIZE_NV: ANSWER(cl_uint, 32);
    case CL_DEVICE_REGISTERS_PER_BLOCK_NV: ANSWER(cl_uint, 65536);
    case CL_DEVICE_GPU_OVERLAP_NV: ANSWER(cl_bool, CL_TRUE);
    case CL_DEVICE_KERNEL_EXEC_TIMEOUT_NV:
    case CL_DEVICE_INTEGRATED_MEMORY_NV: ANSWER(cl_bool, CL_FALSE);
    default: return device_sizes(g, what, room, value, size);
    }
}

// What OpenCL 3.0 made optional, and this device does not have.
static cl_int device_optional(const orr_gpu *g, cl_device_info what, size_t room, void *value, size_t *size) {
    switch (what) {
    case CL_DEVICE_SVM_CAPABILITIES: ANSWER(cl_device_svm_capabilities, 0);
    case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES: ANSWER(cl_command_queue_properties, 0);
    case CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES: ANSWER(cl_device_device_enqueue_capabilities, 0);
    case CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE:
    case CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE:
    case CL_DEVICE_MAX_ON_DEVICE_QUEUES:
    case CL_DEVICE_MAX_ON_DEVICE_EVENTS:
    case CL_DEVICE_MAX_PIPE_ARGS:
    case CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS:
    case CL_DEVICE_PIPE_MAX_PACKET_SIZE:
    case CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
    case CL_DEVICE_REFERENCE_COUNT: ANSWER(cl_uint, what == CL_DEVICE_REFERENCE_COUNT);
    case CL_DEVICE_PIPE_SUPPORT:
    case CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT: ANSWER(cl_bool, CL_FALSE);
    case CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT:
    case CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT: ANSWER(cl_bool, CL_TRUE);
    case CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES:
        ANSWER(cl_device_atomic_capabilities,
               CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL |
                   CL_DEVICE_ATOMIC_ORDER_SEQ_CST | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP |
                   CL_DEVICE_ATOMIC_SCOPE_DEVICE | CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES);
    case CL_DEVICE_ATOMIC_FENCE_CAPABILITIES:
        ANSWER(cl_device_atomic_capabilities,
               CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL |
                   CL_DEVICE_ATOMIC_ORDER_SEQ_CST | CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM |
                   CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP | CL_DEVICE_ATOMIC_SCOPE_DEVICE);
    case CL_DEVICE_PARENT_DEVICE: ANSWER(cl_device_id, NULL);
    case CL_DEVICE_PARTITION_PROPERTIES: ANSWER(cl_device_partition_property, 0);
    case CL_DEVICE_PARTITION_TYPE: return cl_answer(NULL, 0, room, value, size);
    case CL_DEVICE_PARTITION_AFFINITY_DOMAIN: ANSWER(cl_device_affinity_domain, 0);
    default: return device_cores(g, what, room, value, size);
    }
}

static cl_int c_versions(size_t room, void *value, size_t *size) {
    cl_name_version list[5] = {0};
    static const cl_version known[5] = {CL_MAKE_VERSION(1, 0, 0), CL_MAKE_VERSION(1, 1, 0),
                                        CL_MAKE_VERSION(1, 2, 0), CL_MAKE_VERSION(2, 0, 0),
                                        CL_MAKE_VERSION(3, 0, 0)};
    for (int i = 0; i < 5; i++) {
        snprintf(list[i].name, sizeof list[i].name, "OpenCL C");
        list[i].version = known[i];
    }
    return cl_answer(list, sizeof list, room, value, size);
}

static cl_int il_versions(size_t room, void *value, size_t *size) {
    cl_name_version list[3] = {{CL_MAKE_VERSION(1, 0, 0), "SPIR-V"},
                               {CL_MAKE_VERSION(1, 1, 0), "SPIR-V"},
                               {CL_MAKE_VERSION(1, 2, 0), "SPIR-V"}};
    return cl_answer(list, orr_clc_has_spirv() ? sizeof list : 0, room, value, size);
}

cl_int cl_clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t room, void *value, size_t *size) {
    if (d != &cl_device) return CL_INVALID_DEVICE;
    bool there = cl_lock();
    cl_unlock();
    if (!there) return CL_DEVICE_NOT_AVAILABLE;
    const orr_gpu *g = the_app.gpu;
    bool half = g->cc_major > 5 || (g->cc_major == 5 && g->cc_minor >= 3);
    const char *extensions = half ? EXTENSIONS " cl_khr_fp16" : EXTENSIONS;
    char text[200];
    switch (what) {
    case CL_DEVICE_TYPE: ANSWER(cl_device_type, CL_DEVICE_TYPE_GPU);
    case CL_DEVICE_VENDOR_ID: ANSWER(cl_uint, 0x10de);
    case CL_DEVICE_NAME:
        snprintf(text, sizeof text, "%s (simulated)", g->name);
        return cl_answer_text(text, room, value, size);
    case CL_DEVICE_VENDOR: return cl_answer_text("Orrery", room, value, size);
    case CL_DRIVER_VERSION: return cl_answer_text(ORR_VERSION, room, value, size);
    case CL_DEVICE_PROFILE: return cl_answer_text("FULL_PROFILE", room, value, size);
    case CL_DEVICE_VERSION: return cl_answer_text("OpenCL 3.0 Orrery", room, value, size);
    case CL_DEVICE_OPENCL_C_VERSION: return cl_answer_text("OpenCL C 1.2 Orrery", room, value, size);
    case CL_DEVICE_NUMERIC_VERSION: ANSWER(cl_version, CL_MAKE_VERSION(3, 0, 0));
    case CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR: ANSWER(cl_version, CL_MAKE_VERSION(1, 2, 0));
    case CL_DEVICE_EXTENSIONS: return cl_answer_text(extensions, room, value, size);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION: return versions(extensions, room, value, size);
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS: return c_versions(room, value, size);
    case CL_DEVICE_OPENCL_C_FEATURES:
        return versions("__opencl_c_fp64 __opencl_c_int64 __opencl_c_images __opencl_c_3d_image_writes "
                        "__opencl_c_read_write_images __opencl_c_generic_address_space "
                        "__opencl_c_program_scope_global_variables __opencl_c_subgroups "
                        "__opencl_c_work_group_collective_functions "
                        "__opencl_c_atomic_order_acq_rel __opencl_c_atomic_order_seq_cst "
                        "__opencl_c_atomic_scope_device __opencl_c_atomic_scope_all_devices",
                        room, value, size);
    case CL_DEVICE_ILS_WITH_VERSION: return il_versions(room, value, size);
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION: return cl_answer(NULL, 0, room, value, size);
    case CL_DEVICE_IL_VERSION:
        return cl_answer_text(orr_clc_has_spirv() ? "SPIR-V_1.0 SPIR-V_1.1 SPIR-V_1.2" : "", room, value,
                              size);
    case CL_DEVICE_BUILT_IN_KERNELS:
    case CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED: return cl_answer_text("", room, value, size);
    case CL_DEVICE_PLATFORM: ANSWER(cl_platform_id, &cl_platform);
    default: return device_optional(g, what, room, value, size);
    }
}

cl_int cl_clCreateSubDevices(cl_device_id d, const cl_device_partition_property *p, cl_uint room,
                             cl_device_id *devices, cl_uint *n) {
    (void)p, (void)room, (void)devices, (void)n;
    return d != &cl_device ? CL_INVALID_DEVICE : CL_INVALID_VALUE;
}
cl_int cl_clRetainDevice(cl_device_id d) { return d == &cl_device ? CL_SUCCESS : CL_INVALID_DEVICE; }
cl_int cl_clReleaseDevice(cl_device_id d) { return d == &cl_device ? CL_SUCCESS : CL_INVALID_DEVICE; }

// Simulated time, for both. The host's own work takes none, but for reading the clock: what is enqueued
// between two looks at it was not enqueued at either.
cl_int cl_clGetDeviceAndHostTimer(cl_device_id d, cl_ulong *device, cl_ulong *host) {
    if (d != &cl_device) return CL_INVALID_DEVICE;
    if (!device || !host) return CL_INVALID_VALUE;
    cl_lock();
    the_app.host += 1;
    *device = *host = (cl_ulong)the_app.host;
    the_app.host += 1;
    cl_unlock();
    return CL_SUCCESS;
}
cl_int cl_clGetHostTimer(cl_device_id d, cl_ulong *host) {
    cl_ulong device;
    return cl_clGetDeviceAndHostTimer(d, &device, host);
}
