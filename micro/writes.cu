// What memory takes when much is written and little or nothing is read: pieces at random places, and streams side by side.
//
//   write_pieces     lanes of 16 bytes store pieces of 32, 64, 128 or 256 bytes at random places of a table.
//   write_streams    a thread stores a word to each of K streams that lie `apart` words from each other: whether they begin
//                    at a line, at a sector or within one is what `apart` says.
//   write_beside     the same beside as many streams that are loaded.
// To be timed from outside, with the sectors that memory read and wrote.
#include "micro.h"

#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)

// `log`: of the lanes that store a piece; `pieces` of them in the table.
KERNEL write_pieces(u32 pieces, u32 log, int rounds, uint4 *table) {
    for (int i = 0; i < rounds; i++) {
        size_t piece = __umulhi(mixed((THREAD >> log) * 64u + i), pieces);
        table[(piece << log) + (THREAD & ((1u << log) - 1))] = make_uint4(i, i, i, i);
    }
}
KERNEL write_streams(u32 n, u32 streams, u32 apart, u32 *to) {
    u32 i = THREAD;
    if (i >= n) return;
#pragma unroll 4
    for (u32 k = 0; k < streams; k++) to[(size_t)k * apart + i] = i + k;
}
KERNEL write_beside(u32 n, u32 streams, u32 apart, u32 *to, const u32 *from) {
    u32 i = THREAD;
    if (i >= n) return;
#pragma unroll 4
    for (u32 k = 0; k < streams; k++) to[(size_t)k * apart + i] = from[(size_t)k * apart + i] + k;
}
