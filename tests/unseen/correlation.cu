// Polybench correlation: means, deviations, centring, and the matrix of correlations of m columns over n
// rows.

extern "C" __global__ void corr_mean(int m, int n, const float *data, float *mean) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m) return;
    float s = 0;
    for (int i = 0; i < n; i++) s += data[i * m + j];
    mean[j] = s / n;
}

extern "C" __global__ void corr_std(int m, int n, const float *data, const float *mean, float *dev) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= m) return;
    float s = 0, c = mean[j];
    for (int i = 0; i < n; i++) s += (data[i * m + j] - c) * (data[i * m + j] - c);
    s = sqrtf(s / n);
    dev[j] = s <= 0.005f ? 1.0f : s;
}

extern "C" __global__ void corr_centre(int m, int n, const float *mean, const float *dev, float *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < m) data[i * m + j] = (data[i * m + j] - mean[j]) / (sqrtf((float)n) * dev[j]);
}

extern "C" __global__ void corr_matrix(int m, int n, const float *data, float *corr) {
    int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (j >= m || k >= m || k < j) return;
    float s = 0;
    for (int i = 0; i < n; i++) s += data[i * m + j] * data[i * m + k];
    corr[j * m + k] = s;
    corr[k * m + j] = s;
}
