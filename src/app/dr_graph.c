// The driver API: graphs put together node by node, and what of captures and functions the runtime has under
// other names.
//
// A kernel's parameters are those of the runtime with a function or a kernel in the place of its stub; nodes
// of other kinds have the same layout, but copies, which the driver describes in its own way.
#include "app/dr.h"

#include <stdlib.h>
#include <string.h>

typedef struct { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    dim3 grid, block;
    unsigned shared;
    void **args, **extra;
    void *kernel, *context;
} driver_kernel_node;

int orr_cudaGraphAddKernelNode(void **, void *, void *const *, size_t, const kernel_node *);
int orr_cudaGraphKernelNodeGetParams(void *, kernel_node *);
int orr_cudaGraphKernelNodeSetParams(void *, const kernel_node *);
int orr_cudaGraphExecKernelNodeSetParams(void *, void *, const kernel_node *);
int orr_cudaGraphAddMemsetNode(void **, void *, void *const *, size_t, const memset_node *);
int orr_cudaGraphMemsetNodeGetParams(void *, memset_node *);
int orr_cudaGraphMemsetNodeSetParams(void *, const memset_node *);
int orr_cudaGraphExecMemsetNodeSetParams(void *, void *, const memset_node *);
int orr_cudaGraphAddHostNode(void **, void *, void *const *, size_t, const host_node *);
int orr_cudaGraphHostNodeGetParams(void *, host_node *);
int orr_cudaGraphHostNodeSetParams(void *, const host_node *);
int orr_cudaGraphExecHostNodeSetParams(void *, void *, const host_node *);
int orr_cudaGraphAddChildGraphNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphChildGraphNodeGetGraph(void *, void **);
int orr_cudaGraphExecChildGraphNodeSetParams(void *, void *, void *);
int orr_cudaGraphAddEmptyNode(void **, void *, void *const *, size_t);
int orr_cudaGraphAddEventRecordNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphAddEventWaitNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphAddMemFreeNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphAddMemAllocNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphAddNode(void **, void *, void *const *, const void *, size_t, void *);
int orr_cudaGraphAddDependencies(void *, void *const *, void *const *, const void *, size_t);
int orr_cudaGraphRemoveDependencies(void *, void *const *, void *const *, const void *, size_t);
int orr_cudaGraphGetEdges(void *, void **, void **, void *, size_t *);
int orr_cudaGraphNodeGetDependencies(void *, void **, void *, size_t *);
int orr_cudaGraphNodeGetDependentNodes(void *, void **, void *, size_t *);
int orr_cudaGraphGetNodes(void *, void **, size_t *);
int orr_cudaGraphGetRootNodes(void *, void **, size_t *);
int orr_cudaGraphNodeGetType(void *, int *);
int orr_cudaGraphNodeFindInClone(void **, void *, void *);
int orr_cudaGraphNodeSetEnabled(void *, void *, unsigned);
int orr_cudaGraphNodeGetEnabled(void *, void *, unsigned *);
int orr_cudaGraphClone(void **, void *);
int orr_cudaGraphDestroyNode(void *);
int orr_cudaGraphInstantiateWithParams(void **, void *, void *);
int orr_cudaGraphExecUpdate(void *, void *, void *);
int orr_graph_exec_update_11(void *, void *, void **, int *);
int orr_cudaGraphDebugDotPrint(void *, const char *, unsigned);
int orr_cudaGraphConditionalHandleCreate(uint64_t *, void *, unsigned, unsigned);
int orr_cudaStreamBeginCaptureToGraph(void *, void *, void *const *, const void *, size_t, int);
int orr_cudaStreamUpdateCaptureDependencies(void *, void *const *, const void *, size_t, unsigned);
int orr_cudaStreamGetCaptureInfo(void *, int *, unsigned long long *, void **, void ***, const void **,
                                 size_t *);
int orr_cudaStreamGetAttribute(void *, int, void *);
int orr_cudaStreamSetAttribute(void *, int, const void *);
int orr_cudaStreamCopyAttributes(void *, void *);
int orr_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *, const void *, int, int);

// ---- kernels --------------------------------------------------------------------------------------------
static kernel_node as_runtime(const driver_kernel_node *p) {
    return (kernel_node){
        p->function ? p->function : p->kernel, p->grid, p->block, p->shared, p->args, p->extra};
}
API int cuGraphAddKernelNode_v2(void **node, void *graph, void *const *needs, size_t n,
                                const driver_kernel_node *p) {
    if (!p) return E_VALUE;
    const kernel_node k = as_runtime(p);
    return BY_RUNTIME(orr_cudaGraphAddKernelNode(node, graph, needs, n, &k));
}
API int cuGraphKernelNodeGetParams_v2(void *node, driver_kernel_node *p) {
    kernel_node k = {0};
    if (!p) return E_VALUE;
    int error = BY_RUNTIME(orr_cudaGraphKernelNodeGetParams(node, &k));
    if (!error)
        *p = (driver_kernel_node){k.func, k.grid, k.block, k.dynamic_shared, k.args, k.extra, NULL, NULL};
    return error;
}
API int cuGraphKernelNodeSetParams_v2(void *node, const driver_kernel_node *p) {
    if (!p) return E_VALUE;
    const kernel_node k = as_runtime(p);
    return BY_RUNTIME(orr_cudaGraphKernelNodeSetParams(node, &k));
}
API int cuGraphExecKernelNodeSetParams_v2(void *exec, void *node, const driver_kernel_node *p) {
    if (!p) return E_VALUE;
    const kernel_node k = as_runtime(p);
    return BY_RUNTIME(orr_cudaGraphExecKernelNodeSetParams(exec, node, &k));
}
API int cuGraphKernelNodeCopyAttributes(void *to, void *from) { return to && from ? E_OK : E_VALUE; }
API int cuGraphKernelNodeSetAttribute(void *node, int which, const void *value) {
    (void)which;
    return node && value ? E_OK : E_VALUE;
}
API int cuGraphKernelNodeGetAttribute(void *node, int which, void *value) {
    (void)which;
    if (value) memset(value, 0, 64);
    return node && value ? E_OK : E_VALUE;
}

// ---- copies ---------------------------------------------------------------------------------------------
API int cuGraphAddMemcpyNode(void **node, void *graph, void *const *needs, size_t n, const void *p,
                             void *context) {
    (void)context;
    DR_ENTER();
    app_call c;
    if (!graph || (n && !needs)) return app_leave_driver(E_VALUE);
    int error = app_copy_3d_call(p, &c);
    app_node *added = error ? NULL : app_graph_add(graph, &c, (app_node *const *)needs, n);
    if (node) *node = added;
    return app_leave_driver(error);
}
static int set_copy(app_node *n, const void *p) {
    app_call c;
    int error = n && n->call.what == DO_COPY ? app_copy_3d_call(p, &c) : E_VALUE;
    if (!error) n->call = c;
    return error;
}
API int cuGraphMemcpyNodeSetParams(void *node, const void *p) {
    DR_ENTER();
    return app_leave_driver(set_copy(node, p));
}
API int cuGraphExecMemcpyNodeSetParams(void *exec, void *node, const void *p, void *context) {
    (void)context;
    DR_ENTER();
    const app_graph *g = exec;
    for (size_t i = 0; g && i < g->nodes.n; i++)
        if (g->nodes.at[i]->origin == node) return app_leave_driver(set_copy(g->nodes.at[i], p));
    return app_leave_driver(E_VALUE);
}

// ---- nodes of other kinds -------------------------------------------------------------------------------
API int cuGraphAddMemsetNode(void **node, void *graph, void *const *needs, size_t n, const memset_node *p,
                             void *context) {
    (void)context;
    return BY_RUNTIME(orr_cudaGraphAddMemsetNode(node, graph, needs, n, p));
}
API int cuGraphMemsetNodeGetParams(void *node, memset_node *p) {
    return BY_RUNTIME(orr_cudaGraphMemsetNodeGetParams(node, p));
}
API int cuGraphMemsetNodeSetParams(void *node, const memset_node *p) {
    return BY_RUNTIME(orr_cudaGraphMemsetNodeSetParams(node, p));
}
API int cuGraphExecMemsetNodeSetParams(void *exec, void *node, const memset_node *p, void *context) {
    (void)context;
    return BY_RUNTIME(orr_cudaGraphExecMemsetNodeSetParams(exec, node, p));
}
API int cuGraphAddHostNode(void **node, void *graph, void *const *needs, size_t n, const host_node *p) {
    return BY_RUNTIME(orr_cudaGraphAddHostNode(node, graph, needs, n, p));
}
API int cuGraphHostNodeGetParams(void *node, host_node *p) {
    return BY_RUNTIME(orr_cudaGraphHostNodeGetParams(node, p));
}
API int cuGraphHostNodeSetParams(void *node, const host_node *p) {
    return BY_RUNTIME(orr_cudaGraphHostNodeSetParams(node, p));
}
API int cuGraphExecHostNodeSetParams(void *exec, void *node, const host_node *p) {
    return BY_RUNTIME(orr_cudaGraphExecHostNodeSetParams(exec, node, p));
}
API int cuGraphAddChildGraphNode(void **node, void *graph, void *const *needs, size_t n, void *child) {
    return BY_RUNTIME(orr_cudaGraphAddChildGraphNode(node, graph, needs, n, child));
}
API int cuGraphChildGraphNodeGetGraph(void *node, void **graph) {
    return BY_RUNTIME(orr_cudaGraphChildGraphNodeGetGraph(node, graph));
}
API int cuGraphExecChildGraphNodeSetParams(void *exec, void *node, void *child) {
    return BY_RUNTIME(orr_cudaGraphExecChildGraphNodeSetParams(exec, node, child));
}
API int cuGraphAddEmptyNode(void **node, void *graph, void *const *needs, size_t n) {
    return BY_RUNTIME(orr_cudaGraphAddEmptyNode(node, graph, needs, n));
}
API int cuGraphAddEventRecordNode(void **node, void *graph, void *const *needs, size_t n, void *event) {
    return BY_RUNTIME(orr_cudaGraphAddEventRecordNode(node, graph, needs, n, event));
}
API int cuGraphAddEventWaitNode(void **node, void *graph, void *const *needs, size_t n, void *event) {
    return BY_RUNTIME(orr_cudaGraphAddEventWaitNode(node, graph, needs, n, event));
}
API int cuGraphAddMemAllocNode(void **node, void *graph, void *const *needs, size_t n, void *p) {
    return BY_RUNTIME(orr_cudaGraphAddMemAllocNode(node, graph, needs, n, p));
}
API int cuGraphAddMemFreeNode(void **node, void *graph, void *const *needs, size_t n, uint64_t p) {
    return BY_RUNTIME(orr_cudaGraphAddMemFreeNode(node, graph, needs, n, (void *)(uintptr_t)p));
}
// CUgraphNodeParams is cudaGraphNodeParams but for kernels, whose function may be in the field behind, and
// copies.
API int cuGraphAddNode_v2(void **node, void *graph, void *const *needs, const void *edges, size_t n,
                          void *p) {
    enum { PARAMS = 16, COPY = 16 }; // bytes before them, and before a copy's own
    if (!p) return E_VALUE;
    char *of = (char *)p + PARAMS;
    if (*(int *)p == 0)
        return cuGraphAddKernelNode_v2(node, graph, needs, n, (driver_kernel_node *)(void *)of);
    if (*(int *)p == 1) return cuGraphAddMemcpyNode(node, graph, needs, n, of + COPY, NULL);
    return BY_RUNTIME(orr_cudaGraphAddNode(node, graph, needs, edges, n, p));
}
API int cuGraphAddNode(void **node, void *graph, void *const *needs, size_t n, void *p) {
    return cuGraphAddNode_v2(node, graph, needs, NULL, n, p);
}
API int cuGraphConditionalHandleCreate(uint64_t *handle, void *graph, void *context, unsigned value,
                                       unsigned flags) {
    (void)context;
    return BY_RUNTIME(orr_cudaGraphConditionalHandleCreate(handle, graph, value, flags));
}

// ---- the graph ------------------------------------------------------------------------------------------
API int cuGraphAddDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges,
                                  size_t n) {
    return BY_RUNTIME(orr_cudaGraphAddDependencies(graph, from, to, edges, n));
}
API int cuGraphAddDependencies(void *graph, void *const *from, void *const *to, size_t n) {
    return cuGraphAddDependencies_v2(graph, from, to, NULL, n);
}
API int cuGraphRemoveDependencies_v2(void *graph, void *const *from, void *const *to, const void *edges,
                                     size_t n) {
    return BY_RUNTIME(orr_cudaGraphRemoveDependencies(graph, from, to, edges, n));
}
API int cuGraphRemoveDependencies(void *graph, void *const *from, void *const *to, size_t n) {
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, n);
}
API int cuGraphGetEdges_v2(void *graph, void **from, void **to, void *data, size_t *n) {
    return BY_RUNTIME(orr_cudaGraphGetEdges(graph, from, to, data, n));
}
API int cuGraphGetEdges(void *graph, void **from, void **to, size_t *n) {
    return cuGraphGetEdges_v2(graph, from, to, NULL, n);
}
API int cuGraphNodeGetDependencies_v2(void *node, void **needs, void *data, size_t *n) {
    return BY_RUNTIME(orr_cudaGraphNodeGetDependencies(node, needs, data, n));
}
API int cuGraphNodeGetDependencies(void *node, void **needs, size_t *n) {
    return cuGraphNodeGetDependencies_v2(node, needs, NULL, n);
}
API int cuGraphNodeGetDependentNodes_v2(void *node, void **list, void *data, size_t *n) {
    return BY_RUNTIME(orr_cudaGraphNodeGetDependentNodes(node, list, data, n));
}
API int cuGraphNodeGetDependentNodes(void *node, void **list, size_t *n) {
    return cuGraphNodeGetDependentNodes_v2(node, list, NULL, n);
}
API int cuGraphGetNodes(void *graph, void **nodes, size_t *n) {
    return BY_RUNTIME(orr_cudaGraphGetNodes(graph, nodes, n));
}
API int cuGraphGetRootNodes(void *graph, void **nodes, size_t *n) {
    return BY_RUNTIME(orr_cudaGraphGetRootNodes(graph, nodes, n));
}
API int cuGraphNodeGetType(void *node, int *type) { return BY_RUNTIME(orr_cudaGraphNodeGetType(node, type)); }
API int cuGraphNodeFindInClone(void **to, void *node, void *clone) {
    return BY_RUNTIME(orr_cudaGraphNodeFindInClone(to, node, clone));
}
API int cuGraphNodeSetEnabled(void *exec, void *node, unsigned on) {
    return BY_RUNTIME(orr_cudaGraphNodeSetEnabled(exec, node, on));
}
API int cuGraphNodeGetEnabled(void *exec, void *node, unsigned *on) {
    return BY_RUNTIME(orr_cudaGraphNodeGetEnabled(exec, node, on));
}
API int cuGraphClone(void **to, void *graph) { return BY_RUNTIME(orr_cudaGraphClone(to, graph)); }
API int cuGraphDestroyNode(void *node) { return BY_RUNTIME(orr_cudaGraphDestroyNode(node)); }
API int cuGraphInstantiateWithParams(void **exec, void *graph, void *p) {
    return BY_RUNTIME(orr_cudaGraphInstantiateWithParams(exec, graph, p));
}
API int cuGraphExecUpdate(void *exec, void *graph, void **node, int *code) { // of CUDA 11
    return BY_RUNTIME(orr_graph_exec_update_11(exec, graph, node, code));
}
API int cuGraphExecUpdate_v2(void *exec, void *graph, void *result) {
    return BY_RUNTIME(orr_cudaGraphExecUpdate(exec, graph, result));
}
API int cuGraphExecGetFlags(void *exec, uint64_t *flags) {
    if (flags) *flags = 0;
    return exec && flags ? E_OK : E_VALUE;
}
API int cuGraphDebugDotPrint(void *graph, const char *path, unsigned flags) {
    return BY_RUNTIME(orr_cudaGraphDebugDotPrint(graph, path, flags));
}

// ---- captures -------------------------------------------------------------------------------------------
API int cuThreadExchangeStreamCaptureMode(int *mode) { return mode ? E_OK : E_VALUE; }
API int cuStreamBeginCaptureToGraph(void *stream, void *graph, void *const *needs, const void *edges,
                                    size_t n, int mode) {
    return BY_RUNTIME(orr_cudaStreamBeginCaptureToGraph(stream, graph, needs, edges, n, mode));
}
API int cuStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id, void **graph,
                                  void ***needs, const void **edges, size_t *n) {
    return BY_RUNTIME(orr_cudaStreamGetCaptureInfo(stream, status, id, graph, needs, edges, n));
}
API int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph,
                                  void ***needs, size_t *n) {
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, needs, NULL, n);
}
API int cuStreamUpdateCaptureDependencies_v2(void *stream, void *const *needs, const void *edges, size_t n,
                                             unsigned flags) {
    return BY_RUNTIME(orr_cudaStreamUpdateCaptureDependencies(stream, needs, edges, n, flags));
}
API int cuStreamUpdateCaptureDependencies(void *stream, void *const *needs, size_t n, unsigned flags) {
    return cuStreamUpdateCaptureDependencies_v2(stream, needs, NULL, n, flags);
}
API int cuStreamGetAttribute(void *stream, int which, void *value) {
    return BY_RUNTIME(orr_cudaStreamGetAttribute(stream, which, value));
}
API int cuStreamSetAttribute(void *stream, int which, const void *value) {
    return BY_RUNTIME(orr_cudaStreamSetAttribute(stream, which, value));
}
API int cuStreamCopyAttributes(void *to, void *from) {
    return BY_RUNTIME(orr_cudaStreamCopyAttributes(to, from));
}
API int cuStreamGetDevice(void *stream, int *device) {
    DR_ENTER();
    const app_stream *s = app_stream_of(stream);
    if (s && device) *device = app_device_now();
    return app_leave_driver(s ? device ? E_OK : E_VALUE : E_HANDLE);
}

// ---- functions and contexts -------------------------------------------------------------------------
API int cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic, void *function, int blocks, int threads) {
    return BY_RUNTIME(orr_cudaOccupancyAvailableDynamicSMemPerBlock(dynamic, function, blocks, threads));
}
API int cuProfilerStart(void) { return E_OK; }
API int cuProfilerStop(void) { return E_OK; }
API int cuCtxGetId(void *context, unsigned long long *id) {
    if (id) *id = (uintptr_t)context;
    return id ? E_OK : E_VALUE;
}
API int cuCtxGetCacheConfig(int *config) {
    if (config) *config = 0; // no preference
    return config ? E_OK : E_VALUE;
}
API int cuCtxSetCacheConfig(int config) { return config >= 0 && config <= 3 ? E_OK : E_VALUE; }
API int cuCtxResetPersistingL2Cache(void) { return E_OK; }
API int cuKernelSetCacheConfig(void *kernel, int config, int device) {
    (void)config, (void)device;
    return kernel ? E_OK : E_HANDLE;
}
// ---- a default stream for each thread (dr.h) ---------------------------------------------------------
#define SAME(name, suffix) __asm__(".globl " #name #suffix "\n.set " #name #suffix ", " #name);
// clang-format off
SAME(cuGraphInstantiateWithParams, _ptsz)
SAME(cuStreamBeginCaptureToGraph, _ptsz)
SAME(cuStreamCopyAttributes, _ptsz)
SAME(cuStreamGetAttribute, _ptsz)
SAME(cuStreamGetCaptureInfo_v2, _ptsz)
SAME(cuStreamGetCaptureInfo_v3, _ptsz)
SAME(cuStreamGetDevice, _ptsz)
SAME(cuStreamSetAttribute, _ptsz)
SAME(cuStreamUpdateCaptureDependencies, _ptsz)
SAME(cuStreamUpdateCaptureDependencies_v2, _ptsz)
// clang-format on
