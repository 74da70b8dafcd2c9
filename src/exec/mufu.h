// Private to exec/: the multifunction unit, a lane at a time (mufu.c).
#ifndef ORR_MUFU_H
#define ORR_MUFU_H

#include <stdbool.h>
#include <stdint.h>

uint32_t orr_mufu_rcp(uint32_t x);
uint32_t orr_mufu_rsq(uint32_t x);
uint32_t orr_mufu_sqrt(uint32_t x);
uint32_t orr_mufu_ex2(uint32_t x);
uint32_t orr_mufu_lg2(uint32_t x);
uint32_t orr_mufu_sin(uint32_t x); // of a number of turns
uint32_t orr_mufu_cos(uint32_t x);
uint32_t orr_mufu_tanh(uint32_t x);
uint32_t orr_mufu_rcp64h(uint32_t x); // upper words of doubles
uint32_t orr_mufu_rsq64h(uint32_t x);
uint32_t orr_mufu_ex2_f16(uint32_t x);
uint32_t orr_mufu_ex2_bf16(uint32_t x);
uint32_t orr_mufu_tanh_f16(uint32_t x);
uint32_t orr_mufu_tanh_bf16(uint32_t x);

// MUFU for 32 lanes. fn: ORR_SV_MUFU_*, + 16: of f16, + 32: of bf16 (EX2, TANH: lower half to lower half)
void orr_mufu(int fn, uint32_t *d, const uint32_t *a);
// FCHK: the quotient a / b cannot be had from the reciprocal and corrections
bool orr_fchk(uint32_t a, uint32_t b);

#endif
