// Finishing a kernel that a front end has filled, and printing one.
#include "isa/cfg.h"

static void facts(orr_kernel *k) {
    for (uint32_t n = 0; n < k->ninsts; n++) {
        orr_inst *i = &k->insts[n];
        uint16_t flags = orr_ops[i->op].flags;
        i->unit = orr_inst_unit(i);
        bool global = i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC;
        bool seen = (flags & ORR_F_ATOMIC) || (i->mods & ORR_M_VOLATILE);
        if ((flags & ORR_F_MEMORY) && seen && global) k->effects.atomics = true;
        if (i->op == ORR_OP_SYSCALL) k->effects.atomics = true; // output and the heap keep the blocks' order
        if (i->op == ORR_OP_BAR && i->nsrc > 0) {
            const orr_operand *id = orr_src(k, i, 0);
            uint32_t need = id->kind == ORR_K_IMM ? (uint32_t)(id->value & 15) + 1 : 16;
            if (need > k->barriers) k->barriers = need;
        }
    }
    for (uint32_t b = 0; b < k->nblocks; b++) {
        orr_block *blk = &k->blocks[b];
        blk->nmem = 0;
        for (uint32_t n = blk->first; n < blk->first + blk->count; n++)
            blk->nmem += orr_inst_traced(&k->insts[n]);
    }
}

bool orr_kernel_finish(orr_kernel *k, orr_err *e) {
    if (!orr_cfg_build(k, e)) return false;
    orr_cfg_postdom(k);
    orr_reductions(k);
    orr_effects(k);
    orr_liveness(k);
    facts(k);
    return true;
}

// ---- listing --------------------------------------------------------------------------------
static void print_operand(const orr_operand *o, const orr_kernel *k, orr_text *out) {
    static const char letter[ORR_CLASSES] = {'p', 'h', 'r', 'd', 'q'};
    switch (o->kind) {
    case ORR_K_REG: orr_text_add(out, "%s%%%c%u", o->neg ? "!" : "", letter[o->cls], o->reg); break;
    case ORR_K_IMM: orr_text_add(out, "0x%llx", (unsigned long long)o->value); break;
    case ORR_K_SYMBOL:
        orr_text_add(out, "%s+%lld",
                     k->module && o->reg < k->module->nvars ? k->module->vars[o->reg].name : "?",
                     (long long)o->value);
        break;
    default: orr_text_add(out, "_"); break;
    }
}

static void print_inst(const orr_kernel *k, const orr_inst *i, orr_text *out) {
    orr_text_add(out, "    %6u  ", i->line);
    if (i->guard >= 0) orr_text_add(out, "@%s%%p%d ", i->guard_neg ? "!" : "", i->guard);
    orr_text_add(out, "%s", orr_ops[i->op].name);
    if (i->space != ORR_SPACE_NONE) orr_text_add(out, ".%s", orr_space_name[i->space]);
    if (i->vec > 1) orr_text_add(out, ".v%u", i->vec);
    if (i->type != ORR_T_NONE && i->type < ORR_T_COUNT) orr_text_add(out, ".%s", orr_types[i->type].name);
    if (i->stype != ORR_T_NONE && i->stype < ORR_T_COUNT) orr_text_add(out, ".%s", orr_types[i->stype].name);
    for (int o = 0; o < i->ndst + i->nsrc; o++) {
        orr_text_add(out, o ? (o == i->ndst ? " <- " : ", ") : (i->ndst ? " " : " <- "));
        print_operand(&k->operands[i->first + (uint32_t)o], k, out);
    }
    if (i->disp) orr_text_add(out, " %+d", i->disp);
    if (i->op == ORR_OP_BRA) orr_text_add(out, " -> B%d", i->target);
    if (i->op == ORR_OP_CALL && i->target >= 0) orr_text_add(out, " -> %s", k->funcs[i->target].name);
    orr_text_add(out, "  [%s]\n", orr_unit_name[i->unit]);
}

// Machine code by its mnemonics and registers; `orrery disasm` has the whole text.
static void print_machine(const orr_kernel *k, const orr_inst *i, orr_text *out) {
    static const char *const file[2][2] = {{"P", "UP"}, {"R", "UR"}}; // vector, uniform
    orr_text_add(out, "    %06x  ", i->line);
    if (i->guard >= 0)
        orr_text_add(out, "@%s%s%d ", i->guard_neg ? "!" : "", i->guard < 8 ? "P" : "UP", i->guard & 7);
    orr_text_add(out, "%s", i->name < k->nnames ? k->names[i->name] : orr_sass[i->sass].name);
    for (int o = 0; o < i->ndst + i->nsrc; o++) {
        const orr_operand *x = &k->operands[i->first + (uint32_t)o];
        uint32_t first = x->cls == ORR_P ? 8 : 256;
        bool uniform = x->reg >= first;
        orr_text_add(out, "%s%s%u", o == i->ndst ? " <- " : " ", file[x->cls != ORR_P][uniform],
                     x->reg - (uniform ? first : 0));
    }
    if (i->op == ORR_OP_BRA) orr_text_add(out, " -> B%d", i->target);
    if (i->op == ORR_OP_CALL && i->target >= 0) orr_text_add(out, " -> %s", k->funcs[i->target].name);
    orr_text_add(out, "  [%s]\n", orr_unit_name[i->unit]);
}

// Recursive programs get a stack of this many bytes, others what they need; alloca comes out of the same.
#define STACK_BYTES 16384u

uint32_t orr_kernel_local(const orr_kernel *k) {
    bool grows = k->recursive;
    for (uint32_t n = 0; n < k->ninsts && !grows; n++) grows = k->insts[n].op == ORR_OP_ALLOCA;
    return ((k->stack_bytes + 15) & ~15u) + (grows ? STACK_BYTES : 0);
}

void orr_kernel_print(const orr_kernel *k, orr_text *out) {
    orr_text_add(out,
                 "kernel %s: %u instructions in %u blocks, %u registers a thread, %u bytes shared, %u bytes "
                 "of parameters\n",
                 k->name, k->ninsts, k->nblocks, k->regs, k->shared_bytes, k->param_bytes);
    for (uint32_t f = 0; f < k->nfuncs; f++) {
        const orr_func *fn = &k->funcs[f];
        orr_text_add(out, "\nfunction %s: %u bytes of local memory\n", fn->name, fn->local_bytes);
        for (uint32_t b = fn->first_block; b < fn->first_block + fn->nblocks; b++) {
            const orr_block *blk = &k->blocks[b];
            orr_text_add(out, "  B%u", b);
            int ns = orr_succ_count(k, blk);
            for (int s = 0; s < ns; s++) orr_text_add(out, "%sB%u", s ? ", " : " -> ", orr_succ(k, blk, s));
            if (blk->ipdom >= 0) orr_text_add(out, "  (meet at B%d)", blk->ipdom);
            orr_text_add(out, "\n");
            for (uint32_t n = blk->first; n < blk->first + blk->count; n++)
                (k->machine ? print_machine : print_inst)(k, &k->insts[n], out);
        }
    }
}

const char *orr_module_kernel_meant(const orr_module *m, const char *name) {
    const char *meant = NULL;
    for (uint32_t i = 0; i < m->nkernels; i++) {
        if (!orr_name_is(name, m->kernel_names[i])) continue;
        if (meant) return NULL;
        meant = m->kernel_names[i];
    }
    return meant;
}
