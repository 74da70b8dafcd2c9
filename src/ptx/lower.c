// Loading a kernel: which functions it reaches, where its variables are, and each function's
// statements one after another.
//
// Function handles. Taking a function's address yields ORR_FUNC_HANDLE(n), where n counts the
// module's functions whose address is taken anywhere, initialisers too, from 1. A kernel that calls
// through a pointer holds all of them, as funcs[1..]: the handle is then the index in funcs.
#include <stdlib.h>
#include <string.h>

#include "ptx/longways.h"

// ---- what the kernel reaches --------------------------------------------------------------------
const orr_syscall *ptx_provided(const ptx_func *fn) {
    const orr_syscall *sys = orr_syscall_named(fn->name);
    return sys && (!fn->defined || orr_syscall_linked(sys)) ? sys : NULL;
}

static void reach(lowering *l, ptx_func *fn) {
    fn = ptx_func_real(l->f, fn);
    if (!fn->defined || fn->entry || fn->reached.stamp == l->f->stamp || ptx_provided(fn)) return;
    if (l->order.n == MAX_FUNCTIONS) {
        orr_fail(l->e, ORR_BAD_INPUT, "%.200s:%u: the kernel reaches more than %d functions", l->m->path,
                 fn->line, MAX_FUNCTIONS);
        longjmp(l->fail, 1);
    }
    fn->reached.stamp = l->f->stamp;
    fn->reached.index = (uint32_t)l->order.n;
    *ORR_PUSH(&l->order) = fn;
}

static void refer(lowering *l, ptx_var *v) { // a variable in shared memory needs a place
    if (v->where == V_DYNAMIC) {
        l->dynamic = true;
        if (v->align > l->dynamic_align) l->dynamic_align = v->align;
    }
    if (v->where != V_SHARED || v->stamp == l->f->stamp) return;
    v->stamp = l->f->stamp;
    uint64_t at = ((uint64_t)l->shared + v->align - 1) & ~(uint64_t)(v->align - 1);
    if (v->bytes > MAX_SHARED_BYTES || at + v->bytes > MAX_SHARED_BYTES) {
        orr_fail(l->e, ORR_BAD_INPUT,
                 "%.200s:%u: '%.200s' makes more shared memory than a thread block can have", l->m->path,
                 v->line, v->name);
        longjmp(l->fail, 1);
    }
    v->offset = at;
    l->shared = (uint32_t)(at + v->bytes);
}

static bool is_call(const ptx_stmt *s) {
    const char *t = s->op->text;
    return memcmp(t, "call", 4) == 0 && (t[4] == 0 || t[4] == '.');
}

static void collect(lowering *l, ptx_func *entry, bool pointers) {
    l->f->stamp++;
    l->order.n = 0;
    l->shared = 0;
    l->dynamic = l->indirect = false;
    l->dynamic_align = 16;
    entry->reached.stamp = l->f->stamp;
    entry->reached.index = 0;
    *ORR_PUSH(&l->order) = entry;
    for (size_t i = 0; pointers && i < l->f->taken.n; i++) reach(l, l->f->taken.at[i]);
    for (size_t i = 0; i < l->order.n; i++) {
        ptx_func *fn = l->order.at[i];
        for (uint32_t k = 0; k < fn->operands.n; k++) {
            ptx_opd *o = &l->f->opds.at[fn->operands.first + k];
            if (o->kind == O_VAR) refer(l, o->var);
        }
        for (uint32_t k = 0; k < fn->n; k++) {
            const ptx_stmt *s = &l->f->stmts.at[fn->first + k];
            uint32_t way;
            ptx_func *aside = ptx_long_way(l->f, s, &way);
            if (aside) reach(l, aside);
            if (!is_call(s)) continue;
            const ptx_opd *o = &l->f->opds.at[s->first];
            uint32_t n = s->n;
            while (n && o->kind == O_LIST) o++, n--;
            if (n && o->kind == O_FUNC) reach(l, o->func);
            if (n && o->kind == O_REG) l->indirect = true;
        }
    }
}

// ---- one function -------------------------------------------------------------------------------
static void set_statement(lowering *l, const ptx_stmt *s) {
    l->s = s;
    l->op = s->op;
    l->o = s->n ? &l->f->opds.at[s->first] : NULL;
    l->n = s->n;
    if (s->file != l->loc_number) {
        char number[24];
        snprintf(number, sizeof number, "%u", s->file);
        l->file = (uint32_t)(uintptr_t)orr_map_get(&l->f->files, number);
        l->loc_number = s->file;
    }
}

static void statement(lowering *l) {
    if (!l->op->row) ptx_opcode_decode(l->m, l->op);
    if (l->op->problem) ptx_unsupported(l, "%s", l->op->problem);
    if (l->op->hint && l->n) l->n--; // the cache policy
    l->in.ndst = l->in.nsrc = 0;
    if (l->op->row->lower)
        l->op->row->lower(l);
    else
        ptx_by_form(l);
}

static bool falls_through(const lowering *l, size_t first) {
    if (l->insts.n == first) return true;
    const orr_inst *last = &l->insts.at[l->insts.n - 1];
    bool leaves = last->op == ORR_OP_BRA || last->op == ORR_OP_BRX || last->op == ORR_OP_RET ||
                  last->op == ORR_OP_EXIT || last->op == ORR_OP_TRAP;
    return !leaves || last->guard >= 0;
}

static orr_param *params(lowering *l, ptx_var **list, uint32_t n) {
    orr_param *out = orr_arena_alloc(&l->k->arena, (n + 1) * sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        const ptx_var *v = list[i];
        bool integer64 =
            v->bytes == 8 && (v->type == ORR_T_U64 || v->type == ORR_T_S64 || v->type == ORR_T_B64);
        out[i] = (orr_param){.name = orr_arena_strdup(&l->k->arena, v->name),
                             .type = v->type,
                             .align = (uint8_t)(v->align > 128 ? 128 : v->align),
                             .pointer = v->pointer || integer64,
                             .offset = (uint32_t)v->offset,
                             .bytes = (uint32_t)v->bytes};
    }
    return out;
}

static uint64_t layout_hash(const ptx_func *fn) {
    uint64_t h = orr_hash64(&fn->nparams, sizeof fn->nparams, fn->nresults);
    for (uint32_t i = 0; i < fn->nparams; i++) h = orr_hash64(&fn->params[i]->bytes, 8, h);
    for (uint32_t i = 0; i < fn->nresults; i++) h = orr_hash64(&fn->results[i]->bytes, 8, h);
    return h;
}

// Branches back to where .pragma "nounroll" stands.
static void mark_loops(lowering *l, const ptx_func *fn) {
    for (uint32_t n = 0; n < fn->notes.n; n++) {
        const ptx_note *note = &l->f->notes.at[fn->notes.first + n];
        if (note->kind != N_PRAGMA || !memmem(note->text.s, note->text.n, "nounroll", 8)) continue;
        for (size_t i = 0; i < l->fixups.n; i++)
            if (!l->fixups.at[i].table && l->fixups.at[i].stmt == note->stmt && note->stmt < fn->n &&
                l->fixups.at[i].at > l->start[note->stmt])
                l->insts.at[l->fixups.at[i].at].mods |= ORR_M_NOUNROLL;
    }
}

static void function(lowering *l, ptx_func *fn, orr_func *out) {
    l->fn = fn;
    size_t first = l->insts.n;
    free(l->reg);
    free(l->start);
    l->reg = NULL;
    l->start = NULL;
    l->reg = orr_malloc((fn->nregs + 1) * sizeof *l->reg);
    l->start = orr_malloc((fn->n + 1) * sizeof *l->start);
    memset(l->nregs, 0, sizeof l->nregs);
    for (uint32_t i = 0; i < fn->nregs; i++) l->reg[i] = l->nregs[ptx_type_class(fn->reg_type[i])]++;
    uint64_t declared = l->frame = fn->frame;
    l->fixups.n = 0;
    l->loc_number = l->file = 0;

    ptx_opcode end_op = {.text = fn->entry ? "exit" : "ret"};
    ptx_stmt end = {.op = &end_op, .guard = -1, .line = fn->line};
    if (fn->n) end.line = l->f->stmts.at[fn->first + fn->n - 1].line;
    set_statement(l, &end);
    l->s = &end;
    ptx_enter_function(l);
    for (uint32_t i = 0; i < fn->n; i++) {
        l->start[i] = (uint32_t)l->insts.n;
        const ptx_stmt *s = &l->f->stmts.at[fn->first + i];
        set_statement(l, s);
        statement(l);
        uint32_t way;
        const ptx_func *aside = ptx_long_way(l->f, s, &way);
        if (aside) ptx_l_long_way(l, aside, way, i + 1);
    }
    for (size_t i = first; fn->aside && i < l->insts.n; i++) l->insts.at[i].mods |= ORR_M_ASIDE;
    l->start[fn->n] = (uint32_t)l->insts.n;
    bool end_used = falls_through(l, first);
    for (size_t i = 0; i < l->fixups.n; i++) end_used |= l->fixups.at[i].stmt == fn->n;
    if (end_used) {
        set_statement(l, &end);
        ptx_opcode_decode(l->m, &end_op);
        statement(l);
    }
    for (size_t i = 0; i < l->fixups.n; i++) {
        const ptx_fixup *x = &l->fixups.at[i];
        if (x->table)
            l->tables.at[x->at] = l->start[x->stmt];
        else
            l->insts.at[x->at].target = (int32_t)l->start[x->stmt];
    }
    mark_loops(l, fn);
    if (!fn->starts) { // the same in every kernel that reaches it
        fn->starts = orr_arena_alloc(&l->m->arena, (fn->n + 1) * sizeof *fn->starts);
        for (uint32_t i = 0; i <= fn->n; i++) fn->starts[i] = l->start[i] - (uint32_t)first;
    }
    if (fn->frame > MAX_LOCAL_BYTES) {
        orr_fail(l->e, ORR_BAD_INPUT,
                 "%.200s:%u: '%.200s' needs %llu bytes of local memory per thread; %d are the most",
                 l->m->path, fn->line, fn->name, (unsigned long long)fn->frame, MAX_LOCAL_BYTES);
        longjmp(l->fail, 1);
    }
    *out = (orr_func){.name = orr_arena_strdup(&l->k->arena, fn->name),
                      .first_inst = (uint32_t)first,
                      .ninsts = (uint32_t)(l->insts.n - first),
                      .local_bytes =
                          (uint32_t)((fn->frame + l->frame_align - 1) & ~(uint64_t)(l->frame_align - 1))};
    memcpy(out->nregs, l->nregs, sizeof out->nregs);
    out->params = params(l, fn->params, fn->nparams);
    out->nparams = fn->nparams;
    out->results = params(l, fn->results, fn->nresults);
    out->nresults = fn->nresults;
    out->proto = layout_hash(fn);
    fn->frame = declared; // what calls have added is this kernel's
}

// ---- the kernel ---------------------------------------------------------------------------------
static void *copy(orr_arena *a, const void *at, size_t n, size_t size) {
    void *out = orr_arena_alloc(a, n ? n * size : 1);
    if (n) memcpy(out, at, n * size);
    return out;
}

static void lower_kernel(lowering *l, ptx_func *entry) {
    orr_kernel *k = l->k;
    memcpy(k->bounds.cluster, entry->bounds.cluster, sizeof k->bounds.cluster);
    collect(l, entry, false);
    if (l->indirect) collect(l, entry, true);
    k->shared_bytes = l->shared;
    if (l->dynamic) k->shared_bytes = (l->shared + l->dynamic_align - 1) & ~(l->dynamic_align - 1);
    l->shared = k->shared_bytes; // where dynamic shared memory starts
    k->funcs = orr_arena_alloc(&k->arena, l->order.n * sizeof *k->funcs);
    k->nfuncs = (uint32_t)l->order.n;
    l->frame_align = 16; // of every frame, so that each starts where its variables are aligned
    for (size_t i = 0; i < l->order.n; i++)
        if (l->order.at[i]->frame_align > l->frame_align) l->frame_align = l->order.at[i]->frame_align;
    if (l->frame_align > 4096) l->frame_align = 4096;
    for (size_t i = 0; i < l->order.n; i++) function(l, l->order.at[i], &k->funcs[i]);
    k->insts = copy(&k->arena, l->insts.at, l->insts.n, sizeof *l->insts.at);
    k->ninsts = (uint32_t)l->insts.n;
    k->operands = copy(&k->arena, l->operands.at, l->operands.n, sizeof *l->operands.at);
    k->noperands = (uint32_t)l->operands.n;
    k->tables = copy(&k->arena, l->tables.at, l->tables.n, sizeof *l->tables.at);
    k->ntables = (uint32_t)l->tables.n;
    k->params = k->funcs[0].params;
    k->nparams = k->funcs[0].nparams;
    k->param_bytes = (uint32_t)entry->param_bytes;
    memcpy(k->bounds.maxntid, entry->bounds.maxntid, sizeof k->bounds.maxntid);
    memcpy(k->bounds.reqntid, entry->bounds.reqntid, sizeof k->bounds.reqntid);
    k->bounds.minctapersm = entry->bounds.minctapersm;
    k->bounds.maxnreg = entry->bounds.maxnreg;
    if (!orr_kernel_finish(k, l->e)) longjmp(l->fail, 1);
}

static void free_lowering(lowering *l) {
    free(l->order.at);
    free(l->insts.at);
    free(l->operands.at);
    free(l->tables.at);
    free(l->fixups.at);
    free(l->reg);
    free(l->start);
    free(l);
}

orr_kernel *ptx_load(orr_module *m, const char *name, orr_err *e) {
    ptx_front *f = m->front;
    orr_kernel *k = orr_map_get(&f->kernels, name);
    if (k) return k;
    ptx_global *g = ptx_global_named(f, name, strlen(name), false);
    const char *meant = g ? NULL : orr_module_kernel_meant(m, name);
    if (meant) return ptx_load(m, meant, e);
    if (!g || !g->func || !g->func->entry || !g->func->defined) {
        orr_text names = {0};
        for (uint32_t i = 0; i < m->nkernels && names.n < 300; i++)
            orr_text_add(&names, "%s%.200s", i ? ", " : "", m->kernel_names[i]);
        orr_fail(e, ORR_BAD_INPUT, "%.200s: there is no kernel '%.200s'; it has %s", m->path, name,
                 names.n ? names.s : "none");
        free(names.s);
        return NULL;
    }
    orr_arena arena = {0};
    k = orr_arena_alloc(&arena, sizeof *k);
    k->arena = arena;
    k->module = m;
    k->name = g->func->name;
    lowering *l = orr_calloc(1, sizeof *l);
    l->m = m;
    l->f = f;
    l->e = e;
    l->k = k;
    if (setjmp(l->fail)) {
        orr_arena failed = l->k->arena;
        free_lowering(l);
        orr_arena_free(&failed);
        return NULL;
    }
    lower_kernel(l, g->func);
    k = l->k;
    orr_map_put(&f->kernels, name, k);
    free_lowering(l);
    return k;
}

// The functions a loaded kernel is made of, by their number in it, its shared variables where it has them.
ptx_func **ptx_reach(orr_module *m, const char *name, orr_arena *a) {
    ptx_front *f = m->front;
    const ptx_global *g = orr_map_get(&f->globals, name);
    if (!g || !g->func) return NULL;
    orr_err e = {0};
    lowering *l = orr_calloc(1, sizeof *l);
    l->m = m;
    l->f = f;
    l->e = &e;
    ptx_func **order = NULL;
    if (!setjmp(l->fail)) {
        collect(l, g->func, false);
        if (l->indirect) collect(l, g->func, true);
        order = copy(a, l->order.at, l->order.n, sizeof *order);
    }
    free_lowering(l);
    return order;
}
