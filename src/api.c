// The public interface (include/orrery.h) in terms of the folders' doors: whole inputs (orr_run, orr_record),
// GPU descriptions, and a device whose memory and launches are the caller's.
#include "orrery.h"

#include "accel/accel.h"
#include "exec/exec.h"
#include "gpu/gpu.h"
#include "hw/hw.h"
#include "launch/launch.h"
#include "model/model.h"
#include "ptx/ptx.h"
#include "report/report.h"
#include "stream/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *orr_version(void) { return ORR_VERSION; }
void orr_string_free(char *s) { free(s); }

static char *taken(orr_text *t) { // the text, never NULL
    orr_text_addn(t, "", 0);
    return t->s;
}

static const char *or_default(const char *s, const char *otherwise) { return s ? s : otherwise; }

// ---- GPU descriptions -----------------------------------------------------------------------
char *orr_gpus(enum orr_format format, orr_err *e) {
    int n, good = 0;
    char **names = orr_gpu_list(&n);
    orr_gpu **all = orr_calloc((size_t)n + 1, sizeof *all);
    for (int i = 0; i < n; i++) {
        all[good] = orr_gpu_load(names[i], NULL, 0, e);
        if (all[good]) good++;
    }
    orr_text t = {0};
    if (format == ORR_JSON)
        orr_gpu_json_list(all, good, &t);
    else
        orr_gpu_print_list(all, good, &t);
    for (int i = 0; i < good; i++) orr_gpu_free(all[i]);
    free(all);
    orr_gpu_list_free(names, n);
    return taken(&t);
}

char *orr_gpu_describe(const char *gpu, const char *const *sets, int nsets, enum orr_format format,
                       orr_err *e) {
    orr_gpu *g = orr_gpu_load(gpu, sets, nsets, e);
    if (!g) return NULL;
    orr_text t = {0};
    if (format == ORR_JSON)
        orr_gpu_json(g, &t);
    else
        orr_gpu_print(g, &t);
    orr_gpu_free(g);
    return taken(&t);
}

bool orr_gpu_fit(const char *gpu, const char *const *sets, int nsets, int threads_per_block,
                 int regs_per_thread, int64_t shared_bytes, int barriers, orr_fit *fit, orr_err *e) {
    orr_gpu *g = orr_gpu_load(gpu, sets, nsets, e);
    if (!g) return false;
    orr_occupancy_result r;
    bool ok = orr_occupancy(g, threads_per_block, regs_per_thread, shared_bytes, barriers, &r);
    if (ok)
        *fit = (orr_fit){r.blocks, r.warps, r.percent, orr_limiter_name[r.limiter]};
    else
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: no kernel has %d threads, %d registers, %lld bytes of shared memory and %d barriers",
                 g->name, threads_per_block, regs_per_thread, (long long)shared_bytes, barriers);
    orr_gpu_free(g);
    return ok;
}

// ---- launches -------------------------------------------------------------------------------
typedef struct context { // what every launch of a run or a device needs
    orr_gpu *gpu;
    const orr_model *model;
    int threads;
    uint64_t max_insts;
    FILE *print;
    orr_result result;
    orr_stream_writer *writer; // orr_record: streams go here instead of to the model
} context;

static bool context_open(context *c, const char *gpu, const char *model, const char *const *sets, int nsets,
                         int threads, uint64_t max_insts, FILE *print, orr_err *e) {
    *c = (context){
        .threads = threads > 0 ? threads : orr_host_threads(), .max_insts = max_insts, .print = print};
    c->model = orr_model_find(or_default(model, "functional"), e);
    c->gpu = c->model ? orr_gpu_load(or_default(gpu, "h200"), sets, nsets, e) : NULL;
    if (!c->gpu) return false;
    c->result.gpu = c->gpu->name;
    c->result.model = c->model->name;
    c->result.source = "ptx";
    return true;
}

static void context_close(context *c) {
    orr_result_free(&c->result);
    if (c->gpu) orr_gpu_free(c->gpu);
}

static char *context_report(context *c, bool lines, enum orr_format format) {
    c->result.host.peak_rss = orr_peak_rss();
    c->result.host.threads = c->threads;
    orr_report_options o = {.lines = lines, .host = true};
    orr_text t = {0};
    if (format == ORR_JSON)
        orr_report_json(&c->result, &o, &t);
    else
        orr_report_text(&c->result, &o, &t);
    return taken(&t);
}

static bool on_block(void *arg, int worker, const orr_tb *tb, orr_err *e) {
    (void)worker;
    return orr_stream_block(arg, tb, e);
}

static bool launch_on(context *c, orr_launch *l, orr_err *e) {
    const orr_gpu *g = c->gpu;
    l->sm_count = (uint32_t)g->sm_count;
    l->max_insts = c->max_insts;
    l->print = c->print;
    int64_t limit =
        g->shared_per_block_optin > g->shared_per_block ? g->shared_per_block_optin : g->shared_per_block;
    if (!orr_launch_check(l, (uint32_t)limit, e)) return false;
    c->result.source = l->kernel->module->source;
    orr_occupancy_result fit;
    if (orr_occupancy(g, (int)(l->block[0] * l->block[1] * l->block[2]), (int)l->kernel->regs,
                      (int64_t)l->kernel->shared_bytes + l->dynamic_shared, (int)l->kernel->barriers, &fit) &&
        fit.blocks > 0)
        l->resident = (uint32_t)(fit.blocks * g->sm_count);
    orr_work w = {.info = orr_info_of(l), .launch = l, .threads = c->threads};
    if (!c->writer) return c->model->run(g, &w, &c->result, e);
    return orr_stream_begin(c->writer, &w.info, e) &&
           orr_exec_run(l, c->threads, true, on_block, c->writer, NULL, e) && orr_stream_end(c->writer, e);
}

static unsigned sm_of(const context *c) { return (unsigned)(c->gpu->cc_major * 10 + c->gpu->cc_minor); }

static bool on_launch(void *arg, orr_launch *l, const orr_call *call, orr_err *e) {
    (void)call;
    return launch_on(arg, l, e);
}

// ---- whole inputs ---------------------------------------------------------------------------
// "key=value" goes to the GPU when the key has a point (sm.count=66), to the script otherwise (n=4096).
static void split_sets(const orr_run_options *o, const char **gpu, int *ngpu, const char **script,
                       int *nscript) {
    for (int i = 0; i < o->nsets; i++) {
        if (memchr(o->sets[i], '.', strcspn(o->sets[i], "=")))
            gpu[(*ngpu)++] = o->sets[i];
        else
            script[(*nscript)++] = o->sets[i];
    }
}

static orr_script *open_script(const char *input, const orr_run_options *o, const char *const *sets,
                               int nsets, unsigned sm, orr_err *e) {
    orr_arena a = {0};
    orr_script *s = NULL;
    const char *path;
    orr_direct d = {input, o->kernel, o->grid, o->block, o->shared, o->args, o->nargs, NULL};
    if (o->kernel)
        s = orr_script_from_args(&d, e);
    else if ((path = orr_find_workload(&a, input, e)))
        s = orr_script_load(path, o->size, sets, nsets, e);
    orr_arena_free(&a);
    if (!s || orr_script_source(s, o->source, sm, e)) return s;
    orr_script_free(s);
    return NULL;
}

// Runs the script's launches in the context; the caller frees *script, which owns the kernels.
static bool run_script(context *c, const char *input, const orr_run_options *o, const char *const *sets,
                       int nsets, orr_script **script, orr_err *e) {
    orr_script *s = *script = open_script(input, o, sets, nsets, sm_of(c), e);
    if (!s) return false;
    orr_cpu *cpu = orr_cpu_new(on_launch, c, e);
    if (!cpu) return false;
    orr_backend b = orr_cpu_backend(cpu);
    orr_script_stats stats = {0};
    double start = orr_seconds();
    bool ok = orr_script_run(s, &b, !o->no_check, &stats, e);
    c->result.host.seconds = orr_seconds() - start;
    c->result.size = orr_script_size(s);
    c->result.checked = stats.checked;
    c->result.buffer_bytes = stats.buffer_bytes;
    orr_cpu_delete(cpu);
    return ok;
}

static bool replay(context *c, orr_stream_file *f, orr_err *e) {
    double start = orr_seconds();
    c->result.source = "trace";
    bool ok = true;
    for (orr_source *s; ok && (s = orr_stream_next_launch(f, e));) {
        orr_work w = {.info = s->info, .source = s, .threads = c->threads};
        ok = c->model->run(c->gpu, &w, &c->result, e);
    }
    c->result.host.seconds = orr_seconds() - start;
    return ok && !e->status;
}

// A list of Accel-Sim's: launches, and copies from the host between them.
static bool replay_trace(context *c, orr_accel_file *f, orr_err *e) {
    double start = orr_seconds();
    c->result.source = "trace";
    orr_accel_warn(f, NULL); // a library is quiet
    orr_accel_threads(f, c->threads);
    orr_accel_item i;
    bool ok = true;
    while (ok && (ok = orr_accel_next(f, &i, e)) && i.kind != ORR_ACCEL_END) {
        if (i.kind == ORR_ACCEL_KERNEL) {
            orr_work w = {.info = i.source->info, .source = i.source, .threads = c->threads};
            ok = c->model->run(c->gpu, &w, &c->result, e);
        } else if (c->model->copy) {
            ok = c->model->copy(c->gpu, i.addr, i.bytes, &c->result, e);
        }
    }
    c->result.host.seconds = orr_seconds() - start;
    return ok;
}

// What orr_run and orr_record share: `file` is what to record to, or NULL; a report is made when `report` is
// not NULL.
static bool run_input(const char *input, const char *file, const orr_run_options *o, enum orr_format format,
                      char **report, orr_err *e) {
    static const orr_run_options defaults;
    if (!o) o = &defaults;
    const char **gpu_sets = orr_calloc((size_t)o->nsets + 1, sizeof *gpu_sets);
    const char **script_sets = orr_calloc((size_t)o->nsets + 1, sizeof *script_sets);
    int ngpu = 0, nscript = 0;
    split_sets(o, gpu_sets, &ngpu, script_sets, &nscript);
    context c;
    orr_script *s = NULL;
    orr_stream_file *f = NULL;
    orr_accel_file *trace = NULL;
    bool ok = context_open(&c, o->gpu, o->model, gpu_sets, ngpu, o->threads, o->max_insts, o->print, e);
    c.result.input = input;
    if (ok && file) {
        c.writer = orr_stream_create(file, e);
        ok = c.writer != NULL && run_script(&c, input, o, script_sets, nscript, &s, e);
        if (ok)
            ok = orr_stream_commit(c.writer, e);
        else if (c.writer)
            orr_stream_discard(c.writer);
    } else if (ok && orr_stream_probe(input)) {
        f = orr_stream_open(input, e);
        ok = f && replay(&c, f, e);
    } else if (ok && orr_accel_probe(input)) {
        trace = orr_accel_open(input, e);
        ok = trace && replay_trace(&c, trace, e);
    } else if (ok) {
        ok = run_script(&c, input, o, script_sets, nscript, &s, e);
    }
    if (ok && report) *report = context_report(&c, o->lines, format);
    context_close(&c);
    if (f) orr_stream_close(f);
    orr_accel_close(trace);
    if (s) orr_script_free(s);
    free(gpu_sets);
    free(script_sets);
    return ok;
}

char *orr_run(const char *input, const orr_run_options *o, enum orr_format format, orr_err *e) {
    char *report = NULL;
    run_input(input, NULL, o, format, &report, e);
    return report;
}

bool orr_record(const char *input, const char *file, const orr_run_options *o, orr_err *e) {
    return run_input(input, file, o, ORR_TEXT, NULL, e);
}

static void add_times(orr_text *t, const orr_hw_time *times, const double *best, size_t n) {
    double total = 0;
    orr_text_add(t, "\"launches\": [");
    for (size_t i = 0; i < n; i++) {
        const orr_hw_time *x = &times[i];
        orr_text_add(t, "%s\n  {\"kernel\": ", i ? "," : "");
        orr_text_json(t, x->kernel);
        orr_text_add(t, ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"time_ns\": %.1f}", x->grid[0],
                     x->grid[1], x->grid[2], x->block[0], x->block[1], x->block[2], best[i] * 1000);
        total += best[i];
    }
    orr_text_add(t, "],\n \"totals\": {\"launches\": %zu, \"time_ns\": %.1f}}\n", n, total * 1000);
}

char *orr_measure(const char *input, const orr_run_options *o, int rounds, orr_err *e) {
    static const orr_run_options defaults;
    if (!o) o = &defaults;
    orr_hw *h = orr_hw_open(e);
    const orr_hw_info *info = h ? orr_hw_get_info(h) : NULL;
    orr_script *s =
        h ? open_script(input, o, o->sets, o->nsets, (unsigned)(info->major * 10 + info->minor), e) : NULL;
    double *best = NULL;
    size_t nbest = 0;
    orr_text t = {0};
    for (int round = 0; s && !e->status && (round == 0 || round < rounds); round++) {
        orr_backend b = orr_hw_backend(h);
        orr_script_stats stats = {0};
        if ((round > 0 && !orr_hw_reset(h)) || !orr_script_run(s, &b, !o->no_check, &stats, e)) break;
        const orr_hw_time *times;
        size_t n = orr_hw_times(h, &times);
        if (!best) best = orr_calloc((nbest = n) + 1, sizeof *best);
        if (n < nbest) nbest = n; // a host-driven loop may need a round less when atomics fall otherwise
        for (size_t i = 0; i < nbest; i++)
            if (round == 0 || times[i].us < best[i]) best[i] = times[i].us;
        if (round + 1 < rounds) continue;
        orr_text_add(&t, "{\"gpu\": ");
        orr_text_json(&t, orr_hw_get_info(h)->name);
        orr_text_add(&t, ", \"model\": \"hardware\", \"buffers_checked\": %u,\n ", stats.checked);
        add_times(&t, times, best, nbest);
    }
    if (h && s && !t.s) orr_fail(e, ORR_BAD_INPUT, "%s: the GPU cannot be used any more", input);
    free(best);
    if (s) orr_script_free(s);
    if (h) orr_hw_close(h);
    return t.s;
}

char *orr_workloads(orr_err *e) {
    orr_arena a = {0};
    int n = 0;
    const char *const *names = orr_list_workloads(&a, &n);
    orr_text t = {0};
    for (int i = 0; i < n; i++) orr_text_add(&t, "%s\n", names[i]);
    orr_arena_free(&a);
    if (n) return taken(&t);
    orr_fail(e, ORR_BAD_INPUT,
             "no bundled workloads were found; set ORRERY_DATA to the folder that holds workloads/");
    return NULL;
}

// ---- a device -------------------------------------------------------------------------------
struct orr_program {
    orr_device *device;
    orr_module *module;
    orr_image *image;
    orr_program *next;
};

struct orr_device {
    context context;
    orr_mem *mem;
    orr_program *programs;
    uint32_t launches;
};

orr_device *orr_device_open(const orr_device_options *o, orr_err *e) {
    static const orr_device_options defaults;
    if (!o) o = &defaults;
    orr_device *d = orr_calloc(1, sizeof *d);
    if (context_open(&d->context, o->gpu, o->model, o->sets, o->nsets, o->threads, o->max_insts, o->print, e))
        d->mem = orr_mem_new(e);
    if (d->mem) return d;
    orr_device_close(d);
    return NULL;
}

void orr_device_close(orr_device *d) {
    if (!d) return;
    for (orr_program *p = d->programs, *next; p; p = next) {
        next = p->next;
        orr_image_free(d->mem, p->image);
        p->module->free(p->module);
        free(p);
    }
    context_close(&d->context);
    if (d->mem) orr_mem_delete(d->mem);
    free(d);
}

uint64_t orr_device_alloc(orr_device *d, uint64_t bytes, orr_err *e) {
    return orr_mem_alloc(d->mem, bytes, "allocation", e);
}

bool orr_device_free(orr_device *d, uint64_t addr, orr_err *e) {
    if (orr_mem_free(d->mem, addr)) return true;
    return orr_fail(e, ORR_BAD_INPUT, "0x%llx is not the address of an allocation", (unsigned long long)addr);
}

static void *host_pointer(orr_device *d, uint64_t addr, uint64_t bytes, orr_err *e) {
    void *p = orr_mem_host(d->mem, addr, bytes);
    if (!p)
        orr_fail(e, ORR_BAD_INPUT, "%llu bytes at 0x%llx are not inside one allocation",
                 (unsigned long long)bytes, (unsigned long long)addr);
    return p;
}

bool orr_device_write(orr_device *d, uint64_t addr, const void *data, uint64_t bytes, orr_err *e) {
    void *p = bytes ? host_pointer(d, addr, bytes, e) : NULL;
    if (p) memcpy(p, data, bytes);
    return p || !bytes;
}

bool orr_device_read(orr_device *d, uint64_t addr, void *data, uint64_t bytes, orr_err *e) {
    const void *p = bytes ? host_pointer(d, addr, bytes, e) : NULL;
    if (p) memcpy(data, p, bytes);
    return p || !bytes;
}

char *orr_device_result(orr_device *d, enum orr_format format) {
    return context_report(&d->context, false, format);
}

// ---- programs -------------------------------------------------------------------------------
static orr_program *add_program(orr_device *d, orr_module *m, orr_err *e) {
    if (!m) return NULL;
    orr_ptx_long_ways(m);
    orr_image *image = orr_image_load(d->mem, m, e);
    if (!image) {
        m->free(m);
        return NULL;
    }
    orr_program *p = orr_calloc(1, sizeof *p);
    *p = (orr_program){d, m, image, d->programs};
    d->programs = p;
    return p;
}

orr_program *orr_program_load(orr_device *d, const char *path, orr_err *e) {
    return add_program(d, orr_module_find(path, NULL, NULL, sm_of(&d->context), e), e);
}

orr_program *orr_program_parse(orr_device *d, const char *name, const char *ptx, size_t n, orr_err *e) {
    return add_program(d, orr_ptx_parse(name, ptx, n, e), e);
}

int orr_program_kernels(const orr_program *p) { return (int)p->module->nkernels; }

const char *orr_program_kernel(const orr_program *p, int i) {
    return i >= 0 && (uint32_t)i < p->module->nkernels ? p->module->kernel_names[i] : NULL;
}

bool orr_program_symbol(const orr_program *p, const char *name, uint64_t *addr, uint64_t *bytes, orr_err *e) {
    if (orr_image_symbol(p->image, name, addr, bytes)) return true;
    return orr_fail(e, ORR_BAD_INPUT, "%s: there is no variable %s", p->module->path, name);
}

bool orr_program_facts(orr_program *p, const char *kernel, orr_kernel_facts *facts, orr_err *e) {
    const orr_kernel *k = p->module->load(p->module, kernel, e);
    if (!k) return false;
    const uint32_t *most = k->reqntid[0] ? k->reqntid : k->maxntid;
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

char *orr_program_listing(orr_program *p, const char *kernel, orr_err *e) {
    const orr_kernel *k = p->module->load(p->module, kernel, e);
    if (!k) return NULL;
    orr_text t = {0};
    orr_kernel_print(k, &t);
    return taken(&t);
}

bool orr_program_launch(orr_program *p, const char *kernel, const uint32_t grid[3], const uint32_t block[3],
                        uint32_t dynamic_shared, void *const *args, int nargs, orr_launch_facts *facts,
                        orr_err *e) {
    orr_device *d = p->device;
    const orr_kernel *k = p->module->load(p->module, kernel, e);
    if (!k) return false;
    if (nargs < 0 || (uint32_t)nargs != k->nparams)
        return orr_fail(e, ORR_BAD_INPUT, "%s: %s takes %u arguments, not %d", p->module->path, kernel,
                        k->nparams, nargs);
    uint8_t *params = orr_calloc(1, k->param_bytes + 1);
    for (int i = 0; i < nargs; i++) memcpy(params + k->params[i].offset, args[i], k->params[i].bytes);
    orr_launch l = {
        .kernel = k, .image = p->image, .mem = d->mem, .dynamic_shared = dynamic_shared, .params = params};
    l.index = d->launches;
    memcpy(l.grid, grid, sizeof l.grid);
    memcpy(l.block, block, sizeof l.block);
    double start = orr_seconds();
    bool ok = launch_on(&d->context, &l, e);
    d->context.result.host.seconds += orr_seconds() - start;
    free(params);
    if (!ok) return false;
    d->launches++;
    const orr_launch_result *r = &d->context.result.launches.at[d->context.result.launches.n - 1];
    if (facts) *facts = (orr_launch_facts){r->warp_insts, r->thread_insts, r->occupancy, r->cycles};
    return true;
}
