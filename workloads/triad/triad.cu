// SPDX-License-Identifier: Apache-2.0
// a = b + s c in double precision, two elements a load, a grid-stride loop: as close to the memory's
// bandwidth as a kernel gets. (STREAM, BabelStream: triad)

extern "C" __global__ void triad(int pairs, double s, const double2 *b, const double2 *c, double2 *a) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x) {
        double2 x = b[i], y = c[i];
        x.x += s * y.x;
        x.y += s * y.y;
        a[i] = x;
    }
}
