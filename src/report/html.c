// Pages for a browser (html.h): a file of HTML, with the data in it as JSON. What the page shows is worked
// out by its own script.
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

#define PLACE "/*DATA*/"

void orr_html_fill(const unsigned char *page, const char *json, orr_text *out) {
    const char *text = (const char *)page, *place = strstr(text, PLACE);
    orr_text_addn(out, text, (size_t)(place - text));
    while (*json) { // '<' is only ever inside strings
        size_t n = strcspn(json, "<");
        orr_text_addn(out, json, n);
        json += n;
        if (!*json) break;
        orr_text_addn(out, "\\u003c", 6);
        json++;
    }
    place += strlen(PLACE);
    orr_text_addn(out, place, strlen(place));
}

void orr_html_runs(const char *const *reports, int n, orr_text *out) {
    orr_text all = {0};
    orr_text_add(&all, "[");
    for (int i = 0; i < n; i++) {
        if (i) orr_text_add(&all, ",");
        orr_text_addn(&all, reports[i], strlen(reports[i]));
    }
    orr_text_add(&all, "]");
    orr_html_fill(orr_run_page, all.s, out);
    free(all.s);
}

void orr_html_job(const char *kind, const char *json, orr_text *out) {
    orr_text all = {0};
    orr_text_add(&all, "{\"kind\": \"%s\", \"data\": ", kind);
    orr_text_addn(&all, json, strlen(json));
    orr_text_add(&all, "}");
    orr_html_fill(orr_job_page, all.s, out);
    free(all.s);
}
