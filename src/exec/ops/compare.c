// Integer comparison, selection, and address spaces of generic addresses.
//
// A comparison makes a mask, a bit a lane, which is what a predicate register is. Sections of the PTX
// manual: "Comparison and Selection Instructions", "isspacep", "cvta".
#include "exec/block.h"
#include "exec/ops/pair.h"
#include "exec/lanewise.h"

// ---- setp, set ------------------------------------------------------------------------------
static inline void put_setp(warp *w, const uop *u, uint32_t m) {
    if (u->nsrc == 2 && u->ndst == 1) {
        set_pred(w, u->d, m);
        return;
    }
    uint32_t c = u->nsrc == 3 ? pred_of(w, u->c) : 0; // read before p is written
    set_pred(w, u->d, bool_combine(m, u->inst->boolop, c));
    if (u->ndst == 2) set_pred(w, u->all[1], bool_combine(~m, u->inst->boolop, c));
}

static inline void put_set(warp *w, const uop *u, uint32_t m) { // 1.0f or all ones
    uint32_t *d = DST(w, u, uint32_t), one = u->inst->type == ORR_T_F32 ? 0x3f800000u : ~0u;
    const uint32_t *lane = active_lanes(w);
    if (u->nsrc == 3) m = bool_combine(m, u->inst->boolop, pred_of(w, u->c));
    LANES {
        uint32_t v = m & lane_bit[i] ? one : 0;
        d[i] = BLEND(uint32_t, d[i], v, lane[i]);
    }
}

#define COMPARE(name, T, op)                                                                                 \
    COMPARED(name, T, op)                                                                                    \
    static void setp_##name(warp *w, const uop *u) { put_setp(w, u, name(w, u)); }                           \
    static void set_##name(warp *w, const uop *u) { put_set(w, u, name(w, u)); }
#define COMPARE4(s, T)                                                                                       \
    COMPARE(lt_##s, T, <)                                                                                    \
    COMPARE(le_##s, T, <=)                                                                                   \
    COMPARE(gt_##s, T, >)                                                                                    \
    COMPARE(ge_##s, T, >=)
#define COMPARE2(s, T)                                                                                       \
    COMPARE(eq_##s, T, ==)                                                                                   \
    COMPARE(ne_##s, T, !=)
COMPARE2(u16, uint16_t)
COMPARE2(u32, uint32_t)
COMPARE2(u64, uint64_t)
COMPARE4(u16, uint16_t)
COMPARE4(u32, uint32_t)
COMPARE4(u64, uint64_t)
COMPARE4(s16, int16_t)
COMPARE4(s32, int32_t)
COMPARE4(s64, int64_t)

// Comparisons by slot, then eq ne lt le gt ge.
#define SIX(pre, e, s)                                                                                       \
    {                                                                                                        \
        BOTH(pre##eq_##e), BOTH(pre##ne_##e), BOTH(pre##lt_##s), BOTH(pre##le_##s), BOTH(pre##gt_##s),       \
            BOTH(pre##ge_##s)                                                                                \
    }
#define ALL(pre)                                                                                             \
    {                                                                                                        \
        SIX(pre, u16, u16), SIX(pre, u32, u32), SIX(pre, u64, u64), SIX(pre, u16, s16), SIX(pre, u32, s32),  \
            SIX(pre, u64, s64)                                                                               \
    }

static handlers pick_compare(const orr_kernel *k, const orr_inst *i, const char **why) {
    static const handlers setp[SLOTS][6] = ALL(setp_), set[SLOTS][6] = ALL(set_);
    static const char *const setp1[3] = {"p=HH", "p=WW", "p=DD"}, *const setp1c[3] = {"p=HHP", "p=WWP",
                                                                                      "p=DDP"};
    static const char *const setp2[3] = {"pp=HH", "pp=WW", "pp=DD"}, *const setp2c[3] = {"pp=HHP", "pp=WWP",
                                                                                         "pp=DDP"};
    static const char *const set1[3] = {"W=HH", "W=WW", "W=DD"}, *const set1c[3] = {"W=HHP", "W=WWP",
                                                                                    "W=DDP"};
    bool is_set = i->op == ORR_OP_SET;
    int slot = slot_of(is_set ? i->stype : i->type), cmp = i->cmp;
    if (slot < 0) return (handlers){0};           // compares floats: not ours
    if (cmp >= ORR_CMP_LO && cmp <= ORR_CMP_HS) { // unsigned, whatever the type says
        cmp = cmp - ORR_CMP_LO + ORR_CMP_LT;
        slot %= 3;
    }
    if (cmp > ORR_CMP_GE) return no_handlers(why, BAD_TYPE);
    if (is_set) {
        if (i->type != ORR_T_U32 && i->type != ORR_T_S32 && i->type != ORR_T_F32)
            return no_handlers(why, BAD_TYPE);
        if (!shape_fits(k, i, i->nsrc == 3 ? set1c[slot % 3] : set1[slot % 3]))
            return no_handlers(why, BAD_OPERANDS);
        return set[slot][cmp];
    }
    bool three = i->nsrc == 3;
    const char *shape =
        i->ndst == 2 ? (three ? setp2c : setp2)[slot % 3] : (three ? setp1c : setp1)[slot % 3];
    if (!shape_fits(k, i, shape)) return no_handlers(why, BAD_OPERANDS);
    return setp[slot][cmp];
}

// ---- selp, slct -----------------------------------------------------------------------------
#define SELECTED(T) BLEND(T, pb[i], pa[i], 0u - (uint32_t)((m & lane_bit[i]) != 0))
#define SELP_LOADS(T)                                                                                        \
    const T *pa = SRC_A(w, u, T), *pb = SRC_B(w, u, T);                                                      \
    const uint32_t m = pred_of(w, u->c);
#define SELP(name, T) PAIR_BODY(name, T, SELP_LOADS(T), SELECTED(T))
SELP(selp16, uint16_t)
SELP(selp32, uint32_t)
SELP(selp64, uint64_t)
PAIR3(slct16, uint16_t, uint16_t, uint16_t, int32_t, c >= 0 ? a : b)
PAIR3(slct32, uint32_t, uint32_t, uint32_t, int32_t, c >= 0 ? a : b)
PAIR3(slct64, uint64_t, uint64_t, uint64_t, int32_t, c >= 0 ? a : b)

static handlers pick_select(const orr_kernel *k, const orr_inst *i, const char **why) {
    static const handlers selp[3] = {PICK(selp16), PICK(selp32), PICK(selp64)};
    static const handlers slct[3] = {PICK(slct16), PICK(slct32), PICK(slct64)};
    static const char *const selp_shape[3] = {"H=HHP", "W=WWP", "D=DDP"};
    static const char *const slct_shape[3] = {"H=HHW", "W=WWW", "D=DDW"};
    bool is_selp = i->op == ORR_OP_SELP;
    if (!is_selp && i->stype != ORR_T_S32) return (handlers){0}; // an f32 selector: not ours
    for (int n = 0; n < 3; n++) { // the types are bit patterns: the class alone matters
        if (is_selp && shape_fits(k, i, selp_shape[n])) return selp[n];
        if (!is_selp && shape_fits(k, i, slct_shape[n])) return slct[n];
    }
    return no_handlers(why, BAD_OPERANDS);
}

// ---- generic addresses ----------------------------------------------------------------------
// Global and const addresses are generic as they are; the other spaces are windows (isa.h). A 32-bit
// generic address cannot tell the windows apart, so there the conversion changes nothing.
#define CVTA_LOADS                                                                                           \
    const uint64_t *pa = SRC_A(w, u, uint64_t), base = orr_generic_window(u->inst->space);                   \
    const uint64_t delta = u->inst->sub ? 0 - base : base;
PAIR_BODY(cvta64, uint64_t, CVTA_LOADS, pa[i] + delta)
PAIR1(cvta32, uint32_t, uint32_t, a)

// Is a generic address in the block's own shared memory, or, `cluster`, in that of any block of its cluster?
static bool in_shared(warp *w, uint64_t addr, bool cluster) {
    uint64_t offset, at = addr - ORR_SHARED_WINDOW;
    if (at >= ORR_WINDOW_BYTES) return false;
    const tblock *owner = orr_cluster_block(w->tb, at, &offset);
    if (cluster && w->tb->cluster) return owner != NULL;
    return owner == w->tb && offset <= 0xffffff;
}

// Is an address in the window of a space? Const variables lie in global memory here, so nothing is in const
// space alone. sub 1: shared memory of the cluster.
static void isspacep64(warp *w, const uop *u) {
    const uint64_t *pa = SRC_A(w, u, uint64_t), base = orr_generic_window(u->inst->space);
    uint32_t m = 0;
    if (u->inst->sub || u->inst->space == ORR_SPACE_SHARED) {
        LANES { m |= in_shared(w, pa[i], u->inst->sub) ? lane_bit[i] : 0; }
    } else if (base) {
        LANES { m |= pa[i] - base < ORR_WINDOW_BYTES ? lane_bit[i] : 0; }
    } else if (u->inst->space == ORR_SPACE_GLOBAL) {
        LANES {
            uint64_t x = pa[i];
            bool other = (x - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES) |
                         (x - ORR_LOCAL_WINDOW < ORR_WINDOW_BYTES) |
                         (x - ORR_PARAM_WINDOW < ORR_WINDOW_BYTES);
            m |= other ? 0 : lane_bit[i];
        }
    }
    set_pred(w, u->d, m);
}
static void isspacep32(warp *w, const uop *u) {
    set_pred(w, u->d, u->inst->space == ORR_SPACE_GLOBAL ? ~0u : 0);
}

static void policy_lanes(uint64_t *d, const uint32_t *lane) { // opaque, and nobody looks at it
    LANES { d[i] = BLEND(uint64_t, d[i], 1, lane[i]); }
}
static void policy(warp *w, const uop *u) { policy_lanes(DST(w, u, uint64_t), active_lanes(w)); }

handlers orr_pick_compare(const orr_kernel *k, const orr_inst *i, const char **why) {
    switch (i->op) {
    case ORR_OP_SETP:
    case ORR_OP_SET: return pick_compare(k, i, why);
    case ORR_OP_SELP:
    case ORR_OP_SLCT: return pick_select(k, i, why);
    case ORR_OP_CVTA:
        if (shape_fits(k, i, "D=D")) return PICK(cvta64);
        return shape_fits(k, i, "W=W") ? PICK(cvta32) : no_handlers(why, BAD_OPERANDS);
    case ORR_OP_ISSPACEP:
        if (shape_fits(k, i, "P=D")) return BOTH(isspacep64);
        return shape_fits(k, i, "P=W") ? BOTH(isspacep32) : no_handlers(why, BAD_OPERANDS);
    case ORR_OP_POLICY: return shape_fits(k, i, "D=*") ? BOTH(policy) : no_handlers(why, BAD_OPERANDS);
    default: return (handlers){0};
    }
}

// What compiled blocks do instead (lanewise.h).
LANEWISE(orr_lanes_compare, {selp32_full, LANE_SELECT, 0})
