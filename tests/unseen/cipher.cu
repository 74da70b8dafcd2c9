// Table look-ups: rounds of a block cipher with a table of 256 words in global memory, and CRC-32 of records
// with its table in shared memory.

extern "C" __global__ void cipher(int rounds, const unsigned *table, const unsigned *key, const uint4 *in,
                                  uint4 *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 s = in[t];
    for (int r = 0; r < rounds; r++) {
        const unsigned *k = key + r * 4;
        uint4 n;
        n.x = table[s.x & 255] ^ __funnelshift_l(table[s.y >> 8 & 255], table[s.y >> 8 & 255], 8) ^
              __funnelshift_l(table[s.z >> 16 & 255], table[s.z >> 16 & 255], 16) ^ table[s.w >> 24] ^ k[0];
        n.y = table[s.y & 255] ^ __funnelshift_l(table[s.z >> 8 & 255], table[s.z >> 8 & 255], 8) ^
              __funnelshift_l(table[s.w >> 16 & 255], table[s.w >> 16 & 255], 16) ^ table[s.x >> 24] ^ k[1];
        n.z = table[s.z & 255] ^ __funnelshift_l(table[s.w >> 8 & 255], table[s.w >> 8 & 255], 8) ^
              __funnelshift_l(table[s.x >> 16 & 255], table[s.x >> 16 & 255], 16) ^ table[s.y >> 24] ^ k[2];
        n.w = table[s.w & 255] ^ __funnelshift_l(table[s.x >> 8 & 255], table[s.x >> 8 & 255], 8) ^
              __funnelshift_l(table[s.y >> 16 & 255], table[s.y >> 16 & 255], 16) ^ table[s.z >> 24] ^ k[3];
        s = n;
    }
    out[t] = s;
}

extern "C" __global__ void crc32(const unsigned *record,
                                 unsigned *crc) { // 16 words a record, word i of all records together
    __shared__ unsigned table[256];
    int t = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
        table[i] = c;
    }
    __syncthreads();
    unsigned c = ~0u;
    for (int i = 0; i < 16; i++) {
        unsigned w = record[i * all + t];
        for (int b = 0; b < 4; b++, w >>= 8) c = table[(c ^ w) & 255] ^ c >> 8;
    }
    crc[t] = ~c;
}
