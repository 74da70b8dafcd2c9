// Machine code: textures and surfaces, made into ops/texture.c's operations.
//
// Ra holds the coordinates, of an array the layer before them (TXD: behind them); Rb the level (.LL) or the
// differences (TXD). The handle is 32 bits of a uniform register. Results go to Rd, two of the components
// that the mask names, and Rd2. The coordinates of a surface are registers from the bracket on, the layer
// last.
#include <string.h>

#include "exec/sass/memory.h"
#include "exec/texture.h"

static const orr_arg *named(const translator *m, unsigned list) {
    for (int n = 0; n < m->c->nargs; n++)
        if (m->c->args[n].kind == ORR_ARG_WORD && m->c->args[n].sub == list) return &m->c->args[n];
    return NULL;
}

static int handle_at(const translator *m) {
    for (int n = 0; n < m->c->nargs; n++)
        if (m->c->args[n].kind == ORR_ARG_UR) return n;
    return -1;
}

// Rd2 and Rd are arguments first and first + 1.
static void results(translator *m, int first, oper o[4]) {
    const orr_arg *last = &m->c->args[m->c->nargs - 1];
    unsigned mask = last->kind == ORR_ARG_INT ? (unsigned)last->value & 15 : 15;
    int n = 0;
    for (int k = 0; k < 4; k++) {
        o[k] = m_dst(m, m->c->nargs, 0); // an argument that is not there: the sink
        if (!(mask >> k & 1)) continue;
        o[k] = n < 2 ? m_dst(m, first + 1, n) : m_dst(m, first, n - 2);
        n++;
    }
}

static oper bits(translator *m, oper from, uint32_t first, uint32_t count) {
    oper d = m_tmp(m, ORR_W);
    m_ptx(m, (orr_inst){.op = ORR_OP_BFE, .type = ORR_T_U32}, 1, 3,
          OPERS(d, from, m_imm(m, ORR_W, first), m_imm(m, ORR_W, count)));
    return d;
}

// Textures have one sample; what is read of another one is outside, as a level is that is not there.
static oper sample(translator *m, oper number) {
    oper any = m_tmp(m, ORR_W), level = m_tmp(m, ORR_W);
    m_ptx(m, (orr_inst){.op = ORR_OP_MIN, .type = ORR_T_U32}, 1, 2, OPERS(any, number, m_imm(m, ORR_W, 1)));
    m_ptx(m, (orr_inst){.op = ORR_OP_SHL, .type = ORR_T_B32}, 1, 2, OPERS(level, any, m_imm(m, ORR_W, 8)));
    return level;
}

// Offsets of texels are 4 bits each (TLD4: 6, eight apart) of the register behind the level; of TXD they are
// the upper half of what is behind the place: the layer's register, or one of their own.
static void offsets(translator *m, int places, bool by_level, oper o[3]) {
    bool gather = m->c->op == ORR_SASS_TLD4, differences = m->c->op == ORR_SASS_TXD;
    oper from = !differences ? m_src(m, 4, by_level) : m_src(m, 3, places);
    for (uint32_t k = 0; k < 3; k++)
        o[k] = bits(m, from, k * (gather ? 8 : 4) + (differences ? 16 : 0), gather ? 6 : 4);
}

static bool texture(translator *m) {
    const orr_arg *dim = named(m, ORR_SM_TEXDIM);
    int handle = handle_at(m), first = 1;
    uint16_t op = m->c->op;
    if (handle < 0 || !dim)
        return m_no(m, "only textures whose handle is in a uniform register are executed");
    if (m_mod(m, ORR_SM_PTP)) return m_no(m, "offsets for each texel are not executed");
    if (m_mod(m, ORR_SM_TEXF16)) return m_no(m, "packed halves of textures are not executed");
    orr_inst like = {.op = ORR_OP_TEX, .type = ORR_T_B32, .space = ORR_SPACE_GLOBAL, .width = 1, .vec = 1};
    bool layered = dim->subval >= ORR_SV_TEXDIM_A1, by_level = false;
    int n = orr_tex_coordinates((uint8_t)dim->subval);
    like.imm = dim->subval;
    if (op == ORR_SASS_TLD) {
        like.imm |= ORR_TEX_INTEGERS;
        by_level = m_mod(m, ORR_SM_TLDLOD) == ORR_SV_TLDLOD_LL;
    }
    if (op == ORR_SASS_TEX) {
        unsigned lod = m_mod(m, ORR_SM_TEXLOD);
        if (lod > ORR_SV_TEXLOD_LL || lod == ORR_SV_TEXLOD_LB)
            return m_no(m, "levels that neighbours' coordinates decide are not executed");
        by_level = lod == ORR_SV_TEXLOD_LL;
    }
    if (op == ORR_SASS_TLD4) {
        like.sub = ORR_TEX_GATHER;
        like.imm |= m_mod(m, ORR_SM_TLD4) << 8;
    }
    if (op == ORR_SASS_TXD) like.sub = ORR_TEX_GRADIENT;
    oper o[19], zero = m_imm(m, ORR_W, 0);
    results(m, first, o);
    o[4] = m_src(m, handle, 0);
    bool last = op == ORR_SASS_TXD; // the layer, else it is first
    for (int k = 0; k < 3; k++) o[5 + k] = k < n ? m_src(m, 3, k + (layered && !last)) : zero;
    o[8] = layered ? m_src(m, 3, last ? n : 0) : zero;
    o[9] = by_level ? m_src(m, 4, 0) : zero;
    if (!by_level && op != ORR_SASS_TLD) o[9] = m_imm(m, ORR_W, 0xc2000000); // -32: the first
    if (m_mod(m, ORR_SM_MS)) o[9] = sample(m, m_src(m, 4, m_mod(m, ORR_SM_AOFFI) != 0));
    int more = op == ORR_SASS_TXD ? 2 * n : 0;
    for (int k = 0; k < more; k++) o[10 + k] = m_src(m, 4, k);
    if (m_mod(m, ORR_SM_AOFFI)) {
        like.imm |= ORR_TEX_OFFSETS;
        offsets(m, n, by_level, o + 10 + more);
        if (op == ORR_SASS_TXD && layered) o[8] = bits(m, o[8], 0, 16);
        more += 3;
    }
    if (!m_ptx(m, like, 4, 6 + more, o)) return false;
    // Whether something of it is not resident: never, here.
    if (m_is(m, 0, ORR_ARG_P) && m->c->args[0].reg != ORR_PT)
        return m_ptx(m, (orr_inst){.op = ORR_OP_MOV, .type = ORR_T_PRED}, 1, 1,
                     OPERS(m_pdst(m, 0), m_imm(m, ORR_P, 0)));
    return true;
}

static bool query(translator *m) {
    const orr_arg *what = named(m, ORR_SM_TXQ);
    int handle = handle_at(m);
    if (handle < 0 || !what || what->subval != ORR_SV_TXQ_DIMENSION)
        return m_no(m, "only the dimensions of a texture are told");
    oper o[4];
    results(m, 0, o);
    for (int k = 0; k < 4; k++) {
        orr_inst like = {.op = ORR_OP_TXQ, .type = ORR_T_B32, .sub = (uint8_t)(k == 3 ? 4 : k)};
        if (!m_ptx(m, like, 1, 2, OPERS(o[k], m_src(m, handle, 0), m_src(m, 2, 0)))) return false;
        m_active(m);
    }
    return true;
}

// ---- levels by slopes -----------------------------------------------------------------------
// Of three dimensions, of cubes and with a depth, ptxas calls
// __cuda_syscall_tex_grad_SHAPE_v4_TYPE_f32[_offset]
// [_depth_compare]. The handle is in R4 and R5, the depth in R6, the coordinates in R8 to R11, how they
// differ by column in R12 to R15 and by row at [R1]; offsets are at [R1+0x10]. Back come R4, not 0 where all
// of it is resident, and texels in R5 to R8. (Read off calls of ptxas 13.0.)
#define SLOPES "__cuda_syscall_tex_grad_"

bool orr_sass_is_slopes(const char *name) { return !strncmp(name, SLOPES, sizeof SLOPES - 1); }

static uint32_t *lane_of(const warp *w, unsigned reg, int lane) {
    return (uint32_t *)(void *)(w->bank[BANK_W] + reg * reg_bytes(ORR_W)) + lane;
}

static uint8_t shape_called(const char *name) {
    static const struct {
        const char *name;
        uint8_t shape;
    } shapes[] = {{"1d_", ORR_TEX_1D},      {"2d_", ORR_TEX_2D},   {"3d_", ORR_TEX_3D},
                  {"a1d_", ORR_TEX_A1D},    {"a2d_", ORR_TEX_A2D}, {"cube_", ORR_TEX_CUBE},
                  {"acube_", ORR_TEX_ACUBE}};
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        if (!strncmp(name, shapes[n].name, strlen(shapes[n].name))) return shapes[n].shape;
    return ORR_TEX_2D;
}

// What lane `lane` asks for; offsets: behind the slopes by row, eight words from `stack` on.
static orr_tex_at slopes_at(const warp *w, int lane, const orr_texture *t, const char *name,
                            const uint32_t stack[8]) {
    orr_tex_at a = {.shape = shape_called(name + sizeof SLOPES - 1)};
    bool layered = a.shape >= ORR_TEX_A1D;
    int dims = orr_tex_coordinates(a.shape);
    float dx[3] = {0}, dy[3] = {0};
    for (int n = 0; n < dims; n++) {
        memcpy(&a.c[n], lane_of(w, (unsigned)(8 + n + layered), lane), 4);
        memcpy(&dx[n], lane_of(w, (unsigned)(12 + n), lane), 4);
        memcpy(&dy[n], &stack[n], 4);
        if (strstr(name, "_offset")) a.offset[n] = (int32_t)((stack[4 + n] & 15) ^ 8) - 8;
    }
    if (layered) a.layer = *lane_of(w, 8, lane);
    a.level = orr_tex_gradient(t, a.c, dx, dy);
    return a;
}

bool orr_sass_slopes(warp *w, const uop *u, uint32_t lanes, const char *name) {
    bool nothing = strstr(name, "_depth_compare") && shape_called(name + sizeof SLOPES - 1) == ORR_TEX_1D;
    orr_mem *mem = w->worker->mem;
    for (uint32_t m = lanes; m; m &= m - 1) {
        int lane = orr_ffs(m);
        uint32_t out[4] = {0}, stack[8] = {0}, at = *lane_of(w, 1, lane), all = w->tb->prog->local_bytes;
        const orr_texture *t = orr_mem_texture(mem, *lane_of(w, 4, lane) & 0xfffff);
        const uint8_t *host = t ? orr_mem_host(mem, t->at, t->bytes) : NULL;
        if (!host) {
            orr_fault_as(ORR_FAULT_ADDRESS, w, u, lane, "0x%x is no texture object", *lane_of(w, 4, lane));
            return false;
        }
        uint32_t bytes = strstr(name, "_offset") ? 32 : 16;
        if (at > all || bytes > all - at) {
            orr_fault_as(ORR_FAULT_ADDRESS, w, u, lane, "the stack has no room for what '%s' is given", name);
            return false;
        }
        memcpy(stack, w->tb->local + (size_t)(w->index * ORR_WARP + (uint32_t)lane) * all + at, bytes);
        orr_tex_at a = slopes_at(w, lane, t, name, stack);
        if (!nothing) orr_tex_sample(t, host, &a, out); // an H200 leaves zero
        *lane_of(w, 4, lane) = 1;
        for (unsigned n = 0; n < 4; n++) *lane_of(w, 5 + n, lane) = out[n];
    }
    return true;
}

// ---- surfaces -------------------------------------------------------------------------------
static bool surface(translator *m) {
    static const uint8_t coords[8] = {1, 1, 1, 2, 2, 3, 1, 1}, layered[8] = {0, 0, 1, 0, 1, 0, 0, 0};
    int handle = handle_at(m), at = -1;
    for (int n = 0; n < m->c->nargs; n++)
        if (m->c->args[n].kind == ORR_ARG_MEM) at = n;
    if (handle < 0 || at < 0)
        return m_no(m, "only surfaces whose handle is in a uniform register are executed");
    unsigned dim = m_mod(m, ORR_SM_SUDIM) & 7, out = m_mod(m, ORR_SM_SUCLAMP), reg = m->c->args[at].reg;
    orr_inst like = {.space = ORR_SPACE_GLOBAL, .width = 1, .vec = 1, .type = ORR_T_B32, .cmp = 1};
    like.sub = out == ORR_SV_SUCLAMP_TRAP  ? ORR_SU_TRAP
               : out == ORR_SV_SUCLAMP_IGN ? ORR_SU_ZERO
                                           : ORR_SU_CLAMP;
    bool formatted = m_has(m, ORR_SM_SUMASK);
    if (formatted) like.sub |= ORR_SU_FORMATTED;
    if (formatted || !m_mod(m, ORR_SM_BA)) like.sub |= ORR_SU_TEXELS;
    if (m_has(m, ORR_SM_SIZE)) switch (m_mod(m, ORR_SM_SIZE)) {
        case ORR_SV_SIZE_U8: like.type = ORR_T_U8; break;
        case ORR_SV_SIZE_U16: like.type = ORR_T_U16; break;
        case ORR_SV_SIZE_W32: break;
        case ORR_SV_SIZE_W64: like.cmp = 2; break;
        case ORR_SV_SIZE_W128: like.cmp = 4; break;
        default: return m_no(m, "surfaces of this size are not executed");
        }
    int values = formatted ? 4 : like.cmp, n = 0;
    oper o[16];
    if (m->c->op == ORR_SASS_SULD) {
        if (formatted) return m_no(m, "formatted loads of surfaces are not executed");
        for (; n < values; n++) o[n] = m_dst(m, 1, n);
    }
    int ndst = n;
    o[n++] = m_src(m, handle, 0);
    oper zero = m_imm(m, ORR_W, 0);
    for (unsigned k = 0; k < 2; k++) o[n++] = k < coords[dim] ? m_row(m, reg + k) : zero;
    o[n++] = layered[dim] ? m_row(m, reg + coords[dim]) : coords[dim] == 3 ? m_row(m, reg + 2) : zero;
    switch (m->c->op) {
    case ORR_SASS_SULD: like.op = ORR_OP_SULD; break;
    case ORR_SASS_SUST:
        like.op = ORR_OP_SUST;
        for (int k = 0; k < values; k++) o[n++] = m_src(m, at + 1, k);
        break;
    default:
        like.op = ORR_OP_SURED;
        like.boolop = (uint8_t)m_mod(m, ORR_SM_ATOM);
        switch (m_mod(m, ORR_SM_SUTYPE)) {
        case ORR_SV_SUTYPE_U32: like.stype = ORR_T_U32; break;
        case ORR_SV_SUTYPE_S32:
        case ORR_SV_SUTYPE_SD32: like.stype = ORR_T_S32; break;
        case ORR_SV_SUTYPE_U64: like.stype = ORR_T_U64; break;
        case ORR_SV_SUTYPE_S64:
        case ORR_SV_SUTYPE_SD64: like.stype = ORR_T_S64; break;
        default: return m_no(m, "this type of a surface's reductions is not executed");
        }
        o[n] = m_src(m, at + 1, 0);
        if (orr_types[like.stype].bytes == 8) {
            like.type = ORR_T_B64;
            o[n] = m_pair(m, o[n], m_src(m, at + 1, 1));
        }
        n++;
        break;
    }
    return m_ptx(m, like, ndst, n - ndst, o);
}

bool orr_sass_texture(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_TEX:
    case ORR_SASS_TLD:
    case ORR_SASS_TLD4:
    case ORR_SASS_TXD: return texture(m);
    case ORR_SASS_TXQ: return query(m);
    case ORR_SASS_SULD:
    case ORR_SASS_SUST:
    case ORR_SASS_SURED: return surface(m);
    case ORR_SASS_SUATOM: return m_no(m, "atomics of surfaces that give a value back are not executed");
    case ORR_SASS_TMML: return m_no(m, "the level that neighbours ask for is not told");
    default: return false;
    }
}
