// Instructions as lines of a trace. What a line says every time (PC, registers, opcode, width) is made once;
// per warp instruction only the mask and the addresses are new.
//
// A line: PC mask ndst [Rd] OPCODE nsrc [Rs ...] width [mode addresses] immediate. Accel-Sim takes at most
// one destination and four sources, all vector registers, and of several registers that hold one operand the
// first, as its tracer writes them. It reads the width from the opcode, not from the field (its trace-parser:
// the first part that is a number of bits, or U and a number; four bytes without one), so that has to be in
// there.
#include "accel/writer.h"
#include "exec/exec.h"
#include "sass/sass.h"

#include <stdlib.h>
#include <string.h>

static bool is_width(const char *s, size_t n) { // 8, 16, 32, 64, 128, and the same after U, S or B
    if (n && strchr("USB", *s)) s++, n--;
    if (!n) return false;
    for (size_t i = 0; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return false;
    return true;
}

static bool has_part(const char *mnemonic, const char *part) {
    size_t n = strlen(part);
    for (const char *p = strchr(mnemonic, '.'); p; p = strchr(p + 1, '.'))
        if (strncmp(p + 1, part, n) == 0 && (p[1 + n] == '.' || !p[1 + n])) return true;
    return false;
}

// What Accel-Sim reads as bytes per lane.
static int width_read(const char *mnemonic) {
    for (const char *p = strchr(mnemonic, '.'); p; p = strchr(p + 1, '.')) {
        const char *digits = p[1] == 'U' ? p + 2 : p + 1;
        size_t n = strspn(digits, "0123456789");
        if (n && (digits[n] == '.' || !digits[n])) return atoi(digits) / 8;
    }
    return 4;
}

// A memory instruction's opcode: `name`, and the parts of the mnemonic with the right width among them.
static void memory_opcode(orr_text *t, const orr_tinst *i, const char *name, const char *mnemonic) {
    static const char *const width[] = {".U8", ".U16", "", ".64", ".128"};
    int log = !i->bytes       ? 2
              : i->bytes == 1 ? 0
              : i->bytes == 2 ? 1
              : i->bytes <= 4 ? 2
              : i->bytes <= 8 ? 3
                              : 4;
    // LDSM has a form of its own, LDSM.16.M88.4, whose 16 are not bits a lane.
    bool right = strcmp(name, "LDSM") == 0 || width_read(mnemonic) == 1 << log;
    orr_text_add(t, "%s", name);
    for (const char *p = strchr(mnemonic, '.'); p;) {
        const char *end = strchr(p + 1, '.');
        size_t n = end ? (size_t)(end - p - 1) : strlen(p + 1);
        if (n && (right || !is_width(p + 1, n))) orr_text_add(t, ".%.*s", (int)n, p + 1);
        p = end;
    }
    if (!right) orr_text_add(t, "%s", width[log]);
    if (strcmp(name, "LDG") == 0 && i->flags & ORR_TF_BYPASS && !has_part(mnemonic, "STRONG"))
        orr_text_add(t, ".STRONG.GPU"); // what makes Accel-Sim go past L1
}

enum { RZ = 255, SOURCES = 4 };
typedef struct named { // registers that a line names
    uint16_t dst, src[SOURCES];
    int ndst, nsrc;
} named;

static void name_source(named *to, unsigned reg) {
    if (to->nsrc < SOURCES) to->src[to->nsrc++] = (uint16_t)reg;
}

// Machine code: operands in their order, as the tracer sees them. RZ is named as the data of a store, whose
// place among the sources tells what it is.
static void name_operands(const orr_code *c, bool store, named *to) {
    for (int n = 0; n < c->nargs; n++) {
        const orr_arg *a = &c->args[n];
        bool part = a->kind == ORR_ARG_MEM || a->kind == ORR_ARG_CONST || a->kind == ORR_ARG_TARGET;
        if (a->flags & ORR_ARG_HIDDEN || (a->kind != ORR_ARG_R && !part) || !orr_code_span(c, n)) {
            bool data = store && a->kind == ORR_ARG_R && a->reg == RZ && !(a->flags & ORR_ARG_DST);
            if (data && to->nsrc) name_source(to, RZ);
            continue;
        }
        if (!(a->flags & ORR_ARG_DST))
            name_source(to, a->reg);
        else if (!to->ndst++)
            to->dst = a->reg;
    }
    if (to->ndst > 1) to->ndst = 1;
}

// Lowered code: of the registers that hold one operand, which the program lists one by one, the first. In
// wide operations and addresses those that follow in the same aligned pair, or four for 128 bits, belong to
// it; of IMAD.WIDE the addend alone is wide, and last.
static int first_registers(const orr_program *p, const orr_tinst *i, bool dst, int max, uint16_t *out) {
    const uint16_t *at = p->regs + i->regs + (dst ? i->nsrc : 0);
    int n = 0, vector = 0, count = dst ? i->ndst : i->nsrc;
    for (int k = 0; k < count; k++) vector += p->reg[at[k]] < ORR_TREG_P;
    bool addend = !dst && vector > 2 && i->sass == ORR_SASS_IMAD && has_part(p->names[i->name], "WIDE");
    bool wide = i->kind == ORR_TK_MEM || i->tclass == ORR_TC_FP64 || i->tclass == ORR_TC_TENSOR ||
                i->tclass == ORR_TC_TENSOR_INT || i->tclass == ORR_TC_TENSOR_FP64 || vector > max;
    int before = -2, start = 0, tuple = i->kind == ORR_TK_MEM && i->bytes < 16 ? 2 : 4;
    if (i->tclass == ORR_TC_FP64 || addend) tuple = 2;
    for (int k = 0, seen = 0; k < count && n < max; k++) {
        uint16_t r = p->reg[at[k]];
        if (r >= ORR_TREG_P) continue;
        bool follows = r == before + 1 && r / tuple == start / tuple && start % 2 == 0;
        seen++;
        before = r;
        if (follows && (addend ? seen == vector : wide)) continue;
        start = r;
        out[n++] = r;
    }
    return n;
}

static named registers(const orr_program *p, const orr_tinst *i) {
    named r = {.ndst = 0};
    const orr_kernel *k = p->kernel;
    bool store = i->kind == ORR_TK_MEM && i->flags & (ORR_TF_STORE | ORR_TF_ATOMIC);
    if (k->machine && k->code.insts && i->inst < k->ninsts) {
        name_operands(&k->code.insts[i->inst], store, &r);
    } else {
        r.ndst = first_registers(p, i, true, 1, &r.dst);
        r.nsrc = first_registers(p, i, false, SOURCES, r.src);
    }
    return r;
}

static const char *rest_of(const orr_program *p, const orr_tinst *i, const char *opcode, bool memory,
                           orr_arena *a, uint16_t *length) {
    orr_text t = {0};
    named r = registers(p, i);
    // An atomic on shared memory is a load to Accel-Sim, which counts a load when its result is written back:
    // a result that nobody wants goes to RZ, as in the machine code.
    bool load = strncmp(opcode, "ATOMS", 5) == 0 || strncmp(opcode, "LDS", 3) == 0;
    if (memory && load && !r.ndst) r.dst = RZ, r.ndst = 1;
    orr_text_add(&t, "%d ", r.ndst);
    if (r.ndst) orr_text_add(&t, "R%u ", r.dst);
    orr_text_add(&t, "%s %d ", opcode, r.nsrc);
    for (int k = 0; k < r.nsrc; k++) orr_text_add(&t, "R%u ", r.src[k]);
    if (memory)
        orr_text_add(&t, "%d ", i->bytes ? i->bytes > 16 ? 16 : i->bytes : 4);
    else
        orr_text_add(&t, "0 ");
    *length = (uint16_t)t.n;
    const char *s = orr_arena_strndup(a, t.s, t.n);
    free(t.s);
    return s;
}

// Without addresses Accel-Sim ends at these with an assertion.
static bool needs_addresses(const char *opcode) {
    static const char *const names[] = {"LD",  "LDG", "LDL", "LDS",  "LDSM",  "LDGSTS", "ST",
                                        "STG", "STL", "STS", "ATOM", "ATOMG", "ATOMS",  "RED"};
    size_t n = strcspn(opcode, ".");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && memcmp(names[i], opcode, n) == 0) return true;
    return false;
}

// Where a memory instruction goes has an opcode each: [kind][place], kinds load, store, atomic, reduction.
static const char *const by_place[4][PLACES] = {
    {"LDG", "LDS", "LDL"}, {"STG", "STS", "STL"}, {"ATOMG", "ATOMS", "LDL"}, {"RED", "ATOMS", "STL"}};

void accel_entry(entry *to, const orr_program *p, uint32_t inst, int binary, orr_arena *a) {
    const orr_tinst *i = &p->insts[inst];
    const char *mnemonic = p->names[i->name];
    char head[20];
    *to = (entry){.access = i->access, .offset = i->offset};
    to->nhead = (uint8_t)snprintf(head, sizeof head, "%04x ", i->pc);
    to->head = orr_arena_strdup(a, head);

    bool memory = i->kind == ORR_TK_MEM && i->access != ORR_NO_ACCESS && i->space != ORR_SPACE_CONST &&
                  i->space != ORR_SPACE_PARAM;
    if (memory) {
        int what = i->flags & ORR_TF_ATOMIC  ? (i->flags & ORR_TF_LOAD ? 2 : 3)
                   : i->flags & ORR_TF_STORE ? 1
                                             : 0;
        bool generic = i->space == ORR_SPACE_GENERIC;
        int first = i->space == ORR_SPACE_SHARED  ? IN_SHARED
                    : i->space == ORR_SPACE_LOCAL ? IN_LOCAL
                                                  : IN_GLOBAL;
        to->kind = generic ? ENTRY_GENERIC : ENTRY_ACCESS;
        if (orr_tinst_lands(i)) to->low = 15;
        for (int place = 0; place < PLACES; place++) {
            if (!generic && place != first) continue;
            // A name that says where it goes already is kept: LDGSTS, LDSM and the like.
            bool plain =
                generic || i->sass == ORR_SASS_LD || i->sass == ORR_SASS_ST || i->sass == ORR_SASS_ATOM;
            const char *want = plain ? by_place[what][place] : mnemonic;
            orr_text t = {0};
            const char *name = accel_name(binary, want, i->tclass);
            if (strcmp(name, "NOP") == 0 || strcmp(name, "MOV") == 0)
                name = accel_name(binary, by_place[what][place], i->tclass);
            memory_opcode(&t, i, name, mnemonic);
            to->rest[place] = rest_of(p, i, t.s, true, a, &to->nrest[place]);
            free(t.s);
        }
        if (!generic) to->rest[0] = to->rest[first], to->nrest[0] = to->nrest[first];
        return;
    }

    // A name is kept with its parts when the table has it; what stands for it has none.
    const char *name = accel_name(binary, mnemonic, i->tclass);
    size_t n = strcspn(mnemonic, ".");
    bool same = strlen(name) == n && memcmp(name, mnemonic, n) == 0;
    const char *opcode = same ? mnemonic : orr_arena_strdup(a, name);
    to->kind = ENTRY_PLAIN;
    switch (i->kind) {
    case ORR_TK_EXIT: to->kind = ENTRY_EXIT; break;
    case ORR_TK_BARRIER: // Accel-Sim knows one barrier, of all warps; another would wait for ever
        if (i->warps || i->flags & ORR_TF_ARRIVE) opcode = "NOP";
        break;
    case ORR_TK_GROUP:
        to->commits = accel_knows(binary, "LDGDEPBAR", 9);
        opcode = to->commits ? "LDGDEPBAR" : "NOP";
        break;
    case ORR_TK_WAIT_GROUP:
        if (accel_knows(binary, "LDGDEPBAR", 9)) {
            to->kind = ENTRY_WAIT;
            to->wait = i->imm;
        } else {
            opcode = "NOP";
        }
        break;
    default: break;
    }
    if (needs_addresses(opcode)) opcode = "MOV";
    to->rest[0] = rest_of(p, i, opcode, false, a, &to->nrest[0]);
}

// ---- addresses ----------------------------------------------------------------------------------------

static char *hex(char *to, uint64_t v) {
    char digits[16];
    int n = 0;
    do digits[n++] = "0123456789abcdef"[v & 15];
    while (v >>= 4);
    *to++ = '0';
    *to++ = 'x';
    while (n) *to++ = digits[--n];
    *to++ = ' ';
    return to;
}

static char *decimal(char *to, int64_t v) {
    char digits[20];
    int n = 0;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (v < 0) *to++ = '-';
    do digits[n++] = (char)('0' + u % 10);
    while (u /= 10);
    while (n) *to++ = digits[--n];
    *to++ = ' ';
    return to;
}

// Mode 1, base and stride, when the lanes follow each other without a gap; else mode 2, each lane's
// difference to the lane before. No lane at all is mode 1.
char *accel_addresses(char *to, uint32_t mask, const uint64_t addr[32], uint64_t minus) {
    if (!mask) {
        memcpy(to, "1 0x0 0 ", 8);
        return to + 8;
    }
    int first = orr_ffs(mask);
    uint32_t run = mask >> first;
    uint64_t base = addr[first];
    bool regular = (run & (run + 1)) == 0;
    int64_t stride = run > 1 ? (int64_t)(addr[first + 1] - base) : 0;
    if (regular) {
        uint64_t expect = base;
        for (uint32_t m = mask; m; m &= m - 1, expect += (uint64_t)stride)
            regular &= addr[orr_ffs(m)] == expect;
    }
    if (regular && stride >= INT32_MIN && stride <= INT32_MAX) {
        memcpy(to, "1 ", 2);
        return decimal(hex(to + 2, base - minus), stride);
    }
    memcpy(to, "2 ", 2);
    to = hex(to + 2, base - minus);
    for (uint32_t m = mask & (mask - 1); m; m &= m - 1) {
        uint64_t here = addr[orr_ffs(m)];
        to = decimal(to, (int64_t)(here - base));
        base = here;
    }
    return to;
}
