// Values that follow from others by a rule of params.def. Private to gpu/.
#ifndef ORR_GPU_DERIVE_H
#define ORR_GPU_DERIVE_H

#include "gpu/value.h"

bool gpu_is_rule(const char *def); // whether a default is a rule: `= KEY * 2`
// What a rule comes to; false: a term is not known, or the rule is none. `depth`: of rules that led here, 0
// outside.
bool gpu_rule_value(orr_gpu *g, const char *rule, double *value, int depth);
// Fills in all that a rule gives, once the description and --set have been read. Returns the parameter whose
// rule leads to no value in its range, NULL when there is none.
const gpu_param *gpu_derive(orr_gpu *g);

#endif
