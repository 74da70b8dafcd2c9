#include "../reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double pressure(const double *u) {
    return 0.4 * (u[4] - 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0]);
}

// The fastest wave: flow plus sound.
static double wave(const double *u) {
    return sqrt(u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0] + sqrt(1.4 * pressure(u) / u[0]);
}

// What flows through a face with that normal.
static void through(const double *u, const double *normal, double *f) {
    double p = pressure(u), un = (u[1] * normal[0] + u[2] * normal[1] + u[3] * normal[2]) / u[0];
    f[0] = u[0] * un;
    for (int d = 0; d < 3; d++) f[1 + d] = u[1 + d] * un + p * normal[d];
    f[4] = (u[4] + p) * un;
}

void ref_cfd(orr_ref *r) {
    INT(n);
    INT(steps);
    FLOAT(cfl);
    BUF(float, volume);
    BUF(int32_t, neighbour);
    BUF(float, normal);
    BUF(float, v);
    BUF(float, factor);
    typedef double state[5];
    state *now = SCRATCH(state, n), *old = SCRATCH(state, n), *rate = SCRATCH(state, n);
    double *step_factor = SCRATCH(double, n);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 5; k++) now[i][k] = v[k * n + i];
    for (int64_t step = 0; step < steps; step++) {
        memcpy(old, now, (size_t)n * sizeof *old);
        for (int64_t i = 0; i < n; i++) step_factor[i] = cfl / (sqrt(volume[i]) * wave(now[i]));
        for (int stage = 1; stage <= 3; stage++) {
            for (int64_t i = 0; i < n; i++) {
                memset(rate[i], 0, sizeof rate[i]);
                for (int f = 0; f < 4; f++) {
                    int32_t j = neighbour[f * n + i];
                    double a[3] = {normal[f * n + i], normal[(4 + f) * n + i], normal[(8 + f) * n + i]};
                    if (j < 0) {
                        for (int d = 0; d < 3; d++) rate[i][1 + d] -= pressure(now[i]) * a[d];
                        continue;
                    }
                    double mine[5], other[5], area = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
                    double fastest = fmax(wave(now[i]), wave(now[j]));
                    through(now[i], a, mine);
                    through(now[j], a, other);
                    for (int k = 0; k < 5; k++)
                        rate[i][k] +=
                            0.5 * area * fastest * (now[j][k] - now[i][k]) - 0.5 * (mine[k] + other[k]);
                }
            }
            for (int64_t i = 0; i < n; i++)
                for (int k = 0; k < 5; k++) now[i][k] = old[i][k] + step_factor[i] / (4 - stage) * rate[i][k];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 5; k++) v[k * n + i] = (float)now[i][k];
        factor[i] = (float)step_factor[i];
    }
    free(now);
    free(old);
    free(rate);
    free(step_factor);
}
