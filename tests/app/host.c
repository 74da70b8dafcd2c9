// A bundled workload as a CUDA program: its launch script is the host code, carried out with the functions of
// CUDA's runtime; its kernels are compiled by nvcc into the program (test_app_nvcc.sh makes a .cu of each
// workload's source and a table of its kernels and variables) and found by the addresses of their stubs.
//
//   host SIZE NAME...       prints a line for each, status 1 when a result is wrong
#include "launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned x, y, z;
} dim3;
int cudaMalloc(void **, size_t), cudaMemset(void *, int, size_t),
    cudaMemcpy(void *, const void *, size_t, int);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *), cudaDeviceSynchronize(void);
int cudaDeviceReset(void), cudaGetSymbolAddress(void **, const void *);
int cudaGetSymbolSize(size_t *, const void *), cudaFuncSetAttribute(const void *, int, int);
const char *cudaGetErrorString(int);
enum { IN = 1, OUT = 2, LARGEST_DYNAMIC = 8 };

// From the generated source.
typedef struct {
    const char *name;
    const void *at;
} entry;
extern const entry kernels[], variables[];

static bool done(int error, const char *what, orr_err *e) {
    return !error || orr_fail(e, ORR_PROGRAM_FAILED, "%s: %s", what, cudaGetErrorString(error));
}

static const void *find(const entry *list, const char *name) {
    for (; list->name; list++)
        if (!strcmp(list->name, name)) return list->at;
    return NULL;
}

static bool on_load(void *self, int module, orr_module *m, orr_err *e) {
    (void)self, (void)module, (void)m, (void)e; // nvcc's code has registered what it holds
    return true;
}
static uint64_t on_alloc(void *self, const char *name, uint64_t bytes, orr_err *e) {
    (void)self;
    void *p = NULL;
    return done(cudaMalloc(&p, bytes), name, e) && done(cudaMemset(p, 0, bytes), name, e) ? (uintptr_t)p : 0;
}
static bool on_write(void *self, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    (void)self;
    return done(cudaMemcpy((void *)(uintptr_t)addr, data, bytes, IN), "cudaMemcpy", e);
}
static bool on_read(void *self, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    (void)self;
    return done(cudaMemcpy(data, (void *)(uintptr_t)addr, bytes, OUT), "cudaMemcpy", e);
}
static bool on_symbol(void *self, int module, const char *name, uint64_t *addr, uint64_t *bytes, orr_err *e) {
    (void)self, (void)module;
    void *p = NULL;
    size_t n = 0;
    const void *at = find(variables, name);
    if (!at) return orr_fail(e, ORR_PROGRAM_FAILED, "no variable %s", name);
    bool ok = done(cudaGetSymbolAddress(&p, at), name, e) && done(cudaGetSymbolSize(&n, at), name, e);
    *addr = (uintptr_t)p;
    *bytes = n;
    return ok;
}
static bool on_launch(void *self, const orr_call *c, orr_err *e) {
    (void)self;
    const orr_kernel *k = c->kernel;
    const void *stub = find(kernels, k->name);
    if (!stub) return orr_fail(e, ORR_PROGRAM_FAILED, "no kernel %s", k->name);
    if (c->dynamic_shared > 48 << 10) cudaFuncSetAttribute(stub, LARGEST_DYNAMIC, (int)c->dynamic_shared);
    void **args = orr_calloc(k->nparams + 1, sizeof *args);
    for (uint32_t i = 0; i < k->nparams; i++) args[i] = (void *)(uintptr_t)(c->params + k->params[i].offset);
    int error =
        cudaLaunchKernel(stub, (dim3){c->grid[0], c->grid[1], c->grid[2]},
                         (dim3){c->block[0], c->block[1], c->block[2]}, args, c->dynamic_shared, NULL);
    free(args);
    return done(error, k->name, e) && done(cudaDeviceSynchronize(), k->name, e);
}

int main(int argc, char **argv) {
    const orr_backend cuda = {NULL, on_load, on_alloc, on_write, on_read, on_symbol, on_launch, NULL};
    int wrong = 0;
    for (int i = 2; i < argc; i++) {
        orr_err e = {0};
        orr_arena a = {0};
        const char *path = orr_find_workload(&a, argv[i], &e);
        orr_script *s = path ? orr_script_load(path, argv[1], NULL, 0, &e) : NULL;
        orr_script_stats stats = {0};
        // The script's own modules are read for the layout of parameters only.
        bool ok = s && orr_script_source(s, NULL, 90, &e) && orr_script_run(s, &cuda, true, &stats, &e);
        printf("%s: %s\n", argv[i], ok && stats.checked ? "right" : e.text);
        wrong += !ok || !stats.checked;
        orr_script_free(s);
        orr_arena_free(&a);
        cudaDeviceReset();
    }
    return wrong != 0;
}
