// orrery cl: an unmodified OpenCL program on a simulated GPU (src/opencl).
//
// The ICD loader, which the program is linked with, finds our driver by its environment: ocl-icd looks at
// OCL_ICD_VENDORS, Khronos' loader at OCL_ICD_FILENAMES.
#include "clc/annotate.h"
#include "cli/app.h"
#include "cli/input.h"
#include "cli/machine.h"

#include <stdlib.h>
#include <string.h>

static bool prepare(cli_options *o, orr_arena *a, orr_err *e) {
    (void)o;
    const char *dir = cli_library_folder(a, "opencl", "liborrery-opencl.so", "ORRERY_OPENCL", e);
    if (!dir) return false;
    setenv("OCL_ICD_VENDORS", orr_arena_printf(a, "%s/orrery.icd", dir), 1);
    setenv("OCL_ICD_FILENAMES", orr_arena_printf(a, "%s/liborrery-opencl.so", dir), 1);
    cli_in_front(a, "LD_LIBRARY_PATH", dir);
    return true;
}

// The program's own device, with the layer between (src/opencl/layer).
static bool prepare_layer(cli_options *o, orr_arena *a, orr_err *e) {
    const char *dir = cli_library_folder(a, "opencl", "liborrery-opencl-layer.so", "ORRERY_OPENCL", e);
    if (!dir) return false;
    o->model = "analytic"; // the only one that counts are enough for
    setenv("OPENCL_LAYERS", orr_arena_printf(a, "%s/liborrery-opencl-layer.so", dir), 1);
    return true;
}

// orrery cl annotate k.cl [--build OPTIONS] -o FILE: what follows the word is not a program's.
static int annotate(cli_options *o, orr_err *e) {
    const char *input = NULL, *output = o->output, *build = NULL;
    for (int i = 1; i < o->nrest && !e->status; i++) {
        const char *w = o->rest[i];
        const char **value = !strcmp(w, "-o") || !strcmp(w, "--output") ? &output : !strcmp(w, "--build") ? &build : NULL;
        if (value && i + 1 < o->nrest)
            *value = o->rest[++i];
        else if (!value && *w != '-' && !input)
            input = w;
        else
            orr_fail(e, ORR_BAD_INPUT, "cl annotate: it takes FILE.cl, -o FILE and --build OPTIONS, not \"%.60s\"", w);
    }
    if (!e->status && !input) orr_fail(e, ORR_BAD_INPUT, "cl annotate: name a file: orrery cl annotate k.cl -o k.annotated.cl");
    orr_annotated a;
    if (!e->status && orr_clc_annotate(input, NULL, 0, build, 0, &a, e)) {
        orr_text t = {a.text, a.n, a.n};
        cli_options out = *o;
        out.output = output;
        cli_write(&out, &t, e);
        orr_annotated_free(&a);
    } else if (input && e->status && !strncmp(e->text, "line ", 5)) {
        orr_err named = {0};
        orr_fail(&named, e->status, "%s: %s", input, e->text);
        *e = named;
    }
    return e->status;
}

int cli_cl(cli_options *o, orr_err *e) {
    if (o->nrest && !strcmp(o->rest[0], "annotate")) return annotate(o, e);
    if (cli_on_gpu(o)) {
        orr_fail(e, ORR_BAD_INPUT, "cl: --on gpu is for CUDA programs (orrery app)");
        return e->status;
    }
    if (o->annotate && ((o->model && strcmp(o->model, "analytic") != 0 && strcmp(o->model, "functional") != 0) || o->sample || o->record || o->counts_only)) {
        orr_fail(e, ORR_BAD_INPUT, "cl: --annotate counts on the program's own device and predicts with --model analytic; "
                                   "leave out --sample, --record and --counts-only");
        return e->status;
    }
    return cli_program(o, "cl", "./vector_add", o->annotate ? prepare_layer : prepare, e);
}
