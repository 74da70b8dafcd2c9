// PageRank, pulled along incoming edges.

extern "C" __global__ void rank_share(int n, const float *rank, const int *out_degree, float *share) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) share[i] = rank[i] / out_degree[i];
}

extern "C" __global__ void rank_pull(int n, const int *row, const int *from, const float *share,
                                     float *rank) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = 0;
    for (int e = row[i]; e < row[i + 1]; e++) s += share[from[e]];
    rank[i] = 0.15f / n + 0.85f * s;
}
