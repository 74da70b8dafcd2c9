// Kineto's trace (torch.profiler's export_chrome_trace): {"traceEvents": [...]}, with the kernels, copies and
// collectives of one process, when they began and what they took.
//
// What is recorded is times, not what waits for what. A stream's events follow each other. An event of one
// stream waits for those of other streams that had ended when it began, as far as nothing shows otherwise: of
// each other stream the last one. The host's gaps in front of a stream that had nothing to do are kept
// as the host's time.
#include "operators/read.h"

#include <stdlib.h>
#include <string.h>

typedef struct event {
    const json *v, *args;
    double from, ns; // of the recording
    int stream, device;
    uint8_t kind, what;
} event;

typedef struct events {
    ORR_VEC(event) at;
} events;

static int by_time(const void *a, const void *b) {
    const event *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

static bool of_gpu(const json *cat) {
    return json_is(cat, "kernel") || json_is(cat, "gpu_memcpy") || json_is(cat, "gpu_memset");
}

static void triple(const json *v, uint32_t to[3]) {
    int i = 0;
    for (const json *x = v && v->type == JSON_ARRAY ? v->child : NULL; x && i < 3; x = x->next) {
        int64_t n = json_int(x, 0);
        to[i++] = n > 0 && n < 1ll << 31 ? (uint32_t)n : 0;
    }
}

static void collect(const json *list, events *all, orr_arena *a) {
    for (const json *v = list->child; v; v = v->next) {
        const json *cat = json_get(v, "cat"), *args = json_get(v, "args");
        double from = json_double(json_get(v, "ts"), -1), us = json_double(json_get(v, "dur"), -1);
        if (!json_is(json_get(v, "ph"), "X") || !of_gpu(cat) || from < 0 || us < 0 || us > 1e12) continue;
        event x = {.v = v, .args = args, .from = from * 1e3, .ns = us * 1e3};
        int64_t stream = json_int(json_get(args, "stream"), 0);
        x.stream = stream >= 0 && stream < 1000000 ? (int)stream : 0;
        x.kind = json_is(cat, "kernel") ? ORR_OP_COMPUTE : ORR_OP_COPY;
        const char *name = json_text(a, json_get(args, "Collective name"));
        if (!name || !read_collective(name, &x.kind, &x.what)) {
            name = json_text(a, json_get(v, "name"));
            if (name && strstr(name, "nccl")) read_collective(name, &x.kind, &x.what);
        }
        *ORR_PUSH(&all->at) = x;
    }
}

static double count(const json *args, const char *name) {
    double n = json_double(json_get(args, name), 0);
    return n > 0 && n < 1e15 ? n : 0;
}

static void ranks_of(orr_operators *o, orr_operator *op, const json *args) {
    const char *name = json_text(&o->arena, json_get(args, "Process Group Name"));
    const char *text = json_text(&o->arena, json_get(args, "Process Group Ranks"));
    if (!name || !*name) return;
    op->group = name;
    if (!text || orr_operators_group(o, name)) return;
    const char *group =
        orr_arena_printf(&o->arena, "[{\"pg_name\": \"%.200s\", \"ranks\": %.8000s}]", name, text);
    read_groups(o, group, strlen(group));
}

static void message(orr_operators *o, orr_operator *op, const json *args) {
    const char *type = json_text(&o->arena, json_get(args, "dtype"));
    double in = count(args, "In msg nelems"), out = count(args, "Out msg nelems");
    unsigned bytes = type ? read_type_bytes(type) : 4;
    op->bytes = (uint64_t)((in > out ? in : out) * bytes);
    op->peer = json_int(json_get(args, op->kind == ORR_OP_SEND ? "Dst Rank" : "Src Rank"), -1);
    ranks_of(o, op, args);
}

typedef struct stream { // the last event of it
    int number;
    uint64_t id;
    double end;
} stream;

static bool add(orr_operators *o, const event *x, uint64_t id, orr_err *e) {
    const char *name = json_text(&o->arena, json_get(x->v, "name"));
    orr_operator *op = read_add(o, id, name ? name : "event", x->kind, e);
    if (!op) return false;
    op->what = x->what;
    op->stream = x->stream;
    op->ns = x->ns;
    triple(json_get(x->args, "grid"), op->grid);
    triple(json_get(x->args, "block"), op->block);
    if (x->kind == ORR_OP_COPY) op->bytes = (uint64_t)count(x->args, "bytes");
    if (x->kind >= ORR_OP_SEND && x->kind <= ORR_OP_COLLECTIVE) message(o, op, x->args);
    return true;
}

static bool gap(orr_operators *o, uint64_t *id, double ns, uint64_t after, orr_err *e) {
    orr_operator *op = read_add(o, ++*id, "host", ORR_OP_HOST, e);
    if (!op) return false;
    op->ns = ns;
    read_dep(o, after);
    return true;
}

bool read_kineto(orr_operators *o, const json *root, orr_err *e) {
    const json *list = json_get(root, "traceEvents"), *ranks = json_get(root, "distributedInfo");
    if (!list || list->type != JSON_ARRAY) return orr_fail(e, ORR_BAD_INPUT, "%s: has no events", o->path);
    o->format = "Kineto";
    o->rank = (int)json_int(json_get(ranks, "rank"), -1);
    int64_t world = json_int(json_get(ranks, "world_size"), 0);
    o->ranks = world > 0 && world < 1 << 20 ? (int)world : 0;
    events all = {0};
    ORR_VEC(stream) streams = {0};
    collect(list, &all, &o->arena);
    if (all.at.n) qsort(all.at.at, all.at.n, sizeof *all.at.at, by_time);
    bool ok = true;
    uint64_t id = 0;
    for (size_t i = 0; ok && i < all.at.n; i++) {
        const event *x = &all.at.at[i];
        stream *mine = NULL;
        uint64_t latest = 0; // what ended last before this one began
        double end = -1;
        for (size_t s = 0; s < streams.n; s++) {
            if (streams.at[s].number == x->stream) mine = &streams.at[s];
            if (streams.at[s].end <= x->from && streams.at[s].end > end) {
                end = streams.at[s].end;
                latest = streams.at[s].id;
            }
        }
        // Nothing ran on the GPU: the host was not ready.
        bool idle = latest != 0, wait = false;
        for (size_t s = 0; s < streams.n; s++) idle &= streams.at[s].end <= x->from;
        if (idle && x->from - end > 1000) {
            ok = gap(o, &id, x->from - end, latest, e);
            wait = true;
        }
        uint64_t host = id;
        ok = ok && add(o, x, ++id, e);
        if (ok && wait) read_dep(o, host);
        for (size_t s = 0; ok && s < streams.n; s++)
            if (&streams.at[s] == mine || streams.at[s].end <= x->from) read_dep(o, streams.at[s].id);
        if (!mine) {
            if (streams.n == 4096) ok = orr_fail(e, ORR_BAD_INPUT, "%s: more than 4096 streams", o->path);
            mine = ORR_PUSH(&streams);
        }
        *mine = (stream){x->stream, id, x->from + x->ns};
    }
    if (ok && !all.at.n)
        ok = orr_fail(e, ORR_BAD_INPUT, "%s: has no kernels; record with ProfilerActivity.CUDA", o->path);
    free(all.at.at);
    free(streams.at);
    return ok;
}
