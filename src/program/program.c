// The program of a kernel (program.h): made from machine instructions as they are, or from PTX by the
// lowering; and what both share: looking an instruction up in the GPU description, and what its operands cost
// to read.
#include "program/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa/observable.h"
#include "program/named.h"
#include "sass/sass.h"

static void *grown(void *at, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return at;
    *cap = *cap ? *cap * 2 : 64;
    return orr_realloc(at, *cap * size);
}

static uint16_t cycles(double v) {
    if (!(v > 0)) return 0;
    return v > 60000 ? 60000 : (uint16_t)ceil(v - 1e-9);
}

static uint32_t intern(orr_program *p, const char *name) {
    for (uint32_t i = p->nnames; i-- > 0;)
        if (p->names[i] == name || strcmp(p->names[i], name) == 0) return i;
    p->names = grown(p->names, p->nnames, &p->names_cap, sizeof *p->names);
    p->names[p->nnames] = orr_arena_strdup(&p->arena, name);
    return p->nnames++;
}

enum orr_atomic_op orr_atomic_op_of(const char *mnemonic) {
    const char *swap = strstr(mnemonic, ".CAS");
    if (swap) return swap[4] == 'T' ? ORR_ATOMIC_SWAP_TEST : ORR_ATOMIC_SWAP;
    bool real = strstr(mnemonic, ".F32") || strstr(mnemonic, ".F64") || strstr(mnemonic, ".F16") ||
                strstr(mnemonic, ".BF16");
    return real && strstr(mnemonic, ".ADD") ? ORR_ATOMIC_FLOAT_ADD : ORR_ATOMIC_PLAIN;
}

// A product of a group of warps takes as long as D has columns: "HGMMA.64x256x16.F32", or as long as it takes
// to read A and B. What reads D next, another such product, needs no more; who waits for it does
// (tensor.group_latency, which a wait has as its latency).
static void group_product(const orr_program *p, orr_tinst *i) {
    const orr_gpu *g = p->gpu;
    const char *x = strstr(p->names[i->name], "64x");
    double columns = x ? strtod(x + 3, NULL) : 64, time = columns / g->tensor_group_columns;
    double fetch =
        i->imm & ORR_PRODUCT_REGISTERS ? 0 : g->tensor_group_fetch + columns / g->tensor_group_fetch_columns;
    if (time < fetch) time = fetch;
    i->kind = ORR_TK_PRODUCT;
    i->interval = i->latency = cycles(time);
    i->warps = cycles((fetch > 0 ? fetch : columns / g->tensor_group_fetch_columns) / 4);
}

// What an instruction of Hopper's asynchronous units is, once its name and imm are known.
static void asynchronous(const orr_program *p, orr_tinst *i) {
    switch (i->sass) {
    case ORR_SASS_HGMMA:
    case ORR_SASS_IGMMA:
    case ORR_SASS_QGMMA:
    case ORR_SASS_BGMMA: group_product(p, i); break;
    case ORR_SASS_WARPGROUP:
        if (!(i->imm & ORR_PRODUCT_WAITS)) break;
        i->kind = ORR_TK_PRODUCT_WAIT;
        i->imm &= ORR_PRODUCT_WAITS - 1;
        i->latency = cycles(p->gpu->tensor_group_latency);
        break;
    case ORR_SASS_UCGABAR_ARV: i->flags |= ORR_TF_ARRIVE; // fall through
    case ORR_SASS_UCGABAR_WAIT:
        i->kind = ORR_TK_BARRIER; // of the cluster (model/cycle/cluster.h); elsewhere as if of the block
        i->imm = 64;
        break;
    case ORR_SASS_UTMACMDFLUSH: i->kind = ORR_TK_GROUP; break;
    case ORR_SASS_PREEXIT:
    case ORR_SASS_ACQBULK:
        i->kind = ORR_TK_NEXT_GRID;
        i->imm = i->sass == ORR_SASS_ACQBULK;
        break;
    }
}

orr_tinst *orr_program_add(orr_program *p, enum orr_sass op, const char *mnemonic, uint8_t tclass,
                           uint8_t kind) {
    p->insts = grown(p->insts, p->ninsts, &p->insts_cap, sizeof *p->insts);
    orr_tinst *i = &p->insts[p->ninsts];
    *i = (orr_tinst){.sass = (uint16_t)op,
                     .tclass = tclass,
                     .kind = kind,
                     .access = ORR_NO_ACCESS,
                     .regs = p->nregs,
                     .pc = p->ninsts *
                           (p->gpu->cc_major < 7 ? 8 : 16), // bytes an instruction has, since Volta 16
                     .atomic = (uint8_t)orr_atomic_op_of(mnemonic),
                     .name = intern(p, mnemonic)};
    p->ninsts++;
    if (p->nblocks) p->blocks[p->nblocks - 1].count++;
    const orr_gpu_op *o = orr_gpu_op_for(p->gpu, mnemonic, orr_tclass_name[tclass]);
    if (o) {
        i->unit = (uint8_t)o->unit_index;
        i->latency = cycles(o->latency);
        i->interval = cycles(orr_gpu_op_interval(p->gpu, o));
        i->hold = (uint8_t)cycles(o->hold);
        i->dispatch = (uint8_t)o->dispatch;
        i->settled = (uint8_t)o->settled;
        i->result = (uint8_t)o->result;
    }
    if (!i->interval) i->interval = 1;
    return i;
}

void orr_program_reg(orr_program *p, orr_tinst *i, uint16_t reg, bool dst) {
    if (reg >= ORR_TREGS || i->nsrc + i->ndst >= 200) return;
    if (!p->place[reg]) {
        p->reg[p->nplaces] = reg;
        p->place[reg] = (uint16_t)++p->nplaces;
    }
    p->regs = grown(p->regs, p->nregs, &p->regs_cap, sizeof *p->regs);
    p->regs[p->nregs++] = (uint16_t)(p->place[reg] - 1);
    if (dst)
        i->ndst++;
    else
        i->nsrc++;
}

// Which of the operand cache's places source s is read through, 0: none. Where nothing is said, it is the
// order of the sources.
static uint64_t cache_place(const orr_program *p, const orr_tinst *i, int s) {
    const orr_kernel *k = p->kernel;
    const orr_inst *from = k->machine && i->inst < k->ninsts ? &k->insts[i->inst] : NULL;
    bool said = false;
    for (int t = 0; from && t < from->nsrc; t++) said |= orr_src(k, from, t)->value != 0;
    if (!said) return (uint64_t)s + 1;
    return s < from->nsrc ? orr_src(k, from, s)->value : 0;
}

// Source s and the one behind it are the halves of a pair: only the first has a place.
static bool is_pair(const orr_program *p, const orr_tinst *i, int s) {
    const uint16_t *r = p->regs + i->regs;
    return s + 1 < i->nsrc && p->reg[r[s + 1]] == p->reg[r[s]] + 1 && !cache_place(p, i, s + 1);
}

// Code without control bits that ptxas would have written them for (PTX, lowered): which place source s is
// read through, and whether it stays there. ptxas keeps an operand of 32 bits that the next instruction reads
// again at the same place.
static uint64_t lowered_place(const orr_program *p, const orr_tinst *i, int s) {
    bool wide = i->tclass == ORR_TC_FP64 || i->sass == ORR_SASS_IMAD || i->kind != ORR_TK_ALU;
    bool known = !p->kernel->machine && p->gpu->cc_major >= 9; // what ptxas does was looked at for sm_90
    return wide || i->nsrc > ORR_READ_PAIRS || !known ? 0 : (uint64_t)s + 1;
}

static bool lowered_keeps(const orr_program *p, const orr_tinst *i, int s) {
    const orr_tinst *next = i + 1;
    if (next >= p->insts + p->ninsts || !lowered_place(p, next, s) || s >= next->nsrc) return false;
    return p->regs[next->regs + (uint32_t)s] == p->regs[i->regs + (uint32_t)s];
}

// What an instruction reads from the register banks, on a core without collectors. Instructions of memory and
// tensor instructions take their operands over several cycles, and are in nobody's way.
void orr_program_banks(orr_program *p, uint32_t first) {
    const orr_gpu *g = p->gpu;
    if (g->core_kind != ORR_CORE_MODERN || g->regs_banks <= 0) return;
    for (uint32_t n = first; n < p->ninsts; n++) {
        orr_tinst *i = &p->insts[n];
        i->reads = p->nreads;
        int results = 0; // predicates go elsewhere
        for (int d = i->nsrc; d < i->nsrc + i->ndst; d++)
            results += p->reg[p->regs[i->regs + (uint32_t)d]] < ORR_TREG_P;
        if (!results) i->result = 0;
        if (!i->window) i->window = (uint8_t)g->regs_window;
        bool memory = i->kind == ORR_TK_MEM;
        if (memory || (i->tclass >= ORR_TC_TENSOR && i->tclass <= ORR_TC_TENSOR_FP64)) continue;
        int reads[256] = {0}, worst = 0;
        orr_read r = {0};
        for (int s = 0; s < i->nsrc; s++) {
            uint16_t reg = p->reg[p->regs[i->regs + (uint32_t)s]];
            if (reg >= ORR_TREG_P) continue;
            uint64_t place = !g->regs_reuse ? 0 : p->control ? cache_place(p, i, s) : lowered_place(p, i, s);
            bool kept = place && !p->control && lowered_keeps(p, i, s);
            bool second = !place && reg == r.reg + 1; // half of a pair
            if (second) place = r.place;
            if (place > ORR_READ_PAIRS && !second) place = 0; // no such place
            if (place && !second && !memory && p->control && is_pair(p, i, s)) place += ORR_READ_PAIRS;
            r = (orr_read){.reg = reg, .bank = (uint8_t)(reg % g->regs_banks % ORR_READ_BANKS)};
            r.place = (uint8_t)place;
            r.early = place ? place <= 2 : s == 0;
            r.kept = kept ||
                     (r.place && p->control && ORR_CTRL_REUSE(i->ctrl) >> (r.place - 1) % ORR_READ_PAIRS & 1);
            if (r.place > ORR_READ_PAIRS) i->window = 0;
            for (int t = 0; t < s; t++)
                r.again |= p->regs[i->regs + (uint32_t)t] == p->regs[i->regs + (uint32_t)s];
            p->reads = grown(p->reads, p->nreads, &p->reads_cap, sizeof *p->reads);
            p->reads[p->nreads++] = r;
            i->nreads++;
            if (!r.again && ++reads[reg % g->regs_banks] > worst) worst++;
        }
        int extra = (worst + g->regs_ports - 1) / g->regs_ports - 1;
        i->nbanks = (uint8_t)(extra > 0 && !memory ? extra : 0);
    }
}

// ---- machine instructions as they are ---------------------------------------------------------------------
static uint16_t predicate_of(uint32_t p) { // P0 to P6, uniform ones from 8 on; PT is no register
    if (p % 8 == 7 || p >= 16) return ORR_TREGS;
    return (uint16_t)(p < 8 ? ORR_TREG_P + p : ORR_TREG_UP + p - 8);
}

static uint16_t register_of(const orr_operand *o) {
    if (o->kind != ORR_K_REG) return ORR_TREGS;
    if (o->cls == ORR_P) return predicate_of(o->reg);
    uint32_t u = o->reg - 256; // uniform ones follow
    if (o->reg >= 256) return u < ORR_TREG_UP - ORR_TREG_U ? (uint16_t)(ORR_TREG_U + u) : ORR_TREGS;
    return (uint16_t)o->reg;
}

uint8_t orr_program_constant(orr_program *p, uint32_t line) { // its number, + 1
    uint32_t n = 0;
    while (n < p->nconstants && p->constants[n] != line) n++;
    if (n == sizeof p->constants / sizeof *p->constants) return 0; // so many that one more does not matter
    if (n == p->nconstants) p->constants[p->nconstants++] = line;
    return (uint8_t)(n + 1);
}

// Branches to where a register says, and which barrier register lanes meet at (only code that was decoded
// here has its number).
static void take_branch(orr_tinst *i, const orr_kernel *k, uint32_t n) {
    bool named = false; // a register
    for (int s = 0; s < k->insts[n].nsrc; s++) named |= register_of(orr_src(k, &k->insts[n], s)) < ORR_TREG_P;
    const orr_code *c = k->code.insts ? &k->code.insts[n] : NULL;
    const orr_arg *target = c && c->nargs ? &c->args[c->nargs - 1] : NULL;
    if (target && target->kind == ORR_ARG_TARGET)
        named |= (target->shape & (ORR_ARG_HAS_R | ORR_ARG_HAS_UR)) != 0;
    bool barrier = c && c->nargs > 1 && c->args[1].kind == ORR_ARG_B;
    switch (i->sass) {
    case ORR_SASS_BRX:
    case ORR_SASS_BRXU:
    case ORR_SASS_JMX:
    case ORR_SASS_JMXU:
    case ORR_SASS_RET: i->flags |= ORR_TF_INDIRECT; break;
    case ORR_SASS_CALL: i->flags |= named ? ORR_TF_INDIRECT : 0; break;
    default: break;
    }
    if (barrier) i->imm = c->args[1].reg & 15;
}

static void take_inst(orr_program *p, uint32_t n, uint32_t *access) {
    const orr_kernel *k = p->kernel;
    const orr_inst *from = &k->insts[n];
    orr_tinst *i = orr_program_add(p, from->sass, from->name < k->nnames ? k->names[from->name] : "?",
                                   from->tclass, from->tkind);
    i->inst = n;
    i->pc = from->line;
    i->ctrl = from->encoding.ctrl;
    i->space = from->space;
    i->imm = (uint8_t)(from->imm > 255 ? 255 : from->imm);
    if (from->tkind == ORR_TK_BARRIER) { // number, and from bit 8 on how many warps
        i->imm = (uint8_t)from->imm;
        i->warps = (uint16_t)(from->imm >> 8);
        if (from->sub == ORR_BAR_ARRIVE) i->flags |= ORR_TF_ARRIVE;
    } else if (from->tkind == ORR_TK_WAIT_GROUP &&
               p->control) { // DEPBAR: count, and from bit 8 on the scoreboard
        i->imm = (uint8_t)from->imm;
        i->warps = (uint16_t)((from->imm >> 8) % 6 + 1);
    }
    uint32_t bytes = (uint32_t)from->width * (from->vec ? from->vec : 1);
    i->bytes = (uint8_t)(bytes > 32 ? 32 : bytes);
    uint16_t f = orr_ops[from->op].flags;
    if (f & ORR_F_ATOMIC)
        i->flags |= ORR_TF_ATOMIC | ORR_TF_BYPASS | (from->ndst || from->op == ORR_OP_ATOM ? ORR_TF_LOAD : 0);
    else
        i->flags |= (f & ORR_F_LOAD ? ORR_TF_LOAD : 0) | (f & ORR_F_STORE ? ORR_TF_STORE : 0);
    if (from->mods & ORR_M_COUNTS) i->flags |= ORR_TF_COUNTS;
    if (from->op == ORR_OP_CPASYNC) i->flags = (i->flags & ~ORR_TF_STORE) | ORR_TF_ASYNC;
    if (from->cache == ORR_CACHE_CG || from->cache == ORR_CACHE_CV || (from->mods & ORR_M_VOLATILE))
        i->flags |= ORR_TF_BYPASS;
    if (orr_inst_traced(from)) {
        i->access = (uint16_t)*access;
        ++*access;
        if (from->op == ORR_OP_SYNCS) {
            i->kind = ORR_TK_SYNCS;
            i->imm = from->sub;
        } else if (from->op == ORR_OP_BULK) {
            i->kind = ORR_TK_SYNCS;
            i->imm = ORR_MBAR_BULK;
            i->bytes = from->sub;
            i->space = ORR_SPACE_SHARED;
        } else if (i->tclass == ORR_TC_UNIFORM) {
            i->kind = ORR_TK_INDEXED;
        }
    } else if (i->kind == ORR_TK_MEM) {
        i->kind = ORR_TK_ALU; // a constant load without addresses, for instance
    }
    if (from->encoding.constant) i->constant = orr_program_constant(p, from->encoding.constant);
    if (i->tclass == ORR_TC_BRANCH) take_branch(i, k, n);
    if (i->sass == ORR_SASS_WARPSYNC && strstr(p->names[i->name], ".COLLECTIVE"))
        i->flags |= ORR_TF_COLLECTIVE;
    if (i->sass == ORR_SASS_USETMAXREG && k->code.insts &&
        k->code.insts[n].nargs) { // how many, and whether it asks for them
        const orr_arg *last = &k->code.insts[n].args[k->code.insts[n].nargs - 1];
        i->warps = (uint16_t)(last->value & 0x3ff);
        i->imm = strstr(p->names[i->name], ".TRY_ALLOC") != NULL;
    }
    if (i->sass == ORR_SASS_CCTL) i->imm = strstr(p->names[i->name], ".IVALL") != NULL;
    if (orr_inst_observable(k, n) & ORR_OBS_CLOCK && i->kind == ORR_TK_ALU) i->kind = ORR_TK_CLOCK;
    asynchronous(p, i);
    for (int s = 0; s < from->nsrc; s++) orr_program_reg(p, i, register_of(orr_src(k, from, s)), false);
    if (from->guard >= 0) orr_program_reg(p, i, predicate_of((uint32_t)from->guard), false);
    for (int d = 0; d < from->ndst; d++) orr_program_reg(p, i, register_of(orr_dst(k, from, d)), true);
}

static bool writes_predicate(const orr_kernel *k, const orr_inst *i, int32_t guard) {
    for (int d = 0; d < i->ndst; d++)
        if (register_of(orr_dst(k, i, d)) == predicate_of((uint32_t)guard)) return true;
    return false;
}

// A fence under a predicate has no lanes of its own in the stream: it is issued for somebody where the next
// access of its block under the same predicate is.
static void fences_under_predicates(orr_program *p, const orr_tblock *b) {
    const orr_inst *insts = p->kernel->insts;
    for (uint32_t n = b->first; n < b->first + b->count; n++) {
        orr_tinst *i = &p->insts[n];
        const orr_inst *fence = &insts[i->inst];
        if (i->kind != ORR_TK_FENCE || fence->guard < 0) continue;
        uint32_t between = 0;
        for (uint32_t k = n + 1; k < b->first + b->count && !i->offset && between < 255; k++) {
            const orr_inst *next = &insts[p->insts[k].inst];
            bool accesses = p->insts[k].access != ORR_NO_ACCESS;
            if (accesses && next->guard == fence->guard && next->guard_neg == fence->guard_neg)
                i->offset = (uint8_t)(between + 1);
            else if (writes_predicate(p->kernel, next, fence->guard))
                break;
            between += accesses;
        }
    }
}

void orr_program_grow(orr_program *p) {
    const orr_kernel *k = p->kernel;
    uint32_t first = p->ninsts;
    while (p->nblocks < k->nblocks) {
        const orr_block *b = &k->blocks[p->nblocks];
        p->blocks = grown(p->blocks, p->nblocks, &p->blocks_cap, sizeof *p->blocks);
        p->blocks[p->nblocks++] = (orr_tblock){.first = p->ninsts};
        uint32_t access = 0;
        for (uint32_t n = b->first; n < b->first + b->count; n++) take_inst(p, n, &access);
        p->blocks[p->nblocks - 1].naccess = access;
        if (access > p->max_access) p->max_access = access;
        if (p->kernel->grows || !p->control) continue; // of a trace, block by block as it comes
        fences_under_predicates(p, &p->blocks[p->nblocks - 1]);
    }
    orr_program_banks(p, first);
}

// ---- PTX, lowered -----------------------------------------------------------------------------------------
static void take_lowered(orr_program *p) {
    orr_lowered l;
    orr_lower(&l, p->kernel, p->gpu);
    p->blocks = orr_calloc(l.blocks.n + 1, sizeof *p->blocks);
    p->blocks_cap = (uint32_t)l.blocks.n + 1;
    for (uint32_t b = 0; b < l.blocks.n; b++) {
        const orr_mblock *from = &l.blocks.at[b];
        p->blocks[p->nblocks++] =
            (orr_tblock){.first = p->ninsts, .naccess = p->kernel->blocks[b].nmem, .body = from->body};
        if (p->kernel->blocks[b].nmem > p->max_access) p->max_access = p->kernel->blocks[b].nmem;
        for (const orr_minst *m = l.insts.at + from->first; m < l.insts.at + from->first + from->count; m++) {
            orr_tinst *i = orr_program_add(p, m->sass, m->name, m->tclass, m->kind);
            i->space = m->space;
            i->bytes = m->bytes;
            i->offset = m->offset;
            i->imm = m->imm;
            i->flags = m->flags;
            i->access = m->access;
            i->warps = m->warps;
            i->inst = m->inst;
            i->ctrl = m->stall;
            if (m->constant) i->constant = orr_program_constant(p, m->constant);
            asynchronous(p, i);
            for (int r = 0; r < m->nsrc + m->ndst; r++)
                orr_program_reg(p, i, l.regs.at[m->regs + (uint32_t)r], r >= m->nsrc);
        }
    }
    // The estimate of isa/liveness.c is as good as counting what is alive here (docs/how/lowering.md).
    int most = p->gpu->limit_thread_registers;
    if (most > 0 && p->registers > (uint32_t)most) p->registers = (uint32_t)most;
    orr_lowered_free(&l);
    orr_program_banks(p, 0);
}

// ---- the door ---------------------------------------------------------------------------------------------
orr_program *orr_program_new(const orr_kernel *k, const orr_gpu *g, orr_err *e) {
    (void)e; // any kernel can be timed
    orr_program *p = orr_calloc(1, sizeof *p);
    p->kernel = k;
    p->gpu = g;
    p->registers = k->regs;
    if (p->registers < (uint32_t)g->limit_registers_least) p->registers = (uint32_t)g->limit_registers_least;
    p->control = k->control;
    if (k->machine)
        orr_program_grow(p);
    else
        take_lowered(p);
    if (k->code.insts) orr_barriers_named(p);
    return p;
}

void orr_program_free(orr_program *p) {
    if (!p) return;
    free(p->insts);
    free(p->blocks);
    free(p->regs);
    free(p->reads);
    free((void *)p->names);
    orr_arena_free(&p->arena);
    free(p);
}

static void print_reg(const orr_program *p, uint32_t at, orr_text *out) {
    uint16_t r = p->reg[p->regs[at]];
    if (r < ORR_TREG_P)
        orr_text_add(out, " R%u", r);
    else if (r < ORR_TREG_U)
        orr_text_add(out, " P%u", r - ORR_TREG_P);
    else if (r < ORR_TREG_UP)
        orr_text_add(out, " UR%u", r - ORR_TREG_U);
    else
        orr_text_add(out, " UP%u", r - ORR_TREG_UP);
}

// Control bits: barriers waited for, set for reading and for writing, yield, stall count, sources kept.
static void print_control(uint32_t ctrl, orr_text *out) {
    orr_text_add(out, ", [");
    for (uint32_t b = 0; b < 6; b++)
        orr_text_add(out, "%c", ORR_CTRL_WAIT(ctrl) >> b & 1 ? (char)('0' + b) : '-');
    uint32_t r = ORR_CTRL_RBAR(ctrl), w = ORR_CTRL_WBAR(ctrl);
    orr_text_add(out, ":%c:%c:%c:%02u]", r < 6 ? (char)('0' + r) : '-', w < 6 ? (char)('0' + w) : '-',
                 ORR_CTRL_YIELD(ctrl) ? '-' : 'Y', (unsigned)ORR_CTRL_STALL(ctrl));
    for (uint32_t k = 0; k < 4; k++)
        if (ORR_CTRL_REUSE(ctrl) >> k & 1) orr_text_add(out, " keep %c", (char)('a' + k));
}

void orr_program_print(const orr_program *p, orr_text *out) {
    orr_text_add(out, "%s on %s: %u instructions, %u registers\n", p->kernel->name, p->gpu->name, p->ninsts,
                 p->registers);
    for (uint32_t b = 0; b < p->nblocks; b++) {
        orr_text_add(out, "block %u\n", b);
        for (uint32_t n = p->blocks[b].first; n < p->blocks[b].first + p->blocks[b].count; n++) {
            const orr_tinst *i = &p->insts[n];
            const orr_inst *from = i->inst < p->kernel->ninsts ? &p->kernel->insts[i->inst] : NULL;
            size_t start = out->n;
            orr_text_add(out, "  %04x  %-20s", i->pc, p->names[i->name]);
            for (int d = 0; d < i->ndst; d++) print_reg(p, i->regs + i->nsrc + (uint32_t)d, out);
            if (i->ndst && i->nsrc) orr_text_add(out, " <-");
            for (int s = 0; s < i->nsrc; s++) print_reg(p, i->regs + (uint32_t)s, out);
            orr_text_add(out, "%*s %s, %u cycles, every %u",
                         (int)(start + 64 > out->n ? start + 64 - out->n : 1), "",
                         p->gpu->units[i->unit].name, i->latency, i->interval);
            if (i->nbanks) orr_text_add(out, ", %u for banks", i->nbanks);
            if (i->access != ORR_NO_ACCESS) orr_text_add(out, ", access %u of %u bytes", i->access, i->bytes);
            if (i->kind == ORR_TK_BARRIER && orr_barrier_known(i))
                orr_text_add(out, ", barrier %u + %u * (warp >> %u) modulo 16", i->offset, i->bytes,
                             i->space);
            if (p->control)
                print_control(i->ctrl, out);
            else if (ORR_CTRL_STALL(i->ctrl) > 1)
                orr_text_add(out, ", stall %u", ORR_CTRL_STALL(i->ctrl));
            if (from)
                orr_text_add(out, "%s%u", p->kernel->machine ? ", inst " : ", line ",
                             p->kernel->machine ? i->inst : from->line);
            orr_text_add(out, "\n");
        }
    }
}

// ---- on an SM -----------------------------------------------------------------------------------
bool orr_program_fits(const orr_gpu *g, const orr_program *p, const orr_launch_info *l,
                      orr_occupancy_result *o, orr_err *e) {
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    const orr_kernel *k = l->kernel;
    int64_t shared = (int64_t)k->shared_bytes + l->dynamic_shared;
    // What PTX needs is an estimate: ptxas would spill rather than exceed what a thread can have.
    uint32_t regs = k->machine || p->registers <= (uint32_t)g->limit_thread_registers
                        ? p->registers
                        : (uint32_t)g->limit_thread_registers;
    if (threads <= INT32_MAX && orr_occupancy(g, (int)threads, (int)regs, shared, (int)k->barriers, o) &&
        o->blocks > 0)
        return true;
    return orr_fail(e, ORR_BAD_INPUT,
                    "%s: a block of %llu threads with %u registers each and %lld bytes of shared memory does "
                    "not fit on an SM "
                    "of %s",
                    k->name, (unsigned long long)threads, p->registers, (long long)shared, g->name);
}

// ---- of all kernels ------------------------------------------------------------------------------
orr_program *orr_programs_get(orr_programs *all, const orr_kernel *k, const orr_gpu *g, orr_err *e) {
    for (size_t n = 0; n < all->n; n++)
        if (all->at[n]->kernel == k) return all->at[n];
    orr_program *p = orr_program_new(k, g, e);
    if (p) *ORR_PUSH(all) = p;
    return p;
}

void orr_programs_free(orr_programs *all) {
    for (size_t n = 0; n < all->n; n++) orr_program_free(all->at[n]);
    free(all->at);
}
