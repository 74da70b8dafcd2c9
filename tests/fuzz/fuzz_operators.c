// Any bytes as an execution trace: protobuf, or JSON where they begin with a brace. What is accepted must be
// in an order in which everything comes behind what it waits for, and be of known kinds.
#include "operators/operators.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_err e = {0};
    uint8_t *copy = orr_malloc(n + 1); // of its own size, so that reading beyond is noticed
    if (n) memcpy(copy, data, n);
    copy = orr_realloc(copy, n ? n : 1);
    orr_operators *o = orr_operators_parse("fuzz", copy, n, &e);
    free(copy);
    if (!o == !e.status) abort();
    if (!o) return 0;
    for (size_t i = 0; i < o->at.n; i++) {
        const orr_operator *op = &o->at.at[i];
        if (op->kind > ORR_OP_NOTHING || op->what >= ORR_OP_COLLECTIVES || !op->name || op->order >= o->at.n)
            abort();
        if (op->first_dep + op->ndeps > o->deps.n) abort();
        for (uint32_t d = 0; d < op->ndeps; d++)
            if (o->at.at[o->deps.at[op->first_dep + d]].order >= op->order) abort();
        if (!(op->ops >= 0 && op->memory >= 0)) abort();
    }
    for (size_t i = 0; i < o->groups.n; i++)
        if (!o->groups.at[i].name || o->groups.at[i].n < 1) abort();
    orr_operators_free(o);
    return 0;
}
