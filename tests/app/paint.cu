// A kernel that reads a texture and writes a surface, for tests/test_capture.sh:
//   nvcc -arch=sm_90 -cubin paint.cu -o paint.cubin
extern "C" __global__ void paint(cudaTextureObject_t from, cudaSurfaceObject_t to, float a) {
    int x = threadIdx.x, y = blockIdx.x;
    surf2Dwrite(tex2D<float>(from, x + 0.5f, y + 0.5f) * a + x, to, x * 4, y);
}
