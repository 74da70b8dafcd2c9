// From a name and options to a script (input.h).
#include "capture/capture.h"
#include "clc/clc.h"
#include "input/input.h"
#include "sass/module.h"

#include <string.h>
#include <unistd.h>

bool orr_input_on_gpu(const orr_input_options *o) { return o->on && !strcmp(o->on, "gpu"); }

const char *orr_input_source(const orr_input_options *o) { return orr_input_on_gpu(o) ? "ptx" : o->source; }

bool orr_input_check(const orr_input_options *o, orr_err *e) {
    if (o->on && strcmp(o->on, "gpu") != 0 && strcmp(o->on, "cpu") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "--on is cpu or gpu, not '%.40s'", o->on);
    if (orr_input_on_gpu(o) && o->source && strcmp(o->source, "ptx") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "--on gpu records kernels from their PTX; leave out --source %.20s",
                        o->source);
    if (!o->launches || orr_in_list(o->launches, 0) >= 0) return true;
    return orr_fail(e, ORR_BAD_INPUT, "--launches takes numbers and ranges, as 3-7,9, not \"%s\"",
                    o->launches);
}

bool orr_input_chosen(const char *kernels, const char *launches, const orr_kernel *k, uint32_t index) {
    if (launches && orr_in_list(launches, index) != 1) return false;
    return !kernels || orr_name_matches(kernels, k->name);
}

bool orr_input_in_range(const orr_input_options *o, const char *path) {
    return !o->range || (path && orr_range_matches(o->range, path));
}

unsigned orr_input_sm(const orr_gpu *g) { return g ? (unsigned)(g->cc_major * 10 + g->cc_minor) : 0; }

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

// CUDA C++ is not compiled here: how it is.
static bool refuse_source(const char *input, unsigned sm, orr_err *e) {
    bool cuda = ends_with(input, ".cu") || ends_with(input, ".cuh"),
         cpp = ends_with(input, ".cpp") || ends_with(input, ".cc") || ends_with(input, ".c");
    if (!cuda && !cpp) return true;
    const char *slash = strrchr(input, '/'), *base = slash ? slash + 1 : input;
    int n = (int)(strrchr(base, '.') - base);
    if (cpp)
        return orr_fail(e, ORR_BAD_INPUT,
                        "%s: a program's source: build it, and run the program: orrery app ./%.*s", input, n,
                        base);
    return orr_fail(
        e, ORR_BAD_INPUT,
        "%s: CUDA source is compiled first. A kernel: nvcc -arch=sm_%u -lineinfo -cubin %s -o %.*s.cubin, "
        "then orrery run %.*s.cubin --kernel NAME --grid X --block X --arg ...; a whole program: nvcc "
        "-cudart shared -arch=sm_%u -lineinfo %s -o %.*s, then orrery app ./%.*s",
        input, sm ? sm : 90, input, n, base, n, base, sm ? sm : 90, input, n, base, n, base);
}

static orr_script *open_script(const orr_input_options *o, const char *input, unsigned sm, orr_err *e) {
    orr_direct d = o->direct;
    if (!refuse_source(input, sm, e)) return NULL;
    if ((ends_with(input, ".ptx") && access(input, F_OK) == 0) || orr_clc_probe(input) ||
        orr_sass_probe(input)) {
        if (o->size || o->nsets) {
            orr_fail(e, ORR_BAD_INPUT, "%s: --size and --set need a launch script; a module takes --arg",
                     input);
            return NULL;
        }
        d.module = input;
        return orr_script_from_args(&d, e);
    }
    if (d.kernel || d.grid || d.block || d.shared || d.nargs || d.global || d.local || d.build) {
        orr_fail(e, ORR_BAD_INPUT,
                 "%s: --kernel, --grid, --block, --shared and --arg are for a module (.ptx, .cubin, .cl)%s",
                 input,
                 ends_with(input, ".ptx") || ends_with(input, ".cubin") ? ", and there is no such file" : "");
        return NULL;
    }
    orr_arena names = {0};
    const char *path = orr_find_workload(&names, input, e);
    orr_script *script = path ? orr_script_load(path, o->size, o->sets, o->nsets, e) : NULL;
    orr_arena_free(&names);
    return script;
}

orr_script *orr_input_script(const orr_input_options *o, const char *input, unsigned sm, orr_err *e) {
    orr_script *script = open_script(o, input, sm, e);
    if (script && orr_input_on_gpu(o)) orr_script_plain(script);
    if (!script || orr_script_source(script, orr_input_source(o), sm, e)) return script;
    orr_script_free(script);
    return NULL;
}
