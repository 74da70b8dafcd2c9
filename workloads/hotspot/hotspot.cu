// SPDX-License-Identifier: Apache-2.0
// The temperature of a chip from its power map, explicit steps in time; a block does several steps on a tile
// that shrinks by a ring at each (16x16 threads, `steps` rings of halo), so that fewer launches are needed.
// (Rodinia: hotspot)

#define T 16

extern "C" __global__ void hotspot(int rows, int cols, int steps, float cap, float rx, float ry, float rz,
                                   float ambient, const float *power, const float *in, float *out) {
    __shared__ float now[T][T], next[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, inner = T - 2 * steps;
    int x = (int)blockIdx.x * inner - steps + tx, y = (int)blockIdx.y * inner - steps + ty;
    bool there = x >= 0 && x < cols && y >= 0 && y < rows;
    float p = 0;
    if (there) {
        now[ty][tx] = in[y * cols + x];
        p = power[y * cols + x];
    }
    // At the chip's edge a missing neighbour has the cell's own temperature.
    int w = x > 0 ? tx - 1 : tx, e = x < cols - 1 ? tx + 1 : tx;
    int n = y > 0 ? ty - 1 : ty, s = y < rows - 1 ? ty + 1 : ty;
    bool valid = false;
    for (int k = 1; k <= steps; k++) {
        __syncthreads();
        valid = there && tx >= k && tx < T - k && ty >= k && ty < T - k;
        if (valid) {
            float t = now[ty][tx];
            next[ty][tx] = t + cap * (p + (now[s][tx] + now[n][tx] - 2.0f * t) * ry +
                                      (now[ty][e] + now[ty][w] - 2.0f * t) * rx + (ambient - t) * rz);
        }
        __syncthreads();
        if (valid) now[ty][tx] = next[ty][tx];
    }
    if (valid) out[y * cols + x] = now[ty][tx];
}
