// The ranges that are open (nvtx.h). A thread has a stack of its own; ranges that are started and ended count
// for every thread and come first.
#include "nvtx/nvtx.h"
#include "capture/capture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, NAME = 120, PATH = 1000, NO_NUMBER = -1 };

typedef struct range {
    char name[NAME];
    const void *domain;
    long long seq;      // of an autograd node; NO_NUMBER: none
    const char *before; // what the backward's forward was in; NULL: it is no backward
    uint64_t id;        // of one that was started
} range;

static _Thread_local range stack[DEPTH];
static _Thread_local unsigned depth; // may go beyond DEPTH: such ranges have no name
static range started[DEPTH];
static unsigned nstarted;
static uint64_t last_id;
static orr_map paths; // texts that live for ever
static const char *last_root;
static orr_numbers forward; // by an autograd node's number: the path around the operator that made it
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// ---- names ------------------------------------------------------------------------------------------------
// What PyTorch adds to an operator's name is not part of it: two of the same kind have one name.
static void set_name(range *r, const char *text) {
    static const char *const ends[] = {", seq = ", ", op_id = ", ", sizes = "};
    size_t n = strlen(text);
    const char *seq = strstr(text, ends[0]);
    r->seq = seq ? strtoll(seq + strlen(ends[0]), NULL, 10) : NO_NUMBER;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(text, ends[i]);
        if (end && (size_t)(end - text) < n) n = (size_t)(end - text);
    }
    if (n > NAME - 1) n = NAME - 1;
    for (size_t i = 0; i < n; i++)
        r->name[i] = text[i] == '/' ? '.' : (unsigned char)text[i] < 32 ? ' ' : text[i];
    r->name[n] = 0;
    if (!n) strcpy(r->name, "unnamed");
}

static const char *kept(const char *text) {
    const char *k = orr_map_get(&paths, text);
    if (k) return k;
    char *own = strdup(text);
    if (own) orr_map_put(&paths, own, own);
    return own;
}

static void add(char path[PATH], const char *name) {
    size_t n = strlen(path), m = strlen(name);
    if (n + m + 2 > PATH) return;
    if (n) path[n++] = '/';
    memcpy(path + n, name, m + 1);
}

// "step/layer 3" becomes "step/backward/layer 3".
static void add_backward(char path[PATH], const char *forward_path) {
    char root[PATH];
    size_t n = strcspn(forward_path, "/");
    snprintf(root, sizeof root, "%.*s", (int)n, forward_path);
    if (n) add(path, root);
    add(path, "backward");
    if (forward_path[n]) add(path, forward_path + n + 1);
}

// The path of the first `n` ranges of this thread.
static const char *path_of(unsigned n) {
    char path[PATH] = "";
    for (unsigned i = 0; i < nstarted; i++) add(path, started[i].name);
    for (unsigned i = 0; i < n && i < DEPTH; i++) {
        if (stack[i].before) add_backward(path, stack[i].before);
        add(path, stack[i].name);
    }
    return *path ? kept(path) : NULL;
}

const char *orr_nvtx_path(void) {
    if (!depth && !nstarted) return NULL;
    pthread_mutex_lock(&lock);
    const char *p = path_of(depth);
    pthread_mutex_unlock(&lock);
    return p;
}

static const char *kept_root(const char *path) {
    char root[PATH];
    snprintf(root, sizeof root, "%.*s", (int)strcspn(path, "/"), path);
    return kept(root);
}

// ---- autograd ---------------------------------------------------------------------------------------------
#define BACKWARD "autograd::engine::evaluate_function: "

static bool within_same(long long seq) {
    for (unsigned i = 0; i + 1 < depth && i < DEPTH; i++)
        if (stack[i].seq == seq) return true;
    return false;
}

// The engine's range has no number; the one of the node's function, inside it, has. What has neither is under
// the outermost range of the operator that came last.
static void note_operator(range *r) {
    uint64_t seq = (uint64_t)r->seq;
    if (!strncmp(r->name, BACKWARD, strlen(BACKWARD))) {
        memmove(r->name, r->name + strlen(BACKWARD), strlen(r->name + strlen(BACKWARD)) + 1);
        r->before = last_root ? last_root : "";
    } else if (r->seq >= 0 && depth > 1 && depth <= DEPTH && stack[depth - 2].before) {
        const uint64_t *around = orr_numbers_get(&forward, seq);
        if (around) stack[depth - 2].before = (const char *)(uintptr_t)*around;
    } else if (r->seq >= 0 && !within_same(r->seq)) { // an operator inside another has its number
        const char *around = path_of(depth - 1);
        orr_numbers_put(&forward, seq, (uintptr_t)(around ? around : ""));
        last_root = around ? kept_root(around) : NULL;
    }
}

// ---- what NVTX calls --------------------------------------------------------------------------------------
typedef struct attributes { // nvtxEventAttributes_t
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
} attributes;
enum {
    MESSAGE_ASCII = 1,
    MESSAGE_REGISTERED = 3
}; // a registered string is the text itself: see register_string

static const char *text_of(const attributes *a) {
    bool told = a && (a->message_type == MESSAGE_ASCII || a->message_type == MESSAGE_REGISTERED);
    return told && a->message ? a->message : "unnamed";
}

static int push(const void *domain, const char *text) {
    pthread_mutex_lock(&lock);
    depth++;
    if (depth <= DEPTH) {
        range *r = &stack[depth - 1];
        *r = (range){.domain = domain};
        set_name(r, text);
        note_operator(r);
    }
    pthread_mutex_unlock(&lock);
    return (int)depth - 1;
}

// The innermost range of the domain; others stay.
static int pop(const void *domain) {
    unsigned at = depth;
    while (at > 0 && at <= DEPTH && stack[at - 1].domain != domain) at--;
    if (!at) return -1;
    if (at <= DEPTH)
        memmove(&stack[at - 1], &stack[at], (size_t)((depth < DEPTH ? depth : DEPTH) - at) * sizeof *stack);
    return (int)--depth;
}

static uint64_t start(const char *text) {
    pthread_mutex_lock(&lock);
    uint64_t id = ++last_id;
    if (nstarted < DEPTH) {
        range *r = &started[nstarted++];
        *r = (range){.id = id};
        set_name(r, text);
    }
    pthread_mutex_unlock(&lock);
    return id;
}

static void end(uint64_t id) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < nstarted; i++) {
        if (started[i].id != id) continue;
        memmove(&started[i], &started[i + 1], (size_t)(nstarted - i - 1) * sizeof *started);
        nstarted--;
        break;
    }
    pthread_mutex_unlock(&lock);
}

static int range_push(const char *text) { return push(NULL, text ? text : "unnamed"); }
static int range_push_ex(const attributes *a) { return push(NULL, text_of(a)); }
static int range_pop(void) { return pop(NULL); }
static uint64_t range_start(const char *text) { return start(text ? text : "unnamed"); }
static uint64_t range_start_ex(const attributes *a) { return start(text_of(a)); }
static int domain_push(const void *domain, const attributes *a) { return push(domain, text_of(a)); }
static int domain_pop(const void *domain) { return pop(domain); }
static uint64_t domain_start(const void *domain, const attributes *a) {
    return (void)domain, start(text_of(a));
}
static void domain_end(const void *domain, uint64_t id) { (void)domain, end(id); }
static const void *register_string(const void *domain, const char *text) {
    (void)domain;
    pthread_mutex_lock(&lock);
    const char *k = kept(text ? text : "unnamed");
    pthread_mutex_unlock(&lock);
    return k;
}
static const void *domain_create(const char *name) { return register_string(NULL, name ? name : "domain"); }

// ---- the way in -------------------------------------------------------------------------------------------
typedef void any_function(void);
enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
typedef struct callbacks { // NvtxExportTableCallbacks
    size_t size;
    int (*table)(int module, any_function ***slots[1], unsigned *n);
} callbacks;

static const struct {
    int module;
    unsigned place; // NVTX_CBID_CORE_*, NVTX_CBID_CORE2_*
    any_function *f;
} ours[] = {
    {MODULE_CORE, 4, (any_function *)range_start_ex},
    {MODULE_CORE, 5, (any_function *)range_start},
    {MODULE_CORE, 7, (any_function *)end},
    {MODULE_CORE, 8, (any_function *)range_push_ex},
    {MODULE_CORE, 9, (any_function *)range_push},
    {MODULE_CORE, 11, (any_function *)range_pop},
    {MODULE_CORE2, 2, (any_function *)domain_start},
    {MODULE_CORE2, 3, (any_function *)domain_end},
    {MODULE_CORE2, 4, (any_function *)domain_push},
    {MODULE_CORE2, 5, (any_function *)domain_pop},
    {MODULE_CORE2, 10, (any_function *)register_string},
    {MODULE_CORE2, 12, (any_function *)domain_create},
};

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*table)(uint32_t id));
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*table)(uint32_t id)) {
    const callbacks *c = table ? table(TABLE_CALLBACKS) : NULL;
    if (!c || c->size < sizeof *c || !c->table) return 0;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        any_function ***slots[1] = {NULL};
        unsigned n = 0;
        if (!c->table(ours[i].module, slots, &n) || !slots[0] || ours[i].place >= n) continue;
        if (slots[0][ours[i].place]) *slots[0][ours[i].place] = ours[i].f;
    }
    return 1;
}
