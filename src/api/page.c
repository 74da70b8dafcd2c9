// orr_page: runs as one page for the browser.
#include "api/api.h"
#include "report/html.h"

#define MAX_RUNS 16

orr_report *orr_page(const char *const *reports, int n, orr_err *e) {
    if (e->status) return NULL;
    if (n < 1 || n > MAX_RUNS) {
        orr_fail(e, ORR_BAD_INPUT, "page: from 1 to %d runs fit on a page, and there are %d", MAX_RUNS, n);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        orr_arena arena = {0};
        const orr_json *json = orr_json_parse(reports[i], &arena);
        bool run = json && orr_json_at(json, "/launches") && orr_json_at(json, "/totals");
        orr_arena_free(&arena);
        if (run) continue;
        orr_fail(e, ORR_BAD_INPUT, "page: run %d is not a report of `orrery run --json`", i + 1);
        return NULL;
    }
    orr_report *r = orr_report_new(NULL, NULL, NULL);
    orr_text page = {0};
    orr_html_runs(reports, n, &page);
    orr_report_add(r, ORR_HTML, page);
    return r;
}
