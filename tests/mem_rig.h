// What the tests of the memory system share: a small machine with round numbers, and bundled ones with
// changes.
//
// The small one has one clock of 1 GHz everywhere, one slice that moves a sector a cycle, and one channel
// that moves a sector in two cycles. L2 answers a hit at once, and a miss 300 - 100 = 200 cycles later, of
// which DRAM needs tRCD + tCL + 2 = 26: 87 before it and 87 behind it.
#ifndef MEM_RIG_H
#define MEM_RIG_H

#include "memory/dram.h"
#include "memory/memsys.h"

#include <stdlib.h>
#include <string.h>

static const char *const small_machine[] = {
    "clock.sm=1000",
    "clock.l2=1000",
    "clock.dram=1000",
    "l2.size=128 KB",
    "l2.slices=1",
    "l2.bandwidth=32",
    "l2.latency=100",
    "l2.ways=16",
    "l2.mshrs=192",
    "l2.atomic=1",
    "l2.partitions=1",
    "l2.hash=modulo",
    "l2.atomic_row=0",
    "l2.hashed=no",
    "l2.interleave=256",
    "dram.channels=1",
    "dram.bandwidth=16",
    "dram.latency=300",
    "dram.efficiency=100",
    "dram.banks=16",
    "dram.bank_groups=4",
    "dram.row=1 KB",
    "dram.queue=64",
    "dram.tccd=2",
    "dram.tccdl=4",
    "dram.trrd=6",
    "dram.trcd=12",
    "dram.tras=28",
    "dram.trp=12",
    "dram.trc=40",
    "dram.tcl=12",
    "dram.twl=4",
    "dram.twr=12",
    "dram.twtr=5",
    "dram.trtp=2",
    "dram.trfc=0",
    "dram.trefi=3900",
    "dram.refresh_groups=1",
    "dram.refresh_spread=0",
    "dram.refresh_start=0",
    "dram.policy=fr-fcfs",
    "dram.write_queue=yes",
    "l2.write=validate",
    "l2.replicate=no",
    "l2.sector=32",
    "l2.tag_interval=1",
    "l2.merge=1",
    "l2.atomic_words=no",
    "l2.atomic_latency=0",
    "l2.write_bandwidth=0",
    "l2.same_line_store=0",
    "l2.partial_ways=0",
    "l2.partial_alone=no",
    "l2.side_switch=0",
    "l2.side_switch_far=0",
    "l2.invalidate_replicas=no",
    "l2.dirty_ways=0",
    "l2.complete_rewritten=0",
    "l2.completions=0",
    "l2.completed_ways=0",
    "dram.write_batch=0",
    "l2.store_after_fill=no",
    "dram.write_start=0",
    "dram.write_early=0",
};

// A bundled description with changes, ended by NULL.
static inline orr_gpu *machine_of(const char *name, const char *const *sets) {
    orr_err e = {0};
    int n = 0;
    while (sets && sets[n]) n++;
    orr_gpu *g = orr_gpu_load(name, sets, n, &e);
    if (!g) fail_msg("%s", e.text);
    return g;
}

// The small machine with changes, ended by NULL.
static inline orr_gpu *small_one(const char *const *sets) {
    enum { FIRST = sizeof small_machine / sizeof *small_machine };
    const char *all[FIRST + 32];
    int n = FIRST;
    memcpy(all, small_machine, sizeof small_machine);
    for (; sets && *sets; sets++) all[n++] = *sets;
    all[n] = NULL;
    return machine_of("h200", all);
}

static inline orr_memsys *system_of(const orr_gpu *g) {
    orr_err e = {0};
    orr_memsys *m = orr_memsys_new(g, &e);
    if (!m) fail_msg("%s", e.text);
    return m;
}

#define CYCLES(t) ((uint64_t)(t)*ORR_TICKS)
static inline orr_request reading(uint64_t cycle, uint64_t line, uint8_t sectors) {
    return (orr_request){.time = CYCLES(cycle), .line = line, .sectors = sectors, .kind = ORR_REQ_READ};
}

#endif
