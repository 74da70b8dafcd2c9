// What a script's `measure` found on the simulated GPU, by its own clock: rows of text, or of JSON. On a real
// GPU `orrery hw micro` writes the same readings down (docs/guides/micro.md).
#include "report/json.h"
#include "report/page.h"

#define MOST_ROWS 60 // of the text

void page_readings(const page *p, const orr_result *r) {
    if (!r->readings.n) return;
    orr_text_add(p->t, "\n%s%-28s %-32s %14s%s\n", bold(p), "reading", "at", "value", plain(p));
    for (size_t i = 0; i < r->readings.n && i < MOST_ROWS; i++) {
        const orr_reading *x = &r->readings.at[i];
        orr_text_add(p->t, "%-28s %-32s %14.2f %s\n", x->name, x->point, x->value, x->unit);
    }
    if (r->readings.n > MOST_ROWS)
        orr_text_add(p->t, "and %zu more; --json has all\n", r->readings.n - MOST_ROWS);
}

void json_readings(orr_text *t, const orr_result *r) {
    if (!r->readings.n) return;
    orr_text_add(t, "  \"readings\": [");
    for (size_t i = 0; i < r->readings.n; i++) {
        const orr_reading *x = &r->readings.at[i];
        orr_text_add(t, "%s\n    {", i ? "," : "");
        json_string(t, "metric", x->name);
        orr_text_add(t, ", ");
        json_string(t, "point", x->point);
        orr_text_add(t, ", ");
        json_string(t, "unit", x->unit);
        orr_text_add(t, ", ");
        json_field(t, "value", x->value);
        orr_text_add(t, "}");
    }
    orr_text_add(t, "\n  ],\n");
}
