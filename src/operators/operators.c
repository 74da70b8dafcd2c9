// Which format it is; then what all have in common: dependences as places, an order in which everything comes
// behind what it waits for, process groups.
#include "operators/read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)2 << 30)

const char *const orr_operator_collective[ORR_OP_COLLECTIVES] = {
    "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
    "all-to-all", "reduce-scatter", "reduce-scatter-block", "barrier"};

// ---- adding ----------------------------------------------------------------------------------------
orr_operator *read_add(orr_operators *o, uint64_t id, const char *name, int kind, orr_err *e) {
    if (o->at.n == MAX_OPERATORS) {
        orr_fail(e, ORR_BAD_INPUT, "%s: more than %d operators", o->path, MAX_OPERATORS);
        return NULL;
    }
    orr_operator *op = ORR_PUSH(&o->at);
    *op = (orr_operator){.id = id,
                         .name = name,
                         .kind = (uint8_t)kind,
                         .stream = -1,
                         .peer = -1,
                         .tag = -1,
                         .ns = -1,
                         .first_dep = (uint32_t)o->ids.n};
    return op;
}

void read_dep(orr_operators *o, uint64_t id) {
    orr_operator *op = &o->at.at[o->at.n - 1];
    for (uint32_t i = 0; i < op->ndeps && i < 8; i++)
        if (o->ids.at[o->ids.n - 1 - i] == id) return;
    *ORR_PUSH(&o->ids) = id;
    op->ndeps++;
}

// ---- names -----------------------------------------------------------------------------------------
static void plain(const char *name, char *to, size_t room) { // letters and digits only, small
    size_t n = 0;
    for (; *name && n + 1 < room; name++)
        if (isalnum((unsigned char)*name)) to[n++] = (char)tolower((unsigned char)*name);
    to[n] = 0;
}

bool read_collective(const char *name, uint8_t *kind, uint8_t *what) {
    static const struct {
        const char *name;
        uint8_t kind, what;
    } known[] = {
        {"allreduce", ORR_OP_COLLECTIVE, ORR_OP_ALL_REDUCE},
        {"reducescatter", ORR_OP_COLLECTIVE, ORR_OP_REDUCE_SCATTER},
        {"allgather", ORR_OP_COLLECTIVE, ORR_OP_ALL_GATHER},
        {"alltoall", ORR_OP_COLLECTIVE, ORR_OP_ALL_TO_ALL},
        {"broadcast", ORR_OP_COLLECTIVE, ORR_OP_BROADCAST},
        {"barrier", ORR_OP_COLLECTIVE, ORR_OP_BARRIER},
        {"sendrecv", ORR_OP_SEND, 0},
        {"recv", ORR_OP_RECV, 0},
        {"send", ORR_OP_SEND, 0},
        {"gather", ORR_OP_COLLECTIVE, ORR_OP_GATHER},
        {"scatter", ORR_OP_COLLECTIVE, ORR_OP_SCATTER},
        {"reduce", ORR_OP_COLLECTIVE, ORR_OP_REDUCE},
    };
    static const char *const from[] = {"nccl", "c10d", "gloo", "mpi"};
    char text[128];
    plain(name, text, sizeof text);
    bool library = false; // aten::gather is no collective
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) library |= strstr(text, from[i]) != NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        // PyTorch's "Collective name" is the word alone.
        if (!library && strncmp(text, known[i].name, strlen(known[i].name)) != 0) continue;
        if (!strstr(text, known[i].name)) continue;
        *kind = known[i].kind;
        *what = known[i].what;
        return true;
    }
    return false;
}

unsigned read_type_bytes(const char *type) {
    static const struct {
        const char *name;
        unsigned bytes;
    } known[] = {{"float", 4},
                 {"float32", 4},
                 {"double", 8},
                 {"float64", 8},
                 {"c10::Half", 2},
                 {"half", 2},
                 {"float16", 2},
                 {"Half", 2},
                 {"BFloat16", 2},
                 {"c10::BFloat16", 2},
                 {"bfloat16", 2},
                 {"int", 4},
                 {"Int", 4},
                 {"int32", 4},
                 {"long int", 8},
                 {"long", 8},
                 {"Long", 8},
                 {"int64", 8},
                 {"short", 2},
                 {"int16", 2},
                 {"signed char", 1},
                 {"unsigned char", 1},
                 {"int8", 1},
                 {"uint8", 1},
                 {"Byte", 1},
                 {"Char", 1},
                 {"bool", 1},
                 {"Bool", 1},
                 {"Float", 4},
                 {"Double", 8},
                 {"c10::Float8_e4m3fn", 1},
                 {"c10::Float8_e5m2", 1},
                 {"Float8_e4m3fn", 1},
                 {"complex64", 8},
                 {"complex128", 16}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(type, known[i].name)) return known[i].bytes;
    return 4;
}

void read_shapes(orr_operator *op, int n, const int64_t (*shapes)[8], const int *dims,
                 const unsigned *bytes) {
    (void)bytes;
    const char *name = op->name;
    if (!strncmp(name, "aten::", 6)) name += 6;
    // Two matrices, or batches of them, the last inputs of: mm, bmm, matmul, addmm (behind what is added)
    int a = !strcmp(name, "addmm") || !strcmp(name, "baddbmm") ? 1 : 0;
    bool product = a || !strcmp(name, "mm") || !strcmp(name, "bmm") || !strcmp(name, "matmul");
    bool linear = !strcmp(name, "linear");
    if ((product || linear) && n > a + 1 && dims[a] >= 2 && dims[a + 1] >= 2) {
        double rows = 1;
        for (int d = 0; d + 1 < dims[a]; d++) rows *= (double)shapes[a][d];
        const int64_t *b = shapes[a + 1];
        double inner = (double)shapes[a][dims[a] - 1];
        double columns = (double)b[linear ? dims[a + 1] - 2 : dims[a + 1] - 1];
        op->ops = 2 * rows * inner * columns;
    } else if (!strcmp(name, "convolution") || !strcmp(name, "_convolution") ||
               !strcmp(name, "cudnn_convolution")) {
        // Its outputs are not asked for: as many points as inputs have, each with all of a filter.
        if (n < 2 || dims[0] < 3 || dims[1] != dims[0]) return;
        double points = (double)shapes[0][0], filters = 1;
        for (int d = 2; d < dims[0]; d++) points *= (double)shapes[0][d];
        for (int d = 0; d < dims[1]; d++) filters *= (double)shapes[1][d];
        op->ops = 2 * points * filters;
    }
    if (!(op->ops < 1e18)) op->ops = 0;
}

// ---- process groups --------------------------------------------------------------------------------
const orr_process_group *orr_operators_group(const orr_operators *o, const char *name) {
    for (size_t i = 0; name && i < o->groups.n; i++)
        if (!strcmp(o->groups.at[i].name, name)) return &o->groups.at[i];
    return NULL;
}

void read_groups(orr_operators *o, const char *text, size_t n) {
    orr_err ignored = {0}; // a description that cannot be read says nothing: such a group is of all ranks
    while (n && *text != '[') text++, n--;
    const char *kept = orr_arena_strndup(&o->arena, text, n);
    n = strlen(kept);
    for (size_t i = 0; i + 1 < n; i++) // Chakra has it as text in text
        if (kept[i] == '\\' && kept[i + 1] == '"') ((char *)(uintptr_t)kept)[i] = ' ';
    while (n && kept[n - 1] != ']') n--;
    const json *list = json_parse(&o->arena, "groups", kept, n, &ignored);
    if (list && list->type == JSON_ARRAY && list->child && list->child->type == JSON_STRING &&
        !list->child->next) {
        const char *inner = json_text(&o->arena, list->child);
        list = json_parse(&o->arena, "groups", inner, strlen(inner), &ignored);
    }
    for (const json *g = list && list->type == JSON_ARRAY ? list->child : NULL; g; g = g->next) {
        const char *name = json_text(&o->arena, json_get(g, "pg_name"));
        const json *ranks = json_get(g, "ranks");
        orr_process_group new = {.name = name};
        if (!name || orr_operators_group(o, name) || !ranks || ranks->type != JSON_ARRAY) continue;
        for (const json *r = ranks->child; r; r = r->next) new.n++;
        if (!new.n || new.n > 1 << 20) continue;
        new.ranks = orr_arena_alloc(&o->arena, (size_t) new.n * sizeof *new.ranks);
        int i = 0;
        for (const json *r = ranks->child; r; r = r->next) new.ranks[i++] = (int)json_int(r, 0);
        *ORR_PUSH(&o->groups) = new;
    }
}

// ---- order -----------------------------------------------------------------------------------------
typedef struct key {
    uint64_t id;
    uint32_t at;
} key;

static int by_key(const void *a, const void *b) {
    const key *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool places(orr_operators *o, orr_err *e) {
    size_t n = o->at.n;
    key *keys = orr_calloc(n + 1, sizeof *keys);
    for (size_t i = 0; i < n; i++) keys[i] = (key){o->at.at[i].id, (uint32_t)i};
    if (n) qsort(keys, n, sizeof *keys, by_key);
    bool ok = true;
    for (size_t i = 1; i < n && ok; i++)
        if (keys[i].id == keys[i - 1].id)
            ok = orr_fail(e, ORR_BAD_INPUT, "%s: two operators have the number %llu", o->path,
                          (unsigned long long)keys[i].id);
    for (size_t i = 0; i < n && ok; i++) {
        orr_operator *op = &o->at.at[i];
        uint32_t first = (uint32_t)o->deps.n;
        for (uint32_t d = 0; d < op->ndeps; d++) {
            key want = {.id = o->ids.at[op->first_dep + d]};
            const key *k = bsearch(&want, keys, n, sizeof want, by_key);
            if (k && k->at != i) *ORR_PUSH(&o->deps) = k->at;
            o->left_out += !k;
        }
        op->first_dep = first;
        op->ndeps = (uint32_t)o->deps.n - first;
    }
    free(keys);
    return ok;
}

// A heap of places, the smallest first: of those that can come next the one that is first in the file.
static void sift_in(uint32_t *heap, size_t n, uint32_t v) {
    while (n && heap[(n - 1) / 2] > v) {
        heap[n] = heap[(n - 1) / 2];
        n = (n - 1) / 2;
    }
    heap[n] = v;
}

static uint32_t sift_out(uint32_t *heap, size_t n) { // n: before it
    uint32_t first = heap[0], v = heap[n - 1];
    size_t i = 0;
    for (n--;;) {
        size_t c = 2 * i + 1;
        if (c >= n) break;
        if (c + 1 < n && heap[c + 1] < heap[c]) c++;
        if (heap[c] >= v) break;
        heap[i] = heap[c];
        i = c;
    }
    if (n) heap[i] = v;
    return first;
}

static bool put_in_order(orr_operators *o, orr_err *e) {
    size_t n = o->at.n, ready = 0;
    uint32_t *waits = orr_calloc(n + 1, sizeof *waits), *first = orr_calloc(n + 2, sizeof *first);
    uint32_t *next = orr_calloc(o->deps.n + 1, sizeof *next), *heap = orr_calloc(n + 1, sizeof *heap);
    for (size_t i = 0; i < n; i++)
        for (uint32_t d = 0; d < o->at.at[i].ndeps; d++) first[o->deps.at[o->at.at[i].first_dep + d] + 1]++;
    for (size_t i = 0; i < n; i++) first[i + 1] += first[i];
    uint32_t *fill = orr_calloc(n + 1, sizeof *fill);
    for (size_t i = 0; i < n; i++) {
        const orr_operator *op = &o->at.at[i];
        waits[i] = op->ndeps;
        for (uint32_t d = 0; d < op->ndeps; d++) {
            uint32_t on = o->deps.at[op->first_dep + d];
            next[first[on] + fill[on]++] = (uint32_t)i;
        }
        if (!op->ndeps) sift_in(heap, ready++, (uint32_t)i);
    }
    uint32_t done = 0;
    while (ready) {
        uint32_t i = sift_out(heap, ready--);
        o->at.at[i].order = done++;
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            if (!--waits[next[k]]) sift_in(heap, ready++, next[k]);
    }
    size_t stuck = 0;
    while (stuck < n && !waits[stuck]) stuck++;
    free(waits);
    free(first);
    free(next);
    free(heap);
    free(fill);
    return stuck == n ||
           orr_fail(e, ORR_BAD_INPUT, "%s: operator %llu (%.80s) waits for itself, through others", o->path,
                    (unsigned long long)o->at.at[stuck].id, o->at.at[stuck].name);
}

// ---- whatever it is --------------------------------------------------------------------------------
static bool ends(const char *path, const char *with) {
    size_t n = strlen(path), m = strlen(with);
    return n > m && !strcmp(path + n - m, with);
}

bool orr_operators_probe(const char *path) { return ends(path, ".et") || ends(path, ".json"); }

static bool read_json(orr_operators *o, const char *text, size_t n, orr_err *e) {
    orr_arena tree = {0};
    const json *root = json_parse(&tree, o->path, text, n, e);
    bool ok = root != NULL;
    if (ok && json_get(root, "traceEvents"))
        ok = read_kineto(o, root, e);
    else if (ok && json_get(root, "nodes"))
        ok = read_pytorch(o, root, e);
    else if (ok)
        ok = orr_fail(e, ORR_BAD_INPUT,
                      "%s: neither PyTorch's execution trace (\"nodes\") nor Kineto's (\"traceEvents\")",
                      o->path);
    orr_arena_free(&tree);
    return ok;
}

orr_operators *orr_operators_parse(const char *path, const void *data, size_t n, orr_err *e) {
    orr_operators *o = orr_calloc(1, sizeof *o);
    o->path = orr_arena_strdup(&o->arena, path);
    o->rank = -1;
    const char *text = data;
    size_t blank = 0;
    while (blank < n && isspace((unsigned char)text[blank])) blank++;
    bool is_json = blank < n && text[blank] == '{' && !ends(path, ".et");
    bool ok = is_json ? read_json(o, text, n, e) : read_chakra(o, data, n, e);
    ok = ok && places(o, e) && put_in_order(o, e);
    free(o->ids.at);
    o->ids.at = NULL;
    o->ids.n = 0;
    if (ok) return o;
    orr_operators_free(o);
    return NULL;
}

orr_operators *orr_operators_load(const char *path, orr_err *e) {
    size_t n;
    char *data = orr_read_file(path, MAX_BYTES, &n, e);
    if (!data) return NULL;
    orr_operators *o = orr_operators_parse(path, data, n, e);
    free(data);
    return o;
}

void orr_operators_free(orr_operators *o) {
    if (!o) return;
    free(o->at.at);
    free(o->ids.at);
    free(o->deps.at);
    free(o->groups.at);
    orr_arena_free(&o->arena);
    free(o);
}
