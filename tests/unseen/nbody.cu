// Gravity, all pairs, tiles of bodies in shared memory.

extern "C" __global__ void __launch_bounds__(64) nbody(int n, const float4 *body, float4 *force) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 me = body[i];
    float x = 0, y = 0, z = 0;
    for (int base = 0; base < n; base += 64) {
        tile[threadIdx.x] = body[base + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 64; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = tile[j].w * inv * inv * inv;
            x += dx * s;
            y += dy * s;
            z += dz * s;
        }
        __syncthreads();
    }
    force[i] = make_float4(x, y, z, 0);
}
