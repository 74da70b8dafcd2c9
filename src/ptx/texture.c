// Lowering: textures and surfaces. Handles are numbers (texture objects); references by name are refused
// where an operand is read.
#include <string.h>

#include "ptx/lower.h"

static const struct {
    const char *word;
    uint8_t shape, coordinates; // as machine code numbers shapes; of the place, without the layer
    bool layered, samples;      // the coordinates begin with a sample's number, then the layer
} shapes[] = {{"1d", 0, 1, false, false},   {"2d", 1, 2, false, false},  {"3d", 2, 3, false, false},
              {"cube", 3, 3, false, false}, {"a1d", 4, 1, true, false},  {"a2d", 5, 2, true, false},
              {"acube", 7, 3, true, false}, {"2dms", 1, 2, false, true}, {"a2dms", 5, 2, true, true}};

static int shape_of(lowering *l) {
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        if (ptx_has(l->op, shapes[n].word)) return (int)n;
    ptx_unsupported(l, "this shape of a texture or surface");
}

static void handle(lowering *l, const ptx_opd *o) {
    ptx_opd place = *o;
    place.n = 1;
    uint8_t space = ORR_SPACE_GENERIC;
    int32_t disp = 0;
    orr_operand base = ptx_address(l, &place, &space, &disp);
    if (disp || base.cls != ORR_D) ptx_refuse(l, "a handle of 64 bits is needed");
    ptx_src_operand(l, base);
}

static void begin(lowering *l) {
    ptx_begin(l);
    l->in.space = ORR_SPACE_GLOBAL;
    l->in.width = l->in.vec = 1; // of the sector that a stream has
}

static void element(lowering *l, const ptx_opd *o, uint32_t n, uint8_t type) {
    ptx_opd one = ptx_element(l, o, n);
    ptx_src(l, &one, ORR_W, type);
}

// Handle, x, y, z, layer of [a, {c}].
static void place(lowering *l, const ptx_opd *o, int shape, uint8_t type) {
    if (o->kind != O_ADDR || o->n != 2)
        ptx_unsupported(l, "a sampler of its own, which CUDA's driver does not take either");
    const ptx_opd *at = &ptx_kids(l, o)[1];
    uint32_t layer = shapes[shape].samples, first = layer + shapes[shape].layered,
             need = shapes[shape].coordinates;
    if (ptx_elements(l, at) < first + need) ptx_refuse(l, "%u coordinates are needed", first + need);
    handle(l, o);
    for (uint32_t n = 0; n < 3; n++)
        if (n < need)
            element(l, at, first + n, type);
        else
            ptx_src_operand(l, ptx_imm(ORR_W, 0));
    if (shapes[shape].layered)
        element(l, at, layer, ORR_T_U32);
    else
        ptx_src_operand(l, ptx_imm(ORR_W, 0));
}

// d or d|p, of which p says whether the texels are resident: here they always are.
static const ptx_opd *texels(lowering *l) {
    return l->o[0].kind == O_PAIR ? &ptx_kids(l, &l->o[0])[0] : &l->o[0];
}

static void four(lowering *l) {
    const ptx_opd *o = texels(l);
    bool halves = l->in.type == ORR_T_F16 || l->in.type == ORR_T_F16X2;
    uint32_t elements = l->in.type == ORR_T_F16X2 ? 2 : 4;
    if (ptx_elements(l, o) != elements) ptx_unsupported(l, "a texture that is not read as four components");
    for (uint32_t n = 0; n < 4; n++) {
        ptx_opd one = {.kind = O_SINK};
        if (!halves) one = ptx_element(l, o, n);
        if (one.kind == O_SINK)
            l->dst[l->in.ndst++] = ptx_temp(l, ORR_W);
        else
            ptx_dst(l, &one, ORR_W);
    }
}

// The instruction, then what is made of its results: floats of 16 bits, and that they are resident.
static void end(lowering *l, uint8_t type) {
    orr_inst then = {
        .op = ORR_OP_CVT, .type = type, .stype = ORR_T_F32, .round = ORR_RND_RN, .vec = 1, .target = -1};
    then.guard = l->in.guard, then.guard_neg = l->in.guard_neg;
    orr_operand read[4];
    memcpy(read, l->dst, sizeof read);
    ptx_end(l);
    uint32_t n = type == ORR_T_F16 ? 4 : type == ORR_T_F16X2 ? 2 : 0, each = n == 2 ? 2 : 1;
    for (uint32_t i = 0; i < n; i++) {
        ptx_opd one = ptx_element(l, texels(l), i);
        if (one.kind == O_SINK) continue;
        orr_operand d = ptx_write(l, &one, each == 2 ? ORR_W : ORR_H);
        orr_operand from[2] = {read[i * each + each - 1], read[i * each]}; // of a pair the upper one first
        ptx_emit(l, then, &d, 1, from, each);
    }
    if (l->o[0].kind != O_PAIR) return;
    orr_operand p = ptx_write(l, &ptx_kids(l, &l->o[0])[1], ORR_P), yes = ptx_imm(ORR_P, 1);
    then.op = ORR_OP_MOV, then.type = ORR_T_PRED, then.stype = ORR_T_NONE, then.round = 0;
    ptx_emit(l, then, &p, 1, &yes, 1);
}

static orr_operand worked_out(lowering *l, uint8_t op, uint8_t type, orr_operand a, uint64_t b) {
    orr_inst in = {.op = op, .type = type, .vec = 1, .guard = -1, .target = -1};
    orr_operand d = ptx_temp(l, ORR_W);
    ptx_emit(l, in, &d, 1, (orr_operand[]){a, ptx_imm(ORR_W, b)}, 2);
    return d;
}

// The level that stands for a sample (exec/sass/texture.c): textures have one.
static orr_operand sample(lowering *l, const ptx_opd *place) {
    ptx_opd number = ptx_element(l, &ptx_kids(l, place)[1], 0);
    orr_operand any = worked_out(l, ORR_OP_MIN, ORR_T_U32, ptx_read(l, &number, ORR_W, ORR_T_U32), 1);
    return worked_out(l, ORR_OP_SHL, ORR_T_B32, any, 8);
}

// Behind what else an instruction has, from operand `at` on: {offsets}, and what depth is compared with,
// which is nothing to a texture that CUDA makes (docs/how/textures.md). The offset of one dimension is given
// to machine code as it is, which takes its bits 4 to 7 for that of the second.
static void offsets(lowering *l, uint32_t at, int shape) {
    if (at == l->n || l->o[at].kind != O_VEC) return;
    if (ptx_elements(l, &l->o[at]) < shapes[shape].coordinates) ptx_refuse(l, "too few offsets");
    for (uint32_t n = 0; n < 3; n++)
        if (n < shapes[shape].coordinates) {
            element(l, &l->o[at], n, ORR_T_S32);
        } else if (n == 1 && shapes[shape].shape == 0) {
            ptx_opd one = ptx_element(l, &l->o[at], 0);
            ptx_src_operand(l, worked_out(l, ORR_OP_SHR, ORR_T_S32, ptx_read(l, &one, ORR_W, ORR_T_S32), 4));
        } else {
            ptx_src_operand(l, ptx_imm(ORR_W, 0));
        }
    l->in.imm |= ORR_TEX_OFFSETS;
}

// tex{.base,.level,.grad}.shape.v4.type.coordinates d, [a, {c}] {, level} {, {dx}, {dy}} {, {offsets}}
void ptx_l_tex(lowering *l) {
    bool level = ptx_has(l->op, "level"), grad = ptx_has(l->op, "grad");
    uint32_t least = level ? 3 : grad ? 4 : 2;
    ptx_need(l, least, least + 2);
    int shape = shape_of(l);
    begin(l);
    bool integers = l->in.stype == ORR_T_S32 || l->in.stype == ORR_T_U32;
    if (shapes[shape].samples && (!integers || level || grad))
        ptx_refuse(l, "samples have integer coordinates");
    if (!integers && l->in.stype != ORR_T_F32) ptx_unsupported(l, "coordinates of this type");
    uint8_t type = l->in.type;
    if (type != ORR_T_F32 && type != ORR_T_U32 && type != ORR_T_S32 && type != ORR_T_B32 &&
        type != ORR_T_F16 && type != ORR_T_F16X2)
        ptx_unsupported(l, "texels of this type");
    four(l);
    if (type == ORR_T_F16 || type == ORR_T_F16X2) l->in.type = ORR_T_F32;
    place(l, &l->o[1], shape, l->in.stype);
    l->in.sub = grad ? ORR_TEX_GRADIENT : ORR_TEX_LEVEL;
    l->in.imm = shapes[shape].shape | (integers ? ORR_TEX_INTEGERS : 0);
    // Slopes and a depth in one dimension: an H200 leaves zero, as what is outside does.
    if (grad && !shapes[shape].shape && l->n > least && l->o[l->n - 1].kind != O_VEC) {
        l->in.sub = ORR_TEX_LEVEL, l->in.imm |= ORR_TEX_INTEGERS;
        ptx_src_operand(l, ptx_imm(ORR_W, 256));
        return end(l, type);
    }
    if (level)
        ptx_src(l, &l->o[2], ORR_W, l->in.stype);
    else if (shapes[shape].samples)
        ptx_src_operand(l, sample(l, &l->o[1]));
    else
        ptx_src_operand(l, ptx_imm(ORR_W, integers ? 0 : 0xc2000000)); // -32: the first
    for (uint32_t n = 0; grad && n < shapes[shape].coordinates; n++) {
        element(l, &l->o[2], n, ORR_T_F32);
        element(l, &l->o[3], n, ORR_T_F32);
    }
    offsets(l, least, shape);
    end(l, type);
}

void ptx_l_tld4(lowering *l) { // d, [a, {c}] {, {offsets}}
    ptx_need(l, 2, 4);
    int shape = shape_of(l);
    begin(l);
    four(l);
    place(l, &l->o[1], shape, ORR_T_F32);
    ptx_src_operand(l, ptx_imm(ORR_W, 0xc2000000));
    uint32_t component = ptx_has(l->op, "g") ? 1 : ptx_has(l->op, "b") ? 2 : ptx_has(l->op, "a") ? 3 : 0;
    l->in.sub = ORR_TEX_GATHER;
    l->in.imm = shapes[shape].shape | component << 8;
    offsets(l, 2, shape);
    end(l, l->in.type);
}

void ptx_l_istypep(lowering *l) { // p, a: a bit of the handle says what it is
    ptx_need(l, 2, 2);
    uint64_t bit = ptx_has(l->op, "texref")       ? 1ull << 61
                   : ptx_has(l->op, "samplerref") ? 1ull << 62
                                                  : 1ull << 63;
    orr_inst mask = {.op = ORR_OP_AND, .type = ORR_T_B64, .vec = 1, .guard = -1, .target = -1};
    orr_operand is = ptx_temp(l, ORR_D), of = ptx_read(l, &l->o[1], ORR_D, ORR_T_B64);
    ptx_emit(l, mask, &is, 1, (orr_operand[]){of, ptx_imm(ORR_D, bit)}, 2);
    ptx_begin(l);
    l->in.type = ORR_T_U64, l->in.cmp = ORR_CMP_NE;
    ptx_dst(l, &l->o[0], ORR_P);
    ptx_src_operand(l, is);
    ptx_src_operand(l, ptx_imm(ORR_D, 0));
    ptx_end(l);
}

void ptx_l_txq(lowering *l) { // txq, suq: d, [a] {, level}
    static const char *const what[] = {
        "width", "height", "depth", "array_size", "num_mipmap_levels", "normalized_coords"};
    bool level = ptx_has(l->op, "level");
    ptx_need(l, 2 + level, 2 + level);
    ptx_begin(l);
    size_t n = 0;
    while (n < sizeof what / sizeof *what && !ptx_has(l->op, what[n])) n++;
    if (n == sizeof what / sizeof *what) ptx_unsupported(l, "CUDA's driver does not answer this either");
    l->in.sub = (uint8_t)n;
    ptx_dst(l, &l->o[0], ORR_W);
    handle(l, &l->o[1]);
    if (level)
        ptx_src(l, &l->o[2], ORR_W, ORR_T_S32);
    else
        ptx_src_operand(l, ptx_imm(ORR_W, 0));
    ptx_end(l);
}

// ---- surfaces -------------------------------------------------------------------------------------------
static uint8_t outside(const lowering *l) {
    return ptx_has(l->op, "clamp") ? ORR_SU_CLAMP : ptx_has(l->op, "zero") ? ORR_SU_ZERO : ORR_SU_TRAP;
}

// Handle, x, y, and the third: z or the layer.
static void surface(lowering *l, const ptx_opd *o, int shape) {
    if (o->kind != O_ADDR || o->n != 2) ptx_refuse(l, "[surface, {coordinates}] is needed");
    const ptx_opd *at = &ptx_kids(l, o)[1];
    uint32_t first = shapes[shape].layered, need = shapes[shape].coordinates;
    if (ptx_elements(l, at) < first + need) ptx_refuse(l, "%u coordinates are needed", first + need);
    handle(l, o);
    for (uint32_t n = 0; n < 2; n++)
        if (n < need)
            element(l, at, first + n, ORR_T_S32);
        else
            ptx_src_operand(l, ptx_imm(ORR_W, 0));
    if (first)
        element(l, at, 0, ORR_T_U32);
    else if (need == 3)
        element(l, at, 2, ORR_T_S32);
    else
        ptx_src_operand(l, ptx_imm(ORR_W, 0));
    l->in.imm = shapes[shape].shape;
}

static void surface_begin(lowering *l) {
    uint8_t vec = 1;
    begin(l);
    vec = ptx_has(l->op, "v4") ? 4 : ptx_has(l->op, "v2") ? 2 : 1;
    bool formatted = ptx_has(l->op, "p");
    uint32_t bytes = orr_types[l->in.type].bytes;
    if (!bytes || bytes > 8 || bytes * vec > 16) ptx_refuse(l, "a surface's element has 1 to 16 bytes");
    if (formatted && bytes != 4) ptx_refuse(l, "formatted accesses have components of 32 bits");
    l->in.cmp = vec;
    l->in.sub = (uint8_t)(outside(l) | (formatted ? ORR_SU_TEXELS | ORR_SU_FORMATTED : 0));
}

static void surface_values(lowering *l, const ptx_opd *o, bool load) {
    uint8_t cls = ptx_type_class(l->in.type);
    if (cls < ORR_H) cls = ORR_H;
    if (ptx_elements(l, o) != l->in.cmp) ptx_refuse(l, "%u values are needed", l->in.cmp);
    for (uint32_t n = 0; n < l->in.cmp; n++) {
        ptx_opd one = ptx_element(l, o, n);
        if (load)
            ptx_dst(l, &one, cls);
        else
            ptx_src(l, &one, cls, l->in.type);
    }
}

void ptx_l_suld(lowering *l) { // d, [a, {b}]
    ptx_need(l, 2, 2);
    int shape = shape_of(l);
    surface_begin(l);
    if (l->in.sub & ORR_SU_FORMATTED) ptx_unsupported(l, "formatted loads");
    surface_values(l, &l->o[0], true);
    surface(l, &l->o[1], shape);
    ptx_end(l);
}

void ptx_l_sust(lowering *l) { // [a, {b}], c
    ptx_need(l, 2, 2);
    int shape = shape_of(l);
    surface_begin(l);
    surface(l, &l->o[0], shape);
    surface_values(l, &l->o[1], false);
    ptx_end(l);
}

void ptx_l_sured(lowering *l) { // [a, {b}], c
    ptx_need(l, 2, 2);
    int shape = shape_of(l);
    surface_begin(l);
    uint8_t type = l->in.type, how = l->op->sub;
    if (l->in.sub & ORR_SU_FORMATTED) l->in.sub = (uint8_t)(outside(l) | ORR_SU_TEXELS);
    uint32_t bytes = orr_types[type].bytes;
    if (bytes != 4 && bytes != 8) ptx_unsupported(l, "reductions of this type");
    surface(l, &l->o[0], shape);
    ptx_src(l, &l->o[1], bytes == 8 ? ORR_D : ORR_W, type);
    l->in.boolop = how;
    l->in.stype = type == ORR_T_B32 ? ORR_T_U32 : type == ORR_T_B64 ? ORR_T_U64 : type;
    ptx_end(l);
}
