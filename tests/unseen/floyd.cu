// Floyd-Warshall shortest paths, a launch for each node that paths may go through.

extern "C" __global__ void floyd_step(int n, int k, int *dist) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    int through = dist[i * n + k] + dist[k * n + j];
    if (through < dist[i * n + j]) dist[i * n + j] = through;
}
