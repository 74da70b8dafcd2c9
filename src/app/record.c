// --record: the launches of a program, kept on their way to the model. As streams, a file a launch, or as
// Accel-Sim's traces of the whole program: its kernels and, between them, what it copied to the GPU.
#include "accel/accel.h"
#include "app/app.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

struct app_record { // one of the two
    const char *path;
    char *folder; // streams: where they are until the end
    orr_accel_writer *traces;
};

static bool is_stream(const char *name) { // what an earlier --record left
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".orr");
}

bool app_record_open(app *a, const char *path, const char *format, orr_err *e) {
    if (!path) return true;
    int packed = orr_accel_format(format);
    struct app_record *r = a->record = orr_calloc(1, sizeof *r);
    r->path = path;
    if (packed < 0) return (r->folder = orr_out_folder(path, is_stream, e)) != NULL;
    return (r->traces = orr_accel_create(path, packed != 0, e)) != NULL;
}

void app_record_close(app *a, orr_err *e) {
    struct app_record *r = a->record;
    if (!r) return;
    if (r->folder) orr_out_folder_end(r->folder, r->path, !e->status, e);
    if (r->traces && !e->status)
        orr_accel_commit(r->traces, e);
    else if (r->traces)
        orr_accel_discard(r->traces);
    free(r);
    a->record = NULL;
}

void app_record_copy(app *a, uint64_t to, uint64_t bytes) {
    if (a->record && a->record->traces) orr_accel_copy(a->record->traces, to, bytes);
}

// ---- a launch -------------------------------------------------------------------------------------------
typedef struct tee {
    orr_source source;
    orr_source *from;
    orr_stream_writer *stream; // one of these two
    orr_accel_writer *traces;
} tee;

static int tee_next(orr_source *s, orr_tb *tb, orr_err *e) {
    tee *t = (tee *)s;
    int more = t->from->next(t->from, tb, e);
    if (more <= 0) return more;
    bool ok = t->traces ? orr_accel_block(t->traces, tb, e) : orr_stream_block(t->stream, tb, e);
    return ok ? more : -1;
}

static void tee_close(orr_source *s) { // the model is done with it
    tee *t = (tee *)s;
    if (t->from) t->from->close(t->from);
    t->from = NULL;
}

static orr_stream_writer *new_file(const char *folder, const orr_launch_info *info, orr_err *e) {
    char name[64], *path = orr_malloc(strlen(folder) + sizeof name + 16);
    size_t n = 0;
    for (const char *c = info->kernel->name; *c && n < sizeof name - 1; c++)
        name[n++] = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z') ? *c : '_';
    name[n] = 0;
    sprintf(path, "%s/%07u-%s.orr", folder, info->index, name);
    orr_stream_writer *w = orr_stream_create(path, e);
    if (w && !orr_stream_begin(w, info, e)) {
        orr_stream_discard(w);
        w = NULL;
    }
    free(path);
    return w;
}

static bool run(app *a, const orr_launch *l, orr_work w, tee *t, orr_err *e) {
    t->from = orr_exec_source(l, NULL, e);
    if (!t->from) return false;
    w.launch = NULL;
    w.source = &t->source;
    bool ok = a->model->run(a->gpu, &w, &a->result, e);
    tee_close(&t->source);
    return ok;
}

bool app_record_launch(app *a, const orr_launch *l, orr_work w, orr_err *e) {
    tee t = {.source = {.info = w.info, .next = tee_next, .close = tee_close}, .traces = a->record->traces};
    if (t.traces) {
        orr_program *p = orr_program_new(w.info.kernel, a->gpu, e);
        bool ok = p && orr_accel_begin(t.traces, &w.info, p, e) && run(a, l, w, &t, e) &&
                  orr_accel_end(t.traces, e);
        orr_program_free(p);
        return ok;
    }
    t.stream = new_file(a->record->folder, &w.info, e);
    if (t.stream && run(a, l, w, &t, e) && orr_stream_end(t.stream, e)) return orr_stream_commit(t.stream, e);
    if (t.stream) orr_stream_discard(t.stream);
    return false;
}
