// SPDX-License-Identifier: Apache-2.0
// European option prices by the Black-Scholes formula: logarithm, exponentials, roots and divisions, no
// neighbours. Launched several times over the same data. (CUDA samples: BlackScholes; PARSEC: blackscholes)

// The cumulative normal distribution by a polynomial of degree five (Abramowitz and Stegun 26.2.17).
static __device__ float cnd(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.3989422804f * expf(-0.5f * d * d) *
              (k * (0.31938153f +
                    k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - c : c;
}

extern "C" __global__ void blackscholes(int n, float rate, float volatility, const float *price,
                                        const float *strike, const float *years, float *call, float *put) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root, n1 = cnd(d1), n2 = cnd(d2), discount = x * expf(-rate * t);
        call[i] = s * n1 - discount * n2;
        put[i] = discount * (1.0f - n2) - s * (1.0f - n1);
    }
}
