// What kernels launch (CUDA's dynamic parallelism), when the kernel that asked for it has ended.
//
// A kernel is done when all that it launched is done, and what that launched. Its launches are done in the
// order in which it asked, each with all of its own before the next, and those in the tail stream last: one
// of the orders that CUDA allows. What is left to do lies on a stack, so that a kernel may launch itself as
// often as it likes.
//
// In time, a thread block's launches into one of its streams follow each other; those of other thread blocks
// and streams may run beside them.
#include "app/app.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEEP = 1000000 };

typedef struct chain { // launches that follow each other: of a stream of a thread block of a kernel
    uint64_t parent, block, stream;
    app_op_ref last;
} chain;

typedef struct waiting {
    orr_child child;
    app_module *module;
    uint64_t parent;  // which of the launches it is of
    app_op_ref start; // what it comes after, where operations are timed later
} waiting;

typedef struct app_children {
    ORR_VEC(waiting) stack;
    ORR_VEC(chain) chains;
    ORR_VEC(app_op_ref) ends;
    uint64_t launches;
} app_children;

static void put(app_children *all, orr_children *from, bool tail, app_module *m, app_op_ref start) {
    for (size_t i = from->at.n; i-- > 0;) {
        orr_child *c = &from->at.at[i];
        if (c->what == ORR_CHILD_CONDITION || (c->stream == ORR_CHILD_TAIL) != tail) continue;
        *ORR_PUSH(&all->stack) = (waiting){*c, m, all->launches, start};
        c->params = NULL;
    }
}

// The top of the stack is what is done next.
static void take(app_children *all, orr_children *from, app_module *m, app_op_ref start) {
    all->launches++;
    for (size_t i = 0; i < from->at.n; i++)
        if (from->at.at[i].what == ORR_CHILD_CONDITION)
            app_condition_set(from->at.at[i].to, (unsigned)from->at.at[i].from);
    put(all, from, true, m, start);
    put(all, from, false, m, start);
}

static chain *chain_of(app_children *all, const waiting *w) {
    enum { LOOK = 64 }; // back: blocks come one after the other
    bool apart = w->child.stream == ORR_CHILD_FORGET;
    for (size_t i = all->chains.n; !apart && i-- > 0 && all->chains.n - i <= LOOK;) {
        chain *c = &all->chains.at[i];
        if (c->parent == w->parent && c->block == w->child.block && c->stream == w->child.stream) return c;
    }
    chain *c = ORR_PUSH(&all->chains);
    *c = (chain){w->parent, w->child.block, w->child.stream, w->start};
    return c;
}

static int call_of(const waiting *w, app_call *c) {
    const orr_child *h = &w->child;
    int error = E_OK;
    if (h->what == ORR_CHILD_KERNEL) {
        app_function *f = app_function_named(w->module, h->kernel->name, &error);
        *c = (app_call){.what = DO_KERNEL,
                        .function = f,
                        .grid = {h->grid[0], h->grid[1], h->grid[2]},
                        .block = {h->dim[0], h->dim[1], h->dim[2]},
                        .dynamic_shared = h->dynamic_shared,
                        .params = h->params,
                        .nparams = h->kernel->param_bytes};
        if (f && h->dynamic_shared > f->dynamic_limit) f->dynamic_limit = h->dynamic_shared;
        return error;
    }
    *c = (app_call){.what = h->what == ORR_CHILD_COPY ? DO_COPY : DO_FILL,
                    .dst = {(void *)(uintptr_t)h->to, h->bytes, h->bytes, 0},
                    .src = {(void *)(uintptr_t)h->from, h->bytes, h->bytes, 0},
                    .size = {h->bytes, 1, 1},
                    .kind = COPY_DEFAULT,
                    .value = (uint32_t)(uint8_t)h->from,
                    .element = 1};
    return E_OK;
}

// What `first` asked for, and so on. A kernel that fails ends it all, as it ends the context.
int app_children_run(app_stream *s, app_module *m, orr_children *first) {
    app_children all = {0};
    bool apart = app_queue_on();
    int error = E_OK;
    take(&all, first, m, s->last);
    app_op_ref start = s->last;
    while (all.stack.n && !error) {
        waiting w = all.stack.at[--all.stack.n];
        app_call c;
        orr_children more = {.device = first->device};
        chain *follows = apart ? chain_of(&all, &w) : NULL;
        size_t place = apart ? (size_t)(follows - all.chains.at) : 0;
        error = call_of(&w, &c);
        if (!error && apart && w.child.stream != ORR_CHILD_TAIL) app_queue_fork(s, &follows->last, 1);
        if (!error && apart && w.child.stream == ORR_CHILD_TAIL) app_queue_fork(s, all.ends.at, all.ends.n);
        if (!error) error = c.what == DO_KERNEL ? app_do_kernel(s, &c, &more) : app_do(s, &c);
        if (apart) {
            all.chains.at[place].last = s->last;
            if (w.child.stream == ORR_CHILD_TAIL) all.ends.n = 0; // all others came before it
            *ORR_PUSH(&all.ends) = s->last;
        }
        if (!error) take(&all, &more, w.module, s->last);
        if (all.stack.n > MOST_DEEP) error = E_LAUNCH_FAILURE;
        orr_children_free(&more, the_app.mem);
        free(w.child.params);
    }
    if (apart && all.ends.n) {
        *ORR_PUSH(&all.ends) = start;
        app_queue_fork(s, all.ends.at, all.ends.n);
    }
    for (size_t i = 0; i < all.stack.n; i++) free(all.stack.at[i].child.params);
    free(all.stack.at);
    free(all.chains.at);
    free(all.ends.at);
    return error;
}
