// The driver's virtual memory, graphs put together node by node, fills of rows, pools and contexts, for
// tests/test_app.sh: driver FATBIN, tests/app/kernels.fatbin. Its types are declared here as CUDA's manual
// has them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int type, handles, where, id;
    void *win32;
    unsigned char flags[8];
} properties; // CUmemAllocationProp
typedef struct {
    int where, id, flags;
} access_desc; // CUmemAccessDesc
typedef struct {
    void *function;
    unsigned grid[3], block[3], shared;
    void **params, **extra, *kernel, *context;
} kernel_node; // CUDA_KERNEL_NODE_PARAMS
typedef struct {
    uint64_t to, pitch;
    unsigned value, size;
    size_t width, height;
} fill_node; // CUDA_MEMSET_NODE_PARAMS
typedef struct {
    size_t x, y, z, level;
    int type;
    const void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} side; // half of CUDA_MEMCPY3D
typedef struct {
    side from, to;
    size_t width, height, depth;
} copy_node;
enum { HOST = 1, DEVICE = 2, MB2 = 2 << 20 };

int cuInit(unsigned), cuModuleLoad(void **, const char *), cuModuleGetFunction(void **, void *, const char *);
int cuMemAddressReserve(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
int cuMemAddressFree(uint64_t, size_t), cuMemUnmap(uint64_t, size_t), cuMemRelease(uint64_t);
int cuMemCreate(uint64_t *, size_t, const properties *, unsigned long long);
int cuMemMap(uint64_t, size_t, size_t, uint64_t, unsigned long long);
int cuMemSetAccess(uint64_t, size_t, const access_desc *, size_t);
int cuMemGetAllocationGranularity(size_t *, const properties *, int);
int cuMemGetInfo_v2(size_t *, size_t *), cuMemAlloc_v2(uint64_t *, size_t), cuMemFree_v2(uint64_t);
int cuMemcpyDtoH_v2(void *, uint64_t, size_t), cuMemcpyHtoD_v2(uint64_t, const void *, size_t);
int cuMemsetD2D32_v2(uint64_t, size_t, unsigned, size_t, size_t), cuMemsetD32_v2(uint64_t, unsigned, size_t);
int cuMemsetD2D16_v2(uint64_t, size_t, unsigned short, size_t, size_t);
int cuGraphCreate(void **, unsigned), cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cuGraphLaunch(void *, void *), cuGraphDestroy(void *), cuGraphExecDestroy(void *), cuCtxSynchronize(void);
int cuGraphAddKernelNode_v2(void **, void *, void *const *, size_t, const kernel_node *);
int cuGraphAddMemsetNode(void **, void *, void *const *, size_t, const fill_node *, void *);
int cuGraphAddMemcpyNode(void **, void *, void *const *, size_t, const copy_node *, void *);
int cuGraphAddEmptyNode(void **, void *, void *const *, size_t), cuGraphDestroyNode(void *);
int cuGraphGetNodes(void *, void **, size_t *), cuGraphGetEdges(void *, void **, void **, size_t *);
int cuGraphExecKernelNodeSetParams_v2(void *, void *, const kernel_node *);
int cuGraphNodeGetType(void *, int *);
int cuLinkCreate_v2(unsigned, int *, void **, void **), cuLinkDestroy(void *);
int cuLinkAddData_v2(void *, int, const void *, size_t, const char *, unsigned, int *, void **);
int cuGetErrorName(int, const char **);
int cuLinkComplete(void *, void **, size_t *), cuModuleLoadData(void **, const void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                   void **, void **);
int cuDeviceGetDefaultMemPool(void **, int), cuMemAllocFromPoolAsync(uint64_t *, size_t, void *, void *);
int cuStreamWriteValue32_v2(void *, uint64_t, uint32_t, unsigned);
int cuStreamWaitValue32_v2(void *, uint64_t, uint32_t, unsigned);
int cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *), cuCtxGetCurrent(void **);
int cuCtxPushCurrent_v2(void *), cuCtxPopCurrent_v2(void **);
int cuFuncGetAttribute(int *, int, void *);
int cuModuleGetGlobal_v2(uint64_t *, size_t *, void *, const char *);
int cuMemGetAddressRange_v2(uint64_t *, size_t *, uint64_t);
int cuPointerGetAttributes(unsigned, const int *, void **, uint64_t);

static void must(int error, const char *what) {
    if (!error) return;
    printf("%s: error %d\n", what, error);
    exit(1);
}
#define MUST(call) must(call, #call)

static void virtual_memory(void) {
    properties p = {.type = 1, .where = 1};
    access_desc rights = {1, 0, 3};
    size_t grain, before, now, all;
    uint64_t at, first, second;
    unsigned x[4] = {0};
    MUST(cuMemGetInfo_v2(&before, &all));
    MUST(cuMemGetAllocationGranularity(&grain, &p, 0));
    MUST(cuMemAddressReserve(&at, 4 * grain, 0, 0, 0));
    MUST(cuMemCreate(&first, grain, &p, 0));
    MUST(cuMemCreate(&second, grain, &p, 0));
    MUST(cuMemGetInfo_v2(&now, &all));
    printf("granularity %zu, taken %zu\n", grain, before - now);
    MUST(cuMemMap(at, grain, 0, first, 0));
    MUST(cuMemMap(at + grain, grain, 0, second, 0));
    MUST(cuMemSetAccess(at, 2 * grain, &rights, 1));
    MUST(cuMemsetD32_v2(at + grain - 8, 0x11223344, 4)); // across both
    MUST(cuMemcpyDtoH_v2(x, at + grain - 8, sizeof x));
    printf("across: %x %x\n", x[0], x[3]);
    printf("where something is: %d\n", cuMemMap(at, grain, 0, second, 0));
    MUST(cuMemUnmap(at + grain, grain));
    MUST(cuMemMap(at + 2 * grain, grain, 0, second, 0)); // what was in it is found again
    MUST(cuMemcpyDtoH_v2(x, at + 2 * grain, 8));
    printf("moved: %x %x\n", x[0], x[1]);
    MUST(cuMemRelease(first));
    MUST(cuMemRelease(second));
    printf("in use: %d\n", cuMemAddressFree(at, 4 * grain));
    MUST(cuMemUnmap(at, 4 * grain));
    MUST(cuMemAddressFree(at, 4 * grain));
    MUST(cuMemGetInfo_v2(&now, &all));
    printf("left: %zu\n", before - now);
}

static void rows(void) {
    uint64_t d;
    unsigned x[16];
    MUST(cuMemAlloc_v2(&d, sizeof x));
    MUST(cuMemsetD32_v2(d, 0, 16));
    MUST(cuMemsetD2D32_v2(d, 16, 7, 2, 3));
    MUST(cuMemsetD2D16_v2(d + 12, 16, 0x102, 1, 4));
    MUST(cuMemcpyDtoH_v2(x, d, sizeof x));
    printf("rows: %u %u %u %x %u %u %x\n", x[0], x[1], x[2], x[3], x[9], x[12], x[15]);
    MUST(cuMemFree_v2(d));
}

// Of which version a kernel is (CU_FUNC_ATTRIBUTE_PTX_VERSION, _BINARY_VERSION); the variable that an address
// lies in.
static int versions(const char *path) {
    void *module, *function;
    int ptx, binary;
    uint64_t at, from;
    size_t bytes, all;
    MUST(cuModuleLoad(&module, path));
    MUST(cuModuleGetFunction(&function, module, "reverse"));
    MUST(cuFuncGetAttribute(&ptx, 5, function));
    MUST(cuFuncGetAttribute(&binary, 6, function));
    MUST(cuModuleGetGlobal_v2(&at, &bytes, module, "factors"));
    MUST(cuMemGetAddressRange_v2(&from, &all, at + 5));
    printf("PTX %d, binary %d, %d of %d bytes\n", ptx, binary, (int)(from - at), (int)all);
    return 0;
}

// 64 sevens and nines by a fill and a copy, turned round by a kernel.
static void graph(const char *path) {
    void *module, *function, *g, *exec, *nodes[5];
    uint64_t d;
    unsigned x[64], nines[32];
    for (int i = 0; i < 32; i++) nines[i] = 9;
    MUST(cuModuleLoad(&module, path));
    MUST(cuModuleGetFunction(&function, module, "reverse"));
    MUST(cuMemAlloc_v2(&d, sizeof x));
    MUST(cuGraphCreate(&g, 0));
    fill_node fill = {d, 0, 7, 4, 32, 1};
    MUST(cuGraphAddMemsetNode(&nodes[0], g, NULL, 0, &fill, NULL));
    copy_node copy = {{.type = HOST, .host = nines}, {.type = DEVICE, .device = d + 128}, 128, 1, 1};
    MUST(cuGraphAddMemcpyNode(&nodes[1], g, NULL, 0, &copy, NULL));
    MUST(cuGraphAddEmptyNode(&nodes[2], g, nodes, 2));
    void *args[] = {&d};
    kernel_node k = {function, {1, 1, 1}, {64, 1, 1}, sizeof x, args, NULL, NULL, NULL};
    MUST(cuGraphAddKernelNode_v2(&nodes[3], g, &nodes[2], 1, &k));
    MUST(cuGraphAddEmptyNode(&nodes[4], g, &nodes[3], 1));
    size_t edges = 0, count = 0;
    int type = -1;
    MUST(cuGraphGetEdges(g, NULL, NULL, &edges));
    MUST(cuGraphDestroyNode(nodes[4]));
    MUST(cuGraphGetNodes(g, NULL, &count));
    MUST(cuGraphNodeGetType(nodes[3], &type));
    printf("graph: %zu edges, %zu nodes, type %d\n", edges, count, type);
    MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
    MUST(cuGraphLaunch(exec, NULL));
    MUST(cuCtxSynchronize());
    MUST(cuMemcpyDtoH_v2(x, d, sizeof x));
    printf("reversed: %u %u %u %u\n", x[0], x[31], x[32], x[63]);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(g));
}

// Two files of PTX: each has its own `own`, of which only its own functions know; `pick` is weak in the
// first.
#define HEAD          ".version 8.0\n.target sm_80\n.address_size 64\n"
#define RETURNS(what) "{ .reg .b32 %r<3>; " what " st.param.b32 [r], %r1; ret; }\n"
static const char first_file[] =
    HEAD ".extern .func (.param .b32 r) twice (.param .b32 x);\n.extern .func (.param .b32 r) others ();\n"
         ".extern .global .align 4 .u32 total;\n.global .align 4 .u32 own = 5;\n"
         ".weak .func (.param .b32 r) pick () " RETURNS(
             "mov.u32 %r1, 1;") ".visible .entry go (.param .u64 out) {\n.reg .b32 %r<9>;\n.reg .b64 %d<3>;\n"
                                "ld.param.u64 %d1, [out];\nld.global.u32 %r1, [own];\n"
                                "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, "
                                "(a); ld.param.b32 %r2, [b]; }\n"
                                "ld.global.u32 %r3, [total];\n"
                                "{ .param .b32 b; call (b), pick, (); ld.param.b32 %r4, [b]; }\n"
                                "{ .param .b32 b; call (b), others, (); ld.param.b32 %r5, [b]; }\n"
                                "st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};\nret;\n}\n";
static const char second_file[] = HEAD
    ".global .align 4 .u32 own = 100;\n.visible .global .align 4 .u32 total = 7;\n"
    ".visible .func (.param .b32 r) twice (.param .b32 x) " RETURNS(
        "ld.param.b32 %r2, [x]; add.u32 %r1, %r2, %r2;") ".visible .func (.param .b32 r) pick "
                                                         "() " RETURNS("mov.u32 %r1, 2;") ".visible "
                                                                                          ".func "
                                                                                          "(.param .b32 "
                                                                                          "r) others "
                                                                                          "() " RETURNS(
                                                                                              "ld.global.u32 "
                                                                                              "%r1, [own];");

static void linked(void) {
    char log[200] = "?";
    int options[] = {5, 6}; // where errors are told, and how much room there is
    void *values[] = {log, (void *)sizeof log}, *state, *image, *module, *function;
    uint64_t out;
    size_t n;
    unsigned got[4];
    MUST(cuLinkCreate_v2(2, options, values, &state));
    MUST(cuLinkAddData_v2(state, 1, first_file, sizeof first_file, "first.ptx", 0, NULL, NULL));
    MUST(cuLinkAddData_v2(state, 1, second_file, sizeof second_file, "second.ptx", 0, NULL, NULL));
    MUST(cuLinkComplete(state, &image, &n));
    MUST(cuModuleLoadData(&module, image));
    MUST(cuLinkDestroy(state));
    MUST(cuModuleGetFunction(&function, module, "go"));
    MUST(cuMemAlloc_v2(&out, sizeof got));
    void *args[] = {&out};
    MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    MUST(cuMemcpyDtoH_v2(got, out, sizeof got));
    printf("linked: %u %u %u %u\n", got[0], got[1], got[2], got[3]);
    values[1] = (void *)sizeof log;
    MUST(cuLinkCreate_v2(2, options, values, &state));
    MUST(cuLinkAddData_v2(state, 1, second_file, sizeof second_file, "second.ptx", 0, NULL, NULL));
    MUST(cuLinkAddData_v2(state, 1, second_file, sizeof second_file, "third.ptx", 0, NULL, NULL));
    const char *name = "none";
    cuGetErrorName(cuLinkComplete(state, &image, &n), &name);
    printf("twice: %s", name);
    printf(" %s\n", log);
    MUST(cuLinkDestroy(state));
}

int main(int argc, char **argv) {
    void *pool, *context, *now;
    uint64_t d;
    unsigned kind = 0, managed = 7;
    const int which[] = {2, 8};
    void *to[] = {&kind, &managed};
    if (argc < 2) return 2;
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    if (argc == 3) return versions(argv[1]);
    MUST(cuCtxSetCurrent(NULL));
    MUST(cuCtxPushCurrent_v2(context));
    MUST(cuCtxGetCurrent(&now));
    printf("pushed: %d", now == context);
    MUST(cuCtxPopCurrent_v2(&now));
    printf(" %d", now == context);
    MUST(cuCtxGetCurrent(&now));
    printf(" %d\n", now == NULL);
    MUST(cuCtxSetCurrent(context));
    virtual_memory();
    rows();
    graph(argv[1]);
    linked();
    MUST(cuDeviceGetDefaultMemPool(&pool, 0));
    MUST(cuMemAllocFromPoolAsync(&d, 64, pool, NULL));
    MUST(cuPointerGetAttributes(2, which, to, d));
    MUST(cuStreamWriteValue32_v2(NULL, d, 5, 0));
    MUST(cuStreamWaitValue32_v2(NULL, d, 5, 1));
    printf("pool: %u %u\n", kind, managed);
    return 0;
}
