// orr_show: the kernels of a module, or one kernel block by block, as every part of Orrery sees it.
#include "api/api.h"
#include "exec/exec.h"
#include "tasks/tasks.h"
#include "isa/observable.h"
#include "ptx/ptx.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

static void kernel_row(orr_text *t, const orr_kernel *k) {
    orr_text_add(t, "%-40s %9u %8u B %6u %8u %7u", k->name, k->regs, k->shared_bytes, k->nparams, k->ninsts,
                 k->nblocks);
    if (k->reqntid[0]) orr_text_add(t, "   block %u x %u x %u", k->reqntid[0], k->reqntid[1], k->reqntid[2]);
    if (k->maxntid[0])
        orr_text_add(t, "   at most %u x %u x %u threads", k->maxntid[0], k->maxntid[1], k->maxntid[2]);
    orr_text why = {0};
    orr_observable_text(k, &why);
    if (why.n) orr_text_add(t, "   %s", why.s);
    free(why.s);
    orr_text_add(t, "\n");
}

static void kernel_json(orr_text *t, const orr_kernel *k) {
    orr_text_add(t, "{\"kernel\": ");
    orr_text_json(t, k->name);
    orr_text_add(t, ", \"registers\": %u, \"shared_bytes\": %u, \"insts\": %u, \"blocks\": %u, \"params\": [",
                 k->regs, k->shared_bytes, k->ninsts, k->nblocks);
    for (uint32_t i = 0; i < k->nparams; i++) {
        const orr_param *p = &k->params[i];
        orr_text_add(t, "%s{\"name\": ", i ? ", " : "");
        orr_text_json(t, p->name);
        orr_text_add(t, ", \"type\": \"%s\", \"bytes\": %u, \"offset\": %u}", orr_types[p->type].name,
                     p->bytes, p->offset);
    }
    orr_text_add(t, "]}");
}

// A kernel that cannot be loaded does not hide the others: its reason takes its place.
static void list_kernels(orr_module *m, orr_text *text, orr_text *json) {
    orr_text_add(json, "[");
    orr_text_add(text, "%-40s %9s %10s %6s %8s %7s\n", "kernel", "registers", "shared", "params", "insts",
                 "blocks");
    for (uint32_t i = 0; i < m->nkernels; i++) {
        orr_err why = {0};
        orr_kernel *k = m->load(m, m->kernel_names[i], &why);
        orr_text_add(json, i ? ",\n " : "\n ");
        if (k) {
            kernel_json(json, k);
            kernel_row(text, k);
            continue;
        }
        orr_text_add(json, "{\"kernel\": ");
        orr_text_json(json, m->kernel_names[i]);
        orr_text_add(json, ", \"error\": ");
        orr_text_json(json, why.text);
        orr_text_add(json, "}");
        orr_text_add(text, "%-40s cannot be loaded: %s\n", m->kernel_names[i], why.text);
    }
    orr_text_add(json, "\n]\n");
}

static void show_kernel(orr_module *m, const char *name, orr_text *text, orr_text *json, orr_err *e) {
    orr_kernel *k = m->load(m, name, e);
    if (!k) return;
    kernel_json(json, k);
    orr_text_add(json, "\n");
    orr_kernel_print(k, text);
}

// The kernels (or the one that was asked for) as they are timed on a GPU.
static void show_timed(orr_module *m, const orr_options *o, orr_text *t, orr_err *e) {
    const char *name = o->model.gpu ? o->model.gpu : "h200";
    orr_gpu *g = orr_gpu_load(name, o->sets.at, (int)o->sets.n, e);
    const char *only = o->in.direct.kernel;
    for (uint32_t i = 0; g && i < m->nkernels && !e->status; i++) {
        if (only && strcmp(only, m->kernel_names[i])) continue;
        orr_kernel *k = m->load(m, m->kernel_names[i], e);
        orr_rewritten *rewritten = k ? orr_rewrite(k) : NULL;
        orr_program *p = k ? orr_program_new(rewritten ? orr_rewritten_kernel(rewritten) : k, g, e) : NULL;
        if (p) orr_program_print(p, t);
        orr_program_free(p);
        orr_rewritten_free(rewritten);
    }
    orr_gpu_free(g);
}

// ---- as a task list -----------------------------------------------------------------------------
typedef struct lister {
    orr_task_writer *writer;
    orr_result forms; // of PTX, as models time it
    orr_progress *progress;
    uint64_t launches;
} lister;

static bool list_launch(void *arg, orr_work *w, orr_err *e) {
    lister *to = arg;
    orr_work own;
    const orr_work *timed = orr_work_rewritten(w, &own, &to->forms);
    orr_source *s = orr_work_open(timed, NULL, e);
    bool ok = s && orr_task_writer_launch(to->writer, s, e);
    if (s && s != w->source) s->close(s);
    orr_progress_step(to->progress, ++to->launches);
    return ok;
}

static orr_report *show_tasks(const char *input, const orr_options *o, orr_err *e) {
    const char *name = o->model.gpu ? o->model.gpu : "h200";
    orr_gpu *g = orr_gpu_load(name, o->model.sets.at, (int)o->model.sets.n, e);
    if (!g) return NULL;
    orr_progress progress = {0};
    orr_text text = {0}, json = {0}, title = {0};
    lister l = {.writer = orr_task_writer_new(g), .progress = &progress};
    orr_input in = {
        .name = input, .o = &o->in, .gpu = g, .progress = &progress, .work = list_launch, .arg = &l};
    orr_progress_start(&progress, o->watcher, "show", "launches", "blocks", 0);
    bool ok = orr_input_run(&in, e);
    orr_progress_end(&progress);
    if (ok && !in.chosen) ok = orr_fail(e, ORR_BAD_INPUT, "%s: launches nothing that was chosen", input);
    bool some = ok || (e->status == ORR_STOPPED && in.chosen); // stopped: the launches until then
    if (some) {
        orr_text_add(&title, "%s%s%s, from %s, as it goes on a %s (orrery show --tasks)%s", input,
                     *in.size ? ", " : "", in.size, in.source, g->name, ok ? "" : "; stopped before its end");
        orr_task_writer_text(l.writer, title.s, &text);
        orr_text_add(&json, "{}\n");
    }
    orr_task_writer_free(l.writer);
    orr_result_free(&l.forms);
    orr_input_close(&in);
    orr_gpu_free(g);
    free(title.s);
    return some ? orr_report_of(text, json) : NULL;
}

orr_report *orr_show(const char *module, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    if (o->code.tasks) return show_tasks(module, o, e);
    const char *kernel = o->in.direct.kernel;
    orr_module *m = orr_module_find(module, o->in.direct.build, o->code.ptx ? "ptx" : NULL, 0, e);
    if (!m) return NULL;
    orr_text text = {0}, json = {0};
    if (o->code.ptx) {
        orr_ptx_print(m, &text, e);
    } else if (o->code.timed) {
        orr_ptx_long_ways(m);
        show_timed(m, o, &text, e);
        if (!e->status && !text.n) m->load(m, kernel ? kernel : "", e); // says what is wrong with the name
    } else if (kernel) {
        show_kernel(m, kernel, &text, &json, e);
    } else {
        list_kernels(m, &text, &json);
    }
    m->free(m);
    if (!e->status) return orr_report_of(text, json);
    free(text.s);
    free(json.s);
    return NULL;
}
