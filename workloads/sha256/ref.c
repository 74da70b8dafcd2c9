#include "../reference.h"

#include <math.h>
#include <string.h>

// FIPS 180-4 section 6.2. The constants are what the standard says they are: the fractions of the cube roots
// of the first 64 primes and of the square roots of the first 8, here from long double roots.
static uint32_t fraction(long double x) { return (uint32_t)((x - floorl(x)) * 4294967296.0L); }

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

void ref_sha256(orr_ref *r) {
    INT(n);
    BUF(uint32_t, message);
    BUF(uint32_t, digest);
    uint32_t K[64], H[8];
    for (int p = 2, found = 0; found < 64; p++) {
        bool prime = true;
        for (int d = 2; d * d <= p; d++) prime = prime && p % d != 0;
        if (!prime) continue;
        if (found < 8) H[found] = fraction(sqrtl(p));
        K[found++] = fraction(cbrtl(p));
    }
    for (int64_t i = 0; i < n; i++) {
        uint32_t w[64] = {0}, v[8];
        memcpy(w, message + 8 * i, 32);
        w[8] = 0x80000000; // the closing bit, and the length: 256 bits
        w[15] = 256;
        for (int t = 16; t < 64; t++)
            w[t] = (rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7] +
                   (rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
        memcpy(v, H, sizeof v);
        for (int t = 0; t < 64; t++) {
            uint32_t t1 = v[7] + (rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25)) +
                          ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[t] + w[t];
            uint32_t t2 = (rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22)) +
                          ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += t1;
            v[0] = t1 + t2;
        }
        for (int k = 0; k < 8; k++) digest[8 * i + k] = H[k] + v[k];
    }
}
