// Private to int.c and logic.c: what is known when an instruction is translated, and handlers that
// make a row and a flag.
#ifndef ORR_SASS_INT_H
#define ORR_SASS_INT_H

#include <string.h>

#include "exec/sass/translate.h"
#include "exec/ops/pair.h"

bool orr_sass_logic(translator *m); // logic.c: bits, moves, predicates, selections; asked by orr_sass_int

// Is the row the same number in every launch of this translation: RZ, an immediate, a constant?
static inline bool fixed(const translator *m, oper o, uint32_t *value) {
    if (o.bank != BANK_CONST) return false;
    memcpy(value, m->p->pool.bytes + o.off, 4);
    return true;
}
static inline bool fixed_is(const translator *m, oper o, uint32_t value) {
    uint32_t v;
    return fixed(m, o, &v) && v == value;
}
// Is the predicate always `value`?
static inline bool always(const translator *m, oper o, bool value) {
    uint32_t v;
    return fixed(m, o, &v) && ((v != 0) != o.neg) == value;
}
static inline bool zero(const translator *m, oper o) { return fixed_is(m, o, 0); }

static inline bool give(translator *m, handlers h, int ndst, int nsrc, const oper *opers) {
    m_emit(m, h, ndst, nsrc, opers);
    return true;
}
static inline bool give_imm(translator *m, handlers h, uint32_t imm, int ndst, int nsrc, const oper *opers) {
    m_emit(m, h, ndst, nsrc, opers)->imm = imm;
    return true;
}
static inline bool cannot(translator *m, const char *why) {
    m->why = why;
    return false;
}

// A row, and a predicate as second result: NAME_lanes(w, u, d) writes all lanes of d and returns the mask. It
// may be handed the destination itself, since a lane's sources are read before the lane is written.
#define FLAGGED(name)                                                                                        \
    static void name##_full(warp *w, const uop *u) {                                                         \
        uint32_t m_ = name##_lanes(w, u, DST(w, u, uint32_t));                                               \
        set_pred(w, u->all[1], m_);                                                                          \
    }                                                                                                        \
    static void name##_masked(warp *w, const uop *u) {                                                       \
        uint32_t out[ORR_WARP], m_ = name##_lanes(w, u, out), *d = DST(w, u, uint32_t);                      \
        const uint32_t *lane = w->lane;                                                                      \
        LANES { d[i] = BLEND(uint32_t, d[i], out[i], lane[i]); }                                             \
        set_pred(w, u->all[1], m_);                                                                          \
    }

#endif
