// For reference*.c: the kernels of this folder in plain C, one function a script, called in place of its
// launches on the buffers as the script filled them. Floats are computed in double, and where there is
// another way to the same result (a sort instead of counting, a union-find instead of hooking) it is taken.
#pragma once
#include "launch/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *ref_buffer(orr_ref *r, const char *name);
#define BUF(T, name)  T *name = ref_buffer(r, #name)
#define INT(name)     const int64_t name = orr_ref_int(r, #name)
#define SCRATCH(T, n) ((T *)orr_calloc((size_t)(n), sizeof(T)))

#define W(name) void ref_##name(orr_ref *r);
#include <list.def>
#undef W
