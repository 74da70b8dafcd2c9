// Machine code: what Hopper added. Products of groups of warps, bulk and tensor copies, clusters.
//
// All of it is PTX's (ops/wgmma.c, ops/bulk.c, ops/remote.c): here registers are found. Where they are was
// read from what ptxas 13.0 makes of PTX:
//   gdesc[URn]              A's descriptor in URn, URn+1 and B's in URn+2, URn+3; of a form with A in
//   registers the
//                           first two are not used
//   UTMALDG [URn], [URm]    URn shared address, URn+1 mbarrier, URn+2 and up coordinates; URm, URm+1 the map.
//                           A further register: offsets of im2col in the lower 16 bits (one of 16, two of 8
//                           or three of 5 bits), the mask of thread blocks in the upper
//   UTMASTG, UTMAREDG       the same without mbarrier; UTMAPF without shared address too
//   UBLKCP.S.G [URn], [URm], URk    URn shared address, URn+1 mbarrier; URm, URm+1 global address; URk bytes
//   / 16 in
//                           the lower 16 bits, the mask in the upper
//   STAS, REDAS [Rn.64]     Rn shared address of the cluster, Rn+1 mbarrier
#include <stdlib.h>
#include <string.h>

#include "exec/ops/pair.h"
#include "exec/ops/wgmma.h"
#include "exec/sass/memory.h"
#include "exec/tensormap.h"

// ---- products of groups of warps --------------------------------------------------------------------
static uint8_t int_type(unsigned t) { return t == ORR_SV_ITYPE_U8 ? ORR_T_U8 : ORR_T_S8; }

static bool types_of(translator *m, orr_inst *i) {
    bool f32 = m_mod(m, ORR_SM_HMMAC) == ORR_SV_HMMAC_F32;
    unsigned a = m_mod(m, ORR_SM_HMMAA);
    switch (m->c->op) {
    case ORR_SASS_HGMMA:
        i->type = f32 ? ORR_T_F32 : ORR_T_F16;
        i->stype = i->sub = a == ORR_SV_HMMAA_BF16   ? ORR_T_BF16
                            : a == ORR_SV_HMMAA_TF32 ? ORR_T_TF32
                                                     : ORR_T_F16;
        return true;
    case ORR_SASS_QGMMA:
        i->type = f32 ? ORR_T_F32 : ORR_T_F16;
        i->stype = m_mod(m, ORR_SM_AQ) == ORR_SV_QTYPE_E5M2 ? ORR_T_E5M2 : ORR_T_E4M3;
        i->sub = m_mod(m, ORR_SM_BQ) == ORR_SV_QTYPE_E5M2 ? ORR_T_E5M2 : ORR_T_E4M3;
        return true;
    case ORR_SASS_IGMMA:
        i->type = ORR_T_S32;
        i->stype = int_type(m_mod(m, ORR_SM_AINT)), i->sub = int_type(m_mod(m, ORR_SM_BINT));
        return true;
    default:
        i->type = ORR_T_S32;
        i->stype = i->sub = ORR_T_B1;
        return m_mod(m, ORR_SM_BMMAOP) == ORR_SV_BMMAOP_AND ? true
                                                            : m_no(m, "this operation is not executed");
    }
}

static bool shape_of(translator *m, uint32_t *n, uint32_t *k) { // "64x256x16"
    static const enum orr_smod kinds[] = {ORR_SM_HGSHAPE, ORR_SM_QGSHAPE, ORR_SM_IGSHAPE, ORR_SM_BGSHAPE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *text = m_has(m, kinds[i]) ? orr_smod_text(kinds[i], m_mod(m, kinds[i])) : NULL;
        const char *x = text ? strchr(text, 'x') : NULL;
        char *end;
        if (!x) continue;
        *n = (uint32_t)strtoul(x + 1, &end, 10);
        *k = *end ? (uint32_t)strtoul(end + 1, &end, 10) : 0;
        return true;
    }
    return m_no(m, "this shape is not executed");
}

static oper descriptor(translator *m, unsigned reg) {
    return m_pair(m, m_uniform(m, reg), m_uniform(m, reg + 1));
}

static bool group_product(translator *m) {
    orr_inst like = {.op = ORR_OP_WGMMA};
    uint32_t n = 0, k = 0;
    if (!types_of(m, &like) || !shape_of(m, &n, &k)) return false;
    bool sparse = m_mod(m, ORR_SM_SP) != 0, regs = m_is(m, 1, ORR_ARG_R);
    like.imm = n | k << 16;
    like.vec = sparse;
    like.boolop = regs;
    int g = regs ? 2 : 1, c = g + 1, p = g + 2, nd = (int)n / (like.type == ORR_T_F16 ? 4 : 2), at = 0;
    if (!m_is(m, g, ORR_ARG_GDESC)) return m_no(m, "it has no descriptor");
    // ptxas closes a group behind a loop by a product of what no descriptor names, whose sums nobody has.
    if (m->c->args[0].reg == ORR_RZ && m->c->args[g].reg == ORR_RZ)
        return m_ptx(m, (orr_inst){.op = ORR_OP_WGSYNC, .sub = ORR_WG_COMMIT}, 0, 0, &(oper){0});
    const orr_arg *desc = &m->c->args[g];
    if (desc->value & 1 || (regs && m->c->args[1].flags & ORR_ARG_NEG)) like.disp |= ORR_WG_NEGATE_A;
    if (desc->value & 2) like.disp |= ORR_WG_NEGATE_B;
    if (desc->value & 4) like.mods |= ORR_M_A_COL;
    if (desc->value & 8) like.mods |= ORR_M_TRANS;
    if (m_mod(m, ORR_SM_SAT)) like.mods |= ORR_M_SATFINITE;
    const orr_arg *last = &m->c->args[m->c->nargs - 1];
    if (last->kind == ORR_ARG_WORD && last->sub == ORR_SM_GSB && last->subval == ORR_SV_GSB_GSB0)
        like.disp |= ORR_WG_ENDS;
    oper o[2 * 128 + 9];
    for (int i = 0; i < nd; i++) o[at++] = m_dst(m, 0, i);
    for (int i = 0; i < nd; i++) o[at++] = m_src(m, c, i);
    for (int i = 0; regs && i < 4; i++) o[at++] = m_src(m, 1, i);
    if (!regs) o[at++] = descriptor(m, desc->reg);
    o[at++] = descriptor(m, desc->reg + 2u);
    o[at++] = m_psrc(m, p);
    if (sparse) {
        o[at++] = m_src(m, p + 1, 0);
        o[at++] = m_src(m, p + 2, 0);
    }
    return m_ptx(m, like, nd, at - nd, o);
}

static bool group_sync(translator *m) {
    orr_inst like = {.op = ORR_OP_WGSYNC, .sub = ORR_WG_FENCE};
    if (m_mod(m, ORR_SM_WGROUP) == ORR_SV_WGROUP_WAIT) like.sub = ORR_WG_WAIT;
    if (m_mod(m, ORR_SM_WGROUP) == ORR_SV_WGROUP_DEPBAR) {
        like.sub = ORR_WG_WAIT;
        if (m_is(m, 1, ORR_ARG_INT)) like.imm = (uint32_t)m->c->args[1].value;
    }
    return m_ptx(m, like, 0, 0, &(oper){0});
}

// ---- bulk copies --------------------------------------------------------------------------------------
PAIR1(times16, uint32_t, uint32_t, (a & 0xffff) << 4)
PAIR1(upper16, uint32_t, uint32_t, a >> 16)
PAIR3(field, uint32_t, uint32_t, uint32_t, uint32_t, a >> b & c)

static const oper absent = {.none = 1, .cls = ORR_W};

static bool bracket(translator *m, int n) {
    return m_is(m, n, ORR_ARG_MEM) ? true : m_no(m, "it has no address");
}
static unsigned base_of(const translator *m, int n) { return m->c->args[n].ureg; }
static oper aside(translator *m, handlers h, oper a) {
    oper d = m_tmp(m, ORR_W);
    m_aside(m, h, 1, 1, OPERS(d, a));
    return d;
}

static bool bulk(translator *m, orr_inst like, int n, const oper *o) {
    like.op = ORR_OP_BULK;
    like.disp = ORR_BULK_ONCE;
    like.space = ORR_SPACE_GENERIC;
    return m_ptx(m, like, 0, n, o);
}

static uint8_t reduction(const translator *m) {
    static const uint8_t ops[] = {ORR_ATOM_ADD, ORR_ATOM_MIN, ORR_ATOM_MAX, ORR_ATOM_INC,
                                  ORR_ATOM_DEC, ORR_ATOM_AND, ORR_ATOM_OR,  ORR_ATOM_XOR};
    return ops[m_mod(m, ORR_SM_ATOM) & 7];
}

static bool tensor(translator *m, uint8_t kind) {
    orr_inst like = {
        .sub = kind, .vec = (uint8_t)(m_mod(m, ORR_SM_DIM) + 1), .boolop = m_mod(m, ORR_SM_IM2COL) != 0};
    if (like.vec > ORR_MAP_RANK) return m_no(m, "there are no more than 5 dimensions");
    if (kind == ORR_BULK_REDUCE) like.cmp = reduction(m);
    if (!bracket(m, 0) || !bracket(m, 1)) return false;
    unsigned r = base_of(m, 0);
    bool load = kind == ORR_BULK_LOAD, fetch = kind == ORR_BULK_PREFETCH;
    oper o[ORR_BULK_COORDS + ORR_MAP_RANK + 3] = {absent, absent, absent, absent, absent};
    if (!fetch) o[ORR_BULK_SHARED] = m_uniform(m, r++);
    o[ORR_BULK_OTHER] = descriptor(m, base_of(m, 1));
    if (load) o[ORR_BULK_MBAR] = m_uniform(m, r++);
    bool more = m_is(m, 2, ORR_ARG_UR);
    if (more && m_mod(m, ORR_SM_MULTICAST)) o[ORR_BULK_MASK] = aside(m, PICK(upper16), m_src(m, 2, 0));
    int n = ORR_BULK_COORDS;
    for (int d = 0; d < like.vec; d++) o[n++] = m_uniform(m, r++);
    for (int d = 0; more && like.boolop && d < like.vec - 2; d++) {
        uint32_t bits = like.vec == 3 ? 16 : like.vec == 4 ? 8 : 5;
        oper f = m_tmp(m, ORR_W);
        m_aside(
            m, PICK(field), 1, 3,
            OPERS(f, m_src(m, 2, 0), m_imm(m, ORR_W, bits * (uint32_t)d), m_imm(m, ORR_W, (1u << bits) - 1)));
        o[n++] = f;
    }
    return bulk(m, like, n, o);
}

static bool plain_copy(translator *m) {
    bool to_shared = m_mod(m, ORR_SM_BLKDST) == ORR_SV_BLKSPACE_S;
    bool from_shared = m_mod(m, ORR_SM_BLKSRC) == ORR_SV_BLKSPACE_S, red = m->c->op == ORR_SASS_UBLKRED;
    static const uint8_t types[] = {
        [ORR_SV_BLKTYPE_U32] = ORR_T_U32, [ORR_SV_BLKTYPE_S32] = ORR_T_S32,  [ORR_SV_BLKTYPE_U64] = ORR_T_U64,
        [ORR_SV_BLKTYPE_S64] = ORR_T_S64, [ORR_SV_BLKTYPE_F16] = ORR_T_F16,  [ORR_SV_BLKTYPE_F32] = ORR_T_F32,
        [ORR_SV_BLKTYPE_F64] = ORR_T_F64, [ORR_SV_BLKTYPE_BF16] = ORR_T_BF16};
    orr_inst like = {.sub = to_shared && from_shared ? (red ? ORR_BULK_REDUCE_PEER : ORR_BULK_PEER)
                            : red                    ? ORR_BULK_REDUCE
                            : to_shared              ? ORR_BULK_LOAD
                                                     : ORR_BULK_STORE};
    if (red) {
        unsigned t = m_mod(m, ORR_SM_BLKTYPE);
        if (t >= sizeof types || !types[t]) return m_no(m, "reductions of this type are not executed");
        like.type = types[t];
        like.cmp = reduction(m);
    }
    if (!bracket(m, 0) || !bracket(m, 1)) return false;
    unsigned to = base_of(m, 0), from = base_of(m, 1);
    oper o[ORR_BULK_COORDS] = {absent, absent, absent, absent, absent};
    bool load = like.sub == ORR_BULK_LOAD;
    o[ORR_BULK_SHARED] = m_uniform(m, load ? to : from);
    o[ORR_BULK_OTHER] = load ? descriptor(m, from) : to_shared ? m_uniform(m, to) : descriptor(m, to);
    if (to_shared) o[ORR_BULK_MBAR] = m_uniform(m, to + 1);
    o[ORR_BULK_BYTES] = aside(m, PICK(times16), m_src(m, 2, 0));
    if (m_mod(m, ORR_SM_MULTICAST)) o[ORR_BULK_MASK] = aside(m, PICK(upper16), m_src(m, 2, 0));
    return bulk(m, like, ORR_BULK_COORDS, o);
}

static bool plain_fetch(translator *m) {
    if (!bracket(m, 0)) return false;
    oper o[ORR_BULK_COORDS] = {absent, descriptor(m, base_of(m, 0)), absent, absent, absent};
    o[ORR_BULK_BYTES] = aside(m, PICK(times16), m_src(m, 1, 0));
    return bulk(m, (orr_inst){.sub = ORR_BULK_PREFETCH}, ORR_BULK_COORDS, o);
}

// ---- clusters -------------------------------------------------------------------------------------------
static bool cluster_barrier(translator *m, uint8_t sub) {
    return m_ptx(m, (orr_inst){.op = ORR_OP_CLBAR, .sub = sub}, 0, 0, &(oper){0});
}

static bool put_async(translator *m) {
    bool red = m->c->op == ORR_SASS_REDAS;
    const orr_arg *a = &m->c->args[0];
    int bytes = orr_code_bytes(m->c);
    orr_inst like = {.op = red ? ORR_OP_REDASYNC : ORR_OP_STASYNC, .space = ORR_SPACE_SHARED, .vec = 1};
    like.disp = (int32_t)a->value;
    if (a->kind != ORR_ARG_MEM || a->reg == ORR_RZ) return m_no(m, "it has no address");
    oper o[6] = {m_row(m, a->reg), m_row(m, a->reg + 1u)};
    if (red) {
        static const uint8_t types[] = {ORR_T_U32, ORR_T_S32, ORR_T_U64, ORR_T_S64};
        like.sub = reduction(m);
        like.type = types[m_mod(m, ORR_SM_ATYPE) & 3];
        like.width = orr_types[like.type].bytes;
        o[2] = like.width == 8 ? m_pair(m, m_src(m, 1, 0), m_src(m, 1, 1)) : m_src(m, 1, 0);
        return m_ptx(m, like, 0, 3, o);
    }
    if (bytes < 4) return m_no(m, "it stores less than 4 bytes");
    like.type = ORR_T_B32;
    like.width = 4;
    like.vec = (uint8_t)(bytes / 4);
    for (int i = 0; i < like.vec; i++) o[2 + i] = m_src(m, 1, i);
    return m_ptx(m, like, 0, 2 + like.vec, o);
}

static void granted(warp *w, const uop *u) { // USETMAXREG.TRY_ALLOC: there are enough
    if (!u->d.none) *DST(w, u, uint32_t) = FULL;
}

// LDGMC reads one GPU's copy of multicast memory, which is all there is.
static bool load_multicast(translator *m) {
    orr_inst like = {.op = ORR_OP_LD, .space = ORR_SPACE_GLOBAL, .type = ORR_T_B32, .width = 4};
    int words = orr_code_bytes(m->c) / 4;
    if (words < 1) return m_no(m, "it loads less than 4 bytes");
    oper o[5], base = m_address(m, 1, &like.disp);
    like.vec = (uint8_t)words;
    for (int i = 0; i < words; i++) o[i] = m_dst(m, 0, i);
    o[words] = base;
    return m_ptx(m, like, words, 1, o);
}

bool orr_sass_hopper(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_HGMMA:
    case ORR_SASS_IGMMA:
    case ORR_SASS_QGMMA:
    case ORR_SASS_BGMMA: return group_product(m);
    case ORR_SASS_WARPGROUP: return group_sync(m);
    case ORR_SASS_UTMALDG: return tensor(m, ORR_BULK_LOAD);
    case ORR_SASS_UTMASTG: return tensor(m, ORR_BULK_STORE);
    case ORR_SASS_UTMAREDG: return tensor(m, ORR_BULK_REDUCE);
    case ORR_SASS_UTMAPF: return tensor(m, ORR_BULK_PREFETCH);
    case ORR_SASS_UBLKCP:
    case ORR_SASS_UBLKRED: return plain_copy(m);
    case ORR_SASS_UBLKPF: return plain_fetch(m);
    case ORR_SASS_UCGABAR_ARV: return cluster_barrier(m, ORR_BAR_ARRIVE);
    case ORR_SASS_UCGABAR_WAIT: return cluster_barrier(m, ORR_BAR_SYNC);
    case ORR_SASS_STAS:
    case ORR_SASS_REDAS: return put_async(m);
    case ORR_SASS_LDGMC: return load_multicast(m);
    case ORR_SASS_USETMAXREG:
        if (m_is(m, 0, ORR_ARG_UP)) m_emit(m, BOTH(granted), 1, 0, OPERS(m_pdst(m, 0)));
        return true;
    case ORR_SASS_USETSHMSZ:
    case ORR_SASS_WARPGROUPSET:
    case ORR_SASS_UTMACMDFLUSH: return true; // copies are done at once
    case ORR_SASS_UTMACCTL:
        if (!orr_code_mod(m->c, ORR_SM_UTMACCTL)) m_emit(m, BOTH(orr_maps_fence), 0, 0, NULL);
        return true;
    default: return false;
    }
}
