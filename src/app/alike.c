// Launches that are alike, in a cluster: the same kernel with the same shape, and parameters that differ in
// nothing but where buffers of the same size lie. One is simulated; the others take what it took.
//
// What a kernel finds in its buffers is not looked at: where that decides what it does, `--alike no`
// simulates every launch.
#include "app/app.h"

#include <string.h>

typedef struct seen {
    uint64_t key;
    double ns;
    size_t result; // of its launch
} seen;
static ORR_VEC(seen) table; // sorted by key

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

uint64_t app_alike_key(const app_call *c, const orr_kernel *k) {
    uint64_t h = mix(1, (uintptr_t)k);
    const uint32_t shape[] = {c->grid.x,  c->grid.y,    c->grid.z,    c->block.x,   c->block.y,
                              c->block.z, c->cluster.x, c->cluster.y, c->cluster.z, c->dynamic_shared};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) h = mix(h, shape[i]);
    for (uint32_t i = 0; i < k->nparams; i++) {
        const orr_param *p = &k->params[i];
        for (uint32_t at = 0; at < p->bytes; at += 8) {
            uint64_t v = 0;
            memcpy(&v, c->params + p->offset + at, p->bytes - at < 8 ? p->bytes - at : 8);
            const app_block *b = p->bytes - at >= 8 ? app_block_of(v) : NULL;
            h = b ? mix(mix(mix(h, b->bytes), v - b->addr), b->place + 1u) : mix(h, v);
        }
    }
    return h;
}

static size_t place(uint64_t key) {
    size_t lo = 0, hi = table.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (table.at[mid].key < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

// ---- how often, and how long in all, by kernel ------------------------------------------------------
static ORR_VEC(app_kernel_total) totals;

void app_kernel_count(const orr_kernel *k, double ns) {
    size_t i = 0;
    while (i < totals.n && totals.at[i].kernel != k) i++;
    if (i == totals.n) *ORR_PUSH(&totals) = (app_kernel_total){.kernel = k};
    totals.at[i].launches++;
    totals.at[i].ns += ns;
}

size_t app_kernel_totals(const app_kernel_total **all) {
    *all = totals.at;
    return totals.n;
}

bool app_alike_find(uint64_t key, double *ns, size_t *result) {
    size_t at = place(key);
    if (at == table.n || table.at[at].key != key) return false;
    *ns = table.at[at].ns;
    if (result) *result = table.at[at].result;
    return true;
}

void app_alike_add(uint64_t key, double ns, size_t result) {
    size_t at = place(key);
    (void)ORR_PUSH(&table);
    memmove(table.at + at + 1, table.at + at, (table.n - 1 - at) * sizeof *table.at);
    table.at[at] = (seen){key, ns, result};
}
