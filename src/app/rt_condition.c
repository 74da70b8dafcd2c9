// The runtime API: conditional nodes of graphs, and nodes of every kind through one function
// (cudaGraphAddNode).
//
// The conditions themselves are in condition.c.
#include "app/rt.h"

#include <stdlib.h>
#include <string.h>

enum { ASSIGN_DEFAULT = 1 }; // cudaGraphCondAssignDefault

RT(cudaGraphConditionalHandleCreate)(uint64_t *handle, void *graph, unsigned value, unsigned flags) {
    ENTER();
    if (!handle || !graph || flags > ASSIGN_DEFAULT) return app_leave(E_VALUE);
    *handle = app_condition_new(graph, value, flags & ASSIGN_DEFAULT);
    return app_leave(E_OK);
}
RT(cudaGraphConditionalHandleCreate_v2)
(uint64_t *handle, void *graph, void *context, unsigned value, unsigned flags) {
    (void)context;
    return orr_cudaGraphConditionalHandleCreate(handle, graph, value, flags);
}

// ---- nodes of every kind --------------------------------------------------------------------------------
typedef struct { // cudaGraphNodeParams
    int type, reserved[3];
    union {
        long long room[29];
        kernel_node kernel;
        struct {
            int flags, reserved[3];
            copy_3d copy;
        } memcpy;
        memset_node memset;
        host_node host;
        void *graph, *event, *free;
        struct {
            uint64_t handle;
            int type;
            unsigned size;
            void **graphs;
        } conditional;
    } of;
    long long more;
} node_params;
enum { // cudaGraphNodeType
    NODE_KERNEL,
    NODE_MEMCPY,
    NODE_MEMSET,
    NODE_HOST,
    NODE_GRAPH,
    NODE_EMPTY,
    NODE_WAIT,
    NODE_RECORD,
    NODE_ALLOC = 10,
    NODE_FREE,
    NODE_CONDITIONAL = 13
};

int orr_cudaGraphAddKernelNode(void **, void *, void *const *, size_t, const kernel_node *);
int orr_cudaGraphAddMemcpyNode(void **, void *, void *const *, size_t, const copy_3d *);
int orr_cudaGraphAddMemsetNode(void **, void *, void *const *, size_t, const memset_node *);
int orr_cudaGraphAddHostNode(void **, void *, void *const *, size_t, const host_node *);
int orr_cudaGraphAddChildGraphNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphAddEmptyNode(void **, void *, void *const *, size_t);
int orr_cudaGraphAddEventWaitNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphAddEventRecordNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphAddMemAllocNode(void **, void *, void *const *, size_t, void *);
int orr_cudaGraphAddMemFreeNode(void **, void *, void *const *, size_t, void *);

static int add_conditional(void **node, void *graph, void *const *needs, size_t n, node_params *p) {
    ENTER();
    app_condition *condition = app_condition_of(p->of.conditional.handle);
    unsigned size = p->of.conditional.size;
    int type = p->of.conditional.type;
    bool right = type == COND_IF ? size == 1 || size == 2 : type == COND_WHILE ? size == 1 : size > 0;
    if (!graph || !condition || type < COND_IF || type > COND_SWITCH || !right || size > 65536 ||
        (n && !needs))
        return app_leave(E_VALUE);
    app_conditional *c = orr_calloc(1, sizeof *c);
    *c = (app_conditional){.condition = condition, .type = type, .n = size};
    c->bodies = orr_calloc(size, sizeof *c->bodies);
    for (unsigned i = 0; i < size; i++) c->bodies[i] = app_graph_new();
    app_call call = {.what = DO_CONDITION, .conditional = c};
    app_node *added = app_graph_add(graph, &call, (app_node *const *)needs, n);
    if (node) *node = added;
    p->of.conditional.graphs = (void **)c->bodies;
    return app_leave(E_OK);
}

static int add_node(void **node, void *graph, void *const *needs, size_t n, node_params *p) {
    if (!p) return app_enter(), app_leave(E_VALUE);
    switch (p->type) {
    case NODE_KERNEL: return orr_cudaGraphAddKernelNode(node, graph, needs, n, &p->of.kernel);
    case NODE_MEMCPY: return orr_cudaGraphAddMemcpyNode(node, graph, needs, n, &p->of.memcpy.copy);
    case NODE_MEMSET: return orr_cudaGraphAddMemsetNode(node, graph, needs, n, &p->of.memset);
    case NODE_HOST: return orr_cudaGraphAddHostNode(node, graph, needs, n, &p->of.host);
    case NODE_GRAPH: return orr_cudaGraphAddChildGraphNode(node, graph, needs, n, p->of.graph);
    case NODE_EMPTY: return orr_cudaGraphAddEmptyNode(node, graph, needs, n);
    case NODE_WAIT: return orr_cudaGraphAddEventWaitNode(node, graph, needs, n, p->of.event);
    case NODE_RECORD: return orr_cudaGraphAddEventRecordNode(node, graph, needs, n, p->of.event);
    case NODE_ALLOC: return orr_cudaGraphAddMemAllocNode(node, graph, needs, n, &p->of);
    case NODE_FREE: return orr_cudaGraphAddMemFreeNode(node, graph, needs, n, p->of.free);
    case NODE_CONDITIONAL: return add_conditional(node, graph, needs, n, p);
    default: app_enter(); return app_leave(app_missing("cudaGraphAddNode of a node of this type"));
    }
}

// 13 has edge data before the count, as _v2 of 12 has; 12 does not.
RT_13(cudaGraphAddNode)
(void **node, void *graph, void *const *needs, const void *edges, size_t n, node_params *p) {
    (void)edges;
    return add_node(node, graph, needs, n, p);
}
RT(cudaGraphAddNode_v2)
(void **node, void *graph, void *const *needs, const void *edges, size_t n, node_params *p) {
    (void)edges;
    return add_node(node, graph, needs, n, p);
}
RT_11_12(cudaGraphAddNode, graph_add_node_12)
(void **node, void *graph, void *const *needs, size_t n, node_params *p) {
    return add_node(node, graph, needs, n, p);
}

int orr_cudaGraphKernelNodeSetParams(void *, const kernel_node *);
int orr_cudaGraphMemcpyNodeSetParams(void *, const copy_3d *);
int orr_cudaGraphMemsetNodeSetParams(void *, const memset_node *);
int orr_cudaGraphHostNodeSetParams(void *, const host_node *);
int orr_cudaGraphEventWaitNodeSetEvent(void *, void *);
int orr_cudaGraphEventRecordNodeSetEvent(void *, void *);

RT(cudaGraphNodeSetParams)(void *node, node_params *p) {
    if (!node || !p) return app_enter(), app_leave(E_VALUE);
    switch (p->type) {
    case NODE_KERNEL: return orr_cudaGraphKernelNodeSetParams(node, &p->of.kernel);
    case NODE_MEMCPY: return orr_cudaGraphMemcpyNodeSetParams(node, &p->of.memcpy.copy);
    case NODE_MEMSET: return orr_cudaGraphMemsetNodeSetParams(node, &p->of.memset);
    case NODE_HOST: return orr_cudaGraphHostNodeSetParams(node, &p->of.host);
    case NODE_WAIT: return orr_cudaGraphEventWaitNodeSetEvent(node, p->of.event);
    case NODE_RECORD: return orr_cudaGraphEventRecordNodeSetEvent(node, p->of.event);
    default: app_enter(); return app_leave(app_missing("cudaGraphNodeSetParams of a node of this type"));
    }
}
RT(cudaGraphExecNodeSetParams)(void *exec, void *node, node_params *p) {
    ENTER();
    const app_graph *g = exec;
    app_node *own = NULL;
    for (size_t i = 0; g && i < g->nodes.n; i++)
        if (g->nodes.at[i]->origin == node) own = g->nodes.at[i];
    return app_leave(own ? orr_cudaGraphNodeSetParams(own, p) : E_VALUE);
}
RT(cudaGraphNodeGetContainingGraph)(void *node, void **graph) {
    ENTER();
    const app_node *n = node;
    if (n && graph) *graph = n->graph;
    return app_leave(n && graph ? E_OK : E_VALUE);
}

// ---- capture into a graph that is there ----------------------------------------------------------
// 13 has edge data before the count.
RT_S(cudaStreamBeginCaptureToGraph)
(void *stream, void *graph, void *const *needs, const void *edges, size_t n, int mode) {
    (void)edges, (void)mode;
    ENTER();
    app_stream *s = app_stream_of(stream);
    app_graph *g = graph;
    if (!s || !g || (n && !needs)) return app_leave(s ? E_VALUE : E_HANDLE);
    if (s->id == 0) return app_leave(E_CAPTURE_UNSUPPORTED);
    if (s->capture || s->joined) return app_leave(E_VALUE);
    s->tail.n = 0;
    for (size_t i = 0; i < n; i++) *ORR_PUSH(&s->tail) = needs[i];
    s->capture = g;
    g->stream = s;
    return app_leave(E_OK);
}

static int update(void *stream, void *const *needs, size_t n, unsigned flags) {
    ENTER();
    app_stream *s = app_stream_of(stream);
    if (!s || (n && !needs)) return app_leave(s ? E_VALUE : E_HANDLE);
    if (!s->capture && !s->joined) return app_leave(E_CAPTURE_UNMATCHED);
    if (flags & 1) s->tail.n = 0; // cudaStreamSetCaptureDependencies; 0 adds
    for (size_t i = 0; i < n; i++) *ORR_PUSH(&s->tail) = needs[i];
    return app_leave(E_OK);
}
IN_12(cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_v2) // of 12.3 and later
IN_12(cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_v2_ptsz)
IN_13(cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_ptsz)
RT_13(cudaStreamUpdateCaptureDependencies)
(void *stream, void *const *needs, const void *edges, size_t n, unsigned flags) {
    (void)edges;
    return update(stream, needs, n, flags);
}
IN_11(update_capture_12, cudaStreamUpdateCaptureDependencies_ptsz)
IN_12(update_capture_12, cudaStreamUpdateCaptureDependencies_ptsz)
RT_11_12(cudaStreamUpdateCaptureDependencies, update_capture_12)
(void *stream, void *const *needs, size_t n, unsigned flags) { return update(stream, needs, n, flags); }
