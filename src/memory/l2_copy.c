// Two halves of L2 that keep copies of each other's lines (l2.replicate).
//
// Each half is a partition's and keeps copies of what it has read of the other's lines; their tags have
// ORR_L2_FAR. What is not there is asked for at the other half's slice as if that were DRAM; stores and
// atomics are forwarded to it. A line of which the other half has a copy is marked (ORR_LINE_COPIED), and
// when it is written the copy is invalidated. A copy that is on its way gives its place to a line of the
// half's own.
#include "memory/l2.h"
#include "memory/memory.h"

#define NONE UINT32_MAX

// A store or an atomic that the other half has to do; or what it has to know.
void orr_l2_forward(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t) {
    orr_l2_crossing *a = ORR_PUSH(&p->crossing);
    *a = (orr_l2_crossing){*r, slice};
    a->r.line ^= ORR_L2_FAR;
    a->r.time = t + p->spec->halves.latency;
    a->r.far = true;
}

// A line of this half is written: the other half's copy is old. True: who has done that (`far`: the other
// half) hears of it when the other half has said that it has none any more (l2.invalidate_replicas).
bool orr_l2_invalidate_copy(orr_l2 *p, uint32_t slice, orr_cache_line *l, bool far, uint64_t t) {
    bool acknowledged =
        p->spec->halves.acknowledge && !far && l->flags & (ORR_LINE_COPIED | ORR_LINE_FAR_STORED);
    if (l->flags & ORR_LINE_COPIED) {
        orr_l2_request r = {.line = l->tag, .kind = ORR_L2_INVALIDATE};
        orr_l2_forward(p, slice, &r, t);
    }
    l->flags &= (uint8_t)~ORR_LINE_COPIED;
    return acknowledged;
}

// The other half has written one of its lines: this half's copy of it is invalid.
void orr_l2_drop_line(orr_l2 *p, uint32_t slice, uint64_t tag) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_cache_find(c, tag);
    if (i != ORR_NO_LINE) c->line[i].valid = 0;
}

// An atomic of the other half goes by: a load behind it has to find what it did, not a copy from before, be
// it there or on its way.
void orr_l2_forget_copy(orr_l2 *p, uint32_t slice, uint64_t tag) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_cache_find(c, tag);
    if (i == ORR_NO_LINE) return;
    orr_cache_line *l = &c->line[i];
    l->valid = 0;
    if (!l->pending) return;
    p->mshrs.at[l->user].line = ORR_NO_LINE; // who waits for it gets it
    l->pending = 0;
    l->user = NONE;
}

// A store to a line of the other half leaves the sectors that it writes whole where it passes
// (l2.invalidate_replicas).
void orr_l2_update_copy(orr_l2 *p, uint32_t slice, const orr_l2_request *r, uint64_t t) {
    orr_cache *c = &p->slice[slice].cache;
    uint8_t whole = p->spec->halves.acknowledge ? orr_l2_whole_sectors(r) : 0;
    if (!whole) return;
    uint32_t i = orr_cache_find(c, r->line);
    if (i == ORR_NO_LINE && (i = orr_l2_allocate(p, slice, r->line, t)) == ORR_NO_LINE) return;
    orr_cache_touch(c, i);
    c->line[i].valid |= whole & (uint8_t)~c->line[i].pending;
}

// Warms the copy that the `other` half keeps of a line of this one: a load leaves one there, a store from
// there
// (`far`) goes into it (l2.invalidate_replicas), a store of this half invalidates it.
void orr_l2_warm_copy(orr_l2 *p, orr_l2 *other, uint32_t slice, uint64_t tag, const orr_touched *t,
                      bool far) {
    orr_cache *c = &p->slice[slice].cache;
    uint32_t i = orr_cache_find(c, tag);
    if (i == ORR_NO_LINE) return;
    if (!t->write) {
        c->line[i].flags |= ORR_LINE_COPIED;
        orr_l2_warm(other, slice, tag | ORR_L2_FAR, t->sectors);
    } else if (far && p->spec->halves.acknowledge) {
        c->line[i].flags |= ORR_LINE_FAR_STORED;
    } else if (c->line[i].flags & ORR_LINE_COPIED) {
        c->line[i].flags &= (uint8_t) ~(ORR_LINE_COPIED | ORR_LINE_FAR_STORED);
        orr_l2_drop_line(other, slice, tag | ORR_L2_FAR);
    }
}
