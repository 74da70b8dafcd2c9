// One machine instruction as everyone but the executor reads it (isa.h): the nearest operation, space and
// size of a memory access, the registers it reads and writes, all of them, because a value of 64 bits is two
// and a 128-bit load writes four (span.c). Vector registers are numbered as they are, uniform ones from
// UNIFORM on; predicates likewise from UNIFORM_P on. RZ and PT are nobody's. A source's `value` says which of
// the three operands A, B, C it belongs to, from 1 (its first register only), which is how the operand cache
// knows it; 0: none.
#include "sass/module.h"

#include <string.h>

enum { UNIFORM = 256, UNIFORM_P = 8 };

typedef struct sink { // operands so far
    orr_operand *at;
    uint32_t n;
} sink;

// ---- registers --------------------------------------------------------------------------------------
static void add(sink *l, uint8_t *count, uint8_t cls, uint32_t first, int n, unsigned slot) {
    for (int i = 0; i < n && *count < ORR_INST_OPERANDS / 2; i++) {
        l->at[l->n++] =
            (orr_operand){.kind = ORR_K_REG, .cls = cls, .reg = first + (uint32_t)i, .value = i ? 0 : slot};
        ++*count;
    }
}

static void add_predicates(sink *l, uint8_t *count, uint32_t first, uint64_t mask) {
    for (uint32_t i = 0; i < 7; i++)
        if (mask >> i & 1) add(l, count, ORR_P, first + i, 1, 0);
}

// The registers of one argument, as destinations or as sources.
static void add_arg(sink *l, const orr_code *c, int n, bool dst, uint8_t *count) {
    const orr_arg *a = &c->args[n];
    if (a->flags & ORR_ARG_HIDDEN) return; // not used, or PT or RZ
    bool writes = a->flags & ORR_ARG_DST;
    int span = orr_code_span(c, n);
    switch (a->kind) {
    case ORR_ARG_R:
        if (writes == dst) add(l, count, ORR_W, a->reg, span, dst ? 0 : a->bank);
        return;
    case ORR_ARG_UR:
        if (writes == dst) add(l, count, ORR_W, UNIFORM + a->reg, span, 0);
        return;
    case ORR_ARG_P:
    case ORR_ARG_UP:
        if (writes == dst && a->reg != ORR_PT)
            add(l, count, ORR_P, a->reg + (a->kind == ORR_ARG_UP ? UNIFORM_P : 0u), 1, 0);
        return;
    case ORR_ARG_NAME: { // all predicates at once; R2P and UR2UP write those of an immediate mask
        bool all = a->value == ORR_SV_FIXED_PR || a->value == ORR_SV_FIXED_UPR;
        bool to = c->op == ORR_SASS_R2P || c->op == ORR_SASS_UR2UP;
        const orr_arg *last = &c->args[c->nargs - 1];
        if (all && to == dst)
            add_predicates(l, count, a->value == ORR_SV_FIXED_UPR ? UNIFORM_P : 0,
                           to && last->kind == ORR_ARG_INT ? (uint64_t)last->value : 0x7f);
        return;
    }
    default: break;
    }
    if (dst) return;
    switch (a->kind) {
    case ORR_ARG_CONST:
    case ORR_ARG_MEM:
    case ORR_ARG_TARGET:
        add(l, count, ORR_W, a->reg, span, a->kind == ORR_ARG_MEM ? 1 : 0);
        add(l, count, ORR_W, UNIFORM + a->ureg, orr_code_uspan(c, n), 0);
        if (a->kind == ORR_ARG_MEM && a->shape & ORR_ARG_HAS_DESC && a->bank != ORR_RZ)
            add(l, count, ORR_W, UNIFORM + a->bank, 2, 0);
        return;
    case ORR_ARG_GDESC:
        if (a->reg != ORR_RZ) add(l, count, ORR_W, UNIFORM + a->reg, 4, 0);
        return;
    case ORR_ARG_TMEM:
    case ORR_ARG_IDESC:
        if (a->reg != ORR_RZ) add(l, count, ORR_W, UNIFORM + a->reg, 1, 0);
        return;
    default: return;
    }
}

// ---- memory -----------------------------------------------------------------------------------------
static uint8_t space_of(const orr_code *c) {
    switch (c->op) {
    case ORR_SASS_LDG:
    case ORR_SASS_STG:
    case ORR_SASS_ATOMG:
    case ORR_SASS_REDG:
    case ORR_SASS_LDGSTS: return ORR_SPACE_GLOBAL;
    case ORR_SASS_LDS:
    case ORR_SASS_STS:
    case ORR_SASS_ATOMS:
    case ORR_SASS_REDS:
    case ORR_SASS_LDSM:
    case ORR_SASS_STSM:
    case ORR_SASS_STAS:
    case ORR_SASS_REDAS: return ORR_SPACE_SHARED;
    case ORR_SASS_LDL:
    case ORR_SASS_STL: return ORR_SPACE_LOCAL;
    case ORR_SASS_LDC: // bank 0 has no address: it holds the parameters
    case ORR_SASS_LDCU:
    case ORR_SASS_ULDC:
        for (int i = 0; i < c->nargs; i++)
            if (c->args[i].kind == ORR_ARG_CONST && !c->args[i].bank) return ORR_SPACE_PARAM;
        return ORR_SPACE_CONST;
    default: return ORR_SPACE_GENERIC;
    }
}

static void memory(orr_inst *i, const orr_code *c) {
    int bytes = orr_code_bytes(c);
    if (!bytes) bytes = 4;
    i->space = space_of(c);
    i->width = (uint8_t)(bytes > 4 && i->op != ORR_OP_CPASYNC ? 4 : bytes);
    i->vec = (uint8_t)(bytes / i->width);
    if (i->op == ORR_OP_LDMATRIX || i->op == ORR_OP_STMATRIX) {
        i->imm = 1u << orr_code_mod(c, ORR_SM_LDSM);
        i->type = ORR_T_B16;
    }
    if (!i->type) i->type = i->width == 1 ? ORR_T_B8 : i->width == 2 ? ORR_T_B16 : ORR_T_B32;
    for (int n = 0; n < c->nmods; n++) {
        const orr_mod *m = &c->mods[n];
        const char *s = orr_smod_text(m->kind, m->value);
        switch (m->kind) {
        case ORR_SM_ORDER:
        case ORR_SM_WORDER:
        case ORR_SM_AORDER:
        case ORR_SM_TORDER:
            if (!s) break;
            if (strncmp(s, "MMIO", 4) == 0 || (strstr(s, "STRONG") && (strstr(s, "GPU") || strstr(s, "SYS"))))
                i->mods |= ORR_M_VOLATILE;
            if (strncmp(s, "CONSTANT", 8) == 0) i->mods |= ORR_M_NC;
            break;
        case ORR_SM_OATOMS:
            if (m->value == ORR_SV_OATOMS_POPC_INC) i->mods |= ORR_M_COUNTS;
            break;
        case ORR_SM_EVICT:
            if (m->value == ORR_SV_EVICT_EF) i->cache = ORR_CACHE_CS;
            if (m->value == ORR_SV_EVICT_LU) i->cache = ORR_CACHE_LU;
            break;
        case ORR_SM_BYPASS:
            if (m->value) i->cache = ORR_CACHE_CG;
            break;
        case ORR_SM_ATOM:
            if (m->value == ORR_SV_ATOM_POPC_INC) i->mods |= ORR_M_COUNTS;
            if (m->value <= ORR_SV_ATOM_EXCH) i->sub = (uint8_t)m->value; // in the order of ORR_ATOM_*
            break;
        case ORR_SM_FATOM:
            if (m->value <= ORR_SV_FATOM_MAX) i->sub = (uint8_t)m->value;
            break;
        case ORR_SM_CAS: i->sub = ORR_ATOM_CAS; break;
        }
    }
}

// Arrivals at an mbarrier and waits for it: streams say which one.
static void arrivals(orr_inst *i, const orr_code *c) {
    for (int n = 0; n < c->nmods; n++)
        if (c->mods[n].kind == ORR_SM_SEXCH || c->mods[n].kind == ORR_SM_SCAS ||
            c->mods[n].kind == ORR_SM_SLD || c->mods[n].kind == ORR_SM_SCCTL)
            return;
    i->sub = c->op == ORR_SASS_ARRIVES                                ? ORR_MBAR_COPIES_ARRIVE
             : orr_code_mod(c, ORR_SM_SYNCS) != ORR_SV_SYNCS_PHASECHK ? ORR_MBAR_ARRIVE
             : orr_code_mod(c, ORR_SM_TRYWAIT)                        ? ORR_MBAR_TRY_WAIT
                                                                      : ORR_MBAR_TEST_WAIT;
    i->op = ORR_OP_SYNCS;
    i->space = ORR_SPACE_SHARED;
    i->width = 8;
    i->vec = 1;
}

static void bulk(orr_inst *i, const orr_code *c) {
    bool to_shared = orr_code_mod(c, ORR_SM_BLKDST) == ORR_SV_BLKSPACE_S;
    bool from_shared = orr_code_mod(c, ORR_SM_BLKSRC) == ORR_SV_BLKSPACE_S;
    switch (c->op) {
    case ORR_SASS_UTMALDG: i->sub = ORR_BULK_LOAD; break;
    case ORR_SASS_UTMASTG: i->sub = ORR_BULK_STORE; break;
    case ORR_SASS_UTMAREDG: i->sub = ORR_BULK_REDUCE; break;
    case ORR_SASS_UBLKRED: i->sub = to_shared ? ORR_BULK_REDUCE_PEER : ORR_BULK_REDUCE; break;
    case ORR_SASS_UBLKCP:
        i->sub = !to_shared ? ORR_BULK_STORE : from_shared ? ORR_BULK_PEER : ORR_BULK_LOAD;
        break;
    default: i->sub = ORR_BULK_PREFETCH; break;
    }
    i->space = ORR_SPACE_GENERIC;
    i->vec = 1;
}

// Textures and surfaces go to memory with the addresses that streams have of them.
static void texture(orr_inst *i, const orr_code *c) {
    switch (c->op) {
    case ORR_SASS_TEX:
    case ORR_SASS_TLD:
    case ORR_SASS_TLD4:
    case ORR_SASS_TXD: i->op = ORR_OP_TEX; break;
    case ORR_SASS_SULD: i->op = ORR_OP_SULD; break;
    case ORR_SASS_SUST: i->op = ORR_OP_SUST; break;
    case ORR_SASS_SURED: i->op = ORR_OP_SURED; break;
    default: return;
    }
    i->type = ORR_T_B32;
    i->space = ORR_SPACE_GLOBAL;
    i->width = i->vec = 1; // of the sector that the address is
    i->tkind = ORR_TK_MEM;
}

// ---- control ----------------------------------------------------------------------------------------
// Barrier's number, 0xff when a register has it; warps, 0: all.
static void barrier(orr_inst *i, const orr_code *c) {
    unsigned kind = orr_code_mod(c, ORR_SM_BAR);
    i->sub = kind == ORR_SV_BAR_ARV   ? ORR_BAR_ARRIVE
             : kind == ORR_SV_BAR_RED ? ORR_BAR_RED_POPC
                                      : ORR_BAR_SYNC;
    if (c->nargs < 1) return;
    i->imm = c->args[0].kind == ORR_ARG_INT ? (uint32_t)c->args[0].value & 15 : 0xff;
    if (c->nargs > 1 && c->args[1].kind == ORR_ARG_INT)
        i->imm |= (uint32_t)(c->args[1].value / ORR_WARP & 0xff) << 8;
}

static void depbar(orr_inst *i, const orr_code *c) {
    i->tkind = ORR_TK_ALU;
    for (int n = 0; n < c->nargs; n++) {
        const orr_arg *a = &c->args[n];
        if (a->kind == ORR_ARG_MASK)
            i->encoding.ctrl |= ((uint32_t)a->value & 63) << 11; // waits until they are free
        if (a->kind == ORR_ARG_SB) {
            i->tkind = ORR_TK_WAIT_GROUP;
            i->imm |= (uint32_t)a->reg << 8;
        }
        if (a->kind == ORR_ARG_INT) i->imm |= (uint32_t)a->value & 63;
    }
}

// A product of a group of warps: whether it ends a group of them, and where A is. A wait: for how many groups
// not.
static void group_product(orr_inst *i, const orr_code *c) {
    bool waits = c->op == ORR_SASS_WARPGROUP && orr_code_mod(c, ORR_SM_WGROUP) == ORR_SV_WGROUP_DEPBAR;
    if (waits) i->imm = ORR_PRODUCT_WAITS;
    for (int n = 0; n < c->nargs; n++) {
        const orr_arg *a = &c->args[n];
        if (waits && a->kind == ORR_ARG_INT) i->imm |= (uint32_t)a->value & (ORR_PRODUCT_WAITS - 1);
        if (waits || c->op == ORR_SASS_WARPGROUP) continue;
        if (a->kind == ORR_ARG_WORD && a->sub == ORR_SM_GSB && a->subval == ORR_SV_GSB_GSB0)
            i->imm |= ORR_PRODUCT_SIGNALS;
        if (n == 1 && a->kind == ORR_ARG_R) i->imm |= ORR_PRODUCT_REGISTERS;
    }
}

static void fence(orr_inst *i, const orr_code *c) {
    unsigned scope = orr_code_mod(c, ORR_SM_SCOPE);
    if (c->op == ORR_SASS_MEMBAR)
        i->imm = i->sub = scope == ORR_SV_SCOPE_SYS                               ? 3
                          : scope == ORR_SV_SCOPE_GPU || scope == ORR_SV_SCOPE_VC ? 2
                                                                                  : 0;
}

// ---- instructions -----------------------------------------------------------------------------------
void orr_sass_inst(orr_inst *i, const orr_code *c, orr_operand operands[ORR_INST_OPERANDS]) {
    *i = (orr_inst){
        .guard = -1, .target = -1, .sass = c->op, .encoding = {.ctrl = c->ctrl}, .line = c->address};
    i->tclass = orr_sass[c->op].cls;
    i->tkind = orr_sass[c->op].kind;
    orr_sass_nearest(c->op, &i->op, &i->type);
    i->unit = orr_tclass_unit[i->tclass];
    if (c->op == ORR_SASS_NONE) return;
    if (c->guard != ORR_PT || c->guard_neg) {
        i->guard = c->guard + (c->guard_uniform ? UNIFORM_P : 0);
        i->guard_neg = c->guard_neg;
    }
    sink to = {.at = operands};
    for (int dst = 1; dst >= 0; dst--)
        for (int n = 0; n < c->nargs; n++) add_arg(&to, c, n, dst, dst ? &i->ndst : &i->nsrc);
    for (int n = 0; n < c->nargs; n++) {
        const orr_arg *a = &c->args[n];
        if (a->kind == ORR_ARG_CONST && !orr_code_span(c, n) && !orr_code_uspan(c, n)) // no register is added
            i->encoding.constant = (uint32_t)(a->bank << 16 | (a->value / 64 & 0xffff)) + 1;
    }
    if (c->op == ORR_SASS_ULDC && !i->encoding.constant)
        i->op = ORR_OP_LD, i->type = ORR_T_NONE; // by an index
    if (orr_ops[i->op].flags & ORR_F_MEMORY) memory(i, c);
    if (c->op == ORR_SASS_SYNCS || c->op == ORR_SASS_ARRIVES) arrivals(i, c);
    if (c->op == ORR_SASS_BAR) barrier(i, c);
    if (i->op == ORR_OP_BULK) bulk(i, c);
    if (i->tclass == ORR_TC_TEX) texture(i, c);
    if (c->nargs > 1 && c->args[1].kind == ORR_ARG_SREG) i->sub = (uint8_t)c->args[1].value; // what it reads
    if (c->op == ORR_SASS_DEPBAR) depbar(i, c);
    if (orr_sass_group_product(c->op) || c->op == ORR_SASS_WARPGROUP) group_product(i, c);
    if (i->op == ORR_OP_MEMBAR) fence(i, c);
    if (i->op == ORR_OP_BRX) i->target = 0; // an empty table
}
