// SPDX-License-Identifier: Apache-2.0
// Pi by throwing darts: xorshift random numbers in registers, hits added up by votes and one atomic a block.
// Integer arithmetic with almost no memory traffic. (CUDA samples: MC_EstimatePiP)

extern "C" __global__ void montecarlo(int darts, unsigned seed, unsigned *hits) {
    __shared__ unsigned sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    unsigned s = (blockIdx.x * blockDim.x + threadIdx.x + 1) * 0x9e3779b9u ^ seed, n = 0;
    for (int k = 0; k < darts; k++) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        unsigned x = s & 0x7fff, y = s >> 16 & 0x7fff;
        n += __popc(__ballot_sync(0xffffffff, x * x + y * y < 0x40000000u));
    }
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, n);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(hits, sum);
}
