// What memory can deliver of a wave's own requests.
//
// Bandwidth is a peak; how much of it is there depends on the addresses: rows that open and close, banks that
// all want at once, reads and writes that alternate. So the sectors that a wave of blocks gets from memory
// and writes to it, in its order, go through the memory system of the cycle model (memsys.h), as fast as the
// bus could take them, with an L2 that holds nothing. What comes out at the other end is the rate.
//
// The same list at the rate at which the simulated SM asked (all SMs' part of it) tells how long each read
// takes beyond one that finds memory idle: rows, banks, writes in between. One after the other these are what
// the SM's reads wait in its next simulation, and by what blocks drift apart.
#include "model/partial/partial.h"

#include <stdlib.h>

#define FEW 4096 // requests: less than that is over before queues have filled

static int by_time(const void *a, const void *b) {
    uint64_t x = ((const orr_reply *)a)->time, y = ((const orr_reply *)b)->time;
    return x < y ? -1 : x > y;
}

// Cycles for all reads at the pace at which those from the first tenth to the last come: the way in, and
// the few last ones that meet a refresh or a closed row, are of the beginning and the end of a kernel, not
// of its rate. 0: too few reads are answered.
static double at_pace(orr_replies *out) {
    if (out->n < FEW / 4) return 0;
    qsort(out->at, out->n, sizeof *out->at, by_time);
    size_t from = out->n / 10, to = out->n - 1 - out->n / 10;
    uint64_t all = 0, between = 0;
    for (size_t i = 0; i < out->n; i++) {
        uint64_t n = (uint64_t)orr_popc(out->at[i].sectors);
        all += n;
        if (i > from && i <= to) between += n;
    }
    if (!between) return 0;
    return (double)(out->at[to].time - out->at[from].time) / (double)ORR_TICKS * (double)all /
           (double)between;
}

typedef struct read_waits { // by how much each read took longer than one that finds all idle
    float *at;
    size_t n;
} read_waits;

// The list through memory at `rate` sectors a cycle. Returns the cycles that all of it takes, 0 if there is
// no such memory.
static double through(const orr_gpu *g, orr_request *list, size_t n, double rate, read_waits *waits,
                      orr_memsys_stats *stats) {
    orr_gpu small = *g;
    // in each slice twice what can be on its way
    uint64_t lines = (uint64_t)g->l2_slices * (uint64_t)g->l2_mshrs * 2;
    if (lines * ORR_LINE < (uint64_t)g->l2_size) small.l2_size = (int64_t)(lines * ORR_LINE);
    orr_err e = {0};
    orr_memsys *m = orr_memsys_new(&small, &e);
    if (!m) return 0;
    double t = 0, way = g->dram_latency - g->l2_latency;
    for (size_t i = 0; i < n; i++) {
        list[i].time = (uint64_t)(t * (double)ORR_TICKS);
        list[i].token = (uint32_t)i;
        list[i].sm = (uint16_t)(i % (size_t)g->sm_count); // of all SMs, near and far ones (l2.replicate)
        t += orr_popc(list[i].sectors) / rate;
    }
    orr_request *part = orr_malloc(n * sizeof *part);
    orr_replies out = {0};
    for (int p = 0; p < orr_memsys_partitions(m); p++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (orr_memsys_partition_of(m, list[i].line) == p) part[k++] = list[i];
        orr_memsys_run(m, p, part, k, UINT64_MAX, &out);
    }
    for (size_t i = 0; waits && i < out.n; i++) {
        const orr_reply *r = &out.at[i];
        if (r->token >= n || list[r->token].kind != ORR_REQ_READ) continue;
        waits->at[waits->n++] = (float)((double)(r->time - list[r->token].time) / (double)ORR_TICKS - way);
    }
    orr_memsys_stats_sum(m, stats);
    double paced = at_pace(&out);
    double cycles = (double)stats->last / (double)ORR_TICKS - way;
    if (paced > 0 && paced < cycles) cycles = paced;
    free(part);
    free(out.at);
    orr_memsys_free(m);
    return cycles > 1 ? cycles : 0;
}

// Sectors a cycle (of the SMs), all channels together; 0: too few to tell.
double dram_rate(const orr_gpu *g, orr_request *list, size_t n) {
    if (n < FEW) return 0;
    orr_memsys_stats s;
    double peak = g->dram_bandwidth * 1e3 / g->clock_sm / ORR_SECTOR; // sectors a cycle
    double cycles = through(g, list, n, peak, NULL, &s);
    return cycles > 0 ? (double)(s.dram_read + s.dram_write) / cycles : 0;
}

size_t dram_waits(const orr_gpu *g, orr_request *list, size_t n, double rate, float *waits) {
    read_waits found = {.at = waits};
    orr_memsys_stats s;
    if (n < FEW || !(rate > 0)) return 0;
    through(g, list, n, rate, &found, &s);
    return found.n;
}
