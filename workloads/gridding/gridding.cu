// SPDX-License-Identifier: Apache-2.0
// Samples at any place in space onto a regular grid: a block a 4x4x4 corner of the grid gathers the samples
// of the 27 bins around it, most bins with few samples and some with many. Blocks of very different length.
// (Parboil: mri-gridding)

// Sample j: x, y, z in cells, and its value in w. Bin b holds samples start[b] .. start[b+1]-1.
extern "C" __global__ void gridding(int side, float reach2, const unsigned *start, const float4 *sample,
                                    float *grid, unsigned *hits) {
    __shared__ float4 s[64];
    int t = threadIdx.x, bx = blockIdx.x, by = blockIdx.y, bz = blockIdx.z;
    int ix = bx * 4 + t % 4, iy = by * 4 + t / 4 % 4, iz = bz * 4 + t / 16;
    float sum = 0;
    unsigned n = 0;
    for (int k = 0; k < 27; k++) {
        int x = bx + k % 3 - 1, y = by + k / 3 % 3 - 1, z = bz + k / 9 - 1;
        if (x < 0 || x >= side || y < 0 || y >= side || z < 0 || z >= side) continue;
        int bin = (z * side + y) * side + x;
        unsigned end = start[bin + 1];
        for (unsigned from = start[bin]; from < end; from += 64) {
            __syncthreads();
            if (from + t < end) s[t] = sample[from + t];
            __syncthreads();
            int here = min(64u, end - from);
            for (int j = 0; j < here; j++) {
                float dx = ix - s[j].x, dy = iy - s[j].y, dz = iz - s[j].z, r2 = dx * dx + dy * dy + dz * dz;
                if (r2 < reach2) {
                    float w = 1.0f - r2 / reach2;
                    sum += s[j].w * w * w;
                    n++;
                }
            }
        }
    }
    int cells = side * 4, at = (iz * cells + iy) * cells + ix;
    grid[at] = sum;
    hits[at] = n;
}

// Puts each bin's samples inside it: ten bits of `fraction` for each of x, y, z.
extern "C" __global__ void gridding_place(int side, const unsigned *start, const unsigned *fraction,
                                          const float *value, float4 *sample) {
    int bin = blockIdx.x * blockDim.x + threadIdx.x;
    if (bin >= side * side * side) return;
    int x = bin % side, y = bin / side % side, z = bin / side / side;
    for (unsigned j = start[bin]; j < start[bin + 1]; j++) {
        unsigned f = fraction[j];
        sample[j] = make_float4(4 * x + (f & 1023) / 256.0f, 4 * y + (f >> 10 & 1023) / 256.0f,
                                4 * z + (f >> 20) / 256.0f, value[j]);
    }
}
