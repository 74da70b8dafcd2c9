// The runtime API: looking at the nodes of graphs and changing them, and nodes that allocate.
//
// Memory that a graph allocates has its address from the moment the node is made, as in CUDA; here it is
// there from then on, until the device is reset. Freeing it, in the graph or outside, makes its contents
// undefined and nothing else, so a graph can be launched as often as one likes.
#include "app/rt.h"

#include <stdlib.h>
#include <string.h>

static app_node *in_exec(void *exec, void *node) {
    app_graph *g = exec;
    for (size_t i = 0; g && i < g->nodes.n; i++)
        if (g->nodes.at[i]->origin == node || g->nodes.at[i] == node) return g->nodes.at[i];
    return NULL;
}
static app_node *node_of(void *node, int what) {
    app_node *n = node;
    return n && n->call.what == what ? n : NULL;
}

// ---- nodes that allocate ----------------------------------------------------------------------------
typedef struct { // cudaMemAllocNodeParams
    char pool[88];
    const void *access;
    size_t naccess, bytes;
    void *ptr;
} alloc_node;

static int add(void **node, void *graph, void *const *needs, size_t n, const app_call *c) {
    if (!graph || (n && !needs)) return E_VALUE;
    app_node *added = app_graph_add(graph, c, (app_node *const *)needs, n);
    if (node) *node = added;
    return E_OK;
}
RT(cudaGraphAddMemAllocNode)(void **node, void *graph, void *const *needs, size_t n, alloc_node *p) {
    ENTER();
    if (!p || !graph) return app_leave(E_VALUE);
    int error = app_alloc_kept(p->bytes, "memory of a graph", &p->ptr);
    app_call c = {.what = DO_ALLOC, .user = p->ptr, .size = {p->bytes, 1, 1}};
    return app_leave(error ? error : add(node, graph, needs, n, &c));
}
RT(cudaGraphAddMemFreeNode)(void **node, void *graph, void *const *needs, size_t n, void *p) {
    ENTER();
    app_call c = {.what = DO_FREE, .user = p};
    return app_leave(p ? add(node, graph, needs, n, &c) : E_VALUE);
}
RT(cudaGraphMemAllocNodeGetParams)(void *node, alloc_node *p) {
    ENTER();
    app_node *n = node_of(node, DO_ALLOC);
    if (!n || !p) return app_leave(E_VALUE);
    *p = (alloc_node){.bytes = n->call.size.width, .ptr = n->call.user};
    return app_leave(E_OK);
}
RT(cudaGraphMemFreeNodeGetParams)(void *node, void **p) {
    ENTER();
    app_node *n = node_of(node, DO_FREE);
    if (n && p) *p = n->call.user;
    return app_leave(n && p ? E_OK : E_VALUE);
}
RT(cudaDeviceGetGraphMemAttribute)(int device, int which, uint64_t *value) {
    ENTER();
    if (device || !value || which < 0 || which > 3) return app_leave(device ? E_DEVICE : E_VALUE);
    *value = 0;
    for (size_t i = 0; i < the_app.blocks.n; i++)
        if (the_app.blocks.at[i].kept) *value += the_app.blocks.at[i].bytes;
    return app_leave(E_OK);
}
RT(cudaDeviceSetGraphMemAttribute)(int device, int which, const uint64_t *value) {
    return device ? E_DEVICE : which == 1 || which == 3 ? (value ? E_OK : E_VALUE) : E_VALUE;
}
RT(cudaDeviceGraphMemTrim)(int device) { return device ? E_DEVICE : E_OK; }

// ---- what a node does -------------------------------------------------------------------------------
RT(cudaGraphKernelNodeGetParams)(void *node, kernel_node *p) {
    ENTER();
    app_node *n = node_of(node, DO_KERNEL);
    if (!n || !p) return app_leave(E_VALUE);
    int error = app_function_ready(n->call.function);
    if (error) return app_leave(error);
    const orr_kernel *k = n->call.function->kernel;
    n->args = orr_realloc(n->args, (k->nparams + 1) * sizeof *n->args);
    for (uint32_t i = 0; i < k->nparams; i++) n->args[i] = n->call.params + k->params[i].offset;
    const void *host = n->call.function->host;
    *p = (kernel_node){.func = host ? (void *)(uintptr_t)host : n->call.function,
                       .grid = n->call.grid,
                       .block = n->call.block,
                       .dynamic_shared = n->call.dynamic_shared,
                       .args = n->args};
    return app_leave(E_OK);
}
RT(cudaGraphMemcpyNodeGetParams)(void *node, copy_3d *p) {
    ENTER();
    app_node *n = node_of(node, DO_COPY);
    if (!n || !p) return app_leave(E_VALUE);
    *p = (copy_3d){.src = n->call.src, .dst = n->call.dst, .size = n->call.size, .kind = n->call.kind};
    return app_leave(E_OK);
}
static int set_copy(app_node *n, const copy_3d *p) {
    app_call c;
    int error = n ? app_copy_3d(p, &c) : E_VALUE;
    if (!error) n->call = c;
    return error;
}
RT(cudaGraphMemcpyNodeSetParams)(void *node, const copy_3d *p) {
    ENTER();
    return app_leave(set_copy(node_of(node, DO_COPY), p));
}
RT(cudaGraphExecMemcpyNodeSetParams)(void *exec, void *node, const copy_3d *p) {
    ENTER();
    return app_leave(set_copy(node_of(in_exec(exec, node), DO_COPY), p));
}
static int set_copy_1d(app_node *n, void *dst, const void *src, size_t bytes, int kind) {
    if (!n) return E_VALUE;
    n->call.dst = (pitched_ptr){dst, bytes, bytes, 0};
    n->call.src = (pitched_ptr){(void *)(uintptr_t)src, bytes, bytes, 0};
    n->call.size = (extent){bytes, 1, 1};
    n->call.kind = kind;
    return E_OK;
}
RT(cudaGraphMemcpyNodeSetParams1D)(void *node, void *dst, const void *src, size_t bytes, int kind) {
    ENTER();
    return app_leave(set_copy_1d(node_of(node, DO_COPY), dst, src, bytes, kind));
}
RT(cudaGraphMemsetNodeGetParams)(void *node, memset_node *p) {
    ENTER();
    app_node *n = node_of(node, DO_FILL);
    if (!n || !p) return app_leave(E_VALUE);
    const app_call *c = &n->call;
    *p = (memset_node){c->dst.ptr,    c->dst.pitch, c->value, c->element, c->size.width / c->element,
                       c->size.height};
    return app_leave(E_OK);
}
RT(cudaGraphMemsetNodeSetParams)(void *node, const memset_node *p) {
    ENTER();
    app_node *n = node_of(node, DO_FILL);
    return app_leave(n ? app_fill_call(p, &n->call) : E_VALUE);
}
RT(cudaGraphHostNodeGetParams)(void *node, host_node *p) {
    ENTER();
    app_node *n = node_of(node, DO_HOST);
    if (n && p) *p = (host_node){n->call.fn, n->call.user};
    return app_leave(n && p ? E_OK : E_VALUE);
}
static int set_host(app_node *n, const host_node *p) {
    if (!n || !p || !p->fn) return E_VALUE;
    n->call.fn = p->fn;
    n->call.user = p->user;
    return E_OK;
}
RT(cudaGraphHostNodeSetParams)(void *node, const host_node *p) {
    ENTER();
    return app_leave(set_host(node_of(node, DO_HOST), p));
}
RT(cudaGraphExecHostNodeSetParams)(void *exec, void *node, const host_node *p) {
    ENTER();
    return app_leave(set_host(node_of(in_exec(exec, node), DO_HOST), p));
}
RT(cudaGraphChildGraphNodeGetGraph)(void *node, void **graph) {
    ENTER();
    app_node *n = node_of(node, DO_GRAPH);
    if (n && graph) *graph = n->call.graph;
    return app_leave(n && graph ? E_OK : E_VALUE);
}
static int get_event(app_node *n, void **event) {
    if (n && event) *event = n->call.event;
    return n && event ? E_OK : E_VALUE;
}
static int set_event(app_node *n, void *event) {
    if (n && event) n->call.event = event;
    return n && event ? E_OK : E_VALUE;
}
RT(cudaGraphEventRecordNodeGetEvent)(void *node, void **event) {
    return get_event(node_of(node, DO_RECORD), event);
}
RT(cudaGraphEventRecordNodeSetEvent)(void *node, void *event) {
    return set_event(node_of(node, DO_RECORD), event);
}
RT(cudaGraphEventWaitNodeGetEvent)(void *node, void **event) {
    return get_event(node_of(node, DO_WAIT), event);
}
RT(cudaGraphEventWaitNodeSetEvent)(void *node, void *event) {
    return set_event(node_of(node, DO_WAIT), event);
}
RT(cudaGraphExecEventRecordNodeSetEvent)(void *exec, void *node, void *event) {
    return set_event(node_of(in_exec(exec, node), DO_RECORD), event);
}
RT(cudaGraphExecEventWaitNodeSetEvent)(void *exec, void *node, void *event) {
    return set_event(node_of(in_exec(exec, node), DO_WAIT), event);
}
RT(cudaGraphNodeSetEnabled)(void *exec, void *node, unsigned on) {
    ENTER();
    app_node *n = in_exec(exec, node);
    if (n) n->off = !on;
    return app_leave(n ? E_OK : E_VALUE);
}
RT(cudaGraphNodeGetEnabled)(void *exec, void *node, unsigned *on) {
    ENTER();
    app_node *n = in_exec(exec, node);
    if (n && on) *on = !n->off;
    return app_leave(n && on ? E_OK : E_VALUE);
}
RT(cudaGraphNodeFindInClone)(void **to, void *node, void *clone) {
    ENTER();
    app_node *n = in_exec(clone, node);
    if (to) *to = n;
    return app_leave(n && to ? E_OK : E_VALUE);
}
// Hints of how a kernel is to be run: none changes what it does.
RT(cudaGraphKernelNodeSetAttribute)(void *node, int which, const void *value) {
    (void)which;
    return node && value ? E_OK : E_VALUE;
}

// ---- edges ------------------------------------------------------------------------------------------
// 13 has a list of edge data before the count; 11 and 12 do not.
static int edges(void *graph, void **from, void **to, size_t *n) {
    ENTER();
    app_graph *g = graph;
    if (!g || !n) return app_leave(E_VALUE);
    size_t found = 0;
    for (size_t i = 0; i < g->nodes.n; i++)
        for (size_t k = 0; k < g->nodes.at[i]->nneeds; k++, found++) {
            if (from && to && found < *n) from[found] = g->nodes.at[i]->needs[k];
            if (from && to && found < *n) to[found] = g->nodes.at[i];
        }
    *n = found;
    return app_leave(E_OK);
}
static int dependencies(void *node, void **needs, size_t *n) {
    ENTER();
    app_node *x = node;
    if (!x || !n) return app_leave(E_VALUE);
    for (size_t k = 0; needs && k < x->nneeds && k < *n; k++) needs[k] = x->needs[k];
    *n = x->nneeds;
    return app_leave(E_OK);
}
static int dependents(void *node, void **list, size_t *n) {
    ENTER();
    app_node *x = node;
    if (!x || !n) return app_leave(E_VALUE);
    size_t found = 0;
    for (size_t i = 0; i < x->graph->nodes.n; i++) {
        app_node *y = x->graph->nodes.at[i];
        for (size_t k = 0; k < y->nneeds; k++) {
            if (y->needs[k] != x) continue;
            if (list && found < *n) list[found] = y;
            found++;
        }
    }
    *n = found;
    return app_leave(E_OK);
}
IN_12(cudaGraphGetEdges, cudaGraphGetEdges_v2) // of 12.3 and later
RT_13(cudaGraphGetEdges)(void *graph, void **from, void **to, void *data, size_t *n) {
    (void)data;
    return edges(graph, from, to, n);
}
RT_11_12(cudaGraphGetEdges, graph_get_edges_12)(void *graph, void **from, void **to, size_t *n) {
    return edges(graph, from, to, n);
}
IN_12(cudaGraphNodeGetDependencies, cudaGraphNodeGetDependencies_v2) // of 12.3 and later
RT_13(cudaGraphNodeGetDependencies)(void *node, void **needs, void *data, size_t *n) {
    (void)data;
    return dependencies(node, needs, n);
}
RT_11_12(cudaGraphNodeGetDependencies, graph_dependencies_12)(void *node, void **needs, size_t *n) {
    return dependencies(node, needs, n);
}
IN_12(cudaGraphNodeGetDependentNodes, cudaGraphNodeGetDependentNodes_v2) // of 12.3 and later
RT_13(cudaGraphNodeGetDependentNodes)(void *node, void **list, void *data, size_t *n) {
    (void)data;
    return dependents(node, list, n);
}
RT_11_12(cudaGraphNodeGetDependentNodes, graph_dependents_12)(void *node, void **list, size_t *n) {
    return dependents(node, list, n);
}

// ---- making them executable -------------------------------------------------------------------------
typedef struct { // cudaGraphInstantiateParams
    unsigned long long flags;
    void *stream, *error_node;
    int result; // 0: success
} instantiate_params;
int orr_cudaGraphClone(void **to, void *graph);
RT_S(cudaGraphInstantiateWithParams)(void **to, void *graph, instantiate_params *p) {
    if (!p) return E_VALUE;
    p->error_node = NULL;
    int error = orr_cudaGraphClone(to, graph);
    p->result = error ? 1 : 0;
    return error;
}
RT(cudaGraphExecGetFlags)(void *exec, unsigned long long *flags) {
    if (flags) *flags = 0;
    return exec && flags ? E_OK : E_VALUE;
}
