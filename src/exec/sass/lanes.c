// Machine code: between the lanes of a warp, and between lanes and uniform registers.
//
// None of these names its members: those that take part are the active lanes (WARPSYNC has brought together
// the ones that the program named). What goes to a uniform register or predicate is the same for the warp:
// such handlers honour the active lanes where they look and fill all of the row where they write (m_active).
#include "exec/ops/pair.h"
#include "exec/sass/memory.h"

static const oper nobody = {.none = 1, .cls = ORR_W}; // in place of PTX's membermask

static void fill(warp *w, oper o, uint32_t v) { // all 32 lanes: a uniform row
    uint32_t *d = OPER(w, o, uint32_t);
    LANES d[i] = v;
}

// ---- VOTE -----------------------------------------------------------------------------------
static bool voted(const uop *u, uint32_t yes, uint32_t all) {
    switch (u->imm) {
    case ORR_SV_VOTE_ALL: return yes == all;
    case ORR_SV_VOTE_ANY: return yes != 0;
    default: return yes == all || !yes;
    }
}
static void vote(warp *w, const uop *u) {
    uint32_t yes = pred_of(w, u->a) & w->exec, *d = DST(w, u, uint32_t);
    const uint32_t *lane = active_lanes(w);
    LANES { d[i] = BLEND(uint32_t, d[i], yes, lane[i]); }
    set_pred(w, u->all[1], voted(u, yes, w->exec) ? FULL : 0);
}
static void vote_uniform(warp *w, const uop *u) {
    uint32_t yes = pred_of(w, u->a) & w->exec;
    fill(w, u->d, yes);
    if (!u->all[1].none) *DST_N(w, u, 1, uint32_t) = voted(u, yes, w->exec) ? FULL : 0;
}
static bool votes(translator *m, bool uniform) {
    uop *u = m_emit(m, uniform ? BOTH(vote_uniform) : BOTH(vote), 2, 1,
                    OPERS(m_dst(m, 0, 0), m_pdst(m, 1), m_psrc(m, 2)));
    u->imm = m_mod(m, ORR_SM_VOTE);
    if (uniform) m_active(m);
    return true;
}

// ---- SHFL, MATCH, REDUX, ELECT --------------------------------------------------------------
static bool shuffle(translator *m) {
    static const uint8_t modes[] = {[ORR_SV_SHFL_IDX] = ORR_SHFL_IDX,
                                    [ORR_SV_SHFL_UP] = ORR_SHFL_UP,
                                    [ORR_SV_SHFL_DOWN] = ORR_SHFL_DOWN,
                                    [ORR_SV_SHFL_BFLY] = ORR_SHFL_BFLY};
    orr_inst like = {.op = ORR_OP_SHFL, .type = ORR_T_B32, .sub = modes[m_mod(m, ORR_SM_SHFL) & 3]};
    return m_ptx(m, like, 2, 4,
                 OPERS(m_dst(m, 1, 0), m_pdst(m, 0), m_src(m, 2, 0), m_src(m, 3, 0), m_src(m, 4, 0), nobody));
}

static bool match(translator *m) {
    bool all = m_mod(m, ORR_SM_MATCH) == ORR_SV_MATCH_ALL, wide = m_mod(m, ORR_SM_U64) != 0;
    orr_inst like = {.op = ORR_OP_MATCH, .type = wide ? ORR_T_B64 : ORR_T_B32, .sub = all};
    oper a = wide ? m_pair(m, m_src(m, 2, 0), m_src(m, 2, 1)) : m_src(m, 2, 0), d = m_dst(m, 1, 0);
    if (!all) return m_ptx(m, like, 1, 2, OPERS(d, a, nobody));
    return m_ptx(m, like, 2, 2, OPERS(d, m_pdst(m, 0), a, nobody));
}

static bool reduce(translator *m, orr_inst like) {
    oper each = m_tmp(m, ORR_W);
    like.op = ORR_OP_REDUX;
    if (!m_ptx(m, like, 1, 2, OPERS(each, m_src(m, 1, 0), nobody))) return false;
    m_active(m);
    m_spread(m, m_dst(m, 0, 0), each);
    return true;
}
static bool redux(translator *m) {
    static const uint8_t ops[] = {[ORR_SV_REDUX_AND] = ORR_ATOM_AND, [ORR_SV_REDUX_OR] = ORR_ATOM_OR,
                                  [ORR_SV_REDUX_XOR] = ORR_ATOM_XOR, [ORR_SV_REDUX_SUM] = ORR_ATOM_ADD,
                                  [ORR_SV_REDUX_MIN] = ORR_ATOM_MIN, [ORR_SV_REDUX_MAX] = ORR_ATOM_MAX};
    unsigned op = m_mod(m, ORR_SM_REDUX);
    if (op >= sizeof ops) return m_no(m, "this reduction is not executed");
    bool logic = op <= ORR_SV_REDUX_XOR;
    uint8_t type = logic ? ORR_T_B32 : m_mod(m, ORR_SM_S32) ? ORR_T_S32 : ORR_T_U32;
    return reduce(m, (orr_inst){.sub = ops[op], .type = type});
}
static bool credux(translator *m) {
    static const uint8_t types[] = {[ORR_SV_CREDTYPE_U32] = ORR_T_U32,
                                    [ORR_SV_CREDTYPE_S32] = ORR_T_S32,
                                    [ORR_SV_CREDTYPE_F32] = ORR_T_F32};
    unsigned op = m_mod(m, ORR_SM_CREDUX), type = m_mod(m, ORR_SM_CREDTYPE);
    if (type >= sizeof types) return m_no(m, "this reduction is not executed");
    orr_inst like = {.type = types[type], .sub = op >= ORR_SV_CREDUX_MIN ? ORR_ATOM_MIN : ORR_ATOM_MAX};
    if (op == ORR_SV_CREDUX_MAXABS || op == ORR_SV_CREDUX_MINABS) like.mods |= ORR_M_XORSIGN;
    if (m_mod(m, ORR_SM_NAN)) like.mods |= ORR_M_NAN;
    return reduce(m, like);
}

// The lowest lane of those where the predicate holds: its number, and a predicate of which lane it is.
static void elect(warp *w, const uop *u) {
    uint32_t m = pred_of(w, u->a) & w->exec;
    fill(w, u->d, m ? (uint32_t)orr_ffs(m) : 0);
    set_pred(w, u->all[1], m & (0 - m));
}
static bool elects(translator *m) {
    if (!m_is(m, 2, ORR_ARG_P)) return m_no(m, "ELECT of the lanes in a uniform register is not executed");
    m_emit(m, BOTH(elect), 2, 1, OPERS(m_dst(m, 1, 0), m_pdst(m, 0), m_psrc(m, 2)));
    m_active(m);
    return true;
}

// ---- R2UR -----------------------------------------------------------------------------------
// The value of the lowest active lane; the predicate is true for lanes that have another one. Code for values
// that may differ goes in a circle: it takes one, works for the lanes that have it (.OR: both halves of it),
// and comes back for the others.
static void r2ur(warp *w, const uop *u) {
    const uint32_t *a = SRC_A(w, u, uint32_t);
    uint32_t v = a[orr_ffs(w->exec)], other = 0;
    if (!u->all[1].none) {
        LANES { other |= a[i] != v ? lane_bit[i] : 0; }
        if (u->imm) other |= *DST_N(w, u, 1, uint32_t);
    }
    fill(w, u->d, v);
    set_pred(w, u->all[1], other);
}
static bool to_uniform(translator *m) {
    if (m_mod(m, ORR_SM_FILL)) return m_no(m, "R2UR.FILL is not executed");
    uop *u = m_emit(m, BOTH(r2ur), 2, 1, OPERS(m_dst(m, 1, 0), m_pdst(m, 0), m_src(m, 2, 0)));
    u->imm = m_mod(m, ORR_SM_OR);
    m_active(m);
    return true;
}

bool orr_sass_lanes(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_VOTE: return votes(m, false);
    case ORR_SASS_VOTEU: return votes(m, true);
    case ORR_SASS_SHFL: return shuffle(m);
    case ORR_SASS_MATCH: return match(m);
    case ORR_SASS_REDUX: return redux(m);
    case ORR_SASS_CREDUX: return credux(m);
    case ORR_SASS_ELECT: return elects(m);
    case ORR_SASS_R2UR: return to_uniform(m);
    default: break;
    }
    return orr_sass_sreg(m) || (!m->why && orr_sass_matrix(m));
}
