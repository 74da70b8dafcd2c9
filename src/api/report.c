// Reports: what a job found, in every form it has. A form is made when it is first asked for.
#include "api/api.h"

#include <math.h>
#include <stdlib.h>

struct orr_report {
    void *self;
    orr_report_make *make;
    void (*free)(void *self);
    orr_text form[ORR_FORMATS];
    bool asked[ORR_FORMATS];
    orr_json *json; // of that form, when somebody asks for a value
    orr_arena arena;
};

orr_report *orr_report_new(void *self, orr_report_make *make, void (*free)(void *self)) {
    orr_report *r = orr_calloc(1, sizeof *r);
    r->self = self;
    r->make = make;
    r->free = free;
    return r;
}

orr_report *orr_report_of(orr_text text, orr_text json) {
    orr_report *r = orr_report_new(NULL, NULL, NULL);
    orr_report_add(r, ORR_TEXT, text);
    orr_report_add(r, ORR_JSON, json);
    return r;
}

void orr_report_add(orr_report *r, enum orr_format format, orr_text t) {
    r->form[format] = t;
    r->asked[format] = true;
}

const char *orr_report_as(orr_report *r, enum orr_format format) {
    if (!r || format >= ORR_FORMATS) return NULL;
    orr_text *t = &r->form[format];
    if (!r->asked[format] && r->make) {
        if (r->make(r->self, format, t)) {
            orr_text_addn(t, "", 0); // never NULL
        } else {
            free(t->s);
            *t = (orr_text){0};
        }
    }
    r->asked[format] = true;
    return t->s;
}

static const orr_json *value(orr_report *r, const char *place) {
    const char *text = r && !r->json ? orr_report_as(r, ORR_JSON) : NULL;
    if (text) r->json = orr_json_parse(text, &r->arena);
    return r && r->json ? orr_json_at(r->json, place) : NULL;
}

double orr_report_number(orr_report *r, const char *place) {
    const orr_json *j = value(r, place);
    return j ? orr_json_number(j) : (double)NAN;
}

const char *orr_report_string(orr_report *r, const char *place) {
    const orr_json *j = value(r, place);
    return j ? orr_json_string(j) : NULL;
}

int64_t orr_report_count(orr_report *r, const char *place) {
    const orr_json *j = value(r, place);
    return j ? orr_json_count(j) : -1;
}

void orr_report_free(orr_report *r) {
    if (!r) return;
    if (r->free) r->free(r->self);
    for (int f = 0; f < ORR_FORMATS; f++) free(r->form[f].s);
    orr_arena_free(&r->arena);
    free(r);
}
