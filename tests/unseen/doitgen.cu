// Polybench doitgen: a block for each (r, q), a[r][q][p] = sum over s of a[r][q][s] c4[s][p], through a copy.

extern "C" __global__ void doitgen_sum(int p_count, const float *a, const float *c4, float *sum) {
    const float *row = a + (blockIdx.y * gridDim.x + blockIdx.x) * p_count;
    int p = threadIdx.x;
    float s = 0;
    for (int k = 0; k < p_count; k++) s += row[k] * c4[k * p_count + p];
    sum[(blockIdx.y * gridDim.x + blockIdx.x) * p_count + p] = s;
}

extern "C" __global__ void doitgen_back(int p_count, const float *sum, float *a) {
    int at = (blockIdx.y * gridDim.x + blockIdx.x) * p_count + threadIdx.x;
    a[at] = sum[at];
}
