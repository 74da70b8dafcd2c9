// orr_explain: an input's launches, executed once, and timed with one thing ideal at a time.
#include "api/api.h"
#include "explain/explain.h"
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

static const orr_model *choose_model(const orr_options *o, orr_err *e) {
    const orr_model *m = orr_model_find(o->model.model ? o->model.model : "cycle", e);
    if (m && strcmp(m->name, "cycle") != 0) {
        orr_fail(e, ORR_BAD_INPUT, "explain: needs a model that says where every cycle goes: --model cycle");
        return NULL;
    }
    return m;
}

static orr_report *report(const orr_explanation *x) {
    orr_text text = {0}, json = {0}, page = {0};
    orr_explanation_text(x, &text);
    orr_explanation_json(x, &json);
    orr_html_job("explain", json.s, &page);
    orr_report *r = orr_report_of(text, json);
    orr_report_add(r, ORR_HTML, page);
    return r;
}

static orr_report *explain(const char *input, const orr_options *o, const orr_gpu *base, orr_explanation *x,
                           orr_err *e) {
    orr_progress progress;
    orr_tape *t = orr_tape_new(orr_host_memory() / 4);
    orr_report *r = NULL;
    double start = orr_seconds();
    orr_input in = {.name = input,
                    .o = &o->in,
                    .gpu = base,
                    .check = !o->in.no_check,
                    .progress = &progress,
                    .notes = &o->notes};
    orr_progress_start(&progress, o->watcher, "explain", "runs", "blocks", 0);
    bool ok = orr_tape_input(t, &in, e);
    x->execute_seconds = orr_seconds() - start;
    x->tape = t;
    x->progress = &progress; // until this function ends
    if (ok) {
        x->size = in.size;
        x->source = in.source;
        ok = orr_explain_tape(x, e);
        bool some = x->trials.n && !x->trials.at[0].failed; // stopped: what was tried
        if (ok || (e->status == ORR_STOPPED && some)) r = report(x);
    }
    orr_progress_end(&progress);
    orr_explanation_free(x);
    orr_tape_free(t);
    orr_input_close(&in);
    return r;
}

orr_report *orr_explain(const char *input, const orr_options *o, orr_err *e) {
    if (e->status) return NULL;
    o = orr_asked(o);
    const orr_model *m = choose_model(o, e);
    if (!m || !orr_input_check(&o->in, e)) return NULL;
    orr_gpu *base = orr_asked_gpu_with(o, NULL, e);
    if (!base) return NULL;
    orr_note_gpu(&o->notes, base);
    orr_explanation x = {.input = input,
                         .gpu = o->model.gpu ? o->model.gpu : "h200",
                         .model = m->name,
                         .timed_by = m,
                         .sets = o->model.sets.at,
                         .nsets = (int)o->model.sets.n,
                         .threads = o->in.threads};
    orr_report *r = explain(input, o, base, &x, e);
    orr_gpu_free(base);
    return r;
}
