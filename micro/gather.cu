// How many different sectors a cycle L2 gives, and takes, and how evenly a table lies over its slices.
//
//   gather        each lane loads a random sector of a table, past L1; gather_l1: through it.
//   gather_lines  four lanes load the sectors of a random line.
//   scatter       each lane stores a word to a random sector.
// To be timed from outside, by the size of the table.
#include "micro.h"

extern "C" __global__ void gather(unsigned sectors, int loads, const float *table, float *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
#pragma unroll 8
    for (int i = 0; i < loads; i++)
        s += __ldcg(table + (unsigned long long)__umulhi(mixed(t * 64u + i), sectors) * 8);
    if (s == 12345.678f) out[0] = s;
}
extern "C" __global__ void gather_lines(unsigned lines, int loads, const float *table, float *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
#pragma unroll 8
    for (int i = 0; i < loads; i++)
        s += __ldcg(table + (unsigned long long)__umulhi(mixed((t / 4) * 64u + i), lines) * 32 + t % 4 * 8);
    if (s == 12345.678f) out[0] = s;
}
extern "C" __global__ void gather_l1(unsigned sectors, int loads, const float *table, float *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
#pragma unroll 8
    for (int i = 0; i < loads; i++) s += table[(unsigned long long)__umulhi(mixed(t * 64u + i), sectors) * 8];
    if (s == 12345.678f) out[0] = s;
}
extern "C" __global__ void scatter(unsigned sectors, int stores, float *table) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < stores; i++) table[(unsigned long long)__umulhi(mixed(t * 64u + i), sectors) * 8] = i;
}
