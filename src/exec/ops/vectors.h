// Vectors of four, the width that every host has, for sums over columns of a product.
#ifndef ORR_OPS_VECTORS_H
#define ORR_OPS_VECTORS_H

#include <string.h>

#include "exec/ops/softfp.h"

typedef int32_t ints __attribute__((vector_size(16)));
typedef float floats __attribute__((vector_size(16)));

ALWAYS ints ints_at(const void *p) {
    ints v;
    memcpy(&v, p, sizeof v);
    return v;
}
ALWAYS floats floats_at(const float *p) {
    floats v;
    memcpy(&v, p, sizeof v);
    return v;
}

#endif
