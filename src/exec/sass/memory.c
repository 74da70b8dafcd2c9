// Machine code: loads, stores, constants, copies to shared memory, fences.
//
// An access is at most two micro-ops: one that makes the row of addresses, and PTX's own load or store, which
// knows the fast ways (ldst.c). The immediate offset goes into the latter. What a 64-bit address is made of:
// a pair of registers, or one that is extended by zeros (R2.U32), and a pair of uniform registers; the
// memory descriptor (desc[UR4]) says how caches are used and changes nothing here. Addresses of shared and
// local memory have 32 bits: a register, which may be scaled (R2.X4), and a uniform register.
//
// Constants at known places are known when a launch begins and become rows of BANK_CONST; indexed ones are
// read from the bank as it is on the host. What is past a bank's end reads as zero: the machine does not
// fault there, and the compiler loads ahead of the comparison that would forbid it.
#include <string.h>

#include "exec/ops/pair.h"
#include "exec/sass/memory.h"
#include "exec/lanewise.h"

// ---- appending ------------------------------------------------------------------------------
bool m_no(translator *m, const char *why) {
    m->why = why;
    return false;
}

bool m_has(const translator *m, enum orr_smod kind) {
    for (int n = 0; n < m->c->nmods; n++)
        if (m->c->mods[n].kind == kind) return true;
    return false;
}

uop *m_access(translator *m, handlers h, orr_inst like, int ndst, int nsrc, const oper *opers) {
    orr_inst *i = orr_arena_alloc(&m->p->arena, sizeof *i);
    *i = like;
    i->guard = i->target = -1;
    i->line = m->inst->line;
    i->source = m->inst->source;
    i->sass = m->inst->sass;
    uop *u = m_emit(m, h, ndst, nsrc, opers);
    u->inst = i;
    u->imm = i->imm;
    u->mem = m->p->nmem++;
    return u;
}

oper m_pair(translator *m, oper lo, oper hi) {
    oper d = m_tmp(m, ORR_D);
    m_pack(m, d, lo, hi);
    return d;
}

// ---- addresses ------------------------------------------------------------------------------
PAIR4(sum64, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t,
      ((uint64_t)b << 32 | a) + ((uint64_t)e << 32 | c))
PAIR2(sum32, uint32_t, uint32_t, uint32_t, a + b)
PAIR2(scaled, uint32_t, uint32_t, uint32_t, a << b)
PAIR3(scaled_sum, uint32_t, uint32_t, uint32_t, uint32_t, (a << b) + c)

static const orr_arg *memory(translator *m, int n, int32_t *disp) {
    static const orr_arg nowhere = {.reg = ORR_RZ, .ureg = ORR_RZ};
    const orr_arg *a = n < m->c->nargs ? &m->c->args[n] : &nowhere;
    *disp = (int32_t)a->value;
    if (a->kind == ORR_ARG_MEM && a->value == *disp) return a;
    m->why = "it has no address";
    return &nowhere;
}
static bool with_r(const orr_arg *a) { return (a->shape & ORR_ARG_HAS_R) && a->reg != ORR_RZ; }
static bool with_ur(const orr_arg *a) { return (a->shape & ORR_ARG_HAS_UR) && a->ureg != ORR_RZ; }

oper m_address64(translator *m, int n, int32_t *disp) {
    const orr_arg *a = memory(m, n, disp);
    bool r = with_r(a), ur = with_ur(a);
    // Where there is a uniform register or a descriptor the instruction says how wide R is, else it is a
    // pair.
    bool narrow = (a->shape & ORR_ARG_U32) && !(a->shape & ORR_ARG_WIDE);
    oper zero = m_imm(m, ORR_W, 0), lo = m_row(m, a->reg), hi = narrow ? zero : m_row(m, a->reg + 1u);
    if (!r && !ur) return m_imm(m, ORR_D, 0);
    if (!ur) return m_pair(m, lo, hi);
    oper ulo = m_uniform(m, a->ureg), uhi = m_uniform(m, a->ureg + 1u);
    if (!r) return m_pair(m, ulo, uhi);
    oper d = m_tmp(m, ORR_D);
    m_aside(m, PICK(sum64), 1, 4, OPERS(d, lo, hi, ulo, uhi));
    return d;
}

oper m_address32(translator *m, int n, int32_t *disp) {
    const orr_arg *a = memory(m, n, disp);
    bool r = with_r(a), ur = with_ur(a);
    uint32_t shift = a->sub == ORR_SM_XSCALE && a->subval ? a->subval + 1u : 0; // .X4 .X8 .X16
    if (!r && !ur) return m_imm(m, ORR_W, 0);
    if (!r) return m_uniform(m, a->ureg);
    oper row = m_row(m, a->reg), by = m_imm(m, ORR_W, shift);
    if (!ur && !shift) return row;
    oper d = m_tmp(m, ORR_W);
    if (ur && shift)
        m_aside(m, PICK(scaled_sum), 1, 3, OPERS(d, row, by, m_uniform(m, a->ureg)));
    else if (ur)
        m_aside(m, PICK(sum32), 1, 2, OPERS(d, row, m_uniform(m, a->ureg)));
    else
        m_aside(m, PICK(scaled), 1, 2, OPERS(d, row, by));
    return d;
}

oper m_address(translator *m, int n, int32_t *disp) {
    return m_mod(m, ORR_SM_E) ? m_address64(m, n, disp) : m_address32(m, n, disp);
}

// ---- loads and stores -----------------------------------------------------------------------
typedef struct piece { // what an access moves
    uint8_t type, width, vec;
} piece;
static bool piece_of(translator *m, piece *p) {
    switch (m_mod(m, ORR_SM_SIZE)) {
    case ORR_SV_SIZE_U8: *p = (piece){ORR_T_U8, 1, 1}; return true;
    case ORR_SV_SIZE_S8: *p = (piece){ORR_T_S8, 1, 1}; return true;
    case ORR_SV_SIZE_U16: *p = (piece){ORR_T_U16, 2, 1}; return true;
    case ORR_SV_SIZE_S16: *p = (piece){ORR_T_S16, 2, 1}; return true;
    case ORR_SV_SIZE_W32: *p = (piece){ORR_T_B32, 4, 1}; return true;
    case ORR_SV_SIZE_W64: *p = (piece){ORR_T_B32, 4, 2}; return true;
    case ORR_SV_SIZE_W128: *p = (piece){ORR_T_B32, 4, 4}; return true;
    default: return m_no(m, "accesses of this size are not executed");
    }
}

typedef struct base { // of an access: a row, or the two rows that make a pair
    oper row, hi;
    bool pair;
} base;

static base address_in(translator *m, int n, uint8_t space, int32_t *disp) {
    bool wide = (space == ORR_SPACE_GLOBAL || space == ORR_SPACE_GENERIC) && m_mod(m, ORR_SM_E);
    if (!wide) return (base){.row = m_address32(m, n, disp)};
    const orr_arg *a = memory(m, n, disp);
    bool narrow = (a->shape & ORR_ARG_U32) && !(a->shape & ORR_ARG_WIDE);
    if (with_r(a) && !with_ur(a))
        return (base){m_row(m, a->reg), narrow ? m_imm(m, ORR_W, 0) : m_row(m, a->reg + 1u), true};
    if (!with_r(a) && with_ur(a)) return (base){m_uniform(m, a->ureg), m_uniform(m, a->ureg + 1u), true};
    return (base){.row = m_address64(m, n, disp)};
}

// The access itself. Handlers are picked as for a row of doublewords.
static bool access_at(translator *m, orr_inst like, base at, int ndst, int nsrc, oper *o) {
    o[ndst] = at.pair ? m_imm(m, ORR_D, 0) : at.row;
    if (!m_ptx(m, like, ndst, nsrc, o)) return false;
    if (at.pair) m_high_words(m, at.row, at.hi);
    return true;
}

static bool load(translator *m, uint8_t space, int dst, int at) {
    piece p;
    orr_inst like = {.op = ORR_OP_LD, .space = space};
    oper o[5];
    if (!piece_of(m, &p)) return false;
    // A predicate that is a result (of a page that is not there), and one that is a source: neither is the
    // compiler's.
    for (int n = 0; n < m->c->nargs; n++)
        if (m_is(m, n, ORR_ARG_P) && !(m->c->args[n].flags & ORR_ARG_HIDDEN) && m->c->args[n].reg != ORR_PT)
            return m_no(m, "a load with a predicate among its operands is not executed");
    like.type = p.type, like.width = p.width, like.vec = p.vec;
    base from = address_in(m, at, space, &like.disp);
    for (int v = 0; v < p.vec; v++) o[v] = m_dst(m, dst, v);
    return access_at(m, like, from, p.vec, 1, o);
}

static bool store(translator *m, uint8_t space) {
    piece p;
    orr_inst like = {.op = ORR_OP_ST, .space = space};
    oper o[5];
    if (!piece_of(m, &p)) return false;
    like.type = p.type, like.width = p.width, like.vec = p.vec;
    base to = address_in(m, 0, space, &like.disp);
    for (int v = 0; v < p.vec; v++) o[1 + v] = m_src(m, 1, v);
    return access_at(m, like, to, 0, 1 + p.vec, o);
}

// ---- constants ------------------------------------------------------------------------------
static void note_constant(warp *w, const uop *u, uint64_t at) {
    if (u->traced && w->trace) orr_trace_put_regular(w->trace, w->exec, at, 0);
}

// Sources: the words, already spread, then where they are.
static void known_full(warp *w, const uop *u) {
    for (int n = 0; n < u->ndst; n++) {
        uint32_t *d = DST_N(w, u, n, uint32_t);
        const uint32_t *s = SRC_N(w, u, n, uint32_t);
        LANES d[i] = s[i];
    }
    note_constant(w, u, *SRC_N(w, u, u->ndst, uint64_t));
}
static void known_masked(warp *w, const uop *u) {
    const uint32_t *lane = w->lane;
    for (int n = 0; n < u->ndst; n++) {
        uint32_t *d = DST_N(w, u, n, uint32_t);
        const uint32_t *s = SRC_N(w, u, n, uint32_t);
        LANES { d[i] = BLEND(uint32_t, d[i], s[i], lane[i]); }
    }
    note_constant(w, u, *SRC_N(w, u, u->ndst, uint64_t));
}

static uint32_t extended(uint32_t v, unsigned size) {
    switch (size) {
    case ORR_SV_SIZE_U8: return (uint8_t)v;
    case ORR_SV_SIZE_S8: return (uint32_t)(int32_t)(int8_t)v;
    case ORR_SV_SIZE_U16: return (uint16_t)v;
    case ORR_SV_SIZE_S16: return (uint32_t)(int32_t)(int16_t)v;
    default: return v;
    }
}

// Sources: the index, the bank's bytes on the host, their number, the offset, the size (list SIZE), the
// bank's device address.
static void indexed_lanes(warp *w, const uop *u, uint32_t lanes) {
    const uint32_t *index = SRC_A(w, u, uint32_t);
    const uint8_t *bank = (const uint8_t *)(uintptr_t)*SRC_B(w, u, uint64_t);
    uint32_t bytes = *SRC_C(w, u, uint32_t), offset = *SRC_N(w, u, 3, uint32_t);
    unsigned size = *SRC_N(w, u, 4, uint32_t);
    uint64_t base = *SRC_N(w, u, 5, uint64_t), addr[ORR_WARP] = {0};
    for (uint32_t m = lanes; m; m &= m - 1) {
        int lane = orr_ffs(m);
        uint32_t at = index[lane] + offset;
        addr[lane] = base + at;
        for (uint32_t n = 0; n < u->ndst; n++) {
            uint32_t v = 0, from = at + 4 * n;
            if (from < bytes) memcpy(&v, bank + from, bytes - from < 4 ? bytes - from : 4);
            DST_N(w, u, n, uint32_t)[lane] = extended(v, size);
        }
    }
    if (u->traced && w->trace) orr_trace_put_access(w->trace, w->exec, addr);
}
static void indexed(warp *w, const uop *u) { indexed_lanes(w, u, w->exec); }
static void indexed_uniform(warp *w, const uop *u) { indexed_lanes(w, u, FULL); }

static bool constant(translator *m, bool uniform) {
    const orr_arg *a = &m->c->args[1];
    piece p;
    oper o[10];
    if (m->c->nargs < 2 || a->kind != ORR_ARG_CONST) return m_no(m, "it has no constant");
    if (a->shape & ORR_ARG_BINDLESS) return m_no(m, "constants through handles are not executed");
    if (m_mod(m, ORR_SM_LDCMODE)) return m_no(m, "only plain indexing of constants is executed");
    if (!piece_of(m, &p)) return false;
    unsigned size = m_mod(m, ORR_SM_SIZE);
    uint64_t device = m_bank_address(m, a->bank);
    for (int v = 0; v < p.vec; v++) o[v] = m_dst(m, 0, v);
    bool r = with_r(a), ur = with_ur(a);
    if (!r && !ur) {
        for (int v = 0; v < p.vec; v++) {
            uint32_t word;
            if (!m_bank(m, a->bank, (uint32_t)a->value + 4 * (uint32_t)v, &word)) return false;
            o[p.vec + v] = m_imm(m, ORR_W, extended(word, size));
        }
        o[2 * p.vec] = m_imm(m, ORR_D, device + (uint64_t)a->value);
        m_emit(m, uniform ? BOTH(known_full) : PICK(known), p.vec, p.vec + 1, o);
        return true;
    }
    uint32_t bytes = 0;
    const uint8_t *bank = m_bank_bytes(m, a->bank, &bytes);
    if (!bank) return m_no(m, "it reads a constant bank that the file does not have");
    oper index = r ? m_row(m, a->reg) : m_uniform(m, a->ureg);
    if (r && ur) {
        oper sum = m_tmp(m, ORR_W);
        m_aside(m, PICK(sum32), 1, 2, OPERS(sum, index, m_uniform(m, a->ureg)));
        index = sum;
    }
    oper *s = o + p.vec;
    s[0] = index;
    s[1] = m_imm(m, ORR_D, (uint64_t)(uintptr_t)bank);
    s[2] = m_imm(m, ORR_W, bytes);
    s[3] = m_imm(m, ORR_W, (uint32_t)a->value);
    s[4] = m_imm(m, ORR_W, size);
    s[5] = m_imm(m, ORR_D, device);
    m_emit(m, uniform ? BOTH(indexed_uniform) : BOTH(indexed), p.vec, 6, o);
    return true;
}

// ---- LDGSTS ---------------------------------------------------------------------------------
// Copies 4, 8 or 16 bytes to shared memory. Where the predicate is false zeros are written. With .ZFILL the
// source is where the bytes begin plus the number of them that are to be zeros (ptxas makes cp.async with a
// source size n of w into address + (w - n) % w, and the predicate n != 0).
PAIR2(filled, uint32_t, uint64_t, uint32_t, b - ((uint32_t)a & (b - 1)))
PAIR2(aligned, uint64_t, uint64_t, uint32_t, a & ~((uint64_t)b - 1))
static void size_where(warp *w, const uop *u) {
    uint32_t *d = DST(w, u, uint32_t), m = pred_of(w, u->a), on[ORR_WARP];
    const uint32_t *s = SRC_B(w, u, uint32_t);
    spread(m, on);
    LANES { d[i] = s[i] & on[i]; }
}
PAIR2(sum_disp, uint64_t, uint64_t, uint64_t, a + b)

static bool copy_to_shared(translator *m) {
    orr_inst like = {.op = ORR_OP_CPASYNC, .space = ORR_SPACE_GENERIC, .vec = 1, .type = ORR_T_B8};
    oper size = {.none = 1, .cls = ORR_W};
    uint32_t width = 4;
    if (m_has(m, ORR_SM_ASIZE)) {
        unsigned s = m_mod(m, ORR_SM_ASIZE);
        width = 4u << (s < 3 ? s : 2);
    } else {
        piece p;
        if (!piece_of(m, &p)) return false;
        width = (uint32_t)p.width * p.vec;
    }
    if (width < 4) return m_no(m, "it copies less than 4 bytes");
    if (m_mod(m, ORR_SM_BYPASS)) like.cache = ORR_CACHE_CG;
    like.width = (uint8_t)width;
    oper to = m_address32(m, 0, &like.disp), from = m_address64(m, 1, &like.disp2),
         count = m_imm(m, ORR_W, width);
    bool some = m->c->nargs > 2 && m_is(m, 2, ORR_ARG_P) &&
                (m->c->args[2].reg != ORR_PT || (m->c->args[2].flags & ORR_ARG_INV));
    if (m_mod(m, ORR_SM_ZFILL)) {
        oper all = m_tmp(m, ORR_D), start = m_tmp(m, ORR_D), n = m_tmp(m, ORR_W);
        m_aside(m, PICK(sum_disp), 1, 2, OPERS(all, from, m_imm(m, ORR_D, (uint64_t)(int64_t)like.disp2)));
        m_aside(m, PICK(filled), 1, 2, OPERS(n, all, count));
        m_aside(m, PICK(aligned), 1, 2, OPERS(start, all, count));
        from = start, size = count = n;
        like.disp2 = 0;
    }
    if (some) {
        size = m_tmp(m, ORR_W);
        m_aside(m, BOTH(size_where), 1, 2, OPERS(size, m_psrc(m, 2), count));
    }
    return m_ptx(m, like, 0, size.none ? 2 : 3, OPERS(to, from, size));
}

// ---- QSPC -----------------------------------------------------------------------------------
// Which window is the address in? .S is the block's own shared memory, .D that of all blocks of its cluster.
static bool which_space(translator *m) {
    orr_inst like = {.op = ORR_OP_ISSPACEP};
    int32_t disp;
    if (!m_is(m, 1, ORR_ARG_R) || m->c->args[1].reg != ORR_RZ)
        return m_no(m, "only the predicate of QSPC is known");
    oper at = m_address64(m, 2, &disp);
    if (disp) {
        oper sum = m_tmp(m, ORR_D);
        m_aside(m, PICK(sum_disp), 1, 2, OPERS(sum, at, m_imm(m, ORR_D, (uint64_t)(int64_t)disp)));
        at = sum;
    }
    switch (m_mod(m, ORR_SM_SPACE)) {
    case ORR_SV_SPACE_G: like.space = ORR_SPACE_GLOBAL; break;
    case ORR_SV_SPACE_L: like.space = ORR_SPACE_LOCAL; break;
    case ORR_SV_SPACE_D: like.sub = 1; // fall through
    default: like.space = ORR_SPACE_SHARED; break;
    }
    oper p = m_pdst(m, 0);
    return p.none ? true : m_ptx(m, like, 1, 1, OPERS(p, at));
}

// ---- all ------------------------------------------------------------------------------------
bool orr_sass_memory(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_LDG: return load(m, ORR_SPACE_GLOBAL, 1, 2);
    case ORR_SASS_LD: return load(m, ORR_SPACE_GENERIC, 0, 1);
    case ORR_SASS_LDS: return load(m, ORR_SPACE_SHARED, 0, 1);
    case ORR_SASS_LDL: return load(m, ORR_SPACE_LOCAL, 0, 1);
    case ORR_SASS_STG: return store(m, ORR_SPACE_GLOBAL);
    case ORR_SASS_ST: return store(m, ORR_SPACE_GENERIC);
    case ORR_SASS_STS: return store(m, ORR_SPACE_SHARED);
    case ORR_SASS_STL: return store(m, ORR_SPACE_LOCAL);
    case ORR_SASS_LDC: return constant(m, false);
    case ORR_SASS_ULDC:
    case ORR_SASS_LDCU: return constant(m, true);
    case ORR_SASS_LDGSTS: return copy_to_shared(m);
    case ORR_SASS_QSPC: return which_space(m);
    case ORR_SASS_LDGDEPBAR: // copies are done at once, and nothing is ever under way
    case ORR_SASS_DEPBAR:
    case ORR_SASS_MEMBAR:
    case ORR_SASS_FENCE:
    case ORR_SASS_ERRBAR:
    case ORR_SASS_CGAERRBAR:
    case ORR_SASS_CCTL:
    case ORR_SASS_CCTLL:
    case ORR_SASS_CCTLT: return true;
    default: break;
    }
    if (orr_sass[m->c->op].cls == ORR_TC_TEX) return orr_sass_texture(m);
    return orr_sass_atomic(m);
}

// What compiled blocks do instead (lanewise.h).
LANEWISE(orr_lanes_sass_memory, {known_full, LANE_KNOWN, 0})
