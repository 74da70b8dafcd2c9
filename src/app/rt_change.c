// The runtime API: graphs that are taken apart again, nodes that copy variables, attributes of nodes, and
// objects that live as long as graphs that use them.
#include "app/rt.h"

#include <stdlib.h>
#include <string.h>

int orr_cudaGetSymbolAddress(void **p, const void *host);
int orr_cudaGetSymbolSize(size_t *n, const void *host);
int orr_cudaGraphAddMemcpyNode1D(void **node, void *graph, void *const *needs, size_t n, void *dst,
                                 const void *src, size_t bytes, int kind);
int orr_cudaGraphMemcpyNodeSetParams1D(void *node, void *dst, const void *src, size_t bytes, int kind);
int orr_cudaGraphExecMemcpyNodeSetParams1D(void *exec, void *node, void *dst, const void *src, size_t bytes,
                                           int kind);

// ---- nodes and edges that go ------------------------------------------------------------------------
// A node that is destroyed does nothing and is not found again; those behind it wait for what it waited for.
static void forget(app_node *n, const app_node *need) {
    size_t left = 0;
    for (size_t i = 0; i < n->nneeds; i++)
        if (n->needs[i] != need) n->needs[left++] = n->needs[i];
    n->nneeds = left;
}
RT(cudaGraphDestroyNode)(void *node) {
    ENTER();
    app_node *n = node;
    if (!n) return app_leave(E_VALUE);
    app_graph *g = n->graph;
    for (size_t i = 0; i < g->nodes.n; i++) forget(g->nodes.at[i], n);
    size_t at = n->index;
    g->nodes.n--;
    memmove(g->nodes.at + at, g->nodes.at + at + 1, (g->nodes.n - at) * sizeof *g->nodes.at);
    for (size_t i = at; i < g->nodes.n; i++) g->nodes.at[i]->index = (uint32_t)i;
    if (g->last == n) g->last = g->nodes.n ? g->nodes.at[g->nodes.n - 1] : NULL;
    app_node_free(n);
    return app_leave(E_OK);
}
static int remove_needs(void *const *from, void *const *to, size_t n) {
    ENTER();
    if (n && (!from || !to)) return app_leave(E_VALUE);
    for (size_t i = 0; i < n; i++) forget(to[i], from[i]);
    return app_leave(E_OK);
}
IN_12(cudaGraphRemoveDependencies, cudaGraphRemoveDependencies_v2) // of 12.3 and later
RT_13(cudaGraphRemoveDependencies)
(void *graph, void *const *from, void *const *to, const void *edges, size_t n) {
    (void)graph, (void)edges;
    return remove_needs(from, to, n);
}
RT_11_12(cudaGraphRemoveDependencies, graph_remove_dependencies_12)
(void *graph, void *const *from, void *const *to, size_t n) {
    (void)graph;
    return remove_needs(from, to, n);
}

// ---- copies of variables ----------------------------------------------------------------------------
static int variable(const void *symbol, size_t n, size_t offset, char **at) {
    size_t bytes = 0;
    int error = orr_cudaGetSymbolSize(&bytes, symbol);
    if (!error) error = orr_cudaGetSymbolAddress((void **)at, symbol);
    if (!error && (offset > bytes || n > bytes - offset)) error = (app_enter(), app_leave(E_VALUE));
    if (!error) *at += offset;
    return error;
}
RT(cudaGraphAddMemcpyNodeToSymbol)
(void **node, void *graph, void *const *needs, size_t nneeds, const void *symbol, const void *src, size_t n,
 size_t offset, int kind) {
    char *at;
    int error = variable(symbol, n, offset, &at);
    return error ? error : orr_cudaGraphAddMemcpyNode1D(node, graph, needs, nneeds, at, src, n, kind);
}
RT(cudaGraphAddMemcpyNodeFromSymbol)
(void **node, void *graph, void *const *needs, size_t nneeds, void *dst, const void *symbol, size_t n,
 size_t offset, int kind) {
    char *at;
    int error = variable(symbol, n, offset, &at);
    return error ? error : orr_cudaGraphAddMemcpyNode1D(node, graph, needs, nneeds, dst, at, n, kind);
}
RT(cudaGraphMemcpyNodeSetParamsToSymbol)
(void *node, const void *symbol, const void *src, size_t n, size_t offset, int kind) {
    char *at;
    int error = variable(symbol, n, offset, &at);
    return error ? error : orr_cudaGraphMemcpyNodeSetParams1D(node, at, src, n, kind);
}
RT(cudaGraphMemcpyNodeSetParamsFromSymbol)
(void *node, void *dst, const void *symbol, size_t n, size_t offset, int kind) {
    char *at;
    int error = variable(symbol, n, offset, &at);
    return error ? error : orr_cudaGraphMemcpyNodeSetParams1D(node, dst, at, n, kind);
}
RT(cudaGraphExecMemcpyNodeSetParamsToSymbol)
(void *exec, void *node, const void *symbol, const void *src, size_t n, size_t offset, int kind) {
    char *at;
    int error = variable(symbol, n, offset, &at);
    return error ? error : orr_cudaGraphExecMemcpyNodeSetParams1D(exec, node, at, src, n, kind);
}
RT(cudaGraphExecMemcpyNodeSetParamsFromSymbol)
(void *exec, void *node, void *dst, const void *symbol, size_t n, size_t offset, int kind) {
    char *at;
    int error = variable(symbol, n, offset, &at);
    return error ? error : orr_cudaGraphExecMemcpyNodeSetParams1D(exec, node, dst, at, n, kind);
}

// ---- child graphs, attributes ---------------------------------------------------------------------------
RT(cudaGraphExecChildGraphNodeSetParams)(void *exec, void *node, void *child) {
    ENTER();
    const app_graph *g = exec;
    app_node *own = NULL;
    for (size_t i = 0; g && i < g->nodes.n; i++)
        if (g->nodes.at[i]->origin == node) own = g->nodes.at[i];
    if (!own || own->call.what != DO_GRAPH || !child) return app_leave(E_VALUE);
    app_graph_free(own->call.graph);
    own->call.graph = app_graph_copy(child);
    return app_leave(E_OK);
}
// None was kept (cudaGraphKernelNodeSetAttribute).
RT(cudaGraphKernelNodeGetAttribute)(void *node, int which, void *value) {
    (void)which;
    if (value) memset(value, 0, 64);
    return node && value ? E_OK : E_VALUE;
}
RT(cudaGraphKernelNodeCopyAttributes)(void *to, void *from) { return to && from ? E_OK : E_VALUE; }

// ---- a picture ------------------------------------------------------------------------------------------
RT(cudaGraphDebugDotPrint)(void *graph, const char *path, unsigned flags) {
    static const char *const names[] = {
        [DO_KERNEL] = "kernel",   [DO_COPY] = "memcpy",           [DO_FILL] = "memset",
        [DO_HOST] = "host",       [DO_RECORD] = "event record",   [DO_WAIT] = "event wait",
        [DO_NOTHING] = "empty",   [DO_GRAPH] = "graph",           [DO_FREE] = "mem free",
        [DO_ALLOC] = "mem alloc", [DO_CONDITION] = "conditional", [DO_NCCL] = "NCCL"};
    (void)flags;
    ENTER();
    const app_graph *g = graph;
    orr_err e = {0};
    orr_out out;
    if (!g || !path) return app_leave(E_VALUE);
    if (!orr_out_open(&out, path, &e)) return app_leave(E_FILE_NOT_FOUND);
    fprintf(out.f, "digraph dot {\n");
    for (size_t i = 0; i < g->nodes.n; i++) {
        const app_node *n = g->nodes.at[i];
        const char *name = n->call.what == DO_KERNEL ? n->call.function->name : names[n->call.what];
        fprintf(out.f, "node_%zu [label=\"%zu: %s\"];\n", i, i, name);
        for (size_t k = 0; k < n->nneeds; k++)
            fprintf(out.f, "node_%u -> node_%zu;\n", n->needs[k]->index, i);
    }
    fprintf(out.f, "}\n");
    return app_leave(orr_out_commit(&out, &e) ? E_OK : E_FILE_NOT_FOUND);
}

// ---- objects of the program's -------------------------------------------------------------------------
// What a graph retains is kept for as long as the program runs.
typedef struct user_object {
    void *object;
    void (*destroy)(void *);
    unsigned count;
} user_object;
static int release_object(user_object *u, unsigned n) {
    if (!u || n > u->count) return E_VALUE;
    u->count -= n;
    if (u->count) return E_OK;
    void (*destroy)(void *) = u->destroy;
    void *object = u->object;
    free(u);
    if (destroy) destroy(object);
    return E_OK;
}
RT(cudaUserObjectCreate)(void **to, void *object, void (*destroy)(void *), unsigned count, unsigned flags) {
    (void)flags;
    if (!to || !destroy || !count) return E_VALUE;
    user_object *u = *to = orr_calloc(1, sizeof *u);
    *u = (user_object){object, destroy, count};
    return E_OK;
}
RT(cudaUserObjectRetain)(void *object, unsigned n) {
    user_object *u = object;
    if (u) u->count += n;
    return u ? E_OK : E_VALUE;
}
RT(cudaUserObjectRelease)(void *object, unsigned n) { return release_object(object, n); }
RT(cudaGraphRetainUserObject)(void *graph, void *object, unsigned n, unsigned flags) {
    enum { MOVE = 1 }; // the reference that the caller has
    user_object *u = object;
    if (!graph || !u) return E_VALUE;
    if (!(flags & MOVE)) u->count += n;
    return E_OK;
}
RT(cudaGraphReleaseUserObject)(void *graph, void *object, unsigned n) {
    return graph ? release_object(object, n) : E_VALUE;
}
