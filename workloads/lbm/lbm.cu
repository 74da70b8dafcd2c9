// SPDX-License-Identifier: Apache-2.0
// Lattice-Boltzmann, D3Q19, BGK collision, pull scheme, one array a direction: walls around and scattered
// stones inside turn the flow back, the wall at the top (flag 2) drags it along. Bandwidth-bound with many
// streams. (Parboil: lbm)

// Directions in pairs: 2k+1 and 2k+2 are opposite.
// clang-format off
#define EACH_DIRECTION(D)                                          \
    D(0, 0, 0, 0)                                                  \
    D(1, 1, 0, 0)   D(2, -1, 0, 0)   D(3, 0, 1, 0)   D(4, 0, -1, 0)   \
    D(5, 0, 0, 1)   D(6, 0, 0, -1)   D(7, 1, 1, 0)   D(8, -1, -1, 0)  \
    D(9, 1, -1, 0)  D(10, -1, 1, 0)  D(11, 1, 0, 1)  D(12, -1, 0, -1) \
    D(13, 1, 0, -1) D(14, -1, 0, 1)  D(15, 0, 1, 1)  D(16, 0, -1, -1) \
    D(17, 0, 1, -1) D(18, 0, -1, 1)
// clang-format on

extern "C" __global__ void lbm(int nx, int ny, int nz, float omega, float lid, const unsigned char *flag,
                               const float *in, float *out) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    int cells = nx * ny * nz, at = (z * ny + y) * nx + x;
    if (flag[at]) return;
    float f[19], rho = 0, ux = 0, uy = 0, uz = 0;
#define PULL(q, cx, cy, cz)                                                                                  \
    {                                                                                                        \
        int from = at - ((cz * ny + cy) * nx + cx), solid = flag[from];                                      \
        int opposite = q == 0 ? 0 : q % 2 ? q + 1 : q - 1;                                                   \
        float v = in[solid ? opposite * cells + at : q * cells + from];                                      \
        if (solid == 2) v += 6.0f * (q < 7 ? 1.0f / 18 : 1.0f / 36) * lid * cx;                              \
        f[q] = v;                                                                                            \
        rho += v;                                                                                            \
        ux += cx * v;                                                                                        \
        uy += cy * v;                                                                                        \
        uz += cz * v;                                                                                        \
    }
    EACH_DIRECTION(PULL)
    ux /= rho;
    uy /= rho;
    uz /= rho;
    float base = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);
#define COLLIDE(q, cx, cy, cz)                                                                               \
    {                                                                                                        \
        float w = q == 0 ? 1.0f / 3 : q < 7 ? 1.0f / 18 : 1.0f / 36, cu = cx * ux + cy * uy + cz * uz;       \
        out[q * cells + at] = f[q] + omega * (w * rho * (base + 3.0f * cu + 4.5f * cu * cu) - f[q]);         \
    }
    EACH_DIRECTION(COLLIDE)
}
