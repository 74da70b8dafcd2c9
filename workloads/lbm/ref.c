#include "../reference.h"

#include <stdlib.h>

// The three components run through -1, 0, 1; of the 27 directions those with all three set are left out.
static const int C[19][3] = {{0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},   {0, -1, 0},
                             {0, 0, 1},  {0, 0, -1},  {1, 1, 0},   {-1, -1, 0}, {1, -1, 0},
                             {-1, 1, 0}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1},  {-1, 0, 1},
                             {0, 1, 1},  {0, -1, -1}, {0, 1, -1},  {0, -1, 1}};

static int opposite(int q) {
    for (int o = 0; o < 19; o++)
        if (C[o][0] == -C[q][0] && C[o][1] == -C[q][1] && C[o][2] == -C[q][2]) return o;
    return -1;
}

void ref_lbm(orr_ref *r) {
    INT(nx);
    INT(ny);
    INT(nz);
    INT(pairs);
    FLOAT(omega);
    FLOAT(lid);
    BUF(uint8_t, flag);
    BUF(float, f);
    int64_t cells = nx * ny * nz;
    // Two copies in double; solid cells of the first copy keep what the script filled in.
    double *now = SCRATCH(double, 19 * cells), *next = SCRATCH(double, 19 * cells);
    for (int64_t i = 0; i < 19 * cells; i++) now[i] = f[i];
    for (int64_t step = 0; step < 2 * pairs; step++) {
        for (int64_t at = 0; at < cells; at++) {
            if (flag[at]) continue;
            double v[19], rho = 0, u[3] = {0}, uu = 0;
            for (int q = 0; q < 19; q++) {
                int64_t from = at - ((C[q][2] * ny + C[q][1]) * nx + C[q][0]);
                double w = q == 0 ? 1 / 3.0 : q < 7 ? 1 / 18.0 : 1 / 36.0;
                v[q] = flag[from] ? now[opposite(q) * cells + at] : now[q * cells + from];
                if (flag[from] == 2) v[q] += 6 * w * lid * C[q][0];
                rho += v[q];
                for (int d = 0; d < 3; d++) u[d] += C[q][d] * v[q];
            }
            for (int d = 0; d < 3; d++) {
                u[d] /= rho;
                uu += u[d] * u[d];
            }
            for (int q = 0; q < 19; q++) {
                double w = q == 0 ? 1 / 3.0 : q < 7 ? 1 / 18.0 : 1 / 36.0;
                double cu = C[q][0] * u[0] + C[q][1] * u[1] + C[q][2] * u[2];
                double equilibrium = w * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * uu);
                next[q * cells + at] = v[q] + omega * (equilibrium - v[q]);
            }
        }
        double *t = now;
        now = next;
        next = t;
    }
    for (int64_t i = 0; i < 19 * cells; i++) f[i] = flag[i % cells] ? f[i] : (float)now[i];
    free(now);
    free(next);
}
