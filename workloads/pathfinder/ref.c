#include "../reference.h"

#include <stdlib.h>
#include <string.h>

void ref_pathfinder(orr_ref *r) {
    INT(cols);
    INT(rows);
    BUF(int32_t, weight);
    BUF(int32_t, a);
    int32_t *next = SCRATCH(int32_t, cols);
    for (int64_t y = 1; y < rows; y++) {
        for (int64_t x = 0; x < cols; x++) {
            int32_t least = a[x];
            if (x > 0 && a[x - 1] < least) least = a[x - 1];
            if (x < cols - 1 && a[x + 1] < least) least = a[x + 1];
            next[x] = weight[y * cols + x] + least;
        }
        memcpy(a, next, (size_t)cols * sizeof *a);
    }
    free(next);
}
