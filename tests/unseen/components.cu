// Connected components: the root of one end of an edge hooks onto the lower label of the other, then labels
// jump. What is read and what is written are different arrays, so that the result does not depend on order.

extern "C" __global__ void cc_hook(int edges, const int *u, const int *v, const int *label, int *next) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    int a = label[u[e]], b = label[v[e]];
    if (a < b) atomicMin(&next[b], a);
    if (b < a) atomicMin(&next[a], b);
}

extern "C" __global__ void cc_jump(int n, const int *next, int *label) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int l = next[i];
    while (l != next[l]) l = next[l];
    label[i] = l;
}
