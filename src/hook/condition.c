// Conditions of graphs: a number that kernels set (cudaGraphSetConditional), and a conditional node that
// looks at it. Nobody but such a node can read the number. So a kernel that is given a condition's handle
// runs with handles of its own, in a graph where a conditional node follows for each, and these write down
// what they see.
#include "hook/hook.h"

#include <stdlib.h>
#include <string.h>

enum { TYPE_CONDITIONAL = 13, ASSIGN_FIRST = 1, SAME_TIME = 8, MOST_WAYS = 4096 };
enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 }; // CU_LAUNCH_PARAM_*

typedef struct node_params { // CUgraphNodeParams of a conditional node
    int type, reserved[3];
    uint64_t handle;
    int kind;
    unsigned n;
    void **graphs, *context;
    char rest[232 - 32 + 8];
} node_params;
_Static_assert(sizeof(node_params) == 256, "as cuda.h has it");

typedef struct seen { // a handle, and its node as soon as there is one
    uint64_t handle;
    unsigned first, value;
    bool assigned; // it begins with `first` whenever its graph is launched
    void *node;
    hook_condition c;
} seen;
static ORR_VEC(seen) conditions;
static uint64_t flags; // device memory: what conditional nodes have seen

static seen *find(uint64_t handle) {
    for (size_t i = conditions.n; i-- > 0;)
        if (conditions.at[i].handle == handle) return &conditions.at[i];
    return NULL;
}

void hook_condition_new(uint64_t handle, unsigned first, unsigned how) {
    *ORR_PUSH(&conditions) =
        (seen){.handle = handle, .first = first, .value = first, .assigned = how & ASSIGN_FIRST};
}

void hook_condition_node(void *node, const void *params) {
    node_params p;
    memcpy(&p, params, sizeof p);
    seen *s = p.type == TYPE_CONDITIONAL && p.n <= MOST_WAYS ? find(p.handle) : NULL;
    if (!s || s->node || !p.graphs) return;
    s->node = node;
    s->c = (hook_condition){.handle = p.handle, .kind = p.kind, .n = p.n};
    s->c.graphs = orr_calloc(p.n + 1, sizeof *s->c.graphs);
    memcpy(s->c.graphs, p.graphs, p.n * sizeof *s->c.graphs);
}

const hook_condition *hook_condition_of(const void *node) {
    for (size_t i = conditions.n; i-- > 0;)
        if (conditions.at[i].node == node) return &conditions.at[i].c;
    return NULL;
}

unsigned hook_condition_value(uint64_t handle, bool begins) {
    seen *s = find(handle);
    if (s && begins && s->assigned) s->value = s->first;
    return s ? s->value : 0;
}

// ---- a kernel that is given handles -------------------------------------------------------------
typedef struct asking {
    void *graph, *context, *kernel;
    uint8_t *params;
    size_t n;
    size_t which[SAME_TIME]; // in `conditions`
    uint64_t own[SAME_TIME];
    size_t nwhich;
} asking;

// Where a parameter has a handle, one of the same value takes its place.
static bool replace_handles(asking *a) {
    const hook_driver *d = &the_hook.cu;
    for (size_t at = 0; at + 8 <= a->n; at += 8) {
        uint64_t word;
        memcpy(&word, a->params + at, 8);
        const seen *s = find(word);
        size_t k = 0;
        if (!s || !s->node) continue;
        while (k < a->nwhich && conditions.at[a->which[k]].handle != word) k++;
        if (k == SAME_TIME) return false;
        if (k == a->nwhich) {
            a->which[a->nwhich++] = (size_t)(s - conditions.at);
            if (d->cuGraphConditionalHandleCreate(&a->own[k], a->graph, a->context, s->value, ASSIGN_FIRST) !=
                0)
                return false;
        }
        memcpy(a->params + at, &a->own[k], 8);
    }
    return true;
}

// A conditional node behind the kernel: each of its graphs writes its number + 1.
static bool add_question(asking *a, size_t k) {
    const hook_driver *d = &the_hook.cu;
    const hook_condition *c = &conditions.at[a->which[k]].c;
    node_params p = {.type = TYPE_CONDITIONAL, .handle = a->own[k], .n = 1, .context = a->context};
    void *node = NULL, *fill = NULL;
    if (c->kind == HOOK_SWITCH) {
        p.kind = HOOK_SWITCH;
        p.n = c->n;
    }
    if (d->cuGraphAddNode_v2(&node, a->graph, &a->kernel, NULL, 1, &p) != 0 || !p.graphs) return false;
    for (unsigned i = 0; i < p.n; i++) {
        const struct {
            uint64_t to, pitch;
            uint32_t value, size;
            uint64_t width, height;
        } write = {flags + 4 * k, 0, i + 1, 4, 1, 1}; // CUDA_MEMSET_NODE_PARAMS
        if (d->cuGraphAddMemsetNode(&fill, p.graphs[i], NULL, 0, &write, a->context) != 0) return false;
    }
    return true;
}

static bool answers(const asking *a) {
    uint32_t got[SAME_TIME];
    if (the_hook.cu.cuMemcpyDtoH_v2(got, flags, sizeof got) != 0) return false;
    for (size_t k = 0; k < a->nwhich; k++) {
        seen *s = &conditions.at[a->which[k]];
        s->value = s->c.kind != HOOK_SWITCH ? got[k] != 0 : got[k] ? got[k] - 1 : s->c.n;
    }
    return true;
}

bool hook_condition_named(const uint8_t *params, size_t n) {
    for (size_t at = 0; at + 8 <= n && conditions.n; at += 8) {
        uint64_t word;
        memcpy(&word, params + at, 8);
        const seen *s = find(word);
        if (s && s->node) return true;
    }
    return false;
}

bool hook_condition_run(void *node, const hook_kernel_node *k, const uint8_t *params, size_t n,
                        void *stream) {
    const hook_driver *d = &the_hook.cu;
    asking a = {.n = n, .params = orr_malloc(n + 1)};
    void *exec = NULL;
    hook_kernel_node own = *k;
    void *extra[] = {(void *)EXTRA_BUFFER, a.params, (void *)EXTRA_SIZE, &a.n, (void *)EXTRA_END};
    memcpy(a.params, params, n);
    own.params = NULL;
    own.extra = extra;
    if (d->cuCtxGetCurrent) d->cuCtxGetCurrent(&a.context);
    bool ok =
        d->cuGraphConditionalHandleCreate && d->cuGraphAddNode_v2 && d->cuMemAlloc_v2 && d->cuMemsetD32_v2;
    ok = ok && (flags || d->cuMemAlloc_v2(&flags, SAME_TIME * 4) == 0) &&
         d->cuMemsetD32_v2(flags, 0, SAME_TIME) == 0;
    ok = ok && d->cuGraphCreate(&a.graph, 0) == 0 && replace_handles(&a) &&
         d->cuGraphAddKernelNode_v2(&a.kernel, a.graph, NULL, 0, &own) == 0 &&
         d->cuGraphKernelNodeCopyAttributes(a.kernel, node) == 0;
    for (size_t i = 0; i < a.nwhich && ok; i++) ok = add_question(&a, i);
    ok = ok && d->cuGraphInstantiateWithFlags(&exec, a.graph, 0) == 0 &&
         d->cuGraphLaunch(exec, stream) == 0 && d->cuCtxSynchronize() == 0 && answers(&a);
    if (exec) d->cuGraphExecDestroy(exec);
    if (a.graph) d->cuGraphDestroy(a.graph);
    free(a.params);
    return ok;
}
