// Constants: a small cache next to the pipes and one behind it, then L2 (or memory, where a launch flushes
// L2).
//
// The first has lines of 64 bytes, the second of 256, four of those (Jia et al. 2018). Loads have addresses
// and look in both. What an instruction names without an address, parameters above all, is known before it
// runs: with const.cold the first one on an SM that names a line waits for it, an operand in one cache, a
// load (LDC) in another, and all others find it there. A uniform load by an index (ULDC c[3][UR4]) looks in
// the cache of the operands and holds its warp until it has the word (H200: micro/exchange, table64:
// imc_miss).
//
// Invariants: a line is at most once in each cache, and is there when it has come: who asks for it before
// waits as long as who asked first; the time of a named line is set once in a launch, by who names it first.
// The component knows no neighbour.
#ifndef ORR_CORE_CONSTANTS_H
#define ORR_CORE_CONSTANTS_H

#include "core/core.h"
#include "memory/cache.h"
#include "memory/memory.h"
#include "program/program.h"

#define MAX_NAMED 64 // lines that a program names (orr_program.constants)

typedef struct constants_spec {
    bool perfect;               // loads always hit
    uint64_t size, second_size; // bytes; 0: there is no such cache
    uint64_t indexed_size;      // of what uniform loads find by an index
    uint32_t ways;
    uint64_t latency, second_latency; // cycles of a load that hits in the first, in the second
    uint64_t beyond_latency;          // cycles of a load that misses both
    uint64_t named_second,
        named_beyond;     // more than a hit: a line that is named, from the second cache or from L2
    bool cold;            // the first to name a line waits for it (const.cold)
    uint32_t cold_misses; // of a sub-core count as misses (const.cold_misses)
    uint32_t interval, word_latency; // cycles between words of one load; of the answer for each further word
    uint64_t miss_ticks;             // 1/ORR_TICKS cycles between two lines of a load that miss
} constants_spec;

typedef struct constants_counters {
    uint64_t requests, misses, second_misses;
} constants_counters;

typedef struct const_cache {
    orr_cache tags;
    uint64_t *when; // each line is there
} const_cache;

typedef struct const_caches { // of an SM
    const constants_spec *spec;
    const_cache first, second;
    const_cache operands; // the first of operands, as far as they have an index
    uint64_t late;        // named lines come so much later: its GPC serves others that ask for the same
    uint64_t free;        // when the next load with an address can begin
    uint64_t operand_when[MAX_NAMED], load_when[MAX_NAMED]; // by line that is named; 0: not asked for
    constants_counters n;
} const_caches;

typedef struct constants_answer { // to a load
    uint64_t latency;             // of its slowest line
    uint32_t misses;              // lines that the first cache did not have
    uint32_t second_misses;       // lines that neither cache had
} constants_answer;

void constants_spec_read(constants_spec *s, const orr_gpu *g);
void constants_init(const_caches *k, const constants_spec *s);
void constants_free(const_caches *k);
void constants_reset(const_caches *k); // the caches are empty, as at the beginning of a launch

// A load at `now`.
constants_answer constants_lookup(const_caches *k, const orr_access *a, uint64_t now);
// How many different words the lanes want.
uint32_t constants_words(const orr_access *a, uint32_t bytes);
// A load by the addresses of its lanes (none, if it has no lane) that can begin at `at`. It begins at
// *start, behind those before it; returns when its result is there.
uint64_t constants_load(const_caches *k, const orr_access *a, uint32_t bytes, uint64_t at, uint64_t *start);
// When the word is there that a uniform load reads by an index.
uint64_t constants_indexed(const_caches *k, const orr_access *a, uint64_t now);
// When the line that the instruction names is there.
uint64_t constants_named(const_caches *k, const orr_program *p, const orr_tinst *i, uint64_t now);

// Line n of program->constants is of the parameters (bank 0), which are in the second cache when a kernel
// starts.
static inline bool constants_is_parameter(const orr_program *p, uint32_t n) {
    return (p->constants[n] - 1) >> 16 == 0;
}

#endif
