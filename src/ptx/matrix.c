// Lowering: matrix instructions. The number of registers is checked against the shape here, so that
// whoever executes them need not.
#include "ptx/lower.h"

static uint32_t element_bits(lowering *l, uint8_t type) {
    int bits = orr_matrix_bits(type);
    if (!bits) ptx_unsupported(l, "a matrix of these elements");
    return (uint32_t)bits;
}

// Registers per thread for a rows x cols matrix spread over a warp.
static uint32_t fragment(lowering *l, uint32_t rows, uint32_t cols, uint8_t type) {
    uint32_t bits = element_bits(l, type), reg = bits == 64 ? 64 : 32;
    uint32_t n = rows * cols * bits / (ORR_WARP * reg);
    return n ? n : 1;
}

static void registers(lowering *l, const ptx_opd *o, uint32_t n, uint8_t type, bool dst, const char *what) {
    uint8_t cls = type == ORR_T_F64 ? ORR_D : ORR_W;
    uint32_t have = ptx_elements(l, o);
    if (have != n) ptx_refuse(l, "%u registers where %s has %u", have, what, n);
    for (uint32_t i = 0; i < n; i++) {
        ptx_opd one = ptx_element(l, o, i);
        if (dst)
            ptx_dst(l, &one, cls);
        else
            ptx_src(l, &one, cls, cls == ORR_D ? ORR_T_F64 : type == ORR_T_F32 ? ORR_T_F32 : ORR_T_B32);
    }
}

static void begin(lowering *l) {
    ptx_begin(l);
    l->in.imm = l->op->shape;
    if (!l->op->shape) ptx_refuse(l, "a shape such as .m16n8k16 is needed");
    l->in.vec = 0;
}

static void layouts(lowering *l) {
    if (l->op->nlayouts > 0 && l->op->layouts[0]) l->in.mods |= ORR_M_A_COL;
    if (l->op->nlayouts > 1 && l->op->layouts[1]) l->in.mods |= ORR_M_B_COL;
}

static void types(lowering *l, uint8_t d, uint8_t a, uint8_t b, uint8_t c) {
    l->in.type = d;
    l->in.stype = a;
    l->in.sub = b;
    l->in.cmp = c;
    l->in.boolop = a != ORR_T_B1 ? 0 : ptx_has(l->op, "xor") ? 1 : ptx_has(l->op, "and") ? 2 : 0;
    if (a == ORR_T_B1 && !l->in.boolop) ptx_refuse(l, "'.xor.popc' or '.and.popc' is needed");
}

void ptx_l_mma(lowering *l) {
    bool sparse = ptx_has(l->op, "sp") || ptx_has(l->op, "sp::ordered_metadata");
    const uint8_t *t = l->op->types;
    begin(l);
    if (l->op->ntypes != 4) ptx_refuse(l, "four types are needed");
    if (sparse)
        ptx_need(l, 5, 6);
    else
        ptx_need(l, 4, 4);
    layouts(l);
    types(l, t[0], t[1], t[2], t[3]);
    uint32_t m = l->in.imm & 255, n = l->in.imm >> 8 & 255, k = l->in.imm >> 16;
    bool quads = m == 8 && n == 8 && k == 4 && t[1] == ORR_T_F16; // four products, one per eight lanes
    uint32_t a = quads ? 2 : fragment(l, m, sparse ? k / 2 : k, t[1]),
             b = quads ? 2 : fragment(l, k, n, t[2]);
    uint32_t d = quads ? (t[0] == ORR_T_F16 ? 4 : 8) : fragment(l, m, n, t[0]),
             c = quads ? (t[3] == ORR_T_F16 ? 4 : 8) : fragment(l, m, n, t[3]);
    registers(l, &l->o[0], d, t[0], true, "D");
    registers(l, &l->o[1], a, t[1], false, "A");
    registers(l, &l->o[2], b, t[2], false, "B");
    registers(l, &l->o[3], c, t[3], false, "C");
    if (sparse) {
        l->in.vec = 1;
        ptx_src(l, &l->o[4], ORR_W, ORR_T_B32);
        uint64_t selector = l->n == 6 ? ptx_constant(l, &l->o[5], "the sparsity selector") : 0;
        if (selector > 3) ptx_refuse(l, "the sparsity selector must be 0 to 3");
        ptx_src_operand(l, ptx_imm(ORR_W, selector));
    }
    ptx_end(l);
}

// wmma keeps f16 operands twice, so their fragments are twice as large.
static uint32_t wmma_fragment(lowering *l, int which, uint8_t type) { // 0 a, 1 b, 2 and 3 c and d
    uint32_t shape = l->op->shape, m = shape & 255, n = shape >> 8 & 255, k = shape >> 16;
    if (which >= 2) return fragment(l, m, n, type);
    if (type == ORR_T_F16) return 8;
    return which == 0 ? fragment(l, m, k, type) : fragment(l, k, n, type);
}

void ptx_l_wmma(lowering *l) {
    ptx_need(l, 4, 4);
    begin(l);
    const uint8_t *t = l->op->types;
    layouts(l);
    if (l->op->ntypes == 2)
        types(l, t[0], ORR_T_F16, ORR_T_F16, t[1]);
    else if (l->op->ntypes == 4)
        types(l, t[0], t[1], t[2], t[3]);
    else
        ptx_refuse(l, "two or four types are needed");
    uint8_t a = l->in.stype, b = l->in.sub;
    registers(l, &l->o[0], wmma_fragment(l, 3, l->in.type), l->in.type, true, "D");
    registers(l, &l->o[1], wmma_fragment(l, 0, a), a, false, "A");
    registers(l, &l->o[2], wmma_fragment(l, 1, b), b, false, "B");
    registers(l, &l->o[3], wmma_fragment(l, 2, l->in.cmp), l->in.cmp, false, "C");
    ptx_end(l);
}

static void wmma_access(lowering *l, int which) {
    ptx_need(l, 2, 3);
    begin(l);
    if (l->op->ntypes != 1) ptx_refuse(l, "one type is needed");
    if (l->op->nlayouts != 1) ptx_refuse(l, "'.row' or '.col' is needed");
    if (l->op->layouts[0]) l->in.mods |= ORR_M_A_COL | ORR_M_D_COL;
    // Each lane loads or stores one 32nd of the matrix.
    uint32_t shape = l->op->shape, m = shape & 255, n = shape >> 8 & 255, k = shape >> 16;
    uint32_t bytes = (which == 0   ? m * k
                      : which == 1 ? k * n
                                   : m * n) *
                     element_bits(l, l->in.type) / 8 / ORR_WARP;
    l->in.width = (uint8_t)(bytes > 16 ? 16 : bytes ? bytes : 1);
    l->in.vec = (uint8_t)(bytes > 16 ? bytes / 16 : 1);
}

void ptx_l_wmmaload(lowering *l) {
    wmma_access(l, l->op->row->sub);
    registers(l, &l->o[0], wmma_fragment(l, l->op->row->sub, l->in.type), l->in.type, true, "the matrix");
    ptx_mem(l, &l->o[1]);
    if (l->n == 3) ptx_src(l, &l->o[2], ORR_W, ORR_T_U32);
    ptx_end(l);
}

void ptx_l_wmmastore(lowering *l) {
    wmma_access(l, 3);
    ptx_mem(l, &l->o[0]);
    if (l->n == 3)
        ptx_src(l, &l->o[2], ORR_W, ORR_T_U32);
    else
        ptx_src_none(l);
    registers(l, &l->o[1], wmma_fragment(l, 3, l->in.type), l->in.type, false, "the matrix");
    ptx_end(l);
}

static void matrices(lowering *l) { // ldmatrix, stmatrix
    ptx_need(l, 2, 2);
    ptx_begin(l);
    if (l->op->ntypes != 1) ptx_refuse(l, "one type is needed");
    l->in.imm = ptx_has(l->op, "x4") ? 4 : ptx_has(l->op, "x2") ? 2 : 1;
    l->in.width = 16; // a row per lane
    bool small = ptx_has(l->op, "m8n8");
    if (l->in.type != (small ? ORR_T_B16 : ORR_T_B8)) ptx_unsupported(l, "this shape with this type");
}

void ptx_l_ldmatrix(lowering *l) {
    matrices(l);
    uint32_t n = l->in.imm * (l->in.type == ORR_T_B8 ? 2 : 1); // m16n16.b8 is two registers each
    if (n > 4) ptx_refuse(l, "too many matrices");
    registers(l, &l->o[0], n, ORR_T_B32, true, "the matrices");
    ptx_mem(l, &l->o[1]);
    ptx_end(l);
}

void ptx_l_stmatrix(lowering *l) {
    matrices(l);
    ptx_mem(l, &l->o[0]);
    registers(l, &l->o[1], l->in.imm, ORR_T_B32, false, "the matrices");
    ptx_end(l);
}

void ptx_l_movmatrix(lowering *l) {
    if (!ptx_has(l->op, "trans")) ptx_refuse(l, "'.trans' is needed");
    ptx_by_form(l);
}
