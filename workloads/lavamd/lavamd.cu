// SPDX-License-Identifier: Apache-2.0
// Forces between particles in a box of boxes: a block a box, a thread a particle, the 27 boxes around through
// shared memory, nothing beyond the cut-off. (Rodinia: lavaMD, with the cut-off it leaves to the boxes)

#define PER_BOX 64

extern "C" __global__ void lavamd(int side, float alpha, float cut2, const float4 *place, const float *charge,
                                  float4 *force) {
    __shared__ float4 other[PER_BOX]; // place and charge
    int t = threadIdx.x, bx = blockIdx.x, by = blockIdx.y, bz = blockIdx.z;
    int home = (bz * side + by) * side + bx, i = home * PER_BOX + t;
    float4 me = place[i], f = make_float4(0, 0, 0, 0);
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int x = bx + dx, y = by + dy, z = bz + dz;
                if (x < 0 || x >= side || y < 0 || y >= side || z < 0 || z >= side) continue;
                int from = ((z * side + y) * side + x) * PER_BOX + t;
                __syncthreads();
                float4 p = place[from];
                p.w = charge[from];
                other[t] = p;
                __syncthreads();
                for (int j = 0; j < PER_BOX; j++) {
                    float4 o = other[j];
                    float rx = me.x - o.x, ry = me.y - o.y, rz = me.z - o.z, r2 = rx * rx + ry * ry + rz * rz;
                    if (r2 < cut2) {
                        float v = o.w * expf(-alpha * r2), s = 2.0f * alpha * v;
                        f.w += v;
                        f.x += s * rx;
                        f.y += s * ry;
                        f.z += s * rz;
                    }
                }
            }
    force[i] = f;
}
