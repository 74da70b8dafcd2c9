// Which model fits into a number of seconds (budget.h).
//
// How long a model takes depends most on how many warp instructions there are. The rates below are what nine
// in ten of the bundled workloads did at least at medium size, executing included, on one core of an H200's
// host (x86_64, all its cores at work). Further threads make the cycle model faster by about the square root
// of their number.
#include "api/budget.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    const orr_model *model;
    double rate; // warp instructions a second
    bool threads;
} models[] = {{&orr_model_cycle, 0.7e6, true}, {&orr_model_abstract, 2.5e6, false}}; // the most exact first

bool orr_budget_parse(const char *text, double *seconds, orr_err *e) {
    char *end;
    double n = strtod(text, &end);
    double unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
    if (end != text && (*end == 's' || *end == 'm' || *end == 'h')) end++;
    if (end == text || *end || !(n > 0) || !(n < 1e9))
        return orr_fail(e, ORR_BAD_INPUT, "--budget: '%s' is no time; as 10s, 5m or 1h", text);
    *seconds = n * unit;
    return true;
}

const orr_model *orr_budget_choose(double seconds, uint64_t insts, int threads, double *takes) {
    for (size_t n = 0; n < sizeof models / sizeof *models; n++) {
        *takes = (double)insts / models[n].rate / (models[n].threads && threads > 1 ? sqrt(threads) : 1);
        if (*takes <= seconds) return models[n].model;
    }
    return &orr_model_analytic;
}
