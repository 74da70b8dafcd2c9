// Random numbers: Philox 4x32-10 by counter (four words a round of a thread), and a xorshift with its state
// in memory.

extern "C" __global__ void philox(unsigned key0, unsigned key1, uint4 *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    for (unsigned r = 0; r < 2; r++) {
        unsigned c0 = t + r * all, c1 = 0, c2 = 7, c3 = 0, k0 = key0, k1 = key1;
#pragma unroll
        for (int i = 0; i < 10; i++) {
            unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0, h1 = __umulhi(0xCD9E8D57u, c2),
                     l1 = 0xCD9E8D57u * c2;
            c0 = h1 ^ c1 ^ k0;
            c1 = l1;
            c2 = h0 ^ c3 ^ k1;
            c3 = l0;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        out[t + r * all] = make_uint4(c0, c1, c2, c3);
    }
}

extern "C" __global__ void xorshift(int rounds, unsigned *state, float *mean) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x, x = state[t];
    float s = 0;
    for (int i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        s += (x >> 8) * (1.0f / 16777216.0f);
    }
    state[t] = x;
    mean[t] = s / rounds;
}
