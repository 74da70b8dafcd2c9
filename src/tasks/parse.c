// Reads a task list (docs/how/partial.md has the language). One statement a line; # begins a comment.
//
//   words.c    words, numbers, names
//   kernel.c   a kernel's tasks
//   parse.c    the application around kernels: launches, copies, messages, repetitions
#include "tasks/parse.h"

#include <stdlib.h>
#include <string.h>

// ---- the application ---------------------------------------------------------------------------
static uint64_t repeated(const tasks_parser *p) {
    return p->depth_around ? p->around[p->depth_around - 1].times : 1;
}

static bool add_step(tasks_parser *p, orr_task_step s) {
    if (p->t->steps.n == MAX_STEPS) return tasks_bad(p, "an application has at most 4096 steps");
    s.times = repeated(p);
    s.line = p->line;
    s.gpu = p->gpu;
    p->counted += s.kind <= ORR_TASKS_COPY_FROM || s.kind == ORR_TASKS_LAUNCH;
    *ORR_PUSH(&p->t->steps) = s;
    return true;
}

static bool launch(tasks_parser *p) {
    size_t n = tasks_word(p);
    const task_kernel *k = n ? tasks_find(p->t, p->at, n) : NULL;
    if (!k) return tasks_fail(p, "no kernel above has the name", p->at, n ? n : 1);
    p->at += n;
    orr_task_step s = {.kind = ORR_TASKS_LAUNCH,
                       .launch = {.kernel = &k->kernel, .grid = {1, 1, 1}, .block = {k->threads, 1, 1}}};
    s.launch.index = p->counted;
    if (!tasks_take_word(p, "grid"))
        return tasks_bad(p, "a launch says how many blocks there are: grid 128, 64");
    static const uint64_t most[3] = {2147483647, 65535, 65535};
    for (int d = 0; d < 3; d++) {
        uint64_t v = 1;
        if (!tasks_amount(p, "a grid's dimension", 1, most[d], &v)) return false;
        s.launch.grid[d] = (uint32_t)v;
        if (!tasks_take(p, ',')) break;
    }
    return add_step(p, s);
}

static bool gpu_number(tasks_parser *p, int *gpu) {
    uint64_t n = 0;
    if (!tasks_amount(p, "a GPU's number", 0, p->place.gpus > 1 ? (uint64_t)p->place.gpus - 1 : 0, &n))
        return false;
    *gpu = (int)n;
    return true;
}

static bool copy_step(tasks_parser *p) {
    orr_task_step s = {.kind = ORR_TASKS_COPY_TO};
    bool from = tasks_take_word(p, "from");
    if (!from && !tasks_take_word(p, "to"))
        return tasks_bad(p, "copy to the GPU, or copy from it: copy to 64M");
    if (from) s.kind = ORR_TASKS_COPY_FROM;
    if (!from && tasks_take_word(p, "gpu")) {
        s.kind = ORR_TASKS_COPY_PEER;
        if (!gpu_number(p, &s.peer)) return false;
        if (!tasks_take(p, ',')) return tasks_bad(p, "a , is missing: copy to gpu 1, 64M");
    }
    return tasks_amount(p, "bytes", 1, 1ull << 44, &s.bytes) && add_step(p, s);
}

// ---- messages ------------------------------------------------------------------------------------
#define MAX_MESSAGE ((uint64_t)8 << 30) // SimGrid counts elements in an int; of 4 bytes

static bool other_rank(tasks_parser *p, const char *word, const char *what, int *rank) {
    uint64_t r = 0, most = p->place.alone ? 1u << 30 : (uint64_t)p->place.ranks - 1;
    if (!tasks_take_word(p, word)) return tasks_bad(p, what);
    if (!tasks_amount(p, "a rank", 0, most, &r)) return false;
    *rank = (int)r;
    return true;
}

static bool message(tasks_parser *p, int kind) {
    orr_task_step s = {.kind = kind};
    bool send = kind == ORR_TASKS_SEND || kind == ORR_TASKS_ISEND;
    uint64_t tag = 0;
    if (!tasks_amount(p, "bytes", 0, MAX_MESSAGE, &s.bytes)) return false;
    if (!other_rank(p, send ? "to" : "from",
                    send ? "to whom is missing: send 64K to rank + 1"
                         : "from whom is missing: recv 64K from rank - 1",
                    &s.peer))
        return false;
    if (s.peer == p->place.rank && !p->place.alone)
        return orr_fail(p->e, ORR_BAD_INPUT, "%s:%d: rank %d has itself at the other end of a message",
                        p->path, p->line, s.peer);
    if (tasks_take_word(p, "tag") && !tasks_amount(p, "a tag", 0, 32767, &tag)) return false;
    s.tag = (int)tag;
    return add_step(p, s);
}

static const struct {
    const char *name, *root; // the word before the rank that has or gets all; NULL: all ranks do the same
    int kind;
    bool bytes;
} collectives[] = {
    {"barrier", NULL, ORR_TASKS_BARRIER, false},     {"allreduce", NULL, ORR_TASKS_ALL_REDUCE, true},
    {"reduce", "to", ORR_TASKS_REDUCE, true},        {"broadcast", "from", ORR_TASKS_BROADCAST, true},
    {"allgather", NULL, ORR_TASKS_ALL_GATHER, true}, {"gather", "to", ORR_TASKS_GATHER, true},
    {"scatter", "from", ORR_TASKS_SCATTER, true},    {"reducescatter", NULL, ORR_TASKS_REDUCE_SCATTER, true},
    {"alltoall", NULL, ORR_TASKS_ALL_TO_ALL, true},
};

static bool by_nccl(int kind) { // NCCL has it, and its time is known (node/collective.h)
    return kind == ORR_TASKS_ALL_REDUCE || kind == ORR_TASKS_REDUCE || kind == ORR_TASKS_BROADCAST ||
           kind == ORR_TASKS_ALL_GATHER || kind == ORR_TASKS_REDUCE_SCATTER;
}

static bool collective(tasks_parser *p, size_t which) {
    orr_task_step s = {.kind = collectives[which].kind, .peer = -1};
    const char *root = collectives[which].root;
    uint64_t color = 0;
    if (collectives[which].bytes && !tasks_amount(p, "bytes", 0, MAX_MESSAGE, &s.bytes)) return false;
    if (root && !other_rank(p, root,
                            *root == 't' ? "to whom is missing: reduce 64K to 0"
                                         : "from whom is missing: broadcast 64K from 0",
                            &s.peer))
        return false;
    if (tasks_take_word(p, "among")) {
        if (!tasks_amount(p, "the number of a group", 0, 1u << 30, &color)) return false;
        s.group = (int)color + 1;
    }
    s.nccl = tasks_take_word(p, "nccl");
    if (s.nccl && !by_nccl(s.kind))
        return tasks_fail(p, "nccl is for allreduce, reduce, broadcast, allgather and reducescatter, not",
                          collectives[which].name, strlen(collectives[which].name));
    return add_step(p, s);
}

static bool host_code(tasks_parser *p) {
    orr_task_step s = {.kind = ORR_TASKS_HOST};
    if (!tasks_amount(p, "microseconds", 1, 1u << 30, &s.bytes)) return false;
    return add_step(p, s);
}

static const struct {
    const char *name;
    int kind;
} plain[] = {{"wait", ORR_TASKS_WAIT}, {"sync", ORR_TASKS_SYNC}};

static const struct {
    const char *name;
    int kind;
} messages[] = {{"send", ORR_TASKS_SEND},
                {"recv", ORR_TASKS_RECV},
                {"isend", ORR_TASKS_ISEND},
                {"irecv", ORR_TASKS_IRECV}};

#define COUNT(a) (sizeof(a) / sizeof *(a))

// ---- repetitions and conditions ------------------------------------------------------------------
static bool deeper(tasks_parser *p, uint64_t times, uint32_t step, bool condition, bool taken) {
    if (p->depth_around == MAX_DEPTH) return tasks_bad(p, "repetitions and conditions nest at most 8 deep");
    p->around[p->depth_around].times = times;
    p->around[p->depth_around].step = step;
    p->around[p->depth_around].line = p->line;
    p->around[p->depth_around].condition = condition;
    p->around[p->depth_around++].taken = taken;
    return true;
}

static bool begin_repeat(tasks_parser *p) {
    uint64_t n = 1;
    if (!tasks_amount(p, "repeat", 1, 1u << 30, &n)) return false;
    if (repeated(p) > (1ull << 40) / n) return tasks_bad(p, "too many repetitions");
    uint64_t times = repeated(p) * n;
    uint32_t step = (uint32_t)p->t->steps.n;
    return add_step(p, (orr_task_step){.kind = ORR_TASKS_REPEAT, .bytes = n}) &&
           deeper(p, times, step, false, true);
}

static bool begin_if(tasks_parser *p) {
    int64_t v;
    return tasks_condition(p, &v, 0) && deeper(p, repeated(p), 0, true, v != 0);
}

static bool end_around(tasks_parser *p) {
    if (!p->depth_around) return tasks_bad(p, "an end without repeat, if or kernel");
    p->depth_around--;
    if (p->around[p->depth_around].condition) return true;
    uint32_t from = p->around[p->depth_around].step;
    p->t->steps.at[from].match = (uint32_t)p->t->steps.n;
    return add_step(p, (orr_task_step){.kind = ORR_TASKS_END, .match = from});
}

// Lines that a condition leaves out: only where it ends is of interest.
static bool left_out(tasks_parser *p) {
    int depth = 0, line = p->around[p->depth_around - 1].line;
    for (;;) {
        if (tasks_at_end(p)) {
            if (p->at == p->end) break;
            p->at++, p->line++;
            continue;
        }
        bool mine = depth == 0 && p->around[p->depth_around - 1].condition;
        if (mine && tasks_take_word(p, "else")) {
            p->around[p->depth_around - 1].taken = true;
            return true;
        }
        if (tasks_take_word(p, "end")) {
            if (depth-- == 0) return end_around(p);
        } else if (tasks_take_word(p, "if") || tasks_take_word(p, "repeat")) {
            depth++;
        } else if (tasks_take_word(p, "kernel")) {
            return tasks_bad(p, "a kernel inside if");
        }
        while (p->at < p->end && *p->at != '\n') p->at++;
    }
    p->line = line;
    return tasks_bad(p, "this if has no end");
}

static bool skip_else(tasks_parser *p) { // what was before it has been taken
    int n = p->depth_around;
    if (!n || !p->around[n - 1].condition) return tasks_bad(p, "an else without if");
    p->around[n - 1].taken = false;
    return true;
}

// ---- statements -------------------------------------------------------------------------------------
static bool statement(tasks_parser *p);

static bool on_gpu(tasks_parser *p) {
    int was = p->gpu;
    if (!tasks_take_word(p, "gpu")) return tasks_bad(p, "on gpu K");
    if (!gpu_number(p, &p->gpu)) return false;
    p->t->ranks_line = p->t->ranks_line ? p->t->ranks_line : p->line;
    if (tasks_at_end(p)) return true; // from here on
    bool ok = statement(p);
    p->gpu = was;
    return ok;
}

// What needs more than one GPU and its host: a rank, a message, another GPU.
static bool of_ranks(tasks_parser *p, bool *found) {
    *found = true;
    int line = p->line;
    bool ok = false, done = false;
    for (size_t i = 0; i < COUNT(messages) && !done; i++)
        if ((done = tasks_take_word(p, messages[i].name))) ok = message(p, messages[i].kind);
    for (size_t i = 0; i < COUNT(collectives) && !done; i++)
        if ((done = tasks_take_word(p, collectives[i].name))) ok = collective(p, i);
    for (size_t i = 0; i < COUNT(plain) && !done; i++)
        if ((done = tasks_take_word(p, plain[i].name)))
            ok = add_step(p, (orr_task_step){.kind = plain[i].kind});
    if (!done && (done = tasks_take_word(p, "host"))) ok = host_code(p);
    if (!done && (done = tasks_take_word(p, "on"))) ok = on_gpu(p);
    *found = done;
    if (done && !p->t->ranks_line) p->t->ranks_line = line;
    return ok;
}

static bool statement(tasks_parser *p) {
    if (p->depth_around && p->around[p->depth_around - 1].condition && !p->around[p->depth_around - 1].taken)
        return left_out(p);
    if (tasks_at_end(p)) return true;
    if (p->k) return tasks_task(p);
    if (tasks_take_word(p, "let")) return tasks_let(p);
    if (tasks_take_word(p, "kernel"))
        return p->depth_around ? tasks_bad(p, "a kernel inside repeat or if") : tasks_begin_kernel(p);
    if (tasks_take_word(p, "launch")) return launch(p);
    if (tasks_take_word(p, "copy")) return copy_step(p);
    if (tasks_take_word(p, "repeat")) return begin_repeat(p);
    if (tasks_take_word(p, "if")) return begin_if(p);
    if (tasks_take_word(p, "else")) return skip_else(p);
    if (tasks_take_word(p, "end")) return end_around(p);
    bool found, ok = of_ranks(p, &found);
    if (found) return ok;
    size_t n = tasks_word(p);
    return tasks_fail(p, "let, kernel, launch, copy, repeat, if, a message or end is expected, not", p->at,
                      n ? n : 1);
}

// What a list knows of where it runs.
static bool apply_place(tasks_parser *p) {
    const orr_task_rank *r = &p->place;
    const struct {
        const char *name;
        int value;
    } known[] = {{"rank", r->rank},   {"ranks", r->ranks}, {"node", r->node},
                 {"nodes", r->nodes}, {"gpus", r->gpus},   {"local", r->local}};
    for (size_t i = 0; i < COUNT(known); i++) {
        if (!tasks_name(p, known[i].name, strlen(known[i].name), known[i].value, true)) return false;
        p->names[p->nnames - 1].met = p->names[p->nnames - 1].place = true;
    }
    return true;
}

static bool apply_sets(tasks_parser *p, const char *const *sets, int nsets) {
    for (int i = 0; i < nsets; i++) {
        size_t key = strcspn(sets[i], "=");
        if (!sets[i][key] || !key || key > 30)
            return orr_fail(p->e, ORR_BAD_INPUT, "%s: --set takes name=value, not \"%.60s\"", p->path,
                            sets[i]);
        tasks_parser q = {.path = "--set", .at = sets[i] + key + 1, .e = p->e, .line = i + 1};
        q.end = q.at + strlen(q.at);
        int64_t v;
        if (!tasks_expression(&q, &v, 0)) return false;
        if (!tasks_at_end(&q)) return tasks_bad(&q, "a number is expected");
        if (!tasks_name(p, sets[i], key, v, true)) return false;
    }
    return true;
}

orr_tasks *orr_tasks_parse_rank(const orr_tasks_text *of, const orr_task_rank *place, orr_err *e) {
    tasks_parser *p = orr_calloc(1, sizeof *p);
    *p = (tasks_parser){.path = of->path,
                        .at = of->text,
                        .end = of->text + of->n,
                        .line = 1,
                        .e = e,
                        .place = *place,
                        .gpu = -1};
    orr_tasks *t = p->t = orr_calloc(1, sizeof *t);
    bool ok = of->n <= MAX_TEXT || tasks_bad(p, "a task list has at most 1 MiB");
    ok = ok && apply_place(p) && apply_sets(p, of->sets, of->nsets);
    while (ok && p->at < p->end) {
        ok = statement(p);
        if (ok && !tasks_at_end(p))
            ok = tasks_fail(p, "the line should end before", p->at, tasks_word(p) ? tasks_word(p) : 1);
        if (ok && p->at < p->end) p->at++, p->line++;
    }
    for (int i = 0; ok && i < p->nnames; i++)
        if (!p->names[i].met) {
            ok = orr_fail(e, ORR_BAD_INPUT, "--set %s=%lld: %s has no such name; let %s = ... would make one",
                          p->names[i].text, (long long)p->names[i].value, of->path, p->names[i].text);
        }
    if (ok && p->k) ok = tasks_bad(p, "the last kernel has no end");
    if (ok && p->depth_around) ok = tasks_bad(p, "the last repeat or if has no end");
    if (ok && !t->steps.n && place->alone) ok = tasks_bad(p, "nothing is launched: launch KERNEL grid 128");
    free(p);
    if (ok) return t;
    orr_tasks_free(t);
    return NULL;
}

static const orr_task_rank alone = {.ranks = 1, .nodes = 1, .gpus = 64, .alone = true};

orr_tasks *orr_tasks_parse(const char *path, const char *text, size_t n, const char *const *sets, int nsets,
                           orr_err *e) {
    return orr_tasks_parse_rank(
        &(orr_tasks_text){.path = path, .text = text, .n = n, .sets = sets, .nsets = nsets}, &alone, e);
}

bool orr_tasks_probe(const char *path) {
    size_t n = strlen(path);
    return n > 6 && strcmp(path + n - 6, ".tasks") == 0;
}

orr_tasks *orr_tasks_load(const char *path, const char *const *sets, int nsets, orr_err *e) {
    return orr_tasks_load_rank(path, sets, nsets, &alone, e);
}

orr_tasks *orr_tasks_load_rank(const char *path, const char *const *sets, int nsets,
                               const orr_task_rank *place, orr_err *e) {
    size_t n;
    char *text = orr_read_file(path, MAX_TEXT, &n, e);
    if (!text) return NULL;
    orr_tasks *t = orr_tasks_parse_rank(
        &(orr_tasks_text){.path = path, .text = text, .n = n, .sets = sets, .nsets = nsets}, place, e);
    free(text);
    return t;
}

int orr_tasks_of_ranks(const orr_tasks *t) { return t->ranks_line; }

void orr_tasks_free(orr_tasks *t) {
    if (!t) return;
    for (size_t i = 0; i < t->kernels.n; i++) {
        task_kernel *k = t->kernels.at[i];
        free(k->kernel.insts);
        free(k->kernel.blocks);
        free(k->kernel.operands);
        free((void *)k->kernel.names);
        orr_arena_free(&k->kernel.arena);
        orr_arena_free(&k->module.arena);
        free(k->mems.at);
        free(k->items.at);
        free(k);
    }
    free(t->kernels.at);
    free(t->steps.at);
    free(t);
}

size_t orr_tasks_steps(const orr_tasks *t, const orr_task_step **steps) {
    *steps = t->steps.at;
    return t->steps.n;
}
