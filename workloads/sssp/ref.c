#include "../reference.h"

#include <stdlib.h>

// Dijkstra's algorithm with a binary heap of (distance, node) that keeps outdated entries.
static uint64_t *heap;
static int64_t heap_n;

static void push(uint64_t x) {
    int64_t i = heap_n++;
    for (; i > 0 && heap[(i - 1) / 2] > x; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = x;
}

static uint64_t pop(void) {
    uint64_t top = heap[0], x = heap[--heap_n];
    int64_t i = 0;
    for (int64_t c; (c = 2 * i + 1) < heap_n; i = c) {
        if (c + 1 < heap_n && heap[c + 1] < heap[c]) c++;
        if (heap[c] >= x) break;
        heap[i] = heap[c];
    }
    heap[i] = x;
    return top;
}

void ref_sssp(orr_ref *r) {
    INT(n);
    BUF(uint32_t, row);
    BUF(uint32_t, col);
    BUF(uint32_t, weight);
    BUF(uint32_t, dist);
    heap = SCRATCH(uint64_t, row[n] + 2);
    heap_n = 0;
    push(0);
    while (heap_n > 0) {
        uint64_t x = pop();
        uint32_t v = (uint32_t)x, d = (uint32_t)(x >> 32);
        if (d > dist[v]) continue;
        for (uint32_t e = row[v]; e < row[v + 1]; e++)
            if (d + weight[e] < dist[col[e]]) {
                dist[col[e]] = d + weight[e];
                push((uint64_t)dist[col[e]] << 32 | col[e]);
            }
    }
    free(heap);
}
