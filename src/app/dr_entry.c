// Functions that are asked for by name: cuGetProcAddress and the runtime's cudaGetDriverEntryPoint.
//
// Programs get what they would get by linking: the newest of NAME, NAME_v2, NAME_v3, ... that is here, except
// where the arguments changed, for which CUDA's version in the question decides (CUDA Driver API manual,
// "Driver Entry Point Access").
#include "app/dr.h"

#include <dlfcn.h>
#include <string.h>

enum { FOUND, NOT_FOUND, TOO_OLD }; // CUdriverProcAddressQueryResult

static void *named(const char *name) {
    static void *self;
    Dl_info where;
    if (!self && dladdr(&the_app, &where) && where.dli_fname)
        self = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return self ? dlsym(self, name) : NULL;
}

static void *entry(const char *name, int version) {
    static const struct {
        const char *name, *as;
        int from; // version of CUDA
    } changed[] = {{"cuCtxCreate", "cuCtxCreate_v4", 13000},
                   {"cuCtxCreate", "cuCtxCreate_v2", 0},
                   {"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
                   {"cuGetProcAddress", "cuGetProcAddress", 0}};
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        if (!strcmp(changed[i].name, name) && version >= changed[i].from) return named(changed[i].as);
    char longer[128];
    for (int v = 4; v > 1; v--) {
        snprintf(longer, sizeof longer, "%.100s_v%d", name, v);
        void *p = named(longer);
        if (p) return p;
    }
    return named(name);
}

// A runtime that is linked into a library asks for all of these when it begins; what it does not get it does
// not use.
static bool is_graphics(const char *name) {
    static const char *const begins[] = {"cuGraphics", "cuGL", "cuEGL", "cuVDPAU", "cuEventCreateFromEGL"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (!strncmp(name, begins[i], strlen(begins[i]))) return true;
    return false;
}

static int ask(const char *name, void **fn, int version, int *status) {
    DR_ENTER();
    if (!name || !fn) return app_leave_driver(E_VALUE);
    *fn = !strncmp(name, "cu", 2) ? entry(name, version) : NULL;
    if (status) *status = *fn ? FOUND : NOT_FOUND;
    if (*fn) return app_leave_driver(E_OK);
    if (*name && !is_graphics(name) && !orr_map_get(&the_app.missing, name)) {
        orr_map_put(&the_app.missing, name, &the_app);
        app_say("%s: asked for by name and not among the CUDA functions that Orrery has", name);
    }
    return app_leave_driver(E_NOT_FOUND);
}

API int cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *status) {
    (void)flags;
    return ask(name, fn, version, status);
}
API int cuGetProcAddress_v2_ptsz(const char *name, void **fn, int version, uint64_t flags, int *status) {
    return cuGetProcAddress_v2(name, fn, version, flags, status);
}
API int cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags) {
    (void)flags;
    return ask(name, fn, version, NULL);
}

// The runtime's say success with a null pointer when there is no such function; the status tells.
static int ask_runtime(const char *name, void **fn, int version, int *status) {
    int own = NOT_FOUND, error = ask(name, fn, version, &own);
    if (status) *status = own;
    return app_remember(error == E_NOT_FOUND && status ? E_OK : error);
}
RT_S(cudaGetDriverEntryPointByVersion)
(const char *name, void **fn, unsigned version, unsigned long long flags, int *status) {
    (void)flags;
    return ask_runtime(name, fn, (int)version, status);
}
IN_12(cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz)
IN_13(cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz)
RT_12_13(cudaGetDriverEntryPoint)(const char *name, void **fn, unsigned long long flags, int *status) {
    (void)flags;
    return ask_runtime(name, fn, 13000, status);
}
IN_11(driver_entry_point_11, cudaGetDriverEntryPoint_ptsz)
RT_11(cudaGetDriverEntryPoint, driver_entry_point_11)(const char *name, void **fn, unsigned long long flags) {
    (void)flags;
    return ask_runtime(name, fn, 11000, NULL);
}
// Interfaces of NVIDIA's driver that are not public. A runtime that is linked into a library (cuBLAS and
// others) asks for them, and for proof that the driver is NVIDIA's: it cannot work on a simulated GPU.
API int cuGetExportTable(const void **table, const void *id) {
    Dl_info who;
    const char *name =
        dladdr(__builtin_return_address(0), &who) && who.dli_fname ? who.dli_fname : "a library";
    (void)id;
    if (strrchr(name, '/')) name = strrchr(name, '/') + 1;
    if (table) *table = NULL;
    app_enter();
    // The compiler, its linker and NVIDIA's management library ask too, and do without.
    bool copes = !strncmp(name, "libnvrtc", 8) || !strncmp(name, "libnvJitLink", 12) ||
                 !strncmp(name, "libnvidia-ml", 12);
    if (!copes && !orr_map_get(&the_app.missing, "cuGetExportTable")) {
        orr_map_put(&the_app.missing, "cuGetExportTable", &the_app);
        app_say("%.200s has CUDA's runtime linked into it, which insists on NVIDIA's driver: what needs it "
                "fails here; build programs with nvcc -cudart shared (NVCC_APPEND_FLAGS='-cudart shared'), "
                "and capture libraries on a GPU (orrery capture)",
                name);
    }
    return app_leave_driver(E_NOT_SUPPORTED);
}
