// Graphs: operations that are kept and run later, captured from streams or put together node by node.
//
// A node runs after those it needs. Nodes are kept in the order they were added; a graph runs them in that
// order as far as needs allow.
#include "app/app.h"

#include <stdlib.h>
#include <string.h>

app_graph *app_graph_new(void) { return orr_calloc(1, sizeof(app_graph)); }

void app_node_free(app_node *n) {
    if (n->call.what == DO_GRAPH) app_graph_free(n->call.graph);
    if (n->call.what == DO_CONDITION) app_conditional_free(n->call.conditional);
    free(n->call.params);
    free(n->needs);
    free(n->args);
    free(n);
}

void app_graph_free(app_graph *g) {
    if (!g) return;
    for (size_t i = 0; i < g->nodes.n; i++) app_node_free(g->nodes.at[i]);
    free(g->nodes.at);
    free(g);
}

app_node *app_graph_add(app_graph *g, const app_call *c, app_node *const *needs, size_t n) {
    app_node *node = *ORR_PUSH(&g->nodes) = orr_calloc(1, sizeof *node);
    node->call = *c;
    node->graph = g;
    node->index = (uint32_t)(g->nodes.n - 1);
    if (c->params) {
        node->call.params = orr_malloc((size_t)c->nparams + 1);
        memcpy(node->call.params, c->params, c->nparams);
    }
    node->needs = orr_malloc((n + 1) * sizeof *needs);
    if (n) memcpy(node->needs, needs, n * sizeof *needs);
    node->nneeds = n;
    return g->last = node;
}

app_graph *app_graph_copy(const app_graph *g) {
    app_graph *to = app_graph_new();
    to->origin = g->origin ? g->origin : g;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const app_node *n = g->nodes.at[i];
        app_node *c = app_graph_add(to, &n->call, NULL, 0);
        if (n->call.what == DO_GRAPH) c->call.graph = app_graph_copy(n->call.graph);
        if (n->call.what == DO_CONDITION) c->call.conditional = app_conditional_copy(n->call.conditional);
        c->off = n->off;
        c->origin = g->nodes.at[i];
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        const app_node *n = g->nodes.at[i];
        app_node *c = to->nodes.at[i];
        c->needs = orr_realloc(c->needs, (n->nneeds + 1) * sizeof *c->needs);
        for (size_t k = 0; k < n->nneeds; k++) c->needs[k] = to->nodes.at[n->needs[k]->index];
        c->nneeds = n->nneeds;
    }
    return to;
}

// The first that has not run and whose needs have.
static app_node *next(const app_graph *g, const bool *ran) {
    for (size_t i = 0; i < g->nodes.n; i++) {
        app_node *n = g->nodes.at[i];
        bool ready = n && !ran[i];
        for (size_t k = 0; ready && k < n->nneeds; k++) ready = ran[n->needs[k]->index];
        if (ready) return n;
    }
    return NULL;
}

// Where operations are timed later, a node waits for those it needs and for nothing else; where it needs
// none, for what was in the stream before the graph. What comes after the graph waits for all nodes.
typedef struct branches {
    app_op_ref start, *at; // of each node
} branches;

static void branch_off(branches *b, app_stream *s, const app_node *n) {
    app_op_ref *needs = orr_malloc((n->nneeds + 1) * sizeof *needs);
    for (size_t k = 0; k < n->nneeds; k++) needs[k] = b->at[n->needs[k]->index];
    needs[n->nneeds] = b->start;
    app_queue_fork(s, needs, n->nneeds + 1);
    free(needs);
}

int app_graph_run(app_graph *g, app_stream *s) {
    bool *ran = orr_calloc(g->nodes.n + 1, sizeof *ran), apart = app_queue_on();
    int error = E_OK;
    branches b = {.at = orr_calloc(g->nodes.n + 1, sizeof *b.at)};
    if (apart) {
        app_queue_add(s, ENGINE_NONE, "", 0, 0);
        b.start = s->last;
    }
    for (size_t i = 0; i < g->nodes.n && !error; i++) {
        app_node *n = !ran[i] ? g->nodes.at[i] : NULL;
        for (size_t k = 0; n && k < n->nneeds; k++)
            if (!ran[n->needs[k]->index]) n = NULL;
        if (!n) n = next(g, ran);
        if (!n) {
            error = E_VALUE; // a circle
            break;
        }
        ran[n->index] = true;
        if (apart) branch_off(&b, s, n);
        double host = the_app.host;
        if (!n->off) error = app_do(s, &n->call);
        if (apart && n->call.what == DO_KERNEL)
            the_app.host = host; // the host launches the graph, not its nodes
        b.at[n->index] = s->last;
    }
    if (apart) {
        app_queue_fork(s, b.at, g->nodes.n);
        the_app.host += the_app.gpu->launch_latency * 1e3;
    }
    free(b.at);
    free(ran);
    return error;
}
