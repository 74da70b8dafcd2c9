// Any bytes as a node's description. What is accepted must print, turn into JSON, and have paths between all
// GPUs.
#include "node/collective.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    orr_err e = {0};
    orr_node *node = orr_node_parse("fuzz.conf", (const char *)data, n, &e);
    if (!node) {
        if (!e.status || !e.text[0]) abort(); // refused without a reason
        return 0;
    }
    if (e.status) abort();
    orr_text out = {0};
    orr_node_print(node, &out);
    orr_node_json(node, &out);
    free(out.s);
    double *free_at = orr_calloc((size_t)orr_node_links(node), sizeof *free_at), end;
    for (int a = ORR_NODE_HOST; a < node->gpus; a++)
        for (int b = ORR_NODE_HOST; b < node->gpus; b++) {
            orr_path p;
            orr_node_path(node, a, b, &p);
            for (int i = 0; i < p.n; i++)
                if (p.link[i] < 0 || p.link[i] >= orr_node_links(node)) abort();
            orr_path_copy(&p, free_at, 0, 4096, &end);
        }
    orr_team t = {.node = node, .ranks = 2 * node->gpus, .nodes = 2, .nvlink = true};
    for (int what = 0; what < ORR_COLLECTIVES; what++)
        if (orr_collective_plan(&t, what, 1 << 20).ns < 0) abort();
    free(free_at);
    orr_node_free(node);
    return 0;
}
