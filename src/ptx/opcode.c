// Opcodes: from a spelling to the instruction's row in insts.def and the meaning of its modifiers.
//
// A row names what modifiers its instruction may have, so that one that is not understood is never
// dropped in silence. Modifiers may stand in any order; only types (and matrix layouts) are read in
// the order they appear.
#include <string.h>

#include "ptx/lower.h"

// ---- modifiers ----------------------------------------------------------------------------------
// A class is one capital letter in a row's list; a word of class 'M' is listed by itself.
static const struct {
    char cls;
    const char *word;
    uint32_t value;
} words[] = {
    {'R', "rn", ORR_RND_RN},
    {'R', "rz", ORR_RND_RZ},
    {'R', "rm", ORR_RND_RM},
    {'R', "rp", ORR_RND_RP},
    {'I', "rni", ORR_RND_RNI},
    {'I', "rzi", ORR_RND_RZI},
    {'I', "rmi", ORR_RND_RMI},
    {'I', "rpi", ORR_RND_RPI},
    {'I', "rna", ORR_RND_RNA},
    {'I', "rs", ORR_RND_RS},
    {'S', "global", ORR_SPACE_GLOBAL},
    {'S', "shared", ORR_SPACE_SHARED},
    {'S', "shared::cta", ORR_SPACE_SHARED},
    {'S', "shared::cluster", ORR_SPACE_SHARED},
    {'S', "local", ORR_SPACE_LOCAL},
    {'S', "const", ORR_SPACE_CONST},
    {'S', "param", ORR_SPACE_PARAM},
    {'S', "param::entry", ORR_SPACE_PARAM},
    {'S', "param::func", ORR_SPACE_PARAM},
    {'K', "ca", ORR_CACHE_CA},
    {'K', "cg", ORR_CACHE_CG},
    {'K', "cs", ORR_CACHE_CS},
    {'K', "lu", ORR_CACHE_LU},
    {'K', "cv", ORR_CACHE_CV},
    {'K', "wb", ORR_CACHE_WB},
    {'K', "wt", ORR_CACHE_WT},
    {'V', "v2", 2},
    {'V', "v4", 4},
    {'V', "v8", 8},
    {'Y', "weak", 0},
    {'Y', "volatile", ORR_M_VOLATILE},
    {'Y', "relaxed", ORR_M_VOLATILE},
    {'Y', "mmio", ORR_M_VOLATILE},
    {'Y', "acquire", ORR_M_VOLATILE | ORR_M_ACQREL},
    {'Y', "release", ORR_M_VOLATILE | ORR_M_ACQREL},
    {'Y', "acq_rel", ORR_M_VOLATILE | ORR_M_ACQREL},
    {'G', "cta", 0},
    {'G', "cluster", 1},
    {'G', "gpu", 2},
    {'G', "gl", 2},
    {'G', "sys", 3},
    {'C', "eq", ORR_CMP_EQ},
    {'C', "ne", ORR_CMP_NE},
    {'C', "lt", ORR_CMP_LT},
    {'C', "le", ORR_CMP_LE},
    {'C', "gt", ORR_CMP_GT},
    {'C', "ge", ORR_CMP_GE},
    {'C', "lo", ORR_CMP_LO},
    {'C', "ls", ORR_CMP_LS},
    {'C', "hi", ORR_CMP_HI},
    {'C', "hs", ORR_CMP_HS},
    {'C', "equ", ORR_CMP_EQU},
    {'C', "neu", ORR_CMP_NEU},
    {'C', "ltu", ORR_CMP_LTU},
    {'C', "leu", ORR_CMP_LEU},
    {'C', "gtu", ORR_CMP_GTU},
    {'C', "geu", ORR_CMP_GEU},
    {'C', "num", ORR_CMP_NUM},
    {'C', "nan", ORR_CMP_NAN},
    {'B', "and", ORR_BOOL_AND},
    {'B', "or", ORR_BOOL_OR},
    {'B', "xor", ORR_BOOL_XOR},
    {'A', "add", ORR_ATOM_ADD},
    {'A', "min", ORR_ATOM_MIN},
    {'A', "max", ORR_ATOM_MAX},
    {'A', "inc", ORR_ATOM_INC},
    {'A', "dec", ORR_ATOM_DEC},
    {'A', "and", ORR_ATOM_AND},
    {'A', "or", ORR_ATOM_OR},
    {'A', "xor", ORR_ATOM_XOR},
    {'A', "exch", ORR_ATOM_EXCH},
    {'A', "cas", ORR_ATOM_CAS},
    {'F', "up", ORR_SHFL_UP},
    {'F', "down", ORR_SHFL_DOWN},
    {'F', "bfly", ORR_SHFL_BFLY},
    {'F', "idx", ORR_SHFL_IDX},
    {'W', "all", ORR_VOTE_ALL},
    {'W', "any", ORR_VOTE_ANY},
    {'W', "uni", ORR_VOTE_UNI},
    {'W', "ballot", ORR_VOTE_BALLOT},
    {'P', "f4e", ORR_PRMT_F4E},
    {'P', "b4e", ORR_PRMT_B4E},
    {'P', "rc8", ORR_PRMT_RC8},
    {'P', "ecl", ORR_PRMT_ECL},
    {'P', "ecr", ORR_PRMT_ECR},
    {'P', "rc16", ORR_PRMT_RC16},
    {'E', "finite", ORR_TESTP_FINITE},
    {'E', "infinite", ORR_TESTP_INFINITE},
    {'E', "number", ORR_TESTP_NUMBER},
    {'E', "notanumber", ORR_TESTP_NOTANUMBER},
    {'E', "normal", ORR_TESTP_NORMAL},
    {'E', "subnormal", ORR_TESTP_SUBNORMAL},
    {'L', "row", 0},
    {'L', "col", 1},
    {'M', "ftz", ORR_M_FTZ},
    {'M', "sat", ORR_M_SAT},
    {'M', "lo", ORR_M_LO},
    {'M', "hi", ORR_M_HI},
    {'M', "wide", ORR_M_WIDE},
    {'M', "cc", ORR_M_CC},
    {'M', "approx", ORR_M_APPROX},
    {'M', "full", ORR_M_FULL},
    {'M', "NaN", ORR_M_NAN},
    {'M', "xorsign", ORR_M_XORSIGN},
    {'M', "relu", ORR_M_RELU},
    {'M', "clamp", ORR_M_CLAMP},
    {'M', "wrap", ORR_M_WRAP},
    {'M', "shiftamt", ORR_M_SHIFTAMT},
    {'M', "trans", ORR_M_TRANS},
    {'M', "uni", ORR_M_UNI},
    {'M', "aligned", ORR_M_ALIGNED},
    {'M', "noinc", ORR_M_NOINC},
    {'M', "oob", ORR_M_OOB},
    {'M', "satfinite", ORR_M_SATFINITE},
    {'M', "nc", ORR_M_NC},
};
enum { WORDS = sizeof words / sizeof *words };

static bool same(const char *s, size_t n, const char *word) {
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

// m16n8k16, each a number below 256 but n and k, which may be 256
static bool shape(const char *s, size_t n, uint32_t *out) {
    uint32_t part[3] = {0};
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        if (at >= n || s[at] != "mnk"[i]) return false;
        size_t digits = 0;
        for (at++; at < n && s[at] >= '0' && s[at] <= '9' && digits < 4; at++, digits++)
            part[i] = part[i] * 10 + (uint32_t)(s[at] - '0');
        if (!digits || part[i] > 256) return false;
    }
    if (at != n || part[0] > 255) return false;
    *out = part[0] | (part[1] & 255) << 8 | part[2] << 16; // n = 256, which only wgmma has, is 0
    return true;
}

static bool take(ptx_opcode *op, char cls, const char *s, size_t n) {
    if (cls == 'T') {
        uint8_t type;
        if (op->ntypes == MAX_TYPES || !ptx_type_of(s, n, &type)) return false;
        op->types[op->ntypes++] = type;
        return true;
    }
    if (cls == 'X') return shape(s, n, &op->shape);
    if (cls == 'H') { // where to keep it in the caches, how much to fetch: a hint
        bool hint = n > 4 && s[0] == 'L' && (s[1] == '1' || s[1] == '2') && s[2] == ':' && s[3] == ':';
        if (hint && same(s + 4, n - 4, "cache_hint")) op->hint = true;
        return hint || same(s, n, "unified");
    }
    for (int i = 0; i < WORDS; i++) {
        if (words[i].cls != cls || !same(s, n, words[i].word)) continue;
        uint32_t v = words[i].value;
        switch (cls) {
        case 'R':
        case 'I': op->round = (uint8_t)v; break;
        case 'S':
            if (op->nspaces == 2) return false;
            op->spaces[op->nspaces++] = (uint8_t)v;
            if (same(s, n, "param::entry")) op->param_entry = true;
            if (same(s, n, "param::func")) op->param_func = true;
            break;
        case 'K': op->cache = (uint8_t)v, op->has_cache = true; break;
        case 'V': op->vec = (uint8_t)v; break;
        case 'Y':
        case 'M': op->mods |= v; break;
        case 'G': break; // here every scope is as wide as the widest
        case 'C': op->cmp = (uint8_t)v; break;
        case 'B': op->boolop = (uint8_t)v; break;
        case 'L':
            if (op->nlayouts == 2) return false;
            op->layouts[op->nlayouts++] = (uint8_t)v;
            break;
        default: op->sub = (uint8_t)v; break; // the sub-operations
        }
        return true;
    }
    return false;
}

static bool allowed(ptx_opcode *op, const char *list, const char *s, size_t n) {
    while (*list) {
        size_t len = strcspn(list, " ");
        if (len == 1 && *list == '*') {
            take(op, 'T', s, n);
            return true;
        }
        if (len == 1 && *list >= 'A' && *list <= 'Z') {
            if (take(op, *list, s, n)) return true;
        } else if (len == n && memcmp(list, s, n) == 0) {
            take(op, 'M', s, n); // words without a flag are asked for by ptx_has
            return true;
        }
        list += len;
        while (*list == ' ') list++;
    }
    return false;
}

// ---- rows ---------------------------------------------------------------------------------------
static const ptx_row rows[] = {
#define ROW(name, op, sub, mods, allowed, form, lower) {name, ORR_OP_##op, sub, mods, allowed, form, lower},
#define NOT(name, why)                                 {name, ORR_OP_COUNT, 0, 0, why, "", NULL},
#include "ptx/insts.def"
#undef ROW
#undef NOT
};
enum { ROWS = sizeof rows / sizeof *rows };
static const ptx_row unknown = {"", ORR_OP_COUNT, 0, 0, "no instruction of this name is known", "", NULL};

bool ptx_has(const ptx_opcode *op, const char *modifier) {
    size_t n = strlen(modifier);
    for (const char *s = strchr(op->text, '.'); s; s = strchr(s, '.')) {
        s++;
        if (strcspn(s, ".") == n && memcmp(s, modifier, n) == 0) return true;
    }
    return false;
}

void ptx_opcode_decode(orr_module *m, ptx_opcode *op) {
    // the longest row name that the spelling starts with, whole parts only
    size_t n = strlen(op->text), best = 0;
    op->row = &unknown;
    for (int i = 0; i < ROWS; i++) {
        size_t len = strlen(rows[i].name);
        if (len > best && len <= n && memcmp(rows[i].name, op->text, len) == 0 &&
            (op->text[len] == '.' || op->text[len] == 0)) {
            best = len;
            op->row = &rows[i];
        }
    }
    if (op->row->op == ORR_OP_COUNT) {
        op->problem = op->row->allowed;
        return;
    }
    op->vec = 1;
    op->sub = op->row->sub;
    op->mods = op->row->mods;
    const char *s = op->text + best;
    while (*s) {
        s++;
        size_t len = strcspn(s, ".");
        if (!allowed(op, op->row->allowed, s, len)) {
            op->problem = orr_arena_printf(&m->arena, "its modifier '.%.*s' is not known", (int)len, s);
            return;
        }
        s += len;
    }
}
