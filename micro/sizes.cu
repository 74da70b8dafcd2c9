// One kernel of each kind of traffic, to be run over sizes from 1 MB to 512 MB: what makes a prediction worse as work
// grows. A thread has an element, unless said otherwise.
//
//   size_read, size_write, size_copy   streams of words
//   size_gather, size_scatter          words at random places: loaded, stored
//   size_reduce                        words at random places: added to, results not used
//   size_count                         the same, results used
//   size_rows                          each thread walks a row of 32 words, so that a warp's loads go to 32 lines
//   size_struct                        a thread stores 20 words, each 1/20 of the array apart (as a lattice does)
//   size_probe                         compare and swap until a free place is found, the table half full at the end
//   size_mix                           a word at a random place of one array is loaded, one of another is stored
//   size_lattice_K                     words of K streams are loaded, words of K others stored, as a lattice has them; with
//                                      `holes` one thread in 32 stores nothing, so that most sectors are written in part
// To be timed from outside.
#include "micro.h"

#define SIZE(name, ...)                                                                                      \
    extern "C" __global__ void __launch_bounds__(256) size_##name(u32 n, u32 mask, u32 *a, const u32 *b) {   \
        u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                                       \
        if (i < n) { __VA_ARGS__; }                                                                          \
    }
SIZE(read, if (b[i] == 77) a[i] = 1)
SIZE(write, a[i] = i)
SIZE(copy, a[i] = b[i])
SIZE(gather, if (b[mixed(i) & mask] == 77) a[i] = 1)
SIZE(scatter, a[mixed(i) & mask] = i)
SIZE(reduce, atomicAdd(&a[mixed(i) & mask], 1))
SIZE(count, if (atomicAdd(&a[mixed(i) & mask], 1) == 0x77777777u) a[0] = 1)
SIZE(rows, u32 t = 0; for (u32 k = 0; k < 32; k++) t += b[32 * i + k]; if (t == 77) a[i] = 1)
SIZE(struct, u32 t = b[i]; for (u32 k = 0; k < 20; k++) a[k * n + i] = t + k)
SIZE(probe, for (u32 at = mixed(i) & mask;; at = (at + 1) & mask) {                                              \
         u32 old = atomicCAS(&a[at], 0u, i + 1);                                                                \
         if (old == 0 || old == i + 1) break;                                                                   \
     })
SIZE(mix, a[mixed(i) & mask] = b[mixed(i + 0x51ed270bu) & mask])

// n: words of a stream. The streams of an array lie n + gap words apart.
template <int k>
static __device__ void lattice(u32 n, u32 gap, u32 holes, u32 *a, const u32 *b) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x, v[k];
    if (i >= n) return;
    for (u32 s = 0; s < k; s++) v[s] = b[s * (n + gap) + i];
    if (holes && mixed(i) % 32 == 0) return;
    for (u32 s = 0; s < k; s++) a[s * (n + gap) + i] = v[s] + v[(s + 1) % k];
}
#define LATTICE(k)                                                                                           \
    extern "C" __global__ void __launch_bounds__(256)                                                        \
        size_lattice_##k(u32 n, u32 gap, u32 holes, u32 *a, const u32 *b) {                                  \
        lattice<k>(n, gap, holes, a, b);                                                                     \
    }
LATTICE(1)
LATTICE(2)
LATTICE(4)
LATTICE(8)
LATTICE(16)
