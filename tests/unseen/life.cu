// Conway's game of life on a torus of bytes, a tile with its rim in shared memory.

extern "C" __global__ void life(int w, int h, const unsigned char *in, unsigned char *out) {
    __shared__ unsigned char s[10][34];
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8, t = threadIdx.y * 32 + threadIdx.x;
    for (int i = t; i < 340; i += 256)
        s[i / 34][i % 34] = in[(y0 + i / 34 - 1 + h) % h * w + (x0 + i % 34 - 1 + w) % w];
    __syncthreads();
    int x = threadIdx.x, y = threadIdx.y;
    int n = s[y][x] + s[y][x + 1] + s[y][x + 2] + s[y + 1][x] + s[y + 1][x + 2] + s[y + 2][x] +
            s[y + 2][x + 1] + s[y + 2][x + 2];
    out[(y0 + y) * w + x0 + x] = n == 3 || (n == 2 && s[y + 1][x + 1]);
}
