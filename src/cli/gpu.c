// orrery gpu: list the descriptions, show one, list the keys there are, compute occupancy, import one from
// GPGPU-Sim.
#include "accel/accel.h"
#include "cli/input.h"
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

static void put(orr_text *t) {
    if (t->n) fwrite(t->s, 1, t->n, stdout);
    free(t->s);
}

static int by_capability(const void *a, const void *b) {
    const orr_gpu *x = *(orr_gpu *const *)a, *y = *(orr_gpu *const *)b;
    if (x->cc_major != y->cc_major) return x->cc_major - y->cc_major;
    if (x->cc_minor != y->cc_minor) return x->cc_minor - y->cc_minor;
    return strcmp(x->name, y->name);
}

// A description that cannot be read is reported, the others are listed all the same.
static int list(cli_options *o, orr_err *e) {
    int n, good = 0;
    char **names = orr_gpu_list(&n);
    orr_gpu **gpus = orr_calloc((size_t)n + 1, sizeof *gpus);
    for (int i = 0; i < n; i++) {
        gpus[good] = orr_gpu_load(names[i], o->sets, o->nsets, e);
        if (gpus[good]) good++;
    }
    qsort(gpus, (size_t)good, sizeof *gpus, by_capability);
    orr_text t = {0};
    if (o->names)
        for (int i = 0; i < good; i++) orr_text_add(&t, "%s\n", gpus[i]->name);
    else if (good && o->json)
        orr_gpu_json_list(gpus, good, &t);
    else if (good)
        orr_gpu_print_list(gpus, good, &t);
    put(&t);
    for (int i = 0; i < good; i++) orr_gpu_free(gpus[i]);
    free(gpus);
    orr_gpu_list_free(names, n);
    if (n == 0)
        orr_fail(e, ORR_BAD_INPUT,
                 "no GPU descriptions found; set ORRERY_DATA to the folder that holds gpus/");
    return e->status;
}

// Digits, an optional K or KB, and nothing else.
static bool bytes_of(const char *s, int64_t *out) {
    char *end;
    if (*s < '0' || *s > '9' || strlen(s) > 12) return false;
    *out = strtoll(s, &end, 10);
    if (strcmp(end, "K") == 0 || strcmp(end, "KB") == 0)
        *out *= 1024;
    else if (*end)
        return false;
    return true;
}

// --block X[,Y[,Z]]: the threads of a block, whatever their shape.
static bool threads_of(const char *s, int *out) {
    int64_t product = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        if (*s < '0' || *s > '9') return false;
        long v = strtol(s, &end, 10);
        if (v < 1 || v > 65536) return false;
        product *= v;
        if (product > 65536) return false;
        *out = (int)product;
        if (*end == 0) return true;
        if (*end != ',' && *end != 'x') return false;
        s = end + 1;
    }
    return false;
}

static int occupancy(cli_options *o, const orr_gpu *g, orr_err *e) {
    int threads = 256;
    int64_t shared = 0;
    orr_occupancy_result r;
    if (o->block && !threads_of(o->block, &threads))
        return orr_fail(e, ORR_BAD_INPUT, "--block %.40s: expected 1 to 65536 threads, as 256 or 16,16",
                        o->block),
               e->status;
    if (o->shared && !bytes_of(o->shared, &shared))
        return orr_fail(e, ORR_BAD_INPUT, "--shared %.40s: expected bytes, as 16384 or 16K", o->shared),
               e->status;
    if (!orr_occupancy(g, threads, o->regs, shared, o->barriers, &r))
        return orr_fail(e, ORR_BAD_INPUT, "--regs and --barriers cannot be that large, nor negative"),
               e->status;
    orr_text t = {0};
    if (o->json)
        orr_occupancy_json(&r, &t);
    else
        orr_occupancy_print(g, &r, &t);
    put(&t);
    return 0;
}

// gpgpusim.config [trace.config] as a description, to -o FILE or stdout; what could not be used to stderr.
static int import(cli_options *o, orr_err *e) {
    if (o->ninputs < 2 || o->ninputs > 3)
        return orr_fail(e, ORR_BAD_INPUT, "gpu import: expected gpgpusim.config [trace.config] -o OUT.conf"),
               e->status;
    orr_text conf = {0}, notes = {0};
    bool ok = true;
    for (int i = 1; i < o->ninputs; i++) ok = ok && cli_check_output(o, o->inputs[i], e);
    ok = ok && orr_accel_import(o->inputs[1], o->ninputs == 3 ? o->inputs[2] : NULL, &conf, &notes, e) &&
         cli_write(o, &conf, e);
    if (ok && notes.n && !o->quiet) fwrite(notes.s, 1, notes.n, stderr);
    free(conf.s);
    free(notes.s);
    return e->status;
}

int cli_gpu(cli_options *o, orr_err *e) {
    const char *verb = o->ninputs ? o->inputs[0] : "";
    if (strcmp(verb, "import") == 0) return import(o, e);
    if (o->output) return orr_fail(e, ORR_BAD_INPUT, "gpu %.40s: -o is for `gpu import`", verb), e->status;
    bool one = strcmp(verb, "show") == 0 || strcmp(verb, "occupancy") == 0;
    bool all = strcmp(verb, "list") == 0 || strcmp(verb, "keys") == 0;
    if (!one && !all)
        return orr_fail(e, ORR_BAD_INPUT,
                        "gpu: expected list, keys, show NAME, occupancy NAME or import CONFIG%s%.40s",
                        *verb ? ", not " : "", verb),
               e->status;
    if (one && o->ninputs != 2)
        return orr_fail(e, ORR_BAD_INPUT, "gpu %s: expected one NAME, as in `orrery gpu %s h200`", verb,
                        verb),
               e->status;
    if (all && o->ninputs != 1) return orr_fail(e, ORR_BAD_INPUT, "gpu %s takes no name", verb), e->status;
    if (strcmp(verb, "list") == 0) return list(o, e);

    orr_text t = {0};
    if (strcmp(verb, "keys") == 0) {
        (o->json ? orr_gpu_json_keys : orr_gpu_print_keys)(&t);
        put(&t);
        return 0;
    }
    orr_gpu *g = orr_gpu_load(o->inputs[1], o->sets, o->nsets, e);
    if (!g) return e->status;
    int status = 0;
    if (strcmp(verb, "occupancy") == 0)
        status = occupancy(o, g, e);
    else if (o->json)
        orr_gpu_json(g, &t);
    else
        orr_gpu_print(g, &t);
    put(&t);
    orr_gpu_free(g);
    return status;
}
