// What thread blocks of a cluster do to each other: addresses of another's shared memory, stores and
// reductions that arrive at its mbarrier, and the cluster's barrier.
#include <string.h>

#include "exec/block.h"
#include "exec/mbar.h"
#include "exec/ops/pair.h"

// ---- mapa, getctarank -------------------------------------------------------------------------------
static uint64_t address_of(const warp *w, oper o, int lane) {
    return o.cls == ORR_D ? OPER(w, o, uint64_t)[lane] : OPER(w, o, uint32_t)[lane];
}

static void mapa(warp *w, const uop *u) {
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        uint64_t a = address_of(w, u->a, i);
        uint32_t rank = SRC_B(w, u, uint32_t)[i];
        uint64_t v = (a & ~0xff000000ull) | (orr_cluster_tag(w->tb, rank) & 0xff000000u);
        if (u->d.none) continue;
        if (u->d.cls == ORR_D)
            DST(w, u, uint64_t)[i] = v;
        else
            DST(w, u, uint32_t)[i] = (uint32_t)v;
    }
}

static void rank_of(warp *w, const uop *u) {
    for (uint32_t m = w->exec; m && !u->d.none; m &= m - 1) {
        int i = orr_ffs(m);
        uint32_t tag = (uint32_t)(address_of(w, u->a, i) >> 24) & 255;
        DST(w, u, uint32_t)[i] = w->tb->prog->kernel->code.insts ? tag : tag ? tag - 1 : w->tb->rank;
    }
}

// ---- st.async, red.async ------------------------------------------------------------------------------
// Sources: the address, the mbarrier's, the values.
static bool arrive_with(warp *w, const uop *u, int lane, uint32_t bytes) {
    uint64_t addr = address_of(w, u->b, lane), offset;
    if (addr - ORR_SHARED_WINDOW < ORR_WINDOW_BYTES) addr -= ORR_SHARED_WINDOW;
    tblock *tb = orr_cluster_block(w->tb, addr, &offset);
    if (!tb || offset + 8 > tb->prog->shared_bytes || offset % 8) {
        orr_fault_as(ORR_FAULT_ADDRESS, w, u, lane,
                     "there is no mbarrier at 0x%llx of the cluster's shared memory",
                     (unsigned long long)addr);
        return false;
    }
    uint64_t *at = (uint64_t *)(void *)(tb->shared + offset), old = *at;
    mbar b = mbar_open(old);
    const char *wrong = mbar_step(&b, 0, -(int64_t)bytes, false);
    if (wrong) {
        orr_fault(w, u, lane, "%s", wrong);
        return false;
    }
    *at = mbar_close(b);
    orr_mbar_done(w, (uint8_t *)at, (old ^ *at) >> MBAR_PHASE);
    return true;
}

static void put_async(warp *w, const uop *u) {
    uint8_t *host[ORR_WARP];
    uint32_t width = u->inst->width, n = u->inst->vec;
    bool red = u->inst->op == ORR_OP_REDASYNC;
    size_t head = w->trace ? w->trace->n : 0;
    uint32_t mbar[ORR_WARP] = {0};
    if (!orr_addresses(w, u, ORR_SPACE_SHARED, width * n, host)) return;
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int i = orr_ffs(m);
        for (uint32_t e = 0; e < n; e++) {
            oper o = u->all[u->ndst + 2 + e];
            uint64_t v = o.cls == ORR_D ? OPER(w, o, uint64_t)[i] : OPER(w, o, uint32_t)[i];
            if (!red)
                memcpy(host[i] + e * width, &v, width);
            else if (!orr_reduce(u->inst->sub, u->inst->type, false, host[i], &v)) {
                orr_fault(w, u, i, "there is no such reduction");
                return;
            }
        }
        if (!arrive_with(w, u, i, width * n)) return;
        mbar[i] = (uint32_t)address_of(w, u->b, i);
    }
    if (w->trace && u->traced && w->exec) orr_trace_put_versions(w->trace, head, w->exec, mbar);
}

static void nothing(warp *w, const uop *u) {
    (void)w;
    (void)u;
}

handlers orr_pick_remote(const orr_kernel *k, const orr_inst *i, const char **why) {
    (void)k;
    switch (i->op) {
    case ORR_OP_CLBAR:
        if (i->sub == ORR_BAR_ARRIVE) return (handlers){orr_cluster_arrive, orr_cluster_arrive};
        return (handlers){nothing, nothing};
    case ORR_OP_MAPA: return (handlers){mapa, mapa};
    case ORR_OP_CTARANK: return (handlers){rank_of, rank_of};
    case ORR_OP_STASYNC:
    case ORR_OP_REDASYNC:
        if (i->nsrc == 2 + i->vec && (i->width == 4 || i->width == 8))
            return (handlers){put_async, put_async};
        *why = "it has other operands";
        return (handlers){0};
    default: return (handlers){0};
    }
}
