// SPDX-License-Identifier: Apache-2.0
// Euler's equations on an unstructured mesh of four-faced cells: fluxes gathered over each cell's faces from
// neighbours anywhere in memory, local time steps, Runge-Kutta. The five variables of a cell lie n apart.
// (Rodinia: cfd, euler3d)

#define GAMMA 1.4f

struct Cell {
    float rho, mx, my, mz, e, p, speed, sound;
};

static __device__ Cell load(int n, int i, const float *v) {
    Cell c;
    c.rho = v[i];
    c.mx = v[n + i];
    c.my = v[2 * n + i];
    c.mz = v[3 * n + i];
    c.e = v[4 * n + i];
    float u2 = (c.mx * c.mx + c.my * c.my + c.mz * c.mz) / (c.rho * c.rho);
    c.p = (GAMMA - 1.0f) * (c.e - 0.5f * c.rho * u2);
    c.speed = sqrtf(u2);
    c.sound = sqrtf(GAMMA * c.p / c.rho);
    return c;
}

// The local time step over the volume, and a copy of the variables as they were.
extern "C" __global__ void cfd_step_factor(int n, float cfl, const float *volume, const float *v, float *old,
                                           float *factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Cell c = load(n, i, v);
    factor[i] = cfl / (sqrtf(volume[i]) * (c.speed + c.sound));
    for (int k = 0; k < 5; k++) old[k * n + i] = v[k * n + i];
}

static __device__ void add(float flux[5], const Cell &c, float nx, float ny, float nz, float sign) {
    float un = sign * 0.5f * (c.mx * nx + c.my * ny + c.mz * nz) / c.rho, p = sign * 0.5f * c.p;
    flux[0] += un * c.rho;
    flux[1] += un * c.mx + p * nx;
    flux[2] += un * c.my + p * ny;
    flux[3] += un * c.mz + p * nz;
    flux[4] += un * (c.e + c.p);
}

extern "C" __global__ void cfd_flux(int n, const int *neighbour, const float *normal, const float *v,
                                    float *flux_) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Cell c = load(n, i, v);
    float flux[5] = {};
    for (int f = 0; f < 4; f++) {
        int j = neighbour[f * n + i];
        float nx = normal[f * n + i], ny = normal[(4 + f) * n + i], nz = normal[(8 + f) * n + i];
        if (j < 0) { // a wall: pressure only
            flux[1] -= c.p * nx;
            flux[2] -= c.p * ny;
            flux[3] -= c.p * nz;
            continue;
        }
        Cell o = load(n, j, v);
        float area = sqrtf(nx * nx + ny * ny + nz * nz);
        float d = 0.5f * area * fmaxf(c.speed + c.sound, o.speed + o.sound);
        add(flux, c, nx, ny, nz, -1.0f);
        add(flux, o, nx, ny, nz, -1.0f);
        flux[0] += d * (o.rho - c.rho);
        flux[1] += d * (o.mx - c.mx);
        flux[2] += d * (o.my - c.my);
        flux[3] += d * (o.mz - c.mz);
        flux[4] += d * (o.e - c.e);
    }
    for (int k = 0; k < 5; k++) flux_[k * n + i] = flux[k];
}

extern "C" __global__ void cfd_time_step(int n, int stage, const float *old, const float *factor,
                                         const float *flux, float *v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float f = factor[i] / (float)(4 - stage);
    for (int k = 0; k < 5; k++) v[k * n + i] = old[k * n + i] + f * flux[k * n + i];
}
