// The texture unit of an SM: four lanes' footprints a cycle, through L1's tags.
//
// An instruction's lanes are taken four at a time (a quad), of linear memory sixteen; a quad whose sectors
// lie in the same bank of L1 takes a cycle for each of them, and filters that go over texels several times
// take as many passes (memory/texture.c has the rule, all models use it). What is read comes through L1,
// whose lines and misses are those of any load; what is filtered is there `latency` cycles after its last
// quad went in.
//
// Invariants: instructions are taken in the order in which they come; `free` never goes back.
//
// The component knows nobody: the load/store unit says when an instruction is there and what it takes.
#ifndef ORR_CORE_TEXTURE_H
#define ORR_CORE_TEXTURE_H

#include "core/core.h"
#include "gpu/gpu.h"

typedef struct texture_spec {
    uint64_t latency; // cycles of a read that hits, from issue; 0: as any load
    double interval;  // cycles from one quad to the next
} texture_spec;

typedef struct texture_counters {
    uint64_t reads;    // instructions
    uint64_t requests; // groups of lanes that went to L1's tags
    uint64_t sectors;  // that those touched
} texture_counters;

typedef struct texture_unit {
    const texture_spec *spec;
    double free; // when it takes the next quad
    texture_counters n;
} texture_unit;

void texture_spec_read(texture_spec *s, const orr_gpu *g);
void texture_init(texture_unit *t, const texture_spec *s);
void texture_reset(texture_unit *t);
static inline void texture_free(texture_unit *t) { (void)t; }
// A read that is there at `now` and takes so many cycles of the unit. Returns when its result is there if all
// of it hits.
uint64_t texture_read(texture_unit *t, uint64_t now, uint32_t cycles);

#endif
