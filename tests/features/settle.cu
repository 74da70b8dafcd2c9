// Threads that settle numbers by looking at each other's: one is done when all below it that it depends on are. The
// inner loop looks at memory that others write and is left in the middle, so that the compiler yields in it, and lanes
// of a warp come to where they meet with different partners (BSSY, YIELD, BREAK, BSYNC).
#include "check.h"

__device__ unsigned hash(unsigned v) {
    v = ((v >> 16) ^ v) * 0x45d9f3b;
    v = ((v >> 16) ^ v) * 0x45d9f3b;
    return (v >> 16) ^ v;
}

KERNEL start(int n, int *first, int *to, unsigned char *stat) {
    for (int v = threadIdx.x; v < n; v += blockDim.x) {
        first[v] = 4 * v;
        stat[v] = hash(v) | 1;
        for (int k = 0; k < 4; k++) to[4 * v + k] = hash(4 * v + k + 77) % n;
    }
    if (!threadIdx.x) first[n] = 4 * n;
}

// As nodes of a graph join an independent set: 0 is out, 0xfe in; the larger number wins, of two alike the later.
KERNEL settle(int n, const int *__restrict__ first, const int *__restrict__ to, volatile unsigned char *stat) {
    int missing;
    do {
        missing = 0;
        for (int v = threadIdx.x + blockIdx.x * 256; v < n; v += gridDim.x * 256) {
            const unsigned char mine = stat[v];
            if (mine & 1) {
                int i = first[v];
                while (i < first[v + 1] &&
                       (mine > stat[to[i]] || (mine == stat[to[i]] && v > to[i]) || v == to[i] || stat[to[i]] == 0xfe))
                    i++;
                if (i < first[v + 1])
                    missing = 1;
                else
                    stat[v] = 0xfe;
            }
        }
    } while (missing);
}

KERNEL settled(int n, int *bad, const unsigned char *stat) {
    for (int v = threadIdx.x; v < n; v += blockDim.x) bad[v] = stat[v] != 0xfe;
}
