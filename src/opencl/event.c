// Commands and events: what waits for what, when it runs, how long it took.
//
// A queue in order has each command wait for the one before; one out of order for the last barrier. A command
// whose waits are over runs at once, in the thread that made them so. Its time is simulated: it starts when
// its queue, its waits and the part of the GPU that it needs allow (app/clock.c), whatever the host took.
#include "opencl/functions.h"

#include <stdlib.h>
#include <string.h>

// ---- events -----------------------------------------------------------------------------------------
static cl_event new_event(cl_context c, cl_command_queue q, cl_command_type type, cl_int status) {
    cl_event e = cl_new(sizeof *e, KIND_EVENT);
    e->context = c;
    e->queue = q;
    e->type = type;
    e->status = status;
    e->queued = e->start = e->end = the_app.host;
    c->head.refs++;
    if (q) q->head.refs++;
    return e;
}

void cl_event_drop(cl_event e) {
    if (--e->head.refs) return;
    for (notice *n = e->notices; n;) {
        notice *next = n->next;
        free(n);
        n = next;
    }
    if (e->queue) cl_clReleaseCommandQueue(e->queue);
    cl_drop_context(e->context);
    e->head.kind = 0;
    free(e);
}

// Callbacks that are due, called when the lock is given back.
typedef struct due {
    notice notice;
    cl_event event;
    cl_int status;
    struct due *next;
} due;
static due *dues, **dues_end = &dues;

static void set_status(cl_event e, cl_int status) {
    e->status = status;
    for (notice **n = &e->notices; *n;) {
        notice *x = *n;
        if (status > x->status) {
            n = &x->next;
            continue;
        }
        *n = x->next;
        due *d = orr_calloc(1, sizeof *d);
        *d = (due){*x, e, status < 0 ? status : x->status, NULL};
        e->head.refs++;
        *dues_end = d;
        dues_end = &d->next;
        free(x);
    }
    if (status <= CL_COMPLETE) cl_wake();
}

// Gives the lock back and calls what is due. A callback may call OpenCL again.
static void leave(void) {
    due *list = dues;
    dues = NULL;
    dues_end = &dues;
    cl_unlock();
    while (list) {
        due *next = list->next;
        list->notice.call(list->event, list->status, list->notice.user);
        cl_lock();
        cl_event_drop(list->event);
        cl_unlock();
        free(list);
        list = next;
    }
}

// ---- commands ---------------------------------------------------------------------------------------
static void free_command(command *c) {
    for (cl_uint i = 0; i < c->nwaits; i++) cl_event_drop(c->waits[i]);
    for (int i = 0; i < 2; i++)
        if (c->mem[i]) cl_drop_mem(c->mem[i]);
    if (c->done) c->done(c);
    free(c->waits);
    free(c->data);
    cl_event_drop(c->event);
    free(c);
}

static void run_command(command *c) {
    cl_event e = c->event;
    app_stream *s = &e->queue->stream;
    bool failed = false;
    double ready = e->queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? 0 : s->end;
    for (cl_uint i = 0; i < c->nwaits; i++) {
        failed |= c->waits[i]->status < 0;
        if (c->waits[i]->end > ready) ready = c->waits[i]->end;
    }
    s->end = ready;
    e->start = e->end = app_clock_start(s, ENGINE_NONE);
    set_status(e, CL_SUBMITTED);
    set_status(e, CL_RUNNING);
    cl_int error = failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : c->run ? c->run(c) : CL_SUCCESS;
    if (s->end < e->end) s->end = e->end;
    set_status(e, error < 0 ? error : CL_COMPLETE);
}

void cl_took(command *c, int engine, const char *name, uint64_t bytes, const void *device) {
    app *a = &the_app;
    app_stream *s = &c->event->queue->stream;
    double rate = engine == ENGINE_WITHIN ? a->gpu->dram_bandwidth / 2 : a->gpu->host_bandwidth; // bytes a ns
    double ns = rate > 0 ? (double)bytes / rate : 0, start = app_clock_start(s, engine);
    app_clock_done(s, engine, (app_span){.name = name, .from = start, .to = start + ns, .bytes = bytes});
    c->event->start = start;
    c->event->end = s->end;
    a->times.copies++;
    a->times.copy_bytes += bytes;
    a->times.copy_ns += ns;
    orr_err e = {0};
    if (engine == ENGINE_IN && a->model->copy)
        a->model->copy(a->gpu, (uintptr_t)device, bytes, &a->result, &e);
}

static bool ready(const command *c) {
    for (cl_uint i = 0; i < c->nwaits; i++)
        if (c->waits[i]->status > CL_COMPLETE) return false;
    return true;
}

// All queues whose commands have not run: few, and only while a user event is waited for.
static ORR_VEC(cl_command_queue) busy;

static bool run_ready(cl_command_queue q) {
    bool any = false;
    for (command **at = &q->first; *at;) {
        command *c = *at;
        if (!ready(c)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (q->end == &c->next) q->end = at;
        run_command(c);
        free_command(c); // the queue may go with it, but for what follows in it, and the caller's reference
        any = true;
        at = &q->first;
    }
    return any;
}

static void progress(void) {
    for (bool any = true; any;) {
        any = false;
        for (size_t i = busy.n; i-- > 0;) { // from the end: one that has nothing left is replaced by the last
            cl_command_queue q = busy.at[i];
            q->head.refs++;
            any |= run_ready(q);
            if (!q->first) {
                busy.at[i] = busy.at[--busy.n];
                cl_clReleaseCommandQueue(q); // the list's
            }
            cl_clReleaseCommandQueue(q);
        }
    }
}

cl_int cl_check_waits(cl_command_queue q, cl_uint n, const cl_event *waits) {
    if (!n != !waits) return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < n; i++) {
        if (!cl_is(waits[i], KIND_EVENT)) return CL_INVALID_EVENT_WAIT_LIST;
        if (waits[i]->context != q->context) return CL_INVALID_CONTEXT;
    }
    return CL_SUCCESS;
}

cl_int cl_wait(cl_event e) {
    while (e->status > CL_COMPLETE) cl_sleep();
    app_clock_wait(e->end);
    return e->status < 0 ? e->status : CL_SUCCESS;
}

// What a command waits for beside the list: markers and barriers for everything before, others for the last
// command (in order) or barrier (out of order).
static void add_waits(cl_command_queue q, command *c, cl_uint n, const cl_event *waits, bool all) {
    size_t pending = 0;
    for (command *x = q->first; x && all; x = x->next) pending++;
    c->waits = orr_calloc(n + pending + 1, sizeof *c->waits);
    for (cl_uint i = 0; i < n; i++) c->waits[c->nwaits++] = waits[i];
    for (command *x = q->first; x && all; x = x->next) c->waits[c->nwaits++] = x->event;
    if (q->last) c->waits[c->nwaits++] = q->last;
    for (cl_uint i = 0; i < c->nwaits; i++) c->waits[i]->head.refs++;
}

cl_int cl_enqueue(const request *r, command *c) {
    cl_command_queue q = r->queue;
    cl_command_type type = r->type;
    bool out_of_order = q->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    bool sync = type == CL_COMMAND_MARKER || type == CL_COMMAND_BARRIER;
    for (int i = 0; i < 2; i++)
        if (c->mem[i]) c->mem[i]->head.refs++;
    add_waits(q, c, r->n, r->waits, sync && !r->n && out_of_order);
    cl_event e = c->event = new_event(q->context, q, type, CL_QUEUED);
    e->head.refs++; // ours, until we leave
    if (sync && !r->n && out_of_order && q->stream.end > e->queued) e->end = q->stream.end;
    if (!out_of_order || type == CL_COMMAND_BARRIER) {
        if (q->last) cl_event_drop(q->last);
        q->last = e;
        e->head.refs++;
    }
    if (!q->first) {
        bool listed = false;
        for (size_t i = 0; i < busy.n; i++) listed |= busy.at[i] == q;
        if (!listed) {
            *ORR_PUSH(&busy) = q;
            q->head.refs++;
        }
        q->end = &q->first;
    }
    while (*q->end) q->end = &(*q->end)->next;
    *q->end = c;
    q->end = &c->next;
    progress();
    cl_int error = CL_SUCCESS;
    if (r->blocking) error = cl_wait(e);
    if (!error && e->status < 0 && type == CL_COMMAND_NDRANGE_KERNEL) error = e->status;
    if (r->event && !error) {
        *r->event = e;
        e->head.refs++;
    }
    cl_event_drop(e);
    leave();
    return error;
}

// ---- what programs call -----------------------------------------------------------------------------
static cl_int sync_point(cl_command_queue q, cl_command_type type, cl_uint n, const cl_event *waits,
                         cl_event *event) {
    if (!cl_is(q, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    cl_int error = cl_check_waits(q, n, waits);
    if (error) return error;
    cl_lock();
    return cl_enqueue(&(request){q, type, false, n, waits, event}, orr_calloc(1, sizeof(command)));
}
cl_int cl_clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event) {
    return sync_point(q, CL_COMMAND_MARKER, n, waits, event);
}
cl_int cl_clEnqueueBarrierWithWaitList(cl_command_queue q, cl_uint n, const cl_event *waits,
                                       cl_event *event) {
    return sync_point(q, CL_COMMAND_BARRIER, n, waits, event);
}
cl_int cl_clEnqueueMarker(cl_command_queue q, cl_event *event) {
    return event ? sync_point(q, CL_COMMAND_MARKER, 0, NULL, event) : CL_INVALID_VALUE;
}
cl_int cl_clEnqueueBarrier(cl_command_queue q) { return sync_point(q, CL_COMMAND_BARRIER, 0, NULL, NULL); }
cl_int cl_clEnqueueWaitForEvents(cl_command_queue q, cl_uint n, const cl_event *waits) {
    if (!n || !waits) return CL_INVALID_VALUE;
    cl_int error = sync_point(q, CL_COMMAND_BARRIER, n, waits, NULL);
    return error == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : error;
}

cl_int cl_clFlush(cl_command_queue q) { return cl_is(q, KIND_QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE; }

cl_int cl_clFinish(cl_command_queue q) {
    if (!cl_is(q, KIND_QUEUE)) return CL_INVALID_COMMAND_QUEUE;
    cl_lock();
    q->head.refs++;
    while (q->first) cl_sleep();
    app_clock_wait(app_clock_end(&q->stream));
    cl_clReleaseCommandQueue(q);
    leave();
    return CL_SUCCESS;
}

cl_int cl_clWaitForEvents(cl_uint n, const cl_event *events) {
    if (!n || !events) return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < n; i++) {
        if (!cl_is(events[i], KIND_EVENT)) return CL_INVALID_EVENT;
        if (events[i]->context != events[0]->context) return CL_INVALID_CONTEXT;
    }
    cl_int error = CL_SUCCESS;
    cl_lock();
    for (cl_uint i = 0; i < n; i++)
        if (cl_wait(events[i])) error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    leave();
    return error;
}

cl_event cl_clCreateUserEvent(cl_context c, cl_int *error) {
    cl_event e = NULL;
    if (cl_is(c, KIND_CONTEXT)) {
        cl_lock();
        e = new_event(c, NULL, CL_COMMAND_USER, CL_SUBMITTED);
        cl_unlock();
    }
    if (error) *error = e ? CL_SUCCESS : CL_INVALID_CONTEXT;
    return e;
}

cl_int cl_clSetUserEventStatus(cl_event e, cl_int status) {
    if (!cl_is(e, KIND_EVENT) || e->type != CL_COMMAND_USER) return CL_INVALID_EVENT;
    if (status > CL_COMPLETE) return CL_INVALID_VALUE;
    cl_lock();
    if (e->status <= CL_COMPLETE) {
        cl_unlock();
        return CL_INVALID_OPERATION;
    }
    e->end = the_app.host;
    set_status(e, status);
    progress();
    leave();
    return CL_SUCCESS;
}

cl_int cl_clSetEventCallback(cl_event e, cl_int status, void(CL_CALLBACK *call)(cl_event, cl_int, void *),
                             void *user) {
    if (!cl_is(e, KIND_EVENT)) return CL_INVALID_EVENT;
    if (!call || (status != CL_SUBMITTED && status != CL_RUNNING && status != CL_COMPLETE))
        return CL_INVALID_VALUE;
    cl_lock();
    notice *n = orr_calloc(1, sizeof *n);
    *n = (notice){status, call, user, e->notices};
    e->notices = n;
    set_status(e, e->status);
    leave();
    return CL_SUCCESS;
}

cl_int cl_clRetainEvent(cl_event e) {
    if (!cl_is(e, KIND_EVENT)) return CL_INVALID_EVENT;
    cl_lock();
    e->head.refs++;
    cl_unlock();
    return CL_SUCCESS;
}
cl_int cl_clReleaseEvent(cl_event e) {
    if (!cl_is(e, KIND_EVENT)) return CL_INVALID_EVENT;
    cl_lock();
    cl_event_drop(e);
    cl_unlock();
    return CL_SUCCESS;
}

cl_int cl_clGetEventInfo(cl_event e, cl_event_info what, size_t room, void *value, size_t *size) {
    if (!cl_is(e, KIND_EVENT)) return CL_INVALID_EVENT;
    switch (what) {
    case CL_EVENT_COMMAND_QUEUE: ANSWER(cl_command_queue, e->queue);
    case CL_EVENT_CONTEXT: ANSWER(cl_context, e->context);
    case CL_EVENT_COMMAND_TYPE: ANSWER(cl_command_type, e->type);
    case CL_EVENT_COMMAND_EXECUTION_STATUS: ANSWER(cl_int, e->status);
    case CL_EVENT_REFERENCE_COUNT: ANSWER(cl_uint, e->head.refs);
    default: return CL_INVALID_VALUE;
    }
}

cl_int cl_clGetEventProfilingInfo(cl_event e, cl_profiling_info what, size_t room, void *value,
                                  size_t *size) {
    if (!cl_is(e, KIND_EVENT)) return CL_INVALID_EVENT;
    if (!e->queue || !(e->queue->properties & CL_QUEUE_PROFILING_ENABLE) || e->status != CL_COMPLETE)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    switch (what) {
    case CL_PROFILING_COMMAND_QUEUED:
    case CL_PROFILING_COMMAND_SUBMIT: ANSWER(cl_ulong, (cl_ulong)e->queued);
    case CL_PROFILING_COMMAND_START: ANSWER(cl_ulong, (cl_ulong)e->start);
    case CL_PROFILING_COMMAND_END:
    case CL_PROFILING_COMMAND_COMPLETE: ANSWER(cl_ulong, (cl_ulong)e->end);
    default: return CL_INVALID_VALUE;
    }
}
