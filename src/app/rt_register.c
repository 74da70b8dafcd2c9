// What nvcc's code calls before main: a fatbin for each source of the program (__cudaRegisterFatBinary), a
// stub for each kernel of it (__cudaRegisterFunction), a host variable for each __device__ one
// (__cudaRegisterVar).
#include "app/open.h"
#include "app/rt.h"

static const char *own(const char *s) { return orr_arena_strdup(&the_app.result.arena, s); }

REG(__cudaRegisterFatBinary) void **orr___cudaRegisterFatBinary(void *wrapper) {
    app_enter();
    app_module *m = NULL;
    const char *name = the_app.result.input ? the_app.result.input : "program";
    const void *image = app_image_of(wrapper);
    if (image) {
        m = app_module_new(image, name);
        m->parts = app_image_parts(wrapper);
    } else {
        app_say("%s: registers a fat binary of an unknown kind (CUDA 8 or older?); its kernels are not there",
                name);
    }
    app_leave(E_OK);
    return m ? m->handle : NULL;
}

REG(__cudaRegisterFatBinaryEnd) void orr___cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

REG(__cudaUnregisterFatBinary) void orr___cudaUnregisterFatBinary(void **handle) {
    if (!handle || !*handle) return;
    app_enter();
    if (!the_app.closed) app_module_close(*handle); // at the end nobody asks any more
    app_leave(E_OK);
}

REG(__cudaRegisterFunction)
void orr___cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                                void *tid, void *bid, void *block, void *grid, int *warp) {
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    if (!handle || !*handle || !name) return;
    app_enter();
    app_function *f = orr_calloc(1, sizeof *f);
    *f = (app_function){
        .module = *handle, .host = host, .name = own(name), .carveout = -1, .next = the_app.functions};
    the_app.functions = f;
    app_leave(E_OK);
}

static void add_variable(void **handle, const void *host, void **managed, const char *name, size_t bytes) {
    if (!handle || !*handle || !name) return;
    app_enter();
    app_variable *v = orr_calloc(1, sizeof *v);
    *v = (app_variable){*handle, host, own(name), bytes, managed, the_app.variables};
    the_app.variables = v;
    app_leave(E_OK);
}

REG(__cudaRegisterVar)
void orr___cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t bytes,
                           int constant, int global) {
    (void)device, (void)ext, (void)constant, (void)global;
    add_variable(handle, host, NULL, name, bytes);
}

REG(__cudaRegisterHostVar)
void orr___cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes) {
    add_variable(handle, host, NULL, name, bytes);
}

REG(__cudaRegisterManagedVar)
void orr___cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
                                  size_t bytes, int constant, int global) {
    (void)device, (void)ext, (void)constant, (void)global;
    add_variable(handle, host, host, name, bytes);
}

// References to textures and surfaces, of CUDA 11 and before. Programs register those that they only declare,
// too; one that binds something to a reference is told that this is missing.
REG(__cudaRegisterTexture)
void orr___cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name,
                               int dim, int normalized, int ext) {
    (void)handle, (void)host, (void)device, (void)name, (void)dim, (void)normalized, (void)ext;
}

REG(__cudaRegisterSurface)
void orr___cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name,
                               int dim, int ext) {
    (void)handle, (void)host, (void)device, (void)name, (void)dim, (void)ext;
}

// Asked before a managed variable is used: from now on the program's pointer is the variable's address.
REG(__cudaInitModule) char orr___cudaInitModule(void **handle) {
    if (!handle || !*handle) return 0;
    app_module *m = *handle;
    if (app_enter() == E_OK && app_module_ready(m) == E_OK)
        for (app_variable *v = the_app.variables; v; v = v->next) {
            uint64_t addr, bytes;
            if (v->module == m && v->managed && app_variable_place(v, &addr, &bytes) == E_OK)
                *v->managed = (void *)(uintptr_t)addr;
        }
    app_leave(E_OK);
    return 1;
}
