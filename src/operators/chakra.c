// Chakra's execution trace (MLCommons, et_def.proto of schema 0.0.4): a message GlobalMetadata, then a
// message Node for each operator, each behind its length. Fields are read by number; those that are not known
// are passed over.
#include "operators/read.h"

#include <string.h>

typedef struct wire { // what is left of a message
    const uint8_t *at, *end;
} wire;

typedef struct field {
    uint32_t number;
    int type;       // 0: varint, 1: 8 bytes, 2: bytes, 5: 4 bytes
    uint64_t value; // of all but bytes
    wire bytes;
} field;

static bool varint(wire *w, uint64_t *v) {
    *v = 0;
    for (int shift = 0; shift < 70 && w->at < w->end; shift += 7) {
        uint8_t b = *w->at++;
        if (shift < 64) *v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) return true;
    }
    return false;
}

static bool fixed(wire *w, int bytes, uint64_t *v) {
    if (w->end - w->at < bytes) return false;
    *v = 0;
    for (int i = 0; i < bytes; i++) *v |= (uint64_t)w->at[i] << 8 * i;
    w->at += bytes;
    return true;
}

static bool piece(wire *w, wire *p) { // what is behind its length
    uint64_t n;
    if (!varint(w, &n) || n > (uint64_t)(w->end - w->at)) return false;
    *p = (wire){w->at, w->at + n};
    w->at += n;
    return true;
}

static int next(wire *w, field *f) { // 1: a field; 0: the end; -1: not a message
    uint64_t key;
    if (w->at == w->end) return 0;
    if (!varint(w, &key) || key >> 3 > UINT32_MAX || !(key >> 3)) return -1;
    *f = (field){.number = (uint32_t)(key >> 3), .type = (int)(key & 7)};
    bool ok = f->type == 0   ? varint(w, &f->value)
              : f->type == 1 ? fixed(w, 8, &f->value)
              : f->type == 5 ? fixed(w, 4, &f->value)
                             : f->type == 2 && piece(w, &f->bytes);
    return ok ? 1 : -1;
}

static const char *text_of(orr_operators *o, wire b) {
    return b.at ? orr_arena_strndup(&o->arena, (const char *)b.at, (size_t)(b.end - b.at)) : "";
}

// ---- attributes ------------------------------------------------------------------------------------
typedef struct attribute {
    wire name, text;
    double value;
    bool has_value;
} attribute;

static int64_t zigzag(uint64_t v) { return (int64_t)(v >> 1) ^ -(int64_t)(v & 1); }

static bool read_attribute(wire w, attribute *a) {
    field f;
    int more;
    *a = (attribute){0};
    while ((more = next(&w, &f)) > 0) {
        if (f.type == 2) {
            if (f.number == 1) a->name = f.bytes;
            if (f.number == 29) a->text = f.bytes;
            continue;
        }
        if (f.number < 3 || f.number > 28) continue;
        a->has_value = true;
        a->value = (double)(int64_t)f.value; // int32, int64, bool, sfixed64
        if (f.number == 3) memcpy(&a->value, &f.value, 8);
        if (f.number == 5) {
            float x;
            uint32_t bits = (uint32_t)f.value;
            memcpy(&x, &bits, 4);
            a->value = (double)x;
        }
        if (f.number == 13 || f.number == 19 || f.number == 21) a->value = (double)f.value;
        if (f.number == 15 || f.number == 17) a->value = (double)zigzag(f.value);
        if (f.number == 23) a->value = (double)(int32_t)f.value;
    }
    if (!(a->value > -1e18 && a->value < 1e18)) a->value = 0;
    return more == 0;
}

static bool named(const attribute *a, const char *name) {
    size_t n = (size_t)(a->name.end - a->name.at);
    return a->name.at && n == strlen(name) && !memcmp(a->name.at, name, n);
}

// ---- a node ----------------------------------------------------------------------------------------
enum { METADATA = 1, LOAD, STORE, COMPUTE, SEND, RECV, COLLECTIVE };

typedef struct node {
    uint64_t id;
    wire name, inputs;
    int type;
    uint64_t micros;
    bool on_host, has_micros;
    double comm_type, comm_size, src, dst, tag, ops, tensor, stream;
    wire group;
} node;

static void keep(node *n, const attribute *a) {
    const struct {
        const char *name;
        double *to;
    } numbers[] = {{"comm_type", &n->comm_type}, {"comm_size", &n->comm_size}, {"comm_src", &n->src},
                   {"comm_dst", &n->dst},        {"comm_tag", &n->tag},        {"num_ops", &n->ops},
                   {"tensor_size", &n->tensor},  {"stream", &n->stream}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (named(a, numbers[i].name)) *numbers[i].to = a->value;
    if (named(a, "is_cpu_op")) n->on_host = a->value != 0;
    if (named(a, "pg_name")) n->group = a->text;
}

static int kind_of(const node *n) {
    switch (n->type) {
    case LOAD:
    case STORE: return ORR_OP_COPY;
    case COMPUTE: return n->on_host ? ORR_OP_HOST : ORR_OP_COMPUTE;
    case SEND: return ORR_OP_SEND;
    case RECV: return ORR_OP_RECV;
    case COLLECTIVE: return ORR_OP_COLLECTIVE;
    default: return ORR_OP_NOTHING;
    }
}

static bool bad(const orr_operators *o, size_t number, const char *what, orr_err *e) {
    return orr_fail(e, ORR_BAD_INPUT, "%s: message %zu: %s", o->path, number, what);
}

static void groups_of(orr_operators *o, wire inputs) { // of process_group:init: field 1, values, as text
    field f;
    while (next(&inputs, &f) > 0)
        if (f.number == 1 && f.type == 2)
            read_groups(o, (const char *)f.bytes.at, (size_t)(f.bytes.end - f.bytes.at));
}

static bool add_node(orr_operators *o, const node *n, size_t number, orr_err *e) {
    orr_operator *op = read_add(o, n->id, text_of(o, n->name), kind_of(n), e);
    if (!op) return false;
    op->stream = n->stream >= 0 && n->stream < 1e6 ? (int)n->stream : -1;
    if (n->has_micros) op->ns = (double)n->micros * 1e3;
    op->ops = n->ops > 0 ? n->ops : 0;
    op->memory = n->tensor > 0 ? n->tensor : 0;
    op->tag = n->tag >= 0 ? (int64_t)n->tag : -1;
    op->bytes = n->comm_size > 0 ? (uint64_t)n->comm_size : 0;
    if (op->kind == ORR_OP_COPY) op->bytes = (uint64_t)op->memory;
    if (op->kind == ORR_OP_SEND) op->peer = (int64_t)n->dst;
    if (op->kind == ORR_OP_RECV) op->peer = (int64_t)n->src;
    if (n->group.at != n->group.end) op->group = text_of(o, n->group);
    if (op->kind != ORR_OP_COLLECTIVE) return true;
    if (n->comm_type < 0 || n->comm_type >= ORR_OP_COLLECTIVES)
        return bad(o, number, "a collective of no kind that Chakra has (comm_type)", e);
    op->what = (uint8_t)n->comm_type;
    return true;
}

// Dependences come before attributes or after them: the node is added first, then they.
static bool dependences(orr_operators *o, wire w) {
    field f;
    while (next(&w, &f) > 0) {
        if (f.number != 4 && f.number != 5) continue;
        uint64_t id;
        if (f.type == 0) read_dep(o, f.value);
        if (f.type == 2)
            while (f.bytes.at < f.bytes.end) {
                if (!varint(&f.bytes, &id)) return false;
                read_dep(o, id);
            }
    }
    return true;
}

static bool read_node(orr_operators *o, wire w, size_t number, orr_err *e) {
    node n = {.comm_type = -1, .src = -1, .dst = -1, .tag = -1, .stream = -1};
    wire all = w;
    field f;
    int more;
    while ((more = next(&w, &f)) > 0) {
        attribute a;
        if (f.number == 1 && f.type == 0) n.id = f.value;
        if (f.number == 2 && f.type == 2) n.name = f.bytes;
        if (f.number == 3 && f.type == 0) n.type = f.value > 16 ? 0 : (int)f.value;
        if (f.number == 7 && f.type == 0 && f.value < 1ull << 50) n.micros = f.value, n.has_micros = true;
        if (f.number == 8 && f.type == 2) n.inputs = f.bytes;
        if (f.number == 10 && f.type == 2) {
            if (!read_attribute(f.bytes, &a)) return bad(o, number, "an attribute is damaged", e);
            keep(&n, &a);
        }
    }
    if (more < 0) return bad(o, number, "this is no message Node of Chakra's", e);
    const char *init = "process_group:init";
    if (n.name.at && memmem(n.name.at, (size_t)(n.name.end - n.name.at), init, strlen(init)))
        groups_of(o, n.inputs);
    return add_node(o, &n, number, e) &&
           (dependences(o, all) || bad(o, number, "a list of dependences is damaged", e));
}

bool read_chakra(orr_operators *o, const uint8_t *data, size_t n, orr_err *e) {
    wire file = {data, data + n}, message, text = {0};
    field f;
    if (!piece(&file, &message)) return bad(o, 0, "this is no execution trace of Chakra's", e);
    int more;
    while ((more = next(&message, &f)) > 0)
        if (f.number == 1 && f.type == 2) text = f.bytes;
    if (more < 0) return bad(o, 0, "this is no message GlobalMetadata of Chakra's", e);
    size_t length = (size_t)(text.end - text.at);
    if (length && (length != 5 || memcmp(text.at, "0.0.4", 5) != 0))
        return orr_fail(e, ORR_BAD_INPUT, "%s: schema %.*s of Chakra's; 0.0.4 is what is read", o->path,
                        (int)(length < 40 ? length : 40), text.at);
    o->format = "Chakra 0.0.4";
    for (size_t number = 1; file.at < file.end; number++) {
        if (!piece(&file, &message)) return bad(o, number, "the file ends in the middle of it", e);
        if (!read_node(o, message, number, e)) return false;
    }
    return true;
}
