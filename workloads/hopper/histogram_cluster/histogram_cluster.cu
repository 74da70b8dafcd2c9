// SPDX-License-Identifier: Apache-2.0
// A histogram of more bins than one block should hold: the blocks of a cluster have a part of them each, and count in each
// other's shared memory. The cluster's size is the launch's. (CUDA programming guide, distributed shared memory)

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void __launch_bounds__(512)
    histogram_cluster(const unsigned *in, int n, unsigned *bins, int mine) {
    extern __shared__ unsigned part[]; // bins [rank * mine, (rank + 1) * mine)
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < mine; i += blockDim.x) part[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = in[i];
        atomicAdd(cluster.map_shared_rank(part, bin / mine) + bin % mine, 1u);
    }
    cluster.sync();
    unsigned *to = bins + cluster.block_rank() * mine;
    for (int i = threadIdx.x; i < mine; i += blockDim.x) atomicAdd(to + i, part[i]);
}
