// What opcode and modifiers imply of an instruction: how many registers an operand is, how much memory it
// touches, whether it ends a basic block.
//
// Registers follow from the size of the value. A matrix's fragment is the whole matrix dealt out to 32 lanes
// (128 for a group of warps): rows x columns x bits / 1024, which gives the numbers of the PTX manual's
// fragments (sections on mma and wgmma).
#include "sass/sass.h"

#include <stdlib.h>
#include <string.h>

// ---- sizes that modifiers say -------------------------------------------------------------------
static bool has(const orr_code *c, enum orr_smod kind) {
    for (int i = 0; i < c->nmods; i++)
        if (c->mods[i].kind == kind) return true;
    return false;
}

static int size_bytes(unsigned v) {
    static const uint8_t bytes[8] = {1, 1, 2, 2, 4, 8, 16, 16};
    return bytes[v & 7];
}

// Of an atomic's operand.
static int atomic_bytes(const orr_code *c) {
    if (has(c, ORR_SM_FATYPE)) {
        switch (orr_code_mod(c, ORR_SM_FATYPE)) {
        case ORR_SV_FATYPE_F16x4:
        case ORR_SV_FATYPE_BF16x4:
        case ORR_SV_FATYPE_F32x2_FTZ:
        case ORR_SV_FATYPE_F32x2:
        case ORR_SV_FATYPE_F64:
        case ORR_SV_FATYPE_E5M2x8:
        case ORR_SV_FATYPE_E4M3x8: return 8;
        case ORR_SV_FATYPE_F16x8:
        case ORR_SV_FATYPE_BF16x8:
        case ORR_SV_FATYPE_F32x4_FTZ:
        case ORR_SV_FATYPE_F32x4:
        case ORR_SV_FATYPE_E5M2x16:
        case ORR_SV_FATYPE_E4M3x16: return 16;
        default: return 4;
        }
    }
    if (has(c, ORR_SM_OATYPE)) {
        unsigned v = orr_code_mod(c, ORR_SM_OATYPE);
        return v == ORR_SV_OATYPE_U64 || v == ORR_SV_OATYPE_S64 || v == ORR_SV_OATYPE_F64 ? 8 : 4;
    }
    unsigned v = orr_code_mod(c, has(c, ORR_SM_MTYPE) ? ORR_SM_MTYPE : ORR_SM_ATYPE);
    return v == ORR_SV_ATYPE_W128 ? 16 : v == ORR_SV_ATYPE_U64 || v == ORR_SV_ATYPE_S64 ? 8 : 4;
}

int orr_code_bytes(const orr_code *c) {
    switch (c->op) {
    case ORR_SASS_LD:
    case ORR_SASS_LDG:
    case ORR_SASS_LDL:
    case ORR_SASS_LDS:
    case ORR_SASS_LDC:
    case ORR_SASS_LDCU:
    case ORR_SASS_ULDC:
    case ORR_SASS_ST:
    case ORR_SASS_STG:
    case ORR_SASS_STL:
    case ORR_SASS_STS:
    case ORR_SASS_STAS: return size_bytes(orr_code_mod(c, ORR_SM_SIZE));
    case ORR_SASS_LDGSTS:
        if (has(c, ORR_SM_ASIZE)) return 4 << orr_code_mod(c, ORR_SM_ASIZE);
        return size_bytes(orr_code_mod(c, ORR_SM_SIZE));
    case ORR_SASS_LDSM:
    case ORR_SASS_STSM: return 16; // a lane's address is that of a row of eight halves
    case ORR_SASS_ATOM:
    case ORR_SASS_ATOMG:
    case ORR_SASS_ATOMS:
    case ORR_SASS_RED:
    case ORR_SASS_REDG:
    case ORR_SASS_REDAS:
    case ORR_SASS_LDGMC: return atomic_bytes(c);
    default: return 0;
    }
}

static int words(int bytes) { return bytes > 4 ? bytes / 4 : 1; }

// ---- matrices ---------------------------------------------------------------------------------
// "16816" and "16x8x16" are the same shape; the first number is 8 or 16 (or 64), the second 8.
static void shape(const char *text, int *m, int *n, int *k) {
    *m = 16, *n = 8, *k = 16;
    if (!text) return;
    char *end;
    if (strchr(text, 'x')) {
        *m = (int)strtol(text, &end, 10);
        *n = *end ? (int)strtol(end + 1, &end, 10) : 8;
        *k = *end ? (int)strtol(end + 1, &end, 10) : 16;
        return;
    }
    *m = text[0] == '8' ? 8 : 16;
    const char *rest = text + (*m == 8 ? 1 : 2);
    *n = 8;
    *k = *rest ? (int)strtol(rest + 1, &end, 10) : 16;
}

static int bits_of_ints(unsigned v) { return v == ORR_SV_ITYPE_U4 || v == ORR_SV_ITYPE_S4 ? 4 : 8; }

// Registers of argument `arg`: D is 0; then A, B, C, where A or A and B may be in memory.
static int matrix_span(const orr_code *c, int arg) {
    static const enum orr_smod shapes[] = {
        ORR_SM_HMMASHAPE, ORR_SM_IMMASHAPE, ORR_SM_BMMASHAPE, ORR_SM_DMMASHAPE, ORR_SM_ODMMA,
        ORR_SM_QMMASHAPE, ORR_SM_HGSHAPE,   ORR_SM_IGSHAPE,   ORR_SM_BGSHAPE,   ORR_SM_QGSHAPE};
    const char *text = NULL;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] && !text; i++)
        if (has(c, shapes[i])) text = orr_smod_text(shapes[i], orr_code_mod(c, shapes[i]));
    if (c->op == ORR_SASS_HMMA && !text) return 2; // 884: steps of pairs
    int m, n, k, a = 16, acc = 32;
    shape(text, &m, &n, &k);
    bool group = c->op == ORR_SASS_HGMMA || c->op == ORR_SASS_IGMMA || c->op == ORR_SASS_BGMMA ||
                 c->op == ORR_SASS_QGMMA;
    switch (c->op) {
    case ORR_SASS_HMMA:
    case ORR_SASS_HGMMA:
        if (orr_code_mod(c, ORR_SM_HMMAA) == ORR_SV_HMMAA_TF32) a = 32;
        if (orr_code_mod(c, ORR_SM_HMMAC) == ORR_SV_HMMAC_F16) acc = 16;
        break;
    case ORR_SASS_QMMA:
    case ORR_SASS_QGMMA:
        a = 8;
        if (orr_code_mod(c, ORR_SM_HMMAC) == ORR_SV_HMMAC_F16) acc = 16;
        break;
    case ORR_SASS_IMMA:
    case ORR_SASS_IGMMA: a = bits_of_ints(orr_code_mod(c, ORR_SM_AINT)); break;
    case ORR_SASS_BMMA:
    case ORR_SASS_BGMMA: a = 1; break;
    case ORR_SASS_DMMA: a = acc = 64; break;
    default: break;
    }
    int lanes = group ? 4096 : 1024; // bits that one register of each lane has together
    int which = arg;                 // 0 D, 1 A, 2 B, 3 C
    if (group && arg) which = c->args[1].kind == ORR_ARG_R ? arg : arg == 2 ? 3 : 4;
    int size = which == 0 || which == 3 ? m * n * acc / lanes
               : which == 1             ? m * k * a / lanes / (orr_code_mod(c, ORR_SM_SP) ? 2 : 1)
               : which == 2             ? n * k * a / lanes
                                        : 1; // which elements of a sparse one there are
    return size > 0 ? size : 1;
}

// ---- textures and surfaces ----------------------------------------------------------------------
static const orr_arg *word(const orr_code *c, unsigned list) {
    for (int n = 0; n < c->nargs; n++)
        if (c->args[n].kind == ORR_ARG_WORD && c->args[n].sub == list) return &c->args[n];
    return NULL;
}

// Coordinates, and how many of them are of the place and not the layer.
static int coordinates(unsigned dim, int *place) {
    *place = dim == ORR_SV_TEXDIM_D1 || dim == ORR_SV_TEXDIM_A1   ? 1
             : dim == ORR_SV_TEXDIM_D2 || dim == ORR_SV_TEXDIM_A2 ? 2
                                                                  : 3;
    return *place + (dim >= ORR_SV_TEXDIM_A1);
}

// {Pd,} Rd2, Rd, Ra, Rb: components that the mask names go to Rd, two of them, and Rd2.
static int texture_span(const orr_code *c, int arg) {
    const orr_arg *dim = word(c, ORR_SM_TEXDIM);
    unsigned mask =
        c->args[c->nargs - 1].kind == ORR_ARG_INT ? (unsigned)c->args[c->nargs - 1].value & 15 : 15;
    int wanted = __builtin_popcount(mask), place = 1, all = dim ? coordinates(dim->subval, &place) : 1;
    int first = c->args[0].kind == ORR_ARG_R ? 0 : 1; // of TXQ and TMML there is no predicate
    if (arg == first) return wanted > 2 ? wanted - 2 : 0;
    if (arg == first + 1) return wanted > 2 ? 2 : wanted;
    if (arg == first + 2) return all;
    if (c->args[arg].kind != ORR_ARG_R) return c->args[arg].kind == ORR_ARG_UR ? 2 : 1;
    return c->op == ORR_SASS_TXD && dim ? 2 * place : 1;
}

static int surface_span(const orr_code *c, int arg) {
    if (has(c, ORR_SM_SUMASK)) return c->args[arg].kind == ORR_ARG_UR ? 1 : 4;
    if (c->args[arg].kind == ORR_ARG_UR) return 1;
    if (c->op == ORR_SASS_SURED || c->op == ORR_SASS_SUATOM) return 1;
    return words(size_bytes(orr_code_mod(c, ORR_SM_SIZE)));
}

// ---- registers --------------------------------------------------------------------------------
static bool is_64(unsigned ifmt) { return ifmt == ORR_SV_IFMT_U64 || ifmt == ORR_SV_IFMT_S64; }

// Of a register operand (R, UR).
static int value_span(const orr_code *c, int arg) {
    bool dst = c->args[arg].flags & ORR_ARG_DST;
    switch (c->op) {
    case ORR_SASS_DADD:
    case ORR_SASS_DMUL:
    case ORR_SASS_DFMA:
    case ORR_SASS_DMNMX:
    case ORR_SASS_DSETP:
    case ORR_SASS_FADD2:
    case ORR_SASS_FMUL2:
    case ORR_SASS_FFMA2:
    case ORR_SASS_LEPC:
    case ORR_SASS_ULEPC:
    case ORR_SASS_GETLMEMBASE:
    case ORR_SASS_SETLMEMBASE: return 2;
    case ORR_SASS_DSET: return dst ? 1 : 2;
    case ORR_SASS_IMAD:
    case ORR_SASS_UIMAD: // Rd, Pd, A, B, C
        return orr_code_mod(c, ORR_SM_PART) == ORR_SV_PART_WIDE && (dst || arg == 4) ? 2 : 1;
    case ORR_SASS_F2F:
    case ORR_SASS_UF2F: return orr_code_mod(c, dst ? ORR_SM_DFMT : ORR_SM_SFMT) == ORR_SV_FFMT_F64 ? 2 : 1;
    case ORR_SASS_FRND: return orr_code_mod(c, ORR_SM_SFMT) == ORR_SV_FFMT_F64 ? 2 : 1;
    case ORR_SASS_F2I:
        if (dst) return is_64(orr_code_mod(c, ORR_SM_DINT)) ? 2 : 1;
        return orr_code_mod(c, ORR_SM_SFMT) == ORR_SV_FFMT_F64 ? 2 : 1;
    case ORR_SASS_I2F:
        if (dst) return orr_code_mod(c, ORR_SM_DFMT) == ORR_SV_FFMT_F64 ? 2 : 1;
        return is_64(orr_code_mod(c, ORR_SM_SINT)) ? 2 : 1;
    case ORR_SASS_CS2R:
    case ORR_SASS_CS2UR: return orr_code_mod(c, ORR_SM_CS32) ? 1 : 2;
    case ORR_SASS_MATCH: return !dst && orr_code_mod(c, ORR_SM_U64) ? 2 : 1;
    case ORR_SASS_IADD:
    case ORR_SASS_MOV:
    case ORR_SASS_SEL:
    case ORR_SASS_UMOV:
    case ORR_SASS_USEL:
    case ORR_SASS_UIADD3:
    case ORR_SASS_BMOV: return orr_code_mod(c, ORR_SM_D64) ? 2 : 1;
    case ORR_SASS_HMMA:
    case ORR_SASS_IMMA:
    case ORR_SASS_BMMA:
    case ORR_SASS_DMMA:
    case ORR_SASS_QMMA:
    case ORR_SASS_HGMMA:
    case ORR_SASS_IGMMA:
    case ORR_SASS_BGMMA:
    case ORR_SASS_QGMMA: return matrix_span(c, arg);
    case ORR_SASS_LDSM:
    case ORR_SASS_STSM: return 1 << orr_code_mod(c, ORR_SM_LDSM);
    case ORR_SASS_SYNCS: // barriers have 64 bits; what is waited for or counted is one word
        return dst || has(c, ORR_SM_E64) ? 2 : 1;
    case ORR_SASS_QSPC: return 1;
    case ORR_SASS_TEX:
    case ORR_SASS_TLD:
    case ORR_SASS_TLD4:
    case ORR_SASS_TXD:
    case ORR_SASS_TXQ:
    case ORR_SASS_TMML: return texture_span(c, arg);
    case ORR_SASS_SULD:
    case ORR_SASS_SUST:
    case ORR_SASS_SURED:
    case ORR_SASS_SUATOM: return surface_span(c, arg);
    default: return words(orr_code_bytes(c));
    }
}

int orr_code_span(const orr_code *c, int arg) {
    if (arg < 0 || arg >= c->nargs) return 0;
    const orr_arg *a = &c->args[arg];
    switch (a->kind) {
    case ORR_ARG_R:
    case ORR_ARG_UR: {
        if (a->reg == ORR_RZ) return 0;
        int n = value_span(c, arg);
        return n < ORR_RZ - a->reg ? n : ORR_RZ - a->reg;
    }
    case ORR_ARG_CONST: return a->shape & ORR_ARG_HAS_R && a->reg != ORR_RZ ? 1 : 0;
    case ORR_ARG_MEM: {
        if (!(a->shape & ORR_ARG_HAS_R) || a->reg == ORR_RZ) return 0;
        // Global and generic addresses have 64 bits unless it says that the register has 32; before sm_90 .E
        // alone says it where there is no uniform register.
        bool wide = a->shape & ORR_ARG_WIDE || (orr_code_mod(c, ORR_SM_E) && !(a->shape & ORR_ARG_U32) &&
                                                !(a->shape & (ORR_ARG_HAS_UR | ORR_ARG_HAS_DESC)));
        if (orr_sass[c->op].cls == ORR_TC_TEX) { // a surface's coordinates
            static const uint8_t n[8] = {1, 1, 2, 2, 3, 3, 1, 1};
            return n[orr_code_mod(c, ORR_SM_SUDIM) & 7];
        }
        if (c->op == ORR_SASS_LDGSTS && arg == 0) wide = false; // where it goes is shared memory
        return wide && a->reg < ORR_RZ - 1 ? 2 : 1;
    }
    case ORR_ARG_TARGET:
        return a->shape & ORR_ARG_HAS_R && a->reg != ORR_RZ ? (a->reg < ORR_RZ - 1 ? 2 : 1) : 0;
    default: return 0;
    }
}

int orr_code_uspan(const orr_code *c, int arg) {
    if (arg < 0 || arg >= c->nargs || c->args[arg].ureg == ORR_RZ) return 0;
    const orr_arg *a = &c->args[arg];
    switch (a->kind) {
    case ORR_ARG_CONST:
        if (a->shape & ORR_ARG_BINDLESS) return 2;
        return a->shape & ORR_ARG_HAS_UR ? 1 : 0;
    case ORR_ARG_MEM:
        if (!(a->shape & ORR_ARG_HAS_UR)) return 0;
        switch (c->op) { // shared and local addresses have 32 bits
        case ORR_SASS_LDS:
        case ORR_SASS_STS:
        case ORR_SASS_ATOMS:
        case ORR_SASS_LDSM:
        case ORR_SASS_STSM:
        case ORR_SASS_LDL:
        case ORR_SASS_STL:
        case ORR_SASS_SYNCS:
        case ORR_SASS_ARRIVES: return 1;
        default: return c->op == ORR_SASS_LDGSTS && arg == 0 ? 1 : 2;
        }
    case ORR_ARG_TARGET: return a->shape & ORR_ARG_HAS_UR ? 2 : 0;
    default: return 0;
    }
}

// ---- control ----------------------------------------------------------------------------------
bool orr_code_ends_block(const orr_code *c) {
    if (orr_sass_jumps(c->op)) return true;
    switch (c->op) {
    case ORR_SASS_CALL:
    case ORR_SASS_RET:
    case ORR_SASS_EXIT:
    case ORR_SASS_BSYNC:
    case ORR_SASS_BREAK:
    case ORR_SASS_WARPSYNC:
    case ORR_SASS_YIELD:
    case ORR_SASS_NANOSLEEP:
    case ORR_SASS_BAR:
    case ORR_SASS_KILL:
    case ORR_SASS_BPT: return true;
    default: return false;
    }
}

bool orr_code_falls_through(const orr_code *c) {
    if (!orr_sass_jumps(c->op) && c->op != ORR_SASS_RET && c->op != ORR_SASS_EXIT)
        return true; // a call comes back
    if (c->guard != ORR_PT || c->guard_neg) return true;
    for (int i = 0; i < c->nargs; i++) { // a second condition is an operand
        const orr_arg *a = &c->args[i];
        bool always =
            (a->kind == ORR_ARG_P || a->kind == ORR_ARG_UP) && a->reg == ORR_PT && !(a->flags & ORR_ARG_INV);
        if ((a->kind == ORR_ARG_P || a->kind == ORR_ARG_UP || a->kind == ORR_ARG_UR) && !always) return true;
    }
    return orr_code_mod(c, ORR_SM_BRAU) > ORR_SV_BRAU_U;
}
