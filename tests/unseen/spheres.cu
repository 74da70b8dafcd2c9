// Rays from a camera against 24 spheres in constant memory: the nearest hit, shaded, and one ray to the
// light.
struct sphere {
    float x, y, z, r;
};
__constant__ sphere ball[24];

static __device__ int nearest(float ox, float oy, float oz, float dx, float dy, float dz, float &far) {
    int hit = -1;
    for (int i = 0; i < 24; i++) {
        float cx = ball[i].x - ox, cy = ball[i].y - oy, cz = ball[i].z - oz;
        float along = cx * dx + cy * dy + cz * dz, off = cx * cx + cy * cy + cz * cz - along * along;
        float inside = ball[i].r * ball[i].r - off;
        if (inside < 0) continue;
        float t = along - sqrtf(inside);
        if (t > 1e-3f && t < far) far = t, hit = i;
    }
    return hit;
}

extern "C" __global__ void spheres(int w, int h, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float dx = (x + 0.5f) / w - 0.5f, dy = (y + 0.5f) / h - 0.5f, dz = 1, n = rsqrtf(dx * dx + dy * dy + 1);
    dx *= n, dy *= n, dz *= n;
    float far = 1e30f, light = 0.1f;
    int hit = nearest(0, 0, 0, dx, dy, dz, far);
    if (hit >= 0) {
        float px = dx * far, py = dy * far, pz = dz * far, inv = 1.0f / ball[hit].r;
        float nx = (px - ball[hit].x) * inv, ny = (py - ball[hit].y) * inv, nz = (pz - ball[hit].z) * inv;
        float shade = nx * 0.57735f + ny * 0.57735f - nz * 0.57735f, end = 1e30f;
        if (shade > 0 && nearest(px, py, pz, 0.57735f, 0.57735f, -0.57735f, end) < 0)
            light += shade;
        else
            light += 0.05f;
    }
    out[y * w + x] = light;
}
