// Polybench adi, the forward sweeps: along rows (a thread a row, uncoalesced), then along columns.

extern "C" __global__ void adi_rows(int n, const float *a, float *b, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 1; j < n; j++) {
        x[i * n + j] -= x[i * n + j - 1] * a[i * n + j] / b[i * n + j - 1];
        b[i * n + j] -= a[i * n + j] * a[i * n + j] / b[i * n + j - 1];
    }
}

extern "C" __global__ void adi_columns(int n, const float *a, float *b, float *x) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    for (int i = 1; i < n; i++) {
        x[i * n + j] -= x[(i - 1) * n + j] * a[i * n + j] / b[(i - 1) * n + j];
        b[i * n + j] -= a[i * n + j] * a[i * n + j] / b[(i - 1) * n + j];
    }
}
