// Textures and surfaces: what a handle stands for, where its texels lie, and what the texture unit makes of
// them.
//
// A texture is a descriptor of memory: shape, format, how coordinates are taken and how texels are filtered.
// A launch finds it by the handle that the kernel passes (orr_mem_texture). Arrays lie in blocks
// (block-linear): 64 bytes x 8 rows are 512 bytes side by side, in which 16 bytes x 2 rows are a sector of
// 32; so a footprint of neighbours touches few sectors. Linear memory lies as the program laid it.
#ifndef ORR_TEXTURE_H
#define ORR_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum orr_tex_shape { // as machine code counts them (1D, 2D, 3D, CUBE, ARRAY_1D, ARRAY_2D, -, ARRAY_CUBE)
    ORR_TEX_1D,
    ORR_TEX_2D,
    ORR_TEX_3D,
    ORR_TEX_CUBE,
    ORR_TEX_A1D,
    ORR_TEX_A2D,
    ORR_TEX_ACUBE = 7,
};
enum orr_tex_where { ORR_TEX_BLOCKS, ORR_TEX_LINEAR, ORR_TEX_PITCH }; // array, cudaMalloc, cudaMallocPitch
enum orr_tex_format {
    ORR_TEX_U8,
    ORR_TEX_S8,
    ORR_TEX_U16,
    ORR_TEX_S16,
    ORR_TEX_U32,
    ORR_TEX_S32,
    ORR_TEX_F16,
    ORR_TEX_F32,
    ORR_TEX_FORMATS
};
enum orr_tex_address { ORR_TEX_WRAP, ORR_TEX_CLAMP, ORR_TEX_MIRROR, ORR_TEX_BORDER }; // as CUDA numbers them

#define ORR_TEX_LEVELS 16

typedef struct orr_tex_level {
    uint64_t offset; // from orr_texture.at
    uint64_t layer;  // bytes of a layer
    uint32_t width, height, depth;
    uint32_t row;       // bytes of a row; of blocks: of a row of blocks, 64 bytes each
    uint8_t high, deep; // log2 of a block's height in 8 rows, and of its depth
} orr_tex_level;

typedef struct orr_texture orr_texture;
struct orr_texture {
    uint64_t at, bytes; // device memory
    uint8_t shape, where, format, channels;
    uint8_t address[3];   // enum orr_tex_address
    bool linear;          // filter: linear, else the nearest texel
    bool mip_linear;      // between levels too
    bool normalized;      // coordinates are 0 to 1
    bool normalized_read; // integers are read as -1 to 1 or 0 to 1
    bool srgb, seamless;
    uint8_t nlevels;
    uint32_t layers; // of layered ones; of cubes six a cube
    float bias, min_level, max_level, border[4];
    orr_tex_level level[ORR_TEX_LEVELS];
};

// ---- where texels lie (ops/texel.c) ---------------------------------------------------------
uint32_t orr_tex_texel_bytes(const orr_texture *t);
// Fills in level[], bytes of a texture of blocks whose other fields are there; false: it is larger than a GPU
// has them (32,768 texels a side, 2,048 layers; 131,072 of a 1D one).
bool orr_tex_lay_out(orr_texture *t, uint32_t width, uint32_t height, uint32_t depth, uint32_t nlevels);
// The same of an array as CUDA describes it: flags ORR_TEX_LAYERED and ORR_TEX_IS_CUBE, of which the third
// number says how many layers there are. As many levels as it can have, if more are asked for.
enum { ORR_TEX_LAYERED = 1, ORR_TEX_IS_CUBE = 4 };
bool orr_tex_array(orr_texture *t, const size_t size[3], unsigned flags, unsigned levels);
// A descriptor as numbers, for files, and back; false: they are none.
#define ORR_TEX_NUMBERS 21
void orr_tex_to_numbers(const orr_texture *t, uint32_t n[ORR_TEX_NUMBERS]);
bool orr_tex_of_numbers(orr_texture *t, uint64_t at, const uint32_t n[ORR_TEX_NUMBERS]);
// Offset of byte x of row y, slice z of a level, layer `layer`, from orr_texture.at. All are inside.
uint64_t orr_tex_offset(const orr_texture *t, uint32_t level, uint32_t x, uint32_t y, uint32_t z,
                        uint32_t layer);
// Checks what came from outside: a descriptor whose offsets leave its bytes is none.
bool orr_tex_sound(const orr_texture *t);

// ---- reading (ops/filter.c) -----------------------------------------------------------------
typedef struct orr_tex_at { // what one lane asks for
    uint8_t shape;          // of the instruction
    bool integers;          // the coordinates are texels (TLD), else numbers (TEX)
    float c[3];             // x, y, z
    int32_t i[3];           // the coordinates as integers
    int32_t offset[3];      // texels, added to where that is
    uint32_t layer;
    float level;    // TEX.LL; -32 and less: the first
    int32_t ilevel; // TLD.LL
} orr_tex_at;

// What was read, for streams: the sector of the first texel, and in its low 5 bits what else.
enum {
    ORR_TEX_RIGHT = 1,  // the sector beside it too
    ORR_TEX_BELOW = 2,  // the one below too
    ORR_TEX_PASSES = 4, // log2 of how often the unit goes over it: 0, 1, 2, 3 (bits 2 and 3)
    ORR_TEX_QUADS = 16, // in blocks: four lanes a cycle
};

// out: four words. Returns what was read, or 0: nothing (all of it border).
uint64_t orr_tex_sample(const orr_texture *t, const uint8_t *host, const orr_tex_at *a, uint32_t out[4]);
// The four texels that linear filtering would take, component `component` of each, as TLD4 orders them.
uint64_t orr_tex_gather(const orr_texture *t, const uint8_t *host, const orr_tex_at *a, int component,
                        uint32_t out[4]);
int orr_tex_coordinates(uint8_t shape); // of a place, without the layer
// The level that differences of the coordinates between neighbours ask for (TXD); at: of a cube, the place.
float orr_tex_gradient(const orr_texture *t, const float at[3], const float dx[3], const float dy[3]);
// A texel to and from memory, without filtering: surfaces.
void orr_tex_store(const orr_texture *t, uint8_t *texel, const uint32_t in[4]);

#endif
