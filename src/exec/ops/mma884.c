// Volta's matrix products: mma.m8n8k4 of f16, and HMMA.884, the steps that Volta's tensor cores do it in.
//
// A warp is four quad pairs: lanes 4q ... 4q + 3 and 16 + 4q ... 16 + 4q + 3 multiply 8x4 by 4x8 by
// themselves. PTX's instruction and the machine's have the same fragments (PTX ISA, "Matrix Fragments for
// mma.m8n8k4 with .f16 floating point type"). A step of the machine has two registers of each operand:
//
//   result f32   four steps: rows 0, 1, 4, 5 (steps 0 and 2) or 2, 3, 6, 7, columns 0 to 3 (0 and 1) or 4 to
//   7 result f16   two steps: all rows, columns 0 to 3 or 4 to 7
//
// which is what ptxas 11.8 makes of mma.m8n8k4, and what Raihan et al. 2019 (arXiv 1811.08309) found on a
// Titan V. Rounding: the four products and the accumulator are lined up at the largest exponent, what lies
// below f32's last place there is cut off, and the sum is cut to f32 or rounded to f16 (V100 in Fasi et al.
// 2021, PeerJ CS 7:e330, and Khattak and Mikaitis, arXiv 2512.07004).
#include "exec/ops/mma.h"
#include "exec/ops/sums.h"

enum { VOLTA_GUARD = 23, QUADS = 4, TILE = 4 }; // TILE: columns of a step, and products of a sum

// ---- PTX's instruction ----------------------------------------------------------------------
// mma.m8n8k4 of f16: four products, one for each eight lanes 4q ... 4q + 3 and 16 + 4q ... 16 + 4q + 3.
// Volta's instruction: later GPUs do it with a chain of f32 fma from zero, and add C at the end.
static void multiply_884(product *p) {
    const uint16_t *a = (const uint16_t *)p->a.w, *b = (const uint16_t *)p->b.w;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            float s = p->dtype == ORR_T_F16 ? -0.0f : 0;
            uint32_t c = p->c.w[i * 8 + j];
            for (int k = 0; k < 4; k++)
                s = __builtin_fmaf(f32_of(f32_from_f16(a[i * 4 + k])), f32_of(f32_from_f16(b[j * 4 + k])), s);
            uint32_t r = out32(s + f32_of(p->ctype == ORR_T_F16 ? f32_from_f16(c) : c), 0, 0);
            p->c.w[i * 8 + j] = p->dtype == ORR_T_F16 ? f16_from_f32(r) : r;
        }
}
void orr_mma884(warp *w, const uop *u) {
    const oper *src = u->all + u->ndst;
    bool acol = u->inst->mods & ORR_M_A_COL, bcol = u->inst->mods & ORR_M_B_COL;
    const oper *creg = src + 4;
    product p[4];
    for (int q = 0; q < 4; q++) {
        orr_mma_start(u, &p[q]);
        for (int l = 0; l < 8; l++) {
            int lane = 4 * q + (l & 3) + (l >> 2) * 16, up = l >> 2 ? 4 : 0, t = lane & 3;
            for (int e = 0; e < 4; e++) {
                uint16_t a = (uint16_t)(OPER(w, src[e >> 1], uint32_t)[lane] >> (e & 1) * 16);
                uint16_t b = (uint16_t)(OPER(w, src[2 + (e >> 1)], uint32_t)[lane] >> (e & 1) * 16);
                uint16_t *A = (uint16_t *)p[q].a.w, *B = (uint16_t *)p[q].b.w; // [m][k], [n][k]
                if (acol)
                    A[(e + up) * 4 + t] = a;
                else
                    A[(t + up) * 4 + e] = a;
                if (bcol)
                    B[(t + up) * 4 + e] = b;
                else
                    B[(e + up) * 4 + t] = b;
            }
            for (int e = 0; e < 8; e++) {
                if (p[q].ctype == ORR_T_F16) {
                    p[q].c.w[(t + up) * 8 + e] =
                        OPER(w, creg[e >> 1], uint32_t)[lane] >> (e & 1) * 16 & 0xffff;
                } else {
                    int row = (lane & 1) + (e & 2) + up, col = (e & 4) + (lane & 2) + (e & 1);
                    p[q].c.w[row * 8 + col] = OPER(w, creg[e], uint32_t)[lane];
                }
            }
        }
        multiply_884(&p[q]);
    }
    for (int lane = 0; lane < ORR_WARP; lane++) {
        const product *r = &p[lane >> 2 & 3];
        int up = lane >> 4 ? 4 : 0;
        for (int e = 0; e < 8; e++) {
            if (r->dtype == ORR_T_F16) {
                ((uint16_t *)OPER(w, u->all[e >> 1], uint32_t))[lane * 2 + (e & 1)] =
                    (uint16_t)r->c.w[((lane & 3) + up) * 8 + e];
            } else {
                int row = (lane & 1) + (e & 2) + up, col = (e & 4) + (lane & 2) + (e & 1);
                OPER(w, u->all[e], uint32_t)[lane] = r->c.w[row * 8 + col];
            }
        }
    }
}

// ---- a step of HMMA.884 ---------------------------------------------------------------------
typedef struct step884 {
    bool acol, bcol, chalf, dhalf;
    int number; // which step
    int rows;   // of the result: 4 or 8
    int column; // the first
} step884;

static step884 step_of(const orr_inst *i) {
    step884 s = {.acol = i->mods & ORR_M_A_COL,
                 .bcol = i->mods & ORR_M_B_COL,
                 .chalf = i->cmp == ORR_T_F16,
                 .dhalf = i->type == ORR_T_F16,
                 .number = i->vec - MMA_STEP};
    s.rows = s.dhalf ? 8 : 4;
    s.column = (s.dhalf ? s.number : s.number >> 1) * TILE;
    return s;
}
// Row r of the step's result in the whole 8x8.
static int row_of(const step884 *s, int r) {
    return s->dhalf ? r : (r & 1) + (s->number & 1) * 2 + (r & 2) * 2;
}
static int lane_of(int quad, int row) { return 4 * quad + (row & 3) + (row >> 2) * 16; }

// Element (x, k) of a factor: lane and half by who holds it. `own`: a lane holds a line along k.
static uint16_t factor(const warp *w, const oper *regs, int quad, int x, int k, bool own) {
    int lane = own ? lane_of(quad, x) : lane_of(quad, (x & 4) + k), e = own ? k : x & 3;
    return (uint16_t)(OPER(w, regs[e >> 1], uint32_t)[lane] >> (e & 1) * 16);
}
// Element (row, column) of C or D: the lane that has it, and which of its 2 registers (f16: 4 halves) of the
// step.
static int place_of(int quad, int row, int column, bool half, int *element) {
    *element = half ? column & 3 : column & 1;
    if (half) return lane_of(quad, row);
    return 4 * quad + (row & 1) + (column & 2) + (row >> 2) * 16;
}

// A step's quad as a product of its own: any type, any number.
static void any_quad(const warp *w, const uop *u, const step884 *s, int q, uint32_t *out) {
    const oper *a = u->all + 2, *b = a + 2, *c = b + 2;
    product p;
    orr_mma_start(u, &p);
    p.m = s->rows, p.n = TILE;
    uint16_t *pa = (uint16_t *)p.a.w, *pb = (uint16_t *)p.b.w;
    for (int r = 0; r < s->rows; r++) {
        int row = row_of(s, r), e;
        for (int k = 0; k < TILE; k++) pa[r * TILE + k] = factor(w, a, q, row, k, !s->acol);
        for (int j = 0; j < TILE; j++) {
            int lane = place_of(q, row, s->column + j, s->chalf, &e);
            uint32_t *to = &p.c.w[r * TILE + j];
            *to = s->chalf ? OPER(w, c[e >> 1], uint32_t)[lane] >> (e & 1) * 16 & 0xffff
                           : OPER(w, c[e], uint32_t)[lane];
        }
    }
    for (int j = 0; j < TILE; j++)
        for (int k = 0; k < TILE; k++) pb[j * TILE + k] = factor(w, b, q, s->column + j, k, s->bcol);
    orr_mma_floats(&p, TILE, VOLTA_GUARD);
    memcpy(out, p.c.w, (size_t)(s->rows * TILE) * sizeof *out);
}

// A factor's registers as f32: elements 0 to 3 of each lane, and their exponents.
typedef struct factors884 {
    uint32_t f[4][ORR_WARP];
    int16_t e[4][ORR_WARP];
} factors884;

// False: there are infinities or NaNs.
static bool unpack(const warp *w, const oper *regs, factors884 *x) {
    for (int e = 0; e < 4; e++) {
        const uint32_t *r = OPER(w, regs[e >> 1], uint32_t);
        for (int lane = 0; lane < ORR_WARP; lane++)
            x->f[e][lane] = f32_from_f16(r[lane] >> (e & 1) * 16 & 0xffff);
    }
    return orr_sums_exponents(ORR_T_F16, x->f[0], 4 * ORR_WARP, x->e[0]);
}

// A step's quad by sums.h, with columns of zeros behind the four; accumulators and results are f32. False:
// not usual, nothing is done.
static bool usual_quad(const warp *w, const uop *u, const step884 *s, int q, const factors884 ab[2],
                       uint32_t *out) {
    const oper *c = u->all + 6;
    uint32_t fa[4][TILE], fb[TILE][SUMS_COLUMNS] = {0}, row_c[SUMS_COLUMNS];
    int16_t ea[4][TILE], eb[TILE][SUMS_COLUMNS];
    uint32_t none = 0;
    orr_sums_exponents(ORR_T_F16, &none, 1, &eb[0][TILE]);
    for (int k = 0; k < TILE; k++)
        for (int j = TILE; j < SUMS_COLUMNS; j++) eb[k][j] = eb[0][TILE];
    for (int x = 0; x < TILE; x++)
        for (int k = 0; k < TILE; k++) {
            int row = row_of(s, x), column = s->column + x;
            int la = s->acol ? lane_of(q, (row & 4) + k) : lane_of(q, row), na = s->acol ? row & 3 : k;
            int lb = s->bcol ? lane_of(q, column) : lane_of(q, (column & 4) + k),
                nb = s->bcol ? k : column & 3;
            fa[x][k] = ab[0].f[na][la], ea[x][k] = ab[0].e[na][la];
            fb[k][x] = ab[1].f[nb][lb], eb[k][x] = ab[1].e[nb][lb];
        }
    for (int r = 0; r < TILE; r++) {
        sums sum = {.fa = fa[r],
                    .fb = fb[0],
                    .ea = ea[r],
                    .eb = eb[0],
                    .n = SUMS_COLUMNS,
                    .len = TILE,
                    .guard = VOLTA_GUARD};
        memset(row_c, 0, sizeof row_c);
        for (int j = 0; j < TILE; j++) {
            int e, lane = place_of(q, row_of(s, r), s->column + j, false, &e);
            row_c[j] = OPER(w, c[e], uint32_t)[lane];
        }
        if (!orr_sums(&sum, 0, row_c)) return false;
        memcpy(out + r * TILE, row_c, TILE * sizeof *out);
    }
    return true;
}

static void mma884_step(warp *w, const uop *u) {
    step884 s = step_of(u->inst);
    uint32_t out[QUADS][8 * TILE];
    factors884 ab[2];
    bool usual = !s.dhalf && !s.chalf && unpack(w, u->all + 2, &ab[0]) && unpack(w, u->all + 4, &ab[1]);
    for (int q = 0; q < QUADS; q++)
        if (!usual || !usual_quad(w, u, &s, q, ab, out[q])) any_quad(w, u, &s, q, out[q]);
    for (int q = 0; q < QUADS; q++)
        for (int i = 0; i < s.rows * TILE; i++) {
            int e, lane = place_of(q, row_of(&s, i / TILE), s.column + i % TILE, s.dhalf, &e);
            if (s.dhalf)
                ((uint16_t *)OPER(w, u->all[e >> 1], uint32_t))[lane * 2 + (e & 1)] = (uint16_t)out[q][i];
            else
                OPER(w, u->all[e], uint32_t)[lane] = out[q][i];
        }
}

handlers orr_pick_mma884_step(const orr_inst *i, const char **why) {
    int steps = i->type == ORR_T_F16 ? 2 : 4;
    if (i->ndst == 2 && i->nsrc == 6 && i->vec < MMA_STEP + steps && i->stype == ORR_T_F16)
        return (handlers){mma884_step, orr_mma_parted};
    *why = "this step of HMMA.884";
    return (handlers){0};
}
