// Pages for a browser: one file each that needs neither a network nor any other file.
#ifndef ORR_REPORT_HTML_H
#define ORR_REPORT_HTML_H

#include "base/base.h"

// A page that has the comment /*DATA*/ where its data go, with `json` there. A string in the data that says
// </script> does not end the script.
void orr_html_fill(const unsigned char *page, const char *json, orr_text *out);

// run.html: reports of runs as orr_result_json or --json has them, n of them.
void orr_html_runs(const char *const *reports, int n, orr_text *out);

// job.html: the report of another job (compare, sweep, sample, explain) as its --json has it.
void orr_html_job(const char *kind, const char *json, orr_text *out);

extern const unsigned char orr_job_page[]; // job.html, the same
extern const unsigned char orr_run_page[]; // run.html, ended by a 0

#endif
