// For workloads/*/ref.c: how a CPU reference gets at the script's buffers and variables.
//
// A reference is one function, ref_NAME, called in place of the script's first launch, on the buffers as
// the script filled them. It leaves in every buffer that an `expect ... from` names what all the script's
// launches together must leave there.
#ifndef REFERENCE_H
#define REFERENCE_H

#include "launch/launch.h"

#define W(name) void ref_##name(orr_ref *r);
#include "list.def"
#include "hopper/list.def"
#undef W

// The buffer of that name; ends the program when the script has none.
void *ref_buffer(orr_ref *r, const char *name);

#define BUF(T, name)  T *name = ref_buffer(r, #name)
#define INT(name)     const int64_t name = orr_ref_int(r, #name)
#define FLOAT(name)   const double name = orr_ref_float(r, #name)
#define SCRATCH(T, n) ((T *)orr_calloc((size_t)(n), sizeof(T)))

// f16 bits to float, and to f16 bits (to nearest even), for the references of half-precision kernels.
float ref_from_half(uint16_t h);
uint16_t ref_to_half(double v);
float ref_from_bf16(uint16_t h); // likewise bf16
uint16_t ref_to_bf16(float v);

// C = alpha A B + beta C, row-major, A m x k, B k x n; accumulated in double.
void ref_gemm(int64_t m, int64_t n, int64_t k, double alpha, const float *a, const float *b, double beta,
              float *c);
// C = A B^T, A m x k, B n x k; accumulated in double.
void ref_gemm_turned(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c);

#endif
