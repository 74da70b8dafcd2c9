// A kernel in a stream file: everything models read of it, so that no PTX is needed to replay.
//
// Operations are found again by name, so that the table in ops.def may grow in any place. Types,
// spaces, units and register classes are stored as numbers: their tables may only grow at the end,
// and the names stored with the file prove it.
//
// What is read is checked completely (check_* below): models and reports index with it unasked.
#include "stream/file.h"
#include "stream/trace.h"

#include <stdlib.h>

// ---- bytes ----------------------------------------------------------------------------------------
uint64_t take_n(cursor *c, uint64_t limit) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64 && c->at < c->end; shift += 7) {
        uint8_t b = *c->at++;
        if (shift == 63 && b > 1) break;
        v |= (uint64_t)(b & 127) << shift;
        if (b >= 128) continue;
        if (v > limit) break;
        return v;
    }
    c->bad = true;
    c->at = c->end;
    return 0;
}

int64_t take_z(cursor *c) {
    uint64_t v = take_n(c, UINT64_MAX);
    return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

uint32_t take_count(cursor *c, uint32_t each) {
    uint64_t left = (uint64_t)(c->end - c->at) / each;
    return (uint32_t)take_n(c, left < UINT32_MAX ? left : UINT32_MAX);
}

const char *take_s(cursor *c, orr_arena *a) {
    uint32_t n = take_count(c, 1);
    if (n > (uint64_t)(c->end - c->at) || (n && memchr(c->at, 0, n))) {
        c->bad = true;
        n = 0;
    }
    const char *s = orr_arena_strndup(a, (const char *)c->at, n);
    c->at += n;
    return s;
}

void add_n(orr_text *t, uint64_t v) {
    uint8_t buf[10];
    orr_text_addn(t, (const char *)buf, (size_t)(orr_trace_varint(buf, v) - buf));
}
void add_z(orr_text *t, int64_t v) { add_n(t, orr_zigzag(v)); }
void add_s(orr_text *t, const char *s) {
    size_t n = s ? strlen(s) : 0;
    add_n(t, n);
    if (n) orr_text_addn(t, s, n);
}

// ---- names ----------------------------------------------------------------------------------------
static const char *type_name(uint32_t i) { return orr_types[i].name; }
static const char *space_name(uint32_t i) { return orr_space_name[i]; }
static const char *unit_name(uint32_t i) { return orr_unit_name[i]; }

static const struct {
    uint32_t n;
    const char *(*name)(uint32_t i);
    const char *what;
} fixed[] = {{ORR_T_COUNT, type_name, "types"},
             {ORR_SPACE_COUNT, space_name, "spaces"},
             {ORR_UNIT_COUNT, unit_name, "units"}};
enum { FIXED = sizeof fixed / sizeof fixed[0] };

void names_write(orr_text *t) {
    add_n(t, ORR_OP_COUNT);
    for (int i = 0; i < ORR_OP_COUNT; i++) add_s(t, orr_ops[i].name);
    for (int f = 0; f < FIXED; f++) {
        add_n(t, fixed[f].n);
        for (uint32_t i = 0; i < fixed[f].n; i++) add_s(t, fixed[f].name(i));
    }
}

uint32_t names_read(cursor *c, uint16_t op_map[ORR_OP_COUNT], char why[200]) {
    orr_arena a = {0};
    why[0] = 0;
    uint32_t n = take_count(c, 1);
    if (n > ORR_OP_COUNT || !n) snprintf(why, 200, "it knows more operations than this version of orrery");
    for (uint32_t i = 0; i < n && !why[0] && !c->bad; i++) {
        const char *name = take_s(c, &a);
        uint32_t op = 0;
        while (op < ORR_OP_COUNT && strcmp(orr_ops[op].name, name)) op++;
        if (op == ORR_OP_COUNT) snprintf(why, 200, "this version of orrery has no operation \"%.40s\"", name);
        op_map[i] = (uint16_t)op;
    }
    for (int f = 0; f < FIXED && !why[0] && !c->bad; f++) {
        uint32_t m = take_count(c, 1);
        for (uint32_t i = 0; i < m && !why[0] && !c->bad; i++)
            if (i >= fixed[f].n || strcmp(fixed[f].name(i), take_s(c, &a)))
                snprintf(why, 200, "its table of %s is not that of this version of orrery", fixed[f].what);
    }
    orr_arena_free(&a);
    if (c->bad || c->at != c->end) {
        if (!why[0]) snprintf(why, 200, "its tables of names are damaged");
        return 0;
    }
    return why[0] ? 0 : n;
}

// ---- writing --------------------------------------------------------------------------------------
static void write_params(orr_text *t, const orr_param *p, uint32_t n) {
    add_n(t, n);
    for (uint32_t i = 0; i < n; i++) {
        add_s(t, p[i].name);
        add_n(t, p[i].type);
        add_n(t, p[i].align);
        add_n(t, p[i].pointer);
        add_n(t, p[i].offset);
        add_n(t, p[i].bytes);
    }
}

static void write_inst(orr_text *t, const orr_inst *i) {
    const uint8_t small[] = {i->type, i->stype,  i->space, i->width,     i->vec,  i->unit, i->round,
                             i->cmp,  i->boolop, i->sub,   i->guard_neg, i->ndst, i->nsrc, i->cache};
    add_n(t, i->op);
    orr_text_addn(t, (const char *)small, sizeof small);
    add_n(t, i->mods);
    add_z(t, i->guard);
    add_n(t, i->first);
    add_z(t, i->target);
    add_z(t, i->disp);
    add_z(t, i->disp2);
    add_n(t, i->imm);
    add_n(t, i->line);
    add_n(t, i->source.file);
    add_n(t, i->source.line);
    add_n(t, i->encoding.ctrl);
}

// Machine code has more, at the end: mnemonics, and for each instruction its own, class and kind.
static void write_machine(orr_text *t, const orr_kernel *k) {
    add_n(t, k->control);
    add_n(t, k->shared_base);
    add_n(t, ORR_TC_COUNT);
    for (int c = 0; c < ORR_TC_COUNT; c++) add_s(t, orr_tclass_name[c]);
    add_n(t, k->nnames);
    for (uint32_t i = 0; i < k->nnames; i++) add_s(t, k->names[i]);
    for (uint32_t i = 0; i < k->ninsts; i++) {
        add_n(t, k->insts[i].name);
        add_n(t, k->insts[i].tclass);
        add_n(t, k->insts[i].tkind);
    }
    for (uint32_t i = 0; i < k->ninsts; i++) add_n(t, k->insts[i].encoding.constant);
}

void kernel_write(orr_text *t, const orr_kernel *k) {
    const orr_module *m = k->module;
    add_s(t, m ? m->path : "");
    add_s(t, m && m->source ? m->source : "ptx");
    add_n(t, m ? m->version : 0);
    add_n(t, m ? m->target : 0);
    add_n(t, m ? m->nfiles : 0);
    for (uint32_t i = 0; m && i < m->nfiles; i++) add_s(t, m->files[i]);
    add_n(t, m ? m->nvars : 0);
    for (uint32_t i = 0; m && i < m->nvars; i++) {
        add_s(t, m->vars[i].name);
        add_n(t, m->vars[i].space);
        add_n(t, m->vars[i].align);
        add_n(t, m->vars[i].bytes);
    }
    add_s(t, k->name);
    add_n(t, k->nfuncs);
    for (uint32_t i = 0; i < k->nfuncs; i++) {
        const orr_func *f = &k->funcs[i];
        add_s(t, f->name);
        add_n(t, f->first_inst);
        add_n(t, f->ninsts);
        add_n(t, f->entry);
        for (int c = 0; c < ORR_CLASSES; c++) add_n(t, f->nregs[c]);
        add_n(t, f->first_block);
        add_n(t, f->nblocks);
        add_n(t, f->local_bytes);
        write_params(t, f->params, f->nparams);
        write_params(t, f->results, f->nresults);
        add_n(t, f->proto);
    }
    add_n(t, k->noperands);
    for (uint32_t i = 0; i < k->noperands; i++) {
        const orr_operand *o = &k->operands[i];
        add_n(t, (uint64_t)o->kind | (uint64_t)o->cls << 3 | (uint64_t)o->neg << 6);
        add_n(t, o->reg);
        add_n(t, o->value);
    }
    add_n(t, k->ninsts);
    for (uint32_t i = 0; i < k->ninsts; i++) write_inst(t, &k->insts[i]);
    add_n(t, k->nblocks);
    for (uint32_t i = 0; i < k->nblocks; i++) {
        const orr_block *b = &k->blocks[i];
        add_n(t, b->first);
        add_n(t, b->count);
        add_n(t, b->func);
        add_z(t, b->next);
        add_z(t, b->ipdom);
        add_n(t, b->nmem);
    }
    add_n(t, k->ntables);
    for (uint32_t i = 0; i < k->ntables; i++) add_n(t, k->tables[i]);
    add_n(t, k->param_bytes);
    add_n(t, k->shared_bytes);
    add_n(t, k->regs);
    for (int d = 0; d < 3; d++) add_n(t, k->bounds.maxntid[d]);
    for (int d = 0; d < 3; d++) add_n(t, k->bounds.reqntid[d]);
    add_n(t, k->bounds.minctapersm);
    add_n(t, k->bounds.maxnreg);
    add_n(t, k->barriers);
    add_n(t, k->effects.atomics);
    add_n(t, k->recursive);
    if (k->machine) write_machine(t, k);
}

// ---- reading --------------------------------------------------------------------------------------
static uint32_t take_u32(cursor *c) { return (uint32_t)take_n(c, UINT32_MAX); }
static uint8_t take_u8(cursor *c) { return (uint8_t)take_n(c, 255); }
static int32_t take_i32(cursor *c) {
    int64_t v = take_z(c);
    if (v < INT32_MIN || v > INT32_MAX) c->bad = true;
    return c->bad ? 0 : (int32_t)v;
}
// An array whose count was read with take_count, so that its size is bounded by the section's.
static void *array(orr_arena *a, uint32_t n, size_t size) { return orr_arena_alloc(a, (n ? n : 1) * size); }

static orr_param *read_params(cursor *c, orr_arena *a, uint32_t *n) {
    *n = take_count(c, 6);
    orr_param *p = array(a, *n, sizeof *p);
    for (uint32_t i = 0; i < *n && !c->bad; i++) {
        p[i].name = take_s(c, a);
        p[i].type = (uint8_t)take_n(c, ORR_T_COUNT - 1);
        p[i].align = take_u8(c);
        p[i].pointer = take_n(c, 1);
        p[i].offset = take_u32(c);
        p[i].bytes = take_u32(c);
    }
    return p;
}

static void read_inst(cursor *c, const uint16_t *op_map, uint32_t nops, orr_inst *i) {
    uint8_t *const small[] = {&i->type, &i->stype,  &i->space, &i->width,     &i->vec,  &i->unit, &i->round,
                              &i->cmp,  &i->boolop, &i->sub,   &i->guard_neg, &i->ndst, &i->nsrc, &i->cache};
    i->op = op_map[take_n(c, nops - 1)];
    for (size_t n = 0; n < sizeof small / sizeof small[0]; n++) {
        if (c->at == c->end) {
            c->bad = true;
            return;
        }
        *small[n] = *c->at++;
    }
    i->mods = take_u32(c);
    i->guard = take_i32(c);
    i->first = take_u32(c);
    i->target = take_i32(c);
    i->disp = take_i32(c);
    i->disp2 = take_i32(c);
    i->imm = take_u32(c);
    i->line = take_u32(c);
    i->source.file = take_u32(c);
    i->source.line = take_u32(c);
    i->encoding.ctrl = take_u32(c);
}

static void read_module(cursor *c, orr_arena *a, orr_module *m) {
    m->path = take_s(c, a);
    m->source = take_s(c, a);
    m->version = take_u32(c);
    m->target = take_u32(c);
    m->nfiles = take_count(c, 1);
    m->files = array(a, m->nfiles, sizeof *m->files);
    for (uint32_t i = 0; i < m->nfiles && !c->bad; i++) m->files[i] = take_s(c, a);
    m->nvars = take_count(c, 4);
    m->vars = array(a, m->nvars, sizeof *m->vars);
    for (uint32_t i = 0; i < m->nvars && !c->bad; i++) {
        m->vars[i].name = take_s(c, a);
        m->vars[i].space = (uint8_t)take_n(c, ORR_SPACE_COUNT - 1);
        m->vars[i].align = take_u32(c);
        m->vars[i].bytes = take_n(c, UINT64_MAX);
    }
}

static void read_machine(cursor *c, orr_kernel *k) {
    orr_arena *a = &k->arena;
    k->machine = true;
    k->control = take_n(c, 1);
    k->shared_base = (uint32_t)take_n(c, 1u << 20);
    uint32_t nclasses = take_count(c, 1);
    uint8_t *classes = array(a, nclasses, sizeof *classes); // found again by name
    for (uint32_t i = 0; i < nclasses && !c->bad; i++) {
        const char *name = take_s(c, a);
        while (classes[i] < ORR_TC_COUNT && strcmp(orr_tclass_name[classes[i]], name)) classes[i]++;
        if (classes[i] == ORR_TC_COUNT) c->bad = true;
    }
    k->nnames = take_count(c, 1);
    k->names = array(a, k->nnames, sizeof *k->names);
    for (uint32_t i = 0; i < k->nnames && !c->bad; i++) k->names[i] = take_s(c, a);
    for (uint32_t i = 0; i < k->ninsts && !c->bad; i++) {
        orr_inst *x = &k->insts[i];
        x->name = take_u32(c);
        uint32_t cls = take_u32(c);
        x->tkind = (uint8_t)take_n(c, ORR_TK_WAIT_GROUP);
        if (c->bad || x->name >= k->nnames || cls >= nclasses) {
            c->bad = true;
            return;
        }
        x->tclass = classes[cls];
        x->sass = (uint16_t)orr_sass_find(k->names[x->name], strlen(k->names[x->name]));
    }
    if (c->at != c->end) // files from before have none
        for (uint32_t i = 0; i < k->ninsts && !c->bad; i++) k->insts[i].encoding.constant = take_u32(c);
}

static void read_kernel(cursor *c, const uint16_t *op_map, uint32_t nops, orr_kernel *k) {
    orr_arena *a = &k->arena;
    k->module = orr_arena_alloc(a, sizeof *k->module);
    read_module(c, a, k->module);
    k->name = take_s(c, a);
    k->nfuncs = take_count(c, 15);
    k->funcs = array(a, k->nfuncs, sizeof *k->funcs);
    for (uint32_t i = 0; i < k->nfuncs && !c->bad; i++) {
        orr_func *f = &k->funcs[i];
        f->name = take_s(c, a);
        f->first_inst = take_u32(c);
        f->ninsts = take_u32(c);
        f->entry = take_u32(c);
        for (int r = 0; r < ORR_CLASSES; r++) f->nregs[r] = take_u32(c);
        f->first_block = take_u32(c);
        f->nblocks = take_u32(c);
        f->local_bytes = take_u32(c);
        f->params = read_params(c, a, &f->nparams);
        f->results = read_params(c, a, &f->nresults);
        f->proto = take_n(c, UINT64_MAX);
    }
    k->noperands = take_count(c, 3);
    k->operands = array(a, k->noperands, sizeof *k->operands);
    for (uint32_t i = 0; i < k->noperands && !c->bad; i++) {
        uint8_t bits = (uint8_t)take_n(c, 127);
        k->operands[i] = (orr_operand){.kind = bits & 7, .cls = bits >> 3 & 7, .neg = bits >> 6};
        k->operands[i].reg = take_u32(c);
        k->operands[i].value = take_n(c, UINT64_MAX);
    }
    k->ninsts = take_count(c, 26);
    k->insts = array(a, k->ninsts, sizeof *k->insts);
    for (uint32_t i = 0; i < k->ninsts && !c->bad; i++) read_inst(c, op_map, nops, &k->insts[i]);
    k->nblocks = take_count(c, 6);
    k->blocks = array(a, k->nblocks, sizeof *k->blocks);
    for (uint32_t i = 0; i < k->nblocks && !c->bad; i++) {
        orr_block *b = &k->blocks[i];
        b->first = take_u32(c);
        b->count = take_u32(c);
        b->func = take_u32(c);
        b->next = take_i32(c);
        b->ipdom = take_i32(c);
        b->nmem = take_u32(c);
    }
    k->ntables = take_count(c, 1);
    k->tables = array(a, k->ntables, sizeof *k->tables);
    for (uint32_t i = 0; i < k->ntables && !c->bad; i++) k->tables[i] = take_u32(c);
    k->param_bytes = take_u32(c);
    k->shared_bytes = take_u32(c);
    k->regs = take_u32(c);
    for (int d = 0; d < 3; d++) k->bounds.maxntid[d] = take_u32(c);
    for (int d = 0; d < 3; d++) k->bounds.reqntid[d] = take_u32(c);
    k->bounds.minctapersm = take_u32(c);
    k->bounds.maxnreg = take_u32(c);
    k->barriers = take_u32(c);
    k->effects.atomics = take_n(c, 1);
    k->recursive = take_n(c, 1);
    if (c->at != c->end) read_machine(c, k);
}

// ---- checking -------------------------------------------------------------------------------------
static bool within(uint64_t first, uint64_t n, uint64_t limit) {
    return first <= limit && n <= limit - first;
}
static bool link_ok(int32_t to, uint32_t n) { return to >= -1 && (to == -1 || (uint32_t)to < n); }

static const char *check_operand(const orr_kernel *k, const orr_func *f, const orr_operand *o) {
    if (o->kind > ORR_K_SYMBOL || o->cls >= ORR_CLASSES) return "an operand is of no known kind";
    if (o->kind == ORR_K_REG && o->reg >= f->nregs[o->cls])
        return "an operand names a register that is not there";
    if (o->kind == ORR_K_SYMBOL && o->reg >= k->module->nvars)
        return "an operand names a variable that is not there";
    return NULL;
}

static const char *check_target(const orr_kernel *k, const orr_inst *i) {
    switch (i->op) {
    case ORR_OP_BRA:
        return i->target >= 0 && (uint32_t)i->target < k->nblocks ? NULL : "a branch leads to no block";
    case ORR_OP_BRX:
        return i->target >= 0 && within((uint32_t)i->target, i->imm, k->ntables)
                   ? NULL
                   : "a branch table is not there";
    case ORR_OP_CALL: return link_ok(i->target, k->nfuncs) ? NULL : "a call leads to no function";
    default: return NULL;
    }
}

static const char *check_inst(const orr_kernel *k, const orr_func *f, const orr_inst *i) {
    if (i->type >= ORR_T_COUNT || i->stype >= ORR_T_COUNT) return "an instruction has no known type";
    if (i->space >= ORR_SPACE_COUNT) return "an instruction has no known memory space";
    if (i->unit >= ORR_UNIT_COUNT) return "an instruction runs on no known unit";
    if (i->round > ORR_RND_RS || i->boolop > ORR_BOOL_XOR || i->cache > ORR_CACHE_WT || i->guard_neg > 1)
        return "an instruction has a modifier out of range";
    bool matrix = i->op == ORR_OP_MMA || i->op == ORR_OP_WMMA; // sub and cmp are types
    // machine code that reads a special register: sub is its number, any byte
    bool special = i->sass == ORR_SASS_S2R || i->sass == ORR_SASS_S2UR || i->sass == ORR_SASS_CS2R;
    if (matrix ? i->sub >= ORR_T_COUNT || i->cmp >= ORR_T_COUNT
               : (i->sub > 15 && !special) || i->cmp > ORR_CMP_NAN)
        return "an instruction has a sub-operation out of range";
    if ((uint32_t)i->width * i->vec > 256) return "a memory access is too wide";
    if (i->guard < -1 || (i->guard >= 0 && (uint32_t)i->guard >= f->nregs[ORR_P]))
        return "a guard names a register that is not there";
    if (i->source.file > k->module->nfiles) return "an instruction names a source file that is not there";
    uint32_t n = (uint32_t)i->ndst + i->nsrc;
    if (!within(i->first, n, k->noperands)) return "an instruction's operands are not there";
    for (uint32_t o = i->first; o < i->first + n; o++) {
        const char *why = check_operand(k, f, &k->operands[o]);
        if (why) return why;
    }
    return check_target(k, i);
}

// Blocks follow each other without gaps, end where control can leave, and belong to one function each.
static const char *check_blocks(const orr_kernel *k) {
    uint32_t at = 0;
    for (uint32_t b = 0; b < k->nblocks; b++) {
        const orr_block *block = &k->blocks[b];
        if (block->first != at || !block->count || !within(at, block->count, k->ninsts))
            return "blocks do not join up";
        at += block->count;
        if (block->func >= k->nfuncs || !link_ok(block->next, k->nblocks) ||
            !link_ok(block->ipdom, k->nblocks))
            return "a block leads nowhere";
        const orr_func *f = &k->funcs[block->func];
        if (b < f->first_block || b - f->first_block >= f->nblocks) return "a block is outside its function";
        uint32_t nmem = 0;
        for (uint32_t i = block->first; i < at; i++) {
            const char *why = check_inst(k, f, &k->insts[i]);
            if (why) return why;
            if ((orr_ops[k->insts[i].op].flags & ORR_F_END) && i + 1 != at)
                return "a block goes on after its end";
            nmem += orr_inst_traced(&k->insts[i]);
        }
        if (nmem != block->nmem) return "a block counts its memory instructions wrong";
    }
    return at == k->ninsts ? NULL : "blocks do not join up";
}

static const char *check_kernel(orr_kernel *k) {
    if (!k->nfuncs || !k->nblocks) return "it has no code";
    for (uint32_t i = 0; i < k->nfuncs; i++) {
        const orr_func *f = &k->funcs[i];
        if (!within(f->first_inst, f->ninsts, k->ninsts) || !within(f->first_block, f->nblocks, k->nblocks) ||
            f->entry >= k->nblocks)
            return "a function is outside the code";
        for (int c = 0; c < ORR_CLASSES; c++)
            if (f->nregs[c] > 1u << 24) return "a function has too many registers";
    }
    for (uint32_t i = 0; i < k->ntables; i++)
        if (k->tables[i] >= k->nblocks) return "a branch table leads to no block";
    if (k->regs > 65536 || k->shared_bytes > 1u << 30 || k->barriers > 65536)
        return "its resources are out of range";
    k->params = k->funcs[0].params;
    k->nparams = k->funcs[0].nparams;
    return check_blocks(k);
}

orr_kernel *kernel_read(cursor *c, const uint16_t *op_map, uint32_t nops, const char **why) {
    orr_kernel *k = orr_calloc(1, sizeof *k);
    read_kernel(c, op_map, nops, k);
    *why = c->bad || c->at != c->end ? "it ends too early or too late" : check_kernel(k);
    if (!*why) return k;
    kernel_delete(k);
    return NULL;
}

void kernel_delete(orr_kernel *k) {
    orr_arena a = k->arena; // owns the module too
    orr_arena_free(&a);
    free(k);
}
