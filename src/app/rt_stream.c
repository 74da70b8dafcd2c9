// The runtime API: streams, events, and what is put into streams that is neither a kernel nor a copy.
#include "app/pending.h"
#include "app/rt.h"

#include <stdlib.h>
#include <string.h>

// ---- streams --------------------------------------------------------------------------------------------
int app_stream_new(void **stream, unsigned flags, int priority) {
    app *a = &the_app;
    if (!stream || flags > 1) return E_VALUE;
    app_stream *s = orr_calloc(1, sizeof *s);
    *s = (app_stream){.id = a->streams.next_id++,
                      .device = app_device_index(app_device_now()),
                      .flags = flags,
                      .priority = priority,
                      .next = a->streams.first};
    a->streams.first = s;
    a->streams.overlap = true;
    *stream = s;
    return E_OK;
}

int app_stream_delete(void *stream) {
    app_stream *s = app_stream_of(stream);
    if (!s || s->id < 2) return E_HANDLE; // the default ones
    app_pending_finish(s);
    app_clock_wait(0);
    app_stream *legacy = &the_app.devices[s->device].legacy;
    if (s->end > legacy->end) legacy->end = s->end; // what is in it is finished first
    for (app_stream **p = &the_app.streams.first; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    free(s->tail.at);
    free(s);
    return E_OK;
}

RT(cudaStreamCreateWithPriority)(void **stream, unsigned flags, int priority) {
    ENTER();
    return app_leave(app_stream_new(stream, flags, priority));
}
RT(cudaStreamCreateWithFlags)(void **stream, unsigned flags) {
    return orr_cudaStreamCreateWithPriority(stream, flags, 0);
}
RT(cudaStreamCreate)(void **stream) { return orr_cudaStreamCreateWithPriority(stream, 0, 0); }
RT(cudaStreamDestroy)(void *stream) {
    ENTER();
    return app_leave(app_stream_delete(stream));
}

#define STREAM()                                                                                             \
    ENTER();                                                                                                 \
    app_stream *s = app_stream_of(stream);                                                                   \
    if (!s) return app_leave(E_HANDLE)

RT_S(cudaStreamSynchronize)(void *stream) {
    STREAM();
    if (s->capture || s->joined) return app_leave(E_CAPTURE_UNSUPPORTED);
    app_pending_finish(s);
    app_clock_wait(app_clock_start(s, ENGINE_NONE));
    return app_leave(the_app.sticky);
}
// What need not wait is done when it is asked for: nothing of it is ever seen under way.
RT_S(cudaStreamQuery)(void *stream) {
    STREAM();
    if (!app_pending_try(s)) return app_leave(E_NOT_READY);
    app_leave(E_OK);
    return orr_cudaStreamSynchronize(stream);
}

RT_S(cudaStreamGetFlags)(void *stream, unsigned *flags) {
    STREAM();
    if (flags) *flags = s->flags;
    return app_leave(flags ? E_OK : E_VALUE);
}
RT_S(cudaStreamGetPriority)(void *stream, int *priority) {
    STREAM();
    if (priority) *priority = s->priority;
    return app_leave(priority ? E_OK : E_VALUE);
}
RT_S(cudaStreamGetId)(void *stream, unsigned long long *id) {
    STREAM();
    if (id) *id = s->id;
    return app_leave(id ? E_OK : E_VALUE);
}
RT_S(cudaStreamGetDevice)(void *stream, int *device) {
    STREAM();
    if (device) *device = s->device - app_device_index(0);
    return app_leave(device ? E_OK : E_VALUE);
}

RT_S(cudaLaunchHostFunc)(void *stream, void (*fn)(void *), void *user) {
    STREAM();
    app_call c = {.what = DO_HOST, .fn = fn, .user = user};
    return app_leave(fn ? app_submit(s, &c) : E_VALUE);
}
RT_S(cudaStreamAddCallback)(void *stream, void (*fn)(void *, int, void *), void *user, unsigned flags) {
    (void)flags;
    STREAM();
    if (!fn) return app_leave(E_VALUE);
    if (s->capture || s->joined) return app_leave(E_CAPTURE_UNSUPPORTED);
    app_pending_finish(s);
    app_clock_wait(app_clock_start(s, ENGINE_NONE));
    fn(stream, E_OK, user);
    return app_leave(E_OK);
}

// ---- events ------------------------------------------------------------------------------------
RT(cudaEventCreateWithFlags)(void **event, unsigned flags) {
    ENTER();
    if (!event) return app_leave(E_VALUE);
    app_event *ev = *event = orr_calloc(1, sizeof *ev);
    ev->flags = flags;
    return app_leave(E_OK);
}
RT(cudaEventCreate)(void **event) { return orr_cudaEventCreateWithFlags(event, 0); }
RT(cudaEventDestroy)(void *event) {
    ENTER();
    app_queue_flush();
    if (event && app_pending_uses(event)) app_pending_finish_all();
    if (event) free(((app_event *)event)->tail.at);
    free(event);
    return app_leave(event ? E_OK : E_HANDLE);
}

static int on_event(void *event, void *stream, int what) {
    STREAM();
    if (!event) return app_leave(E_HANDLE);
    app_call c = {.what = (uint8_t)what, .event = event};
    return app_leave(app_submit(s, &c));
}
RT_S(cudaEventRecord)(void *event, void *stream) { return on_event(event, stream, DO_RECORD); }
RT_S(cudaEventRecordWithFlags)(void *event, void *stream, unsigned flags) {
    (void)flags;
    return on_event(event, stream, DO_RECORD);
}
RT_S(cudaStreamWaitEvent)(void *stream, void *event, unsigned flags) {
    (void)flags;
    return on_event(event, stream, DO_WAIT);
}

RT(cudaEventSynchronize)(void *event) {
    ENTER();
    app_event *ev = event;
    if (!ev) return app_leave(E_HANDLE);
    if (ev->asked_of) app_pending_finish(ev->asked_of);
    app_queue_flush();
    app_event_look(ev);
    if (ev->recorded) app_clock_wait(ev->when);
    return app_leave(the_app.sticky);
}
RT(cudaEventQuery)(void *event) {
    ENTER();
    const app_event *ev = event;
    if (ev && ev->asked_of && !app_pending_try(ev->asked_of)) return app_leave(E_NOT_READY);
    app_leave(E_OK);
    return orr_cudaEventSynchronize(event);
}

RT(cudaEventElapsedTime)(float *ms, void *start, void *end) {
    ENTER();
    const app_event *from = start, *to = end;
    if (!ms || !from || !to) return app_leave(ms ? E_HANDLE : E_VALUE);
    if (from->asked_of || to->asked_of) return app_leave(E_NOT_READY);
    if (!from->recorded || !to->recorded || (from->flags | to->flags) & 2) return app_leave(E_HANDLE);
    app_no_time();
    app_queue_flush();
    *ms = (float)((to->when - from->when) / 1e6);
    return app_leave(E_OK);
}
RT(cudaEventElapsedTime_v2)(float *ms, void *start, void *end) { // of 12.8 and later
    return orr_cudaEventElapsedTime(ms, start, end);
}

// ---- capture -----------------------------------------------------------------------------------
RT_S(cudaStreamBeginCapture)(void *stream, int mode) {
    (void)mode;
    STREAM();
    if (s->id == 0) return app_leave(E_CAPTURE_UNSUPPORTED);
    if (s->capture || s->joined) return app_leave(E_VALUE);
    s->tail.n = 0;
    s->capture = app_graph_new();
    s->capture->stream = s;
    return app_leave(E_OK);
}

RT_S(cudaStreamEndCapture)(void *stream, void **graph) {
    STREAM();
    if (graph) *graph = NULL;
    if (!s->capture) return app_leave(E_CAPTURE_UNMATCHED);
    app_graph *g = s->capture;
    if (graph) *graph = g; // NULL: who captures into a graph has it already
    s->capture = NULL;
    g->stream = NULL;
    for (app_stream *o = the_app.streams.first; o; o = o->next)
        if (o->joined == g) o->joined = NULL;
    for (int i = 0; i < the_app.ndevices; i++)
        if (the_app.devices[i].per_thread.joined == g) the_app.devices[i].per_thread.joined = NULL;
    return app_leave(E_OK);
}

RT_S(cudaStreamIsCapturing)(void *stream, int *status) {
    STREAM();
    if (status) *status = s->capture || s->joined;
    return app_leave(status ? E_OK : E_VALUE);
}
RT(cudaThreadExchangeStreamCaptureMode)(int *mode) { return mode ? E_OK : E_VALUE; }

// 13 tells of edge data too; 12's programs call _v2, 11's the first.
static int capture_info(void *stream, int *status, unsigned long long *id, void **graph, void ***needs,
                        size_t *n) {
    STREAM();
    app_graph *g = s->capture ? s->capture : s->joined;
    if (status) *status = g != NULL;
    if (id) *id = s->id + 1;
    if (graph) *graph = g;
    if (needs) *needs = g && g->last ? (void **)&g->last : NULL;
    if (n) *n = g && g->last;
    return app_leave(status ? E_OK : E_VALUE);
}
IN_12(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_v3) // of 12.3 and later
IN_12(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_v3_ptsz)
IN_13(cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_ptsz)
RT_13(cudaStreamGetCaptureInfo)
(void *stream, int *status, unsigned long long *id, void **graph, void ***needs, const void **edges,
 size_t *n) {
    if (edges) *edges = NULL;
    return capture_info(stream, status, id, graph, needs, n);
}
IN_11(stream_capture_info_12, cudaStreamGetCaptureInfo_ptsz)
IN_12(stream_capture_info_12, cudaStreamGetCaptureInfo_ptsz)
RT_11_12(cudaStreamGetCaptureInfo, stream_capture_info_12)
(void *stream, int *status, unsigned long long *id) {
    return capture_info(stream, status, id, NULL, NULL, NULL);
}
RT_S(cudaStreamGetCaptureInfo_v2)
(void *stream, int *status, unsigned long long *id, void **graph, void ***needs, size_t *n) {
    return capture_info(stream, status, id, graph, needs, n);
}

// ---- attributes
// Hints of how to keep the cache and when to synchronise: kept and told again, they change nothing here.
RT_S(cudaStreamSetAttribute)(void *stream, int which, const void *value) {
    STREAM();
    if (!value || which < 0 || which >= STREAM_ATTRIBUTES) return app_leave(E_VALUE);
    memcpy(s->attributes[which], value, sizeof *s->attributes);
    return app_leave(E_OK);
}
RT_S(cudaStreamGetAttribute)(void *stream, int which, void *value) {
    STREAM();
    if (!value || which < 0 || which >= STREAM_ATTRIBUTES) return app_leave(E_VALUE);
    memcpy(value, s->attributes[which], sizeof *s->attributes);
    return app_leave(E_OK);
}
RT_S(cudaStreamCopyAttributes)(void *to, void *stream) {
    STREAM();
    app_stream *t = app_stream_of(to);
    if (t) memcpy(t->attributes, s->attributes, sizeof s->attributes);
    return app_leave(t ? E_OK : E_HANDLE);
}
