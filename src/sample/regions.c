// Where in a launch neighbouring thread blocks are alike (TBPoint, section IV-B1).
//
// Thread blocks with neighbouring numbers run at the same time, so a launch is cut into epochs of as many
// blocks as the GPU holds (eq. 4). An epoch has a stall probability, memory requests per warp instruction
// averaged over its blocks, and a variation factor, the larger of the coefficients of variation of both (eq.
// 5). Epochs of similar stall probability are a cluster; one whose blocks differ too much among themselves is
// alone. Epochs of a cluster that follow each other are a homogeneous region.
//
// That leaves out nothing of a kernel whose blocks differ everywhere in the same way, as when every tenth has
// much to do. `mixed` (not TBPoint's) takes epochs that vary too much for a region as well when they follow
// each other, have similar stall probabilities, and none of the quarters of all of them has more or less to
// do than the others: what they have in common is then how they vary.
#include <math.h>
#include <stdlib.h>

#include "sample/sample.h"

static double variation(const uint64_t *x, uint64_t n) {
    double mean = 0, square = 0;
    for (uint64_t i = 0; i < n; i++) mean += (double)x[i] / (double)n;
    for (uint64_t i = 0; i < n; i++) square += pow((double)x[i] - mean, 2) / (double)n;
    return mean > 0 ? sqrt(square) / mean : 0;
}

// The sums of each quarter of some blocks are near that of an average one.
static bool even(const uint64_t *x, uint64_t n, double threshold) {
    double quarter[4] = {0}, sum = 0;
    for (uint64_t i = 0; i < n; i++) quarter[i * 4 / n] += (double)x[i];
    for (int q = 0; q < 4; q++) sum += quarter[q];
    for (int q = 0; q < 4; q++)
        if (fabs(quarter[q] * 4 - sum) > threshold * sum) return false;
    return true;
}

orr_region *orr_regions(const uint64_t *insts, const uint64_t *requests, uint64_t blocks,
                        orr_region_rule rule, uint32_t *n) {
    uint64_t occupancy = rule.occupancy;
    double threshold = rule.threshold;
    *n = 0;
    if (!blocks || !occupancy) return NULL;
    size_t epochs = (size_t)((blocks + occupancy - 1) / occupancy);
    double *stall = orr_calloc(epochs, sizeof *stall);
    bool *alone = orr_calloc(epochs, sizeof *alone);
    uint32_t *cluster = orr_calloc(epochs, sizeof *cluster);
    for (size_t e = 0; e < epochs; e++) {
        uint64_t from = e * occupancy, len = blocks - from < occupancy ? blocks - from : occupancy;
        for (uint64_t b = from; b < from + len; b++)
            if (insts[b]) stall[e] += (double)requests[b] / (double)insts[b] / (double)len;
        alone[e] = fmax(variation(insts + from, len), variation(requests + from, len)) > rule.variation;
    }
    orr_cluster(stall, epochs, 1, threshold, cluster);
    ORR_VEC(orr_region) found = {0};
    for (size_t e = 0; e < epochs;) {
        size_t end = e + 1,
               whole = e + 1; // as far as none varies too much; as far as they are of one cluster
        while (whole < epochs && cluster[whole] == cluster[e]) whole++;
        while (!alone[e] && end < whole && !alone[end]) end++;
        uint64_t first = e * occupancy, last = whole * occupancy < blocks ? whole * occupancy : blocks;
        bool starts = !e || cluster[e - 1] != cluster[e];
        if (rule.mixed && starts && end < whole && even(insts + first, last - first, threshold) &&
            even(requests + first, last - first, threshold))
            end = whole;
        if (end > e + 1) {
            orr_region *r = ORR_PUSH(&found);
            r->first = first;
            r->end = end * occupancy < blocks ? end * occupancy : blocks;
            r->id = cluster[e];
        }
        e = end;
    }
    free(cluster);
    free(alone);
    free(stall);
    *n = (uint32_t)found.n;
    return found.at;
}
