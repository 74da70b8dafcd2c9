// Permutations: bit reversal of pairs of floats, and places along a Hilbert curve (and the way back).

extern "C" __global__ void bit_reverse(int bits, const float2 *in, float2 *out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[__brev(i) >> (32 - bits)];
}

extern "C" __global__ void hilbert_place(int bits, const unsigned *xs, const unsigned *ys, unsigned *place) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = xs[i], y = ys[i], d = 0;
    for (unsigned s = 1u << (bits - 1); s > 0; s /= 2) {
        unsigned rx = (x & s) > 0, ry = (y & s) > 0;
        d += s * s * ((3 * rx) ^ ry);
        if (ry == 0) {
            if (rx) x = (s * 2 - 1) - (x & (s * 2 - 1)), y = (s * 2 - 1) - (y & (s * 2 - 1));
            unsigned t = x;
            x = y;
            y = t;
        }
    }
    place[i] = d;
}
