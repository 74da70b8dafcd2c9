// Launches of several streams at the same time.
//
// A program's operations are done when it asks for them (run.c), but when they happened can be known only
// later: a kernel in another stream may run beside this one. So what is in streams is kept as a list of
// operations, each with those it waits for, until somebody asks for the time (a synchronisation, an event,
// the end); then kernels that can run at the same time are given to the model as a group (orr_group_run), and
// everything else follows from when they end. A model that simulates groups itself gets what the kernels did
// from a tape; others have timed each kernel by itself, and share by rule.
//
// This is done from the moment a program makes a stream of its own. Launches whose threads see each other's
// accesses, and those that go elsewhere (--on gpu, --record) are timed at once, alone.
//
// The ranks of a cluster ask for the time at different times, so each GPU has a list of its own there. Every
// model times its launches by themselves there and shares by rule, because launches that are alike are
// simulated once.
//
// A kernel that may start early (programmatic launch) has the kernel ahead of it in its stream as `ahead`: it
// is launched with that one, in the same group, and the model says when it starts. Where the two cannot be in
// one group it starts when that one has ended, without launch overhead but for launch.early_wait.
//
// An operation names others by their place in the list and the list's number: when it has been emptied, all
// of them have happened and their streams say when.
#include "app/app.h"
#include "isa/observable.h"
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 4096, MOST_MEMBERS = 256 };
#define TAPE_MEMORY ((uint64_t)256 << 20)

typedef struct op {
    app_stream *stream;
    int rank;       // that asked for it
    uint8_t engine; // ENGINE_NONE: it takes no time
    const char *name;
    double ns; // of what is not a kernel
    uint64_t bytes;
    double host; // ns: not before
    ORR_VEC(size_t) needs;
    size_t ahead;     // + 1: of a kernel, the one that it need not wait for; 0: there is none
    app_event *event; // that it is recorded as
    const orr_kernel *kernel;
    orr_launch_info info;
    size_t item;   // of the tape,
    size_t result; // or in the result, of a kernel that has been timed
    bool timed, done;
    double launched; // ns: of a kernel that may be under way; INFINITY: it is not
    double from, end;
} op;

typedef struct list {
    ORR_VEC(op) ops;
    uint64_t number; // a new one each time it has been emptied
    orr_tape *tape;
    int rank; // the last that put something into it
} list;
static list *lists, *queue; // queue: the one that is worked on
static size_t nlists;
static bool busy;

static uint64_t next_number(void) {
    static uint64_t number;
    return ++number;
}

// From now on the list of this device is worked on.
static void choose(int device) {
    if (!nlists) {
        nlists = app_in_cluster() ? (size_t)the_app.ndevices : 1;
        lists = orr_calloc(nlists, sizeof *lists);
        for (size_t i = 0; i < nlists; i++) lists[i].number = next_number();
    }
    queue = &lists[nlists > 1 ? device : 0];
}

// ---- the list -----------------------------------------------------------------------------------
bool app_queue_on(void) {
    const app *a = &the_app;
    return a->streams.overlap && a->model->needs_gpu && !a->record && !a->asked.on_gpu &&
           !a->asked.counts_only && !busy;
}

bool app_queue_groups(void) { return the_app.model->run_group && !app_in_cluster(); }

static void flush(list *l);

static void need(op *o, app_op_ref r) {
    if (r.list == queue->number) *ORR_PUSH(&o->needs) = r.at;
}

// An operation of a stream comes after the stream's last one; the legacy default stream and those that do not
// say otherwise wait for each other.
static op *add(app_stream *s, int engine, const char *name) {
    app *a = &the_app;
    choose(s->device);
    if (queue->ops.n >= MOST_OPS) flush(queue);
    app_device *d = &a->devices[s->device];
    op o = {.stream = s,
            .rank = queue->rank = app_rank_now(),
            .engine = (uint8_t)engine,
            .name = name,
            .host = app_clock_known(s),
            .launched = INFINITY};
    need(&o, s->last);
    if (s == &d->legacy) {
        for (const app_stream *t = a->streams.first; t; t = t->next)
            if (t->device == s->device && !(t->flags & 1)) need(&o, t->last);
        need(&o, d->per_thread.last);
    } else if (!(s->flags & 1)) {
        need(&o, d->legacy.last);
    }
    for (size_t i = queue->ops.n; engine != ENGINE_NONE && engine != ENGINE_KERNELS && i-- > 0;)
        if (queue->ops.at[i].engine == engine && queue->ops.at[i].stream->device == s->device) {
            *ORR_PUSH(&o.needs) = i;
            break;
        }
    s->last = (app_op_ref){queue->number, queue->ops.n};
    op *at = ORR_PUSH(&queue->ops);
    *at = o;
    return at;
}

void app_queue_add(app_stream *s, int engine, const char *name, double ns, uint64_t bytes) {
    op *o = add(s, engine, name);
    o->ns = ns;
    o->bytes = bytes;
}

void app_queue_record(app_stream *s, app_event *ev) {
    op *o = add(s, ENGINE_NONE, "");
    o->event = ev;
    ev->at = s->last;
}

void app_queue_wait(app_stream *s, const app_event *ev) {
    choose(s->device);
    for (size_t i = 0; i < nlists; i++) // of another device
        if (&lists[i] != queue && lists[i].number == ev->at.list) flush(&lists[i]);
    choose(s->device);
    if (ev->at.list != queue->number) {
        if (ev->when > s->end) s->end = ev->when;
        return;
    }
    need(add(s, ENGINE_NONE, ""), ev->at);
}

app_op_ref app_queue_fork(app_stream *s, const app_op_ref *needs, size_t n) {
    choose(s->device);
    op o = {
        .stream = s, .rank = app_rank_now(), .engine = ENGINE_NONE, .name = "", .host = app_clock_known(s)};
    for (size_t i = 0; i < n; i++) need(&o, needs[i]);
    s->last = (app_op_ref){queue->number, queue->ops.n};
    *ORR_PUSH(&queue->ops) = o;
    return s->last;
}

// ---- kernels ------------------------------------------------------------------------------------
bool app_queue_takes(const orr_launch *l) {
    return app_queue_on() && (!app_queue_groups() || !orr_launch_observable(l));
}

// The kernels that an operation waits for, itself or by operations that take no time: how many, and the last
// one. Of anything else that has not happened yet: two, so that it is none of them.
static int kernels_ahead(const op *o, size_t *which) {
    int n = 0;
    for (size_t i = 0; i < o->needs.n; i++) {
        const op *b = &queue->ops.at[o->needs.at[i]];
        if (b->done) continue;
        if (b->engine == ENGINE_NONE) {
            n += kernels_ahead(b, which);
        } else if (n && *which == o->needs.at[i]) {
            continue;
        } else {
            n += b->engine == ENGINE_KERNELS ? 1 : 2;
            *which = o->needs.at[i];
        }
    }
    return n;
}

static op *add_kernel(app_stream *s, const orr_launch *l, bool early) {
    op *o = add(s, ENGINE_KERNELS, l->kernel->name);
    size_t which = 0;
    if (early && kernels_ahead(o, &which) == 1) o->ahead = which + 1;
    o->kernel = l->kernel;
    o->info = orr_info_of(l);
    the_app.host += the_app.gpu->launch_latency * 1e3;
    return o;
}

// Executes it: what it did is timed later.
bool app_queue_launch(app_stream *s, const orr_launch *l, bool early, orr_err *e) {
    choose(s->device);
    if (!queue->tape) queue->tape = orr_tape_new(TAPE_MEMORY);
    if (!orr_tape_launch(queue->tape, l, the_app.asked.threads, NULL, e)) return false;
    op *o = add_kernel(s, l, early);
    o->item = orr_tape_items(queue->tape) - 1;
    return true;
}

// It has been timed, with the GPU to itself.
void app_queue_timed(app_stream *s, const orr_launch *l, bool early, size_t result) {
    op *o = add_kernel(s, l, early);
    o->timed = true;
    o->result = result;
}

// ---- when it happened ---------------------------------------------------------------------------
// When it is done, and with a kernel that started early what that need not have waited for; INFINITY: not
// known yet.
static double over(const op *o) {
    double t = o->done ? o->end : INFINITY;
    return o->ahead ? fmax(t, over(&queue->ops.at[o->ahead - 1])) : t;
}

// When it can begin; INFINITY: something that it waits for has not been timed.
static double ready(const op *o) {
    double t = o->host;
    const op *ahead = o->ahead ? &queue->ops.at[o->ahead - 1] : NULL;
    if (ahead && !ahead->done) return fmax(t, ahead->launched);
    for (size_t i = 0; i < o->needs.n; i++) t = fmax(t, over(&queue->ops.at[o->needs.at[i]]));
    if (ahead && isfinite(t)) { // that one was not in a group with it
        const orr_gpu *g = the_app.gpu;
        double early = (g->launch_overhead - g->launch_early_wait) * 1e3 / g->clock_sm;
        if (early > 0) t = fmax(o->host, t - early);
    }
    const app_device *d = &the_app.devices[o->stream->device];
    bool engine = o->engine != ENGINE_NONE && o->engine != ENGINE_KERNELS;
    return engine && d->engine[o->engine] > t ? d->engine[o->engine] : t;
}

static void finish(op *o, double from, double end) {
    app_stream *s = o->stream;
    o->done = true;
    o->from = from;
    o->end = end;
    if (end > s->end) s->end = end;
    if (o->event) o->event->when = end;
    if (o->engine == ENGINE_NONE) return;
    app_device *d = &the_app.devices[s->device];
    if (end > d->engine[o->engine]) d->engine[o->engine] = end;
    app_clock_span(s, o->engine,
                   (app_span){.name = o->name,
                              .from = from,
                              .to = end,
                              .bytes = o->bytes,
                              .rank = o->rank,
                              .launch = o->info.index});
}

// Everything that waits for no kernel any more. Operations only wait for earlier ones.
static void settle(void) {
    for (size_t i = 0; i < queue->ops.n; i++) {
        op *o = &queue->ops.at[i];
        if (o->done || o->engine == ENGINE_KERNELS) continue;
        double t = ready(o);
        if (isfinite(t)) finish(o, t, t + o->ns);
    }
}

typedef struct launches { // a group, and which operation each member is
    orr_launch_group group;
    double t0;
    op *op[MOST_MEMBERS];
    orr_player player[MOST_MEMBERS];
} launches;

static void set_launched(launches *l) {
    for (uint32_t i = 0; i < l->group.n; i++) {
        orr_member *m = &l->group.at[i];
        if (m->ran || isfinite(m->launched)) continue;
        double t = ready(l->op[i]);
        if (!isfinite(t)) continue;
        m->launched = t - l->t0;
        l->op[i]->launched = t;
    }
}

// Kernels of a device that ran while others did: spans come group by group, sorted by their starts here.
static int by_start(const void *a, const void *b) {
    const op *x = *(op *const *)a, *y = *(op *const *)b;
    return (x->from > y->from) - (x->from < y->from);
}
static double overlap(void) {
    double sum = 0;
    op **all = orr_malloc((queue->ops.n + 1) * sizeof *all);
    for (int device = 0; device < the_app.ndevices; device++) {
        size_t n = 0;
        for (size_t i = 0; i < queue->ops.n; i++)
            if (queue->ops.at[i].engine == ENGINE_KERNELS && queue->ops.at[i].stream->device == device)
                all[n++] = &queue->ops.at[i];
        qsort(all, n, sizeof *all, by_start);
        double until = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            double both = fmin(until, all[i]->end) - all[i]->from;
            if (both > 0) sum += both;
            until = fmax(until, all[i]->end);
        }
    }
    free(all);
    return sum;
}

static void kernel_ended(op *o, double from, double end) {
    app *a = &the_app;
    app_rank *r = app_in_cluster() ? app_rank_of(o->rank) : app_rank_self();
    finish(o, from, end);
    a->times.launches++;
    a->times.kernel_ns += end - from;
    a->devices[o->stream->device].launches++;
    a->devices[o->stream->device].kernel_ns += end - from;
    if (r) r->launches++;
    if (r) r->kernel_ns += end - from;
    if (app_in_cluster()) app_kernel_count(o->kernel, end - from);
    a->times.gap_ns += a->gpu->launch_latency * 1e3;
}

static void ended(orr_launch_group *g, orr_member *m) {
    launches *l = (launches *)g; // its first field
    kernel_ended(l->op[m - g->at], l->t0 + m->from, l->t0 + m->end);
    settle();
    set_launched(l);
}

// The kernel that can start first, and those of its device that may run beside it.
static bool gather(launches *l) {
    op *first = NULL;
    uint32_t n = 0;
    l->t0 = INFINITY;
    for (size_t i = 0; i < queue->ops.n; i++) {
        op *o = &queue->ops.at[i];
        double t = o->done || o->engine != ENGINE_KERNELS ? INFINITY : ready(o);
        if (t < l->t0) {
            first = o;
            l->t0 = t;
        }
    }
    if (!first) return false;
    l->op[n++] = first;
    for (size_t i = 0; i < queue->ops.n && n < MOST_MEMBERS; i++) {
        op *o = &queue->ops.at[i];
        bool may = !o->done && o->engine == ENGINE_KERNELS && o->stream->device == first->stream->device;
        if (may && o != first) l->op[n++] = o;
    }
    l->group.n = n;
    return true;
}

// Does the operation wait for the other, directly or not?
static bool waits_for(const op *o, size_t other) {
    for (size_t i = 0; i < o->needs.n; i++)
        if (o->needs.at[i] == other ||
            (o->needs.at[i] > other && waits_for(&queue->ops.at[o->needs.at[i]], other)))
            return true;
    return false;
}

static bool run_group(launches *l, orr_err *e) {
    app *a = &the_app;
    uint32_t n = l->group.n, others = 0;
    size_t first = (size_t)(l->op[0] - queue->ops.at);
    for (uint32_t i = 1; i < n; i++) others += !waits_for(l->op[i], first) || l->op[i]->ahead == first + 1;
    if (!others) l->group.n = n = 1; // all others come after it
    l->group.at = orr_calloc(n, sizeof *l->group.at);
    l->group.ended = ended;
    for (uint32_t i = 0; i < n; i++) {
        op *o = l->op[i];
        orr_member *m = &l->group.at[i];
        *m = (orr_member){
            .priority = o->stream->priority, .launched = INFINITY, .result = o->result, .timed = o->timed};
        for (uint32_t k = 0; k < i && o->ahead; k++)
            if (l->op[k] == &queue->ops.at[o->ahead - 1]) m->after = k + 1;
        m->work = (orr_work){
            .info = o->info, .threads = a->asked.threads, .progress = a->asked.quiet ? NULL : &a->progress};
        if (!o->timed) m->work.source = orr_player_open(&l->player[i], queue->tape, o->item);
        m->work.info = o->info;
    }
    set_launched(l);
    orr_model model = *a->model;
    if (!app_queue_groups()) model.run_group = NULL;
    bool ok = orr_group_run(&model, a->gpu, &l->group, &a->result, e);
    for (uint32_t i = 0; i < n; i++) orr_player_free(&l->player[i]);
    memset(l->player, 0, sizeof l->player);
    free(l->group.at);
    l->group.at = NULL;
    return ok;
}

static void flush(list *l) {
    if (!l->ops.n || busy) return;
    busy = true;
    queue = l;
    launches *all = orr_calloc(1, sizeof *all);
    orr_err e = {0};
    double before = orr_seconds();
    settle();
    while (!e.status && gather(all))
        if (!run_group(all, &e)) app_say("%s", e.text);
    the_app.result.host.seconds += orr_seconds() - before;
    if (!e.status) the_app.times.overlap_ns += overlap();
    for (size_t i = 0; i < queue->ops.n; i++) free(queue->ops.at[i].needs.at);
    queue->ops.n = 0;
    queue->number = next_number();
    orr_tape_free(queue->tape);
    queue->tape = NULL;
    busy = false;
    free(all);
}

void app_queue_flush(void) {
    int rank = app_rank_now();
    for (size_t i = 0; i < nlists; i++)
        if (lists[i].rank == rank) flush(&lists[i]);
}

void app_queue_flush_of(int device) {
    if (nlists) flush(&lists[nlists > 1 ? device : 0]);
}

void app_queue_flush_all(void) {
    for (size_t i = 0; i < nlists; i++) flush(&lists[i]);
}
