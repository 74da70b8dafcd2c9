// Finding a module's code: PTX, or machine code, or whichever of the two is there.
//
// A bundled workload has both: its script says module "NAME", and beside it are NAME.cubin and NAME.ptx. What
// runs on a GPU is machine code, so that is taken when it is for that GPU: code of one generation (sm_80)
// runs on later members of it (sm_86) and nowhere else. Otherwise the driver would compile the PTX, and so
// the PTX is taken.
#include "clc/clc.h"
#include "launch/script.h"
#include "ptx/ptx.h"
#include "sass/module.h"

#include <string.h>
#include <unistd.h>

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

static bool there(const char *path) { return access(path, F_OK) == 0; }

#ifdef ORRERY_HAVE_ELF
static bool runs_on(unsigned code, unsigned sm) { return !sm || (code / 10 == sm / 10 && code <= sm); }
#endif

static orr_module *bare(orr_arena *a, const char *path, const char *source, unsigned sm, orr_err *e) {
    const char *cubin = orr_arena_printf(a, "%s.cubin", path), *ptx = orr_arena_printf(a, "%s.ptx", path);
    bool has_cubin = there(cubin), has_ptx = there(ptx);
    if (!has_cubin && !has_ptx) {
        orr_fail(e, ORR_BAD_INPUT, "%s: there is no such file, nor %s.cubin or %s.ptx", path, path, path);
        return NULL;
    }
    if (source && !strcmp(source, "ptx")) return orr_ptx_open(ptx, e);
    if (source || !has_ptx) return orr_sass_open(cubin, sm, e);
#ifdef ORRERY_HAVE_ELF
    if (has_cubin) {
        orr_module *m = orr_sass_open(cubin, 0, e);
        if (!m || runs_on(m->target, sm)) return m;
        m->free(m);
    }
#endif
    return orr_ptx_open(ptx, e);
}

// The same file with another ending; NULL: none there.
static const char *other(orr_arena *a, const char *path, const char *from, const char *to) {
    if (!ends_with(path, from)) return NULL;
    const char *s = orr_arena_printf(a, "%.*s%s", (int)(strlen(path) - strlen(from)), path, to);
    return there(s) ? s : NULL;
}

orr_module *orr_module_find(const char *path, const char *build, const char *source, unsigned sm,
                            orr_err *e) {
    if (orr_clc_probe(path)) return orr_clc_open(path, build, sm, source, e);
    if (build) {
        orr_fail(e, ORR_BAD_INPUT, "%s: build options are for OpenCL C (.cl)", path);
        return NULL;
    }
    orr_arena a = {0};
    orr_module *m = NULL;
    bool machine = there(path) && orr_sass_probe(path);
    const char *same = NULL;
    if (!there(path) && !ends_with(path, ".ptx") && !ends_with(path, ".cubin")) {
        m = bare(&a, path, source, sm, e);
    } else if (!source || !strcmp(source, machine ? "sass" : "ptx")) {
        m = machine ? orr_sass_open(path, sm, e) : orr_ptx_open(path, e);
    } else if (machine) {
        same = other(&a, path, ".cubin", ".ptx");
        if (same)
            m = orr_ptx_open(same, e);
        else
            orr_fail(e, ORR_BAD_INPUT, "%s: is machine code, and there is no PTX beside it for --source ptx",
                     path);
    } else {
        same = other(&a, path, ".ptx", ".cubin");
        if (same)
            m = orr_sass_open(same, sm, e);
        else
            orr_fail(e, ORR_BAD_INPUT,
                     "%s: there is no machine code beside it for --source sass; make it with nvcc -cubin "
                     "-arch=sm_90",
                     path);
    }
    orr_arena_free(&a);
    return m;
}

bool orr_script_source(orr_script *s, const char *source, unsigned sm, orr_err *e) {
    if (source && strcmp(source, "ptx") != 0 && strcmp(source, "sass") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "--source is ptx or sass, not \"%.40s\"", source);
    s->source = source ? orr_arena_strdup(&s->arena, source) : NULL;
    s->sm = sm;
    return true;
}

void orr_script_plain(orr_script *s) { s->as_is = true; }

void orr_script_print(orr_script *s, FILE *to) { s->print = to; }
