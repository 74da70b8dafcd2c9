// Which model fits into a number of seconds (`budget`).
#ifndef ORR_API_BUDGET_H
#define ORR_API_BUDGET_H

#include "base/base.h"
#include "model/model.h"

// "10s", "5m", "1h", "90": seconds, more than 0.
bool orr_budget_parse(const char *text, double *seconds, orr_err *e);
// The most exact model that is expected to simulate so many warp instructions on so many host threads in
// `seconds`, and in *takes how long that will take; the analytic one, which has been run, if none is.
const orr_model *orr_budget_choose(double seconds, uint64_t insts, int threads, double *takes);

#endif
