// Rows of a table: copied for each token, and summed over bags of eight tokens.

extern "C" __global__ void embed(const int *token, const float4 *table, float4 *out) {
    int t = blockIdx.x * blockDim.y + threadIdx.y;
    out[t * 32 + threadIdx.x] = table[(size_t)token[t] * 32 + threadIdx.x];
}

extern "C" __global__ void embed_bag(const int *token, const float *table, float *out) {
    float s = 0;
    for (int i = 0; i < 8; i++) s += table[(size_t)token[blockIdx.x * 8 + i] * 128 + threadIdx.x];
    out[blockIdx.x * 128 + threadIdx.x] = s;
}
