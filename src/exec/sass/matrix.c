// Machine code: products of small matrices, and their ways to and from shared memory.
//
// HMMA.16816 is PTX's mma.m16n8k16, and its fragments lie in the registers as PTX's manual says: A, B, C and
// D are ranges of registers, one after the other. So all of these are PTX's handlers (ops/mma.c, wmma.c).
// WMMA of PTX comes as pairs of these too.
#include "exec/ops/mma.h"
#include "exec/sass/float.h"
#include "exec/sass/memory.h"

typedef struct shape {
    uint32_t m, n, k;
} shape;

static int regs_of(uint32_t elements, uint8_t type, int word) {
    return (int)(elements * (uint32_t)orr_matrix_bits(type) / (uint32_t)word / ORR_WARP);
}

// D, A, B, C are arguments 0 to 3; of a sparse A come a register of places and a selector behind the
// predicate.
static bool multiply(translator *m, shape s, uint8_t d, uint8_t a, uint8_t b, orr_inst like) {
    bool sparse = m_mod(m, ORR_SM_SP) != 0, wide = a == ORR_T_F64;
    int word = wide ? 64 : 32, per = wide ? 2 : 1, n = 0;
    oper o[80], results[8];
    for (int i = 1; i <= 3; i++)
        if (m->c->args[i].flags & (ORR_ARG_NEG | ORR_ARG_ABS | ORR_ARG_INV))
            return m_no(m, "a matrix product with a sign is not executed");
    if (m_is(m, 4, ORR_ARG_UP) && !(m->c->args[4].flags & ORR_ARG_HIDDEN))
        return m_no(m, "a matrix product with a predicate is not executed");
    if (m->c->args[1].sub == ORR_SM_ROW && m->c->args[1].subval != ORR_SV_ROW_ROW)
        return m_no(m, "only a row-major first factor is executed");
    if (m->c->args[2].sub == ORR_SM_ROW && m->c->args[2].subval != ORR_SV_ROW_COL)
        return m_no(m, "only a column-major second factor is executed");
    int nd = regs_of(s.m * s.n, d, word),
        counts[4] = {0, regs_of(s.m * (sparse ? s.k / 2 : s.k), a, word), regs_of(s.k * s.n, b, word), nd};
    if (nd > 8) return m_no(m, "this shape is not executed");
    for (int i = 0; i < nd; i++) o[n++] = results[i] = wide ? m_tmp(m, ORR_D) : m_dst(m, 0, i);
    for (int part = 1; part <= 3; part++)
        for (int i = 0; i < counts[part]; i++)
            o[n++] =
                wide ? m_pair(m, m_src(m, part, i * per), m_src(m, part, i * per + 1)) : m_src(m, part, i);
    if (sparse) {
        o[n++] = m_src(m, 5, 0);
        o[n++] = m_src(m, 6, 0);
        like.vec = 1;
    }
    like.op = ORR_OP_MMA;
    like.imm = s.m | s.n << 8 | s.k << 16;
    like.type = d, like.stype = a, like.sub = b, like.cmp = d;
    like.mods |= ORR_M_B_COL;
    if (!m_ptx(m, like, nd, n - nd, o)) return false;
    if (!wide) return true;
    m_active(m);
    for (int i = 0; i < nd; i++) m_unpack(m, m_dst(m, 0, 2 * i), m_dst(m, 0, 2 * i + 1), results[i]);
    return true;
}

// A step of Volta's: pairs of registers (ops/mma884.c).
static bool hmma884(translator *m) {
    if (m_mod(m, ORR_SM_SATFINITE)) return m_no(m, "HMMA.884 with .SATFINITE is not executed");
    orr_inst like = {.op = ORR_OP_MMA,
                     .imm = 8 | 8 << 8 | 4 << 16,
                     .vec = (uint8_t)(MMA_STEP + m_mod(m, ORR_SM_STEP)),
                     .type = m_mod(m, ORR_SM_HMMAD) == ORR_SV_HMMAC_F32 ? ORR_T_F32 : ORR_T_F16,
                     .cmp = m_mod(m, ORR_SM_HMMAC) == ORR_SV_HMMAC_F32 ? ORR_T_F32 : ORR_T_F16,
                     .stype = ORR_T_F16,
                     .sub = ORR_T_F16};
    for (int i = 1; i <= 2; i++) {
        if (m->c->args[i].flags & ORR_ARG_NEG) return m_no(m, "HMMA.884 with a sign is not executed");
        if (m->c->args[i].subval == ORR_SV_ROW_COL) like.mods |= i == 1 ? ORR_M_A_COL : ORR_M_B_COL;
    }
    oper o[8];
    for (int i = 0; i < 8; i++) o[i] = i < 2 ? m_dst(m, 0, i) : m_src(m, i / 2, i & 1);
    return m_ptx(m, like, 2, 6, o);
}

static bool hmma(translator *m) {
    static const shape shapes[] = {[ORR_SV_HMMASHAPE_M16N8K8] = {16, 8, 8},
                                   [ORR_SV_HMMASHAPE_M16N8K16] = {16, 8, 16},
                                   [ORR_SV_HMMASHAPE_M16N8K4] = {16, 8, 4},
                                   [ORR_SV_HMMASHAPE_M16N8K32] = {16, 8, 32}};
    unsigned s = m_mod(m, ORR_SM_HMMASHAPE), factors = m_mod(m, ORR_SM_HMMAA);
    if (m_has(m, ORR_SM_M884)) return hmma884(m);
    if (s >= sizeof shapes / sizeof *shapes) return m_no(m, "this shape is not executed");
    uint8_t d = m_mod(m, ORR_SM_HMMAC) == ORR_SV_HMMAC_F32 ? ORR_T_F32 : ORR_T_F16;
    uint8_t a = factors == ORR_SV_HMMAA_BF16   ? ORR_T_BF16
                : factors == ORR_SV_HMMAA_TF32 ? ORR_T_TF32
                                               : ORR_T_F16;
    shape x = shapes[s];
    return multiply(m, x, d, a, a, (orr_inst){0});
}

static uint8_t int_type(unsigned t) {
    switch (t) {
    case ORR_SV_ITYPE_U8: return ORR_T_U8;
    case ORR_SV_ITYPE_S8: return ORR_T_S8;
    case ORR_SV_ITYPE_U4: return ORR_T_U4;
    default: return ORR_T_S4;
    }
}
static bool imma(translator *m) {
    static const shape shapes[] = {[ORR_SV_IMMASHAPE_M8N8K16] = {8, 8, 16},
                                   [ORR_SV_IMMASHAPE_M8N8K32] = {8, 8, 32},
                                   [ORR_SV_IMMASHAPE_M16N8K16] = {16, 8, 16},
                                   [ORR_SV_IMMASHAPE_M16N8K32] = {16, 8, 32},
                                   [ORR_SV_IMMASHAPE_M16N8K64] = {16, 8, 64}};
    unsigned s = m_mod(m, ORR_SM_IMMASHAPE);
    if (s >= sizeof shapes / sizeof *shapes || !shapes[s].m) return m_no(m, "this shape is not executed");
    orr_inst like = {.mods = m_mod(m, ORR_SM_SAT) ? ORR_M_SATFINITE : 0};
    return multiply(m, shapes[s], ORR_T_S32, int_type(m_mod(m, ORR_SM_AINT)), int_type(m_mod(m, ORR_SM_BINT)),
                    like);
}

static bool bmma(translator *m) {
    static const shape shapes[] = {[ORR_SV_BMMASHAPE_M8N8K128] = {8, 8, 128},
                                   [ORR_SV_BMMASHAPE_M16N8K128] = {16, 8, 128},
                                   [ORR_SV_BMMASHAPE_M16N8K256] = {16, 8, 256}};
    unsigned s = m_mod(m, ORR_SM_BMMASHAPE), op = m_mod(m, ORR_SM_BMMAOP);
    if (s >= sizeof shapes / sizeof *shapes) return m_no(m, "this shape is not executed");
    if (op != ORR_SV_BMMAOP_XOR && op != ORR_SV_BMMAOP_AND) return m_no(m, "this operation is not executed");
    orr_inst like = {.boolop = op == ORR_SV_BMMAOP_AND ? 2 : 1};
    return multiply(m, shapes[s], ORR_T_S32, ORR_T_B1, ORR_T_B1, like);
}

static bool dmma(translator *m) {
    static const shape shapes[] = {[ORR_SV_DMMASHAPE_M8N8K4] = {8, 8, 4},
                                   [ORR_SV_DMMASHAPE_M16N8K4] = {16, 8, 4},
                                   [ORR_SV_DMMASHAPE_M16N8K8] = {16, 8, 8},
                                   [ORR_SV_DMMASHAPE_M16N8K16] = {16, 8, 16}};
    unsigned s = m_mod(m, ORR_SM_DMMASHAPE); // before sm_90 there is only the first
    return multiply(m, shapes[s & 3], ORR_T_F64, ORR_T_F64, ORR_T_F64, (orr_inst){.round = m_round(m)});
}

static bool qmma(translator *m) {
    static const shape shapes[] = {[ORR_SV_QMMASHAPE_M16N8K16] = {16, 8, 16},
                                   [ORR_SV_QMMASHAPE_M16N8K32] = {16, 8, 32},
                                   [ORR_SV_QMMASHAPE_M16N8K64] = {16, 8, 64}};
    unsigned s = m_mod(m, ORR_SM_QMMASHAPE), a = m_mod(m, ORR_SM_AQ), b = m_mod(m, ORR_SM_BQ);
    if (s >= sizeof shapes / sizeof *shapes || a > ORR_SV_QTYPE_E5M2 || b > ORR_SV_QTYPE_E5M2)
        return m_no(m, "this shape or type is not executed");
    uint8_t d = m_mod(m, ORR_SM_HMMAC) == ORR_SV_HMMAC_F32 ? ORR_T_F32 : ORR_T_F16;
    return multiply(m, shapes[s], d, a == ORR_SV_QTYPE_E5M2 ? ORR_T_E5M2 : ORR_T_E4M3,
                    b == ORR_SV_QTYPE_E5M2 ? ORR_T_E5M2 : ORR_T_E4M3, (orr_inst){0});
}

// ---- LDSM, STSM, MOVM -----------------------------------------------------------------------
static bool matrix_access(translator *m, bool load) {
    orr_inst like = {.op = load ? ORR_OP_LDMATRIX : ORR_OP_STMATRIX,
                     .space = ORR_SPACE_SHARED,
                     .type = ORR_T_B16,
                     .width = 16,
                     .vec = 1};
    unsigned form = m_mod(m, ORR_SM_LDSMSHAPE), count = m_mod(m, ORR_SM_LDSM);
    if (form > ORR_SV_LDSMSHAPE_MT88 || count > ORR_SV_LDSM_X4)
        return m_no(m, "only matrices of 8 x 8 halves are executed");
    if (form == ORR_SV_LDSMSHAPE_MT88) like.mods = ORR_M_TRANS;
    like.imm = 1u << count;
    oper o[5], base = m_address32(m, load ? 1 : 0, &like.disp);
    int n = (int)like.imm;
    if (load) o[n] = base;
    if (!load) o[0] = base;
    for (int i = 0; i < n; i++) o[load ? i : 1 + i] = load ? m_dst(m, 0, i) : m_src(m, 1, i);
    return m_ptx(m, like, load ? n : 0, load ? 1 : 1 + n, o);
}

bool orr_sass_matrix(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_HMMA: return hmma(m);
    case ORR_SASS_IMMA: return imma(m);
    case ORR_SASS_BMMA: return bmma(m);
    case ORR_SASS_DMMA: return dmma(m);
    case ORR_SASS_QMMA: return qmma(m);
    case ORR_SASS_LDSM: return matrix_access(m, true);
    case ORR_SASS_STSM: return matrix_access(m, false);
    case ORR_SASS_MOVM:
        if (m_mod(m, ORR_SM_MOVM) != ORR_SV_MOVM_MT88) return m_no(m, "only MOVM.16.MT88 is executed");
        return m_ptx(m, (orr_inst){.op = ORR_OP_MOVMATRIX, .type = ORR_T_B16}, 1, 1,
                     OPERS(m_dst(m, 0, 0), m_src(m, 1, 0)));
    default: return false;
    }
}
