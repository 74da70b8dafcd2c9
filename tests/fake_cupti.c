// A GPU, its driver and CUPTI without a GPU, for tests/test_capture.sh: libcuda.so.1 and libcupti.so in one.
// Memory is the host's; the one kernel, `saxpy` of workloads/saxpy, is computed here; what a program calls is
// told to whoever has subscribed. $FAKE_CUDA: "wrong" changes one number that the kernel leaves; "killed"
// ends the process after a launch; "host" has graphs of host functions.
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

// What the kernel does, wherever it is launched from.
struct arguments {
    int n;
    float a, *x, *y;
};
static void saxpy(const struct arguments *k) {
    static const uint32_t nan = 0x7fffffff; // the only one that a GPU makes; a CPU keeps its operand's bits
    for (int i = 0; i < k->n; i++) {
        k->y[i] = __builtin_fmaf(k->a, k->x[i], k->y[i]);
        if (k->y[i] != k->y[i]) memcpy(&k->y[i], &nan, sizeof nan);
    }
    if (is("wrong")) k->y[k->n - 1] += 1;
}

// ---- graphs: a list of kernels and fills, each after the one before
// --------------------------------------------
struct kernel_node { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    unsigned grid[3], block[3], shared;
    void **params, **extra, *kernel, *context;
};
struct fill_node { // CUDA_MEMSET_NODE_PARAMS
    uint64_t to, pitch;
    uint32_t value, size;
    uint64_t width, height;
};
struct node {
    int type; // 0: kernel, 2: fill
    struct kernel_node kernel;
    struct fill_node fill;
    struct arguments k;
    void *at[4];
};
struct graph {
    struct node *nodes[16];
    size_t n;
};
int cuGraphCreate(void **g, unsigned flags) { return *g = calloc(1, sizeof(struct graph)), flags != 0; }
int cuGraphDestroy(void *g) { return free(g), 0; } // nodes stay: a test is short
int cuGraphAddKernelNode_v2(void **node, void *g, void *const *after, size_t n, const void *params) {
    struct graph *graph = g;
    struct node *x = calloc(1, sizeof *x);
    (void)after, (void)n;
    x->kernel = *(const struct kernel_node *)params;
    memcpy(&x->k.n, x->kernel.params[0], 4), memcpy(&x->k.a, x->kernel.params[1], 4);
    memcpy(&x->k.x, x->kernel.params[2], 8), memcpy(&x->k.y, x->kernel.params[3], 8);
    x->at[0] = &x->k.n, x->at[1] = &x->k.a, x->at[2] = &x->k.x, x->at[3] = &x->k.y;
    x->kernel.params = x->at;
    *node = graph->nodes[graph->n++] = x;
    return 0;
}
int cuGraphAddMemsetNode(void **node, void *g, void *const *after, size_t n, const void *params,
                         void *context) {
    struct graph *graph = g;
    struct node *x = calloc(1, sizeof *x);
    (void)after, (void)n, (void)context;
    x->type = 2;
    x->fill = *(const struct fill_node *)params;
    *node = graph->nodes[graph->n++] = x;
    return 0;
}
int cuGraphClone(void **to, void *g) {
    *to = malloc(sizeof(struct graph));
    return memcpy(*to, g, sizeof(struct graph)), 0;
}
int cuGraphGetNodes(void *g, void **nodes, size_t *n) {
    struct graph *graph = g;
    if (nodes) memcpy(nodes, graph->nodes, graph->n * sizeof *nodes);
    return *n = graph->n, 0;
}
int cuGraphGetEdges(void *g, void **from, void **to, size_t *n) {
    struct graph *graph = g;
    *n = graph->n ? graph->n - 1 : 0;
    for (size_t i = 0; from && i < *n; i++) from[i] = graph->nodes[i], to[i] = graph->nodes[i + 1];
    return 0;
}
int cuGraphNodeGetType(void *node, int *type) {
    return *type = is("host") ? 3 : ((struct node *)node)->type, 0;
}
int cuGraphChildGraphNodeGetGraph(void *node, void **g) { return (void)node, *g = NULL, 1; }
int cuGraphKernelNodeGetParams_v2(void *node, void *params) {
    return memcpy(params, &((struct node *)node)->kernel, sizeof(struct kernel_node)), 0;
}
int cuGraphMemsetNodeGetParams(void *node, void *params) {
    return memcpy(params, &((struct node *)node)->fill, sizeof(struct fill_node)), 0;
}
int cuGraphKernelNodeCopyAttributes(void *to, void *from) { return !to || !from; }
int cuFuncGetName(const char **name, void *function) { return *name = "saxpy", !function; }
int cuGraphExecDestroy(void *exec) { return free(exec), 0; }
int cuGraphInstantiateWithFlags(void **exec, void *g, unsigned long long flags) {
    struct {
        void **exec, *graph;
        unsigned long long flags;
    } p = {exec, g, flags};
    int result = cuGraphClone(exec, g);
    tell(643, 1, &p, &result, NULL);
    return result;
}
int cuGraphLaunch(void *exec, void *stream) {
    struct {
        void *exec, *stream;
    } p = {exec, stream};
    struct graph *graph = exec;
    tell(514, 0, &p, NULL, NULL);
    for (size_t i = 0; i < graph->n; i++) {
        const struct node *x = graph->nodes[i];
        if (x->type)
            memset((void *)(uintptr_t)x->fill.to, (int)x->fill.value, x->fill.width * x->fill.size);
        else
            saxpy(&x->k);
    }
    return 0;
}

// ---- NVTX, as its headers do it
// --------------------------------------------------------------------------------
static int (*push)(const char *);
static int (*pop)(void);
static int table_of(int module, void ****table, unsigned *n) {
    static void **slots[16];
    slots[9] = (void **)&push, slots[11] = (void **)&pop;
    *table = slots, *n = 16;
    return module == 1;
}
static const void *tables(uint32_t id) {
    static struct {
        size_t size;
        int (*f)(int, void ****, unsigned *);
    } callbacks = {sizeof callbacks, table_of};
    return id == 1 ? &callbacks : NULL;
}
void range_push(const char *name) {
    static int tried;
    const char *path = getenv("NVTX_INJECTION64_PATH");
    union {
        void *p;
        int (*f)(const void *(*)(uint32_t));
    } u = {path && !tried++ ? dlsym(dlopen(path, RTLD_NOW), "InitializeInjectionNvtx2") : NULL};
    if (u.p) u.f(tables);
    if (push) push(name);
}
void range_pop(void) {
    if (pop) pop();
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    struct {
        void *function;
        unsigned grid[3], block[3], shared;
        void *stream, **params, **extra;
    } p = {function, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra};
    int result = 0;
    tell(307, 0, &p, NULL, "saxpy");
    struct arguments k;
    if (params) {
        memcpy(&k.n, params[0], 4), memcpy(&k.a, params[1], 4);
        memcpy(&k.x, params[2], 8), memcpy(&k.y, params[3], 8);
    } else {
        memcpy(&k, extra[1], sizeof k);
    }
    saxpy(&k);
    tell(307, 1, &p, &result, "saxpy");
    if (is("killed")) raise(SIGKILL);
    return 0;
}
