// orr_node_*: descriptions of machines with several GPUs.
#include "api/api.h"
#include "node/node.h"

#include <stdlib.h>

// A description that cannot be read is reported, the others are listed all the same.
orr_report *orr_nodes(orr_err *e) {
    if (e->status) return NULL;
    int n;
    char **names = orr_node_list(&n);
    orr_text text = {0}, json = {0};
    orr_text_addn(&text, "", 0);
    orr_text_add(&json, "[");
    for (int i = 0, good = 0; i < n; i++) {
        orr_node *node = orr_node_load(names[i], e);
        if (!node) continue;
        orr_text_add(&text, "%-12s %2d x %-10s %s\n", node->name, node->gpus, node->gpu_name, node->product);
        orr_text_add(&json, good++ ? ",\n" : "\n");
        orr_node_json(node, &json);
        orr_node_free(node);
    }
    orr_text_add(&json, "]\n");
    orr_gpu_list_free(names, n);
    if (!n) orr_fail(e, ORR_BAD_INPUT, "no nodes found; set ORRERY_DATA to the folder that holds nodes/");
    return orr_report_of(text, json);
}

orr_report *orr_node_describe(const char *node, orr_err *e) {
    if (e->status) return NULL;
    orr_node *n = orr_node_load(node, e);
    if (!n) return NULL;
    orr_text text = {0}, json = {0};
    orr_node_print(n, &text);
    orr_node_json(n, &json);
    orr_node_free(n);
    return orr_report_of(text, json);
}

orr_report *orr_node_keys(orr_err *e) {
    if (e->status) return NULL;
    orr_text text = {0}, json = {0};
    orr_node_print_keys(&text);
    orr_node_json_keys(&json);
    return orr_report_of(text, json);
}
