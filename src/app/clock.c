// Simulated time. The program's operations are done one after another as it asks for them; here is when they
// would have happened on the GPU.
//
// The host is taken to be quick: a call costs it nothing but launches, which are launch.latency apart. A
// stream's operations follow each other; the legacy default stream and the streams that do not say otherwise
// wait for each other (CUDA C Programming Guide, "Implicit Synchronization"). Kernels of different streams
// run at the same time where queue.c says; the others share one engine. Copies in, out and within the GPU
// have one each. A copy takes its bytes over host.bandwidth, within the GPU twice its bytes over
// dram.bandwidth. The devices of a node share the host's clock and nothing else; what copies take on the
// node's links is in devices.c.
#include "app/pending.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TIMELINE = 1000000 };

static bool blocking(const app_stream *s) { return !(s->flags & 1); }

double app_clock_known(const app_stream *s) {
    const app *a = &the_app;
    const app_device *d = &a->devices[s->device];
    double t = s->end > a->host ? s->end : a->host;
    if (s == &d->legacy) {
        for (const app_stream *o = a->streams.first; o; o = o->next)
            if (o->device == s->device && blocking(o) && o->end > t) t = o->end;
        if (d->per_thread.end > t) t = d->per_thread.end;
    } else if (blocking(s) && d->legacy.end > t) {
        t = d->legacy.end;
    }
    return t;
}

double app_clock_start(app_stream *s, int engine) {
    app_queue_flush();
    app_queue_flush_of(s->device); // NCCL asks for other ranks' streams
    const app_device *d = &the_app.devices[s->device];
    double t = app_clock_known(s);
    if (engine != ENGINE_NONE && d->engine[engine] > t) t = d->engine[engine];
    return t;
}

enum { MPI_TRACK = 1000000 }; // where a rank's calls of MPI are shown, beside its streams

void app_clock_put(app_span span) {
    app *a = &the_app;
    if (!a->asked.timeline) return;
    if (a->timeline.spans.n < MAX_TIMELINE)
        *ORR_PUSH(&a->timeline.spans) = span;
    else
        a->timeline.left_out++;
}

// s: NULL for what the host does.
static void note(const app_stream *s, int engine, app_span span) {
    if (!the_app.asked.timeline) return;
    span.stream = s ? s->id : MPI_TRACK;
    span.device = s ? s->device : app_device_index(app_device_now());
    span.rank = app_rank_now();
    span.engine = (uint8_t)engine;
    app_clock_put(span);
}

void app_clock_done(app_stream *s, int engine, app_span span) {
    app *a = &the_app;
    s->end = span.to;
    if (engine == ENGINE_NONE) return;
    a->devices[s->device].engine[engine] = s->end;
    if (engine == ENGINE_KERNELS) a->host += a->gpu->launch_latency * 1e3;
    note(s, engine, span);
}

void app_clock_note(const app_stream *s, int engine, const char *name, double from, double to,
                    uint64_t bytes) {
    note(s, engine, (app_span){.name = name, .from = from, .to = to, .bytes = bytes});
}

void app_clock_span(const app_stream *s, int engine, app_span span) {
    span.stream = s->id;
    span.device = s->device;
    span.engine = (uint8_t)engine;
    app_clock_put(span);
}

double app_clock_end(app_stream *s) {
    app_pending_finish(s);
    app_queue_flush_of(s->device);
    return s->end;
}

void app_clock_wait(double until) {
    app_queue_flush();
    if (until > the_app.host) the_app.host = until;
}

double app_clock_device(int device) {
    app_pending_finish_device(device);
    app_queue_flush_of(device);
    const app *a = &the_app;
    const app_device *d = &a->devices[device];
    double t = d->legacy.end > d->per_thread.end ? d->legacy.end : d->per_thread.end;
    for (const app_stream *s = a->streams.first; s; s = s->next)
        if (s->device == device && s->end > t) t = s->end;
    return t > a->host ? t : a->host;
}

double app_clock_all(void) {
    double t = the_app.host;
    for (int i = 0; i < the_app.ndevices; i++) {
        double end = app_clock_device(i);
        if (end > t) t = end;
    }
    return t;
}

// ---- the timeline -------------------------------------------------------------------------------
// Chrome's event format (JSON), which ui.perfetto.dev opens: a track for each stream.
static const char *const engine_name[ENGINES] = {
    "", "kernel", "host to device", "device to host", "device to device", "between devices", "NCCL", "MPI"};

// A track for each stream of a device that something was in; 0 and 1 are the default streams.
static void name_streams(const app *a, orr_text *t) {
    const app_rank *ranks;
    size_t nranks = app_rank_all(&ranks),
           room = (size_t)(a->streams.next_id + 2 * (uint64_t)a->ndevices) + nranks;
    bool *named = orr_calloc(room, 1);
    for (size_t i = 0; i < a->timeline.spans.n; i++) {
        const app_span *s = &a->timeline.spans.at[i];
        size_t at = s->engine == ENGINE_MPI ? room - nranks + (size_t)s->rank
                    : s->stream > 1         ? s->stream
                                            : a->streams.next_id + 2 * (uint64_t)s->device + s->stream;
        if (at >= room || named[at]) continue;
        named[at] = true;
        int process = (app_in_cluster() ? s->rank : s->device) + 1;
        orr_text_add(
            t, ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%llu,\"name\":\"thread_name\",\"args\":{\"name\":\"",
            process, (unsigned long long)s->stream);
        orr_text_add(t,
                     s->engine == ENGINE_MPI ? "MPI"
                     : s->stream == 0        ? "default stream"
                                             : "stream %llu",
                     (unsigned long long)s->stream);
        orr_text_add(t, "\"}}");
    }
    free(named);
}

bool app_timeline_write(const char *path, orr_err *e) {
    const app *a = &the_app;
    orr_out out;
    if (!orr_out_open(&out, path, e)) return false;
    orr_text t = {0};
    orr_text_add(
        &t,
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"gpu\":\"%s\",\"model\":\"%s\",\"left_out\":%llu},\n"
        "\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":",
        a->result.gpu, a->result.model, (unsigned long long)a->timeline.left_out);
    orr_text_json(&t, a->result.input);
    orr_text_add(&t, "}}");
    const app_rank *ranks;
    for (int r = 0, n = app_in_cluster() ? (int)app_rank_all(&ranks) : 0; r < n; r++)
        orr_text_add(
            &t,
            ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"rank %d, node %d\"}}",
            r + 1, r, ranks[r].node);
    for (int d = 1; d < a->ndevices && !app_in_cluster(); d++)
        orr_text_add(&t,
                     ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"GPU %d\"}}",
                     d + 1, d);
    name_streams(a, &t);
    for (size_t i = 0; i < a->timeline.spans.n; i++) {
        const app_span *s = &a->timeline.spans.at[i];
        orr_text_add(
            &t, ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%llu,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\",\"name\":",
            (app_in_cluster() ? s->rank : s->device) + 1, (unsigned long long)s->stream, s->from / 1e3,
            (s->to - s->from) / 1e3, engine_name[s->engine]);
        orr_text_json(&t, s->name);
        if (s->engine == ENGINE_KERNELS)
            orr_text_add(&t, ",\"args\":{\"launch\":%u}}", s->launch);
        else
            orr_text_add(&t, ",\"args\":{\"bytes\":%llu}}", (unsigned long long)s->bytes);
        if (t.n > 1 << 20) {
            fwrite(t.s, 1, t.n, out.f);
            t.n = 0;
        }
    }
    orr_text_add(&t, "\n]}\n");
    fwrite(t.s, 1, t.n, out.f);
    free(t.s);
    return orr_out_commit(&out, e);
}
