// Streams that wait while the host goes on (pending.h).
#include "app/pending.h"
#include "app/nccl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK ((size_t)16 << 20) // kernels are executed on it; what is not touched takes no memory
enum { TRIES = 1000 };           // turns that a question may take

typedef struct need { // so many of a stream's operations have been done
    const app_stream *stream;
    uint64_t upto;
} need;

typedef struct entry { // an operation
    app_call call;
    double host;  // ns: when it was asked for
    bool at_once; // it waits for nothing that is not asked for by somebody else
    ORR_VEC(need) needs;
} entry;

typedef struct app_pending {
    app_stream *stream;
    int rank, device;
    ORR_VEC(entry) list;
    size_t at; // which is next, or under way:
    bool under_way;
    bool (*ready)(const void *); // NULL: it can go on
    const void *arg;
    double from, now, host; // ns: of the launch, of it and the host's
    uint64_t turn;
    void *stack;
    ucontext_t own, back;
    struct app_pending *next;
} app_pending;

static app_pending *first, *here;
static uint64_t turns;

bool app_pending_here(void) { return here != NULL; }
int app_pending_rank(void) { return here ? here->rank : -1; }

// ---- which operations ---------------------------------------------------------------------------------
// A kernel polls what others than its own GPU write: loads that are ordered for the whole system, or
// volatile, and such atomics whose results are used.
static bool polls_system(const orr_kernel *k) {
    for (uint32_t i = 0; i < k->ninsts; i++) {
        const orr_inst *in = &k->insts[i];
        bool memory = in->space == ORR_SPACE_GLOBAL || in->space == ORR_SPACE_GENERIC;
        bool load = in->op == ORR_OP_LD, swap = in->op == ORR_OP_ATOM && in->ndst;
        if (!memory || !(load || swap)) continue;
        if (!k->code.insts && load && in->mods & ORR_M_VOLATILE) return true;
        if (k->code.insts && in->name < k->nnames && strstr(k->names[in->name], ".STRONG.SYS")) return true;
    }
    return false;
}

// What a call waits for: 0: nothing, WAITS_RANKS: other ranks; WAITS_KERNELS: what a kernel may wait for.
enum { WAITS_RANKS = 1, WAITS_KERNELS = 2 };

static int waits(const app_call *c) {
    if (c->what == DO_NCCL) return WAITS_RANKS;
    if (c->what == DO_KERNEL)
        return app_device_count() > 1 && !app_function_ready(c->function) && polls_system(c->function->kernel)
                   ? WAITS_KERNELS
                   : 0;
    int all = 0;
    for (size_t i = 0; c->what == DO_GRAPH && i < c->graph->nodes.n; i++)
        all |= waits(&c->graph->nodes.at[i]->call);
    for (unsigned i = 0; c->what == DO_CONDITION && i < c->conditional->n; i++)
        all |= waits(&(app_call){.what = DO_GRAPH, .graph = c->conditional->bodies[i]});
    return all;
}

static bool blocking(const app_stream *s) { return !(s->flags & 1); }

// The legacy default stream and those that do not say otherwise wait for each other.
static bool related(const app_stream *a, const app_stream *b) {
    const app_stream *legacy = &the_app.devices[a->device].legacy;
    return a != b && a->device == b->device && ((a == legacy && blocking(b)) || (b == legacy && blocking(a)));
}

static app_pending *of(const app_stream *s) {
    app_pending *p = first;
    while (p && p->stream != s) p = p->next;
    return p;
}

static bool met(const need *n) {
    const app_pending *p = of(n->stream);
    return !p || n->stream->done >= n->upto;
}

static void find_needs(entry *x, const app_stream *s) {
    for (const app_pending *p = first; p; p = p->next)
        if (related(s, p->stream)) *ORR_PUSH(&x->needs) = (need){p->stream, p->stream->asked};
    const app_event *ev = x->call.event;
    if (x->call.what == DO_WAIT && ev->asked_of && ev->asked_of != s)
        *ORR_PUSH(&x->needs) = (need){ev->asked_of, ev->asked};
}

// ---- keeping it ---------------------------------------------------------------------------------------
static void keep(entry *x, const app_call *c) {
    app_call *to = &x->call;
    if (c->params) {
        to->params = orr_malloc((size_t)c->nparams + 1);
        memcpy(to->params, c->params, c->nparams);
    }
    if (c->what == DO_GRAPH) to->graph = app_graph_copy(c->graph); // the program may change its own
}

static void forget(entry *x) {
    if (x->call.what == DO_GRAPH) app_graph_free(x->call.graph);
    free(x->call.params);
    free(x->needs.at);
}

static bool touches_host(const app_call *c) { // memory that is the program's as soon as the call returns
    return c->what == DO_COPY && ((!c->from && app_place(c->src.ptr) == PLACE_HOST) ||
                                  (!c->to && app_place(c->dst.ptr) == PLACE_HOST));
}

static app_pending *new_pending(app_stream *s) {
    app_pending *p = orr_calloc(1, sizeof *p), **end = &first;
    *p = (app_pending){.stream = s, .rank = app_rank_now(), .device = app_device_now()};
    while (*end) end = &(*end)->next;
    return *end = p;
}

int app_pending_submit(app_stream *s, const app_call *c) {
    entry x = {.call = *c, .host = the_app.host};
    int why = here ? 0 : waits(c);
    app_pending *p = here ? NULL : of(s);
    if (!here && first) find_needs(&x, s);
    if (!p && !why && !x.needs.n) {
        if (c->what == DO_RECORD) c->event->asked_of = NULL;
        return app_do(s, c);
    }
    bool ordered = touches_host(c);
    x.at_once = !(why & WAITS_KERNELS);
    keep(&x, c);
    if (!p) p = new_pending(s);
    *ORR_PUSH(&p->list) = x;
    s->asked++;
    if (c->what == DO_RECORD) {
        c->event->recorded = true;
        c->event->asked_of = s;
        c->event->asked = s->asked;
    }
    if (c->what == DO_KERNEL || c->what == DO_GRAPH) the_app.host += the_app.gpu->launch_latency * 1e3;
    while (app_pending_go(true)) continue;
    if (ordered) app_pending_finish(s);
    return E_OK;
}

// ---- turns --------------------------------------------------------------------------------------------
static bool can_go(const app_pending *p) {
    if (p->at >= p->list.n) return false;
    if (p->under_way) return !p->ready || p->ready(p->arg);
    const entry *x = &p->list.at[p->at];
    for (size_t i = 0; i < x->needs.n; i++)
        if (!met(&x->needs.at[i])) return false;
    return true;
}

// Of all that can go on the one that is furthest back in simulated time, and has not been for longest.
static app_pending *whose_turn(bool at_once) {
    app_pending *best = NULL;
    for (app_pending *p = first; p; p = p->next) {
        if (!can_go(p) || (at_once && !p->list.at[p->at].at_once)) continue;
        double now = p->under_way ? p->now : 0, least = best && best->under_way ? best->now : 0;
        if (!best || now < least || (now == least && p->turn < best->turn)) best = p;
    }
    return best;
}

static void do_all(void) { // on the stack of `here`
    for (;;) {
        app_pending *p = here;
        app_call *c = &p->list.at[p->at].call;
        app_event *ev = c->what == DO_RECORD ? c->event : NULL;
        bool again = ev && (ev->asked_of != p->stream || ev->asked != p->stream->done + 1); // recorded since
        if (ev && !again) ev->asked_of = NULL;
        int error = again ? E_OK : app_do(p->stream, c);
        p = here;
        if (error && error != the_app.sticky) app_remember(error);
        forget(&p->list.at[p->at++]);
        p->stream->done++;
        p->under_way = false;
        app_changed();
        swapcontext(&p->own, &p->back);
    }
}

static void make_stack(app_pending *p) {
    p->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p->stack == MAP_FAILED) {
        app_say("there is no address space for the stack of a stream");
        _Exit(1);
    }
    mprotect(p->stack, 4096, PROT_NONE); // what is below the stack is a fault
    getcontext(&p->own);
    p->own.uc_stack.ss_sp = p->stack;
    p->own.uc_stack.ss_size = STACK;
    makecontext(&p->own, do_all, 0);
}

static void remove_pending(app_pending *p) {
    app_pending **at = &first;
    while (*at != p) at = &(*at)->next;
    *at = p->next;
    if (p->stack) munmap(p->stack, STACK);
    free(p->list.at);
    free(p);
}

// What a model keeps of launches is the device's own meanwhile.
static void swap_state(app_device *d) {
    orr_result *r = &the_app.result;
    void *state = r->state;
    void (*state_free)(void *) = r->state_free;
    r->state = d->state;
    r->state_free = d->state_free;
    d->state = state;
    d->state_free = state_free;
}

static void go_on(app_pending *p) {
    app *a = &the_app;
    app_device *d = &a->devices[p->stream->device];
    if (!p->stack) make_stack(p);
    double host = a->host;
    a->host = p->under_way ? p->host : p->list.at[p->at].host;
    if (!p->under_way) p->now = p->from = app_clock_known(p->stream);
    p->under_way = true;
    p->ready = NULL;
    here = p;
    int device = app_device_now();
    app_device_use(p->device);
    swap_state(d);
    swapcontext(&p->back, &p->own);
    swap_state(d);
    app_device_use(device);
    here = NULL;
    p->host = a->host;
    a->host = host;
    p->turn = ++turns;
    if (p->at == p->list.n) remove_pending(p);
}

bool app_pending_go(bool at_once) {
    app_pending *p = here ? NULL : whose_turn(at_once);
    if (p) go_on(p);
    return p != NULL;
}

static void give_turn(void) { swapcontext(&here->own, &here->back); }

void app_pending_until(bool (*ready)(const void *), const void *arg) {
    while (!ready(arg)) {
        here->ready = ready;
        here->arg = arg;
        give_turn();
    }
}

// Without a time of its own a round of thread blocks is a microsecond. Now and then other threads of the
// program have a chance, too: who waits gives it to them.
bool app_pending_turn(double ns) {
    app_pending *p = here;
    if (!p) return true;
    p->now = ns < 0 ? p->now + 1e3 : p->from + ns;
    p->turn = ++turns;
    if (turns % 64 == 0 || whose_turn(false) != p) give_turn();
    return !the_app.sticky && !the_app.progress.stopped;
}

bool app_pending_beside(void) {
    for (const app_pending *p = first; p; p = p->next)
        if (p != here && p->under_way) return true;
    return false;
}

// ---- waiting for them ---------------------------------------------------------------------------------
bool app_pending_uses(const app_event *ev) {
    for (const app_pending *p = first; p; p = p->next)
        for (size_t i = p->at; i < p->list.n; i++)
            if (p->list.at[i].call.event == ev) return true;
    return false;
}

static bool any(const app_stream *s, int device) {
    for (const app_pending *p = first; p; p = p->next)
        if ((s && (p->stream == s || related(s, p->stream))) ||
            (!s && (device < 0 || p->stream->device == device)))
            return true;
    return false;
}

static void finish(const app_stream *s, int device) {
    while (!here && any(s, device)) {
        if (!app_pending_go(false)) app_wait_change();
        app_let_others();
    }
}

bool app_pending_blocks(const app_stream *s) { return any(s, -1); }
void app_pending_finish(const app_stream *s) { finish(s, -1); }
void app_pending_finish_device(int index) { finish(NULL, index); }
void app_pending_finish_all(void) { finish(NULL, -1); }

bool app_pending_try(const app_stream *s) {
    for (int n = 0; n < TRIES && !here && any(s, -1) && app_pending_go(false); n++) continue;
    return here || !any(s, -1);
}

void app_pending_end(void) {
    while (app_pending_go(false)) continue;
    int left = 0;
    for (const app_pending *p = first; p; p = p->next) left++;
    if (left) app_say("the program ends while %d streams wait for something that nobody has asked for", left);
}
