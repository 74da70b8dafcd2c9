// Predecoding: a kernel made ready for one launch.
//
// Every instruction becomes a micro-op with its handlers picked and its operands turned into bank
// and offset; immediates and symbol addresses become broadcast constants, each distinct one once.
#include <stdlib.h>
#include <string.h>

#include "exec/jit/jit.h"
#include "exec/sass/translate.h"
#include "isa/fence.h"

#define HOT 50 // times: to compile a block takes about as long as to interpret it ten times

// ---- operands -------------------------------------------------------------------------------
// A destination that is not wanted (the sink) gets the widest register, after the function's last,
// so that a handler need not look.
static oper make_oper(decoded *p, const orr_operand *o, const orr_func *sink) {
    const orr_launch *l = p->launch;
    switch (o->kind) {
    case ORR_K_REG: return (oper){o->reg * reg_bytes(o->cls), o->cls, o->cls, o->neg, 0};
    case ORR_K_IMM: return (oper){orr_constant(&p->pool, o->cls, o->value), BANK_CONST, o->cls, o->neg, 0};
    case ORR_K_SYMBOL:
        return (oper){orr_constant(&p->pool, o->cls, orr_image_address(l->image, o->reg, o->value)),
                      BANK_CONST, o->cls, 0, 0};
    default:
        if (sink) return (oper){sink->nregs[ORR_Q] * reg_bytes(ORR_Q), BANK_Q, o->cls, 0, 1};
        return (oper){orr_constant(&p->pool, ORR_Q, 0), BANK_CONST, o->cls, 0, 1};
    }
}

// ---- handlers -------------------------------------------------------------------------------
static void nothing(warp *w, const uop *u) {
    (void)w;
    (void)u;
}

static bool decides(const orr_inst *i) { return (orr_ops[i->op].flags & ORR_F_END) != 0; }

handlers orr_pick(const orr_kernel *k, const orr_inst *i, const char **why) {
    static handlers (*const families[])(const orr_kernel *, const orr_inst *, const char **) = {
        orr_pick_memory, orr_pick_system, orr_pick_cvt,  orr_pick_float,  orr_pick_int, orr_pick_lanes,
        orr_pick_atomic, orr_pick_wgmma,  orr_pick_bulk, orr_pick_remote, orr_pick_mma, orr_pick_texture,
    };
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        handlers h = families[f](k, i, why);
        if (h.full) return (handlers){h.full, h.masked ? h.masked : h.full};
    }
    return (handlers){0};
}

static bool pick(decoded *p, uop *u, const orr_inst *i, orr_err *e) {
    if (i->op == ORR_OP_MEMBAR && i->cmp == ORR_FENCE_MAPS) {
        u->full = u->masked = orr_maps_fence;
        return true;
    }
    if (decides(i) || i->op == ORR_OP_NOP || i->op == ORR_OP_MEMBAR || i->op == ORR_OP_CPCOMMIT ||
        i->op == ORR_OP_CPWAIT || i->op == ORR_OP_BRKPT || i->op == ORR_OP_DISCARD ||
        i->op == ORR_OP_PREFETCH) {
        u->full = u->masked = nothing;
        return true;
    }
    const char *why = NULL;
    handlers h = orr_pick(p->kernel, i, &why);
    if (h.full) {
        u->full = h.full;
        u->masked = h.masked;
        return true;
    }
    const orr_type_info *t = &orr_types[i->type < ORR_T_COUNT ? i->type : 0];
    return orr_fail(e, ORR_BAD_INPUT, "%s:%u: '%s' of type '%s' in kernel '%s' is not supported%s%s",
                    p->kernel->module ? p->kernel->module->path : "?", i->line, orr_ops[i->op].name, t->name,
                    p->kernel->name, why ? ": " : "", why ? why : "");
}

static void make_tids(decoded *p) {
    const uint32_t *d = p->launch->block;
    p->tid = orr_arena_alloc(&p->arena, (size_t)p->nwarps * 3 * ORR_WARP * sizeof *p->tid);
    for (uint32_t t = 0; t < p->nwarps * ORR_WARP; t++) {
        uint32_t *at = p->tid + (size_t)(t / ORR_WARP) * 3 * ORR_WARP + t % ORR_WARP;
        at[0] = t % d[0];
        at[ORR_WARP] = t / d[0] % d[1];
        at[2 * ORR_WARP] = t / d[0] / d[1];
    }
}

static bool decode(decoded *p, const orr_launch *l, orr_err *e) {
    const orr_kernel *k = l->kernel;
    *p = (decoded){.launch = l, .kernel = k, .scratch = UINT32_MAX};
    p->threads = l->block[0] * l->block[1] * l->block[2];
    p->nwarps = (p->threads + ORR_WARP - 1) / ORR_WARP;
    p->reserved_at = p->shared_bytes = ((k->shared_base + k->shared_bytes + 15) & ~15u) + l->dynamic_shared;
    for (uint32_t n = 0; n < k->ninsts; n++) { // cooperative groups keep state of large tiles there
        uint32_t sreg = k->insts[n].op == ORR_OP_SREG ? k->insts[n].imm : 0;
        if (sreg < ORR_SREG_RESERVED_SMEM || sreg > ORR_SREG_RESERVED_SMEM_SIZE) continue;
        p->reserved_at = (p->shared_bytes + 127) & ~127u;
        p->shared_bytes = p->reserved_at + RESERVED;
        break;
    }
    p->sm_count = l->sm_count ? l->sm_count : 1;
    p->local_bytes = orr_kernel_local(k);
    if (k->code.insts) orr_sass_sizes(p);
    make_tids(p);
    if (k->code.insts) return orr_sass_translate(p, e);
    for (int c = 0; c < ORR_CLASSES; c++) p->rows[c] = k->funcs[0].nregs[c];
    p->uops = orr_arena_alloc(&p->arena, (k->ninsts + 1) * sizeof *p->uops);
    oper *opers = orr_arena_alloc(&p->arena, (k->noperands + 1) * sizeof *opers);
    bool ok = true;
    const orr_func *f = k->funcs;
    for (uint32_t n = 0; n < k->ninsts && ok; n++) {
        const orr_inst *i = &k->insts[n];
        while (n >= f->first_inst + f->ninsts) f++;
        uop *u = &p->uops[n];
        oper *at = opers + i->first;
        int nops = i->ndst + i->nsrc;
        for (int o = 0; o < nops; o++)
            at[o] = make_oper(p, &k->operands[i->first + (uint32_t)o], o < i->ndst ? f : NULL);
        oper none = make_oper(p, &(orr_operand){0}, NULL);
        u->all = at;
        u->d = i->ndst > 0 ? at[0] : none;
        u->a = i->nsrc > 0 ? at[i->ndst] : none;
        u->b = i->nsrc > 1 ? at[i->ndst + 1] : none;
        u->c = i->nsrc > 2 ? at[i->ndst + 2] : none;
        u->inst = i;
        u->imm = i->imm;
        u->ndst = i->ndst;
        u->nsrc = i->nsrc;
        u->guard = i->guard < 0 ? -1 : i->guard * 4;
        u->guard_neg = i->guard_neg;
        u->traced = orr_inst_traced(i);
        if (orr_ops[i->op].flags & ORR_F_MEMORY) u->mem = p->nmem++;
        ok = pick(p, u, i, e);
    }
    p->blocks = orr_arena_alloc(&p->arena, (k->nblocks + 1) * sizeof *p->blocks);
    for (uint32_t n = 0; n < k->nblocks && ok; n++) {
        const orr_block *src = &k->blocks[n];
        xblock *x = &p->blocks[n];
        x->first = p->uops + src->first;
        x->end = x->first + src->count;
        x->count = orr_block_counts(k, src);
        x->next = src->next;
        x->ipdom = src->ipdom;
        if (x->ipdom >= 0) {
            const orr_block *to = &k->blocks[x->ipdom];
            const orr_inst *i = &k->insts[to->first];
            x->parts =
                !to->func && to->count == 1 && i->guard < 0 && (i->op == ORR_OP_RET || i->op == ORR_OP_EXIT);
        }
        const orr_operand *members = orr_inst_waits_for(k, x->first->inst);
        if (members) {
            x->waits = x->first;
            x->members = make_oper(p, members, NULL);
        }
        for (const uop *u = x->first; u < x->end; u++)
            x->polls |= (orr_ops[u->inst->op].flags & ORR_F_ATOMIC) || (u->inst->mods & ORR_M_VOLATILE) ||
                        u->inst->op == ORR_OP_NANOSLEEP;
        if (decides(x->end[-1].inst)) x->last = --x->end;
    }
    if (ok) orr_polls(p);
    if (ok) orr_shapes(p);
    p->constants = orr_constants_take(&p->pool);
    if (!ok) orr_decoded_free(p);
    return ok;
}

// ORR_JIT_*, as the launch says or, where it does not, the environment.
static int jit_of(const orr_launch *l) {
    const char *v = l->jit == ORR_JIT_AUTO ? getenv("ORRERY_JIT") : NULL;
    if (v && !strcmp(v, "on")) return ORR_JIT_ON;
    if (v && !strcmp(v, "off")) return ORR_JIT_OFF;
    return l->jit;
}

// How it ends, where that is one of the usual ways.
static void find_end(const decoded *p, xblock *x) {
    if (!x->last)
        x->ends = ENDS_NEXT;
    else if (p->kernel->code.insts)
        orr_sass_ends(x);
    else if (x->last->inst->op == ORR_OP_BRA)
        x->ends = ENDS_BRANCH;
}

static bool wants_avx512(int jit) {
    const char *v = getenv("ORRERY_AVX512");
    if (jit == ORR_JIT_AVX2 || (v && !strcmp(v, "off"))) return false;
    return jit == ORR_JIT_ON || (v && !strcmp(v, "on")) || orr_jit_wide_pays();
}

bool orr_decode(decoded *p, const orr_launch *l, orr_err *e) {
    if (!decode(p, l, e)) return false;
    for (uint32_t n = 0; n < p->kernel->nblocks; n++) find_end(p, &p->blocks[n]);
    int jit = jit_of(l);
    if (jit != ORR_JIT_OFF) p->jit = orr_jit_open(p, wants_avx512(jit));
    if (p->jit) p->jitted = orr_jit_blocks(p->jit);
    p->hot = jit == ORR_JIT_AUTO ? HOT : 1;
    return true;
}

void orr_decoded_free(decoded *p) {
    orr_jit_close(p->jit);
    p->jit = NULL;
    free(p->constants);
    p->constants = NULL;
    orr_arena_free(&p->arena);
}
