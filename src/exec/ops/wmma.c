// wmma.load, wmma.mma, wmma.store, and ldmatrix, stmatrix, movmatrix.
//
// Manual: PTX ISA, "Warp Level Matrix Load/Store/Multiply-Accumulate". A wmma fragment's layout is
// unspecified. Here a lane holds neighbours: A is cut into 32 equal runs along its rows, B along its
// columns, and lane i holds run i; where PTX gives a fragment more registers than that takes, the
// rest repeat it. The accumulator of m16n16 lies as in mma.m16n8, the left half in the first
// registers; of the other shapes in runs along its rows.
#include "exec/ops/mma.h"

enum { FRAG_A, FRAG_B, FRAG_C };

typedef struct matrix {
    int rows, cols;
    int type, bits; // of an element
    int kind;
} matrix;

static matrix matrix_of(uint32_t imm, int kind, int type) {
    int m = (int)(imm & 255), n = (int)(imm >> 8 & 255), k = (int)(imm >> 16);
    return (matrix){kind == FRAG_B ? k : m, kind == FRAG_A ? k : n, type, orr_matrix_bits(type), kind};
}
static int run_of(const matrix *x) { return x->rows * x->cols / ORR_WARP; } // elements of a lane

// Where element e of a lane is.
static void element_at(const matrix *x, int lane, int e, int *row, int *col) {
    int at = lane * run_of(x) + e;
    if (x->kind == FRAG_C && x->rows == 16 && x->cols == 16) {
        *row = (lane >> 2) + (e >> 1 & 1) * 8;
        *col = (lane & 3) * 2 + (e & 1) + (e >> 2) * 8;
    } else if (x->kind == FRAG_B) {
        *row = at % x->rows, *col = at / x->rows;
    } else {
        *row = at / x->cols, *col = at % x->cols;
    }
}

// ---- memory ---------------------------------------------------------------------------------
// The lines of the matrix (rows, or columns of a column-major one) are `stride` elements apart. Each
// lane touches one 32nd of the matrix; the pieces never straddle lines.
typedef struct layout {
    int line, lines; // elements of a line, lines
    uint32_t piece;  // bytes of a lane
} layout;
static layout layout_of(const matrix *x, bool col) {
    layout l = {col ? x->rows : x->cols, col ? x->cols : x->rows, 0};
    l.piece = (uint32_t)(x->rows * x->cols * x->bits / 8 / ORR_WARP);
    return l;
}
// Host pointers to the pieces. More than 16 bytes need not be aligned beyond 16: the second half is
// looked up by itself, and recorded in no stream.
static bool pieces(warp *w, const uop *u, const matrix *x, bool col, uint8_t *host[2][ORR_WARP]) {
    layout l = layout_of(x, col);
    uint64_t addr[ORR_WARP];
    oper stride = u->nsrc > 1 ? u->all[u->ndst + 1] : no_oper;
    uint32_t each = (uint32_t)(l.line * x->bits / 8) / l.piece;
    // the address and the stride are the same in every lane
    uint64_t base = u->a.cls == ORR_D ? *SRC_A(w, u, uint64_t) : *SRC_A(w, u, uint32_t);
    int64_t step = stride.none           ? l.line
                   : stride.cls == ORR_D ? *OPER(w, stride, int64_t)
                                         : *OPER(w, stride, int32_t);
    uint64_t apart = (uint64_t)step * (uint64_t)x->bits / 8;
    for (uint32_t i = 0; i < ORR_WARP; i++)
        addr[i] = base + (uint64_t)(int64_t)u->inst->disp + i / each * apart + i % each * l.piece;
    uint32_t bytes = l.piece > 16 ? 16 : l.piece;
    if (!orr_addresses_at(w, u, addr, u->inst->space, bytes, host[0])) return false;
    if (l.piece <= 16) return true;
    for (int i = 0; i < ORR_WARP; i++) addr[i] += 16;
    orr_trace_out *trace = w->trace;
    w->trace = NULL;
    bool ok = orr_addresses_at(w, u, addr, u->inst->space, 16, host[1]);
    w->trace = trace;
    return ok;
}
static uint64_t get_bits(const uint8_t *p, int at, int bits) { // element `at` of packed ones
    switch (bits) {
    case 64: return ((const uint64_t *)(const void *)p)[at];
    case 32: return ((const uint32_t *)(const void *)p)[at];
    case 16: return ((const uint16_t *)(const void *)p)[at];
    case 8: return p[at];
    default: return p[at * bits / 8] >> at * bits % 8 & ((1 << bits) - 1);
    }
}
static void put_bits(uint8_t *p, int at, int bits, uint64_t v) { // into zeros
    switch (bits) {
    case 64: ((uint64_t *)(void *)p)[at] = v; break;
    case 32: ((uint32_t *)(void *)p)[at] = (uint32_t)v; break;
    case 16: ((uint16_t *)(void *)p)[at] = (uint16_t)v; break;
    case 8: p[at] = (uint8_t)v; break;
    default: p[at * bits / 8] |= (uint8_t)(v << at * bits % 8); break;
    }
}

typedef union image {
    uint8_t b[4096];
    uint64_t align;
} image; // a matrix, line after line

static void wmma_load(warp *w, const uop *u) {
    bool col = u->inst->mods & ORR_M_A_COL;
    matrix x = matrix_of(u->imm, u->inst->sub, u->inst->type);
    layout l = layout_of(&x, col);
    uint8_t *host[2][ORR_WARP];
    image mem;
    if (!pieces(w, u, &x, col, host)) return;
    for (uint32_t i = 0; i < ORR_WARP; i++) {
        memcpy(mem.b + i * l.piece, host[0][i], l.piece > 16 ? 16 : l.piece);
        if (l.piece > 16) memcpy(mem.b + i * l.piece + 16, host[1][i], l.piece - 16);
    }
    int run = run_of(&x), per = x.bits == 64 ? 1 : 32 / x.bits;
    for (int i = 0; i < ORR_WARP; i++) {
        for (int r = 0; r < u->ndst; r++) {
            image word = {{0}};
            for (int e = 0; e < per; e++) {
                int row, c;
                element_at(&x, i, (r * per + e) % run, &row, &c);
                put_bits(word.b, e, x.bits,
                         get_bits(mem.b, col ? c * l.line + row : row * l.line + c, x.bits));
            }
            memcpy(OPER(w, u->all[r], uint8_t) + i * (x.bits == 64 ? 8 : 4), word.b, x.bits == 64 ? 8 : 4);
        }
    }
}

static void wmma_store(warp *w, const uop *u) {
    bool col = u->inst->mods & (ORR_M_A_COL | ORR_M_D_COL);
    matrix x = matrix_of(u->imm, FRAG_C, u->inst->type);
    layout l = layout_of(&x, col);
    uint8_t *host[2][ORR_WARP];
    image mem;
    if (!pieces(w, u, &x, col, host)) return;
    int run = run_of(&x), per = x.bits == 64 ? 1 : 32 / x.bits;
    for (int i = 0; i < ORR_WARP; i++)
        for (int e = 0; e < run; e++) {
            int row, c;
            element_at(&x, i, e, &row, &c);
            const uint8_t *reg = OPER(w, u->all[2 + e / per], uint8_t) + i * (x.bits == 64 ? 8 : 4);
            put_bits(mem.b, col ? c * l.line + row : row * l.line + c, x.bits,
                     get_bits(reg, e % per, x.bits));
        }
    for (uint32_t i = 0; i < ORR_WARP; i++) {
        memcpy(host[0][i], mem.b + i * l.piece, l.piece > 16 ? 16 : l.piece);
        if (l.piece > 16) memcpy(host[1][i], mem.b + i * l.piece + 16, l.piece - 16);
    }
}

// ---- wmma.mma -------------------------------------------------------------------------------
// A's and B's runs one after the other are what orr_mma_multiply reads.
static void gather_runs(const warp *w, const oper *regs, const matrix *x, uint8_t *out) {
    int word = x->bits == 64 ? 8 : 4, n = run_of(x) * x->bits / 8 / word;
    for (int i = 0; i < ORR_WARP; i++)
        for (int r = 0; r < n; r++)
            memcpy(out + (i * n + r) * word, OPER(w, regs[r], uint8_t) + i * word, (size_t)word);
}
static int regs_of(const orr_inst *i, int kind, int type) { // as PTX lists them
    matrix x = matrix_of(i->imm, kind, type);
    if (kind != FRAG_C && type == ORR_T_F16) return 8;
    return run_of(&x) * x.bits / (x.bits == 64 ? 64 : 32);
}
static void wmma_mma(warp *w, const uop *u) {
    const orr_inst *inst = u->inst;
    product p = {.m = (int)(u->imm & 255), .n = (int)(u->imm >> 8 & 255), .k = (int)(u->imm >> 16)};
    p.kc = p.k;
    p.dtype = inst->type, p.atype = inst->stype, p.btype = inst->sub, p.ctype = inst->cmp;
    p.satfinite = inst->mods & ORR_M_SATFINITE;
    p.b1_and = inst->boolop == 2;
    matrix a = matrix_of(u->imm, FRAG_A, p.atype), b = matrix_of(u->imm, FRAG_B, p.btype),
           c = matrix_of(u->imm, FRAG_C, p.ctype), d = matrix_of(u->imm, FRAG_C, p.dtype);
    const oper *src = u->all + u->ndst, *areg = src, *breg = src + regs_of(inst, FRAG_A, p.atype),
               *creg = breg + regs_of(inst, FRAG_B, p.btype);
    gather_runs(w, areg, &a, (uint8_t *)&p.a);
    gather_runs(w, breg, &b, (uint8_t *)&p.b);
    int run = run_of(&c);
    for (int i = 0; i < ORR_WARP; i++)
        for (int e = 0; e < run; e++) {
            int row, col;
            element_at(&c, i, e, &row, &col);
            int at = row * p.n + col;
            if (c.bits == 64)
                p.c.d[at] = OPER(w, creg[e], uint64_t)[i];
            else if (c.bits == 16)
                p.c.w[at] = OPER(w, creg[e >> 1], uint32_t)[i] >> (e & 1) * 16 & 0xffff;
            else
                p.c.w[at] = OPER(w, creg[e], uint32_t)[i];
        }
    orr_mma_multiply(&p);
    for (int i = 0; i < ORR_WARP; i++) {
        for (int e = 0; e < run; e++) {
            int row, col;
            element_at(&d, i, e, &row, &col);
            int at = row * p.n + col;
            if (d.bits == 64)
                OPER(w, u->all[e], uint64_t)[i] = p.c.d[at];
            else if (d.bits == 16)
                ((uint16_t *)OPER(w, u->all[e >> 1], uint32_t))[i * 2 + (e & 1)] = (uint16_t)p.c.w[at];
            else
                OPER(w, u->all[e], uint32_t)[i] = p.c.w[at];
        }
    }
}

// ---- ldmatrix, stmatrix, movmatrix ----------------------------------------------------------
// 8 x 8 matrices of 16-bit elements. Lane 8 j + i gives the address of row i of matrix j; register j of
// lane 4 r + t holds elements 2 t and 2 t + 1 of row r (of column r with .trans).
static bool rows(warp *w, const uop *u, uint8_t *host[ORR_WARP]) {
    set_exec(w, u->imm >= 4 ? FULL : (1u << 8 * u->imm) - 1);
    bool ok = orr_addresses(w, u, u->inst->space, 16, host);
    set_exec(w, FULL);
    return ok;
}
static void ldmatrix(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    bool trans = u->inst->mods & ORR_M_TRANS;
    if (!rows(w, u, host)) return;
    for (int j = 0; j < u->ndst; j++) {
        uint16_t x[8][8];
        uint32_t *d = DST_N(w, u, j, uint32_t);
        for (int i = 0; i < 8; i++) memcpy(x[i], host[8 * j + i], 16);
        for (int i = 0; i < ORR_WARP; i++) {
            int r = i >> 2, c = (i & 3) * 2;
            d[i] = trans ? (uint32_t)x[c + 1][r] << 16 | x[c][r] : (uint32_t)x[r][c + 1] << 16 | x[r][c];
        }
    }
}
static void stmatrix(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    bool trans = u->inst->mods & ORR_M_TRANS;
    if (!rows(w, u, host)) return;
    for (int j = 0; j < u->nsrc - 1; j++) {
        uint16_t x[8][8];
        const uint32_t *s = SRC_N(w, u, j + 1, uint32_t);
        for (int i = 0; i < ORR_WARP; i++)
            for (int e = 0; e < 2; e++) {
                int r = i >> 2, c = (i & 3) * 2 + e;
                if (trans)
                    x[c][r] = (uint16_t)(s[i] >> 16 * e);
                else
                    x[r][c] = (uint16_t)(s[i] >> 16 * e);
            }
        for (int i = 0; i < 8; i++) memcpy(host[8 * j + i], x[i], 16);
    }
}
static void movmatrix(warp *w, const uop *u) {
    uint32_t *d = DST(w, u, uint32_t), x[ORR_WARP];
    memcpy(x, SRC_A(w, u, uint32_t), sizeof x);
    for (int i = 0; i < ORR_WARP; i++) { // element (r, c) is in lane 4 r + c / 2
        uint32_t v = 0;
        for (int e = 0; e < 2; e++) {
            int r = (i & 3) * 2 + e, c = i >> 2;
            v |= (x[4 * r + c / 2] >> (c & 1) * 16 & 0xffff) << 16 * e;
        }
        d[i] = v;
    }
}

// ---- picking --------------------------------------------------------------------------------
static bool shape_known(int type, uint32_t imm) {
    int m = (int)(imm & 255), n = (int)(imm >> 8 & 255), k = (int)(imm >> 16);
    switch (type) {
    case ORR_T_F16:
    case ORR_T_BF16:
    case ORR_T_U8:
    case ORR_T_S8: return k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
    case ORR_T_TF32: return m == 16 && n == 16 && k == 8;
    case ORR_T_F64: return m == 8 && n == 8 && k == 4;
    case ORR_T_U4:
    case ORR_T_S4: return m == 8 && n == 8 && k == 32;
    case ORR_T_B1: return m == 8 && n == 8 && k == 128;
    }
    return false;
}
// An accumulator's shape: that of some multiplication.
static bool shape_of_c(int type, uint32_t imm) {
    switch (type) {
    case ORR_T_F16: return shape_known(ORR_T_F16, imm);
    case ORR_T_F32: return shape_known(ORR_T_F16, imm) || shape_known(ORR_T_TF32, imm);
    case ORR_T_S32:
        return shape_known(ORR_T_S8, imm) || shape_known(ORR_T_S4, imm) || shape_known(ORR_T_B1, imm);
    case ORR_T_F64: return shape_known(ORR_T_F64, imm);
    }
    return false;
}
static bool all_class(const orr_kernel *k, const orr_inst *i, int from, int to, int cls) {
    for (int j = from; j < to; j++) {
        const orr_operand *o = &k->operands[i->first + (uint32_t)j];
        if (o->kind == ORR_K_NONE || o->cls != cls) return false;
    }
    return true;
}

handlers orr_pick_wmma(const orr_kernel *k, const orr_inst *i, const char **why) {
    bool ok = false;
    uop_fn *fn = NULL;
    int cls = i->type == ORR_T_F64 ? ORR_D : ORR_W;
    switch (i->op) {
    case ORR_OP_WMMALOAD:
        fn = wmma_load;
        ok = i->sub <= FRAG_C &&
             (i->sub == FRAG_C ? shape_of_c(i->type, i->imm) : shape_known(i->type, i->imm)) &&
             i->nsrc >= 1 && i->nsrc <= 2 && i->ndst == regs_of(i, i->sub, i->type) &&
             all_class(k, i, 0, i->ndst, cls);
        break;
    case ORR_OP_WMMASTORE:
        fn = wmma_store;
        ok = shape_of_c(i->type, i->imm) && i->ndst == 0 && i->nsrc == 2 + regs_of(i, FRAG_C, i->type) &&
             all_class(k, i, 2, i->nsrc, cls);
        break;
    case ORR_OP_WMMA:
        fn = wmma_mma;
        ok = orr_mma_types(i, true) && shape_known(i->stype, i->imm) &&
             i->ndst == regs_of(i, FRAG_C, i->type) &&
             i->nsrc ==
                 regs_of(i, FRAG_A, i->stype) + regs_of(i, FRAG_B, i->sub) + regs_of(i, FRAG_C, i->cmp) &&
             all_class(k, i, 0, i->ndst + i->nsrc, cls);
        break;
    case ORR_OP_LDMATRIX:
        fn = ldmatrix;
        ok = i->type == ORR_T_B16 && i->nsrc == 1 && i->ndst == i->imm &&
             (i->imm == 1 || i->imm == 2 || i->imm == 4) && all_class(k, i, 0, i->ndst, ORR_W);
        break;
    case ORR_OP_STMATRIX:
        fn = stmatrix;
        ok = i->type == ORR_T_B16 && i->ndst == 0 && i->nsrc == i->imm + 1 &&
             (i->imm == 1 || i->imm == 2 || i->imm == 4) && all_class(k, i, 1, i->nsrc, ORR_W);
        break;
    case ORR_OP_MOVMATRIX:
        fn = movmatrix;
        ok = i->ndst == 1 && i->nsrc == 1 && all_class(k, i, 0, 2, ORR_W);
        break;
    default: return (handlers){0};
    }
    if (!ok) *why = "this shape, type or register list of a matrix instruction";
    return ok ? (handlers){fn, orr_mma_parted} : (handlers){0};
}
