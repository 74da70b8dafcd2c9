// The runtime API: graphs (graph.c). An executable graph is a copy of the graph it was made of.
#include "app/rt.h"

#include <stdlib.h>
#include <string.h>

RT(cudaGraphCreate)(void **graph, unsigned flags) {
    ENTER();
    if (!graph || flags) return app_leave(E_VALUE);
    *graph = app_graph_new();
    return app_leave(E_OK);
}
RT(cudaGraphDestroy)(void *graph) {
    ENTER();
    app_graph_free(graph);
    return app_leave(E_OK);
}
RT(cudaGraphExecDestroy)(void *graph) { return orr_cudaGraphDestroy(graph); }
RT(cudaGraphClone)(void **to, void *graph) {
    ENTER();
    if (!to || !graph) return app_leave(E_VALUE);
    *to = app_graph_copy(graph);
    return app_leave(E_OK);
}

// ---- nodes ----------------------------------------------------------------------------------------------
static int add(void **node, void *graph, void *const *needs, size_t n, const app_call *c) {
    if (!graph || (n && !needs)) return E_VALUE;
    app_node *added = app_graph_add(graph, c, (app_node *const *)needs, n);
    if (node) *node = added;
    return E_OK;
}

static int kernel_call(const kernel_node *p, app_call *c) {
    if (!p) return E_VALUE;
    app_function *f = app_function_of(p->func);
    if (!f) return E_DEVICE_FUNCTION;
    *c = (app_call){.what = DO_KERNEL,
                    .function = f,
                    .grid = p->grid,
                    .block = p->block,
                    .dynamic_shared = p->dynamic_shared};
    if (!p->args && p->extra) return app_missing("cudaKernelNodeParams.extra");
    return app_kernel_params(f, p->args, c);
}

RT(cudaGraphAddKernelNode)(void **node, void *graph, void *const *needs, size_t n, const kernel_node *p) {
    ENTER();
    app_call c = {0};
    int error = kernel_call(p, &c);
    if (!error) error = add(node, graph, needs, n, &c);
    free(c.params);
    return app_leave(error);
}

RT(cudaGraphAddMemcpyNode)(void **node, void *graph, void *const *needs, size_t n, const copy_3d *p) {
    ENTER();
    app_call c;
    int error = app_copy_3d(p, &c);
    return app_leave(error ? error : add(node, graph, needs, n, &c));
}

static app_call copy_1d(void *dst, const void *src, size_t bytes, int kind) {
    return (app_call){.what = DO_COPY,
                      .dst = {dst, bytes, bytes, 0},
                      .src = {(void *)(uintptr_t)src, bytes, bytes, 0},
                      .size = {bytes, 1, 1},
                      .kind = kind};
}

RT(cudaGraphAddMemcpyNode1D)
(void **node, void *graph, void *const *needs, size_t n, void *dst, const void *src, size_t bytes, int kind) {
    ENTER();
    app_call c = copy_1d(dst, src, bytes, kind);
    return app_leave(add(node, graph, needs, n, &c));
}

int app_fill_call(const memset_node *p, app_call *c) {
    if (!p || (p->element != 1 && p->element != 2 && p->element != 4)) return E_VALUE;
    *c = (app_call){.what = DO_FILL,
                    .dst = {p->dst, p->pitch, p->width * p->element, 0},
                    .size = {p->width * p->element, p->height, 1},
                    .value = p->value,
                    .element = p->element};
    return E_OK;
}

RT(cudaGraphAddMemsetNode)(void **node, void *graph, void *const *needs, size_t n, const memset_node *p) {
    ENTER();
    app_call c;
    int error = app_fill_call(p, &c);
    return app_leave(error ? error : add(node, graph, needs, n, &c));
}

RT(cudaGraphAddHostNode)(void **node, void *graph, void *const *needs, size_t n, const host_node *p) {
    ENTER();
    if (!p || !p->fn) return app_leave(E_VALUE);
    app_call c = {.what = DO_HOST, .fn = p->fn, .user = p->user};
    return app_leave(add(node, graph, needs, n, &c));
}
RT(cudaGraphAddEmptyNode)(void **node, void *graph, void *const *needs, size_t n) {
    ENTER();
    app_call c = {.what = DO_NOTHING};
    return app_leave(add(node, graph, needs, n, &c));
}
RT(cudaGraphAddEventRecordNode)(void **node, void *graph, void *const *needs, size_t n, void *event) {
    ENTER();
    app_call c = {.what = DO_RECORD, .event = event};
    return app_leave(event ? add(node, graph, needs, n, &c) : E_VALUE);
}
RT(cudaGraphAddEventWaitNode)(void **node, void *graph, void *const *needs, size_t n, void *event) {
    ENTER();
    app_call c = {.what = DO_WAIT, .event = event};
    return app_leave(event ? add(node, graph, needs, n, &c) : E_VALUE);
}
RT(cudaGraphAddChildGraphNode)(void **node, void *graph, void *const *needs, size_t n, void *child) {
    ENTER();
    if (!child) return app_leave(E_VALUE);
    app_call c = {.what = DO_GRAPH, .graph = app_graph_copy(child)};
    return app_leave(add(node, graph, needs, n, &c));
}

// 13 has edge data between `to` and the count; 11 and 12 do not.
static int add_needs(void *const *from, void *const *to, size_t n) {
    ENTER();
    for (size_t i = 0; i < n; i++) {
        app_node *t = to[i];
        t->needs = orr_realloc(t->needs, (t->nneeds + 2) * sizeof *t->needs);
        t->needs[t->nneeds++] = from[i];
    }
    return app_leave(E_OK);
}
IN_12(cudaGraphAddDependencies, cudaGraphAddDependencies_v2) // of 12.3 and later
RT_13(cudaGraphAddDependencies)
(void *graph, void *const *from, void *const *to, const void *edges, size_t n) {
    (void)graph, (void)edges;
    return add_needs(from, to, n);
}
RT_11_12(cudaGraphAddDependencies, graph_add_dependencies_12)
(void *graph, void *const *from, void *const *to, size_t n) {
    (void)graph;
    return add_needs(from, to, n);
}

RT(cudaGraphGetNodes)(void *graph, void **nodes, size_t *n) {
    ENTER();
    app_graph *g = graph;
    if (!g || !n) return app_leave(E_VALUE);
    if (nodes)
        for (size_t i = 0; i < g->nodes.n && i < *n; i++) nodes[i] = g->nodes.at[i];
    if (!nodes || *n > g->nodes.n) *n = g->nodes.n;
    return app_leave(E_OK);
}
RT(cudaGraphGetRootNodes)(void *graph, void **nodes, size_t *n) {
    ENTER();
    app_graph *g = graph;
    if (!g || !n) return app_leave(E_VALUE);
    size_t found = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (g->nodes.at[i]->nneeds) continue;
        if (nodes && found < *n) nodes[found] = g->nodes.at[i];
        found++;
    }
    *n = found;
    return app_leave(E_OK);
}
RT(cudaGraphNodeGetType)(void *node, int *type) {
    static const int types[] = {[DO_KERNEL] = 0, [DO_COPY] = 1,    [DO_FILL] = 2,       [DO_HOST] = 3,
                                [DO_GRAPH] = 4,  [DO_NOTHING] = 5, [DO_WAIT] = 6,       [DO_RECORD] = 7,
                                [DO_FREE] = 11,  [DO_ALLOC] = 10,  [DO_CONDITION] = 13, [DO_NCCL] = 0};
    ENTER();
    if (!node || !type) return app_leave(E_VALUE);
    *type = types[((app_node *)node)->call.what];
    return app_leave(E_OK);
}

// ---- running -----------------------------------------------------------------------------------
RT_12_13(cudaGraphInstantiate)(void **to, void *graph, unsigned long long flags) {
    (void)flags;
    return orr_cudaGraphClone(to, graph);
}
RT(cudaGraphInstantiateWithFlags)(void **to, void *graph, unsigned long long flags) {
    return orr_cudaGraphInstantiate(to, graph, flags);
}
RT_11(cudaGraphInstantiate, graph_instantiate_11)(void **to, void *graph, void **node, char *log, size_t n) {
    if (node) *node = NULL;
    if (log && n) *log = 0;
    return orr_cudaGraphClone(to, graph);
}
RT_S(cudaGraphUpload)(void *graph, void *stream) {
    (void)stream;
    return graph ? E_OK : E_VALUE;
}
RT_S(cudaGraphLaunch)(void *graph, void *stream) {
    ENTER();
    app_stream *s = app_stream_of(stream);
    if (!s || !graph) return app_leave(s ? E_VALUE : E_HANDLE);
    app_call c = {.what = DO_GRAPH, .graph = graph};
    if (s->capture || s->joined)
        c.graph = app_graph_copy(graph);
    else
        app_conditions_begin(graph);
    int error = app_submit(s, &c);
    return app_leave(error == the_app.sticky ? E_OK : error);
}

// ---- changing ----------------------------------------------------------------------------------
static app_node *in_exec(void *exec, void *node) {
    app_graph *g = exec;
    for (size_t i = 0; g && i < g->nodes.n; i++)
        if (g->nodes.at[i]->origin == node) return g->nodes.at[i];
    return NULL;
}
static void replace(app_node *n, app_call *c) { // takes c->params over
    free(n->call.params);
    n->call = *c;
}

RT(cudaGraphExecKernelNodeSetParams)(void *exec, void *node, const kernel_node *p) {
    ENTER();
    app_node *n = in_exec(exec, node);
    app_call c = {0};
    int error = n ? kernel_call(p, &c) : E_VALUE;
    if (!error) replace(n, &c);
    return app_leave(error);
}
RT(cudaGraphKernelNodeSetParams)(void *node, const kernel_node *p) {
    ENTER();
    app_call c = {0};
    int error = node ? kernel_call(p, &c) : E_VALUE;
    if (!error) replace(node, &c);
    return app_leave(error);
}
RT(cudaGraphExecMemcpyNodeSetParams1D)
(void *exec, void *node, void *dst, const void *src, size_t bytes, int kind) {
    ENTER();
    app_node *n = in_exec(exec, node);
    app_call c = copy_1d(dst, src, bytes, kind);
    if (n) replace(n, &c);
    return app_leave(n ? E_OK : E_VALUE);
}
RT(cudaGraphExecMemsetNodeSetParams)(void *exec, void *node, const memset_node *p) {
    ENTER();
    app_node *n = in_exec(exec, node);
    app_call c;
    int error = n ? app_fill_call(p, &c) : E_VALUE;
    if (!error) replace(n, &c);
    return app_leave(error);
}
typedef struct { // cudaGraphExecUpdateResultInfo
    int code;    // 0: success
    void *node, *from;
} update_result;

// The graph has the same shape as the one the executable was made of: take its operations over.
static int update(void *exec, void *graph, update_result *result) {
    ENTER();
    app_graph *to = exec, *from = graph;
    bool same = to && from && to->nodes.n == from->nodes.n;
    for (size_t i = 0; same && i < to->nodes.n; i++)
        same = to->nodes.at[i]->call.what == from->nodes.at[i]->call.what &&
               to->nodes.at[i]->nneeds == from->nodes.at[i]->nneeds &&
               to->nodes.at[i]->call.what != DO_GRAPH && to->nodes.at[i]->call.what != DO_CONDITION;
    *result = (update_result){.code = !same};
    for (size_t i = 0; same && i < to->nodes.n; i++) {
        app_call c = from->nodes.at[i]->call;
        if (c.params) {
            uint8_t *own = orr_malloc((size_t)c.nparams + 1);
            memcpy(own, c.params, c.nparams);
            c.params = own;
        }
        replace(to->nodes.at[i], &c);
        to->nodes.at[i]->origin = from->nodes.at[i];
    }
    return app_leave(same ? E_OK : E_GRAPH_UPDATE);
}
RT_12_13(cudaGraphExecUpdate)(void *exec, void *graph, update_result *result) {
    update_result own;
    return update(exec, graph, result ? result : &own);
}
RT_11(cudaGraphExecUpdate, graph_exec_update_11)(void *exec, void *graph, void **node, int *code) {
    update_result r = {.code = 1};
    int error = update(exec, graph, &r);
    if (node) *node = r.node;
    if (code) *code = r.code;
    return error;
}
