// A parsed module as PTX text again.
//
// What the parser resolved gets a name of its own here, so that no scope is needed to tell two apart:
// a register is named after its type and number, a label, a table and a prototype after their numbers.
// Variables and functions keep their names, and the scopes that declare variables their braces, because
// that is how call sites share the frame. Registers that came out of a range are numbered by the parser
// when they are first used, so a range for each type gives them the same numbers again; the others are
// declared where they were. Numbers stand in for the expressions that made them, arrays have one
// dimension, and source lines are kept without columns.
//
// Functions come first as declarations, in their order (which numbers their handles); then variables and
// definitions as they stood, so that everything is declared before its use as it was.
#include "ptx/print.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/opcode.h"

// ---- names --------------------------------------------------------------------------------------
static void put(orr_text *out, const char *s) { orr_text_addn(out, s, strlen(s)); }
static void put_slice(orr_text *out, ptx_slice s) { orr_text_addn(out, s.s, s.n); }

static const char *stem(int type, char buf[16]) { // nvcc's where it has one
    switch (type) {
    case ORR_T_PRED: return "%p";
    case ORR_T_B16: return "%rs";
    case ORR_T_B32: return "%r";
    case ORR_T_B64: return "%rd";
    case ORR_T_F32: return "%f";
    case ORR_T_F64: return "%fd";
    case ORR_T_B128: return "%rq";
    default: snprintf(buf, 16, "%%%s_", orr_types[type].name); return buf;
    }
}

static bool numbered(const char *s, size_t n, const char *stem) { // the stem and digits
    size_t k = strlen(stem);
    if (n <= k || memcmp(s, stem, k) != 0) return false;
    while (k < n && s[k] >= '0' && s[k] <= '9') k++;
    return k == n;
}

static bool own_name(const char *s, size_t n) { // one that is given here
    static const char *const others[] = {"$L_", "$T_", "$P_", "%a_", "%v_"};
    if (n < 2 || (s[0] != '%' && s[0] != '$')) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (numbered(s, n, others[i])) return true;
    for (int t = ORR_T_PRED; t < ORR_T_COUNT; t++) {
        char buf[16], single[24];
        const char *range = stem(t, buf);
        snprintf(single, sizeof single, "%s_", range);
        if (numbered(s, n, range) || numbered(s, n, single)) return true;
    }
    return false;
}

static const ptx_var *reg_param(const ptx_func *fn, uint32_t reg) {
    for (uint32_t i = 0; i < fn->nresults; i++)
        if (fn->results[i]->where == V_REG && fn->results[i]->index == reg &&
            strcmp(fn->results[i]->name, "_"))
            return fn->results[i];
    for (uint32_t i = 0; i < fn->nparams; i++)
        if (fn->params[i]->where == V_REG && fn->params[i]->index == reg && strcmp(fn->params[i]->name, "_"))
            return fn->params[i];
    return NULL;
}

static void put_param_name(const ptx_var *v, orr_text *out) {
    if (v->where == V_REG && own_name(v->name, strlen(v->name)))
        orr_text_add(out, "%%a_%u", v->index + 1);
    else
        put(out, v->name);
}

static void put_reg_name(const ptx_func *fn, uint32_t reg, orr_text *out) { // a vector's without an element
    const ptx_reg *r = &fn->regs[reg];
    char buf[16];
    if (r->how == REG_PARAM)
        put_param_name(reg_param(fn, reg - r->elem), out);
    else if (r->how == REG_RANGE)
        orr_text_add(out, "%s%u", stem(fn->reg_type[reg], buf), r->number);
    else
        orr_text_add(out, "%s_%u", r->vec > 1 ? "%v" : stem(fn->reg_type[reg], buf), r->number);
}

void ptx_print_reg(const ptx_func *fn, uint32_t reg, orr_text *out) {
    const ptx_reg *r = &fn->regs[reg];
    put_reg_name(fn, reg, out);
    if (r->vec > 1) orr_text_add(out, ".%c", "xyzw"[r->elem & 3]);
}

static void put_func_name(const ptx_print_hooks *h, const ptx_func *fn, orr_text *out) {
    const char *other = h && h->name ? h->name(h->arg, fn) : NULL;
    put(out, other ? other : fn->name);
}

static bool wanted(const ptx_print_hooks *h, const ptx_func *fn) {
    return !fn->defined || !h || !h->wants || h->wants(h->arg, fn);
}

// ---- operands -----------------------------------------------------------------------------------
static void put_addend(int64_t addend, orr_text *out) {
    if (addend) orr_text_add(out, "+%lld", (long long)addend); // ptxas reads [%rd1+-8], but not [%rd1-8]
}

static void put_sreg(const ptx_print_hooks *h, const ptx_func *fn, const ptx_opd *o, orr_text *out) {
    const char *name = ptx_sregs[o->value].name;
    if (h && h->sreg) {
        size_t at = out->n;
        bool four = o->n == 4;
        if (four) put(out, "{");
        bool other = h->sreg(h->arg, fn, (uint32_t)o->value, out);
        for (uint32_t i = 1; other && four && i < 4; i++) { // %ctaid as a whole: its last element is 0
            put(out, ", ");
            if (i == 3)
                put(out, "0");
            else if (!h->sreg(h->arg, fn, (uint32_t)o->value + i, out))
                put(out, ptx_sregs[o->value + i].name);
        }
        if (other && four) put(out, "}");
        if (other) return;
        out->n = at;
    }
    if (o->n == 4) // %tid and not %tid.x
        orr_text_addn(out, name, strlen(name) - 2);
    else if (strcmp(name, "%pm_64") == 0)
        orr_text_add(out, "%%pm%u_64", o->sel);
    else if (strcmp(name, "%pm") == 0 || strcmp(name, "%envreg") == 0)
        orr_text_add(out, "%s%u", name, o->sel);
    else
        put(out, name);
}

static void put_selector(uint16_t sel, orr_text *out) {
    int digits = sel >> 12 & 7;
    if (digits) put(out, sel >> 15 ? ".h" : ".b");
    while (digits-- > 0) orr_text_add(out, "%u", sel >> (3 * digits) & 7);
}

static void put_operand(const ptx_front *f, const ptx_print_hooks *h, const ptx_func *fn, const ptx_opd *o,
                        bool first_of_pair, orr_text *out) {
    const char *open = o->kind == O_VEC ? "{" : o->kind == O_ADDR ? "[" : o->kind == O_LIST ? "(" : "";
    const char *close = o->kind == O_VEC ? "}" : o->kind == O_ADDR ? "]" : o->kind == O_LIST ? ")" : "";
    if (o->neg) put(out, o->neg == NEG_NOT ? "!" : "-");
    switch (o->kind) {
    case O_SINK: put(out, "_"); break;
    case O_REG:
        if (o->n > 1 || fn->regs[o->value].vec == 1)
            put_reg_name(fn, (uint32_t)o->value, out);
        else
            ptx_print_reg(fn, (uint32_t)o->value, out);
        put_selector(o->sel, out);
        break;
    case O_INT: // a negated constant was %tid.w, which is always 0
        if (o->neg || o->addend || first_of_pair)
            put(out, "%tid.w");
        else
            orr_text_add(out, "%lld", (long long)o->value);
        break;
    case O_F32: orr_text_add(out, "0f%08X", (uint32_t)o->value); break;
    case O_F64: orr_text_add(out, "0d%016llX", (unsigned long long)o->value); break;
    case O_SREG: put_sreg(h, fn, o, out); break;
    case O_VAR:
        if (!h || !h->var || !h->var(h->arg, fn, o->var, out)) put(out, o->var->name);
        break;
    case O_FUNC: put_func_name(h, o->func, out); break;
    case O_LABEL: orr_text_add(out, "$L_%u", o->n); break;
    case O_TABLE: orr_text_add(out, "$T_%llu", (unsigned long long)o->value + 1); break;
    case O_PROTO: orr_text_add(out, "$P_%llu", (unsigned long long)o->value); break;
    case O_NAME: orr_text_addn(out, o->name, o->n); break;
    default: // groups
        put(out, open);
        for (uint32_t i = 0; i < o->n; i++) {
            if (i) put(out, o->kind == O_PAIR ? "|" : ", ");
            put_operand(f, h, fn, &f->opds.at[o->value + i], o->kind == O_PAIR && i == 0, out);
        }
        put(out, close);
    }
    put_addend(o->addend, out);
}

void ptx_print_operand(const ptx_front *f, const ptx_print_hooks *h, const ptx_func *fn, const ptx_opd *o,
                       orr_text *out) {
    put_operand(f, h, fn, o, false, out);
}

void ptx_print_stmt(const ptx_front *f, const ptx_print_hooks *h, const ptx_func *fn, const ptx_stmt *s,
                    orr_text *out) {
    if (s->guard >= 0) {
        put(out, s->guard_neg ? "@!" : "@");
        ptx_print_reg(fn, (uint32_t)s->guard, out);
        put(out, " ");
    }
    put(out, s->op->text);
    for (uint32_t i = 0; i < s->n; i++) {
        put(out, i ? ", " : " ");
        put_operand(f, h, fn, &f->opds.at[s->first + i], false, out);
    }
    put(out, ";");
}

// ---- variables ----------------------------------------------------------------------------------
static void put_linkage(uint8_t linkage, orr_text *out) {
    if (linkage & LINK_EXTERN) put(out, ".extern ");
    if (linkage & LINK_VISIBLE) put(out, ".visible ");
    if (linkage & LINK_WEAK) put(out, ".weak ");
    if (linkage & LINK_COMMON) put(out, ".common ");
}

// What stands between the space and the name, and the dimensions behind it.
static void put_type(const ptx_var *v, orr_text *out) {
    static const char *const opaque[] = {"", " .texref", " .samplerref", " .surfref", ""};
    uint32_t vec = v->elem / ptx_type_bytes(v->type);
    if (v->attribute.n) {
        put(out, " ");
        put_slice(out, v->attribute);
    }
    if (v->align != v->elem) orr_text_add(out, " .align %u", v->align);
    if (vec > 1) orr_text_add(out, " .v%u", vec);
    bool reference = v->opaque && v->opaque != OPAQUE_TEX;
    if (!reference || v->type != ORR_T_B64) orr_text_add(out, " .%s", orr_types[v->type].name);
    put(out, opaque[v->opaque]);
    if (v->pointer) {
        put(out, " .ptr");
        if (v->ptr_space.n) put(out, " ");
        put_slice(out, v->ptr_space);
        if (v->ptr_align) orr_text_add(out, " .align %u", v->ptr_align);
    }
    put(out, " ");
}

static void put_dimension(const ptx_var *v, orr_text *out) {
    if (v->unsized && !v->bytes)
        put(out, "[]");
    else if (v->array)
        orr_text_add(out, "[%llu]", (unsigned long long)(v->bytes / v->elem));
}

typedef struct inits { // the symbols of each variable's initialiser: at[first[v] ..]
    const ptx_init_ref **at;
    uint32_t *first;
} inits;

static inits sort_inits(const orr_module *m, const ptx_front *f) {
    inits in = {orr_calloc(f->init_refs.n + 1, sizeof *in.at), orr_calloc(m->nvars + 2, sizeof *in.first)};
    for (size_t i = 0; i < f->init_refs.n; i++) in.first[f->init_refs.at[i].var + 2]++;
    for (uint32_t v = 0; v < m->nvars; v++) in.first[v + 2] += in.first[v + 1];
    for (size_t i = 0; i < f->init_refs.n; i++)
        in.at[in.first[f->init_refs.at[i].var + 1]++] = &f->init_refs.at[i];
    return in;
}

static void put_symbol(const ptx_front *f, const ptx_print_hooks *h, const ptx_init_ref *r, orr_text *out) {
    ptx_global *g = orr_map_getn(&f->globals, r->name, r->name_n);
    if (g && g->func && !wanted(h, g->func)) {
        put(out, "0");
        return;
    }
    if (r->masked) orr_text_add(out, "0x%llX(", (unsigned long long)r->mask);
    if (r->generic) put(out, "generic(");
    if (g && g->func)
        put_func_name(h, g->func, out);
    else
        orr_text_addn(out, r->name, r->name_n);
    if (r->generic) put(out, ")");
    put_addend(r->addend, out);
    if (r->masked) put(out, ")");
}

static void put_value(uint8_t type, const uint8_t *bytes, orr_text *out) {
    uint32_t n = ptx_type_bytes(type);
    unsigned long long v = 0;
    memcpy(&v, bytes, n < 8 ? n : 8);
    if (type == ORR_T_F32)
        orr_text_add(out, "0f%08X", (uint32_t)v);
    else if (type == ORR_T_F64)
        orr_text_add(out, "0d%016llX", v);
    else if (n == 16 && bytes[15]) // a negative number: its upper half is all ones
        orr_text_add(out, "~%llu", ~v);
    else
        orr_text_add(out, "%llu", v);
}

static void put_init(const orr_module *m, const ptx_print_hooks *h, const ptx_var *v, const inits *in,
                     orr_text *out) {
    const ptx_front *f = m->front;
    const orr_var *var = &m->vars[v->index];
    uint32_t bytes = ptx_type_bytes(v->type), vec = v->elem / bytes;
    uint64_t n = (var->init_bytes + bytes - 1) / bytes;
    uint32_t ref = in->first[v->index], end = in->first[v->index + 1];
    if (!n) return;
    put(out, " = ");
    if (v->array) put(out, "{");
    for (uint64_t i = 0; i < n; i++) {
        if (i) put(out, i % 16 ? ", " : ",\n    ");
        if (vec > 1 && i % vec == 0) put(out, "{");
        const ptx_init_ref *r = NULL;
        while (ref < end && in->at[ref]->offset <= i * bytes) r = in->at[ref++];
        if (r && r->offset == i * bytes)
            put_symbol(f, h, r, out);
        else
            put_value(v->type, var->init + i * bytes, out);
        if (vec > 1 && (i % vec == vec - 1 || i + 1 == n)) put(out, "}");
    }
    if (v->array) put(out, "}");
}

static void put_var(const orr_module *m, const ptx_print_hooks *h, const ptx_var *v, const inits *in,
                    orr_text *out) {
    static const char *const space[] = {
        [V_GLOBAL] = ".global", [V_CONST] = ".const", [V_SHARED] = ".shared", [V_DYNAMIC] = ".shared",
        [V_FRAME] = ".local",   [V_PARAM] = ".param", [V_REG] = ".reg",       [V_OPAQUE] = ".global"};
    if (h && h->declare && !h->declare(h->arg, v)) return;
    if (!in) put(out, "    "); // in a body
    uint8_t linkage = v->linkage & ~LINK_EXTERN;
    put_linkage(v->external ? linkage | LINK_EXTERN : linkage, out);
    put(out, v->opaque == OPAQUE_TEX ? ".tex" : v->where == V_FRAME && v->call ? ".param" : space[v->where]);
    if (v->bank) orr_text_add(out, "[%u]", v->bank - 1);
    put_type(v, out);
    put(out, v->name);
    put_dimension(v, out);
    if (in && (v->where == V_GLOBAL || v->where == V_CONST)) put_init(m, h, v, in, out);
    if (v->opaque_init.n) {
        put(out, " = ");
        put_slice(out, v->opaque_init);
    }
    put(out, ";\n");
}

// ---- functions ----------------------------------------------------------------------------------
static void put_params(ptx_var **list, uint32_t n, orr_text *out) {
    put(out, "(");
    for (uint32_t i = 0; i < n; i++) {
        const ptx_var *v = list[i];
        put(out, n == 1 ? "" : i ? ",\n    " : "\n    ");
        put(out, v->where == V_REG ? ".reg" : ".param");
        put_type(v, out);
        put_param_name(v, out);
        put_dimension(v, out);
    }
    put(out, n > 1 ? "\n)" : ")");
}

static void put_triple(const char *name, const uint32_t v[3], orr_text *out) {
    if (v[0]) orr_text_add(out, "\n.%s %u, %u, %u", name, v[0], v[1], v[2]);
}

// How a kernel is to be compiled and launched. ptxas takes it with the definition only.
static void put_tuning(const ptx_print_hooks *h, const ptx_func *fn, orr_text *out) {
    put_triple("maxntid", fn->bounds.maxntid, out);
    put_triple("reqntid", fn->bounds.reqntid, out);
    put_triple("reqnctapercluster", fn->bounds.cluster, out);
    bool tuned = !h || !h->no_tuning;
    if (tuned && fn->bounds.minctapersm) orr_text_add(out, "\n.minnctapersm %u", fn->bounds.minctapersm);
    if (tuned && fn->bounds.maxnreg) orr_text_add(out, "\n.maxnreg %u", fn->bounds.maxnreg);
    if (h && h->entry_directives && fn->entry && !fn->bounds.maxntid[0] && !fn->bounds.reqntid[0])
        orr_text_add(out, "\n%s", h->entry_directives);
}

static void put_header(const ptx_front *f, const ptx_print_hooks *h, const ptx_func *fn, bool definition,
                       orr_text *out) {
    put_linkage(fn->linkage, out);
    put(out, fn->entry ? ".entry " : ".func ");
    if (fn->attribute.n) {
        put_slice(out, fn->attribute);
        put(out, " ");
    }
    if (fn->nresults) {
        put_params(fn->results, fn->nresults, out);
        put(out, " ");
    }
    put_func_name(h, fn, out);
    put_params(fn->params, fn->nparams, out);
    if (definition) put_tuning(h, fn, out);
    if (!definition && fn->entry) return;
    for (uint32_t i = 0; i < fn->notes.n; i++) {
        const ptx_note *n = &f->notes.at[fn->notes.first + i];
        if (n->kind != N_DIRECTIVE) break;
        put(out, "\n");
        put_slice(out, n->text);
    }
}

static void put_ranges(const ptx_func *fn, orr_text *out) {
    uint32_t most[ORR_T_COUNT] = {0};
    for (uint32_t i = 0; i < fn->nregs; i++)
        if (fn->regs[i].how == REG_RANGE) most[fn->reg_type[i]] = fn->regs[i].number; // they only grow
    for (int t = 0; t < ORR_T_COUNT; t++) {
        char buf[16];
        if (most[t])
            orr_text_add(out, "    .reg .%s %s<%u>;\n", orr_types[t].name, stem(t, buf), most[t] + 1);
    }
}

static void put_note(const orr_module *m, const ptx_print_hooks *h, const ptx_func *fn, const ptx_note *n,
                     orr_text *out) {
    const ptx_front *f = m->front;
    switch (n->kind) {
    case N_OPEN: put(out, "    {\n"); break;
    case N_CLOSE: put(out, "    }\n"); break;
    case N_VAR: put_var(m, h, n->var, NULL, out); break;
    case N_REG:
        orr_text_add(out, "    .reg ");
        if (n->n > 1) orr_text_add(out, ".v%u ", n->n);
        orr_text_add(out, ".%s ", orr_types[fn->reg_type[n->first]].name);
        put_reg_name(fn, n->first, out);
        put(out, ";\n");
        break;
    case N_LABEL: orr_text_add(out, "$L_%u:\n", n->first); break;
    case N_TABLE: {
        const ptx_table *t = &f->tables.at[n->first];
        orr_text_add(out, "    $T_%u: %s ", n->first + 1, t->calls ? ".calltargets" : ".branchtargets");
        for (uint32_t i = 0; i < t->n; i++) {
            ptx_opd o = f->opds.at[t->first + i];
            if (o.kind == O_REG) o.sel = 0; // there it says that no address is taken
            if (i) put(out, ", ");
            put_operand(f, h, fn, &o, false, out);
        }
        put(out, ";\n");
        break;
    }
    case N_PROTO:
        orr_text_add(out, "    $P_%u: .callprototype ", n->first);
        put_slice(out, n->text);
        put(out, "\n");
        break;
    case N_PRAGMA:
        put(out, "    ");
        put_slice(out, n->text);
        put(out, "\n");
        break;
    default: break;
    }
}

void ptx_print_func(const orr_module *m, const ptx_print_hooks *h, const ptx_func *fn, orr_text *out) {
    const ptx_front *f = m->front;
    put_header(f, h, fn, true, out);
    put(out, "\n{\n");
    put_ranges(fn, out);
    if (h && h->open) h->open(h->arg, fn, out);
    uint32_t file = 0, line = 0, note = fn->notes.first, notes = note + fn->notes.n;
    for (uint32_t i = 0; i <= fn->n; i++) {
        for (; note < notes && f->notes.at[note].stmt <= i; note++)
            put_note(m, h, fn, &f->notes.at[note], out);
        const ptx_stmt *s = i < fn->n ? &f->stmts.at[fn->first + i] : NULL;
        if (s && (s->file != file || s->srcline != line)) {
            file = s->file;
            line = s->srcline;
            orr_text_add(out, "    .loc %u %u 0\n", file, line);
        }
        if (h && h->before) h->before(h->arg, fn, i, out);
        if (!s) break;
        put(out, "    ");
        ptx_print_stmt(f, h, fn, s, out);
        put(out, "\n");
        if (h && h->after) h->after(h->arg, fn, i, out);
    }
    put(out, "}\n");
}

// ---- the module ---------------------------------------------------------------------------------
static bool free_name(const orr_module *m, const char *s, size_t n, orr_err *e) {
    if (!own_name(s, n)) return true;
    return orr_fail(e, ORR_BAD_INPUT,
                    "%.200s: cannot be printed: '%.*s' is a name that printing gives to registers and labels",
                    m->path, n > 200 ? 200 : (int)n, s);
}

// Names that stay must not be among those given.
static bool check_names(const orr_module *m, const ptx_front *f, orr_err *e) {
    for (size_t i = 0; i < f->items.n; i++) {
        const ptx_note *n = &f->items.at[i];
        if (n->kind == N_VAR && !free_name(m, n->var->name, strlen(n->var->name), e)) return false;
    }
    for (size_t i = 0; i < f->funcs.n; i++) {
        const ptx_func *fn = f->funcs.at[i];
        if (!free_name(m, fn->name, strlen(fn->name), e)) return false;
        for (uint32_t k = 0; k < fn->nparams + fn->nresults; k++) {
            const ptx_var *v = k < fn->nparams ? fn->params[k] : fn->results[k - fn->nparams];
            if (v->where != V_REG && !free_name(m, v->name, strlen(v->name), e)) return false;
        }
    }
    for (size_t i = 0; i < f->notes.n; i++) {
        const ptx_note *n = &f->notes.at[i];
        if (n->kind == N_VAR && !free_name(m, n->var->name, strlen(n->var->name), e)) return false;
    }
    for (size_t i = 0; i < f->opds.n; i++)
        if (f->opds.at[i].kind == O_NAME && !free_name(m, f->opds.at[i].name, f->opds.at[i].n, e))
            return false;
    return true;
}

static void put_targets(const ptx_front *f, orr_text *out) {
    const char *between = ".target ";
    for (size_t i = 0; i < f->targets.n; i++) {
        ptx_slice t = f->targets.at[i];
        if (t.n == 5 && memcmp(t.s, "debug", 5) == 0) continue; // it demands the debug sections
        put(out, between);
        put_slice(out, t);
        between = ", ";
    }
    if (between[0] == ',') put(out, "\n");
}

bool ptx_print(orr_module *m, const ptx_print_hooks *h, orr_text *out, orr_err *e) {
    ptx_front *f = m->front;
    if (!check_names(m, f, e)) return false;
    orr_text_add(out, ".version %.*s\n", (int)f->version.n, f->version.s);
    put_targets(f, out);
    put(out, ".address_size 64\n");
    for (uint32_t i = 0; i < m->nfiles; i++)
        orr_text_add(out, ".file %llu \"%s\"\n", (unsigned long long)f->file_numbers.at[i], m->files[i]);
    if (h && h->head) h->head(h->arg, out);
    bool entries = false; // are they declared too? Where one is used before it is defined.
    for (size_t i = 0; i < f->funcs.n; i++)
        entries |= f->funcs.at[i]->entry && (f->funcs.at[i]->taken || !f->funcs.at[i]->defined);
    for (size_t i = 0; i < f->funcs.n; i++) {
        const ptx_func *fn = f->funcs.at[i];
        if ((fn->entry && !entries) || !wanted(h, fn)) continue;
        put(out, "\n");
        put_header(f, h, fn, false, out);
        put(out, ";\n");
    }
    inits in = sort_inits(m, f);
    for (size_t i = 0; i < f->items.n; i++) {
        const ptx_note *n = &f->items.at[i];
        if (n->kind == N_VAR) {
            put_var(m, h, n->var, &in, out);
        } else if (n->kind == N_PRAGMA) {
            put_slice(out, n->text);
            put(out, "\n");
        } else if (wanted(h, n->func)) {
            put(out, "\n");
            ptx_print_func(m, h, n->func, out);
        }
    }
    free(in.at);
    free(in.first);
    for (size_t i = 0; i < f->funcs.n; i++) {
        const ptx_func *fn = f->funcs.at[i];
        if (!fn->alias || !wanted(h, ptx_func_real(f, f->funcs.at[i]))) continue;
        put(out, ".alias ");
        put_func_name(h, fn, out);
        ptx_global *g = ptx_global_named(f, fn->alias, strlen(fn->alias), false);
        put(out, ", ");
        if (g && g->func)
            put_func_name(h, g->func, out);
        else
            put(out, fn->alias);
        put(out, ";\n");
    }
    return true;
}

bool orr_ptx_print(orr_module *m, orr_text *out, orr_err *e) {
    if (strcmp(m->source, "ptx") != 0)
        return orr_fail(e, ORR_BAD_INPUT, "%.200s: is no PTX: its code can be disassembled only", m->path);
    return ptx_print(m, NULL, out, e);
}
