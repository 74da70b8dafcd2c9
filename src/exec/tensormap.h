// Tensor maps: the 128 bytes that tell tensor copies (cp.async.bulk.tensor, UTMALDG) what a tensor looks
// like. All that they say is in the first 64: kernels of cuBLAS and cuDNN have them 64 bytes apart.
//
// The layout is the machine's own, because programs may write it (tensormap.replace is plain loads and stores
// in machine code). It was read off what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col of driver 580
// leave for 213 sets of parameters, one field changed at a time:
//   byte   0   address of the tensor, 64 bits
//   byte   8   bit 0 im2col; 4 to 6 dimensions - 1; 7 to 10 type; 11, 12 interleave; 13, 14 swizzle; 15 fill
//   with
//              NaN; 16 round to tf32; 17, 18 promotion in L2
//   byte  12   strides of dimensions 1 to 4 / 16, 32 bits each; their upper 4 bits in bytes 28 and 29
//   byte  32   sizes of dimensions 0 to 4, less 1, 32 bits each
//   byte  52   element strides less 1, 3 bits each; byte 55 the box's first size less 1 (im2col: channels)
//   byte  56   the box's other sizes less 1, a byte each; of im2col the lower corner in 16 bits, the upper in
//   16
//              bits (one, two or three numbers of 16, 8 or 5 bits), and pixels less 1 in 10 bits
#ifndef ORR_TENSORMAP_H
#define ORR_TENSORMAP_H

#include "base/base.h"

enum { ORR_MAP_BYTES = 128, ORR_MAP_USED = 64, ORR_MAP_ALIGN = 64, ORR_MAP_RANK = 5 };
enum { // as the driver numbers them (CUtensorMapDataType)
    ORR_MAP_U8,
    ORR_MAP_U16,
    ORR_MAP_U32,
    ORR_MAP_S32,
    ORR_MAP_U64,
    ORR_MAP_S64,
    ORR_MAP_F16,
    ORR_MAP_F32,
    ORR_MAP_F64,
    ORR_MAP_BF16,
    ORR_MAP_F32_FTZ,
    ORR_MAP_TF32,
    ORR_MAP_TF32_FTZ,
    ORR_MAP_TYPES
};

typedef struct orr_tensor_map {
    uint64_t address;
    uint64_t dims[ORR_MAP_RANK];
    uint64_t strides[ORR_MAP_RANK]; // bytes; [0] is an element's
    uint32_t box[ORR_MAP_RANK], steps[ORR_MAP_RANK];
    int32_t lower[3], upper[3]; // im2col: corners of the bounding box
    uint32_t channels, pixels;  // im2col
    uint8_t rank, type, interleave, swizzle, promotion;
    bool im2col, nan_fill;
} orr_tensor_map;

uint32_t orr_map_element(uint8_t type); // bytes of an element
// What is wrong with it, as the driver would find (CUDA_ERROR_INVALID_VALUE), or NULL.
const char *orr_map_check(const orr_tensor_map *m);
void orr_map_encode(const orr_tensor_map *m, uint8_t out[ORR_MAP_BYTES]);
// False, and *why: it is none.
bool orr_map_decode(const uint8_t in[ORR_MAP_BYTES], orr_tensor_map *m, const char **why);

#endif
