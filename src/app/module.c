// From fat binaries to kernels and variables.
//
// A stub function of the program stands for each kernel, a host variable for each __device__ one
// (rt_register.c); their addresses are how the program names them. Nothing is opened before it is used, so a
// library full of kernels costs nothing.
#include "app/pending.h"
#include "app/open.h"
#include "app/app.h"
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

// ---- opening ------------------------------------------------------------------------------------------
// In a cluster each rank brings the same code: it is read once, and known again by a digest of its bytes.
static orr_module *opened_before(app_module *mine, const void *data, size_t n) {
    if (!app_in_cluster()) return NULL;
    mine->digest = orr_hash64(data, n, 1) | 1;
    for (app_module *m = the_app.modules; m; m = m->next)
        if (m != mine && m->module && m->digest == mine->digest) return m->module;
    return NULL;
}

unsigned app_architecture(void) { return (unsigned)(the_app.gpu->cc_major * 10 + the_app.gpu->cc_minor); }

static int open_module(app_module *m, const void *data, size_t n) {
    orr_err e = {0};
    bool text = app_image_is_text(data);
    unsigned sm = app_architecture();
    m->module = opened_before(m, data, n);
    m->shared = m->module != NULL;
    if (!m->shared) m->module = app_image_open(data, n, m->name, sm, the_app.asked.source, &e);
    // Linked code is machine code only: where there is none for the GPU, a driver links its parts' PTX.
    if (!m->module && m->parts && m->parts[0]) {
        e = (orr_err){0};
        m->module = app_image_link(m->parts, m->name, sm, &e);
    }
    if (m->module && !m->shared && !the_app.asked.on_gpu) orr_ptx_long_ways(m->module);
    if (m->module && app_module_image(m, app_device_index(app_device_now()))) return E_OK;
    if (!m->module) {
        app_say("%s", e.text);
        m->why = orr_arena_strdup(&the_app.result.arena, e.text);
    }
    return m->failed = text ? E_PTX : m->module ? E_MEMORY : E_NO_KERNEL_IMAGE;
}

orr_image *app_module_image(app_module *m, int device) {
    orr_err e = {0};
    if (!m->images) m->images = orr_calloc((size_t)the_app.ndevices, sizeof *m->images);
    if (!m->images[device]) m->images[device] = orr_image_load(the_app.mem, m->module, &e);
    if (!m->images[device]) app_say("%s", e.text);
    return m->images[device];
}

bool app_variable_around(uint64_t p, uint64_t *addr, uint64_t *bytes) {
    for (const app_module *m = the_app.modules; m; m = m->next)
        for (int d = 0; m->images && d < the_app.ndevices; d++)
            if (m->images[d] && orr_image_around(m->images[d], p, addr, bytes)) return true;
    return false;
}

app_module *app_module_new(const void *data, const char *name) {
    app_module *m = orr_calloc(1, sizeof *m);
    m->data = data;
    m->name = name;
    m->handle[0] = m;
    app_module **end = &the_app.modules;
    while (*end) end = &(*end)->next;
    return *end = m;
}

app_module *app_module_open(const void *image, size_t n, const char *name, int *error) {
    app_module *m = app_module_new(image, orr_arena_strdup(&the_app.result.arena, name));
    *error = open_module(m, image, n ? n : app_image_bytes(image));
    return m;
}

int app_module_ready(app_module *m) {
    if (m->images || m->failed) return m->failed;
    return open_module(m, m->data, app_image_bytes(m->data));
}

// Unloaded or unregistered. What it was made of stays: the report and the timeline name its kernels.
void app_module_close(app_module *m) {
    app_pending_finish_all();
    app_queue_flush_all(); // its kernels
    for (app_function **f = &the_app.functions; *f;)
        if ((*f)->module == m)
            *f = (*f)->next;
        else
            f = &(*f)->next;
    for (app_variable **v = &the_app.variables; *v;)
        if ((*v)->module == m)
            *v = (*v)->next;
        else
            v = &(*v)->next;
    for (int i = 0; m->images && i < the_app.ndevices; i++)
        if (m->images[i]) orr_image_free(the_app.mem, m->images[i]);
    free(m->images);
    m->images = NULL;
    m->failed = E_HANDLE;
}

// ---- kernels --------------------------------------------------------------------------------------------
// Does it say when the next kernel of its stream may start, or wait for the one ahead (griddepcontrol)?
static bool names_next_grid(const orr_kernel *k) {
    for (uint32_t n = 0; n < k->ninsts; n++) {
        const orr_inst *i = &k->insts[n];
        if (i->sass == ORR_SASS_PREEXIT || i->sass == ORR_SASS_ACQBULK || (i->op == ORR_OP_NOP && i->sub))
            return true;
    }
    return false;
}

int app_function_ready(app_function *f) {
    if (f->kernel || f->failed) return f->failed;
    int error = app_module_ready(f->module);
    if (error) return f->failed = error;
    orr_err e = {0};
    f->kernel = f->module->module->load(f->module->module, f->name, &e);
    if (f->kernel && names_next_grid(f->kernel)) the_app.streams.overlap = true;
    if (f->kernel) return E_OK;
    app_say("%s", e.text);
    return f->failed = E_DEVICE_FUNCTION;
}

app_function *app_function_of(const void *host) {
    for (app_function *f = the_app.functions; f; f = f->next)
        if (f->host == host || f == host) return f;
    return NULL;
}

app_function *app_function_named(app_module *m, const char *name, int *error) {
    for (app_function *f = the_app.functions; f; f = f->next)
        if (f->module == m && !strcmp(f->name, name)) {
            *error = app_function_ready(f);
            return f;
        }
    *error = app_module_ready(m);
    if (*error) return NULL;
    for (uint32_t i = 0; i < m->module->nkernels; i++) {
        if (strcmp(m->module->kernel_names[i], name) != 0) continue;
        app_function *f = orr_calloc(1, sizeof *f);
        *f = (app_function){.module = m, .name = m->module->kernel_names[i], .next = the_app.functions};
        the_app.functions = f;
        *error = app_function_ready(f);
        return f;
    }
    *error = E_NOT_FOUND;
    return NULL;
}

// ---- variables --------------------------------------------------------------------------------------------
app_variable *app_variable_of(const void *host) {
    for (app_variable *v = the_app.variables; v; v = v->next)
        if (v->host == host) return v;
    return NULL;
}

int app_variable_place(app_variable *v, uint64_t *addr, uint64_t *bytes) {
    int error = app_module_ready(v->module);
    if (error) return error;
    // A managed variable is one for all devices: that of the first.
    int device = v->managed ? 0 : app_device_index(app_device_now());
    orr_image *image = app_module_image(v->module, device);
    return image && orr_image_symbol(image, v->name, addr, bytes) ? E_OK : E_SYMBOL;
}
