// What memory gives when nothing lies beside anything: random sectors of tables that L2 holds in part or not at all.
//
//   random_load     each lane loads a word, past L1.
//   random_store    each lane stores a word; random_whole: two lanes store a whole sector, but ptxas 13.0 makes four
//                   stores of words of one in four: what whole sectors take is in writes.cu.
//   random_add      each lane adds to a word without looking at the result.
//   random_swap     each lane compares and swaps a word and waits for the result before the next one.
//   random_update   each lane loads a word and stores what it found, plus one.
// To be timed from outside, by the size of the table, with the sectors that memory read and wrote.
#include "micro.h"

// The word of a random sector: `sectors` of 32 bytes in the table.
__device__ __forceinline__ size_t place(u32 thread, u32 i, u32 sectors) {
    return (size_t)__umulhi(mixed(thread * 64u + i), sectors) * 8;
}
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

KERNEL random_load(u32 sectors, int rounds, const u32 *table, u32 *out) {
    u32 sum = 0;
#pragma unroll 8
    for (int i = 0; i < rounds; i++) sum += __ldcg(table + place(THREAD, i, sectors));
    if (sum == 0x1234567) out[0] = sum;
}
KERNEL random_store(u32 sectors, int rounds, u32 *table) {
    for (int i = 0; i < rounds; i++) table[place(THREAD, i, sectors)] = i;
}
KERNEL random_whole(u32 sectors, int rounds, u32 *table) {
    for (int i = 0; i < rounds; i++)
        *(uint4 *)(table + place(THREAD / 2, i, sectors) + THREAD % 2 * 4) = make_uint4(i, i, i, i);
}
KERNEL random_add(u32 sectors, int rounds, u32 *table) {
    for (int i = 0; i < rounds; i++) atomicAdd(table + place(THREAD, i, sectors), 1);
}
KERNEL random_swap(u32 sectors, int rounds, u32 *table) {
    u32 seen = 0;
    for (int i = 0; i < rounds; i++) seen = atomicCAS(table + place(THREAD + (seen >> 31), i, sectors), 0, 1);
}
KERNEL random_update(u32 sectors, int rounds, u32 *table) {
#pragma unroll 4
    for (int i = 0; i < rounds; i++) {
        u32 *p = table + place(THREAD, i, sectors);
        *p = __ldcg(p) + 1;
    }
}
