// A parsed module is printed, read again, and must be the same: variables, kernels, and the text that
// printing it again gives.
#ifndef ORR_TEST_ROUND_TRIP_H
#define ORR_TEST_ROUND_TRIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ptx/ptx.h"

#define TRIP_SAME(what, x, y)                                                                                \
    do {                                                                                                     \
        if ((x) != (y)) fail_msg("%s: %s: " #x " is not the same", path, what);                              \
    } while (0)
#define TRIP_TEXT(what, x, y)                                                                                \
    do {                                                                                                     \
        if (strcmp(x, y) != 0) fail_msg("%s: %s: '%s' became '%s'", path, what, x, y);                       \
    } while (0)

static void trip_vars(const char *path, const orr_module *m, const orr_module *n) {
    TRIP_SAME("module", m->nvars, n->nvars);
    for (uint32_t i = 0; i < m->nvars; i++) {
        const orr_var *a = &m->vars[i], *b = &n->vars[i];
        TRIP_TEXT("variable", a->name, b->name);
        TRIP_SAME(a->name, a->space, b->space);
        TRIP_SAME(a->name, a->align, b->align);
        TRIP_SAME(a->name, a->bytes, b->bytes);
        TRIP_SAME(a->name, a->external, b->external);
        TRIP_SAME(a->name, a->init_bytes, b->init_bytes);
        if (a->init_bytes && memcmp(a->init, b->init, a->init_bytes) != 0)
            fail_msg("%s: %s has another initialiser", path, a->name);
        TRIP_SAME(a->name, a->nrelocs, b->nrelocs);
        for (uint32_t k = 0; k < a->nrelocs; k++) {
            TRIP_SAME(a->name, a->relocs[k].offset, b->relocs[k].offset);
            TRIP_SAME(a->name, a->relocs[k].bytes, b->relocs[k].bytes);
            TRIP_SAME(a->name, a->relocs[k].var, b->relocs[k].var);
            TRIP_SAME(a->name, a->relocs[k].value, b->relocs[k].value);
        }
    }
}

static void trip_params(const char *path, const char *name, const orr_param *a, const orr_param *b,
                        uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].name[0] != '%') TRIP_TEXT(name, a[i].name, b[i].name); // register parameters may be renamed
        TRIP_SAME(name, a[i].type, b[i].type);
        TRIP_SAME(name, a[i].align, b[i].align);
        TRIP_SAME(name, a[i].pointer, b[i].pointer);
        TRIP_SAME(name, a[i].offset, b[i].offset);
        TRIP_SAME(name, a[i].bytes, b[i].bytes);
    }
}

static void trip_insts(const char *path, const orr_kernel *k, const orr_kernel *l) {
    TRIP_SAME(k->name, k->ninsts, l->ninsts);
    TRIP_SAME(k->name, k->noperands, l->noperands);
    for (uint32_t i = 0; i < k->ninsts; i++) {
        const orr_inst *a = &k->insts[i], *b = &l->insts[i];
        char what[300];
        snprintf(what, sizeof what, "%.200s, line %u", k->name, a->line);
        TRIP_SAME(what, a->op, b->op);
        TRIP_SAME(what, a->type, b->type);
        TRIP_SAME(what, a->stype, b->stype);
        TRIP_SAME(what, a->space, b->space);
        TRIP_SAME(what, a->width, b->width);
        TRIP_SAME(what, a->vec, b->vec);
        TRIP_SAME(what, a->unit, b->unit);
        TRIP_SAME(what, a->round, b->round);
        TRIP_SAME(what, a->cmp, b->cmp);
        TRIP_SAME(what, a->boolop, b->boolop);
        TRIP_SAME(what, a->sub, b->sub);
        TRIP_SAME(what, a->guard_neg, b->guard_neg);
        TRIP_SAME(what, a->ndst, b->ndst);
        TRIP_SAME(what, a->nsrc, b->nsrc);
        TRIP_SAME(what, a->cache, b->cache);
        TRIP_SAME(what, a->mods, b->mods);
        TRIP_SAME(what, a->guard, b->guard);
        TRIP_SAME(what, a->first, b->first);
        TRIP_SAME(what, a->target, b->target);
        TRIP_SAME(what, a->disp, b->disp);
        TRIP_SAME(what, a->disp2, b->disp2);
        TRIP_SAME(what, a->imm, b->imm);
        TRIP_SAME(what, a->source.file, b->source.file);
        TRIP_SAME(what, a->source.line, b->source.line);
    }
    for (uint32_t i = 0; i < k->noperands; i++) {
        TRIP_SAME(k->name, k->operands[i].kind, l->operands[i].kind);
        TRIP_SAME(k->name, k->operands[i].cls, l->operands[i].cls);
        TRIP_SAME(k->name, k->operands[i].neg, l->operands[i].neg);
        TRIP_SAME(k->name, k->operands[i].reg, l->operands[i].reg);
        TRIP_SAME(k->name, k->operands[i].value, l->operands[i].value);
    }
    TRIP_SAME(k->name, k->ntables, l->ntables);
    for (uint32_t i = 0; i < k->ntables; i++) TRIP_SAME(k->name, k->tables[i], l->tables[i]);
}

static void trip_kernel(const char *path, const orr_kernel *k, const orr_kernel *l) {
    TRIP_SAME(k->name, k->nfuncs, l->nfuncs);
    for (uint32_t i = 0; i < k->nfuncs; i++) {
        const orr_func *a = &k->funcs[i], *b = &l->funcs[i];
        TRIP_TEXT(k->name, a->name, b->name);
        TRIP_SAME(a->name, a->ninsts, b->ninsts);
        TRIP_SAME(a->name, a->local_bytes, b->local_bytes);
        TRIP_SAME(a->name, a->nparams, b->nparams);
        TRIP_SAME(a->name, a->nresults, b->nresults);
        TRIP_SAME(a->name, a->proto, b->proto);
        for (int c = 0; c < ORR_CLASSES; c++) TRIP_SAME(a->name, a->nregs[c], b->nregs[c]);
        trip_params(path, a->name, a->params, b->params, a->nparams);
        trip_params(path, a->name, a->results, b->results, a->nresults);
    }
    TRIP_SAME(k->name, k->param_bytes, l->param_bytes);
    TRIP_SAME(k->name, k->shared_bytes, l->shared_bytes);
    TRIP_SAME(k->name, k->bounds.minctapersm, l->bounds.minctapersm);
    TRIP_SAME(k->name, k->bounds.maxnreg, l->bounds.maxnreg);
    for (int i = 0; i < 3; i++) TRIP_SAME(k->name, k->bounds.maxntid[i], l->bounds.maxntid[i]);
    for (int i = 0; i < 3; i++) TRIP_SAME(k->name, k->bounds.reqntid[i], l->bounds.reqntid[i]);
    trip_insts(path, k, l);
}

static const char *trip_reason(const char *text) { // behind the path and the line
    const char *at = strchr(text, ':');
    at = at && at[1] >= '0' && at[1] <= '9' ? strchr(at + 1, ':') : at;
    return at ? at : text;
}

// What printing m yields; it is m's path in messages.
static inline char *round_trip(orr_module *m) {
    const char *path = m->path;
    orr_err e = {0};
    orr_text t = {0}, again = {0};
    if (!orr_ptx_print(m, &t, &e)) fail_msg("%s", e.text);
    orr_module *n = orr_ptx_parse(path, t.s, t.n, &e);
    if (!n) fail_msg("what was printed: %s\n%s", e.text, t.s);
    TRIP_SAME("module", m->version, n->version);
    TRIP_SAME("module", m->target, n->target);
    TRIP_SAME("module", m->nfiles, n->nfiles);
    for (uint32_t i = 0; i < m->nfiles; i++) TRIP_TEXT("files", m->files[i], n->files[i]);
    trip_vars(path, m, n);
    TRIP_SAME("module", m->nkernels, n->nkernels);
    for (uint32_t i = 0; i < m->nkernels; i++) {
        orr_err ke = {0}, le = {0};
        const orr_kernel *k = m->load(m, m->kernel_names[i], &ke), *l = n->load(n, n->kernel_names[i], &le);
        TRIP_TEXT("kernels", m->kernel_names[i], n->kernel_names[i]);
        if (!k || !l)
            TRIP_TEXT(m->kernel_names[i], trip_reason(ke.text), trip_reason(le.text));
        else
            trip_kernel(path, k, l);
    }
    if (!orr_ptx_print(n, &again, &e)) fail_msg("%s", e.text);
    TRIP_TEXT("printed again", t.s, again.s);
    free(again.s);
    n->free(n);
    return t.s;
}

#endif
