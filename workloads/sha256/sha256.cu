// SPDX-License-Identifier: Apache-2.0
// SHA-256 of many short messages, a thread a message: long chains of 32-bit logic and shifts, all in
// registers. (Cryptographic hashing, as in proof-of-work miners)

__constant__ unsigned K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static __device__ unsigned ror(unsigned x, int n) { return __funnelshift_r(x, x, n); }

// Message i is words message[i*8 .. i*8+7], 32 bytes in the order of SHA-256 (big-endian words).
extern "C" __global__ void sha256(int n, const unsigned *message, unsigned *digest) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned w[16], h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
#pragma unroll
    for (int k = 0; k < 8; k++) w[k] = message[i * 8 + k];
    w[8] = 0x80000000;
#pragma unroll
    for (int k = 9; k < 15; k++) w[k] = 0;
    w[15] = 256; // bits
    unsigned a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], p = h[7];
#pragma unroll 16
    for (int k = 0; k < 64; k++) {
        if (k >= 16) {
            unsigned x = w[(k + 1) % 16], y = w[(k + 14) % 16];
            w[k % 16] +=
                w[(k + 9) % 16] + (ror(x, 7) ^ ror(x, 18) ^ x >> 3) + (ror(y, 17) ^ ror(y, 19) ^ y >> 10);
        }
        unsigned t1 = p + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + ((e & f) ^ (~e & g)) + K[k] + w[k % 16];
        unsigned t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        p = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    unsigned o[8] = {a, b, c, d, e, f, g, p};
#pragma unroll
    for (int k = 0; k < 8; k++) digest[i * 8 + k] = o[k] + h[k];
}
