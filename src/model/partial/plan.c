// Which of the grid's blocks are simulated, and what the whole grid takes (Chapuis, Eidenbenz, Santhi: "GPU
// Performance Prediction Through Parallel Discrete Event Simulation and Common Sense", section 3.2).
//
// Blocks are dealt out one to each SM in turn, so one SM gets n = total / SMs of them, rounded up, and a grid
// smaller than the GPU leaves SMs empty rather than filling the first. A *workload* is as many blocks as an
// SM holds. The paper simulates one and works out from the blocks' ends how far the next overlaps with it.
// Here the next one is started in the places that become free, so the overlap is simulated: two workloads,
// and with them what the grid leaves over (n modulo a workload), because the last blocks run with fewer
// neighbours. The same without one of the two workloads takes less, and the difference is what each workload
// between costs: the way in and the way out are in both and cancel out.
//
// When blocks differ, those simulated are spread evenly over all that the SM gets.
#include "model/partial/partial.h"

plan plan_make(uint64_t total, uint64_t sms, uint64_t most, bool single) {
    plan p = {.total = total, .sms = sms, .most = most, .active = total < sms ? total : sms};
    p.n = p.active ? (total + sms - 1) / sms : 0;
    uint64_t first = (single ? 1 : 2) * most; // before what is left over
    p.m = p.n < first + most ? p.n : first + p.n % most;
    p.left = (p.n - p.m) / most;
    p.less = p.left && !single ? p.m - most : 0;
    // All blocks on the GPU have the same part of the memory; some SMs have one more than others.
    uint64_t here = p.n < most ? p.n : most, on = p.active * most < total ? p.active * most : total;
    p.turn = here ? (double)on / (double)here : 1;
    p.sm = p.active ? (total - 1) % sms / 2 : 0; // in the middle of those that have n blocks
    return p;
}

// Blocks at a side of the grid often have less to do, and where the SMs are a multiple of a row of blocks,
// some SMs have no others. The kernel ends with the SMs that have most to do.
void plan_inside(plan *p, const uint32_t grid[3]) {
    if (!p->total) return;
    uint64_t best = p->sm, fewest = UINT64_MAX, same = (p->total - 1) % p->sms + 1; // SMs with n blocks
    for (uint64_t n = 0; n < same && fewest; n++) {
        plan x = *p;
        x.sm = (p->sm + n) % same;
        uint64_t sides = 0;
        for (uint64_t i = 0; i < p->m; i++) {
            uint64_t b = plan_block(&x, i, p->m);
            uint64_t at[3] = {b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
            for (int d = 0; d < 3; d++) sides += grid[d] > 2 && (at[d] == 0 || at[d] + 1 == grid[d]);
        }
        if (sides < fewest) {
            fewest = sides;
            best = x.sm;
        }
    }
    p->sm = best;
}

uint64_t plan_block(const plan *p, uint64_t i, uint64_t of) {
    uint64_t at = of == p->m ? i : (uint64_t)(((unsigned __int128)i * p->m) / of);
    uint64_t k = (uint64_t)(((unsigned __int128)at * p->n) / p->m);
    return k * p->sms + p->sm;
}

double plan_cycles(const plan *p, double all, double done, double fewer, double overhead) {
    if (!p->left) return all;
    double even = (done - overhead) * (double)p->most / (double)p->m; // if it were all the same
    double workload = p->less ? done - fewer : even;
    // blocks that differ can make the difference anything
    if (workload < even / 2) workload = even / 2;
    if (workload > even * 3 / 2) workload = even * 3 / 2;
    return all + (double)p->left * workload;
}
