// Machine mnemonics and timing classes: the tables of sass.def, looked up by name.
#include "isa/isa.h"

#include <string.h>

const char *const orr_tclass_name[ORR_TC_COUNT] = {
#define X(id, name) name,
    ORR_TCLASSES(X)
#undef X
};

const orr_sass_info orr_sass[ORR_SASS_COUNT] = {
    [ORR_SASS_NONE] = {"?", ORR_TC_MISC, ORR_TK_ALU, ORR_PIPE_NONE},
#define SASS(name, cls, kind, pipe) [ORR_SASS_##name] = {#name, ORR_TC_##cls, ORR_TK_##kind, ORR_PIPE_##pipe},
#include "isa/sass.def"
#undef SASS
};

// Special registers that differ between lanes come from where the addresses are made, the others do not.
static bool of_a_lane(const orr_inst *from) {
    if (from->sass) // as machine code numbers them (sass/sregs.def): lane, thread, lane masks
        return from->sub == 0 || (from->sub >= 33 && from->sub <= 35) || (from->sub >= 56 && from->sub <= 60);
    return from->op == ORR_OP_SREG &&
           (from->imm <= ORR_SREG_TID_Z || from->imm == ORR_SREG_LANEID ||
            (from->imm >= ORR_SREG_LANEMASK_EQ && from->imm <= ORR_SREG_LANEMASK_GT));
}

enum orr_pipe orr_sass_pipe(enum orr_sass s, const char *mnemonic, const orr_inst *from) {
    enum orr_pipe pipe = (enum orr_pipe)orr_sass[s].pipe;
    if (pipe == ORR_PIPE_FP16 && mnemonic && strstr(mnemonic, ".MMA")) return ORR_PIPE_TENSOR; // HFMA2.MMA
    if (s == ORR_SASS_S2R && from && of_a_lane(from)) return ORR_PIPE_LSU;
    return pipe;
}

bool orr_sass_jumps(enum orr_sass s) {
    switch (s) {
    case ORR_SASS_BRA:
    case ORR_SASS_BRX:
    case ORR_SASS_BRXU:
    case ORR_SASS_JMP:
    case ORR_SASS_JMX:
    case ORR_SASS_JMXU: return true;
    default: return false;
    }
}

// As the counters of an H200 have it (smsp__inst_executed_op_branch; sass.def says how it was found).
bool orr_sass_branches(enum orr_sass s) {
    if (orr_sass_jumps(s)) return true;
    switch (s) {
    case ORR_SASS_CALL:
    case ORR_SASS_CAL:
    case ORR_SASS_JCAL:
    case ORR_SASS_RET:
    case ORR_SASS_BRK:
    case ORR_SASS_CONT:
    case ORR_SASS_SYNC:
    case ORR_SASS_BSYNC:
    case ORR_SASS_BREAK:
    case ORR_SASS_WARPSYNC:
    case ORR_SASS_NANOSLEEP:
    case ORR_SASS_KILL:
    case ORR_SASS_EXIT: return true;
    default: return false;
    }
}

static const struct {
    uint8_t op, type;
} nearest[ORR_SASS_COUNT] = {
#define NEAREST(sass, op, type) [ORR_SASS_##sass] = {ORR_OP_##op, ORR_T_##type},
#include "isa/nearest.def"
#undef NEAREST
};

void orr_sass_nearest(enum orr_sass s, uint16_t *op, uint8_t *type) {
    bool any = nearest[s].op || nearest[s].type;
    *op = any ? nearest[s].op : ORR_OP_NOP;
    *type = any ? nearest[s].type : ORR_T_NONE;
}

const uint8_t orr_tclass_unit[ORR_TC_COUNT] = {
    [ORR_TC_INT] = ORR_UNIT_INT,
    [ORR_TC_INT_MUL] = ORR_UNIT_INT,
    [ORR_TC_BITS] = ORR_UNIT_SFU,
    [ORR_TC_FP32] = ORR_UNIT_FP32,
    [ORR_TC_FP64] = ORR_UNIT_FP64,
    [ORR_TC_FP16] = ORR_UNIT_FP16,
    [ORR_TC_SFU] = ORR_UNIT_SFU,
    [ORR_TC_CONV] = ORR_UNIT_CONV,
    [ORR_TC_MOVE] = ORR_UNIT_MOVE,
    [ORR_TC_SREG] = ORR_UNIT_MOVE,
    [ORR_TC_TENSOR] = ORR_UNIT_TENSOR,
    [ORR_TC_TENSOR_INT] = ORR_UNIT_TENSOR,
    [ORR_TC_TENSOR_FP64] = ORR_UNIT_TENSOR,
    [ORR_TC_MEM] = ORR_UNIT_MEM,
    [ORR_TC_CONST] = ORR_UNIT_MEM,
    [ORR_TC_TEX] = ORR_UNIT_MEM,
    [ORR_TC_SHFL] = ORR_UNIT_MEM,
    [ORR_TC_VOTE] = ORR_UNIT_INT,
    [ORR_TC_BRANCH] = ORR_UNIT_BRANCH,
    [ORR_TC_BARRIER] = ORR_UNIT_BRANCH,
    [ORR_TC_UNIFORM] = ORR_UNIT_UNIFORM,
    [ORR_TC_MISC] = ORR_UNIT_MISC,
};

static size_t root(const char *s, size_t n) {
    const char *point = memchr(s, '.', n);
    return point ? (size_t)(point - s) : n;
}

// Called once for each distinct mnemonic of a program, so a walk through the table will do.
enum orr_sass orr_sass_find(const char *mnemonic, size_t n) {
    n = root(mnemonic, n);
    for (int i = 1; i < ORR_SASS_COUNT; i++)
        if (strlen(orr_sass[i].name) == n && memcmp(orr_sass[i].name, mnemonic, n) == 0)
            return (enum orr_sass)i;
    return ORR_SASS_NONE;
}

// The longest prefix wins because longer ones come first.
void orr_sass_guess(const char *mnemonic, size_t n, uint8_t *cls, uint8_t *kind) {
    static const struct {
        const char *prefix;
        uint8_t cls;
    } guesses[] = {
        {"HGMMA", ORR_TC_TENSOR},
        {"IGMMA", ORR_TC_TENSOR_INT},
        {"QGMMA", ORR_TC_TENSOR},
        {"IMMA", ORR_TC_TENSOR_INT},
        {"DMMA", ORR_TC_TENSOR_FP64},
        {"HMMA", ORR_TC_TENSOR},
        {"OMMA", ORR_TC_TENSOR},
        {"UTC", ORR_TC_TENSOR},
        {"UTM", ORR_TC_MISC},
        {"UBL", ORR_TC_MISC},
        {"MUFU", ORR_TC_SFU},
        {"RRO", ORR_TC_SFU},
        {"IMAD", ORR_TC_INT_MUL},
        {"IMUL", ORR_TC_INT_MUL},
        {"IDP", ORR_TC_INT_MUL},
        {"F2", ORR_TC_CONV},
        {"I2", ORR_TC_CONV},
        {"S2", ORR_TC_SREG},
        {"TEX", ORR_TC_TEX},
        {"TLD", ORR_TC_TEX},
        {"SU", ORR_TC_TEX},
        {"MOV", ORR_TC_MOVE},
        {"SHF", ORR_TC_INT},
        {"VOTE", ORR_TC_VOTE},
        {"BAR", ORR_TC_BARRIER},
        {"BR", ORR_TC_BRANCH},
        {"JM", ORR_TC_BRANCH},
        {"F", ORR_TC_FP32},
        {"H", ORR_TC_FP16},
        {"D", ORR_TC_FP64},
        {"I", ORR_TC_INT},
        {"L", ORR_TC_INT},
        {"V", ORR_TC_INT},
        {"P", ORR_TC_INT},
        {"U", ORR_TC_UNIFORM},
    };
    n = root(mnemonic, n);
    *cls = ORR_TC_MISC;
    *kind = ORR_TK_ALU;
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        size_t m = strlen(guesses[i].prefix);
        if (m > n || memcmp(guesses[i].prefix, mnemonic, m) != 0) continue;
        *cls = guesses[i].cls;
        if (*cls == ORR_TC_BRANCH) *kind = ORR_TK_BRANCH;
        if (*cls == ORR_TC_BARRIER) *kind = ORR_TK_BARRIER;
        return;
    }
}
