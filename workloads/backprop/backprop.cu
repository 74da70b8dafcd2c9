// SPDX-License-Identifier: Apache-2.0
// The two kernels of training a two-layer net with 16 hidden units: partial sums of inputs times weights,
// 16x16 a block with a tree in shared memory, and the update of all weights with momentum. (Rodinia:
// backprop)

#define H 16

// Weight of input i (from 1) to hidden unit j (from 1) is w[i*(H+1) + j]; partial[block*H + j-1].
extern "C" __global__ void backprop_forward(const float *input, float *w, float *partial) {
    __shared__ float in[H], s[H][H];
    int tx = threadIdx.x, ty = threadIdx.y, at = (H * blockIdx.y + ty + 1) * (H + 1) + tx + 1;
    if (tx == 0) in[ty] = input[H * blockIdx.y + ty + 1];
    __syncthreads();
    s[ty][tx] = w[at] * in[ty];
    for (int half = H / 2; half > 0; half /= 2) {
        __syncthreads();
        if (ty < half) s[ty][tx] += s[ty + half][tx];
    }
    if (ty == 0) partial[blockIdx.y * H + tx] = s[0][tx];
}

extern "C" __global__ void backprop_adjust(const float *delta, const float *input, float *w, float *old) {
    int tx = threadIdx.x, ty = threadIdx.y, i = H * blockIdx.y + ty + 1, at = i * (H + 1) + tx + 1;
    float change = 0.3f * delta[tx + 1] * input[i] + 0.3f * old[at];
    w[at] += change;
    old[at] = change;
    if (i == 1 && ty == 0) { // the threshold's weights
        change = 0.3f * delta[tx + 1] + 0.3f * old[tx + 1];
        w[tx + 1] += change;
        old[tx + 1] = change;
    }
}
