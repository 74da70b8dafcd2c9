// Products of groups of warps in a loop, which is not where their group is closed: ptxas closes it by a product without
// sums and descriptors (HGMMA RZ, gdesc[URZ]). Ones by ones: each product adds 16.
extern "C" __global__ void closed(float *out, unsigned rounds) {
    extern __shared__ __align__(1024) unsigned s[];
    float d[4] = {0, 0, 0, 0};
    for (unsigned i = threadIdx.x; i < 16384; i += blockDim.x) s[i] = 0x3c003c00;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(s);
    unsigned long long a = 1ull << 62 | 64ull << 32 | 1ull << 16 | at >> 4;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
    for (unsigned r = 0; r < rounds; r++)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %4, 1,1,1,0,0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "l"(a)
                     : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; i++) asm volatile("" : "+f"(d[i])::"memory");
    for (int i = 0; i < 4; i++) out[threadIdx.x * 4 + i] = d[i];
}
