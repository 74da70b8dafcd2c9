// Atomic operations on memory, and mbarrier objects.
//
// Active lanes go one after the other in lane order, each sees what the one before left. Plain reads
// and writes do: a kernel that touches global memory atomically runs its thread blocks on one host
// thread, and shared memory belongs to one block (exec.h). All but integer reductions whose order does not
// matter (isa/reduction.h): those come from several threads. Sections of the PTX manual: "atom", "red",
// "Parallel Synchronization and Communication Instructions: mbarrier".
#include <string.h>

#include "exec/block.h"
#include "exec/mbar.h"
#include "exec/ops/pair.h"
#include "exec/ops/softfp.h"
#include "isa/reduction.h"

typedef unsigned __int128 uint128;

// ---- where --------------------------------------------------------------------------------
// Is the lane's generic address in shared memory? Only float additions ask.
static bool in_shared(const warp *w, const uop *u, int lane) {
    if (u->inst->space != ORR_SPACE_GENERIC) return u->inst->space == ORR_SPACE_SHARED;
    uint64_t at = u->a.cls == ORR_W ? SRC_A(w, u, uint32_t)[lane] : SRC_A(w, u, uint64_t)[lane];
    return orr_generic_space(at + (uint64_t)(int64_t)u->inst->disp) == ORR_SPACE_SHARED;
}

// ---- what ---------------------------------------------------------------------------------
// Operations on the old value r and the operand s.
static uint32_t inc(uint32_t r, uint32_t s) { return r >= s ? 0 : r + 1; }
static uint32_t dec(uint32_t r, uint32_t s) { return r == 0 || r > s ? s : r - 1; }

// To nearest even. In global memory subnormals are flushed, operands and result; in shared they are not.
static uint32_t add_f32(uint32_t r, uint32_t s, bool shared) {
    return out32(f32_of(in32(r, !shared)) + f32_of(in32(s, !shared)), !shared, 0);
}
// Of two NaNs an H200 hands on the operand in global memory, as it is; in shared memory, where it is a loop
// around an addition, the old value, made quiet.
static uint64_t add_f64(uint64_t r, uint64_t s, bool shared) {
    const uint64_t quiet = shared ? 0x0008000000000000ull : 0;
    uint64_t sum = bits64(f64_of(r) + f64_of(s)), first = shared ? r : s, second = shared ? s : r;
    if (!nan64(sum)) return sum;
    return nan64(first) ? first | quiet : nan64(second) ? second | quiet : NAN64;
}
// The sum of two f16 or bf16 rounded to f32 first comes out the same: f32 has more than twice the bits.
static uint32_t sum_f32(uint32_t r, uint32_t s) { return bits32(f32_of(r) + f32_of(s)); }
#define NARROW(t)                                                                                            \
    static uint32_t add_##t(uint32_t r, uint32_t s) {                                                        \
        return t##_from_f32(sum_f32(f32_from_##t(r), f32_from_##t(s)));                                      \
    }                                                                                                        \
    static uint32_t min_##t(uint32_t r, uint32_t s) {                                                        \
        return t##_from_f32(min32(f32_from_##t(r), f32_from_##t(s), 0, 0));                                  \
    }                                                                                                        \
    static uint32_t max_##t(uint32_t r, uint32_t s) {                                                        \
        return t##_from_f32(max32(f32_from_##t(r), f32_from_##t(s), 0, 0));                                  \
    }
NARROW(f16)
NARROW(bf16)
#define BY_HALVES(f) (f(r & 0xffff, s & 0xffff) | f(r >> 16, s >> 16) << 16)

// ---- handlers -----------------------------------------------------------------------------
// atom and red alike: a red has no destination, an atom's may be the sink.
#define ATOM_LOOP(T, nelem, expr)                                                                            \
    uint8_t *host[ORR_WARP];                                                                                 \
    const int elems = nelem;                                                                                 \
    if (!orr_addresses(w, u, u->inst->space, (uint32_t)(sizeof(T) * (size_t)elems), host)) return;           \
    for (uint32_t m = w->exec; m; m &= m - 1) {                                                              \
        int i = orr_ffs(m);                                                                                  \
        for (int e = 0; e < elems; e++) {                                                                    \
            T *at = (T *)(void *)host[i] + e;                                                                \
            T r = *at, s = SRC_N(w, u, 1 + e, T)[i];                                                         \
            (void)s;                                                                                         \
            *at = (T)(expr);                                                                                 \
            if (e < u->ndst && !u->all[e].none) DST_N(w, u, e, T)[i] = r;                                    \
        }                                                                                                    \
    }
#define ATOM(name, T, expr)                                                                                  \
    static void name(warp *w, const uop *u) { ATOM_LOOP(T, 1, expr) }
#define ATOM_VEC(name, T, expr)                                                                              \
    ATOM(name, T, expr)                                                                                      \
    static void name##_vec(warp *w, const uop *u) { ATOM_LOOP(T, u->inst->vec, expr) }

ATOM(add32, uint32_t, r + s)
ATOM(add64, uint64_t, r + s)
ATOM(min_u32, uint32_t, r < s ? r : s)
ATOM(min_s32, uint32_t, (int32_t)r < (int32_t)s ? r : s)
ATOM(min_u64, uint64_t, r < s ? r : s)
ATOM(min_s64, uint64_t, (int64_t)r < (int64_t)s ? r : s)
ATOM(max_u32, uint32_t, r > s ? r : s)
ATOM(max_s32, uint32_t, (int32_t)r > (int32_t)s ? r : s)
ATOM(max_u64, uint64_t, r > s ? r : s)
ATOM(max_s64, uint64_t, (int64_t)r > (int64_t)s ? r : s)
ATOM(inc32, uint32_t, inc(r, s))
ATOM(dec32, uint32_t, dec(r, s))
ATOM(and32, uint32_t, r &s)
ATOM(and64, uint64_t, r &s)
ATOM(or32, uint32_t, r | s)
ATOM(or64, uint64_t, r | s)
ATOM(xor32, uint32_t, r ^ s)
ATOM(xor64, uint64_t, r ^ s)
ATOM(exch16, uint16_t, s)
ATOM(exch32, uint32_t, s)
ATOM(exch64, uint64_t, s)
ATOM(exch128, uint128, s)
ATOM(cas16, uint16_t, r == s ? SRC_C(w, u, uint16_t)[i] : r)
ATOM(cas32, uint32_t, r == s ? SRC_C(w, u, uint32_t)[i] : r)
ATOM(cas64, uint64_t, r == s ? SRC_C(w, u, uint64_t)[i] : r)
ATOM(cas128, uint128, r == s ? SRC_C(w, u, uint128)[i] : r)
ATOM(addf64, uint64_t, add_f64(r, s, in_shared(w, u, i)))
ATOM_VEC(addf32, uint32_t, add_f32(r, s, in_shared(w, u, i)))
ATOM_VEC(addf16, uint16_t, add_f16(r, s))
ATOM_VEC(minf16, uint16_t, min_f16(r, s))
ATOM_VEC(maxf16, uint16_t, max_f16(r, s))
ATOM_VEC(addbf16, uint16_t, add_bf16(r, s))
ATOM_VEC(minbf16, uint16_t, min_bf16(r, s))
ATOM_VEC(maxbf16, uint16_t, max_bf16(r, s))
ATOM_VEC(addf16x2, uint32_t, BY_HALVES(add_f16))
ATOM_VEC(minf16x2, uint32_t, BY_HALVES(min_f16))
ATOM_VEC(maxf16x2, uint32_t, BY_HALVES(max_f16))
ATOM_VEC(addbf16x2, uint32_t, BY_HALVES(add_bf16))
ATOM_VEC(minbf16x2, uint32_t, BY_HALVES(min_bf16))
ATOM_VEC(maxbf16x2, uint32_t, BY_HALVES(max_bf16))

// ---- reductions from several host threads ---------------------------------------------------
#define RED(name, T, operation)                                                                              \
    static void name(warp *w, const uop *u) {                                                                \
        uint8_t *host[ORR_WARP];                                                                             \
        if (!orr_addresses(w, u, u->inst->space, sizeof(T), host)) return;                                   \
        const T *s = SRC_B(w, u, T);                                                                         \
        for (uint32_t m = w->exec; m; m &= m - 1) {                                                          \
            int i = orr_ffs(m);                                                                              \
            T *at = (T *)(void *)host[i], v = s[i];                                                          \
            operation;                                                                                       \
        }                                                                                                    \
    }
#define FETCH(op) (void)__atomic_fetch_##op(at, v, __ATOMIC_RELAXED)
#define BETTER(S, cmp)                                                                                       \
    for (S old = (S)__atomic_load_n(at, __ATOMIC_RELAXED), seen = old; (S)v cmp old; old = seen) {           \
        if (__atomic_compare_exchange_n((S *)at, &seen, (S)v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))     \
            break;                                                                                           \
    }
RED(red_add32, uint32_t, FETCH(add))
RED(red_add64, uint64_t, FETCH(add))
RED(red_and32, uint32_t, FETCH(and))
RED(red_and64, uint64_t, FETCH(and))
RED(red_or32, uint32_t, FETCH(or))
RED(red_or64, uint64_t, FETCH(or))
RED(red_xor32, uint32_t, FETCH(xor))
RED(red_xor64, uint64_t, FETCH(xor))
RED(red_min_u32, uint32_t, BETTER(uint32_t, <))
RED(red_min_s32, uint32_t, BETTER(int32_t, <))
RED(red_min_u64, uint64_t, BETTER(uint64_t, <))
RED(red_min_s64, uint64_t, BETTER(int64_t, <))
RED(red_max_u32, uint32_t, BETTER(uint32_t, >))
RED(red_max_s32, uint32_t, BETTER(int32_t, >))
RED(red_max_u64, uint64_t, BETTER(uint64_t, >))
RED(red_max_s64, uint64_t, BETTER(int64_t, >))

// ---- one element, for bulk and remote reductions -------------------------------------------
static uint32_t reduce32(uint8_t op, bool is_signed, uint32_t r, uint32_t s) {
    switch (op) {
    case ORR_ATOM_ADD: return r + s;
    case ORR_ATOM_MIN: return (is_signed ? (int32_t)r < (int32_t)s : r < s) ? r : s;
    case ORR_ATOM_MAX: return (is_signed ? (int32_t)r > (int32_t)s : r > s) ? r : s;
    case ORR_ATOM_INC: return inc(r, s);
    case ORR_ATOM_DEC: return dec(r, s);
    case ORR_ATOM_AND: return r & s;
    case ORR_ATOM_OR: return r | s;
    default: return r ^ s;
    }
}
static uint64_t reduce64(uint8_t op, bool is_signed, uint64_t r, uint64_t s) {
    switch (op) {
    case ORR_ATOM_ADD: return r + s;
    case ORR_ATOM_MIN: return (is_signed ? (int64_t)r < (int64_t)s : r < s) ? r : s;
    case ORR_ATOM_MAX: return (is_signed ? (int64_t)r > (int64_t)s : r > s) ? r : s;
    case ORR_ATOM_AND: return r & s;
    case ORR_ATOM_OR: return r | s;
    default: return r ^ s;
    }
}
static uint32_t reduce_half(uint8_t op, bool bf16, uint32_t r, uint32_t s) {
    if (op == ORR_ATOM_ADD) return bf16 ? add_bf16(r, s) : add_f16(r, s);
    if (op == ORR_ATOM_MIN) return bf16 ? min_bf16(r, s) : min_f16(r, s);
    return bf16 ? max_bf16(r, s) : max_f16(r, s);
}

bool orr_reduce(uint8_t op, uint8_t type, bool flush, uint8_t *at, const void *with) {
    uint32_t r = 0, s = 0;
    uint64_t x, y;
    uint8_t bytes = orr_types[type].bytes;
    bool is_signed = orr_types[type].is_signed, is_float = orr_types[type].is_float;
    if (op > ORR_ATOM_XOR || (is_float && op > ORR_ATOM_MAX)) return false;
    if (bytes == 8) {
        memcpy(&x, at, 8);
        memcpy(&y, with, 8);
        if (is_float ? op != ORR_ATOM_ADD : op == ORR_ATOM_INC || op == ORR_ATOM_DEC) return false;
        x = is_float ? add_f64(x, y, false) : reduce64(op, is_signed, x, y);
        memcpy(at, &x, 8);
        return true;
    }
    if (bytes != 4 && bytes != 2) return false;
    memcpy(&r, at, bytes);
    memcpy(&s, with, bytes);
    if (is_float && bytes == 4) {
        if (op != ORR_ATOM_ADD) return false;
        r = add_f32(r, s, !flush);
    } else if (is_float) {
        r = reduce_half(op, type == ORR_T_BF16, r, s);
    } else if (bytes == 4) {
        r = reduce32(op, is_signed, r, s);
    } else {
        return false;
    }
    memcpy(at, &r, bytes);
    return true;
}

// ---- mbarrier -----------------------------------------------------------------------------
// A state token is the object as it was before the arrival. One lane's operation; x is the instruction's
// count, if it has one.
static const char *mbar_do(const orr_inst *in, mbar *b, uint32_t x, bool has_x) {
    uint32_t count = has_x ? x : 1;
    switch (in->sub) {
    case ORR_MBAR_INIT:
        if (count == 0 || count > MBAR_MAX) return "an mbarrier's count must be 1 to 1048575";
        *b = (mbar){count, count, 0, 0};
        return NULL;
    case ORR_MBAR_INVAL: *b = (mbar){0}; return NULL;
    case ORR_MBAR_ARRIVE:
    case ORR_MBAR_ARRIVE_DROP:
        if (!count) return "an arrival at the mbarrier for nobody";
        return mbar_step(b, count, 0, in->sub == ORR_MBAR_ARRIVE_DROP);
    case ORR_MBAR_EXPECT_TX: return mbar_step(b, 0, x, false);
    case ORR_MBAR_COMPLETE_TX: return mbar_step(b, 0, -(int64_t)x, false);
    default: return mbar_step(b, 1, x, false); // arrive.expect_tx
    }
}

static void mbarrier(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    if (!orr_addresses(w, u, u->inst->space, 8, host)) return;
    bool has_x = u->nsrc > 1 && !u->b.none, token = u->ndst && !u->d.none;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        uint64_t *at = (uint64_t *)(void *)host[i], old = *at;
        mbar b = mbar_open(old);
        const char *wrong = mbar_do(u->inst, &b, has_x ? SRC_B(w, u, uint32_t)[i] : 0, has_x);
        if (wrong) {
            orr_fault(w, u, i, "%s", wrong);
            return;
        }
        *at = mbar_close(b);
        if (u->inst->sub >= ORR_MBAR_ARRIVE) orr_mbar_done(w, host[i], (old ^ *at) >> 63);
        if (token) DST(w, u, uint64_t)[i] = old;
    }
}

// Has the phase of the token, or of the given parity, completed? Where try_wait waits is in run/arrive.c.
static void mbar_wait(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    uint32_t done = 0;
    size_t head = w->trace ? w->trace->n : 0;
    bool parity = u->inst->cmp == 1;
    if (!orr_addresses(w, u, u->inst->space, 8, host)) return;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        uint32_t now = mbar_open(*(const uint64_t *)(void *)host[i]).phase;
        uint32_t then = parity ? SRC_B(w, u, uint32_t)[i] & 1 : mbar_open(SRC_B(w, u, uint64_t)[i]).phase;
        if (now != then) done |= 1u << i;
    }
    set_pred(w, u->d, done);
    orr_mbar_found(w, u, head, host, done);
}

static void mbar_pending(warp *w, const uop *u) {
    uint32_t *d = DST(w, u, uint32_t);
    const uint64_t *state = SRC_A(w, u, uint64_t);
    const uint32_t *lane = active_lanes(w);
    LANES { d[i] = BLEND(uint32_t, d[i], mbar_at(state[i], MBAR_PENDING), lane[i]); }
}

// cp.async.mbarrier.arrive: the copies are already done (cp.async copies at once), so the arrival comes
// now. Without .noinc the pending count first grows by the arrival that then takes it back.
static void cp_arrive(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    if (!orr_addresses(w, u, u->inst->space, 8, host)) return;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        uint64_t *at = (uint64_t *)(void *)host[i], old = *at;
        if (!(u->inst->mods & ORR_M_NOINC)) {
            orr_mbar_done(w, host[i], false);
            continue;
        }
        mbar b = mbar_open(old);
        const char *wrong = mbar_step(&b, 1, 0, false);
        if (wrong) {
            orr_fault(w, u, i, "%s", wrong);
            return;
        }
        *at = mbar_close(b);
        orr_mbar_done(w, host[i], (old ^ *at) >> 63);
    }
}

// ---- choosing -----------------------------------------------------------------------------
#define NONE                                                                                                 \
    { 0 }
typedef struct by_type { // a row of handlers for one operation
    handlers u32, s32, u64, s64;
} by_type;

// One whose order does not matter, at a place that may be another host thread's too.
static handlers pick_reduction(const orr_inst *i) {
    static const by_type rows[] = {
        [ORR_ATOM_ADD] = {BOTH(red_add32), BOTH(red_add32), BOTH(red_add64), BOTH(red_add64)},
        [ORR_ATOM_MIN] = {BOTH(red_min_u32), BOTH(red_min_s32), BOTH(red_min_u64), BOTH(red_min_s64)},
        [ORR_ATOM_MAX] = {BOTH(red_max_u32), BOTH(red_max_s32), BOTH(red_max_u64), BOTH(red_max_s64)},
        [ORR_ATOM_AND] = {BOTH(red_and32), BOTH(red_and32), BOTH(red_and64), BOTH(red_and64)},
        [ORR_ATOM_OR] = {BOTH(red_or32), BOTH(red_or32), BOTH(red_or64), BOTH(red_or64)},
        [ORR_ATOM_XOR] = {BOTH(red_xor32), BOTH(red_xor32), BOTH(red_xor64), BOTH(red_xor64)},
    };
    switch (slot_of(i->type)) {
    case SLOT_U32: return rows[i->sub].u32;
    case SLOT_S32: return rows[i->sub].s32;
    case SLOT_U64: return rows[i->sub].u64;
    default: return rows[i->sub].s64;
    }
}

static handlers pick_integer(const orr_inst *i) {
    static const by_type rows[] = {
        [ORR_ATOM_ADD] = {BOTH(add32), BOTH(add32), BOTH(add64), BOTH(add64)},
        [ORR_ATOM_MIN] = {BOTH(min_u32), BOTH(min_s32), BOTH(min_u64), BOTH(min_s64)},
        [ORR_ATOM_MAX] = {BOTH(max_u32), BOTH(max_s32), BOTH(max_u64), BOTH(max_s64)},
        [ORR_ATOM_INC] = {BOTH(inc32), NONE, NONE, NONE},
        [ORR_ATOM_DEC] = {BOTH(dec32), NONE, NONE, NONE},
        [ORR_ATOM_AND] = {BOTH(and32), BOTH(and32), BOTH(and64), BOTH(and64)},
        [ORR_ATOM_OR] = {BOTH(or32), BOTH(or32), BOTH(or64), BOTH(or64)},
        [ORR_ATOM_XOR] = {BOTH(xor32), BOTH(xor32), BOTH(xor64), BOTH(xor64)},
        [ORR_ATOM_EXCH] = {BOTH(exch32), BOTH(exch32), BOTH(exch64), BOTH(exch64)},
        [ORR_ATOM_CAS] = {BOTH(cas32), BOTH(cas32), BOTH(cas64), BOTH(cas64)},
    };
    if (i->sub > ORR_ATOM_CAS) return (handlers){0};
    if (orr_reduction(i) && i->space != ORR_SPACE_SHARED) return pick_reduction(i);
    switch (slot_of(i->type)) {
    case SLOT_U32: return rows[i->sub].u32;
    case SLOT_S32: return rows[i->sub].s32;
    case SLOT_U64: return rows[i->sub].u64;
    case SLOT_S64: return rows[i->sub].s64;
    default: break;
    }
    if (i->type == ORR_T_B16 && i->sub == ORR_ATOM_CAS) return BOTH(cas16);
    if (i->type == ORR_T_B16 && i->sub == ORR_ATOM_EXCH) return BOTH(exch16);
    if (i->type == ORR_T_B128 && i->sub == ORR_ATOM_CAS) return BOTH(cas128);
    if (i->type == ORR_T_B128 && i->sub == ORR_ATOM_EXCH) return BOTH(exch128);
    return (handlers){0};
}

#define FLOATS(t)                                                                                            \
    {                                                                                                        \
        {BOTH(add##t), BOTH(min##t), BOTH(max##t)}, {                                                        \
            BOTH(add##t##_vec), BOTH(min##t##_vec), BOTH(max##t##_vec)                                       \
        }                                                                                                    \
    }
static handlers pick_float(const orr_inst *i) {
    static const handlers f16[2][3] = FLOATS(f16), bf16[2][3] = FLOATS(bf16);
    static const handlers f16x2[2][3] = FLOATS(f16x2), bf16x2[2][3] = FLOATS(bf16x2);
    bool vec = i->vec > 1;
    if (i->sub == ORR_ATOM_EXCH && !vec) { // bit patterns
        if (i->type == ORR_T_F32) return BOTH(exch32);
        return i->type == ORR_T_F64 ? BOTH(exch64) : (handlers){0};
    }
    if (i->sub > ORR_ATOM_MAX) return (handlers){0};
    switch (i->type) {
    case ORR_T_F32: return i->sub != ORR_ATOM_ADD ? (handlers){0} : vec ? BOTH(addf32_vec) : BOTH(addf32);
    case ORR_T_F64: return i->sub != ORR_ATOM_ADD || vec ? (handlers){0} : BOTH(addf64);
    case ORR_T_F16: return f16[vec][i->sub];
    case ORR_T_BF16: return bf16[vec][i->sub];
    case ORR_T_F16X2: return f16x2[vec][i->sub];
    case ORR_T_BF16X2: return bf16x2[vec][i->sub];
    default: return (handlers){0};
    }
}

// Destinations: as many as elements (or none, for red), of the type's class or the sink. Sources: an
// address, the values, and perhaps a cache policy, which changes nothing.
static bool atom_fits(const orr_kernel *k, const orr_inst *i) {
    uint8_t bytes = orr_types[i->type].bytes, cls = bytes == 2   ? ORR_H
                                                    : bytes == 4 ? ORR_W
                                                    : bytes == 8 ? ORR_D
                                                                 : ORR_Q;
    int values = i->vec > 1 ? i->vec : i->sub == ORR_ATOM_CAS ? 2 : 1, elems = i->vec > 1 ? i->vec : 1;
    if (i->ndst > elems || (i->op == ORR_OP_RED && i->ndst)) return false;
    if (i->nsrc < 1 + values || i->nsrc > 2 + values) return false;
    for (int n = 0; n < i->ndst; n++) {
        const orr_operand *o = orr_dst(k, i, n);
        if (o->kind != ORR_K_NONE && (o->kind != ORR_K_REG || o->cls != cls)) return false;
    }
    for (int n = 0; n < values; n++)
        if (orr_src(k, i, 1 + n)->kind == ORR_K_NONE || orr_src(k, i, 1 + n)->cls != cls) return false;
    return true;
}

static bool has_address(const orr_kernel *k, const orr_inst *i) {
    if (!i->nsrc || orr_src(k, i, 0)->kind == ORR_K_NONE) return false;
    return orr_src(k, i, 0)->cls == ORR_D || orr_src(k, i, 0)->cls == ORR_W;
}

static handlers pick_atom(const orr_kernel *k, const orr_inst *i, const char **why) {
    handlers h = i->vec > 1 || orr_types[i->type].is_float ? pick_float(i) : pick_integer(i);
    if (!h.full || i->vec > 8) return no_handlers(why, BAD_TYPE);
    return has_address(k, i) && atom_fits(k, i) ? h : no_handlers(why, BAD_OPERANDS);
}

static handlers pick_mbarrier(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (i->sub > ORR_MBAR_PENDING_COUNT) return no_handlers(why, BAD_TYPE);
    if (i->sub == ORR_MBAR_PENDING_COUNT)
        return shape_fits(k, i, "W=D") ? BOTH(mbar_pending) : no_handlers(why, BAD_OPERANDS);
    if (!has_address(k, i)) return no_handlers(why, BAD_OPERANDS);
    const orr_operand *x = i->nsrc > 1 ? orr_src(k, i, 1) : NULL;
    if (i->sub == ORR_MBAR_TEST_WAIT || i->sub == ORR_MBAR_TRY_WAIT) {
        bool fits = i->ndst == 1 && orr_dst(k, i, 0)->kind == ORR_K_REG && orr_dst(k, i, 0)->cls == ORR_P;
        fits = fits && x && x->kind != ORR_K_NONE && x->cls == (i->cmp == 1 ? ORR_W : ORR_D);
        return fits ? BOTH(mbar_wait) : no_handlers(why, BAD_OPERANDS);
    }
    bool needs_x = i->sub != ORR_MBAR_INVAL && i->sub != ORR_MBAR_ARRIVE && i->sub != ORR_MBAR_ARRIVE_DROP;
    bool absent = !x || x->kind == ORR_K_NONE;
    bool fits = absent ? !needs_x : x->cls == ORR_W;
    if (i->ndst && orr_dst(k, i, 0)->kind != ORR_K_NONE)
        fits = fits && orr_dst(k, i, 0)->kind == ORR_K_REG && orr_dst(k, i, 0)->cls == ORR_D;
    return fits ? BOTH(mbarrier) : no_handlers(why, BAD_OPERANDS);
}

handlers orr_pick_atomic(const orr_kernel *k, const orr_inst *i, const char **why) {
    switch (i->op) {
    case ORR_OP_ATOM:
    case ORR_OP_RED: return pick_atom(k, i, why);
    case ORR_OP_MBARRIER: return pick_mbarrier(k, i, why);
    case ORR_OP_CPMBAR: return has_address(k, i) ? BOTH(cp_arrive) : no_handlers(why, BAD_OPERANDS);
    default: return (handlers){0};
    }
}
