// A machine instruction by its mnemonic: what it does, what it touches, which registers it reads and writes.
//
// The tracer names the first register of each operand only, and takes operand 0 for the destination if that
// is a register. Both are put right here, so that dependences are those of the machine: a 128-bit load writes
// four registers, a double is two, a matrix operand up to four (the shapes are those of the PTX manual's mma
// fragments); SHFL, LOP3, MATCH and the atomics may have a predicate as operand 0, and then the first of
// their "sources" is what they write. R255 is RZ, which nobody waits for.
#include "accel/reader.h"

#include <string.h>

enum { RZ = 255, REGS_MAX = 64 };

// ---- the words of a mnemonic ------------------------------------------------------------------
typedef struct word {
    const char *s;
    size_t n;
} word;

static bool is(word w, const char *s) { return strlen(s) == w.n && memcmp(w.s, s, w.n) == 0; }

// The word after `w`, up to `end`; n = 0: none.
static word after(word w, const char *end) {
    const char *s = w.s + w.n;
    if (s >= end) return (word){end, 0};
    s++; // the point
    const char *point = memchr(s, '.', (size_t)(end - s));
    return (word){s, (size_t)((point ? point : end) - s)};
}

typedef struct mnemonic {
    word root;
    const char *end;
} mnemonic;

static mnemonic split(const char *name, size_t n) {
    const char *point = memchr(name, '.', n);
    return (mnemonic){{name, point ? (size_t)(point - name) : n}, name + n};
}

#define EACH_WORD(w, m) for (word w = after((m).root, (m).end); w.n; w = after(w, (m).end))

static bool has(mnemonic m, const char *s) {
    EACH_WORD(w, m)
    if (is(w, s)) return true;
    return false;
}

static int digits(word w, size_t from) {
    int v = 0;
    if (w.n <= from || w.n > from + 6) return 0;
    for (size_t i = from; i < w.n; i++) {
        if (w.s[i] < '0' || w.s[i] > '9') return 0;
        v = v * 10 + (w.s[i] - '0');
    }
    return v;
}

// Bytes per lane that the words say (.128, .U8, .S16, .F64), or 0. The trace's own width is not asked first:
// the tracer takes it from a library that has been wrong, and Accel-Sim's reader does not believe it either.
static int bytes_of(mnemonic m) {
    EACH_WORD(w, m) {
        int bits = digits(w, 0);
        if (!bits && w.n > 1 && strchr("USFB", w.s[0])) bits = digits(w, 1);
        if (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 || bits == 256)
            return bits / 8;
    }
    return 0;
}

// ---- operations -----------------------------------------------------------------------------------
// The space by the name's letters: LDG, STS, ATOMS, REDG ...; without one the address tells.
static uint8_t space_of(mnemonic m, uint16_t op) {
    char last = m.root.n ? m.root.s[m.root.n - 1] : 0;
    if (op == ORR_OP_CPASYNC) return ORR_SPACE_GLOBAL; // the address that the trace keeps is the one it reads
    if (op == ORR_OP_LDMATRIX || op == ORR_OP_STMATRIX) return ORR_SPACE_SHARED;
    if (m.root.n >= 3 && m.root.s[0] == 'L' && (last == 'C' || (last == 'U' && m.root.s[2] == 'C')))
        return ORR_SPACE_CONST;
    if (last == 'G') return ORR_SPACE_GLOBAL;
    if (last == 'S') return ORR_SPACE_SHARED;
    if (last == 'L') return ORR_SPACE_LOCAL;
    return ORR_SPACE_GENERIC;
}

// An unknown name that touches memory is what it begins like.
static uint8_t memory_op(word root) {
    static const struct {
        const char *prefix;
        uint8_t op;
    } like[] = {{"LD", ORR_OP_LD}, {"ST", ORR_OP_ST}, {"ATOM", ORR_OP_ATOM}, {"RED", ORR_OP_RED}};
    for (size_t i = 0; i < sizeof like / sizeof like[0]; i++) {
        size_t n = strlen(like[i].prefix);
        if (root.n >= n && memcmp(root.s, like[i].prefix, n) == 0) return like[i].op;
    }
    return ORR_OP_NOP;
}

static void memory_fields(orr_inst *i, mnemonic m) {
    int bytes = bytes_of(m);
    if (!bytes) bytes = 4;
    if (i->op == ORR_OP_LDMATRIX || i->op == ORR_OP_STMATRIX) { // .16.M88.4: four matrices
        int count = 1;
        EACH_WORD(w, m)
        if (is(w, "2") || is(w, "4")) count = digits(w, 0);
        i->imm = (uint32_t)count;
        i->type = ORR_T_B16;
        bytes = 16;
    }
    i->space = space_of(m, i->op);
    i->width = (uint8_t)(bytes < 4 ? bytes : i->op == ORR_OP_CPASYNC ? bytes : 4);
    i->vec = (uint8_t)(bytes / i->width);
    if (!i->type) i->type = i->width == 1 ? ORR_T_B8 : i->width == 2 ? ORR_T_B16 : ORR_T_B32;
    bool strong = has(m, "STRONG") && (has(m, "GPU") || has(m, "SYS"));
    if (strong || has(m, "MMIO")) i->mods |= ORR_M_VOLATILE;
    if (has(m, "POPC") && orr_ops[i->op].flags & ORR_F_ATOMIC) i->mods |= ORR_M_COUNTS;
    if (has(m, "CONSTANT") || has(m, "CI")) i->mods |= ORR_M_NC;
    if (has(m, "CG") || has(m, "BYPASS")) i->cache = ORR_CACHE_CG;
    if (has(m, "CV")) i->cache = ORR_CACHE_CV;
    if (has(m, "EF") || has(m, "CS")) i->cache = ORR_CACHE_CS;
    if (has(m, "LU")) i->cache = ORR_CACHE_LU;
    if (has(m, "WT")) i->cache = ORR_CACHE_WT;
}

// ---- registers --------------------------------------------------------------------------------
typedef struct regs {
    uint16_t at[REGS_MAX];
    int n;
} regs;

static void add(regs *r, uint16_t first, int count) {
    for (int i = 0; i < count; i++) {
        uint32_t reg = (uint32_t)first + (uint32_t)i;
        if (first == RZ || reg >= RZ || r->n == REGS_MAX) return;
        r->at[r->n++] = (uint16_t)reg;
    }
}

// Registers of A, B and of C and D of a matrix instruction (one lane's share of the fragment).
static void matrix_regs(mnemonic m, int size[4]) {
    static const struct {
        const char *shape;
        uint8_t a, b, c;
    } shapes[] = {
        {"884", 2, 2, 2},                        // Volta, a step of four; DMMA below
        {"1688", 2, 1, 4},   {"16816", 4, 2, 4}, // half
        {"8816", 1, 1, 2},   {"8832", 1, 1, 2},   {"16832", 4, 2, 4}, {"16864", 4, 2, 4},
        {"168128", 2, 1, 4}, {"168256", 4, 2, 4}, {"88128", 1, 1, 2},
    };
    int a = 1, b = 1, c = 1;
    bool integer = is(m.root, "IMMA"), f32 = integer;
    EACH_WORD(w, m) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            if (is(w, shapes[i].shape)) a = shapes[i].a, b = shapes[i].b, c = shapes[i].c;
        f32 |= is(w, "F32");
    }
    if (integer && has(m, "16816")) a = 2, b = 1;
    if (is(m.root, "DMMA")) a = 2, b = 2, c = 4;
    if (is(m.root, "HMMA") && c == 4 && !f32) c = 2; // f16 accumulators
    size[0] = c, size[1] = a, size[2] = b, size[3] = c;
}

// How many registers each operand is: size[0] the destination, size[1..] the sources. Memory instructions
// apart.
static void operand_sizes(enum orr_sass sass, mnemonic m, int size[5]) {
    for (int i = 0; i < 5; i++) size[i] = 1;
    word first = after(m.root, m.end), second = after(first, m.end);
    switch (sass) {
    case ORR_SASS_DADD:
    case ORR_SASS_DFMA:
    case ORR_SASS_DMUL:
    case ORR_SASS_DMNMX:
    case ORR_SASS_DSETP:
        for (int i = 0; i < 5; i++) size[i] = 2;
        break;
    case ORR_SASS_DSET: size[1] = size[2] = 2; break;
    case ORR_SASS_IMAD:
    case ORR_SASS_IMUL:
        if (has(m, "WIDE")) size[0] = size[3] = 2; // a third source is the 64-bit addend
        break;
    case ORR_SASS_F2F: // .to.from
    case ORR_SASS_FRND:
        if (is(first, "F64")) size[0] = 2;
        if (is(second, "F64") || (sass == ORR_SASS_FRND && is(first, "F64"))) size[1] = 2;
        break;
    case ORR_SASS_I2F:
        if (has(m, "F64")) size[0] = 2;
        if (has(m, "S64") || has(m, "U64")) size[1] = 2;
        break;
    case ORR_SASS_F2I:
        if (has(m, "S64") || has(m, "U64")) size[0] = 2;
        if (has(m, "F64")) size[1] = 2;
        break;
    case ORR_SASS_CS2R:
        if (!has(m, "32")) size[0] = 2;
        break;
    case ORR_SASS_LDC: // without addresses
        if (bytes_of(m) > 4) size[0] = bytes_of(m) / 4;
        break;
    case ORR_SASS_HMMA:
    case ORR_SASS_IMMA:
    case ORR_SASS_BMMA:
    case ORR_SASS_DMMA:
    case ORR_SASS_QMMA: matrix_regs(m, size); break;
    default: break;
    }
}

static bool predicate_first(enum orr_sass s) {
    return s == ORR_SASS_SHFL || s == ORR_SASS_LOP3 || s == ORR_SASS_MATCH || s == ORR_SASS_ATOM ||
           s == ORR_SASS_ATOMG || s == ORR_SASS_ATOMS;
}

// Address first, data last. A single register beside a uniform address is the data of a store.
static void memory_regs(const orr_inst *i, mnemonic m, const traced_inst *t, regs *d, regs *s) {
    int ndst = t->ndst, nsrc = t->nsrc;
    int bytes = i->width * i->vec, data = bytes > 4 ? bytes / 4 : 1;
    bool load = i->op == ORR_OP_LD || i->op == ORR_OP_ATOM, store = i->op == ORR_OP_ST || i->op == ORR_OP_RED;
    bool matrix = i->op == ORR_OP_LDMATRIX || i->op == ORR_OP_STMATRIX;
    if (matrix) data = (int)i->imm, load = i->op == ORR_OP_LDMATRIX, store = !load;
    bool wide =
        has(m, "E") && (i->space == ORR_SPACE_GLOBAL || i->space == ORR_SPACE_GENERIC); // 64-bit addresses
    if (ndst) add(d, t->dst[0], load ? data : 1);
    for (int k = 1; k < ndst; k++) add(d, t->dst[k], 1);
    for (int k = 0; k < nsrc; k++) {
        bool value = store ? k == nsrc - 1 : i->op == ORR_OP_ATOM ? k > 0 : false;
        bool address = i->op == ORR_OP_CPASYNC ? k == nsrc - 1 : k == 0 && !(store && nsrc == 1);
        add(s, t->src[k], value ? data : address && wide ? 2 : 1);
    }
}

static void *grown(void *at, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return at;
    *cap = *cap ? *cap * 2 : 256;
    return orr_realloc(at, *cap * size);
}

static void put_regs(orr_kernel *k, uint32_t *cap, const regs *r) {
    for (int i = 0; i < r->n; i++) {
        k->operands = grown(k->operands, k->noperands, cap, sizeof *k->operands);
        k->operands[k->noperands++] = (orr_operand){.kind = ORR_K_REG, .cls = ORR_W, .reg = r->at[i]};
    }
}

bool decode_inst(orr_kernel *k, uint32_t *operands_cap, orr_inst *i, const traced_inst *traced) {
    traced_inst t = *traced;
    mnemonic m = split(t.name, t.n);
    enum orr_sass sass = orr_sass_find(t.name, t.n);
    *i = (orr_inst){.op = ORR_OP_NOP, .guard = -1, .target = -1, .sass = (uint16_t)sass};
    if (sass) {
        i->tclass = orr_sass[sass].cls;
        i->tkind = orr_sass[sass].kind;
    } else {
        orr_sass_guess(t.name, t.n, &i->tclass, &i->tkind);
    }
    orr_sass_nearest(sass, &i->op, &i->type);
    if (t.width && (!sass || i->tkind == ORR_TK_MEM) && i->op == ORR_OP_NOP) {
        i->op = memory_op(m.root);
        if (i->op != ORR_OP_NOP) i->tclass = ORR_TC_MEM, i->tkind = ORR_TK_MEM;
    }
    if (i->tkind == ORR_TK_MEM && (!t.width || i->op == ORR_OP_NOP)) { // a constant load: no addresses
        i->tkind = ORR_TK_ALU;
        i->op = ORR_OP_NOP;
    }
    i->unit = orr_tclass_unit[i->tclass];
    if (t.ndst == 0 && t.nsrc > 0 && predicate_first(sass)) {
        t.dst = t.src++;
        t.ndst = 1;
        t.nsrc--;
    }
    regs d = {.n = 0}, s = {.n = 0};
    if (i->tkind == ORR_TK_MEM) {
        memory_fields(i, m);
        memory_regs(i, m, &t, &d, &s);
    } else {
        int size[5];
        operand_sizes(sass, m, size);
        for (int r = 0; r < t.ndst; r++) add(&d, t.dst[r], r ? 1 : size[0]);
        for (int r = 0; r < t.nsrc; r++) add(&s, t.src[r], r < 4 ? size[r + 1] : 1);
        i->imm = t.imm < 0 ? 0 : t.imm > 0xffff ? 0xffff : (uint32_t)t.imm;
        if (i->op == ORR_OP_BRX) i->imm = 0;
    }
    if (sass == ORR_SASS_BAR) {
        i->sub = has(m, "ARV") ? ORR_BAR_ARRIVE : has(m, "RED") ? ORR_BAR_RED_POPC : ORR_BAR_SYNC;
    } else if (i->op == ORR_OP_MEMBAR) {
        i->sub = has(m, "SYS") ? 3 : has(m, "GPU") || has(m, "GL") || has(m, "VC") ? 2 : 0;
        i->imm = i->sub;
    }
    i->ndst = (uint8_t)d.n;
    i->nsrc = (uint8_t)s.n;
    i->first = k->noperands;
    put_regs(k, operands_cap, &d);
    put_regs(k, operands_cap, &s);
    return sass != ORR_SASS_NONE;
}

bool orr_accel_inst(orr_kernel *k, orr_inst *i, const char *mnemonic, int width) {
    uint32_t cap = k->noperands; // it has no operands: none are added
    traced_inst t = {.name = mnemonic, .n = strlen(mnemonic), .width = width};
    return decode_inst(k, &cap, i, &t);
}
