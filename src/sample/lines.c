// A set of lines of global memory: which of them a launch, or all launches so far, have touched.
//
// Lines are kept as masks of 64 neighbours in an open-addressed table, because kernels touch memory in
// stretches. Counts do not depend on the order in which lines are added, so workers may each fill a set of
// their own that is put into the program's afterwards.
#include <stdlib.h>

#include "sample/sample.h"

static size_t slot_of(const orr_line_set *s, uint64_t group) {
    size_t at = (size_t)(group * 0x9e3779b97f4a7c15ull >> 20) & (s->room - 1);
    while (s->at[at].lines && s->at[at].group != group) at = (at + 1) & (s->room - 1);
    return at;
}

static void make_room(orr_line_set *s) {
    if (s->n * 2 < s->room) return;
    orr_line_set old = *s;
    s->room = old.room ? old.room * 2 : 64;
    s->at = orr_calloc(s->room, sizeof *s->at);
    for (size_t i = 0; i < old.room; i++)
        if (old.at[i].lines) s->at[slot_of(s, old.at[i].group)] = old.at[i];
    free(old.at);
}

static uint32_t add(orr_line_set *s, uint64_t group, uint64_t lines) {
    make_room(s);
    orr_line_row *g = &s->at[slot_of(s, group)];
    uint64_t fresh = lines & ~g->lines;
    s->n += !g->lines;
    g->group = group;
    g->lines |= lines;
    return (uint32_t)__builtin_popcountll(fresh);
}

void orr_line_set_add(orr_line_set *s, uint64_t line) { add(s, line / 64, 1ull << line % 64); }

uint64_t orr_line_set_merge(orr_line_set *s, const orr_line_set *from) {
    uint64_t fresh = 0;
    for (size_t i = 0; i < from->room; i++)
        if (from->at[i].lines) fresh += add(s, from->at[i].group, from->at[i].lines);
    return fresh;
}

void orr_line_set_free(orr_line_set *s) {
    free(s->at);
    *s = (orr_line_set){0};
}
