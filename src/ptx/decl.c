// Declarations: registers, variables in every space, parameters, initialisers.
#include <stdlib.h>
#include <string.h>

#include "ptx/ast.h"

// ---- what stands before a name ------------------------------------------------------------------
typedef struct decl {
    uint8_t type;
    uint8_t vec; // elements of a vector type, else 1
    bool typed, pointer;
    uint8_t opaque; // OPAQUE_*
    uint32_t align; // 0: not stated
    uint32_t ptr_align;
    ptx_slice ptr_space, attribute;
} decl;

bool ptx_is_space(const ptx_parser *p) {
    static const char *const spaces[] = {"global", "const", "shared", "local", "param", "tex"};
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (ptx_is_dot(p, spaces[i])) return true;
    return false;
}

void ptx_skip_parens(ptx_parser *p) { // the current token is the opening one
    uint32_t open = 0, line = p->t.line;
    do {
        if (p->t.kind == T_EOF) ptx_error(p, line, "this parenthesis is never closed");
        if (ptx_is(p, '(')) open++;
        if (ptx_is(p, ')')) open--;
        ptx_next(p);
    } while (open);
}

static uint32_t alignment(ptx_parser *p) {
    uint32_t line = p->t.line;
    uint32_t a = (uint32_t)ptx_integer(p, 1u << 20, "an alignment");
    if (a == 0 || (a & (a - 1))) ptx_error(p, line, "an alignment must be a power of two");
    return a;
}

// .attribute(...) .align N .v4 .f32 .ptr .global .align N, in whatever order.
static decl prefix(ptx_parser *p) {
    decl d = {.vec = 1};
    while (p->t.kind == T_DOT) {
        token t = p->t;
        if (ptx_is_dot(p, "attribute")) {
            ptx_next(p);
            if (!ptx_is(p, '(')) ptx_unexpected(p, "'('");
            ptx_skip_parens(p);
            d.attribute = ptx_since(p, ptx_start(&t));
        } else if (ptx_is_dot(p, "align")) {
            ptx_next(p);
            uint32_t a = alignment(p);
            if (d.pointer) // the alignment of what it points to
                d.ptr_align = a;
            else
                d.align = a;
        } else if (ptx_is_dot(p, "v2") || ptx_is_dot(p, "v4") || ptx_is_dot(p, "v8")) {
            d.vec = (uint8_t)(t.s[1] - '0');
            ptx_next(p);
        } else if (ptx_is_dot(p, "ptr")) {
            d.pointer = true;
            ptx_next(p);
            if (ptx_is_space(p)) {
                d.ptr_space = (ptx_slice){p->t.s - 1, p->t.n + 1};
                ptx_next(p);
            }
        } else if (ptx_is_dot(p, "texref") || ptx_is_dot(p, "samplerref") || ptx_is_dot(p, "surfref")) {
            d.opaque = t.s[0] == 't' ? OPAQUE_TEXREF : t.s[1] == 'a' ? OPAQUE_SAMPLERREF : OPAQUE_SURFREF;
            if (!d.typed) d.type = ORR_T_B64;
            d.typed = true;
            ptx_next(p);
        } else if (!d.typed && ptx_type_of(t.s, t.n, &d.type)) {
            d.typed = true;
            ptx_next(p);
        } else {
            ptx_unexpected(p, "a type");
        }
    }
    if (!d.typed) ptx_unexpected(p, "a type");
    return d;
}

// ---- arrays and initialisers --------------------------------------------------------------------
enum { MAX_DIMS = 16 };
typedef struct shape {
    uint32_t n;                    // dimensions
    uint64_t stride[MAX_DIMS + 1]; // bytes that one step in each dimension covers
    uint64_t bytes;                // of the whole, 0 when unsized
    bool unsized;                  // the first dimension is []
    bool array;
} shape;

static shape dimensions(ptx_parser *p, const decl *d) {
    shape s = {0};
    uint64_t len[MAX_DIMS + 1];
    uint32_t line = p->t.line;
    while (ptx_accept(p, '[')) {
        if (s.n == MAX_DIMS) ptx_error(p, line, "more than %d dimensions", MAX_DIMS);
        if (ptx_is(p, ']')) {
            if (s.n) ptx_error(p, line, "only the first dimension may be left open");
            s.unsized = true;
            len[s.n++] = 0;
        } else {
            len[s.n++] = ptx_integer(p, MAX_VAR_BYTES, "an array's size");
        }
        ptx_expect(p, ']');
    }
    s.array = s.n > 0;
    if (d->vec > 1) len[s.n++] = d->vec; // a vector's elements are the innermost dimension
    s.bytes = ptx_type_bytes(d->type);
    for (uint32_t i = s.n; i-- > 0;) {
        s.stride[i] = s.bytes;
        if (len[i] && s.bytes > MAX_VAR_BYTES / len[i]) ptx_error(p, line, "this array is larger than 4 GiB");
        s.bytes *= len[i];
    }
    return s;
}

static void put_bytes(ptx_parser *p, uint64_t offset, const void *bytes, size_t n) {
    if (p->initial.total + offset + n > MAX_INIT_BYTES + 8 * p->f->size)
        ptx_error(p, p->t.line, "initialisers are too long");
    if (offset + n > p->initial.cap) {
        size_t cap = p->initial.cap ? p->initial.cap : 64;
        while (cap < offset + n) cap *= 2;
        p->initial.bytes = orr_realloc(p->initial.bytes, cap);
        memset(p->initial.bytes + p->initial.cap, 0, cap - p->initial.cap);
        p->initial.cap = cap;
    }
    memcpy(p->initial.bytes + offset, bytes, n);
    if (offset + n > p->initial.n) p->initial.n = offset + n;
}

// A symbol: name, name+8, generic(name)+8; behind a mask: 0xff(name).
static void symbol(ptx_parser *p, uint32_t var, uint64_t offset, uint8_t bytes, bool masked, uint64_t mask) {
    uint32_t line = p->t.line;
    bool parens = false;
    token name = ptx_expect_name(p, "a name");
    if (name.n == 7 && memcmp(name.s, "generic", 7) == 0 && ptx_accept(p, '(')) {
        parens = true;
        name = ptx_expect_name(p, "a variable's name");
    }
    uint64_t addend = (uint64_t)ptx_offset(p);
    if (parens) {
        ptx_expect(p, ')');
        addend += (uint64_t)ptx_offset(p);
    }
    *ORR_PUSH(&p->f->init_refs) = (ptx_init_ref){.var = var,
                                                 .line = line,
                                                 .offset = offset,
                                                 .bytes = bytes,
                                                 .masked = masked,
                                                 .generic = parens,
                                                 .mask = mask,
                                                 .name = name.s,
                                                 .name_n = name.n,
                                                 .addend = (int64_t)addend};
    put_bytes(p, offset, (uint8_t[16]){0}, bytes);
}

static void scalar(ptx_parser *p, uint32_t var, uint8_t type, uint64_t offset) {
    uint32_t bytes = ptx_type_bytes(type), line = p->t.line;
    if (p->t.kind == T_NAME && !ptx_is_name(p, "WARP_SZ")) {
        symbol(p, var, offset, (uint8_t)bytes, false, 0);
        return;
    }
    ptx_value v = ptx_expression(p);
    if (ptx_is(p, '(') && v.kind == O_INT) { // the mask operator
        ptx_next(p);
        symbol(p, var, offset, (uint8_t)bytes, true, v.bits);
        ptx_expect(p, ')');
        return;
    }
    uint8_t buf[16] = {0};
    if (type == ORR_T_F64) {
        double d = ptx_value_double(v);
        memcpy(buf, &d, 8);
    } else if (type == ORR_T_F32) {
        float f = (float)ptx_value_double(v);
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if (v.kind == O_F32) bits = (uint32_t)v.bits; // a NaN keeps its bits
        memcpy(buf, &bits, 4);
    } else if (v.kind == O_F64 && bytes == 4) {
        float f = (float)ptx_value_double(v);
        memcpy(buf, &f, 4);
    } else if (v.kind != O_INT && bytes < 4) {
        ptx_error(p, line, "a floating-point constant needs 32 or 64 bits");
    } else {
        memcpy(buf, &v.bits, bytes < 8 ? bytes : 8);
        if (bytes == 16 && v.kind == O_INT && !v.is_unsigned && v.bits >> 63) memset(buf + 8, 0xff, 8);
    }
    put_bytes(p, offset, buf, bytes);
}

static void braces(ptx_parser *p, uint32_t var, uint8_t type, const shape *s, uint32_t dim, uint64_t base) {
    uint64_t at = base, bytes = ptx_type_bytes(type);
    bool open = dim == 0 && s->unsized;
    uint64_t limit = dim == 0 ? s->bytes : base + s->stride[dim - 1];
    ptx_enter(p);
    ptx_expect(p, '{');
    while (!ptx_is(p, '}')) {
        uint32_t line = p->t.line;
        if (p->t.kind == T_STRING) {
            if (bytes != 1) ptx_error(p, line, "a string for elements that are not bytes");
            if (!open && at + p->t.n > limit) ptx_error(p, line, "more values than the array holds");
            put_bytes(p, at, p->t.s, p->t.n);
            at += p->t.n;
            ptx_next(p);
        } else if (ptx_is(p, '{')) {
            if (dim >= s->n) ptx_error(p, line, "more braces than the array has dimensions");
            uint64_t step = s->stride[dim];
            at = base + (at - base + step - 1) / (step ? step : 1) * step;
            if (!open && at + step > limit) ptx_error(p, line, "more values than the array holds");
            braces(p, var, type, s, dim + 1, at);
            at += step;
        } else {
            if (!open && at + bytes > limit) ptx_error(p, line, "more values than the array holds");
            scalar(p, var, type, at);
            at += bytes;
        }
        if (!ptx_accept(p, ',')) break;
    }
    ptx_expect(p, '}');
    p->depth--;
}

static void skip_braces(ptx_parser *p) {
    uint32_t open = 0, line = p->t.line;
    do {
        if (p->t.kind == T_EOF) ptx_error(p, line, "this brace is never closed");
        if (ptx_is(p, '{')) open++;
        if (ptx_is(p, '}')) open--;
        ptx_next(p);
    } while (open);
}

// ---- variables ----------------------------------------------------------------------------------
ptx_global *ptx_global_named(ptx_front *f, const char *name, size_t n, bool make) {
    ptx_global *g = orr_map_getn(&f->globals, name, n);
    if (!g && make) {
        g = orr_arena_alloc(&f->globals.keys, sizeof *g);
        orr_map_putn(&f->globals, name, n, g);
    }
    return g;
}

uint64_t ptx_place(ptx_parser *p, uint64_t bytes, uint32_t align) {
    // Scopes that are closed have given their place back, but a loop may run them again: what the scope
    // around them declares later must not lie there.
    uint64_t from = p->scopes[p->scope].high > p->frame ? p->scopes[p->scope].high : p->frame;
    uint64_t at = (from + align - 1) & ~(uint64_t)(align - 1);
    p->frame = at + bytes;
    if (align > p->fn->frame_align) p->fn->frame_align = align;
    if (p->frame > p->fn->frame) p->fn->frame = p->frame;
    return at;
}

static void module_variable(ptx_parser *p, ptx_var *v, const shape *s) {
    // A declaration (.extern) may come before the definition, also more than once.
    ptx_global *g = ptx_global_named(p->f, v->name, strlen(v->name), true);
    if (g->func) ptx_error(p, v->line, "'%.200s' is a function already", v->name);
    if (g->var && g->var->where == v->where && (g->var->external || v->external)) {
        ptx_var *old = g->var;
        v->index = old->index;
        if (!old->external && v->external && !ptx_is(p, '=')) return;
        *old = *v;
        v = old;
    } else if (g->var) {
        ptx_error(p, v->line, "'%.200s' is declared twice", v->name);
    } else {
        if (v->where == V_GLOBAL || v->where == V_CONST) {
            v->index = (uint32_t)p->vars.n;
            *ORR_PUSH(&p->vars) = (orr_var){0};
        }
        g->var = v;
        *ORR_PUSH(&p->f->items) = (ptx_note){.kind = N_VAR, .var = v};
    }
    if (v->where == V_OPAQUE) {
        if (ptx_accept(p, '=')) {
            const char *from = ptx_start(&p->t);
            if (ptx_is(p, '{'))
                skip_braces(p);
            else
                ptx_next(p);
            v->opaque_init = ptx_since(p, from);
        }
        return;
    }
    if (v->where != V_GLOBAL && v->where != V_CONST) {
        if (ptx_is(p, '=')) ptx_error(p, v->line, "only .global and .const variables can be initialised");
        return;
    }
    p->initial.bytes = NULL;
    p->initial.cap = p->initial.n = 0;
    if (ptx_accept(p, '=')) {
        if (ptx_is(p, '{'))
            braces(p, v->index, v->type, s, 0, 0);
        else
            scalar(p, v->index, v->type, 0);
        v->external = false;
    }
    if (v->unsized) v->bytes = (p->initial.n + v->elem - 1) / v->elem * v->elem;
    orr_var *var = &p->vars.at[v->index];
    uint8_t *init = NULL;
    if (p->initial.n) {
        init = orr_arena_alloc(&p->m->arena, p->initial.n);
        memcpy(init, p->initial.bytes, p->initial.n);
    }
    *var = (orr_var){.name = v->name,
                     .space = v->where == V_CONST ? ORR_SPACE_CONST : ORR_SPACE_GLOBAL,
                     .align = v->align,
                     .bytes = v->bytes,
                     .init = init,
                     .init_bytes = p->initial.n,
                     .external = v->external};
    p->initial.total += p->initial.n;
    free(p->initial.bytes);
    p->initial.bytes = NULL;
}

static ptx_var *new_variable(ptx_parser *p, token name, const decl *d, const shape *s) {
    ptx_var *v = orr_arena_alloc(&p->m->arena, sizeof *v);
    v->name = orr_arena_strndup(&p->m->arena, name.s, name.n);
    v->line = name.line;
    v->type = d->type;
    v->pointer = d->pointer;
    v->elem = ptx_type_bytes(d->type) * d->vec;
    if (v->elem == 0) ptx_error(p, name.line, "a predicate cannot be in memory");
    v->align = d->align ? d->align : v->elem;
    v->unsized = s->unsized;
    v->bytes = s->bytes;
    v->array = s->array;
    v->opaque = d->opaque;
    v->ptr_align = d->ptr_align;
    v->ptr_space = d->ptr_space;
    v->attribute = d->attribute;
    return v;
}

ptx_note *ptx_note_here(ptx_parser *p, uint8_t kind) {
    ptx_note *n = ORR_PUSH(&p->f->notes);
    n->kind = kind;
    n->stmt = (uint32_t)p->f->stmts.n - p->fn->first;
    return n;
}

void ptx_variables(ptx_parser *p, uint8_t linkage) {
    bool external = linkage & LINK_EXTERN;
    uint8_t where = ptx_is_dot(p, "global")   ? V_GLOBAL
                    : ptx_is_dot(p, "const")  ? V_CONST
                    : ptx_is_dot(p, "shared") ? V_SHARED
                    : ptx_is_dot(p, "tex")    ? V_OPAQUE
                                              : V_FRAME;
    uint8_t bank = 0;
    bool call = ptx_is_dot(p, "param");
    ptx_next(p);
    if (where == V_CONST && ptx_accept(p, '[')) { // constant banks of old
        bank = (uint8_t)(ptx_integer(p, 10, "a constant bank") + 1);
        ptx_expect(p, ']');
    }
    decl d = prefix(p);
    do {
        token name = ptx_expect_name(p, "a variable's name");
        shape s = dimensions(p, &d);
        ptx_var *v = new_variable(p, name, &d, &s);
        v->where = d.opaque ? V_OPAQUE : where;
        v->external = external;
        v->linkage = linkage;
        v->bank = bank;
        v->call = call;
        if (where == V_OPAQUE && !v->opaque) v->opaque = OPAQUE_TEX;
        if (v->where == V_SHARED && (external || s.unsized)) v->where = V_DYNAMIC;
        if (v->where == V_FRAME && s.unsized) ptx_error(p, name.line, "'%.200s' has no size", v->name);
        if (!p->fn) {
            if (v->where == V_FRAME)
                ptx_error(p, name.line, ".local and .param variables belong in functions");
            module_variable(p, v, &s);
            continue;
        }
        ptx_declare(p, name, O_VAR)->var = v;
        ptx_note_here(p, N_VAR)->var = v;
        p->scopes[p->scope].declares = true;
        if (v->where == V_FRAME) {
            v->offset = ptx_place(p, v->bytes, v->align);
        } else if (v->where == V_GLOBAL || v->where == V_CONST) {
            v->index = (uint32_t)p->vars.n;
            *ORR_PUSH(&p->vars) = (orr_var){.name = v->name,
                                            .space = where == V_CONST ? ORR_SPACE_CONST : ORR_SPACE_GLOBAL,
                                            .align = v->align,
                                            .bytes = v->bytes};
        }
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}

void ptx_registers(ptx_parser *p) { // behind .reg
    decl d = prefix(p);
    do {
        token name = ptx_expect_name(p, "a register's name");
        if (ptx_is(p, '<')) {
            uint32_t n = ptx_count(p, MAX_RANGE, "the number of registers");
            if (d.vec > 1) ptx_error(p, name.line, "a range of vector registers");
            ptx_declare_range(p, name, d.type, n);
        } else {
            ptx_entry *e = ptx_declare(p, name, O_REG);
            e->type = d.type;
            e->count = d.vec;
            e->value = ptx_new_registers(p, d.type, d.vec, REG_SINGLE);
            ptx_note *note = ptx_note_here(p, N_REG);
            note->first = (uint32_t)e->value;
            note->n = d.vec;
        }
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}

// A parameter or result in a function's header, or in a .callprototype.
ptx_var *ptx_parameter(ptx_parser *p, bool kernel) {
    bool reg = ptx_is_dot(p, "reg");
    if (!reg && !ptx_is_dot(p, "param")) ptx_unexpected(p, "'.param' or '.reg'");
    if (reg && kernel) ptx_error(p, p->t.line, "a kernel's parameters are .param");
    ptx_next(p);
    decl d = prefix(p);
    token name = ptx_expect_name(p, "a parameter's name");
    if (reg && d.type == ORR_T_PRED) ptx_error(p, name.line, "a predicate cannot be a parameter");
    shape s = dimensions(p, &d);
    ptx_var *v = new_variable(p, name, &d, &s);
    v->where = reg ? V_REG : kernel ? V_PARAM : V_FRAME;
    return v;
}

// ---- symbols in initialisers --------------------------------------------------------------------
// `taken` marks functions first, so that handles can be numbered; then the relocations are made. A
// packed address, written byte by byte as 0xff(x), 0xff00(x), ..., becomes one relocation.
void ptx_resolve_inits(ptx_parser *p) {
    size_t n = p->f->init_refs.n;
    uint32_t *count = orr_calloc(p->vars.n ? p->vars.n : 1, sizeof *count);
    for (size_t i = 0; i < n; i++) count[p->f->init_refs.at[i].var]++;
    for (size_t i = 0; i < p->vars.n; i++)
        p->vars.at[i].relocs = count[i] ? orr_arena_alloc(&p->m->arena, count[i] * sizeof(orr_reloc)) : NULL;
    free(count);
    for (size_t i = 0; i < n; i++) {
        ptx_init_ref *r = &p->f->init_refs.at[i];
        size_t name_n = r->name_n > 200 ? 200 : r->name_n;
        ptx_global *g = ptx_global_named(p->f, r->name, r->name_n, false);
        if (!g) ptx_error(p, r->line, "nothing is called '%.*s'", (int)name_n, r->name);
        uint8_t bytes = r->bytes;
        if (r->masked) { // the bytes of one address, lowest first
            size_t k = 0;
            while (k < 8 && i + k < n) {
                ptx_init_ref *b = &p->f->init_refs.at[i + k];
                if (!b->masked || b->bytes != 1 || b->mask != 0xffull << (8 * k) || b->var != r->var ||
                    b->offset != r->offset + k || b->addend != r->addend || b->name_n != r->name_n ||
                    memcmp(b->name, r->name, r->name_n) != 0)
                    break;
                k++;
            }
            if (k == 0)
                ptx_error(p, r->line,
                          "bytes of an address must be written lowest first, 0xff(%.*s), 0xff00(%.*s), ...",
                          (int)name_n, r->name, (int)name_n, r->name);
            bytes = (uint8_t)k;
            i += k - 1;
        } else if (bytes < 4) {
            ptx_error(p, r->line, "the address of '%.*s' does not fit in %u bytes", (int)name_n, r->name,
                      bytes);
        }
        if (bytes > 8) bytes = 8;
        orr_var *v = &p->vars.at[r->var];
        orr_reloc *out = &v->relocs[v->nrelocs++];
        *out = (orr_reloc){.offset = (uint32_t)r->offset, .bytes = bytes, .generic = true, .var = -1};
        if (g->func) {
            ptx_func *fn = ptx_func_real(p->f, g->func);
            out->value = ORR_FUNC_HANDLE(fn->handle) + (uint64_t)r->addend;
        } else if (g->var->where == V_GLOBAL || g->var->where == V_CONST) {
            out->var = (int32_t)g->var->index;
            out->value = (uint64_t)r->addend;
        } else {
            ptx_error(p, r->line, "'%.*s' has no address that an initialiser can hold", (int)name_n, r->name);
        }
    }
}
