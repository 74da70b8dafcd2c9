// A graph's launch, taken apart: CUPTI tells that a graph is launched and not of its kernels. A copy of each
// graph that a program makes executable is kept. When it is launched, the copy's nodes are launched one by
// one before it, each as a graph of its own with the same parameters and attributes, in an order that the
// edges allow, and its kernels are captured like any other. Then memory is made as it was, and the program's
// own launch does what it would have done.
//
// CUDA does not copy graphs with conditional nodes: of these each node is copied, in the order in which they
// can be done, and the graphs that a conditional node chooses among with it (condition.c).
//
// A graph with a node that cannot be done twice (a host function, an event, an allocation) is left alone, and
// told.
#include "hook/hook.h"

#include <stdlib.h>
#include <string.h>

typedef ORR_VEC(struct step) steps;
typedef struct step {      // a kernel, copy or fill, or what a conditional node chooses among
    void *node, *original; // of which it is a copy
    hook_condition c;
    steps *ways; // c.n; NULL: it is no conditional node
} step;

typedef struct order {
    steps steps;
    const char *why; // it cannot be taken apart; NULL: it can
    bool conditions; // some steps are conditional
} order;

typedef struct executable {
    void *exec, *copy; // copy NULL: it could not be copied
    order planned;     // with conditions: its nodes, which are those of `copy`
} executable;
static ORR_VEC(executable) executables;

typedef struct memcpy_side { // half of CUDA_MEMCPY3D
    uint64_t x, y, z, level;
    uint32_t type, pad;
    const void *host;
    uint64_t device;
    void *array, *reserved;
    uint64_t pitch, height;
} memcpy_side;
typedef struct memcpy_node {
    memcpy_side from, to;
    uint64_t width, height, depth;
} memcpy_node;
typedef struct memset_node { // CUDA_MEMSET_NODE_PARAMS
    uint64_t to, pitch;
    uint32_t value, size;
    uint64_t width, height;
} memset_node;

enum { TYPE_KERNEL, TYPE_MEMCPY, TYPE_MEMSET, TYPE_HOST, TYPE_GRAPH, TYPE_EMPTY, TYPE_CONDITION = 13 };
enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 }; // CUkernelNodeAttrID
enum { MOST_NODES = 1 << 20, DEEPEST = 16, MOST_ROUNDS = 1 << 20 };

// ---- the order of its nodes -------------------------------------------------------------------------------
static size_t place(void *const *nodes, size_t n, const void *node) {
    for (size_t i = 0; i < n; i++)
        if (nodes[i] == node) return i;
    return n;
}

static void add_graph(order *o, steps *to, void *graph, int depth);

static void add_condition(order *o, steps *to, void *node, int depth) {
    const hook_condition *c = hook_condition_of(node);
    if (!c || depth == DEEPEST) {
        o->why = "a conditional node that was not seen when it was made";
        return;
    }
    step s = {.node = node, .c = *c, .ways = orr_calloc(c->n + 1, sizeof *s.ways)};
    *ORR_PUSH(to) = s;
    o->conditions = true;
    for (unsigned i = 0; i < c->n; i++) add_graph(o, &s.ways[i], c->graphs[i], depth + 1);
}

static void add_node(order *o, steps *to, void *node, int depth) {
    const hook_driver *d = &the_hook.cu;
    int type = TYPE_HOST;
    void *child = NULL;
    d->cuGraphNodeGetType(node, &type);
    if (type == TYPE_KERNEL || type == TYPE_MEMCPY || type == TYPE_MEMSET)
        *ORR_PUSH(to) = (step){.node = node};
    else if (type == TYPE_CONDITION)
        add_condition(o, to, node, depth);
    else if (type == TYPE_GRAPH && depth < DEEPEST && d->cuGraphChildGraphNodeGetGraph(node, &child) == 0)
        add_graph(o, to, child, depth + 1);
    else if (type != TYPE_EMPTY)
        o->why = type == TYPE_HOST ? "a host function" : "a node that is no kernel, copy or fill";
}

// Edges that say more than what comes first (programmatic launches) are told by the newer function alone.
static bool get_edges(void *graph, void **from, void **to, void *data, size_t *n) {
    const hook_driver *d = &the_hook.cu;
    if (d->cuGraphGetEdges_v2) return d->cuGraphGetEdges_v2(graph, from, to, data, n) == 0;
    return d->cuGraphGetEdges(graph, from, to, n) == 0;
}

// Those whose predecessors are all done, in the order of the graph, until none is left.
static void add_graph(order *o, steps *to, void *graph, int depth) {
    const hook_driver *d = &the_hook.cu;
    size_t n = 0, nedges = 0, left;
    if (d->cuGraphGetNodes(graph, NULL, &n) != 0 || !get_edges(graph, NULL, NULL, NULL, &nedges) ||
        n > MOST_NODES || nedges > MOST_NODES) {
        o->why = "more nodes than can be told";
        return;
    }
    void **nodes = orr_calloc(n + 1, sizeof *nodes), **from = orr_calloc(nedges + 1, sizeof *from),
         **next = orr_calloc(nedges + 1, sizeof *next), *data = orr_calloc(nedges + 1, 8);
    uint32_t *waits = orr_calloc(n + 1, sizeof *waits);
    bool *done = orr_calloc(n + 1, sizeof *done);
    d->cuGraphGetNodes(graph, nodes, &n);
    if (nedges && !get_edges(graph, from, next, data, &nedges)) o->why = "edges that cannot be told";
    for (size_t i = 0; i < nedges; i++) waits[place(nodes, n, next[i])]++;
    for (left = n; left && !o->why;) {
        size_t before = left;
        for (size_t i = 0; i < n; i++) {
            if (done[i] || waits[i]) continue;
            done[i] = true;
            left--;
            add_node(o, to, nodes[i], depth);
            for (size_t k = 0; k < nedges; k++)
                if (from[k] == nodes[i]) waits[place(nodes, n, next[k])]--;
        }
        if (left == before) o->why = "edges that go round";
    }
    free(nodes);
    free(from);
    free(next);
    free(data);
    free(waits);
    free(done);
}

// ---- one node ---------------------------------------------------------------------------------------------
typedef union node_params {
    hook_kernel_node kernel;
    memcpy_node copy;
    memset_node fill;
} node_params;

static bool add_double(void **own, void *graph, void *node, int type, const node_params *p) {
    const hook_driver *d = &the_hook.cu;
    void *context = NULL;
    if (d->cuCtxGetCurrent) d->cuCtxGetCurrent(&context);
    if (type == TYPE_KERNEL)
        return d->cuGraphAddKernelNode_v2(own, graph, NULL, 0, p) == 0 &&
               d->cuGraphKernelNodeCopyAttributes(*own, node) == 0;
    if (type == TYPE_MEMCPY) return d->cuGraphAddMemcpyNode(own, graph, NULL, 0, p, context) == 0;
    return d->cuGraphAddMemsetNode(own, graph, NULL, 0, p, context) == 0;
}

static bool run_alone(void *node, int type, const node_params *p, void *stream) {
    const hook_driver *d = &the_hook.cu;
    void *graph = NULL, *exec = NULL, *own = NULL;
    bool ok = d->cuGraphCreate(&graph, 0) == 0 && add_double(&own, graph, node, type, p);
    ok = ok && d->cuGraphInstantiateWithFlags(&exec, graph, 0) == 0 && d->cuGraphLaunch(exec, stream) == 0 &&
         d->cuCtxSynchronize() == 0;
    if (exec) d->cuGraphExecDestroy(exec);
    if (graph) d->cuGraphDestroy(graph);
    return ok;
}

static bool read_params(void *node, int type, node_params *p) {
    const hook_driver *d = &the_hook.cu;
    memset(p, 0, sizeof *p);
    if (type == TYPE_KERNEL) return d->cuGraphKernelNodeGetParams_v2(node, p) == 0;
    if (type == TYPE_MEMCPY)
        return d->cuGraphMemcpyNodeGetParams && d->cuGraphMemcpyNodeGetParams(node, p) == 0;
    return d->cuGraphMemsetNodeGetParams && d->cuGraphMemsetNodeGetParams(node, p) == 0;
}

static hook_launch launch_of(void *node, const hook_kernel_node *k, void *stream) {
    const hook_driver *d = &the_hook.cu;
    hook_launch l = {.function = k->function, .stream = stream, .shared = k->shared, .params = k->params};
    char value[64] = {0}; // CUlaunchAttributeValue
    if (!l.function && d->cuKernelGetFunction) d->cuKernelGetFunction(&l.function, k->kernel);
    l.extra = k->extra;
    memcpy(l.grid, k->grid, sizeof l.grid);
    memcpy(l.block, k->block, sizeof l.block);
    if (d->cuGraphKernelNodeGetAttribute &&
        d->cuGraphKernelNodeGetAttribute(node, ATTRIBUTE_CLUSTER, value) == 0)
        memcpy(l.cluster, value, sizeof l.cluster);
    if (d->cuGraphKernelNodeGetAttribute &&
        d->cuGraphKernelNodeGetAttribute(node, ATTRIBUTE_COOPERATIVE, value) == 0)
        l.cooperative = *(int *)value != 0;
    if (!l.function || d->cuFuncGetName(&l.kernel, l.function) != 0) l.kernel = NULL;
    return l;
}

static bool do_node(void *node, void *stream) {
    const hook_driver *d = &the_hook.cu;
    node_params p;
    int type = 0;
    if (d->cuGraphNodeGetType(node, &type) != 0 || !read_params(node, type, &p)) return false;
    if (type != TYPE_KERNEL)
        return hook_reach_place(type == TYPE_MEMSET ? p.fill.to : p.copy.to.device) &&
               run_alone(node, type, &p, stream);
    hook_launch l = launch_of(node, &p.kernel, stream);
    if (!l.kernel) return false;
    bool captured = hook_before(&l);
    if (!captured && !hook_save_for(&l)) return false;
    size_t n;
    const uint8_t *params = hook_params(&n);
    bool ok = hook_condition_named(params, n) ? hook_condition_run(node, &p.kernel, params, n, stream)
                                              : run_alone(node, type, &p, stream);
    if (captured) hook_after(&l);
    return ok;
}

static bool do_steps(const steps *s, void *stream);

static bool choose(const step *s, void *stream) {
    unsigned value = hook_condition_value(s->c.handle, false);
    if (s->c.kind == HOOK_IF) {
        unsigned way = value ? 0 : 1;
        return way >= s->c.n || do_steps(&s->ways[way], stream);
    }
    if (s->c.kind == HOOK_SWITCH) return value >= s->c.n || do_steps(&s->ways[value], stream);
    for (int rounds = 0; value && rounds < MOST_ROUNDS; rounds++) {
        if (!do_steps(&s->ways[0], stream)) return false;
        value = hook_condition_value(s->c.handle, false);
    }
    return !value;
}

static bool do_steps(const steps *s, void *stream) {
    bool ok = true;
    for (size_t i = 0; i < s->n && ok; i++)
        ok = s->at[i].ways ? choose(&s->at[i], stream) : do_node(s->at[i].node, stream);
    return ok;
}

static void begin_conditions(const steps *s) {
    for (size_t i = 0; i < s->n; i++) {
        const step *x = &s->at[i];
        if (x->ways) hook_condition_value(x->c.handle, true);
        for (unsigned k = 0; x->ways && k < x->c.n; k++) begin_conditions(&x->ways[k]);
    }
}

// ---- copies of graphs -------------------------------------------------------------------------------------
static executable *find(void *exec) {
    for (size_t i = 0; i < executables.n; i++)
        if (executables.at[i].exec == exec) return &executables.at[i];
    return NULL;
}

static bool can_take_apart(const hook_driver *d) {
    return d->cuGraphClone && d->cuGraphGetNodes && d->cuGraphGetEdges && d->cuGraphKernelNodeGetParams_v2 &&
           d->cuGraphAddKernelNode_v2 && d->cuGraphInstantiateWithFlags && d->cuGraphLaunch &&
           d->cuFuncGetName && d->cuMemcpyHtoD_v2 && d->cuGraphKernelNodeCopyAttributes &&
           d->cuGraphChildGraphNodeGetGraph;
}

static bool has_conditions(void *graph) {
    const hook_driver *d = &the_hook.cu;
    size_t n = 0;
    bool has = false;
    if (d->cuGraphGetNodes(graph, NULL, &n) != 0 || n > MOST_NODES) return false;
    void **nodes = orr_calloc(n + 1, sizeof *nodes);
    d->cuGraphGetNodes(graph, nodes, &n);
    for (size_t i = 0; i < n; i++) {
        int type = TYPE_HOST;
        has |= d->cuGraphNodeGetType(nodes[i], &type) == 0 && type == TYPE_CONDITION;
    }
    free(nodes);
    return has;
}

// Each node gets a double in a graph that is never launched.
static bool copy_nodes(steps *s, void *graph) {
    for (size_t i = 0; i < s->n; i++) {
        step *x = &s->at[i];
        for (unsigned k = 0; x->ways && k < x->c.n; k++)
            if (!copy_nodes(&x->ways[k], graph)) return false;
        node_params p;
        int type = 0;
        x->original = x->node;
        if (x->ways) continue;
        if (the_hook.cu.cuGraphNodeGetType(x->original, &type) != 0 || !read_params(x->original, type, &p) ||
            !add_double(&x->node, graph, x->original, type, &p))
            return false;
    }
    return true;
}

static void free_steps(steps *s) {
    for (size_t i = 0; i < s->n; i++) {
        for (unsigned k = 0; s->at[i].ways && k < s->at[i].c.n; k++) free_steps(&s->at[i].ways[k]);
        free(s->at[i].ways);
    }
    free(s->at);
}

void hook_graph_made(void *exec, void *graph) {
    const hook_driver *d = &the_hook.cu;
    executable x = {.exec = exec};
    hook_graph_gone(exec);
    if (can_take_apart(d) && has_conditions(graph)) {
        add_graph(&x.planned, &x.planned.steps, graph, 0);
        bool ok = !x.planned.why && d->cuGraphCreate(&x.copy, 0) == 0 && copy_nodes(&x.planned.steps, x.copy);
        if (!ok && !x.planned.why) x.planned.why = "nodes that cannot be copied";
    } else if (!can_take_apart(d) || d->cuGraphClone(&x.copy, graph) != 0) {
        x.copy = NULL;
    }
    *ORR_PUSH(&executables) = x;
}

void hook_graph_gone(void *exec) {
    executable *x = find(exec);
    if (!x) return;
    if (x->copy) the_hook.cu.cuGraphDestroy(x->copy);
    free_steps(&x->planned.steps);
    *x = executables.at[--executables.n];
}

static void *double_of(const steps *s, const void *original) {
    void *own = NULL;
    for (size_t i = 0; i < s->n && !own; i++) {
        const step *x = &s->at[i];
        if (x->original == original) own = x->node;
        for (unsigned k = 0; x->ways && k < x->c.n && !own; k++) own = double_of(&x->ways[k], original);
    }
    return own;
}

// Parameters that differ from now on, in the copy too; where that cannot be done, there is no copy any more.
void hook_graph_node(void *exec, void *node, enum hook_node kind, const void *params) {
    const hook_driver *d = &the_hook.cu;
    executable *x = find(exec);
    void *own = NULL;
    if (!x || !x->copy) return;
    int (*const set[])(void *, const void *) = {
        d->cuGraphKernelNodeSetParams_v2, d->cuGraphMemcpyNodeSetParams, d->cuGraphMemsetNodeSetParams, NULL};
    if (x->planned.conditions)
        own = double_of(&x->planned.steps, node);
    else if (d->cuGraphNodeFindInClone && d->cuGraphNodeFindInClone(&own, node, x->copy) != 0)
        own = NULL;
    if (own && set[kind] && set[kind](own, params) == 0) return;
    d->cuGraphDestroy(x->copy);
    x->copy = NULL;
    x->planned.why = "nodes that cannot be copied";
}

// ---- a launch ---------------------------------------------------------------------------------------------
static const char *kernel_name(void *node) {
    node_params p;
    int type = -1;
    if (the_hook.cu.cuGraphNodeGetType(node, &type) != 0 || type != TYPE_KERNEL ||
        !read_params(node, type, &p))
        return NULL;
    return launch_of(node, &p.kernel, NULL).kernel;
}

static bool any_chosen(const order *o, uint32_t *kernels) {
    bool any = false;
    *kernels = 0;
    for (size_t i = 0; i < o->steps.n; i++) {
        const char *name = kernel_name(o->steps.at[i].node);
        if (name) any |= hook_chosen(name, the_hook.seen + (*kernels)++);
    }
    return any || o->conditions; // how many kernels that is, is known when they have run
}

void hook_graph(void *exec, void *stream) {
    hook *h = &the_hook;
    const executable *x = find(exec);
    order o = {0};
    uint32_t kernels = 0;
    if (h->error) return;
    if (x && (x->planned.why || x->planned.conditions))
        o = x->planned;
    else if (!x || !x->copy)
        o.why = "nodes that cannot be copied";
    else
        add_graph(&o, &o.steps, x->copy, 0);
    if (o.why && !h->in_graphs++)
        hook_say("a graph is launched whose kernels are not captured, because it has %s", o.why);
    if (!o.why && any_chosen(&o, &kernels)) {
        bool ok = h->cu.cuCtxSynchronize() == 0;
        h->saving = true;
        begin_conditions(&o.steps);
        ok = ok && do_steps(&o.steps, stream);
        h->saving = false;
        ok = hook_restore() && ok;
        if (!ok && !h->error) {
            h->error = "a graph";
            hook_say("a graph's nodes could not be launched one by one; nothing is captured from here on");
        }
    } else {
        h->seen += kernels;
    }
    if (!x || o.steps.at != x->planned.steps.at) free_steps(&o.steps);
}
