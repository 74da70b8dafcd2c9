// Simulated time. The program's operations are done one after another as it asks for them; here is when they
// would have happened on the GPU.
//
// The host is taken to be quick: a call costs it nothing but launches, which are launch.latency apart. A
// stream's operations follow each other; the legacy default stream and the streams that do not say otherwise
// wait for each other (CUDA C Programming Guide, "Implicit Synchronization"). Kernels share one engine, as
// each is simulated with the GPU to itself; copies in, out and within the GPU have one each. A copy takes its
// bytes over host.bandwidth, within the GPU twice its bytes over dram.bandwidth.
#include "app/app.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TIMELINE = 1000000 };

static bool blocking(const app_stream *s) { return !(s->flags & 1); }

double app_clock_start(app_stream *s, int engine) {
    app *a = &the_app;
    double t = s->end > a->host ? s->end : a->host;
    if (s == &a->legacy) {
        for (const app_stream *o = a->streams; o; o = o->next)
            if (blocking(o) && o->end > t) t = o->end;
        if (a->per_thread.end > t) t = a->per_thread.end;
    } else if (blocking(s) && a->legacy.end > t) {
        t = a->legacy.end;
    }
    if (engine != ENGINE_NONE && a->engine[engine] > t) t = a->engine[engine];
    return t;
}

void app_clock_done(app_stream *s, int engine, const char *name, double from, double ns, uint64_t bytes,
                    uint32_t launch) {
    app *a = &the_app;
    s->end = from + ns;
    if (engine == ENGINE_NONE) return;
    a->engine[engine] = s->end;
    if (engine == ENGINE_KERNELS) a->host += a->gpu->launch_latency * 1e3;
    if (!a->timeline) return;
    if (a->spans.n >= MAX_TIMELINE) {
        a->spans_left_out++;
        return;
    }
    *ORR_PUSH(&a->spans) = (app_span){name, s->id, (uint8_t)engine, from, s->end, bytes, launch};
}

void app_clock_wait(double until) {
    if (until > the_app.host) the_app.host = until;
}

double app_clock_all(void) {
    const app *a = &the_app;
    double t = a->legacy.end > a->per_thread.end ? a->legacy.end : a->per_thread.end;
    for (const app_stream *s = a->streams; s; s = s->next)
        if (s->end > t) t = s->end;
    return t > a->host ? t : a->host;
}

// ---- the timeline
// ------------------------------------------------------------------------------------------ Chrome's event
// format (JSON), which ui.perfetto.dev opens: a track for each stream.
static const char *const engine_name[ENGINES] = {"", "kernel", "host to device", "device to host",
                                                 "device to device"};

bool app_timeline_write(const char *path, orr_err *e) {
    const app *a = &the_app;
    orr_out out;
    if (!orr_out_open(&out, path, e)) return false;
    orr_text t = {0};
    orr_text_add(
        &t,
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"gpu\":\"%s\",\"model\":\"%s\",\"left_out\":%llu},\n"
        "\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":",
        a->result.gpu, a->result.model, (unsigned long long)a->spans_left_out);
    orr_text_json(&t, a->result.input);
    orr_text_add(&t, "}}");
    for (uint64_t id = 0; id < a->next_stream; id++) {
        bool used = false;
        for (size_t i = 0; i < a->spans.n && !used; i++) used = a->spans.at[i].stream == id;
        if (!used) continue;
        orr_text_add(&t,
                     ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%llu,\"name\":\"thread_name\",\"args\":{\"name\":\"",
                     (unsigned long long)id);
        orr_text_add(&t, id == 0 ? "default stream" : "stream %llu", (unsigned long long)id);
        orr_text_add(&t, "\"}}");
    }
    for (size_t i = 0; i < a->spans.n; i++) {
        const app_span *s = &a->spans.at[i];
        orr_text_add(
            &t, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%llu,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\",\"name\":",
            (unsigned long long)s->stream, s->from / 1e3, (s->to - s->from) / 1e3, engine_name[s->engine]);
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
