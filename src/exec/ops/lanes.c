// Between lanes: shfl, vote, match, redux, activemask, elect.
//
// The main loop has brought together the lanes an instruction waits for before a handler runs, so the
// lanes that take part are those of w->exec that are members. Lanes that name different members, as the
// tiles of a warp do, run as groups one after the other. Forms without .sync name no members: all active
// lanes take part. Sections of the PTX manual: "shfl.sync", "vote.sync", "match.sync", "redux.sync",
// "activemask", "elect.sync".
#include "exec/block.h"
#include "exec/ops/pair.h"
#include "exec/ops/softfp.h"

static uint32_t members(const warp *w, const uop *u, int source) {
    if (source >= u->nsrc || !w->exec) return w->exec;
    oper o = u->all[u->ndst + source];
    if (o.none) return w->exec;
    return w->exec & OPER(w, o, const uint32_t)[orr_ffs(w->exec)];
}

// True when lanes name different members: f has then been run for each group.
static bool by_groups(warp *w, const uop *u, int source, uop_fn *f) {
    if (source >= u->nsrc) return false;
    oper o = u->all[u->ndst + source];
    if (o.none || o.bank == BANK_CONST || !w->exec) return false;
    const uint32_t *pm = OPER(w, o, const uint32_t);
    uint32_t all = w->exec, left = all;
    while (left) {
        uint32_t same = 0, m = pm[orr_ffs(left)];
        LANES { same |= pm[i] == m ? lane_bit[i] : 0; }
        same &= left;
        if (same == all) return false;
        left &= ~same;
        set_exec(w, same);
        f(w, u);
    }
    set_exec(w, all);
    return true;
}

// Every active lane gets the same value.
static void put_all(warp *w, oper o, uint32_t v) {
    if (o.none) return;
    uint32_t *d = OPER(w, o, uint32_t);
    const uint32_t *lane = active_lanes(w);
    LANES { d[i] = BLEND(uint32_t, d[i], v, lane[i]); }
}
static void put_each(warp *w, oper o, const uint32_t *v) {
    if (o.none) return;
    uint32_t *d = OPER(w, o, uint32_t);
    const uint32_t *lane = active_lanes(w);
    LANES { d[i] = BLEND(uint32_t, d[i], v[i], lane[i]); }
}

// ---- shfl -----------------------------------------------------------------------------------
// j is the lane to read; out of range it is the own lane and the predicate false. What a lane that
// does not take part holds is unpredictable by the manual: the own value is read instead. Machine code reads
// the register of a lane that is under way elsewhere or at another WARPSYNC, and 0 of one that has ended or
// waits where ways meet (H200: micro/hopper, collective).
#define SHFL(name, J, IN_RANGE)                                                                              \
    static void name(warp *w, const uop *u) {                                                                \
        if (by_groups(w, u, 3, name)) return;                                                                \
        const uint32_t *pa = SRC_A(w, u, uint32_t), *pb = SRC_B(w, u, uint32_t),                             \
                       *pc = SRC_C(w, u, uint32_t);                                                          \
        uint32_t from = members(w, u, 3), out[ORR_WARP], valid = 0, gone = 0;                                \
        if (from != FULL && w->tb->prog->kernel->code.insts) from |= orr_sass_seen(w, &gone);                \
        int32_t at[ORR_WARP];                                                                                \
        uint32_t in[ORR_WARP];                                                                               \
        LANES {                                                                                              \
            int32_t lane = i, b = (int32_t)(pb[i] & 31), c = (int32_t)(pc[i] & 31),                          \
                    seg = (int32_t)(pc[i] >> 8 & 31);                                                        \
            int32_t least = lane & seg, most = least | (c & ~seg), j = J;                                    \
            (void)least, (void)b;                                                                            \
            uint32_t ok = 0u - (uint32_t)(IN_RANGE);                                                         \
            in[i] = ok;                                                                                      \
            at[i] = (int32_t)(((uint32_t)j & ok) | ((uint32_t)lane & ~ok));                                  \
        }                                                                                                    \
        LANES { valid |= in[i] & lane_bit[i]; }                                                              \
        for (int i = 0; i < ORR_WARP; i++) {                                                                 \
            int32_t j = at[i] & 31;                                                                          \
            out[i] = from >> j & 1 ? pa[j] : gone >> j & 1 ? 0 : pa[i];                                      \
        }                                                                                                    \
        put_each(w, u->d, out);                                                                              \
        if (u->ndst > 1) set_pred(w, u->all[1], valid);                                                      \
    }
SHFL(shfl_up, lane - b, j >= most)
SHFL(shfl_down, lane + b, j <= most)
SHFL(shfl_bfly, lane ^ b, j <= most)
SHFL(shfl_idx, least | (b & ~seg), j <= most)

static handlers pick_shfl(const orr_kernel *k, const orr_inst *i, const char **why) {
    static const handlers modes[] = {[ORR_SHFL_UP] = BOTH(shfl_up),
                                     [ORR_SHFL_DOWN] = BOTH(shfl_down),
                                     [ORR_SHFL_BFLY] = BOTH(shfl_bfly),
                                     [ORR_SHFL_IDX] = BOTH(shfl_idx)};
    if (i->sub > ORR_SHFL_IDX) return no_handlers(why, BAD_TYPE);
    bool fits = shape_fits(k, i, "w=WWW") || shape_fits(k, i, "wp=WWW") || shape_fits(k, i, "w=WWWw") ||
                shape_fits(k, i, "wp=WWWw");
    return fits ? modes[i->sub] : no_handlers(why, BAD_OPERANDS);
}

// ---- vote -----------------------------------------------------------------------------------
static void vote(warp *w, const uop *u) {
    if (by_groups(w, u, 1, vote)) return;
    uint32_t m = members(w, u, 1), yes = pred_of(w, u->a) & m;
    switch (u->inst->sub) {
    case ORR_VOTE_ALL: set_pred(w, u->d, yes == m ? FULL : 0); break;
    case ORR_VOTE_ANY: set_pred(w, u->d, yes ? FULL : 0); break;
    case ORR_VOTE_UNI: set_pred(w, u->d, yes == m || !yes ? FULL : 0); break;
    default: put_all(w, u->d, yes); break;
    }
}

static handlers pick_vote(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (i->sub > ORR_VOTE_BALLOT) return no_handlers(why, BAD_TYPE);
    bool ballot = i->sub == ORR_VOTE_BALLOT;
    bool fits = shape_fits(k, i, ballot ? "w=P" : "p=P") || shape_fits(k, i, ballot ? "w=Pw" : "p=Pw");
    return fits ? BOTH(vote) : no_handlers(why, BAD_OPERANDS);
}

// ---- match ----------------------------------------------------------------------------------
// The lanes of `m` whose value is that of lane `lead`.
#define ALIKE(name, T)                                                                                       \
    static uint32_t name(const T *a, uint32_t m, int lead) {                                                 \
        uint32_t same = 0;                                                                                   \
        T v = a[lead];                                                                                       \
        LANES { same |= a[i] == v ? lane_bit[i] : 0; }                                                       \
        return same & m;                                                                                     \
    }
ALIKE(alike32, uint32_t)
ALIKE(alike64, uint64_t)
static uint32_t alike(const warp *w, const uop *u, uint32_t m, int lead) {
    return u->a.cls == ORR_D ? alike64(SRC_A(w, u, uint64_t), m, lead)
                             : alike32(SRC_A(w, u, uint32_t), m, lead);
}

static void match_any(warp *w, const uop *u) {
    if (by_groups(w, u, 1, match_any)) return;
    uint32_t out[ORR_WARP] = {0};
    for (uint32_t left = members(w, u, 1); left;) {
        uint32_t same = alike(w, u, members(w, u, 1), orr_ffs(left));
        for (uint32_t s = same; s; s &= s - 1) out[orr_ffs(s)] = same;
        left &= ~same;
    }
    put_each(w, u->d, out);
}
static void match_all(warp *w, const uop *u) {
    if (by_groups(w, u, 1, match_all)) return;
    uint32_t m = members(w, u, 1);
    bool all = m && alike(w, u, m, orr_ffs(m)) == m;
    put_all(w, u->d, all ? m : 0);
    if (u->ndst > 1) set_pred(w, u->all[1], all ? FULL : 0);
}

static handlers pick_match(const orr_kernel *k, const orr_inst *i, const char **why) {
    bool fits = shape_fits(k, i, "w=Ww") || shape_fits(k, i, "w=Dw");
    if (i->sub) fits = fits || shape_fits(k, i, "wp=Ww") || shape_fits(k, i, "wp=Dw");
    if (!fits) return no_handlers(why, BAD_OPERANDS);
    return i->sub ? BOTH(match_all) : BOTH(match_any);
}

// ---- redux ----------------------------------------------------------------------------------
static uint32_t reduce_f32(const orr_inst *in, uint32_t acc, uint32_t x) {
    bool nan = (in->mods & ORR_M_NAN) != 0;
    return in->sub == ORR_ATOM_MIN ? min32(acc, x, 0, nan) : max32(acc, x, 0, nan);
}
static uint32_t reduce_int(const orr_inst *in, uint32_t acc, uint32_t x) {
    bool sign = in->type == ORR_T_S32, less = sign ? (int32_t)x < (int32_t)acc : x < acc;
    switch (in->sub) {
    case ORR_ATOM_ADD: return acc + x;
    case ORR_ATOM_MIN: return less ? x : acc;
    case ORR_ATOM_MAX: return less ? acc : x;
    case ORR_ATOM_AND: return acc & x;
    case ORR_ATOM_OR: return acc | x;
    default: return acc ^ x;
    }
}
static void redux(warp *w, const uop *u) {
    if (by_groups(w, u, 1, redux)) return;
    const uint32_t *pa = SRC_A(w, u, uint32_t);
    const orr_inst *in = u->inst;
    bool is_float = in->type == ORR_T_F32;
    uint32_t m = members(w, u, 1), keep = in->mods & ORR_M_XORSIGN ? 0x7fffffff : FULL; // .abs
    if (!m) return;
    uint32_t acc = pa[orr_ffs(m)] & keep;
    if (is_float && nan32(acc)) acc = NAN32;
    for (m &= m - 1; m; m &= m - 1) {
        uint32_t x = pa[orr_ffs(m)] & keep;
        acc = is_float ? reduce_f32(in, acc, x) : reduce_int(in, acc, x);
    }
    put_all(w, u->d, acc);
}

static handlers pick_redux(const orr_kernel *k, const orr_inst *i, const char **why) {
    bool extreme = i->sub == ORR_ATOM_MIN || i->sub == ORR_ATOM_MAX, known = false;
    switch (i->type) {
    case ORR_T_F32: known = extreme; break;
    case ORR_T_U32:
    case ORR_T_S32: known = (extreme || i->sub == ORR_ATOM_ADD) && !(i->mods & ORR_M_XORSIGN); break;
    case ORR_T_B32:
        known = i->sub >= ORR_ATOM_AND && i->sub <= ORR_ATOM_XOR && !(i->mods & ORR_M_XORSIGN);
        break;
    default: break;
    }
    if (!known) return no_handlers(why, BAD_TYPE);
    return shape_fits(k, i, "W=Ww") ? BOTH(redux) : no_handlers(why, BAD_OPERANDS);
}

// ---- activemask, elect ----------------------------------------------------------------------
static void activemask(warp *w, const uop *u) { put_all(w, u->d, w->exec); }

// The leader is the lowest member.
static void elect(warp *w, const uop *u) {
    if (by_groups(w, u, 0, elect)) return;
    uint32_t m = members(w, u, 0);
    if (!m) return;
    put_all(w, u->d, (uint32_t)orr_ffs(m));
    if (u->ndst > 1) set_pred(w, u->all[1], m & (0 - m));
}

handlers orr_pick_lanes(const orr_kernel *k, const orr_inst *i, const char **why) {
    switch (i->op) {
    case ORR_OP_SHFL: return pick_shfl(k, i, why);
    case ORR_OP_VOTE: return pick_vote(k, i, why);
    case ORR_OP_MATCH: return pick_match(k, i, why);
    case ORR_OP_REDUX: return pick_redux(k, i, why);
    case ORR_OP_ACTIVEMASK: return shape_fits(k, i, "W=") ? BOTH(activemask) : no_handlers(why, BAD_OPERANDS);
    case ORR_OP_ELECT: return shape_fits(k, i, "wp=w") ? BOTH(elect) : no_handlers(why, BAD_OPERANDS);
    default: return (handlers){0};
    }
}
