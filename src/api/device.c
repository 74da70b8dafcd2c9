// A device whose memory and launches are the caller's (include/orrery.h), in terms of the folders' doors.
#include "api/api.h"
#include "ptx/ptx.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

const char *orr_version(void) { return ORR_VERSION; }
void orr_free(void *p) { free(p); }

// ---- a device -------------------------------------------------------------------------------
struct orr_device_module {
    orr_device *device;
    orr_module *module;
    orr_image *image;
    orr_device_module *next;
};

struct orr_device {
    orr_gpu *gpu;
    const orr_model *model;
    orr_input_options in; // threads, max_insts, print
    orr_watcher watcher;
    orr_mem *mem;
    orr_device_module *modules;
    orr_result result;
    uint32_t launches;
};

orr_device *orr_device_open(const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    orr_device *d = orr_calloc(1, sizeof *d);
    d->in = (orr_input_options){.threads = o->in.threads, .max_insts = o->in.max_insts, .print = o->in.print};
    d->watcher = o->watcher;
    d->model = orr_model_find(o->model.model ? o->model.model : "functional", e);
    d->gpu = d->model ? orr_asked_gpu_with(o, NULL, e) : NULL;
    d->mem = d->gpu ? orr_mem_new(e) : NULL;
    if (d->mem) {
        d->result = (orr_result){.gpu = d->gpu->name, .model = d->model->name, .source = "ptx"};
        return d;
    }
    orr_device_close(d);
    return NULL;
}

void orr_device_close(orr_device *d) {
    if (!d) return;
    orr_result_free(&d->result); // before the kernels that it speaks of
    for (orr_device_module *m = d->modules, *next; m; m = next) {
        next = m->next;
        orr_image_free(d->mem, m->image);
        m->module->free(m->module);
        free(m);
    }
    orr_gpu_free(d->gpu);
    if (d->mem) orr_mem_delete(d->mem);
    free(d);
}

uint64_t orr_device_alloc(orr_device *d, uint64_t bytes, orr_err *e) {
    return e->status ? 0 : orr_mem_alloc(d->mem, bytes, "allocation", e);
}

bool orr_device_free(orr_device *d, uint64_t addr, orr_err *e) {
    if (e->status) return false;
    if (orr_mem_free(d->mem, addr)) return true;
    return orr_fail(e, ORR_BAD_INPUT, "0x%llx is not the address of an allocation", (unsigned long long)addr);
}

static void *host_pointer(orr_device *d, uint64_t addr, uint64_t bytes, orr_err *e) {
    if (e->status) return NULL;
    void *p = orr_mem_host(d->mem, addr, bytes);
    if (!p)
        orr_fail(e, ORR_BAD_INPUT, "%llu bytes at 0x%llx are not inside one allocation",
                 (unsigned long long)bytes, (unsigned long long)addr);
    return p;
}

bool orr_device_write(orr_device *d, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    void *p = bytes ? host_pointer(d, addr, bytes, e) : NULL;
    if (p) memcpy(p, data, bytes);
    return p || (!bytes && !e->status);
}

bool orr_device_read(orr_device *d, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    const void *p = bytes ? host_pointer(d, addr, bytes, e) : NULL;
    if (p) memcpy(data, p, bytes);
    return p || (!bytes && !e->status);
}

// ---- modules --------------------------------------------------------------------------------
static orr_device_module *add_module(orr_device *d, orr_module *m, orr_err *e) {
    if (!m) return NULL;
    orr_ptx_long_ways(m);
    orr_image *image = orr_image_load(d->mem, m, e);
    if (!image) {
        m->free(m);
        return NULL;
    }
    orr_device_module *added = orr_calloc(1, sizeof *added);
    *added = (orr_device_module){d, m, image, d->modules};
    return d->modules = added;
}

orr_device_module *orr_device_load(orr_device *d, const char *path, orr_err *e) {
    return e->status ? NULL : add_module(d, orr_module_find(path, NULL, NULL, orr_input_sm(d->gpu), e), e);
}

orr_device_module *orr_device_parse(orr_device *d, const char *name, const char *ptx, size_t n, orr_err *e) {
    return e->status ? NULL : add_module(d, orr_ptx_parse(name, ptx, n, e), e);
}

int orr_device_kernels(const orr_device_module *m) { return (int)m->module->nkernels; }

const char *orr_device_kernel(const orr_device_module *m, int i) {
    return i >= 0 && (uint32_t)i < m->module->nkernels ? m->module->kernel_names[i] : NULL;
}

bool orr_device_symbol(const orr_device_module *m, const char *name, uint64_t *addr, uint64_t *bytes,
                       orr_err *e) {
    if (e->status) return false;
    if (orr_image_symbol(m->image, name, addr, bytes)) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: there is no variable %s", m->module->path, name);
}

static const orr_kernel *kernel_of(orr_device_module *m, const char *name, orr_err *e) {
    return e->status ? NULL : m->module->load(m->module, name, e);
}

bool orr_device_facts(orr_device_module *m, const char *kernel, orr_kernel_facts *facts, orr_err *e) {
    const orr_kernel *k = kernel_of(m, kernel, e);
    if (!k) return false;
    const uint32_t *most = k->bounds.reqntid[0] ? k->bounds.reqntid : k->bounds.maxntid;
    *facts = (orr_kernel_facts){
        .registers = k->regs,
        .shared_bytes = k->shared_bytes,
        .param_bytes = k->param_bytes,
        .params = k->nparams,
        .blocks = k->nblocks,
        .instructions = k->ninsts,
        .max_threads = most[0] * (most[1] ? most[1] : 1) * (most[2] ? most[2] : 1),
    };
    return true;
}

char *orr_device_listing(orr_device_module *m, const char *kernel, orr_err *e) {
    const orr_kernel *k = kernel_of(m, kernel, e);
    if (!k) return NULL;
    orr_text t = {0};
    orr_kernel_print(k, &t);
    return t.s;
}

// ---- launches -------------------------------------------------------------------------------
static bool run(orr_device *d, orr_launch *l, orr_err *e) {
    l->max_insts = d->in.max_insts;
    l->print = d->in.print;
    if (!orr_launch_prepare(l, d->gpu, e)) return false;
    d->result.source = l->kernel->module->source;
    orr_progress progress;
    orr_progress_start(&progress, d->watcher, l->kernel->name, "launches", "blocks", 1);
    orr_work w = {.info = orr_info_of(l), .launch = l, .threads = d->in.threads, .progress = &progress};
    double start = orr_seconds();
    bool ok = orr_progress_go(&progress, e) && d->model->run(d->gpu, &w, &d->result, e);
    d->result.host.seconds += orr_seconds() - start;
    orr_progress_end(&progress);
    return ok;
}

bool orr_device_launch(orr_device_module *m, const char *kernel, const orr_launch_config *config,
                       orr_launch_facts *facts, orr_err *e) {
    orr_device *d = m->device;
    const orr_kernel *k = kernel_of(m, kernel, e);
    if (!k) return false;
    if (config->nargs < 0 || (uint32_t)config->nargs != k->nparams)
        return orr_fail(e, ORR_BAD_INPUT, "%s: %s takes %u arguments, not %d", m->module->path, kernel,
                        k->nparams, config->nargs);
    uint8_t *params = orr_calloc(1, k->param_bytes + 1);
    for (int i = 0; i < config->nargs; i++)
        memcpy(params + k->params[i].offset, config->args[i], k->params[i].bytes);
    orr_launch l = {.kernel = k,
                    .image = m->image,
                    .mem = d->mem,
                    .dynamic_shared = config->dynamic_shared,
                    .params = params,
                    .index = d->launches};
    for (int i = 0; i < 3; i++) {
        l.grid[i] = config->grid[i] ? config->grid[i] : 1;
        l.block[i] = config->block[i] ? config->block[i] : 1;
    }
    bool ok = run(d, &l, e);
    free(params);
    if (!ok) return false;
    d->launches++;
    const orr_launch_result *r = &d->result.launches.at[d->result.launches.n - 1];
    if (facts) *facts = (orr_launch_facts){r->warp_insts, r->thread_insts, r->occupancy, r->cycles};
    return true;
}

// ---- what they did --------------------------------------------------------------------------
static bool make(void *self, enum orr_format format, orr_text *out) {
    const orr_device *d = self;
    orr_report_options o = {.host = true, .colour = format == ORR_TERMINAL};
    orr_err none = {0};
    if (format == ORR_JSON)
        orr_result_json(&d->result, &o, out);
    else if (format == ORR_TEXT || format == ORR_TERMINAL)
        orr_result_text(&d->result, &o, out);
    else
        return format == ORR_ACCELSIM && orr_result_accelsim(&d->result, out, &none);
    return true;
}

orr_report *orr_device_report(orr_device *d, orr_err *e) {
    if (e->status) return NULL;
    d->result.host.peak_rss = orr_peak_rss();
    d->result.host.threads = d->in.threads;
    return orr_report_new(d, make, NULL);
}
