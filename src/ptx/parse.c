// The module: directives, function headers, and the door of this folder.
#include <stdlib.h>
#include <string.h>

#include "ptx/longways.h"

// ---- functions ----------------------------------------------------------------------------------
static uint32_t small(ptx_parser *p, const char *what) { return (uint32_t)ptx_integer(p, UINT32_MAX, what); }

static void triple(ptx_parser *p, uint32_t out[3], const char *what) {
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        out[i] = small(p, what);
        if (out[i] == 0) ptx_error(p, p->t.line, "%s must not be 0", what);
        if (!ptx_accept(p, ',')) return;
    }
}

static void strings(ptx_parser *p) { // .pragma "a", "b";
    do {
        if (p->t.kind != T_STRING) ptx_unexpected(p, "a string");
        ptx_next(p);
    } while (ptx_accept(p, ','));
    ptx_accept(p, ';');
}

// What may stand between a function's parameters and its body.
static bool kept_in_fields(ptx_parser *p, ptx_func *fn) {
    if (ptx_accept_dot(p, "maxntid"))
        triple(p, fn->bounds.maxntid, ".maxntid");
    else if (ptx_accept_dot(p, "reqntid"))
        triple(p, fn->bounds.reqntid, ".reqntid");
    else if (ptx_accept_dot(p, "reqnctapercluster"))
        triple(p, fn->bounds.cluster, ".reqnctapercluster");
    else if (ptx_accept_dot(p, "minnctapersm"))
        fn->bounds.minctapersm = small(p, ".minnctapersm");
    else if (ptx_accept_dot(p, "maxnreg"))
        fn->bounds.maxnreg = small(p, ".maxnreg");
    else
        return false;
    return true;
}

static void tuning(ptx_parser *p, ptx_func *fn) {
    uint32_t unused[3];
    while (p->t.kind == T_DOT) {
        if (kept_in_fields(p, fn)) continue;
        const char *from = ptx_start(&p->t);
        if (ptx_accept_dot(p, "maxnctapersm"))
            small(p, ".maxnctapersm");
        else if (ptx_accept_dot(p, "maxclusterrank"))
            small(p, ".maxclusterrank");
        else if (ptx_accept_dot(p, "maxnctapercluster"))
            triple(p, unused, ".maxnctapercluster");
        else if (ptx_accept_dot(p, "abi_preserve") || ptx_accept_dot(p, "abi_preserve_control"))
            small(p, "a register count");
        else if (ptx_accept_dot(p, "pragma"))
            strings(p);
        else if (ptx_accept_dot(p, "attribute")) {
            if (!ptx_is(p, '(')) ptx_unexpected(p, "'('");
            ptx_skip_parens(p);
        } else if (!ptx_accept_dot(p, "explicitcluster") && !ptx_accept_dot(p, "blocksareclusters") &&
                   !ptx_accept_dot(p, "noreturn") && !ptx_accept_dot(p, "unique")) {
            ptx_unexpected(p, "'{'");
        }
        *ORR_PUSH(&p->f->notes) = (ptx_note){.kind = N_DIRECTIVE, .text = ptx_since(p, from)};
    }
}

static void parameters(ptx_parser *p, bool kernel, ptx_var ***out, uint32_t *n) {
    size_t mark = p->stack.n; // parameters wait on the operand stack, which an error frees
    ptx_expect(p, '(');
    while (!ptx_is(p, ')')) {
        ptx_var *v = ptx_parameter(p, kernel);
        ORR_PUSH(&p->stack)->var = v;
        if (!ptx_accept(p, ',')) break;
    }
    ptx_expect(p, ')');
    *n = (uint32_t)(p->stack.n - mark);
    *out = orr_arena_alloc(&p->m->arena, (*n + 1) * sizeof **out);
    for (uint32_t i = 0; i < *n; i++) (*out)[i] = p->stack.at[mark + i].var;
    p->stack.n = mark;
}

static void place(ptx_parser *p, ptx_func *fn, ptx_var *v) {
    token key = {.s = v->name, .n = (uint32_t)strlen(v->name), .line = v->line};
    if (v->where == V_PARAM) {
        uint32_t align = v->align > 128 ? 128 : v->align;
        v->offset = (fn->param_bytes + align - 1) & ~(uint64_t)(align - 1);
        fn->param_bytes = v->offset + v->bytes;
        if (fn->param_bytes > MAX_PARAM_BYTES)
            ptx_error(p, v->line, "the parameters of '%.200s' are larger than %d bytes", fn->name,
                      MAX_PARAM_BYTES);
    } else {
        v->offset = ptx_place(p, v->bytes, v->align);
        if (v->unsized) fn->variadic = true;
    }
    if (strcmp(v->name, "_") == 0) return;
    ptx_entry *e = ptx_declare(p, key, v->where == V_REG ? O_REG : O_VAR);
    if (v->where == V_REG) {
        e->type = v->type;
        e->count = v->elem / ptx_type_bytes(v->type);
        e->value = ptx_new_registers(p, v->type, e->count, REG_PARAM);
        v->index = (uint32_t)e->value;
    } else {
        e->var = v;
    }
}

// Labels that nothing refers to are forgotten, the others numbered.
static void number_labels(ptx_parser *p, ptx_func *fn) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < fn->operands.n; i++) {
        ptx_opd *o = &p->f->opds.at[fn->operands.first + i];
        if (o->kind == O_LABEL) p->labels.at[o->n - 1] = 1;
    }
    for (size_t i = 0; i < p->labels.n; i++)
        if (p->labels.at[i]) p->labels.at[i] = ++used;
    for (uint32_t i = 0; i < fn->operands.n; i++) {
        ptx_opd *o = &p->f->opds.at[fn->operands.first + i];
        if (o->kind == O_LABEL) o->n = p->labels.at[o->n - 1];
    }
    for (uint32_t i = 0; i < fn->notes.n; i++) {
        ptx_note *note = &p->f->notes.at[fn->notes.first + i];
        if (note->kind != N_LABEL) continue;
        note->first = p->labels.at[note->first - 1];
        if (!note->first) note->kind = N_NONE;
    }
}

static void function(ptx_parser *p, const char *text, uint8_t linkage) {
    bool kernel = ptx_is_dot(p, "entry");
    ptx_func got = {.line = p->t.line,
                    .entry = kernel,
                    .external = linkage & LINK_EXTERN,
                    .linkage = linkage,
                    .text = {.at = text},
                    .notes.first = (uint32_t)p->f->notes.n};
    ptx_next(p);
    const char *attribute = ptx_start(&p->t);
    while (ptx_accept_dot(p, "attribute")) {
        if (!ptx_is(p, '(')) ptx_unexpected(p, "'('");
        ptx_skip_parens(p);
        got.attribute = ptx_since(p, attribute);
    }
    if (!kernel && ptx_is(p, '(')) parameters(p, false, &got.results, &got.nresults);
    token name = ptx_expect_name(p, "a function's name");
    if (ptx_is(p, '(')) parameters(p, kernel, &got.params, &got.nparams);
    tuning(p, &got);
    got.notes.n = (uint32_t)p->f->notes.n - got.notes.first;
    bool body = ptx_is(p, '{');

    ptx_global *g = ptx_global_named(p->f, name.s, name.n, true);
    int shown = name.n > 200 ? 200 : (int)name.n;
    if (g->var) ptx_error(p, name.line, "'%.*s' is a variable already", shown, name.s);
    if (!g->func) {
        g->func = orr_arena_alloc(&p->m->arena, sizeof *g->func);
        *g->func = got;
        g->func->name = orr_arena_strndup(&p->m->arena, name.s, name.n);
        *ORR_PUSH(&p->f->funcs) = g->func;
    } else if (g->func->entry != kernel) {
        ptx_error(p, name.line, "'%.*s' is both a kernel and a function", shown, name.s);
    } else if (body) {
        if (g->func->defined) ptx_error(p, name.line, "'%.*s' is defined twice", shown, name.s);
        got.name = g->func->name;
        *g->func = got;
    }
    ptx_func *fn = g->func;
    if (!body) {
        ptx_accept(p, ';');
        return;
    }
    fn->defined = true;
    *ORR_PUSH(&p->f->items) = (ptx_note){.kind = N_FUNC, .func = fn};
    if (kernel) *ORR_PUSH(&p->kernel_names) = fn->name;
    fn->first = (uint32_t)p->f->stmts.n;
    fn->operands.first = (uint32_t)p->f->opds.n;
    p->fn = fn;
    ptx_scope_open(p);
    for (uint32_t i = 0; i < fn->nresults; i++) place(p, fn, fn->results[i]);
    for (uint32_t i = 0; i < fn->nparams; i++) place(p, fn, fn->params[i]);
    ptx_next(p);
    ptx_body(p);
    ptx_scope_close(p);
    fn->n = (uint32_t)p->f->stmts.n - fn->first;
    fn->operands.n = (uint32_t)p->f->opds.n - fn->operands.first;
    fn->notes.n = (uint32_t)p->f->notes.n - fn->notes.first;
    number_labels(p, fn);
    fn->nregs = (uint32_t)p->reg_type.n;
    fn->regs = orr_arena_alloc(&p->m->arena, (fn->nregs + 1) * sizeof *fn->regs);
    if (fn->nregs) memcpy(fn->regs, p->regs.at, fn->nregs * sizeof *fn->regs);
    fn->reg_type = orr_arena_alloc(&p->m->arena, fn->nregs + 1);
    if (fn->nregs) memcpy(fn->reg_type, p->reg_type.at, fn->nregs);
    p->fn = NULL;
    ptx_scope_reset(p);
}

ptx_func *ptx_func_real(ptx_front *f, ptx_func *fn) {
    for (int i = 0; i < 16 && fn->alias; i++) {
        ptx_global *g = ptx_global_named(f, fn->alias, strlen(fn->alias), false);
        if (!g || !g->func) break;
        fn = g->func;
    }
    return fn;
}

// ---- other directives ---------------------------------------------------------------------------
static void version(ptx_parser *p) {
    if ((p->t.kind != T_F64 && p->t.kind != T_INT) || p->t.n > 8) ptx_unexpected(p, "a version such as 8.3");
    char text[16] = {0};
    memcpy(text, p->t.s, p->t.n);
    char *dot = strchr(text, '.');
    p->f->version = (ptx_slice){p->t.s, p->t.n};
    p->m->version = (uint32_t)(atoi(text) * 10 + (dot ? atoi(dot + 1) : 0));
    ptx_next(p);
}

static void target(ptx_parser *p) {
    p->f->targets.n = 0;
    do {
        token t = ptx_expect_name(p, "a target such as sm_90");
        *ORR_PUSH(&p->f->targets) = (ptx_slice){t.s, t.n};
        const char *digits = t.n > 3 && memcmp(t.s, "sm_", 3) == 0        ? t.s + 3
                             : t.n > 8 && memcmp(t.s, "compute_", 8) == 0 ? t.s + 8
                                                                          : NULL;
        if (digits && !p->m->target) p->m->target = (uint32_t)strtoul(digits, NULL, 10);
    } while (ptx_accept(p, ','));
}

static void file(ptx_parser *p) { // .file 1 "x.cu", 1234, 56; .file 1 "dir" "x.cu"
    char number[24];
    if (p->t.kind != T_INT) ptx_unexpected(p, "a file number");
    snprintf(number, sizeof number, "%llu", (unsigned long long)p->t.value);
    uint64_t value = p->t.value;
    ptx_next(p);
    if (p->t.kind != T_STRING) ptx_unexpected(p, "a file name");
    token first = p->t;
    ptx_next(p);
    const char *name = orr_arena_strndup(&p->m->arena, first.s, first.n);
    if (p->t.kind == T_STRING) { // the folder and the name, as clang writes them
        if (p->t.n && p->t.s[0] == '/')
            name = orr_arena_strndup(&p->m->arena, p->t.s, p->t.n);
        else
            name = orr_arena_printf(&p->m->arena, "%s/%.*s", name, (int)p->t.n, p->t.s);
        ptx_next(p);
    }
    *ORR_PUSH(&p->files) = name;
    *ORR_PUSH(&p->f->file_numbers) = value;
    orr_map_put(&p->f->files, number, (void *)(uintptr_t)p->files.n);
    while (ptx_accept(p, ',')) {
        if (p->t.kind != T_INT) ptx_unexpected(p, "a number");
        ptx_next(p);
    }
    ptx_accept(p, ';');
}

static void section(ptx_parser *p) { // .section .debug_info { ... }: names and data nobody here reads
    uint32_t line = p->t.line, open = 0;
    if (p->t.kind != T_DOT && p->t.kind != T_NAME) ptx_unexpected(p, "a section's name");
    while (!ptx_is(p, '{')) {
        if (p->t.kind == T_EOF) ptx_error(p, line, "this section has no body");
        ptx_next(p);
    }
    do {
        if (p->t.kind == T_EOF) ptx_error(p, line, "this section has no end");
        if (ptx_is(p, '{')) open++;
        if (ptx_is(p, '}')) open--;
        ptx_next(p);
    } while (open);
}

static void alias(ptx_parser *p) {
    token name = ptx_expect_name(p, "a function's name");
    ptx_expect(p, ',');
    token real = ptx_expect_name(p, "a function's name");
    ptx_expect(p, ';');
    ptx_global *g = ptx_global_named(p->f, name.s, name.n, false);
    if (!g || !g->func || g->func->defined)
        ptx_error(p, name.line, "'%.*s' is not a function that was declared and not defined",
                  name.n > 200 ? 200 : (int)name.n, name.s);
    g->func->alias = orr_arena_strndup(&p->m->arena, real.s, real.n);
}

static void directive(ptx_parser *p) {
    const char *text = p->t.s - 1;
    uint8_t linkage = 0;
    while (ptx_is_dot(p, "visible") || ptx_is_dot(p, "extern") || ptx_is_dot(p, "weak") ||
           ptx_is_dot(p, "common")) {
        linkage |= ptx_is_dot(p, "visible")  ? LINK_VISIBLE
                   : ptx_is_dot(p, "extern") ? LINK_EXTERN
                   : ptx_is_dot(p, "weak")   ? LINK_WEAK
                                             : LINK_COMMON;
        ptx_next(p);
    }
    if (ptx_is_dot(p, "entry") || ptx_is_dot(p, "func"))
        function(p, text, linkage);
    else if (ptx_is_space(p))
        ptx_variables(p, linkage);
    else if (linkage)
        ptx_unexpected(p, "a function or a variable");
    else if (ptx_accept_dot(p, "version"))
        version(p);
    else if (ptx_accept_dot(p, "target"))
        target(p);
    else if (ptx_accept_dot(p, "address_size")) {
        uint32_t line = p->t.line;
        if (ptx_integer(p, 64, "an address size") != 64)
            ptx_error(p, line, "only 64-bit addresses are supported: compile with -m64");
    } else if (ptx_accept_dot(p, "file"))
        file(p);
    else if (ptx_accept_dot(p, "section"))
        section(p);
    else if (ptx_accept_dot(p, "pragma")) {
        strings(p);
        *ORR_PUSH(&p->f->items) = (ptx_note){.kind = N_PRAGMA, .text = ptx_since(p, text)};
    } else if (ptx_accept_dot(p, "alias"))
        alias(p);
    else
        ptx_unexpected(p, "a directive");
}

// Names that were used before they were declared; functions whose address is taken.
static void settle(ptx_parser *p) {
    ptx_front *f = p->f;
    for (size_t i = 0; i < f->opds.n; i++) {
        ptx_opd *o = &f->opds.at[i];
        if (o->kind == O_NAME) {
            ptx_global *g = ptx_global_named(f, o->name, o->n, false);
            if (g && g->func)
                *o = (ptx_opd){.kind = O_FUNC, .func = g->func, .sel = o->sel, .addend = o->addend};
            else if (g && g->var)
                *o = (ptx_opd){.kind = O_VAR, .var = g->var, .addend = o->addend};
        }
        if (o->kind == O_FUNC && !o->sel) ptx_func_real(f, o->func)->taken = true;
    }
    for (size_t i = 0; i < f->init_refs.n; i++) {
        ptx_global *g = ptx_global_named(f, f->init_refs.at[i].name, f->init_refs.at[i].name_n, false);
        if (g && g->func) ptx_func_real(f, g->func)->taken = true;
    }
    uint32_t kernels = 1u << 20; // a kernel's address is a handle that no call accepts
    for (size_t i = 0; i < f->funcs.n; i++) {
        ptx_func *fn = f->funcs.at[i];
        if (!fn->taken) continue;
        if (fn->entry || !fn->defined) {
            fn->handle = kernels++;
        } else {
            *ORR_PUSH(&f->taken) = fn;
            fn->handle = (uint32_t)f->taken.n;
        }
    }
    ptx_resolve_inits(p);
}

// ---- the door -----------------------------------------------------------------------------------
static void free_module(orr_module *m) {
    ptx_front *f = m->front;
    for (size_t i = 0; i < f->funcs.n; i++) {
        orr_kernel *k = f->funcs.at[i]->entry ? orr_map_get(&f->kernels, f->funcs.at[i]->name) : NULL;
        if (k) {
            orr_arena arena = k->arena; // the kernel itself is in it
            orr_arena_free(&arena);
        }
    }
    orr_map_free(&f->globals);
    orr_map_free(&f->opcodes);
    orr_map_free(&f->files);
    orr_map_free(&f->kernels);
    free(f->funcs.at);
    free(f->stmts.at);
    free(f->opds.at);
    free(f->tables.at);
    free(f->taken.at);
    free(f->notes.at);
    free(f->items.at);
    free(f->init_refs.at);
    free(f->file_numbers.at);
    free(f->targets.at);
    free(f->text);
    free(f);
    orr_arena arena = m->arena; // and the module in its own
    orr_arena_free(&arena);
}

static void free_parser(ptx_parser *p) {
    ptx_scope_reset(p);
    free(p->refs.at);
    free(p->reg_type.at);
    free(p->regs.at);
    free(p->labels.at);
    free(p->stack.at);
    free(p->spelling.s);
    free(p->vars.at);
    free(p->kernel_names.at);
    free(p->files.at);
    free(p->initial.bytes);
    free(p);
}

static void *copy(orr_arena *a, const void *at, size_t bytes) {
    void *out = orr_arena_alloc(a, bytes ? bytes : 1);
    if (bytes) memcpy(out, at, bytes);
    return out;
}

static const char *kernel_at(const orr_module *m, uint64_t address) {
    const ptx_front *f = m->front;
    for (size_t i = 0; i < f->funcs.n; i++) {
        const ptx_func *fn = f->funcs.at[i];
        if (fn->entry && fn->handle && ORR_FUNC_HANDLE(fn->handle) == address) return fn->name;
    }
    return NULL;
}

orr_module *orr_ptx_parse(const char *path, const char *text, size_t n, orr_err *e) {
    if (n > MAX_TEXT) {
        orr_fail(e, ORR_BAD_INPUT, "%s: a PTX module of more than 1 GiB", path);
        return NULL;
    }
    orr_arena arena = {0};
    orr_module *m = orr_arena_alloc(&arena, sizeof *m);
    ptx_parser *p = orr_calloc(1, sizeof *p);
    p->f = orr_calloc(1, sizeof *p->f);
    m->arena = arena;
    m->path = orr_arena_strdup(&m->arena, path);
    m->source = "ptx";
    m->front = p->f;
    m->load = ptx_load;
    m->kernel_at = kernel_at;
    m->free = free_module;
    p->f->text = orr_malloc(n + 1);
    if (n) memcpy(p->f->text, text, n);
    p->f->text[n] = 0;
    p->f->size = n;
    p->m = m;
    p->e = e;
    p->at = p->f->text;
    p->end = p->at + n;
    p->line = 1;
    if (setjmp(p->fail)) {
        orr_module *failed = p->m;
        free_parser(p);
        free_module(failed);
        return NULL;
    }
    ptx_next(p);
    while (p->t.kind != T_EOF) {
        if (ptx_accept(p, ';')) continue;
        if (p->t.kind != T_DOT) ptx_unexpected(p, "a directive");
        directive(p);
    }
    if (!p->m->version) ptx_error(p, 1, "this is not PTX: it has no .version");
    settle(p);
    m = p->m;
    m->vars = copy(&m->arena, p->vars.at, p->vars.n * sizeof *p->vars.at);
    m->nvars = (uint32_t)p->vars.n;
    m->kernel_names = copy(&m->arena, p->kernel_names.at, p->kernel_names.n * sizeof *p->kernel_names.at);
    m->nkernels = (uint32_t)p->kernel_names.n;
    m->files = copy(&m->arena, p->files.at, p->files.n * sizeof *p->files.at);
    m->nfiles = (uint32_t)p->files.n;
    free_parser(p);
    return m;
}

orr_module *orr_ptx_open(const char *path, orr_err *e) {
    size_t n;
    char *text = orr_read_file(path, MAX_TEXT, &n, e);
    if (!text) return NULL;
    orr_module *m = orr_ptx_parse(path, text, n, e);
    free(text);
    return m;
}

// Reads one more function into a module; it is no part of its text.
static ptx_func *add_function(ptx_parser *p, const char *name, const char *text) {
    ptx_front *f = p->f;
    if (setjmp(p->fail)) return NULL;
    p->at = text;
    p->end = text + strlen(text);
    ptx_next(p);
    directive(p);
    f->items.n--;
    f->funcs.n--;
    return ptx_global_named(f, name, strlen(name), false)->func;
}

void orr_ptx_long_ways(orr_module *m) {
    if (m->load != ptx_load) return; // machine code
    ptx_front *f = m->front;
    for (uint32_t k = 0; k < PTX_LONG_WAYS; k++) {
        const char *name, *text = ptx_long_text(f, k, &name);
        if (!text || ptx_global_named(f, name, strlen(name), false)) continue;
        orr_err e = {0};
        ptx_parser *p = orr_calloc(1, sizeof *p);
        p->m = m;
        p->f = f;
        p->e = &e;
        f->long_ways[k] = add_function(p, name, text);
        if (f->long_ways[k]) f->long_ways[k]->aside = true;
        free_parser(p);
    }
}
