// Any bytes as a launch script, and then run: against a module of three made-up kernels and a backend of
// a little host memory. Whatever the script does, it must end in a result or in an error that says why.
#include "exec/texture.h"
#include "launch/launch.h"
#include "launch/script.h"

#include <stdlib.h>
#include <string.h>

static uint64_t on_texture(void *self, const orr_texture *t, orr_err *e) {
    (void)self;
    if (!t->level[0].width || !t->level[0].height) abort(); // what a script says has been checked
    orr_fail(e, ORR_BAD_INPUT, "no textures");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define ARENA (64 << 10) // bytes of all buffers of a script

static orr_param params[] = {{"p", ORR_T_U64, 8, true, 0, 8},
                             {"n", ORR_T_U32, 4, false, 8, 4},
                             {"a", ORR_T_F32, 4, false, 12, 4},
                             {"s", ORR_T_B8, 8, false, 16, 24}};
static orr_kernel kernels[] = {{.name = "k"},
                               {.name = "one", .params = params, .nparams = 1, .param_bytes = 8},
                               {.name = "four", .params = params, .nparams = 4, .param_bytes = 40}};
static const char *names[] = {"k", "one", "four"};
static orr_var vars[] = {{.name = "v", .space = ORR_SPACE_GLOBAL, .bytes = 16}};
static uint8_t variable[16];

static orr_kernel *load(orr_module *m, const char *name, orr_err *e) {
    for (uint32_t k = 0; k < m->nkernels; k++) {
        if (!strcmp(name, names[k])) return &kernels[k];
    }
    orr_fail(e, ORR_BAD_INPUT, "no kernel");
    return NULL;
}

static void release(orr_module *m) { (void)m; }

static orr_module module = {.path = "m.ptx",
                            .kernel_names = names,
                            .nkernels = 3,
                            .vars = vars,
                            .nvars = 1,
                            .load = load,
                            .free = release};

static orr_module *open_module(const char *path, orr_err *e) {
    (void)path, (void)e;
    return &module;
}

typedef struct memory {
    uint8_t *at[16];
    uint64_t bytes[16], used;
    int n;
} memory;

static bool on_load(void *self, int index, orr_module *m, orr_err *e) {
    (void)self, (void)index, (void)m, (void)e;
    return true;
}

static uint64_t on_alloc(void *self, const char *name, uint64_t bytes, orr_err *e) {
    memory *m = self;
    if (m->n == 16 || bytes > ARENA - m->used) return orr_fail(e, ORR_BAD_INPUT, "no room for %s", name), 0;
    m->at[m->n] = calloc(1, bytes);
    m->bytes[m->n] = bytes;
    m->used += bytes;
    return (uint64_t)(uintptr_t)m->at[m->n++];
}

// The interpreter must never touch what it did not allocate.
static void inside(const memory *m, uint64_t addr, uint64_t bytes) {
    uint64_t v = (uint64_t)(uintptr_t)variable;
    if (addr >= v && bytes <= sizeof variable && addr - v <= sizeof variable - bytes) return;
    for (int k = 0; k < m->n; k++) {
        uint64_t at = (uint64_t)(uintptr_t)m->at[k];
        if (addr >= at && bytes <= m->bytes[k] && addr - at <= m->bytes[k] - bytes) return;
    }
    abort();
}

static bool on_write(void *self, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    (void)e;
    inside(self, addr, bytes);
    memcpy((void *)(uintptr_t)addr, data, bytes);
    return true;
}

static bool on_read(void *self, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    (void)e;
    inside(self, addr, bytes);
    memcpy(data, (const void *)(uintptr_t)addr, bytes);
    return true;
}

static bool on_symbol(void *self, int index, const char *name, uint64_t *addr, uint64_t *bytes, orr_err *e) {
    (void)self, (void)index, (void)name, (void)e;
    *addr = (uint64_t)(uintptr_t)variable;
    *bytes = sizeof variable;
    return true;
}

// Look at every byte of the parameters, so that the sanitizers do.
static bool on_launch(void *self, const orr_call *c, orr_err *e) {
    (void)self;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < c->kernel->param_bytes; k++) sum += c->params[k];
    if (sum > 255 * c->kernel->param_bytes) abort();
    if (c->index > 50) return orr_fail(e, ORR_PROGRAM_FAILED, "that is enough");
    return true;
}

// A reference that leaves everything as it is.
static void nothing(orr_ref *r) { (void)r; }

// Files that a script names are not the fuzzer's to open: statements that name one end the input.
static bool names_a_file(const stmt *st) {
    for (; st; st = st->next) {
        if (st->fill && st->fill->file) return true;
        if (st->check && (st->check->file || st->check->fill.file)) return true;
        if (st->kind == S_PRINT) return true; // noise
        if (names_a_file(st->body) || names_a_file(st->other)) return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_err e = {0};
    const char *sets[] = {"n=7"};
    orr_script *s = orr_script_parse(
        &(orr_script_text){
            .path = "fuzz.launch", .text = (const char *)data, .n = n, .sets = sets, .nsets = n % 5 == 0},
        &e);
    if (!s && (!e.status || !e.text[0])) abort(); // refused without a reason
    if (!s) return 0;
    if (!names_a_file(s->stmts)) {
        orr_script_opener(s, open_module);
        s->max_steps = 500;
        s->max_bytes = ARENA;
        memory m = {0};
        orr_backend b = {&m, on_load, on_alloc, on_write, on_read, on_symbol, on_launch, NULL, on_texture};
        bool ok = orr_script_run(s, &b, true, NULL, &e);
        if (ok != !e.status || (!ok && !e.text[0])) abort();
        for (int k = 0; k < m.n; k++) free(m.at[k]);
        e = (orr_err){0};
        ok = orr_script_reference(s, nothing, false, &e);
        if (ok != !e.status || (!ok && !e.text[0])) abort();
    }
    orr_script_free(s);
    return 0;
}
