// Opcodes as Accel-Sim's tables have them (opcodes.def), for a binary version.
#include "accel/writer.h"

#include <ctype.h>
#include <string.h>

enum { K = 1, P = 2, V = 4, T = 8, A = 16, H = 32 };

static const struct {
    int tables;
    const char *names;
} known[] = {
#define KNOWN(tables, names) {tables, names},
#define INSTEAD(name, other)
#include "accel/opcodes.def"
#undef KNOWN
#undef INSTEAD
};

static const struct {
    const char *name, *other;
} instead[] = {
#define KNOWN(tables, names)
#define INSTEAD(name, other) {#name, #other},
#include "accel/opcodes.def"
#undef KNOWN
#undef INSTEAD
};

// What is in every table, for names nobody has a rule for.
static const char *const of_class[ORR_TC_COUNT] = {
    [ORR_TC_INT] = "IADD",         [ORR_TC_INT_MUL] = "IMAD", [ORR_TC_BITS] = "POPC",
    [ORR_TC_FP32] = "FADD",        [ORR_TC_FP64] = "DADD",    [ORR_TC_FP16] = "FADD",
    [ORR_TC_SFU] = "MUFU",         [ORR_TC_CONV] = "F2F",     [ORR_TC_MOVE] = "MOV",
    [ORR_TC_SREG] = "S2R",         [ORR_TC_TENSOR] = "FFMA",  [ORR_TC_TENSOR_INT] = "IMAD",
    [ORR_TC_TENSOR_FP64] = "DFMA", [ORR_TC_MEM] = "NOP",      [ORR_TC_CONST] = "LDC",
    [ORR_TC_TEX] = "TEX",          [ORR_TC_SHFL] = "SHFL",    [ORR_TC_VOTE] = "VOTE",
    [ORR_TC_BRANCH] = "BRA",       [ORR_TC_BARRIER] = "NOP",  [ORR_TC_UNIFORM] = "MOV",
    [ORR_TC_MISC] = "NOP",
};

// Accel-Sim has no tables for Fermi, Maxwell, Ada and Blackwell: the nearest one is taken.
int orr_accel_binary(const orr_gpu *g) {
    int cc = g->cc_major * 10 + g->cc_minor;
    if (cc < 50) return 35;
    if (cc < 61) return 60;
    if (cc < 70) return 61;
    if (cc < 75) return 70;
    if (cc < 80) return 75;
    if (cc == 80) return 80;
    return cc < 90 ? 86 : 90;
}

static int table_of(int binary) {
    return binary < 60 ? K : binary < 70 ? P : binary < 75 ? V : binary < 80 ? T : binary < 90 ? A : H;
}

static bool in_list(const char *list, const char *name, size_t n) {
    for (const char *p = list; *p; p += *p == ' ') {
        size_t m = strcspn(p, " ");
        if (m == n && memcmp(p, name, n) == 0) return true;
        p += m;
    }
    return false;
}

bool accel_knows(int binary, const char *name, size_t n) {
    int table = table_of(binary);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].tables & table && in_list(known[i].names, name, n)) return true;
    return false;
}

const char *accel_name(int binary, const char *mnemonic, uint8_t tclass) {
    static _Thread_local char name[32];
    size_t n = strcspn(mnemonic, ".");
    if (n >= sizeof name) n = sizeof name - 1;
    for (size_t i = 0; i < n; i++) name[i] = (char)toupper((unsigned char)mnemonic[i]);
    name[n] = 0;
    for (int steps = 0; steps < 8; steps++) { // rules may lead back: BSSY, SSY
        if (accel_knows(binary, name, strlen(name))) return name;
        const char *other = NULL;
        for (size_t i = 0; i < sizeof instead / sizeof *instead && !other; i++)
            if (strcmp(instead[i].name, name) == 0) other = instead[i].other;
        // An operation of the uniform datapath is the one of the vector registers without the U.
        if (!other && name[0] == 'U' && tclass == ORR_TC_UNIFORM) other = name + 1;
        if (!other) break;
        memmove(name, other, strlen(other) + 1);
    }
    return of_class[tclass < ORR_TC_COUNT ? tclass : ORR_TC_MISC];
}
