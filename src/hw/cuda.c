// The CUDA driver API, as little of it as running launch scripts takes. Types and numbers are those of
// the public interface (docs.nvidia.com/cuda/cuda-driver-api): handles are pointers, a device is an
// int, a device address is 64 bits, and 0 is success everywhere.
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "hw/driver.h"
#include "sass/module.h"

// Kernels of our own, of which the profiler is told to leave out all but the last.
//
// orr_spin keeps the GPU busy for some 20 microseconds while the host queues an event, a launch and an event,
// so that the time between the events is the kernel's and not the host's. One thread, no memory.
//
// orr_touch loads a byte of every 2 MB of a buffer, and its last. The driver fills and copies buffers without
// the SMs, so the first kernel that used one would wait for its address to be translated (some 700 cycles on
// an H200, also of kernels that only store and of small buffers), which a kernel amid a program does not.
//
// orr_touch_stacks does the same for local memory, of all warps that the GPU holds at once: the first launch
// of a process whose kernel has some takes 3,700 cycles longer on an H200 otherwise.
//
// orr_first does nothing, once, and the profiler is to see it: the first kernel that it sees in a process
// takes some 600 cycles longer on an H200, and has 2,390 barriers in L2's counts that are not its own.
static const char own_ptx[] = ".version 6.0\n"
                              ".target sm_50\n"
                              ".address_size 64\n"
                              ".visible .entry " ORR_HW_FIRST "()\n"
                              "{\n"
                              "  ret;\n"
                              "}\n"
                              ".visible .entry orr_spin()\n"
                              "{\n"
                              "  .reg .pred %p;\n"
                              "  .reg .u64 %a, %b;\n"
                              "  mov.u64 %a, %clock64;\n"
                              "again:\n"
                              "  mov.u64 %b, %clock64;\n"
                              "  sub.u64 %b, %b, %a;\n"
                              "  setp.lt.u64 %p, %b, 40000;\n"
                              "  @%p bra again;\n"
                              "  ret;\n"
                              "}\n"
                              ".visible .entry orr_touch(.param .u64 buffer, .param .u64 bytes)\n"
                              "{\n"
                              "  .reg .pred %p;\n"
                              "  .reg .u32 %t;\n"
                              "  .reg .u64 %a, %at, %i, %n;\n"
                              "  ld.param.u64 %a, [buffer];\n"
                              "  ld.param.u64 %n, [bytes];\n"
                              "  cvta.to.global.u64 %a, %a;\n"
                              "  add.u64 %at, %a, %n;\n"
                              "  ld.volatile.global.u8 %t, [%at + -1];\n"
                              "  mov.u32 %t, %tid.x;\n"
                              "  mul.wide.u32 %i, %t, 2097152;\n"
                              "again:\n"
                              "  setp.ge.u64 %p, %i, %n;\n"
                              "  @%p ret;\n"
                              "  add.u64 %at, %a, %i;\n"
                              "  ld.volatile.global.u8 %t, [%at];\n"
                              "  add.u64 %i, %i, 67108864;\n" // 32 threads further
                              "  bra again;\n"
                              "}\n"
                              ".visible .entry orr_touch_stacks()\n"
                              "{\n"
                              "  .local .align 4 .b8 word[4];\n"
                              "  .reg .u32 %t;\n"
                              "  .reg .u64 %a;\n"
                              "  mov.u32 %t, %tid.x;\n"
                              "  mov.u64 %a, word;\n"
                              "  cvta.local.u64 %a, %a;\n"
                              "  st.volatile.u32 [%a], %t;\n"
                              "  ld.volatile.u32 %t, [%a];\n"
                              "  ret;\n"
                              "}\n";

// Errors that mean the program is wrong, not the machine or the script.
static bool programs_fault(cu_result r) {
    return r == ERROR_ILLEGAL_ADDRESS || r == ERROR_LAUNCH_TIMEOUT || r == ERROR_ASSERT ||
           (r >= ERROR_HARDWARE_STACK && r <= ERROR_LAUNCH_FAILED);
}

bool orr_hw_failed(orr_hw *h, cu_result r, const char *function, const char *what, orr_err *e) {
    const char *name = NULL, *text = NULL;
    if (h->cuGetErrorName(r, &name) || !name) name = "an unknown error";
    if (h->cuGetErrorString(r, &text) || !text) text = "the driver says no more";
    if (programs_fault(r)) h->broken = true;
    return orr_fail(e, programs_fault(r) ? ORR_PROGRAM_FAILED : ORR_BAD_INPUT,
                    "%s: %s failed with %s (%d): %s", what, function, name, r, text);
}

// ---- the device -----------------------------------------------------------------------------
const char *orr_hw_driver(orr_arena *a) {
    const char *other = getenv("ORRERY_LIBCUDA");
    if (other && *other) return orr_arena_strdup(a, other);
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map = NULL;
    const char *path = NULL;
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        path = orr_arena_strdup(a, map->l_name);
    if (library) dlclose(library);
    return path;
}

static bool load_library(orr_hw *h, orr_err *e) {
    const char *other = getenv("ORRERY_LIBCUDA"), *name = other && *other ? other : "libcuda.so.1";
    // Its own functions first: a program that runs on our CUDA (src/app) has others of the same names.
    h->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!h->library) {
        return orr_fail(
            e, ORR_BAD_INPUT,
            "the CUDA driver cannot be loaded (%s); `orrery hw` and --on gpu need a machine with an "
            "NVIDIA GPU and its driver, `orrery run` alone needs neither",
            dlerror());
    }
#define LOAD(function, type)                                                                                 \
    *(void **)&h->function = dlsym(h->library, #function);                                                   \
    if (!h->function)                                                                                        \
        return orr_fail(e, ORR_BAD_INPUT, "%s has no %s; install a newer NVIDIA driver", name, #function);
    FUNCTIONS(LOAD)
#undef LOAD
    *(void **)&h->cuLaunchKernelEx = dlsym(h->library, "cuLaunchKernelEx");
    return true;
}

static bool open_device(orr_hw *h, orr_err *e) {
    orr_hw_info *i = &h->info;
    cu_result r = h->cuInit(0);
    if (r == ERROR_NO_DEVICE)
        return orr_fail(e, ORR_BAD_INPUT, "the CUDA driver finds no GPU on this machine");
    if (r) return orr_hw_failed(h, r, "cuInit", "the CUDA driver", e);
    TRY("the CUDA driver", cuDriverGetVersion, &i->driver);
    TRY("device 0", cuDeviceGet, &h->device, 0);
    TRY("device 0", cuDeviceGetName, i->name, (int)sizeof i->name, h->device);
    i->name[sizeof i->name - 1] = 0;
    TRY(i->name, cuDeviceGetAttribute, &i->major, DEVICE_CC_MAJOR, h->device);
    TRY(i->name, cuDeviceGetAttribute, &i->minor, DEVICE_CC_MINOR, h->device);
    TRY(i->name, cuDeviceGetAttribute, &i->sms, DEVICE_SM_COUNT, h->device);
    TRY(i->name, cuDevicePrimaryCtxRetain, &h->context, h->device);
    h->retained = true;
    TRY(i->name, cuCtxSetCurrent, h->context);
    TRY(i->name, cuEventCreate, &h->before, 0);
    TRY(i->name, cuEventCreate, &h->after, 0);
    if (h->cuModuleLoadDataEx(&h->own, own_ptx, 0, NULL, NULL)) h->own = NULL;
    cu_function first;
    if (h->own && !h->cuModuleGetFunction(&first, h->own, ORR_HW_FIRST))
        h->cuLaunchKernel(first, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    if (h->own && h->cuModuleGetFunction(&h->spin, h->own, "orr_spin")) h->spin = NULL;
    if (h->own && h->cuModuleGetFunction(&h->touch, h->own, "orr_touch")) h->touch = NULL;
    if (h->own && h->cuModuleGetFunction(&h->touch_stacks, h->own, "orr_touch_stacks"))
        h->touch_stacks = NULL;
    return true;
}

orr_hw *orr_hw_open(orr_err *e) {
    orr_hw *h = orr_calloc(1, sizeof *h);
    if (load_library(h, e) && open_device(h, e)) return h;
    orr_hw_close(h);
    return NULL;
}

void orr_hw_close(orr_hw *h) {
    if (!h) return;
    if (h->retained) {
        orr_hw_reset(h);
        if (h->own) h->cuModuleUnload(h->own);
        if (h->before) h->cuEventDestroy_v2(h->before);
        if (h->after) h->cuEventDestroy_v2(h->after);
        h->cuDevicePrimaryCtxRelease_v2(h->device);
    }
    if (h->library) dlclose(h->library);
    free(h->modules.at);
    free(h->buffers.at);
    free(h->times.at);
    orr_arena_free(&h->names);
    free(h);
}

const orr_hw_info *orr_hw_get_info(const orr_hw *h) { return &h->info; }

bool orr_hw_attribute(const orr_hw *h, int attribute, int *value) {
    return h->cuDeviceGetAttribute(value, attribute, h->device) == 0;
}

uint64_t orr_hw_memory(const orr_hw *h) {
    size_t n = 0;
    return h->cuDeviceTotalMem_v2(&n, h->device) ? 0 : n;
}

size_t orr_hw_times(const orr_hw *h, const orr_hw_time **times) {
    *times = h->times.at;
    return h->times.n;
}

bool orr_hw_reset(orr_hw *h) {
    for (size_t k = 0; k < h->buffers.n; k++) h->cuMemFree_v2(h->buffers.at[k].at);
    for (size_t k = 0; k < h->modules.n; k++) {
        if (h->modules.at[k]) h->cuModuleUnload(h->modules.at[k]);
    }
    h->buffers.n = h->modules.n = h->times.n = 0;
    orr_arena_free(&h->names);
    h->names = (orr_arena){0};
    return !h->broken;
}

// ---- the backend ----------------------------------------------------------------------------
// The module compiled by the driver from `image`, PTX or machine code; NULL: what it says is wrong with
// `path`.
cu_module orr_hw_compile(orr_hw *h, const void *image, const char *path, orr_err *e) {
    char log[4096] = "";
    int options[2] = {JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)sizeof log};
    cu_module loaded = NULL;
    cu_result r = h->cuModuleLoadDataEx(&loaded, image, 2, options, values);
    if (!r) return loaded;
    orr_hw_failed(h, r, "cuModuleLoadDataEx", path, e);
    log[sizeof log - 1] = 0;
    size_t have = strlen(e->text), len = strlen(log);
    while (len && (log[len - 1] == '\n' || log[len - 1] == ' ')) log[--len] = 0;
    if (len && have < sizeof e->text) snprintf(e->text + have, sizeof e->text - have, "\n%s", log);
    return NULL;
}

static bool hw_load(void *self, int module, orr_module *m, orr_err *e) {
    orr_hw *h = self;
    size_t n;
    bool machine = !strcmp(m->source, "sass"); // the image that was chosen, wherever it came from
    char *text = machine ? NULL : orr_read_file(m->path, 256 << 20, &n, e);
    const void *image = machine ? orr_sass_image(m, &n) : text;
    if (!image) return false;
    while (h->modules.n <= (size_t)module) *ORR_PUSH(&h->modules) = NULL;
    h->modules.at[module] = orr_hw_compile(h, image, m->path, e);
    free(text);
    return h->modules.at[module] != NULL;
}

static uint64_t hw_alloc(void *self, const char *name, uint64_t bytes, orr_err *e) {
    orr_hw *h = self;
    cu_address a = 0;
    char what[160];
    snprintf(what, sizeof what, "buffer %.100s", name);
    cu_result r = h->cuMemAlloc_v2(&a, bytes);
    if (r) {
        orr_hw_failed(h, r, "cuMemAlloc", what, e);
        return 0;
    }
    *ORR_PUSH(&h->buffers) = (hw_buffer){.at = a, .bytes = bytes};
    r = h->cuMemsetD8_v2(a, 0, bytes);
    if (r) {
        orr_hw_failed(h, r, "cuMemsetD8", what, e);
        return 0;
    }
    return a;
}

static bool hw_write(void *self, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    orr_hw *h = self;
    TRY("writing a buffer", cuMemcpyHtoD_v2, addr, data, bytes);
    return true;
}

static bool hw_read(void *self, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    orr_hw *h = self;
    TRY("reading a buffer", cuMemcpyDtoH_v2, data, addr, bytes);
    return true;
}

static bool hw_symbol(void *self, int module, const char *name, uint64_t *addr, uint64_t *bytes, orr_err *e) {
    orr_hw *h = self;
    size_t n = 0;
    TRY(name, cuModuleGetGlobal_v2, addr, &n, h->modules.at[module], name);
    *bytes = n;
    return true;
}

// Before every launch: what happened since the last one may have cost a translation.
static void touch_memory(orr_hw *h, int local_bytes) {
    for (size_t k = 0; h->touch && k < h->buffers.n; k++) {
        void *params[] = {&h->buffers.at[k].at, &h->buffers.at[k].bytes};
        if (!h->buffers.at[k].bytes) continue;
        h->cuLaunchKernel(h->touch, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
    }
    if (h->touch_stacks && local_bytes > 0) // two blocks of 1,024 threads are as many as an SM holds
        h->cuLaunchKernel(h->touch_stacks, 2 * (unsigned)h->info.sms, 1, 1, 1024, 1, 1, 0, NULL, NULL, NULL);
}

// The launch itself; with a cluster's size where the call has one.
static cu_result launch(orr_hw *h, cu_function f, const orr_call *c, void **params) {
    if (!c->cluster[0])
        return h->cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2],
                                 c->dynamic_shared, NULL, params, NULL);
    cu_attribute a = {.id = LAUNCH_CLUSTER};
    memcpy(a.value.cluster, c->cluster, sizeof a.value.cluster);
    cu_config config = {.shared = c->dynamic_shared, .attributes = &a, .n = 1};
    memcpy(config.grid, c->grid, sizeof config.grid);
    memcpy(config.block, c->block, sizeof config.block);
    if (c->cluster[0] * c->cluster[1] * c->cluster[2] > 8) h->cuFuncSetAttribute(f, FUNC_LARGE_CLUSTERS, 1);
    return h->cuLaunchKernelEx(&config, f, params, NULL);
}

static bool hw_launch(void *self, const orr_call *c, orr_err *e) {
    orr_hw *h = self;
    const orr_kernel *k = c->kernel;
    cu_function f;
    char what[200];
    int fixed = 0, regs = 0, local = 0;
    float ms = 0;
    snprintf(what, sizeof what, "kernel %.100s (launch %u)", k->name, c->index);
    if (c->cluster[0] && !h->cuLaunchKernelEx)
        return orr_fail(e, ORR_BAD_INPUT, "%s: clusters need cuLaunchKernelEx; install a newer NVIDIA driver",
                        what);
    TRY(what, cuModuleGetFunction, &f, h->modules.at[c->module], k->name);
    TRY(what, cuFuncGetAttribute, &fixed, FUNC_SHARED_BYTES, f);
    TRY(what, cuFuncGetAttribute, &regs, FUNC_REGS, f);
    TRY(what, cuFuncGetAttribute, &local, FUNC_LOCAL_BYTES, f);
    // Beyond 48 KiB a kernel has to ask for its shared memory.
    if (c->dynamic_shared + (uint32_t)fixed > 48 << 10) {
        TRY(what, cuFuncSetAttribute, f, FUNC_MAX_DYNAMIC_SHARED, (int)c->dynamic_shared);
    }
    void **params = orr_calloc(k->nparams + 1, sizeof *params);
    for (uint32_t j = 0; j < k->nparams; j++)
        params[j] = (void *)(uintptr_t)(c->params + k->params[j].offset);
    touch_memory(h, local);
    if (h->spin) h->cuLaunchKernel(h->spin, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    cu_result r = h->cuEventRecord(h->before, NULL);
    const char *where = "cuEventRecord";
    if (!r) {
        where = c->cluster[0] ? "cuLaunchKernelEx" : "cuLaunchKernel";
        r = launch(h, f, c, params);
    }
    free(params);
    if (r) return orr_hw_failed(h, r, where, what, e);
    TRY(what, cuEventRecord, h->after, NULL);
    TRY(what, cuEventSynchronize, h->after);
    TRY(what, cuCtxSynchronize, );
    TRY(what, cuEventElapsedTime, &ms, h->before, h->after);
    orr_hw_time *t = ORR_PUSH(&h->times);
    *t = (orr_hw_time){.kernel = orr_arena_strdup(&h->names, k->name),
                       .dynamic_shared = c->dynamic_shared,
                       .shared = (uint32_t)fixed,
                       .regs = (uint32_t)regs,
                       .line = c->line,
                       .us = (double)ms * 1000};
    memcpy(t->grid, c->grid, sizeof t->grid);
    memcpy(t->block, c->block, sizeof t->block);
    return true;
}

orr_backend orr_hw_backend(orr_hw *h) {
    return (orr_backend){.self = h,
                         .load = hw_load,
                         .alloc = hw_alloc,
                         .write = hw_write,
                         .read = hw_read,
                         .symbol = hw_symbol,
                         .launch = hw_launch};
}
