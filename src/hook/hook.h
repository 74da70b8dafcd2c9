// The library that captures (orrery capture): the CUDA driver loads it when a program first uses a GPU
// (CUDA_INJECTION64_PATH), and CUPTI calls it before and after every function of the driver, whoever calls
// it: the runtime, linked in or not, cuBLAS, PyTorch, Triton. Nothing is changed in the program.
//
//   cupti.c    listens: which functions are of interest, and what they are called with
//   memory.c   the program's allocations and its modules' variables, and which of them a kernel can reach
//   modules.c  machine code, as the driver loads it
//   texture.c  textures, surfaces and arrays
//   launch.c   a launch: memory before, memory after, its file
//   graph.c    a graph's launch, as launches of its nodes
//   condition.c   its conditional nodes
//
// One lock guards everything. The driver's functions that are called from here are not listened to (inside).
#ifndef ORR_HOOK_H
#define ORR_HOOK_H

#include "capture/capture.h"
#include "exec/texture.h"

// ---- the driver's functions that are called --------------------------------------------------------------
#define DRIVER(F)                                                                                            \
    F(cuCtxSynchronize, (void))                                                                              \
    F(cuStreamIsCapturing, (void *stream, int *status))                                                      \
    F(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                                              \
    F(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))                                        \
    F(cuMemAllocHost_v2, (void **p, size_t bytes))                                                           \
    F(cuFuncGetParamInfo, (void *function, size_t index, size_t *offset, size_t *size))                      \
    F(cuKernelGetFunction, (void **function, void *kernel))                                                  \
    F(cuFuncGetModule, (void **module, void *function))                                                      \
    F(cuModuleGetGlobal_v2, (uint64_t * addr, size_t * bytes, void *module, const char *name))               \
    F(cuArray3DGetDescriptor_v2, (void *descriptor, void *array))                                            \
    F(cuMipmappedArrayGetLevel, (void **array, void *mipmapped, unsigned level))                             \
    F(cuMemcpy3D_v2, (const void *copy))                                                                     \
    F(cuDeviceGetName, (char *name, int n, int device))                                                      \
    F(cuEventCreate, (void **event, unsigned flags))                                                         \
    F(cuEventRecord, (void *event, void *stream))                                                            \
    F(cuEventElapsedTime, (float *ms, void *from, void *to))                                                 \
    F(cuFuncGetName, (const char **name, void *function))                                                    \
    F(cuCtxGetCurrent, (void **context))                                                                     \
    F(cuGraphCreate, (void **graph, unsigned flags))                                                         \
    F(cuGraphClone, (void **clone, void *graph))                                                             \
    F(cuGraphDestroy, (void *graph))                                                                         \
    F(cuGraphGetNodes, (void *graph, void **nodes, size_t *n))                                               \
    F(cuGraphGetEdges, (void *graph, void **from, void **to, size_t *n))                                     \
    F(cuGraphGetEdges_v2, (void *graph, void **from, void **to, void *data, size_t *n))                      \
    F(cuGraphNodeGetType, (void *node, int *type))                                                           \
    F(cuGraphNodeFindInClone, (void **node, void *original, void *clone))                                    \
    F(cuGraphChildGraphNodeGetGraph, (void *node, void **graph))                                             \
    F(cuGraphKernelNodeGetParams_v2, (void *node, void *params))                                             \
    F(cuGraphKernelNodeSetParams_v2, (void *node, const void *params))                                       \
    F(cuGraphKernelNodeCopyAttributes, (void *to, void *from))                                               \
    F(cuGraphKernelNodeGetAttribute, (void *node, int id, void *value))                                      \
    F(cuGraphMemcpyNodeGetParams, (void *node, void *params))                                                \
    F(cuGraphMemcpyNodeSetParams, (void *node, const void *params))                                          \
    F(cuGraphMemsetNodeGetParams, (void *node, void *params))                                                \
    F(cuGraphMemsetNodeSetParams, (void *node, const void *params))                                          \
    F(cuGraphAddKernelNode_v2, (void **node, void *graph, void *const *, size_t n, const void *params))      \
    F(cuGraphAddMemcpyNode,                                                                                  \
      (void **node, void *graph, void *const *, size_t n, const void *params, void *context))                \
    F(cuGraphAddMemsetNode,                                                                                  \
      (void **node, void *graph, void *const *, size_t n, const void *params, void *context))                \
    F(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))                     \
    F(cuGraphLaunch, (void *exec, void *stream))                                                             \
    F(cuGraphExecDestroy, (void *exec))                                                                      \
    F(cuGraphConditionalHandleCreate,                                                                        \
      (uint64_t * handle, void *graph, void *context, unsigned first, unsigned flags))                       \
    F(cuGraphAddNode_v2,                                                                                     \
      (void **node, void *graph, void *const *, const void *edges, size_t n, void *params))                  \
    F(cuMemAlloc_v2, (uint64_t * addr, size_t bytes))                                                        \
    F(cuMemsetD32_v2, (uint64_t addr, unsigned value, size_t n))                                             \
    F(cuCtxGetDevice, (int *device))                                                                         \
    F(cuDeviceGetCount, (int *n))                                                                            \
    F(cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active))

typedef struct hook_driver {
#define F(name, args) int(*name) args;
    DRIVER(F)
#undef F
} hook_driver;

// ---- what there is ------------------------------------------------------------------------------
typedef struct hook_region { // memory that kernels may use
    uint64_t addr, bytes;
    const char *symbol;       // a variable's name; NULL: an allocation
    uint32_t module;          // of a variable
    bool host;                // the host's own: read as it is
    bool reached;             // by the launch that is being captured
    struct hook_array *array; // of which this is a copy; NULL: it is memory
    char *saved;              // contents before the graph that is being taken apart; NULL: not touched yet
} hook_region;

typedef struct hook_module { // machine code that was loaded
    uint64_t hash;
    char *code;
    size_t n;
    void *handle; // CUmodule, once a kernel of it was launched
    bool written, has_symbols;
    struct orr_module *parsed; // for --inputs-only
    bool unknown;              // it could not be parsed
} hook_module;

typedef struct hook_texture {
    uint64_t handle;
    const char *unknown; // why it cannot be kept; NULL: it can
    orr_texture t;
    struct hook_array *array; // NULL: of memory
} hook_texture;

typedef struct hook {
    hook_driver cu;
    orr_capture_writer *writer;
    const char *folder, *program, *kernels, *launches;
    const char *error;                             // why nothing is captured any more
    const char *range;                             // NVTX: only what these ranges launch
    bool measure, everything, inputs_only, sample; // everything: also what a kernel cannot reach
    bool saving;                                   // a graph is being taken apart (graph.c)
    int gpu;                                       // 1 + the device whose launches are captured; 0: none yet
    bool other_gpus;                               // have been told of
    uint64_t limit;                                // bytes of memory that a launch may have
    ORR_VEC(hook_region) regions;
    ORR_VEC(hook_module) modules;
    ORR_VEC(hook_texture) textures;
    bool reads_textures; // the launch that is being captured
    orr_numbers kinds;   // with --sample: by what makes launches alike, 1 + the number of the first
    uint32_t seen, captured, incomplete, alike, in_graphs;
    char *buffer; // of host memory, which copies go through
    void *event[2];
} hook;
extern hook the_hook;

#define HOOK_BUFFER (64u << 20)

void hook_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// ---- memory (memory.c) --------------------------------------------------------------------------
void hook_add(uint64_t addr, uint64_t bytes, bool host);
void hook_remove(uint64_t addr); // the region that begins there, if there is one
// Marks what a launch can reach, and nothing else: what its parameters point to, its module's variables, and
// what pointers in any of that point to, found by looking at every 8 bytes. On the way the pieces that are
// not as they were are written (`write`), and what a graph may change is saved. False: memory could not be
// read, or is more than the limit (*bytes says).
bool hook_reach(const void *params, size_t n, const hook_module *m, bool write, uint64_t *bytes);
bool hook_reach_place(uint64_t addr); // the region with this address, to save it
bool hook_write_after(void);          // what has changed of what was marked
bool hook_restore(void);              // everything that was saved is as it was, and no longer saved

// ---- textures (texture.c) -----------------------------------------------------------------------
void hook_texture_made(uint64_t handle, const void *resource, const void *how,
                       const void *view); // how: NULL, a surface
void hook_texture_gone(uint64_t handle);
bool hook_array_read(struct hook_array *a); // its copy is as it is
bool hook_array_write(struct hook_array *a);
bool hook_uses_textures(hook_module *m, const char *kernel);

// ---- modules (modules.c) ------------------------------------------------------------------------
void hook_add_module(const void *code, size_t n);
bool hook_parse(hook_module *m);                               // false: it cannot be
hook_module *hook_module_of(const char *kernel, void *handle); // NULL: none has it
void hook_add_symbols(uint32_t module);                        // the module's variables become regions

// ---- launches (launch.c) ------------------------------------------------------------------------
typedef struct hook_launch { // as CUPTI tells of it
    void *function, *stream;
    uint32_t grid[3], block[3], cluster[3], shared;
    bool cooperative;
    void **params, **extra;
    const char *kernel;
} hook_launch;
// Is the calling thread's GPU the one whose launches are captured, the first that was used? Asked without the
// lock: what runs on another GPU may be what a captured kernel waits for.
bool hook_on_this_gpu(const char *kernel);
bool hook_chosen(const char *kernel, uint32_t index);
bool hook_before(const hook_launch *l); // false: it is not captured, and hook_after must not be called
void hook_after(const hook_launch *l);
bool hook_save_for(const hook_launch *l); // of a graph, not captured: what it may change is saved
const uint8_t *hook_params(size_t *n);    // of the launch that one of these was called for

// ---- graphs (graph.c) ---------------------------------------------------------------------------
void hook_graph_made(void *exec, void *graph); // also when `exec` is given the parameters of another graph
void hook_graph_gone(void *exec);
enum hook_node { NODE_KERNEL, NODE_MEMCPY, NODE_MEMSET, NODE_OTHER };
void hook_graph_node(void *exec, void *node, enum hook_node kind, const void *params); // has new parameters
// Each node by itself, in an order that the graph allows, its kernels captured; then memory as it was, so
// that the graph can be launched.
void hook_graph(void *exec, void *stream);
typedef struct hook_kernel_node { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    uint32_t grid[3], block[3], shared;
    void **params, **extra, *kernel, *context;
} hook_kernel_node;

// ---- conditions (condition.c) -------------------------------------------------------------------
enum { HOOK_IF, HOOK_WHILE, HOOK_SWITCH }; // CUgraphConditionalNodeType
typedef struct hook_condition {            // a conditional node
    uint64_t handle;
    int kind;
    unsigned n;
    void **graphs; // n that it chooses among
} hook_condition;
void hook_condition_new(uint64_t handle, unsigned first, unsigned how);
void hook_condition_node(void *node, const void *params);    // a node was made; of any type
const hook_condition *hook_condition_of(const void *node);   // NULL: it is none, or was not seen
unsigned hook_condition_value(uint64_t handle, bool begins); // begins: its graph is launched now
bool hook_condition_named(const uint8_t *params, size_t n);  // has a kernel a handle among its parameters?
// The kernel, in a graph of its own; what its conditions are then is known.
bool hook_condition_run(void *node, const hook_kernel_node *k, const uint8_t *params, size_t n, void *stream);

#endif
