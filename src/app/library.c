// Code that a program loads by itself: libraries (cudaLibrary*, cuLibrary*) and their kernels. A library is an
// app_module, a kernel an app_function.
#include "app/dr.h"

#include <string.h>

int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values);
int cuModuleLoad(void **module, const char *path);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *p, size_t *bytes, void *module, const char *name);
int cuFuncGetAttribute(int *value, int which, void *function);
int cuFuncSetAttribute(void *function, int which, int value);

// ---- libraries ----------------------------------------------------------------------------------------
static int list(void **kernels, unsigned room, void *library, unsigned *n) {
    DR_ENTER();
    app_module *m = library;
    if (!m) return app_leave_driver(E_HANDLE);
    int error = app_module_ready(m);
    if (error) return app_leave_driver(error);
    if (n) *n = m->module->nkernels;
    for (unsigned i = 0; kernels && i < room && i < m->module->nkernels && !error; i++)
        kernels[i] = app_function_named(m, m->module->kernel_names[i], &error);
    return app_leave_driver(error);
}

API int cuLibraryLoadData(void **library, const void *code, int *jit, void **jit_values, unsigned njit,
                          int *options, void **values, unsigned n) {
    (void)options, (void)values, (void)n;
    return cuModuleLoadDataEx(library, code, njit, jit, jit_values);
}
API int cuLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values, unsigned njit,
                              int *options, void **values, unsigned n) {
    (void)jit, (void)jit_values, (void)njit, (void)options, (void)values, (void)n;
    return cuModuleLoad(library, path);
}
API int cuLibraryUnload(void *library) { return cuModuleUnload(library); }
API int cuLibraryGetKernel(void **kernel, void *library, const char *name) {
    return cuModuleGetFunction(kernel, library, name);
}
API int cuLibraryGetModule(void **module, void *library) {
    if (module) *module = library;
    return module && library ? E_OK : E_VALUE;
}
API int cuLibraryGetGlobal(uint64_t *p, size_t *bytes, void *library, const char *name) {
    return cuModuleGetGlobal_v2(p, bytes, library, name);
}
API int cuLibraryGetManaged(uint64_t *p, size_t *bytes, void *library, const char *name) {
    return cuModuleGetGlobal_v2(p, bytes, library, name);
}
API int cuLibraryGetKernelCount(unsigned *n, void *library) {
    return n ? list(NULL, 0, library, n) : E_VALUE;
}
API int cuLibraryEnumerateKernels(void **kernels, unsigned n, void *library) {
    return kernels ? list(kernels, n, library, NULL) : E_VALUE;
}
API int cuModuleGetFunctionCount(unsigned *n, void *module) { return cuLibraryGetKernelCount(n, module); }
API int cuModuleEnumerateFunctions(void **functions, unsigned n, void *module) {
    return cuLibraryEnumerateKernels(functions, n, module);
}

RT(cudaLibraryLoadData)
(void **library, const void *code, int *jit, void **jit_values, unsigned njit, int *options, void **values,
 unsigned n) {
    return app_remember(cuLibraryLoadData(library, code, jit, jit_values, njit, options, values, n));
}
RT(cudaLibraryLoadFromFile)
(void **library, const char *path, int *jit, void **jit_values, unsigned njit, int *options, void **values,
 unsigned n) {
    return app_remember(cuLibraryLoadFromFile(library, path, jit, jit_values, njit, options, values, n));
}
RT(cudaLibraryUnload)(void *library) { return app_remember(cuModuleUnload(library)); }
RT(cudaLibraryGetKernel)(void **kernel, void *library, const char *name) {
    return app_remember(cuModuleGetFunction(kernel, library, name));
}
RT(cudaLibraryGetGlobal)(void **p, size_t *bytes, void *library, const char *name) {
    return app_remember(cuModuleGetGlobal_v2((uint64_t *)p, bytes, library, name));
}
RT(cudaLibraryGetManaged)(void **p, size_t *bytes, void *library, const char *name) {
    return app_remember(cuModuleGetGlobal_v2((uint64_t *)p, bytes, library, name));
}
RT(cudaLibraryGetKernelCount)(unsigned *n, void *library) {
    return app_remember(cuLibraryGetKernelCount(n, library));
}
RT(cudaLibraryEnumerateKernels)(void **kernels, unsigned n, void *library) {
    return app_remember(cuLibraryEnumerateKernels(kernels, n, library));
}

// ---- their kernels ------------------------------------------------------------------------------------
API int cuKernelGetFunction(void **function, void *kernel) {
    if (function) *function = kernel;
    return function && kernel ? E_OK : E_VALUE;
}
API int cuKernelGetLibrary(void **library, void *kernel) {
    DR_ENTER();
    app_function *f = app_function_of(kernel);
    if (f && library) *library = f->module;
    return app_leave_driver(!f ? E_HANDLE : library ? E_OK : E_VALUE);
}
API int cuFuncGetModule(void **module, void *function) { return cuKernelGetLibrary(module, function); }
API int cuFuncGetName(const char **name, void *function) {
    DR_ENTER();
    app_function *f = app_function_of(function);
    if (f && name) *name = f->name;
    return app_leave_driver(!f ? E_HANDLE : name ? E_OK : E_VALUE);
}
API int cuKernelGetName(const char **name, void *kernel) { return cuFuncGetName(name, kernel); }
API int cuKernelGetAttribute(int *value, int which, void *kernel, int device) {
    (void)device; // they are all alike
    return cuFuncGetAttribute(value, which, kernel);
}
API int cuKernelSetAttribute(int which, int value, void *kernel, int device) {
    (void)device;
    return cuFuncSetAttribute(kernel, which, value);
}
RT(cudaKernelSetAttributeForDevice)(void *kernel, int which, int value, int device) {
    (void)device;
    return app_remember(cuFuncSetAttribute(kernel, which, value));
}
API int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size) {
    DR_ENTER();
    app_function *f = app_function_of(function);
    int error = !f ? E_HANDLE : !offset ? E_VALUE : app_function_ready(f);
    if (!error && index >= f->kernel->nparams) error = E_VALUE;
    if (error) return app_leave_driver(error);
    *offset = f->kernel->params[index].offset;
    if (size) *size = f->kernel->params[index].bytes;
    return app_leave_driver(E_OK);
}
API int cuKernelGetParamInfo(void *kernel, size_t index, size_t *offset, size_t *size) {
    return cuFuncGetParamInfo(kernel, index, offset, size);
}
RT(cudaFuncGetParamInfo)(const void *func, size_t index, size_t *offset, size_t *size) {
    return app_remember(cuFuncGetParamInfo((void *)(uintptr_t)func, index, offset, size));
}
API int cuFuncIsLoaded(int *state, void *function) {
    if (state) *state = 1;
    return state && function ? E_OK : E_VALUE;
}
API int cuFuncLoad(void *function) { return function ? E_OK : E_HANDLE; }
API int cuModuleGetLoadingMode(int *mode) {
    if (mode) *mode = 2; // lazy
    return mode ? E_OK : E_VALUE;
}
