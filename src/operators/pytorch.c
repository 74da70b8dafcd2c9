// PyTorch's execution trace (torch.profiler.ExecutionTraceObserver): {"schema": "1.1.0-chakra.0.0.4",
// "nodes":
// [...]}. A node has the operator that called it (ctrl_deps), its inputs as shapes and types, and, when
// Chakra's trace_link has joined it with Kineto's, kernels with their stream and duration (cat,
// exclusive_dur).
//
// The host's operators follow each other on their thread. Of an operator that calls others only these do
// something. A kernel follows the operator that launched it and what its stream had before; where a trace has
// no kernels, an operator that works on tensors stands for its own.
#include "operators/read.h"

#include <stdlib.h>
#include <string.h>

typedef struct node {
    const json *v;
    int64_t id, parent;
    double ts; // us
    const char *name;
    bool gpu, parent_of_ops, parent_of_gpu;
} node;

typedef struct nodes {
    ORR_VEC(node) at;
} nodes;

static int by_id(const void *a, const void *b) {
    const node *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_time(const void *a, const void *b) {
    const node *x = a, *y = b;
    if (x->ts != y->ts) return x->ts < y->ts ? -1 : 1;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    return by_id(a, b);
}

static node *find(nodes *n, int64_t id) {
    node key = {.id = id};
    return n->at.n ? bsearch(&key, n->at.at, n->at.n, sizeof key, by_id) : NULL;
}

static const json *attribute(const json *v, const char *name) {
    const json *list = json_get(v, "attrs");
    for (const json *a = list ? list->child : NULL; a; a = a->next)
        if (json_is(json_get(a, "name"), name)) return json_get(a, "value");
    return NULL;
}

// ---- sizes -----------------------------------------------------------------------------------------
enum { MAX_INPUTS = 16 };

static bool is_tensor(const json *type) {
    return type && type->type == JSON_STRING && type->n > 7 && !memcmp(type->s, "Tensor(", 7);
}

static unsigned element(orr_arena *a, const json *type) { // of "Tensor(c10::Half)"
    char *text = orr_arena_strndup(a, type->s + 7, type->n - 7);
    char *close = strrchr(text, ')');
    if (close) *close = 0;
    return read_type_bytes(text);
}

// Shapes of the tensors of one side; their bytes in all.
static double tensors(orr_arena *a, const json *side, int64_t (*shapes)[8], int *dims, unsigned *bytes,
                      int *n) {
    const json *types = json_get(side, "types"), *all = json_get(side, "shapes");
    const json *shape = all ? all->child : NULL;
    double sum = 0;
    *n = 0;
    for (const json *t = types ? types->child : NULL; t && shape; t = t->next, shape = shape->next) {
        if (!is_tensor(t) || *n == MAX_INPUTS || shape->type != JSON_ARRAY) continue;
        double count = 1;
        dims[*n] = 0;
        for (const json *d = shape->child; d && dims[*n] < 8; d = d->next) {
            int64_t size = json_int(d, 0);
            if (size < 0 || size > 1ll << 40) size = 0;
            shapes[*n][dims[*n]++] = size;
            count *= (double)size;
        }
        bytes[*n] = element(a, t);
        sum += count * bytes[*n];
        ++*n;
    }
    return sum < 1e18 ? sum : 0;
}

static void sizes(orr_operators *o, orr_operator *op, const json *v) {
    int64_t shapes[MAX_INPUTS][8];
    int dims[MAX_INPUTS], n;
    unsigned bytes[MAX_INPUTS];
    double out = tensors(&o->arena, json_get(v, "outputs"), shapes, dims, bytes, &n);
    double in = tensors(&o->arena, json_get(v, "inputs"), shapes, dims, bytes, &n);
    op->memory = in + out;
    if (op->kind == ORR_OP_COMPUTE)
        read_shapes(op, n, (const int64_t(*)[8])shapes, dims, bytes);
    else
        op->bytes = (uint64_t)(in > out ? in : out);
}

// ---- operators -------------------------------------------------------------------------------------
static bool known_schema(const json *schema) {
    static const char tail[] = "-chakra.0.0.4";
    size_t n = sizeof tail - 1;
    return schema && schema->type == JSON_STRING && schema->n > n + 4 &&
           !memcmp(schema->s + schema->n - n, tail, n) &&
           (!memcmp(schema->s, "1.0.", 4) || !memcmp(schema->s, "1.1.", 4));
}

static bool collect(orr_operators *o, const json *list, nodes *all, orr_err *e) {
    for (const json *v = list->child; v; v = v->next) {
        int64_t id = json_int(json_get(v, "id"), -1);
        const json *parent = json_get(v, "ctrl_deps");
        const char *name = json_text(&o->arena, json_get(v, "name"));
        if (id < 0 || !name)
            return orr_fail(e, ORR_BAD_INPUT, "%s: node %zu has no id or no name", o->path, all->at.n);
        *ORR_PUSH(&all->at) = (node){v,
                                     id,
                                     json_int(parent, -1),
                                     json_double(json_get(v, "ts"), 0),
                                     name,
                                     json_get(v, "cat") != NULL,
                                     false,
                                     false};
        if (strstr(name, "process_group:init")) {
            const json *values = json_get(json_get(v, "inputs"), "values");
            for (const json *x = values ? values->child : NULL; x; x = x->next) {
                const char *text = json_text(&o->arena, x);
                if (text) read_groups(o, text, strlen(text));
            }
        }
    }
    qsort(all->at.at, all->at.n, sizeof *all->at.at, by_id);
    for (size_t i = 0; i < all->at.n; i++) {
        node *n = &all->at.at[i], *p = n->parent != n->id ? find(all, n->parent) : NULL;
        if (!p) continue;
        if (n->gpu)
            p->parent_of_gpu = true;
        else
            p->parent_of_ops = true;
    }
    return true;
}

static bool wrapper(const node *n) { // labels, threads, what announces a message
    return n->name[0] == '[' || strstr(n->name, "process_group:init") ||
           strstr(n->name, "record_param_comms") || !strncmp(n->name, "##", 2);
}

// A process group is in the attributes of record_param_comms, which is the operator's child or parent.
static const char *group_of(orr_operators *o, nodes *all, const node *n) {
    const char *g = json_text(&o->arena, attribute(n->v, "pg_name"));
    for (int up = 0; !g && n && up < 8; up++) {
        n = find(all, n->parent);
        if (n) g = json_text(&o->arena, attribute(n->v, "pg_name"));
    }
    return g && *g ? g : NULL;
}

typedef struct stream { // the last operator of it
    int number;
    uint64_t id;
    bool comm;
} stream;
typedef ORR_VEC(stream) streams;

// A kernel follows what its stream had before. A collective's also follows what the other streams have had:
// ProcessGroupNCCL makes its stream wait for the one that calls it.
static void behind_streams(orr_operators *o, const orr_operator *op, streams *s) {
    bool comm = op->kind >= ORR_OP_SEND && op->kind <= ORR_OP_COLLECTIVE;
    const int number = op->stream;
    const uint64_t id = op->id;
    stream *mine = NULL;
    for (size_t i = 0; i < s->n; i++) {
        if (s->at[i].number == number) mine = &s->at[i];
        if (s->at[i].number == number || (comm && !s->at[i].comm)) read_dep(o, s->at[i].id);
    }
    if (!mine && s->n < 4096) mine = ORR_PUSH(s);
    if (mine) *mine = (stream){number, id, comm};
}

typedef struct order {  // operators so far
    uint64_t last_host; // UINT64_MAX: there is none
    streams streams;
} order;

static bool add(orr_operators *o, nodes *all, const node *n, bool has_kernels, order *so_far, orr_err *e) {
    uint8_t kind = ORR_OP_HOST, what = 0;
    bool tensors_in = false;
    const json *types = json_get(json_get(n->v, "inputs"), "types");
    for (const json *t = types ? types->child : NULL; t; t = t->next) tensors_in |= is_tensor(t);
    bool is_comm = read_collective(n->name, &kind, &what);
    if (is_comm && !n->gpu && has_kernels) kind = ORR_OP_HOST; // its kernel does it
    if (!is_comm && n->gpu) {
        const json *cat = json_get(n->v, "cat");
        kind = json_is(cat, "gpu_memcpy") || json_is(cat, "gpu_memset") ? ORR_OP_COPY : ORR_OP_COMPUTE;
    }
    if (!is_comm && !n->gpu && !has_kernels && tensors_in) kind = ORR_OP_COMPUTE;
    orr_operator *op = read_add(o, (uint64_t)n->id, n->name, kind, e);
    if (!op) return false;
    op->what = what;
    op->stream = (int)json_int(json_get(n->v, "stream"), -1);
    if (op->stream < 0 || op->stream > 1000000) op->stream = kind == ORR_OP_HOST ? -1 : 0;
    double micros = json_double(json_get(n->v, "exclusive_dur"), -1);
    if (micros >= 0 && micros < 1e12) op->ns = micros * 1e3;
    if (kind != ORR_OP_HOST) sizes(o, op, n->v);
    if (kind >= ORR_OP_SEND && kind <= ORR_OP_COLLECTIVE) op->group = group_of(o, all, n);
    if (n->gpu) {
        if (n->parent >= 0) read_dep(o, (uint64_t)n->parent);
        behind_streams(o, op, &so_far->streams);
    } else {
        if (so_far->last_host != UINT64_MAX) read_dep(o, so_far->last_host);
        so_far->last_host = (uint64_t)n->id;
    }
    const json *waits = json_get(n->v, "inter_thread_dep");
    if (waits && waits->type == JSON_NUMBER) read_dep(o, (uint64_t)json_int(waits, 0));
    return true;
}

bool read_pytorch(orr_operators *o, const json *root, orr_err *e) {
    const json *schema = json_get(root, "schema"), *list = json_get(root, "nodes");
    if (!known_schema(schema))
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: schema \"%.*s\"; 1.0.x-chakra.0.0.4 and 1.1.x-chakra.0.0.4 are what is read",
                        o->path, schema && schema->n < 60 ? (int)schema->n : 0, schema ? schema->s : "");
    if (!list || list->type != JSON_ARRAY) return orr_fail(e, ORR_BAD_INPUT, "%s: has no nodes", o->path);
    o->format = orr_arena_printf(&o->arena, "PyTorch %.*s", (int)schema->n, schema->s);
    o->rank = (int)json_int(json_get(root, "rank"), -1);
    nodes all = {0};
    bool ok = collect(o, list, &all, e), has_kernels = false;
    for (size_t i = 0; ok && i < all.at.n; i++) has_kernels |= all.at.at[i].gpu;
    order so_far = {.last_host = UINT64_MAX};
    ORR_VEC(node) kernels = {0};
    for (size_t i = 0; ok && i < all.at.n; i++) {
        const node *n = &all.at.at[i];
        uint8_t kind, what;
        if (n->gpu) {
            *ORR_PUSH(&kernels) = *n;
            continue;
        }
        // What calls other operators is these; a collective is one operator, whatever it calls.
        bool comm = !has_kernels && read_collective(n->name, &kind, &what);
        if (wrapper(n) || (n->parent_of_ops && !n->parent_of_gpu && !comm)) continue;
        const node *p = find(&all, n->parent);
        if (comm && p && read_collective(p->name, &kind, &what)) continue; // it is that one
        ok = add(o, &all, n, has_kernels, &so_far, e);
    }
    if (kernels.n) qsort(kernels.at, kernels.n, sizeof *kernels.at, by_time);
    for (size_t i = 0; ok && i < kernels.n; i++) ok = add(o, &all, &kernels.at[i], true, &so_far, e);
    free(kernels.at);
    free(so_far.streams.at);
    free(all.at.at);
    return ok;
}
