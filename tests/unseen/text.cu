// Text: how much of a pattern of 12 letters stands at each place, and the longest match among the 16 places
// before (as LZ77 looks for).

extern "C" __global__ void find_pattern(int n, const unsigned char *text, const unsigned char *pattern,
                                        unsigned char *length, int *found) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = 0;
    while (k < 12 && text[i + k] == pattern[k]) k++;
    length[i] = k;
    if (k >= 6) atomicAdd(found, 1);
}

extern "C" __global__ void __launch_bounds__(128)
    longest_match(const unsigned char *text, unsigned short *match) {
    __shared__ unsigned char s[16 + 128 + 15];
    int base = blockIdx.x * 128, t = threadIdx.x;
    for (int i = t; i < 16 + 128 + 15; i += 128) s[i] = text[base + i];
    __syncthreads();
    int best = 0, back = 0;
    for (int d = 1; d <= 16; d++) {
        int k = 0;
        while (k < 15 && s[16 + t + k] == s[16 + t + k - d]) k++;
        if (k > best) best = k, back = d;
    }
    match[base + t] = best << 8 | back;
}
