#include "../reference.h"

#include <stdlib.h>

// Row by row, checking every queen placed so far.
static uint64_t count(int n, int row, int *column) {
    if (row == n) return 1;
    uint64_t sum = 0;
    for (int x = 0; x < n; x++) {
        bool safe = true;
        for (int y = 0; y < row; y++) safe = safe && column[y] != x && abs(column[y] - x) != row - y;
        column[row] = x;
        if (safe) sum += count(n, row + 1, column);
    }
    return sum;
}

void ref_nqueens(orr_ref *r) {
    INT(n);
    BUF(uint64_t, solutions);
    int column[32];
    solutions[0] = count((int)n, 0, column);
}
