// Textures and surfaces: handlers. What is computed is in filter.c and texel.c.
#include <string.h>

#include "exec/block.h"
#include "exec/texture.h"

// ---- handles --------------------------------------------------------------------------------
typedef struct source { // what a handle leads to
    uint64_t handle;
    const orr_texture *t;
    uint8_t *host; // of its first byte
} source;

static uint64_t handle_of(const warp *w, const uop *u, int lane) {
    return u->a.cls == ORR_W ? SRC_A(w, u, uint32_t)[lane] : SRC_A(w, u, uint64_t)[lane];
}

// Lanes mostly have one handle: what the last one found is kept.
static bool find(warp *w, const uop *u, int lane, source *s) {
    uint64_t handle = handle_of(w, u, lane);
    if (s->t && s->handle == handle) return true;
    orr_mem *mem = w->worker->mem;
    s->handle = handle;
    s->t = orr_mem_texture(mem, handle & 0xfffff);
    s->host = s->t ? orr_mem_host(mem, s->t->at, s->t->bytes) : NULL;
    if (s->host) return true;
    orr_fault_as(ORR_FAULT_ADDRESS, w, u, lane,
                 s->t ? "the memory of texture or surface 0x%llx has been freed"
                      : "0x%llx is no texture or surface object",
                 (unsigned long long)handle);
    return false;
}

static void put(warp *w, const uop *u, const uint64_t addr[ORR_WARP]) {
    if (w->trace && u->traced) orr_trace_put_access(w->trace, w->exec, addr);
}

// ---- textures -------------------------------------------------------------------------------
// Sources: handle, x, y, z, layer, level, differences, offsets. Of an offset 4 bits count, of a
// gathering's 6.
static orr_tex_at asked(const warp *w, const uop *u, int lane) {
    orr_tex_at a = {.shape = u->imm & ORR_TEX_SHAPE, .integers = (u->imm & ORR_TEX_INTEGERS) != 0};
    for (int n = 0; n < 3; n++) {
        uint32_t bits = SRC_N(w, u, 1 + n, uint32_t)[lane];
        memcpy(&a.c[n], &bits, 4);
        a.i[n] = (int32_t)bits;
    }
    a.layer = SRC_N(w, u, 4, uint32_t)[lane];
    uint32_t level = SRC_N(w, u, 5, uint32_t)[lane];
    memcpy(&a.level, &level, 4);
    a.ilevel = (int32_t)level;
    int sign = u->inst->sub == ORR_TEX_GATHER ? 32 : 8;
    for (int n = 0; n < 3 && u->imm & ORR_TEX_OFFSETS; n++) {
        uint32_t bits = SRC_N(w, u, u->nsrc - 3 + n, uint32_t)[lane];
        a.offset[n] = (int32_t)((bits & (2u * (uint32_t)sign - 1)) ^ (uint32_t)sign) - sign;
    }
    return a;
}

static float gradient(const warp *w, const uop *u, int lane, const orr_texture *t, const orr_tex_at *a) {
    float d[2][3] = {{0}};
    int dims = orr_tex_coordinates(a->shape);
    for (int n = 0; n < 2 * dims; n++) memcpy(&d[n & 1][n / 2], &SRC_N(w, u, 6 + n, uint32_t)[lane], 4);
    return orr_tex_gradient(t, a->c, d[0], d[1]);
}

static void tex(warp *w, const uop *u) {
    uint64_t addr[ORR_WARP] = {0};
    source s = {0};
    uint32_t out[ORR_WARP][4];
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = orr_ffs(m);
        if (!find(w, u, lane, &s)) return;
        orr_tex_at a = asked(w, u, lane);
        if (u->inst->sub == ORR_TEX_GRADIENT) a.level = gradient(w, u, lane, s.t, &a);
        addr[lane] = u->inst->sub == ORR_TEX_GATHER
                         ? orr_tex_gather(s.t, s.host, &a, u->imm >> 8 & 3, out[lane])
                         : orr_tex_sample(s.t, s.host, &a, out[lane]);
        if (!addr[lane]) addr[lane] = s.t->at & ~31ull; // all of it border: nothing is read
    }
    put(w, u, addr);
    for (int n = 0; n < u->ndst; n++) {
        uint32_t *d = DST_N(w, u, n, uint32_t);
        for (uint32_t m = w->exec; m; m &= m - 1) d[orr_ffs(m)] = out[orr_ffs(m)][n];
    }
}

static uint32_t property(const orr_texture *t, unsigned which, uint32_t level) {
    const orr_tex_level *v = &t->level[level < t->nlevels ? level : 0];
    switch (which) {
    case 0: return v->width;
    case 1: return t->shape == ORR_TEX_1D || t->shape == ORR_TEX_A1D ? 0 : v->height;
    case 2:
        return t->shape == ORR_TEX_3D      ? v->depth
               : t->shape == ORR_TEX_ACUBE ? t->layers / 6 // as an H200 counts
                                           : t->layers;
    case 3: return t->layers;
    case 4: return t->nlevels;
    default: return t->normalized;
    }
}

static void query(warp *w, const uop *u) {
    source s = {0};
    uint32_t *d = DST(w, u, uint32_t);
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = orr_ffs(m);
        if (!find(w, u, lane, &s)) return;
        d[lane] = property(s.t, u->inst->sub, SRC_N(w, u, 1, uint32_t)[lane]);
    }
}

// ---- surfaces -------------------------------------------------------------------------------
// Where a lane's element is; NULL: outside, where that is nothing, or after a fault (*bad).
static uint8_t *element(warp *w, const uop *u, int lane, const source *s, uint32_t bytes, bool *bad) {
    const orr_texture *t = s->t;
    const orr_tex_level *v = &t->level[0];
    unsigned outside = u->inst->sub & ORR_SU_OUTSIDE;
    uint32_t texel = orr_tex_texel_bytes(t);
    int64_t at[3], size[3] = {(int64_t)v->width * texel, v->height, v->depth};
    for (int n = 0; n < 3; n++) at[n] = (int32_t)SRC_N(w, u, 1 + n, uint32_t)[lane];
    if (u->inst->sub & ORR_SU_TEXELS) at[0] *= texel;
    bool flat = t->shape == ORR_TEX_1D || t->shape == ORR_TEX_A1D, layered = t->layers != 0;
    if (flat) at[1] = 0;
    if (layered) size[2] = t->layers, at[2] = (uint32_t)at[2]; // -1 is behind the last
    if (!layered && t->shape != ORR_TEX_3D) at[2] = 0;
    bool in = true;
    for (int n = 0; n < 3; n++) {
        int64_t last = n ? size[n] - 1 : size[0] - bytes;
        if (at[n] >= 0 && at[n] <= last) continue;
        in = false;
        at[n] = at[n] < 0 ? 0 : last < 0 ? 0 : last;
    }
    if (!in && outside == ORR_SU_TRAP) {
        *bad = true;
        orr_fault_as(ORR_FAULT_ADDRESS, w, u, lane, "a coordinate is outside of surface 0x%llx",
                     (unsigned long long)s->handle);
        return NULL;
    }
    if ((!in && outside == ORR_SU_ZERO) || bytes > size[0]) return NULL;
    at[0] -= at[0] % bytes;
    return s->host + orr_tex_offset(t, 0, (uint32_t)at[0], (uint32_t)at[1], layered ? 0 : (uint32_t)at[2],
                                    layered ? (uint32_t)at[2] : 0);
}

static uint32_t moved(const uop *u, const source *s) {
    return u->inst->sub & ORR_SU_FORMATTED ? orr_tex_texel_bytes(s->t)
                                           : orr_types[u->inst->type].bytes * u->inst->cmp;
}

typedef void element_fn(warp *w, const uop *u, int lane, const source *s, uint8_t *at, uint32_t bytes);

static void each(warp *w, const uop *u, element_fn *f) {
    uint64_t addr[ORR_WARP] = {0};
    source s = {0};
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = orr_ffs(m);
        bool bad = false;
        if (!find(w, u, lane, &s)) return;
        uint32_t bytes = moved(u, &s);
        uint8_t *at = element(w, u, lane, &s, bytes, &bad);
        if (bad) return;
        addr[lane] = (s.t->at + (at ? (uint64_t)(at - s.host) : 0)) & ~31ull;
        f(w, u, lane, &s, at, bytes);
    }
    put(w, u, addr);
}

static void load_one(warp *w, const uop *u, int lane, const source *s, uint8_t *at, uint32_t bytes) {
    uint32_t v[4] = {0};
    (void)s;
    if (at) memcpy(v, at, bytes);
    if (u->inst->type == ORR_T_B64) { // pairs
        for (int n = 0; n < u->ndst; n++)
            DST_N(w, u, n, uint64_t)[lane] = (uint64_t)v[2 * n + 1] << 32 | v[2 * n];
        return;
    }
    for (int n = 0; n < u->ndst; n++) {
        uint32_t one = orr_types[u->inst->type].bytes == 1   ? ((uint8_t *)v)[n]
                       : orr_types[u->inst->type].bytes == 2 ? ((uint16_t *)(void *)v)[n]
                                                             : v[n];
        if (u->all[n].cls == ORR_H)
            DST_N(w, u, n, uint16_t)[lane] = (uint16_t)one;
        else
            DST_N(w, u, n, uint32_t)[lane] = one;
    }
}
static void suld(warp *w, const uop *u) { each(w, u, load_one); }

static uint64_t value_of(const warp *w, const uop *u, int n, int lane) {
    oper o = u->all[u->ndst + n];
    return o.cls == ORR_H   ? OPER(w, o, uint16_t)[lane]
           : o.cls == ORR_W ? OPER(w, o, uint32_t)[lane]
                            : OPER(w, o, uint64_t)[lane];
}

static void store_one(warp *w, const uop *u, int lane, const source *s, uint8_t *at, uint32_t bytes) {
    if (!at) return;
    uint32_t each_bytes = orr_types[u->inst->type].bytes;
    uint64_t v;
    if (u->inst->sub & ORR_SU_FORMATTED) {
        uint32_t in[4] = {0};
        for (int n = 0; n < u->nsrc - 4 && n < 4; n++) in[n] = (uint32_t)value_of(w, u, 4 + n, lane);
        orr_tex_store(s->t, at, in);
        return;
    }
    for (uint32_t n = 0; n < bytes / each_bytes; n++) {
        v = value_of(w, u, 4 + (int)n, lane);
        memcpy(at + n * each_bytes, &v, each_bytes);
    }
}
static void sust(warp *w, const uop *u) { each(w, u, store_one); }

static void reduce_one(warp *w, const uop *u, int lane, const source *s, uint8_t *at, uint32_t bytes) {
    (void)s, (void)bytes;
    uint64_t v = value_of(w, u, 4, lane);
    if (at) orr_reduce(u->inst->boolop, u->inst->stype, false, at, &v);
}
static void sured(warp *w, const uop *u) { each(w, u, reduce_one); }

// ---- picking --------------------------------------------------------------------------------
handlers orr_pick_texture(const orr_kernel *k, const orr_inst *i, const char **why) {
    (void)k;
    (void)why;
    switch (i->op) {
    case ORR_OP_TEX: return (handlers){tex, tex};
    case ORR_OP_TXQ: return (handlers){query, query};
    case ORR_OP_SULD: return (handlers){suld, suld};
    case ORR_OP_SUST: return (handlers){sust, sust};
    case ORR_OP_SURED: return (handlers){sured, sured};
    default: return (handlers){0};
    }
}
