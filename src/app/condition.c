// Conditional nodes of graphs.
//
// A condition is a number that kernels set (cudaGraphSetConditional) and that says which of a node's graphs
// runs, or how often. Its handle is the address of the number's record. A graph's copies share its
// conditions.
#include "app/app.h"

#include <stdlib.h>

static ORR_VEC(app_condition *) conditions; // of all graphs

app_condition *app_condition_of(uint64_t handle) {
    for (size_t i = 0; i < conditions.n; i++)
        if ((uintptr_t)conditions.at[i] == handle) return conditions.at[i];
    return NULL;
}

void app_condition_set(uint64_t handle, unsigned value) {
    app_condition *c = app_condition_of(handle);
    if (c) c->value = value;
}

// At the launch of a graph; those of the graphs in it too.
void app_conditions_begin(app_graph *g) {
    for (size_t i = 0; i < conditions.n; i++) {
        app_condition *c = conditions.at[i];
        if ((c->graph == g || c->graph == g->origin) && c->assigned) c->value = c->first;
    }
    for (size_t i = 0; i < g->nodes.n; i++) {
        const app_call *c = &g->nodes.at[i]->call;
        if (c->what == DO_GRAPH) app_conditions_begin(c->graph);
        for (unsigned k = 0; c->what == DO_CONDITION && k < c->conditional->n; k++)
            app_conditions_begin(c->conditional->bodies[k]);
    }
}

app_conditional *app_conditional_copy(const app_conditional *from) {
    app_conditional *c = orr_calloc(1, sizeof *c);
    *c = *from;
    c->bodies = orr_calloc(c->n, sizeof *c->bodies);
    for (unsigned i = 0; i < c->n; i++) c->bodies[i] = app_graph_copy(from->bodies[i]);
    return c;
}

void app_conditional_free(app_conditional *c) {
    for (unsigned i = 0; i < c->n; i++) app_graph_free(c->bodies[i]);
    free(c->bodies);
    free(c);
}

int app_conditional_run(const app_conditional *c, app_stream *s) {
    unsigned value = c->condition->value;
    int error = E_OK;
    switch (c->type) {
    case COND_IF:
        if (value || c->n > 1) error = app_graph_run(c->bodies[value ? 0 : 1], s);
        return error;
    case COND_WHILE:
        while (!error && c->condition->value) error = app_graph_run(c->bodies[0], s);
        return error;
    default: return value < c->n ? app_graph_run(c->bodies[value], s) : E_OK;
    }
}

uint64_t app_condition_new(const app_graph *g, unsigned value, bool assigned) {
    app_condition *c = *ORR_PUSH(&conditions) = orr_calloc(1, sizeof *c);
    *c = (app_condition){.graph = g, .value = value, .first = value, .assigned = assigned};
    return (uintptr_t)c;
}
