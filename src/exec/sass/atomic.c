// Machine code: atomic operations, and mbarrier objects as sm_90 has them.
//
// Atomics are PTX's (atomic.c), but for those of 128 bits, whose values are four registers here, and for
// CAST, a compare-and-swap that answers whether it swapped.
//
// SYNCS.ARRIVE takes .A1 one arrival or .AR a register of them or .A0 none; and .T0 no bytes, .T1 one more,
// .TR a register more (expect_tx), .TX a register fewer (complete_tx); without either, it is one arrival and
// a register of bytes more (arrive.expect_tx). .OPTOUT drops the arrivals from the next phases too. Its
// result is the object before. PHASECHK asks whether the parity differs from bit 31 of its operand, the upper
// half of such a result.
#include "exec/mbar.h"
#include "exec/ops/pair.h"
#include "exec/sass/memory.h"

// ---- what ptx has not -------------------------------------------------------------------------
typedef struct four {
    uint32_t w[4];
} four;

static four values(const warp *w, const uop *u, int first, int lane) {
    four v;
    for (int n = 0; n < 4; n++) v.w[n] = SRC_N(w, u, first + n, uint32_t)[lane];
    return v;
}
static bool same(four a, four b) {
    return a.w[0] == b.w[0] && a.w[1] == b.w[1] && a.w[2] == b.w[2] && a.w[3] == b.w[3];
}
// Sources: the address, [what is expected,] what is put there.
static void swap128(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    bool cas = u->inst->sub == ORR_ATOM_CAS;
    if (!orr_addresses(w, u, u->inst->space, 16, host)) return;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = orr_ffs(m);
        four *at = (four *)(void *)host[lane], old = *at;
        if (!cas)
            *at = values(w, u, 1, lane);
        else if (same(old, values(w, u, 1, lane)))
            *at = values(w, u, 5, lane);
        for (int n = 0; n < u->ndst; n++) DST_N(w, u, n, uint32_t)[lane] = old.w[n];
    }
}

// An atomic with a predicate is done where memory can do it, and the predicate says where that was; the code
// goes on with loads and stores for the rest (local memory), or with a loop around CAST. Shared memory (imm:
// it can) knows integers of 32 bits, and exchanges. u->inner does it; the predicate is the last operand.
static void where_it_can(warp *w, const uop *u) {
    const uint64_t *a = SRC_A(w, u, uint64_t);
    uint64_t disp = (uint64_t)(int64_t)u->inst->disp;
    uint32_t was = w->exec, there = 0;
    for (uint32_t m = was; m; m &= m - 1) {
        uint8_t space = orr_generic_space(a[orr_ffs(m)] + disp);
        if (space != ORR_SPACE_LOCAL && (space != ORR_SPACE_SHARED || u->imm)) there |= m & -m;
    }
    set_exec(w, there);
    if (there)
        u->inner(w, u);
    else if (u->traced && w->trace)
        orr_trace_put_access(w->trace, 0, NULL);
    set_exec(w, was);
    set_pred(w, u->all[u->ndst + u->nsrc - 1], there);
}

static bool possible_only(translator *m, orr_inst like, int ndst, int nsrc, const oper *opers) {
    orr_operand operands[12];
    orr_kernel k = {.operands = operands, .module = m->p->kernel->module};
    for (int n = 0; n < ndst + nsrc; n++) operands[n] = (orr_operand){.kind = ORR_K_REG, .cls = opers[n].cls};
    like.ndst = (uint8_t)ndst, like.nsrc = (uint8_t)nsrc;
    handlers h = orr_pick(&k, &like, &m->why);
    if (!h.full) return m_no(m, m->why ? m->why : "PTX has no such operation");
    m_access(m, BOTH(where_it_can), like, ndst, nsrc, opers)->inner = h.masked;
    return true;
}

PAIR2(swapped32, uint32_t, uint32_t, uint32_t, a == b)
PAIR2(swapped64, uint32_t, uint64_t, uint64_t, a == b)
PAIR1(copied, uint32_t, uint32_t, a)

// ---- operations and types ---------------------------------------------------------------------
typedef struct what {
    uint8_t op, type, vec; // ORR_ATOM_*, orr_type, values of that type
} what;

static bool float_type(unsigned t, what *x) {
    switch (t) {
    case ORR_SV_FATYPE_F16x2: x->type = ORR_T_F16X2; break;
    case ORR_SV_FATYPE_F16x4: x->type = ORR_T_F16X2, x->vec = 2; break;
    case ORR_SV_FATYPE_F16x8: x->type = ORR_T_F16X2, x->vec = 4; break;
    case ORR_SV_FATYPE_BF16x2: x->type = ORR_T_BF16X2; break;
    case ORR_SV_FATYPE_BF16x4: x->type = ORR_T_BF16X2, x->vec = 2; break;
    case ORR_SV_FATYPE_BF16x8: x->type = ORR_T_BF16X2, x->vec = 4; break;
    case ORR_SV_FATYPE_F32:
    case ORR_SV_FATYPE_F32_FTZ: x->type = ORR_T_F32; break;
    case ORR_SV_FATYPE_F32x2:
    case ORR_SV_FATYPE_F32x2_FTZ: x->type = ORR_T_F32, x->vec = 2; break;
    case ORR_SV_FATYPE_F32x4:
    case ORR_SV_FATYPE_F32x4_FTZ: x->type = ORR_T_F32, x->vec = 4; break;
    case ORR_SV_FATYPE_F64: x->type = ORR_T_F64; break;
    default: return false;
    }
    return true;
}
static bool old_type(unsigned t, what *x) { // before sm_90
    static const uint8_t types[] = {[ORR_SV_OATYPE_U32] = ORR_T_U32,     [ORR_SV_OATYPE_S32] = ORR_T_S32,
                                    [ORR_SV_OATYPE_U64] = ORR_T_U64,     [ORR_SV_OATYPE_F32_FTZ] = ORR_T_F32,
                                    [ORR_SV_OATYPE_F16x2] = ORR_T_F16X2, [ORR_SV_OATYPE_S64] = ORR_T_S64,
                                    [ORR_SV_OATYPE_F64] = ORR_T_F64};
    if (t >= sizeof types) return false;
    x->type = types[t];
    return true;
}
static bool new_type(unsigned t, what *x) {
    static const uint8_t types[] = {[ORR_SV_ATYPE_U32] = ORR_T_U32,
                                    [ORR_SV_ATYPE_S32] = ORR_T_S32,
                                    [ORR_SV_ATYPE_U64] = ORR_T_U64,
                                    [ORR_SV_ATYPE_S64] = ORR_T_S64,
                                    [ORR_SV_ATYPE_W128] = ORR_T_B128};
    if (t >= sizeof types) return false;
    x->type = types[t];
    return true;
}

static bool type_of(translator *m, what *x) {
    bool known = m_has(m, ORR_SM_FATYPE)   ? float_type(m_mod(m, ORR_SM_FATYPE), x)
                 : m_has(m, ORR_SM_OATYPE) ? old_type(m_mod(m, ORR_SM_OATYPE), x)
                 : m_has(m, ORR_SM_MTYPE)  ? new_type(m_mod(m, ORR_SM_MTYPE), x)
                                           : new_type(m_mod(m, ORR_SM_ATYPE), x);
    return known ? true : m_no(m, "atomics of this type are not executed");
}

static bool operation_of(translator *m, what *x, bool *counts) {
    static const uint8_t ops[] = {[ORR_SV_ATOM_ADD] = ORR_ATOM_ADD,  [ORR_SV_ATOM_MIN] = ORR_ATOM_MIN,
                                  [ORR_SV_ATOM_MAX] = ORR_ATOM_MAX,  [ORR_SV_ATOM_INC] = ORR_ATOM_INC,
                                  [ORR_SV_ATOM_DEC] = ORR_ATOM_DEC,  [ORR_SV_ATOM_AND] = ORR_ATOM_AND,
                                  [ORR_SV_ATOM_OR] = ORR_ATOM_OR,    [ORR_SV_ATOM_XOR] = ORR_ATOM_XOR,
                                  [ORR_SV_ATOM_EXCH] = ORR_ATOM_EXCH};
    *counts = false;
    if (m_has(m, ORR_SM_CAS)) {
        x->op = ORR_ATOM_CAS;
        return true;
    }
    if (m_has(m, ORR_SM_FATOM)) {
        unsigned op = m_mod(m, ORR_SM_FATOM);
        x->op = op == ORR_SV_FATOM_MIN ? ORR_ATOM_MIN : op == ORR_SV_FATOM_MAX ? ORR_ATOM_MAX : ORR_ATOM_ADD;
        return op <= ORR_SV_FATOM_MAX ? true : m_no(m, "this atomic operation is not executed");
    }
    if (m_has(m, ORR_SM_OATOMS)) {
        *counts = m_mod(m, ORR_SM_OATOMS) == ORR_SV_OATOMS_POPC_INC;
        x->op = ORR_ATOM_ADD;
        return *counts ? true : m_no(m, "mbarrier objects of before sm_90 are not executed");
    }
    unsigned op = m_mod(m, ORR_SM_ATOM);
    *counts = op == ORR_SV_ATOM_POPC_INC; // each lane counts one
    x->op = *counts || op >= sizeof ops ? ORR_ATOM_ADD : ops[op];
    return *counts || op < sizeof ops ? true : m_no(m, "this atomic operation is not executed");
}

// ---- atomics ----------------------------------------------------------------------------------
// pdst, dst: arguments, -1 none. The values follow the address.
static bool atomic(translator *m, uint8_t space, int pdst, int dst, int at) {
    what x = {.vec = 1};
    bool counts;
    if (!operation_of(m, &x, &counts) || !type_of(m, &x)) return false;
    bool cas = x.op == ORR_ATOM_CAS, cast = cas && m_mod(m, ORR_SM_CAS) & 1; // CAST, CAST.SPIN
    oper where = pdst >= 0 ? m_pdst(m, pdst) : (oper){.none = 1};
    if (!where.none && (cast || space != ORR_SPACE_GENERIC || !m_mod(m, ORR_SM_E)))
        return m_no(m, "what its predicate says is not known");
    bool result = dst >= 0 && m->c->args[dst].reg != ORR_RZ;
    orr_inst like = {.op = ORR_OP_ATOM, .space = space, .type = x.type, .sub = x.op, .vec = x.vec};
    like.width = orr_types[x.type].bytes;
    bool wide = space != ORR_SPACE_SHARED;
    oper base = wide ? m_address(m, at, &like.disp) : m_address32(m, at, &like.disp);
    if (like.width == 16) {
        oper o[13];
        int n = 0, values = cas ? 8 : 4;
        for (int v = 0; result && v < 4; v++) o[n++] = m_dst(m, dst, v);
        if (x.op != ORR_ATOM_CAS && x.op != ORR_ATOM_EXCH)
            return m_no(m, "of 128 bits only EXCH and CAS exist");
        int ndst = n;
        o[n++] = base;
        for (int v = 0; v < values; v++) o[n++] = m_src(m, at + 1 + v / 4, v % 4);
        m_access(m, BOTH(swap128), like, ndst, 1 + values, o);
        return true;
    }
    bool d = like.width == 8;
    int values = cas ? 2 : x.vec, per = d && !cas ? 2 : 1;
    oper s[8];
    for (int v = 0; v < values; v++) {
        int a = at + 1 + (cas ? v : 0), word = cas ? 0 : v * per;
        if (counts)
            s[v] = m_imm(m, ORR_W, 1);
        else
            s[v] = d ? m_pair(m, m_src(m, a, word), m_src(m, a, word + 1)) : m_src(m, a, word);
    }
    if (counts && d) s[0] = m_imm(m, ORR_D, 1);
    if (cast) {
        oper old = m_tmp(m, d ? ORR_D : ORR_W);
        if (!m_ptx(m, like, 1, 3, OPERS(old, base, s[0], s[1]))) return false;
        if (dst < 0) return m_no(m, "CAST with a predicate is not executed");
        if (d) {
            m_aside(m, PICK(swapped64), 1, 2, OPERS(m_dst(m, dst, 0), old, s[0]));
            m_aside(m, PICK(copied), 1, 1, OPERS(m_dst(m, dst, 1), m_imm(m, ORR_W, 0)));
        } else {
            m_aside(m, PICK(swapped32), 1, 2, OPERS(m_dst(m, dst, 0), old, s[0]));
        }
        return true;
    }
    oper o[10], row = d && result ? m_tmp(m, ORR_D) : base;
    int ndst = !result ? 0 : d ? 1 : x.vec, n = ndst;
    if (!ndst) like.op = ORR_OP_RED;
    if (ndst && d) o[0] = row;
    for (int v = 0; v < ndst && !d; v++) o[v] = m_dst(m, dst, v);
    o[n++] = base;
    for (int v = 0; v < values; v++) o[n++] = s[v];
    if (!where.none) o[n++] = where;
    like.imm = x.op == ORR_ATOM_CAS || x.op == ORR_ATOM_EXCH || (!d && !orr_types[x.type].is_float);
    bool done =
        where.none ? m_ptx(m, like, ndst, 1 + values, o) : possible_only(m, like, ndst, 2 + values, o);
    if (!done) return false;
    if (result && d) m_unpack(m, m_dst(m, dst, 0), m_dst(m, dst, 1), row);
    return true;
}

// ---- mbarrier ---------------------------------------------------------------------------------
enum {
    ARRIVALS_ONE = 1,
    ARRIVALS_R = 2,
    TX_ONE = 4,
    TX_R = 8,
    TX_LESS = 16,
    DROP = 32,
    TMASK = 64
}; // u->imm
// .TMASK (mbarrier.arrive.noComplete): the lanes at one object are one access to it. Each has as the low word
// which lanes they are, as the high one what it was before them; the code adds those of lower lanes.
static void for_all(warp *w, const uop *u, uint8_t *const host[ORR_WARP]) {
    for (uint32_t m = w->exec; m;) {
        int lead = orr_ffs(m);
        uint32_t same = 0, high = DST_N(w, u, 1, uint32_t)[lead];
        for (uint32_t n = m; n; n &= n - 1)
            if (host[orr_ffs(n)] == host[lead]) same |= n & -n;
        for (uint32_t n = same; n; n &= n - 1) {
            DST_N(w, u, 0, uint32_t)[orr_ffs(n)] = same;
            DST_N(w, u, 1, uint32_t)[orr_ffs(n)] = high;
        }
        m &= ~same;
    }
}

// Destinations: none or the object as it was, two words. Sources: the address, the register.
static void arrive(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    if (!orr_addresses(w, u, ORR_SPACE_SHARED, 8, host)) return;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        uint64_t *at = (uint64_t *)(void *)host[i], old = *at;
        uint32_t r = u->nsrc > 1 ? SRC_B(w, u, uint32_t)[i] : 0, kind = u->imm;
        uint32_t arrivals = kind & ARRIVALS_ONE ? 1 : kind & ARRIVALS_R ? r : 0;
        int64_t tx = kind & TX_ONE ? 1 : kind & TX_R ? (int64_t)r : 0;
        mbar b = mbar_open(old);
        const char *wrong = mbar_step(&b, arrivals, kind & TX_LESS ? -tx : tx, kind & DROP);
        if (wrong) {
            orr_fault(w, u, i, "%s", wrong);
            return;
        }
        *at = mbar_close(b);
        orr_mbar_done(w, host[i], (old ^ *at) >> MBAR_PHASE);
        if (u->ndst < 2) continue;
        DST_N(w, u, 0, uint32_t)[i] = (uint32_t)old;
        DST_N(w, u, 1, uint32_t)[i] = (uint32_t)(old >> 32);
    }
    if (u->imm & TMASK && u->ndst > 1) for_all(w, u, host);
}

static void phase_passed(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    uint32_t done = 0;
    size_t head = w->trace ? w->trace->n : 0;
    if (!orr_addresses(w, u, ORR_SPACE_SHARED, 8, host)) return;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        uint32_t now = (uint32_t)(*(const uint64_t *)(void *)host[i] >> MBAR_PHASE);
        if (now != SRC_B(w, u, uint32_t)[i] >> 31) done |= 1u << i;
    }
    set_pred(w, u->d, done);
    orr_mbar_found(w, u, head, host, done);
}

// The uniform accesses to such objects are done once for the warp. Destinations: none or a pair of rows;
// sources: the address, then pairs: of what is expected, of what is put there.
static void uniform_access(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    uint32_t was = w->exec;
    int lead = orr_ffs(was);
    set_exec(w, 1u << lead);
    bool ok = orr_addresses(w, u, ORR_SPACE_SHARED, 8, host);
    set_exec(w, was);
    if (!ok) return;
    uint64_t *at = (uint64_t *)(void *)host[lead], old = *at, v[2] = {0};
    for (int n = 0; n < u->nsrc / 2; n++)
        v[n] = (uint64_t)*SRC_N(w, u, 2 + 2 * n, uint32_t) << 32 | *SRC_N(w, u, 1 + 2 * n, uint32_t);
    if (u->nsrc == 3) *at = v[0];
    if (u->nsrc == 5 && old == v[0]) *at = v[1];
    for (int n = 0; n < u->ndst; n++) {
        uint32_t *d = DST_N(w, u, n, uint32_t), x = (uint32_t)(old >> 32 * n);
        LANES d[i] = x;
    }
}

static bool syncs(translator *m) {
    orr_inst like = {.op = ORR_OP_MBARRIER, .space = ORR_SPACE_SHARED, .width = 8, .vec = 1};
    if (m_has(m, ORR_SM_SCCTL)) return true; // mbarrier.inval: nothing is kept of it
    oper base = m_address32(m, 1, &like.disp), o[8];
    int n = 0;
    if (m_has(m, ORR_SM_SEXCH) || m_has(m, ORR_SM_SCAS) || m_has(m, ORR_SM_SLD)) {
        bool uniform = m_is(m, 0, ORR_ARG_UR);
        int pairs = m_has(m, ORR_SM_SEXCH) ? 1 : m_has(m, ORR_SM_SCAS) ? 2 : 0;
        if (!uniform) return m_no(m, "this access to an mbarrier is not executed");
        like.type = ORR_T_B64;
        if (m->c->args[0].reg != ORR_RZ) o[n++] = m_dst(m, 0, 0), o[n++] = m_dst(m, 0, 1);
        int ndst = n;
        o[n++] = base;
        for (int p = 0; p < pairs; p++) o[n++] = m_src(m, 2 + p, 0), o[n++] = m_src(m, 2 + p, 1);
        m_access(m, BOTH(uniform_access), like, ndst, 1 + 2 * pairs, o);
        m_active(m);
        return true;
    }
    if (m_mod(m, ORR_SM_SYNCS) == ORR_SV_SYNCS_PHASECHK) {
        like.sub = m_mod(m, ORR_SM_TRYWAIT) ? ORR_MBAR_TRY_WAIT : ORR_MBAR_TEST_WAIT;
        m_access(m, BOTH(phase_passed), like, 1, 2, OPERS(m_pdst(m, 0), base, m_src(m, 2, 0)));
        m_active(m);
        return true;
    }
    if (m_mod(m, ORR_SM_SYNCS) != ORR_SV_SYNCS_ARRIVE)
        return m_no(m, "this operation on an mbarrier is not executed");
    like.sub = ORR_MBAR_ARRIVE;
    switch (m_mod(m, ORR_SM_ARRIVE)) {
    case ORR_SV_ARRIVE_NONE: like.imm = ARRIVALS_ONE | TX_R; break;
    case ORR_SV_ARRIVE_A1T0: like.imm = ARRIVALS_ONE; break;
    case ORR_SV_ARRIVE_A0T1: like.imm = TX_ONE; break;
    case ORR_SV_ARRIVE_A0TR: like.imm = TX_R; break;
    case ORR_SV_ARRIVE_A0TX: like.imm = TX_R | TX_LESS; break;
    case ORR_SV_ARRIVE_ART0: like.imm = ARRIVALS_R; break;
    default: return m_no(m, "this arrival at an mbarrier is not executed");
    }
    if (m_mod(m, ORR_SM_OPTOUT)) like.imm |= DROP;
    if (m_has(m, ORR_SM_TMASK)) like.imm |= TMASK;
    if (m->c->args[0].reg != ORR_RZ) o[n++] = m_dst(m, 0, 0), o[n++] = m_dst(m, 0, 1);
    int ndst = n;
    o[n++] = base;
    o[n++] = m_src(m, 2, 0);
    m_access(m, BOTH(arrive), like, ndst, 2, o);
    return true;
}

// The copies (LDGSTS) of this thread are done already: so is what they bring with them, an arrival, or the
// one byte that was announced for them.
static bool copies_arrive(translator *m) {
    orr_inst like = {
        .op = ORR_OP_MBARRIER, .space = ORR_SPACE_SHARED, .width = 8, .vec = 1, .sub = ORR_MBAR_ARRIVE};
    switch (m_mod(m, ORR_SM_ARRIVES)) {
    case ORR_SV_ARRIVES_ARVCNT: like.imm = ARRIVALS_ONE; break;
    case ORR_SV_ARRIVES_TRANSCNT: like.imm = TX_ONE | TX_LESS; break;
    default: return m_no(m, "mbarrier objects of before sm_90 are not executed");
    }
    oper base = m_address32(m, 0, &like.disp);
    m_access(m, BOTH(arrive), like, 0, 1, OPERS(base));
    return true;
}

bool orr_sass_atomic(translator *m) {
    switch (m->c->op) {
    case ORR_SASS_ATOM: return atomic(m, ORR_SPACE_GENERIC, 0, 1, 2);
    case ORR_SASS_ATOMG: return atomic(m, ORR_SPACE_GLOBAL, 0, 1, 2);
    case ORR_SASS_RED: return atomic(m, ORR_SPACE_GENERIC, -1, -1, 0);
    case ORR_SASS_REDG: return atomic(m, ORR_SPACE_GLOBAL, -1, -1, 0);
    case ORR_SASS_ATOMS:
        if (m_is(m, 0, ORR_ARG_P)) return m_no(m, "CAST with a predicate is not executed");
        return atomic(m, ORR_SPACE_SHARED, -1, 0, 1);
    case ORR_SASS_SYNCS: return syncs(m);
    case ORR_SASS_ARRIVES: return copies_arrive(m);
    default: return false;
    }
}
