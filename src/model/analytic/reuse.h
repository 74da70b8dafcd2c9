// Reuse distances: how many other lines have been touched since a line was. A fully associative cache that
// holds more lines than that, and forgets the least recently used first, still has it.
//
// Each access has a time, and a Fenwick tree counts the times that are some line's last; when times run out
// they are numbered from 0 again. Invariants: the tree has a one at `last` of each line and nothing else, so
// that its sum up to a time is how many lines were not touched since; a table of lines is at most half full.
#ifndef ORR_ANALYTIC_REUSE_H
#define ORR_ANALYTIC_REUSE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct reuse {
    uint64_t *key; // line + 1; 0: free
    uint32_t *last;
    uint8_t *sectors; // touched since it was last taken in
    double *ready;    // when its last miss is answered, on its warp's clock
    uint32_t *block;  // the thread block that touched it first, + 1; UINT32_MAX: several
    uint32_t slots, used;
    uint32_t *tree; // [cap + 1], Fenwick
    uint32_t now, cap;
} reuse;

void an_reuse_init(reuse *r, uint32_t slots); // slots: a power of two
void an_reuse_free(reuse *r);
// Lines touched since `line` was, and its place; UINT32_MAX: it never was.
uint32_t an_reuse_touch(reuse *r, uint64_t line, uint32_t *place);
// Forgets all other lines.
void an_reuse_keep(reuse *r, bool (*kept)(const void *arg, uint64_t line), const void *arg);

#endif
