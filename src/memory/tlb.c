// Address translation (tlb.h): the table of pieces, and walks.
#include "memory/tlb.h"

#include <math.h>
#include <stdlib.h>

#include "memory/memory.h"
#include "memory/memsys.h"

#define FIRST_BITS 8 // of the table's size

orr_tlb_spec orr_tlb_spec_of(const orr_gpu *g) {
    orr_tlb_spec s = {.walk = (uint64_t)llround(g->tlb_walk * (double)ORR_TICKS),
                      .interval = (uint64_t)llround(g->tlb_interval * (double)ORR_TICKS)};
    s.cold = g->tlb_cold && g->tlb_page >= ORR_LINE && s.walk;
    while (s.cold && (uint64_t)ORR_LINE << (s.shift + 1) <= (uint64_t)g->tlb_page) s.shift++;
    return s;
}

void orr_tlb_init(orr_tlb *t, orr_tlb_spec spec) {
    *t = (orr_tlb){.spec = spec};
    if (!spec.cold) return;
    t->bits = FIRST_BITS;
    t->piece = orr_calloc(1u << t->bits, sizeof *t->piece);
    t->ready = orr_calloc(1u << t->bits, sizeof *t->ready);
}

void orr_tlb_free(orr_tlb *t) {
    free(t->piece);
    free(t->ready);
    *t = (orr_tlb){0};
}

void orr_tlb_restart(orr_tlb *t) {
    for (uint32_t i = 0; t->bits && i < 1u << t->bits; i++) t->ready[i] = 0;
    t->next = t->walks = 0;
}

static void put(orr_tlb *t, uint64_t piece, uint64_t ready) {
    uint32_t i = orr_tlb_place(t, piece);
    while (t->piece[i]) i = (i + 1) & ((1u << t->bits) - 1);
    t->piece[i] = piece;
    t->ready[i] = ready;
}

static void grow(orr_tlb *t) {
    orr_tlb old = *t;
    t->bits++;
    t->piece = orr_calloc(1u << t->bits, sizeof *t->piece);
    t->ready = orr_calloc(1u << t->bits, sizeof *t->ready);
    for (uint32_t i = 0; i < 1u << old.bits; i++)
        if (old.piece[i]) put(t, old.piece[i], old.ready[i]);
    free(old.piece);
    free(old.ready);
}

uint64_t orr_tlb_walk(orr_tlb *t, uint64_t line, uint64_t time) {
    uint64_t ready = orr_tlb_ready(t, line);
    if (ready != ORR_TLB_NEW) return ready;
    uint64_t begins = time > t->next ? time : t->next;
    t->next = begins + t->spec.interval;
    t->walks++;
    if (2 * ++t->n > 1u << t->bits) grow(t);
    put(t, (line >> t->spec.shift) + 1, begins + t->spec.walk);
    return begins + t->spec.walk;
}
