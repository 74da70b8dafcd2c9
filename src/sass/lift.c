// A function of a cubin, and all that it calls, as a kernel: one orr_inst (inst.c) beside each orr_code,
// which the executor runs.
//
// Blocks are cut where control can arrive or leave. Where indirect branches, calls and returns arrive is
// found from below: return addresses and function pointers are made with moves of immediates, kept in
// constant banks (jump tables, bank 2) or listed by the compiler (.nv.info), and functions have symbols. A
// place too many does no harm.
#include "sass/lift.h"

#include <stdlib.h>
#include <string.h>

enum { NREGS_W = 512, NREGS_P = 16 };
#define MAX_INSTS (1u << 22) // of a kernel: 64 MB of code

typedef struct lift {
    orr_module *m;
    const sass_front *f;
    const orr_cubin *cubin;
    orr_kernel *k;
    uint32_t *funcs; // the cubin's functions that are in the kernel, the entry first
    uint32_t nfuncs;
    uint32_t *place; // [the cubin's function]: index in funcs, + 1
    orr_code *codes;
    uint8_t *start; // [instruction]: a block begins here
    ORR_VEC(orr_operand) operands;
    ORR_VEC(const char *) names;
    ORR_VEC(orr_fix) fixes;
    orr_map name_of;
    orr_text text;
    orr_err *e;
} lift;

static uint32_t get32(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }

// ---- which functions ------------------------------------------------------------------------------
static void include(lift *l, uint32_t func) {
    if (l->place[func]) return;
    l->funcs[l->nfuncs++] = func;
    l->place[func] = l->nfuncs;
}

static bool names_kernel(const orr_cubin_reloc *r) { // to launch it
    return r->type == R_CUDA_FUNC_DESC32_LO_32 || r->type == R_CUDA_FUNC_DESC32_HI_32;
}

// The entry, what code in there refers to, and what pointers may lead to: functions whose address is in data.
static void collect(lift *l, uint32_t entry) {
    include(l, entry);
    for (uint32_t t = 0; t < l->cubin->nfuncs; t++)
        if (l->f->taken[t] && !l->cubin->funcs[t].entry) include(l, t);
    for (uint32_t i = 0; i < l->nfuncs; i++) {
        const orr_cubin_func *x = &l->cubin->funcs[l->funcs[i]];
        for (uint32_t r = 0; r < x->nrelocs; r++) {
            const orr_cubin_symbol *y = &l->cubin->symbols[x->relocs[r].symbol];
            uint32_t func = l->f->func_of[y->section];
            if (func && !names_kernel(&x->relocs[r]) && !sass_provided(y)) include(l, func - 1);
        }
    }
}

// ---- relocations in code ------------------------------------------------------------------------
static void put_bits(uint64_t q[2], int at, int width, uint64_t v) {
    for (int i = 0; i < width; i++) {
        uint64_t *w = &q[(at + i) / 64], bit = 1ull << ((at + i) % 64);
        *w = v >> i & 1 ? *w | bit : *w & ~bit;
    }
}

static void mark(lift *l, uint32_t func, uint64_t offset) {
    if (offset % 16 || offset >= l->cubin->funcs[func].code_bytes || !l->place[func]) return;
    l->start[l->k->funcs[l->place[func] - 1].first_inst + offset / 16] = 1;
}

// An address in the module's code.
static void mark_address(lift *l, uint64_t address) {
    for (uint32_t i = 0; i < l->nfuncs; i++)
        if (address >= l->f->address[l->funcs[i]]) mark(l, l->funcs[i], address - l->f->address[l->funcs[i]]);
}

static bool apply(lift *l, const orr_cubin_func *x, const orr_cubin_reloc *r, uint32_t inst, uint64_t q[2]) {
    bool function;
    uint32_t var = 0;
    uint64_t address = 0;
    const char *symbol = l->cubin->symbols[r->symbol].name;
    if (r->type == R_CUDA_NONE) return true;
    if (!sass_resolve(l->f, r, &function, &var, &address))
        return orr_fail(l->e, ORR_BAD_INPUT, "%s: %s+0x%llx needs '%s', which is not in the file", l->m->path,
                        x->name, (unsigned long long)r->offset, symbol);
    address += (uint64_t)r->addend;
    bool lo = r->type == R_CUDA_ABS32_LO_32 || r->type == R_CUDA_FUNC_DESC32_LO_32;
    bool hi = r->type == R_CUDA_ABS32_HI_32 || r->type == R_CUDA_FUNC_DESC32_HI_32;
    if (r->in_place && (lo || hi)) address += q[0] >> 32;
    if (function) mark_address(l, address);
    if ((lo || hi) && function) {
        put_bits(q, 32, 32, hi ? address >> 32 : address);
    } else if (lo || hi) {
        *ORR_PUSH(&l->fixes) = (orr_fix){.inst = inst, .var = var, .offset = address, .high = hi};
    } else if (function && r->type == R_CUDA_ABS47_34) {
        put_bits(q, 34, 47, address >> 2);
    } else if (function && r->type == R_CUDA_ABS55_16_34) {
        put_bits(q, 16, 8, address >> 2);
        put_bits(q, 34, 47, address >> 10);
    } else {
        return orr_fail(l->e, ORR_BAD_INPUT,
                        "%s: %s+0x%llx has a relocation of type %u for '%s', which Orrery cannot do",
                        l->m->path, x->name, (unsigned long long)r->offset, r->type, symbol);
    }
    return true;
}

static bool decode(lift *l) {
    for (uint32_t i = 0; i < l->nfuncs; i++) {
        const orr_cubin_func *x = &l->cubin->funcs[l->funcs[i]];
        uint32_t first = l->k->funcs[i].first_inst, r = 0;
        for (uint32_t n = 0; n < x->code_bytes / 16; n++) {
            uint64_t q[2];
            memcpy(q, x->code + 16 * (size_t)n, 16); // hosts are little-endian, as the code is
            for (; r < x->nrelocs && x->relocs[r].offset < 16 * ((uint64_t)n + 1); r++)
                if (!apply(l, x, &x->relocs[r], first + n, q)) return false;
            orr_sass_decode(&l->codes[first + n], l->cubin->sm, q, 16 * n);
        }
    }
    return true;
}

const orr_fix *orr_code_fix(const orr_kernel *k, uint32_t n) {
    uint32_t lo = 0, hi = k->code.nfixes;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (k->code.fixes[mid].inst < n)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == k->code.nfixes || k->code.fixes[lo].inst != n ? NULL : &k->code.fixes[lo];
}

const orr_code *orr_code_at(const orr_code *c, const orr_fix *f, uint64_t address, orr_code *buf) {
    uint64_t q[2] = {c->lo, c->hi};
    put_bits(q, 32, 32, f->high ? address >> 32 : address);
    orr_sass_decode(buf, c->sm, q, c->address);
    return buf;
}

const orr_code *orr_code_placed(const orr_kernel *k, uint32_t n, const uint64_t *var_addr, orr_code *buf) {
    const orr_fix *f = orr_code_fix(k, n);
    return f ? orr_code_at(&k->code.insts[n], f, var_addr[f->var] + f->offset, buf) : &k->code.insts[n];
}

// ---- where blocks begin -------------------------------------------------------------------------
static bool moves_immediate(const orr_code *c) {
    return c->op == ORR_SASS_MOV || c->op == ORR_SASS_UMOV ||
           (c->op == ORR_SASS_IMAD && orr_code_mod(c, ORR_SM_PROD) == ORR_SV_PROD_MOV);
}

static bool jumps_indirectly(const orr_code *c) {
    switch (c->op) {
    case ORR_SASS_RET:
    case ORR_SASS_BRX:
    case ORR_SASS_BRXU:
    case ORR_SASS_JMX:
    case ORR_SASS_JMXU:
    case ORR_SASS_RPCMOV: return true;
    default: return false;
    }
}

// Does it let lanes go a few at a time, and is executed again by the others? (exec/sass/converge.c)
static bool is_repeated(const orr_code *c) {
    bool repeated = c->op == ORR_SASS_RET || c->op == ORR_SASS_BRX || c->op == ORR_SASS_JMX ||
                    c->op == ORR_SASS_WARPSYNC || c->op == ORR_SASS_BSYNC;
    for (int a = 0; c->op == ORR_SASS_CALL && a < c->nargs; a++) repeated |= orr_code_span(c, a) != 0;
    return repeated;
}

static void mark_words(lift *l, uint32_t func, const uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; bytes && i + 4 <= n; i += 4) mark(l, func, get32(bytes + i));
}

static void mark_func(lift *l, uint32_t i) {
    uint32_t func = l->funcs[i], first = l->k->funcs[i].first_inst, count = l->k->funcs[i].ninsts;
    const orr_cubin_func *x = &l->cubin->funcs[func];
    bool indirect = false;
    mark(l, func, 0);
    for (uint32_t n = first; n < first + count; n++) indirect |= jumps_indirectly(&l->codes[n]);
    for (uint32_t n = first; n < first + count; n++) {
        const orr_code *c = &l->codes[n];
        if (orr_code_ends_block(c)) mark(l, func, (uint64_t)c->address + 16);
        if (is_repeated(c)) mark(l, func, c->address);
        for (int a = 0; a < c->nargs; a++) {
            const orr_arg *g = &c->args[a];
            if (g->kind == ORR_ARG_TARGET && !(g->shape & (ORR_ARG_HAS_R | ORR_ARG_HAS_UR))) {
                bool absolute = c->op == ORR_SASS_JMP || orr_code_mod(c, ORR_SM_RELABS);
                if (absolute)
                    mark_address(l, (uint64_t)g->value);
                else
                    mark(l, func, (uint64_t)g->value);
            } else if (g->kind == ORR_ARG_INT && indirect && moves_immediate(c)) {
                mark(l, func, (uint64_t)g->value);
            }
        }
    }
    for (uint32_t a = 0; a < x->nattrs; a++) // EIATTR_INDIRECT_BRANCH_TARGETS
        if (x->attrs[a].attribute == 0x34 && x->attrs[a].format == 4)
            mark_words(l, func, x->attrs[a].value, x->attrs[a].bytes);
}

static void find_starts(lift *l) {
    for (uint32_t i = 0; i < l->nfuncs; i++) mark_func(l, i);
    for (uint32_t y = 1; y < l->cubin->nsymbols; y++) {
        const orr_cubin_symbol *s = &l->cubin->symbols[y];
        uint32_t func = s->type == 2 ? l->f->func_of[s->section] : 0;
        if (func) mark(l, func - 1, s->value);
    }
    for (uint32_t v = 0; v < l->m->nvars; v++) { // tables of the kernel's own
        const orr_var *var = &l->m->vars[v];
        const char *point = strncmp(var->name, ".nv.constant", 12) == 0 ? strchr(var->name + 12, '.') : NULL;
        if (point && strcmp(point + 1, l->k->name) == 0)
            for (uint32_t i = 0; i < l->nfuncs; i++) mark_words(l, l->funcs[i], var->init, var->init_bytes);
        for (uint32_t r = 0; r < var->nrelocs; r++)
            if (var->relocs[r].var < 0) mark_address(l, var->relocs[r].value);
    }
}

// ---- instructions -----------------------------------------------------------------------------------
static uint32_t name_of(lift *l, const orr_code *c) {
    l->text.n = 0;
    orr_sass_print_name(&l->text, c);
    uintptr_t at = (uintptr_t)orr_map_get(&l->name_of, l->text.s);
    if (at) return (uint32_t)at - 1;
    *ORR_PUSH(&l->names) = orr_arena_strdup(&l->k->arena, l->text.s);
    orr_map_put(&l->name_of, l->text.s, (void *)(uintptr_t)l->names.n);
    return (uint32_t)l->names.n - 1;
}

static void make_inst(lift *l, orr_inst *i, const orr_code *c, const orr_cubin_func *x) {
    orr_operand operands[ORR_INST_OPERANDS];
    orr_sass_inst(i, c, operands);
    i->name = name_of(l, c);
    i->first = (uint32_t)l->operands.n;
    for (int n = 0; n < i->ndst + i->nsrc; n++) *ORR_PUSH(&l->operands) = operands[n];
    const orr_cubin_line *at = orr_cubin_line_at(x, c->address);
    if (at) {
        i->source.file = at->file < l->m->nfiles ? at->file + 1 : 0;
        i->source.line = at->line;
    }
    bool global = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC;
    bool seen = (orr_ops[i->op].flags & ORR_F_ATOMIC) || (i->mods & ORR_M_VOLATILE);
    if ((orr_ops[i->op].flags & ORR_F_MEMORY) && global && seen) l->k->effects.atomics = true;
}

static void make_blocks(lift *l) {
    orr_kernel *k = l->k;
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->ninsts; i++) n += l->start[i];
    k->blocks = orr_arena_alloc(&k->arena, sizeof *k->blocks * ((size_t)n + 1));
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        orr_func *fn = &k->funcs[f];
        fn->entry = fn->first_block = k->nblocks;
        for (uint32_t i = fn->first_inst; i < fn->first_inst + fn->ninsts; i++) {
            if (l->start[i])
                k->blocks[k->nblocks++] = (orr_block){.first = i, .func = f, .next = -1, .ipdom = -1};
            orr_block *b = &k->blocks[k->nblocks - 1];
            b->count++;
            b->nmem += orr_inst_traced(&k->insts[i]);
            bool last = i + 1 == fn->first_inst + fn->ninsts;
            if (!last && l->start[i + 1] && orr_code_falls_through(&l->codes[i]))
                b->next = (int32_t)k->nblocks;
        }
        fn->nblocks = k->nblocks - fn->first_block;
    }
}

static uint32_t block_at(const orr_kernel *k, uint32_t inst) {
    uint32_t lo = 0, hi = k->nblocks;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (k->blocks[mid].first <= inst)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

// Branches and calls whose target the instruction names.
static void link_targets(lift *l) {
    orr_kernel *k = l->k;
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        const orr_func *fn = &k->funcs[f];
        for (uint32_t n = fn->first_inst; n < fn->first_inst + fn->ninsts; n++) {
            const orr_code *c = &l->codes[n];
            orr_inst *i = &k->insts[n];
            for (int a = 0; a < c->nargs && (i->op == ORR_OP_BRX || i->op == ORR_OP_CALL); a++) {
                const orr_arg *g = &c->args[a];
                if (g->kind != ORR_ARG_TARGET || g->shape & (ORR_ARG_HAS_R | ORR_ARG_HAS_UR)) continue;
                uint64_t to = (uint64_t)g->value;
                if (c->op == ORR_SASS_BRA && to % 16 == 0 && to / 16 < fn->ninsts) {
                    i->op = ORR_OP_BRA;
                    i->target = (int32_t)block_at(k, fn->first_inst + (uint32_t)(to / 16));
                } else if (i->op == ORR_OP_CALL && orr_code_mod(c, ORR_SM_RELABS)) {
                    for (uint32_t t = 0; t < k->nfuncs; t++)
                        if (k->funcs[t].address == to) i->target = (int32_t)t;
                }
            }
        }
    }
}

// ---- the stack --------------------------------------------------------------------------------------
// R1 is the stack's pointer. A register that is added to it is alloca's doing.
static bool moves_stack(const lift *l, const orr_inst *i) {
    bool writes = false, other = false;
    for (int n = 0; n < i->ndst; n++)
        writes |= orr_dst(l->k, i, n)->cls == ORR_W && orr_dst(l->k, i, n)->reg == 1;
    for (int n = 0; n < i->nsrc; n++)
        other |= orr_src(l->k, i, n)->cls == ORR_W && orr_src(l->k, i, n)->reg != 1;
    return writes && other;
}

// How deep calls go is known when only the kernel's own body calls: then the compiler has added it up. A call
// in a function that is called, or through a pointer, may be a recursion.
static void measure_stack(lift *l, const orr_cubin_func *entry) {
    orr_kernel *k = l->k;
    uint64_t stack = entry->stack_bytes > entry->frame_bytes ? entry->stack_bytes : entry->frame_bytes;
    uint64_t body = entry->code_bytes; // where the first function inside the entry's section begins
    for (uint32_t y = 1; y < l->cubin->nsymbols; y++) {
        const orr_cubin_symbol *s = &l->cubin->symbols[y];
        if (s->section == entry->section && s->type == 2 && s->value && s->value < body) body = s->value;
    }
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        const orr_func *fn = &k->funcs[f];
        if (f) stack += l->cubin->funcs[l->funcs[f]].frame_bytes;
        for (uint32_t n = fn->first_inst; n < fn->first_inst + fn->ninsts; n++) {
            const orr_code *c = &l->codes[n];
            if (moves_stack(l, &k->insts[n])) k->recursive = true;
            if (c->op != ORR_SASS_CALL) continue;
            bool direct = true, provided = false;
            for (int a = 0; a < c->nargs; a++) {
                direct &= orr_code_span(c, a) == 0 && orr_code_uspan(c, a) == 0;
                provided |= c->args[a].kind == ORR_ARG_TARGET && (uint64_t)c->args[a].value < ORR_CODE_BASE;
            }
            provided = direct && provided && orr_code_mod(c, ORR_SM_RELABS);
            if (provided) k->effects.atomics = true;
            if (provided) continue;
            bool system = !direct && orr_code_mod(c, ORR_SM_RELABS) && k->nfuncs == 1; // vprintf, malloc
            if (system || (!direct && l->f->system))
                k->effects.atomics = true; // output and the heap keep the blocks' order
            if (!system && (!direct || f || c->address >= body)) k->recursive = true;
        }
    }
    k->stack_bytes = (uint32_t)(stack > 1u << 24 ? 1u << 24 : stack);
}

// ---- the kernel -------------------------------------------------------------------------------------
// Who launches copies arguments to these offsets without a second look: they are checked here.
static bool make_params(lift *l, const orr_cubin_func *x) {
    orr_kernel *k = l->k;
    k->code.param_base = x->param_base;
    k->param_bytes = x->param_bytes;
    k->nparams = x->nparams;
    k->params = orr_arena_alloc(&k->arena, sizeof *k->params * ((size_t)x->nparams + 1));
    for (uint32_t i = 0; i < x->nparams; i++) {
        uint32_t bytes = x->params[i].bytes, offset = x->params[i].offset;
        if (offset > k->param_bytes || bytes > k->param_bytes - offset)
            return orr_fail(l->e, ORR_BAD_INPUT,
                            "%s: parameter %u of '%s' is %u bytes at %u of %u: the file is damaged",
                            l->m->path, i + 1, k->name, bytes, offset, k->param_bytes);
        uint8_t type = bytes == 8 ? ORR_T_B64 : bytes == 4 ? ORR_T_B32 : bytes == 2 ? ORR_T_B16 : ORR_T_B8;
        k->params[i] = (orr_param){.name = orr_arena_printf(&k->arena, "%.200s_param_%u", k->name, i),
                                   .type = type,
                                   .align = bytes == 8 || bytes == 4 || bytes == 2 ? (uint8_t)bytes : 1,
                                   .pointer = bytes == 8,
                                   .offset = offset,
                                   .bytes = bytes};
    }
    k->funcs[0].params = k->params;
    k->funcs[0].nparams = k->nparams;
    return true;
}

static bool make_funcs(lift *l) {
    orr_kernel *k = l->k;
    k->nfuncs = l->nfuncs;
    k->funcs = orr_arena_alloc(&k->arena, sizeof *k->funcs * l->nfuncs);
    uint64_t n = 0;
    for (uint32_t i = 0; i < l->nfuncs; i++) {
        const orr_cubin_func *x = &l->cubin->funcs[l->funcs[i]];
        k->funcs[i] = (orr_func){.name = orr_arena_strdup(&k->arena, x->name),
                                 .first_inst = (uint32_t)n,
                                 .ninsts = x->code_bytes / 16,
                                 .local_bytes = x->frame_bytes,
                                 .address = l->f->address[l->funcs[i]]};
        k->funcs[i].nregs[ORR_W] = NREGS_W;
        k->funcs[i].nregs[ORR_P] = NREGS_P;
        n += x->code_bytes / 16;
        if (!x->code_bytes) return orr_fail(l->e, ORR_BAD_INPUT, "%s: '%s' has no code", l->m->path, x->name);
        if (n > MAX_INSTS)
            return orr_fail(l->e, ORR_BAD_INPUT, "%s: '%s' has more than %u instructions", l->m->path,
                            k->name, MAX_INSTS);
    }
    k->ninsts = (uint32_t)n;
    return true;
}

static void resources(lift *l, const orr_cubin_func *x) {
    orr_kernel *k = l->k;
    // Hopper and later: the system has the first 1024 bytes of a block's shared memory, which the sizes in
    // the file count where the kernel has any.
    k->shared_base = l->cubin->sm >= 90 ? 1024 : 0;
    k->shared_bytes = x->shared_bytes > k->shared_base ? x->shared_bytes - k->shared_base : 0;
    k->regs = x->regs;
    k->barriers = x->barriers;
    for (uint32_t i = 1; i < l->nfuncs; i++) { // what it calls counts too
        const orr_cubin_func *y = &l->cubin->funcs[l->funcs[i]];
        if (y->regs > k->regs) k->regs = y->regs;
        if (y->barriers > k->barriers) k->barriers = y->barriers;
    }
    memcpy(k->bounds.maxntid, x->maxntid, sizeof k->bounds.maxntid);
    memcpy(k->bounds.reqntid, x->reqntid, sizeof k->bounds.reqntid);
    memcpy(k->bounds.cluster, x->cluster, sizeof k->bounds.cluster);
    k->machine = k->control = true;
    k->code.bank0 = x->constant0;
    k->code.bank0_bytes = x->constant0_bytes;
}

static void *kept(orr_kernel *k, const void *at, size_t bytes) {
    void *p = orr_arena_alloc(&k->arena, bytes + 1);
    if (bytes) memcpy(p, at, bytes);
    return p;
}

static bool make_kernel(lift *l, uint32_t entry) {
    orr_kernel *k = l->k;
    const orr_cubin_func *x = &l->cubin->funcs[entry];
    collect(l, entry);
    if (!make_funcs(l)) return false;
    l->codes = orr_arena_alloc(&k->arena, sizeof *l->codes * ((size_t)k->ninsts + 1));
    l->start = orr_calloc((size_t)k->ninsts + 1, 1);
    if (!decode(l)) return false;
    find_starts(l);
    k->insts = orr_arena_alloc(&k->arena, sizeof *k->insts * ((size_t)k->ninsts + 1));
    for (uint32_t f = 0; f < k->nfuncs; f++)
        for (uint32_t n = k->funcs[f].first_inst, end = n + k->funcs[f].ninsts; n < end; n++)
            make_inst(l, &k->insts[n], &l->codes[n], &l->cubin->funcs[l->funcs[f]]);
    k->code.insts = l->codes;
    k->operands = kept(k, l->operands.at, l->operands.n * sizeof *l->operands.at);
    k->noperands = (uint32_t)l->operands.n;
    k->names = kept(k, l->names.at, l->names.n * sizeof *l->names.at);
    k->nnames = (uint32_t)l->names.n;
    k->code.fixes = kept(k, l->fixes.at, l->fixes.n * sizeof *l->fixes.at);
    k->code.nfixes = (uint32_t)l->fixes.n;
    make_blocks(l);
    link_targets(l);
    if (!make_params(l, x)) return false;
    resources(l, x);
    measure_stack(l, x);
    sass_effects(k);
    return true;
}

orr_kernel *sass_lift(orr_module *m, const orr_cubin_func *entry, orr_err *e) {
    const sass_front *f = m->front;
    orr_arena arena = {0};
    orr_kernel *k = orr_arena_alloc(&arena, sizeof *k);
    k->arena = arena;
    k->module = m;
    k->name = orr_arena_strdup(&k->arena, entry->name);
    lift l = {.m = m, .f = f, .cubin = f->cubin, .k = k, .e = e};
    l.funcs = orr_calloc((size_t)f->cubin->nfuncs + 1, sizeof *l.funcs);
    l.place = orr_calloc((size_t)f->cubin->nfuncs + 1, sizeof *l.place);
    bool ok = make_kernel(&l, (uint32_t)(entry - f->cubin->funcs));
    free(l.funcs);
    free(l.place);
    free(l.start);
    free(l.operands.at);
    free(l.names.at);
    free(l.fixes.at);
    free(l.text.s);
    orr_map_free(&l.name_of);
    if (ok) return k;
    orr_arena a = k->arena;
    orr_arena_free(&a);
    return NULL;
}
