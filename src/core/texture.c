// The texture unit (texture.h).
#include "core/texture.h"

void texture_spec_read(texture_spec *s, const orr_gpu *g) {
    *s = (texture_spec){.latency = whole_cycles(g->texture_latency), .interval = g->texture_interval};
}

void texture_init(texture_unit *t, const texture_spec *s) { *t = (texture_unit){.spec = s}; }

void texture_reset(texture_unit *t) { *t = (texture_unit){.spec = t->spec}; }

uint64_t texture_read(texture_unit *t, uint64_t now, uint32_t cycles) {
    double start = t->free > (double)now ? t->free : (double)now, takes = cycles * t->spec->interval;
    t->free = start + takes;
    t->n.reads++;
    // The first quad is there with the instruction: a result is late by what its others take.
    return (uint64_t)(t->free - t->spec->interval) + t->spec->latency;
}
