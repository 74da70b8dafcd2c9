// mov: copies of every class, packing (n sources into one register) and unpacking.
//
// Element 0 is the least significant. An element's width is the whole's divided by their number: an
// 8-bit element lives in a 16-bit register.
#include "exec/ops/softfp.h"
#include "exec/lanewise.h"

LOOP1(mov16, 16, 16, x)
LOOP1(mov32, 32, 32, x)
LOOP1(mov64, 64, 64, x)

typedef struct quad {
    uint64_t lo, hi;
} quad;
static void mov128(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    quad *d = DST(w, u, quad);
    const quad *a = SRC_A(w, u, quad);
    LANES {
        d[i].lo = keep64(w->lane[i], a[i].lo, d[i].lo);
        d[i].hi = keep64(w->lane[i], a[i].hi, d[i].hi);
    }
}
static void mov_pred(warp *w, const uop *u) { set_pred(w, u->d, pred_of(w, u->a)); }

// ---- the common pairs -----------------------------------------------------------------------
#define PACK(name, D, S, bits, keep)                                                                         \
    static void name##_full(warp *w, const uop *u) {                                                         \
        D *d = DST(w, u, D);                                                                                 \
        const S *a = SRC_A(w, u, S), *b = SRC_B(w, u, S);                                                    \
        LANES d[i] = (D)b[i] << bits | a[i];                                                                 \
    }                                                                                                        \
    static void name##_mask(warp *w, const uop *u) {                                                         \
        D *d = DST(w, u, D);                                                                                 \
        const S *a = SRC_A(w, u, S), *b = SRC_B(w, u, S);                                                    \
        LANES d[i] = keep(w->lane[i], (D)b[i] << bits | a[i], d[i]);                                         \
    }
PACK(pack32, uint64_t, uint32_t, 32, keep64)
PACK(pack16, uint32_t, uint16_t, 16, keep32)
// one destination at a time: either may be the sink
static void unpack32(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    const uint64_t *a = SRC_A(w, u, uint64_t);
    for (int n = 0; n < 2; n++) {
        if (u->all[n].none) continue;
        uint32_t *d = DST_N(w, u, n, uint32_t);
        LANES d[i] = keep32(w->lane[i], (uint32_t)(a[i] >> (32 * n)), d[i]);
    }
}
static void unpack16(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    const uint32_t *a = SRC_A(w, u, uint32_t);
    for (int n = 0; n < 2; n++) {
        if (u->all[n].none) continue;
        uint16_t *d = DST_N(w, u, n, uint16_t);
        LANES d[i] = keep16(w->lane[i], (uint16_t)(a[i] >> (16 * n)), d[i]);
    }
}

// ---- any other split ------------------------------------------------------------------------
static uint32_t bytes_of(uint8_t cls) { return cls == ORR_H ? 2 : cls == ORR_W ? 4 : cls == ORR_D ? 8 : 16; }

static void pack_any(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    uint32_t whole = bytes_of(u->d.cls), part = whole / u->nsrc;
    for (int i = 0; i < ORR_WARP; i++) {
        uint8_t t[16] = {0}; // all sources are read before the destination is written
        for (uint32_t n = 0; n < u->nsrc; n++) {
            oper o = u->all[1 + n];
            uint32_t have = bytes_of(o.cls);
            if (!o.none) memcpy(t + n * part, w->bank[o.bank] + o.off + i * have, part < have ? part : have);
        }
        if (w->lane[i]) memcpy(w->bank[u->d.bank] + u->d.off + i * whole, t, whole);
    }
}
static void unpack_any(warp *w, const uop *u) {
    set_exec(w, w->exec); // a full warp leaves `lane` as it was
    oper a = u->all[u->ndst];
    uint32_t whole = bytes_of(a.cls), part = whole / u->ndst;
    for (int i = 0; i < ORR_WARP; i++) {
        uint8_t t[16];
        memcpy(t, w->bank[a.bank] + a.off + i * whole, whole);
        for (uint32_t n = 0; n < u->ndst && w->lane[i]; n++) {
            oper o = u->all[n];
            uint8_t piece[16] = {0};
            if (o.none) continue;
            uint32_t have = bytes_of(o.cls);
            memcpy(piece, t + n * part, part < have ? part : have);
            memcpy(w->bank[o.bank] + o.off + i * have, piece, have);
        }
    }
}

handlers orr_pick_mov(const orr_kernel *k, const orr_inst *i, const char **why) {
    static const uint8_t bytes[ORR_CLASSES] = {0, 2, 4, 8, 16};
    if (i->op != ORR_OP_MOV || i->ndst < 1 || i->nsrc < 1) return (handlers){0};
    const orr_operand *d = orr_dst(k, i, 0), *a = orr_src(k, i, 0);
    if (i->ndst == 1 && i->nsrc == 1) {
        if (d->kind == ORR_K_NONE || d->cls != a->cls) {
            *why = "mov between registers of different widths";
            return (handlers){0};
        }
        switch (d->cls) {
        case ORR_P: return (handlers){mov_pred, mov_pred};
        case ORR_H: return PAIR(mov16);
        case ORR_W: return PAIR(mov32);
        case ORR_D: return PAIR(mov64);
        default: return (handlers){mov128, mov128};
        }
    }
    if ((i->ndst > 1 && i->nsrc > 1) || i->ndst > 16 || i->nsrc > 16) return (handlers){0};
    uint32_t n = i->ndst > 1 ? i->ndst : i->nsrc;
    uint8_t whole = bytes[i->ndst > 1 ? a->cls : d->cls];
    if (whole % n) {
        *why = "mov that splits a register unevenly";
        return (handlers){0};
    }
    bool plain = n == 2; // both parts in registers of their own width
    for (uint32_t j = 0; j < n; j++) {
        const orr_operand *o = i->ndst > 1 ? orr_dst(k, i, j) : orr_src(k, i, j);
        if (o->kind == ORR_K_NONE) {
            if (i->nsrc > 1) return (handlers){0};
            continue;
        }
        if (o->cls == ORR_P) return (handlers){0};
        if (bytes[o->cls] * 2 != whole) plain = false;
    }
    if (i->nsrc > 1) {
        if (plain && whole == 8) return PAIR(pack32);
        if (plain && whole == 4) return PAIR(pack16);
        return (handlers){pack_any, pack_any};
    }
    if (plain && whole == 8) return (handlers){unpack32, unpack32};
    if (plain && whole == 4) return (handlers){unpack16, unpack16};
    return (handlers){unpack_any, unpack_any};
}

// What compiled blocks do instead (lanewise.h).
LANEWISE(orr_lanes_mov, {mov32_full, LANE_COPY, 0}, {mov_pred, LANE_PRED, 0})
