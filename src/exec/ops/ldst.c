// Loads, stores and asynchronous copies, and the translation of addresses for all memory operations.
//
// Global addresses are checked against the allocation that the same instruction touched last, all
// lanes in one vector loop; only when that fails are lanes looked up one by one. When the 32 lanes
// turn out to be at one place or side by side, the data moves as one piece (place.h).
#include <string.h>

#include "exec/ops/pair.h"
#include "exec/ops/place.h"
#include "exec/lanewise.h"

// ---- addresses ------------------------------------------------------------------------------
static void bad_address(warp *w, const uop *u, int lane, uint64_t addr, uint8_t space, uint32_t bytes) {
    char where[160];
    const decoded *p = w->tb->prog;
    switch (space) {
    case ORR_SPACE_SHARED:
        snprintf(where, sizeof where, "the block has %u bytes of shared memory", p->shared_bytes);
        break;
    case ORR_SPACE_LOCAL:
        snprintf(where, sizeof where, "the thread has %u bytes of local memory", p->local_bytes);
        break;
    case ORR_SPACE_PARAM:
        snprintf(where, sizeof where, "the kernel has %u bytes of parameters", p->kernel->param_bytes);
        break;
    default: orr_mem_describe(w->worker->mem, addr, where); break;
    }
    uint16_t flags = orr_ops[u->inst->op].flags;
    const char *what = flags & ORR_F_ATOMIC                           ? "atomic access"
                       : flags & ORR_F_STORE && !(flags & ORR_F_LOAD) ? "store"
                                                                      : "load";
    orr_fault_as(ORR_FAULT_ADDRESS, w, u, lane, "%s of %u bytes at 0x%llx in %s memory is out of bounds: %s",
                 what, bytes, (unsigned long long)addr, orr_space_name[space], where);
}

static uint8_t *local_of(const warp *w, int lane) {
    return w->tb->local + (size_t)(w->index * ORR_WARP + (uint32_t)lane) * w->tb->prog->local_bytes;
}

// One lane, any space. NULL after a fault.
static uint8_t *translate(warp *w, const uop *u, int lane, uint64_t addr, uint8_t space, uint32_t bytes) {
    const decoded *p = w->tb->prog;
    if (addr & (bytes - 1)) {
        orr_fault_as(ORR_FAULT_ALIGN, w, u, lane,
                     "address 0x%llx is not a multiple of %u, the size of the access",
                     (unsigned long long)addr, bytes);
        return NULL;
    }
    uint64_t asked = addr;
    if (space == ORR_SPACE_GENERIC && orr_generic_space(addr) != ORR_SPACE_GLOBAL) {
        space = orr_generic_space(addr);
        addr -= orr_generic_window(space);
    }
    uint8_t *base;
    uint64_t size;
    switch (space) {
    case ORR_SPACE_SHARED: {
        const tblock *owner = orr_cluster_block(w->tb, addr, &addr);
        if (!owner) {
            orr_fault_as(
                ORR_FAULT_ADDRESS, w, u, lane,
                "address 0x%llx is in the shared memory of a thread block that the cluster does not have "
                "or that has ended",
                (unsigned long long)asked);
            return NULL;
        }
        base = owner->shared;
        size = p->shared_bytes;
        break;
    }
    case ORR_SPACE_LOCAL:
        base = local_of(w, lane);
        size = p->local_bytes;
        break;
    case ORR_SPACE_PARAM:
        base = p->launch->params;
        size = p->kernel->param_bytes;
        break;
    default: {
        const range *r = orr_mem_find(w->worker->mem, addr);
        if (!r || bytes > r->size - (addr - r->lo)) {
            uint8_t *stray = orr_mem_stray(w->worker->mem, addr, bytes);
            if (stray) return stray;
            bad_address(w, u, lane, asked, space, bytes);
            return NULL;
        }
        w->worker->range[u->mem] = *r;
        return orr_mem_at(w->worker->mem, addr);
    }
    }
    if (addr > size || bytes > size - addr) {
        bad_address(w, u, lane, space == u->inst->space ? addr : asked, space, bytes);
        return NULL;
    }
    return base + addr;
}

// base + disp for every lane. An absent base means the function's frame (local).
static void effective(const warp *w, oper base, int64_t disp, uint64_t addr[ORR_WARP]) {
    if (base.none) {
        uint64_t frame = w->frames.at[w->frag->frame].local;
        LANES addr[i] = frame + (uint64_t)disp;
    } else if (base.cls == ORR_W) {
        const uint32_t *b = OPER(w, base, uint32_t);
        uint32_t d = (uint32_t)disp;
        LANES addr[i] = b[i] + d;
    } else {
        const uint64_t *b = OPER(w, base, uint64_t);
        LANES addr[i] = b[i] + (uint64_t)disp;
    }
}

static bool translate_each(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint8_t space,
                           uint32_t bytes, uint8_t *host[ORR_WARP]) {
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = orr_ffs(m);
        host[lane] = translate(w, u, lane, addr[lane], space, bytes);
        if (!host[lane]) return false;
    }
    return true;
}

typedef struct piece { // of memory: [lo, lo + size) is at `at` here
    uint64_t lo, size;
    uint8_t *at;
} piece;

// All active lanes against one piece; host[i] = at + (addr[i] - lo) is only right when true. `lane`: NULL
// when all are active.
static inline bool all_inside(const uint64_t addr[ORR_WARP], const uint32_t *lane, piece p, uint32_t bytes,
                              uint8_t *host[ORR_WARP]) {
    if (p.size < bytes) return false;
    uint64_t lo = p.lo, limit = p.size - bytes, bad = 0, align = bytes - 1;
    uintptr_t *out = (uintptr_t *)host, to = (uintptr_t)p.at - lo;
    if (!lane) {
        LANES {
            uint64_t past = addr[i] - lo;
            bad |= (past > limit ? 1u : 0u) | (addr[i] & align);
            out[i] = to + addr[i];
        }
    } else {
        LANES {
            uint64_t past = addr[i] - lo, on = (uint64_t)(int64_t)(int32_t)lane[i];
            bad |= ((past > limit ? 1u : 0u) | (addr[i] & align)) & on;
            out[i] = to + addr[i];
        }
    }
    return !bad;
}

static bool resolve(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint8_t space, uint32_t bytes,
                    uint8_t *host[ORR_WARP]) {
    const uint32_t *lane = w->exec == FULL ? NULL : w->lane;
    bool ok;
    const decoded *p = w->tb->prog;
    switch (space) {
    case ORR_SPACE_SHARED:
        ok = all_inside(addr, lane, (piece){w->tb->tag, p->shared_bytes, w->tb->shared}, bytes, host);
        break;
    case ORR_SPACE_LOCAL:
    case ORR_SPACE_PARAM: ok = false; break;
    default: {
        range r = w->worker->range[u->mem];
        ok = r.size && // empty until the instruction's first access
             all_inside(addr, lane, (piece){r.lo, r.size, orr_mem_at(w->worker->mem, r.lo)}, bytes, host);
        break;
    }
    }
    return ok || translate_each(w, u, addr, space, bytes, host);
}

bool orr_addresses_at(warp *w, const uop *u, const uint64_t addr[ORR_WARP], uint8_t space, uint32_t bytes,
                      uint8_t *host[ORR_WARP]) {
    if (w->step && (w->step->values || w->step->addr))
        return orr_step_address(w, u, addr, space, bytes, host) == STEP_AGAIN;
    if (!resolve(w, u, addr, space, bytes, host)) return false;
    bool shared = space == ORR_SPACE_SHARED || space == ORR_SPACE_GENERIC;
    if (shared && (w->tb->flights.n || w->tb->cluster) && !orr_copies_apart(w, u, bytes, host)) return false;
    if (w->trace && u->traced && w->tb->cluster && space == ORR_SPACE_SHARED) {
        uint64_t own[ORR_WARP]; // what mapa made of the block's own addresses is one of them
        uint32_t tag = orr_cluster_tag(w->tb, w->tb->rank);
        LANES own[i] = (addr[i] & 0xff000000) == tag ? (addr[i] & 0xffffff) + w->tb->tag : addr[i];
        orr_trace_put_access(w->trace, w->exec, own);
    } else if (w->trace && u->traced) {
        orr_trace_put_access(w->trace, w->exec, addr);
    }
    return !w->step || orr_step_address(w, u, addr, space, bytes, host) != STEP_LATER;
}

bool orr_addresses(warp *w, const uop *u, uint8_t space, uint32_t bytes, uint8_t *host[ORR_WARP]) {
    uint64_t addr[ORR_WARP];
    effective(w, u->a, u->inst->disp, addr);
    return orr_addresses_at(w, u, addr, space, bytes, host);
}

static bool long_way(warp *w, const uop *u, uint32_t bytes, uint8_t *host[ORR_WARP]) {
    const orr_inst *i = u->inst;
    if (!u->pair) return orr_addresses(w, u, i->space, bytes, host);
    uint64_t addr[ORR_WARP];
    const uint32_t *lo = SRC_A(w, u, uint32_t), *hi = SRC_N(w, u, u->nsrc - 1, uint32_t);
    LANES addr[i] = ((uint64_t)hi[i] << 32 | lo[i]) + (uint64_t)(int64_t)u->inst->disp;
    return orr_addresses_at(w, u, addr, i->space, bytes, host);
}

// All lanes of the accesses of a group, where that is easily said and none is out of bounds; all lanes are
// active.
void orr_spot_find(warp *w, const spot_group *g, spot *s) {
    const uop *u = g->u;
    row_shape *r = &w->shapes.at[u->shape];
    if (!shape_found(w, u)) look(w, u, r);
    bool plain = r->kind == SHAPE_REGULAR || r->kind == SHAPE_ROWS;
    s->step = SPOT_NONE;
    if (!plain || (r->step != 0 && r->step != 4 && r->step != 16)) return;
    if (g->least < r->from || g->most > r->to) return;
    if ((r->first | r->low | g->bits) & g->align) return;
    if (u->way == WAY_SHARED && w->tb->flights.n) return;
    s->step = r->step;
    s->at = (uint8_t *)(r->at + r->first);
    s->down = s->at + (r->kind == SHAPE_ROWS ? r->down : 16 * (int64_t)(int32_t)r->step);
}

void orr_spot_note(warp *w, const uop *u) {
    if (w->trace && u->traced) note_shape(w, u, &w->shapes.at[u->shape]);
}

// Register e that a load writes.
#define INTO(e, D) ((e) ? DST_N(w, u, e, D) : DST(w, u, D))

// ---- loads ----------------------------------------------------------------------------------
// LOAD(name, T, D): memory holds T, the destination register's class holds D. One handler for each
// number of elements, because the loop over them must be known to the compiler.
typedef unsigned __int128 u128;

#define LOAD_N(name, T, D, N)                                                                                \
    static __attribute__((noinline)) void name##_v##N##_each(warp *w, const uop *u) {                        \
        uint8_t *host[ORR_WARP];                                                                             \
        if (!locate_each(w, u, sizeof(T) * N, host)) return;                                                 \
        D *to[N];                                                                                            \
        for (int e = 0; e < N; e++) to[e] = INTO(e, D);                                                      \
        for (uint32_t m = w->exec; m; m &= m - 1) {                                                          \
            int i = orr_ffs(m);                                                                              \
            const T *from = (const T *)(const void *)host[i];                                                \
            for (int e = 0; e < N; e++) to[e][i] = (D)from[e];                                               \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_v##N(warp *w, const uop *u) {                                                         \
        place p;                                                                                             \
        const T *from;                                                                                       \
        D *to[N];                                                                                            \
        const uint32_t *lane = w->lane;                                                                      \
        switch (locate(w, u, sizeof(T) * N, &p)) {                                                           \
        case PLACE_ADJACENT:                                                                                 \
            from = (const T *)(const void *)p.at;                                                            \
            for (int e = 0; e < N; e++) {                                                                    \
                D *d = INTO(e, D);                                                                           \
                LANES d[i] = (D)from[i * N + e];                                                             \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_ADJACENT_SOME:                                                                            \
            from = (const T *)(const void *)p.at;                                                            \
            for (int e = 0; e < N; e++) {                                                                    \
                D *d = INTO(e, D);                                                                           \
                LANES d[i] = BLEND(D, d[i], (D)from[i * N + e], lane[i]);                                    \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_SAME:                                                                                     \
            from = (const T *)(const void *)p.at;                                                            \
            for (int e = 0; e < N; e++) {                                                                    \
                D *d = INTO(e, D), v = (D)from[e];                                                           \
                LANES d[i] = v;                                                                              \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_SAME_SOME:                                                                                \
            from = (const T *)(const void *)p.at;                                                            \
            for (int e = 0; e < N; e++) {                                                                    \
                D *d = INTO(e, D), v = (D)from[e];                                                           \
                LANES d[i] = BLEND(D, d[i], v, lane[i]);                                                     \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_ROWS:                                                                                     \
            for (int row = 0; row < 2; row++) {                                                              \
                from = (const T *)(const void *)(p.at + (row ? p.down : 0));                                 \
                for (int e = 0; e < N; e++) {                                                                \
                    D *d = INTO(e, D) + 16 * row;                                                            \
                    if (!p.step) {                                                                           \
                        D v = (D)from[e];                                                                    \
                        for (int i = 0; i < 16; i++) d[i] = v;                                               \
                    } else if (N == 1 && sizeof(T) == sizeof(D))                                             \
                        memcpy(d, from, 16 * sizeof(D));                                                     \
                    else                                                                                     \
                        for (int i = 0; i < 16; i++) d[i] = (D)from[i * N + e];                              \
                }                                                                                            \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_OFFSETS:                                                                                  \
            for (int e = 0; e < N; e++) to[e] = INTO(e, D);                                                  \
            for (int i = 0; i < ORR_WARP; i++) {                                                             \
                from = (const T *)(const void *)(p.at + p.words[i]);                                         \
                for (int e = 0; e < N; e++) to[e][i] = (D)from[e];                                           \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_LANES:                                                                                    \
            for (int e = 0; e < N; e++) to[e] = INTO(e, D);                                                  \
            for (uint32_t m = w->exec; m; m &= m - 1) {                                                      \
                int i = orr_ffs(m);                                                                          \
                from = (const T *)(const void *)(p.at + p.words[i]);                                         \
                for (int e = 0; e < N; e++) to[e][i] = (D)from[e];                                           \
            }                                                                                                \
            return;                                                                                          \
        default: name##_v##N##_each(w, u); return;                                                           \
        }                                                                                                    \
    }
#define LOAD(name, T, D) LOAD_N(name, T, D, 1) LOAD_N(name, T, D, 2) LOAD_N(name, T, D, 4)

LOAD(ld_u8_h, uint8_t, uint16_t)
LOAD(ld_s8_h, int8_t, uint16_t)
LOAD(ld_u8_w, uint8_t, uint32_t)
LOAD(ld_s8_w, int8_t, uint32_t)
LOAD(ld_u8_d, uint8_t, uint64_t)
LOAD(ld_s8_d, int8_t, uint64_t)
LOAD(ld_u16_h, uint16_t, uint16_t)
LOAD(ld_u16_w, uint16_t, uint32_t)
LOAD(ld_s16_w, int16_t, uint32_t)
LOAD(ld_u16_d, uint16_t, uint64_t)
LOAD(ld_s16_d, int16_t, uint64_t)
LOAD(ld_u32_w, uint32_t, uint32_t)
LOAD(ld_u32_d, uint32_t, uint64_t)
LOAD(ld_s32_d, int32_t, uint64_t)
LOAD(ld_u64_d, uint64_t, uint64_t)
LOAD_N(ld_u32_w, uint32_t, uint32_t, 8)
LOAD_N(ld_b128_q, u128, u128, 1)

// The kernel's parameters at a known offset are the same for all lanes.
static uint64_t constant_address(const warp *w, const uop *u) {
    uint64_t base = u->a.cls == ORR_W ? *SRC_A(w, u, uint32_t) : *SRC_A(w, u, uint64_t);
    return base + (uint64_t)(int64_t)u->inst->disp;
}

#define LOAD_PARAM(name, T, D)                                                                               \
    static void name(warp *w, const uop *u) {                                                                \
        uint64_t at = constant_address(w, u);                                                                \
        for (int e = 0; e < u->ndst; e++) {                                                                  \
            if (!translate(w, u, orr_ffs(w->exec), at, ORR_SPACE_PARAM, sizeof(T))) return;                  \
            T v;                                                                                             \
            memcpy(&v, w->tb->prog->launch->params + at, sizeof v);                                          \
            D *d = INTO(e, D), x = (D)v;                                                                     \
            const uint32_t *lane = w->lane;                                                                  \
            if (w->exec == FULL) {                                                                           \
                LANES d[i] = x;                                                                              \
            } else {                                                                                         \
                LANES d[i] = lane[i] ? x : d[i];                                                             \
            }                                                                                                \
            at += sizeof(T);                                                                                 \
        }                                                                                                    \
    }
LOAD_PARAM(param_u8_h, uint8_t, uint16_t)
LOAD_PARAM(param_s8_h, int8_t, uint16_t)
LOAD_PARAM(param_u8_w, uint8_t, uint32_t)
LOAD_PARAM(param_s8_w, int8_t, uint32_t)
LOAD_PARAM(param_u16_h, uint16_t, uint16_t)
LOAD_PARAM(param_u16_w, uint16_t, uint32_t)
LOAD_PARAM(param_s16_w, int16_t, uint32_t)
LOAD_PARAM(param_u32_w, uint32_t, uint32_t)
LOAD_PARAM(param_u32_d, uint32_t, uint64_t)
LOAD_PARAM(param_s32_d, int32_t, uint64_t)
LOAD_PARAM(param_u64_d, uint64_t, uint64_t)

// ---- stores ---------------------------------------------------------------------------------
// The values are the sources after the address. Lanes that store to the same place: the last wins.
#define STORE_N(name, T, S, N)                                                                               \
    static __attribute__((noinline)) void name##_v##N##_each(warp *w, const uop *u) {                        \
        uint8_t *host[ORR_WARP];                                                                             \
        const S *from[N];                                                                                    \
        if (!locate_each(w, u, sizeof(T) * N, host)) return;                                                 \
        for (int e = 0; e < N; e++) from[e] = SRC_N(w, u, 1 + e, S);                                         \
        for (uint32_t m = w->exec; m; m &= m - 1) {                                                          \
            int i = orr_ffs(m);                                                                              \
            T *to = (T *)(void *)host[i];                                                                    \
            for (int e = 0; e < N; e++) to[e] = (T)from[e][i];                                               \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_v##N(warp *w, const uop *u) {                                                         \
        place p;                                                                                             \
        T *to;                                                                                               \
        switch (locate(w, u, sizeof(T) * N, &p)) {                                                           \
        case PLACE_ADJACENT:                                                                                 \
            to = (T *)(void *)p.at;                                                                          \
            for (int e = 0; e < N; e++) {                                                                    \
                const S *s = SRC_N(w, u, 1 + e, S);                                                          \
                LANES to[i * N + e] = (T)s[i];                                                               \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_ADJACENT_SOME:                                                                            \
            to = (T *)(void *)p.at;                                                                          \
            for (uint32_t m = w->exec; m; m &= m - 1) {                                                      \
                int i = orr_ffs(m);                                                                          \
                for (int e = 0; e < N; e++) to[i * N + e] = (T)SRC_N(w, u, 1 + e, S)[i];                     \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_SAME:                                                                                     \
        case PLACE_SAME_SOME:                                                                                \
            to = (T *)(void *)p.at;                                                                          \
            for (int e = 0; e < N; e++) to[e] = (T)SRC_N(w, u, 1 + e, S)[31 - __builtin_clz(w->exec)];       \
            return;                                                                                          \
        case PLACE_ROWS:                                                                                     \
            for (int row = 0; row < 2; row++) {                                                              \
                to = (T *)(void *)(p.at + (row ? p.down : 0));                                               \
                for (int e = 0; e < N; e++) {                                                                \
                    const S *s = SRC_N(w, u, 1 + e, S) + 16 * row;                                           \
                    if (!p.step)                                                                             \
                        to[e] = (T)s[15];                                                                    \
                    else if (N == 1 && sizeof(T) == sizeof(S))                                               \
                        memcpy(to, s, 16 * sizeof(T));                                                       \
                    else                                                                                     \
                        for (int i = 0; i < 16; i++) to[i * N + e] = (T)s[i];                                \
                }                                                                                            \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_OFFSETS:                                                                                  \
            for (int i = 0; i < ORR_WARP; i++) {                                                             \
                to = (T *)(void *)(p.at + p.words[i]);                                                       \
                for (int e = 0; e < N; e++) to[e] = (T)SRC_N(w, u, 1 + e, S)[i];                             \
            }                                                                                                \
            return;                                                                                          \
        case PLACE_LANES:                                                                                    \
            for (uint32_t m = w->exec; m; m &= m - 1) {                                                      \
                int i = orr_ffs(m);                                                                          \
                to = (T *)(void *)(p.at + p.words[i]);                                                       \
                for (int e = 0; e < N; e++) to[e] = (T)SRC_N(w, u, 1 + e, S)[i];                             \
            }                                                                                                \
            return;                                                                                          \
        default: name##_v##N##_each(w, u); return;                                                           \
        }                                                                                                    \
    }
#define STORE(name, T, S) STORE_N(name, T, S, 1) STORE_N(name, T, S, 2) STORE_N(name, T, S, 4)

STORE(st_8_h, uint8_t, uint16_t)
STORE(st_8_w, uint8_t, uint32_t)
STORE(st_8_d, uint8_t, uint64_t)
STORE(st_16_h, uint16_t, uint16_t)
STORE(st_16_w, uint16_t, uint32_t)
STORE(st_16_d, uint16_t, uint64_t)
STORE(st_32_w, uint32_t, uint32_t)
STORE(st_32_d, uint32_t, uint64_t)
STORE(st_64_d, uint64_t, uint64_t)
STORE_N(st_32_w, uint32_t, uint32_t, 8)
STORE_N(st_128_q, u128, u128, 1)

// ---- cp.async -------------------------------------------------------------------------------
// The copy is done at once: a program that reads before it has waited gets the new data, which is one
// of the orders the manual allows.
static void cp_async(warp *w, const uop *u) {
    uint8_t *to[ORR_WARP], *from[ORR_WARP];
    uint32_t bytes = u->inst->width;
    const uint32_t *part = u->nsrc > 2 && !u->c.none ? SRC_C(w, u, uint32_t) : NULL;
    uint64_t addr[ORR_WARP], where[ORR_WARP];
    effective(w, u->a, u->inst->disp, addr);
    if (!resolve(w, u, addr, ORR_SPACE_SHARED, bytes, to)) return;
    LANES where[i] = addr[i] / 16 % 8;
    // Only the bytes that are read must be there; a lane that reads none may point anywhere, and asks L1 for
    // nothing.
    uint32_t all = w->exec, reads = 0;
    for (uint32_t m = all; m; m &= m - 1)
        if (!part || part[orr_ffs(m)]) reads |= m & -m;
    effective(w, u->b, u->inst->disp2, addr);
    if (w->trace && u->traced) {
        // How a copy past L1 is fetched depends on where in its 128 bytes of shared memory it lands
        // (orr_coalesce_copy). The low bits of the address, which are 0 for 16 bytes, say it.
        bool past = orr_inst_lands(u->inst);
        LANES where[i] = past ? (addr[i] & ~15ull) | 8 | where[i] : addr[i];
        orr_trace_put_access(w->trace, reads, where);
    }
    for (uint32_t m = reads; m; m &= m - 1) {
        int lane = orr_ffs(m);
        from[lane] = translate(w, u, lane, addr[lane], ORR_SPACE_GENERIC, 1);
        uint32_t n = part && part[lane] < bytes ? part[lane] : bytes;
        if (!from[lane] || (n > 1 && !translate(w, u, lane, addr[lane] + n - 1, ORR_SPACE_GENERIC, 1)))
            return;
    }
    if (w->step && w->step->watched && !orr_watch_access(w, u, addr, reads, bytes)) return;
    for (uint32_t m = all; m; m &= m - 1) {
        int lane = orr_ffs(m);
        uint32_t n = !part ? bytes : part[lane] < bytes ? part[lane] : bytes;
        if (n) memcpy(to[lane], from[lane], n);
        memset(to[lane] + n, 0, bytes - n);
    }
}

// ---- picking --------------------------------------------------------------------------------
typedef struct choice {
    uint8_t bytes, is_signed, cls;
    uop_fn *v1, *v2, *v4, *v8, *param;
} choice;

#define LD3(name) name##_v1, name##_v2, name##_v4
static const choice loads[] = {
    {1, 0, ORR_H, LD3(ld_u8_h), NULL, param_u8_h},
    {1, 1, ORR_H, LD3(ld_s8_h), NULL, param_s8_h},
    {1, 0, ORR_W, LD3(ld_u8_w), NULL, param_u8_w},
    {1, 1, ORR_W, LD3(ld_s8_w), NULL, param_s8_w},
    {1, 0, ORR_D, LD3(ld_u8_d), NULL, NULL},
    {1, 1, ORR_D, LD3(ld_s8_d), NULL, NULL},
    {2, 0, ORR_H, LD3(ld_u16_h), NULL, param_u16_h},
    {2, 1, ORR_H, LD3(ld_u16_h), NULL, param_u16_h},
    {2, 0, ORR_W, LD3(ld_u16_w), NULL, param_u16_w},
    {2, 1, ORR_W, LD3(ld_s16_w), NULL, param_s16_w},
    {2, 0, ORR_D, LD3(ld_u16_d), NULL, NULL},
    {2, 1, ORR_D, LD3(ld_s16_d), NULL, NULL},
    {4, 0, ORR_W, LD3(ld_u32_w), ld_u32_w_v8, param_u32_w},
    {4, 1, ORR_W, LD3(ld_u32_w), ld_u32_w_v8, param_u32_w},
    {4, 0, ORR_D, LD3(ld_u32_d), NULL, param_u32_d},
    {4, 1, ORR_D, LD3(ld_s32_d), NULL, param_s32_d},
    {8, 0, ORR_D, LD3(ld_u64_d), NULL, param_u64_d},
    {8, 1, ORR_D, LD3(ld_u64_d), NULL, param_u64_d},
    {16, 0, ORR_Q, ld_b128_q_v1, NULL, NULL, NULL, NULL},
};
static const choice stores[] = {
    {1, 0, ORR_H, LD3(st_8_h), NULL, NULL},        {1, 0, ORR_W, LD3(st_8_w), NULL, NULL},
    {1, 0, ORR_D, LD3(st_8_d), NULL, NULL},        {2, 0, ORR_H, LD3(st_16_h), NULL, NULL},
    {2, 0, ORR_W, LD3(st_16_w), NULL, NULL},       {2, 0, ORR_D, LD3(st_16_d), NULL, NULL},
    {4, 0, ORR_W, LD3(st_32_w), st_32_w_v8, NULL}, {4, 0, ORR_D, LD3(st_32_d), NULL, NULL},
    {8, 0, ORR_D, LD3(st_64_d), NULL, NULL},       {16, 0, ORR_Q, st_128_q_v1, NULL, NULL, NULL, NULL},
};

static uop_fn *by_vec(const choice *c, uint8_t vec) {
    return vec == 1 ? c->v1 : vec == 2 ? c->v2 : vec == 4 ? c->v4 : vec == 8 ? c->v8 : NULL;
}

handlers orr_pick_memory(const orr_kernel *k, const orr_inst *i, const char **why) {
    if (i->op == ORR_OP_CPASYNC) return (handlers){cp_async, cp_async};
    bool load = i->op == ORR_OP_LD;
    if (!load && i->op != ORR_OP_ST) return (handlers){0};
    const choice *table = load ? loads : stores;
    size_t n = load ? sizeof loads / sizeof *loads : sizeof stores / sizeof *stores;
    // The class of the values: of the first that is a register (a sink has none; an immediate, its own).
    const orr_operand *value = load ? orr_dst(k, i, 0) : orr_src(k, i, 1);
    int values = load ? i->ndst : i->nsrc - 1;
    for (int v = 0; v < values; v++, value++)
        if (value->kind != ORR_K_NONE) break;
    if (values < 1 || values != i->vec || value == (load ? orr_dst(k, i, 0) : orr_src(k, i, 1)) + values) {
        *why = "its vector has no registers, or not as many as it names";
        return (handlers){0};
    }
    bool is_signed = load && orr_types[i->type].is_signed && !orr_types[i->type].is_float;
    for (size_t c = 0; c < n; c++) {
        if (table[c].bytes != i->width || table[c].cls != value->cls ||
            (load && table[c].is_signed != is_signed && i->width != 16))
            continue;
        bool constant_param =
            load && i->space == ORR_SPACE_PARAM && orr_src(k, i, 0)->kind == ORR_K_IMM && table[c].param;
        uop_fn *f = constant_param ? table[c].param : by_vec(&table[c], i->vec);
        if (f) return (handlers){f, f};
    }
    *why = "no such combination of width and register";
    return (handlers){0};
}

// What compiled blocks do instead where lanes lie side by side (lanewise.h).
LANEWISE(orr_lanes_memory, {ld_u32_w_v1, LANE_LOAD, 1}, {ld_u32_w_v2, LANE_LOAD, 2},
         {ld_u32_w_v4, LANE_LOAD, 4}, {st_32_w_v1, LANE_STORE, 1}, {st_32_w_v2, LANE_STORE, 2},
         {st_32_w_v4, LANE_STORE, 4})
