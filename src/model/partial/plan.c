// Which of the grid's blocks are simulated, and what the whole grid takes (Chapuis, Eidenbenz, Santhi: "GPU
// Performance Prediction Through Parallel Discrete Event Simulation and Common Sense", section 3.2).
//
// Blocks are dealt out one to each SM in turn, so one SM gets n = total / SMs of them, rounded up, and a grid
// smaller than the GPU leaves SMs empty rather than filling the first. A *workload* is as many blocks as an
// SM holds. The paper simulates one and works out from the blocks' ends how far the next overlaps with it.
// Here the next one is started in the places that become free, so the overlap is simulated: two workloads,
// and with them what the grid leaves over (n modulo a workload), because the last blocks run with fewer
// neighbours. The workloads between take as long as from the end of the first to the end of the second.
//
// When blocks differ, those simulated are spread evenly over all that the SM gets.
#include "model/partial/partial.h"

#include <stdlib.h>

plan plan_make(uint64_t total, uint64_t sms, uint64_t most, bool single) {
    plan p = {.total = total, .sms = sms, .most = most, .active = total < sms ? total : sms};
    p.n = p.active ? (total + sms - 1) / sms : 0;
    uint64_t first = (single ? 1 : 2) * most; // before what is left over
    p.m = p.n < first + most ? p.n : first + p.n % most;
    p.left = (p.n - p.m) / most;
    return p;
}

uint64_t plan_block(const plan *p, uint64_t i) {
    // an SM in the middle of those that have n blocks
    uint64_t sm = ((p->total - 1) % p->sms) / 2;
    uint64_t k = p->m ? (uint64_t)(((unsigned __int128)i * p->n) / p->m) : 0;
    return k * p->sms + sm;
}

static int by_time(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

double plan_cycles(const plan *p, double cycles, double overhead, uint64_t *ends) {
    if (!p->left) return cycles;
    qsort(ends, p->m, sizeof *ends, by_time);
    double first = (double)ends[p->most - 1];
    double workload = p->m >= 2 * p->most ? (double)ends[2 * p->most - 1] - first : first - overhead;
    return cycles + (double)p->left * workload;
}
