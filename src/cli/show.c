// orrery show: the kernels of a module, or one kernel block by block, as every part of Orrery sees it.
#include "cli/cli.h"
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
    if (orr_kernel_observable(k)) orr_text_add(t, "   ");
    orr_observable_text(k, t);
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
static void list_kernels(orr_module *m, bool json, orr_text *t) {
    if (json)
        orr_text_add(t, "[");
    else
        orr_text_add(t, "%-40s %9s %10s %6s %8s %7s\n", "kernel", "registers", "shared", "params", "insts",
                     "blocks");
    for (uint32_t i = 0; i < m->nkernels; i++) {
        orr_err why = {0};
        orr_kernel *k = m->load(m, m->kernel_names[i], &why);
        if (json) orr_text_add(t, i ? ",\n " : "\n ");
        if (k && json) {
            kernel_json(t, k);
        } else if (k) {
            kernel_row(t, k);
        } else if (json) {
            orr_text_add(t, "{\"kernel\": ");
            orr_text_json(t, m->kernel_names[i]);
            orr_text_add(t, ", \"error\": ");
            orr_text_json(t, why.text);
            orr_text_add(t, "}");
        } else {
            orr_text_add(t, "%-40s cannot be loaded: %s\n", m->kernel_names[i], why.text);
        }
    }
    if (json) orr_text_add(t, "\n]\n");
}

// The kernels (or the one that was asked for) as they are timed on a GPU.
static void show_timed(orr_module *m, cli_options *o, orr_text *t, orr_err *e) {
    orr_gpu *g =
        orr_gpu_load(o->job->model.gpu ? o->job->model.gpu : "h200", o->job->sets.at, (int)o->job->sets.n, e);
    const char *only = o->job->in.direct.kernel;
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

int cli_show(cli_options *o, orr_err *e) {
    const char *kernel = o->job->in.direct.kernel;
    if (o->ninputs != 1) {
        orr_fail(e, ORR_BAD_INPUT, "show: name one module: orrery show FILE.ptx [--kernel NAME]");
        return e->status;
    }
    if (o->show.ptx && (o->show.timed || kernel || o->out.json)) {
        orr_fail(e, ORR_BAD_INPUT, "show: --ptx prints a whole module: neither --kernel, --timed nor --json");
        return e->status;
    }
    orr_module *m = orr_module_find(o->inputs[0], o->show.ptx ? "ptx" : NULL, 0, e);
    if (!m) return e->status;
    orr_text t = {0};
    if (o->show.ptx) {
        orr_ptx_print(m, &t, e);
    } else if (o->show.timed) {
        orr_ptx_long_ways(m);
        show_timed(m, o, &t, e);
        if (!e->status && !t.n) m->load(m, kernel ? kernel : "", e); // says what is wrong with the name
    } else if (!kernel) {
        list_kernels(m, o->out.json, &t);
    } else {
        orr_kernel *k = m->load(m, kernel, e);
        if (k && o->out.json) {
            kernel_json(&t, k);
            orr_text_add(&t, "\n");
        } else if (k) {
            orr_kernel_print(k, &t);
        }
    }
    if (!e->status && t.n) fwrite(t.s, 1, t.n, stdout);
    free(t.s);
    m->free(m);
    return e->status;
}
