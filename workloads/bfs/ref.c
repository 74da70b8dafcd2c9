#include "../reference.h"

#include <stdlib.h>

// With a queue, as in a textbook.
void ref_bfs(orr_ref *r) {
    INT(n);
    BUF(uint32_t, row);
    BUF(uint32_t, col);
    BUF(int32_t, level);
    uint32_t *queue = SCRATCH(uint32_t, n);
    int64_t head = 0, tail = 0;
    queue[tail++] = 0;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t e = row[v]; e < row[v + 1]; e++)
            if (level[col[e]] < 0) {
                level[col[e]] = level[v] + 1;
                queue[tail++] = col[e];
            }
    }
    free(queue);
}
