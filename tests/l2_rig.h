// L2 and DRAM of the small machine (mem_rig.h) by themselves: requests in, answers out, for test_l2*.c.
#ifndef L2_RIG_H
#define L2_RIG_H

#include "mem_rig.h"

#define COUNT(r) (sizeof(r) / sizeof *(r))

typedef struct bench {
    orr_gpu *g;
    orr_memsys *m;
    orr_replies out;
    orr_memsys_stats s;
} bench;

static inline bench *bench_on(orr_gpu *g) {
    bench *b = calloc(1, sizeof *b);
    b->g = g;
    b->m = system_of(g);
    return b;
}
static inline bench *bench_of(const char *const *sets) { return bench_on(small_one(sets)); }
// Two halves, 20 cycles from each other; HALVES("l2.side_switch=40", ...): the same with such changes.
static const char *const two_halves[] = {
    "l2.partitions=2", "l2.replicate=yes", "l2.far_latency=40", "l2.slices=2",
    "l2.bandwidth=64", "dram.channels=2",  "dram.bandwidth=32", NULL};
static inline bench *halves_of(const char *const *sets, size_t n) {
    const char *all[COUNT(two_halves) + 8];
    assert_true(n <= 8);
    memcpy(all, sets, n * sizeof *all);
    memcpy(all + n, two_halves, sizeof two_halves);
    return bench_of(all);
}
#define HALVES(...) halves_of((const char *const[]){__VA_ARGS__}, COUNT(((const char *const[]){__VA_ARGS__})))
static inline void bench_free(bench *b) {
    orr_memsys_free(b->m);
    orr_gpu_free(b->g);
    free(b->out.at);
    free(b);
}
// All of it, on a machine with one partition; answers are numbered by token.
static inline void go(bench *b, orr_request *r, size_t n) {
    for (size_t i = 0; i < n; i++) r[i].token = (uint32_t)i;
    b->out.n = 0;
    orr_memsys_run(b->m, 0, r, n, UINT64_MAX, &b->out);
    orr_memsys_stats_sum(b->m, &b->s);
    assert_true(orr_memsys_next(b->m, 0) == UINT64_MAX);
}
static inline uint64_t ticks_of(const bench *b, uint32_t token) {
    for (size_t i = 0; i < b->out.n; i++)
        if (b->out.at[i].token == token) return b->out.at[i].time;
    fail_msg("no answer to %u", token);
    return 0;
}
static inline orr_request storing(uint64_t cycle, uint64_t line, int from, int to) { // bytes from .. to - 1
    orr_request r = {.time = CYCLES(cycle), .line = line, .kind = ORR_REQ_WRITE};
    for (int i = from; i < to; i++) {
        r.bytes[i / 64] |= 1ull << i % 64;
        r.sectors |= (uint8_t)(1 << i / 32);
    }
    return r;
}
static inline orr_request atomic(uint64_t cycle, uint64_t line, uint8_t ops, bool answered) {
    return (orr_request){.time = CYCLES(cycle),
                         .line = line,
                         .sectors = 1,
                         .kind = answered ? ORR_REQ_ATOMIC : ORR_REQ_REDUCE,
                         .ops = ops};
}
#define ANSWERED(b, token, cycle) assert_int_equal(ticks_of(b, token), CYCLES(cycle))

#endif
