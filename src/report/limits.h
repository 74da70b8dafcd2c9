// Private to report/: what bounds a launch (limits.c).
#ifndef ORR_REPORT_LIMITS_H
#define ORR_REPORT_LIMITS_H

#include "report/json.h"
#include "report/page.h"

void page_limits(const page *p, const orr_result *r);
void json_limits(orr_text *t,
                 const orr_launch_result *l); // "limits": {...} behind a comma, where there are some

#endif
