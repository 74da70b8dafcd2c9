// A GPU, its driver and CUPTI without a GPU, for tests/test_capture.sh: libcuda.so.1 and libcupti.so in one.
// Memory is the host's; the one kernel, `saxpy` of workloads/saxpy, is computed here; what a program calls is
// told to whoever has subscribed. $FAKE_CUDA: "wrong" changes one number that the kernel leaves; "killed"
// ends the process after a launch.
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- CUPTI
// ---------------------------------------------------------------------------------------------------
typedef struct { // CUpti_CallbackData
    int site;
    const char *function;
    const void *params;
    const int *result;
    const char *symbol;
} told;
static void (*listener)(void *, int, uint32_t, const void *);
static void *listeners_own;
static uint8_t wanted[1024];

int cuptiSubscribe(void **who, void (*fn)(void *, int, uint32_t, const void *), void *own) {
    *who = &listener;
    listener = fn;
    listeners_own = own;
    return 0;
}
int cuptiEnableDomain(uint32_t on, void *who, int domain) { return who != &listener || domain != 3 || !on; }
int cuptiEnableCallback(uint32_t on, void *who, int domain, uint32_t id) {
    if (who != &listener || domain != 1 || id >= sizeof wanted) return 1;
    wanted[id] = (uint8_t)on;
    return 0;
}
static void tell(uint32_t id, int site, const void *params, const int *result, const char *symbol) {
    told t = {site, "", params, result, symbol};
    if (listener && wanted[id]) listener(listeners_own, 1, id, &t);
}

// ---- the driver
// ----------------------------------------------------------------------------------------------
static int is(const char *what) {
    const char *v = getenv("FAKE_CUDA");
    return v && !strcmp(v, what);
}

int cuInit(unsigned flags) {
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    if (path && !library) fprintf(stderr, "fake: %s\n", dlerror());
    union {
        void *p;
        int (*f)(void);
    } u = {library ? dlsym(library, "InitializeInjection") : NULL};
    if (u.p) u.f();
    return flags != 0;
}
int cuDeviceGetName(char *name, int n, int device) { return snprintf(name, (size_t)n, "Fake"), device; }
int cuCtxSynchronize(void) { return 0; }
int cuStreamIsCapturing(void *stream, int *status) { return *status = 0, stream != NULL; }
int cuMemAllocHost_v2(void **p, size_t n) { return (*p = malloc(n)) == NULL; }

int cuModuleLoadData(void **module, const void *code, size_t n) { // the real one finds the size itself
    struct {
        uint32_t id;
        size_t n;
        const void *code;
    } loaded = {1, n, code};
    struct {
        void *context, *stream;
        const void *what;
    } resource = {NULL, NULL, &loaded};
    *module = malloc(1);
    if (listener) listener(listeners_own, 3, 6, &resource);
    return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = module;
    return strcmp(name, "saxpy") ? 500 : 0;
}
int cuFuncGetModule(void **module, void *function) { return *module = function, 0; }
int cuModuleGetGlobal_v2(uint64_t *addr, size_t *n, void *module, const char *name) {
    (void)module, (void)name;
    return *addr = 0, *n = 0, 500;
}
int cuFuncGetParamInfo(void *function, size_t i, size_t *offset, size_t *size) {
    static const size_t offsets[] = {0, 4, 8, 16}, sizes[] = {4, 4, 8, 8}; // n, a, x, y
    if (!function || i > 3) return 1;
    *offset = offsets[i];
    *size = sizes[i];
    return 0;
}
int cuMemAlloc_v2(uint64_t *addr, size_t n) {
    struct {
        uint64_t *addr;
        size_t n;
    } p = {addr, n};
    int result = 0;
    tell(243, 0, &p, NULL, NULL);
    static char pool[8 << 20] __attribute__((aligned(512))); // a GPU's memory is in one place
    static size_t used;
    if (n > sizeof pool - used) return 2;
    *addr = (uint64_t)(uintptr_t)(pool + used);
    used += (n + 511) / 512 * 512;
    tell(243, 1, &p, &result, NULL);
    return 0;
}
int cuMemFree_v2(uint64_t addr) {
    int result = 0;
    tell(245, 0, &addr, NULL, NULL);
    tell(245, 1, &addr, &result, NULL);
    return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) {
    return memcpy((void *)(uintptr_t)to, from, n), 0;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) { return memcpy(to, (void *)(uintptr_t)from, n), 0; }

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    struct {
        void *function;
        unsigned grid[3], block[3], shared;
        void *stream, **params, **extra;
    } p = {function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra};
    int result = 0;
    tell(307, 0, &p, NULL, "saxpy");
    struct {
        int n;
        float a, *x, *y;
    } k;
    if (params) {
        memcpy(&k.n, params[0], 4), memcpy(&k.a, params[1], 4);
        memcpy(&k.x, params[2], 8), memcpy(&k.y, params[3], 8);
    } else {
        memcpy(&k, extra[1], sizeof k);
    }
    for (int i = 0; i < k.n; i++) k.y[i] = __builtin_fmaf(k.a, k.x[i], k.y[i]);
    if (is("wrong")) k.y[k.n - 1] += 1;
    tell(307, 1, &p, &result, "saxpy");
    if (is("killed")) raise(SIGKILL);
    return 0;
}
