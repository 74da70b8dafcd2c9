// A sampled run (private to report/).
#ifndef ORR_REPORT_SAMPLE_H
#define ORR_REPORT_SAMPLE_H

#include "report/page.h"

void json_sample(orr_text *t, const orr_result *r); // "sample": {...},
void page_sample(const page *p, const orr_result *r);

#endif
