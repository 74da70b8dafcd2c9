#include "../reference.h"

#include <math.h>

void ref_softmax(orr_ref *r) {
    INT(rows);
    INT(cols);
    BUF(float, x);
    BUF(float, y);
    for (int64_t k = 0; k < rows; k++) {
        double sum = 0;
        for (int64_t i = 0; i < cols; i++) sum += exp(x[k * cols + i]);
        for (int64_t i = 0; i < cols; i++) y[k * cols + i] = (float)(exp(x[k * cols + i]) / sum);
    }
}
