// What a captured kernel launches, copies and fills, when that kernel has ended, in the order of
// app/children.c: as its threads asked, each with all of its own before the next, and what is in the tail
// stream last. Their memory is the captured launch's: it is compared when all of them are done.
#include "input/captured.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEEP = 1000000 };

typedef ORR_VEC(orr_child) stack; // what is done next is at its end

static void put(stack *s, orr_children *from, bool tail) {
    for (size_t i = from->at.n; i-- > 0;) {
        orr_child *c = &from->at.at[i];
        if ((c->stream == ORR_CHILD_TAIL) != tail) continue;
        *ORR_PUSH(s) = *c;
        c->params = NULL;
    }
}

static bool move(const orr_launch *parent, const orr_child *c, orr_err *e) {
    void *to = orr_mem_host(parent->mem, c->to, c->bytes);
    const void *from = c->what == ORR_CHILD_COPY ? orr_mem_host(parent->mem, c->from, c->bytes) : NULL;
    if (c->what == ORR_CHILD_CONDITION || !c->bytes) return true; // what it decided was captured
    if (!to || (c->what == ORR_CHILD_COPY && !from))
        return orr_fail(e, ORR_PROGRAM_FAILED, "copies or fills memory that was not captured");
    if (from)
        memmove(to, from, c->bytes);
    else
        memset(to, (int)(uint8_t)c->from, c->bytes);
    return true;
}

static bool start(orr_input *in, const orr_launch *parent, const orr_child *c, bool chosen,
                  orr_children *more, orr_err *e) {
    if (c->what != ORR_CHILD_KERNEL) return move(parent, c, e);
    orr_launch l = *parent;
    l.kernel = c->kernel;
    l.dynamic_shared = c->dynamic_shared;
    l.params = c->params;
    l.children = more;
    l.workspace = 0;
    memcpy(l.grid, c->grid, sizeof l.grid);
    memcpy(l.block, c->dim, sizeof l.block);
    memset(l.cluster, 0, sizeof l.cluster);
    if (!orr_launch_prepare(&l, in->gpu, e)) return false;
    return orr_captured_work(in, &l, chosen, e);
}

bool orr_captured_children(orr_input *in, const orr_launch *parent, bool chosen, orr_children *first,
                           orr_err *e) {
    stack s = {0};
    bool ok = true;
    put(&s, first, true);
    put(&s, first, false);
    while (ok && s.n) {
        orr_child c = s.at[--s.n];
        orr_children more = {.device = first->device};
        ok = start(in, parent, &c, chosen, &more, e);
        put(&s, &more, true);
        put(&s, &more, false);
        orr_children_free(&more, parent->mem);
        free(c.params);
        if (ok && s.n > MOST_DEEP)
            ok = orr_fail(e, ORR_PROGRAM_FAILED, "launches more than %d kernels from kernels", MOST_DEEP);
    }
    for (size_t i = 0; i < s.n; i++) free(s.at[i].params);
    free(s.at);
    return ok;
}
