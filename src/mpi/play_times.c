// What an operator of an execution trace takes: as it was recorded; as a report of `orrery run --json` has it
// for kernels of the same name and shape (of a capture of the same program, say); or by the model, as a
// kernel that reads the operator's bytes and does its operations.
#include "mpi/play.h"

#include <stdlib.h>
#include <string.h>

typedef struct launch {
    char *name; // without blanks
    uint32_t grid[3], block[3];
    double ns;
    bool used;
} launch;

struct play_times {
    bool model;
    ORR_VEC(launch) launches;
    orr_arena arena;
};

// ---- a report ------------------------------------------------------------------------------------------
static char *without_blanks(orr_arena *a, const char *s, size_t n) {
    char *to = orr_arena_alloc(a, n + 1);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (s[i] != ' ' && s[i] != '\\') to[m++] = s[i];
    to[m] = 0;
    return to;
}

static const char *behind(const char *at, const char *end,
                          const char *key) { // the value of a key before `end`
    const char *p = memmem(at, (size_t)(end - at), key, strlen(key));
    return p ? p + strlen(key) : NULL;
}

static void triple(const char *at, const char *end, const char *key, uint32_t to[3]) {
    const char *p = behind(at, end, key);
    for (int i = 0; i < 3; i++) to[i] = 1;
    while (p && (*p == ' ' || *p == '[' || *p == ':')) p++;
    for (int i = 0; p && p < end && i < 3; i++) {
        char *next;
        to[i] = (uint32_t)strtoul(p, &next, 10);
        p = next;
        while (*p == ',' || *p == ' ') p++;
    }
}

// One object a launch: "kernel": "...", maybe "demangled": "...", "grid": [...], ..., "time_ns": N.
static void read_report(play_times *t, const char *text, size_t n) {
    const char *end = text + n, *at = text;
    static const char kernel[] = "\"kernel\": \"";
    for (const char *next; (at = behind(at, end, kernel)); at = next) {
        next = memmem(at, (size_t)(end - at), kernel, sizeof kernel - 1);
        const char *stop = next ? next : end, *name = behind(at, stop, "\"demangled\": \""), *ns;
        if (!name) name = at;
        const char *quote = name;
        while (quote < stop && *quote != '"') quote += *quote == '\\' ? 2 : 1;
        ns = behind(at, stop, "\"time_ns\": ");
        launch l = {.name = without_blanks(&t->arena, name, (size_t)(quote < stop ? quote - name : 0))};
        triple(at, stop, "\"grid\"", l.grid);
        triple(at, stop, "\"block\"", l.block);
        l.ns = ns ? strtod(ns, NULL) : -1;
        if (l.ns >= 0) *ORR_PUSH(&t->launches) = l;
        if (!next) break;
        next = at + 1;
    }
}

static double reported(play_times *t, const orr_operator *op) {
    orr_arena a = {0};
    const char *name = without_blanks(&a, op->name, strlen(op->name));
    launch *first = NULL, *take = NULL;
    for (size_t i = 0; i < t->launches.n && !take; i++) {
        launch *l = &t->launches.at[i];
        if (strcmp(l->name, name) != 0 || (op->grid[0] && memcmp(l->grid, op->grid, sizeof l->grid) != 0) ||
            (op->block[0] && memcmp(l->block, op->block, sizeof l->block) != 0))
            continue;
        if (!first) first = l;
        if (!l->used) take = l;
    }
    orr_arena_free(&a);
    if (!take && first) { // all of them have been: again from the first
        for (size_t i = 0; i < t->launches.n; i++)
            if (!strcmp(t->launches.at[i].name, first->name)) t->launches.at[i].used = false;
        take = first;
    }
    if (!take) return -1;
    take->used = true;
    return take->ns;
}

// ---- the model -----------------------------------------------------------------------------------------
// Its bytes are read in pieces of 16 a thread, its operations are tensor instructions of 4,096 each (16 x 8 x
// 16 multiplications and additions), over as many warps as fill the GPU.
typedef struct size {
    double ops, memory, ns;
} size;

static double modelled(const orr_operator *op) {
    static ORR_VEC(size) known;
    for (size_t i = 0; i < known.n; i++)
        if (known.at[i].ops == op->ops && known.at[i].memory == op->memory) return known.at[i].ns;
    uint64_t sms = (uint64_t)the_app.gpu->sm_count, warps = sms * 32;
    uint64_t loads = (uint64_t)(op->memory / 512) + 1, tensor = (uint64_t)(op->ops / 4096);
    uint64_t most = loads > tensor ? loads : tensor;
    while (most / warps > 2000) warps *= 2;
    if (most < warps) warps = (most + 7) / 8 * 8;
    uint64_t l = (loads + warps - 1) / warps, m = (tensor + warps - 1) / warps;
    uint64_t rounds = m && l > 1 ? (l < m ? l : m) : 1;
    orr_text text = {0};
    orr_text_add(&text, "kernel operator threads 256 registers 64\nloop %llu\nload global 16 x %llu\n",
                 (unsigned long long)rounds, (unsigned long long)(l / rounds ? l / rounds : 1));
    if (m / rounds) orr_text_add(&text, "tensor x %llu after 0\n", (unsigned long long)(m / rounds));
    orr_text_add(&text, "end\n");
    if (l % rounds) orr_text_add(&text, "load global 16 x %llu\n", (unsigned long long)(l % rounds));
    if (m % rounds) orr_text_add(&text, "tensor x %llu\n", (unsigned long long)(m % rounds));
    orr_text_add(&text, "end\nlaunch operator grid %llu\n", (unsigned long long)(warps / 8 ? warps / 8 : 1));
    orr_err e = {0};
    orr_tasks *list = orr_tasks_parse(op->name, text.s, text.n, NULL, 0, &e);
    free(text.s);
    if (!list) play_fail(e.text);
    const orr_task_step *s;
    size_t n = orr_tasks_steps(list, &s);
    double ns = n ? play_time(list, &s[0]) : 0; // the list stays: the result names its kernel
    *ORR_PUSH(&known) = (size){op->ops, op->memory, ns};
    return ns;
}

// ---- whichever -----------------------------------------------------------------------------------------
play_times *play_times_open(void) {
    static play_times *only;
    if (only) return only;
    only = orr_calloc(1, sizeof *only);
    const char *how = getenv("ORRERY_APP_TIMES");
    if (!how || !*how || !strcmp(how, "recorded")) return only;
    only->model = !strcmp(how, "model");
    if (only->model) return only;
    orr_err e = {0};
    size_t n;
    char *text = orr_read_file(how, (size_t)1 << 31, &n, &e);
    if (!text) play_fail(e.text);
    read_report(only, text, n);
    free(text);
    if (!only->launches.n)
        play_fail("--times: the file has no launches with times; orrery run CAPTURE --json makes one");
    return only;
}

double play_times_of(play_times *t, const orr_operators *o, const orr_operator *op) {
    (void)o;
    if (t->launches.n) {
        double ns = reported(t, op);
        if (ns >= 0) return ns;
    }
    bool known = op->ops > 0 || op->memory > 0;
    if ((t->model || op->ns < 0) && known) return modelled(op);
    return op->ns;
}
