// The driver's linker (cuLink*), and what it and the loader tell of their work.
//
// Compiling PTX is what loading it does here. So PTX is joined to one text (ptx/link.h), and whatever has PTX
// in it (fatbins, objects) is taken by that; a single cubin or fatbin goes through as it is. The library of
// launches from kernels (libcudadevrt.a) adds nothing: kernels find those functions in Orrery.
#include "app/dr.h"
#include "app/open.h"
#include "ptx/link.h"

#include <stdlib.h>
#include <string.h>

int cuModuleLoadData(void **module, const void *image);

// ---- logs -----------------------------------------------------------------------------------------------
// The places where a program wants to read what was said (CUjit_option), and how long they are.
enum { JIT_INFO = 3, JIT_INFO_BYTES, JIT_ERROR, JIT_ERROR_BYTES };

static void tell(unsigned n, const int *options, void **values, int which, const char *text) {
    char *to = NULL;
    void **bytes = NULL;
    for (unsigned i = 0; options && values && i < n; i++) {
        if (options[i] == which) to = values[i];
        if (options[i] == which + 1) bytes = &values[i];
    }
    size_t room = bytes ? (uint32_t)(uintptr_t)*bytes : 0, used = 0;
    if (to && room) {
        snprintf(to, room, "%s", text);
        used = strlen(to);
    }
    if (bytes) *bytes = (void *)(uintptr_t)used;
}

static void tell_all(unsigned n, const int *options, void **values, const char *error) {
    tell(n, options, values, JIT_INFO, "");
    tell(n, options, values, JIT_ERROR, error);
}

API int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values) {
    int error = cuModuleLoadData(module, image);
    const app_module *m = module && error != E_VALUE ? *module : NULL;
    tell_all(n, options, values, error && m && m->why ? m->why : "");
    return error;
}

// ---- the linker -----------------------------------------------------------------------------------------
enum { INPUT_LIBRARY = 4 }; // CUjitInputType

typedef struct linker {
    ORR_VEC(orr_ptx_file) inputs; // bytes as they came, with a 0 behind them
    orr_text image;
    unsigned n; // the options that it was made with, whose places stay the program's
    int *options;
    void **values;
} linker;

API int cuLinkCreate_v2(unsigned n, int *options, void **values, void **state) {
    if (!state) return E_VALUE;
    linker *l = orr_calloc(1, sizeof *l);
    *l = (linker){.n = n, .options = options, .values = values};
    *state = l;
    return E_OK;
}

API int cuLinkAddData_v2(void *state, int type, const void *data, size_t size, const char *name, unsigned n,
                         int *options, void **values) {
    (void)n, (void)options, (void)values;
    DR_ENTER();
    linker *l = state;
    if (!l || !data || size < 4) return app_leave_driver(E_VALUE);
    if (type == INPUT_LIBRARY && !(name && strstr(name, "cudadevrt")))
        return app_leave_driver(app_missing("cuLinkAddData of a library"));
    if (type == INPUT_LIBRARY) return app_leave_driver(E_OK);
    char *own = orr_calloc(1, size + 1); // PTX need not end in 0
    memcpy(own, data, size);
    const char *called =
        orr_arena_strdup(&the_app.result.arena, name && *name ? name : "an image without a name");
    *ORR_PUSH(&l->inputs) = (orr_ptx_file){called, own, size};
    return app_leave_driver(E_OK);
}

API int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned n, int *options, void **values) {
    if (!state || !path) return E_VALUE;
    if (type == INPUT_LIBRARY) return cuLinkAddData_v2(state, type, "    ", 4, path, n, options, values);
    orr_err e = {0};
    size_t size;
    char *bytes = orr_read_file(path, (size_t)1 << 30, &size, &e);
    if (!bytes) {
        app_say("%s", e.text);
        return E_FILE_NOT_FOUND;
    }
    int error = cuLinkAddData_v2(state, type, bytes, size, path, n, options, values);
    free(bytes);
    return error;
}

// All of them as PTX, joined.
static bool join(linker *l, orr_err *e) {
    ORR_VEC(orr_ptx_file) files = {0};
    bool ok = true;
    for (size_t i = 0; i < l->inputs.n && ok; i++) {
        orr_ptx_file f = l->inputs.at[i];
        f.text = app_image_ptx(f.text, f.n, f.name, app_architecture(), &f.n, e);
        ok = f.text != NULL;
        if (ok) *ORR_PUSH(&files) = f;
    }
    ok = ok && orr_ptx_link(files.at, files.n, &l->image, e);
    for (size_t i = 0; i < files.n; i++) free((void *)(uintptr_t)files.at[i].text);
    free(files.at);
    return ok;
}

API int cuLinkComplete(void *state, void **image, size_t *size) {
    DR_ENTER();
    linker *l = state;
    if (!l || !l->inputs.n || !image) return app_leave_driver(E_VALUE);
    orr_err e = {0};
    l->image.n = 0;
    if (l->inputs.n == 1) {
        orr_text_addn(&l->image, l->inputs.at[0].text, l->inputs.at[0].n);
    } else if (!join(l, &e)) {
        app_say("%s", e.text);
        tell_all(l->n, l->options, l->values, e.text);
        return app_leave_driver(E_PTX);
    }
    tell_all(l->n, l->options, l->values, "");
    *image = l->image.s;
    if (size) *size = l->image.n;
    return app_leave_driver(E_OK);
}

API int cuLinkDestroy(void *state) {
    linker *l = state;
    if (!l) return E_VALUE;
    for (size_t i = 0; i < l->inputs.n; i++) free((void *)(uintptr_t)l->inputs.at[i].text);
    free(l->inputs.at);
    free(l->image.s);
    free(l);
    return E_OK;
}
